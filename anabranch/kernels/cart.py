"""What a forest of fitted decision trees says of rows.

A forest is a few arrays (see :class:`anabranch.ensemble._batch.Models`): the nodes of all its trees one after the
other, and where each tree begins.
"""

from __future__ import annotations

import numpy as np

from anabranch.kernels import kernel


@kernel
def add_votes(X, roots, feature, threshold, left, right, missing_left, values, hard, votes):
    """Add up what the trees say of each row.

    Parameters
    ----------
    X : float64 (n, d)
        NaN is missing. A column that is not there counts as missing.
    roots : int32 (trees,)
        Each tree's first node.
    feature, left, right : int32 (nodes,)
        The column that a node looks at, and the nodes below it. A leaf has feature -1, and its row of ``values``
        in ``left``.
    threshold : float64 (nodes,)
        Values up to it, rounded to float32 as scikit-learn does, go left.
    missing_left : bool (nodes,)
        Whether missing values go left.
    values : float64 (leaves, k)
        Share of the classes.
    hard : bool
        Whether a tree gives its most probable class one vote (the first among equals), rather than shares.
    votes : float64 (n, k or more)
        Added to.
    """
    n, d = X.shape
    k = values.shape[1]
    for root in roots:
        for i in range(n):
            node = root
            column = feature[node]
            while column >= 0:
                goes_left = missing_left[node]
                if column < d:
                    value = X[i, column]
                    if value == value:
                        goes_left = np.float64(np.float32(value)) <= threshold[node]
                node = left[node] if goes_left else right[node]
                column = feature[node]
            leaf = left[node]
            if hard:
                best = 0
                for c in range(1, k):
                    if values[leaf, c] > values[leaf, best]:
                        best = c
                votes[i, best] += 1.0
            else:
                for c in range(k):
                    votes[i, c] += values[leaf, c]


@kernel(inline=False)
def _sort(values, rows):
    """Sort values, and rows along with them: Shell's sort, which needs no further room."""
    n = values.size
    gap = 1
    while gap < n // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            value, row = values[i], rows[i]
            j = i
            while j >= gap and values[j - gap] > value:
                values[j], rows[j] = values[j - gap], rows[j - gap]
                j -= gap
            values[j], rows[j] = value, row
        gap //= 3


@kernel(inline=True)
def _gini(counts, weight):
    squares = 0.0
    for c in range(counts.size):
        squares += counts[c] * counts[c]
    return 1.0 - squares / (weight * weight)


@kernel(inline=True)
def _draw(state, low, high):
    """Draw a number from low to high - 1: Marsaglia's xorshift of 32 bits."""
    x = state[0]
    x ^= (x << 13) & 0xFFFFFFFF
    x ^= x >> 17
    x ^= (x << 5) & 0xFFFFFFFF
    state[0] = x
    return low + np.int64(x & 0x7FFFFFFF) % (high - low)


# As scikit-learn: values nearer to each other are the same, impurities up to it are none.
_SAME = np.float32(1e-7)
_NONE = np.finfo(np.float64).eps


@kernel
def grow(X, y, k, min_samples_split, max_depth, seed, feature, threshold, left, right, values):
    """Grow a classification tree, the very one that scikit-learn grows: CART with Gini's impurity.

    Where several columns split a node equally well, the first one in a random order wins; that order, too, comes out
    as in scikit-learn. What is different is the way there: every column is sorted once, and nodes keep the order.

    Parameters
    ----------
    X : float32 (n, d)
        Without gaps.
    y : int64 (n,)
        Codes below k.
    min_samples_split, max_depth : int
        Nodes with fewer rows, or so deep, are leaves; as are pure ones.
    seed : int
        What scikit-learn draws from ``random_state`` first.
    feature, threshold, left, right, values
        Take the tree, see :func:`add_votes`; with room for 2n - 1 nodes and n leaves.

    Returns
    -------
    nodes, leaves : int
    """
    n, d = X.shape
    sorted_values = np.empty((d, n), np.float32)
    order = np.empty((d, n), np.int32)  # rows in the order of each column, node by node
    for j in range(d):
        for i in range(n):
            sorted_values[j, i] = X[i, j]
            order[j, i] = i
        _sort(sorted_values[j], order[j])
    goes_left = np.empty(n, np.bool_)
    aside = np.empty(n, np.int32)
    aside_values = np.empty(n, np.float32)
    columns = np.arange(d)  # a permutation; those known to be constant come first
    constants = np.empty(d, np.int64)
    state = np.empty(1, np.int64)
    state[0] = seed if seed > 0 else 1
    counts, in_left, in_right = np.empty(k), np.empty(k), np.empty(k)
    stack = np.empty((n + 1, 5), np.int64)  # start, stop, parent (or ~parent on the right), depth, constant columns
    stack[0] = (0, n, -1, 0, 0)
    depth_of_stack = 1
    nodes = leaves = 0
    while depth_of_stack > 0:
        depth_of_stack -= 1
        start, stop, parent, depth, n_known = stack[depth_of_stack]
        node = nodes
        nodes += 1
        if node > 0:
            if parent >= 0:
                left[parent] = node
            else:
                right[~parent] = node
        size = stop - start
        counts[:] = 0.0
        for i in range(start, stop):
            counts[y[order[0, i]]] += 1.0
        impurity = _gini(counts, float(size))
        best_column, best_place, best_threshold, best = -1, -1, 0.0, -np.inf
        n_all = n_known
        if size >= min_samples_split and depth < max_depth and impurity > _NONE:
            end, n_drawn, n_found = d, 0, 0
            while end > n_all:
                place = _draw(state, n_drawn, end - n_found)
                if place < n_known:  # constant already above
                    columns[n_drawn], columns[place] = columns[place], columns[n_drawn]
                    n_drawn += 1
                    continue
                place += n_found
                column = columns[place]
                value = sorted_values[column]
                if value[stop - 1] <= value[start] + _SAME:
                    columns[place], columns[n_all] = columns[n_all], columns[place]
                    n_found += 1
                    n_all += 1
                    continue
                end -= 1
                columns[end], columns[place] = columns[place], columns[end]
                in_left[:] = 0.0
                in_right[:] = counts
                for i in range(start, stop - 1):
                    code = y[order[column, i]]
                    in_left[code] += 1.0
                    in_right[code] -= 1.0
                    if value[i + 1] <= value[i] + _SAME:
                        continue
                    n_left, n_right = float(i + 1 - start), float(stop - i - 1)
                    merit = -n_right * _gini(in_right, n_right) - n_left * _gini(in_left, n_left)
                    if merit > best:
                        best, best_column, best_place = merit, column, i + 1
                        best_threshold = value[i] / 2.0 + value[i + 1] / 2.0
                        if best_threshold == value[i + 1] or abs(best_threshold) == np.inf:
                            best_threshold = np.float64(value[i])
            for i in range(n_known):
                columns[i] = constants[i]
            for i in range(n_known, n_all):
                constants[i] = columns[i]
        if best_column < 0:
            feature[node], threshold[node], left[node], right[node] = -1, -2.0, leaves, -1
            for c in range(k):
                values[leaves, c] = counts[c] / size
            leaves += 1
            continue
        feature[node], threshold[node] = best_column, best_threshold
        for i in range(start, stop):
            goes_left[order[best_column, i]] = i < best_place
        for j in range(d):
            kept = start
            put = 0
            for i in range(start, stop):
                row = order[j, i]
                value_ = sorted_values[j, i]
                if goes_left[row]:
                    order[j, kept], sorted_values[j, kept] = row, value_
                    kept += 1
                else:
                    aside[put], aside_values[put] = row, value_
                    put += 1
            for i in range(put):
                order[j, kept + i], sorted_values[j, kept + i] = aside[i], aside_values[i]
        stack[depth_of_stack] = (best_place, stop, ~node, depth + 1, n_all)
        stack[depth_of_stack + 1] = (start, best_place, node, depth + 1, n_all)
        depth_of_stack += 2
    return nodes, leaves
