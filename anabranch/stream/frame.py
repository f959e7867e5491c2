"""Rows from a data frame in memory."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from anabranch.stream.array import distinct_labels
from anabranch.stream.base import Chunk, Labels, Stream


class FrameStream(Stream):
    """A stream over a pandas, Polars or PyArrow table, in the order it has.

    Chunks of X are tables of the same kind without the target column; text and categorical columns stay what
    they are, so that learners take them as nominal.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        Any eager data frame that narwhals knows.
    target : str
        Name of the column to predict.
    name : str, optional
        Name for tables; ``"FrameStream(target)"`` if left out.

    Raises
    ------
    ValueError
        If `frame` is not a data frame, is empty, has no column `target` or none beside it, or if a label is
        missing or of a kind that is no label.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"colour": ["red", "blue", "red"], "size": [1, 2, 3], "sold": ["yes", "no", "no"]})
    >>> stream = FrameStream(table, "sold")
    >>> [(X.column_names, y.tolist()) for X, y in stream.chunks(2)]
    [(['colour', 'size'], ['yes', 'no']), (['colour', 'size'], ['no'])]
    """

    def __init__(self, frame: Any, target: str, *, name: str | None = None) -> None:
        # Narwhals takes a while to import, and streams of arrays and files do without.
        import narwhals.stable.v1 as nw

        try:
            table = nw.from_native(frame, eager_only=True)
            columns = list(table.columns)
        except TypeError as error:
            raise ValueError(
                f"frame must be a pandas, Polars or PyArrow table, got {type(frame).__name__}: "
                "collect a lazy frame first, use ArrayStream for arrays"
            ) from error
        except ValueError as error:
            raise ValueError(f"frame cannot be used: every column needs a name of its own ({error})") from error
        if target not in columns:
            raise unknown_column(target, columns, "frame")
        if len(columns) == 1:
            raise ValueError(f"frame holds the target {target!r} alone: a stream needs at least one feature")
        if len(table) == 0:
            raise ValueError("frame has no rows: a stream needs at least one")
        self.target = target
        self.y = _labels(table[target])
        self.n_rows = len(table)
        self.feature_names = [column for column in columns if column != target]
        self.n_features = len(self.feature_names)
        self.name = f"FrameStream({target})" if name is None else name
        self.nominal_features = []
        self._kind = f"{type(frame).__module__.partition('.')[0]}.{type(frame).__name__}"
        self._features = table.select(self.feature_names)

    @cached_property
    def classes(self) -> Labels | None:  # type: ignore[override]
        """The distinct labels, sorted; None if the target holds fractions."""
        return distinct_labels(self.y)

    def __repr__(self) -> str:
        return (
            f"FrameStream(<{self._kind}, {self.n_rows} x {self.n_features}>, "
            f"target={self.target!r}, name={self.name!r})"
        )

    def _chunks(self, size: int, skip: int) -> Iterator[Chunk]:
        assert self.n_rows is not None
        for start in range(skip, self.n_rows, size):
            yield self._features[start : start + size].to_native(), self.y[start : start + size]


def _labels(series: Any) -> Labels:
    """Return a column's values as an array of int64, float64, bool, or of str objects."""
    values = np.asarray(series.to_numpy())
    missing = series.is_null().to_numpy()
    if values.dtype.kind == "f":
        missing = missing | np.isnan(values)
    if missing.any():
        raise ValueError(
            f"target {series.name!r} has no value in row {int(np.argmax(missing))} (counting from 0): "
            "drop unlabelled rows first"
        )
    if values.dtype.kind in "OUT":
        # Categorical, extension and plain object columns: what counts is what they hold.
        listed = values.tolist()
        if all(isinstance(label, str) for label in listed):
            labels = np.empty(len(listed), dtype=object)
            labels[:] = listed
            return labels
        if not any(isinstance(label, str) for label in listed):
            values = np.asarray(listed)
    if values.dtype.kind in "iu" and values.max() <= np.iinfo(np.int64).max:
        return values.astype(np.int64, copy=False)
    if values.dtype.kind == "f":
        return values.astype(np.float64, copy=False)
    if values.dtype.kind == "b":
        return values
    raise ValueError(
        f"target {series.name!r} holds values of type {series.dtype}, which are no labels: "
        "convert it to numbers or text, one kind throughout"
    )


def unknown_column(column: str, columns: Iterable[str], where: str) -> ValueError:
    """Return the error for a target that is not there, with names that are near it."""
    columns = [str(known) for known in columns]
    near = difflib.get_close_matches(str(column), columns, n=3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    shown = ", ".join(columns[:20]) + (f", ... ({len(columns)} in all)" if len(columns) > 20 else "")
    return ValueError(f"{where} has no column {column!r}.{hint} Its columns are: {shown}")
