"""Online bagging."""

from __future__ import annotations

from anabranch.ensemble._base import Ensemble
from anabranch.schema import Codes, Floats

__all__ = ["OzaBaggingClassifier"]


class OzaBaggingClassifier(Ensemble):
    """Online bagging: every member learns every row k times, k ~ Poisson(1).

    Bagging draws bootstrap samples: n rows with replacement out of n. How often a row is then drawn follows the
    binomial distribution, which for large n is Poisson(1), and that needs no knowledge of n [1]_.

    Parameters
    ----------
    estimator : classifier, optional
        What the members are: any learner of this library, or a scikit-learn classifier whose ``partial_fit`` takes
        weights. :class:`~anabranch.tree.HoeffdingTreeClassifier` by default.
    n_estimators : int, default=10
        Number of members.
    voting : {"soft", "hard"}, default="soft"
        Add up the members' probabilities, as MOA and River do, or give each member's most probable class one vote,
        as published.
    max_bytes : int or None, default=None
        Upper limit of :attr:`nbytes`; each member gets an equal share of it.
    n_jobs : int or None, default=None
        Threads that members learn and vote on; -1 is one per processor. The results are the same.
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

    References
    ----------
    .. [1] N. Oza and S. Russell, "Online bagging and boosting", AISTATS 2001.
    .. [2] R. Kirkby, "Improving Hoeffding Trees", PhD thesis, University of Waikato, 2007: Algorithm 9.

    Examples
    --------
    >>> from anabranch.ensemble import OzaBaggingClassifier
    >>> from anabranch.evaluation import prequential
    >>> from anabranch.stream import RandomRBF
    >>> run = prequential(OzaBaggingClassifier(random_state=1), RandomRBF(n_centroids=10, seed=7, n_rows=10_000))
    >>> run.metrics["accuracy"] > 0.8
    True
    """

    def _learn(self, X: Floats, y: Codes, w: Floats) -> None:
        self._learn_drawn(X, y, w)

    def _test_then_train(self, X: Floats, y: Codes, w: Floats) -> Floats:
        return self._sum(self._each(lambda m: self._member(m)._test_then_train(X, y, self._draw(m, w)), len(X)))

    def _train_then_test(self, X: Floats, y: Codes, w: Floats) -> Floats:
        return self._sum(self._each(lambda m: self._member(m)._train_then_test(X, y, self._draw(m, w)), len(X)))
