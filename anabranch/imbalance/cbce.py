"""A model per class, for classes that come, go and change in size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from anabranch._parameters import Constraint, Number
from anabranch._random import generators, seed_sequence
from anabranch.base import StreamClassifier
from anabranch.drift import DDM, DriftDetector
from anabranch.ensemble._base import Ensemble
from anabranch.imbalance._kernel_logistic import KernelLogistic
from anabranch.imbalance._resampling import DECAY
from anabranch.kernels import resampling as kernels
from anabranch.kernels import voting as ballots
from anabranch.schema import Codes, Floats, Vocabulary

__all__ = ["CBCEClassifier"]

# Rows that a model learns at a time: those behind a drift are learned in vain.
_PIECE = 256

_STABLE, _DRIFT = 0, 2


class Detector:
    """``"DDM"``, a change detector, or None."""

    def check(self, name: str, value: Any) -> None:
        """Check that the value can watch a model."""
        if value is None or value == "DDM" or isinstance(value, DriftDetector):
            return
        raise TypeError(f'{name} must be "DDM", a detector of anabranch.drift such as ADWIN(), or None, got {value!r}.')


class CBCEClassifier(Ensemble):
    """Class-based ensemble for class evolution: each class has a model that tells it from all the others.

    A row teaches the model of its class that class; every other model learns it as one of the others, but not always:
    the model of class i with probability s_i / (1 - s_i), s_i being the share of class i in the latest rows, so that it
    meets as many rows of its class as of all others. The class whose model gives the highest probability is predicted.
    A class that has all but vanished has no say, and has it again when it comes back; its model is kept [1]_.

    A change detector watches the errors of each model; on a drift the model starts anew with the rows since the
    warning.

    Parameters
    ----------
    estimator : classifier, optional
        What the models are: any learner of this library, or a scikit-learn classifier whose ``partial_fit`` takes
        weights. By default, the kernel logistic regression of the published experiments.
    decay : float, default=0.9
        How much of the classes' shares stays from one row to the next, between 0 and 1.
    vanished : float, default=1e-5
        Classes of a smaller share have no say.
    detector : "DDM", detector or None, default="DDM"
        What watches the models: DDM with a warning at 7 standard deviations and a drift at 9, as the authors have it;
        any detector of :mod:`anabranch.drift` that takes errors of 0 and 1; or nothing.
    max_stored : int, default=1000
        Most rows kept since a warning, the latest ones, for each model.
    learning_rate : float, default=0.01
        Size of a step of the default model (eta).
    l2 : float, default=0.1
        Its regularisation (lambda).
    bandwidth : float, default=0.1
        Standard deviation of its Gaussian kernel, in units of the columns' ranges so far (sigma).
    budget : int, default=5000
        Most rows that it keeps; beyond them the oldest goes.
    n_jobs : int or None, default=None
        Threads that models learn and vote on; -1 is one per processor. The results are the same.
    random_state : int, Generator, RandomState or None, default=None
        Where the models' random generators come from.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_sizes_ : ndarray of shape (n_classes,)
        Share of each class in the latest rows, as it has faded; 0 before its second row.
    estimators_ : list
        The models, in the order of ``classes_``; a class that was announced but not met yet may have none.
    n_drifts_ : ndarray of shape (n_classes,)
        How often each class's model has started anew.
    nbytes : int
        Bytes of state.

    Notes
    -----
    The share of a new class is not known before its second row, when it is one over the number of rows from the first
    to the second; until then its model learns no other rows, and has no say.

    Where the authors' code and the paper's reasons disagree, this follows the reasons. The chance to learn a row of
    class r is ruled by the share of the model's own class, which makes its rows and the others' equally many (the share
    of r would make the model of a small class learn every other row). A step on the logistic loss is
    eta y sigma(-y f(x)), its gradient (the code has sigma(+y f(x)), which learns the more, the less there is to learn).
    Columns are scaled by their ranges so far (the code takes the minimum and the maximum of the whole stream
    beforehand).

    A detector takes in the rows that its model learns, each just before it is learned. Kernel logistic regression costs
    time in proportion to the rows it keeps. Weights other than 0 scale what a model learns, not the shares.

    References
    ----------
    .. [1] Y. Sun, K. Tang, L. L. Minku, S. Wang and X. Yao, "Online ensemble learning of data streams with gradually
       evolved classes", IEEE Transactions on Knowledge and Data Engineering 28(6), 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.imbalance import CBCEClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = (rng.random(3000) < 0.1).astype(int)  # one row in ten
    >>> X = rng.standard_normal((3000, 2)) + 2.5 * y[:, None]
    >>> learner = CBCEClassifier(random_state=1)
    >>> found = learner.test_then_train(X, y).argmax(axis=1)
    >>> bool(min((found[y == c] == c).mean() for c in (0, 1)) > 0.8)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **{name: Ensemble._constraints[name] for name in ("estimator", "n_jobs", "random_state")},
        **KernelLogistic._constraints,
        "decay": DECAY,
        "vanished": Number(0, 1),
        "detector": Detector(),
        "max_stored": Number(1, integer=True),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        decay: float = 0.9,
        vanished: float = 1e-5,
        detector: Any = "DDM",
        max_stored: int = 1000,
        learning_rate: float = 0.01,
        l2: float = 0.1,
        bandwidth: float = 0.1,
        budget: int = 5000,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.decay = decay
        self.vanished = vanished
        self.detector = detector
        self.max_stored = max_stored
        self.learning_rate = learning_rate
        self.l2 = l2
        self.bandwidth = bandwidth
        self.budget = budget
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ------------------------------------------------------------------------------------ models

    def _begin(self) -> None:
        (self._root,) = generators(seed_sequence(self.random_state), 1)
        self.estimators_ = []
        self._rngs: list[np.random.Generator] = []  # what decides which rows of other classes a model learns
        self._seeds: list[np.random.Generator] = []  # where its own random numbers come from
        self._detectors: list[Any] = []
        self._stored: list[list[Any]] = []  # rows since a warning: X, whether of the class, weights
        self._drifts: list[int] = []
        # As the labels, no part of nbytes.
        self._shares: list[float] = []
        self._waiting: list[int] = []
        self._seen = 0  # rows

    def _prototype(self) -> StreamClassifier:
        if self.estimator is None:
            return KernelLogistic(**{name: getattr(self, name) for name in KernelLogistic._constraints})
        return super()._prototype()

    def _given_nominal(self) -> Sequence[int | str] | None:
        return getattr(self.estimator, "nominal_features", None)

    def _fresh(self, c: int) -> None:
        """Let the model of a class start anew, and what watches it too."""
        model = self._prototype()
        if "random_state" in model.get_params(deep=False):
            model.set_params(random_state=int(self._seeds[c].integers(2**32)))
        model._start()
        self.estimators_[c] = model
        detector = DDM(warning_level=7.0, drift_level=9.0) if isinstance(self.detector, str) else self.detector
        self._detectors[c] = None if detector is None else clone(detector)
        self._stored[c] = [np.zeros((0, 0)), np.zeros(0, np.int64), np.zeros(0)]

    def _meet(self, known: int) -> None:
        """Make models for classes up to a code."""
        while len(self.estimators_) < known:
            for own, made in zip((self._rngs, self._seeds), self._root.spawn(2), strict=True):
                own.append(made)
            self.estimators_.append(None)  # type: ignore[arg-type]
            self._detectors.append(None)
            self._stored.append([])
            self._drifts.append(0)
            self._shares.append(kernels.UNMET)
            self._waiting.append(-1)
            self._fresh(len(self.estimators_) - 1)

    def _member(self, m: int) -> StreamClassifier:
        member = self.estimators_[m]
        member._schema, member._labels = self._schema, Vocabulary([False, True])
        member._n_announced = member._n_classes = 2
        return member

    def _reconfigure(self) -> None:
        new = self._prototype()
        params = new.get_params(deep=False)
        params.pop("random_state", None)
        for c in range(len(self.estimators_)):
            if type(new) is not type(self.estimators_[c]):
                raise ValueError("estimator cannot change once the ensemble has begun to learn: fit starts afresh.")
            self._member(c).set_params(**params)

    @property
    def class_sizes_(self) -> Floats:
        """Share of each class in the latest rows, as it has faded; 0 before its second row."""
        self._columns()
        sizes = np.zeros(self._n_classes)
        sizes[: len(self._shares)] = np.maximum(self._shares, 0.0)
        return sizes

    @property
    def n_drifts_(self) -> Codes:
        """How often each class's model has started anew."""
        self._columns()
        drifts = np.zeros(self._n_classes, np.int64)
        drifts[: len(self._drifts)] = self._drifts
        return drifts

    # ------------------------------------------------------------------------------------ hooks

    def _learn(self, X: Floats, y: Codes, w: Floats) -> None:
        self._pass(X, y, w)

    def _test_then_train(self, X: Floats, y: Codes, w: Floats) -> Floats:
        return self._pass(X, y, w)

    def _votes(self, X: Floats) -> Floats:
        votes = np.zeros((len(X), self._n_classes))
        shares = np.array(self._shares)

        def ask(c: int) -> Floats | None:
            return _of_class(self._member(c)._votes(X)) if shares[c] > 0.0 and shares[c] >= self.vanished else None

        for c, one in enumerate(self._each(ask, len(X))):
            if one is not None:
                votes[:, c] = one
        return votes

    def _pass(self, X: Floats, y: Codes, w: Floats) -> Floats:
        """Learn a chunk; votes just before each row."""
        there = y[w > 0]
        self._meet(int(there.max()) + 1 if len(there) else 0)
        shares, waiting = np.array(self._shares), np.array(self._waiting, np.int64)
        told = np.empty((len(y) + 1, len(shares)))
        kernels.gaps_and_shares(shares, waiting, self._seen, y, w, float(self.decay), told)
        self._shares, self._waiting = shares.tolist(), waiting.tolist()
        self._seen += len(there)
        votes = np.zeros((len(y), self._n_classes))

        def work(c: int) -> None:
            met = int(np.argmax(told[1:, c] >= 0.0))  # the first row that concerns the class
            if told[-1, c] < 0.0:
                return
            rest = slice(met, len(y))
            before = told[met:-1, c]
            said = self._teach(c, X[rest], y[rest], w[rest], told[met + 1 :, c])
            votes[rest, c] = np.where((before > 0.0) & (before >= self.vanished), said, 0.0)

        self._each(work, len(y))
        return votes

    def _teach(self, c: int, X: Floats, y: Codes, w: Floats, shares: Floats) -> Floats:
        """Let the model of a class learn; the probability it gave each row just before."""
        own = (y == c).astype(np.int64)
        others = np.flatnonzero((y != c) & (w > 0))
        k = np.where(own == 1, w, 0.0)
        chance = shares[others]
        drawn = self._rngs[c].random(len(others)) * (1.0 - chance) < chance
        k[others[drawn]] = w[others[drawn]]
        said = np.empty(len(y))
        start = 0
        while start < len(y):
            piece = slice(start, start + _PIECE)
            votes = self._member(c)._test_then_train(X[piece], own[piece], k[piece])
            said[piece] = _of_class(votes)
            start = min(start + _PIECE, len(y))
            if self._detectors[c] is not None:
                end = self._watch(c, votes, X[piece], own[piece], k[piece])
                start = start if end is None else piece.start + end
        return said

    def _watch(self, c: int, votes: Floats, X: Floats, own: Codes, k: Floats) -> int | None:
        """Show a model's errors to its detector; on a drift start the model anew, and return the rows up to there."""
        learned = np.flatnonzero((k > 0) & votes.any(axis=1))
        if not len(learned):
            return None
        right = np.empty(len(own), np.bool_)
        ballots.hits(votes, own, right)
        levels = self._detectors[c].trace(1.0 - right[learned])
        drifts = np.flatnonzero(levels == _DRIFT)
        if len(drifts):
            learned, levels = learned[: drifts[0] + 1], levels[: drifts[0] + 1]
        calm = np.flatnonzero(levels == _STABLE)
        if len(calm):  # what was stored has turned out not to be needed
            self._stored[c] = [part[:0] for part in self._stored[c]]
        since = learned[calm[-1] + 1 :] if len(calm) else learned
        self._store(c, X[since], own[since], k[since])
        if not len(drifts):
            return None
        stored = self._stored[c]
        self._drifts[c] += 1
        self._fresh(c)
        self._member(c)._learn(*stored)
        return int(learned[-1]) + 1

    def _store(self, c: int, X: Floats, own: Codes, k: Floats) -> None:
        """Keep rows since a warning: the latest, and of columns no more than have a value in one of them."""
        rows, *others = self._stored[c]
        width = max(rows.shape[1], X.shape[1])
        rows = np.vstack([_wide(rows, width), _wide(X, width)])[-self.max_stored :]
        valued = np.flatnonzero(~np.isnan(rows).all(axis=0))
        rows = np.ascontiguousarray(rows[:, : valued[-1] + 1 if len(valued) else 0])
        pairs = zip(others, (own, k), strict=True)
        self._stored[c] = [rows, *(np.concatenate(pair)[-self.max_stored :] for pair in pairs)]


def _wide(rows: Floats, width: int) -> Floats:
    """Rows with columns of missing values up to a width."""
    return np.hstack([rows, np.full((len(rows), width - rows.shape[1]), np.nan)])


def _of_class(votes: Floats) -> Floats:
    """Probability of the class, of votes against it and for it; 0 where there are none."""
    total = votes.sum(axis=1)
    said: Floats = np.divide(votes[:, 1], total, out=np.zeros(len(votes)), where=total > 0.0)
    return said
