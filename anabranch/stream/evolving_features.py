"""Streams whose columns vanish and come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anabranch.stream.base import Chunk, Stream, number_between, whole_number

_MAPS = ("gaussian", "uniform")

Floats = npt.NDArray[np.float64]


class EvolvingFeatures(Stream):
    """A stream whose sensors are replaced: old columns vanish; new ones, made from them at random, take their place.

    The first space are the stream's own columns. Each later one is a linear map of them, drawn at random; it comes
    `overlap` rows before the one before it vanishes. Chunks are arrays that hold the columns of all spaces one after
    another, with NaN where a column is not there. This is how [1]_ made the synthetic streams of its experiments.

    Parameters
    ----------
    stream : Stream
        A stream of arrays of numbers, without nominal columns.
    overlap : int
        Rows that show a space and the next one together; B in [1]_.
    cycles : int
        Number of changes.
    positions : sequence of int, optional
        Row of each change: the first that does not show the old columns any more. If left out, the spaces last equally
        long, which takes a stream that knows its number of rows.
    n_new : int, optional
        Columns of each new space; 0.7 times those of the stream if left out, rounded down, as in [1]_.
    map : {"gaussian", "uniform"}
        Distribution of the numbers of the maps: standard normal, or uniform between 0 and 1.
    survivors : int
        So many of the stream's columns, the first ones, never vanish.
    early_deaths : float
        Share of the vanishing columns, from 0 to 1, that die before the others: each at a row of the overlap, drawn at
        random, so that there are fewer rows to learn its mapping from.
    seed : int
        Seed of maps and deaths.
    name : str, optional
        Name for tables.

    Attributes
    ----------
    spaces : list of list of int
        Columns of each space, without the survivors.
    maps : list of ndarray
        The maps: a row x of the stream becomes ``x @ map``.

    Raises
    ------
    ValueError
        If the stream has nominal columns or does not know its width, the periods do not fit, or a parameter is out of
        range.

    References
    ----------
    .. [1] B.-J. Hou, L. Zhang and Z.-H. Zhou, "Learning with feature evolvable streams", NIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.stream import Hyperplane
    >>> stream = EvolvingFeatures(Hyperplane(n_rows=1000, n_features=4), overlap=10)
    >>> stream.n_features, stream.spaces, stream.positions
    (6, [[0, 1, 2, 3], [4, 5]], [500])
    >>> X, y = stream.take(3, skip=489)
    >>> np.isnan(X).astype(int)
    array([[0, 0, 0, 0, 1, 1],
           [0, 0, 0, 0, 0, 0],
           [0, 0, 0, 0, 0, 0]])
    """

    def __init__(
        self,
        stream: Stream,
        overlap: int = 10,
        cycles: int = 1,
        positions: Sequence[int] | None = None,
        n_new: int | None = None,
        map: str = "gaussian",
        survivors: int = 0,
        early_deaths: float = 0.0,
        seed: int = 1,
        name: str | None = None,
    ) -> None:
        if not isinstance(stream, Stream):
            raise ValueError(f"stream must be a stream, got {type(stream).__name__}: wrap arrays in ArrayStream")
        if stream.n_features is None or len(stream.nominal_features):
            raise ValueError(
                f"stream {stream.name!r} must hand out arrays of a known number of numeric columns: numbers alone can "
                "be mapped"
            )
        self.stream = stream
        self.overlap = whole_number("overlap", overlap, 0)
        self.cycles = whole_number("cycles", cycles, 1)
        if map not in _MAPS:
            raise ValueError(f"map must be one of {', '.join(repr(kind) for kind in _MAPS)}, got {map!r}")
        self.map = map
        d = stream.n_features
        self.n_new = int(0.7 * d) if n_new is None else whole_number("n_new", n_new, 1)
        if self.n_new < 1:
            raise ValueError(f"stream {stream.name!r} has {d} column(s), of which 0.7 times is none: say n_new")
        self.survivors = whole_number("survivors", survivors, 0)
        if self.survivors >= d:
            raise ValueError(f"survivors must be fewer than the stream's {d} columns, got {survivors!r}")
        self.early_deaths = number_between("early_deaths", early_deaths, 0.0, 1.0)
        self.seed = whole_number("seed", seed, 0)
        self.positions = self._checked(positions)
        self.n_rows, self.endless, self.classes = stream.n_rows, stream.endless, stream.classes
        self.n_features = d + self.cycles * self.n_new
        if stream.feature_names is not None:
            late = [f"space{k + 1}_{j}" for k in range(self.cycles) for j in range(self.n_new)]
            self.feature_names = [*stream.feature_names, *late]
        self.spaces = [list(range(self.survivors, d))]
        self.spaces += [list(range(d + k * self.n_new, d + (k + 1) * self.n_new)) for k in range(self.cycles)]
        self.name = f"{stream.name}, columns replaced" if name is None else name
        rng = np.random.Generator(np.random.PCG64(self.seed))
        size = (d, self.n_new)
        self.maps = [rng.standard_normal(size) if map == "gaussian" else rng.random(size) for _ in range(self.cycles)]
        # Of each column, the first row that shows it and the first that does not any more.
        self._from = np.zeros(self.n_features, np.int64)
        self._until = np.full(self.n_features, np.iinfo(np.int64).max)
        for k, position in enumerate(self.positions):
            self._from[self.spaces[k + 1]] = position - self.overlap
            old = np.array(self.spaces[k])
            self._until[old] = position
            dying = old[rng.random(len(old)) < self.early_deaths]
            self._until[dying] = position - rng.integers(0, self.overlap + 1, len(dying))

    def __repr__(self) -> str:
        parts = [f"{self.stream!r}"]
        defaults = {"overlap": 10, "cycles": 1, "map": "gaussian", "survivors": 0, "early_deaths": 0.0, "seed": 1}
        parts += [f"{key}={getattr(self, key)!r}" for key, value in defaults.items() if getattr(self, key) != value]
        return f"EvolvingFeatures({', '.join([*parts, f'positions={self.positions!r}', f'n_new={self.n_new!r}'])})"

    def _checked(self, positions: Sequence[int] | None) -> list[int]:
        if positions is None:
            if self.stream.n_rows is None:
                raise ValueError(
                    f"stream {self.stream.name!r} does not know its number of rows: say at which rows columns change, "
                    "as in positions=[10_000]"
                )
            positions = [self.stream.n_rows * (k + 1) // (self.cycles + 1) for k in range(self.cycles)]
        result = [whole_number("positions", position, 0) for position in positions]
        if len(result) != self.cycles:
            raise ValueError(f"positions must hold a row for each of {self.cycles} change(s), got {result!r}")
        for before, position in zip([0, *result], result, strict=False):
            if position - self.overlap < before or position == before:
                raise ValueError(
                    f"positions {result!r} leave no room for overlaps of {self.overlap} rows: they must ascend by "
                    "that much at least"
                )
        return result

    def _chunks(self, size: int, skip: int) -> Iterator[Chunk]:
        row = skip
        d = int(self.stream.n_features or 0)
        for X, y in self.stream.chunks(size, skip):
            values = np.empty((len(y), self.n_features or 0))
            if not isinstance(X, np.ndarray):
                raise ValueError(
                    f"stream {self.stream.name!r} hands out a {type(X).__name__}: only arrays of numbers can be mapped"
                )
            values[:, :d] = X
            for k, matrix in enumerate(self.maps):
                columns = values[:, d + k * self.n_new : d + (k + 1) * self.n_new]
                columns[:] = 0.0
                for j in range(d):  # in this order for chunks of any size
                    columns += values[:, j : j + 1] * matrix[j]
            rows: npt.NDArray[Any] = np.arange(row, row + len(y))[:, None]
            values[(rows < self._from) | (rows >= self._until)] = np.nan
            row += len(y)
            yield values, y
