"""A checkerboard that turns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anabranch.stream.base import number_between, whole_number
from anabranch.stream.generator import Block, Generator, thinned


class RotatingCheckerboard(Generator):
    """Points ~ U(0, 1)^2 on a checkerboard that turns about the origin, a little from row to row.

    A point is turned by the angle of its row, and is of class 1 if the numbers of its square along the two axes have
    an even sum, where squares are counted from 1 along the first axis and from 0 along the second.

    Parameters
    ----------
    side : float
        Side of a square, above 0.
    rows_per_turn : int
        Rows in which the board turns once.
    minority_share : float, optional
        Rows of class 1 are dropped at random such that, of classes as frequent as each other, this share would be
        left to it; from 0 to 0.5. As the colours' shares of the window change while the board turns, so does the
        class's. If left out, all rows stay.
    seed : int
        Seed of the rows.
    n_rows : int, optional
        Number of rows; endless if left out.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Notes
    -----
    The defaults are like the stream *checkerboard* in the evaluation of DWMIL [2]_: 200 chunks of 1,500 rows in a
    turn, squares of 0.5, 5 %. In its published file the chunks have 1,164 to 1,864 rows; a board of this form, turned
    by 2 pi / 200 per chunk, explains 98.6 % of the labels.

    References
    ----------
    .. [1] L. I. Kuncheva, C. J. Whitaker, "Using control charts for detecting concept change in streaming data",
       technical report, Bangor University, 2009.
    .. [2] Y. Lu, Y.-m. Cheung, Y. Y. Tang, "Dynamic Weighted Majority for Incremental Learning of Imbalanced
       Data Streams with Concept Drift", IJCAI 2017.

    Examples
    --------
    >>> X, y = RotatingCheckerboard(minority_share=None, rows_per_turn=10**9).take(1000)
    >>> bool((((X[:, 0] < 0.5) != (X[:, 1] < 0.5)) == (y == 1)).all())
    True
    """

    n_features = 2

    def __init__(
        self,
        side: float = 0.5,
        rows_per_turn: int = 300_000,
        minority_share: float | None = 0.05,
        seed: int = 1,
        n_rows: int | None = None,
    ) -> None:
        self.side = number_between("side", side, 1e-6, np.inf)
        self.rows_per_turn = whole_number("rows_per_turn", rows_per_turn, 1)
        self.minority_share = (
            None if minority_share is None else number_between("minority_share", minority_share, 0, 0.5)
        )
        super().__init__(seed, n_rows)
        self.classes = np.arange(2)

    def _block(self, rng: np.random.Generator, start: int, n: int) -> Block:
        # The number within the turn is exact, however far the row.
        angle = (start % self.rows_per_turn + np.arange(n)) % self.rows_per_turn * (2.0 * np.pi / self.rows_per_turn)
        across, along = np.cos(angle), np.sin(angle)

        def rows(index: npt.NDArray[np.int64]) -> Block:
            X = rng.random((len(index), 2))
            u = X[:, 0] * across[index] - X[:, 1] * along[index]
            v = X[:, 0] * along[index] + X[:, 1] * across[index]
            squares = np.ceil(u / self.side) + np.floor(v / self.side)
            return X, (squares % 2 == 0).astype(np.int64)

        if self.minority_share is None:
            return rows(np.arange(n))
        return thinned(rows, rng, n, self.minority_share / (1.0 - self.minority_share))
