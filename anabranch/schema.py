"""Column names, nominal values and class labels: whatever a caller hands over becomes arrays here, once.

A :class:`Schema` turns an array, a data frame, a list of dicts or a single dict into a float64 array in which
NaN means *missing* and a nominal value is its code; a :class:`Vocabulary` gives values (nominal ones, or class
labels) their codes. Neither changes in place: encoding returns the schema to use from then on, so that a call
that fails half-way leaves everything as it was.
"""

from __future__ import annotations

import difflib
import math
import numbers
import struct
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anabranch import checkpoint
from anabranch.kernels.checks import EMPTY, LARGEST, MALFORMED, NOT_CANONICAL, first_bad, look_up, sparse_form

__all__ = ["Schema", "Vocabulary"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

# A table from integers to codes is kept while the integers span at most this many, and float64 holds each exactly.
_WIDEST_TABLE = 1 << 16
_LARGEST_EXACT = 1 << 53
_PLAIN = {float, int}
_FEW = 16  # new values that are worth a look through all of a chunk
# Values that a nominal column may have; later ones count as missing, so that a column of names or numbers that
# never repeat cannot use up the memory.
MOST_VALUES = 1 << 16
_NONE = (None, np.empty((1, 0)))


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA are missing."""
    if value is None:
        return True
    if isinstance(value, float):
        return math.isnan(value)
    if isinstance(value, (str, int)):
        return False
    if isinstance(value, np.generic):  # of other kinds of float, and of dates
        return value.dtype.kind in "fcmM" and bool(value != value)
    return type(value).__name__ in ("NAType", "NaTType") or (_is_decimal(value) and value.is_nan())


def _is_infinite(value: Any) -> bool:
    if isinstance(value, (float, np.floating)):
        return math.isinf(value)
    return _is_decimal(value) and value.is_infinite()


def _is_decimal(value: Any) -> bool:
    return type(value).__name__ == "Decimal"


def _plain(value: Any) -> Any:
    """Turn a NumPy scalar into Python's own."""
    if isinstance(value, np.longdouble):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def _as_whole(array: NDArray[Any]) -> Codes | None:
    """Numbers or booleans as int64, or None if int64 does not hold them exactly."""
    if array.dtype.kind not in "biuf":
        return None
    if array.dtype == np.int64 and array.flags.carray:
        return array
    with np.errstate(invalid="ignore"):
        whole = np.ascontiguousarray(array.astype(np.int64, copy=not array.flags.writeable))
    # What int64 does not hold must not come out as another number.
    exact = np.can_cast(array.dtype, np.int64) or np.array_equal(whole.astype(array.dtype), array)
    if array.dtype == np.uint64 and exact:
        exact = not (whole < 0).any()
    return whole if exact else None


def _is_small_whole(value: Any) -> bool:
    return isinstance(value, (int, float)) and abs(value) <= _LARGEST_EXACT and value == int(value)


class Vocabulary:
    """Values and their codes 0, 1, 2, ..., in the order in which they turned up.

    Parameters
    ----------
    values : iterable of hashable
        The values known at the start.

    Examples
    --------
    >>> import numpy as np
    >>> codes, colours = Vocabulary().encode(np.array(["red", "blue", "red"], dtype=object))
    >>> codes, colours.values
    (array([0, 1, 0]), ['red', 'blue'])
    >>> colours.encode(np.array(["green", None], dtype=object), grow=False)[0]
    array([ 2, -1])
    """

    __slots__ = ("_low", "_singles", "_table", "index", "values")

    def __init__(self, values: Iterable[Hashable] = ()) -> None:
        self.index: dict[Any, int] = {}
        for value in values:
            self.index.setdefault(_plain(value), len(self.index))
        self.values: list[Any] = list(self.index)
        self._low = 0
        self._table: Codes | None = None
        self._singles: dict[int, Codes] = {}
        if self.values and all(map(_is_small_whole, self.values)):
            low, high = int(min(self.values)), int(max(self.values))
            if high - low < _WIDEST_TABLE:
                self._low = low
                self._table = np.full(high - low + 1, -1, np.int64)
                for value, code in self.index.items():
                    self._table[int(value) - low] = code

    def __len__(self) -> int:
        return len(self.values)

    def single(self, code: int) -> Codes:
        """An array of one code, the same one every time: it must not be written to."""
        array = self._singles.get(code)
        if array is None:
            array = self._singles[code] = np.array([code], np.int64)
        return array

    def __getstate__(self) -> list[Any]:
        return self.values

    def __setstate__(self, values: list[Any]) -> None:
        self.__init__(values)  # type: ignore[misc]

    def encode(self, array: NDArray[Any], grow: bool = True) -> tuple[Codes, Vocabulary]:
        """Codes of an array's values.

        Parameters
        ----------
        array : ndarray of shape (n,)
            Numbers, booleans, texts, or objects. None and NaN are missing: code -1.
        grow : bool, default=True
            Give new values the next codes; else each of them gets the code ``len(self)``.

        Returns
        -------
        codes : ndarray of int64, shape (n,)
        vocabulary : Vocabulary
            This one, or a longer one.

        Raises
        ------
        TypeError
            If a value cannot be hashed.
        """
        if self._table is not None or not self.values:
            whole = _as_whole(array)
            vocabulary = self
            # The labels of a first chunk are few, and each costs one look through the chunk.
            while whole is not None and len(vocabulary) <= len(self) + _FEW:
                codes = np.empty(array.size, np.int64)
                table = EMPTY if vocabulary._table is None else vocabulary._table
                unknown = look_up(whole, vocabulary._low, table, codes)
                if unknown < 0:
                    return codes, vocabulary
                if not grow:
                    break
                vocabulary = Vocabulary([*vocabulary.values, array[unknown].item()])
                if vocabulary._table is None:
                    break
        values = array.tolist()
        new: dict[Any, int] = {}
        size = len(self.values)
        found: list[int | None] = [*map(self.index.get, values)]
        for i, code in enumerate(found):
            if code is None:
                value = _plain(values[i])
                code = self.index.get(value)
                if code is None:
                    if _is_missing(value):
                        code = -1
                    elif not grow:
                        code = size
                    else:
                        code = new.setdefault(value, size + len(new))
                found[i] = code
        return np.array(found, np.int64), Vocabulary([*self.values, *new]) if new else self

    def first(self, n: int) -> Vocabulary:
        """The vocabulary of the first ``n`` values."""
        return self if len(self.values) <= n else Vocabulary(self.values[:n])

    def as_array(self) -> NDArray[Any]:
        """The values as an array of their common kind (object if there is none)."""
        kinds = {type(value) for value in self.values}
        if (
            kinds in ({bool}, {float})
            or (kinds == {int} and all(-(2**63) <= value < 2**63 for value in self.values))
            or (kinds == {str} and not any(value.endswith("\0") for value in self.values))  # which NumPy would cut off
        ):
            return np.array(self.values)
        array = np.empty(len(self.values), object)
        array[:] = self.values
        return array


class Schema:
    """The columns met so far, and how to turn rows into arrays.

    Columns of arrays go by position, and their number is fixed by the first array; columns of data frames and
    dicts go by name: known ones in any order, new ones are appended, absent ones are missing.

    Parameters
    ----------
    nominal_features : sequence of int or str, default=()
        Columns whose numbers are categories: positions for arrays (negative ones count from the end), names for
        data frames. Text and categorical columns of data frames are nominal anyway.

    Notes
    -----
    A column of objects comes into being with its first value, and that says of which kind it is: with a text it is
    nominal, and numbers in it are categories of their own; with a number it is numeric, and text in it is an error.

    Examples
    --------
    >>> schema = Schema()
    >>> X, schema = schema.encode([{"load": 0.5, "day": "mon"}, {"day": "tue", "load": 0.7}])
    >>> X
    array([[0.5, 0. ],
           [0.7, 1. ]])
    >>> X, schema = schema.encode([{"day": "mon", "price": 3.0}])
    >>> schema.names, X
    (['load', 'day', 'price'], array([[nan,  0.,  3.]]))
    """

    __slots__ = (
        "_as_it_is",
        "_codes",
        "_last",
        "_pack",
        "_place",
        "named",
        "names",
        "nominal",
        "nominal_features",
        "vocabularies",
        "width",
    )

    def __init__(self, nominal_features: Sequence[int | str] = ()) -> None:
        self.nominal_features = list(nominal_features)
        self.names: list[str] = []
        self.nominal: NDArray[np.bool_] = np.empty(0, np.bool_)
        self.vocabularies: list[Vocabulary | None] = []
        self.named = False  # whether columns go by name
        self.width: int | None = None  # of arrays
        self._place: dict[str, int] = {}
        self._as_it_is = False  # whether an array of numbers needs no translation
        self._codes: list[tuple[int, dict[Any, int]]] = []  # nominal columns' places and values
        self._pack = struct.Struct("").pack_into  # writes a row of numbers
        self._last: tuple[list[Any] | None, Floats] = _NONE  # values of the last single row, and what became of them

    def __getstate__(self) -> dict[str, Any]:
        return {
            "nominal_features": self.nominal_features,
            "names": self.names,
            "nominal": self.nominal,
            "vocabularies": self.vocabularies,
            "named": self.named,
            "width": self.width,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name in ("nominal_features", "names", "nominal", "vocabularies", "named", "width"):
            setattr(self, name, state[name])
        self._place = {name: j for j, name in enumerate(self.names)}
        self._pack = struct.Struct(f"{len(self.names)}d").pack_into
        self._last = _NONE
        self._codes = [(j, known.index) for j, known in enumerate(self.vocabularies) if known is not None]
        self._as_it_is = (
            not self.nominal_features
            and not self.nominal.any()
            and (self.named or (self.width is not None and self.names == _positions(self.width)))
        )

    def __len__(self) -> int:
        return len(self.names)

    # ------------------------------------------------------------------------------------------ encoding

    def encode(
        self, X: Any, grow: bool = True, estimator: str = "this learner", sparse: bool = False
    ) -> tuple[Any, Schema]:
        """Turn rows into a float64 array.

        Parameters
        ----------
        X : array-like of shape (n, d), data frame, or list of dict
            NumPy arrays, pandas, Polars and PyArrow tables, nested lists.
        grow : bool, default=True
            Take new columns and nominal values in. Else new columns are passed over, and a new nominal value
            gets a code beyond the known ones.
        estimator : str
            Whom to name in messages.
        sparse : bool, default=False
            Take SciPy's sparse matrices and arrays too, and let them be sparse.

        Returns
        -------
        array : ndarray of float64, shape (n, columns known), C-contiguous; NaN is missing
            Or, from sparse rows, a CSR matrix or array of float64 in canonical form: within each row, columns in order
            and none twice.
        schema : Schema
            This one, or one with more columns or values.

        Raises
        ------
        ValueError
            Infinite values; another number of columns; text where numbers were; no rows or columns at all.
        TypeError
            Dates, nested values; sparse rows where they are not taken, or where columns are nominal.
        """
        if (
            self._as_it_is
            and type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and X.flags.carray
            and X.shape[1] == self.width
            and X.shape[0] > 0
        ):
            self._refuse_infinite(X)
            return X, self
        if hasattr(X, "toarray") and hasattr(X, "nnz"):  # before dicts: one sparse format is one
            if sparse:
                return self._encode_sparse(X, grow, estimator)
            raise TypeError(
                f"Sparse data was passed, but dense data is required by {estimator}: X.toarray() converts it."
            )
        if isinstance(X, Mapping):
            X = [X]
        if isinstance(X, (list, tuple)) and X and all(isinstance(row, Mapping) for row in X):
            columns = _columns_of_dicts(X)
            self._check_nominal_positions(list(columns))
            return self._encode_columns(self._of_array(columns, dicts=True), len(X), grow, named=True)
        frame = _as_frame(X)
        if frame is not None:
            columns = _columns_of_frame(frame)
            if not columns:
                raise ValueError(f"Found array with 0 feature(s) (shape=({len(frame)}, 0)): a column is needed.")
            if len(frame) == 0:
                raise ValueError(_no_rows(len(columns)))
            self._check_nominal_positions(list(columns))
            self._check_nominal_names(list(columns))
            return self._encode_columns(self._of_array(columns, dicts=False), len(frame), grow, named=True)
        return self._encode_array(_as_array(X, estimator), grow, estimator)

    def encode_one(self, x: Mapping[str, Any], grow: bool = True) -> tuple[Floats, Schema]:
        """Turn one dict into an array of one row."""
        if self.named and [*x] == self.names:
            given = [*x.values()]
            last = self._last
            try:
                if given == last[0]:  # learned right after it was predicted
                    return last[1], self
            except (TypeError, ValueError):  # values that cannot be compared, such as pandas' NA
                pass
            values = given
            if self._codes:
                values = given[:]
                for j, index in self._codes:
                    if type(values[j]) in (str, int, float):
                        values[j] = index.get(values[j])
            # Python's own calls beat NumPy's on one row. The length of a row with infinity, NaN or a value out of range
            # is none of those allowed; such rows, and new values and oddities, take the long way.
            if _PLAIN.issuperset(map(type, values)):
                try:
                    plain = math.hypot(*values) <= LARGEST
                except OverflowError:  # an integer beyond all floats
                    plain = False
                if plain:
                    row = np.empty((1, len(values)))
                    self._pack(row, 0, *values)  # type: ignore[arg-type]  # arrays are buffers
                    self._last = (given, row)  # in one step: others may be predicting
                    return row, self
        columns: dict[str, NDArray[Any]] = {}
        for name, value in x.items():
            columns[str(name)] = column = np.empty(1, dtype=object)
            column[0] = value
        self._check_nominal_positions(list(columns))
        return self._encode_columns(self._of_array(columns, dicts=True), 1, grow, named=True)

    def _of_array(self, columns: dict[str, NDArray[Any]], dicts: bool) -> dict[str, NDArray[Any]]:
        """Give named columns the names of the array's columns, if arrays came first."""
        if self.named or self.width is None:
            return columns
        names = _positions(self.width)
        strange = [name for name in columns if name not in names]
        if not strange:
            return columns
        if dicts:
            raise ValueError(
                f"X has a column {strange[0]!r}, but the learner was fitted on arrays of {self.width} columns, which "
                f"are named {names[0]!r} to {names[-1]!r} in dicts."
            )
        if len(columns) != self.width:
            raise ValueError(
                f"X has {len(columns)} features, but {self.width} are expected: the learner was fitted on arrays, "
                "which have no names to match the columns by."
            )
        # As scikit-learn does.
        return dict(zip(names, columns.values(), strict=True))

    def _check_nominal_positions(self, names: list[str]) -> None:
        """Refuse positions where columns have names, unless whole numbers are the names."""
        if self.names or self.width is not None or not names:
            return
        for feature in self.nominal_features:
            if isinstance(feature, numbers.Integral) and not any(name.lstrip("-").isdigit() for name in names):
                raise ValueError(
                    f"nominal_features holds the position {feature}, but the columns of X have names, such as "
                    f"{names[0]!r}: give names."
                )

    def _check_nominal_names(self, names: list[str]) -> None:
        """Refuse names that the first data frame does not have: probably misspelt."""
        if self.names or self.width is not None:
            return
        for feature in map(str, self.nominal_features):
            if feature not in names:
                near = difflib.get_close_matches(feature, names, 1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                raise ValueError(f"nominal_features names a column {feature!r} that X does not have.{hint}")

    def _check_width(self, width: int, estimator: str) -> None:
        """Refuse an array of another number of columns than the ones before."""
        if self.width is not None and width != self.width:
            raise ValueError(
                f"X has {width} features, but {estimator} is expecting {self.width} features as input. "
                "(The number of columns of arrays is fixed; use a data frame where columns come and go.)"
            )
        if self.named and width != len(self.names):
            raise ValueError(
                f"X has {width} features, but {estimator} is expecting {len(self.names)} features as input: "
                f"{', '.join(self.names[:8])}{', ...' if len(self.names) > 8 else ''}"
            )

    def _encode_sparse(self, X: Any, grow: bool, estimator: str) -> tuple[Any, Schema]:
        """Bring sparse rows into the one form that kernels rely on; copied only where they are not in it."""
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got a sparse array of {X.ndim} dimension(s) instead.")
        if X.dtype.kind == "c":
            raise ValueError("Complex data not supported: X must be real.")
        if X.dtype.kind not in "biuf":
            raise TypeError(f"X is a sparse matrix of {X.dtype}: every value must be a number.")
        n, width = X.shape
        if width == 0:
            raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
        if n == 0:
            raise ValueError(_no_rows(width))
        self._check_width(width, estimator)
        start = not self.names and not self.nominal_features
        if not start and not self._as_it_is:
            raise TypeError(
                f"Sparse rows hold plain numbers in a fixed order, but {estimator} has nominal columns, or columns "
                "whose order came from text: pass dense rows, as X.toarray() makes them."
            )
        if X.format != "csr":
            X = X.tocsr()
        if X.dtype != np.float64:
            with np.errstate(over="ignore"):
                X = X.astype(np.float64)
        parts = [_writable(part) for part in (X.data, X.indices, X.indptr)]
        if any(part is not own for part, own in zip(parts, (X.data, X.indices, X.indptr), strict=True)):
            X = type(X)(tuple(parts), shape=X.shape)
        form, where = sparse_form(X.data, X.indices, X.indptr, n, width)
        if form == MALFORMED:
            raise ValueError("X is not a valid CSR matrix: X.check_format(full_check=True) says why.")
        if form == NOT_CANONICAL:
            X = X.copy()
            X.has_canonical_format = X.has_sorted_indices = False  # whatever was claimed
            X.sum_duplicates()
            form, where = sparse_form(X.data, X.indices, X.indptr, n, width)
        if where >= 0:
            row = int(np.searchsorted(X.indptr, where, side="right")) - 1
            column = int(X.indices[where])
            name = self.names[column] if self.names else f"x{column}"
            raise ValueError(_too_large(float(X.data[where]), name, row))
        if not start:
            return X, self
        return (X, _numeric(width)) if grow else (X[:, :0], self)

    def _encode_array(self, X: NDArray[Any], grow: bool, estimator: str) -> tuple[Floats, Schema]:
        width = X.shape[1]
        self._check_width(width, estimator)
        names = self.names if self.named else _positions(width)
        if not self.named and self.width is None:
            for feature in self.nominal_features:
                if not isinstance(feature, numbers.Integral) or not -width <= int(feature) < width:
                    raise ValueError(
                        f"nominal_features names column {feature!r}, but X is an array of {width} columns: "
                        f"give positions from 0 to {width - 1}."
                    )
        if X.dtype.kind in "biuf":
            start = not self.names and not self.nominal_features
            if self._as_it_is or start:
                with np.errstate(over="ignore"):
                    X = _writable(np.ascontiguousarray(X, np.float64))
                self._refuse_infinite(X)
                if not start:
                    return X, self
                return (X, _numeric(width)) if grow else (X[:, :0], self)
        columns = {name: X[:, j] for j, name in enumerate(names)}
        return self._encode_columns(columns, len(X), grow, named=self.named, width=width)

    def _refuse_infinite(self, X: Floats) -> None:
        bad = first_bad(X)
        if bad >= 0:
            row, column = divmod(bad, X.shape[1])
            name = self.names[column] if self.names else f"x{column}"
            raise ValueError(_too_large(float(X[row, column]), name, row))

    def _encode_columns(
        self, columns: dict[str, NDArray[Any]], n: int, grow: bool, named: bool, width: int | None = None
    ) -> tuple[Floats, Schema]:
        """Encode column by column, known ones by name."""
        if not self.named and self.width is not None:
            named, width = False, self.width
        vocabularies = list(self.vocabularies)
        names = list(self.names)
        nominal = self.nominal.tolist()
        encoded: dict[int, Floats] = {}
        new = [name for name in columns if name not in self._place] if grow else []
        # Row by row, a column comes into being with its first value; in a chunk the order must be the same.
        if new:
            first = {name: _first_value(columns[name]) for name in new}
            for name in sorted((name for name in new if first[name] < n), key=first.__getitem__):
                values = columns[name]
                kind = values.dtype.kind not in "biuf" and isinstance(values[first[name]], str)
                kind = kind or self._is_listed(name, None if named or self.named else width)
                if not kind:
                    _refuse_mixture(values, name)
                names.append(name)
                nominal.append(kind)
                vocabularies.append(Vocabulary() if kind else None)
        place = {name: j for j, name in enumerate(names)} if new else self._place
        for name, values in columns.items():
            j = place.get(name)
            if j is None:
                continue
            vocabulary = vocabularies[j]
            if vocabulary is None:
                encoded[j] = _numbers(values, name)
            else:
                room = len(vocabulary) < MOST_VALUES
                codes, longer = vocabulary.encode(_nominal_values(values, name), grow and room)
                vocabularies[j] = longer.first(MOST_VALUES)
                encoded[j] = np.where((codes < 0) | (codes >= MOST_VALUES), np.nan, codes)
        X = np.full((n, len(names)), np.nan)
        for j, values in encoded.items():
            X[:, j] = values
        named = named or self.named
        width = None if named else width
        grown = len(names) != len(self.names) or any(
            new is not old for new, old in zip(vocabularies, self.vocabularies, strict=False)
        )
        if not grow or not (grown or width != self.width):
            return X, self
        schema = Schema()
        schema.__setstate__(
            {
                "nominal_features": self.nominal_features,
                "names": names,
                "nominal": np.array(nominal, np.bool_),
                "vocabularies": vocabularies,
                "named": named and bool(names),
                "width": width,
            }
        )
        return X, schema

    def _is_listed(self, name: str, width: int | None) -> bool:
        """Whether ``nominal_features`` holds a column: by name, or, in an array of some width, by position."""
        if width is None:
            return name in map(str, self.nominal_features)
        position = int(name[1:])
        return position in self.nominal_features or position - width in self.nominal_features


def _positions(width: int) -> list[str]:
    """Names of an array's columns."""
    return [f"x{j}" for j in range(width)]


def _numeric(width: int) -> Schema:
    """The schema of arrays of plain numbers."""
    schema = Schema()
    schema.__setstate__(
        {
            "nominal_features": [],
            "names": _positions(width),
            "nominal": np.zeros(width, np.bool_),
            "vocabularies": [None] * width,
            "named": False,
            "width": width,
        }
    )
    return schema


def _first_value(values: NDArray[Any]) -> int:
    """Row of a column's first value; the first row if the column's kind is known without one."""
    if values.dtype.kind in "biuf":
        return 0
    return next((i for i, value in enumerate(values.tolist()) if not _is_missing(value)), len(values))


def _refuse_mixture(values: NDArray[Any], name: str) -> None:
    """Refuse text in a new column that begins with a number."""
    if values.dtype.kind in "biuf":
        return
    present = [value for value in values.tolist() if not _is_missing(value)]
    text = next((value for value in present if isinstance(value, str)), None)
    if text is not None and (isinstance(present[0], (numbers.Real, np.bool_)) or _is_decimal(present[0])):
        raise ValueError(
            f"Column {name!r} mixes text and numbers ({text!r} beside {present[0]!r}): make it one or the other."
        )


def _writable(X: NDArray[Any]) -> NDArray[Any]:
    """The array, or a copy of one that may only be read: numba would compile everything anew for such."""
    return X if X.flags.writeable else X.copy()


def _too_large(value: float, name: str, row: int) -> str:
    what = "infinity" if math.isinf(value) else f"the value {value:g}, larger than {LARGEST:g}"
    return f"Input X contains {what} (column {name!r}, row {row}): mark it as missing (NaN) or clip it."


def _no_rows(width: int) -> str:
    return f"Found array with 0 sample(s) (shape=(0, {width})) while a minimum of 1 is required."


# ---------------------------------------------------------------------------------------------- columns


def _numbers(values: NDArray[Any], name: str) -> Floats:
    """A numeric column as float64."""
    if values.dtype.kind not in "biuf":
        for i, value in enumerate(values.tolist()):
            if _is_missing(value) or isinstance(value, (numbers.Real, np.bool_)) or _is_decimal(value):
                continue
            if isinstance(value, str):
                raise ValueError(
                    f"Column {name!r} was numeric so far and holds the text {value!r} in row {i}: "
                    "give a number, or NaN if it is missing."
                )
            raise TypeError(_wrong_kind(name, value))
        values = np.array([_number(value) for value in values.tolist()])
    with np.errstate(over="ignore"):
        result = np.ascontiguousarray(values, np.float64)
    bad = first_bad(_writable(result.reshape(1, -1))) if result.size else -1
    if bad >= 0:
        raise ValueError(_too_large(float(result[bad]), name, bad))
    return result


def _number(value: Any) -> float:
    if _is_missing(value):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer or fraction beyond float64: refused below, as others beyond 1e100 are
        return sys.float_info.max if value > 0 else -sys.float_info.max


def _nominal_values(values: NDArray[Any], name: str) -> NDArray[Any]:
    """A nominal column, once it holds texts and finite numbers only."""
    if values.dtype.kind == "O":
        for i, value in enumerate(values.tolist()):
            if isinstance(value, str) or _is_missing(value):
                continue
            if not isinstance(value, (numbers.Real, np.bool_)) and not _is_decimal(value):
                raise TypeError(_wrong_kind(name, value))
            if _is_infinite(value):
                raise ValueError(_too_large(math.inf, name, i))
    elif values.dtype.kind == "f" and np.isinf(values).any():
        raise ValueError(_too_large(math.inf, name, int(np.isinf(values).argmax())))
    return values


def _wrong_kind(name: str, value: Any) -> str:
    kind = type(value).__name__
    if kind in ("date", "datetime", "time", "timedelta", "Timestamp", "Timedelta", "datetime64", "timedelta64"):
        return (
            f"Column {name!r} holds dates or times ({kind}): turn them into numbers (seconds since a start, "
            "hour of the day) or into text that stands for a category first."
        )
    return (
        f"Column {name!r} holds a {kind}; every value of X must be a number or a text: "
        "argument must be a string or a number."
    )


def _columns_of_dicts(rows: Sequence[Mapping[Any, Any]]) -> dict[str, NDArray[Any]]:
    """Columns in the order of their first values; those without any come last."""
    columns: dict[str, NDArray[Any]] = {}
    blank: dict[str, None] = {}
    for i, row in enumerate(rows):
        for name, value in row.items():
            column = columns.get(str(name))
            if column is None:
                if _is_missing(value):
                    blank[str(name)] = None
                    continue
                column = columns[str(name)] = np.full(len(rows), None, dtype=object)
            column[i] = value
    for name in blank:
        if name not in columns:
            columns[name] = np.full(len(rows), None, dtype=object)
    return columns


def _as_frame(X: Any) -> Any:
    """A narwhals data frame of X, or None if X is none."""
    if isinstance(X, (np.ndarray, list, tuple)) or not hasattr(type(X), "columns"):
        return None
    import narwhals as nw

    return nw.from_native(X, eager_only=True, pass_through=True) if not isinstance(X, nw.DataFrame) else X


def _columns_of_frame(frame: Any) -> dict[str, NDArray[Any]]:
    """A data frame's columns as arrays: numbers as float64, anything else as objects."""
    if not hasattr(frame, "iter_columns"):
        raise TypeError(f"X is a {type(frame).__name__}, which is neither an array nor a data frame known here.")
    result: dict[str, NDArray[Any]] = {}
    for series in frame.iter_columns():
        dtype = series.dtype
        name = str(series.name)
        if name in result:
            raise ValueError(f"X has two columns named {name!r}: names must be unique.")
        if dtype.is_temporal():
            kind = str(dtype).partition("(")[0].lower()
            raise TypeError(
                f"Column {name!r} holds dates or times ({kind}): turn them into numbers (seconds since a start, "
                "hour of the day) or into text that stands for a category first."
            )
        if dtype.is_nested():
            raise TypeError(f"Column {name!r} holds nested values ({dtype}): spread them over columns first.")
        if dtype.is_numeric() and not dtype.is_decimal():
            values = series.to_numpy()
            if values.dtype.kind not in "biuf":
                values = np.array([np.nan if _is_missing(v) else float(v) for v in series.to_list()], np.float64)
            result[name] = values
        else:
            values = np.empty(len(series), object)
            values[:] = series.to_list()
            # A categorical column is nominal even where its categories are numbers.
            if str(dtype).startswith(("Categorical", "Enum")):
                values[:] = [None if _is_missing(value) else str(value) for value in values]
            result[name] = values
    return result


def _as_array(X: Any, estimator: str) -> NDArray[Any]:
    """A two-dimensional array of numbers or objects."""
    array = np.asarray(X)
    if isinstance(X, np.ma.MaskedArray):
        gap: Any = np.nan if array.dtype.kind in "biuf" else None
        array = np.where(np.ma.getmaskarray(X), gap, array)
    elif not isinstance(X, np.ndarray) and array.dtype.kind in "US":
        array = np.array(X, dtype=object)  # so that numbers beside texts stay numbers
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must be real.")
    if array.dtype.kind in "mM":
        raise TypeError(
            f"X is an array of dates or times ({array.dtype}): turn them into numbers (seconds since a start, hour of "
            "the day) or into text that stands for a category first."
        )
    if array.dtype.kind not in "biufOUST":
        raise TypeError(f"X is an array of {array.dtype}: every value must be a number or a text.")
    if array.dtype.kind in "UST":
        array = (array.astype(str) if array.dtype.kind == "S" else array).astype(object)
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {'scalar' if array.ndim == 0 else f'{array.ndim}D'} array instead. Reshape your "
            "data: X must be of shape (rows, columns); X.reshape(1, -1) makes one row of a list of numbers."
        )
    if array.shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={array.shape}) while a minimum of 1 is required.")
    if array.shape[0] == 0:
        raise ValueError(_no_rows(array.shape[1]))
    return array


checkpoint.register(Schema)
checkpoint.register(Vocabulary)
