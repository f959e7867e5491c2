"""The data that contestants run on, and contestants in Python: anabranch's learners and River's."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from _harness import Contestant, passes_for
from numpy.typing import NDArray

from anabranch import datasets
from anabranch.metrics import Accuracy
from anabranch.stream import RandomRBF

CHUNK = 1000


@dataclass(frozen=True)
class Rows:
    """A stream in memory; labels are 0 to n_classes - 1."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    n_classes: int

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def dicts(self) -> list[dict[str, float]]:
        """The rows as River wants them: names and Python's own numbers."""
        names = [f"x{j}" for j in range(self.X.shape[1])]
        return [dict(zip(names, row, strict=True)) for row in self.X.tolist()]

    @cached_property
    def labels(self) -> list[int]:
        """The labels as Python's own numbers."""
        return self.y.tolist()


def random_rbf(n_rows: int, n_features: int = 10, n_classes: int = 2) -> Rows:
    """Return rows of the random RBF stream that the tables are about."""
    stream = RandomRBF(n_centroids=50, n_features=n_features, n_classes=n_classes, seed=1)
    X, y = stream.take(n_rows)
    return Rows(stream.name, X, y, n_classes)


def data_set(name: str, n_rows: int | None = None) -> Rows:
    """Return a named data set of numeric columns, or its first rows."""
    stream = datasets.load(name, progress=print)
    X, y = stream.take(n_rows or stream.n_rows)
    codes = np.searchsorted(stream.classes, y)
    return Rows(name, np.ascontiguousarray(X, np.float64), codes, len(stream.classes))


class InChunks(Contestant):
    """One of our classifiers, test-then-train in chunks; what counts includes our metric's look at the votes.

    Parameters
    ----------
    name : str
    make : callable
        Returns a fresh learner.
    rows : Rows
    """

    def __init__(self, name: str, make: Callable[[], Any], rows: Rows, **options: Any) -> None:
        options.setdefault("passes", passes_for(len(rows), 1_000_000))
        super().__init__(name, len(rows), **options)
        self.make = make
        self.data = rows

    def prepare(self) -> None:
        """Make a fresh learner that knows the classes, as MOA's does."""
        self.learner = self.make()
        self.learner.announce(np.arange(self.data.n_classes))

    def run(self) -> float:
        """Return the accuracy in percent."""
        learner, X, y = self.learner, self.data.X, self.data.y
        accuracy = Accuracy()
        for start in range(0, len(y), CHUNK):
            stop = start + CHUNK
            accuracy.update(y[start:stop], learner.test_then_train(X[start:stop], y[start:stop]))
        return 100.0 * accuracy.value

    def nbytes(self) -> int | None:
        """Return the bytes that the learner counts itself."""
        return int(self.learner.nbytes)


class OneByOne(Contestant):
    """A classifier with River's verbs, ours or River's, on the same dicts: predict a row, then learn it."""

    def __init__(self, name: str, make: Callable[[], Any], rows: Rows, **options: Any) -> None:
        super().__init__(name, len(rows), **options)
        self.make = make
        self.dicts = rows.dicts
        self.labels = rows.labels

    def prepare(self) -> None:
        """Make a fresh learner."""
        self.learner = self.make()

    def run(self) -> float:
        """Return the accuracy in percent."""
        predict, learn = self.learner.predict_one, self.learner.learn_one
        hits = 0
        for x, y in zip(self.dicts, self.labels, strict=True):
            hits += predict(x) == y
            learn(x, y)
        return 100.0 * hits / self.rows

    def nbytes(self) -> int | None:
        """Return the bytes the learner counts itself, or else those of all its objects."""
        own = getattr(self.learner, "nbytes", None)
        return int(own) if own is not None else deep_size(self.learner)


class InFrames(Contestant):
    """A classifier of River's that takes pandas' frames, made beforehand: predict a frame, then learn it."""

    def __init__(self, name: str, make: Callable[[], Any], rows: Rows, **options: Any) -> None:
        import pandas as pd

        super().__init__(name, len(rows), **options)
        self.make = make
        names = [f"x{j}" for j in range(rows.X.shape[1])]
        self.frames = [
            (pd.DataFrame(rows.X[i : i + CHUNK], columns=names), pd.Series(rows.y[i : i + CHUNK]))
            for i in range(0, len(rows), CHUNK)
        ]

    def prepare(self) -> None:
        """Make a fresh learner that has seen the first row: it cannot predict a frame before any."""
        self.learner = self.make()
        X, y = self.frames[0]
        self.learner.learn_many(X[:1], y[:1])

    def run(self) -> float:
        """Return the accuracy in percent."""
        hits = 0
        for X, y in self.frames:
            probabilities = self.learner.predict_proba_many(X)
            hits += np.count_nonzero(probabilities.columns[probabilities.to_numpy().argmax(axis=1)] == y.to_numpy())
            self.learner.learn_many(X, y)
        return 100.0 * hits / self.rows

    def nbytes(self) -> int | None:
        """Return the bytes of all objects of the learner."""
        return deep_size(self.learner)


# Code and names, which a model shares with others or with the rows.
_SHARED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType, str)


def deep_size(model: object) -> int:
    """Bytes of all Python objects that make up a model, each counted once.

    Code and text are left out. So are attributes that the interpreter keeps within an object, which
    ``sys.getsizeof`` does not count: the truth lies rather above.

    >>> deep_size([1.5, 2.5]) == sys.getsizeof([1.5, 2.5]) + 2 * sys.getsizeof(1.5)
    True
    """
    seen: set[int] = set()
    waiting: list[object] = [model]
    total = 0
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, _SHARED):
            continue
        seen.add(id(thing))
        total += sys.getsizeof(thing)
        waiting.extend(gc.get_referents(thing))
    return total
