"""PUFE in plain NumPy: completion by the nuclear norm, and the ensemble over a grid of mixtures, row by row.

As the docstring of :class:`anabranch.evolving.PUFEClassifier` has it. The completion is done by another algorithm than
there, Soft-Impute (Mazumder, Hastie and Tibshirani, 2010), which has the same minimum.
"""

import numpy as np
import reference_fesl as fesl


def soft_impute(matrix, shrinkage, centred=True, rounds=20_000):
    """Fill in what is NaN; one line per column of the data."""
    matrix = np.array(matrix, float)
    known = ~np.isnan(matrix)
    means, scales = np.zeros(len(matrix)), np.ones(len(matrix))
    for j in range(len(matrix)):
        values = matrix[j, known[j]]
        if centred and len(values):
            means[j] = values.mean()
        if len(values) and np.any(values != means[j]):
            scales[j] = np.sqrt(np.mean((values - means[j]) ** 2))
    scaled = np.where(known, (matrix - means[:, None]) / scales[:, None], 0.0)
    penalty = shrinkage * np.linalg.svd(scaled, compute_uv=False)[0]
    filled = scaled.copy()
    for _ in range(rounds):
        left, values, right = np.linalg.svd(filled, full_matrices=False)
        low = left * np.maximum(values - penalty, 0.0) @ right
        before, filled = filled, np.where(known, scaled, low)
        if np.abs(filled - before).max() < 1e-13:
            break
    return np.where(known, matrix, filled * scales[:, None] + means[:, None])


def learn(kind, X, y, d1, change, filled, c):
    """Predictions for rows whose first ``d1`` columns are gone from row ``change`` on; no intercept.

    ``filled`` is the completed overlap, one line per column. Returns predictions; losses of the mixtures, and of what
    was predicted; and the recovered model's share before each row of the second space.
    """
    n = len(y)
    old, new = np.nan_to_num(X[:, :d1]), np.nan_to_num(X[:, d1:])
    predictions, w1 = np.zeros(n), np.zeros(d1)
    for t in range(change):
        predictions[t] = f = w1 @ old[t]
        w1 = w1 - fesl.gradient(kind, f, y[t], old[t]) / (c * np.sqrt(t + 1))
    mapping = np.linalg.pinv(filled[d1:].T, rcond=1e-6) @ filled[:d1].T
    rounds, parts = n - change, np.arange(11) / 10
    eta = np.sqrt(8 * np.log(11) / rounds)
    w2 = np.zeros(X.shape[1] - d1)
    losses, suffered, shares = np.zeros(11), 0.0, np.zeros(rounds)
    for t in range(change, n):
        x = new[t]
        recovered = x @ mapping
        f1, f2 = w1 @ recovered, w2 @ x
        weights = np.exp(-eta * (losses - losses.min()))
        weights /= weights.sum()
        mixtures = parts * f1 + (1 - parts) * f2
        predictions[t] = p = weights @ mixtures
        shares[t - change] = weights @ parts
        losses += [fesl.loss(kind, f, y[t]) for f in mixtures]
        suffered += fesl.loss(kind, p, y[t])
        step = 1 / (c * np.sqrt(t - change + 1))
        w1 = w1 - step * fesl.gradient(kind, f1, y[t], recovered)
        w2 = w2 - step * fesl.gradient(kind, f2, y[t], x)
    return predictions, losses, suffered, shares
