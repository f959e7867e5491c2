"""Naive Bayes with Gaussians for numbers and counts for categories."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch import checkpoint
from anabranch._parameters import Columns, Constraint, Number
from anabranch.base import StreamClassifier
from anabranch.kernels import call_directly
from anabranch.kernels import naive_bayes as kernels
from anabranch.schema import Codes, Floats

__all__ = ["GaussianNB"]


class GaussianNB(StreamClassifier):
    """Naive Bayes: the class under which a row's values, taken column by column, are the most probable.

    For each class c with weight N_c it maximises log N_c + sum_j log p(x_j | c). A numeric column is described by one
    Gaussian per class, a nominal one by the weight of each value with Laplace's correction,

        p(x_j = v | c) = (N_cjv + 1) / (N_cj + values met in column j).

    The state is exact at every row and takes four numbers per class and numeric column and one per class and value.

    Parameters
    ----------
    var_smoothing : float, default=1e-9
        A class's variance in a column is at least this share of the variance of the whole column.
    nominal_features : list of int or str, optional
        Columns whose numbers are categories: positions in arrays, names in data frames. Text is nominal anyway.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Weight of the rows of each class.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class in the weight of all rows.
    theta_, var_ : ndarray of shape (n_classes, n_features)
        Mean and variance of each numeric column per class, without the floor of ``var_smoothing``; NaN in nominal
        columns and where a class has no values.

    See Also
    --------
    anabranch.tree.HoeffdingTreeClassifier : a tree with naive Bayes in its leaves.

    Notes
    -----
    Variances are those of the population, as in scikit-learn's and River's ``GaussianNB``; MOA's ``NaiveBayes``
    divides by N_cj - 1. They are updated row by row [1]_, [2]_, in one pass.

    ``var_smoothing`` differs from scikit-learn's in three ways, so that chunks cannot change the result and a
    column's unit does not matter: it is a floor rather than added; it is a share of the same column's variance rather
    than of the largest of all columns; and that variance is of the rows so far rather than of the chunk at hand, taken
    whenever the class learns a row, and when some column shows its second value. A column whose values have all been
    the same tells nothing.

    A missing value is left out, in learning and in predicting. A class that has no value in a column where others have
    some is judged there by the Gaussian of all classes, so that a column that has just appeared decides nothing for
    the class that brought it. A nominal value never met counts as one of weight 0. Votes are added up as logarithms,
    so that many columns cannot make all of them vanish. A row of weight 0 teaches nothing.

    References
    ----------
    .. [1] B. P. Welford, "Note on a method for calculating corrected sums of squares and products", Technometrics 4(3),
       1962.
    .. [2] D. H. D. West, "Updating mean and variance estimates: an improved method", Communications of the ACM 22(9),
       1979: the form with weights.

    Examples
    --------
    >>> from anabranch.naive_bayes import GaussianNB
    >>> from anabranch.stream import RandomRBF
    >>> learner = GaussianNB()
    >>> for X, y in RandomRBF(n_centroids=4, seed=2, n_rows=5000).chunks(1000):
    ...     learner = learner.partial_fit(X, y)
    >>> bool(learner.score(X, y) > 0.7)
    True

    Text is nominal, and what is missing is left out:

    >>> learner = GaussianNB()
    >>> learner.learn_one({"height": 1.8, "hair": "long"}, "a")
    >>> learner.learn_one({"height": 1.6, "hair": "short"}, "b")
    >>> learner.predict_one({"height": None, "hair": "short"})
    'b'
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "var_smoothing": Number(0, 1),
        "nominal_features": Columns(),
    }

    def __init__(self, *, var_smoothing: float = 1e-9, nominal_features: Sequence[int | str] | None = None) -> None:
        self.var_smoothing = var_smoothing
        self.nominal_features = nominal_features

    # ------------------------------------------------------------------------------------ hooks

    def _begin(self) -> None:
        self._width = 0  # columns there is room for
        self._numeric = np.zeros(0, np.int64)
        self._nominal = np.zeros((0, kernels.NOMINAL_SIZE), np.int64)
        self._per_class = np.zeros((1, kernels.CLASSES_SIZE))
        self._moments = np.zeros((1, kernels.MOMENTS_SIZE, 0))
        self._cells = np.zeros((0, 0))

    def _learn(self, X: Floats, y: Codes, w: Floats) -> None:
        self._run(X, y, w, kernels.ONLY_LEARN, _NO_VOTES)

    def _votes(self, X: Floats) -> Floats:
        if X.shape[1] < self._width:  # columns that this frame lacks
            X = np.hstack([X, np.full((len(X), self._width - X.shape[1]), np.nan)])
        votes = np.zeros((len(X), self._n_classes))
        call_directly(kernels.votes, X, votes, *self._state)
        return votes

    def _test_then_train(self, X: Floats, y: Codes, w: Floats) -> Floats:
        return self._run(X, y, w, kernels.TEST_THEN_TRAIN, np.zeros((len(X), self._n_classes)))

    def _train_then_test(self, X: Floats, y: Codes, w: Floats) -> Floats:
        return self._run(X, y, w, kernels.TRAIN_THEN_TEST, np.zeros((len(X), self._n_classes)))

    def _run(self, X: Floats, y: Codes, w: Floats, mode: int, votes: Floats) -> Floats:
        self._make_room(X, y)
        call_directly(kernels.learn, X, y, w, mode, votes, float(self.var_smoothing), *self._state)
        return votes

    @property
    def _state(self) -> tuple[NDArray[Any], ...]:
        return self._numeric, self._nominal, self._per_class, self._moments, self._cells

    # ------------------------------------------------------------------------------------ room

    def _make_room(self, X: Floats, y: Codes) -> None:
        """Make room for every class, column and nominal value of a chunk."""
        k = int(y.max()) + 1
        if k > len(self._cells):
            k = _rounded_up(k)
            self._per_class = _padded(self._per_class, (k + 1, kernels.CLASSES_SIZE))
            self._moments = _padded(self._moments, (k + 1, *self._moments.shape[1:]))
            self._cells = _padded(self._cells, (k, self._cells.shape[1]))
        if X.shape[1] > self._width:
            self._take_in_columns(X.shape[1])
        for a, (column, _, capacity, *_) in enumerate(self._nominal.tolist()):
            values = X[:, column]
            values = values[values >= capacity]  # not NaN
            if values.size:
                self._take_in_values(a, _rounded_up(int(values.max()) + 1))

    def _take_in_columns(self, width: int) -> None:
        assert self._schema is not None
        kinds = self._schema.nominal[self._width : width]
        kinds = np.concatenate([kinds, np.zeros(width - self._width - len(kinds), np.bool_)])
        new = np.arange(self._width, width)
        self._numeric = np.concatenate([self._numeric, new[~kinds]])
        self._moments = _padded(self._moments, (*self._moments.shape[:2], len(self._numeric)))
        nominal = np.zeros((int(kinds.sum()), kernels.NOMINAL_SIZE), np.int64)
        nominal[:, kernels.COLUMN] = new[kinds]
        nominal[:, kernels.START] = self._cells.shape[1] + np.arange(len(nominal))
        self._nominal = np.concatenate([self._nominal, nominal])
        self._cells = _padded(self._cells, (len(self._cells), self._cells.shape[1] + len(nominal)))
        self._width = width

    def _take_in_values(self, a: int, capacity: int) -> None:
        """Give a nominal column's block room for more values."""
        start, old = self._nominal[a, [kernels.START, kernels.CAPACITY]].tolist()
        end = start + 1 + old
        room = np.zeros((len(self._cells), capacity - old))
        self._cells = np.hstack([self._cells[:, :end], room, self._cells[:, end:]])
        self._nominal[a + 1 :, kernels.START] += capacity - old
        self._nominal[a, kernels.CAPACITY] = capacity

    def __restore__(self, state: dict[str, Any]) -> None:
        """Take a state from a checkpoint, unless its arrays do not fit together: the kernels trust them."""
        super().__restore__(state)
        if "_moments" in state and not self._fits_together():
            raise checkpoint.CheckpointError("The checkpoint's Gaussians and counts do not fit together.")

    def _fits_together(self) -> bool:
        for array, kind, dim in zip(self._state, ("i8", "i8", "f8", "f8", "f8"), (1, 2, 2, 3, 2), strict=True):
            if not isinstance(array, np.ndarray) or array.dtype != np.dtype(kind) or array.ndim != dim:
                return False
        k, cells = self._cells.shape
        nominal = self._nominal
        if not isinstance(self._width, int) or nominal.shape[1] != kernels.NOMINAL_SIZE:
            return False
        columns = np.sort(np.concatenate([self._numeric, nominal[:, kernels.COLUMN]]))
        sizes = nominal[:, kernels.CAPACITY] + 1
        return (
            self._per_class.shape == (k + 1, kernels.CLASSES_SIZE)
            and self._moments.shape == (k + 1, kernels.MOMENTS_SIZE, len(self._numeric))
            and np.array_equal(columns, np.arange(self._width))
            and bool((sizes >= 1).all())
            and np.array_equal(nominal[:, kernels.START], np.cumsum(sizes) - sizes)
            and int(sizes.sum()) == cells
        )

    # ------------------------------------------------------------------------------------ what was learned

    @property
    def class_count_(self) -> Floats:
        """Weight of the rows of each class."""
        self._columns()
        weights = np.zeros(self._n_classes)
        k = min(self._n_classes, len(self._cells))
        weights[:k] = self._per_class[1 : k + 1, kernels.WEIGHT]
        return weights

    @property
    def class_prior_(self) -> Floats:
        """Share of each class in the weight of all rows."""
        weights = self.class_count_
        total = weights.sum()
        return weights / total if total > 0 else np.full(len(weights), 1 / len(weights))

    @property
    def theta_(self) -> Floats:
        """Mean of each numeric column per class."""
        return self._table(lambda weight, mean, squares: mean)

    @property
    def var_(self) -> Floats:
        """Variance of each numeric column per class."""
        return self._table(lambda weight, mean, squares: squares / weight)

    def _table(self, figure: Callable[[Floats, Floats, Floats], Floats]) -> Floats:
        """One figure per class and column; NaN where there is none."""
        self._columns()
        table = np.full((self._n_classes, self.n_features_in_), np.nan)
        k = min(self._n_classes, len(self._cells))
        weight, mean, squares, _ = self._moments[1 : k + 1].transpose(1, 0, 2)
        known = weight > 0
        with np.errstate(invalid="ignore"):
            table[:k, self._numeric] = np.where(known, figure(np.where(known, weight, 1.0), mean, squares), np.nan)
        return table


_NO_VOTES = np.zeros((0, 0))


def _padded(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """A larger array with zeros at its ends."""
    larger = np.zeros(shape, array.dtype)
    larger[tuple(slice(n) for n in array.shape)] = array
    return larger


def _rounded_up(n: int) -> int:
    """Room for n things that come one by one: at most an eighth too much, and a function of n alone."""
    step = max(1, (1 << (n - 1).bit_length()) // 16)
    return -(-n // step) * step
