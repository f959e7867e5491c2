"""The weights of a dynamic weighted majority."""

from __future__ import annotations

from anabranch.kernels import kernel
from anabranch.kernels.voting import _first_best


@kernel
def judge(votes, y, turns, first, start, weights, told, total, beta, theta, hard):
    """Go through the p-th rows until a new expert is to join.

    Parameters
    ----------
    votes : float64 (experts, n, k)
        What each expert said of each row just before it learned it.
    turns : int64 (t,)
        The p-th rows.
    first : int
        The first of ``turns`` to look at.
    start : int
        The first row whose weights are still to be told.
    weights : float64 (experts,)
        Weights of the experts, 0 for those that have been dropped; brought up to date.
    told : float64 (experts, n)
        Out: the weights at each row, before what happens there.
    total : float64 (k,)
        Scratch.
    beta, theta, hard : float, float, bool

    Returns
    -------
    int
        The place in ``turns`` where the majority was wrong, or their number.
    """
    for t in range(first, turns.size):
        i = turns[t]
        total[:] = 0.0
        for m in range(weights.size):
            told[m, start : i + 1] = weights[m]
            if weights[m] == 0.0:
                continue
            one = votes[m]
            best = _first_best(one, i)
            if one[i, best] <= 0.0:  # nothing to say yet
                continue
            if best != y[i]:
                weights[m] *= beta
            if hard:
                total[best] += weights[m]
            else:
                sum_ = 0.0
                for c in range(total.size):
                    sum_ += one[i, c]
                for c in range(total.size):
                    total[c] += weights[m] * (one[i, c] / sum_)
        start = i + 1
        largest, best = 0.0, 0
        for m in range(weights.size):
            largest = max(largest, weights[m])
        for m in range(weights.size):
            weights[m] /= largest
            if weights[m] < theta:
                weights[m] = 0.0
        for c in range(total.size):
            if total[c] > total[best]:
                best = c
        if total[best] > 0.0 and best != y[i]:
            return t
    for m in range(weights.size):
        told[m, start:] = weights[m]
    return turns.size
