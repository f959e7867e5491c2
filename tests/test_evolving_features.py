"""A stream whose sensors are replaced."""

import numpy as np
import pytest

from anabranch.evaluation import prequential
from anabranch.evolving import FESLClassifier, NOGDClassifier
from anabranch.stream import LED, SEA, ArrayStream, EvolvingFeatures, Hyperplane
from anabranch.tree import HoeffdingTreeClassifier


def test_what_is_there_when():
    source = Hyperplane(n_rows=900, n_features=5, seed=3)
    stream = EvolvingFeatures(source, overlap=20, cycles=2, n_new=4, survivors=2)
    assert stream.positions == [300, 600]
    assert stream.spaces == [[2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]
    X, y = stream.take(900)
    base, labels = source.take(900)
    assert np.array_equal(y, labels)
    there = ~np.isnan(X)
    assert there[:, :2].all()
    for columns, start, stop in (([2, 3, 4], 0, 300), ([5, 6, 7, 8], 280, 600), ([9, 10, 11, 12], 580, 900)):
        expected = np.zeros(900, bool)
        expected[start:stop] = True
        assert (there[:, columns] == expected[:, None]).all()
    assert np.array_equal(X[:300, :5], base[:300])
    assert np.allclose(X[280:600, 5:9], base[280:600] @ stream.maps[0])
    assert np.allclose(X[580:, 9:], base[580:] @ stream.maps[1])


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_chunks_of_any_size_are_the_same(size):
    stream = EvolvingFeatures(SEA(n_rows=400), overlap=30, map="uniform", early_deaths=0.7, seed=5)
    X, y = stream.take(400)
    parts = list(stream.chunks(size, 11))
    assert np.array_equal(np.concatenate([p for p, _ in parts]), X[11:], equal_nan=True)
    assert np.array_equal(np.concatenate([p for _, p in parts]), y[11:])
    assert (stream.maps[0] >= 0).all()


def test_early_deaths_fall_into_the_overlap():
    stream = EvolvingFeatures(Hyperplane(n_features=40, seed=1), overlap=50, positions=[500], early_deaths=0.5)
    X, _ = stream.take(1000)
    last = np.array([np.flatnonzero(~np.isnan(X[:, j])).max() for j in range(40)])
    assert ((last >= 449) & (last <= 499)).all()
    assert 8 < (last < 499).sum() < 32


def test_learners_meet_it():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 6))
    y = (X @ [1.0, -2.0, 1.0, 0.5, -1.0, 1.0] > 0).astype(int)
    source = ArrayStream(X, y)
    stream = EvolvingFeatures(source, overlap=20, positions=[2500], n_new=6)
    accuracies = {}
    for learner in (FESLClassifier(), NOGDClassifier(), HoeffdingTreeClassifier()):
        X_, y_ = stream.take(3000)
        proba = learner.test_then_train(X_, y_)
        accuracies[type(learner).__name__] = (learner.classes_[proba.argmax(axis=1)] == y_)[2500:2600].mean()
    assert accuracies["FESLClassifier"] > max(accuracies["NOGDClassifier"], accuracies["HoeffdingTreeClassifier"])
    assert prequential(FESLClassifier(), stream).metrics["accuracy"] > 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"positions": [5]}, "no room"),
        ({"positions": [100, 50], "cycles": 2}, "ascend"),
        ({"positions": [100]} | {"cycles": 2}, "each of 2"),
        ({"map": "normal"}, "map must be"),
        ({"survivors": 3}, "fewer than"),
        ({"early_deaths": 2}, "early_deaths"),
        ({"overlap": -1}, "overlap"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(ValueError, match=message):
        EvolvingFeatures(SEA(n_rows=1000), **arguments)


def test_streams_that_cannot_be_mapped():
    with pytest.raises(ValueError, match="numeric"):
        EvolvingFeatures(LED(n_rows=100))
    with pytest.raises(ValueError, match="positions="):
        EvolvingFeatures(SEA())
    with pytest.raises(ValueError, match="wrap arrays"):
        EvolvingFeatures(np.ones((3, 2)))


def test_repr_says_what_it_is():
    stream = EvolvingFeatures(SEA(n_rows=100), overlap=5)
    assert repr(eval(repr(stream))) == repr(stream)
