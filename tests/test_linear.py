"""Linear models: held to plain row-by-row references, to scikit-learn, and to their own promises."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_linear import OGD, PassiveAggressive
from sklearn.linear_model import SGDClassifier, SGDRegressor

from anabranch.checkpoint import CheckpointError
from anabranch.linear_model import OGDClassifier, OGDRegressor, PassiveAggressiveClassifier

COLOURS = ["red", "green", "blue", "black", "white", "pink", "grey", "gold", "lime", "navy"]


def mixed_rows(n, classes, seed=0):
    """Rows with numbers, text, gaps, and columns that come and go; classes beyond the second turn up late."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for i in range(n):
        label = int(rng.integers(0, min(classes, 2 + i // 40)))
        row = {"a": float(rng.standard_normal() + label), "b": float(3 * rng.standard_normal() - label)}
        if rng.random() < 0.9:
            row["colour"] = COLOURS[int(rng.integers(0, 3 + 7 * (i > n // 2))) if rng.random() < 0.7 else label]
        if i > 60:
            row["c"] = float(rng.exponential() * (1 + label))
        if i > 90 and rng.random() < 0.8:
            row["shape"] = "round" if rng.random() < 0.3 + 0.2 * label else "square"
        if rng.random() < 0.1:
            row["a"] = None
        rows.append(row)
        labels.append(label)
    weights = rng.exponential(1.0, n) * (rng.random(n) > 0.1)
    return rows, labels, weights


def assert_follows(learner, reference, rows, targets, weights, chunk=37, tolerance=1e-9):
    """The learner's predictions just before each row are the reference's, and so are those of all rows at the end."""
    before = []
    for row, target, weight in zip(rows, targets, weights, strict=True):
        before.append(reference.predict(row))
        reference.learn(row, target, weight)
    start = 0
    while start < len(rows):
        cut = slice(start, start + chunk)
        told = learner.test_then_train(rows[cut], targets[cut], weights[cut])
        for got, expected in zip(told, before[cut], strict=True):
            if reference.regression:
                assert got == pytest.approx(expected, rel=tolerance, abs=tolerance)
            elif expected:
                expected = expected + [0.0] * (len(got) - len(expected))
                # The library's label codes are in order of appearance, which mixed_rows makes 0, 1, 2, ...
                np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
        start += chunk
    final = [reference.predict(row) for row in rows]
    got = learner.predict(rows) if reference.regression else learner.predict_proba(rows)
    np.testing.assert_allclose(got, np.array(final), rtol=tolerance, atol=tolerance)


SETTINGS = [
    {},
    {"schedule": "constant", "learning_rate": 0.05},
    {"schedule": "inverse", "l2": 0.1},
    {"schedule": "adagrad", "learning_rate": 0.3},
    {"schedule": "adagrad", "learning_rate": 0.3, "l2": 0.01, "scaling": "standard"},
    {"scaling": "standard"},
    {"scaling": "max_abs", "fit_intercept": False},
    {"radius": 0.7},
    {"radius": 0.3, "l2": 0.05, "scaling": "standard", "schedule": "constant", "learning_rate": 0.5},
]


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_classifier_follows_the_reference(setting, loss, classes):
    setting = {"learning_rate": 0.5, **setting}
    rows, labels, weights = mixed_rows(300, classes)
    first = labels.index(0)
    rows, labels, weights = rows[first:], labels[first:], weights[first:]
    weights[0] = 1.0
    learner = OGDClassifier(loss=loss, **setting).announce([0, 1])
    reference = OGD(loss, **setting)
    reference.know(1)
    assert_follows(learner, reference, rows, labels, weights)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber"])
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_regressor_follows_the_reference(setting, loss):
    setting = {"learning_rate": 0.02, **setting}
    rows, labels, weights = mixed_rows(300, 3)
    targets = np.array(labels) * 2.0 - 1 + np.random.default_rng(3).standard_normal(300)
    assert_follows(OGDRegressor(loss=loss, **setting), OGD(loss, **setting), rows, targets, weights, tolerance=1e-8)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_passive_aggressive_follows_the_reference(variant, fit_intercept, classes):
    rows, labels, weights = mixed_rows(300, classes, seed=5)
    learner = PassiveAggressiveClassifier(variant=variant, C=0.3, fit_intercept=fit_intercept).announce([0, 1])
    reference = PassiveAggressive(variant, 0.3, fit_intercept)
    reference.know(1)
    assert_follows(learner, reference, rows, labels, weights, tolerance=1e-7)


# ------------------------------------------------------------------------------------------- scikit-learn


def numbers(n=2000, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X @ rng.standard_normal(d) + 0.5 + rng.standard_normal(n)


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_classifier_is_scikit_learns_at_a_constant_step(loss, l2):
    X, y = numbers()
    theirs = SGDClassifier(
        loss=loss, learning_rate="constant", eta0=0.1, alpha=l2, penalty="l2" if l2 else None, shuffle=False, max_iter=1
    )
    theirs.partial_fit(X, y > 0, classes=[False, True])
    ours = OGDClassifier(loss=loss, schedule="constant", learning_rate=0.1, l2=l2).fit(X, y > 0)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-8)


@pytest.mark.parametrize(("loss", "theirs"), [("squared_error", {}), ("huber", {"epsilon": 0.7})])
@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_regressor_is_scikit_learns_at_a_constant_step(loss, theirs, l2):
    X, y = numbers()
    other = SGDRegressor(
        loss=loss, learning_rate="constant", eta0=0.01, alpha=l2, penalty="l2" if l2 else None, shuffle=False, **theirs
    )
    other.partial_fit(X, y)
    ours = OGDRegressor(loss=loss, schedule="constant", learning_rate=0.01, l2=l2, huber_delta=0.7).fit(X, y)
    np.testing.assert_allclose(ours.coef_, other.coef_, rtol=1e-9)
    np.testing.assert_allclose(ours.intercept_, other.intercept_, rtol=1e-9)


# ------------------------------------------------------------------------------------------- promises


def test_two_steps_by_hand():
    learner = OGDClassifier(fit_intercept=False).announce([0, 1])
    learner.partial_fit([[2.0, 0.0]], [1])  # slope -1/2, eta 1: w = (1, 0)
    assert learner.coef_.tolist() == [[1.0, 0.0]]
    learner.partial_fit([[0.0, 1.0]], [0])  # slope 1/2, eta 1/sqrt(2)
    assert learner.coef_.tolist() == [[1.0, pytest.approx(-(0.5**1.5))]]


def test_weights_stay_in_the_ball_over_many_rows():
    X, y = numbers(20_000)
    learner = OGDRegressor(radius=0.5, schedule="constant", learning_rate=0.05)
    for start in range(0, len(X), 1000):
        learner.partial_fit(X[start : start + 1000], y[start : start + 1000])
        assert np.linalg.norm(learner.coef_) <= 0.5 * (1 + 1e-12)
    assert np.linalg.norm(learner.coef_) > 0.49


def test_a_ball_and_steps_that_would_overflow():
    learner = OGDRegressor(radius=2.0, schedule="constant", learning_rate=1e30)
    learner.partial_fit([[1e100, 3e99], [1.0, -1.0], [-1e100, 1e-100]], [1e100, -1e100, 1.0])
    assert np.linalg.norm(learner.coef_) == pytest.approx(2.0)
    assert np.isfinite(learner.predict([[1e100, -1e100]])).all()


def test_shrinking_for_long_keeps_its_precision():
    X, y = numbers(3000, 5)
    setting = {"schedule": "constant", "learning_rate": 0.3, "l2": 3.0}  # a tenth is left at each row
    reference = OGD("huber", **setting)
    rows = [dict(enumerate(x)) for x in X.tolist()]
    for row, target in zip(rows, y, strict=True):
        reference.learn(row, target)
    ours = OGDRegressor(loss="huber", **setting).fit(X, y)
    np.testing.assert_allclose(ours.coef_, [reference.vectors[0][j] for j in range(5)], rtol=1e-9)


def test_a_third_class_changes_no_prediction_by_itself():
    X, y = numbers(300)
    for cls in (OGDClassifier, PassiveAggressiveClassifier):
        two = cls().fit(X, y > 0)
        three = cls.from_bytes(two.to_bytes())
        before = three.predict_proba(X)
        three.announce([*three.classes_.tolist(), "third"])
        after = three.predict_proba(X)
        np.testing.assert_allclose(after[:, 1] / after[:, :2].sum(axis=1), before[:, 1])
        assert three.decision_function(X).shape == (300, 3)
        told = three.test_then_train(X[:50], np.array(["third"] * 50, object))
        np.testing.assert_allclose(told[0], after[0])
        assert three.coef_.shape == (3, 12)


def test_nominal_weights_are_told_by_value():
    rows = [{"size": 1.0, "colour": "red"}, {"size": 2.0, "colour": "blue"}, {"colour": "red"}]
    learner = OGDClassifier().partial_fit(rows, [1, 0, 1], classes=[0, 1])
    assert list(learner.nominal_coef_) == ["colour"]
    weights = learner.nominal_coef_["colour"]
    assert weights["red"] > 0 > weights["blue"]
    assert np.isnan(learner.coef_[0, 1])
    assert not np.isnan(learner.coef_[0, 0])


def test_nominal_features_of_arrays_and_their_many_values():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 300, 5000).astype(float), rng.standard_normal(5000)])
    y = (X[:, 0] % 2 == 0).astype(int)
    by_code = OGDClassifier(nominal_features=[0]).fit(X, y)
    assert by_code.score(X, y) > 0.95
    assert OGDClassifier().fit(X, y).score(X, y) < 0.7
    assert np.isfinite(by_code.predict_proba([[9999.0, 0.0]])).all()  # never seen


def test_missing_counts_as_the_mean_when_standardised():
    X, y = numbers(500)
    learner = OGDRegressor(scaling="standard").fit(X, y)
    gaps = X.copy()
    gaps[:, 3] = np.nan
    at_mean = X.copy()
    at_mean[:, 3] = X[:, 3].mean()
    np.testing.assert_allclose(learner.predict(gaps), learner.predict(at_mean), atol=1e-9)


def test_standardised_is_free_of_units():
    X, y = numbers(3000)
    other = X * 10.0 ** np.arange(-6, 6) + np.arange(12) * 1e3 * 10.0 ** np.arange(-6, 6)
    one = OGDClassifier(scaling="standard").fit(X, y > 0)
    two = OGDClassifier(scaling="standard").fit(other, y > 0)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(other), atol=1e-6)


def test_sparse_and_standardised_do_not_go_together():
    rows = sp.csr_array(np.eye(3))
    for learner in (OGDClassifier(scaling="standard"), OGDRegressor(scaling="standard")):
        with pytest.raises(TypeError, match="max_abs"):
            learner.partial_fit(rows, [0, 1, 2])


def test_wide_sparse_rows_cost_what_they_hold():
    """A million columns, shrinking, projecting: were any of it done column by column, this would take minutes."""
    rng = np.random.default_rng(0)
    n, width, per_row = 20_000, 1_000_000, 20
    indices = np.sort(rng.integers(0, width // per_row, (n, per_row)) + np.arange(per_row) * (width // per_row), axis=1)
    rows = sp.csr_array((np.ones(n * per_row), indices.ravel(), np.arange(n + 1) * per_row), shape=(n, width))
    y = (indices[:, 0] % 2).astype(int)
    learner = OGDClassifier(l2=1e-4, radius=10.0, scaling="max_abs")
    told = learner.test_then_train(rows, y)
    assert told.shape == (n, 2)
    assert np.linalg.norm(learner.coef_) <= 10.0 * (1 + 1e-12)


def test_wide_sparse_against_scikit_learn():
    rng = np.random.default_rng(1)
    rows = sp.random_array((2000, 5000), density=0.004, rng=rng, format="csr")
    rows.sort_indices()
    y = rows @ rng.standard_normal(5000)
    theirs = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.5, penalty=None, fit_intercept=False)
    theirs.set_params(shuffle=False)
    theirs.partial_fit(rows, y > 0, classes=[False, True])
    ours = OGDClassifier(schedule="constant", learning_rate=0.5, fit_intercept=False).fit(rows, y > 0)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)


def test_radius_and_adagrad_are_refused_together():
    with pytest.raises(ValueError, match="radius"):
        OGDClassifier(schedule="adagrad", radius=1.0).fit([[1.0], [2.0]], [0, 1])
    learner = OGDClassifier(schedule="adagrad").fit([[1.0], [2.0]], [0, 1])
    before = learner.to_bytes()
    for params in ({"radius": 1.0}, {"schedule": "sqrt"}, {"scaling": "max_abs"}):
        with pytest.raises(ValueError, match=r"radius|schedule|scaling"):
            learner.set_params(**params)
    assert learner.to_bytes() == before


def test_parameters_may_change_on_the_way():
    X, y = numbers(6000)
    learner = OGDRegressor().fit(X, y)
    free = np.linalg.norm(learner.coef_)
    learner.set_params(radius=free / 2, learning_rate=0.01)
    learner.partial_fit(X, y)
    assert np.linalg.norm(learner.coef_) <= free / 2 * (1 + 1e-12)


def test_forged_checkpoints_are_refused():
    learner = OGDClassifier(scaling="max_abs").fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
    for change in (
        lambda it: it._arrays.__setitem__(0, np.zeros((1, 3))),
        lambda it: it._arrays.__setitem__(3, np.zeros((0, 8))),
        lambda it: it._arrays[4].__setitem__(4, 7.0),
        lambda it: it._arrays.__setitem__(4, np.zeros(2)),
        lambda it: it._arrays.pop(),
        lambda it: setattr(it, "_width", 1000),
        lambda it: setattr(it, "_nominal", np.array([5])),
        lambda it: setattr(it, "scaling", "standard"),
        lambda it: setattr(it, "loss", "unheard of"),
    ):
        forged = OGDClassifier.from_bytes(learner.to_bytes())
        change(forged)
        with pytest.raises(CheckpointError, match="fit together"):
            OGDClassifier.from_bytes(forged.to_bytes())


@settings(max_examples=60, deadline=None)
@given(
    X=st.lists(
        st.lists(st.floats(-1e100, 1e100) | st.just(float("nan")), min_size=3, max_size=3), min_size=1, max_size=12
    ),
    y=st.lists(st.floats(-1e100, 1e100), min_size=12, max_size=12),
    w=st.lists(st.floats(0, 1e100), min_size=12, max_size=12),
    setting=st.sampled_from(SETTINGS),
)
def test_nothing_poisons_the_state(X, y, w, setting):
    n = len(X)
    labels = [0 if v < 0 else 1 + (v > 1) for v in y[:n]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regressor = OGDRegressor(**setting)
        assert np.isfinite(regressor.test_then_train(X, y[:n], w[:n])).all()
        assert np.isfinite(regressor.predict(X)).all()
        for learner in (OGDClassifier(**setting), PassiveAggressiveClassifier(variant="PA")):
            learner.test_then_train(X, labels, w[:n])
            proba = learner.predict_proba(X)
            assert np.isfinite(proba).all()
            assert np.allclose(proba.sum(axis=1), 1.0)
            assert np.isfinite(learner._arrays[0]).all()
        assert np.isfinite(regressor._arrays[0]).all()


def test_after_is_just_after():
    rows, labels, weights = mixed_rows(200, 4)
    learner = OGDClassifier(scaling="standard").fit(rows[:100], labels[:100])
    other = OGDClassifier.from_bytes(learner.to_bytes())
    encoded, learner._schema = learner._schema.encode(rows[100:])
    codes, learner._labels = learner._labels.encode(np.array(labels[100:]))
    learner._n_classes = len(learner._labels)
    votes = learner._train_then_test(encoded, codes, weights[100:])
    for i, row in enumerate(rows[100:]):
        other.learn_one(row, labels[100 + i], weights[100 + i])
        expected = list(other.predict_proba_one(row).values())
        np.testing.assert_allclose(votes[i, : len(expected)], expected, rtol=1e-12)
