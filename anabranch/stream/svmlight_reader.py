"""Reads svmlight files: a label per line, then the entries that are not zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from anabranch.stream import _table
from anabranch.stream._cells import LONGEST_ROW, SPARE, Bits, Block, Cut, as_buffer, blocks
from anabranch.stream._source import CutOff, Source
from anabranch.stream._table import Bad, Part, Table
from anabranch.stream.csv_reader import refuse_binary

_ROWS = 1 << 16


class SvmlightReader:
    """Reads an svmlight file as parts of a stream; X is a CSR array.

    Indices begin with 1, as the format has it; a file in which an index 0 comes up is taken to begin with 0.

    Parameters
    ----------
    source : Source
    block_size : int
        Bytes read at a time.
    n_features : int or None
        Number of columns. None to go through a plain file once and take the highest index; of anything else, the
        first block's.
    """

    def __init__(self, source: Source, block_size: int, n_features: int | None) -> None:
        self.source = source
        self.block_size = block_size
        try:
            first = self._first()
            highest, lowest, whole = self._measured([first])
            if n_features is None and source.can_seek:
                found = blocks(source, _Pairs().cut, block_size, b"", 1, quoted=False)
                highest, lowest, whole = self._measured(block.cut for block in found if block.lost is None)
        except CutOff as error:
            raise ValueError(f"cannot read {source.name}: {error}") from error
        self._from = 0 if lowest == 0 else 1
        self._told = n_features is not None or source.can_seek
        self.n_features = max(1, highest + 1 - self._from) if n_features is None else n_features
        self.table = Table(["y"], ["whole" if whole else "number"], 0)

    def _first(self) -> Cut:
        size = self.block_size
        while True:
            head, whole = self.source.peek(size)
            refuse_binary(self.source.name, head)
            cut = _Pairs().cut(as_buffer(head), len(head), whole and not self.source.follow)
            if cut.n:
                return cut
            if len(cut.troubles):
                what = self._trouble(cut.troubles[0], 1, as_buffer(head))
                raise ValueError(f"cannot read {self.source.name}: {what}")
            if whole or size >= max(self.block_size, LONGEST_ROW):
                raise ValueError(f"cannot read {self.source.name}: it has no rows: a stream needs at least one")
            size *= 2

    @staticmethod
    def _measured(cuts: Any) -> tuple[int, int, bool]:
        """The highest and the lowest index, and whether all labels are whole numbers."""
        highest, lowest, whole = -1, 1, True
        for cut in cuts:
            labels, pointers, indices, _, _ = cut.cells
            if pointers[-1]:
                highest, lowest = max(highest, int(indices.max())), min(lowest, int(indices.min()))
            whole = whole and bool(((np.abs(labels) < _table.WHOLE) & (labels == np.floor(labels))).all())
        return highest, lowest, whole

    def parts(self) -> Iterator[Part]:
        """Read the file from its beginning."""
        # Arrays of its own for each pass: one that was given up may still be reading ahead.
        for block in blocks(self.source, _Pairs().cut, self.block_size, b"", 1, quoted=False):
            if block.lost is not None:
                yield Part(None, np.empty(0), [Bad(0, block.lost)], block.fatal)
            else:
                yield self._part(block)

    def _part(self, block: Block) -> Part:
        from scipy import sparse

        data, cut, line, _, _ = block
        labels, pointers, indices, values, rows = cut.cells
        wrong: dict[int, str] = {}
        n = cut.n
        indices = indices - self._from
        for entry in np.flatnonzero((indices < 0) | (indices >= self.n_features)).tolist():
            row = int(np.searchsorted(pointers, entry, side="right")) - 1
            why = "give n_features" if not self._told else "correct the line, or give a larger n_features"
            if indices[entry] < 0:
                why = "indices begin with 1 as far as was seen beforehand: correct the line"
            where, index = f"line {line + rows[row, 0]:,}", indices[entry] + self._from
            wrong.setdefault(row, f"{where} has the index {index}, but there are {self.n_features} columns: {why}")
        if self.table.kinds[0] == "whole":
            fits = (np.abs(labels) < _table.WHOLE) & (labels == np.floor(labels))
            for row in np.flatnonzero(~fits).tolist():
                what = _table.misfit("whole", float(labels[row]))
                wrong.setdefault(row, f"line {line + rows[row, 0]:,} has the label {labels[row]:g}, {what}")
        keep = np.ones(n, np.bool_)
        keep[list(wrong)] = False
        if wrong:
            entries = np.repeat(keep, np.diff(pointers))
            lengths = np.diff(pointers)[keep]
            indices, values, labels = indices[entries], values[entries], labels[keep]
            pointers = np.concatenate([[0], np.cumsum(lengths)])
        small = np.int32 if self.n_features < 2**31 else np.int64
        X = sparse.csr_array(
            (values, indices.astype(small), pointers.astype(small)), shape=(len(labels), self.n_features)
        )
        y = labels.astype(np.int64) if self.table.kinds[0] == "whole" else labels
        before = np.concatenate([[0], np.cumsum(keep)])
        listed = [(row, 1, what) for row, what in wrong.items()]
        listed += [(int(t[5]), 0, self._trouble(t, line, data)) for t in cut.troubles]
        listed.sort(key=lambda entry: entry[:2])
        return Part(X, y, [Bad(int(before[row]), what) for row, _, what in listed])

    @staticmethod
    def _trouble(trouble: npt.NDArray[np.int64], line: int, data: Bits) -> str:
        token = bytes(data[trouble[4] : trouble[3]]).split()[0][:40].decode("utf-8", "replace")
        first = not bytes(data[trouble[2] : trouble[4]]).strip()
        needed = "a number as label" if first else "index:value, indices ascending"
        return f"line {line + trouble[1]:,} has {token!r} where {needed} should be: correct or remove the line"


def _by_hand(text: bytes) -> tuple[float, list[int], list[float]] | None:
    """Read a line that the kernel was not sure of; None if it is wrong indeed."""
    tokens = text.partition(b"#")[0].split()
    label = _finite(tokens[0])
    indices: list[int] = []
    values: list[float] = []
    for place, token in enumerate(tokens[1:]):
        index, colon, number = token.partition(b":")
        value = _finite(number)
        if place == 0 and index == b"qid":
            continue
        if not colon or not index.isdigit() or value is None or len(index) > 10:
            return None
        if indices and int(index) <= indices[-1]:
            return None
        indices.append(int(index))
        values.append(value)
    return None if label is None else (label, indices, values)


def _finite(text: bytes) -> float | None:
    value = _table.number(text.decode("ascii", "replace"))
    return value if value is not None and abs(value) < np.inf else None  # NaN compares as false


class _Pairs:
    """Cuts svmlight text, with arrays that are made once."""

    def __init__(self) -> None:
        self._size = 0

    def _make_room(self, n: int) -> None:
        if n > self._size:
            self._size = n
            self._indices = np.empty(n // 2 + 2, np.int64)
            self._values = np.empty(n // 2 + 2, np.uint64)
            self._labels = np.empty(_ROWS, np.uint64)
            self._pointers = np.empty(_ROWS + 1, np.int64)
            self._rows = np.empty((_ROWS, 4), np.int64)
            self._troubles = np.empty((256, 6), np.int64)

    def cut(self, data: Bits, have: int, final: bool) -> Cut:
        """Cut a block; what comes out is good as it is, the places of rows until the next call."""
        from anabranch.kernels import text

        self._make_room(len(data))
        data[have : have + SPARE] = 0
        n, n_troubles, place, lines = text.pairs(
            data,
            0,
            have,
            final,
            text.POWERS,
            self._labels,
            self._pointers,
            self._indices,
            self._values,
            self._rows,
            self._troubles,
        )
        used = int(self._pointers[n])
        labels, pointers = self._labels[:n].copy().view(np.float64), self._pointers[: n + 1].copy()
        indices, values = self._indices[:used].copy(), self._values[:used].copy().view(np.float64)
        rows = self._rows[:n]
        wrong: list[npt.NDArray[np.int64]] = []
        for number, trouble in enumerate(self._troubles[:n_troubles]):
            row = int(trouble[5]) + number - len(wrong)  # good rows before it, with those mended here
            entries = _by_hand(bytes(data[trouble[2] : trouble[3]]))
            if entries is None:
                trouble[5] = row
                wrong.append(trouble)
                continue
            at = pointers[row]
            labels, rows = np.insert(labels, row, entries[0]), np.insert(rows, row, [*trouble[1:4], -1], axis=0)
            indices, values = np.insert(indices, at, entries[1]), np.insert(values, at, entries[2])
            pointers = np.insert(pointers, row, at)
            pointers[row + 1 :] += len(entries[1])
        troubles = np.array(wrong, np.int64).reshape(-1, 6)
        return Cut(len(labels), troubles, place, lines, (labels, pointers, indices, values, rows))
