"""Which members of an ensemble to keep: the five ways of Margineantu and Dietterich.

Functions on arrays, for any ensemble whose members have been trained. They return the numbers of the members to keep,
in the order in which they were chosen; a vote goes on with the weights that these members had.

- :func:`early_stopping`: the first ones.
- :func:`kl_divergence`: those that were trained on the most different weights of the rows.
- :func:`kappa`: those that agree least.
- :func:`kappa_error_hull`: those that agree least or err least, pair by pair. It decides itself how many.
- :func:`reduce_error`: those whose weighted vote errs least, each choice revised as others follow.

The paper judges members by the rows that they were trained on, the last way by rows held back; in a stream the rows
that come next serve all of them.

References
----------
D. D. Margineantu and T. G. Dietterich, "Pruning adaptive boosting", ICML 1997.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anabranch.schema import Codes, Floats

__all__ = ["early_stopping", "kappa", "kappa_error_hull", "kl_divergence", "pairwise_kappa", "reduce_error"]

Members = NDArray[np.int64]


def early_stopping(n_members: int, n_keep: int) -> Members:
    """Keep the members that were trained first.

    Parameters
    ----------
    n_members, n_keep : int
        How many there are, and how many to keep.

    Returns
    -------
    ndarray of int64, shape (min(n_members, n_keep),)

    Examples
    --------
    >>> early_stopping(5, 3)
    array([0, 1, 2])
    """
    return np.arange(_n_keep(n_keep, n_members))


def kl_divergence(distributions: ArrayLike, n_keep: int) -> Members:
    """Keep the members whose training distributions differ most.

    Beginning with the first, the member is added whose Kullback-Leibler divergences from and to those chosen so far
    have the largest sum; among equals, the first one.

    Parameters
    ----------
    distributions : array-like of float, shape (n_members, n)
        Weights of the rows that each member was trained with, not negative; each member's are scaled to sum 1. A weight
        of 0 counts as the smallest number there is.
    n_keep : int
        How many members to keep.

    Returns
    -------
    ndarray of int64, shape (min(n_members, n_keep),)
        In the order in which they were chosen.

    Raises
    ------
    ValueError
        If a distribution is negative, not finite, or 0 everywhere.

    Examples
    --------
    >>> kl_divergence([[0.5, 0.5, 0.0], [0.5, 0.4, 0.1], [0.1, 0.1, 0.8]], 2)
    array([0, 2])
    """
    D = _table(distributions, "distributions", np.float64)
    totals = D.sum(axis=1, keepdims=True)
    if not (np.isfinite(totals).all() and (D >= 0).all() and (totals > 0).all()):
        raise ValueError("distributions must hold finite weights, none negative and not all 0 for any member.")
    D = np.maximum(D / totals, np.finfo(np.float64).tiny)
    logs = np.log(D)
    n_keep = _n_keep(n_keep, len(D))
    chosen = [0]
    divergence = np.zeros(len(D))
    while len(chosen) < n_keep:
        last = chosen[-1]
        # D(p, q) + D(q, p) = sum of (p - q) (log p - log q)
        divergence += ((D - D[last]) * (logs - logs[last])).sum(axis=1)
        divergence[chosen] = -np.inf
        chosen.append(int(divergence.argmax()))
    return np.array(chosen, np.int64)


def pairwise_kappa(predictions: ArrayLike, sample_weight: ArrayLike | None = None) -> Floats:
    """Cohen's kappa of every two members: how much more they agree than by chance.

    Parameters
    ----------
    predictions : array-like of int, shape (n_members, n)
        Codes of the classes that each member predicts, 0 and up.
    sample_weight : array-like of float, shape (n,), optional
        Weights of the rows.

    Returns
    -------
    ndarray of float64, shape (n_members, n_members)
        1 for members that always agree, also where both always say the same class; 0 for agreement by chance.

    Examples
    --------
    >>> pairwise_kappa([[0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 0, 0]])
    array([[ 1. ,  0.5, -1. ],
           [ 0.5,  1. , -0.5],
           [-1. , -0.5,  1. ]])
    """
    said = _predictions(predictions)
    w = _weights(sample_weight, said.shape[1])
    total = w.sum()
    shares = np.array([np.bincount(codes, w, int(said.max()) + 1) for codes in said]) / total
    kappas = np.ones((len(said), len(said)))
    for i in range(len(said)):
        for j in range(i):
            agree = float(w[said[i] == said[j]].sum() / total)
            by_chance = float((shares[i] * shares[j]).sum())
            if by_chance < 1.0 and agree < 1.0:
                kappas[i, j] = kappas[j, i] = (agree - by_chance) / (1.0 - by_chance)
    return kappas


def kappa(predictions: ArrayLike, n_keep: int, sample_weight: ArrayLike | None = None) -> Members:
    """Keep the members that agree least: pairs are taken in the order of increasing kappa.

    Among pairs of equal kappa that of the earliest members comes first; where only one more member is wanted, and both
    of a pair are new, the earlier one is taken.

    Parameters
    ----------
    predictions : array-like of int, shape (n_members, n)
        Codes of the classes that each member predicts, 0 and up.
    n_keep : int
        How many members to keep.
    sample_weight : array-like of float, shape (n,), optional
        Weights of the rows.

    Returns
    -------
    ndarray of int64, shape (min(n_members, n_keep),)
        In the order in which they were chosen.

    Examples
    --------
    >>> kappa([[0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 0, 0]], 2)
    array([0, 2])
    """
    kappas = pairwise_kappa(predictions, sample_weight)
    first, second = np.triu_indices(len(kappas), 1)
    order = np.argsort(kappas[first, second], kind="stable")
    return _members_of(first[order], second[order], len(kappas))[: _n_keep(n_keep, len(kappas))]


def kappa_error_hull(predictions: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Members:
    """Keep the members on the convex hull of the kappa-error diagram.

    Each pair of members is a point: how much they agree, and the mean of their errors. Kept are the members of the
    pairs on the lower left of the points' convex hull, from the pair that agrees least to the one that errs least.

    Parameters
    ----------
    predictions : array-like of int, shape (n_members, n)
        Codes of the classes that each member predicts, 0 and up.
    y : array-like of int, shape (n,)
        Codes of the right classes.
    sample_weight : array-like of float, shape (n,), optional
        Weights of the rows.

    Returns
    -------
    ndarray of int64
        As many as there are on the hull, in the order of increasing kappa; a single member alone.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 1, 1]
    >>> kappa_error_hull([[0, 0, 0, 1, 1, 0], [0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 1, 0], [0, 0, 1, 0, 1, 0]], y)
    array([1, 2, 0])
    """
    said = _predictions(predictions)
    codes = _codes(y, said.shape[1])
    w = _weights(sample_weight, said.shape[1])
    kappas = pairwise_kappa(said, w)
    errors = np.array([w[one != codes].sum() / w.sum() for one in said])
    first, second = np.triu_indices(len(said), 1)
    hull: list[tuple[float, float, int]] = []
    means = (errors[first] + errors[second]) / 2.0
    for point in sorted(zip(kappas[first, second].tolist(), means.tolist(), range(len(first)), strict=True)):
        if hull and point[1] >= hull[-1][1]:
            continue  # agrees more and errs no less than one before: not on the lower left
        while len(hull) > 1 and _turns_right(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    pairs = [place for _, _, place in hull]
    return _members_of(first[pairs], second[pairs], len(said))


def reduce_error(
    predictions: ArrayLike,
    y: ArrayLike,
    weights: ArrayLike,
    n_keep: int,
    sample_weight: ArrayLike | None = None,
    *,
    max_rounds: int = 100,
) -> Members:
    """Keep the members whose weighted vote errs least, with backfitting.

    The member is added that makes the error of the vote smallest. Then each chosen one in turn makes room for whichever
    member, itself included, does best in its place, over and over until nothing changes; and the next is added. Among
    equals the one that is there stays, or else the first one is taken.

    Parameters
    ----------
    predictions : array-like of int, shape (n_members, n)
        Codes of the classes that each member predicts, 0 and up, for rows that it has not learned, if possible.
    y : array-like of int, shape (n,)
        Codes of the right classes.
    weights : array-like of float, shape (n_members,)
        Weight of each member's vote, not negative. A row without votes is an error.
    n_keep : int
        How many members to keep.
    sample_weight : array-like of float, shape (n,), optional
        Weights of the rows.
    max_rounds : int, default=100
        How often the chosen ones are gone through, at most, after each addition; 0 for no backfitting.

    Returns
    -------
    ndarray of int64, shape (min(n_members, n_keep),)
        In the order of their places.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 1, 1]
    >>> said = [[0, 0, 0, 1, 0, 0], [0, 0, 1, 1, 0, 1], [1, 0, 0, 0, 1, 1], [1, 1, 1, 1, 1, 1]]
    >>> reduce_error(said, y, [1.0, 1.0, 1.0, 1.0], 3)
    array([0, 1, 2])
    """
    said = _predictions(predictions)
    members, n = said.shape
    codes = _codes(y, n)
    w = _weights(sample_weight, n)
    alphas = np.asarray(weights, np.float64)
    if alphas.shape != (members,) or not (np.isfinite(alphas).all() and (alphas >= 0).all()):
        raise ValueError(f"weights must hold a finite number of at least 0 for each of {members} members.")
    n_classes = int(max(said.max(), codes.max())) + 1
    rows = np.arange(n)
    votes = np.zeros((members, n, n_classes))  # each member's
    for m in range(members):
        votes[m, rows, said[m]] = alphas[m]

    def best(others: list[int], incumbent: int | None = None) -> int:
        """The member that does best together with others."""
        total = np.zeros((n, n_classes))
        for m in others:
            total += votes[m]
        # Only the class that a member adds its vote to can overtake the one that leads without it.
        leader = total.argmax(axis=1)
        lead = total[rows, leader]
        own = total[rows, said] + alphas[:, None]
        overtakes = (own > lead) | ((own == lead) & (said <= leader))
        right = (np.where(overtakes, said, leader) == codes) & (np.maximum(own, lead) > 0.0)
        errors = np.where(right, 0.0, w).sum(axis=1)
        errors[others] = np.inf
        found = int(errors.argmin())
        return incumbent if incumbent is not None and errors[incumbent] <= errors[found] else found

    chosen: list[int] = []
    for _ in range(_n_keep(n_keep, members)):
        chosen.append(best(chosen))
        for _ in range(max_rounds):
            before = list(chosen)
            for place, m in enumerate(before):
                chosen[place] = best(chosen[:place] + chosen[place + 1 :], m)
            if chosen == before:
                break
    return np.array(chosen, np.int64)


# ---------------------------------------------------------------------------------------------- parts


def _members_of(first: Members, second: Members, n_members: int) -> Members:
    """Members in the order in which pairs bring them; a single member is in no pair."""
    pairs = np.column_stack([first, second]).ravel().tolist()
    return np.array(list(dict.fromkeys(pairs)) or range(min(n_members, 1)), np.int64)


def _turns_right(a: tuple[float, float, int], b: tuple[float, float, int], c: tuple[float, float, int]) -> bool:
    """Whether the way from a to b to c turns right, or goes straight on: b is not a corner of the lower hull."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) <= 0.0


def _table(values: ArrayLike, name: str, dtype: Any) -> NDArray[Any]:
    table = np.asarray(values)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"{name} must be a table (members, rows) with at least one of each, got shape {table.shape}.")
    if table.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold numbers, got an array of {table.dtype}.")
    return table.astype(dtype)


def _whole(values: NDArray[Any], name: str) -> None:
    if values.dtype.kind not in "biu" or (values.size and values.min() < 0):
        raise ValueError(f"{name} must hold codes of classes: whole numbers of at least 0.")


def _predictions(values: ArrayLike) -> Codes:
    _whole(np.asarray(values), "predictions")
    said: Codes = _table(values, "predictions", np.int64)
    return said


def _codes(y: ArrayLike, n: int) -> Codes:
    codes = np.asarray(y)
    _whole(codes, "y")
    if codes.shape != (n,):
        raise ValueError(f"y must hold a code for each of the {n} rows of predictions, got shape {codes.shape}.")
    return codes.astype(np.int64)


def _weights(sample_weight: ArrayLike | None, n: int) -> Floats:
    """Weights of rows. They stay as they are: sums of whole numbers are exact, so that equals stay equal."""
    if sample_weight is None:
        return np.ones(n)
    w = np.asarray(sample_weight, np.float64)
    if w.shape != (n,) or not (np.isfinite(w).all() and (w >= 0).all() and w.any()):
        raise ValueError(f"sample_weight must hold a finite weight for each of {n} rows, none negative, not all 0.")
    return w


def _n_keep(n_keep: int, n_members: int) -> int:
    if isinstance(n_keep, bool) or not isinstance(n_keep, (int, np.integer)) or n_keep < 1:
        raise ValueError(f"n_keep must be a whole number of at least 1, got {n_keep!r}.")
    return min(int(n_keep), n_members)
