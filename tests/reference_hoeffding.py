"""The Hoeffding tree as published, row by row, in plain Python: slow and obvious.

What the fast one is held to. Rows are lists of floats (nominal values as codes, None is missing).
"""

from __future__ import annotations

import math

import numpy as np


class Gaussian:
    def __init__(self):
        self.weight = self.mean = self.squares = 0.0

    def add(self, value, w, origin):
        # Smallest and largest value are kept as float32 differences from the attribute's first value.
        kept = origin + float(np.float32(value - origin))
        if self.weight == 0:
            self.weight, self.mean, self.low, self.high = w, value, kept, kept
            return
        self.weight += w
        d = value - self.mean
        self.mean += d * (w / self.weight)
        self.squares += w * d * (value - self.mean)
        self.low, self.high = min(self.low, kept), max(self.high, kept)

    @property
    def variance(self):
        return self.squares / (self.weight - 1) if self.weight > 1 else 0.0

    def log_density(self, value):
        if self.variance == 0:
            return 0.0 if value == self.mean else -math.inf
        return -0.5 * (math.log(2 * math.pi * self.variance) + (value - self.mean) ** 2 / self.variance)

    def weight_below(self, point):
        if point < self.low:
            return 0.0
        if point >= self.high:
            return self.weight
        if self.variance == 0:
            return self.weight if point >= self.mean else 0.0
        return self.weight * 0.5 * math.erfc(-(point - self.mean) / math.sqrt(2 * self.variance))


class Leaf:
    def __init__(self, counts):
        self.counts = dict(counts)
        self.seen = sum(counts.values())
        self.since = 0.0  # weight since the last attempt to split
        self.lead = 0.0
        self.rows = {}  # weight of each class's own rows
        self.gaussians = {}  # (attribute, class)
        self.tables = {}  # (attribute, class) -> {value: weight}


class Split:
    def __init__(self, leaf, attribute, kind, cut, children):
        self.counts, self.seen = leaf.counts, leaf.seen
        self.attribute, self.kind, self.cut, self.children = attribute, kind, cut, children


class ReferenceTree:
    def __init__(self, d, nominal=(), *, grace=200, delta=1e-7, tau=0.05, gini=False, leaf="nba", points=10,
                 min_share=0.01, binary=False, pre_prune=False):  # fmt: skip
        self.d, self.nominal = d, set(nominal)
        self.grace, self.delta, self.tau, self.gini, self.leaf = grace, delta, tau, gini, leaf
        self.points, self.min_share, self.binary, self.pre_prune = points, min_share, binary, pre_prune
        self.root = Leaf({})
        self.classes = 0
        self.origin = {}

    # routing

    def heaviest(self, split):
        return max(split.children, key=lambda b: (split.children[b].seen, -b))

    def route(self, x):
        path, node, branch = [self.root], self.root, None
        while isinstance(node, Split):
            value = x[node.attribute]
            if value is None:
                branch = self.heaviest(node)
            elif node.kind == "<=":
                branch = 0 if value <= node.cut else 1
            elif node.kind == "=":
                branch = 0 if value == node.cut else 1
            else:
                branch = int(value)
                if branch not in node.children:
                    return path
            node = node.children[branch]
            path.append(node)
        return path

    # prediction

    @staticmethod
    def best(scores):
        if not scores or max(scores.values()) == -math.inf:
            return None
        return min(c for c in scores if scores[c] == max(scores.values()))

    def bayes(self, leaf, x):
        if not leaf.rows:
            return {c: math.log(n) for c, n in leaf.counts.items() if n > 0}
        scores = {c: math.log(leaf.counts[c]) for c in leaf.rows}
        for a in range(self.d):
            if x[a] is None:
                continue
            if a in self.nominal:
                tables = {c: leaf.tables.get((a, c), {}) for c in leaf.rows}
                if any(not sum(t.values()) for t in tables.values()):
                    continue
                for c, table in tables.items():
                    slots = max(table) + 1
                    scores[c] += math.log((table.get(x[a], 0.0) + 1) / (sum(table.values()) + slots))
                continue
            gaussians = {c: leaf.gaussians.get((a, c), Gaussian()) for c in leaf.rows}
            if any(g.weight <= 1 and g.weight < leaf.rows[c] for c, g in gaussians.items()):
                continue  # a class that has hardly seen this attribute
            for c, g in gaussians.items():
                scores[c] += g.log_density(x[a])
        return scores

    def votes(self, x, k):
        node = self.route(x)[-1]
        votes = np.zeros(k)
        if isinstance(node, Leaf) and (self.leaf == "nb" or (self.leaf == "nba" and node.lead >= 0)):
            scores = self.bayes(node, x)
            best = self.best(scores)
            if best is not None:
                for c, s in scores.items():
                    votes[c] = math.exp(s - scores[best])
                return votes / votes.sum()
        for c, n in node.counts.items():
            votes[c] = n
        return votes / votes.sum() if votes.sum() else votes

    # learning

    def learn(self, x, y, w=1.0):
        if w == 0:
            return
        for a in range(self.d):
            if x[a] is not None:
                self.origin.setdefault(a, x[a])
        self.classes = max(self.classes, y + 1)
        path = self.route(x)
        for node in path:
            node.seen += w
        leaf = path[-1]
        if isinstance(leaf, Split):  # a value its split has not met
            new = Leaf({})
            leaf.children[int(x[leaf.attribute])] = new
            new.seen += w
            path.append(new)
            leaf = new
        if self.leaf == "nba":
            majority = min((c for c in leaf.counts if leaf.counts[c] == max(leaf.counts.values())), default=0)
            guess = self.best(self.bayes(leaf, x))
            leaf.lead += w * (((majority if guess is None else guess) == y) - (majority == y))
        leaf.counts[y] = leaf.counts.get(y, 0.0) + w
        leaf.rows[y] = leaf.rows.get(y, 0.0) + w
        for a in range(self.d):
            if x[a] is None:
                continue
            if a in self.nominal:
                table = leaf.tables.setdefault((a, y), {})
                table[x[a]] = table.get(x[a], 0.0) + w
            else:
                leaf.gaussians.setdefault((a, y), Gaussian()).add(x[a], w, self.origin[a])
        leaf.since += w
        if leaf.since >= self.grace:
            leaf.since = 0.0
            split = self.attempt(leaf)
            if split is not None:
                if leaf is self.root:
                    self.root = split
                else:
                    parent = path[-2]
                    branch = next(b for b, child in parent.children.items() if child is leaf)
                    parent.children[branch] = split

    # splits

    def impurity(self, dist):
        shares = [n / sum(dist.values()) for n in dist.values() if n > 0]
        return 1 - sum(p * p for p in shares) if self.gini else -sum(p * math.log2(p) for p in shares)

    def merit(self, before, branches):
        total = sum(sum(b.values()) for b in branches)
        if sum(sum(b.values()) / total > self.min_share for b in branches) < 2:
            return -math.inf
        return before - sum(sum(b.values()) / total * self.impurity(b) for b in branches if sum(b.values()) > 0)

    def candidates(self, leaf, a):
        if a in self.nominal:
            tables = {c: t for (b, c), t in leaf.tables.items() if b == a}
            n = max((int(max(t)) + 1 for t in tables.values()), default=0)
            if n < 2:
                return
            per_value = [{c: t.get(v, 0.0) for c, t in tables.items()} for v in range(n)]
            if not self.binary:
                yield "each", -1, per_value
            # Between two values one test says it all.
            for v in range(n if n > 2 else int(self.binary)):
                rest = {c: sum(per_value[u][c] for u in range(n) if u != v) for c in tables}
                yield "=", v, [per_value[v], rest]
            return
        gaussians = {c: g for (b, c), g in leaf.gaussians.items() if b == a}
        if not gaussians:
            return
        low, high = min(g.low for g in gaussians.values()), max(g.high for g in gaussians.values())
        for p in range(1, self.points + 1):
            point = low + (high - low) * p / (self.points + 1)
            if low < point < high:
                left = {c: g.weight_below(point) for c, g in gaussians.items()}
                yield "<=", point, [left, {c: g.weight - left[c] for c, g in gaussians.items()}]

    def attempt(self, leaf):
        if sum(n > 0 for n in leaf.counts.values()) < 2:
            return None
        before = self.impurity(leaf.counts)
        suggestions = [(0.0, None, None, None, None)] if self.pre_prune else []
        for a in range(self.d):
            best = (-math.inf, a, None, None, None)
            for kind, cut, branches in self.candidates(leaf, a):
                merit = self.merit(before, branches)
                if merit > best[0]:
                    best = (merit, a, kind, cut, branches)
            if best[0] > -math.inf:
                suggestions.append(best)
        suggestions.sort(key=lambda s: s[0])
        if not suggestions or suggestions[-1][1] is None:
            return None
        if len(suggestions) > 1:
            span = 1.0 if self.gini else math.log2(max(2, self.classes))
            bound = math.sqrt(span * span * math.log(1 / self.delta) / (2 * sum(leaf.counts.values())))
            if not (suggestions[-1][0] - suggestions[-2][0] > bound or bound < self.tau):
                return None
        _, a, kind, cut, branches = suggestions[-1]
        children = {b: Leaf({c: n for c, n in dist.items() if n > 0}) for b, dist in enumerate(branches)}
        return Split(leaf, a, kind, cut, children)

    # comparing

    def outline(self, node=None):
        """Nested tuples of tests, and counts at the leaves."""
        node = self.root if node is None else node
        if isinstance(node, Leaf):
            return {c: n for c, n in node.counts.items() if n > 0}
        return (node.attribute, node.kind, node.cut, {b: self.outline(n) for b, n in node.children.items()})
