"""What a metric is, and the one place where its input is checked."""

from __future__ import annotations

import copy
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache, update_wrapper
from types import MethodType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anabranch import checkpoint

Codes = NDArray[np.int64]
Probabilities = NDArray[np.float64]

_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)

LARGEST_VALUE = 1e150
"""Largest size of a target or prediction of a regression, so that squares stay finite."""


@cache
def compiled() -> Any:
    """The module of compiled loops, imported when it is first needed: numba takes a while."""
    return importlib.import_module("anabranch.kernels.metrics")


class _OnClassToo:
    """A method that may also be called on the class, which then stands for an instance with the defaults."""

    def __init__(self, function: Callable[..., float]) -> None:
        self._function = function
        update_wrapper(self, function)  # type: ignore[arg-type]  # it is called through __get__

    def __get__(self, instance: Any, owner: Any) -> Callable[[ArrayLike, ArrayLike], float]:
        return MethodType(self._function, owner() if instance is None else instance)


class Metric(ABC):
    """A figure of merit over a stream of labels and predictions.

    Rows come as class codes `y`, shape (n,), and class probabilities `proba`, shape (n, k). Column j belongs
    to code j. `k` may grow from call to call, since classes turn up as a stream goes on; columns that a chunk
    does not have count as zero. Two kinds of row are misses for every metric: a row of zeros in `proba`,
    which means that no prediction could be made, and a code in `y` without a column. The predicted class is
    the one with the highest probability, the lowest code on ties.

    Updating chunk by chunk gives what :meth:`compute` gives on all rows at once, whatever the sizes of the
    chunks.

    A metric of your own names itself with the attributes below and implements `_update`, `value` and `reset`. Its
    whole state must be plain attributes (numbers, texts, lists, dicts, arrays, other metrics): it can then go into
    a checkpoint, and :class:`~anabranch.metrics.Window` works on it. If it is a mean over rows, or counts true and
    predicted classes, the bases :class:`~anabranch.metrics.MeanMetric` and
    :class:`~anabranch.metrics.CountMetric` do more of the work, and bring along windows in constant time per row
    and :class:`~anabranch.metrics.Fading`.

    Attributes
    ----------
    name : str
        What :func:`anabranch.metrics.get` finds it by, such as ``"accuracy"``.
    label : str
        What tables and plots call it, such as ``"Accuracy"``.
    greater_is_better : bool
        Whether higher values are better.
    percent : bool
        Whether the value is customarily shown as per cent. The value itself is always a plain fraction.
    task : str
        ``"classification"`` or ``"regression"``: what :meth:`update` takes.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.metrics import Metric
    >>> class Doubt(Metric):
    ...     name, label, greater_is_better, percent = "doubt", "Doubt", False, True
    ...     def __init__(self):
    ...         self.reset()
    ...     def reset(self):
    ...         self.total, self.rows = 0.0, 0
    ...         return self
    ...     def _update(self, y, proba):
    ...         self.total += float((1.0 - proba.max(axis=1)).sum())
    ...         self.rows += len(y)
    ...     @property
    ...     def value(self):
    ...         return self.total / self.rows if self.rows else float("nan")
    >>> Doubt().update([0, 1], [[0.5, 0.5], [0.0, 1.0]]).value
    0.25
    """

    name: str
    label: str
    greater_is_better: bool
    percent: bool
    task: str = "classification"

    _takes_back = False
    """Whether there is a `_take_back(y, proba)`, which undoes the oldest updates: windows then cost less. A mean of
    which this holds can also be merged: what a row adds does not depend on the rows before."""
    _factor: float | None = None
    """What the weight of a row is multiplied by when the next one comes, in metrics that can fade; None: nothing."""
    _can_fade = False
    """Whether `reset` heeds `_factor`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        checkpoint.register(cls)

    def update(self, y: ArrayLike, proba: ArrayLike) -> Self:
        """Take in a chunk of rows.

        Parameters
        ----------
        y : array-like of int, shape (n,)
            Codes of the true classes. `n` may be 0.
        proba : array-like of float, shape (n, k)
            Probability of each class; a row of zeros where no prediction could be made.

        Returns
        -------
        Self
            The metric itself.

        Raises
        ------
        ValueError
            If the shapes do not match, a code is negative or not an integer, or a probability is negative,
            infinite or NaN. The metric is then as it was before.
        """
        self._update(*self._check(y, proba))
        return self

    def trace(self, y: ArrayLike, proba: ArrayLike) -> NDArray[np.float64]:
        """Take in rows one by one, looking at the value after each.

        Parameters
        ----------
        y, proba : array-like
            As in :meth:`update`.

        Returns
        -------
        ndarray of float64, shape (n,)
            What `value` was after each row.

        Raises
        ------
        ValueError
            As :meth:`update` does.

        Examples
        --------
        >>> from anabranch.metrics import Accuracy
        >>> Accuracy().trace([1, 1, 0, 0], [[0.2, 0.8], [0.7, 0.3], [0.4, 0.6], [0.9, 0.1]]).tolist()
        [1.0, 0.5, 0.3333333333333333, 0.5]
        """
        return self._trace(*self._check(y, proba))

    @_OnClassToo
    def compute(self, y: ArrayLike, proba: ArrayLike) -> float:
        """Value over whole arrays. The metric itself stays as it is; it may also be called on the class.

        Parameters
        ----------
        y : array-like of int, shape (n,)
            Codes of the true classes.
        proba : array-like of float, shape (n, k)
            Probability of each class; a row of zeros where no prediction could be made.

        Returns
        -------
        float
            The value; NaN if there is no row.

        Raises
        ------
        ValueError
            As :meth:`update` does.

        Examples
        --------
        >>> from anabranch.metrics import Accuracy
        >>> Accuracy.compute([0, 1], [[0.9, 0.1], [0.7, 0.3]])
        0.5
        """
        return self._compute(*self._check(y, proba))

    _check: Callable[[ArrayLike, ArrayLike], tuple[Any, Any]] = staticmethod(lambda y, proba: check_rows(y, proba))
    """Checks rows and brings them to their inner types."""

    @abstractmethod
    def _update(self, y: Any, proba: Any) -> None:
        """Take in rows that have been checked; must leave its arguments alone."""

    def _take_back(self, y: Any, proba: Any) -> None:
        """Forget the oldest rows, which are these; only called where `_takes_back` is set."""
        raise NotImplementedError

    def _trace(self, y: Any, proba: Any) -> NDArray[np.float64]:
        """Trace of rows that have been checked."""
        values = np.empty(len(y))
        for i in range(len(y)):
            self._update(y[i : i + 1], proba[i : i + 1])
            values[i] = self.value
        return values

    def _compute(self, y: Any, proba: Any) -> float:
        """Value over rows that have been checked."""
        fresh = self._fresh()
        fresh._update(y, proba)
        return fresh.value

    def _fresh(self) -> Self:
        """An empty metric with the same parameters."""
        return copy.deepcopy(self).reset()

    def _sliding(self) -> Metric | None:
        """An empty one for rows that come and go, if there is such a thing."""
        return self._fresh() if self._takes_back else None

    def _fits(self, y: Any, n_columns: int) -> bool:
        """Whether a sliding one can take in such rows without a new start."""
        return True

    def _fading(self, factor: float) -> Metric:
        """An empty one that fades."""
        if not self._can_fade:
            raise TypeError(
                f"{type(self).__name__} cannot fade: it is built neither on counts (CountMetric) nor on means "
                "(MeanMetric) nor on ranks. Use Window instead"
            )
        faded = copy.deepcopy(self)
        faded._factor = factor
        return faded.reset()

    @property
    @abstractmethod
    def value(self) -> float:
        """The metric over all rows since the start or the last reset; NaN before the first row."""

    @abstractmethod
    def reset(self) -> Self:
        """Forget all rows."""


class RegressionMetric(Metric):
    """A figure of merit over a stream of numbers and their predictions.

    Everything is as in :class:`Metric`, but that rows come as two arrays of floats, shape (n,): true values and
    predicted ones, finite and at most 1e150 in size.

    Examples
    --------
    >>> from anabranch.metrics import RegressionMetric
    >>> class Worst(RegressionMetric):
    ...     name, label, greater_is_better, percent = "worst", "Worst error", False, False
    ...     def __init__(self):
    ...         self.reset()
    ...     def reset(self):
    ...         self.error = float("nan")
    ...         return self
    ...     def _update(self, y_true, y_pred):
    ...         self.error = float(np.fmax(self.error, abs(y_true - y_pred).max(initial=0.0)))
    ...     @property
    ...     def value(self):
    ...         return self.error
    >>> Worst().update([1.0, 2.0], [1.5, 1.0]).update([5.0], [4.75]).value
    1.0
    """

    task = "regression"
    _check = staticmethod(lambda y, proba: check_values(y, proba))

    def update(self, y_true: ArrayLike, y_pred: ArrayLike) -> Self:
        """Take in a chunk of rows.

        Parameters
        ----------
        y_true, y_pred : array-like of float, shape (n,)
            What was and what was predicted; `n` may be 0.

        Returns
        -------
        Self
            The metric itself.

        Raises
        ------
        ValueError
            If the shapes do not match, or a number is NaN, infinite or beyond 1e150 in size. The metric is then
            as it was before.
        """
        return super().update(y_true, y_pred)


def check_rows(y: ArrayLike, proba: ArrayLike) -> tuple[Codes, Probabilities]:
    """Check labels and probabilities, and bring them to their inner types.

    Parameters
    ----------
    y : array-like of int, shape (n,)
        Class codes.
    proba : array-like of float, shape (n, k)
        Class probabilities.

    Returns
    -------
    y : ndarray of int64, shape (n,)
    proba : ndarray of float64, shape (n, k)
        The arguments themselves where they have the right type already.

    Raises
    ------
    ValueError
        If anything is wrong; the message says what, and in which row.

    Examples
    --------
    >>> from anabranch.metrics._base import check_rows
    >>> check_rows([0, -1], [[1.0, 0.0], [0.5, 0.5]])
    Traceback (most recent call last):
        ...
    ValueError: y must hold class codes >= 0, got -1 in row 1
    """
    given: Any = (y, proba)
    codes, scores = given if _are_inner(*given) else _brought_in(y, proba)
    loops = compiled()
    row = loops.call_directly(loops.first_bad_row, codes, scores)
    if row >= 0:
        if codes[row] < 0:
            raise ValueError(f"y must hold class codes >= 0, got {codes[row]} in row {row}")
        column = int(np.argmin((scores[row] >= 0.0) & (scores[row] < np.inf)))
        raise ValueError(
            f"proba must be finite and >= 0, got {float(scores[row, column])} in row {row}, column {column}"
        )
    return codes, scores


def _are_inner(y: Any, proba: Any) -> bool:
    """Whether labels and probabilities are as kernels want them, as those of most chunks are."""
    return (
        type(y) is type(proba) is np.ndarray
        and y.dtype is _INT64
        and proba.dtype is _FLOAT64
        and y.ndim == 1
        and proba.ndim == 2
        and len(y) == len(proba)
        and y.flags.carray
        and proba.flags.carray
    )


def _brought_in(y: ArrayLike, proba: ArrayLike) -> tuple[Codes, Probabilities]:
    """Labels and probabilities as kernels want them; whether the numbers will do is another matter."""
    codes = np.asarray(y)
    scores = np.asarray(proba, dtype=np.float64)
    if codes.ndim != 1:
        raise ValueError(f"y must have shape (n,), got {codes.shape}")
    if scores.shape == (0,):  # an empty list, which cannot say how many columns it has
        scores = scores.reshape(0, 0)
    if scores.ndim != 2:
        raise ValueError(f"proba must have shape (n, k), got {scores.shape}")
    if len(codes) != len(scores):
        raise ValueError(f"y and proba must have as many rows, got {len(codes)} and {len(scores)}")
    if codes.dtype.kind not in "iub" and len(codes):  # an empty list becomes an array of floats
        raise ValueError(f"y must hold integer class codes, got an array of {codes.dtype}")
    return _inner(codes, np.int64), _inner(scores, np.float64)


def check_values(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Check true and predicted numbers, and bring them to their inner type.

    Parameters
    ----------
    y_true, y_pred : array-like of float, shape (n,)

    Returns
    -------
    y_true, y_pred : ndarray of float64, shape (n,)
        The arguments themselves where they have the right type already.

    Raises
    ------
    ValueError
        If anything is wrong; the message says what, and in which row.

    Examples
    --------
    >>> from anabranch.metrics._base import check_values
    >>> check_values([0.5, 1.0], [0.5, float("inf")])
    Traceback (most recent call last):
        ...
    ValueError: y_pred must be finite and at most 1e+150 in size, got inf in row 1
    """
    checked = []
    for name, values in (("y_true", y_true), ("y_pred", y_pred)):
        array = np.asarray(values)
        if array.ndim != 1:
            raise ValueError(f"{name} must have shape (n,), got {array.shape}")
        if array.dtype.kind not in "fiub" and len(array):
            raise ValueError(f"{name} must hold numbers, got an array of {array.dtype}")
        array = _inner(array, np.float64)
        fit = abs(array) <= LARGEST_VALUE
        if not fit.all():
            row = int(np.argmin(fit))
            raise ValueError(
                f"{name} must be finite and at most {LARGEST_VALUE:g} in size, got {float(array[row])} in row {row}"
            )
        checked.append(array)
    if len(checked[0]) != len(checked[1]):
        raise ValueError(f"y_true and y_pred must have as many rows, got {len(checked[0])} and {len(checked[1])}")
    return checked[0], checked[1]


def _inner(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """The array as kernels want it: of the type, in one piece, and free to be written to (a type of its own else)."""
    if array.dtype == dtype and array.flags.c_contiguous and array.flags.writeable:
        return array
    return np.require(array, dtype, ["C_CONTIGUOUS", "WRITEABLE"])


def predicted_codes(proba: Probabilities, none: int) -> Codes:
    """Code of the most probable class in each row, the lowest on ties.

    Parameters
    ----------
    proba : ndarray of float64, shape (n, k)
        Class probabilities, none negative.
    none : int
        What stands for a row of zeros, in which nothing was predicted.

    Returns
    -------
    ndarray of int64, shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.metrics._base import predicted_codes
    >>> predicted_codes(np.array([[0.2, 0.8], [0.5, 0.5], [0.0, 0.0]]), none=-1)
    array([ 1,  0, -1])
    """
    codes = np.empty(len(proba), dtype=np.int64)
    compiled().predict(proba, none, codes)
    return codes


def enlarged(proba: Probabilities, n_rows: int, n_columns: int) -> Probabilities:
    """Copy of `proba` with rows and columns of zeros added up to the given shape.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.metrics._base import enlarged
    >>> enlarged(np.array([[0.5, 0.5]]), 2, 3)
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 0. ]])
    """
    larger = np.zeros((n_rows, n_columns))
    larger[: proba.shape[0], : proba.shape[1]] = proba
    return larger
