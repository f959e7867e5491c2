"""Save and load: one file of plain arrays and JSON, with nothing in it to execute.

A checkpoint is a `safetensors <https://github.com/huggingface/safetensors>`_ file: eight bytes that give the
header's length, a JSON header that says where each array lies, then the arrays' bytes. The header's
``__metadata__`` holds, as texts, the format's version, the object's structure as JSON, and a SHA-256 over the
whole file (taken with the hash's own place filled with zeros). So any safetensors reader can open the arrays, a
cut-off or altered file is noticed, and loading needs no pickle.

The structure names classes, never code: a name is looked up among the classes that registered themselves
(:func:`register`), which every learner class does when it is defined, or among scikit-learn's estimators.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib
import json
import math
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

try:
    import fcntl
except ImportError:  # not everywhere
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "FORMAT_VERSION",
    "CheckpointError",
    "check_writable",
    "from_bytes",
    "load",
    "notes",
    "register",
    "replacing",
    "save",
    "to_bytes",
]

FORMAT_VERSION = 2

_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
_CODES = {np.dtype(text): code for code, text in _DTYPES.items()}
_UNSIGNED = "0" * 64
_LONGEST_HEADER = 1 << 30
# numpy.random's own, by the names that their states give.
_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")

_classes: dict[str, type] = {}


class CheckpointError(ValueError):
    """A checkpoint cannot be written or read; the message says why and what to do."""


def register(cls: type) -> type:
    """Let objects of a class into checkpoints; use it as a decorator.

    What goes in is the object's ``__dict__``, unless the class has ``__getstate__`` and ``__setstate__``, or
    ``__checkpoint__`` and ``__restore__`` where pickle should see something else. Learner and metric classes
    register themselves.
    """
    _classes[f"{cls.__module__}:{cls.__qualname__}"] = cls
    return cls


def _class_of(name: str) -> type:
    if name not in _classes and name.startswith("anabranch."):
        # Our own classes may not have been imported yet. Only modules of this package are ever imported here.
        module = name.partition(":")[0]
        if all(part.isidentifier() and not part.startswith("__") for part in module.split(".")):
            with contextlib.suppress(ImportError):
                importlib.import_module(module)
    if name.startswith("sklearn.") and (cls := _estimator_class(name)) is not None:
        return cls
    if name not in _classes:
        raise CheckpointError(
            f"The checkpoint holds an object of the class {name.replace(':', '.')}, which is not known here: "
            "import the module that defines it first, or install the version that has it."
        )
    return _classes[name]


# ---------------------------------------------------------------------------------------------- scikit-learn's


def _estimator_class(name: str) -> type | None:
    """An estimator class of scikit-learn's by its module and name; None if it is none. Nothing else is imported."""
    from sklearn.base import BaseEstimator

    module, _, qualified = name.partition(":")
    parts = module.split(".")
    if parts[0] != "sklearn" or not all(p.isidentifier() and p != "tests" and not p.startswith("__") for p in parts):
        return None
    try:
        cls = getattr(importlib.import_module(module), qualified, None)
    except ImportError:
        return None
    good = isinstance(cls, type) and issubclass(cls, BaseEstimator) and cls.__module__ == module
    return cls if good else None


def is_tree(value: Any) -> bool:
    """Whether a value is the compiled tree inside one of scikit-learn's decision trees."""
    return type(value).__module__ == "sklearn.tree._tree" and type(value).__name__ == "Tree"


def tree_arrays(tree: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Nodes and values of scikit-learn's compiled tree."""
    state = tree.__getstate__()
    return state["nodes"], state["values"]


def _tree_state(tree: Any) -> dict[str, Any]:
    """Scikit-learn's compiled tree as plain arrays: its nodes are records, of which each field becomes one."""
    nodes, values = tree_arrays(tree)
    fields = {name: np.ascontiguousarray(nodes[name]) for name in nodes.dtype.names}
    sizes = [int(tree.n_features), np.asarray(tree.n_classes).tolist(), int(tree.n_outputs), int(tree.max_depth)]
    return {"sizes": sizes, "fields": fields, "values": values}


def _tree(state: dict[str, Any]) -> Any:
    from sklearn.tree._tree import Tree

    n_features, n_classes, n_outputs, max_depth = state["sizes"]
    fields, values = state["fields"], state["values"]
    tree = Tree(n_features, np.array(n_classes, np.intp), n_outputs)
    nodes = np.zeros(len(values), tree_arrays(tree)[0].dtype)
    for name in nodes.dtype.names:
        nodes[name] = fields[name]
    # Compiled code follows these unchecked.
    inner, own = nodes["left_child"] >= 0, np.arange(len(nodes))
    for child in (nodes["left_child"], nodes["right_child"]):
        if ((child[inner] <= own[inner]) | (child[inner] >= len(nodes))).any():
            raise ValueError("a decision tree is damaged")
    if ((nodes["feature"][inner] < 0) | (nodes["feature"][inner] >= n_features)).any():
        raise ValueError("a decision tree is damaged")
    tree.__setstate__({"max_depth": max_depth, "node_count": len(nodes), "nodes": nodes, "values": values})
    return tree


# ---------------------------------------------------------------------------------------------- structure


class _Writer:
    """Turns an object into JSON, and puts its arrays aside.

    An array, random generator or registered object that occurs twice is written once and will be one again.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray[Any, Any]] = []
        self._places: dict[int, int] = {}
        self._objects: dict[int, int] = {}
        self._alive: list[Any] = []  # so that no id is used twice

    def write(self, value: Any) -> Any:
        if value is None or type(value) in (bool, str):
            return value
        if type(value) is int:
            return value if -(2**53) < value < 2**53 else {"int": hex(value)}
        if type(value) is float:
            return value if np.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, str):  # NumPy's
            return str(value)
        if isinstance(value, np.generic):
            return {
                "scalar": [_code(value.dtype), value.astype(_DTYPES[_code(value.dtype)]).tobytes().hex()]
            }  # to the bit
        if type(value) in (list, tuple):
            return {type(value).__name__: [self.write(part) for part in value]}
        if type(value) is dict:
            return {"dict": [[self.write(key), self.write(part)] for key, part in value.items()]}
        if id(value) in self._objects:
            return {"same": self._objects[id(value)]}
        if isinstance(value, np.random.Generator):
            state = value.bit_generator.state
            if state["bit_generator"] not in _BIT_GENERATORS:
                raise CheckpointError(f"Generators of {state['bit_generator']} cannot go into a checkpoint.")
            self._number(value)
            seed = getattr(value.bit_generator, "seed_seq", None)
            return {"generator": [self.write(state), self.write(_seed_state(seed))]}
        if isinstance(value, np.random.RandomState):
            self._number(value)
            state = value.get_state(legacy=False)
            if state["bit_generator"] not in _BIT_GENERATORS:
                raise CheckpointError(f"Generators of {state['bit_generator']} cannot go into a checkpoint.")
            return {"random_state": self.write(state)}
        cls = type(value)
        name = f"{cls.__module__}:{cls.__qualname__}"
        if isinstance(value, type) and f"{value.__module__}:{value.__qualname__}" in _classes:
            return {"class": f"{value.__module__}:{value.__qualname__}"}
        if is_tree(value):
            self._number(value)
            return {"tree": self.write(_tree_state(value))}
        if _classes.get(name) is cls or (cls.__module__.startswith("sklearn.") and _estimator_class(name) is cls):
            self._number(value)
            return {"object": [name, self.write(_state(value))]}
        raise CheckpointError(
            f"A {cls.__module__}.{cls.__qualname__} ({str(value)[:60]!r}) cannot go into a checkpoint: only "
            "numbers, texts, lists, dicts, arrays, random generators and registered classes can."
        )

    def _number(self, value: Any) -> None:
        self._objects[id(value)] = len(self._objects)
        self._alive.append(value)

    def _array(self, array: np.ndarray[Any, Any]) -> Any:
        if isinstance(array, np.ma.MaskedArray):
            raise CheckpointError("Masked arrays cannot go into a checkpoint.")
        if array.dtype.kind in "OU":
            return {"objects": [list(array.shape), array.dtype.kind, [self.write(v) for v in array.ravel().tolist()]]}
        _code(array.dtype)
        place = self._places.get(id(array))
        if place is None:
            place = self._places[id(array)] = len(self.arrays)
            self._alive.append(array)
            self.arrays.append(np.asarray(array, order="C"))
        return {"array": place}


def _state(value: Any) -> Any:
    if hasattr(value, "__checkpoint__"):
        return value.__checkpoint__()
    return value.__getstate__() if hasattr(value, "__setstate__") else vars(value)


def _restore(value: Any, state: Any) -> None:
    if hasattr(value, "__restore__"):
        value.__restore__(state)
    elif hasattr(value, "__setstate__"):
        value.__setstate__(state)
    else:
        vars(value).update(state)


def _seed_state(seed: Any) -> dict[str, Any] | None:
    """What a generator needs for its ``spawn``."""
    if type(seed) is not np.random.SeedSequence:
        return None
    entropy = seed.entropy
    return {
        "entropy": [int(part) for part in entropy] if isinstance(entropy, Sequence) else entropy,
        "spawn_key": [int(part) for part in seed.spawn_key],
        "pool_size": int(seed.pool_size),
        "n_children_spawned": int(seed.n_children_spawned),
    }


def _code(dtype: np.dtype[Any]) -> str:
    code = _CODES.get(dtype.newbyteorder("<") if dtype.byteorder == ">" else dtype)
    if code is None:
        raise CheckpointError(f"Arrays of {dtype} cannot go into a checkpoint.")
    return code


class _Reader:
    """Turns JSON and arrays back into the object."""

    def __init__(self, arrays: list[np.ndarray[Any, Any]]) -> None:
        self.arrays = arrays
        self._objects: list[Any] = []

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
                return int(content, 16)
            case "float":
                return float(content)
            case "array":
                return self.arrays[_index(content, len(self.arrays))]
            case "objects":
                shape, dtype_kind, items = content
                array = np.empty(_size(shape, len(items)), object)
                for i, item in enumerate(items):
                    array[i] = self.read(item)
                if dtype_kind == "U":
                    if not all(isinstance(item, str) for item in items):
                        raise ValueError("an array of texts holds something else")
                    return array.astype(str).reshape(shape)
                return array.reshape(shape)
            case "scalar":
                dtype = np.dtype(_DTYPES[content[0]])
                data = bytes.fromhex(content[1])
                if len(data) != dtype.itemsize or (dtype.kind == "b" and data not in (b"\0", b"\1")):
                    raise ValueError("a number is none")
                return np.frombuffer(data, dtype)[0].astype(dtype.newbyteorder("="))
            case "list":
                return [self.read(part) for part in content]
            case "tuple":
                return tuple(self.read(part) for part in content)
            case "dict":
                return {self.read(key): self.read(part) for key, part in content}
            case "same":
                return self._objects[_index(content, len(self._objects))]
            case "generator":
                state, seed = self.read(content[0]), self.read(content[1])
                generator = np.random.Generator(_bit_generator(state, seed))
                self._objects.append(generator)
                return generator
            case "random_state":
                state = self.read(content)
                random_state = np.random.RandomState(_bit_generator(state, None))
                random_state.set_state(state)
                self._objects.append(random_state)
                return random_state
            case "tree":
                tree = _tree(self.read(content))
                self._objects.append(tree)
                return tree
            case "class":
                return _class_of(content)
            case "object":
                name, state = content
                cls = _class_of(name)
                result: Any = object.__new__(cls)
                self._objects.append(result)
                _restore(result, self.read(state))
                return result
        raise CheckpointError(f"The checkpoint holds a value of the unknown kind {kind!r}.")


def _index(value: Any, size: int) -> int:
    if type(value) is not int or not 0 <= value < size:
        raise ValueError("it refers to something that is not there")
    return value


def _size(shape: Any, expected: int) -> int:
    """Number of entries of an array, if the shape is one and fits."""
    if type(shape) is not list or not all(type(n) is int and n >= 0 for n in shape) or math.prod(shape) != expected:
        raise ValueError(f"the shape {shape} does not fit an array of {expected} entries")
    return expected


def _bit_generator(state: dict[str, Any], seed: dict[str, Any] | None) -> np.random.BitGenerator:
    """Make one of NumPy's bit generators; positions in its buffer, which NumPy takes unchecked, are checked here."""
    name = state["bit_generator"]
    if name not in _BIT_GENERATORS:
        raise ValueError(f"unknown random generator {name}")
    position, end = {"MT19937": (state["state"].get("pos"), 624), "Philox": (state.get("buffer_pos"), 4)}.get(
        name, (0, 0)
    )
    if not 0 <= position <= end:
        raise ValueError("a random generator's state is impossible")
    source = np.random.SeedSequence(0)
    if seed is not None:
        if not 4 <= seed["pool_size"] <= 1024:
            raise ValueError("a random generator's seed is impossible")
        source = np.random.SeedSequence(**{**seed, "spawn_key": tuple(seed["spawn_key"])})
    bits: np.random.BitGenerator = getattr(np.random, name)(source)
    bits.state = state
    return bits


# ---------------------------------------------------------------------------------------------- bytes


def _safe_name(index: int) -> str:
    return f"a{index}"


def to_bytes(value: Any, notes: Mapping[str, Any] | None = None) -> bytes:
    """Write an object as the bytes of a checkpoint.

    Parameters
    ----------
    value : object
        A learner, or anything made of numbers, texts, lists, dicts, arrays, random generators and learners.
    notes : mapping, optional
        What is to be known about the object beside it, as JSON; :func:`notes` reads it back.

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
    try:
        structure = json.dumps(writer.write(value), ensure_ascii=True, allow_nan=False)
    except RecursionError:
        raise CheckpointError("What is nested so deeply, or holds itself, cannot go into a checkpoint.") from None
    header: dict[str, Any] = {
        "__metadata__": {
            "format": "anabranch",
            "version": str(FORMAT_VERSION),
            "sha256": _UNSIGNED,
            "structure": structure,
        }
    }
    if notes is not None:
        header["__metadata__"]["notes"] = json.dumps(dict(notes), ensure_ascii=True, allow_nan=False)
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
    return data.replace(_UNSIGNED.encode(), _digest(data).encode(), 1)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _little(array: np.ndarray[Any, Any]) -> bytes:
    return array.astype(_DTYPES[_code(array.dtype)], copy=False).tobytes()


def from_bytes(data: bytes) -> Any:
    """Read the object back from the bytes of a checkpoint.

    Raises
    ------
    CheckpointError
        If the bytes are cut off, altered, foreign, of a newer format, or name a class not known here.
    """
    header, meta, body = _opened(bytes(data))
    try:
        return _Reader(_read_arrays(header, body)).read(json.loads(meta["structure"]))
    except CheckpointError:
        raise
    except Exception as error:  # whatever a crafted state brings about in the classes that take it
        raise CheckpointError(f"The checkpoint does not fit together ({error}).") from error


def _opened(data: bytes) -> tuple[dict[str, Any], dict[str, Any], memoryview]:
    """Check the bytes of a checkpoint; return where its arrays lie, the rest of its header, and the arrays' bytes."""
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
        _ = meta["structure"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if b'"anabranch"' in data[: 8 + length]:
            raise CheckpointError("The checkpoint's header is damaged: take an earlier copy.") from error
        raise CheckpointError("This is not a checkpoint of anabranch.") from error
    if not ours:
        raise CheckpointError("This is not a checkpoint of anabranch.")
    if version < 1:
        raise CheckpointError("The checkpoint's header is damaged: take an earlier copy.")
    if version < FORMAT_VERSION:
        raise CheckpointError(
            f"The checkpoint has format version {version}, from before the first release; this one reads version "
            f"{FORMAT_VERSION}."
        )
    if version > FORMAT_VERSION:
        raise CheckpointError(
            f"The checkpoint has format version {version}; this release reads up to {FORMAT_VERSION}. "
            "Install a newer anabranch."
        )
    signed = re.fullmatch("[0-9a-f]{64}", signature) is not None
    if not signed or _digest(data.replace(signature.encode(), _UNSIGNED.encode(), 1)) != signature:
        raise CheckpointError("The checkpoint is cut off or was altered (its checksum is wrong): take an earlier copy.")
    return header, meta, memoryview(data)[8 + length :]


def _read_arrays(header: dict[str, Any], body: memoryview) -> list[np.ndarray[Any, Any]]:
    """Copy the arrays, which must lie one after the other and fill the file."""
    arrays = []
    end = 0
    for index in range(len(header)):
        entry = header[_safe_name(index)]
        start, stop = entry["data_offsets"]
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        if type(start) is not int or type(stop) is not int or not end == start <= stop <= len(body):
            raise ValueError("the arrays do not lie one after the other")
        shape = entry["shape"]
        _size(shape, (stop - start) // dtype.itemsize)
        if (stop - start) % dtype.itemsize:
            raise ValueError("an array ends in the middle of a number")
        if dtype == np.bool_ and start < stop and np.frombuffer(body[start:stop], np.uint8).max() > 1:
            raise ValueError("an array of truth values holds something else")
        array = np.empty(shape, dtype.newbyteorder("="))
        array[...] = np.frombuffer(body[start:stop], dtype).reshape(shape) if start < stop else 0
        arrays.append(array)
        end = stop
    if end != len(body):
        raise ValueError("something follows the arrays")
    return arrays


# ---------------------------------------------------------------------------------------------- files


def save(value: Any, path: str | Path, notes: Mapping[str, Any] | None = None) -> None:
    """Write a checkpoint file: under another name first, forced to disk, then renamed over ``path``.

    Parameters
    ----------
    value : object
        As for :func:`to_bytes`.
    path : str or Path
        The file.
    notes : mapping, optional
        What is to be known about the object beside it, as JSON; :func:`notes` reads it back.

    Raises
    ------
    CheckpointError
        If something in the object cannot be saved.
    OSError
        If the file cannot be written; what was there before is left as it was.
    """
    write_atomically(path, to_bytes(value, notes))


def write_atomically(path: str | Path, data: bytes) -> None:
    """Write a file so that at any moment there is either the old one or the new one, whole."""
    with replacing(path) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file to write that takes the place of ``path`` at the end, once it is whole and safely on disk.

    After an error what was there before is as it was, and nothing lies beside it. A process that is killed leaves
    what it has written so far beside it, under a hidden name; the next writer of ``path`` takes that up.

    Raises
    ------
    OSError
        If there is no such folder, it cannot be written in, or ``path`` is no regular file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "notes.txt")
    >>> with replacing(path) as file:
    ...     _ = file.write(b"all or nothing")
    ...     path.exists()
    False
    >>> path.read_text()
    'all or nothing'
    >>> folder.cleanup()
    """
    path = _regular(path)
    with contextlib.ExitStack() as locked:
        handle, name = _open_beside(path)
        if fcntl is not None:  # the lock lasts until the name is gone, which is after the file is closed
            locked.callback(os.close, os.dup(handle))
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileNotFoundError):
                os.chmod(name, stat.S_IMODE(path.stat().st_mode))  # of the file it replaces
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


def check_writable(path: str | Path) -> None:
    """Raise, before long work, the OSError that :func:`replacing` would raise after it; change nothing."""
    with contextlib.ExitStack() as locked:
        handle, name = _open_beside(_regular(path))
        locked.callback(os.close, handle)
        os.unlink(name)


def _regular(path: str | Path) -> Path:
    """Follow links, so that a link stays one; refuse a folder, a device, a pipe: nothing to rename over."""
    path = Path(os.path.realpath(path))
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
    return path


def _open_beside(path: Path) -> tuple[int, Path]:
    """Open an empty file to write in the folder of ``path``; return its descriptor, which holds a lock, and its name.

    The name is always the same, so that what a killed process has left does not stay. While another process writes
    there, and where there are no such locks, it is a new one.
    """
    # Not by tempfile, whose files are closed to everybody else: this one gets the mode that any new file gets.
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0)
    stem = f".{path.name[:40]}."
    name = path.with_name(f"{stem}{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:8]}.part")
    while fcntl is not None:
        try:
            handle = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        except OSError:  # not ours; what else it may be, the other name will tell
            break
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = os.fstat(handle)
            if not stat.S_ISREG(held.st_mode) or held.st_nlink > 1 or held.st_uid != os.geteuid():
                os.close(handle)  # somebody has put it there
                break
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(held, os.lstat(name)):
                    os.ftruncate(handle, 0)
                    return handle, name
            os.close(handle)  # renamed between opening and locking: by now it is the other's whole file
        except BlockingIOError:
            os.close(handle)
            break
        except OSError:  # no locks on this file system
            os.close(handle)
            with contextlib.suppress(OSError):
                os.unlink(name)
            break
    name = path.with_name(f"{stem}{secrets.token_hex(6)}")
    return os.open(name, flags | os.O_EXCL, 0o666), name


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


def notes(path: str | Path) -> dict[str, Any]:
    """Read the notes in a checkpoint file; empty if it has none.

    Raises
    ------
    CheckpointError
        If the file is cut off, altered, foreign, or of a newer format.
    OSError
        If the file cannot be read.
    """
    try:
        _, meta, _ = _opened(Path(path).read_bytes())
        found = json.loads(meta.get("notes", "{}"))
        if not isinstance(found, dict):
            raise CheckpointError("The checkpoint's notes are damaged.")
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}") from error
    return found
