"""What happens to every chunk at the boundary: is it finite, do probabilities sum to one."""

from __future__ import annotations

import numpy as np

from anabranch.kernels import kernel

# Squares of differences, summed over any stream, must stay finite; 1e100 leaves room for 1e100 rows.
LARGEST = 1e100


@kernel
def first_bad(X):
    """Find the first value that is infinite or beyond 1e100 in size: its flat index, or -1. NaN is fine."""
    flat = X.ravel()
    n = flat.size
    block = 256
    for start in range(0, n, block):
        stop = min(start + block, n)
        bad = 0
        for i in range(start, stop):  # no early exit: this loop vectorises
            bad += abs(flat[i]) > LARGEST
        if bad:
            for i in range(start, stop):
                if abs(flat[i]) > LARGEST:
                    return i
    return -1


# Forms of sparse rows.
CANONICAL, NOT_CANONICAL, MALFORMED = 0, 1, 2


@kernel
def sparse_form(data, indices, indptr, n, width):
    """Look through a CSR matrix: its form, and the position of the first value infinite or beyond 1e100, or -1.

    Canonical: each row's columns are in order, none twice. Malformed: pointers or columns lie outside, so that
    a kernel that trusted them would read other memory.
    """
    if indptr.size != n + 1 or indptr[0] != 0 or indptr[n] > data.size or indptr[n] > indices.size:
        return MALFORMED, -1
    for i in range(n):
        if indptr[i + 1] < indptr[i]:
            return MALFORMED, -1
    form = CANONICAL
    for i in range(n):
        columns = indices[indptr[i] : indptr[i + 1]]
        m = len(columns)
        if m == 0:
            continue
        back = 0
        for e in range(1, m):  # no early exit: this loop vectorises
            back += columns[e] <= columns[e - 1]
        if back == 0:  # then the first is the smallest, the last the largest
            if columns[0] < 0 or columns[m - 1] >= width:
                return MALFORMED, -1
            continue
        form = NOT_CANONICAL
        for e in range(m):
            if columns[e] < 0 or columns[e] >= width:
                return MALFORMED, -1
    return form, first_bad(data[: indptr[n]])


@kernel(inline=True)
def scale(votes, i, known):
    """Scale row i of votes to sum 1, in place; without votes, evenly over the first ``known`` classes."""
    k = votes.shape[1]
    if k == 2 and votes[i, 0] + votes[i, 1] > 0.0:  # so often that it goes without loops
        total = votes[i, 0] + votes[i, 1]
        votes[i, 0] /= total
        votes[i, 1] /= total
        return
    total = 0.0
    for c in range(k):
        total += votes[i, c]
    if total > 0.0:
        if total != 1.0:
            for c in range(k):
                votes[i, c] /= total
    else:
        for c in range(k):
            votes[i, c] = 1.0 / known if c < known else 0.0


@kernel
def to_probabilities(votes, y, known):
    """Scale each row of votes to sum 1, in place.

    A row without votes becomes uniform over the classes known when it was met: ``known`` at the start, and any
    class among ``y[:i]``. Where none is known it stays zero. Pass an empty ``y`` if no labels come in between.
    """
    for i in range(len(votes)):
        if i > 0 and y.size > 0 and y[i - 1] >= known:
            known = y[i - 1] + 1
        scale(votes, i, known)


@kernel
def look_up(values, low, table, out):
    """Translate integers through a table that starts at ``low``; returns the first row that has no entry, or -1."""
    for i in range(values.size):
        j = values[i] - low
        if j < 0 or j >= table.size or table[j] < 0:
            return i
        out[i] = table[j]
    return -1


EMPTY = np.empty(0, np.int64)
