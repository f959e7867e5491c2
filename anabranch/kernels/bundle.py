"""Many arrays that cross into compiled code as one.

At every call numba looks at each array anew, some 60 nanoseconds each: for a learner of a dozen arrays that learns a
single row, most of the time. A :class:`Bundle` notes where the arrays lie; compiled code gets that one table, and
``matrix`` and ``vector`` are the arrays again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj
from numpy.typing import NDArray

__all__ = ["Bundle", "array_at", "matrix", "table_at", "vector"]


class Bundle:
    """Where some arrays lie: valid as long as it lives, since it keeps them alive, and for these very arrays.

    Parameters
    ----------
    arrays : sequence of ndarray, optional
        C-contiguous, of one or two dimensions.
    functions : sequence of int, optional
        Addresses of kernels (see :mod:`anabranch.kernels.pointer`), which come after the arrays.
    before : Bundle, optional
        One whose arrays are the same but for a few: to ask each where it lies takes microseconds.

    Attributes
    ----------
    table : ndarray of int64, shape (n, 3)
        For ``matrix`` and ``vector``.
    address : int
        Where the table lies, for ``table_at``.
    writable : bool
        Whether all arrays may be written to. Compiled code does not ask.

    Notes
    -----
    A copy, or what comes out of a pickle, is empty: its arrays would be others.
    """

    __slots__ = ("address", "arrays", "table", "writable")

    def __init__(
        self,
        arrays: Sequence[NDArray[Any]] | None = None,
        functions: Sequence[int] = (),
        before: Bundle | None = None,
    ) -> None:
        self.arrays = arrays
        arrays = arrays or ()
        self.table = np.zeros((len(arrays) + len(functions), 3), np.int64)
        known: Sequence[NDArray[Any] | None] = [None] * len(arrays)
        if before is not None and before.arrays is not None:
            known = before.arrays
            self.table[:] = before.table
        for place, (array, as_before) in enumerate(zip(arrays, known, strict=True)):
            if array is not as_before:
                self.table[place] = _place(array)
        for place, function in enumerate(functions, len(arrays)):
            self.table[place, 0] = function
        self.address = _address(self.table)
        self.writable = len(arrays) > 0 and all(array.flags.writeable for array in arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        return Bundle, ()


def _address(array: NDArray[Any]) -> int:
    """Where an array's numbers lie; ``array.ctypes.data`` takes three times as long to say so."""
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def _place(array: NDArray[Any]) -> tuple[int, ...]:
    """Address, length, width."""
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise ValueError("A bundle takes contiguous arrays only.")
    place = (_address(array), *array.shape)
    return place if array.ndim == 2 else (*place, 1)


def array_at(context: Any, builder: Any, array: Any, address: Any, shape: Sequence[Any]) -> Any:
    """Code for an array of a type whose numbers lie at an address; whoever calls keeps them alive, nobody counts."""
    kind = context.get_data_type(array.dtype)
    size = context.get_constant(types.intp, context.get_abi_sizeof(kind))
    strides = [builder.mul(shape[1], size), size] if len(shape) == 2 else [size]
    result = context.make_array(array)(context, builder)
    arrayobj.populate_array(
        result,
        data=builder.inttoptr(address, kind.as_pointer()),
        shape=cgutils.pack_array(builder, shape),
        strides=cgutils.pack_array(builder, strides),
        itemsize=size,
        meminfo=None,
    )
    return result._getvalue()


def _array(table: Any, kind: Any, dimensions: int) -> Any:
    """Type and code of an array whose address, length and width stand in a row of a table."""
    array = types.Array(kind.dtype, dimensions, "C")

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        bundle = context.make_array(table)(context, builder, args[0])
        row = builder.mul(args[1], ir.Constant(args[1].type, 3))
        address, *shape = (
            builder.load(builder.gep(bundle.data, [builder.add(row, ir.Constant(row.type, entry))]))
            for entry in range(1 + dimensions)
        )
        return array_at(context, builder, array, address, shape)

    return array(table, types.intp, kind), generate


@intrinsic
def table_at(typing: Any, address: Any) -> Any:
    """The table of a bundle that lies at an address; whoever calls keeps the bundle alive."""
    table = types.Array(types.int64, 2, "C")

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        shape = [context.get_constant(types.intp, length) for length in (0, 3)]  # nobody asks how many rows there are
        return array_at(context, builder, table, args[0], shape)

    return table(types.int64), generate


@intrinsic
def matrix(typing: Any, table: Any, place: Any, kind: Any) -> Any:
    """The two-dimensional array at a place of a bundle's table; ``kind`` must be its type of numbers."""
    return _array(table, kind, 2)


@intrinsic
def vector(typing: Any, table: Any, place: Any, kind: Any) -> Any:
    """The one-dimensional array at a place of a bundle's table; ``kind`` must be its type of numbers."""
    return _array(table, kind, 1)
