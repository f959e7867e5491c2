"""Trees as text, as Graphviz source, and as a plot.

A tree is first turned into plain :class:`Node` objects; all drawings are made from those. A learner that keeps its
tree otherwise overrides ``_layout``, or ``_nodes`` where its nodes are of another kind, and gets the same drawings.
"""

from __future__ import annotations

import colorsys
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from anabranch._colours import COLOURS
from anabranch._parameters import Number
from anabranch.kernels import hoeffding as kernels
from anabranch.kernels.hoeffding import Tree
from anabranch.schema import Schema, Vocabulary

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

__all__ = ["Layout", "Node", "TreeDrawing", "name_of", "number_of"]

_LISTED = 5  # classes in a distribution; the others are summed up
_LONGEST = 30  # characters of a name in a plot
_MOST_ENDS = 32  # boxes without successors that a plot shows unless told otherwise


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node as it is drawn: names instead of numbers.

    A node may have any number of successors. Splits side by side, the options of an option tree, are the successors
    of a node of kind "options", with "option 1" and so on as their ``answer``.
    """

    number: int
    level: int  # the root's is 0
    depth: int  # tests above: the level, less the nodes with options
    kind: Literal["split", "options", "leaf", "inactive leaf"]
    answer: str  # to the predecessor's test: "<= 0.4", "> 0.4", "= red", "is not red"; empty for the root
    feature: str  # what a split looks at; empty for others
    test: str  # "load <= 0.4", "colour = red", or "colour" for one branch per value; empty for others
    weight: float  # of the rows that came by
    counts: tuple[float, ...]  # weight of each class; for splits, of all leaves below; for options, their mean
    prediction: str  # the class of most weight, the first among equals; empty if no class is known
    predictor: Literal["", "majority class", "naive Bayes"]  # how a leaf predicts; empty for others
    children: tuple[Node, ...] = ()
    n_below: int = 0  # successors, their successors, ...
    title: str = ""  # what the node says, where that is not told by the rest: "score +0.4"
    fill: tuple[float, ...] | None = None  # what it is coloured by, if not by the classes' weights


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A tree of splits, as lists with an entry per node. Nodes come before their successors, whose numbers follow."""

    splits: list[list[int]]  # feature (-1 or less: leaf), branches as in the kernel of Hoeffding trees, first successor
    thresholds: list[float]  # or the code of the one value; of others with late branches, where their chain begins
    weights: list[float]
    counts: NDArray[np.float64]  # of each class
    predictors: list[Literal["majority class", "naive Bayes"]]
    inactive: list[bool]
    options: dict[int, list[int]] = field(default_factory=dict)  # nodes with options, and their further splits
    late: dict[int, dict[int, int]] = field(default_factory=dict)  # successors beyond the first ones, and their values


class TreeDrawing:
    """Draws the tree of a learner."""

    if TYPE_CHECKING:
        _tree: Tree
        _labels: Vocabulary | None
        _n_classes: int

        def _columns(self) -> Schema: ...

    @property
    def depth_(self) -> int:
        self._columns()
        return int(self._tree.meta[kernels.DEPTH])

    def export_text(
        self,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        max_depth: int | None = None,
        decimals: int = 3,
    ) -> str:
        """Write the tree as indented text.

        Parameters
        ----------
        feature_names : sequence of str, optional
            A name per column; those of the data frames, or x0, x1, ..., if left out.
        class_names : sequence of str, optional
            A name per class in the order of ``classes_``; the labels themselves if left out.
        max_depth : int, optional
            What lies deeper is only counted.
        decimals : int, default=3
            Digits after the point of thresholds (more where a small number needs them). Weights get one at
            most, from 100 on none.

        Returns
        -------
        str
            A line per branch. A leaf's names its majority class, the weight of its rows, the classes' shares
            in that and how the leaf predicts.

        Raises
        ------
        NotFittedError
            If nothing has been learned yet.
        ValueError
            If the number of names is wrong.

        Examples
        --------
        >>> from anabranch.tree import HoeffdingTreeClassifier
        >>> rows = [{"load": i % 10, "day": "sun" if i % 7 == 0 else "mon"} for i in range(600)]
        >>> y = ["late" if row["load"] > 6 else "in time" for row in rows]
        >>> tree = HoeffdingTreeClassifier().fit(rows, y)
        >>> print(tree.export_text())
        |--- load <= 6.545: class in time, weight 420 (in time: 100%), by naive Bayes
        |--- load > 6.545: class late, weight 180 (late: 100%), by naive Bayes
        """
        lines = []
        for parent, node, words in self._described(feature_names, class_names, max_depth, decimals):
            if parent is None and node.children and not words.more and not node.title:
                continue
            line = "|   " * (node.level - 1) + "|---"  # nothing is drawn beside what stands above the root's successors
            if parent is not None:
                line += f" {parent.feature}" * bool(parent.feature) + f" {node.answer}"
            facts = []
            if words.more or not node.children:
                facts = [words.more or words.title, f"weight {words.weight}"]
                facts[1] += f" ({words.shares})" * bool(words.shares)
                facts += [f"by {node.predictor}"] * bool(node.predictor) + ["inactive"] * words.inactive
            elif node.kind == "options":
                facts = [words.title]
            lines.append(line + ":" * (parent is not None and bool(facts)) + " " * bool(facts) + ", ".join(facts))
        return "\n".join(lines)

    def to_graphviz(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        max_depth: int | None = None,
        decimals: int = 3,
    ) -> str:
        r"""Write the tree in DOT, the language of Graphviz, which need not be installed for that.

        Parameters
        ----------
        path : str or path-like, optional
            File to write the source to.
        feature_names, class_names, max_depth, decimals
            As for :meth:`export_text`.

        Returns
        -------
        str
            The source. Boxes are coloured by class, the more strongly the purer their rows are.

        Raises
        ------
        NotFittedError
            If nothing has been learned yet.
        ValueError
            If the number of names is wrong.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> from anabranch.tree import HoeffdingTreeClassifier
        >>> X = [[i % 10] for i in range(600)]
        >>> tree = HoeffdingTreeClassifier().fit(X, [x > 6 for (x,) in X])
        >>> print(tree.to_graphviz(feature_names=["load"], class_names=["in time", "late"]))
        digraph tree {
          graph [rankdir=TB, ranksep=0.4];
          node [shape=box, style="filled,rounded", color="#666666", fontname="Helvetica", fontsize=11];
          edge [color="#666666", fontname="Helvetica", fontsize=10];
          n0 [label="load\nin time: 70%, late: 30%\nweight 600", fillcolor="#b6d6e9"];
          n1 [label="class in time\nin time: 100%\nweight 420\nnaive Bayes", fillcolor="#66aad1"];
          n0 -> n1 [label=" <= 6.545"];
          n2 [label="class late\nlate: 100%\nweight 180\nnaive Bayes", fillcolor="#e69e66"];
          n0 -> n2 [label=" > 6.545"];
        }
        """
        lines = [
            "digraph tree {",
            "  graph [rankdir=TB, ranksep=0.4];",
            '  node [shape=box, style="filled,rounded", color="#666666", fontname="Helvetica", fontsize=11];',
            '  edge [color="#666666", fontname="Helvetica", fontsize=10];',
        ]
        for parent, node, words in self._described(feature_names, class_names, max_depth, decimals):
            parts = [node.test or words.title if words.more else words.title, words.more, words.shares]
            parts += [f"weight {words.weight}", node.predictor + ", inactive" * words.inactive]
            label = "\\n".join(_quoted(part) for part in parts if part)
            look = ", shape=ellipse" * (node.kind == "options" or bool(node.title))
            look += ', style="filled,rounded,dashed"' * (bool(words.more) or words.inactive)
            lines.append(f'  n{node.number} [label="{label}", fillcolor="{_fill(node)}"{look}];')
            if parent is not None:
                lines.append(f'  n{parent.number} -> n{node.number} [label=" {_quoted(node.answer)}"];')
        source = "\n".join([*lines, "}"])
        if path is not None:
            Path(path).write_text(source + "\n", encoding="utf-8")
        return source

    def plot_tree(
        self,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        max_depth: int | None = None,
        decimals: int = 3,
        ax: Axes | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> Figure:
        """Draw the tree with matplotlib, from left to right.

        Boxes are coloured by class, the more strongly the purer their rows are; a line is the wider the more
        rows took it. Boxes of inactive leaves, and of splits whose branches are not shown, are dashed.

        Parameters
        ----------
        feature_names, class_names, decimals
            As for :meth:`export_text`.
        max_depth : int, optional
            What lies deeper is only counted. If left out, the plot is as deep as it can be without more than
            32 boxes on top of each other; ``max_depth=tree.depth_`` shows all.
        ax : matplotlib.axes.Axes, optional
            Where to draw, at the size there is; a figure of the size needed if left out.
        path : str or path-like, optional
            File to write the figure to; its suffix (``.png``, ``.svg``, ``.pdf``, ...) says how.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        NotFittedError
            If nothing has been learned yet.
        ValueError
            If the number of names is wrong, or the suffix is of no known kind.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> from anabranch.tree import HoeffdingTreeClassifier
        >>> X = [[i % 10] for i in range(600)]
        >>> tree = HoeffdingTreeClassifier().fit(X, [x > 6 for (x,) in X])
        >>> tree.plot_tree(feature_names=["load"], class_names=["in time", "late"])
        <Figure size ... with 1 Axes>
        """
        features, classes = self._names(feature_names, class_names, max_depth, decimals)
        root = self._nodes(features, classes, decimals)
        figure = _plot(root, _legible_depth(root) if max_depth is None else max_depth, decimals, ax)
        if path is not None:
            figure.savefig(path)
        return figure

    def _described(
        self,
        feature_names: Sequence[str] | None,
        class_names: Sequence[str] | None,
        max_depth: int | None,
        decimals: int,
    ) -> Iterator[tuple[Node | None, Node, _Words]]:
        """All nodes to draw, each with its predecessor and what there is to say of it, each before its successors."""
        features, classes = self._names(feature_names, class_names, max_depth, decimals)
        for parent, node in _walk(self._nodes(features, classes, decimals), max_depth):
            yield (
                parent,
                node,
                _Words(
                    title=_title(node),
                    more=_more(node) if _is_cut(node, max_depth) else "",
                    shares=_shares(node, classes),
                    weight=_weight(node, decimals),
                    inactive=node.kind == "inactive leaf",
                ),
            )

    def _names(
        self,
        feature_names: Sequence[str] | None,
        class_names: Sequence[str] | None,
        max_depth: int | None,
        decimals: int,
    ) -> tuple[list[str], list[str]]:
        """Names of columns and classes to draw with; also checks the other options."""
        schema = self._columns()
        Number(0, integer=True, optional=True).check("max_depth", max_depth)
        Number(0, integer=True).check("decimals", decimals)
        labels = self._labels.values if self._labels is not None else []
        chosen = []
        for option, own, given in (
            ("feature_names", schema.names, feature_names),
            ("class_names", labels, class_names),
        ):
            names = list(own) if given is None else list(given)
            if len(names) != len(own):
                raise ValueError(f"{option} must hold {len(own)} names, got {len(names)}.")
            chosen.append([name_of(name) for name in names])
        return chosen[0], chosen[1]

    def _nodes(self, features: list[str], classes: list[str], decimals: int) -> Node:
        """Make the tree's nodes; returns the root."""
        vocabularies = self._columns().vocabularies
        layout = self._layout()
        ints, thresholds, options = layout.splits, layout.thresholds, layout.options
        n = len(ints)
        # Successors have higher numbers than their node: forwards the way down, backwards the way up.
        levels = [0] * n
        depths = [0] * n
        answers = [""] * n
        tests = [""] * n
        successors: list[list[int]] = [[] for _ in range(n)]
        for node, (feature, branches, first) in enumerate(ints):
            if feature < 0:
                continue
            vocabulary = vocabularies[feature]
            tests[node] = features[feature]
            if vocabulary is None:
                point = number_of(thresholds[node], decimals)
                reached = {first: f"<= {point}", first + 1: f"> {point}"}
                tests[node] += f" <= {point}"
            elif branches == kernels.EQUALS:
                value = name_of(vocabulary.values[int(thresholds[node])])
                reached = {first: f"= {value}", first + 1: f"is not {value}"}
                tests[node] += f" = {value}"
            else:
                codes = {first + value: value for value in range(branches)}
                codes |= layout.late.get(node, {})
                reached = {
                    child: f"= {name_of(vocabulary.values[value])}"
                    for child, value in sorted(codes.items(), key=lambda item: item[1])
                }
            for other in options.get(node, ()):
                levels[other], depths[other] = levels[node] + 1, depths[node]
            successors[node] = list(reached)
            for child, answer in reached.items():
                levels[child] = levels[node] + 1 + (node in options)
                depths[child] = depths[node] + 1
                answers[child] = answer
        counts = layout.counts
        unmet = (0.0,) * (len(classes) - counts.shape[1])  # announced, but no row of them has been learned
        made: dict[int, Node] = {}
        for node in range(n - 1, -1, -1):
            feature = max(ints[node][0], 0)
            children = tuple(made.pop(child) for child in successors[node])
            weights = _added([child.counts for child in children]) if children else (*counts[node].tolist(), *unmet)
            made[node] = Node(
                number=node,
                level=levels[node],
                depth=depths[node],
                kind="split" if children else "inactive leaf" if layout.inactive[node] else "leaf",
                answer=answers[node],
                feature=features[feature] if children else "",
                test=tests[node],
                weight=layout.weights[node],
                counts=weights,
                prediction=_first_of_most(weights, classes),
                predictor="" if children else layout.predictors[node],
                children=children,
                n_below=sum(1 + child.n_below for child in children),
            )
            if node in options:
                side_by_side = [
                    replace(made.pop(split), level=levels[node] + 1, answer=f"option {place}")
                    for place, split in enumerate([node, *options[node]], start=1)
                ]
                weights = _added([split.counts for split in side_by_side])
                weights = tuple(weight / len(side_by_side) for weight in weights)
                made[node] = replace(
                    side_by_side[0],
                    number=n + node,  # its first split bears the number of the node itself
                    level=levels[node],
                    kind="options",
                    answer=answers[node],
                    feature="",
                    test="",
                    counts=weights,
                    prediction=_first_of_most(weights, classes),
                    children=tuple(side_by_side),
                    n_below=sum(1 + split.n_below for split in side_by_side),
                )
        return made[0]

    def _layout(self) -> Layout:
        """How the tree is kept: here as Hoeffding trees are."""
        t = self._tree
        n = int(t.meta[kernels.N_NODES])
        splits: list[list[int]] = t.node_ints[:n, : kernels.ROWS].tolist()
        thresholds: list[float] = t.node_floats[:n, kernels.THRESHOLD].tolist()
        return Layout(
            splits=splits,
            thresholds=thresholds,
            weights=t.node_floats[:n, kernels.SEEN].tolist(),
            counts=t.node_floats[:n, kernels.COUNTS : kernels.COUNTS + self._n_classes],
            predictors=["naive Bayes" if bayes else "majority class" for bayes in _uses_bayes(t)],
            inactive=[feature == kernels.INACTIVE for feature, _, _ in splits],
            options=self._options_side_by_side(),
            late={
                node: _late_branches(t, int(thresholds[node]))
                for node, (feature, branches, _) in enumerate(splits)
                if feature >= 0 and branches > kernels.EQUALS
            },
        )

    def _options_side_by_side(self) -> dict[int, list[int]]:
        """The further splits of each node that has options; none in ordinary trees."""
        return {}


@dataclass(frozen=True, slots=True)
class _Words:
    """What a drawing says of a node."""

    title: str
    more: str  # what is not drawn below it
    shares: str
    weight: str
    inactive: bool


def _uses_bayes(t: Tree) -> list[bool]:
    """Which leaves predict with naive Bayes; the kernel's rule, for all nodes at once."""
    n = int(t.meta[kernels.N_NODES])
    kind = int(t.options[kernels.LEAF_KIND])
    bayes = t.node_ints[:n, kernels.FEATURE] == kernels.ACTIVE
    bayes &= t.node_floats[:n, kernels.SEEN] >= t.options[kernels.NB_THRESHOLD]
    bayes &= kind != kernels.MAJORITY
    if kind == kernels.ADAPTIVE:
        bayes &= t.node_floats[:n, kernels.NB_LEAD] >= 0.0
    return cast("list[bool]", bayes.tolist())


def _late_branches(t: Tree, link: int) -> dict[int, int]:
    """Nodes in a chain of late branches, and their values."""
    found = {}
    while link >= 0:
        value, child, link = t.extra[link].tolist()
        found[child] = value
    return found


# ---------------------------------------------------------------------------------------------- parts


def _walk(root: Node, max_depth: int | None) -> Iterator[tuple[Node | None, Node]]:
    """All nodes to draw with their predecessors, each before its successors, without recursion."""
    stack: list[tuple[Node | None, Node]] = [(None, root)]
    while stack:
        parent, node = stack.pop()
        yield parent, node
        if not _is_cut(node, max_depth):
            stack.extend((node, child) for child in reversed(node.children))


def _is_cut(node: Node, max_depth: int | None) -> bool:
    """Whether a node is drawn without its successors."""
    return bool(node.children) and node.depth == max_depth


def _legible_depth(root: Node) -> int:
    """Depth to which no more branches end than a plot can show well; at least 1."""
    level, ends, depth = [root], 1, 0
    while level and (ends <= _MOST_ENDS or depth <= 1):
        depth += 1
        below = []
        for node in level:
            splits = node.children if node.kind == "options" else (node,)
            children = [child for split in splits for child in split.children]
            ends += len(children) - bool(children)
            below += children
        level = below
    return max(depth - 1, 1)


def _added(counts: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Class weights of several nodes, added up."""
    return tuple(map(sum, zip(*counts, strict=True)))


def _first_of_most(weights: tuple[float, ...], classes: Sequence[str]) -> str:
    """The class of most weight, the first among equals."""
    return classes[weights.index(max(weights))] if weights else ""


def _title(node: Node) -> str:
    """What a node is: what it looks at, or what it predicts."""
    if node.title:
        return node.title
    if node.kind == "options":
        return f"{len(node.children)} options"
    if node.children:
        return node.feature
    return f"class {node.prediction}" if node.prediction else "no class"


def name_of(value: Any) -> str:
    """Write a name on one line, all of it visible."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value))
    return text if text and text == text.strip() else f"'{text}'"


def number_of(value: float, decimals: int, thousands: Literal["", ","] = "") -> str:
    """Write a number with so many decimals, or as many digits if hardly any were left; no zeros last."""
    if value == 0:
        return "0"
    if not 10.0 ** (1 - decimals) <= abs(value) < 1e15:
        return f"{value:.{max(decimals, 1)}g}"
    text = f"{value:{thousands}.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _percent(share: float) -> str:
    percent = 100.0 * share
    if 0.0 < percent < 0.05:
        return "<0.1%"
    return ">99.9%" if 99.95 <= percent < 100.0 else f"{percent:.1f}".removesuffix(".0") + "%"


def _weight(node: Node, decimals: int) -> str:
    return number_of(node.weight, min(decimals, 1) if node.weight < 100 else 0, ",")


def _more(node: Node) -> str:
    return f"... {node.n_below:,} more node{'s' * (node.n_below != 1)}"


def _shares(node: Node, classes: Sequence[str]) -> str:
    """Write the classes' shares, largest first: "on: 98%, off: 2%"; nothing if the node has met no row."""
    total = sum(node.counts)
    met = sorted((c for c, count in enumerate(node.counts) if count > 0), key=lambda c: -node.counts[c])
    if len(met) <= _LISTED + 1:
        return ", ".join(f"{classes[c]}: {_percent(node.counts[c] / total)}" for c in met)
    parts = [f"{classes[c]}: {_percent(node.counts[c] / total)}" for c in met[:_LISTED]]
    others = sum(node.counts[c] for c in met[_LISTED:]) / total
    return ", ".join([*parts, f"{len(met) - _LISTED} more: {_percent(others)}"])


def _quoted(text: str) -> str:
    """Text as part of a DOT string; Graphviz resolves HTML's entities in it."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")


def _fill(node: Node) -> str:
    """Mix the majority class's colour with white, the less the purer the node; white if it has met no row."""
    weights = node.counts if node.fill is None else node.fill
    total = sum(weights)
    if total <= 0:
        return "#ffffff"
    largest = max(weights)
    k = len(weights)
    purity = (largest / total - 1 / k) / (1 - 1 / k) if k > 1 else 1.0
    strength = 0.08 + 0.52 * purity
    c = weights.index(largest)
    if k <= len(COLOURS):
        colour = [int(COLOURS[c][i : i + 2], 16) / 255 for i in (1, 3, 5)]
    else:  # hues as far apart as may be, whatever the number of classes
        colour = list(colorsys.hls_to_rgb(0.57 + c * 0.618034, 0.45, 0.85))
    return "#" + "".join(f"{round(255 * (1 - strength * (1 - part))):02x}" for part in colour)


# ---------------------------------------------------------------------------------------------- plot

# Lengths are inches, font sizes points.
_ROW = 0.54  # from leaf to leaf
_BOX = 0.42  # height of a box
_PAD = 0.11  # between a box and its text, left and right
_CURVE = 0.5  # least width of the part of a column gap in which lines bend
_MARGIN = 0.15
_TITLE, _SMALL = 9.0, 7.5


def _plot(root: Node, max_depth: int, decimals: int, ax: Axes | None) -> Figure:
    """Draw a tree from left to right: leaves evenly spaced, splits in the middle of their successors."""
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.patches import FancyBboxPatch, PathPatch
    from matplotlib.path import Path as Line
    from matplotlib.textpath import text_to_path

    fonts = {
        "title": FontProperties(size=_TITLE, weight="bold"),
        "small": FontProperties(size=_SMALL),
        "answer": FontProperties(size=_SMALL + 0.5),
    }

    def width(text: str, font: str) -> float:
        return float(text_to_path.get_text_width_height_descent(text, fonts[font], ismath=False)[0]) / 72

    shown = list(_walk(root, max_depth))
    titles, notes, answers = {}, {}, {}
    columns = 1 + max(node.level for _, node in shown)
    boxes = [0.0] * columns  # width of each column's boxes
    labels = [0.0] * columns  # and of the answers before it
    for _, node in shown:
        titles[node.number] = title = _more(node) if _is_cut(node, max_depth) else _shortened(_title(node))
        notes[node.number] = note = _note(node, max_depth, decimals)
        answer = _shortened(node.answer)
        if answer.startswith("<= "):
            answer = "≤" + answer[2:]
        answers[node.number] = answer
        boxes[node.level] = max(boxes[node.level], width(title, "title"), width(note, "small"))
        labels[node.level] = max(labels[node.level], width(answer, "answer"))
    place: dict[int, float] = {}  # heights
    row = 0
    for _, node in shown:
        if not node.children or _is_cut(node, max_depth):
            place[node.number] = _MARGIN + _BOX / 2 + row * _ROW
            row += 1
    for _, node in reversed(shown):
        if node.number not in place:
            first, last = node.children[0].number, node.children[-1].number
            place[node.number] = (place[first] + place[last]) / 2
    curves = [_CURVE] * columns
    for parent, node in shown:
        if parent is not None:
            rise = abs(place[parent.number] - place[node.number])
            curves[node.level] = max(curves[node.level], min(_CURVE + 0.1 * rise, 2 * _CURVE))
    left = [_MARGIN]
    for depth in range(1, columns):
        left.append(left[-1] + boxes[depth - 1] + 2 * _PAD + curves[depth] + labels[depth] + 0.12)
    total_width = left[-1] + boxes[-1] + 2 * _PAD + _MARGIN
    total_height = 2 * _MARGIN + _BOX + (row - 1) * _ROW
    if ax is None:
        # Image files end at 2^16 pixels.
        dpi = min(150.0, 65_000 / max(total_width, total_height))
        figure = Figure(figsize=(total_width, total_height), dpi=dpi)
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        scale = 1.0
    else:
        figure = cast("Figure", ax.get_figure(root=True))
        room = ax.get_window_extent()
        scale = min(room.width / total_width, room.height / total_height) / figure.dpi
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set_xlim(0.0, total_width)
    ax.set_ylim(total_height, 0.0)

    for parent, node in shown:
        x, y = left[node.level], place[node.number]
        if parent is not None:
            start = left[parent.level] + boxes[parent.level] + 2 * _PAD
            bent = start + curves[node.level]
            middle = (start + bent) / 2
            above = place[parent.number]
            thickness = 0.8 + 5.2 * (node.weight / root.weight if root.weight > 0 else 0.0)
            line = Line(
                [(start, above), (middle, above), (middle, y), (bent, y), (x, y)],
                [Line.MOVETO, Line.CURVE4, Line.CURVE4, Line.CURVE4, Line.LINETO],
            )
            ax.add_patch(PathPatch(line, fill=False, edgecolor="#B8BEC4", linewidth=thickness * scale, zorder=1))
            ax.text(
                x - 0.06, y - (thickness / 2 + 1.5) / 72, answers[node.number], ha="right", va="baseline",
                fontsize=(_SMALL + 0.5) * scale, color="#333333", zorder=3, parse_math=False, usetex=False,
            )  # fmt: skip
        dashed = node.kind == "inactive leaf" or _is_cut(node, max_depth)
        box_width = boxes[node.level] + 2 * _PAD
        ax.add_patch(
            FancyBboxPatch(
                (x, y - _BOX / 2), box_width, _BOX, boxstyle="round,pad=0,rounding_size=0.06",
                facecolor=_fill(node), edgecolor="#5A6168", linewidth=0.8 * scale,
                linestyle="--" if dashed else "-", zorder=2, gid=f"node{node.number}",
            )
        )  # fmt: skip
        for text, shift, size, weight in (
            (titles[node.number], -0.075, _TITLE, "bold"),
            (notes[node.number], 0.095, _SMALL, "normal"),
        ):
            ax.text(
                x + box_width / 2, y + shift, text, ha="center", va="center_baseline", fontsize=size * scale,
                fontweight=weight, color="#111111", zorder=3, parse_math=False, usetex=False,
            )  # fmt: skip
    return figure


def _note(node: Node, max_depth: int, decimals: int) -> str:
    total = sum(node.counts)
    weight = _weight(node, decimals)
    if total <= 0:
        note = "no rows yet"
    elif node.children:
        note = f"{_shortened(node.prediction)}: {_percent(max(node.counts) / total)} of {weight}"
    else:
        note = f"{_percent(max(node.counts) / total)} of {weight}"
    manner = "inactive" if node.kind == "inactive leaf" else node.predictor
    if not node.children and manner:
        note += f" · {manner}"
    return note


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
