"""Trees of the batch setting: held to slow references, and to what scikit-learn expects of an estimator."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from reference_batch_trees import ADTree, OptionTree
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from anabranch import checkpoint
from anabranch.base import BatchClassifier, StreamLearner
from anabranch.kernels import ad_tree, batch_tree
from anabranch.testing import all_learners
from anabranch.tree import ADTreeClassifier, OptionTreeClassifier

BATCH = [ADTreeClassifier, OptionTreeClassifier]

# What a batch tree means to do otherwise than scikit-learn's checks expect, and why.
NOT_MEANT: dict[str, str] = {}


@parametrize_with_checks(
    [
        OptionTreeClassifier(),
        OptionTreeClassifier(option_place="lowest", voting="soft", criterion="gain_ratio", pruning_confidence=None),
        OptionTreeClassifier(max_options=1),
        ADTreeClassifier(),
        ADTreeClassifier(n_rounds=30, smoothing=0.5),
    ],
    expected_failed_checks=lambda estimator: NOT_MEANT,
)
def test_scikit_learn(estimator, check):
    check(estimator)


# ---------------------------------------------------------------------------------------------- rows


def mixed(n, seed, *, gaps=0.0, weights="ones", classes=3):
    """Rows with numeric columns of several kinds and nominal ones, whose class can be learned."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = np.column_stack(
        [
            rng.standard_normal(n) * 1.5 + y,
            (rng.standard_normal(n) * 2 + y).round(),
            rng.integers(0, 4, n) * (rng.random(n) < 0.5) + y % 4 * 1.0,
            rng.integers(0, 2, n),
            np.full(n, 7.0),
            rng.random(n) + (y == 1) * rng.random(n),
        ]
    )
    X[:, 2] = X[:, 2] % 5
    X[rng.random(X.shape) < gaps] = np.nan
    w = {"ones": np.ones(n), "whole": rng.integers(1, 4, n) * 1.0, "any": rng.exponential(1.0, n) + 0.01}[weights]
    return X, y, w


NOMINAL = [2, 3]


def described(tree, node=0):
    """Structure of a fitted option tree, as the reference describes its own."""
    ints, floats = tree._ints, tree._floats
    if ints[node, batch_tree.FEATURE] == batch_tree.LEAF:
        return tuple(floats[node, batch_tree.COUNTS :].tolist())
    splits = []
    while node >= 0:
        feature, branches, first, following = ints[node, :4].tolist()
        children = tuple(described(tree, first + b) for b in range(branches or 2))
        splits.append((feature, None if branches else float(floats[node, batch_tree.THRESHOLD]), children))
        node = following
    return tuple(splits)


def close(a, b):
    """Whether two nested tuples are the same but for rounding of class weights."""
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(close, a, b))
    return a == b if a is None or b is None or isinstance(a, int) else abs(a - b) <= 1e-9 * (1 + abs(a))


# ---------------------------------------------------------------------------------------------- references

OPTION_TREES = [
    {},
    {"max_options": 1},
    {"option_factor": 0.4, "option_levels": 3, "pruning_confidence": None, "max_options": 3},
    {"option_factor": 0.2, "criterion": "gain_ratio"},
    {"option_factor": 0.8, "option_place": "lowest", "option_levels": 1, "pruning_confidence": None},
    {"option_factor": 0.5, "option_place": "lowest", "option_levels": 2, "min_leaf_weight": 5},
    {"option_factor": 0.5, "option_place": "anywhere", "depth_decay": 0.5, "max_options": 2, "criterion": "gain_ratio"},
    {"option_factor": 0.7, "option_levels": 4, "support_power": 0.7, "voting": "soft", "max_options": 3},
    {"option_factor": 0.1, "option_levels": 4, "depth_decay": 2.0, "support_power": -0.5, "max_depth": 4},
    {"min_leaf_weight": 0, "criterion": "info_gain", "pruning_confidence": 0.1, "voting": "soft"},
]


@pytest.mark.parametrize("parameters", OPTION_TREES, ids=str)
@pytest.mark.parametrize(("gaps", "weights"), [(0.0, "ones"), (0.15, "whole"), (0.1, "any")])
def test_option_tree_is_the_reference(parameters, gaps, weights):
    X, y, w = mixed(90, seed=len(str(parameters)), gaps=gaps, weights=weights)
    tree = OptionTreeClassifier(nominal_features=NOMINAL, **parameters).fit(X, y, w)
    # The reference speaks codes, as the learner does inside.
    rows = tree._columns().encode(X, grow=False)[0]
    n_values = [len(v) if v is not None else 0 for v in tree._columns().vocabularies]
    reference = OptionTree(tree.get_params(), n_values).fit(rows.tolist(), y.tolist(), w.tolist(), 3)
    assert close(described(tree), reference.described())
    fresh = mixed(200, seed=99, gaps=0.1)[0]
    fresh[:5, 2] = 17  # a value that was not there
    told = tree.predict_proba(fresh)
    asked = tree._columns().encode(fresh, grow=False)[0]
    np.testing.assert_allclose(told, reference.predict_proba(asked.tolist()), rtol=0, atol=1e-12)


def test_references_meet_options():
    """The comparison above is about something: there are options, at several levels, and pruning cuts."""
    X, y, w = mixed(90, seed=1)
    trees = [OptionTreeClassifier(nominal_features=NOMINAL, **parameters).fit(X, y, w) for parameters in OPTION_TREES]
    assert sum(tree.n_option_nodes_ > 1 for tree in trees) >= 4
    whole = OptionTreeClassifier(pruning_confidence=None).fit(X, y).n_nodes_
    assert OptionTreeClassifier(pruning_confidence=0.1).fit(X, y).n_nodes_ < whole


@pytest.mark.parametrize("rounds", [1, 8, 25])
@pytest.mark.parametrize("smoothing", [1.0, 0.1])
@pytest.mark.parametrize(("gaps", "weights"), [(0.0, "ones"), (0.15, "whole"), (0.1, "any")])
def test_alternating_tree_is_the_reference(rounds, smoothing, gaps, weights):
    X, y, w = mixed(60, seed=rounds, gaps=gaps, weights=weights, classes=2)
    tree = ADTreeClassifier(n_rounds=rounds, smoothing=smoothing, nominal_features=NOMINAL).fit(X, y, w)
    rows = tree._columns().encode(X, grow=False)[0]
    nominal = tree._columns().nominal.tolist()
    reference = ADTree(rounds, smoothing, nominal).fit(rows.tolist(), (y == 1).tolist(), w)
    [(ints, thresholds, predictions, counts)] = tree._trees
    assert [
        (parent, (feature, threshold, bool(is_nominal)))
        for (parent, feature, is_nominal), threshold in zip(ints.tolist(), thresholds.tolist(), strict=True)
    ] == reference.splitters
    np.testing.assert_allclose(predictions, reference.values, atol=1e-9)
    np.testing.assert_allclose(tree.decision_function(X), [reference.score(x) for x in rows.tolist()], atol=1e-9)
    for node in range(len(counts)):
        reaching = [i for i in range(len(X)) if reference.reaches(node, rows[i].tolist())]
        np.testing.assert_allclose(counts[node], np.bincount(y[reaching], w[reaching], minlength=2), atol=1e-9)


def test_equal_splitters_are_merged():
    """Two values of one column, nothing else to ask: every round finds the same splitter."""
    X = np.array([[0.0]] * 30 + [[1.0]] * 30)
    y = np.array([0] * 25 + [1] * 10 + [1] * 25)
    one, many = ADTreeClassifier(n_rounds=1).fit(X, y), ADTreeClassifier(n_rounds=20).fit(X, y)
    assert many.n_splitters_ < 20
    assert np.abs(many.decision_function(X)).max() > np.abs(one.decision_function(X)).max()


# ---------------------------------------------------------------------------------------------- what it is told


@pytest.mark.parametrize("cls", BATCH)
@pytest.mark.parametrize("weights", ["whole", "any"])
def test_weights_count_rows(cls, weights):
    X, y, w = mixed(150, seed=4, gaps=0.05, weights="whole")
    w[::7] = 0.0
    keep = np.repeat(np.arange(len(y)), w.astype(int))
    weighted, repeated = cls().fit(X, y, w), cls().fit(X[keep], y[keep])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)
    if cls is OptionTreeClassifier and weights == "any":  # only ratios matter, where no number of rows is asked for
        settings = {"min_leaf_weight": 0, "pruning_confidence": None}
        np.testing.assert_array_equal(
            cls(**settings).fit(X, y, w).predict_proba(X), cls(**settings).fit(X, y, w * 0.3).predict_proba(X)
        )


@pytest.mark.parametrize("cls", BATCH)
def test_frames_arrays_and_checkpoints_agree(cls, tmp_path):
    X, y, w = mixed(200, seed=5, gaps=0.1)
    colours = np.array(["red", "green", "blue", "black", "white"], object)
    columns = {f"c{j}": X[:, j] for j in range(6)}
    columns["c2"] = [None if v != v else colours[int(v)] for v in X[:, 2]]
    columns["c3"] = [None if v != v else "yes" if v else "no" for v in X[:, 3]]
    labels = np.array(["low", "mid", "high"], object)[y]
    frame = pd.DataFrame(columns)
    frame["c2"] = frame["c2"].astype("category")
    told = cls().fit(frame, labels, w)
    assert told.classes_.tolist() == ["high", "low", "mid"]
    by_hand = cls(nominal_features=NOMINAL).fit(X, labels, w)
    np.testing.assert_array_equal(told.predict(frame), by_hand.predict(X))
    for other in (pl.DataFrame(columns, strict=False), pa.table(columns)):
        np.testing.assert_array_equal(cls().fit(other, labels, w).predict_proba(frame), told.predict_proba(frame))
    turned = frame[frame.columns[::-1]]
    np.testing.assert_array_equal(told.predict_proba(turned), told.predict_proba(frame))
    assert told.feature_names_in_.tolist() == list(frame.columns)
    path = tmp_path / "tree.safetensors"
    told.save(path)
    for again in (
        cls.load(path),
        pickle.loads(pickle.dumps(told)),
        copy.deepcopy(told),
        cls.from_bytes(told.to_bytes()),
    ):
        np.testing.assert_array_equal(again.predict_proba(frame), told.predict_proba(frame))
        assert again.export_text() == told.export_text()
        assert again.nbytes == told.nbytes > 0


@pytest.mark.parametrize("cls", BATCH)
def test_odd_rows_have_answers(cls):
    X, y, _ = mixed(200, seed=6)
    tree = cls(nominal_features=NOMINAL).fit(X, y)
    odd = np.array([[np.nan] * 6, [1e99, -1e99, 40, -3, 0, 0], [0, 0, 0, 0, np.nan, 0]])
    proba = tree.predict_proba(odd)
    assert np.isfinite(proba).all()
    assert np.allclose(proba.sum(axis=1), 1)
    blank = np.full((20, 2), np.nan)
    alone = cls().fit(blank, [0, 1] * 10)
    assert alone.predict(blank[:1]).tolist() == [0]  # nothing to go by
    single = cls().fit(X, ["only"] * len(X))
    assert single.predict(X[:3]).tolist() == ["only"] * 3
    assert single.predict_proba(X[:3]).tolist() == [[1.0]] * 3
    assert cls().fit(X[:1], [5]).predict(X[:2]).tolist() == [5, 5]
    assert single.export_text() == "" or "only" in single.export_text()


@pytest.mark.parametrize("cls", BATCH)
def test_what_is_refused_changes_nothing(cls):
    X, y, _ = mixed(80, seed=7)
    tree = cls().fit(X, y)
    state = tree.to_bytes()
    infinite = X.copy()
    infinite[3, 1] = np.inf
    for what, (bad_X, bad_y, w) in {
        "infinity": (infinite, y, None),
        "inconsistent": (X, y[:-1], None),
        "not negative": (X, y, -np.ones(80)),
        "weights are zero": (X, y, np.zeros(80)),
        "NaN or infinity": (X, np.where(y == 1, np.nan, y), None),
        "dates or times": (pd.DataFrame({"a": pd.date_range("2020", periods=80)}), y, None),
        "continuous": (X, y + 0.5, None),
    }.items():
        with pytest.raises((ValueError, TypeError), match=what):
            tree.fit(bad_X, bad_y, w)
        assert tree.to_bytes() == state
    with pytest.raises(ValueError, match="features"):
        tree.predict(X[:, :3])
    for call in (cls().predict, cls().predict_proba):
        with pytest.raises(NotFittedError):
            call(X)
    with pytest.raises(NotFittedError):
        cls().export_text()


@pytest.mark.parametrize(
    ("cls", "parameters", "named"),
    [
        (OptionTreeClassifier, {"max_options": 0}, "max_options"),
        (OptionTreeClassifier, {"option_factor": -0.1}, "option_factor"),
        (OptionTreeClassifier, {"option_place": "bottom"}, "lowest"),
        (OptionTreeClassifier, {"voting": "loud"}, "voting"),
        (OptionTreeClassifier, {"pruning_confidence": 0.9}, "pruning_confidence"),
        (OptionTreeClassifier, {"nominal_features": [9]}, "nominal_features"),
        (ADTreeClassifier, {"n_rounds": 0}, "n_rounds"),
        (ADTreeClassifier, {"smoothing": 0.0}, "smoothing"),
        (ADTreeClassifier, {"nominal_features": "a"}, "nominal_features"),
    ],
)
def test_parameters_are_checked(cls, parameters, named):
    X, y, _ = mixed(30, seed=8)
    with pytest.raises((ValueError, TypeError), match=named):
        cls(**parameters).fit(X, y)


@pytest.mark.parametrize("cls", BATCH)
def test_checkpoints_that_do_not_fit_are_refused(cls):
    X, y, _ = mixed(100, seed=9)
    tree = cls().fit(X, y)
    for column in range(3):
        broken = copy.deepcopy(tree)
        ints = broken._ints if cls is OptionTreeClassifier else broken._trees[0][0]
        ints[0, column] = 10_000
        if cls is ADTreeClassifier and column == ad_tree.NOMINAL:
            continue  # any number but 0 is true
        with pytest.raises(checkpoint.CheckpointError, match="fit together"):
            cls.from_bytes(broken.to_bytes())


# ---------------------------------------------------------------------------------------------- the batch setting


def test_batch_trees_are_no_stream_learners():
    """The walk for stream learners, which the laws and the command go by, passes them over."""
    found = set(all_learners())
    for cls in BATCH:
        assert issubclass(cls, BatchClassifier)
        assert not issubclass(cls, StreamLearner)
        assert cls not in found
        for verb in ("partial_fit", "learn_one", "test_then_train", "announce"):
            assert not hasattr(cls, verb)
    # And nobody adds one that this file does not know.
    assert {cls for cls in BatchClassifier.__subclasses__() if cls.__module__.startswith("anabranch.")} == set(BATCH)


@pytest.mark.parametrize("cls", BATCH)
def test_they_work_in_scikit_learn(cls):
    X, y = load_wine(return_X_y=True)
    assert cross_val_score(make_pipeline(StandardScaler(), cls()), X, y, cv=5).mean() > 0.85
    name, values = ("n_rounds", [2, 20]) if cls is ADTreeClassifier else ("option_factor", [0.0, 0.5])
    search = GridSearchCV(cls(), {name: values}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    assert clone(search.best_estimator_).get_params()[name] in values


def test_more_rounds_fit_better():
    X, y = load_breast_cancer(return_X_y=True)
    scores = [ADTreeClassifier(n_rounds=rounds).fit(X, y).score(X, y) for rounds in (1, 5, 40)]
    assert scores[0] < scores[1] < scores[2] == 1.0


def test_option_limits():
    X, y = load_breast_cancer(return_X_y=True)
    trees = {levels: OptionTreeClassifier(option_levels=levels, option_factor=0.5).fit(X, y) for levels in range(4)}
    assert trees[0].n_option_nodes_ == 0
    assert trees[1].n_option_nodes_ == 1
    assert trees[1].n_nodes_ < trees[2].n_nodes_ < trees[3].n_nodes_
    for tree in trees.values():
        for node, others in tree._options_side_by_side().items():
            assert len(others) < 5
            features = tree._ints[[node, *others], batch_tree.FEATURE].tolist()
            assert len(set(features)) == len(features)
    small = OptionTreeClassifier(option_place="anywhere", option_factor=5, max_nodes=300).fit(X, y)
    assert small.n_option_nodes_ > 0
    assert small.n_nodes_ < 10_000
    importances = trees[2].feature_importances_
    assert importances.shape == (30,)
    assert abs(importances.sum() - 1) < 1e-12
    assert (importances >= 0).all()


# ---------------------------------------------------------------------------------------------- drawing


def test_options_are_drawn():
    X, y = load_iris(return_X_y=True)
    tree = OptionTreeClassifier().fit(X, y)
    text = tree.export_text()
    assert text.count(", by majority class") == tree.n_leaves_
    assert len(re.findall(r"--- option 1$", text, re.MULTILINE)) == tree.n_option_nodes_ > 0
    source = tree.to_graphviz()
    assert source.count(" -> ") == tree.n_nodes_ + tree.n_option_nodes_ - 1
    figure = tree.plot_tree(max_depth=tree.depth_)
    boxes = [patch for patch in figure.axes[0].patches if (patch.get_gid() or "").startswith("node")]
    assert len(boxes) == tree.n_nodes_ + tree.n_option_nodes_


@pytest.mark.parametrize("classes", [2, 3])
def test_alternating_trees_are_drawn(classes, tmp_path):
    X, y, _ = mixed(200, seed=3, classes=classes)
    tree = ADTreeClassifier(n_rounds=6, nominal_features=NOMINAL).fit(X, y)
    n_drawn = tree.n_nodes_ + (classes > 2)
    text = tree.export_text(feature_names=list("abcdef"))
    assert text.count("score ") == sum(len(predictions) for _, _, predictions, _ in tree._trees)
    assert text.count("splitter ") == tree.n_splitters_
    total = sum(float(found) for found in re.findall(r"score ([+-]\d[\d.e-]*)", text))
    assert abs(total - sum(predictions.sum() for _, _, predictions, _ in tree._trees)) < 0.1
    source = tree.to_graphviz()
    assert source.count(" -> ") == n_drawn - 1
    assert len(set(re.findall(r"^  (n\d+) \[", source, re.MULTILINE))) == n_drawn
    assert source.count("shape=ellipse") == n_drawn - tree.n_splitters_
    path = tmp_path / "tree.png"
    figure = tree.plot_tree(max_depth=tree.depth_, path=path)
    boxes = [patch for patch in figure.axes[0].patches if (patch.get_gid() or "").startswith("node")]
    assert len(boxes) == n_drawn
    assert path.stat().st_size > 1000
    cut = tree.export_text(max_depth=0)
    assert cut.count("more node") == 1
    assert "splitter" not in cut


# ---------------------------------------------------------------------------------------------- the comparison


def test_comparison_gives_rows_of_results(tmp_path):
    from anabranch.papers._reproduction import reproduce
    from anabranch.papers.kirkby_batch import DATASETS, METHODS, evaluate, reproduction

    assert len(DATASETS) == 10
    choice = reproduction.choose(["iris", "wine"], ["option_tree", "ad_tree", "cart"], runs=2)
    rows = reproduction.results(choice, reproduce(reproduction, choice, tmp_path))
    assert [(row["dataset"], row["method"], row["metric"]) for row in rows] == [
        (dataset, method, metric)
        for dataset in ("iris", "wine")
        for method in ("option_tree", "ad_tree", "cart")
        for metric in ("accuracy", "nodes", "seconds")
    ]
    for row in rows:
        assert row["runs"] == 2
        assert row["published"] is None
        assert row["metric"] != "accuracy" or 80 < row["ours_mean"] <= 100
    assert [len(table.rows) for table in reproduction.tables(rows)] == [3, 3, 3]
    for what, arguments in {"data set": ("irises", "cart"), "method": ("iris", "oak")}.items():
        with pytest.raises(ValueError, match=what):
            evaluate(*arguments)
    assert {"bagging", "adaboost_full", "adaboost_depth3", "cart"} < set(METHODS)


def test_the_command_predicts_with_saved_trees(tmp_path):
    from anabranch._predict import predict

    X, y = load_iris(return_X_y=True, as_frame=True)
    tree = OptionTreeClassifier().fit(X, y)
    tree.save(tmp_path / "tree.safetensors")
    X.assign(target=y).to_csv(tmp_path / "rows.csv", index=False)
    assert predict(tmp_path / "tree.safetensors", tmp_path / "rows.csv", tmp_path / "out.csv") == 150
    said = pd.read_csv(tmp_path / "out.csv")
    np.testing.assert_array_equal(said["prediction"], tree.predict(X))
