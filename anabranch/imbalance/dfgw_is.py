"""DFGW-IS: dynamic feature group weighting with importance sampling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anabranch._parameters import Constraint, Number
from anabranch.ensemble._batch import Models
from anabranch.ensemble._chunks import ChunkClassifier
from anabranch.imbalance._hellinger import hellinger, histograms, ranges
from anabranch.imbalance._minority import Minority, columns_of, rarest
from anabranch.kernels import voting as kernels
from anabranch.schema import Codes, Floats

__all__ = ["DFGWISClassifier"]


class Rows(NamedTuple):
    """Rows with their classes and weights."""

    X: Floats
    y: Codes
    w: Floats

    def part(self, rows: NDArray[np.int64], columns: NDArray[np.int64] | None = None) -> Rows:
        """Some of the rows, and of their columns."""
        X = self.X[rows]
        return Rows(X if columns is None else columns_of(X, columns), self.y[rows], self.w[rows])


def drawn_groups(width: int, most: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Different groups of columns: all of them, and proper subsets at random."""
    groups = [np.arange(width)]
    n = most - 1 if width >= 62 else min(most - 1, 2**width - 2)
    met: set[tuple[int, ...]] = set()
    while len(met) < n:
        group = np.flatnonzero(rng.integers(2, size=width))
        if 0 < len(group) < width and tuple(group.tolist()) not in met:
            met.add(tuple(group.tolist()))
            groups.append(group)
    return groups


def importance(X: Floats, chunk: Codes) -> Floats:
    """Weights of rows of a class in importance sampling: the greater, the more they are like the newest chunk's.

    Of a row from chunk k, beta = |P_t| p_t(x) / (|P_k| p_k(x)), where t is the newest chunk, |P| the rows from a chunk
    and p a product of normal densities, one per column; the weight is 1 / (1 + exp(0.5 - beta)). A missing value has
    no factor, and a variance that cannot be had, or is 0, is the one over all chunks.
    """
    known = ~np.isnan(X)

    def moments(rows: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
        there = known & rows[:, None]
        n = there.sum(axis=0)
        mean = np.where(there, X, 0.0).sum(axis=0) / np.maximum(n, 1)
        squares = np.where(there, X - mean, 0.0) ** 2
        return n, mean, squares.sum(axis=0) / np.maximum(n - 1, 1)

    _, _, overall = moments(np.ones(len(X), np.bool_))
    overall = np.where(overall > 0, overall, 1.0)

    def log_density(rows: NDArray[np.bool_]) -> Floats:
        n, mean, variance = moments(rows)
        variance = np.where((n > 1) & (variance > 1e-9 * overall), variance, overall)
        each = -0.5 * (np.log(variance) + (X - mean) ** 2 / variance)
        density: Floats = np.where(known & (n > 0), each, 0.0).sum(axis=1)
        return density

    newest = chunk == chunk.max()
    now = np.log(newest.sum()) + log_density(newest)
    log_beta = np.zeros(len(X))
    for k in np.unique(chunk[~newest]).tolist():
        of_k = chunk == k
        log_beta[of_k] = (now - np.log(of_k.sum()) - log_density(of_k))[of_k]
    beta = np.exp(np.clip(log_beta, -700.0, 6.5))
    weights: Floats = 1.0 / (1.0 + np.exp(0.5 - beta))
    return weights


def simplex_weights(margins: Floats, cost: Floats) -> Floats:
    """Weights of groups, none below 0 and 1 in all, for which sum of c log(1 + exp(-margin)) is least.

    Parameters
    ----------
    margins : float64 (n, groups)
        1 where a group is right about a row, -1 where it is wrong.
    cost : float64 (n,)
        The rows' c.
    """
    from scipy.optimize import LinearConstraint, minimize

    g = margins.shape[1]
    start = np.full(g, 1.0 / g)
    if g == 1 or not len(margins):
        return start
    cost = cost / cost.sum()

    def loss(weights: Floats) -> tuple[float, Floats]:
        margin = np.einsum("ij,j->i", margins, weights)
        slope = -cost / (1.0 + np.exp(margin))
        return float((cost * np.logaddexp(0.0, -margin)).sum()), np.einsum("ij,i->j", margins, slope)

    best = minimize(
        loss,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * g,
        constraints=LinearConstraint(np.ones((1, g)), 1.0, 1.0),
        options={"maxiter": 200, "ftol": 1e-9},
    )
    weights = np.clip(best.x, 0.0, None)
    if not np.isfinite(weights).all() or weights.sum() <= 0:
        return start
    found: Floats = weights / weights.sum()
    return found


class DFGWISClassifier(ChunkClassifier):
    """DFGW-IS: dynamic feature group weighting with importance sampling.

    Groups of columns are drawn once, all columns together among them. With each chunk, every group is learned anew, by
    ``n_estimators`` members: to the chunk's minority come the rows that are stored of past ones, and a member is fitted
    to as many rows of this pool as it has, drawn by their importance, and as many rows of the majority; both with
    replacement. Important are rows as likely now as when they came, by normal densities. Some rows of the chunk and the
    pool are held out, on which groups are weighed: by the weights, none below 0 and 1 in all, of the least logistic
    loss, where the minority counts as much as the majority. These discriminative weights are averaged with weights of
    stability, 1 less the mean Hellinger distance, divided by its largest value, between the distributions of a group's
    columns in one chunk and the next. Each group votes for the class that most of its members do [1]_.

    When the pool has more rows than the chunk has of the majority, the rows of its oldest chunk are forgotten.

    The minority is the class with the fewest rows in a chunk; all others together are the majority, and members tell
    all classes apart; a group is right or wrong about a row. Rows are stored with their class, and only those of the
    class that is the minority now are in the pool. A chunk of one class changes nothing. Where columns are added,
    groups are drawn anew.

    Parameters
    ----------
    estimator : classifier, optional
        What is fitted to the samples: any classifier with ``fit``. By default CART:
        ``DecisionTreeClassifier(min_samples_split=10)``.
    n_estimators : int, default=11
        Members of a group.
    chunk_size : int, default=500
        Rows learned at a time. Rows wait until there are as many; see :meth:`flush`.
    n_groups : int, default=50
        Most groups of columns; d columns have 2^d - 1.
    holdout : float, default=0.15
        Share of the pool, and of the majority, that is held out, rounded.
    stability : float, default=0.5
        Share of the weights of stability in those of the votes.
    n_bins : int, default=30
        Bins of the histograms of which Hellinger distances are taken, over the range of both chunks.
    n_jobs : int or None, default=None
        Threads that members are fitted on; -1 is one per processor. The results are the same.
    random_state : int, Generator, RandomState or None, default=None
        Where random numbers come from.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    groups_ : list of ndarray of int
        Columns of each group.
    weights_ : ndarray of shape (n_groups,)
        Weights of the groups' votes.
    nbytes : int
        Bytes of state.

    Notes
    -----
    Published for whole chunks without labels: there, stability is between the chunk to be predicted and the one before.
    Here a row is predicted when it comes, and alone as in a chunk, so that stability is between the latest two chunks
    that were learned. The authors' density ratio can exceed any number; here it is capped where the importance is 1
    to the last digit. If no row of the minority is held out, all groups are equally discriminative. The histograms of
    the program that is published with a later paper [2]_ go downwards from the smallest value and see next to nothing;
    they are not followed.

    References
    ----------
    .. [1] K. Wu, A. Edwards, W. Fan, J. Gao and K. Zhang, "Classifying imbalanced data streams via dynamic feature
       group weighting with importance sampling", SDM 2014.
    .. [2] https://github.com/jasonyanglu/ACDWM

    Examples
    --------
    >>> from anabranch.evaluation import prequential
    >>> from anabranch.imbalance import DFGWISClassifier
    >>> from anabranch.stream import SEA
    >>> learner = DFGWISClassifier(chunk_size=1000, random_state=1)
    >>> run = prequential(learner, SEA(seed=1, n_rows=10_000, minority_share=0.05), metrics=["gmean"])
    >>> run.metrics["gmean"] > 0.7
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **ChunkClassifier._constraints,
        "n_groups": Number(1, integer=True),
        "holdout": Number(0, 1, open_high=True),
        "stability": Number(0, 1),
        "n_bins": Number(1, integer=True),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 11,
        chunk_size: int = 500,
        n_groups: int = 50,
        holdout: float = 0.15,
        stability: float = 0.5,
        n_bins: int = 30,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.chunk_size = chunk_size
        self.n_groups = n_groups
        self.holdout = holdout
        self.stability = stability
        self.n_bins = n_bins
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def groups_(self) -> list[NDArray[np.int64]]:
        """Columns of each group."""
        return [group.copy() for group in self._groups]

    @property
    def weights_(self) -> Floats:
        """Weights of the groups' votes."""
        return self._alpha.copy()

    def _begin(self) -> None:
        super()._begin()
        self._stored = Minority()
        self._groups: list[NDArray[np.int64]] = []
        self._members: list[Models] = []
        self._alpha = np.zeros(0)
        self._before = np.zeros((0, 0)), np.zeros(0)  # the latest chunk's rows and weights

    # ------------------------------------------------------------------------------------ learning

    def _learn_block(self, X: Floats, y: Codes, w: Floats) -> None:
        if (y == y[0]).all():
            return
        own = self._generators(self.n_estimators + 1)[-1]
        width = X.shape[1]
        groups = self._groups
        if not groups or len(groups[0]) < width:
            groups = drawn_groups(width, self.n_groups, own)
        code = rarest(y)
        minority = y == code
        stored, stored_weights, chunks = self._stored.of(code, width)
        oldest = int(chunks[0]) if len(chunks) and len(chunks) + minority.sum() > (~minority).sum() else -1
        pooled = chunks != oldest
        pool = Rows(
            np.vstack([stored[pooled], X[minority]]),
            np.full(int(pooled.sum() + minority.sum()), code),
            np.concatenate([stored_weights[pooled], w[minority]]),
        )
        chunk = np.concatenate([chunks[pooled], np.full(int(minority.sum()), self._n_chunks)])
        others = Rows(X[~minority], y[~minority], w[~minority])
        train_p, held_p = self._split(len(pool.y), own)
        train_n, held_n = self._split(len(others.y), own)
        members = [
            self._learn_group(pool.part(train_p, group), chunk[train_p], others.part(train_n, group))
            for group in groups
        ]
        discriminative = self._discriminative(members, groups, pool.part(held_p), others.part(held_n))
        weights = self.stability * self._stable(groups, X, w) + (1.0 - self.stability) * discriminative
        # Nothing has changed so far, in case that the estimator fails.
        self._groups, self._members, self._alpha = groups, members, weights
        self._stored.drop((self._stored.y == code) & (self._stored.chunk == oldest))
        self._stored.add(X[minority], y[minority], w[minority], self._n_chunks, None)
        self._before = X.copy(), w.copy()

    def _split(self, n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Row numbers to train with, at least one, and to hold out."""
        order = rng.permutation(n)
        kept = max(1, int(np.floor((1.0 - self.holdout) * n + 0.5)))
        return order[:kept], order[kept:]

    def _learn_group(self, pool: Rows, chunk: Codes, others: Rows) -> Models:
        """Fit a group's members to samples of the pool, by importance, and of the majority."""
        sums = np.cumsum(pool.w * importance(pool.X, chunk))
        size = len(pool.y)

        def sample(m: int, rng: np.random.Generator) -> tuple[Floats, Codes, Floats]:
            drawn = np.minimum(np.searchsorted(sums, rng.random(size) * sums[-1], side="right"), size - 1)
            rows = rng.integers(len(others.y), size=size)
            w = others.w[rows]
            return (
                np.vstack([pool.X[drawn], others.X[rows]]),
                np.concatenate([pool.y, others.y[rows]]),
                np.concatenate([np.full(size, w.mean()), w]),
            )

        return self._fit_each(self.n_estimators, sample)

    def _discriminative(
        self, members: list[Models], groups: list[NDArray[np.int64]], pool: Rows, others: Rows
    ) -> Floats:
        """Weights of groups by what they make of the rows that were held out."""
        if not len(pool.y) or not len(others.y):
            return np.full(len(groups), 1.0 / len(groups))
        truth = np.concatenate([pool.y, others.y])
        cost = np.concatenate([pool.w * (others.w.sum() / pool.w.sum()), others.w])
        said = self._say(members, groups, np.vstack([pool.X, others.X]))
        right = np.column_stack([votes.argmax(axis=1) == truth for votes in said])
        return simplex_weights(np.where(right, 1.0, -1.0), cost)

    def _stable(self, groups: list[NDArray[np.int64]], X: Floats, w: Floats) -> Floats:
        """For each group, 1 less the mean Hellinger distance of its columns between the chunk before and this one."""
        before, w_before = self._before
        if not len(before):
            return np.ones(len(groups))
        before = columns_of(before, np.arange(X.shape[1]))
        low, high = ranges(before, X)
        p, q = (histograms(rows, some, low, high, self.n_bins) for rows, some in ((before, w_before), (X, w)))
        distances = hellinger(p, q) / np.sqrt(2.0)
        return np.array([1.0 - float(distances[group].mean()) if len(group) else 1.0 for group in groups])

    # ------------------------------------------------------------------------------------ voting

    def _say(self, members: list[Models], groups: list[NDArray[np.int64]], X: Floats) -> list[Floats]:
        """Each group's votes."""
        return [models.votes(columns_of(X, group), True) for models, group in zip(members, groups, strict=True)]

    def _model_votes(self, X: Floats) -> Floats:
        votes = np.zeros((len(X), self._n_classes))
        for g, one in enumerate(self._say(self._members, self._groups, X)):
            kernels.add_votes(votes, one, self._alpha[g : g + 1], True)
        return votes
