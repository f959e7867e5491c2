"""Bytes from files and from standard input: decompressed on the way, or followed while they grow."""

from __future__ import annotations

import gzip
import os
import stat
import sys
import time
import zlib
from pathlib import Path
from typing import Any, Protocol

from anabranch.stream._arrow import arrow

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_PIECE = 1 << 16  # bytes that are decompressed at a time
_PAUSE = 0.1  # seconds between two looks at a file that may grow


class CutOff(Exception):  # noqa: N818 - the bytes are, it is no error of the program
    """The bytes end before their time; the message says why."""


class Bytes(Protocol):
    """What a source opens."""

    def read(self, n: int) -> bytes:
        """At most `n` bytes; none at the end. Raises CutOff where compressed bytes are damaged or cut off."""

    def close(self) -> None: ...


class Source:
    """A file, or standard input, whose bytes can be read from the beginning.

    Parameters
    ----------
    path : Path or None
        The file; None for standard input, which can be read once.
    follow : bool
        Whether to wait at the end of the file for more.
    idle_timeout : float or None
        Seconds without a new byte after which a followed file has ended; None for never.
    """

    def __init__(self, path: Path | None, follow: bool = False, idle_timeout: float | None = None) -> None:
        self.path = path
        self.follow = follow
        self.idle_timeout = idle_timeout
        self.name = "standard input" if path is None else str(path)
        self._input: Bytes | None = None  # standard input, once it has been looked at
        self._head = b""
        self._used = False

    @property
    def can_block(self) -> bool:
        """Whether reading may have to wait for others."""
        return self.path is None or self.follow or not self.path.is_file()

    @property
    def can_seek(self) -> bool:
        """Whether it is a plain file, readable as often as one likes."""
        return self.path is not None and not self.follow and self.path.is_file()

    @property
    def compressed(self) -> bool:
        """Whether it is a file that is compressed as a whole."""
        if self.path is None:
            return False
        with self.path.open("rb") as file:
            return compression(file.read(4)) is not None

    def peek(self, n: int) -> tuple[bytes, bool]:
        """The first `n` bytes, and whether that is all there is for now."""
        if self.path is not None:
            file = self._open_path(self.path, follow=False)
            try:
                head = read_fully(file, n)
                return head, len(head) < n
            finally:
                file.close()
        if self._used:
            raise self._read_twice()
        if self._input is None:
            self._input = _decompressed(_Raw(sys.stdin.buffer))
        if len(self._head) < n:
            self._head += read_fully(self._input, n - len(self._head))
        return self._head[:n], len(self._head) < n

    def open(self) -> Bytes:
        """The bytes from the beginning."""
        if self.path is not None:
            return self._open_path(self.path, self.follow)
        if self._used:
            raise self._read_twice()
        if self._input is None:
            self._input = _decompressed(_Raw(sys.stdin.buffer))
        self._used = True
        head, self._head = self._head, b""
        return _Headed(head, self._input)

    def _open_path(self, path: Path, follow: bool) -> Bytes:
        file = path.open("rb", buffering=0)
        if follow:
            return _Followed(file, path, self.idle_timeout)
        return _decompressed(_Raw(file))

    def _read_twice(self) -> ValueError:
        return ValueError("standard input can be read only once: save it to a file to go through it again")

    def __getstate__(self) -> dict[str, Any]:
        if self.path is None:
            raise TypeError("standard input cannot be sent to another process: save it to a file first")
        return self.__dict__


def read_fully(file: Bytes, n: int) -> bytes:
    """Read `n` bytes, fewer only at the end or where the bytes are cut off."""
    pieces: list[bytes] = []
    while n > 0:
        try:
            piece = file.read(n)
        except CutOff:
            if not pieces:
                raise
            break  # it will be raised again by whoever reads on
        if not piece:
            break
        pieces.append(piece)
        n -= len(piece)
    return b"".join(pieces)


class ReadOnly:
    """What gzip and PyArrow ask of a file besides reading and closing."""

    closed = False

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


class _Raw(ReadOnly):
    """A file as it is, with a look at its first bytes."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._read = getattr(file, "read1", file.read)  # what there is, without waiting for more
        self.head = b""

    def peek(self, n: int) -> bytes:
        while len(self.head) < n and (piece := self._read(n - len(self.head))):
            self.head += piece
        return self.head[:n]

    def read(self, n: int) -> bytes:
        if self.head:
            piece, self.head = self.head[:n], self.head[n:]
            return piece
        return self._read(n) or b""

    def close(self) -> None:
        if self._file is not sys.stdin.buffer:
            self._file.close()


def compression(head: bytes) -> str | None:
    """How bytes that begin like this are compressed.

    >>> compression(b"a,b,c"), compression(bytes([0x1F, 0x8B, 8]))
    (None, 'gzip')
    """
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


def _decompressed(file: _Raw) -> Bytes:
    # By their first bytes and not by the name, so that it works for pipes and for files that were renamed.
    kind = compression(file.peek(4))
    if kind is None:
        return file
    return _Decompressed(file, kind)


class _Decompressed:
    def __init__(self, file: _Raw, kind: str) -> None:
        self._file = file
        self._kind = kind
        if kind == "gzip":
            self._read = gzip.GzipFile(fileobj=file, mode="rb").read1  # type: ignore[call-overload]
        else:
            pa = arrow()
            self._read = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), kind).read

    def read(self, n: int) -> bytes:
        try:
            return self._read(min(n, _PIECE))  # type: ignore[no-any-return]
        except EOFError as error:
            raise CutOff("the compressed file is cut off here") from error
        except (OSError, zlib.error) as error:
            if getattr(error, "errno", None) is not None:
                raise
            cut = "Truncated" in str(error)
            raise CutOff(f"the compressed file is {'cut off' if cut else 'damaged'} here ({error})") from error

    def close(self) -> None:
        self._file.close()


class _Headed:
    """Bytes that were looked at already, then the others."""

    def __init__(self, head: bytes, rest: Bytes) -> None:
        self._head = head
        self._rest = rest

    def read(self, n: int) -> bytes:
        if self._head:
            piece, self._head = self._head[:n], self._head[n:]
            return piece
        return self._rest.read(n)

    def close(self) -> None:
        self._rest.close()


class _Followed:
    """A file that may grow while it is read."""

    def __init__(self, file: Any, path: Path, idle_timeout: float | None) -> None:
        self._file = file
        self._path = path
        self._idle_timeout = idle_timeout
        self._place = 0

    def read(self, n: int) -> bytes:
        since = time.monotonic()
        while True:
            here = os.fstat(self._file.fileno())
            if stat.S_ISREG(here.st_mode) and here.st_size < self._place:
                raise CutOff(
                    f"the file was cut to {here.st_size:,} bytes while it was followed: read it from its start"
                )
            piece: bytes = self._file.read(n)
            if piece:
                self._place += len(piece)
                return piece
            try:
                now = self._path.stat()
                replaced = (now.st_dev, now.st_ino) != (here.st_dev, here.st_ino)
            except FileNotFoundError:
                replaced = True
            if replaced:
                raise CutOff(
                    "the file was removed, or replaced by another of its name, while it was followed (a log was "
                    "rotated?): read the new one from its start"
                )
            if self._idle_timeout is not None and time.monotonic() - since >= self._idle_timeout:
                return b""
            time.sleep(_PAUSE if self._idle_timeout is None else min(_PAUSE, self._idle_timeout / 4))

    def close(self) -> None:
        self._file.close()
