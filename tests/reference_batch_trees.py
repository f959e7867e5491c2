"""The option tree and the alternating tree, small, slow and obvious: lists of rows, recursion, everything anew."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from statistics import NormalDist

TIE = 1e-9


def xlogx(x):
    return x * math.log2(x) if x > 0 else 0.0


def class_weights(rows, y, w, k):
    return [math.fsum(w[i] for i in rows if y[i] == c) for c in range(k)]


def entropy(counts):
    """Entropy in bits, times the weight."""
    return xlogx(math.fsum(counts)) - math.fsum(map(xlogx, counts))


def best_first(candidates):
    """The candidate of the highest score; the first of those that are as good."""
    best = None
    for candidate in candidates:
        if candidate.score > (best.score if best else 0.0) + TIE:
            best = candidate
    return best


# ---------------------------------------------------------------------------------------------- option tree


@dataclass
class Test:
    """One attribute's best test at a node."""

    feature: int
    threshold: float | None  # None: a branch per value
    gain: float
    split_information: float
    score: float = 0.0


@dataclass
class Split:
    test: Test
    largest: int
    branches: list


@dataclass
class Node:
    counts: list
    level: int
    splits: list = field(default_factory=list)

    @property
    def weight(self):
        return math.fsum(self.counts)


class OptionTree:
    """Kohavi and Kunz's tree, as its class docstring describes it."""

    def __init__(self, parameters, n_values):
        self.p = parameters
        self.n_values = n_values  # of nominal columns; 0 for numeric ones

    def fit(self, X, y, w, k):
        self.X, self.y, self.w, self.k = X, y, w, k
        rows = list(range(len(X)))
        self.all_weight = math.fsum(w)
        self.root = self.grow(rows, 0)
        self.prior = self.root.counts
        if self.p["pruning_confidence"] is not None:
            self.prune(self.root)
        return self

    # ------------------------------------------------------------------ growing

    def branch(self, test, row):
        v = self.X[row][test.feature]
        if v != v:
            return None
        if test.threshold is not None:
            return 0 if v <= test.threshold else 1
        return int(v) if v < self.n_values[test.feature] else None

    def parts(self, test, rows):
        """The rows of each branch, those of unknown value with the heaviest; and which that is."""
        parts = [[] for _ in range(self.n_values[test.feature] or 2)]
        lost = []
        for i in rows:
            b = self.branch(test, i)
            (lost if b is None else parts[b]).append(i)
        weights = [math.fsum(self.w[i] for i in part) for part in parts]
        largest = 0
        for b, weight in enumerate(weights):
            if weight > weights[largest] * (1 + TIE):
                largest = b
        parts[largest] = sorted(parts[largest] + lost)
        return parts, largest

    def rated(self, feature, threshold, rows):
        known = [i for i in rows if self.X[i][feature] == self.X[i][feature]]
        test = Test(feature, threshold, 0.0, 0.0)
        parts = [[] for _ in range(self.n_values[feature] or 2)]
        for i in known:
            parts[self.branch(test, i)].append(i)
        weights = [math.fsum(self.w[i] for i in part) for part in parts]
        if sum(weight > 0 and weight >= self.p["min_leaf_weight"] for weight in weights) < 2:
            return None
        gain = entropy(class_weights(known, self.y, self.w, self.k))
        gain -= math.fsum(entropy(class_weights(part, self.y, self.w, self.k)) for part in parts)
        total = math.fsum(self.w[i] for i in rows)
        if gain <= TIE * math.fsum(weights):
            return None
        test.gain = test.score = gain / total
        missing = total - math.fsum(weights)
        test.split_information = (xlogx(total) - math.fsum(map(xlogx, weights)) - xlogx(missing)) / total
        return test

    def best_tests(self, rows):
        tests = []
        total = math.fsum(self.w[i] for i in rows)
        for feature, n_values in enumerate(self.n_values):
            if n_values:
                test = self.rated(feature, None, rows)
            else:
                present = sorted({self.X[i][feature] for i in rows if self.X[i][feature] == self.X[i][feature]})
                test = None
                known = math.fsum(self.w[i] for i in rows if self.X[i][feature] == self.X[i][feature])
                for a, b in itertools.pairwise(present):
                    middle = a + (b - a) / 2
                    other = self.rated(feature, middle if middle < b else a, rows)
                    if other and (test is None or other.gain * total > test.gain * total + TIE * known):
                        test = other
            if test:
                tests.append(test)
        if tests and self.p["criterion"] == "gain_ratio":
            mean = math.fsum(test.gain for test in tests) / len(tests)
            for test in tests:
                test.score = test.gain / max(test.split_information, 1e-12) if test.gain >= mean - TIE else 0.0
        return tests

    def is_final(self, rows, level):
        there = {self.y[i] for i in rows}
        return len(there) < 2 or (self.p["max_depth"] is not None and level >= self.p["max_depth"])

    def height(self, rows, level):
        """Levels of splits of the tree without options."""
        best = None if self.is_final(rows, level) else best_first(self.best_tests(rows))
        if best is None:
            return 0
        return 1 + max(self.height(part, level + 1) for part in self.parts(best, rows)[0] if part)

    def grow(self, rows, level):
        node = Node(class_weights(rows, self.y, self.w, self.k), level)
        if not rows or self.is_final(rows, level):
            return node
        tests = self.best_tests(rows)
        best = best_first(tests)
        if best is None:
            return node
        chosen = [best]
        place, levels = self.p["option_place"], self.p["option_levels"]
        if place == "anywhere" or (level < levels if place == "top" else self.height(rows, level) <= levels):
            factor = self.p["option_factor"] * self.p["depth_decay"] ** level
            factor *= (node.weight / self.all_weight) ** self.p["support_power"]
            while len(chosen) < self.p["max_options"]:
                other = best_first([test for test in tests if test not in chosen])
                if other is None or other.score < best.score / (1 + factor) - TIE:
                    break
                chosen.append(other)
        for test in chosen:
            parts, largest = self.parts(test, rows)
            node.splits.append(Split(test, largest, [self.grow(part, level + 1) for part in parts]))
        return node

    # ------------------------------------------------------------------ pruning

    def expected_errors(self, weight, errors):
        """C4.5's upper end of the confidence interval."""
        confidence = self.p["pruning_confidence"]
        if weight <= 0:
            return 0.0
        if errors < 1:
            none = weight * (1 - confidence ** (1 / weight))
            return none if errors <= 0 else none + errors * (self.expected_errors(weight, 1.0) - none)
        if errors + 0.5 >= weight:
            return weight
        z = NormalDist().inv_cdf(1 - confidence)
        f = (errors + 0.5) / weight
        root = math.sqrt(f / weight - f**2 / weight + z**2 / (4 * weight**2))
        return weight * (f + z**2 / (2 * weight) + z * root) / (1 + z**2 / weight)

    def prune(self, node):
        as_leaf = self.expected_errors(node.weight, node.weight - max(node.counts))
        if not node.splits:
            return as_leaf
        of_splits = [math.fsum(map(self.prune, split.branches)) for split in node.splits]
        mean = math.fsum(of_splits) / len(of_splits)
        if as_leaf <= mean + 0.1:
            node.splits = []
            return as_leaf
        return mean

    # ------------------------------------------------------------------ votes

    def reached(self, node, x):
        if not node.splits:
            yield node
        for split in node.splits:
            v = x[split.test.feature]
            b = split.largest
            if v == v:
                if split.test.threshold is not None:
                    b = 0 if v <= split.test.threshold else 1
                elif v < len(split.branches):
                    b = int(v)
            if split.branches[b].weight > 0:
                yield from self.reached(split.branches[b], x)
            else:
                yield node

    def vote(self, node):
        if self.p["voting"] == "soft":
            return [count / node.weight for count in node.counts]
        winner = max(range(self.k), key=lambda c: (node.counts[c], self.prior[c], -c))
        return [float(c == winner) for c in range(self.k)]

    def predict_proba(self, X):
        result = []
        for x in X:
            votes = [math.fsum(part) for part in zip(*map(self.vote, self.reached(self.root, x)), strict=True)]
            most = max(votes)
            if votes.count(most) > 1:
                prior = self.prior
                votes = [
                    v + (v == most) * most * 1e-9 * p / math.fsum(prior) for v, p in zip(votes, prior, strict=True)
                ]
            result.append([v / math.fsum(votes) for v in votes])
        return result

    def described(self, node=None):
        """Structure as nested tuples."""
        node = self.root if node is None else node
        if not node.splits:
            return tuple(node.counts)
        return tuple(
            (split.test.feature, split.test.threshold, tuple(self.described(b) for b in split.branches))
            for split in node.splits
        )


# ---------------------------------------------------------------------------------------------- alternating tree


class ADTree:
    """Freund and Mason's tree: every round looks at every prediction node and every condition anew."""

    def __init__(self, n_rounds, smoothing, nominal):
        self.n_rounds, self.s, self.nominal = n_rounds, smoothing, nominal

    @staticmethod
    def holds(condition, x):
        """None where the value is missing."""
        feature, point, is_nominal = condition
        v = x[feature]
        return None if v != v else (v == point if is_nominal else v <= point)

    def reaches(self, node, x):
        """Whether a row satisfies a prediction node's precondition."""
        while node:
            parent, condition = self.splitters[(node - 1) // 2]
            if self.holds(condition, x) is not (node % 2 == 1):
                return False
            node = parent
        return True

    def conditions(self, rows):
        for feature, is_nominal in enumerate(self.nominal):
            present = sorted({x[feature] for x in rows if x[feature] == x[feature]})
            if is_nominal:
                yield from ((feature, v, True) for v in present)
            else:
                for a, b in itertools.pairwise(present):
                    middle = a + (b - a) / 2
                    yield feature, (middle if middle < b else a), False

    def sums(self, rows):
        return [math.fsum(self.w[i] for i in rows if self.positive[i] == sign) for sign in (True, False)]

    def prediction(self, rows):
        pos, neg = self.sums(rows)
        return 0.5 * math.log((pos + self.s) / (neg + self.s))

    def update(self, rows, value):
        for i in rows:
            self.w[i] *= math.exp(-value if self.positive[i] else value)

    def fit(self, X, positive, w):
        self.X, self.positive, self.w = X, positive, list(w)
        everything = range(len(X))
        self.splitters = []  # (prediction node above, condition); nodes 2s + 1 and 2s + 2 lie below splitter s
        self.values = [self.prediction(everything)]
        self.update(everything, self.values[0])
        for _ in range(self.n_rounds):
            total = math.fsum(self.w)
            worst = total + 4 * self.s  # of a condition whose branches hold as much of either class
            best, best_z = None, worst
            for node in range(len(self.values)):
                rows = [i for i in everything if self.reaches(node, X[i])]
                if min(self.sums(rows)) <= 0:
                    continue
                own, own_z = None, worst
                for condition in self.conditions([X[i] for i in rows]):
                    yes = self.sums([i for i in rows if self.holds(condition, X[i]) is True])
                    no = self.sums([i for i in rows if self.holds(condition, X[i]) is False])
                    four = [part + self.s for part in (*yes, *no)]
                    z = 2 * (math.sqrt(four[0] * four[1]) + math.sqrt(four[2] * four[3]))
                    z += total + 4 * self.s - math.fsum(four)
                    if z < own_z - 1e-10 * total:
                        own, own_z = condition, z
                if own and own_z < best_z - 1e-10 * total:
                    best, best_z = (node, own), own_z
            if best is None:
                break
            node, condition = best
            rows = [i for i in everything if self.reaches(node, X[i])]
            yes = [i for i in rows if self.holds(condition, X[i]) is True]
            no = [i for i in rows if self.holds(condition, X[i]) is False]
            a, b = self.prediction(yes), self.prediction(no)
            if best in self.splitters:
                s = self.splitters.index(best)
                self.values[2 * s + 1] += a
                self.values[2 * s + 2] += b
            else:
                self.splitters.append(best)
                self.values += [a, b]
            self.update(yes, a)
            self.update(no, b)
        return self

    def score(self, x):
        return math.fsum(value for node, value in enumerate(self.values) if self.reaches(node, x))
