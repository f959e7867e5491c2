"""What the synthetic streams share: seeded rows, drawn block by block."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from anabranch.stream.base import Chunk, Stream, rechunk, whole_number

Block: TypeAlias = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]

_PATIENCE = 1000  # batches without a row of a class that is still wanted, after which there is none


class Generator(Stream):
    """A seeded, endless stream of made-up rows.

    Rows are drawn in blocks of a fixed length, each from a random generator of its own that the seed and
    the block's number determine. So the rows depend neither on the chunks' sizes nor on how many rows are
    skipped, and skipping costs nothing.

    A subclass writes ``_block(rng, start, n)``, which draws the `n` rows from row number `start` on; what is
    drawn once and holds for the whole stream comes from ``_model_rng()``. Its ``__init__`` takes ``seed`` and
    ``n_rows``, keeps every parameter under the parameter's name, and calls this one; names of columns and
    nominal ones it sets afterwards. To give the same rows on every machine, ``_block`` keeps to operations
    that numpy does element by element: how a sum over an axis is rounded depends on the processor.

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
    ...     def _block(self, rng, start, n):
    ...         return rng.random((n, 1)), rng.integers(2, size=n)
    >>> Coins(seed=3, n_rows=10)
    Coins(seed=3, n_rows=10)
    >>> [len(y) for X, y in Coins(seed=3, n_rows=10).chunks(4)]
    [4, 4, 2]
    """

    n_features: int
    feature_names: list[str]

    # Part of what defines the rows: another number here gives other streams from the same seeds.
    _block_rows: int = 4096

    def __init__(self, seed: int, n_rows: int | None) -> None:
        self.seed = whole_number("seed", seed, 0)
        self.n_rows = None if n_rows is None else whole_number("n_rows", n_rows, 1)
        self.endless = n_rows is None
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

    def _block(self, rng: Any, start: int, n: int) -> Block:
        """Draw `n` rows: X of shape (n, n_features), C-contiguous, and y of shape (n,).

        `start` is the number of the first row, for streams that change as they go. A stream whose blocks follow
        from one another has ``_draw`` instead.
        """
        raise NotImplementedError

    def _model_rng(self) -> np.random.Generator:
        """Return the random generator of what is drawn once: from ``model_seed``, where a stream has one."""
        seed = getattr(self, "model_seed", None)
        return random_from(self.seed if seed is None else seed, (0,))

    def _chunks(self, size: int, skip: int) -> Iterator[Chunk]:
        first, skip_in_block = divmod(skip, self._block_rows)
        return rechunk(self._blocks(first), size, skip_in_block)

    def _blocks(self, block: int) -> Iterator[Chunk]:
        """Hand out whole blocks from number `block` on, the last one as far as the stream goes."""
        for X, y in self._draw(block) if self.n_rows is None or block * self._block_rows < self.n_rows else ():
            left = len(y) if self.n_rows is None else self.n_rows - block * self._block_rows
            yield X[:left], y[:left]
            block += 1
            if left <= len(y) and self.n_rows is not None:
                return

    def _draw(self, block: int) -> Iterator[Block]:
        """Draw blocks without end. Overridden where a block depends on those before it."""
        while True:
            # A block is always drawn whole, as the draws of its rows are interleaved.
            yield self._block(self._block_rng(block), block * self._block_rows, self._block_rows)
            block += 1

    def _block_rng(self, block: int) -> Any:
        return random_from(self.seed, (1, block))


class KernelGenerator(Generator):
    """A generator whose rows a kernel draws: to ``_block``, `rng` is the state of a kernel's random numbers."""

    @cached_property
    def _states(self) -> States:
        return States(self.seed, (1,))

    def _block_rng(self, block: int) -> npt.NDArray[np.uint64]:
        return self._states[block]


def random_from(seed: int, key: tuple[int, ...]) -> np.random.Generator:
    """Return the random generator that a seed and a key of whole numbers determine."""
    # PCG64 by name: numpy is free to change what default_rng means.
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def uniforms(rng: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
    """Draw what ``rng.random(n)`` would, from a generator that :func:`random_from` made, but sooner."""
    from anabranch.kernels.streams import pcg_uniforms

    bits: Any = rng.bit_generator
    words = bits.state["state"]
    halves = [half for word in (words["state"], words["inc"]) for half in divmod(word, 1 << 64)]
    out = np.empty(n)
    pcg_uniforms(np.array(halves, np.uint64), out)
    bits.advance(n)
    return out


class States:
    """States of the random numbers that the kernels of ``anabranch.kernels.streams`` draw themselves.

    Parameters
    ----------
    seed : int
    key : tuple of int
        Tells states for different purposes apart.
    """

    def __init__(self, seed: int, key: tuple[int, ...]) -> None:
        self._words = np.random.SeedSequence(seed, spawn_key=key).generate_state(4, np.uint64)

    def __getitem__(self, block: int) -> npt.NDArray[np.uint64]:
        """Return the state that a block starts with."""
        from anabranch.kernels.streams import block_state

        state = np.empty(4, np.uint64)
        block_state(self._words, block, state)
        return state


def empty_block(n: int, n_features: int) -> Block:
    """Return arrays for a kernel to fill."""
    return np.empty((n, n_features)), np.empty(n, np.int64)


def of_classes(draw: Callable[[int], Block], wanted: npt.NDArray[np.int64], what: str) -> Block:
    """Draw rows whose classes are the wanted ones, in their order: rows of a class that has enough are dropped.

    Parameters
    ----------
    draw : callable
        ``draw(n)`` draws `n` rows, each independent of the others.
    wanted : ndarray of int64
        The class of each row to return.
    what : str
        What is drawn from, for the error if a class does not occur in it.

    Raises
    ------
    ValueError
        If a class is wanted of which no row turns up.
    """
    X = None
    for label in np.unique(wanted):
        places = np.flatnonzero(wanted == label)
        found = patience = 0
        while found < len(places):
            rows, classes = draw(len(wanted))
            rows = rows[classes == label][: len(places) - found]
            if X is None:
                X = np.empty((len(wanted), rows.shape[1]))
            X[places[found : found + len(rows)]] = rows
            found += len(rows)
            patience = 0 if len(rows) else patience + 1
            if patience > _PATIENCE:
                raise ValueError(f"{what} has no row of class {label}: its share cannot be set")
    assert X is not None
    return X, wanted


def thinned(draw: Callable[[npt.NDArray[np.int64]], Block], rng: np.random.Generator, n: int, odds: float) -> Block:
    """Draw `n` rows of which those of class 1 stay with probability `odds`; others are drawn anew in their place.

    Parameters
    ----------
    draw : callable
        ``draw(index)`` draws the rows of these numbers, 0 to ``n - 1``, independently of the others.
    rng : numpy.random.Generator
        For what is decided here.
    n : int
        Number of rows.
    odds : float
        From 0 to 1.

    Raises
    ------
    ValueError
        If hardly a row may stay.
    """
    index = np.arange(n)
    X, y = draw(index)
    for _ in range(100 * _PATIENCE):
        index = index[(y[index] == 1) & (rng.random(len(index)) >= odds)]
        if len(index) == 0:
            return X, y
        X[index], y[index] = draw(index)
    raise ValueError("hardly a row is of class 0: raise minority_share")
