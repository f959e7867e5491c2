"""The Hoeffding tree's loops: routing, leaf statistics, naive Bayes, split decisions, memory.

A tree is a few arrays (:class:`Tree`). Nodes are rows of ``node_ints`` and ``node_floats``; a leaf that learns
owns, for each class it has met, one *statistics row* of ``moments`` and ``ranges``, taken from a pool. The
functions here never allocate what lasts: where room is missing, :func:`learn` stops *before* it touches the
row and says in ``meta[NEED]`` what it lacks; the caller makes room and calls again with the same row. So the
state at any row is the same, however the rows are cut into chunks.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from anabranch.kernels import kernel
from anabranch.kernels.bundle import matrix, vector
from anabranch.kernels.vector import (
    LANES,
    exponent,
    finite_or_one,
    fraction,
    larger,
    load,
    log2,
    narrow,
    outside,
    product,
    smaller,
    splat,
    store,
    total,
    with_ones,
    without_nan,
)

# Columns of node_ints. Class c's statistics row stands in column ROWS + c (-1: none yet).
FEATURE, BRANCHES, CHILD, ROWS = 0, 1, 2, 3
# FEATURE of a leaf: it learns, or was deactivated to save memory.
ACTIVE, INACTIVE = -1, -2
# BRANCHES of an inner node: "x <= threshold", "x = threshold", or else the number of branches, one per value. A leaf's
# is -1.
NUMERIC, EQUALS = 0, 1
# Columns of node_floats. Class c's weight stands in column COUNTS + c. SEEN is the weight that came by, with
# what the split that made the node estimated for it; SINCE is the weight since the last attempt to split; NB_LEAD is
# the weight that naive Bayes got right less the weight the majority class got right. THRESHOLD of a node with
# one branch per value is the head of its chain of late branches (see `extra`), or -1.
THRESHOLD, SEEN, SINCE, NB_LEAD, COUNTS = 0, 1, 2, 3, 4
# Columns of extra: a branch for a value that turned up after its node was split, and the next in the chain.
VALUE, LATE_CHILD, NEXT = 0, 1, 2
# Columns of moments: weight of the class's rows in the leaf; log of prior times the normalising constants of
# all Gaussians; then, at MEANS, means, precisions (1 / variance) and sums of squares of the numeric attributes;
# then, if any value was ever missing, the weight missing per numeric attribute; then each nominal attribute's
# block. BIAS and the precisions are there for speed, and not kept up where values may be missing.
# Whatever there is per numeric attribute has room for a multiple of four of them: vectors need no rest. A place
# without an attribute holds an attribute that is always zero.
WEIGHT, BIAS, MEANS = 0, 1, 2
# A nominal attribute's block: weight of all values, number of value slots in use, then a weight per value.
TOTAL, SLOTS, CELLS = 0, 1, 2
# Columns of cells: where an attribute's block starts in a row of moments, how many values it has room for, and
# whether that must do (values beyond are then not counted).
START, CAPACITY, CELLS_FIXED = 0, 1, 2

# Values of a nominal attribute that a tree tells apart. Later ones count as missing: otherwise a column of
# identifiers would give every row a branch and a leaf of its own.
MOST_CELLS = 256

# meta: counters and flags that are part of the state.
(N_NODES, N_ROWS, FREE_ROW, N_EXTRA, N_INACTIVE, N_CLASSES, N_SEEN, MISSING_KEPT, ROWS_FIXED, NODES_FIXED,
 CLASSES_FIXED, COLUMNS_FIXED, NEED, NEEDED_NODES, HAS_VOTED, DEPTH,
 N_OPTIONS, META_SIZE) = range(18)  # fmt: skip
# HAS_VOTED: the first row that learn() gets has voted already, before there was room for it.
# What learn() lacks when it stops early; NEED_CELLS + k: room for more values of nominal attribute k. How many nodes
# stands in meta[NEEDED_NODES].
(NEED_NOTHING, NEED_NODES, NEED_ROWS, NEED_CLASSES, NEED_COLUMNS, NEED_MISSING, NEED_EXTRA,
 NEED_CELLS) = range(8)

# options: the learner's parameters as numbers; the last three are those of option trees.
(DELTA, TAU, GRACE, MIN_BRANCH, NB_THRESHOLD, MEMORY_PERIOD, POINTS, GINI, LEAF_KIND, BINARY, PRE_PRUNE, DROP_POOR,
 MAX_OPTIONS, SECONDARY_DELTA, MEMORY_ORDER, OPTIONS_SIZE) = range(16)  # fmt: skip
MAJORITY, BAYES, ADAPTIVE = 0, 1, 2  # LEAF_KIND

_HALF_LOG_2 = 0.5 * math.log(2.0)
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_ONE_OVER_2PI = 0.5 / math.pi


class Tree(NamedTuple):
    """The arrays of one tree.

    Of m nodes, r statistics rows, k classes, d columns: dn of them numeric, with room for dv, and dk nominal.
    """

    node_ints: np.ndarray  # int32 (m, ROWS + k)
    node_floats: np.ndarray  # float64 (m, COUNTS + k)
    moments: np.ndarray  # float64 (r, MEANS + 3 dv [+ dv] + blocks)
    ranges: np.ndarray  # float32 (r, 2 dv): smallest and largest value less `origin`
    extra: np.ndarray  # int32 (e, 3): late branches
    dropped: np.ndarray  # bool (m, d), or (0, d): attributes a leaf no longer looks at
    slots: (
        np.ndarray
    )  # int32 (d,): a column's place among the numeric ones, or -1 - its place among the nominal
    numeric: np.ndarray  # int32 (dn,): the numeric columns
    cells: np.ndarray  # int32 (dk, 3): a nominal attribute's block
    origin: np.ndarray  # float64 (dv,): first value met, the zero of `ranges`
    gains: np.ndarray  # float64 (d,): weight times merit of the splits made on each column
    meta: np.ndarray  # int64 (META_SIZE,)
    options: np.ndarray  # float64 (OPTIONS_SIZE,)
    links: np.ndarray  # int32 (m, 2), or (0, 2) where nodes hold one split each: see the option tree's kernel
    errors: np.ndarray  # float64 (m,), or (0,) where leaves do not weigh their votes: share of late mistakes of a leaf


def functions():
    """Addresses of the functions that these kernels call through a table: none."""
    return ()


@kernel
def tree_at(table):
    """The tree whose arrays a bundle's table tells of."""
    return Tree(
        node_ints=matrix(table, 0, np.int32),
        node_floats=matrix(table, 1, np.float64),
        moments=matrix(table, 2, np.float64),
        ranges=matrix(table, 3, np.float32),
        extra=matrix(table, 4, np.int32),
        dropped=matrix(table, 5, np.bool_),
        slots=vector(table, 6, np.int32),
        numeric=vector(table, 7, np.int32),
        cells=matrix(table, 8, np.int32),
        origin=vector(table, 9, np.float64),
        gains=vector(table, 10, np.float64),
        meta=vector(table, 11, np.int64),
        options=vector(table, 12, np.float64),
        links=matrix(table, 13, np.int32),
        errors=vector(table, 14, np.float64),
    )


# ---------------------------------------------------------------------------------------------- routing


@kernel(inline=False)
def _heaviest(node_ints, node_floats, extra, node):
    """Branch of an inner node that has seen most weight: where a row goes whose value is missing."""
    n = node_ints[node, BRANCHES]
    first = node_ints[node, CHILD]
    best = first
    for child in range(first + 1, first + (2 if n < 2 else n)):
        if node_floats[child, SEEN] > node_floats[best, SEEN]:
            best = child
    if n >= 2:
        link = int(node_floats[node, THRESHOLD])
        while link >= 0:
            child = extra[link, LATE_CHILD]
            if node_floats[child, SEEN] > node_floats[best, SEEN]:
                best = child
            link = extra[link, NEXT]
    return best


@kernel(inline=False)
def _late_branch(node_floats, extra, node, value):
    link = int(node_floats[node, THRESHOLD])
    while link >= 0:
        if extra[link, VALUE] == value:
            return extra[link, LATE_CHILD]
        link = extra[link, NEXT]
    return -1


@kernel(inline=True)
def _next(node_ints, node_floats, extra, X, i, gaps, node):
    """The node below that row i goes to; -1 from a leaf, or where there is no branch for the row's value."""
    a = node_ints[node, FEATURE]
    if a < 0:
        return -1
    x = X[i, a]
    n = node_ints[node, BRANCHES]
    first = node_ints[node, CHILD]
    if n == NUMERIC and not gaps:
        return first + (1 if x > node_floats[node, THRESHOLD] else 0)
    if x != x:
        return _heaviest(node_ints, node_floats, extra, node)
    if n == NUMERIC:
        return first + (1 if x > node_floats[node, THRESHOLD] else 0)
    if n == EQUALS:
        return first + (1 if x != node_floats[node, THRESHOLD] else 0)
    if x < n:
        return first + int(x)
    if x >= MOST_CELLS:
        return _heaviest(node_ints, node_floats, extra, node)
    return _late_branch(node_floats, extra, node, x)


@kernel(inline=True)
def _route(node_ints, node_floats, extra, X, i, gaps, path):
    """Follow row i from the root; returns the number of nodes written into ``path``.

    The last of them is a leaf, or an inner node that has no branch for the row's value.
    """
    path[0] = 0
    depth = 1
    at = np.uint64(0)  # an index that numba knows is not negative
    while not gaps and node_ints[at, BRANCHES] == NUMERIC:  # most ways are nothing else
        x = X[np.uint64(i), np.uint64(node_ints[at, FEATURE])]
        at = np.uint64(node_ints[at, CHILD]) + np.uint64(1 if x > node_floats[at, THRESHOLD] else 0)
        path[depth] = at
        depth += 1
    node = _next(node_ints, node_floats, extra, X, i, gaps, at)
    while node >= 0:
        path[depth] = node
        depth += 1
        node = _next(node_ints, node_floats, extra, X, i, gaps, node)
    return depth


@kernel(inline=True)
def _end_of_route(node_ints, node_floats, extra, X, i, gaps):
    """The last node on row i's way. Writes nothing, so that a tree that grows meanwhile does no harm."""
    node = 0
    while True:
        below = _next(node_ints, node_floats, extra, X, i, gaps, node)
        if below < 0:
            return node
        node = below


@kernel(inline=True)
def _gather(slots, numeric, cells, X, i, x):
    """Copy row i's numeric values into ``x``; returns whether any value of the row is missing."""
    if cells.shape[0] == 0:  # all columns are numeric
        sums = splat(0.0)  # NaN from the first NaN on
        first = i * X.shape[1]
        whole = numeric.size - numeric.size % LANES
        for j in range(0, whole, LANES):
            values = load(X, first + j)
            store(x, j, values)
            sums = sums + values
        rest = total(sums)
        for j in range(whole, numeric.size):
            x[j] = X[np.uint64(i), j]
            rest += x[j]
        return rest != rest
    gaps = False
    for j in range(numeric.size):
        x[j] = X[i, numeric[j]]
    for a in range(slots.size):
        gaps |= X[i, a] != X[i, a]
    return gaps


# ---------------------------------------------------------------------------------------------- prediction


@kernel(inline=True)
def _majority(node_floats, node):
    """Class with the largest weight in a node; the lowest code among equals."""
    best = 0
    largest = node_floats[node, COUNTS]
    for c in range(1, node_floats.shape[1] - COUNTS):
        if node_floats[node, COUNTS + c] > largest:
            largest = node_floats[node, COUNTS + c]
            best = c
    return best


@kernel(inline=True)
def _distance(moments, row, x):
    """Sum over the numeric attributes of (x - mean)^2 * precision, in four partial sums.

    An attribute whose values were all equal (precision infinite) adds nothing where x is that value and infinity
    elsewhere.
    """
    sums = splat(0.0)
    means = row * moments.shape[1] + MEANS
    precisions = means + x.size
    for j in range(0, x.size, LANES):
        d = load(x, j) - load(moments, means + j)
        sums = sums + without_nan(d * d * load(moments, precisions + j))
    return total(sums)


@kernel(inline=False)
def _numeric_scores_with_gaps(node_ints, moments, numeric, meta, leaf, x, scores):
    """Add the Gaussians' log densities where values are, or were, missing: attribute by attribute.

    An attribute counts only if every class in the leaf has seen enough of it, so that a column that has just
    appeared does not decide for the first class that brought it.
    """
    n = x.size
    k = scores.size
    for j in range(numeric.size):
        if x[j] != x[j]:
            continue
        usable = True
        for c in range(k):
            r = node_ints[leaf, ROWS + c]
            if r >= 0 and meta[MISSING_KEPT]:
                missing = moments[r, MEANS + 3 * n + j]
                if missing > 0.0 and moments[r, WEIGHT] - missing <= 1.0:
                    usable = False
        if not usable:
            continue
        for c in range(k):
            r = node_ints[leaf, ROWS + c]
            if r < 0 or scores[c] == -np.inf:
                continue
            weight = moments[r, WEIGHT]
            if meta[MISSING_KEPT]:
                weight -= moments[r, MEANS + 3 * n + j]
            d = x[j] - moments[r, MEANS + j]
            squares = moments[r, MEANS + 2 * n + j]
            if weight > 1.0 and squares > 0.0:
                variance = squares / (weight - 1.0)
                scores[c] -= _HALF_LOG_2PI + 0.5 * math.log(variance) + 0.5 * d * d / variance
            elif d != 0.0:
                scores[c] = -np.inf


@kernel(inline=False)
def _nominal_scores(node_ints, moments, slots, cells, leaf, X, i, scores, products):
    """Add log of (weight of the value + 1) / (weight of all values + values met), per nominal attribute."""
    k = scores.size
    products[:] = 1.0
    for a in range(slots.size):
        slot = slots[a]
        value = X[i, a]
        if slot >= 0 or value != value:
            continue
        start = cells[-1 - slot, START]
        capacity = cells[-1 - slot, CAPACITY]
        usable = True
        for c in range(k):
            r = node_ints[leaf, ROWS + c]
            if r >= 0 and moments[r, start + TOTAL] <= 0.0:
                usable = False
        if not usable:
            continue
        for c in range(k):
            r = node_ints[leaf, ROWS + c]
            if r < 0:
                continue
            met = moments[r, start + CELLS + int(value)] if value < capacity else 0.0
            products[c] *= (met + 1.0) / (moments[r, start + TOTAL] + moments[r, start + SLOTS])
            if products[c] < 1e-200:
                scores[c] += math.log(products[c])
                products[c] = 1.0
    for c in range(k):
        scores[c] += math.log(products[c])


@kernel(inline=True)
def _gaussian_scores(node_ints, node_floats, moments, leaf, x, scores):
    """Write log of prior times densities of the numeric attributes, none of them missing; whether any class has rows.

    A class the leaf knows only from its parent's estimate has no statistics and no chance, unless no class has any:
    then the priors decide.
    """
    any_row = False
    for c in range(scores.size):
        r = node_ints[leaf, ROWS + c]
        if r < 0:
            scores[c] = -np.inf
            continue
        any_row = True
        if moments[r, WEIGHT] > 1.0:
            scores[c] = moments[r, BIAS] - 0.5 * _distance(moments, r, x)
        else:  # variances of a single row are zero: all values must be the same
            scores[c] = math.log(node_floats[leaf, COUNTS + c])
            for j in range(x.size):
                if x[j] != moments[r, MEANS + j]:
                    scores[c] = -np.inf
    if not any_row:
        for c in range(scores.size):
            if node_floats[leaf, COUNTS + c] > 0.0:
                scores[c] = math.log(node_floats[leaf, COUNTS + c])
    return any_row


@kernel(inline=False)
def _other_scores(node_ints, node_floats, moments, slots, numeric, cells, meta, leaf, X, i, x, gaps, scores, products):
    """Write the scores where values are, or were, missing, or some columns are nominal."""
    any_row = False
    if not gaps and meta[MISSING_KEPT] == 0:
        any_row = _gaussian_scores(node_ints, node_floats, moments, leaf, x, scores)
    else:
        for c in range(scores.size):
            any_row |= node_ints[leaf, ROWS + c] >= 0
        for c in range(scores.size):
            count = node_floats[leaf, COUNTS + c]
            counts = node_ints[leaf, ROWS + c] >= 0 or not any_row
            scores[c] = math.log(count) if counts and count > 0.0 else -np.inf
        if any_row:
            _numeric_scores_with_gaps(node_ints, moments, numeric, meta, leaf, x, scores)
    if any_row:
        _nominal_scores(node_ints, moments, slots, cells, leaf, X, i, scores, products)


@kernel(inline=True)
def _bayes(node_ints, node_floats, moments, slots, numeric, cells, meta, leaf, X, i, x, gaps, scores, products):
    """Naive Bayes: log of prior times densities per class into ``scores``; returns the best class, or -1.

    -1 means that no class could have produced the row.
    """
    if gaps or meta[MISSING_KEPT] != 0 or cells.shape[0] > 0:
        _other_scores(node_ints, node_floats, moments, slots, numeric, cells, meta, leaf, X, i, x, gaps, scores,
                      products)
    else:
        _gaussian_scores(node_ints, node_floats, moments, leaf, x, scores)
    best = -1
    highest = -np.inf
    for c in range(scores.size):
        if scores[c] > highest:
            highest = scores[c]
            best = c
    return best


@kernel(inline=True)
def _uses_bayes(node_ints, node_floats, options, node):
    """Whether a leaf predicts with naive Bayes (rather than its majority class) at this point."""
    kind = options[LEAF_KIND]
    return (
        node_ints[node, FEATURE] == ACTIVE
        and kind != MAJORITY
        and node_floats[node, SEEN] >= options[NB_THRESHOLD]
        and (kind == BAYES or node_floats[node, NB_LEAD] >= 0.0)
    )


@kernel(inline=True)
def _vote(node_floats, node, uses_bayes, best, scores, votes, i):
    """Write a node's votes: naive Bayes' if that is to be used and has a ``best`` class, else its class weights."""
    i = np.uint64(i)
    k = min(node_floats.shape[1] - COUNTS, votes.shape[1])
    if uses_bayes and best >= 0:
        # No class is asked whether it is the best: the processor would have to guess, and would often be wrong.
        for c in range(k - 1):
            other = np.uint64(c + (1 if c >= best else 0))
            votes[i, other] = math.exp(scores[other] - scores[np.uint64(best)])
        votes[i, np.uint64(best)] = 1.0
    else:
        for c in range(k):
            votes[i, c] = node_floats[node, COUNTS + c]


@kernel(inline=False)
def _vote_rows(start, stop, X, votes, x, scores, products, node_ints, node_floats, moments, extra, slots, numeric,
               cells, meta, options):
    for i in range(start, stop):
        gaps = _gather(slots, numeric, cells, X, i, x)
        node = _end_of_route(node_ints, node_floats, extra, X, i, gaps)
        _vote_at(node, i, X, votes, x, gaps, scores, products, node_ints, node_floats, moments, slots, numeric, cells,
                 meta, options)


@kernel(inline=False)
def _vote_at(node, i, X, votes, x, gaps, scores, products, node_ints, node_floats, moments, slots, numeric, cells, meta,
             options):
    uses_bayes = _uses_bayes(node_ints, node_floats, options, node)
    best = -1
    if uses_bayes:
        best = _bayes(node_ints, node_floats, moments, slots, numeric, cells, meta, node, X, i, x, gaps, scores,
                      products)
    _vote(node_floats, node, uses_bayes, best, scores, votes, i)


@kernel
def votes(table, X, out):
    """Write each row's votes, not scaled, into ``out`` (n, at least as many columns as classes met)."""
    t = tree_at(table)
    k = t.node_floats.shape[1] - COUNTS
    n = t.origin.size
    scratch = np.zeros(n + 2 * k)
    _vote_rows(0, X.shape[0], X, out, scratch[:n], scratch[n : n + k], scratch[n + k :], t.node_ints, t.node_floats,
               t.moments, t.extra, t.slots, t.numeric, t.cells, t.meta, t.options)


@kernel
def apply(table, X, out):
    """Write the number of the node each row ends in into ``out``."""
    t = tree_at(table)
    x = np.zeros(t.origin.size)
    for i in range(X.shape[0]):
        gaps = _gather(t.slots, t.numeric, t.cells, X, i, x)
        out[i] = _end_of_route(t.node_ints, t.node_floats, t.extra, X, i, gaps)


# ---------------------------------------------------------------------------------------------- statistics


@kernel(inline=True)
def _update_moments(moments, ranges, r, x, origin, w):
    """Add a row without gaps to a statistics row (Welford's update)."""
    n = x.size
    before = moments[r, WEIGHT]
    weight = before + w
    moments[r, WEIGHT] = weight
    means = r * moments.shape[1] + MEANS
    precisions = means + n
    squares = precisions + n
    low = r * ranges.shape[1]
    high = low + n
    if before <= 0.0:
        for j in range(0, n, LANES):
            values = load(x, j)
            shifted = narrow(values - load(origin, j))
            store(moments, means + j, values)
            store(moments, precisions + j, splat(np.inf))
            store(moments, squares + j, splat(0.0))
            store(ranges, low + j, shifted)
            store(ranges, high + j, shifted)
        return
    share = w / weight
    degrees = weight - 1.0
    for j in range(0, n, LANES):
        values = load(x, j)
        d = values - load(moments, means + j)
        mean = load(moments, means + j) + d * share
        square = load(moments, squares + j) + w * d * (values - mean)
        shifted = narrow(values - load(origin, j))
        store(moments, means + j, mean)
        store(moments, precisions + j, degrees / square)
        store(moments, squares + j, square)
        lowest = load(ranges, low + j)
        highest = load(ranges, high + j)
        if outside(shifted, lowest, highest):  # seldom
            store(ranges, low + j, smaller(shifted, lowest))
            store(ranges, high + j, larger(shifted, highest))


@kernel(inline=True)
def _log_constants(moments, r, room, count):
    """Log of count * prod_j sqrt(precision_j / (2 pi)), over the attributes whose values differ.

    Takes one logarithm: that of a product.
    """
    factors = with_ones(splat(count * count), 1)
    precisions = r * moments.shape[1] + MEANS + room
    for j in range(precisions, precisions + room, LANES):
        factors = factors * finite_or_one(load(moments, j) * _ONE_OVER_2PI)
    several = product(factors)
    if 1e-280 < several < 1e280:
        return 0.5 * math.log(several)
    return _log_constants_out_of_range(moments, precisions, room, count)


@kernel(inline=False)
def _log_constants_out_of_range(moments, precisions, room, count):
    """The same, with the exponents kept apart, so that no product is too large."""
    factors = with_ones(splat(count * count), 1)
    exponents = exponent(factors)
    factors = fraction(factors)
    for j in range(precisions, precisions + room, LANES):
        factors = factors * finite_or_one(load(moments, j) * _ONE_OVER_2PI)
        exponents = exponents + exponent(factors)
        factors = fraction(factors)
    return _HALF_LOG_2 * total(exponents + log2(factors))


@kernel(inline=False)
def _update_moments_with_gaps(moments, ranges, origin, r, x, w):
    """Like `_update_moments`, with a weight per attribute; BIAS is not used where values may be missing."""
    n = x.size
    before = moments[r, WEIGHT]
    moments[r, WEIGHT] = before + w
    for j in range(n):
        if x[j] != x[j]:
            moments[r, MEANS + 3 * n + j] += w
            continue
        had = before - moments[r, MEANS + 3 * n + j]
        shifted = np.float32(x[j] - origin[j])
        if had <= 0.0:
            moments[r, MEANS + j] = x[j]
            moments[r, MEANS + 2 * n + j] = 0.0
            ranges[r, j] = shifted
            ranges[r, n + j] = shifted
        else:
            d = x[j] - moments[r, MEANS + j]
            mean = moments[r, MEANS + j] + d * (w / (had + w))
            moments[r, MEANS + 2 * n + j] += w * d * (x[j] - mean)
            moments[r, MEANS + j] = mean
            ranges[r, j] = min(ranges[r, j], shifted)
            ranges[r, n + j] = max(ranges[r, n + j], shifted)


@kernel(inline=False)
def _update_cells(moments, slots, cells, r, X, i, w):
    for a in range(slots.size):
        slot = slots[a]
        value = X[i, a]
        if slot >= 0 or value != value or value >= cells[-1 - slot, CAPACITY]:
            continue
        start = cells[-1 - slot, START]
        moments[r, start + TOTAL] += w
        moments[r, start + SLOTS] = max(moments[r, start + SLOTS], value + 1.0)
        moments[r, start + CELLS + int(value)] += w


@kernel(inline=False)
def _release(node_ints, moments, meta, node):
    """Give a leaf's statistics rows back to the pool."""
    for c in range(node_ints.shape[1] - ROWS):
        r = node_ints[node, ROWS + c]
        if r >= 0:
            moments[r, WEIGHT] = meta[FREE_ROW]  # a free row holds the number of the next
            meta[FREE_ROW] = r
            node_ints[node, ROWS + c] = -1


@kernel(inline=False)
def _new_row(node_ints, moments, meta, node, c):
    """Take a statistics row from the pool for class c of a leaf; the pool must not be empty."""
    r = meta[FREE_ROW]
    if r >= 0:
        meta[FREE_ROW] = int(moments[r, WEIGHT])
    else:
        r = meta[N_ROWS]
        meta[N_ROWS] += 1
    moments[r] = 0.0
    node_ints[node, ROWS + c] = r
    return r


@kernel(inline=True)
def _pool_is_empty(moments, meta):
    return meta[FREE_ROW] < 0 and meta[N_ROWS] == moments.shape[0]


# ---------------------------------------------------------------------------------------------- splits


@kernel(inline=True)
def _impurity(gini, dist, total):
    """Entropy in bits, or Gini's index, of class weights that sum to ``total``."""
    result = 1.0 if gini else 0.0
    for c in range(dist.size):
        if dist[c] > 0.0:
            p = dist[c] / total  # exactly 1 in a pure node, so that equal splits stay equal
            result -= p * p if gini else p * math.log2(p)
    return result


@kernel(inline=False)
def _observed_impurity(node_ints, moments, gini, leaf):
    """Impurity of the rows that a leaf's statistics hold."""
    total = 0.0
    for c in range(node_ints.shape[1] - ROWS):
        r = node_ints[leaf, ROWS + c]
        total += moments[r, WEIGHT] if r >= 0 else 0.0
    result = 1.0 if gini else 0.0
    for c in range(node_ints.shape[1] - ROWS):
        r = node_ints[leaf, ROWS + c]
        if r >= 0:
            p = moments[r, WEIGHT] / total
            result -= p * p if gini else p * math.log2(p)
    return result


@kernel(inline=True)
def _merit(gini, before, branches, n, min_share):
    """Impurity ``before`` less the branches' weighted impurity; -inf unless two branches hold enough weight."""
    total = 0.0
    for b in range(n):
        for c in range(branches.shape[1]):
            total += branches[b, c]
    filled = 0
    after = 0.0
    for b in range(n):
        weight = 0.0
        for c in range(branches.shape[1]):
            weight += branches[b, c]
        if weight > 0.0:
            filled += weight / total > min_share
            after += weight * _impurity(gini, branches[b], weight)
    return before - after / total if filled >= 2 else -np.inf


@kernel(inline=True)
def _describe(node_ints, moments, ranges, numeric, origin, meta, leaf, j, gaussians):
    """Describe numeric attribute j per class, into ``gaussians`` (5, classes).

    Its rows: weight, mean, 1 / standard deviation, smallest and largest value.
    """
    n = origin.size
    for c in range(gaussians.shape[1]):
        r = node_ints[leaf, ROWS + c]
        weight = 0.0
        if r >= 0:
            weight = moments[r, WEIGHT] - (moments[r, MEANS + 3 * n + j] if meta[MISSING_KEPT] else 0.0)
        if weight <= 0.0:
            gaussians[:, c] = 0.0
            continue
        squares = moments[r, MEANS + 2 * n + j]
        gaussians[0, c] = weight
        gaussians[1, c] = moments[r, MEANS + j]
        gaussians[2, c] = math.sqrt((weight - 1.0) / squares) if weight > 1.0 and squares > 0.0 else np.inf
        gaussians[3, c] = origin[j] + ranges[r, j]
        gaussians[4, c] = origin[j] + ranges[r, n + j]


def _taylor_of_normal_cdf():
    """Taylor coefficients of the normal distribution function around the middle of each of its cells."""
    table = np.empty((2 * _FARTHEST * _PER_UNIT, _TERMS))
    for cell in range(len(table)):
        z = (cell + 0.5) / _PER_UNIT - _FARTHEST
        table[cell, 0] = 0.5 * math.erfc(-z / math.sqrt(2.0))
        term = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)  # the density; its derivatives are -He_n(z) times it
        hermite, before = 1.0, 0.0
        for n in range(1, _TERMS):
            term /= n
            table[cell, n] = hermite * term
            hermite, before = -(z * hermite + (n - 1) * before), hermite
    return table


# Off the true value by less than 1e-15: a split tries some two hundred points, and math.erfc takes 25 ns for each.
_FARTHEST, _PER_UNIT, _TERMS = 8, 16, 8
_NORMAL_CDF = _taylor_of_normal_cdf()


@kernel(inline=True)
def _normal_cdf(z):
    """Share of a standard normal distribution below z; of NaN, as of what is far above, all."""
    inside = -_FARTHEST < z < _FARTHEST
    place = (z + _FARTHEST) * _PER_UNIT if inside else 0.0
    cell = np.uint64(place)
    d = (place - (cell + 0.5)) / _PER_UNIT
    result = _NORMAL_CDF[cell, _TERMS - 1]
    for n in range(_TERMS - 2, -1, -1):
        result = result * d + _NORMAL_CDF[cell, n]
    if inside:
        return min(result, 1.0)
    return 0.5 * math.erfc(-z / math.sqrt(2.0)) if z == z else 1.0


@kernel(inline=True)
def _weight_below(gaussians, c, point):
    """Estimate the weight of class c below a point; without a branch, since where points lie nobody can guess."""
    weight = gaussians[0, c]
    share = _normal_cdf((point - gaussians[1, c]) * gaussians[2, c])
    share = 0.0 if point < gaussians[3, c] else share
    return weight * (1.0 if point >= gaussians[4, c] else share)


@kernel(inline=True)
def _divide(gaussians, point, branches):
    """Estimate the class weights left and right of a point."""
    for c in range(branches.shape[1]):
        left = _weight_below(gaussians, c, point)
        branches[0, c] = left
        branches[1, c] = gaussians[0, c] - left


@kernel(inline=True)
def _add_impurity(gini, impurity, p):
    """Take the share of one more class into an impurity, four times over."""
    return impurity - (p * p if gini else p * log2(p))


@kernel(inline=True)
def _merits(gini, before, gaussians, below):
    """Merits, as :func:`_merit` has them, of dividing at four points; ``below``: the classes' weights there."""
    k = gaussians.shape[1]
    left = splat(0.0)
    right = splat(0.0)
    for c in range(k):
        part = load(below, c * LANES)
        left = left + part
        right = right + (gaussians[0, c] - part)
    impurity_left = splat(1.0 if gini else 0.0)
    impurity_right = impurity_left
    for c in range(k):
        part = load(below, c * LANES)
        impurity_left = _add_impurity(gini, impurity_left, part / left)
        impurity_right = _add_impurity(gini, impurity_right, (gaussians[0, c] - part) / right)
    return before - (left * impurity_left + right * impurity_right) / (left + right)


@kernel(inline=False)
def _best_point(node_ints, moments, ranges, numeric, origin, meta, options, leaf, j, before, gaussians, below):
    """Best of the equally spaced candidate points of numeric attribute j: (merit, point).

    ``gaussians`` (5, classes) and ``below`` (classes + 1, 4) are room to work in.
    """
    _describe(node_ints, moments, ranges, numeric, origin, meta, leaf, j, gaussians)
    k = gaussians.shape[1]
    low = np.inf
    high = -np.inf
    weight = 0.0
    for c in range(k):
        if gaussians[0, c] > 0.0:
            weight += gaussians[0, c]
            low = min(low, gaussians[3, c])
            high = max(high, gaussians[4, c])
    best = -np.inf
    best_point = 0.0
    points = int(options[POINTS])
    enough = options[MIN_BRANCH] * weight
    for first in range(1, points + 1, LANES):
        for c in range(k):
            for lane in range(LANES):
                below[c, lane] = _weight_below(gaussians, c, low + (high - low) * (first + lane) / (points + 1))
        store(below, k * LANES, _merits(options[GINI] != 0.0, before, gaussians, below))
        for lane in range(min(LANES, points + 1 - first)):
            point = low + (high - low) * (first + lane) / (points + 1)
            left = 0.0
            for c in range(k):
                left += below[c, lane]
            allowed = (low < point) & (point < high) & (enough < left) & (left < weight - enough)
            better = allowed & (below[k, lane] > best)
            best = below[k, lane] if better else best
            best_point = point if better else best_point
    return best, best_point


@kernel(inline=False)
def _values(node_ints, moments, cells, leaf, k):
    """Highest value slot of nominal attribute k in use at a leaf."""
    result = 0
    for c in range(node_ints.shape[1] - ROWS):
        r = node_ints[leaf, ROWS + c]
        if r >= 0:
            result = max(result, int(moments[r, cells[k, START] + SLOTS]))
    return result


@kernel(inline=False)
def _share_out(node_ints, moments, cells, leaf, k, n, branches):
    """Class weights per value of nominal attribute k into ``branches`` (n or more, classes)."""
    for c in range(branches.shape[1]):
        r = node_ints[leaf, ROWS + c]
        for v in range(n):
            branches[v, c] = moments[r, cells[k, START] + CELLS + v] if r >= 0 else 0.0


@kernel(inline=False)
def _one_against_rest(table, totals, value, branches):
    for c in range(table.shape[1]):
        rest = totals[c] - table[value, c]
        branches[0, c] = table[value, c]
        branches[1, c] = rest if rest > 1e-9 * totals[c] else 0.0  # a difference of sums leaves dust


@kernel(inline=False)
def _add_up(table, totals):
    """Sum each class over the values."""
    for c in range(table.shape[1]):
        totals[c] = 0.0
        for v in range(table.shape[0]):
            totals[c] += table[v, c]


@kernel
def _best_partition(node_ints, moments, cells, options, leaf, k, before, branches):
    """Best test on nominal attribute k: (merit, value), the value -1 for one branch per value."""
    n = _values(node_ints, moments, cells, leaf, k)
    if n < 2:
        return -np.inf, -1.0
    gini = options[GINI] != 0.0
    min_share = options[MIN_BRANCH]
    table = np.empty((n, branches.shape[1]))
    _share_out(node_ints, moments, cells, leaf, k, n, table)
    best = -np.inf
    best_value = -1.0
    if options[BINARY] == 0.0:
        best = _merit(gini, before, table, n, min_share)
    # Between two values one test says it all; its mirror images could only win by rounding.
    single = n if n > 2 else (1 if options[BINARY] != 0.0 else 0)
    totals = np.empty(branches.shape[1])
    _add_up(table, totals)
    for v in range(single):
        _one_against_rest(table, totals, v, branches)
        merit = _merit(gini, before, branches, 2, min_share)
        if merit > best:
            best = merit
            best_value = float(v)
    return best, best_value


@kernel
def _split(node_ints, node_floats, moments, ranges, dropped, slots, numeric, cells, origin, gains, meta, leaf, node,
           a, cut, merit):
    """Split ``node`` by column ``a``, as the statistics of ``leaf`` have it; False if there are not enough nodes left.

    The two are the same but for an option tree's further options. The leaf's statistics stay where they are.
    """
    k = node_floats.shape[1] - COUNTS
    slot = slots[a]
    multiway = slot < 0 and cut < 0.0
    n = _values(node_ints, moments, cells, leaf, -1 - slot) if multiway else 2
    first = meta[N_NODES]
    if first + n > node_ints.shape[0]:
        return False
    branches = np.empty((n, k))
    if slot >= 0:
        gaussians = np.empty((5, k))
        _describe(node_ints, moments, ranges, numeric, origin, meta, leaf, slot, gaussians)
        _divide(gaussians, cut, branches)
    elif multiway:
        _share_out(node_ints, moments, cells, leaf, -1 - slot, n, branches)
    else:
        v = _values(node_ints, moments, cells, leaf, -1 - slot)
        table = np.empty((v, k))
        _share_out(node_ints, moments, cells, leaf, -1 - slot, v, table)
        totals = np.empty(k)
        _add_up(table, totals)
        _one_against_rest(table, totals, int(cut), branches)
    gains[a] += node_floats[leaf, SEEN] * merit
    node_ints[node, FEATURE] = a
    node_ints[node, BRANCHES] = n if multiway else (NUMERIC if slot >= 0 else EQUALS)
    node_ints[node, CHILD] = first
    node_floats[node, THRESHOLD] = cut  # -1 for one branch per value: no late branches yet
    for b in range(n):
        _new_leaf(node_ints, node_floats, dropped, meta)
        total = 0.0
        for c in range(k):
            node_floats[first + b, COUNTS + c] = branches[b, c]
            total += branches[b, c]
        node_floats[first + b, SEEN] = total
    return True


@kernel(inline=False)
def _new_leaf(node_ints, node_floats, dropped, meta):
    node = meta[N_NODES]
    meta[N_NODES] += 1
    node_ints[node] = -1
    node_ints[node, FEATURE] = ACTIVE
    node_floats[node] = 0.0
    if dropped.shape[0]:
        dropped[node] = False
    return node


@kernel
def _try_to_split(node_ints, node_floats, moments, ranges, dropped, slots, numeric, cells, origin, gains,
                  meta, options, leaf):
    """One evaluation of a leaf after its grace period; returns whether it was split."""
    k = node_floats.shape[1] - COUNTS
    counts = node_floats[leaf, COUNTS:]
    met = 0
    total = 0.0
    for c in range(k):
        met += counts[c] > 0.0
        total += counts[c]
    if met < 2:
        return False
    gini = options[GINI] != 0.0
    before = _impurity(gini, counts, total)
    span = 1.0 if gini else math.log2(max(2, meta[N_CLASSES]))
    bound = math.sqrt(span * span * math.log(1.0 / options[DELTA]) / (2.0 * total))
    # Two splits of the same rows cannot differ by more than the rows' own impurity: where that is below the bound,
    # two splits that compare at all settle the matter. (Rows with gaps are not the same for all attributes.)
    hopeless = (
        bound >= options[TAU]
        and meta[MISSING_KEPT] == 0
        and cells.shape[0] == 0
        and options[DROP_POOR] == 0.0
        and _observed_impurity(node_ints, moments, gini, leaf) + 1e-9 <= bound
    )
    d = slots.size
    branches = np.empty((2, k))
    gaussians = np.empty((5, k))
    below = np.empty((k + 1, LANES))
    merits = np.empty(d)
    best_a = -1
    best = 0.0  # the merit of no split
    second = -np.inf
    best_cut = 0.0
    suggestions = 1 if options[PRE_PRUNE] != 0.0 else 0
    if suggestions == 0:
        best = -np.inf
    for a in range(d):
        merits[a] = -np.inf
        if dropped.shape[0] and dropped[leaf, a]:
            continue
        slot = slots[a]
        if slot >= 0:
            merit, cut = _best_point(node_ints, moments, ranges, numeric, origin, meta, options, leaf, slot, before,
                                     gaussians, below)
        else:
            merit, cut = _best_partition(
                node_ints, moments, cells, options, leaf, -1 - slot, before, branches
            )
        if merit == -np.inf:
            continue
        merits[a] = merit
        suggestions += 1
        if hopeless and suggestions == 2:
            return False
        if merit >= best:
            second = best
            best = merit
            best_a = a
            best_cut = cut
        elif merit > second:
            second = merit
    if options[DROP_POOR] != 0.0:
        for a in range(d):
            if merits[a] < best - bound and merits[a] > -np.inf:
                dropped[leaf, a] = True
    decided = suggestions == 1 or best - second > bound or bound < options[TAU]
    return (
        best_a >= 0
        and decided
        and _split(node_ints, node_floats, moments, ranges, dropped, slots, numeric, cells, origin, gains,
                   meta, leaf, leaf, best_a, best_cut, best)
    )


# ---------------------------------------------------------------------------------------------- memory


@kernel(inline=False)
def _needs(node_ints, node_floats, leaf, asking, c):
    """Statistics rows a leaf needs: one per class it holds, and for class ``c`` if it is the one asking."""
    need = 0
    for other in range(node_ints.shape[1] - ROWS):
        if node_floats[leaf, COUNTS + other] > 0.0 or (leaf == asking and other == c):
            need += 1
    return max(need, 1)


@kernel(inline=False)
def _sort(keys, numbers, n):
    """Sort by falling key, rising number among equals (Shell's sort: small, and quick enough for leaves)."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            key = keys[i]
            number = numbers[i]
            j = i
            while j >= gap and (
                keys[j - gap] < key or (keys[j - gap] == key and numbers[j - gap] > number)
            ):
                keys[j] = keys[j - gap]
                numbers[j] = numbers[j - gap]
                j -= gap
            keys[j] = key
            numbers[j] = number
        gap //= 3


@kernel
def _enforce(node_ints, node_floats, moments, dropped, meta, room, asking, c):
    """Let the most promising leaves learn, as many as ``room`` statistics rows allow; deactivate the others.

    A leaf's promise is the weight it holds outside its majority class: what a split could still put right.
    """
    m = meta[N_NODES]
    leaves = np.empty(m, np.int64)
    promise = np.empty(m)
    n = 0
    for node in range(m):
        if node_ints[node, FEATURE] < 0:
            leaves[n] = node
            total = 0.0
            for other in range(node_floats.shape[1] - COUNTS):
                total += node_floats[node, COUNTS + other]
            promise[n] = total - node_floats[node, COUNTS + _majority(node_floats, node)]
            n += 1
    _sort(promise, leaves, n)
    used = 0
    rank = 0
    while rank < n:
        used += _needs(node_ints, node_floats, leaves[rank], asking, c)
        if used > room:
            break
        rank += 1
    for later in range(rank, n):  # release before others take
        leaf = leaves[later]
        if node_ints[leaf, FEATURE] == ACTIVE:
            _release(node_ints, moments, meta, leaf)
            node_ints[leaf, FEATURE] = INACTIVE
    for earlier in range(rank):
        leaf = leaves[earlier]
        if node_ints[leaf, FEATURE] == INACTIVE:
            node_ints[leaf, FEATURE] = ACTIVE
            node_floats[leaf, NB_LEAD] = 0.0
            node_floats[leaf, SINCE] = 0.0
            if dropped.shape[0]:
                dropped[leaf] = False
    meta[N_INACTIVE] = n - rank


@kernel
def shrink(table, room):
    """Make do with the first ``room`` statistics rows: deactivate leaves, then move rows down into the gaps."""
    t = tree_at(table)
    _enforce(t.node_ints, t.node_floats, t.moments, t.dropped, t.meta, room, -1, -1)
    _close_gaps(t.node_ints, t.moments, t.ranges, t.meta, room)


@kernel
def _close_gaps(node_ints, moments, ranges, meta, room):
    """Move statistics rows down so that all lie among the first ``room``; no more than that are in use."""
    taken = np.zeros(moments.shape[0], np.bool_)
    for node in range(meta[N_NODES]):
        for c in range(node_ints.shape[1] - ROWS):
            if node_ints[node, ROWS + c] >= 0:
                taken[node_ints[node, ROWS + c]] = True
    gap = 0
    for node in range(meta[N_NODES]):
        for c in range(node_ints.shape[1] - ROWS):
            r = node_ints[node, ROWS + c]
            if r >= room:
                while taken[gap]:
                    gap += 1
                moments[gap] = moments[r]
                ranges[gap] = ranges[r]
                taken[gap] = True
                node_ints[node, ROWS + c] = gap
    # Rebuild the free list from what is left below the limit.
    meta[FREE_ROW] = -1
    meta[N_ROWS] = min(meta[N_ROWS], room)
    for r in range(meta[N_ROWS] - 1, -1, -1):
        if not taken[r]:
            moments[r, WEIGHT] = meta[FREE_ROW]
            meta[FREE_ROW] = r


# ---------------------------------------------------------------------------------------------- learning


@kernel(inline=True)
def _needed_by_row(slots, numeric, cells, meta, X, i, gaps):
    """What row i's values need that is not there, wherever it goes."""
    if slots.size < X.shape[1] and meta[COLUMNS_FIXED] == 0:
        for a in range(slots.size, X.shape[1]):
            if X[i, a] == X[i, a]:
                return NEED_COLUMNS
    if gaps and meta[MISSING_KEPT] == 0 and numeric.size:
        return NEED_MISSING
    for a in range(slots.size if cells.shape[0] else 0):
        slot = slots[a]
        if slot < 0 and X[i, a] >= cells[-1 - slot, CAPACITY] and cells[-1 - slot, CELLS_FIXED] == 0:
            return NEED_CELLS + (-1 - slot)
    return NEED_NOTHING


@kernel(inline=True)
def _widest(cells, options):
    """Most branches that a split may have."""
    widest = 2
    if options[BINARY] == 0.0:
        for k in range(cells.shape[0]):
            widest = max(widest, cells[k, CAPACITY])
    return widest


@kernel(inline=False)
def _needed(node_ints, node_floats, moments, extra, slots, numeric, cells, meta, options, X, i, y, gaps, node, w):
    """What row i could need that is not there; NEED_NOTHING if it can be learned."""
    need = _needed_by_row(slots, numeric, cells, meta, X, i, gaps)
    if need != NEED_NOTHING:
        return need
    if node_ints[node, FEATURE] >= 0 and extra.shape[0] == meta[N_EXTRA] and meta[NODES_FIXED] == 0:
        return NEED_EXTRA
    # Always keep the nodes of one split in hand wherever one might happen.
    if node_ints[node, FEATURE] >= 0 or node_floats[node, SINCE] + w >= options[GRACE]:
        widest = _widest(cells, options)
        if meta[N_NODES] + widest > node_ints.shape[0] and meta[NODES_FIXED] == 0:
            meta[NEEDED_NODES] = widest
            return NEED_NODES
    if (
        meta[ROWS_FIXED] == 0
        and _pool_is_empty(moments, meta)
        and (
            node_ints[node, FEATURE] >= 0
            or (node_ints[node, FEATURE] == ACTIVE and node_ints[node, ROWS + y] < 0)
        )
    ):
        return NEED_ROWS
    return NEED_NOTHING


@kernel(inline=False)
def _grow_late_branch(node_ints, node_floats, extra, dropped, meta, node, value):
    """Add a leaf for a value that its node's test has not met before; the node itself if there is no room."""
    if extra.shape[0] == meta[N_EXTRA] or meta[N_NODES] == node_ints.shape[0]:
        return node
    link = meta[N_EXTRA]
    meta[N_EXTRA] += 1
    leaf = _new_leaf(node_ints, node_floats, dropped, meta)
    extra[link, VALUE] = int(value)
    extra[link, LATE_CHILD] = leaf
    extra[link, NEXT] = int(node_floats[node, THRESHOLD])
    node_floats[node, THRESHOLD] = link
    return leaf


@kernel(inline=True)
def _update_row(node_floats, moments, ranges, slots, numeric, cells, origin, meta, predicts, r, leaf, X, i, y, w, x):
    """Add row i to statistics row ``r`` of a leaf; ``predicts``: naive Bayes may ask for it."""
    if meta[MISSING_KEPT]:
        _update_moments_with_gaps(moments, ranges, origin, r, x, w)
    else:
        _update_moments(moments, ranges, r, x, origin, w)
        weight = moments[r, WEIGHT]
        if weight > 1.0 and predicts:
            moments[r, BIAS] = _log_constants(moments, r, x.size, node_floats[leaf, COUNTS + y])
    if cells.shape[0]:
        _update_cells(moments, slots, cells, r, X, i, w)


@kernel(inline=False)
def _learn_unusual(table, X, i, c, weight, x, path, depth, node, bayes):
    """Learn row i where more may happen than that a leaf's statistics take it in; returns the node it is learned at.

    Its leaf may have to begin, or to do without, statistics for its class; the leaf's grace period may end; and its
    way may have no branch for its value.
    """
    t = tree_at(table)
    node_ints, node_floats, moments, ranges, dropped = t.node_ints, t.node_floats, t.moments, t.ranges, t.dropped
    slots, numeric, cells, origin, meta, options = t.slots, t.numeric, t.cells, t.origin, t.meta, t.options
    meta[N_SEEN] += 1
    meta[N_CLASSES] = max(meta[N_CLASSES], c + 1)
    _note_origin(origin, numeric, x)
    _let_see(node_floats, path, depth, weight)
    if node_ints[node, FEATURE] >= 0:
        inner = node
        node = _grow_late_branch(node_ints, node_floats, t.extra, dropped, meta, inner, X[i, node_ints[inner, FEATURE]])
        if node != inner:
            node_floats[node, SEEN] += weight
            meta[DEPTH] = max(meta[DEPTH], depth)
    elif node_ints[node, FEATURE] == ACTIVE and options[LEAF_KIND] == ADAPTIVE:
        _keep_score(node_floats, node, bayes, c, weight)
    if node_ints[node, FEATURE] < 0:
        node_floats[node, COUNTS + c] += weight
    if node_ints[node, FEATURE] == ACTIVE:
        node_floats[node, SINCE] += weight
        r = node_ints[node, ROWS + c]
        if r < 0:
            if _pool_is_empty(moments, meta):
                _enforce(node_ints, node_floats, moments, dropped, meta, moments.shape[0], node, c)
            if node_ints[node, FEATURE] == ACTIVE:
                r = _new_row(node_ints, moments, meta, node, c)
        if r >= 0:
            _update_row(node_floats, moments, ranges, slots, numeric, cells, origin, meta,
                        options[LEAF_KIND] != MAJORITY, r, node, X, i, c, weight, x)
    if node_ints[node, FEATURE] == ACTIVE and node_floats[node, SINCE] >= options[GRACE]:
        node_floats[node, SINCE] = 0.0
        if _try_to_split(node_ints, node_floats, moments, ranges, dropped, slots, numeric, cells, origin, t.gains, meta,
                         options, node):
            _release(node_ints, moments, meta, node)
            meta[DEPTH] = max(meta[DEPTH], depth)
            if meta[N_INACTIVE] > 0:
                _enforce(node_ints, node_floats, moments, dropped, meta, moments.shape[0], -1, -1)
    return node


@kernel(inline=False)
def _note_origin(origin, numeric, x):
    """Keep the first value met of each numeric attribute."""
    for j in range(numeric.size):
        if origin[j] != origin[j]:  # NaN: nothing met yet
            origin[j] = x[j]


@kernel(inline=True)
def _let_see(node_floats, path, depth, weight):
    """Add a row's weight to what the nodes on its way have seen."""
    for step in range(depth):
        node_floats[np.uint64(path[step]), SEEN] += weight


@kernel(inline=True)
def _keep_score(node_floats, node, bayes, c, weight):
    """Note who got a row right that a leaf is about to learn, naive Bayes or the majority class."""
    majority = _majority(node_floats, node)
    guess = bayes if bayes >= 0 else majority
    node_floats[node, NB_LEAD] += weight * ((guess == c) - (majority == c))


@kernel
def learn(table, start, X, y, w, before, after):
    """Learn rows ``start``.. of a chunk; returns the first row not learned, ``meta[NEED]`` says why.

    ``before`` and ``after`` get each row's votes just before and just after it, unless they have no rows.
    Rows of weight 0 change nothing.
    """
    t = tree_at(table)
    node_ints, node_floats, moments, ranges = t.node_ints, t.node_floats, t.moments, t.ranges
    extra, dropped, slots, numeric, cells = t.extra, t.dropped, t.slots, t.numeric, t.cells
    origin, meta, options = t.origin, t.meta, t.options
    k = node_floats.shape[1] - COUNTS
    n = origin.size
    scratch = np.zeros(n + 2 * k)
    x = scratch[:n]
    scores = scratch[n : n + k]
    products = scratch[n + k :]
    # A row deepens the tree by one level at most, and every level takes two nodes at least.
    path = np.empty(2 + min(meta[DEPTH] + X.shape[0] - start, node_ints.shape[0] // 2 + 1), np.int64)
    predicts = options[LEAF_KIND] != MAJORITY
    adaptive = options[LEAF_KIND] == ADAPTIVE
    plain = cells.shape[0] == 0 and X.shape[1] <= slots.size
    meta[NEED] = NEED_NOTHING
    for i in range(start, X.shape[0]):
        # No index is negative. Where that is said, here or by an unsigned type, numba does not make sure each time.
        c = max(y[np.uint64(i)], 0)
        weight = w[np.uint64(i)]
        gaps = _gather(slots, numeric, cells, X, i, x)
        depth = _route(node_ints, node_floats, extra, X, i, gaps, path)
        node = max(path[np.uint64(depth - 1)], 0)
        learns = weight > 0.0 and (c < k or meta[CLASSES_FIXED] == 0)  # else passed over: no room for its class
        # A row that had to wait for room has voted already: to make room may have cost its leaf the statistics.
        votes_now = before.shape[0] > 0 and not (i == start and meta[HAS_VOTED])
        bayes = -1
        uses_bayes = _uses_bayes(node_ints, node_floats, options, node)
        if (adaptive and learns and node_ints[node, FEATURE] == ACTIVE) or (votes_now and uses_bayes):
            bayes = _bayes(node_ints, node_floats, moments, slots, numeric, cells, meta, node, X, i, x, gaps, scores,
                           products)
        if votes_now:
            _vote(node_floats, node, uses_bayes, bayes, scores, before, i)
        if learns:
            r = node_ints[node, ROWS + c] if c < k else -1
            # Most rows are of a class that their leaf keeps statistics of, between two attempts to split it.
            if (
                r >= 0
                and node_floats[node, SINCE] + weight < options[GRACE]
                and ((plain and not gaps) or _needed_by_row(slots, numeric, cells, meta, X, i, gaps) == NEED_NOTHING)
            ):
                meta[N_SEEN] += 1
                if meta[MISSING_KEPT]:
                    _note_origin(origin, numeric, x)
                _let_see(node_floats, path, depth, weight)
                if adaptive:
                    _keep_score(node_floats, node, bayes, c, weight)
                node_floats[node, COUNTS + c] += weight
                node_floats[node, SINCE] += weight
                _update_row(node_floats, moments, ranges, slots, numeric, cells, origin, meta, predicts, r, node, X, i,
                            c, weight, x)
            else:
                need = NEED_CLASSES
                if c < k:
                    need = _needed(node_ints, node_floats, moments, extra, slots, numeric, cells, meta, options, X, i,
                                   c, gaps, node, weight)
                if need != NEED_NOTHING:
                    meta[NEED] = need
                    return i
                node = _learn_unusual(table, X, i, c, weight, x, path, depth, node, bayes)
            if meta[N_INACTIVE] > 0 and meta[N_SEEN] % int(options[MEMORY_PERIOD]) == 0:
                _enforce(node_ints, node_floats, moments, dropped, meta, moments.shape[0], -1, -1)
        meta[HAS_VOTED] = 0
        if after.shape[0] > 0:
            if votes_now and not learns:
                for other in range(after.shape[1]):
                    after[i, other] = before[i, other]
                continue
            if node_ints[node, FEATURE] >= 0:  # split just now
                node = _end_of_route(node_ints, node_floats, extra, X, i, gaps)
            _vote_at(node, i, X, after, x, gaps, scores, products, node_ints, node_floats, moments, slots, numeric,
                     cells, meta, options)
    return X.shape[0]
