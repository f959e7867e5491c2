"""Ensembles that learn chunk by chunk, against slow references, and what goes beyond the laws."""

from __future__ import annotations

import numpy as np
import pytest
import reference_chunk_ensembles as reference
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from anabranch.ensemble import AccuracyWeightedEnsembleClassifier
from anabranch.imbalance import (
    DFGWISClassifier,
    HUWRSIPClassifier,
    LearnPPCDSClassifier,
    LearnPPNIEClassifier,
    REAClassifier,
    SERAClassifier,
    UncorrelatedBaggingClassifier,
)
from anabranch.imbalance._minority import neighbours
from anabranch.imbalance._smote import smote
from anabranch.imbalance.dfgw_is import drawn_groups, simplex_weights
from anabranch.stream import MovingGaussian


def chunks_of(n_chunks, rows, turn=None, share=0.15, seed=1):
    """A skewed stream; from chunk ``turn`` on, the classes change places."""
    stream = MovingGaussian(seed=seed, chunk_rows=rows, minority_share=share, n_chunks=n_chunks)
    for i, (X, y) in zip(range(n_chunks), stream.chunks(rows), strict=False):
        yield X, 1 - y if turn is not None and i >= turn else y


def contest(ours, slow, n_chunks=7, rows=80, turn=None):
    """Votes before each chunk agree."""
    ours = ours.set_params(chunk_size=rows, random_state=4).announce([0, 1])
    for i, (X, y) in enumerate(chunks_of(n_chunks, rows, turn)):
        told = ours.test_then_train(X, y)
        if i:
            scores = slow.scores(X)
            assert np.allclose(told, scores / scores.sum(axis=1, keepdims=True), atol=1e-9), f"chunk {i}"
        slow.learn(X, y)
    return ours


@pytest.mark.parametrize("turn", [None, 3])
def test_learnpp_nie_is_the_published_one(turn):
    slow = reference.LearnPPNIE(T=3, a=0.7, b=2, seed=4)
    ours = contest(LearnPPNIEClassifier(n_estimators=3, slope=0.7, crossing=2), slow, 5, 60, turn)
    assert np.allclose(ours.weights_, slow.weights, atol=1e-12)
    assert len(set(ours.weights_.tolist())) > 2


@pytest.mark.parametrize("turn", [None, 4])
def test_rea_is_the_published_one(turn):
    slow = reference.REA(f=0.4, k=5, seed=4)
    ours = contest(REAClassifier(post_balance=0.4, n_neighbors=5), slow, turn=turn)
    assert np.allclose(ours.weights_, slow.weights, atol=1e-12)
    assert slow.added[1] > 0
    assert turn or slow.added[-1] < 6 * 12, "the nearest were never chosen among more"


@pytest.mark.parametrize(("members", "turn"), [(1, None), (3, 4)])
def test_sera_is_the_published_one(members, turn):
    slow = reference.SERA(f=0.4, T=members, seed=4)
    contest(SERAClassifier(n_estimators=members, post_balance=0.4), slow, turn=turn)
    assert turn or slow.added[-1][0] < slow.added[-1][1], "the nearest were never chosen among more"


@pytest.mark.parametrize(("ratio", "turn"), [(0.5, None), (1.5, 3)])
def test_uncorrelated_bagging_is_the_published_one(ratio, turn):
    slow = reference.UncorrelatedBagging(k=3, r=ratio, seed=4)
    contest(UncorrelatedBaggingClassifier(n_estimators=3, ratio=ratio), slow, turn=turn)


@pytest.mark.parametrize(("amount", "turn"), [(2.0, None), (0.6, 3)])
def test_learnpp_cds_is_the_published_one(amount, turn):
    slow = reference.LearnPPCDS(N=amount, k=3, a=0.7, b=2, seed=4)
    ours = LearnPPCDSClassifier(amount=amount, n_neighbors=3, slope=0.7, crossing=2)
    ours = contest(ours, slow, 5, 60, turn)
    assert np.allclose(ours.weights_, slow.weights, atol=1e-12)
    assert len(set(ours.weights_.tolist())) > 2


@pytest.mark.parametrize("turn", [None, 3])
def test_accuracy_weighted_ensemble_is_the_published_one(turn):
    slow = reference.AccuracyWeighted(K=3, folds=4, seed=4)
    ours = contest(AccuracyWeightedEnsembleClassifier(n_estimators=3, n_folds=4), slow, turn=turn)
    assert np.allclose(ours.weights_, slow.weights, atol=1e-12)
    assert ours.n_experts_ == 3


@pytest.mark.parametrize("turn", [None, 3])
def test_dfgw_is_is_the_published_one(turn):
    slow = reference.DFGWIS([], simplex_weights, T=3, seed=4, bins=8)
    slow.groups = drawn_groups(2, 9, slow.own)
    assert [group.tolist() for group in slow.groups[:1]] == [[0, 1]]
    assert len(slow.groups) == 3
    ours = contest(DFGWISClassifier(n_estimators=3, n_groups=9, n_bins=8), slow, rows=100, turn=turn)
    assert np.allclose(ours.weights_, slow.alpha, atol=1e-12)
    assert turn or slow.forgot


def test_group_weights_are_the_best_on_the_simplex():
    rng = np.random.default_rng(0)
    margins = np.where(rng.random((60, 3)) < [0.9, 0.7, 0.6], 1.0, -1.0)
    cost = rng.exponential(1.0, 60)

    def loss(w):
        return (cost * np.log1p(np.exp(-margins @ w))).sum()

    found = simplex_weights(margins, cost)
    grid = [np.array([a, b, 100 - a - b]) / 100 for a in range(101) for b in range(101 - a)]
    assert found.min() >= 0
    assert abs(found.sum() - 1) < 1e-12
    assert loss(found) <= min(map(loss, grid)) + 1e-6
    assert np.array_equal(simplex_weights(margins[:0], cost[:0]), np.full(3, 1 / 3))


@pytest.mark.parametrize("turn", [None, 3])
def test_huwrs_ip_is_the_published_one(turn):
    rngs = reference.generators(4, 3)
    subspaces = [np.sort(rng.permutation(2)[:1]) for rng in rngs]
    slow = reference.HUWRSIP(subspaces, rngs, threshold=0.55, bins=4)
    ours = contest(HUWRSIPClassifier(n_estimators=3, threshold=0.55, n_bins=4), slow, turn=turn)
    assert [columns.tolist() for columns in ours.subspaces_] == [columns.tolist() for columns in subspaces]
    assert np.allclose(ours.weights_, slow.weights, atol=1e-12)
    assert 3 < slow.made < 21
    assert turn or 0 < slow.propagated[-1][0] < slow.propagated[-1][1]


# ---------------------------------------------------------------------------------------------- what is left open

ALL = [
    AccuracyWeightedEnsembleClassifier(n_folds=3),
    DFGWISClassifier(n_estimators=3),
    HUWRSIPClassifier(n_estimators=4, subspace=1.0),
    LearnPPCDSClassifier(),
    LearnPPNIEClassifier(),
    REAClassifier(),
    SERAClassifier(),
    UncorrelatedBaggingClassifier(),
]
each = pytest.mark.parametrize("learner", ALL, ids=lambda learner: type(learner).__name__)


def fresh(learner, **parameters):
    return clone(learner).set_params(random_state=0, **parameters)


@each
def test_chunks_of_one_class_change_nothing(learner):
    (X, y), (X2, y2) = chunks_of(2, 100)
    it = fresh(learner, chunk_size=100).announce([0, 1]).partial_fit(X, np.zeros(100))
    assert (it.predict_proba(X) == 0.5).all(), "without anything learned, all classes are alike"
    it.partial_fit(X, y)
    before = it.predict_proba(X2)
    assert not (before == 0.5).all()
    for label in (0, 1):
        it.partial_fit(X + 3, np.full(100, label))
        assert np.array_equal(it.predict_proba(X2), before)
    straight = fresh(learner, chunk_size=100).announce([0, 1]).partial_fit(X, y).partial_fit(X2, y2)
    it.partial_fit(X2, y2)
    assert np.array_equal(it.predict_proba(X), straight.predict_proba(X)), "they are remembered"


@each
def test_a_single_row_of_the_minority_will_do(learner):
    rng = np.random.default_rng(2)
    it = fresh(learner, chunk_size=60).announce([0, 1])
    for _ in range(4):
        y = (np.arange(60) == 17).astype(int)
        it.partial_fit(rng.standard_normal((60, 3)) + 5 * y[:, None], y)
    assert np.isfinite(it.predict_proba(rng.standard_normal((9, 3)))).all()
    it = fresh(learner, chunk_size=2).announce([0, 1]).partial_fit([[0.0], [1.0], [0.1], [1.1]], [0, 1, 0, 1])
    assert np.isfinite(it.predict_proba([[0.0], [1.0]])).all()


@each
def test_a_minority_that_becomes_the_majority(learner):
    rng = np.random.default_rng(0)
    it = fresh(learner, chunk_size=200)
    for i, share in enumerate((0.1, 0.2, 0.5, 0.8, 0.9)):
        y = (rng.random(200) < share).astype(int)
        X = rng.standard_normal((200, 2)) + 4 * y[:, None]
        if i:
            said = it.predict(X)
            assert min((said[y == c] == c).mean() for c in (0, 1)) > 0.75
        it.partial_fit(X, y)


@each
def test_three_classes(learner):
    rng = np.random.default_rng(1)
    it = fresh(learner, chunk_size=300)
    for _ in range(4):
        y = rng.choice(3, 300, p=[0.7, 0.2, 0.1])
        X = rng.standard_normal((300, 2)) + np.array([[0, 0], [6, 0], [0, 6]])[y]
        it.partial_fit(X, y)
    said = it.predict(X)
    assert min((said[y == c] == c).mean() for c in range(3)) > 0.9


@each
def test_what_an_estimator_refuses_leaves_the_learner_as_it_was(learner):
    class Moody(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            if (X > 50).any():
                raise RuntimeError("not today")
            return super().fit(X, y, sample_weight)

    it = fresh(learner, chunk_size=100, estimator=Moody())
    (X, y), (X2, _) = chunks_of(2, 100)
    it.partial_fit(X, y)
    stored = len(getattr(it, "_stored", ()))
    before = it.predict_proba(X2)
    with pytest.raises(RuntimeError, match="not today"):
        it.partial_fit(X + 100, y)
    assert np.array_equal(it.predict_proba(X2), before)
    assert len(getattr(it, "_stored", ())) == stored
    assert getattr(it, "_waiting", 0) == 0


@pytest.mark.parametrize(
    "learner",
    [
        LearnPPNIEClassifier(max_experts=4),
        LearnPPCDSClassifier(max_experts=4),
        REAClassifier(max_experts=4, max_stored=50),
        SERAClassifier(max_stored=50),
        UncorrelatedBaggingClassifier(max_stored=50),
        HUWRSIPClassifier(n_estimators=2, max_stored=50),
        DFGWISClassifier(n_estimators=2),
        AccuracyWeightedEnsembleClassifier(n_estimators=4, n_folds=2),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_memory_can_be_bounded(learner):
    it = fresh(learner, chunk_size=50)
    sizes = []
    for X, y in chunks_of(120, 50):
        it.partial_fit(X, y)
        sizes.append(it.nbytes)
    assert max(sizes[60:]) <= 1.3 * max(sizes[:60])
    if hasattr(it, "max_experts"):
        assert it.n_experts_ == 4
    if hasattr(it, "max_stored"):
        assert len(it._stored) == 50


def test_experts_without_errors_do_not_outvote_all_others():
    X = np.linspace(0, 1, 100)[:, None]
    y = (X[:, 0] > 0.8).astype(int)
    nie = LearnPPNIEClassifier(chunk_size=100, random_state=0).partial_fit(X, y).partial_fit(X, y)
    assert nie.weights_.max() <= np.log(100) + 1e-12
    rea = REAClassifier(chunk_size=100, random_state=0).partial_fit(X, y)
    assert np.allclose(rea.weights_, np.log(100))


def test_experts_that_all_fail_count_alike():
    X = np.linspace(0, 1, 100)[:, None]
    y = (X[:, 0] > 0.8).astype(int)
    it = LearnPPNIEClassifier(chunk_size=100, random_state=0).partial_fit(X, y)
    it._experts[0].weight = 0.0
    assert (it.predict(X) == y).mean() > 0.9


def test_a_weighted_recall_and_errors_of_ones_own():
    X, y = next(chunks_of(1, 200))
    plain = LearnPPNIEClassifier(chunk_size=200, random_state=0, error="recall").partial_fit(X, y)
    seen = []

    def mean_recall(truth, said, w):
        seen.append((truth, said))
        right = truth == said
        return 1 - (right[truth > 0].mean() + right[truth < 0].mean()) / 2

    own = LearnPPNIEClassifier(chunk_size=200, random_state=0, error=mean_recall).partial_fit(X, y)
    assert np.allclose(own.weights_, plain.weights_)
    assert (seen[0][0] == np.where(y == 1, 1, -1)).all()


def test_smote_draws_between_neighbours():
    rng = np.random.default_rng(0)
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [10.0, 10.0], [11.0, 10.0], [10.0, 11.0]])
    made, base = smote(X, 2.5, 2, rng)
    assert len(made) == 15
    counts = np.bincount(base)
    assert sorted(counts.tolist()) == [2, 2, 2, 3, 3, 3]
    low = base < 3
    assert (made[low] <= 1.0).all()
    assert (made[low] >= 0.0).all()
    assert (made[~low] >= 10.0).all()
    for row, i in zip(made, base, strict=True):
        others = [j for j in range(6) if j != i and (j < 3) == (i < 3)]
        ways = [(row - X[i], X[j] - X[i]) for j in others]
        assert any(abs(a[0] * b[1] - a[1] * b[0]) < 1e-9 for a, b in ways), "not on a line to a neighbour"
    assert len(smote(X[:1], 2.0, 5, rng)[0]) == 0, "a single row has no neighbours"
    assert len(smote(X[:2], 1.0, 5, rng)[0]) == 2
    assert len(smote(X, 0.0, 5, rng)[0]) == 0
    gaps = X.copy()
    gaps[0, 0] = np.nan
    assert len(smote(gaps, 1.0, 2, rng)[0]) == 6


def test_nearest_rows_are_exact_and_the_earlier_first_among_equals():
    rng = np.random.default_rng(3)
    Y = rng.integers(0, 4, (40, 2)).astype(float)
    X = rng.integers(0, 4, (15, 2)).astype(float)
    found = neighbours(X, Y, 7)
    for i, x in enumerate(X):
        assert found[i].tolist() == reference.nearest_of(x, Y, 7)
    own = neighbours(Y, Y, 3, own=True)
    for i, x in enumerate(Y):
        assert own[i].tolist() == reference.nearest_of(x, Y, 3, but=i)
    assert neighbours(X, Y[:2], 7).shape == (15, 2)
    assert neighbours(Y[:1], Y[:1], 7, own=True).shape == (1, 0)


def test_new_columns_draw_groups_and_subspaces_anew():
    rng = np.random.default_rng(0)
    rows = [{"a": rng.standard_normal() + 3 * (i % 10 == 0), "b": rng.standard_normal()} for i in range(200)]
    later = [{**row, "c": rng.standard_normal()} for row in rows]
    y = [int(i % 10 == 0) for i in range(200)]
    groups = fresh(DFGWISClassifier(n_estimators=1), chunk_size=200).partial_fit(rows, y)
    assert sorted(map(len, groups.groups_)) == [1, 1, 2]
    assert sorted(map(len, groups.partial_fit(later, y).groups_)) == [1, 1, 1, 2, 2, 2, 3]
    spaces = fresh(HUWRSIPClassifier(n_estimators=3, subspace=1.0), chunk_size=200).partial_fit(rows, y)
    assert [len(columns) for columns in spaces.subspaces_] == [2, 2, 2]
    assert [len(columns) for columns in spaces.partial_fit(later, y).subspaces_] == [3, 3, 3]
    with pytest.raises(ValueError, match="n_estimators"):
        spaces.set_params(n_estimators=4)
    with pytest.raises(ValueError, match="n_bins"):
        spaces.set_params(n_bins=4)
