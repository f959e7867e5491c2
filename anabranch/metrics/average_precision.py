"""Average precision."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anabranch.metrics._base import compiled
from anabranch.metrics._ranks import RankMetric


class AveragePrecision(RankMetric):
    """Precision averaged over the positive rows, exact: the area under the curve of precision against recall.

    Each positive row counts the precision among the rows whose score is at least its own [1]_; nothing is
    interpolated. It suits rare classes, for which the area under the ROC curve is soon near 1. With up to two
    classes, class 1 is the positive one and its probability the score. As soon as a third class is known, from a
    column of `proba` or a code in `y`, it is the unweighted mean over the classes that occur in `y`, of each against
    the rest.

    The score of a class without a column is 0. A positive row without a prediction is never found and counts 0; a
    negative one ranks before all others. With all rows in one class nothing is ranked, and the value is 0.
    (scikit-learn has 1 where all rows are positive, even if each was missed.)

    Memory is as with :class:`~anabranch.metrics.ROCAUC`. In a :class:`~anabranch.metrics.Window` each look sorts the
    rows in the window.

    Attributes
    ----------
    value : float
        In [0, 1]; guessing has the share of the positive rows. NaN before the first row.

    References
    ----------
    .. [1] C. Buckley and E. M. Voorhees, "Evaluating evaluation measure stability", SIGIR 2000.

    Examples
    --------
    >>> from anabranch.metrics import AveragePrecision
    >>> AveragePrecision().update([0, 1, 0, 1], [[0.9, 0.1], [0.5, 0.5], [0.4, 0.6], [0.2, 0.8]]).value == (1 + 2/3) / 2
    True
    """

    name = "average_precision"
    label = "Average precision"

    @staticmethod
    def _of_class(keys: NDArray[np.int64], weights: NDArray[np.float64] | None) -> float:
        total, positives, negatives = compiled().precision_won(keys, np.ones(len(keys)) if weights is None else weights)
        return min(total / positives, 1.0) if positives > 0.0 and negatives > 0.0 else 0.0
