"""The SEA concepts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anabranch.stream.base import number_between, whole_number
from anabranch.stream.generator import Block, KernelGenerator, empty_block, of_classes, random_from

_THRESHOLDS = {1: 8.0, 2: 9.0, 3: 7.0, 4: 9.5}


class SEA(KernelGenerator):
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
    minority_share : float, optional
        Share of class 1, from 0 to 1, that every `chunk_rows` rows hold exactly (rounded), at random places.
        Rows within a class stay as they are. The evaluation of DWMIL has 0.05. If left out, the share is what
        the threshold makes it.
    chunk_rows : int
        Rows in which the share holds, counted from the beginning of the stream.
    seed : int
        Seed of the rows. Streams that differ in function, threshold or noise alone have the same X, unless a
        share is set.
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
    >>> [int(y.sum()) for X, y in SEA(threshold=15, minority_share=0.05, n_rows=3000).chunks(1000)]
    [50, 50, 50]
    """

    n_features = 3

    def __init__(
        self,
        function: int = 1,
        threshold: float | None = None,
        noise: float = 0.0,
        minority_share: float | None = None,
        chunk_rows: int = 1000,
        seed: int = 1,
        n_rows: int | None = None,
    ) -> None:
        self.function = whole_number("function", function, 1)
        if self.function not in _THRESHOLDS:
            raise ValueError(f"function must be 1, 2, 3 or 4, got {function!r}: give any other as threshold")
        self.threshold = None if threshold is None else number_between("threshold", threshold, 0, 20)
        self.noise = number_between("noise", noise, 0, 1)
        self.minority_share = None if minority_share is None else number_between("minority_share", minority_share, 0, 1)
        self.chunk_rows = whole_number("chunk_rows", chunk_rows, 1)
        super().__init__(seed, n_rows)
        self.classes = np.arange(2)
        if minority_share is not None:
            self._block_rows = self.chunk_rows

    def _block(self, rng: npt.NDArray[np.uint64], start: int, n: int) -> Block:
        if self.minority_share is None:
            return self._rows(rng, n)
        wanted = np.zeros(n, np.int64)
        wanted[: round(self.minority_share * n)] = 1
        wanted = random_from(self.seed, (2, start // n)).permutation(wanted)
        return of_classes(lambda n: self._rows(rng, n), wanted, self.name)

    def _rows(self, state: npt.NDArray[np.uint64], n: int) -> Block:
        from anabranch.kernels import streams as kernels

        X, y = empty_block(n, 3)
        threshold = _THRESHOLDS[self.function] if self.threshold is None else self.threshold
        kernels.sea(state, X, y, threshold, self.noise)
        return X, y
