"""The command as a process: its errors, its exit codes, its standard streams."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

from anabranch.cli._output import clipped

__all__ = ["Command", "Group", "Interrupted", "open_standard_streams"]


class Group(TyperGroup):
    """The command with its errors: one line each, and an exit code that says what kind of error it was."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, that for help included."""
        return _spare_conversion(super().get_params(ctx))

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command and exit: 0 is well, 2 bad input, 1 another error, 130 Ctrl-C."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
            sys.stdout.flush()
            if code == 130:  # what Typer makes of an interruption
                _complain("interrupted", prefix="")
        except BaseException as error:
            code = _exit_code(error)
        sys.exit(code if isinstance(code, int) else 0)


class Command(TyperCommand):
    """A command that converts no value needlessly."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, that for help included."""
        return _spare_conversion(super().get_params(ctx))


def _spare_conversion(parameters: list[Any]) -> list[Any]:
    """Let values that are as they should be pass as they are: texts, defaults, those not given.

    Typer hands all of them to pydantic, and importing that takes a fifth of a second.
    """
    for parameter in parameters:
        if hasattr(parameter, "type_descriptor") and "process_value" not in vars(parameter):  # not so in older Typer
            parameter.process_value = _quick_conversion(parameter, parameter.process_value)
    return parameters


def _quick_conversion(parameter: Any, convert: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    kind = parameter.type_descriptor.annotation

    def process_value(ctx: Any, value: Any) -> Any:
        if parameter.multiple or parameter.nargs != 1:
            fits = value and kind == list[str] and all(type(part) is str for part in value)
        elif value is None:
            fits = not parameter.required
        else:
            fits = type(value) is kind and (kind is str or value == parameter.default)
        if not fits:
            return convert(ctx, value)
        return value if parameter.callback is None else parameter.callback(ctx, parameter, value)

    return process_value


class Interrupted(Exception):  # noqa: N818 - it is no error
    """The run was stopped from the keyboard, and all there was has been shown."""


def _exit_code(error: BaseException) -> int:
    """Say what went wrong, in one line on standard error, and return the exit code for it."""
    if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):  # Typer exits with 1
        sys.stdout, sys.stderr = sys.__stdout__ or sys.stdout, sys.__stderr__ or sys.stderr  # Typer's wrappers of them
        _give_up_stdout()
        return _end_by_broken_pipe()
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        _complain("interrupted", prefix="")
        return 130
    if isinstance(error, Interrupted):
        _complain(str(error), prefix="")
        return 130
    if os.environ.get("ANABRANCH_DEBUG"):
        import traceback

        traceback.print_exception(error)
    if callable(getattr(error, "format_message", None)):  # a usage error
        context = getattr(error, "ctx", None)
        message = str(error.format_message()).rstrip(".") or "the command is incomplete"  # type: ignore[attr-defined]
        _complain(f"{message} (see '{context.command_path if context else 'anabranch'} --help')")
        return 2
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename}: " if error.filename is not None else ""
        _complain(f"{name}{error.strerror}")
        if error.filename is None:
            _give_up_stdout()
        named = (FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError, NotADirectoryError)
        return 2 if isinstance(error, named) else 1
    if isinstance(error, (ValueError, TypeError, OSError)) or type(error).__module__.startswith("anabranch"):
        _complain(str(error))
        return 2
    what = clipped(": ".join(filter(None, [type(error).__name__, " ".join(str(error).split())])), 300)
    _complain(f"{what} (unexpected; set ANABRANCH_DEBUG=1 to see the traceback)")
    return 1


def _end_by_broken_pipe() -> int:
    """End as other commands do when nobody reads on, which is for the reader to decide: by the signal, silently."""
    import signal

    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
    return 1


def _give_up_stdout() -> None:
    """Let what is still buffered for standard output go nowhere, lest it raise once more at the very end."""
    if sys.stdout is sys.__stdout__ and not isinstance(sys.stdout, _Closed):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class _Closed(io.TextIOBase):
    """Stands in for standard output where that is closed."""

    encoding = "utf-8"

    def write(self, text: str | bytes) -> int:
        if text:
            raise OSError(errno.EBADF, "it is closed", "standard output")
        return 0

    @property
    def buffer(self) -> _Closed:
        return self


def open_standard_streams() -> None:
    """Make up for standard streams that are closed, so that no file of ours gets their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it takes the lowest number that is free
    if sys.stdout is None:
        sys.stdout = sys.__stdout__ = _Closed()  # type: ignore[misc, assignment]
    if sys.stderr is None:  # where there is nobody to tell, things are not told
        sys.stderr = sys.__stderr__ = open(os.devnull, "w")  # type: ignore[misc] # noqa: SIM115


def _complain(message: str, prefix: str = "Error: ") -> None:
    line = " ".join(message.split())
    with contextlib.suppress(OSError):  # not even that can be written
        print(f"{prefix}{line}", file=sys.stderr, flush=True)
