"""MadaBoost over a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from anabranch._parameters import Constraint, Flag
from anabranch.ensemble._base import Booster
from anabranch.kernels import voting as kernels
from anabranch.schema import Codes, Floats

__all__ = ["MadaBoostClassifier"]


class MadaBoostClassifier(Booster):
    """MadaBoost: AdaBoost whose row weights never exceed those at the start.

    A row has a product B, 1 at the start. A member sees the row with weight min(1, B), and then multiplies B by
    exp(-alpha) if it gets the row right, and by exp(alpha) if not, where alpha = atanh(edge) and the edge is the
    weighted share of what it got right less that of what it got wrong [1]_. Only the use of B is capped, not B itself.
    The cap turns weights into probabilities: rows can be *filtered* from a stream.

    Parameters
    ----------
    estimator : classifier, optional
        What the members are: any learner of this library, or a scikit-learn classifier whose ``partial_fit`` takes
        weights. :class:`~anabranch.tree.HoeffdingTreeClassifier` by default.
    n_estimators : int, default=10
        Number of members.
    filtering : bool, default=False
        Let a member learn a row with probability min(1, B), rather than with that weight.
    voting : {"soft", "hard"}, default="soft"
        Add up the members' weighted probabilities, or their weighted votes for one class each, as published.
    max_bytes : int or None, default=None
        Upper limit of :attr:`nbytes`; each member gets an equal share of it.
    n_jobs : int or None, default=None
        Threads that members vote on; -1 is one per processor. (Learning goes from member to member.)
    random_state : int, Generator, RandomState or None, default=None
        Where the members' random generators come from.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    estimators_ : list
        The members.
    nbytes : int
        Bytes of state.

    Notes
    -----
    Published for samples drawn anew in each round; over a stream, as here, all members see each row once, one after
    the other, and edges are running estimates, from tests just before a member learns the row. An edge is held
    between 0 (alpha 0: the member has no vote and leaves B alone) and 1 - 1 / n after n rows: a member without errors
    would stop everything. If no member has a vote, all vote alike. More than two classes: right or wrong counts.

    References
    ----------
    .. [1] C. Domingo and O. Watanabe, "MadaBoost: a modification of AdaBoost", COLT 2000.
    .. [2] R. Kirkby, "Improving Hoeffding Trees", PhD thesis, University of Waikato, 2007, chapter 6.

    Examples
    --------
    >>> from anabranch.ensemble import MadaBoostClassifier
    >>> from anabranch.evaluation import prequential
    >>> from anabranch.stream import RandomRBF
    >>> run = prequential(MadaBoostClassifier(n_estimators=5), RandomRBF(n_centroids=10, seed=7, n_rows=10_000))
    >>> run.metrics["accuracy"] > 0.75
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {**Booster._constraints, "filtering": Flag()}

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 10,
        filtering: bool = False,
        voting: str = "soft",
        max_bytes: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            n_estimators=n_estimators,
            voting=voting,
            max_bytes=max_bytes,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.filtering = filtering

    def _vote_weights(self) -> Floats:
        return np.array([kernels.half_log_odds(right, wrong, self._seen) for right, wrong in self._sums])

    def _pass(self, X: Floats, y: Codes, w: Floats, test: bool) -> tuple[list[Floats], list[Floats] | None]:
        """Take a chunk from member to member; votes of each just before a row, and, if ``test``, their weights."""
        seen = self._advance(w)
        history = np.ones(len(X))
        right = np.empty(len(X), np.bool_)
        votes: list[Floats] = []
        weights: list[Floats] = []
        for m in range(len(self.estimators_)):
            capped = np.minimum(1.0, history)
            if self.filtering:
                capped = self._accepted(m, w, capped)
            votes.append(self._member(m)._test_then_train(X, y, w * capped))
            weights.append(np.empty(len(X) if test else 0))
            kernels.hits(votes[-1], y, right)
            kernels.madaboost(right, w, seen, history, self._sums[m], weights[-1])
        return votes, weights

    def _accepted(self, m: int, w: Floats, probability: Floats) -> Floats:
        """Draw 1 or 0 for each row, 1 with the probability given; nothing is drawn for weight 0."""
        there = np.flatnonzero(w > 0)
        accepted = np.zeros(len(w))
        accepted[there] = self._rngs[m].random(len(there)) < probability[there]
        return accepted
