"""A stream made skewed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from anabranch.stream.base import Chunk, Stream, number_between, rechunk, whole_number
from anabranch.stream.drift import _joined


class Imbalance(Stream):
    """A stream in which one class is made rare.

    The stream is cut into pieces. Of each piece all rows of the other classes stay, and as many of the minority,
    drawn at random without replacement, as make ``share`` of the others (all of them, if there are fewer); the order
    in time stays, too. So were Electricity and Weather prepared for the evaluation of DWMIL [1]_ (found in the authors'
    files): pieces of 500 and 365 rows, and a share of 0.05. Note that 5 % of the majority is 4.8 % of all.

    Parameters
    ----------
    stream : Stream
        Where the rows come from. It has to end, or the pieces have no end either.
    share : float
        Rows of the minority for each of the others, rounded (a half up).
    piece_rows : int
        Rows per piece, before they are thinned out. What is left at the end is a piece of its own if it has half as
        many rows or more, and otherwise belongs to the piece before.
    minority : label, optional
        The class made rare. By default the last of the stream's ``classes``.
    skip : int
        Rows left out at the beginning of the stream.
    seed : int
        Seed of what is drawn.
    name : str, optional
        Name for tables.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or the minority is not given and not known either.

    References
    ----------
    .. [1] Y. Lu, Y.-m. Cheung, Y. Y. Tang, "Dynamic Weighted Majority for Incremental Learning of Imbalanced
       Data Streams with Concept Drift", IJCAI 2017.

    Examples
    --------
    >>> from anabranch.stream import SEA
    >>> stream = Imbalance(SEA(1, n_rows=2000), share=0.1, piece_rows=1000)
    >>> for X, y in stream.pieces():
    ...     print(int((y == 0).sum()), int((y == 1).sum()))
    319 32
    344 34
    """

    def __init__(
        self,
        stream: Stream,
        share: float = 0.05,
        piece_rows: int = 500,
        minority: Any = None,
        skip: int = 0,
        seed: int = 1,
        name: str | None = None,
    ) -> None:
        if not isinstance(stream, Stream):
            raise ValueError(f"stream must be a stream, got {type(stream).__name__}: wrap arrays in ArrayStream")
        self.stream = stream
        self.share = number_between("share", share, 0, math.inf)
        self.piece_rows = whole_number("piece_rows", piece_rows, 1)
        self.skip = whole_number("skip", skip, 0)
        self.seed = whole_number("seed", seed, 0)
        if minority is None:
            if stream.classes is None or len(stream.classes) == 0:
                raise ValueError(f"minority must be given: stream {stream.name!r} does not know its classes beforehand")
            minority = stream.classes[-1]
        self.minority = minority
        self.n_features, self.feature_names = stream.n_features, stream.feature_names
        self.nominal_features, self.classes, self.endless = stream.nominal_features, stream.classes, stream.endless
        self._given_name = name
        self.name = f"Imbalance({stream.name}, share={self.share:g})" if name is None else name

    def __repr__(self) -> str:
        parts = [repr(self.stream), f"share={self.share!r}", f"piece_rows={self.piece_rows}"]
        parts += [f"minority={self.minority!r}", f"skip={self.skip}", f"seed={self.seed}"]
        return f"Imbalance({', '.join(parts)}{'' if self._given_name is None else f', name={self._given_name!r}'})"

    def pieces(self) -> Iterator[Chunk]:
        """Hand out the pieces, each thinned out: what the evaluation of DWMIL takes as chunks.

        Returns
        -------
        iterator of (X, y)
        """
        for number, (X, y) in enumerate(self._whole_pieces()):
            rare = y == self.minority
            wanted = math.floor(self.share * int(np.count_nonzero(~rare)) + 0.5)
            places = np.flatnonzero(rare)
            if wanted < len(places):
                # A seed of its own for every piece, so that its rows depend on nothing else.
                rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=(number,))))
                kept = ~rare
                kept[rng.choice(places, wanted, replace=False)] = True
                X, y = _rows(X, np.flatnonzero(kept)), y[kept]
            if len(y):
                yield X, y

    def _whole_pieces(self) -> Iterator[Chunk]:
        """Pieces as they come; a short rest at the end belongs to the one before."""
        waiting: Chunk | None = None
        for X, y in self.stream.chunks(self.piece_rows, self.skip):
            if waiting is None:
                waiting = X, y
            elif 2 * len(y) < self.piece_rows:
                waiting = _joined([waiting[0], X]), np.concatenate([waiting[1], y])
            else:
                yield waiting
                waiting = X, y
        if waiting is not None:
            yield waiting

    def _chunks(self, size: int, skip: int) -> Iterator[Chunk]:
        return rechunk(self.pieces(), size, skip, join=_joined)


def _rows(X: Any, places: np.ndarray[Any, np.dtype[np.int64]]) -> Any:
    if isinstance(X, np.ndarray):
        return X[places]
    import narwhals.stable.v1 as nw

    return nw.from_native(X, eager_only=True)[places].to_native()
