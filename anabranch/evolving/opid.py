"""One-pass learning with incremental and decremental features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from anabranch._parameters import Constraint, Number
from anabranch.evolving._haphazard import CONSTRAINTS, HaphazardClassifier
from anabranch.kernels import haphazard as kernels
from anabranch.kernels.haphazard import Model
from anabranch.schema import Floats

__all__ = ["OPIDClassifier"]


class OPIDClassifier(HaphazardClassifier):
    """One-pass learning with incremental and decremental features (OPID): some columns vanish, some survive, some come.

    Least squares on targets of 1 and -1, from running sums: no row is looked at twice [1]_. A stage is a stretch of
    rows with the same columns.

    - *C-stage (compressing).* When columns vanish, what is known of them is put into functions of those that survive:
      over the stage's rows X, whose surviving part is Z,

          min over w, v of |Xw - y|^2 + |Zv - y|^2 + alpha |Xw - Zv|^2 + penalties.

    - *E-stage (expanding).* v is where the next stage starts, on surviving and augmented columns X':

          min over u of |X'u - y|^2 + inherit |u_surviving - v|^2 + ridge |u_augmented|^2,

      solved in closed form at each row. This stage is compressed in its turn, with its penalty among its sums, as often
      as columns vanish.

    Parameters
    ----------
    alpha : float, default=1.0
        How much the two models of a C-stage are to agree.
    ridge : float, default=1.0
        Penalty of weights that nothing is known of.
    inherit : float, default=10.0
        How strongly the next stage holds on to what it starts with, counted in rows (of scaled columns).
    patience : int, default=20
        After how many learned rows without it a column has vanished, if nothing else tells.
    scaling : {"none", "standard", "max_abs"}, default="standard"
        How numeric columns are scaled: not at all, as in the paper; by mean and standard deviation; or by the largest
        size, each of the rows so far that had the column.
    fit_intercept : bool, default=True
        Whether there is a feature that is always 1. It survives always.
    nominal_features : list of int or str, optional
        Columns whose numbers are categories: positions in arrays, names in data frames. Text is nominal anyway.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights; NaN for nominal columns, whose weights are in ``nominal_coef_``; 0 for vanished ones.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    nominal_coef_ : dict of dict
        Weights of each value of each nominal column.
    nbytes : int
        Bytes of state: 8 d^2 for d features ever met, of which each row uses about half, and 24 per class and feature.

    Notes
    -----
    A stage ends at a row that brings a column never met before and lacks others: those vanish. It also ends when a
    column has been missing for ``patience`` learned rows on end. New columns alone do not end a stage, they join it;
    so do returning ones. A value that is missing now and then is the mean of its column (0, unscaled), and no change.
    Without any surviving column nothing can be inherited; that is what FESL is for, where old and new columns overlap
    for a while.

    With more than two classes, each is learned against the rest, from the same sums.

    The published text was not at hand when this was written: the two stages follow its abstract and what others say of
    it, and the choice of a start model (rather than of the old model's score as a further input) is ours.

    References
    ----------
    .. [1] C. Hou and Z.-H. Zhou, "One-pass learning with incremental and decremental features", IEEE Transactions on
       Pattern Analysis and Machine Intelligence 40(11), 2018. https://arxiv.org/abs/1605.09082

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.evolving import OPIDClassifier
    >>> rng = np.random.default_rng(0)
    >>> learner = OPIDClassifier()
    >>> for i in range(300):  # "old" tells the class and survives in "kept", which is much like it; then it is replaced
    ...     sign = 1.0 if rng.random() < 0.5 else -1.0
    ...     row = {"kept": sign + rng.standard_normal(), "old" if i < 200 else "new": sign}
    ...     learner.learn_one(row, sign > 0)
    >>> bool(learner.predict_one({"kept": 0.0, "new": 1.0})), bool(learner.predict_one({"kept": 0.0, "new": -1.0}))
    (True, False)
    """

    _method = kernels.OPID

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": Number(0, 1e6),
        "ridge": Number(1e-30, 1e30),
        "inherit": Number(1e-30, 1e30),
        "patience": Number(1, 1e15, integer=True),
        **CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        ridge: float = 1.0,
        inherit: float = 10.0,
        patience: int = 20,
        scaling: str = "standard",
        fit_intercept: bool = True,
        nominal_features: Sequence[int | str] | None = None,
    ) -> None:
        self.alpha = alpha
        self.ridge = ridge
        self.inherit = inherit
        self.patience = patience
        self.scaling = scaling
        self.fit_intercept = fit_intercept
        self.nominal_features = nominal_features

    def _set_options(self, options: Floats) -> None:
        options[kernels.ALPHA] = self.alpha
        options[kernels.RIDGE] = self.ridge
        options[kernels.INHERIT] = self.inherit
        options[kernels.PATIENCE] = self.patience

    def _shapes(self, k: int, d: int) -> Mapping[str, tuple[int, ...]]:
        return {"more": (k, d), "start": (k, d), "graph": (1, d, d), "columns": (4, d)}

    def _fill(self, model: Model, old: Model) -> None:
        new = np.arange(old.weights.shape[1], model.weights.shape[1])
        model.columns[kernels.PENALTY, new] = self.ridge
        model.graph[0, new, new] = np.sqrt(self.ridge)
