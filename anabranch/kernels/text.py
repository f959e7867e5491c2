"""Delimited text and svmlight lines, from bytes to cells and numbers.

What is in these kernels is the common case at full speed. Whatever they are not sure of they hand back marked, and
the readers in ``anabranch.stream`` decide on it in plain Python.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from anabranch.kernels import kernel

# What is wrong with a row: the first column of `troubles`.
COUNT = 1  # it has too few or too many cells
STRAY = 2  # something other than a delimiter follows a closing quotation mark
OPEN = 3  # the file ends within quotation marks
SPARSE = 4  # nothing is wrong: it stands in braces, as ARFF writes sparse rows
FORMAT = 5  # svmlight: neither a label nor index:value

# What a cell is.
BARE, QUOTED, ESCAPED = 0, 1, 2

# What came of a cell that should be a number.
CLEAR, UNCLEAR = 0, 1

_LF, _CR, _SPACE, _TAB = 10, 13, 32, 9
_BRACE, _BRACE_END = 123, 125
_HASH, _COLON = 35, 58


@kernel(inline=False)
def _line_end(data, i, end):
    """The first place from `i` on where a line ends; `end` if none does."""
    while i < end and data[i] != _LF and data[i] != _CR:
        i += 1
    return i


@kernel
def split(data, begin, end, final, n_columns, dialect, starts, ends, kinds, rows, troubles):
    """Cut text into rows and cells.

    Parameters
    ----------
    data : uint8 array
        The text; bytes from `begin` to `end` are looked at. It is aligned, and at least
        16 bytes follow that are zero.
    final : bool
        Whether nothing follows: then the last row needs no line end.
    n_columns : int
        Cells that a row has to have.
    dialect : int64 array
        Delimiter; two quotation marks; escape character; comment character (-1 each for none); whether the text is
        ARFF: spaces around cells do not count, rows in braces are sparse, and a cell too many may be a weight.
    starts, ends, kinds : arrays of shape (capacity, n_columns)
        Filled with the cells of the good rows: where they start and end, and whether they are quoted.
    rows : int64 array of shape (capacity, 4)
        Filled: line (from 0), first byte, end, and first byte of the weight or -1.
    troubles : int64 array of shape (any, 6)
        Filled with the rows that are not as they should be: what is wrong, line, first byte, end, number of cells,
        number of good rows before.

    Returns
    -------
    tuple
        Number of good rows, of others, the place up to which the text has been dealt with, and the lines until there.
        It stops short of `end` where a row is not complete or an output array is full.
    """
    delimiter, quote, other_quote, escape, comment = dialect[0], dialect[1], dialect[2], dialect[3], dialect[4]
    arff = dialect[5] != 0
    n = n_troubles = line = 0
    i = begin
    while i < end and n < len(rows) and n_troubles < len(troubles):
        row_begin, row_line = i, line
        if arff:
            while i < end and (data[i] == _SPACE or data[i] == _TAB):
                i += 1
        # Lines that hold no row.
        if i < end and (data[i] == comment or (arff and (data[i] == _LF or data[i] == _CR))):
            i = _line_end(data, i, end)
        if i < end and (data[i] == _LF or data[i] == _CR) and (i == row_begin or arff or data[row_begin] == comment):
            if data[i] == _CR:
                if i + 1 == end and not final:
                    return n, n_troubles, row_begin, row_line
                if i + 1 < end and data[i + 1] == _LF:
                    i += 1
            i += 1
            line += 1
            continue
        if i >= end and final and i > row_begin and (arff or data[row_begin] == comment):
            return n, n_troubles, end, line  # nothing but spaces or a comment
        trouble = 0
        sparse = arff and i < end and data[i] == _BRACE
        column = 0
        weight = -1
        while True:
            if arff:
                while i < end and (data[i] == _SPACE or data[i] == _TAB):
                    i += 1
            start = i
            kind = BARE
            if i < end and not sparse and (data[i] == quote or data[i] == other_quote):
                mark = data[i]
                kind = QUOTED
                i += 1
                start = i
                closed = False
                while i < end:
                    c = data[i]
                    if c == escape:
                        kind = ESCAPED
                        i += 1
                        if i < end and (
                            data[i] == _LF or (data[i] == _CR and not (i + 1 < end and data[i + 1] == _LF))
                        ):
                            line += 1
                    elif c == mark:
                        if escape < 0 and i + 1 < end and data[i + 1] == mark:
                            kind = ESCAPED
                            i += 1
                        else:
                            closed = True
                            break
                    elif c == _LF or (c == _CR and not (i + 1 < end and data[i + 1] == _LF)):
                        line += 1
                    i += 1
                if not closed or (i + 1 == end and not final):
                    if not final:
                        return n, n_troubles, row_begin, row_line
                    trouble = OPEN
                    i = end
                stop = min(i, end)
                i = min(i + 1, end)
                if arff:
                    while i < end and (data[i] == _SPACE or data[i] == _TAB):
                        i += 1
                if i < end and data[i] != delimiter and data[i] != _LF and data[i] != _CR:
                    trouble = STRAY
                    while i < end and data[i] != delimiter and data[i] != _LF and data[i] != _CR:
                        i += 1
            else:
                if sparse:
                    # Its cells are told apart elsewhere; only its end matters.
                    inside = -1
                    while i < end:
                        c = np.int64(data[i])
                        if inside >= 0:
                            if c == escape:
                                i += 1
                            elif c == inside:
                                inside = -1
                        elif c == quote or c == other_quote:
                            inside = c
                        if c == _LF or c == _CR:
                            break
                        i += 1
                    i = min(i, end)
                    trouble = SPARSE
                else:
                    while i < end:
                        c = data[i]
                        if c == delimiter or c == _LF or c == _CR:
                            break
                        i += 1
                stop = i
                if arff:
                    while stop > start and (data[stop - 1] == _SPACE or data[stop - 1] == _TAB):
                        stop -= 1
            if column < n_columns:
                starts[n, column] = start
                ends[n, column] = stop
                kinds[n, column] = kind
            elif (
                arff
                and column == n_columns
                and stop - start >= 2
                and data[start] == _BRACE
                and data[stop - 1] == _BRACE_END
            ):
                weight = start
                column -= 1  # it is none of them
            column += 1
            if i >= end:
                if not final:
                    return n, n_troubles, row_begin, row_line
                row_end = end
                break
            if data[i] == delimiter and not sparse:
                i += 1
                continue
            row_end = i
            if data[i] == _CR:
                if i + 1 == end and not final:
                    return n, n_troubles, row_begin, row_line
                if i + 1 < end and data[i + 1] == _LF:
                    i += 1
            i += 1
            line += 1
            break
        if trouble == 0 and column != n_columns:
            trouble = COUNT
        if trouble == 0:
            rows[n, 0] = row_line
            rows[n, 1] = row_begin
            rows[n, 2] = row_end
            rows[n, 3] = weight
            n += 1
        else:
            troubles[n_troubles, 0] = trouble
            troubles[n_troubles, 1] = row_line
            troubles[n_troubles, 2] = row_begin
            troubles[n_troubles, 3] = row_end
            troubles[n_troubles, 4] = column
            troubles[n_troubles, 5] = n
            n_troubles += 1
    return n, n_troubles, i, line


# ---------------------------------------------------------------------------------------------- numbers

_U0, _U1, _U3, _U9, _U32, _U63 = (np.uint64(value) for value in (0, 1, 3, 9, 32, 63))
_TEN = np.uint64(10)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_NINE_BITS = np.uint64(0x1FF)
_HIDDEN = np.uint64(1 << 52)
_CARRY = np.uint64(1 << 53)
_SMALLEST, _LARGEST = -342, 308  # decimal exponents between which there are finite numbers of 19 digits


def _powers_of_five():
    """5 to the power of q as 128 bits with the highest one set.

    (D. Lemire, "Number Parsing at a Gigabyte per Second", Software: Practice and Experience 51, 2021, section 5.)
    """
    table = np.zeros((_LARGEST - _SMALLEST + 1, 2), np.uint64)
    for q in range(_SMALLEST, _LARGEST + 1):
        power = 5 ** abs(q)
        if q < 0:
            bits = (power - 1).bit_length()
            power = (1 << (bits + 127 if q >= -27 else 2 * bits + 128)) // power + 1
        excess = power.bit_length() - 128
        value = power >> excess if excess > 0 else power << -excess
        table[q - _SMALLEST] = value >> 64, value & (1 << 64) - 1
    return table


POWERS = _powers_of_five()


@intrinsic
def _product(typing: Any, a: Any, b: Any) -> Any:
    """High and low half of a product of two 64-bit numbers."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        long, word = ir.IntType(128), ir.IntType(64)
        whole = builder.mul(*[builder.zext(arg, long) for arg in args])
        halves = builder.lshr(whole, ir.Constant(long, 64)), whole
        return cgutils.pack_array(builder, [builder.trunc(half, word) for half in halves])

    return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), generate  # type: ignore[attr-defined]


@intrinsic
def _leading_zeros(typing: Any, value: Any) -> Any:
    """How many of the 64 bits of a number other than 0 are 0 before the highest that is set."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


@kernel(inline=True)
def _to_bits(digits, q, powers):
    """The bits of the double nearest to digits * 10 ** q, and whether that is certain (Lemire's algorithm 1)."""
    if digits == _U0:
        return _U0, True
    if q < _SMALLEST or q > _LARGEST:
        return _U0, False
    shift = _leading_zeros(digits)
    w = digits << np.uint64(shift)
    high, low = _product(w, powers[q - _SMALLEST, 0])
    if high & _NINE_BITS == _NINE_BITS:
        more, _ = _product(w, powers[q - _SMALLEST, 1])
        low += more
        if low < more:
            high += _U1
    if low == _ALL and (q < -27 or q > 55):
        return _U0, False
    upper = np.int64(high >> _U63)
    mantissa = high >> np.uint64(upper + 9)
    exponent = ((217706 * q) >> 16) + 63 + upper - shift + 1023
    if exponent <= 0 or exponent >= 2046:
        return _U0, False  # subnormal, or next to infinity
    if low <= _U1 and q >= -4 and q <= 23 and mantissa & _U3 == _U1 and mantissa << np.uint64(upper + 9) == high:
        mantissa &= ~_U1  # exactly half way: to the even one
    mantissa = (mantissa + (mantissa & _U1)) >> _U1
    if mantissa >= _CARRY:
        mantissa = _HIDDEN
        exponent += 1
    return (mantissa & ~_HIDDEN) | (np.uint64(exponent) << np.uint64(52)), True


_ZEROS = np.uint64(0x3030303030303030)
_LOW_SEVEN = np.uint64(0x7F7F7F7F7F7F7F7F)
_TO_EIGHTY = np.uint64(0x7676767676767676)  # what lifts 10 and above, but no digit, to 0x80
_HIGHEST = np.uint64(0x8080808080808080)
_LOWEST = np.uint64(0x0101010101010101)
_BYTES_0_4 = np.uint64(0x000000FF000000FF)
_TENS_EVEN = np.uint64((10**6 << 32) + 100)
_TENS_ODD = np.uint64((10**4 << 32) + 1)
_U8, _U16, _U56, _U64 = (np.uint64(value) for value in (8, 16, 56, 64))
_TENS = np.array([10**n for n in range(9)], np.uint64)
_LITTLE = sys.byteorder == "little"


@intrinsic
def _eight(typing: Any, data: Any, i: Any) -> Any:
    """The eight bytes from place `i` on, which must all be there, the first one lowest."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        word = ir.IntType(64)
        bytes_ = context.make_array(sig.args[0])(context, builder, args[0])
        return builder.load(builder.bitcast(builder.gep(bytes_.data, [args[1]]), word.as_pointer()), align=1)

    return types.uint64(data, types.int64), generate


@kernel(inline=True)
def _value_of_eight(eight):
    """What eight digits say: pairs are joined, then pairs of pairs, and so on, all at once."""
    eight -= _ZEROS
    eight = eight * _TEN + (eight >> _U8)
    even, odd = eight & _BYTES_0_4, (eight >> _U16) & _BYTES_0_4
    return (even * _TENS_EVEN + odd * _TENS_ODD) >> _U32


@kernel(inline=True)
def _digits(data, i, digits):
    """Read on the digits of a number: where they end, and all of them as a number."""
    while _LITTLE:
        eight = _eight(data, i)
        apart = eight ^ _ZEROS
        other = ((apart & _LOW_SEVEN) + _TO_EIGHTY | apart) & _HIGHEST  # set where there is no digit
        n = 8
        if other != _U0:
            # The lowest of them, minus one, has a bit in each byte below it and in its own.
            n = np.int64(((((other & (~other + _U1)) - _U1) & _LOWEST) * _LOWEST) >> _U56) - 1
            if n == 0:
                break
            spare = np.uint64(8 * (8 - n))
            eight = eight << spare | _ZEROS >> (_U64 - spare)  # with zeros before what there is
        digits = digits * _TENS[n] + _value_of_eight(eight)
        i += n
        if n < 8:
            break
    while not _LITTLE and 48 <= data[i] <= 57:
        digits = digits * _TEN + np.uint64(data[i]) - np.uint64(48)
        i += 1
    return i, digits


@kernel(inline=False)
def _leading_places(data, i):
    """How many digits of the number at place `i` are zeros before all others."""
    n = 0
    while data[i] == 48 or data[i] == 46:
        n += data[i] == 48
        i += 1
    return n


_NAN = np.array([np.nan]).view(np.uint64)[0]
_SIGN = np.uint64(1 << 63)


@kernel(inline=True)
def _number(data, i, powers):
    """The bits of the number that begins at place `i`, whether they are certain, and where it ends."""
    negative = data[i] == 45
    if negative or data[i] == 43:
        i += 1
    q = np.int64(0)
    start = i
    i, digits = _digits(data, i, _U0)
    n_places = i - start
    if data[i] == 46:
        point = i + 1
        i, digits = _digits(data, point, digits)
        q = point - i
        n_places -= q
    certain = n_places > 0 and (n_places <= 19 or n_places - _leading_places(data, start) <= 19)
    if data[i] == 101 or data[i] == 69:
        i += 1
        downward = data[i] == 45
        if downward or data[i] == 43:
            i += 1
        start = i
        power = np.int64(0)
        while 48 <= data[i] <= 57:
            power = min(power * 10 + np.int64(data[i]) - 48, 100_000)
            i += 1
        certain = certain and i > start
        q += -power if downward else power
    bits, near = _to_bits(digits, q, powers)
    return bits | _SIGN if negative else bits, certain and near, i


@kernel(inline=True)
def _parse(data, i, stop, powers, missing):
    """The bits of the number that stands in data[i:stop], and whether it is one for certain.

    `missing` says how missing values are written: 0 as CSV files have them, 1 by ? alone, 2 not at all.
    """
    while i < stop and (data[i] == _SPACE or data[i] == _TAB):
        i += 1
    while stop > i and (data[stop - 1] == _SPACE or data[stop - 1] == _TAB):
        stop -= 1
    length = stop - i
    if missing < 2 and length < 4:
        if length == 0:
            return _NAN, missing == 0
        if length == 1 and data[i] == 63:  # ?
            return _NAN, True
        if missing == 0 and length == 2 and data[i] == 78 and data[i + 1] == 65:  # NA
            return _NAN, True
        if (
            missing == 0
            and length == 3
            and data[i + 1] == 97  # nan, NaN
            and ((data[i] == 110 and data[i + 2] == 110) or (data[i] == 78 and data[i + 2] == 78))
        ):
            return _NAN, True
    if length == 0:
        return _U0, False
    bits, certain, end = _number(data, i, powers)
    return bits, certain and end == stop


@kernel
def numbers(data, starts, ends, columns, missing, powers, bits, clear):
    """Read the cells of some columns as numbers.

    Parameters
    ----------
    data : uint8 array
    starts, ends : arrays of shape (n, all columns)
        The cells, from :func:`split`.
    columns : int64 array
        Which columns.
    missing : int
        How missing values are written: 0 as in CSV, 1 as in ARFF.
    powers : uint64 array
        :data:`POWERS`.
    bits : uint64 array of shape (n, len(columns))
        Filled with the bits of the numbers.
    clear : uint8 array of shape (n, len(columns))
        Filled with CLEAR or UNCLEAR.

    Returns
    -------
    int
        How many are not clear.
    """
    unclear = 0
    for row in range(len(bits)):
        for k in range(len(columns)):
            j = columns[k]
            value, certain = _parse(data, np.int64(starts[row, j]), np.int64(ends[row, j]), powers, missing)
            bits[row, k] = value
            clear[row, k] = CLEAR if certain else UNCLEAR
            if not certain:
                unclear += 1
    return unclear


@kernel
def plain(data, begin, end, dialect, target, powers, X, y, rows):
    """Read rows of numbers without quotation marks, all at once, as long as everything is clear.

    Parameters
    ----------
    data, begin, end, dialect
        As for :func:`split`.
    target : int
        Which column goes into `y`.
    powers : uint64 array
        :data:`POWERS`.
    X, y : uint64 arrays of shape (capacity, n_columns - 1) and (capacity,)
        Filled with the bits of the numbers.
    rows : int64 array of shape (capacity,)
        Filled with the line of each row (from 0).

    Returns
    -------
    tuple
        Number of rows, the place up to which the text has been dealt with, and the lines until there. It stops short
        of `end` where a row is not complete or not clear: that is left to :func:`split`.
    """
    delimiter, quote, other_quote = dialect[0], dialect[1], dialect[2]
    missing = dialect[5]
    last = X.shape[1]
    n = line = 0
    i = begin
    while n < len(y):
        row_begin = i
        for j in range(last + 1):
            start = i
            value, certain, i = _number(data, i, powers)
            wanted = delimiter if j < last else _LF
            if not certain or data[i] != wanted:
                i = start
                while i < end and data[i] != delimiter and data[i] != _LF and data[i] != _CR:
                    i += 1
                if i >= end or data[start] == quote or data[start] == other_quote:
                    return n, row_begin, line
                if (data[i] == delimiter) != (j < last):
                    return n, row_begin, line
                value, certain = _parse(data, start, i, powers, missing)
                if not certain or (data[i] == _CR and i + 1 == end):
                    return n, row_begin, line
                if data[i] == _CR and data[i + 1] == _LF:
                    i += 1
            if i >= end:
                return n, row_begin, line
            i += 1
            if j == target:
                y[n] = value
            else:
                X[n, j - (j > target)] = value
        rows[n] = line
        line += 1
        n += 1
    return n, i, line


@kernel
def texts(data, starts, ends, kinds, column, escape, missing, out, offsets, there):
    """Copy the cells of a column one after another.

    Parameters
    ----------
    data, starts, ends, kinds
        The cells, from :func:`split`.
    column : int
        Which column.
    escape : int
        The escape character; -1 where a doubled quotation mark stands for one.
    missing : int
        How missing values are written: 0 as in CSV, 1 as in ARFF.
    out : uint8 array
        Long enough for all of them.
    offsets : int32 array of length n + 1
        Filled: where each begins.
    there : uint8 array of length n
        Filled: 0 where a value is missing.

    Returns
    -------
    int
        Bytes used of `out`.
    """
    used = 0
    for row in range(len(there)):
        offsets[row] = used
        i, stop, kind = starts[row, column], ends[row, column], kinds[row, column]
        length = stop - i
        known = True
        if missing == 0 and length < 4:
            if length == 0:
                known = False
            elif length == 1:
                known = data[i] != 63
            elif length == 2:
                known = not (data[i] == 78 and data[i + 1] == 65)
            else:
                known = data[i + 1] != 97 or not (
                    (data[i] == 110 and data[i + 2] == 110) or (data[i] == 78 and data[i + 2] == 78)
                )
        elif missing == 1:
            known = kind != BARE or (length > 0 and not (length == 1 and data[i] == 63))
        there[row] = known
        if not known:
            continue
        while i < stop:
            c = data[i]
            if kind == ESCAPED:
                if escape < 0:
                    if c == 34 and i + 1 < stop:  # the first of two
                        i += 1
                elif c == escape and i + 1 < stop:
                    i += 1
                    c = data[i]
                    if c == 110:
                        c = np.uint8(_LF)
                    elif c == 116:
                        c = np.uint8(_TAB)
                    elif c == 114:
                        c = np.uint8(_CR)
            out[used] = c
            used += 1
            i += 1
    offsets[len(there)] = used
    return used


# ---------------------------------------------------------------------------------------------- svmlight


@kernel
def pairs(data, begin, end, final, powers, labels, pointers, indices, values, rows, troubles):
    """Read svmlight lines: a label, then index:value by index:value, and what follows # left out.

    Parameters
    ----------
    data, begin, end, final, powers
        As for :func:`split` and :func:`numbers`.
    labels : uint64 array of shape (capacity,)
        Filled with the bits of the labels.
    pointers : int64 array of shape (capacity + 1,)
        Filled: where the entries of each row begin.
    indices, values : int64 and uint64 arrays
        Filled with the entries; values as bits.
    rows, troubles : arrays
        As for :func:`split`. Of a FORMAT trouble, the fifth column is the place of the token that is wrong.

    Returns
    -------
    tuple
        As of :func:`split`.
    """
    n = n_troubles = line = 0
    used = 0
    i = begin
    pointers[0] = 0
    while i < end and n < len(rows) and n_troubles < len(troubles):
        row_begin = i
        stop = _line_end(data, i, end)
        after = stop + 1
        if stop == end:
            if not final:
                break
            after = end
        elif data[stop] == _CR:
            if after == end and not final:
                break
            if after < end and data[after] == _LF:
                after += 1
        if used + (stop - i) // 2 + 1 > len(indices):
            break
        wrong = -1
        at = used
        last = np.int64(-1)
        token = 0
        while wrong < 0:
            while i < stop and (data[i] == _SPACE or data[i] == _TAB):
                i += 1
            if i >= stop or data[i] == _HASH:
                break
            start = i
            colon = -1
            while i < stop and data[i] != _SPACE and data[i] != _TAB and data[i] != _HASH:
                if data[i] == _COLON and colon < 0:
                    colon = i
                i += 1
            if token == 0:
                bits, certain = _parse(data, start, i, powers, 2)
                labels[n] = bits
                if not certain:
                    wrong = start
            elif (
                token == 1
                and colon - start == 3
                and data[start] == 113
                and data[start + 1] == 105
                and data[start + 2] == 100
            ):
                pass  # qid:..., which belongs to rankings
            else:
                index = np.int64(0)
                k = start
                while k < colon and 48 <= data[k] <= 57 and k - start < 10:
                    index = index * 10 + np.int64(data[k]) - 48
                    k += 1
                bits, certain = _parse(data, colon + 1, i, powers, 2)
                if colon <= start or k != colon or not certain or index <= last:
                    wrong = start
                else:
                    indices[at] = index
                    values[at] = bits
                    at += 1
                    last = index
            token += 1
        if wrong >= 0:
            troubles[n_troubles, 0] = FORMAT
            troubles[n_troubles, 1] = line
            troubles[n_troubles, 2] = row_begin
            troubles[n_troubles, 3] = stop
            troubles[n_troubles, 4] = wrong
            troubles[n_troubles, 5] = n
            n_troubles += 1
        elif token > 0:
            used = at
            rows[n, 0] = line
            rows[n, 1] = row_begin
            rows[n, 2] = stop
            rows[n, 3] = -1
            n += 1
            pointers[n] = used
        i = after
        line += 1
    return n, n_troubles, i, line
