"""What a metric is, and the one place where its input is checked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Codes = NDArray[np.int64]
Probabilities = NDArray[np.float64]


class Metric(ABC):
    """A figure of merit over a stream of labels and predictions.

    Rows come as class codes `y`, shape (n,), and class probabilities `proba`, shape (n, k). Column j belongs
    to code j. `k` may grow from call to call, since classes turn up as a stream goes on; columns that a chunk
    does not have count as zero. Two kinds of row are misses for every metric: a row of zeros in `proba`,
    which means that no prediction could be made, and a code in `y` without a column. The predicted class is
    the one with the highest probability, the lowest code on ties.

    Updating chunk by chunk gives what :meth:`compute` gives on all rows at once, whatever the sizes of the
    chunks.

    A metric of your own names itself with the four attributes and implements `_update`, `value` and `reset`.

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

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.metrics import Metric
    >>> class Brier(Metric):
    ...     name, label, greater_is_better, percent = "brier", "Brier score", False, False
    ...     def __init__(self):
    ...         self.reset()
    ...     def reset(self):
    ...         self.total, self.rows = 0.0, 0
    ...         return self
    ...     def _update(self, y, proba):
    ...         hit = y[:, None] == np.arange(proba.shape[1])
    ...         self.total += float(((proba - hit) ** 2).sum())
    ...         self.rows += len(y)
    ...     @property
    ...     def value(self):
    ...         return self.total / self.rows if self.rows else float("nan")
    >>> Brier().update([0, 1], [[0.5, 0.5], [0.0, 1.0]]).value
    0.25
    """

    name: str
    label: str
    greater_is_better: bool
    percent: bool

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
        self._update(*check_rows(y, proba))
        return self

    @classmethod
    def compute(cls, y: ArrayLike, proba: ArrayLike) -> float:
        """Value over whole arrays, keeping nothing.

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
        """
        return cls().update(y, proba).value

    @abstractmethod
    def _update(self, y: Codes, proba: Probabilities) -> None:
        """Take in rows that have been checked; must leave its arguments alone."""

    @property
    @abstractmethod
    def value(self) -> float:
        """The metric over all rows since the start or the last reset; NaN before the first row."""

    @abstractmethod
    def reset(self) -> Self:
        """Forget all rows."""


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
    codes = codes.astype(np.int64, copy=False)
    if codes.size and codes.min() < 0:
        row = int(np.argmax(codes < 0))
        raise ValueError(f"y must hold class codes >= 0, got {codes[row]} in row {row}")
    # NaN fails every comparison, and min() and max() hand it on.
    if scores.size and not (scores.min() >= 0.0 and scores.max() < np.inf):
        bad = ~((scores >= 0.0) & (scores < np.inf))
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"proba must be finite and >= 0, got {float(scores[row, column])} in row {row}, column {column}"
        )
    return codes, scores


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
    n_rows, n_columns = proba.shape
    if n_columns == 0:
        return np.full(n_rows, none, dtype=np.int64)
    if n_columns == 2:  # arg max over so short an axis takes several times as long as a comparison
        codes = (proba[:, 1] > proba[:, 0]).astype(np.int64)
    else:
        codes = proba.argmax(axis=1).astype(np.int64, copy=False)
    # Nothing is below zero, so class 0 wins with probability 0 in rows of zeros only.
    codes[(codes == 0) & (proba[:, 0] == 0.0)] = none
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
