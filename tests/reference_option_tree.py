"""The Hoeffding option tree as published, row by row, in plain Python: slow and obvious.

Algorithms 11 and 12 of Kirkby's thesis on top of the reference Hoeffding tree, whose leaves, candidate splits and
naive Bayes it uses. What the fast one is held to.
"""

from __future__ import annotations

import math

import numpy as np
from reference_hoeffding import Gaussian, Leaf, ReferenceTree, Split


class OptionNode(Leaf):
    """A leaf, or, once it has splits side by side, an option node that may go on learning."""

    def __init__(self, counts, option_count):
        super().__init__(counts)
        self.option_count = option_count
        self.splits = []
        self.parent = None
        self.error = 1.0  # of the adaptive option tree: a fading mean of "was wrong"


class ReferenceOptionTree(ReferenceTree):
    def __init__(self, *args, max_options=5, secondary_delta=0.999, adaptive=False, **options):
        super().__init__(*args, **options)
        self.max_options, self.secondary_delta, self.adaptive = max_options, secondary_delta, adaptive
        self.root = OptionNode({}, 1)  # line 1

    # sorting a row into the tree

    def branch(self, split, x):
        """The branch a row takes at a split; none of its children if the split has not met the row's value."""
        value = x[split.attribute]
        if value is None:
            return self.heaviest(split)
        if split.kind == "each":
            return int(value)
        return int(value > split.cut if split.kind == "<=" else value != split.cut)

    def sort(self, x, node=None):
        """What a row reaches: nodes, and splits that have no branch for it; what lies below a node before it."""
        node = self.root if node is None else node
        found = []
        for split in node.splits:
            branch = self.branch(split, x)
            found += self.sort(x, split.children[branch]) if branch in split.children else [split]
        return [*found, node]

    # prediction

    def uses_bayes(self, leaf):
        return self.leaf == "nb" or (self.leaf == "nba" and leaf.lead >= 0)

    def guess(self, leaf, x):
        """The class that a leaf predicts."""
        best = self.best(self.bayes(leaf, x)) if self.uses_bayes(leaf) else None
        return self.majority(leaf) if best is None else best

    @staticmethod
    def majority(leaf):
        return min((c for c in leaf.counts if leaf.counts[c] == max(leaf.counts.values())), default=0)

    def votes(self, x, k):
        total = np.zeros(k)
        for node in self.sort(x):
            if isinstance(node, OptionNode) and node.splits:
                continue  # inner nodes never vote
            votes = np.zeros(k)
            for c, n in node.counts.items():
                votes[c] = n
            weight = 1.0
            if isinstance(node, OptionNode):
                if self.uses_bayes(node):
                    scores = self.bayes(node, x)
                    best = self.best(scores)
                    if best is not None:
                        votes[:] = 0.0
                        for c, s in scores.items():
                            votes[c] = math.exp(s - scores[best])
                if self.adaptive:
                    weight = 1.0 / max(node.error, 2.0**-53) ** 2
            if votes.sum():
                total += weight * votes / votes.sum()
        return total / total.sum() if total.sum() else total

    # learning

    def learn(self, x, y, w=1.0):
        if w == 0:
            return
        for a in range(self.d):
            if x[a] is not None:
                self.origin.setdefault(a, x[a])
        self.classes = max(self.classes, y + 1)
        reached = self.sort(x)  # line 3
        new = []
        for place, split in enumerate(reached):
            if isinstance(split, Split):  # a value its split has not met
                leaf = OptionNode({}, split.node.option_count)
                leaf.parent = split.node
                split.children[int(x[split.attribute])] = leaf
                reached[place] = leaf
                new.append(leaf)
        for node in reached:
            node.seen += w
        for node in reached:  # line 4
            if not node.splits and node not in new:
                self.judge(node, x, y, w)
            elif node.splits and node.option_count >= self.max_options:
                continue  # line 32: no statistics any more
            self.update(node, x, y, w)  # lines 5 and 6
            if node.since >= self.grace:  # line 7
                node.since = 0.0
                # Lines 8 to 19, or 20 to 31.
                split = self.attempt_option(node) if node.splits else self.attempt(node)
                if split is not None:
                    self.add_option(node, split)

    def judge(self, leaf, x, y, w):
        """How well a leaf would have predicted the row."""
        wrong = self.guess(leaf, x) != y
        leaf.error = 0.8 * leaf.error + 0.2 * wrong
        if self.leaf == "nba":
            best = self.best(self.bayes(leaf, x))
            majority = self.majority(leaf)
            leaf.lead += w * (((majority if best is None else best) == y) - (majority == y))

    def update(self, node, x, y, w):
        node.counts[y] = node.counts.get(y, 0.0) + w
        node.rows[y] = node.rows.get(y, 0.0) + w
        node.since += w
        for a in range(self.d):
            if x[a] is None:
                continue
            if a in self.nominal:
                table = node.tables.setdefault((a, y), {})
                table[x[a]] = table.get(x[a], 0.0) + w
            else:
                node.gaussians.setdefault((a, y), Gaussian()).add(x[a], w, self.origin[a])

    def attempt_option(self, node):
        if sum(n > 0 for n in node.counts.values()) < 2:
            return None
        before = self.impurity(node.counts)
        existing = max(self.merit(before, [child.counts for child in split.children.values()]) for split in node.splits)
        used = {split.attribute for split in node.splits}
        best = (-math.inf, None, None, None, None)
        for a in range(self.d):
            if a in used:
                continue
            for kind, cut, branches in self.candidates(node, a):
                merit = self.merit(before, branches)
                if merit > best[0]:
                    best = (merit, a, kind, cut, branches)
        span = 1.0 if self.gini else math.log2(max(2, self.classes))
        bound = math.sqrt(span * span * math.log(1 / self.secondary_delta) / (2 * sum(node.counts.values())))
        merit, a, kind, cut, branches = best
        if a is None or not merit - existing > bound:
            return None
        children = {b: Leaf({c: n for c, n in dist.items() if n > 0}) for b, dist in enumerate(branches)}
        return Split(Leaf(node.counts), a, kind, cut, children)  # votes with the counts of now, where it has to

    # Algorithm 12

    def add_option(self, node, split):
        count = node.option_count + (1 if node.splits else 0)
        split.node = node
        for b, leaf in split.children.items():
            split.children[b] = OptionNode(leaf.counts, count)
            split.children[b].parent = node
        node.splits.append(split)
        self.update_option_count(node, split)

    def update_option_count(self, node, source):
        children = [(split, child) for split in node.splits for child in split.children.values()]
        change = max(child.option_count for _, child in children) - node.option_count
        if change:
            node.option_count += change
            for split, child in children:
                if source is not split and source is not child:
                    self.update_below(child, change)
            if node.parent is not None:
                self.update_option_count(node.parent, node)

    def update_below(self, node, change):
        node.option_count += change
        for split in node.splits:
            for child in split.children.values():
                self.update_below(child, change)

    # comparing

    def nodes(self, node=None):
        node = self.root if node is None else node
        below = [child for split in node.splits for child in split.children.values()]
        return [node, *(deeper for child in below for deeper in self.nodes(child))]

    def reachable(self, x):
        """Number of leaves that vote for a row."""
        return sum(isinstance(node, Split) or not node.splits for node in self.sort(x))

    def outline(self, node=None):
        """A list of splits side by side, as nested tuples of tests; counts at the leaves."""
        node = self.root if node is None else node
        if not node.splits:
            return {c: n for c, n in node.counts.items() if n > 0}
        return [
            (split.attribute, split.kind, split.cut, {b: self.outline(n) for b, n in split.children.items()})
            for split in node.splits
        ]
