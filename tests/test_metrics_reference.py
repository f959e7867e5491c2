"""Every metric, in every form, against scikit-learn's or a plain computation row by row."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from anabranch import checkpoint, metrics
from anabranch.dummy import MajorityClassClassifier, NoChangeClassifier
from anabranch.metrics import (
    F1,
    MAE,
    METRICS,
    R2,
    RMSE,
    ROCAUC,
    Accuracy,
    AveragePrecision,
    BalancedAccuracy,
    Brier,
    CountMetric,
    Fading,
    GMean,
    Kappa,
    KappaM,
    LogLoss,
    MeanMetric,
    Metric,
    Precision,
    Recall,
    RegressionMetric,
    TemporalKappa,
    Window,
)

settings.register_profile("unhurried", deadline=None)  # the first example may have to compile
settings.load_profile("unhurried")

EXPRESSIONS = [
    *(name for name, metric in METRICS.items() if metric.task == "classification"),
    *("recall(average='macro')", "precision(average='weighted')", "f1(average='micro')", "f1(label=2)"),
    "brier(scale_by_half=False)",
]
REGRESSION = [name for name, metric in METRICS.items() if metric.task == "regression"]


# ------------------------------------------------------------------------------- plain references, with weights


def predictions(proba):
    """The class predicted in each row; -1: none."""
    return [-1 if not any(row) else max(range(len(row)), key=lambda c: (row[c], -c)) for row in proba.tolist()]


def n_known(y, proba):
    return max(proba.shape[1], max(y) + 1)


def score(proba, i, code):
    return proba[i, code] if code < proba.shape[1] else 0.0


def mean(values, w):
    return sum(v * x for v, x in zip(values, w, strict=True)) / sum(w)


def accuracy(y, proba, w):
    return mean([p == t for p, t in zip(predictions(proba), y, strict=True)], w)


def recalls(y, proba, w):
    said = predictions(proba)
    return [
        sum(x for t, p, x in zip(y, said, w, strict=True) if t == c == p)
        / sum(x for t, x in zip(y, w, strict=True) if t == c)
        for c in sorted(set(y))
    ]


def balanced_accuracy(y, proba, w):
    return sum(recalls(y, proba, w)) / len(set(y))


def gmean(y, proba, w):
    return math.prod(r ** (1 / len(set(y))) for r in recalls(y, proba, w))


def kappa(y, proba, w):
    said, total = predictions(proba), sum(w)
    chance = sum(
        sum(x for t, x in zip(y, w, strict=True) if t == c)
        * sum(x for p, x in zip(said, w, strict=True) if p == c)
        / total**2
        for c in set(y)
    )
    agreed = accuracy(y, proba, w)
    return 0.0 if len(set(y)) == 1 and set(said) == set(y) else (agreed - chance) / (1 - chance)


def against(y, proba, w, baseline):
    agreed, theirs = accuracy(y, proba, w), mean([b == t for b, t in zip(baseline, y, strict=True)], w)
    return (agreed - theirs) / (1 - theirs)


def temporal_kappa(y, proba, w):
    return against(y, proba, w, [-1, *y[:-1]])


def kappa_m(y, proba, w):
    guesses = [-1]
    for i in range(1, len(y)):
        so_far = y[:i]
        guesses.append(min(set(so_far), key=lambda c: (-so_far.count(c), c)))  # used at once
    return against(y, proba, w, guesses)


def one_class(y, proba, w, c):
    said = predictions(proba)
    right = sum(x for t, p, x in zip(y, said, w, strict=True) if t == p == c)
    return (
        right,
        sum(x for t, x in zip(y, w, strict=True) if t == c),
        sum(x for p, x in zip(said, w, strict=True) if p == c),
    )


RATIOS = {
    "recall": lambda h, s, p: h / s if s else 0.0,
    "precision": lambda h, s, p: h / p if p else 0.0,
    "f1": lambda h, s, p: 2 * h / (s + p) if s + p else 0.0,
}


def per_class(what, average, label=None):
    ratio = RATIOS[what]

    def figure(y, proba, w):
        if label is not None or (average == "auto" and n_known(y, proba) <= 2):
            return ratio(*one_class(y, proba, w, 1 if label is None else label))
        classes = sorted((set(y) | set(predictions(proba))) - {-1})
        counts = [one_class(y, proba, w, c) for c in classes]
        if average == "micro":
            return ratio(*(sum(column) for column in zip(*counts, strict=True)))
        weights = [s if average == "weighted" else 1.0 for _, s, _ in counts]
        return mean([ratio(*each) for each in counts], weights)

    return figure


def ranked(y, proba):
    return [1] if n_known(y, proba) <= 2 else sorted(set(y))


def auc(y, proba, w):
    areas = []
    for c in ranked(y, proba):
        won = pairs = 0.0
        for i in range(len(y)):
            for j in range(len(y)):
                if y[i] == c != y[j]:
                    pairs += w[i] * w[j]
                    a, b = score(proba, i, c), score(proba, j, c)
                    if proba[i].any() and proba[j].any():
                        won += w[i] * w[j] * (1.0 if a > b else 0.5 if a == b else 0.0)
        areas.append(won / pairs if pairs else 0.5)
    return sum(areas) / len(areas)


def average_precision(y, proba, w):
    values = []
    for c in ranked(y, proba):
        positive = [i for i in range(len(y)) if y[i] == c]
        if len(positive) in (0, len(y)):
            values.append(0.0)
            continue
        total = 0.0
        for i in positive:
            if proba[i].any():
                above = [
                    j
                    for j in range(len(y))
                    if (score(proba, j, c) >= score(proba, i, c) if proba[j].any() else y[j] != c)
                ]
                total += w[i] * sum(w[j] for j in above if y[j] == c) / sum(w[j] for j in above)
        values.append(total / sum(w[i] for i in positive))
    return sum(values) / len(values)


def shares(row):
    return row / row.sum() if row.any() else row


def log_loss(y, proba, w):
    return mean([-math.log(max(score(np.array([shares(r)]), 0, t), 1e-15)) for t, r in zip(y, proba, strict=True)], w)


def brier(halved):
    def figure(y, proba, w):
        k = n_known(y, proba)
        distances = []
        for t, row in zip(y, proba, strict=True):
            p = np.zeros(k)
            p[: len(row)] = shares(row)
            distances.append(sum((p[c] - (c == t)) ** 2 for c in range(k)) if row.any() else 2.0)
        return mean(distances, w) / (2.0 if halved and k <= 2 else 1.0)

    return figure


def mae(y, p, w):
    return mean([abs(a - b) for a, b in zip(y, p, strict=True)], w)


def rmse(y, p, w):
    return math.sqrt(mean([(a - b) ** 2 for a, b in zip(y, p, strict=True)], w))


def r2(y, p, w):
    errors = [Fraction(a) - Fraction(b) for a, b in zip(y, p, strict=True)]
    exact = [Fraction(x) for x in w]
    middle = mean([Fraction(a) for a in y], exact)
    spread = sum(x * (Fraction(a) - middle) ** 2 for a, x in zip(y, exact, strict=True))
    missed = sum(x * e**2 for e, x in zip(errors, exact, strict=True))
    if spread == 0:
        return 1.0 if missed == 0 else 0.0
    return float(1 - missed / spread)


REFERENCES = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "kappa": kappa,
    "temporal_kappa": temporal_kappa,
    "kappa_m": kappa_m,
    "gmean": gmean,
    "recall": per_class("recall", "auto"),
    "precision": per_class("precision", "auto"),
    "f1": per_class("f1", "auto"),
    "recall(average='macro')": per_class("recall", "macro"),
    "precision(average='weighted')": per_class("precision", "weighted"),
    "f1(average='micro')": per_class("f1", "micro"),
    "f1(label=2)": per_class("f1", None, label=2),
    "auc": auc,
    "average_precision": average_precision,
    "log_loss": log_loss,
    "brier": brier(True),
    "brier(scale_by_half=False)": brier(False),
    "mae": mae,
    "rmse": rmse,
    "r2": r2,
}


def close(a, b, abs_=1e-12):
    return (math.isnan(a) and math.isnan(b)) or a == pytest.approx(b, rel=1e-10, abs=abs_)


# ------------------------------------------------------------------------------- rows of every kind


@st.composite
def chunks_of_rows(draw, most=40):
    """Chunks of a stream with late classes, codes without a column, rows of zeros, ties, subnormal scores."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["any", "quarters", "constant", "subnormal", "hard"]))
    sticky = draw(st.booleans())
    chunks, k = [], draw(st.integers(0, 3))
    for n in draw(st.lists(st.integers(0, 8), min_size=1, max_size=6)):
        k += draw(st.sampled_from([0, 0, 0, 0, 1]))
        y = rng.integers(0, k + draw(st.sampled_from([0, 0, 1])) or 1, n)
        if sticky and n:
            y[:] = y[0]
        proba = {
            "any": lambda: rng.random((n, k)) ** 4,  # noqa: B023  # used at once
            "quarters": lambda: rng.integers(0, 5, (n, k)) / 4,  # noqa: B023
            "constant": lambda: np.full((n, k), 0.5),  # noqa: B023
            "subnormal": lambda: rng.integers(0, 4, (n, k)) * 5e-324,  # noqa: B023
            "hard": lambda: np.eye(k)[rng.integers(0, max(k, 1), n)] if k else np.zeros((n, 0)),  # noqa: B023
        }[kind]()
        proba[rng.random(n) < 0.1] = 0.0
        chunks.append((y, proba))
    return chunks


def joined(chunks):
    k = max(proba.shape[1] for _, proba in chunks)
    return (
        np.concatenate([y for y, _ in chunks]),
        np.concatenate([np.pad(proba, ((0, 0), (0, k - proba.shape[1]))) for _, proba in chunks]),
    )


@st.composite
def chunks_of_numbers(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = draw(st.sampled_from([1.0, 1e-30, 1e30]))
    shift = draw(st.sampled_from([0.0, 0.0, 1e6]))
    chunks = []
    for n in draw(st.lists(st.integers(0, 8), min_size=1, max_size=6)):
        y = rng.normal(size=n).round(draw(st.sampled_from([0, 3, 16]))) + shift
        chunks.append((scale * y, scale * (y + rng.normal(size=n) * draw(st.sampled_from([0.0, 1.0])))))
    return chunks


def rows_for(name):
    return chunks_of_numbers() if name in REGRESSION else chunks_of_rows()


def together(name, chunks):
    if name in REGRESSION:
        return tuple(np.concatenate(part) for part in zip(*chunks, strict=True))
    return joined(chunks)


def reference(name, y, proba, w=None):
    if len(y) == 0:
        return math.nan
    w = [1.0] * len(y) if w is None else w
    value = REFERENCES[name](y.tolist(), proba, list(w))
    return float(value)


@pytest.mark.parametrize("name", [*EXPRESSIONS, *REGRESSION])
class TestEveryMetric:
    """In all of its forms, on rows of every kind."""

    @settings(max_examples=30)
    @given(data=st.data())
    def test_over_the_run(self, name, data):
        chunks = data.draw(rows_for(name))
        y, proba = together(name, chunks)
        running = metrics.get(name)
        for chunk in chunks:
            running.update(*chunk)
        assert close(running.value, reference(name, y, proba))
        assert repr(running.value) == repr(metrics.get(name).compute(y, proba))
        if len(y):
            assert not math.isnan(running.value)

    @settings(max_examples=30)
    @given(data=st.data(), size=st.integers(1, 30))
    def test_over_a_window(self, name, data, size):
        """Looked at often or seldom, it is what is computed over the last rows alone."""
        chunks = data.draw(rows_for(name))
        window = Window(name, size)
        for i, (y, proba) in enumerate(chunks):
            window.update(y[: len(y) // 2], proba[: len(y) // 2])
            if data.draw(st.booleans()):
                assert window.value == window.value or math.isnan(window.value)
            for j in range(len(y) // 2, len(y)):
                window.update(y[j : j + 1], proba[j : j + 1])
                all_y, all_proba = together(name, [*chunks[:i], (y[: j + 1], proba[: j + 1])])
                if data.draw(st.booleans()):
                    expected = metrics.get(name).compute(all_y[-size:], all_proba[-size:])
                    assert repr(window.value) == repr(expected)
            window.update(y[:0], proba[:0])
        all_y, all_proba = together(name, chunks)
        assert repr(window.value) == repr(metrics.get(name).compute(all_y[-size:], all_proba[-size:]))
        assert close(window.value, reference(name, all_y[-size:], all_proba[-size:]))

    @settings(max_examples=30)
    @given(data=st.data(), factor=st.sampled_from([0.5, 0.9, 0.999, 1.0]))
    def test_fading(self, name, data, factor):
        chunks = data.draw(rows_for(name))
        y, proba = together(name, chunks)
        in_chunks, by_row = Fading(name, factor), Fading(name, factor)
        for chunk_y, chunk_proba in chunks:
            in_chunks.update(chunk_y, chunk_proba)
            for i in range(len(chunk_y)):
                by_row.update(chunk_y[i : i + 1], chunk_proba[i : i + 1])
            by_row.update(chunk_y[:0], chunk_proba[:0])
        weights = [factor**age for age in range(len(y) - 1, -1, -1)]
        assert repr(in_chunks.value) == repr(by_row.value)
        expected = reference(name, y, proba, weights)
        if name in ("r2", "temporal_kappa", "kappa_m") and len(y) and not -1e6 < expected <= 1.0:
            return  # next to nothing to compare with: digits are lost, as they must be
        assert close(in_chunks.value, expected, 1e-9)

    @settings(max_examples=15)
    @given(data=st.data(), form=st.sampled_from(["{}", "window({}, 7)", "window({}, 20)", "fading({}, 0.9)"]))
    def test_trace_is_the_value_after_each_row(self, name, data, form):
        chunks = data.draw(rows_for(name))
        traced, updated = metrics.get(form.format(name)), metrics.get(form.format(name))
        for y, proba in chunks:
            expected = [updated.update(y[i : i + 1], proba[i : i + 1]).value for i in range(len(y))]
            assert list(map(repr, traced.trace(y, proba).tolist())) == list(map(repr, expected))
            traced.update(y[:0], proba[:0])
            updated.update(y[:0], proba[:0])
            assert repr(traced.value) == repr(updated.value)

    @settings(max_examples=10)
    @given(data=st.data(), form=st.sampled_from(["{}", "window({}, 7)", "window({}, 20)", "fading({}, 0.9)"]))
    def test_goes_on_from_a_checkpoint(self, name, data, form):
        chunks = data.draw(rows_for(name))
        metric = metrics.get(form.format(name))
        for y, proba in chunks:
            for i in range(0, len(y), 3):
                again = checkpoint.from_bytes(checkpoint.to_bytes(metric))
                assert (type(again), again.name, again.label) == (type(metric), metric.name, metric.label)
                for each in (metric, again):
                    each.update(y[i : i + 3], proba[i : i + 3])
                assert repr(again.value) == repr(metric.value)
                assert checkpoint.to_bytes(again) == checkpoint.to_bytes(metric)
                metric = again

    def test_begins_empty_and_ends_empty(self, name):
        for form in ("{}", "window({}, 7)", "fading({}, 0.9)"):
            metric = metrics.get(form.format(name))
            assert math.isnan(metric.value)
            rng = np.random.default_rng(0)
            rows = rng.integers(0, 3, 50), rng.random((50, 3))
            if name in REGRESSION:
                rows = rng.random(50), rng.random(50)
            value = metric.update(*rows).value
            assert not math.isnan(value)
            assert metric.reset() is metric
            assert math.isnan(metric.value)
            assert len(metric.trace(*(part[:0] for part in rows))) == 0
            assert repr(metric.update(*rows).value) == repr(value)


# ------------------------------------------------------------------------------- scikit-learn


def classified(seed, k, n=300):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    proba = rng.dirichlet(np.ones(k), n)
    proba[np.arange(n), y] += rng.random(n) / 2
    return y, proba / proba.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("k", [2, 3, 8])
@pytest.mark.parametrize("seed", range(3))
class TestScikitLearn:
    def test_recall_precision_f1(self, seed, k):
        y, proba = classified(seed, k)
        said = proba.argmax(axis=1)
        for ours, theirs in ((Recall, sk.recall_score), (Precision, sk.precision_score), (F1, sk.f1_score)):
            for average in ("macro", "micro", "weighted"):
                expected = theirs(y, said, average=average, zero_division=0)
                assert ours(average).compute(y, proba) == pytest.approx(expected, rel=1e-12)
            each = theirs(y, said, average=None, zero_division=0)
            assert ours().update(y, proba).per_class == pytest.approx(each, rel=1e-12)
            assert [ours(label=c).compute(y, proba) for c in range(k)] == pytest.approx(each, rel=1e-12)
            auto = theirs(y, said, average="binary" if k == 2 else "macro", zero_division=0)
            assert ours.compute(y, proba) == pytest.approx(auto, rel=1e-12)

    def test_classes_that_do_not_occur_or_are_not_predicted(self, seed, k):
        y, proba = classified(seed, k)
        keep = y != 0
        proba[:, 1] = 0.0
        y, proba = y[keep], proba[keep]
        said = proba.argmax(axis=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for ours, theirs in ((Recall, sk.recall_score), (Precision, sk.precision_score), (F1, sk.f1_score)):
                for average in ("macro", "micro", "weighted"):
                    expected = theirs(y, said, average=average, zero_division=0)
                    assert ours(average).compute(y, proba) == pytest.approx(expected, rel=1e-12)
            assert BalancedAccuracy.compute(y, proba) == pytest.approx(sk.balanced_accuracy_score(y, said))

    def test_balanced_accuracy(self, seed, k):
        y, proba = classified(seed, k)
        assert BalancedAccuracy.compute(y, proba) == pytest.approx(sk.balanced_accuracy_score(y, proba.argmax(axis=1)))

    @pytest.mark.parametrize("decimals", [1, 16])
    def test_average_precision(self, seed, k, decimals):
        y, proba = classified(seed, k)
        proba = proba.round(decimals)
        proba[~proba.any(axis=1), 0] = 1.0
        scores, truth = (proba[:, 1], y) if k == 2 else (proba, np.eye(k)[y])
        assert AveragePrecision.compute(y, proba) == pytest.approx(sk.average_precision_score(truth, scores), rel=1e-12)

    def test_brier(self, seed, k):
        y, proba = classified(seed, k)
        expected = sk.brier_score_loss(y, proba[:, 1]) if k == 2 else ((proba - np.eye(k)[y]) ** 2).sum(axis=1).mean()
        assert Brier.compute(y, proba) == pytest.approx(expected, rel=1e-12)
        assert Brier.compute(y, 7.0 * proba) == pytest.approx(expected, rel=1e-12)

    def test_weighted_forms(self, seed, k):
        y, proba = classified(seed, k)
        said, w = proba.argmax(axis=1), 0.97 ** np.arange(len(y) - 1.0, -1.0, -1.0)
        pairs = {
            "accuracy": sk.accuracy_score(y, said, sample_weight=w),
            "balanced_accuracy": sk.balanced_accuracy_score(y, said, sample_weight=w),
            "kappa": sk.cohen_kappa_score(y, said, sample_weight=w),
            "f1(average='macro')": sk.f1_score(y, said, average="macro", sample_weight=w),
            "log_loss": sk.log_loss(y, proba, sample_weight=w),
        }
        if k == 2:
            pairs["auc"] = sk.roc_auc_score(y, proba[:, 1], sample_weight=w)
            pairs["average_precision"] = sk.average_precision_score(y, proba[:, 1], sample_weight=w)
        for name, expected in pairs.items():
            assert Fading(name, 0.97).update(y, proba).value == pytest.approx(expected, rel=1e-10), name

    def test_regression(self, seed, k):
        rng = np.random.default_rng(seed)
        y, p = rng.normal(5.0, k, 200), rng.normal(5.0, k, 200)
        w = 0.97 ** np.arange(199.0, -1.0, -1.0)
        for name, theirs in (
            ("mae", sk.mean_absolute_error),
            ("rmse", sk.root_mean_squared_error),
            ("r2", sk.r2_score),
        ):
            assert metrics.get(name).compute(y, p) == pytest.approx(theirs(y, p), rel=1e-12)
            faded = Fading(name, 0.97).update(y, p).value
            assert faded == pytest.approx(theirs(y, p, sample_weight=w), rel=1e-10)


# ------------------------------------------------------------------------------- edges


class TestEdges:
    def test_baselines_are_at_zero(self):
        rng = np.random.default_rng(0)
        X, y = rng.random((500, 2)), np.repeat(rng.integers(0, 3, 50), 10)
        for learner, metric in ((NoChangeClassifier(), TemporalKappa()), (MajorityClassClassifier(), KappaM())):
            learner.announce(np.arange(3))
            assert metric.update(y, learner.test_then_train(X, y)).value == 0.0

    def test_baselines_go_on_from_chunk_to_chunk(self):
        y = np.array([0, 0, 1, 1, 1, 0, 0, 0, 0, 2])
        right = np.eye(3)[y]
        for metric in (TemporalKappa, KappaM):
            assert metric().update(y, right).value == 1.0
            assert metric().update(y[:1], right[1:2]).value == 1.0  # the first row is new to the baseline

    def test_a_baseline_that_is_right_for_ever(self):
        ones = np.ones(100_000, np.int64)
        sure = np.tile([0.0, 1.0], (len(ones), 1))
        for metric in (TemporalKappa, KappaM):
            assert metric.compute(ones, sure) == 1.0
            faded = Fading(metric, 0.5).update(ones, sure)
            assert faded.value == 0.0  # the one miss has faded to nothing
            assert faded.update([1], [[1.0, 0.0]]).value == -math.inf

    @pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy", "gmean", "recall", "precision", "f1"])
    def test_perfect_is_one_in_all_forms(self, name):
        rng = np.random.default_rng(1)
        y = rng.integers(0, 11, 5000)
        for form in ("{}", "window({}, 99)", "fading({}, 0.9)", "fading({}, 0.9999)"):
            assert metrics.get(form.format(name)).update(y, np.eye(11)[y]).value == 1.0

    @settings(max_examples=100)
    @given(chunks=chunks_of_rows(), factor=st.sampled_from([1e-300, 1e-9, 0.3, 0.99]))
    def test_a_miss_is_never_perfect_and_values_stay_in_range(self, chunks, factor):
        y, proba = joined(chunks)
        if len(y) == 0:
            return
        missed = [a != b for a, b in zip(predictions(proba), y.tolist(), strict=True)]
        for name in EXPRESSIONS:
            plain, faded = metrics.get(name).compute(y, proba), Fading(name, factor).update(y, proba).value
            for value in (plain, faded):
                assert not math.isnan(value), name
                if name not in ("log_loss", "brier", "brier(scale_by_half=False)"):
                    assert value <= 1.0, name
                if name in ("accuracy", "balanced_accuracy", "gmean", "auc", "average_precision") or "(" in name:
                    assert value >= 0.0, name
        if any(missed):
            for name in ("accuracy", "balanced_accuracy", "kappa", "temporal_kappa", "kappa_m", "gmean"):
                assert metrics.get(name).compute(y, proba) < 1.0, name
            for average in ("macro", "micro", "weighted"):
                for metric in (Recall, F1):
                    assert metric(average).compute(y, proba) < 1.0
            assert LogLoss.compute(y, proba) > 0.0
            assert Brier.compute(y, proba) > 0.0

    def test_rows_without_a_prediction(self):
        y, nothing = np.array([0, 1, 1]), np.zeros((3, 2))
        for name in ("balanced_accuracy", "recall", "precision", "f1", "average_precision"):
            assert metrics.get(name).compute(y, nothing) == 0.0
        assert TemporalKappa.compute(y, nothing) == 1.0 - 3 / 2
        assert KappaM.compute(y, nothing) == 1.0 - 3 / 3
        assert Brier.compute(y, nothing) == 1.0
        assert Brier(scale_by_half=False).compute(y, nothing) == 2.0

    def test_one_class_only(self):
        y, proba = np.array([1, 1]), np.array([[0.9, 0.1], [0.2, 0.8]])
        assert AveragePrecision.compute(y, proba) == 0.0
        assert AveragePrecision.compute(1 - y, proba) == 0.0
        assert ROCAUC.compute(y, proba) == 0.5
        assert BalancedAccuracy.compute(y, proba) == Recall.compute(y, proba) == 0.5
        assert Precision.compute(y, proba) == 1.0
        assert Recall.compute(1 - y, proba) == 0.0
        assert Precision.compute([0], [[1.0, 0.0]]) == F1.compute([0], [[1.0, 0.0]]) == 0.0

    def test_a_class_far_off_every_column(self):
        y, proba = np.array([0, 7]), np.array([[1.0, 0.0], [0.0, 1.0]])
        assert Recall.compute(y, proba) == 1 / 3  # classes 0, 1 (predicted), 7
        assert Recall(label=7).compute(y, proba) == Recall(label=70).compute(y, proba) == 0.0
        assert AveragePrecision.compute(y, proba) == (1.0 + 0.5) / 2
        assert Brier.compute(y, proba) == 1.0  # 0 and 2: there are more than two classes

    def test_r2(self):
        assert R2.compute([3.0], [3.0]) == 1.0
        assert R2.compute([3.0], [4.0]) == 0.0
        assert R2.compute([3.0, 3.0], [3.0, 3.0]) == 1.0
        assert R2.compute([1e15, 1e15 + 1, 1e15 + 2], [1e15, 1e15 + 1, 1e15 + 3]) == 0.5
        assert R2.compute([1e-200, 2e-200, 3e-200], [1e-200, 2e-200, 3e-200]) == 1.0
        assert Fading(R2, 0.5).update([7.0, 7.0], [7.0, 8.0]).value == 0.0
        faded = Fading(R2, 0.9)
        rng = np.random.default_rng(0)
        for level in (0.0, 1e9):  # the mean moves far away, the variance is small
            y = level + rng.normal(size=2000)
            p = y + rng.normal(size=2000) / 2
            faded.update(y, p)
        w = 0.9 ** np.arange(1999.0, -1.0, -1.0)
        assert faded.value == pytest.approx(sk.r2_score(y, p, sample_weight=w), abs=1e-5)

    def test_sums_lose_nothing(self):
        y = np.array([1e150, 1.0, -1e150, 1e-150])
        metric = MAE().update(np.zeros(4), y)
        assert metric.value == float(sum(Fraction(abs(v)) for v in y.tolist()) / 4)
        window = Window(MAE, 9)
        for value in y:
            window.update([0.0], [value])
            assert not math.isnan(window.value)
        for _ in range(9):
            window.update([0.0], [1.0])
            assert not math.isnan(window.value)
        assert window.value == 1.0

    @pytest.mark.parametrize(
        ("y_true", "y_pred", "message"),
        [
            ([0.0, 1.0], [0.0], "as many rows, got 2 and 1"),
            ([0.0, math.nan], [0.0, 0.0], "y_true must be finite and at most 1e.150 in size, got nan in row 1"),
            ([0.0, 1.0], [-math.inf, 0.0], "y_pred must be finite and at most 1e.150 in size, got -inf in row 0"),
            ([0.0], [1e151], r"got 1e\+151 in row 0"),
            ([[0.0]], [0.0], r"y_true must have shape \(n,\), got \(1, 1\)"),
            ([0.0], 1.0, r"y_pred must have shape \(n,\), got \(\)"),
            (["1"], [0.0], "y_true must hold numbers, got an array of <U1"),
            ([0.0], [None], "y_pred must hold numbers, got an array of object"),
        ],
    )
    @pytest.mark.parametrize("make", [MAE, RMSE, R2, lambda: Window(RMSE, 3), lambda: Fading(R2)])
    def test_numbers_that_will_not_do(self, make, y_true, y_pred, message):
        metric = make().update([1.0, 2.0, 4.0], [1.0, 3.0, 3.0])
        before = checkpoint.to_bytes(metric)
        with pytest.raises(ValueError, match=message):
            metric.update(y_true, y_pred)
        assert checkpoint.to_bytes(metric) == before

    def test_numbers_of_other_types(self):
        assert MAE.compute([1, 2, 3], np.array([1, 2, 5], np.float32)) == 2 / 3
        assert MAE.compute([True, False], [1, 0]) == 0.0
        frozen = np.array([1.0, 2.0, 3.0])
        frozen.flags.writeable = False
        assert RMSE.compute(frozen[::-1], frozen) == math.sqrt(8 / 3)

    @pytest.mark.parametrize("factor", [0.0, -0.1, 1.1, math.nan])
    def test_factors_that_will_not_do(self, factor):
        with pytest.raises(ValueError, match="factor must be above 0 and at most 1"):
            Fading(Accuracy, factor)

    def test_what_cannot_fade_says_so(self):
        class Longest(Metric):
            name, label, greater_is_better, percent = "longest", "Longest", True, False

            def __init__(self):
                self.reset()

            def reset(self):
                self.n = 0
                return self

            def _update(self, y, proba):
                self.n = max(self.n, len(y))

            @property
            def value(self):
                return float(self.n)

        with pytest.raises(TypeError, match=r"Longest cannot fade.*Use Window"):
            Fading(Longest)
        with pytest.raises(TypeError, match="Window cannot fade"):
            Fading(Window(Accuracy))
        assert Window(Longest, 3).update([0, 1], np.eye(2)).value == 2.0
        assert Window(Window(Accuracy, 2), 3).update([0, 1, 0], np.eye(2)[[0, 0, 0]]).value == 0.5


class TestSlidingArea:
    @pytest.mark.parametrize("size", [1, 2, 17, 300])
    @pytest.mark.parametrize("kind", ["distinct", "ties", "rising", "falling", "skewed", "blocks"])
    @pytest.mark.parametrize("k", [2, 3])
    def test_after_every_row(self, size, kind, k):
        rng = np.random.default_rng(size)
        n = 1500
        y = rng.integers(0, k, n)
        scores = {
            "distinct": rng.random(n),
            "ties": rng.integers(0, 5, n) / 4,
            "rising": np.linspace(0.0, 1.0, n),
            "falling": np.linspace(1.0, 0.0, n),
            "skewed": rng.random(n) ** 300,
            "blocks": np.repeat(rng.random(n // 50), 50),
        }[kind]
        if kind == "skewed":
            y = (rng.random(n) < 0.01).astype(np.int64)
        proba = np.column_stack([1.0 - scores, *([scores / (k - 1)] * (k - 1))])
        window = Window(ROCAUC, size)
        # In pieces of several sizes, and now and then otherwise updated.
        traced = [window.trace(y[:700], proba[:700]), window.trace(y[700:701], proba[700:701])]
        window.update(y[701:720], proba[701:720])
        traced += [np.full(19, np.nan), window.trace(y[720:], proba[720:])]
        for i, value in enumerate(np.concatenate(traced).tolist()):
            if not 701 <= i < 720 and (i < 60 or i % 97 == 0 or i > n - 20 or 690 < i < 740):
                start = max(0, i + 1 - size)
                assert value == ROCAUC.compute(y[start : i + 1], proba[start : i + 1]), i

    def test_nodes_do_not_grow_without_end(self):
        rng = np.random.default_rng(0)
        window = Window(ROCAUC, 500)
        sizes = []
        for _ in range(40):
            y, scores = rng.integers(0, 2, 1000), rng.random(1000)
            window.trace(y, np.column_stack([1 - scores, scores]))
            sizes.append(len(window._running._trees[1]._size))
        assert sizes[-1] == sizes[5] <= 512


def test_a_metric_of_ones_own_has_all_forms():
    class Doubt(MeanMetric):
        name, label, greater_is_better, percent = "doubt", "Doubt", False, True

        def _terms(self, y, proba):
            return 1.0 - proba.max(axis=1)

    class Missed(CountMetric):
        name, label, greater_is_better, percent = "missed", "Missed", False, False

        @property
        def value(self):
            return float(self.matrix.misses)

    class Bias(RegressionMetric, MeanMetric):
        name, label, greater_is_better, percent = "bias", "Bias", False, False

        def _terms(self, y, proba):
            return proba - y

    y, proba = classified(0, 3)
    assert Window(Doubt, 5).update(y, proba).value == pytest.approx((1 - proba[-5:].max(axis=1)).mean())
    assert Fading(Missed, 0.5).update([0, 1, 1], np.eye(2)[[1, 1, 0]]).value == 1.25
    assert Fading(Bias, 0.5).update([0.0, 0.0], [1.0, 4.0]).value == 3.0
    for metric in (Doubt(), Missed(), Window(Missed, 7), Fading(Doubt)):
        metric.update(y, proba)
        again = checkpoint.from_bytes(checkpoint.to_bytes(metric))
        assert again.update(y[:9], proba[:9]).value == metric.update(y[:9], proba[:9]).value


def test_merging_is_updating_with_both():
    y, proba = classified(3, 4)
    for name in ("log_loss", "brier"):
        first, second = metrics.get(name).update(y[:100], proba[:100]), metrics.get(name).update(y[100:], proba[100:])
        first.merge(second)
        assert first.value == metrics.get(name).compute(y, proba)
    for metric in (MAE, RMSE, R2):
        first, second = metric().update(proba[:90, 0], proba[:90, 1]), metric().update(proba[90:, 0], proba[90:, 1])
        first.merge(second)
        assert first.value == metric.compute(proba[:, 0], proba[:, 1])


def test_all_metrics_are_tested_here():
    assert set(METRICS) <= set(REFERENCES)
    assert set(REFERENCES) == {*EXPRESSIONS, *REGRESSION}
    assert {GMean, Kappa} <= set(METRICS.values())
