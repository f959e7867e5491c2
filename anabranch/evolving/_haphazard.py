"""What the learners for haphazard rows share: features in the order of their first rows, and the kernel's arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch import checkpoint
from anabranch._parameters import Columns, Constraint, Flag, OneOf
from anabranch.base import StreamClassifier
from anabranch.kernels import call_directly, linear
from anabranch.kernels import haphazard as kernels
from anabranch.kernels.haphazard import Model
from anabranch.linear_model._linear import SCALINGS, ModeClassifier
from anabranch.schema import Codes, Floats

Flags = NDArray[np.bool_]

CONSTRAINTS: dict[str, Constraint] = {
    "scaling": OneOf(SCALINGS),
    "fit_intercept": Flag(),
    "nominal_features": Columns(),
}

# Sparse rows are written out so many values at a time: 8 MB.
_MOST_VALUES = 1_000_000

_NOTHING = np.empty(0)
_NO_SCORES = np.empty((0, 0))
_SCALES = {linear.UNSCALED: 0, linear.MAX_ABS: 2, linear.STANDARD: 4}
_CONSTANT = -1  # column of the intercept's feature, which is always 1
_NUMERIC = -1  # value of a feature that is a numeric column


class HaphazardClassifier(ModeClassifier, StreamClassifier):
    """A classifier of rows that bring whatever columns they have.

    A feature is a numeric column, a value of a nominal column (1 or 0, absent where the column is), or the constant
    of the intercept. Features are numbered in the order in which rows that teach brought them.
    """

    if TYPE_CHECKING:
        scaling: str
        fit_intercept: bool

    _takes_sparse = True

    # Parameters that shape the arrays, and so cannot change later.
    _fixed: ClassVar[tuple[str, ...]] = ("scaling", "fit_intercept")
    _method: ClassVar[int]

    _arrays: list[NDArray[Any]]
    _settings: Floats  # the kernel's options
    _sources: Codes  # of each feature: its column
    _values: Codes  # and its value, if that is nominal

    # ------------------------------------------------------------------------------------ to be written by learners

    def _set_options(self, options: Floats) -> None:
        """Fill in a learner's own parameters."""
        raise NotImplementedError

    def _shapes(self, k: int, d: int) -> Mapping[str, tuple[int, ...]]:
        """Shapes of the arrays that this learner has beside weights, scales and numbers."""
        return {}

    def _fill(self, model: Model, old: Model) -> None:
        """Give features and classes that are new what they start with, where that is not 0."""

    # ------------------------------------------------------------------------------------ state

    def _options(self) -> Floats:
        options = np.zeros(kernels.OPTIONS_SIZE)
        options[kernels.METHOD] = self._method
        options[kernels.SCALING] = SCALINGS.index(self.scaling)
        options[kernels.SHARE] = 1.0
        self._set_options(options)
        return options

    def _begin(self) -> None:
        self._settings = self._options()
        d = int(self.fit_intercept)
        self._sources = np.full(d, _CONSTANT)
        self._values = np.full(d, _NUMERIC)
        self._kept = {name: getattr(self, name) for name in self._fixed}
        self._arrays = [np.zeros((0,) * len(shape)) for shape in self._all_shapes(1, d)]
        self._resize(1, d)

    def _all_shapes(self, k: int, d: int) -> list[tuple[int, ...]]:
        nothing = {"more": (k, 0), "start": (k, 0), "graph": (0, 0, 0), "columns": (4, 0)}
        scales = _SCALES[SCALINGS.index(self.scaling)]
        shapes = {
            "weights": (k, d),
            "scales": (scales, d),
            "numbers": (k, kernels.NUMBERS_SIZE),
            "active": (1,),
            **nothing,
            **self._shapes(k, d),
        }
        return [shapes[name] for name in Model._fields]

    def _resize(self, k: int, d: int) -> None:
        """Make room for more binary learners and features; what is known stays where it is."""
        old = Model(*self._arrays)
        arrays = []
        for before, shape in zip(old, self._all_shapes(k, d), strict=True):
            after = np.zeros(shape)
            after[tuple(slice(n) for n in before.shape)] = before
            arrays.append(after)
        model = Model(*arrays)
        self._fill(model, old)
        self._arrays = arrays

    def _reconfigure(self) -> None:
        for name in self._fixed:
            if getattr(self, name) is not self._kept[name] and getattr(self, name) != self._kept[name]:
                raise ValueError(f"{name} cannot change once the model has begun to learn: fit starts afresh.")
        self._settings = self._options()

    def __restore__(self, state: dict[str, Any]) -> None:
        """Take a state from a checkpoint, unless its arrays do not fit together: the kernels trust them."""
        super().__restore__(state)
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
        k, d = model.weights.shape
        features = [self._sources, self._values]
        return bool(
            k >= 1
            and all(
                isinstance(array, np.ndarray)
                and array.dtype == np.float64
                and array.flags.c_contiguous
                and array.shape == shape
                for array, shape in zip(model, self._all_shapes(k, d), strict=True)
            )
            and all(isinstance(a, np.ndarray) and a.dtype == np.int64 and a.shape == (d,) for a in features)
            and (self._sources >= _CONSTANT).all()
            and (0 <= model.active[0] <= 2 or model.active[0] == k)
        )

    # ------------------------------------------------------------------------------------ rows

    def _take_in_features(self, X: Floats, w: Floats) -> tuple[Codes, Flags]:
        """Number the features that rows bring; how many are known with each row, and which bring a new column."""
        n, width = X.shape
        assert self._schema is not None
        nominal = self._schema.nominal[:width]
        numeric = np.ones(width, np.bool_)
        numeric[self._sources[self._sources >= 0]] = False
        numeric[nominal] = False
        before = len(self._sources)
        known = np.full(n, before)
        new_column = np.zeros(n, np.bool_)
        if not numeric.any() and not nominal.any():
            return known, new_column
        taught = np.flatnonzero(w > 0.0)
        found: list[tuple[int, int, int]] = []
        for j in np.flatnonzero(numeric):
            there = ~np.isnan(X[taught, j])
            if there.any():
                found.append((int(taught[there.argmax()]), int(j), _NUMERIC))
        for j in np.flatnonzero(nominal):
            rows = taught[~np.isnan(X[taught, j])]
            values, first = np.unique(X[rows, j], return_index=True)
            met = self._values[self._sources == j]
            for value, row in zip(values.astype(np.int64).tolist(), rows[first].tolist(), strict=True):
                if value not in met:
                    found.append((row, int(j), value))
        if not found:
            return known, new_column
        found.sort()
        columns = set(self._sources.tolist())
        for row, column, _ in found:
            known[row:] += 1
            if column not in columns:
                columns.add(column)
                new_column[row] = True
        self._sources = np.concatenate([self._sources, [column for _, column, _ in found]]).astype(np.int64)
        self._values = np.concatenate([self._values, [value for _, _, value in found]]).astype(np.int64)
        return known, new_column

    def _features(self, X: Floats) -> Floats:
        """Rows by features; NaN is absent."""
        sources, values = self._sources, self._values
        if sources.size and sources.max() >= X.shape[1]:
            X = np.hstack([X, np.full((len(X), sources.max() + 1 - X.shape[1]), np.nan)])
        Z = np.take(X, np.maximum(sources, 0), axis=1)
        nominal = values >= 0
        if nominal.any():
            part = Z[:, nominal]
            Z[:, nominal] = np.where(np.isnan(part), np.nan, part == values[nominal])
        Z[:, sources == _CONSTANT] = 1.0
        return Z

    @property
    def _scaled(self) -> Flags:
        scaled: Flags = (self._sources >= 0) & (self._values == _NUMERIC)
        return scaled

    # ------------------------------------------------------------------------------------ learning

    def _learn_classes(self, X: Any, y: Codes, w: Floats, mode: int) -> Floats:
        if isinstance(X, np.ndarray):
            return self._learn_rows(X, y, w, mode)
        return np.vstack([self._learn_rows(rows, y[part], w[part], mode) for part, rows in _written_out(X)])

    def _learn_rows(self, X: Floats, y: Codes, w: Floats, mode: int) -> Floats:
        k, before = self._arrays[0].shape
        active = max(int(Model(*self._arrays).active[0]), self._n_announced)
        classes = self._classes_with(active, y, w)
        known, new_column = self._take_in_features(X, w)
        k, d = max(k, classes if classes > 2 else 1), len(self._sources)
        if (k, d) != self._arrays[0].shape:
            self._resize(k, d)
        targets = y.astype(np.float64)
        out = _NO_SCORES if mode == kernels.SILENT else np.zeros((len(y), k))
        call_directly(
            kernels.learn, self._features(X), targets, w, known, new_column, before, self._settings,
            self._n_announced, mode, out, self._scaled, *self._arrays,
        )  # fmt: skip
        if mode == kernels.SILENT:
            return out
        votes = np.zeros((len(y), max(self._n_classes, active)))
        call_directly(linear.class_votes, out, active, targets, w, mode, votes)
        return votes

    # ------------------------------------------------------------------------------------ predicting

    def _class_scores(self, X: Any) -> Floats:
        """Scores of rows; a single one for up to two classes."""
        if isinstance(X, np.ndarray):
            return self._scores(X)
        return np.vstack([self._scores(rows) for _, rows in _written_out(X)])

    def _scores(self, X: Floats) -> Floats:
        model = Model(*self._arrays)
        active = int(model.active[0])
        out = np.zeros((len(X), active if active > 2 else 1))
        call_directly(
            kernels.scores, self._features(X), self._settings, out, self._scaled, model.weights, model.graph,
            model.scales, model.numbers,
        )  # fmt: skip
        if active <= 2 < self._n_announced:  # as when the kernel takes in the third
            out = np.hstack([-out, out, np.zeros((len(X), self._n_announced - 2))])
        return out

    def _votes(self, X: Any) -> Floats:
        active = max(int(Model(*self._arrays).active[0]), self._n_announced)
        votes = np.zeros((X.shape[0], active))
        scores = self._class_scores(X)
        if scores.shape[1] < active > 2:
            scores = np.hstack([scores, np.zeros((len(scores), active - scores.shape[1]))])
        call_directly(linear.class_votes, scores, active, _NOTHING, _NOTHING, kernels.BEFORE, votes)
        return votes

    # ------------------------------------------------------------------------------------ what was learned

    def _by_column(self, of_features: Floats) -> Floats:
        """What belongs to features, laid out by column; NaN at nominal ones, 0 at columns never taught."""
        schema = self._columns()
        wide = np.zeros((len(of_features), schema.width or len(schema)))
        plain = self._scaled
        wide[:, self._sources[plain]] = of_features[:, plain]
        wide[:, np.flatnonzero(schema.nominal)] = np.nan
        return wide

    @property
    def _vectors(self) -> int:
        active = int(Model(*self._arrays).active[0])
        return active if active > 2 else 1

    @property
    def coef_(self) -> Floats:
        """Weights, (1, n_features) for up to two classes, (n_classes, n_features) for more; NaN at nominal columns."""
        self._columns()
        return self._by_column(self._arrays[0][: self._vectors])

    @property
    def intercept_(self) -> Floats:
        """Intercepts, one for each row of ``coef_``; 0 without."""
        self._columns()
        constant = self._sources == _CONSTANT
        return self._arrays[0][: self._vectors, constant].sum(axis=1)  # type: ignore[no-any-return]

    @property
    def nominal_coef_(self) -> dict[str, dict[Any, Floats]]:
        """Weights of nominal columns: for each one's name and each of its values, one weight per binary learner."""
        schema = self._columns()
        result: dict[str, dict[Any, Floats]] = {}
        for f in np.flatnonzero(self._values >= 0):
            vocabulary = schema.vocabularies[self._sources[f]]
            assert vocabulary is not None
            column = result.setdefault(schema.names[self._sources[f]], {})
            column[vocabulary.values[self._values[f]]] = self._arrays[0][: self._vectors, f].copy()
        return result

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # one pass over few rows: the last of them weigh much
        return tags


def _written_out(X: Any) -> Iterator[tuple[slice, Floats]]:
    """Sparse rows as arrays: a part after the other, for each of which all values fit into some memory.

    What is not stored is 0, and that is there: learners of presence have to go over all columns in any case.
    """
    n, width = X.shape
    size = max(1, _MOST_VALUES // max(1, width))
    for start in range(0, max(n, 1), size):
        part = slice(start, start + size)
        yield part, X[part].toarray()
