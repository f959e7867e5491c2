"""Rows of the synthetic streams, one after another, as their sources describe them.

What is drawn comes from a state of four words, advanced in place: xoshiro256++ of D. Blackman and S. Vigna, "Scrambled
linear pseudorandom number generators", 2021. Calling numpy's generators from here takes several times as long.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from anabranch.kernels import kernel

_GOLDEN, _MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_11, _17, _19, _23, _27, _30, _31, _41, _45 = (np.uint64(bits) for bits in (11, 17, 19, 23, 27, 30, 31, 41, 45))
_58, _63, _64 = np.uint64(58), np.uint64(63), np.uint64(64)
_UNIT = 2.0**-53
_TILE = 64

# The ziggurat of G. Marsaglia and W. W. Tsang, 2000: 256 layers of one area under exp(-x^2 / 2), the lowest with the
# tail beyond _TAIL. A layer is as wide as _WIDTHS says; up to the next one's width it lies under the curve.
_TAIL, _AREA = 3.6541528853610088, 0.00492867323399
_WIDTHS = np.zeros(257)
_WIDTHS[0], _WIDTHS[1] = _AREA * math.exp(0.5 * _TAIL**2), _TAIL
for _i in range(2, 256):
    _below = float(_WIDTHS[_i - 1])
    _WIDTHS[_i] = math.sqrt(-2.0 * math.log(_AREA / _below + math.exp(-0.5 * _below**2)))
_HEIGHTS = np.exp(-0.5 * _WIDTHS**2)


@kernel
def block_state(seed, block, state):
    """Set the state from four words and the number of a block: SplitMix64 of G. Steele and others, 2014."""
    for word in range(4):
        z = seed[word] + np.uint64(4 * block + word + 1) * _GOLDEN
        z = (z ^ (z >> _30)) * _MIX_1
        z = (z ^ (z >> _27)) * _MIX_2
        state[word] = z ^ (z >> _31)


@kernel(inline=True)
def _next(s0, s1, s2, s3):
    """Draw 64 bits; returns the state that follows, too. Loops keep the state in registers so."""
    total = s0 + s3
    drawn = ((total << _23) | (total >> _41)) + s0
    s2 ^= s0
    s3 ^= s1
    return drawn, s0 ^ s3, s1 ^ s2, s2 ^ (s1 << _17), (s3 << _45) | (s3 >> _19)


@kernel(inline=True)
def _uniform(state):
    """Draw a number ~ U[0, 1) of 53 random bits."""
    drawn, state[0], state[1], state[2], state[3] = _next(state[0], state[1], state[2], state[3])
    return np.int64(drawn >> _11) * _UNIT


@kernel(inline=False)
def _uniforms(state, out):
    """Fill a vector with numbers ~ U[0, 1)."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    for i in range(out.size):
        drawn, s0, s1, s2, s3 = _next(s0, s1, s2, s3)
        out[i] = np.int64(drawn >> _11) * _UNIT
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3


@intrinsic
def _pcg_step(typing: Any, high: Any, low: Any, more_high: Any, more_low: Any) -> Any:
    """Take a linear congruential generator of 128 bits one step on; numbers of 128 bits come as two of 64."""
    long = ir.IntType(128)

    def joined(builder: Any, high: Any, low: Any) -> Any:
        return builder.or_(builder.shl(builder.zext(high, long), ir.Constant(long, 64)), builder.zext(low, long))

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        state = builder.mul(joined(builder, *args[:2]), ir.Constant(long, 0x2360ED051FC65DA44385DF649FCCF645))
        state = builder.add(state, joined(builder, *args[2:]))
        words = builder.lshr(state, ir.Constant(long, 64)), state
        return cgutils.pack_array(builder, [builder.trunc(word, ir.IntType(64)) for word in words])

    return types.UniTuple(types.uint64, 2)(*[types.uint64] * 4), generate  # type: ignore[attr-defined]


@kernel
def pcg_uniforms(state, out):
    """Fill a vector as ``random`` of numpy's PCG64 does (M. O'Neill, 2014: XSL-RR 128/64), in half its time.

    Parameters
    ----------
    state : ndarray of uint64, shape (4,)
        The generator's state, high word and low, and its increment; not advanced.
    """
    high, low, more_high, more_low = state[0], state[1], state[2], state[3]
    for i in range(out.size):
        high, low = _pcg_step(high, low, more_high, more_low)
        mixed = high ^ low
        turn = high >> _58
        mixed = (mixed >> turn) | (mixed << ((_64 - turn) & _63))
        out[i] = np.int64(mixed >> _11) * _UNIT


@kernel(inline=False)
def _unlikely_normal(state, layer, x):
    """Draw N(0, 1), without its sign, where the ziggurat's quick look does not decide."""
    while True:
        if layer == 0:
            while True:  # the tail
                x = -np.log(1.0 - _uniform(state)) / _TAIL
                if -2.0 * np.log(1.0 - _uniform(state)) > x * x:
                    return _TAIL + x
        low, high = _HEIGHTS[layer], _HEIGHTS[layer + 1]
        if low + _uniform(state) * (high - low) < np.exp(-0.5 * x * x):
            return x
        layer = int(256 * _uniform(state))
        x = _uniform(state) * _WIDTHS[layer]
        if x < _WIDTHS[layer + 1]:
            return x


@kernel(inline=False)
def normals(state, out):
    """Fill a vector with numbers ~ N(0, 1)."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    for i in range(out.size):
        drawn, s0, s1, s2, s3 = _next(s0, s1, s2, s3)
        layer = np.int64(drawn & np.uint64(255))
        x = np.int64(drawn >> _11) * _UNIT * _WIDTHS[layer]
        if x >= _WIDTHS[layer + 1]:
            state[0], state[1], state[2], state[3] = s0, s1, s2, s3
            x = _unlikely_normal(state, layer, x)
            s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
        out[i] = -x if drawn & np.uint64(256) else x
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3


@kernel(inline=True)
def _other_code(drawn, code, n_codes):
    """Another of the codes 0 to ``n_codes - 1``, picked by a number from [0, 1)."""
    return (code + 1 + int(drawn * (n_codes - 1))) % n_codes


# ---------------------------------------------------------------------------------------- Agrawal


# By age (below 40, below 60, above): where the bands of salaries, levels and loans begin, in thousands; those that
# depend on whether another condition fails or holds are given for both.
_SALARY_FROM = np.array([50.0, 75.0, 25.0])
_LEVEL_FROM, _LEVEL_TO = np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 4.0])
_SALARY_FROM_BY_LEVEL = np.array([[50.0, 25.0], [75.0, 50.0], [25.0, 50.0]])
_LOAN_FROM_BY_SALARY = np.array([[200.0, 100.0], [300.0, 200.0], [100.0, 300.0]])


@kernel(inline=True)
def _outside(amount, begin, width):
    """Whether an amount is not in a band whose limits are in thousands."""
    return int((amount < 1000.0 * begin) | (amount > 1000.0 * (begin + width)))


@kernel(inline=False)
def _group(function, salary, commission, age, level, house, years, loan):
    """The class of a person: 0 for group A of the paper, 1 for group B."""
    band = int(age >= 40.0) + int(age >= 60.0)
    income = salary + commission
    if function == 1:
        return int(band == 1)
    if function == 2 or function == 6:
        return _outside(salary if function == 2 else income, _SALARY_FROM[band], 50.0)
    if function == 3 or function == 4:
        fits = int((level >= _LEVEL_FROM[band]) & (level <= _LEVEL_TO[band]))
        return 1 - fits if function == 3 else _outside(salary, _SALARY_FROM_BY_LEVEL[band, fits], 50.0)
    if function == 5:
        fits = 1 - _outside(salary, _SALARY_FROM[band], 50.0)
        return _outside(loan, _LOAN_FROM_BY_SALARY[band, fits], 200.0)
    disposable = 2.0 * income / 3.0
    if function == 7:
        disposable += -loan / 5.0 - 20_000.0
    elif function == 8:
        disposable += -5_000.0 * level - 20_000.0
    elif function == 9:
        disposable += -5_000.0 * level - loan / 5.0 - 10_000.0
    else:
        equity = house * (years - 20.0) / 10.0 if years >= 20.0 else 0.0
        disposable += -5_000.0 * level + equity / 5.0 - 10_000.0
    return int(disposable <= 0.0)


@kernel(inline=True)
def _moved(drawn, value, reach, low, high):
    """Move a value by up to ``reach`` either way, and back between the limits."""
    return min(max(value + reach * (2.0 * drawn - 1.0), low), high)


@kernel
def agrawal(state, X, y, function, perturbation, balanced):
    """Draw persons and tell their group; if balanced, groups 1 and 0 take turns."""
    u = np.empty(15 if perturbation > 0.0 else 9)
    for i in range(len(X)):
        _uniforms(state, u)
        while True:
            salary = 20_000.0 + 130_000.0 * u[0]
            paid = float(int(salary < 75_000.0))  # a factor, as nobody could guess which way a branch would go
            commission = paid * (10_000.0 + 65_000.0 * u[1])
            age = 20.0 + int(61 * u[2])
            level = float(int(5 * u[3]))
            car = float(int(20 * u[4]))
            zipcode = float(int(9 * u[5]))
            house = (9.0 - zipcode) * 100_000.0 * (0.5 + u[6])
            years = 1.0 + int(30 * u[7])
            loan = 500_000.0 * u[8]
            group = _group(function, salary, commission, age, level, house, years, loan)
            if not balanced or group == 1 - i % 2:
                break
            _uniforms(state, u[:9])
        if perturbation > 0.0:
            salary = _moved(u[9], salary, 130_000.0 * perturbation, 20_000.0, 150_000.0)
            commission = paid * _moved(u[10], commission, 65_000.0 * perturbation, 10_000.0, 75_000.0)
            age = np.floor(_moved(u[11], age, 60.0 * perturbation, 20.0, 80.0) + 0.5)
            house = _moved(u[12], house, (9.0 - zipcode) * 100_000.0 * perturbation, 0.0, 135_000.0)
            years = np.floor(_moved(u[13], years, 29.0 * perturbation, 1.0, 30.0) + 0.5)
            loan = _moved(u[14], loan, 500_000.0 * perturbation, 0.0, 500_000.0)
        row = X[i]
        row[0], row[1], row[2], row[3], row[4] = salary, commission, age, level, car
        row[5], row[6], row[7], row[8] = zipcode, house, years, loan
        y[i] = group


# ---------------------------------------------------------------------------------------- LED, STAGGER, SEA


@kernel
def led(state, X, y, digits, noise, drifted):
    """Draw digits and which of their segments are wrong; features past the seventh are fair bits.

    The first ``drifted`` segments have changed places with the first bits.
    """
    irrelevant = X.shape[1] - 7
    u = np.empty(9)
    for i in range(len(X)):
        _uniforms(state, u)
        digit = int(10 * u[0])
        y[i] = digit
        row = X[i]
        for j in range(7):
            row[j] = digits[digit, j] ^ (u[1 + j] < noise)
        bits = np.int64(u[8] * 2.0**irrelevant)
        for j in range(irrelevant):
            row[7 + j] = (bits >> j) & 1
        for j in range(drifted):
            row[j], row[7 + j] = row[7 + j], row[j]


@kernel
def stagger(state, X, y, function, balanced):
    """Draw sizes, colours and shapes; if balanced, classes 1 and 0 take turns."""
    _uniforms(state, X.ravel())
    for i in range(len(X)):
        while True:
            size, colour, shape = int(3 * X[i, 0]), int(3 * X[i, 1]), int(3 * X[i, 2])
            if function == 1:
                label = (size == 0) & (colour == 0)
            elif function == 2:
                label = (colour == 2) | (shape == 0)
            else:
                label = size != 0
            if not balanced or label == (i % 2 == 0):
                break
            _uniforms(state, X[i])
        X[i, 0], X[i, 1], X[i, 2] = size, colour, shape
        y[i] = label


@kernel
def sea(state, X, y, threshold, noise):
    """Draw rows and label them; ``noise`` turns a share of the labels round."""
    _uniforms(state, X.ravel())
    flips = np.empty(len(X) if noise > 0.0 else 0)
    _uniforms(state, flips)
    for i in range(len(X)):
        a, b = X[i, 0] * 10.0, X[i, 1] * 10.0
        X[i, 0], X[i, 1], X[i, 2] = a, b, X[i, 2] * 10.0
        label = a + b > threshold
        if noise > 0.0:
            label ^= flips[i] < noise
        y[i] = label


# ---------------------------------------------------------------------------------------- trees, clouds, planes, waves


@kernel
def random_tree(state, X, y, feature, threshold, child, label, depth, n_nominal, n_values, n_classes, noise, sd):
    """Draw rows, send each down the tree, and change what noise changes."""
    n, d = X.shape
    hits = np.empty(2 * n_nominal + 2 if noise > 0.0 else 0)
    shifts = np.empty(d - n_nominal if noise > 0.0 else 0)
    _uniforms(state, X.ravel())
    for i in range(n):
        row = X[i]
        for j in range(n_nominal):
            row[j] = int(row[j] * n_values)
        node = 0
        for _ in range(depth):  # leaves lead to themselves, so that the processor has no end of the way to guess
            value, limit = row[feature[node]], threshold[node]
            node = child[node] + (int(value) if limit < 0.0 else int(value >= limit))
        code = label[node]
        if noise > 0.0:
            _uniforms(state, hits)
            for j in range(n_nominal):
                if hits[2 * j] < noise:
                    row[j] = _other_code(hits[2 * j + 1], int(row[j]), n_values)
            if hits[2 * n_nominal] < noise:
                code = _other_code(hits[2 * n_nominal + 1], code, n_classes)
            normals(state, shifts)
            for j in range(n_nominal, d):
                row[j] += sd * shifts[j - n_nominal]
        y[i] = code


@kernel
def random_rbf(X, y, picks, directions, lengths, bounds, guide, centres, classes, deviations):
    """Put rows around centroids; ``picks`` then holds which.

    Parameters
    ----------
    picks, directions, lengths
        What was drawn: U(0, 1) (n,), U(0, 1) (d, n), N(0, 1) (n,).
    bounds
        Running sums of the centroids' weights.
    guide
        For each of as many equal parts of [0, 1], a centroid at or before the first that is picked there.
    """
    n, d = X.shape
    k = len(bounds)
    squares = np.empty(_TILE)
    tile = np.empty((d, _TILE))
    for start in range(0, n, _TILE):
        stop = min(start + _TILE, n)
        squares[:] = 0.0
        # What is drawn lies feature by feature, so far apart that it would get in its own way in the cache.
        for j in range(d):
            for i in range(start, stop):
                part = directions[j, i] * 2.0 - 1.0
                tile[j, i - start] = part
                squares[i - start] += part * part
        for i in range(start, stop):
            c = guide[int(picks[i] * len(guide))]
            while c < k - 1 and bounds[c] <= picks[i] * bounds[k - 1]:
                c += 1
            scale = lengths[i] * deviations[c] / np.sqrt(squares[i - start])
            for j in range(d):
                X[i, j] = centres[c, j] + tile[j, i - start] * scale
            y[i] = classes[c]
            picks[i] = c


@kernel
def centres_moved(X, centroids, start, centres, steps, firsts, crossings):
    """Add to each row how far its centroid has moved.

    Parameters
    ----------
    centroids : ndarray, shape (n,)
        Which centroid each row lies around.
    start : int
        Number of the first row; row 0 comes after one step.
    steps : ndarray, shape (k, d)
        What is added at each step, never negative.
    firsts, crossings : ndarray, shape (k, d)
        The step that reaches the upper border, and how many lead from one border to the other.
    """
    for i in range(len(X)):
        c = int(centroids[i])
        taken = float(start + i + 1)
        for j in range(X.shape[1]):
            step = steps[c, j]
            since = taken - firsts[c, j]
            if since < 0.0:
                X[i, j] += taken * step
                continue
            crossed = np.floor(since / crossings[c, j])
            inside = (since - crossed * crossings[c, j]) * step
            place = 1.0 - inside if crossed % 2.0 == 0.0 else inside
            X[i, j] += place - centres[c, j]


@kernel
def hyperplane(state, turning, X, y, weights, gone, signs, magnitude, reversal, high, ratio, threshold, noise, odds):
    """Draw rows and tell on which side of the plane they lie; rows of class 1 stay with probability ``odds``.

    Parameters
    ----------
    turning : ndarray of uint64
        State of what is drawn for the drift.
    X : ndarray, shape (n, d)
        Of no columns for rows that are passed over: then only the plane moves, over the length of ``y``.
    weights : ndarray
        At row 0.
    gone, signs : ndarray of int64, as long as weights drift
        Steps up less steps down, and whether the next goes up or down; brought forward in place.
    """
    d = X.shape[1]
    u = np.empty(d + 2)  # a row, whether its class turns round, whether it stays
    turns = np.empty((len(y), len(gone)))
    _uniforms(turning, turns.ravel())
    moved = weights.copy()
    still = 0.0  # sum of the weights that do not drift
    for weight in weights[len(gone) :]:
        still += weight
    for i in range(len(y)):
        level = still
        for j in range(len(gone)):
            moved[j] = weights[j] + magnitude * gone[j]
            level += moved[j]
            gone[j] += signs[j]
            signs[j] = -signs[j] if turns[i, j] < reversal else signs[j]
        while d:
            _uniforms(state, u)
            total = 0.0
            for j in range(len(weights)):
                total += moved[j] * ((u[j] + u[j + 1]) / u[j] if ratio else high * u[j])
            label = (total >= threshold * level) ^ (u[d] < noise)
            if not label or u[d + 1] < odds:
                for j in range(d):
                    X[i, j] = high * u[j]
                y[i] = label
                break


@kernel
def waveform(state, X, y, triangles, mixed):
    """Draw noise, and add waves to it: in each row two triangles, mixed as its class and its share say."""
    normals(state, X.ravel())
    u = np.empty(2)
    for i in range(len(X)):
        _uniforms(state, u)
        label = int(3 * u[0])
        y[i] = label
        a, b = mixed[label, 0], mixed[label, 1]
        for j in range(triangles.shape[1]):
            X[i, j] += u[1] * triangles[a, j] + (1.0 - u[1]) * triangles[b, j]


# ---------------------------------------------------------------------------------------- joined streams


@kernel
def changed(state, phases, start, number, position, width, reach):
    """Raise phases to ``number`` where a gradual change has happened, which is drawn for each row within its reach."""
    n = len(phases)
    for first in range(0, n, _TILE):
        stop = min(first + _TILE, n)
        if (start + first - position) / width <= -reach or (start + stop - 1 - position) / width >= reach:
            _changed_at_the_edge(state, phases, first, stop, start, number, position, width, reach)
            continue
        # Between two rows the curve rises: most draws are decided without it.
        low, high = _likely(start + first - position, width), _likely(start + stop - position, width)
        s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
        for i in range(first, stop):
            drawn, s0, s1, s2, s3 = _next(s0, s1, s2, s3)
            share = np.int64(drawn >> _11) * _UNIT
            happened = share < low
            if (share >= low) & (share < high):
                happened = share < _likely(start + i - position, width)
            phases[i] = max(phases[i], number * np.int64(happened))
        state[0], state[1], state[2], state[3] = s0, s1, s2, s3


@kernel(inline=False)
def _changed_at_the_edge(state, phases, first, stop, start, number, position, width, reach):
    for i in range(first, stop):
        away = (start + i - position) / width
        if away <= -reach or (away < reach and _uniform(state) >= _likely(start + i - position, width)):
            continue
        phases[i] = max(phases[i], number)


@kernel(inline=False)
def _likely(away, width):
    return 1.0 / (1.0 + np.exp(-4.0 * away / width))


@kernel
def places(sources, counts, out):
    """List the rows of each source, one source after another, and count them.

    ``out`` has room for one more than there are rows, which is of no use to anybody else.
    """
    lowest, highest = len(counts) - 1, 0
    for source in sources:
        lowest, highest = min(lowest, source), max(highest, source)
    at = 0
    for source in range(lowest, highest + 1):
        first = at
        for i in range(len(sources)):  # without a branch, as nobody could guess which way it would go
            out[at] = i
            at += int(sources[i] == source)
        counts[source] = at - first


@kernel
def put(X, y, places, rows, labels):
    """Copy rows and their labels to their places."""
    # Flat, and with unsigned places, among which numba looks for no negative ones: rows are often short.
    d, one = np.uint64(X.shape[1]), np.uint64(1)
    values, out = X.ravel(), rows.ravel()
    at = np.uint64(0)
    for i in range(len(places)):
        place = np.uint64(places[i])
        labels[place] = y[i]
        to = place * d
        end = to + d
        while to < end:
            out[to] = values[at]
            to += one
            at += one
