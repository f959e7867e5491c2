"""HUWRS.IP: Hellinger distances weigh random subspaces, and past rows of the minority are propagated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch._parameters import Constraint, Number
from anabranch.ensemble._base import each
from anabranch.ensemble._batch import Models, fit_model
from anabranch.ensemble._chunks import ChunkClassifier
from anabranch.ensemble._experts import Expert, ExpertEnsemble
from anabranch.imbalance._hellinger import hellinger, histograms, ranges
from anabranch.imbalance._minority import Minority, columns_of, filled, means_of, rarest
from anabranch.schema import Codes, Floats

__all__ = ["HUWRSIPClassifier"]


class Subspace(Expert):
    """A classifier of some columns, and how these were distributed when it was made.

    Attributes
    ----------
    columns : int64 (d,)
        In order.
    low, high : float64 (d,)
        Range of the bins.
    shares : float64 (classes, d, bins + 3)
        Histograms of each class.
    there : bool (classes,)
        Which classes there were.
    """

    def __init__(self, columns: NDArray[np.int64]) -> None:
        super().__init__(Models.constant(np.ones(1)), 0.0)
        self.columns = columns
        self.low, self.high = np.zeros((2, len(columns)))
        self.shares, self.there = np.zeros((0, len(columns), 0)), np.zeros(0, np.bool_)

    def describe(self, X: Floats, y: Codes, w: Floats, n_bins: int) -> tuple[Floats, NDArray[np.bool_]]:
        """Histograms of each class in a chunk, and which classes there are."""
        there = np.bincount(y) > 0
        shares = np.zeros((len(there), X.shape[1], n_bins + 3))
        for code in np.flatnonzero(there).tolist():
            shares[code] = histograms(X[y == code], w[y == code], self.low, self.high, n_bins)
        return shares, there

    def fits(self, X: Floats, y: Codes, w: Floats, n_bins: int) -> float:
        """1 less the mean Hellinger distance, from 0 to 1, of a chunk's columns from those that it was made from."""
        shares, there = self.describe(X, y, w, n_bins)
        k = min(len(there), len(self.there))
        both = np.flatnonzero(there[:k] & self.there[:k])
        either = int(there.sum() + self.there.sum()) - len(both)
        near = 1.0 - hellinger(shares[both], self.shares[both]) / np.sqrt(2.0)
        # A class that is only in one of them could not be further off, and adds 0.
        return float(max(0.0, near.mean(axis=1).sum() / either)) if X.shape[1] else 1.0


def propagated(stored: Floats, X: Floats, minority: NDArray[np.bool_], w: Floats, most: int) -> NDArray[np.int64]:
    """Stored rows that naive Bayes, fitted to a chunk, takes for its minority, in order; at most the surest so many.

    Columns are scaled by the chunk's mean and deviation; a gap counts as the mean.
    """
    from sklearn.naive_bayes import GaussianNB

    if not len(stored) or most <= 0 or not X.shape[1]:
        return np.zeros(0, np.int64)
    means = means_of(X)
    X = filled(X, means)
    deviation = np.sqrt(((X - means) ** 2).mean(axis=0))
    varies = deviation > 1e-12 * np.abs(means)
    if not varies.any():  # nothing tells the minority from the others
        return np.zeros(0, np.int64)
    safe = np.where(varies, deviation, 1.0)

    def scaled(rows: Floats) -> Floats:
        return np.where(varies, np.clip((filled(rows, means) - means) / safe, -1e9, 1e9), 0.0)

    bayes = GaussianNB().fit(scaled(X), minority, sample_weight=w)
    sure = bayes.predict_proba(scaled(stored))[:, 1]
    newest_first = np.arange(len(stored))[::-1]
    best = newest_first[np.argsort(-sure[newest_first], kind="stable")[:most]]
    return np.sort(best[sure[best] > 0.5])


class HUWRSIPClassifier(ExpertEnsemble):
    """HUWRS.IP: Hellinger-weighted random subspaces with instance propagation.

    There are ``n_estimators`` classifiers, each of some columns drawn at random. With each chunk a classifier gets a
    new weight, 1 less the mean Hellinger distance, over its columns and the classes, between the distributions in this
    chunk and in the chunk that it was made from; where it falls below ``threshold``, the concept has changed, and the
    classifier is made anew from this chunk [2]_. Chunks have little of the minority. So the rows of all past minorities
    are stored, and those that naive Bayes, fitted to the chunk, takes for its minority are added to it, the surest
    first, until it is as large as the majority [1]_.

    The minority is the class with the fewest rows in a chunk; all others together are the majority. Rows are stored
    with their class, and only those of the class that is the minority now are added. A class that was not there before,
    or no longer is, has the largest distance. A chunk of one class changes nothing. Where columns are added to the
    stream, subspaces are drawn anew.

    Parameters
    ----------
    estimator : classifier, optional
        What is fitted to a chunk: any classifier with ``fit``. By default CART:
        ``DecisionTreeClassifier(min_samples_split=10)``.
    n_estimators : int, default=25
        Number of subspaces.
    chunk_size : int, default=500
        Rows learned at a time. Rows wait until there are as many; see :meth:`flush`.
    subspace : float, default=0.5
        Share of the columns in a subspace, rounded up.
    threshold : float, default=0.7
        Smallest weight with which a classifier is kept.
    n_bins : int, default=10
        Bins of the histograms of which distances are taken, over a column's range when a classifier was made. Values
        below it, above it and missing ones have bins of their own.
    voting : {"soft", "hard"}, default="soft"
        Classifiers vote with probabilities or for one class each.
    max_stored : int or None, default=None
        Most rows to store; the oldest go first. None keeps all: then memory, and time per chunk, grow with the stream.
    n_jobs : int or None, default=None
        Threads that classifiers are fitted and vote on; -1 is one per processor. The results are the same.
    random_state : int, Generator, RandomState or None, default=None
        Where random numbers come from.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_experts_ : int
        Number of classifiers.
    weights_ : ndarray of shape (n_experts_,)
        Weights of their votes.
    subspaces_ : list of ndarray of int
        Their columns.
    nbytes : int
        Bytes of state.

    Notes
    -----
    No program by the authors is known. The paper also adapts weights to a chunk that has no labels yet; here a row is
    predicted when it comes, and alone as in a chunk, with the weights of the latest chunk learned.

    References
    ----------
    .. [1] T. R. Hoens and N. V. Chawla, "Learning in non-stationary environments with class imbalance", KDD 2012.
    .. [2] T. R. Hoens, N. V. Chawla and R. Polikar, "Heuristic updatable weighted random subspaces for non-stationary
       environments", ICDM 2011.

    Examples
    --------
    >>> from anabranch.evaluation import prequential
    >>> from anabranch.imbalance import HUWRSIPClassifier
    >>> from anabranch.stream import SEA
    >>> learner = HUWRSIPClassifier(chunk_size=1000, random_state=1)
    >>> run = prequential(learner, SEA(seed=1, n_rows=10_000, minority_share=0.05), metrics=["gmean"])
    >>> run.metrics["gmean"] > 0.5
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **ChunkClassifier._constraints,
        "subspace": Number(0, 1, open_low=True),
        "threshold": Number(0, 1),
        "n_bins": Number(1, integer=True),
        "voting": ExpertEnsemble._constraints["voting"],
        "max_stored": Number(1, integer=True, optional=True),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 25,
        chunk_size: int = 500,
        subspace: float = 0.5,
        threshold: float = 0.7,
        n_bins: int = 10,
        voting: str = "soft",
        max_stored: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.chunk_size = chunk_size
        self.subspace = subspace
        self.threshold = threshold
        self.n_bins = n_bins
        self.voting = voting
        self.max_stored = max_stored
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def subspaces_(self) -> list[NDArray[np.int64]]:
        """Columns of each classifier."""
        return [expert.columns.copy() for expert in self._experts]

    def _reconfigure(self) -> None:
        super()._reconfigure()
        if self._experts and len(self._experts) != self.n_estimators:
            raise ValueError("n_estimators cannot change once learning has begun: fit starts afresh.")
        if self._experts and self._experts[0].shares.shape[2] != self.n_bins + 3:
            raise ValueError("n_bins cannot change once learning has begun: fit starts afresh.")

    def _begin(self) -> None:
        super()._begin()
        self._stored = Minority()
        self._width = -1  # columns there were when subspaces were drawn

    def _learn_said(self, X: Floats, y: Codes, w: Floats, said: list[Floats]) -> None:
        if (y == y[0]).all():
            return
        rngs = self._generators(self.n_estimators)
        width = X.shape[1]
        experts, weights = self._experts, []
        if width != self._width:
            n = int(np.ceil(self.subspace * width))
            experts = [Subspace(np.sort(rng.permutation(width)[:n])) for rng in rngs]
        else:
            weights = [it.fits(columns_of(X, it.columns), y, w, self.n_bins) for it in experts]
        minority = y == rarest(y)
        outdated = [m for m in range(len(experts)) if not weights or weights[m] < self.threshold]
        fresh = dict(zip(outdated, self._made(outdated, experts, X, y, w, minority), strict=True))
        # Nothing has changed so far, in case that the estimator fails.
        self._experts, self._width = [fresh.get(m, expert) for m, expert in enumerate(experts)], width
        for m, weight in enumerate(weights):
            if m not in fresh:
                self._experts[m].weight = weight
        self._stored.add(X[minority], y[minority], w[minority], self._n_chunks, self.max_stored)

    def _made(
        self,
        outdated: list[int],
        experts: list[Any],
        X: Floats,
        y: Codes,
        w: Floats,
        minority: NDArray[np.bool_],
    ) -> list[Subspace]:
        """Classifiers of the same columns, made from this chunk and what is propagated to it."""
        if not outdated:
            return []
        code = int(y[minority][0])
        stored, weights, _ = self._stored.of(code, X.shape[1])
        taken = propagated(stored, X, minority, w, int((~minority).sum() - minority.sum()))
        rows = np.vstack([X, stored[taken]])
        codes = np.concatenate([y, np.full(len(taken), code)])
        all_weights = np.concatenate([w, weights[taken]])
        rngs = self._generators(self.n_estimators)

        def make(m: int) -> Subspace:
            expert = Subspace(experts[m].columns)
            here = columns_of(X, expert.columns)
            expert.low, expert.high = ranges(here)
            expert.shares, expert.there = expert.describe(here, y, w, self.n_bins)
            expert.models = fit_model(self.estimator, columns_of(rows, expert.columns), codes, all_weights, rngs[m])
            expert.weight = 1.0
            return expert

        return each(self.n_jobs, make, outdated)

    def _say(self, X: Floats) -> list[Floats]:
        return each(
            self.n_jobs, lambda expert: expert.models.votes(columns_of(X, expert.columns)), self._experts, len(X)
        )
