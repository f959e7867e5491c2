"""Save and load: one file of plain arrays and JSON, with nothing in it to execute.

A checkpoint is a `safetensors <https://github.com/huggingface/safetensors>`_ file: eight bytes that give the
header's length, a JSON header that says where each array lies, then the arrays' bytes. The header's
``__metadata__`` holds, as texts, the format's version, the object's structure as JSON, and a SHA-256 over the
whole file (taken with the hash's own place filled with zeros). So any safetensors reader can open the arrays, a
cut-off or altered file is noticed, and loading needs no pickle.

The structure names classes, never code: a name is looked up among the classes that registered themselves
(:func:`register`), which every learner class does when it is defined.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["FORMAT_VERSION", "CheckpointError", "from_bytes", "load", "register", "save", "to_bytes"]

FORMAT_VERSION = 1

_DTYPES = {
    "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
_CODES = {np.dtype(text): code for code, text in _DTYPES.items()}
_UNSIGNED = "0" * 64
_LONGEST_HEADER = 1 << 30

_classes: dict[str, type] = {}


class CheckpointError(ValueError):
    """A checkpoint cannot be written or read; the message says why and what to do."""


def register(cls: type) -> type:
    """Let objects of a class into checkpoints; use it as a decorator.

    The class needs ``__getstate__`` and ``__setstate__``, or ``__checkpoint__`` and ``__restore__`` where pickle
    should see something else. Learner classes register themselves.
    """
    _classes[f"{cls.__module__}:{cls.__qualname__}"] = cls
    return cls


def _class_of(name: str) -> type:
    if name not in _classes and name.startswith("anabranch."):
        # Our own classes may not have been imported yet. Only modules of this package are ever imported here.
        module = name.partition(":")[0]
        if all(part.isidentifier() for part in module.split(".")):
            with contextlib.suppress(ImportError):
                importlib.import_module(module)
    if name not in _classes:
        raise CheckpointError(
            f"The checkpoint holds an object of the class {name.replace(':', '.')}, which is not known here: "
            "import the module that defines it first, or install the version that has it."
        )
    return _classes[name]


# ---------------------------------------------------------------------------------------------- structure


class _Writer:
    """Turns an object into JSON, and puts its arrays aside."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray[Any, Any]] = []
        self._places: dict[int, int] = {}
        self._alive: list[Any] = []  # so that no id is used twice

    def write(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, str)):
            return value
        if type(value) is int:
            return value if -(2**53) < value < 2**53 else {"int": str(value)}
        if type(value) is float:
            return value if np.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.generic):
            return {"scalar": [_code(value.dtype), self.write(value.item())]}
        if type(value) in (list, tuple):
            return {type(value).__name__: [self.write(part) for part in value]}
        if type(value) is dict:
            return {"dict": [[self.write(key), self.write(part)] for key, part in value.items()]}
        if isinstance(value, np.random.Generator):
            return {"generator": self.write(value.bit_generator.state)}
        if isinstance(value, np.random.RandomState):
            return {"random_state": self.write(value.get_state(legacy=False))}
        cls = type(value)
        name = f"{cls.__module__}:{cls.__qualname__}"
        if isinstance(value, type) and f"{value.__module__}:{value.__qualname__}" in _classes:
            return {"class": f"{value.__module__}:{value.__qualname__}"}
        if _classes.get(name) is cls:
            state = value.__checkpoint__() if hasattr(value, "__checkpoint__") else value.__getstate__()
            return {"object": [name, self.write(state)]}
        raise CheckpointError(
            f"A {cls.__module__}.{cls.__qualname__} ({str(value)[:60]!r}) cannot go into a checkpoint: only "
            "numbers, texts, lists, dicts, arrays, random generators and registered classes can."
        )

    def _array(self, array: np.ndarray[Any, Any]) -> Any:
        if array.dtype.kind in "OU":
            return {"objects": [list(array.shape), array.dtype.kind, [self.write(v) for v in array.ravel().tolist()]]}
        _code(array.dtype)
        place = self._places.get(id(array))
        if place is None:
            place = self._places[id(array)] = len(self.arrays)
            self._alive.append(array)
            self.arrays.append(np.ascontiguousarray(array))
        return {"array": [place, array.ndim]}


def _code(dtype: np.dtype[Any]) -> str:
    code = _CODES.get(dtype.newbyteorder("<") if dtype.byteorder == ">" else dtype)
    if code is None:
        raise CheckpointError(f"Arrays of {dtype} cannot go into a checkpoint.")
    return code


class _Reader:
    """Turns JSON and arrays back into the object."""

    def __init__(self, arrays: list[np.ndarray[Any, Any]]) -> None:
        self.arrays = arrays

    def read(self, value: Any) -> Any:
        if not isinstance(value, dict):
            if value is None or isinstance(value, (bool, int, float, str)):
                return value
            raise CheckpointError("The checkpoint's structure is damaged.")
        if len(value) != 1:
            raise CheckpointError("The checkpoint's structure is damaged.")
        [(kind, content)] = value.items()
        match kind:
            case "int":
                return int(content)
            case "float":
                return float(content)
            case "array":
                return self.arrays[content[0]]
            case "objects":
                shape, dtype_kind, items = content
                flat = np.empty(len(items), object)
                flat[:] = [self.read(item) for item in items]
                array = flat.reshape(shape)
                return array.astype(str) if dtype_kind == "U" else array
            case "scalar":
                return np.dtype(_DTYPES[content[0]]).type(self.read(content[1]))
            case "list":
                return [self.read(part) for part in content]
            case "tuple":
                return tuple(self.read(part) for part in content)
            case "dict":
                return {self.read(key): self.read(part) for key, part in content}
            case "generator":
                state = self.read(content)
                bits = {"PCG64": np.random.PCG64, "PCG64DXSM": np.random.PCG64DXSM, "MT19937": np.random.MT19937,
                        "Philox": np.random.Philox, "SFC64": np.random.SFC64}  # fmt: skip
                generator = np.random.Generator(bits[state["bit_generator"]]())
                generator.bit_generator.state = state
                return generator
            case "random_state":
                random_state = np.random.RandomState()
                random_state.set_state(self.read(content))
                return random_state
            case "class":
                return _class_of(content)
            case "object":
                name, state = content
                cls = _class_of(name)
                result: Any = object.__new__(cls)
                restore = result.__restore__ if hasattr(result, "__restore__") else result.__setstate__
                restore(self.read(state))
                return result
        raise CheckpointError(f"The checkpoint holds a value of the unknown kind {kind!r}.")


# ---------------------------------------------------------------------------------------------- bytes


def _safe_name(index: int) -> str:
    return f"a{index}"


def to_bytes(value: Any) -> bytes:
    """Write an object as the bytes of a checkpoint.

    Parameters
    ----------
    value : object
        A learner, or anything made of numbers, texts, lists, dicts, arrays, random generators and learners.

    Returns
    -------
    bytes

    Raises
    ------
    CheckpointError
        If something in it cannot be saved.

    Examples
    --------
    >>> from anabranch import checkpoint
    >>> checkpoint.from_bytes(checkpoint.to_bytes({"weights": [0.5, float("inf")]}))
    {'weights': [0.5, inf]}
    """
    writer = _Writer()
    structure = writer.write(value)
    header: dict[str, Any] = {
        "__metadata__": {
            "format": "anabranch",
            "version": str(FORMAT_VERSION),
            "sha256": _UNSIGNED,
            "structure": json.dumps(structure, ensure_ascii=True, allow_nan=False),
        }
    }
    offset = 0
    for index, array in enumerate(writer.arrays):
        header[_safe_name(index)] = {
            "dtype": _code(array.dtype),
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header, ensure_ascii=True).encode()
    text += b" " * (-len(text) % 8)
    data = b"".join([len(text).to_bytes(8, "little"), text, *(_little(array) for array in writer.arrays)])
    digest = hashlib.sha256(data).hexdigest().encode()
    return data.replace(_UNSIGNED.encode(), digest, 1)


def _little(array: np.ndarray[Any, Any]) -> bytes:
    return array.astype(_DTYPES[_code(array.dtype)], copy=False).tobytes()


def from_bytes(data: bytes) -> Any:
    """Read the object back from the bytes of a checkpoint.

    Raises
    ------
    CheckpointError
        If the bytes are cut off, altered, foreign, of a newer format, or name a class not known here.
    """
    if len(data) < 10 or data[8:9] != b"{":
        raise CheckpointError("This is not a checkpoint of anabranch.")
    length = int.from_bytes(data[:8], "little")
    if length > _LONGEST_HEADER:
        raise CheckpointError("This is not a checkpoint of anabranch.")
    if len(data) < 8 + length:
        raise CheckpointError("The checkpoint is cut off in its header: take an earlier copy.")
    try:
        header = json.loads(data[8 : 8 + length])
        meta = header.pop("__metadata__")
        ours = meta["format"] == "anabranch"
        version = int(meta["version"])
        signature = str(meta["sha256"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if b'"anabranch"' in data[: 8 + length]:
            raise CheckpointError("The checkpoint's header is damaged: take an earlier copy.") from error
        raise CheckpointError("This is not a checkpoint of anabranch.") from error
    if not ours:
        raise CheckpointError("This is not a checkpoint of anabranch.")
    if version > FORMAT_VERSION:
        raise CheckpointError(
            f"The checkpoint has format version {version}; this release reads up to {FORMAT_VERSION}. "
            "Install a newer anabranch."
        )
    plain = data.replace(signature.encode(), _UNSIGNED.encode(), 1)
    if len(signature) != 64 or hashlib.sha256(plain).hexdigest() != signature:
        raise CheckpointError("The checkpoint is cut off or was altered (its checksum is wrong): take an earlier copy.")
    try:
        body = memoryview(data)[8 + length :]
        arrays = [_read_array(header[_safe_name(index)], body) for index in range(len(header))]
        return _Reader(arrays).read(json.loads(meta["structure"]))
    except CheckpointError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"The checkpoint does not fit together ({error}).") from error


def _read_array(entry: dict[str, Any], body: memoryview) -> np.ndarray[Any, Any]:
    start, stop = entry["data_offsets"]
    dtype = np.dtype(_DTYPES[entry["dtype"]])
    if not 0 <= start <= stop <= len(body):
        raise ValueError("an array lies outside the file")
    native = dtype.newbyteorder("=") if dtype.byteorder != "|" else dtype
    array = np.frombuffer(body[start:stop], dtype).reshape(entry["shape"]).astype(native)
    return array


# ---------------------------------------------------------------------------------------------- files


def save(value: Any, path: str | Path) -> None:
    """Write a checkpoint file: under another name first, forced to disk, then renamed over ``path``.

    Raises
    ------
    CheckpointError
        If something in the object cannot be saved.
    OSError
        If the file cannot be written; what was there before is left as it was.
    """
    write_atomically(path, to_bytes(value))


def write_atomically(path: str | Path, data: bytes) -> None:
    """Write a file so that at any moment there is either the old one or the new one, whole."""
    path = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # mkstemp's own mode shuts everybody else out
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    with contextlib.suppress(OSError):  # not every file system lets a folder be opened or synced
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def load(path: str | Path) -> Any:
    """Read the object in a checkpoint file. Nothing in the file is executed.

    Raises
    ------
    CheckpointError
        If the file is cut off, altered, foreign, of a newer format, or names a class not known here.
    OSError
        If the file cannot be read.
    """
    data = Path(path).read_bytes()
    try:
        return from_bytes(data)
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from error
