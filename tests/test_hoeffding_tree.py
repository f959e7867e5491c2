"""The Hoeffding tree against the reference, and what is its own beside the laws."""

from __future__ import annotations

import copy
import threading

import numpy as np
import pytest
from reference_hoeffding import ReferenceTree

from anabranch.checkpoint import CheckpointError
from anabranch.kernels import hoeffding as kernels
from anabranch.stream import RandomRBF
from anabranch.tree import HoeffdingTreeClassifier


def outline(learner, node=0):
    """A tree as nested tuples, as ReferenceTree.outline gives it."""
    t = learner._tree
    ints, floats = t.node_ints[node], t.node_floats[node]
    feature = int(ints[kernels.FEATURE])
    if feature < 0:
        return {c: n for c, n in enumerate(floats[kernels.COUNTS :].tolist()) if n > 0}
    branches = int(ints[kernels.BRANCHES])
    first = int(ints[kernels.CHILD])
    cut = float(floats[kernels.THRESHOLD])
    if branches == kernels.NUMERIC:
        kind, children = "<=", {0: first, 1: first + 1}
    elif branches == kernels.EQUALS:
        kind, children = "=", {0: first, 1: first + 1}
    else:
        kind, children = "each", {b: first + b for b in range(branches)}
        link = int(cut)
        while link >= 0:
            value, child, link = t.extra[link].tolist()
            children[value] = child
        cut = -1
    return (feature, kind, cut, {b: outline(learner, c) for b, c in children.items()})


def assert_same(got, expected):
    assert type(got) is type(expected), (got, expected)
    if isinstance(got, dict):
        assert got.keys() == expected.keys()
        assert got == pytest.approx(expected, rel=1e-9, abs=1e-9)
        return
    assert got[:2] == expected[:2]
    assert got[2] == pytest.approx(expected[2], rel=1e-9, abs=1e-9)
    assert got[3].keys() == expected[3].keys()
    for branch in got[3]:
        assert_same(got[3][branch], expected[3][branch])


def mixed_stream(n, seed, gaps, classes=3):
    """Two numeric and three nominal columns; the class depends on both kinds; values turn up late."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, 5))
    X[:, :2] = rng.standard_normal((n, 2))
    late = np.arange(n) > n // 2
    X[:, 2] = rng.integers(0, 2 + 3 * late)
    X[:, 3] = rng.integers(0, 6, n)
    X[:, 4] = rng.integers(0, 2, n)
    y = ((X[:, 0] > 0).astype(int) + (X[:, 3] % 3 == 1) + (X[:, 2] == 1)) % classes
    y = np.where(rng.random(n) < 0.1, rng.integers(0, classes, n), y)
    if gaps:
        X[rng.random(X.shape) < 0.08] = np.nan
    return X, y


def with_codes(X, nominal):
    """Nominal values as the schema codes them: by their first row."""
    X = X.copy()
    for j in nominal:
        codes = {}
        for i, value in enumerate(X[:, j]):
            if not np.isnan(value):
                X[i, j] = codes.setdefault(value, len(codes))
    return X


SETTINGS = [
    {},
    {"leaf_prediction": "nb"},
    {"leaf_prediction": "mc", "criterion": "gini"},
    {"binary_split": True, "min_branch_fraction": 0.05},
    {"pre_prune": True, "n_split_points": 3},
]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
@pytest.mark.parametrize("kind", ["numbers", "mixed"])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_equals_the_reference(settings, kind, gaps, weighted):
    n = 2500
    if kind == "mixed":
        X, y = mixed_stream(n, 1, gaps)
        nominal = [2, 3, 4]
    else:
        X, y = RandomRBF(n_centroids=12, n_features=5, n_classes=3, seed=5).take(n)
        X, y, nominal = X.copy(), np.asarray(y), []
        if gaps:
            X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    w = np.random.default_rng(2).exponential(1.0, n) if weighted else np.ones(n)
    options = {"grace_period": 50, "tie_threshold": 0.2, "delta": 1e-3}
    learner = HoeffdingTreeClassifier(nominal_features=nominal, **options, **settings)
    learner.announce([0, 1, 2])
    reference = ReferenceTree(
        5, nominal, grace=50, tau=0.2, delta=1e-3, gini=settings.get("criterion") == "gini",
        leaf=settings.get("leaf_prediction", "nba"), points=settings.get("n_split_points", 10),
        min_share=settings.get("min_branch_fraction", 0.01), binary=settings.get("binary_split", False),
        pre_prune=settings.get("pre_prune", False),
    )  # fmt: skip
    reference.classes = 3
    proba = learner.test_then_train(X, y, w)
    expected = np.empty_like(proba)
    rows = [[None if np.isnan(v) else v for v in row] for row in with_codes(X, nominal).tolist()]
    for i, row in enumerate(rows):
        votes = reference.votes(row, 3)
        expected[i] = votes if votes.sum() else np.full(3, 1 / 3)
        reference.learn(row, int(y[i]), float(w[i]))
    np.testing.assert_allclose(proba, expected, rtol=1e-7, atol=1e-9)
    assert_same(outline(learner), reference.outline())
    assert learner.n_leaves_ > 5


def grown(**settings):
    X, y = mixed_stream(3000, 4, gaps=True)
    return HoeffdingTreeClassifier(
        grace_period=50, tie_threshold=0.5, nominal_features=[2, 3, 4], **settings
    ).partial_fit(X, y)


@pytest.mark.parametrize(
    ("array", "place", "value"),
    [
        ("node_ints", (0, kernels.CHILD), 10_000),
        ("node_ints", (0, kernels.CHILD), 0),
        ("node_ints", (0, kernels.FEATURE), 77),
        ("node_ints", (-1, kernels.ROWS), 1 << 30),
        ("numeric", (0,), 99),
        ("slots", (0,), -50),
        ("cells", (0, kernels.CAPACITY), 1 << 20),
        ("meta", (kernels.N_NODES,), 1 << 40),
        ("meta", (kernels.FREE_ROW,), 1 << 40),
        ("meta", (kernels.DEPTH,), -7),
    ],
)
def test_a_forged_tree_is_refused(array, place, value):
    tree = grown()
    forged = getattr(tree._tree, array)
    if place[0] == -1:
        place = (tree.n_nodes_ - 1, *place[1:])
    forged[place] = value
    with pytest.raises(CheckpointError, match="does not fit together"):
        HoeffdingTreeClassifier.from_bytes(tree.to_bytes())


def test_a_limit_costs_accuracy_only_and_gives_up_the_least_promising_leaves():
    X, y = RandomRBF(seed=3, n_centroids=30).take(20_000)
    free = HoeffdingTreeClassifier(grace_period=50, tie_threshold=0.2).partial_fit(X, y)
    tight = HoeffdingTreeClassifier(grace_period=50, tie_threshold=0.2, max_bytes=30_000, memory_period=1)
    tight.partial_fit(X, y)
    assert free.nbytes > 60_000
    assert tight.nbytes <= 30_000
    assert tight.n_inactive_leaves_ > 0
    t = tight._tree
    nodes = np.arange(tight.n_nodes_)
    counts = t.node_floats[nodes, kernels.COUNTS :]
    promise = counts.sum(axis=1) - counts.max(axis=1)
    feature = t.node_ints[nodes, kernels.FEATURE]
    active, inactive = feature == kernels.ACTIVE, feature == kernels.INACTIVE
    # With a look at every row, every leaf that learns promises at least as much as any that does not.
    assert promise[active].min() >= promise[inactive].max()
    proba = tight.predict_proba(X)
    assert (tight.classes_[proba.argmax(axis=1)] == y).mean() > 0.6


def test_arrays_that_may_only_be_read_are_copied_before_they_are_written():
    """As joblib leaves them, which maps them from a file."""
    X, y = RandomRBF(seed=3).take(3000)
    tree = HoeffdingTreeClassifier(grace_period=50).fit(X[:2000], y[:2000])
    frozen = copy.deepcopy(tree)
    for array in frozen._tree:
        array.flags.writeable = False
    before = [array.copy() for array in frozen._tree]
    kept = frozen._tree
    assert np.array_equal(frozen.predict_proba(X), tree.predict_proba(X))
    assert frozen._tree is kept
    frozen.partial_fit(X[2000:], y[2000:])
    tree.partial_fit(X[2000:], y[2000:])
    assert all(map(np.array_equal, kept, before))
    assert frozen.to_bytes() == tree.to_bytes()


def test_importances():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 4))
    tree = HoeffdingTreeClassifier().partial_fit(X, X[:, 2] > 0)
    assert tree.feature_importances_.argmax() == 2
    assert tree.feature_importances_.sum() == pytest.approx(1.0)
    assert not HoeffdingTreeClassifier().partial_fit(X[:5], [0, 1, 0, 1, 0]).feature_importances_.any()


def test_columns_beyond_the_limit_are_passed_over_with_a_warning():
    X = np.random.default_rng(0).standard_normal((50, 300))
    tree = HoeffdingTreeClassifier(max_bytes=2000)
    with pytest.warns(UserWarning, match="has room for 0 of 300"):
        tree.partial_fit(X, X[:, 0] > 0)
    assert tree.nbytes <= 2000
    assert np.isfinite(tree.predict_proba(X)).all()


def test_apply_names_the_leaf_each_row_ends_in():
    tree = grown()
    X, _ = mixed_stream(200, 5, gaps=False)
    nodes = tree.apply(X)
    assert nodes.shape == (200,)
    assert (nodes >= 0).all()
    assert (nodes < tree.n_nodes_).all()
    assert len(set(nodes.tolist())) > 3


def test_parameters_may_change_on_the_way():
    X, y = RandomRBF(seed=3, n_centroids=30).take(20_000)
    tree = HoeffdingTreeClassifier(grace_period=50, tie_threshold=0.2).partial_fit(X, y)
    free = tree.nbytes
    tree.set_params(max_bytes=40_000)
    assert tree.nbytes <= 40_000 < free
    assert tree.n_inactive_leaves_ > 0
    for i in range(0, 2000, 10):
        tree.partial_fit(X[i : i + 10], y[i : i + 10])
        assert tree.nbytes <= 40_000
    tree.set_params(max_bytes=None)
    assert tree.n_inactive_leaves_ == 0
    state = tree.to_bytes()
    for wrong in ({"max_bytes": 1024}, {"leaf_prediction": "mc"}, {"grace_period": -1}, {"unknown": 1}):
        with pytest.raises((ValueError, TypeError)):
            tree.set_params(**wrong)
        assert tree.to_bytes() == state
    assert (
        tree.set_params(grace_period=1e9).partial_fit(X, y).n_nodes_
        == HoeffdingTreeClassifier.from_bytes(state).n_nodes_
    )


def test_late_nominal_columns_keep_the_limit_to_the_byte():
    for limit in range(3700, 4300, 4):
        tree = HoeffdingTreeClassifier(grace_period=20, tie_threshold=0.5, max_bytes=limit)
        for i in range(120):
            row = {"size": float(i % 7), "colour": "red" if i % 2 else "blue"}
            if i > 100:
                row |= {"kind": "even" if i % 3 else "odd", "shape": "round" if i % 5 else "flat"}
            tree.learn_one(row, i % 3)
            assert tree.nbytes <= limit


def test_a_column_of_identifiers_cannot_fill_the_memory():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 6000)
    rows = [{"id": f"customer {i}", "load": float(y[i] + rng.standard_normal())} for i in range(6000)]
    tree = HoeffdingTreeClassifier(grace_period=200)
    for i in range(0, 6000, 500):
        tree.partial_fit(rows[i : i + 500], y[i : i + 500])
    assert tree.nbytes < 3_000_000
    assert tree.n_leaves_ < 1000
    assert tree.feature_names_in_.tolist() == ["id", "load"]


def test_only_one_thread_learns_at_a_time():
    X, y = RandomRBF(seed=1).take(20_000)
    tree = HoeffdingTreeClassifier(grace_period=20, max_bytes=30_000)
    refused = []

    def learn():
        for i in range(0, len(y), 50):
            try:
                tree.partial_fit(X[i : i + 50], y[i : i + 50])
            except RuntimeError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=learn) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("one thread" in message for message in refused)
    HoeffdingTreeClassifier.from_bytes(tree.to_bytes()).predict(X)


def test_a_copy_learns_on_its_own():
    tree = grown()
    state = tree.to_bytes()
    other = copy.copy(tree)
    other.partial_fit(*mixed_stream(500, 9, gaps=False))
    assert tree.to_bytes() == state != other.to_bytes()


def test_a_subclass_may_have_other_parameters():
    class Quick(HoeffdingTreeClassifier):
        def __init__(self, grace_period=50, extra=1):
            super().__init__(grace_period=grace_period)
            self.extra = extra

    X, y = RandomRBF(seed=1).take(500)
    assert Quick().partial_fit(X, y).predict(X).shape == (500,)


def test_single_rows_keep_to_the_way_of_a_subclass():
    class Counting(HoeffdingTreeClassifier):
        rows = 0

        def _learn(self, X, y, w):
            self.rows += len(X)
            super()._learn(X, y, w)

    tree = Counting()
    for i in range(20):
        tree.learn_one({"a": i % 3, "b": 1.5}, i % 2)
    assert tree.rows == 20


@pytest.mark.parametrize("scale", [1e-60, 1e-9, 1.0, 1e9, 1e60])
@pytest.mark.parametrize("columns", [1, 7, 40])
def test_naive_bayes_of_extreme_scales(scale, columns):
    """Precisions multiply to what no float can hold; the prediction is that of the same rows at scale 1."""
    rng = np.random.default_rng(columns)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, columns)) + 0.5 * y[:, None]
    plain, scaled = (HoeffdingTreeClassifier(leaf_prediction="nb", grace_period=1000) for _ in range(2))
    plain.partial_fit(X, y)
    scaled.partial_fit(X * scale, y)
    np.testing.assert_allclose(scaled.predict_proba(X * scale), plain.predict_proba(X), rtol=1e-9, atol=1e-12)
