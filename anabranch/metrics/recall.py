"""Recall, precision and their harmonic mean: for one class, or averaged over the classes."""

from __future__ import annotations

from abc import abstractmethod
from operator import index

import numpy as np
from numpy.typing import NDArray

from anabranch.metrics.confusion import CountMetric

_AVERAGES = ("auto", "macro", "micro", "weighted")


class ClassMetric(CountMetric):
    """A figure that each class has, of one class or averaged.

    Parameters
    ----------
    average : {"auto", "macro", "micro", "weighted"}, default "auto"
        How the figures of the classes become one: their mean (``"macro"``), their mean weighted by the rows of each
        class (``"weighted"``), or the figure of the counts of all classes taken together (``"micro"``). The classes
        are those that occur in `y` or were predicted. By default it is class 1's while there are up to two classes,
        as with :class:`~anabranch.metrics.ROCAUC`; as soon as a third class is known, from a column of `proba` or a
        code in `y`, it is the macro average.
    label : int, optional
        Code of the one class that it is about, instead of an average. Where it has neither a row nor a prediction,
        the value is 0.

    Attributes
    ----------
    value : float
        In [0, 1]; NaN before the first row. What would be 0/0 is 0, as in scikit-learn by default.
    matrix : ConfusionMatrix
        The counts behind it.

    Raises
    ------
    ValueError
        If `average` is none of these, `label` is negative, or both are given.
    TypeError
        If `label` is not an integer.
    """

    greater_is_better = True
    percent = True

    def __init__(self, average: str = "auto", label: int | None = None) -> None:
        if average not in _AVERAGES:
            raise ValueError(f"average must be one of {', '.join(map(repr, _AVERAGES))}, got {average!r}")
        if label is not None:
            if isinstance(label, str):
                raise TypeError(
                    f"label must be the code of a class, its place among the learner's classes, got {label!r}"
                )
            label = index(label)
            if average != "auto":
                raise ValueError("average and label cannot both be given: one class is not averaged")
            if label < 0:
                raise ValueError(f"label must be the code of a class, >= 0, got {label}")
        self.average = average
        self.code = label
        if label is not None:
            self.name, self.label = f"{type(self).name}(label={label})", f"{type(self).label} of class {label}"
        elif average != "auto":
            self.name, self.label = f"{type(self).name}(average={average!r})", f"{average.capitalize()} {self._low}"
        self.reset()

    @property
    def _low(self) -> str:
        return self.label if self.label[1:].isupper() or self.label[1:].isdigit() else self.label.lower()

    @staticmethod
    @abstractmethod
    def _ratio(hits: float, support: float, predicted: float) -> tuple[float, float]:
        """Numerator and denominator of the figure."""

    @property
    def per_class(self) -> NDArray[np.float64]:
        """The figure of each class, shape (k,); 0 where it would be 0/0."""
        return np.array([self._figure(*each) for each in zip(*self.matrix.totals()[:3], strict=True)])

    def _figure(self, hits: float, support: float, predicted: float) -> float:
        above, below = self._ratio(hits, support, predicted)
        return above / below if below > 0 else 0.0

    @property
    def value(self) -> float:
        """The figure over all rows; NaN before the first."""
        totals = self.matrix.totals()
        if totals.rows == 0:
            return float("nan")
        counts = list(zip(*totals[:3], strict=True))
        code, average = self.code, self.average
        if code is None and average == "auto":
            code, average = (1, "") if len(counts) <= 2 else (None, "macro")
        if code is not None:
            return self._figure(*counts[code]) if code < len(counts) else 0.0
        there = [(h, s, p) for h, s, p in counts if s > 0 or p > 0]
        if average == "micro":
            hits = sum(h for h, _, _ in there)
            return self._figure(hits, totals.rows, sum(p for _, _, p in there))
        weights = [s if average == "weighted" else 1 for _, s, _ in there]
        figures = [self._figure(*each) for each in there]
        # Weights as shares, so that an average of ones is at most one.
        return min(sum(w * f for w, f in zip(weights, figures, strict=True)) / sum(weights), 1.0)


class Recall(ClassMetric):
    """Share of the rows of a class that were predicted as it.

    Parameters
    ----------
    average : {"auto", "macro", "micro", "weighted"}, default "auto"
        Which average over the classes; by default class 1's figure while there are up to two, and the macro average
        from the third on. More in :class:`~anabranch.metrics.recall.ClassMetric`.
    label : int, optional
        Code of the one class that it is about, instead of an average.

    Attributes
    ----------
    value : float
        In [0, 1], 0 for what would be 0/0; NaN before the first row.
    per_class : ndarray of float64, shape (k,)
        The figure of each class.

    Examples
    --------
    >>> from anabranch.metrics import Recall
    >>> rows = [0, 1, 1, 2], [[0.9, 0.1, 0.0], [0.6, 0.4, 0.0], [0.2, 0.8, 0.0], [0.0, 0.0, 1.0]]
    >>> Recall.compute(*rows) == (1 + 1/2 + 1) / 3
    True
    >>> Recall(label=1).compute(*rows)
    0.5
    """

    name = "recall"
    label = "Recall"

    @staticmethod
    def _ratio(hits: float, support: float, predicted: float) -> tuple[float, float]:
        return hits, support


class Precision(ClassMetric):
    """Share of the rows predicted as a class that have it.

    Parameters
    ----------
    average : {"auto", "macro", "micro", "weighted"}, default "auto"
        Which average over the classes; by default class 1's figure while there are up to two, and the macro average
        from the third on. More in :class:`~anabranch.metrics.recall.ClassMetric`.
    label : int, optional
        Code of the one class that it is about, instead of an average.

    Attributes
    ----------
    value : float
        In [0, 1], 0 for what would be 0/0; NaN before the first row.
    per_class : ndarray of float64, shape (k,)
        The figure of each class.

    Examples
    --------
    >>> from anabranch.metrics import Precision
    >>> Precision().update([0, 1, 1], [[0.2, 0.8], [0.4, 0.6], [0.9, 0.1]]).value
    0.5
    >>> Precision().update([0, 1], [[0.9, 0.1], [0.9, 0.1]]).value  # class 1 is never predicted
    0.0
    """

    name = "precision"
    label = "Precision"

    @staticmethod
    def _ratio(hits: float, support: float, predicted: float) -> tuple[float, float]:
        return hits, predicted


class F1(ClassMetric):
    """Harmonic mean of the precision and the recall of a class.

    Parameters
    ----------
    average : {"auto", "macro", "micro", "weighted"}, default "auto"
        Which average over the classes; by default class 1's figure while there are up to two, and the macro average
        from the third on. More in :class:`~anabranch.metrics.recall.ClassMetric`.
    label : int, optional
        Code of the one class that it is about, instead of an average.

    Attributes
    ----------
    value : float
        In [0, 1], 0 for what would be 0/0; NaN before the first row.
    per_class : ndarray of float64, shape (k,)
        The figure of each class.

    Examples
    --------
    >>> from anabranch.metrics import F1
    >>> F1().update([0, 1, 1, 1], [[0.2, 0.8], [0.4, 0.6], [0.9, 0.1], [0.3, 0.7]]).value == 2/3
    True
    """

    name = "f1"
    label = "F1"

    @staticmethod
    def _ratio(hits: float, support: float, predicted: float) -> tuple[float, float]:
        return 2 * hits, support + predicted
