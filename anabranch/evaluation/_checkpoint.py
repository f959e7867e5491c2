"""Runs that survive: all that a run is at one row, in one file that is replaced as a whole."""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import anabranch
from anabranch import checkpoint
from anabranch.base import Persistent
from anabranch.checkpoint import CheckpointError
from anabranch.evaluation._scores import Aligner, Scores
from anabranch.evaluation.run import describe_learner, parameters_of, plain
from anabranch.metrics import Metric
from anabranch.stream.base import Chunk

WHAT = "prequential run"

_TAIL = 256  # rows before the checkpoint that have to be the same again
_SECONDS_BETWEEN_SAVES = 10.0
_SHARE_OF_SAVING = 0.02  # of the time, at most, where no number of rows is given
_ADVICE = "Go on as it began, name another file, or start afresh with resume=False (--restart)."
_LEARNER = "the learner's state at the start"
_METRICS = "the setting of the metrics"
# Digests are what is compared; people are told what lies behind them.
_EXPLAINS = {_LEARNER: ("the learner", "the learner's parameters"), _METRICS: ("the metrics",)}
_EXPLAINED = {word for words in _EXPLAINS.values() for word in words}


@checkpoint.register
@dataclass
class State:
    """All of a run that changes from row to row; what is in a checkpoint beside the facts about the run.

    Attributes
    ----------
    learner : classifier or regressor
    scores : Scores
    aligner : Aligner or None
        None for a regressor.
    rows : int
        Rows predicted and learned.
    seconds, learn_seconds : float
        Seconds in all, and in the learner, over all starts.
    first_rows, first_seconds : int, float
        Rows of the first chunk after each start, and seconds in the learner for them.
    peak_nbytes : int or None
        The most bytes of state at any point of the curve.
    starts : int
        How often the run was started.
    tail, tail_rows : str, int
        Fingerprint of the last rows, and how many they are.
    """

    learner: Any
    scores: Scores
    aligner: Aligner | None
    rows: int = 0
    seconds: float = 0.0
    learn_seconds: float = 0.0
    first_rows: int = 0
    first_seconds: float = 0.0
    peak_nbytes: int | None = None
    starts: int = 1
    tail: str = ""
    tail_rows: int = 0


def _learner_digest(learner: Any) -> str:
    try:
        if not isinstance(learner, Persistent):  # what is saved of others changes with their version, and as they learn
            raise CheckpointError(f"{type(learner).__name__} is another library's.")
        return _digest(learner)
    except CheckpointError as error:
        raise CheckpointError(
            f"{describe_learner(learner)} cannot go into a checkpoint: only learners of anabranch can, and those built "
            f"on its base classes. Run it without one. ({error})"
        ) from error


def _digest(value: Any) -> str:
    return hashlib.sha256(checkpoint.to_bytes(value)).hexdigest()


class Keeper:
    """Keeps the checkpoint of one run.

    Parameters
    ----------
    path : path-like
        The file.
    every : int or None
        Rows from one checkpoint to the next, rounded up to whole chunks; None for one every ten seconds or so, and more
        seldom where saving takes long.
    learner, stream, metrics, window
        What the run is called with, before its first row.
    chunk_size : int or None
        None if the figures do not depend on it.

    Raises
    ------
    CheckpointError
        If the learner or a metric cannot go into a checkpoint.
    OSError
        If the file could not be written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: int | None,
        learner: Any,
        stream: Any,
        metrics: Sequence[Metric],
        window: int,
        chunk_size: int | None,
    ) -> None:
        self.path = Path(path)
        self.every = every
        self.rows: int | None = None  # in the file
        self._saved = time.perf_counter()
        self._took = 0.0
        # What makes a run this one and no other, by the words in which a difference is told. The number of rows is none
        # of it: a run may be told to go on further than it was.
        self.facts: dict[str, Any] = {
            "anabranch": anabranch.__version__,
            "the learner": describe_learner(learner),
            "the learner's parameters": parameters_of(learner),
            _LEARNER: _learner_digest(learner),
            "the stream": str(stream.name),
            "the stream's target": plain(getattr(stream, "target", None)),
            "the stream's columns": plain(getattr(stream, "feature_names", None)),
            "the stream's classes": None if stream.classes is None else plain(np.asarray(stream.classes)),
            "the metrics": [metric.name for metric in metrics],
            _METRICS: _digest(list(metrics)),
            "window": window,
            "chunk_size": chunk_size,
        }
        try:
            checkpoint.check_writable(self.path)
        except OSError as error:
            raise self._unwritten(error) from error

    def load(self, learner: Any) -> State | None:
        """Return the state in the file, with `learner` as its learner; None if there is no file.

        Raises
        ------
        CheckpointError
            If the file is damaged, or a checkpoint of something else; the learner then is as it was.
        OSError
            If it cannot be read.
        """
        try:
            found = checkpoint.load(self.path)
        except FileNotFoundError:
            return None
        state = found.get("state") if isinstance(found, dict) else None
        if not isinstance(state, State) or found.get("what") != WHAT:
            kind = type(found).__name__
            raise CheckpointError(f"{self.path} is no checkpoint of a run: it holds a {kind}. Name another file.")
        differences = _differences(found["run"], self.facts, _digest(state.learner))
        if differences:
            raise CheckpointError(f"{self.path} is the checkpoint of another run: {'; '.join(differences)}. {_ADVICE}")
        vars(learner).clear()
        vars(learner).update(vars(state.learner))
        state.learner = learner
        state.starts += 1
        self.rows = state.rows
        self.facts = found["run"]  # what the learner was at the start, it may be no more
        return state

    def due(self, rows: int) -> bool:
        """Whether it is time to save."""
        if self.every is not None:
            return rows // self.every > (self.rows or 0) // self.every
        passed = time.perf_counter() - self._saved
        return passed >= _SECONDS_BETWEEN_SAVES and passed * _SHARE_OF_SAVING >= self._took

    def save(self, state: State, chunk: Chunk) -> None:
        """Write the file, unless it holds this row already.

        Parameters
        ----------
        state : State
            The run.
        chunk : (X, y)
            The chunk learned last.

        Raises
        ------
        OSError
            If the file cannot be written; the checkpoint before is still there.
        """
        if state.rows == self.rows:
            return
        start = time.perf_counter()
        X, y = chunk
        state.tail_rows = min(len(y), _TAIL)
        mark = Fingerprint()
        mark.add(X[len(y) - state.tail_rows :], y[len(y) - state.tail_rows :])
        state.tail = mark.hexdigest()
        try:
            checkpoint.save({"what": WHAT, "run": self.facts, "state": state}, self.path, _notes(self.facts, state))
        except OSError as error:
            raise self._unwritten(error) from error
        self.rows = state.rows
        self._saved = time.perf_counter()
        self._took = self._saved - start

    def _unwritten(self, error: OSError) -> OSError:
        kept = f": the checkpoint at row {self.rows:,} is kept, from which the same call goes on" if self.rows else ""
        return OSError(
            error.errno or errno.EIO,
            f"the checkpoint cannot be written ({error.strerror or error}){kept}",
            str(self.path),
        )

    def rest(self, stream: Any, size: int, state: State) -> Iterator[Chunk]:
        """Hand out the stream's rows from the checkpoint on, in the chunks that an undisturbed run would get.

        Raises
        ------
        CheckpointError
            If the rows just before are not those that were learned.
        """
        end = state.rows
        start = end - state.tail_rows
        # Back by whole chunks, so that chunks begin where they would have begun.
        at = max(end - -(-state.tail_rows // size) * size, 0)
        mark = Fingerprint()
        checked = False
        for X, y in stream.chunks(size, skip=at):
            if not checked:
                part = slice(max(start - at, 0), min(end - at, len(y)))
                if part.start < part.stop:
                    mark.add(X[part], y[part])
                if at + len(y) < end:
                    at += len(y)
                    continue
                if mark.hexdigest() != state.tail:
                    raise CheckpointError(
                        f"{self.path} is the checkpoint of another run: of the stream {stream.name}, the rows before "
                        f"row {end:,} are not those that were learned. {_ADVICE}"
                    )
                checked = True
                X, y = X[end - at :], y[end - at :]
            if len(y):
                yield X, y
        if not checked:
            raise CheckpointError(
                f"{self.path} is the checkpoint of another run: it is at row {end:,}, and the stream {stream.name} "
                f"ends before that. {_ADVICE}"
            )


def _notes(found: dict[str, Any], state: State) -> dict[str, Any]:
    """What to know about the learner in the file: as `run --save` writes."""
    return {"feature_names": found["the stream's columns"], "target": found["the stream's target"], "rows": state.rows}


def _differences(then: dict[str, Any], now: dict[str, Any], reached: str) -> list[str]:
    """Tell in what two runs differ; `reached` is the digest of the learner's state at the checkpoint."""
    told = []
    for what in now:
        if what in _EXPLAINED or then.get(what) == now[what]:
            continue
        if what == _LEARNER and now[what] == reached:  # the interrupted learner itself
            continue
        words = [word for word in _EXPLAINS.get(what, (what,)) if then.get(word) != now[word]]
        if words:
            told.append(f"{words[0]}: {_shortened(then.get(words[0]))} then, {_shortened(now[words[0]])} now")
        else:
            told.append(f"{what} is not the same")
    return told


def _shortened(value: Any, width: int = 120) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= width else text[: width - 3] + "..."


class Fingerprint:
    """SHA-256 over rows; the same however they are cut into chunks.

    Examples
    --------
    >>> X, y = np.arange(6.0).reshape(3, 2), np.array(["a", "b", "a"])
    >>> whole, parts = Fingerprint(), Fingerprint()
    >>> whole.add(X, y)
    >>> for i in range(3):
    ...     parts.add(X[i : i + 1], y[i : i + 1])
    >>> whole.hexdigest() == parts.hexdigest()
    True
    """

    def __init__(self) -> None:
        self._rows, self._labels = hashlib.sha256(), hashlib.sha256()

    def add(self, X: Any, y: Any) -> None:
        """Take in rows: of an array, a sparse matrix or a data frame."""
        for part in _row_parts(X):
            self._rows.update(part)
        self._labels.update("".join(f"{label!r}\n" for label in np.asarray(y).tolist()).encode())

    def hexdigest(self) -> str:
        """Return the fingerprint of the rows so far."""
        return hashlib.sha256(self._rows.digest() + self._labels.digest()).hexdigest()


def _row_parts(X: Any) -> Iterator[bytes]:
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        yield np.ascontiguousarray(X, np.float64).tobytes()
    elif callable(getattr(X, "tocsr", None)):
        X = X.tocsr(copy=True)
        X.sum_duplicates()
        for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            yield repr((X.indices[start:stop].tolist(), X.data[start:stop].tolist())).encode()
    else:
        if not isinstance(X, np.ndarray):
            import narwhals.stable.v1 as nw

            rows: Any = nw.from_native(X, eager_only=True).rows()
        else:
            rows = X.tolist()
        for row in rows:
            yield f"{row!r}\n".encode()
