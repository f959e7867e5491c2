"""The selectively recursive approach (SERA)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from anabranch._parameters import Constraint, Number, OneOf
from anabranch.ensemble._chunks import LatestModelsClassifier
from anabranch.imbalance._minority import Minority, filled, means_of, rarest, wanted
from anabranch.schema import Codes, Floats

__all__ = ["SERAClassifier"]


def mahalanobis(X: Floats, those: Floats) -> Floats:
    """Squared Mahalanobis distances of rows from the distribution of others.

    Columns that do not vary there are left out. The rest are scaled first, so that none is too small for the
    pseudo-inverse to see.
    """
    if len(those) < 2:
        return np.zeros(len(X))
    mean = those.mean(axis=0)
    scale = np.sqrt(((those - mean) ** 2).sum(axis=0) / (len(those) - 1))
    varies = scale > 1e-9 * np.abs(those).max(axis=0)
    safe = np.where(varies, scale, 1.0)
    Z = np.where(varies, (those - mean) / safe, 0.0)
    away = np.where(varies, (X - mean) / safe, 0.0)
    # Sums in a fixed order, unlike a matrix product's.
    inverse = np.linalg.pinv(np.einsum("ij,ik->jk", Z, Z) / (len(those) - 1), rcond=1e-10, hermitian=True)
    distances: Floats = (np.einsum("ij,jk->ik", away, inverse) * away).sum(axis=1)
    return distances


class SERAClassifier(LatestModelsClassifier):
    """Selectively recursive approach (SERA): a chunk is balanced with those past rows that are like its minority.

    The rows of the minority of all past chunks are stored. A chunk takes in all of them while they are fewer than
    ``post_balance`` times its own rows; after that only as many as lift the minority to that many, those first that
    are nearest, by Mahalanobis distance, to the distribution of the minority in the chunk (the newer among equals). A
    classifier is fitted to the result and forgets the one before: all that is remembered of the past are rows [1]_.
    With ``n_estimators`` above 1, it is a bagged one, of so many members with a bootstrap sample each.

    The minority is the class with the fewest rows in a chunk. Rows are stored with their class, and only those of the
    class that is the minority now are taken in. If the chunk's minority does not vary in a column, the column has no
    say; a minority of a single row takes the newest rows. A chunk of one class changes nothing.

    Parameters
    ----------
    estimator : classifier, optional
        What is fitted to a chunk: any classifier with ``fit``. By default CART:
        ``DecisionTreeClassifier(min_samples_split=10)``.
    n_estimators : int, default=1
        Number of members; 1 is no bagging.
    chunk_size : int, default=500
        Rows learned at a time. Rows wait until there are as many; see :meth:`flush`.
    post_balance : float, default=0.5
        The paper's f: rows of the minority after balancing, as a share of the chunk's rows.
    voting : {"soft", "hard"}, default="soft"
        Add up members' probabilities, or give each one vote.
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
    .. [1] S. Chen and H. He, "SERA: selectively recursive approach towards nonstationary imbalanced stream data
       mining", IJCNN 2009.

    Examples
    --------
    >>> from anabranch.evaluation import prequential
    >>> from anabranch.imbalance import SERAClassifier
    >>> from anabranch.stream import SEA
    >>> learner = SERAClassifier(chunk_size=1000, random_state=1)
    >>> run = prequential(learner, SEA(seed=1, n_rows=10_000, minority_share=0.05), metrics=["gmean"])
    >>> run.metrics["gmean"] > 0.7
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **LatestModelsClassifier._constraints,
        "post_balance": Number(0, open_low=True),
        "voting": OneOf(("soft", "hard")),
        "max_stored": Number(1, integer=True, optional=True),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 1,
        chunk_size: int = 500,
        post_balance: float = 0.5,
        voting: str = "soft",
        max_stored: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.chunk_size = chunk_size
        self.post_balance = post_balance
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
        minority = y == code
        stored, weights, _ = self._stored.of(code, X.shape[1])
        n = wanted(len(stored), int(minority.sum()), len(y), self.post_balance)
        taken = np.arange(n)
        if n < len(stored):
            means = means_of(X[minority])
            distances = mahalanobis(filled(stored, means), filled(X[minority], means))
            newest_first = np.arange(len(stored))[::-1]
            taken = np.sort(newest_first[np.argsort(distances[newest_first], kind="stable")[:n]])
        rows = np.vstack([X, stored[taken]])
        codes = np.concatenate([y, np.full(n, code)])
        all_weights = np.concatenate([w, weights[taken]])

        def sample(m: int, rng: np.random.Generator) -> tuple[Floats, Codes, Floats]:
            if self.n_estimators == 1:
                return rows, codes, all_weights
            drawn = rng.integers(len(rows), size=len(rows))
            return rows[drawn], codes[drawn], all_weights[drawn]

        self._models = self._fit_each(self.n_estimators, sample)
        self._stored.add(X[minority], y[minority], w[minority], self._n_chunks, self.max_stored)
