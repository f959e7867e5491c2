import json
import math
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import accuracy_score, cohen_kappa_score, log_loss, roc_auc_score
from sklearn.naive_bayes import GaussianNB

from anabranch.base import StreamClassifier
from anabranch.dummy import NoChangeClassifier
from anabranch.evaluation import Run, prequential
from anabranch.evaluation._scores import Aligner, Scores, chosen
from anabranch.metrics import METRICS, Accuracy, LogLoss, Window
from anabranch.stream import SEA, ArrayStream, FrameStream, Stream

OF_CLASSES = {name: metric for name, metric in METRICS.items() if metric.task == "classification"}


class NearestMean(StreamClassifier):
    """Votes by the distance to each class's mean."""

    def __init__(self, *, pull=1.0):
        self.pull = pull

    def _begin(self):
        self.sums = np.zeros((0, 0))
        self.weights = np.zeros(0)

    def _learn(self, X, y, w):
        for row, code, weight in zip(X, y, w, strict=True):
            if code >= len(self.weights) or X.shape[1] > self.sums.shape[1]:
                sums = np.zeros((max(len(self.weights), code + 1), X.shape[1]))
                sums[: len(self.weights), : self.sums.shape[1]] = self.sums
                self.weights = np.append(self.weights, np.zeros(len(sums) - len(self.weights)))
                self.sums = sums
            self.sums[code] += weight * np.nan_to_num(row)
            self.weights[code] += weight

    def _votes(self, X):
        if not self.weights.any():
            return np.zeros((len(X), len(self.weights)))
        X = np.nan_to_num(X)
        means = self.sums / np.maximum(self.weights, 1)[:, None]
        means = np.pad(means, ((0, 0), (0, max(0, X.shape[1] - means.shape[1]))))
        apart = ((X[:, None, : means.shape[1]] - means) ** 2).sum(axis=2)
        return np.exp(-self.pull * apart) * (self.weights > 0)


def rows(n=537, n_classes=2, seed=0, labels=None):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n, 3)) + y[:, None]
    return X, y if labels is None else np.asarray(labels, object)[y]


def slow_reference(X, y, classes, window):
    """Row by row, with scikit-learn's metrics."""
    learner = NearestMean().announce(classes)
    proba = np.zeros((len(y), len(classes)))
    for i in range(len(y)):
        # The classes are known before the first row, nothing else is: they are all as probable.
        proba[i] = learner.predict_proba(X[i : i + 1])[0] if i else 1 / len(classes)
        learner.partial_fit(X[i : i + 1], y[i : i + 1])
    codes = np.array([classes.index(label) for label in y])

    ends = [*range(window, len(y) + 1, window)]
    if not ends or ends[-1] < len(y):
        ends.append(len(y))
    said = proba.argmax(axis=1)
    curve = [accuracy_score(*(part[max(0, end - window) : end] for part in (codes, said))) for end in ends]
    return ends, curve, codes, proba


@pytest.mark.parametrize("chunk_size", [1, 7, 100, 1000])
@pytest.mark.parametrize("window", [50, 100, 600])
def test_equals_a_row_by_row_reference(chunk_size, window):
    X, y = rows()
    ends, curve, codes, proba = slow_reference(X, y, [0, 1], window)
    run = prequential(NearestMean(), ArrayStream(X, y), window=window, chunk_size=chunk_size)
    assert run.rows == len(y)
    assert run.curve["row"].to_pylist() == ends
    assert run.curve["accuracy"].to_pylist() == curve
    said = proba.argmax(axis=1)
    assert run.metrics["accuracy"] == pytest.approx(accuracy_score(codes, said), abs=1e-15)
    assert run.metrics["auc"] == pytest.approx(roc_auc_score(codes, proba[:, 1]))
    assert run.metrics["log_loss"] == pytest.approx(log_loss(codes, proba.clip(1e-15, 1.0)), abs=1e-12)
    assert run.metrics["kappa"] == pytest.approx(cohen_kappa_score(codes, said), abs=1e-12)
    last = slice(max(0, len(y) - window), None)
    if window < len(y):
        assert run.last["auc"] == pytest.approx(roc_auc_score(codes[last], proba[last, 1]))
        assert run.last["log_loss"] == pytest.approx(log_loss(codes[last], proba[last], labels=[0, 1]))
        assert run.last["kappa"] == pytest.approx(cohen_kappa_score(codes[last], said[last]))


@pytest.mark.parametrize("labels", [None, ["no", "yes", "may be"], [True, False, None], [-5, 3, 10**9]])
def test_nothing_depends_on_chunks(labels):
    X, y = rows(700, 3)
    if labels is not None:
        labels = [label if label is not None else "?" for label in labels]
        y = np.array([labels[code] for code in y], dtype=object)
        stream = _Unannounced(X, y)  # classes turn up
    else:
        stream = ArrayStream(X, y)
    first, *others = [
        prequential(NearestMean(), stream, window=64, chunk_size=size).to_dict() for size in (1, 13, 64, 65, 5000)
    ]
    for other in others:
        for key in ("rows", "metrics", "last_window", "curve"):
            assert other[key] == first[key]


class _Unannounced(Stream):
    def __init__(self, X, y):
        self.X, self.y = X, y
        self.name = "unannounced"

    def _chunks(self, size, skip):
        for start in range(skip, len(self.y), size):
            yield self.X[start : start + size], self.y[start : start + size]


def test_totals_equal_the_metrics_over_all_rows():
    y = rows(500, 4)[1]
    for size in (3, 500):
        scores = Scores(chosen(OF_CLASSES), 60)
        proba = np.random.default_rng(1).dirichlet(np.ones(4), 500)
        proba[::50] = 0.0
        for start in range(0, 500, size):
            scores.update(y[start : start + size], proba[start : start + size])
            scores.total()  # looking changes nothing
        scores.finish()
        for name, metric in OF_CLASSES.items():
            assert scores.total()[name] == metric.compute(y, proba), name
            assert scores.curve[name][-1] == metric.compute(y[-60:], proba[-60:]), name
            assert scores.curve[name][2] == metric.compute(y[120:180], proba[120:180]), name


def test_columns_may_grow_within_a_window():
    scores = Scores(chosen(OF_CLASSES), 10)
    scores.update([0, 1, 2], [[1.0], [1.0], [0.0]])
    scores.update([1, 2], [[0.2, 0.3, 0.5], [0.0, 0.0, 1.0]])
    scores.update([0], [[0.9, 0.1]])
    scores.finish()
    wide = np.array([[1, 0, 0], [1, 0, 0], [0, 0, 0], [0.2, 0.3, 0.5], [0, 0, 1], [0.9, 0.1, 0]])
    for name, metric in OF_CLASSES.items():
        assert scores.total()[name] == metric.compute([0, 1, 2, 1, 2, 0], wide), name


@pytest.mark.parametrize("max_rows", [1, 99, 100, 101, 250, 10_000])
def test_max_rows_is_exact(max_rows):
    X, y = rows(300)
    learner = NearestMean()
    run = prequential(learner, ArrayStream(X, y), max_rows=max_rows, chunk_size=100, window=100)
    assert run.rows == min(max_rows, 300)
    assert learner.weights.sum() == run.rows
    assert run.curve["row"].to_pylist()[-1] == run.rows


def test_max_rows_ends_an_endless_stream():
    assert prequential(NearestMean(), SEA(), max_rows=2500, metrics="accuracy").rows == 2500


def test_frames():
    table = pa.table({"colour": ["red", "blue"] * 50, "sold": ["yes", "no"] * 50})
    run = prequential(NearestMean(), FrameStream(table, "sold"), max_rows=95, chunk_size=10)
    assert run.rows == 95
    assert run.metrics["accuracy"] > 0.9


def test_metrics_are_given_in_any_way_and_never_updated():
    X, y = rows()
    mine = Accuracy()
    run = prequential(NearestMean(), ArrayStream(X, y), metrics=[mine, LogLoss, "g-mean"])
    assert list(run.metrics) == ["accuracy", "log_loss", "gmean"]
    assert math.isnan(mine.value)
    windowed = prequential(NearestMean(), ArrayStream(X, y), metrics=[Window(Accuracy(), 10)])
    assert windowed.metrics["window(accuracy, 10)"] != run.metrics["accuracy"]


def test_a_metric_of_ones_own_with_parameters():
    class Above(Accuracy):
        name, label = "above", "Above"

        def __init__(self, least):
            self.least = least
            super().__init__()

        def _update(self, y, proba):
            keep = proba.max(axis=1, initial=0.0) >= self.least
            super()._update(y[keep], proba[keep])

    X, y = rows()
    run = prequential(NearestMean(), ArrayStream(X, y), metrics=[Above(0.9), "accuracy"])
    assert run.metrics["above"] > run.metrics["accuracy"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metrics": ["accuracy", "acc"]}, "twice"),
        ({"metrics": []}, "empty"),
        ({"metrics": ["acuracy"]}, "accuracy"),
        ({"window": 0}, "window"),
        ({"chunk_size": 0}, "chunk_size"),
        ({"max_rows": 0}, "max_rows"),
        ({"stream": np.zeros((3, 2))}, "ArrayStream"),
        ({"learner": object()}, "test_then_train"),
        ({"learner": NearestMean}, "call it"),
    ],
)
def test_unfit_arguments(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        prequential(**{"learner": NearestMean(), "stream": SEA(n_rows=10), **arguments})


def test_classes_that_turn_up_make_the_first_row_a_miss():
    X, y = rows(50)
    run = prequential(NearestMean(), _Unannounced(X, y), window=1)
    assert run.curve["accuracy"].to_pylist()[0] == 0.0
    assert run.curve["log_loss"].to_pylist()[0] > 30


def test_a_fitted_learner_goes_on():
    X, y = rows(400)
    once, twice = NearestMean(), NearestMean()
    prequential(once, ArrayStream(X, y))
    prequential(twice, ArrayStream(X[:200], y[:200]))
    second = prequential(twice, ArrayStream(X[200:], y[200:]))
    assert second.learner is twice
    assert np.array_equal(once.sums, twice.sums)


# ---------------------------------------------------------------------------------------- others' learners


def test_scikit_learns_learners_are_predicted_and_taught_by_the_chunk():
    X, y = rows(1000, 3)
    run = prequential(GaussianNB(), ArrayStream(X, y), chunk_size=100, window=100)
    reference, hits = GaussianNB(), 0
    for start in range(0, 1000, 100):
        part = slice(start, start + 100)
        if start:
            hits += int((reference.predict(X[part]) == y[part]).sum())
        reference.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert run.metrics["accuracy"] == hits / 1000
    assert run.curve["accuracy"].to_pylist()[0] == 0.0  # nothing was known yet
    assert run.nbytes is None


def test_learners_that_only_predict():
    X, y = rows(1000, 3, labels=["x", "y", "z"])
    run = prequential(SGDClassifier(random_state=0), ArrayStream(X, y), chunk_size=100)
    assert 0.4 < run.metrics["accuracy"] < 1
    assert run.learner_name == "SGDClassifier(random_state=0)"


class _Sorting:
    """Keeps its classes sorted, so that columns move."""

    def __init__(self):
        self.seen = []
        self.last = None

    @property
    def classes_(self):
        return np.array(sorted(self.seen))

    def test_then_train(self, X, y):
        said = []
        for label in y.tolist():
            said.append(self.last)
            self.last = label
            if label not in self.seen:
                self.seen.append(label)
        return np.array([[float(label == guess) for label in sorted(self.seen)] for guess in said])


def test_columns_that_move_are_followed():
    y = np.repeat(np.array([5, 3, 9, 1, 3]), 40)
    X = np.zeros((len(y), 1))
    stream = _Unannounced(X, y)
    for size in (1, 30, 1000):
        run = prequential(_Sorting(), stream, chunk_size=size, window=50)
        assert run.metrics["accuracy"] == (len(y) - 5) / len(y)
        assert run.metrics["kappa"] > 0.95


def test_aligner_gives_labels_the_learner_never_met_codes_of_their_own():
    codes, proba = Aligner().align(np.array(["b", "c", "d"]), np.ones((3, 1)), np.array(["a"]))
    assert codes.tolist() == [1, 2, 3]
    assert proba.shape == (3, 1)


def test_unfit_probabilities_are_refused():
    class Wrong(_Sorting):
        def test_then_train(self, X, y):
            return super().test_then_train(X, y) * np.nan

    with pytest.raises(ValueError, match="finite"):
        prequential(Wrong(), ArrayStream(*rows()))


# ---------------------------------------------------------------------------------------- what may go wrong


class _Breaking(Stream):
    name, n_rows, n_features = "breaking", 1000, 3

    def __init__(self, error):
        self.error = error

    def _chunks(self, size, skip):
        X, y = rows(1000)
        for start in range(0, 500, size):
            yield X[start : start + size], y[start : start + size]
        raise self.error


def test_errors_of_the_stream_are_passed_on():
    with pytest.raises(OSError, match="cable"):
        prequential(NearestMean(), _Breaking(OSError("cable")))


def test_an_interrupted_run_returns_what_it_has():
    run = prequential(NearestMean(), _Breaking(KeyboardInterrupt()), chunk_size=100, window=200)
    assert run.interrupted
    assert run.rows == 500
    assert run.curve["row"].to_pylist() == [200, 400, 500]
    assert json.loads(run.to_json())["interrupted"] is True
    assert "interrupted" in repr(run)


def test_an_interruption_waits_for_the_learner():
    class Interrupting(NearestMean):
        def _learn(self, X, y, w):
            super()._learn(X, y, w)
            if self.weights.sum() == 150:
                os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    learner = Interrupting()
    run = prequential(learner, ArrayStream(*rows()), chunk_size=100)
    assert run.interrupted
    assert run.rows == learner.weights.sum() == 200
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_run_too():
    found = []
    thread = threading.Thread(target=lambda: found.append(prequential(NearestMean(), SEA(n_rows=2000))))
    thread.start()
    thread.join()
    assert found[0].rows == 2000


def test_a_stream_that_ends_at_once():
    run = prequential(NearestMean(), _Unannounced(np.zeros((0, 1)), np.zeros(0)))
    assert run.rows == 0
    assert math.isnan(run.metrics["accuracy"])
    text = json.loads(run.to_json(), parse_constant=pytest.fail)
    assert text["metrics"]["accuracy"] is None
    assert run.curve.num_rows == 0
    assert run.to_csv() == "row,accuracy,kappa,gmean,auc,log_loss\n"
    run.plot()
    assert "-" in run._repr_html_()


def test_progress(monkeypatch):
    module = sys.modules[prequential.__module__]  # the package shows the function by that name
    monkeypatch.setattr(module, "_SECONDS_BETWEEN_REPORTS", 0.0)
    seen = []
    prequential(
        NearestMean(),
        ArrayStream(*rows(450)),
        metrics=["accuracy"],
        window=200,
        chunk_size=100,
        progress=lambda *report: seen.append(report),
    )
    assert [report[0] for report in seen] == [100, 200, 300, 400, 450, 450]
    assert {report[1] for report in seen} == {450}
    assert all(0 < report[2]["accuracy"] <= 1 for report in seen)


# ---------------------------------------------------------------------------------------- what comes out


@pytest.fixture(scope="module")
def run() -> Run:
    return prequential(NearestMean(pull=0.5), ArrayStream(*rows(537), name="made <up>"), window=100)


def test_run_tells_speed_and_memory(run):
    assert 0 < run.learn_seconds < run.seconds
    assert run.rows_per_second == run.rows / run.seconds
    assert (run.first_rows, run.rows) == (537, 537)
    assert run.learner_rows_per_second == run.rows / run.learn_seconds
    longer = prequential(NearestMean(), ArrayStream(*rows(537)), chunk_size=100)
    assert longer.first_rows == 100
    assert longer.learner_rows_per_second == 437 / (longer.learn_seconds - longer.first_seconds)
    assert run.nbytes == run.learner.nbytes <= run.peak_nbytes


def test_json_holds_what_it_takes_to_repeat(run, tmp_path):
    path = tmp_path / "run.json"
    text = run.to_json(path)
    assert path.read_text() == text
    found = json.loads(text, parse_constant=pytest.fail)
    assert found["learner"]["name"] == "NearestMean(pull=0.5)"
    assert found["learner"]["parameters"] == {"pull": 0.5}
    assert found["stream"]["classes"] == [0, 1]
    assert found["settings"]["window"] == 100
    assert {"anabranch", "numpy", "python"} <= set(found["versions"])
    assert found["curve"]["row"] == [100, 200, 300, 400, 500, 537]
    generator = prequential(NearestMean(), SEA(seed=5, n_rows=10)).to_dict()
    assert generator["stream"]["parameters"]["seed"] == 5


def test_csv_is_the_curve(run, tmp_path):
    import pyarrow.csv

    path = tmp_path / "run.csv"
    run.to_csv(path)
    assert pyarrow.csv.read_csv(path).equals(run.curve)


def test_files_that_cannot_be_written(run, tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        run.to_json(tmp_path / "nowhere" / "run.json")
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match="space"):
            run.to_csv("/dev/full")


def test_looks(run):
    assert repr(run).startswith("<Run of NearestMean(pull=0.5) on made <up>: 537 rows, accuracy ")
    assert "made &lt;up&gt;" in run._repr_html_()


@pytest.mark.parametrize("metrics", [None, ["log_loss"], ["accuracy"]])
def test_plot(metrics, tmp_path):
    from matplotlib.figure import Figure

    run = prequential(NearestMean(), ArrayStream(*rows(537)), metrics, window=100)
    figure = run.plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    lines = [line for axis in figure.axes for line in axis.lines]
    assert len(lines) == len(run.metrics)
    assert lines[0].get_xdata().tolist() == [100, 200, 300, 400, 500, 537]
    mine = Figure().subplots()
    assert run.plot(ax=mine) is mine.figure
    with pytest.raises(ValueError, match="nonsense"):
        run.plot(tmp_path / "run.nonsense")


def test_plotting_is_imported_only_when_used():
    code = "import sys, anabranch.evaluation\nprint([m for m in ('matplotlib', 'rich', 'typer') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_error_says_where_in_the_stream():
    X = np.ones((500, 2))
    X[420, 1] = np.inf
    stream = ArrayStream(X, np.arange(500) % 2, name="log", feature_names=["load", "heat"])
    with pytest.raises(ValueError, match=r"log, in the chunk that begins with row 400: .*column 'heat', row 20"):
        prequential(NoChangeClassifier(), stream, chunk_size=100)


def test_nominal_columns_of_streams_are_announced() -> None:
    from anabranch.stream import STAGGER
    from anabranch.tree import HoeffdingTreeClassifier

    stream = STAGGER(function=2, n_rows=3000)
    told = HoeffdingTreeClassifier(nominal_features=[0, 1, 2])
    untold, numeric = HoeffdingTreeClassifier(), HoeffdingTreeClassifier(nominal_features=[])
    figures = [prequential(learner, stream, ["accuracy"]).metrics for learner in (told, untold, numeric)]
    assert figures[0] == figures[1]
    assert untold.nominal_features is None
    assert untold._schema is not None
    assert untold._schema.nominal.all()
    assert numeric._schema is not None
    assert not numeric._schema.nominal.any()
    # A learner that has met rows keeps to what it knows.
    assert numeric.announce_nominal([0])._schema.nominal.tolist() == [False] * 3  # type: ignore[union-attr]
