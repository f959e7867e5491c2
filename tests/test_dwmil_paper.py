"""The reproduction of the DWMIL paper: its streams, its protocol against the plain reference, tests and statements."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from reference_dwmil import DWMIL
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from anabranch.cli import app
from anabranch.papers import dwmil
from anabranch.papers._reproduction import Choice, Unit, reproduce

paper = dwmil.reproduction
data = Path(os.environ.get("ANABRANCH_DATA", "nowhere"))
with_data = pytest.mark.skipif(not (data / "dwmil").is_dir(), reason="ANABRANCH_DATA does not hold dwmil")
SHAPES = {  # chunks, features, rows, rows of the minority
    "gaussian": (50, 2, 50_000, 2500), "sea": (100, 3, 100_000, 5000), "hyperP": (50, 10, 48_530, 2581),
    "checkerboard": (200, 2, 300_523, 14_978), "electricity": (55, 7, 16_912, 808), "weather": (50, 8, 13_086, 625),
}  # fmt: skip


@pytest.fixture
def no_data(monkeypatch):
    """Streams of our own."""
    monkeypatch.delenv("ANABRANCH_DATA", raising=False)
    dwmil.chunks_of.cache_clear()
    yield
    dwmil.chunks_of.cache_clear()


@with_data
@pytest.mark.parametrize("name", SHAPES)
def test_the_authors_streams(name):
    authors, chunks = dwmil.chunks_of(name)
    assert authors
    rows, minority = sum(len(y) for _, y in chunks), sum(int(y.sum()) for _, y in chunks)
    assert (len(chunks), chunks[0][0].shape[1], rows, minority) == SHAPES[name]
    assert all(X.dtype == np.float64 and 0 < y.sum() < len(y) / 2 for X, y in chunks)


@pytest.mark.parametrize("name", ["gaussian", "sea", "hyperP", "checkerboard"])
def test_our_own_streams(name, no_data):
    authors, chunks = dwmil.chunks_of(name, 1, 6000)
    assert not authors
    assert chunks[0][0].shape[1] == SHAPES[name][1]
    share = np.mean([y.mean() for _, y in chunks])
    assert 0.03 < share < 0.07
    assert not np.array_equal(dwmil.chunks_of(name, 2, 6000)[1][0][0], chunks[0][0])
    assert dwmil.chunks_of(name, 1, 10)[1][1][0].shape == chunks[1][0].shape  # two chunks at least


def test_sea_drifts_and_returns(no_data):
    _, chunks = dwmil.chunks_of("sea", 3)
    least = [(X[:, 0] + X[:, 1])[y == 1].min() for X, y in chunks]
    assert [value > 14 for value in least] == [True] * 33 + [False] * 33 + [True] * 34


def test_the_protocol_is_the_papers(no_data):
    """G-mean and AUC of every chunk are those of the plain reference."""
    found = paper.run(Unit("hyperP", "DWMIL", 4, 4000))
    reference = DWMIL(seed=4)
    for i, (X, y) in enumerate(dwmil.chunks_of("hyperP", 4, 4000)[1]):
        score = reference.scores(X)
        positive = score >= 0
        g_mean = np.sqrt(positive[y == 1].mean() * (~positive[y == 0]).mean())
        assert found["gmean"][i] == pytest.approx(g_mean)
        assert found["auc"][i] == pytest.approx(roc_auc_score(y, score))
        reference.learn(X, 2 * y - 1)
        assert found["experts"][i] == len(reference.experts)
    assert (found["gmean"][0], found["auc"][0]) == (0, 0.5)
    assert found["metrics"]["gmean"] == pytest.approx(np.mean(found["gmean"]))


def test_chunks_of_different_lengths_are_learned_as_they_are(monkeypatch):
    rng = np.random.default_rng(0)
    rows = [rng.random((n, 2)) for n in (50, 80, 60)]
    chunks = [(X, (X[:, 0] < 0.2).astype(int)) for X in rows]
    monkeypatch.setattr(dwmil, "chunks_of", lambda *_: (True, chunks))
    found = paper.run(Unit("weather", "DWMIL", 1))
    assert found["experts"] == [1, 2, 3]
    assert found["metrics"]["authors_stream"] == 1.0


@pytest.mark.parametrize("method", paper.methods)
def test_every_method_is_set_up(method):
    model = dwmil.learner(method, [300, 400], 7)
    settings = model.get_params(deep=False)
    assert settings.get("chunk_size", 400) == 400
    assert settings.get("random_state", 7) == 7
    assert settings.get("period", 350) == 350 or method == "ESOS-ELM"
    assert repr(model) == repr(dwmil.learner(method, [300, 400], 7))


def row(dataset, method, metric, mean):
    published = paper.published(dataset, method, metric)
    return {
        "dataset": dataset, "method": method, "metric": metric, "ours_mean": mean, "ours_std": None, "runs": 1,
        "published": published,
    }  # fmt: skip


def test_differences_are_tested_over_chunks():
    rng = np.random.default_rng(1)
    curve = 0.7 + 0.05 * rng.random(40)
    better = {"DWMIL": 0.02, "LPN": 0.0, "REA": -0.1, "UOB": 0.05}
    done = {}
    for method, lead in better.items():
        for seed in (1, 2):
            g_mean = (curve + lead + 0.001 * rng.random(40)).tolist()
            found = {"gmean": g_mean, "auc": [0.8] * 40, "experts": [None] * 40}
            found["metrics"] = {"gmean": float(np.mean(g_mean)), "auc": 0.8, "seconds": 1.0, "authors_stream": 1.0}
            done[Unit("weather", method, seed)] = found
    choice = Choice(("weather",), tuple(better), 2, None, 1)
    results = paper.results(choice, done)
    of = {(r["method"], r["metric"]): r for r in results}
    assert of["LPN", "gmean_p_best"]["ours_mean"] < 1e-6
    assert of["LPN", "auc_p_best"]["ours_mean"] == 1.0
    assert ("DWMIL", "gmean_p_best") not in of
    assert of["DWMIL", "gmean"]["published"] == 0.6641
    assert of["DWMIL", "gmean"]["runs"] == 2
    assert ("DWMIL", "experts") not in of
    tables = paper.tables(results)
    marks = {line[0]: line[1][6:] for line in tables[0].rows}
    assert marks == {"DWMIL": "*", "LPN": "", "REA": "", "UOB": "+", "DWMIL, published": ""}
    assert tables[2].rows[0][1] == "0.8000="
    assert tables[-1].rows == [["weather", "40", "the authors'"]]
    # Before all is done, nothing is tested; and streams of our own have no published figures beside them.
    done.popitem()
    assert not any("_p_" in r["metric"] for r in paper.results(choice, done))
    for found in done.values():
        found["metrics"]["authors_stream"] = 0.0
    assert all(r["published"] is None for r in paper.results(choice, done))


def test_what_the_curves_tell():
    curve = [0.9] * 33 + [0.1, 0.2, 0.5, 0.9] + [0.9] * 29 + [0.3] + [0.88] * 33
    found = {"gmean": curve, "auc": curve, "experts": list(range(100))}
    told = dwmil._told_by(Unit("sea", "DWMIL", 1), found)
    assert (told["half_back_1"], told["back_1"], told["half_back_2"], told["back_2"]) == (2, 3, 1, 1)
    assert told["auc_loss_2"] == pytest.approx(0.9 - (0.3 + 9 * 0.88) / 10)
    assert told["experts"] == 49.5
    assert told["gmean_end"] == pytest.approx(0.88)
    assert "back_1" not in dwmil._told_by(Unit("sea", "DWMIL", 1), {key: value[:40] for key, value in found.items()})


def test_statements_judge():
    def results(shift):
        rows = []
        for name in paper.datasets:
            rows += [row(name, "DWMIL", "authors_stream", 1.0)]
            for metric in ("gmean", "auc"):
                rows += [row(name, "DWMIL", metric, paper.published(name, "DWMIL", metric) + shift)]
                for k, method in enumerate(dwmil.MAIN[1:]):
                    rows += [row(name, method, metric, 0.5 - 0.01 * k), row(name, method, f"{metric}_p_best", 0.01)]
                    rows += [row(name, method, f"{metric}_p_dwmil", 0.01)]
            rows += [row(name, method, "seconds", s) for method, s in zip(dwmil.MAIN, (1, 2, 4, 9, 20), strict=True)]
        return rows

    holds = {said.text: said.holds for said in paper.statements(results(0.01))}
    assert all(holds[text] for text in holds if "of the published" in text)
    assert holds["DWMIL has the best G-mean, significantly, on four streams or more"]
    assert holds["LPN takes about twice as long as DWMIL (1.5 to 3, geometric mean over the streams)"]
    assert holds["REA takes the least time on electricity and weather"] is False
    assert holds["CBCE and DWM are the slowest, DWM slower than CBCE, on every stream"]
    assert holds["checkerboard: the G-mean of DWMIL, LPN and REA is similar (within 0.1)"] is False
    assert holds["sea, first drift: DWMIL is the first to recover"] is None
    far = [said for said in paper.statements(results(0.017)) if "of the published" in said.text]
    assert [said.holds for said in far] == [False, False, True, False, True, False]
    assert not any("of the published" in said.text for said in paper.statements(results(0.0)[13:14]))
    assert all(said.holds is None for said in paper.statements([]))


def test_a_tiny_reproduction(no_data, tmp_path):
    choice = paper.choose(["gaussian"], ["DWMIL", "DWM+NB", "UnderBagging"], runs=1, rows=3000)
    done = reproduce(paper, choice, tmp_path)
    results = json.loads((tmp_path / "results.json").read_text())
    of = {(r["method"], r["metric"]): r["ours_mean"] for r in results}
    assert of["DWMIL", "gmean_later"] > of["DWMIL", "gmean"] > 0.3
    assert of["DWM+NB", "experts"] >= 1
    assert of["DWMIL", "seconds"] > 0
    assert of["DWMIL", "chunks"] == 3
    drawn = paper.plots(results, done, tmp_path)
    assert [path.name for path in drawn] == ["figure1-gmean.png", "figure2-auc.png", "experts.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)


def test_the_command(no_data, tmp_path):
    options = ["dwmil", "--rows", "2000", "--runs", "1", "--datasets", "gaussian", "--methods", "DWMIL"]
    result = CliRunner().invoke(app, ["reproduce", *options, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.stderr
    assert "made by the library" in result.stdout
    assert "Table 4: running time" in result.stdout
    assert "not run: sea, first drift" in result.stdout
