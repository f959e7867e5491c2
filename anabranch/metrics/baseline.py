"""Kappa statistics that compare with a simple classifier run beside: no change, or the majority class."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from anabranch.metrics._base import Codes, Probabilities, compiled, predicted_codes
from anabranch.metrics._means import MeanMetric, Means

FADED: Final = 1e-200
"""The share of a row that counts as nothing any more."""


class BaselineKappa(MeanMetric):
    """Accuracy beyond that of a simple classifier that learns from the same rows.

    With p the accuracy and p' that of the simple one, both test-then-train, it is (p - p') / (1 - p'): 1 if all is
    right, 0 if it is no better, below 0, without bound, if it is worse. The simple one knows nothing at the first
    row since the start or the last reset, and so misses it. If it has missed nothing that still counts, which takes
    a :class:`~anabranch.metrics.Fading` and a very long run of right guesses, the value is 0 if all is right and
    minus infinity else.
    """

    greater_is_better = True
    percent = True

    _n_terms = 2
    _takes_back = False  # what the simple one says of a row depends on the rows before

    @abstractmethod
    def _baseline_misses(self, y: Codes, misses: NDArray[np.float64]) -> None:
        """Write 1 for each row that the simple classifier misses, else 0, and let it learn them."""

    def _terms(self, y: Codes, proba: Probabilities) -> NDArray[np.float64]:
        terms = np.empty((2, len(y)))
        terms[0] = y != predicted_codes(proba, none=-1)
        self._baseline_misses(y, terms[1])
        return terms

    def _of(self, means: Means) -> float:
        misses, expected = means.mean(0), means.mean(1)
        if expected < FADED:
            return 0.0 if misses < FADED else float("-inf")
        return 1.0 - misses / expected


class TemporalKappa(BaselineKappa):
    """Accuracy beyond that of predicting each row to have the class of the row before it [1]_.

    Where classes come in long runs, guessing that nothing changes is right most of the time, and kappa praises a
    learner that is worse than that.

    With p the accuracy and p' that of the no-change classifier, it is (p - p') / (1 - p'). The first row since the
    start or the last reset, or in a window, has none before it; the no-change classifier misses it.

    Attributes
    ----------
    value : float
        At most 1; below 0 if it is worse than no change. NaN before the first row.

    References
    ----------
    .. [1] I. Zliobaite, A. Bifet, J. Read, B. Pfahringer and G. Holmes, "Evaluation methods and decision theory for
       classification of streaming data with temporal dependence", Machine Learning 98, 2015.

    Examples
    --------
    >>> from anabranch.metrics import TemporalKappa
    >>> TemporalKappa().update([0, 0, 1, 1], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]).value
    0.5
    """

    name = "temporal_kappa"
    label = "Temporal kappa"

    _before: int

    def _baseline_misses(self, y: Codes, misses: NDArray[np.float64]) -> None:
        if len(y):
            misses[0] = y[0] != self._before
            misses[1:] = y[1:] != y[:-1]
            self._before = int(y[-1])

    def reset(self) -> Self:
        """Forget all rows.

        Returns
        -------
        Self
            The metric itself.
        """
        self._before = -1
        return super().reset()


class KappaM(BaselineKappa):
    """Accuracy beyond that of predicting the class that was most frequent so far [1]_.

    On skewed streams it is easier to read than kappa, whose zero depends on what the learner predicts.

    With p the accuracy and p' that of the majority-class classifier, test-then-train, it is (p - p') / (1 - p').
    The majority is that of all rows since the start or the last reset, in a window of the rows in it; the lowest
    code on ties. The first row has none before it; the majority-class classifier misses it.

    Attributes
    ----------
    value : float
        At most 1; below 0 if it is worse than the majority class. NaN before the first row.

    References
    ----------
    .. [1] A. Bifet, G. De Francisci Morales, J. Read, G. Holmes and B. Pfahringer, "Efficient online evaluation of
       big data stream classifiers", KDD 2015.

    Examples
    --------
    >>> from anabranch.metrics import KappaM
    >>> KappaM().update([0, 0, 1, 0], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]).value
    0.5
    """

    name = "kappa_m"
    label = "Kappa M"

    _counts: NDArray[np.int64]

    def _baseline_misses(self, y: Codes, misses: NDArray[np.float64]) -> None:
        missing = int(y.max(initial=-1)) + 1 - len(self._counts)
        if missing > 0:
            self._counts = np.append(self._counts, np.zeros(missing, np.int64))
        compiled().majority_misses(y, self._counts, misses)

    def reset(self) -> Self:
        """Forget all rows.

        Returns
        -------
        Self
            The metric itself.
        """
        self._counts = np.zeros(0, np.int64)
        return super().reset()
