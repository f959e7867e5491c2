"""The online methods for imbalanced streams against their published algorithms, and what goes beyond the laws."""

from __future__ import annotations

import numpy as np
import pytest
from reference_imbalance_online import (
    CBCE,
    ESOSELM,
    WEOB,
    DynamicWeightedMajority,
    KernelLogistic,
    Resampling,
    Single,
    Tree,
)
from sklearn.naive_bayes import GaussianNB as ScikitNB

from anabranch._random import generators, seed_sequence
from anabranch.drift import DDM
from anabranch.ensemble import DynamicWeightedMajorityClassifier, OzaBaggingClassifier
from anabranch.imbalance import CBCEClassifier, ESOSELMClassifier, OOBClassifier, UOBClassifier, WEOBClassifier
from anabranch.naive_bayes import GaussianNB
from anabranch.stream import RandomRBF
from anabranch.tree import HoeffdingTreeClassifier


def make():
    return HoeffdingTreeClassifier(grace_period=40, tie_threshold=0.3)


def rows(n, weighted=False, seed=3, shares=(0.75, 0.2, 0.05)):
    """Rows of classes of different size, the order of which turns round halfway."""
    X, y = RandomRBF(n_centroids=15, n_features=4, n_classes=3, seed=seed).take(20 * n)
    rng = np.random.default_rng(seed)
    wanted = rng.choice(3, n, p=shares)
    wanted[n // 2 :] = 2 - wanted[n // 2 :]
    places = [iter(np.flatnonzero(y == c)) for c in range(3)]
    order = [next(places[c]) for c in wanted]
    w = rng.exponential(1.0, n) * (rng.random(n) > 0.1) if weighted else np.ones(n)
    return X[order], y[order], w


def contest(slow, fast, X, y, w, size=90):
    """Both test, then train, on every row: the same probabilities, to the bit."""
    k = fast.n_classes_
    for start in range(0, len(X), size):
        got = fast.test_then_train(X[start : start + size], y[start : start + size], w[start : start + size])
        for i in range(start, min(start + size, len(X))):
            votes = np.array(slow.predict_proba(X[i]))
            expected = votes / votes.sum() if votes.any() else np.full(k, 1 / k)
            assert np.array_equal(got[i - start], expected), f"row {i}"
            if w[i] > 0:
                slow.learn(X[i], y[i], w[i])


def rngs_of(seed, n):
    return generators(seed_sequence(seed), n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize(("ours", "extreme"), [(OOBClassifier, max), (UOBClassifier, min)])
def test_resampling_equals_the_published_algorithm(ours, extreme, hard, weighted):
    X, y, w = rows(1500, weighted, shares=(0.5, 0.3, 0.2))
    slow = Resampling(make, rngs_of(5, 3), hard, [0, 1, 2], extreme, decay=0.95)
    fast = ours(make(), n_estimators=3, decay=0.95, voting="hard" if hard else "soft", random_state=5)
    contest(slow, fast.announce([0, 1, 2]), X, y, w)
    assert max(tree.n_leaves_ for tree in fast.estimators_) > 1, "no member has split: nothing was tested"
    assert fast.class_sizes_.tolist() == [slow.sizes[c] for c in range(3)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("variant", ["WEOB1", "WEOB2"])
def test_weob_equals_the_published_algorithm(variant, weighted):
    X, y, w = rows(500, weighted)
    seeds = [int(seed) for seed in seed_sequence(5).generate_state(2)]
    oob, uob = (
        Resampling(make, rngs_of(seed, 3), False, [0, 1, 2], extreme)
        for seed, extreme in zip(seeds, (max, min), strict=True)
    )
    slow = WEOB(oob, uob, variant == "WEOB2", window=51)
    fast = WEOBClassifier(make(), n_estimators=3, variant=variant, random_state=5).announce([0, 1, 2])
    contest(slow, fast, X, y, w)
    assert fast.g_means_.tolist() == [slow.g_mean(0), slow.g_mean(1)]
    assert 0 < fast.g_means_.min() < fast.g_means_.max()


EXPERTS = {
    "trees": (make, lambda: lambda k: Single(make(), [0, 1, 2])),
    "naive Bayes": (GaussianNB, lambda: lambda k: Single(GaussianNB(), [0, 1, 2])),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize(("period", "most"), [(1, 4), (7, None), (50, 3)])
@pytest.mark.parametrize("experts", EXPERTS)
def test_dwm_equals_the_published_algorithm(experts, period, most, hard, weighted):
    X, y, w = rows(500, weighted)
    ours, theirs = EXPERTS[experts]
    slow = DynamicWeightedMajority(theirs(), [0, 1, 2], hard, period, 0.5, 0.05, most)
    fast = DynamicWeightedMajorityClassifier(
        ours(), n_estimators=most, period=period, theta=0.05, voting="hard" if hard else "soft"
    )
    contest(slow, fast.announce([0, 1, 2]), X, y, w)
    assert fast.estimator_weights_.tolist() == slow.weights
    assert slow.made > (2 if period < 50 else 1), "no expert came: nothing was tested"


def test_dwm_of_uob_equals_the_published_algorithm():
    X, y, w = rows(400)
    seeds = rngs_of(5, 1)[0]
    fast = DynamicWeightedMajorityClassifier(
        UOBClassifier(make(), n_estimators=2), period=10, theta=0.001, random_state=5
    ).announce([0, 1, 2])
    slow = DynamicWeightedMajority(
        lambda k: Resampling(make, rngs_of(int(seeds.integers(2**32)), 2), False, [0, 1, 2], min),
        [0, 1, 2],
        True,
        10,
        0.5,
        0.001,
        None,
    )
    contest(slow, fast, X, y, w)
    assert fast.estimator_weights_.tolist() == slow.weights
    assert slow.made > 2, "no expert came: nothing was tested"


def changing(n, weighted):
    """Rows whose labels change places twice."""
    X, y, w = rows(n, weighted, shares=(0.5, 0.4, 0.1))
    y = np.where((np.arange(n) // (n // 3)) % 2 == 1, (y + 1) % 3, y)
    return X, y, w


def detector():
    return DDM(min_values=15, warning_level=0.5, drift_level=1.5)


def class_rngs(seed):
    """The generators that CBCE's models draw rows of other classes with, in the order of their codes."""
    (root,) = rngs_of(seed, 1)
    return [root.spawn(2)[0] for _ in range(3)]


@pytest.mark.parametrize("weighted", [False, True])
def test_cbce_of_trees_equals_the_published_algorithm(weighted):
    X, y, w = changing(900, weighted)
    slow = CBCE(lambda: Tree(make), class_rngs(5), [0, 1, 2], 0.95, 1e-3, detector, 25)
    fast = CBCEClassifier(make(), decay=0.95, vanished=1e-3, detector=detector(), max_stored=25, random_state=5)
    contest(slow, fast.announce([0, 1, 2]), X, y, w, size=400)
    assert fast.n_drifts_.tolist() == slow.drifts
    assert min(slow.drifts) > 0, "no drift: nothing was tested"
    assert fast.class_sizes_.tolist() == [slow.shares[c] for c in range(3)]


@pytest.mark.parametrize("weighted", [False, True])
def test_cbce_of_kernels_is_the_published_algorithm(weighted):
    # The common factor of the coefficients, and where the oldest row lies, round otherwise than the plain form.
    X, y, w = changing(450, weighted)
    slow = CBCE(lambda: KernelLogistic(0.5, 0.1, 0.2, 40), class_rngs(5), [0, 1, 2], 0.95, 1e-3, detector, 25)
    fast = CBCEClassifier(
        decay=0.95, vanished=1e-3, detector=detector(), max_stored=25, random_state=5,
        learning_rate=0.5, bandwidth=0.2, budget=40,
    ).announce([0, 1, 2])  # fmt: skip
    got = np.vstack([fast.test_then_train(X[i : i + 70], y[i : i + 70], w[i : i + 70]) for i in range(0, 450, 70)])
    for i in range(len(X)):
        votes = np.array(slow.predict_proba(X[i]))
        expected = votes / votes.sum() if votes.any() else np.full(3, 1 / 3)
        assert np.allclose(got[i], expected, rtol=1e-9, atol=1e-12), f"row {i}"
        if w[i] > 0:
            slow.learn(X[i], y[i], w[i])
    assert fast.n_drifts_.tolist() == slow.drifts
    assert max(slow.drifts) > 0, "no drift: nothing was tested"


@pytest.mark.parametrize("weighted", [False, True])
def test_esos_elm_is_the_published_algorithm(weighted):
    # The plain form computes means, deviations and products anew or in another order.
    X, y, w = changing(600, weighted)
    fast = ESOSELMClassifier(
        n_estimators=4, n_hidden=6, C=10.0, period=50, threshold=1.0, n_stored=2, random_state=5
    ).announce([0, 1, 2])  # fmt: skip
    fast._make_room(4, 3)  # to know the hidden layers
    slow = ESOSELM([*fast._alphas.copy(), fast._store_alphas.copy()], 3, 10.0, 50, 1.0, 2)
    got = np.vstack([fast.test_then_train(X[i : i + 70], y[i : i + 70], w[i : i + 70]) for i in range(0, 600, 70)])
    for i in range(len(X)):
        votes = slow.predict_proba(X[i])
        expected = votes / votes.sum() if votes.any() else np.full(3, 1 / 3)
        assert np.allclose(got[i], expected, rtol=1e-6, atol=1e-9), f"row {i}"
        if w[i] > 0:
            slow.learn(X[i], y[i], w[i])
    assert fast.n_drifts_ == slow.drifts > 1
    assert np.allclose(fast.estimator_weights_, np.array(slow.weights) * slow.may_vote)


def recalls(proba, y, part):
    """Recall of each class in a part of the rows."""
    found = proba.argmax(axis=1)[part]
    return [float((found[y[part] == c] == c).mean()) for c in np.unique(y)]


@pytest.mark.parametrize(
    "ours",
    [
        OOBClassifier(GaussianNB(), n_estimators=5, random_state=0),
        UOBClassifier(GaussianNB(), n_estimators=5, random_state=0),
        WEOBClassifier(GaussianNB(), n_estimators=5, random_state=0),
        CBCEClassifier(GaussianNB(), random_state=0),
        ESOSELMClassifier(n_hidden=20, random_state=0),
    ],
)
def test_the_minority_is_found_whichever_it_is(ours):
    rng = np.random.default_rng(1)
    y = (rng.random(6000) < 0.05).astype(int)
    y[3000:] = 1 - y[3000:]
    X = rng.standard_normal((6000, 2)) + 1.5 * y[:, None]
    plain = OzaBaggingClassifier(GaussianNB(), n_estimators=5, random_state=0).announce([0, 1])
    learner = ours.announce([0, 1])
    found = learner.test_then_train(X, y)
    for part in (slice(1000, 3000), slice(4000, 6000)):
        assert min(recalls(found, y, part)) > 0.6
    assert min(recalls(plain.test_then_train(X, y), y, slice(1000, 3000))) < 0.6


def test_before_a_second_class_resampling_is_bagging():
    X = np.random.default_rng(0).standard_normal((200, 3))
    y = np.zeros(200, int)
    bagging = OzaBaggingClassifier(make(), n_estimators=2, random_state=3).partial_fit(X, y)
    for ours in (OOBClassifier, UOBClassifier):
        learner = ours(make(), n_estimators=2, random_state=3).partial_fit(X, y)
        assert [tree.to_bytes() for tree in learner.estimators_] == [tree.to_bytes() for tree in bagging.estimators_]


def test_a_class_that_is_announced_and_late_is_waited_for():
    X = np.random.default_rng(0).standard_normal((1000, 3))
    learner = UOBClassifier(GaussianNB(), n_estimators=2, random_state=3).announce([0, 1])
    learner.partial_fit(X, np.zeros(1000, int))
    learner.partial_fit(X[:30] + 1.0, np.ones(30, int))
    assert (learner.predict(X + 1.0) == 1).mean() > 0.5
    unaware = UOBClassifier(GaussianNB(), n_estimators=2, random_state=3).partial_fit(X, np.zeros(1000, int))
    unaware.partial_fit(X[:30] + 1.0, np.ones(30, int))
    assert (unaware.predict(X + 1.0) == 1).mean() < 0.5


def test_undersampling_stops_where_a_class_has_gone():
    X, y, _ = rows(300)
    learner = UOBClassifier(make(), n_estimators=2, random_state=0).partial_fit(X, y)
    learner.partial_fit(np.tile(X[y == 0][:1], (20_000, 1)), np.zeros(20_000, int))
    assert learner.class_sizes_.tolist()[1:] == [0.0, 0.0]
    before = learner.predict_proba(X)
    learner.partial_fit(X[y == 0], y[y == 0])
    assert np.array_equal(learner.predict_proba(X), before)


@pytest.mark.parametrize("learner", [OOBClassifier, UOBClassifier, WEOBClassifier, DynamicWeightedMajorityClassifier])
def test_scikit_learns_classifiers_are_members(learner):
    X, y, _ = rows(300)
    it = learner(ScikitNB(), n_estimators=2, random_state=0)
    it.announce([0, 1, 2])
    parts = learner(ScikitNB(), n_estimators=2, random_state=0)
    parts.announce([0, 1, 2])
    whole = it.test_then_train(X, y)
    assert np.array_equal(
        np.vstack([parts.test_then_train(X[i : i + 70], y[i : i + 70]) for i in range(0, 300, 70)]), whole
    )
    assert (whole.argmax(axis=1) == y).mean() > 0.5


def test_a_limit_of_memory_takes_a_limit_of_experts():
    X, y, _ = rows(100)
    with pytest.raises(ValueError, match="max_bytes needs n_estimators"):
        DynamicWeightedMajorityClassifier(max_bytes=100_000).partial_fit(X, y)
    learner = DynamicWeightedMajorityClassifier(make(), period=1, n_estimators=3, max_bytes=30_000).partial_fit(X, y)
    assert {tree.max_bytes for tree in learner.estimators_} == {(30_000 - 24) // 3}
    assert len(learner.estimators_) == 3
    with pytest.raises(ValueError, match="cannot fall below the 3 experts"):
        learner.set_params(n_estimators=2)
    learner.set_params(max_bytes=60_000, estimator__grace_period=55)
    assert {tree.max_bytes for tree in learner.estimators_} == {(60_000 - 24) // 3}
    assert {tree.grace_period for tree in learner.estimators_} == {55}


def test_parameters_reach_both_ensembles():
    X, y, _ = rows(200)
    learner = WEOBClassifier(make(), n_estimators=2, random_state=0).partial_fit(X, y)
    learner.set_params(estimator__grace_period=77, decay=0.8, n_jobs=2)
    assert [tree.grace_period for both in learner.estimators_ for tree in both.estimators_] == [77] * 4
    assert {both.decay for both in learner.estimators_} == {0.8}
    for wrong in ({"n_estimators": 3}, {"window_size": 9}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} cannot change once"):
            learner.set_params(**wrong)
    assert learner.n_estimators == 2
