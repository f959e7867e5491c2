"""Any metric over the latest rows."""

from __future__ import annotations

from operator import index
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from anabranch.metrics._base import Codes, Metric, Probabilities, check_rows, enlarged


class Window(Metric):
    """A metric over the last `size` rows.

    It goes by the name and label of that metric. An update costs time in proportion to the chunk; the value
    is computed over the window when it is asked for. It keeps ``(8 * k + 8) * size`` bytes. The window knows
    every class that has had a column since the last reset.

    Parameters
    ----------
    metric : Metric or type of Metric
        What to compute. The metric itself is not updated.
    size : int, default 1000
        Number of rows in the window, at least 1.

    Attributes
    ----------
    value : float
        The metric over the last `size` rows, or over all rows while there are fewer; NaN before the first
        row.

    Raises
    ------
    ValueError
        If `size` is less than 1.
    TypeError
        If it is not an integer.

    Examples
    --------
    >>> from anabranch.metrics import Accuracy, Window
    >>> metric = Window(Accuracy(), size=2)
    >>> metric.update([1, 0, 1, 1], [[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]).value
    0.5
    """

    metric: Metric
    size: int
    _next: int
    _filled: int
    _y: Codes
    _proba: Probabilities

    def __init__(self, metric: Metric | type[Metric], size: int = 1000) -> None:
        if index(size) < 1:
            raise ValueError(f"size must be >= 1, got {size}")
        self.metric = metric() if isinstance(metric, type) else metric
        self.size = index(size)
        self.name = self.metric.name
        self.label = self.metric.label
        self.greater_is_better = self.metric.greater_is_better
        self.percent = self.metric.percent
        self.reset()

    def _update(self, y: Codes, proba: Probabilities) -> None:
        if proba.shape[1] > self._proba.shape[1]:
            self._proba = enlarged(self._proba, self.size, proba.shape[1])
        y, proba = y[-self.size :], proba[-self.size :]
        rows = (self._next + np.arange(len(y))) % self.size
        self._y[rows] = y
        self._proba[rows, : proba.shape[1]] = proba
        self._proba[rows, proba.shape[1] :] = 0.0
        self._next = (self._next + len(y)) % self.size
        self._filled = min(self._filled + len(y), self.size)

    def compute(self, y: ArrayLike, proba: ArrayLike) -> float:  # type: ignore[override]  # needs metric and size
        """Value over the last `size` rows of whole arrays; the window itself stays as it is.

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
        codes, scores = check_rows(y, proba)
        return self.metric.compute(codes[-self.size :], scores[-self.size :])

    @property
    def value(self) -> float:
        """The metric over the rows in the window; NaN if there are none."""
        # Oldest row first. Before the ring is full, its rows start at 0 and `_next` is where they end.
        start = self._next if self._filled == self.size else 0
        rows = (start + np.arange(self._filled)) % self.size
        return self.metric.compute(self._y[rows], self._proba[rows])

    def reset(self) -> Self:
        """Forget all rows.

        Returns
        -------
        Self
            The metric itself.
        """
        self._next = 0
        self._filled = 0
        self._y = np.zeros(self.size, dtype=np.int64)
        self._proba = np.zeros((self.size, 0))
        return self
