"""PUFE: the completion of the overlap, and the learners against their reference."""

import numpy as np
import pytest
import reference_pufe as reference

from anabranch.evolving import FESLClassifier, FESLRegressor, PUFEClassifier, PUFERegressor, pufe


def low_rank(columns=12, rows=30, rank=3, noise=0.05, seed=0):
    """A matrix of low rank, most of whose lines end or begin somewhere in the middle."""
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((columns, rank)) @ rng.standard_normal((rank, rows))
    matrix = (matrix + noise * rng.standard_normal((columns, rows))) * rng.uniform(0.1, 100, (columns, 1)) + 5.0
    holes = matrix.copy()
    for j in range(columns // 2):
        holes[j, rng.integers(rows // 2, rows) :] = np.nan
        holes[columns // 2 + j, : rng.integers(0, rows // 3)] = np.nan
    return matrix, holes


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("shrinkage", [0.05, 0.2])
def test_the_completion_minimises_the_nuclear_norm(centred, shrinkage, monkeypatch):
    _, holes = low_rank()
    monkeypatch.setattr(pufe, "_ROUNDS", 5000)
    monkeypatch.setattr(pufe, "_SETTLED", 1e-13)
    filled = pufe.complete(holes, 12, shrinkage, centred)
    assert np.allclose(filled, reference.soft_impute(holes, shrinkage, centred), rtol=1e-4, atol=1e-3)
    assert np.array_equal(filled[~np.isnan(holes)], holes[~np.isnan(holes)])


def test_the_completion_finds_what_is_missing():
    matrix, holes = low_rank(columns=20, rows=50)
    missing = np.isnan(holes)
    filled = pufe.complete(holes, 10, 0.01)
    spread = np.where(missing, matrix - np.nanmean(holes, axis=1, keepdims=True), 0.0)
    assert np.linalg.norm((filled - matrix)[missing] / matrix.std(axis=1, keepdims=True).repeat(50, 1)[missing]) < (
        0.2 * np.linalg.norm(spread[missing] / matrix.std(axis=1, keepdims=True).repeat(50, 1)[missing])
    )


@pytest.mark.parametrize(
    "matrix",
    [
        np.full((3, 4), np.nan),
        np.array([[np.nan, 1.0], [2.0, np.nan]]),
        np.array([[1e40, np.nan, -1e40], [1.0, 2.0, 3.0]]),
        np.array([[0.0, 0.0, np.nan], [0.0, 0.0, 0.0]]),
        np.array([[np.nan], [3.0]]),
    ],
)
def test_whatever_is_completed_is_finite(matrix):
    for rank in (1, 5):
        for shrinkage in (1e-9, 1.0):
            assert np.isfinite(pufe.complete(matrix, rank, shrinkage)).all()


def one_by_one(kind, n=500, d1=6, d2=6, seed=0, rank=4, change=240, B=40):
    """Columns that die, and others that turn up, one by one within B rows before all of the old ones are gone."""
    rng = np.random.default_rng(seed)
    state = rng.standard_normal((n, rank)) / np.sqrt(rank)
    X = state @ rng.standard_normal((rank, d1 + d2)) + 0.02 * rng.standard_normal((n, d1 + d2))
    y = state @ rng.standard_normal(rank)
    X[change:, :d1] = np.nan
    X[: change - B, d1:] = np.nan
    for j in range(1, d1):
        X[int(rng.integers(change - B // 2, change)) :, j] = np.nan
    for j in range(1, d2):
        X[: int(rng.integers(change - B + 1, change - B // 2)), d1 + j] = np.nan
    return X, y if kind == "square" else np.where(y > 0, 1.0, -1.0)


@pytest.mark.parametrize("kind", ["logistic", "square"])
def test_against_the_reference(kind, monkeypatch):
    X, y = one_by_one(kind)
    monkeypatch.setattr(pufe, "_ROUNDS", 5000)
    monkeypatch.setattr(pufe, "_SETTLED", 1e-12)
    c, settings = (0.5, PUFEClassifier) if kind == "logistic" else (20.0, PUFERegressor)
    learner = settings(c=c, horizon=260, rank=12, shrinkage=0.1, overlap_rows=40, fit_intercept=False)
    filled = pufe.complete(X[200:240].T, 12, 0.1, False)
    assert np.allclose(filled, reference.soft_impute(X[200:240].T, 0.1, False), atol=1e-3)
    told, losses, suffered, shares = reference.learn(kind, X, y, 6, 240, filled, c)
    if kind == "logistic":
        learner.announce([-1.0, 1.0])
        learner.partial_fit(X[:1], y[:1])
        got = [0.0]
        for i in range(1, len(y)):
            got.append(learner.decision_function(X[i : i + 1])[0])
            learner.partial_fit(X[i : i + 1], y[i : i + 1])
    else:
        got = learner.test_then_train(X, y)
    assert learner.period_ == 2
    assert np.ptp(shares) > 0.05  # the share moves
    assert np.allclose(got, told, rtol=1e-6, atol=1e-6)
    assert np.isclose(learner.losses_[2], suffered, rtol=1e-6)
    assert np.isclose(learner.regret_, suffered - losses.min(), atol=1e-5)
    assert np.isclose(learner.losses_[0], losses[-1], rtol=1e-6)
    assert np.isclose(learner.losses_[1], losses[0], rtol=1e-6)


def test_holes_cost_less_than_without_completion():
    """In the rows after all old columns are gone, over ten streams."""
    errors = np.zeros((10, 2))
    for seed in range(10):
        X, y = one_by_one("square", seed=seed)
        for k, learner in enumerate((PUFERegressor(c=5), FESLRegressor(c=5, patience=50))):
            told = learner.test_then_train(X, y)
            assert learner.period_ == 2
            errors[seed, k] = np.abs(told - y)[240:300].mean()
    assert (errors[:, 0] < errors[:, 1]).sum() > 5
    assert errors[:, 0].mean() < 0.7 * errors[:, 1].mean()


def test_without_holes_the_mapping_is_fesls():
    rng = np.random.default_rng(3)
    old = rng.standard_normal((400, 5))
    X = np.hstack([old, old @ rng.standard_normal((5, 4))])
    X[:180, 5:] = np.nan
    X[220:, :5] = np.nan
    y = old.sum(axis=1) > 0
    ours, plain = PUFEClassifier(patience=10).fit(X, y), FESLClassifier().fit(X, y)
    assert np.array_equal(ours.coef_, plain.coef_)
    assert np.array_equal(ours.losses_[:2], plain.losses_[:2])
