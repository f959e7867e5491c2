"""What ensembles share: members, memory, threads, random generators.

An ensemble works member by member over a chunk, never row by row over its members: what a member knows at a row
depends on the rows before it alone, so both give the same result, and a member stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, TypeVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from anabranch._parameters import Constraint, Number, OneOf, check_parameters
from anabranch._random import RandomState, generators, seed_sequence
from anabranch.base import StreamClassifier
from anabranch.ensemble._foreign import Foreign
from anabranch.ensemble._forest import Forest, are_trees
from anabranch.kernels import voting
from anabranch.schema import Codes, Floats
from anabranch.tree import HoeffdingTreeClassifier

__all__ = ["Booster", "Ensemble", "Jobs", "add_up", "each"]

R = TypeVar("R")
T = TypeVar("T")

# Fewer rows are not worth a thread's start.
_ROWS_WORTH_THREADS = 32


def each(n_jobs: int | None, work: Callable[[T], R], parts: Sequence[T], rows: int = _ROWS_WORTH_THREADS) -> list[R]:
    """Do some work for every part, on ``n_jobs`` threads; results in the order of the parts.

    ``rows`` says how many rows it is about, where they may be too few to be worth a thread.
    """
    threads = min(effective_n_jobs(n_jobs), len(parts)) if rows >= _ROWS_WORTH_THREADS else 1
    if threads <= 1:
        return [work(part) for part in parts]
    results: list[Any] = [None] * len(parts)
    waiting = iter(range(len(parts)))  # who takes the next one does so under the interpreter lock

    def take() -> None:
        for i in waiting:
            results[i] = work(parts[i])

    # This thread works too, and a helper is handed over once rather than part by part, which for parts of a tenth of
    # a millisecond costs as much as it gains.
    with ThreadPoolExecutor(threads - 1) as pool:
        helpers = [pool.submit(take) for _ in range(threads - 1)]
        take()
        for helper in helpers:
            helper.result()
    return results


def add_up(votes: Sequence[Floats], n_classes: int, hard: bool, weights: Sequence[Floats] | None = None) -> Floats:
    """Add up members' votes (n, k): weighted, if weights are given, and then unweighted where no weight is above 0.

    A member's weights are one per row, or a single one. Each row of votes is scaled to sum 1 or, if ``hard``, given to
    its first arg max.
    """
    total = np.zeros((len(votes[0]), n_classes))
    for m, one in enumerate(votes):
        voting.add_votes(total, one, voting.ONE if weights is None else weights[m], hard)
    if weights is not None:
        silent = ~total.any(axis=1)
        if silent.any():
            total[silent] = add_up([one[silent] for one in votes], n_classes, hard)
    return total


class StreamMember:
    """A learner of this library, or a classifier with ``partial_fit`` that takes weights; None for the default."""

    def check(self, name: str, value: Any) -> None:
        """Check that the value can be a member."""
        if value is None or (isinstance(value, StreamClassifier) and not isinstance(value, type)):
            return
        if isinstance(value, type) or not hasattr(value, "partial_fit") or not hasattr(value, "get_params"):
            raise TypeError(
                f"{name} must be a learner such as HoeffdingTreeClassifier(), or a scikit-learn classifier with "
                f"partial_fit, got {value!r}."
            )
        if not has_fit_parameter(value, "sample_weight"):
            raise TypeError(f"{name} must take sample_weight; {type(value).__name__} does not.")


def make_writable(learner: Any) -> None:
    """Copy a learner's own arrays that may only be read, as those mapped from a file: kernels write into them."""
    for name, value in list(vars(learner).items()):
        if isinstance(value, np.ndarray) and not value.flags.writeable:
            setattr(learner, name, value.copy())


class Jobs:
    """A number of threads as joblib counts them: None and 1 are one, -1 is one per processor."""

    def check(self, name: str, value: Any) -> None:
        """Check that the value is a whole number other than 0, or None."""
        if value is None:
            return
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
            raise TypeError(f"{name} must be a whole number or None, got {value!r}.")
        if value == 0:
            raise ValueError(f"{name} must not be 0: 1 is one thread, -1 one per processor.")


class Ensemble(StreamClassifier):
    """Base of ensembles whose members are alike.

    A subclass writes ``_learn`` and, for speed, ``_test_then_train`` over ``self.estimators_``, with a random generator
    per member in ``self._rngs``. Members are called through their inner methods, by :meth:`_member` first, which
    tells them of new columns and classes.

    Attributes
    ----------
    estimators_ : list
        The members.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "estimator": StreamMember(),
        "n_estimators": Number(1, integer=True),
        "voting": OneOf(("soft", "hard")),
        "max_bytes": Number(1024, integer=True, optional=True),
        "n_jobs": Jobs(),
        "random_state": RandomState(),
    }

    estimators_: list[StreamClassifier]
    _forest: Forest | None = None
    _template: StreamClassifier | None = None  # what new members are copies of

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 10,
        voting: str = "soft",
        max_bytes: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.voting = voting
        self.max_bytes = max_bytes
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ------------------------------------------------------------------------------------ members

    def _prototype(self) -> StreamClassifier:
        """A fresh member."""
        if self.estimator is None:
            return HoeffdingTreeClassifier()
        if isinstance(self.estimator, StreamClassifier):
            fresh: StreamClassifier = clone(self.estimator)
            return fresh
        return Foreign(clone(self.estimator))

    def _given_nominal(self) -> Sequence[int | str] | None:
        return getattr(self.estimator, "nominal_features", None)

    def _begin(self) -> None:
        seed = seed_sequence(self.random_state)
        rngs = generators(seed, self.n_estimators)
        self._template = None
        self.estimators_ = [self._new_member(int(own)) for own in seed.generate_state(self.n_estimators)]
        self._rngs = rngs

    def _new_member(self, seed: int) -> StreamClassifier:
        """A member before its first row, whose random numbers come from ``seed``.

        Parameters are copied and checked once for all: members that come and go would hardly have learned for longer
        than that takes.
        """
        template = self._template
        if template is None:
            template = self._prototype()
            self._share_memory([template])
            check_parameters(template._constraints, template.get_params(deep=False))
            self._template = template
        member = type(template).__new__(type(template))
        member.__dict__.update(template.__dict__)
        if "random_state" in member.__dict__:
            member.__dict__["random_state"] = seed
        member._begin()
        return member

    def _own_bytes(self) -> int:
        """Bytes of the ensemble's own arrays."""
        return 0

    def _most(self) -> int:
        """How many members there may be at most."""
        return self.n_estimators

    def _share_memory(self, members: list[StreamClassifier]) -> None:
        if self.max_bytes is None:
            return
        share = (self.max_bytes - self._own_bytes()) // self._most()
        for member in members:
            if "max_bytes" not in member.get_params(deep=False):
                raise ValueError(f"max_bytes needs an estimator with a limit of its own; {member!r} has none.")
            try:
                member.set_params(max_bytes=share)
                member._constraints["max_bytes"].check("max_bytes", share)
            except ValueError as error:
                raise ValueError(
                    f"max_bytes={self.max_bytes} leaves {share} for each of {self._most()} members: {error}"
                ) from None

    def _fits(self) -> None:
        """Raise a ValueError if the members there are do not fit the parameters."""
        if len(self.estimators_) != self.n_estimators:
            raise ValueError("n_estimators cannot change once the ensemble has begun to learn: fit starts afresh.")

    def _reconfigure(self) -> None:
        self._fits()
        self._template = None
        new = self._prototype()
        if type(new) is not type(self.estimators_[0]):
            raise ValueError("estimator cannot change once the ensemble has begun to learn: fit starts afresh.")
        params = new.get_params(deep=False)
        for own in ("random_state", "max_bytes", "estimator"):
            params.pop(own, None)
        for m in range(len(self.estimators_)):
            self._member(m).set_params(**params)
        if self.max_bytes is None and "max_bytes" in new.get_params(deep=False):
            for member in self.estimators_:
                member.set_params(max_bytes=new.get_params(deep=False)["max_bytes"])
        self._share_memory(self.estimators_)

    def _member(self, m: int) -> StreamClassifier:
        """Member ``m``, told of the columns and classes that the ensemble knows."""
        member = self.estimators_[m]
        member._schema, member._labels = self._schema, self._labels
        member._n_announced, member._n_classes = self._n_announced, self._n_classes
        return member

    def _each(self, work: Callable[[int], R], rows: int) -> list[R]:
        """Let every member do its work, on ``n_jobs`` threads; results in the order of the members."""
        return each(self.n_jobs, work, range(len(self.estimators_)), rows)

    def __checkpoint__(self) -> dict[str, Any]:
        for m in range(len(self.__dict__.get("estimators_", ()))):
            self._member(m)  # predicting would do it, and must not make a difference
        state = super().__checkpoint__()
        for name in ("_forest", "_template"):  # made anew where needed
            state.pop(name, None)
        return state

    def _trees(self) -> Forest | None:
        """All members as one, for a single row; None where they are not Hoeffding trees."""
        members, forest = self.estimators_, self._forest
        told = (self._schema, self._labels, self._n_announced, self._n_classes)
        if forest is not None and forest.is_of(members, told):
            return forest
        if not members or not are_trees(members):
            return None
        self._forest = Forest([self._member(m) for m in range(len(members))], told)
        return self._forest

    def _learn_drawn(self, X: Floats, y: Codes, w: Floats, lam: Floats | float = 1.0) -> None:
        """Let every member learn every row k times, k ~ Poisson(lambda)."""
        forest = self._trees() if len(X) == 1 else None
        if forest is None or not forest.learns:
            self._each(lambda m: self._member(m)._learn(X, y, self._draw(m, w, lam)), len(X))
            self._forest = None  # now they may be ready to learn together
            return
        if w[0] == 0.0:
            return
        rate = lam if isinstance(lam, float) else lam[0]
        k = np.array([[rng.poisson(rate)] for rng in self._rngs], np.float64) * w
        m = forest.learn(0, X, y, k)
        while m < len(k):
            self._member(m)._learn(X, y, k[m])
            m = forest.learn(m + 1, X, y, k)

    # ------------------------------------------------------------------------------------ voting

    def _votes(self, X: Floats) -> Floats:
        weights = self._vote_weights()
        forest = self._trees() if len(X) == 1 else None
        if forest is not None and X.shape[1] >= forest.columns:
            hard = self.voting == "hard"
            total = forest.votes(X, weights, hard, self._n_classes)
            if weights is not None and not total.any():
                total = forest.votes(X, None, hard, self._n_classes)
            return total
        votes = self._each(lambda m: self._member(m)._votes(X), len(X))
        return self._sum(votes, None if weights is None else list(weights[:, None]))

    def _vote_weights(self) -> Floats | None:
        """Weight of each member's vote; None where all count alike."""
        return None

    def _sum(self, votes: Sequence[Floats], weights: Sequence[Floats] | None = None) -> Floats:
        """Add up members' votes, see :func:`add_up`."""
        return add_up(votes, self._n_classes, self.voting == "hard", weights)

    def _draw(self, m: int, w: Floats, lam: Floats | float = 1.0) -> Floats:
        """Weights of the rows for member ``m``: each times k ~ Poisson(lambda); nothing is drawn for weight 0."""
        rng = self._rngs[m]
        if w.all():
            return rng.poisson(lam, len(w)) * w
        k = np.zeros(len(w))
        there = w > 0
        k[there] = rng.poisson(lam if isinstance(lam, float) else lam[there], int(there.sum())) * w[there]
        return k


class Booster(Ensemble):
    """Base of ensembles that hand rows from member to member, and weigh a member's vote by how often it is right.

    A subclass writes ``_pass``, which takes a chunk from member to member, and ``_vote_weights``.
    """

    def _begin(self) -> None:
        super()._begin()
        self._sums = np.zeros((self.n_estimators, 2))  # weight of what each member got right and wrong
        self._seen = 0.0  # weight of all rows

    def _own_bytes(self) -> int:
        return 16 * self.n_estimators

    def _advance(self, w: Floats) -> Floats:
        """Count the rows in; the weight of all rows up to and including each."""
        seen: Floats = np.cumsum(np.concatenate([[self._seen], w]))[1:]
        self._seen = float(seen[-1])
        return seen

    def _pass(self, X: Floats, y: Codes, w: Floats, test: bool) -> tuple[list[Floats], list[Floats] | None]:
        """Learn a chunk; if ``test``, also each member's votes just before a row, and their weights."""
        raise NotImplementedError

    def _learn(self, X: Floats, y: Codes, w: Floats) -> None:
        self._pass(X, y, w, test=False)

    def _test_then_train(self, X: Floats, y: Codes, w: Floats) -> Floats:
        return self._sum(*self._pass(X, y, w, test=True))
