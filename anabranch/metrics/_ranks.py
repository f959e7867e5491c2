"""Metrics of how scores rank the rows."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anabranch.metrics._base import Codes, Metric, Probabilities
from anabranch.metrics._rows import Rows

_FADED = 2.0**-60  # beside the weight of the latest row; no float near 1 would notice


class RankMetric(Metric):
    """A metric of how well each class's scores rank its rows before all others.

    With up to two classes it is about class 1. As soon as a third class is known, from a column of `proba` or a code
    in `y`, it is the unweighted mean over the classes that occur in `y`, of each against the rest.

    It keeps all rows: about ``8 * k + 1`` bytes each for `k` classes (room for up to twice as many is reserved).
    When fading, it keeps those whose weight is above 2**-60 times that of the latest row.
    """

    greater_is_better = True
    percent = True

    _rows: Rows
    _can_fade = True

    def __init__(self) -> None:
        self.reset()

    @staticmethod
    @abstractmethod
    def _of_class(keys: NDArray[np.int64], weights: NDArray[np.float64] | None) -> float:
        """Value for one class, from its sorted keys (:func:`anabranch.kernels.metrics.sort_keys`) and their weights."""

    def _update(self, y: Codes, proba: Probabilities) -> None:
        self._rows.add(y, proba)

    def _compute(self, y: Any, proba: Probabilities) -> float:
        if len(y) == 0:
            return float("nan")
        y = np.ascontiguousarray(y, np.int64)
        weights = None
        if self._factor is not None:
            weights = self._factor ** np.arange(len(y) - 1.0, -1.0, -1.0)
        values = []
        keys = np.empty(len(y), np.int64)
        for code in ranked_classes(proba.shape[1], y):
            values.append(self._of_class(*_sorted(y, proba, code, keys, weights)))
        return mean_of(values)

    @property
    def value(self) -> float:
        """The metric over all rows; NaN before the first."""
        return self._compute(*self._rows.last(self._rows.n))

    def reset(self) -> Self:
        """Forget all rows.

        Returns
        -------
        Self
            The metric itself.
        """
        limit = None
        if self._factor is not None and self._factor < 1.0:
            limit = math.ceil(math.log(_FADED) / math.log(self._factor))
        self._rows = Rows(limit, np.uint8, columns=True)
        return self


def ranked_classes(n_columns: int, y: Codes) -> list[int]:
    """Classes that are ranked against the rest: class 1 of two, or all that occur."""
    if max(n_columns, int(y.max()) + 1) <= 2:
        return [1]
    return np.flatnonzero(np.bincount(y)).tolist()


def mean_of(values: list[float]) -> float:
    """Their mean, added up from the first to the last."""
    return sum(values) / len(values)


def _sorted(
    y: Codes, proba: Probabilities, code: int, keys: NDArray[np.int64], weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    from anabranch.kernels.metrics import sort_keys

    sort_keys(y, proba, code, keys)
    if weights is None:
        keys.sort()
        return keys, None
    order = np.argsort(keys, kind="stable")
    return keys[order], weights[order]
