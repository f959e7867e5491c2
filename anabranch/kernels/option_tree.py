"""The Hoeffding option tree's loops: rows that reach several leaves, splits side by side, memory for both.

A tree is that of :mod:`anabranch.kernels.hoeffding` with ``links``: a node that has been split keeps its statistics
as long as further options may come, and the first of those hangs at the node, the next at the first. Leaf statistics,
naive Bayes, the search for splits and the pool are the Hoeffding tree's. What rows seldom need is called by its
address, which stands in the table that also tells of the arrays.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from anabranch.kernels import kernel
from anabranch.kernels.hoeffding import (
    ACTIVE,
    ADAPTIVE,
    BRANCHES,
    CHILD,
    CLASSES_FIXED,
    COUNTS,
    DEPTH,
    FEATURE,
    FREE_ROW,
    GINI,
    GRACE,
    HAS_VOTED,
    INACTIVE,
    LATE_CHILD,
    LEAF_KIND,
    MAJORITY,
    MAX_OPTIONS,
    MEMORY_ORDER,
    MEMORY_PERIOD,
    MIN_BRANCH,
    MISSING_KEPT,
    N_CLASSES,
    N_EXTRA,
    N_INACTIVE,
    N_NODES,
    N_OPTIONS,
    N_ROWS,
    N_SEEN,
    NB_LEAD,
    NEED,
    NEED_CLASSES,
    NEED_EXTRA,
    NEED_NODES,
    NEED_NOTHING,
    NEED_ROWS,
    NEEDED_NODES,
    NEXT,
    NODES_FIXED,
    ROWS,
    ROWS_FIXED,
    SECONDARY_DELTA,
    SEEN,
    SINCE,
    THRESHOLD,
    WEIGHT,
    Tree,
    _bayes,
    _best_partition,
    _best_point,
    _close_gaps,
    _gather,
    _grow_late_branch,
    _impurity,
    _majority,
    _merit,
    _needed_by_row,
    _needs,
    _new_leaf,
    _new_row,
    _next,
    _pool_is_empty,
    _release,
    _sort,
    _split,
    _try_to_split,
    _update_row,
    _uses_bayes,
    _vote,
    _widest,
    tree_at,
)
from anabranch.kernels.pointer import address, call
from anabranch.kernels.vector import LANES

# Columns of links: the next option beside a split (-1: none), and whether an inner node learns. It does (ACTIVE), or
# would if it had the memory (INACTIVE), or has stopped for good, or is a further option of another node, which learns
# for it.
NEXT_OPTION, STATE, LINKS_SIZE = 0, 1, 2
STOPPED, OPTION = 0, 1
# MEMORY_ORDER: who comes first where there are not statistics for all.
LEAVES_FIRST, EQUAL, DIVIDED = 0, 1, 2
# Rows of `reached`: a node that a row reaches, or -1 - node where it has no branch for the row; the tests above it; and
# naive Bayes' choice there.
NODE, ABOVE, CHOICE, REACHED_SIZE = 0, 1, 2, 3

# Where the addresses of functions stand in the table, after the arrays.
_SPLIT_LEAF, _ADD_OPTION, _ENFORCE, _LEARN_ROWS = range(len(Tree._fields), len(Tree._fields) + 4)

# An adaptive tree's leaf forgets: weight of the latest row in its share of mistakes; and the least share that counts.
FADING, LEAST_ERROR = 0.2, 2.0**-53


# ---------------------------------------------------------------------------------------------- routing


@kernel(inline=False)
def _reach(node_ints, node_floats, extra, links, X, i, gaps, reached):
    """Write what row i reaches into ``reached``; returns how much that is.

    Backwards, everything below a node comes before it, and its options in their order. What waits to be followed
    stands at the end of ``reached``, which must have room for one node more than there are.
    """
    n = 0
    end = reached.shape[1]
    top = end - 1
    reached[NODE, top] = 0
    reached[ABOVE, top] = 0
    while top < end:
        node = reached[NODE, top]
        above = reached[ABOVE, top]
        top += 1
        below = _next(node_ints, node_floats, extra, X, i, gaps, node)
        inner = node_ints[node, FEATURE] >= 0
        reached[NODE, n] = -1 - node if inner and below < 0 else node
        reached[ABOVE, n] = above
        n += 1
        if below >= 0 and top > n:  # room lacks only where another thread lets the tree grow meanwhile
            top -= 1
            reached[NODE, top] = below
            reached[ABOVE, top] = above + 1
        if inner and links.shape[0] > 0 and links[node, STATE] != OPTION:
            option = links[node, NEXT_OPTION]
            while option >= 0 and top > n:
                top -= 1
                reached[NODE, top] = option
                reached[ABOVE, top] = above
                option = links[option, NEXT_OPTION]
    return n


@kernel(inline=False)
def _room_for_reached(meta, options, nodes, rows):
    """Most that any of the next ``rows`` rows can reach, and one more.

    Each of its leaves lies below as many nodes as the tree is deep at most, and a row deepens that by one at most.
    """
    leaves = max(int(options[MAX_OPTIONS]), meta[N_OPTIONS])
    return 1 + min(leaves * (meta[DEPTH] + rows + 1), nodes)


# ---------------------------------------------------------------------------------------------- prediction


@kernel(inline=False)
def _choice(node_ints, node_floats, moments, slots, numeric, cells, meta, leaf, X, i, x, gaps, scores, products):
    """Naive Bayes' scores of a leaf and its choice, as the Hoeffding tree's; one copy of it for all callers."""
    return _bayes(node_ints, node_floats, moments, slots, numeric, cells, meta, leaf, X, i, x, gaps, scores, products)


@kernel(inline=False)
def _scale(votes, i, weight):
    """Scale votes to sum ``weight``, unless there are none."""
    total = 0.0
    for c in range(votes.shape[1]):
        total += votes[i, c]
    if total > 0.0:
        for c in range(votes.shape[1]):
            votes[i, c] *= weight / total


@kernel(inline=False)
def _add_vote(node_ints, node_floats, errors, node, choice, scores, place, first, own, out, i):
    """Add a node's votes to a row of ``out``, each node's scaled to the sum it counts for; returns that.

    The first votes (``place`` 0) stay as they are until others come: one leaf alone votes as a Hoeffding tree's does.
    """
    weight = 1.0
    if errors.size > 0 and node_ints[node, FEATURE] == ACTIVE:
        error = max(errors[node], LEAST_ERROR)
        weight = 1.0 / (error * error)
    if place == 0:
        _vote(node_floats, node, choice >= 0, choice, scores, out, i)
    else:
        if place == 1:
            _scale(out, i, first)
        _vote(node_floats, node, choice >= 0, choice, scores, own, 0)
        _scale(own, 0, weight)
        for c in range(min(own.shape[1], out.shape[1])):
            out[i, c] += own[0, c]
    return weight


@kernel(inline=False)
def _vote_for_row(node_ints, node_floats, moments, extra, slots, numeric, cells, meta, options, links, errors, X, i,
                  x, scores, products, own, reached, out):
    gaps = _gather(slots, numeric, cells, X, i, x)
    n = _reach(node_ints, node_floats, extra, links, X, i, gaps, reached)
    place = 0
    first = 1.0
    for at in range(n - 1, -1, -1):
        node = reached[NODE, at]
        choice = -1
        if node < 0:
            node = -1 - node
        elif node_ints[node, FEATURE] >= 0:
            continue  # inner nodes never vote
        elif _uses_bayes(node_ints, node_floats, options, node):
            choice = _choice(node_ints, node_floats, moments, slots, numeric, cells, meta, node, X, i, x, gaps, scores,
                             products)
        weight = _add_vote(node_ints, node_floats, errors, node, choice, scores, place, first, own, out, i)
        first = weight if place == 0 else first
        place += 1


@kernel
def votes(table, X, out):
    """Write each row's votes, not scaled, into ``out`` (n, at least as many columns as classes met)."""
    t = tree_at(table)
    k = t.node_floats.shape[1] - COUNTS
    n = t.origin.size
    scratch = np.zeros(n + 2 * k)
    own = np.zeros((1, k))
    reached = np.empty((REACHED_SIZE, _room_for_reached(t.meta, t.options, t.node_ints.shape[0], 0)), np.int64)
    for i in range(X.shape[0]):
        _vote_for_row(t.node_ints, t.node_floats, t.moments, t.extra, t.slots, t.numeric, t.cells, t.meta, t.options,
                      t.links, t.errors, X, i, scratch[:n], scratch[n : n + k], scratch[n + k :], own, reached, out)


@kernel
def apply(table, X, out):
    """Write the numbers of the nodes each row ends in into ``out``; what is left over stays as it is."""
    t = tree_at(table)
    x = np.zeros(t.origin.size)
    reached = np.empty((REACHED_SIZE, _room_for_reached(t.meta, t.options, t.node_ints.shape[0], 0)), np.int64)
    for i in range(X.shape[0]):
        gaps = _gather(t.slots, t.numeric, t.cells, X, i, x)
        n = _reach(t.node_ints, t.node_floats, t.extra, t.links, X, i, gaps, reached)
        place = 0
        for at in range(n - 1, -1, -1):
            node = reached[NODE, at]
            if (node < 0 or t.node_ints[node, FEATURE] < 0) and place < out.shape[1]:
                out[i, place] = -1 - node if node < 0 else node
                place += 1


# ---------------------------------------------------------------------------------------------- memory


@kernel(inline=True)
def _learns(node_ints, links, node):
    """Whether a node is a leaf, or an inner node that learns or would if it had the memory."""
    return node_ints[node, FEATURE] < 0 or (links.shape[0] > 0 and links[node, STATE] < 0)


@kernel(inline=True)
def _is_active(node_ints, links, node):
    """Whether a node that learns has the memory for it."""
    return (node_ints[node, FEATURE] if node_ints[node, FEATURE] < 0 else links[node, STATE]) == ACTIVE


@kernel(inline=False)
def _set_active(node_ints, links, node, state):
    if node_ints[node, FEATURE] < 0:
        node_ints[node, FEATURE] = state
    else:
        links[node, STATE] = state


@kernel(inline=False)
def _options_of(links, node):
    """Number of splits side by side at a node."""
    n = 1
    while links[node, NEXT_OPTION] >= 0:
        node = links[node, NEXT_OPTION]
        n += 1
    return n


@kernel
def enforce(table, room, asking, c):
    """Let the most promising nodes learn, as many as ``room`` statistics rows allow; deactivate the others.

    A node's promise is the weight it holds outside its majority class: what a split could still put right. The node
    ``asking`` for a row for class ``c``, if any, is to have that too. Returns the number of those deactivated.
    """
    t = tree_at(table)
    node_ints, node_floats, moments, dropped, meta = t.node_ints, t.node_floats, t.moments, t.dropped, t.meta
    options, links, errors = t.options, t.links, t.errors
    m = meta[N_NODES]
    nodes = np.empty(m, np.int64)
    promise = np.empty(m)
    order = int(options[MEMORY_ORDER])
    n = 0
    n_leaves = 0
    for inner in range(2):  # leaves, then inner nodes
        n_leaves = n
        for node in range(m):
            if (node_ints[node, FEATURE] >= 0) == (inner == 1) and _learns(node_ints, links, node):
                total = 0.0
                for other in range(node_floats.shape[1] - COUNTS):
                    total += node_floats[node, COUNTS + other]
                nodes[n] = node
                promise[n] = total - node_floats[node, COUNTS + _majority(node_floats, node)]
                if inner == 1 and order == DIVIDED:
                    promise[n] /= _options_of(links, node)
                n += 1
    if order == LEAVES_FIRST:
        _sort(promise[:n_leaves], nodes[:n_leaves], n_leaves)
        _sort(promise[n_leaves:n], nodes[n_leaves:n], n - n_leaves)
    else:
        _sort(promise, nodes, n)
    used = 0
    rank = 0
    while rank < n:
        used += _needs(node_ints, node_floats, nodes[rank], asking, c)
        if used > room:
            break
        rank += 1
    for later in range(rank, n):  # release before others take
        node = nodes[later]
        if _is_active(node_ints, links, node):
            _release(node_ints, moments, meta, node)
            _set_active(node_ints, links, node, INACTIVE)
    for earlier in range(rank):
        node = nodes[earlier]
        if not _is_active(node_ints, links, node):
            _set_active(node_ints, links, node, ACTIVE)
            node_floats[node, NB_LEAD] = 0.0
            node_floats[node, SINCE] = 0.0
            if dropped.shape[0]:
                dropped[node] = False
            if errors.size:
                errors[node] = 1.0
    meta[N_INACTIVE] = n - rank
    return meta[N_INACTIVE]


@kernel
def shrink(table, room):
    """Make do with the first ``room`` statistics rows: deactivate nodes, then move rows down into the gaps."""
    t = tree_at(table)
    call(table[_ENFORCE, 0], (table, room, -1, -1))
    _close_gaps(t.node_ints, t.moments, t.ranges, t.meta, room)


# ---------------------------------------------------------------------------------------------- options


@kernel
def _merit_now(node_ints, node_floats, extra, gini, before, min_share, split):
    """Merit of an existing split, by the class weights that its branches hold by now."""
    k = node_floats.shape[1] - COUNTS
    n = max(node_ints[split, BRANCHES], 2)
    head = int(node_floats[split, THRESHOLD]) if node_ints[split, BRANCHES] >= 2 else -1
    late = 0
    link = head
    while link >= 0:
        late += 1
        link = extra[link, NEXT]
    branches = np.empty((n + late, k))
    link = head
    for b in range(n + late):
        child = node_ints[split, CHILD] + b
        if b >= n:
            child = extra[link, LATE_CHILD]
            link = extra[link, NEXT]
        for c in range(k):
            branches[b, c] = node_floats[child, COUNTS + c]
    return _merit(gini, before, branches, n + late, min_share)


@kernel
def split_leaf(table, leaf):
    """One evaluation of a leaf after its grace period; returns whether it was split."""
    t = tree_at(table)
    if not _try_to_split(t.node_ints, t.node_floats, t.moments, t.ranges, t.dropped, t.slots, t.numeric, t.cells,
                         t.origin, t.gains, t.meta, t.options, leaf):
        return 0
    if t.meta[N_OPTIONS] >= t.options[MAX_OPTIONS]:
        _release(t.node_ints, t.moments, t.meta, leaf)
        if t.links.shape[0] > 0:
            t.links[leaf, STATE] = STOPPED
    return 1


@kernel
def add_option(table, node):
    """One evaluation of a node that has been split already; returns whether it got a further option."""
    t = tree_at(table)
    node_ints, node_floats, moments, ranges, extra = t.node_ints, t.node_floats, t.moments, t.ranges, t.extra
    dropped, slots, numeric, cells, origin = t.dropped, t.slots, t.numeric, t.cells, t.origin
    gains, meta, options, links = t.gains, t.meta, t.options, t.links
    k = node_floats.shape[1] - COUNTS
    counts = node_floats[node, COUNTS:]
    met = 0
    total = 0.0
    for c in range(k):
        met += counts[c] > 0.0
        total += counts[c]
    if met < 2:
        return 0
    gini = options[GINI] != 0.0
    before = _impurity(gini, counts, total)
    span = 1.0 if gini else math.log2(max(2, meta[N_CLASSES]))
    bound = math.sqrt(span * span * math.log(1.0 / options[SECONDARY_DELTA]) / (2.0 * total))
    existing = -np.inf
    last = node
    split = node
    while split >= 0:
        merit = _merit_now(node_ints, node_floats, extra, gini, before, options[MIN_BRANCH], split)
        existing = max(existing, merit)
        last = split
        split = links[split, NEXT_OPTION]
    if before - existing <= bound:
        return 0  # no split can be worth more than all of the impurity
    branches = np.empty((2, k))
    gaussians = np.empty((5, k))
    below = np.empty((k + 1, LANES))
    best = -np.inf
    best_a = -1
    best_cut = 0.0
    for a in range(slots.size):
        used = dropped.shape[0] > 0 and dropped[node, a]
        split = node
        while split >= 0:
            used |= node_ints[split, FEATURE] == a
            split = links[split, NEXT_OPTION]
        if used:
            continue
        slot = slots[a]
        if slot >= 0:
            merit, cut = _best_point(node_ints, moments, ranges, numeric, origin, meta, options, node, slot, before,
                                     gaussians, below)
        else:
            merit, cut = _best_partition(node_ints, moments, cells, options, node, -1 - slot, before, branches)
        if merit > best:
            best = merit
            best_a = a
            best_cut = cut
    if best_a < 0 or not best - existing > bound or meta[N_NODES] == node_ints.shape[0]:
        return 0
    option = _new_leaf(node_ints, node_floats, dropped, meta)
    if not _split(node_ints, node_floats, moments, ranges, dropped, slots, numeric, cells, origin, gains, meta, node,
                  option, best_a, best_cut, best):
        meta[N_NODES] -= 1  # no room for its branches
        return 0
    for c in range(k):
        node_floats[option, COUNTS + c] = counts[c]
    node_floats[option, SEEN] = node_floats[node, SEEN]
    links[option, STATE] = OPTION
    links[last, NEXT_OPTION] = option
    meta[N_OPTIONS] += 1
    if meta[N_OPTIONS] >= options[MAX_OPTIONS]:
        _stop_inner_nodes(node_ints, moments, meta, links)
    return 1


@kernel(inline=False)
def _stop_inner_nodes(node_ints, moments, meta, links):
    """Let inner nodes stop learning: all options are spent."""
    inactive = 0
    for node in range(meta[N_NODES]):
        if node_ints[node, FEATURE] < 0:
            inactive += node_ints[node, FEATURE] == INACTIVE
        elif links[node, STATE] < 0:
            _release(node_ints, moments, meta, node)
            links[node, STATE] = STOPPED
    meta[N_INACTIVE] = inactive


@kernel
def stop_if_spent(table):
    """Let inner nodes stop learning if ``max_options`` was lowered to what there is, or below."""
    t = tree_at(table)
    if t.links.shape[0] > 0 and t.meta[N_OPTIONS] >= t.options[MAX_OPTIONS]:
        _stop_inner_nodes(t.node_ints, t.moments, t.meta, t.links)


# ---------------------------------------------------------------------------------------------- learning


@kernel(inline=False)
def _free_rows(moments, meta, enough):
    """Number of statistics rows that can be had, counted up to ``enough``."""
    n = moments.shape[0] - meta[N_ROWS]
    r = meta[FREE_ROW]
    while r >= 0 and n < enough:
        n += 1
        r = int(moments[r, WEIGHT])
    return n


@kernel(inline=False)
def _needed(node_ints, node_floats, moments, extra, slots, numeric, cells, meta, options, links, X, i, c, w, gaps,
            reached, n):
    """What row i could need that is not there; NEED_NOTHING if it can be learned."""
    need = _needed_by_row(slots, numeric, cells, meta, X, i, gaps)
    if need != NEED_NOTHING:
        return need
    late = 0
    grown = 0
    further = 0
    rows = 0
    for at in range(n):
        node = reached[NODE, at]
        if node < 0:
            late += 1
            grown += 1
            rows += 1
            node = -1 - node
            if not _learns(node_ints, links, node):
                continue
        elif not _learns(node_ints, links, node):
            continue
        # Always keep the nodes of one split in hand wherever one might happen.
        if node_floats[node, SINCE] + w >= options[GRACE]:
            grown += 1
            further += node_ints[node, FEATURE] >= 0
        rows += _is_active(node_ints, links, node) and node_ints[node, ROWS + c] < 0
    if late > 0 and meta[N_EXTRA] + late > extra.shape[0] and meta[NODES_FIXED] == 0:
        return NEED_EXTRA
    if grown > 0 and meta[NODES_FIXED] == 0:
        needed = grown * _widest(cells, options) + further
        if meta[N_NODES] + needed > node_ints.shape[0]:
            meta[NEEDED_NODES] = needed
            return NEED_NODES
    if rows > 0 and meta[ROWS_FIXED] == 0 and _free_rows(moments, meta, rows) < rows:
        return NEED_ROWS
    return NEED_NOTHING


@kernel(inline=False)
def _learn_at(table, node_ints, node_floats, moments, ranges, slots, numeric, cells, origin, meta, options, links, node,
              X, i, c, w, x):
    """Add row i to the statistics of an active node."""
    r = node_ints[node, ROWS + c]
    if r < 0:
        if _pool_is_empty(moments, meta):
            call(table[_ENFORCE, 0], (table, moments.shape[0], node, c))
            if not _is_active(node_ints, links, node):
                return
        r = _new_row(node_ints, moments, meta, node, c)
    predicts = options[LEAF_KIND] != MAJORITY and node_ints[node, FEATURE] < 0
    _update_row(node_floats, moments, ranges, slots, numeric, cells, origin, meta, predicts, r, node, X, i, c, w, x)


@kernel
def learn(table, start, X, y, w, before, after):
    """Learn rows ``start``.. of a chunk; returns the first row not learned, ``meta[NEED]`` says why.

    ``before`` and ``after`` get each row's votes just before and just after it, unless they have no rows.
    Rows of weight 0 change nothing.
    """
    t = tree_at(table)
    k = t.node_floats.shape[1] - COUNTS
    scratch = np.zeros(t.origin.size + 2 * k)
    own = np.zeros((1, k))
    room = _room_for_reached(t.meta, t.options, t.node_ints.shape[0], X.shape[0] - start)
    reached = np.empty((REACHED_SIZE, room), np.int64)
    return call(
        table[_LEARN_ROWS, 0],
        (
            table, start, X, y, w, before, after, scratch, own, reached, t.node_ints, t.node_floats, t.moments,
            t.ranges, t.extra, t.dropped, t.slots, t.numeric, t.cells, t.origin, t.meta, t.options, t.links, t.errors,
        ),
    )  # fmt: skip


@kernel(inline=False)
def _learn_rows(table, start, X, y, w, before, after, scratch, own, reached, node_ints, node_floats, moments, ranges,
                extra, dropped, slots, numeric, cells, origin, meta, options, links, errors):  # fmt: skip
    k = node_floats.shape[1] - COUNTS
    x = scratch[: origin.size]
    scores = scratch[origin.size : origin.size + k]
    products = scratch[origin.size + k :]
    kind = options[LEAF_KIND]
    meta[NEED] = NEED_NOTHING
    for i in range(start, X.shape[0]):
        c = y[i]
        weight = w[i]
        gaps = _gather(slots, numeric, cells, X, i, x)
        n = _reach(node_ints, node_floats, extra, links, X, i, gaps, reached)
        learns = weight > 0.0 and (c < k or meta[CLASSES_FIXED] == 0)  # else passed over: no room for its class
        # A row that had to wait for room has voted already: to make room may have cost the leaves it reaches their
        # statistics.
        votes_now = before.shape[0] > 0 and not (i == start and meta[HAS_VOTED])
        place = 0
        first = 1.0
        for at in range(n - 1, -1, -1):
            node = reached[NODE, at]
            choice = -1
            uses_bayes = False
            if node < 0:
                node = -1 - node
            elif node_ints[node, FEATURE] >= 0:
                continue  # inner nodes never vote
            else:
                uses_bayes = _uses_bayes(node_ints, node_floats, options, node)
                judged = learns and node_ints[node, FEATURE] == ACTIVE
                if (judged and (kind == ADAPTIVE or (errors.size > 0 and uses_bayes))) or (votes_now and uses_bayes):
                    choice = _choice(node_ints, node_floats, moments, slots, numeric, cells, meta, node, X, i, x, gaps,
                                     scores, products)
                reached[CHOICE, at] = choice
            if votes_now:
                counts_for = _add_vote(node_ints, node_floats, errors, node, choice if uses_bayes else -1, scores,
                                       place, first, own, before, i)
                first = counts_for if place == 0 else first
                place += 1
        if learns:
            need = NEED_CLASSES
            if c < k:
                need = _needed(node_ints, node_floats, moments, extra, slots, numeric, cells, meta, options, links, X,
                               i, c, weight, gaps, reached, n)
            if need != NEED_NOTHING:
                meta[NEED] = need
                return i
        meta[HAS_VOTED] = 0
        if learns:
            meta[N_SEEN] += 1
            meta[N_CLASSES] = max(meta[N_CLASSES], c + 1)
            for j in range(numeric.size if meta[N_SEEN] == 1 or gaps or meta[MISSING_KEPT] else 0):
                if origin[j] != origin[j]:  # NaN: nothing met yet
                    origin[j] = x[j]
            for at in range(n):
                node = reached[NODE, at]
                node_floats[node if node >= 0 else -1 - node, SEEN] += weight
            for at in range(n - 1, -1, -1):
                node = reached[NODE, at]
                if node < 0:
                    node = -1 - node
                    leaf = _grow_late_branch(node_ints, node_floats, extra, dropped, meta, node,
                                             X[i, node_ints[node, FEATURE]])
                    if leaf != node:
                        node_floats[leaf, SEEN] += weight
                        meta[DEPTH] = max(meta[DEPTH], reached[ABOVE, at] + 1)
                        node_floats[leaf, COUNTS + c] += weight
                        node_floats[leaf, SINCE] += weight
                        _learn_at(table, node_ints, node_floats, moments, ranges, slots, numeric, cells, origin, meta,
                                  options, links, leaf, X, i, c, weight, x)
                        if node_floats[leaf, SINCE] >= options[GRACE]:
                            node_floats[leaf, SINCE] = 0.0  # it has met one class only
                elif node_ints[node, FEATURE] == ACTIVE:
                    choice = reached[CHOICE, at]
                    majority = _majority(node_floats, node)
                    guess = choice if choice >= 0 else majority
                    if errors.size > 0:
                        bayes = _uses_bayes(node_ints, node_floats, options, node)
                        wrong = (guess if bayes else majority) != c
                        errors[node] += FADING * (wrong - errors[node])
                    if kind == ADAPTIVE:
                        node_floats[node, NB_LEAD] += weight * ((guess == c) - (majority == c))
                if not _learns(node_ints, links, node):
                    continue
                node_floats[node, COUNTS + c] += weight
                if _is_active(node_ints, links, node):
                    node_floats[node, SINCE] += weight
                    _learn_at(table, node_ints, node_floats, moments, ranges, slots, numeric, cells, origin, meta,
                              options, links, node, X, i, c, weight, x)
                if not _is_active(node_ints, links, node) or node_floats[node, SINCE] < options[GRACE]:
                    continue
                node_floats[node, SINCE] = 0.0
                work = _SPLIT_LEAF if node_ints[node, FEATURE] < 0 else _ADD_OPTION
                if call(table[work, 0], (table, node)):
                    meta[DEPTH] = max(meta[DEPTH], reached[ABOVE, at] + 1)
                    if meta[N_INACTIVE] > 0:
                        call(table[_ENFORCE, 0], (table, moments.shape[0], -1, -1))
            if meta[N_INACTIVE] > 0 and meta[N_SEEN] % int(options[MEMORY_PERIOD]) == 0:
                call(table[_ENFORCE, 0], (table, moments.shape[0], -1, -1))
        if after.shape[0] > 0:
            _vote_for_row(node_ints, node_floats, moments, extra, slots, numeric, cells, meta, options, links, errors,
                          X, i, x, scores, products, own, reached, after)
    return X.shape[0]


@cache
def functions():
    """Addresses of the functions that these kernels call through a table."""
    table = np.zeros((0, 3), np.int64)
    ints, floats, matrix = np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 0))
    tree = (
        np.zeros((0, 0), np.int32), matrix, matrix, np.zeros((0, 0), np.float32), np.zeros((0, 0), np.int32),
        np.zeros((0, 0), np.bool_), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, 0), np.int32), floats,
        ints, floats, np.zeros((0, 0), np.int32), floats,
    )  # fmt: skip
    return (
        address(split_leaf, table, 0),
        address(add_option, table, 0),
        address(enforce, table, 0, 0, 0),
        address(_learn_rows, table, 0, matrix, ints, floats, matrix, matrix, floats, matrix, np.zeros((0, 0), np.int64),
                *tree),
    )  # fmt: skip
