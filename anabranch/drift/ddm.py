"""Drift detection method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from anabranch._parameters import Constraint, Number
from anabranch.drift.base import CompiledDetector

__all__ = ["DDM"]


class DDM(CompiledDetector):
    """Drift detection method: a learner whose errors become more frequent meets another concept.

    While a concept stays, the error rate p of a learner can only fall, and so does p + s with its standard deviation
    s = sqrt(p (1 - p) / n). The least p + s so far is kept, as p_min and s_min. Where p + s exceeds
    p_min + ``warning_level`` s_min, the detector warns; beyond p_min + ``drift_level`` s_min there is a drift, and
    everything starts anew.

    Parameters
    ----------
    min_values : int, default=30
        A drift is detected at this value after a start at the earliest.
    warning_level : float, default=2.0
        Standard deviations to a warning.
    drift_level : float, default=3.0
        Standard deviations to a drift.
    nan_policy : {"raise", "skip"}, default="raise"
        What to do with NaN: refuse it, or pass it over as if it had not come.

    Attributes
    ----------
    n_detections_ : int
        Number of drifts so far.

    Notes
    -----
    A value is 1 for an error and 0 for a hit, or anything between. All is as in MOA. After ``min_values`` values
    without a single error s_min is 0, and the first error is a drift: so it is in the paper [1]_ and everywhere else.

    References
    ----------
    .. [1] J. Gama, P. Medas, G. Castillo and P. Rodrigues, "Learning with drift detection", SBIA 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.drift import DDM
    >>> rng = np.random.default_rng(2)
    >>> errors = rng.random(2000) < np.where(np.arange(2000) < 1000, 0.1, 0.4)
    >>> DDM().update(errors)
    array([  89, 1058])
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "min_values": Number(1, integer=True),
        "warning_level": Number(0, open_low=True),
        "drift_level": Number(0, open_low=True),
    }
    _low: ClassVar[float] = 0.0
    _high: ClassVar[float] = 1.0
    _kind: ClassVar[int] = 1

    def __init__(
        self,
        *,
        min_values: int = 30,
        warning_level: float = 2.0,
        drift_level: float = 3.0,
        nan_policy: str = "raise",
    ) -> None:
        self.min_values = min_values
        self.warning_level = warning_level
        self.drift_level = drift_level
        self.nan_policy = nan_policy

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.warning_level > self.drift_level:
            raise ValueError(
                f"warning_level must not be above drift_level, got {self.warning_level!r} and {self.drift_level!r}."
            )

    def _size(self) -> int:
        return 4

    def _own_settings(self) -> list[float]:
        return [self.min_values, self.warning_level, self.drift_level]
