"""Decision trees as arrays, batch classifiers as members, and the buffer of learners that are defined on chunks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from reference_dwmil import _Seeded
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from anabranch import checkpoint
from anabranch.ensemble._batch import Models, fit_model
from anabranch.ensemble._chunks import ChunkClassifier
from anabranch.imbalance import UnderBaggingClassifier


def _rng(seed=0):
    return np.random.default_rng(seed)


def _samples(n=400):
    """Samples of many shapes: few values, rows that come twice, constants, nearly constants, huge values."""
    rng = _rng(1)
    for i in range(n):
        rows, d, k = int(rng.integers(2, 120)), int(rng.integers(1, 8)), int(rng.integers(2, 5))
        X = rng.standard_normal((rows, d))
        if i % 3 == 0:
            X = X.round(1)
        if i % 3 == 1:
            X = X[rng.integers(0, rows, rows)]
        if i % 5 == 0:
            X[:, 0] = 1.0
        if i % 7 == 0:
            X[:, -1] *= 1e-7
        if i % 11 == 0:
            X[:, 0] *= 1e38
        yield X, rng.integers(0, k, rows)


@pytest.mark.parametrize("settings", [{"min_samples_split": 10}, {"max_depth": 3}], ids=str)
def test_trees_are_scikit_learns(settings):
    grown = 0
    for i, (X, y) in enumerate(_samples()):
        if len(set(y.tolist())) < 2:
            continue
        model = fit_model(DecisionTreeClassifier(**settings), X, y, None, _rng(i))
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", RuntimeWarning
            )  # scikit-learn sums huge values to see whether all are finite
            narrow = np.clip(X, -3.4028234e38, 3.4028234e38).astype(np.float32)
            seed = int(_rng(i).integers(2**31))
            theirs = DecisionTreeClassifier(**settings, random_state=_Seeded(seed)).fit(narrow, y)
        other = Models.of_tree(theirs)
        for name in ("feature", "threshold", "left", "right", "values", "roots"):
            assert np.array_equal(getattr(model, name), getattr(other, name)), (i, name)
        shares = np.zeros((len(X), model.width))
        shares[:, theirs.classes_] = theirs.tree_.predict(narrow)[:, : len(theirs.classes_)]
        assert np.array_equal(model.votes(X), shares)
        grown += len(model.feature) > 1
    assert grown > 300


def test_gaps_go_where_scikit_learn_sends_them():
    rng = _rng(3)
    X = rng.standard_normal((300, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(np.int64)
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:, 3] = np.nan
    new = np.where(rng.random((200, 4)) < 0.3, np.nan, rng.standard_normal((200, 4)))
    seed = int(_rng(5).integers(2**31))
    theirs = DecisionTreeClassifier(min_samples_split=10, random_state=seed).fit(X, y)
    model = fit_model(None, X, y, None, _rng(5))
    assert np.array_equal(model.votes(new), theirs.predict_proba(new))
    # A column that is not there at all is missing everywhere.
    assert np.array_equal(
        model.votes(new[:, :1]), theirs.predict_proba(np.hstack([new[:, :1], np.full((200, 3), np.nan)]))
    )
    w = rng.exponential(1.0, 300)
    theirs = DecisionTreeClassifier(min_samples_split=10, random_state=seed).fit(X, y, w)
    assert np.array_equal(fit_model(None, X, y, w, _rng(5)).votes(new), theirs.predict_proba(new))


CLASSIFIERS = [
    GaussianNB(),
    LogisticRegression(),
    LinearSVC(),
    KNeighborsClassifier(3, algorithm="brute"),
    ExtraTreeClassifier(),
    RandomForestClassifier(3, max_depth=3),
    DecisionTreeClassifier(criterion="entropy"),
]


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda e: type(e).__name__)
def test_any_classifier_will_do(estimator):
    rng = _rng(2)
    y = rng.choice([0, 2], 200)
    X = rng.standard_normal((200, 3)) + y[:, None]
    w = rng.exponential(1.0, 200)
    for weights in (None, w):
        model = fit_model(estimator, X, y, weights, _rng(1))
        assert len(model) == 1
        votes = model.votes(X)
        assert votes.shape == (200, 3)
        assert not votes[:, 1].any()
        assert np.allclose(votes.sum(axis=1), 1.0)
        assert (votes.argmax(axis=1) == y).mean() > 0.8
        hard = model.votes(X, hard=True)
        assert np.array_equal(hard.argmax(axis=1), votes.argmax(axis=1))
        assert set(hard.ravel().tolist()) == {0.0, 1.0}
        again = checkpoint.from_bytes(checkpoint.to_bytes(model))
        assert np.array_equal(again.votes(X), votes)
        wide = np.hstack([X, rng.standard_normal((200, 2))])
        assert np.array_equal(model.votes(wide), votes), "columns that came later have a say"
    gaps = X.copy()
    gaps[::3, 1] = np.nan
    assert np.isfinite(fit_model(estimator, gaps, y, None, _rng(1)).votes(gaps)).all()


def test_models_join():
    rng = _rng(4)
    X, y = rng.standard_normal((100, 3)), rng.integers(0, 3, 100)
    models = [
        fit_model(None, X, y, None, _rng(1)),
        fit_model(GaussianNB(), X, y, None, _rng(1)),
        Models.constant(np.array([0.25, 0.75])),
        fit_model(None, X[:50], y[:50] + 2, None, _rng(2)),
    ]
    joined = Models.joined(models)
    assert len(joined) == 4
    assert joined.width == 5
    for hard in (False, True):
        expected = np.zeros((100, 5))
        for model in models:
            expected[:, : model.width] += model.votes(X, hard)
        assert np.allclose(joined.votes(X, hard), expected)
    assert len(Models.joined([])) == 0


def test_a_single_class_or_no_column_makes_a_leaf():
    X = _rng().standard_normal((10, 2))
    assert fit_model(GaussianNB(), X, np.full(10, 2), None, _rng()).votes(X[:1]).tolist() == [[0.0, 0.0, 1.0]]
    votes = fit_model(None, X[:, :0], np.repeat([0, 1], 5), np.repeat([3.0, 1.0], 5), _rng()).votes(X[:1])
    assert votes.tolist() == [[0.75, 0.25]]


def test_a_damaged_tree_is_not_loaded():
    rng = _rng()
    forest = RandomForestClassifier(1).fit(rng.standard_normal((50, 2)), rng.integers(0, 2, 50))
    state = checkpoint._tree_state(forest.estimators_[0].tree_)
    assert np.array_equal(checkpoint._tree(state).value, forest.estimators_[0].tree_.value)
    for field, value in (("left_child", 0), ("right_child", 10_000), ("feature", 2)):
        fields = {**state["fields"], field: np.where(state["fields"]["left_child"] >= 0, value, -1)}
        with pytest.raises(ValueError, match="damaged"):
            checkpoint._tree({**state, "fields": fields})


def test_a_checkpoint_imports_nothing_but_scikit_learns_estimators():
    for name in (
        "sklearn.base:clone",
        "sklearn.utils.estimator_checks:check_estimator",
        "sklearn.tree:nothing",
        "os:x",
    ):
        assert checkpoint._estimator_class(name) is None
    assert checkpoint._estimator_class("sklearn.naive_bayes:GaussianNB") is GaussianNB


class Majority(ChunkClassifier):
    """Says what the last chunk had most of, and remembers what chunks it was given."""

    def __init__(self, chunk_size=4, fail=False, n_jobs=None, random_state=None):
        self.chunk_size = chunk_size
        self.fail = fail
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _begin(self):
        super()._begin()
        self.blocks = []

    def _learn_block(self, X, y, w):
        if self.fail:
            raise RuntimeError("no")
        self.blocks.append((X.tolist(), y.tolist(), w.tolist()))
        self.shares = np.bincount(y, w)

    def _model_votes(self, X):
        return np.tile(self.shares, (len(X), 1))


def test_blocks_have_the_rows_that_count_and_the_columns_known_by_then():
    it = Majority(chunk_size=2)
    rows = [{"a": 1.0}, {"a": 2.0, "c": None}, {"a": 3.0}, {"a": 4.0, "b": 5.0}, {"a": 6.0}]
    it.partial_fit(rows, [0, 0, 1, 1, 0], sample_weight=[1, 0, 2, 1, 1])
    assert it.blocks == [([[1.0], [3.0]], [0, 1], [1.0, 2.0]), ([[4.0, 5.0], [6.0, float("nan")]], [1, 0], [1, 1])] or (
        repr(it.blocks[1]) == repr(([[4.0, 5.0], [6.0, float("nan")]], [1, 0], [1.0, 1.0]))
    )


def test_flush_closes_a_short_chunk():
    it = Majority().partial_fit([[1.0]] * 6, [0, 0, 0, 1, 1, 1])
    assert len(it.blocks) == 1
    assert it.predict([[0.0]]) == [0]
    assert it.flush() is it
    assert len(it.blocks) == 2
    assert it.predict([[0.0]]) == [1]
    state = it.to_bytes()
    assert it.flush().to_bytes() == state, "there is nothing to close"
    assert len(Majority().fit([[1.0]] * 6, [0, 0, 0, 1, 1, 1]).blocks) == 2
    assert Majority().flush().__sklearn_is_fitted__() is False


def test_rows_of_a_chunk_are_told_before_it_is_learned():
    it = Majority(chunk_size=2)
    told = it.test_then_train([[1.0]] * 5, [0, 0, 1, 1, 0])
    assert told.tolist() == [[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]


def test_a_chunk_that_cannot_be_learned_is_forgotten():
    it = Majority(fail=True)
    it.partial_fit([[1.0]] * 3, [0, 1, 1])
    for _ in range(2):
        with pytest.raises(RuntimeError):
            it.partial_fit([[2.0]] * 2, [1, 1])
    it.set_params(fail=False).partial_fit([[3.0]], [0])
    assert it.blocks == [([[1.0], [1.0], [1.0], [3.0]], [0, 1, 1, 0], [1.0] * 4)]


def test_the_buffer_is_counted_and_its_size_fixed():
    it = Majority(chunk_size=100).partial_fit([[1.0, 2.0]], [0])
    assert it.nbytes == 100 * (2 + 1 + 1) * 8
    with pytest.raises(ValueError, match="chunk_size"):
        it.set_params(chunk_size=10)
    assert it.chunk_size == 100


@pytest.mark.parametrize("bad", [DecisionTreeClassifier, 5, "tree", object()])
def test_what_is_no_classifier_is_refused(bad):
    with pytest.raises(TypeError, match="estimator"):
        UnderBaggingClassifier(bad).partial_fit([[1.0]], [0])
