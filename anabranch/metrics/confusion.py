"""Metrics that need no more than counts of true and predicted classes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from anabranch.checkpoint import register
from anabranch.metrics._base import Codes, Metric, Probabilities, compiled


@register
class ConfusionMatrix:
    """How often each class was predicted as which, growing as classes turn up.

    It takes ``8 * k * (k + 1)`` bytes for `k` classes, so codes should be dense.

    Attributes
    ----------
    counts : ndarray of int64, shape (k, k + 1)
        Rows with true class i and predicted class j. The last column counts the rows without a prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.metrics import ConfusionMatrix
    >>> matrix = ConfusionMatrix()
    >>> matrix.add(np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.8, 0.2], [0.0, 0.0]]))
    >>> matrix.counts
    array([[1, 0, 0],
           [1, 0, 1]])
    """

    def __init__(self) -> None:
        self.counts: NDArray[np.int64] = np.zeros((0, 1), dtype=np.int64)

    def add(self, y: Codes, proba: Probabilities) -> None:
        """Count rows that have been checked.

        Parameters
        ----------
        y : ndarray of int64, shape (n,)
            Codes of the true classes.
        proba : ndarray of float64, shape (n, k)
            Class probabilities.
        """
        if proba.shape[1] > len(self.counts):
            self._grow(proba.shape[1])
        loops, done = compiled(), 0
        while (done := loops.call_directly(loops.count, self.counts, y, proba, done, 1)) < len(y):
            self._grow(int(y.max()) + 1)

    def take_back(self, y: Codes, proba: Probabilities) -> None:
        """Take rows back that were counted.

        Parameters
        ----------
        y : ndarray of int64, shape (n,)
        proba : ndarray of float64, shape (n, k)
            As they were counted.
        """
        compiled().count(self.counts, y, proba, 0, -1)

    def merge(self, other: ConfusionMatrix) -> None:
        """Add the counts of another matrix.

        Parameters
        ----------
        other : ConfusionMatrix
            Left as it is.
        """
        size = len(other.counts)
        self._grow(size)
        self.counts[:size, :size] += other.counts[:, :-1]
        self.counts[:size, -1] += other.counts[:, -1]

    def _grow(self, size: int) -> None:
        self.counts = _grown(self.counts, size)

    @property
    def hits(self) -> NDArray[np.int64]:
        """Rows of each class that were predicted right, shape (k,)."""
        hits: NDArray[np.int64] = self.counts.diagonal()
        return hits

    @property
    def support(self) -> NDArray[np.int64]:
        """Rows of each class, shape (k,)."""
        support: NDArray[np.int64] = self.counts.sum(axis=1)
        return support

    @property
    def predicted(self) -> NDArray[np.int64]:
        """Rows predicted as each class, shape (k,)."""
        predicted: NDArray[np.int64] = self.counts[:, :-1].sum(axis=0)
        return predicted

    @property
    def n_rows(self) -> int:
        """Number of rows counted; if they fade, the sum of their weights."""
        return self.totals().rows

    @property
    def misses(self) -> int:
        """Number of rows that were not predicted right."""
        return self.totals().misses

    def totals(self) -> Totals:
        """All of these at once, as Python's own numbers, which do not overflow."""
        counts = self.counts
        each = np.zeros((3, len(counts)), counts.dtype)
        misses = compiled().add_up(counts, each)
        hits, support, predicted = each.tolist()
        return Totals(hits, support, predicted, misses)


class Totals(NamedTuple):
    """What a confusion matrix adds up to; weights if its rows fade."""

    hits: list[int]
    support: list[int]
    predicted: list[int]
    misses: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        # Not by the support: without a miss, the share of the hits is exactly one, however sums are rounded.
        return sum(self.hits) + self.misses

    @property
    def recalls(self) -> list[float]:
        """Recall of each class that has rows."""
        return [hits / rows for hits, rows in zip(self.hits, self.support, strict=True) if rows > 0]


def _grown(counts: NDArray[Any], size: int) -> NDArray[Any]:
    """Room for so many classes; the last column stays the last."""
    old = len(counts)
    if size <= old:
        return counts
    larger = np.zeros((size, size + 1), counts.dtype)
    larger[:old, :old] = counts[:, :-1]
    larger[:old, -1] = counts[:, -1]
    return larger


@register
class FadingConfusionMatrix(ConfusionMatrix):
    """The same, with rows whose weight shrinks by a factor with each row after them.

    What has shrunk to 1e-200 counts as nothing.

    Parameters
    ----------
    factor : float
        Above 0, at most 1.

    """

    def __init__(self, factor: float) -> None:
        self.factor = factor
        # Not old weights shrink, new ones grow: that of the latest row is in `_weight`.
        self._grown = np.zeros((0, 1))
        self._weight = np.ones(1)

    @property
    def counts(self) -> NDArray[np.float64]:  # type: ignore[override]
        """Sums of weights by true and predicted class; the latest row weighs 1."""
        counts: NDArray[np.float64] = self._grown / self._weight[0]
        return counts

    def add(self, y: Codes, proba: Probabilities) -> None:
        """Count rows that have been checked."""
        self._grown = _grown(self._grown, max(proba.shape[1], int(y.max(initial=-1)) + 1))
        # Below that, a factor makes no difference.
        compiled().count_fading(self._grown, self._weight, max(self.factor, 1e-100), y, proba)


class CountMetric(Metric):
    """A metric that is a function of the confusion matrix.

    Several of them may be given one `matrix`, which is then updated in their place. A metric of your own needs no
    more than its names and a `value`, which should do with sums of weights in place of counts.

    Attributes
    ----------
    matrix : ConfusionMatrix
        What has been counted.
    """

    matrix: ConfusionMatrix

    _takes_back = True
    _can_fade = True

    def __init__(self) -> None:
        self.reset()

    def _update(self, y: Codes, proba: Probabilities) -> None:
        self.matrix.add(y, proba)

    def _take_back(self, y: Codes, proba: Probabilities) -> None:
        self.matrix.take_back(y, proba)

    def reset(self) -> Self:
        """Forget all rows.

        Returns
        -------
        Self
            The metric itself.
        """
        self.matrix = ConfusionMatrix() if self._factor is None else FadingConfusionMatrix(self._factor)
        return self


class Accuracy(CountMetric):
    """Share of the rows whose class was predicted.

    Attributes
    ----------
    value : float
        In [0, 1]; NaN before the first row.
    matrix : ConfusionMatrix
        The counts behind it.

    Examples
    --------
    >>> from anabranch.metrics import Accuracy
    >>> metric = Accuracy().update([0, 1], [[0.9, 0.1], [0.3, 0.7]])
    >>> metric.update([2, 0], [[0.9, 0.1], [0.0, 0.0]]).value  # an unknown class and no prediction: misses
    0.5
    """

    name = "accuracy"
    label = "Accuracy"
    greater_is_better = True
    percent = True

    @property
    def value(self) -> float:
        """Accuracy over all rows; NaN before the first."""
        totals = self.matrix.totals()
        return sum(totals.hits) / totals.rows if totals.rows else float("nan")


class BalancedAccuracy(CountMetric):
    """Mean of the recalls of the classes that occur.

    Chance has 1/k of it, however skewed the k classes are. Classes that have a column in `proba` and no row in `y`
    have no recall and do not count.

    Attributes
    ----------
    value : float
        In [0, 1]; NaN before the first row.
    matrix : ConfusionMatrix
        The counts behind it.

    Examples
    --------
    >>> from anabranch.metrics import BalancedAccuracy
    >>> BalancedAccuracy().update([0, 0, 0, 0, 1], [[0.9, 0.1]] * 5).value
    0.5
    """

    name = "balanced_accuracy"
    label = "Balanced accuracy"
    greater_is_better = True
    percent = True

    @property
    def value(self) -> float:
        """Balanced accuracy over all rows; NaN before the first."""
        recalls = self.matrix.totals().recalls
        return math.fsum(recalls) / len(recalls) if recalls else float("nan")


class Kappa(CountMetric):
    """Cohen's kappa: accuracy beyond what chance agreement gives [1]_.

    With p_o the accuracy and p_e the sum, over the classes, of the share of rows of the class times the share
    of rows predicted as it, kappa is (p_o - p_e) / (1 - p_e). A row without a prediction agrees with no
    class, so it lowers both.

    Where all rows have one class and all were predicted as it, chance agreement is complete and the ratio is
    0/0. Kappa is 0 there: nothing was shown to be better than chance.

    Attributes
    ----------
    value : float
        In [-1, 1]; NaN before the first row.
    matrix : ConfusionMatrix
        The counts behind it.

    References
    ----------
    .. [1] J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological
       Measurement 20(1), 1960.

    Examples
    --------
    >>> from anabranch.metrics import Kappa
    >>> Kappa().update([0, 0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.3, 0.7]]).value
    0.5
    >>> Kappa().update([0, 0], [[0.9, 0.1], [0.8, 0.2]]).value
    0.0
    """

    name = "kappa"
    label = "Kappa"
    greater_is_better = True
    percent = True

    @property
    def value(self) -> float:
        """Kappa over all rows; NaN before the first."""
        totals = self.matrix.totals()
        n_rows = totals.rows
        if n_rows == 0:
            return float("nan")
        chance = sum(s * p for s, p in zip(totals.support, totals.predicted, strict=True))
        if chance == n_rows**2:
            return 0.0
        agreement = sum(totals.hits) * n_rows
        kappa: float = (agreement - chance) / (n_rows**2 - chance)
        return kappa


class GMean(CountMetric):
    """Geometric mean of the recalls of the classes that occur [1]_.

    It suits skewed streams: neglecting a rare class costs as much as neglecting a common one. It is 0 as soon
    as no row of some class in `y` was predicted right. Classes that have a column in `proba` and no row in
    `y` have no recall and do not count.

    Attributes
    ----------
    value : float
        In [0, 1]; NaN before the first row.
    matrix : ConfusionMatrix
        The counts behind it.

    References
    ----------
    .. [1] M. Kubat and S. Matwin, "Addressing the curse of imbalanced training sets: one-sided selection",
       ICML 1997.

    Examples
    --------
    >>> from anabranch.metrics import GMean
    >>> metric = GMean().update([0, 0, 0, 0, 1], [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.4, 0.6], [0.3, 0.7]])
    >>> metric.value  # recalls 1/4 and 1
    0.5
    """

    name = "gmean"
    label = "G-mean"
    greater_is_better = True
    percent = True

    @property
    def value(self) -> float:
        """G-mean over all rows; NaN before the first."""
        recalls = self.matrix.totals().recalls
        if not recalls:
            return float("nan")
        # The product of the recalls of many classes would underflow; the product of their roots does not.
        gmean: float = math.prod(recall ** (1.0 / len(recalls)) for recall in recalls)
        return gmean
