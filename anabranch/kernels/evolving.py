"""Linear models for rows whose columns vanish and appear: the loop over rows of FESL and of what it is held against.

A model (:class:`Model`) has two vectors per class. ``now`` learns the columns of the present space; ``previous``
learned those of the space before, and is applied to what the present columns say of the vanished ones. With B rows
in which both were there, X1 their old values and X2 their new ones, the least-squares mapping is
``psi(x) = X1^T pinv(X2 X2^T) X2 x``, so that nothing of the size of old times new columns ever need be formed. Its
answers lie in a space of r dimensions at most, r being the least of B and the numbers of old and of new columns. With
an orthonormal basis Q of that space, ``X1^T = Q R``,

- ``a = R pinv(X2 X2^T) X2 x`` are the coordinates of what is recovered, ``psi(x) = Q a``; they take r steps for each
  entry of the row (``recover`` holds that matrix);
- ``previous @ psi(x) = anchors @ a``, where ``anchors = previous @ Q``: a gradient step of size s along psi(x) adds
  ``s a`` to it and nothing else, and ``psi(x)`` is as long as a.

Q itself is not kept. ``unfold`` is the pseudo-inverse of R: a sum of steps d in these coordinates is the mixture
``unfold @ d`` of the overlap's old rows.

A row thus costs its entries times r, however many columns have vanished.

Which columns belong together, and when a period begins, is decided in Python (`anabranch.evolving._learner`): the
loop watches for rows that call for a decision, and comes back.

Rows come dense or as a canonical CSR matrix, as in `anabranch.kernels.linear`. Both are first turned into one list of
the entries that are there and not 0, so that they give the same results to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anabranch.kernels import kernel
from anabranch.kernels.checks import LARGEST

# What is predicted: both models' answers weighted, one of them drawn, the mean of a grid of mixtures of both; or the
# present model's, or the previous one's.
COMBINATION, SELECTION, MIXTURE, PRESENT, RECOVERED, RECOVERED_FIXED = range(6)
LOGISTIC, SQUARED = range(2)
# What is done with a row: it is learned; its answer put down, and then learned; nothing but its answer put down.
LEARN, TEST_THEN_LEARN, TEST = range(3)
# Why the loop comes back: all rows are done, columns call for a decision, a class is new.
DONE, COLUMNS, CLASS = range(3)
# How far a row is that the loop comes back to: not begun, its columns are settled, its answer is put down too.
FRESH, SETTLED, ANSWERED = range(3)
# What a column, or a declared space, is: never met, of the present space, of the next one, vanished.
UNKNOWN, NOW, NEXT, GONE = range(4)

# Places in `options`.
STRATEGY, LOSS, STEP, RADIUS, INTERCEPT, HORIZON, LOSS_SCALE, PATIENCE, MAX_OVERLAP, SPACES, MOMENTS = range(11)
OPTIONS_SIZE = 11

# Places in `numbers`: rows learned; rows of the present space; rows of the space before; row of the last change, or -1;
# changes so far; rows of overlap; rows put into the buffer; dimensions of the mapping; classes; and, as 0 or 1, whether
# new columns stand beside old ones, whether the previous model can be used, whether a row that shows the same columns
# as the last one calls for no decision, whether that one showed all; and why the loop came back.
ROWS, AGE, PREVIOUS_AGE, CHANGED, CHANGES, OVERLAP, KEPT, RANK, ACTIVE, AWAITING, MAPPED, QUIET, WHOLE, REASON = range(
    14
)
NUMBERS_SIZE = 14

# Places in `hedge`: cumulative losses of the previous model, of the present one, and of both together; the least lead
# of the former over the latter so far; rounds; logarithms of weights, which need not sum to 1; rounds of this epoch,
# its length, its eta and delta; the bounds of the epochs before; and, from MIXED on, the losses of mixtures of both: in
# number k of them, the previous model has a share of k / (MIXTURES - 1).
LOSS_1, LOSS_2, LOSS_12, LEAD, ROUNDS, LOG_1, LOG_2, EPOCH_ROUNDS, EPOCH, ETA, DELTA, BOUND_BEFORE, MIXED = range(13)
MIXTURES = 11
HEDGE_SIZE = MIXED + MIXTURES

_FIRST_EPOCH = 8.0
_LN2 = np.log(2.0)
_BITS = 1.0 / np.log(2.0)
# A step moves no weight by more than this times the value in the row, and the mapping sees no value beyond the other.
_LARGEST_STEP = 1e40
_LARGEST_MAPPED = 1e40
# Coordinates are worked on so many at a time: with whole blocks, of which what is beyond the last coordinate is 0, the
# compiler's loops over vectors have no rest to do one by one.
BLOCK = 16


class Model(NamedTuple):
    """The arrays of a model of m vectors over n features, with room for r rows behind the mapping.

    A feature is a column of X, or a value of a nominal one. Columns come in units, which are there or not as a whole:
    each column is one, unless spaces are declared.
    """

    now: NDArray[np.float64]  # (m, n)
    previous: NDArray[np.float64]  # (m, n)
    intercepts: NDArray[np.float64]  # (2, m): of the previous model, of the present one
    norms: NDArray[np.float64]  # (2, m): squared, kept with a radius only
    anchors: NDArray[np.float64]  # (m, r)
    start: NDArray[np.float64]  # (m, r): what the anchors were when the mapping was learned
    recover: NDArray[np.float64]  # (n, r)
    bias: NDArray[np.float64]  # (r,): what the constant column adds, with an intercept
    unfold: NDArray[np.float64]  # (r, r)
    buffer: NDArray[np.float64]  # (n, r): rows of the overlap, NaN is missing
    moments: NDArray[np.float64]  # (n + 1, n + 1): sums of products of columns over the overlap, or (0, 0)
    status: NDArray[np.int64]  # (units,)
    since: NDArray[np.int64]  # (units,): first of the last rows without it, -1 if it was there
    watched: NDArray[np.uint8]  # (units,): whether its absence will call for a decision
    in_previous: NDArray[np.uint8]  # (units,): whether the previous model knows it
    pattern: NDArray[np.uint8]  # (units,): whether it was there in the last row learned
    present: NDArray[np.uint8]  # (units,): whether it is there in the row at hand
    unit: NDArray[np.int64]  # (n,): of each feature; -1 for those that are always there
    in_now: NDArray[np.uint8]  # (n,): whether the present model uses the feature
    in_both: NDArray[np.uint8]  # (n,): whether both do
    numbers: NDArray[np.float64]
    hedge: NDArray[np.float64]
    seed: NDArray[np.uint64]  # (1,): state of the random numbers


# ---------------------------------------------------------------------------------------------- weights of the models


@kernel(inline=True)
def _experts(strategy):
    """Logarithm of the number of those whom the weights are spread over."""
    return np.log(float(MIXTURES)) if strategy == MIXTURE else _LN2


@kernel(inline=False)
def _least_of_mixtures(hedge):
    """Loss of the best mixture."""
    least = hedge[MIXED]
    for k in range(1, MIXTURES):
        least = min(least, hedge[MIXED + k])
    return least


@kernel(inline=False)
def begin_epoch(hedge, strategy, horizon):
    """Set the rates for so many rounds, as the paper does for all of them."""
    hedge[EPOCH] = horizon
    hedge[EPOCH_ROUNDS] = 0.0
    hedge[LOG_1] = hedge[LOG_2] = -_LN2
    if strategy == SELECTION:
        delta = 1.0 / (horizon - 1.0) if horizon > 2.0 else 0.5
        entropy = -delta * np.log(delta) - (1.0 - delta) * np.log(1.0 - delta)
        hedge[DELTA] = delta
        hedge[ETA] = np.sqrt(8.0 / horizon * (2.0 * _LN2 + max(horizon - 1.0, 1.0) * entropy))
    else:
        hedge[DELTA] = 0.0
        hedge[ETA] = np.sqrt(8.0 * _experts(strategy) / horizon)


@kernel(inline=False)
def begin_hedge(hedge, strategy, horizon):
    """Start with weights of one half. A horizon of 0 is an unknown one."""
    hedge[:] = 0.0
    begin_epoch(hedge, strategy, horizon if horizon > 0.0 else (_FIRST_EPOCH if strategy == SELECTION else 1.0))


@kernel(inline=False)
def hedge_bound(hedge, strategy, horizon):
    """What the regret so far cannot exceed, if all losses lie between 0 and 1.

    With the paper's fixed rates, for any number of rounds t: ln(2) / eta + eta t / 8 for the combination (for a grid of
    N mixtures with ln(N)), and
    (2 ln(2) - ln(delta) - (t - 2) ln(1 - delta)) / eta + eta t / 8 for the selection (Cesa-Bianchi and Lugosi 2006,
    theorems 2.2 and 5.2), which at t = horizon is what the paper's theorems say.
    """
    rounds = hedge[ROUNDS]
    if rounds == 0.0:
        return 0.0
    experts = _experts(strategy)
    if strategy != SELECTION and horizon == 0.0:
        return 2.0 * np.sqrt(rounds / 2.0 * experts) + np.sqrt(experts / 8.0)  # theorem 2.3 there
    eta, delta = hedge[ETA], hedge[DELTA]
    if strategy != SELECTION:
        return experts / eta + eta * rounds / 8.0
    length = hedge[EPOCH_ROUNDS]
    if length == 0.0:
        return hedge[BOUND_BEFORE]
    surprise = 2.0 * _LN2 - np.log(delta) - max(length - 2.0, 0.0) * np.log(1.0 - delta)
    return hedge[BOUND_BEFORE] + surprise / eta + eta * length / 8.0


@kernel(inline=True)
def share(hedge):
    """Weight of the previous model, between 0 and 1."""
    return 1.0 / (1.0 + np.exp(hedge[LOG_2] - hedge[LOG_1]))


@kernel(inline=False)
def update_hedge(hedge, strategy, horizon, loss_1, loss_2, loss_12):
    """Take in a round's losses: of the previous model, of the present one, and of what was predicted.

    Those of a grid of mixtures are in their places already.
    """
    hedge[LOSS_1] += loss_1
    hedge[LOSS_2] += loss_2
    hedge[LOSS_12] += loss_12
    hedge[ROUNDS] += 1.0
    hedge[LEAD] = min(hedge[LEAD], hedge[LOSS_1] - hedge[LOSS_2])
    if strategy != SELECTION and horizon == 0.0:  # eta falls with the rounds
        hedge[ETA] = np.sqrt(8.0 * _experts(strategy) / (hedge[ROUNDS] + 1.0))
    if strategy == MIXTURE:
        # What the previous model's share is on average, each mixture of the grid counting exp(-eta loss).
        least = _least_of_mixtures(hedge)
        total = first = 0.0
        for k in range(MIXTURES):
            counts = np.exp(-hedge[ETA] * (hedge[MIXED + k] - least))
            total += counts
            first += k * counts
        first /= (MIXTURES - 1) * total
        hedge[LOG_1] = np.log(max(first, 1e-300))
        hedge[LOG_2] = np.log(max(1.0 - first, 1e-300))
        return
    if strategy != SELECTION:
        # Equation (3), all rounds at once.
        hedge[LOG_1] = hedge[ETA] * (hedge[LOSS_2] - hedge[LOSS_1])
        hedge[LOG_2] = 0.0
        return
    # Equation (8), of logarithms.
    v_1 = hedge[LOG_1] - hedge[ETA] * loss_1
    v_2 = hedge[LOG_2] - hedge[ETA] * loss_2
    top = max(v_1, v_2)
    total = top + np.log(np.exp(v_1 - top) + np.exp(v_2 - top))
    delta = hedge[DELTA]
    hedge[LOG_1] = np.log(delta / 2.0 + (1.0 - delta) * np.exp(v_1 - total))
    hedge[LOG_2] = np.log(delta / 2.0 + (1.0 - delta) * np.exp(v_2 - total))
    hedge[EPOCH_ROUNDS] += 1.0
    if horizon == 0.0 and hedge[EPOCH_ROUNDS] >= hedge[EPOCH]:  # the doubling trick
        bound = hedge_bound(hedge, strategy, horizon)
        begin_epoch(hedge, strategy, 2.0 * hedge[EPOCH])
        hedge[BOUND_BEFORE] = bound


@kernel
def hedge_losses(hedge, strategy, horizon, losses_1, losses_2, losses_12):
    """Take in rounds whose losses are known beforehand; where ``losses_12`` is NaN, the expected loss counts.

    A mixture of both loses what lies between.

    Returns
    -------
    float64 (2, rounds)
        After each round, the regret and its bound.
    """
    trace = np.empty((2, len(losses_1)))
    begin_hedge(hedge, strategy, horizon)
    for t in range(len(losses_1)):
        p = share(hedge)
        loss = losses_12[t] if losses_12[t] == losses_12[t] else p * losses_1[t] + (1.0 - p) * losses_2[t]
        for k in range(MIXTURES):
            part = k / (MIXTURES - 1)
            hedge[MIXED + k] += part * losses_1[t] + (1.0 - part) * losses_2[t]
        update_hedge(hedge, strategy, horizon, losses_1[t], losses_2[t], loss)
        trace[0, t] = regret(hedge, strategy)
        trace[1, t] = hedge_bound(hedge, strategy, horizon)
    return trace


@kernel(inline=False)
def regret(hedge, strategy):
    """Loss so far beyond the better model's.

    For a selection, beyond that of the best change from one to the other; for a grid of mixtures, of the best of them.
    """
    if strategy == MIXTURE:
        return hedge[LOSS_12] - _least_of_mixtures(hedge)
    best = min(hedge[LOSS_1], hedge[LOSS_2])
    if strategy == SELECTION:
        best = min(best, hedge[LOSS_2] + hedge[LEAD])
    return hedge[LOSS_12] - best


@kernel(inline=False)
def _draw(seed):
    """Turn the state into a number from 0 to 1, below 1 (splitmix64, public domain, by S. Vigna)."""
    z = seed[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) / 9007199254740992.0


# ---------------------------------------------------------------------------------------------- parts of a row


@kernel(inline=True)
def _safe(value):
    """A value within 1e100, and a number."""
    if abs(value) <= LARGEST:
        return value
    if value > 0.0:
        return LARGEST
    return -LARGEST if value < 0.0 else 0.0


@kernel(inline=True)
def _read(dense, data, indices, start, stop, used, mask, columns, values):
    """List a row's entries that are there, not 0, and of used features. Returns their number."""
    count = 0
    if dense:
        row = data[start:stop]
        for q in range(len(used)):
            j = used[q]
            value = row[j]
            columns[count] = j
            values[count] = value
            count += value == value and value != 0.0
        return count
    for e in range(start, stop):
        j = np.int64(indices[e])
        value = data[e]
        if j < len(mask) and mask[j] and value == value and value != 0.0:
            columns[count] = j
            values[count] = value
            count += 1
    return count


@kernel(inline=True)
def _looks_the_same(dense, data, start, stop, whole, pattern):
    """Whether a row shows the same columns as the last one."""
    row = data[start:stop]
    if dense:
        if len(row) != len(pattern):
            return False
        different = 0
        for j in range(len(row)):
            different += (row[j] == row[j]) != (pattern[j] > 0)
        return different == 0
    if not whole:
        return False
    gaps = 0
    for e in range(len(row)):
        gaps += row[e] != row[e]
    return gaps == 0


@kernel(inline=False)
def _see(dense, data, indices, start, stop, spaces, unit, present):
    """Note which units are there in a row."""
    present[:] = 0 if dense or spaces else 1
    for e in range(start, stop):
        j = e - start if dense else np.int64(indices[e])
        if j >= len(unit) or unit[j] < 0:
            continue
        value = data[e]
        if spaces:  # what holds nothing but zeros is not there
            if value == value and value != 0.0:
                present[unit[j]] = 1
        elif value != value:
            present[unit[j]] = 0
        elif dense:
            present[unit[j]] = 1


@kernel(inline=False)
def _loss(kind, score, target):
    """Loss of a score; the target is 1 or -1 for classes."""
    if kind == SQUARED:
        return (score - target) * (score - target)
    margin = target * score
    return (max(-margin, 0.0) + np.log(1.0 + np.exp(-abs(margin)))) * _BITS


@kernel(inline=True)
def _slope_and_loss(kind, score, target, wanted):
    """Derivative of the loss by the score, and the loss itself if that is wanted."""
    if kind == SQUARED:
        return 2.0 * (score - target), (score - target) * (score - target)
    margin = target * score
    small = np.exp(-abs(margin))
    loss = (max(-margin, 0.0) + np.log(1.0 + small)) * _BITS if wanted else 0.0
    return -target * (small if margin > 0.0 else 1.0) / ((1.0 + small) * _LN2), loss


@kernel(inline=False)
def _project(vector, mask, radius, norms, place, c):
    """Bring a vector back into the ball. Its squared norm has been kept up to date; if it is too large, sum it anew."""
    if norms[place, c] <= radius * radius:
        return
    total = 0.0
    for j in range(len(vector)):
        if mask[j]:
            total += vector[j] * vector[j]
    if total > radius * radius:
        factor = radius / np.sqrt(total)
        for j in range(len(vector)):
            if mask[j]:
                vector[j] *= factor
        total = radius * radius
    norms[place, c] = total


@kernel(inline=False)
def _put_votes(scores, m, active, votes):
    """Shares of the classes known: of two, by the one score; of more, of the one-vs-rest probabilities."""
    if active <= 1:
        votes[0] = 1.0 if active == 1 else 0.0
    elif active == 2:
        small = np.exp(-abs(scores[0]))
        large = 1.0 / (1.0 + small)
        small *= large
        votes[0] = small if scores[0] > 0.0 else large
        votes[1] = large if scores[0] > 0.0 else small
    else:
        top = -np.inf
        for c in range(active):
            score = scores[c] if c < m else 0.0
            votes[c] = min(score, 0.0) - np.log1p(np.exp(-abs(score)))  # log of the probability
            top = max(top, votes[c])
        total = 0.0
        for c in range(active):
            votes[c] = np.exp(votes[c] - top)
            total += votes[c]
        for c in range(active):
            votes[c] /= total


@kernel(inline=True)
def _product(start, vector, columns, values, count):
    """The start plus the product of a vector and the entries listed: four sums, of every fourth entry, in one."""
    first, second, third, fourth = start, 0.0, 0.0, 0.0
    whole = count - count % 4
    for e in range(0, whole, 4):
        first += vector[columns[e]] * values[e]
        second += vector[columns[e + 1]] * values[e + 1]
        third += vector[columns[e + 2]] * values[e + 2]
        fourth += vector[columns[e + 3]] * values[e + 3]
    for e in range(whole, count):
        first += vector[columns[e]] * values[e]
    return (first + second) + (third + fourth)


@kernel(inline=True)
def _inner(start, anchors, a):
    """The start plus the inner product of all coordinates, summed likewise."""
    first, second, third, fourth = start, 0.0, 0.0, 0.0
    whole = len(a) - len(a) % 4
    for k in range(0, whole, 4):
        first += anchors[k] * a[k]
        second += anchors[k + 1] * a[k + 1]
        third += anchors[k + 2] * a[k + 2]
        fourth += anchors[k + 3] * a[k + 3]
    for k in range(whole, len(a)):
        first += anchors[k] * a[k]
    return (first + second) + (third + fourth)


@kernel(inline=True)
def _recover(columns, values, count, recover, bias, a):
    """Put down the coordinates of what a row says of vanished columns.

    Four entries at a time, so that coordinates are fetched and put back less often; the order of sums is that of the
    entries.
    """
    r = len(a)
    for k in range(r):
        a[k] = bias[k]
    whole = count - count % 4
    for e in range(0, whole, 4):
        row_1, row_2 = recover[columns[e]], recover[columns[e + 1]]
        row_3, row_4 = recover[columns[e + 2]], recover[columns[e + 3]]
        value_1, value_2, value_3, value_4 = values[e], values[e + 1], values[e + 2], values[e + 3]
        for k in range(r):
            a[k] = (((a[k] + row_1[k] * value_1) + row_2[k] * value_2) + row_3[k] * value_3) + row_4[k] * value_4
    for e in range(whole, count):
        row = recover[columns[e]]
        value = values[e]
        for k in range(r):
            a[k] += row[k] * value
    for k in range(r):
        a[k] = min(max(a[k], -_LARGEST_MAPPED), _LARGEST_MAPPED)


@kernel(inline=True)
def _mapped_value(value):
    """A value as the mapping sees it: missing ones count 0, and none is too large."""
    return min(max(value, -_LARGEST_MAPPED), _LARGEST_MAPPED) if value == value else 0.0


@kernel(inline=False)
def _keep(dense, data, indices, start, stop, unit, present, buffer, numbers):
    """Put a row of the overlap into the buffer."""
    slot = int(numbers[KEPT]) % buffer.shape[1]
    for j in range(len(buffer)):
        buffer[j, slot] = np.nan if unit[j] >= 0 and present[unit[j]] == 0 else 0.0
    for e in range(start, stop):
        j = e - start if dense else np.int64(indices[e])
        if j < len(buffer) and data[e] == data[e] and data[e] != 0.0:
            buffer[j, slot] = _mapped_value(data[e])
    numbers[KEPT] += 1.0


@kernel(inline=False)
def _add_moments(dense, data, indices, start, stop, moments, numbers):
    """Add a row of the overlap to the sums of products; the last column is the constant."""
    n = len(moments) - 1
    for e in range(start, stop):
        j = e - start if dense else np.int64(indices[e])
        a = _mapped_value(data[e])
        if j >= n or a == 0.0:
            continue
        row = moments[j]
        for f in range(start, stop):
            b = _mapped_value(data[f])
            if b != 0.0:
                row[f - start if dense else np.int64(indices[f])] += a * b
        row[n] += a
        moments[n, j] += a
    moments[n, n] += 1.0
    numbers[KEPT] += 1.0


# ---------------------------------------------------------------------------------------------- rows


@kernel
def run(
    dense, data, indices, pointers, width, n_rows, y, w, first, progress, mode, options, scores_only, out,
    now, previous, intercepts, norms, anchors, start_anchors, recover, bias, unfold, buffer, moments, status, since,
    watched, in_previous, pattern, present, unit, in_now, in_both, numbers, hedge, seed,
):  # fmt: skip
    """Go through rows from number ``first`` on; returns the row that calls for a decision, or the number of rows.

    Parameters
    ----------
    dense, data, indices, pointers, width, n_rows
        The rows. ``width`` counts for dense ones only.
    y, w : float64 (n_rows,)
        Class codes, or numbers; weights. A row of weight 0 teaches nothing. Not looked at with TEST.
    first, progress : int
        Where to begin, and how far that row is: FRESH, SETTLED or ANSWERED.
    mode : int
        LEARN, TEST_THEN_LEARN or TEST. With TEST, nothing changes but ``present`` and the reason.
    options : float64 (OPTIONS_SIZE,)
    scores_only : bool
        Put down scores, not shares of classes.
    out : float64 (n_rows, k)
        For the answers.
    now, ..., seed
        The model's arrays.
    """
    strategy, kind = int(options[STRATEGY]), int(options[LOSS])
    selection = strategy == SELECTION
    hedged = strategy <= MIXTURE
    radius, horizon = options[RADIUS], options[HORIZON]
    spaces = options[SPACES] > 0.0
    constant = options[INTERCEPT] > 0.0
    m, n = now.shape
    r = min(len(bias), -(-int(numbers[RANK]) // BLOCK) * BLOCK)
    longest = width
    if not dense:
        longest = 1
        for i in range(n_rows):
            longest = max(longest, pointers[i + 1] - pointers[i])
    used = np.flatnonzero(in_now[:width]) if dense else np.empty(0, np.int64)
    survivors = not dense
    for j in used:
        survivors = survivors or in_both[j] > 0
    columns = np.empty(longest, np.uint64)  # without a sign, there is no need to see whether an index is below 0
    values = np.empty(longest)
    both_columns = np.empty(longest, np.uint64)
    both_values = np.empty(longest)
    a = np.zeros(r)
    by_now, by_previous, answer = np.zeros((3, m))
    numbers[REASON] = DONE
    for i in range(first, n_rows):
        if mode != TEST and w[i] <= 0.0 and mode == LEARN:
            continue
        learned = mode != TEST and w[i] > 0.0
        if dense:
            start, stop = i * width, (i + 1) * width
        else:
            start, stop = pointers[i], pointers[i + 1]
        stage = progress if i == first else FRESH

        # Which columns are there, and whether that calls for a decision.
        n_now = n_next = 0
        if numbers[QUIET] == 0.0 or not _looks_the_same(dense, data, start, stop, numbers[WHOLE] > 0.0, pattern):
            _see(dense, data, indices, start, stop, spaces, unit, present)
            strange = overdue = waiting = odd = False
            for k in range(len(status)):
                if present[k]:
                    if status[k] == NOW:
                        n_now += 1
                    elif status[k] == NEXT:
                        n_next += 1
                    else:
                        strange = True
                else:
                    odd = True
                    waiting = waiting or watched[k] > 0
                    if watched[k] and since[k] >= 0 and numbers[ROWS] - since[k] + 1.0 >= options[PATIENCE]:
                        overdue = True
            late = n_next > 0 and numbers[OVERLAP] >= options[MAX_OVERLAP]
            if stage == FRESH and (strange or overdue or late or (n_now == 0 and n_next > 0)):
                numbers[REASON] = COLUMNS
                return i
            if learned:
                for k in range(len(status)):
                    if present[k]:
                        since[k] = -1
                    elif since[k] < 0 and (status[k] == NOW or status[k] == NEXT):
                        since[k] = int(numbers[ROWS])
                    pattern[k] = present[k]
                numbers[QUIET] = 0.0 if spaces or waiting or numbers[AWAITING] > 0.0 else 1.0
                numbers[WHOLE] = 0.0 if odd else 1.0

        # What the models say.
        mapped = numbers[MAPPED] > 0.0 and strategy != PRESENT
        count = _read(dense, data, indices, start, stop, used, in_now, columns, values)
        for c in range(m):
            by_now[c] = _safe(_product(intercepts[1, c], now[c], columns, values, count))
            answer[c] = by_now[c]
        weight = 0.0
        if mapped:
            _recover(columns, values, count, recover, bias, a)
            survived = 0
            for e in range(count if survivors else 0):
                value = values[e]
                if in_both[columns[e]]:
                    both_columns[survived] = columns[e]
                    both_values[survived] = value
                    survived += 1
            for c in range(m):
                score = _product(intercepts[0, c], previous[c], both_columns, both_values, survived)
                by_previous[c] = _safe(_inner(score, anchors[c], a))
            weight = share(hedge) if hedged else 1.0
            if selection:
                weight = 1.0 if _draw(seed) < weight else 0.0
            for c in range(m):
                answer[c] = weight * by_previous[c] + (1.0 - weight) * by_now[c]
        if mode != LEARN and stage < ANSWERED:
            if scores_only or kind == SQUARED:
                for c in range(m):
                    out[i, c] = answer[c]
            else:
                _put_votes(answer, m, int(numbers[ACTIVE]), out[i])
        if not learned:
            continue
        if kind == LOGISTIC and y[i] >= numbers[ACTIVE]:
            numbers[REASON] = CLASS
            return i

        # The overlap.
        if numbers[AWAITING] > 0.0 and n_next > 0 and n_now > 0:
            numbers[OVERLAP] += 1.0
            if options[MOMENTS] == 0.0:
                if strategy != PRESENT:
                    _keep(dense, data, indices, start, stop, unit, present, buffer, numbers)
            else:
                whole = True
                for k in range(len(status)):
                    whole = whole and (present[k] == 1 or (status[k] != NOW and status[k] != NEXT))
                if whole:
                    _add_moments(dense, data, indices, start, stop, moments, numbers)

        # Both models learn.
        numbers[ROWS] += 1.0
        numbers[AGE] += 1.0
        size = w[i] / (options[STEP] * np.sqrt(numbers[AGE]))
        counted = mapped and hedged
        scale = w[i] / (m * (options[LOSS_SCALE] if options[LOSS_SCALE] > 0.0 else 1.0))
        loss_1 = loss_2 = loss_12 = 0.0
        length2 = both2 = 0.0
        if radius > 0.0:
            for e in range(count):
                length2 += values[e] * values[e]
                if in_both[columns[e]]:
                    both2 += values[e] * values[e]
        for c in range(m):
            target = y[i]
            if kind == LOGISTIC:
                target = 1.0 if y[i] == (1.0 if m == 1 else c) else -1.0
            slope, loss = _slope_and_loss(kind, by_now[c], target, counted)
            loss_2 += loss
            step = -size * slope
            step = min(max(step, -_LARGEST_STEP), _LARGEST_STEP)
            vector = now[c]
            if radius > 0.0:
                norms[1, c] += step * (2.0 * (by_now[c] - intercepts[1, c]) + step * length2)
            for e in range(count):
                vector[columns[e]] += step * values[e]
            if constant:
                intercepts[1, c] = _safe(intercepts[1, c] + step)
            if radius > 0.0:
                _project(vector, in_now, radius, norms, 1, c)
            if not mapped or strategy == RECOVERED_FIXED:
                continue
            slope, loss = _slope_and_loss(kind, by_previous[c], target, counted)
            loss_1 += loss
            if counted and not selection:
                loss_12 += _loss(kind, answer[c], target)
            if counted and strategy == MIXTURE:
                for k in range(MIXTURES):
                    part = k / (MIXTURES - 1)
                    score = part * by_previous[c] + (1.0 - part) * by_now[c]
                    hedge[MIXED + k] += scale * _loss(kind, score, target)
            step = -size * slope
            step = min(max(step, -_LARGEST_STEP), _LARGEST_STEP)
            if radius > 0.0:
                recovered2 = 0.0
                for k in range(r):
                    recovered2 += a[k] * a[k]
                norms[0, c] += step * (2.0 * (by_previous[c] - intercepts[0, c]) + step * (both2 + recovered2))
            vector = previous[c]
            for e in range(survived):
                vector[both_columns[e]] += step * both_values[e]
            for k in range(r):
                anchors[c, k] = _safe(anchors[c, k] + step * a[k])
            if constant:
                intercepts[0, c] = _safe(intercepts[0, c] + step)
            if radius > 0.0 and norms[0, c] > radius * radius:
                factor = radius / np.sqrt(norms[0, c])
                for j in range(n):
                    vector[j] *= factor
                for k in range(r):
                    start_anchors[c, k] *= factor
                    anchors[c, k] *= factor
                norms[0, c] = radius * radius
        if counted:
            if selection:  # what is drawn loses this much, on average
                p = share(hedge)
                loss_12 = p * loss_1 + (1.0 - p) * loss_2
                seed[0] += np.uint64(0x9E3779B97F4A7C15)
            update_hedge(hedge, strategy, horizon, scale * loss_1, scale * loss_2, scale * loss_12)
    return n_rows


# ---------------------------------------------------------------------------------------------- the mapping


@kernel
def products(array, features, used, constant, out):
    """Sums of products of the buffer's rows over some features: ``out[i, j]`` for rows i and j that are used."""
    r = array.shape[1]
    for j in features:
        row = array[j]
        for i in range(r):
            if used[i] and row[i] == row[i] and row[i] != 0.0:
                for k in range(i + 1):
                    if used[k] and row[k] == row[k]:
                        out[i, k] += row[i] * row[k]
    for i in range(r):
        for k in range(i + 1):
            if used[i] and used[k]:
                out[i, k] += constant
                out[k, i] = out[i, k]


@kernel
def multiplied(array, features, matrix, out):
    """Rows of some features times a matrix, missing values counting 0, into the same rows of ``out``."""
    r, s = matrix.shape
    for j in features:
        for i in range(r):
            value = array[j, i]
            if value == value and value != 0.0:
                for k in range(s):
                    out[j, k] += value * matrix[i, k]


@kernel
def add_rows(mixture, array, features, vectors):
    """Add to each vector its mixture of the rows of the overlap, over some features."""
    for c in range(len(vectors)):
        for j in features:
            total = 0.0
            for k in range(array.shape[1]):
                value = array[j, k]
                if value == value:
                    total += mixture[c, k] * value
            vectors[c, j] += total
