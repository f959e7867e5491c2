"""Schema and vocabulary: whatever comes in, in whatever pieces."""

from __future__ import annotations

import copy
import datetime
import decimal
import fractions
import math
import pickle
import threading

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from anabranch import checkpoint, schema
from anabranch.schema import Schema, Vocabulary

NAN = math.nan


def encoded(X, **kwargs):
    """Encode with a new schema; what it learned is held to what it says when asked again."""
    array, known = Schema(**kwargs).encode(X)
    assert array.dtype == np.float64
    assert array.ndim == 2
    again, same = known.encode(X)
    assert same is known
    assert np.array_equal(again, array, equal_nan=True)
    passive, same = known.encode(X, grow=False)
    assert same is known
    assert np.array_equal(passive, array, equal_nan=True)
    return array, known


def facts(it):
    """All that a schema knows, with the kinds of the values: 1, 1.0 and True are told apart."""
    values = [None if v is None else [(type(x).__name__, x) for x in v.values] for v in it.vocabularies]
    return it.names, it.nominal.tolist(), values, it.named, it.width, it.nominal_features


# ---------------------------------------------------------------------------------------------- NumPy


@pytest.mark.parametrize(
    "dtype",
    ["f2", "f4", "f8", ">f8", ">f4", "g", "i1", "i2", "i4", "i8", ">i8", "u1", "u2", "u4", "u8", "?", "O"],
)
def test_numbers_of_every_kind(dtype):
    X = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    array, known = encoded(X)
    assert array.tolist() == [[0, 1], [1, 0], [1, 1]]
    assert known.names == ["x0", "x1"]
    assert not known.nominal.any()
    assert (known.width, known.named) == (2, False)


@pytest.mark.parametrize("dtype", ["U3", "S3", "O", np.dtypes.StringDType()])
def test_texts_of_every_kind(dtype):
    X = np.array([["a", "3.5"], ["b", "3.5"], ["a", ""]]).astype(dtype)
    array, known = encoded(X)
    assert array.tolist() == [[0, 0], [1, 0], [0, 1]]
    assert known.vocabularies[1].values == ["3.5", ""]


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.zeros((2, 2), [("a", "f8")]), TypeError, "number or a text"),
        (np.zeros((2, 2), "V4"), TypeError, "number or a text"),
        (np.zeros((2, 2), complex), ValueError, "Complex data"),
        (np.array([["2020-01-01"]], "M8[D]"), TypeError, "dates or times"),
        (np.array([["2020-01-01"]], "M8[ns]"), TypeError, "dates or times"),
        (np.array([[3]], "m8[s]"), TypeError, "dates or times"),
        (np.array([[datetime.date(2020, 1, 1)]], object), TypeError, "'x0' holds dates or times"),
        (np.array([[np.datetime64("2020-01-01")]], object), TypeError, "'x0' holds dates or times"),
        (np.array([["a"], [datetime.time(1)]], object), TypeError, "'x0' holds dates or times"),
        (np.array([[1j]], object), TypeError, "holds a complex"),
        (np.array([[b"a"]], object), TypeError, "holds a bytes"),
        (np.array(1.0), ValueError, "Expected 2D array, got scalar"),
        (np.zeros(3), ValueError, "Expected 2D array, got 1D"),
        (np.zeros((2, 2, 2)), ValueError, "Expected 2D array, got 3D"),
        (np.zeros((0, 2)), ValueError, "0 sample"),
        (np.zeros((2, 0)), ValueError, "0 feature"),
        (np.array([["a", None], [1, {}]], object), TypeError, "holds a dict"),
        ([], ValueError, "2D"),
        (None, ValueError, "2D"),
        ("text", ValueError, "2D"),
        (3.0, ValueError, "2D"),
        ([[1.0, 2.0], [3.0]], ValueError, "."),
        ([{"a": 1}, 3], ValueError, "2D"),
        ([{"a": [1, 2]}], TypeError, "'a' holds a list"),
        ({"a": [1, 2]}, TypeError, "'a' holds a list"),
        ([{"a": np.zeros(2)}], TypeError, "'a' holds a ndarray"),
        ([{"a": {"b": 1}}], TypeError, "'a' holds a dict"),
        ([{"a": b"bytes"}], TypeError, "'a' holds a bytes"),
        (pd.Series([1.0]), ValueError, "2D"),
        (pl.Series([1.0]), ValueError, "2D"),
        (pl.DataFrame({"a": [1]}).lazy(), TypeError, "LazyFrame"),
        (pd.DataFrame({"a": []}), ValueError, "0 sample"),
        (pd.DataFrame(index=[1, 2]), ValueError, "0 feature"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "'a'"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), ValueError, "two columns named '1'"),
        (pd.DataFrame({"t": pd.to_datetime(["2020-01-01"])}), TypeError, "'t' holds dates"),
        (pd.DataFrame({"t": pd.to_datetime(["2020-01-01"], utc=True)}), TypeError, "'t' holds dates"),
        (pd.DataFrame({"t": pd.to_timedelta([1])}), TypeError, "'t' holds dates"),
        (pd.DataFrame({"t": [datetime.date(2020, 1, 1)]}), TypeError, "'t' holds dates"),
        (pd.DataFrame({"t": [1j]}), TypeError, "'t' holds a complex"),
        (pl.DataFrame({"t": [datetime.date(2020, 1, 1)]}), TypeError, "'t' holds dates"),
        (pl.DataFrame({"t": [datetime.datetime(2020, 1, 1)]}), TypeError, "'t' holds dates"),
        (pl.DataFrame({"t": [datetime.time(1)]}), TypeError, "'t' holds dates"),
        (pl.DataFrame({"t": [datetime.timedelta(1)]}), TypeError, "'t' holds dates"),
        (pl.DataFrame({"t": [[1]]}), TypeError, "'t' holds nested"),
        (pl.DataFrame({"t": [{"a": 1}]}), TypeError, "'t' holds nested"),
        (pl.DataFrame({"t": [b"a"]}), TypeError, "'t' holds a bytes"),
        (pa.table({"t": pa.array([datetime.datetime(2020, 1, 1)])}), TypeError, "'t' holds dates"),
        (pa.table({"t": pa.array([[1]])}), TypeError, "'t' holds nested"),
        (pa.record_batch({"a": [1]}), TypeError, "RecordBatch"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:20],
)
def test_refused(X, error, message):
    with pytest.raises(error, match=message):
        Schema().encode(X)


def test_layouts():
    X = np.arange(24.0).reshape(4, 6)
    expected = X[:, ::2]
    for view in (np.asfortranarray(expected), X[:, ::2], expected.tolist(), tuple(expected)):
        array, _ = encoded(view)
        assert np.array_equal(array, expected)
        assert array.flags.c_contiguous
    frozen = expected.copy()
    frozen.setflags(write=False)
    assert np.array_equal(encoded(frozen)[0], expected)
    assert np.array_equal(encoded(X[::-1, ::-2])[0], X[::-1, ::-2])


def test_masked_values_are_missing():
    mask = [[False, True], [True, False]]
    for dtype in (float, int, np.float32, bool):
        array, _ = encoded(np.ma.array(np.ones((2, 2), dtype), mask=mask))
        assert np.array_equal(array, [[1, NAN], [NAN, 1]], equal_nan=True)
    for dtype in (object, str):
        array, _ = encoded(np.ma.array(np.array([["a", "b"], ["c", "d"]], dtype), mask=mask))
        assert np.array_equal(array, [[0, NAN], [NAN, 0]], equal_nan=True)
    assert encoded(np.ma.array([[1.0, 2.0]]))[0].tolist() == [[1, 2]]


def test_numbers_beside_texts_in_lists_stay_numbers():
    array, known = encoded([[1.5, "red"], [2, "blue"], [None, "red"]])
    assert np.array_equal(array, [[1.5, 0], [2, 1], [NAN, 0]], equal_nan=True)
    assert known.nominal.tolist() == [False, True]


def test_input_is_neither_copied_needlessly_nor_changed():
    X = np.arange(6.0).reshape(3, 2)
    _, known = Schema().encode(X)
    assert known.encode(X)[0] is X
    rows = [{"a": 1, "b": None}, {"b": "x"}]
    before = copy.deepcopy(rows)
    encoded(rows)
    assert rows == before


# ---------------------------------------------------------------------------------------------- frames

FRAMES = [
    pytest.param(pd.DataFrame({"a": [1, 2, 3]}), [1, 2, 3], id="pandas int"),
    pytest.param(pd.DataFrame({"a": [1.5, NAN, 3]}), [1.5, NAN, 3], id="pandas float"),
    pytest.param(pd.DataFrame({"a": np.array([1, NAN], "f4")}), [1, NAN], id="pandas float32"),
    pytest.param(pd.DataFrame({"a": [True, False]}), [1, 0], id="pandas bool"),
    pytest.param(pd.DataFrame({"a": pd.array([1, None, 3], "Int64")}), [1, NAN, 3], id="pandas Int64"),
    pytest.param(pd.DataFrame({"a": pd.array([1.5, None], "Float64")}), [1.5, NAN], id="pandas Float64"),
    pytest.param(pd.DataFrame({"a": pd.array([True, None], "boolean")}), [1, NAN], id="pandas boolean"),
    pytest.param(pd.DataFrame({"a": [1, None, 2.5]}, dtype=object), [1, NAN, 2.5], id="pandas object"),
    pytest.param(pd.DataFrame({"a": [True, 2, pd.NA]}, dtype=object), [1, 2, NAN], id="pandas object, bool and int"),
    pytest.param(pd.DataFrame({"a": [1, 2]}).convert_dtypes(dtype_backend="pyarrow"), [1, 2], id="pandas Arrow"),
    pytest.param(pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.5])}), [0, 1.5], id="pandas sparse"),
    pytest.param(pl.DataFrame({"a": [1, None]}), [1, NAN], id="Polars int"),
    pytest.param(pl.DataFrame({"a": [1.5, None, NAN]}), [1.5, NAN, NAN], id="Polars float"),
    pytest.param(pl.DataFrame({"a": [2**64 - 1]}, schema={"a": pl.UInt64}), [2.0**64], id="Polars UInt64"),
    pytest.param(pl.DataFrame({"a": [True, None]}), [1, NAN], id="Polars bool"),
    pytest.param(pl.DataFrame({"a": [decimal.Decimal("1.5"), None]}), [1.5, NAN], id="Polars decimal"),
    pytest.param(pa.table({"a": [1, None]}), [1, NAN], id="Arrow int"),
    pytest.param(pa.table({"a": [1.5, None]}), [1.5, NAN], id="Arrow float"),
    pytest.param(pa.table({"a": [True, None]}), [1, NAN], id="Arrow bool"),
    pytest.param(pa.table({"a": [decimal.Decimal("1.50"), None]}), [1.5, NAN], id="Arrow decimal"),
    pytest.param(nw.from_native(pl.DataFrame({"a": [1, None]})), [1, NAN], id="narwhals"),
    pytest.param(
        [{"a": 1}, {}, {"a": None}, {"a": pd.NA}, {"a": np.float32(2.5)}], [1, NAN, NAN, NAN, 2.5], id="dicts"
    ),
    pytest.param([{"a": fractions.Fraction(1, 2)}, {"a": decimal.Decimal("NaN")}], [0.5, NAN], id="fraction"),
]

NOMINAL_FRAMES = [
    pytest.param(pd.DataFrame({"a": ["u", None, "v"]}), ["u", "v"], id="pandas str"),
    pytest.param(pd.DataFrame({"a": ["u", NAN, "v"]}, dtype=object), ["u", "v"], id="pandas object"),
    pytest.param(pd.DataFrame({"a": ["u", pd.NaT, "v"]}, dtype=object), ["u", "v"], id="pandas NaT"),
    pytest.param(pd.DataFrame({"a": ["u", np.float32(NAN), "v"]}, dtype=object), ["u", "v"], id="a short NaN"),
    pytest.param(pd.DataFrame({"a": pd.array(["u", None, "v"], "string")}), ["u", "v"], id="pandas string"),
    pytest.param(pd.DataFrame({"a": pd.Categorical(["u", None, "v"])}), ["u", "v"], id="pandas category"),
    pytest.param(pd.DataFrame({"a": pd.Categorical([7, None, 3])}), ["7", "3"], id="pandas category of numbers"),
    pytest.param(pl.DataFrame({"a": ["u", None, "v"]}), ["u", "v"], id="Polars text"),
    pytest.param(pl.DataFrame({"a": ["u", None, "v"]}, schema={"a": pl.Categorical}), ["u", "v"], id="Polars category"),
    pytest.param(
        pl.DataFrame({"a": ["u", None, "v"]}, schema={"a": pl.Enum(["v", "u"])}), ["u", "v"], id="Polars enum"
    ),
    pytest.param(pa.table({"a": ["u", None, "v"]}), ["u", "v"], id="Arrow text"),
    pytest.param(pa.table({"a": pa.array(["u", None, "v"], pa.large_string())}), ["u", "v"], id="Arrow large text"),
    pytest.param(pa.table({"a": pa.array(["u", None, "v"]).dictionary_encode()}), ["u", "v"], id="Arrow dictionary"),
    pytest.param(
        pa.table({"a": pa.array([7, None, 3]).dictionary_encode()}), ["7", "3"], id="Arrow numbers' dictionary"
    ),
    pytest.param([{"a": "u"}, {"a": None}, {"a": np.str_("v")}], ["u", "v"], id="dicts"),
]


@pytest.mark.parametrize(("frame", "expected"), FRAMES)
def test_numeric_columns(frame, expected):
    array, known = encoded(frame)
    assert np.array_equal(array[:, 0], expected, equal_nan=True)
    assert (known.names, known.nominal.tolist(), known.named, known.width) == (["a"], [False], True, None)


@pytest.mark.parametrize(("frame", "values"), NOMINAL_FRAMES)
def test_nominal_columns(frame, values):
    array, known = encoded(frame)
    assert np.array_equal(array[:, 0], [0, NAN, 1], equal_nan=True)
    assert known.nominal.tolist() == [True]
    assert known.vocabularies[0].values == values
    assert {type(value) for value in known.vocabularies[0].values} == {str}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "Polars", "Arrow"])
def test_columns_go_by_name(make):
    array, known = encoded(make({"a": [1.0, 2.0], "b": ["u", "v"]}))
    array, more = known.encode(make({"c": [5.0], "b": ["w"]}))
    assert np.array_equal(array, [[NAN, 2, 5]], equal_nan=True)
    assert more.names == ["a", "b", "c"]
    assert known.names == ["a", "b"], "the old schema has changed"
    assert known.vocabularies[1].values == ["u", "v"], "the old schema has changed"
    array, same = more.encode(make({"d": [1.0], "c": [2.0], "b": ["new"], "a": [3.0]}), grow=False)
    assert same is more
    assert array.tolist() == [[3, 3, 2]]


def test_odd_column_names():
    assert encoded(pd.DataFrame([[1, 2]]))[1].names == ["0", "1"]
    assert encoded(pd.DataFrame([[1, 2]], columns=[10, "b"]))[1].names == ["10", "b"]
    assert encoded([{10: 1, None: 2}])[1].names == ["10", "None"]
    columns = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    assert encoded(pd.DataFrame([[1, 2]], columns=columns))[1].names == ["('a', 'x')", "('a', 'y')"]
    assert encoded(pl.DataFrame({"": [1], "é\n": [2]}))[1].names == ["", "é\n"]


@pytest.mark.parametrize(
    "frame",
    [pl.DataFrame({"a": [None, None], "b": [1, 2]}), pa.table({"a": pa.nulls(2), "b": [1, 2]})],
    ids=["pl", "pa"],
)
def test_a_column_without_values_is_none_yet(frame):
    array, known = encoded(frame)
    assert known.names == ["b"]
    assert array.tolist() == [[1], [2]]
    array, known = known.encode(pd.DataFrame({"a": ["now"], "b": [3]}))
    assert (known.names, array.tolist()) == (["b", "a"], [[3, 0]])


def test_object_array_with_gaps():
    """Columns of arrays keep their positions, in whatever order they get their first values."""
    first = np.array([[1.0, None, None], [2.0, None, "x"]], object)
    array, known = Schema().encode(first)
    assert (known.names, known.width) == (["x0", "x2"], 3)
    assert np.array_equal(array, [[1, NAN], [2, 0]], equal_nan=True)
    array, known = known.encode(np.array([[3.0, 4.0, "y"]], object))
    assert known.names == ["x0", "x2", "x1"]
    assert array.tolist() == [[3, 1, 4]]
    with pytest.raises(ValueError, match="expecting 3 features"):
        known.encode(np.array([[3.0, 4.0]]))
    array, known = Schema().encode(np.array([[None, 5.0]], object))
    array, known = known.encode(np.array([[6.0, 7.0]]))
    assert (known.names, array.tolist()) == (["x1", "x0"], [[7, 6]])
    assert known.encode(np.array([[6.0, 7.0]]))[0].tolist() == [[7, 6]]
    assert known.encode(np.array([[6, 7]]), grow=False)[0].tolist() == [[7, 6]]


def test_blank_array_fixes_the_width():
    array, known = Schema().encode(np.array([[None, None]], object))
    assert array.shape == (1, 0)
    assert known.width == 2
    with pytest.raises(ValueError, match="expecting 2 features"):
        known.encode(np.zeros((1, 3)))
    array, known = known.encode(np.array([[1.0, 2.0]]))
    assert (known.names, array.tolist()) == (["x0", "x1"], [[1, 2]])


def test_arrays_then_names():
    _, known = Schema().encode(np.zeros((1, 2)))
    frame = pd.DataFrame({"b": [1.0], "a": [2.0]})
    assert known.encode(frame)[0].tolist() == [[1, 2]], "an array's columns go by position"
    assert known.encode(pd.DataFrame({"x1": [1.0], "x0": [2.0]}))[0].tolist() == [[2, 1]], "unless they have its names"
    assert np.array_equal(known.encode_one({"x1": 1.0})[0], [[NAN, 1]], equal_nan=True)
    assert known.encode([{"x1": 1.0, "x0": 2.0}])[0].tolist() == [[2, 1]]
    for rows in ([{"x1": 1.0, "b": 2.0}], [{"b": None, "a": 1.0}]):
        with pytest.raises(ValueError, match=r"fitted on arrays of 2 columns, which are named 'x0' to 'x1'"):
            known.encode(rows)
    with pytest.raises(ValueError, match="3 features"):
        known.encode(pd.DataFrame([[1, 2, 3]]))


def test_names_then_arrays():
    _, known = Schema().encode([{"a": 1.0, "b": "u"}])
    array, more = known.encode(np.array([[2.0, "v"]], object))
    assert array.tolist() == [[2, 1]]
    assert (more.width, more.named) == (None, True)
    array, more = more.encode([{"c": 1.0}])
    assert more.encode(np.array([[1.0, "u", 2.0]], object))[0].tolist() == [[1, 0, 2]]
    with pytest.raises(ValueError, match="expecting 3 features as input: a, b, c"):
        more.encode(np.array([[1.0, "u"]], object))


def test_passive_encoding_before_anything_is_known():
    for X in (np.zeros((2, 3)), np.zeros((2, 3), object), [{"a": 1.0}, {"a": "text"}], pd.DataFrame({"a": [1, 2]})):
        empty = Schema()
        array, same = empty.encode(X, grow=False)
        assert same is empty
        assert array.shape == (2, 0)


# ---------------------------------------------------------------------------------------------- values refused


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1.1e100, -1e300])
@pytest.mark.parametrize("known", [False, True], ids=["new", "known"])
def test_infinite_and_huge_numbers_are_refused_by_place(value, known):
    X = np.zeros((3, 2))
    X[2, 1] = value
    start = Schema()
    shapes = [X, X.astype(object), np.asfortranarray(X), X.tolist()]
    if known:
        start = start.encode(np.zeros((1, 2)))[1]
    for array in shapes:
        with pytest.raises(ValueError, match=r"column 'x1', row 2\)"):
            start.encode(array)
    start = Schema()
    if known:
        start = start.encode([{"a": 1.0, "b": 2.0}])[1]
    frame = pd.DataFrame(X, columns=["a", "b"])
    for rows in (frame, pl.from_pandas(frame), frame.to_dict("records")):
        with pytest.raises(ValueError, match=r"column 'b', row 2\)"):
            start.encode(rows)
    with pytest.raises(ValueError, match=r"column 'b', row 0\)"):
        start.encode_one({"a": 1.0, "b": value})


@pytest.mark.parametrize(
    "value",
    [10**400, -(10**400), 10**101, fractions.Fraction(10**400), decimal.Decimal("1e500")],
    ids=["positive", "negative", "just beyond", "fraction", "decimal"],
)
def test_numbers_beyond_floats_are_refused(value):
    _, known = Schema().encode([{"b": 1.0}])
    for start in (Schema(), known):
        for call in (start.encode_one, start.encode):
            with pytest.raises(ValueError, match=r"column 'b', row 0\)"):
                call({"b": value})
    with pytest.raises(ValueError, match=r"column 'x0', row 0\)"):
        Schema().encode([[value]])


def test_longer_floats_overflow_without_a_warning(recwarn):
    if np.finfo(np.longdouble).max == np.finfo(np.float64).max:
        pytest.skip("long doubles are doubles here")
    with pytest.raises(ValueError, match="infinity"):
        Schema().encode(np.array([[np.finfo(np.longdouble).max]]))
    assert not recwarn.list


@pytest.mark.parametrize("value", [math.inf, -math.inf, np.float32("inf"), decimal.Decimal("inf")])
def test_infinity_in_a_nominal_column(value):
    _, known = Schema().encode([{"a": "u"}])
    with pytest.raises(ValueError, match=r"infinity \(column 'a', row 0\)"):
        known.encode_one({"a": value})
    if isinstance(value, float):
        with pytest.raises(ValueError, match=r"infinity \(column 'x0', row 1\)"):
            Schema([0]).encode(np.array([[1.0], [value]]))


def test_text_in_a_numeric_column():
    _, known = Schema().encode([{"a": 1.0}])
    with pytest.raises(ValueError, match=r"'a' was numeric so far and holds the text '3\.5' in row 1"):
        known.encode([{"a": 2.0}, {"a": "3.5"}])
    with pytest.raises(ValueError, match="'a' was numeric"):
        known.encode_one({"a": "3.5"})
    with pytest.raises(ValueError, match=r"'b' mixes text and numbers \('u' beside 1\)"):
        known.encode([{"b": 1}, {"b": "u"}])
    _, known = Schema().encode(np.zeros((1, 1)))
    with pytest.raises(ValueError, match="'x0' was numeric"):
        known.encode(np.array([["1"]]))


def test_numbers_in_a_nominal_column_are_categories():
    array, known = encoded([{"a": "u"}, {"a": 1}, {"a": "1"}, {"a": 1.0}, {"a": True}, {"a": decimal.Decimal("1.5")}])
    assert array[:, 0].tolist() == [0, 1, 2, 1, 1, 3]
    assert known.vocabularies[0].values == ["u", 1, "1", decimal.Decimal("1.5")]
    array, known = known.encode(pd.DataFrame({"a": [1.0, 7.0]}))
    assert array[:, 0].tolist() == [1, 4]


def test_what_raises_changes_nothing():
    _, known = Schema().encode([{"a": 1.0, "b": "u"}, {"a": 2.0, "c": 3}])
    before = copy.deepcopy(facts(known))
    codes = checkpoint.to_bytes(known)
    for rows in (
        [{"a": 1.0, "b": "new", "d": "new"}, {"a": math.inf}],
        [{"new": 1.0, "b": "new"}, {"new": "text"}],
        [{"b": "new"}, {"b": []}],
        pd.DataFrame({"b": ["new"], "z": [1.0], "a": ["text"]}),
        pl.DataFrame({"b": ["new"], "z": [datetime.date(2020, 1, 1)]}),
    ):
        with pytest.raises((ValueError, TypeError)):
            known.encode(rows)
        assert facts(known) == before
        assert checkpoint.to_bytes(known) == codes
    for row in ({"b": "new", "z": 1.0, "a": math.inf}, {"z": 1.0, "y": []}, {"b": "new", "a": "text"}):
        with pytest.raises((ValueError, TypeError)):
            known.encode_one(row)
        assert facts(known) == before
        assert checkpoint.to_bytes(known) == codes


# ---------------------------------------------------------------------------------------------- nominal features


@pytest.mark.parametrize("features", [[1], [-2], [np.int64(1)], np.array([1])])
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_nominal_positions(features, n):
    X = np.column_stack([np.arange(n), np.arange(n) % 2 + 5, np.arange(n)])
    for form in (X, X.astype(float), X.astype(object), X.tolist(), X.astype(np.int8)):
        array, known = encoded(form, nominal_features=features)
        assert known.nominal.tolist() == [False, True, False]
        assert array[:, 1].tolist() == [i % 2 for i in range(n)]
        assert known.vocabularies[1].values == [5, 6][: min(n, 2)]
    again = pickle.loads(pickle.dumps(known))
    assert facts(again) == facts(known)


def test_nominal_names():
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        array, known = encoded(make({"a": [5, 6], "b": [5.0, 6.0], "c": [1, None]}), nominal_features=["b", "c"])
        assert known.nominal.tolist() == [False, True, True]
        assert np.array_equal(array, [[5, 0, 0], [6, 1, NAN]], equal_nan=True)
    with pytest.raises(ValueError, match=r"'colour' that X does not have. Did you mean 'color'\?"):
        Schema(["colour"]).encode(pd.DataFrame({"color": [1]}))
    with pytest.raises(ValueError, match=r"position 0, but the columns of X have names, such as 'a'"):
        Schema([0]).encode(pd.DataFrame({"a": [1]}))
    with pytest.raises(ValueError, match="position 0"):
        Schema([0]).encode_one({"a": 1})
    assert encoded(pd.DataFrame([[5, 6]]), nominal_features=[1])[1].nominal.tolist() == [False, True]


@pytest.mark.parametrize("feature", [2, -3, "a", "x0", 1.0])
def test_nominal_positions_that_are_not_there(feature):
    with pytest.raises(ValueError, match=r"X is an array of 2 columns: give positions from 0 to 1"):
        Schema([feature]).encode(np.zeros((3, 2)))


def test_nominal_column_may_come_later():
    _, known = Schema(["late"]).encode_one({"a": 1.0})
    row, known = known.encode_one({"late": 7, "a": 2.0})
    assert (known.names, known.nominal.tolist(), row.tolist()) == (["a", "late"], [False, True], [[2, 0]])


# ---------------------------------------------------------------------------------------------- laws

NAMES = st.sampled_from(["a", "b", "c", "d"])
VALUES = st.one_of(
    st.none(),
    st.just(NAN),
    st.just(pd.NA),
    st.just(np.float32(NAN)),
    st.sampled_from(["u", "v", "1", "nan", ""]),
    st.integers(-3, 3),
    st.floats(-3, 3),
    st.booleans(),
    st.sampled_from([np.float64(2.0), np.int8(1), np.bool_(True), np.str_("u")]),
)
NUMBERS = st.one_of(st.none(), st.just(NAN), st.integers(-3, 3), st.floats(-3, 3), st.booleans())
TEXTS = st.one_of(st.none(), st.just(NAN), st.sampled_from("uvwxyz"), st.integers(0, 3))
# Anything anywhere, which mostly ends in an error; and columns of one kind.
ROWS = st.one_of(
    st.lists(st.dictionaries(NAMES, VALUES), min_size=1, max_size=8),
    st.lists(st.fixed_dictionaries({}, optional={"a": NUMBERS, "b": TEXTS, "c": NUMBERS, "d": TEXTS}), min_size=1),
)


def one_by_one(start, rows, width, verb):
    parts = []
    for row in rows:
        array, start = verb(start, row)
        parts.append(array[0])
    full = np.full((len(rows), width), NAN)
    for i, part in enumerate(parts):
        full[i, : len(part)] = part
    return full, start


@settings(deadline=None, max_examples=400)
@given(
    rows=ROWS, nominal=st.lists(NAMES, unique=True, max_size=2), cut=st.integers(0, 8), limit=st.sampled_from([2, 50])
)
def test_chunk_law(rows, nominal, cut, limit):
    """However rows are cut: the same columns, kinds, values and codes, or an error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "MOST_VALUES", limit)
        start = Schema(nominal)
        try:
            whole, known = start.encode(rows)
        except ValueError:
            with pytest.raises(ValueError, match=r"'[abcd]'"):
                one_by_one(start, rows, 4, lambda it, row: it.encode([row]))
            with pytest.raises(ValueError, match=r"'[abcd]'"):
                one_by_one(start, rows, 4, lambda it, row: it.encode_one(row))
            return
        width = whole.shape[1]
        for verb in (
            lambda it, row: it.encode([row]),
            lambda it, row: it.encode_one(row),
            lambda it, row: it.encode_one({name: row[name] for name in [*it.names, *row] if name in row}),
            lambda it, row: it.encode(row),
        ):
            array, again = one_by_one(start, rows, width, verb)
            assert facts(again) == facts(known)
            assert np.array_equal(array, whole, equal_nan=True)
        middle = start
        for part in (rows[:cut], rows[cut:]):
            if part:
                array, middle = middle.encode(part)
        assert facts(middle) == facts(known)
        # What is known says the same again, alone or together, and learns nothing when it must not.
        state = checkpoint.to_bytes(known)
        for grow in (True, False):
            assert np.array_equal(known.encode(rows, grow)[0], whole, equal_nan=True)
            array, same = one_by_one(known, rows, width, lambda it, row: it.encode_one(row, grow))  # noqa: B023
            assert np.array_equal(array, whole, equal_nan=True)
            assert same is known
        assert checkpoint.to_bytes(known) == state
        assert facts(checkpoint.from_bytes(state)) == facts(known)
        assert facts(copy.deepcopy(known)) == facts(known)
        assert all(v is None or len(v) <= limit for v in known.vocabularies)


@settings(deadline=None, max_examples=150)
@given(
    rows=st.lists(st.tuples(NUMBERS, TEXTS, VALUES), min_size=1, max_size=8),
    nominal=st.lists(st.integers(-3, 2), max_size=2),
)
def test_chunk_law_on_object_arrays(rows, nominal):
    X = np.empty((len(rows), 3), object)
    for i, row in enumerate(rows):
        X[i] = row
    start = Schema(nominal)
    try:
        whole, known = start.encode(X)
    except ValueError:
        with pytest.raises(ValueError, match=r"'x[012]'"):
            one_by_one(start, X, 3, lambda it, row: it.encode(row[None]))
        return
    array, again = one_by_one(start, X, whole.shape[1], lambda it, row: it.encode(row[None]))
    assert facts(again) == facts(known)
    assert np.array_equal(array, whole, equal_nan=True)


@settings(deadline=None, max_examples=100)
@given(
    texts=st.lists(st.one_of(st.none(), st.sampled_from("uvw")), min_size=1, max_size=6),
    seed=st.integers(0, 3),
    make=st.sampled_from([pd.DataFrame, pl.DataFrame]),
)
def test_chunk_law_on_frames(texts, seed, make):
    rng = np.random.default_rng(seed)
    n = len(texts)
    flags = [None if rng.random() < 0.5 else bool(rng.random() < 0.5) for _ in texts]
    numbers = np.where(rng.random(n) < 0.5, NAN, rng.random(n))
    columns = {"t": texts, "f": flags, "n": numbers}
    frame = make({name: columns[name] for name in rng.permutation(list(columns))})
    whole, known = Schema().encode(frame)
    parts = [frame[i : i + 1] for i in range(n)]
    array, again = one_by_one(Schema(), parts, whole.shape[1], lambda it, part: it.encode(part))
    assert facts(again) == facts(known)
    assert np.array_equal(array, whole, equal_nan=True)


ODD = [
    *(1.5, 0, -3, True, None, NAN, math.inf, -math.inf, 1e100, -1e100, 1.01e100, 10**99, 10**101, 10**400, 2**53 + 1),
    *(np.float64(2.5), np.float32(2.5), np.int64(3), np.bool_(True), np.float64(NAN), np.float32(NAN), pd.NA, pd.NaT),
    *("3.5", "", np.str_("a"), fractions.Fraction(1, 3), decimal.Decimal("2.5"), datetime.date(2020, 1, 1), [1.0], {}),
]


def outcome(call):
    try:
        array, known = call()
    except (ValueError, TypeError) as error:
        return type(error), str(error)
    return array.tolist() if array.size else array.shape, facts(known)


@settings(deadline=None, max_examples=400)
@given(
    values=st.lists(st.one_of(st.floats(-1e6, 1e6), st.sampled_from(ODD)), min_size=3, max_size=3),
    order=st.permutations(["a", "b", "c"]),
    keys=st.sampled_from([3, 3, 3, 2, 0]),
    extra=st.booleans(),
    grow=st.booleans(),
    nominal=st.sampled_from([None, 2.5, "3.5", ""]),
)
def test_the_fast_way_for_one_row_is_the_slow_way(values, order, keys, extra, grow, nominal):
    _, known = Schema().encode([{"a": 1.0, "b": 2.0, "c": 3.0}])
    if nominal is not None:
        _, known = Schema(["b"]).encode([{"a": 1.0, "b": "a", "c": 3.0}, {"b": nominal}, {"b": 1}])
    row = dict(zip(order, values, strict=True))
    row = {name: row[name] for name in order[:keys]}
    if extra:
        row["d"] = 1.0
    fast, slow = outcome(lambda: known.encode_one(row, grow)), outcome(lambda: known.encode([row], grow))
    assert repr(fast) == repr(slow)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:20])
def test_odd_values_in_every_place(place, value):
    row = {"a": 0.5, "b": 0.5, "c": 0.5}
    row["abc"[place]] = value
    for first in ("a", 3, 0.5):
        _, known = Schema(["b"]).encode([{"a": 1.0, "b": first, "c": 3.0}, {"b": "3.5"}])
        fast, slow = outcome(lambda: known.encode_one(row)), outcome(lambda: known.encode([row]))  # noqa: B023
        assert repr(fast) == repr(slow)
    _, known = Schema().encode([{"a": 1.0, "b": 2.0, "c": 3.0}])
    fast, slow = outcome(lambda: known.encode_one(row)), outcome(lambda: known.encode([row]))
    assert repr(fast) == repr(slow)
    if isinstance(value, (str, list, dict, datetime.date)) and value is not pd.NaT:
        assert fast[0] in (ValueError, TypeError)


def test_rows_of_one_are_nobody_elses():
    """A learner may keep what it is given, and threads may ask at the same time."""
    _, known = Schema().encode([{"a": 1.0, "b": 2.0}])
    first, _ = known.encode_one({"a": 3.0, "b": 4.0})
    second, _ = known.encode_one({"a": 5.0, "b": 6.0})
    assert first.tolist() == [[3, 4]]
    assert second.tolist() == [[5, 6]]
    wrong = []

    def ask(number):
        for _ in range(2000):
            row, _ = known.encode_one({"a": number, "b": number})
            if row.tolist() != [[number, number]]:
                wrong.append(row)

    threads = [threading.Thread(target=ask, args=(float(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_most_values(monkeypatch):
    monkeypatch.setattr(schema, "MOST_VALUES", 3)
    array, known = encoded([{"a": text} for text in "uvwxuy"])
    assert np.array_equal(array[:, 0], [0, 1, 2, NAN, 0, NAN], equal_nan=True)
    assert known.vocabularies[0].values == ["u", "v", "w"]
    row, same = known.encode_one({"a": "z"})
    assert same is known, "a full vocabulary is made anew for every row"
    assert np.isnan(row).all()
    array, known = Schema([0]).encode(np.arange(9.0)[:, None])
    assert known.vocabularies[0].values == [0, 1, 2]
    assert np.isnan(array[3:]).all()


def test_default_limit_is_far_away():
    texts = np.array([str(i) for i in range(5000)], object)[:, None]
    array, known = Schema().encode(texts)
    assert array[:, 0].tolist() == list(range(5000))
    assert len(known.vocabularies[0]) < schema.MOST_VALUES


# ---------------------------------------------------------------------------------------------- vocabulary


def test_labels_of_any_kind():
    labels = [("x", 1), ("y", 2), "z", b"z", -5, 2**70, -(2**64), 2.5, frozenset({1}), datetime.date(2020, 1, 1)]
    array = np.empty(len(labels), object)
    array[:] = labels
    codes, known = Vocabulary().encode(array)
    assert codes.tolist() == list(range(len(labels)))
    assert known.values == labels
    assert known.encode(array[::-1], grow=False)[0].tolist() == list(range(len(labels)))[::-1]
    assert known.as_array().dtype == object
    assert known.as_array().tolist() == labels


def test_equal_values_are_one_value():
    """True, 1 and 1.0 are equal in Python; the first of them is kept."""
    array = np.empty(4, object)
    array[:] = [True, 1, 1.0, np.int64(1)]
    codes, known = Vocabulary().encode(array)
    assert codes.tolist() == [0, 0, 0, 0]
    assert known.values == [True]
    assert type(known.values[0]) is bool
    codes, known = Vocabulary([1]).encode(np.array([True, False]))
    assert codes.tolist() == [0, 1]
    assert [type(value) for value in known.values] == [int, bool]
    assert Vocabulary([3, 3.0, np.int8(3)]).values == [3]


def test_numpy_scalars_become_plain():
    scalars = [
        np.int64(3),
        np.str_("a"),
        np.float32(0.1),
        np.bool_(True),
        np.longdouble(0.5),
        np.datetime64("2020-01-01"),
    ]
    array = np.empty(len(scalars) * 2, object)
    array[:] = scalars * 2
    codes, known = Vocabulary().encode(array)
    assert codes.tolist() == [*range(6), *range(6)]
    assert [type(value) for value in known.values] == [int, str, float, bool, float, datetime.date]
    assert known.encode(array)[1] is known
    days = np.empty(2, object)
    days[:] = [np.datetime64(1, "ns")] * 2
    codes, known = Vocabulary().encode(days)
    assert (codes.tolist(), len(known)) == ([0, 0], 1)
    assert known.encode(days)[1] is known


@pytest.mark.parametrize(
    "value", [None, NAN, np.nan, np.float32(NAN), pd.NA, pd.NaT, np.datetime64("NaT"), decimal.Decimal("NaN")], ids=repr
)
def test_missing_has_code_minus_one(value):
    array = np.empty(3, object)
    array[:] = ["a", value, value]
    codes, known = Vocabulary().encode(array)
    assert codes.tolist() == [0, -1, -1]
    assert known.values == ["a"]
    assert known.encode(array, grow=False)[0].tolist() == [0, -1, -1]


def test_missing_in_arrays_of_floats_and_dates():
    for known in (Vocabulary(), Vocabulary([1, 2])):
        codes, longer = known.encode(np.array([1.0, NAN, 2.0]))
        assert codes.tolist() == [0, -1, 1]
        assert longer.values == [1, 2]
    assert Vocabulary().encode(np.array(["2020-01-01", "NaT"], "M8[D]"))[0].tolist() == [0, -1]


def test_what_cannot_be_hashed():
    array = np.empty(1, object)
    array[0] = {"a": 1}
    for known in (Vocabulary(), Vocabulary([1]), Vocabulary(["a"])):
        for grow in (True, False):
            with pytest.raises(TypeError, match="unhashable"):
                known.encode(array, grow)


@pytest.mark.parametrize(
    ("values", "array", "codes"),
    [
        ([-1], np.array([2**64 - 1], np.uint64), [1]),
        ([2**63 - 1], np.array([2**63], np.uint64), [1]),
        ([-(2**63)], np.array([2**63], np.uint64), [1]),
        ([-(2**63)], np.array([2**63 - 1, -(2**63)]), [1, 0]),
        ([2**63 - 1], np.array([-(2**63), -(2**63) + 1]), [1, 1]),
        ([2**70], np.array([1, 2]), [1, 1]),
        ([2**53], np.array([2.0**53, 2.0**53 + 2]), [0, 1]),
        ([2**53 + 1], np.array([2.0**53]), [1]),
        ([math.inf, 1], np.array([math.inf, 1.0, -math.inf]), [0, 1, 2]),
        ([0], np.array([0.5, -0.0, 1e300, -math.inf]), [1, 0, 1, 1]),
        ([1.0, 2.0], np.array([True, False]), [0, 2]),
        ([False, True], np.array([1, 0, 2]), [1, 0, 2]),
        ([1, 2.5], np.array([2.5, 1.0]), [1, 0]),
        ([0.1], np.array([0.1], np.float32), [1]),
    ],
)
def test_numbers_at_the_edges(values, array, codes):
    assert Vocabulary(values).encode(array, grow=False)[0].tolist() == codes


@settings(deadline=None, max_examples=300)
@given(
    values=st.lists(
        st.one_of(st.integers(-5, 5), st.sampled_from([2**16, -(2**16), 2**53, 2**63 - 1, -(2**63), 2**64, True, 2.0])),
        unique=True,
    ),
    array=st.one_of(
        hnp.arrays(np.int64, 6, elements=st.one_of(st.integers(-6, 6), st.sampled_from([2**16, 2**53, -(2**63)]))),
        hnp.arrays(np.float64, 6, elements=st.one_of(st.integers(-6, 6).map(float), st.floats())),
        hnp.arrays(np.uint64, 6, elements=st.one_of(st.integers(0, 6), st.sampled_from([2**63, 2**64 - 1]))),
        hnp.arrays(np.int8, 6, elements=st.integers(-6, 6)),
        hnp.arrays(np.float16, 6, elements=st.integers(-6, 6).map(float)),
        hnp.arrays(bool, 6),
    ),
    grow=st.booleans(),
    stride=st.sampled_from([1, 2, -1]),
)
def test_the_table_says_what_the_dict_says(values, array, grow, stride):
    array = array[::stride]
    known = Vocabulary(values)
    codes, longer = known.encode(array, grow)
    slow = Vocabulary(values)
    slow._table = None
    expected, slow = slow.encode(array.astype(object), grow)
    assert codes.tolist() == expected.tolist()
    assert [(type(v), v) for v in longer.values] == [(type(v), v) for v in slow.values]
    assert longer is known or grow
    again, same = longer.encode(array, grow)
    assert again.tolist() == codes.tolist()
    assert same is longer


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (["b", "a"], "U"),
        ([3, -1], "i"),
        ([True, False], "b"),
        ([0.5, 1.0], "f"),
        ([1, "a"], "O"),
        ([2**63], "O"),
        ([2**63 - 1, -(2**63)], "i"),
        (["a", "a\0"], "O"),
        ([("a", 1), ("b", 2)], "O"),
        ([("a", 1)], "O"),
        ([()], "O"),
        ([1, True + 1], "i"),
        ([1, 2.5], "O"),
        ([], "O"),
    ],
)
def test_as_array(values, dtype):
    array = Vocabulary(values).as_array()
    assert array.dtype.kind == dtype
    assert array.shape == (len(values),)
    assert array.tolist() == values


def test_vocabulary_of_the_first_values():
    known = Vocabulary("abc")
    assert known.first(3) is known
    assert known.first(2).values == ["a", "b"]
    assert known.values == ["a", "b", "c"]


@pytest.mark.parametrize(
    "array", [np.array(["b", "a", "b"]), np.array([b"b", b"a", b"b"]), np.array(["b", "a", "b"], "O")]
)
def test_arrays_of_texts(array):
    codes, known = Vocabulary().encode(array)
    assert codes.tolist() == [0, 1, 0]
    assert known.encode(array, grow=False)[0].tolist() == [0, 1, 0]


def test_copies_of_a_vocabulary():
    known = Vocabulary([5, -2, 2**70, "a", ("b", None)])
    for other in (
        pickle.loads(pickle.dumps(known)),
        copy.deepcopy(known),
        checkpoint.from_bytes(checkpoint.to_bytes(known)),
    ):
        assert (other.values, other.index) == (known.values, known.index)
