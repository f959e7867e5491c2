"""Calls through addresses, so that a kernel need not contain those it calls.

Numba copies the machine code of every function into all of its callers, and optimises it there once more: what lies
deep below is compiled again at each level. Where a call is rare, or the function large, :func:`call` costs a few
nanoseconds and saves seconds of compiling. The function is then one, whoever calls it.
"""

from __future__ import annotations

from typing import Any

from numba import typeof
from numba.core import cgutils, types
from numba.core.types import unliteral  # type: ignore[attr-defined]
from numba.extending import intrinsic

__all__ = ["address", "call", "compiled"]


def compiled(kernel: Any, *arguments: Any) -> Any:
    """Compile a kernel for arguments of such types; what numba keeps of it."""
    signature = tuple(typeof(argument) for argument in arguments)
    kernel.compile(signature)
    return kernel.overloads[signature]


def address(kernel: Any, *arguments: Any) -> int:
    """Compile a kernel and say where it lies.

    Parameters
    ----------
    kernel : function
        Made by :func:`anabranch.kernels.kernel`; returns an int64.
    *arguments : Any
        Of the types it is going to be called with.

    Returns
    -------
    int
        For :func:`call`, as long as the process lives.
    """
    form = compiled(kernel, *arguments)
    assert form.signature.return_type == types.int64
    return int(form.library.get_pointer_to_function(form.fndesc.llvm_func_name))


@intrinsic
def call(typing: Any, where: Any, arguments: Any) -> Any:
    """Call the kernel at an address with a tuple of arguments, whose types must be those it was compiled for."""
    passed = tuple(unliteral(argument) for argument in arguments)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        convention = context.call_conv
        kind = convention.get_function_type(types.int64, passed)
        function = builder.inttoptr(args[0], kind.as_pointer())
        values = cgutils.unpack_tuple(builder, args[1], len(passed))
        status, result = convention.call_function(builder, function, types.int64, passed, values)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return result

    return types.int64(where, arguments), generate
