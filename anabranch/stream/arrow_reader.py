"""Reads Parquet and Arrow IPC files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from anabranch.stream import _table
from anabranch.stream._arrow import arrow
from anabranch.stream._source import CutOff, ReadOnly, Source
from anabranch.stream._table import Bad, Part, Table

_BATCH_ROWS = 1 << 14


class _BatchReader:
    """Reads record batches as parts of a stream.

    A subclass writes ``_batches(read)``, which hands out record batches.

    Parameters
    ----------
    source : Source
    target : str or None
        Column to predict; None for the last one.
    types : mapping of str to {"number", "text"}
        Columns that are to be taken for something else than the file says.
    block_size : int
        Not used: what is read at a time depends on how the file was written.
    """

    kind: str

    def __init__(self, source: Source, target: str | None, types: Mapping[str, str], block_size: int) -> None:
        self.source = source
        try:
            with self._explained():
                schema = self._schema()
                names = list(schema.names)
        except _Damaged as error:
            raise self._error(str(error)) from error
        twice = _table.duplicate(names)
        if twice is not None:
            raise self._error(f"it has two columns named {twice!r}: each needs a name of its own")
        if not names:
            raise self._error("it has no columns")
        chosen = len(names) - 1 if target is None or target not in names else names.index(target)
        kinds = []
        for j, column in enumerate(schema):
            found = self._kind(column, j == chosen)
            kinds.append(types.get(column.name) or found)
        self.table = Table(names, kinds, chosen)

    def _schema(self) -> Any:
        raise NotImplementedError

    def _batches(self) -> Iterator[Any]:
        raise NotImplementedError

    def _error(self, what: str) -> ValueError:
        return ValueError(f"cannot read {self.source.name}: {what}")

    def _kind(self, column: Any, is_target: bool) -> str:
        pa = arrow()
        is_ = pa.types
        kind = column.type
        if is_.is_dictionary(kind):
            kind = kind.value_type
            if is_.is_integer(kind) and not is_target:
                return "text"  # categories that happen to be numbers
        if is_.is_integer(kind):
            return "whole" if is_target else "number"
        if is_.is_floating(kind) or is_.is_decimal(kind) or is_.is_null(kind):
            return "number"
        if is_.is_boolean(kind):
            return "truth"
        if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_temporal(kind) or is_.is_string_view(kind):
            return "text"
        raise self._error(
            f"the column {column.name!r} holds values of type {column.type}, which are neither numbers nor text: "
            "spread them over columns, or leave the column out"
        )

    def _explained(self) -> _Explained:
        return _Explained(self)

    def parts(self) -> Iterator[Part]:
        """Read the file from its beginning."""
        first = 0
        try:
            with self._explained():
                for batch in self._batches():
                    if batch.num_rows:
                        for start in range(0, batch.num_rows, _BATCH_ROWS):
                            part = batch.slice(start, _BATCH_ROWS)
                            yield self._part(part, first + start)
                    first += batch.num_rows
        except _Damaged as error:
            yield Part(None, np.empty(0), [Bad(0, f"after {first:,} rows: {error}")], fatal=True)

    def _part(self, batch: Any, first: int) -> Part:
        batch.validate(full=True)
        table = self.table
        if batch.schema.names != table.names:
            raise _Damaged("its columns have changed since this stream was made")
        n = batch.num_rows
        wrong: dict[int, str] = {}
        columns: dict[int, Any] = {}
        for j, kind in enumerate(table.kinds):
            columns[j] = self._values(batch.column(j), j, kind, first, wrong)
        X = table.assemble(columns, n)
        y = columns[table.target]
        for row in np.flatnonzero(table.labels(y)[1]).tolist():
            wrong.setdefault(
                row, f"row {first + row:,} (counting from 0): {_table.no_value(table.names[table.target])}"
            )
        return _table.finish(table, X, y, n, wrong)

    def _values(self, column: Any, j: int, kind: str, first: int, wrong: dict[int, str]) -> Any:
        pa = arrow()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if kind == "text":
            if (
                pa.types.is_floating(column.type)
                or pa.types.is_integer(column.type)
                or not pa.types.is_string(column.type)
            ):
                column = column.cast(pa.string())
            return column
        name = self.table.names[j]

        def note(rows: Any, shown: Callable[[int], str], problem: str) -> None:
            for row in np.flatnonzero(rows).tolist():
                where = f"row {first + row:,} (counting from 0)"
                wrong.setdefault(row, _table.holds(where, name, shown(row), problem))

        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):  # text that should be numbers
            listed = [None if text is None else _table.number(text) for text in column.to_pylist()]
            none = column.is_valid().to_numpy(zero_copy_only=False) & np.array([value is None for value in listed])
            note(none, lambda row: column[row].as_py(), str(_table.misfit("number", None)))
            values = np.array([np.nan if value is None else value for value in listed])
        elif pa.types.is_null(column.type):
            values = np.full(len(column), np.nan)
        elif pa.types.is_temporal(column.type):
            raise _Damaged(f"the column {name!r} holds dates or times, which are no numbers: take it as text")
        else:
            values = np.array(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
        note(np.isinf(values), lambda row: str(column[row].as_py()), "which is too large for a number")
        if kind == "whole":
            note(
                np.abs(np.nan_to_num(values)) >= _table.WHOLE,
                lambda row: str(column[row].as_py()),
                "which is too large for a label",
            )
        values[list(wrong)] = np.nan if j != self.table.target else 0.0
        return values


class _Damaged(Exception):  # noqa: N818 - the file is, not the program
    """The file cannot be read from here on."""


class _Explained:
    """Turns what PyArrow says of a file into what a user can act on."""

    def __init__(self, reader: _BatchReader) -> None:
        self._reader = reader

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        pa = arrow()
        if isinstance(error, CutOff):
            raise _Damaged(str(error)) from error
        if isinstance(error, (pa.ArrowException, UnicodeDecodeError, MemoryError)) or (
            isinstance(error, OSError) and error.errno is None
        ):
            said = " ".join(str(error).split())
            said = said if len(said) <= 200 else said[:200] + "..."
            raise _Damaged(f"it is no {self._reader.kind} file, damaged, or cut off ({said})") from error


class ParquetReader(_BatchReader):
    """Reads a Parquet file, a few pages at a time."""

    kind = "Parquet"

    def _file(self) -> Any:
        if not self.source.can_seek or self.source.compressed:
            raise self._error("Parquet needs a file, in which one can go back and forth: save it, uncompressed, first")
        return arrow("pyarrow.parquet").ParquetFile(str(self.source.path), buffer_size=1 << 20, pre_buffer=False)

    def _schema(self) -> Any:
        with self._file() as file:
            if not file.metadata.num_rows:
                raise self._error("it has no rows: a stream needs at least one")
            return file.schema_arrow

    def _batches(self) -> Iterator[Any]:
        with self._file() as file:
            yield from file.iter_batches(batch_size=_BATCH_ROWS, use_threads=False)


class IpcReader(_BatchReader):
    """Reads Arrow's IPC format, in its file form (also known as Feather) or its stream form."""

    kind = "Arrow"

    def _open(self) -> tuple[Any, Any]:
        pa, ipc = arrow(), arrow("pyarrow.ipc")
        head, _ = self.source.peek(8)
        if head.startswith(b"FEA1"):
            raise self._error("it is Feather of the first version: write it again as version 2")
        if head.startswith(b"ARROW1") and self.source.can_seek and not self.source.compressed:
            file = pa.OSFile(str(self.source.path))
            return ipc.open_file(file), file
        if head.startswith(b"ARROW1"):
            raise self._error(
                "it is in the file form, which cannot be read from a pipe or compressed from outside: "
                "use the stream form"
            )
        file = pa.PythonFile(_Readable(self.source), mode="r")
        return ipc.open_stream(file), file

    def _schema(self) -> Any:
        if self.source.path is None:
            self._reader, self._opened = self._open()
            return self._reader.schema
        reader, file = self._open()
        file.close()
        return reader.schema

    def _batches(self) -> Iterator[Any]:
        reader, file = self.__dict__.pop("_reader", None), self.__dict__.pop("_opened", None)
        if reader is None:
            reader, file = self._open()
        try:
            if hasattr(reader, "num_record_batches"):
                for number in range(reader.num_record_batches):
                    yield reader.get_batch(number)
            else:
                yield from reader
        finally:
            file.close()


class _Readable(ReadOnly):
    """A source as PyArrow reads it, which asks for exact numbers of bytes."""

    def __init__(self, source: Source) -> None:
        self._file = source.open()

    def read(self, n: int = -1) -> bytes:
        pieces = []
        while n != 0:
            piece = self._file.read(1 << 16 if n < 0 else min(n, 1 << 20))
            if not piece:
                break
            pieces.append(piece)
            n -= len(piece) if n > 0 else 0
        return b"".join(pieces)

    def close(self) -> None:
        self._file.close()
