"""Passive-aggressive learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from anabranch._parameters import Columns, Constraint, Flag, Number, OneOf
from anabranch.base import StreamClassifier
from anabranch.kernels import linear as kernels
from anabranch.linear_model._linear import LinearClassifier
from anabranch.schema import Floats

__all__ = ["PassiveAggressiveClassifier"]

_VARIANTS = {"PA": kernels.PA, "PA-I": kernels.PA_1, "PA-II": kernels.PA_2}


class PassiveAggressiveClassifier(LinearClassifier, StreamClassifier):
    """Passive-aggressive classifier: change the weights as little as puts each row right, with a margin of 1.

    With the hinge loss l = max(0, 1 - y w.x) of a row, the step is w <- w + tau y x, where

        tau = l / |x|^2  (PA),   min(C, l / |x|^2)  (PA-I),   l / (|x|^2 + 1 / (2 C))  (PA-II).

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        The plain form puts each row right whatever it takes, so that one wrong label may undo much; the others hold
        back.
    C : float, default=1.0
        Aggressiveness of PA-I and PA-II: the larger, the less they hold back. A row's weight multiplies it.
    fit_intercept : bool, default=True
        Whether there is an intercept: the weight of a further column that is always 1.
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
        Bytes of state.

    Notes
    -----
    For more than two classes there is a vector of weights for each, and a step moves that of the right class and that
    of its best rival (section 8 of [1]_); the margin is the difference of their scores, and |x|^2 counts twice.
    Up to two classes share one vector; when a third turns up, it becomes two of plus and minus half its weights.

    Rows may be sparse (SciPy's CSR; other formats are converted): each costs as much as it has entries, and teaches
    exactly what the same row written out does. What is missing adds nothing. Probabilities are the scores squashed
    as in logistic regression: their order is right, their size means little.

    References
    ----------
    .. [1] K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, "Online passive-aggressive algorithms",
       Journal of Machine Learning Research 7, 2006.

    Examples
    --------
    >>> from anabranch.linear_model import PassiveAggressiveClassifier
    >>> learner = PassiveAggressiveClassifier(variant="PA", fit_intercept=False)
    >>> learner.partial_fit([[2.0, 0.0]], ["yes"], classes=["no", "yes"]).coef_
    array([[0.5, 0. ]])
    >>> learner.decision_function([[2.0, 5.0]])
    array([1.])
    """

    _takes_sparse = True

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "variant": OneOf(tuple(_VARIANTS)),
        "C": Number(0, 1e30, open_low=True),
        "fit_intercept": Flag(),
        "nominal_features": Columns(),
    }

    def __init__(
        self,
        *,
        variant: str = "PA-I",
        C: float = 1.0,
        fit_intercept: bool = True,
        nominal_features: Sequence[int | str] | None = None,
    ) -> None:
        self.variant = variant
        self.C = C
        self.fit_intercept = fit_intercept
        self.nominal_features = nominal_features

    def _options(self) -> Floats:
        options = np.zeros(kernels.OPTIONS_SIZE)
        options[kernels.LOSS] = kernels.HINGE
        options[kernels.RULE] = _VARIANTS[self.variant]
        options[kernels.AGGRESSIVENESS] = self.C
        options[kernels.INTERCEPT] = self.fit_intercept
        options[kernels.SCALING] = kernels.UNSCALED
        return options

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # one pass over few rows: the last of them weigh much
        return tags
