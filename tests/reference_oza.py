"""Online bagging and boosting as published (Kirkby's thesis, Algorithms 9 and 10): one row after the other, one member
after the other, nothing else."""

from __future__ import annotations

import math

import numpy as np


class Members:
    """Learners that are told of a row with a weight, and asked for the class probabilities of a row."""

    def __init__(self, make, rngs):
        self.learners = [make() for _ in rngs]
        self.rngs = rngs

    def learn(self, m, x, y, weight, classes):
        if weight > 0:
            self.learners[m].partial_fit([x], [y], classes=classes, sample_weight=[weight])

    def votes(self, m, x, k):
        """Class probabilities, or None from a member that has learned nothing yet."""
        if not self.learners[m].__sklearn_is_fitted__():
            return None
        return self.learners[m].predict_proba([x])[0]


def best(votes):
    return None if votes is None else int(np.argmax(votes))


def add(total, votes, weight, hard):
    if votes is None or weight == 0:
        return
    if hard:
        total[best(votes)] += weight
    else:
        for c, vote in enumerate(votes):
            total[c] += weight * vote


class OzaBagging:
    def __init__(self, make, rngs, hard, classes):
        self.members, self.hard, self.classes = Members(make, rngs), hard, classes

    def predict_proba(self, x):
        total = [0.0] * len(self.classes)
        for m in range(len(self.members.rngs)):
            add(total, self.members.votes(m, x, len(self.classes)), 1.0, self.hard)
        return total

    def learn(self, x, y, w):
        for m, rng in enumerate(self.members.rngs):
            if w > 0:
                self.members.learn(m, x, y, rng.poisson(1.0) * w, self.classes)


class OzaBoosting:
    def __init__(self, make, rngs, hard, classes, poisson):
        self.members, self.hard, self.classes, self.poisson = Members(make, rngs), hard, classes, poisson
        self.right = [0.0] * len(rngs)
        self.wrong = [0.0] * len(rngs)
        self.seen = 0.0

    def vote_weight(self, m):
        right, wrong = self.right[m], self.wrong[m]
        return 0.0 if wrong == 0 or wrong >= right else math.log(right / wrong)

    def predict_proba(self, x):
        weights = [self.vote_weight(m) for m in range(len(self.right))]
        totals = []
        for use in (weights, [1.0] * len(weights)):
            total = [0.0] * len(self.classes)
            for m, weight in enumerate(use):
                add(total, self.members.votes(m, x, len(self.classes)), weight, self.hard)
            totals.append(total)
        return totals[0] if any(totals[0]) else totals[1]

    def learn(self, x, y, w):
        if w == 0:
            return
        self.seen += w
        lam = 1.0
        for m, rng in enumerate(self.members.rngs):
            k = rng.poisson(lam) if self.poisson else lam
            self.members.learn(m, x, y, k * w, self.classes)
            if best(self.members.votes(m, x, len(self.classes))) == y:
                self.right[m] += w * lam
                lam *= self.seen / (2 * self.right[m])
            else:
                self.wrong[m] += w * lam
                lam *= self.seen / (2 * self.wrong[m])


class ArcX4(OzaBagging):  # votes as bagging does
    def learn(self, x, y, w):
        wrong = 0
        for m in range(len(self.members.rngs)):
            right = best(self.members.votes(m, x, len(self.classes))) == y
            self.members.learn(m, x, y, (1 + wrong**4) * w, self.classes)
            wrong += not right


class SmoothBoost(OzaBagging):
    def __init__(self, make, rngs, hard, classes, gamma=0.1):
        super().__init__(make, rngs, hard, classes)
        self.gamma = gamma

    def learn(self, x, y, w):
        theta = self.gamma / (2 + self.gamma)
        z, weight = 0.0, 1.0
        for m in range(len(self.members.rngs)):
            z += (1.0 if best(self.members.votes(m, x, len(self.classes))) == y else -1.0) - theta
            self.members.learn(m, x, y, weight * w, self.classes)
            weight = 1.0 if z <= 0 else (1 - self.gamma) ** (0.5 * z)


class CappedBoost(OzaBoosting):
    def __init__(self, make, rngs, hard, classes, cap):
        super().__init__(make, rngs, hard, classes, poisson=False)
        self.cap = cap

    def learn(self, x, y, w):
        if w == 0:
            return
        self.seen += w
        weight = 1.0
        for m in range(len(self.members.rngs)):
            side = self.right if best(self.members.votes(m, x, len(self.classes))) == y else self.wrong
            self.members.learn(m, x, y, weight * w, self.classes)
            side[m] += w * weight
            weight = min(weight * (self.seen / (2 * side[m])), self.cap)


class MadaBoost(OzaBoosting):
    def __init__(self, make, rngs, hard, classes, filtering):
        super().__init__(make, rngs, hard, classes, poisson=False)
        self.filtering = filtering

    def vote_weight(self, m):
        right, wrong = self.right[m], self.wrong[m]
        if self.seen <= 1 or wrong >= right:
            return 0.0
        return math.atanh(min((right - wrong) / (right + wrong), 1 - 1 / self.seen))

    def learn(self, x, y, w):
        if w == 0:
            return
        self.seen += w
        product = 1.0
        for m, rng in enumerate(self.members.rngs):
            right = best(self.members.votes(m, x, len(self.classes))) == y
            use = float(rng.random() < min(1.0, product)) if self.filtering else min(1.0, product)
            self.members.learn(m, x, y, use * w, self.classes)
            (self.right if right else self.wrong)[m] += w * min(1.0, product)
            product *= math.exp(-self.vote_weight(m) if right else self.vote_weight(m))
