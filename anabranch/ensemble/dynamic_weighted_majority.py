"""Dynamic weighted majority."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from anabranch._parameters import Constraint, Number
from anabranch._random import generators, seed_sequence
from anabranch.base import StreamClassifier
from anabranch.ensemble._base import Ensemble, make_writable
from anabranch.kernels import majority as kernels
from anabranch.schema import Codes, Floats

__all__ = ["DynamicWeightedMajorityClassifier"]

# At most so many p-th rows in a piece that experts learn in one go: it bounds what dropped experts learn in vain.
_TURNS = 20


class DynamicWeightedMajorityClassifier(Ensemble):
    """Dynamic weighted majority: experts lose weight for mistakes, the worst go, new ones come when all fail.

    Every expert learns every row. At every p-th row, those that have it wrong before they learn it are multiplied by
    beta; if the weighted majority then has it wrong too, a new expert joins with weight 1. Weights are scaled so that
    the largest is 1, and experts below theta are dropped [1]_. As many experts are kept as the stream calls for: one
    while nothing changes, several while old and new concepts mix.

    Parameters
    ----------
    estimator : classifier, optional
        What the experts are: any learner of this library, or a scikit-learn classifier whose ``partial_fit`` takes
        weights. :class:`~anabranch.tree.HoeffdingTreeClassifier` by default. With
        :class:`~anabranch.imbalance.UOBClassifier`, this is the DWM that the DWMIL paper compares with [2]_.
    n_estimators : int or None, default=None
        Most experts at a time: to make room for a new one, the one of the smallest weight goes. None is no limit, as
        published.
    period : int, default=50
        Rows between changes of weights and experts (p).
    beta : float, default=0.5
        What the weight of an expert that is wrong is multiplied by, between 0 and 1.
    theta : float, default=0.01
        Experts of less weight are dropped, from 0 to below 1.
    voting : {"hard", "soft"}, default="hard"
        Experts vote for their most probable class with their weight, as published, or with their probabilities.
    max_bytes : int or None, default=None
        Upper limit of :attr:`nbytes`; takes a limit of experts, each of which gets an equal share of it.
    n_jobs : int or None, default=None
        Threads that experts learn and vote on; -1 is one per processor. The results are the same.
    random_state : int, Generator, RandomState or None, default=None
        Where the experts' random generators come from.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    estimators_ : list
        The experts, the oldest first.
    estimator_weights_ : ndarray of shape (len(estimators_),)
        Their weights; the largest is 1.
    nbytes : int
        Bytes of state.

    Notes
    -----
    The steps at a p-th row come in the published order: experts vote and lose weight; their majority is taken with the
    weights just lowered; weights are scaled, experts dropped, and one added if the majority was wrong; then all learn
    the row. What :meth:`test_then_train` returns is the majority before any of this. An expert that has learned
    nothing yet says nothing, and is not held to be wrong. (MOA takes it to vote for the first class.)

    The code of [2]_ differs: it scales weights to sum 1 before the new expert comes with weight 1, theta is 0.001, and
    a variable used twice mixes up the votes of all experts but the first. This is the algorithm as published in [1]_.

    Rows of weight 0 are passed over and do not count towards the period; other weights matter to the experts alone.

    References
    ----------
    .. [1] J. Z. Kolter and M. A. Maloof, "Dynamic weighted majority: an ensemble method for drifting concepts",
       Journal of Machine Learning Research 8, 2007.
    .. [2] Y. Lu, Y.-M. Cheung and Y. Y. Tang, "Dynamic weighted majority for incremental learning of imbalanced data
       streams with concept drift", IJCAI 2017.

    Examples
    --------
    >>> from anabranch.ensemble import DynamicWeightedMajorityClassifier
    >>> from anabranch.evaluation import prequential
    >>> from anabranch.naive_bayes import GaussianNB
    >>> from anabranch.stream import SEA, DriftStream
    >>> learner = DynamicWeightedMajorityClassifier(GaussianNB())
    >>> stream = DriftStream([SEA(1, seed=1), SEA(3, seed=2)], [5000], n_rows=10_000)
    >>> run = prequential(learner, stream)
    >>> run.metrics["accuracy"] > 0.9
    True
    >>> len(learner.estimators_) > 1
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **Ensemble._constraints,
        "n_estimators": Number(1, integer=True, optional=True),
        "period": Number(1, integer=True),
        "beta": Number(0, 1, open_low=True, open_high=True),
        "theta": Number(0, 1, open_high=True),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int | None = None,
        period: int = 50,
        beta: float = 0.5,
        theta: float = 0.01,
        voting: str = "hard",
        max_bytes: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            n_estimators=n_estimators,  # type: ignore[arg-type]
            voting=voting,
            max_bytes=max_bytes,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.period = period
        self.beta = beta
        self.theta = theta

    # ------------------------------------------------------------------------------------ experts

    def _begin(self) -> None:
        (self._seeds,) = generators(seed_sequence(self.random_state), 1)
        self._template = None
        self.estimators_ = []
        self._weights = np.zeros(0)
        self._seen = 0  # rows
        self._add_expert()

    def _add_expert(self) -> None:
        """Let a fresh expert join with weight 1."""
        self.estimators_.append(self._new_member(int(self._seeds.integers(2**32))))
        self._weights = np.append(self._weights, 1.0)

    def _share_memory(self, members: list[StreamClassifier]) -> None:
        if self.max_bytes is not None and self.n_estimators is None:
            raise ValueError("max_bytes needs n_estimators, the most experts at a time: each gets an equal share.")
        super()._share_memory(members)

    def _most(self) -> int:
        return len(self.estimators_) if self.n_estimators is None else int(self.n_estimators)

    def _own_bytes(self) -> int:
        return 8 * self._most()

    def _fits(self) -> None:
        if len(self.estimators_) > self._most():
            raise ValueError(
                f"n_estimators cannot fall below the {len(self.estimators_)} experts there are: fit starts afresh."
            )

    @property
    def estimator_weights_(self) -> Floats:
        """Weights of the experts' votes; the largest is 1."""
        self._columns()
        return self._weights.copy()

    def _vote_weights(self) -> Floats:
        return self._weights

    # ------------------------------------------------------------------------------------ hooks

    def _learn(self, X: Floats, y: Codes, w: Floats) -> None:
        self._pass(X, y, w, test=False)

    def _test_then_train(self, X: Floats, y: Codes, w: Floats) -> Floats:
        return self._pass(X, y, w, test=True)

    def _pass(self, X: Floats, y: Codes, w: Floats, test: bool) -> Floats:
        """Learn a chunk in pieces; if ``test``, the votes just before each row."""
        told = np.zeros((len(y) if test else 0, self._n_classes))
        counted = self._seen + np.cumsum(w > 0)
        turns = np.flatnonzero((w > 0) & (counted % self.period == 0))
        self._seen = int(counted[-1])
        cuts = [0, *(turns[_TURNS - 1 :: _TURNS] + 1).tolist(), len(y)]
        for start, stop in itertools.pairwise(cuts):
            if start == stop:
                continue
            piece = slice(start, stop)
            here = turns[np.searchsorted(turns, start) : np.searchsorted(turns, stop)] - start
            if test or len(here):
                votes, weights = self._learn_piece(X[piece], y[piece], w[piece], here)
                if test:
                    told[piece] = self._sum(votes, weights)
            else:
                self._each_learns(X[piece], y[piece], w[piece])
        return told

    def _each_learns(self, X: Floats, y: Codes, w: Floats) -> None:
        self._each(lambda m: self._member(m)._learn(X, y, w), len(y))

    def _learn_piece(self, X: Floats, y: Codes, w: Floats, turns: Codes) -> tuple[list[Floats], list[Floats]]:
        """Learn a piece with a few p-th rows in it; each expert's votes just before each row, and their weights.

        What experts learn does not depend on weights, so each takes the whole piece, or, if it joins on the way, what
        is left of it; one that is dropped on the way has learned the rest in vain.
        """
        n, k = len(y), self._n_classes
        make_writable(self)
        old = len(self.estimators_)
        votes = np.zeros((old + len(turns), n, k))  # with room for an expert per turn
        told = np.zeros((old + len(turns), n))
        for m, one in enumerate(self._each(lambda m: self._member(m)._test_then_train(X, y, w), n)):
            votes[m, :, : one.shape[1]] = one
        turn = start = 0
        while True:
            there = len(self.estimators_)
            turn = kernels.judge(
                votes[:there], y, turns, turn, start, self._weights, told[:there], np.empty(k), float(self.beta),
                float(self.theta), self.voting == "hard",
            )  # fmt: skip
            if turn == len(turns):
                break
            alive = np.flatnonzero(self._weights)
            if len(alive) == self.n_estimators:
                self._weights[alive[self._weights[alive].argmin()]] = 0.0
            self._add_expert()
            row = int(turns[turn])
            one = self._member(-1)._test_then_train(X[row:], y[row:], w[row:])
            votes[there, row:, : one.shape[1]] = one
            turn, start = turn + 1, row + 1
        alive = np.flatnonzero(self._weights)
        if len(alive) < there:
            self.estimators_ = [self.estimators_[m] for m in alive]
            self._weights = self._weights[alive]
        return list(votes[:there]), list(told[:there])
