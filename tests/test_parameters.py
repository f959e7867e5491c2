"""What constructor parameters may be."""

from __future__ import annotations

import decimal
import fractions
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch._parameters import Columns, Flag, Number, OneOf, check_parameters


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        (Number(), [0, -1.5, 10**400, math.inf, np.float32(1.5), np.int8(3), fractions.Fraction(1, 3)], [math.nan]),
        (Number(0), [0, 0.0, -0.0, 5e-324, np.int64(0), math.inf], [-1, -5e-324, np.float64(-1), -math.inf, math.nan]),
        (Number(0, open_low=True), [5e-324, 1], [0, -0.0, np.float32(0), -1]),
        (Number(high=1), [-math.inf, 1, np.float64(1)], [1.0000001, 2, math.inf]),
        (Number(0, 1), [0, 1, 0.5], [-0.1, 1.1, np.float32("nan"), 10**400, -(10**400)]),
        (Number(0, 1, open_low=True, open_high=True), [0.5, np.nextafter(1, 0)], [0, 1, 1.0, 0.0]),
        (Number(0, 0.5, open_high=True), [0, 0.49], [0.5]),
        (Number(1, integer=True), [1, np.int64(5), np.uint8(1), 10**400], [0, -1, np.int8(0)]),
        (Number(0, optional=True), [None, 0], [-1]),
        (OneOf(("a", "b")), ["a", "b", np.str_("a")], ["c", "", "A", None, 1, ["a"], {"a"}, b"a"]),
    ],
    ids=lambda value: str(value) if not isinstance(value, list) else "values",  # lists hold objects without a name
)
def test_range(constraint, good, bad):
    for value in good:
        assert constraint.check("it", value) is None
    for value in bad:
        with pytest.raises(ValueError, match=r"^it must be"):
            constraint.check("it", value)


@pytest.mark.parametrize(
    ("constraint", "bad"),
    [
        (
            Number(),
            [None, True, False, np.bool_(True), "1", [1], np.array([1]), np.array(1), 1j, decimal.Decimal(1), object()],
        ),
        (Number(0, integer=True), [1.0, np.float64(2), True, "1", None, fractions.Fraction(1, 2), math.nan]),
        (Number(0, optional=True), [True, "None", [], math.nan * 1j]),
        (Flag(), [0, 1, None, "True", [], np.int8(1), np.array([True]), 1.0]),
        (
            Columns(),
            ["abc", b"abc", 3, 1.5, True, object(), [1.0], [True], [None], [np.bool_(True)], [["a"]], np.array([1.5])],
        ),
        (Columns(), [np.array(1), np.array([[1]]), [b"a"], ["a", 1.5], {"a": 1}.items(), iter([1]), (j for j in [1])]),
    ],
    ids=lambda value: str(value) if not isinstance(value, list) else "values",  # lists hold objects without a name
)
def test_kind(constraint, bad):
    for value in bad:
        with pytest.raises(TypeError, match=r"^it must (be|hold)"):
            constraint.check("it", value)


def test_what_flags_and_columns_take():
    for value in (True, False, np.bool_(True), np.bool_(False)):
        assert Flag().check("it", value) is None
    for value in (
        None,
        [],
        (),
        [0, -1, "a"],
        ("a",),
        {"a"},
        np.array([0, 2]),
        np.array(["a"]),
        range(3),
        [np.int64(1)],
    ):
        assert Columns().check("it", value) is None


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        (Number(), "a number"),
        (Number(0), "a number of at least 0"),
        (Number(0, open_low=True), "a number above 0"),
        (Number(high=1), "a number of at most 1"),
        (Number(0, 1, open_low=True, open_high=True), "a number above 0 and below 1"),
        (Number(1024, integer=True, optional=True), "a whole number of at least 1024 or None"),
        (Number(0, 0.5, open_high=True), "a number of at least 0 and below 0.5"),
    ],
)
def test_words(constraint, text):
    assert str(constraint) == text
    with pytest.raises((TypeError, ValueError), match=rf"^delta must be {text}, got \[\]\.$"):
        constraint.check("delta", [])


def test_suggestion():
    with pytest.raises(
        ValueError, match=r"^criterion must be one of 'gini', 'info_gain', got 'ginny'\. Did you mean 'gini'\?"
    ):
        OneOf(("gini", "info_gain")).check("criterion", "ginny")
    with pytest.raises(ValueError, match=r"got 'zzz'\.$"):
        OneOf(("gini", "info_gain")).check("criterion", "zzz")


@given(
    value=st.one_of(st.integers(), st.floats()),
    low=st.one_of(st.none(), st.floats(-10, 10)),
    high=st.one_of(st.none(), st.floats(-10, 10)),
    open_low=st.booleans(),
    open_high=st.booleans(),
)
def test_bounds(value, low, high, open_low, open_high):
    fits = value == value
    if low is not None:
        fits = fits and (value > low or (value == low and not open_low))
    if high is not None:
        fits = fits and (value < high or (value == high and not open_high))
    constraint = Number(low, high, open_low=open_low, open_high=open_high)
    if fits:
        assert constraint.check("it", value) is None
    else:
        with pytest.raises(ValueError, match="it must be"):
            constraint.check("it", value)


def test_check_parameters():
    constraints = {"a": Number(0), "b": Flag()}
    assert check_parameters(constraints, {"a": 1, "b": True, "free": object()}) is None
    with pytest.raises(ValueError, match=r"^a must be"):
        check_parameters(constraints, {"a": -1, "b": True})
    with pytest.raises(TypeError, match=r"^b must be"):
        check_parameters(constraints, {"a": 1, "b": 2})
