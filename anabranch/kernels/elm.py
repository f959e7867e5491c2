"""Extreme learning machines, row by row: a random hidden layer, and least squares on top of it.

The hidden layer is never drawn: its weights are a hash of its seed, the column and, for a nominal column, the value, so
that columns and values may turn up at any time. Targets are 1 for a row's class and -1 for all others. Output 0 is for
a class that no row has shown yet: a class that turns up takes over its weights, which are what its own would be had it
been known from the start.
"""

from __future__ import annotations

import math

import numpy as np

from anabranch.kernels import kernel

# Rows of `stats`: weight, mean and sum of squared differences of each column.
WEIGHT, MEAN, M2 = range(3)
# Columns that vary less are constant.
_SMALLEST_VARIANCE = 1e-200

_A, _B, _C = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@kernel(inline=False)
def _mixed(h):
    """Mix the bits of a number, as SplitMix64 does."""
    h = (h ^ (h >> np.uint64(30))) * _B
    h = (h ^ (h >> np.uint64(27))) * _C
    return h ^ (h >> np.uint64(31))


@kernel(inline=False)
def hidden_weight(seed, column, value, unit):
    """Weight of a hidden unit, between -1 and 1; the bias is that of column -1."""
    h = np.uint64(seed)
    for part in (column + 1, value, unit):
        h = _mixed(h * _A + np.uint64(part) + _A)
    return 2.0 * (float(h >> np.uint64(11)) * 2.0**-53) - 1.0


@kernel
def layer(seed, alphas, start):
    """Fill in the weights of columns from ``start`` on; the first row is the bias."""
    for j in range(start, alphas.shape[0]):
        for u in range(alphas.shape[1]):
            alphas[j, u] = hidden_weight(seed, j - 1, 0, u)


@kernel(inline=False)
def _scaled(value, j, stats):
    """A column's value in standard deviations from its mean; 0 where it is missing or the column is constant."""
    if value != value or stats[WEIGHT, j] <= 0.0:
        return 0.0
    variance = stats[M2, j] / stats[WEIGHT, j]
    return (value - stats[MEAN, j]) / math.sqrt(variance) if variance > _SMALLEST_VARIANCE else 0.0


@kernel
def standardise(X, w, nominal, stats, before, after):
    """Scale rows by means and deviations just before and just after each is counted in; nominal codes stay."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            value = X[i, j]
            if nominal[j]:
                before[i, j] = after[i, j] = value
                continue
            before[i, j] = _scaled(value, j, stats)
            if w[i] > 0.0 and value == value:
                stats[WEIGHT, j] += w[i]
                away = value - stats[MEAN, j]
                stats[MEAN, j] += away * (w[i] / stats[WEIGHT, j])
                stats[M2, j] += w[i] * away * (value - stats[MEAN, j])
            after[i, j] = _scaled(value, j, stats)


@kernel(inline=False)
def _hidden(z, nominal, seed, alphas, h):
    """Outputs of the hidden layer."""
    for u in range(h.size):
        h[u] = alphas[0, u]
    for j in range(z.size):
        if nominal[j]:
            if z[j] == z[j]:
                for u in range(h.size):
                    h[u] += hidden_weight(seed, j, int(z[j]) + 1, u)
        elif z[j] != 0.0:
            for u in range(h.size):
                h[u] += z[j] * alphas[j + 1, u]
    for u in range(h.size):
        h[u] = 1.0 / (1.0 + math.exp(-h[u]))


@kernel
def run(before, after, y, w, nominal, seed, alphas, P, beta, out):
    """Ask a network of each row, and let it learn those of weight above 0.

    Parameters
    ----------
    before, after : float64 (n, d)
        Rows as scaled before and after they were counted in.
    P, beta : float64 (units, units), float64 (k + 1, units)
        Inverse of the regularised sum of h h', and weights of the outputs; brought up to date.
    out : float64 (n, k + 1), or empty
        Outputs just before each row was learned.
    """
    units = P.shape[0]
    h, g = np.empty(units), np.empty(units)
    for i in range(before.shape[0]):
        if out.size:
            _hidden(before[i], nominal, seed, alphas, h)
            for c in range(beta.shape[0]):
                total = 0.0
                for u in range(units):
                    total += h[u] * beta[c, u]
                out[i, c] = total
        if w[i] == 0.0:
            continue
        _hidden(after[i], nominal, seed, alphas, h)
        denominator = 1.0 / w[i]
        for u in range(units):
            total = 0.0
            for v in range(units):
                total += P[u, v] * h[v]
            g[u] = total
        for u in range(units):
            denominator += h[u] * g[u]
        for u in range(units):
            share = g[u] / denominator
            for v in range(units):
                P[u, v] -= share * g[v]
        for c in range(beta.shape[0]):
            error = 1.0 if c == y[i] + 1 else -1.0
            for u in range(units):
                error -= h[u] * beta[c, u]
            error /= denominator
            for u in range(units):
                beta[c, u] += g[u] * error


@kernel
def store(after, y, w, nominal, seed, alphas, K, Q, weights):
    """Add rows to the sums that a weighted network is made of: h h', h t and the weight of each class."""
    units = K.shape[1]
    h = np.empty(units)
    for i in range(after.shape[0]):
        if w[i] == 0.0:
            continue
        _hidden(after[i], nominal, seed, alphas, h)
        c = y[i]
        weights[c] += w[i]
        for u in range(units):
            share = w[i] * h[u]
            for v in range(units):
                K[c, u, v] += share * h[v]
            for t in range(Q.shape[1]):
                Q[c, t, u] += share if t == c + 1 else -share


@kernel
def deal(y, w, counts, turns, dealt):
    """Deal rows out to the networks: one of the largest class to one of them, others to as many as make up for it.

    Parameters
    ----------
    counts : int64 (k,)
        Rows of each class so far; brought up to date.
    turns : int64 (k,)
        The network whose turn it is, by class; brought up to date.
    dealt : float64 (networks, n)
        Out: weight of each row for each network.
    """
    networks = dealt.shape[0]
    dealt[:] = 0.0
    for i in range(y.size):
        if w[i] == 0.0:
            continue
        c = y[i]
        counts[c] += 1
        largest = counts[c]
        for other in range(counts.size):
            largest = max(largest, counts[other])
        times = min(largest // counts[c], networks)
        for t in range(times):
            dealt[(turns[c] + t) % networks, i] = w[i]
        turns[c] = (turns[c] + times) % networks


@kernel
def tally(out, y, w, counts, weights, votes, hits, seen):
    """Combine what the networks say of rows, and count who was right.

    Parameters
    ----------
    out : float64 (networks, n, k + 1)
        Outputs of all networks, those in store too, of which ``weights`` says nothing.
    counts : int64 (k,)
        Rows of each class before the chunk; brought up to date. Classes not met yet get no vote.
    weights : float64 (members,)
        Weights of the members' votes; 0 for those that may not vote.
    votes : float64 (n, at least k)
        Out: the softmax of the mean output.
    hits, seen : int64 (networks + 1, k), int64 (k,)
        How often each network, and then all together, was right, by class, and rows of each class; added to.
    """
    networks, n, k = out.shape[0], out.shape[1], out.shape[2] - 1
    total_weight = 0.0
    for m in range(weights.size):
        total_weight += weights[m]
    for i in range(n):
        best, met = -1, False
        for c in range(k):
            votes[i, c] = 0.0
            if counts[c] > 0:
                met = True
                for m in range(weights.size):
                    share = weights[m] / total_weight if total_weight > 0.0 else 1.0 / weights.size
                    votes[i, c] += share * out[m, i, c + 1]
                if best < 0 or votes[i, c] > votes[i, best]:
                    best = c
        if met:
            top = votes[i, best]
            for c in range(k):
                votes[i, c] = math.exp(votes[i, c] - top) if counts[c] > 0 else 0.0
        if w[i] == 0.0:
            continue
        own = y[i]
        seen[own] += 1
        hits[networks, own] += best == own
        for m in range(networks):
            first = -1
            for c in range(k):
                if counts[c] > 0 and (first < 0 or out[m, i, c + 1] > out[m, i, first + 1]):
                    first = c
            hits[m, own] += first == own
        counts[own] += 1
