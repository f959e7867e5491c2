"""Online learning from varying features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from anabranch._parameters import Constraint, Number
from anabranch.evolving._haphazard import CONSTRAINTS, HaphazardClassifier
from anabranch.kernels import haphazard as kernels
from anabranch.schema import Floats

__all__ = ["OLVFClassifier"]


class OLVFClassifier(HaphazardClassifier):
    """Online learning from varying features (OLVF): each row has whatever features it has.

    Two classifiers are learned side by side [1]_: one of instances, w, on the features a row shares with it, and one
    of feature spaces, v, which learns from the mere presence of features whether rows of such a space are put right.
    What it says scales the steps of the first. With sigma(z) = 1 / (1 + exp(-z)), for each row:

    1. Predict the sign of w.x over the shared features.
    2. Confidences: p_w = sigma(sum of v over all features known), p_x = sigma(sum of v over the row's features).
    3. v: with h = 1 if the row was put right, -1 if not, the loss log(1 + exp(-h v.r)), r being 1 at the row's
       features, and a passive-aggressive step, min(C_space, loss / |gradient|^2) against the gradient.
    4. w: with l = max(0, 1 - y w.x) and tau = min(C, l / |x|^2), add p_w tau y x at features known before, and
       p_x tau y x at new ones.
    5. Sparsity: w <- min(1, radius / sum |v w|) w, then all but the share B of the weights, the largest by size, are 0.

    Parameters
    ----------
    C : float, default=0.01
        Aggressiveness of the instance classifier. A row's weight multiplies it.
    C_space : float, default=0.1
        Aggressiveness of the classifier of feature spaces. A row's weight multiplies it.
    radius : float, default=30.0
        Weights are shrunk to an L1 norm, weighted by v, of at most this; the paper's lambda.
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
        Weights of the instance classifier; NaN for nominal columns, whose weights are in ``nominal_coef_``.
    presence_coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the classifier of feature spaces: how far a column's presence speaks for being right.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    nominal_coef_ : dict of dict
        Weights of each value of each nominal column.
    nbytes : int
        Bytes of state: some 16 per class and feature, and 32 per feature for scaling.

    Notes
    -----
    Signs in published code differ from one author to the next; in one of them steps go up the loss, confidences fall
    with what speaks for a space, and the *smallest* weights are kept. Here each step goes down the loss it is derived
    from, a confidence rises with its evidence, and the largest weights are kept; the norm in step 5 is taken of sizes,
    so that it cannot turn the weights round.

    The paper is about two classes; more are learned one against the rest.

    References
    ----------
    .. [1] E. Beyazit, J. Alagurajah and X. Wu, "Online learning from data streams with varying feature spaces",
       AAAI 2019. https://doi.org/10.1609/aaai.v33i01.33013232

    Examples
    --------
    >>> from anabranch.evolving import OLVFClassifier
    >>> learner = OLVFClassifier()
    >>> for i in range(50):
    ...     learner.learn_one({"a": i % 2, "b": 0.0} if i % 3 else {"a": i % 2}, "odd" if i % 2 else "even")
    >>> learner.predict_one({"a": 1}), learner.predict_one({"a": 0, "c": 7.0})
    ('odd', 'even')
    """

    _method = kernels.OLVF

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "C": Number(0, 1e30, open_low=True),
        "C_space": Number(0, 1e30, open_low=True),
        "radius": Number(0, 1e50, open_low=True),
        "share": Number(0, 1, open_low=True),
        **CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        C: float = 0.01,
        C_space: float = 0.1,
        radius: float = 30.0,
        share: float = 1.0,
        scaling: str = "standard",
        fit_intercept: bool = True,
        nominal_features: Sequence[int | str] | None = None,
    ) -> None:
        self.C = C
        self.C_space = C_space
        self.radius = radius
        self.share = share
        self.scaling = scaling
        self.fit_intercept = fit_intercept
        self.nominal_features = nominal_features

    def _set_options(self, options: Floats) -> None:
        options[kernels.C] = self.C
        options[kernels.C_SPACE] = self.C_space
        options[kernels.RADIUS] = self.radius
        options[kernels.SHARE] = self.share

    def _shapes(self, k: int, d: int) -> Mapping[str, tuple[int, ...]]:
        return {"more": (k, d)}

    @property
    def presence_coef_(self) -> Floats:
        """Weights of the classifier of feature spaces, laid out as ``coef_``."""
        self._columns()
        return self._by_column(self._arrays[1][: self._vectors])
