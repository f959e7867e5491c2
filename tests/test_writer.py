"""What is written reads back as it was."""

import errno
import gzip
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse

from anabranch.stream import SEA, ArrayStream, FileStream, FrameStream, RandomRBF, Stream, write

TEXT = ["csv", "tsv", "jsonl", "arff", "csv.gz", "jsonl.zst", "arff.gz"]
ALL = [*TEXT, "parquet", "arrow"]
NUMBERS = [*ALL, "svm", "svm.gz"]


def rows_of(stream, size=700):
    """All rows as plain values."""
    X, y = [], []
    for part, labels in stream.chunks(size):
        if isinstance(part, pa.Table):
            part = list(zip(*(column.to_pylist() for column in part.columns), strict=True))
        elif scipy.sparse.issparse(part):
            part = part.toarray().tolist()
        else:
            part = part.tolist()
        X += [[None if value is None or value != value else value for value in row] for row in part]
        y += labels.tolist()
    return X, y


class Numbers(Stream):
    """Numbers that are hard to write, a target of fractions, and more rows than fit a block."""

    name, n_features = "numbers % {odd}", 3

    def __init__(self, n_rows=40_000, fail_at=None):
        self.n_rows, self.fail_at = n_rows, fail_at

    def _chunks(self, size, skip):
        hard = np.array(
            [0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, 2.0**53 + 2, 1e22, 123456789.0, np.nan, -1e-7]
        )
        for start in range(skip, self.n_rows, size):
            at = np.arange(start, min(start + size, self.n_rows))
            if self.fail_at is not None and at[-1] >= self.fail_at:
                raise OSError(errno.EIO, "cable")
            yield np.stack([hard[at % 10], at / 7, at % 3], axis=1), np.sqrt(at) - 50


@pytest.mark.parametrize("suffix", NUMBERS)
def test_generators_read_back(suffix, tmp_path):
    stream = RandomRBF(n_classes=3, n_features=4, seed=2)
    path = tmp_path / f"rows.{suffix}"
    seen = []
    assert write(stream, path, 20_001, lambda *report: seen.append(report)) == 20_001
    assert seen[-1] == (20_001, 20_001)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    found = FileStream(path)
    assert rows_of(found) == rows_of(RandomRBF(n_classes=3, n_features=4, seed=2, n_rows=20_001))
    assert next(found.chunks())[1].dtype == np.int64
    if not suffix.startswith("svm"):
        assert found.target == "class"


@pytest.mark.parametrize("suffix", ALL)
def test_hard_numbers_and_fractions_read_back(suffix, tmp_path):
    path = tmp_path / f"rows.{suffix}"
    assert write(Numbers(), path) == 40_000
    found = FileStream(path)
    X, y = rows_of(found)
    expected, targets = rows_of(Numbers())
    assert expected == X
    assert [np.signbit(row[0]) for row in X[:10] if row[0] == 0] == [True], "a zero keeps its sign"
    assert y == targets
    assert found.target == "target"


ODD = [
    "oak",
    "it's",
    'a "q"',
    "a,b",
    "tab\there",
    "naïve ☂",
    "per % cent",
    "back\\slash",
    "{brace}",
    "x y",
    "10 ",
    "#1",
]


@pytest.mark.parametrize("suffix", ALL)
def test_text_reads_back(suffix, tmp_path):
    rng = np.random.default_rng(0)
    texts = [None if i % 13 == 5 else ODD[i % len(ODD)] for i in range(500)]
    labels = [ODD[i] for i in rng.integers(len(ODD), size=500)]
    table = pa.table({"a b": texts, "size": rng.normal(size=500), "class": labels, "count": np.arange(500)})
    path = tmp_path / f"rows.{suffix}"
    write(FrameStream(table, "class"), path)
    found = FileStream(path)
    assert (found.target, found.feature_names) == ("class", ["a b", "size", "count"])
    assert rows_of(found) == (
        table.select(["a b", "size", "count"])
        .to_pandas()
        .astype(object)
        .where(table.select(["a b", "size", "count"]).to_pandas().notna(), None)
        .to_numpy()
        .tolist(),
        labels,
    )


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize(
    "labels", [["b", "a", "b", "c"], [3, 1, 3, 1], [True, False, True, True], [0.5, 1.5, 2.0, 1.0]]
)
def test_frames_of_all_kinds(kind, labels, tmp_path):
    columns = {"colour": ["red", "blue", None, "red"], "n": [1, 2, 3, 4], "y": labels}
    if kind == "arrow":
        frame = pa.table(columns).set_column(0, "colour", pa.array(columns["colour"]).dictionary_encode())
    elif kind == "pandas":
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(columns).astype({"colour": "category"})
    else:
        pl = pytest.importorskip("polars")
        frame = pl.DataFrame(columns).with_columns(pl.col("colour").cast(pl.Categorical))
    for suffix in ALL:
        path = tmp_path / f"rows.{suffix}"
        write(FrameStream(frame, "y"), path)
        X, y = rows_of(FileStream(path))
        assert X == [["red", 1.0], ["blue", 2.0], [None, 3.0], ["red", 4.0]]
        assert y == labels


def test_sparse_rows_go_into_svmlight_files(tmp_path):
    class Sparse(Stream):
        name, n_rows, n_features = "sparse", 1000, 10_000

        def _chunks(self, size, skip):
            X = scipy.sparse.random(1000, 10_000, 0.001, format="csr", random_state=1)
            y = np.arange(1000) % 2
            for start in range(skip, 1000, size):
                yield X[start : start + size], y[start : start + size]

    path = tmp_path / "rows.svm"
    write(Sparse(), path)
    (X, y), (expected, labels) = FileStream(path, n_features=10_000).take(1000), Sparse().take(1000)
    assert abs(X - expected).nnz == 0
    assert y.tolist() == labels.tolist()
    with pytest.raises(ValueError, match=r"sparse rows go into svmlight files"):
        write(Sparse(), tmp_path / "rows.csv")


def test_an_old_file_is_replaced_by_a_whole_one_or_stays(tmp_path):
    for suffix in ALL:
        path = tmp_path / f"rows.{suffix}"
        path.write_bytes(b"old")
        with pytest.raises(OSError, match="cable"):
            write(Numbers(fail_at=30_000), path)
        assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == len(ALL)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space")))
        for suffix in ALL:
            with pytest.raises(OSError, match="No space"):
                write(SEA(), tmp_path / f"rows.{suffix}", 10)
            assert (tmp_path / f"rows.{suffix}").read_bytes() == b"old"
    for suffix in NUMBERS:
        write(SEA(), tmp_path / f"rows.{suffix}", 10)
    assert gzip.decompress((tmp_path / "rows.csv.gz").read_bytes()) == (tmp_path / "rows.csv").read_bytes()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("suffix", NUMBERS)
def test_a_disk_that_fills_up(suffix, tmp_path):
    path = tmp_path / f"rows.{suffix}"
    path.write_bytes(b"old")
    code = (
        "import sys, resource; from anabranch.stream import SEA, write\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "try: write(SEA(), sys.argv[1], 100_000)\n"
        "except OSError as error: print(error.errno)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (str(errno.EFBIG), "")
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("name", "stream", "message"),
    [
        ("rows", SEA(n_rows=5), "its suffix says in which format"),
        ("rows.xls", SEA(n_rows=5), "its suffix says in which format, one of .csv"),
        ("rows.gz", SEA(n_rows=5), "its suffix says"),
        ("rows.parquet.gz", SEA(n_rows=5), "parquet files are compressed within; leave out .gz"),
        ("rows.csv", Numbers(0), "has no rows"),
        ("rows.svm", Numbers(20), "no missing values"),
        ("rows.svm", ArrayStream([[1.0], [2.0]], ["a", "b"]), "labels in svmlight files are numbers, got 'a'"),
        ("rows.svm", FrameStream(pa.table({"a": ["x"], "y": [1]}), "y"), "numbers alone"),
        ("rows.csv", FrameStream(pa.table({"a": ["x", "NA"], "y": [1, 2]}), "y"), "'NA' in the column 'a' would be"),
        ("rows.tsv", FrameStream(pa.table({"a": ["x", ""], "y": [1, 2]}), "y"), "'' in the column 'a' would be"),
        ("rows.csv", ArrayStream([[1.0], [2.0]], np.array(["a", 2], object)), "labels cannot be written"),
    ],
)
def test_what_cannot_be_written_is_refused(name, stream, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        write(stream, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_taken(tmp_path):
    stream = ArrayStream([[1.0, 2.0]], [1], feature_names=["class", "class_"])
    write(stream, tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text() == "class,class_,class__\n1,2,1\n"


def test_streams_that_change_on_the_way(tmp_path):
    class Changing(Stream):
        name = "changing"

        def _chunks(self, size, skip):
            yield pa.table({"a": [1.0]}), np.array([1])
            yield pa.table({"a": ["x"]}), np.array([1])

    with pytest.raises(ValueError, match="the columns of the stream changing change on the way"):
        write(Changing(), tmp_path / "rows.csv")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in KiB there")
@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "jsonl"])
def test_memory_does_not_grow_with_the_file(suffix, tmp_path):
    code = (
        "import sys, resource; from anabranch.stream import SEA, write\n"
        "write(SEA(), sys.argv[1], int(sys.argv[2])); print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = [
        int(subprocess.check_output([sys.executable, "-c", code, tmp_path / f"rows.{suffix}", str(n)]))
        for n in (300_000, 1_200_000)
    ]
    assert peaks[1] < peaks[0] + 30_000, peaks
