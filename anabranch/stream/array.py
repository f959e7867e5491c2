"""Rows from arrays in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from anabranch.stream.base import Chunk, Labels, Stream, whole_number


class ArrayStream(Stream):
    """A stream over a matrix and its labels, in the order they have.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Numbers; NaN where missing. A C-contiguous float64 array is used as it is, and chunks are views of it;
        anything else is converted once.
    y : array-like of shape (n,)
        Labels or target values.
    name : str, optional
        Name for tables; ``"ArrayStream(n x d)"`` if left out.
    feature_names : sequence of str, optional
        One name per column.
    nominal_features : sequence of int
        Indices of the columns that hold nominal codes.
    classes : array-like, optional
        All labels there are. If left out, those in `y`, unless `y` holds fractions and so is no label.

    Raises
    ------
    ValueError
        If shapes do not agree, there are no rows, X is not numeric, or a label is missing or not in
        `classes`.

    Examples
    --------
    >>> stream = ArrayStream([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], ["b", "a", "b"])
    >>> [y.tolist() for X, y in stream.chunks(2)]
    [['b', 'a'], ['b']]
    >>> stream.classes.tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        name: str | None = None,
        feature_names: Sequence[str] | None = None,
        nominal_features: Sequence[int] = (),
        classes: npt.ArrayLike | None = None,
    ) -> None:
        self.X = _matrix(X)
        self.n_rows, self.n_features = self.X.shape
        self.y = np.asarray(y)
        if self.y.ndim != 1:
            raise ValueError(f"y must have one dimension, got shape {self.y.shape}: pass y.ravel()")
        if len(self.y) != self.n_rows:
            raise ValueError(f"X has {self.n_rows} rows, y has {len(self.y)} labels: both need the same number")
        refuse_missing(self.y, "y")
        self.name = f"ArrayStream({self.n_rows} x {self.n_features})" if name is None else name
        if feature_names is not None:
            self.feature_names = [str(feature) for feature in feature_names]
            if len(self.feature_names) != self.n_features:
                raise ValueError(
                    f"X has {self.n_features} columns, feature_names has {len(self.feature_names)}: "
                    "give one name per column"
                )
            if len(set(self.feature_names)) < self.n_features:
                raise ValueError("feature_names holds a name twice: every column needs its own")
        self.nominal_features = sorted({whole_number("nominal_features", j, 0) for j in nominal_features})
        if self.nominal_features and self.nominal_features[-1] >= self.n_features:
            raise ValueError(
                f"nominal_features names column {self.nominal_features[-1]}, "
                f"but X has columns 0 to {self.n_features - 1}"
            )
        if classes is not None:
            announced = np.unique(np.asarray(classes))
            strange = self.y[~np.isin(self.y, announced)]
            if len(strange):
                raise ValueError(f"y holds the label {strange[:1].tolist()[0]!r}, which is not in classes: add it")
            self.classes = announced

    @cached_property
    def classes(self) -> Labels | None:  # type: ignore[override]
        """The distinct labels, sorted; None if `y` holds fractions."""
        return distinct_labels(self.y)

    def __repr__(self) -> str:
        return f"ArrayStream(X=<{self.n_rows} x {self.n_features}>, y=<{self.y.dtype}>, name={self.name!r})"

    def _chunks(self, size: int, skip: int) -> Iterator[Chunk]:
        assert self.n_rows is not None
        for start in range(skip, self.n_rows, size):
            yield self.X[start : start + size], self.y[start : start + size]


def _matrix(X: Any) -> npt.NDArray[np.float64]:
    """Return X as a C-contiguous float64 matrix, itself if it is one already."""
    try:
        matrix = np.asarray(X, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X must be a matrix of numbers ({error}): for text columns use FrameStream with a data frame"
        ) from error
    if matrix.ndim != 2:
        raise ValueError(
            f"X must have two dimensions (rows, features), got shape {matrix.shape}: "
            "use X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one row"
        )
    if 0 in matrix.shape:
        raise ValueError(f"X is empty (shape {matrix.shape}): a stream needs at least one row and one feature")
    return matrix


def refuse_missing(y: Labels, what: str) -> None:
    """Raise a ValueError that names the first row whose label is missing."""
    if y.dtype.kind == "f":
        missing = np.isnan(y)
    elif y.dtype.kind == "O":
        missing = np.fromiter((label is None or label != label for label in y), dtype=bool, count=len(y))
    else:
        return
    if missing.any():
        raise ValueError(
            f"{what} has no label in row {int(np.argmax(missing))} (counting from 0): drop unlabelled rows first"
        )


def distinct_labels(y: Labels) -> Labels | None:
    """Return the sorted labels of `y`, or None if it holds fractions and so is a number to predict.

    >>> import numpy as np
    >>> distinct_labels(np.array([2, 1, 2])).tolist(), distinct_labels(np.array([0.5, 1.0]))
    ([1, 2], None)
    """
    if y.dtype.kind == "f" and not np.all(y == np.floor(y)):
        return None
    return np.unique(y)
