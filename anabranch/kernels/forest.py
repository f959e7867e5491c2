"""A single row through all trees of an ensemble in one call.

The trees' own functions are called through their addresses (see :mod:`anabranch.kernels.pointer`), so that they are
not compiled once more.
"""

from __future__ import annotations

from functools import cache

import numpy as np

import anabranch.kernels.hoeffding as hoeffding
import anabranch.kernels.option_tree as option_tree
from anabranch.kernels import kernel
from anabranch.kernels.pointer import address, call
from anabranch.kernels.voting import add_votes


@kernel
def _tree_votes(table, X, out):
    hoeffding.votes(table, X, out)
    return X.shape[0]


@kernel
def _option_tree_votes(table, X, out):
    option_tree.votes(table, X, out)
    return X.shape[0]


# Of each kind of tree, by the module of its kernels: what writes votes and returns a number, as `address` wants it.
KINDS = {hoeffding: _tree_votes, option_tree: _option_tree_votes}


@cache
def functions(kind):
    """Addresses of what learns and what votes for one tree of a kind, which is one of KINDS."""
    table, matrix = np.zeros((0, 3), np.int64), np.zeros((0, 0))
    return (
        address(kind.learn, table, 0, matrix, np.zeros(0, np.int64), np.zeros(0), matrix, matrix),
        address(KINDS[kind], table, matrix, matrix),
    )


@kernel
def learn(function, tables, first, X, y, k):
    """Let trees ``first``.. learn a row, tree m with weight ``k[m, 0]``; returns the first that lacks room for it.

    Parameters
    ----------
    function : int
        Address of what learns.
    tables : int64 (trees, arrays, 3)
        The tables of the trees' bundles.
    first : int
    X, y : float64 (1, d), int64 (1,)
    k : float64 (trees, 1)
    """
    silent = np.empty((0, 0))
    for m in range(first, tables.shape[0]):
        if k[m, 0] > 0.0 and call(function, (tables[m], 0, X, y, k[m], silent, silent)) == 0:
            return m
    return tables.shape[0]


@kernel
def votes(function, tables, X, weights, hard, total):
    """Add up all trees' votes for a row, as :func:`anabranch.kernels.voting.add_votes` does.

    Parameters
    ----------
    function : int
        Address of what votes.
    tables : int64 (trees, arrays, 3)
    X : float64 (1, d)
    weights : float64 (trees, 1), or (0, 1)
        Weights of the trees; none if all count alike.
    hard : bool
    total : float64 (1, k)
        Added to.
    """
    own = np.empty_like(total)
    one = np.ones(1)
    for m in range(tables.shape[0]):
        own[:] = 0.0
        call(function, (tables[m], X, own))
        add_votes(total, own, weights[m] if weights.shape[0] > 0 else one, hard)
