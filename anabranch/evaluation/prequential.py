"""Test-then-train: every row first examines the learner, then teaches it."""

from __future__ import annotations

import inspect
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.exceptions import NotFittedError

from anabranch.evaluation._checkpoint import Keeper, State
from anabranch.evaluation._scores import Aligner, Scores, chosen
from anabranch.evaluation.run import Run, describe_learner, describe_stream, versions
from anabranch.metrics import Metric
from anabranch.stream.base import Chunk, whole_number

__all__ = ["prequential"]

_SECONDS_BETWEEN_REPORTS = 0.1


def prequential(
    learner: Any,
    stream: Any,
    metrics: Iterable[str | type[Metric] | Metric] | str | None = None,
    window: int = 1000,
    chunk_size: int = 1000,
    max_rows: int | None = None,
    progress: Callable[[int, int | None, dict[str, float]], object] | None = None,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    resume: bool = True,
) -> Run:
    """Run a learner over a stream, predicting each row just before learning it.

    Every row counts, those before anything was learned too: a row without a prediction is a miss.

    Parameters
    ----------
    learner : StreamClassifier, StreamRegressor, or any classifier or regressor with ``partial_fit``
        It goes on learning from the state it is in; the run holds it afterwards. Of a learner without
        ``test_then_train``, each chunk is first predicted as a whole and then learned as a whole: the model
        that predicts a row is up to ``chunk_size - 1`` rows old, and the result depends on `chunk_size`.
    stream : Stream
        Where rows come from. Classes it knows, and columns of arrays that hold codes of nominal values, are
        announced before the first row. For a regressor, labels have to be numbers.
    metrics : iterable of str, type of Metric or Metric, optional
        Names, classes or instances; instances are copied and begin empty. By default accuracy, kappa, G-mean,
        AUC and log loss; for a regressor, mean absolute error, RMSE and R2. (AUC keeps all scores: about
        ``8 * k + 8`` bytes per row for `k` classes.)
    window : int, default=1000
        Rows in the sliding window, and between two points of its curve. The last point is at the last row.
    chunk_size : int, default=1000
        Rows handed to the learner at a time; for learners with ``test_then_train`` it changes speed only.
    max_rows : int, optional
        Rows after which the run ends; without it, when the stream ends.
    progress : callable, optional
        Called at most ten times a second with the rows so far, the number of rows to come in all (None if not
        known), and the metrics by name over the last full window.
    checkpoint : str or path-like, optional
        A file for the learner, the metrics and the position in the stream, all in one, replaced as a whole. If it is
        there, the run goes on from it: killed at any moment and called again, a run ends with the figures of an
        undisturbed one, and its seconds add up. `learner` takes over the state in the file. A run that has ended may go
        on too, with a larger `max_rows` or a stream that has grown. The stream must give the same rows again; those
        just before the checkpoint are compared. For learners of this package, or built on its base classes.
    checkpoint_every : int, optional
        Rows from one checkpoint to the next; it is written at the end of the chunk in which they are full. By default
        about every ten seconds, or more seldom if saving would take more than 2 % of the time.
    resume : bool, default=True
        Whether to go on from a checkpoint that is there. If False, the first new one replaces it.

    Returns
    -------
    Run
        If interrupted from the keyboard, what there is until then, with ``run.interrupted``. The learner then
        holds just the rows that were counted: an interruption waits until the learner is done with its chunk,
        unless it is repeated. The checkpoint then holds them too; the same call goes on from there.

    Raises
    ------
    ValueError, TypeError
        If an argument is unfit. Errors of the stream and the learner are passed on.
    CheckpointError
        If the learner or a metric cannot go into a checkpoint, or if `checkpoint` is damaged or that of another run;
        the message says in what they differ. The file is left as it is.
    OSError
        If the checkpoint cannot be written; the one before is kept.

    Examples
    --------
    >>> from anabranch.evaluation import prequential
    >>> from anabranch.stream import SEA
    >>> from anabranch.tree import HoeffdingTreeClassifier
    >>> run = prequential(HoeffdingTreeClassifier(), SEA(n_rows=5000), metrics=["accuracy", "kappa"])
    >>> run.rows, run.metrics["accuracy"] > 0.9
    (5000, True)
    >>> run.curve.column_names, run.curve["row"].to_pylist()
    (['row', 'accuracy', 'kappa'], [1000, 2000, 3000, 4000, 5000])

    Stopped on the way, and called again:

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> settings = {"metrics": ["accuracy", "kappa"], "checkpoint": f"{folder.name}/run.ck"}
    >>> _ = prequential(HoeffdingTreeClassifier(), SEA(n_rows=5000), max_rows=1234, **settings)
    >>> again = prequential(HoeffdingTreeClassifier(), SEA(n_rows=5000), **settings)
    >>> again.starts, again.rows, again.metrics == run.metrics
    (2, 5000, True)
    >>> folder.cleanup()
    """
    window = whole_number("window", window, 1)
    chunk_size = whole_number("chunk_size", chunk_size, 1)
    if max_rows is not None:
        max_rows = whole_number("max_rows", max_rows, 1)
    if not callable(getattr(stream, "chunks", None)):
        raise TypeError(
            f"stream must be a stream, got {type(stream).__name__}: wrap arrays in ArrayStream, data "
            "frames in FrameStream"
        )
    if inspect.isclass(learner):
        raise TypeError(f"learner must be an instance, got the class {learner.__name__}: call it first")
    if checkpoint_every is not None:
        checkpoint_every = whole_number("checkpoint_every", checkpoint_every, 1)
    regression = task_of(learner) == "regression"
    selected = chosen(metrics, task_of(learner))
    name, stream_name = describe_learner(learner), str(stream.name)

    state = State(learner, Scores(selected, window), None)
    keeper = None
    if checkpoint is not None:
        fused = callable(getattr(learner, "test_then_train", None))
        keeper = Keeper(checkpoint, checkpoint_every, learner, stream, selected, window, None if fused else chunk_size)
        state = (keeper.load(learner) if resume else None) or state
    if max_rows is not None and state.rows > max_rows:
        raise ValueError(f"max_rows is {max_rows:,}, but the checkpoint {checkpoint} is at row {state.rows:,} already")
    step = _step(learner, stream, regression)
    if not state.rows:
        if not regression:
            labels = _classes(learner, stream)
            state.aligner, state.scores.n_classes = Aligner(labels), len(labels)
        state.peak_nbytes = _nbytes(learner)

    course = _Course(state, step, stream, keeper, progress, _rows_to_come(stream, max_rows))
    interrupted = course.run(_chunks(stream, chunk_size, max_rows, state, keeper))
    state.scores.finish()
    totals = state.scores.total()
    course.report(now=True)
    nbytes = _nbytes(learner)
    return Run(
        learner=learner,
        learner_name=name,
        stream_name=stream_name,
        rows=state.rows,
        metrics=totals,
        seconds=course.seconds,
        learn_seconds=state.learn_seconds,
        first_rows=state.first_rows,
        first_seconds=state.first_seconds,
        nbytes=nbytes,
        peak_nbytes=None if nbytes is None else max(state.peak_nbytes or 0, nbytes),
        interrupted=interrupted,
        points=state.scores.curve,
        shown=selected,
        settings={
            "window": window,
            "chunk_size": chunk_size,
            "max_rows": max_rows,
            "metrics": [metric.name for metric in selected],
        },
        stream=describe_stream(stream),
        versions=versions(),
        starts=state.starts,
        checkpoint=None if keeper is None else str(keeper.path),
    )


class _Course:
    """A run on its way: takes chunks, saves, reports.

    Parameters
    ----------
    state : State
        Where it stands.
    step : callable
        Takes X and y; lets the learner predict and learn them, and returns the predictions.
    stream : Stream
    keeper : Keeper or None
    progress : callable or None
    n_rows : int or None
        Rows to come in all.
    """

    def __init__(
        self,
        state: State,
        step: Callable[[Any, Any], Any],
        stream: Any,
        keeper: Keeper | None,
        progress: Callable[[int, int | None, dict[str, float]], object] | None,
        n_rows: int | None,
    ) -> None:
        self.state = state
        self.step = step
        self.stream = stream
        self.keeper = keeper
        self.progress = progress
        self.n_rows = n_rows
        self._last: Chunk | None = None
        self._earlier = state.seconds
        self._start = self._reported = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds in all, over all starts."""
        return self._earlier + time.perf_counter() - self._start

    def run(self, chunks: Iterable[Chunk]) -> bool:
        """Take all chunks; return whether it was interrupted."""
        interrupted = False
        whole = True  # whether the learner and the metrics hold the same rows
        try:
            with _Interruptions() as interruptions:
                try:
                    for X, y in chunks:
                        interruptions.hold()
                        whole = False
                        self.take(X, y)
                        whole = True
                        self.save()
                        interruptions.let()
                        self.report()
                except KeyboardInterrupt:
                    interrupted = True
                if whole:
                    interruptions.hold()
                    self.save(now=True)
                    interruptions.let()
        except KeyboardInterrupt:
            interrupted = True
        return interrupted

    def take(self, X: Any, y: Any) -> None:
        """Predict a chunk, learn it, count it."""
        state, labels = self.state, y
        start = time.perf_counter()
        try:
            predictions = self.step(X, y)
        except (ValueError, TypeError) as error:
            if type(error) not in (ValueError, TypeError):
                raise
            raise type(error)(_located(error, self.stream, state.rows)) from error
        seconds = time.perf_counter() - start
        if state.aligner is not None:
            y, predictions = state.aligner.align(y, predictions, state.learner.classes_)
        points = state.scores.update(y, predictions)
        state.rows += len(y)
        state.learn_seconds += seconds
        if self._last is None:
            state.first_rows += len(y)
            state.first_seconds += seconds
        if points and state.peak_nbytes is not None:
            state.peak_nbytes = max(state.peak_nbytes, _nbytes(state.learner) or 0)
        self._last = X, labels

    def save(self, now: bool = False) -> None:
        """Write the checkpoint, if there is one and it is due or has to be now."""
        if self.keeper is not None and self._last is not None and (now or self.keeper.due(self.state.rows)):
            self.state.seconds = self.seconds
            self.keeper.save(self.state, self._last)

    def report(self, now: bool = False) -> None:
        """Tell how it goes, if somebody wants to know and it is time or has to be now."""
        if self.progress is not None and (now or time.perf_counter() - self._reported >= _SECONDS_BETWEEN_REPORTS):
            self.progress(self.state.rows, self.n_rows, self.state.scores.latest())
            self._reported = time.perf_counter()


def _chunks(stream: Any, size: int, max_rows: int | None, state: State, keeper: Keeper | None) -> Iterator[Chunk]:
    """Hand out the rows that are still to come."""
    rows = state.rows
    if rows == max_rows:
        return
    if max_rows is not None:
        size = min(size, max_rows)
    for X, y in stream.chunks(size) if keeper is None or rows == 0 else keeper.rest(stream, size, state):
        rows += len(y)
        if max_rows is not None and rows >= max_rows:
            n = len(y) - (rows - max_rows)
            yield X[:n], y[:n]
            return
        yield X, y


def _located(error: Exception, stream: Any, rows: int) -> str:
    """What a learner says of its input, in the stream's words: it counts rows by chunk, and array columns."""
    names = getattr(stream, "feature_names", None) or []
    text = re.sub(
        r"column 'x(\d+)'", lambda match: f"column {names[int(match[1])]!r}" if names else match[0], str(error)
    )
    return f"{stream.name}, in the chunk that begins with row {rows:,}: {text}"


def task_of(learner: Any) -> str:
    """What a learner is for, ``"classification"`` or ``"regression"``."""
    if hasattr(learner, "__sklearn_tags__"):
        return "regression" if is_regressor(learner) else "classification"
    return "regression" if getattr(learner, "_estimator_type", None) == "regressor" else "classification"


def _step(learner: Any, stream: Any, regression: bool) -> Callable[[Any, Any], Any]:
    """How the learner tests and trains on a chunk; announce classes and nominal columns where that is possible."""
    if callable(getattr(learner, "test_then_train", None)):
        if hasattr(learner, "announce_nominal"):
            learner.announce_nominal(getattr(stream, "nominal_features", ()))
        if stream.classes is not None and not regression and hasattr(learner, "announce"):
            learner.announce(stream.classes)
        return learner.test_then_train  # type: ignore[no-any-return]
    if not callable(getattr(learner, "partial_fit", None)):
        raise TypeError(
            f"{type(learner).__name__} cannot learn from a stream: a learner needs test_then_train, or "
            "partial_fit and predict_proba or predict"
        )
    if not (hasattr(learner, "predict_proba") or hasattr(learner, "predict")):
        raise TypeError(f"{type(learner).__name__} has neither predict_proba nor predict")
    return _PredictNumbersThenFit(learner) if regression else _PredictThenFit(learner, stream.classes)


class _PredictNumbersThenFit:
    """Test-then-train for regressors that can only predict and learn: chunk by chunk."""

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def __call__(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Predict the chunk, 0 before anything was learned, then learn it."""
        try:
            predictions = np.asarray(self.learner.predict(X), np.float64)
        except NotFittedError:
            predictions = np.zeros(len(y))
        self.learner.partial_fit(X, y)
        return predictions


class _PredictThenFit:
    """Test-then-train for learners that can only predict and learn: chunk by chunk.

    Parameters
    ----------
    learner : classifier
        With ``partial_fit``, and ``predict_proba`` or ``predict``.
    classes : array-like or None
        What to announce with the first chunk, if the learner has learned nothing yet.
    """

    def __init__(self, learner: Any, classes: Any) -> None:
        self.learner = learner
        self.first: dict[str, Any] = {}
        if classes is not None and "classes" in inspect.signature(learner.partial_fit).parameters:
            self.first = {"classes": classes}

    def __call__(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Predict the chunk, then learn it."""
        learner = self.learner
        known = self._known()
        if known is None:
            learner.partial_fit(X, y, **self.first)
            return np.zeros((len(y), len(learner.classes_)))
        if hasattr(learner, "predict_proba"):
            proba = np.asarray(learner.predict_proba(X), np.float64)
        else:
            codes, _ = Aligner(known).align(learner.predict(X), np.zeros((0, len(known))), known)
            proba = np.zeros((len(codes), len(known)))
            proba[np.arange(len(codes)), codes] = 1.0
        learner.partial_fit(X, y)
        classes = learner.classes_.tolist()
        if classes != known:
            placed = np.zeros((len(proba), len(classes)))
            placed[:, [classes.index(label) for label in known]] = proba
            proba = placed
        return proba

    def _known(self) -> list[Any] | None:
        classes = getattr(self.learner, "classes_", None)
        return None if classes is None else np.asarray(classes).tolist()


def _classes(learner: Any, stream: Any) -> list[Any]:
    """Labels to give the first codes: those the learner knows, in its order, then the stream's."""
    labels = [] if stream.classes is None else np.asarray(stream.classes).tolist()
    known = getattr(learner, "classes_", None)
    known = [] if known is None else np.asarray(known).tolist()
    return [*known, *(label for label in labels if label not in known)]


def _rows_to_come(stream: Any, max_rows: int | None) -> int | None:
    n_rows: int | None = stream.n_rows
    if n_rows is None or max_rows is None:
        # An endless stream is cut at max_rows; one of unknown length may end before, but hardly far before.
        return max_rows if n_rows is None else n_rows
    return min(n_rows, max_rows)


def _nbytes(learner: Any) -> int | None:
    nbytes = getattr(learner, "nbytes", None)
    return int(nbytes) if isinstance(nbytes, (int, np.integer)) else None


class _Interruptions:
    """Holds an interruption from the keyboard back while a learner is in the midst of its rows."""

    def __init__(self) -> None:
        self._held = False
        self._waiting = False
        self._previous: Any = None

    def __enter__(self) -> Self:
        # Only where Python's own handler is in place, and only the main thread may ask.
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        ):
            self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._held and not self._waiting:
            self._waiting = True
            return
        raise KeyboardInterrupt

    def hold(self) -> None:
        """From here on, the first interruption waits."""
        self._held = True

    def let(self) -> None:
        """Let an interruption that waits come now, and later ones at once."""
        self._held = False
        if self._waiting:
            self._waiting = False
            raise KeyboardInterrupt
