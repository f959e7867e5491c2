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
