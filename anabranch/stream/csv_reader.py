"""Reads CSV and TSV files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from anabranch.stream import _table
from anabranch.stream._cells import LONGEST_ROW, Bits, CellReader, Cells, Cut, Dialect, as_buffer
from anabranch.stream._source import CutOff, Source
from anabranch.stream._table import Table

_DELIMITERS = ",;\t|"
_MOST_COLUMNS = 1 << 18
_LOOKED_AT = 2000  # values of a column that are no plain numbers, to tell what it is


class CsvReader(CellReader):
    """Reads a CSV file as parts of a stream, in memory that does not grow with the file.

    Types are settled from the first block of the file; see `FileStream` for what they are.

    Parameters
    ----------
    source : Source
        What to read.
    target : str or None
        Column to predict; None for the last one.
    types : mapping of str to {"number", "text"}
        Columns whose type is not left to be found out.
    delimiter : str or None
        What separates the columns; None to find out, if it is no comma.
    block_size : int
        Bytes read at a time.
    usual : str
        The delimiter that is tried first.
    """

    def __init__(
        self,
        source: Source,
        target: str | None,
        types: Mapping[str, str],
        delimiter: str | None,
        block_size: int,
        usual: str = ",",
    ) -> None:
        self.source = source
        self.block_size = block_size
        size = block_size
        while True:
            try:
                head, whole = source.peek(size)
            except CutOff as error:
                raise self._error(str(error)) from error
            refuse_binary(source.name, head)
            skip = 3 if head.startswith(b"\xef\xbb\xbf") else 0
            data, have = as_buffer(head[skip:]), len(head) - skip
            found = self._header(data, have, whole, delimiter, usual)
            if found is not None:
                names, place, lines = found
                cells = Cells(len(names), self.dialect)
                cut = cells.cut(data[place:].copy(), have - place, whole and not source.follow)
                if cut.n or len(cut.troubles):
                    break
            if whole:
                if found is None:
                    raise self._error("it has no lines: a header line and rows are needed")
                raise self._error("it has a header but no rows: a stream needs at least one")
            if size >= max(block_size, LONGEST_ROW):
                raise self._error(
                    f"its first rows are longer than {size:,} bytes: look for a quotation mark that is never closed"
                )
            size *= 2
        self._header_bytes = head[: skip + place]
        self._line = 1 + lines
        chosen = len(names) - 1 if target is None or target not in names else names.index(target)
        self.table = Table(names, ["number"] * len(names), chosen)
        self.table.kinds = self._kinds(cells, data[place:].copy(), cut, types)

    def _error(self, what: str) -> ValueError:
        return ValueError(f"cannot read {self.source.name}: {what}")

    def _header(
        self, data: Bits, have: int, whole: bool, delimiter: str | None, usual: str
    ) -> tuple[list[str], int, int] | None:
        """The names of the columns, where they end, the lines until there; sets the dialect."""
        width = min(_MOST_COLUMNS, have + 1)
        tried = usual if delimiter is None else delimiter

        def first(delimiter: str) -> Any:
            return Cells(width, Dialect(delimiter)).first(data, have, whole)

        found = first(tried)
        if found is None:
            return None
        if len(found[0]) == 0:
            raise self._error(f"line {1 + found[1]}: the header has a quotation mark that is out of place")
        if len(found[0]) == 1:
            by_count = {other: len(first(other)[0]) for other in _DELIMITERS if other != tried}
            other = max(by_count, key=by_count.__getitem__)
            if by_count[other] > 1:
                if delimiter is not None:
                    raise self._error(
                        f"it has one column when cut at {delimiter!r}, but {by_count[other]} when cut at {other!r}: "
                        f"give delimiter={other!r}"
                    )
                tried, found = other, first(other)
        self.dialect = Dialect(tried)
        cells, line, place, lines = found
        try:
            names = [cell.decode() for cell in cells]
        except UnicodeDecodeError as error:
            raise self._error("it is not UTF-8 text: convert the file to UTF-8") from error
        self._check_header(names, 1 + line)
        return names, place, lines

    def _check_header(self, names: list[str], line: int) -> None:
        if len(names) > 1 and _looks_like_data(names):
            raise self._error(
                f"line {line} holds numbers where the names of the columns should be: the file needs a header line"
            )
        twice = _table.duplicate(names)
        if twice is not None:
            raise self._error(
                f"its first line holds {twice!r} twice: the file needs a header line, "
                "with a name of its own for every column"
            )

    def _kinds(self, cells: Cells, data: Bits, cut: Cut, types: Mapping[str, str]) -> list[str]:
        """What each column holds, as far as the first block tells."""
        names = self.table.names
        kinds = []
        open_columns = [j for j, name in enumerate(names) if name not in types]
        found = dict(zip(open_columns, self._found(cells, data, cut, open_columns), strict=True))
        for j, name in enumerate(names):
            kinds.append(types.get(name) or found[j])
        return kinds

    def _found(self, cells: Cells, data: Bits, cut: Cut, columns: list[int]) -> list[str]:
        from anabranch.kernels import text

        starts, ends, _, _ = cut.cells
        values = np.empty((cut.n, len(columns)))
        clear = np.empty((cut.n, len(columns)), np.uint8)
        text.numbers(data, starts, ends, np.asarray(columns, np.int64), 0, text.POWERS, values.view(np.uint64), clear)
        return [self._kind(cells, data, cut, j, values[:, k], clear[:, k] == text.CLEAR) for k, j in enumerate(columns)]

    def _kind(self, cells: Cells, data: Bits, cut: Cut, j: int, values: Any, clear: Any) -> str:
        starts, ends, _, _ = cut.cells

        def cell(row: int) -> str:
            return bytes(data[starts[row, j] : ends[row, j]]).decode("utf-8", "replace")

        unclear = np.flatnonzero(~clear)
        sample = [cell(row) for row in unclear[:_LOOKED_AT].tolist()]
        none = sum(_table.number(value) is None for value in sample)
        share = none / len(sample) if sample else 0.0
        n_numbers = int((clear & ~np.isnan(values)).sum()) + len(unclear) * (1 - share)
        if none:
            # A few others are taken for mistakes, which are reported where they stand.
            n_texts = len(unclear) * share
            most = (1 - _table.FEW) * (n_texts + n_numbers)
            truths = sum(value.strip().lower() in ("true", "false") for value in sample)
            if truths / len(sample) * len(unclear) >= most:
                return "truth"
            return "number" if n_numbers >= most else "text"
        there = values[clear & ~np.isnan(values)]
        if j == self.table.target and len(there) and not len(unclear) and (there == np.floor(there)).all():
            written = bytes(cells.text(data, cut, j).buffers()[2])
            if not any(sign in written for sign in b".eE"):
                return "whole" if np.abs(there).max() < _table.WHOLE else "number"
        return "number"


def _looks_like_data(names: list[str]) -> bool:
    """Whether a first line is no header; whole numbers may be names, as tables without names are written."""
    found = [_table.number(name) for name in names]
    numbers = [name for name, value in zip(names, found, strict=True) if value is not None and value == value]
    return 2 * len(numbers) >= len(names) and not all(name.strip().isdigit() for name in numbers)


def refuse_binary(name: str, head: bytes) -> None:
    """Raise a ValueError if a file is no text in UTF-8 or ASCII."""
    for mark, kind in ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16")):
        if head.startswith(mark):
            raise ValueError(f"cannot read {name}: it is {kind} text: convert the file to UTF-8")
    if b"\0" in head:
        even, odd = head[:1000:2].count(b"\0"), head[1:1000:2].count(b"\0")
        if max(even, odd) > len(head[:1000]) // 4 and min(even, odd) == 0:
            raise ValueError(f"cannot read {name}: it looks like UTF-16 text: convert the file to UTF-8")
        raise ValueError(f"cannot read {name}: it is not text (it holds NUL bytes): is this the right format?")
