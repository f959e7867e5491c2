"""Ensembles that learn chunk by chunk, against slow references, and what goes beyond the laws."""

from __future__ import annotations

import numpy as np
import pytest
import reference_chunk_ensembles as reference

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
    ours = contest(LearnPPNIEClassifier(n_estimators=3, slope=0.7, crossing=2), slow, turn=turn)
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
    ours = contest(ours, slow, turn=turn)
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
