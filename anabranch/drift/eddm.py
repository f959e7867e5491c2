"""Early drift detection method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from anabranch._parameters import Constraint, Number
from anabranch.drift.base import CompiledDetector

__all__ = ["EDDM"]


class EDDM(CompiledDetector):
    """Early drift detection method: errors that come closer together, for drifts that come slowly.

    While a learner gets better, the distance between two errors grows. Its mean p and standard deviation s are
    followed, and the largest p + 2 s so far is kept. Where p + 2 s has fallen below ``warning_level`` times that, the
    detector warns; below ``drift_level`` times that there is a drift, and everything starts anew.

    Parameters
    ----------
    min_errors : int, default=30
        Errors that must have been met before anything is said; the largest p + 2 s is kept from this value on.
    warning_level : float, default=0.95
        Share of the largest p + 2 s below which the detector warns (alpha).
    drift_level : float, default=0.9
        Share of the largest p + 2 s below which there is a drift (beta).
    nan_policy : {"raise", "skip"}, default="raise"
        What to do with NaN: refuse it, or pass it over as if it had not come.

    Attributes
    ----------
    n_detections_ : int
        Number of drifts so far.

    Notes
    -----
    A value is 1 for an error and 0 for a hit. All is as in MOA [1]_: a warning stays until the next error, for between
    errors nothing changes. With the published levels there are false alarms on errors that come by chance alone; lower
    ones have fewer.

    References
    ----------
    .. [1] M. Baena-García, J. del Campo-Ávila, R. Fidalgo, A. Bifet, R. Gavaldà and R. Morales-Bueno, "Early drift
       detection method", Fourth International Workshop on Knowledge Discovery from Data Streams, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.drift import EDDM
    >>> rng = np.random.default_rng(1)
    >>> errors = rng.random(4000) < np.where(np.arange(4000) < 2000, 0.05, 0.4)
    >>> EDDM(warning_level=0.7, drift_level=0.6).update(errors)
    array([2161])
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "min_errors": Number(1, integer=True),
        "warning_level": Number(0, 1, open_low=True),
        "drift_level": Number(0, 1, open_low=True),
    }
    _low: ClassVar[float] = 0.0
    _high: ClassVar[float] = 1.0
    _whole: ClassVar[bool] = True
    _kind: ClassVar[int] = 2

    def __init__(
        self,
        *,
        min_errors: int = 30,
        warning_level: float = 0.95,
        drift_level: float = 0.9,
        nan_policy: str = "raise",
    ) -> None:
        self.min_errors = min_errors
        self.warning_level = warning_level
        self.drift_level = drift_level
        self.nan_policy = nan_policy

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.warning_level < self.drift_level:
            raise ValueError(
                f"warning_level must not be below drift_level, got {self.warning_level!r} and {self.drift_level!r}."
            )

    def _size(self) -> int:
        return 7

    def _own_settings(self) -> list[float]:
        return [self.min_errors, self.warning_level, self.drift_level]
