"""Two clouds that move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from anabranch.stream.base import number_between, whole_number
from anabranch.stream.generator import Block, Generator

Path: TypeAlias = Sequence[Sequence[float]]


class MovingGaussian(Generator):
    """A majority ~ N(m, I) and a minority ~ N(m', I), both of whose means move along a line, chunk by chunk.

    The defaults are those of the stream *gaussian* in the evaluation of DWMIL [1]_.

    Parameters
    ----------
    majority, minority : sequence of two sequences of float
        Means at the beginning and at the end, as many numbers as there are to be features. Class 0 is the
        majority, class 1 the minority.
    n_chunks : int
        Chunks on the way from the beginning to the end, both included. Later ones go back and forth.
    minority_share : float
        Share of class 1, from 0 to 1, that every chunk holds exactly (rounded), at random places.
    chunk_rows : int
        Rows per chunk.
    seed : int
        Seed of the rows.
    n_rows : int, optional
        Number of rows; endless if left out.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or the means differ in length.

    References
    ----------
    .. [1] Y. Lu, Y.-m. Cheung, Y. Y. Tang, "Dynamic Weighted Majority for Incremental Learning of Imbalanced
       Data Streams with Concept Drift", IJCAI 2017.

    Examples
    --------
    >>> X, y = MovingGaussian().take(1000)
    >>> int(y.sum()), X[y == 1].mean(axis=0).round().astype(int).tolist()
    (50, [7, 0])
    """

    def __init__(
        self,
        majority: Path = ((5.0, 0.0), (-5.0, 0.0)),
        minority: Path = ((7.0, 0.0), (-3.0, 0.0)),
        n_chunks: int = 50,
        minority_share: float = 0.05,
        chunk_rows: int = 1000,
        seed: int = 1,
        n_rows: int | None = None,
    ) -> None:
        self.majority, self.minority = _path("majority", majority), _path("minority", minority)
        self.n_features = len(self.majority[0])
        if len(self.minority[0]) != self.n_features:
            raise ValueError(
                f"majority has means of {self.n_features} numbers, minority of {len(self.minority[0])}: "
                "both need as many as there are features"
            )
        self.n_chunks = whole_number("n_chunks", n_chunks, 1)
        self.minority_share = number_between("minority_share", minority_share, 0, 1)
        self.chunk_rows = whole_number("chunk_rows", chunk_rows, 1)
        super().__init__(seed, n_rows)
        self.classes = np.arange(2)
        self._block_rows = self.chunk_rows

    def _block(self, rng: np.random.Generator, start: int, n: int) -> Block:
        chunk, turn = start // n, self.n_chunks - 1
        way = 0.0
        if turn:
            there, back = divmod(chunk, turn)
            way = (turn - back if there % 2 else back) / turn
        y = np.zeros(n, np.int64)
        y[: round(self.minority_share * n)] = 1
        y = rng.permutation(y)
        begin, end = np.array([[self.majority[i], self.minority[i]] for i in (0, 1)])
        X = rng.standard_normal((n, self.n_features))
        X += (begin + way * (end - begin))[y]
        return X, y


def _path(name: str, means: Path) -> tuple[tuple[float, ...], tuple[float, ...]]:
    try:
        begin, end = (tuple(float(value) for value in mean) for mean in means)
    except (TypeError, ValueError):
        begin = end = ()
    if not begin or len(begin) != len(end) or not np.isfinite(begin + end).all():
        raise ValueError(f"{name} must hold two means of as many numbers, as in ((5, 0), (-5, 0)), got {means!r}")
    return begin, end
