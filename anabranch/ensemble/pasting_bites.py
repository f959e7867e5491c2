"""Pasting bites: Rvote and Ivote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch._parameters import Constraint, Number, OneOf
from anabranch.ensemble._base import add_up, each
from anabranch.ensemble._batch import Models
from anabranch.ensemble._chunks import ChunkClassifier
from anabranch.schema import Codes, Floats

__all__ = ["PastingBitesClassifier"]


class PastingBitesClassifier(ChunkClassifier):
    """Pasting bites: each member is fitted to a small bite of the stream, and all vote alike.

    With ``sampling="random"`` (Rvote) a bite is simply the next ``chunk_size`` rows. With ``"importance"`` (Ivote) rows
    are looked at as they come: one that the members so far get wrong is taken into the bite, one that they get right
    only with probability e / (1 - e), where e is their error; so about half of each bite is what is still difficult.
    Once a bite is full, a member is fitted to it [1]_.

    The paper draws from a database, asks only the members that did not learn a row, and estimates their error from
    such rows. In a stream every row is new to all members, so all are asked, and the error of the bite's rows and of
    those passed over on the way is an honest one: r(k), smoothed to e(k) = p e(k - 1) + (1 - p) r(k). There is no
    e before the second bite is full, so the first two bites take every row. From e = 1/2 on every row is taken, too;
    and if hardly any is, because the members make hardly a mistake, ``max_skipped`` ends the search. The newest
    ``n_estimators`` members are kept: memory stays bounded, and concepts of the past are forgotten.

    A row's weight counts in the error and goes along into the bite; it does not change whether the row is taken. A
    bite of a single class makes a member that always says this class. A last short bite (:meth:`flush`) is treated
    like any other.

    Parameters
    ----------
    estimator : classifier, optional
        What is fitted to a bite: any classifier with ``fit``. By default CART, unpruned:
        ``DecisionTreeClassifier(min_samples_split=10)``.
    n_estimators : int, default=50
        Number of members, at most; each further bite replaces the oldest.
    chunk_size : int, default=500
        Number N of rows in a bite. (The paper has 100 to 800.)
    sampling : {"importance", "random"}, default="importance"
        Ivote or Rvote.
    smoothing : float, default=0.75
        The paper's p, from 0 to below 1.
    max_skipped : float, default=9.0
        At most ``max_skipped * chunk_size`` rows are passed over for one bite; from then on every row is taken until
        it is full.
    voting : {"hard", "soft"}, default="hard"
        Give each member's most probable class one vote, as published, or add up their probabilities.
    n_jobs : int or None, default=None
        Threads that members vote on; -1 is one per processor. The results are the same.
    random_state : int, Generator, RandomState or None, default=None
        Where the random numbers come from that decide about rows and seed the members.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_members_ : int
        Number of members.
    error_ : float
        The smoothed error e(k); NaN before there is one, and for random bites.
    nbytes : int
        Bytes of state.

    References
    ----------
    .. [1] L. Breiman, "Pasting small votes for classification in large databases and on-line", Machine Learning
       36(1-2), 1999.

    Examples
    --------
    >>> from anabranch.ensemble import PastingBitesClassifier
    >>> from anabranch.evaluation import prequential
    >>> from anabranch.stream import SEA
    >>> learner = PastingBitesClassifier(n_estimators=10, chunk_size=200, random_state=1)
    >>> run = prequential(learner, SEA(seed=1, n_rows=5000))
    >>> run.metrics["accuracy"] > 0.8
    True
    >>> learner.error_ < 0.1
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **ChunkClassifier._constraints,
        "sampling": OneOf(("importance", "random")),
        "smoothing": Number(0, 1, open_high=True),
        "max_skipped": Number(0),
        "voting": OneOf(("hard", "soft")),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        chunk_size: int = 500,
        sampling: str = "importance",
        smoothing: float = 0.75,
        max_skipped: float = 9.0,
        voting: str = "hard",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.chunk_size = chunk_size
        self.sampling = sampling
        self.smoothing = smoothing
        self.max_skipped = max_skipped
        self.voting = voting
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def n_members_(self) -> int:
        """Number of members."""
        return len(self._members)

    @property
    def error_(self) -> float:
        """The smoothed error e(k)."""
        return self._error

    def _begin(self) -> None:
        super()._begin()
        self._members: list[Models] = []
        self._error = np.nan
        self._forget_bite()

    def _forget_bite(self) -> None:
        self._skipped = 0  # rows passed over since the last bite was full
        self._looked = self._missed = 0.0  # weight of the rows looked at, and of those that the members got wrong

    # ------------------------------------------------------------------------------------ filling a bite

    def _pass(self, X: Floats, y: Codes, w: Floats, before: Floats | None, after: Floats | None) -> None:
        if self.sampling == "random":
            super()._pass(X, y, w, before, after)
            return
        begun = self._bite_so_far()
        start = 0
        while start < len(y):
            # No more rows than there is room for: so only the last one can fill the bite, and change the members.
            stop = min(start + self.chunk_size - self._waiting, len(y))
            here = slice(start, stop)
            votes = self._votes(X[here])
            for told in (before, after):
                if told is not None:
                    told[here, : votes.shape[1]] = votes
            self._look(X[here], y[here], w[here], votes)
            if self._waiting == self.chunk_size:
                try:
                    self._close()
                except BaseException:  # a foreign classifier's; the call's rows are as good as never seen
                    self._take_back(begun)
                    raise
                begun = self._bite_so_far()
                if after is not None:
                    last = self._votes(X[stop - 1 : stop])
                    after[stop - 1, : last.shape[1]] = last[0]
            start = stop

    def _bite_so_far(self) -> tuple[int, int, float, float, Any]:
        """What :meth:`_look` changes."""
        draws = self._generators(2)[1].bit_generator.state
        return self._waiting, self._skipped, self._looked, self._missed, draws

    def _take_back(self, begun: tuple[int, int, float, float, Any]) -> None:
        self._waiting, self._skipped, self._looked, self._missed, draws = begun
        self._generators(2)[1].bit_generator.state = draws

    def _look(self, X: Floats, y: Codes, w: Floats, votes: Floats) -> None:
        """Look at rows, and take some into the bite."""
        there = w > 0
        wrong = there & ((votes.argmax(axis=1) != y) | ~votes.any(axis=1))
        # Weights are added one after the other, so that the sums do not depend on how the rows were handed over.
        self._looked = float(np.cumsum(np.concatenate([[self._looked], w]))[-1])
        self._missed = float(np.cumsum(np.concatenate([[self._missed], w * wrong]))[-1])
        passed = self._passed_over(there & ~wrong)
        self._skipped += int(passed.sum())
        taken = there & ~passed
        if taken.any():
            self._keep(X[taken], y[taken], w[taken])

    def _passed_over(self, right: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which of the rows that the members got right are not taken."""
        rng = self._generators(2)[1]
        e = self._error
        probability = e / (1.0 - e) if e < 0.5 else 1.0  # NaN is not below one half: every row is taken
        passed = right.copy()
        passed[right] = rng.random(int(right.sum())) >= probability
        # As many as may still be passed over.
        passed &= self._skipped + np.cumsum(passed) <= self.max_skipped * self.chunk_size
        return passed

    # ------------------------------------------------------------------------------------ learning a bite

    def _learn_block(self, X: Floats, y: Codes, w: Floats) -> None:
        member = self._fit(X, y, w)
        if self._members and self._looked > 0:
            r = self._missed / self._looked
            e, p = self._error, self.smoothing
            self._error = r if np.isnan(e) else p * e + (1.0 - p) * r
        self._members = [*self._members, member][-self.n_estimators :]
        self._forget_bite()

    def _model_votes(self, X: Floats) -> Floats:
        votes = each(self.n_jobs, lambda member: member.votes(X), self._members, len(X))
        return add_up(votes, self._n_classes, self.voting == "hard")
