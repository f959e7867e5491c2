"""Oversampling and undersampling online bagging side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from anabranch._parameters import Constraint, Number, OneOf
from anabranch._random import seed_sequence
from anabranch.ensemble._base import Ensemble, make_writable
from anabranch.imbalance._resampling import DECAY
from anabranch.imbalance.oob import OOBClassifier
from anabranch.imbalance.uob import UOBClassifier
from anabranch.kernels import resampling as kernels
from anabranch.kernels import voting as ballots
from anabranch.schema import Codes, Floats

__all__ = ["WEOBClassifier"]


class WEOBClassifier(Ensemble):
    """Weighted ensemble of oversampling and undersampling online bagging (WEOB1 and WEOB2).

    Undersampling is the better of the two at finding a minority in a stream that stays as it is, oversampling copes
    better with one that changes. So both learn, and each has a say according to how well it has told the classes of
    late [1]_: the recall of each class fades, R_k becomes theta' R_k + (1 - theta') [right] where class k is met, is
    smoothed to its mean over the latest rows, and the geometric mean over the classes, G, makes the weights.

    Parameters
    ----------
    estimator : classifier, optional
        What the members are: any learner of this library, or a scikit-learn classifier whose ``partial_fit`` takes
        weights. :class:`~anabranch.tree.HoeffdingTreeClassifier` by default.
    n_estimators : int, default=10
        Number of members of each of the two ensembles.
    variant : {"WEOB1", "WEOB2"}, default="WEOB1"
        Weigh the ensembles' votes in proportion to their G, or listen to the one of the larger G alone.
    decay : float, default=0.9
        How much of the class sizes stays from one row to the next (theta), between 0 and 1.
    recall_decay : float, default=0.9
        How much of a class's recall stays from one of its rows to the next (theta'), between 0 and 1.
    window_size : int, default=51
        Number of latest rows over which recalls are smoothed.
    voting : {"soft", "hard"}, default="soft"
        How members vote within their ensemble: with their probabilities, or for their most probable class.
    max_bytes : int or None, default=None
        Upper limit of :attr:`nbytes`; each member gets an equal share of what the window leaves.
    n_jobs : int or None, default=None
        Threads that members learn and vote on; -1 is one per processor. The results are the same.
    random_state : int, Generator, RandomState or None, default=None
        Where the members' random generators come from.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    estimators_ : list
        The :class:`~anabranch.imbalance.OOBClassifier` and the :class:`~anabranch.imbalance.UOBClassifier`.
    estimator_weights_ : ndarray of shape (2,)
        Weights of their votes; they sum to 1.
    g_means_ : ndarray of shape (2,)
        What the weights are made of: each one's geometric mean of smoothed recalls.
    nbytes : int
        Bytes of state.

    Notes
    -----
    What counts as right is what an ensemble says of a row just before it learns it. A recall starts with the first
    row of its class, and classes not met yet are left out of G. (Other code starts recalls at 0, so that G is 0 until
    every class has been met.) If both G are 0, or equal under WEOB2, both ensembles count alike.

    References
    ----------
    .. [1] S. Wang, L. L. Minku and X. Yao, "Resampling-based ensemble methods for online class imbalance learning",
       IEEE Transactions on Knowledge and Data Engineering 27(5), 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.imbalance import WEOBClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = (rng.random(4000) < 0.05).astype(int)  # one row in twenty
    >>> X = rng.standard_normal((4000, 2)) + 2.0 * y[:, None]
    >>> learner = WEOBClassifier(n_estimators=5, random_state=1)
    >>> found = learner.test_then_train(X, y).argmax(axis=1)
    >>> bool(min((found[y == c] == c).mean() for c in (0, 1)) > 0.8)
    True
    >>> bool((learner.g_means_ > 0.7).all())
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **Ensemble._constraints,
        "variant": OneOf(("WEOB1", "WEOB2")),
        "decay": DECAY,
        "recall_decay": DECAY,
        "window_size": Number(1, integer=True),
    }

    _ensembles: ClassVar[tuple[type[Ensemble], ...]] = (OOBClassifier, UOBClassifier)

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 10,
        variant: str = "WEOB1",
        decay: float = 0.9,
        recall_decay: float = 0.9,
        window_size: int = 51,
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
        self.variant = variant
        self.decay = decay
        self.recall_decay = recall_decay
        self.window_size = window_size

    def _begin(self) -> None:
        seeds = seed_sequence(self.random_state).generate_state(2)
        settings = self._of_both()
        self.estimators_ = [
            make(random_state=int(seed), **settings) for make, seed in zip(self._ensembles, seeds, strict=True)
        ]
        self._share_memory(self.estimators_)
        for ensemble in self.estimators_:
            ensemble._start()
        # The latest rows' classes, and what each ensemble's recall of that class became there.
        self._window_classes = np.zeros((2, self.window_size), np.int64)
        self._window_recalls = np.zeros((2, self.window_size))
        self._seen = 0  # rows
        # Each ensemble's recall of each class, now and just before the window; as the labels, no part of nbytes.
        self._recalls: list[list[float]] = [[], []]
        self._oldest: list[list[float]] = [[], []]

    def _of_both(self) -> dict[str, Any]:
        """Parameters that both ensembles share with this one."""
        names = ("estimator", "n_estimators", "decay", "voting", "n_jobs")
        return {name: getattr(self, name) for name in names}

    def _most(self) -> int:
        return len(self._ensembles)

    def _own_bytes(self) -> int:
        return 32 * int(self.window_size)

    def _reconfigure(self) -> None:
        if self.window_size != self._window_classes.shape[1]:
            raise ValueError("window_size cannot change once the ensemble has begun to learn: fit starts afresh.")
        for m in range(2):
            self._member(m).set_params(**self._of_both())
        if self.max_bytes is None:
            for ensemble in self.estimators_:
                ensemble.set_params(max_bytes=None)
        self._share_memory(self.estimators_)

    # ------------------------------------------------------------------------------------ weights

    def _follow(self, votes: list[Floats], y: Codes, w: Floats) -> Floats:
        """Take in what the ensembles had right; both G before each row, and after the last."""
        make_writable(self)
        n = len(y)
        g_means = np.empty((2, n + 1))
        right = np.empty(n, np.bool_)
        known = max(len(self._recalls[0]), int(y.max()) + 1 if n else 0)
        for m in range(2):
            if n:
                ballots.hits(votes[m], y, right)
            recalls, oldest = (np.full(known, kernels.UNMET) for _ in range(2))
            recalls[: len(self._recalls[m])] = self._recalls[m]
            oldest[: len(self._oldest[m])] = self._oldest[m]
            kernels.smoothed_g_means(
                right, y, w, float(self.recall_decay), self._window_classes[m], self._window_recalls[m], recalls,
                oldest, self._seen, g_means[m],
            )  # fmt: skip
            self._recalls[m], self._oldest[m] = recalls.tolist(), oldest.tolist()
        self._seen += int(np.count_nonzero(w))
        return g_means

    def _now(self) -> Floats:
        """Both G, of all rows so far."""
        return self._follow([], np.zeros(0, np.int64), np.zeros(0))[:, 0]

    def _combine(self, votes: list[Floats], g_means: Floats) -> Floats:
        """Weigh both ensembles' votes by their G, one per row or one for all rows."""
        alpha = np.empty(g_means.shape[1])
        kernels.share(g_means[0], g_means[1], self.variant == "WEOB2", alpha)
        total = np.zeros((len(votes[0]), self._n_classes))
        for one, weights in zip(votes, (alpha, 1.0 - alpha), strict=True):
            ballots.add_votes(total, one, weights, False)
        silent = ~total.any(axis=1)  # one has no weight, and the other, as yet, nothing to say
        if silent.any():
            total[silent] = sum(one[silent] for one in votes)
        return total

    @property
    def g_means_(self) -> Floats:
        """Each ensemble's geometric mean of smoothed recalls."""
        self._columns()
        return self._now()

    @property
    def estimator_weights_(self) -> Floats:
        """Weights of the ensembles' votes; they sum to 1."""
        alpha = np.empty(1)
        g_means = self.g_means_
        kernels.share(g_means[:1], g_means[1:], self.variant == "WEOB2", alpha)
        return np.array([alpha[0], 1.0 - alpha[0]])

    # ------------------------------------------------------------------------------------ hooks

    def _learn(self, X: Floats, y: Codes, w: Floats) -> None:
        self._test_then_train(X, y, w)  # without the test there are no recalls

    def _votes(self, X: Floats) -> Floats:
        return self._combine([self._member(m)._votes(X) for m in range(2)], self._now()[:, None])

    def _test_then_train(self, X: Floats, y: Codes, w: Floats) -> Floats:
        votes = [self._member(m)._test_then_train(X, y, w) for m in range(2)]
        return self._combine(votes, self._follow(votes, y, w)[:, :-1])

    def _train_then_test(self, X: Floats, y: Codes, w: Floats) -> Floats:
        return self._test_train_test(X, y, w)[1]

    def _test_train_test(self, X: Floats, y: Codes, w: Floats) -> tuple[Floats, Floats]:
        both = [self._member(m)._test_train_test(X, y, w) for m in range(2)]
        first, after = ([pair[k] for pair in both] for k in range(2))
        g_means = self._follow(first, y, w)
        return self._combine(first, g_means[:, :-1]), self._combine(after, g_means[:, 1:])
