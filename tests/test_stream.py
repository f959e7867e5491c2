from __future__ import annotations

import math
import pickle
import random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.stream import (
    GENERATORS,
    SEA,
    ArrayStream,
    FileStream,
    FrameStream,
    Generator,
    RandomRBF,
    Stream,
)


def joined(stream: Stream, size: int, skip: int = 0) -> tuple[Any, np.ndarray]:
    chunks = list(stream.chunks(size, skip))
    assert all(len(y) == size for _, y in chunks[:-1])
    assert all(0 < len(y) <= size and len(X) == len(y) for X, y in chunks)
    return np.concatenate([as_matrix(X) for X, _ in chunks]), np.concatenate([y for _, y in chunks])


def as_matrix(X: Any) -> np.ndarray:
    if isinstance(X, np.ndarray):
        assert X.dtype == np.float64
        assert X.flags.c_contiguous
        return X
    if isinstance(X, pa.Table):
        X = X.to_pandas()
    return np.asarray(X.to_numpy(), dtype=object)


N_ROWS = 10_000


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> list[Stream]:
    rng = np.random.default_rng(0)
    X = rng.random((N_ROWS, 3))
    colours = np.array(["red", "green", "blue"])[rng.integers(3, size=N_ROWS)]
    labels = np.array(["yes", "no"])[rng.integers(2, size=N_ROWS)]
    table = pa.table({"a": X[:, 0], "colour": colours, "y": labels, "b": X[:, 1]})
    folder = tmp_path_factory.mktemp("files")
    numeric, mixed = folder / "numeric.csv", folder / "mixed.csv"
    pd.DataFrame(X).assign(y=rng.integers(3, size=N_ROWS)).to_csv(numeric, index=False)
    table.to_pandas().to_csv(mixed, index=False)
    return [
        ArrayStream(X, labels),
        FrameStream(table, "y"),
        FrameStream(table.to_pandas(), "y"),
        FrameStream(pl.DataFrame(table), "y"),
        FileStream(numeric, block_size=5000),
        FileStream(mixed, "y", block_size=3000),
        RandomRBF(n_rows=N_ROWS),
        RandomRBF(),
        SEA(noise=0.1, n_rows=N_ROWS),
    ]


# --------------------------------------------------------------------------------------------- every stream


@settings(max_examples=40, deadline=None)
@given(
    which=st.sampled_from([0, 1, 2, 3, 4, 5, 6, 8]),  # Number 7 has no end.
    size=st.one_of(st.integers(60, 6000), st.sampled_from([4095, 4096, 4097, N_ROWS, 3 * N_ROWS])),
    skip=st.one_of(st.integers(0, N_ROWS - 1), st.sampled_from([4095, 4096, 4097])),
)
def test_rows_do_not_depend_on_chunks(streams: list[Stream], which: int, size: int, skip: int) -> None:
    stream = streams[which]
    X, y = stream.take(N_ROWS)
    assert len(y) == N_ROWS
    got_X, got_y = joined(stream, size, skip)
    np.testing.assert_array_equal(got_X, as_matrix(X)[skip:])
    np.testing.assert_array_equal(got_y, y[skip:])
    taken_X, taken_y = stream.take(size, skip)
    np.testing.assert_array_equal(as_matrix(taken_X), as_matrix(X)[skip : skip + size])
    np.testing.assert_array_equal(taken_y, y[skip : skip + size])


@pytest.mark.parametrize("which", range(9))
def test_single_rows_and_afresh(streams: list[Stream], which: int) -> None:
    stream = streams[which]
    first, second = stream.chunks(1), stream.chunks(3)
    rows = [next(first) for _ in range(3)]
    X, y = next(second)
    np.testing.assert_array_equal(np.concatenate([as_matrix(row) for row, _ in rows]), as_matrix(X))
    np.testing.assert_array_equal(np.concatenate([label for _, label in rows]), y)


@pytest.mark.parametrize("which", range(9))
def test_streams_can_be_sent_to_other_processes(streams: list[Stream], which: int) -> None:
    sent = pickle.loads(pickle.dumps(streams[which]))
    X, y = streams[which].take(100, skip=7)
    sent_X, sent_y = sent.take(100, skip=7)
    np.testing.assert_array_equal(as_matrix(sent_X), as_matrix(X))
    np.testing.assert_array_equal(sent_y, y)
    assert repr(sent) == repr(streams[which])


@pytest.mark.parametrize("which", range(9))
def test_what_streams_say_of_themselves(streams: list[Stream], which: int) -> None:
    stream = streams[which]
    X, y = stream.take(50)
    assert X.shape == (50, stream.n_features)
    assert stream.nominal_features == []
    assert stream.name
    assert repr(stream).startswith(type(stream).__name__ + "(")
    if stream.classes is not None:
        assert set(y) <= set(stream.classes)
        np.testing.assert_array_equal(stream.classes, np.sort(stream.classes))
    if stream.n_rows is not None:
        assert stream.n_rows == N_ROWS
        assert list(stream.chunks(100, skip=N_ROWS)) == []
        with pytest.raises(ValueError, match="ends before row 10000"):
            stream.take(5, skip=N_ROWS)


@pytest.mark.parametrize("which", range(9))
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "size must be a whole number of at least 1, got 0"),
        ((2.5,), "size must be .* got 2.5"),
        ((True,), "size must be"),
        ((10, -1), "skip must be a whole number of at least 0, got -1"),
    ],
)
def test_arguments_are_checked_at_once(
    streams: list[Stream], which: int, arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        streams[which].chunks(*arguments)


def test_take_checks_n(streams: list[Stream]) -> None:
    with pytest.raises(ValueError, match="n must be a whole number of at least 1, got 0"):
        streams[0].take(0)


# --------------------------------------------------------------------------------------------------- arrays


def test_array_chunks_are_views() -> None:
    X, y = np.zeros((10, 2)), np.arange(10)
    for chunk, labels in ArrayStream(X, y).chunks(4):
        assert np.shares_memory(chunk, X)
        assert np.shares_memory(labels, y)


def test_array_converts_other_inputs_once() -> None:
    X = np.asfortranarray(np.arange(12, dtype=np.int32).reshape(4, 3))
    chunk, _ = ArrayStream(X, [1, 0, 1, 0]).take(3)
    as_matrix(chunk)
    np.testing.assert_array_equal(chunk, X[:3])


def test_array_classes() -> None:
    X = np.zeros((3, 1))
    assert ArrayStream(X, [3, 1, 3]).classes.tolist() == [1, 3]
    assert ArrayStream(X, [2.0, 1.0, 2.0]).classes.tolist() == [1.0, 2.0]
    assert ArrayStream(X, [2.5, 1.0, 2.0]).classes is None
    assert ArrayStream(X, np.array(["b", "a", "b"], dtype=object)).classes.tolist() == ["a", "b"]
    assert ArrayStream(X, [0, 0, 1], classes=[2, 1, 0]).classes.tolist() == [0, 1, 2]


def test_array_names() -> None:
    stream = ArrayStream(np.zeros((3, 2)), [0, 1, 0], name="n", feature_names=("a", "b"), nominal_features=[1])
    assert (stream.name, stream.feature_names, stream.nominal_features) == ("n", ["a", "b"], [1])
    assert ArrayStream(np.zeros((3, 2)), [0, 1, 0]).name == "ArrayStream(3 x 2)"


@pytest.mark.parametrize(
    ("X", "y", "more", "message"),
    [
        ([1.0, 2.0], [0, 1], {}, r"two dimensions .*reshape\(-1, 1\)"),
        (np.zeros((0, 2)), [], {}, "X is empty"),
        (np.zeros((2, 0)), [0, 1], {}, "X is empty"),
        (np.zeros((2, 1)), [0], {}, "X has 2 rows, y has 1 labels"),
        (np.zeros((2, 1)), [[0], [1]], {}, r"y must have one dimension, got shape \(2, 1\): pass y.ravel"),
        ([["a"], ["b"]], [0, 1], {}, "FrameStream"),
        ([[1.0], [2.0, 3.0]], [0, 1], {}, "X must be a matrix of numbers"),
        (np.zeros((2, 1)), [0.0, math.nan], {}, "no label in row 1"),
        (np.zeros((2, 1)), [None, "a"], {}, "no label in row 0"),
        (np.zeros((2, 1)), [0, 1], {"feature_names": ["a", "b"]}, "one name per column"),
        (np.zeros((2, 2)), [0, 1], {"feature_names": ["a", "a"]}, "twice"),
        (np.zeros((2, 1)), [0, 1], {"nominal_features": [1]}, "columns 0 to 0"),
        (np.zeros((2, 1)), [0, 1], {"nominal_features": [-1]}, "nominal_features must be"),
        (np.zeros((2, 1)), [0, 7], {"classes": [0, 1]}, "label 7, which is not in classes"),
    ],
)
def test_array_refuses(X: Any, y: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ArrayStream(X, y, **more)


# --------------------------------------------------------------------------------------------------- frames

KINDS = [pd.DataFrame, pl.DataFrame, pa.table]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("target", "dtype"),
    [
        (["b", "a", "b"], object),
        ([2, 1, 2], np.int64),
        ([0.5, 1.5, 1.0], np.float64),
        ([True, False, True], np.bool_),
    ],
)
def test_frames_stay_what_they_are(kind: Any, target: list[Any], dtype: Any) -> None:
    frame = kind({"n": [1.0, 2.0, 3.0], "y": target, "t": ["u", "v", "u"]})
    stream = FrameStream(frame, "y")
    X, y = stream.take(2)
    assert type(X) is type(frame)
    assert stream.feature_names == ["n", "t"]
    assert [str(column) for column in (X.column_names if kind is pa.table else X.columns)] == ["n", "t"]
    assert y.dtype == dtype
    assert y.tolist() == target[:2]
    if dtype is object:
        assert all(type(label) is str for label in y)


def test_categorical_targets() -> None:
    values = ["b", "a", "b"]
    for target in (
        pd.Series(values, dtype="category"),
        pd.Series(values, dtype=object),
        pd.Series(values, dtype="string"),
    ):
        _, y = FrameStream(pd.DataFrame({"n": [1, 2, 3], "y": target}), "y").take(3)
        assert y.dtype == object
        assert y.tolist() == values
    for polars_type in (pl.Categorical, pl.Enum(["a", "b"])):
        frame = pl.DataFrame({"n": [1, 2, 3], "y": pl.Series(values, dtype=polars_type)})
        assert FrameStream(frame, "y").take(3)[1].tolist() == values
    coded = pa.table({"n": [1, 2, 3], "y": pa.array(values).dictionary_encode()})
    assert FrameStream(coded, "y").take(3)[1].tolist() == values
    numbers = pd.DataFrame({"n": [1, 2], "y": pd.Series([3, 1], dtype="category")})
    assert FrameStream(numbers, "y").take(2)[1].dtype == np.int64
    nullable = pd.DataFrame({"n": [1, 2], "y": pd.array([3, 1], dtype="Int64")})
    assert FrameStream(nullable, "y").take(2)[1].dtype == np.int64


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", [["b", None, "b"], [2, None, 2], [0.5, None, 1.0], [True, None, True]])
def test_missing_targets_are_refused(kind: Any, target: list[Any]) -> None:
    with pytest.raises(ValueError, match="'y' has no value in row 1"):
        FrameStream(kind({"n": [1, 2, 3], "y": target}), "y")


def test_nan_targets_are_refused() -> None:
    with pytest.raises(ValueError, match="'y' has no value in row 2"):
        FrameStream(pl.DataFrame({"n": [1, 2, 3], "y": [0.0, 1.0, math.nan]}), "y")


@pytest.mark.parametrize("kind", KINDS)
def test_frames_refuse(kind: Any) -> None:
    frame = kind({"size": [1, 2], "colour": ["u", "v"]})
    with pytest.raises(ValueError, match=r"no column 'color'. Did you mean 'colour'\? .* size, colour"):
        FrameStream(frame, "color")
    with pytest.raises(ValueError, match="at least one feature"):
        FrameStream(kind({"y": [1, 2]}), "y")
    with pytest.raises(ValueError, match="no rows"):
        FrameStream(kind({"x": [], "y": []}), "y")
    days = kind({"x": [1, 2], "y": pd.to_datetime(["2020-01-01", "2020-01-02"]).to_pydatetime().tolist()})
    with pytest.raises(ValueError, match="are no labels"):
        FrameStream(days, "y")


def test_what_is_no_frame() -> None:
    with pytest.raises(ValueError, match="must be a pandas, Polars or PyArrow table, got ndarray"):
        FrameStream(np.zeros((2, 2)), "y")
    with pytest.raises(ValueError, match="collect a lazy frame"):
        FrameStream(pl.LazyFrame({"x": [1], "y": [1]}), "y")
    with pytest.raises(ValueError, match="a name of its own"):
        FrameStream(pd.DataFrame(np.zeros((2, 3)), columns=["a", "a", "y"]), "y")
    with pytest.raises(ValueError, match="one kind throughout"):
        FrameStream(pd.DataFrame({"x": [1, 2], "y": pd.Series([1, "a"], dtype=object)}), "y")


# ----------------------------------------------------------------------------------------------- generators


@pytest.mark.parametrize("name", GENERATORS)
def test_generators_can_be_made_again(name: str) -> None:
    stream = GENERATORS[name](seed=5, n_rows=100)
    again = eval(repr(stream), dict(GENERATORS))
    assert isinstance(stream, Generator)
    assert again.parameters() == stream.parameters()
    for ours, theirs in zip(stream.take(100), again.take(100), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    other, _ = GENERATORS[name](seed=6).take(100)
    assert not np.array_equal(other, stream.take(100)[0])
    assert len(stream.take(1000)[1]) == 100
    assert stream.n_rows == 100
    assert GENERATORS[name]().n_rows is None
    assert len(set(stream.feature_names)) == stream.n_features


@pytest.mark.parametrize("name", GENERATORS)
def test_far_rows_cost_nothing(name: str) -> None:
    stream = GENERATORS[name]()
    far = 10**15
    X, _ = stream.take(10, skip=far)
    near, _ = stream.take(5, skip=far + 5)
    np.testing.assert_array_equal(X[5:], near)


def test_an_end_changes_no_row(streams: list[Stream]) -> None:
    for ended, endless in zip(streams[6].take(N_ROWS), streams[7].take(N_ROWS), strict=True):
        np.testing.assert_array_equal(ended, endless)


def test_generator_names() -> None:
    assert RandomRBF().name == "RandomRBF(seed=1)"
    assert RandomRBF(n_centroids=5, n_rows=10).name == "RandomRBF(n_centroids=5, seed=1)"
    assert SEA(2, noise=0.1, seed=3).name == "SEA(function=2, noise=0.1, seed=3)"


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (RandomRBF, {"n_centroids": 0}, "n_centroids must be a whole number of at least 1"),
        (RandomRBF, {"n_features": 0}, "n_features must be"),
        (RandomRBF, {"n_classes": 1}, "n_classes must be a whole number of at least 2"),
        (RandomRBF, {"seed": -1}, "seed must be"),
        (RandomRBF, {"seed": None}, "seed must be"),
        (SEA, {"n_rows": 0}, "n_rows must be"),
        (SEA, {"function": 5}, "function must be 1, 2, 3 or 4"),
        (SEA, {"function": 0}, "function must be"),
        (SEA, {"threshold": 21}, "threshold must be a number from 0 to 20"),
        (SEA, {"threshold": math.nan}, "threshold must be"),
        (SEA, {"noise": 1.5}, "noise must be a number from 0 to 1"),
        (SEA, {"noise": "much"}, "noise must be"),
    ],
)
def test_generator_parameters(kind: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**parameters)


@pytest.mark.parametrize(("function", "threshold"), [(1, 8.0), (2, 9.0), (3, 7.0), (4, 9.5)])
def test_sea_functions(function: int, threshold: float) -> None:
    X, y = SEA(function).take(20_000)
    np.testing.assert_array_equal(y, X[:, 0] + X[:, 1] > threshold)
    assert y.dtype == np.int64
    assert 0 <= X.min() < 0.01
    assert 9.99 < X.max() <= 10
    np.testing.assert_allclose(X.mean(axis=0), 5, atol=0.1)


def test_sea_threshold_and_noise() -> None:
    X, y = SEA(threshold=15).take(20_000)
    np.testing.assert_array_equal(y, X[:, 0] + X[:, 1] > 15)
    same, noisy = SEA(threshold=15, noise=0.1).take(20_000)
    np.testing.assert_array_equal(X, same)
    assert 0.09 < (noisy != y).mean() < 0.11
    np.testing.assert_array_equal(SEA(threshold=15, noise=1).take(20_000)[1], 1 - y)


def rbf_row(stream: RandomRBF, rng: random.Random) -> tuple[list[float], int]:
    """Draw one row as MOA's generator does, step by step."""
    rest = rng.random() * sum(stream.weights)
    picked = 0
    while rest >= stream.weights[picked] and picked < stream.n_centroids - 1:
        rest -= stream.weights[picked]
        picked += 1
    direction = [rng.random() * 2 - 1 for _ in range(stream.n_features)]
    norm = math.sqrt(sum(value * value for value in direction))
    length = rng.gauss(0, 1) * stream.standard_deviations[picked]
    row = [stream.centres[picked][j] + direction[j] * length / norm for j in range(stream.n_features)]
    return row, int(stream.centroid_classes[picked])


@pytest.mark.parametrize(("n_centroids", "n_features", "n_classes"), [(50, 10, 2), (1, 1, 2), (7, 3, 4)])
def test_rbf_against_row_by_row(n_centroids: int, n_features: int, n_classes: int) -> None:
    stream = RandomRBF(n_centroids, n_features, n_classes, seed=2)
    n = 40_000
    X, y = stream.take(n)
    rng = random.Random(0)
    rows = [rbf_row(stream, rng) for _ in range(n)]
    slow_X, slow_y = np.array([row for row, _ in rows]), np.array([label for _, label in rows])
    assert np.isfinite(X).all()
    shares, slow_shares = (np.bincount(labels, minlength=n_classes) / n for labels in (y, slow_y))
    np.testing.assert_allclose(shares, slow_shares, atol=0.015)
    for label in np.unique(y):
        ours, theirs = X[y == label], slow_X[slow_y == label]
        np.testing.assert_allclose(ours.mean(axis=0), theirs.mean(axis=0), atol=0.03)
        np.testing.assert_allclose(ours.std(axis=0), theirs.std(axis=0), atol=0.03)
        np.testing.assert_allclose(
            np.quantile(ours, [0.05, 0.5, 0.95], axis=0),
            np.quantile(theirs, [0.05, 0.5, 0.95], axis=0),
            atol=0.06,
        )


def test_rbf_model_is_drawn_as_described() -> None:
    stream = RandomRBF(n_centroids=20_000, n_features=2, n_classes=3)
    for drawn in (stream.centres[:, 0], stream.standard_deviations, stream.weights):
        np.testing.assert_allclose([drawn.min(), drawn.mean(), drawn.max()], [0, 0.5, 1], atol=0.01)
        np.testing.assert_allclose(drawn.var(), 1 / 12, atol=0.003)
    np.testing.assert_allclose(np.bincount(stream.centroid_classes) / 20_000, 1 / 3, atol=0.02)
    # Model and rows must not be drawn from the same numbers.
    assert not np.isin(stream.weights, stream.take(100)[0]).any()
