"""Rows from files, read bit by bit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from anabranch.stream._arrow import arrow
from anabranch.stream.base import Chunk, Labels, Stream, rechunk, whole_number
from anabranch.stream.csv_reader import CsvReader
from anabranch.stream.frame import unknown_column


class _Reader(Protocol):
    """What a file format has to offer: its columns, and its rows as often as asked."""

    schema: Any  # pyarrow.Schema of float64, bool, string and, for the target alone, int64

    def batches(self) -> Iterator[Any]: ...  # of pyarrow.RecordBatch


# A further format is one more reader here, by the suffix of its files.
_READERS = {".csv": CsvReader}


class FileStream(Stream):
    r"""A stream over a file, read batch by batch in constant memory.

    Supported: CSV (``.csv``) with a header line, UTF-8, optionally with quoted values; blank lines are left
    out.

    Types are settled from the first `block_size` bytes. Numbers become float64, ``true`` and ``false`` 1.0
    and 0.0, everything else, dates included, stays text; in the target, whole numbers become int64 and truth
    values bool. Empty values, ``?``, ``NA``, ``nan`` and ``NaN`` are missing. A column that has nothing else
    in the first block is taken for numeric.

    Where all feature columns are numeric, chunks of X are arrays, otherwise PyArrow tables.

    Parameters
    ----------
    path : str or path-like
        The file.
    target : str, optional
        Name of the column to predict; the last one if left out.
    name : str, optional
        Name for tables; the file's name without suffix if left out.
    types : mapping of str to {"number", "text"}, optional
        Columns whose type is to be the one given here, whatever the first block holds.
    delimiter : str
        The character between columns.
    block_size : int
        Bytes read at a time and looked at for types.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the format is not supported, the file is empty or malformed at its beginning, or there is no
        column `target`. While reading: if a row does not fit or a label is missing; the message says where.
        A file that is cut off within a row's last value cannot be told from a whole one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "trees.csv")
    >>> _ = path.write_text("height,width,kind\n12,0.4,oak\n30,?,fir\n25,0.9,fir\n")
    >>> stream = FileStream(path)
    >>> [(X.tolist(), y.tolist()) for X, y in stream.chunks(2)]
    [([[12.0, 0.4], [30.0, nan]], ['oak', 'fir']), ([[25.0, 0.9]], ['fir'])]
    >>> stream.name, stream.feature_names
    ('trees', ['height', 'width'])
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        target: str | None = None,
        *,
        name: str | None = None,
        types: Mapping[str, str] | None = None,
        delimiter: str = ",",
        block_size: int = 1 << 20,
    ) -> None:
        self.path = Path(path)
        self.types = dict(types or {})
        self.delimiter = delimiter
        self.block_size = whole_number("block_size", block_size, 1)
        if not self.path.exists():
            raise FileNotFoundError(f"there is no file {self.path}")
        if self.path.is_dir():
            raise ValueError(f"{self.path} is a folder: give the path of a file in it")
        suffix = self.path.suffix.lower()
        if suffix not in _READERS:
            raise ValueError(
                f"cannot read {self.path}: files of kind {suffix or '(no suffix)'!r} are not supported, "
                f"only {', '.join(_READERS)}"
            )
        if self.path.stat().st_size == 0:
            raise ValueError(f"{self.path} is empty: a header line and rows are needed")
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise ValueError(f"delimiter must be one character, no quotation mark or line break, got {delimiter!r}")
        for column, kind in self.types.items():
            if kind not in ("number", "text"):
                raise ValueError(f"types[{column!r}] must be 'number' or 'text', got {kind!r}")
        self._reader: _Reader = _READERS[suffix](self.path, target, self.types, delimiter, self.block_size)
        columns = list(self._reader.schema.names)
        for column in (*self.types, *(() if target is None else (target,))):
            if column not in columns:
                raise unknown_column(column, columns, str(self.path))
        if len(columns) == 1:
            raise ValueError(
                f"{self.path} has one column, {columns[0]!r}: a stream needs a target and a feature "
                f"(if something else than {delimiter!r} separates the columns, FileStream takes it as delimiter)"
            )
        self.target = columns[-1] if target is None else target
        self.feature_names = [column for column in columns if column != self.target]
        self.n_features = len(self.feature_names)
        self.nominal_features = []
        self.name = self.path.stem if name is None else name
        types_found = [str(self._reader.schema.field(column).type) for column in self.feature_names]
        self._as_arrays = "string" not in types_found

    def __repr__(self) -> str:
        parts = [repr(str(self.path)), f"target={self.target!r}", f"name={self.name!r}"]
        if self.types:
            parts.append(f"types={self.types!r}")
        if self.delimiter != ",":
            parts.append(f"delimiter={self.delimiter!r}")
        if self.block_size != 1 << 20:
            parts.append(f"block_size={self.block_size}")
        return f"FileStream({', '.join(parts)})"

    def _chunks(self, size: int, skip: int) -> Iterator[Chunk]:
        if self._as_arrays:
            return rechunk(self._parts(skip), size, skip)
        return rechunk(self._parts(skip), size, skip, join=arrow().concat_tables)

    def _parts(self, skip: int) -> Iterator[Chunk]:
        """Hand out whole batches; those that are skipped anyway are not worth converting."""
        target = self._reader.schema.names.index(self.target)
        features = [j for j in range(len(self._reader.schema.names)) if j != target]
        convert = _array if self._as_arrays else _table
        first = 0
        for batch in self._reader.batches():
            stop = first + batch.num_rows
            labels = batch.column(target)
            if labels.null_count:
                row = first + int(np.argmax(labels.is_null().to_numpy(zero_copy_only=False)))
                raise ValueError(
                    f"{self.path}: the target {self.target!r} has no value in row {row} "
                    "(counting from 0, below the header): remove unlabelled rows"
                )
            if stop <= skip:
                yield arrow().nulls(batch.num_rows), np.empty(batch.num_rows)
            else:
                yield convert(batch, features), _labels(labels)
            first = stop


def _array(batch: Any, features: list[int]) -> npt.NDArray[np.float64]:
    X = np.empty((batch.num_rows, len(features)))
    for j, column in enumerate(features):
        X[:, j] = _number(batch.column(column)).to_numpy(zero_copy_only=False)
    return X


def _table(batch: Any, features: list[int]) -> Any:
    columns = [batch.column(j) for j in features]
    return arrow().table(
        [_number(column) for column in columns],
        names=[batch.schema.names[j] for j in features],
    )


def _number(column: Any) -> Any:
    return column.cast("float64") if str(column.type) == "bool" else column


def _labels(column: Any) -> Labels:
    if str(column.type) != "string":
        return np.asarray(column.to_numpy(zero_copy_only=False))
    # Text repeats: one Python string per distinct label is enough.
    coded = column.dictionary_encode()
    return np.asarray(coded.dictionary.to_numpy(zero_copy_only=False)[coded.indices.to_numpy()])
