"""What learners on evolving columns share: the model, the periods, and the mapping from new columns to old ones.

The loop over rows is compiled (`anabranch.kernels.evolving`). It comes back at the rows at which something has to be
decided: columns turn up or have vanished, or a class is new. What is decided depends on the model and on that row
alone, so that it does not matter how rows are cut into chunks.

The rules of periods
--------------------
Columns, or declared spaces, are units: each is *unknown*, of the space of *now*, of the *next* space, or *gone*.

1. The first row's columns, and those that turn up within ``patience`` rows of the beginning of a space, are of it.
2. A column that turns up later belongs to the next space: an overlap begins. While it lasts, rows that show columns of
   both are kept for the mapping.
3. The next space becomes the present one at once if no column of the present one is left in a row; else when a column
   of it has been absent from ``patience`` rows in succession. Absent columns then are gone; those that are still there
   have survived, and keep their weights.
4. What vanishes later, before the next column turns up, belongs to the same change.
5. What is handed on at a change is one model: the two so far, each with the weight it has earned (of a selection, the
   one of the greater weight). Both are linear in the present columns, and so is their sum.
6. Columns that are back within ``patience`` rows of a change were never gone: the change is taken back. Columns that
   are back later are new ones.
7. New columns that have stood beside the old ones for ``max_overlap`` rows are additions: they join the space of now.

In between, what is missing counts as 0, as in any linear model.
"""

from __future__ import annotations

import copy
import numbers
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anabranch import checkpoint
from anabranch._parameters import Columns, Constraint, Flag, Number
from anabranch._random import RandomState, seed_sequence
from anabranch.kernels import call_directly
from anabranch.kernels import evolving as kernels
from anabranch.kernels.evolving import GONE, NEXT, NOW, Model
from anabranch.linear_model._linear import ColumnBlocks, ScoringClassifier, _indices
from anabranch.schema import Codes, Floats, Schema

# Beyond so many columns of weights, sums of products of all pairs are refused: 2,000 make 32 MB.
_MOST_MOMENTS = 2000
# Eigenvalues below this share of the largest are 0: the mapping sees directions of a millionth of the strongest.
_NEGLIGIBLE = 1e-12

_NO_ANSWERS = np.empty((0, 0))


class Spaces:
    """Groups of columns that come and go together: a list of lists of positions or names, or None."""

    def check(self, name: str, value: Any) -> None:
        """Check that every group is a list of columns, and no column in two of them."""
        if value is None:
            return
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
            raise TypeError(f"{name} must be a list of lists of columns, got {value!r}.")
        seen: set[Any] = set()
        for group in value:
            Columns().check(name, group)
            if group is None or not len(group):
                raise ValueError(f"{name} holds an empty group: each feature space needs a column.")
            twice = seen.intersection(group)
            if twice:
                raise ValueError(
                    f"{name} holds the column {min(twice, key=str)!r} twice: leave columns that survive every change "
                    "out of all groups."
                )
            seen.update(group)


COMMON: dict[str, Constraint] = {
    "c": Number(0, 1e30, open_low=True),
    "radius": Number(0, 1e30, open_low=True, optional=True),
    "overlap_rows": Number(1, 10_000, integer=True, optional=True),
    "ridge": Number(0, 1e30),
    "patience": Number(1, integer=True),
    "max_overlap": Number(1, integer=True),
    "spaces": Spaces(),
    "fit_intercept": Flag(),
    "nominal_features": Columns(),
}
HEDGED: dict[str, Constraint] = {
    "horizon": Number(1, integer=True, optional=True),
    "loss_scale": Number(0, 1e100, open_low=True, optional=True),
    "random_state": RandomState(),
}


class EvolvingModel(ColumnBlocks):
    """The state of a learner on evolving columns, and its decisions about periods."""

    if TYPE_CHECKING:
        c: float
        radius: float | None
        patience: int
        max_overlap: int
        spaces: Sequence[Sequence[int | str]] | None
        fit_intercept: bool
        nominal_features: Sequence[int | str] | None
        _n_announced: int
        _n_classes: int

        def _columns(self) -> Schema: ...

    _takes_sparse = True

    _loss = kernels.LOGISTIC

    _arrays: list[NDArray[Any]]
    _settings: Floats

    # ------------------------------------------------------------------------------------ parameters

    @property
    def _strategy(self) -> int:
        """What is predicted: one of the kernel's strategies."""
        raise NotImplementedError

    def _options(self) -> Floats:
        options = np.zeros(kernels.OPTIONS_SIZE)
        options[kernels.STRATEGY] = self._strategy
        options[kernels.LOSS] = self._loss
        options[kernels.STEP] = self.c
        options[kernels.RADIUS] = self.radius or 0.0
        options[kernels.INTERCEPT] = self.fit_intercept
        options[kernels.HORIZON] = getattr(self, "horizon", None) or 0
        options[kernels.LOSS_SCALE] = getattr(self, "loss_scale", None) or 0.0
        options[kernels.PATIENCE] = self.patience
        options[kernels.MAX_OVERLAP] = self.max_overlap
        options[kernels.SPACES] = self.spaces is not None
        options[kernels.MOMENTS] = getattr(self, "overlap_rows", 1) is None
        return options

    def _begin(self) -> None:
        self._settings = self._options()
        self._begin_blocks()
        numbers = np.zeros(kernels.NUMBERS_SIZE)
        numbers[kernels.CHANGED] = -1.0
        hedge = np.zeros(kernels.HEDGE_SIZE)
        kernels.begin_hedge(hedge, self._strategy, self._settings[kernels.HORIZON])
        units = 0 if self.spaces is None else len(self.spaces)
        self._arrays = list(
            Model(
                now=np.zeros((1, 0)),
                previous=np.zeros((1, 0)),
                intercepts=np.zeros((2, 1)),
                norms=np.zeros((2, 1)),
                anchors=np.zeros((1, 0)),
                start=np.zeros((1, 0)),
                recover=np.zeros((0, 0)),
                bias=np.zeros(0),
                unfold=np.zeros((0, 0)),
                buffer=np.zeros((0, 0)),
                moments=np.zeros((0, 0)),
                status=np.zeros(units, np.int64),
                since=np.full(units, -1),
                watched=np.zeros(units, np.uint8),
                in_previous=np.zeros(units, np.uint8),
                pattern=np.zeros(units, np.uint8),
                present=np.zeros(units, np.uint8),
                unit=np.zeros(0, np.int64),
                in_now=np.zeros(0, np.uint8),
                in_both=np.zeros(0, np.uint8),
                numbers=numbers,
                hedge=hedge,
                seed=seed_sequence(getattr(self, "random_state", 0)).generate_state(1, np.uint64).astype(np.uint64),
            )
        )

    def _reconfigure(self) -> None:
        settings = self._options()
        for place, name in ((kernels.SPACES, "spaces"), (kernels.MOMENTS, "overlap_rows")):
            if settings[place] != self._settings[place]:
                raise ValueError(f"{name} cannot change once the model has begun to learn: fit starts afresh.")
        for place in (kernels.STRATEGY, kernels.HORIZON):
            if settings[place] != self._settings[place]:
                self._settings = settings
                kernels.begin_hedge(self._model.hedge, self._strategy, settings[kernels.HORIZON])
        self._settings = settings

    @property
    def _at_work(self) -> int:
        """The strategy of the rows so far; that of the parameters may have been set since."""
        return int(self._settings[kernels.STRATEGY])

    @property
    def _model(self) -> Model:
        return Model(*self._arrays)

    # ------------------------------------------------------------------------------------ checkpoints

    def __restore__(self, state: dict[str, Any]) -> None:
        """Take a state from a checkpoint, unless its arrays do not fit together: the kernels trust them."""
        super().__restore__(state)  # type: ignore[misc]
        if "_arrays" not in state:
            return
        try:
            self._settings = self._options()
            fit = self._fits_together()
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            fit = False
        if not fit:
            raise checkpoint.CheckpointError("The checkpoint's model does not fit together.")

    def _fits_together(self) -> bool:
        model = self._model
        m, n = model.now.shape
        r, units = len(model.bias), len(model.status)
        moments = self._settings[kernels.MOMENTS] > 0 and r > 0
        shapes: dict[str, tuple[Any, ...]] = {
            "now": (m, n), "previous": (m, n), "intercepts": (2, m), "norms": (2, m), "anchors": (m, r),
            "start": (m, r), "recover": (n if r else 0, r), "buffer": (n if r else 0, r), "bias": (r,),
            "unfold": (r, r),
            "moments": (n + 1, n + 1) if moments else (0, 0), "numbers": (kernels.NUMBERS_SIZE,),
            "hedge": (kernels.HEDGE_SIZE,),
        }  # fmt: skip
        whole: dict[str, tuple[Any, ...]] = {
            "status": (units,), "since": (units,), "watched": (units,), "in_previous": (units,), "present": (units,),
            "pattern": (units,),
            "unit": (n,), "in_now": (n,), "in_both": (n,), "seed": (1,),
        }  # fmt: skip
        kinds = {"status": np.int64, "since": np.int64, "unit": np.int64, "seed": np.uint64}
        for name, shape in {**shapes, **whole}.items():
            array = getattr(model, name)
            kind = kinds.get(name, np.float64 if name in shapes else np.uint8)
            if not isinstance(array, np.ndarray) or array.dtype != kind or array.shape != shape:
                return False
            if not array.flags.c_contiguous:
                return False
        active = model.numbers[kernels.ACTIVE]
        return bool(
            m >= 1
            and (0 <= active <= 2 or active == m)
            and (r == n + 1 if moments else True)
            and 0 <= model.numbers[kernels.RANK] <= r
            and units == (self._width if self.spaces is None else len(self.spaces))
            and ((model.unit >= -1) & (model.unit < max(units, 1))).all()
            and self._blocks_fit(n)
        )

    # ------------------------------------------------------------------------------------ room

    def _grow(self, X: Any) -> None:
        """Make room for a chunk's columns and nominal values."""
        width, nominal, room = self._blocks_for(X)
        if width == self._width and (room is self._room or np.array_equal(room, self._room)):
            return
        n, moves = self._moves(width, nominal, room)
        model = self._model
        r = len(model.bias)
        changed: dict[str, NDArray[Any]] = {}

        def spread(array: NDArray[Any], axis: int, size: int = n) -> NDArray[Any]:
            array = np.moveaxis(array, axis, 0)
            after = np.zeros((size, *array.shape[1:]), array.dtype)
            for source, target, length in moves:
                after[target : target + length] = array[source : source + length]
            if size > n:  # the constant comes last
                after[-1] = array[-1]
            return np.ascontiguousarray(np.moveaxis(after, 0, axis))

        for name in ("now", "previous"):
            changed[name] = spread(getattr(model, name), 1)
        if r:
            for name in ("recover", "buffer"):
                changed[name] = spread(getattr(model, name), 0)
        if r and self._settings[kernels.MOMENTS] > 0:  # the rows behind the mapping are columns too
            _check_moments(n)
            changed["buffer"] = spread(changed["buffer"], 1, n + 1)
            changed["moments"] = spread(spread(model.moments, 0, n + 1), 1, n + 1)
            changed["unfold"] = np.pad(spread(model.unfold, 0, n + 1), ((0, 0), (0, n + 1 - r)))
            changed["bias"] = np.pad(model.bias, (0, n + 1 - r))
            for name in ("recover", "anchors", "start"):
                changed[name] = np.pad(changed.get(name, getattr(model, name)), ((0, 0), (0, n + 1 - r)))
        if self.spaces is None:
            late = width - len(model.status)
            changed["status"] = np.pad(model.status, (0, late))
            changed["since"] = np.pad(model.since, (0, late), constant_values=-1)
            for name in ("watched", "in_previous", "pattern", "present"):
                changed[name] = np.pad(getattr(model, name), (0, late))
        self._width, self._nominal, self._room = width, nominal.astype(np.int64), room.astype(np.int64)
        changed["unit"] = self._units(n)
        changed["in_now"] = np.zeros(n, np.uint8)
        changed["in_both"] = np.zeros(n, np.uint8)
        model = model._replace(**changed)
        model.numbers[kernels.QUIET] = 0.0
        _mark(model)
        self._arrays = list(model)

    def _units(self, n: int) -> Codes:
        """Unit of each column of weights; -1 for those that are always there."""
        assert self._schema is not None
        of_column = np.arange(self._width)
        if self.spaces is not None:
            of_column = np.full(self._width, -1)
            places = {name: j for j, name in enumerate(self._schema.names)}
            for number, group in enumerate(self.spaces):
                for column in group:
                    if isinstance(column, str):
                        j = places.get(column, -1)
                    else:
                        width = self._schema.width or self._width
                        j = int(column) + width if column < 0 else int(column)
                    if 0 <= j < self._width:
                        of_column[j] = number
        unit = np.full(n, -1)
        unit[: self._width] = of_column
        for j, start, size in zip(self._nominal, self._starts(self._width, self._room), self._room, strict=True):
            unit[start : start + size] = of_column[j]
        return unit

    def _encode_rows(self, schema: Schema, X: Any, grow: bool = True) -> tuple[Any, Schema]:
        rows, schema = super()._encode_rows(schema, X, grow)  # type: ignore[misc]
        known = None if self._schema is None else self._schema.width
        if grow and self.spaces is not None and schema.width not in (None, known):
            for group in self.spaces:
                for column in group:
                    if not isinstance(column, str) and not -schema.width <= column < schema.width:
                        raise ValueError(
                            f"spaces names column {column}, but X is an array of {schema.width} columns: give "
                            f"positions from 0 to {schema.width - 1}."
                        )
        return rows, schema

    # ------------------------------------------------------------------------------------ rows

    def _run(self, X: Any, y: Floats, w: Floats, mode: int, width: int = 1, scores_only: bool = False) -> Floats:
        """Go through rows; returns answers, where ``mode`` asks for them."""
        rows = self._rows(X)
        n = X.shape[0]
        out = _NO_ANSWERS if mode == kernels.LEARN else np.zeros((n, width))
        # A model to answer with in place of this one, for rows that teach nothing though they call for a decision.
        others: dict[bytes, Model] = {}
        model = self._model
        if mode == kernels.TEST:  # others may be predicting, too
            model = model._replace(present=model.present.copy(), numbers=model.numbers.copy())
        first, progress = 0, kernels.FRESH
        while True:
            first = _call(model, rows, n, y, w, first, progress, mode, self._settings, scores_only, out)
            reason = model.numbers[kernels.REASON]
            if reason == kernels.DONE:
                break
            if reason == kernels.CLASS:
                model = _take_in_classes(model, int(y[first]) + 1)
                progress = kernels.ANSWERED
            elif mode != kernels.TEST and w[first] > 0.0:
                model = self._decide(model)
                progress = kernels.SETTLED
            else:
                key = model.present.tobytes()
                other = others.get(key)
                if other is None:
                    with warnings.catch_warnings():  # learning will say so
                        warnings.simplefilter("ignore")
                        other = others[key] = self._decide(copy.deepcopy(model))
                _call(
                    other, rows, first + 1, y, w, first, kernels.SETTLED, kernels.TEST, self._settings, scores_only, out
                )
                first, progress = first + 1, kernels.FRESH
                if first == n:
                    break
        if mode != kernels.TEST:
            model.numbers[kernels.REASON] = kernels.DONE
            model.present[:] = 0  # of the last row that was looked at, which may have taught nothing
            self._arrays = list(model)
        return out

    def _of_period(self, X: Any, period: int | None) -> Any:
        """Rows without what they hold in columns of spaces that are not of the period."""
        if period is None:
            return X
        last = 2 * len(self.spaces or ()) - 2
        if self.spaces is None:
            raise ValueError(
                "period= needs declared spaces: say which columns each has, as in spaces=[[0, 1], [2, 3]]."
            )
        if not isinstance(period, numbers.Integral) or not 0 <= period <= last:
            raise ValueError(f"period must be a whole number from 0 to {last}, got {period!r}.")
        shown = {period // 2, (period + 1) // 2}
        hidden = [j for k, group in enumerate(self.spaces) if k not in shown for j in group]
        names = [j for j in hidden if isinstance(j, str)]
        if names or not (isinstance(X, np.ndarray) or (hasattr(X, "tocsr") and hasattr(X, "nnz"))):
            raise TypeError("period= is for arrays and sparse matrices: columns that have names come and go by them.")
        if isinstance(X, np.ndarray):
            X = np.array(X, np.float64)
            X[:, hidden] = np.nan
            return X
        X = X.tocsr().astype(np.float64)
        kept = np.ones(X.shape[1])
        kept[hidden] = 0.0
        X = X.multiply(kept).tocsr()
        X.eliminate_zeros()
        return X

    # ------------------------------------------------------------------------------------ periods

    def _decide(self, model: Model) -> Model:
        """Apply the rules of periods to the row at hand, whose columns are in ``present``."""
        numbers, status = model.numbers, model.status
        present = model.present > 0
        age, rows = numbers[kernels.AGE], numbers[kernels.ROWS]
        strange = present & (status != NOW) & (status != NEXT)
        lately = numbers[kernels.CHANGED] >= 0 and rows - numbers[kernels.CHANGED] < self.patience
        if lately and (strange & (status == GONE) & (model.in_previous > 0)).any():  # rule 6
            _take_back(model)
            strange = present & (status != NOW) & (status != NEXT)
            age = numbers[kernels.AGE]
        if strange.any():
            if not (status == NOW).any() or (self.spaces is None and age < self.patience):  # rule 1
                status[strange] = NOW
            else:  # rule 2
                if not numbers[kernels.AWAITING]:
                    model = self._begin_overlap(model)
                status[strange] = NEXT
            model.since[strange] = -1
        overdue = (status == NOW) & ~present & (model.since >= 0) & (rows - model.since + 1 >= self.patience)
        if numbers[kernels.AWAITING]:
            following = present & (status == NEXT)
            if following.any() and not (present & (status == NOW)).any():  # rule 3
                model = self._change(model, status == NOW)
            elif overdue.any():
                model = self._change(model, overdue)
            elif following.any() and numbers[kernels.OVERLAP] >= self.max_overlap:  # rule 7
                status[status == NEXT] = NOW
                numbers[kernels.AWAITING] = 0.0
        elif overdue.any() and numbers[kernels.MAPPED]:  # rule 4
            status[overdue & (model.in_previous > 0)] = GONE
            _mark(model)
            _settle_previous(model)
            model = self._map(model)
        numbers[kernels.QUIET] = 0.0
        _mark(model)
        return model

    def _share_of_previous(self, model: Model) -> float:
        """How much the previous model has to say in what is handed on at a change."""
        strategy = self._at_work
        if not model.numbers[kernels.MAPPED] or strategy == kernels.PRESENT:
            return 0.0
        if strategy in (kernels.RECOVERED, kernels.RECOVERED_FIXED):
            return 1.0
        share = kernels.share(model.hedge)
        return float(share > 0.5) if strategy == kernels.SELECTION else float(share)

    def _begin_overlap(self, model: Model) -> Model:
        """Begin to keep rows of an overlap."""
        numbers = model.numbers
        _settle_previous(model)
        numbers[kernels.AWAITING] = 1.0
        numbers[kernels.OVERLAP] = numbers[kernels.KEPT] = 0.0
        numbers[kernels.CHANGED] = -1.0
        if self._at_work == kernels.PRESENT:
            return model
        n = len(model.unit)
        if not len(model.bias):
            if self._settings[kernels.MOMENTS] > 0:
                _check_moments(n)
                r = n + 1
                model = model._replace(moments=np.zeros((r, r)))
            else:
                # Rows that come after old columns have vanished, and before that is certain, must not use up the room.
                r = self.overlap_rows + min(self.patience, self.overlap_rows)  # type: ignore[attr-defined]
                r += -r % kernels.BLOCK
            m = len(model.now)
            model = model._replace(
                anchors=np.zeros((m, r)),
                start=np.zeros((m, r)),
                recover=np.zeros((n, r)),
                bias=np.zeros(r),
                unfold=np.zeros((r, r)),
                buffer=np.zeros((n, r)),
            )
        model.moments[:] = 0.0
        return model

    def _change(self, model: Model, gone: NDArray[np.bool_]) -> Model:
        """Let the next space become the present one, some columns of which have survived."""
        numbers, status = model.numbers, model.status
        _unite(model, self._share_of_previous(model))
        model.in_previous[:] = status == NOW
        model.previous[:] = model.now * model.in_now
        model.intercepts[0] = model.intercepts[1]
        model.start[:] = model.anchors
        status[gone] = GONE
        status[status == NEXT] = NOW
        model.since[status == GONE] = -1
        _mark(model)
        vanished = (model.unit >= 0) & (status[model.unit] == GONE)
        model.now[:, vanished] = 0.0
        if self.radius is not None:
            model.norms[0] = (model.previous**2).sum(axis=1)
            model.norms[1] = ((model.now * model.in_now) ** 2).sum(axis=1)
        numbers[kernels.PREVIOUS_AGE] = numbers[kernels.AGE]
        numbers[kernels.AGE] = numbers[kernels.AWAITING] = 0.0
        numbers[kernels.CHANGED] = numbers[kernels.ROWS]
        numbers[kernels.CHANGES] += 1.0
        kernels.begin_hedge(model.hedge, self._at_work, self._settings[kernels.HORIZON])
        return self._map(model)

    def _map(self, model: Model) -> Model:
        """Learn the mapping from present columns to vanished ones, from the rows in which both were there."""
        numbers = model.numbers
        numbers[kernels.MAPPED] = 0.0
        if self._at_work == kernels.PRESENT:
            return model
        vanished = (model.unit >= 0) & (model.in_now == 0)
        vanished &= model.in_previous[model.unit] > 0
        targets, sources = np.flatnonzero(vanished), np.flatnonzero(model.in_now)
        constant = float(self.fit_intercept)
        ridge: float = self.ridge  # type: ignore[attr-defined]
        if self._settings[kernels.MOMENTS] > 0:
            found = numbers[kernels.KEPT] > 0
            if found:
                _map_by_moments(model, targets, sources, constant, ridge)
        else:
            found = self._map_by_rows(model, targets, sources, constant, ridge)
        numbers[kernels.MAPPED] = float(found)
        if not found:
            warnings.warn(
                f"{type(self).__name__} met new columns without any row that shows the vanished ones beside them: with "
                "nothing to learn a mapping from, the model of the new columns is on its own.",
                UserWarning,
                stacklevel=2,
            )
        return model

    def _map_by_rows(self, model: Model, targets: Codes, sources: Codes, constant: float, ridge: float) -> bool:
        """Learn the mapping from the rows kept: psi(x) = X1^T pinv(X2 X2^T) X2 x. False if there is no row.

        The rows used come to lie at the front of the buffer, oldest first, then those that show no vanished column.
        """
        buffer, kept, r = model.buffer, int(model.numbers[kernels.KEPT]), model.buffer.shape[1]
        by_age = np.arange(kept) if kept <= r else (np.arange(r) + kept) % r
        known = ~np.isnan(buffer[targets])
        shown = by_age[known[:, by_age].any(axis=0)]
        shown = shown[-self.overlap_rows :]  # type: ignore[attr-defined]
        rank = len(shown)
        if not rank:
            return False
        others = by_age[~known[:, by_age].any(axis=0)]  # of use when more columns vanish
        buffer[:, : rank + len(others)] = buffer[:, np.append(shown, others)]
        buffer[:, rank + len(others) :] = 0.0
        model.numbers[kernels.KEPT] = rank + len(others)
        slots = np.arange(rank)
        self._fill_in(buffer, targets, sources, slots)
        of_sources = _products(buffer, sources, slots, constant)
        basis, folded = np.linalg.qr(buffer[np.ix_(targets, slots)])
        weights = np.zeros((r, len(folded)))
        weights[:rank] = _inverse(of_sources, ridge) @ folded.T
        model.recover[:] = 0.0
        kernels.multiplied(buffer, sources, weights, model.recover)
        model.bias[:] = 0.0
        model.bias[: len(folded)] = constant * weights.sum(axis=0)
        _put_down(model, targets, sources, constant, slots, basis, folded)
        return True

    def _fill_in(self, buffer: Floats, targets: Codes, sources: Codes, slots: Codes) -> None:
        """Fill in what the rows of an overlap do not show.

        Here vanished columns that are missing in some of the rows (they died early) are filled in by the mapping that
        the other rows teach, which changes nothing about that mapping. What is missing of present ones counts 0.
        """
        known = ~np.isnan(buffer[np.ix_(targets, slots)])
        if known.all():
            return
        of_sources = _products(buffer, sources, slots, float(self.fit_intercept))
        patterns, which = np.unique(known, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            if pattern.all():
                continue
            rows = targets[which.ravel() == number]
            filled = np.zeros((len(rows), int((~pattern).sum())))
            if pattern.any():
                inner = _inverse(of_sources[np.ix_(pattern, pattern)], self.ridge)  # type: ignore[attr-defined]
                filled = buffer[np.ix_(rows, slots[pattern])] @ (inner @ of_sources[np.ix_(pattern, ~pattern)])
            buffer[np.ix_(rows, slots[~pattern])] = filled

    # ------------------------------------------------------------------------------------ what was learned

    @property
    def period_(self) -> int:
        """Number of the period: 0 with the first columns, 1 when others stand beside them, 2 with those alone, ..."""
        numbers = self._state().numbers
        return int(2 * numbers[kernels.CHANGES] + numbers[kernels.AWAITING])

    @property
    def weights_(self) -> Floats:
        """Weights of the recovered model and of the present one, (2,)."""
        model = self._state()
        if not model.numbers[kernels.MAPPED]:
            return np.array([0.0, 1.0])
        share = kernels.share(model.hedge)
        return np.array([share, 1.0 - share])

    @property
    def losses_(self) -> Floats:
        """Cumulative losses since the last change: of the recovered model, the present one, and both together, (3,)."""
        return self._state().hedge[[kernels.LOSS_1, kernels.LOSS_2, kernels.LOSS_12]]

    @property
    def regret_(self) -> float:
        """Loss since the last change beyond the better model's (for a selection: beyond the best single switch's)."""
        return float(kernels.regret(self._state().hedge, self._at_work))

    @property
    def bound_(self) -> float:
        """What ``regret_`` cannot exceed, as long as all losses lie between 0 and 1."""
        return float(kernels.hedge_bound(self._state().hedge, self._at_work, self._settings[kernels.HORIZON]))

    def _state(self) -> Model:
        self._columns()
        return self._model

    @property
    def coef_(self) -> Floats:
        """Weights of the present columns, (vectors, n_features); 0 for others, NaN for nominal ones."""
        schema = self._columns()
        model = self._model
        coef = np.zeros((len(model.now), schema.width or len(schema)))
        coef[:, : self._width] = (model.now * model.in_now)[:, : self._width]
        coef[:, np.flatnonzero(schema.nominal)] = np.nan
        return coef

    @property
    def intercept_(self) -> Floats:
        """Intercepts of the model of the present columns, (vectors,)."""
        intercept: Floats = self._state().intercepts[1].copy()
        return intercept


class EvolvingClassifier(ScoringClassifier, EvolvingModel):
    """A learner of classes on evolving columns."""

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        period: int | None = None,
    ) -> Self:
        """Learn a chunk of rows, in order.

        Parameters
        ----------
        X, y, classes, sample_weight
            As for every classifier.
        period : int, optional
            Number of the period that the rows are of, where ``spaces`` are declared: 0 for the first space, 1 for
            the first two, 2 for the second, ... What rows hold in columns of other spaces is passed over. If left out,
            the rows tell by what they hold.

        Returns
        -------
        self
        """
        return super().partial_fit(self._of_period(X, period), y, classes, sample_weight)  # type: ignore[misc,no-any-return]

    def test_then_train(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, period: int | None = None
    ) -> Floats:
        """Predict each row just before learning it; see :meth:`partial_fit` for ``period``."""
        return super().test_then_train(self._of_period(X, period), y, sample_weight)  # type: ignore[misc,no-any-return]

    def predict_proba(self, X: Any, *, period: int | None = None) -> Floats:
        """Class probabilities of rows; see :meth:`partial_fit` for ``period``."""
        return super().predict_proba(self._of_period(X, period))  # type: ignore[misc,no-any-return]

    def predict(self, X: Any, *, period: int | None = None) -> NDArray[Any]:
        """Most probable class of each row; see :meth:`partial_fit` for ``period``."""
        return super().predict(self._of_period(X, period))  # type: ignore[misc,no-any-return]

    def _taught(self, X: Any, y: Codes, w: Floats, mode: int) -> Floats:
        self._grow(X)
        if self._n_announced > self._model.numbers[kernels.ACTIVE]:
            self._arrays = list(_take_in_classes(self._model, self._n_announced))
        return self._run(X, y.astype(np.float64), w, mode, max(self._n_classes, 1))

    def _learn(self, X: Any, y: Codes, w: Floats) -> None:
        self._taught(X, y, w, kernels.LEARN)

    def _test_then_train(self, X: Any, y: Codes, w: Floats) -> Floats:
        return self._taught(X, y, w, kernels.TEST_THEN_LEARN)

    def _answers(self, X: Any, scores_only: bool) -> Floats:
        model = self._model
        if self._n_announced > model.numbers[kernels.ACTIVE]:
            other = copy.copy(self)
            other._arrays = list(_take_in_classes(model._replace(numbers=model.numbers.copy()), self._n_announced))
            return other._answers(X, scores_only)
        active = int(model.numbers[kernels.ACTIVE])
        width = len(model.now) if scores_only else max(active, 1)
        nothing = np.empty(0)
        return self._run(X, nothing, nothing, kernels.TEST, width, scores_only)

    def _votes(self, X: Any) -> Floats:
        return self._answers(X, False)

    def _class_scores(self, X: Any) -> Floats:
        return self._answers(X, True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.classifier_tags.poor_score = (
            True  # one pass over few rows of any scale, at steps made for rows of length 1
        )
        return tags


class EvolvingRegressor(EvolvingModel):
    """A learner of numbers on evolving columns."""

    _loss = kernels.SQUARED

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, period: int | None = None) -> Self:
        """Learn a chunk of rows, in order.

        Parameters
        ----------
        X, y, sample_weight
            As for every regressor.
        period : int, optional
            Number of the period that the rows are of, where ``spaces`` are declared: 0 for the first space, 1 for
            the first two, 2 for the second, ... What rows hold in columns of other spaces is passed over. If left out,
            the rows tell by what they hold.

        Returns
        -------
        self
        """
        return super().partial_fit(self._of_period(X, period), y, sample_weight)  # type: ignore[misc,no-any-return]

    def test_then_train(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, period: int | None = None
    ) -> Floats:
        """Predict each row just before learning it; see :meth:`partial_fit` for ``period``."""
        return super().test_then_train(self._of_period(X, period), y, sample_weight)  # type: ignore[misc,no-any-return]

    def predict(self, X: Any, *, period: int | None = None) -> Floats:
        """Predict numbers for rows; see :meth:`partial_fit` for ``period``."""
        return super().predict(self._of_period(X, period))  # type: ignore[misc,no-any-return]

    def _learn(self, X: Any, y: Floats, w: Floats) -> None:
        self._grow(X)
        self._run(X, y, w, kernels.LEARN)

    def _test_then_train(self, X: Any, y: Floats, w: Floats) -> Floats:
        self._grow(X)
        return self._run(X, y, w, kernels.TEST_THEN_LEARN)[:, 0]

    def _predict(self, X: Any) -> Floats:
        nothing = np.empty(0)
        return self._run(X, nothing, nothing, kernels.TEST)[:, 0]

    @property
    def coef_(self) -> Floats:
        """Weights of the present columns, (n_features,); 0 for others, NaN for nominal ones."""
        coef: Floats = np.ascontiguousarray(super().coef_[0])
        return coef

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.regressor_tags.poor_score = True  # one pass over two hundred rows, at a careful rate
        return tags


# ---------------------------------------------------------------------------------------------- parts


def _call(
    model: Model, rows: Any, n: int, y: Floats, w: Floats, first: int, progress: int, mode: int, settings: Floats,
    scores_only: bool, out: Floats,
) -> int:  # fmt: skip
    return call_directly(  # type: ignore[no-any-return]
        kernels.run, *rows, n, y, w, first, progress, mode, settings, scores_only, out, *model, types=_indices(rows)
    )


def _take_in_classes(model: Model, active: int) -> Model:
    """Know so many classes from now on. With the third, the vector for two becomes two, of opposite sign."""
    before = model.numbers[kernels.ACTIVE]
    model.numbers[kernels.ACTIVE] = active
    if active <= 2:
        return model
    changed = {}
    for name in ("now", "previous", "anchors", "start", "intercepts", "norms"):
        old = getattr(model, name)
        axis = 1 if name in ("intercepts", "norms") else 0
        late = [(0, 0), (0, 0)]
        late[axis] = (0, active - old.shape[axis])
        new = np.pad(old, late)
        if before <= 2:
            of = np.moveaxis(new, axis, 0)
            of[1] = of[0]
            if name != "norms":
                of[0] = 0.0 - of[0]
        changed[name] = new
    return model._replace(**changed)


def _mark(model: Model) -> None:
    """Bring up to date which columns the models use, and whose absence matters."""
    status, unit, numbers = model.status, model.unit, model.numbers
    now = status == NOW
    both = now & (model.in_previous > 0)
    always = unit < 0
    model.in_now[:] = always
    model.in_both[:] = always
    if len(status):
        model.in_now[:] |= ~always & now[unit]
        model.in_both[:] |= ~always & both[unit]
    if numbers[kernels.AWAITING]:
        model.watched[:] = now
    elif numbers[kernels.MAPPED] and numbers[kernels.CHANGED] >= 0:
        model.watched[:] = both
    else:
        model.watched[:] = 0


def _unite(model: Model, share: float) -> None:
    """Make one model of both, of the present columns.

    Both are linear in them, as is the mapping: the previous model's weights for the present columns are its own for
    those that survived, plus ``recover @ anchors``.
    """
    if share == 0.0:
        return
    previous = model.previous * model.in_both
    kernels.multiplied(model.recover, np.flatnonzero(model.in_now), np.ascontiguousarray(model.anchors.T), previous.T)
    used = model.in_now > 0
    model.now[:, used] = share * previous[:, used] + (1.0 - share) * model.now[:, used]
    intercepts = model.intercepts[0] + (model.anchors * model.bias).sum(axis=1)
    model.intercepts[1] = share * intercepts + (1.0 - share) * model.intercepts[1]


def _settle_previous(model: Model) -> None:
    """Write out what the previous model has learned from recovered rows."""
    steps = model.anchors - model.start
    if steps.any():
        vanished = (model.unit >= 0) & (model.in_now == 0)
        vanished &= model.in_previous[model.unit] > 0
        kernels.add_rows(steps @ model.unfold.T, model.buffer, np.flatnonzero(vanished), model.previous)
        model.start[:] = model.anchors


def _take_back(model: Model) -> None:
    """Undo the last change: what it called gone is back, and what it made the present space is the next one again."""
    numbers, status = model.numbers, model.status
    _settle_previous(model)
    before = model.in_previous > 0
    status[(status == NOW) & ~before] = NEXT
    status[before] = NOW
    model.since[before] = -1
    known = ((model.unit >= 0) & before[model.unit]) | (model.unit < 0)
    model.now[:, known] = model.previous[:, known]  # the weights of others wait for their turn
    model.intercepts[1] = model.intercepts[0]
    model.norms[1] = model.norms[0]
    model.in_previous[:] = 0
    numbers[kernels.AGE] += numbers[kernels.PREVIOUS_AGE]
    numbers[kernels.CHANGES] -= 1.0
    numbers[kernels.CHANGED] = -1.0
    numbers[kernels.MAPPED] = 0.0
    numbers[kernels.AWAITING] = 1.0
    _mark(model)


def _check_moments(n: int) -> None:
    if n > _MOST_MOMENTS:
        raise ValueError(
            f"overlap_rows=None keeps a number for each pair of columns, which for {n} columns is too many (the limit "
            f"is {_MOST_MOMENTS}): say how many rows of the overlap to keep, such as overlap_rows=50."
        )


def _inverse(matrix: Floats, ridge: float) -> Floats:
    """Pseudo-inverse of a symmetric matrix without negative eigenvalues, or the inverse of it plus a ridge."""
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, 0.0)
    kept = values > values[-1] * _NEGLIGIBLE
    shares = np.zeros_like(values)
    shares[kept] = 1.0 / (values[kept] + ridge)
    result: Floats = (vectors * shares) @ vectors.T
    return result


def _products(buffer: Floats, features: Codes, slots: Codes, constant: float) -> Floats:
    """Sums of products of rows of the overlap over some features; missing values count 0."""
    r = buffer.shape[1]
    used = np.zeros(r, np.uint8)
    used[slots] = 1
    products = np.zeros((r, r))
    kernels.products(buffer, features, used, constant, products)
    return products[np.ix_(slots, slots)]


def _map_by_moments(model: Model, targets: Codes, sources: Codes, constant: float, ridge: float) -> None:
    """Learn the mapping from sums of products: psi(x) = M^T x with M = M1^-1 M2, as Algorithm 1 has it."""
    n = len(model.unit)
    inputs = np.append(sources, n) if constant else sources  # the last column is the constant
    mapping = _inverse(model.moments[np.ix_(inputs, inputs)], ridge) @ model.moments[np.ix_(inputs, targets)]
    model.buffer[:] = 0.0
    model.buffer[np.ix_(targets, inputs)] = mapping.T
    model.recover[:] = 0.0
    basis, folded = np.linalg.qr(mapping.T)
    model.recover[np.ix_(sources, np.arange(len(folded)))] = folded[:, : len(sources)].T
    model.bias[:] = 0.0
    if constant:
        model.bias[: len(folded)] = folded[:, -1]
    _put_down(model, targets, sources, constant, inputs, basis, folded)


def _put_down(
    model: Model, targets: Codes, sources: Codes, constant: float, rows: Codes, basis: Floats, folded: Floats
) -> None:
    """Finish a mapping whose answers are ``basis @ a``, where ``basis @ folded`` are these rows of the buffer."""
    unfold = np.linalg.pinv(folded, rcond=_NEGLIGIBLE)
    anchors = model.previous[:, targets] @ basis
    dimensions = len(folded)
    fewer = len(sources) + int(constant)
    if fewer < dimensions:  # there are no more dimensions than present columns
        shown = np.vstack([model.recover[sources, :dimensions], model.bias[:dimensions]])[:fewer]
        turn, reduced = np.linalg.qr(shown.T)
        unfold, anchors, dimensions = unfold @ turn, anchors @ turn, fewer
        model.recover[:] = 0.0
        model.recover[sources, :dimensions] = reduced[:, : len(sources)].T
        model.bias[:] = 0.0
        if constant:
            model.bias[:dimensions] = reduced[:, -1]
    model.numbers[kernels.RANK] = dimensions
    model.unfold[:] = 0.0
    model.unfold[rows, :dimensions] = np.nan_to_num(unfold)
    model.anchors[:] = 0.0
    model.anchors[:, :dimensions] = np.nan_to_num(anchors)
    model.start[:] = model.anchors
