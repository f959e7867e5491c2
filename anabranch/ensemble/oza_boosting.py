"""Online boosting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from anabranch._parameters import Constraint, Flag
from anabranch.ensemble._base import Booster
from anabranch.kernels import voting as kernels
from anabranch.schema import Codes, Floats

__all__ = ["OzaBoostingClassifier"]


class OzaBoostingClassifier(Booster):
    """Online boosting: what a member gets wrong weighs more for the next one.

    A row comes to the first member with weight lambda = 1. Each member learns it k times, k ~ Poisson(lambda), then
    predicts it, and hands it on with lambda scaled so that the rows it gets right and those it gets wrong weigh half
    of the total each, as AdaBoost.M1 does over a batch [1]_. A member's vote weighs log((1 - e) / e) for its
    weighted error e.

    Parameters
    ----------
    estimator : classifier, optional
        What the members are: any learner of this library, or a scikit-learn classifier whose ``partial_fit`` takes
        weights. :class:`~anabranch.tree.HoeffdingTreeClassifier` by default.
    n_estimators : int, default=10
        Number of members.
    poisson : bool, default=True
        Draw k from Poisson(lambda). Else a member learns the row once with weight lambda, the variant that the thesis
        tried and found a little worse [2]_.
    voting : {"soft", "hard"}, default="soft"
        Add up the members' weighted probabilities, as MOA does, or their weighted votes for one class each, as
        published.
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
    estimator_weights_ : ndarray of shape (n_estimators,)
        Weights of their votes.
    estimator_errors_ : ndarray of shape (n_estimators,)
        Their weighted errors; NaN before the first row.
    nbytes : int
        Bytes of state.

    Notes
    -----
    A member without errors, or with an error of one half or more, gets weight 0, and the vote goes on without it.
    (In MOA the vote stops at such a member, so that a perfect first member silences all others.) If that leaves no
    vote at all, the members vote unweighted. Lambda is held below 1e9: a member that is nearly always right may
    multiply it by the number of rows, and so may the next.

    A row's own weight w multiplies the weight it is learned with and what it adds to the sums; lambda starts at 1
    all the same.

    References
    ----------
    .. [1] N. Oza and S. Russell, "Online bagging and boosting", AISTATS 2001.
    .. [2] R. Kirkby, "Improving Hoeffding Trees", PhD thesis, University of Waikato, 2007: Algorithm 10.

    Examples
    --------
    >>> from anabranch.ensemble import OzaBoostingClassifier
    >>> from anabranch.stream import RandomRBF
    >>> learner = OzaBoostingClassifier(n_estimators=3, random_state=1)
    >>> for X, y in RandomRBF(n_centroids=10, seed=7, n_rows=5000).chunks(1000):
    ...     _ = learner.partial_fit(X, y)
    >>> learner.estimator_weights_.shape, bool((learner.estimator_errors_ < 0.5).all())
    ((3,), True)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {**Booster._constraints, "poisson": Flag()}

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 10,
        poisson: bool = True,
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
        self.poisson = poisson

    def _pass(self, X: Floats, y: Codes, w: Floats, test: bool) -> tuple[list[Floats], list[Floats] | None]:
        """Take a chunk from member to member; if ``test``, also each one's votes before a row, and their weights."""
        seen = self._advance(w)
        lam = np.ones(len(X))
        right = np.empty(len(X), np.bool_)
        weights: list[Floats] = []
        votes: list[Floats] = []
        for m in range(len(self.estimators_)):
            k = self._draw(m, w, lam) if self.poisson else lam * w
            before = np.empty(len(X) if test else 0)
            if test:
                first, after = self._member(m)._test_train_test(X, y, k)
                votes.append(first)
                weights.append(before)
            else:
                after = self._member(m)._train_then_test(X, y, k)
            kernels.hits(after, y, right)
            kernels.boost(right, w, seen, lam, self._sums[m], before)
        return votes, weights

    def _vote_weights(self) -> Floats:
        return np.array([kernels.log_odds(right, wrong) for right, wrong in self._sums])

    @property
    def estimator_weights_(self) -> Floats:
        """Weight of each member's vote."""
        self._columns()
        return self._vote_weights()

    @property
    def estimator_errors_(self) -> Floats:
        """Weighted error of each member."""
        self._columns()
        with np.errstate(invalid="ignore"):
            errors: Floats = self._sums[:, 1] / self._sums.sum(axis=1)
        return errors
