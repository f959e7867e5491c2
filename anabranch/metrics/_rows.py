"""Rows that are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from anabranch import checkpoint

BLOCK = 65_536
"""Rows up to which room is doubled where all are kept; whoever has more begins another piece."""


@checkpoint.register
class Rows:
    """The latest rows, or all of them, in one piece.

    Parameters
    ----------
    limit : int, optional
        Rows that are kept; without it all are. Room for up to twice as many is used.
    dtype : dtype
        Of what is true: grows, as integer types go, to hold what comes.
    columns : bool
        Whether predictions have columns; there may come more of them, and older rows have zeros there.
    """

    def __init__(self, limit: int | None, dtype: Any, columns: bool) -> None:
        self.limit = limit
        self.n = 0  # kept
        self._stop = 0  # where the last one ends
        self._y: NDArray[Any] = np.zeros(0, dtype)
        self._predicted: NDArray[np.float64] = np.zeros((0, 0) if columns else 0)

    @property
    def n_columns(self) -> int:
        """Columns seen so far."""
        n_columns: int = self._predicted.shape[1]
        return n_columns

    def add(self, y: NDArray[Any], predicted: NDArray[np.float64]) -> None:
        """Put rows behind the others."""
        if self.limit is not None:  # what will not be kept need not be copied
            y_kept, kept = y[max(len(y) - self.limit, 0) :], predicted[max(len(y) - self.limit, 0) :]
        else:
            y_kept, kept = y, predicted
        self._make_room(len(y_kept), predicted.shape[1:], y_kept)
        start, self._stop = self._stop, self._stop + len(y_kept)
        self._y[start : self._stop] = y_kept
        if predicted.ndim == 1:
            self._predicted[start : self._stop] = kept
        else:
            self._predicted[start : self._stop, : kept.shape[1]] = kept
            self._predicted[start : self._stop, kept.shape[1] :] = 0.0
        self.n = self.n + len(y) if self.limit is None else min(self.n + len(y), self.limit)

    def _make_room(self, n: int, columns: tuple[int, ...], y: NDArray[Any]) -> None:
        dtype = self._y.dtype
        if dtype.kind == "u" and len(y):
            dtype = np.promote_types(dtype, np.min_scalar_type(int(y.max())))
        wider = len(columns) == 1 and columns[0] > self.n_columns
        if self._stop + n <= len(self._y) and not wider and dtype == self._y.dtype:
            return
        keep = self.n if self.limit is None else min(self.n, max(self.limit - n, 0))
        have = len(self._y)
        if self._stop + n > have:  # doubling keeps the cost of copying constant per row
            most = BLOCK if self.limit is None else 2 * self.limit
            have = max(min(2 * have, most), keep + n)
        shape = (have, *(max(new, old) for new, old in zip(columns, self._predicted.shape[1:], strict=True)))
        y_old, old = self.last(keep)
        self._y, self._predicted = np.zeros(have, dtype), np.zeros(shape)
        self._y[:keep] = y_old
        if old.ndim == 1:
            self._predicted[:keep] = old
        else:
            self._predicted[:keep, : old.shape[1]] = old
        self._stop = keep

    def last(self, n: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The last `n` rows that are kept, the oldest first; not copied."""
        return self._y[self._stop - n : self._stop], self._predicted[self._stop - n : self._stop]
