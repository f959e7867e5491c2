"""Four numbers at a time, and many arrays as one."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

from anabranch.kernels import hoeffding, kernel
from anabranch.kernels.bundle import Bundle, matrix, vector
from anabranch.kernels.vector import (
    LANES,
    exponent,
    fraction,
    larger,
    load,
    log2,
    narrow,
    outside,
    padded,
    product,
    smaller,
    splat,
    store,
    total,
    with_ones,
    without_nan,
)

# ---------------------------------------------------------------------------------------------- vectors


@kernel
def arithmetic(a, b, number, out):
    for j in range(0, a.size, LANES):
        x = load(a, j)
        y = load(b, j)
        store(out, j, (x + y) * (x - y) / y + number * x - y / number + (number - x))


@kernel
def reduced(a, out):
    for j in range(0, a.size, LANES):
        out[j] = total(load(a, j))
        out[j + 1] = product(load(a, j))


@kernel
def filled(a, kept, out):
    for j in range(0, a.size, LANES):
        store(out, j, with_ones(without_nan(load(a, j)), kept))


@kernel
def spread(number, out):
    store(out, 0, splat(number))


@kernel
def ranges(a, low, high):
    hits = 0
    for j in range(0, a.size, LANES):
        values = narrow(load(a, j))
        hits += outside(values, load(low, j), load(high, j))
        store(low, j, smaller(values, load(low, j)))
        store(high, j, larger(values, load(high, j)))
    return hits


@kernel
def logarithms(a, whole, rest, out):
    for j in range(0, a.size, LANES):
        store(whole, j, exponent(load(a, j)))
        store(rest, j, fraction(load(a, j)))
        store(out, j, log2(load(a, j)))


@kernel
def normal(z, out):
    for i in range(z.size):
        out[i] = hoeffding._normal_cdf(z[i])


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def test_padded():
    assert [padded(n) for n in range(10)] == [0, 4, 4, 4, 4, 8, 8, 8, 8, 12]


def test_arithmetic_is_numpys_to_the_last_bit(rng):
    a, b = rng.standard_normal((2, 400)) * 10.0 ** rng.integers(-50, 50, (2, 400))
    a[:8], b[:8] = (
        [0.0, np.inf, -np.inf, np.nan, 1.0, -0.0, 5e-324, 1e308],
        [0.0, 1.0, np.inf, 1.0, np.nan, 0.0, 1, 1e308],
    )
    out = np.empty(400)
    arithmetic(a, b, 3.0, out)
    with np.errstate(all="ignore"):
        expected = (a + b) * (a - b) / b + 3.0 * a - b / 3.0 + (3.0 - a)
    np.testing.assert_array_equal(out, expected)


def test_sums_and_products_are_taken_in_pairs(rng):
    a = rng.standard_normal(400)
    out = np.empty(400)
    reduced(a, out)
    w, x, y, z = a.reshape(-1, LANES).T
    np.testing.assert_array_equal(out[::LANES], (w + x) + (y + z))
    np.testing.assert_array_equal(out[1::LANES], (w * x) * (y * z))


@pytest.mark.parametrize("kept", range(LANES + 2))
def test_gaps_and_rests(kept):
    a = np.array([1.5, np.nan, -np.inf, 4.0])
    out = np.empty(LANES)
    filled(a, kept, out)
    assert out.tolist() == [1.5, 0.0, -math.inf, 4.0][:kept] + [1.0] * (LANES - kept)
    spread(2.5, out)
    assert out.tolist() == [2.5] * LANES


def test_ranges(rng):
    a = rng.standard_normal(40)
    low, high = np.full(40, -1.0, np.float32), np.full(40, 1.0, np.float32)
    single = a.astype(np.float32)
    beyond = ((single < -1) | (single > 1)).reshape(-1, LANES).any(axis=1).sum()
    assert 0 < beyond < 10
    assert ranges(a, low, high) == beyond
    np.testing.assert_array_equal(low, np.minimum(single, np.float32(-1)))
    np.testing.assert_array_equal(high, np.maximum(single, np.float32(1)))
    assert ranges(a, low, high) == 0


def test_log2(rng):
    a = np.concatenate(
        [rng.random(400), 1 - 1e-9 * rng.random(400), 10.0 ** rng.uniform(-300, 300, 400), 2.0 ** np.arange(-8, 8)]
    )
    whole, rest, out = np.empty((3, a.size))
    logarithms(a, whole, rest, out)
    np.testing.assert_array_equal(rest * 2.0**whole, a)
    assert ((rest >= math.sqrt(0.5)) & (rest < math.sqrt(2.0) * (1 + 1e-15))).all()
    np.testing.assert_allclose(out, np.log2(a), rtol=1e-15, atol=0)
    np.testing.assert_array_equal(out[-16:], np.arange(-8, 8))  # pure nodes have an impurity of exactly 0
    logarithms(np.zeros(4), whole[:4], rest[:4], out[:4])
    assert (0.0 * out[:4] == 0.0).all()


def test_normal_distribution(rng):
    z = np.concatenate(
        [rng.uniform(-9, 9, 4000), [-8.0, 8.0, 0.0, -40.0, 40.0, -np.inf, np.inf], np.arange(-8, 8, 1 / 16)]
    )
    out = np.empty(z.size)
    normal(z, out)
    expected = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in z])
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=0)
    assert (out >= 0).all()
    assert (out <= 1).all()


# ---------------------------------------------------------------------------------------------- bundles


@kernel
def change(table):
    a = matrix(table, 0, np.float64)
    b = vector(table, 1, np.int32)
    c = matrix(table, 2, np.bool_)
    a[1, 2] += 5.0
    b[-1] = a.shape[0] * 10 + a.shape[1]
    c[0, 1] = True
    return a.sum() + b.size


def test_compiled_code_sees_the_arrays_of_a_bundle():
    a, b, c = np.arange(6.0).reshape(2, 3), np.zeros(4, np.int32), np.zeros((1, 2), np.bool_)
    bundle = Bundle([a, b, c])
    assert change(bundle.table) == 15 + 5 + 4
    assert a[1, 2] == 10
    assert b.tolist() == [0, 0, 0, 23]
    assert c.tolist() == [[False, True]]


def test_a_copy_of_a_bundle_is_empty():
    bundle = Bundle([np.zeros((2, 2))])
    for other in (copy.copy(bundle), copy.deepcopy(bundle), pickle.loads(pickle.dumps(bundle))):
        assert other.arrays is None
        assert other.table.shape == (0, 3)


@pytest.mark.parametrize("array", [np.zeros((4, 4))[:, :2], np.zeros((4, 4)).T[:2], np.zeros(8)[::2]])
def test_a_bundle_refuses_what_is_not_contiguous(array):
    with pytest.raises(ValueError, match="contiguous"):
        Bundle([array])
