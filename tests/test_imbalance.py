"""Learners for skewed streams, against slow references; and streams made skewed."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reference_dwmil import DWMIL, UnderBagging
from scipy.io import loadmat
from sklearn.naive_bayes import GaussianNB

from anabranch import imbalance
from anabranch.imbalance import DWMILClassifier, UnderBaggingClassifier
from anabranch.imbalance._errors import error_of
from anabranch.stream import SEA, ArrayStream, FileStream, FrameStream, Imbalance, MovingGaussian
from anabranch.testing import quick_settings


def _chunks(n_chunks, rows, seed=1, turn=None):
    """A skewed stream; from chunk ``turn`` on, the classes change places."""
    stream = MovingGaussian(seed=seed, chunk_rows=rows, minority_share=0.1, n_chunks=n_chunks)
    for i, (X, y) in zip(range(n_chunks), stream.chunks(rows), strict=False):
        yield X, 1 - y if turn is not None and i >= turn else y


# ---------------------------------------------------------------------------------------------- DWMIL


@pytest.mark.parametrize(("theta", "turn"), [(0.001, None), (0.3, None), (0.2, 4)])
def test_dwmil_is_the_published_one(theta, turn):
    ours = DWMILClassifier(chunk_size=200, n_estimators=5, theta=theta, random_state=7).announce([0, 1])
    slow = DWMIL(5, theta, seed=7)
    for X, y in _chunks(8, 200, turn=turn):
        score = slow.scores(X)
        share = (1.0 + score / sum(slow.weights)) / 2.0 if slow.weights else np.full(len(X), 0.5)
        assert np.allclose(ours.test_then_train(X, y)[:, 1], share, atol=1e-12)
        slow.learn(X, np.where(y == 1, 1, -1))
        [experts] = ours._experts.values()
        assert [expert.weight for expert in experts] == slow.weights
    assert 1 < len(slow.weights) < 8 or theta == 0.001


def test_under_bagging_is_the_published_one():
    [(X, y)] = _chunks(1, 300)
    ours = UnderBaggingClassifier(n_estimators=7, chunk_size=300, random_state=3).partial_fit(X, y)
    root = np.random.Generator(np.random.PCG64(np.random.SeedSequence(3).spawn(1)[0]))
    slow = UnderBagging(X, np.where(y == 1, 1, -1), root.spawn(7))
    new, _ = next(MovingGaussian(seed=5).chunks(500))
    assert np.array_equal(ours.predict(new), (slow.predict(new) > 0).astype(int))


def test_under_bagging_draws_as_many_of_each_class():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [80, 15, 5])
    X = rng.standard_normal((100, 2))
    seen = []

    class Spy(GaussianNB):
        def fit(self, X, y):
            seen.append(np.bincount(y).tolist())
            return super().fit(X, y)

    UnderBaggingClassifier(Spy(), n_estimators=3, chunk_size=100, random_state=0).partial_fit(X, y)
    assert seen == [[5, 5, 5]] * 3
    w = np.where(np.arange(100) % 2, 1e-9, 1.0)
    it = UnderBaggingClassifier(n_estimators=3, chunk_size=100, random_state=0).partial_fit(X, y, sample_weight=w)
    assert np.isfinite(it.predict_proba(X)).all()


def test_chunks_of_one_class_change_nothing():
    for it in (DWMILClassifier(chunk_size=100, random_state=0), UnderBaggingClassifier(chunk_size=100, random_state=0)):
        X, y = next(MovingGaussian(minority_share=0.2).chunks(100))
        it.partial_fit(X, np.zeros(100))
        assert (it.predict(X) == 0).all()
        it.partial_fit(X, y)
        before = it.predict_proba(X)
        for label in (0, 1):
            it.partial_fit(X + 3, np.full(100, label))
            assert np.array_equal(it.predict_proba(X), before)


def test_without_an_expert_all_classes_are_alike():
    it = DWMILClassifier(chunk_size=10, random_state=0).announce(["a", "b"])
    told = it.test_then_train(np.arange(10.0)[:, None], ["a"] * 5 + ["b"] * 5)
    assert (told == 0.5).all()


def test_experts_that_are_all_wrong_are_gone_at_once_and_the_newest_stays():
    X = np.linspace(0, 1, 100)[:, None]
    y = (X[:, 0] > 0.8).astype(int)
    it = DWMILClassifier(chunk_size=100, random_state=0)
    for turn in range(6):
        it.partial_fit(X, y if turn % 2 == 0 else 1 - y)
        assert it.n_experts_ == 1
        [[expert]] = it._experts.values()
        assert expert.weight == 1.0
    assert (it.predict(X) == 1 - y).mean() > 0.9


def test_a_minority_that_becomes_the_majority():
    rng = np.random.default_rng(0)
    it = DWMILClassifier(chunk_size=200, random_state=0)
    for share in (0.05, 0.2, 0.5, 0.8, 0.95):
        y = (rng.random(200) < share).astype(int)
        X = rng.standard_normal((200, 2)) + 3 * y[:, None]
        if it.__sklearn_is_fitted__():
            said = it.predict(X)
            assert min((said[y == c] == c).mean() for c in (0, 1)) > 0.8
        it.partial_fit(X, y)


def test_a_last_short_chunk_is_like_any_other():
    (X, y), (X2, y2) = list(_chunks(20, 200))[:2]
    short = np.flatnonzero((np.arange(200) < 40) | (y2 == 1))
    it = DWMILClassifier(chunk_size=200, random_state=0).partial_fit(X, y).partial_fit(X2[short], y2[short])
    before = it.predict_proba(X2)
    assert it.n_experts_ == 1
    assert not np.array_equal(it.flush().predict_proba(X2), before)
    assert it.n_experts_ == 2


def test_more_than_two_classes_one_against_the_rest():
    rng = np.random.default_rng(1)
    it = DWMILClassifier(chunk_size=200, n_estimators=5, random_state=0)

    def chunk(k):
        y = rng.choice(4, 200, p=[0.6, 0.2, 0.1, 0.1] if k == 4 else [0.8, 0.2, 0, 0])
        return rng.standard_normal((200, 2)) + np.array([[0, 0], [5, 0], [0, 5], [5, 5]])[y], y

    it.partial_fit(*chunk(2)).partial_fit(*chunk(2))
    X, y = chunk(2)
    before = it.predict(X)
    assert (before == y).mean() > 0.95
    assert list(it._experts) == [1]
    it.partial_fit(*chunk(4))
    assert list(it._experts) == [0, 1, 2, 3]
    assert [len(experts) for experts in it._experts.values()] == [3, 3, 1, 1], (
        "what two classes taught is kept for both"
    )
    assert [e.positive for e in it._experts[0]] == [0, 0, 1]
    assert it._experts[0][0].models is it._experts[1][0].models
    for _ in range(3):
        it.partial_fit(*chunk(4))
    X, y = chunk(4)
    said = it.predict(X)
    assert min((said[y == c] == c).mean() for c in range(4)) > 0.8
    weights = [e.weight for e in it._experts[3]]
    it.partial_fit(*chunk(2))  # without classes 2 and 3
    assert [e.weight for e in it._experts[3]] == weights


def test_errors():
    truth = np.repeat([1, -1], [4, 16])
    said = np.where(np.arange(20) % 4 == 0, -truth, truth).astype(float)  # a quarter wrong
    said[1] = 0.0  # a draw
    one = np.ones(20)
    assert error_of("gmean", truth, said, one) == pytest.approx(1 - np.sqrt(0.5 * 0.75))
    assert error_of("recall", truth, said, one) == pytest.approx(1 - (0.5 + 0.75) / 2)
    assert error_of("f1", truth, said, one) == pytest.approx(1 - 2 * 2 / (2 * 2 + 2 + 4))
    assert error_of("gmean", truth, -np.abs(truth), one) == 1.0
    assert error_of(lambda truth, said, w: float(w @ (truth != said) / w.sum()), truth, said, one) == 6 / 20
    w = np.where(truth == 1, 2.0, np.where(said == truth, 3.0, 1.0))
    assert error_of("recall", truth, said, w) == pytest.approx(1 - (0.5 + 36 / 40) / 2)


def _half(truth, said, w):
    return 0.5


def test_an_error_of_ones_own():
    it = DWMILClassifier(chunk_size=200, n_estimators=3, error=_half, theta=0.2, random_state=0)
    for X, y in _chunks(6, 200):
        it.partial_fit(X, y)
    [experts] = it._experts.values()
    assert [expert.weight for expert in experts] == [0.25, 0.5, 1.0]
    it.set_params(error=lambda truth, said, w: 2.0)
    with pytest.raises(ValueError, match="from 0 to 1"):
        it.partial_fit(X, y)
    assert [expert.weight for expert in it._experts[1]] == [0.25, 0.5, 1.0]
    with pytest.raises(ValueError, match="gmean"):
        DWMILClassifier(error="g-mean").partial_fit(X, y)


def test_memory_stays_flat():
    it = DWMILClassifier(chunk_size=50, n_estimators=3, random_state=0)
    sizes, experts = [], []
    for X, y in _chunks(300, 50):
        it.partial_fit(X, y)
        sizes.append(it.nbytes)
        experts.append(it.n_experts_)
    assert max(experts[100:]) <= max(experts[:100]) * 1.5
    assert max(sizes[100:]) <= max(sizes[:100]) * 1.5


# ---------------------------------------------------------------------------------------------- streams


def test_imbalance_keeps_the_majority_the_share_and_the_order():
    y = (np.random.default_rng(0).random(1900) < 0.4).astype(int)
    X = np.arange(1900.0)[:, None]
    stream = Imbalance(ArrayStream(X, y), share=0.1, piece_rows=500)
    pieces = list(stream.pieces())
    assert len(pieces) == 4, "400 rows are a piece of their own"
    for i, (rows, labels) in enumerate(pieces):
        others = int((y[500 * i : 500 * i + 500] == 0).sum())
        assert (labels == 0).sum() == others
        assert labels.sum() == np.floor(0.1 * others + 0.5)
        assert (np.diff(rows[:, 0]) > 0).all()
        assert np.array_equal(y[rows[:, 0].astype(int)], labels)
    assert len(list(Imbalance(ArrayStream(X[:1740], y[:1740]), 0.1, 500).pieces())) == 3, "240 rows are none"
    whole = stream.take(10_000)
    for size in (1, 97, 500):
        parts = list(stream.chunks(size, skip=13))
        assert np.array_equal(np.concatenate([X for X, _ in parts]), whole[0][13:])
        assert np.array_equal(np.concatenate([y for _, y in parts]), whole[1][13:])
    other = Imbalance(ArrayStream(X, y), share=0.1, piece_rows=500, seed=2).take(10_000)
    assert len(other[0]) == len(whole[0])
    assert not np.array_equal(other[0], whole[0])
    all_of_them = Imbalance(ArrayStream(X, y), share=5.0, piece_rows=500).take(10_000)
    assert np.array_equal(all_of_them[1], y)


def test_imbalance_of_frames_and_classes():
    frame = pd.DataFrame({"a": np.arange(300.0), "b": ["u", "v", "w"] * 100, "y": ["no", "no", "rare"] * 100})
    stream = Imbalance(FrameStream(frame, target="y"), share=0.1, piece_rows=120, minority="rare")
    X, y = stream.take(1000)
    assert list(X.columns) == ["a", "b"]
    assert (y == "no").sum() == 200
    assert (y == "rare").sum() == 8 + 12
    assert Imbalance(SEA(1)).minority == 1
    assert Imbalance(SEA(1)).endless
    with pytest.raises(ValueError, match="minority"):
        Imbalance(_NoClasses())
    with pytest.raises(ValueError, match="share"):
        Imbalance(SEA(1), share=-1)
    with pytest.raises(ValueError, match="ArrayStream"):
        Imbalance(np.zeros((3, 3)))


_DATA = Path(os.environ.get("ANABRANCH_DATA", "nowhere"))


@pytest.mark.parametrize(
    ("file", "name", "settings", "equal"),
    [
        ("electricity.arff", "electricity", {"minority": "UP", "skip": 17_763, "piece_rows": 500}, 51),
        ("weather.csv", "weather", {"minority": 1, "piece_rows": 365}, 50),
    ],
)
def test_imbalance_prepares_the_papers_real_streams(file, name, settings, equal):
    if not (_DATA / "dwmil" / f"{name}.mat").exists() or not (_DATA / "streams" / file).exists():
        pytest.skip("the authors' files are not here")
    theirs = [labels.ravel() == 1 for labels in loadmat(_DATA / "dwmil" / f"{name}.mat")["label"].ravel()]
    stream = Imbalance(FileStream(_DATA / "streams" / file), **settings)
    ours = [y == stream.minority for _, y in stream.pieces()]
    assert len(ours) == len(theirs)
    assert sum(len(a) == len(b) and a.sum() == b.sum() for a, b in zip(ours, theirs, strict=True)) == equal
    assert all(abs(len(a) - len(b)) <= 1 for a, b in zip(ours, theirs, strict=True))


class _NoClasses(SEA):
    classes = None

    def __init__(self):
        super().__init__(1)
        self.classes = None


# ---------------------------------------------------------------------------------------------- odd chunks


def _odd_chunks(n=30):
    """Chunks that lack what a method may count on, by their names: rows, labels, weights."""
    rng = np.random.default_rng(5)
    y = np.zeros(n, np.int64)
    y[[2, 9, 17]] = 1
    X = rng.normal(size=(n, 3)) + 2.0 * y[:, None]
    gaps, poor, equal = X.copy(), X.copy(), X.copy()
    gaps[:], poor[y == 1], equal[y == 1] = np.nan, np.nan, X[2]
    lone = np.zeros(n, np.int64)
    lone[4] = 1
    ones = np.ones(n)
    return {
        "usual": (X, y, ones),
        "one class": (X, np.zeros(n, np.int64), ones),
        "the other class": (X, np.ones(n, np.int64), ones),
        "gaps everywhere": (gaps, y, ones),
        "a minority of gaps": (poor, y, ones),
        "equal rows of the minority": (equal, y, ones),
        "one row of the minority": (X, lone, ones),
        "as many of both": (X, np.arange(n) % 2, ones),
        "the minority is the majority": (X, 1 - y, ones),
        "constant columns": (np.ones((n, 3)), y, ones),
        "values whose squares vanish": (1e-300 * X, y, ones),
        "large values": (1e99 * np.clip(X, -9, 9), y, ones),
        "few rows weigh": (X, y, np.where(np.arange(n) % 7 == 2, 1.0, 0.0)),
        "one class weighs": (X, y, 1.0 - y),
        "nothing weighs": (X, y, np.zeros(n)),
        "weights far apart": (X, y, 10.0 ** rng.integers(-12, 12, n)),
        "four classes": (X, rng.integers(0, 4, n), ones),
        "two classes of four": (X, 2 + y, ones),
    }


_SKEWED = [getattr(imbalance, name) for name in imbalance.__all__ if name.endswith("Classifier")]


@pytest.mark.parametrize("names", [str, {0: "no", 1: "yes", 2: "rarely", 3: "never"}.get], ids=["digits", "words"])
@pytest.mark.parametrize("cls", _SKEWED, ids=lambda cls: cls.__name__)
def test_odd_chunks_neither_stop_nor_confuse(cls, names):
    """After the usual chunk comes an odd one, and then all in a row: always finite probabilities, and no warning."""
    chunks = _odd_chunks()
    X = chunks["usual"][0]
    settings = {name: value for name, value in quick_settings(cls).items() if name != "chunk_size"}
    if "chunk_size" in inspect.signature(cls).parameters:
        settings["chunk_size"] = 30
    in_a_row = cls(**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for what, odd in chunks.items():
            for learner, given in ((cls(**settings), [chunks["usual"], odd, odd]), (in_a_row, [odd])):
                for rows, y, w in given:
                    learner.partial_fit(rows, [names(label) for label in y.tolist()], sample_weight=w)
                shares = learner.predict_proba(X)
                assert shares.shape == (len(X), len(learner.classes_)), what
                assert (shares >= 0.0).all(), what  # nor is any NaN
                np.testing.assert_allclose(shares.sum(axis=1), 1.0, err_msg=what)
