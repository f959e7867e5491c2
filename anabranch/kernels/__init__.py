"""Compiled loops over arrays: the only place that imports numba.

Every compiled function of the library carries the one decorator, :func:`kernel`. It adds to numba's own disk
cache what that lacks:

* **No stale hits.** Numba notices a change in a function's own file, not in the files of the functions it
  calls. Here the cache lies in a folder named after a hash of all the sources it could call: for the library's
  own kernels, their file and those it imports, to the last; for other people's, *every* file beside the function
  and all the library's kernels. A change anywhere among them means a new, empty folder.
* **A place that can be written.** Beside the sources, or, in an installation that may only be read, the
  user's cache folder; what such an installation brought along compiled is copied there, so an image that ran
  ``anabranch warmup`` when it was built starts warm for every user. ``NUMBA_CACHE_DIR`` overrides both.
* **Nothing compiled twice.** Processes that start together and find an empty cache take turns, kernel by kernel:
  who comes second waits for the first one's, and loads it.
* **A word at the first compile.** In a terminal, standard error says why the first call takes seconds.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, overload

import numba
from numba.core import event
from numba.core.caching import NullCache
from numba.core.compiler_lock import global_compiler_lock

from anabranch._cache import user_cache

try:
    import fcntl
except ImportError:  # Windows: there, processes may compile the same kernel at the same time
    fcntl = None  # type: ignore[assignment]

__all__ = ["cache_folder", "call_directly", "compilations", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])

_HERE = Path(__file__).resolve().parent
_KEPT = 24 * 3600.0  # seconds for which compiled forms of other sources are left alone
_ours: set[str] = set()  # modules that hold kernels, to tell our compilations from other people's


@cache
def _text(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:  # an editor's lock, a folder: nothing that could be imported
        return None


@cache
def _imported(source: Path) -> frozenset[Path]:
    """Of the library's kernels, the files a source imports, and those they import, itself and this one included."""
    found = {_HERE / "__init__.py"}
    waiting = [source]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            names = re.findall(rb"\banabranch\.kernels\.(\w+)", _text(path) or b"")
            waiting += [_HERE / f"{name.decode()}.py" for name in names]
    return frozenset(found)


@cache
def _hash(source: Path) -> str:
    """Hash of every source that could have a part in a kernel of the file or folder, and of the numba that compiles."""
    digest = hashlib.sha256(numba.__version__.encode())
    files = _imported(source) if source.parent == _HERE else {*source.glob("*.py"), *_HERE.glob("*.py")}
    for path in sorted(files):
        if (text := _text(path)) is not None:
            digest.update(path.name.encode() + b"\0" + text + b"\0")
    return digest.hexdigest()[:16]


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


@cache
def cache_folder(source: Path = _HERE) -> Path | None:
    """Where the compiled form of kernels is kept.

    Parameters
    ----------
    source : pathlib.Path
        One of the library's own files of kernels, or a folder with other people's.

    Returns
    -------
    pathlib.Path or None
        None where no folder can be written: then every process compiles for itself.
    """
    ours = source.parent == _HERE
    prefix = f"kernels-{source.stem}-" if ours else "kernels-"
    key = _hash(source)
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        candidates = [Path(chosen) / key]
    else:
        beside = (_HERE if ours else source) / "__pycache__" / f"{prefix}{key}"
        candidates = [beside]
        with contextlib.suppress(RuntimeError):  # a user without a home
            candidates.append(user_cache() / "kernels" / key)
        if beside.is_dir() and not _writable(beside):
            for elsewhere in candidates[1:]:
                if not elsewhere.exists():
                    _copy(beside, elsewhere)
        for old in beside.parent.glob(f"{prefix}*"):
            with contextlib.suppress(OSError):
                # Of earlier versions of the sources, and not just now in use by a neighbour with another numba.
                if old != beside and time.time() - old.stat().st_mtime > _KEPT:
                    shutil.rmtree(old)
    return next((folder for folder in candidates if _writable(folder)), None)


def _copy(source: Path, target: Path) -> None:
    """Copy a folder so that nobody ever sees half of it. Where that fails, it is as good as nothing there."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as half:
            whole = shutil.copytree(source, Path(half) / "whole", copy_function=shutil.copyfile)
            os.chmod(whole, 0o700)
            for folder in whole.rglob("*"):
                if folder.is_dir():
                    os.chmod(folder, 0o700)
            os.rename(whole, target)
    except OSError:
        pass


@overload
def kernel(function: F) -> F: ...


@overload
def kernel(*, inline: bool | None = None, nogil: bool = True) -> Callable[[F], F]: ...


def kernel(function: F | None = None, *, inline: bool | None = None, nogil: bool = True) -> F | Callable[[F], F]:
    """Compile a function on arrays with numba, cached on disk, free of the interpreter lock.

    Use it for functions of your own too: keep those that call each other in one folder, and a change in any of
    them is never overlooked.

    Parameters
    ----------
    function : callable
        A function numba can compile in nopython mode. Division by zero gives infinity or NaN, as in NumPy.
    inline : bool, optional
        Given (``@kernel(inline=True)`` or ``@kernel(inline=False)``), the function is a mere part of other kernels
        and allocates no array: then arrays need not be counted on every call, which otherwise costs more than most
        parts do themselves. True makes it melt into its callers, for the few parts that every row passes.
    nogil : bool, default=True
        Whether it lets go of the interpreter lock: no gain for a kernel that takes less time than that.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.kernels import kernel
    >>> @kernel
    ... def total(values):
    ...     result = 0.0
    ...     for value in values:
    ...         result += value
    ...     return result
    >>> total(np.array([1.0, 2.0, 3.5]))
    6.5
    """
    options: dict[str, Any] = {"nogil": nogil, "error_model": "numpy", "_nrt": True}
    if inline is not None:
        options |= {"_nrt": False, "forceinline": inline}
    if function is None:
        return lambda function: _compiled(function, options)
    return _compiled(function, options)


def _compiled(function: F, options: dict[str, Any]) -> F:
    _ours.add(function.__module__)
    result = numba.njit(function, **options)
    folder = _folder_of(function.__code__.co_filename)
    if folder is not None and hasattr(result, "enable_caching"):  # unless numba was told not to compile
        result._cache = _CacheWhenCalled(result, folder)
        result.compile = _taking_turns(result.compile, function.__qualname__, folder)
    return result  # type: ignore[no-any-return]


def _taking_turns(compile: Callable[..., Any], name: str, folder: Path) -> Callable[..., Any]:
    """A kernel's ``compile``, which looks into the cache first, made to wait for other processes that are at it."""

    def compile_in_turn(signature: Any) -> Any:
        # Numba's own lock first, as it lets one thread in: two that each waited for what the other holds would hang.
        with global_compiler_lock, _turn(folder / "turns", zlib.crc32(name.encode())):
            return compile(signature)

    return compile_in_turn


@contextlib.contextmanager
def _turn(path: Path, number: int) -> Iterator[None]:
    """Hold a byte of a file, so that of all processes only this one does; without, where there are no such locks.

    A process that ends, however it does, holds nothing any more. Kernels never call each other in a circle, so
    processes never wait for each other in one.
    """
    try:
        file = _lock_file(path)
        if file is not None:
            fcntl.lockf(file, fcntl.LOCK_EX, 1, number)
    except OSError:
        file = None
    try:
        yield
    finally:
        if file is not None:
            with contextlib.suppress(OSError):
                fcntl.lockf(file, fcntl.LOCK_UN, 1, number)


@cache
def _lock_file(path: Path) -> int | None:
    """A descriptor that stays open: to close any of a file's gives up all of a process' locks on it."""
    return None if fcntl is None else os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


@cache
def _folder_of(filename: str) -> Path | None:
    """Where kernels of a source file are kept compiled."""
    source = Path(filename).resolve()
    if not source.is_file():
        return None
    return cache_folder(source if source.parent == _HERE else source.parent)


class _CacheWhenCalled(NullCache):  # type: ignore[misc]
    """Turns on numba's disk cache for a kernel when it is first asked for.

    Numba looks at several files to do so, which for a hundred kernels takes longer than to load the few that are used.
    """

    def __init__(self, dispatcher: Any, folder: Path) -> None:
        self.dispatcher, self.folder = dispatcher, folder

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        saved = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(self.folder)
        try:
            self.dispatcher.enable_caching()
        finally:
            numba.config.CACHE_DIR = saved
        return self.dispatcher._cache.load_overload(sig, target_context)


_entries: dict[Any, Callable[..., Any]] = {}


def call_directly(function: Any, *arguments: Any, types: Any = None) -> Any:
    """Call a kernel without numba's look at the types of the arguments, but for the first time.

    For a call that takes microseconds, as with a single row, that look is a third. The arguments of all later calls
    with the same ``types``, which is any hashable name for them, must be of the very same types: numba then checks no
    more than the number of dimensions and the size of an item.
    """
    entry = _entries.get((function, types))
    if entry is not None:
        return entry(*arguments)
    result = function(*arguments)
    form = function.overloads.get(tuple(numba.typeof(argument) for argument in arguments))
    _entries[function, types] = function if form is None else form.entry_point
    return result


class _CompileListener(event.Listener):  # type: ignore[misc]
    """Counts the compilations of our kernels, and announces the first one in a terminal."""

    def __init__(self) -> None:
        self.count = 0

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"].py_func.__module__ not in _ours:
            return
        if self.count == 0 and sys.stderr is not None and sys.stderr.isatty():
            print(
                "anabranch: compiling for this machine; this happens once and takes half a minute or so "
                "('anabranch warmup' does all of it ahead)",
                file=sys.stderr,
            )
        self.count += 1

    def on_end(self, event: Any) -> None:
        pass


_listener = _CompileListener()
event.register("numba:compile", _listener)


def compilations() -> int:
    """Count how many kernels this process has compiled, rather than found in the cache."""
    return _listener.count
