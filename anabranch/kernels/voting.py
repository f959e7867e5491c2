"""How ensembles add up what their members say."""

from __future__ import annotations

import math

import numpy as np

from anabranch.kernels import kernel

# Row weights in boosting stay finite: a member that is nearly always right, or wrong, may multiply them by the number
# of rows seen, and so may the next.
LARGEST_WEIGHT = 1e9


@kernel(inline=True)
def _first_best(votes, i):
    """First arg max of row i."""
    best = 0
    for c in range(1, votes.shape[1]):
        if votes[i, c] > votes[i, best]:
            best = c
    return best


@kernel
def add_votes(total, votes, weights, hard):
    """Add a member's votes to ``total``, each row scaled to sum 1 or, if ``hard``, given to its first arg max.

    ``weights`` holds a weight per row, or a single one. Rows without votes add nothing.
    """
    n, k = votes.shape
    for i in range(n):
        weight = weights[i if weights.size > 1 else 0]
        if weight == 0.0:
            continue
        if hard:
            best = _first_best(votes, i)
            if votes[i, best] > 0.0:
                total[i, best] += weight
        else:
            sum_ = 0.0
            for c in range(k):
                sum_ += votes[i, c]
            if sum_ > 0.0:
                for c in range(k):
                    total[i, c] += weight * (votes[i, c] / sum_)


@kernel
def hits(votes, y, right):
    """Whether each row's first arg max is its class; a row without votes is a miss."""
    for i in range(votes.shape[0]):
        best = _first_best(votes, i)
        right[i] = best == y[i] and votes[i, best] > 0.0


@kernel(inline=False)
def log_odds(right, wrong):
    """Weight of a member's vote, log((1 - e) / e) for its error e; 0 without errors, or with over one half."""
    if wrong <= 0.0 or wrong >= right:
        return 0.0
    return math.log(right / wrong)


@kernel
def boost(right, w, seen, lam, sums, before):
    """Hand on the row weights of Oza's boosting, one member's part of the algorithm over a chunk.

    Parameters
    ----------
    right : bool (n,)
        Whether the member, having learned the row, gets it right.
    w, seen : float64 (n,)
        Weights of the rows, and their sum up to and including each.
    lam : float64 (n,)
        The rows' boosting weights lambda: in, as the member before left them; out, for the next one.
    sums : float64 (2,)
        The member's lambda^sc and lambda^sw so far; brought up to date.
    before : float64 (n,), or empty
        Takes the weight of the member's vote just before each row.
    """
    for i in range(lam.size):
        if before.size:
            before[i] = log_odds(sums[0], sums[1])
        if w[i] == 0.0:
            continue
        side = 0 if right[i] else 1
        sums[side] += w[i] * lam[i]
        lam[i] = min(lam[i] * (seen[i] / (2.0 * sums[side])), LARGEST_WEIGHT)


ONE = np.ones(1)


@kernel
def madaboost(right, w, seen, history, sums, before):
    """Hand on the row weights of MadaBoost, one member's part of the algorithm over a chunk.

    Parameters
    ----------
    right : bool (n,)
        Whether the member gets the row right.
    w, seen : float64 (n,)
        Weights of the rows, and their sum up to and including each.
    history : float64 (n,)
        The rows' products B, uncapped: in, as the member before left them; out, for the next one.
    sums : float64 (2,)
        Weight of what the member got right and wrong so far; brought up to date.
    before : float64 (n,), or empty
        Takes the weight alpha of the member's vote just before each row.
    """
    for i in range(history.size):
        if before.size:
            before[i] = half_log_odds(sums[0], sums[1], seen[i] - w[i])
        if w[i] == 0.0:
            continue
        sums[0 if right[i] else 1] += w[i] * min(1.0, history[i])
        alpha = half_log_odds(sums[0], sums[1], seen[i])
        history[i] = min(history[i] * math.exp(-alpha if right[i] else alpha), LARGEST_WEIGHT)


@kernel(inline=False)
def half_log_odds(right, wrong, seen):
    """Weight alpha = atanh(edge) of a member's vote, its edge held between 0 and 1 - 1 / seen."""
    if seen <= 1.0 or wrong >= right:
        return 0.0
    edge = min((right - wrong) / (right + wrong), 1.0 - 1.0 / seen)
    return math.atanh(edge)


@kernel
def smooth(right, z, weight, gamma):
    """Hand on the row weights of online smooth boosting: 1, and less for rows that members have got right."""
    theta = gamma / (2.0 + gamma)
    for i in range(z.size):
        z[i] += (1.0 if right[i] else -1.0) - theta
        weight[i] = 1.0 if z[i] <= 0.0 else (1.0 - gamma) ** (0.5 * z[i])
