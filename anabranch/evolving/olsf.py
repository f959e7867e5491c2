"""Online learning with streaming features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from anabranch._parameters import Constraint, Number, OneOf
from anabranch.evolving._haphazard import CONSTRAINTS, HaphazardClassifier
from anabranch.kernels import haphazard as kernels
from anabranch.schema import Floats

__all__ = ["OLSFClassifier"]

_VARIANTS = ("OLSF", "OLSF-I", "OLSF-II")  # in the order of the kernel's PA, PA_1, PA_2


class OLSFClassifier(HaphazardClassifier):
    """Online learning with streaming features (OLSF): rows and features both grow, as in a trapezoid.

    Passive-aggressive steps on the features known so far and on the new ones, then sparsity [1]_. For a row with
    hinge loss l = max(0, 1 - y w.x), where w knows the old features only,

        w <- [w + tau y x_old, tau y x_new],  tau = l / |x|^2 (OLSF),  min(C, l / |x|^2) (OLSF-I),
        or  l / (|x|^2 + 1 / (2 C)) (OLSF-II);
        w <- min(1, radius / |w|_1) w;  then all but the share B of the weights, the largest by size, become 0.

    Parameters
    ----------
    variant : {"OLSF", "OLSF-I", "OLSF-II"}, default="OLSF-I"
        The plain form puts each row right whatever it takes; the others hold back.
    C : float, default=0.01
        Aggressiveness of OLSF-I and OLSF-II: the larger, the less they hold back. A row's weight multiplies it.
    radius : float, default=30.0
        Weights are shrunk to an L1 norm of at most this; the paper's lambda.
    share : float, default=1.0
        Share B of the features known that may have a weight, above 0 and at most 1: at 1, none is cut.
    scaling : {"none", "standard", "max_abs"}, default="standard"
        How numeric columns are scaled: not at all, as in the paper; by mean and standard deviation; or by the largest
        size, each of the rows so far that had the column.
    fit_intercept : bool, default=True
        Whether there is a feature that is always 1. The paper has none.
    nominal_features : list of int or str, optional
        Columns whose numbers are categories: positions in arrays, names in data frames. Text is nominal anyway.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights; NaN for nominal columns, whose weights are in ``nominal_coef_``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    nominal_coef_ : dict of dict
        Weights of each value of each nominal column.
    nbytes : int
        Bytes of state: some 8 per class and feature, and 32 per feature for scaling.

    Notes
    -----
    The paper is about two classes; more are learned one against the rest. An absent value adds nothing to score and
    step, so that columns may also vanish and return; their weights stay.

    References
    ----------
    .. [1] Q. Zhang, P. Zhang, G. Long, W. Ding, C. Zhang and X. Wu, "Online learning from trapezoidal data streams",
       IEEE Transactions on Knowledge and Data Engineering 28(10), 2016.

    Examples
    --------
    >>> from anabranch.evolving import OLSFClassifier
    >>> learner = OLSFClassifier(variant="OLSF", scaling="none", fit_intercept=False)
    >>> learner.learn_one({"a": 1.0}, "yes")
    >>> learner.learn_one({"a": 0.0, "b": 2.0}, "no")
    >>> learner.classes_.tolist(), learner.coef_.tolist()
    (['yes', 'no'], [[-1.0, 0.5]])
    """

    _method = kernels.OLSF

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "variant": OneOf(_VARIANTS),
        "C": Number(0, 1e30, open_low=True),
        "radius": Number(0, 1e50, open_low=True),
        "share": Number(0, 1, open_low=True),
        **CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        variant: str = "OLSF-I",
        C: float = 0.01,
        radius: float = 30.0,
        share: float = 1.0,
        scaling: str = "standard",
        fit_intercept: bool = True,
        nominal_features: Sequence[int | str] | None = None,
    ) -> None:
        self.variant = variant
        self.C = C
        self.radius = radius
        self.share = share
        self.scaling = scaling
        self.fit_intercept = fit_intercept
        self.nominal_features = nominal_features

    def _set_options(self, options: Floats) -> None:
        options[kernels.VARIANT] = _VARIANTS.index(self.variant)
        options[kernels.C] = self.C
        options[kernels.RADIUS] = self.radius
        options[kernels.SHARE] = self.share
