"""Streams joined in time, against a plain row-by-row reading of what the joining means."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.dummy import MajorityClassClassifier
from anabranch.evaluation import prequential
from anabranch.stream import LED, SEA, STAGGER, ArrayStream, DriftStream, FrameStream, Stream


class Numbered(Stream):
    """Rows that say which stream they are of and which number they have."""

    def __init__(self, label: int, n_rows: int | None = None) -> None:
        self.name, self.label, self.n_rows = f"numbered {label}", label, n_rows
        self.endless = n_rows is None
        self.n_features, self.nominal_features = 2, []
        self.classes = np.array([label])

    def _chunks(self, size: int, skip: int) -> Any:
        for start in itertools.count(skip, size):
            stop = start + size if self.n_rows is None else min(start + size, self.n_rows)
            if stop <= start:
                return
            row = np.arange(start, stop)
            yield np.column_stack([np.full(len(row), self.label), row]).astype(float), np.full(len(row), self.label)


def rows(stream: Stream, n: int, size: int = 1000, skip: int = 0) -> tuple[np.ndarray, np.ndarray]:
    chunks = list(itertools.islice(stream.chunks(size, skip), -(-n // size)))
    return np.concatenate([X for X, _ in chunks])[:n], np.concatenate([y for _, y in chunks])[:n]


def in_order(X: np.ndarray, n_streams: int) -> None:
    """Check that every stream's rows are used from its first on, without gaps."""
    for label in range(n_streams):
        own = X[X[:, 0] == label][:, 1]
        np.testing.assert_array_equal(own, np.arange(len(own)))


def test_abrupt() -> None:
    stream = DriftStream([Numbered(0), Numbered(1), Numbered(2)], [300, 5000], n_rows=9000)
    X, y = rows(stream, 10_000)
    np.testing.assert_array_equal(y, np.repeat([0, 1, 2], [300, 4700, 4000]))
    in_order(X, 3)
    assert stream.n_rows == 9000
    assert stream.classes is not None
    assert stream.classes.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("position", "width"), [(20_000, 8000), (3000, 2000), (0, 500)])
def test_gradual(position: int, width: int) -> None:
    X, y = rows(DriftStream([Numbered(0), Numbered(1)], [position], widths=width), 40_000)
    in_order(X, 2)
    likely = np.array([1 / (1 + math.exp(max(-4 * (t - position) / width, -700))) for t in range(40_000)])
    for part in np.split(np.arange(40_000), 40):
        tolerance = 5 * math.sqrt((likely[part] * (1 - likely[part])).sum()) + 1e-6
        assert abs(y[part].sum() - likely[part].sum()) < max(tolerance, 1)
    # Independent from row to row, as far as neighbours go.
    noise = y - likely
    assert abs((noise[1:] * noise[:-1]).sum()) < 5 * math.sqrt((likely * (1 - likely)).sum()) + 1


def test_overlapping_changes_are_nested() -> None:
    positions, widths = [5000, 8000], [6000, 4000]
    _, y = rows(DriftStream([Numbered(0), Numbered(1), Numbered(2)], positions, widths=widths), 16_384)
    t = np.arange(16_384)
    first, second = (1 / (1 + np.exp(-4 * (t - p) / w)) for p, w in zip(positions, widths, strict=True))
    expected = np.stack([(1 - first) * (1 - second), first * (1 - second), second])
    for label in range(3):
        found = (y == label).reshape(32, -1).mean(axis=1)
        np.testing.assert_allclose(found, expected[label].reshape(32, -1).mean(axis=1), atol=0.12)


def test_recurring() -> None:
    listed = DriftStream([Numbered(0), Numbered(1)], [100, 250, 4600], order=[0, 1, 0, 1])
    X, y = rows(listed, 9000)
    np.testing.assert_array_equal(y, np.repeat([0, 1, 0, 1], [100, 150, 4350, 4400]))
    in_order(X, 2)
    forever = DriftStream([Numbered(0), Numbered(1), Numbered(2)], every=700)
    X, y = rows(forever, 20_000)
    np.testing.assert_array_equal(y, np.arange(20_000) // 700 % 3)
    in_order(X, 3)
    assert forever.endless
    X, y = rows(DriftStream([Numbered(0), Numbered(1)], every=3000, widths=400), 30_000)
    in_order(X, 2)
    middles = y.reshape(-1, 3000)[:, 1000:2000]
    np.testing.assert_array_equal(middles.min(axis=1), np.arange(10) % 2)
    np.testing.assert_array_equal(middles.max(axis=1), np.arange(10) % 2)


STREAMS = [
    DriftStream([Numbered(0), Numbered(1), Numbered(2)], [300, 9000]),
    DriftStream([Numbered(0), Numbered(1)], [6000], widths=700),
    DriftStream([Numbered(0), Numbered(1), Numbered(2)], [4000, 5000], widths=[3000, 200], order=[0, 2, 1]),
    DriftStream([Numbered(0), Numbered(1)], every=1500, widths=100),
    DriftStream([SEA(1, noise=0.1), SEA(3, seed=2)], [5000], widths=2000),
    DriftStream([LED(), LED(n_drift_features=3, seed=2)], [8000]),
    DriftStream([DriftStream([STAGGER(1), STAGGER(2)], [3000]), STAGGER(3)], [6000], widths=1000),
]


@settings(max_examples=60, deadline=None)
@given(
    which=st.integers(0, len(STREAMS) - 1),
    size=st.one_of(st.integers(150, 6000), st.sampled_from([4095, 4096, 4097])),
    skip=st.one_of(st.integers(0, 19_000), st.sampled_from([4096, 8192])),
)
def test_rows_do_not_depend_on_chunks(which: int, size: int, skip: int) -> None:
    stream = STREAMS[which]
    X, y = stream.take(20_000)
    got_X, got_y = rows(stream, 20_000 - skip, size, skip)
    np.testing.assert_array_equal(got_X, X[skip:])
    np.testing.assert_array_equal(got_y, y[skip:])


def test_far_rows_and_other_processes() -> None:
    for stream in STREAMS[:3]:
        far = 10**12
        X, _ = stream.take(10, skip=far)
        near, _ = stream.take(5, skip=far + 5)
        np.testing.assert_array_equal(X[5:], near)
    again = pickle.loads(pickle.dumps(STREAMS[4]))
    np.testing.assert_array_equal(again.take(7000)[0], STREAMS[4].take(7000)[0])
    assert repr(again) == repr(STREAMS[4])
    made = eval(repr(STREAMS[4]), {"DriftStream": DriftStream, "SEA": SEA})
    np.testing.assert_array_equal(made.take(7000)[0], STREAMS[4].take(7000)[0])


@pytest.mark.parametrize("positions", [[50], [4096], [3000]])
@pytest.mark.parametrize("last", [100, 4096, 9000])
def test_the_end_of_a_stream_ends_it_all(positions: list[int], last: int) -> None:
    stream = DriftStream([Numbered(0), Numbered(1, last)], positions)
    assert not stream.endless
    assert stream.n_rows == positions[0] + last
    X, _ = stream.take(20_000)
    assert len(X) == stream.n_rows
    assert list(stream.chunks(10, skip=stream.n_rows)) == []


def test_ends_that_are_not_known_beforehand() -> None:
    stream = DriftStream([Numbered(0, 3000), Numbered(1)], [2500], widths=400)
    assert stream.n_rows is None
    assert not stream.endless
    X, y = stream.take(20_000)
    in_order(X, 2)
    assert (y == 0).sum() <= 3000
    short = DriftStream([Numbered(0, 1000), Numbered(1)], [2500], widths=400)
    X, y = short.take(20_000)
    assert len(y) == 1000
    assert DriftStream([Numbered(0, 1000), Numbered(1)], [2500]).n_rows == 1000
    assert DriftStream([Numbered(0, 1000), Numbered(1, 500)], [10, 30], order=[0, 1, 0], n_rows=99).n_rows == 99
    assert DriftStream([Numbered(0, 1000), Numbered(1, 500)], [10, 30], order=[0, 1, 0]).n_rows == 1020
    assert DriftStream([Numbered(0, 40)]).n_rows == 40


@pytest.mark.parametrize("kind", [pa.table, pd.DataFrame, pl.DataFrame])
def test_data_frames(kind: Any) -> None:
    def stream(label: str) -> FrameStream:
        return FrameStream(kind({"n": list(range(3000)), "colour": [label] * 3000, "y": [label] * 3000}), "y")

    joined = DriftStream([stream("red"), stream("blue")], [1500], widths=300)
    X, y = joined.take(2500)
    frame = X.to_pandas() if not isinstance(X, pd.DataFrame) else X
    np.testing.assert_array_equal(frame["colour"], y)
    for label in ("red", "blue"):
        own = frame["n"][frame["colour"] == label].to_numpy()
        np.testing.assert_array_equal(own, np.arange(len(own)))
    assert joined.feature_names == ["n", "colour"]
    parts = [chunk for chunk, _ in joined.chunks(700)]
    assert sum(len(part) for part in parts) == joined.take(10_000)[0].shape[0]


def test_text_labels() -> None:
    X = np.arange(6000.0)[:, None]
    streams = [ArrayStream(X, np.repeat(label, 6000).astype(object)) for label in ("a", "b")]
    X, y = DriftStream(streams, [2000], widths=500).take(5000)
    assert set(y) == {"a", "b"}
    np.testing.assert_array_equal(X[y == "a"][:, 0], np.arange((y == "a").sum()))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DriftStream([], []), "streams is empty"),
        (lambda: DriftStream([SEA(), 3], [5]), "streams must hold streams, got int"),  # type: ignore[list-item]
        (lambda: DriftStream([SEA(), LED()], [5]), "the number of columns of stream 1"),
        (lambda: DriftStream([SEA(), STAGGER()], [5]), "the names of columns of stream 1"),
        (lambda: DriftStream([SEA(), SEA()]), "give either positions or every"),
        (lambda: DriftStream([SEA(), SEA()], [5], every=5), "give either positions or every"),
        (lambda: DriftStream([SEA(), SEA()], [5, 6]), r"fewer than there are phases \(2\), got 2"),
        (lambda: DriftStream([SEA(), SEA()], [6, 5], order=[0, 1, 0]), "positions must ascend"),
        (lambda: DriftStream([SEA(), SEA()], [5], order=[0, 2]), "order must hold places 0 to 1"),
        (lambda: DriftStream([SEA(), SEA()], [-5]), "positions must be a whole number"),
        (lambda: DriftStream([SEA(), SEA()], [5], widths=-1), "widths must be a number"),
        (lambda: DriftStream([SEA(), SEA()], [5], widths=[1, 2]), "widths must hold 1 numbers, got 2"),
        (lambda: DriftStream([SEA(), SEA()], every=5, widths=[1]), "widths must be one number"),
        (lambda: DriftStream([SEA(), SEA()], every=0), "every must be"),
        (lambda: DriftStream([SEA(), SEA()], [5], n_rows=0), "n_rows must be"),
    ],
)
def test_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_frame_and_an_array_do_not_join() -> None:
    frame = FrameStream(pa.table({"x0": [1.0] * 10, "y": [1] * 10}), "y")
    array = ArrayStream(np.ones((10, 1)), np.ones(10, int), feature_names=["x0"])
    with pytest.raises(ValueError, match="rows of one kind to be joined"):
        DriftStream([frame, array], [5]).take(9)


def test_a_run() -> None:
    run = prequential(MajorityClassClassifier(), DriftStream([SEA(1), SEA(3)], [2000], widths=300, n_rows=4000))
    assert run.rows == 4000
