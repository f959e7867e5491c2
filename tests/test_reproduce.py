"""``anabranch reproduce``: what papers share, and the thesis on option trees at a tiny size."""

import json
import os

import pytest
from typer.testing import CliRunner

from anabranch.cli import app
from anabranch.papers import PAPERS, load
from anabranch.papers._reproduction import Reproduction, Table, Unit, beside, reproduce
from anabranch.papers.kirkby import MEMORIES, _checkpoints, learner, reproduction


class Coins(Reproduction):
    """A paper whose methods find their seed, times ten for the second."""

    title, source = "Coins", "nowhere"
    datasets, methods = ("a", "b"), ("one", "ten")
    default_runs = 2

    def __init__(self, log):
        self.log = log

    def run(self, unit):
        with open(self.log, "a") as log:
            log.write(f"{unit.key}\n")
        if unit.seed == 13:
            raise KeyboardInterrupt
        return {"metrics": {"accuracy": unit.seed * (10.0 if unit.method == "ten" else 1.0)}}

    def published(self, dataset, method, metric):
        return 2.0 if method == "one" else None


def invoke(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def test_results_are_averaged_over_runs(tmp_path):
    paper = Coins(tmp_path / "log")
    done = reproduce(paper, paper.choose(), tmp_path / "out")
    assert len(done) == 8
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results[0] == {
        "dataset": "a",
        "method": "one",
        "metric": "accuracy",
        "ours_mean": 1.5,
        "ours_std": pytest.approx(0.5**0.5),
        "runs": 2,
        "published": 2.0,
    }
    assert [(r["dataset"], r["method"]) for r in results] == [("a", "one"), ("a", "ten"), ("b", "one"), ("b", "ten")]
    assert results[1]["ours_mean"] == 15.0
    assert results[1]["published"] is None


def test_finished_work_is_not_done_again(tmp_path):
    paper, out = Coins(tmp_path / "log"), tmp_path / "out"
    reproduce(paper, paper.choose(datasets=["a"], runs=1), out)
    first = (out / "results.json").read_text()
    assert (tmp_path / "log").read_text().splitlines() == ["a.one.seed1.json", "a.ten.seed1.json"]
    seen = []
    reproduce(paper, paper.choose(runs=1), out, progress=lambda *state: seen.append(state[2:]))
    assert (tmp_path / "log").read_text().splitlines()[2:] == ["b.one.seed1.json", "b.ten.seed1.json"]
    assert seen == [(2, 4), (3, 4), (4, 4)]
    reproduce(paper, paper.choose(datasets=["a"], runs=1), out)
    assert (out / "results.json").read_text() == first
    # A file that was cut off, or that is of something else, counts for nothing.
    (out / "units" / "a.one.seed1.json").write_text('{"format": 1, "unit"')
    os.replace(out / "units" / "b.one.seed1.json", out / "units" / "a.ten.seed1.json")
    reproduce(paper, paper.choose(runs=1), out)
    assert len((tmp_path / "log").read_text().splitlines()) == 7
    assert len(list((out / "units").iterdir())) == 4


def test_an_interruption_keeps_what_is_done(tmp_path):
    paper, out = Coins(tmp_path / "log"), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        reproduce(paper, paper.choose(methods=["one"], seed=12), out)  # the seeds are 12 and 13
    assert [row["ours_mean"] for row in json.loads((out / "results.json").read_text())] == [12.0]


def test_processes_find_the_same(tmp_path):
    paper = reproduction
    choice = paper.choose(["led", "genF1"], ["htnba@32MB", "bag3@100KB"], rows=1500)
    metrics = [
        {unit: found["metrics"]["accuracy"] for unit, found in reproduce(paper, choice, tmp_path / str(n), n).items()}
        for n in (1, 2)
    ]
    assert metrics[0] == metrics[1]
    assert len(metrics[0]) == 4


def test_choosing():
    choice = reproduction.choose(["led,genF*"], ["hot5@*", "htnba@100KB"])
    assert choice.datasets == ("led", *(f"genF{i}" for i in range(1, 11)))
    assert choice.methods == ("htnba@100KB", "hot5@100KB", "hot5@32MB", "hot5@400MB")
    assert reproduction.choose().datasets == reproduction.datasets
    assert len(reproduction.choose().datasets) == 19
    with pytest.raises(ValueError, match=r"no data set 'rst'\. Did you mean rts or rtc"):
        reproduction.choose(["rst"])
    with pytest.raises(ValueError, match=r"no method 'hot7\*'"):
        reproduction.choose([], ["hot7*"])


def test_means_are_of_data_sets_with_both_figures():
    rows = [
        {"dataset": d, "method": "m", "metric": "accuracy", "ours_mean": ours, "published": published}
        for d, ours, published in (("a", 90.0, 91.0), ("b", 80.0, None), ("c", 70.0, 60.0))
    ]
    assert beside(rows, "accuracy", 1, "x")[0].rows[-1] == ["mean", "80.0 (75.5, +4.5)"]
    assert isinstance(beside(rows, "accuracy", 1, "x")[0], Table)
    assert beside(rows, "auc", 1, "x") == []


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_knows_what_it_is_about(paper):
    found = load(paper)
    assert found.title
    assert found.source
    assert set(found.default_methods) <= set(found.methods)
    assert len(set(found.datasets)) == len(found.datasets) > 0


# ---------------------------------------------------------------------------------------- kirkby


def test_published_figures():
    """Means as the thesis prints them, of its figures per stream."""
    for method, memory, mean in (
        ("htnba", "100KB", 85.44),
        ("htnba", "32MB", 90.51),
        ("bag10", "400MB", 90.79),
        ("boost5", "32MB", 89.60),
        ("hot5", "32MB", 90.72),
        ("hot5", "400MB", 90.94),
    ):
        figures = [reproduction.published(stream, f"{method}@{memory}", "accuracy") for stream in reproduction.datasets]
        assert sum(figures) / 19 == pytest.approx(mean, abs=0.0051)
    assert all(
        reproduction.published(stream, method, metric) is not None
        for stream in reproduction.datasets
        for method in reproduction.methods
        for metric in ("accuracy", "nodes", "depth")
    )
    assert reproduction.published("rts", "htnba@32MB", "rows_per_second") is None


@pytest.mark.parametrize("method", reproduction.methods)
def test_memory_is_kept(method):
    from anabranch.papers.kirkby_streams import STREAMS

    stream = STREAMS["rtc"](seed=1, n_rows=3000)
    model = learner(method, stream.nominal_features)
    limit = MEMORIES[method.split("@")[1]]
    for X, y in stream.chunks(500):
        model.partial_fit(X, y, classes=stream.classes)
        assert model.nbytes <= limit
    parts = getattr(model, "estimators_", [model])
    assert all(tree.max_bytes == limit // len(parts) or "boost" in method for tree in parts)
    assert parts[0].memory_period == (10_000 if "100KB" in method else 100_000)
    assert parts[0].nominal_features == stream.nominal_features


def test_a_unit_of_work():
    found = reproduction.run(Unit("genF1", "htnba@32MB", 1, 20_000))
    assert found["curve"] == [(20_000, found["metrics"]["accuracy"])]
    assert found["metrics"]["accuracy"] > 90
    assert found["held_out"] == 4000
    assert found["metrics"]["nodes"] > 3
    assert _checkpoints(5_000_000) == [100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000]
    assert _checkpoints(100_000) == [100_000]


def test_streams_on_which_nothing_is_drawn_have_one_run():
    units = reproduction.units(reproduction.choose(["rts", "led"], ["htnba@32MB"], runs=3))
    assert sorted((unit.dataset, unit.seed) for unit in units) == [("led", 1), ("rts", 1), ("rts", 2), ("rts", 3)]


def test_what_the_thesis_says_is_judged_by_the_results():
    def row(dataset, method, accuracy, metric="accuracy"):
        published = reproduction.published(dataset, method, metric)
        return {"dataset": dataset, "method": method, "metric": metric, "ours_mean": accuracy, "published": published}

    rows = [row("led", "htnba@32MB", 73.0), row("led", "hot5@32MB", 74.0), row("led", "bag5@32MB", 74.5)]
    rows += [row("wave21", "htnba@32MB", 84.0), row("wave21", "hot5@32MB", 82.0), row("wave21", "bag5@32MB", 82.0)]
    rows += [row("led", "hot5@32MB", 50, "nodes"), row("led", "bag5@32MB", 100, "nodes")]
    holds = {said.text: (said.holds, said.figures) for said in reproduction.statements(rows)}
    assert holds["32 MB: on average, option trees beat one tree"] == (False, "hot5 78.00, htnba 78.50, 2 streams")
    assert holds["32 MB: on average, option trees are not 0.3 points behind bagging"][0]
    assert holds["32 MB: an option tree has fewer nodes than the trees of bagging together"] == (
        True,
        "hot5 50, bag5 100: 50%",
    )
    text = "32 MB, each {} stream: htnba, bag5 and hot5 within {} of the thesis"
    assert holds[text.format("genF and led", "1 point")] == (False, "farthest off: led, htnba, -1.02")
    assert holds[text.format("wave", "3 points")] == (False, "farthest off: wave21, bag5, -3.19")
    assert not any(text.startswith("100 KB") or "boosting" in text for text in holds)


def test_the_command(tmp_path):
    options = ("kirkby", "--rows", 2000, "--datasets", "led,genF1", "--methods", "htnba@*,hot5@32MB", "--out", tmp_path)
    result = invoke(*options)
    assert result.exit_code == 0, result.stderr
    assert "Accuracy in %, 32 MB: ours (published, difference)" in result.stdout
    assert "(73.96, " in result.stdout
    assert "[8/8]" in result.stderr
    for name in ("curves-100KB.png", "curves-32MB.png", "curves-400MB.png", "means.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    rows = json.loads((tmp_path / "results.json").read_text())
    assert {row["metric"] for row in rows} >= {"accuracy", "nodes", "depth", "rows_per_second"}
    assert {tuple(row) for row in rows} == {
        ("dataset", "method", "metric", "ours_mean", "ours_std", "runs", "published")
    }
    again = invoke(*options, "--markdown")
    assert "going on: 8 of 8 are done" in again.stderr
    assert "| led | " in again.stdout
    assert "- does not hold: 32 MB, each genF and led stream: " in again.stdout
    assert invoke(*options, "-q").output == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("kirby",), "no paper 'kirby'. Did you mean kirkby?"),
        (("kirkby", "--datasets", "electricity"), "no data set 'electricity'"),
        (("kirkby", "--n-jobs", 0), "--n-jobs must not be 0"),
        (("kirkby", "--out", __file__), "is a file, not a folder"),
    ],
)
def test_bad_options(options, message):
    result = invoke(*options)
    assert result.exit_code == 2
    assert message in result.stderr
