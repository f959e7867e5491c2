"""Online arc-x4."""

from __future__ import annotations

import numpy as np

from anabranch.ensemble._base import Ensemble
from anabranch.kernels import voting as kernels
from anabranch.schema import Codes, Floats

__all__ = ["ArcX4Classifier"]


class ArcX4Classifier(Ensemble):
    """Online arc-x4: a row weighs 1 + m^4 for a member if m members before it get the row wrong.

    Every member is tested on the row just before it learns it, and all vote alike [1]_. Boosting without weights of
    members, and without estimates that have to settle first.

    Parameters
    ----------
    estimator : classifier, optional
        What the members are: any learner of this library, or a scikit-learn classifier whose ``partial_fit`` takes
        weights. :class:`~anabranch.tree.HoeffdingTreeClassifier` by default.
    n_estimators : int, default=10
        Number of members.
    voting : {"soft", "hard"}, default="soft"
        Add up the members' probabilities, or give each member's most probable class one vote, as published.
    max_bytes : int or None, default=None
        Upper limit of :attr:`nbytes`; each member gets an equal share of it.
    n_jobs : int or None, default=None
        Threads that members vote on; -1 is one per processor. (Learning goes from member to member.)
    random_state : int, Generator, RandomState or None, default=None
        Seed of members that draw at random; arc-x4 itself does not.

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
    .. [1] A. Fern and R. Givan, "Online ensemble learning: an empirical study", Machine Learning 53, 2003.
    .. [2] L. Breiman, "Arcing classifiers", The Annals of Statistics 26, 1998.

    Examples
    --------
    >>> from anabranch.ensemble import ArcX4Classifier
    >>> from anabranch.evaluation import prequential
    >>> from anabranch.stream import RandomRBF
    >>> run = prequential(ArcX4Classifier(n_estimators=5), RandomRBF(n_centroids=10, seed=7, n_rows=10_000))
    >>> run.metrics["accuracy"] > 0.8
    True
    """

    def _learn(self, X: Floats, y: Codes, w: Floats) -> None:
        self._pass(X, y, w)

    def _test_then_train(self, X: Floats, y: Codes, w: Floats) -> Floats:
        return self._sum(self._pass(X, y, w))

    def _pass(self, X: Floats, y: Codes, w: Floats) -> list[Floats]:
        """Take a chunk from member to member; returns the votes of each just before a row was learned."""
        wrong = np.zeros(len(X))
        right = np.empty(len(X), np.bool_)
        votes = []
        for m in range(len(self.estimators_)):
            votes.append(self._member(m)._test_then_train(X, y, w * (1.0 + np.square(np.square(wrong)))))
            kernels.hits(votes[-1], y, right)
            wrong += ~right
        return votes
