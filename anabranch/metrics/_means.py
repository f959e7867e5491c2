"""Means over rows, exact or fading, and the metrics that are made of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from anabranch.checkpoint import register
from anabranch.metrics._base import Metric, RegressionMetric, compiled


class Means(Protocol):
    """Means of one or several terms over rows."""

    def add(self, terms: NDArray[np.float64]) -> None:
        """Take in rows: their terms, shape (number of terms, n)."""

    @property
    def empty(self) -> bool:
        """Whether there is no row."""

    def mean(self, term: int = 0) -> float:
        """Mean of a term."""

    def variance(self, term: int) -> float:
        """Mean squared difference of a term from its mean."""


@register
class ExactMeans:
    """Means over all rows, from sums that are never rounded.

    So they depend neither on the order of the rows nor on how they came in chunks, rows can be taken back, and
    nothing is lost over long streams. A sum takes 544 bytes.

    Parameters
    ----------
    n_terms : int
    spread : tuple of int
        Terms whose variance is wanted; their size must be at most 1e150.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.metrics._means import ExactMeans
    >>> means = ExactMeans(1)
    >>> means.add(np.array([[1e100, 1.0, -1e100, 2.0]]))
    >>> float(means.mean())
    0.75
    """

    def __init__(self, n_terms: int, spread: tuple[int, ...] = ()) -> None:
        self.n_rows = 0
        self._n_terms = n_terms
        self._spread = spread
        self._words = np.zeros((n_terms + 2 * len(spread), compiled().WORDS), np.int64)

    def add(self, terms: NDArray[np.float64], sign: int = 1) -> None:
        """Take in rows: their terms, shape (number of terms, n); or, with `sign` -1, take them back."""
        if self._spread:
            terms = np.concatenate([terms, *(_exact_square(terms[term]) for term in self._spread)])
        compiled().add_exactly(self._words, terms, sign)
        self.n_rows += sign * terms.shape[1]

    def merge(self, other: ExactMeans) -> None:
        """Take in all rows of another."""
        self._words += other._words
        self.n_rows += other.n_rows
        compiled().add_exactly(self._words, np.zeros((len(self._words), 0)), 1)  # carries

    @property
    def empty(self) -> bool:
        """Whether there is no row."""
        return self.n_rows == 0

    def mean(self, term: int = 0) -> float:
        """Mean of a term."""
        # Python's integers do not overflow, and make the one division the only rounding.
        return self._sum(term) / (self.n_rows << _UNIT)

    def variance(self, term: int) -> float:
        """Mean squared difference of a term from its mean."""
        place = self._n_terms + 2 * self._spread.index(term)
        squares = self._sum(place) + self._sum(place + 1)
        return ((squares * self.n_rows << _UNIT) - self._sum(term) ** 2) / (self.n_rows**2 << 2 * _UNIT)

    def _sum(self, row: int) -> int:
        """A sum in units of 2**-1074."""
        words = self._words[row]
        low = int.from_bytes(words[:-1].astype("<u4").tobytes(), "little")
        return low + (int(words[-1]) << 32 * (len(words) - 1))


_UNIT = 1074


def _exact_square(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squares as sums of two floats without rounding (T. J. Dekker, Numerische Mathematik 18, 1971), shape (2, n)."""
    square = x * x
    high = x * 134217729.0  # 2**27 + 1
    high = high - (high - x)
    low = x - high
    return np.stack([square, ((high * high - square) + 2.0 * high * low) + low * low])


@register
class FadingMeans:
    """Means in which the weight of a row shrinks by a factor with each row after it.

    Parameters
    ----------
    n_terms : int
    factor : float

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.metrics._means import FadingMeans
    >>> means = FadingMeans(1, factor=0.5)
    >>> means.add(np.array([[1.0, 0.0, 1.0]]))
    >>> means.mean() == (0.25 + 1.0) / (0.25 + 0.5 + 1.0)
    True
    """

    def __init__(self, n_terms: int, factor: float) -> None:
        self._factor = factor
        self._state = np.zeros((n_terms + 1, 2))

    def add(self, terms: NDArray[np.float64]) -> None:
        """Take in rows: their terms, shape (number of terms, n)."""
        compiled().fade_means(self._state, terms, self._factor)

    @property
    def empty(self) -> bool:
        """Whether there is no row."""
        return bool(self._state[0, 0] == 0.0)

    def mean(self, term: int = 0) -> float:
        """Mean of a term."""
        return float(self._state[term + 1, 0])

    def variance(self, term: int) -> float:
        """Mean squared difference of a term from its mean."""
        return float(self._state[term + 1, 1] / self._state[0, 0])


class MeanMetric(Metric):
    """A metric that is a function of the means of one or several terms over the rows.

    A metric of your own gives the terms of each row, and, unless it is the mean of the one term, `_of`. Over a run
    and over a window the means are exact: the value is the same to the last bit, however the rows come.

    Attributes
    ----------
    means : ExactMeans or FadingMeans
        What has been taken in.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.metrics import Fading, MeanMetric, Window
    >>> class Doubt(MeanMetric):
    ...     name, label, greater_is_better, percent = "doubt", "Doubt", False, True
    ...     def _terms(self, y, proba):
    ...         return 1.0 - proba.max(axis=1)
    >>> Doubt().update([0, 1], [[0.5, 0.5], [0.0, 1.0]]).value
    0.25
    >>> Window(Doubt, 1).update([0, 1], [[0.5, 0.5], [0.0, 1.0]]).value
    0.0
    """

    means: ExactMeans | FadingMeans

    _n_terms: ClassVar[int] = 1
    _spread: ClassVar[tuple[int, ...]] = ()
    _takes_back = True
    _can_fade = True

    def __init__(self) -> None:
        self.reset()

    @abstractmethod
    def _terms(self, y: Any, proba: Any) -> NDArray[np.float64]:
        """Terms of each row, all finite: shape (n,), or (number of terms, n)."""

    def _of(self, means: Means) -> float:
        """Value from the means, of which there is at least one row."""
        return float(means.mean())

    def _update(self, y: Any, proba: Any) -> None:
        self.means.add(self._two_dimensional(y, proba))

    def _take_back(self, y: Any, proba: Any) -> None:
        self.means.add(self._two_dimensional(y, proba), -1)  # type: ignore[call-arg]  # only called on exact ones

    def _two_dimensional(self, y: Any, proba: Any) -> NDArray[np.float64]:
        return np.ascontiguousarray(self._terms(y, proba), np.float64).reshape(self._n_terms, len(y))

    def merge(self, other: Self) -> None:
        """Take in all rows of another metric of the same class and parameters, which stays as it is.

        Parameters
        ----------
        other : MeanMetric
            Neither of the two may be fading.
        """
        self.means.merge(other.means)  # type: ignore[union-attr, arg-type]

    @property
    def value(self) -> float:
        """The metric over all rows; NaN before the first."""
        return float("nan") if self.means.empty else self._of(self.means)

    def reset(self) -> Self:
        """Forget all rows.

        Returns
        -------
        Self
            The metric itself.
        """
        if self._factor is None:
            self.means = ExactMeans(self._n_terms, self._spread)
        else:
            self.means = FadingMeans(self._n_terms, self._factor)
        return self


class RegressionMeanMetric(MeanMetric, RegressionMetric):
    """The same, of true and predicted numbers."""
