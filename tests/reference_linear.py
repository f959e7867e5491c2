"""Online gradient descent and passive-aggressive learning as published, row by row in plain Python.

Weights are dicts from column to weight, one per class beyond two classes; nothing is scaled lazily, vectorised or
shared with the library.
"""

from __future__ import annotations

import math


class Scaler:
    """Columns scaled by the rows so far."""

    def __init__(self, kind):
        self.kind = kind
        self.weight, self.mean, self.m2, self.largest = {}, {}, {}, {}

    def learn(self, x, w):
        for j, value in x.items():
            if isinstance(j, tuple):  # a nominal value's own column
                continue
            self.largest[j] = max(self.largest.get(j, 0.0), abs(value))
            total = self.weight.get(j, 0.0) + w
            before = self.mean.get(j, 0.0)
            self.mean[j] = before + (value - before) * w / total
            self.m2[j] = self.m2.get(j, 0.0) + w * (value - before) * (value - self.mean[j])
            self.weight[j] = total

    def scale(self, x):
        if self.kind == "none":
            return x
        result = {}
        for j, value in x.items():
            if isinstance(j, tuple):
                result[j] = value
            elif self.kind == "max_abs":
                result[j] = value / self.largest[j] if self.largest.get(j) else 0.0
            else:
                variance = self.m2.get(j, 0.0) / self.weight.get(j, 1.0)
                result[j] = (value - self.mean[j]) / math.sqrt(variance) if variance > 1e-200 else 0.0
        return result


class Linear:
    """A linear model; ``slopes`` and ``steps`` are the algorithm's own."""

    def __init__(self, scaling="none", fit_intercept=True, regression=False):
        self.scaler = Scaler(scaling)
        self.fit_intercept = fit_intercept
        self.regression = regression
        self.vectors, self.intercepts = [{}], [0.0]
        self.known = 0  # classes
        self.t = 0

    def entries(self, row):
        """A row as a dict without what is missing: numbers by column, nominal values as columns of their own."""
        x = {}
        for j, value in row.items():
            if isinstance(value, str):
                x[j, value] = 1.0
            elif value is not None and value == value:
                x[j] = float(value)
        return x

    def scores(self, x):
        return [
            sum(vector.get(j, 0.0) * value for j, value in x.items()) + intercept
            for vector, intercept in zip(self.vectors, self.intercepts, strict=True)
        ]

    def know(self, label):
        if label < self.known:
            return
        if label >= 2 and self.known <= 2:
            half = {j: v / 2 for j, v in self.vectors[0].items()}
            self.vectors = [{j: -v for j, v in half.items()}, half]
            self.intercepts = [-self.intercepts[0] / 2, self.intercepts[0] / 2]
            self.split()
        while label >= 2 and len(self.vectors) <= label:
            self.vectors.append({})
            self.intercepts.append(0.0)
            self.another()
        self.known = label + 1

    def split(self):
        pass

    def another(self):
        pass

    def predict(self, row):
        """Probabilities of the classes known, or a number."""
        scores = self.scores(self.scaler.scale(self.entries(row)))
        if self.regression:
            return scores[0]
        if self.known == 0:
            return []
        if self.known == 1:
            return [1.0]
        if self.known == 2:
            scores = [0.0, scores[0]]
        top = max(scores)
        shares = [math.exp(score - top) for score in scores]
        return [share / sum(shares) for share in shares]

    def learn(self, row, y, w=1.0):
        if w == 0.0:
            return
        if not self.regression:
            self.know(y)
        x = self.entries(row)
        self.scaler.learn(x, w)
        x = self.scaler.scale(x)
        self.t += 1
        self.step(x, y, w, self.scores(x))


class OGD(Linear):
    """Zinkevich (2003): a step against the gradient, then the projection."""

    def __init__(
        self, loss, learning_rate, schedule="sqrt", radius=None, l2=0.0, huber_delta=1.0, scaling="none",
        fit_intercept=True,
    ):  # fmt: skip
        regression = loss in ("squared_error", "absolute_error", "huber")
        super().__init__(scaling, fit_intercept, regression)
        self.loss, self.c, self.schedule, self.radius, self.l2 = loss, learning_rate, schedule, radius, l2
        self.delta = huber_delta
        self.squares = [{}]  # of AdaGrad

    def split(self):
        self.squares = [dict(self.squares[0]), dict(self.squares[0])]

    def another(self):
        self.squares.append({})

    def slopes(self, y, scores):
        """Derivatives of the loss by the scores."""
        if self.regression:
            error = scores[0] - y
            if self.loss == "squared_error":
                return [error]
            if self.loss == "huber" and abs(error) <= self.delta:
                return [error]
            return [math.copysign(self.delta if self.loss == "huber" else 1.0, error) if error else 0.0]
        if self.known <= 2:
            sign = 1 if y == 1 else -1
            if self.loss == "log_loss":
                return [-sign / (1.0 + math.exp(sign * scores[0]))]
            return [-sign if sign * scores[0] < 1 else 0.0]
        if self.loss == "log_loss":
            top = max(scores)
            shares = [math.exp(score - top) for score in scores]
            return [share / sum(shares) - (c == y) for c, share in enumerate(shares)]
        rival = max((c for c in range(len(scores)) if c != y), key=lambda c: scores[c])
        slopes = [0.0] * len(scores)
        if scores[y] - scores[rival] < 1:
            slopes[y], slopes[rival] = -1.0, 1.0
        return slopes

    def step(self, x, y, w, scores):
        eta = {"constant": 1.0, "sqrt": self.t**-0.5, "inverse": 1.0 / self.t, "adagrad": 1.0}[self.schedule] * self.c
        slopes = self.slopes(y, scores)
        for vector in self.vectors:
            for j in vector:
                vector[j] *= max(0.0, 1.0 - eta * self.l2)
        columns = {**x, "intercept": 1.0} if self.fit_intercept else x
        for c, slope in enumerate(slopes):
            for j, value in columns.items():
                gradient = w * slope * value
                rate = eta
                if self.schedule == "adagrad":
                    self.squares[c][j] = self.squares[c].get(j, 0.0) + gradient * gradient
                    rate = eta / (math.sqrt(self.squares[c][j]) + 1e-8)
                if j == "intercept":
                    self.intercepts[c] -= rate * gradient
                else:
                    self.vectors[c][j] = self.vectors[c].get(j, 0.0) - rate * gradient
        if self.radius is not None:
            norm = math.sqrt(sum(v * v for vector in self.vectors for v in vector.values()))
            if norm > self.radius:
                for vector in self.vectors:
                    for j in vector:
                        vector[j] *= self.radius / norm


class PassiveAggressive(Linear):
    """Crammer et al. (2006), figure 1 and section 8; the intercept is the weight of a column of ones."""

    def __init__(self, variant="PA-I", C=1.0, fit_intercept=True):
        super().__init__("none", fit_intercept)
        self.variant, self.C = variant, C

    def step(self, x, y, w, scores):
        length2 = sum(value * value for value in x.values()) + self.fit_intercept
        if self.known <= 2:
            moves = {0: 1 if y == 1 else -1}
            margin = moves[0] * scores[0]
        else:
            rival = max((c for c in range(len(scores)) if c != y), key=lambda c: scores[c])
            moves = {y: 1, rival: -1}
            margin = scores[y] - scores[rival]
            length2 *= 2
        loss = max(0.0, 1.0 - margin)
        if loss == 0.0 or length2 == 0.0:
            return
        tau = loss / length2
        if self.variant == "PA-I":
            tau = min(self.C * w, tau)
        elif self.variant == "PA-II":
            tau = loss / (length2 + 1.0 / (2.0 * self.C * w))
        for c, move in moves.items():
            for j, value in x.items():
                self.vectors[c][j] = self.vectors[c].get(j, 0.0) + tau * move * value
            if self.fit_intercept:
                self.intercepts[c] += tau * move
