"""Generators against plain row-by-row references, and against what their definitions imply."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.kernels import streams as kernels
from anabranch.papers.kirkby_streams import STREAMS
from anabranch.stream import (
    GENERATORS,
    LED,
    SEA,
    STAGGER,
    Agrawal,
    Generator,
    Hyperplane,
    MovingGaussian,
    RandomRBF,
    RandomTree,
    RotatingCheckerboard,
    Waveform,
)
from anabranch.stream.generator import States, random_from, uniforms

VARIANTS: list[Generator] = [
    Agrawal(6, balanced=True),
    Hyperplane(magnitude=0.01),
    Hyperplane(form="ratio", high=2, minority_share=0.05, magnitude=0.001),
    LED(n_drift_features=4),
    LED(irrelevant=False),
    MovingGaussian(chunk_rows=700),
    RandomRBF(drift_speed=0.01, n_drift_centroids=20),
    RandomTree(noise=0.1),
    RandomTree(n_nominal=0, n_classes=5),
    RandomTree(n_numeric=0, n_nominal=2, max_depth=6),
    RotatingCheckerboard(minority_share=None),
    SEA(threshold=15, minority_share=0.05),
    STAGGER(3, balanced=True),
    Waveform(40),
    *(cls(seed=3) for cls in GENERATORS.values()),
]


@settings(max_examples=60, deadline=None)
@given(
    which=st.integers(0, len(VARIANTS) - 1),
    size=st.one_of(st.integers(200, 6000), st.sampled_from([4095, 4096, 4097])),
    skip=st.integers(0, 9999),
)
def test_rows_do_not_depend_on_chunks(which: int, size: int, skip: int) -> None:
    stream = VARIANTS[which]
    X, y = stream.take(10_000)
    got = list(itertools.islice(stream.chunks(size, skip), (10_000 - skip) // size + 1))
    got_X, got_y = np.concatenate([X for X, _ in got]), np.concatenate([y for _, y in got])
    n = min(len(got_y), 10_000 - skip)
    np.testing.assert_array_equal(got_X[:n], X[skip : skip + n])
    np.testing.assert_array_equal(got_y[:n], y[skip : skip + n])


@pytest.mark.parametrize("stream", VARIANTS, ids=repr)
def test_what_generators_say_of_themselves(stream: Generator) -> None:
    X, y = stream.take(20_000)
    assert X.shape == (20_000, stream.n_features)
    assert X.dtype == np.float64
    assert X.flags.c_contiguous
    assert y.dtype == np.int64
    assert np.isfinite(X).all()
    assert len(stream.feature_names) == stream.n_features
    assert stream.classes is not None
    assert set(y) <= set(stream.classes)
    for j in stream.nominal_features:
        codes = np.unique(X[:, j])
        np.testing.assert_array_equal(codes, np.arange(len(codes)))
    ended = type(stream)(**{**stream.parameters(), "n_rows": 5000})
    assert not ended.endless
    np.testing.assert_array_equal(np.concatenate([X for X, _ in ended.chunks(999)]), X[:5000])


# ------------------------------------------------------------------------------------- random numbers


def rotated(x: int, k: int) -> int:
    return ((x << k) | (x >> (64 - k))) % 2**64


def xoshiro(state: list[int]) -> int:
    """One step of xoshiro256++ in whole numbers."""
    drawn = (rotated((state[0] + state[3]) % 2**64, 23) + state[0]) % 2**64
    t = (state[1] << 17) % 2**64
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= t
    state[3] = rotated(state[3], 45)
    return drawn


def test_uniforms_are_those_of_xoshiro() -> None:
    state = States(5, (1,))[7]
    plain = [int(word) for word in state]
    out = np.empty(1000)
    kernels._uniforms(state, out)
    np.testing.assert_array_equal(out, [(xoshiro(plain) >> 11) * 2.0**-53 for _ in range(1000)])
    assert state.tolist() == plain


def test_block_states_are_those_of_splitmix() -> None:
    seed = np.arange(4, dtype=np.uint64) + 11
    state = np.empty(4, np.uint64)
    kernels.block_state(seed, 9, state)
    for word in range(4):
        z = (int(seed[word]) + (4 * 9 + word + 1) * 0x9E3779B97F4A7C15) % 2**64
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
        assert int(state[word]) == z ^ (z >> 31)
    assert len({tuple(States(1, (1,))[block].tolist()) for block in range(1000)}) == 1000


@pytest.mark.parametrize("seed", [0, 1, 2**70])
def test_uniforms_are_those_of_numpy(seed: int) -> None:
    ours, numpys = random_from(seed, (1, 7)), random_from(seed, (1, 7))
    for n in (1, 1000):
        assert uniforms(ours, n).tolist() == numpys.random(n).tolist()
    assert ours.standard_normal(3).tolist() == numpys.standard_normal(3).tolist()  # drawing goes on behind them


def test_normals_are_normal() -> None:
    out = np.empty(2_000_000)
    kernels.normals(States(1, (0,))[0], out)
    # The ziggurat's layers must meet without a seam: shares of many narrow bins, and of the tail.
    edges = np.concatenate([[-np.inf], np.linspace(-4.2, 4.2, 169), [np.inf]])
    phi = np.array([0.5 * math.erfc(-edge / math.sqrt(2)) for edge in edges])
    expected = np.diff(phi) * len(out)
    counts = np.histogram(out, edges)[0]
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    degrees = len(expected) - 1
    assert abs(chi_square - degrees) < 5 * math.sqrt(2 * degrees)
    assert abs(out.mean()) < 4 / math.sqrt(len(out))
    assert abs(out.var() - 1) < 4 * math.sqrt(2 / len(out))
    assert 4.5 < np.abs(out).max() < 6.5


# ------------------------------------------------------------------------------------- RandomTree


def grown(stream: RandomTree, rng: np.random.Generator) -> Any:
    """Grow the tree as the pseudo-code has it: with the limits of every node, copied at every split."""

    def node(depth: int, nominal: list[int], low: list[float], high: list[float]) -> Any:
        if depth >= stream.max_depth or not nominal + low:
            return int(rng.random() * stream.n_classes)
        if depth >= stream.first_leaf_level and rng.random() < stream.leaf_fraction:
            return int(rng.random() * stream.n_classes)
        chosen = int(rng.random() * (len(nominal) + stream.n_numeric))
        if chosen < len(nominal):
            rest = [feature for feature in nominal if feature != nominal[chosen]]
            return nominal[chosen], None, [node(depth + 1, rest, low, high) for _ in range(stream.n_values)]
        j = chosen - len(nominal)
        split = low[j] + (high[j] - low[j]) * rng.random()
        below, above = high.copy(), low.copy()
        below[j] = above[j] = split
        return (
            stream.n_nominal + j,
            split,
            [node(depth + 1, nominal, low, below), node(depth + 1, nominal, above, high)],
        )

    zeros, ones = [0.0] * stream.n_numeric, [1.0] * stream.n_numeric
    return node(0, list(range(stream.n_nominal)), zeros, ones)


def classified(tree: Any, row: np.ndarray) -> int:
    while not isinstance(tree, int):
        feature, split, children = tree
        tree = children[int(row[feature]) if split is None else int(row[feature] >= split)]
    return tree


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"n_nominal": 10, "n_numeric": 10},
        {"n_nominal": 0},
        {"n_numeric": 0, "n_nominal": 3, "max_depth": 6},
        {"max_depth": 0},
        {"n_classes": 4, "n_values": 3, "first_leaf_level": 0, "leaf_fraction": 0.3, "max_depth": 8},
    ],
)
def test_tree_against_pseudo_code(parameters: dict[str, Any]) -> None:
    stream = RandomTree(**parameters, seed=4)
    tree = grown(stream, stream._model_rng())
    X, y = stream.take(3000)
    np.testing.assert_array_equal(y, [classified(tree, row) for row in X])
    nominal, numeric = X[:, : stream.n_nominal], X[:, stream.n_nominal :]
    for column in nominal.T:
        np.testing.assert_allclose(np.bincount(column.astype(int)) / 3000, 1 / stream.n_values, atol=0.05)
    for column in numeric.T:
        assert column.min() < 0.01
        assert 0.99 < column.max() < 1
        assert abs(column.mean() - 0.5) < 0.03


def test_tree_noise() -> None:
    clean, noisy = (RandomTree(noise=noise, seed=2).take(40_960) for noise in (0.0, 0.1))
    # The draws of noise come after each row's: only the first row of a block meets the same numbers.
    np.testing.assert_allclose(noisy[0][:, 5:].var(axis=0), (1 + 0.1**2) / 12, atol=0.002)
    shares = [np.bincount(X[:, 0].astype(int)) / len(X) for X, _ in (clean, noisy)]
    np.testing.assert_allclose(shares[0], shares[1], atol=0.02)
    stream = RandomTree(n_nominal=3, n_numeric=0, max_depth=3, noise=0.1, seed=2)
    X, y = stream.take(100_000)
    tree = grown(stream, stream._model_rng())
    # Where neither a tested value nor the class was changed, or all changes made no difference, labels agree.
    by_row = {row: classified(tree, np.array(row)) for row in itertools.product(range(5), repeat=3)}
    agreement = np.mean([by_row[tuple(map(int, row))] == label for row, label in zip(X, y, strict=True)])
    changed = 1 - 0.9**3
    other = np.mean([a != b for a, b in itertools.combinations(by_row.values(), 2)])
    assert 1 - 0.1 - changed * other < agreement + 0.05
    assert agreement < 0.9


def test_tree_noise_changes_into_others() -> None:
    stream = RandomTree(n_nominal=1, n_numeric=0, max_depth=1, noise=1.0, n_classes=3, seed=8)
    tree = grown(stream, stream._model_rng())
    X, y = stream.take(60_000)
    drawn = {label: Counter() for label in range(3)}
    for value, label in zip(X[:, 0].astype(int), y, strict=True):
        drawn[int(label)][int(value)] += 1
    # Each value was drawn uniformly and changed into another; each class into another than that of the value drawn.
    expected = np.zeros((3, 5))
    for true, seen in itertools.product(range(5), repeat=2):
        for label in range(3):
            if true != seen and label != classified(tree, np.array([true])):
                expected[label, seen] += 1 / 5 / 4 / 2
    found = np.array([[drawn[label][value] for value in range(5)] for label in range(3)]) / 60_000
    np.testing.assert_allclose(found, expected, atol=0.005)


def test_model_seed() -> None:
    for cls in (RandomTree, RandomRBF):
        base, rows, model = cls(seed=1), cls(seed=2, model_seed=1), cls(seed=1, model_seed=2)
        assert not np.array_equal(base.take(10)[0], rows.take(10)[0])
        attribute = "tree" if cls is RandomTree else "centres"
        np.testing.assert_array_equal(getattr(base, attribute)[0], getattr(rows, attribute)[0])
        assert not np.array_equal(getattr(base, attribute)[0], getattr(model, attribute)[0])


# ------------------------------------------------------------------------------------- RandomRBF


def test_centroids_move_as_step_by_step() -> None:
    stream = RandomRBF(n_centroids=6, n_features=3, drift_speed=0.03, n_drift_centroids=4, seed=5)
    still = RandomRBF(n_centroids=6, n_features=3, seed=5)
    centres = stream.centres.copy()
    speed = stream._motion[0].copy()
    lengths = np.sqrt((speed**2).sum(axis=1))
    np.testing.assert_allclose(lengths, [0.03] * 4 + [0] * 2)
    n = 5000
    (X, y), (X_still, y_still) = stream.take(n), still.take(n)
    np.testing.assert_array_equal(y, y_still)
    moved = X - X_still
    nearest = []
    for row in range(n):
        centres += speed
        speed[(centres > 1) | (centres < 0)] *= -1
        np.clip(centres, 0, 1, out=centres)
        gaps = np.abs(moved[row] - (centres - stream.centres)).max(axis=1)
        nearest.append(gaps.min())
    assert max(nearest) < 1e-9
    assert stream.centres.min() >= 0


# ------------------------------------------------------------------------------------- LED


def test_led_segments() -> None:
    X, y = LED(noise=0).take(20_000)
    np.testing.assert_allclose(np.bincount(y) / len(y), 0.1, atol=0.01)
    shown = {digit: X[y == digit][:, :7] for digit in range(10)}
    assert all((rows == rows[0]).all() for rows in shown.values())
    # The number of segments each digit lights.
    assert [int(rows[0].sum()) for rows in shown.values()] == [6, 2, 5, 5, 4, 5, 6, 3, 7, 6]
    assert len({tuple(rows[0]) for rows in shown.values()}) == 10
    bits = X[:, 7:]
    np.testing.assert_allclose(bits.mean(axis=0), 0.5, atol=0.02)
    np.testing.assert_allclose(np.corrcoef(bits.T), np.eye(17), atol=0.04)


def test_led_bayes_error() -> None:
    X, y = LED().take(200_000)
    clean, labels = LED(noise=0).take(1000)
    digits = np.array([clean[labels == digit][0, :7] for digit in range(10)])
    wrong = (X[:, None, :7] != digits).sum(axis=2)
    np.testing.assert_allclose((X[:, :7] != digits[y]).mean(axis=0), 0.1, atol=0.005)
    # Each segment inverted with probability 0.1: the digit with the fewest wrong segments is the likeliest.
    best = wrong == wrong.min(axis=1, keepdims=True)
    expected = (best[np.arange(len(y)), y] / best.sum(axis=1)).mean()
    assert abs(expected - 0.74) < 0.004


def test_led_drift_swaps_features() -> None:
    (X, y), (drifted, same) = LED().take(1000), LED(n_drift_features=3).take(1000)
    np.testing.assert_array_equal(y, same)
    places = [7, 8, 9, 3, 4, 5, 6, 0, 1, 2, *range(10, 24)]
    np.testing.assert_array_equal(drifted, X[:, places])


# ------------------------------------------------------------------------------------- Waveform


@pytest.mark.parametrize("n_features", [21, 40])
def test_waveform_means_and_bayes_error(n_features: int) -> None:
    n = 60_000
    X, y = Waveform(n_features).take(n)
    np.testing.assert_allclose(np.bincount(y) / n, 1 / 3, atol=0.01)
    waves = np.array([[max(0, 6 - abs(i - peak)) for i in range(21)] for peak in (6, 14, 10)])
    pairs = [(0, 1), (0, 2), (1, 2)]
    for label, (a, b) in enumerate(pairs):
        rows = X[y == label]
        np.testing.assert_allclose(rows[:, :21].mean(axis=0), (waves[a] + waves[b]) / 2, atol=0.06)
        np.testing.assert_allclose(rows[:, :21].var(axis=0), 1 + (waves[a] - waves[b]) ** 2 / 12, atol=0.12)
        np.testing.assert_allclose(rows[:, 21:].mean(axis=0), 0, atol=0.05)
        np.testing.assert_allclose(rows[:, 21:].var(axis=0), 1, atol=0.06)
    # The likelihood of each class, averaged over the mixing share.
    sample = X[:20_000, :21]
    shares = (np.arange(60) + 0.5) / 60
    likelihoods = []
    for a, b in pairs:
        waves_of = shares[:, None] * waves[a] + (1 - shares[:, None]) * waves[b]
        exponents = sample @ waves_of.T - 0.5 * (waves_of**2).sum(axis=1)
        top = exponents.max(axis=1, keepdims=True)
        likelihoods.append(top[:, 0] + np.log(np.exp(exponents - top).mean(axis=1)))
    error = (np.argmax(likelihoods, axis=0) != y[:20_000]).mean()
    assert 0.13 < error < 0.16


# ------------------------------------------------------------------------------------- Agrawal


def agrawal_group(function: int, row: dict[str, float]) -> int:
    """Tell the group as the definitions do, person by person: 0 for A."""
    salary, commission, age, level = row["salary"], row["commission"], row["age"], row["elevel"]
    loan, hvalue, hyears = row["loan"], row["hvalue"], row["hyears"]
    k = 1000
    young, middle = age < 40, 40 <= age < 60
    if function == 1:
        a = age < 40 or age >= 60
    elif function in (2, 6):
        amount = salary if function == 2 else salary + commission
        low, high = (50, 100) if young else (75, 125) if middle else (25, 75)
        a = low * k <= amount <= high * k
    elif function == 3:
        a = level in ({0, 1} if young else {1, 2, 3} if middle else {2, 3, 4})
    elif function == 4:
        if young:
            low, high = (25, 75) if level in {0, 1} else (50, 100)
        elif middle:
            low, high = (50, 100) if level in {1, 2, 3} else (75, 125)
        else:
            low, high = (50, 100) if level in {2, 3, 4} else (25, 75)
        a = low * k <= salary <= high * k
    elif function == 5:
        if young:
            low, high = (100, 300) if 50 * k <= salary <= 100 * k else (200, 400)
        elif middle:
            low, high = (200, 400) if 75 * k <= salary <= 125 * k else (300, 500)
        else:
            low, high = (300, 500) if 25 * k <= salary <= 75 * k else (100, 300)
        a = low * k <= loan <= high * k
    else:
        disposable = 2 * (salary + commission) / 3
        if function == 7:
            disposable -= loan / 5 + 20 * k
        elif function == 8:
            disposable -= 5 * k * level + 20 * k
        elif function == 9:
            disposable -= 5 * k * level + loan / 5 + 10 * k
        else:
            equity = hvalue * (hyears - 20) / 10 if hyears >= 20 else 0
            disposable += equity / 5 - 5 * k * level - 10 * k
        a = disposable > 0
    return 0 if a else 1


@pytest.mark.parametrize("function", range(1, 11))
def test_agrawal_functions_are_exact(function: int) -> None:
    stream = Agrawal(function, perturbation=0, seed=function)
    X, y = stream.take(4000)
    rows = [dict(zip(stream.feature_names, row, strict=True)) for row in X.tolist()]
    np.testing.assert_array_equal(y, [agrawal_group(function, row) for row in rows])


def test_agrawal_features() -> None:
    stream = Agrawal(perturbation=0)
    X, _ = stream.take(100_000)
    column = dict(zip(stream.feature_names, X.T, strict=True))
    assert [stream.feature_names[j] for j in stream.nominal_features] == ["elevel", "car", "zipcode"]
    for name, low, high in (("salary", 20_000, 150_000), ("loan", 0, 500_000)):
        quantiles = np.quantile(column[name], [0, 0.25, 0.5, 0.75, 1])
        np.testing.assert_allclose(quantiles, np.linspace(low, high, 5), atol=0.01 * (high - low))
    rich = column["salary"] >= 75_000
    assert (column["commission"][rich] == 0).all()
    assert 10_000 <= column["commission"][~rich].min() < 10_500
    assert 74_500 < column["commission"][~rich].max() <= 75_000
    for name, values in (("age", range(20, 81)), ("elevel", range(5)), ("car", range(20)), ("zipcode", range(9))):
        found, counts = np.unique(column[name], return_counts=True)
        assert found.tolist() == list(values)
        np.testing.assert_allclose(counts / len(X), 1 / len(values), atol=0.006)
    assert np.unique(column["hyears"]).tolist() == list(range(1, 31))
    ratio = column["hvalue"] / ((9 - column["zipcode"]) * 100_000)
    assert 0.5 <= ratio.min() < 0.51
    assert 1.49 < ratio.max() <= 1.5


def test_agrawal_perturbation() -> None:
    # Rows draw other numbers with perturbation; the very first of a block is the same.
    n = 300
    clean, moved = (
        np.concatenate([Agrawal(7, perturbation=p).take(1, skip=4096 * i)[0] for i in range(n)]) for p in (0, 0.05)
    )
    names = Agrawal().feature_names
    for j, name in enumerate(names):
        before, after = clean[:, j], moved[:, j]
        if name in ("elevel", "car", "zipcode"):
            np.testing.assert_array_equal(before, after)
        elif name == "commission":
            np.testing.assert_array_equal(after == 0, before == 0)
            assert np.abs(after - before).max() <= 0.05 * 65_000
        elif name == "hvalue":
            assert after.max() <= 135_000
        else:
            low, high = {"salary": (20e3, 150e3), "age": (20, 80), "hyears": (1, 30), "loan": (0, 500e3)}[name]
            rounding = 0.5 if name in ("age", "hyears") else 0
            assert 0 < np.abs(after - before).max() <= 0.05 * (high - low) + rounding
            assert after.min() >= low
            assert after.max() <= high
            if rounding:
                np.testing.assert_array_equal(after, np.round(after))


@pytest.mark.parametrize("stream", [Agrawal(10, balanced=True), STAGGER(1, balanced=True)], ids=repr)
def test_balanced_classes_take_turns(stream: Any) -> None:
    X, y = stream.take(9000)
    np.testing.assert_array_equal(y, 1 - np.arange(9000) % 2)
    plain = type(stream)(stream.function).take(60_000)
    for label in (0, 1):
        ours, theirs = X[y == label], plain[0][plain[1] == label]
        spread = theirs.std(axis=0) + 1e-9
        tolerance = 5 * (1 / math.sqrt(len(ours)) + 1 / math.sqrt(len(theirs)))
        assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) / spread < tolerance).all()


# ------------------------------------------------------------------------------------- SEA, STAGGER


@pytest.mark.parametrize(("function", "share"), [(1, 1 / 9), (2, 5 / 9), (3, 2 / 3)])
def test_stagger(function: int, share: float) -> None:
    X, y = STAGGER(function).take(30_000)
    meant = {
        1: lambda size, colour, shape: size == 0 and colour == 0,
        2: lambda size, colour, shape: colour == 2 or shape == 0,
        3: lambda size, colour, shape: size in (1, 2),
    }[function]
    np.testing.assert_array_equal(y, [meant(*row) for row in X])
    assert abs(y.mean() - share) < 0.015


def test_sea_minority_share() -> None:
    stream = SEA(threshold=5, minority_share=0.05, chunk_rows=800)
    X, y = stream.take(8000)
    np.testing.assert_array_equal(y.reshape(10, 800).sum(axis=1), 40)
    np.testing.assert_array_equal(y, X[:, 0] + X[:, 1] > 5)
    assert len({tuple(chunk) for chunk in y.reshape(10, 800)}) == 10
    np.testing.assert_allclose(X[y == 0][:, 0].mean(), 5 / 3, atol=0.1)  # uniform over the triangle
    with pytest.raises(ValueError, match="no row of class 1"):
        SEA(threshold=20, minority_share=0.05).take(1)


# ------------------------------------------------------------------------------------- Hyperplane


def test_hyperplane_drifts_as_step_by_step() -> None:
    stream = Hyperplane(n_features=4, n_drift_features=2, magnitude=0.02, reversal=0.2, noise=0, seed=9)
    n = 5000
    X, y = stream.take(n)
    turns = [np.empty((4096, 2)) for _ in range(2)]
    for block, out in enumerate(turns):
        kernels._uniforms(States(9, (2,))[block], out.ravel())
    weights, signs = stream.weights.copy(), [1, 1]
    close = 0
    for row, turn in zip(range(n), np.concatenate(turns), strict=False):
        total, half = float(X[row] @ weights), weights.sum() / 2
        if abs(total - half) < 1e-9:
            close += 1
        else:
            assert y[row] == (total >= half)
        for j in range(2):
            weights[j] += signs[j] * 0.02
            if turn[j] < 0.2:
                signs[j] = -signs[j]
    assert close < 3
    assert np.abs(weights[:2] - stream.weights[:2]).max() > 0.05


def test_hyperplane_shares() -> None:
    _, y = Hyperplane(noise=0).take(50_000)
    assert abs(y.mean() - 0.5) < 0.02
    (X, clean), (_, noisy) = Hyperplane(noise=0).take(50_000), Hyperplane(noise=0.05).take(50_000)
    assert abs((clean != noisy).mean() - 0.05) < 0.005
    means = []
    for seed in range(20):
        stream = Hyperplane(form="ratio", high=2, noise=0, seed=seed)
        X, y = stream.take(20_000)
        ratios = (X[:, :-1] + X[:, 1:]) / X[:, :-1]
        sums = ratios @ stream.weights
        agree = y == (sums >= 2.78 * stream.weights.sum())
        assert agree.mean() > 0.9999
        means.append(y.mean())
        assert X.max() <= 2
    assert abs(np.mean(means) - 0.5) < 0.08
    _, y = Hyperplane(form="ratio", high=2, noise=0, minority_share=0.05).take(100_000)
    assert 0.03 < y.mean() < 0.07


# ------------------------------------------------------------------------------------- DWMIL's streams


def test_moving_gaussian() -> None:
    stream = MovingGaussian(chunk_rows=20_000, n_chunks=5)
    for chunk, way in [(0, 0), (1, 0.25), (4, 1), (5, 0.75), (8, 0), (9, 0.25)]:
        X, y = stream.take(20_000, skip=20_000 * chunk)
        assert y.sum() == 1000
        np.testing.assert_allclose(X[y == 0].mean(axis=0), [5 - 10 * way, 0], atol=0.05)
        np.testing.assert_allclose(X[y == 1].mean(axis=0), [7 - 10 * way, 0], atol=0.15)
        np.testing.assert_allclose(np.cov(X[y == 0].T), np.eye(2), atol=0.06)
    still = MovingGaussian(n_chunks=1)
    assert abs(still.take(1000, skip=50_000)[0][:, 0].mean() - 5.1) < 0.2


def checkerboard_row(rng: random.Random, angle: float, odds: float) -> tuple[float, float, int]:
    while True:
        a, b = rng.random(), rng.random()
        u, v = a * math.cos(angle) - b * math.sin(angle), a * math.sin(angle) + b * math.cos(angle)
        label = 1 - (math.ceil(u / 0.5) + math.floor(v / 0.5)) % 2
        if label == 0 or rng.random() < odds:
            return a, b, label


def test_checkerboard_against_row_by_row() -> None:
    stream = RotatingCheckerboard(rows_per_turn=40_000)
    X, y = stream.take(40_000)
    rng = random.Random(1)
    plain = [checkerboard_row(rng, 2 * math.pi * i / 40_000, 0.05 / 0.95) for i in range(40_000)]
    shares = [np.mean(part) for part in np.split(y, 8)]
    expected = [np.mean([label for *_, label in plain[i * 5000 : (i + 1) * 5000]]) for i in range(8)]
    np.testing.assert_allclose(shares, expected, atol=0.015)
    angles = 2 * np.pi * np.arange(40_000) / 40_000
    u = X[:, 0] * np.cos(angles) - X[:, 1] * np.sin(angles)
    v = X[:, 0] * np.sin(angles) + X[:, 1] * np.cos(angles)
    np.testing.assert_array_equal(y, (np.ceil(u / 0.5) + np.floor(v / 0.5)) % 2 == 0)
    # The board is the same again after a turn, the rows are not.
    assert not np.array_equal(stream.take(100, skip=40_000)[0], X[:100])


# ------------------------------------------------------------------------------------- the thesis's streams


def test_streams_of_the_thesis() -> None:
    assert list(STREAMS) == [
        *("rts", "rtsn", "rtc", "rtcn", "rrbfs", "rrbfc", "led", "wave21", "wave40"),
        *(f"genF{function}" for function in range(1, 11)),
    ]
    shapes = {
        "rts": (10, 10, 2),
        "rtsn": (10, 10, 2),
        "rtc": (50, 50, 2),
        "rtcn": (50, 50, 2),
        "rrbfs": (0, 10, 2),
        "rrbfc": (0, 50, 2),
        "led": (24, 0, 10),
        "wave21": (0, 21, 3),
        "wave40": (0, 40, 3),
        **{f"genF{function}": (3, 6, 2) for function in range(1, 11)},
    }
    for name, make in STREAMS.items():
        stream = make(seed=1)
        nominal = len(stream.nominal_features)
        assert stream.classes is not None
        assert (nominal, stream.n_features - nominal, len(stream.classes)) == shapes[name]
        assert len(stream.take(5)[1]) == 5
    clean, noisy = STREAMS["rts"](seed=3), STREAMS["rtsn"](seed=3)
    np.testing.assert_array_equal(clean.tree.label, noisy.tree.label)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (Agrawal, {"function": 11}, "function must be a whole number from 1 to 10"),
        (Agrawal, {"perturbation": 2}, "perturbation must be a number from 0 to 1"),
        (Hyperplane, {"magnitude": -1}, "magnitude must be a number of at least 0"),
        (Hyperplane, {"magnitude": math.inf}, "magnitude must be"),
        (Hyperplane, {"n_drift_features": 11}, "n_drift_features must be at most 10"),
        (Hyperplane, {"form": "cubic"}, "form must be 'linear' or 'ratio'"),
        (Hyperplane, {"form": "ratio", "n_features": 1}, "at least two features"),
        (Hyperplane, {"minority_share": 0.6}, "minority_share must be a number from 0 to 0.5"),
        (LED, {"n_drift_features": 8}, "n_drift_features must be from 0 to 7"),
        (LED, {"n_drift_features": 1, "irrelevant": False}, "0 without irrelevant features"),
        (MovingGaussian, {"majority": (1, 2)}, "majority must hold two means"),
        (MovingGaussian, {"majority": ((1, 2, 3), (1, 2, 3))}, "majority has means of 3 numbers, minority of 2"),
        (RandomRBF, {"drift_speed": -0.1}, "drift_speed must be"),
        (RandomRBF, {"n_drift_centroids": 51}, "n_drift_centroids must be at most n_centroids"),
        (RandomTree, {"n_nominal": 0, "n_numeric": 0}, "at least one feature"),
        (RandomTree, {"leaf_fraction": math.nan}, "leaf_fraction must be"),
        (RandomTree, {"model_seed": -1}, "model_seed must be"),
        (RotatingCheckerboard, {"side": 0}, "side must be"),
        (SEA, {"minority_share": 2}, "minority_share must be"),
        (STAGGER, {"function": 4}, "function must be 1, 2 or 3"),
        (Waveform, {"n_features": 22}, "n_features must be 21 or 40"),
    ],
)
def test_parameters_are_checked(kind: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**parameters)
