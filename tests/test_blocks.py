"""Pasting bites, block boosting and pruning, against slow references."""

from __future__ import annotations

import numpy as np
import pytest
import reference_blocks as slow
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from anabranch.ensemble import BlockBoostingClassifier, PastingBitesClassifier, pruning
from anabranch.stream import SEA, RandomRBF


def _rng(seed=0):
    return np.random.default_rng(seed)


def _rows(n, classes=2, seed=1):
    X, y = RandomRBF(n_features=4, n_classes=classes, n_centroids=12, seed=seed).take(n)
    return X, y.astype(np.int64)


def _row_weights(n, weighted):
    rng = _rng(9)
    return rng.exponential(1.0, n) * (rng.random(n) > 0.1) if weighted else np.ones(n)


# ---------------------------------------------------------------------------------------------- pasting bites


@pytest.mark.parametrize(("classes", "weighted", "p", "max_skipped"), [(2, False, 0.75, 9.0), (3, True, 0.5, 0.4)])
def test_pasting_bites_are_the_published_ones(classes, weighted, p, max_skipped):
    X, y = _rows(900, classes)
    w = _row_weights(900, weighted)
    ours = PastingBitesClassifier(
        n_estimators=4, chunk_size=60, smoothing=p, max_skipped=max_skipped, random_state=5
    ).announce(range(classes))
    reference = slow.PastingBites(4, 60, p, max_skipped, classes, seed=5)
    told = ours.test_then_train(X, y, sample_weight=w)
    bites, bite_errors = 0, []
    for i in range(900):
        votes = np.array(reference.votes(X[i]))
        assert np.array_equal(told[i], votes / max(votes.sum(), 1.0) if votes.any() else np.full(classes, 1 / classes))
        waiting = len(reference.bite)
        reference.learn(X[i], int(y[i]), float(w[i]))
        if len(reference.bite) < waiting:
            bites += 1
            bite_errors.append(reference.e)
    assert ours.error_ == reference.e
    assert ours._waiting == len(reference.bite)
    assert ours._skipped == reference.skipped
    assert 5 < bites < 15
    assert bite_errors[0] is None
    assert bite_errors[1] is not None
    assert ours.n_members_ == 4


def test_random_bites_are_the_next_rows():
    X, y = _rows(400)
    plain = PastingBitesClassifier(n_estimators=3, chunk_size=80, sampling="random", random_state=2)
    every = PastingBitesClassifier(n_estimators=3, chunk_size=80, max_skipped=0, random_state=2)
    assert np.array_equal(plain.test_then_train(X, y), every.test_then_train(X, y))
    assert np.isnan(plain.error_)
    assert 0 < every.error_ < 0.5


def test_rows_that_are_got_right_are_taken_in_proportion_to_the_error():
    X, y = SEA(seed=1, noise=0.1).take(6000)
    bites = []

    class Spy(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            bites.append((X, y))
            return super().fit(X, y, sample_weight)

    it = PastingBitesClassifier(Spy(), chunk_size=400, max_skipped=50, random_state=0)
    it.partial_fit(X, y)
    e = it.error_
    assert 0.05 < e < 0.2
    assert all(len(y) == 400 for _, y in bites)
    assert [X_ for X_, _ in bites[:2]][1].tolist() == X[400:800].tolist()  # no error is known yet
    # Later bites: about as many rows that the members get wrong as rows that they get right.
    bite, labels = bites[-1]
    wrong = (it.predict(bite) != labels).mean()
    assert 0.35 < wrong < 0.65
    assert len(bites) < 6000 / 400 / 2


def test_a_bite_is_filled_though_no_row_is_got_wrong():
    X = np.tile([[0.0], [1.0]], (100, 1))
    y = X[:, 0].astype(int)
    it = PastingBitesClassifier(chunk_size=10, max_skipped=2, random_state=0).partial_fit(X, y)
    assert it.error_ == 0.0
    # Two bites before there is an error, then 20 rows are passed over for each.
    assert it.n_members_ == 2 + (200 - 20) // 30
    assert (it.predict(X) == y).all()


def test_a_bite_that_cannot_be_learned_is_forgotten():
    class Fails(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            if (X > 50).any():
                raise RuntimeError("no")
            return super().fit(X, y, sample_weight)

    X, y = _rows(300)
    one = PastingBitesClassifier(Fails(), chunk_size=50, random_state=0).partial_fit(X[:130], y[:130])
    with pytest.raises(RuntimeError):
        one.partial_fit(X[130:] + 100, np.where(np.arange(170) % 3, y[130:], 1 - y[130:]))
    other = PastingBitesClassifier(Fails(), chunk_size=50, random_state=0).partial_fit(X[:130], y[:130])
    for it in (one, other):
        it.partial_fit(X[130:], y[130:])
    assert one.error_ == other.error_
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


# ---------------------------------------------------------------------------------------------- block boosting


def _keep_by(name, M):
    return {
        "kl": lambda said, y, w, alphas, D: slow.kl_divergence(D, M),
        "kappa": lambda said, y, w, alphas, D: slow.kappa(said, M, w),
        "kappa_error": lambda said, y, w, alphas, D: slow.kappa_error_hull(said, y, w)[:M],
        "reduce_error": lambda said, y, w, alphas, D: slow.reduce_error(said, y, alphas, M, w),
    }.get(name)


@pytest.mark.parametrize(
    ("pruned", "classes", "weighted", "max_members"),
    [
        ("oldest", 2, False, None),
        ("oldest", 3, True, None),
        ("kl", 2, False, 3),
        ("kappa", 3, False, None),
        ("kappa_error", 2, False, None),
        ("reduce_error", 3, False, 3),
    ],
)
def test_block_boosting_is_the_published_one(pruned, classes, weighted, max_members):
    X, y = _rows(480, classes)
    w = _row_weights(480, weighted)
    settings = DecisionTreeClassifier(max_depth=2)
    ours = BlockBoostingClassifier(
        settings, n_estimators=4, chunk_size=60, pruning=pruned, max_members=max_members, random_state=7
    ).announce(range(classes))
    reference = slow.BlockBoosting(settings, 4, classes, 7, _keep_by(pruned, (max_members or 4) - 1))
    told = ours.test_then_train(X, y, sample_weight=w)
    there = np.flatnonzero(w)
    start = 0
    for block in np.split(there, range(60, len(there), 60)):
        stop = int(block[-1]) + 1
        for i in range(start, stop):
            votes = np.array(reference.votes(X[i]))
            expected = votes / votes.sum() if votes.any() else np.full(classes, 1 / classes)
            assert np.array_equal(told[i], expected)
        if len(block) == 60:
            reference.learn(X[block].tolist(), y[block].tolist(), w[block].tolist())
            start = stop
    assert ours.member_weights_.tolist() == reference.alphas
    assert len(set(reference.alphas)) > 1
    assert max(reference.alphas) > 0
    assert ours.n_members_ == len(reference.members)


def test_a_hypothesis_without_errors_has_a_finite_say():
    X = np.tile([[0.0], [1.0]], (50, 1))
    y = X[:, 0].astype(int)
    it = BlockBoostingClassifier(chunk_size=20, random_state=0).partial_fit(X, y)
    assert np.allclose(it.member_weights_, np.log(39))  # half a row of 20
    assert (it.predict(X) == y).all()


def test_what_is_wrong_half_of_the_time_has_no_say_and_stays():
    X = np.linspace(0, 1, 100)[:, None]
    y = (X[:, 0] > 0.5).astype(int)
    it = BlockBoostingClassifier(chunk_size=100, random_state=0).partial_fit(X, y).partial_fit(X, 1 - y)
    assert it.n_members_ == 2
    assert it.member_weights_[0] == 0.0
    assert it.member_weights_[1] > 0.0
    assert (it.predict(X) == 1 - y).all()
    it.partial_fit(X, y)  # the concept of the first is back
    assert it.member_weights_[0] > 0.0
    assert it.member_weights_[1] == 0.0
    assert (it.predict(X) == y).all()


def test_without_a_say_all_count_alike():
    X, y = np.zeros((40, 1)), np.tile([0, 1], 20)
    it = BlockBoostingClassifier(DummyClassifier(), chunk_size=20, random_state=0).partial_fit(X, y)
    assert it.member_weights_.tolist() == [0.0, 0.0]
    assert it.predict_proba(X[:1]).tolist() == [[1.0, 0.0]]
    it.set_params(voting="soft")
    assert it.predict_proba(X[:1]).tolist() == [[0.5, 0.5]]


def test_blocks_of_one_class_and_a_short_last_block():
    X, y = _rows(100)
    it = BlockBoostingClassifier(chunk_size=50, random_state=0).announce([0, 1])
    it.partial_fit(X[:50], np.zeros(50, int))
    assert (it.predict(X) == 0).all()
    it.partial_fit(X[50:], y[50:])
    assert it.member_weights_[0] < it.member_weights_[1]
    assert (it.predict(X[50:]) == y[50:]).mean() > 0.8
    it.partial_fit(X[:7], y[:7]).flush()
    assert it.n_members_ == 3
    assert it.member_weights_.max() <= np.log(13) + 1e-12
    it.partial_fit(X[:1], y[:1]).flush()  # one row: whatever is right, errs in half of it
    assert it.member_weights_.tolist() == [0.0] * 4
    assert np.isfinite(it.predict_proba(X)).all()


def test_the_newest_always_stays():
    X, y = _rows(300)
    for pruned in ("oldest", "kl", "kappa", "kappa_error", "reduce_error"):
        it = BlockBoostingClassifier(n_estimators=1, chunk_size=60, pruning=pruned, random_state=0)
        it.partial_fit(X, y)
        assert it.n_members_ == 1
        assert it.member_weights_[0] > 0
    it = BlockBoostingClassifier(n_estimators=5, max_members=2, chunk_size=20, random_state=0)
    sizes = []
    for start in range(0, 300, 20):
        sizes.append(it.partial_fit(X[start : start + 20], y[start : start + 20]).n_members_)
    assert sizes == [1, 2, 3, 4, 5, 2, 3, 4, 5, 2, 3, 4, 5, 2, 3]


def test_more_members_than_there_may_be_are_refused():
    with pytest.raises(ValueError, match="max_members"):
        BlockBoostingClassifier(n_estimators=3, max_members=4).partial_fit([[1.0]], [0])
    it = BlockBoostingClassifier(n_estimators=3).partial_fit([[1.0]], [0])
    with pytest.raises(ValueError, match="max_members"):
        it.set_params(max_members=4)
    assert it.max_members is None


# ---------------------------------------------------------------------------------------------- pruning


def _ensembles():
    """Predictions of members that err at random, some of them together, with weights of rows and members."""
    for seed in range(18):
        rng = _rng(seed)
        T, n, k = int(rng.integers(1, 9)), int(rng.integers(5, 60)), int(rng.integers(2, 4))
        y = rng.integers(0, k, n)
        hard = rng.random(n)
        said = np.array([np.where(hard + rng.random(n) > 1.1, rng.integers(0, k, n), y) for _ in range(T)])
        w = rng.integers(0, 4, n).astype(float) if seed % 2 else np.ones(n)
        if w.any():
            yield said, y, w, rng.integers(0, 3, T) * 0.5, int(rng.integers(1, T + 2))


def test_pruning_is_the_published_one():
    tried = 0
    for said, y, w, alphas, M in _ensembles():
        lists = said.tolist(), y.tolist(), w.tolist(), alphas.tolist()
        kappas = pruning.pairwise_kappa(said, w)
        for a in range(len(said)):
            for b in range(a):
                assert np.isclose(kappas[a, b], slow.kappa_of(lists[0][a], lists[0][b], lists[2]), atol=1e-12)
        if len(set(np.round(kappas[np.triu_indices(len(said), 1)], 9))) == len(said) * (len(said) - 1) // 2:
            assert pruning.kappa(said, M, w).tolist() == slow.kappa(lists[0], M, lists[2])
            assert pruning.kappa_error_hull(said, y, w).tolist() == slow.kappa_error_hull(lists[0], lists[1], lists[2])
        assert pruning.reduce_error(said, y, alphas, M, w).tolist() == slow.reduce_error(
            lists[0], lists[1], lists[3], M, lists[2]
        )
        D = _rng(len(said)).dirichlet(np.ones(len(y)), len(said))
        assert pruning.kl_divergence(D, M).tolist() == slow.kl_divergence(D.tolist(), M)
        assert pruning.early_stopping(len(said), M).tolist() == list(range(min(M, len(said))))
        tried += len(said) > 2
    assert tried > 8


def test_backfitting_revises_what_was_chosen_first():
    """A greedy choice that is best alone, and in the way once there are others."""
    better = 0
    for seed in range(40):
        rng = _rng(seed)
        y = rng.integers(0, 2, 30)
        said = np.where(rng.random((9, 30)) < 0.35, 1 - y, y)

        def error(members, said=said, y=y):
            return ((said[members].sum(axis=0) * 2 > len(members)) != y).sum()

        ones = np.ones(9)
        greedy = pruning.reduce_error(said, y, ones, 5, max_rounds=0)
        fitted = pruning.reduce_error(said, y, ones, 5)
        assert len(set(fitted.tolist())) == 5
        better += int(error(greedy)) - int(error(fitted)) > 0
    assert better > 5


def test_degenerate_ensembles_are_pruned_too():
    same = np.zeros((3, 4), int)
    assert pruning.pairwise_kappa(same).tolist() == np.ones((3, 3)).tolist()
    assert pruning.kappa(same, 2).tolist() == [0, 1]
    assert pruning.kappa_error_hull(same, [0, 0, 1, 1]).tolist() == [0, 1]
    assert pruning.kappa_error_hull(same[:1], [0, 0, 1, 1]).tolist() == [0]
    assert pruning.kappa(same[:1], 3).tolist() == [0]
    assert pruning.reduce_error(same, [1, 1, 1, 1], np.zeros(3), 2).tolist() == [0, 1]
    assert pruning.kl_divergence([[1, 0], [0, 1], [1, 1]], 2).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pruning.kappa([0, 1], 1), "predictions must be a table"),
        (lambda: pruning.kappa([[0.5, 1.0]], 1), "whole numbers"),
        (lambda: pruning.kappa([[0, -1]], 1), "at least 0"),
        (lambda: pruning.kappa([[0, 1]], 0), "n_keep"),
        (lambda: pruning.kappa([[0, 1]], 1, [0.0, 0.0]), "sample_weight"),
        (lambda: pruning.kappa_error_hull([[0, 1]], [0]), "y must hold"),
        (lambda: pruning.reduce_error([[0, 1]], [0, 1], [-1.0], 1), "weights"),
        (lambda: pruning.reduce_error([[0, 1]], [0, 1], [1.0, 1.0], 1), "weights"),
        (lambda: pruning.kl_divergence([[0.0, 0.0]], 1), "distributions"),
        (lambda: pruning.kl_divergence([["a"]], 1), "numbers"),
        (lambda: pruning.early_stopping(3, True), "n_keep"),
    ],
)
def test_pruning_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()
