"""Metrics of how scores rank the rows."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anabranch.metrics._base import Codes, Metric, Probabilities, compiled
from anabranch.metrics._rows import BLOCK, Rows

_FADED = 2.0**-60  # beside the weight of the latest row; no float near 1 would notice


class RankMetric(Metric):
    """A metric of how well each class's scores rank its rows before all others.

    With up to two classes it is about class 1. As soon as a third class is known, from a column of `proba` or a code
    in `y`, it is the unweighted mean over the classes that occur in `y`, of each against the rest.

    It keeps all rows: about ``8 * k + 1`` bytes each for `k` classes. When fading, it keeps those whose weight is above
    2**-60 times that of the latest row.
    """

    greater_is_better = True
    percent = True

    _blocks: list[Rows]
    _can_fade = True

    def __init__(self) -> None:
        self.reset()

    @staticmethod
    @abstractmethod
    def _of_class(keys: NDArray[np.int64], weights: NDArray[np.float64] | None) -> float:
        """Value for one class, from its sorted keys (:func:`anabranch.kernels.metrics.sort_keys`) and their weights."""

    def _update(self, y: Codes, proba: Probabilities) -> None:
        if self._blocks[-1].limit is not None:
            self._blocks[-1].add(y, proba)
            return
        start = 0
        while True:
            stop = start + BLOCK - self._blocks[-1].n
            self._blocks[-1].add(y[start:stop], proba[start:stop])
            if stop >= len(y):
                return
            self._blocks.append(Rows(None, np.uint8, columns=True))
            start = stop

    def _compute(self, y: Any, proba: Probabilities) -> float:
        return self._of_blocks([(y, proba)])

    def _of_blocks(self, blocks: list[tuple[NDArray[Any], Probabilities]]) -> float:
        """Value over rows in one or several pieces, which may differ in how many columns they have."""
        pieces = [(y.astype(np.int64, copy=False), proba) for y, proba in blocks]
        rows = sum(len(y) for y, _ in pieces)
        if rows == 0:
            return float("nan")
        weights = None
        if self._factor is not None:
            weights = self._factor ** np.arange(rows - 1.0, -1.0, -1.0)
        keys = np.empty(rows, np.int64)
        values = []
        for code in _ranked_classes(pieces):
            start = 0
            for y, proba in pieces:
                compiled().sort_keys(y, proba, code, keys[start : start + len(y)])
                start += len(y)
            if weights is None:
                keys.sort()
                values.append(self._of_class(keys, None))
            else:
                order = np.argsort(keys, kind="stable")
                values.append(self._of_class(keys[order], weights[order]))
        return sum(values) / len(values)

    @property
    def value(self) -> float:
        """The metric over all rows; NaN before the first."""
        return self._of_blocks([block.last(block.n) for block in self._blocks])

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
        self._blocks = [Rows(limit, np.uint8, columns=True)]
        return self


def _ranked_classes(pieces: list[tuple[Codes, Probabilities]]) -> list[int]:
    """Classes that are ranked against the rest: class 1 of two, or all that occur."""
    last = max(int(y.max(initial=-1)) for y, _ in pieces)
    if max(last + 1, *(proba.shape[1] for _, proba in pieces)) <= 2:
        return [1]
    return np.flatnonzero(sum(np.bincount(y, minlength=last + 1) for y, _ in pieces)).tolist()
