"""Reads JSON Lines: one object per line, with the columns as fields."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from anabranch.stream import _table
from anabranch.stream._arrow import arrow
from anabranch.stream._cells import LONGEST_ROW, Bits, Block, Cut, as_buffer, blocks
from anabranch.stream._source import CutOff, Source
from anabranch.stream._table import Bad, Part, Table
from anabranch.stream.csv_reader import refuse_binary


class JsonReader:
    """Reads a JSON Lines file as parts of a stream.

    The columns are the fields that come up in the first block, in that order, and those named by `types`. A field
    that a line leaves out, or that is null or NaN, is missing.

    Parameters
    ----------
    source : Source
    target : str or None
        Field to predict; None for the last one.
    types : mapping of str to {"number", "text"}
        Fields whose type is not left to be found out.
    block_size : int
        Bytes read at a time.
    """

    def __init__(self, source: Source, target: str | None, types: Mapping[str, str], block_size: int) -> None:
        self.source = source
        self.block_size = block_size
        size = block_size
        while True:
            try:
                head, whole = source.peek(size)
            except CutOff as error:
                raise self._error(str(error)) from error
            refuse_binary(source.name, head)
            self._skip = 3 if head.startswith(b"\xef\xbb\xbf") else 0
            data = as_buffer(head[self._skip :])
            cut = _lines(data, len(head) - self._skip, whole and not source.follow)
            if cut.n:
                break
            if whole:
                raise self._error("it has no lines: rows are needed")
            if size >= max(block_size, LONGEST_ROW):
                raise self._error(f"its first line is longer than {size:,} bytes: is it JSON Lines?")
            size *= 2
        self.table = self._found(bytes(data[: cut.place]), target, types)

    def _error(self, what: str) -> ValueError:
        return ValueError(f"cannot read {self.source.name}: {what}")

    def _found(self, text: bytes, target: str | None, types: Mapping[str, str]) -> Table:
        """The columns, as far as the first block tells; lines that are no objects are reported when they are read."""
        counts: dict[str, dict[str, int]] = {}
        first_trouble = None
        for number, line in enumerate(_split_lines(text)):
            if not line.strip():
                continue
            try:
                row = _object(line)
            except ValueError as error:
                first_trouble = first_trouble or f"line {number + 1:,} {error}"
                continue
            for name, value in row.items():
                kinds = counts.setdefault(name, {})
                kind = _kind(value)
                if kind == "number" and isinstance(value, int):
                    kind = "whole"
                if kind is not None:
                    kinds[kind] = kinds.get(kind, 0) + 1
        if not counts:
            raise self._error(first_trouble or "its lines hold no fields: a stream needs a target and a feature")
        for name in types:
            counts.setdefault(name, {})
        names = list(counts)
        chosen = len(names) - 1 if target is None or target not in counts else names.index(target)
        settled = [types.get(name) or _settled(kinds, j == chosen) for j, (name, kinds) in enumerate(counts.items())]
        return Table(names, settled, chosen)

    def parts(self) -> Iterator[Part]:
        """Read the file from its beginning."""
        schema = self._schema()
        for block in blocks(self.source, _lines, self.block_size, b"\xef\xbb\xbf"[: self._skip], 1, quoted=False):
            if block.lost is not None:
                yield Part(None, np.empty(0), [Bad(0, block.lost)], block.fatal)
            elif block.cut.n:
                yield self._fast(block, schema) or self._slow(block)

    def _schema(self) -> Any:
        pa = arrow()
        types = {"number": pa.float64(), "text": pa.string(), "truth": pa.bool_(), "whole": pa.int64()}
        return pa.schema([(name, types[kind]) for name, kind in zip(self.table.names, self.table.kinds, strict=True)])

    def _fast(self, block: Block, schema: Any) -> Part | None:
        """A block as PyArrow reads it, if it finds nothing to object to."""
        pa = arrow()
        reader = arrow("pyarrow.json")
        text = bytes(block.data[: block.cut.place])
        n = block.cut.n
        # Fields within fields are refused anyway, and deep ones exhaust the stack of some parsers; of a field that
        # comes twice each parser has its own opinion.
        if text.count(b"{") != n or b"[" in text or b"\\" in text:
            return None
        if not all(line[:1] == b"{" and line[-1:] == b"}" for line in map(bytes.strip, _split_lines(text)) if line):
            return None
        try:
            text.decode()
            found = reader.read_json(
                pa.BufferReader(text),
                read_options=reader.ReadOptions(use_threads=False, block_size=len(text) + 1),
                parse_options=reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
            )
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            return None
        if found.num_rows != n or found.schema.names != self.table.names:
            return None
        columns: dict[int, Any] = {}
        for j, kind in enumerate(self.table.kinds):
            column = found.column(j).combine_chunks()
            if kind == "text":
                columns[j] = column
                continue
            values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            if np.isinf(values).any() or (kind == "whole" and (np.abs(np.nan_to_num(values)) >= _table.WHOLE).any()):
                return None
            columns[j] = np.array(values)
        X = self.table.assemble(columns, n)
        y = columns[self.table.target]
        if self.table.labels(y)[1].any():
            return None  # to say in which lines
        return _table.finish(self.table, X, y, n, {})

    def _slow(self, block: Block) -> Part:
        """A block line by line."""
        pa = arrow()
        table = self.table
        columns: list[list[Any]] = [[] for _ in table.names]
        place = {name: j for j, name in enumerate(table.names)}
        bad: list[tuple[int, str]] = []
        n = 0
        for number, line in enumerate(_split_lines(bytes(block.data[: block.cut.place]))):
            if not line.strip():
                continue
            where = f"line {block.line + number:,}"
            try:
                values = self._row(line, place, where)
            except ValueError as error:
                text = str(error)
                bad.append((n, text if text.startswith(where) else f"{where} {text}"))
                continue
            for column, value in zip(columns, values, strict=True):
                column.append(value)
            n += 1
        made: dict[int, Any] = {
            j: pa.array(column, pa.string()) if kind == "text" else np.array(column, np.float64)
            for j, (column, kind) in enumerate(zip(columns, table.kinds, strict=True))
        }
        return _table.finish(table, table.assemble(made, n), made[table.target], n, {}, bad)

    def _row(self, line: bytes, place: Mapping[str, int], where: str) -> list[Any]:
        table = self.table
        values: list[Any] = [None if kind == "text" else math.nan for kind in table.kinds]
        for name, value in _object(line).items():
            j = place.get(name)
            if j is None:
                raise ValueError(
                    f"{where} has a field {name!r} that the first lines do not have: name its type with "
                    f"types={{{name!r}: ...}}"
                )
            found = _kind(value)
            if found is None:
                continue
            kind = table.kinds[j]
            shown = value if isinstance(value, str) else json.dumps(value)
            if kind == "text":
                if found in ("nested", "text"):
                    values[j] = value if found == "text" else None
                else:
                    values[j] = shown
                if found == "nested":
                    raise ValueError(_table.holds(where, name, shown, "fields within a field", hint=False))
            else:
                number = None
                if kind == "truth":
                    number = float(value) if found == "truth" else None
                elif found == "number":
                    try:
                        number = float(value)
                    except OverflowError:
                        number = math.inf
                problem = _table.misfit(kind, number)
                if problem is not None:
                    raise ValueError(_table.holds(where, name, shown, problem))
                values[j] = number
        label = values[table.target]
        if (label is None or label != label) and not table.unlabelled:
            raise ValueError(f"{where}: {_table.no_value(table.names[table.target])}")
        return values


def _lines(data: Bits, have: int, final: bool) -> Cut:
    """Find where the last whole line ends. JSON has no line ends within texts."""
    text = bytes(data[:have])
    place = have if final else max(text.rfind(b"\n"), text.rfind(b"\r", 0, have - 1)) + 1
    whole = text[:place]
    lines = _split_lines(whole)
    n = sum(1 for line in lines if line.strip())
    return Cut(n, np.empty((0, 6), np.int64), place, len(lines), None)


def _split_lines(text: bytes) -> list[bytes]:
    return text.splitlines()  # of bytes: \n, \r and \r\n


def _object(line: bytes) -> dict[str, Any]:
    """A line's fields, or a ValueError that says what is wrong with it."""
    try:
        row = json.loads(line.decode(), object_pairs_hook=_once, strict=False)
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8 text: convert the file to UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is no JSON ({error.msg} at column {error.colno}): is the file cut off?") from None
    except RecursionError:
        raise ValueError("has fields within fields, too deep to be read") from None
    if not isinstance(row, dict):
        raise ValueError(f"holds a {type(row).__name__}, not an object {{...}} with a field for each column")
    for name, value in row.items():
        try:
            (name + value if isinstance(value, str) else name).encode()
        except UnicodeEncodeError:
            raise ValueError(f"has half a character (a lone surrogate) in the field {name!r}") from None
    return row


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError(f"has the field {_table.duplicate([name for name, _ in pairs])!r} twice")
    return fields


def _kind(value: Any) -> str | None:
    """What a value is; None for what is missing."""
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int):
        return "number"
    if isinstance(value, float):
        return "number"
    return "text" if isinstance(value, str) else "nested"


def _settled(kinds: Mapping[str, int], is_target: bool) -> str:
    """What a column is, from how often its values are of each kind."""
    there = sum(kinds.values())
    if not there:
        return "number"
    whole = is_target and "number" not in kinds
    found = dict(kinds)
    if "whole" in found:
        found["number"] = found.pop("whole") + found.get("number", 0)
    kind = max(found, key=found.__getitem__)
    # A few others are taken for mistakes.
    if there - found[kind] > _table.FEW * there or kind == "nested":
        return "text"
    return "whole" if whole and kind == "number" else kind
