"""Learn++.CDS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from anabranch._parameters import Constraint, Number
from anabranch.ensemble._batch import Models
from anabranch.imbalance._minority import rarest
from anabranch.imbalance._smote import smote
from anabranch.imbalance._timed_experts import TimedExperts
from anabranch.schema import Codes, Floats

__all__ = ["LearnPPCDSClassifier"]


class LearnPPCDSClassifier(TimedExperts):
    """Learn++.CDS: concept drift with SMOTE, that is Learn++.NSE on chunks with a synthetic minority.

    The rows of a chunk first get weights: E, the ensemble's error rate on the chunk, where the ensemble is right, 1
    where it is wrong. SMOTE adds synthetic rows of the minority, and a new classifier is fitted to both. By the
    weights, the errors of all classifiers on the chunk's own rows are worked out. Their normalised values
    beta = e / (1 - e), where e counts at most as 1/2, are averaged with sigmoid weights 1 / (1 + exp(-a (age - b))), by
    the classifier's age in chunks at the time, and it votes with weight log(1 / average) [1]_. A new classifier with an
    error of more than 1/2 is made once more.

    The minority is the class with the fewest rows in a chunk, one of any number; only it gets synthetic rows, and none
    where it has a single row. A chunk of one class changes nothing: neither classifiers nor weights.

    Parameters
    ----------
    estimator : classifier, optional
        What is fitted to a chunk: any classifier with ``fit``. By default CART:
        ``DecisionTreeClassifier(min_samples_split=10)``.
    chunk_size : int, default=500
        Rows learned at a time. Rows wait until there are as many; see :meth:`flush`.
    slope, crossing : float, default=0.5, 10
        The sigmoid's slope a, and the age b at which it is 1/2.
    amount : float, default=2
        Synthetic rows for each row of the minority: SMOTE's N is 100 times that.
    n_neighbors : int, default=5
        Nearest rows of the minority that SMOTE chooses from.
    voting : {"hard", "soft"}, default="hard"
        Classifiers vote for one class each, as published, or with probabilities.
    max_experts : int or None, default=None
        Most classifiers to keep; that of the smallest weight goes first, the newest never. None keeps all, as
        published: then memory, and time per chunk, grow with the stream.
    n_jobs : int or None, default=None
        Threads that classifiers vote on; -1 is one per processor. The results are the same.
    random_state : int, Generator, RandomState or None, default=None
        Where random numbers come from.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_experts_ : int
        Number of classifiers.
    weights_ : ndarray of shape (n_experts_,)
        Weights of their votes, the oldest first.
    nbytes : int
        Bytes of state.

    Notes
    -----
    As in the paper, the weights of rows count in errors, and are no weights in fitting. If the ensemble makes no error
    at all, the rows weigh alike. Weights of votes stay finite: an average below 0.01 counts as 0.01, as in the authors'
    programs, where otherwise errors are taken over the synthetic rows as well, and a classifier made once more is
    weighed by the answers of the one before. stream-learn's counts ages from the wrong end. Neither is followed.

    References
    ----------
    .. [1] G. Ditzler and R. Polikar, "Incremental learning of concept drift from streaming imbalanced data", IEEE
       Transactions on Knowledge and Data Engineering 25(10), 2013.

    Examples
    --------
    >>> from anabranch.evaluation import prequential
    >>> from anabranch.imbalance import LearnPPCDSClassifier
    >>> from anabranch.stream import SEA
    >>> learner = LearnPPCDSClassifier(chunk_size=1000, random_state=1)
    >>> run = prequential(learner, SEA(seed=1, n_rows=10_000, minority_share=0.05), metrics=["gmean"])
    >>> run.metrics["gmean"] > 0.7
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **TimedExperts._constraints,
        "amount": Number(0),
        "n_neighbors": Number(1, integer=True),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        chunk_size: int = 500,
        slope: float = 0.5,
        crossing: float = 10.0,
        amount: float = 2.0,
        n_neighbors: int = 5,
        voting: str = "hard",
        max_experts: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.chunk_size = chunk_size
        self.slope = slope
        self.crossing = crossing
        self.amount = amount
        self.n_neighbors = n_neighbors
        self.voting = voting
        self.max_experts = max_experts
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _learn_said(self, X: Floats, y: Codes, w: Floats, said: list[Floats]) -> None:
        if (y == y[0]).all():
            return
        D = w / w.sum()
        if said:
            right = self._weighted(said, len(y)).argmax(axis=1) == y
            E = float(D[~right].sum())
            if E > 0:
                D = np.where(right, E * D, D)
                D /= D.sum()
        self._learn_timed(X, y, w, said, lambda codes: float(D[codes != y].sum()))

    def _make(self, X: Floats, y: Codes, w: Floats) -> Models:
        minority = np.flatnonzero(y == rarest(y))
        [rng] = self._generators(1)
        synthetic, base = smote(X[minority], self.amount, self.n_neighbors, rng)
        rows = minority[base]
        return self._fit(np.vstack([X, synthetic]), np.concatenate([y, y[rows]]), np.concatenate([w, w[rows]]))
