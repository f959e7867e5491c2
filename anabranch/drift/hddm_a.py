"""Drift detection by Hoeffding's bound on means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from anabranch._parameters import Constraint, Flag, Number
from anabranch.drift.base import CompiledDetector

__all__ = ["HDDMA"]


class HDDMA(CompiledDetector):
    """HDDM, A-test: the mean of all values against that of the first ones, by Hoeffding's bound.

    The first values are those up to the cut where the mean plus its bound was least. If the mean of all values is above
    that of the first by more than Hoeffding's inequality allows with confidence ``drift_confidence``, there is a drift,
    and everything starts anew.

    Parameters
    ----------
    drift_confidence : float, default=0.001
        Probability allowed for a false drift.
    warning_confidence : float, default=0.005
        Probability allowed for a false warning.
    two_sided : bool, default=True
        Start anew when the mean falls, too; that is no drift, for errors that become fewer harm nobody.
    nan_policy : {"raise", "skip"}, default="raise"
        What to do with NaN: refuse it, or pass it over as if it had not come.

    Attributes
    ----------
    n_detections_ : int
        Number of drifts so far.

    See Also
    --------
    HDDMW : weights recent values more, for drifts that come slowly.

    Notes
    -----
    Values are numbers from 0 to 1, such as errors. All is as in MOA, which is by the authors of [1]_. (River calls a
    fall a drift as well, if asked to look at both sides.)

    References
    ----------
    .. [1] I. Frías-Blanco, J. del Campo-Ávila, G. Ramos-Jiménez, R. Morales-Bueno, A. Ortiz-Díaz and
       Y. Caballero-Mota, "Online and non-parametric drift detection methods based on Hoeffding's bounds", IEEE
       Transactions on Knowledge and Data Engineering 27(3), 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.drift import HDDMA
    >>> rng = np.random.default_rng(1)
    >>> errors = rng.random(2000) < np.where(np.arange(2000) < 1000, 0.1, 0.4)
    >>> HDDMA().update(errors)
    array([1033])
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "drift_confidence": Number(0, 1, open_low=True, open_high=True),
        "warning_confidence": Number(0, 1, open_low=True, open_high=True),
        "two_sided": Flag(),
    }
    _low: ClassVar[float] = 0.0
    _high: ClassVar[float] = 1.0
    _kind: ClassVar[int] = 4

    def __init__(
        self,
        *,
        drift_confidence: float = 0.001,
        warning_confidence: float = 0.005,
        two_sided: bool = True,
        nan_policy: str = "raise",
    ) -> None:
        self.drift_confidence = drift_confidence
        self.warning_confidence = warning_confidence
        self.two_sided = two_sided
        self.nan_policy = nan_policy

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.warning_confidence < self.drift_confidence:
            raise ValueError(
                f"warning_confidence must not be below drift_confidence, got {self.warning_confidence!r} and "
                f"{self.drift_confidence!r}."
            )

    def _size(self) -> int:
        return 6

    def _own_settings(self) -> list[float]:
        return [self.drift_confidence, self.warning_confidence, self.two_sided]
