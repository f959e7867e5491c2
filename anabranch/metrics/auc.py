"""Area under the receiver operating characteristic curve."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anabranch.metrics._base import Codes, Metric, Probabilities, check_rows, enlarged


class ROCAUC(Metric):
    """Area under the ROC curve, exact.

    The share of all pairs of a positive and a negative row in which the positive one has the higher score;
    ties count half [1]_. With up to two classes, class 1 is the positive one and its probability the score.
    As soon as a third class is known, from a column of `proba` or a code in `y`, it is the unweighted mean
    over the classes that occur in `y` of the area of each against the rest [2]_.

    The score of a class without a column is 0. A row without a prediction loses all its pairs, whichever
    class it has. With all rows in one class there are no pairs; the area is then 0.5, that of a guess.

    An exact area needs every score: the metric keeps about ``8 * k + 8`` bytes for each row (room for up to
    twice as many rows is reserved), and each look at `value` sorts them. On long streams put it in a
    :class:`~anabranch.metrics.Window`, or update it with a sample.

    Attributes
    ----------
    value : float
        In [0, 1]; NaN before the first row.

    References
    ----------
    .. [1] J. A. Hanley and B. J. McNeil, "The meaning and use of the area under a receiver operating
       characteristic (ROC) curve", Radiology 143, 1982.
    .. [2] F. Provost and P. Domingos, "Tree induction for probability-based ranking", Machine Learning 52,
       2003; here, as is now customary, without its weights.

    Examples
    --------
    >>> from anabranch.metrics import ROCAUC
    >>> ROCAUC().update([0, 0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]).value
    0.75
    """

    name = "auc"
    label = "AUC"
    greater_is_better = True
    percent = True

    _n_rows: int
    _y: Codes
    _proba: Probabilities

    def __init__(self) -> None:
        self.reset()

    def _update(self, y: Codes, proba: Probabilities) -> None:
        start, stop = self._n_rows, self._n_rows + len(y)
        n_columns = max(self._proba.shape[1], proba.shape[1])
        capacity = len(self._y)
        if stop > capacity or n_columns > self._proba.shape[1]:
            # Doubling keeps the cost of copying constant per row.
            capacity = max(stop, 2 * capacity) if stop > capacity else capacity
            grown_proba = enlarged(self._proba[:start], capacity, n_columns)
            grown_y = np.zeros(capacity, dtype=np.int64)
            grown_y[:start] = self._y[:start]
            self._y, self._proba = grown_y, grown_proba
        self._y[start:stop] = y
        self._proba[start:stop, : proba.shape[1]] = proba
        self._n_rows = stop

    @classmethod
    def compute(cls, y: ArrayLike, proba: ArrayLike) -> float:
        """Area over whole arrays, keeping nothing.

        Parameters
        ----------
        y : array-like of int, shape (n,)
            Codes of the true classes.
        proba : array-like of float, shape (n, k)
            Probability of each class; a row of zeros where no prediction could be made.

        Returns
        -------
        float
            The area; NaN if there is no row.

        Raises
        ------
        ValueError
            As :meth:`update` does.
        """
        return _area(*check_rows(y, proba))

    @property
    def value(self) -> float:
        """Area over all rows; NaN before the first."""
        return _area(self._y[: self._n_rows], self._proba[: self._n_rows])

    def reset(self) -> Self:
        """Forget all rows.

        Returns
        -------
        Self
            The metric itself.
        """
        self._n_rows = 0
        self._y = np.zeros(0, dtype=np.int64)
        self._proba = np.zeros((0, 0))
        return self


def _area(y: Codes, proba: Probabilities) -> float:
    if len(y) == 0:
        return float("nan")
    unpredicted: NDArray[np.bool_] = np.logical_not(proba.any(axis=1))
    n_classes = max(proba.shape[1], int(y.max()) + 1)
    positives = [1] if n_classes <= 2 else np.unique(y).tolist()
    areas = [_area_against_rest(y == code, _scores(proba, code), unpredicted) for code in positives]
    return float(np.mean(areas))


def _scores(proba: Probabilities, code: int) -> NDArray[np.float64]:
    return proba[:, code] if code < proba.shape[1] else np.zeros(len(proba))


def _area_against_rest(
    positive: NDArray[np.bool_], scores: NDArray[np.float64], unpredicted: NDArray[np.bool_]
) -> float:
    # The worst score for its class makes a row without a prediction lose all its pairs.
    scores = np.where(unpredicted, np.where(positive, -np.inf, np.inf), scores)
    high, low = np.sort(scores[positive]), np.sort(scores[~positive])
    if len(high) == 0 or len(low) == 0:
        return 0.5
    # Pairs won, and pairs won or tied: their sum counts a win twice and a tie once.
    won = int(np.searchsorted(low, high, side="left").sum())
    not_lost = int(np.searchsorted(low, high, side="right").sum())
    return (won + not_lost) / (2 * len(high) * len(low))
