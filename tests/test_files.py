from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import math
import os
import pickle
import random
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from anabranch.stream import FileStream, _cells, _table
from anabranch.stream.arff_reader import _split


def write(folder: Path, text: str | bytes, name: str = "rows.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(path: Path, **options: Any) -> tuple[Any, list[Any]]:
    stream = FileStream(path, **options)
    X, y = stream.take(10_000)
    return (X.tolist() if isinstance(X, np.ndarray) else X.to_pydict()), y.tolist()


@pytest.mark.parametrize(
    "text",
    [
        "a,b,y\n1,2.5,0\n3,4,1\n",
        "a,b,y\r\n1,2.5,0\r\n3,4,1\r\n",
        "a,b,y\n1,2.5,0\n3,4,1",
        "\ufeffa,b,y\n1,2.5,0\n3,4,1\n",
        "a,b,y\n\n1,2.5,0\n\n\n3,4,1\n\n",
        '"a","b","y"\n"1","2.5","0"\n"3","4","1"',
        "a,b,y\n 1, 2.5, 0\n3 ,4 ,1 \n",
    ],
)
def test_csv_spellings(tmp_path: Path, text: str) -> None:
    assert read(write(tmp_path, text)) == ([[1.0, 2.5], [3.0, 4.0]], [0, 1])


def test_csv_target_anywhere(tmp_path: Path) -> None:
    path = write(tmp_path, "a,y,b\n1,u,2\n3,v,4\n")
    stream = FileStream(path, "y", name="here")
    assert (stream.feature_names, stream.n_features, stream.name) == (["a", "b"], 2, "here")
    assert (stream.n_rows, stream.classes) == (None, None)
    X, y = stream.take(2)
    assert X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert y.dtype == object
    assert y.tolist() == ["u", "v"]
    assert repr(stream) == f"FileStream({str(path)!r}, target='y', name='here')"


def test_csv_types(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        'i,f,b,t,d,m,y\n1,0.5,true,"x, ""z""\nw",2020-01-01,,true\n?,NA,,nan,,?,false\nNaN,,false,u,,,true\n',
    )
    stream = FileStream(path)
    X, y = stream.take(5)
    assert [str(field.type) for field in X.schema] == ["double"] * 3 + ["string"] * 2 + ["double"]
    assert X.to_pydict() == {
        "i": [1.0, None, None],
        "f": [0.5, None, None],
        "b": [1.0, None, 0.0],
        "t": ['x, "z"\nw', None, "u"],
        "d": ["2020-01-01", None, None],
        "m": [None, None, None],
    }
    assert y.dtype == bool
    assert y.tolist() == [True, False, True]


def test_csv_missing_in_arrays(tmp_path: Path) -> None:
    X, y = read(write(tmp_path, "a,b,c,y\n1,,true,0.5\n?,NA,nan,1\n"))
    np.testing.assert_array_equal(X, [[1, math.nan, 1], [math.nan] * 3])
    assert y == [0.5, 1.0]


def test_csv_whole_numbers_may_turn_to_fractions(tmp_path: Path) -> None:
    path = write(tmp_path, "a,y\n" + "1,0\n" * 50 + "1.5,1\n")
    X, y = FileStream(path, block_size=40).take(100)
    assert X[-1, 0] == 1.5
    assert y.dtype == np.int64
    assert y[-1] == 1


def test_csv_types_and_delimiter_given(tmp_path: Path) -> None:
    path = write(tmp_path, "zip;n;y\n01;3;1\n02;4;0\n")
    X, y = read(path, types={"zip": "text", "y": "number"}, delimiter=";")
    assert X == {"zip": ["01", "02"], "n": [3.0, 4.0]}
    assert y == [1.0, 0.0]
    assert repr(FileStream(path, types={"zip": "text"}, delimiter=";")).endswith(
        "types={'zip': 'text'}, delimiter=';')"
    )


LATE = "a,b,y\n" + "1,2,0\n" * 50


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (LATE + "1,x,0\n", {}, r"rows\.csv: line 52, column 'b' holds 'x', which is no number"),
        (LATE + '\n\n1,"2",0\n1,2_0,0\n', {}, "line 55, column 'b' holds '2_0'"),
        (LATE + "1,2,0.5\n", {}, "line 52, column 'y' holds '0.5', which is no whole number"),
        (LATE + "1,2\n", {}, r"line 52 has 2 values, the header 3: .* cut off"),
        (LATE + "1", {}, "line 52 has 1 value, the header 3"),
        (LATE + "1,2,3,4\n1,2,3\n", {}, "line 52 has 4 values, the header 3"),
        (LATE + '1,2,"0', {}, "ends within quotation marks"),
        (LATE + '1,2,"', {"target": "a"}, "ends within quotation marks"),
        (LATE.replace("0\n", "u\n") + '1,2,"u', {}, "ends within quotation marks"),
        (LATE.replace("0\n", "u\n") + '1,2,"u\n1,2,u\n', {}, "ends within quotation marks"),
        ("a,b,y\n" + "1,true,0\n" * 50 + "1,maybe,0\n", {}, "line 52, column 'b' holds 'maybe'"),
        ("a,b,y\n" + "1,,0\n" * 50 + "1,x,0\n", {}, "line 52, column 'b' holds 'x'"),
        ("a,b,y\n1,x,0\n", {"types": {"b": "number"}}, "line 2, column 'b' holds 'x'"),
        ('a,b,y\n1,"x\n\nz",0\n' + "1,x,0\n" * 20 + "1,x\n", {"block_size": 90}, "line 25 has 2 values"),
        (LATE + "1,2," + "9" * 45 + "\n", {}, r"line 52, column 'y' holds '9{40}\.\.\.', which is no whole"),
        ("a,b,y\n" + "1,u,0\n" * 50 + f"1,{'u' * 500},0\n", {}, "longer than 60 bytes: .* larger block_size"),
        (
            "a,b\n" + "1,u\n" * 50 + '1,"u\n' + "1,u\n" * 50,
            {"target": "a"},
            "longer than 60 bytes: .* never closed",
        ),
        ("a,b,y\n" + "1,ä,0\n" * 50, {"encoding": "latin-1"}, "not UTF-8"),
        ("a,b,y\n" + "1,a,0\n" * 50 + "1,ä,0\n", {"encoding": "latin-1"}, "line 52, column 'b' is not UTF-8"),
        (LATE + "1,2,\n", {}, "line 52: the target 'y' has no value"),
        (LATE + '1,"2"3,0\n', {}, "line 52 has something after a closing quotation mark"),
        (LATE + "1,inf,0\n", {}, "line 52, column 'b' holds 'inf', which is no number"),
        (LATE + "1,1e999,0\n", {}, "line 52, column 'b' holds '1e999', which is too large"),
        (
            "a,b,y\n" + "1,2,0\n" * 20 + "1,err,0\n" + "1,2,0\n" * 20,
            {"block_size": 1000},
            "line 22, column 'b' holds 'err'",
        ),
    ],
)
def test_csv_surprises_are_located(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, options: dict[str, Any], message: str
) -> None:
    options = {"block_size": 60, **options}
    path = write(tmp_path, text.encode(options.pop("encoding", "utf-8")))
    monkeypatch.setattr(_cells, "LONGEST_ROW", 0)
    with pytest.raises(ValueError, match=message) as caught:
        read(path, **options)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "is empty"),
        ("\n\n", {}, "no lines|no rows"),
        ("a,b,y\n", {}, "a header but no rows"),
        ("a,b,y", {}, "a header but no rows"),
        ("y\n1\n2\n", {}, "one column, 'y'.*FileStream takes it as delimiter"),
        ("a;y\n1;2\n", {"delimiter": ","}, "one column when cut at ',', but 2 when cut at ';'"),
        ("5.1,3.5,a\n4.9,3.0,b\n", {}, "needs a header line"),
        ("a,b\0,y\n1,2,3\n", {}, "NUL bytes"),
        ('a,"b,y\n1,2,3\n', {}, "quotation mark"),
        ("a,a,y\n1,2,3\n", {}, "'a' twice"),
        ("0.5,1.5,0\n0.5,2.5,1\n", {}, "needs a header line"),
        ("a,b,y\n1,2,0\n", {"target": "Y"}, r"no column 'Y'.* a, b, y"),
        ("alpha,beta,y\n1,2,0\n", {"target": "apha"}, "Did you mean 'alpha'"),
        ("a,b,y\n1,2,0\n", {"types": {"c": "text"}}, "no column 'c'"),
        ("a,b,y\n1,2,0\n", {"types": {"a": "date"}}, "must be 'number' or 'text', got 'date'"),
        ("a,b,y\n1,2,0\n", {"delimiter": ";;"}, "delimiter must be one character"),
        ("a,b,y\n1,2,0\n", {"block_size": 0}, "block_size must be"),
    ],
)
def test_csv_refused_at_once(tmp_path: Path, text: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FileStream(write(tmp_path, text), **options)


plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(plain, st.floats(allow_nan=False, allow_infinity=False), plain), min_size=1, max_size=40),
    line_end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]),
    size=st.integers(1, 50),
)
def test_csv_as_python_writes_it(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, float, str]],
    line_end: str,
    quoting: Any,
    size: int,
) -> None:
    if quoting == csv.QUOTE_MINIMAL:
        # Python's writer does not quote a lone carriage return, which ends a line for readers.
        rows = [(first.replace("\r", "\n"), y, last.replace("\r", "\n")) for first, y, last in rows]
    path = tmp_path_factory.mktemp("csv") / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator=line_end, quoting=quoting)
        writer.writerows([("first", "y", "last"), *rows])
    stream = FileStream(path, "y", types={"first": "text", "y": "number", "last": "text"}, block_size=128)
    chunks = list(stream.chunks(size))
    assert [len(y) for _, y in chunks[:-1]] == [size] * (len(chunks) - 1)
    got = pa.concat_tables([X for X, _ in chunks])
    for column, values in (("first", [row[0] for row in rows]), ("last", [row[2] for row in rows])):
        expected = [None if value in ("", "?", "NA", "nan", "NaN") else value for value in values]
        assert got[column].to_pylist() == expected
    assert np.concatenate([y for _, y in chunks]).tolist() == [row[1] for row in rows]


def test_numbers_as_names(tmp_path: Path) -> None:
    stream = FileStream(write(tmp_path, "0,1,2\n5,6,7\n"))
    assert stream.feature_names == ["0", "1"]


def test_first_values_all_missing(tmp_path: Path) -> None:
    stream = FileStream(write(tmp_path, "a,y\n?,0\n"))
    X, y = stream.take(1)
    assert np.isnan(X).all()
    assert y.tolist() == [0]


def test_paths_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file"):
        FileStream(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="is a folder"):
        FileStream(tmp_path)
    with pytest.raises(ValueError, match=r"kind '\.xlsx' are not supported, only \.csv, .* by format"):
        FileStream(write(tmp_path, "a", "rows.xlsx"))
    with pytest.raises(ValueError, match="no suffix"):
        FileStream(write(tmp_path, "a", "rows"))
    assert FileStream(write(tmp_path, "a,y\n1,2\n", "ROWS.CSV")).name == "ROWS"


def test_a_header_that_changes_meanwhile(tmp_path: Path) -> None:
    stream = FileStream(write(tmp_path, "a,y\n1,2\n"))
    write(tmp_path, "b,y\n1,2\n")
    with pytest.raises(ValueError, match="header has changed"):
        stream.take(1)
    write(tmp_path, "a\n1\n")
    with pytest.raises(ValueError, match="header has changed"):
        stream.take(1)


# ------------------------------------------------------------------------------------------------ CSV, further


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    path = write(tmp_path, "a,b,y\n1.5,u,0\n3,v,1\n".replace(",", delimiter))
    stream = FileStream(path)
    assert stream.delimiter == delimiter
    assert stream.feature_names == ["a", "b"]
    assert f", delimiter={delimiter!r}" in repr(stream)
    tsv = FileStream(write(tmp_path, "a\tb\ty\n1.5\tu,w\t0\n", "rows.tsv"))
    assert tsv.feature_names == ["a", "b"]
    assert tsv.take(1)[0].to_pydict() == {"a": [1.5], "b": ["u,w"]}
    assert "delimiter=" not in repr(tsv)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_named(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(ValueError, match="UTF-16 text: convert the file to UTF-8"):
        FileStream(write(tmp_path, "a,b,y\n1,2,3\n".encode(encoding)))


def test_few_texts_among_numbers_are_mistakes(tmp_path: Path) -> None:
    rows = ["1,2.5,0"] * 19 + ["err,2,1"]
    path = write(tmp_path, "a,b,y\n" + "\n".join(rows) + "\n")
    with pytest.raises(ValueError, match=r"line 21, column 'a' holds 'err', which is no number .* types={'a': ...}"):
        FileStream(path).take(100)
    stream = FileStream(path, on_bad_row="skip")
    X, y = stream.take(100)
    assert X.shape == (19, 2)
    assert len(y) == 19
    assert list(stream.chunks(100))
    assert stream.n_bad_rows == 1
    assert stream.bad_rows[0].startswith("line 21, column 'a' holds 'err'")
    texts, _ = FileStream(path, types={"a": "text"}).take(100)
    assert texts["a"].to_pylist() == ["1"] * 19 + ["err"]
    # Where texts are more than a few, the column is text.
    many, _ = FileStream(write(tmp_path, "a,y\n" + "1,0\n" * 8 + "V1,0\n" * 2)).take(10)
    assert many["a"].to_pylist() == ["1"] * 8 + ["V1"] * 2


BROKEN = (
    b"a,b,c,y\n1,x,true,0\n2,y,maybe,1\n3\n3,z,false,2\nfour,z,true,1\n5,\xff,true,0\n6,'w',true,\n7,\"p\"q,true,1\n"
    b'8,v,true,1\n9,v,true,0,9\n10,"two\nlines",false,1\n'
)
GOOD = [(1.0, "x", 1.0, 0), (3.0, "z", 0.0, 2), (8.0, "v", 1.0, 1), (10.0, "two\nlines", 0.0, 1)]
WRONG_LINES = [3, 4, 6, 7, 8, 9, 11]
BROKEN_TYPES = {"a": "number", "b": "text"}


@pytest.mark.parametrize("block_size", [40, 64, 1 << 20])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("skip", [0, 1, 3, 4, 9])
def test_bad_rows_are_skipped_and_counted(tmp_path: Path, block_size: int, size: int, skip: int) -> None:
    path = write(tmp_path, b"a,b,c,y\n" + b"0,x,true,0\n" * 5 + BROKEN[8:])
    good = [(0.0, "x", 1.0, 0)] * 5 + GOOD
    stream = FileStream(path, types=BROKEN_TYPES, on_bad_row="skip", block_size=block_size)
    chunks = list(stream.chunks(size, skip))
    got = [
        (*(row[name] for name in "abc"), label)
        for X, y in chunks
        for row, label in zip(X.to_pylist(), y.tolist(), strict=True)
    ]
    assert got == good[skip:]
    assert stream.n_bad_rows == 7
    assert [what.split(",")[0].split(":")[0].split(" has")[0] for what in stream.bad_rows] == [
        f"line {line + 5}" for line in WRONG_LINES
    ]
    if len(good) > skip:
        # Counted as far as the rows handed out go, however they are cut.
        seen = []
        passed = skip
        for _, y in stream.chunks(size, skip):
            passed += len(y)
            seen.append((passed, stream.n_bad_rows))
        bad_before = {6: 0, 7: 2, 8: 6, 9: 7}
        assert all(n == bad_before.get(passed, 0) for passed, n in seen)
    with pytest.raises(ValueError, match="line 8, column 'c' holds 'maybe'"):
        list(FileStream(path, types=BROKEN_TYPES, block_size=block_size).chunks(size, skip))


def test_good_rows_come_before_the_error(tmp_path: Path) -> None:
    path = write(tmp_path, "a,y\n1,0\n2,0\n3,0\nx,0\n4,0\n" + "1,0\n" * 50)
    chunks = FileStream(path).chunks(1)
    assert [next(chunks)[0].tolist() for _ in range(3)] == [[[1.0]], [[2.0]], [[3.0]]]
    with pytest.raises(ValueError, match="line 5"):
        next(chunks)


def test_messages_are_bounded(tmp_path: Path) -> None:
    path = write(tmp_path, "a,y\n" + "1,0\n" * 1000 + "1\n" * 5000 + "1,0\n")
    stream = FileStream(path, on_bad_row="skip", block_size=3000)
    assert sum(len(y) for _, y in stream.chunks(100)) == 1001
    assert stream.n_bad_rows == 5000
    assert len(stream.bad_rows) == 20
    assert "on_bad_row='skip'" in repr(stream)


def test_a_row_that_is_too_long_is_one_bad_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cells, "LONGEST_ROW", 256)
    path = write(tmp_path, 'a,b,y\n1,u,0\n2,u,0\n3,"' + "v" * 1000 + ",0\n4,w,1\n5,w,1\n" + "6,w,1\n" * 100)
    stream = FileStream(path, on_bad_row="skip", block_size=16, types={"b": "text"})
    X, _ = next(stream.chunks(1000))
    assert X["a"].to_pylist() == [1, 2, 4, 5] + [6] * 100
    assert list(stream.chunks(1000))
    assert stream.n_bad_rows == 1
    assert stream.bad_rows[0].startswith("line 4: a row is longer than")


def test_long_rows_are_read_whatever_the_block(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b,y\n1," + "u" * 100_000 + ",0\n2,v,1\n")
    X, y = FileStream(path, block_size=10).take(5)
    assert [len(text) for text in X["b"].to_pylist()] == [100_000, 1]
    assert y.tolist() == [0, 1]


# What kernels are not sure of is decided in Python: neither may be off by a bit.
decimal = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.tuples(st.integers(0, 10**22), st.integers(-400, 330)).map(lambda pair: f"{pair[0]}e{pair[1]}"),
    st.from_regex(r"[+-]?([0-9]{0,30}\.[0-9]{1,30}|[0-9]{1,30}\.?)([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.integers(2**52, 2**53 - 1).map(lambda n: str(2 * n + 1)),  # half way between two doubles
)


@settings(max_examples=150, deadline=None)
@given(values=st.lists(st.tuples(decimal, st.sampled_from(["", " ", "\t"])), min_size=1, max_size=60))
def test_numbers_are_read_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, values: list[tuple[str, str]]
) -> None:
    values = [(text, space) for text, space in values if "\n" not in text and math.isfinite(float(text))]
    text = "a,y\n0,0\n" + "".join(f"{space}{value}{space},0\n" for value, space in values)
    path = write(tmp_path_factory.mktemp("numbers"), text)
    X, _ = FileStream(path, block_size=64).take(100)
    expected = np.array([0.0] + [float(value) for value, _ in values])
    np.testing.assert_array_equal(X[:, 0].view(np.int64), expected.view(np.int64))


@pytest.mark.parametrize(
    "text", ["1_0", "0x10", "1e", "e5", ".", "+", "--1", "1.2.3", "1 2", "\u0661", "1d5", "infinity", "1e5.5"]
)
def test_what_is_no_number(tmp_path: Path, text: str) -> None:
    stream = FileStream(write(tmp_path, f"a,y\n1,0\n{text},0\n"), types={"a": "number"})
    with pytest.raises(ValueError, match=r"line 3, column 'a' holds .*, which is no number"):
        stream.take(5)


@settings(max_examples=60, deadline=None)
@given(
    cells=st.lists(
        st.tuples(
            *[st.one_of(decimal, decimal, st.sampled_from(["", "?", "NA", " 7", '"8"', "nan", "x", "1e999", "9,9"]))]
            * 2,
            st.sampled_from(["0", "1", "2", "2", "", "0.5", " 1", '"1"']),
        ),
        min_size=1,
        max_size=40,
    ),
    target=st.sampled_from(["a", "b", "y"]),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    block_size=st.sampled_from([80, 500, 1 << 20]),
)
def test_rows_of_numbers_alone_are_read_as_others(
    tmp_path_factory: pytest.TempPathFactory, cells: Any, target: str, line_end: str, block_size: int
) -> None:
    # A file of numbers is read in one go as far as nothing is odd; a column of text makes all of it go the long way.
    lines = [",".join(row) for row in cells]
    folder = tmp_path_factory.mktemp("plain")
    numbers = write(folder, line_end.join(["a,b,y", "1,2,0", *lines]) + line_end, "numbers.csv")
    mixed = write(
        folder, line_end.join(["t,a,b,y", "u,1,2,0", *["u," + line for line in lines]]) + line_end, "mixed.csv"
    )
    types = dict.fromkeys("aby", "number")
    results = []
    for path, more in ((numbers, {}), (mixed, {"t": "text"})):
        stream = FileStream(path, target, types=types | more, on_bad_row="skip", block_size=block_size)
        chunks = list(stream.chunks(7))
        bad = [what.replace("header 4", "header 3") for what in stream.bad_rows]
        y = np.concatenate([y for _, y in chunks])
        if path == numbers:
            X = np.concatenate([X for X, _ in chunks])
        else:
            table = pa.concat_tables([X for X, _ in chunks]).drop_columns("t")
            X = np.column_stack([column.to_numpy() for column in table.columns])
        results.append((X, y, stream.n_bad_rows, [what for what in bad if "values" not in what]))
    np.testing.assert_array_equal(results[0][0].view(np.int64), results[1][0].view(np.int64))
    np.testing.assert_array_equal(results[0][1], results[1][1])
    assert results[0][2:] == results[1][2:]


# ------------------------------------------------------------------------------------------------ every format


def quoted(value: Any) -> str:
    if value is None or value != value:
        return "?"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
    return repr(value)


def as_csv(table: pa.Table, path: Path, delimiter: str = ",") -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(table.column_names)
        writer.writerows([["" if value is None else value for value in row.values()] for row in table.to_pylist()])


def as_jsonl(table: pa.Table, path: Path) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=len(row) % 2 == 0) + "\n" for row in table.to_pylist()))


def as_arff(table: pa.Table, path: Path) -> None:
    lines = ["% made for a test", "@RELATION 'a table'", ""]
    for field in table.schema:
        kind = "NUMERIC"
        if field.type == pa.string():
            kind = "{" + ", ".join(quoted(value) for value in table[field.name].unique().drop_null().to_pylist()) + "}"
        elif field.type == pa.int64():
            kind = "{" + ",".join(str(value) for value in table[field.name].unique().to_pylist()) + "}"
        lines.append(f"@attribute '{field.name}' {kind}")
    lines.append("@Data")
    for row in table.to_pylist():
        lines.append(", ".join(quoted(value) for value in row.values()))
        lines.append("%")
    path.write_text("\n".join(lines))


def as_ipc(table: pa.Table, path: Path, form: Callable[..., Any]) -> None:
    with pa.OSFile(str(path), "wb") as file, form(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    "t.csv": as_csv,
    "t.tsv": lambda table, path: as_csv(table, path, "\t"),
    "t.jsonl": as_jsonl,
    "t.parquet": lambda table, path: pyarrow.parquet.write_table(table, path, row_group_size=9),
    "t.arrow": lambda table, path: as_ipc(table, path, pyarrow.ipc.new_file),
    "t.arrows": lambda table, path: as_ipc(table, path, pyarrow.ipc.new_stream),
    "t.arff": as_arff,
}
word = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), min_size=1, max_size=5).filter(
    lambda text: text not in _table.MISSING and text == text.strip() and text.strip("+-0123456789.eE_") != ""
)


@st.composite
def tables(draw: Any) -> pa.Table:
    n = draw(st.integers(1, 30))

    def column(values: Any) -> Any:
        return draw(st.lists(values, min_size=n, max_size=n))

    number = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))
    return pa.table(
        {
            "a": pa.array(column(number), pa.float64()),
            "b b": pa.array(["word", *column(st.one_of(st.none(), word))[1:]], pa.string()),
            "c": pa.array(column(number), pa.float64()),
            "y": pa.array(column(st.integers(-3, 3)), pa.int64()),
        }
    )


@settings(max_examples=40, deadline=None)
@given(
    table=tables(),
    size=st.integers(1, 40),
    block_size=st.sampled_from([37, 200, 1 << 20]),
    skip=st.integers(0, 35),
    packed=st.sampled_from(["", ".gz", ".zst"]),
)
def test_every_format_gives_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, table: pa.Table, size: int, block_size: int, skip: int, packed: str
) -> None:
    folder = tmp_path_factory.mktemp("formats")
    expected = table.select(["a", "b b", "c"]).slice(skip)
    labels = table["y"].to_pylist()[skip:]
    for name, writer in WRITERS.items():
        path = folder / name
        writer(table, path)
        if packed and name not in ("t.parquet", "t.arrow"):
            raw = path.read_bytes()
            path = folder / (name + packed)
            if packed == ".gz":
                path.write_bytes(gzip.compress(raw[:50]) + gzip.compress(raw[50:]))
            else:
                with pa.CompressedOutputStream(str(path), "zstd") as file:
                    file.write(raw)
        types = {} if name in ("t.parquet", "t.arrow", "t.arrows", "t.arff") else {"b b": "text"}
        stream = FileStream(path, "y", types=types, block_size=block_size)
        assert stream.name == "t"
        chunks = list(stream.chunks(size, skip))
        assert [len(y) for _, y in chunks[:-1]] == [size] * (len(chunks) - 1)
        assert [y for _, labels in chunks for y in labels.tolist()] == labels, name
        if chunks:
            assert all(y.dtype == np.int64 for _, y in chunks), name
            assert pa.concat_tables([X for X, _ in chunks]).combine_chunks().equals(expected.combine_chunks()), name


@pytest.mark.parametrize("name", [*WRITERS, "t.svm"])
def test_passes_do_not_disturb_each_other(tmp_path: Path, name: str) -> None:
    n = 20_000
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.random(n), "b": rng.random(n), "y": rng.integers(5, size=n)})
    path = tmp_path / name
    if name == "t.svm":
        path.write_text("".join(f"{row['y']} 1:{row['a']} 2:{row['b']}\n" for row in table.to_pylist()))
    else:
        WRITERS[name](table, path)
    stream = FileStream(path, block_size=8000)
    for _ in range(5):
        stream.take(1)  # given up while it reads ahead
    passes = [stream.chunks(100), stream.chunks(100, skip=50), stream.chunks(100)]
    got: list[list[Any]] = [[], [], []]
    for _ in range(n // 100 + 1):  # in turns
        for rows, chunks in zip(passes, got, strict=True):
            chunks.extend(itertools.islice(rows, 1))
    for chunks, skip in zip(got, (0, 50, 0), strict=True):
        np.testing.assert_array_equal(np.concatenate([y for _, y in chunks]), table["y"].to_numpy()[skip:])
        X = [X[:, [0]].toarray()[:, 0] if sparse.issparse(X) else X[:, 0] for X, _ in chunks]
        np.testing.assert_array_equal(np.concatenate(X), table["a"].to_numpy()[skip:])


def test_formats_by_name_and_by_format(tmp_path: Path) -> None:
    path = write(tmp_path, "a,y\n1,0\n", "rows.txt")
    stream = FileStream(path, format="csv")
    assert (stream.name, stream.take(1)[1].tolist()) == ("rows", [0])
    assert "format='csv'" in repr(stream)
    with pytest.raises(ValueError, match="format must be one of arff, arrow, csv"):
        FileStream(path, format="xml")
    with pytest.raises(ValueError, match="n_features is for svmlight"):
        FileStream(path, format="csv", n_features=3)
    with pytest.raises(ValueError, match="delimiter is for CSV"):
        FileStream(write(tmp_path, '{"a":1,"y":2}', "x.jsonl"), delimiter=";")
    with pytest.raises(ValueError, match="on_bad_row must be 'raise' or 'skip'"):
        FileStream(path, format="csv", on_bad_row="ignore")
    with pytest.raises(ValueError, match=r"kind '\.txt\.gz'"):
        FileStream(write(tmp_path, "a", "x.txt.gz"))
    assert FileStream(write(tmp_path, gzip.compress(b"a,y\n1,0\n"), "z.csv")).take(1)[1].tolist() == [0]


@pytest.mark.parametrize("name", WRITERS)
def test_duplicate_names(tmp_path: Path, name: str) -> None:
    if name == "t.jsonl":
        path = write(tmp_path, '{"a": 1, "a": 2, "y": 0}\n', name)
    elif name == "t.arff":
        path = write(tmp_path, "@relation r\n@attribute a real\n@attribute a real\n@data\n1,2\n", name)
    else:
        path = tmp_path / name
        table = pa.Table.from_arrays([pa.array([1.0]), pa.array([1.0]), pa.array([1])], ["a", "a", "y"])
        if name in ("t.csv", "t.tsv"):
            path = write(tmp_path, "a,a,y\n1,2,3\n".replace(",", "," if name == "t.csv" else "\t"), name)
        else:
            WRITERS[name](table, path)
    with pytest.raises(ValueError, match=r"'a' (twice|already)|two columns named 'a'"):
        FileStream(path)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.arrows"])
def test_cut_off_and_damaged_binary_files(tmp_path: Path, name: str) -> None:
    n = 3000
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.random(n), "t": [f"v{i % 7}" for i in range(n)], "y": rng.integers(2, size=n)})
    path = tmp_path / name
    WRITERS[name](table, path)
    whole = path.read_bytes()
    for cut in (0, 1, 7, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        try:
            rows = sum(len(y) for _, y in FileStream(path).chunks(100))
        except ValueError as error:
            named(error, path)
        else:
            assert name == "t.arrows"  # whose end mark alone was lost
            assert rows == n or cut == 0
        if name == "t.arrows" and cut == len(whole) // 2:
            stream = FileStream(path, on_bad_row="skip")
            assert 0 < sum(len(y) for _, y in stream.chunks(100)) < n
            assert stream.n_bad_rows == 1
            assert "cut off" in stream.bad_rows[0]


def test_what_binary_columns_may_hold(tmp_path: Path) -> None:
    import datetime
    import decimal as decimals

    table = pa.table(
        {
            "d": pa.array([decimals.Decimal("1.5"), None]),
            "c": pa.array(["u", None]).dictionary_encode(),
            "k": pa.array([5, 6], pa.int8()).dictionary_encode(),
            "t": pa.array([datetime.date(2020, 1, 2), None]),
            "b": [True, None],
            "n": pa.nulls(2),
            "f": pa.array([1.5, math.nan], pa.float32()),
            "y": pa.array([True, False]),
        }
    )
    as_ipc(table, tmp_path / "t.arrow", pyarrow.ipc.new_file)
    path = tmp_path / "t.parquet"
    X, y = FileStream(tmp_path / "t.arrow").take(2)
    assert X.to_pydict() == {
        "d": [1.5, None],
        "c": ["u", None],
        "k": ["5", "6"],
        "t": ["2020-01-02", None],
        "b": [1.0, None],
        "n": [None, None],
        "f": [1.5, None],
    }
    assert y.tolist() == [True, False]
    nested = pa.table({"a": [[1], [2]], "y": [0, 1]})
    pyarrow.parquet.write_table(nested, path)
    with pytest.raises(ValueError, match=r"'a' holds values of type list.*neither numbers nor text"):
        FileStream(path)
    infinite = pa.table({"a": [1.0, math.inf, 2.0], "y": [0, 1, None]})
    pyarrow.parquet.write_table(infinite, path)
    with pytest.raises(ValueError, match=r"row 1 \(counting from 0\), column 'a' holds 'inf'"):
        list(FileStream(path).chunks(1))
    stream = FileStream(path, on_bad_row="skip")
    assert [(X.tolist(), y.tolist()) for X, y in stream.chunks(5)] == [([[1.0]], [0])]
    assert stream.n_bad_rows == 2
    assert "row 2 (counting from 0): the target 'y' has no value" in stream.bad_rows[1]


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_compressed_files_that_are_cut_off(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(0)
    raw = b"a,y\n" + b"".join(b"%.17g,%d\n" % (value, i % 2) for i, value in enumerate(rng.random(20_000)))
    if kind == "gzip":
        packed = gzip.compress(raw)
    else:
        path = tmp_path / "whole"
        with pa.CompressedOutputStream(str(path), "zstd") as file:
            file.write(raw)
        packed = path.read_bytes()
    path = write(tmp_path, packed[: len(packed) * 2 // 3], "rows.csv.gz" if kind == "gzip" else "rows.csv.zst")
    with pytest.raises(ValueError, match=r"line [\d,]+: the compressed file is cut off here"):
        list(FileStream(path).chunks(100))
    stream = FileStream(path, on_bad_row="skip", block_size=5000)
    y = np.concatenate([y for _, y in stream.chunks(100)])
    assert 10_000 < len(y) < 14_000
    np.testing.assert_array_equal(y, np.arange(len(y)) % 2)
    assert stream.n_bad_rows == 1
    assert "cut off" in stream.bad_rows[0]
    damaged = bytearray(packed)
    damaged[len(packed) // 2 : len(packed) // 2 + 40] = bytes(40)
    with pytest.raises(ValueError, match=r"compressed file is|line"):
        list(FileStream(write(tmp_path, bytes(damaged), path.name)).chunks(100))
    with pytest.raises(ValueError, match="cannot read"):
        FileStream(write(tmp_path, packed[:12], path.name))


# ------------------------------------------------------------------------------------------------------ ARFF

ARFF = """% Titel
%
@RELATION "a relation"

@Attribute 'the size' NUMERIC   % not a comment in Weka, but seen
@attribute\tcolour {red, 'dark red', "it's", a\\b}
@ATTRIBUTE day DATE "yyyy-MM-dd"
@attribute note string
@attribute n Integer
@attribute class {yes,no}

@DATA
1.5, red, 2020-01-01, 'some, text', 3, yes
% a comment

?, 'dark red', ?, "a \\"quote\\"", ?, no
\t-2e3 ,"it's",'2021-01-01', '?', 4,yes
0, a\\b, x, y, 0, no, {1}
"""


def test_arff(tmp_path: Path) -> None:
    stream = FileStream(write(tmp_path, ARFF, "t.arff"))
    X, y = stream.take(10)
    assert X.to_pydict() == {
        "the size": [1.5, None, -2000.0, 0.0],
        "colour": ["red", "dark red", "it's", "a\\b"],
        "day": ["2020-01-01", None, "2021-01-01", "x"],
        "note": ["some, text", 'a "quote"', "?", "y"],
        "n": [3.0, None, 4.0, 0.0],
    }
    assert y.tolist() == ["yes", "no", "yes", "no"]
    assert stream.classes.tolist() == ["no", "yes"]
    # Row by row in Python gives the same as the kernels.
    without = write(tmp_path, ARFF.replace(", {1}", ""), "u.arff")
    assert FileStream(without).take(10)[0].equals(X)


def test_sparse_arff(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "@relation r\n@attribute a real\n@attribute c {u,'v, w'}\n@attribute b integer\n@attribute y {0,1}\n@data\n"
        "{0 1.5, 3 1}\n{}\n{ 1 'v, w' ,2 ? }\n{2 3}, {1.0}\n1,u,2,1\n",
        "t.arff",
    )
    stream = FileStream(path)
    X, y = stream.take(10)
    assert X.to_pydict() == {
        "a": [1.5, 0.0, 0.0, 0.0, 1.0],
        "c": ["u", "u", "v, w", "u", "u"],
        "b": [0.0, 0.0, None, 3.0, 2.0],
    }
    assert y.tolist() == [1, 0, 0, 0, 1]
    assert stream.classes.tolist() == [0, 1]
    assert next(FileStream(path, block_size=11).chunks(10))[0].equals(X)


def test_arff_weights_warn_once(tmp_path: Path) -> None:
    head = "@relation r\n@attribute a real\n@attribute y {0,1}\n@data\n"
    path = write(tmp_path, head + "1,0,{0.5}\n2,1\n3,1, {2}\n", "t.arff")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X, y = FileStream(path).take(5)
    assert X.tolist() == [[1.0], [2.0], [3.0]]
    assert y.tolist() == [0, 1, 1]
    assert [str(w.message) for w in caught if "the weight 0.5" in str(w.message)]
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,u", "line 9 has 2 values, the header 3"),
        ("1,w,0", "line 9, column 'c' holds 'w', which is not among the values"),
        ("x,u,0", "line 9, column 'a' holds 'x', which is no number"),
        (",u,0", "line 9, column 'a' holds '', which is no number"),
        ("NA,u,0", "line 9, column 'a' holds 'NA', which is no number"),
        ("1,u,?", "line 9: the target 'y' has no value"),
        ("1,u,7", "line 9, column 'y' holds '7', which is not among the values"),
        ("1,'u,0", "line 9.*quotation mark"),
        ("1,'u'u,0", "line 9 has something after a closing quotation mark"),
        ("{0 1,9 2}", "line 9 has the entry '9 2': what is needed .* from 0 to 2"),
        ("{0 1,0 2}", "line 9 has the entry '0 2'"),
        ("{0}", "line 9 has the entry '0'"),
        ("{0 1", "line 9 has a brace that is never closed"),
        ("{1 w}", "line 9, column 'c' holds 'w', which is not among"),
        ("1,u,0,{x}", "line 9 ends with '{x}', which is no weight"),
        ("1,u,0,{-1}", "line 9 ends with '{-1}', which is no weight"),
        ("1,u,0,1", "line 9 has 4 values"),
        (b"1,'\xff',0", "line 9, column 'c' is not UTF-8"),
        (b"{1 '\xff'}", "line 9 is not UTF-8"),
    ],
)
def test_arff_surprises(tmp_path: Path, row: str | bytes, message: str) -> None:
    head = "@relation r\n@attribute a real\n@attribute c {u,v}\n\n@attribute y {0,1}\n@data\n1,u,0\n% c\n"
    row = row.encode() if isinstance(row, str) else row
    path = write(tmp_path, head.encode() + row + b"\n2,v,1\n", "t.arff")
    with pytest.raises(ValueError, match=message):
        list(FileStream(path).chunks(10))
    stream = FileStream(path, on_bad_row="skip")
    rows = [label for _, y in stream.chunks(10) for label in y.tolist()]
    assert rows in ([0, 1], [0])  # a quotation mark that is never closed takes the rest with it
    assert stream.n_bad_rows == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,y\n1,2\n", "line 1: 'a,y' is neither @relation"),
        ("@relation r\n@attribute a real\n", "no line @data"),
        ("@relation r\n@data\n1\n", "no @attribute before @data"),
        ("@attribute a\n@data\n", "line 1: an attribute needs a name and a type"),
        ("@attribute a relational\n@data\n", "of type 'relational': only numeric"),
        ("@attribute a {}\n@data\n", "no list in braces"),
        ("@attribute a {u, v\n@data\n", "no list in braces"),
        ("@attribute 'a real\n@data\n", "needs a name and a type"),
    ],
)
def test_arff_headers_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FileStream(write(tmp_path, text, "t.arff"))


piece = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), max_size=6)


@given(words=st.lists(piece, min_size=1, max_size=6))
def test_arff_pieces(words: list[str]) -> None:
    assert [word for word, _ in _split(",".join(quoted(word) for word in words))] == words


# -------------------------------------------------------------------------------------------------- svmlight


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.integers(-2, 2),
            st.dictionaries(st.integers(1, 40), st.floats(allow_nan=False, allow_infinity=False), max_size=6),
        ),
        min_size=1,
        max_size=30,
    ),
    size=st.integers(1, 40),
    block_size=st.sampled_from([24, 300, 1 << 20]),
    skip=st.integers(0, 10),
    long=st.booleans(),
)
def test_svmlight(
    tmp_path_factory: pytest.TempPathFactory, rows: Any, size: int, block_size: int, skip: int, long: bool
) -> None:
    def written(value: float) -> str:
        return f"{value:.25e}" if long else repr(value)

    lines = [
        f"{label:+d} "
        + ("qid:3 " if i % 3 == 0 else "")
        + " ".join(f"{k}:{written(v)}" for k, v in sorted(entries.items()))
        + (" # comment 5:5" if i % 4 == 0 else "")
        for i, (label, entries) in enumerate(rows)
    ]
    path = write(tmp_path_factory.mktemp("svm"), "# head\n\n" + "\n".join(lines) + "\n", "t.svm")
    stream = FileStream(path, block_size=block_size)
    highest = max((k for _, entries in rows for k in entries), default=1)
    assert stream.n_features == highest
    dense = np.zeros((len(rows), highest))
    for i, (_, entries) in enumerate(rows):
        for k, value in entries.items():
            dense[i, k - 1] = value
    chunks = list(stream.chunks(size, skip))
    assert [len(y) for _, y in chunks[:-1]] == [size] * (len(chunks) - 1)
    assert all(sparse.issparse(X) and X.format == "csr" and X.shape == (len(y), highest) for X, y in chunks)
    if chunks:
        np.testing.assert_array_equal(sparse.vstack([X for X, _ in chunks]).toarray(), dense[skip:])
    assert [label for _, y in chunks for label in y.tolist()] == [label for label, _ in rows][skip:]
    assert all(y.dtype == np.int64 for _, y in chunks)
    assert repr(pickle.loads(pickle.dumps(stream))) == repr(stream)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 2:x", "line 3 has '2:x' where index:value, indices ascending should be"),
        ("x 2:1", "line 3 has 'x' where a number as label should be"),
        ("1 2:1 2:1", "line 3 has '2:1'"),
        ("1 3:1 2:1", "line 3 has '2:1'"),
        ("1 2", "line 3 has '2'"),
        ("1 :2", "line 3 has ':2'"),
        ("1 2:", "line 3 has '2:'"),
        ("1 -1:3", "line 3 has '-1:3'"),
        ("1 2:inf", "line 3 has '2:inf'"),
        ("1 2:nan", "line 3 has '2:nan'"),
        ("1,2 2:1", "line 3 has '1,2'"),
        ("1 9:1", "line 3 has the index 9, but there are 5 columns"),
    ],
)
def test_svmlight_surprises(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path, f"1 1:1 5:2\n-1 2:1\n{line}\n1 4:4\n", "t.svm")
    with pytest.raises(ValueError, match=message):
        list(FileStream(path, n_features=5).chunks(10))
    stream = FileStream(path, n_features=5, on_bad_row="skip")
    [(X, y)] = stream.chunks(10)
    assert X.toarray().tolist() == [[1, 0, 0, 0, 2], [0, 1, 0, 0, 0], [0, 0, 0, 4, 0]]
    assert y.tolist() == [1, -1, 1]
    assert stream.n_bad_rows == 1


def test_svmlight_columns(tmp_path: Path) -> None:
    text = "0.5 1:1\n" * 3 + "1 0:2 7:1\n"
    stream = FileStream(write(tmp_path, text, "t.svm"))
    assert stream.n_features == 8  # they begin with 0, as the last line shows
    X, y = stream.take(4)
    assert X.toarray()[:, :2].tolist() == [[0, 1]] * 3 + [[2, 0]]
    assert y.dtype == np.float64
    late = FileStream(write(tmp_path, "1 1:1\n1 2:1\n", "u.svm"), n_features=10)
    assert late.take(2)[0].shape == (2, 10)
    with pytest.raises(ValueError, match="no rows"):
        FileStream(write(tmp_path, "# nothing\n", "v.svm"))


# ---------------------------------------------------------------------------------------------------- JSON


def test_json_lines(tmp_path: Path) -> None:
    lines = [
        '{"a": 1, "t": "u", "b": true, "y": 0}',
        "",
        '{"y": 1, "t": null, "a": NaN}',
        '{"a": 1e3, "b": false, "t": "?", "y": 2}\r',
        '{"a": -0.5, "b": null, "t": "\\u00e4\\n{[", "y": 3}',
    ]
    for text in ("\n".join(lines), "\n".join(lines[:2] + lines[3:4]) + "\n"):
        for block_size in (30, 1 << 20):
            X, y = FileStream(write(tmp_path, text, "t.jsonl"), "y", block_size=block_size, types={"t": "text"}).take(9)
            rows = list(zip(X["a"].to_pylist(), X["t"].to_pylist(), X["b"].to_pylist(), y.tolist(), strict=True))
            every = [(1.0, "u", 1.0, 0), (None, None, None, 1), (1000.0, "?", 0.0, 2), (-0.5, "ä\n{[", None, 3)]
            assert rows == (every if len(rows) == 4 else [every[0], every[2]])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a": "x", "y": 0}', "line 3, column 'a' holds 'x', which is no number"),
        ('{"a": true, "y": 0}', "line 3, column 'a' holds 'true', which is no number"),
        ('{"a": 1, "y": 0.5}', "line 3, column 'y' holds '0.5', which is no whole number"),
        ('{"a": 1', "line 3 is no JSON .*cut off"),
        ("[1, 2]", "line 3 holds a list, not an object"),
        ("5", "line 3 holds a int"),
        ('{"a": 1, "y": null}', "line 3: the target 'y' has no value"),
        ('{"a": 1}', "line 3: the target 'y' has no value"),
        ('{"a": 1, "new": 1, "y": 0}', "line 3 has a field 'new' that the first lines do not have"),
        ('{"a": {"b": 1}, "y": 0}', "line 3, column 'a' holds"),
        ('{"a": 1, "a": 2, "y": 0}', "line 3 has the field 'a' twice"),
        ('{"a": 1e999, "y": 0}', "line 3, column 'a' holds 'Infinity', which is too large"),
        ('{"a": 1' + "0" * 400 + ', "y": 0}', "line 3, column 'a' holds '10000.*too large"),
        ('{"a": 1, "y": 0}{"a": 1, "y": 0}', "line 3 is no JSON"),
        ("[" * 100_000, "line 3 (has fields within fields|is no JSON)"),
        ('{"t": "\\ud800", "a": 1, "y": 0}', "line 3 has half a character"),
        (b'{"t": "\xff", "a": 1, "y": 0}', "line 3 is not UTF-8"),
    ],
)
def test_json_surprises(tmp_path: Path, line: str | bytes, message: str) -> None:
    line = line.encode() if isinstance(line, str) else line
    first = b'{"t": "u", "a": 1, "y": 0}\n'
    path = write(tmp_path, first * 2 + line + b"\n" + first, "t.jsonl")
    types = {"t": "text", "a": "number"}
    with pytest.raises(ValueError, match=message):
        list(FileStream(path, "y", types=types, block_size=60).chunks(10))
    stream = FileStream(path, "y", types=types, block_size=60, on_bad_row="skip")
    assert [y.tolist() for _, y in stream.chunks(10)] == [[0, 0, 0]]
    assert stream.n_bad_rows == 1


# --------------------------------------------------------------------------------------- pipes, growing files


def piped(program: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
    code = "from anabranch.stream import FileStream\n" + program
    return subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=False)


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(packed: bool) -> None:
    text = ("a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(30_000))).encode()
    done = piped(
        "s = FileStream('-', format='csv', block_size=1000)\n"
        "print(sum(len(y) for X, y in s.chunks(100)), s.name, repr(s))\n"
        "list(s.chunks(100))",
        gzip.compress(text) if packed else text,
    )
    assert done.stdout.decode().split()[:3] == ["30000", "standard", "input"]
    assert b"standard input can be read only once" in done.stderr.splitlines()[-1]


def test_standard_input_needs_a_format() -> None:
    with pytest.raises(ValueError, match="standard input needs a format: one of arff, arrow, csv"):
        FileStream("-")
    with pytest.raises(ValueError, match="follow=True is for text files that grow: standard input"):
        FileStream("-", format="csv", follow=True)


def test_other_formats_from_a_pipe(tmp_path: Path) -> None:
    table = pa.table({"a": [1.0, 2.0], "y": [0, 1]})
    as_ipc(table, tmp_path / "t", pyarrow.ipc.new_stream)
    program = "print([y.tolist() for X, y in FileStream('-', format={!r}).chunks(9)])"
    assert piped(program.format("arrow"), (tmp_path / "t").read_bytes()).stdout == b"[[0, 1]]\n"
    assert piped(program.format("svmlight"), b"1 1:2\n0 2:3\n").stdout == b"[[1, 0]]\n"
    assert piped(program.format("jsonl"), b'{"a":1,"y":5}\n').stdout == b"[[5]]\n"
    assert b"Parquet needs a file" in piped(program.format("parquet"), b"PAR1").stderr


def test_standard_input_is_not_sent_elsewhere() -> None:
    done = piped("import pickle\npickle.dumps(FileStream('-', format='csv'))", b"a,y\n1,2\n")
    assert b"standard input cannot be sent to another process" in done.stderr


def follow(path: Path, **options: Any) -> Iterator[Any]:
    return iter(FileStream(path, follow=True, idle_timeout=options.pop("idle_timeout", 1.5), **options).chunks(1))


def test_a_growing_file_is_followed(tmp_path: Path) -> None:
    path = write(tmp_path, "a,y\n1,0\n2,")
    rows = follow(path)
    assert next(rows)[0].tolist() == [[1.0]]
    with path.open("a") as file:
        file.write("1\n3")  # the end of a line, and half of another
        file.flush()
        X, y = next(rows)
        assert (X.tolist(), y.tolist()) == ([[2.0]], [1])
        file.write("3,1\n4")
        file.flush()
        X, y = next(rows)
        assert (X.tolist(), y.tolist()) == ([[33.0]], [1])
    assert list(rows) == []  # the last line is still being written


def test_following_ends_with_the_thread(tmp_path: Path) -> None:
    path = write(tmp_path, "a,y\n1,0\n")
    before = threading.active_count()
    rows = iter(FileStream(path, follow=True).chunks(1))
    next(rows)
    rows.close()  # type: ignore[attr-defined]
    del rows
    path.write_text("a,y\n1,0\n2,0\n")
    deadline = time.monotonic() + 30
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threading.active_count() <= before


def test_a_followed_file_that_is_cut(tmp_path: Path) -> None:
    path = write(tmp_path, "a,y\n" + "1,0\n" * 10)
    rows = follow(path, idle_timeout=20)
    for _ in range(10):
        next(rows)
    write(tmp_path, "a,y\n")
    with pytest.raises(ValueError, match=r"line 12: the file was cut to 4 bytes while it was followed"):
        next(rows)


@pytest.mark.parametrize("how", ["rotated", "removed"])
def test_a_followed_file_that_is_rotated(tmp_path: Path, how: str) -> None:
    path = write(tmp_path, "a,y\n1,0\n")
    rows = follow(path, idle_timeout=20)
    next(rows)
    with path.open("a") as file:
        file.write("2,0\n")
    path.rename(tmp_path / "old")
    if how == "rotated":
        write(tmp_path, "a,y\n3,0\n")
    assert next(rows)[0].tolist() == [[2.0]]  # what the old one still held
    with pytest.raises(ValueError, match="removed, or replaced by another of its name"):
        next(rows)


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, "soon"])
def test_idle_timeout_is_checked(tmp_path: Path, seconds: Any) -> None:
    with pytest.raises(ValueError, match="idle_timeout must be a number of seconds above 0"):
        FileStream(write(tmp_path, "a,y\n1,0\n"), follow=True, idle_timeout=seconds)


def test_binary_files_cannot_be_followed(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    WRITERS["t.parquet"](pa.table({"a": [1.0], "y": [0]}), path)
    with pytest.raises(ValueError, match="follow=True is for text files that grow"):
        FileStream(path, follow=True)


def test_a_named_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    done: list[Any] = []

    def read_it() -> None:
        try:
            done.append(FileStream(path))
        except ValueError as error:
            done.append(error)

    thread = threading.Thread(target=read_it, daemon=True)
    thread.start()
    with path.open("w") as file:
        file.write("a,y\n1,0\n")
    thread.join(30)
    assert not thread.is_alive()


# ------------------------------------------------------------------------------------------------- fuzzing


def named(error: ValueError, path: Path) -> None:
    assert str(path) in str(error)
    assert "\n" not in str(error)


def odd_csv(rng: random.Random) -> bytes:
    """Rows as nobody should write them."""
    ends = rng.choice([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n", "\r"]])
    cells = [
        "1", "2.5", "-3e4", "", "?", "NaN", "x", '"q"', '"a""b"', '"l\nm"', '"l\r\nm"', '"', '""', "'", " 7 ", "true",
        "\0", "ü",         "9" * 30, "z" * 300, '"' + "z" * 300 + '"', "1,2", ";", "\t", "inf", "1e999", "-", "0x1",
    ]  # fmt: skip
    text = "\ufeff" * rng.randint(0, 1) + "a,b,c,y" + rng.choice(ends)
    for _ in range(rng.randint(0, 40)):
        kind = rng.random()
        if kind < 0.1:
            row = ""
        else:
            width = 4 if kind < 0.9 else rng.randint(1, 6)
            row = ",".join(rng.choice(cells[:6] if rng.random() < 0.7 else cells) for _ in range(width))
        text += row + rng.choice(ends)
    data = bytearray(text.encode())
    for _ in range(rng.randint(0, 3)):
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data[: rng.randint(0, len(data))]) if rng.random() < 0.3 else bytes(data)


def outcome(path: Path, size: int, block_size: int, **options: Any) -> Any:
    """All there is to say about reading a file: rows, bad rows, or the error."""
    stream = FileStream(path, block_size=block_size, on_bad_row="skip", **options)
    rows = []
    for X, y in stream.chunks(size):
        assert len(y) == X.shape[0] <= size
        if isinstance(X, np.ndarray):
            assert not np.isinf(X).any()
            X = np.where(np.isnan(X), None, X.astype(object)).tolist()
        elif sparse.issparse(X):
            X = X.toarray().tolist()
        else:
            X = [list(row.values()) for row in X.to_pylist()]
        rows += [(tuple(row), label) for row, label in zip(X, y.tolist(), strict=True)]
    return rows, stream.n_bad_rows, stream.bad_rows


@pytest.mark.parametrize("seed", range(8))
def test_fuzzed_csv(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    types = {"a": "number", "b": "text", "c": "number", "y": "text"}
    for number in range(60):
        data = odd_csv(rng)
        path = write(tmp_path, data, f"{number}.csv")
        try:
            expected = outcome(path, 1000, 1 << 20, types=types)
        except ValueError as error:
            named(error, path)
            continue
        # In blocks and chunks of any size: the same rows, bad ones too.
        for size, block_size in ((1, 700), (7, 1200), (1000, 5000)):
            assert outcome(path, size, block_size, types=types) == expected, data
        slow = by_the_book(data)
        if slow is not None:
            assert [row for row, _ in expected[0]] == [row for row, _ in slow]
            assert [label for _, label in expected[0]] == [label for _, label in slow]
        path.unlink()


def by_the_book(data: bytes) -> list[Any] | None:
    """The good rows as Python's own reader sees them; None where it has another opinion of quotation marks."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    try:
        listed = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        return None
    rows = []
    for row in [row for row in listed if row][1:]:
        if len(row) != 4 or row[3] in _table.MISSING:
            continue
        numbers = [_table.number(row[0]), _table.number(row[2])]
        if any(value is None or math.isinf(value) for value in numbers):
            continue
        a, c = (None if value != value else value for value in numbers)
        rows.append(((a, None if row[1] in _table.MISSING else row[1], c), row[3]))
    return rows


@pytest.mark.parametrize(
    "name", ["t.csv", "t.jsonl", "t.arff", "t.arrows", "t.arrow", "t.parquet", "t.csv.gz", "t.svm"]
)
def test_flipped_bytes(tmp_path: Path, name: str) -> None:
    rng = random.Random(name)
    table = pa.table(
        {
            "a": [rng.gauss(0, 1) for _ in range(60)],
            "t": [rng.choice(["u", "v w", "it's"]) for _ in range(60)],
            "y": [rng.randrange(3) for _ in range(60)],
        }
    )
    path = tmp_path / name
    if name == "t.csv.gz":
        as_csv(table, tmp_path / "t.csv")
        path.write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    elif name == "t.svm":
        path.write_text("".join(f"{row['y']} 1:{row['a']} 3:2.5\n" for row in table.to_pylist()))
    else:
        WRITERS[name](table, path)
    whole = path.read_bytes()
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(rng.choice([1, 1, 2, 20])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if rng.random() < 0.2:
            del data[rng.randrange(len(data)) :]
        path.write_bytes(data)
        try:
            rows, n_bad, _ = outcome(path, 7, 1 << 20)
        except ValueError as error:
            named(error, path)
        else:
            assert len(rows) + n_bad <= 200
