"""Pasting bites, block boosting and the ways of pruning as published: row by row, member by member, slowly.

The trees are scikit-learn's. What is shared with the library is the order in which random numbers are drawn.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from reference_dwmil import _Seeded
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier


def rngs(seed, n):
    """The random generators of a learner that is defined on chunks."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed).spawn(1)[0])).spawn(n)


def tree(settings, rows, labels, weights, rng):
    """Fit a tree; without weights where all are alike."""
    seed = int(rng.integers(2**31))
    X, y = np.array(rows, np.float32), np.array(labels)
    if all(w == weights[0] for w in weights):
        return clone(settings).set_params(random_state=_Seeded(seed)).fit(X, y)
    return clone(settings).set_params(random_state=seed).fit(X, y, sample_weight=weights)


def said(fitted, x):
    return fitted.predict(np.array([x], np.float32))[0]


def winner(votes):
    """The class with most votes, the first among equals; None without votes."""
    best = max(votes, default=0.0)
    return votes.index(best) if best > 0 else None


# ---------------------------------------------------------------------------------------------- pasting bites


class PastingBites:
    """Ivote on a stream; with ``max_skipped=0`` Rvote, since every row is taken."""

    def __init__(self, K, N, p, max_skipped, n_classes, seed):
        self.K, self.N, self.p, self.cap, self.n_classes = K, N, p, max_skipped * N, n_classes
        self.seeds, self.draws = rngs(seed, 2)
        self.members, self.bite, self.e = [], [], None
        self.skipped, self.looked, self.missed = 0, 0.0, 0.0

    def votes(self, x):
        votes = [0.0] * self.n_classes
        for member in self.members:
            votes[said(member, x)] += 1.0
        return votes

    def learn(self, x, y, w):
        if w == 0:
            return
        wrong = winner(self.votes(x)) != y
        self.looked += w
        if wrong:
            self.missed += w
        else:
            u = self.draws.random()
            if self.e is not None and self.e < 0.5 and u >= self.e / (1.0 - self.e) and self.skipped + 1 <= self.cap:
                self.skipped += 1
                return
        self.bite.append((x, y, w))
        if len(self.bite) == self.N:
            self.close()

    def close(self):
        if self.members:
            r = self.missed / self.looked
            self.e = r if self.e is None else self.p * self.e + (1.0 - self.p) * r
        rows, labels, weights = zip(*self.bite, strict=True)
        self.members.append(tree(DecisionTreeClassifier(min_samples_split=10), rows, labels, weights, self.seeds))
        if len(self.members) > self.K:
            del self.members[0]
        self.bite, self.skipped, self.looked, self.missed = [], 0, 0.0, 0.0


# ---------------------------------------------------------------------------------------------- block boosting


class BlockBoosting:
    """AdaBoost.M1 on each block with the hypotheses there are, then a new one; a window of k."""

    def __init__(self, settings, k, n_classes, seed, keep=None):
        self.settings, self.k, self.n_classes = settings, k, n_classes
        self.keep = keep or (lambda said, y, w, alphas, D: range(len(said))[len(said) - (k - 1) :])
        [self.seeds] = rngs(seed, 1)
        self.members, self.alphas = [], []

    def votes(self, x):
        votes = [0.0] * self.n_classes
        for member, alpha in zip(self.members, self.alphas, strict=True):
            votes[said(member, x)] += alpha
        if not any(votes):
            for member in self.members:
                votes[said(member, x)] += 1.0
        return votes

    @staticmethod
    def round(h, rows, y, D):
        """One round: the weight of h and the new weights of the rows."""
        wrong = [said(h, x) != label for x, label in zip(rows, y, strict=True)]
        total = missed = 0.0
        for d, miss in zip(D, wrong, strict=True):
            total += d
            missed += d if miss else 0.0
        error = max(missed / total, 0.5 / len(y))
        if error >= 0.5:
            return 0.0, D
        beta = error / (1.0 - error)
        D = [d if miss else d * beta for d, miss in zip(D, wrong, strict=True)]
        now = 0.0
        for d in D:
            now += d
        return -math.log(beta), [d * (total / now) for d in D]

    def learn(self, rows, y, w):
        D = w
        alphas, distributions = [], []
        for h in self.members:
            distributions.append(D)
            alpha, D = self.round(h, rows, y, D)
            alphas.append(alpha)
        new = tree(self.settings, rows, y, D, self.seeds)
        alpha, _ = self.round(new, rows, y, D)
        kept = range(len(self.members))
        if len(self.members) + 1 > self.k:
            predictions = [[int(said(h, x)) for x in rows] for h in self.members]
            kept = sorted(self.keep(predictions, y, w, alphas, distributions))
        self.members = [self.members[m] for m in kept] + [new]
        self.alphas = [alphas[m] for m in kept] + [alpha]


# ---------------------------------------------------------------------------------------------- pruning


def kl_divergence(distributions, M):
    def divergence(p, q):
        return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))

    chosen = [0]
    while len(chosen) < min(M, len(distributions)):
        sums = {
            t: sum(divergence(D, distributions[u]) + divergence(distributions[u], D) for u in chosen)
            for t, D in enumerate(distributions)
            if t not in chosen
        }
        chosen.append(max(sums, key=sums.get))
    return chosen


def kappa_of(a, b, w):
    """Cohen's kappa from the contingency table."""
    k = max(*a, *b) + 1
    C = [[0.0] * k for _ in range(k)]
    for i, j, weight in zip(a, b, w, strict=True):
        C[i][j] += weight
    n = sum(map(sum, C))
    agree = sum(C[c][c] for c in range(k)) / n
    chance = sum(sum(C[c]) / n * (sum(row[c] for row in C) / n) for c in range(k))
    return 1.0 if chance == 1.0 else (agree - chance) / (1.0 - chance)


def _from_pairs(pairs, M):
    chosen = []
    for pair in pairs:
        for member in pair:
            if member not in chosen and len(chosen) < M:
                chosen.append(member)
    return chosen


def kappa(predictions, M, w):
    pairs = list(itertools.combinations(range(len(predictions)), 2))
    pairs.sort(key=lambda pair: kappa_of(predictions[pair[0]], predictions[pair[1]], w))
    return _from_pairs(pairs, M) if pairs else [0]


def kappa_error_hull(predictions, y, w):
    """A pair is on the lower left of the hull if no weighing of kappa against error has a better one."""
    T = len(predictions)
    if T == 1:
        return [0]
    errors = [sum(wi for h, c, wi in zip(said, y, w, strict=True) if h != c) / sum(w) for said in predictions]
    points = {
        (a, b): (kappa_of(predictions[a], predictions[b], w), (errors[a] + errors[b]) / 2)
        for a, b in itertools.combinations(range(T), 2)
    }

    def best(angle):
        def cost(pair):
            x, e = points[pair]
            return (round(math.cos(angle) * x + math.sin(angle) * e, 12), points[pair])

        return min(points, key=cost)

    on_hull = {best(angle): None for angle in np.linspace(1e-9, math.pi / 2 - 1e-9, 8_001)}
    return _from_pairs(sorted(on_hull, key=lambda pair: points[pair]), T)


def reduce_error(predictions, y, alphas, M, w, max_rounds=100):
    T, k = len(predictions), max(max(map(max, predictions)), *y) + 1

    def error(subset):
        wrong = 0.0
        for i in range(len(y)):
            votes = [0.0] * k
            for m in subset:
                votes[predictions[m][i]] += alphas[m]
            if winner(votes) != y[i]:
                wrong += w[i]
        return wrong

    def best(others, incumbent=None):
        errors = {m: error([*others, m]) for m in range(T) if m not in others}
        found = min(errors, key=errors.get)
        return incumbent if incumbent is not None and errors[incumbent] <= errors[found] else found

    chosen = []
    for _ in range(min(M, T)):
        chosen.append(best(chosen))
        for _ in range(max_rounds):
            changed = False
            for place in range(len(chosen)):
                new = best(chosen[:place] + chosen[place + 1 :], chosen[place])
                changed |= new != chosen[place]
                chosen[place] = new
            if not changed:
                break
    return chosen
