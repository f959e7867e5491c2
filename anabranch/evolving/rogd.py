"""Online gradient descent on recovered rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from anabranch._parameters import Constraint, Flag
from anabranch.base import StreamClassifier, StreamRegressor
from anabranch.evolving._learner import COMMON, EvolvingClassifier, EvolvingRegressor
from anabranch.kernels import evolving as kernels

__all__ = ["ROGDClassifier", "ROGDRegressor"]


class ROGDClassifier(EvolvingClassifier, StreamClassifier):
    """Recovered online gradient descent for classes.

    A linear classifier: when its columns are replaced, the old model goes on with what
    the new ones say of them.

    What :class:`FESLClassifier` is held against in [1]_, and one half of it: when new columns turn up beside the old
    ones, the rows that show both teach a linear mapping back from the new to the old, and once those have vanished, the
    old model predicts on what the mapping recovers. When the new columns vanish in turn, it goes on through both
    mappings.

    Parameters
    ----------
    update : bool, default=True
        Whether the old model goes on learning, from recovered rows (ROGD-u), or stays as it was (ROGD-f).
    c : float, default=1.0
        The step at the t-th row of a space is 1 / (c sqrt(t)).
    radius : float, optional
        Radius of the ball, around 0, that each vector of weights stays in. Intercepts do not count.
    overlap_rows : int or None, default=50
        The mapping is learned from so many rows of the overlap, the last ones. None uses all of them by keeping sums of
        products, a number for each pair of columns (2,000 columns at most).
    ridge : float, default=0.0
        Added to the squares when the mapping is learned; 0 takes the least-squares mapping of least norm.
    patience : int, default=10
        Rows for which a column may be missing without having vanished; see :class:`FESLClassifier`.
    max_overlap : int, default=1000
        Rows after which new columns that stand beside the old ones are additions, not replacements.
    spaces : list of lists of int or str, optional
        Columns of each feature space, in order, for rows that hold zeros where there is nothing.
    fit_intercept : bool, default=True
        Whether there is an intercept, which survives every change.
    nominal_features : list of int or str, optional
        Columns whose numbers are categories: positions in arrays, names in data frames. Text is nominal anyway.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    period_ : int
        0 with the first columns, 1 when new ones stand beside them, 2 with those alone, 3 when others turn up, ...
    coef_, intercept_ : ndarray
        Weights of the model of the present columns: one vector for up to two classes, one per class for more.
    nbytes : int
        Bytes of state.

    References
    ----------
    .. [1] B.-J. Hou, L. Zhang and Z.-H. Zhou, "Learning with feature evolvable streams", NIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.evolving import ROGDClassifier
    >>> rng = np.random.default_rng(0)
    >>> old = rng.standard_normal((600, 4))
    >>> X = np.hstack([old, old @ rng.standard_normal((4, 4))])
    >>> X[:300, 4:] = np.nan
    >>> X[310:, :4] = np.nan
    >>> y = old.sum(axis=1) > 0
    >>> learner = ROGDClassifier()
    >>> proba = learner.test_then_train(X, y)
    >>> bool((learner.classes_[proba[310:600].argmax(axis=1)] == y[310:600]).mean() > 0.8), learner.period_
    (True, 2)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {"update": Flag(), **COMMON}

    @property
    def _strategy(self) -> int:
        return kernels.RECOVERED if self.update else kernels.RECOVERED_FIXED

    def __init__(
        self,
        *,
        update: bool = True,
        c: float = 1.0,
        radius: float | None = None,
        overlap_rows: int | None = 50,
        ridge: float = 0.0,
        patience: int = 10,
        max_overlap: int = 1000,
        spaces: Sequence[Sequence[int | str]] | None = None,
        fit_intercept: bool = True,
        nominal_features: Sequence[int | str] | None = None,
    ) -> None:
        self.update = update
        self.c = c
        self.radius = radius
        self.overlap_rows = overlap_rows
        self.ridge = ridge
        self.patience = patience
        self.max_overlap = max_overlap
        self.spaces = spaces
        self.fit_intercept = fit_intercept
        self.nominal_features = nominal_features


class ROGDRegressor(EvolvingRegressor, StreamRegressor):
    """Recovered online gradient descent for numbers.

    A linear regression: when its columns are replaced, the old model goes on with what
    the new ones say of them.

    What :class:`FESLRegressor` is held against in [1]_, and one half of it: when new columns turn up beside the old
    ones, the rows that show both teach a linear mapping back from the new to the old, and once those have vanished, the
    old model predicts on what the mapping recovers. When the new columns vanish in turn, it goes on through both
    mappings.

    Parameters
    ----------
    update : bool, default=True
        Whether the old model goes on learning, from recovered rows (ROGD-u), or stays as it was (ROGD-f).
    c : float, default=50.0
        The step at the t-th row of a space is 1 / (c sqrt(t)).
    radius : float, optional
        Radius of the ball, around 0, that the weights stay in. The intercept does not count.
    overlap_rows : int or None, default=50
        The mapping is learned from so many rows of the overlap, the last ones. None uses all of them by keeping sums of
        products, a number for each pair of columns (2,000 columns at most).
    ridge : float, default=0.0
        Added to the squares when the mapping is learned; 0 takes the least-squares mapping of least norm.
    patience : int, default=10
        Rows for which a column may be missing without having vanished; see :class:`FESLClassifier`.
    max_overlap : int, default=1000
        Rows after which new columns that stand beside the old ones are additions, not replacements.
    spaces : list of lists of int or str, optional
        Columns of each feature space, in order, for rows that hold zeros where there is nothing.
    fit_intercept : bool, default=True
        Whether there is an intercept, which survives every change.
    nominal_features : list of int or str, optional
        Columns whose numbers are categories: positions in arrays, names in data frames. Text is nominal anyway.

    Attributes
    ----------
    period_ : int
        0 with the first columns, 1 when new ones stand beside them, 2 with those alone, 3 when others turn up, ...
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
    >>> from anabranch.evolving import ROGDRegressor
    >>> rng = np.random.default_rng(0)
    >>> old = rng.standard_normal((600, 4))
    >>> X = np.hstack([old, old @ rng.standard_normal((4, 4))])
    >>> X[:300, 4:] = np.nan
    >>> X[310:, :4] = np.nan
    >>> y = old @ [1.0, 2.0, 3.0, 4.0]
    >>> learner = ROGDRegressor(c=10, update=False)
    >>> told = learner.test_then_train(X, y)
    >>> bool(np.abs(told[310:600] - y[310:600]).mean() < 1.0), learner.period_
    (True, 2)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {"update": Flag(), **COMMON}

    @property
    def _strategy(self) -> int:
        return kernels.RECOVERED if self.update else kernels.RECOVERED_FIXED

    def __init__(
        self,
        *,
        update: bool = True,
        c: float = 50.0,
        radius: float | None = None,
        overlap_rows: int | None = 50,
        ridge: float = 0.0,
        patience: int = 10,
        max_overlap: int = 1000,
        spaces: Sequence[Sequence[int | str]] | None = None,
        fit_intercept: bool = True,
        nominal_features: Sequence[int | str] | None = None,
    ) -> None:
        self.update = update
        self.c = c
        self.radius = radius
        self.overlap_rows = overlap_rows
        self.ridge = ridge
        self.patience = patience
        self.max_overlap = max_overlap
        self.spaces = spaces
        self.fit_intercept = fit_intercept
        self.nominal_features = nominal_features
