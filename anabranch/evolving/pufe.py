"""Prediction with unpredictable feature evolution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch._parameters import Constraint, Number
from anabranch.base import StreamClassifier, StreamRegressor
from anabranch.evolving._learner import COMMON, HEDGED, EvolvingClassifier, EvolvingRegressor
from anabranch.kernels import evolving as kernels
from anabranch.schema import Codes, Floats

__all__ = ["PUFEClassifier", "PUFERegressor", "complete"]

_CONSTRAINTS: dict[str, Constraint] = {
    **COMMON,
    "overlap_rows": Number(1, 10_000, integer=True),
    "rank": Number(1, 1000, integer=True),
    "shrinkage": Number(0, 1, open_low=True),
    "horizon": HEDGED["horizon"],
    "loss_scale": HEDGED["loss_scale"],
}
_ROUNDS = 50
_SETTLED = 1e-4  # a round that changes the matrix by this share of its length is the last


def complete(matrix: Floats, rank: int, shrinkage: float, centred: bool = True) -> Floats:
    """Fill in the missing entries of a matrix of low rank.

    The matrix is written as a product of two narrow ones that minimise half the squared error on what is known plus
    half a multiple of their squares, by ridge regressions of the one and the other in turn. If the rank allowed is no
    less than that of the minimum, this is completion by the nuclear norm [1]_, and far quicker than with singular
    values where a column is missing in many rows on end. Columns are brought to one scale beforehand.

    Parameters
    ----------
    matrix : float64 (columns, rows)
        One line for each column of the data. NaN is missing.
    rank : int
        Rank at most.
    shrinkage : float
        The multiple, as a share of the largest singular value with 0 for what is missing.
    centred : bool
        Whether columns are taken from their means, not from 0.

    Returns
    -------
    float64 (columns, rows)
        What was known is as it was.

    References
    ----------
    .. [1] T. Hastie, R. Mazumder, J. D. Lee and R. Zadeh, "Matrix completion and low-rank SVD via fast alternating
       least squares", Journal of Machine Learning Research 16, 2015.
    """
    known = (~np.isnan(matrix)).astype(np.float64)
    counts = np.maximum(known.sum(axis=1, keepdims=True), 1.0)
    scaled = np.nan_to_num(matrix, nan=0.0)
    means = scaled.sum(axis=1, keepdims=True) / counts * centred
    scaled = (scaled - means) * known
    scales = np.sqrt((scaled**2).sum(axis=1, keepdims=True) / counts)
    scaled /= np.where(scales > 0.0, scales, 1.0)
    values, vectors = np.linalg.eigh(scaled.T @ scaled)  # squares of singular values
    values, vectors = np.maximum(values[: -rank - 1 : -1], 0.0), vectors[:, : -rank - 1 : -1]
    penalty = shrinkage * np.sqrt(values[0])
    of_rows: Floats = vectors * values**0.25
    low: Floats = np.zeros(scaled.shape)
    for _ in range(_ROUNDS):
        of_columns = _regress(of_rows, scaled, known, penalty)
        of_rows = _regress(of_columns, scaled.T, known.T, penalty)
        before = low
        low = of_columns @ of_rows.T
        if np.linalg.norm(low - before) <= _SETTLED * np.linalg.norm(low):
            break
    return np.where(known > 0.0, matrix, low * scales + means)


def _regress(inputs: Floats, targets: Floats, known: Floats, penalty: float) -> Floats:
    """Ridge regressions of each line of the targets, where it is known, on the same inputs."""
    n, rank = inputs.shape
    squares = (known @ (inputs[:, :, None] * inputs[:, None, :]).reshape(n, rank * rank)).reshape(-1, rank, rank)
    squares += max(penalty, 1e-300) * np.eye(rank)
    return np.linalg.solve(squares, (targets @ inputs)[:, :, None])[:, :, 0].astype(np.float64, copy=False)


class _Completing:
    """What both learners do unlike FESL."""

    if TYPE_CHECKING:
        rank: int
        shrinkage: float
        fit_intercept: bool

    @property
    def _strategy(self) -> int:
        return kernels.MIXTURE

    def _fill_in(self, buffer: Floats, targets: Codes, sources: Codes, slots: Codes) -> None:
        place = np.ix_(np.append(targets, sources), slots)
        overlap: NDArray[np.float64] = buffer[place]
        if np.isnan(overlap).any():
            buffer[place] = complete(overlap, self.rank, self.shrinkage, self.fit_intercept)


class PUFEClassifier(_Completing, EvolvingClassifier, StreamClassifier):
    """PUFE: FESL for columns that vanish and appear one by one, when nobody can tell.

    Sensors die one after another, and their successors come up one after another, so that the rows of the overlap are
    full of holes. These are filled in by completing the matrix of the overlap, old and new columns side by side, as one
    of low rank; it then teaches the mapping from the new columns to the old ones, as in :class:`FESLClassifier`. Once
    the old ones are gone, what is predicted follows the best mixture of the model on recovered columns and the one of
    the new columns [1]_.

    Parameters
    ----------
    rank : int, default=10
        The overlap is completed as a matrix of this rank at most.
    shrinkage : float, default=0.01
        Above 0, at most 1: penalty on the nuclear norm when the overlap is completed, as a share of its largest
        singular value. The larger, the lower the rank, and the less is made of noise.
    c : float, default=1.0
        The step at the t-th row of a space is 1 / (c sqrt(t)).
    radius : float, optional
        Radius of the ball, around 0, that each vector of weights stays in. Intercepts do not count.
    horizon : int, optional
        T2, the number of rows in the second space: sets the rate eta. If it is not known, eta falls with the rows.
    overlap_rows : int, default=50
        The matrix is made of so many rows of the overlap, the last ones that show a vanished column.
    ridge : float, default=0.0
        Added to the squares when the mapping is learned; 0 takes the least-squares mapping of least norm.
    patience : int, default=50
        Rows for which a column may be missing without having vanished; a change waits for so many rows after the first
        death, unless all old columns are gone before.
    max_overlap : int, default=1000
        Rows after which new columns that stand beside the old ones are additions, not replacements.
    spaces : list of lists of int or str, optional
        Columns of each feature space, in order, for rows that hold zeros where there is nothing. A space then comes
        and goes as a whole: for single columns, leave it out, and use NaN or names.
    loss_scale : float, optional
        Losses are divided by it before they weigh the mixtures. The bound holds for losses between 0 and 1.
    fit_intercept : bool, default=True
        Whether there is an intercept, which survives every change; and whether the overlap is completed around the
        means of its columns. The paper has none.
    nominal_features : list of int or str, optional
        Columns whose numbers are categories: positions in arrays, names in data frames. Text is nominal anyway.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    period_ : int
        0 with the first columns, 1 when new ones stand beside them, 2 with those alone, 3 when others turn up, ...
    weights_ : ndarray of shape (2,)
        Shares of the recovered model and of the new one in what is predicted.
    losses_ : ndarray of shape (3,)
        Losses since the last change: of the recovered model, the new one, and of what was predicted.
    regret_, bound_ : float
        By how much the last of these exceeds the loss of the best mixture of both, and what it cannot exceed.
    coef_, intercept_ : ndarray
        Weights of the model of the present columns: one vector for up to two classes, one per class for more.
    nbytes : int
        Bytes of state.

    Notes
    -----
    The paper's full text was not at hand when this was written. From its abstract, and from what others say of it: the
    overlap completed as a matrix, the mapping by least squares on the completed matrix, gradient descent of both
    models, an ensemble by exponential weights that is comparable with any combination of their predictions.

    Ours: the completion is by the nuclear norm, of old and new columns side by side, each brought to one scale. (Others
    have it that the paper completes the old columns by means of rows before the overlap, in which nothing is missing
    yet; no such rows are kept here.) The ensemble is over a grid of mixtures, in which the
    recovered model has a share of 0, 0.1, ..., 1: weights fall exponentially with what each of these would have lost.
    Rules of periods are FESL's, with more patience: a column that dies early counts as 0 until the change.

    References
    ----------
    .. [1] B.-J. Hou, L. Zhang and Z.-H. Zhou, "Prediction with unpredictable feature evolution", IEEE Transactions on
       Neural Networks and Learning Systems, 2021. https://arxiv.org/abs/1904.12171

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.evolving import PUFEClassifier
    >>> rng = np.random.default_rng(0)
    >>> old = rng.standard_normal((600, 4))
    >>> new = old @ rng.standard_normal((4, 4))
    >>> y = old.sum(axis=1) > 0
    >>> X = np.hstack([old, new])
    >>> for j in range(4):  # within forty rows, new sensors come and old ones die, one by one
    ...     X[: 300 + 5 * j, 4 + j] = np.nan
    ...     X[320 + 5 * j :, j] = np.nan
    >>> learner = PUFEClassifier()
    >>> proba = learner.test_then_train(X, y)
    >>> accuracy = (learner.classes_[proba[340:360].argmax(axis=1)] == y[340:360]).mean()
    >>> bool(accuracy > 0.7), learner.period_
    (True, 2)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = _CONSTRAINTS

    def __init__(
        self,
        *,
        rank: int = 10,
        shrinkage: float = 0.01,
        c: float = 1.0,
        radius: float | None = None,
        horizon: int | None = None,
        overlap_rows: int = 50,
        ridge: float = 0.0,
        patience: int = 50,
        max_overlap: int = 1000,
        spaces: Sequence[Sequence[int | str]] | None = None,
        loss_scale: float | None = None,
        fit_intercept: bool = True,
        nominal_features: Sequence[int | str] | None = None,
    ) -> None:
        self.rank = rank
        self.shrinkage = shrinkage
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


class PUFERegressor(_Completing, EvolvingRegressor, StreamRegressor):
    """PUFE for numbers: FESL for columns that vanish and appear one by one, when nobody can tell.

    As :class:`PUFEClassifier`, with the square loss (y - f)^2.

    Parameters
    ----------
    rank : int, default=10
        The overlap is completed as a matrix of this rank at most.
    shrinkage : float, default=0.01
        Above 0, at most 1: penalty on the nuclear norm when the overlap is completed, as a share of its largest
        singular value. The larger, the lower the rank, and the less is made of noise.
    c : float, default=50.0
        The step at the t-th row of a space is 1 / (c sqrt(t)); the gradient of the square loss is twice the error.
    radius : float, optional
        Radius of the ball, around 0, that the weights stay in. The intercept does not count.
    horizon : int, optional
        T2, the number of rows in the second space: sets the rate eta. If it is not known, eta falls with the rows.
    overlap_rows : int, default=50
        The matrix is made of so many rows of the overlap, the last ones that show a vanished column.
    ridge : float, default=0.0
        Added to the squares when the mapping is learned; 0 takes the least-squares mapping of least norm.
    patience : int, default=50
        Rows for which a column may be missing without having vanished.
    max_overlap : int, default=1000
        Rows after which new columns that stand beside the old ones are additions, not replacements.
    spaces : list of lists of int or str, optional
        Columns of each feature space, in order, for rows that hold zeros where there is nothing.
    loss_scale : float, optional
        Losses are divided by it before they weigh the mixtures. The bound holds for losses between 0 and 1.
    fit_intercept : bool, default=True
        Whether there is an intercept, which survives every change. The paper has none.
    nominal_features : list of int or str, optional
        Columns whose numbers are categories: positions in arrays, names in data frames. Text is nominal anyway.

    Attributes
    ----------
    period_, weights_, losses_, regret_, bound_
        As of :class:`PUFEClassifier`.
    coef_, intercept_ : ndarray
        Weights of the model of the present columns, (n_features,), and its intercept, (1,).
    nbytes : int
        Bytes of state.

    References
    ----------
    .. [1] B.-J. Hou, L. Zhang and Z.-H. Zhou, "Prediction with unpredictable feature evolution", IEEE Transactions on
       Neural Networks and Learning Systems, 2021. https://arxiv.org/abs/1904.12171

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.evolving import NOGDRegressor, PUFERegressor
    >>> rng = np.random.default_rng(0)
    >>> old = rng.standard_normal((600, 4))
    >>> y = old @ [1.0, 2.0, 3.0, 4.0]
    >>> X = np.hstack([old, old @ rng.standard_normal((4, 4))])
    >>> for j in range(4):
    ...     X[: 300 + 5 * j, 4 + j] = np.nan
    ...     X[320 + 5 * j :, j] = np.nan
    >>> errors = [
    ...     np.abs(learner.test_then_train(X, y) - y)[336:360].mean()
    ...     for learner in (PUFERegressor(c=10), NOGDRegressor(c=10, patience=50))
    ... ]
    >>> bool(errors[0] < 0.3 * errors[1])
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = _CONSTRAINTS

    def __init__(
        self,
        *,
        rank: int = 10,
        shrinkage: float = 0.01,
        c: float = 50.0,
        radius: float | None = None,
        horizon: int | None = None,
        overlap_rows: int = 50,
        ridge: float = 0.0,
        patience: int = 50,
        max_overlap: int = 1000,
        spaces: Sequence[Sequence[int | str]] | None = None,
        loss_scale: float | None = None,
        fit_intercept: bool = True,
        nominal_features: Sequence[int | str] | None = None,
    ) -> None:
        self.rank = rank
        self.shrinkage = shrinkage
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
