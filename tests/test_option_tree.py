"""The option trees against the reference and against the Hoeffding tree, and what is their own beside the laws."""

from __future__ import annotations

import numpy as np
import pytest
from reference_option_tree import ReferenceOptionTree
from test_hoeffding_tree import assert_same, mixed_stream, outline, with_codes

from anabranch.checkpoint import CheckpointError
from anabranch.kernels import hoeffding, option_tree
from anabranch.stream import RandomRBF
from anabranch.tree import (
    AdaptiveHoeffdingOptionTreeClassifier,
    HoeffdingOptionTreeClassifier,
    HoeffdingTreeClassifier,
)

QUICK = {"grace_period": 50, "tie_threshold": 0.2, "delta": 1e-3}


def option_outline(learner, node=0):
    """A tree as lists of splits side by side, as ReferenceOptionTree.outline gives it."""
    t = learner._tree
    if t.node_ints[node, hoeffding.FEATURE] < 0:
        return outline(learner, node)
    splits = [node, *learner._options_side_by_side().get(node, [])]
    return [one_split(learner, split) for split in splits]


def one_split(learner, split):
    t = learner._tree
    feature, branches, first = t.node_ints[split, : hoeffding.ROWS].tolist()
    cut = float(t.node_floats[split, hoeffding.THRESHOLD])
    kind = {hoeffding.NUMERIC: "<=", hoeffding.EQUALS: "="}.get(branches, "each")
    children = {b: first + b for b in range(max(branches, 2))}
    if kind == "each":
        link, cut = int(cut), -1
        while link >= 0:
            value, child, link = t.extra[link].tolist()
            children[value] = child
    return (feature, kind, cut, {b: option_outline(learner, c) for b, c in children.items()})


def assert_same_options(got, expected):
    if isinstance(expected, dict):
        assert_same(got, expected)
        return
    assert [split[:2] for split in got] == [split[:2] for split in expected]
    for one, other in zip(got, expected, strict=True):
        assert one[2] == pytest.approx(other[2], rel=1e-9, abs=1e-9)
        assert one[3].keys() == other[3].keys()
        for branch in one[3]:
            assert_same_options(one[3][branch], other[3][branch])


def stream(kind, n, gaps, seed=1):
    if kind == "mixed":
        return *mixed_stream(n, seed, gaps), [2, 3, 4]
    X, y = RandomRBF(n_centroids=12, n_features=5, n_classes=3, seed=5).take(n)
    X = X.copy()
    if gaps:
        X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    return X, np.asarray(y), []


SETTINGS = [
    {},
    {"max_options": 3, "leaf_prediction": "nb", "secondary_delta": 0.9, "adaptive": True},
    {"max_options": 12, "leaf_prediction": "mc", "criterion": "gini", "adaptive": True},
    {"max_options": 30, "binary_split": True, "min_branch_fraction": 0.05},
    {"max_options": 1, "pre_prune": True, "n_split_points": 3},
    {"adaptive": True},
]


@pytest.mark.parametrize(("gaps", "weighted"), [(False, False), (True, True)], ids=["plain", "gaps, weighted"])
@pytest.mark.parametrize("kind", ["numbers", "mixed"])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_equals_the_reference(settings, kind, gaps, weighted):
    n = 2000
    X, y, nominal = stream(kind, n, gaps)
    w = np.random.default_rng(2).exponential(1.0, n) if weighted else np.ones(n)
    settings = dict(settings)
    adaptive = settings.pop("adaptive", False)
    cls = AdaptiveHoeffdingOptionTreeClassifier if adaptive else HoeffdingOptionTreeClassifier
    learner = cls(nominal_features=nominal, **QUICK, **settings).announce([0, 1, 2])
    reference = ReferenceOptionTree(
        5, nominal, grace=50, tau=0.2, delta=1e-3, gini=settings.get("criterion") == "gini",
        leaf=settings.get("leaf_prediction", "nba"), points=settings.get("n_split_points", 10),
        min_share=settings.get("min_branch_fraction", 0.01), binary=settings.get("binary_split", False),
        pre_prune=settings.get("pre_prune", False), max_options=settings.get("max_options", 5),
        secondary_delta=settings.get("secondary_delta", 0.999), adaptive=adaptive,
    )  # fmt: skip
    reference.classes = 3
    proba = learner.test_then_train(X, y, w)
    expected = np.empty_like(proba)
    rows = [[None if np.isnan(v) else v for v in row] for row in with_codes(X, nominal).tolist()]
    reached = 0
    for i, row in enumerate(rows):
        votes = reference.votes(row, 3)
        expected[i] = votes if votes.sum() else np.full(3, 1 / 3)
        reached = max(reached, reference.reachable(row))
        reference.learn(row, int(y[i]), float(w[i]))
    assert_same_options(option_outline(learner), reference.outline())
    np.testing.assert_allclose(proba, expected, rtol=1e-7, atol=1e-9)
    # Algorithm 12 keeps a count per node, and it is the same in all of them: the kernel keeps one.
    assert {node.option_count for node in reference.nodes()} == {learner.n_options_}
    assert reached <= learner.n_options_ <= learner.max_options
    assert learner.n_option_nodes_ == sum(len(node.splits) > 1 for node in reference.nodes())
    assert learner.n_leaves_ > 5
    if settings.get("max_options", 5) > 1 and kind == "numbers":
        assert learner.n_options_ > 1
    ends = learner.apply(X)
    assert ((ends >= 0).sum(axis=1) == [reference.reachable(row) for row in rows]).all()


@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
@pytest.mark.parametrize("kind", ["numbers", "mixed"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"leaf_prediction": "nb", "criterion": "gini"},
        {"leaf_prediction": "mc", "remove_poor_attributes": True},
        {"max_bytes": 9000, "memory_period": 100},
        {"max_bytes": 30_000},
    ],
    ids=str,
)
def test_with_one_option_it_is_a_hoeffding_tree_to_the_last_bit(settings, kind, gaps):
    X, y, nominal = stream(kind, 8000, gaps)
    w = np.random.default_rng(3).exponential(1.0, len(y))
    one = HoeffdingOptionTreeClassifier(max_options=1, nominal_features=nominal, **QUICK, **settings)
    tree = HoeffdingTreeClassifier(nominal_features=nominal, **QUICK, **settings)
    for i in range(0, len(y), 1000):
        part = slice(i, i + 1000)
        proba = one.test_then_train(X[part], y[part], w[part])
        assert np.array_equal(proba, tree.test_then_train(X[part], y[part], w[part]))
    assert np.array_equal(one.predict_proba(X), tree.predict_proba(X))
    options = hoeffding.Tree._fields.index("options")
    for place, (a, b) in enumerate(zip(one._tree, tree._tree, strict=True)):
        assert place == options or np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    assert one.nbytes == tree.nbytes
    assert tree.n_leaves_ > 5


@pytest.mark.parametrize("cls", [HoeffdingOptionTreeClassifier, AdaptiveHoeffdingOptionTreeClassifier])
@pytest.mark.parametrize("order", ["leaves_first", "equal", "divided"])
def test_a_limit_gives_up_the_least_promising_in_the_order_asked_for(order, cls):
    X, y = RandomRBF(seed=3, n_centroids=30).take(12_000)
    settings = {"grace_period": 50, "tie_threshold": 0.2, "max_options": 1000, "memory_order": order}
    free = cls(**settings).partial_fit(X[:4000], y[:4000])
    assert free.nbytes > 45_000
    tight = cls(**settings, max_bytes=24_000, memory_period=1)
    for i in range(0, len(y), 500):
        tight.partial_fit(X[i : i + 500], y[i : i + 500])
        assert tight.nbytes <= 24_000
    assert tight.n_option_nodes_ > 0
    t = tight._tree
    n = tight.n_nodes_
    counts = t.node_floats[:n, hoeffding.COUNTS :]
    feature, state = t.node_ints[:n, hoeffding.FEATURE], t.links[:n, option_tree.STATE]
    inner = feature >= 0
    learns = ~inner | (state < 0)
    active = np.where(inner, state, feature) == hoeffding.ACTIVE
    promise = counts.sum(axis=1) - counts.max(axis=1)
    if order == "divided":
        for node, others in tight._options_side_by_side().items():
            promise[node] /= 1 + len(others)
    if order == "leaves_first":
        promise[inner] -= 1e9
    assert promise[learns & active].min() >= promise[learns & ~active].max()
    # Only nodes that learn hold statistics.
    rows = (t.node_ints[:n, hoeffding.ROWS :] >= 0).any(axis=1)
    assert not rows[~(learns & active)].any()
    if order == "leaves_first":
        assert not active[inner].any() or active[~inner].all()
    assert (tight.predict(X) == y).mean() > 0.6


def test_inner_nodes_stop_learning_when_the_options_are_spent():
    X, y = RandomRBF(seed=1).take(20_000)
    tree = HoeffdingOptionTreeClassifier(**QUICK, max_options=4)
    spent = False
    for i in range(0, len(y), 100):
        tree.partial_fit(X[i : i + 100], y[i : i + 100])
        t = tree._tree
        inner = t.node_ints[: tree.n_nodes_, hoeffding.FEATURE] >= 0
        learning = t.links[: tree.n_nodes_, option_tree.STATE][inner] < 0
        spent |= tree.n_options_ == 4
        heads = t.links[: tree.n_nodes_, option_tree.STATE][inner] != option_tree.OPTION
        assert not learning.any() if tree.n_options_ == 4 else learning[heads].all()
        assert (t.node_ints[: tree.n_nodes_, hoeffding.ROWS :][inner][~learning] < 0).all()
    assert spent


def test_an_attribute_is_used_once_per_node():
    X, y = RandomRBF(seed=2, n_features=3).take(20_000)
    tree = HoeffdingOptionTreeClassifier(grace_period=20, tie_threshold=0.5, max_options=1000).partial_fit(X, y)
    features = tree._tree.node_ints[:, hoeffding.FEATURE]
    groups = [[node, *others] for node, others in tree._options_side_by_side().items()]
    assert max(len(group) for group in groups) == 3
    for group in groups:
        assert len(set(features[group].tolist())) == len(group)


def test_ties_add_no_option():
    """With a bound below the tie threshold the best first split wins; a further option must win by its own bound."""
    X, y = RandomRBF(seed=2).take(4000)
    assert HoeffdingOptionTreeClassifier(**QUICK).partial_fit(X, y).n_options_ > 1
    strict = HoeffdingOptionTreeClassifier(**QUICK, secondary_delta=1e-300).partial_fit(X, y)
    assert strict.n_nodes_ > 10
    assert strict.n_options_ == 1


def test_parameters_may_change_on_the_way():
    X, y = RandomRBF(seed=3, n_centroids=30).take(20_000)
    tree = HoeffdingOptionTreeClassifier(grace_period=50, tie_threshold=0.2, max_options=50).partial_fit(X, y)
    free = tree.nbytes
    assert tree.n_options_ > 5
    tree.set_params(max_bytes=free // 2)
    assert tree.nbytes <= free // 2
    assert tree._tree.meta[hoeffding.N_INACTIVE] > 0
    tree.set_params(max_bytes=None)
    assert tree._tree.meta[hoeffding.N_INACTIVE] == 0
    assert tree.n_inactive_leaves_ == 0
    tree.set_params(max_options=5)
    n_options, n_learners = tree.n_options_, tree._n_learners()
    assert n_learners == tree.n_leaves_
    tree.partial_fit(X, y)
    assert tree.n_options_ == n_options
    state = tree.to_bytes()
    for wrong in ({"max_options": 1}, {"max_options": 0}, {"secondary_delta": 2.0}, {"memory_order": "first"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            tree.set_params(**wrong)
        assert tree.to_bytes() == state
    HoeffdingOptionTreeClassifier.from_bytes(state).partial_fit(X, y)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ((0, option_tree.NEXT_OPTION), 10_000),
        ((0, option_tree.NEXT_OPTION), 0),
        ((0, option_tree.NEXT_OPTION), 1),
        ((0, option_tree.STATE), option_tree.OPTION),
    ],
)
def test_a_forged_tree_is_refused(place, value):
    X, y = mixed_stream(3000, 4, gaps=True)
    tree = HoeffdingOptionTreeClassifier(**QUICK, nominal_features=[2, 3, 4]).partial_fit(X, y)
    assert tree.n_option_nodes_ > 0
    tree._tree.links[place] = value
    with pytest.raises(CheckpointError, match="does not fit together"):
        HoeffdingOptionTreeClassifier.from_bytes(tree.to_bytes())


def test_a_perfect_leaf_keeps_its_say():
    """The share of mistakes of a leaf that has long been right must not become nothing."""
    X = np.random.default_rng(0).standard_normal((4000, 2))
    tree = AdaptiveHoeffdingOptionTreeClassifier().partial_fit(X, X[:, 0] > 0)
    tree.partial_fit(X, np.zeros(4000, bool))
    assert np.isfinite(tree.predict_proba(X)).all()
    tree._tree.errors[:] = 0.0
    assert np.isfinite(tree.predict_proba(X)).all()
