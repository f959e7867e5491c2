"""What linear learners share: the arrays of the model, and how rows of any kind reach its kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anabranch import checkpoint
from anabranch.kernels import call_directly
from anabranch.kernels import linear as kernels
from anabranch.kernels.linear import LANES, Model
from anabranch.schema import Codes, Floats, Schema, Vocabulary

SCALINGS = ("none", "standard", "max_abs")  # in the order of the kernel's UNSCALED, STANDARD, MAX_ABS

_NOTHING = np.empty(0)
_NO_SCORES = np.empty((0, 0))
_NO_INDICES = np.empty(0, np.int32)
_WEIGHTS, _SQUARES, _INTERCEPTS, _SCALES, _NUMBERS = range(5)


class ColumnBlocks:
    """Where the weights of each column lie, and how rows become what they are multiplied by.

    Columns of weights come in this order: one for each column of X, rounded up to whole lanes; then a block for
    each nominal column, with one for each of its values and some to spare. A row with nominal values goes to the
    kernels as a sparse one: its numbers where they are, and a 1 at each of its values.
    """

    if TYPE_CHECKING:
        _schema: Schema | None

    _width: int  # columns of X met so far
    _nominal: Codes  # which of them are nominal
    _room: Codes  # and the size of the block of each

    def _begin_blocks(self) -> None:
        self._width = 0
        self._nominal = np.zeros(0, np.int64)
        self._room = np.zeros(0, np.int64)

    def _blocks_for(self, X: Any) -> tuple[int, Codes, Codes]:
        """Width, nominal columns and room that a chunk needs."""
        width = max(self._width, X.shape[1])
        nominal, room = self._nominal, self._room
        if width > self._width or len(nominal):
            assert self._schema is not None
            listed = self._schema.nominal[:width]
            if listed.any():
                nominal = np.flatnonzero(listed)
                room = np.full(len(nominal), LANES)
                room[np.searchsorted(nominal, self._nominal)] = self._room
                for k, j in enumerate(nominal[nominal < X.shape[1]]):
                    known = X[:, j][~np.isnan(X[:, j])]
                    while known.size and known.max() >= room[k]:
                        room[k] *= 2
        return width, nominal, room

    def _moves(self, width: int, nominal: Codes, room: Codes) -> tuple[int, list[tuple[int, int, int]]]:
        """Number of columns of weights, and where each block lies now, where it comes to lie, and its size."""
        moves = [(0, 0, self._width)]
        old = _in_lanes(self._width)
        starts = dict(zip(nominal.tolist(), self._starts(width, room).tolist(), strict=True))
        for j, size in zip(self._nominal.tolist(), self._room.tolist(), strict=True):
            moves.append((old, starts[j], size))
            old += size
        return _in_lanes(width) + int(room.sum()), moves

    @staticmethod
    def _starts(width: int, room: Codes) -> Codes:
        """Where each nominal column's block starts."""
        starts: Codes = _in_lanes(width) + np.concatenate([[0], np.cumsum(room)[:-1]]).astype(np.int64)
        return starts[: len(room)]

    def _blocks_fit(self, n: int) -> bool:
        """Whether the blocks fit together and fill n columns of weights: for states from outside."""
        return bool(
            all(isinstance(a, np.ndarray) and a.dtype == np.int64 and a.ndim == 1 for a in (self._nominal, self._room))
            and len(self._nominal) == len(self._room)
            and type(self._width) is int
            and self._width >= 0
            and ((self._nominal >= 0) & (self._nominal < self._width)).all()
            and (self._room > 0).all()
            and n == _in_lanes(self._width) + self._room.sum()
        )

    def _rows(self, X: Any) -> tuple[bool, Floats, NDArray[Any], NDArray[Any], int]:
        """Rows as the kernels take them: whether they are dense, data, indices, pointers and width."""
        if not isinstance(X, np.ndarray):
            if X.shape[1] > self._width:
                X = X[:, : self._width]
            return False, X.data, X.indices, X.indptr, self._width
        if not len(self._nominal):
            return True, X.reshape(-1), _NO_INDICES, _NO_INDICES, X.shape[1]
        d = min(X.shape[1], self._width)
        nominal = self._nominal[self._nominal < d]
        others = np.ones(d, np.bool_)
        others[nominal] = False
        numeric = np.flatnonzero(others)
        data = np.empty((len(X), d))
        indices = np.empty((len(X), d), np.int32)
        indices[:, : len(numeric)] = numeric
        data[:, : len(numeric)] = X[:, numeric]
        starts = self._starts(self._width, self._room)
        for k, j in enumerate(nominal):
            values = X[:, j]
            known = values < self._room[k]  # nor missing
            indices[:, len(numeric) + k] = starts[k] + np.where(known, values, 0.0)
            data[:, len(numeric) + k] = np.where(np.isnan(values), np.nan, known)
        pointers = np.arange(len(X) + 1, dtype=np.int32) * d
        return False, data.reshape(-1), indices.reshape(-1), pointers, d


class LinearModel(ColumnBlocks):
    """The state of a linear learner, and the way of rows to it."""

    if TYPE_CHECKING:
        scaling: str
        _takes_sparse: bool

        def _columns(self) -> Schema: ...

    _arrays: list[NDArray[Any]]
    _settings: Floats  # the kernels' options

    # ------------------------------------------------------------------------------------ parameters

    def _options(self) -> Floats:
        """Parameters as the kernels take them; ValueError if they do not go together."""
        raise NotImplementedError

    def _begin(self) -> None:
        settings = self._options()
        squares = settings[kernels.RULE] == kernels.ADAGRAD
        scales = {kernels.UNSCALED: 0, kernels.MAX_ABS: 2, kernels.STANDARD: 4}[int(settings[kernels.SCALING])]
        numbers = np.zeros(kernels.NUMBERS_SIZE)
        numbers[kernels.SCALE] = 1.0
        self._settings = settings
        self._begin_blocks()
        self._arrays = list(
            Model(
                weights=np.zeros((1, 0)),
                squares=np.zeros((int(squares), 0)),
                intercepts=np.zeros((2, 1)),
                scales=np.zeros((scales, 0)),
                numbers=numbers,
            )
        )

    def _reconfigure(self) -> None:
        settings = self._options()
        for place, name in ((kernels.SCALING, "scaling"), (kernels.RULE, "schedule")):
            ours, other = self._settings[place], settings[place]
            if ours != other and (place == kernels.SCALING or kernels.ADAGRAD in (ours, other)):
                raise ValueError(
                    f"{name} cannot change {'to or from AdaGrad ' if name == 'schedule' else ''}once the model has "
                    "begun to learn: fit starts afresh."
                )
        self._settings = settings
        numbers = self._arrays[_NUMBERS]
        numbers[kernels.SINCE] = kernels.NORM_PERIOD  # a radius may be new: have the norm summed

    def __restore__(self, state: dict[str, Any]) -> None:
        """Take a state from a checkpoint, unless its arrays do not fit together: the kernels trust them."""
        super().__restore__(state)  # type: ignore[misc]
        if "_arrays" not in state:
            return
        try:
            self._settings = self._options()
            fit = self._fits_together()
        except (AttributeError, KeyError, TypeError, ValueError):
            fit = False
        if not fit:
            raise checkpoint.CheckpointError("The checkpoint's model does not fit together.")

    def _fits_together(self) -> bool:
        model = Model(*self._arrays)
        if not all(
            isinstance(array, np.ndarray) and array.dtype == np.float64 and array.flags.c_contiguous for array in model
        ):
            return False
        m, n = model.weights.shape
        active = model.numbers[kernels.ACTIVE]
        squares = self._settings[kernels.RULE] == kernels.ADAGRAD
        scales = {kernels.UNSCALED: 0, kernels.MAX_ABS: 2, kernels.STANDARD: 4}[int(self._settings[kernels.SCALING])]
        return bool(
            m >= 1
            and model.squares.shape == ((m, n) if squares else (0, n))
            and model.intercepts.shape == (2, m)
            and model.scales.shape == (scales, n)
            and model.numbers.shape == (kernels.NUMBERS_SIZE,)
            and (0 <= active <= 2 or active == m)
            and self._blocks_fit(n)
        )

    # ------------------------------------------------------------------------------------ room

    def _grow(self, X: Any, classes: int) -> None:
        """Make room for a chunk's columns, nominal values and classes."""
        width, nominal, room = self._blocks_for(X)
        vectors = max(classes if classes > 2 else 1, len(self._arrays[_WEIGHTS]))
        same = room is self._room or np.array_equal(room, self._room)
        if same and width == self._width and vectors == len(self._arrays[_WEIGHTS]):
            return
        n, moves = self._moves(width, nominal, room)
        for place in (_WEIGHTS, _SQUARES, _SCALES):
            before = self._arrays[place]
            rows = vectors if place == _WEIGHTS or (place == _SQUARES and len(before)) else len(before)
            after = np.zeros((rows, n))
            for source, target, size in moves:
                after[: len(before), target : target + size] = before[:, source : source + size]
            self._arrays[place] = after
        intercepts = np.zeros((2, vectors))
        intercepts[:, : self._arrays[_INTERCEPTS].shape[1]] = self._arrays[_INTERCEPTS]
        self._arrays[_INTERCEPTS] = intercepts
        self._width, self._nominal, self._room = width, nominal.astype(np.int64), room.astype(np.int64)

    @property
    def _n_scaled(self) -> int:
        return _in_lanes(self._width)

    def _run(self, X: Any, y: Floats, w: Floats, mode: int, n_announced: int = 0) -> Floats:
        """Learn rows; returns their scores just before or just after, if asked for."""
        out = _NO_SCORES if mode == kernels.SILENT else np.zeros((len(y), len(self._arrays[_WEIGHTS])))
        rows = self._rows(X)
        call_directly(
            kernels.learn, *rows, y, w, self._settings, n_announced, self._n_scaled, mode, out, *self._arrays,
            types=_indices(rows),
        )  # fmt: skip
        return out

    def _scores(self, X: Any) -> Floats:
        """Scores of rows, one for each vector in use."""
        weights, _, intercepts, scales, numbers = self._arrays
        active = int(numbers[kernels.ACTIVE])
        out = np.empty((X.shape[0], active if active > 2 else 1))
        scaling = int(self._settings[kernels.SCALING])
        rows = self._rows(X)
        call_directly(
            kernels.scores, *rows, self._n_scaled, scaling, out, weights, intercepts, scales, numbers,
            types=_indices(rows),
        )  # fmt: skip
        return out

    # ------------------------------------------------------------------------------------ what was learned

    def _coefficients(self) -> tuple[Floats, Floats]:
        """Weights (vectors, columns) and intercepts (vectors,) in use."""
        schema = self._columns()
        weights, _, intercepts, _, numbers = self._arrays
        vectors = int(numbers[kernels.ACTIVE]) if numbers[kernels.ACTIVE] > 2 else 1
        width = schema.width or len(schema)
        coef = np.zeros((vectors, width))
        known = min(width, self._width)
        coef[:, :known] = numbers[kernels.SCALE] * weights[:vectors, :known]
        coef[:, np.flatnonzero(schema.nominal)] = np.nan
        return coef, intercepts[0, :vectors].copy()

    @property
    def nominal_coef_(self) -> dict[str, dict[Any, Floats]]:
        """Weights of nominal columns: for each one's name and each of its values, one weight per vector."""
        schema = self._columns()
        weights, _, _, _, numbers = self._arrays
        vectors = int(numbers[kernels.ACTIVE]) if numbers[kernels.ACTIVE] > 2 else 1
        result: dict[str, dict[Any, Floats]] = {}
        for j, start, room in zip(self._nominal, self._starts(self._width, self._room), self._room, strict=True):
            values: Vocabulary | None = schema.vocabularies[j]
            assert values is not None
            result[schema.names[j]] = {
                value: numbers[kernels.SCALE] * weights[:vectors, start + code]
                for code, value in enumerate(values.values[:room])
            }
        return result


class ScoringClassifier:
    """What classifiers by scores have in common. A subclass writes ``_class_scores(X)``."""

    if TYPE_CHECKING:
        _n_announced: int
        _n_classes: int

    def _class_scores(self, X: Any) -> Floats:
        """Scores of rows; a single one for up to two classes."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> Floats:
        """Scores of rows: what the model says, before it is made into probabilities.

        Parameters
        ----------
        X : array-like of shape (n, d), or data frame

        Returns
        -------
        ndarray of float64, shape (n,) or (n, n_classes)
            For up to two classes, one score, positive for the second.
        """
        scores = self._class_scores(self._encode_rows(self._columns(), X, grow=False)[0])  # type: ignore[attr-defined]
        if scores.shape[1] == 1:
            return scores[:, 0]
        wide = np.full((len(scores), max(self._n_classes, scores.shape[1])), -np.inf)
        wide[:, : scores.shape[1]] = scores
        return wide


class ModeClassifier(ScoringClassifier):
    """A classifier by scores whose kernel tells votes just before or just after it learns each row, or none.

    A subclass writes ``_learn_classes(X, y, w, mode)``, which returns those votes.
    """

    def _learn_classes(self, X: Any, y: Codes, w: Floats, mode: int) -> Floats:
        raise NotImplementedError

    def _classes_with(self, active: int, y: Codes, w: Floats) -> int:
        """How many classes are known with rows, of which those of weight 0 teach nothing."""
        if self._n_classes <= active:
            return active
        taught = y[w > 0]
        return max(active, int(taught.max()) + 1 if taught.size else 0)

    def _learn(self, X: Any, y: Codes, w: Floats) -> None:
        self._learn_classes(X, y, w, kernels.SILENT)

    def _test_then_train(self, X: Any, y: Codes, w: Floats) -> Floats:
        return self._learn_classes(X, y, w, kernels.BEFORE)

    def _train_then_test(self, X: Any, y: Codes, w: Floats) -> Floats:
        return self._learn_classes(X, y, w, kernels.AFTER)


class LinearClassifier(ModeClassifier, LinearModel):
    """A linear model of classes: one score for two of them, one each for more."""

    def _learn_classes(self, X: Any, y: Codes, w: Floats, mode: int) -> Floats:
        active = max(int(self._arrays[_NUMBERS][kernels.ACTIVE]), self._n_announced)
        self._grow(X, self._classes_with(active, y, w))
        targets = y.astype(np.float64)
        scores = self._run(X, targets, w, mode, self._n_announced)
        if mode == kernels.SILENT:
            return scores
        votes = np.zeros((len(y), max(self._n_classes, active)))
        call_directly(kernels.class_votes, scores, active, targets, w, mode, votes)
        return votes

    def _class_scores(self, X: Any) -> Floats:
        """Scores of rows, with those of classes that were announced and never learned yet."""
        scores = self._scores(X)
        if scores.shape[1] == 1 and self._n_announced > 2:  # as when the kernel takes in the third
            scores = np.hstack([-scores / 2.0, scores / 2.0])
        late = self._n_announced - scores.shape[1]
        if self._n_announced > 2 and late > 0:
            scores = np.hstack([scores, np.zeros((len(scores), late))])
        return scores

    def _votes(self, X: Any) -> Floats:
        active = max(int(self._arrays[_NUMBERS][kernels.ACTIVE]), self._n_announced)
        votes = np.zeros((X.shape[0], active))
        call_directly(kernels.class_votes, self._class_scores(X), active, _NOTHING, _NOTHING, kernels.BEFORE, votes)
        return votes

    @property
    def coef_(self) -> Floats:
        """Weights, (1, n_features) for up to two classes, (n_classes, n_features) for more; NaN at nominal columns."""
        return self._coefficients()[0]

    @property
    def intercept_(self) -> Floats:
        """Intercepts, one for each row of ``coef_``."""
        return self._coefficients()[1]


def _in_lanes(n: int) -> int:
    return -(-n // LANES) * LANES


def _indices(rows: Any) -> tuple[str, str]:
    """Types of sparse rows' indices and pointers, which differ from one matrix to another."""
    return rows[2].dtype.char, rows[3].dtype.char
