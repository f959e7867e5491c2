"""Loops of the metrics: counting, exact and fading sums, and ranks.

Probabilities are finite and not negative, codes not negative: that is checked where rows come in.
"""

from __future__ import annotations

import numpy as np

from anabranch.kernels import call_directly as call_directly  # for those who import this module late
from anabranch.kernels import kernel

# ---------------------------------------------------------------------------------------------- rows


@kernel
def first_bad_row(y, proba):
    """Find the first row with a code below zero or a probability that is negative, infinite or NaN; -1: none."""
    n, k = proba.shape
    signs = np.int64(0)
    for i in range(n):  # no early exit: these loops vectorise
        signs |= y[i]
    flat = proba.ravel()
    good = 0
    for j in range(flat.size):
        good += (flat[j] >= 0.0) & (flat[j] <= 1.7976931348623157e308)
    if signs >= 0 and good == flat.size:
        return -1
    for i in range(n):
        if y[i] < 0:
            return i
        for c in range(k):
            if not (proba[i, c] >= 0.0 and proba[i, c] < np.inf):
                return i
    return -1


@kernel(inline=True)
def predicted(proba, i, none):
    """Code of the most probable class in row ``i``, the lowest on ties; ``none`` in a row of zeros."""
    code = none
    most = 0.0
    for c in range(proba.shape[1]):
        more = proba[i, c] > most
        code = c if more else code
        most = proba[i, c] if more else most
    return code


@kernel
def predict(proba, none, codes):
    """Write the predicted code of each row."""
    for i in range(proba.shape[0]):
        codes[i] = predicted(proba, i, none)


@kernel
def true_shares(y, proba, shares):
    """Write the share of its row that each true class was given; 0 where it has no column."""
    n, k = proba.shape
    for i in range(n):
        total = 0.0
        for c in range(k):  # from left to right, so that columns of zeros on the right change no bit
            total += proba[i, c]
        shares[i] = proba[i, y[i]] / total if y[i] < k and total > 0.0 else 0.0


@kernel
def squared_distances(y, proba, distances):
    """Write the squared distance of each row, scaled to sum 1, from the one that is certain of the true class.

    Without a prediction, or where the sum is beyond the floats, it is that of a row that is certain and wrong.
    """
    n, k = proba.shape
    for i in range(n):
        total = 0.0
        for c in range(k):
            total += proba[i, c]
        if not (total > 0.0 and total < np.inf):
            distances[i] = 2.0
            continue
        distance = 0.0
        for c in range(k):
            off = proba[i, c] / total - (1.0 if c == y[i] else 0.0)
            distance += off * off
        distances[i] = distance if y[i] < k else distance + 1.0


@kernel
def majority_misses(y, counts, misses):
    """Write 1 where the class that was most frequent so far, the lowest on ties, is not the row's."""
    best = -1
    most = 0
    for c in range(counts.size):
        if counts[c] > most:
            best, most = c, counts[c]
    for i in range(y.size):
        code = y[i]
        misses[i] = 1.0 if code != best else 0.0
        counts[code] += 1
        if counts[code] > most or (counts[code] == most and code < best):
            best, most = code, counts[code]


# ---------------------------------------------------------------------------------------------- counts


@kernel
def count(counts, y, proba, start, by):
    """Count rows from ``start`` on, by true and predicted class; the last column is for rows without a prediction.

    Each adds ``by``. Returns the first row whose code is too large for the matrix, or the number of rows.
    """
    none = counts.shape[0]
    n = y.size
    if none == 2 and proba.shape[1] == 2:
        # So often that it has a loop of its own, with counters instead of cells that wait for one another.
        largest = ones = said = hits = silent = missed = 0
        for i in range(start, n):
            truly = y[i]
            one = np.int64(proba[i, 1] > proba[i, 0])
            nothing = np.int64(proba[i, 0] <= 0.0) & (1 - one)
            largest |= truly
            ones += truly
            said += one
            hits += one & truly
            silent += nothing
            missed += nothing & truly
        if largest <= 1:
            counts[1, 1] += by * hits
            counts[0, 1] += by * (said - hits)
            counts[1, 2] += by * missed
            counts[0, 2] += by * (silent - missed)
            counts[1, 0] += by * (ones - hits - missed)
            counts[0, 0] += by * (n - start - ones - (said - hits) - (silent - missed))
            return n
    for i in range(start, n):
        if y[i] >= none:
            return i
        counts[y[i], predicted(proba, i, none)] += by
    return n


@kernel
def add_up(counts, totals):
    """Write hits, true rows and predicted rows of each class; returns the rows that were not hit."""
    k = counts.shape[0]
    misses = counts.dtype.type(0)
    for j in range(k):
        for c in range(k + 1):
            totals[1, j] += counts[j, c]
            if c == j:
                totals[0, j] = counts[j, c]
            else:
                misses += counts[j, c]
            if c < k:
                totals[2, c] += counts[j, c]
    return misses


# Weights grow from row to row instead of old ones shrinking. From here they are scaled back,
MOST = 1e100
# and what is then below this beside a row of weight 1 is nothing any more.
LEAST = 1e-200


@kernel
def count_fading(counts, weight, factor, y, proba):
    """Count rows, each weighing 1 / ``factor`` times the row before; ``weight[0]`` is the latest row's."""
    none = counts.shape[1] - 1
    now = weight[0]
    for i in range(y.size):
        now /= factor
        if now > MOST:
            for j in range(counts.shape[0]):
                for c in range(counts.shape[1]):
                    scaled = counts[j, c] / now
                    counts[j, c] = scaled if scaled > LEAST else 0.0
            now = 1.0
        counts[y[i], predicted(proba, i, none)] += now
    weight[0] = now


# ---------------------------------------------------------------------------------------------- sums

WORDS = 68
_WORD = np.uint64(0xFFFFFFFF)


@kernel
def add_exactly(words, terms, sign):
    """Add finite floats without any rounding, or take them back (``sign`` -1).

    ``terms`` has a row per sum, and so has ``words``: a whole number of units of 2**-1074, the smallest float, in
    words of 32 bits, the lowest first. Between calls each holds 0 to 2**32 - 1; the last one has the sign.
    """
    for j in range(terms.shape[0]):
        bits = terms[j].view(np.int64)
        for i in range(bits.size):
            exponent = (bits[i] >> 52) & 0x7FF
            mantissa = np.uint64(bits[i] & 0xFFFFFFFFFFFFF)
            if exponent > 0:
                mantissa |= np.uint64(1 << 52)
                exponent -= 1
            word = exponent >> 5
            shift = np.uint64(exponent & 31)
            low = np.int64((mantissa << shift) & _WORD)
            rest = mantissa >> (np.uint64(32) - shift)
            middle = np.int64(rest & _WORD)
            high = np.int64(rest >> np.uint64(32))
            signed = -sign if bits[i] < 0 else sign
            words[j, word] += signed * low
            words[j, word + 1] += signed * middle
            words[j, word + 2] += signed * high
        for k in range(WORDS - 1):
            words[j, k + 1] += words[j, k] >> 32
            words[j, k] &= 0xFFFFFFFF


@kernel
def fade_means(state, terms, factor):
    """Bring fading means and variances up to date, row by row (D. H. D. West, 1979, with old weights shrinking).

    ``state[0, 0]`` is the sum of the weights; below it, a row per term: mean, weighted squares of differences.
    """
    weight = state[0, 0]
    for i in range(terms.shape[1]):
        weight = weight * factor + 1.0
        for j in range(terms.shape[0]):
            x = terms[j, i]
            off = x - state[j + 1, 0]
            state[j + 1, 0] += off / weight
            state[j + 1, 1] = state[j + 1, 1] * factor + off * (x - state[j + 1, 0])
    state[0, 0] = weight


# ---------------------------------------------------------------------------------------------- ranks

NO_RANK = 0x7FFFFFFFFFFFFFFF  # beyond all of them


@kernel
def sort_keys(y, proba, code, keys):
    """Write for each row a whole number that sorts by the score of class ``code``, negative rows first on ties.

    The last bit says whether the row has that class. The others rank its score: floats that are not negative have
    the order of their bit patterns. A row without a prediction gets the worst rank for its class.
    """
    n, k = proba.shape
    bits = proba.view(np.int64)
    for i in range(n):
        positive = y[i] == code
        seen = False
        for c in range(k):
            seen |= proba[i, c] > 0.0
        rank = 0 if positive else NO_RANK
        if seen:  # without the sign bit: a negative zero is a zero
            rank = (bits[i, code] & NO_RANK) + 1 if code < k else 1
        keys[i] = ((rank - 0x4000000000000000) << 1) | positive  # around zero, so that no bit is lost


@kernel
def pairs_won(keys):
    """Count pairs of a positive and a negative row, in sorted keys: twice those won plus those tied; rows of each."""
    won = 0
    negatives = 0
    positives = 0
    i = 0
    n = keys.size
    while i < n:
        rank = keys[i] >> 1
        tied = i
        while i < n and keys[i] == rank << 1:
            i += 1
        tied = i - tied  # negative rows of this rank
        start = i
        while i < n and keys[i] >> 1 == rank:
            i += 1
        won += (i - start) * (2 * negatives + tied)
        positives += i - start
        negatives += tied
    return won, positives, negatives


@kernel
def weight_won(keys, weights):
    """Weigh pairs of a positive and a negative row, in sorted keys: as :func:`pairs_won`, each row with a weight."""
    won = 0.0
    negatives = 0.0
    positives = 0.0
    i = 0
    n = keys.size
    while i < n:
        rank = keys[i] >> 1
        tied = 0.0
        while i < n and keys[i] == rank << 1:
            tied += weights[i]
            i += 1
        gained = 0.0
        while i < n and keys[i] >> 1 == rank:
            gained += weights[i]
            i += 1
        won += gained * (2.0 * negatives + tied)
        positives += gained
        negatives += tied
    return won, positives, negatives


@kernel
def precision_won(keys, weights):
    """Sum up precision over the positive rows, in sorted keys; and weigh positive and negative rows.

    Positive rows without a prediction, which have the lowest rank, are found at no threshold.
    """
    total = 0.0
    found = 0.0
    wrong = 0.0
    i = keys.size - 1
    while i >= 0 and keys[i] >> 1 > -0x4000000000000000:
        rank = keys[i] >> 1
        gained = 0.0
        while i >= 0 and keys[i] >> 1 == rank:
            if keys[i] & 1:
                gained += weights[i]
            else:
                wrong += weights[i]
            i -= 1
        found += gained
        if gained > 0.0:
            total += gained * (found / (found + wrong))
    for j in range(i + 1):
        found += weights[j]
    return total, found, wrong


# A B-tree over the ranks of the rows in a window, which also counts rows (R. Bayer and E. McCreight, "Organization
# and maintenance of large ordered indexes", Acta Informatica 1, 1972). Full nodes are split on the way down; a node
# goes when it is empty, not before (T. Johnson and D. Shasha, "B-trees with inserts and deletes: why free-at-empty is
# better than merge-at-half", Journal of Computer and System Sciences 47, 1993).
#
# A node has up to FAN entries, sorted. ranks[node, j] is, in a leaf, a rank, and elsewhere the least one that
# child[node, j] ever had below it; rows[node, j] counts the rows there: positive
# ones in the upper half of 64 bits, negative ones in the lower. Behind the last entry ranks are NO_RANK.
FAN = 16
POSITIVE = 1 << 32
_HALF = 0xFFFFFFFF
DEPTH = 32  # more levels than any window could need
# What meta holds; SPARE is how many nodes in `spare` are free, WON twice the pairs won plus those tied.
ROOT, HEIGHT, SPARE, WON, ROWS = 0, 1, 2, 3, 4


@kernel(inline=True)
def _up_to(ranks, rows, node, rank):
    """Count the entries of a node up to and with a rank, and the rows in them."""
    entries = 0
    behind = 0
    while entries < FAN and ranks[node, entries] <= rank:
        behind += rows[node, entries]
        entries += 1
    return entries, behind


@kernel(inline=False)
def _put_in(ranks, rows, child, size, node, j, rank, n, below):
    """Put an entry into place ``j``."""
    for k in range(size[node], j, -1):
        ranks[node, k] = ranks[node, k - 1]
        rows[node, k] = rows[node, k - 1]
        child[node, k] = child[node, k - 1]
    ranks[node, j] = rank
    rows[node, j] = n
    child[node, j] = below
    size[node] += 1


@kernel(inline=False)
def _take_out(ranks, rows, child, size, node, j):
    """Take the entry in place ``j`` out."""
    size[node] -= 1
    for k in range(j, size[node]):
        ranks[node, k] = ranks[node, k + 1]
        rows[node, k] = rows[node, k + 1]
        child[node, k] = child[node, k + 1]
    ranks[node, size[node]] = NO_RANK


@kernel(inline=False)
def _new_node(ranks, size, spare, meta):
    meta[SPARE] -= 1
    node = spare[meta[SPARE]]
    ranks[node] = NO_RANK
    size[node] = 0
    return node


@kernel(inline=False)
def _split(ranks, rows, child, size, spare, meta, node, j):
    """Halve the full child in place ``j``: its upper half becomes a child of its own in place ``j + 1``."""
    full = child[node, j]
    new = _new_node(ranks, size, spare, meta)
    moved = 0
    for k in range(FAN // 2, FAN):
        ranks[new, k - FAN // 2] = ranks[full, k]
        rows[new, k - FAN // 2] = rows[full, k]
        child[new, k - FAN // 2] = child[full, k]
        moved += rows[full, k]
        ranks[full, k] = NO_RANK
    size[new] = FAN - FAN // 2
    size[full] = FAN // 2
    rows[node, j] -= moved
    _put_in(ranks, rows, child, size, node, j + 1, ranks[new, 0], moved, new)


@kernel
def move_ranks(ranks, rows, child, size, spare, meta, start, keys, comes, won, total):
    """Let rows come (``comes``) or go, one after another, from row ``start`` on.

    Writes for each twice the pairs won plus those tied after it, and the number of rows, packed. Returns the first
    row that was not done since nodes are short, or the number of rows.
    """
    path = np.empty(DEPTH, np.int64)
    places = np.empty(DEPTH, np.int64)
    for i in range(start, keys.size):
        if meta[SPARE] < meta[HEIGHT] + 2:
            return i
        rank = keys[i] >> 1
        positive = keys[i] & 1
        row = POSITIVE if positive else 1
        if not comes[i]:
            row = -row
        elif size[meta[ROOT]] == FAN:
            above = _new_node(ranks, size, spare, meta)
            _put_in(ranks, rows, child, size, above, 0, ranks[meta[ROOT], 0], meta[ROWS], meta[ROOT])
            meta[ROOT] = above
            meta[HEIGHT] += 1
            _split(ranks, rows, child, size, spare, meta, above, 0)
        node = meta[ROOT]
        smaller = 0  # rows of a smaller rank
        for level in range(meta[HEIGHT] - 1):
            entries, behind = _up_to(ranks, rows, node, rank)
            j = max(entries - 1, 0)
            if entries:
                smaller += behind - rows[node, j]
            elif comes[i]:
                ranks[node, 0] = rank
            if comes[i] and size[child[node, j]] == FAN:
                _split(ranks, rows, child, size, spare, meta, node, j)
                if ranks[node, j + 1] <= rank:
                    smaller += rows[node, j]
                    j += 1
            rows[node, j] += row
            path[level] = node
            places[level] = j
            node = child[node, j]
        entries, behind = _up_to(ranks, rows, node, rank)
        j = entries - 1
        tied = 0
        if entries and ranks[node, j] == rank:
            tied = rows[node, j]
            rows[node, j] += row
            behind -= tied
            if rows[node, j] == 0:
                _take_out(ranks, rows, child, size, node, j)
                level = meta[HEIGHT] - 2
                while size[node] == 0 and level >= 0:
                    spare[meta[SPARE]] = node
                    meta[SPARE] += 1
                    node = path[level]
                    _take_out(ranks, rows, child, size, node, places[level])
                    level -= 1
                if size[node] == 0:  # the root, and with it all
                    meta[HEIGHT] = 1
                while meta[HEIGHT] > 1 and size[meta[ROOT]] == 1:
                    spare[meta[SPARE]] = meta[ROOT]
                    meta[SPARE] += 1
                    meta[ROOT] = child[meta[ROOT], 0]
                    meta[HEIGHT] -= 1
        else:
            _put_in(ranks, rows, child, size, node, entries, rank, row, -1)
        smaller += behind
        if positive:
            pairs = 2 * (smaller & _HALF) + (tied & _HALF)
        else:
            pairs = 2 * ((meta[ROWS] >> 32) - (smaller >> 32)) - (tied >> 32)
        meta[WON] += pairs if comes[i] else -pairs
        meta[ROWS] += row
        won[i] = meta[WON]
        total[i] = meta[ROWS]
    return keys.size
