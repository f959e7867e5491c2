"""What a learner is.

A classifier writes two methods, ``_learn(X, y, w)`` and ``_votes(X)``, a regressor ``_learn(X, y, w)`` and
``_predict(X)``; this module gives them the public ones: it checks and encodes what callers hand over, so that
inside everything is an array (X: float64, NaN is missing; y: int64 codes, or float64; w: float64). Ensembles call
their members through the inner methods and never check again.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import get_ident
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import column_or_1d

from anabranch import checkpoint
from anabranch._parameters import Constraint, check_parameters
from anabranch.kernels.checks import EMPTY, LARGEST, to_probabilities
from anabranch.schema import Codes, Floats, Schema, Vocabulary

__all__ = [
    "BatchClassifier",
    "Classifier",
    "Learner",
    "Part",
    "Persistent",
    "StreamClassifier",
    "StreamLearner",
    "StreamRegressor",
]


_FEW = 20  # classes
_WITHOUT_ARRAYS = frozenset({type(None), bool, int, float, str})  # most of what there is
_ONE = np.ones(1)
_ONES = np.ones(10_000)  # weights of most chunks; never written to


def _unmasked(values: Any, name: str) -> Any:
    """A masked array as a plain one; ValueError if anything is masked."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries: every row needs one that is there.")
    return np.asarray(values)


def _encoded(labels: Vocabulary, targets: NDArray[Any]) -> tuple[Codes, Vocabulary]:
    """Labels as codes, and all labels known by then; ValueError if one is missing."""
    codes, labels = labels.encode(targets)
    if targets.dtype.kind not in "biu" and codes.min() < 0:  # whole numbers are never missing
        raise ValueError(f"Input y contains NaN or None (row {int(codes.argmin())}): every row needs a label.")
    return codes, labels


def arrays_within(value: Any, seen: set[int] | None = None) -> Iterator[NDArray[Any]]:
    """Every distinct array that a value or what it is made of owns."""
    if type(value) in _WITHOUT_ARRAYS:
        return
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        if value.base is None or not isinstance(value.base, np.ndarray):
            yield value
        else:
            yield from arrays_within(value.base, seen)
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from arrays_within(part, seen)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from arrays_within(part, seen)
    elif isinstance(value, (Part, BaseEstimator)):  # a member may be scikit-learn's
        yield from arrays_within(value.__dict__, seen)
    elif checkpoint.is_tree(value):
        yield from checkpoint.tree_arrays(value)


class Part:
    """What a learner may be made of beside arrays: counted in ``nbytes``, and let into checkpoints."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        checkpoint.register(cls)


class Persistent(Part, BaseEstimator):
    """What has parameters and a state of arrays, and lasts: shared by learners and change detectors."""

    # What each constructor parameter may be.
    _constraints: ClassVar[Mapping[str, Constraint]] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of state: all arrays that are owned. The names of columns, values and classes come on top."""
        return sum(array.nbytes for array in arrays_within(self.__dict__))

    def save(self, path: str | Path) -> None:
        """Write everything to a file: plain arrays and JSON, atomically (see :mod:`anabranch.checkpoint`).

        Parameters
        ----------
        path : str or Path
            Replaced if it is there, and only once the new file is safely on disk.

        Raises
        ------
        CheckpointError
            If the state holds what cannot be saved.
        OSError
            If the file cannot be written; an earlier one is left as it was.
        """
        checkpoint.save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a learner from a file that :meth:`save` wrote; nothing in the file is ever executed.

        Raises
        ------
        CheckpointError
            If the file is cut off, altered, foreign, of a newer format, or holds another kind of learner.
        """
        return cls._of_this_kind(checkpoint.load(path))

    def to_bytes(self) -> bytes:
        """What :meth:`save` would write, in memory."""
        return checkpoint.to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a learner from what :meth:`to_bytes` gave."""
        return cls._of_this_kind(checkpoint.from_bytes(data))

    @classmethod
    def _of_this_kind(cls, learner: Any) -> Self:
        if not isinstance(learner, cls):
            raise checkpoint.CheckpointError(
                f"The checkpoint holds a {type(learner).__name__}, not a {cls.__name__}: "
                f"load it with {type(learner).__name__}.load."
            )
        return learner

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # two learners must not learn into the same arrays

    def __checkpoint__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_learning"}

    def __restore__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _take_turn(self) -> None:
        """Let one thread learn at a time: kernels run free of the interpreter lock, and two would tear the state.

        The caller deletes ``self._learning`` when it has learned.
        """
        me = get_ident()
        if self.__dict__.setdefault("_learning", me) != me:  # one step under the interpreter lock
            raise RuntimeError(
                f"Another thread is learning on this {type(self).__name__}: let one thread learn at a time, "
                "or give each its own."
            )


class Learner(Persistent):
    """Shared by all that learns, from streams or in one go: parameters, columns, checkpoints.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns met so far.
    feature_names_in_ : ndarray of str
        Their names, where they have any.
    """

    # Whether the learner's methods take sparse rows as well: where callers hand over a sparse matrix, X then is a SciPy
    # CSR matrix of float64 in canonical form (columns in order within a row, none twice). What is not stored is 0;
    # NaN is missing, as ever. A learner that takes sparse rows takes arrays too.
    _takes_sparse: bool = False

    _schema: Schema | None = None

    # ------------------------------------------------------------------------------------ state

    def _new_schema(self) -> Schema:
        nominal = self._given_nominal()
        return Schema(() if nominal is None else nominal)

    def _given_nominal(self) -> Sequence[int | str] | None:
        """The parameter ``nominal_features``. Overridden where it belongs to somebody else."""
        return getattr(self, "nominal_features", None)

    @property
    def n_features_in_(self) -> int:
        """Number of columns met so far."""
        if self._schema is None:
            raise AttributeError(f"{type(self).__name__} has not met any column yet.")
        return self._schema.width or len(self._schema)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns met so far."""
        if self._schema is None or not self._schema.named:
            raise AttributeError(f"{type(self).__name__} has not met any named column yet.")
        return np.array(self._schema.names, dtype=object)

    # ------------------------------------------------------------------------------------ input

    def _columns(self) -> Schema:
        if self._schema is None or not self._knows_enough():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' or 'partial_fit' with "
                "appropriate arguments before using this estimator."
            )
        return self._schema

    def _encode_rows(self, schema: Schema, X: Any, grow: bool = True) -> tuple[Any, Schema]:
        """Rows as the learner's methods take them, and the schema to use from then on."""
        return schema.encode(X, grow, estimator=type(self).__name__, sparse=self._takes_sparse)

    def _targets(self, y: Any) -> NDArray[Any]:
        """What rows are to be predicted as, as a one-dimensional array."""
        raise NotImplementedError

    def _encode_chunk(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> tuple[Any, Any, Floats, Schema]:
        """Check rows, targets and weights, and encode all but labels; nothing has changed yet."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        schema = self._schema
        if schema is None:
            check_parameters(self._constraints, self.get_params(deep=False))
            schema = self._new_schema()
        rows, schema = self._encode_rows(schema, X)
        targets = self._targets(y)
        if len(targets) != rows.shape[0]:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: [{rows.shape[0]}, {len(targets)}]"
            )
        return rows, targets, self._encode_weights(sample_weight, rows.shape[0]), schema

    def _become(self, other: Self) -> Self:
        """Take over what another learner of this kind has learned."""
        # Other attributes stay: scikit-learn keeps some of its own on an estimator while it calls fit.
        self.__dict__.update({k: v for k, v in other.__dict__.items() if k not in other.get_params(deep=False)})
        return self

    def _knows_enough(self) -> bool:
        """Whether there is anything to predict."""
        return True

    def _encode_weights(self, sample_weight: ArrayLike | None, n: int) -> Floats:
        if sample_weight is None:
            return _ONES[:n] if n <= len(_ONES) else np.ones(n)
        w = np.asarray(_unmasked(sample_weight, "sample_weight"))
        if w.ndim == 0 and w.dtype.kind in "biuf":
            w = np.full(n, w)
        if w.dtype.kind not in "biuf":
            raise ValueError(f"sample_weight must hold numbers, got an array of {w.dtype}.")
        w = np.ascontiguousarray(w, np.float64)
        if w.ndim != 1:
            raise ValueError("Sample weights must be 1D array or scalar")
        if w.shape != (n,):
            raise ValueError(f"sample_weight.shape == {w.shape}, expected {(n,)}!")
        wrong = np.flatnonzero(~((w >= 0) & (w <= 1e100)))
        if wrong.size:
            raise ValueError(f"sample_weight[{wrong[0]}] is {w[wrong[0]]:g}: weights must be finite and not negative.")
        return w

    def __sklearn_is_fitted__(self) -> bool:
        return self._schema is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class StreamLearner(Learner):
    """Shared by all stream learners: state that grows, and one thread at a time that lets it."""

    # ------------------------------------------------------------------------------------ state

    def _begin(self) -> None:
        """Set up the state before the first row; ``get_params()`` has been checked. Overridden by learners."""

    def _start(self) -> None:
        """Check the parameters and set up the state, where no row or class does it by coming."""
        check_parameters(self._constraints, self.get_params(deep=False))
        self._begin()

    def set_params(self, **params: Any) -> Self:
        """Set parameters; on a learner that has begun to learn they hold from the next row on.

        Raises
        ------
        ValueError, TypeError
            If a parameter is unknown or unfit, or cannot be met any more; nothing has changed then.
        """
        if self._schema is None:
            super().set_params(**params)
            return self
        before = self.get_params(deep=False)
        try:
            super().set_params(**params)
            check_parameters(self._constraints, self.get_params(deep=False))
            self._reconfigure()
        except (ValueError, TypeError):
            self.__dict__.update(before)
            raise
        return self

    def _end(self) -> None:
        """Learn what still waits to be learned, since no more rows will come. Overridden where rows wait."""

    def _reconfigure(self) -> None:
        """Take up parameters that were changed after learning began. Overridden by learners that keep copies."""

    def announce_nominal(self, nominal_features: Sequence[int]) -> Self:
        """Make known, before the first row, which columns of arrays hold codes of nominal values.

        This is for those who know the stream but did not make the learner: it does nothing where the parameter
        ``nominal_features`` is given, or where a row has been met already.

        Parameters
        ----------
        nominal_features : sequence of int
            Positions of the columns.

        Returns
        -------
        self
        """
        untouched = self._schema is None or (not self._schema.names and self._schema.width is None)
        if len(nominal_features) and untouched and self._given_nominal() is None:
            if self._schema is None:
                self._start()
            self._schema = Schema(nominal_features)
        return self

    # ------------------------------------------------------------------------------------ input

    def _learn_chunk(self, *arguments: Any) -> Floats | None:
        """Check everything, and only then change anything, while no other thread learns."""
        self._take_turn()
        try:
            return self._learn_checked(*arguments)
        finally:
            self.__dict__.pop("_learning", None)

    def _learn_checked(self, *arguments: Any) -> Floats | None:
        raise NotImplementedError


class Classifier(ClassifierMixin, Learner):
    """Shared by all classifiers: labels, and predictions from votes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_classes_ : int
        How many there are.
    """

    _labels: Vocabulary | None = None
    _n_classes: int = 0

    # ------------------------------------------------------------------------------------ labels

    @property
    def classes_(self) -> NDArray[Any]:
        """Class labels: announced ones sorted, later ones after them."""
        if self._labels is None:
            raise AttributeError(f"{type(self).__name__} has not met any class yet.")
        return self._labels.as_array()

    @property
    def n_classes_(self) -> int:
        """Number of classes known."""
        if self._labels is None:
            raise AttributeError(f"{type(self).__name__} has not met any class yet.")
        return len(self._labels)

    def _distinct(self, y: Any) -> list[Any]:
        """Labels in sorted order, or as they come if they cannot be sorted."""
        values = Vocabulary().encode(self._targets(y))[1].values
        try:
            return sorted(values)
        except TypeError:
            return values

    def _targets(self, y: Any) -> NDArray[Any]:
        """Labels as a one-dimensional array of numbers, booleans or objects."""
        if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biu":
            return y
        y = _unmasked(y, "y")
        if isinstance(y, np.ndarray) and y.dtype.kind in "mM":  # as Python's dates: nanoseconds would become integers
            y = y.astype(f"{y.dtype.kind}8[us]").astype(object)
        if not isinstance(y, np.ndarray):
            values = y
            if hasattr(y, "to_list"):  # a series
                values = y.to_list()
            elif hasattr(y, "__array__"):
                values = np.asarray(y).tolist()
            if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
                raise ValueError(f"y should be a 1d array, got {values!r} instead.")
            values = list(values)
            if values and not any(isinstance(v, (list, np.ndarray)) for v in values):
                y = np.empty(len(values), object)
                y[:] = values
                kinds = {type(v) for v in values}
                if kinds <= {float, np.float64, np.float32}:
                    y = y.astype(np.float64)
            else:
                y = np.asarray(values)
        labels: NDArray[Any] = column_or_1d(y, warn=True)
        if labels.dtype.kind == "c":
            raise ValueError("Complex data not supported: y must be labels.")
        if labels.dtype.kind == "f":
            if not np.isfinite(labels).all():
                raise ValueError("Input y contains NaN or infinity: every row needs a label.")
            if (labels != np.floor(labels)).any():
                raise ValueError(
                    "Unknown label type: continuous. A classifier needs classes; turn the numbers into bins, or into "
                    "text, if each really is a class."
                )
        return labels

    # ------------------------------------------------------------------------------------ predicting

    def _votes(self, X: Floats) -> Floats:
        raise NotImplementedError

    def _knows_enough(self) -> bool:
        return self._n_classes > 0

    def _padded(self, votes: Floats) -> Floats:
        """Votes with a column for every known class."""
        if votes.shape[1] == self._n_classes:
            return votes
        wide = np.zeros((len(votes), self._n_classes))
        wide[:, : votes.shape[1]] = votes
        return wide

    def _probabilities(self, rows: Any) -> Floats:
        votes = self._padded(self._votes(rows))
        to_probabilities(votes, EMPTY, self._n_classes)
        return votes

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities of rows.

        Parameters
        ----------
        X : array-like of shape (n, d), or data frame
            New columns are passed over, absent ones are missing.

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            In the order of ``classes_``; uniform where the learner has nothing to go by.
        """
        return self._probabilities(self._encode_rows(self._columns(), X, grow=False)[0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each row; the first of ``classes_`` among equals.

        Parameters
        ----------
        X : array-like of shape (n, d), or data frame

        Returns
        -------
        ndarray of shape (n,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]  # type: ignore[no-any-return]


class BatchClassifier(Classifier):
    """Base of classifiers that learn from all rows in one go, and from no more: the batch setting.

    A subclass writes

    - ``_fit(X, y, w)``: learn from all rows, whose weights are above 0;
    - ``_votes(X)``: as for :class:`StreamClassifier`.

    They are no stream learners: there is no ``partial_fit``, and neither the command nor an evaluation of streams takes
    them.
    """

    def _fit(self, X: Floats, y: Codes, w: Floats) -> None:
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the rows; what was learned before is forgotten.

        Parameters
        ----------
        X : array-like of shape (n, d), or data frame
            NaN is missing.
        y : array-like of shape (n,)
            Labels of any hashable kind.
        sample_weight : array-like of shape (n,), optional
            Weights, not negative; 1 each by default. A row of weight 2 counts as two rows, one of weight 0 as none.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            If parameters or rows are unfit; the learner then is as it was.
        """
        fresh = type(self)(**self.get_params(deep=False))
        rows, targets, weights, schema = fresh._encode_chunk(X, y, sample_weight)
        codes, labels = _encoded(Vocabulary(fresh._distinct(targets)), targets)
        there = weights > 0.0
        if not there.all():
            if not there.any():
                raise ValueError("All sample weights are zero: there is nothing to learn from.")
            rows, codes, weights = np.ascontiguousarray(rows[there]), codes[there], weights[there]
        fresh._schema, fresh._labels, fresh._n_classes = schema, labels, len(labels)
        fresh._fit(rows, codes, weights)
        return self._become(fresh)


class StreamClassifier(Classifier, StreamLearner):
    """Base of all classifiers of streams.

    A subclass writes

    - ``_learn(X, y, w)``: learn a chunk's rows in order;
    - ``_votes(X)``: an array (n, k) of votes, none negative, for the classes 0..k-1 met so far, the learner's to
      give away;
    - ``_begin()``, if it has state to set up;
    - ``_test_then_train(X, y, w)`` and ``_train_then_test(X, y, w)``, where a fused loop beats the row-by-row
      ones here: each row's votes just before, and just after, it was learned; ``_test_train_test(X, y, w)``
      gives both, for boosting.

    There, the arrays handed in are neither to be changed nor to be kept (they may be the caller's own, or used again);
    X may gain columns from one call to the next, and y new codes; ``self._schema.nominal`` says which
    columns hold codes of nominal values, ``self._n_classes`` how many columns votes will need at most, and
    ``self._n_announced`` how many classes were known before the first row.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Announced classes sorted, later ones after them in the order in which they turned up.
    """

    _n_announced: int = 0

    # ------------------------------------------------------------------------------------ hooks

    def _learn(self, X: Floats, y: Codes, w: Floats) -> None:
        raise NotImplementedError

    def _test_then_train(self, X: Floats, y: Codes, w: Floats) -> Floats:
        votes = np.zeros((len(y), self._n_classes))
        for i in range(len(y)):
            row = self._votes(X[i : i + 1])
            votes[i, : row.shape[1]] = row[0]
            self._learn(X[i : i + 1], y[i : i + 1], w[i : i + 1])
        return votes

    def _train_then_test(self, X: Floats, y: Codes, w: Floats) -> Floats:
        votes = np.zeros((len(y), self._n_classes))
        for i in range(len(y)):
            self._learn(X[i : i + 1], y[i : i + 1], w[i : i + 1])
            row = self._votes(X[i : i + 1])
            votes[i, : row.shape[1]] = row[0]
        return votes

    def _test_train_test(self, X: Floats, y: Codes, w: Floats) -> tuple[Floats, Floats]:
        before, after = np.zeros((2, len(y), self._n_classes))
        for i in range(len(y)):
            row = X[i : i + 1]
            votes = self._votes(row)
            before[i, : votes.shape[1]] = votes[0]
            votes = self._train_then_test(row, y[i : i + 1], w[i : i + 1])
            after[i, : votes.shape[1]] = votes[0]
        return before, after

    # ------------------------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows in order.

        Parameters
        ----------
        X : array-like of shape (n, d), or data frame
            NaN is missing.
        y : array-like of shape (n,)
            Labels of any hashable kind.
        sample_weight : array-like of shape (n,), optional
            Weights, not negative; 1 each by default.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            If parameters or rows are unfit; the learner then is as it was.
        """
        fresh = type(self)(**self.get_params(deep=False))
        labels = None if y is None else self._targets(y)  # once: y may be an iterator
        classes = None if labels is None else fresh._distinct(labels)
        fresh._learn_chunk(X, labels, classes, sample_weight, False)
        fresh._end()
        return self._become(fresh)

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn a chunk of rows, in order.

        Parameters
        ----------
        X : array-like of shape (n, d), or data frame
            NaN is missing. Columns of data frames are matched by name: new ones are added, absent ones missing.
        y : array-like of shape (n,)
            Labels of any hashable kind.
        classes : array-like, optional
            Classes to expect. They may also simply turn up; then those met first come first in ``classes_``.
        sample_weight : array-like of shape (n,), optional
            Weights, not negative; 1 each by default. A row of weight 0 teaches nothing.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            If parameters or rows are unfit; the learner then is as it was.
        """
        self._learn_chunk(X, y, classes, sample_weight, False)
        return self

    def announce(self, classes: ArrayLike) -> Self:
        """Make classes known without any row, as ``classes`` of :meth:`partial_fit` does.

        Parameters
        ----------
        classes : array-like
            Labels to expect. Those not known yet are added, in sorted order.

        Returns
        -------
        self
        """
        labels = self._announce(self._labels if self._labels is not None else Vocabulary(), classes)
        if self._schema is None:
            self._start()
            self._schema = self._new_schema()
        self._labels = labels
        self._n_announced = self._n_classes = len(labels)
        return self

    def test_then_train(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Floats:
        """Predict each row just before learning it.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`partial_fit`.

        Returns
        -------
        ndarray of float64, shape (n, n_classes)
            Each row's class probabilities, in the order of ``classes_`` as it is *after* the call; a class that
            turned up later than the row has probability 0. A row met before any class was known is all zero.

        Raises
        ------
        ValueError, TypeError
            If parameters or rows are unfit; the learner then is as it was.
        """
        votes = self._learn_chunk(X, y, None, sample_weight, True)
        assert votes is not None
        return votes

    def _learn_checked(
        self, X: Any, y: Any, classes: ArrayLike | None, sample_weight: ArrayLike | None, votes: bool
    ) -> Floats | None:
        labels = self._labels if self._labels is not None else Vocabulary()
        announced = self._n_announced
        if classes is not None:
            labels = self._announce(labels, classes)
            announced = max(announced, len(labels))
        known = len(labels)
        rows, targets, weights, schema = self._encode_chunk(X, y, sample_weight)
        codes, labels = _encoded(labels, targets)
        if self._schema is None:
            self._begin()
        self._schema, self._labels, self._n_announced = schema, labels, announced
        self._n_classes = len(labels)
        if not votes:
            self._learn(rows, codes, weights)
            return None
        result = self._padded(self._test_then_train(rows, codes, weights))
        to_probabilities(result, codes, known)
        return result

    def _announce(self, labels: Vocabulary, classes: ArrayLike) -> Vocabulary:
        new = self._distinct(classes)
        if len(labels) == 0:
            return Vocabulary(new)
        return Vocabulary([*labels.values, *(label for label in new if label not in labels.index)])

    # ------------------------------------------------------------------------------------ predicting

    def _best(self, row: Floats) -> int:
        """Code of the most probable class of a single row; overridden where there is a quicker way to the same."""
        if self._n_classes > _FEW:
            return int(self._probabilities(row).argmax())
        votes = self._padded(self._votes(row))[0].tolist()
        # As `to_probabilities` scales, so that rounding makes the same ties; for a few classes quicker than NumPy.
        total = 0.0
        for vote in votes:
            total += vote
        if total > 0.0:
            votes = [vote / total for vote in votes]
        return votes.index(max(votes))  # type: ignore[no-any-return]

    # ------------------------------------------------------------------------------------ row by row

    def _learn_row(self, row: Floats, code: int, w: float) -> None:
        """Learn a single row; overridden where there is a quicker way to the same."""
        assert self._labels is not None
        self._learn(row, self._labels.single(code), _ONE if w == 1.0 else np.array([w], np.float64))

    def learn_one(self, x: Mapping[str, Any], y: Any, w: float = 1.0) -> None:
        """Learn one row.

        Parameters
        ----------
        x : dict
            Column names and values; None or NaN is missing, as is a name left out.
        y : hashable
            Its label.
        w : float, default=1.0
            Its weight, not negative.
        """
        if type(x) is not dict and not isinstance(x, Mapping):  # the first is quick
            raise TypeError(f"x must be a dict of column names and values, got a {type(x).__name__}.")
        schema, labels = self._schema, self._labels
        try:
            code = labels.index.get(y) if labels is not None else None
        except TypeError:  # cannot be hashed: the long way says so
            code = None
        if labels is None or schema is None or code is None or not 0.0 <= w <= 1e100 or not schema.named:
            target = np.empty(1, object)
            target[0] = y
            if isinstance(y, float):
                target = target.astype(np.float64)
            self._learn_chunk([x], target, None, [w], False)
            return
        if self.__dict__.setdefault("_learning", me := get_ident()) != me:
            self._take_turn()  # says why not
        try:
            row, grown = schema.encode_one(x)
            if grown is not schema:
                self._schema = grown
            self._learn_row(row, code, w)
        finally:
            self.__dict__.pop("_learning", None)

    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[Any, float]:
        """Class probabilities of one row, as a dict from label to probability; empty if no class is known."""
        if self._schema is None or not self._labels:
            return {}
        row, _ = self._schema.encode_one(x, grow=False)
        return dict(zip(self._labels.values, self._probabilities(row)[0].tolist(), strict=True))

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """Most probable class of one row, or None if no class is known."""
        schema, labels = self._schema, self._labels
        if schema is None or labels is None or not labels.values:
            return None
        return labels.values[self._best(schema.encode_one(x, False)[0])]


class StreamRegressor(RegressorMixin, StreamLearner):
    """Base of all regressors.

    A subclass writes

    - ``_learn(X, y, w)``: learn a chunk's rows in order;
    - ``_predict(X)``: an array (n,) of predictions, always finite, 0.0 before the first row, the learner's to give
      away;
    - ``_begin()``, if it has state to set up;
    - ``_test_then_train(X, y, w)``, where a fused loop beats the row-by-row one here: each row's prediction just
      before it was learned.

    There, the arrays handed in are neither to be changed nor to be kept (they may be the caller's own, or used again);
    X may gain columns from one call to the next; ``self._schema.nominal`` says which columns hold codes of nominal
    values.
    """

    # ------------------------------------------------------------------------------------ hooks

    def _learn(self, X: Floats, y: Floats, w: Floats) -> None:
        raise NotImplementedError

    def _predict(self, X: Floats) -> Floats:
        raise NotImplementedError

    def _test_then_train(self, X: Floats, y: Floats, w: Floats) -> Floats:
        predictions = np.zeros(len(y))
        for i in range(len(y)):
            predictions[i] = self._predict(X[i : i + 1])[0]
            self._learn(X[i : i + 1], y[i : i + 1], w[i : i + 1])
        return predictions

    # ------------------------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows in order.

        Parameters
        ----------
        X : array-like of shape (n, d), or data frame
            NaN is missing.
        y : array-like of shape (n,)
            Finite numbers, none beyond 1e100 in size.
        sample_weight : array-like of shape (n,), optional
            Weights, not negative; 1 each by default.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            If parameters or rows are unfit; the learner then is as it was.
        """
        fresh = type(self)(**self.get_params(deep=False))
        fresh._learn_chunk(X, y, sample_weight, False)
        return self._become(fresh)

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn a chunk of rows, in order.

        Parameters
        ----------
        X : array-like of shape (n, d), or data frame
            NaN is missing. Columns of data frames are matched by name: new ones are added, absent ones missing.
        y : array-like of shape (n,)
            Finite numbers, none beyond 1e100 in size.
        sample_weight : array-like of shape (n,), optional
            Weights, not negative; 1 each by default. A row of weight 0 teaches nothing.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            If parameters or rows are unfit; the learner then is as it was.
        """
        self._learn_chunk(X, y, sample_weight, False)
        return self

    def test_then_train(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Floats:
        """Predict each row just before learning it.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`partial_fit`.

        Returns
        -------
        ndarray of float64, shape (n,)
            Each row's prediction; 0 before anything was learned.

        Raises
        ------
        ValueError, TypeError
            If parameters or rows are unfit; the learner then is as it was.
        """
        predictions = self._learn_chunk(X, y, sample_weight, True)
        assert predictions is not None
        return predictions

    def _learn_checked(self, X: Any, y: Any, sample_weight: ArrayLike | None, test: bool) -> Floats | None:
        rows, targets, weights, schema = self._encode_chunk(X, y, sample_weight)
        if self._schema is None:
            self._begin()
        self._schema = schema
        if test:
            return self._test_then_train(rows, targets, weights)
        self._learn(rows, targets, weights)
        return None

    def _targets(self, y: Any) -> Floats:
        """Targets as a one-dimensional array of finite numbers."""
        y = _unmasked(y, "y")
        if not hasattr(y, "__array__") and hasattr(y, "__iter__") and not isinstance(y, (str, bytes)):
            y = list(y)
        values: NDArray[Any] = column_or_1d(np.asarray(y), warn=True)
        if values.dtype.kind == "c":
            raise ValueError("Complex data not supported: y must be real.")
        if values.dtype.kind in "OUST":
            numbers = np.empty(len(values))
            for i, value in enumerate(values.tolist()):
                try:
                    numbers[i] = np.nan if value is None else float(value)
                except (TypeError, ValueError):
                    raise ValueError(
                        f"y[{i}] is {value!r}: a regressor needs numbers. For classes take a classifier."
                    ) from None
            values = numbers
        if values.dtype.kind not in "biuf":
            raise ValueError(f"y is an array of {values.dtype}: a regressor needs numbers.")
        targets = np.ascontiguousarray(values, np.float64)
        wrong = np.flatnonzero(~(np.abs(targets) <= LARGEST))
        if wrong.size:
            what = "NaN or None" if np.isnan(targets[wrong[0]]) else "infinity or a number beyond 1e100"
            raise ValueError(f"Input y contains {what} (row {wrong[0]}): every row needs a finite number.")
        return targets if targets.flags.writeable else targets.copy()  # numba compiles anew for what may only be read

    # ------------------------------------------------------------------------------------ predicting

    def predict(self, X: Any) -> Floats:
        """Predictions for rows.

        Parameters
        ----------
        X : array-like of shape (n, d), or data frame
            New columns are passed over, absent ones are missing.

        Returns
        -------
        ndarray of float64, shape (n,)
            Always finite.
        """
        return self._predict(self._encode_rows(self._columns(), X, grow=False)[0])

    # ------------------------------------------------------------------------------------ row by row

    def learn_one(self, x: Mapping[str, Any], y: float, w: float = 1.0) -> None:
        """Learn one row.

        Parameters
        ----------
        x : dict
            Column names and values; None or NaN is missing, as is a name left out.
        y : float
            Its target.
        w : float, default=1.0
            Its weight, not negative.
        """
        if not isinstance(x, Mapping):
            raise TypeError(f"x must be a dict of column names and values, got a {type(x).__name__}.")
        schema = self._schema
        plain = type(y) in (float, int) and abs(y) <= LARGEST and 0.0 <= w <= 1e100
        if schema is None or not schema.named or not plain:
            self._learn_chunk([x], [y], [w], False)
            return
        self._take_turn()
        try:
            row, self._schema = schema.encode_one(x)
            self._learn(row, np.array([y], np.float64), _ONE if w == 1.0 else np.array([w], np.float64))
        finally:
            self.__dict__.pop("_learning", None)

    def predict_one(self, x: Mapping[str, Any]) -> float:
        """Prediction for one row; 0.0 before anything was learned."""
        if self._schema is None:
            return 0.0
        return float(self._predict(self._schema.encode_one(x, grow=False)[0])[0])
