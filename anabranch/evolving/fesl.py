"""Feature evolvable streaming learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from anabranch._parameters import Constraint, OneOf
from anabranch.base import StreamClassifier, StreamRegressor
from anabranch.evolving._learner import COMMON, HEDGED, EvolvingClassifier, EvolvingRegressor
from anabranch.kernels import evolving as kernels

__all__ = ["FESLClassifier", "FESLRegressor"]

_STRATEGIES = {"combination": kernels.COMBINATION, "selection": kernels.SELECTION}


class FESLClassifier(EvolvingClassifier, StreamClassifier):
    """FESL: a linear classifier that lives on when its columns vanish and others take their place.

    Of a first set of columns a model is learned by online gradient descent. When new columns turn up beside them, the
    rows that show both teach a linear mapping back from the new to the old (Algorithm 1 of [1]_). Once the old ones
    have vanished, two models predict: the old one on what the mapping recovers, and a new one on the new columns; both
    go on learning, and their answers are weighted by the losses they made (Algorithm 2), or one of them is drawn by
    weights that can move quickly from one to the other (Algorithm 3). And so on, when those columns vanish in turn.

    Parameters
    ----------
    strategy : {"combination", "selection"}, default="combination"
        Algorithm 2, FESL-c, whose loss stays close to the better model's; or Algorithm 3, FESL-s, whose expected loss
        stays close to that of the best switch from the old model to the new.
    c : float, default=1.0
        The step at the t-th row of a space is 1 / (c sqrt(t)).
    radius : float, optional
        Radius of the ball, around 0, that each vector of weights stays in. Intercepts do not count.
    horizon : int, optional
        T2, the number of rows in the second space: sets the rates eta and delta to the paper's. If it is not known,
        eta falls with the rows for the combination, and the selection starts afresh after 8, 16, 32, ... rows with the
        rates for so many.
    overlap_rows : int or None, default=50
        B: the mapping is learned from so many rows of the overlap, the last ones. None uses all of them by keeping
        sums of products, a number for each pair of columns (2,000 columns at most).
    ridge : float, default=0.0
        Added to the squares when the mapping is learned; 0 takes the least-squares mapping of least norm.
    patience : int, default=10
        Rows for which a column may be missing without having vanished; see Notes.
    max_overlap : int, default=1000
        Rows after which new columns that stand beside the old ones are additions, not replacements.
    spaces : list of lists of int or str, optional
        Columns of each feature space, in order. For arrays and sparse rows that hold zeros where there is nothing: a
        space is there if any of its columns is neither 0 nor missing, or if ``period=`` says so where rows are handed
        over. Columns in none of them are always there. If left out, each column is there where it is not missing.
    loss_scale : float, optional
        Losses are divided by it before they weigh the models. The theorems hold for losses between 0 and 1.
    fit_intercept : bool, default=True
        Whether there is an intercept, which survives every change. The paper has none.
    nominal_features : list of int or str, optional
        Columns whose numbers are categories: positions in arrays, names in data frames. Text is nominal anyway.
    random_state : int, numpy.random.Generator or None
        For the draws of ``strategy="selection"``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    period_ : int
        0 with the first columns, 1 when new ones stand beside them, 2 with those alone, 3 when others turn up, ...
    weights_ : ndarray of shape (2,)
        Weights of the recovered model and of the new one.
    losses_ : ndarray of shape (3,)
        Losses since the last change: of the recovered model, the new one, and of what was predicted (for a selection,
        what it is on average over the draws).
    regret_, bound_ : float
        By how much the last of these exceeds the better of the former, and what Theorem 1 or 2 allows; for a
        selection, the former is that of the best single switch.
    coef_, intercept_ : ndarray
        Weights of the model of the present columns: one vector for up to two classes, one per class for more.
    nbytes : int
        Bytes of state.

    Notes
    -----
    **Periods.** Columns that turn up later than ``patience`` rows after a space began belong to the next space. That
    begins with the first row in which no old column is left; where some columns survive, when an old one has been
    missing from ``patience`` rows in succession. Survivors keep their weights in both models. Columns that are back
    within ``patience`` rows of a change were never gone, and the change is taken back; columns that are briefly missing
    count as 0. When the new columns vanish in turn, the model that is carried on is the two of before in one, each with
    the weight it has earned. If no row shows old and new columns together, there is a warning, and the new model is on
    its own.

    **Cost.** The mapping has a rank of at most B. It is applied through its B rows and never written out, so that a
    row costs B steps for each of its entries, however many columns have vanished. Rows may be sparse.

    **Losses.** ln(1 + exp(-y f)) / ln 2, as in the paper, with y = 1 for the class and -1 for the rest; for more than
    two classes one vector per class, which share the weights of the two models, by their mean loss. A row's weight
    multiplies its gradient and its losses. Both models start with zeros where nothing survives.

    References
    ----------
    .. [1] B.-J. Hou, L. Zhang and Z.-H. Zhou, "Learning with feature evolvable streams", NIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.evolving import FESLClassifier
    >>> rng = np.random.default_rng(0)
    >>> old = rng.standard_normal((600, 4))
    >>> new = old @ rng.standard_normal((4, 3))
    >>> y = old.sum(axis=1) > 0
    >>> X = np.hstack([old, new])
    >>> X[:300, 4:] = np.nan  # the new sensors come after 300 rows
    >>> X[310:, :4] = np.nan  # and the old ones die ten rows later
    >>> learner = FESLClassifier()
    >>> proba = learner.test_then_train(X, y)
    >>> accuracy = (learner.classes_[proba[310:330].argmax(axis=1)] == y[310:330]).mean()
    >>> bool(accuracy > 0.7), learner.period_
    (True, 2)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {"strategy": OneOf(tuple(_STRATEGIES)), **COMMON, **HEDGED}

    def __init__(
        self,
        *,
        strategy: str = "combination",
        c: float = 1.0,
        radius: float | None = None,
        horizon: int | None = None,
        overlap_rows: int | None = 50,
        ridge: float = 0.0,
        patience: int = 10,
        max_overlap: int = 1000,
        spaces: Sequence[Sequence[int | str]] | None = None,
        loss_scale: float | None = None,
        fit_intercept: bool = True,
        nominal_features: Sequence[int | str] | None = None,
        random_state: Any = None,
    ) -> None:
        self.strategy = strategy
        self.c = c
        self.radius = radius
        self.horizon = horizon
        self.overlap_rows = overlap_rows
        self.ridge = ridge
        self.patience = patience
        self.max_overlap = max_overlap
        self.spaces = spaces
        self.loss_scale = loss_scale
        self.fit_intercept = fit_intercept
        self.nominal_features = nominal_features
        self.random_state = random_state

    @property
    def _strategy(self) -> int:
        return _STRATEGIES[self.strategy]


class FESLRegressor(EvolvingRegressor, StreamRegressor):
    """FESL: a linear regression that lives on when its columns vanish and others take their place.

    As :class:`FESLClassifier`, with the square loss (y - f)^2.

    Parameters
    ----------
    strategy : {"combination", "selection"}, default="combination"
        Algorithm 2, FESL-c, whose loss stays close to the better model's; or Algorithm 3, FESL-s, whose expected loss
        stays close to that of the best switch from the old model to the new.
    c : float, default=50.0
        The step at the t-th row of a space is 1 / (c sqrt(t)); the gradient of the square loss is twice the error.
    radius : float, optional
        Radius of the ball, around 0, that the weights stay in. The intercept does not count.
    horizon : int, optional
        T2, the number of rows in the second space: sets the rates eta and delta to the paper's. If it is not known,
        eta falls with the rows for the combination, and the selection starts afresh after 8, 16, 32, ... rows with the
        rates for so many.
    overlap_rows : int or None, default=50
        B: the mapping is learned from so many rows of the overlap, the last ones. None uses all of them by keeping
        sums of products, a number for each pair of columns (2,000 columns at most).
    ridge : float, default=0.0
        Added to the squares when the mapping is learned; 0 takes the least-squares mapping of least norm.
    patience : int, default=10
        Rows for which a column may be missing without having vanished.
    max_overlap : int, default=1000
        Rows after which new columns that stand beside the old ones are additions, not replacements.
    spaces : list of lists of int or str, optional
        Columns of each feature space, in order, for rows that hold zeros where there is nothing.
    loss_scale : float, optional
        Losses are divided by it before they weigh the models. The theorems hold for losses between 0 and 1.
    fit_intercept : bool, default=True
        Whether there is an intercept, which survives every change. The paper has none.
    nominal_features : list of int or str, optional
        Columns whose numbers are categories: positions in arrays, names in data frames. Text is nominal anyway.
    random_state : int, numpy.random.Generator or None
        For the draws of ``strategy="selection"``.

    Attributes
    ----------
    period_, weights_, losses_, regret_, bound_
        As of :class:`FESLClassifier`.
    coef_, intercept_ : ndarray
        Weights of the model of the present columns, (n_features,), and its intercept, (1,).
    nbytes : int
        Bytes of state.

    References
    ----------
    .. [1] B.-J. Hou, L. Zhang and Z.-H. Zhou, "Learning with feature evolvable streams", NIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.evolving import FESLRegressor
    >>> rng = np.random.default_rng(0)
    >>> old = rng.standard_normal((600, 4))
    >>> y = old @ [1.0, 2.0, 3.0, 4.0]
    >>> X = np.hstack([old, old @ rng.standard_normal((4, 4))])
    >>> X[:300, 4:] = np.nan
    >>> X[310:, :4] = np.nan
    >>> learner = FESLRegressor(c=10, strategy="selection", random_state=1)
    >>> told = learner.test_then_train(X, y)
    >>> bool(np.abs(told[310:330] - y[310:330]).mean() < 1.0), learner.period_
    (True, 2)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {"strategy": OneOf(tuple(_STRATEGIES)), **COMMON, **HEDGED}

    def __init__(
        self,
        *,
        strategy: str = "combination",
        c: float = 50.0,
        radius: float | None = None,
        horizon: int | None = None,
        overlap_rows: int | None = 50,
        ridge: float = 0.0,
        patience: int = 10,
        max_overlap: int = 1000,
        spaces: Sequence[Sequence[int | str]] | None = None,
        loss_scale: float | None = None,
        fit_intercept: bool = True,
        nominal_features: Sequence[int | str] | None = None,
        random_state: Any = None,
    ) -> None:
        self.strategy = strategy
        self.c = c
        self.radius = radius
        self.horizon = horizon
        self.overlap_rows = overlap_rows
        self.ridge = ridge
        self.patience = patience
        self.max_overlap = max_overlap
        self.spaces = spaces
        self.loss_scale = loss_scale
        self.fit_intercept = fit_intercept
        self.nominal_features = nominal_features
        self.random_state = random_state

    @property
    def _strategy(self) -> int:
        return _STRATEGIES[self.strategy]
