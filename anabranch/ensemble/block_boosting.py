"""AdaBoost block by block."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from anabranch._parameters import Constraint, Number, OneOf
from anabranch.ensemble import pruning
from anabranch.ensemble._base import add_up, each
from anabranch.ensemble._batch import Models, fit_model
from anabranch.ensemble._chunks import AskedOnceClassifier
from anabranch.schema import Codes, Floats

__all__ = ["BlockBoostingClassifier"]

_SMALL = DecisionTreeClassifier(max_depth=5)


class BlockBoostingClassifier(AskedOnceClassifier):
    """AdaBoost over blocks of the stream, a new hypothesis per block, in a window of the newest k.

    For each block, AdaBoost's weights start afresh: the hypotheses there are, the oldest first, are taken as if each
    had just been learned; its error on the weighted block decides its say, and raises the weights of the rows that it
    gets wrong. A new hypothesis is then fitted to the weighted block. The oldest goes if there are more than k, and
    the vote has the weights just computed: so yesterday's hypotheses speak as loudly as they are right today [1]_.

    Several classes are learned as by AdaBoost.M1 [2]_: a hypothesis that is wrong in half of the weight or more has
    no say, and leaves the rows' weights alone; but it stays in the window, and may do better on the next block. (Where
    none has a say, all count alike.) One without any error would have an infinite say: errors count as those of half a
    row in the block, at least. A block of a single class makes a hypothesis that always says this class; the next block
    with others takes its say away. A last short block (:meth:`flush`) is treated like any other.

    Instead of the oldest, ``pruning`` can choose which hypotheses go, by what they say of the block just come, which
    they have not learned from [3]_; see :mod:`anabranch.ensemble.pruning`. The newest always stays.

    Parameters
    ----------
    estimator : classifier, optional
        What is fitted to a weighted block: any classifier with ``fit``; where that takes no weights, rows are drawn.
        By default a small CART: ``DecisionTreeClassifier(max_depth=5)``. A full-grown tree hardly errs on the block
        that it has learned, and would outvote all others.
    n_estimators : int, default=20
        Number k of hypotheses, at most.
    chunk_size : int, default=500
        Rows of a block. Rows wait until there are as many; see :meth:`flush`.
    pruning : {"oldest", "kl", "kappa", "kappa_error", "reduce_error"}, default="oldest"
        What decides which hypotheses stay when there are more than ``n_estimators``: their age, as published; how
        different their weights of the rows are; how little they agree; the convex hull of agreement and error (which
        may keep fewer than ``max_members``); or the error of their weighted vote.
    max_members : int, optional
        How many hypotheses stay then, the new one included, at most ``n_estimators``, which is the default. Fewer
        leave room for the next blocks, so that pruning is done less often.
    voting : {"hard", "soft"}, default="hard"
        Hypotheses vote for their most probable class, as published, or for all classes by their probabilities.
    n_jobs : int or None, default=None
        Threads that hypotheses vote on; -1 is one per processor. The results are the same.
    random_state : int, Generator, RandomState or None, default=None
        Where the hypotheses' seeds come from.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_members_ : int
        Number of hypotheses.
    member_weights_ : ndarray of float64, shape (n_members_,)
        log((1 - error) / error) of each on the latest block, the oldest first; 0 for no say.
    nbytes : int
        Bytes of state.

    References
    ----------
    .. [1] W. Fan, S. J. Stolfo and J. Zhang, "The application of AdaBoost for distributed, scalable and on-line
       learning", KDD 1999.
    .. [2] Y. Freund and R. E. Schapire, "Experiments with a new boosting algorithm", ICML 1996.
    .. [3] D. D. Margineantu and T. G. Dietterich, "Pruning adaptive boosting", ICML 1997.

    Examples
    --------
    >>> from anabranch.ensemble import BlockBoostingClassifier
    >>> from anabranch.evaluation import prequential
    >>> from anabranch.stream import SEA
    >>> learner = BlockBoostingClassifier(chunk_size=200, random_state=1)
    >>> run = prequential(learner, SEA(seed=1, n_rows=5000))
    >>> run.metrics["accuracy"] > 0.8
    True
    >>> learner.n_members_
    20
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **AskedOnceClassifier._constraints,
        "pruning": OneOf(("oldest", "kl", "kappa", "kappa_error", "reduce_error")),
        "max_members": Number(1, integer=True, optional=True),
        "voting": OneOf(("hard", "soft")),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 20,
        chunk_size: int = 500,
        pruning: str = "oldest",
        max_members: int | None = None,
        voting: str = "hard",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.chunk_size = chunk_size
        self.pruning = pruning
        self.max_members = max_members
        self.voting = voting
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def n_members_(self) -> int:
        """Number of hypotheses."""
        return len(self._members)

    @property
    def member_weights_(self) -> Floats:
        """Weight of each hypothesis' vote."""
        return self._alphas.copy()

    def _check_members(self) -> None:
        if self.max_members is not None and self.max_members > self.n_estimators:
            raise ValueError(f"max_members must be at most n_estimators, {self.n_estimators}, got {self.max_members}.")

    def _begin(self) -> None:
        self._check_members()
        super()._begin()
        self._members: list[Models] = []
        self._alphas = np.zeros(0)

    def _reconfigure(self) -> None:
        super()._reconfigure()
        self._check_members()

    # ------------------------------------------------------------------------------------ boosting a block

    def _learn_said(self, X: Floats, y: Codes, w: Floats, said: list[Floats]) -> None:
        """Boost a block, with what the hypotheses say of its rows."""
        predicted = [votes.argmax(axis=1) for votes in said]
        # 1. AdaBoost's weights, by the hypotheses there are.
        D = w
        alphas, distributions = [], []
        for h in predicted:
            distributions.append(D)
            alpha, D = _round(h != y, D)
            alphas.append(alpha)
        # 2. A new hypothesis.
        estimator = _SMALL if self.estimator is None else self.estimator
        new = fit_model(estimator, X, y, D, self._generators(1)[0])
        alpha, _ = _round(new.votes(X).argmax(axis=1) != y, D)
        # 3. The window.
        kept = list(range(len(self._members)))
        if len(kept) >= self.n_estimators:
            kept = self._pruned(predicted, distributions, alphas, y, w)
        self._members = [*(self._members[m] for m in kept), new]
        self._alphas = np.array([*(alphas[m] for m in kept), alpha])

    def _pruned(
        self, predicted: list[Codes], distributions: list[Floats], alphas: list[float], y: Codes, w: Floats
    ) -> list[int]:
        """Which hypotheses stay beside the new one, the oldest first."""
        n_keep = (self.n_estimators if self.max_members is None else self.max_members) - 1
        everyone = list(range(len(predicted)))
        if n_keep == 0:
            return []
        if self.pruning == "oldest":
            return everyone[-n_keep:]
        said = np.array(predicted)
        if self.pruning == "kl":
            kept = pruning.kl_divergence(np.array(distributions), n_keep)
        elif self.pruning == "kappa":
            kept = pruning.kappa(said, n_keep, w)
        elif self.pruning == "kappa_error":
            kept = pruning.kappa_error_hull(said, y, w)[:n_keep]
        else:
            kept = pruning.reduce_error(said, y, np.array(alphas), n_keep, w)
        return sorted(kept.tolist())

    # ------------------------------------------------------------------------------------ voting

    def _say(self, X: Floats) -> list[Floats]:
        """What each hypothesis says of rows: shares of the classes."""
        return each(self.n_jobs, lambda member: member.votes(X), self._members, len(X))

    def _weighted(self, said: list[Floats], n: int) -> Floats:
        if not said:
            return np.zeros((n, self._n_classes))
        return add_up(said, self._n_classes, self.voting == "hard", list(self._alphas[:, None]))


def _sum(values: Floats) -> float:
    """Add up one after the other."""
    return float(np.cumsum(values)[-1])


def _round(wrong: NDArray[np.bool_], D: Floats) -> tuple[float, Floats]:
    """A round of AdaBoost.M1: the weight of a hypothesis' vote, and the weights that follow, of the same sum."""
    total = _sum(D)
    error = max(_sum(D * wrong) / total, 0.5 / len(D))
    if error >= 0.5:
        return 0.0, D
    beta = error / (1.0 - error)
    D = np.where(wrong, D, D * beta)
    return -math.log(beta), D * (total / _sum(D))
