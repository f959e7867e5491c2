"""Linear learners for rows that bring whatever features they have: OLSF, OLVF, OCDS and OPID.

Features are numbered in the order in which rows brought them, so that at each row those known are the first so many,
and what comes later changes nothing of what was. NaN is an absent value, anything else a present one.

All four share the way of a row (:func:`learn`): read it, score it, take in its class, teach it to each binary learner.
Up to two classes share one binary learner (its score speaks for class 1); beyond that each class has its own, one
against the rest. What differs from learner to learner is how a row is scored (:func:`_score`) and taught
(``_teach_...``). A learner's arrays are those of :class:`Model`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from anabranch.kernels import kernel
from anabranch.kernels.checks import LARGEST
from anabranch.kernels.linear import AFTER, BEFORE, SILENT, UNSCALED, _observe, _safe, _scaled, logistic_slope

__all__ = ["AFTER", "BEFORE", "SILENT", "Model", "learn", "scores"]

OLSF, OLVF, OCDS, OPID = range(4)

# Places in `options`. PA, PA_1 and PA_2 are variants of OLSF's step.
METHOD, SCALING, SHARE, RADIUS, VARIANT, C, C_SPACE = range(7)
RATE, ALPHA, BETA_1, BETA_2, PERIOD = range(7, 12)
RIDGE, INHERIT, PATIENCE = range(12, 15)
OPTIONS_SIZE = 15
PA, PA_1, PA_2 = range(3)

# Places in a binary learner's `numbers`: OCDS's rows so far, the share p of what was observed, both losses since p was
# last set, and rows since then.
ROWS, OBSERVED_SHARE, OBSERVED_LOSS, REBUILT_LOSS, SINCE = range(5)
NUMBERS_SIZE = 5

# Rows of `columns`, OPID's: sums of inputs, the penalty of each weight, whether the feature takes part, and how many
# rows it has been missing for.
TOTAL, PENALTY, TAKES_PART, MISSING = range(4)

# Values and row weights count as no larger than this, so that no product of a few of them overflows.
_LARGEST_VALUE = 1e50
_LARGEST_STEP = 1e200
_LN2 = 0.6931471805599453


class Model(NamedTuple):
    """The arrays that make up k binary learners over d features."""

    weights: NDArray[np.float64]  # (k, d)
    more: NDArray[np.float64]  # (k, d): OLVF's weights of presence; OPID's sums of input times target
    start: NDArray[np.float64]  # (k, d): OPID's start model
    graph: NDArray[np.float64]  # (k, g, g): OCDS's graphs; (1, d, d): OPID's factor R of the inputs' second moments
    columns: NDArray[np.float64]  # (4, d): what OPID knows of each feature
    scales: NDArray[np.float64]  # (4, d), (2, d) or (0, d), by the kind of scaling, as linear models have it
    numbers: NDArray[np.float64]  # (k, NUMBERS_SIZE)
    active: NDArray[np.float64]  # (1,): classes known


# ---------------------------------------------------------------------------------------------- rows


@kernel(inline=True)
def _within(value, limit):
    return min(max(value, -limit), limit)


@kernel(inline=False)
def _read(Z, i, d, scaled, scales, scaling, x, here):
    """Put row i, as the learners see it, into x (0 where absent), and what is there into ``here``."""
    values = Z[i]
    for j in range(d):
        value = values[j]
        here[j] = value == value
        if scaled[j]:
            value = _scaled(scales, scaling, j, value)
        x[j] = _within(value, _LARGEST_VALUE) if here[j] else 0.0


@kernel(inline=False)
def _dot(a, b, d):
    total = 0.0
    for j in range(d):
        total += a[j] * b[j]
    return total


@kernel(inline=False)
def _rebuild(x, here, d, graph, psi):
    """The row as the graph rebuilds it from what is there: psi = G'x over the number of features there.

    Features beyond the graph's stand for themselves. Returns that number.
    """
    g = min(len(graph), d)
    there = 0
    for j in range(g):
        psi[j] = 0.0
        there += here[j]
    for i in range(g):
        if here[i]:
            edges = graph[i]
            for j in range(g):
                psi[j] += edges[j] * x[i]
    for j in range(g):
        psi[j] = _within(psi[j] / there, LARGEST) if there > 0 else 0.0
    for j in range(g, d):
        psi[j] = x[j]
    return there


@kernel(inline=False)
def _halves(x, here, d, w, psi):
    """OCDS's two scores: of what is there, and of what the graph rebuilds of the rest."""
    observed = rebuilt = 0.0
    for j in range(d):
        if here[j]:
            observed += w[j] * x[j]
        else:
            rebuilt += w[j] * psi[j]
    return _safe(observed), _safe(rebuilt)


@kernel(inline=False)
def _score(method, x, here, d, weights, graph, numbers, c, psi):
    if method != OCDS:
        return _safe(_dot(weights[c], x, d))
    _rebuild(x, here, d, graph[c], psi)
    observed, rebuilt = _halves(x, here, d, weights[c], psi)
    p = numbers[c, OBSERVED_SHARE]
    return _safe(p * observed + (1.0 - p) * rebuilt)


@kernel
def _truncate(w, d, share, sizes):
    """Keep the largest ``share`` of d weights, at least one; the first among equals."""
    kept = max(1, int(np.floor(share * d)))
    others = 0
    for j in range(d):
        sizes[j] = abs(w[j])
        others += w[j] != 0.0
    if others <= kept:
        return
    ordered = np.sort(sizes[:d])
    least = ordered[d - kept]
    room = kept
    for j in range(d):
        room -= sizes[j] > least
    for j in range(d):
        if sizes[j] < least:
            w[j] = 0.0
        elif sizes[j] == least:
            if room <= 0:
                w[j] = 0.0
            room -= 1


# ---------------------------------------------------------------------------------------------- one row, one learner


@kernel(inline=False)
def _teach_olsf(x, d, sign, weight, options, w):
    loss = max(0.0, 1.0 - sign * _safe(_dot(w, x, d)))
    length2 = _dot(x, x, d)
    if loss == 0.0 or length2 == 0.0:
        return
    if options[VARIANT] == PA_2:
        tau = loss / (length2 + 0.5 / (options[C] * weight))
    else:
        tau = loss / length2
        if options[VARIANT] == PA_1:
            tau = min(tau, options[C] * weight)
    tau = min(tau, _LARGEST_STEP)
    # Known features step from where they are, new ones from 0.
    norm = 0.0
    for j in range(d):
        w[j] = _within(w[j] + tau * sign * x[j], LARGEST)
        norm += abs(w[j])
    if norm > options[RADIUS]:
        for j in range(d):
            w[j] *= options[RADIUS] / norm


@kernel(inline=False)
def _teach_olvf(x, here, d, known, sign, weight, options, w, space):
    score = _safe(_dot(w, x, d))
    # How sure the classifier of feature spaces is of the model's own space, and of the row's.
    of_model = of_row = 0.0
    there = 0
    for j in range(d):
        if j < known:
            of_model += space[j]
        if here[j]:
            of_row += space[j]
            there += 1
    confidence_model = -logistic_slope(-of_model, 1.0)
    confidence_row = -logistic_slope(-of_row, 1.0)
    # It learns whether rows of this space are put right: a passive-aggressive step on the logistic loss.
    right = 1.0 if sign * score > 0.0 else -1.0
    margin = right * of_row
    loss = np.log1p(np.exp(-margin)) if margin > -30.0 else -margin
    slope = -logistic_slope(margin, 1.0)
    length2 = slope * slope * there
    tau = options[C_SPACE] * weight
    if length2 > 0.0:
        tau = min(tau, loss / length2)
    for j in range(d):
        if here[j]:
            space[j] = _within(space[j] + tau * right * slope, LARGEST)
    # The instance classifier: each part of the step is scaled by the confidence in the projection it rests on.
    loss = max(0.0, 1.0 - sign * score)
    length2 = _dot(x, x, d)
    if length2 > 0.0:
        tau = min(options[C] * weight, loss / length2)
        for j in range(d):
            confidence = confidence_model if j < known else confidence_row
            w[j] = _within(w[j] + confidence * tau * sign * x[j], LARGEST)
    norm = 0.0
    for j in range(d):
        norm += abs(space[j] * w[j])
    if norm > options[RADIUS]:
        for j in range(d):
            w[j] *= options[RADIUS] / norm


@kernel(inline=False)
def _base2_loss(margin):
    """Logistic loss to the base 2."""
    return (np.log1p(np.exp(-margin)) if margin > -30.0 else -margin) / _LN2


@kernel(inline=True)
def _step(tau, curvature):
    return 1.0 / curvature if tau * curvature > 1.0 else tau


@kernel(inline=False)
def _teach_ocds(x, here, d, sign, weight, options, w, graph, numbers, psi, step):
    g = min(len(graph), d)
    there = _rebuild(x, here, d, graph, psi)
    observed, rebuilt = _halves(x, here, d, w, psi)
    numbers[OBSERVED_LOSS] += min(_base2_loss(sign * observed), LARGEST)
    numbers[REBUILT_LOSS] += min(_base2_loss(sign * rebuilt), LARGEST)

    # Gradient by the weights: squared loss on the rebuilt row, L1, and the graph, which draws related weights together.
    error = _safe(sign - _dot(w, psi, d))
    largest = 0.0
    for j in range(d):
        step[j] = -2.0 * error * psi[j] + options[BETA_1] * np.sign(w[j])
    if options[BETA_2] > 0.0:
        for i in range(g):
            pull = degree = 0.0
            for j in range(g):
                edge = abs(graph[i, j]) + abs(graph[j, i])
                pull += edge * (w[i] - w[j])
                degree += edge
            step[i] += options[BETA_2] * _within(pull, LARGEST)
            largest = max(largest, degree)
    length2 = 0.0
    for j in range(g):
        length2 += x[j] * x[j]
    shrunk = length2 / there / there if there > 0 else 0.0
    numbers[ROWS] += 1.0
    tau = options[RATE] * weight / np.sqrt(numbers[ROWS])
    # No step goes further than where the row's own loss, by the weights or by the graph, has its minimum.
    tau_weights = _step(tau, 2.0 * (_dot(psi, psi, d) + options[BETA_2] * largest))
    tau_graph = _step(tau, 2.0 * (_dot(w, w, d) + options[ALPHA]) * shrunk)

    # Both at once: the graph's step is taken with the weights as they were.
    for i in range(g):
        if here[i] and x[i] != 0.0:
            edges = graph[i]
            factor = 2.0 * tau_graph * x[i] / there
            for j in range(g):
                change = error * w[j]
                if here[j]:
                    change += options[ALPHA] * (x[j] - psi[j])
                edges[j] = _within(edges[j] + factor * change, LARGEST)
    for j in range(d):
        w[j] = _within(w[j] - tau_weights * step[j], LARGEST)

    numbers[SINCE] += 1.0
    if numbers[SINCE] >= options[PERIOD]:
        eta = 8.0 * np.sqrt(1.0 / np.log(options[PERIOD]))
        lead = eta * (numbers[REBUILT_LOSS] - numbers[OBSERVED_LOSS])
        numbers[OBSERVED_SHARE] = -logistic_slope(-lead, 1.0)
        numbers[OBSERVED_LOSS] = 0.0
        numbers[REBUILT_LOSS] = 0.0
        numbers[SINCE] = 0.0


# ---------------------------------------------------------------------------------------------- OPID


@kernel(inline=False)
def _add_row(R, x, d, weight, z):
    """R'R + weight x x', by a rank-one update of the upper factor R."""
    root = np.sqrt(weight)
    for j in range(d):
        z[j] = root * x[j]
    for j in range(d):
        if z[j] == 0.0:
            continue
        row = R[j]
        diagonal = np.hypot(row[j], z[j])
        cosine, sine = diagonal / row[j], z[j] / row[j]
        row[j] = diagonal
        for i in range(j + 1, d):
            row[i] = (row[i] + sine * z[i]) / cosine
            z[i] = cosine * z[i] - sine * row[i]


@kernel(inline=False)
def _solve(R, right, d):
    """Solve R'R v = right, in place."""
    for j in range(d):
        row = R[j]
        right[j] /= row[j]
        for i in range(j + 1, d):
            right[i] -= row[i] * right[j]
    for j in range(d - 1, -1, -1):
        row = R[j]
        total = right[j]
        for i in range(j + 1, d):
            total -= row[i] * right[i]
        right[j] = total / row[j]


@kernel(inline=False)
def _factor(M, n):
    """The upper factor of a symmetric positive definite matrix, in place; what rounding made singular is left out."""
    for j in range(n):
        diagonal = M[j, j]
        for k in range(j):
            diagonal -= M[k, j] * M[k, j]
        M[j, j] = np.sqrt(diagonal) if diagonal > 1e-13 * M[j, j] else 1e150
        for i in range(j + 1, n):
            total = M[j, i]
            for k in range(j):
                total -= M[k, j] * M[k, i]
            M[j, i] = total / M[j, j]


@kernel(inline=False)
def _resolve(d, m, weights, sums, start, R, columns):
    """The weights that minimise the stage's squared error, and their distance from the start model."""
    for c in range(m):
        w = weights[c]
        for j in range(d):
            w[j] = sums[c, j] + columns[PENALTY, j] * start[c, j]
        _solve(R, w, d)
        for j in range(d):
            w[j] = _within(w[j], LARGEST)


@kernel
def _compress(d, m, vanishing, options, weights, sums, start, R, columns):
    """End a stage: put what is known of vanishing features into functions of those that survive.

    Minimises |Xw - y|^2 + |Zv - y|^2 + alpha |Xw - Zv|^2 and the penalties, X being the stage's rows, Z their
    surviving features. v is the start model of the stage to come.
    """
    part = np.empty(d, np.int64)  # all features that take part, then those of them that survive
    n = 0
    for j in range(d):
        if columns[TAKES_PART, j] > 0.0:
            part[n] = j
            n += 1
    stays = np.empty(n, np.int64)  # places within `part`
    n_stays = 0
    for a in range(n):
        if not vanishing[part[a]]:
            stays[n_stays] = a
            n_stays += 1
    G = np.zeros((n, n))  # second moments of the inputs
    for a in range(n):
        for b in range(a, n):
            total = 0.0
            for k in range(part[a] + 1):
                total += R[k, part[a]] * R[k, part[b]]
            if a == b:
                total = max(0.0, total - columns[PENALTY, part[a]])
            G[a, b] = total
            G[b, a] = total
    alpha = options[ALPHA]
    M = np.zeros((n + n_stays, n + n_stays))
    for a in range(n):
        for b in range(n):
            M[a, b] = (1.0 + alpha) * G[a, b]
        M[a, a] += columns[PENALTY, part[a]]
        for b in range(n_stays):
            M[a, n + b] = -alpha * G[a, stays[b]]
            M[n + b, a] = M[a, n + b]
    for a in range(n_stays):
        for b in range(n_stays):
            M[n + a, n + b] = (1.0 + alpha) * G[stays[a], stays[b]]
        M[n + a, n + a] += columns[PENALTY, part[stays[a]]]
    _factor(M, n + n_stays)
    right = np.empty(n + n_stays)
    for c in range(m):
        for a in range(n):
            j = part[a]
            right[a] = sums[c, j] + columns[PENALTY, j] * start[c, j]
        for a in range(n_stays):
            right[n + a] = right[stays[a]]
        _solve(M, right, n + n_stays)
        for j in range(d):
            start[c, j] = 0.0
            sums[c, j] = 0.0
        for a in range(n_stays):
            start[c, part[stays[a]]] = _within(right[n + a], LARGEST)
    for j in range(d):
        survives = columns[TAKES_PART, j] > 0.0 and not vanishing[j]
        columns[TOTAL, j] = 0.0
        columns[PENALTY, j] = options[INHERIT] if survives else options[RIDGE]
        columns[TAKES_PART, j] = 1.0 if survives else 0.0
        columns[MISSING, j] = 0.0
        for i in range(d):
            R[j, i] = 0.0
        R[j, j] = np.sqrt(columns[PENALTY, j])


@kernel(inline=False)
def _vanishing(here, d, new_column, patience, columns, vanishing):
    """Which features vanish with this row: missing just when a new column comes, or for ``patience`` rows."""
    found = False
    for j in range(d):
        vanishing[j] = False
        if here[j]:
            columns[MISSING, j] = 0.0
        elif columns[TAKES_PART, j] > 0.0:
            columns[MISSING, j] += 1.0
            vanishing[j] = new_column or columns[MISSING, j] >= patience
            found = found or vanishing[j]
    return found


@kernel(inline=False)
def _teach_opid(x, here, d, m, active, label, weight, sums, R, columns, z):
    for j in range(d):
        if here[j]:
            columns[TAKES_PART, j] = 1.0
            columns[TOTAL, j] += weight * x[j]
    _add_row(R, x, d, weight, z)
    for c in range(m):
        sign = _sign(active, label, c)
        for j in range(d):
            sums[c, j] += sign * weight * x[j]


# ---------------------------------------------------------------------------------------------- classes


@kernel(inline=True)
def _sign(active, label, c):
    """What binary learner c is to say of a row of this class."""
    return 1.0 if label == (1 if active <= 2 else c) else -1.0


@kernel(inline=False)
def _take_in_class(label, method, weights, more, start, graph, columns, numbers, active):
    """Know a class from now on. With the third, the one learner of two classes becomes two that say the opposite."""
    if label < active[0]:
        return
    before = int(active[0])
    if before <= 2 and label >= 2:
        opposite = -1.0 if method == OPID else 1.0
        for j in range(weights.shape[1]):
            weights[1, j] = weights[0, j]
            weights[0, j] = 0.0 - weights[1, j]
            if more.shape[1]:
                more[1, j] = more[0, j]
                more[0, j] = opposite * more[1, j] + 0.0
            if start.shape[1]:
                start[1, j] = start[0, j]
                start[0, j] = 0.0 - start[1, j]
        for k in range(numbers.shape[1]):
            numbers[1, k] = numbers[0, k]
        if method == OCDS:
            for i in range(graph.shape[1]):
                for j in range(graph.shape[2]):
                    graph[1, i, j] = graph[0, i, j]
        before = 2
    active[0] = label + 1
    if method == OPID and label >= 2:  # no row of the stage was of this class
        for c in range(max(before, 2), label + 1):
            for j in range(more.shape[1]):
                more[c, j] = 0.0 - columns[TOTAL, j]


# ---------------------------------------------------------------------------------------------- chunks


@kernel
def learn(
    Z, y, w, known, new_column, before, options, n_announced, mode, out, scaled,
    weights, more, start, graph, columns, scales, numbers, active,
):  # fmt: skip
    """Learn a chunk of rows in order, and put down their scores.

    Parameters
    ----------
    Z : float64 (n, d)
        The rows, by features in the order of their first rows; NaN is absent.
    y : float64 (n,)
        Class codes.
    w : float64 (n,)
        Weights. A row of weight 0 teaches nothing.
    known : int64 (n,)
        How many features are known with each row.
    new_column : bool (n,)
        Whether a row brings a column never met before.
    before : int
        How many features were known before the first.
    options : float64 (OPTIONS_SIZE,)
    n_announced : int
        Classes known beforehand.
    mode : int
        SILENT, BEFORE or AFTER.
    out : float64 (n, k)
        For the scores: a single one while no more than two classes are known.
    scaled : bool (d,)
        Which features are scaled.
    weights, more, start, graph, columns, scales, numbers, active
        The model's arrays.
    """
    method, scaling = int(options[METHOD]), int(options[SCALING])
    x, psi, z = np.zeros((3, max(1, Z.shape[1])))
    here, vanishing = np.zeros((2, max(1, Z.shape[1])), np.bool_)
    stale = False  # whether OPID's weights are behind its sums
    if n_announced > 0:
        _take_in_class(n_announced - 1, method, weights, more, start, graph, columns, numbers, active)
    for i in range(len(y)):
        d = known[i]
        m = 1 if active[0] <= 2.0 else int(active[0])
        if mode == BEFORE:
            if stale:
                _resolve(before, m, weights, more, start, graph[0], columns)
                stale = False
            _read(Z, i, before, scaled, scales, scaling, x, here)
            for c in range(m):
                out[i, c] = _score(method, x, here, before, weights, graph, numbers, c, psi)
        if w[i] > 0.0:
            weight = min(w[i], _LARGEST_VALUE)
            if scaling != UNSCALED:
                for j in range(d):
                    if scaled[j] and Z[i, j] == Z[i, j]:
                        _observe(scales, scaling, j, Z[i, j], weight)
            _read(Z, i, d, scaled, scales, scaling, x, here)
            if method == OPID and _vanishing(here, d, new_column[i], options[PATIENCE], columns, vanishing):
                _compress(d, m, vanishing, options, weights, more, start, graph[0], columns)
            label = int(y[i])
            _take_in_class(label, method, weights, more, start, graph, columns, numbers, active)
            m = 1 if active[0] <= 2.0 else int(active[0])
            if method == OPID:
                _teach_opid(x, here, d, m, active[0], label, weight, more, graph[0], columns, z)
                stale = True
            else:
                for c in range(m):
                    sign = _sign(active[0], label, c)
                    if method == OLSF:
                        _teach_olsf(x, d, sign, weight, options, weights[c])
                    elif method == OLVF:
                        _teach_olvf(x, here, d, before, sign, weight, options, weights[c], more[c])
                    else:
                        _teach_ocds(
                            x, here, d, sign, weight, options, weights[c], graph[c], numbers[c], psi, z
                        )  # fmt: skip
                    if options[SHARE] < 1.0:
                        _truncate(weights[c], d, options[SHARE], z)
            before = d
        if mode == AFTER:
            if stale:
                _resolve(before, m, weights, more, start, graph[0], columns)
                stale = False
            _read(Z, i, d, scaled, scales, scaling, x, here)
            for c in range(m):
                out[i, c] = _score(method, x, here, d, weights, graph, numbers, c, psi)
    if stale:
        m = 1 if active[0] <= 2.0 else int(active[0])
        _resolve(before, m, weights, more, start, graph[0], columns)


@kernel
def scores(Z, options, out, scaled, weights, graph, scales, numbers):
    """Put down the scores of rows."""
    method, scaling = int(options[METHOD]), int(options[SCALING])
    d = Z.shape[1]
    x, psi = np.zeros((2, max(1, d)))
    here = np.zeros(max(1, d), np.bool_)
    for i in range(len(out)):
        _read(Z, i, d, scaled, scales, scaling, x, here)
        for c in range(out.shape[1]):
            out[i, c] = _score(method, x, here, d, weights, graph, numbers, c, psi)
