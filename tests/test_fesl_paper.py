"""The reproduction of the FESL paper: its data, its protocol against the plain reference, its statements."""

import os
from pathlib import Path

import numpy as np
import pytest
import reference_fesl as reference

from anabranch.papers import fesl
from anabranch.papers._reproduction import Unit, reproduce

paper = fesl.reproduction
data = Path(os.environ.get("ANABRANCH_DATA", "nowhere"))
with_data = pytest.mark.skipif(
    not (data / "fesl").is_dir() or not (data / "uci").is_dir(), reason="ANABRANCH_DATA does not hold fesl and uci"
)
SHAPES = {
    "australian": (690, 42, 29), "credit-a": (653, 15, 10), "credit-g": (1000, 20, 14), "diabetes": (768, 8, 5),
    "dna": (940, 180, 125), "german": (1000, 59, 41), "kr-vs-kp": (3196, 36, 25), "splice": (3175, 60, 42),
    "svmguide3": (1284, 22, 15),
}  # fmt: skip


@with_data
@pytest.mark.parametrize("name", SHAPES)
def test_the_sets_have_the_published_sizes(name):
    n, d1, d2 = SHAPES[name]
    first, second, y, orders = fesl.load_set(name)
    assert first.shape == (n, d1)
    assert first.min() >= 0
    assert first.max() <= 1
    assert sorted(np.unique(y)) == [-1, 1]
    assert int(0.7 * d1) == d2
    if name not in ("dna", "splice"):
        assert second.shape == (n, d2)
        assert (np.sort(orders, axis=1) == np.arange(n)).all()


@with_data
def test_splice_is_the_set_of_two_classes():
    first, _, y, _ = fesl.load_set("splice")
    given = np.loadtxt(data / "uci" / "splice.csv", delimiter=",")
    ours = np.column_stack([np.rint(first * 3), y])
    assert np.array_equal(ours[np.lexsort(ours.T)], given[np.lexsort(given.T)])


@with_data
@pytest.mark.parametrize("method", fesl.METHODS)
def test_the_protocol_is_the_papers(method):
    """Accuracy and loss of a whole unit of work are those of the plain reference."""
    X, y, first, _, settings = fesl._rows_of("svmguide3", "", 3, None)
    old, new = X[:first, :22], X[:, 22:]
    B, c = settings["overlap_rows"], settings["c"]
    w1, M, _ = reference.initialize("logistic", old, np.nan_to_num(new[:first]), y[:first], B, c)
    seed = fesl._learner("FESL-s", False, len(y) - first, 3, **settings, spaces=None).announce([-1, 1])._model.seed[0]
    draws = reference.splitmix(seed, len(y) - first)
    told, losses, _ = reference.evolve("logistic", w1, M, new[first:], y[first:], c, method, draws=draws)
    found = paper.run(Unit("svmguide3", method, 3))
    assert np.isclose(found["metrics"]["accuracy"], (np.where(told > 0, 1, -1) == y[first:]).mean(), atol=0.002)
    assert np.isclose(found["metrics"]["mean_loss"], losses[-1, 2] / len(told), rtol=0.01)
    assert found["curve"][-1] == [len(told), found["metrics"]["mean_loss"]]


def test_without_the_authors_files(monkeypatch):
    monkeypatch.delenv("ANABRANCH_DATA", raising=False)
    fesl.load_set.cache_clear()
    with pytest.raises(ValueError, match="ANABRANCH_DATA"):
        fesl.load_set("australian")
    fesl.load_set.cache_clear()


def test_generated_sets_and_results(tmp_path):
    choice = paper.choose(datasets=["rfid", "text.SP-IT"], methods=["NOGD", "ROGD-u", "FESL-*"], runs=1, rows=900)
    done = reproduce(paper, choice, tmp_path)
    results = paper.results(choice, done)
    by = {(r["dataset"], r["method"], r["metric"]): r["ours_mean"] for r in results}
    assert all(r["published"] is None for r in results)
    assert by["rfid", "FESL-c", "mean_loss"] <= min(by["rfid", m, "mean_loss"] for m in ("NOGD", "ROGD-u")) * 1.1
    assert by["text.SP-IT", "FESL-c", "accuracy"] > 0.5
    assert len(paper.tables(results)) >= 2
    assert paper.statements(results) == [] or all(s.holds is None for s in paper.statements(results))
    assert all(path.stat().st_size > 5000 for path in paper.plots(results, done, tmp_path / "plots"))


def test_statements_judge():
    def results(shift):
        return [
            {"dataset": name, "method": method, "metric": "accuracy", "ours_mean": value + shift * (method == "NOGD")}
            for name, values in fesl._PUBLISHED.items()
            for method, value in zip(fesl.METHODS, values, strict=True)
        ]

    assert [s.holds for s in paper.statements(results(0.0))] == [True, True, True]
    assert [s.holds for s in paper.statements(results(0.3))] == [False, False, False]
    assert [s.holds for s in paper.statements(results(0.0)[:5])] == [None, None, None]


@pytest.mark.skipif(not (data / "reuters").is_dir(), reason="ANABRANCH_DATA does not hold reuters")
def test_the_sample_of_reuters():
    first, second, y = fesl.load_sample("EN-SP")
    assert first.shape == (600, 21_531)
    assert second.shape == (600, 11_547)
    assert np.unique(y, return_counts=True)[1].tolist() == [100] * 6
    assert np.allclose(first.power(2).sum(axis=1), 1.0)
    X, y, start, _, settings = fesl._rows_of("reuters.EN-SP", "", 1, None)
    assert (X.shape, start, settings["overlap_rows"]) == ((600, 33_078), 300, 50)
    assert np.unique(X[:250].indices).max() < 21_531 <= np.unique(X[300:].indices).min()
    found = paper.run(Unit("reuters.EN-SP", "FESL-c", 1))
    assert found["metrics"]["accuracy"] > 0.5  # of six classes


def test_without_the_sample_there_is_a_way_out(monkeypatch):
    monkeypatch.setenv("ANABRANCH_DATA", "nowhere")
    with pytest.raises(ValueError, match=r"text\.EN-FR"):
        fesl.load_sample("EN-FR")
