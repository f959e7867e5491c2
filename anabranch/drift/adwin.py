"""Adaptive windowing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from anabranch._parameters import Constraint, Number, OneOf
from anabranch.drift.base import CompiledDetector

__all__ = ["ADWIN"]

# Places in the kernel's state (anabranch.kernels.drift), named here so that the module need not import numba.
_KIND = 0
_WIDTH, _TOTAL, _VARIANCE, _LAST, _HEAD = range(1, 6)
_ROWS = 4  # of buckets that there is room for at the start, and that are added where there is none


class ADWIN(CompiledDetector):
    """Adaptive windowing: a window as long as its mean has not changed, cut where it has.

    The latest values lie in a window. Wherever it could be cut in two, the means of both parts are compared; if they
    differ by more than chance allows (a bound with confidence ``delta``), the oldest values go: a drift.
    The window is kept as a histogram with buckets of 1, 2, 4, ... values, at most ``max_buckets`` of each, so that
    n values take memory in proportion to log n.

    Parameters
    ----------
    delta : float, default=0.002
        Probability allowed for a false alarm, per test.
    clock : int, default=32
        Test after every so many values only.
    max_buckets : int, default=5
        Buckets of each size that may stay (M): more make for more cuts to be tried, and for a larger state.
    min_window_length : int, default=5
        Least length of either part of a cut: both must have at least two values more.
    grace_period : int, default=10
        Test only a window that is longer than this.
    mode : {"both", "up", "down"}, default="both"
        Which changes of the mean are drifts: with ``"up"`` a cut after which the mean is higher, as a learner's errors
        want it. The window is cut at all of them.
    nan_policy : {"raise", "skip"}, default="raise"
        What to do with NaN: refuse it, or pass it over as if it had not come.

    Attributes
    ----------
    width_ : int
        Values in the window.
    mean_, variance_ : float
        Of the values in the window; NaN before the first.
    n_detections_ : int
        Number of drifts so far.

    Notes
    -----
    Values may be any numbers; the bound is proven for numbers from 0 to 1, and follows the variance in the window.
    There is no warning. After a drift the window keeps what is
    newer than the change.

    The bound is that of the authors' own code in MOA, with ln(2 ln(n) / delta) for n values in the window, and so are
    the choices [1]_ leaves open (``clock``, ``min_window_length``, ``grace_period``). MOA's ``ADWINChangeDetector``
    has ``mode="up"``; where MOA's learners keep an ADWIN by themselves they look at all cuts. River empties the window
    at a drift, which this does not. MOA's 32-bit products overflow in windows beyond some hundred thousand values; here
    they do not.

    References
    ----------
    .. [1] A. Bifet and R. Gavaldà, "Learning from time-changing data with adaptive windowing", SDM 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.drift import ADWIN
    >>> rng = np.random.default_rng(1)
    >>> values = np.concatenate([rng.normal(0, 1, 1000), rng.normal(1, 1, 1000)])
    >>> detector = ADWIN()
    >>> detector.update(values)
    array([1055, 1087, 1119, 1279])
    >>> detector.width_, round(detector.mean_, 1)
    (976, 1.0)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "delta": Number(0, 1, open_low=True, open_high=True),
        "clock": Number(1, integer=True),
        "max_buckets": Number(1, 1000, integer=True),
        "min_window_length": Number(1, integer=True),
        "grace_period": Number(1, integer=True),
        "mode": OneOf(("both", "up", "down")),
    }
    _lasting: ClassVar[tuple[str, ...]] = ("max_buckets",)
    _kind: ClassVar[int] = _KIND

    def __init__(
        self,
        *,
        delta: float = 0.002,
        clock: int = 32,
        max_buckets: int = 5,
        min_window_length: int = 5,
        grace_period: int = 10,
        mode: str = "both",
        nan_policy: str = "raise",
    ) -> None:
        self.delta = delta
        self.clock = clock
        self.max_buckets = max_buckets
        self.min_window_length = min_window_length
        self.grace_period = grace_period
        self.mode = mode
        self.nan_policy = nan_policy

    @property
    def width_(self) -> int:
        """Number of values in the window."""
        return int(self._state[_WIDTH]) if self._begun else 0

    @property
    def mean_(self) -> float:
        """Mean of the values in the window; NaN if there is none."""
        return float(self._state[_TOTAL] / self._state[_WIDTH]) if self.width_ else float("nan")

    @property
    def variance_(self) -> float:
        """Variance of the values in the window; NaN if there is none."""
        return max(float(self._state[_VARIANCE] / self._state[_WIDTH]), 0.0) if self.width_ else float("nan")

    def _row(self) -> int:
        return 2 * int(self.max_buckets) + 3

    def _size(self) -> int:
        return _HEAD + _ROWS * self._row()

    def _own_settings(self) -> list[float]:
        window = [self.delta, self.clock, self.max_buckets, self.min_window_length, self.grace_period]
        return [*window, self.mode != "down", self.mode != "up"]

    def _grow(self) -> None:
        self._state = np.concatenate([self._state, np.zeros(_ROWS * self._row())])

    def _fits_together(self) -> bool:
        rows, rest = divmod(len(self._state) - _HEAD, self._row())
        counts = self._state[_HEAD :: self._row()]
        return (
            rest == 0
            and self._state[_LAST] in range(rows)
            and bool(np.isin(counts, np.arange(self.max_buckets + 1)).all())
        )
