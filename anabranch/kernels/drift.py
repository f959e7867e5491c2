"""Change detectors, value by value.

A detector is two arrays of float64: its settings, which :mod:`anabranch.drift` makes from the parameters, and its
state, which :func:`restart` sets up. :func:`step` takes in one value, whatever the kind of detector, so that a compiled
learner can keep detectors as rows of a matrix and ask them in the midst of its own loop.

The order of operations is MOA's wherever MOA has the detector, so that both fire at the same values.
"""

from __future__ import annotations

import math
from types import MethodType

import numpy as np
from numba import types
from numba.extending import intrinsic

from anabranch.kernels import kernel
from anabranch.kernels.bundle import array_at
from anabranch.kernels.pointer import compiled

ADWIN, DDM, EDDM, DDM_OCI, HDDM_A, HDDM_W, PAGE_HINKLEY, KSWIN = range(8)

# What a step says. ROOM: the state is too small, nothing has changed. REFUSED: not a value for this detector.
STABLE, WARNING, DRIFT = 0, 1, 2
ROOM, REFUSED = -1, -2

# Settings that all have: the range of values, and whether they must be whole numbers. Each detector's follow.
LOW, HIGH, WHOLE, OWN = range(4)


# ---------------------------------------------------------------------------------------------- ADWIN

# Settings.
_DELTA, _CLOCK, _MAX_BUCKETS, _MIN_LENGTH, _GRACE, _ADWIN_UP, _ADWIN_DOWN = range(OWN, OWN + 7)
# State (values since the latest test; of the window: values, sum, sum of squared differences from the mean; last row
# in use), then rows of buckets: row i has buckets of 2**i values, the oldest first. A row is the number of its buckets,
# their sums and their variances (sums of squared differences from the mean), with room for one more than may stay.
ADWIN_TIME, ADWIN_WIDTH, ADWIN_TOTAL, ADWIN_VARIANCE, ADWIN_LAST, ADWIN_HEAD = range(6)


@kernel(inline=True)
def _adwin_is_full(s, most):
    """Whether the next value may need a further row, for which there is no room."""
    last = ADWIN_HEAD + int(s[ADWIN_LAST]) * (2 * most + 3)
    return s[last] >= most and last + 2 * (2 * most + 3) > s.size


@kernel(inline=True)
def _adwin_insert(s, value, most, width, total, variance):
    """Put a value into the window, and merge buckets where a row has one too many.

    Width, total and variance of the window are handed in and returned, so that a loop keeps them at hand.
    """
    if width > 0.0:
        away = value - total / width
        variance += width * away * away / (width + 1.0)
    width += 1.0
    total += value
    row = ADWIN_HEAD
    size = 2 * most + 3
    k = int(s[row])
    s[row + 1 + k] = value
    s[row + 2 + most + k] = 0.0
    k += 1
    level = 0
    share = 1.0  # of a value in its bucket: a power of two, so that products are as exact as quotients
    while k == most + 1:  # merge the oldest two into one of the next row
        a, b = row + 1, row + 2 + most  # its sums, its variances
        away = s[a] * share - s[a + 1] * share
        between = away * away / (share + share)
        above = row + size
        if level == s[ADWIN_LAST]:
            s[ADWIN_LAST] += 1
            s[above] = 0
        j = int(s[above])
        s[above + 1 + j] = s[a] + s[a + 1]
        s[above + 2 + most + j] = s[b] + s[b + 1] + between
        for i in range(most - 1):
            s[a + i] = s[a + i + 2]
            s[b + i] = s[b + i + 2]
        s[row] = k - 2
        k = j + 1
        row = above
        level += 1
        share *= 0.5
    s[row] = k
    return width, total, variance


@kernel(inline=False)
def _adwin_drop(s, most):
    """Let go of the oldest bucket."""
    last = int(s[ADWIN_LAST])
    row = ADWIN_HEAD + last * (2 * most + 3)
    a, b = row + 1, row + 2 + most
    n = 2.0**last
    s[ADWIN_WIDTH] -= n
    s[ADWIN_TOTAL] -= s[a]
    width = s[ADWIN_WIDTH]
    away = s[a] / n - s[ADWIN_TOTAL] / width
    s[ADWIN_VARIANCE] -= s[b] + n * width * away * away / (n + width)
    for j in range(most):
        s[a + j] = s[a + j + 1]
        s[b + j] = s[b + j + 1]
    s[row] -= 1
    while s[ADWIN_HEAD + last * (2 * most + 3)] == 0 and last > 0:
        last -= 1
    s[ADWIN_LAST] = last


@kernel(inline=False)
def _adwin_splits(p, s):
    """Whether some cut parts the window into two whose means differ."""
    most = int(p[_MAX_BUCKETS])
    least = p[_MIN_LENGTH]
    width = s[ADWIN_WIDTH]
    confidence = math.log(2.0 * math.log(width) / p[_DELTA])
    variance = max(s[ADWIN_VARIANCE], 0.0) / width
    needed = 2.0 * confidence * variance * 0.98
    n0, n1 = 0.0, width  # older part, newer part
    u0, u1 = 0.0, s[ADWIN_TOTAL]
    for level in range(int(s[ADWIN_LAST]), -1, -1):
        row = ADWIN_HEAD + level * (2 * most + 3)
        values = 2.0**level
        for k in range(int(s[row])):
            n0 += values
            n1 -= values
            u0 += s[row + 1 + k]
            u1 -= s[row + 1 + k]
            if n1 <= least + 1.0:
                return False
            if n0 > least + 1.0:
                # Most cuts are far from it, which takes no division and no root to see; 2 % are more than rounding.
                a0, a1 = n0 - least + 1.0, n1 - least + 1.0
                gap, parts = u0 * n1 - u1 * n0, n0 * n1
                if gap * gap * (a0 * a1) < needed * (a0 + a1) * (parts * parts):
                    continue
                m = 1.0 / a0 + 1.0 / a1
                epsilon = math.sqrt(2.0 * m * variance * confidence) + 2.0 / 3.0 * confidence * m
                if abs(u0 / n0 - u1 / n1) > epsilon:
                    return True
    return False


@kernel(inline=False)
def _adwin_test(p, s, before):
    """Cut the window where its means differ; ``before`` is its mean before the latest value."""
    if not (s[ADWIN_WIDTH] > p[_GRACE] and _adwin_splits(p, s)):
        return STABLE
    most = int(p[_MAX_BUCKETS])
    _adwin_drop(s, most)
    while _adwin_splits(p, s):
        _adwin_drop(s, most)
    if p[_ADWIN_UP] != 0.0 and p[_ADWIN_DOWN] != 0.0:
        return DRIFT
    mean = s[ADWIN_TOTAL] / s[ADWIN_WIDTH]
    return DRIFT if (mean > before and p[_ADWIN_UP] != 0.0) or (mean < before and p[_ADWIN_DOWN] != 0.0) else STABLE


@kernel(inline=False)
def _adwin(p, s, value):
    most = int(p[_MAX_BUCKETS])
    if _adwin_is_full(s, most):
        return ROOM
    before = s[ADWIN_TOTAL] / s[ADWIN_WIDTH]
    s[ADWIN_WIDTH], s[ADWIN_TOTAL], s[ADWIN_VARIANCE] = _adwin_insert(
        s, value, most, s[ADWIN_WIDTH], s[ADWIN_TOTAL], s[ADWIN_VARIANCE]
    )
    s[ADWIN_TIME] += 1.0
    if s[ADWIN_TIME] < p[_CLOCK]:
        return STABLE
    s[ADWIN_TIME] = 0.0
    return _adwin_test(p, s, before)


@kernel(inline=False)
def _adwin_run(p, s, values, levels, start):
    """Do as :func:`run`, with what every value touches kept at hand."""
    most, stop = int(p[_MAX_BUCKETS]), values.size
    clock = p[_CLOCK]
    time, width, total, variance = s[ADWIN_TIME], s[ADWIN_WIDTH], s[ADWIN_TOTAL], s[ADWIN_VARIANCE]
    for i in range(start, values.size):
        levels[i] = STABLE
        value = values[i]
        if value != value:
            continue
        if _adwin_is_full(s, most):
            stop = i
            break
        before = total / width
        width, total, variance = _adwin_insert(s, value, most, width, total, variance)
        time += 1.0
        if time >= clock:
            time = 0.0
            s[ADWIN_WIDTH], s[ADWIN_TOTAL], s[ADWIN_VARIANCE] = width, total, variance
            levels[i] = _adwin_test(p, s, before)
            width, total, variance = s[ADWIN_WIDTH], s[ADWIN_TOTAL], s[ADWIN_VARIANCE]
    s[ADWIN_TIME], s[ADWIN_WIDTH], s[ADWIN_TOTAL], s[ADWIN_VARIANCE] = time, width, total, variance
    return stop


# ---------------------------------------------------------------------------------------------- DDM

_DDM_MIN_VALUES, _DDM_WARNING, _DDM_DRIFT = range(OWN, OWN + 3)
# One more than the values taken in; error rate; rate and deviation where their sum was least.
_DDM_N, _DDM_P, _DDM_P_MIN, _DDM_S_MIN, DDM_SIZE = range(5)


@kernel(inline=False)
def _ddm_start(s):
    s[_DDM_N] = s[_DDM_P] = 1.0
    s[_DDM_P_MIN] = np.inf
    s[_DDM_S_MIN] = 0.0


@kernel(inline=False)
def _ddm(p, s, value):
    rate = s[_DDM_P] + (value - s[_DDM_P]) / s[_DDM_N]
    deviation = math.sqrt(max(rate * (1.0 - rate), 0.0) / s[_DDM_N])
    s[_DDM_P] = rate
    s[_DDM_N] += 1
    if s[_DDM_N] < p[_DDM_MIN_VALUES]:
        return STABLE
    if rate + deviation <= s[_DDM_P_MIN] + s[_DDM_S_MIN]:
        s[_DDM_P_MIN] = rate
        s[_DDM_S_MIN] = deviation
    if s[_DDM_N] > p[_DDM_MIN_VALUES] and rate + deviation > s[_DDM_P_MIN] + p[_DDM_DRIFT] * s[_DDM_S_MIN]:
        _ddm_start(s)
        return DRIFT
    if rate + deviation > s[_DDM_P_MIN] + p[_DDM_WARNING] * s[_DDM_S_MIN]:
        return WARNING
    return STABLE


# ---------------------------------------------------------------------------------------------- EDDM

_EDDM_MIN_ERRORS, _EDDM_WARNING, _EDDM_DRIFT = range(OWN, OWN + 3)
# Values taken in; errors; place of the latest error; mean of the distances between errors and sum of their squared
# differences from it; largest mean + 2 deviations; what was said at the latest error, which holds until the next.
_EDDM_N, _EDDM_ERRORS, _EDDM_LATEST, _EDDM_MEAN, _EDDM_M2, _EDDM_LARGEST, _EDDM_LEVEL, EDDM_SIZE = range(8)


@kernel(inline=False)
def _eddm(p, s, value):
    s[_EDDM_N] += 1
    if value != 1.0:
        return int(s[_EDDM_LEVEL])
    s[_EDDM_LEVEL] = STABLE
    s[_EDDM_ERRORS] += 1
    distance = s[_EDDM_N] - s[_EDDM_LATEST]
    s[_EDDM_LATEST] = s[_EDDM_N]
    before = s[_EDDM_MEAN]
    s[_EDDM_MEAN] = before + (distance - before) / s[_EDDM_ERRORS]
    s[_EDDM_M2] += (distance - s[_EDDM_MEAN]) * (distance - before)
    reach = s[_EDDM_MEAN] + 2.0 * math.sqrt(s[_EDDM_M2] / s[_EDDM_ERRORS])
    if reach > s[_EDDM_LARGEST]:
        if s[_EDDM_N] >= p[_EDDM_MIN_ERRORS]:
            s[_EDDM_LARGEST] = reach
    elif s[_EDDM_ERRORS] > p[_EDDM_MIN_ERRORS]:
        share = reach / s[_EDDM_LARGEST]
        if share < p[_EDDM_DRIFT]:
            s[:EDDM_SIZE] = 0.0
            return DRIFT
        if share < p[_EDDM_WARNING]:
            s[_EDDM_LEVEL] = WARNING
    return int(s[_EDDM_LEVEL])


# ---------------------------------------------------------------------------------------------- DDM-OCI

_OCI_MIN_EXAMPLES, _OCI_WARNING, _OCI_DRIFT, _OCI_CLASS_DECAY, _OCI_RECALL_DECAY = range(OWN, OWN + 5)
# What was said at the latest example of the minority; then per class: whether it was met; its decayed size; decayed
# hits and examples; examples since the start; recall and deviation where their sum was largest.
OCI_LEVEL, OCI_HEAD = range(2)
OCI_MET, OCI_SHARE, OCI_HITS, OCI_WEIGHT, OCI_N, OCI_P_MAX, OCI_S_MAX, OCI_CLASS = range(8)


@kernel(inline=False)
def _oci_start(s):
    s[OCI_LEVEL] = STABLE
    for c in range(OCI_HEAD, s.size, OCI_CLASS):
        s[c + OCI_HITS] = s[c + OCI_WEIGHT] = s[c + OCI_N] = s[c + OCI_S_MAX] = 0.0
        s[c + OCI_P_MAX] = -np.inf


@kernel(inline=False)
def _ddm_oci(p, s, value):
    """Take in twice the code of the true class, plus one if it was predicted."""
    code = int(value) >> 1
    hit = value - 2 * code
    own = OCI_HEAD + code * OCI_CLASS
    if own >= s.size:
        return ROOM
    s[own + OCI_MET] = 1.0
    smallest = own
    for c in range(OCI_HEAD, s.size, OCI_CLASS):
        s[c + OCI_SHARE] = max(s[c + OCI_SHARE] * p[_OCI_CLASS_DECAY], 1e-300)
        if c == own:
            s[c + OCI_SHARE] += 1.0 - p[_OCI_CLASS_DECAY]
    for c in range(OCI_HEAD, s.size, OCI_CLASS):
        if s[c + OCI_MET] == 1.0 and s[c + OCI_SHARE] < s[smallest + OCI_SHARE]:
            smallest = c
    s[own + OCI_HITS] = p[_OCI_RECALL_DECAY] * s[own + OCI_HITS] + hit
    s[own + OCI_WEIGHT] = p[_OCI_RECALL_DECAY] * s[own + OCI_WEIGHT] + 1.0
    s[own + OCI_N] += 1
    if own != smallest:
        return int(s[OCI_LEVEL])
    s[OCI_LEVEL] = STABLE
    if s[own + OCI_N] < p[_OCI_MIN_EXAMPLES]:
        return STABLE
    recall = s[own + OCI_HITS] / s[own + OCI_WEIGHT]
    deviation = math.sqrt(max(recall * (1.0 - recall), 0.0) / s[own + OCI_WEIGHT])
    if recall + deviation >= s[own + OCI_P_MAX] + s[own + OCI_S_MAX]:
        s[own + OCI_P_MAX] = recall
        s[own + OCI_S_MAX] = deviation
    if recall - deviation < s[own + OCI_P_MAX] - p[_OCI_DRIFT] * s[own + OCI_S_MAX]:
        _oci_start(s)
        return DRIFT
    if recall - deviation < s[own + OCI_P_MAX] - p[_OCI_WARNING] * s[own + OCI_S_MAX]:
        s[OCI_LEVEL] = WARNING
    return int(s[OCI_LEVEL])


# ---------------------------------------------------------------------------------------------- HDDM-A

_HDDM_DRIFT, _HDDM_WARNING, _HDDM_TWO_SIDED, _HDDM_WEIGHT = range(OWN, OWN + 4)
# Number and sum of all values; of those up to the cut for a rise; of those up to the cut for a fall.
_A_N, _A_SUM, _A_N_UP, _A_SUM_UP, _A_N_DOWN, _A_SUM_DOWN, HDDM_A_SIZE = range(7)


@kernel(inline=False)
def _means_differ(n_cut, n, distance, confidence):
    """Whether the mean of all n values lies further from that of the first n_cut than Hoeffding's bound allows."""
    if n_cut == n:
        return False
    m = (n - n_cut) / n_cut * (1.0 / n)
    return distance >= math.sqrt(m / 2.0 * math.log(2.0 / confidence))


@kernel(inline=False)
def _hddm_a(p, s, value):
    s[_A_N] += 1
    s[_A_SUM] += value
    n, mean = s[_A_N], s[_A_SUM] / s[_A_N]
    if s[_A_N_UP] == 0:
        s[_A_N_UP] = s[_A_N_DOWN] = n
        s[_A_SUM_UP] = s[_A_SUM_DOWN] = s[_A_SUM]
    logarithm = math.log(1.0 / p[_HDDM_DRIFT])
    bound = math.sqrt(1.0 / (2.0 * n) * logarithm)
    cut = math.sqrt(1.0 / (2.0 * s[_A_N_UP]) * logarithm)
    if s[_A_SUM_UP] / s[_A_N_UP] + cut >= mean + bound:
        s[_A_N_UP], s[_A_SUM_UP] = n, s[_A_SUM]
    cut = math.sqrt(1.0 / (2.0 * s[_A_N_DOWN]) * logarithm)
    if s[_A_SUM_DOWN] / s[_A_N_DOWN] - cut <= mean - bound:
        s[_A_N_DOWN], s[_A_SUM_DOWN] = n, s[_A_SUM]
    rise = mean - s[_A_SUM_UP] / s[_A_N_UP]
    level = STABLE
    if _means_differ(s[_A_N_UP], n, rise, p[_HDDM_DRIFT]):
        s[:HDDM_A_SIZE] = 0.0
        return DRIFT
    if _means_differ(s[_A_N_UP], n, rise, p[_HDDM_WARNING]):
        level = WARNING
    if p[_HDDM_TWO_SIDED] != 0.0:
        fall = s[_A_SUM_DOWN] / s[_A_N_DOWN] - mean
        if _means_differ(s[_A_N_DOWN], n, fall, p[_HDDM_DRIFT]):
            s[:HDDM_A_SIZE] = 0.0
    return level


# ---------------------------------------------------------------------------------------------- HDDM-W

# Weighted mean of all values and the sum of squared weights, -1 before the first; then for a rise: the cut, and mean
# and weights up to it and after it; then the same for a fall, for which values count with the other sign.
_W_MEAN, _W_WEIGHTS, _W_UP = range(3)
_W_CUT, _W_BEFORE, _W_BEFORE_WEIGHTS, _W_AFTER, _W_AFTER_WEIGHTS, _W_SIDE = range(6)
_W_NONE = -2.0  # no mean of values, nor of negated ones, is that small
HDDM_W_SIZE = _W_UP + 2 * _W_SIDE


@kernel(inline=False)
def _hddm_w_start(s):
    s[:HDDM_W_SIZE] = 0.0
    s[_W_MEAN] = _W_NONE
    for side in range(2):
        own = _W_UP + side * _W_SIDE
        s[own + _W_CUT] = np.inf
        s[own + _W_BEFORE] = s[own + _W_AFTER] = _W_NONE


@kernel(inline=False)
def _hddm_w_add(s, mean, weights, value, weight):
    """Add a value to a weighted mean."""
    if s[mean] == _W_NONE:
        s[mean] = value
        s[weights] = 1.0
    else:
        rest = 1.0 - weight
        s[mean] = weight * value + rest * s[mean]
        s[weights] = weight * weight + rest * rest * s[weights]


@kernel(inline=False)
def _hddm_w_side(p, s, own, sign, value):
    """Follow one side: where the bound on the mean is least, there the cut is."""
    mean = sign * s[_W_MEAN]
    bound = math.sqrt(s[_W_WEIGHTS] * math.log(1.0 / p[_HDDM_DRIFT]) / 2.0)
    if mean + bound < s[own + _W_CUT]:
        s[own + _W_CUT] = mean + bound
        s[own + _W_BEFORE] = mean
        s[own + _W_BEFORE_WEIGHTS] = s[_W_WEIGHTS]
        s[own + _W_AFTER] = _W_NONE
    else:
        _hddm_w_add(s, own + _W_AFTER, own + _W_AFTER_WEIGHTS, sign * value, p[_HDDM_WEIGHT])


@kernel(inline=False)
def _hddm_w_differs(s, own, confidence):
    if s[own + _W_AFTER] == _W_NONE:
        return False
    weights = s[own + _W_BEFORE_WEIGHTS] + s[own + _W_AFTER_WEIGHTS]
    return s[own + _W_AFTER] - s[own + _W_BEFORE] > math.sqrt(weights * math.log(1.0 / confidence) / 2.0)


@kernel(inline=False)
def _hddm_w(p, s, value):
    _hddm_w_add(s, _W_MEAN, _W_WEIGHTS, value, p[_HDDM_WEIGHT])
    _hddm_w_side(p, s, _W_UP, 1.0, value)
    level = STABLE
    if _hddm_w_differs(s, _W_UP, p[_HDDM_DRIFT]):
        _hddm_w_start(s)
        return DRIFT
    if _hddm_w_differs(s, _W_UP, p[_HDDM_WARNING]):
        level = WARNING
    if p[_HDDM_TWO_SIDED] != 0.0:
        down = _W_UP + _W_SIDE
        _hddm_w_side(p, s, down, -1.0, value)
        if _hddm_w_differs(s, down, p[_HDDM_DRIFT]):
            _hddm_w_start(s)
    return level


# ---------------------------------------------------------------------------------------------- Page-Hinkley

_PH_MIN_VALUES, _PH_DELTA, _PH_THRESHOLD, _PH_ALPHA, _PH_UP, _PH_DOWN, _PH_FROM_ZERO = range(OWN, OWN + 7)
# One more than the values taken in; their mean; faded sums of the differences and their least, for rise and fall.
_PH_N, _PH_MEAN, _PH_SUM, _PH_LEAST, _PH_SUM_DOWN, _PH_LEAST_DOWN, PAGE_HINKLEY_SIZE = range(7)


@kernel(inline=False)
def _page_hinkley_start(s):
    s[:PAGE_HINKLEY_SIZE] = 0.0
    s[_PH_N] = 1.0
    s[_PH_LEAST] = s[_PH_LEAST_DOWN] = np.inf


@kernel(inline=False)
def _page_hinkley(p, s, value):
    mean = s[_PH_MEAN] + (value - s[_PH_MEAN]) / s[_PH_N]
    s[_PH_MEAN] = mean
    s[_PH_SUM] = p[_PH_ALPHA] * s[_PH_SUM] + (value - mean - p[_PH_DELTA])
    s[_PH_SUM_DOWN] = p[_PH_ALPHA] * s[_PH_SUM_DOWN] + (mean - value - p[_PH_DELTA])
    s[_PH_N] += 1
    s[_PH_LEAST] = min(s[_PH_LEAST], s[_PH_SUM])
    s[_PH_LEAST_DOWN] = min(s[_PH_LEAST_DOWN], s[_PH_SUM_DOWN])
    if s[_PH_N] < p[_PH_MIN_VALUES]:
        return STABLE
    rise, fall = s[_PH_SUM], s[_PH_SUM_DOWN]
    if p[_PH_FROM_ZERO] == 0.0:
        rise -= s[_PH_LEAST]
        fall -= s[_PH_LEAST_DOWN]
    if (p[_PH_UP] != 0.0 and rise > p[_PH_THRESHOLD]) or (p[_PH_DOWN] != 0.0 and fall > p[_PH_THRESHOLD]):
        _page_hinkley_start(s)
        return DRIFT
    return STABLE


# ---------------------------------------------------------------------------------------------- KSWIN

_KS_WINDOW, _KS_STAT, _KS_CRITICAL = range(OWN, OWN + 3)
# Values taken in; values in the window; seed and number of draws; the latest distance, in values; then the window's
# values in order of size, then when each of them came.
KS_TIME, KS_FILLED, KS_SEED, KS_DRAWS, KS_DISTANCE, KS_HEAD = range(6)
_GOLDEN, _MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_11, _27, _30, _31 = (np.uint64(bits) for bits in (11, 27, 30, 31))


@kernel(inline=True)
def _uniform(seed, draw):
    """Give the draw of that number ~ U[0, 1): SplitMix64 of G. Steele and others, 2014."""
    z = np.uint64(np.int64(seed)) * _MIX_2 + np.uint64(np.int64(draw)) * _GOLDEN
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    z = z ^ (z >> _31)
    return np.int64(z >> _11) * 2.0**-53


@kernel(inline=False)
def _kswin(p, s, value):
    window, stat = int(p[_KS_WINDOW]), int(p[_KS_STAT])
    values, came = KS_HEAD, KS_HEAD + window
    time = s[KS_TIME]
    s[KS_TIME] = time + 1.0
    filled = int(s[KS_FILLED])
    place = 0
    if filled < window:
        place = filled
        filled += 1
        s[KS_FILLED] = filled
    else:
        while s[came + place] != time - window:  # the oldest makes room
            place += 1
    while place > 0 and s[values + place - 1] > value:
        s[values + place] = s[values + place - 1]
        s[came + place] = s[came + place - 1]
        place -= 1
    while place < filled - 1 and s[values + place + 1] < value:
        s[values + place] = s[values + place + 1]
        s[came + place] = s[came + place + 1]
        place += 1
    s[values + place] = value
    s[came + place] = time
    s[KS_DISTANCE] = 0.0
    if filled < window:
        return STABLE
    # One walk through the values in order: each of the older ones is in the sample with the chance that makes all
    # samples of `stat` of them equally likely (Knuth's selection sampling), and the distance is known at the end.
    newest = time - stat
    wanted, left = stat, window - stat
    difference, distance = 0, 0
    draws = s[KS_DRAWS]
    for k in range(window):
        if s[came + k] > newest:
            difference += 1
        else:
            if wanted > 0:
                draws += 1.0
                if _uniform(s[KS_SEED], draws) * left < wanted:
                    wanted -= 1
                    difference -= 1
            left -= 1
        if k == window - 1 or s[values + k + 1] != s[values + k]:
            distance = max(distance, abs(difference))
    s[KS_DRAWS] = draws
    s[KS_DISTANCE] = distance
    if distance < p[_KS_CRITICAL]:
        return STABLE
    kept = 0
    for k in range(window):  # the latest stay
        if s[came + k] > newest:
            s[values + kept] = s[values + k]
            s[came + kept] = s[came + k]
            kept += 1
    for k in range(kept, window):
        s[values + k] = s[came + k] = 0.0
    s[KS_FILLED] = kept
    return DRIFT


# ---------------------------------------------------------------------------------------------- all of them


@kernel
def restart(kind, state):
    """Set up a state as it is before the first value (KSWIN's seed is the caller's to give)."""
    state[:] = 0.0
    if kind == DDM:
        _ddm_start(state)
    elif kind == DDM_OCI:
        _oci_start(state)
    elif kind == HDDM_W:
        _hddm_w_start(state)
    elif kind == PAGE_HINKLEY:
        _page_hinkley_start(state)


@kernel(inline=True)
def step(kind, settings, state, value):
    """Take in a value that fits the detector; says STABLE, WARNING or DRIFT, or ROOM and changes nothing."""
    if kind == ADWIN:
        return _adwin(settings, state, value)
    if kind == DDM:
        return _ddm(settings, state, value)
    if kind == EDDM:
        return _eddm(settings, state, value)
    if kind == DDM_OCI:
        return _ddm_oci(settings, state, value)
    if kind == HDDM_A:
        return _hddm_a(settings, state, value)
    if kind == HDDM_W:
        return _hddm_w(settings, state, value)
    if kind == PAGE_HINKLEY:
        return _page_hinkley(settings, state, value)
    return _kswin(settings, state, value)


@kernel
def run(kind, settings, state, values, levels, start, level):
    """Take in values from ``start`` on and write what each of them made the detector say.

    NaN is passed over: a drift is over then, a warning, given by ``level`` at the start, goes on. Returns the position
    at which the state needs room, or the number of values.
    """
    if kind == ADWIN:
        return _adwin_run(settings, state, values, levels, start)
    for i in range(start, values.size):
        value = values[i]
        if value != value:
            level = WARNING if level == WARNING else STABLE
        else:
            level = step(kind, settings, state, value)
            if level < 0:
                return i
        levels[i] = level
    return values.size


@kernel
def all_fit(values, low, high, whole, skip):
    """Whether all values lie between two numbers, and are whole if they have to; NaN does where it is skipped."""
    unfit = 0
    for value in values:
        unfit += not ((low <= value <= high) or (skip and value != value))
    if whole:
        for value in values:
            unfit += not (value == math.floor(value) or value != value)
    return unfit == 0


@intrinsic
def _at(typing, address, size, kind):
    """The array of some numbers of a kind at an address."""
    array = types.Array(kind.dtype, 1, "C")

    def generate(context, builder, sig, args):
        return array_at(context, builder, array, args[0], [args[1]])

    return array(types.intp, types.intp, kind), generate


# Unlike all other kernels it keeps the interpreter lock: to let go of it and take it again would cost as much as the
# step, and this way two threads cannot tear the state.
@kernel(inline=False, nogil=False)
def _one(table, value):
    """Take in a single value, if it fits; ``table`` is the address of kind, settings and state."""
    places = _at(np.int64(table), 5, np.int64)
    settings = _at(places[1], places[2], np.float64)
    if not (settings[LOW] <= value <= settings[HIGH]) or (settings[WHOLE] != 0.0 and value != math.floor(value)):
        return REFUSED
    return step(places[0], settings, _at(places[3], places[4], np.float64), value)


class One:
    """Calls :func:`step` with plain numbers, one at a time, as quickly as Python can call.

    Parameters
    ----------
    kind : int
    settings, state : ndarray of float64
        Kept alive; the state is the caller's, changed in place.
    """

    def __init__(self, kind, settings, state):
        self.state = state
        self._settings = settings
        self._table = np.array([kind, settings.ctypes.data, settings.size, state.ctypes.data, state.size], np.int64)
        # To look at an array takes numba some 60 ns, at a whole number 25, at a float next to nothing; floats hold
        # addresses exactly. And a method is called faster than a partial.
        self.call = MethodType(compiled(_one, 0.0, 0.0).entry_point, float(self._table.ctypes.data))
