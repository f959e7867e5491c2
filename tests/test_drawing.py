"""Trees as text, DOT and plots: exact on small streams, sound on large ones."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from sklearn.exceptions import NotFittedError

from anabranch.kernels import hoeffding as kernels
from anabranch.tree import HoeffdingOptionTreeClassifier, HoeffdingTreeClassifier
from anabranch.tree._drawing import Node, _percent, _shares, _uses_bayes, number_of

DRAWINGS = ["export_text", "to_graphviz", "plot_tree"]
COLOURS = ["red", "green", "blue"]


def coloured(n=900):
    """Red is hot, blue is cold, and green hot from size 5 on."""
    rows = [{"size": (i * 7) % 10, "colour": COLOURS[i % 3]} for i in range(n)]
    labels = ["hot" if i % 3 == 0 or (i % 3 == 1 and rows[i]["size"] >= 5) else "cold" for i in range(n)]
    return rows, labels


def multiway(**parameters):
    return HoeffdingTreeClassifier(leaf_prediction="mc", **parameters).fit(*coloured())


def large(**parameters):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(24_000, 4))
    y = (2 * X[:, 0] + X[:, 1] * X[:, 2]).round().clip(-2, 2).astype(int)
    return HoeffdingTreeClassifier(grace_period=50, tie_threshold=0.3, **parameters).fit(X, y)


def boxes(figure):
    return [patch for patch in figure.axes[-1].patches if isinstance(patch, FancyBboxPatch)]


def texts(figure):
    return [text.get_text() for text in figure.axes[-1].texts]


def dot_parts(source):
    """Nodes with their attributes, and edges; fails on anything DOT's grammar does not allow here."""
    string = r'"(?:[^"\\]|\\.)*"'
    attribute = rf"\w+=(?:{string}|[\w.#]+)"
    attributes = rf"\[{attribute}(?:, {attribute})*\]"
    first, *lines, last = source.split("\n")
    assert (first, last) == ("digraph tree {", "}")
    nodes, edges = {}, []
    for line in lines:
        match = re.fullmatch(rf"  (graph|node|edge|n\d+)(?: -> (n\d+))? ({attributes});", line)
        assert match, line
        start, end, rest = match.groups()
        if end:
            edges.append((start, end, rest))
        elif start.startswith("n") and start != "node":
            assert start not in nodes
            nodes[start] = rest
    return nodes, edges


# ---------------------------------------------------------------------------------------------- text


def test_numeric():
    X = np.arange(600)[:, None] % 10
    tree = HoeffdingTreeClassifier(leaf_prediction="mc").fit(X, X[:, 0] > 6)
    assert tree.export_text() == (
        "|--- x0 <= 6.545: class False, weight 420 (False: 100%), by majority class\n"
        "|--- x0 > 6.545: class True, weight 180 (True: 100%), by majority class"
    )
    assert tree.depth_ == 1
    assert tree.export_text(feature_names=["load"], class_names=["ok", "late"], decimals=0) == (
        "|--- load <= 7: class ok, weight 420 (ok: 100%), by majority class\n"
        "|--- load > 7: class late, weight 180 (late: 100%), by majority class"
    )


def test_one_branch_per_value():
    assert multiway().export_text() == (
        "|--- colour = red: class hot, weight 300 (hot: 100%), by majority class\n"
        "|--- colour = green\n"
        "|   |--- size <= 4.091: class cold, weight 116 (cold: 100%), by majority class\n"
        "|   |--- size > 4.091: class hot, weight 117 (hot: 100%), by majority class\n"
        "|--- colour = blue: class cold, weight 300 (cold: 100%), by majority class"
    )


def test_one_value_against_the_rest():
    assert multiway(binary_split=True).export_text() == (
        "|--- colour = red: class hot, weight 300 (hot: 100%), by majority class\n"
        "|--- colour is not red: class cold, weight 600 (cold: 75%, hot: 25%), by majority class"
    )


def test_late_branches_stand_in_the_order_of_the_values():
    tree = multiway()
    for colour in ("black", "white"):
        tree.learn_one({"size": 1, "colour": colour}, "cold")
    assert tree.export_text() == (
        "|--- colour = red: class hot, weight 300 (hot: 100%), by majority class\n"
        "|--- colour = green\n"
        "|   |--- size <= 4.091: class cold, weight 116 (cold: 100%), by majority class\n"
        "|   |--- size > 4.091: class hot, weight 117 (hot: 100%), by majority class\n"
        "|--- colour = blue: class cold, weight 300 (cold: 100%), by majority class\n"
        "|--- colour = black: class cold, weight 1 (cold: 100%), by majority class\n"
        "|--- colour = white: class cold, weight 1 (cold: 100%), by majority class"
    )
    nodes, edges = dot_parts(tree.to_graphviz())
    assert len(nodes) == tree.n_nodes_ == len(edges) + 1
    assert "= white" in texts(tree.plot_tree())


def test_a_single_leaf():
    tree = HoeffdingTreeClassifier().fit([[1.0], [2.0], [3.0]], ["a", "b", "b"])
    assert tree.depth_ == 0
    assert tree.export_text() == "|--- class b, weight 3 (b: 66.7%, a: 33.3%), by naive Bayes"
    nodes, edges = dot_parts(tree.to_graphviz())
    assert (list(nodes), edges) == (["n0"], [])
    assert texts(tree.plot_tree()) == ["class b", "66.7% of 3 · naive Bayes"]


def test_nothing_learned_but_classes_announced():
    tree = HoeffdingTreeClassifier().announce(["a", "b", "c"])
    assert tree.export_text() == "|--- class a, weight 0, by naive Bayes"
    assert 'fillcolor="#ffffff"' in tree.to_graphviz()
    assert texts(tree.plot_tree()) == ["class a", "no rows yet · naive Bayes"]


@pytest.mark.parametrize("drawing", DRAWINGS)
def test_not_fitted(drawing):
    with pytest.raises(NotFittedError):
        getattr(HoeffdingTreeClassifier(), drawing)()
    with pytest.raises(NotFittedError):
        _ = HoeffdingTreeClassifier().depth_


@pytest.mark.parametrize("drawing", DRAWINGS)
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"feature_names": ["a"]}, ValueError, "feature_names must hold 2 names, got 1"),
        ({"class_names": ["a", "b", "c"]}, ValueError, "class_names must hold 2 names, got 3"),
        ({"max_depth": -1}, ValueError, "max_depth"),
        ({"max_depth": 1.5}, TypeError, "max_depth"),
        ({"decimals": None}, TypeError, "decimals"),
    ],
)
def test_wrong_options(drawing, options, error, message):
    with pytest.raises(error, match=message):
        getattr(multiway(), drawing)(**options)


def test_what_lies_deeper_is_counted():
    tree = large()
    assert tree.depth_ > 3
    full = tree.export_text()
    assert "more node" not in full
    assert full == tree.export_text(max_depth=tree.depth_)
    assert len(full.splitlines()) == tree.n_nodes_ - 1
    for depth in (0, 1, 3):
        text = tree.export_text(max_depth=depth)
        hidden = sum(int(n.replace(",", "")) for n in re.findall(r"\.\.\. ([\d,]+) more nodes?", text))
        assert len(text.splitlines()) + hidden == tree.n_nodes_ - (depth > 0)
        assert max(line.count("|") for line in text.splitlines()) == max(depth, 1)
        nodes, edges = dot_parts(tree.to_graphviz(max_depth=depth))
        assert len(nodes) + hidden == tree.n_nodes_
        assert len(edges) == len(nodes) - 1
        assert len(boxes(tree.plot_tree(max_depth=depth))) == len(nodes)


def test_inactive_leaves():
    tree = large(max_bytes=14_000)
    assert 0 < tree.n_inactive_leaves_ < tree.n_leaves_
    text = tree.export_text()
    assert text.count(", by majority class, inactive") == text.count("inactive") == tree.n_inactive_leaves_
    nodes, _ = dot_parts(tree.to_graphviz())
    assert sum("dashed" in rest for rest in nodes.values()) == tree.n_inactive_leaves_
    figure = tree.plot_tree(max_depth=tree.depth_)
    assert sum(text.endswith("· inactive") for text in texts(figure)) == tree.n_inactive_leaves_
    assert sum(box.get_linestyle() == "--" for box in boxes(figure)) == tree.n_inactive_leaves_


@pytest.mark.parametrize("kind", ["mc", "nb", "nba"])
def test_how_leaves_predict_is_what_the_kernel_does(kind):
    tree = large(leaf_prediction=kind, nb_threshold=100, max_bytes=60_000)
    t = tree._tree
    rule = kernels._uses_bayes.py_func
    expected = [bool(rule(t.node_ints, t.node_floats, t.options, node)) for node in range(tree.n_nodes_)]
    assert _uses_bayes(t) == expected
    assert any(expected) == (kind != "mc")
    assert tree.export_text().count("by naive Bayes") == sum(expected)


def test_counts_of_a_split_are_those_of_its_leaves():
    tree = large()
    root = tree._nodes(["a", "b", "c", "d"], list("ABCDE"), 3)
    assert root.weight == 24_000
    assert root.n_below == tree.n_nodes_ - 1
    leaves = [node for node in _all_nodes(root) if not node.children]
    np.testing.assert_allclose([sum(leaf.counts) for leaf in leaves], [leaf.weight for leaf in leaves])
    np.testing.assert_allclose(root.counts, np.sum([leaf.counts for leaf in leaves], axis=0))
    assert len(leaves) == tree.n_leaves_
    X = np.random.default_rng(0).normal(size=(500, 4))
    assert set(tree.apply(X)) <= {leaf.number for leaf in leaves}


def _all_nodes(node: Node) -> list[Node]:
    return [node, *(deeper for child in node.children for deeper in _all_nodes(child))]


# ---------------------------------------------------------------------------------------------- names


def test_names_are_escaped():
    rows = [{"a\nb\\n": c, "&amp;$x$": 0} for c in ['q"uote', "back\\", " "] * 300]
    tree = HoeffdingTreeClassifier(leaf_prediction="mc").fit(rows, ['a"b<c>', "tab\there", "ü&lt;$"] * 300)
    assert tree.export_text().split("\n") == [
        r"""|--- a\nb\n = q"uote: class a"b<c>, weight 300 (a"b<c>: 100%), by majority class""",
        r"""|--- a\nb\n = back\: class tab\there, weight 300 (tab\there: 100%), by majority class""",
        r"""|--- a\nb\n = ' ': class ü&lt;$, weight 300 (ü&lt;$: 100%), by majority class""",
    ]
    nodes, _ = dot_parts(tree.to_graphviz())
    assert len(nodes) == 4
    assert tree.to_graphviz().split("\n")[4:-1] == [
        r"""  n0 [label="a\\nb\\n\na\"b<c>: 33.3%, tab\\there: 33.3%, ü&amp;lt;$: 33.3%\nweight 900","""
        r""" fillcolor="#ebf4f9"];""",
        r"""  n1 [label="class a\"b<c>\na\"b<c>: 100%\nweight 300\nmajority class", fillcolor="#66aad1"];""",
        r"""  n0 -> n1 [label=" = q\"uote"];""",
        r"""  n2 [label="class tab\\there\ntab\\there: 100%\nweight 300\nmajority class", """
        r"""fillcolor="#e69e66"];""",
        r"""  n0 -> n2 [label=" = back\\"];""",
        r"""  n3 [label="class ü&amp;lt;$\nü&amp;lt;$: 100%\nweight 300\nmajority class", """
        r"""fillcolor="#66c5ab"];""",
        r"""  n0 -> n3 [label=" = ' '"];""",
    ]
    figure = tree.plot_tree(feature_names=["$\\frac$", "_"], class_names=["$a", "$\\b$", "_c"])
    assert {"$\\frac$", "class $a", "class $\\b$", "class _c"} <= set(texts(figure))
    figure.canvas.draw()  # dollars are dollars, not formulas


def test_whole_numbers_as_nominal_values():
    X = np.array([[3.0, 1.0], [7.0, 1.0]] * 300)
    tree = HoeffdingTreeClassifier(leaf_prediction="mc", nominal_features=[0]).fit(X, [0, 1] * 300)
    assert [line[:12] for line in tree.export_text().splitlines()] == ["|--- x0 = 3:", "|--- x0 = 7:"]


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (0.0, 3, "0"),
        (-0.0, 3, "0"),
        (0.4004, 3, "0.4"),
        (-12.3456, 2, "-12.35"),
        (1000, 0, "1000"),
        (3.6, 0, "4"),
        (0.00123456, 3, "0.00123"),
        (-1e-9, 3, "-1e-09"),
        (1e100, 3, "1e+100"),
    ],
)
def test_numbers(value, decimals, text):
    assert number_of(value, decimals) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0%"), (1, "100%"), (0.5, "50%"), (0.9999, ">99.9%"), (1e-9, "<0.1%"), (0.1234, "12.3%")],
)
def test_percentages(share, text):
    assert _percent(share) == text


def test_many_classes_are_summed_up():
    counts = (1.0, 5.0, 1.0, 0.0, 2.0, 1.0, 1.0, 1.0, 8.0)
    node = Node(0, 0, 0, "leaf", "", "", "", 20.0, counts, "i", "majority class")
    assert _shares(node, "abcdefghi") == "i: 40%, b: 25%, e: 10%, a: 5%, c: 5%, 3 more: 15%"


# ---------------------------------------------------------------------------------------------- DOT and plot


def test_dot_file(tmp_path):
    tree = multiway()
    path = tmp_path / "tree.dot"
    source = tree.to_graphviz(path)
    assert path.read_text(encoding="utf-8") == source + "\n"


def test_dot_holds_every_node_once():
    tree = large()
    nodes, edges = dot_parts(tree.to_graphviz())
    assert set(nodes) == {f"n{i}" for i in range(tree.n_nodes_)}
    assert sorted(end for _, end, _ in edges) == sorted(set(nodes) - {"n0"})


def test_plot(tmp_path):
    tree = multiway()
    figure = tree.plot_tree(path=tmp_path / "tree.png")
    assert isinstance(figure, Figure)
    assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG")
    assert [box.get_gid() for box in boxes(figure)] == [f"node{i}" for i in (0, 1, 2, 4, 5, 3)]
    assert texts(figure).count("= red") == 1
    # Leaves evenly spaced, splits in the middle of their branches.
    root, red, green, small, large, blue = [box.get_y() for box in boxes(figure)]
    np.testing.assert_allclose(np.diff([red, small, large, blue]), small - red)
    np.testing.assert_allclose(green, (small + large) / 2)
    np.testing.assert_allclose(root, (red + blue) / 2)


def test_plot_without_overlaps():
    figure = large().plot_tree()
    spans = [(b.get_x(), b.get_x() + b.get_width(), b.get_y(), b.get_y() + b.get_height()) for b in boxes(figure)]
    for i, (left, right, top, bottom) in enumerate(spans):
        for other in spans[:i]:
            assert right < other[0] or other[1] < left or bottom < other[2] or other[3] < top
    # Texts stay in their boxes.
    figure.canvas.draw()
    inverse = figure.axes[0].transData.inverted()
    for text in figure.axes[0].texts[-2:]:
        (x0, y0), (x1, y1) = inverse.transform(text.get_window_extent())
        x0, x1, y0, y1 = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
        assert any(left < x0 and x1 < right and top < y0 and y1 < bottom for left, right, top, bottom in spans)


def test_a_plot_shows_as_much_as_is_legible():
    tree = large()
    assert tree.n_leaves_ > 32
    figure = tree.plot_tree()
    ends = sum(text.startswith(("class", "...")) for text in texts(figure))
    assert 8 < ends <= 32
    assert any(text.startswith("...") for text in texts(figure))
    assert len(boxes(tree.plot_tree(max_depth=tree.depth_))) == tree.n_nodes_


def test_plot_into_axes():
    figure = Figure(figsize=(8, 3))
    left, right = figure.subplots(1, 2)
    left.plot([1, 2])
    assert multiway().plot_tree(ax=right) is figure
    assert len(boxes(figure)) == 6
    assert max(text.get_fontsize() for text in right.texts) < 9


def test_plot_knows_its_suffix(tmp_path):
    with pytest.raises(ValueError, match="nonsense"):
        multiway().plot_tree(path=tmp_path / "tree.nonsense")


def test_deep_trees_need_no_recursion():
    """A chain of splits deeper than Python's stack."""
    tree = HoeffdingTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    depth = sys.getrecursionlimit() + 100
    t = tree._tree
    n = 2 * depth + 1
    ints = np.full((n, t.node_ints.shape[1]), -1, np.int32)
    floats = np.ones((n, t.node_floats.shape[1]))
    for level in range(depth):
        ints[0 if level == 0 else 2 * level - 1, :3] = (0, kernels.NUMERIC, 2 * level + 1)
    tree._replace(node_ints=ints, node_floats=floats)
    t.meta[kernels.N_NODES] = n
    assert len(tree.export_text().splitlines()) == n - 1
    assert tree.to_graphviz().count(" -> ") == n - 1
    assert len(boxes(tree.plot_tree())) < n


def test_drawing_loads_matplotlib_only_to_plot():
    source = Path(sys.modules["anabranch.tree._drawing"].__file__).read_text(encoding="utf-8")
    assert not re.search(r"^(from|import) matplotlib", source, re.MULTILINE)


# ---------------------------------------------------------------------------------------------- options


def with_options(**parameters):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6000, 4))
    y = (2 * X[:, 0] + X[:, 1] * X[:, 2]).round().clip(-1, 1).astype(int)
    return HoeffdingOptionTreeClassifier(grace_period=50, tie_threshold=0.3, **parameters).fit(X, y)


def test_options_are_told():
    tree = with_options()
    assert tree.n_option_nodes_ > 0
    text = tree.export_text()
    assert len(re.findall(r"--- option 1$", text, re.MULTILINE)) == tree.n_option_nodes_
    # A line for everything that is drawn but the root.
    n_splits = sum(1 + len(others) for others in tree._options_side_by_side().values())
    root_has_options = 0 in tree._options_side_by_side()
    assert len(text.splitlines()) == tree.n_nodes_ + tree.n_option_nodes_ - 1
    assert len(re.findall(r"--- option \d+$", text, re.MULTILINE)) == n_splits
    assert len(re.findall(r": \d+ options$", text, re.MULTILINE)) == tree.n_option_nodes_ - root_has_options
    assert text.count(", by ") == tree.n_leaves_


def test_options_are_drawn():
    tree = with_options()
    nodes, edges = dot_parts(tree.to_graphviz())
    assert len(nodes) == tree.n_nodes_ + tree.n_option_nodes_ == len(edges) + 1
    assert sum("shape=ellipse" in rest for rest in nodes.values()) == tree.n_option_nodes_
    assert sum('label=" option 2"' in rest for _, _, rest in edges) == tree.n_option_nodes_
    figure = tree.plot_tree(max_depth=tree.depth_)
    assert len(boxes(figure)) == len(nodes)
    assert texts(figure).count("2 options") == sum(len(o) == 1 for o in tree._options_side_by_side().values())
    assert 3 <= len(boxes(tree.plot_tree())) <= len(nodes)


def test_a_cut_does_not_count_options_as_depth():
    tree = with_options()
    assert tree.export_text(max_depth=tree.depth_) == tree.export_text()
    for depth in range(tree.depth_):
        nodes, edges = dot_parts(tree.to_graphviz(max_depth=depth))
        text = tree.export_text(max_depth=depth)
        hidden = sum(int(n.replace(",", "")) for n in re.findall(r"\.\.\. ([\d,]+) more nodes?", text))
        assert len(nodes) + hidden == tree.n_nodes_ + tree.n_option_nodes_
        assert len(edges) == len(nodes) - 1


def test_weights_below_options_are_averaged():
    tree = with_options()
    root = tree._nodes(["a", "b", "c", "d"], list("ABC"), 3)
    for node in _all_nodes(root):
        if node.kind == "options":
            counts = [child.counts for child in node.children]
            np.testing.assert_allclose(node.counts, np.mean(counts, axis=0))
            assert node.answer == "" or not node.answer.startswith("option")
            assert [child.answer for child in node.children] == [f"option {i + 1}" for i in range(len(counts))]
    numbers = [node.number for node in _all_nodes(root)]
    assert len(set(numbers)) == len(numbers) == tree.n_nodes_ + tree.n_option_nodes_
