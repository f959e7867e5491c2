"""What is common to methods that keep the minority of past chunks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anabranch.base import Part
from anabranch.kernels.nearest import nearest
from anabranch.schema import Codes, Floats

__all__ = ["Minority", "columns_of", "filled", "means_of", "neighbours", "rarest", "signs", "wanted"]


def rarest(y: Codes) -> int:
    """Code of the class that has the fewest rows, of those that have any; the first among equals."""
    codes, counts = np.unique(y, return_counts=True)
    return int(codes[counts.argmin()])


def signs(y: Codes, said: Codes, minority: int) -> tuple[Codes, Floats]:
    """Truth and answers about the minority, as :func:`~anabranch.imbalance._errors.error_of` takes them.

    The truth is 1 for the minority and -1 for any other class. An answer that takes one of the other classes for
    another of them is 0: wrong, but not in favour of the minority.
    """
    truth = np.where(y == minority, 1, -1)
    wrong = np.where(said == minority, 1.0, np.where(y == minority, -1.0, 0.0))
    return truth, np.where(said == y, truth, wrong)


def means_of(X: Floats) -> Floats:
    """Mean of what there is in each column; 0 where there is nothing."""
    known = ~np.isnan(X)
    means: Floats = np.where(known, X, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return means


def filled(X: Floats, means: Floats) -> Floats:
    """Rows with the means in place of gaps."""
    return np.where(np.isnan(X), means, X)


def columns_of(X: Floats, columns: NDArray[np.int64]) -> Floats:
    """Some columns of rows; one that is not there counts as missing."""
    if len(columns) and columns[-1] >= X.shape[1]:
        X = _widened(X, int(columns[-1]) + 1)
    return np.ascontiguousarray(X[:, columns])


def neighbours(X: Floats, Y: Floats, k: int, own: bool = False) -> NDArray[np.int64]:
    """The k rows of Y that are nearest to each row of X, nearest first; fewer if there are fewer.

    With ``own``, X is Y, and a row is not its own neighbour.
    """
    found = np.empty((len(X), min(k, len(Y) - own)), np.int64)
    if found.size:
        nearest(np.ascontiguousarray(X), np.ascontiguousarray(Y), found.shape[1], own, found)
    return found


def wanted(n_stored: int, n_minority: int, n_rows: int, share: float) -> int:
    """How many stored rows of the minority a chunk takes in: all there are, while they are few.

    The paper's condition f > (t - 1) * gamma says that of the earlier t - 1 chunks: gamma times the rows of a chunk
    is its minority. Here the rows stored are counted instead, as chunks need not be alike.
    """
    if share * n_rows > n_stored:
        return n_stored
    return min(n_stored, max(0, int(np.floor((share - n_minority / n_rows) * n_rows + 0.5))))


class Minority(Part):
    """Rows that were the minority of past chunks, oldest first.

    Attributes
    ----------
    X : float64 (n, d)
    y : int64 (n,)
        Their classes: the minority need not be the same one for ever.
    w : float64 (n,)
    chunk : int64 (n,)
        Numbers of the chunks they come from.
    """

    def __init__(self) -> None:
        self.X, self.w = np.zeros((0, 0)), np.zeros(0)
        self.y, self.chunk = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.y)

    def add(self, X: Floats, y: Codes, w: Floats, chunk: int, most: int | None) -> None:
        """Keep rows; if there are more than ``most``, the oldest ones go."""
        rows = np.vstack([_widened(self.X, X.shape[1]), X])
        columns = (rows, *(np.concatenate(pair) for pair in ((self.y, y), (self.w, w))))
        chunks = np.concatenate([self.chunk, np.full(len(y), chunk)])
        first = 0 if most is None else max(0, len(chunks) - most)
        self.X, self.y, self.w, self.chunk = (column[first:].copy() for column in (*columns, chunks))

    def of(self, code: int, width: int) -> tuple[Floats, Floats, Codes]:
        """Rows of a class with so many columns, their weights and chunks."""
        mine = self.y == code
        return _widened(self.X[mine], width), self.w[mine], self.chunk[mine]

    def drop(self, gone: NDArray[np.bool_]) -> None:
        """Forget rows."""
        keep = ~gone
        self.X, self.y, self.w, self.chunk = self.X[keep], self.y[keep], self.w[keep], self.chunk[keep]


def _widened(X: Floats, width: int) -> Floats:
    if X.shape[1] >= width:
        return X
    return np.hstack([X, np.full((len(X), width - X.shape[1]), np.nan)])
