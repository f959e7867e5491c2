"""Online gradient descent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from anabranch._parameters import Columns, Constraint, Flag, Number, OneOf
from anabranch.base import StreamClassifier, StreamRegressor
from anabranch.kernels import linear as kernels
from anabranch.linear_model._linear import SCALINGS, LinearClassifier, LinearModel
from anabranch.schema import Floats, Schema

__all__ = ["OGDClassifier", "OGDRegressor"]

_SCHEDULES = ("constant", "sqrt", "inverse", "adagrad")  # in the order of the kernel's CONSTANT to ADAGRAD
_CLASS_LOSSES = {"log_loss": kernels.LOGISTIC, "hinge": kernels.HINGE}
_NUMBER_LOSSES = {
    "squared_error": kernels.SQUARED,
    "absolute_error": kernels.ABSOLUTE,
    "huber": kernels.HUBER,
}

_COMMON: dict[str, Constraint] = {
    "learning_rate": Number(0, 1e30, open_low=True),
    "schedule": OneOf(_SCHEDULES),
    "radius": Number(0, 1e100, open_low=True, optional=True),
    "l2": Number(0, 1e30),
    "scaling": OneOf(SCALINGS),
    "fit_intercept": Flag(),
    "nominal_features": Columns(),
}


class _GradientDescent(LinearModel):
    """What both learners of this file share."""

    loss: str
    learning_rate: float
    schedule: str
    radius: float | None
    l2: float
    scaling: str
    fit_intercept: bool
    nominal_features: Sequence[int | str] | None

    def _options(self) -> Floats:
        if self.radius is not None and self.schedule == "adagrad":
            raise ValueError(
                "radius does not go with schedule='adagrad', whose projection is another one: take schedule='sqrt', "
                "or keep weights small with l2."
            )
        options = np.zeros(kernels.OPTIONS_SIZE)
        options[kernels.LOSS] = {**_CLASS_LOSSES, **_NUMBER_LOSSES}[self.loss]
        options[kernels.RULE] = _SCHEDULES.index(self.schedule)
        options[kernels.LEARNING_RATE] = self.learning_rate
        options[kernels.L2] = self.l2
        options[kernels.RADIUS] = 0.0 if self.radius is None else self.radius
        options[kernels.INTERCEPT] = self.fit_intercept
        options[kernels.SCALING] = SCALINGS.index(self.scaling)
        return options

    @property
    def _takes_sparse(self) -> bool:  # type: ignore[override]
        return self.scaling != "standard"

    def _encode_rows(self, schema: Schema, X: Any, grow: bool = True) -> tuple[Any, Schema]:
        if not self._takes_sparse and hasattr(X, "toarray") and hasattr(X, "nnz"):
            raise TypeError(
                f"Sparse data was passed, but dense data is required by {type(self).__name__} with "
                "scaling='standard': centred, no zero would stay one. Take scaling='max_abs'."
            )
        return super()._encode_rows(schema, X, grow)  # type: ignore[misc,no-any-return]


class OGDClassifier(_GradientDescent, LinearClassifier, StreamClassifier):  # type: ignore[override]
    """Online gradient descent for classes: logistic regression, or a linear support vector machine.

    At each row the weights take a step against the gradient of that row's loss, and are then brought back into a
    ball, if there is one:

        w <- Proj(w - eta_t grad loss(w; x_t, y_t))

    Parameters
    ----------
    loss : {"log_loss", "hinge"}, default="log_loss"
        Logistic regression, softmax for more than two classes; or the hinge loss, for more than two classes that of
        the right class against its best rival.
    learning_rate : float, default=1.0
        The c of the schedules.
    schedule : {"constant", "sqrt", "inverse", "adagrad"}, default="sqrt"
        Size of the step at the t-th row: c; c / sqrt(t), which keeps the regret of order sqrt(t) [1]_; c / t; or, for
        each weight, c over the root of the sum of its squared gradients so far [3]_.
    radius : float, optional
        Radius of the ball, around 0, that the weights of all classes together stay in; intercepts do not count. Not
        with AdaGrad.
    l2 : float, default=0.0
        At each row the weights, not the intercepts, shrink by the factor 1 - eta_t l2 before the step (with AdaGrad,
        by 1 - c l2).
    scaling : {"none", "standard", "max_abs"}, default="none"
        How columns are scaled by the rows so far, this one included when it is learned: not at all; to mean 0 and
        standard deviation 1; or by the largest size, which leaves zeros as they are and so suits sparse rows. Nominal
        columns stay as they are.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    nominal_features : list of int or str, optional
        Columns whose numbers are categories: positions in arrays, names in data frames. Text is nominal anyway.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the columns as scaled; NaN for nominal ones, whose weights are in ``nominal_coef_``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    nominal_coef_ : dict of dict
        Weights of each value of each nominal column.
    nbytes : int
        Bytes of state.

    Notes
    -----
    Rows may be sparse (SciPy's CSR; other formats are converted): each costs as much as it has entries, and teaches
    exactly what the same row written out does. Nominal columns get one weight per value. What is missing adds
    nothing: with ``scaling="standard"`` it counts as the mean.

    Up to two classes share one vector of weights, which speaks for the second. When a third turns up, each of the two
    gets a vector, of plus and minus half those weights: predictions stay what they were.

    A row's weight multiplies its gradient. Steps are clipped where they would overflow (at 1e40 times the row).
    With the hinge loss, probabilities are the scores squashed the same way as with the logistic one, for want of
    anything better; their order is right, their size means little.

    References
    ----------
    .. [1] M. Zinkevich, "Online convex programming and generalized infinitesimal gradient ascent", ICML 2003.
    .. [2] K. Crammer and Y. Singer, "On the algorithmic implementation of multiclass kernel-based vector machines",
       Journal of Machine Learning Research 2, 2001 (the hinge loss for several classes).
    .. [3] J. Duchi, E. Hazan and Y. Singer, "Adaptive subgradient methods for online learning and stochastic
       optimization", Journal of Machine Learning Research 12, 2011.

    Examples
    --------
    >>> from anabranch.linear_model import OGDClassifier
    >>> from anabranch.stream import SEA
    >>> learner = OGDClassifier(scaling="standard")
    >>> X, y = SEA(seed=1).take(5000)
    >>> proba = learner.test_then_train(X, y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == y).mean() > 0.8)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {"loss": OneOf(tuple(_CLASS_LOSSES)), **_COMMON}

    def __init__(
        self,
        *,
        loss: str = "log_loss",
        learning_rate: float = 1.0,
        schedule: str = "sqrt",
        radius: float | None = None,
        l2: float = 0.0,
        scaling: str = "none",
        fit_intercept: bool = True,
        nominal_features: Sequence[int | str] | None = None,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.radius = radius
        self.l2 = l2
        self.scaling = scaling
        self.fit_intercept = fit_intercept
        self.nominal_features = nominal_features


class OGDRegressor(_GradientDescent, StreamRegressor):  # type: ignore[override]
    """Online gradient descent for numbers: linear regression.

    As :class:`OGDClassifier`, with the losses of regression.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber"}, default="squared_error"
        Half the squared error; the error's size; or Huber's, squared up to ``huber_delta`` and linear beyond, which
        outliers pull less.
    learning_rate : float, default=0.01
        The c of the schedules. On scaled columns 0.1 learns sooner; on others that can be too much, and errors grow.
    schedule : {"constant", "sqrt", "inverse", "adagrad"}, default="sqrt"
        Size of the step at the t-th row: c; c / sqrt(t), which keeps the regret of order sqrt(t) [1]_; c / t; or, for
        each weight, c over the root of the sum of its squared gradients so far.
    radius : float, optional
        Radius of the ball, around 0, that the weights stay in; the intercept does not count. Not with AdaGrad.
    l2 : float, default=0.0
        At each row the weights, not the intercept, shrink by the factor 1 - eta_t l2 before the step (with AdaGrad,
        by 1 - c l2).
    huber_delta : float, default=1.0
        Error beyond which Huber's loss is linear.
    scaling : {"none", "standard", "max_abs"}, default="none"
        How columns are scaled by the rows so far, this one included when it is learned: not at all; to mean 0 and
        standard deviation 1; or by the largest size, which leaves zeros as they are and so suits sparse rows. Nominal
        columns stay as they are.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    nominal_features : list of int or str, optional
        Columns whose numbers are categories: positions in arrays, names in data frames. Text is nominal anyway.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the columns as scaled; NaN for nominal ones, whose weights are in ``nominal_coef_``.
    intercept_ : ndarray of shape (1,)
        The intercept.
    nominal_coef_ : dict of dict
        Weights of each value of each nominal column.
    nbytes : int
        Bytes of state.

    References
    ----------
    .. [1] M. Zinkevich, "Online convex programming and generalized infinitesimal gradient ascent", ICML 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.linear_model import OGDRegressor
    >>> X = np.random.default_rng(0).standard_normal((2000, 3))
    >>> learner = OGDRegressor(learning_rate=0.1)
    >>> learner = learner.partial_fit(X, X @ [1.0, 2.0, -3.0] + 4.0)
    >>> learner.coef_.round(2), learner.intercept_.round(2)
    (array([ 1.,  2., -3.]), array([4.]))
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "loss": OneOf(tuple(_NUMBER_LOSSES)),
        **_COMMON,
        "huber_delta": Number(0, 1e100, open_low=True),
    }

    def __init__(
        self,
        *,
        loss: str = "squared_error",
        learning_rate: float = 0.01,
        schedule: str = "sqrt",
        radius: float | None = None,
        l2: float = 0.0,
        huber_delta: float = 1.0,
        scaling: str = "none",
        fit_intercept: bool = True,
        nominal_features: Sequence[int | str] | None = None,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.radius = radius
        self.l2 = l2
        self.huber_delta = huber_delta
        self.scaling = scaling
        self.fit_intercept = fit_intercept
        self.nominal_features = nominal_features

    def _options(self) -> Floats:
        options = super()._options()
        options[kernels.HUBER_DELTA] = self.huber_delta
        return options

    def _learn(self, X: Any, y: Floats, w: Floats) -> None:
        self._grow(X, 0)
        self._run(X, y, w, kernels.SILENT)

    def _predict(self, X: Any) -> Floats:
        return self._scores(X)[:, 0]

    def _test_then_train(self, X: Any, y: Floats, w: Floats) -> Floats:
        self._grow(X, 0)
        return self._run(X, y, w, kernels.BEFORE)[:, 0]

    @property
    def coef_(self) -> Floats:
        """Weights, (n_features,); NaN at nominal columns."""
        coef: Floats = self._coefficients()[0][0]
        return coef

    @property
    def intercept_(self) -> Floats:
        """The intercept, (1,)."""
        return self._coefficients()[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # one pass over two hundred rows, at a careful rate
        return tags
