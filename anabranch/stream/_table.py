"""What the readers of all formats share: kinds of columns, rows that do not fit, finished parts of a stream."""

from __future__ import annotations

import math
import queue
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from anabranch.stream._arrow import arrow
from anabranch.stream.base import Labels

T = TypeVar("T")

KINDS = ("number", "text")
"""What a user may say a column is; readers also know ``"truth"`` and, for the target, ``"whole"``."""

MISSING = ("", "?", "NA", "nan", "NaN")
"""What counts as missing in CSV files, in numeric and in text columns."""

FEW = 0.1
"""Share of the values in a column that may be no numbers, so that it still counts as numeric."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
WHOLE = 2.0**53  # from here on, doubles are not all whole numbers


class Bad(NamedTuple):
    """A row that does not fit."""

    position: int  # good rows before it, in its part
    what: str  # what is wrong and where, such as "line 7 has 2 values, the header 3"


class Part(NamedTuple):
    """Some rows in order."""

    X: Any
    y: Labels
    bad: Sequence[Bad] = ()
    fatal: bool = False  # the last of `bad` says why nothing can be read from there on


class Reader(Protocol):
    """What the reader of a format offers: its columns, and its rows as often as asked."""

    table: Table

    def parts(self) -> Iterator[Part]:
        """Read the file from its beginning."""


@dataclass
class Table:
    """The columns of a file.

    Attributes
    ----------
    names : list of str
    kinds : list of str
        ``"number"``, ``"text"``, ``"truth"`` or ``"whole"`` for each.
    target : int
        Which one is to be predicted.
    classes : list or None
        All labels, if the file tells them.
    unlabelled : bool
        Whether rows may be without a label, which then is NaN or None.
    """

    names: list[str]
    kinds: list[str]
    target: int
    classes: list[Any] | None = None
    unlabelled: bool = False
    features: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.features = [j for j in range(len(self.names)) if j != self.target]

    @property
    def as_arrays(self) -> bool:
        """Whether features are numbers throughout."""
        return all(self.kinds[j] != "text" for j in self.features)

    def assemble(self, columns: Mapping[int, Any], n: int) -> Any:
        """Features as an array, or, where there is text, as a PyArrow table.

        Parameters
        ----------
        columns : mapping of int to array
            For each feature, float64, or a PyArrow array of strings where it is text.
        n : int
            Number of rows.
        """
        if self.as_arrays:
            X = np.empty((n, len(self.features)))
            for k, j in enumerate(self.features):
                X[:, k] = columns[j]
            return X
        pa = arrow()
        return pa.table(
            [
                columns[j] if self.kinds[j] == "text" else pa.array(columns[j], pa.float64(), from_pandas=True)
                for j in self.features
            ],
            names=[self.names[j] for j in self.features],
        )

    def labels(self, values: Any) -> tuple[Labels, npt.NDArray[np.bool_]]:
        """The target's values as labels, and which of them are missing.

        Parameters
        ----------
        values : array
            float64 with NaN for missing, or a PyArrow array of strings.
        """
        kind = self.kinds[self.target]
        if kind == "text":
            missing = values.is_null().to_numpy(zero_copy_only=False)
            # Text repeats: one Python string per distinct label is enough.
            coded = values.dictionary_encode()
            distinct = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
            labels = distinct[coded.indices.fill_null(len(distinct) - 1).to_numpy()]
            return labels, np.zeros_like(missing) if self.unlabelled else missing
        missing = np.isnan(values)
        if self.unlabelled:
            return values, np.zeros_like(missing)
        if kind == "number":
            return values, missing
        whole = np.where(missing, 0.0, values)
        return whole.astype(np.bool_ if kind == "truth" else np.int64), missing


def no_value(name: str) -> str:
    """Say that a row has no label."""
    return f"the target {name!r} has no value (rows without a label teach nothing: remove them)"


def finish(
    table: Table, X: Any, y: Any, n: int, wrong: Mapping[int, str], others: Iterable[tuple[int, str]] = ()
) -> Part:
    """Leave out rows that do not fit.

    Parameters
    ----------
    X, y : of length `n`
        Features and the target's values, as :meth:`Table.labels` takes them.
    wrong : mapping of int to str
        Rows that do not fit, and why.
    others : iterable of (int, str)
        Rows that are not among the `n`: how many of those come before, and what is wrong.
    """
    labels, missing = table.labels(y)
    bad = dict(wrong)
    if missing.any():
        what = no_value(table.names[table.target])
        for row in np.flatnonzero(missing).tolist():
            bad.setdefault(row, what)
    listed = [(row, 1, what) for row, what in bad.items()] + [(before, 0, what) for before, what in others]
    if not listed:
        return Part(X, labels)
    keep = np.ones(n, np.bool_)
    keep[list(bad)] = False
    before = np.concatenate([[0], np.cumsum(keep)])
    if bad:
        X, labels = (X[keep] if isinstance(X, np.ndarray) else X.filter(arrow().array(keep))), labels[keep]
    listed.sort(key=lambda entry: entry[:2])
    return Part(X, labels, [Bad(int(before[row]), what) for row, _, what in listed])


def number(text: str, missing: Sequence[str] = MISSING) -> float | None:
    """Return the number that a text is, or None: what kernels are not sure of is decided here.

    >>> number(" 1.5e3"), number("1_0"), number("0x10"), number("inf")
    (1500.0, None, None, None)
    """
    text = text.strip(" \t")
    if text in missing:
        return math.nan
    return float(text) if _NUMBER.fullmatch(text) else None


def truth(text: str) -> float | None:
    """Return 1.0 for true, 0.0 for false, None for anything else.

    >>> truth("True"), truth(" 0"), truth("maybe")
    (1.0, 0.0, None)
    """
    value = _TRUTH.get(text.strip().lower())
    return None if value is None else float(value)


def misfit(kind: str, value: float | None) -> str | None:
    """Say why a value that has been read does not fit its column, if it does not."""
    if kind == "truth":
        return "which is neither true nor false as those before it" if value is None else None
    if value is None:
        return "which is no number as the column has to hold"
    if kind == "whole" and not (math.isnan(value) or (abs(value) < WHOLE and value == math.floor(value))):
        return "which is no whole number as those before it"
    if math.isinf(value):
        return "which is too large for a number"
    return None


def holds(where: str, name: str, value: str, problem: str, hint: bool = True) -> str:
    """Say that a value does not fit."""
    shown = value if len(value) <= 40 else value[:40] + "..."
    hint_ = f": correct the value, or name the column's type with types={{{name!r}: ...}}" if hint else ""
    return f"{where}, column {name!r} holds {shown!r}, {problem}{hint_}"


def duplicate(names: Sequence[str]) -> str | None:
    """The first name that comes twice, if one does."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def ahead(iterator: Iterator[T], depth: int = 2) -> Iterator[T]:
    """Let another thread work ahead on an iterator, by no more than a few items.

    The thread is given up, not waited for, when nobody asks any more: it may be waiting for input.
    """
    items: queue.Queue[tuple[bool, Any]] = queue.Queue(depth)
    stopped = threading.Event()

    def put(item: tuple[bool, Any]) -> None:
        while not stopped.is_set():
            try:
                return items.put(item, timeout=0.2)
            except queue.Full:
                continue

    def work() -> None:
        try:
            for item in iterator:
                put((True, item))
                if stopped.is_set():
                    return
            put((False, None))
        except BaseException as error:
            put((False, error))
        finally:
            close: Callable[[], None] | None = getattr(iterator, "close", None)
            if close is not None:
                close()

    threading.Thread(target=work, name="anabranch-reader", daemon=True).start()
    try:
        while True:
            more, item = items.get()
            if more:
                yield item
            elif item is None:
                return
            else:
                raise item
    finally:
        stopped.set()
