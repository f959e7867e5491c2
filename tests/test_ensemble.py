"""Ensembles against their published algorithms, and what goes beyond the laws."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from reference_oza import ArcX4, CappedBoost, MadaBoost, OzaBagging, OzaBoosting, SmoothBoost
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

from anabranch._random import generators, seed_sequence
from anabranch.checkpoint import CheckpointError
from anabranch.dummy import NoChangeClassifier
from anabranch.ensemble import (
    ArcX4Classifier,
    MadaBoostClassifier,
    OzaBaggingClassifier,
    OzaBoostingClassifier,
    SmoothBoostingClassifier,
)
from anabranch.imbalance import OOBClassifier
from anabranch.stream import RandomRBF
from anabranch.tree import HoeffdingOptionTreeClassifier, HoeffdingTreeClassifier


def make():
    return HoeffdingTreeClassifier(grace_period=40, tie_threshold=0.3)


def rows(n, weighted, seed=3):
    X, y = RandomRBF(n_centroids=15, n_features=4, n_classes=3, seed=seed).take(n)
    rng = np.random.default_rng(seed)
    w = rng.exponential(1.0, n) * (rng.random(n) > 0.1) if weighted else np.ones(n)
    return X, y, w


CONTESTS = {
    "bagging": (OzaBagging, {}, OzaBaggingClassifier, {}),
    "boosting": (OzaBoosting, {"poisson": True}, OzaBoostingClassifier, {}),
    "boosting without Poisson": (OzaBoosting, {"poisson": False}, OzaBoostingClassifier, {"poisson": False}),
    "arc-x4": (ArcX4, {}, ArcX4Classifier, {}),
    "smooth": (SmoothBoost, {}, SmoothBoostingClassifier, {}),
    "capped": (CappedBoost, {"cap": 2.5}, SmoothBoostingClassifier, {"form": "capped", "cap": 2.5}),
    "MadaBoost": (MadaBoost, {"filtering": False}, MadaBoostClassifier, {}),
    "MadaBoost, filtering": (MadaBoost, {"filtering": True}, MadaBoostClassifier, {"filtering": True}),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("kind", CONTESTS)
def test_equals_the_published_algorithm(kind, hard, weighted):
    X, y, w = rows(500, weighted)
    published, settings, ours, parameters = CONTESTS[kind]
    slow = published(make, generators(seed_sequence(5), 4), hard, [0, 1, 2], **settings)
    voting = "hard" if hard else "soft"
    fast = ours(make(), n_estimators=4, voting=voting, random_state=5, **parameters).announce([0, 1, 2])
    for start in range(0, len(X), 90):
        chunk = slice(start, start + 90)
        got = fast.test_then_train(X[chunk], y[chunk], w[chunk])
        for i in range(start, min(start + 90, len(X))):
            votes = np.array(slow.predict_proba(X[i]))
            expected = votes / votes.sum() if votes.any() else np.full(3, 1 / 3)
            assert np.array_equal(got[i - start], expected), f"row {i}"
            slow.learn(X[i], y[i], w[i])
    assert max(tree.n_leaves_ for tree in fast.estimators_) > 1, "no member has split: nothing was tested"
    if hasattr(slow, "right"):
        assert fast._sums[:, 0].tolist() == slow.right
        assert fast._sums[:, 1].tolist() == slow.wrong


def test_a_perfect_first_member_does_not_silence_the_others():
    # Every member is right on every row: all weights are 0, and all vote alike.
    X = np.array([[0.0], [1.0]] * 50)
    y = np.array([0, 1] * 50)
    learner = OzaBoostingClassifier(HoeffdingTreeClassifier(leaf_prediction="nb"), n_estimators=3, random_state=0)
    learner.announce([0, 1]).partial_fit(X, y)
    learner._sums[:, 1] = 0.0
    assert not learner.estimator_weights_.any()
    assert learner.predict([[0.0], [1.0]]).tolist() == [0, 1]
    # With one that errs among them, that one decides.
    learner._sums[2] = [3.0, 1.0]
    assert learner.estimator_weights_.tolist() == [0.0, 0.0, np.log(3.0)]
    assert np.array_equal(learner.predict_proba(X[:2]), learner.estimators_[2].predict_proba(X[:2]))


def test_weights_stay_finite_where_a_member_is_nearly_always_right():
    y = np.arange(3000) % 3
    X = y[:, None].astype(float)
    y[1000] = 0
    learner = OzaBoostingClassifier(n_estimators=6, random_state=0).partial_fit(X, y)
    assert np.isfinite(learner._sums).all()
    assert np.isfinite(learner.predict_proba(X)).all()


@pytest.mark.parametrize("base", [GaussianNB(), SGDClassifier(loss="log_loss", random_state=0), SGDClassifier()])
def test_scikit_learns_classifiers_are_members(base):
    X = np.random.default_rng(0).standard_normal((400, 3))
    y = (X[:, 0] > 0).astype(int) + (X[:, 0] > 0.7)
    X[5, 1] = np.nan
    whole = OzaBaggingClassifier(base, n_estimators=3, random_state=1).partial_fit(X, y, classes=[0, 1, 2])
    parts = OzaBaggingClassifier(base, n_estimators=3, random_state=1).announce([0, 1, 2])
    for start in range(0, 400, 70):
        parts.partial_fit(X[start : start + 70], y[start : start + 70])
    assert np.array_equal(whole.predict_proba(X), parts.predict_proba(X))
    assert (whole.predict(X) == y).mean() > 0.5
    if isinstance(base, GaussianNB):
        again = OzaBaggingClassifier.from_bytes(whole.to_bytes())
        assert np.array_equal(again.predict_proba(X), whole.predict_proba(X))
    else:  # its loss is an object of compiled code
        with pytest.raises(CheckpointError):
            whole.to_bytes()


def test_scikit_learns_classifiers_start_again_at_a_late_class():
    X, y, _ = rows(100, False)
    learner = OzaBaggingClassifier(GaussianNB(), n_estimators=2, random_state=1).partial_fit(X[:50], y[:50] * 0)
    with pytest.warns(UserWarning, match="starts again"):
        learner.partial_fit(X[50:], y[50:])
    assert np.isfinite(learner.predict_proba(X)).all()


def test_members_share_the_memory():
    X, y, _ = rows(2000, False)
    learner = OzaBaggingClassifier(make(), n_estimators=4, max_bytes=40_000, random_state=0).partial_fit(X, y)
    assert {tree.max_bytes for tree in learner.estimators_} == {10_000}
    assert learner.nbytes <= 40_000
    learner.set_params(max_bytes=24_000)
    assert learner.nbytes <= 24_000
    with pytest.raises(ValueError, match="leaves 256 for each of 4 members"):
        OzaBaggingClassifier(make(), n_estimators=4, max_bytes=1024).partial_fit(X, y)
    with pytest.raises(ValueError, match="needs an estimator with a limit of its own"):
        OzaBaggingClassifier(NoChangeClassifier(), max_bytes=100_000).partial_fit(X, y)


def test_parameters_of_the_members_may_change_on_the_way():
    X, y, _ = rows(300, False)
    learner = OzaBaggingClassifier(make(), n_estimators=2, random_state=0).partial_fit(X, y)
    learner.set_params(estimator__grace_period=77, voting="hard", n_jobs=2)
    assert [tree.grace_period for tree in learner.estimators_] == [77, 77]
    for wrong in ({"n_estimators": 3}, {"estimator": NoChangeClassifier()}):
        with pytest.raises(ValueError, match="cannot change once"):
            learner.set_params(**wrong)
    assert learner.n_estimators == 2


@pytest.mark.parametrize("wrong", [HoeffdingTreeClassifier, "HoeffdingTree", 3, SGDClassifier])
def test_what_cannot_be_a_member_is_refused(wrong):
    with pytest.raises(TypeError, match="estimator must be a learner"):
        OzaBaggingClassifier(wrong).partial_fit([[1.0]], [0])


@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("member", [make(), HoeffdingOptionTreeClassifier(grace_period=40, tie_threshold=0.3)])
@pytest.mark.parametrize("kind", [OzaBaggingClassifier, OzaBoostingClassifier, OOBClassifier])
def test_row_by_row_equals_chunks(kind, member, voting):
    # A single row goes through all trees in one call, which chunks do not.
    X, y, _ = rows(600, False)
    w = np.random.default_rng(4).integers(0, 3, 600).astype(float)
    X[50:, 3] = np.nan  # a gap, and below a column, a class and an announced class that turn up on the way
    y[:100] %= 2
    chunks = kind(member, n_estimators=4, voting=voting, random_state=5)
    singly = kind(member, n_estimators=4, voting=voting, random_state=5)
    for i in range(len(X)):
        if i == 300:
            for learner in (chunks, singly):
                learner.announce([0, 1, 2, 3])
        row = dict(zip("abcd" if i > 200 else "abc", X[i].tolist(), strict=False))
        if i > 0:
            proba = chunks.predict_proba([row, row])[0]
            assert list(singly.predict_proba_one(row).values()) == proba.tolist()
            assert singly.predict_one(row) == chunks.classes_[proba.argmax()]
        singly.learn_one(row, int(y[i]), w[i])
        # Two rows, the second of which teaches nothing.
        chunks.partial_fit([row, row], [int(y[i])] * 2, sample_weight=[w[i], 0.0])
    assert singly._forest.arrays, "the quick way was not taken"
    assert singly.to_bytes() == chunks.to_bytes()
    again = kind.from_bytes(singly.to_bytes())
    again.learn_one(row, 1)
    copied = copy.deepcopy(singly)
    copied.learn_one(row, 1)
    assert singly.to_bytes() == chunks.to_bytes() != again.to_bytes()
    assert copied.to_bytes() == again.to_bytes()
    assert {tree.classes_.tolist() == [0, 1, 2, 3] for tree in singly.estimators_} == {True}
