"""Alternating decision trees: boosting over all prediction nodes and presorted columns."""

from __future__ import annotations

import math

import numpy as np

from anabranch.kernels import kernel

# Columns of a splitter's integers. Splitter s has the prediction nodes 2s + 1 where its condition holds and 2s + 2
# where it does not; the root is prediction node 0.
PARENT, FEATURE, NOMINAL = range(3)

# Conditions whose Z differs by less than this share of the weight are equals: the first one is taken.
TIE = 1e-10


@kernel(inline=False)
def root_product(a, b):
    """Twice the geometric mean: what a branch adds to Z."""
    return 2.0 * math.sqrt(a * b)


@kernel(inline=False)
def merit(yes_pos, yes_neg, pos, neg, smoothing):
    """Z of a condition less the whole weight: below 0, the further the better.

    What the condition holds for, and what is known of it in all; the rest is weight that neither branch reaches.
    """
    no_pos, no_neg = max(pos - yes_pos, 0.0), max(neg - yes_neg, 0.0)
    return (
        root_product(yes_pos + smoothing, yes_neg + smoothing)
        + root_product(no_pos + smoothing, no_neg + smoothing)
        - (yes_pos + yes_neg + no_pos + no_neg + 4.0 * smoothing)
    )


@kernel
def with_room(array, n):
    """An array of at least n entries, with the same content."""
    if len(array) >= n:
        return array
    longer = np.empty(max(n, 2 * len(array)), array.dtype)
    for i in range(len(array)):
        longer[i] = array[i]
    return longer


@kernel(inline=False)
def consider(node, j, threshold, score, tie, best, best_feature, best_threshold):
    """Keep a condition if it is the node's best so far."""
    if score < best[node] - tie:
        best[node] = score
        best_feature[node] = j
        best_threshold[node] = threshold


@kernel(inline=False)
def search(
    values, nominal, order, n_known, positive, w, starts, nodes_of, n_nodes, pos, neg, smoothing, tie,
    known_pos, known_neg, yes_pos, yes_neg, last, met, best, best_feature, best_threshold,
):  # fmt: skip
    """Find the best base condition below each node: one pass over each column serves all nodes.

    Row i counts for the nodes ``nodes_of[starts[i]:starts[i + 1]]``.
    """
    for j in range(len(values)):
        column = values[j]
        rows = order[j, : n_known[j]]
        complete = n_known[j] == order.shape[1]
        for node in range(n_nodes):
            known_pos[node] = pos[node] if complete else 0.0
            known_neg[node] = neg[node] if complete else 0.0
            yes_pos[node] = yes_neg[node] = 0.0
            met[node] = False
        if not complete:  # what is missing follows neither branch
            for r in rows:
                for e in range(starts[r], starts[r + 1]):
                    if positive[r]:
                        known_pos[nodes_of[e]] += w[r]
                    else:
                        known_neg[nodes_of[e]] += w[r]
        for r in rows:
            v = column[r]
            for e in range(starts[r], starts[r + 1]):
                node = nodes_of[e]
                if met[node] and v > last[node]:
                    score = merit(yes_pos[node], yes_neg[node], known_pos[node], known_neg[node], smoothing)
                    if nominal[j]:
                        consider(node, j, last[node], score, tie, best, best_feature, best_threshold)
                        yes_pos[node] = yes_neg[node] = 0.0
                    else:
                        middle = last[node] + (v - last[node]) / 2.0
                        threshold = middle if middle < v else last[node]
                        consider(node, j, threshold, score, tie, best, best_feature, best_threshold)
                met[node] = True
                last[node] = v
                if positive[r]:
                    yes_pos[node] += w[r]
                else:
                    yes_neg[node] += w[r]
        if nominal[j]:  # the last value's rows; with one value alone nothing is told apart
            for node in range(n_nodes):
                if met[node]:
                    score = merit(yes_pos[node], yes_neg[node], known_pos[node], known_neg[node], smoothing)
                    consider(node, j, last[node], score, tie, best, best_feature, best_threshold)


@kernel
def boost(values, nominal, order, n_known, positive, weights, rounds, smoothing):
    """Grow an alternating tree; returns its splitters, thresholds, prediction values, and weights by class.

    Parameters
    ----------
    values : ndarray of float64, shape (d, n)
        The rows' columns; NaN is missing, nominal values are codes.
    nominal : ndarray of bool, shape (d,)
    order : ndarray of int32, shape (d, n)
        Row numbers sorted by each column, gaps last.
    n_known : ndarray of int64, shape (d,)
        Values that are not missing.
    positive : ndarray of bool, shape (n,)
        Whether a row is of the class that scores above 0 stand for.
    weights : ndarray of float64, shape (n,)
    rounds : int
        Splitters, merged ones included.
    smoothing : float
        Added to each sum of weights.
    """
    n = len(positive)
    room = 2 * rounds + 1
    ints = np.zeros((rounds, 3), np.int32)
    thresholds = np.zeros(rounds)
    predictions = np.zeros(room)
    counts = np.zeros((room, 2))  # the rows' own weights
    w = np.empty(n)
    for r in range(n):
        w[r] = weights[r]
    # Rows that reach each prediction node, one node's after the other's.
    members = np.empty(n, np.int32)
    for r in range(n):
        members[r] = r
    begin = np.zeros(room + 1, np.int64)
    begin[1] = n
    n_nodes = 1
    n_splitters = 0
    pos, neg = np.zeros(room), np.zeros(room)
    best = np.zeros(room)
    best_feature = np.full(room, -1, np.int64)
    best_threshold = np.zeros(room)
    stale = np.ones(room, np.bool_)  # whose rows have other weights than when they were searched
    searched = np.zeros(room, np.bool_)
    changed = np.zeros(n, np.bool_)
    starts = np.zeros(n + 1, np.int64)
    nodes_of = np.empty(n, np.int32)
    known_pos, known_neg = np.zeros(room), np.zeros(room)
    yes_pos, yes_neg, last = np.zeros(room), np.zeros(room), np.zeros(room)
    met = np.zeros(room, np.bool_)

    for r in range(n):
        if positive[r]:
            pos[0] += w[r]
        else:
            neg[0] += w[r]
    counts[0, 0], counts[0, 1] = neg[0], pos[0]
    predictions[0] = 0.5 * math.log((pos[0] + smoothing) / (neg[0] + smoothing))
    for r in range(n):
        w[r] *= math.exp(-predictions[0] if positive[r] else predictions[0])

    for _ in range(rounds):
        # Which nodes have to be searched?
        total = 0.0
        for r in range(n):
            total += w[r]
        tie = TIE * total
        lead = 0.0  # the best Z found before that still holds, less the weight
        for node in range(n_nodes):
            if not stale[node]:
                if searched[node]:
                    lead = min(lead, best[node])
                continue
            pos[node] = neg[node] = 0.0
            for r in members[begin[node] : begin[node + 1]]:
                if positive[r]:
                    pos[node] += w[r]
                else:
                    neg[node] += w[r]
        for node in range(n_nodes):
            if not stale[node]:
                continue
            # No condition does better than one that tells all positive rows from all negative ones.
            pure = merit(pos[node], 0.0, pos[node], neg[node], smoothing)
            searched[node] = pos[node] > 0.0 and neg[node] > 0.0 and pure <= lead + tie
            best[node] = 0.0
            best_feature[node] = -1
        # The nodes that each row counts for.
        for r in range(n + 1):
            starts[r] = 0
        for node in range(n_nodes):
            if stale[node] and searched[node]:
                for r in members[begin[node] : begin[node + 1]]:
                    starts[r + 1] += 1
        for r in range(n):
            starts[r + 1] += starts[r]
        nodes_of = with_room(nodes_of, starts[n])
        for node in range(n_nodes - 1, -1, -1):  # filled up from behind: a row's nodes stand in their order
            if stale[node] and searched[node]:
                for r in members[begin[node] : begin[node + 1]]:
                    starts[r + 1] -= 1
                    nodes_of[starts[r + 1]] = node
        # Now starts[r + 1] is where r's nodes begin: shift by one.
        end = np.int64(0)
        for node in range(n_nodes):
            if stale[node] and searched[node]:
                end += begin[node + 1] - begin[node]
        for r in range(n):
            starts[r] = starts[r + 1]
        starts[n] = end
        search(
            values, nominal, order, n_known, positive, w, starts, nodes_of, n_nodes, pos, neg, smoothing, tie,
            known_pos, known_neg, yes_pos, yes_neg, last, met, best, best_feature, best_threshold,
        )  # fmt: skip
        parent = -1
        for node in range(n_nodes):
            if searched[node]:
                stale[node] = False
                if best_feature[node] >= 0 and best[node] < (best[parent] if parent >= 0 else 0.0) - tie:
                    parent = node
        if parent < 0:
            break
        # The splitter, or an equal one below the same node, takes up the new predictions.
        j, threshold = best_feature[parent], best_threshold[parent]
        splitter = -1
        for s in range(n_splitters):
            if ints[s, PARENT] == parent and ints[s, FEATURE] == j and thresholds[s] == threshold:
                splitter = s
        if splitter < 0:
            splitter = n_splitters
            n_splitters += 1
            ints[splitter, PARENT] = parent
            ints[splitter, FEATURE] = j
            ints[splitter, NOMINAL] = nominal[j]
            thresholds[splitter] = threshold
            members = with_room(members, begin[n_nodes] + begin[parent + 1] - begin[parent])
            for answer in (True, False):
                end = begin[n_nodes]
                for e in range(begin[parent], begin[parent + 1]):
                    r = members[e]
                    v = values[j, r]
                    if v == v and (v == threshold if nominal[j] else v <= threshold) == answer:
                        members[end] = r
                        end += 1
                        counts[n_nodes, int(positive[r])] += weights[r]
                n_nodes += 1
                begin[n_nodes] = end
        for r in range(n):
            changed[r] = False
        for node in (2 * splitter + 1, 2 * splitter + 2):
            w_pos = w_neg = 0.0
            for r in members[begin[node] : begin[node + 1]]:
                if positive[r]:
                    w_pos += w[r]
                else:
                    w_neg += w[r]
            value = 0.5 * math.log((w_pos + smoothing) / (w_neg + smoothing))
            predictions[node] += value
            for r in members[begin[node] : begin[node + 1]]:
                w[r] *= math.exp(-value if positive[r] else value)
                changed[r] = True
        for node in range(n_nodes):
            if not stale[node]:
                for r in members[begin[node] : begin[node + 1]]:
                    if changed[r]:
                        stale[node] = True
                        break
    n_nodes = 2 * n_splitters + 1
    return ints[:n_splitters], thresholds[:n_splitters], predictions[:n_nodes], counts[:n_nodes]


@kernel
def scores(ints, thresholds, predictions, X, out):
    """Add up each row's predictions along all paths that it follows."""
    reached = np.ones(len(predictions), np.bool_)
    for i in range(len(X)):
        for node in range(1, len(reached)):
            reached[node] = False
        total = predictions[0]
        for s in range(len(ints)):  # parents come first
            if not reached[ints[s, PARENT]]:
                continue
            j = ints[s, FEATURE]
            v = X[i, j] if j < X.shape[1] else np.nan
            if v != v:
                continue
            holds = v == thresholds[s] if ints[s, NOMINAL] else v <= thresholds[s]
            node = 2 * s + 1 if holds else 2 * s + 2
            reached[node] = True
            total += predictions[node]
        out[i] = total
