"""What base.py promises to those who write learners: regressors, and sparse rows."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import DataConversionWarning, NotFittedError

from anabranch.base import StreamClassifier, StreamRegressor
from anabranch.testing import check_learner


class RunningMean(StreamRegressor):
    """Predict the mean of the targets so far: all that a regressor has to write."""

    def _begin(self):
        self._sums = np.zeros(2)

    def _learn(self, X, y, w):
        for target, weight in zip(y, w, strict=True):
            self._sums += [weight * target, weight]

    def _predict(self, X):
        total, weight = self._sums
        return np.full(len(X), total / weight if weight > 0 else 0.0)


class Perceptron(StreamClassifier):
    """Rosenblatt's, for numbers, dense or sparse, row by row and slow."""

    _takes_sparse = True

    def _begin(self):
        self._weights = np.zeros((0, 0))

    def _rows(self, X):
        for i in range(X.shape[0]):
            if sp.issparse(X):
                part = slice(X.indptr[i], X.indptr[i + 1])
                places, values = X.indices[part], X.data[part]
            else:
                places, values = np.arange(X.shape[1]), X[i]
            known = ~np.isnan(values) & (values != 0) & (places < self._weights.shape[1])
            yield places[known], values[known]

    def _scores(self, places, values):
        return [sum((row[places] * values).tolist(), 0.0) for row in self._weights]

    def _learn(self, X, y, w):
        room = (max(int(y.max()) + 1, len(self._weights)), max(X.shape[1], self._weights.shape[1]))
        weights = np.zeros(room)
        weights[: self._weights.shape[0], : self._weights.shape[1]] = self._weights
        self._weights = weights
        for (places, values), label, weight in zip(self._rows(X), y, w, strict=True):
            values = np.clip(values, -1, 1)  # what is large stays harmless
            scores = self._scores(places, values)
            told = int(np.argmax(scores))
            if told != label:
                self._weights[label, places] += weight * values
                self._weights[told, places] -= weight * values

    def _votes(self, X):
        votes = np.zeros((X.shape[0], len(self._weights)))
        for i, (places, values) in enumerate(self._rows(X)):
            scores = self._scores(places, np.clip(values, -1, 1))
            if scores:
                votes[i, int(np.argmax(scores))] = 1.0
        return votes


def test_a_regressor_of_two_methods_keeps_the_laws():
    check_learner(RunningMean())


def test_a_learner_that_takes_sparse_rows_keeps_the_laws():
    check_learner(Perceptron())


def test_regressors_are_regressors():
    assert is_regressor(RunningMean())
    assert not is_classifier(RunningMean())
    told = RunningMean().test_then_train([[1.0], [2.0], [3.0]], [4.0, 6.0, 0.0])
    assert (told.shape, told.dtype) == ((3,), np.float64)
    assert told.tolist() == [0.0, 4.0, 5.0]


def test_predict_needs_rows_and_predict_one_does_not():
    with pytest.raises(NotFittedError):
        RunningMean().predict([[1.0]])
    assert RunningMean().predict_one({"a": 1.0}) == 0.0


def test_score_is_r2():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(100)
    learner = RunningMean().fit(np.ones((100, 1)), y)
    assert learner.score(np.ones((100, 1)), y) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (None, ValueError, "requires y"),
        ([1.0, np.nan], ValueError, "row 1"),
        ([1.0, None], ValueError, "row 1"),
        ([np.inf, 1.0], ValueError, "infinity"),
        ([1e101, 1.0], ValueError, "1e100"),
        ([1.0, "much"], ValueError, "'much'"),
        (["a", "b"], ValueError, "numbers"),
        (np.array(["2020-01-01", "2020-01-02"], "M8[D]"), ValueError, "datetime64"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), ValueError, "masked"),
        ([1 + 1j, 2.0], ValueError, "Complex"),
        ([[1.0, 2.0], [1.0, 2.0]], ValueError, "1d"),
        (7.0, ValueError, "1d"),
        ([1.0], ValueError, "inconsistent"),
    ],
)
def test_bad_targets_are_refused_and_change_nothing(y, error, message):
    learner = RunningMean().partial_fit([[1.0], [2.0]], [3.0, 4.0])
    before = learner.to_bytes()
    for call in (learner.partial_fit, learner.test_then_train, learner.fit):
        with pytest.raises(error, match=message):
            call([[1.0], [2.0]], y)
    assert learner.to_bytes() == before


def test_targets_of_many_kinds():
    pd = pytest.importorskip("pandas")
    expected = RunningMean().partial_fit([[0.0]] * 3, [1.0, 2.0, 3.0]).to_bytes()
    for y in (pd.Series([1, 2, 3]), ["1", "2", "3"], iter([1, 2, 3]), np.array([1, 2, 3], np.int8)):
        assert RunningMean().partial_fit([[0.0]] * 3, y).to_bytes() == expected
    with pytest.warns(DataConversionWarning):
        assert RunningMean().partial_fit([[0.0]] * 3, [[1.0], [2.0], [3.0]]).to_bytes() == expected


def test_learn_one_takes_the_same_care():
    learner = RunningMean()
    learner.learn_one({"a": 1.0}, 2)
    learner.learn_one({"a": 1.0}, np.float32(4.0))
    learner.learn_one({"a": 2.0}, True)
    assert learner.predict_one({}) == pytest.approx(7 / 3)
    before = learner.to_bytes()
    for x, y, w in (({"a": 1.0}, np.nan, 1.0), ({"a": 1.0}, 1.0, -1.0), ({"a": np.inf}, 1.0, 1.0), ({}, "b", 1.0)):
        with pytest.raises(ValueError, match=r"\w"):
            learner.learn_one(x, y, w)
    with pytest.raises(TypeError):
        learner.learn_one([1.0], 1.0)
    assert learner.to_bytes() == before


def test_one_thread_learns_at_a_time():
    entered, leave = threading.Event(), threading.Event()

    class Slow(RunningMean):
        def _learn(self, X, y, w):
            entered.set()
            leave.wait(30)

    learner = Slow()
    thread = threading.Thread(target=learner.partial_fit, args=([[1.0]], [1.0]))
    thread.start()
    entered.wait(30)
    with pytest.raises(RuntimeError, match="Another thread"):
        learner.partial_fit([[1.0]], [1.0])
    leave.set()
    thread.join()


def test_sparse_rows_reach_the_learner_in_one_form_and_uncopied_if_they_have_it():
    seen = []

    class Spy(Perceptron):
        def _learn(self, X, y, w):
            seen.append(X)

    rows = sp.random_array((20, 9), density=0.4, rng=np.random.default_rng(0), format="csr")
    rows.sort_indices()
    learner = Spy().partial_fit(rows, np.arange(20) % 2)
    assert seen[-1].data is rows.data
    learner.partial_fit(sp.coo_matrix(rows).astype(np.float32), np.arange(20) % 2)
    assert (seen[-1].format, seen[-1].dtype) == ("csr", np.float64)
    assert seen[-1].has_canonical_format
    assert learner.n_features_in_ == 9


def test_sparse_rows_and_nominal_columns_do_not_meet():
    rows = sp.csr_array(np.eye(3))
    learner = Perceptron().partial_fit([{"colour": "red", "a": 1.0, "b": 2.0}], ["x"])
    with pytest.raises(TypeError, match="nominal"):
        learner.partial_fit(rows, ["x", "y", "z"])


def test_sparse_rows_by_position_among_named_columns():
    learner = Perceptron().partial_fit([{"a": 1.0, "b": 2.0}, {"a": -1.0, "b": 0.5}], ["x", "y"])
    dense = np.array([[0.0, 3.0], [2.0, 0.0]])
    assert np.array_equal(learner.predict_proba(sp.csr_array(dense)), learner.predict_proba(dense))
    with pytest.raises(ValueError, match="2 features"):
        learner.predict(sp.csr_array(np.eye(3)))


def test_malformed_sparse_rows_are_refused():
    good = sp.csr_array(np.eye(4))
    for attribute, place, value in (("indices", 2, 4), ("indices", 2, -1), ("indptr", 2, 9), ("indptr", 4, 90)):
        bad = good.copy()
        getattr(bad, attribute)[place] = value
        with pytest.raises(ValueError, match="valid CSR"):
            Perceptron().partial_fit(bad, [0, 1, 0, 1])
    huge = good.copy()
    huge.data[2] = 1e101
    with pytest.raises(ValueError, match=r"1e\+?101.*'x2', row 2"):
        Perceptron().partial_fit(huge, [0, 1, 0, 1])
