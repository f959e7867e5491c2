"""DWMIL and UnderBagging for two classes as published: chunk by chunk, tree by tree, slowly.

The trees are scikit-learn's, fitted and asked through its public methods. What is shared with the library is the order
in which random numbers are drawn.
"""

from __future__ import annotations

import math

import numpy as np
from sklearn.tree import DecisionTreeClassifier


class _Seeded(np.random.RandomState):
    """Gives scikit-learn's tree the seed that its splitter draws first."""

    def __init__(self, seed):
        super().__init__(0)
        self.first = seed

    def randint(self, *args, **kwargs):
        return self.first


class UnderBagging:
    """Algorithm 2; labels are 1 (positive) and -1."""

    def __init__(self, X, y, rngs):
        positives, negatives = np.flatnonzero(y == 1), np.flatnonzero(y == -1)
        n_s = min(len(positives), len(negatives))
        self.trees = []
        for rng in rngs:
            d_n = negatives[rng.integers(len(negatives), size=n_s)]
            d_p = positives[rng.integers(len(positives), size=n_s)]
            rows = np.concatenate([d_n, d_p])
            tree = DecisionTreeClassifier(min_samples_split=10, random_state=_Seeded(int(rng.integers(2**31))))
            self.trees.append(tree.fit(X[rows], y[rows]))

    def predict(self, X):
        """Sign of the sum."""
        return np.sign(sum(tree.predict(X) for tree in self.trees))


def gmean_error(y, said):
    tp = tn = p = n = 0
    for truth, h in zip(y.tolist(), said.tolist(), strict=True):
        if truth == 1:
            p += 1
            tp += h == 1
        else:
            n += 1
            tn += h == -1
    return 1.0 - math.sqrt((tp / p) * (tn / n))


class DWMIL:
    """Algorithm 1, with the geometric mean as the error."""

    def __init__(self, n_estimators=11, theta=0.001, seed=0):
        root = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed).spawn(1)[0]))
        self.rngs = root.spawn(n_estimators)
        self.theta = theta
        self.experts = []
        self.weights = []

    def scores(self, X):
        """Equation 3 without the sign, row by row."""
        said = [expert.predict(X) for expert in self.experts]
        return np.array([sum(w * h[i] for w, h in zip(self.weights, said, strict=True)) for i in range(len(X))])

    def learn(self, X, y):
        if len(set(y.tolist())) < 2:
            return
        for j, expert in enumerate(self.experts):
            self.weights[j] *= 1.0 - gmean_error(y, expert.predict(X))
        alive = [j for j, w in enumerate(self.weights) if w >= self.theta]
        self.experts = [self.experts[j] for j in alive]
        self.weights = [self.weights[j] for j in alive]
        self.experts.append(UnderBagging(X, y, self.rngs))
        self.weights.append(1.0)
