"""Four numbers at a time: what numba lacks for loops over a handful of attributes.

The compiler turns loops into vector instructions only where they are long; a row has eight attributes, or ten. So
the few loops that every row passes say it themselves: ``load`` takes four neighbours out of an array, arithmetic
works on all four, ``store`` puts them back. Every lane is an IEEE double (or single) of its own, and nothing is
reordered, so results are the same on every machine, whether it has vectors of that width or not.

Arrays whose length is a multiple of four (see :func:`padded`) need no loop for what is left over.
"""

from __future__ import annotations

import math
import operator
from typing import Any, ClassVar

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, models, register_model

from anabranch.kernels import kernel

__all__ = ["LANES", "exponent", "finite_or_one", "fraction", "larger", "load", "log2", "narrow", "outside", "padded",
           "product", "smaller", "splat", "store", "total", "with_ones", "without_nan"]  # fmt: skip

LANES = 4


def padded(n: int) -> int:
    """Round up to a multiple of four."""
    return (n + LANES - 1) // LANES * LANES


class _Four(types.Type):
    """Four numbers of one kind in a vector register."""

    def __init__(self, kind: types.Float) -> None:
        self.kind = kind
        super().__init__(name=f"Four({kind})")


@register_model(_Four)
class _FourModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, of: _Four) -> None:
        super().__init__(manager, of, ir.VectorType(manager.lookup(of.kind).get_value_type(), LANES))


_DOUBLES, _SINGLES = _Four(types.float64), _Four(types.float32)
_FOUR = {types.float64: _DOUBLES, types.float32: _SINGLES}


def _spread(builder: Any, number: Any) -> Any:
    """Four times one number."""
    vector = ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined)
    for lane in range(LANES):
        vector = builder.insert_element(vector, number, ir.Constant(ir.IntType(32), lane))
    return vector


def _arithmetic(operation: Any, instruction: str) -> None:
    """Teach numba an operation on two fours, or a four and a number."""
    pairs = [(_DOUBLES, _DOUBLES), (types.float64, _DOUBLES), (_DOUBLES, types.float64)]

    class Typing(ConcreteTemplate):  # type: ignore[misc]
        key = operation
        cases: ClassVar[list[Any]] = [signature(_DOUBLES, a, b) for a, b in pairs]

    infer_global(operation)(Typing)
    for pair in pairs:

        @lower_builtin(operation, *pair)
        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            a, b = (
                value if isinstance(kind, _Four) else _spread(builder, value)
                for value, kind in zip(args, sig.args, strict=True)
            )
            return getattr(builder, instruction)(a, b)


for _operation, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _arithmetic(_operation, _instruction)


def _address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    data = builder.gep(context.make_array(kind)(context, builder, array).data, [at])
    return builder.bitcast(data, ir.VectorType(context.get_data_type(kind.dtype), LANES).as_pointer())


def _flat(array: Any) -> bool:
    return isinstance(array, types.Array) and array.layout == "C" and array.dtype in _FOUR


@intrinsic
def load(typing: Any, array: Any, at: Any) -> Any:
    """Take four neighbours from a contiguous array, counted as if it were flat."""
    if not _flat(array):
        return None

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(_address(context, builder, sig.args[0], *args), align=array.dtype.bitwidth // 8)

    return _FOUR[array.dtype](array, types.intp), generate


@intrinsic
def store(typing: Any, array: Any, at: Any, four: Any) -> Any:
    """Put four neighbours into a contiguous array."""
    if not _flat(array) or four is not _FOUR[array.dtype]:
        return None

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address = _address(context, builder, sig.args[0], *args[:2])
        builder.store(args[2], address, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, four), generate


@intrinsic
def splat(typing: Any, number: Any) -> Any:
    """Four times one number."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _spread(builder, args[0])

    return _DOUBLES(types.float64), generate


@intrinsic
def total(typing: Any, four: Any) -> Any:
    """Sum of the lanes, in this order: (first + second) + (third + fourth)."""
    return types.float64(_DOUBLES), _in_pairs("fadd")


@intrinsic
def product(typing: Any, four: Any) -> Any:
    """Product of the lanes, in pairs."""
    return types.float64(_DOUBLES), _in_pairs("fmul")


def _in_pairs(instruction: str) -> Any:
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        a, b, c, d = (builder.extract_element(args[0], ir.Constant(ir.IntType(32), lane)) for lane in range(LANES))
        join = getattr(builder, instruction)
        return join(join(a, b), join(c, d))

    return generate


@intrinsic
def without_nan(typing: Any, four: Any) -> Any:
    """Zero in place of NaN."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        zero = ir.Constant(args[0].type, [0.0] * LANES)
        return builder.select(builder.fcmp_ordered("ord", args[0], zero), args[0], zero)

    return _DOUBLES(_DOUBLES), generate


@intrinsic
def finite_or_one(typing: Any, four: Any) -> Any:
    """One in place of infinity."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        one, infinite = (ir.Constant(args[0].type, [value] * LANES) for value in (1.0, math.inf))
        return builder.select(builder.fcmp_ordered("!=", args[0], infinite), args[0], one)

    return _DOUBLES(_DOUBLES), generate


@intrinsic
def with_ones(typing: Any, four: Any, kept: Any) -> Any:
    """One in place of all lanes but the first ``kept``."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        one = ir.Constant(args[0].type, [1.0] * LANES)
        lane = ir.Constant(ir.VectorType(args[1].type, LANES), list(range(LANES)))
        return builder.select(builder.icmp_signed("<", lane, _spread(builder, args[1])), args[0], one)

    return _DOUBLES(_DOUBLES, types.intp), generate


@intrinsic
def narrow(typing: Any, four: Any) -> Any:
    """Round to single precision."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.fptrunc(args[0], ir.VectorType(ir.FloatType(), LANES))

    return _SINGLES(_DOUBLES), generate


def _pick(comparison: str) -> Any:
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(comparison, *args), *args)

    return generate


@intrinsic
def outside(typing: Any, four: Any, low: Any, high: Any) -> Any:
    """Whether any of the four is smaller than ``low``'s, or larger than ``high``'s, in its lane."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        four, low, high = args
        lanes = builder.or_(builder.fcmp_ordered("<", four, low), builder.fcmp_ordered(">", four, high))
        bits = builder.bitcast(lanes, ir.IntType(LANES))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return types.boolean(_SINGLES, _SINGLES, _SINGLES), generate


@intrinsic
def smaller(typing: Any, a: Any, b: Any) -> Any:
    """Lane by lane ``a`` where it is smaller, else ``b``."""
    return _SINGLES(_SINGLES, _SINGLES), _pick("<")


@intrinsic
def larger(typing: Any, a: Any, b: Any) -> Any:
    """Lane by lane ``a`` where it is larger, else ``b``."""
    return _SINGLES(_SINGLES, _SINGLES), _pick(">")


# Bits of sqrt(0.5): what is less has an exponent of its own, so that fractions lie around 1.
_ROOT_HALF = 0x3FE6A09E667F3BCD
_EXPONENT = -1 << 52  # sign and exponent
_SHIFT = 0x4338000000000000  # added to a whole number, gives the bits of 1.5 * 2**52 + that number


def _bits(builder: Any, four: Any) -> tuple[Any, Any]:
    """The bits of four numbers, and what is beyond sqrt(0.5)."""
    bits = builder.bitcast(four, ir.VectorType(ir.IntType(64), LANES))
    return bits, builder.sub(bits, _four_times(_ROOT_HALF))


def _four_times(value: int) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(64), LANES), [value] * LANES)


@intrinsic
def exponent(typing: Any, four: Any) -> Any:
    """The whole number e in number = 2^e * fraction, for positive numbers; -1023 for zero."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        beyond = _bits(builder, args[0])[1]
        whole = builder.add(builder.ashr(beyond, _four_times(52)), _four_times(_SHIFT))
        return builder.fsub(builder.bitcast(whole, args[0].type), ir.Constant(args[0].type, [1.5 * 2.0**52] * LANES))

    return _DOUBLES(_DOUBLES), generate


@intrinsic
def fraction(typing: Any, four: Any) -> Any:
    """The fraction in number = 2^e * fraction, from sqrt(0.5) to sqrt(2), for positive numbers; 1 for zero."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        bits, beyond = _bits(builder, args[0])
        return builder.bitcast(builder.sub(bits, builder.and_(beyond, _four_times(_EXPONENT))), args[0].type)

    return _DOUBLES(_DOUBLES), generate


@kernel(inline=True)
def log2(four):
    """Logarithm to base 2 of positive numbers, off by a few units in the last place; a finite number for zero."""
    m = fraction(four)
    s = (m - 1.0) / (m + 1.0)
    # log(m) = 2 artanh(s) = 2 (s + s^3 / 3 + s^5 / 5 + ...), and s^2 < 0.0295
    q = s * s
    series = splat(1.0 / 21.0)
    for n in (19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0):
        series = series * q + 1.0 / n
    return exponent(four) + s * series * _TWO_OVER_LN_2


_TWO_OVER_LN_2 = 2.0 / math.log(2.0)
