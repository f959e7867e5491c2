"""Linear models learned row by row: online gradient descent and passive-aggressive steps, on dense or sparse rows.

A model is a few arrays (:class:`Model`). Its scores are ``scale * weights @ x + intercepts``: the common factor
``scale`` makes shrinking all weights, for regularisation or a projection, one multiplication, so that a row costs
as much as it has entries. There is one vector of weights for regressions and for up to two classes (its score
speaks for class 1), and one per class beyond that.

Rows come in one of two forms, and give the same results to the last bit in either:

- dense: ``data`` holds the rows one after another, each of ``width`` values; ``indices`` and ``pointers`` are not
  looked at;
- sparse: a canonical CSR matrix of ``data``, ``indices`` and ``pointers``; what is not stored is 0.

NaN is missing. Sums over columns are taken in ``LANES`` partial sums, column j in the one of number j % LANES: that
lets the compiler use vector instructions on dense rows, and leaving out zeros changes no sum, so sparse rows agree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anabranch.kernels import kernel
from anabranch.kernels.checks import LARGEST

LANES = 8

# Losses; those before SQUARED are for classes, the others for numbers.
LOGISTIC, HINGE, SQUARED, ABSOLUTE, HUBER = range(5)
# How far a step goes: learning_rate, learning_rate / sqrt(t), learning_rate / t, AdaGrad's; and the three of
# passive-aggressive learning, which are steps on the hinge loss.
CONSTANT, SQRT, INVERSE, ADAGRAD, PA, PA_1, PA_2 = range(7)
# How columns are scaled: not, by mean and standard deviation, by the largest size so far.
UNSCALED, STANDARD, MAX_ABS = range(3)
# When a row's scores are put down: never, just before it is learned, just after.
SILENT, BEFORE, AFTER = range(3)

# Places in `options`.
LOSS, RULE, LEARNING_RATE, L2, RADIUS, INTERCEPT, HUBER_DELTA, AGGRESSIVENESS, SCALING = range(9)
OPTIONS_SIZE = 9

# Places in `numbers`.
ROWS, SCALE, SQUARED_NORM, SINCE, ACTIVE = range(5)
NUMBERS_SIZE = 5

# Rows of `scales`; MAX_ABS has the first two only.
MEAN, INVERSE_DEVIATION, COUNT, M2 = range(4)

# Rows after which the norm of the weights is summed anew.
NORM_PERIOD = 4096
# A step moves no weight by more than this times the value in the row: whatever the data, nothing overflows.
_LARGEST_STEP = 1e40
# Below this, the factor is multiplied into the weights.
_SMALLEST_SCALE = 1e-30
# Beyond this, the sum of squared weights is taken anew, of weights made small before.
_LARGEST_NORM = 1e300
# Columns that vary less are constant.
_SMALLEST_VARIANCE = 1e-200
_ADAGRAD_EPSILON = 1e-8


class Model(NamedTuple):
    """The arrays that make up a model of m vectors over n columns; n is a multiple of LANES."""

    weights: NDArray[np.float64]  # (m, n), to be multiplied by the scale
    squares: NDArray[np.float64]  # (m, n), sums of squared gradients; (0, 0) without AdaGrad
    intercepts: NDArray[np.float64]  # (2, m): the intercepts and their sums of squared gradients
    scales: NDArray[np.float64]  # (4, n), (2, n) or (0, 0), by the kind of scaling
    numbers: NDArray[np.float64]  # rows learned, scale, squared norm of the weights, rows since it was summed, classes


# ---------------------------------------------------------------------------------------------- rows


@kernel(inline=True)
def _observe(scales, kind, j, x, w):
    """Take a value into what is known of its column."""
    if kind == MAX_ABS:
        size = abs(x) * scales[INVERSE_DEVIATION, j]
        if size > 1.0 or (x != 0.0 and scales[INVERSE_DEVIATION, j] == 0.0 and abs(x) > 1.0 / LARGEST):
            scales[INVERSE_DEVIATION, j] = 1.0 / abs(x)
        return
    known = x == x
    w = w if known else 0.0
    mean = scales[MEAN, j]
    x = x if known else mean
    count = scales[COUNT, j] + w
    delta = x - mean
    mean += delta * (w / count if count > 0.0 else 0.0)
    m2 = scales[M2, j] + w * delta * (x - mean)
    scales[COUNT, j] = count
    scales[MEAN, j] = mean
    scales[M2, j] = m2
    variance = m2 / count if count > 0.0 else 0.0
    scales[INVERSE_DEVIATION, j] = 1.0 / np.sqrt(variance) if variance > _SMALLEST_VARIANCE else 0.0


@kernel(inline=True)
def _scaled(scales, kind, j, x):
    """A value as the model sees it; 0 if it is missing."""
    if kind == STANDARD:
        x = (x - scales[MEAN, j]) * scales[INVERSE_DEVIATION, j]
    elif kind == MAX_ABS:
        x = x * scales[INVERSE_DEVIATION, j]
    return x if x == x else 0.0


# Below, loops run over slices: numba looks after an index that might be negative at each step, which costs more than
# the step, and in these it sees that none is.


@kernel(inline=False)
def _observe_row(dense, data, indices, start, stop, n_scaled, scales, kind, w):
    values = data[start:stop]
    if dense:
        if kind == STANDARD:
            for j in range(len(values)):
                _observe(scales, STANDARD, j, values[j], w)
        else:
            for j in range(len(values)):
                _observe(scales, MAX_ABS, j, values[j], w)
    else:
        columns = indices[start:stop]
        for e in range(len(values)):
            j = np.uint64(columns[e])
            if j < n_scaled:
                _observe(scales, kind, j, values[e], w)


@kernel(inline=True)
def _read_row(dense, data, indices, start, stop, n_scaled, scales, kind, z):
    """Put a row's values, as the model sees them, into z."""
    values = data[start:stop]
    if kind == UNSCALED:
        for e in range(len(values)):
            z[e] = _scaled(scales, UNSCALED, 0, values[e])
    elif not dense:
        columns = indices[start:stop]
        for e in range(len(values)):
            j = np.uint64(columns[e])
            z[e] = _scaled(scales, kind if j < n_scaled else UNSCALED, j, values[e])
    elif kind == STANDARD:
        for j in range(len(values)):
            z[j] = _scaled(scales, STANDARD, j, values[j])
    else:
        for j in range(len(values)):
            z[j] = _scaled(scales, MAX_ABS, j, values[j])


@kernel(inline=True)
def _total(s0, s1, s2, s3, s4, s5, s6, s7):
    """Partial sums into one, always in this order."""
    return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))


@kernel(inline=True)
def dense_dot(weights, c, z, n):
    """Sum of products of a vector of weights and a row whose number of columns n is a multiple of LANES."""
    vector = weights[c]
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    for block in range(n // LANES):
        j = block * LANES
        s0 += vector[j] * z[j]
        s1 += vector[j + 1] * z[j + 1]
        s2 += vector[j + 2] * z[j + 2]
        s3 += vector[j + 3] * z[j + 3]
        s4 += vector[j + 4] * z[j + 4]
        s5 += vector[j + 5] * z[j + 5]
        s6 += vector[j + 6] * z[j + 6]
        s7 += vector[j + 7] * z[j + 7]
    return _total(s0, s1, s2, s3, s4, s5, s6, s7)


@kernel(inline=False)
def sparse_dot(weights, c, indices, start, stop, z, lanes):
    """Sum of products of a vector of weights and a sparse row; columns the weights do not have count nothing."""
    for lane in range(LANES):
        lanes[lane] = 0.0
    vector = weights[c]
    columns = indices[start:stop]
    for e in range(len(columns)):
        j = np.uint64(columns[e])
        if j < len(vector):
            lanes[j & np.uint64(LANES - 1)] += vector[j] * z[e]
    return _total(lanes[0], lanes[1], lanes[2], lanes[3], lanes[4], lanes[5], lanes[6], lanes[7])


@kernel(inline=False)
def _length2(dense, indices, start, stop, z, n, lanes):
    """Squared length of a row; z has the shape (1, columns) here."""
    if dense:
        return dense_dot(z, 0, z[0], n)
    for lane in range(LANES):
        lanes[lane] = 0.0
    columns = indices[start:stop]
    for e in range(len(columns)):
        lanes[np.uint64(columns[e]) & np.uint64(LANES - 1)] += z[0, e] * z[0, e]
    return _total(lanes[0], lanes[1], lanes[2], lanes[3], lanes[4], lanes[5], lanes[6], lanes[7])


@kernel(inline=True)
def _safe(score):
    """A score within 1e100, and a number."""
    if abs(score) <= LARGEST:
        return score
    if score > 0.0:
        return LARGEST
    return -LARGEST if score < 0.0 else 0.0


@kernel(inline=True)
def _score(dense, indices, start, stop, z, n, lanes, m, weights, intercepts, scale, products, scores):
    """The m scores of a row, and the products of weights and row that they are made of."""
    for c in range(m):
        if dense:
            products[c] = dense_dot(weights, c, z, n)
        else:
            products[c] = sparse_dot(weights, c, indices, start, stop, z, lanes)
        scores[c] = _safe(scale * products[c] + intercepts[0, c])


@kernel(inline=False)
def _look(
    dense, data, indices, start, stop, n_scaled, scales, scaling, z, n, lanes, m, weights, intercepts, scale, products,
    scores,
):  # fmt: skip
    """Read a row and score it, where that need not melt into the caller."""
    _read_row(dense, data, indices, start, stop, n_scaled, scales, scaling, z)
    _score(dense, indices, start, stop, z, n, lanes, m, weights, intercepts, scale, products, scores)


# ---------------------------------------------------------------------------------------------- losses


@kernel(inline=True)
def logistic_slope(score, sign):
    """Derivative of log(1 + exp(-sign * score)) by the score, for a sign of 1 or -1."""
    return -sign / (1.0 + np.exp(sign * score))


@kernel(inline=False)
def _slopes(loss, scores, m, active, target, delta, slopes):
    """Derivatives of the loss by the m scores; returns the margin by which the hinge loss judges."""
    if loss >= SQUARED:
        error = scores[0] - target
        if loss == ABSOLUTE:
            error = 1.0 if error > 0.0 else -1.0 if error < 0.0 else 0.0
        elif loss == HUBER:
            error = min(max(error, -delta), delta)
        slopes[0] = error
        return 0.0
    if active <= 2:
        sign = 1.0 if target == 1.0 else -1.0
        margin = sign * scores[0]
        if loss == LOGISTIC:
            slopes[0] = logistic_slope(scores[0], sign)
        else:
            slopes[0] = -sign if margin < 1.0 else 0.0
        return margin
    right = int(target)
    rival = 0 if right != 0 else 1
    for c in range(m):
        if c != right and scores[c] > scores[rival]:
            rival = c
    margin = scores[right] - scores[rival]
    if loss == LOGISTIC:
        top = max(scores[right], scores[rival])
        total = 0.0
        for c in range(m):
            slopes[c] = np.exp(scores[c] - top)
            total += slopes[c]
        for c in range(m):
            slopes[c] /= total
        slopes[right] -= 1.0
    else:
        for c in range(m):
            slopes[c] = 0.0
        if margin < 1.0:
            slopes[right] = -1.0
            slopes[rival] = 1.0
    return margin


# ---------------------------------------------------------------------------------------------- steps


@kernel(inline=False)
def _multiply_in(weights, numbers):
    """Multiply the scale into the weights."""
    if numbers[SCALE] != 1.0:
        for c in range(weights.shape[0]):
            for j in range(weights.shape[1]):
                weights[c, j] = weights[c, j] * numbers[SCALE] + 0.0  # never -0
        numbers[SQUARED_NORM] *= numbers[SCALE] * numbers[SCALE]
        numbers[SCALE] = 1.0


@kernel(inline=True)
def _add(dense, indices, start, stop, z, n, weights, c, step):
    """Add a multiple of a row to a vector of weights."""
    vector = weights[c]
    if dense:
        for j in range(n):
            vector[j] += step * z[j]
    else:
        columns = indices[start:stop]
        for e in range(len(columns)):
            vector[np.uint64(columns[e])] += step * z[e]


@kernel(inline=False)
def _add_adagrad(dense, indices, start, stop, z, n, weights, squares, c, slope, rate):
    """AdaGrad's step: each weight's own rate falls with the squares of its gradients so far."""
    vector, sums = weights[c], squares[c]
    if dense:
        for j in range(n):
            gradient = slope * z[j]
            sums[j] += gradient * gradient
            vector[j] -= rate * gradient / (np.sqrt(sums[j]) + _ADAGRAD_EPSILON)
    else:
        columns = indices[start:stop]
        for e in range(len(columns)):
            j = np.uint64(columns[e])
            gradient = slope * z[e]
            sums[j] += gradient * gradient
            vector[j] -= rate * gradient / (np.sqrt(sums[j]) + _ADAGRAD_EPSILON)


@kernel(inline=False)
def _sum_squares(weights):
    total = 0.0
    for c in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            total += weights[c, j] * weights[c, j]
    return total


@kernel(inline=False)
def _project(weights, numbers, radius):
    """Bring the weights back into the ball, by the scale.

    Their squared norm is kept up to date from step to step, and summed anew once in a while, so that errors of
    rounding stay small.
    """
    numbers[SINCE] += 1.0
    if not numbers[SQUARED_NORM] <= _LARGEST_NORM:
        largest = 0.0
        for c in range(weights.shape[0]):
            for j in range(weights.shape[1]):
                largest = max(largest, abs(weights[c, j]))
        for c in range(weights.shape[0]):
            for j in range(weights.shape[1]):
                weights[c, j] = weights[c, j] / largest + 0.0
        numbers[SQUARED_NORM] = _sum_squares(weights)
        numbers[SCALE] *= largest
    elif numbers[SINCE] >= NORM_PERIOD:
        numbers[SQUARED_NORM] = _sum_squares(weights)
        numbers[SINCE] = 0.0
    norm = numbers[SCALE] * np.sqrt(numbers[SQUARED_NORM])
    if norm > radius:
        numbers[SCALE] *= radius / norm


@kernel(inline=False)
def _take_in_class(label, weights, squares, intercepts, numbers):
    """Know a class from now on. With the third, the vector for two becomes two, of half its weights each."""
    if label < numbers[ACTIVE]:
        return
    if numbers[ACTIVE] <= 2 and label >= 2:
        for j in range(weights.shape[1]):
            weights[1, j] = weights[0, j] / 2.0
            weights[0, j] = 0.0 - weights[1, j]  # nothing is ever -0, which dense rows would make 0 and sparse ones not
            if squares.size:
                squares[1, j] = squares[0, j]
        intercepts[0, 1] = intercepts[0, 0] / 2.0
        intercepts[0, 0] = 0.0 - intercepts[0, 1]
        intercepts[1, 1] = intercepts[1, 0]
        numbers[SQUARED_NORM] /= 2.0
    numbers[ACTIVE] = label + 1


# ---------------------------------------------------------------------------------------------- chunks


@kernel
def learn(
    dense, data, indices, pointers, width, y, w, options, n_announced, n_scaled, mode, out,
    weights, squares, intercepts, scales, numbers,
):  # fmt: skip
    """Learn a chunk of rows in order, and put down their scores.

    Parameters
    ----------
    dense, data, indices, pointers, width
        The rows, as at the top of this file; ``width`` counts for dense rows only.
    y : float64 (n,)
        Class codes 0, 1, ..., or numbers, by the loss. The model has a vector for each class beyond two.
    w : float64 (n,)
        Weights. A row of weight 0 teaches nothing.
    options : float64 (OPTIONS_SIZE,)
    n_announced : int
        Classes known beforehand.
    n_scaled : int
        Columns from this one on are never scaled.
    mode : int
        SILENT, BEFORE or AFTER.
    out : float64 (n, m)
        For the scores: a single one while no more than two classes are known.
    weights, squares, intercepts, scales, numbers
        The model's arrays.
    """
    loss, rule, scaling = int(options[LOSS]), int(options[RULE]), int(options[SCALING])
    rate, l2, radius, aggressiveness = options[LEARNING_RATE], options[L2], options[RADIUS], options[AGGRESSIVENESS]
    n_rows = y.size
    n_columns = weights.shape[1]
    classes = loss < SQUARED
    longest = n_columns
    if not dense:
        longest = 1
        for i in range(n_rows):
            longest = max(longest, pointers[i + 1] - pointers[i])
    z2 = np.zeros((1, longest))
    z = z2[0]
    lanes = np.zeros(LANES)
    products = np.zeros(len(weights))
    scores = np.zeros(len(weights))
    steps = np.zeros(len(weights))
    if n_announced > 0:
        _take_in_class(n_announced - 1, weights, squares, intercepts, numbers)
    n = (min(width, n_columns) + LANES - 1) // LANES * LANES
    for i in range(n_rows):
        if dense:
            start, stop = i * width, i * width + min(width, n_columns)
        else:
            start, stop = pointers[i], pointers[i + 1]
        m = 1 if numbers[ACTIVE] <= 2 else int(numbers[ACTIVE])
        taught = w[i] > 0.0
        # Up to two looks at the row: as the model stands before it, and, if scaling takes the row in first so that no
        # value lies far out, or its class is new, once more. Without either, one serves both.
        first = 0 if mode == BEFORE or (taught and scaling == UNSCALED) else 1
        for look in range(first, 2 if taught else 1):
            if look == 1:
                if classes and y[i] >= numbers[ACTIVE]:
                    _take_in_class(int(y[i]), weights, squares, intercepts, numbers)
                    m = 1 if numbers[ACTIVE] <= 2 else int(numbers[ACTIVE])
                elif scaling == UNSCALED:
                    break
                if scaling != UNSCALED:
                    _observe_row(dense, data, indices, start, stop, n_scaled, scales, scaling, w[i])
            _read_row(dense, data, indices, start, stop, n_scaled, scales, scaling, z)
            _score(
                dense, indices, start, stop, z, n, lanes, m, weights, intercepts, numbers[SCALE], products, scores
            )  # fmt: skip
            if look == 0 and mode == BEFORE:
                for c in range(m):
                    out[i, c] = scores[c]
        if taught:
            numbers[ROWS] += 1.0
            margin = _slopes(loss, scores, m, numbers[ACTIVE], y[i], options[HUBER_DELTA], steps)
            # From slopes to steps.
            if rule >= PA:
                length2 = _length2(dense, indices, start, stop, z2, n, lanes) + options[INTERCEPT]
                length2 *= 1.0 if m == 1 else 2.0
                size = max(1.0 - margin, 0.0)
                if rule == PA_2:
                    size /= length2 + 0.5 / (aggressiveness * w[i])
                else:
                    size = size / length2 if length2 > 0.0 else 0.0
                    if rule == PA_1:
                        size = min(size, aggressiveness * w[i])
            elif rule == ADAGRAD:
                size = w[i]
            else:
                eta = rate
                if rule == SQRT:
                    eta /= np.sqrt(numbers[ROWS])
                elif rule == INVERSE:
                    eta /= numbers[ROWS]
                size = eta * w[i]
            idle = True
            for c in range(m):
                steps[c] = min(max(-size * steps[c], -_LARGEST_STEP), _LARGEST_STEP)
                idle = idle and steps[c] == 0.0
            if l2 > 0.0:
                numbers[SCALE] *= max(0.0, 1.0 - (rate if rule == ADAGRAD else eta) * l2)
            if numbers[SCALE] < _SMALLEST_SCALE:
                for c in range(m):
                    products[c] *= numbers[SCALE]
                _multiply_in(weights, numbers)
            if not idle:
                scale = numbers[SCALE]
                if rule == ADAGRAD:
                    for c in range(m):
                        if steps[c] != 0.0:
                            _add_adagrad(
                                dense, indices, start, stop, z, n, weights, squares, c, -steps[c], rate / scale
                            )
                            if options[INTERCEPT] > 0.0:
                                intercepts[1, c] += steps[c] * steps[c]
                                intercepts[0, c] += rate * steps[c] / (np.sqrt(intercepts[1, c]) + _ADAGRAD_EPSILON)
                else:
                    if radius > 0.0:
                        length2 = _length2(dense, indices, start, stop, z2, n, lanes)
                    for c in range(m):
                        if steps[c] != 0.0:
                            step = steps[c] / scale
                            _add(dense, indices, start, stop, z, n, weights, c, step)
                            if radius > 0.0:
                                numbers[SQUARED_NORM] += step * (2.0 * products[c] + step * length2)
                            if options[INTERCEPT] > 0.0:
                                intercepts[0, c] += steps[c]
            if radius > 0.0:
                _project(weights, numbers, radius)
        if mode == AFTER:
            _look(
                dense, data, indices, start, stop, n_scaled, scales, scaling, z, n, lanes, m, weights, intercepts,
                numbers[SCALE], products, scores,
            )  # fmt: skip
            for c in range(m):
                out[i, c] = scores[c]


@kernel
def scores(
    dense, data, indices, pointers, width, n_scaled, scaling, out, weights, intercepts, scales, numbers
):  # fmt: skip
    """Put down the scores of rows; columns that the model does not have count nothing."""
    n_columns = weights.shape[1]
    longest = n_columns
    if not dense:
        longest = 1
        for i in range(len(out)):
            longest = max(longest, pointers[i + 1] - pointers[i])
    z = np.zeros(longest)
    lanes = np.zeros(LANES)
    products = np.zeros(len(weights))
    row = np.zeros(len(weights))
    n = (min(width, n_columns) + LANES - 1) // LANES * LANES
    for i in range(len(out)):
        if dense:
            start, stop = i * width, i * width + min(width, n_columns)
        else:
            start, stop = pointers[i], pointers[i + 1]
        _read_row(dense, data, indices, start, stop, n_scaled, scales, scaling, z)
        m = out.shape[1]
        _score(dense, indices, start, stop, z, n, lanes, m, weights, intercepts, numbers[SCALE], products, row)
        for c in range(m):
            out[i, c] = row[c]


@kernel
def class_votes(scores, active, y, w, mode, votes):
    """Turn scores into shares of the classes known at each row.

    Parameters
    ----------
    scores : float64 (n, m)
        As `learn` puts them down.
    active : int
        Classes known before the first row.
    y, w : float64 (n,)
        The rows' classes and weights: a row of weight above 0 makes its class known. Empty if nothing was learned.
    mode : int
        BEFORE or AFTER, as for `learn`.
    votes : float64 (n, k)
        Zeros, to be filled.
    """
    for i in range(len(scores)):
        if mode == AFTER and w[i] > 0.0:
            active = max(active, int(y[i]) + 1)
        if active == 1:
            votes[i, 0] = 1.0
        elif active == 2:
            score = scores[i, 0]
            small = np.exp(-abs(score))
            large = 1.0 / (1.0 + small)
            small *= large
            votes[i, 0] = small if score > 0.0 else large
            votes[i, 1] = large if score > 0.0 else small
        elif active > 2:
            top = scores[i, 0]
            for c in range(1, active):
                top = max(top, scores[i, c])
            total = 0.0
            for c in range(active):
                votes[i, c] = np.exp(scores[i, c] - top)
                total += votes[i, c]
            for c in range(active):
                votes[i, c] /= total
        if mode == BEFORE and y.size > 0 and w[i] > 0.0:
            active = max(active, int(y[i]) + 1)
