"""Runs that are killed, interrupted, or find the disk full, and go on as if nothing had been."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.metrics import mean_absolute_error, r2_score

from anabranch import checkpoint
from anabranch.base import StreamClassifier, StreamRegressor
from anabranch.checkpoint import CheckpointError
from anabranch.dummy import MajorityClassClassifier, NoChangeClassifier
from anabranch.evaluation import _checkpoint, prequential
from anabranch.evaluation._checkpoint import Fingerprint
from anabranch.evaluation._scores import Aligner
from anabranch.metrics import METRICS, Accuracy, Fading, LogLoss, Metric, Window, get
from anabranch.stream import SEA, ArrayStream, FileStream, FrameStream, RandomRBF, Stream


class Dizzy(StreamClassifier):
    """Votes at random, more for what it has seen: its state has random numbers in it."""

    def __init__(self, *, random_state=None, size=1.0):
        self.random_state = random_state
        self.size = size

    def _begin(self):
        self._random = np.random.default_rng(self.random_state)
        self._counts = np.zeros(0)

    def _learn(self, X, y, w):
        for code in y:
            if code >= len(self._counts):
                self._counts = np.pad(self._counts, (0, code + 1 - len(self._counts)))
            self._counts[code] += self._random.poisson(self.size)

    def _votes(self, X):
        return np.tile(self._counts, (len(X), 1))


def late(n=6000, seed=0):
    """Rows whose classes turn up one after the other, as text, in an order that is not the alphabet's."""
    rng = np.random.default_rng(seed)
    y = rng.integers(1 + np.arange(n) * 4 // n)
    X = rng.normal(size=(n, 3)) + y[:, None]
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.array(["d", "a", "c", "b"], object)[y]


class Unannounced(Stream):
    """A stream that can be read once, as standard input, and does not know its classes."""

    name, n_features = "unannounced", 3

    def __init__(self, X, y):
        self.X, self.y = X, y
        self.reads = 0

    def _chunks(self, size, skip):
        self.reads += 1
        for start in range(skip, len(self.y), size):
            yield self.X[start : start + size], self.y[start : start + size]


class Stopping(Unannounced):
    """Ends with an error at a row."""

    def __init__(self, X, y, row, error):
        super().__init__(X, y)
        self.row, self.error = row, error

    def _chunks(self, size, skip):
        for X, y in super()._chunks(size, skip):
            self.row -= len(y)
            if self.row < 0:
                raise self.error
            yield X, y


def figures(run):
    return json.dumps([run.rows, run.metrics, run.points, run.peak_nbytes, run.learner.to_bytes().hex()])


@pytest.fixture(scope="module")
def data():
    return late()


@pytest.fixture(scope="module")
def whole(data):
    return figures(prequential(Dizzy(random_state=3), Unannounced(*data), window=700))


# ---------------------------------------------------------------------------------------- kill -9

# A process that has all imported forks one that runs, and kills it: from outside, at any time, or from inside, at a
# point of a save. Then another, that goes on; where one reaches the end, its figures are compared.
KILLING = """
import json, os, random, signal, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from test_survival import Dizzy, Unannounced, figures, late
from anabranch.evaluation import prequential
from anabranch.tree import HoeffdingTreeClassifier

folder, kills_wanted = Path(sys.argv[1]), int(sys.argv[2])
path, result = folder / "run.ck", folder.parent / "result"
data = late(10_000)
chance = random.Random(7)

def run(learner, **more):
    learner = {"tree": HoeffdingTreeClassifier(grace_period=50), "dizzy": Dizzy(random_state=1)}[learner]
    return prequential(learner, Unannounced(*data), window=700, chunk_size=150, **more)

def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)

def die_at(point, number):
    left = [number]
    def passing(real, before, after=None):
        def call(*arguments):
            left[0] -= 1
            if left[0] == 0:
                before(*arguments)
            done = real(*arguments)
            if left[0] == 0:
                after(*arguments)
            return done
        return call
    if point == "half":
        class Half:
            def __init__(self, file): self.file = file
            def __enter__(self): return self
            def __exit__(self, *exception): pass
            def write(self, data):
                self.file.write(data[: len(data) // 2]); self.file.flush(); die()
        real = os.fdopen
        def fdopen(*arguments):
            left[0] -= 1
            return Half(real(*arguments)) if left[0] == 0 else real(*arguments)
        os.fdopen = fdopen
    elif point == "fsync":
        os.fsync = passing(os.fsync, die)
    elif point == "before":
        os.replace = passing(os.replace, die)
    else:
        os.replace = passing(os.replace, lambda *a: None, die)

kills, finished, starts = {}, 0, 0
for learner in ("tree", "dizzy"):
    start = time.perf_counter()
    expected = figures(run(learner))
    usual = time.perf_counter() - start
    done = 0
    while done < kills_wanted // 2 or path.exists():
        last = done >= kills_wanted // 2  # enough: let it end
        point = None if last else chance.choice(["outside", "outside", "half", "fsync", "before", "after"])
        pid = os.fork()
        if pid == 0:
            if point not in (None, "outside"):
                die_at(point, chance.randrange(1, 5) + done % 3)
            found = run(learner, checkpoint=path, checkpoint_every=350)
            result.write_text(json.dumps([figures(found), found.starts]))
            os._exit(0)
        if point == "outside":
            time.sleep(chance.random() * usual / 3)
            os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == signal.SIGKILL
            done += 1
            kills[point] = kills.get(point, 0) + 1
        else:
            assert status == 0
            found, times = json.loads(result.read_text())
            assert found == expected
            finished += 1
            starts = max(starts, times)
            assert [file.name for file in folder.iterdir()] == ["run.ck"], "nothing is left beside"
            path.unlink()
print(json.dumps([kills, finished, starts]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fifty_kills_change_nothing(tmp_path):
    (tmp_path / "run").mkdir()
    arguments = [sys.executable, "-c", KILLING, tmp_path / "run", "50", os.path.dirname(__file__)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    kills, finished, starts = json.loads(done.stdout)
    assert sum(kills.values()) == 50
    assert set(kills) == {"outside", "half", "fsync", "before", "after"}
    assert finished >= 2
    assert starts > 3


# ---------------------------------------------------------------------------------------- going on


@pytest.mark.parametrize("sizes", [(100, 100), (1000, 1), (1, 1000), (333, 250), (7, 10_000)])
@pytest.mark.parametrize("row", [50, 1000, 2345])
def test_where_it_stops_and_how_it_is_cut_changes_nothing(sizes, row, data, whole, tmp_path):
    path = tmp_path / "run.ck"
    every = max(sizes[0], 50)
    with pytest.raises(OSError, match="cable"):
        prequential(
            Dizzy(random_state=3),
            Stopping(*data, row, OSError("cable")),
            window=700,
            chunk_size=sizes[0],
            checkpoint=path,
            checkpoint_every=every,
        )
    stream = Unannounced(*data)
    run = prequential(Dizzy(random_state=3), stream, window=700, chunk_size=sizes[1], checkpoint=path)
    assert figures(run) == whole
    assert stream.reads == 1, "standard input can be read once"
    assert run.starts == (2 if row // sizes[0] * sizes[0] >= every else 1)


def test_the_first_start_needs_no_file_and_the_last_needs_no_rows(data, whole, tmp_path):
    path = tmp_path / "run.ck"
    learner = Dizzy(random_state=3)
    run = prequential(learner, Unannounced(*data), window=700, checkpoint=path)
    assert (figures(run), run.starts, run.checkpoint) == (whole, 1, str(path))
    before = path.read_bytes()
    again = Dizzy(random_state=3)
    run = prequential(again, Unannounced(*data), window=700, checkpoint=path)
    assert figures(run) == whole
    assert (run.starts, run.learner) == (2, again)
    assert path.read_bytes() == before
    # The learner that has run is the one in the file: that will do too.
    assert figures(prequential(learner, Unannounced(*data), window=700, checkpoint=path)) == whole


def test_a_run_may_go_further_than_it_was_told(data, whole, tmp_path):
    path = tmp_path / "run.ck"
    X, y = data
    prequential(Dizzy(random_state=3), Unannounced(*data), window=700, max_rows=1234, checkpoint=path)
    prequential(Dizzy(random_state=3), Unannounced(X[:3210], y[:3210]), window=700, checkpoint=path)
    run = prequential(Dizzy(random_state=3), Unannounced(*data), window=700, checkpoint=path)
    assert (figures(run), run.starts) == (whole, 3)
    with pytest.raises(ValueError, match=r"max_rows is 5,000, .* row 6,000 already"):
        prequential(Dizzy(random_state=3), Unannounced(*data), window=700, max_rows=5000, checkpoint=path)
    part = prequential(Dizzy(random_state=3), Unannounced(*data), window=700, max_rows=6000, checkpoint=path)
    assert figures(part) == whole


def test_starting_afresh(data, whole, tmp_path):
    path = tmp_path / "run.ck"
    prequential(NoChangeClassifier(), Unannounced(*data), checkpoint=path)
    run = prequential(Dizzy(random_state=3), Unannounced(*data), window=700, checkpoint=path, resume=False)
    assert (figures(run), run.starts) == (whole, 1)
    assert prequential(Dizzy(random_state=3), Unannounced(*data), window=700, checkpoint=path).starts == 2


def test_seconds_add_up(data, tmp_path):
    class Slow(Unannounced):
        def _chunks(self, size, skip):
            for chunk in super()._chunks(size, skip):
                time.sleep(0.02)
                yield chunk

    path = tmp_path / "run.ck"
    first = prequential(Dizzy(), Slow(*data), max_rows=3000, checkpoint=path)
    second = prequential(Dizzy(), Slow(*data), checkpoint=path)
    assert second.seconds > first.seconds + 0.06 - 0.02
    assert second.learn_seconds > first.learn_seconds
    assert (second.first_rows, second.starts) == (2000, 2)
    assert second.to_dict()["starts"] == 2


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "sparse", "file", "generator"])
def test_all_kinds_of_streams(kind, data, tmp_path):
    def stream():
        X, y = data
        names = ["a", "b", "c"]
        match kind:
            case "arrow":
                return FrameStream(pa.table([*X.T, pa.array(y)], names=[*names, "y"]), "y")
            case "pandas":
                pd = pytest.importorskip("pandas")
                return FrameStream(pd.DataFrame(X, columns=names).assign(y=y, text=y[::-1]), "y")
            case "polars":
                pl = pytest.importorskip("polars")
                return FrameStream(pl.DataFrame(dict(zip(names, X.T, strict=True)) | {"y": y.tolist()}), "y")
            case "sparse":
                return Unannounced(scipy.sparse.csr_matrix(np.nan_to_num(X)), y)
            case "file":
                path = tmp_path / "rows.csv"
                path.write_text(
                    "a,text,y\n" + "".join(f"{x},{label}!,{label}\n" for x, label in zip(X[:, 0], y, strict=True))
                )
                return FileStream(path, "y")
            case _:
                return RandomRBF(n_classes=3, seed=4, n_rows=6000)

    class Counting(MajorityClassClassifier):
        def test_then_train(self, X, y, sample_weight=None):
            return super().test_then_train(np.zeros((len(y), 1)), y)

    learner = Counting if kind == "sparse" else MajorityClassClassifier
    path = tmp_path / "run.ck"
    expected = figures(prequential(learner(), stream()))
    prequential(learner(), stream(), max_rows=2500, checkpoint=path)
    run = prequential(learner(), stream(), checkpoint=path)
    assert (figures(run), run.starts) == (expected, 2)


def test_fingerprints_do_not_depend_on_chunks_but_on_values():
    X, y = late(50)
    for rows in (X, pa.table(list(X.T), names=list("abc")), scipy.sparse.csr_matrix(X), X.astype(object)):
        marks = []
        for size in (1, 7, 50):
            mark = Fingerprint()
            for start in range(0, 50, size):
                mark.add(rows[start : start + size], y[start : start + size])
            marks.append(mark.hexdigest())
        assert len(set(marks)) == 1
    other = Fingerprint()
    other.add(np.nextafter(X, np.inf), y)
    same = Fingerprint()
    same.add(X, y)
    assert same.hexdigest() != other.hexdigest()


def test_metrics_of_all_kinds_survive(data, tmp_path):
    class Misses(Metric):  # with a state of plain values
        name, label, greater_is_better, percent = "misses", "Misses", False, False

        def __init__(self):
            self.reset()

        def reset(self):
            self.rows, self.seen = 0, {"codes": [0], "pair": (1, None)}
            return self

        def _update(self, y, proba):
            self.rows += int((proba[np.arange(len(y)), np.minimum(y, proba.shape[1] - 1)] < 0.5).sum())
            self.seen["codes"].append(int(y[-1]))

        @property
        def value(self):
            return float(self.rows)

    metrics = [Misses, Window(LogLoss, 300), Accuracy(), "auc", "kappa", "gmean"]
    path = tmp_path / "run.ck"
    expected = figures(prequential(Dizzy(random_state=1), Unannounced(*data), metrics))
    for rows in (1500, 1600, 4000, None):
        run = prequential(Dizzy(random_state=1), Unannounced(*data), metrics, max_rows=rows, checkpoint=path)
    assert figures(run) == expected


class Mean(StreamRegressor):
    """Predicts the mean of what it has seen."""

    def _begin(self):
        self._sums = np.zeros(2)

    def _learn(self, X, y, w):
        for target, weight in zip(y, w, strict=True):
            self._sums += weight * target, weight

    def _predict(self, X):
        return np.full(len(X), self._sums[0] / self._sums[1] if self._sums[1] else 0.0)


def numbers():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3210, 3))
    return ArrayStream(X, X @ [1.0, 2.0, 3.0] + 1e6 + rng.normal(size=3210))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_no_figure_depends_on_chunks_or_checkpoints_and_windows_are_windows(task, tmp_path):
    data = late(2500)
    names = [name for name, cls in METRICS.items() if cls.task == task]
    metrics = [*names, *(Window(name, 333) for name in names), *(Fading(name, 0.99) for name in names if fades(name))]
    window = 250

    def run(chunk_size, **more):
        stream, learner = (numbers(), Mean()) if task == "regression" else (Unannounced(*data), Dizzy(random_state=2))
        return prequential(learner, stream, metrics, window, chunk_size, **more)

    whole = run(1000)
    for size in (1, 77, 10_000):
        assert figures(run(size)) == figures(whole)
    for rows in (1, 300, 1249, 1250, 2001, None):
        found = run(77, checkpoint=tmp_path / "run.ck", checkpoint_every=500, max_rows=rows)
    assert (figures(found), found.starts) == (figures(whole), 6)
    # The curve is what sliding windows of that length show at its rows.
    y, predicted = [], []
    learner = Mean() if task == "regression" else Dizzy(random_state=2)
    aligner = Aligner()
    for X, labels in (numbers() if task == "regression" else Unannounced(*data)).chunks(1):
        said = learner.test_then_train(X, labels)
        if task == "classification":
            labels, said = aligner.align(labels, said, learner.classes_)
        y.append(labels)
        predicted.append(said)
    for name in names:
        sliding, all_rows, start = Window(name, window), get(name), 0
        for row, value in zip(whole.points["row"], whole.points[name], strict=True):
            for i in range(start, row):
                sliding.update(y[i], predicted[i])
                all_rows.update(y[i], predicted[i])
            start = row
            assert sliding.value == value, (name, row)
        assert all_rows.value == whole.metrics[name]


def fades(name):
    try:
        Fading(name, 0.99)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("learner", [Mean, SGDRegressor])
def test_regressors(learner, tmp_path):
    run = prequential(learner(), numbers(), window=1000)
    assert list(run.metrics) == ["mae", "rmse", "r2"]
    assert run.points["row"] == [1000, 2000, 3000, 3210]
    assert "MAE" in repr(run)
    run.plot(tmp_path / "run.png")
    stream = numbers()
    if learner is Mean:
        said = np.concatenate([[0.0], np.cumsum(stream.y)[:-1] / np.arange(1, 3210)])
        assert run.metrics["mae"] == pytest.approx(mean_absolute_error(stream.y, said), rel=1e-12)
        assert run.metrics["r2"] == pytest.approx(r2_score(stream.y, said), rel=1e-9)
    with pytest.raises(ValueError, match="the metric 'kappa' is for classification, this is a regression: take mae"):
        prequential(learner(), stream, "kappa")
    with pytest.raises(ValueError, match="the metric 'mae' is for regression, this is a classification: take accuracy"):
        prequential(Dizzy(), stream, "mae")


# ---------------------------------------------------------------------------------------- something else


def test_another_run_is_refused_and_told_apart(data, tmp_path):
    path = tmp_path / "run.ck"
    X, y = data

    def run(learner=None, stream=None, metrics=("accuracy", "kappa"), window=700):
        learner = Dizzy(random_state=3) if learner is None else learner
        return prequential(learner, Unannounced(X, y) if stream is None else stream, metrics, window, checkpoint=path)

    run()
    before = path.read_bytes()
    taught = Dizzy(random_state=3).partial_fit(X[:10], y[:10])
    shifted = Unannounced(X[1:], y[1:])
    edited = X.copy()
    edited[-1, 0] = 99.0
    short = Unannounced(X[:1000], y[:1000])
    renamed = Unannounced(X, y)
    renamed.name = "other"
    announced = Unannounced(X, y)
    announced.classes = np.array(["a", "b", "c", "d"])
    for arguments, message in [
        ({"learner": NoChangeClassifier()}, r"the learner: Dizzy\(random_state=3\) then, NoChange now"),
        ({"learner": Dizzy(random_state=4)}, r"the learner: Dizzy\(random_state=3\) then, Dizzy\(random_state=4\) now"),
        ({"learner": taught}, "the learner's state at the start is not the same"),
        ({"window": 701}, "window: 700 then, 701 now"),
        ({"metrics": ["accuracy"]}, r"the metrics: \['accuracy', 'kappa'\] then, \['accuracy'\] now"),
        ({"metrics": ["kappa", "accuracy"]}, r"the metrics: \['accuracy', 'kappa'\] then, \['kappa', 'accuracy'\] now"),
        ({"metrics": [Off(5), "kappa"]}, r"the metrics: .*'kappa'\] then, \['off', 'kappa'\] now"),
        ({"stream": renamed}, "the stream: unannounced then, other now"),
        ({"stream": announced}, "the stream's classes: None then, "),
        ({"stream": shifted}, "it is at row 6,000, and the stream unannounced ends before that"),
        ({"stream": short}, "it is at row 6,000, and the stream unannounced ends before that"),
        ({"stream": Unannounced(edited, y)}, "the rows before row 6,000 are not those"),
        ({"stream": Unannounced(X, np.roll(y, 1))}, "the rows before row 6,000 are not those"),
        ({"window": 5, "learner": NoChangeClassifier()}, "NoChange now; window: "),
    ]:
        learner = arguments.get("learner")
        state = None if learner is None else learner.to_bytes()
        with pytest.raises(CheckpointError, match=f"run.ck.*{message}") as error:
            run(**arguments)
        assert "--restart" in str(error.value)
        assert path.read_bytes() == before
        assert state is None or learner.to_bytes() == state
    assert run().starts == 2
    path.unlink()
    run(metrics=[Off(1)])
    with pytest.raises(CheckpointError, match="the setting of the metrics is not the same"):
        run(metrics=[Off(2)])


class Off(Metric):
    """Rows whose class is off by so much, with a parameter that its name does not tell."""

    name, label, greater_is_better, percent = "off", "Off", False, False

    def __init__(self, by):
        self.by = by
        self.reset()

    def reset(self):
        self.rows = 0
        return self

    def _update(self, y, proba):
        self.rows += int((abs(proba.argmax(axis=1) - y) == self.by).sum())

    @property
    def value(self):
        return float(self.rows)


def test_another_version_is_refused(data, tmp_path, monkeypatch):
    path = tmp_path / "run.ck"
    prequential(Dizzy(), Unannounced(*data), checkpoint=path)
    monkeypatch.setattr("anabranch.__version__", "99.0")
    with pytest.raises(CheckpointError, match=r"anabranch: .* then, 99\.0 now"):
        prequential(Dizzy(), Unannounced(*data), checkpoint=path)


def test_what_is_no_checkpoint_of_a_run_is_refused(data, tmp_path):
    path = tmp_path / "run.ck"
    prequential(Dizzy(), Unannounced(*data), checkpoint=path)
    content = path.read_bytes()
    for wrong, message in [
        (content[: len(content) // 2], "cut off"),
        (content[:-1] + bytes([content[-1] ^ 1]), "cut off or was altered"),
        (b"", "not a checkpoint"),
        (b"row,accuracy\n" * 100, "not a checkpoint"),
        (Dizzy().to_bytes(), "no checkpoint of a run: it holds a Dizzy"),
        (checkpoint.to_bytes({"what": "else"}), "no checkpoint of a run: it holds a dict"),
    ]:
        path.write_bytes(wrong)
        with pytest.raises(CheckpointError, match=message):
            prequential(Dizzy(), Unannounced(*data), checkpoint=path)
        assert path.read_bytes() == wrong
    prequential(Dizzy(), Unannounced(*data), checkpoint=path, resume=False)
    assert prequential(Dizzy(), Unannounced(*data), checkpoint=path).starts == 2


def test_learners_and_metrics_that_cannot_be_saved(data, tmp_path):
    class Odd(Metric):
        name, label, greater_is_better, percent = "odd", "Odd", False, False
        value = 0.0

        def __init__(self):
            self.seen = {1, 2}

        def reset(self):
            return self

        def _update(self, y, proba):
            pass

    path = tmp_path / "run.ck"
    with pytest.raises(CheckpointError, match=r"SGDClassifier.* only learners of anabranch"):
        prequential(SGDClassifier(), Unannounced(*data), checkpoint=path)
    with pytest.raises(CheckpointError, match="set"):
        prequential(Dizzy(), Unannounced(*data), [Odd], checkpoint=path)
    for every in (0, 1.5, True, "many"):
        with pytest.raises(ValueError, match="checkpoint_every must be a whole number of at least 1"):
            prequential(Dizzy(), Unannounced(*data), checkpoint=path, checkpoint_every=every)
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------------------------- disks


def failing(monkeypatch, name, code, after):
    """Let a call of the system fail from the given time on."""
    real, left = getattr(os, name), [after]

    def call(*arguments, **options):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(code, os.strerror(code))
        return real(*arguments, **options)

    monkeypatch.setattr(os, name, call)


@pytest.mark.parametrize("name", ["fsync", "replace", "open"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
def test_a_disk_that_fails_on_the_way(name, code, data, whole, tmp_path):
    path = tmp_path / "run.ck"

    def run(**more):
        return prequential(Dizzy(random_state=3), Unannounced(*data), window=700, checkpoint=path, **more)

    with pytest.MonkeyPatch.context() as monkeypatch:
        failing(monkeypatch, name, code, {"fsync": 4, "replace": 2, "open": 5}[name])
        with pytest.raises(OSError, match=r"the checkpoint cannot be written .* row 2,000 is kept") as error:
            run(checkpoint_every=1000)
    assert (error.value.errno, error.value.filename) == (code, str(path))
    assert [file.name for file in tmp_path.iterdir()] == ["run.ck"]
    run = run()
    assert (figures(run), run.starts) == (whole, 2)


@pytest.mark.skipif(os.name != "posix", reason="limits")
def test_a_disk_that_fills_up(tmp_path):
    path = tmp_path / "run.ck"
    code = (
        "import sys, resource; from anabranch.dummy import NoChangeClassifier; from anabranch.stream import SEA\n"
        "from anabranch.evaluation import prequential\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "prequential(NoChangeClassifier(), SEA(), max_rows=20_000, checkpoint=sys.argv[1], checkpoint_every=1000)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    assert "the checkpoint cannot be written (File too large): the checkpoint at row" in done.stderr
    expected = prequential(NoChangeClassifier(), SEA(), max_rows=20_000)
    run = prequential(NoChangeClassifier(), SEA(), max_rows=20_000, checkpoint=path)
    assert (figures(run), run.starts) == (figures(expected), 2)
    assert [file.name for file in tmp_path.iterdir()] == ["run.ck"]


def test_places_where_nothing_can_be_written_are_refused_before_the_first_row(data, tmp_path, monkeypatch):
    stream = Unannounced(*data)
    places = [
        tmp_path,
        tmp_path / "missing" / "run.ck",
        tmp_path / ("r" * 300),
        *(["/dev/full"] * os.path.exists("/dev/full")),
    ]
    for place in places:
        with pytest.raises(OSError, match="the checkpoint cannot be written"):
            prequential(Dizzy(), stream, checkpoint=place)
    (tmp_path / "run.ck").write_bytes(b"old")
    failing(monkeypatch, "open", errno.EROFS, 0)  # a folder that may only be read, even for the superuser
    with pytest.raises(OSError, match="Read-only"):
        prequential(Dizzy(), stream, checkpoint=tmp_path / "run.ck", resume=False)
    monkeypatch.undo()
    assert stream.reads == 0
    assert (tmp_path / "run.ck").read_bytes() == b"old"


# ---------------------------------------------------------------------------------------- when


def test_how_often_it_is_saved(data, tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr(checkpoint, "save", lambda value, *rest: saved.append(value["state"].rows))

    def rows(**more):
        saved.clear()
        prequential(Dizzy(), Unannounced(*data), checkpoint=tmp_path / "run.ck", **more)
        return list(saved)

    assert rows(checkpoint_every=2000) == [2000, 4000, 6000]
    assert rows(checkpoint_every=2500) == [3000, 5000, 6000]
    assert rows(checkpoint_every=2500, chunk_size=700) == [2800, 5600, 6000]
    assert rows(checkpoint_every=10, chunk_size=4000) == [4000, 6000]
    assert rows(checkpoint_every=10_000) == [6000]
    assert rows() == [6000]
    monkeypatch.setattr(_checkpoint, "_SECONDS_BETWEEN_SAVES", 0.0)
    monkeypatch.setattr(_checkpoint, "_SHARE_OF_SAVING", 1e9)
    assert rows() == [1000, 2000, 3000, 4000, 5000, 6000]
    monkeypatch.setattr(checkpoint, "save", lambda value, *rest: (saved.append(value["state"].rows), time.sleep(0.05)))
    monkeypatch.setattr(_checkpoint, "_SHARE_OF_SAVING", 0.0)
    assert rows() == [1000, 6000], "where saving takes long, it is done seldom"


def test_an_interruption_saves(data, whole, tmp_path):
    path = tmp_path / "run.ck"
    learner = Dizzy(random_state=3)
    run = prequential(learner, Stopping(*data, 2500, KeyboardInterrupt()), window=700, checkpoint=path)
    assert (run.interrupted, run.rows) == (True, 2000)
    assert f"interrupted: the same call goes on from {path}" in repr(run)
    state = checkpoint.load(path)["state"]
    assert (state.rows, state.learner.to_bytes()) == (2000, learner.to_bytes())
    # In a notebook, the call comes again with the very learner that was interrupted.
    run = prequential(learner, Unannounced(*data), window=700, checkpoint=path)
    assert (figures(run), run.interrupted, run.starts) == (whole, False, 2)


def test_an_interruption_that_tears_the_run_does_not_save(data, whole, tmp_path):
    class Torn(Dizzy):
        def _learn(self, X, y, w):
            super()._learn(X, y, w)
            if self._counts.sum() > 3000 and len(y) == 1:
                os.kill(os.getpid(), signal.SIGINT)  # again and again: the second will not wait

    path = tmp_path / "run.ck"
    run = prequential(Torn(random_state=3), Unannounced(*data), window=700, checkpoint=path, checkpoint_every=1000)
    assert run.interrupted
    state = checkpoint.load(path)["state"]
    assert state.rows == run.rows == state.scores.rows == 2000 or state.rows == run.rows == 3000
    assert state.learner.to_bytes() != run.learner.to_bytes()


@pytest.mark.parametrize("times", [1, 3])
def test_an_interruption_of_a_save_waits(times, data, whole, tmp_path, monkeypatch):
    path = tmp_path / "run.ck"
    real = os.fsync
    left = [3]

    def fsync(handle):
        left[0] -= 1
        if left[0] == 0:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    run = prequential(Dizzy(random_state=3), Unannounced(*data), window=700, checkpoint=path, checkpoint_every=1000)
    assert run.interrupted
    assert [file.name for file in tmp_path.iterdir()] == ["run.ck"]
    monkeypatch.undo()
    assert checkpoint.load(path)["state"].rows == 2000
    again = prequential(Dizzy(random_state=3), Unannounced(*data), window=700, checkpoint=path)
    assert figures(again) == whole
