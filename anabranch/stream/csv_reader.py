"""Reads CSV files batch by batch."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from anabranch.stream._arrow import arrow

# What counts as missing, in numeric and in text columns.
_MISSING = ["", "?", "NA", "nan", "NaN"]


class CsvReader:
    """Reads one CSV file as record batches, in memory that does not grow with the file.

    Types are settled from the first block of the file; see `FileStream` for what they are.

    Parameters
    ----------
    path : Path
        The file, which is there and is not empty.
    target : str or None
        Column that keeps whole numbers as such; None for the last one.
    types : mapping of str to {"number", "text"}
        Columns whose type is not left to be found out.
    delimiter : str
        What separates the columns.
    block_size : int
        Bytes read at a time.

    Attributes
    ----------
    schema : pyarrow.Schema
        Names and types: float64, bool or string; the target may also be int64.
    """

    def __init__(
        self, path: Path, target: str | None, types: Mapping[str, str], delimiter: str, block_size: int
    ) -> None:
        pa = arrow()
        self.path = path
        self.delimiter = delimiter
        self.block_size = block_size
        self.schema = pa.schema([])
        # Opening reads the first block alone. A first batch would cost the blocks Arrow reads ahead, and is
        # needed only to tell a file without rows from one whose first values are all missing.
        found = self._open({}, use_threads=False)
        names = found.schema.names
        self._check_header(names)
        if all(pa.types.is_null(field.type) for field in found.schema) and self._next(found, 0) is None:
            raise self._error("it has a header but no rows: a stream needs at least one")
        target = names[-1] if target is None else target
        settled = []
        for field in found.schema:
            kind = types.get(field.name)
            if kind is None and pa.types.is_binary(field.type):
                raise self._error("it is not UTF-8 text")
            if kind == "number":
                type_ = pa.float64()
            elif kind == "text":
                type_ = pa.string()
            elif pa.types.is_integer(field.type):
                type_ = pa.int64() if field.name == target else pa.float64()
            elif pa.types.is_floating(field.type) or pa.types.is_null(field.type):
                type_ = pa.float64()
            elif pa.types.is_boolean(field.type):
                type_ = pa.bool_()
            else:
                type_ = pa.string()  # Dates and times stay as they are written.
            settled.append(pa.field(field.name, type_))
        self.schema = pa.schema(settled)

    def batches(self) -> Iterator[Any]:
        """Read the file from its beginning, as ``pyarrow.RecordBatch``.

        Raises
        ------
        ValueError
            If a row does not fit, naming its line and, where there is one, the column.
        """
        reader = self._open({field.name: field.type for field in self.schema})
        if reader.schema.names != self.schema.names:
            raise self._error("its header has changed since this stream was made")
        n_rows = 0
        last = None
        while (batch := self._next(reader, n_rows)) is not None:
            n_rows += batch.num_rows
            if batch.num_rows:
                last = batch
                yield batch
        if last is not None:
            self._check_end(last.column(last.num_columns - 1)[-1].as_py())

    def _open(self, column_types: dict[str, Any], use_threads: bool = True) -> Any:
        arrow_csv = arrow("pyarrow.csv")
        try:
            return arrow_csv.open_csv(
                self.path,
                read_options=arrow_csv.ReadOptions(block_size=self.block_size, use_threads=use_threads),
                # Without newlines_in_values, a quoted line break at a block's end would break the row.
                parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=column_types, null_values=_MISSING, strings_can_be_null=True
                ),
            )
        except arrow().ArrowInvalid as error:
            raise self._explained(error, 0) from error

    def _next(self, reader: Any, n_rows: int) -> Any:
        try:
            return reader.read_next_batch()
        except StopIteration:
            return None
        except arrow().ArrowInvalid as error:
            raise self._explained(error, n_rows) from error

    def _check_header(self, names: list[str]) -> None:
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise self._error(
                f"its first line holds {twice!r} twice: the file needs a header line, "
                "with a name of its own for every column"
            )
        # Whole numbers may be names, as tables without column names are written; others are data.
        if all(_is_number(name) for name in names) and not all(name.strip().isdigit() for name in names):
            raise self._error("its first line holds numbers: the file needs a header line with column names")

    def _error(self, what: str) -> ValueError:
        return ValueError(f"cannot read {self.path}: {what}")

    def _explained(self, error: Exception, n_rows: int) -> ValueError:
        """Return an error that says where the trouble lies.

        Arrow reads blocks in parallel and does not know the line, so the file is gone through once more,
        slowly, converting from row `n_rows` on.
        """
        try:
            with self.path.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
                trouble = self._first_trouble(file, n_rows)
        except csv.Error:
            trouble = None
        if trouble is not None:
            return self._error(trouble)
        if "straddling" in str(error):
            return self._error(
                f"a row is longer than {self.block_size} bytes: "
                "look for a quotation mark that is never closed, or pass a larger block_size"
            )
        return self._error(f"{error}")

    def _first_trouble(self, file: Any, n_rows: int) -> str | None:
        rows = csv.reader(file, delimiter=self.delimiter)
        names: list[str] | None = None
        row_number = 0
        line = 1
        for values in rows:
            where = f"line {line}"
            line = rows.line_num + 1
            if not values:
                continue
            if names is None:
                names = values
                continue
            row_number += 1
            if len(values) != len(names):
                return (
                    f"{where} has {len(values)} value{'s' * (len(values) != 1)}, the header {len(names)}: "
                    "correct or remove the line (if it is the last one, the file may be cut off)"
                )
            if row_number <= n_rows:
                continue
            for j, (name, value) in enumerate(zip(names, values, strict=True)):
                if not value.isascii() and any("\udc80" <= character <= "\udcff" for character in value):
                    return f"{where}, column {name!r} is not UTF-8 text: convert the file to UTF-8"
                problem = self._misfit(j, value)
                if problem is not None:
                    shown = value if len(value) <= 40 else value[:40] + "..."
                    return (
                        f"{where}, column {name!r} holds {shown!r}, {problem}: correct the value, "
                        f"or name the column's type with types={{{name!r}: ...}}"
                    )
        if names is None:
            return "it has no lines: a header line and rows are needed"
        if row_number == 0:
            return "it has a header but no rows: a stream needs at least one"
        return None

    def _misfit(self, j: int, value: str) -> str | None:
        """Say why a value does not fit the type its column was given, if it does not."""
        if j >= len(self.schema) or value in _MISSING:
            return None
        kind = str(self.schema.field(j).type)
        if kind == "double" and not _is_number(value):
            return "which is no number as the column has to hold"
        if kind == "int64" and not _is_whole(value):
            return "which is no whole number as those before it"
        if kind == "bool" and value.strip().lower() not in ("true", "false", "0", "1"):
            return "which is neither true nor false as those before it"
        return None

    def _check_end(self, last: Any) -> None:
        """Refuse a file that ends within quotation marks, which Arrow takes for a last value."""
        ending = self._ending(64)
        if isinstance(last, str) and last:
            # Here the quotation mark that was opened is followed by the value and by nothing else.
            opened = b'"' + last.replace('"', '""').encode()
            cut_off = self._ending(len(opened)) == opened
        else:
            field = ending.rstrip(b"\r\n").replace(b"\n", self.delimiter.encode())
            field = field.rpartition(self.delimiter.encode())[2]
            cut_off = field.startswith(b'"') and (len(field) == 1 or not field.endswith(b'"'))
        if cut_off:
            raise self._error("it ends within quotation marks: the file is cut off or a quotation mark is never closed")

    def _ending(self, length: int) -> bytes:
        with self.path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - length))
            return file.read()


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    # Python lets digits be grouped by underscores, Arrow does not.
    return "_" not in value


def _is_whole(value: str) -> bool:
    try:
        number = int(value)
    except ValueError:
        return False
    limits = np.iinfo(np.int64)
    return "_" not in value and limits.min <= number <= limits.max
