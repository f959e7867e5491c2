"""Rows of delimited text, block by block: what CSV and ARFF files have in common."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from anabranch.stream import _table
from anabranch.stream._arrow import arrow
from anabranch.stream._source import Bytes, CutOff, Source, read_fully
from anabranch.stream._table import Bad, Part, Table

LONGEST_ROW = 1 << 24  # bytes; a longer row can only be a quotation mark that is never closed
SPARE = 16  # bytes that kernels may look at beyond the text
_CAPACITY = 1 << 18  # cells that are cut at a time

Bits = npt.NDArray[np.uint8]
Kernel = Callable[[Bits, int, bool], "Cut"]


@dataclass(frozen=True)
class Dialect:
    """How delimited text is written."""

    delimiter: str = ","
    quotes: str = '"'
    escape: str = ""
    comment: str = ""
    arff: bool = False

    @property
    def codes(self) -> npt.NDArray[np.int64]:
        """As the kernels take it."""
        marks = [*self.quotes, "", ""][:2]
        signs = [self.delimiter, *marks, self.escape, self.comment]
        return np.array([ord(sign) if sign else -1 for sign in signs] + [self.arff], np.int64)


class Cut(NamedTuple):
    """What a kernel made of a block; lines count from the block's first."""

    n: int
    troubles: npt.NDArray[np.int64]
    place: int
    lines: int
    cells: Any


class Plain(NamedTuple):
    """Cells of rows that are numbers throughout: features, labels, lines."""

    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    rows: npt.NDArray[np.int64]


class Block(NamedTuple):
    """Rows that are complete, as a kernel cut them, and what could not be cut."""

    data: Bits
    cut: Cut
    line: int  # number of the first line
    lost: str | None = None  # a row that is too long, or why nothing can be read from here on
    fatal: bool = False


def buffer(size: int) -> Bits:
    """Room for text, with what kernels may look at beyond it."""
    return np.zeros(size + SPARE, np.uint8)


def as_buffer(text: bytes) -> Bits:
    """Text as kernels take it."""
    data = buffer(len(text))
    data[: len(text)] = np.frombuffer(text, np.uint8)
    return data


def blocks(source: Source, kernel: Kernel, block_size: int, header: bytes, line: int, quoted: bool) -> Iterator[Block]:
    """Cut what a source holds into rows.

    Parameters
    ----------
    source : Source
    kernel : callable
        Cuts text up to a place, being told whether it is the end of all.
    block_size : int
        Bytes read at a time. More are held only where a row is longer.
    header : bytes
        What stands at the beginning and is no row.
    line : int
        Number of the line after them.
    quoted : bool
        Whether line ends may stand within quotation marks, for messages.
    """
    file = source.open()
    try:
        if read_fully(file, len(header)) != header:
            raise ValueError(f"cannot read {source.name}: its header has changed since this stream was made")
        data = buffer(block_size)
        have = 0
        final = False
        cut_off: CutOff | None = None
        resync = False  # within the rest of a row that was too long
        while True:
            if not final:
                if have == len(data) - SPARE:  # a row that fills all there is
                    bigger = buffer(2 * (len(data) - SPARE))
                    bigger[:have] = data[:have]
                    data = bigger
                have, final, cut_off = _fill(file, data, have, wait=not source.can_block)
            if resync:
                at = _line_end(data, have)
                resync = at < 0
                line += at >= 0
                rest = have - at if at >= 0 else 0
                data[:rest] = data[have - rest : have]
                have = rest
            # What is still being written, or was cut off, is no last line.
            whole = final and cut_off is None and not source.follow
            cut = kernel(data, have, whole)
            while cut.n or len(cut.troubles) or cut.place:
                yield Block(data, cut, line)
                line += cut.lines
                rest = have - cut.place
                data[:rest] = data[cut.place : have]
                have = rest
                if not have:
                    break
                cut = kernel(data, have, whole)
            if final:
                if cut_off is not None:
                    yield Block(data, cut, line, f"line {line:,}: {cut_off}", fatal=True)
                return
            if not resync and have >= max(block_size, LONGEST_ROW):
                hint = "look for a quotation mark that is never closed, or pass a larger block_size"
                hint = hint if quoted else "is this a text file? If it is, pass a larger block_size"
                yield Block(data, cut, line, f"line {line:,}: a row is longer than {have:,} bytes: {hint}")
                resync = True
    finally:
        file.close()


def _fill(file: Bytes, data: Bits, have: int, wait: bool) -> tuple[int, bool, CutOff | None]:
    """Read on; to the full, if nobody else has to be waited for.

    Returns the bytes there are, whether that was the end, and whether it came before its time.
    """
    room = len(data) - SPARE
    while have < room:
        try:
            piece = file.read(room - have)
        except CutOff as error:
            return have, True, error
        if not piece:
            return have, True, None
        data[have : have + len(piece)] = np.frombuffer(piece, np.uint8)
        have += len(piece)
        if not wait:
            break
    return have, False, None


def _line_end(data: Bits, have: int) -> int:
    """The place after the first line end, or -1."""
    ends = np.flatnonzero((data[:have] == 10) | (data[:have] == 13))
    return int(ends[0]) + 1 if len(ends) else -1


class Cells:
    """Cuts text into cells and reads them, with arrays that are made once.

    Parameters
    ----------
    n_columns : int
    dialect : Dialect
    table : Table, optional
        What the columns hold: where all are numbers, rows without peculiarities are read in one go.
    """

    def __init__(self, n_columns: int, dialect: Dialect, table: Table | None = None) -> None:
        self.n_columns = n_columns
        self.dialect = dialect
        self._table = table
        numeric = table is not None and all(kind in ("number", "whole") for kind in table.kinds)
        self._plain = numeric and n_columns > 1 and dialect.delimiter not in "+-.0123456789eE"
        self._codes = dialect.codes
        capacity = max(1, _CAPACITY // n_columns)
        self._starts = np.empty((capacity, n_columns), np.int32)
        self._ends = np.empty((capacity, n_columns), np.int32)
        self._kinds = np.empty((capacity, n_columns), np.uint8)
        self._rows = np.empty((capacity, 4), np.int64)
        self._troubles = np.empty((256, 6), np.int64)

    def _split(self, data: Bits, have: int, final: bool, most: int | None) -> tuple[int, int, int, int]:
        """Find the cells of as many rows as there is room for, and no more than `most`."""
        from anabranch.kernels import text

        data[have : have + SPARE] = 0
        room = (self._starts, self._ends, self._kinds, self._rows, self._troubles)
        found: tuple[int, int, int, int] = text.split(
            data, 0, have, final, self.n_columns, self._codes, *(array[:most] for array in room)
        )
        return found

    def cut(self, data: Bits, have: int, final: bool) -> Cut:
        """Cut a block; the cells are good until the next call."""
        if self._plain and (cut := self._numbers_alone(data, have)) is not None:
            return cut
        n, n_troubles, place, lines = self._split(data, have, final, None)
        cells = (self._starts[:n], self._ends[:n], self._kinds[:n], self._rows[:n])
        return Cut(n, self._troubles[:n_troubles], place, lines, cells)

    def _numbers_alone(self, data: Bits, have: int) -> Cut | None:
        """Read rows up to the first one that is not as plain as can be; None if there is nothing before it."""
        from anabranch.kernels import text

        assert self._table is not None
        data[have : have + SPARE] = 0
        capacity = have // (2 * self.n_columns) + 1
        X, y = np.empty((capacity, self.n_columns - 1)), np.empty(capacity)
        rows = np.empty(capacity, np.int64)
        n, place, lines = text.plain(
            data, 0, have, self._codes, self._table.target, text.POWERS, X.view(np.uint64), y.view(np.uint64), rows
        )
        labels = y[:n]
        fits = ~np.isnan(labels)
        if self._table.kinds[self._table.target] == "whole":
            fits &= (np.abs(labels) < _table.WHOLE) & (labels == np.floor(labels))
            if self._table.classes is not None:
                fits &= np.isin(labels, self._table.classes)
        if not n or not fits.all():
            return None
        return Cut(n, self._troubles[:0], place, lines, Plain(X[:n], labels, rows[:n]))

    def first(self, data: Bits, have: int, final: bool) -> tuple[list[bytes], int, int, int] | None:
        """The cells of the first row, whatever their number; its line (from 0), where it ends, the lines until there.

        None if no row is complete.
        """
        from anabranch.kernels import text

        n, n_troubles, place, lines = self._split(data, have, final, 1)
        if not n + n_troubles:
            return None
        trouble = self._troubles[0]
        count = self.n_columns if n else int(trouble[4])
        if n_troubles and trouble[0] != text.COUNT:
            count = 0
        cells = [
            bytes(data[self._starts[0, j] : self._ends[0, j]]).replace(b'""', b'"')
            if self._kinds[0, j] == text.ESCAPED
            else bytes(data[self._starts[0, j] : self._ends[0, j]])
            for j in range(min(count, self.n_columns))
        ]
        return cells, int(self._rows[0, 0] if n else trouble[1]), place, lines

    def numbers(
        self, data: Bits, cut: Cut, columns: Sequence[int], kinds: Sequence[str]
    ) -> tuple[npt.NDArray[np.float64], list[tuple[int, int, str, str]]]:
        """Columns as numbers, and the cells that are none: row, column, text, what is wrong with it."""
        from anabranch.kernels import text

        starts, ends, _, _ = cut.cells
        values = np.empty((cut.n, len(columns)))
        clear = np.empty((cut.n, len(columns)), np.uint8)
        missing = 1 if self.dialect.arff else 0
        signs = ("?",) if self.dialect.arff else _table.MISSING
        wrong: list[tuple[int, int, str, str]] = []
        unclear = text.numbers(
            data, starts, ends, np.asarray(columns, np.int64), missing, text.POWERS, values.view(np.uint64), clear
        )
        if unclear:
            for row, k in np.argwhere(clear).tolist():
                j = columns[k]
                shown = bytes(data[starts[row, j] : ends[row, j]]).decode("utf-8", "replace")
                value = _table.truth(shown) if kinds[k] == "truth" else _table.number(shown, signs)
                problem = _table.misfit(kinds[k], value)
                values[row, k] = np.nan if value is None else value
                if problem is not None:
                    wrong.append((row, j, shown, problem))
        for k, kind in enumerate(kinds):
            if kind in ("whole", "truth"):
                column = values[:, k]
                fits = np.isnan(column) | ((np.abs(column) < _table.WHOLE) & (column == np.floor(column)))
                if kind == "truth":
                    fits &= np.isnan(column) | (column == 0.0) | (column == 1.0)
                for row in np.flatnonzero(~fits).tolist():
                    j = columns[k]
                    shown = bytes(data[starts[row, j] : ends[row, j]]).decode("utf-8", "replace")
                    problem = _table.misfit(kind, None if kind == "truth" else float(column[row]))
                    wrong.append((row, j, shown, problem or "which does not fit"))
                    column[row] = np.nan
        return values, wrong

    def text(self, data: Bits, cut: Cut, column: int) -> Any:
        """A column as a PyArrow array of strings; bytes that are no UTF-8 have to be looked for before it is used."""
        from anabranch.kernels import text

        pa = arrow()
        starts, ends, kinds, _ = cut.cells
        room = int((ends[:, column].astype(np.int64) - starts[:, column]).sum())
        out = np.empty(room, np.uint8)
        offsets = np.empty(cut.n + 1, np.int32)
        there = np.empty(cut.n, np.uint8)
        escape = ord(self.dialect.escape) if self.dialect.escape else -1
        missing = 1 if self.dialect.arff else 0
        used = text.texts(data, starts, ends, kinds, column, escape, missing, out, offsets, there)
        bitmap = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
        return pa.StringArray.from_buffers(cut.n, pa.py_buffer(offsets), pa.py_buffer(out[:used]), bitmap)


class CellReader:
    """Reads delimited text below its header as parts of a stream.

    A subclass sets the attributes, and may look at the cells of text columns as well (`_check_values`).
    """

    source: Source
    table: Table
    dialect: Dialect
    block_size: int
    _header_bytes: bytes  # as they were when types were settled
    _line: int  # the one after the header

    def parts(self) -> Iterator[Part]:
        """Read the file from its beginning."""
        cells = Cells(len(self.table.names), self.dialect, self.table)
        for block in blocks(self.source, cells.cut, self.block_size, self._header_bytes, self._line, quoted=True):
            if block.lost is not None:
                yield Part(None, np.empty(0), [Bad(0, block.lost)], block.fatal)
            else:
                yield self.read(cells, block)

    def read(self, cells: Cells, block: Block) -> Part:
        """Turn a block's cells into a part of the stream."""
        data, cut, line, _, _ = block
        table = self.table
        if isinstance(cut.cells, Plain):
            return Part(cut.cells.X, table.labels(cut.cells.y)[0])
        wrong: dict[int, str] = {}
        rows = cut.cells[3]
        try:
            codecs.utf_8_decode(data.data[: cut.place], "strict", True)
        except UnicodeDecodeError:
            self._check_utf8(data, block, wrong)
        numeric = [j for j in table.features if table.kinds[j] != "text"]
        values, misfits = cells.numbers(data, cut, numeric, [table.kinds[j] for j in numeric])
        columns: dict[int, Any] = {}
        target = table.target
        if table.kinds[target] == "text":
            y = cells.text(data, cut, target)
        else:
            y, more = cells.numbers(data, cut, [target], [table.kinds[target]])
            y = y[:, 0]
            misfits += more
        for row, j, shown, problem in sorted(misfits):
            what = _table.holds(f"line {line + rows[row, 0]:,}", table.names[j], shown, problem)
            wrong.setdefault(row, what)
        texts = {j: cells.text(data, cut, j) for j in table.features if table.kinds[j] == "text"}
        if wrong:  # before text is looked at: it may be no UTF-8
            y, texts = self._blanked(y, texts, wrong)
        X: Any
        if table.as_arrays:
            X = values
        else:
            columns = {j: values[:, k] for k, j in enumerate(numeric)}
            columns.update(texts)
            X = table.assemble(columns, cut.n)
        self._check_values({**texts, target: y}, block, wrong)
        others = [(int(t[5]), self._trouble(t, line, data)) for t in cut.troubles]
        missing_text = f"line {{}}: {_table.no_value(table.names[target])}"
        _, missing = table.labels(y)
        for row in np.flatnonzero(missing).tolist():
            wrong.setdefault(row, missing_text.format(f"{line + rows[row, 0]:,}"))
        return _table.finish(table, X, y, cut.n, wrong, others)

    def _blanked(self, y: Any, texts: dict[int, Any], wrong: Mapping[int, str]) -> tuple[Any, dict[int, Any]]:
        """Text columns with nothing in the rows that are wrong."""
        pa = arrow()
        compute = arrow("pyarrow.compute")
        good = np.ones(len(y), np.bool_)
        good[list(wrong)] = False
        mask = pa.array(good)
        nothing = pa.scalar(None, pa.string())
        texts = {j: compute.if_else(mask, column, nothing) for j, column in texts.items()}
        return (compute.if_else(mask, y, nothing) if not isinstance(y, np.ndarray) else y), texts

    def _check_values(self, columns: Mapping[int, Any], block: Block, wrong: dict[int, str]) -> None:
        """Add rows whose text, or whose label, does not fit."""

    def _check_utf8(self, data: Bits, block: Block, wrong: dict[int, str]) -> None:
        starts, ends, _, rows = block.cut.cells
        for row in range(block.cut.n):
            try:
                bytes(data[rows[row, 1] : rows[row, 2]]).decode()
            except UnicodeDecodeError:
                for j, name in enumerate(self.table.names):
                    try:
                        bytes(data[starts[row, j] : ends[row, j]]).decode()
                    except UnicodeDecodeError:
                        where = f"line {block.line + rows[row, 0]:,}, column {name!r}"
                        break
                else:
                    where = f"line {block.line + rows[row, 0]:,}"
                wrong[row] = f"{where} is not UTF-8 text: convert the file to UTF-8"

    def _trouble(self, trouble: npt.NDArray[np.int64], line: int, data: Bits) -> str:
        from anabranch.kernels import text

        where = f"line {line + trouble[1]:,}"
        if trouble[0] == text.STRAY:
            return f"{where} has something after a closing quotation mark: a quotation mark within a value is doubled"
        if trouble[0] == text.OPEN:
            return f"{where}: it ends within quotation marks: the file is cut off or a quotation mark is never closed"
        n, columns = int(trouble[4]), len(self.table.names)
        return (
            f"{where} has {n} value{'s' * (n != 1)}, the header {columns}: "
            "correct or remove the line (if it is the last one, the file may be cut off)"
        )
