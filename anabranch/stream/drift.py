"""Streams joined in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from anabranch.stream.base import Chunk, Labels, Stream, number_between, rechunk, whole_number
from anabranch.stream.generator import States, empty_block

_BLOCK_ROWS = 4096
# Widths from a change's position, beyond which its probability is 0 or 1 for 53 bits of randomness.
_REACH = 10

Floats: TypeAlias = npt.NDArray[np.float64]
Codes: TypeAlias = npt.NDArray[np.int64]


class DriftStream(Stream):
    """Streams one after another, with changes that are abrupt, gradual or recurring.

    At a change of position p and width w, row t comes from the later stream with probability
    ``1 / (1 + exp(-4 (t - p) / w))``: half at the position, 12 to 88 % half a width around it. With width 0, row p
    is the first of the later stream. Where changes overlap, each is decided on its own, and the latest that has
    happened counts; so MOA nests its ``ConceptDriftStream``.

    Rows of each stream are used in order, without gaps: a stream that comes back goes on where it was left.

    Parameters
    ----------
    streams : sequence of Stream
        Streams with the same columns: all of arrays of the same width with the same nominal columns, or all of
        data frames of one kind with the same names.
    positions : sequence of int, optional
        Row of each change, in ascending order; one fewer than there are phases.
    widths : int, float or sequence
        Width of each change, or of all; 0 for an abrupt one.
    order : sequence of int, optional
        Which stream holds in each phase, by its place in `streams`: ``order=[0, 1, 0]`` lets the first come back. If
        left out, each stream once.
    every : int, optional
        Instead of positions: a change every so many rows, through `order` again and again without end.
    seed : int
        Seed of what gradual changes draw.
    n_rows : int, optional
        Rows after which the stream ends. It ends earlier where a row is needed of a stream that has none left.
    name : str, optional
        Name for tables.

    Raises
    ------
    ValueError
        If there are no streams, their columns differ, or positions, widths and order do not fit.

    References
    ----------
    .. [1] A. Bifet, G. Holmes, R. Kirkby, B. Pfahringer, "MOA: Massive Online Analysis", JMLR 11, 2010.

    Examples
    --------
    >>> from anabranch.stream import SEA
    >>> abrupt = DriftStream([SEA(1), SEA(3)], [2000], n_rows=4000)
    >>> gradual = DriftStream([SEA(1, seed=5), SEA(3, seed=6)], [2000], widths=500)
    >>> recurring = DriftStream([SEA(1), SEA(3)], every=1000, widths=100)
    >>> abrupt.n_rows, recurring.endless
    (4000, True)
    """

    def __init__(
        self,
        streams: Sequence[Stream],
        positions: Sequence[int] | None = None,
        widths: float | Sequence[float] = 0,
        order: Sequence[int] | None = None,
        every: int | None = None,
        seed: int = 1,
        n_rows: int | None = None,
        name: str | None = None,
    ) -> None:
        self.streams = list(streams)
        if not self.streams:
            raise ValueError("streams is empty: give at least one")
        for stream in self.streams:
            if not isinstance(stream, Stream):
                raise ValueError(f"streams must hold streams, got {type(stream).__name__}: wrap arrays in ArrayStream")
        self.order = list(range(len(self.streams))) if order is None else [whole_number("order", i, 0) for i in order]
        if not self.order or max(self.order) >= len(self.streams):
            raise ValueError(f"order must hold places 0 to {len(self.streams) - 1} of streams, got {order!r}")
        if (positions is None) == (every is None) and (every is not None or len(self.order) > 1):
            raise ValueError("give either positions or every")
        self.every = None if every is None else whole_number("every", every, 1)
        self.positions = None if every is not None else [whole_number("positions", p, 0) for p in positions or ()]
        if self.positions is not None:
            if len(self.positions) != len(self.order) - 1:
                raise ValueError(
                    f"positions must hold one row fewer than there are phases ({len(self.order)}), "
                    f"got {len(self.positions)}"
                )
            if self.positions != sorted(self.positions):
                raise ValueError(f"positions must ascend, got {self.positions}")
        self.widths = _widths(widths, None if self.positions is None else len(self.positions))
        self.seed = whole_number("seed", seed, 0)
        self._wanted_rows = None if n_rows is None else whole_number("n_rows", n_rows, 1)
        self._check_columns()
        first = self.streams[0]
        self.n_features, self.feature_names = first.n_features, first.feature_names
        self.nominal_features = list(first.nominal_features)
        self.classes = self._known_classes()
        self.n_rows, self.endless = self._length()
        self.name = " + ".join(str(self.streams[i].name) for i in self.order[:3]) if name is None else name
        if name is None and len(self.order) > 3:
            self.name += " + ..."

    def __repr__(self) -> str:
        parts = [f"{self.streams!r}"]
        parts += [
            f"{key}={value!r}"
            for key, value in (
                ("positions", self.positions),
                ("widths", self.widths),
                ("order", self.order),
                ("every", self.every),
                ("seed", self.seed),
                ("n_rows", self._wanted_rows),
                ("name", self.name),
            )
            if value is not None
        ]
        return f"DriftStream({', '.join(parts)})"

    # ------------------------------------------------------------------------------------ what is joined

    def _check_columns(self) -> None:
        first = self.streams[0]
        for number, stream in enumerate(self.streams[1:], 1):
            for what, ours, theirs in (
                ("the number of columns", first.n_features, stream.n_features),
                ("the names of columns", first.feature_names, stream.feature_names),
                ("the nominal columns", list(first.nominal_features), list(stream.nominal_features)),
            ):
                # What is not known beforehand shows when rows are joined.
                if ours is not None and theirs is not None and ours != theirs:
                    raise ValueError(
                        f"streams must have the same columns, but {what} of stream {number} ({stream.name}) "
                        f"and of stream 0 ({first.name}) differ: {theirs!r} and {ours!r}"
                    )

    def _known_classes(self) -> Labels | None:
        known = [stream.classes for stream in self.streams]
        if any(classes is None for classes in known):
            return None
        try:
            return np.unique(np.concatenate([np.asarray(classes) for classes in known]))
        except TypeError:
            return None  # labels of kinds that do not sort

    def _length(self) -> tuple[int | None, bool]:
        """How many rows there will be, if that can be told, and whether they never end."""
        used = [self.streams[i] for i in self.order]
        if self.every is not None or any(self.widths):
            if all(stream.endless for stream in used):
                return self._wanted_rows, self._wanted_rows is None
            return None, False
        assert self.positions is not None
        left: dict[int, float | None] = {
            i: np.inf if stream.endless else stream.n_rows for i, stream in enumerate(self.streams)
        }
        row = 0
        end = np.inf if self._wanted_rows is None else self._wanted_rows
        for which, stop in zip(self.order, [*self.positions, end], strict=True):
            have = left[which]
            if row >= end:
                break
            if have is None:
                return None, False
            needed = max(0, min(stop, end) - row)
            if have < needed:
                return row + int(have), False
            left[which] = have - needed
            if needed == np.inf:
                return None, True
            row += int(needed)
        return int(end), False

    # ------------------------------------------------------------------------------------ which row is whose

    def _changes(self, start: int, stop: int) -> tuple[int, list[tuple[int, int, float]]]:
        """The phase by the changes that are over before row `start`, and those under way in rows start to stop - 1.

        Those are given by phase, position and width.
        """
        if self.positions is None:
            assert self.every is not None
            reach = _REACH * self.widths[0]
            first = max(0, int((start - reach) // self.every) - 2)
            last = int((stop + reach) // self.every) + 1
            changes = [(j + 1, (j + 1) * self.every, self.widths[0]) for j in range(first, last)]
            phase = first
        else:
            changes = [(j + 1, p, w) for j, (p, w) in enumerate(zip(self.positions, self.widths, strict=True))]
            phase = 0
        under_way = []
        for change in changes:
            number, position, width = change
            if position + _REACH * width <= start:
                phase = max(phase, number)
            elif position - _REACH * width < stop:
                under_way.append(change)
        return phase, under_way

    def _quiet_until(self, row: int) -> float:
        """The first row from `row` on that any change not yet under way there may touch."""
        if self.positions is None:
            assert self.every is not None
            reach = _REACH * self.widths[0]
            return max(row, (int((row + reach) // self.every) + 1) * self.every - reach)
        starts = [p - _REACH * w for p, w in zip(self.positions, self.widths, strict=True)]
        return min((start for start in starts if start >= row), default=np.inf)

    def _sources(self, block: int) -> Codes:
        """Draw which stream each row of a block comes from, by its place in `streams`."""
        start = block * _BLOCK_ROWS
        phase, changes = self._changes(start, start + _BLOCK_ROWS)
        phases = np.full(_BLOCK_ROWS, phase)
        state = None
        for number, position, width in changes:
            if width == 0:
                later = phases[max(0, position - start) :]
                np.maximum(later, number, out=later)
            else:
                from anabranch.kernels import streams as kernels

                # Beyond the reach all is certain, so that what lies far off needs no draws.
                state = self._states[block] if state is None else state
                kernels.changed(state, phases, start, number, position, float(width), float(_REACH))
        if self.positions is None:
            phases %= len(self._order)
        return phases if self._in_order else self._order[phases]

    @cached_property
    def _states(self) -> States:
        return States(self.seed, (1,))

    @cached_property
    def _in_order(self) -> bool:
        return self.order == list(range(len(self.order)))

    @cached_property
    def _order(self) -> Codes:
        return np.array(self.order, np.int64)

    def _used_before(self, block: int) -> list[int]:
        """Rows of each stream that go into the blocks before this one."""
        used = [0] * len(self.streams)
        at = 0
        while at < block:
            start = at * _BLOCK_ROWS
            phase, changes = self._changes(start, start + _BLOCK_ROWS)
            if changes:
                for i, count in enumerate(np.bincount(self._sources(at), minlength=len(used))):
                    used[i] += int(count)
                at += 1
                continue
            quiet = self._quiet_until(start)
            stop = block if quiet == np.inf else max(at + 1, min(block, int(quiet // _BLOCK_ROWS)))
            used[self.order[phase % len(self.order)]] += (stop - at) * _BLOCK_ROWS
            at = stop
        return used

    # ------------------------------------------------------------------------------------ rows

    def _chunks(self, size: int, skip: int) -> Iterator[Chunk]:
        first, skip_in_block = divmod(skip, _BLOCK_ROWS)
        return rechunk(self._blocks(first), size, skip_in_block, join=_joined)

    def _blocks(self, block: int) -> Iterator[Chunk]:
        if self._wanted_rows is not None and block * _BLOCK_ROWS >= self._wanted_rows:
            return
        readers = [_Reader(stream, skip) for stream, skip in zip(self.streams, self._used_before(block), strict=True)]
        while True:
            sources = self._sources(block)
            if self._wanted_rows is not None:
                sources = sources[: self._wanted_rows - block * _BLOCK_ROWS]
            counts, places = _sorted(sources, len(readers))
            # The first row for which a stream has nothing left ends it all.
            end = len(sources)
            for i, wanted in enumerate(counts):
                available = readers[i].available(wanted)
                if available < wanted:
                    end = min(end, int(places[sum(counts[:i]) + available]))
            if end < len(sources):
                counts, places = _sorted(sources[:end], len(readers))
            if end:
                yield _interleaved(readers, counts, places)
            block += 1
            if end < _BLOCK_ROWS or self._wanted_rows == block * _BLOCK_ROWS:
                return


class _Reader:
    """Hands out a stream's rows, as many at a time as are asked for.

    Parameters
    ----------
    stream : Stream
        Read from its beginning, but for `skip` rows.
    """

    def __init__(self, stream: Stream, skip: int) -> None:
        self.name = stream.name
        self._open = (stream, skip)
        self._chunks: Iterator[Chunk] | None = None
        self._held: list[Chunk] = []
        self._n_held = 0

    def available(self, n: int) -> int:
        """Read on until `n` rows are held, and return how many there are, at most `n`."""
        if n and self._chunks is None:
            stream, skip = self._open
            self._chunks = stream.chunks(_BLOCK_ROWS, skip)
        while self._n_held < n:
            assert self._chunks is not None
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._held.append(chunk)
            self._n_held += len(chunk[1])
        return min(n, self._n_held)

    def take(self, n: int) -> list[Chunk]:
        """Hand out `n` of the rows that are held, in parts."""
        parts = []
        while n:
            X, y = self._held.pop(0)
            if len(y) > n:
                self._held.insert(0, (X[n:], y[n:]))
                X, y = X[:n], y[:n]
            parts.append((X, y))
            n -= len(y)
            self._n_held -= len(y)
        return parts


def _sorted(sources: Codes, n_streams: int) -> tuple[list[int], Codes]:
    """How many rows come from each stream, and the rows of each, one stream after another."""
    from anabranch.kernels import streams as kernels

    counts, places = np.zeros(n_streams, np.int64), np.empty(len(sources) + 1, np.int64)
    kernels.places(sources, counts, places)
    return counts.tolist(), places[:-1]


def _interleaved(readers: list[_Reader], counts: list[int], places: Codes) -> Chunk:
    """Take as many rows of each reader as `counts` says, and put them in their places."""
    parts = [part for reader, count in zip(readers, counts, strict=True) for part in reader.take(count)]
    if len(parts) == 1:
        return parts[0]
    several = np.count_nonzero(counts) > 1
    if several and all(_plain(*part, parts[0][0].shape[1]) for part in parts):
        from anabranch.kernels import streams as kernels

        rows, labels = empty_block(len(places), parts[0][0].shape[1])
        first = 0
        for X, y in parts:
            kernels.put(X, y, places[first : first + len(y)], rows, labels)
            first += len(y)
        return rows, labels
    X, y = _joined([X for X, _ in parts]), np.concatenate([y for _, y in parts])
    if not several:
        return X, y
    order = np.empty_like(places)
    order[places] = np.arange(len(places))
    if isinstance(X, np.ndarray):
        return X[order], y[order]
    import narwhals.stable.v1 as nw

    return nw.from_native(X, eager_only=True)[order].to_native(), y[order]


def _plain(X: Any, y: Labels, width: int) -> bool:
    """Whether rows are numbers in arrays, as those of generators are, and labels are codes."""
    return (
        isinstance(X, np.ndarray)
        and X.dtype == np.float64
        and y.dtype == np.int64
        and X.shape[1] == width
        and X.flags.carray
        and y.flags.carray
    )


def _joined(parts: list[Any]) -> Any:
    """Join arrays, or data frames of one kind and the same columns."""
    if all(isinstance(part, np.ndarray) for part in parts):
        if len({part.shape[1] for part in parts}) > 1:
            raise ValueError(f"streams must have the same columns, but have {sorted({p.shape[1] for p in parts})}")
        return np.concatenate(parts)
    if len({type(part) for part in parts}) > 1:
        kinds = sorted({type(part).__name__ for part in parts})
        raise ValueError(f"streams must give rows of one kind to be joined, not {' and '.join(kinds)}")
    import narwhals.stable.v1 as nw

    frames = [nw.from_native(part, eager_only=True) for part in parts]
    try:
        joined = nw.concat([frame.select(frames[0].columns) for frame in frames], how="vertical")
    except Exception as error:  # each kind of data frame has errors of its own
        raise ValueError(f"streams must have the same columns ({error})") from error
    return joined.to_native()


def _widths(widths: float | Sequence[float], n: int | None) -> list[float]:
    """Widths of the `n` changes, or of all if `n` is None."""
    if isinstance(widths, (str, bytes)) or not isinstance(widths, Sequence | np.ndarray):
        return [number_between("widths", widths, 0, 1e15)] * (1 if n is None else n)
    if n is None or len(widths) != n:
        raise ValueError(
            "widths must be one number with every" if n is None else f"widths must hold {n} numbers, got {len(widths)}"
        )
    return [number_between("widths", width, 0, 1e15) for width in widths]
