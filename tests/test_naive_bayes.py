"""GaussianNB against a reference that goes row by row, and against scikit-learn where the definitions agree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB
from sklearn.naive_bayes import GaussianNB as ScikitGaussianNB

from anabranch.checkpoint import CheckpointError
from anabranch.naive_bayes import GaussianNB


class Reference:
    """Naive Bayes as its docstring has it: keeps all rows, works every figure out anew."""

    def __init__(self, n_columns, nominal=(), smoothing=1e-9):
        self.numeric = [j for j in range(n_columns) if j not in nominal]
        self.nominal = list(nominal)
        self.smoothing = smoothing
        self.rows = []
        self.floors = {}  # per class and column: the floor of its variance when it last learned a row
        self.varied = 0

    def figures(self, j, c=None):
        """Weight, mean and variance of a column's values, of one class or all."""
        pairs = [(x[j], w) for x, y, w in self.rows if not math.isnan(x[j]) and c in (None, y)]
        weight = sum(w for _, w in pairs)
        if weight == 0.0:
            return 0.0, math.nan, math.nan
        mean = sum(v * w for v, w in pairs) / weight
        if all(v == pairs[0][0] for v, _ in pairs):
            return weight, pairs[0][0], 0.0
        return weight, mean, sum(w * (v - mean) ** 2 for v, w in pairs) / weight

    def learn(self, x, y, w):
        if w == 0.0:
            return
        self.rows.append((x, y, w))
        varied = sum(self.figures(j)[2] > 0.0 for j in self.numeric)
        for c in {c for _, c, _ in self.rows} if varied != self.varied else {y}:
            for j in self.numeric:
                self.floors[c, j] = self.smoothing * self.figures(j)[2]
        self.varied = varied

    def scores(self, x):
        classes = {y for _, y, _ in self.rows}
        scores = {}
        for c in classes:
            score = math.log(sum(w for _, y, w in self.rows if y == c))
            for j in self.numeric:
                _, _, whole = self.figures(j)
                if math.isnan(x[j]) or math.isnan(whole) or whole == 0.0:
                    continue
                weight, mean, variance = self.figures(j, c)
                if weight == 0.0:
                    _, mean, variance = self.figures(j)
                else:
                    variance = max(variance, self.floors[c, j])
                score -= 0.5 * math.log(2 * math.pi * variance) + (x[j] - mean) ** 2 / (2 * variance)
            for j in self.nominal:
                met = {r[j] for r, _, _ in self.rows if not math.isnan(r[j])}
                if math.isnan(x[j]) or not met:
                    continue
                total = sum(w for r, y, w in self.rows if y == c and not math.isnan(r[j]))
                value = sum(w for r, y, w in self.rows if y == c and r[j] == x[j])
                score += math.log((value + 1.0) / (total + max(met) + 1.0))  # codes are 0, 1, 2, ...
            scores[c] = score
        return scores

    def probabilities(self, x, n_classes):
        scores = self.scores(x)
        if not scores:
            return [1.0 / n_classes] * n_classes
        best = max(scores.values())
        votes = [math.exp(scores[c] - best) if c in scores else 0.0 for c in range(n_classes)]
        return [vote / sum(votes) for vote in votes]


def stream(kind, gaps, weighted, n=250, seed=0):
    """Rows, codes of classes, weights, and which columns are nominal; nominal values are coded in row order."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    y[: n // 2] %= 2  # the third class turns up late
    X = rng.standard_normal((n, 6)) + np.column_stack([y, -y, 0 * y, y * 0.3, 0 * y, 0 * y])
    X[:, 2] *= 1e5
    X[:, 4] = 7.0  # constant for a while
    X[n // 3 :, 4] += y[n // 3 :]
    nominal = []
    if kind == "mixed":
        nominal = [1, 5]
        for j in nominal:
            values = ((rng.integers(0, 3, n) + y) % (3 + (np.arange(n) > n // 2))).astype(float)
            if gaps:
                values[rng.random(n) < 0.1] = np.nan
            X[:, j] = values
    if gaps:
        X[rng.random((n, 6)) < 0.1] = np.nan
        X[: n // 4, 3] = np.nan  # a column that appears
        X[(y == 1) & (np.arange(n) < n // 2), 0] = np.nan  # one class lacks it for long
    for j in nominal:
        codes = {}
        X[:, j] = [v if math.isnan(v) else codes.setdefault(v, len(codes)) for v in X[:, j]]
    w = rng.exponential(1.0, n) * (rng.random(n) > 0.1) if weighted else np.ones(n)
    return X, y, w, nominal


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
@pytest.mark.parametrize("kind", ["numbers", "mixed"])
@pytest.mark.parametrize("smoothing", [1e-9, 0.5])
def test_equals_the_reference(kind, gaps, weighted, smoothing):
    X, y, w, nominal = stream(kind, gaps, weighted)
    learner = GaussianNB(var_smoothing=smoothing, nominal_features=nominal).announce([0, 1, 2])
    got = learner.test_then_train(X, y, sample_weight=w)
    reference = Reference(6, nominal, smoothing)
    for i in range(len(y)):
        expected = reference.probabilities(X[i].tolist(), 3)
        # A variance of a single value is nothing but the floor: there tiny errors count for much.
        assert got[i] == pytest.approx(expected, rel=1e-6, abs=1e-9), i
        reference.learn(X[i].tolist(), int(y[i]), float(w[i]))


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_equals_scikit_learn(weighted):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, 3000)
    X = rng.standard_normal((3000, 23)) * np.geomspace(1e-3, 1e3, 23) + 0.3 * y[:, None]
    w = rng.exponential(1.0, 3000) if weighted else None
    ours = GaussianNB(var_smoothing=0).partial_fit(X, y, classes=range(4), sample_weight=w)
    theirs = ScikitGaussianNB(var_smoothing=0).fit(X, y, w)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ours.theta_, theirs.theta_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours.var_, theirs.var_, rtol=1e-10)
    np.testing.assert_allclose(ours.class_prior_, theirs.class_prior_)
    np.testing.assert_allclose(ours.class_count_, theirs.class_count_)


def test_nominal_columns_equal_scikit_learns_categorical():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 500)
    X = (rng.integers(0, 5, (500, 4)) + y[:, None]) % 6
    X[:6] = np.arange(6)[:, None]  # codes in order
    ours = GaussianNB(nominal_features=range(4)).fit(X, y)
    theirs = CategoricalNB(alpha=1.0).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-10)


def test_running_figures_do_not_lose_digits():
    rng = np.random.default_rng(3)
    X = 1e9 + rng.standard_normal((20_000, 1))
    learner = GaussianNB().partial_fit(X, np.zeros(20_000, int))
    assert learner.var_[0, 0] == pytest.approx(np.var(X[:, 0] - 1e9), rel=1e-6)


def test_many_columns_neither_vanish_nor_overflow():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 400)
    X = rng.standard_normal((400, 800)) * 10.0 ** rng.integers(-80, 80, 800) * (1 + 0.2 * y[:, None])
    proba = GaussianNB().fit(X, y).predict_proba(X)
    assert np.isfinite(proba).all()
    assert (proba.argmax(axis=1) == y).mean() > 0.9


def test_a_constant_column_tells_nothing():
    X = np.column_stack([np.r_[0.0, 1.0, 0.1, 1.1, 0.2, 0.9], np.full(6, 5.0)])
    y = [0, 1, 0, 1, 0, 1]
    with_it = GaussianNB().fit(X, y)
    without = GaussianNB().fit(X[:, :1], y)
    rows = np.column_stack([np.linspace(-1, 2, 20), np.linspace(0, 10, 20)])
    assert np.array_equal(with_it.predict_proba(rows), without.predict_proba(rows[:, :1]))


def test_a_class_without_values_in_a_column_is_judged_by_all():
    rows = [{"a": 0.0}, {"a": 1.0}] * 20 + [{"a": i % 2 + 0.1, "b": float(i % 5)} for i in range(20)]
    labels = ["old", "new"] * 20 + ["new"] * 20
    learner = GaussianNB()
    for row, label in zip(rows, labels, strict=True):
        learner.learn_one(row, label)
    weights = dict(zip(learner.classes_, learner.class_prior_, strict=True))
    assert learner.predict_proba_one({"b": 3.0}) == pytest.approx(weights)


def test_figures_are_missing_where_there_are_none():
    learner = GaussianNB(nominal_features=[1]).partial_fit([[1.0, 3], [np.nan, 3]], ["a", "b"])
    assert np.array_equal(learner.theta_, [[1.0, np.nan], [np.nan, np.nan]], equal_nan=True)
    assert np.array_equal(learner.var_, [[0.0, np.nan], [np.nan, np.nan]], equal_nan=True)
    assert np.array_equal(GaussianNB().announce([1, 2]).class_prior_, [0.5, 0.5])


def test_many_values_and_classes():
    names = [f"value {i}" for i in range(3000)]
    learner = GaussianNB()
    rows = [{"name": name} for name in names]
    labels = [i % 100 for i in range(3000)]
    alone = GaussianNB()
    for row, label in zip(rows, labels, strict=True):
        alone.learn_one(row, label)
    tested = learner.test_then_train(rows, labels)
    assert tested.shape == (3000, 100)
    assert np.allclose(tested[1:].sum(axis=1), 1.0)  # before the first row no class is known
    assert alone.to_bytes() == learner.to_bytes()
    assert learner.predict(rows).tolist() == labels
    assert learner.nbytes < 1.2 * 8 * 100 * 3000


@pytest.mark.parametrize(
    "spoil",
    [
        lambda it: setattr(it, "_moments", it._moments[:-1]),
        lambda it: setattr(it, "_cells", it._cells[:, :-1].copy()),
        lambda it: it._nominal.__setitem__((0, 2), 1000),
        lambda it: it._nominal.__setitem__((0, 0), 77),
        lambda it: it._numeric.__setitem__(0, 99),
        lambda it: setattr(it, "_per_class", it._per_class.astype(np.float32)),
    ],
)
def test_a_checkpoint_that_does_not_fit_together(spoil):
    learner = GaussianNB().partial_fit([{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}], [0, 1])
    spoil(learner)
    with pytest.raises(CheckpointError, match="do not fit together"):
        GaussianNB.from_bytes(learner.to_bytes())
