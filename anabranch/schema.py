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
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anabranch import checkpoint
from anabranch.kernels.checks import LARGEST, first_bad, look_up

__all__ = ["Schema", "Vocabulary"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

# A table from integers to codes is kept while the integers span at most this many.
_WIDEST_TABLE = 1 << 16
# Values that a nominal column may have; later ones count as missing, so that a column of names or numbers that
# never repeat cannot use up the memory.
MOST_VALUES = 1 << 16


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA are missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and math.isnan(value)


def _plain(value: Any) -> Any:
    """Turn a NumPy scalar into Python's own."""
    return value.item() if isinstance(value, np.generic) else value


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

    __slots__ = ("_low", "_table", "index", "values")

    def __init__(self, values: Iterable[Hashable] = ()) -> None:
        self.values: list[Any] = list(values)
        self.index: dict[Any, int] = {value: code for code, value in enumerate(self.values)}
        self._low = 0
        self._table: Codes | None = None
        if self.values and all(isinstance(v, (int, float)) and v == int(v) for v in self.values):
            low, high = int(min(self.values)), int(max(self.values))
            if high - low < _WIDEST_TABLE:
                self._low = low
                self._table = np.full(high - low + 1, -1, np.int64)
                for value, code in self.index.items():
                    self._table[int(value) - low] = code

    def __len__(self) -> int:
        return len(self.values)

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
        if self._table is not None and array.dtype.kind in "biuf":
            codes = np.empty(array.size, np.int64)
            with np.errstate(invalid="ignore"):
                whole = array.astype(np.int64, copy=not array.flags.writeable)
            exact = array.dtype.kind != "f" or np.array_equal(whole, array)
            if exact and look_up(whole, self._low, self._table, codes) < 0:
                return codes, self
        index = self.index
        new: dict[Any, int] = {}
        size = len(self.values)
        codes = np.empty(array.size, np.int64)
        for i, value in enumerate(array.tolist()):
            code = index.get(value)
            if code is None:
                if _is_missing(value):
                    code = -1
                elif not grow:
                    code = size
                else:
                    code = new.setdefault(_plain(value), size + len(new))
            codes[i] = code
        return codes, Vocabulary([*self.values, *new]) if new else self

    def first(self, n: int) -> Vocabulary:
        """The vocabulary of the first ``n`` values."""
        return self if len(self.values) <= n else Vocabulary(self.values[:n])

    def as_array(self) -> NDArray[Any]:
        """The values as an array of their common kind (object if there is none)."""
        kinds = {type(value) for value in self.values}
        if kinds in ({bool}, {int}, {float}, {str}) and (kinds != {int} or self._fits_int64()):
            return np.array(self.values)
        array = np.empty(len(self.values), object)
        array[:] = self.values
        return array

    def _fits_int64(self) -> bool:
        return all(-(2**63) <= value < 2**63 for value in self.values)


class Schema:
    """The columns met so far, and how to turn rows into arrays.

    Columns of arrays go by position, and their number is fixed by the first array; columns of data frames and
    dicts go by name: known ones in any order, new ones are appended, absent ones are missing.

    Parameters
    ----------
    nominal_features : sequence of int or str, default=()
        Columns whose numbers are categories: positions for arrays, names for data frames. Text and categorical
        columns of data frames are nominal anyway.

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

    __slots__ = ("_place", "_row", "named", "names", "nominal", "nominal_features", "vocabularies", "width")

    def __init__(self, nominal_features: Sequence[int | str] = ()) -> None:
        self.nominal_features = list(nominal_features)
        self.names: list[str] = []
        self.nominal: NDArray[np.bool_] = np.empty(0, np.bool_)
        self.vocabularies: list[Vocabulary | None] = []
        self.named = False  # whether columns go by name
        self.width: int | None = None  # of arrays
        self._place: dict[str, int] = {}
        self._row: Floats | None = None

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
        self._row = None

    def __len__(self) -> int:
        return len(self.names)

    # ------------------------------------------------------------------------------------------ encoding

    def encode(self, X: Any, grow: bool = True, estimator: str = "this learner") -> tuple[Floats, Schema]:
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

        Returns
        -------
        array : ndarray of float64, shape (n, columns known), C-contiguous; NaN is missing
        schema : Schema
            This one, or one with more columns or values.

        Raises
        ------
        ValueError
            Infinite values; another number of columns; text where numbers were; no rows or columns at all.
        TypeError
            Dates, nested values, sparse matrices.
        """
        if (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and X.flags.c_contiguous
            and X.shape[1] == self.width
            and not self.nominal_features
            and len(self.names) == self.width
            and X.shape[0] > 0
            and not self.nominal.any()
        ):
            X = _writable(X)
            self._refuse_infinite(X)
            return X, self
        if hasattr(X, "toarray") and hasattr(X, "nnz"):  # before dicts: one sparse format is one
            raise TypeError(
                f"Sparse data was passed, but dense data is required by {estimator}: X.toarray() converts it."
            )
        if isinstance(X, Mapping):
            X = [X]
        if isinstance(X, (list, tuple)) and X and all(isinstance(row, Mapping) for row in X):
            return self._encode_columns(_columns_of_dicts(X), len(X), grow, named=True)
        frame = _as_frame(X)
        if frame is not None:
            columns = _columns_of_frame(frame)
            if not columns:
                raise ValueError(f"Found array with 0 feature(s) (shape=({len(frame)}, 0)): a column is needed.")
            if len(frame) == 0:
                raise ValueError(_no_rows(len(columns)))
            return self._encode_columns(columns, len(frame), grow, named=True)
        return self._encode_array(_as_array(X, estimator), grow, estimator)

    def encode_one(self, x: Mapping[str, Any], grow: bool = True) -> tuple[Floats, Schema]:
        """Turn one dict into an array of one row, which may be used again by the next call."""
        if self.named and len(x) == len(self.names) and list(x) == self.names and not self.nominal.any():
            values = list(x.values())
            try:
                row = self._row
                if row is None:
                    row = self._row = np.empty((1, len(self.names)))
                # Python's own checks beat NumPy's on a single row; NaN and oddities take the long way.
                if min(values) >= -LARGEST and max(values) <= LARGEST:
                    if not {float, int}.issuperset(map(type, values)):
                        raise TypeError
                    row[0] = values
                    return row, self
            except TypeError:
                pass
        columns = {str(name): np.array([value], dtype=object) for name, value in x.items()}
        return self._encode_columns(columns, 1, grow, named=True)

    def _encode_array(self, X: NDArray[Any], grow: bool, estimator: str) -> tuple[Floats, Schema]:
        if self.width is not None and X.shape[1] != self.width:
            raise ValueError(
                f"X has {X.shape[1]} features, but {estimator} is expecting {self.width} features as input. "
                "(The number of columns of arrays is fixed; use a data frame where columns come and go.)"
            )
        if self.named and X.shape[1] != len(self.names):
            raise ValueError(
                f"X has {X.shape[1]} features, but {estimator} is expecting {len(self.names)} features as input: "
                f"{', '.join(self.names[:8])}{', ...' if len(self.names) > 8 else ''}"
            )
        if self.named:
            names = self.names
        else:
            names = self.names or [f"x{j}" for j in range(X.shape[1])]
            for feature in self.nominal_features:
                if not isinstance(feature, numbers.Integral) or not -X.shape[1] <= int(feature) < X.shape[1]:
                    raise ValueError(
                        f"nominal_features names column {feature!r}, but X is an array of {X.shape[1]} columns: "
                        f"give positions from 0 to {X.shape[1] - 1}."
                    )
        plain = X.dtype.kind in "biuf"
        if plain and not self.nominal_features and not self.nominal.any():
            X = _writable(np.ascontiguousarray(X, np.float64))
            self._refuse_infinite(X)
            if self.names:
                return X, self
            columns: dict[str, NDArray[Any]] = {name: X[:1, j] for j, name in enumerate(names)}
            return X, self._encode_columns(columns, 1, grow, named=False, width=X.shape[1])[1]
        columns = {name: X[:, j] for j, name in enumerate(names)}
        return self._encode_columns(columns, len(X), grow, named=self.named, width=X.shape[1])

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
        if self.names and named and not self.named:
            # Learned from arrays: a frame of the same width is taken by position, as scikit-learn does.
            if len(columns) != self.width:
                raise ValueError(
                    f"X has {len(columns)} features, but {self.width} are expected: the learner was fitted on "
                    "arrays, which have no names to match the columns by."
                )
            columns = dict(zip(self.names, columns.values(), strict=True))
            named = False
        vocabularies = list(self.vocabularies)
        names = list(self.names)
        nominal = self.nominal.tolist()
        known = len(names)
        encoded: dict[int, Floats] = {}
        # Row by row, a column comes into being with its first value; in a chunk the order must be the same.
        entries = [(position, name, values) for position, (name, values) in enumerate(columns.items())]
        if grow and any(name not in self._place for name in columns):
            entries.sort(key=lambda entry: _first_value(entry[2]))
        for position, name, values in entries:
            j = self._place.get(name)
            if j is None:
                if not grow:
                    continue
                kind = self._kind(name, position, values)
                if kind is None:  # not one value yet: not a column yet
                    continue
                j = len(names)
                names.append(name)
                nominal.append(kind)
                vocabularies.append(Vocabulary() if kind else None)
            vocabulary = vocabularies[j]
            if vocabulary is None:
                encoded[j] = _numbers(values, name)
            else:
                codes, longer = vocabulary.encode(_nominal_values(values, name), grow)
                vocabularies[j] = longer.first(MOST_VALUES)
                encoded[j] = np.where((codes < 0) | (codes >= MOST_VALUES), np.nan, codes)
        if named and known == 0 and names:
            for feature in self.nominal_features:
                if isinstance(feature, str) and feature not in names:
                    near = difflib.get_close_matches(feature, names, 1)
                    hint = f" Did you mean {near[0]!r}?" if near else ""
                    raise ValueError(f"nominal_features names a column {feature!r} that X does not have.{hint}")
        X = np.full((n, len(names)), np.nan)
        for j, values in encoded.items():
            X[:, j] = values
        grown = len(names) != known or any(
            new is not old for new, old in zip(vocabularies, self.vocabularies, strict=False)
        )
        if not grown:
            return X, self
        schema = Schema(self.nominal_features)
        schema.__setstate__(
            {
                "nominal_features": self.nominal_features,
                "names": names,
                "nominal": np.array(nominal, np.bool_),
                "vocabularies": vocabularies,
                "named": named or self.named,
                "width": width if width is not None else self.width,
            }
        )
        return X, schema

    def _kind(self, name: str, position: int, values: NDArray[Any]) -> bool | None:
        """Whether a new column is nominal; None if it has no value to tell by."""
        if position in self.nominal_features or name in self.nominal_features:
            return True
        if position - len(values) in self.nominal_features and not self.named:
            return True
        if values.dtype.kind in "biuf":
            return False
        present = [value for value in values.tolist() if not _is_missing(value)]
        if not present:
            return None
        texts = sum(isinstance(value, str) for value in present)
        if 0 < texts < len(present):
            raise ValueError(
                f"Column {name!r} mixes text and numbers ({_first_text(present)!r} beside "
                f"{_first_number(present)!r}): make it one or the other."
            )
        return texts > 0


def _first_value(values: NDArray[Any]) -> int:
    """Row of a column's first value; the first row if the column's kind is known without one."""
    if values.dtype.kind in "biuf":
        return 0
    return next((i for i, value in enumerate(values.tolist()) if not _is_missing(value)), len(values))


def _first_text(values: list[Any]) -> Any:
    return next(value for value in values if isinstance(value, str))


def _first_number(values: list[Any]) -> Any:
    return next(value for value in values if not isinstance(value, str))


def _writable(X: Floats) -> Floats:
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
        values = np.array([np.nan if _is_missing(value) else float(value) for value in values.tolist()])
    result = np.ascontiguousarray(values, np.float64)
    bad = first_bad(result.reshape(1, -1)) if result.size else -1
    if bad >= 0:
        raise ValueError(_too_large(float(result[bad]), name, bad))
    return result


def _nominal_values(values: NDArray[Any], name: str) -> NDArray[Any]:
    if values.dtype.kind == "O":
        for value in values.tolist():
            if not isinstance(value, (str, numbers.Real, np.bool_)) and not _is_missing(value):
                raise TypeError(_wrong_kind(name, value))
    return values


def _is_decimal(value: Any) -> bool:
    return type(value).__name__ == "Decimal"


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
    columns: dict[str, NDArray[Any]] = {}
    for i, row in enumerate(rows):
        for name, value in row.items():
            column = columns.get(str(name))
            if column is None:
                column = columns[str(name)] = np.full(len(rows), None, dtype=object)
            column[i] = value
    return columns


def _as_frame(X: Any) -> Any:
    """A narwhals data frame of X, or None if X is none."""
    if isinstance(X, (np.ndarray, list, tuple)) or not hasattr(X, "columns"):
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
            if values.dtype.kind == "O" or series.null_count():
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
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must be real.")
    if array.dtype.kind in "mM":
        raise TypeError(_wrong_kind("X", array.ravel()[:1].tolist()[0] if array.size else None))
    if array.dtype.kind not in "biufOUS":
        raise TypeError(f"X is an array of {array.dtype}: every value must be a number or a text.")
    if array.dtype.kind in "US":
        array = array.astype(str).astype(object)
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
