"""Naive online gradient descent: when the columns change, start again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from anabranch._parameters import Constraint
from anabranch.base import StreamClassifier, StreamRegressor
from anabranch.evolving._learner import COMMON, EvolvingClassifier, EvolvingRegressor
from anabranch.kernels import evolving as kernels

__all__ = ["NOGDClassifier", "NOGDRegressor"]

_PARAMETERS = ("c", "radius", "patience", "max_overlap", "spaces", "fit_intercept", "nominal_features")


class NOGDClassifier(EvolvingClassifier, StreamClassifier):
    """Naive online gradient descent: a linear classifier that starts again when its columns are replaced.

    What :class:`FESLClassifier` is held against in [1]_, and one half of it: the loss, the steps and the rules of
    periods are the same, and so is what happens to columns that survive.

    Parameters
    ----------
    c : float, default=1.0
        The step at the t-th row of a space is 1 / (c sqrt(t)).
    radius : float, optional
        Radius of the ball, around 0, that each vector of weights stays in. Intercepts do not count.
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
    >>> from anabranch.evolving import NOGDClassifier
    >>> rng = np.random.default_rng(0)
    >>> old = rng.standard_normal((600, 4))
    >>> X = np.hstack([old, old @ rng.standard_normal((4, 4))])
    >>> X[:300, 4:] = np.nan
    >>> X[310:, :4] = np.nan
    >>> y = old.sum(axis=1) > 0
    >>> learner = NOGDClassifier()
    >>> proba = learner.test_then_train(X, y)
    >>> bool((learner.classes_[proba[500:600].argmax(axis=1)] == y[500:600]).mean() > 0.8), learner.period_
    (True, 2)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {name: COMMON[name] for name in _PARAMETERS}

    @property
    def _strategy(self) -> int:
        return kernels.PRESENT

    def __init__(
        self,
        *,
        c: float = 1.0,
        radius: float | None = None,
        patience: int = 10,
        max_overlap: int = 1000,
        spaces: Sequence[Sequence[int | str]] | None = None,
        fit_intercept: bool = True,
        nominal_features: Sequence[int | str] | None = None,
    ) -> None:
        self.c = c
        self.radius = radius
        self.patience = patience
        self.max_overlap = max_overlap
        self.spaces = spaces
        self.fit_intercept = fit_intercept
        self.nominal_features = nominal_features


class NOGDRegressor(EvolvingRegressor, StreamRegressor):
    """Naive online gradient descent: a linear regression that starts again when its columns are replaced.

    What :class:`FESLRegressor` is held against in [1]_, and one half of it: the loss, the steps and the rules of
    periods are the same, and so is what happens to columns that survive.

    Parameters
    ----------
    c : float, default=50.0
        The step at the t-th row of a space is 1 / (c sqrt(t)).
    radius : float, optional
        Radius of the ball, around 0, that the weights stay in. The intercept does not count.
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
    >>> from anabranch.evolving import NOGDRegressor
    >>> rng = np.random.default_rng(0)
    >>> old = rng.standard_normal((600, 4))
    >>> X = np.hstack([old, old @ rng.standard_normal((4, 4))])
    >>> X[:300, 4:] = np.nan
    >>> X[310:, :4] = np.nan
    >>> y = old @ [1.0, 2.0, 3.0, 4.0]
    >>> learner = NOGDRegressor(c=20)
    >>> told = learner.test_then_train(X, y)
    >>> bool(np.abs(told[500:600] - y[500:600]).mean() < 3.0), learner.period_
    (True, 2)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {name: COMMON[name] for name in _PARAMETERS}

    @property
    def _strategy(self) -> int:
        return kernels.PRESENT

    def __init__(
        self,
        *,
        c: float = 50.0,
        radius: float | None = None,
        patience: int = 10,
        max_overlap: int = 1000,
        spaces: Sequence[Sequence[int | str]] | None = None,
        fit_intercept: bool = True,
        nominal_features: Sequence[int | str] | None = None,
    ) -> None:
        self.c = c
        self.radius = radius
        self.patience = patience
        self.max_overlap = max_overlap
        self.spaces = spaces
        self.fit_intercept = fit_intercept
        self.nominal_features = nominal_features
