"""The SEA concepts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anabranch.stream.base import whole_number
from anabranch.stream.generator import Generator

_THRESHOLDS = {1: 8.0, 2: 9.0, 3: 7.0, 4: 9.5}


class SEA(Generator):
    """Three features ~ U(0, 10), of which two decide: class 1 if and only if x0 + x1 > threshold.

    Parameters
    ----------
    function : {1, 2, 3, 4}
        Which of the published thresholds holds: 8, 9, 7 and 9.5, numbered as in MOA.
    threshold : float, optional
        Another threshold between 0 and 20, in place of the function's. The evaluation of DWMIL [2]_ switches
        between 15 and 5.
    noise : float
        Share of rows whose class is turned around, from 0 to 1. The default is none; MOA's is 0.1.
    seed : int
        Seed of the rows. Streams that differ in function, threshold or noise alone have the same X.
    n_rows : int, optional
        Number of rows; endless if left out.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    References
    ----------
    .. [1] W. N. Street, Y. Kim, "A streaming ensemble algorithm (SEA) for large-scale classification",
       KDD 2001.
    .. [2] Y. Lu, Y.-m. Cheung, Y. Y. Tang, "Dynamic Weighted Majority for Incremental Learning of Imbalanced
       Data Streams with Concept Drift", IJCAI 2017.

    Examples
    --------
    >>> X, y = SEA(function=3, seed=4).take(1000)
    >>> bool(((X[:, 0] + X[:, 1] > 7) == (y == 1)).all())
    True
    """

    n_features = 3

    def __init__(
        self,
        function: int = 1,
        threshold: float | None = None,
        noise: float = 0.0,
        seed: int = 1,
        n_rows: int | None = None,
    ) -> None:
        self.function = whole_number("function", function, 1)
        if self.function not in _THRESHOLDS:
            raise ValueError(f"function must be 1, 2, 3 or 4, got {function!r}: give any other as threshold")
        self.threshold = None if threshold is None else _in_range("threshold", threshold, 20.0)
        self.noise = _in_range("noise", noise, 1.0)
        super().__init__(seed, n_rows)
        self.classes = np.arange(2)

    def _block(self, rng: np.random.Generator, n: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        X = rng.random((n, 3))
        X *= 10.0
        threshold = _THRESHOLDS[self.function] if self.threshold is None else self.threshold
        y = X[:, 0] + X[:, 1] > threshold
        if self.noise > 0.0:
            y ^= rng.random(n) < self.noise
        return X, y.astype(np.int64)


def _in_range(name: str, value: float, highest: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0.0 <= number <= highest:
        raise ValueError(f"{name} must be a number from 0 to {highest:g}, got {value!r}")
    return number
