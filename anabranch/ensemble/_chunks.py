"""Learners that are defined on chunks of rows: a buffer, and what they share.

Rows wait in a buffer until there are ``chunk_size`` of them; only then is anything learned. So the chunks that the
algorithm speaks of are the same however the caller cuts the stream into calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from anabranch._parameters import Constraint, Number
from anabranch._random import RandomState, generators, seed_sequence
from anabranch.base import StreamClassifier
from anabranch.ensemble._base import Jobs, each
from anabranch.ensemble._batch import BatchMember, Models, fit_model
from anabranch.schema import Codes, Floats

__all__ = ["AskedOnceClassifier", "ChunkClassifier", "LatestModelsClassifier"]


class ChunkClassifier(StreamClassifier):
    """Base of classifiers that learn a chunk of rows at a time.

    A subclass writes

    - ``_learn_block(X, y, w)``: learn a complete chunk. The arrays are the buffer's: not to be changed, and to be
      copied where something is kept. ``X`` has the columns that have had a value so far, all weights are above 0;
    - ``_model_votes(X)``: votes of what has been learned, an array (n, k) with any k up to the number of classes
      known; it is only asked once a chunk has been learned;
    - ``_test_then_learn_block(X, y, w)``, where what is computed for the votes on a chunk serves learning it, too;
    - ``_begin()``, calling ``super()._begin()``, if it has state to set up.

    :meth:`_fit` and :meth:`_fit_each` fit the batch classifier ``estimator``, the latter on threads; random numbers
    come from ``self._generators(n)``, one generator per member, the same ones in every chunk.

    Rows of weight 0 are passed over: they fill no chunk. Prediction knows complete chunks only; :meth:`flush` closes
    one early, and ``fit`` does so at its end.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "estimator": BatchMember(),
        "n_estimators": Number(1, integer=True),
        "chunk_size": Number(1, integer=True),
        "n_jobs": Jobs(),
        "random_state": RandomState(),
    }

    estimator: Any = None
    chunk_size: int
    n_jobs: int | None = None
    random_state: Any = None

    # ------------------------------------------------------------------------------------ hooks

    def _learn_block(self, X: Floats, y: Codes, w: Floats) -> None:
        raise NotImplementedError

    def _model_votes(self, X: Floats) -> Floats:
        raise NotImplementedError

    def _test_then_learn_block(self, X: Floats, y: Codes, w: Floats) -> Floats:
        votes = self._votes(X)
        self._learn_block(X, y, w)
        return votes

    # ------------------------------------------------------------------------------------ members

    def _generators(self, n: int) -> list[np.random.Generator]:
        """Return the random generators of the first ``n`` members."""
        if len(self._rngs) < n:
            self._rngs += self._root.spawn(n - len(self._rngs))
        return self._rngs[:n]

    def _fit(self, X: Floats, y: Codes, w: Floats | None = None, member: int = 0) -> Models:
        """Fit the batch classifier to rows, with the random generator of a member."""
        return fit_model(self.estimator, X, y, w, self._generators(member + 1)[member])

    def _fit_each(
        self, n: int, sample: Callable[[int, np.random.Generator], tuple[Floats, Codes, Floats | None]]
    ) -> Models:
        """Fit ``n`` batch classifiers, on ``n_jobs`` threads, each to rows, codes and weights that ``sample`` gives.

        ``sample`` takes the member's number and its random generator; None for weights that are all alike.
        """
        rngs = self._generators(n)
        return Models.joined(
            each(self.n_jobs, lambda m: fit_model(self.estimator, *sample(m, rngs[m]), rngs[m]), range(n))
        )

    # ------------------------------------------------------------------------------------ the buffer

    def _begin(self) -> None:
        [self._root] = generators(seed_sequence(self.random_state), 1)
        self._rngs: list[np.random.Generator] = []
        self._rows = np.zeros((self.chunk_size, 0))
        self._codes = np.zeros(self.chunk_size, np.int64)
        self._weights = np.zeros(self.chunk_size)
        self._waiting = 0  # rows in the buffer; what lies behind them is left over from the last chunk
        self._n_chunks = 0

    def _reconfigure(self) -> None:
        if self.chunk_size != len(self._codes):
            raise ValueError("chunk_size cannot change once learning has begun: fit starts afresh.")

    def _keep(self, X: Floats, y: Codes, w: Floats) -> None:
        """Put rows into the buffer; there is room."""
        width, known = X.shape[1], self._rows.shape[1]
        while width > known and np.isnan(X[:, width - 1]).all():
            width -= 1  # a column that later rows of the call bring
        if width > known:
            wide = np.full((self.chunk_size, width), np.nan)
            wide[:, :known] = self._rows
            self._rows = wide
        here = slice(self._waiting, self._waiting + len(y))
        self._rows[here], self._codes[here], self._weights[here] = X[:, : self._rows.shape[1]], y, w
        self._waiting += len(y)

    def _pass(self, X: Floats, y: Codes, w: Floats, before: Floats | None, after: Floats | None) -> None:
        """Learn rows; into ``before`` and ``after`` go the votes just before and just after each row was learned."""
        there = np.flatnonzero(w)
        whole = len(there) == len(w)
        start = passed = 0
        while start < len(y):
            room = self.chunk_size - self._waiting
            complete = len(there) - passed >= room
            stop = int(there[passed + room - 1]) + 1 if complete else len(y)
            here = slice(start, stop)
            rows = here if whole else there[passed : passed + room]
            alone = complete and whole and self._waiting == 0 and after is None
            if before is not None and not alone:
                _put(before, here, self._votes(X[here]))
            if after is not None:
                _put(after, here, self._votes(X[here]))
            waiting = self._waiting
            if len(there) > passed:
                self._keep(X[rows], y[rows], w[rows])
            if complete:
                try:
                    votes = self._close(before is not None and alone)
                except BaseException:  # a foreign classifier's; the call's rows are as good as never seen
                    self._waiting = waiting
                    raise
                if before is not None and votes is not None:
                    _put(before, here, votes)
                if after is not None:
                    _put(after, slice(stop - 1, stop), self._votes(X[stop - 1 : stop]))
            start, passed = stop, passed + room

    def _close(self, test: bool = False) -> Floats | None:
        """Learn what is in the buffer."""
        m = self._waiting
        block = self._rows[:m], self._codes[:m], self._weights[:m]
        votes = None
        if test:
            votes = self._test_then_learn_block(*block)
        else:
            self._learn_block(*block)
        self._waiting = 0
        self._n_chunks += 1
        return votes

    def flush(self) -> Self:
        """Learn the rows that wait in the buffer, as a chunk that is shorter than the others.

        For the end of a stream, or a pause in which predictions should know all rows; otherwise there is no need:
        the rows are part of the state, and of checkpoints.

        Returns
        -------
        self
        """
        if self._schema is not None:
            self._take_turn()
            try:
                self._end()
            finally:
                self.__dict__.pop("_learning", None)
        return self

    def _end(self) -> None:
        if self._waiting:
            self._close()

    # ------------------------------------------------------------------------------------ learning and voting

    def _learn(self, X: Floats, y: Codes, w: Floats) -> None:
        self._pass(X, y, w, None, None)

    def _votes(self, X: Floats) -> Floats:
        return self._model_votes(X) if self._n_chunks else np.zeros((len(X), self._n_classes))

    def _test_then_train(self, X: Floats, y: Codes, w: Floats) -> Floats:
        before = np.zeros((len(y), self._n_classes))
        self._pass(X, y, w, before, None)
        return before

    def _train_then_test(self, X: Floats, y: Codes, w: Floats) -> Floats:
        after = np.zeros((len(y), self._n_classes))
        self._pass(X, y, w, None, after)
        return after

    def _test_train_test(self, X: Floats, y: Codes, w: Floats) -> tuple[Floats, Floats]:
        before, after = np.zeros((2, len(y), self._n_classes))
        self._pass(X, y, w, before, after)
        return before, after


class LatestModelsClassifier(ChunkClassifier):
    """Base of chunk learners that predict with what was fitted last.

    A subclass writes ``_learn_block(X, y, w)``, which may set ``self._models``.
    """

    voting: str

    def _begin(self) -> None:
        super()._begin()
        self._models: Models | None = None

    def _model_votes(self, X: Floats) -> Floats:
        if self._models is None:
            return np.zeros((len(X), self._n_classes))
        return self._models.votes(X, self.voting == "hard")


class AskedOnceClassifier(ChunkClassifier):
    """Base of chunk learners whose members are asked once about a chunk: for the votes on it, and to learn it.

    A subclass writes

    - ``_say(X)``: what the members say of rows;
    - ``_weighted(said, n)``: the votes on n rows that follow from it;
    - ``_learn_said(X, y, w, said)``: learn a chunk, being told what the members there are so far say of it.
    """

    def _say(self, X: Floats) -> Any:
        raise NotImplementedError

    def _weighted(self, said: Any, n: int) -> Floats:
        raise NotImplementedError

    def _learn_said(self, X: Floats, y: Codes, w: Floats, said: Any) -> None:
        raise NotImplementedError

    def _learn_block(self, X: Floats, y: Codes, w: Floats) -> None:
        self._learn_said(X, y, w, self._say(X))

    def _test_then_learn_block(self, X: Floats, y: Codes, w: Floats) -> Floats:
        said = self._say(X)
        votes = self._weighted(said, len(X))
        self._learn_said(X, y, w, said)
        return votes

    def _model_votes(self, X: Floats) -> Floats:
        return self._weighted(self._say(X), len(X))


def _put(out: Floats, here: slice, votes: Floats) -> None:
    out[here, : votes.shape[1]] = votes
