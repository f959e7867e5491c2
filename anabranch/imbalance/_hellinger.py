"""Hellinger distances between the distributions of columns."""

from __future__ import annotations

import numpy as np

from anabranch.schema import Floats

__all__ = ["hellinger", "histograms", "ranges"]


def ranges(*parts: Floats) -> tuple[Floats, Floats]:
    """Smallest and largest value of each column in rows; 0 where there is none."""
    X = np.vstack(parts)
    known = ~np.isnan(X)
    some = known.any(axis=0)
    low = np.where(some, np.where(known, X, np.inf).min(axis=0, initial=np.inf), 0.0)
    high = np.where(some, np.where(known, X, -np.inf).max(axis=0, initial=-np.inf), 0.0)
    return low, high


def histograms(X: Floats, w: Floats, low: Floats, high: Floats, n_bins: int) -> Floats:
    """Shares of rows in bins of equal width, and beside them below the lowest, above the highest, and missing.

    Parameters
    ----------
    X : float64 (n, d)
    w : float64 (n,)
        Weights, some above 0.
    low, high : float64 (d,)
        Where the bins of each column begin and end.
    n_bins : int

    Returns
    -------
    ndarray of float64, shape (d, n_bins + 3)
    """
    width = high - low
    with np.errstate(over="ignore"):  # far outside is outside
        place = np.where(width > 0, (X - low) / np.where(width > 0, width, 1.0), 0.0)
    within = np.clip(np.floor(np.clip(place, 0.0, 1.0) * n_bins), 0, n_bins - 1) + 1
    bins = np.where(np.isnan(X), n_bins + 2, np.where(low > X, 0, np.where(high < X, n_bins + 1, within)))
    bins = bins.astype(np.int64)
    counts = np.array([np.bincount(bins[:, j], w, minlength=n_bins + 3) for j in range(X.shape[1])])
    shares: Floats = counts.reshape(X.shape[1], n_bins + 3) / w.sum()
    return shares


def hellinger(p: Floats, q: Floats) -> Floats:
    """Distance of the distributions in the last axis, from 0 to the root of 2."""
    distances: Floats = np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum(axis=-1))
    return distances
