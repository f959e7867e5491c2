"""FESL as its paper has it: Algorithms 1 to 3 line by line, and the three baselines, in plain NumPy.

B.-J. Hou, L. Zhang and Z.-H. Zhou, "Learning with feature evolvable streams", NIPS 2017. Models start with zeros;
step sizes are 1 / (c sqrt(t)), as in its experiments; with fewer rows in the overlap than columns, M1 has no inverse,
and the pseudo-inverse takes its place.
"""

import numpy as np

LN2 = np.log(2.0)


def loss(kind, f, y):
    """Logistic loss of a class, y = 1 or -1, or square loss of a number."""
    if kind == "logistic":
        return np.logaddexp(0.0, -y * f) / LN2
    return (y - f) ** 2


def gradient(kind, f, y, x):
    """Gradient of the loss by the weights."""
    if kind == "logistic":
        return -y / (1.0 + np.exp(y * f)) / LN2 * x
    return 2.0 * (f - y) * x


def project(w, radius):
    """Projection onto a ball around 0."""
    norm = np.sqrt(w @ w)
    return w if radius is None or norm <= radius else w * (radius / norm)


def initialize(kind, X1, X2, y, B, c, radius=None):
    """Algorithm 1: rows of the first space, the last B of which show the second one, too."""
    T1, d1 = X1.shape
    d2 = X2.shape[1]
    w1 = np.zeros(d1)  # line 1
    M1, M2 = np.zeros((d2, d2)), np.zeros((d2, d1))
    predictions = np.zeros(T1)
    for t in range(1, T1 + 1):  # line 2
        x = X1[t - 1]
        predictions[t - 1] = f = w1 @ x  # line 3
        tau = 1.0 / (c * np.sqrt(t))  # line 4
        w1 = project(w1 - tau * gradient(kind, f, y[t - 1], x), radius)
        if t > T1 - B:  # line 5
            x2 = X2[t - 1]
            M1 += np.outer(x2, x2)
            M2 += np.outer(x2, x)
    M = np.linalg.pinv(M1, hermitian=True, rcond=1e-12) @ M2  # line 6
    return w1, M, predictions


def entropy(x):
    """Binary entropy, of the natural logarithm."""
    return -x * np.log(x) - (1 - x) * np.log(1 - x)


def evolve(kind, w1, M, X2, y, c, method, radius=None, draws=None):
    """Algorithms 2 ("FESL-c") and 3 ("FESL-s"), or a baseline ("NOGD", "ROGD-u", "ROGD-f"), on the second space.

    Returns predictions; cumulative losses (of both models, of the method); and the weights of both models at each row.
    """
    T2, d2 = X2.shape
    alpha = np.array([0.5, 0.5])  # line 2
    w2 = np.zeros(d2)  # line 3
    if method == "FESL-c":
        eta = np.sqrt(8 * LN2 / T2)
    else:
        delta = 1 / (T2 - 1)
        eta = np.sqrt(8 / T2 * (2 * LN2 + (T2 - 1) * entropy(1 / (T2 - 1))))
    predictions, shares = np.zeros(T2), np.zeros((T2, 2))
    losses = np.zeros((T2, 3))
    for t in range(1, T2 + 1):  # line 4
        x2, target = X2[t - 1], y[t - 1]
        recovered = M.T @ x2
        f = np.array([w1 @ recovered, w2 @ x2])  # line 5
        shares[t - 1] = alpha / alpha.sum()
        if method == "FESL-c":  # line 6: equation (2)
            p = alpha @ f
        elif method == "FESL-s":  # equation (7)
            p = f[0] if draws[t - 1] < alpha[0] / alpha.sum() else f[1]
        else:
            p = f[1] if method == "NOGD" else f[0]
        predictions[t - 1] = p
        suffered = loss(kind, f, target)  # line 7
        losses[t - 1] = [*suffered, loss(kind, p, target)]
        if method == "FESL-c":  # equation (3)
            alpha = alpha * np.exp(-eta * suffered)
            alpha /= alpha.sum()
        elif method == "FESL-s":  # equation (8); only ratios count, so keep them from shrinking to nothing
            v = alpha * np.exp(-eta * suffered)
            alpha = delta * v.sum() / 2 + (1 - delta) * v
            alpha /= alpha.sum()
        tau = 1.0 / (c * np.sqrt(t))  # line 8
        if method != "ROGD-f":
            w1 = project(w1 - tau * gradient(kind, f[0], target, recovered), radius)
        w2 = project(w2 - tau * gradient(kind, f[1], target, x2), radius)
    return predictions, losses.cumsum(axis=0), shares


def splitmix(seed, n):
    """Draws of the library's generator: n numbers from a state."""
    mask = (1 << 64) - 1
    out = []
    state = int(seed)
    for _ in range(n):
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        out.append(((z ^ (z >> 31)) >> 11) / 2.0**53)
        state = (state + 0x9E3779B97F4A7C15) & mask
    return np.array(out)
