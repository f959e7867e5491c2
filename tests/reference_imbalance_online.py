"""The online methods for imbalanced and drifting streams as published: one row after the other, one member after the
other, nothing else. Rows of weight 0 are not handed to these."""

from __future__ import annotations

import math

from reference_oza import OzaBagging, best


def scaled(votes):
    """Votes as probabilities; all zero if there are none."""
    total = sum(votes)
    return [vote / total for vote in votes] if total > 0 else list(votes)


class Resampling(OzaBagging):
    """OOB and UOB, the improved form: S. Wang, L. L. Minku, X. Yao, 2015 and 2016."""

    def __init__(self, make, rngs, hard, classes, extreme, decay=0.9):
        super().__init__(make, rngs, hard, classes)
        self.extreme, self.decay, self.sizes = extreme, decay, {}

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
