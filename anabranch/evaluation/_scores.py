"""Several metrics at once, over all rows and over the latest ones."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anabranch import checkpoint
from anabranch import metrics as library
from anabranch.metrics import ConfusionMatrix, MeanMetric, Metric
from anabranch.metrics._base import Codes, check_rows, check_values, enlarged
from anabranch.metrics.confusion import CountMetric
from anabranch.schema import Vocabulary

DEFAULT_METRICS = {
    "classification": ("accuracy", "kappa", "gmean", "auc", "log_loss"),
    "regression": ("mae", "rmse", "r2"),
}


def chosen(
    metrics: Iterable[str | type[Metric] | Metric] | str | type[Metric] | Metric | None, task: str = "classification"
) -> list[Metric]:
    """Make new, empty metrics from whatever names them; by default the usual ones for the task.

    Examples
    --------
    >>> [metric.label for metric in chosen(["kappa", "acc"])]
    ['Kappa', 'Accuracy']
    >>> [metric.label for metric in chosen(None, "regression")]
    ['MAE', 'RMSE', 'R2']
    >>> chosen("accuracy", "regression")
    Traceback (most recent call last):
        ...
    ValueError: the metric 'accuracy' is for classification, this is a regression: take mae, rmse, r2
    >>> chosen(["acc", "accuracy"])
    Traceback (most recent call last):
        ...
    ValueError: the metric 'accuracy' is given twice
    """
    if metrics is None:
        metrics = DEFAULT_METRICS[task]
    elif isinstance(metrics, (str, Metric, type)):
        metrics = [metrics]
    found = [copy.deepcopy(library.get(metric)).reset() for metric in metrics]
    if not found:
        raise ValueError("metrics is empty: name at least one, or leave it out")
    for metric in found:
        if metric.task != task:
            fit = [name for name, cls in library.METRICS.items() if cls.task == task]
            raise ValueError(
                f"the metric {metric.name!r} is for {metric.task}, this is a {task}: take {', '.join(fit)}"
            )
    names = [metric.name for metric in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"the metric {name!r} is given twice")
        if name == "row":
            raise ValueError("a metric cannot be named 'row': that is the curve's first column")
    return found


def _only_counts(metric: CountMetric) -> bool:
    """Whether a metric's state is its matrix: a subclass may do more at an update."""
    return type(metric)._update is CountMetric._update and type(metric).reset is CountMetric.reset


@checkpoint.register
class Panel:
    """Metrics that are updated together; those that only count share one confusion matrix.

    Parameters
    ----------
    metrics : list of Metric
        Copied; the copies start empty.
    """

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.metrics = [copy.deepcopy(metric).reset() for metric in metrics]
        self._counting = [m for m in self.metrics if isinstance(m, CountMetric) and _only_counts(m)]
        self._others = [m for m in self.metrics if not (isinstance(m, CountMetric) and _only_counts(m))]
        self._matrix = ConfusionMatrix()
        self.reset()

    def update(self, y: Any, proba: Any) -> None:
        """Take in rows that have been checked."""
        if self._counting:
            self._matrix.add(y, proba)
        for metric in self._others:
            metric._update(y, proba)

    def merge(self, other: Panel, y: Any, proba: Any) -> None:
        """Take in the rows that `other` has seen, without counting again what it has counted."""
        self._matrix.merge(other._matrix)
        for metric, theirs in zip(self._others, other._others, strict=True):
            if isinstance(metric, MeanMetric) and isinstance(theirs, MeanMetric) and metric._takes_back:
                metric.merge(theirs)
            else:
                metric._update(y, proba)

    def values(self) -> dict[str, float]:
        """Value of each metric, by name."""
        return {metric.name: metric.value for metric in self.metrics}

    def reset(self) -> None:
        """Forget all rows."""
        for metric in self._others:
            metric.reset()
        if self._counting:
            self._matrix = ConfusionMatrix()
            for metric in self._counting:
                metric.matrix = self._matrix


@checkpoint.register
class Scores:
    """Metrics over all rows, and over the last `window` rows at every multiple of `window`.

    Rows are gathered until a window is full, so that the figures do not depend on the sizes of chunks. For the same
    reason metrics see no column of a class that turned up only after the rows in question, in the same chunk.

    Parameters
    ----------
    metrics : list of Metric
        What to compute; the metrics themselves are not updated.
    window : int
        Rows per window.

    Attributes
    ----------
    n_classes : int
        Classes known so far; to be set, before the first row, to the number of those known then.

    Examples
    --------
    >>> import numpy as np
    >>> scores = Scores(chosen("accuracy"), window=2)
    >>> full = scores.update([0, 1, 1], [[0.9, 0.1], [0.2, 0.8], [0.9, 0.1]])
    >>> full, scores.total(), scores.curve["row"], scores.curve["accuracy"]
    (1, {'accuracy': 0.6666666666666666}, [2], [1.0])
    """

    def __init__(self, metrics: Sequence[Metric], window: int) -> None:
        self.window = window
        self.rows = 0
        self.n_classes = 0
        self.curve: dict[str, list[Any]] = {"row": [], **{metric.name: [] for metric in metrics}}
        self._all = Panel(metrics)
        self._latest = Panel(metrics)
        # The latest `window` rows. The next one goes to place `rows % window`; rows from place `_from` up to
        # there are not yet in the totals.
        self._regression = metrics[0].task == "regression"
        self._y: NDArray[Any] = np.zeros(0, np.float64 if self._regression else np.int64)
        self._predicted: NDArray[np.float64] = np.zeros((0, int(self._regression)))
        self._from = 0

    def __checkpoint__(self) -> dict[str, Any]:
        curve = {
            name: np.array(values, np.int64 if name == "row" else np.float64) for name, values in self.curve.items()
        }
        return {**self.__dict__, "curve": curve}  # arrays, as a long curve in JSON is large

    def __restore__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.curve = {name: values.tolist() for name, values in state["curve"].items()}

    def update(self, y: Any, predicted: Any) -> int:
        """Check and take in a chunk of rows; return how many points the curve has gained.

        Parameters
        ----------
        y, predicted : array-like
            Codes and probabilities, shapes (n,) and (n, k), or numbers and predicted numbers, both of shape (n,).
        """
        targets: NDArray[Any]
        if self._regression:
            targets, values = check_values(y, predicted)
            columns = values[:, None]
        else:
            targets, columns = check_rows(y, predicted)
        gained = start = 0
        while start < len(targets):
            place = self.rows % self.window
            n = min(self.window - place, len(targets) - start)
            self._make_room(place + n, columns.shape[1])
            self._y[place : place + n] = targets[start : start + n]
            self._predicted[place : place + n, : columns.shape[1]] = columns[start : start + n]
            self._predicted[place : place + n, columns.shape[1] :] = 0.0
            start += n
            self.rows += n
            if place + n == self.window:
                self._add_point()
                gained += 1
        return gained

    def _make_room(self, n_rows: int, n_columns: int) -> None:
        """Grow up to a full window; nobody pays for a window longer than the stream."""
        have, known = self._predicted.shape
        if n_rows > have:
            have = min(self.window, max(n_rows, 2 * have))
            self._y = np.concatenate([self._y, np.zeros(have - len(self._y), self._y.dtype)])
        if have > len(self._predicted) or n_columns > known:
            self._predicted = enlarged(self._predicted, have, max(n_columns, known))

    def _kept(self, start: int, stop: int) -> tuple[Any, Any]:
        """Rows from one place to another, as metrics take them."""
        predicted = self._predicted[start:stop]
        if self._regression:
            return self._y[start:stop], predicted[:, 0]
        return self._y[start:stop], np.ascontiguousarray(predicted[:, : self.n_classes])

    def _meet(self, start: int, stop: int) -> None:
        """Take notice of the classes in rows that metrics have not seen yet."""
        if self._regression or start == stop:
            return
        known = max(self.n_classes, int(self._y[start:stop].max()) + 1)
        beyond = np.flatnonzero(self._predicted[start:stop, known:].any(axis=0))
        self.n_classes = known + int(beyond[-1]) + 1 if len(beyond) else known

    def _add_point(self) -> None:
        """Read the metrics over the latest rows, and bring the totals up to date."""
        end = self.rows % self.window or min(self.rows, self.window)
        self._meet(self._from, end)
        latest = self._kept(0, end)
        if end < self.window < self.rows:  # the oldest rows first
            y, predicted = zip(self._kept(end, self.window), latest, strict=True)
            latest = np.concatenate(y), np.concatenate(predicted)
        self._latest.reset()
        self._latest.update(*latest)
        fresh = self._kept(self._from, end)
        if self._from == 0 and end == self.window:
            self._all.merge(self._latest, *fresh)
        else:
            self._all.update(*fresh)
        self._from = end % self.window
        self.curve["row"].append(self.rows)
        for name, value in self._latest.values().items():
            self.curve[name].append(value)

    def finish(self) -> bool:
        """Add the last point, over the last `window` rows, if rows have come since the one before."""
        if self.rows == (self.curve["row"][-1] if self.curve["row"] else 0):
            return False
        self._add_point()
        return True

    def total(self) -> dict[str, float]:
        """Value of each metric over all rows so far."""
        end = self.rows % self.window
        if end > self._from:
            self._meet(self._from, end)
            self._all.update(*self._kept(self._from, end))
            self._from = end
        return self._all.values()

    def latest(self) -> dict[str, float]:
        """Value of each metric over the last full window; before there is one, over the rows so far."""
        if not self.curve["row"]:
            return self.total()
        return {name: values[-1] for name, values in self.curve.items() if name != "row"}


@checkpoint.register
class Aligner:
    """Turns labels into codes that stay, whatever order a learner gives its classes in.

    Parameters
    ----------
    labels : sequence, optional
        Labels to give the first codes.

    Examples
    --------
    >>> import numpy as np
    >>> aligner = Aligner()
    >>> codes, proba = aligner.align(np.array([7, 5]), np.eye(2), classes=np.array([5, 7]))
    >>> codes.tolist(), proba.tolist()
    ([1, 0], [[1.0, 0.0], [0.0, 1.0]])
    >>> codes, proba = aligner.align(np.array([1, 7]), np.eye(3)[:2], classes=np.array([1, 5, 7]))
    >>> codes.tolist(), proba.tolist()  # 5, 7, 1
    ([2, 1], [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    """

    def __init__(self, labels: Sequence[Any] = ()) -> None:
        self._vocabulary = Vocabulary(labels)
        self._classes: list[Any] = []
        self._columns: NDArray[np.int64] | None = None  # where the learner's columns go; None: where they are

    def align(self, y: Any, proba: Any, classes: Any) -> tuple[Codes, Any]:
        """Codes of labels, and probabilities in the order of the codes.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels.
        proba : array-like of shape (n, k)
            Probabilities in the order of `classes`.
        classes : array-like of shape (k,)
            The learner's classes.
        """
        labels = classes.tolist() if isinstance(classes, np.ndarray) else list(classes)
        if labels != self._classes:
            as_objects = np.empty(len(labels), object)
            as_objects[:] = labels
            columns, self._vocabulary = self._vocabulary.encode(as_objects)
            self._columns = None if np.array_equal(columns, np.arange(len(columns))) else columns
            self._classes = labels
        if self._columns is not None:
            placed = np.zeros((len(proba), len(self._vocabulary)))
            placed[:, self._columns] = proba
            proba = placed
        codes, self._vocabulary = self._vocabulary.encode(np.asarray(y))
        return codes, proba
