"""One row into one tree, or through it: told by numbers, as numba takes 80 nanoseconds to look at an array.

Like an ensemble's (see :mod:`anabranch.kernels.forest`), the tree's own functions are called through their addresses.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from anabranch.kernels import kernel
from anabranch.kernels.bundle import table_at
from anabranch.kernels.checks import scale
from anabranch.kernels.forest import functions
from anabranch.kernels.pointer import call, compiled


@cache
def for_trees(kind):
    """Compiled forms of :func:`learn` and :func:`best_class`, without numba's look at types, for trees of a kind.

    Parameters
    ----------
    kind : module
        One of :data:`anabranch.kernels.forest.KINDS`.

    Returns
    -------
    tuple of callables
        They lack the first argument.
    """
    learns, votes = functions(kind)
    row = np.zeros((1, 1))
    return (
        partial(compiled(learn, 0, 0, row, 0, 0.0).entry_point, learns),
        partial(compiled(best_class, 0, 0, row, 0).entry_point, votes),
    )


@kernel
def learn(function, table, X, code, weight):
    """Learn a row; returns 0, and nothing has changed, if there is no room for it.

    Parameters
    ----------
    function, table : int
        Addresses of what learns, and of the table of the tree's bundle.
    X : float64 (1, d)
    code : int
    weight : float
    """
    y = np.full(1, code)
    w = np.full(1, weight)
    silent = np.empty((0, 0))
    return call(function, (table_at(table), 0, X, y, w, silent, silent))


@kernel
def best_class(function, table, X, n_classes):
    """Class with most votes for a row, once they are scaled; the first among equals.

    Parameters
    ----------
    function, table : int
        Addresses of what votes, and of the table of the tree's bundle.
    X : float64 (1, d)
    n_classes : int
    """
    out = np.zeros((1, n_classes))
    call(function, (table_at(table), X, out))
    scale(out, 0, n_classes)
    best = 0
    for c in range(1, n_classes):
        if out[0, c] > out[0, best]:
            best = c
    return best
