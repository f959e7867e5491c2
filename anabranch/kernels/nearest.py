"""The nearest rows of a chunk."""

from __future__ import annotations

import numpy as np

from anabranch.kernels import kernel


@kernel
def nearest(X, Y, k, own, found):
    """Find for every row of X the k nearest rows of Y.

    Parameters
    ----------
    X : float64 (n, d)
        Without gaps.
    Y : float64 (m, d)
        With at least k rows, and one more if ``own``.
    k : int
        At least 1.
    own : bool
        X is Y, and a row is not its own neighbour.
    found : int64 (n, k)
        Takes their numbers, nearest first, the earlier among equals. Distances are squares added up column by column.
    """
    m, d = Y.shape
    columns = np.ascontiguousarray(Y.T)  # distances to all rows at once, column by column
    sums = np.empty(m)
    least = np.empty(k)
    for i in range(X.shape[0]):
        sums[:] = 0.0
        for j in range(d):
            x = X[i, j]
            column = columns[j]
            for s in range(m):
                difference = column[s] - x
                sums[s] += difference * difference
        filled = 0
        bar = np.inf
        for s in range(m):
            distance = sums[s]
            if filled == k and distance >= bar:
                continue
            if own and s == i:
                continue
            at = filled if filled < k else k - 1
            while at > 0 and least[at - 1] > distance:
                least[at] = least[at - 1]
                found[i, at] = found[i, at - 1]
                at -= 1
            least[at], found[i, at] = distance, s
            filled = min(filled + 1, k)
            bar = least[filled - 1]
