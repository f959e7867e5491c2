"""Drift detection by McDiarmid's bound on weighted means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from anabranch._parameters import Constraint, Number
from anabranch.drift.hddm_a import HDDMA

__all__ = ["HDDMW"]


class HDDMW(HDDMA):
    """HDDM, W-test: exponentially weighted means before and after a cut, by McDiarmid's bound.

    The cut is where the weighted mean plus its bound was least. If the weighted mean of the values after it is above
    that of the values before it by more than McDiarmid's inequality allows with confidence ``drift_confidence``, there
    is a drift, and everything starts anew.

    Parameters
    ----------
    drift_confidence : float, default=0.001
        Probability allowed for a false drift.
    warning_confidence : float, default=0.005
        Probability allowed for a false warning.
    newest_weight : float, default=0.05
        Weight of the newest value in a mean (lambda); all others share the rest.
    two_sided : bool, default=False
        Start anew when the mean falls, too; that is no drift, for errors that become fewer harm nobody.
    nan_policy : {"raise", "skip"}, default="raise"
        What to do with NaN: refuse it, or pass it over as if it had not come.

    Attributes
    ----------
    n_detections_ : int
        Number of drifts so far.

    See Also
    --------
    HDDMA : plain means, for drifts that come at once.

    Notes
    -----
    Values are numbers from 0 to 1, such as errors. All is as in MOA, which is by the authors of [1]_.

    References
    ----------
    .. [1] I. Frías-Blanco, J. del Campo-Ávila, G. Ramos-Jiménez, R. Morales-Bueno, A. Ortiz-Díaz and
       Y. Caballero-Mota, "Online and non-parametric drift detection methods based on Hoeffding's bounds", IEEE
       Transactions on Knowledge and Data Engineering 27(3), 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.drift import HDDMW
    >>> rng = np.random.default_rng(1)
    >>> errors = rng.random(2000) < np.where(np.arange(2000) < 1000, 0.1, 0.4)
    >>> HDDMW().update(errors)
    array([1034])
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **HDDMA._constraints,
        "newest_weight": Number(0, 1, open_low=True, open_high=True),
    }
    _kind: ClassVar[int] = 5

    def __init__(
        self,
        *,
        drift_confidence: float = 0.001,
        warning_confidence: float = 0.005,
        newest_weight: float = 0.05,
        two_sided: bool = False,
        nan_policy: str = "raise",
    ) -> None:
        super().__init__(
            drift_confidence=drift_confidence,
            warning_confidence=warning_confidence,
            two_sided=two_sided,
            nan_policy=nan_policy,
        )
        self.newest_weight = newest_weight

    def _size(self) -> int:
        return 12

    def _own_settings(self) -> list[float]:
        return [*super()._own_settings(), self.newest_weight]
