"""Learn++.NIE."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from anabranch._parameters import Constraint, Number
from anabranch.ensemble._batch import Models
from anabranch.imbalance._errors import ErrorFunction, error_of
from anabranch.imbalance._minority import rarest, signs
from anabranch.imbalance._timed_experts import TimedExperts
from anabranch.schema import Codes, Floats

__all__ = ["LearnPPNIEClassifier"]


class LearnPPNIEClassifier(TimedExperts):
    """Learn++.NIE: learning in nonstationary and imbalanced environments.

    Every chunk makes a sub-ensemble of ``n_estimators`` members, each of which learns all rows of the minority and,
    of the N rows of the chunk, N / ``n_estimators`` of the other classes, drawn with replacement; it votes by
    majority. On every later chunk it is tested with a measure that a majority class cannot dominate. Its normalised
    errors beta = e / (1 - e), where e counts at most as 1/2, are averaged with sigmoid weights
    1 / (1 + exp(-a (age - b))), by its age in chunks at the time, and it votes with weight log(1 / average) [1]_. A new
    sub-ensemble with an error of more than 1/2 is made once more.

    The minority is the class with the fewest rows in a chunk; all others together are the majority, and members tell
    all classes apart. An expert that mixes up two of the majority's classes errs, too. A chunk of one class changes
    nothing: neither experts nor weights.

    Parameters
    ----------
    estimator : classifier, optional
        What is fitted to the samples: any classifier with ``fit``. By default CART:
        ``DecisionTreeClassifier(min_samples_split=10)``.
    n_estimators : int, default=5
        Number T of members of a sub-ensemble.
    chunk_size : int, default=500
        Rows learned at a time. Rows wait until there are as many; see :meth:`flush`.
    slope, crossing : float, default=0.5, 10
        The sigmoid's slope a, and the age b at which it is 1/2.
    error : {"gmean", "f1", "recall"} or callable, default="gmean"
        As in :class:`~anabranch.imbalance.DWMILClassifier`, for the minority against the rest. ("recall" is the
        paper's weighted recall for eta = 1/2.)
    voting : {"hard", "soft"}, default="hard"
        Members and sub-ensembles vote for one class each, as published, or with probabilities.
    max_experts : int or None, default=None
        Most sub-ensembles to keep; that of the smallest weight goes first, the newest never. None keeps all, as
        published: then memory, and time per chunk, grow with the stream.
    n_jobs : int or None, default=None
        Threads that members are fitted on and sub-ensembles vote on; -1 is one per processor. The results are the same.
    random_state : int, Generator, RandomState or None, default=None
        Where the members' random generators come from.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_experts_ : int
        Number of sub-ensembles.
    weights_ : ndarray of shape (n_experts_,)
        Weights of their votes, the oldest first.
    nbytes : int
        Bytes of state.

    Notes
    -----
    Weights stay finite: an average below 0.01 counts as 0.01, as in the authors' programs [2]_. If all experts have
    weight 0, each with errors of 1/2 or more throughout, they count alike. The implementation that DWMIL's authors
    compared with [3]_ has 11 members, but still samples of N / 5, without replacement; stream-learn's forgets all
    errors but the last and counts ages from the wrong end. Neither is followed.

    References
    ----------
    .. [1] G. Ditzler and R. Polikar, "Incremental learning of concept drift from streaming imbalanced data", IEEE
       Transactions on Knowledge and Data Engineering 25(10), 2013.
    .. [2] https://github.com/gditzler/IncrementalLearning
    .. [3] https://github.com/lylylytc/dwmil

    Examples
    --------
    >>> from anabranch.evaluation import prequential
    >>> from anabranch.imbalance import LearnPPNIEClassifier
    >>> from anabranch.stream import SEA
    >>> learner = LearnPPNIEClassifier(chunk_size=1000, random_state=1)
    >>> run = prequential(learner, SEA(seed=1, n_rows=10_000, minority_share=0.05), metrics=["gmean"])
    >>> run.metrics["gmean"] > 0.7
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **TimedExperts._constraints,
        "n_estimators": Number(1, integer=True),
        "error": ErrorFunction(),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 5,
        chunk_size: int = 500,
        slope: float = 0.5,
        crossing: float = 10.0,
        error: str | Callable[[Codes, Floats, Floats], float] = "gmean",
        voting: str = "hard",
        max_experts: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.chunk_size = chunk_size
        self.slope = slope
        self.crossing = crossing
        self.error = error
        self.voting = voting
        self.max_experts = max_experts
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _learn_said(self, X: Floats, y: Codes, w: Floats, said: list[Floats]) -> None:
        if (y == y[0]).all():
            return
        minority = rarest(y)
        self._learn_timed(X, y, w, said, lambda codes: error_of(self.error, *signs(y, codes, minority), w))

    def _votes_of(self, models: Models, X: Floats) -> Floats:
        return models.votes(X, self.voting == "hard")

    def _make(self, X: Floats, y: Codes, w: Floats) -> Models:
        """Bagging variation: all of the minority, a part of the others."""
        small = y == rarest(y)
        minority, others = np.flatnonzero(small), np.flatnonzero(~small)
        size = max(1, len(y) // self.n_estimators)

        def sample(m: int, rng: np.random.Generator) -> tuple[Floats, Codes, Floats]:
            rows = np.concatenate([others[rng.integers(len(others), size=size)], minority])
            return X[rows], y[rows], w[rows]

        return self._fit_each(self.n_estimators, sample)
