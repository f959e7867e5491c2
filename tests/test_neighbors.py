"""KNNClassifier against a reference that goes row by row, and against scikit-learn where the definitions agree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from anabranch.checkpoint import CheckpointError
from anabranch.neighbors import KNNClassifier


class Reference:
    """Nearest neighbours as the docstring has them: sorts the whole window for every row."""

    def __init__(self, k, size, by_distance=False, normalize=False, nominal=()):
        self.k, self.size, self.by_distance, self.normalize, self.nominal = k, size, by_distance, normalize, nominal
        self.window = []  # rows, labels, weights; the oldest first

    def learn(self, x, y, w):
        if w > 0:
            self.window = [*self.window, (x, y, w)][-self.size :]

    def scale(self, j):
        if not self.normalize:
            return 1.0
        values = [x[j] for x, _, _ in self.window if not math.isnan(x[j])]
        return 1.0 / (max(values) - min(values)) if values and max(values) > min(values) else 0.0

    def distance(self, a, b):
        total, common, own = 0.0, 0, 0
        for j in range(len(a)):
            if math.isnan(a[j]):
                continue
            own += 1
            if math.isnan(b[j]):
                continue
            common += 1
            total += float(a[j] != b[j]) if j in self.nominal else ((a[j] - b[j]) * self.scale(j)) ** 2
        return math.sqrt(total * own / common) if common else math.inf

    def probabilities(self, x, n_classes):
        order = sorted((self.distance(x, row), -i, label, w) for i, (row, label, w) in enumerate(self.window))
        chosen, left = [], float(self.k)
        for distance, _, label, w in order:
            if left > 0:
                chosen.append((distance, label, min(w, left)))
                left -= w
        votes = [0.0] * n_classes
        for distance, label, w in chosen:
            if self.by_distance and chosen[0][0] == 0.0:
                w = w if distance == 0.0 else 0.0
            elif self.by_distance and chosen[0][0] < math.inf:
                w = w / distance
            votes[label] += w
        total = sum(votes)
        return [v / total for v in votes] if total else [1 / n_classes] * n_classes


def rows(kind, gaps, n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.standard_normal((n, 11)) + y[:, None] * rng.random(11)
    X[:, 2] *= 50.0
    X[:, 4] = np.arange(n)  # its range moves on with every row
    X[:, 5] = 3.0
    X[:, 6:9] = X[:, 6:9].round()  # ties
    nominal = []
    if kind == "mixed":
        nominal = [0, 7]
        for j in nominal:
            X[:, j] = (rng.integers(0, 4, n) + y) % 5
            codes = {}
            X[:, j] = [codes.setdefault(v, len(codes)) for v in X[:, j]]
    elif kind == "ties":
        X = rng.integers(0, 2, (n, 5)).astype(float)
    if gaps:
        X[rng.random(X.shape) < 0.15] = np.nan
        X[10:14] = np.nan
        X[: n // 3, 1] = np.nan
        for j in nominal:
            codes = {}
            X[:, j] = [v if math.isnan(v) else codes.setdefault(v, len(codes)) for v in X[:, j]]
    return X, y, nominal


SETTINGS = [
    {"n_neighbors": 1},
    {"n_neighbors": 7, "window_size": 70},
    {"n_neighbors": 5, "window_size": 64, "normalize": True},
    {"n_neighbors": 9, "window_size": 130, "weights": "distance"},
    {"n_neighbors": 400, "window_size": 50},
]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
@pytest.mark.parametrize("kind", ["numbers", "mixed", "ties"])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_equals_the_reference(settings, kind, gaps, weighted):
    X, y, nominal = rows(kind, gaps)
    n = len(y)
    w = np.ones(n)
    if weighted:
        rng = np.random.default_rng(1)
        w = rng.integers(0, 9, n) / 4.0
    learner = KNNClassifier(nominal_features=nominal, **settings).announce([0, 1, 2])
    got = learner.test_then_train(X, y, sample_weight=w)
    reference = Reference(
        settings["n_neighbors"],
        settings.get("window_size", 1000),
        settings.get("weights") == "distance",
        settings.get("normalize", False),
        nominal,
    )
    for i in range(n):
        x = X[i].tolist()
        if i:
            assert got[i] == pytest.approx(reference.probabilities(x, 3), rel=1e-9, abs=1e-12), i
        reference.learn(x, int(y[i]), float(w[i]))


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("d", [1, 3, 4, 6, 9, 17, 40])
def test_equals_scikit_learn(d, weights):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((1500, d))
    y = (X.sum(axis=1) + rng.standard_normal(1500) > 0).astype(int)
    ours = KNNClassifier(n_neighbors=7, window_size=1000, weights=weights).partial_fit(X, y, classes=[0, 1])
    theirs = KNeighborsClassifier(7, weights=weights, algorithm="kd_tree").fit(X[-1000:], y[-1000:])
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-9)


def test_missing_values_as_scikit_learn_has_them():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((600, 9))
    y = (X[:, 0] > 0).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[np.isnan(X).all(axis=1), 0] = 0.0
    ours = KNNClassifier(n_neighbors=5, window_size=600).partial_fit(X, y, classes=[0, 1])
    theirs = KNeighborsClassifier(5, metric="nan_euclidean").fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from([0.0, 1.0, 2.5, -1e99, 1e-200, float("nan")]), min_size=3, max_size=3),
            st.integers(0, 1),
            st.sampled_from([0.0, 0.5, 1.0, 3.0]),
        ),
        min_size=2,
        max_size=40,
    ),
    st.integers(1, 6),
    st.integers(1, 9),
    st.booleans(),
)
def test_odd_rows(stream, k, size, normalize):
    X = np.array([x for x, _, _ in stream])
    y = [label for _, label, _ in stream]
    w = [weight for _, _, weight in stream]
    learner = KNNClassifier(n_neighbors=k, window_size=size, normalize=normalize, weights="distance").announce([0, 1])
    proba = learner.test_then_train(X, y, sample_weight=w)
    assert np.isfinite(proba).all()
    assert np.allclose(proba.sum(axis=1), 1.0)
    alone = KNNClassifier(n_neighbors=k, window_size=size, normalize=normalize, weights="distance").announce([0, 1])
    for i in range(len(y)):
        alone.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=w[i : i + 1])
    assert alone.to_bytes() == learner.to_bytes()
    assert learner.n_rows_ == min(size, np.count_nonzero(w))


def test_the_later_of_two_equal_rows_is_nearer():
    learner = KNNClassifier(n_neighbors=1, window_size=3)
    for i, label in enumerate("abcab"):
        learner.learn_one({"x": 0.0}, label)
        assert learner.predict_one({"x": float(i)}) == label


def test_a_row_of_weight_three_is_three_rows():
    rng = np.random.default_rng(6)
    X, y, w = rng.standard_normal((200, 3)), rng.integers(0, 3, 200), rng.integers(0, 4, 200)
    weighted = KNNClassifier(n_neighbors=9).partial_fit(X, y, sample_weight=w, classes=[0, 1, 2])
    repeated = KNNClassifier(n_neighbors=9).partial_fit(np.repeat(X, w, axis=0), np.repeat(y, w), classes=[0, 1, 2])
    assert np.array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("sizes", [(100, 37), (100, 400), (1000, 64), (50, 1)])
def test_the_window_may_change_its_size(sizes, normalize):
    X, y, _ = rows("numbers", gaps=True)
    before, after = sizes
    learner = KNNClassifier(window_size=before).partial_fit(X[:180], y[:180])
    learner.set_params(window_size=after, normalize=normalize)
    rest = max(0, 180 - min(before, after))
    fresh = KNNClassifier(window_size=after, normalize=normalize).partial_fit(
        X[rest:180], y[rest:180], classes=[0, 1, 2]
    )
    classes = learner.classes_.argsort()
    for start in (180, 240):
        got = learner.test_then_train(X[start : start + 60], y[start : start + 60])
        expected = fresh.test_then_train(X[start : start + 60], y[start : start + 60])
        assert np.array_equal(got[:, classes], expected)


def test_memory_follows_the_rows():
    rng = np.random.default_rng(7)
    learner = KNNClassifier(window_size=1_000_000)
    learner.partial_fit(rng.random((500, 4)), rng.integers(0, 2, 500))
    assert learner.nbytes < 2 * 500 * (4 + 2) * 8
    learner = KNNClassifier(window_size=100)
    learner.partial_fit(rng.random((5000, 4)), rng.integers(0, 2, 5000))
    assert learner.nbytes < 2 * 100 * (4 + 2) * 8


@pytest.mark.parametrize(
    "spoil",
    [
        lambda it: setattr(it, "_window", it._window[:, :-1].copy()),
        lambda it: it._codes.__setitem__(0, 5),
        lambda it: it._meta.__setitem__(0, 5000),
        lambda it: it._meta.__setitem__(1, 17),
        lambda it: setattr(it, "_missing", it._missing[:-1]),
        lambda it: setattr(it, "_row_weights", it._row_weights.astype(np.float32)),
    ],
)
def test_a_checkpoint_that_does_not_fit_together(spoil):
    learner = KNNClassifier().partial_fit(np.arange(20.0).reshape(10, 2), [0, 1] * 5)
    spoil(learner)
    with pytest.raises(CheckpointError, match="does not fit together"):
        KNNClassifier.from_bytes(learner.to_bytes())
