"""Metrics of predicted numbers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from anabranch.metrics._means import Means, RegressionMeanMetric

Values = NDArray[np.float64]


class MAE(RegressionMeanMetric):
    """Mean absolute error.

    Attributes
    ----------
    value : float
        In the target's unit; NaN before the first row.

    Examples
    --------
    >>> from anabranch.metrics import MAE
    >>> MAE().update([1.0, 2.0], [1.5, 1.0]).value
    0.75
    """

    name = "mae"
    label = "MAE"
    greater_is_better = False
    percent = False

    def _terms(self, y: Values, proba: Values) -> Values:
        return np.abs(y - proba)


class RMSE(RegressionMeanMetric):
    """Root of the mean squared error.

    Attributes
    ----------
    value : float
        In the target's unit; NaN before the first row.

    Examples
    --------
    >>> from anabranch.metrics import RMSE
    >>> RMSE().update([1.0, 2.0], [4.0, 6.0]).value == 12.5 ** 0.5
    True
    """

    name = "rmse"
    label = "RMSE"
    greater_is_better = False
    percent = False

    def _terms(self, y: Values, proba: Values) -> Values:
        return np.square(y - proba)

    def _of(self, means: Means) -> float:
        return math.sqrt(means.mean())


class R2(RegressionMeanMetric):
    """Coefficient of determination: the share of the target's variance that the predictions explain.

    It is 1 - (mean squared error) / (variance of the true values): 1 if all is right, 0 if it is no better than the
    mean of the rows in question, which nobody knew in time, and below 0, without bound, if it is worse. Where the
    true values do not vary, one row being the least case of that, it is 1 if all is right and 0 else, as in
    scikit-learn.

    Over a run and over a window the variance is exact, whatever the mean: no digits are lost where the values are
    large and differ little.

    Attributes
    ----------
    value : float
        At most 1; NaN before the first row.

    Examples
    --------
    >>> from anabranch.metrics import R2
    >>> R2().update([1.0, 2.0, 3.0], [1.0, 2.0, 4.0]).value
    0.5
    >>> R2().update([7.0, 7.0], [7.0, 8.0]).value
    0.0
    """

    name = "r2"
    label = "R2"
    greater_is_better = True
    percent = False

    _n_terms = 2
    _spread = (1,)

    def _terms(self, y: Values, proba: Values) -> Values:
        return np.stack([np.square(y - proba), y])

    def _of(self, means: Means) -> float:
        error, variance = means.mean(0), means.variance(1)
        if variance == 0.0:
            return 1.0 if error == 0.0 else 0.0
        return 1.0 - error / variance
