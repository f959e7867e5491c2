"""Any metric with old rows fading away."""

from __future__ import annotations

from typing import Any, Self

from anabranch.metrics._base import Metric


class Fading(Metric):
    """A metric in which the weight of a row shrinks by a factor with each row after it [1]_.

    The row that came `a` rows ago weighs ``factor ** a``; counts and means become sums of weights and weighted means,
    and so do the pairs of rows behind an area under the curve. About ``1 / (1 - factor)`` rows are in it, as it were:
    it answers to change as a window of that many rows does, without keeping them. (Those that rank rows keep them,
    until they weigh less than 2**-60.)

    Parameters
    ----------
    metric : Metric, type of Metric or str
        What to compute, as in :func:`anabranch.metrics.get`; the metric itself is not updated. Any metric of the
        library, and those of your own that are built on :class:`~anabranch.metrics.CountMetric` or
        :class:`~anabranch.metrics.MeanMetric`.
    factor : float, default 0.999
        Above 0, at most 1.

    Attributes
    ----------
    value : float
        NaN before the first row.

    Raises
    ------
    ValueError
        If `factor` is not in (0, 1].
    TypeError
        If the metric cannot fade.

    References
    ----------
    .. [1] J. Gama, R. Sebastiao and P. P. Rodrigues, "On evaluating stream learning algorithms", Machine Learning
       90, 2013.

    Examples
    --------
    >>> from anabranch.metrics import Fading
    >>> metric = Fading("accuracy", factor=0.5)
    >>> metric.update([0, 0, 0], [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]).value == (0.25 + 1) / (0.25 + 0.5 + 1)
    True
    >>> metric.name, metric.label
    ('fading(accuracy, 0.5)', 'Accuracy, fading by 0.5')
    """

    def __init__(self, metric: Metric | type[Metric] | str, factor: float = 0.999) -> None:
        from anabranch.metrics import get

        if not 0.0 < factor <= 1.0:
            raise ValueError(f"factor must be above 0 and at most 1, got {factor}")
        self.metric = get(metric)
        self.factor = float(factor)
        self.name = f"fading({self.metric.name}, {self.factor!r})"
        self.label = f"{self.metric.label}, fading by {self.factor!r}"
        self.greater_is_better = self.metric.greater_is_better
        self.percent = self.metric.percent
        self.task = self.metric.task
        self._faded = self.metric._fading(self.factor)

    def _check(self, y: Any, proba: Any) -> tuple[Any, Any]:
        return self.metric._check(y, proba)

    def _update(self, y: Any, proba: Any) -> None:
        self._faded._update(y, proba)

    @property
    def value(self) -> float:
        """The metric over all rows, by their weights; NaN before the first."""
        return self._faded.value

    def reset(self) -> Self:
        """Forget all rows.

        Returns
        -------
        Self
            The metric itself.
        """
        self._faded.reset()
        return self
