"""The Brier score."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from anabranch.metrics._base import Codes, Probabilities, compiled
from anabranch.metrics._means import MeanMetric, Means


class Brier(MeanMetric):
    """Mean squared distance of the probabilities from those that are certain of the true class [1]_.

    Rows of `proba` are scaled to sum to 1, so votes will do. With up to two classes it is (p - 1)**2 for the
    probability p of the true class, 0 to 1; as soon as a third class is known, from a column of `proba` or a code
    in `y`, the sum over all classes, 0 to 2, as Brier had it. A class without a column has probability 0; a row
    without a prediction costs as much as one that is certain and wrong.

    Parameters
    ----------
    scale_by_half : bool or "auto", default "auto"
        Whether the sum over the classes is halved; by default with up to two classes only, as in scikit-learn.

    Attributes
    ----------
    value : float
        0 to 1, or to 2 where not halved; NaN before the first row.

    Raises
    ------
    ValueError
        If `scale_by_half` is none of these.

    References
    ----------
    .. [1] G. W. Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78,
       1950.

    Examples
    --------
    >>> from anabranch.metrics import Brier
    >>> Brier().update([0, 1], [[0.5, 0.5], [0.0, 1.0]]).value
    0.125
    >>> Brier().update([0, 1], [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]).value
    0.25
    """

    name = "brier"
    label = "Brier score"
    greater_is_better = False
    percent = False

    _n_terms = 2
    _n_columns: int

    def __init__(self, scale_by_half: bool | str = "auto") -> None:
        if not (scale_by_half is True or scale_by_half is False or scale_by_half == "auto"):
            raise ValueError(f"scale_by_half must be True, False or 'auto', got {scale_by_half!r}")
        self.scale_by_half = scale_by_half
        if scale_by_half != "auto":
            self.name = f"brier(scale_by_half={scale_by_half})"
        self.reset()

    def _terms(self, y: Codes, proba: Probabilities) -> NDArray[np.float64]:
        terms = np.empty((2, len(y)))
        compiled().squared_distances(y, proba, terms[0])
        terms[1] = y >= 2  # its mean tells whether there is such a code
        self._n_columns = max(self._n_columns, proba.shape[1])
        return terms

    def _of(self, means: Means) -> float:
        two = self._n_columns <= 2 and means.mean(1) == 0.0
        halved = two if self.scale_by_half == "auto" else self.scale_by_half
        return means.mean() / (2.0 if halved else 1.0)

    def merge(self, other: Self) -> None:
        """Take in all rows of another Brier score, which stays as it is.

        Parameters
        ----------
        other : Brier
            Neither of the two may be fading.
        """
        super().merge(other)
        self._n_columns = max(self._n_columns, other._n_columns)

    def reset(self) -> Self:
        """Forget all rows.

        Returns
        -------
        Self
            The metric itself.
        """
        self._n_columns = 0
        return super().reset()
