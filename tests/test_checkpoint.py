"""Checkpoints: all comes back, and nothing bad comes in."""

from __future__ import annotations

import collections
import copy
import errno
import hashlib
import io
import json
import math
import os
import pickle
import signal
import stat
import struct
import subprocess
import sys
import threading
import time
import zipfile
import zlib

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from anabranch import checkpoint
from anabranch.base import StreamClassifier
from anabranch.checkpoint import CheckpointError, from_bytes, load, save, to_bytes
from anabranch.dummy import MajorityClassClassifier, NoChangeClassifier
from anabranch.schema import Schema, Vocabulary
from anabranch.tree import HoeffdingTreeClassifier

BIT_GENERATORS = [np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64]


def back(value):
    return from_bytes(to_bytes(value))


def same(a, b):
    """Equal in kind and value, down to the bits; NaN equals NaN."""
    if isinstance(a, np.ndarray):
        if not (isinstance(b, np.ndarray) and a.shape == b.shape):
            return False
        if a.dtype.kind == "O":
            return b.dtype.kind == "O" and all(map(same, a.ravel().tolist(), b.ravel().tolist()))
        if a.dtype.kind == "U":
            return b.dtype.kind == "U" and a.tolist() == b.tolist()
        return a.dtype.newbyteorder("=") == b.dtype and a.astype(b.dtype).tobytes() == b.tobytes()
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, np.generic):
        return a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b) or (math.isnan(a) and math.isnan(b))
    return a == b


# ---------------------------------------------------------------------------------------------- round trip

DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", ">f8", ">f4", ">i8", ">u2"]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([2**53, -(2**53), 2**63, 2**64, -(2**100)]),
    st.floats(),
    st.text(st.characters(), max_size=5),
    st.sampled_from(["\ud800", "\0", "a\0", "0" * 64, '"}', "sha256"]),
    st.one_of(*[hnp.from_dtype(np.dtype(name)) for name in DTYPES if ">" not in name]),
)
KEYS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=3), st.tuples(st.integers(), st.text(max_size=2))
)
ARRAYS = st.one_of(
    hnp.arrays(st.sampled_from(DTYPES), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)),
    hnp.arrays("O", hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3), elements=SCALARS),
    hnp.arrays("U4", hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)),
)
VALUES = st.recursive(
    st.one_of(SCALARS, ARRAYS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4),
    ),
    max_leaves=12,
)


@settings(deadline=None, max_examples=300)
@given(value=VALUES)
def test_round_trip(value):
    data = to_bytes(value)
    again = from_bytes(data)
    assert same(value, again)
    assert to_bytes(again) == data
    assert to_bytes(copy.deepcopy(value)) == to_bytes(value)


def test_arrays_of_every_layout():
    X = np.arange(24.0).reshape(2, 3, 4)
    frozen = X.copy()
    frozen.setflags(write=False)
    for array in (
        X,
        np.asfortranarray(X),
        X[:, ::-1, ::2],
        X.T,
        X.astype(">f8"),
        frozen,
        np.broadcast_to(np.float32(3), (2, 2)),
        np.array(5),
        np.array(5.0)[None],
        np.zeros((0, 3)),
        np.zeros((3, 0, 2), bool),
        X[0, 0],
    ):
        again = back({"array": array})["array"]
        assert same(array, again)
        assert again.flags.writeable
        assert again.flags.c_contiguous
        assert again.flags.owndata
        assert again.dtype.isnative


def test_nan_of_every_kind_and_signed_zero():
    values = [math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1.7976931348623157e308, 0.1]
    assert same(back(values), values)
    strange = np.array([0x7FF8000000000123, 0xFFF0000000000001], np.uint64).view(np.float64)
    assert back(strange).tobytes() == strange.tobytes()


def test_huge_integers():
    for value in (10**5000, -(10**5000)):  # longer than Python turns into decimals
        assert back([value]) == [value]


def test_texts_of_numpy_become_plain():
    assert same(back([np.str_("a")]), ["a"])


@pytest.mark.parametrize("kind", BIT_GENERATORS)
def test_generators(kind):
    for seed in (0, 2**200 + 1, [1, 2, 3], np.random.SeedSequence(7).spawn(2)[1]):
        generator = np.random.Generator(kind(seed))
        generator.spawn(1)
        for draw in (
            lambda it: it.random(),
            lambda it: it.integers(10, dtype=np.uint32),  # leaves half a number behind
            lambda it: it.standard_normal(3).tolist(),
            lambda it: it.poisson(6.0, 5).tolist(),
            lambda it: it.permutation(9).tolist(),
            lambda it: it.spawn(2)[1].random(),
        ):
            other = back([generator])[0]
            assert type(other.bit_generator) is kind
            assert draw(other) == draw(generator)
        assert [other.random() for _ in range(1000)] == [generator.random() for _ in range(1000)]
    legacy = np.random.RandomState(kind(3))
    legacy.standard_normal()  # leaves a second one behind
    other = back([legacy])[0]
    assert isinstance(other, np.random.RandomState)
    assert other.standard_normal(700).tolist() == legacy.standard_normal(700).tolist()


def test_default_generators():
    generator = np.random.default_rng()
    assert back(generator).random(5).tolist() == generator.random(5).tolist()
    legacy = np.random.RandomState(5)
    legacy.rand(1000)
    assert back(legacy).rand(5).tolist() == legacy.rand(5).tolist()


def test_what_is_shared_stays_shared():
    array, generator, values = np.arange(3), np.random.default_rng(0), Vocabulary("ab")
    member = MajorityClassClassifier().fit(np.zeros((2, 1)), [0, 1])
    first, second = back([[array, generator, values, member], [array, generator, values, member]])
    for one, two in zip(first, second, strict=True):
        assert one is two
    assert to_bytes([array, array]) != to_bytes([array, array.copy()])
    assert [x.random() for x in back([np.random.default_rng(0), np.random.default_rng(0)])] == [generator.random()] * 2


def test_many_short_lived_objects_are_not_mixed_up():
    """An object made for the moment of saving may get the address of another one: they must stay two."""
    values = [Schema(), *[Vocabulary([i]) for i in range(50)]]
    learners = [NoChangeClassifier().fit([[float(i)]], [i]) for i in range(50)]
    again = back([values, learners])
    assert [v.values for v in again[0][1:]] == [[i] for i in range(50)]
    assert [learner.classes_.tolist() for learner in again[1]] == [[i] for i in range(50)]


def test_classes_and_learners_inside():
    learner = HoeffdingTreeClassifier(grace_period=20).fit(np.random.default_rng(0).random((50, 2)), [0, 1] * 25)
    again = back({"class": HoeffdingTreeClassifier, "learner": learner, "fresh": MajorityClassClassifier()})
    assert again["class"] is HoeffdingTreeClassifier
    assert again["learner"].to_bytes() == learner.to_bytes()
    assert again["fresh"].get_params() == {}


class Mine(StreamClassifier):
    def _begin(self):
        self.counts_ = np.zeros(0)
        self.me_ = self

    def _learn(self, X, y, w):
        self.counts_ = np.bincount(y, w, max(len(self.counts_), self._n_classes))

    def _votes(self, X):
        return np.tile(self.counts_, (len(X), 1))


def test_ones_own_learner_even_if_it_holds_itself():
    mine = Mine().partial_fit([[1.0], [2.0]], ["a", "b"])
    again = Mine.from_bytes(mine.to_bytes())
    assert type(again) is Mine
    assert again.me_ is again
    assert again.counts_.tolist() == [1, 1]
    with pytest.raises(CheckpointError, match=r"holds a Mine, not a MajorityClassClassifier: load it with Mine\.load"):
        MajorityClassClassifier.from_bytes(mine.to_bytes())
    assert isinstance(StreamClassifier.from_bytes(mine.to_bytes()), Mine)


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1, 2},
        b"bytes",
        1j,
        collections.OrderedDict(a=1),
        collections.deque([1]),
        np.zeros(2, complex),
        np.zeros(2, "M8[D]"),
        np.zeros(2, "S3"),
        np.zeros(2, [("a", "f8")]),
        np.ma.array([1.0, 2.0], mask=[True, False]),
        np.array([object()]),
        np.datetime64("2020-01-01"),
        np.complex128(1j),
        np.bytes_(b"a"),
        lambda: None,
        int,
        os,
        signal.SIGINT,
        np.random.SeedSequence(1),
        np.random.PCG64(1),
        type("Stranger", (), {})(),
    ],
    ids=lambda value: f"{type(value).__name__} {str(value)[:12]}",
)
def test_what_cannot_be_saved(value):
    for within in (value, [value], {"a": (1, value)}, {"k": np.array([value, None], object)}):
        with pytest.raises(CheckpointError, match="cannot go into a checkpoint"):
            to_bytes(within)


def test_what_is_nested_too_deeply():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    circle: list = []
    circle.append(circle)
    for value in (deep, circle):
        with pytest.raises(CheckpointError, match="nested so deeply"):
            to_bytes(value)
    while deep:  # or else freeing it is a deep recursion in itself
        deep = deep[0]


def test_buffers_are_taken():
    data = to_bytes([1, 2])
    assert from_bytes(bytearray(data)) == [1, 2]
    assert from_bytes(memoryview(data)) == [1, 2]


# ---------------------------------------------------------------------------------------------- damage


def small():
    """A small learner that has learned."""
    rng = np.random.default_rng(0)
    rows = [{"size": float(rng.random()), "colour": "red" if i % 3 else "blue"} for i in range(6)]
    return MajorityClassClassifier().partial_fit(rows, ["yes", "no"] * 3)


def test_cut_off_anywhere():
    for data in (to_bytes([]), small().to_bytes()):
        for length in range(len(data)):
            with pytest.raises(CheckpointError):
                from_bytes(data[:length])


def test_something_appended():
    data = small().to_bytes()
    for more in (b"\0", b" ", data):
        with pytest.raises(CheckpointError, match="checksum"):
            from_bytes(data + more)


@pytest.mark.parametrize("mask", [0x01, 0x20, 0x80, 0xFF])
def test_every_byte_flipped(mask):
    data = bytearray(small().to_bytes())
    for i in range(len(data)):
        data[i] ^= mask
        with pytest.raises(CheckpointError):
            from_bytes(bytes(data))
        data[i] ^= mask
    assert from_bytes(bytes(data)).classes_.tolist() == ["yes", "no"]


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_damaged_anyhow(data):
    whole = small().to_bytes()
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, len(whole)))
    damaged = whole[:start] + data.draw(st.binary(max_size=20)) + whole[stop:]
    if damaged != whole:
        with pytest.raises(CheckpointError):
            from_bytes(damaged)


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=100))
def test_any_bytes(data):
    for foreign in (data, len(data).to_bytes(8, "little") + data, len(data).to_bytes(8, "little") + b"{" + data):
        with pytest.raises(CheckpointError, match=r"not a checkpoint|cut off|damaged"):
            from_bytes(foreign)


def foreign_files():
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a", "b")
    chunk = b"IHDR" + struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    header = json.dumps({"__metadata__": {"format": "pt"}}).encode()
    yield "empty", b""
    yield "text", b"rows and rows of text\n" * 20
    yield "JSON", b'{"__metadata__": {"format": "anabranch"}}'
    yield "zip", archive.getvalue()
    yield "pickle", pickle.dumps(small())
    yield "PNG", b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    yield "safetensors", safetensors.numpy.save({"a": np.zeros(3)})
    yield "safetensors with metadata", safetensors.numpy.save({"a": np.zeros(3)}, {"format": "pt"})
    yield "safetensors of nothing", safetensors.numpy.save({})
    yield "random", np.random.default_rng(0).bytes(1000)
    yield "zeros", bytes(1000)
    for length in (2**60, 2**63, 2**64 - 1, 2**30 + 1, 2**20, 2, 0):
        yield f"a header of {length} bytes", length.to_bytes(8, "little") + header
    for text in (
        b"{}",
        b"{",
        b"{}}",
        b'{"__metadata__": 3}',
        b'{"__metadata__": []}',
        b'{"__metadata__": {}}',
        b"{" * 9,
    ):
        yield f"the header {text!r}", len(text).to_bytes(8, "little") + text
    yield "a deep header", (10**6).to_bytes(8, "little") + b'{"a":' * 200_000
    yield "UTF-16", (20).to_bytes(8, "little") + '{"ab": 1}'.encode("utf-16")


@pytest.mark.parametrize("data", [data for _, data in foreign_files()], ids=[name for name, _ in foreign_files()])
def test_foreign_files(data, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(CheckpointError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: ")
    with pytest.raises(CheckpointError):
        HoeffdingTreeClassifier.load(path)


# ---------------------------------------------------------------------------------------------- forgery


def parts(data):
    """Header and body of a checkpoint."""
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def forged(header, body=b""):
    """A checkpoint whose checksum is right, whatever it holds."""
    header = copy.deepcopy(header)
    header["__metadata__"]["sha256"] = "0" * 64
    text = json.dumps(header).encode()
    data = len(text).to_bytes(8, "little") + text + body
    return data.replace(b"0" * 64, hashlib.sha256(data).hexdigest().encode(), 1)


def with_structure(structure, arrays=None, body=b""):
    text = structure if isinstance(structure, str) else json.dumps(structure)
    return forged(
        {
            "__metadata__": {"format": "anabranch", "version": "2", "sha256": "", "structure": text},
            **(arrays or {}),
        },
        body,
    )


def test_forging_works():
    """Or else the tests below would show nothing."""
    assert from_bytes(forged(*parts(to_bytes([1, np.arange(3)]))))[1].tolist() == [0, 1, 2]
    entry = {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}
    assert from_bytes(with_structure({"array": 0}, {"a0": entry}, b"\1\2")).tolist() == [1, 2]


def test_newer_and_older_versions():
    header, body = parts(to_bytes([1]))
    header["__metadata__"]["version"] = "3"
    with pytest.raises(
        CheckpointError, match=r"format version 3; this release reads up to 2\. Install a newer anabranch"
    ):
        from_bytes(forged(header, body))
    header["__metadata__"]["version"] = "1"
    with pytest.raises(CheckpointError, match=r"format version 1, from before the first release"):
        from_bytes(forged(header, body))
    for version in ("0", "-1", "one", "", None, [], "9" * 5000):
        header["__metadata__"]["version"] = version
        with pytest.raises(CheckpointError, match=r"header is damaged"):
            from_bytes(forged(header, body))


def test_signatures_of_no_sense():
    header, body = parts(to_bytes([1]))
    for signature in ("", "\ud800" * 64, "g" * 64, "A" * 64, "0" * 64, "0", None, 5, [], {}):
        header["__metadata__"]["sha256"] = signature
        text = json.dumps(header).encode()
        with pytest.raises(CheckpointError, match=r"checksum|damaged"):
            from_bytes(len(text).to_bytes(8, "little") + text + body)


@pytest.mark.parametrize("key", ["format", "version", "sha256", "structure"])
def test_missing_parts_of_the_header(key):
    header, body = parts(to_bytes([1]))
    del header["__metadata__"][key]
    text = json.dumps(header).encode()
    with pytest.raises(CheckpointError, match=r"not a checkpoint|damaged"):
        from_bytes(len(text).to_bytes(8, "little") + text + body)


ENTRY = {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}


@pytest.mark.parametrize(
    "arrays",
    [
        {"a0": {**ENTRY, "shape": [3]}},
        {"a0": {**ENTRY, "shape": [-1]}},
        {"a0": {**ENTRY, "shape": [-1, -2]}},
        {"a0": {**ENTRY, "shape": [2, 2]}},
        {"a0": {**ENTRY, "shape": 2}},
        {"a0": {**ENTRY, "shape": None}},
        {"a0": {**ENTRY, "shape": [2.0]}},
        {"a0": {**ENTRY, "shape": ["2"]}},
        {"a0": {**ENTRY, "shape": [True, 2]}},
        {"a0": {**ENTRY, "shape": [2**62, 4, 0]}},
        {"a0": {**ENTRY, "shape": [1] * 100 + [2]}},
        {"a0": {**ENTRY, "shape": []}},
        {"a0": {**ENTRY, "data_offsets": [-16, 0]}},
        {"a0": {**ENTRY, "data_offsets": [8, 24]}},
        {"a0": {**ENTRY, "data_offsets": [16, 0]}},
        {"a0": {**ENTRY, "data_offsets": [0, 17]}},
        {"a0": {**ENTRY, "data_offsets": [0, 15]}},
        {"a0": {**ENTRY, "data_offsets": [0, 8], "shape": [1]}},
        {"a0": {**ENTRY, "data_offsets": [0, 2**70]}},
        {"a0": {**ENTRY, "data_offsets": [0.0, 16.0]}},
        {"a0": {**ENTRY, "data_offsets": [0]}},
        {"a0": {**ENTRY, "data_offsets": None}},
        {"a0": {**ENTRY, "dtype": "O"}},
        {"a0": {**ENTRY, "dtype": "object"}},
        {"a0": {**ENTRY, "dtype": "|O"}},
        {"a0": {**ENTRY, "dtype": None}},
        {"a0": {**ENTRY, "dtype": []}},
        {"a0": {"dtype": "BOOL", "shape": [16], "data_offsets": [0, 16]}},
        {"a0": {"shape": [2], "data_offsets": [0, 16]}},
        {"a0": ENTRY, "a1": ENTRY},
        {"a0": ENTRY, "b": ENTRY},
        {"a1": ENTRY},
        {"a0": None},
        {"a0": []},
        {},
    ],
    ids=str,
)
def test_arrays_that_do_not_fit(arrays):
    body = np.array([0.5, 1.5]).tobytes()
    for structure in ({"array": 0}, None):
        with pytest.raises(CheckpointError, match=r"does not fit together"):
            from_bytes(with_structure(structure, arrays, body))


STRUCTURES = [
    {"array": 1},
    {"array": -1},
    {"array": True},
    {"array": 0.0},
    {"array": "0"},
    {"array": None},
    {"array": [0]},
    {"objects": [[2], "O", [1]]},
    {"objects": [[-1], "O", [1]]},
    {"objects": [[2**40], "O", []]},
    {"objects": [[2**62, 4, 0, 2**62], "O", []]},
    {"objects": [[1], "U", [1]]},
    {"objects": [[1], "U", [{"list": []}]]},
    {"objects": [[1], "O"]},
    {"objects": 5},
    {"scalar": ["O", 1]},
    {"scalar": ["I8", 1000]},
    {"scalar": ["F64", "text"]},
    {"scalar": ["F64", {"list": [1.0, 2.0]}]},
    {"scalar": []},
    {"int": "text"},
    {"int": 5},
    {"float": "text"},
    {"float": []},
    {"list": 5},
    {"tuple": None},
    {"dict": [[1]]},
    {"dict": [[{"list": []}, 1]]},
    {"dict": 5},
    {"same": 0},
    {"same": -1},
    {"list": [{"same": 0}]},
    {"class": "os:system"},
    {"class": None},
    {"class": []},
    {"object": ["os:system", {"list": ["true"]}]},
    {"object": ["builtins:eval", "1"]},
    {"object": ["anabranch.schema:checkpoint", {"dict": []}]},
    {"object": ["anabranch.schema:", {"dict": []}]},
    {"object": ["anabranch.schema:Schema"]},
    {"object": ["anabranch.schema:Schema", None]},
    {"object": ["anabranch.schema:Schema", {"dict": []}]},
    {"object": ["anabranch.schema:Schema", 5]},
    {"object": ["anabranch.schema:Vocabulary", 5]},
    {"object": ["anabranch.schema:Vocabulary", {"list": [{"list": []}]}]},
    {"object": ["anabranch.dummy.no_change:NoChangeClassifier", 5]},
    {"object": ["anabranch.dummy.no_change:NoChangeClassifier", {"list": [5]}]},
    {"object": [None, None]},
    {"object": None},
    {"generator": None},
    {"generator": [{"dict": []}, None]},
    {"generator": [{"dict": [["bit_generator", "os"]]}, None]},
    {"generator": [{"dict": [["bit_generator", "PCG64"]]}, None]},
    {"random_state": None},
    {"random_state": {"dict": []}},
    {"code": "import os"},
    {},
    {"list": [], "tuple": []},
    [],
    [1],
]


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda value: str(value)[:60])
def test_structures_of_no_sense(structure):
    for within in (structure, {"list": [{"dict": [["key", structure]]}]}):
        with pytest.raises(CheckpointError):
            from_bytes(with_structure(within))


@pytest.mark.parametrize("text", ["", "{", "nothing", '{"list": [}', '{"list":[' * 100_000, "[" * 100_000, "9" * 5000])
def test_structures_that_are_no_json(text):
    with pytest.raises(CheckpointError, match=r"does not fit together"):
        from_bytes(with_structure(text))


def test_deep_structure():
    text = '{"list":[' * 5000 + "]}" * 5000
    with pytest.raises(CheckpointError, match=r"does not fit together"):
        from_bytes(with_structure(text))


@pytest.mark.parametrize(
    ("generator", "place", "value"),
    [
        (np.random.Generator(np.random.MT19937(0)), ("state", "pos"), 625),
        (np.random.Generator(np.random.MT19937(0)), ("state", "pos"), -1),
        (np.random.Generator(np.random.MT19937(0)), ("state", "pos"), 10**9),
        (np.random.Generator(np.random.MT19937(0)), ("state", "key"), np.zeros(3, np.uint32)),
        (np.random.Generator(np.random.Philox(0)), ("buffer_pos",), 5),
        (np.random.Generator(np.random.Philox(0)), ("buffer_pos",), -7),
        (np.random.Generator(np.random.PCG64(0)), ("state", "state"), "text"),
        (np.random.Generator(np.random.SFC64(0)), ("bit_generator",), "PCG64"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_generators_in_impossible_states(generator, place, value):
    """NumPy would read beyond its buffers."""
    state = generator.bit_generator.state
    inner = state
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    header, body = parts(to_bytes(state))
    structure = {"generator": [json.loads(header["__metadata__"]["structure"]), None]}
    header["__metadata__"]["structure"] = json.dumps(structure)
    with pytest.raises(CheckpointError, match="does not fit together"):
        from_bytes(forged(header, body))


def test_seeds_of_no_sense():
    state = to_bytes(np.random.default_rng(0))
    header, body = parts(state)
    [inner, seed] = json.loads(header["__metadata__"]["structure"])["generator"]
    good = dict(seed["dict"])
    for key, value in [("pool_size", 2**40), ("pool_size", 0), ("entropy", "x"), ("spawn_key", 5), ("strange", 1)]:
        bad = {"dict": [[k, v] for k, v in {**good, key: value}.items()]}
        header["__metadata__"]["structure"] = json.dumps({"generator": [inner, bad]})
        with pytest.raises(CheckpointError, match="does not fit together"):
            from_bytes(forged(header, body))


def test_unknown_class_is_named():
    with pytest.raises(CheckpointError, match=r"of the class other\.package\.Learner, which is not known here"):
        from_bytes(with_structure({"object": ["other.package:Learner", {"dict": []}]}))
    with pytest.raises(CheckpointError, match=r"class anabranch\.tree\.PastClassifier, which is not known here"):
        from_bytes(with_structure({"class": "anabranch.tree:PastClassifier"}))


def test_no_module_is_imported_from_a_name_in_a_file(tmp_path, monkeypatch):
    (tmp_path / "trap.py").write_text("import builtins\nbuiltins.sprung = True\nclass Learner: pass\n")
    (tmp_path / "anabranch_trap").mkdir()
    (tmp_path / "anabranch_trap" / "__init__.py").write_text("import builtins\nbuiltins.sprung = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    known = set(sys.modules)
    names = [
        "trap:Learner",
        "anabranch.trap:Learner",
        "anabranch_trap:Learner",
        "anabranch..trap:Learner",
        ".trap:Learner",
    ]
    names += ["anabranch.__main__:main", "anabranch.cli.:main", "anabranch./trap:Learner", "anabranch.dummy.:x", "os:x"]
    for name in names:
        for structure in ({"object": [name, {"dict": []}]}, {"class": name}):
            with pytest.raises(CheckpointError, match="not known here"):
                from_bytes(with_structure(structure))
    import builtins

    assert not hasattr(builtins, "sprung")
    assert "trap" not in sys.modules
    assert "anabranch_trap" not in sys.modules
    assert "anabranch.__main__" not in set(sys.modules) - known


def run(code, *arguments, **options):
    """Run code in a fresh process, with the package in the version under test."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_our_own_classes_need_no_import(tmp_path):
    small().save(tmp_path / "model")
    code = "import sys; from anabranch.checkpoint import load; print(type(load(sys.argv[1])).__name__)"
    assert run(code, tmp_path / "model").split() == ["MajorityClassClassifier"]


# ---------------------------------------------------------------------------------------------- the file format


def test_safetensors_reads_it(tmp_path):
    arrays = [
        np.arange(5.0),
        np.ones((2, 3), np.int8),
        np.array([True, False]),
        np.array(7, np.uint16),
        np.zeros((0, 2)),
    ]
    arrays += [np.arange(3, dtype=">i4"), np.arange(6.0, dtype=np.float16).reshape(2, 3)[:, ::2]]
    save({"arrays": arrays, "text": "é"}, tmp_path / "model.safetensors")
    found = safetensors.numpy.load_file(tmp_path / "model.safetensors")
    assert sorted(found) == [f"a{i}" for i in range(len(arrays))]
    for i, array in enumerate(arrays):
        assert same(array, found[f"a{i}"])
    with safetensors.safe_open(tmp_path / "model.safetensors", framework="numpy") as file:
        meta = file.metadata()
    assert meta["format"] == "anabranch"
    assert meta["version"] == str(checkpoint.FORMAT_VERSION)
    assert set(json.loads(meta["structure"])) == {"dict"}
    learner = HoeffdingTreeClassifier(grace_period=20).fit(np.random.default_rng(0).random((60, 3)), [0, 1, 2] * 20)
    total = sum(array.nbytes for array in safetensors.numpy.load(learner.to_bytes()).values())
    assert learner.nbytes <= total <= learner.nbytes + 100


def test_arrays_are_aligned():
    data = to_bytes(["odd length", np.zeros(3), np.zeros(1, np.int8)])
    assert int.from_bytes(data[:8], "little") % 8 == 0


# ---------------------------------------------------------------------------------------------- files


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def test_save_over_an_existing_file(tmp_path):
    path = tmp_path / "model"
    for i in range(3):
        save(i, path)
        assert load(path) == i
        assert load(str(path)) == i
    assert listing(tmp_path) == ["model"]


@pytest.mark.parametrize("what", ["open", "replace", "fsync", "fdopen", "chmod", "write", "half", "interrupt"])
@pytest.mark.parametrize("old", [False, True], ids=["new", "over an old one"])
def test_failure_leaves_the_old_file(what, old, tmp_path, monkeypatch):
    path = tmp_path / "model"
    if old:
        save("old", path)
    elif what == "chmod":
        pytest.skip("the mode is only that of an old file")

    def fail(*args, **kwargs):
        if what == "interrupt":
            raise KeyboardInterrupt
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if what in ("write", "half"):
        real = os.fdopen

        def opened(handle, mode):
            file = real(handle, mode)

            class Full:
                def __enter__(self):
                    return self

                def __exit__(self, *args):
                    file.close()

                def write(self, data):
                    if what == "half":
                        file.write(data[: len(data) // 2])
                    fail()

            return Full()

        monkeypatch.setattr(os, "fdopen", opened)
    else:
        monkeypatch.setattr(os, {"interrupt": "fsync"}.get(what, what), fail)
    with pytest.raises(KeyboardInterrupt if what == "interrupt" else OSError) as error:
        save("new", path)
    if what != "interrupt":
        assert error.value.errno == errno.ENOSPC
    monkeypatch.undo()
    assert listing(tmp_path) == (["model"] if old else [])
    if old:
        assert load(path) == "old"


def test_what_cannot_be_saved_leaves_the_old_file(tmp_path):
    save("old", tmp_path / "model")
    with pytest.raises(CheckpointError):
        save([object()], tmp_path / "model")
    assert load(tmp_path / "model") == "old"
    assert listing(tmp_path) == ["model"]


def test_everything_is_synced_before_the_rename(tmp_path, monkeypatch):
    done = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *args, real=real, name=name: (done.append(name), real(*args))[1])
    save("new", tmp_path / "model")
    assert done[:2] == ["fsync", "replace"]
    if os.name == "posix":
        assert done == ["fsync", "replace", "fsync"]


def test_missing_folder_and_folder_as_file(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        save("new", tmp_path / "missing" / "model")
    assert not isinstance(error.value, CheckpointError)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        save("new", tmp_path / "folder")
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        save("new", tmp_path / "file" / "model")
    assert listing(tmp_path) == ["file", "folder"]
    for path in ("missing", "folder"):
        with pytest.raises(OSError, match=path):
            load(tmp_path / path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_read_only_folder(tmp_path):
    save("old", tmp_path / "model")
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(PermissionError):
            save("new", tmp_path / "model")
        assert load(tmp_path / "model") == "old"
    finally:
        tmp_path.chmod(0o755)


@pytest.mark.skipif(os.name != "posix", reason="no links everywhere")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "model")
    for i in range(2):  # the first time, nothing is there yet
        save(i, tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert load(tmp_path / "real" / "model") == i
    assert listing(tmp_path / "real") == ["model"]
    assert listing(tmp_path) == ["link", "real"]


@pytest.mark.skipif(os.name != "posix", reason="no such modes everywhere")
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_file_mode(umask, tmp_path):
    old = os.umask(umask)
    try:
        save(0, tmp_path / "model")
        (tmp_path / "plain").write_bytes(b"")
    finally:
        os.umask(old)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("model", "plain")]
    assert modes == [0o666 & ~umask] * 2
    for mode in (0o600, 0o640):
        (tmp_path / "model").chmod(mode)
        save(1, tmp_path / "model")
        assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == mode, "a file's mode is changed"
    assert load(tmp_path / "model") == 1


def test_long_and_odd_names(tmp_path):
    for name in ("m" * 255, "é" * 100, " ", ".hidden", "a\nb", "-rf"):
        save(name, tmp_path / name)
        assert load(tmp_path / name) == name
    assert len(listing(tmp_path)) == 6


def test_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(5, "model")
    assert load("model") == 5


def test_concurrent_saves(tmp_path):
    path = tmp_path / "model"
    values = [{"number": i, "array": np.full(20_000, i)} for i in range(4)]
    save(values[0], path)
    stop = threading.Event()
    seen, wrong = set(), []

    def write(value):
        for _ in range(15):
            save(value, path)

    def read():
        while not stop.is_set():
            value = load(path)
            seen.add(value["number"])
            if not (value["array"] == value["number"]).all():
                wrong.append(value)

    writers = [threading.Thread(target=write, args=(value,)) for value in values]
    reader = threading.Thread(target=read)
    reader.start()
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    reader.join()
    assert not wrong
    assert seen
    assert seen <= {0, 1, 2, 3}
    assert listing(tmp_path) == ["model"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
def test_killed_while_saving(tmp_path):
    path = tmp_path / "model"
    code = (
        "import sys, numpy as np; from anabranch.checkpoint import save\n"
        "i = 0\n"
        "while True:\n"
        "    save({'i': i, 'a': np.full(30_000, i)}, sys.argv[1]); i += 1\n"
        "    print(i, flush=True)"
    )
    for kill in range(4):
        with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as process:
            for _ in range(3):
                process.stdout.readline()
            time.sleep(0.003 * kill)
            process.kill()
            process.wait()
        assert process.returncode == -signal.SIGKILL
        value = load(path)
        assert value["i"] >= 2
        assert (value["a"] == value["i"]).all()
        assert all(name == "model" or name.startswith(".model.") for name in listing(tmp_path))
    save(value, path)
    assert listing(tmp_path) == ["model"], "what a killed process left is cleared away"


@pytest.mark.skipif(os.name != "posix", reason="locks")
def test_what_a_killed_process_left_is_taken_up_unless_it_is_not_ours(tmp_path):
    path = tmp_path / "model"
    with checkpoint.replacing(path):
        (left,) = tmp_path.iterdir()
    path.unlink()
    left.write_bytes(b"much longer than what follows" * 1000)
    save(1, path)
    assert (listing(tmp_path), load(path)) == (["model"], 1)
    # Another writer is at it: both get through, and the last to end wins.
    with checkpoint.replacing(path) as file:
        file.write(checkpoint.to_bytes("slow"))
        save("quick", path)
        assert load(path) == "quick"
    assert (listing(tmp_path), load(path)) == (["model"], "slow")
    # Something else that goes by the name stays what it is, and is not written to.
    precious = tmp_path / "precious"
    precious.write_text("gold")
    for put in (
        lambda: left.symlink_to(precious),
        lambda: os.link(precious, left),
        left.mkdir,
        lambda: os.mkfifo(left),
    ):
        put()
        save(2, path)
        assert load(path) == 2
        assert listing(tmp_path) == sorted(["model", left.name, "precious"])
        assert precious.read_text() == "gold"
        left.rmdir() if left.is_dir() and not left.is_symlink() else left.unlink()


def test_writable_is_checked_without_a_trace(tmp_path):
    checkpoint.check_writable(tmp_path / "model")
    assert listing(tmp_path) == []
    for wrong in (tmp_path, tmp_path / "missing" / "model", tmp_path / ("m" * 300), "/dev/full", "/proc/model"):
        with pytest.raises(OSError):  # noqa: PT011 - which one, the system says
            checkpoint.check_writable(wrong)


@pytest.mark.skipif(os.name != "posix", reason="limits")
def test_a_disk_that_fills_up(tmp_path):
    path = tmp_path / "model"
    save("old", path)
    code = (
        "import sys, resource, numpy as np; from anabranch.checkpoint import save\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "save(np.zeros(100_000), sys.argv[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert "OSError: [Errno 27] File too large" in done.stderr
    assert load(path) == "old"
    assert listing(tmp_path) == ["model"]


def test_notes(tmp_path):
    path = tmp_path / "model"
    save({"a": 1}, path, notes={"columns": ["x", "\u00fc"], "rows": 5})
    assert checkpoint.notes(path) == {"columns": ["x", "\u00fc"], "rows": 5}
    assert load(path) == {"a": 1}
    save({"a": 1}, path)
    assert checkpoint.notes(path) == {}
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(CheckpointError, match="model"):
        checkpoint.notes(path)


STREAM = """
import sys
import numpy as np
from anabranch.tree import HoeffdingTreeClassifier

def chunks(start, stop):
    for i in range(start, stop):
        rng = np.random.default_rng(i)
        rows = [{"size": float(v), "colour": ["red", "blue", "green"][int(v * 3) % 3], f"late{i // 6}": i}
                for v in rng.normal(0, 2, 100)]
        yield rows, ["no", "yes", f"class {i // 7}"] * 33 + ["no"]
"""


def test_restart_law_across_processes(tmp_path):
    settings = "grace_period=25, tie_threshold=0.5, max_bytes=40_000, memory_period=50"
    first = STREAM + (
        f"tree = HoeffdingTreeClassifier({settings})\n"
        "for X, y in chunks(0, 10): tree.partial_fit(X, y)\n"
        "tree.save(sys.argv[1])"
    )
    second = STREAM + (
        "tree = HoeffdingTreeClassifier.load(sys.argv[1])\n"
        "for X, y in chunks(10, 20): tree.partial_fit(X, y)\n"
        "tree.save(sys.argv[2])"
    )
    straight = STREAM + (
        f"tree = HoeffdingTreeClassifier({settings})\n"
        "for X, y in chunks(0, 20): tree.partial_fit(X, y)\n"
        "tree.save(sys.argv[1])"
    )
    run(first, tmp_path / "half")
    run(second, tmp_path / "half", tmp_path / "whole")
    run(straight, tmp_path / "straight")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "straight").read_bytes()
    assert (tmp_path / "whole").read_bytes() != (tmp_path / "half").read_bytes()
    assert HoeffdingTreeClassifier.load(tmp_path / "whole").n_nodes_ > 1
