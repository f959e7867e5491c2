"""Trees grown from all rows in one go: presorted columns, options, pruning, votes.

Rows are sorted by every numeric column once, before the first split. A node then is a stretch of each of these orders,
the same stretch in all, and a split shares the stretch out among its branches, each order staying sorted. Nodes that
wait lie on top of each other as on a stack: the one on top may be split in place and use what room there is above, so
that only options need copies of their rows.
"""

from __future__ import annotations

import math

import numpy as np

from anabranch.kernels import kernel

# Columns of a node's integers. Children lie side by side and after their node, as do further options.
FEATURE, BRANCHES, FIRST, NEXT, LEVEL, LARGEST = range(6)
INTS = 6
LEAF = -1  # as FEATURE
# Columns of a node's floats; a weight per class follows.
THRESHOLD, GAIN, SHARE, WEIGHT = range(4)
COUNTS = 4
# As the number of values of a column.
NUMERIC = 0

# Settings.
(
    MAX_OPTIONS, FACTOR, DEPTH_DECAY, SUPPORT_POWER, WHERE, LEVELS, MIN_LEAF, MAX_DEPTH, RATIO, MAX_NODES
) = range(10)  # fmt: skip
SETTINGS = 10
ANYWHERE, TOP, LOWEST = range(3)

# Of what waits to be looked at: a node, its stretch, and how: for the first time; again after a trial; or in a trial,
# from 1 on, by the levels of it.
NODE, START, STOP, MANNER = range(4)
FRESH, TRIED, TRIAL = 0, -1, 1

# By less than this a score is no better than another: sums in another order must not decide between equals.
TIE = 1e-9
_TABLE = 1 << 20  # whole weights whose x log x is kept


@kernel
def make_table(w):
    """Table of x log2(x) for whole numbers up to the sum of all weights, if these are whole and not too large."""
    total = 0.0
    for x in w:
        if x != math.floor(x) or x > _TABLE:
            return np.zeros(1)
        total += x
    if total > _TABLE:
        return np.zeros(1)
    table = np.zeros(int(total) + 1)
    for i in range(2, len(table)):
        table[i] = i * math.log2(i)
    return table


@kernel(inline=False)
def xlogx(x, table):
    """Return x log2(x), and 0 for 0 and for what rounding left below."""
    if x <= 0.0:
        return 0.0
    if x < len(table):
        i = int(x)
        if i == x:
            return table[i]
    return x * math.log2(x)


@kernel(inline=False)
def rate(
    arena, lo, hi, values, branches, place, gaps, y, w, totals, settings, table,
    scores, gains, thresholds, left, right, cells,
):  # fmt: skip
    """Rate the best test of every attribute for the rows in a stretch: its score, gain in bits, and threshold."""
    k = len(totals)
    least = settings[MIN_LEAF]
    total = 0.0
    for c in range(k):
        total += totals[c]
    n_good = 0
    sum_gains = 0.0
    for j in range(len(values)):
        scores[j] = gains[j] = 0.0
        column = values[j]
        rows = arena[place[j], lo:hi]
        # What is known of this attribute, by class.
        if gaps[j]:
            for c in range(k):
                right[c] = 0.0
            for r in rows:
                if column[r] == column[r]:
                    right[y[r]] += w[r]
        else:
            for c in range(k):
                right[c] = totals[c]
        known = 0.0
        sum_right = 0.0
        for c in range(k):
            known += right[c]
            sum_right += xlogx(right[c], table)
        if known <= 0.0:
            continue
        before = xlogx(known, table) - sum_right  # the classes' entropy, times the weight
        best = 0.0
        split = 0.0  # x log x of the branches' weights, summed
        if branches[j] == NUMERIC:
            for c in range(k):
                left[c] = 0.0
            sum_left = weight = previous = 0.0
            for i in range(len(rows)):
                r = rows[i]
                v = column[r]
                if v != v:  # gaps come last
                    break
                if i > 0 and v > previous and weight >= least and known - weight >= least:
                    parts = xlogx(weight, table) + xlogx(known - weight, table)
                    gain = before - (parts - sum_left - sum_right)
                    if gain > best + TIE * known:
                        best, split = gain, parts
                        middle = previous + (v - previous) / 2.0
                        thresholds[j] = middle if middle < v else previous
                c = y[r]
                x = w[r]
                sum_left += xlogx(left[c] + x, table) - xlogx(left[c], table)
                sum_right += xlogx(right[c] - x, table) - xlogx(right[c], table)
                left[c] += x
                right[c] -= x
                weight += x
                previous = v
        else:
            for v in range(branches[j]):
                for c in range(k + 1):
                    cells[v, c] = 0.0
            for r in rows:
                if column[r] == column[r]:
                    v = int(column[r])
                    cells[v, y[r]] += w[r]
                    cells[v, k] += w[r]
            n_large = 0
            after = 0.0
            for v in range(branches[j]):
                n_large += cells[v, k] > 0.0 and cells[v, k] >= least
                split += xlogx(cells[v, k], table)
                for c in range(k):
                    after -= xlogx(cells[v, c], table)
            if n_large >= 2:
                best = before - (split + after)
        if best <= TIE * known:
            continue
        gains[j] = scores[j] = best / total
        if settings[RATIO] != 0.0:
            # Gaps count as one more branch, as in C4.5.
            information = (xlogx(total, table) - split - xlogx(total - known, table)) / total
            scores[j] = gains[j] / max(information, 1e-12)
        n_good += 1
        sum_gains += gains[j]
    if settings[RATIO] != 0.0:
        for j in range(len(values)):  # a ratio is large, too, where hardly anything is split off
            if gains[j] < sum_gains / max(n_good, 1) - TIE:
                scores[j] = 0.0


@kernel(inline=False)
def best_of(scores, taken):
    """Find the attribute of the highest score among those not taken, the first among equals; -1 if none is above 0."""
    best = -1
    highest = 0.0
    for j in range(len(scores)):
        if not taken[j] and scores[j] > highest + TIE:
            best, highest = j, scores[j]
    return best


@kernel(inline=False)
def share_out(arena, lo, hi, column, n_values, threshold, y, w, branch, sizes, cells, buffer):
    """Sort the rows of a stretch by branch, in each order; returns the branch of most weight, where gaps go.

    Afterwards ``sizes`` holds the number of rows of each branch, ``cells`` its weight by class and in all.
    """
    k = cells.shape[1] - 1
    n_branches = 2 if n_values == NUMERIC else n_values
    for b in range(n_branches):
        sizes[b] = 0
        for c in range(k + 1):
            cells[b, c] = 0.0
    for r in arena[0, lo:hi]:
        v = column[r]
        if v != v:
            branch[r] = -1
            continue
        b = (0 if v <= threshold else 1) if n_values == NUMERIC else int(v)
        branch[r] = b
        sizes[b] += 1
        cells[b, y[r]] += w[r]
        cells[b, k] += w[r]
    largest = 0
    for b in range(1, n_branches):
        if cells[b, k] > cells[largest, k] + TIE * cells[largest, k]:
            largest = b
    for r in arena[0, lo:hi]:
        if branch[r] < 0:
            branch[r] = largest
            sizes[largest] += 1
            cells[largest, y[r]] += w[r]
            cells[largest, k] += w[r]
    start = 0
    for b in range(n_branches):  # from numbers of rows to where they go
        start += sizes[b]
        sizes[b] = start - sizes[b]
    for order in range(len(arena)):
        rows = arena[order, lo:hi]
        for r in rows:
            b = branch[r]
            buffer[sizes[b]] = r
            sizes[b] += 1
        for i in range(hi - lo):
            rows[i] = buffer[i]
        for b in range(n_branches - 1, 0, -1):  # ends are the next one's starts
            sizes[b] = sizes[b - 1]
        sizes[0] = 0
    for b in range(n_branches - 1):
        sizes[b] = sizes[b + 1] - sizes[b]
    sizes[n_branches - 1] = hi - lo - sizes[n_branches - 1]
    return largest


@kernel(inline=False)
def is_pure(totals):
    """Whether no more than one class is there."""
    there = 0
    for c in range(len(totals)):
        there += totals[c] > 0.0
    return there < 2


@kernel(inline=False)
def count(arena, lo, hi, y, w, totals):
    """Add up the weight of each class in a stretch."""
    for c in range(len(totals)):
        totals[c] = 0.0
    for r in arena[0, lo:hi]:
        totals[y[r]] += w[r]


@kernel(inline=False)
def copied(source, target, start, stop, shift):
    """Copy columns start to stop of a table into another one, so many columns further on."""
    for i in range(len(source)):
        for j in range(start, stop):
            target[i, j + shift] = source[i, j]


@kernel(inline=False)
def copied_rows(source, target, n):
    """Copy the first n rows of a table into another one."""
    for i in range(n):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@kernel(inline=False)
def push(waiting, n, node, start, stop, manner):
    """Put one more on the stack; returns how many wait now."""
    waiting[n, NODE] = node
    waiting[n, START] = start
    waiting[n, STOP] = stop
    waiting[n, MANNER] = manner
    return n + 1


@kernel
def grow(values, branches, place, gaps, order, y, w, n_classes, settings):
    """Grow a tree with options; returns its nodes' integers and floats.

    Parameters
    ----------
    values : ndarray of float64, shape (d, n)
        The rows' columns; NaN is missing, nominal values are codes.
    branches : ndarray of int64, shape (d,)
        Number of values of nominal columns, NUMERIC for others.
    place : ndarray of int64, shape (d,)
        Which of the orders is the column's own; 0 for nominal ones, which need none.
    gaps : ndarray of bool, shape (d,)
        Whether values are missing.
    order : ndarray of int32, shape (1 + number of numeric columns, n)
        Row numbers as they come, then sorted by each numeric column, gaps last.
    y, w : ndarray, shape (n,)
        Class codes, and weights above 0.
    n_classes : int
    settings : ndarray of float64, shape (SETTINGS,)
    """
    d, n = values.shape
    k = n_classes
    table = make_table(w)
    arena = np.empty((len(order), 2 * n), np.int32)
    copied(order, arena, 0, n, 0)
    widest = max(2, branches.max())
    scores, gains, thresholds = np.zeros(d), np.zeros(d), np.zeros(d)
    left, right, totals, cells = np.zeros(k), np.zeros(k), np.zeros(k), np.zeros((widest, k + 1))
    branch, sizes, buffer = np.zeros(n, np.int32), np.zeros(widest, np.int64), np.zeros(n, np.int32)
    chosen, taken = np.zeros(d, np.int64), np.zeros(d, np.bool_)
    ints = np.full((64, INTS), -1, np.int32)
    floats = np.zeros((64, COUNTS + k))
    n_nodes = 1
    ints[0, LEVEL] = 0
    count(arena, 0, n, y, w, totals)
    for c in range(k):
        floats[0, COUNTS + c] = totals[c]
        floats[0, WEIGHT] += totals[c]
    floats[0, SHARE] = 1.0
    # What waits, its stretch, and how it is to be looked at; the last one's stretch is the uppermost.
    waiting = np.zeros((64 + widest, 4), np.int64)
    waiting[0, STOP] = n
    n_waiting = 1
    too_high = False
    while n_waiting > 0:
        n_waiting -= 1
        node, lo, hi = waiting[n_waiting, NODE], waiting[n_waiting, START], waiting[n_waiting, STOP]
        manner = waiting[n_waiting, MANNER]
        size = hi - lo
        if manner > 0 and too_high:
            continue
        level = ints[node, LEVEL] + max(manner - 1, 0)
        count(arena, lo, hi, y, w, totals)
        if is_pure(totals) or level >= settings[MAX_DEPTH]:
            continue
        rate(
            arena, lo, hi, values, branches, place, gaps, y, w, totals, settings, table,
            scores, gains, thresholds, left, right, cells,
        )  # fmt: skip
        for j in range(d):
            taken[j] = False
        best = best_of(scores, taken)
        if best < 0:
            continue
        chosen[0] = best
        n_chosen = 1
        if manner > settings[LEVELS]:  # in a trial: the levels above it are all there may be
            too_high = True
            continue
        may = settings[WHERE] == ANYWHERE or (settings[WHERE] == TOP and level < settings[LEVELS])
        if (manner == FRESH and (may or settings[WHERE] == LOWEST)) or (manner == TRIED and not too_high):
            # Further tests, as long as they score nearly as well as the best.
            factor = settings[FACTOR] * settings[DEPTH_DECAY] ** level
            if settings[SUPPORT_POWER] != 0.0:
                factor *= (floats[node, WEIGHT] / floats[0, WEIGHT]) ** settings[SUPPORT_POWER]
            taken[best] = True
            while n_chosen < settings[MAX_OPTIONS] and n_nodes < settings[MAX_NODES]:
                j = best_of(scores, taken)
                if j < 0 or scores[j] < scores[best] / (1.0 + factor) - TIE:
                    break
                taken[j] = True
                chosen[n_chosen] = j
                n_chosen += 1
        # Room for copies of the stretch, and for all that will wait.
        needed = hi + max(n_chosen - 1, 1) * size
        if needed > arena.shape[1]:
            wide = np.empty((len(arena), max(needed, arena.shape[1] * 3 // 2)), np.int32)
            copied(arena, wide, 0, hi, 0)
            arena = wide
        needed = n_waiting + 2 + n_chosen * widest
        if needed > len(waiting):
            longer = np.zeros((2 * needed, 4), np.int64)
            copied_rows(waiting, longer, n_waiting)
            waiting = longer
        if manner == FRESH and settings[WHERE] == LOWEST and n_chosen > 1:
            # How high would the tree be that grows from here without options? Try that in a copy, then come back.
            copied(arena, arena, lo, hi, size)
            too_high = False
            n_waiting = push(waiting, n_waiting, node, lo, hi, TRIED)
            n_waiting = push(waiting, n_waiting, node, hi, hi + size, TRIAL)
            continue
        for option in range(1, n_chosen):
            copied(arena, arena, lo, hi, option * size)
        split = node
        share = floats[node, SHARE] / n_chosen
        for option in range(n_chosen):
            j = chosen[option]
            n_branches = 2 if branches[j] == NUMERIC else branches[j]
            start = lo + option * size
            largest = share_out(
                arena, start, start + size, values[j], branches[j], thresholds[j], y, w, branch, sizes, cells, buffer
            )
            if manner > 0:  # only the height counts
                for b in range(n_branches):
                    if sizes[b] > 0:
                        n_waiting = push(waiting, n_waiting, node, start, start + sizes[b], manner + 1)
                    start += sizes[b]
                continue
            needed = n_nodes + n_branches + 1
            if needed > len(ints):
                more = np.full((max(needed, 2 * len(ints)), INTS), -1, np.int32)
                copied_rows(ints, more, n_nodes)
                ints = more
                further = np.zeros((len(ints), COUNTS + k))
                copied_rows(floats, further, n_nodes)
                floats = further
            if option > 0:
                ints[split, NEXT] = n_nodes
                split = n_nodes
                n_nodes += 1
                ints[split, LEVEL] = level
                for c in range(WEIGHT, COUNTS + k):
                    floats[split, c] = floats[node, c]
            ints[split, FEATURE] = j
            ints[split, BRANCHES] = branches[j]
            ints[split, FIRST] = n_nodes
            ints[split, LARGEST] = largest
            floats[split, THRESHOLD] = thresholds[j] if branches[j] == NUMERIC else 0.0
            floats[split, GAIN] = gains[j]
            floats[split, SHARE] = share
            for b in range(n_branches):
                child = n_nodes + b
                ints[child, LEVEL] = level + 1
                floats[child, SHARE] = share
                floats[child, WEIGHT] = cells[b, k]
                for c in range(k):
                    floats[child, COUNTS + c] = cells[b, c]
                if sizes[b] > 0:
                    n_waiting = push(waiting, n_waiting, child, start, start + sizes[b], FRESH)
                start += sizes[b]
            n_nodes += n_branches
    return ints[:n_nodes], floats[:n_nodes]


@kernel(inline=False)
def expected_errors(weight, errors, z, confidence):
    """C4.5's pessimistic estimate: the errors among the rows of a leaf, at the upper end of a confidence interval."""
    if weight <= 0.0:
        return 0.0
    if errors < 1.0:
        none = weight * (1.0 - confidence ** (1.0 / weight))
        if errors <= 0.0:
            return none
        return none + errors * (expected_errors_of_one(weight, z) - none)
    return upper_end(weight, errors, z)


@kernel(inline=False)
def expected_errors_of_one(weight, z):
    """The estimate for one error."""
    return upper_end(weight, 1.0, z)


@kernel(inline=False)
def upper_end(weight, errors, z):
    """Upper end of the normal approximation to the interval, with continuity correction."""
    if errors + 0.5 >= weight:
        return weight
    f = (errors + 0.5) / weight
    middle = f + z * z / (2.0 * weight)
    half = z * math.sqrt(f / weight - f * f / weight + z * z / (4.0 * weight * weight))
    return weight * (middle + half) / (1.0 + z * z / weight)


@kernel
def prune(ints, floats, z, confidence):
    """Turn splits into leaves, in place, where the pessimistic estimate says that they do not pay.

    A split's estimate is the sum of its branches', a node's with options the mean of its splits'.
    """
    n = len(ints)
    estimate = np.zeros(n)
    further = np.zeros(n, np.bool_)
    for node in range(n):
        if ints[node, NEXT] >= 0:
            further[ints[node, NEXT]] = True
    for node in range(n - 1, -1, -1):  # from the bottom up
        most = 0.0
        for c in range(COUNTS, floats.shape[1]):
            most = max(most, floats[node, c])
        as_leaf = expected_errors(floats[node, WEIGHT], floats[node, WEIGHT] - most, z, confidence)
        if ints[node, FEATURE] == LEAF:
            estimate[node] = as_leaf
            continue
        first = ints[node, FIRST]
        for child in range(first, first + (2 if ints[node, BRANCHES] == NUMERIC else ints[node, BRANCHES])):
            estimate[node] += estimate[child]
        if further[node]:
            continue
        splits = 1
        other = ints[node, NEXT]
        while other >= 0:
            estimate[node] += estimate[other]
            splits += 1
            other = ints[other, NEXT]
        estimate[node] /= splits
        if as_leaf <= estimate[node] + 0.1:  # C4.5's allowance
            estimate[node] = as_leaf
            ints[node, FEATURE] = LEAF
            ints[node, NEXT] = -1


@kernel
def compact(ints, floats):
    """Leave out what cannot be reached from the root any more."""
    n = len(ints)
    there = np.zeros(n, np.bool_)
    there[0] = True
    number = np.zeros(n, np.int32)
    n_there = 0
    for node in range(n):  # children, and further options, come after their node
        if not there[node]:
            continue
        number[node] = n_there
        n_there += 1
        if ints[node, FEATURE] == LEAF:
            continue
        if ints[node, NEXT] >= 0:
            there[ints[node, NEXT]] = True
        first = ints[node, FIRST]
        for child in range(first, first + (2 if ints[node, BRANCHES] == NUMERIC else ints[node, BRANCHES])):
            there[child] = True
    new_ints = np.empty((n_there, ints.shape[1]), np.int32)
    new_floats = np.empty((n_there, floats.shape[1]))
    for node in range(n):
        if there[node]:
            for c in range(ints.shape[1]):
                new_ints[number[node], c] = ints[node, c]
            for c in range(floats.shape[1]):
                new_floats[number[node], c] = floats[node, c]
    for node in range(n_there):
        if new_ints[node, FEATURE] == LEAF:
            new_ints[node, BRANCHES] = new_ints[node, FIRST] = new_ints[node, NEXT] = new_ints[node, LARGEST] = -1
            new_floats[node, THRESHOLD] = new_floats[node, GAIN] = 0.0
        else:
            new_ints[node, FIRST] = number[new_ints[node, FIRST]]
            if new_ints[node, NEXT] >= 0:
                new_ints[node, NEXT] = number[new_ints[node, NEXT]]
    return new_ints, new_floats


@kernel(inline=False)
def branch_of(ints, floats, node, X, i):
    """The child that a row goes to; where most weight went if its value is missing or new."""
    j = ints[node, FEATURE]
    v = X[i, j] if j < X.shape[1] else np.nan
    b = ints[node, LARGEST]
    if ints[node, BRANCHES] == NUMERIC:
        if v == v:
            b = 0 if v <= floats[node, THRESHOLD] else 1
    elif 0.0 <= v < ints[node, BRANCHES]:
        b = int(v)
    return ints[node, FIRST] + b


@kernel(inline=False)
def majority(counts, prior):
    """The class of most weight; among equals the one with more in all training rows, then the first."""
    best = 0
    for c in range(1, len(counts)):
        if counts[c] > counts[best] or (counts[c] == counts[best] and prior[c] > prior[best]):
            best = c
    return best


@kernel
def votes(ints, floats, X, soft, out):
    """Add up the votes of all leaves that each row reaches: one for the leaf's majority, or its classes' shares."""
    k = out.shape[1]
    prior = floats[0, COUNTS:]
    waiting = np.empty(len(ints), np.int32)
    for i in range(len(X)):
        waiting[0] = 0
        n = 1
        while n > 0:
            n -= 1
            node = waiting[n]
            if ints[node, FEATURE] != LEAF:
                split = node
                while split >= 0:
                    child = branch_of(ints, floats, split, X, i)
                    if floats[child, WEIGHT] > 0.0:
                        waiting[n] = child
                        n += 1
                    else:  # no row has come here: what the split itself has seen speaks
                        vote(floats[split], prior, soft, out[i])
                    split = ints[split, NEXT]
            else:
                vote(floats[node], prior, soft, out[i])
        # Between classes with as many votes, the one with more training rows wins by next to nothing.
        most = 0.0
        for c in range(k):
            most = max(most, out[i, c])
        n_most = 0
        for c in range(k):
            n_most += out[i, c] == most
        if n_most > 1:
            for c in range(k):
                if out[i, c] == most:
                    out[i, c] += most * 1e-9 * prior[c] / floats[0, WEIGHT]


@kernel(inline=False)
def vote(floats, prior, soft, out):
    """Add one node's vote."""
    if soft:
        for c in range(len(out)):
            out[c] += floats[COUNTS + c] / floats[WEIGHT]
    else:
        out[majority(floats[COUNTS:], prior)] += 1.0
