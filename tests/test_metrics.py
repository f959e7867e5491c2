"""Metrics against scikit-learn's, against themselves in chunks, and at the edges."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, cohen_kappa_score, confusion_matrix, log_loss, roc_auc_score

from anabranch import checkpoint, metrics
from anabranch.metrics import (
    METRICS,
    R2,
    ROCAUC,
    Accuracy,
    Brier,
    ConfusionMatrix,
    GMean,
    Kappa,
    KappaM,
    LogLoss,
    Metric,
    TemporalKappa,
    Window,
)

ALL = [metric for metric in METRICS.values() if metric.task == "classification"]

settings.register_profile("unhurried", deadline=None)  # the first example may have to compile
settings.load_profile("unhurried")

CHUNK_SIZES = st.lists(st.integers(0, 7), min_size=1, max_size=12)


def random_rows(seed, n, k, informative=True):
    """Labels and proper probabilities, better than chance if `informative`; every class occurs."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    logits = rng.normal(size=(n, k))
    if informative:
        logits[np.arange(n), y] += 1.0
    proba = np.exp(logits)
    return y, proba / proba.sum(axis=1, keepdims=True)


def padded(chunks):
    """One pair of arrays from chunks with different numbers of columns."""
    k = max(proba.shape[1] for _, proba in chunks)
    wide = [np.pad(proba, ((0, 0), (0, k - proba.shape[1]))) for _, proba in chunks]
    return np.concatenate([y for y, _ in chunks]), np.concatenate(wide)


@st.composite
def growing_chunks(draw):
    """Chunks as a stream yields them: columns turn up, labels come before columns, some rows are zeros."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    # Quarters tie often; the others use every bit.
    quarters = draw(st.booleans())
    chunks, k = [], draw(st.integers(0, 2))
    for n in draw(CHUNK_SIZES):
        k += draw(st.sampled_from([0, 0, 0, 1, 2]))
        proba = rng.integers(0, 5, (n, k)) / 4 if quarters else rng.random((n, k)) ** 4
        proba[rng.random(n) < 0.1] = 0.0
        chunks.append((rng.integers(0, k + 1, n), proba))
    return chunks


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))


def areas_by_pairs(y, proba):
    """The definition of the area, pair by pair, with exact fractions."""
    n_classes = max(proba.shape[1], max(y) + 1)
    areas = []
    for code in [1] if n_classes <= 2 else sorted(set(y.tolist())):
        won, pairs = Fraction(0), 0
        for i in np.flatnonzero(y == code):
            for j in np.flatnonzero(y != code):
                pairs += 1
                if not proba[i].any() or not proba[j].any():
                    continue
                a, b = (proba[r, code] if code < proba.shape[1] else 0.0 for r in (i, j))
                won += Fraction(1) if a > b else Fraction(1, 2) if a == b else Fraction(0)
        areas.append(won / pairs if pairs else Fraction(1, 2))
    return float(sum(areas) / len(areas))


class TestAgainstReferences:
    @pytest.mark.parametrize("k", [2, 3, 7])
    @pytest.mark.parametrize("seed", range(5))
    def test_accuracy(self, seed, k):
        y, proba = random_rows(seed, 200, k)
        assert Accuracy.compute(y, proba) == accuracy_score(y, proba.argmax(axis=1))

    @pytest.mark.parametrize("k", [2, 3, 7])
    @pytest.mark.parametrize("informative", [True, False])
    @pytest.mark.parametrize("seed", range(5))
    def test_kappa(self, seed, informative, k):
        y, proba = random_rows(seed, 200, k, informative)
        expected = cohen_kappa_score(y, proba.argmax(axis=1))
        assert Kappa.compute(y, proba) == pytest.approx(expected, rel=1e-12, abs=1e-14)

    def test_kappa_with_rows_without_a_prediction(self):
        y, proba = random_rows(3, 200, 3)
        proba[::5] = 0.0
        predicted = np.where(proba.any(axis=1), proba.argmax(axis=1), -1)
        assert Kappa.compute(y, proba) == pytest.approx(cohen_kappa_score(y, predicted), rel=1e-12)

    @pytest.mark.parametrize("k", [2, 3, 7])
    @pytest.mark.parametrize("seed", range(5))
    def test_gmean(self, seed, k):
        y, proba = random_rows(seed, 400, k)
        hit = proba.argmax(axis=1) == y
        recalls = [hit[y == code].mean() for code in range(k)]
        assert min(recalls) > 0.0
        assert GMean.compute(y, proba) == pytest.approx(np.prod(recalls) ** (1 / k), rel=1e-12)

    @pytest.mark.parametrize("decimals", [1, 2, 16])  # the fewer, the more ties
    @pytest.mark.parametrize("seed", range(5))
    def test_binary_auc(self, seed, decimals):
        y, proba = random_rows(seed, 200, 2)
        score = np.round(proba[:, 1], decimals)
        area = ROCAUC.compute(y, np.column_stack([1 - score, score]))
        assert area == pytest.approx(roc_auc_score(y, score), rel=1e-12)

    @pytest.mark.parametrize("k", [3, 5])
    @pytest.mark.parametrize("seed", range(5))
    def test_auc_of_several_classes(self, seed, k):
        y, proba = random_rows(seed, 200, k)
        expected = roc_auc_score(y, proba, multi_class="ovr", average="macro")
        assert ROCAUC.compute(y, proba) == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("k", [2, 3, 20])
    @pytest.mark.parametrize("seed", range(5))
    def test_log_loss(self, seed, k):
        y, proba = random_rows(seed, 200, k)
        assert LogLoss.compute(y, proba) == pytest.approx(log_loss(y, proba), rel=1e-12)

    @given(growing_chunks())
    def test_auc_by_counting_pairs(self, chunks):
        y, proba = padded(chunks)
        if len(y) == 0:
            assert math.isnan(ROCAUC.compute(y, proba))
        else:
            assert ROCAUC.compute(y, proba) == pytest.approx(areas_by_pairs(y, proba), rel=1e-14)

    def test_confusion_matrix(self):
        y, proba = random_rows(0, 300, 4)
        proba[::7] = 0.0
        matrix = ConfusionMatrix()
        matrix.add(y, proba)
        predicted = np.where(proba.any(axis=1), proba.argmax(axis=1), 4)
        assert np.array_equal(matrix.counts, confusion_matrix(y, predicted, labels=range(5))[:4])
        assert matrix.n_rows == 300
        assert np.array_equal(matrix.support, np.bincount(y))
        assert np.array_equal(matrix.predicted, np.bincount(predicted)[:4])
        assert np.array_equal(matrix.hits, np.bincount(y[predicted == y]))


class TestChunks:
    @pytest.mark.parametrize("metric", ALL)
    @settings(max_examples=50)
    @given(chunks=growing_chunks())
    def test_updates_equal_compute_to_the_last_bit(self, metric, chunks):
        running = metric()
        for y, proba in chunks:
            assert running.update(y, proba) is running
        assert same(running.value, metric.compute(*padded(chunks)))

    @pytest.mark.parametrize("metric", ALL)
    @settings(max_examples=50)
    @given(chunks=growing_chunks())
    def test_row_by_row_equals_compute_to_the_last_bit(self, metric, chunks):
        running = metric()
        for y, proba in chunks:
            for i in range(len(y)):
                running.update(y[i : i + 1], proba[i : i + 1])
            running.update(y[:0], proba[:0])  # makes a column known even where the chunk has no rows
        assert same(running.value, metric.compute(*padded(chunks)))

    @pytest.mark.parametrize("metric", ALL)
    def test_a_chunk_may_have_fewer_columns_than_one_before(self, metric):
        y, proba = random_rows(1, 60, 3)
        narrow = np.array([[0.25, 0.75], [0.5, 0.5]])
        running = metric().update(y, proba).update([1, 2], narrow)
        whole = padded([(y, proba), (np.array([1, 2]), narrow)])
        assert running.value == metric.compute(*whole)

    @given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=50))
    def test_log_loss_is_the_exact_mean_rounded_once(self, given_to_truth):
        p = np.array(given_to_truth)
        proba = np.column_stack([p, 1.0 - p])
        losses = -np.log(np.maximum(proba[:, 0] / (proba[:, 0] + proba[:, 1]), 1e-15))
        exact = sum((Fraction(float(x)) for x in losses), Fraction(0)) / len(losses)
        assert LogLoss.compute(np.zeros(len(p), dtype=int), proba) == float(exact)

    def test_log_loss_keeps_small_losses_beside_large_ones(self):
        metric = LogLoss().update([0], [[0.0, 1.0]])
        alone = -math.log(1e-15)
        assert metric.value == pytest.approx(alone, rel=1e-15)
        small = np.nextafter(1.0, 0.0)
        for _ in range(3):
            metric.update(np.zeros(1000, dtype=int), np.tile([small, 1.0 - small], (1000, 1)))
        expected = (Fraction(float(-np.log(1e-15))) + 3000 * Fraction(float(-np.log(small)))) / 3001
        assert metric.value == float(expected)

    @pytest.mark.parametrize("gap", [0.5, 1e-3, 1e-7, 1e-10, 1e-13, 2.0**-53])
    def test_log_loss_keeps_every_bit_of_a_single_loss(self, gap):
        p = 1.0 - gap
        assert LogLoss.compute([0], [[p, 1.0 - p]]) == -np.log(p)

    def test_columns_of_zeros_change_no_bit_of_a_log_loss(self):
        y, proba = random_rows(9, 200, 19)
        for row in range(len(y)):
            narrow = proba[row : row + 1]
            for k in (20, 24, 40):
                wide = np.pad(narrow, ((0, 0), (0, k - 19)))
                assert LogLoss.compute(y[row : row + 1], wide) == LogLoss.compute(y[row : row + 1], narrow)

    @pytest.mark.parametrize("metric", ALL)
    @pytest.mark.parametrize("k", [2, 9, 40])
    def test_layout_of_the_arrays_does_not_matter(self, metric, k):
        y, proba = random_rows(2, 500, k)
        wide = np.zeros((500, 2 * k))
        wide[:, ::2] = proba
        expected = metric.compute(y, proba)
        assert metric.compute(y, np.asfortranarray(proba)) == expected
        assert metric.compute(y, wide[:, ::2]) == expected
        assert metric.compute(np.repeat(y, 2)[::2], proba) == expected

    @pytest.mark.parametrize("metric", [*ALL, lambda: Window(Accuracy, 5)])
    def test_arguments_are_neither_modified_nor_kept(self, metric):
        y, proba = random_rows(4, 30, 3)
        y_before, proba_before = y.copy(), proba.copy()
        running = metric().update(y, proba)
        value = running.value
        assert np.array_equal(y, y_before)
        assert np.array_equal(proba, proba_before)
        y[:], proba[:] = 0, 0.0
        assert running.value == value

    @pytest.mark.parametrize("metric", ALL)
    def test_looking_at_the_value_changes_nothing(self, metric):
        y, proba = random_rows(5, 90, 3)
        looked, not_looked = metric(), metric()
        for i in range(0, 90, 10):
            looked.update(y[i : i + 10], proba[i : i + 10])
            not_looked.update(y[i : i + 10], proba[i : i + 10])
            assert looked.value == looked.value
        assert looked.value == not_looked.value

    @pytest.mark.parametrize("metric", [*ALL, lambda: Window(ROCAUC(), 50)])
    def test_reset_forgets_rows_and_classes(self, metric):
        y, proba = random_rows(6, 80, 2)
        many_y, many_proba = random_rows(7, 80, 6)
        running = metric().update(many_y, many_proba)
        assert running.reset() is running
        assert math.isnan(running.value)
        assert running.update(y, proba).value == metric().update(y, proba).value

    def test_auc_keeps_about_what_it_says(self):
        metric, (y, proba) = ROCAUC(), random_rows(8, 3000, 3)
        capacities = set()
        for i in range(3000):
            metric.update(y[i : i + 1], proba[i : i + 1])
            capacities.add(sum(len(block._y) for block in metric._blocks))
        assert len(capacities) <= 13  # doubled, not grown row by row
        y, proba = random_rows(8, 200_000, 3)
        metric = ROCAUC()
        for start in range(0, 200_000, 999):
            metric.update(y[start : start + 999], proba[start : start + 999])
        nbytes = sum(block._y.nbytes + block._predicted.nbytes for block in metric._blocks)
        assert 200_000 * 25 <= nbytes <= 1.35 * 200_000 * 25  # one block of room at most
        assert metric.value == ROCAUC.compute(y, proba)


class TestDefinedEverywhere:
    @pytest.mark.parametrize("metric", [*ALL, lambda: Window(Kappa)])
    def test_no_row_gives_nan(self, metric):
        assert math.isnan(metric().value)
        assert math.isnan(metric().update([], []).value)
        assert math.isnan(metric().update([], np.zeros((0, 3))).value)
        assert math.isnan(metric().compute([], np.zeros((0, 3))))

    @pytest.mark.parametrize("metric", [*ALL, lambda: Window(Kappa)])
    def test_an_empty_chunk_changes_nothing(self, metric):
        y, proba = random_rows(0, 40, 3)
        running = metric().update(y, proba)
        value = running.value
        assert running.update([], []).update([], np.zeros((0, 3))).value == value

    @given(growing_chunks())
    def test_values_stay_in_their_range(self, chunks):
        y, proba = padded(chunks)
        if len(y) == 0:
            return
        for metric, low, high in [(Accuracy, 0, 1), (Kappa, -1, 1), (GMean, 0, 1), (ROCAUC, 0, 1)]:
            assert low <= metric.compute(y, proba) <= high
        assert 0.0 <= LogLoss.compute(y, proba) <= -math.log(1e-15) * (1 + 1e-15)

    @given(growing_chunks())
    def test_a_single_miss_is_never_perfect(self, chunks):
        y, proba = padded(chunks)
        best = proba.argmax(axis=1) if proba.shape[1] else np.zeros(len(y))
        missed = (best != y) | ~proba.any(axis=1)
        if missed.any():
            assert Accuracy.compute(y, proba) < 1.0
            assert Kappa.compute(y, proba) < 1.0
            assert GMean.compute(y, proba) < 1.0
            assert LogLoss.compute(y, proba) > 0.0

    def test_a_row_of_zeros_is_a_miss(self):
        y, nothing = np.array([0, 0, 1]), np.zeros((3, 2))
        assert Accuracy.compute(y, nothing) == 0.0
        assert Kappa.compute(y, nothing) == 0.0
        assert GMean.compute(y, nothing) == 0.0
        assert ROCAUC.compute(y, nothing) == 0.0
        assert LogLoss.compute(y, nothing) == pytest.approx(-math.log(1e-15))
        # Class 0 is not right for being the lowest code, nor negative zero a prediction.
        assert Accuracy.compute([0], [[0.0, 0.0]]) == 0.0
        assert Accuracy.compute([0], [[-0.0, -0.0, -0.0]]) == 0.0

    def test_probabilities_without_a_column_are_misses(self):
        y, nothing = np.array([0, 1]), np.zeros((2, 0))
        assert Accuracy.compute(y, nothing) == 0.0
        assert Kappa.compute(y, nothing) == 0.0
        assert GMean.compute(y, nothing) == 0.0
        assert ROCAUC.compute(y, nothing) == 0.0
        assert LogLoss.compute(y, nothing) == pytest.approx(-math.log(1e-15))

    def test_a_label_without_a_column_is_a_miss(self):
        y, proba = np.array([0, 5]), np.array([[1.0, 0.0], [0.0, 1.0]])
        assert Accuracy.compute(y, proba) == 0.5
        assert Kappa.compute(y, proba) == pytest.approx(cohen_kappa_score([0, 5], [0, 1]))
        assert GMean.compute(y, proba) == 0.0
        assert LogLoss.compute(y, proba) == pytest.approx(-math.log(1e-15) / 2)
        assert ROCAUC.compute(y, proba) == (1.0 + 0.5) / 2  # class 5 scores 0 everywhere: all its pairs tie

    def test_ties_go_to_the_lowest_code(self):
        assert Accuracy.compute([0, 1], [[0.5, 0.5], [0.5, 0.5]]) == 0.5
        assert Accuracy.compute([1, 2], [[0.2, 0.4, 0.4], [0.2, 0.4, 0.4]]) == 0.5

    def test_the_smallest_probability_is_a_prediction(self):
        assert Accuracy.compute([0, 1], [[5e-324, 0.0], [0.0, 5e-324]]) == 1.0

    def test_kappa_of_one_class(self):
        assert Kappa.compute([0, 0], [[1.0, 0.0], [0.9, 0.1]]) == 0.0
        assert Kappa.compute([1], [[0.1, 0.9]]) == 0.0
        assert Kappa.compute([0, 0], [[1.0, 0.0], [0.1, 0.9]]) == 0.0

    def test_kappa_of_extremes(self):
        assert Kappa.compute([0, 1, 2], np.eye(3)) == 1.0
        assert Kappa.compute([0, 1], [[0.0, 1.0], [1.0, 0.0]]) == -1.0

    def test_kappa_of_counts_whose_squares_overflow(self):
        metric = Kappa()
        metric.matrix.counts = np.array([[4, 1, 0], [1, 4, 0]]) * 10**12
        assert metric.value == pytest.approx(0.6, rel=1e-15)

    def test_gmean_ignores_classes_that_do_not_occur(self):
        proba = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        assert GMean.compute([0, 2], proba) == 1.0
        assert GMean.compute([0, 0], proba) == 0.5

    def test_gmean_is_zero_if_a_class_is_never_right(self):
        assert GMean.compute([0, 0, 1], [[1.0, 0.0], [1.0, 0.0], [0.6, 0.4]]) == 0.0

    def test_gmean_of_many_classes_does_not_underflow(self):
        k = 400
        metric = GMean()
        metric.matrix.counts = np.zeros((k, k + 1), dtype=np.int64)
        np.fill_diagonal(metric.matrix.counts, 1)
        metric.matrix.counts[:, -1] = 999
        assert metric.value == pytest.approx(1e-3, rel=1e-12)

    @pytest.mark.parametrize("y", [[0, 0], [1, 1]])
    def test_auc_of_one_class(self, y):
        assert ROCAUC.compute(y, [[0.3, 0.7], [0.6, 0.4]]) == 0.5
        assert ROCAUC.compute(y, [[0.3, 0.4, 0.3], [0.6, 0.4, 0.0]]) == 0.5

    def test_auc_with_a_single_column(self):
        assert ROCAUC.compute([0, 1, 1], [[1.0], [1.0], [1.0]]) == 0.5
        assert ROCAUC.compute([0, 0], [[1.0], [1.0]]) == 0.5

    def test_auc_counts_rows_from_before_class_1_had_a_column(self):
        metric = ROCAUC().update([1, 0], [[1.0], [1.0]]).update([1, 0], [[0.2, 0.8], [0.9, 0.1]])
        # Scores: positives 0 and 0.8, negatives 0 and 0.1; a tie, a loss and two wins.
        assert metric.value == 2.5 / 4

    def test_a_row_of_zeros_loses_its_pairs_in_auc_whichever_class_it_has(self):
        right = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
        assert ROCAUC.compute([0, 0, 1, 1], right) == 1.0
        for missing in range(4):
            proba = np.array(right)
            proba[missing] = 0.0
            assert ROCAUC.compute([0, 0, 1, 1], proba) == 0.5

    def test_log_loss_is_clipped_and_never_negative(self):
        assert LogLoss.compute([0], [[1.0, 0.0]]) == 0.0
        assert math.copysign(1.0, LogLoss.compute([0], [[1.0, 0.0]])) == 1.0
        assert LogLoss.compute([1], [[1.0, 0.0]]) == -math.log(1e-15)
        assert LogLoss.compute([1], [[1.0, 1e-300]]) == -math.log(1e-15)

    def test_log_loss_scales_votes(self):
        votes = np.array([[3.0, 1.0], [0.5, 1.5]])
        assert LogLoss.compute([0, 1], votes) == pytest.approx(-math.log(0.75), rel=1e-15)
        assert LogLoss.compute([1], [[1.0, 1.0]]) == pytest.approx(math.log(2.0))
        assert LogLoss.compute([0], [[1e308, 1e308]]) == -math.log(1e-15)  # a sum beyond the floats: no proof


WRONG = [
    pytest.param([0, 1], [[1.0, 0.0]], r"as many rows, got 2 and 1", id="lengths"),
    pytest.param([0], [1.0], r"shape \(n, k\), got \(1,\)", id="flat proba"),
    pytest.param([0], [[[1.0]]], r"shape \(n, k\), got \(1, 1, 1\)", id="deep proba"),
    pytest.param([[0]], [[1.0]], r"shape \(n,\), got \(1, 1\)", id="deep y"),
    pytest.param(0, [[1.0]], r"shape \(n,\), got \(\)", id="scalar y"),
    pytest.param([0, 1, -3], np.eye(3), r">= 0, got -3 in row 2", id="negative code"),
    pytest.param([0.0, 1.0], np.eye(2), r"integer class codes, got an array of float64", id="float codes"),
    pytest.param(["a", "b"], np.eye(2), r"integer class codes", id="text codes"),
    pytest.param([0, 1], [[0.5, 0.5], [0.5, np.nan]], r"got nan in row 1, column 1", id="nan"),
    pytest.param([0, 1], [[0.5, 0.5], [np.inf, 0.0]], r"got inf in row 1, column 0", id="inf"),
    pytest.param([0, 1], [[0.5, -np.inf], [1.0, 0.0]], r"got -inf in row 0, column 1", id="minus inf"),
    pytest.param([0, 1], [[0.5, 0.5], [1.5, -0.5]], r"got -0.5 in row 1, column 1", id="negative"),
]


class TestInput:
    @pytest.mark.parametrize(("y", "proba", "message"), WRONG)
    @pytest.mark.parametrize("metric", [*ALL, lambda: Window(Accuracy)])
    def test_wrong_rows_are_refused_and_leave_the_metric_as_it_was(self, metric, y, proba, message):
        running = metric().update(*random_rows(0, 50, 2))
        before = checkpoint.to_bytes(running)
        for call in (running.update, running.trace):
            with pytest.raises(ValueError, match=message):
                call(y, proba)
        assert checkpoint.to_bytes(running) == before
        with pytest.raises(ValueError, match=message):
            running.compute(y, proba)

    @pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int32, np.uint64])
    def test_any_integer_type_holds_codes(self, dtype):
        assert Accuracy.compute(np.array([0, 1, 1], dtype=dtype), [[1, 0], [0, 1], [1, 0]]) == 2 / 3

    def test_float32_probabilities(self):
        y, proba = random_rows(0, 100, 3)
        low = proba.astype(np.float32)
        assert LogLoss.compute(y, low) == LogLoss.compute(y, low.astype(np.float64))


class TestWindow:
    @pytest.mark.parametrize("metric", ALL)
    @settings(max_examples=50)
    @given(chunks=growing_chunks(), size=st.integers(1, 12))
    def test_equals_compute_on_the_last_rows_after_every_chunk(self, metric, chunks, size):
        window = Window(metric(), size)
        for i, (y, proba) in enumerate(chunks):
            assert window.update(y, proba) is window
            all_y, all_proba = padded(chunks[: i + 1])
            assert same(window.value, metric.compute(all_y[-size:], all_proba[-size:]))
            assert same(window.value, window.compute(all_y, all_proba))

    def test_rows_reach_the_metric_in_the_order_of_the_stream(self):
        seen = []

        class Spy(Accuracy):
            _takes_back = False

            def _compute(self, y, proba):
                seen.append((y.tolist(), proba[:, 0].tolist()))
                return 0.0

        window = Window(Spy, size=4)
        for i in range(7):
            assert window.update([i], [[i / 8]]).value == 0.0
        assert seen[2] == ([0, 1, 2], [0.0, 0.125, 0.25])
        assert seen[3] == ([0, 1, 2, 3], [0.0, 0.125, 0.25, 0.375])
        assert seen[6] == ([3, 4, 5, 6], [0.375, 0.5, 0.625, 0.75])

    def test_old_columns_do_not_linger_in_reused_rows(self):
        window = Window(LogLoss, size=1).update([2], [[0.2, 0.2, 0.6]]).update([2], [[0.5, 0.5]])
        assert window.value == -math.log(1e-15)

    @pytest.mark.parametrize("metric", METRICS.values())
    def test_is_named_after_its_metric(self, metric):
        window = Window(metric)
        assert isinstance(window, Metric)
        assert window.name == f"window({metric.name}, 1000)"
        assert window.label == f"{metric.label}, last 1,000"
        assert (window.greater_is_better, window.percent, window.task) == (
            metric.greater_is_better,
            metric.percent,
            metric.task,
        )
        assert window.size == 1000

    def test_the_metric_inside_is_not_updated(self):
        inner = Accuracy()
        assert Window(inner).update([0], [[1.0]]).value == 1.0
        assert math.isnan(inner.value)

    @pytest.mark.parametrize("size", [0, -1])
    def test_size_must_be_positive(self, size):
        with pytest.raises(ValueError, match=f"size must be >= 1, got {size}"):
            Window(Accuracy(), size)

    def test_size_must_be_an_integer(self):
        with pytest.raises(TypeError):
            Window(Accuracy(), 2.5)
        assert Window(Accuracy(), np.int64(3)).size == 3


class TestGet:
    def test_order_and_names(self):
        assert list(METRICS) == [
            *("accuracy", "balanced_accuracy", "kappa", "temporal_kappa", "kappa_m", "gmean"),
            *("recall", "precision", "f1", "auc", "average_precision", "log_loss", "brier"),
            *("mae", "rmse", "r2"),
        ]
        assert all(metric.name == name for name, metric in METRICS.items())
        assert [name for name, m in METRICS.items() if not m.greater_is_better] == ["log_loss", "brier", "mae", "rmse"]
        assert [name for name, m in METRICS.items() if not m.percent] == ["log_loss", "brier", "mae", "rmse", "r2"]
        assert [name for name, m in METRICS.items() if m.task == "regression"] == ["mae", "rmse", "r2"]

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("accuracy", Accuracy),
            ("ACC", Accuracy),
            ("Kappa", Kappa),
            ("gmean", GMean),
            ("G-mean", GMean),
            ("g_mean", GMean),
            ("G mean", GMean),
            ("auc", ROCAUC),
            ("ROC AUC", ROCAUC),
            ("roc_auc", ROCAUC),
            ("roc-auc", ROCAUC),
            ("log_loss", LogLoss),
            ("LogLoss", LogLoss),
            (" log-loss ", LogLoss),
            ("Kappa T", TemporalKappa),
            ("kappa-m", KappaM),
            ("Brier score", Brier),
            ("R2", R2),
        ],
    )
    def test_by_name(self, name, expected):
        assert type(metrics.get(name)) is expected

    @pytest.mark.parametrize("metric", METRICS.values())
    def test_by_name_label_and_class_gives_a_new_one(self, metric):
        for given_ in (metric.name, metric.label, metric):
            first, second = metrics.get(given_), metrics.get(given_)
            assert type(first) is type(second) is metric
            assert first is not second

    def test_an_instance_is_returned_as_it_is(self):
        for instance in (Accuracy(), Window(Accuracy())):
            assert metrics.get(instance) is instance

    @pytest.mark.parametrize(
        ("name", "nearest"),
        [
            ("acuracy", "accuracy"),
            ("cappa", "kappa"),
            ("g.mean", "gmean"),
            ("log_los", "log_loss"),
            ("rocauk", "auc"),
        ],
    )
    def test_unknown_name_lists_all_and_suggests_the_nearest(self, name, nearest):
        with pytest.raises(ValueError, match=r"accuracy, balanced_accuracy, kappa, .*auc, .*r2, window") as error:
            metrics.get(name)
        assert repr(name) in str(error.value)
        assert str(error.value).endswith(f"Did you mean {nearest!r}?")

    def test_a_far_off_name_suggests_nothing(self):
        with pytest.raises(ValueError, match=r"unknown metric 'zzz'; there are .*fading\(\.\.\.\)$"):
            metrics.get("zzz")

    @pytest.mark.parametrize(
        ("text", "name", "label"),
        [
            ("recall()", "recall", "Recall"),
            ("Recall(average='macro')", "recall(average='macro')", "Macro recall"),
            ("f1('weighted')", "f1(average='weighted')", "Weighted F1"),
            ("precision(label=2)", "precision(label=2)", "Precision of class 2"),
            ("window(AUC, 500)", "window(auc, 500)", "AUC, last 500"),
            ("window(auc)", "window(auc, 1000)", "AUC, last 1,000"),
            ("Fading(metric=accuracy, factor=0.99)", "fading(accuracy, 0.99)", "Accuracy, fading by 0.99"),
            ("fading(roc_auc)", "fading(auc, 0.999)", "AUC, fading by 0.999"),
            ("fading('g-mean', 0.9)", "fading(gmean, 0.9)", "G-mean, fading by 0.9"),
            (
                "fading(f1(average='macro'), 0.99)",
                "fading(f1(average='macro'), 0.99)",
                "Macro F1, fading by 0.99",
            ),
            ("window(rmse, 10)", "window(rmse, 10)", "RMSE, last 10"),
            ("brier(scale_by_half=False)", "brier(scale_by_half=False)", "Brier score"),
        ],
    )
    def test_by_expression(self, text, name, label):
        metric = metrics.get(text)
        assert (metric.name, metric.label) == (name, label)
        again = metrics.get(metric.name)
        assert type(again) is type(metric)
        assert (again.name, again.label) == (name, label)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("recall(avarage='macro')", "no parameter 'avarage'. Did you mean average"),
            ("recall(average='makro')", "average must be one of 'auto', 'macro', 'micro', 'weighted', got 'makro'"),
            ("recall(label='spam')", "code of a class"),
            ("recall(label=-1)", "label must be the code of a class, >= 0, got -1"),
            ("recall(average='micro', label=1)", "cannot both be given"),
            ("recall(average=macro)", "unknown metric 'macro'|text needs quotes"),
            ("window(auk, 10)", "unknown metric 'auk'.*Did you mean 'auc'"),
            ("windwo(auc, 10)", "unknown metric 'windwo'.*Did you mean 'window'"),
            ("window", r"unknown metric 'window'|window\(accuracy, 1000\)"),
            ("window(auc, 0)", "size must be >= 1, got 0"),
            ("window(auc, 2.5)", "integer"),
            ("window()", "needs a value for metric"),
            ("fading(auc, 0)", "factor must be above 0 and at most 1, got 0"),
            ("fading(auc, 1.5)", "factor must be above 0 and at most 1, got 1.5"),
            ("fading(window(auc, 10), 0.9)", "Window cannot fade"),
            ("fading(1, 0.9)", "its name, its class or an instance"),
            ("accuracy(1)", "takes at most 0|takes its parameters by name"),
            ("__import__('os').system('true')", "cannot read"),
            ("accuracy()()", "cannot read"),
            ("brier(scale_by_half=2)", "True, False or 'auto'"),
        ],
    )
    def test_expressions_that_will_not_do(self, text, message):
        with pytest.raises(ValueError, match=message):
            metrics.get(text)

    @pytest.mark.parametrize("junk", [None, 3, int])
    def test_anything_else_is_refused(self, junk):
        with pytest.raises(ValueError, match="its name, its class or an instance"):
            metrics.get(junk)


def test_import_leaves_scikit_learn_alone():
    code = "import sys, anabranch.metrics; print('sklearn' in sys.modules, 'numba' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]


def test_merging_is_updating_with_both():
    rng = np.random.default_rng(3)
    y = rng.integers(4, size=90)
    proba = rng.dirichlet(np.ones(4), 90)
    parts = [(y[:30] % 2, proba[:30, :2]), (y[30:], proba[30:])]
    for first, second in (parts, parts[::-1]):
        matrix, other, both = ConfusionMatrix(), ConfusionMatrix(), ConfusionMatrix()
        for counts, rows in ((matrix, [first]), (other, [second]), (both, [first, second])):
            for row in rows:
                counts.add(*row)
        before = other.counts.copy()
        matrix.merge(other)
        assert np.array_equal(matrix.counts, both.counts)
        assert np.array_equal(other.counts, before)
        loss = LogLoss().update(*first)
        loss.merge(LogLoss().update(*second))
        assert loss.value == LogLoss().update(*first).update(*second).value
