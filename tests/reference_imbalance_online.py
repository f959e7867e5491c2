"""The online methods for imbalanced and drifting streams as published: one row after the other, one member after the
other, nothing else. Rows of weight 0 are not handed to these."""

from __future__ import annotations

import math

import numpy as np
from reference_oza import OzaBagging, best


def scaled(votes):
    """Votes as probabilities; all zero if there are none."""
    total = sum(votes)
    return [vote / total for vote in votes] if total > 0 else list(votes)


class Resampling(OzaBagging):
    """OOB and UOB, the improved form: S. Wang, L. L. Minku, X. Yao, 2015 and 2016."""

    def __init__(self, make, rngs, hard, classes, extreme, decay=0.9):
        super().__init__(make, rngs, hard, classes)
        self.extreme, self.decay = extreme, decay
        self.sizes = {c: 1 / len(classes) for c in classes}

    def rate(self, y):
        self.sizes.setdefault(y, 0.0)
        for c in self.sizes:
            self.sizes[c] = self.decay * self.sizes[c] + ((1 - self.decay) if c == y else 0.0)
        return self.extreme(self.sizes.values()) / self.sizes[y]

    def learn(self, x, y, w):
        rate = self.rate(y)
        for m, rng in enumerate(self.members.rngs):
            self.members.learn(m, x, y, rng.poisson(rate) * w, self.classes)


class WEOB:
    """WEOB1 and WEOB2: S. Wang, L. L. Minku, X. Yao, 2015."""

    def __init__(self, oob, uob, best_only, decay=0.9, window=51):
        self.both, self.best_only, self.decay, self.window = (oob, uob), best_only, decay, window
        self.recalls = [{}, {}]
        self.history = [[], []]  # the recalls at every row so far

    def g_mean(self, e):
        latest = self.history[e][-self.window :]
        smoothed = []
        for c in sorted(self.recalls[e]):
            known = [recalls[c] for recalls in latest if c in recalls]
            if known:
                smoothed.append(sum(known) / len(known))
        if not smoothed:
            return 0.0
        product = math.prod(smoothed)
        return math.sqrt(product) if len(smoothed) == 2 else product ** (1 / len(smoothed))

    def predict_proba(self, x):
        g_o, g_u = self.g_mean(0), self.g_mean(1)
        if self.best_only:
            alpha = 1.0 if g_o > g_u else 0.0 if g_o < g_u else 0.5
        else:
            alpha = g_o / (g_o + g_u) if g_o + g_u > 0 else 0.5
        votes = [ensemble.predict_proba(x) for ensemble in self.both]
        total = [alpha * a + (1 - alpha) * b for a, b in zip(*map(scaled, votes), strict=True)]
        return total if any(total) else [a + b for a, b in zip(*votes, strict=True)]

    def learn(self, x, y, w):
        for e, ensemble in enumerate(self.both):
            votes = ensemble.predict_proba(x)
            right = float(any(votes) and best(votes) == y)
            recalls = self.recalls[e]
            recalls[y] = self.decay * recalls[y] + (1 - self.decay) * right if y in recalls else right
            self.history[e].append(dict(recalls))
            ensemble.learn(x, y, w)


class DynamicWeightedMajority:
    """DWM: J. Z. Kolter and M. A. Maloof, 2007, the pseudo-code's steps in their order.

    ``make(k)`` makes the k-th expert, with ``predict_proba(x)`` and ``learn(x, y, w)``.
    """

    def __init__(self, make, classes, hard, period, beta, theta, most):
        self.make, self.classes, self.hard = make, classes, hard
        self.period, self.beta, self.theta, self.most = period, beta, theta, most
        self.experts, self.weights = [make(0)], [1.0]
        self.made, self.seen = 1, 0

    def majority(self, votes, weights):
        total = [0.0] * len(self.classes)
        for one, weight in zip(votes, weights, strict=True):
            if not any(one):
                continue
            if self.hard:
                total[best(one)] += weight
            else:
                for c, vote in enumerate(one):
                    total[c] += weight * vote
        return total

    def predict_proba(self, x):
        return self.majority([expert.predict_proba(x) for expert in self.experts], self.weights)

    def learn(self, x, y, w):
        self.seen += 1
        if self.seen % self.period == 0:
            votes = [expert.predict_proba(x) for expert in self.experts]
            for m, one in enumerate(votes):
                if any(one) and best(one) != y:
                    self.weights[m] *= self.beta
            total = self.majority(votes, self.weights)
            largest = max(self.weights)
            weights = [weight / largest for weight in self.weights]
            kept = [m for m, weight in enumerate(weights) if weight >= self.theta]
            self.experts = [self.experts[m] for m in kept]
            self.weights = [weights[m] for m in kept]
            if any(total) and best(total) != y:
                if len(self.experts) == self.most:
                    weakest = self.weights.index(min(self.weights))
                    del self.experts[weakest], self.weights[weakest]
                self.experts.append(self.make(self.made))
                self.weights.append(1.0)
                self.made += 1
        for expert in self.experts:
            expert.learn(x, y, w)


class Single:
    """A learner of the library as an expert."""

    def __init__(self, learner, classes):
        self.learner, self.classes = learner, classes

    def predict_proba(self, x):
        if not self.learner.__sklearn_is_fitted__():
            return [0.0] * len(self.classes)
        return self.learner.predict_proba([x])[0].tolist()

    def learn(self, x, y, w):
        self.learner.partial_fit([x], [y], classes=self.classes, sample_weight=[w])


def of_one_expert(learner, classes):
    """A maker of experts that are copies of a learner, for :class:`DynamicWeightedMajority`."""
    from sklearn.base import clone

    return lambda k: Single(clone(learner), classes)


class KernelLogistic:
    """Kernel logistic regression by stochastic gradient steps, columns scaled by their ranges so far."""

    def __init__(self, learning_rate, l2, bandwidth, budget):
        self.learning_rate, self.l2, self.bandwidth, self.budget = learning_rate, l2, bandwidth, budget
        self.kept, self.alphas = [], []
        self.low, self.high = {}, {}

    def probability(self, x):
        """Of class 1; None before the first row."""
        return 1 / (1 + math.exp(-self.score(x))) if self.kept else None

    def score(self, x):
        total = 0.0
        for alpha, other in zip(self.alphas, self.kept, strict=True):
            distance = 0.0
            for j, (a, b) in enumerate(zip(x, other, strict=True)):
                if self.high[j] > self.low[j]:
                    distance += ((a - b) / (self.high[j] - self.low[j])) ** 2
            total += alpha * math.exp(-distance / (2 * self.bandwidth**2))
        return total

    def learn(self, x, own, w):
        for j, value in enumerate(x):
            self.low[j] = min(self.low.get(j, value), value)
            self.high[j] = max(self.high.get(j, value), value)
        sign = 1 if own else -1
        step = self.learning_rate * w * sign / (1 + math.exp(sign * self.score(x)))
        self.alphas = [alpha * (1 - self.learning_rate * self.l2) for alpha in self.alphas]
        self.alphas = [*self.alphas, step][-self.budget :]
        self.kept = [*self.kept, list(x)][-self.budget :]


class Tree:
    """A learner of the library as CBCE's model."""

    def __init__(self, make):
        self.learner = make()

    def probability(self, x):
        if not self.learner.__sklearn_is_fitted__():
            return None
        return self.learner.predict_proba([x])[0][1]

    def learn(self, x, own, w):
        self.learner.partial_fit([x], [int(own)], classes=[0, 1], sample_weight=[w])


class CBCE:
    """CBCE: Y. Sun, K. Tang, L. L. Minku, S. Wang, X. Yao, 2016; ``rngs`` as the library's, by class."""

    def __init__(self, make, rngs, classes, decay, vanished, make_detector, most):
        self.make, self.rngs, self.classes, self.decay, self.vanished = make, rngs, classes, decay, vanished
        self.make_detector, self.most = make_detector, most
        self.models, self.detectors, self.stored, self.shares, self.first = {}, {}, {}, {}, {}
        self.drifts = [0] * len(classes)
        self.seen = 0

    def predict_proba(self, x):
        votes = [0.0] * len(self.classes)
        for c, model in self.models.items():
            if self.shares[c] > 0 and self.shares[c] >= self.vanished:
                votes[c] = model.probability(x) or 0.0
        return votes

    def learn(self, x, y, w):
        for c in self.shares:
            if c != y:
                self.shares[c] *= self.decay
        if y not in self.models:
            self.models[y], self.detectors[y], self.stored[y] = self.make(), self.make_detector(), []
            self.shares[y], self.first[y] = 0.0, self.seen
        elif y in self.first:
            self.shares[y] = 1 / (self.seen - self.first.pop(y))
        else:
            self.shares[y] = self.decay * self.shares[y] + (1 - self.decay)
        self.seen += 1
        for c in self.models:
            if c == y:
                self.teach(c, x, True, w)
            elif self.rngs[c].random() * (1 - self.shares[c]) < self.shares[c]:
                self.teach(c, x, False, w)

    def teach(self, c, x, own, w):
        probability = self.models[c].probability(x)
        self.models[c].learn(x, own, w)
        if probability is None:
            return
        wrong = (probability > 0.5) != own
        self.detectors[c].update(float(wrong))
        if self.detectors[c].drift_detected or self.detectors[c].warning_detected:
            self.stored[c] = [*self.stored[c], (x, own, w)][-self.most :]
        else:
            self.stored[c] = []
        if self.detectors[c].drift_detected:
            self.drifts[c] += 1
            self.models[c], self.detectors[c] = self.make(), self.make_detector()
            for row in self.stored[c]:
                self.models[c].learn(*row)
            self.stored[c] = []


class ELM:
    """A network of random hidden units with least squares on top, in plain matrices."""

    def __init__(self, layer, units, classes, C):
        self.layer, self.P, self.beta = layer, np.eye(units) * C, np.zeros((units, classes))

    def hidden(self, z):
        return 1 / (1 + np.exp(-(self.layer[0] + z @ self.layer[1:])))

    def outputs(self, z):
        return self.hidden(z) @ self.beta

    def learn(self, z, y, w):
        h = self.hidden(z)
        gain = self.P @ h / (1 / w + h @ self.P @ h)
        targets = np.where(np.arange(self.beta.shape[1]) == y, 1.0, -1.0)
        self.beta += np.outer(gain, targets - h @ self.beta)
        self.P -= np.outer(gain, h @ self.P)


def g_mean(hits, seen):
    recalls = [hit / n for hit, n in zip(hits, seen, strict=True) if n]
    return math.prod(recalls) ** (1 / len(recalls))


class ESOSELM:
    """ESOS-ELM: B. Mirza, Z. Lin, N. Liu, 2015; ``layers`` are the library's: one per member, and the store's."""

    def __init__(self, layers, classes, C, period, threshold, n_stored):
        units = layers[0].shape[1]
        self.classes, self.C, self.period, self.threshold, self.n_stored = classes, C, period, threshold, n_stored
        self.members = [ELM(layer, units, classes, C) for layer in layers[:-1]]
        self.weights, self.may_vote = [1.0] * len(self.members), [True] * len(self.members)
        self.old, self.counts, self.turns = [], [0] * classes, [0] * classes
        self.previous, self.drifts, self.seen, self.rows = None, 0, 0, []
        self.open_store(layers[-1])
        self.open_period()

    def open_store(self, layer):
        self.store = ELM(layer, layer.shape[1], self.classes, self.C)
        units = layer.shape[1]
        self.K, self.Q = np.zeros((self.classes, units, units)), np.zeros((self.classes, units, self.classes))
        self.sizes = np.zeros(self.classes)

    def open_period(self):
        self.hits = {}
        self.period_counts = [0] * self.classes

    def scaled(self, x):
        if not self.rows:
            return np.zeros(len(x))
        X, w = np.array([x for x, _ in self.rows]), np.array([w for _, w in self.rows])
        mean = np.average(X, axis=0, weights=w)
        deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
        return np.divide(np.array(x) - mean, deviation, out=np.zeros(len(x)), where=deviation > 0)

    def combined(self, z):
        weights = np.array(self.weights) * self.may_vote
        weights = weights / weights.sum() if weights.sum() > 0 else np.ones(len(weights)) / len(weights)
        return sum(weight * member.outputs(z) for weight, member in zip(weights, self.members, strict=True))

    def predict_proba(self, x):
        met = np.array(self.counts) > 0
        total = self.combined(self.scaled(x))
        return np.where(met, np.exp(total - total[met].max()), 0.0) if met.any() else np.zeros(self.classes)

    def learn(self, x, y, w):
        z = self.scaled(x)
        met = np.array(self.counts) > 0
        networks = [*self.members, *self.old]
        said = [network.outputs(z) for network in networks] + [self.combined(z)]
        for name, outputs in zip([*map(id, networks), "all"], said, strict=True):
            right = met.any() and np.where(met, outputs, -np.inf).argmax() == y
            self.hits.setdefault(name, [0] * self.classes)[y] += right
        self.period_counts[y] += 1
        self.rows.append((x, w))
        z = self.scaled(x)
        self.counts[y] += 1
        times = min(max(self.counts) // self.counts[y], len(self.members))
        for t in range(times):
            self.members[(self.turns[y] + t) % len(self.members)].learn(z, y, w)
        self.turns[y] = (self.turns[y] + times) % len(self.members)
        h = self.store.hidden(z)
        self.K[y] += w * np.outer(h, h)
        self.Q[y] += w * np.outer(h, np.where(np.arange(self.classes) == y, 1.0, -1.0))
        self.sizes[y] += w
        self.seen += 1
        if self.seen % self.period == 0:
            self.look()

    def look(self):
        g = [g_mean(self.hits[id(member)], self.period_counts) for member in self.members]
        g_old = [g_mean(self.hits[id(network)], self.period_counts) for network in self.old]
        whole = g_mean(self.hits["all"], self.period_counts)
        weights = [weight * mine for weight, mine in zip(self.weights, g, strict=True)]
        if max(weights) > 0:
            self.weights = [weight / max(weights) for weight in weights]
        lowest = min(mine for mine, may in zip(g, self.may_vote, strict=True) if may)
        self.may_vote = [may or mine >= lowest for mine, may in zip(g, self.may_vote, strict=True)]
        worst, best = g.index(min(g)), g.index(max(g))
        if self.previous is not None and whole < self.threshold * self.previous:
            self.drifts += 1
            self.may_vote = [False] * len(self.members)
            layer = self.members[best].layer
            new = self.store
            sizes = [size if size else math.inf for size in self.sizes]
            new.P = np.linalg.inv(sum(K / n for K, n in zip(self.K, sizes, strict=True)) + np.eye(len(new.P)) / self.C)
            new.beta = new.P @ sum(Q / n for Q, n in zip(self.Q, sizes, strict=True))
            self.old = [*self.old, new][-self.n_stored :]
            self.replace(worst, new)
            self.open_store(layer)
        elif g_old and max(g_old) > min(g):
            self.replace(worst, self.old[g_old.index(max(g_old))])
        self.previous = whole
        self.open_period()

    def replace(self, member, by):
        copy = ELM(by.layer, len(by.P), self.classes, self.C)
        copy.P, copy.beta = by.P.copy(), by.beta.copy()
        self.members[member], self.weights[member], self.may_vote[member] = copy, 1.0, True
