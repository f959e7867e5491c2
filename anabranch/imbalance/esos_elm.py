"""Extreme learning machines on balanced shares of a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch._parameters import Columns, Constraint, Number
from anabranch._random import RandomState, generators, seed_sequence
from anabranch.base import StreamClassifier
from anabranch.ensemble._base import make_writable
from anabranch.kernels import elm as kernels
from anabranch.schema import Codes, Floats

__all__ = ["ESOSELMClassifier"]


class ESOSELMClassifier(StreamClassifier):
    """Ensemble of subset online sequential extreme learning machines: balanced shares, and a store of old concepts.

    The members are networks with a random hidden layer, whose outputs are learned by recursive least squares. A row of
    the largest class goes to one of them, in turns; one of another class to as many as it takes to make up for its
    size, in turns as well. So each learns as many rows of one class as of another [1]_.

    At the end of every period, a member's weight is multiplied by its G-mean over the period. If the G-mean of the
    whole has fallen below a share of what it was, the concept has changed: no member may vote, a network made of all
    rows since the last change, each class weighted by its size, replaces the worst and goes into the store, and members
    may vote again once they are as good as the worst that does. At other times the best network in the store replaces
    the worst member if it has become the better one: its concept has come back.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of members.
    n_hidden : int, default=50
        Hidden units of each network.
    C : float, default=1000.0
        How little the outputs' weights are regularised: their squares count 1 / C.
    period : int, default=1000
        Rows from one look at the members to the next.
    threshold : float, default=0.9
        What is left of the G-mean, from one period to the next, where nothing has changed (u); from 0 to 1.
    n_stored : int, default=10
        Most networks in the store; beyond it, the oldest goes.
    nominal_features : list of int or str, optional
        Columns whose numbers are categories: positions in arrays, names in data frames. Text is nominal anyway.
    random_state : int, Generator, RandomState or None, default=None
        Where the hidden layers come from.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    estimator_weights_ : ndarray of shape (n_estimators,)
        Weights of the members' votes; 0 for those that may not vote.
    n_drifts_ : int
        How often the concept was found to have changed.
    nbytes : int
        Bytes of state.

    Notes
    -----
    Online sequential learning begins with a batch of rows, at least as many as there are hidden units. Here it begins
    with the first row: least squares regularised by 1 / C, in its recursive form, is the same as a regularised first
    batch, and for large C as the published one. Columns are scaled by their means and deviations so far; what is
    missing is taken to be the mean. Outputs are learned for targets 1 and -1, and the softmax of their weighted mean
    makes the votes.

    With more than two classes, each is held against the largest, by whole ratios of their sizes. Over a period without
    rows of a class, the G-mean is that of the others. If all G-means are 0, weights stay. Networks in the store do not
    go on learning (in known code they learn every row, and so forget the concept they stand for), and the store is
    bounded. The paper's test for gradual changes is left out, as in all known code. Rows of weight 0 are passed over.

    References
    ----------
    .. [1] B. Mirza, Z. Lin and N. Liu, "Ensemble of subset online sequential extreme learning machine for class
       imbalance and concept drift", Neurocomputing 149, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.imbalance import ESOSELMClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = (rng.random(4000) < 0.05).astype(int)  # one row in twenty
    >>> X = rng.standard_normal((4000, 2)) + 2.0 * y[:, None]
    >>> found = ESOSELMClassifier(random_state=1).test_then_train(X, y).argmax(axis=1)
    >>> recalls = [(found[y == c] == c).mean() for c in (0, 1)]
    >>> bool(min(recalls) > 0.8)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_estimators": Number(1, integer=True),
        "n_hidden": Number(1, integer=True),
        "C": Number(0, open_low=True),
        "period": Number(1, integer=True),
        "threshold": Number(0, 1),
        "n_stored": Number(1, integer=True),
        "nominal_features": Columns(),
        "random_state": RandomState(),
    }

    def __init__(
        self,
        *,
        n_estimators: int = 10,
        n_hidden: int = 50,
        C: float = 1000.0,
        period: int = 1000,
        threshold: float = 0.9,
        n_stored: int = 10,
        nominal_features: Sequence[int | str] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_hidden = n_hidden
        self.C = C
        self.period = period
        self.threshold = threshold
        self.n_stored = n_stored
        self.nominal_features = nominal_features
        self.random_state = random_state

    # ------------------------------------------------------------------------------------ state

    def _begin(self) -> None:
        (rng,) = generators(seed_sequence(self.random_state), 1)
        m, units = int(self.n_estimators), int(self.n_hidden)
        # One entry per network: first the members, then those in store, the oldest first.
        self._seeds = rng.integers(2**63, size=m)
        self._alphas = np.empty((m, 1, units))  # bias, then columns
        for seed, alphas in zip(self._seeds, self._alphas, strict=True):
            kernels.layer(seed, alphas, 0)
        self._P = np.tile(np.eye(units) * float(self.C), (m, 1, 1))
        self._beta = np.zeros((m, 1, units))  # for a class not met yet, then classes
        self._hits = np.zeros((m + 1, 0), np.int64)  # over the period, by class; last those of the whole
        self._weights = np.ones(m)
        self._may_vote = np.ones(m, np.bool_)
        # What a weighted network is made of once the concept has changed.
        self._store_seed = rng.integers(2**63, size=1)
        self._store_alphas = np.empty((1, units))
        kernels.layer(self._store_seed[0], self._store_alphas, 0)
        self._store_K = np.zeros((0, units, units))
        self._store_Q = np.zeros((0, 1, units))
        self._store_weights = np.zeros(0)
        self._stats = np.zeros((3, 0))
        self._nominal = np.zeros(0, np.bool_)
        self._counts = np.zeros(0, np.int64)
        self._turns = np.zeros(0, np.int64)
        self._period_counts = np.zeros(0, np.int64)
        self._in_period = 0
        self._g_mean: float | None = None  # of the last period
        self._drifts = 0

    def _reconfigure(self) -> None:
        for name, now in (("n_estimators", len(self._weights)), ("n_hidden", self._P.shape[1])):
            if getattr(self, name) != now:
                raise ValueError(f"{name} cannot change once the ensemble has begun to learn: fit starts afresh.")
        self._in_period %= int(self.period)

    def _make_room(self, width: int, classes: int) -> None:
        """Make room for columns and classes."""
        known = len(self._nominal)
        if width > known:
            assert self._schema is not None
            kinds = np.zeros(width - known, np.bool_)
            told = self._schema.nominal[known:width]
            kinds[: len(told)] = told
            self._nominal = np.concatenate([self._nominal, kinds])
            self._stats = np.hstack([self._stats, np.zeros((3, width - known))])
            units = self._alphas.shape[2]
            more = np.empty((len(self._seeds), width - known, units))
            self._alphas = np.ascontiguousarray(np.concatenate([self._alphas, more], axis=1))
            for seed, alphas in zip(self._seeds, self._alphas, strict=True):
                kernels.layer(seed, alphas, known + 1)
            self._store_alphas = np.vstack([self._store_alphas, more[0]])
            kernels.layer(self._store_seed[0], self._store_alphas, known + 1)
        new = classes - len(self._counts)
        if new > 0:
            # A new class's outputs are what those of a class that never came have become.
            self._beta = np.concatenate([self._beta, np.repeat(self._beta[:, :1], new, axis=1)], axis=1)
            self._store_Q = np.concatenate([self._store_Q, np.repeat(self._store_Q[:, :1], new, axis=1)], axis=1)
            _, outputs, units = self._store_Q.shape
            self._store_Q = np.concatenate([self._store_Q, np.zeros((new, outputs, units))])
            self._store_K = np.concatenate([self._store_K, np.zeros((new, units, units))])
            self._hits = np.hstack([self._hits, np.zeros((len(self._hits), new), np.int64)])
            for name in ("_counts", "_turns", "_period_counts", "_store_weights"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros(new, array.dtype)]))

    @property
    def estimator_weights_(self) -> Floats:
        """Weights of the members' votes; 0 for those that may not vote."""
        self._columns()
        return self._weights * self._may_vote

    @property
    def n_drifts_(self) -> int:
        """How often the concept was found to have changed."""
        self._columns()
        return self._drifts

    # ------------------------------------------------------------------------------------ hooks

    def _learn(self, X: Floats, y: Codes, w: Floats) -> None:
        self._test_then_train(X, y, w)  # without the test there is no G-mean

    def _votes(self, X: Floats) -> Floats:
        make_writable(self)
        width = len(self._nominal)
        if X.shape[1] < width:
            X = np.hstack([X, np.full((len(X), width - X.shape[1]), np.nan)])
        X = np.ascontiguousarray(X[:, :width])
        zeros, codes = np.zeros(len(X)), np.zeros(len(X), np.int64)
        scaled = np.empty((2, len(X), width))
        kernels.standardise(X, zeros, self._nominal, self._stats, scaled[0], scaled[1])
        return self._ask(scaled[0], scaled[0], codes, zeros, np.zeros((len(self._weights), len(X))))

    def _test_then_train(self, X: Floats, y: Codes, w: Floats) -> Floats:
        make_writable(self)
        there = np.flatnonzero(w)
        self._make_room(X.shape[1], int(y[there].max()) + 1 if len(there) else 0)
        scaled = np.empty((2, *X.shape))
        kernels.standardise(X, w, self._nominal, self._stats, scaled[0], scaled[1])
        votes = np.zeros((len(X), self._n_classes))
        start = passed = 0
        while start < len(y):
            room = int(self.period) - self._in_period
            full = len(there) - passed >= room
            stop = int(there[passed + room - 1]) + 1 if full else len(y)
            here = slice(start, stop)
            dealt = np.empty((len(self._weights), stop - start))
            kernels.deal(y[here], w[here], self._counts.copy(), self._turns, dealt)
            before, after = scaled[0, here], scaled[1, here]
            votes[here] = self._ask(before, after, y[here], w[here], dealt)
            kernels.store(
                after, y[here], w[here], self._nominal, self._store_seed[0], self._store_alphas, self._store_K,
                self._store_Q, self._store_weights,
            )  # fmt: skip
            self._in_period += min(room, len(there) - passed)
            passed += room
            start = stop
            if full:
                self._look()
        return votes

    def _ask(self, before: Floats, after: Floats, y: Codes, w: Floats, dealt: Floats) -> Floats:
        """Let each network say what it thinks of rows, and each member learn its own; the votes of all together."""
        members, networks, classes = len(self._weights), len(self._seeds), len(self._counts)
        out = np.empty((networks, len(y), classes + 1))
        nothing = np.zeros(len(y))
        for m in range(networks):
            kernels.run(
                before, after, y, dealt[m] if m < members else nothing, self._nominal, self._seeds[m],
                self._alphas[m], self._P[m], self._beta[m], out[m],
            )  # fmt: skip
        votes = np.zeros((len(y), self._n_classes))
        kernels.tally(out, y, w, self._counts, self._weights * self._may_vote, votes, self._hits, self._period_counts)
        return votes

    # ------------------------------------------------------------------------------------ periods

    def _look(self) -> None:
        """At the end of a period: weigh the members, look for a change, exchange the worst."""
        members = len(self._weights)
        there = self._period_counts > 0
        recalls = self._hits[:, there] / self._period_counts[there]
        *every, whole = np.prod(recalls, axis=1) ** (1.0 / there.sum())
        g_means, of_stored = np.array(every[:members]), every[members:]
        weights = self._weights * g_means
        if weights.max() > 0:
            self._weights = weights / weights.max()
        self._may_vote |= g_means >= g_means[self._may_vote].min()
        worst = int(g_means.argmin())
        if self._g_mean is not None and whole < self.threshold * self._g_mean:
            self._drifts += 1
            self._may_vote[:] = False
            best = int(g_means.argmax())
            restart = self._seeds[best : best + 1].copy(), self._alphas[best].copy()
            self._add_to_store()
            self._replace(worst, len(self._seeds) - 1)
            self._store_seed, self._store_alphas = restart
            for sums in (self._store_K, self._store_Q, self._store_weights):
                sums[:] = 0.0
        elif of_stored and max(of_stored) > g_means[worst]:
            self._replace(worst, members + int(np.argmax(of_stored)))
        self._g_mean = float(whole)
        self._hits[:] = 0
        self._period_counts[:] = 0
        self._in_period = 0

    def _replace(self, member: int, by: int) -> None:
        """Let a member be what another network is."""
        for arrays in (self._seeds, self._alphas, self._P, self._beta):
            arrays[member] = arrays[by]
        self._weights[member] = 1.0
        self._may_vote[member] = True

    def _add_to_store(self) -> None:
        """Make a network of all rows since the last change, the classes weighted by their size."""
        there = self._store_weights > 0
        shares = 1.0 / self._store_weights[there]
        K = np.tensordot(shares, self._store_K[there], 1)
        Q = np.tensordot(shares, self._store_Q[there], 1)
        P = np.linalg.inv(K + np.eye(len(K)) / float(self.C))
        P = 0.5 * (P + P.T)
        kept = np.arange(len(self._seeds))
        members = len(self._weights)
        if len(kept) - members >= self.n_stored:
            kept = np.delete(kept, slice(members, len(kept) - int(self.n_stored) + 1))
        new: dict[str, NDArray[Any]] = {
            "_seeds": self._store_seed, "_alphas": self._store_alphas[None], "_P": P[None], "_beta": (Q @ P)[None],
        }  # fmt: skip
        for name, network in new.items():
            setattr(self, name, np.concatenate([getattr(self, name)[kept], network]))
        self._hits = np.zeros((len(self._seeds) + 1, self._hits.shape[1]), np.int64)
