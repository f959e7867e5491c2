"""What a stream is: rows handed out in chunks of any size, as often as asked."""

from __future__ import annotations

import abc
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Labels: TypeAlias = npt.NDArray[Any]
Chunk: TypeAlias = tuple[Any, Labels]


class Stream(abc.ABC):
    """Rows and their labels, in order, handed out in chunks.

    A stream holds parameters, not a position: every call of `chunks` starts afresh, so that one stream can
    feed any number of learners. The rows never depend on the sizes of the chunks.

    A subclass sets the attributes below and writes one method, ``_chunks(size, skip)``, which may rely on
    ``size >= 1`` and ``skip >= 0``.

    Attributes
    ----------
    name : str
        Short name for tables, such as ``"electricity"`` or ``"RandomRBF(seed=1)"``.
    n_rows : int or None
        Number of rows; None if endless or not known beforehand.
    n_features : int or None
        Number of columns of X; None if not known beforehand.
    feature_names : list of str or None
        Names of the columns of X, where they have any.
    nominal_features : list of int
        Where chunks are arrays: indices of the columns that hold nominal codes.
    classes : ndarray or None
        The labels in sorted order, if known beforehand.
    endless : bool
        Whether rows never end, so that someone else has to say how many are wanted.

    Examples
    --------
    >>> import numpy as np
    >>> class Counting(Stream):
    ...     name, n_rows, n_features = "counting", 5, 1
    ...     def _chunks(self, size, skip):
    ...         for start in range(skip, self.n_rows, size):
    ...             y = np.arange(start, min(start + size, self.n_rows))
    ...             yield y[:, None].astype(float), y % 2
    >>> [y.tolist() for X, y in Counting().chunks(2)]
    [[0, 1], [0, 1], [0]]
    """

    name: str
    n_rows: int | None = None
    n_features: int | None = None
    feature_names: list[str] | None = None
    nominal_features: Sequence[int] = ()
    classes: Labels | None = None
    endless: bool = False

    def chunks(self, size: int = 1000, skip: int = 0) -> Iterator[Chunk]:
        """Hand out the rows from row `skip` on, `size` at a time.

        Parameters
        ----------
        size : int
            Rows per chunk; only the last chunk may be shorter.
        skip : int
            Number of rows left out at the beginning.

        Returns
        -------
        iterator of (X, y)
            X is a C-contiguous float64 array of shape (n, n_features) or a data frame, y an array of shape
            (n,).

        Raises
        ------
        ValueError
            If `size` is below 1 or `skip` below 0.
        """
        return self._chunks(whole_number("size", size, 1), whole_number("skip", skip, 0))

    def take(self, n: int, skip: int = 0) -> Chunk:
        """Return `n` rows from row `skip` on as one chunk; fewer, if the stream ends before.

        Raises
        ------
        ValueError
            If the stream has no row number `skip`, or an argument is out of range.
        """
        n = whole_number("n", n, 1)
        for chunk in self.chunks(n, skip):
            return chunk
        raise ValueError(f"stream {self.name!r} ends before row {skip}: skip fewer rows")

    @abc.abstractmethod
    def _chunks(self, size: int, skip: int) -> Iterator[Chunk]:
        """Hand out the rows; the arguments have been checked."""


def whole_number(name: str, value: Any, least: int) -> int:
    """Return `value` as an int of at least `least`, or raise a ValueError that names the parameter.

    >>> whole_number("size", 0, 1)
    Traceback (most recent call last):
        ...
    ValueError: size must be a whole number of at least 1, got 0
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return number


def number_between(name: str, value: Any, lowest: float, highest: float) -> float:
    """Return `value` as a float from `lowest` to `highest`, or raise a ValueError that names the parameter.

    >>> number_between("noise", 1.5, 0, 1)
    Traceback (most recent call last):
        ...
    ValueError: noise must be a number from 0 to 1, got 1.5
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not lowest <= number <= highest or not np.isfinite(number):
        what = f"from {lowest:g} to {highest:g}" if np.isfinite(highest) else f"of at least {lowest:g}"
        raise ValueError(f"{name} must be a number {what}, got {value!r}")
    return number


def rechunk(
    parts: Iterable[Chunk], size: int, skip: int, join: Callable[[list[Any]], Any] = np.concatenate
) -> Iterator[Chunk]:
    """Cut and join parts of any length into chunks of `size` rows, leaving out the first `skip`.

    Parts are sliced, which costs nothing, and joined only where a chunk spans two of them.

    Parameters
    ----------
    parts : iterable of (X, y)
        X is whatever slices by rows and has a length that ``y`` shares.
    size, skip : int
        Rows per chunk; rows left out at the beginning.
    join : callable
        Joins a list of X into one.

    >>> import numpy as np
    >>> parts = [(np.zeros((3, 1)), np.arange(3)), (np.zeros((4, 1)), np.arange(3, 7))]
    >>> [y.tolist() for X, y in rechunk(parts, 2, skip=1)]
    [[1, 2], [3, 4], [5, 6]]
    """
    held: list[Chunk] = []
    n_held = 0
    for X, y in parts:
        start = min(skip, len(y))
        skip -= start
        while start < len(y):
            stop = min(start + size - n_held, len(y))
            held.append((X[start:stop], y[start:stop]))
            n_held += stop - start
            start = stop
            if n_held == size:
                yield _joined(held, join)
                held, n_held = [], 0
    if held:
        yield _joined(held, join)


def _joined(held: list[Chunk], join: Callable[[list[Any]], Any]) -> Chunk:
    if len(held) == 1:
        return held[0]
    return join([X for X, _ in held]), np.concatenate([y for _, y in held])
