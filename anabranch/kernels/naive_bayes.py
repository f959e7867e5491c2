"""Naive Bayes' loops: running Gaussians and counts per class, and the votes that follow from them.

The caller makes room for every class, column and value of a chunk before it starts; room that is not used yet holds
zeros and changes nothing, so the state at any row is the same, however the rows are cut into chunks.
"""

from __future__ import annotations

import math

import numpy as np

from anabranch.kernels import kernel

# Row 0 of `classes` and `moments` is for the rows of all classes together, row c + 1 for those of class c.
#
# Columns of `classes`: weight of the rows; number of numeric columns they had a value in; number of those in which
# none was missing; logarithm of weight times the roots of the precisions, kept up to date at learning, so that a row
# to predict needs no logarithm. In row 0 the last is instead the number of numeric columns whose values differ.
WEIGHT, SEEN, WHOLE, BIAS, CLASSES_SIZE = range(5)
VARIED = BIAS
# A row of `moments` holds per numeric column: weight of the values that were there, mean, sum of squares about the
# mean, and precision (1 / variance; 0 where a column tells nothing; not kept in row 0).
COUNT, MEAN, SQUARES, PRECISION, MOMENTS_SIZE = range(5)
# Columns of `nominal`: the column's place in a row; where its block starts in a row of `cells` (weight of all values,
# then a weight per value); how many values the block has room for; how many values any row had.
COLUMN, START, CAPACITY, VALUES, NOMINAL_SIZE = range(5)

# What `learn` does beside learning: nothing, votes just before each row is learned, or just after.
ONLY_LEARN, TEST_THEN_TRAIN, TRAIN_THEN_TEST = 0, 1, 2

# Below it a variance cannot be told from zero: its inverse, and that times a square, must stay within range.
SMALLEST = 1e-300


@kernel(inline=True)
def _gather(X, i, numeric, nominal, x):
    """Copy row i's numeric values into ``x``; returns whether any is missing."""
    if nominal.shape[0] == 0:
        for j in range(x.size):
            x[j] = X[i, j]
    else:
        for j in range(x.size):
            x[j] = X[i, numeric[j]]
    gaps = 0
    for j in range(x.size):
        gaps += x[j] != x[j]
    return gaps > 0


# ---------------------------------------------------------------------------------------------- prediction


@kernel(inline=True)
def _bias(weight, precisions):
    """Logarithm of a class's weight times the roots of the precisions that are not 0.

    Takes one logarithm for up to sixteen columns: that of a product.
    """
    result = 0.0
    rest = weight * weight  # joins the first product
    for block in range((precisions.size + 15) >> 4):
        some = precisions[block << 4 : (block + 1) << 4]
        a = rest
        b = 1.0
        for pair in range(some.size >> 1):
            p = some[2 * pair]
            q = some[2 * pair + 1]
            a *= p if p > 0.0 else 1.0
            b *= q if q > 0.0 else 1.0
        if some.size & 1:
            p = some[some.size - 1]
            a *= p if p > 0.0 else 1.0
        product = a * b
        if 1e-280 < product < 1e280:
            result += 0.5 * math.log(product)
            rest = 1.0
            continue
        for j in range(some.size):
            if some[j] > 0.0:
                result += 0.5 * math.log(some[j])
    return result if rest == 1.0 else result + math.log(weight)


@kernel(inline=True)
def _distance(means, precisions, x):
    """Sum of (x - mean)^2 * precision over the numeric columns.

    Four partial sums, which nothing reorders, let the processor overlap them. A column's place alone says which it
    joins, so that columns yet to come change nothing.
    """
    n = x.size
    s0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    for four in range(n >> 2):  # written so, the compiler knows that no index is negative
        j = four << 2
        d0 = x[j] - means[j]
        d1 = x[j + 1] - means[j + 1]
        d2 = x[j + 2] - means[j + 2]
        d3 = x[j + 3] - means[j + 3]
        s0 += d0 * d0 * precisions[j]
        s1 += d1 * d1 * precisions[j + 1]
        s2 += d2 * d2 * precisions[j + 2]
        s3 += d3 * d3 * precisions[j + 3]
    rest = n - n % 4
    if rest < n:
        d0 = x[rest] - means[rest]
        s0 += d0 * d0 * precisions[rest]
    if rest + 1 < n:
        d1 = x[rest + 1] - means[rest + 1]
        s1 += d1 * d1 * precisions[rest + 1]
    if rest + 2 < n:
        d2 = x[rest + 2] - means[rest + 2]
        s2 += d2 * d2 * precisions[rest + 2]
    return (s0 + s1) + (s2 + s3)


@kernel(inline=False)
def _score_with_gaps(classes, moments, r, x, scratch):
    """Score of a class where the row lacks a value, or the class lacks values in some column.

    Without a value in the row a column counts for nothing; without one in the class it has the Gaussian of all classes.
    """
    values = scratch[0]
    means = scratch[1]
    precisions = scratch[2]
    for j in range(x.size):
        values[j] = x[j]
        of = r if moments[r, COUNT, j] > 0.0 else 0
        means[j] = moments[of, MEAN, j]
        if x[j] != x[j]:
            values[j] = 0.0
            precisions[j] = 0.0
        elif of > 0:
            precisions[j] = moments[r, PRECISION, j]
        else:
            squares = moments[0, SQUARES, j]
            precisions[j] = 1.0 / max(squares / moments[0, COUNT, j], SMALLEST) if squares > 0.0 else 0.0
    return _bias(classes[r, WEIGHT], precisions) - 0.5 * _distance(means, precisions, values)


@kernel(inline=False)
def _nominal_score(cells, nominal, c, X, i):
    """Sum over the nominal columns of log (weight of the value + 1) / (weight of all values + number of values)."""
    score = 0.0
    product = 1.0  # one logarithm serves several columns
    for a in range(nominal.shape[0]):
        value = X[i, nominal[a, COLUMN]]
        if value != value or nominal[a, VALUES] == 0:
            continue
        start = nominal[a, START]
        met = cells[c, start + 1 + int(value)] if value < nominal[a, CAPACITY] else 0.0
        product *= (met + 1.0) / (cells[c, start] + nominal[a, VALUES])
        if product < 1e-150:
            score += math.log(product)
            product = 1.0
    return score + math.log(product)


@kernel(inline=True)
def _vote(X, i, x, gaps, nominal, classes, moments, cells, scratch, votes):
    """Write row i's votes: the classes' posterior probabilities, but for a common factor."""
    k = min(classes.shape[0] - 1, votes.shape[1])  # there may be room for more classes than are known
    best = -np.inf
    for c in range(k):
        r = c + 1
        score = -np.inf
        if classes[r, WEIGHT] > 0.0:
            if gaps or classes[r, SEEN] != classes[0, SEEN]:
                score = _score_with_gaps(classes, moments, r, x, scratch)
            else:
                score = classes[r, BIAS] - 0.5 * _distance(moments[r, MEAN], moments[r, PRECISION], x)
            if nominal.shape[0]:
                score += _nominal_score(cells, nominal, c, X, i)
        votes[i, c] = score
        if score > best:
            best = score
    if best == -np.inf:  # no class could have brought forth the row: their weights decide
        for c in range(k):
            votes[i, c] = classes[c + 1, WEIGHT]
        return
    for c in range(k):
        votes[i, c] = 1.0 if votes[i, c] == best else math.exp(votes[i, c] - best)


# ---------------------------------------------------------------------------------------------- learning


@kernel(inline=True)
def _precision(count, squares, all_squares, share):
    """1 / variance, which is at least a share of that of all classes (``share`` is var_smoothing / their weight).

    A column whose values have all been the same tells nothing yet.
    """
    floor = all_squares * share
    floor = (floor if floor > SMALLEST else SMALLEST) * count
    precision = count / (squares if squares > floor else floor)
    return precision if all_squares > 0.0 else 0.0


@kernel(inline=True)
def _update(moments, r, x, w, count, all_count, smoothing):
    """Add a row to the figures of its class and of all (Welford's update), where no value is or ever was missing."""
    all_means = moments[0, MEAN]
    all_squares = moments[0, SQUARES]
    means = moments[r, MEAN]
    squares = moments[r, SQUARES]
    precisions = moments[r, PRECISION]
    all_share = w / all_count
    own_share = w / count
    share = smoothing / all_count
    for j in range(x.size):
        value = x[j]
        d = value - all_means[j]
        mean = all_means[j] + d * all_share
        every = all_squares[j] + w * d * (value - mean)
        all_means[j] = mean
        all_squares[j] = every
        d = value - means[j]
        mean = means[j] + d * own_share
        own = squares[j] + w * d * (value - mean)
        means[j] = mean
        squares[j] = own
        precisions[j] = _precision(count, own, every, share)
    moments[0, COUNT] = all_count
    moments[r, COUNT] = count


@kernel(inline=False)
def _update_with_gaps(classes, moments, row, x, w):
    """Add a row to the figures of one class, or all, each column for itself; a missing value adds nothing."""
    classes[row, SEEN] = 0.0
    classes[row, WHOLE] = 0.0
    counts = moments[row, COUNT]
    for j in range(x.size):
        if x[j] == x[j]:
            counts[j] += w
            d = x[j] - moments[row, MEAN, j]
            mean = moments[row, MEAN, j] + d * (w / counts[j])
            moments[row, SQUARES, j] += w * d * (x[j] - mean)
            moments[row, MEAN, j] = mean
        classes[row, SEEN] += counts[j] > 0.0
        classes[row, WHOLE] += counts[j] == classes[row, WEIGHT]


@kernel(inline=False)
def _refresh(classes, moments, r, smoothing):
    """Bring the precisions of a class up to date."""
    for j in range(moments.shape[2]):
        moments[r, PRECISION, j] = 0.0
        if moments[r, COUNT, j] > 0.0:
            share = smoothing / moments[0, COUNT, j]
            moments[r, PRECISION, j] = _precision(
                moments[r, COUNT, j], moments[r, SQUARES, j], moments[0, SQUARES, j], share
            )
    classes[r, BIAS] = _bias(classes[r, WEIGHT], moments[r, PRECISION])


@kernel(inline=True)
def _learn_row(X, i, c, w, x, gaps, smoothing, nominal, classes, moments, cells):
    n = x.size
    r = c + 1
    whole = not gaps
    for row in (0, r):
        whole = whole and (classes[row, WHOLE] == n or classes[row, WEIGHT] == 0.0)
        classes[row, WEIGHT] += w
    if whole:
        _update(moments, r, x, w, classes[r, WEIGHT], classes[0, WEIGHT], smoothing)
        classes[r, SEEN] = classes[r, WHOLE] = classes[0, SEEN] = classes[0, WHOLE] = n
        classes[r, BIAS] = _bias(classes[r, WEIGHT], moments[r, PRECISION])
    else:
        _update_with_gaps(classes, moments, 0, x, w)
        _update_with_gaps(classes, moments, r, x, w)
        _refresh(classes, moments, r, smoothing)
    if classes[0, VARIED] < n:
        varied = 0
        for j in range(n):
            varied += moments[0, SQUARES, j] > 0.0
        if varied != classes[0, VARIED]:  # a column that had one value so far has a second one, and tells something now
            classes[0, VARIED] = varied
            for every in range(1, classes.shape[0]):
                if classes[every, WEIGHT] > 0.0:
                    _refresh(classes, moments, every, smoothing)
    for a in range(nominal.shape[0]):
        value = X[i, nominal[a, COLUMN]]
        if value == value:
            nominal[a, VALUES] = max(nominal[a, VALUES], int(value) + 1)
            cells[c, nominal[a, START]] += w
            cells[c, nominal[a, START] + 1 + int(value)] += w


@kernel
def learn(X, y, w, mode, votes, smoothing, numeric, nominal, classes, moments, cells):
    """Learn rows in order; with votes (n, as many columns as classes) before or after each, by ``mode``."""
    x = np.empty(numeric.size)
    scratch = np.empty((3, numeric.size))
    for i in range(X.shape[0]):
        gaps = _gather(X, i, numeric, nominal, x)
        if mode == TEST_THEN_TRAIN:
            _vote(X, i, x, gaps, nominal, classes, moments, cells, scratch, votes)
        if w[i] > 0.0:
            _learn_row(X, i, y[i], w[i], x, gaps, smoothing, nominal, classes, moments, cells)
        if mode == TRAIN_THEN_TEST:
            _vote(X, i, x, gaps, nominal, classes, moments, cells, scratch, votes)


@kernel
def votes(X, votes, numeric, nominal, classes, moments, cells):
    """Write each row's votes."""
    x = np.empty(numeric.size)
    scratch = np.empty((3, numeric.size))
    for i in range(X.shape[0]):
        gaps = _gather(X, i, numeric, nominal, x)
        _vote(X, i, x, gaps, nominal, classes, moments, cells, scratch, votes)
