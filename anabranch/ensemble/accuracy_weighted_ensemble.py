"""The accuracy-weighted ensemble."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from anabranch._parameters import Constraint, Number, OneOf
from anabranch.ensemble._base import each
from anabranch.ensemble._batch import fit_model
from anabranch.ensemble._chunks import ChunkClassifier
from anabranch.ensemble._experts import Expert, ExpertEnsemble, squared_error
from anabranch.schema import Codes, Floats

__all__ = ["AccuracyWeightedEnsembleClassifier"]


class AccuracyWeightedEnsembleClassifier(ExpertEnsemble):
    """Accuracy-weighted ensemble: a classifier per chunk, weighed by how much better than chance it is on the latest.

    On each chunk every classifier has an error MSE, the mean of (1 - p)^2 over the rows, where p is the probability
    that it gives the row's class. Guessing by the shares p(c) of the classes would have the error
    MSE_r = sum of p(c) (1 - p(c))^2. A classifier's weight is MSE_r - MSE, and one that is no better than guessing has
    no vote. That of a new classifier comes from cross-validation, since it knows the chunk. Of all classifiers, the new
    one included, the ``n_estimators`` of the greatest weights are kept [1]_.

    Any number of classes. A chunk of one class changes nothing: there MSE_r is 0, and nobody would have a vote. If no
    classifier has a vote on some chunk, all count alike.

    Parameters
    ----------
    estimator : classifier, optional
        What is fitted to a chunk: any classifier with ``fit``. By default CART:
        ``DecisionTreeClassifier(min_samples_split=10)``.
    n_estimators : int, default=10
        The paper's K, the most classifiers to keep.
    chunk_size : int, default=500
        Rows learned at a time. Rows wait until there are as many; see :meth:`flush`.
    n_folds : int, default=10
        Parts of a chunk in cross-validation, drawn at random.
    voting : {"soft", "hard"}, default="soft"
        Classifiers vote with probabilities, as published, or for one class each.
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
        Weights of their votes, the oldest first.
    nbytes : int
        Bytes of state.

    References
    ----------
    .. [1] H. Wang, W. Fan, P. S. Yu and J. Han, "Mining concept-drifting data streams using ensemble classifiers",
       KDD 2003.

    Examples
    --------
    >>> from anabranch.ensemble import AccuracyWeightedEnsembleClassifier
    >>> from anabranch.evaluation import prequential
    >>> from anabranch.stream import SEA
    >>> run = prequential(AccuracyWeightedEnsembleClassifier(random_state=1), SEA(seed=1, n_rows=10_000))
    >>> run.metrics["accuracy"] > 0.8
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **ChunkClassifier._constraints,
        "voting": OneOf(("soft", "hard")),
        "n_folds": Number(2, integer=True),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 10,
        chunk_size: int = 500,
        n_folds: int = 10,
        voting: str = "soft",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.chunk_size = chunk_size
        self.n_folds = n_folds
        self.voting = voting
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _learn_said(self, X: Floats, y: Codes, w: Floats, said: list[Floats]) -> None:
        if (y == y[0]).all():
            return
        shares = np.bincount(y, w) / w.sum()
        by_chance = float((shares * (1.0 - shares) ** 2).sum())
        errors = [squared_error(votes, y, w) for votes in said]
        errors.append(self._cross_validated(X, y, w))
        experts = [*self._experts, Expert(self._fit(X, y, w, self.n_folds))]
        newest_first = np.arange(len(experts))[::-1]
        best = newest_first[np.argsort(np.array(errors)[newest_first], kind="stable")[: self.n_estimators]]
        self._experts = [experts[i] for i in np.sort(best)]
        for expert, i in zip(self._experts, np.sort(best).tolist(), strict=True):
            expert.weight = max(0.0, by_chance - errors[i])

    def _cross_validated(self, X: Floats, y: Codes, w: Floats) -> float:
        """Error of classifiers that are each fitted to all parts of a chunk but one, on that one."""
        n = min(self.n_folds, len(y))
        rngs = self._generators(self.n_folds + 1)
        part = np.empty(len(y), np.int64)
        part[rngs[-1].permutation(len(y))] = np.arange(len(y)) % n
        votes = np.zeros((len(y), int(y.max()) + 1))

        def fold(m: int) -> None:
            there, here = part != m, np.flatnonzero(part == m)
            told = fit_model(self.estimator, X[there], y[there], w[there], rngs[m]).votes(X[here])
            votes[here, : told.shape[1]] = told

        each(self.n_jobs, fold, range(n))
        return squared_error(votes, y, w)
