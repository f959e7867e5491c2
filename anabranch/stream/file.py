"""Rows from files, read bit by bit."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from anabranch.stream._arrow import arrow
from anabranch.stream._source import COMPRESSED, Source
from anabranch.stream._table import KINDS, Reader, ahead
from anabranch.stream.base import Chunk, Stream, rechunk, whole_number
from anabranch.stream.frame import unknown_column

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arff": "arff",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}
"""The format that each suffix stands for; ``.gz`` or ``.zst`` may follow it."""

_SHOWN_BAD = 20  # messages that are kept
_BLOCK_SIZE = 1 << 20
_LINES = ("csv", "tsv", "jsonl", "arff", "svmlight")  # formats of lines, which can be followed


class FileStream(Stream):
    r"""A stream over a file, read bit by bit in constant memory.

    ======================  =======================================  ==========================================
    format                  suffix                                   what it is
    ======================  =======================================  ==========================================
    ``"csv"``, ``"tsv"``    ``.csv``; ``.tsv``, ``.tab``             delimited text with a header line
    ``"jsonl"``             ``.jsonl``, ``.ndjson``                  one JSON object per line
    ``"parquet"``           ``.parquet``, ``.pq``                    Apache Parquet
    ``"arrow"``             ``.arrow``, ``.feather``, ``.ipc``, ...  Arrow IPC, the file or the stream form
    ``"arff"``              ``.arff``                                as Weka and MOA write it, dense or sparse
    ``"svmlight"``          ``.svm``, ``.svmlight``, ``.libsvm``     sparse rows; chunks of X are SciPy CSR arrays
    ======================  =======================================  ==========================================

    Text may be compressed by gzip or Zstandard, whatever the file is called; text is UTF-8.

    Types are settled from the first `block_size` bytes, or known from the file. Numbers become float64, ``true`` and
    ``false`` 1.0 and 0.0, everything else, dates included, stays text; in the target, whole numbers become int64
    and truth values bool. In CSV files, empty values, ``?``, ``NA``, ``nan`` and ``NaN`` are missing. A column
    that has nothing else in the first block is taken for numeric, and so is one of which at least nine values in ten
    are numbers: the others are mistakes, unless `types` says that it is text.

    Where all feature columns are numeric, chunks of X are arrays, otherwise PyArrow tables.

    Parameters
    ----------
    path : str or path-like
        The file; ``"-"`` for standard input, which can be gone through once.
    target : str, optional
        Name of the column to predict; the last one if left out. (svmlight has its own.)
    name : str, optional
        Name for tables; the file's name without suffix if left out.
    types : mapping of str to {"number", "text"}, optional
        Columns whose type is to be the one given here, whatever the first block holds.
    delimiter : str, optional
        The character between columns of a CSV file. If left out, it is a comma (a tab in a TSV file), or, where that
        would make a single column, the one of ``;``, tab and ``|`` that makes the most.
    block_size : int
        Bytes read at a time and looked at for types.
    format : str, optional
        One of the formats above, where the suffix does not tell.
    on_bad_row : {"raise", "skip"}
        What to do with a row that does not fit: text in a numeric column, a value too many or too few, bytes that
        are not UTF-8, an infinite number, a missing label, a row that is cut off. ``"raise"`` ends the stream with
        a ValueError that names the line; ``"skip"`` leaves the row out and counts it.
    follow : bool
        Whether to wait for more at the end of a file that still grows, as ``tail -f`` does. A last line without
        line end is still being written and not handed out.
    idle_timeout : float, optional
        Seconds without anything new after which a followed file has ended; never if left out.
    n_features : int, optional
        Number of columns of an svmlight file. If left out, such a file is gone through once beforehand; of standard
        input and of a file that is followed, the first block counts.
    unlabelled : bool
        Whether to hand out rows without a label too, as for predicting them: labels are then numbers or text as they
        stand, NaN or None where there is none.

    Attributes
    ----------
    n_bad_rows : int
        Rows left out so far in the pass that began last, as far as they lie before the rows handed out.
    bad_rows : list of str
        What was wrong with the first twenty of them, and where.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the format is not supported, the file is empty or malformed at its beginning, or there is no
        column `target`. While reading: if a row does not fit; the message says where.
        A text file that is cut off within a row's last value cannot be told from a whole one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "trees.csv")
    >>> _ = path.write_text("height,width,kind\n12,0.4,oak\n30,?,fir\n25,0.9,fir\n31,fir\n")
    >>> stream = FileStream(path, on_bad_row="skip")
    >>> [(X.tolist(), y.tolist()) for X, y in stream.chunks(2)]
    [([[12.0, 0.4], [30.0, nan]], ['oak', 'fir']), ([[25.0, 0.9]], ['fir'])]
    >>> stream.name, stream.feature_names, stream.n_bad_rows
    ('trees', ['height', 'width'], 1)
    >>> stream.bad_rows[0][:35]
    'line 5 has 2 values, the header 3: '
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        target: str | None = None,
        *,
        name: str | None = None,
        types: Mapping[str, str] | None = None,
        delimiter: str | None = None,
        block_size: int = _BLOCK_SIZE,
        format: str | None = None,
        on_bad_row: str = "raise",
        follow: bool = False,
        idle_timeout: float | None = None,
        n_features: int | None = None,
        unlabelled: bool = False,
    ) -> None:
        standard_input = os.fspath(path) == "-"
        self.path = Path(path)
        self.types = dict(types or {})
        self.block_size = whole_number("block_size", block_size, 1)
        if self.block_size > 1 << 30:
            raise ValueError(f"block_size must be at most {1 << 30}, got {block_size}")
        self.on_bad_row = on_bad_row
        self.follow = bool(follow)
        self.unlabelled = bool(unlabelled)
        self.idle_timeout = _seconds(idle_timeout)
        if not standard_input and not self.path.exists():
            raise FileNotFoundError(f"there is no file {self.path}")
        if not standard_input and self.path.is_dir():
            raise ValueError(f"{self.path} is a folder: give the path of a file in it")
        stem, self.format = _format(self.path, format, standard_input)
        self._format_given = format is not None
        if on_bad_row not in ("raise", "skip"):
            raise ValueError(f"on_bad_row must be 'raise' or 'skip', got {on_bad_row!r}")
        if self.follow and (standard_input or self.format not in _LINES):
            what = (
                "standard input ends when it ends"
                if standard_input
                else f"a file of format {self.format!r} cannot grow"
            )
            raise ValueError(f"follow=True is for text files that grow: {what}")
        if not standard_input and self.path.is_file() and self.path.stat().st_size == 0:
            raise ValueError(f"{self.path} is empty: a header line and rows are needed")
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii()):
            raise ValueError(
                f"delimiter must be one character, in ASCII, no quotation mark or line break, got {delimiter!r}"
            )
        for column, kind in self.types.items():
            if kind not in KINDS:
                raise ValueError(f"types[{column!r}] must be 'number' or 'text', got {kind!r}")
        self._n_features = None if n_features is None else whole_number("n_features", n_features, 1)
        if n_features is not None and self.format != "svmlight":
            raise ValueError("n_features is for svmlight files: other formats tell their columns")
        self._source = Source(None if standard_input else self.path, self.follow, self.idle_timeout)
        self._reader = self._open(target, delimiter)
        self.delimiter = delimiter
        if self.format in ("csv", "tsv"):
            self.delimiter = self._reader.dialect.delimiter  # type: ignore[attr-defined]
        table = self._reader.table
        sparse = self.format == "svmlight"
        for column in (*self.types, *(() if target is None else (target,))):
            if sparse or column not in table.names:
                raise unknown_column(column, table.names, self._source.name)
        table.unlabelled = self.unlabelled
        if not sparse and len(table.names) == 1 and not self.unlabelled:
            raise ValueError(
                f"{self._source.name} has one column, {table.names[0]!r}: a stream needs a target and a feature "
                "(if something else than a comma, semicolon, tab or | separates the columns, "
                "FileStream takes it as delimiter)"
            )
        self.target = None if sparse else table.names[table.target]
        self.feature_names = None if sparse else [table.names[j] for j in table.features]
        self.n_features = self._reader.n_features if sparse else len(table.features)  # type: ignore[attr-defined]
        self.nominal_features = []
        if table.classes is not None:
            self.classes = np.array(table.classes)
        self.name = ("standard input" if standard_input else stem) if name is None else name
        self.n_bad_rows = 0
        self.bad_rows: list[str] = []

    def _open(self, target: str | None, delimiter: str | None) -> Reader:
        """Make the reader of the format; each is imported where it is used."""
        source, types, size = self._source, self.types, self.block_size
        if self.format in ("csv", "tsv"):
            from anabranch.stream.csv_reader import CsvReader

            return CsvReader(source, target, types, delimiter, size, "\t" if self.format == "tsv" else ",")
        if delimiter is not None:
            raise ValueError("delimiter is for CSV files")
        if self.format == "jsonl":
            from anabranch.stream.json_reader import JsonReader

            return JsonReader(source, target, types, size)
        if self.format == "arff":
            from anabranch.stream.arff_reader import ArffReader

            return ArffReader(source, target, types, size)
        if self.format == "svmlight":
            from anabranch.stream.svmlight_reader import SvmlightReader

            return SvmlightReader(source, size, self._n_features)
        from anabranch.stream.arrow_reader import IpcReader, ParquetReader

        return (ParquetReader if self.format == "parquet" else IpcReader)(source, target, types, size)

    def __repr__(self) -> str:
        parts = [repr(str(self.path)), *([] if self.target is None else [f"target={self.target!r}"])]
        parts.append(f"name={self.name!r}")
        if self.types:
            parts.append(f"types={self.types!r}")
        if self.format in ("csv", "tsv") and self.delimiter != ("," if self.format == "csv" else "\t"):
            parts.append(f"delimiter={self.delimiter!r}")
        if self.block_size != _BLOCK_SIZE:
            parts.append(f"block_size={self.block_size}")
        if self._format_given:
            parts.append(f"format={self.format!r}")
        if self.on_bad_row != "raise":
            parts.append(f"on_bad_row={self.on_bad_row!r}")
        if self.follow:
            parts.append("follow=True")
        if self.idle_timeout is not None:
            parts.append(f"idle_timeout={self.idle_timeout!r}")
        if self._n_features is not None:
            parts.append(f"n_features={self._n_features}")
        if self.unlabelled:
            parts.append("unlabelled=True")
        return f"FileStream({', '.join(parts)})"

    def _chunks(self, size: int, skip: int) -> Iterator[Chunk]:
        bad_rows: list[str] = []
        self.n_bad_rows, self.bad_rows = 0, bad_rows
        pending: deque[tuple[int, str]] = deque()  # bad rows read, but not yet passed: the good ones before, and why
        rows = skip
        if self.format == "svmlight":
            from scipy import sparse

            chunks = rechunk(self._good(pending), size, skip, join=lambda parts: sparse.vstack(parts, format="csr"))
        elif self._reader.table.as_arrays:
            chunks = rechunk(self._good(pending), size, skip)
        else:
            chunks = rechunk(self._good(pending), size, skip, join=arrow().concat_tables)
        for X, y in chunks:
            rows += len(y)
            self._count(pending, rows, bad_rows)
            yield X, y
        self._count(pending, math.inf, bad_rows)

    def _count(self, pending: deque[tuple[int, str]], rows: float, bad_rows: list[str]) -> None:
        """Count the bad rows that lie before the last of so many good ones; those of the latest pass alone."""
        while pending and pending[0][0] < rows and self.bad_rows is bad_rows:
            _, what = pending.popleft()
            self.n_bad_rows += 1
            if len(bad_rows) < _SHOWN_BAD:
                bad_rows.append(what)

    def _good(self, pending: deque[tuple[int, str]]) -> Iterator[Chunk]:
        """The rows that fit, part by part; what does not is raised, or put among those to be counted."""
        rows = 0
        for X, y, bad, fatal in ahead(self._reader.parts()):
            if bad and self.on_bad_row == "raise":
                position, what = bad[0]
                if position:
                    yield X[:position], y[:position]
                raise ValueError(f"{self._source.name}: {what}")
            pending.extend((rows + position, what) for position, what in bad)
            if len(y):
                yield X, y
            rows += len(y)
            if fatal:
                return


def _format(path: Path, given: str | None, standard_input: bool) -> tuple[str, str]:
    """The file's name without suffixes, and its format."""
    kinds = sorted(set(FORMATS.values()))
    if given is not None and given not in kinds:
        raise ValueError(f"format must be one of {', '.join(kinds)}, got {given!r}")
    if standard_input:
        if given is None:
            raise ValueError(f"standard input needs a format: one of {', '.join(kinds)}")
        return "-", given
    inner = Path(path.stem) if path.suffix.lower() in COMPRESSED else path
    found = FORMATS.get(inner.suffix.lower())
    if given is None and found is None:
        suffix = repr(path.suffix.lower() if path.suffix.lower() not in COMPRESSED else inner.suffix + path.suffix)
        raise ValueError(
            f"cannot read {path}: files of kind {suffix if path.suffix else '(no suffix)'} are not supported, only "
            f"{', '.join(FORMATS)}, and these with {' or '.join(COMPRESSED)} after it; "
            "if it is one of these by another name, say so by format"
        )
    return inner.stem if inner.suffix else inner.name, given or str(found)


def _seconds(value: Any) -> float | None:
    if value is None:
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 < seconds < math.inf:
        raise ValueError(f"idle_timeout must be a number of seconds above 0, got {value!r}")
    return seconds
