"""Learners on evolving columns."""

import warnings

import numpy as np
import pytest
import reference_fesl as reference
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.evolving import (
    FESLClassifier,
    FESLRegressor,
    NOGDClassifier,
    NOGDRegressor,
    ROGDClassifier,
    ROGDRegressor,
)
from anabranch.kernels import evolving as kernels

METHODS = ["NOGD", "ROGD-u", "ROGD-f", "FESL-c", "FESL-s"]


def learner_of(method, kind, horizon=None, **settings):
    plain = {"overlap_rows": settings.pop("overlap_rows", 50)}
    settings = {"fit_intercept": False, **settings}
    classes = kind == "logistic"
    if method == "NOGD":
        return (NOGDClassifier if classes else NOGDRegressor)(**settings)
    if method.startswith("ROGD"):
        return (ROGDClassifier if classes else ROGDRegressor)(update=method == "ROGD-u", **plain, **settings)
    strategy = "combination" if method == "FESL-c" else "selection"
    cls = FESLClassifier if classes else FESLRegressor
    return cls(strategy=strategy, horizon=horizon, random_state=3, **plain, **settings)


def two_spaces(kind, n=400, d1=12, d2=8, seed=0):
    rng = np.random.default_rng(seed)
    old = rng.standard_normal((n, d1))
    old /= np.linalg.norm(old, axis=1, keepdims=True)
    new = old @ rng.standard_normal((d1, d2)) + 0.05 * rng.standard_normal((n, d2))
    signal = old @ rng.standard_normal(d1) + 0.1 * rng.standard_normal(n)
    return old, new, np.where(signal > 0, 1.0, -1.0) if kind == "logistic" else signal


def evolving(old, new, T1, B, blank=np.nan):
    X = np.hstack([old, new])
    X[: T1 - B, old.shape[1] :] = blank
    X[T1:, : old.shape[1]] = blank
    return X


def scores(learner, X, y):
    """Scores just before each row is learned."""
    if isinstance(learner, (FESLRegressor, NOGDRegressor, ROGDRegressor)):
        return learner.test_then_train(X, y)
    out = np.zeros(len(y))
    learner.announce([-1.0, 1.0])
    for i in range(len(y)):
        if i:
            out[i] = learner.decision_function(X[i : i + 1])[0]
        learner.partial_fit(X[i : i + 1], y[i : i + 1])
    return out


@pytest.mark.parametrize("kind", ["logistic", "square"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("B", "radius"), [(5, None), (10, 0.7), (30, None)])
def test_as_the_paper_has_it(kind, method, B, radius):
    T1, c = 200, 0.7 if kind == "logistic" else 4.0
    old, new, y = two_spaces(kind)
    w1, M, first = reference.initialize(kind, old[:T1], new[:T1], y[:T1], B, c, radius)
    learner = learner_of(method, kind, horizon=len(y) - T1, c=c, radius=radius)
    learner._start()
    draws = reference.splitmix(learner._model.seed[0], len(y) - T1)
    told, losses, shares = reference.evolve(kind, w1, M, new[T1:], y[T1:], c, method, radius, draws)
    if method == "FESL-s":
        assert 0 < (draws < shares[:, 0]).sum() < len(draws)  # both models have their turns
    got = scores(learner, evolving(old, new, T1, B), y)
    assert np.allclose(got[:T1], first, rtol=1e-7, atol=1e-9)
    assert np.allclose(got[T1:], told, rtol=1e-6, atol=1e-7)
    if method.startswith("FESL"):
        assert np.allclose(learner.losses_[:2], losses[-1, :2], rtol=1e-6)
        if method == "FESL-c":
            assert np.isclose(learner.losses_[2], losses[-1, 2], rtol=1e-6)
            T2 = len(y) - T1
            assert np.isclose(learner.bound_, np.sqrt(T2 / 2 * np.log(2)))


@pytest.mark.parametrize("kind", ["logistic", "square"])
@pytest.mark.parametrize("method", METHODS)
def test_all_rows_of_the_overlap_by_their_moments(kind, method):
    T1, B, c = 200, 60, 2.0
    old, new, y = two_spaces(kind)
    X = evolving(old, new, T1, B)
    by_rows = learner_of(method, kind, c=c, overlap_rows=60)
    by_moments = by_rows if method == "NOGD" else learner_of(method, kind, c=c, overlap_rows=None)
    assert np.allclose(by_rows.fit(X, y).coef_, by_moments.fit(X, y).coef_)
    rows = evolving(old, new, 0, 0)[:50]
    answer = "predict_proba" if kind == "logistic" else "predict"
    assert np.allclose(getattr(by_rows, answer)(rows), getattr(by_moments, answer)(rows), atol=1e-8)


def test_sparse_rows_in_declared_spaces():
    T1, B = 200, 20
    old, new, y = two_spaces("logistic")
    spaces = [list(range(12)), list(range(12, 20))]
    dense = learner_of("FESL-c", "logistic").fit(evolving(old, new, T1, B), y)
    zeros = evolving(old, new, T1, B, blank=0.0)
    declared = learner_of("FESL-c", "logistic", spaces=spaces).fit(zeros, y)
    sparse = learner_of("FESL-c", "logistic", spaces=spaces).fit(sp.csr_array(zeros), y)
    assert sparse.to_bytes() == declared.to_bytes()
    assert np.array_equal(declared.coef_, dense.coef_)
    assert np.array_equal(declared.losses_, dense.losses_)
    assert declared.period_ == 2


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_the_period_said_outright(form):
    """Rows that go on holding something in columns that count no more, such as a dead sensor's last value."""
    T1, B = 200, 20
    old, new, y = two_spaces("logistic")
    spaces = [list(range(12)), list(range(12, 20))]
    expected = learner_of("FESL-c", "logistic", spaces=spaces).fit(evolving(old, new, T1, B), y)
    full = np.hstack([old, new])
    full[T1:, :12] = full[T1 - 1, :12]
    learner = learner_of("FESL-c", "logistic", spaces=spaces).announce([-1.0, 1.0])
    learner.partial_fit(form(full[: T1 - B]), y[: T1 - B], period=0)
    learner.partial_fit(form(full[T1 - B : T1]), y[T1 - B : T1], period=1)
    told = learner.test_then_train(form(full[T1:]), y[T1:], period=2)
    assert np.allclose(learner.coef_, expected.coef_)
    assert told.shape == (T1, 2)
    rows = evolving(old, new, 0, 0)
    assert np.allclose(learner.predict_proba(form(full), period=2), expected.predict_proba(rows))
    assert np.array_equal(learner.predict(form(full), period=2), expected.predict(rows))
    assert not np.allclose(full[T1:, :12], 0)
    with pytest.raises(ValueError, match="from 0 to 2"):
        learner.partial_fit(form(full), y, period=3)
    with pytest.raises(ValueError, match="declared spaces"):
        FESLRegressor().partial_fit(full, y, period=0)
    with pytest.raises(TypeError, match="by them"):
        FESLRegressor(spaces=[["a"], ["b"]]).partial_fit([{"a": 1.0}], [1.0], period=0)


def test_any_number_of_cycles():
    rng = np.random.default_rng(0)
    base = rng.standard_normal((900, 4))
    y = base @ [1.0, -2.0, 3.0, 0.5]
    rows = []
    maps = [np.eye(4), *(rng.standard_normal((4, 4)) for _ in range(2))]
    for t, x in enumerate(base):
        row = {}
        for k, turn in enumerate(maps):
            if 300 * k - 20 <= t < 300 * (k + 1):
                row |= {f"s{k}_{j}": v for j, v in enumerate(turn.T @ x)}
        rows.append(row)
    periods = []
    errors = {}
    for method in METHODS:
        learner = learner_of(method, "square", c=15.0)
        told = np.array([0.0] * len(y))
        for i, row in enumerate(rows):
            told[i] = learner.predict_one(row)
            learner.learn_one(row, y[i])
            if method == "FESL-c":
                periods.append(learner.period_)
        errors[method] = np.abs(told - y)[610:640].mean()
    assert [periods.index(k) for k in range(5)] == [0, 280, 300, 580, 600]
    assert errors["FESL-c"] < errors["NOGD"]
    assert errors["ROGD-u"] < errors["NOGD"]


def test_a_column_that_is_briefly_missing_is_no_new_period():
    old, new, y = two_spaces("square", d1=1, d2=1)
    X = evolving(old, new, 200, 30)
    X[185:190, 0] = np.nan  # the only old column, in the overlap
    learner = FESLRegressor(patience=10)
    told = learner.test_then_train(X[:188], y[:188])
    assert learner.period_ == 2  # for all one can know
    learner.partial_fit(X[188:195], y[188:195])
    assert learner.period_ == 1  # taken back
    learner.partial_fit(X[195:], y[195:])
    assert learner.period_ == 2
    assert np.isfinite(told).all()
    # Before there is anything new, however long.
    X = old.copy()
    X[100:150] = np.nan
    assert FESLRegressor().fit(X, y).period_ == 0
    # One of several columns, in the overlap, for less than patience; and for longer.
    old, new, y = two_spaces("square")
    X = evolving(old, new, 200, 30)
    X[180:189, 3] = np.nan
    assert FESLRegressor().fit(X[:200], y[:200]).period_ == 1
    X[180:190, 3] = np.nan
    learner = FESLRegressor().fit(X[:190], y[:190])
    assert learner.period_ == 2
    assert learner.partial_fit(X[190:200], y[190:200]).period_ == 1  # back in time
    X[180:200, 3] = np.nan
    assert FESLRegressor().fit(X[:200], y[:200]).period_ == 2


def test_without_overlap_the_new_model_is_on_its_own():
    old, new, y = two_spaces("logistic")
    X = evolving(old, new, 200, 0)
    learner = FESLClassifier()
    with pytest.warns(UserWarning, match="on its own"):
        learner.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = NOGDClassifier().fit(X, y)
    assert np.array_equal(learner.coef_, alone.coef_)
    assert np.array_equal(learner.predict_proba(X[200:]), alone.predict_proba(X[200:]))
    assert learner.weights_.tolist() == [0.0, 1.0]


def test_survivors_keep_their_weights():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 3))
    y = X @ [2.0, 1.0, 0.0] + 0.5
    X[:, 2] = X[:, 0] * 1.5
    X[:280, 2] = np.nan
    X[300:, 0] = np.nan
    learner = FESLRegressor(c=10)
    learner.partial_fit(X[:300], y[:300])
    kept = learner.coef_[1]
    assert abs(kept - 1.0) < 0.2
    told = learner.test_then_train(X[300:], y[300:])
    # Ten rows pass until it is certain; from then on the mapping makes up for what has vanished.
    assert np.abs(told[10:40] - y[310:340]).mean() < 0.3
    assert learner.period_ == 2


def test_early_deaths_do_not_spoil_the_mapping():
    """An old column that dies in the middle of the overlap is mapped from the rows that still showed it."""
    old, new, y = two_spaces("square", d1=4, d2=6)
    X = evolving(old, new, 200, 40)
    X[180:, 0] = np.nan  # later it counts as gone, and the rest follow
    learner = FESLRegressor(fit_intercept=False, c=5)
    learner.partial_fit(X[:210], y[:210])
    assert learner.period_ == 2
    model = learner._model
    recovered = model.buffer[:4] @ model.unfold @ model.recover[4:10].T
    first = np.linalg.lstsq(new[160:180], old[160:180, 0], rcond=None)[0]
    rest = np.linalg.lstsq(new[160:189], old[160:189, 1:], rcond=None)[0]  # until the first is known to be gone
    assert np.allclose(recovered[0], first, atol=1e-8)
    assert np.allclose(recovered[1:4].T, rest, atol=1e-8)


def test_additions_join_the_model():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((800, 3))
    y = X @ [1.0, 1.0, 2.0]
    X[:100, 2] = np.nan
    learner = FESLRegressor(c=5, max_overlap=50).fit(X, y)
    assert learner.period_ == 0
    assert np.allclose(learner.coef_, [1.0, 1.0, 2.0], atol=0.1)


def test_three_classes_and_nominal_columns():
    rng = np.random.default_rng(3)
    rows, labels = [], []
    for t in range(900):
        c = int(rng.integers(3))
        row = {}
        if t < 500:
            row |= {"colour": ["red", "green", "blue"][c], "size": float(rng.standard_normal())}
        if t >= 450:
            row |= {"shade": ["ruby", "olive", "navy"][c], "weight": float(rng.standard_normal())}
        rows.append(row)
        labels.append("abc"[c])
    learner = FESLClassifier()
    proba = learner.test_then_train(rows, labels)
    right = learner.classes_[proba.argmax(axis=1)] == np.array(labels)
    assert right[450:].mean() > 0.99
    assert right[500:510].all()  # the mapping knows ruby for red
    assert NOGDClassifier().test_then_train(rows, labels)[500].max() < 0.5


@pytest.mark.parametrize("strategy", [kernels.COMBINATION, kernels.SELECTION, kernels.MIXTURE])
@pytest.mark.parametrize("fixed", [False, True])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_bound_is_never_broken(strategy, fixed, data):
    """Theorems 1 and 2, and what holds of a grid of mixtures, on sequences of losses between 0 and 1."""
    rounds = data.draw(st.integers(1, 400))
    seed = data.draw(st.integers(0, 2**32 - 1))
    kind = data.draw(st.sampled_from(["random", "switch", "blocks", "adversary", "extreme"]))
    rng = np.random.default_rng(seed)
    one, two = rng.random((2, rounds))
    if kind == "switch":
        s = rng.integers(rounds + 1)
        one, two = np.where(np.arange(rounds) < s, [[0.0], [1.0]], [[1.0], [0.0]])
    elif kind == "blocks":
        length = int(rng.integers(1, 40))
        one = (np.arange(rounds) // length % 2).astype(float)
        two = 1.0 - one
    elif kind == "extreme":
        one, two = rng.integers(0, 2, (2, rounds)).astype(float)
    elif kind == "adversary":  # whoever weighs more loses
        one, two = np.zeros((2, rounds))
        hedge = np.zeros(kernels.HEDGE_SIZE)
        kernels.begin_hedge(hedge, strategy, float(rounds if fixed else 0))
        for t in range(rounds):
            p = kernels.share(hedge)
            one[t], two[t] = (1.0, 0.0) if p >= 0.5 else (0.0, 1.0)
            shares = np.arange(kernels.MIXTURES) / (kernels.MIXTURES - 1)
            hedge[kernels.MIXED :] += shares * one[t] + (1 - shares) * two[t]
            kernels.update_hedge(
                hedge, strategy, float(rounds if fixed else 0), one[t], two[t], p * one[t] + (1 - p) * two[t]
            )
    # The combination of answers in [0, 1] for a target of 0 or 1 has the square loss of the weighted answer: convex.
    hedge = np.zeros(kernels.HEDGE_SIZE)
    nothing = np.full(rounds, np.nan)
    trace = kernels.hedge_losses(hedge, strategy, float(rounds if fixed else 0), one, two, nothing)
    assert (trace[0] <= trace[1] + 1e-9).all()
    if fixed and rounds > 2 and strategy != kernels.MIXTURE:
        T2 = rounds
        delta = 1 / (T2 - 1)
        theorem = (
            np.sqrt(T2 / 2 * (2 * np.log(2) + reference.entropy(delta) / delta))
            if strategy == kernels.SELECTION
            else np.sqrt(T2 / 2 * np.log(2))
        )
        assert np.isclose(trace[1, -1], theorem)


@pytest.mark.parametrize("strategy", ["combination", "selection"])
@pytest.mark.parametrize("horizon", [None, 300])
def test_the_learners_regret_keeps_the_bound(strategy, horizon):
    for seed in range(5):
        old, new, y = two_spaces("square", n=500, seed=seed)
        learner = FESLRegressor(
            strategy=strategy, horizon=horizon, c=8, loss_scale=100.0, random_state=seed, fit_intercept=False
        )
        X = evolving(old, new, 200, 20)
        before = np.zeros(3)
        for i in range(len(y)):
            learner.partial_fit(X[i : i + 1], y[i : i + 1])
            if learner.period_ == 2:
                assert (learner.losses_ - before <= 1.0).all()
                before = learner.losses_
                assert learner.regret_ <= learner.bound_
        assert learner.period_ == 2


def test_bad_spaces():
    X = np.ones((4, 3))
    for spaces, what in (([[0, 1], [1]], "twice"), ([[0], []], "empty"), ([[0], [7]], "column 7"), ("ab", "list")):
        with pytest.raises((ValueError, TypeError), match=what):
            FESLRegressor(spaces=spaces).fit(X, np.ones(4))


def test_too_many_columns_for_moments():
    rows = [{"a": 1.0} | {f"b{j}": 1.0 for j in range(2100 if i > 20 else 0)} for i in range(22)]
    with pytest.raises(ValueError, match="overlap_rows=50"):
        FESLRegressor(overlap_rows=None).fit(rows, np.arange(22.0))
