"""Page-Hinkley test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from anabranch._parameters import Constraint, Number, OneOf
from anabranch.drift.base import CompiledDetector

__all__ = ["PageHinkley"]


class PageHinkley(CompiledDetector):
    """Page-Hinkley test: how far the sum of the differences from the mean has risen above its lowest point.

    The sum m takes in every value x by m = ``alpha`` m + (x - mean - ``delta``), with the mean of all values so far, x
    included. While nothing changes, it sinks; where it has risen from its lowest point by more than ``threshold``,
    there is a drift, and everything starts anew.

    Parameters
    ----------
    min_values : int, default=30
        A drift is detected only once that many values, less one, have come since the start.
    delta : float, default=0.005
        Change of the mean that is let pass.
    threshold : float, default=50.0
        Height of the rise that is a drift (lambda): larger, fewer false alarms and later true ones.
    alpha : float, default=0.9999
        Factor by which the sum fades at each value.
    mode : {"up", "down", "both"}, default="up"
        Which changes of the mean to detect.
    rise_from : {"minimum", "zero"}, default="minimum"
        Where the rise is measured from: the lowest point of the sum, as published, or zero, as MOA does, which finds a
        change the later, the further the sum has sunk before.
    nan_policy : {"raise", "skip"}, default="raise"
        What to do with NaN: refuse it, or pass it over as if it had not come.

    Attributes
    ----------
    n_detections_ : int
        Number of drifts so far.

    Notes
    -----
    Values may be any numbers; ``delta`` and ``threshold`` are in their unit. The fall is the same test on
    the values with the other sign. There is no warning. With ``rise_from="zero"`` it fires where MOA's does.

    References
    ----------
    .. [1] E. S. Page, "Continuous inspection schemes", Biometrika 41, 1954.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.drift import PageHinkley
    >>> rng = np.random.default_rng(1)
    >>> values = np.concatenate([rng.normal(0, 1, 1000), rng.normal(1, 1, 1000)])
    >>> PageHinkley().update(values)
    array([1032])
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "min_values": Number(1, integer=True),
        "delta": Number(0),
        "threshold": Number(0, open_low=True),
        "alpha": Number(0, 1, open_low=True),
        "mode": OneOf(("up", "down", "both")),
        "rise_from": OneOf(("minimum", "zero")),
    }
    _kind: ClassVar[int] = 6

    def __init__(
        self,
        *,
        min_values: int = 30,
        delta: float = 0.005,
        threshold: float = 50.0,
        alpha: float = 0.9999,
        mode: str = "up",
        rise_from: str = "minimum",
        nan_policy: str = "raise",
    ) -> None:
        self.min_values = min_values
        self.delta = delta
        self.threshold = threshold
        self.alpha = alpha
        self.mode = mode
        self.rise_from = rise_from
        self.nan_policy = nan_policy

    def _size(self) -> int:
        return 6

    def _own_settings(self) -> list[float]:
        sums = [self.min_values, self.delta, self.threshold, self.alpha]
        return [*sums, self.mode != "down", self.mode != "up", self.rise_from == "zero"]
