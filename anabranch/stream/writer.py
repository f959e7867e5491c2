"""Streams and tables to files, row by row in constant memory."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from anabranch.checkpoint import replacing
from anabranch.stream._arrow import arrow
from anabranch.stream._source import COMPRESSED
from anabranch.stream._table import MISSING
from anabranch.stream.base import Stream, whole_number
from anabranch.stream.file import FORMATS

__all__ = ["file_format", "table_writer", "write"]

_CHUNK = 1 << 14  # rows written at a time
_GROUP = 1 << 17  # rows of a Parquet row group, and of a batch in an Arrow file


def write(
    stream: Stream,
    path: str | os.PathLike[str],
    n_rows: int | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> int:
    """Write a stream to a file, from which :class:`~anabranch.stream.FileStream` reads the same rows.

    Memory does not grow with the number of rows, and a file that was there before is replaced only once the new one
    is whole. The target is the last column. CSV has no types: a text column in which every value looks like a number
    is read back as numbers. Truth values become numbers wherever they are read.

    Parameters
    ----------
    stream : Stream
    path : str or path-like
        The file; its suffix says in which format: ``.csv``, ``.tsv``, ``.jsonl``, ``.parquet``, ``.arrow``, ``.arff``
        or ``.svm`` and their like, with ``.gz`` or ``.zst`` after it if a text format is to be compressed.
        ``"-"`` writes CSV to standard output.
    n_rows : int, optional
        Rows after which to stop; without it, when the stream ends.
    progress : callable, optional
        Called with the rows written so far, and those to come in all (None if not known).

    Returns
    -------
    int
        Number of rows written.

    Raises
    ------
    ValueError
        If the format is not known, the stream is endless and `n_rows` not given, or a value cannot be written in that
        format.
    OSError
        If the file cannot be written; what was there before is left as it was.

    Examples
    --------
    >>> import tempfile
    >>> from anabranch.stream import SEA, FileStream, write
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/sea.parquet"
    >>> write(SEA(seed=1), path, n_rows=2000)
    2000
    >>> X, y = FileStream(path).take(2000)
    >>> bool((X == SEA(seed=1).take(2000)[0]).all())
    True
    >>> folder.cleanup()
    """
    if n_rows is not None:
        n_rows = whole_number("n_rows", n_rows, 1)
    to_come = stream.n_rows
    if n_rows is not None:
        to_come = n_rows if to_come is None else min(n_rows, to_come)
    rows = 0
    with contextlib.ExitStack() as opened:
        writer = None
        for X, y in stream.chunks(_CHUNK if n_rows is None else min(_CHUNK, n_rows)):
            if n_rows is not None and rows + len(y) > n_rows:
                X, y = X[: n_rows - rows], y[: n_rows - rows]
            if writer is None:
                writer = opened.enter_context(_stream_writer(stream, path, X, y))
            writer(X, y)
            rows += len(y)
            if progress is not None:
                progress(rows, to_come)
            if rows == n_rows:
                break
        if writer is None:
            raise ValueError(f"the stream {stream.name} has no rows: there is nothing to write")
    return rows


@contextlib.contextmanager
def _stream_writer(
    stream: Stream, path: str | os.PathLike[str], X: Any, y: Any
) -> Iterator[Callable[[Any, Any], None]]:
    """Open the file for chunks like the first one."""
    if callable(getattr(X, "tocsr", None)) or file_format(path)[0] == "svmlight":
        with _opened(path) as file:
            yield _Svmlight(file, path).write
        return
    columns = _columns(X, stream.feature_names)
    name = getattr(stream, "target", None)
    if not isinstance(name, str):
        name = "target" if y.dtype.kind == "f" else "class"
    taken = {column for column, _ in columns}
    while name in taken:
        name += "_"
    first = {**dict(columns), name: _labels(y)}
    classes = None if stream.classes is None else np.asarray(stream.classes).tolist()
    schema = arrow().schema([(column, values.type) for column, values in first.items()])
    with table_writer(
        path, schema, relation=str(stream.name), nominal={} if classes is None else {name: classes}
    ) as put:

        def write_chunk(X: Any, y: Any) -> None:
            values = {**dict(_columns(X, stream.feature_names)), name: _labels(y)}
            try:
                put(arrow().table([values[field.name].cast(field.type) for field in schema], schema=schema))
            except (KeyError, arrow().ArrowInvalid, arrow().ArrowNotImplementedError) as error:
                raise ValueError(f"the columns of the stream {stream.name} change on the way: {error}") from error

        yield write_chunk


def _columns(X: Any, names: Sequence[str] | None) -> list[tuple[str, Any]]:
    """Columns of a chunk by name, as PyArrow arrays."""
    pa = arrow()
    if isinstance(X, np.ndarray):
        names = [f"x{j}" for j in range(X.shape[1])] if names is None else names
        return [(name, pa.array(np.ascontiguousarray(X[:, j]))) for j, name in enumerate(names)]
    import narwhals.stable.v1 as nw

    table = nw.from_native(X, eager_only=True).to_arrow()
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = column.combine_chunks()
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if pa.types.is_large_string(values.type) or not pa.types.is_primitive(values.type):
            values = values.cast(pa.string())
        columns.append((name, values))
    return columns


def _labels(y: Any) -> Any:
    pa = arrow()
    try:
        return pa.array(y.tolist() if y.dtype.kind == "O" else y)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"the labels cannot be written: they are not of one kind ({error})") from error


# ---------------------------------------------------------------------------------------- files


def file_format(path: str | os.PathLike[str]) -> tuple[str, str | None]:
    """Format and compression that a file's name asks for.

    >>> file_format("rows.csv"), file_format("rows.jsonl.gz"), file_format("-")
    (('csv', None), ('jsonl', 'gzip'), ('csv', None))
    """
    if os.fspath(path) == "-":
        return "csv", None
    name = Path(path)
    compression = COMPRESSED.get(name.suffix.lower())
    inner = Path(name.stem) if compression else name
    kind = FORMATS.get(inner.suffix.lower())
    if kind is None:
        raise ValueError(
            f"cannot write {name}: its suffix says in which format, one of {', '.join(FORMATS)}; those of text may "
            f"have {' or '.join(COMPRESSED)} after it"
        )
    if compression and kind in ("parquet", "arrow"):
        raise ValueError(f"cannot write {name}: {kind} files are compressed within; leave out {name.suffix}")
    return kind, compression


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open the file to write, compressed if its name says so, in place of the old one at the end."""
    if os.fspath(path) == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    _, compression = file_format(path)
    with contextlib.ExitStack() as opened:
        if Path(path).exists() and not Path(path).is_file():  # a pipe or a device: nothing to replace
            file: Any = opened.enter_context(Path(path).open("wb"))
        else:
            file = opened.enter_context(replacing(Path(path)))
        if compression:
            file = opened.enter_context(_Compressed(file, compression))
        yield file


class _Compressed:
    """What is written goes on compressed; the file beneath stays open."""

    def __init__(self, file: IO[bytes], kind: str) -> None:
        self._stream = arrow().CompressedOutputStream(_python_file(file), kind)

    def __enter__(self) -> _Compressed:
        return self

    def __exit__(self, kind: Any, *rest: object) -> None:
        with contextlib.suppress(OSError) if kind else contextlib.nullcontext():
            self._stream.close()

    def write(self, data: bytes) -> None:
        self._stream.write(data)


class _Unclosed:
    """A file that PyArrow does not close, as others have still to do with it."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self._place = 0
        self._file = file

    def write(self, data: Any) -> int:
        if not self._file.closed:  # as it is after an error, when PyArrow still wants to write an end
            self._file.write(data)
        self._place += len(data)
        return len(data)

    def tell(self) -> int:
        return self._place

    def flush(self) -> None: ...

    def close(self) -> None: ...


def _python_file(file: IO[bytes]) -> Any:
    return arrow().PythonFile(_Unclosed(file), mode="w")


@contextlib.contextmanager
def table_writer(
    path: str | os.PathLike[str], schema: Any, relation: str = "rows", nominal: dict[str, list[Any]] | None = None
) -> Iterator[Callable[[Any], None]]:
    """Open a file for tables of one schema, each handed to the function that is given back.

    Parameters
    ----------
    path : str or path-like
        Its suffix says in which format; ``"-"`` writes CSV to standard output.
    schema : pyarrow.Schema
        Numbers, truth values and strings.
    relation : str
        Name of the table, for ARFF.
    nominal : dict of str to list, optional
        All values of columns that have few, for ARFF.
    """
    kind, _ = file_format(path)
    with _opened(path) as file:
        writer: _Writer
        if kind in ("csv", "tsv"):
            writer = _Delimited(file, path, schema, "\t" if kind == "tsv" else ",")
        elif kind == "jsonl":
            writer = _Jsonl(file, schema)
        elif kind == "arff":
            writer = _Arff(file, schema, relation, nominal or {})
        elif kind == "svmlight":
            raise ValueError(f"cannot write {path}: svmlight files hold a label and numbers; take another format")
        else:
            writer = _Grouped(file, schema, kind)
        yield writer.write
        writer.close()


class _Writer(Protocol):
    def write(self, table: Any) -> None: ...

    def close(self) -> None: ...


class _Delimited:
    """CSV and TSV, by PyArrow; quoted only where there is something to quote."""

    def __init__(self, file: IO[bytes], path: str | os.PathLike[str], schema: Any, delimiter: str) -> None:
        self._file = file
        self._path = path
        self._delimiter = delimiter
        self._special = f'["\r\n{delimiter}]|^\\s|\\s$'
        header = [name if not re.search(self._special, name) else _doubled(name) for name in schema.names]
        file.write((delimiter.join(header) + "\n").encode())

    def write(self, table: Any) -> None:
        pa, csv = arrow(), arrow("pyarrow.csv")
        quoting = "none"
        for name, column in zip(table.column_names, table.columns, strict=True):
            if pa.types.is_string(column.type):
                self._check(name, column)
                if (
                    arrow("pyarrow.compute")
                    .any(arrow("pyarrow.compute").match_substring_regex(column, self._special))
                    .as_py()
                ):
                    quoting = "needed"
        sink = pa.BufferOutputStream()
        csv.write_csv(
            table,
            sink,
            csv.WriteOptions(include_header=False, delimiter=self._delimiter, quoting_style=quoting),
        )
        self._file.write(sink.getvalue())

    def _check(self, name: str, column: Any) -> None:
        """Refuse texts that mean "missing" to whoever reads them."""
        compute = arrow("pyarrow.compute")
        wrong = compute.is_in(column, value_set=arrow().array(MISSING))
        if compute.any(wrong).as_py():
            text = column.filter(wrong)[0].as_py()
            raise ValueError(
                f"cannot write {self._path}: the text {text!r} in the column {name!r} would be read back as missing; "
                "take a format with types, such as .parquet, .arrow or .jsonl"
            )

    def close(self) -> None: ...


def _doubled(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _texts(column: Any, missing: str, text: Callable[[str], str]) -> list[str]:
    """Values of a column as the text formats write them."""
    pa = arrow()
    values = column.to_pylist()
    if pa.types.is_string(column.type):
        return [missing if value is None else text(value) for value in values]
    if pa.types.is_boolean(column.type):
        return [missing if value is None else "true" if value else "false" for value in values]
    return [missing if value is None or value != value else repr(value) for value in values]


class _Jsonl:
    """One JSON object per line; what is missing is null."""

    def __init__(self, file: IO[bytes], schema: Any) -> None:
        self._file = file
        self._line = "{" + ", ".join(json.dumps(name).replace("%", "%%") + ": %s" for name in schema.names) + "}\n"

    def write(self, table: Any) -> None:
        columns = [_texts(column, "null", json.dumps) for column in table.columns]
        self._file.write("".join([self._line % row for row in zip(*columns, strict=True)]).encode())

    def close(self) -> None: ...


class _Arff:
    """ARFF as Weka and MOA read it."""

    def __init__(self, file: IO[bytes], schema: Any, relation: str, nominal: dict[str, list[Any]]) -> None:
        self._file = file
        pa = arrow()
        lines = [f"@relation {_arff_text(relation)}", ""]
        for field in schema:
            if field.name in nominal:
                values = pa.chunked_array([pa.array(nominal[field.name], field.type)])
                kind = "{" + ",".join(_texts(_whole(values), "?", _arff_text)) + "}"
            elif pa.types.is_boolean(field.type):
                kind = "{0,1}"
            else:
                kind = "string" if pa.types.is_string(field.type) else "numeric"
            lines.append(f"@attribute {_arff_text(field.name)} {kind}")
        file.write("\n".join([*lines, "", "@data", ""]).encode())

    def write(self, table: Any) -> None:
        columns = [_texts(_whole(column), "?", _arff_text) for column in table.columns]
        self._file.write("".join([",".join(row) + "\n" for row in zip(*columns, strict=True)]).encode())

    def close(self) -> None: ...


def _whole(column: Any) -> Any:
    """Truth values as 0 and 1: ARFF has none, and their names would be text."""
    return column.cast("int8") if arrow().types.is_boolean(column.type) else column


def _arff_text(text: str) -> str:
    r"""Quote a text where ARFF needs it.

    >>> _arff_text("oak"), _arff_text("it's"), _arff_text("?")
    ('oak', "'it\\'s'", "'?'")
    """
    if re.fullmatch(r"[^\s,{}'\"%\\?]+", text):
        return text
    for plain, escaped in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return f"'{text}'"


class _Grouped:
    """Parquet and Arrow files, in groups of rows."""

    def __init__(self, file: IO[bytes], schema: Any, kind: str) -> None:
        self._schema = schema
        if kind == "parquet":
            self._writer = arrow("pyarrow.parquet").ParquetWriter(_python_file(file), schema, compression="zstd")
        else:
            self._writer = arrow("pyarrow.ipc").new_file(_python_file(file), schema)
        self._held: list[Any] = []
        self._rows = 0

    def write(self, table: Any) -> None:
        self._held.append(table)
        self._rows += table.num_rows
        if self._rows >= _GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._held:
            self._writer.write_table(arrow().concat_tables(self._held).combine_chunks())
            self._held, self._rows = [], 0

    def close(self) -> None:
        self._flush()
        self._writer.close()


class _Svmlight:
    """A label and the numbers that are not 0, counted from 1, per row."""

    def __init__(self, file: IO[bytes], path: str | os.PathLike[str]) -> None:
        self._file = file
        self._path = path
        if file_format(path)[0] != "svmlight":
            raise ValueError(f"cannot write {path}: sparse rows go into svmlight files (.svm)")

    def write(self, X: Any, y: Any) -> None:
        from scipy import sparse

        if y.dtype.kind not in "biuf":
            raise ValueError(f"cannot write {self._path}: labels in svmlight files are numbers, got {y.tolist()[0]!r}")
        if not sparse.issparse(X):
            if not isinstance(X, np.ndarray):
                raise ValueError(f"cannot write {self._path}: svmlight files hold numbers alone; take another format")
            X = sparse.csr_matrix(X)
        X = X.tocsr()
        if not np.isfinite(X.data).all():
            raise ValueError(f"cannot write {self._path}: svmlight files have no missing values; take another format")
        columns, values, ends = (X.indices + 1).tolist(), X.data.tolist(), X.indptr.tolist()
        lines = []
        for label, start, stop in zip(y.tolist(), ends[:-1], ends[1:], strict=True):
            pairs = sorted(zip(columns[start:stop], values[start:stop], strict=True))
            lines.append(
                " ".join([repr(int(label) if isinstance(label, bool) else label), *(f"{j}:{v!r}" for j, v in pairs)])
            )
        self._file.write(("\n".join(lines) + "\n").encode())
