"""Undersampling online bagging."""

from __future__ import annotations

from anabranch.imbalance._resampling import ResamplingBagging
from anabranch.kernels import resampling as kernels

__all__ = ["UOBClassifier"]


class UOBClassifier(ResamplingBagging):
    """Undersampling-based online bagging: the larger a class, the more of its rows are left out.

    With every row, the size of each class fades: w_k becomes theta w_k + (1 - theta) [y = k]. Members learn a row k
    times, k ~ Poisson(lambda), where lambda is the size of the smallest class over that of the row's own: 1 for the
    smallest class, less for the others [1]_. In the long run members see as much of every class, whichever is the
    smaller at the time; and they learn few rows, so that this is quick.

    Parameters
    ----------
    estimator : classifier, optional
        What the members are: any learner of this library, or a scikit-learn classifier whose ``partial_fit`` takes
        weights. :class:`~anabranch.tree.HoeffdingTreeClassifier` by default.
    n_estimators : int, default=10
        Number of members.
    decay : float, default=0.9
        How much of the class sizes stays from one row to the next (theta), between 0 and 1.
    voting : {"soft", "hard"}, default="soft"
        Add up the members' probabilities, as published, or give each member's most probable class one vote.
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
    class_sizes_ : ndarray of shape (n_classes,)
        Share of each class in the latest rows, as it has faded; 0 for a class not known yet.
    estimators_ : list
        The members.
    nbytes : int
        Bytes of state.

    Notes
    -----
    This is the improved form of [1]_, in which the rate follows from the sizes alone, for any number of classes as
    in [2]_ (MUOB). The first form [3]_ resampled only once one class was larger than another by a threshold, in
    size and in recall.

    A row's own class is counted in before the rate is taken, so that no size is 0. Classes announced before the
    first row start with equal sizes, others count from their first row on. So where both classes are announced and
    one of them is late, the other is soon left out until it has come; if nothing is announced, this is plain online
    bagging until a second class turns up. In stream-learn sizes start at 0 instead: no row is learned before the first
    of the other class.

    Sizes count rows: a row's weight multiplies the weight it is learned with and leaves the rates alone; a row of
    weight 0 is passed over.

    A class that stays away takes learning with it: its size falls towards 0, and with it the rate of all others. Where
    classes vanish for good, take :class:`~anabranch.imbalance.OOBClassifier`, which its authors found more robust
    against changes of the sizes.

    References
    ----------
    .. [1] S. Wang, L. L. Minku and X. Yao, "Resampling-based ensemble methods for online class imbalance learning",
       IEEE Transactions on Knowledge and Data Engineering 27(5), 2015.
    .. [2] S. Wang, L. L. Minku and X. Yao, "Dealing with multiple classes in online class imbalance learning",
       IJCAI 2016.
    .. [3] S. Wang, L. L. Minku and X. Yao, "A learning framework for online class imbalance learning", CIEL 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.imbalance import UOBClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = (rng.random(4000) < 0.05).astype(int)  # one row in twenty
    >>> X = rng.standard_normal((4000, 2)) + 2.0 * y[:, None]
    >>> found = UOBClassifier(random_state=1).test_then_train(X, y).argmax(axis=1)
    >>> recalls = [(found[y == c] == c).mean() for c in (0, 1)]
    >>> bool(min(recalls) > 0.8)
    True
    """

    _against = kernels.SMALLEST
