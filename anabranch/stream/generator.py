"""What the synthetic streams share: seeded rows, drawn block by block."""

from __future__ import annotations

import abc
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from anabranch.stream.base import Chunk, Stream, rechunk, whole_number

# Part of what defines the rows: another number here gives other streams from the same seeds.
_BLOCK_ROWS = 4096


class Generator(Stream):
    """A seeded, endless stream of made-up rows.

    Rows are drawn in blocks of a fixed length, each from a random generator of its own that the seed and
    the block's number determine. So the rows depend neither on the chunks' sizes nor on how many rows are
    skipped, and skipping costs nothing.

    A subclass writes ``_block(rng, n)``, which draws `n` rows from `rng`; what is drawn once and holds for
    the whole stream comes from ``_model_rng()``. Its ``__init__`` takes ``seed`` and ``n_rows``, keeps every
    parameter under the parameter's name, and calls this one. To give the same rows on every machine,
    ``_block`` keeps to operations that numpy does element by element: how a sum over an axis is rounded
    depends on the processor.

    Parameters
    ----------
    seed : int
        Seed of everything that is drawn, 0 or more.
    n_rows : int, optional
        Number of rows after which the stream ends; endless if left out.

    Examples
    --------
    >>> class Coins(Generator):
    ...     n_features = 1
    ...     def __init__(self, seed=1, n_rows=None):
    ...         super().__init__(seed, n_rows)
    ...     def _block(self, rng, n):
    ...         return rng.random((n, 1)), rng.integers(2, size=n)
    >>> Coins(seed=3, n_rows=10)
    Coins(seed=3, n_rows=10)
    >>> [len(y) for X, y in Coins(seed=3, n_rows=10).chunks(4)]
    [4, 4, 2]
    """

    n_features: int

    def __init__(self, seed: int, n_rows: int | None) -> None:
        self.seed = whole_number("seed", seed, 0)
        self.n_rows = None if n_rows is None else whole_number("n_rows", n_rows, 1)
        self.nominal_features = []
        parameters = self.parameters()
        defaults = inspect.signature(type(self)).parameters
        # The seed always shows; the length does not, as it changes no row.
        shown = [
            f"{key}={value!r}"
            for key, value in parameters.items()
            if key == "seed" or (key != "n_rows" and value != defaults[key].default)
        ]
        self.name = f"{type(self).__name__}({', '.join(shown)})"
        self.feature_names = [f"x{j}" for j in range(self.n_features)]

    def parameters(self) -> dict[str, Any]:
        """Return the parameters from which the stream can be made again, by name."""
        return {key: getattr(self, key) for key in inspect.signature(type(self)).parameters}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.parameters().items())})"

    @abc.abstractmethod
    def _block(self, rng: np.random.Generator, n: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Draw `n` rows: X of shape (n, n_features), C-contiguous, and y of shape (n,)."""

    def _model_rng(self) -> np.random.Generator:
        """Return the random generator of what is drawn once."""
        return _random(self.seed, (0,))

    def _chunks(self, size: int, skip: int) -> Iterator[Chunk]:
        first, skip_in_block = divmod(skip, _BLOCK_ROWS)
        return rechunk(self._blocks(first), size, skip_in_block)

    def _blocks(self, block: int) -> Iterator[Chunk]:
        while self.n_rows is None or block * _BLOCK_ROWS < self.n_rows:
            # A block is always drawn whole, as the draws of its rows are interleaved.
            X, y = self._block(_random(self.seed, (1, block)), _BLOCK_ROWS)
            if self.n_rows is not None:
                left = self.n_rows - block * _BLOCK_ROWS
                X, y = X[:left], y[:left]
            yield X, y
            block += 1


def _random(seed: int, key: tuple[int, ...]) -> np.random.Generator:
    # PCG64 by name: numpy is free to change what default_rng means.
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
