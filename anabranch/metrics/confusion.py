"""Metrics that need no more than counts of true and predicted classes."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from anabranch.metrics._base import Codes, Metric, Probabilities, predicted_codes


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
        size = max(len(self.counts), proba.shape[1], int(y.max(initial=-1)) + 1)
        if size > len(self.counts):
            self._grow(size)
        cells = y * (size + 1) + predicted_codes(proba, none=size)
        # Unlike a bincount over all cells, this costs a single row nothing when there are many classes.
        np.add.at(self.counts.reshape(-1), cells, 1)

    def merge(self, other: ConfusionMatrix) -> None:
        """Add the counts of another matrix.

        Parameters
        ----------
        other : ConfusionMatrix
            Left as it is.
        """
        size = len(other.counts)
        if size > len(self.counts):
            self._grow(size)
        self.counts[:size, :size] += other.counts[:, :-1]
        self.counts[:size, -1] += other.counts[:, -1]

    def _grow(self, size: int) -> None:
        old = self.counts
        self.counts = np.zeros((size, size + 1), dtype=np.int64)
        self.counts[: len(old), : len(old)] = old[:, :-1]
        self.counts[: len(old), -1] = old[:, -1]

    @property
    def n_rows(self) -> int:
        """Number of rows counted."""
        return int(self.counts.sum())

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


class CountMetric(Metric):
    """A metric that is a function of the confusion matrix.

    Several of them may be given one `matrix`, which is then updated in their place.
    """

    matrix: ConfusionMatrix

    def __init__(self) -> None:
        self.reset()

    def _update(self, y: Codes, proba: Probabilities) -> None:
        self.matrix.add(y, proba)

    def reset(self) -> Self:
        """Forget all rows.

        Returns
        -------
        Self
            The metric itself.
        """
        self.matrix = ConfusionMatrix()
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
        n_rows = self.matrix.n_rows
        return int(self.matrix.hits.sum()) / n_rows if n_rows else float("nan")


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
        n_rows = self.matrix.n_rows
        if n_rows == 0:
            return float("nan")
        # Python's integers do not overflow, and make the one division the only rounding.
        support, predicted = self.matrix.support.tolist(), self.matrix.predicted.tolist()
        chance = sum(s * p for s, p in zip(support, predicted, strict=True))
        if chance == n_rows**2:
            return 0.0
        agreement = int(self.matrix.hits.sum()) * n_rows
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
        support = self.matrix.support
        occurs = support > 0
        if not occurs.any():
            return float("nan")
        recalls = self.matrix.hits[occurs] / support[occurs]
        if recalls.min() == 0.0:
            return 0.0
        # The product of the recalls of many classes would underflow; the product of their roots does not.
        return float(np.prod(recalls ** (1.0 / len(recalls))))
