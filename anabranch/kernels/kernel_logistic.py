"""Logistic regression in the feature space of a Gaussian kernel, learned row by row, over a bounded number of rows."""

from __future__ import annotations

import math

import numpy as np

from anabranch.kernels import kernel

# Places in `numbers`: the factor common to all coefficients; rows kept; where the next one goes.
SCALE, FILLED, NEXT = range(3)
NUMBERS_SIZE = 3

# Below this, the common factor is multiplied into the coefficients.
_SMALLEST_SCALE = 1e-30


@kernel(inline=False)
def _score(x, kept, alphas, filled, ranges, nominal, gamma):
    """Sum of coefficients times kernels, without the common factor; a column missing in either row is left out."""
    total = 0.0
    for s in range(filled):
        distance = 0.0
        for j in range(x.size):
            away = x[j] - kept[s, j]
            if away != away or away == 0.0:
                continue
            if nominal[j]:
                distance += 1.0
            else:
                span = ranges[1, j] - ranges[0, j]
                if span > 0.0:
                    distance += (away / span) * (away / span)
        total += alphas[s] * math.exp(-gamma * distance)
    return total


@kernel(inline=False)
def _probability(score):
    return 1.0 / (1.0 + math.exp(-score))


@kernel
def votes(X, out, kept, alphas, numbers, ranges, nominal, gamma):
    """Probabilities of the two classes, for each row."""
    for i in range(X.shape[0]):
        total = _score(X[i], kept, alphas, int(numbers[FILLED]), ranges, nominal, gamma)
        out[i, 1] = _probability(numbers[SCALE] * total)
        out[i, 0] = 1.0 - out[i, 1]


@kernel
def learn(X, y, w, out, kept, alphas, numbers, ranges, nominal, gamma, learning_rate, shrink):
    """Learn rows in order; unless it is empty, ``out`` takes the probabilities just before each.

    There is room for the rows that are kept: until the budget is reached, ``kept`` has rows to spare.
    """
    budget = kept.shape[0]
    for i in range(X.shape[0]):
        if w[i] == 0.0 and not out.size:
            continue
        x = X[i]
        total = _score(x, kept, alphas, int(numbers[FILLED]), ranges, nominal, gamma)
        if out.size:
            if numbers[FILLED] > 0.0:
                out[i, 1] = _probability(numbers[SCALE] * total)
                out[i, 0] = 1.0 - out[i, 1]
            if w[i] == 0.0:
                continue
        wider = False
        for j in range(x.size):
            if x[j] < ranges[0, j]:
                ranges[0, j] = x[j]
                wider = True
            if x[j] > ranges[1, j]:
                ranges[1, j] = x[j]
                wider = True
        if wider:
            total = _score(x, kept, alphas, int(numbers[FILLED]), ranges, nominal, gamma)
        sign = 1.0 if y[i] == 1 else -1.0
        step = learning_rate * w[i] * sign * _probability(-sign * numbers[SCALE] * total)
        numbers[SCALE] *= shrink
        if numbers[SCALE] < _SMALLEST_SCALE:
            for s in range(int(numbers[FILLED])):
                alphas[s] *= numbers[SCALE]
            numbers[SCALE] = 1.0
        place = int(numbers[NEXT])
        kept[place] = x
        alphas[place] = step / numbers[SCALE]
        numbers[NEXT] = (place + 1) % budget
        if numbers[FILLED] < budget:
            numbers[FILLED] += 1.0


NO_VOTES = np.zeros((0, 2))
