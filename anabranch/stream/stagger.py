"""The STAGGER concepts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anabranch.stream.base import whole_number
from anabranch.stream.generator import Block, KernelGenerator, empty_block


class STAGGER(KernelGenerator):
    """Three nominal features of three values each, and three concepts over them.

    The features are size (small, medium, large), colour (red, blue, green) and shape (circle, square,
    triangle), each value equally likely; rows hold their codes 0, 1, 2 in this order. Class 1 is

    1. small and red;
    2. green or a circle;
    3. medium or large.

    Parameters
    ----------
    function : {1, 2, 3}
        Which concept holds.
    balanced : bool
        Let the classes take turns, class 1 first; rows within a class stay as they are.
    seed : int
        Seed of the rows.
    n_rows : int, optional
        Number of rows; endless if left out.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    References
    ----------
    .. [1] J. C. Schlimmer, R. H. Granger, "Incremental Learning from Noisy Data", Machine Learning 1, 1986.

    Examples
    --------
    >>> stream = STAGGER(function=2)
    >>> stream.feature_names, stream.nominal_features
    (['size', 'colour', 'shape'], [0, 1, 2])
    >>> X, y = stream.take(1000)
    >>> bool(((X[:, 1] == 2) | (X[:, 2] == 0) == (y == 1)).all())
    True
    """

    n_features = 3

    def __init__(self, function: int = 1, balanced: bool = False, seed: int = 1, n_rows: int | None = None) -> None:
        self.function = whole_number("function", function, 1)
        if self.function > 3:
            raise ValueError(f"function must be 1, 2 or 3, got {function!r}")
        self.balanced = bool(balanced)
        super().__init__(seed, n_rows)
        self.feature_names = ["size", "colour", "shape"]
        self.nominal_features = [0, 1, 2]
        self.classes = np.arange(2)

    def _block(self, rng: npt.NDArray[np.uint64], start: int, n: int) -> Block:
        from anabranch.kernels import streams as kernels

        X, y = empty_block(n, 3)
        kernels.stagger(rng, X, y, self.function, self.balanced)
        return X, y
