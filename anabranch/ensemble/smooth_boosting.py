"""Smooth boosting over a stream: no row ever weighs much."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from anabranch._parameters import Constraint, Number, OneOf
from anabranch.ensemble._base import Booster
from anabranch.kernels import voting as kernels
from anabranch.schema import Codes, Floats

__all__ = ["SmoothBoostingClassifier"]


class SmoothBoostingClassifier(Booster):
    """Smooth boosting: row weights are bounded, so that noise cannot take over.

    ``form="smooth"`` is online smooth boosting [1]_, after SmoothBoost [2]_: a row starts with z = 0 and weight 1;
    each member is tested on it, learns it with its weight, and adds 1 - theta (right) or -1 - theta (wrong) to z,
    theta = gamma / (2 + gamma); the weight is then 1 if z <= 0, else (1 - gamma)^(z / 2). All members vote alike.

    ``form="capped"`` is AdaBoost, as in Oza's online boosting, with weights capped at ``cap`` times the average, in
    the spirit of boosting with polynomially bounded distributions [3]_. (Only that paper's idea is followed: it gives
    a framework rather than one algorithm.)

    Parameters
    ----------
    estimator : classifier, optional
        What the members are: any learner of this library, or a scikit-learn classifier whose ``partial_fit`` takes
        weights. :class:`~anabranch.tree.HoeffdingTreeClassifier` by default.
    n_estimators : int, default=10
        Number of members.
    form : {"smooth", "capped"}, default="smooth"
        See above.
    gamma : float, default=0.1
        Edge over chance that members are expected to have; "smooth" only.
    cap : float, default=4
        Largest weight of a row, as a multiple of the average; "capped" only.
    voting : {"soft", "hard"}, default="soft"
        Add up the members' probabilities, or give each member's most probable class its vote.
    max_bytes : int or None, default=None
        Upper limit of :attr:`nbytes`; each member gets an equal share of it.
    n_jobs : int or None, default=None
        Threads that members vote on; -1 is one per processor. (Learning goes from member to member.)
    random_state : int, Generator, RandomState or None, default=None
        Seed of members that draw at random; the weights themselves do not.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    estimators_ : list
        The members.
    nbytes : int
        Bytes of state.

    References
    ----------
    .. [1] S.-T. Chen, H.-T. Lin and C.-J. Lu, "An online boosting algorithm with theoretical justifications",
       ICML 2012.
    .. [2] R. Servedio, "Smooth boosting and learning with malicious noise", JMLR 4, 2003.
    .. [3] N. Bshouty and D. Gavinsky, "On boosting with polynomially bounded distributions", JMLR 3, 2002.

    Examples
    --------
    >>> from anabranch.ensemble import SmoothBoostingClassifier
    >>> from anabranch.evaluation import prequential
    >>> from anabranch.stream import RandomRBF
    >>> run = prequential(SmoothBoostingClassifier(n_estimators=5), RandomRBF(n_centroids=10, seed=7, n_rows=10_000))
    >>> run.metrics["accuracy"] > 0.8
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **Booster._constraints,
        "form": OneOf(("smooth", "capped")),
        "gamma": Number(0, 1, open_low=True, open_high=True),
        "cap": Number(1),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 10,
        form: str = "smooth",
        gamma: float = 0.1,
        cap: float = 4,
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
        self.form = form
        self.gamma = gamma
        self.cap = cap

    def _reconfigure(self) -> None:
        super()._reconfigure()
        if self.form == "capped" and self._seen and not self._sums.any():
            raise ValueError("form cannot change once the ensemble has begun to learn: fit starts afresh.")

    def _vote_weights(self) -> Floats | None:
        if self.form == "smooth":
            return None
        return np.array([kernels.log_odds(right, wrong) for right, wrong in self._sums])

    def _pass(self, X: Floats, y: Codes, w: Floats, test: bool) -> tuple[list[Floats], list[Floats] | None]:
        """Take a chunk from member to member; votes of each just before a row, and, if ``test``, their weights."""
        seen = self._advance(w)
        weight = np.ones(len(X))
        z = np.zeros(len(X))
        right = np.empty(len(X), np.bool_)
        votes: list[Floats] = []
        weights: list[Floats] = []
        for m in range(len(self.estimators_)):
            votes.append(self._member(m)._test_then_train(X, y, w * weight))
            kernels.hits(votes[-1], y, right)
            if self.form == "smooth":
                kernels.smooth(right, z, weight, float(self.gamma))
            else:
                weights.append(np.empty(len(X) if test else 0))
                kernels.boost(right, w, seen, weight, self._sums[m], weights[-1])
                np.minimum(weight, self.cap, out=weight)  # Oza's scaling keeps the average at 1
        return votes, None if self.form == "smooth" else weights
