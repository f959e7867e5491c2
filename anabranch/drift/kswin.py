"""Kolmogorov-Smirnov test between the latest values and a sample of those before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from anabranch._parameters import Constraint, Number
from anabranch._random import RandomState, seed_sequence
from anabranch.drift.base import CompiledDetector

__all__ = ["KSWIN"]

# Places in the kernel's state (anabranch.kernels.drift).
_TIME, _FILLED, _SEED, _DRAWS, _DISTANCE, _HEAD = range(6)


class KSWIN(CompiledDetector):
    """Kolmogorov-Smirnov windowing: the latest values against a sample of those before, whatever has changed in them.

    A window holds the latest ``window_size`` values. At each value the latest ``stat_size`` of them are compared with
    as many drawn from the others: if a two-sample Kolmogorov-Smirnov test says that they are of one distribution with a
    p-value of at most ``alpha``, there is a drift, and the window keeps the latest ``stat_size`` values only.

    Parameters
    ----------
    alpha : float, default=0.005
        p-value that is a drift. There is a test at every value: the smaller, the fewer false alarms.
    window_size : int, default=100
        Values in the window.
    stat_size : int, default=30
        Values in each of the two samples; at most half of ``window_size``.
    random_state : int, Generator or None, default=None
        Seed for the draws.
    nan_policy : {"raise", "skip"}, default="raise"
        What to do with NaN: refuse it, or pass it over as if it had not come.

    Attributes
    ----------
    p_value_ : float
        Of the latest test; NaN where there was none.
    n_detections_ : int
        Number of drifts so far.

    Notes
    -----
    Any change of the distribution counts, not that of the mean alone, and there is no warning. The p-value is exact,
    not asymptotic: the chance that a path of ``stat_size`` steps up and as many down strays as far from its start, by
    the reflection principle. Equal values move both distribution functions at once. As in River and scikit-multiflow a
    distance between the distributions of 0.1 or less is never a drift, which matters for large ``stat_size`` alone.

    The window is kept in order of size; one walk through it draws the sample and finds the distance. Draws depend on
    the seed and on the number of draws before.

    References
    ----------
    .. [1] C. Raab, M. Heusinger and F.-M. Schleif, "Reactive soft prototype computing for concept drift streams",
       Neurocomputing 416, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.drift import KSWIN
    >>> rng = np.random.default_rng(1)
    >>> values = np.concatenate([rng.normal(0, 1, 500), rng.normal(0, 4, 500)])  # the mean stays
    >>> KSWIN(alpha=0.001, random_state=1).update(values)
    array([531])
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": Number(0, 1, open_low=True, open_high=True),
        "window_size": Number(2, integer=True),
        "stat_size": Number(1, integer=True),
        "random_state": RandomState(),
    }
    _lasting: ClassVar[tuple[str, ...]] = ("window_size", "stat_size")
    _kind: ClassVar[int] = 7

    def __init__(
        self,
        *,
        alpha: float = 0.005,
        window_size: int = 100,
        stat_size: int = 30,
        random_state: Any = None,
        nan_policy: str = "raise",
    ) -> None:
        self.alpha = alpha
        self.window_size = window_size
        self.stat_size = stat_size
        self.random_state = random_state
        self.nan_policy = nan_policy

    @property
    def p_value_(self) -> float:
        """p-value of the test at the latest value; NaN where there was none, as the window is not full."""
        if not self._begun or self._state[_DISTANCE] == 0:
            return float("nan")
        return _p_value(int(self.stat_size), int(self._state[_DISTANCE]))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if 2 * self.stat_size > self.window_size:
            raise ValueError(
                f"stat_size must be at most half of window_size, got {self.stat_size} and {self.window_size}."
            )

    def _begin(self) -> None:
        super()._begin()
        self._state[_SEED] = int(seed_sequence(self.random_state).generate_state(1, np.uint64)[0] >> 11)

    def _size(self) -> int:
        return _HEAD + 2 * int(self.window_size)

    def _own_settings(self) -> list[float]:
        n = int(self.stat_size)
        far = (h for h in range(1, n + 1) if _p_value(n, h) <= self.alpha and h > 0.1 * n)
        return [self.window_size, n, next(far, n + 1)]

    def _fits_together(self) -> bool:
        if len(self._state) != self._size():
            return False
        window = int(self.window_size)
        time, filled = self._state[_TIME], self._state[_FILLED]
        came = self._state[_HEAD + window :]
        if filled not in range(window + 1) or not (time >= filled and 0 <= self._state[_SEED] < 2**53):
            return False
        return bool(np.array_equal(np.sort(came[: int(filled)]), np.arange(time - filled, time)))


def _p_value(n: int, h: int) -> float:
    """Probability that the distributions of two samples of n values are h values or more apart, if they are of one.

    By the reflection principle it is 2 (C(n - h) - C(n - 2h) + C(n - 3h) - ...) / C(n), where C(k) is the number of
    ways to choose k of 2n. The ratio of one term to the one before is a product of h ratios below 1.

    >>> round(_p_value(30, 13), 6), round(_p_value(30, 12), 6)
    (0.006548, 0.015643)
    """
    if h == 0:
        return 1.0
    result = 0.0
    for k in range(n // h - 1, -1, -1):  # as in Horner's scheme, from the inside
        ratio = 1.0
        for j in range(h):
            ratio *= (n - k * h - j) / (n + k * h + j + 1)
        result = ratio * (1.0 - result)
    return min(2.0 * result, 1.0)
