"""Logarithmic loss."""

from __future__ import annotations

from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from anabranch.metrics._base import Codes, Metric, Probabilities

EPSILON: Final = 1e-15
"""Lower bound of a probability; the loss of one row is at most -log of it, about 34.5."""

_LIMB_BITS: Final = 27
_LIMBS: Final = 4


class LogLoss(Metric):
    """Mean of -log of the probability that was given to the true class.

    Rows of `proba` are scaled to sum to 1, so votes will do. Probabilities below ``EPSILON = 1e-15`` count as
    that; so do the true class's where it has no column, and where no prediction was made.

    The losses are added up without any rounding, and the mean is the float nearest to the exact one. So
    neither the order of the rows nor the sizes of the chunks matter, and long streams lose no digits.

    Attributes
    ----------
    value : float
        In nats, 0 to about 34.5; NaN before the first row.

    Examples
    --------
    >>> from anabranch.metrics import LogLoss
    >>> round(LogLoss().update([0, 1], [[0.9, 0.1], [0.5, 0.5]]).value, 6)
    0.399254
    >>> round(LogLoss().update([1], [[0.0, 0.0]]).value, 6)
    34.538776
    """

    name = "log_loss"
    label = "Log loss"
    greater_is_better = False
    percent = False

    _n_rows: int
    _total: int

    def __init__(self) -> None:
        self.reset()

    def _update(self, y: Codes, proba: Probabilities) -> None:
        self._total += _exact_sum(_losses(y, proba))
        self._n_rows += len(y)

    def merge(self, other: LogLoss) -> None:
        """Take in all rows of another log loss, which stays as it is.

        Parameters
        ----------
        other : LogLoss
        """
        self._total += other._total
        self._n_rows += other._n_rows

    @property
    def value(self) -> float:
        """Mean loss over all rows; NaN before the first."""
        if self._n_rows == 0:
            return float("nan")
        return self._total / (self._n_rows << (_LIMBS * _LIMB_BITS))

    def reset(self) -> Self:
        """Forget all rows.

        Returns
        -------
        Self
            The metric itself.
        """
        self._n_rows = 0
        self._total = 0
        return self


def _losses(y: Codes, proba: Probabilities) -> NDArray[np.float64]:
    given = np.zeros(len(y))
    known = np.flatnonzero(y < proba.shape[1])
    given[known] = proba[known, y[known]]
    if proba.shape[1]:
        # A running sum adds from left to right, so columns of zeros on the right change no bit; sum() might.
        with np.errstate(over="ignore"):
            total = np.cumsum(proba, axis=1)[:, -1]
        np.divide(given, total, out=given, where=total > 0.0)
    return -np.log(np.maximum(given, EPSILON))


def _exact_sum(losses: NDArray[np.float64]) -> int:
    """Sum of losses as a whole number of units of 2**-108.

    Each loss is cut into whole numbers, 27 bits at a time (the first takes up to 33 bits), which int64 adds
    exactly over two thousand million rows. No loss has a bit below the last unit: the least one above zero,
    -log(1 - 2**-53), is near 2**-53, and a float has 53 bits.
    """
    total = 0
    for _ in range(_LIMBS):
        losses = losses * 2.0**_LIMB_BITS
        whole = losses.astype(np.int64)
        total = (total << _LIMB_BITS) + int(whole.sum())
        losses -= whole
    return total
