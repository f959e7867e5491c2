"""Test-then-train: every row first examines the learner, then teaches it."""

from __future__ import annotations

import inspect
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anabranch.evaluation._scores import Aligner, Scores, chosen
from anabranch.evaluation.run import Run, describe_learner, describe_stream, versions
from anabranch.metrics import Metric
from anabranch.stream.base import whole_number

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
) -> Run:
    """Run a learner over a stream, predicting each row just before learning it.

    Every row counts, those before anything was learned too: a row without a prediction is a miss.

    Parameters
    ----------
    learner : StreamClassifier, or any classifier with ``partial_fit``
        It goes on learning from the state it is in; the run holds it afterwards. Of a learner without
        ``test_then_train``, each chunk is first predicted as a whole and then learned as a whole: the model
        that predicts a row is up to ``chunk_size - 1`` rows old, and the result depends on `chunk_size`.
    stream : Stream
        Where rows come from. Classes it knows, and columns of arrays that hold codes of nominal values, are
        announced before the first row.
    metrics : iterable of str, type of Metric or Metric, optional
        Names, classes or instances; instances are copied and begin empty. By default accuracy, kappa, G-mean,
        AUC and log loss. (AUC keeps all scores: about ``8 * k + 8`` bytes per row for `k` classes.)
    window : int, default=1000
        Rows in the sliding window, and between two points of its curve. The last point is at the last row.
    chunk_size : int, default=1000
        Rows handed to the learner at a time; for learners with ``test_then_train`` it changes speed only.
    max_rows : int, optional
        Rows after which the run ends; without it, when the stream ends.
    progress : callable, optional
        Called at most ten times a second with the rows so far, the number of rows to come in all (None if not
        known), and the metrics by name over the last full window.

    Returns
    -------
    Run
        If interrupted from the keyboard, what there is until then, with ``run.interrupted``. The learner then
        holds just the rows that were counted: an interruption waits until the learner is done with its chunk,
        unless it is repeated.

    Raises
    ------
    ValueError, TypeError
        If an argument is unfit. Errors of the stream and the learner are passed on.

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
    selected = chosen(metrics)
    scores = Scores(selected, window)
    step = _step(learner, stream)
    n_rows = _rows_to_come(stream, max_rows)
    labels = [] if stream.classes is None else np.asarray(stream.classes).tolist()
    aligner = Aligner(_classes(learner, labels))
    name, stream_name = describe_learner(learner), str(stream.name)

    rows = 0
    peak = nbytes = _nbytes(learner)
    learning = first_seconds = 0.0
    first_rows = 0
    interrupted = False
    start = reported = time.perf_counter()
    try:
        with _Interruptions() as interruptions:
            for X, y in stream.chunks(chunk_size if max_rows is None else min(chunk_size, max_rows)):
                if max_rows is not None and rows + len(y) > max_rows:
                    X, y = X[: max_rows - rows], y[: max_rows - rows]
                interruptions.hold()
                before = time.perf_counter()
                try:
                    proba = step(X, y)
                except (ValueError, TypeError) as error:
                    if type(error) not in (ValueError, TypeError):
                        raise
                    raise type(error)(_located(error, stream, stream_name, rows)) from error
                learning += time.perf_counter() - before
                points = scores.update(*aligner.align(y, proba, learner.classes_))
                if rows == 0:
                    first_rows, first_seconds = len(y), learning
                rows += len(y)
                if points and nbytes is not None:
                    nbytes = _nbytes(learner)
                    peak = max(peak or 0, nbytes or 0)
                interruptions.let()
                if progress is not None and time.perf_counter() - reported >= _SECONDS_BETWEEN_REPORTS:
                    progress(rows, n_rows, scores.latest())
                    reported = time.perf_counter()
                if rows == max_rows:
                    break
    except KeyboardInterrupt:
        interrupted = True
    scores.finish()
    totals = scores.total()
    seconds = time.perf_counter() - start
    if progress is not None:
        progress(rows, n_rows, scores.latest())
    nbytes = _nbytes(learner)
    return Run(
        learner=learner,
        learner_name=name,
        stream_name=stream_name,
        rows=rows,
        metrics=totals,
        seconds=seconds,
        learn_seconds=learning,
        first_rows=first_rows,
        first_seconds=first_seconds,
        nbytes=nbytes,
        peak_nbytes=None if nbytes is None else max(peak or 0, nbytes),
        interrupted=interrupted,
        points=scores.curve,
        shown=selected,
        settings={
            "window": window,
            "chunk_size": chunk_size,
            "max_rows": max_rows,
            "metrics": [metric.name for metric in selected],
        },
        stream=describe_stream(stream),
        versions=versions(),
    )


def _located(error: Exception, stream: Any, name: str, rows: int) -> str:
    """What a learner says of its input, in the stream's words: it counts rows by chunk, and array columns."""
    names = getattr(stream, "feature_names", None) or []
    text = re.sub(
        r"column 'x(\d+)'", lambda match: f"column {names[int(match[1])]!r}" if names else match[0], str(error)
    )
    return f"{name}, in the chunk that begins with row {rows:,}: {text}"


def _step(learner: Any, stream: Any) -> Callable[[Any, Any], Any]:
    """How the learner tests and trains on a chunk; announce classes and nominal columns where that is possible."""
    if callable(getattr(learner, "test_then_train", None)):
        if hasattr(learner, "announce_nominal"):
            learner.announce_nominal(getattr(stream, "nominal_features", ()))
        if stream.classes is not None and hasattr(learner, "announce"):
            learner.announce(stream.classes)
        return learner.test_then_train  # type: ignore[no-any-return]
    if not callable(getattr(learner, "partial_fit", None)):
        raise TypeError(
            f"{type(learner).__name__} cannot learn from a stream: a learner needs test_then_train, or "
            "partial_fit and predict_proba or predict"
        )
    if not (hasattr(learner, "predict_proba") or hasattr(learner, "predict")):
        raise TypeError(f"{type(learner).__name__} has neither predict_proba nor predict")
    return _PredictThenFit(learner, stream.classes)


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


def _classes(learner: Any, labels: list[Any]) -> list[Any]:
    """Labels to give the first codes: those the learner knows, in its order, then the stream's."""
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
            raise KeyboardInterrupt
