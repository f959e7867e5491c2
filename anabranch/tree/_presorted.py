"""What trees that see all rows at once begin with: columns side by side, each sorted once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from anabranch.schema import Floats, Schema

__all__ = ["n_values", "presorted"]


def presorted(X: Floats, columns: NDArray[np.intp]) -> tuple[Floats, NDArray[np.int32]]:
    """Turn rows into columns, and sort some of these.

    Returns
    -------
    values : ndarray of float64, shape (d, n)
    order : ndarray of int32, shape (len(columns), n)
        Row numbers by rising value, rows of equal value as they came, those without a value last.
    """
    values = np.ascontiguousarray(X.T)
    order = np.empty((len(columns), len(X)), np.int32)
    for place, j in enumerate(columns):
        order[place] = np.argsort(values[j], kind="stable")
    return values, order


def n_values(schema: Schema) -> NDArray[np.int64]:
    """How many values each nominal column has, at least 1; 0 for numeric columns."""
    return np.array([0 if known is None else max(len(known), 1) for known in schema.vocabularies], np.int64)
