"""The learners for haphazard rows as published, row by row on dicts: small, slow, obvious.

A row is a dict of feature names and numbers, already scaled; what it does not hold is absent. Labels are 1 and -1.
"""

from __future__ import annotations

import math

import numpy as np


def shrink_and_cut(w, norm, radius, share, known):
    if norm > radius:
        for f in w:
            w[f] *= radius / norm
    kept = max(1, math.floor(share * known))
    nonzero = [f for f in w if w[f] != 0.0]
    if share < 1.0 and len(nonzero) > kept:
        for f in sorted(nonzero, key=lambda f: -abs(w[f]))[kept:]:
            w[f] = 0.0


def sigma(z):
    return 1.0 / (1.0 + math.exp(-z))


class OLSF:
    def __init__(self, variant, C, radius, share):
        self.variant, self.C, self.radius, self.share = variant, C, radius, share
        self.w = {}

    def score(self, x):
        return sum(self.w.get(f, 0.0) * value for f, value in x.items())

    def learn(self, x, y, weight=1.0):
        loss = max(0.0, 1.0 - y * self.score(x))
        length2 = sum(value * value for value in x.values())
        for f in x:
            self.w.setdefault(f, 0.0)
        if loss > 0.0 and length2 > 0.0:
            tau = {
                "OLSF": lambda: loss / length2,
                "OLSF-I": lambda: min(self.C * weight, loss / length2),
                "OLSF-II": lambda: loss / (length2 + 1.0 / (2.0 * self.C * weight)),
            }[self.variant]()
            for f, value in x.items():
                self.w[f] += tau * y * value
        shrink_and_cut(self.w, sum(map(abs, self.w.values())), self.radius, self.share, len(self.w))


class OLVF:
    def __init__(self, C, C_space, radius, share):
        self.C, self.C_space, self.radius, self.share = C, C_space, radius, share
        self.w, self.v = {}, {}

    def score(self, x):
        return sum(self.w.get(f, 0.0) * value for f, value in x.items())

    def learn(self, x, y, weight=1.0):
        score = self.score(x)
        new = [f for f in x if f not in self.w]
        p_w = sigma(sum(self.v.values()))
        p_x = sigma(sum(self.v.get(f, 0.0) for f in x))
        for f in new:
            self.w[f] = self.v[f] = 0.0
        h = 1.0 if y * score > 0.0 else -1.0
        margin = h * sum(self.v[f] for f in x)
        slope = sigma(-margin)
        gradient = dict.fromkeys(x, -h * slope)
        tau = min(self.C_space * weight, math.log1p(math.exp(-margin)) / sum(g * g for g in gradient.values()))
        for f in x:
            self.v[f] -= tau * gradient[f]
        length2 = sum(value * value for value in x.values())
        if length2 > 0.0:
            tau = min(self.C * weight, max(0.0, 1.0 - y * score) / length2)
            for f, value in x.items():
                self.w[f] += (p_x if f in new else p_w) * tau * y * value
        norm = sum(abs(self.v[f] * self.w[f]) for f in self.w)
        shrink_and_cut(self.w, norm, self.radius, self.share, len(self.w))


class OCDS:
    """``edges(n)`` gives the graph before anything is learned; features come in the order of ``names``."""

    def __init__(self, edges, rate, alpha, beta1, beta2, period, share):
        self.rate, self.alpha, self.beta1, self.beta2 = rate, alpha, beta1, beta2
        self.period, self.share, self.edges = period, share, edges
        self.names, self.w, self.G = [], np.zeros(0), np.zeros((0, 0))
        self.t, self.p, self.losses = 0, 0.5, []

    def arrays(self, x):
        there = np.array([f in x for f in self.names], bool)
        return np.array([x.get(f, 0.0) for f in self.names]), there

    def halves(self, x):
        value, there = self.arrays(x)
        psi = self.G.T @ value / max(1, there.sum())
        return self.w[there] @ value[there], self.w[~there] @ psi[~there], value, there, psi

    def score(self, x):
        observed, rebuilt, *_ = self.halves(x)
        return self.p * observed + (1.0 - self.p) * rebuilt

    def learn(self, x, y, weight=1.0):
        known = len(self.names)
        self.names += [f for f in x if f not in self.names]
        n = len(self.names)
        G = self.edges(n).copy()
        G[:known, :known] = self.G
        self.G, self.w = G, np.concatenate([self.w, np.zeros(n - known)])
        observed, rebuilt, value, there, psi = self.halves(x)
        d = there.sum()
        self.losses.append([math.log1p(math.exp(-y * f)) / math.log(2.0) for f in (observed, rebuilt)])

        error = y - self.w @ psi
        A = np.abs(self.G) + np.abs(self.G).T
        laplacian = np.diag(A.sum(axis=1)) - A
        by_w = -2.0 * error * psi + self.beta1 * np.sign(self.w) + self.beta2 * laplacian @ self.w
        by_G = -2.0 / d * error * np.outer(value, self.w) - 2.0 * self.alpha / d * np.outer(
            value, there * (value - psi)
        )
        self.t += 1
        tau = self.rate * weight / math.sqrt(self.t)
        curvature_w = 2.0 * (psi @ psi + self.beta2 * (A.sum(axis=1).max() if self.beta2 else 0.0))
        curvature_G = 2.0 * (self.w @ self.w + self.alpha) * (value @ value) / d**2
        self.w = self.w - min(tau, 1.0 / curvature_w if curvature_w else np.inf) * by_w
        self.G = self.G - min(tau, 1.0 / curvature_G if curvature_G else np.inf) * by_G

        if len(self.losses) == self.period:
            L_there, L_rebuilt = np.sum(self.losses, axis=0)
            eta = 8.0 * math.sqrt(1.0 / math.log(self.period))
            self.p = sigma(eta * (L_rebuilt - L_there))
            self.losses = []
        kept = max(1, math.floor(self.share * n))
        if self.share < 1.0 and np.count_nonzero(self.w) > kept:
            self.w[np.argsort(-np.abs(self.w), kind="stable")[kept:]] = 0.0


class OPID:
    """Keeps the stage's rows and solves from scratch."""

    def __init__(self, alpha, ridge, inherit, patience):
        self.alpha, self.ridge, self.inherit, self.patience = alpha, ridge, inherit, patience
        self.met, self.takes_part, self.missing = [], set(), {}
        self.rows, self.start, self.w = [], {}, {}

    def score(self, x):
        return sum(self.w.get(f, 0.0) * value for f, value in x.items())

    def matrices(self, names):
        X = np.array([[row.get(f, 0.0) for f in names] for row, _, _ in self.rows]).reshape(-1, len(names))
        y = np.array([label for _, label, _ in self.rows])
        u = np.sqrt([weight for _, _, weight in self.rows])
        penalty = np.diag([self.inherit if f in self.start else self.ridge for f in names])
        return X * u[:, None], y * u, penalty, np.array([self.start.get(f, 0.0) for f in names])

    def learn(self, x, y, weight=1.0):
        new_column = any(f not in self.met for f in x)
        for f in self.takes_part:
            self.missing[f] = 0 if f in x else self.missing.get(f, 0) + 1
        gone = {f for f in self.takes_part if f not in x and (new_column or self.missing[f] >= self.patience)}
        if gone:
            self.compress(gone)
        self.met += [f for f in x if f not in self.met]
        self.takes_part |= set(x)
        self.rows.append((x, y, weight))
        names = sorted(self.takes_part)
        X, target, penalty, start = self.matrices(names)
        self.w = dict(zip(names, np.linalg.solve(X.T @ X + penalty, X.T @ target + penalty @ start), strict=True))

    def compress(self, gone):
        names = sorted(self.takes_part)
        X, y, penalty, start = self.matrices(names)
        stays = [k for k, f in enumerate(names) if f not in gone]
        Z, n = X[:, stays], len(names)
        # |Xw - y|^2 + |Zv - y|^2 + alpha |Xw - Zv|^2 + both penalties as one least-squares problem in (w, v).
        a, root = math.sqrt(self.alpha), np.sqrt(penalty)
        A = np.block(
            [
                [X, np.zeros(Z.shape)],
                [np.zeros(X.shape), Z],
                [a * X, -a * Z],
                [root, np.zeros((n, len(stays)))],
                [np.zeros((len(stays), n)), root[np.ix_(stays, stays)]],
            ]
        )
        b = np.concatenate([y, y, 0.0 * y, root @ start, (root @ start)[stays]])
        v = np.linalg.lstsq(A, b, rcond=None)[0][n:]
        self.start = {names[k]: v[i] for i, k in enumerate(stays)}
        self.takes_part = set(self.start)
        self.missing = {}
        self.rows = []
