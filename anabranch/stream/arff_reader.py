"""Reads ARFF files, as Weka and MOA write them."""

from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from anabranch.stream import _table
from anabranch.stream._arrow import arrow
from anabranch.stream._cells import LONGEST_ROW, Block, CellReader, Cells, Dialect, Plain
from anabranch.stream._source import CutOff, Source
from anabranch.stream._table import Part, Table
from anabranch.stream.csv_reader import refuse_binary

_DIALECT = Dialect(",", "'\"", "\\", "%", arff=True)
_TYPES = {"numeric": "number", "real": "number", "integer": "integer", "string": "text", "date": "text"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class ArffReader(CellReader):
    r"""Reads an ARFF file as parts of a stream.

    Nominal and string attributes are text, dates stay as they are written, relational attributes are refused. Rows may
    be dense or sparse. Weights of rows are checked and otherwise left out, with a warning: streams hand out none.

    Parameters
    ----------
    source : Source
    target : str or None
        Attribute to predict; None for the last one.
    types : mapping of str to {"number", "text"}
        Attributes that are to be taken for something else than the header says.
    block_size : int
        Bytes read at a time.
    """

    dialect = _DIALECT

    def __init__(self, source: Source, target: str | None, types: Mapping[str, str], block_size: int) -> None:
        self.source = source
        self.block_size = block_size
        self._warned = False
        self._values: dict[str, tuple[str, ...] | None] = {}  # listed in braces, by attribute
        self._declared: dict[str, str] = {}
        size = block_size
        while True:
            try:
                head, whole = source.peek(size)
            except CutOff as error:
                raise self._error(str(error)) from error
            if head:
                refuse_binary(source.name, head)
            if self._header(head, whole):
                break
            if whole:
                raise self._error("it has no line @data: is it an ARFF file, or cut off in its header?")
            if size >= max(block_size, LONGEST_ROW):
                raise self._error(f"there is no line @data in its first {size:,} bytes: is it an ARFF file?")
            size *= 2
        names = list(self._values)
        chosen = len(names) - 1 if target is None or target not in names else names.index(target)
        declared = [self._declared[name] for name in names]
        if declared[chosen] == "integer":
            declared[chosen] = "whole"
        declared = ["number" if kind == "integer" else kind for kind in declared]
        kinds = [types.get(name, kind) for name, kind in zip(names, declared, strict=True)]
        # Declared values that are taken for numbers are no longer a list to choose from.
        self._values = {
            name: None if kind == "number" else values
            for (name, values), kind in zip(self._values.items(), kinds, strict=True)
        }
        labels = self._values[names[chosen]]
        classes: list[Any] | None = None if labels is None else sorted(labels)
        if labels and names[chosen] not in types and all(re.fullmatch(r"0|-?[1-9]\d{0,14}", label) for label in labels):
            # Numbers in braces are labels like those of other formats.
            kinds[chosen] = "whole"
            classes = sorted(map(int, labels))
        self.table = Table(names, kinds, chosen, classes)

    def _error(self, what: str) -> ValueError:
        return ValueError(f"cannot read {self.source.name}: {what}")

    def _header(self, head: bytes, whole: bool) -> bool:
        """Read the lines up to @data, if they are all there."""
        self._values.clear()
        self._declared.clear()
        place = 3 if head.startswith(b"\xef\xbb\xbf") else 0
        for line, match in enumerate(re.finditer(rb"[^\r\n]*(\r\n|\n|\r|\Z)", head[place:]), 1):
            if not match.group(1) and not whole:
                return False
            try:
                text = match.group().decode().strip()
            except UnicodeDecodeError as error:
                raise self._error(f"line {line} is not UTF-8 text: convert the file to UTF-8") from error
            if text and not text.startswith("%"):
                word, rest = [*re.split(r"[ \t]", text, maxsplit=1), ""][:2]
                keyword = word.lower()
                if keyword == "@attribute":
                    self._attribute(rest.strip(), line)
                elif keyword == "@data":
                    self._header_bytes = head[: place + match.end()]
                    self._line = line + 1
                    if not self._values:
                        raise self._error(f"line {line}: there is no @attribute before @data")
                    return True
                elif keyword != "@relation":
                    shown = text if len(text) <= 40 else text[:40] + "..."
                    raise self._error(f"line {line}: {shown!r} is neither @relation, @attribute, @data nor a comment")
            if match.end() == len(head) - place:
                break
        return False

    def _attribute(self, text: str, line: int) -> None:
        name, rest = _word(text)
        if name is None or not rest:
            raise self._error(f"line {line}: an attribute needs a name and a type: {text!r}")
        if name in self._values:
            raise self._error(f"line {line}: there is an attribute {name!r} already: each needs a name of its own")
        if rest.startswith("{"):
            values = _listed(rest)
            if not values:
                raise self._error(f"line {line}: the values of {name!r} are no list in braces: {rest!r}")
            self._values[name] = values
            self._declared[name] = "text"
            return
        kind = rest.split()[0].lower()
        if kind not in _TYPES:
            known = ", ".join(_TYPES)
            raise self._error(f"line {line}: {name!r} is of type {kind!r}: only {known} and {{lists}} can be read")
        self._values[name] = None
        self._declared[name] = _TYPES[kind]

    def parts(self) -> Iterator[Part]:
        """Read the file from its beginning."""
        self._warned = False
        return super().parts()

    def read(self, cells: Cells, block: Block) -> Part:
        """Turn a block's cells into a part of the stream; one with sparse rows goes row by row."""
        from anabranch.kernels import text

        if isinstance(block.cut.cells, Plain):
            return super().read(cells, block)
        rows = block.cut.cells[3]
        weighted = np.flatnonzero(rows[:, 3] >= 0)
        sparse = bool((block.cut.troubles[:, 0] == text.SPARSE).any())
        if sparse or len(weighted):
            return self._row_by_row(cells, block)
        return super().read(cells, block)

    def _check_values(self, columns: Mapping[int, Any], block: Block, wrong: dict[int, str]) -> None:
        """Hold nominal values to those that were declared."""
        compute = arrow("pyarrow.compute")
        pa = arrow()
        for j, column in columns.items():
            name = self.table.names[j]
            values = self._values[name]
            if values is None:
                continue
            if isinstance(column, np.ndarray):  # labels that are whole numbers
                for row in np.flatnonzero(~np.isnan(column) & ~np.isin(column, self.table.classes or [])).tolist():
                    where = f"line {block.line + block.cut.cells[3][row, 0]:,}"
                    wrong.setdefault(row, _undeclared(where, name, f"{column[row]:g}"))
                continue
            known = compute.is_in(column, value_set=pa.array(values, pa.string()), skip_nulls=False)
            strange = compute.and_(compute.invert(known), column.is_valid())
            for row in np.flatnonzero(strange.to_numpy(zero_copy_only=False)).tolist():
                where = f"line {block.line + block.cut.cells[3][row, 0]:,}"
                wrong.setdefault(row, _undeclared(where, name, column[row].as_py()))

    # ------------------------------------------------------------------------------ rows one by one

    def _row_by_row(self, cells: Cells, block: Block) -> Part:
        """Rows in Python, for those that kernels leave alone: sparse ones, and those with weights."""
        from anabranch.kernels import text

        data, cut, line, _, _ = block
        table = self.table
        spans = [(int(row[0]), int(row[1]), int(row[2])) for row in cut.cells[3]]
        others: list[tuple[int, int, int, str | None]] = []
        for t in cut.troubles:
            what = None if t[0] == text.SPARSE else self._trouble(t, line, data)
            others.append((int(t[1]), int(t[2]), int(t[3]), what))
        listed: list[tuple[int, int, int, str | None]] = [(*span, None) for span in spans] + others
        columns: list[list[Any]] = [[] for _ in table.names]
        bad: list[tuple[int, str]] = []
        n = 0
        for number, begin, end, what in sorted(listed):
            where = f"line {line + number:,}"
            if what is None:
                try:
                    content, _ = codecs.utf_8_decode(data.data[begin:end], "strict", True)
                    values = self._row(content.strip(), where)
                except UnicodeDecodeError:
                    what = f"{where} is not UTF-8 text: convert the file to UTF-8"
                except ValueError as error:
                    what = str(error)
            if what is not None:
                bad.append((n, what))
                continue
            for column, value in zip(columns, values, strict=True):
                column.append(value)
            n += 1
        pa = arrow()
        made: dict[int, Any] = {
            j: pa.array(column, pa.string()) if table.kinds[j] == "text" else np.array(column, np.float64)
            for j, column in enumerate(columns)
        }
        return _table.finish(table, table.assemble(made, n), made[table.target], n, {}, bad)

    def _row(self, content: str, where: str) -> list[Any]:
        """The values of a row: floats, and str or None."""
        table = self.table
        if content.startswith("{"):
            inner, rest = _braces(content)
            if inner is None:
                raise ValueError(f"{where} has a brace that is never closed: is the file cut off?")
            self._weight(rest, where)
            values: list[Any] = [self._default(j) for j in range(len(table.names))]
            met: set[int] = set()
            for entry, _ in _pieces(inner, where, keep=True) if inner.strip() else []:
                index, _, text = entry.partition(" ")
                if not re.fullmatch(r"\d{1,9}", index) or int(index) >= len(values) or int(index) in met or not text:
                    raise ValueError(
                        f"{where} has the entry {entry!r}: what is needed is the number of an attribute, "
                        f"from 0 to {len(values) - 1} and once each, and its value"
                    )
                met.add(int(index))
                [(word, quoted)] = _pieces(text.strip(), where)
                values[int(index)] = self._value(int(index), word, quoted, where)
        else:
            pieces = _pieces(content, where)
            if len(pieces) == len(table.names) + 1 and pieces[-1][0].startswith("{"):
                self._weight("," + pieces.pop()[0], where)
            if len(pieces) != len(table.names):
                raise ValueError(f"{where} has {len(pieces)} values, the header {len(table.names)}")
            values = [self._value(j, word, quoted, where) for j, (word, quoted) in enumerate(pieces)]
        label = values[table.target]
        if (label is None or label != label) and not table.unlabelled:
            raise ValueError(f"{where}: {_table.no_value(table.names[table.target])}")
        return values

    def _default(self, j: int) -> Any:
        """What an attribute is that a sparse row leaves out: zero, or the first of its values."""
        values = self._values[self.table.names[j]]
        if self.table.kinds[j] == "text":
            return None if values is None else values[0]
        return 0.0 if values is None else float(values[0])

    def _value(self, j: int, word: str, quoted: bool, where: str) -> Any:
        kind, name = self.table.kinds[j], self.table.names[j]
        if word == "?" and not quoted:
            return np.nan if kind != "text" else None
        values = self._values[name]
        if kind == "text":
            if values is not None and word not in values:
                raise ValueError(_undeclared(where, name, word))
            return word
        value = _table.number(word, ("?",))
        problem = _table.misfit(kind, value)
        if problem is not None:
            raise ValueError(_table.holds(where, name, word, problem))
        if values is not None and word not in values:
            raise ValueError(_undeclared(where, name, word))
        return value

    def _weight(self, text: str, where: str) -> None:
        """Check what follows a row: nothing, or a weight in braces."""
        match = re.fullmatch(r"\s*(?:,?\s*\{(.*)\})?\s*", text)
        weight = None if match is None else 1.0 if match[1] is None else _table.number(match[1])
        if weight is None or not 0 <= weight < np.inf:
            raise ValueError(f"{where} ends with {text.strip(', ')!r}, which is no weight in braces, such as {{0.5}}")
        if weight != 1.0 and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.source.name}: {where} has the weight {weight:g}; a stream hands out no weights, so all rows "
                "count the same",
                stacklevel=2,
            )


def _undeclared(where: str, name: str, value: str) -> str:
    return _table.holds(where, name, value, "which is not among the values that the header lists for it", hint=False)


def _word(text: str) -> tuple[str | None, str]:
    """The first word, which may be quoted, and what follows."""
    if text[:1] in ("'", '"'):
        match = re.match(r"""(['"])((?:\\.|(?!\1)[^\\])*)\1\s*""", text)
        return (None, text) if match is None else (_unescaped(match[2]), text[match.end() :])
    match = re.match(r"([^\s{]+)\s*", text)
    return (None, text) if match is None else (match[1], text[match.end() :])


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)


def _braces(text: str) -> tuple[str | None, str]:
    """What stands in the braces that a text begins with, and what follows them."""
    inside = ""
    escaped = False
    for place, sign in enumerate(text):
        if escaped:
            escaped = False
        elif inside:
            escaped = sign == "\\"
            inside = "" if sign == inside else inside
        elif sign in "'\"":
            inside = sign
        elif sign == "}":
            return text[1:place], text[place + 1 :]
    return None, text


def _listed(text: str) -> tuple[str, ...] | None:
    """The values in braces; None if they are not well formed."""
    inner, rest = _braces(text)
    if inner is None or (rest.strip() and not rest.strip().startswith("%")):
        return None
    try:
        values = tuple(dict.fromkeys(word for word, _ in _split(inner)))
    except ValueError:
        return None
    return values if values != ("",) else None


def _pieces(text: str, where: str, keep: bool = False) -> list[tuple[str, bool]]:
    try:
        return _split(text, keep)
    except ValueError as error:
        raise ValueError(f"{where} {error}") from None


def _split(text: str, keep: bool = False) -> list[tuple[str, bool]]:
    """Cut text at commas outside quotation marks, each piece with whether it was quoted.

    With `keep`, quotation marks and what is escaped stay as they are.

    >>> _split("a, 'b, c' ,?")
    [('a', False), ('b, c', True), ('?', False)]
    """
    pieces: list[tuple[str, bool]] = []
    i, n = 0, len(text)
    while True:
        while i < n and text[i] in " \t":
            i += 1
        start = i
        inside = ""
        quoted = not keep and text[i : i + 1] in ("'", '"')
        if quoted:
            inside = text[i]
            i += 1
        while i < n and (inside or text[i] != ",") and not (quoted and text[i] == inside):
            if inside and text[i] == "\\":
                i += 1
            elif inside and text[i] == inside:
                inside = ""
            elif keep and not inside and text[i] in "'\"" and text[i - 1] in " \t":
                inside = text[i]
            i += 1
        if inside and i >= n:
            raise ValueError("has a quotation mark that is never closed")
        if quoted:
            pieces.append((_unescaped(text[start + 1 : i]), True))
            i += 1
            while i < n and text[i] in " \t":
                i += 1
            if i < n and text[i] != ",":
                raise ValueError("has something after a closing quotation mark")
        else:
            pieces.append((text[start:i].strip(" \t"), False))
        if i >= n:
            return pieces
        i += 1
