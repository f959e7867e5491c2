"""Nearest neighbours' loops: distances to all rows of a sliding window, the nearest few, and their votes.

The window is a ring of slots, cut into blocks of :data:`BLOCK`. Within a block each column's values lie side by side,
so that distances to all of its rows are worked out at once with vector instructions, column by column. A sum of squares
is made in the order of the columns that the row has, whatever else there is: rows alone and rows in chunks, windows
with and without missing values give the same bits.
"""

from __future__ import annotations

import math

import numpy as np

from anabranch.kernels import kernel

BLOCK = 64  # rows

# meta: rows in the window; the slot that the next row goes to.
FILLED, NEXT, META_SIZE = range(3)

# What `learn` does beside learning: nothing, votes just before each row is learned, or just after.
ONLY_LEARN, TEST_THEN_TRAIN, TRAIN_THEN_TEST = 0, 1, 2

# Rows of `ranges`: smallest and largest value of each column in the window.
LOW, HIGH = 0, 1


@kernel(inline=True)
def _add_four(block, j, x, scales, sums):
    """Add four columns' squared differences to the sums of a block."""
    a, b, c, d = j[0], j[1], j[2], j[3]
    xa, xb, xc, xd = x[0], x[1], x[2], x[3]
    sa, sb, sc, sd = scales[0], scales[1], scales[2], scales[3]
    for s in range(sums.size):
        da = (block[a, s] - xa) * sa
        db = (block[b, s] - xb) * sb
        dc = (block[c, s] - xc) * sc
        dd = (block[d, s] - xd) * sd
        sums[s] += (da * da + db * db) + (dc * dc + dd * dd)


@kernel(inline=True)
def _add_one(block, j, x, scale, sums):
    for s in range(sums.size):
        d = (block[j, s] - x) * scale
        sums[s] += d * d


@kernel(inline=False)
def _add_four_with_gaps(block, j, x, scales, sums, common):
    """Like `_add_four`, where a slot may lack a value, which adds nothing; counts those that are there."""
    for s in range(sums.size):
        da = (block[j[0], s] - x[0]) * scales[0]
        db = (block[j[1], s] - x[1]) * scales[1]
        dc = (block[j[2], s] - x[2]) * scales[2]
        dd = (block[j[3], s] - x[3]) * scales[3]
        qa = da * da
        qb = db * db
        qc = dc * dc
        qd = dd * dd
        na = 1.0 if block[j[0], s] == block[j[0], s] else 0.0
        nb = 1.0 if block[j[1], s] == block[j[1], s] else 0.0
        nc = 1.0 if block[j[2], s] == block[j[2], s] else 0.0
        nd = 1.0 if block[j[3], s] == block[j[3], s] else 0.0
        common[s] += (na + nb) + (nc + nd)
        qa = qa if na == 1.0 else 0.0
        qb = qb if nb == 1.0 else 0.0
        qc = qc if nc == 1.0 else 0.0
        qd = qd if nd == 1.0 else 0.0
        sums[s] += (qa + qb) + (qc + qd)


@kernel(inline=False)
def _add_one_with_gaps(block, j, x, scale, sums, common):
    for s in range(sums.size):
        d = (block[j, s] - x) * scale
        there = block[j, s] == block[j, s]
        sums[s] += d * d if there else 0.0
        common[s] += 1.0 if there else 0.0


@kernel(inline=False)
def _add_nominal(block, j, x, sums, common):
    for s in range(sums.size):
        there = block[j, s] == block[j, s]
        sums[s] += 1.0 if there & (block[j, s] != x) else 0.0
        common[s] += 1.0 if there else 0.0


@kernel(inline=True)
def _any_within(sums, limit):
    """Whether any sum of a block is not beyond the limit."""
    within = 0
    for s in range(sums.size):
        within += sums[s] <= limit
    return within > 0


@kernel(inline=True)
def _distances(block, n_numeric, n_columns, columns, x, scales, gaps, limit, sums, common):
    """Squared distances of a row to all slots of a block; returns whether any may be within the limit.

    ``columns`` holds the columns that the row has, the numeric ones first, ``x`` its values there. Where a slot lacks
    some, the sum over the others is scaled up to make up for them; where it has none of them, it is infinitely far.
    """
    sums[:] = 0.0
    common[:] = 0.0
    j = 0
    while j + 4 <= n_numeric:
        if gaps:
            _add_four_with_gaps(block, columns[j:], x[j:], scales[j:], sums, common)
        else:
            _add_four(block, columns[j:], x[j:], scales[j:], sums)
        j += 4
        # Sums only grow: a block that has lost already need not be looked at any further.
        if j % 8 == 0 and j + 4 <= n_columns and not _any_within(sums, limit):
            return False
    while j < n_numeric:
        if gaps:
            _add_one_with_gaps(block, columns[j], x[j], scales[j], sums, common)
        else:
            _add_one(block, columns[j], x[j], scales[j], sums)
        j += 1
    for j in range(n_numeric, n_columns):
        _add_nominal(block, columns[j], x[j], sums, common)
    if gaps:
        for s in range(sums.size):
            sums[s] = sums[s] * (n_columns / common[s]) if common[s] > 0.0 else np.inf
    return _any_within(sums, limit)


@kernel(inline=False)
def _insert(distance, age, slot, found, distances, ages, slots):
    """Put a slot into its place among the nearest so far; among equals the later row comes first."""
    at = found
    while at > 0 and (distances[at - 1] > distance or (distances[at - 1] == distance and ages[at - 1] > age)):
        distances[at] = distances[at - 1]
        ages[at] = ages[at - 1]
        slots[at] = slots[at - 1]
        at -= 1
    distances[at] = distance
    ages[at] = age
    slots[at] = slot


@kernel(inline=False)
def _row(X, i, nominal, ranges, missing, normalize, columns, x, scales):
    """Gather the columns that row i has, the numeric ones first.

    Returns how many are numeric, how many there are, and whether some slot of the window lacks a value in them.
    """
    n = 0
    gaps = False
    for kind in (False, True):
        for j in range(nominal.size):
            value = X[i, j]
            if nominal[j] != kind or value != value:
                continue
            columns[n] = j
            x[n] = value
            scales[n] = 1.0
            if normalize and not kind:
                width = ranges[HIGH, j] - ranges[LOW, j]
                scales[n] = 1.0 / width if width > 1e-100 else 0.0  # all the same, or no value at all
            gaps |= missing[j] > 0
            n += 1
        if not kind:
            n_numeric = n
    return n_numeric, n, gaps


@kernel(inline=False)
def _search(X, i, k, window, weights, nominal, ranges, missing, meta, normalize, columns, x, scales, sums, common,
            distances, ages, slots):  # fmt: skip
    """Find the nearest rows of the window to row i whose weights reach k; returns how many, and all their weight."""
    n_numeric, n_columns, gaps = _row(X, i, nominal, ranges, missing, normalize, columns, x, scales)
    filled = meta[FILLED]
    found = 0
    total = 0.0
    limit = np.inf
    for b in range((filled + BLOCK - 1) // BLOCK):
        if not _distances(window[b], n_numeric, n_columns, columns, x, scales, gaps, limit, sums, common):
            continue
        for s in range(min(BLOCK, filled - b * BLOCK)):
            if not sums[s] <= limit:
                continue
            slot = b * BLOCK + s
            age = meta[NEXT] - 1 - slot
            if age < 0:
                age += filled
            if total >= k and sums[s] == limit and age > ages[found - 1]:
                continue
            _insert(sums[s], age, slot, found, distances, ages, slots)
            found += 1
            total += weights[slot]
            while total - weights[slots[found - 1]] >= k:  # without the last they still reach k
                found -= 1
                total -= weights[slots[found]]
            if total >= k:
                limit = distances[found - 1]
    return found, total


@kernel(inline=False)
def _vote(k, labels, weights, by_distance, found, total, distances, slots, votes, i):
    """Add up the votes of the nearest rows, of the last one only as much as it takes to reach k."""
    exact = by_distance and found > 0 and distances[0] == 0.0
    far = by_distance and found > 0 and distances[0] == np.inf
    for c in range(votes.shape[1]):
        votes[i, c] = 0.0
    for a in range(found):
        vote = weights[slots[a]]
        if a == found - 1 and total > k:
            vote -= total - k
        if exact:  # rows equal to this one have all the say
            if distances[a] > 0.0:
                break
        elif by_distance and not far:
            vote /= math.sqrt(distances[a])
        votes[i, labels[slots[a]]] += vote


@kernel(inline=False)
def _narrow(window, ranges, j, filled):
    """Find a column's smallest and largest value in the window anew."""
    low = np.inf
    high = -np.inf
    for b in range((filled + BLOCK - 1) // BLOCK):
        for s in range(min(BLOCK, filled - b * BLOCK)):
            value = window[b, j, s]
            if value < low:
                low = value
            if value > high:
                high = value
    ranges[LOW, j] = low
    ranges[HIGH, j] = high


@kernel(inline=False)
def _store(X, i, c, w, window, labels, weights, nominal, ranges, missing, meta, size, normalize):
    """Put row i into the window, in the place of the oldest once it is full."""
    slot = meta[NEXT]
    b = slot // BLOCK
    s = slot % BLOCK
    full = meta[FILLED] == size
    if not full:
        meta[FILLED] += 1
    for j in range(nominal.size):
        old = window[b, j, s]
        value = X[i, j]
        window[b, j, s] = value
        missing[j] += (value != value) - (full and old != old)
        if normalize and not nominal[j]:
            if value < ranges[LOW, j]:
                ranges[LOW, j] = value
            if value > ranges[HIGH, j]:
                ranges[HIGH, j] = value
            if full and (old == ranges[LOW, j] or old == ranges[HIGH, j]):
                _narrow(window, ranges, j, size)
    labels[slot] = c
    weights[slot] = w
    meta[NEXT] = slot + 1 if slot + 1 < size else 0


@kernel
def learn(X, y, w, mode, votes, k, size, by_distance, normalize, window, labels, weights, nominal, ranges, missing,
          meta):  # fmt: skip
    """Learn rows in order; with votes (n, at least as many columns as classes) before or after each, by ``mode``."""
    d = nominal.size
    columns = np.empty(d, np.int64)
    x = np.empty(d)
    scales = np.empty(d)
    sums = np.empty(BLOCK)
    common = np.empty(BLOCK)
    distances = np.empty(labels.size)
    ages = np.empty(labels.size, np.int64)
    slots = np.empty(labels.size, np.int64)
    for i in range(X.shape[0]):
        if mode == TRAIN_THEN_TEST and w[i] > 0.0:
            _store(X, i, y[i], w[i], window, labels, weights, nominal, ranges, missing, meta, size, normalize)
        if mode != ONLY_LEARN:
            found, total = _search(X, i, k, window, weights, nominal, ranges, missing, meta, normalize, columns, x,
                                   scales, sums, common, distances, ages, slots)  # fmt: skip
            _vote(k, labels, weights, by_distance, found, total, distances, slots, votes, i)
        if mode != TRAIN_THEN_TEST and w[i] > 0.0:
            _store(X, i, y[i], w[i], window, labels, weights, nominal, ranges, missing, meta, size, normalize)


@kernel
def votes(X, votes, k, by_distance, normalize, window, labels, weights, nominal, ranges, missing, meta):
    """Write each row's votes."""
    d = nominal.size
    columns = np.empty(d, np.int64)
    x = np.empty(d)
    scales = np.empty(d)
    sums = np.empty(BLOCK)
    common = np.empty(BLOCK)
    distances = np.empty(labels.size)
    ages = np.empty(labels.size, np.int64)
    slots = np.empty(labels.size, np.int64)
    for i in range(X.shape[0]):
        found, total = _search(X, i, k, window, weights, nominal, ranges, missing, meta, normalize, columns, x, scales,
                               sums, common, distances, ages, slots)  # fmt: skip
        _vote(k, labels, weights, by_distance, found, total, distances, slots, votes, i)
