"""Logarithmic loss."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from anabranch.metrics._base import Codes, Probabilities, compiled
from anabranch.metrics._means import MeanMetric

EPSILON: Final = 1e-15
"""Lower bound of a probability; the loss of one row is at most -log of it, about 34.5."""


class LogLoss(MeanMetric):
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

    def _terms(self, y: Codes, proba: Probabilities) -> NDArray[np.float64]:
        shares = np.empty(len(y))
        compiled().true_shares(y, proba, shares)
        return -np.log(np.maximum(shares, EPSILON))
