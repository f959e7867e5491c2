"""Class sizes that fade with time, what resampling and undersampling make of them, and how well classes are told."""

from __future__ import annotations

import math

import numpy as np

from anabranch.kernels import kernel

# What a row's class size is held against: the largest, for oversampling, or the smallest, for undersampling.
LARGEST, SMALLEST = range(2)

# Size of a class that no row has shown yet.
UNMET = -1.0
# Below this, a size is 0: numbers still smaller are slow to reckon with, and would never get there.
_TINY = 1e-300


@kernel
def rates(sizes, y, w, decay, against, rate):
    """Fade the class sizes row by row; a row's rate is how many times the members shall learn it on average.

    Parameters
    ----------
    sizes : float64 (k,)
        Size of each class, UNMET before its first row; brought up to date.
    y, w : int64 (n,), float64 (n,)
        Classes and weights; rows of weight 0 are passed over.
    decay : float
        theta.
    against : int
        LARGEST or SMALLEST.
    rate : float64 (n,)
        Out: largest (smallest) size of all classes met / size of the row's class.
    """
    for i in range(y.size):
        if w[i] == 0.0:
            rate[i] = 0.0
            continue
        if sizes[y[i]] < 0.0:
            sizes[y[i]] = 0.0
        extreme = -1.0
        for c in range(sizes.size):
            if sizes[c] < 0.0:
                continue
            sizes[c] = sizes[c] * decay if sizes[c] > _TINY else 0.0
            if c == y[i]:
                sizes[c] += 1.0 - decay
            if extreme < 0.0 or (sizes[c] > extreme if against == LARGEST else sizes[c] < extreme):
                extreme = sizes[c]
        rate[i] = extreme / sizes[y[i]]


@kernel(inline=False)
def g_mean(smooth):
    """Geometric mean of the recalls of the classes met so far, which are not negative; 0 if there is none."""
    product, met = 1.0, 0
    for c in range(smooth.size):
        if smooth[c] >= 0.0:
            product *= smooth[c]
            met += 1
    if met == 0:
        return 0.0
    return math.sqrt(product) if met == 2 else product ** (1.0 / met)


@kernel(inline=False)
def smoothed(classes, values, oldest, place, smooth):
    """Mean of each class's fading recall over the rows in the window in which it was known; negative if in none.

    A recall changes where its class is met, so the window need not keep them all: see :func:`smoothed_g_means`.
    """
    window = classes.size
    start = max(0, place - window)
    for c in range(smooth.size):
        recall, total, count = oldest[c], 0.0, 0
        for t in range(start, place):
            if classes[t % window] == c:
                recall = values[t % window]
            if recall >= 0.0:
                total += recall
                count += 1
        # Summed anew at every row, so that rounding errors do not pile up.
        smooth[c] = total / count if count else -1.0


@kernel
def smoothed_g_means(right, y, w, decay, classes, values, recalls, oldest, place, before):
    """Follow one ensemble's smoothed recalls over a chunk.

    Parameters
    ----------
    right : bool (n,)
        Whether the ensemble had the row right just before it learned it.
    y, w : int64 (n,), float64 (n,)
        Classes and weights; rows of weight 0 are passed over.
    decay : float
        How much of a recall stays when its class is met.
    classes, values : int64 (window,), float64 (window,)
        The latest rows' classes, and what the recall of that class became there.
    recalls, oldest : float64 (k,)
        Each class's fading recall now, and just before the window; negative where the class had not been met yet.
    place : int
        Number of rows before the chunk, those of weight 0 left out.
    before : float64 (n + 1,)
        Out: geometric mean of the smoothed recalls just before each row, and after the last.
    """
    window = classes.size
    smooth = np.empty(recalls.size)
    smoothed(classes, values, oldest, place, smooth)
    before[0] = g_mean(smooth)
    for i in range(y.size):
        if w[i] > 0.0:
            hit = 1.0 if right[i] else 0.0
            recall = recalls[y[i]]
            recalls[y[i]] = hit if recall < 0.0 else decay * recall + (1.0 - decay) * hit
            now = place % window
            if place >= window:
                oldest[classes[now]] = values[now]
            classes[now] = y[i]
            values[now] = recalls[y[i]]
            place += 1
            smoothed(classes, values, oldest, place, smooth)
        before[i + 1] = g_mean(smooth)


@kernel
def share(mine, theirs, best_only, alpha):
    """Weight of one ensemble's vote against the other's, from their G-means; the other's is 1 - alpha."""
    for i in range(alpha.size):
        if best_only:
            alpha[i] = 1.0 if mine[i] > theirs[i] else 0.0 if mine[i] < theirs[i] else 0.5
        else:
            total = mine[i] + theirs[i]
            alpha[i] = mine[i] / total if total > 0.0 else 0.5


@kernel
def gaps_and_shares(shares, waiting, place, y, w, decay, told):
    """Follow the shares of classes that come and go, as CBCE does.

    Parameters
    ----------
    shares : float64 (k,)
        Share of each class: UNMET before its first row, 0 before its second; brought up to date.
    waiting : int64 (k,)
        Number of the first row of a class that has had one; negative otherwise.
    place : int
        Number of rows before the chunk, those of weight 0 left out.
    y, w : int64 (n,), float64 (n,)
        Classes and weights; rows of weight 0 are passed over.
    decay : float
        How much of a share stays from one row to the next.
    told : float64 (n + 1, k)
        Out: the shares before each row, and after the last.
    """
    told[0] = shares
    for i in range(y.size):
        if w[i] > 0.0:
            own = y[i]
            for c in range(shares.size):
                if c != own and shares[c] > 0.0:
                    shares[c] = shares[c] * decay if shares[c] > _TINY else 0.0
            if shares[own] < 0.0:
                shares[own] = 0.0
                waiting[own] = place
            elif waiting[own] >= 0:
                shares[own] = 1.0 / (place - waiting[own])
                waiting[own] = -1
            else:
                shares[own] = shares[own] * decay + (1.0 - decay)
            place += 1
        told[i + 1] = shares
