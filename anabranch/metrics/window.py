"""Any metric over the latest rows."""

from __future__ import annotations

from operator import index
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anabranch.metrics._base import Metric
from anabranch.metrics._rows import Rows
from anabranch.metrics.auc import SlidingAUC

_OFTEN = 8
"""A window that is looked at at least so many times while its rows change is brought up to date row by row."""


class Window(Metric):
    """A metric over the last `size` rows.

    An update costs time in proportion to the chunk. A look at the value costs time in proportion to the rows that
    have come since the look before, with metrics that count or are means over rows (and, with :class:`ROCAUC
    <anabranch.metrics.ROCAUC>`, the logarithm of the window for each of them), where there are few; or else the
    metric is computed over the window. Either way it is the same to the last bit.

    It keeps up to ``(18 * k + 18) * size`` bytes of rows for `k` classes. The window knows every class that has had
    a column since the last reset.

    Parameters
    ----------
    metric : Metric, type of Metric or str
        What to compute, as in :func:`anabranch.metrics.get`. The metric itself is not updated.
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
    >>> from anabranch.metrics import Window
    >>> metric = Window("accuracy", size=2)
    >>> metric.update([1, 0, 1, 1], [[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]).value
    0.5
    >>> metric.name, metric.label
    ('window(accuracy, 2)', 'Accuracy, last 2')
    """

    _rows: Rows
    _seen: int
    _fresh_rows: int
    _known: float | None
    _running: Metric | None
    _in_step: bool

    def __init__(self, metric: Metric | type[Metric] | str, size: int = 1000) -> None:
        from anabranch.metrics import get

        if index(size) < 1:
            raise ValueError(f"size must be >= 1, got {size}")
        self.metric = get(metric)
        self.size = index(size)
        self.name = f"window({self.metric.name}, {self.size})"
        self.label = f"{self.metric.label}, last {self.size:,}"
        self.greater_is_better = self.metric.greater_is_better
        self.percent = self.metric.percent
        self.task = self.metric.task
        self.reset()

    def _check(self, y: Any, proba: Any) -> tuple[Any, Any]:
        return self.metric._check(y, proba)

    def _update(self, y: Any, proba: Any) -> None:
        if len(y) == 0 and proba.shape[1:] == self._rows.last(0)[1].shape[1:]:
            return
        self._rows.add(y, proba)
        self._seen += len(y)
        self._fresh_rows += len(y)
        self._known = None

    def _compute(self, y: Any, proba: Any) -> float:
        return self.metric._compute(y[-self.size :], proba[-self.size :])

    @property
    def value(self) -> float:
        """The metric over the rows in the window; NaN if there are none."""
        if self._known is None:
            self._known = self._look()
            self._fresh_rows = 0
        return self._known

    def _look(self) -> float:
        window = self._rows.last(min(self._seen, self.size))
        if self._running is None or self._fresh_rows * _OFTEN > self.size:
            self._in_step = False
            return self.metric._compute(*window)
        self._bring_up_to_date()
        return self._running.value

    def _bring_up_to_date(self) -> None:
        """Let the running metric hold what the window holds."""
        running, n = self._running, self._fresh_rows
        if running is None:
            return
        y, proba = self._rows.last(n)
        if self._in_step and n * _OFTEN <= self.size and running._fits(y, proba.shape[-1]):
            had, has = min(self._seen - n, self.size), min(self._seen, self.size)
            y_then, proba_then = self._rows.last(had + n)
            gone = had + n - has
            running._update(y, proba)
            running._take_back(y_then[:gone], proba_then[:gone])
        else:
            running.reset()
            running._update(*self._rows.last(min(self._seen, self.size)))
            self._in_step = True

    def _trace(self, y: Any, proba: Any) -> NDArray[np.float64]:
        if not isinstance(self._running, SlidingAUC):
            return super()._trace(y, proba)
        values = np.empty(len(y))
        start = 0
        while start < len(y):
            stop = min(start + self.size, len(y)) if self._seen else 1  # the first row makes the classes known
            values[start:stop] = self._trace_area(self._running, y[start:stop], proba[start:stop])
            start = stop
        return values

    def _trace_area(self, running: SlidingAUC, y: Any, proba: Any) -> NDArray[np.float64]:
        """Trace of the area under the curve over at most `size` rows: all of them in one call."""
        had = min(self._seen, self.size)
        if self._fresh_rows or not self._in_step:
            self._bring_up_to_date()
        if not had or proba.shape[1] != self._rows.n_columns or not running._fits(y, proba.shape[1]):
            return super()._trace(y, proba)
        first_gone = max(self.size - had, 0)  # from this row on, one goes for each that comes
        y_then, proba_then = self._rows.last(had)
        n_gone = max(len(y) - first_gone, 0)
        order = np.empty(len(y) + n_gone, np.int64)
        comes = np.ones(len(order), np.bool_)
        comes[first_gone + 1 :: 2] = False
        order[comes] = np.arange(len(y)) + n_gone
        order[~comes] = np.arange(n_gone)
        both = np.concatenate([y_then[:n_gone], y])[order], np.concatenate([proba_then[:n_gone], proba])[order]
        areas = running.move(*both, comes)
        self._rows.add(y, proba)
        self._seen += len(y)
        self._fresh_rows, self._known = 0, None
        # A row's area is the one after what goes for it.
        traced: NDArray[np.float64] = areas[np.append(comes[1:], True)]
        return traced

    def reset(self) -> Self:
        """Forget all rows.

        Returns
        -------
        Self
            The metric itself.
        """
        regression = self.task == "regression"
        # The rows that have left since the look before are still there if few have come.
        dtype = np.float64 if regression else np.int64
        self._rows = Rows(self.size + self.size // _OFTEN, dtype, columns=not regression)
        self._seen = 0
        self._fresh_rows = 0  # that have come since the look before
        self._known = float("nan")  # the value, until rows come
        self._running = self.metric._sliding()  # brought up to date from look to look,
        self._in_step = False  # if this says so
        return self
