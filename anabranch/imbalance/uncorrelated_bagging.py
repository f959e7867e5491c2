"""Uncorrelated bagging."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from anabranch._parameters import Constraint, Number, OneOf
from anabranch.ensemble._chunks import LatestModelsClassifier
from anabranch.imbalance._minority import Minority, rarest
from anabranch.schema import Codes, Floats

__all__ = ["UncorrelatedBaggingClassifier"]


class UncorrelatedBaggingClassifier(LatestModelsClassifier):
    """Uncorrelated bagging: members share all of the minority ever seen, and no row of the majority.

    The rows of the minority are stored for ever. With each chunk all members are fitted anew: to everything stored of
    its minority, the chunk's own included, and a part of the other rows of the chunk, drawn without replacement and
    disjoint from all other members' parts, so that members err independently. Their probabilities are averaged [1]_.

    Each part has as many rows as make the minority ``ratio`` times as large, or fewer where the chunk has not enough
    for all parts. With fewer of them than members, there are fewer members. The minority is the class with the fewest
    rows in a chunk, and all others together are the majority. Rows are stored with their class, and only those of the
    class that is the minority now are used. A chunk of one class changes nothing.

    Parameters
    ----------
    estimator : classifier, optional
        What is fitted to the samples: any classifier with ``fit``. By default CART:
        ``DecisionTreeClassifier(min_samples_split=10)``.
    n_estimators : int, default=11
        Number k of members.
    chunk_size : int, default=500
        Rows learned at a time. Rows wait until there are as many; see :meth:`flush`.
    ratio : float, default=0.5
        The paper's r: rows of the minority for each row of the majority in a sample.
    voting : {"soft", "hard"}, default="soft"
        Average the members' probabilities, as published, or give each one vote.
    max_stored : int or None, default=None
        Most rows to store; the oldest go first. None keeps all, as published: then memory, and time per chunk, grow
        with the stream.
    n_jobs : int or None, default=None
        Threads that members are fitted on; -1 is one per processor. The results are the same.
    random_state : int, Generator, RandomState or None, default=None
        Where the members' random generators come from.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    nbytes : int
        Bytes of state.

    References
    ----------
    .. [1] J. Gao, W. Fan, J. Han and P. S. Yu, "A general framework for mining concept-drifting data streams with
       skewed distributions", SDM 2007.

    Examples
    --------
    >>> from anabranch.evaluation import prequential
    >>> from anabranch.imbalance import UncorrelatedBaggingClassifier
    >>> from anabranch.stream import SEA
    >>> learner = UncorrelatedBaggingClassifier(chunk_size=1000, random_state=1)
    >>> run = prequential(learner, SEA(seed=1, n_rows=10_000, minority_share=0.05), metrics=["gmean"])
    >>> run.metrics["gmean"] > 0.7
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **LatestModelsClassifier._constraints,
        "ratio": Number(0, open_low=True),
        "voting": OneOf(("soft", "hard")),
        "max_stored": Number(1, integer=True, optional=True),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 11,
        chunk_size: int = 500,
        ratio: float = 0.5,
        voting: str = "soft",
        max_stored: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.chunk_size = chunk_size
        self.ratio = ratio
        self.voting = voting
        self.max_stored = max_stored
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _begin(self) -> None:
        super()._begin()
        self._stored = Minority()

    def _learn_block(self, X: Floats, y: Codes, w: Floats) -> None:
        if (y == y[0]).all():
            return
        code = rarest(y)
        minority, others = y == code, np.flatnonzero(y != code)
        past, past_weights, _ = self._stored.of(code, X.shape[1])
        P, weights = np.vstack([past, X[minority]]), np.concatenate([past_weights, w[minority]])
        k = min(self.n_estimators, len(others))
        size = max(1, min(len(others) // k, int(min(len(others), np.floor(len(P) / self.ratio + 0.5)))))
        [first, *_] = self._generators(k)
        parts = others[first.permutation(len(others))[: k * size]].reshape(k, size)

        def sample(m: int, rng: np.random.Generator) -> tuple[Floats, Codes, Floats]:
            rows = parts[m]
            return (
                np.vstack([P, X[rows]]),
                np.concatenate([np.full(len(P), code), y[rows]]),
                np.concatenate([weights, w[rows]]),
            )

        self._models = self._fit_each(k, sample)
        self._stored.add(X[minority], y[minority], w[minority], self._n_chunks, self.max_stored)
