"""SMOTE: synthetic rows of a minority."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anabranch.imbalance._minority import filled, means_of, neighbours
from anabranch.schema import Floats

__all__ = ["smote"]


def smote(X: Floats, amount: float, k: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    """Draw synthetic rows, each between a row and one of its k nearest, anywhere on the line.

    Parameters
    ----------
    X : float64 (n, d)
        Rows of the minority. A gap counts as the column's mean in distances, and stays a gap.
    amount : float
        Synthetic rows per row; of a fraction, that share of the rows, drawn at random, has one more.
    k : int
        Neighbours to choose from; all others where there are fewer.
    rng : numpy.random.Generator

    Returns
    -------
    synthetic : float64 (about amount * n, d)
        None for a single row, which has no neighbours.
    base : int64
        The row that each was made from.

    References
    ----------
    N. V. Chawla, K. W. Bowyer, L. O. Hall and W. P. Kegelmeyer, "SMOTE: synthetic minority over-sampling technique",
    JAIR 16, 2002.
    """
    n = len(X)
    if n < 2:
        return X[:0], np.zeros(0, np.int64)
    whole = int(amount)
    times = np.full(n, whole)
    times[rng.permutation(n)[: int(np.floor((amount - whole) * n + 0.5))]] += 1
    rows = filled(X, means_of(X))
    near = neighbours(rows, rows, k, own=True)
    base = np.repeat(np.arange(n), times)
    other = near[base, rng.integers(near.shape[1], size=len(base))]
    return X[base] + rng.random(len(base))[:, None] * (X[other] - X[base]), base
