"""Chunk ensembles for skewed streams as published: plain loops, row by row, for two classes and rows without gaps.

Trees are scikit-learn's, fitted and asked through its public methods. What is shared with the library is the order in
which random numbers are drawn.
"""

from __future__ import annotations

import math

import numpy as np
from reference_dwmil import _Seeded, gmean_error
from sklearn.tree import DecisionTreeClassifier


def generators(seed, n):
    root = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed).spawn(1)[0]))
    return root.spawn(n)


def cart(X, y, rng):
    seed = _Seeded(int(rng.integers(2**31)))
    return DecisionTreeClassifier(min_samples_split=10, random_state=seed).fit(X, y)


def probability(tree, x, label):
    """What a tree gives a label; 0 for one it has not met."""
    shares = dict(zip(tree.classes_.tolist(), tree.predict_proba([x])[0], strict=True))
    return shares.get(label, 0.0)


def minority_of(y):
    zeros = sum(1 for label in y.tolist() if label == 0)
    return 0 if zeros <= len(y) - zeros else 1


def as_signs(labels, positive):
    return np.array([1 if label == positive else -1 for label in labels])


def nearest_of(x, rows, k, but=None):
    """Numbers of the k nearest rows, the earlier among equals."""
    distances = []
    for i, row in enumerate(rows):
        total = 0.0
        for a, b in zip(row, x, strict=True):
            total += (a - b) * (a - b)
        if i != but:
            distances.append((total, i))
    return [i for _, i in sorted(distances)[:k]]


class Weighted:
    """Experts that vote; ``say(expert, x)`` gives the votes for 0 and 1."""

    def __init__(self):
        self.experts, self.weights = [], []

    def scores(self, X):
        weights = self.weights if any(w > 0 for w in self.weights) else [1.0] * len(self.experts)
        scores = np.zeros((len(X), 2))
        for i, x in enumerate(X):
            for w, expert in zip(weights, self.experts, strict=True):
                votes = self.say(expert, x)
                for c in (0, 1):
                    scores[i, c] += w * votes[c]
        return scores

    def say(self, expert, x):
        return [probability(expert, x, c) for c in (0, 1)]


def majority_vote(trees, x):
    ones = sum(int(tree.predict([x])[0]) for tree in trees)
    return 1 if 2 * ones > len(trees) else 0


def time_weight(errors, a, b):
    """W from all errors since the classifier was made, the first one first."""
    omega = [1.0 / (1.0 + math.exp(-a * (age - b))) for age in range(len(errors))]
    omega = [o / sum(omega) for o in omega]
    beta = [min(e, 0.5) / (1.0 - min(e, 0.5)) for e in errors]
    return math.log(1.0 / max(0.01, sum(o * one for o, one in zip(omega, beta, strict=True))))


class LearnPPNIE(Weighted):
    def __init__(self, T=5, a=0.5, b=10, seed=0):
        super().__init__()
        self.rngs, self.T, self.a, self.b = generators(seed, T), T, a, b
        self.errors = []

    def say(self, expert, x):
        said = majority_vote(expert, x)
        return [1 - said, said]

    def bagging_variation(self, X, y):
        positive = minority_of(y)
        P, Q = np.flatnonzero(y == positive), np.flatnonzero(y != positive)
        trees = []
        for rng in self.rngs:
            rows = np.concatenate([Q[rng.integers(len(Q), size=len(y) // self.T)], P])
            trees.append(cart(X[rows], y[rows], rng))
        return trees

    def error(self, expert, X, y):
        positive = minority_of(y)
        return gmean_error(as_signs(y, positive), as_signs([majority_vote(expert, x) for x in X], positive))

    def learn(self, X, y):
        new = self.bagging_variation(X, y)
        if self.error(new, X, y) > 0.5:
            new = self.bagging_variation(X, y)
        self.experts.append(new)
        self.errors.append([])
        for history, expert in zip(self.errors, self.experts, strict=True):
            history.append(self.error(expert, X, y))
        self.weights = [time_weight(history, self.a, self.b) for history in self.errors]


class REA(Weighted):
    def __init__(self, f=0.5, k=10, seed=0):
        super().__init__()
        [self.rng] = generators(seed, 1)
        self.f, self.k = f, k
        self.G = []  # rows and labels
        self.added = []

    def learn(self, X, y):
        positive = minority_of(y)
        gamma = sum(1 for label in y.tolist() if label == positive) / len(y)
        G = [x for x, label in self.G if label == positive]
        if self.f * len(y) > len(G):
            chosen = list(range(len(G)))
        else:
            counts = []
            for g in G:
                counts.append(sum(1 for i in nearest_of(g, X, self.k) if y[i] == positive))
            order = sorted(range(len(G)), key=lambda i: (-counts[i], -i))
            chosen = sorted(order[: math.floor((self.f - gamma) * len(y) + 0.5)])
        self.added.append(len(chosen))
        rows = np.array([*X, *(G[i] for i in chosen)])
        self.experts.append(cart(rows, np.array([*y, *(positive for _ in chosen)]), self.rng))
        self.weights = []
        for expert in self.experts:
            squares = [(1.0 - probability(expert, x, label)) ** 2 for x, label in zip(X, y.tolist(), strict=True)]
            self.weights.append(math.log(1.0 / max(1.0 / len(y), sum(squares) / len(y))))
        self.G += [(x, label) for x, label in zip(X, y.tolist(), strict=True) if label == positive]


class UncorrelatedBagging:
    def __init__(self, k=11, r=0.5, seed=0):
        self.rngs, self.k, self.r = generators(seed, k), k, r
        self.P = []  # rows and labels
        self.trees = []

    def scores(self, X):
        return np.array([[sum(probability(tree, x, c) for tree in self.trees) for c in (0, 1)] for x in X])

    def learn(self, X, y):
        positive = minority_of(y)
        self.P += [(x, label) for x, label in zip(X, y.tolist(), strict=True) if label == positive]
        P = [x for x, label in self.P if label == positive]
        Q = [x for x, label in zip(X, y.tolist(), strict=True) if label != positive]
        size = min(len(Q) // self.k, math.floor(len(P) / self.r + 0.5))
        order = self.rngs[0].permutation(len(Q)).tolist()
        self.trees = []
        for i, rng in enumerate(self.rngs):
            part = [Q[j] for j in order[i * size : (i + 1) * size]]
            labels = [positive] * len(P) + [1 - positive] * len(part)
            self.trees.append(cart(np.array(P + part), np.array(labels), rng))


class SERA:
    def __init__(self, f=0.5, T=1, seed=0):
        self.rngs, self.f, self.T = generators(seed, T), f, T
        self.G = []
        self.trees, self.added = [], []

    def scores(self, X):
        return np.array([[sum(probability(tree, x, c) for tree in self.trees) for c in (0, 1)] for x in X])

    def learn(self, X, y):
        positive = minority_of(y)
        now = X[y == positive]
        G = [x for x, label in self.G if label == positive]
        chosen = list(range(len(G)))
        if self.f * len(y) <= len(G):
            inverse = np.linalg.inv(np.cov(now.T))
            away = [(g - now.mean(axis=0)) @ inverse @ (g - now.mean(axis=0)) for g in G]
            order = sorted(range(len(G)), key=lambda i: (away[i], -i))
            chosen = sorted(order[: math.floor((self.f - len(now) / len(y)) * len(y) + 0.5)])
        self.added.append((len(chosen), len(G)))
        rows, labels = np.array([*X, *(G[i] for i in chosen)]), np.array([*y, *(positive for _ in chosen)])
        self.trees = []
        for rng in self.rngs:
            drawn = rng.integers(len(rows), size=len(rows)) if self.T > 1 else np.arange(len(rows))
            self.trees.append(cart(rows[drawn], labels[drawn], rng))
        self.G += [(x, positive) for x in now]


class LearnPPCDS(Weighted):
    def __init__(self, N=2.0, k=5, a=0.5, b=10, seed=0):
        super().__init__()
        [self.rng] = generators(seed, 1)
        self.N, self.k, self.a, self.b = N, k, a, b
        self.errors = []

    def say(self, expert, x):
        said = int(expert.predict([x])[0])
        return [1 - said, said]

    def smote(self, P):
        times = [int(self.N)] * len(P)
        for i in self.rng.permutation(len(P))[: math.floor((self.N - int(self.N)) * len(P) + 0.5)]:
            times[i] += 1
        base = [i for i in range(len(P)) for _ in range(times[i])]
        picks = self.rng.integers(min(self.k, len(P) - 1), size=len(base))
        gaps = self.rng.random(len(base))
        made = []
        for i, pick, gap in zip(base, picks, gaps, strict=True):
            other = nearest_of(P[i], P, self.k, but=i)[pick]
            made.append([a + gap * (b - a) for a, b in zip(P[i], P[other], strict=True)])
        return made

    def classifier(self, X, y):
        positive = minority_of(y)
        synthetic = self.smote(X[y == positive])
        return cart(np.array([*X, *synthetic]), np.array([*y, *(positive for _ in synthetic)]), self.rng)

    def learn(self, X, y):
        m = len(y)
        D = [1.0 / m] * m
        if self.experts:
            said = self.scores(X).argmax(axis=1)
            E = sum(1 for i in range(m) if said[i] != y[i]) / m
            D = [E / m if said[i] == y[i] else 1.0 / m for i in range(m)]
        D = [one / sum(D) for one in D]

        def error(tree):
            return sum(D[i] for i in range(m) if int(tree.predict([X[i]])[0]) != y[i])

        new = self.classifier(X, y)
        if error(new) > 0.5:
            new = self.classifier(X, y)
        self.experts.append(new)
        self.errors.append([])
        for history, expert in zip(self.errors, self.experts, strict=True):
            history.append(error(expert))
        self.weights = [time_weight(history, self.a, self.b) for history in self.errors]


class AccuracyWeighted(Weighted):
    def __init__(self, K=10, folds=10, seed=0):
        super().__init__()
        self.rngs, self.K, self.folds = generators(seed, folds + 1), K, folds

    def learn(self, X, y):
        m = len(y)
        order = self.rngs[-1].permutation(m).tolist()
        part = {row: place % self.folds for place, row in enumerate(order)}
        squares = []
        for fold in range(self.folds):
            inside = [i for i in range(m) if part[i] != fold]
            tree = cart(X[inside], y[inside], self.rngs[fold])
            squares += [(1.0 - probability(tree, X[i], y[i])) ** 2 for i in range(m) if part[i] == fold]
        mse = {len(self.experts): sum(squares) / m}
        for j, expert in enumerate(self.experts):
            mse[j] = sum((1.0 - probability(expert, X[i], y[i])) ** 2 for i in range(m)) / m
        self.experts.append(cart(X, y, self.rngs[-1]))
        mse_r = sum(p * (1.0 - p) ** 2 for p in (np.mean(y == 0), np.mean(y == 1)))
        kept = sorted(sorted(mse, key=lambda j: (mse[j], -j))[: self.K])
        self.experts = [self.experts[j] for j in kept]
        self.weights = [max(0.0, mse_r - mse[j]) for j in kept]


def shares_in(values, low, high, bins):
    """Histogram as a dict: bin number, or where a value is beside them."""
    counts = {}
    for v in values:
        if v < low:
            place = "below"
        elif v > high:
            place = "above"
        else:
            place = min(int((v - low) / (high - low) * bins), bins - 1)
        counts[place] = counts.get(place, 0) + 1
    return {place: count / len(values) for place, count in counts.items()}


def hellinger(p, q):
    return math.sqrt(sum((math.sqrt(p.get(b, 0)) - math.sqrt(q.get(b, 0))) ** 2 for b in p.keys() | q.keys()))


def normal(x, mean, variance):
    return math.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


class DFGWIS:
    """The groups are given; ``weigh(margins, cost)`` minimises the loss on the simplex."""

    def __init__(self, groups, weigh, T=11, ratio=0.85, bins=30, seed=0):
        self.rngs = generators(seed, T + 1)
        self.own = self.rngs.pop()
        self.groups, self.weigh, self.ratio, self.bins = groups, weigh, ratio, bins
        self.pool = []  # chunk, row, label
        self.t = 0
        self.before, self.forgot = None, 0

    def vote(self, trees, x, group):
        return majority_vote(trees, x[group])

    def scores(self, X):
        scores = np.zeros((len(X), 2))
        for i, x in enumerate(X):
            for alpha, trees, group in zip(self.alpha, self.members, self.groups, strict=True):
                scores[i, self.vote(trees, x, group)] += alpha
        return scores

    def importance(self, rows, chunks):
        now = [row for row, k in zip(rows, chunks, strict=True) if k == self.t]
        weights = []
        for row, k in zip(rows, chunks, strict=True):
            then = [other for other, c in zip(rows, chunks, strict=True) if c == k]
            beta = len(now) / len(then)
            for j, x in enumerate(row):
                beta *= normal(x, np.mean(now, axis=0)[j], np.var(now, axis=0, ddof=1)[j])
                beta /= normal(x, np.mean(then, axis=0)[j], np.var(then, axis=0, ddof=1)[j])
            weights.append(1.0 / (1.0 + math.exp(-(beta - 0.5))))
        return weights

    def split(self, n):
        order = self.own.permutation(n).tolist()
        kept = math.floor(self.ratio * n + 0.5)
        return order[:kept], order[kept:]

    def learn(self, X, y):
        positive = minority_of(y)
        P = [(k, x) for k, x, label in self.pool if label == positive]
        N = [x for x, label in zip(X, y.tolist(), strict=True) if label != positive]
        current = [(self.t, x) for x, label in zip(X, y.tolist(), strict=True) if label == positive]
        if P and len(P) + len(current) > len(N):
            oldest = P[0][0]
            self.forgot += 1
            P = [(k, x) for k, x in P if k != oldest]
            self.pool = [one for one in self.pool if one[0] != oldest or one[2] != positive]
        P += current
        self.pool += [(k, x, positive) for k, x in current]
        train_p, held_p = self.split(len(P))
        train_n, held_n = self.split(len(N))
        self.members = []
        for group in self.groups:
            rows = [P[i][1][group] for i in train_p]
            sums = np.cumsum(self.importance(rows, [P[i][0] for i in train_p]))
            trees = []
            for rng in self.rngs:
                drawn = [int(np.argmax(sums > u)) for u in rng.random(len(rows)) * sums[-1]]
                others = rng.integers(len(train_n), size=len(rows)).tolist()
                sample = [rows[i] for i in drawn] + [N[train_n[i]][group] for i in others]
                labels = [positive] * len(rows) + [1 - positive] * len(rows)
                trees.append(cart(np.array(sample), np.array(labels), rng))
            self.members.append(trees)
        held = [(P[i][1], positive) for i in held_p] + [(N[i], 1 - positive) for i in held_n]
        cost = [len(held_n) / len(held_p) if label == positive else 1.0 for _, label in held]
        margins = [
            [1.0 if self.vote(t, x, g) == label else -1.0 for t, g in zip(self.members, self.groups, strict=True)]
            for x, label in held
        ]
        wd = self.weigh(np.array(margins), np.array(cost))
        ws = [1.0] * len(self.groups)
        if self.before is not None:
            distances = []
            for j in range(X.shape[1]):
                low, high = min(self.before[:, j].min(), X[:, j].min()), max(self.before[:, j].max(), X[:, j].max())
                p, q = (shares_in(rows[:, j].tolist(), low, high, self.bins) for rows in (self.before, X))
                distances.append(hellinger(p, q))
            ws = [1.0 - sum(distances[j] for j in group) / len(group) / math.sqrt(2) for group in self.groups]
        self.alpha = [(s + d) / 2 for s, d in zip(ws, wd, strict=True)]
        self.before = X
        self.t += 1


class HUWRSIP(Weighted):
    def __init__(self, subspaces, rngs, threshold=0.7, bins=10):
        super().__init__()
        self.subspaces, self.rngs, self.threshold, self.bins = subspaces, rngs, threshold, bins
        self.G = []
        self.made, self.propagated = 0, []

    def say(self, expert, x):
        tree, columns = expert[0], expert[1]
        return [probability(tree, x[columns], c) for c in (0, 1)]

    def weight(self, expert, X, y):
        _, columns, then, labels = expert
        near = []
        for c in (0, 1):
            for j in columns:
                low, high = then[:, j].min(), then[:, j].max()
                p = shares_in(then[labels == c, j].tolist(), low, high, self.bins)
                q = shares_in(X[y == c, j].tolist(), low, high, self.bins)
                near.append(1.0 - hellinger(p, q) / math.sqrt(2))
        return sum(near) / len(near)

    def is_minority(self, g, X, y, positive):
        """Probability by naive Bayes."""
        joint = {}
        for c in (0, 1):
            rows = X[y == c]
            joint[c] = len(rows) / len(X)
            for j, x in enumerate(g):
                smooth = 1e-9 * X[:, j].var()
                joint[c] *= normal(x, rows[:, j].mean(), rows[:, j].var() + smooth)
        return joint[positive] / (joint[0] + joint[1])

    def learn(self, X, y):
        positive = minority_of(y)
        G = [g for g, label in self.G if label == positive]
        missing = sum(1 for label in y if label != positive) - sum(1 for label in y if label == positive)
        sure = [self.is_minority(g, X, y, positive) for g in G]
        best = sorted(range(len(G)), key=lambda i: (-sure[i], -i))[:missing]
        taken = sorted(i for i in best if sure[i] > 0.5)
        self.propagated.append((len(taken), len(G)))
        rows, labels = np.array([*X, *(G[i] for i in taken)]), np.array([*y, *(positive for _ in taken)])
        if not self.experts:
            self.experts, self.weights = [None] * len(self.subspaces), [0.0] * len(self.subspaces)
        for m, columns in enumerate(self.subspaces):
            if self.experts[m] is not None:
                self.weights[m] = self.weight(self.experts[m], X, y)
            if self.experts[m] is None or self.weights[m] < self.threshold:
                self.experts[m] = (cart(rows[:, columns], labels, self.rngs[m]), columns, X, y)
                self.weights[m] = 1.0
                self.made += 1
        self.G += [(x, label) for x, label in zip(X, y.tolist(), strict=True) if label == positive]
