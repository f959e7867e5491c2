"""Ensembles of Hoeffding trees, row by row: all trees take a row in one call."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter, is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anabranch.base import StreamClassifier
from anabranch.kernels import call_directly, hoeffding
from anabranch.kernels import forest as kernels
from anabranch.kernels.hoeffding import Tree
from anabranch.schema import Codes, Floats
from anabranch.tree import HoeffdingTreeClassifier

__all__ = ["Forest", "are_trees"]

_ALIKE = np.empty((0, 1))
_arrays_of = attrgetter("_tree")


def are_trees(members: Sequence[StreamClassifier]) -> bool:
    """Whether members are Hoeffding trees, of whatever kind, that learn and vote as those do."""
    kind = type(members[0])
    return (
        issubclass(kind, HoeffdingTreeClassifier)
        and kind._kernels in kernels.KINDS
        and all(getattr(kind, name) is getattr(HoeffdingTreeClassifier, name) for name in ("_learn", "_votes", "_run"))
    )


class Forest:
    """Where the arrays of an ensemble's trees lie, for kernels that go through all of them.

    It never changes, as another thread may be using it: when a tree has got new arrays, it takes a new one.

    Parameters
    ----------
    trees : sequence of HoeffdingTreeClassifier
        Told of the ensemble's columns and classes.
    told : tuple
        The very things that they have been told.
    """

    __slots__ = ("arrays", "columns", "learns", "tables", "told", "where")

    def __init__(self, trees: Sequence[Any] = (), told: tuple[Any, ...] = ()) -> None:
        self.told = told
        self.arrays: list[Tree] = [tree._tree for tree in trees]  # kept alive as long as this is
        if not trees:
            return
        self.tables: NDArray[np.int64] = np.array([tree._table() for tree in trees])
        self.where = kernels.functions(trees[0]._kernels)
        self.columns = max(tree.slots.size for tree in self.arrays)
        # Trees that have yet to make room for announced classes, or to copy arrays that may only be read, cannot learn.
        self.learns = all(
            tree._bundle.writable and tree._tree.meta[hoeffding.N_CLASSES] >= tree._n_announced for tree in trees
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Forest, ()  # a copy's trees are others

    def is_of(self, trees: Sequence[Any], told: tuple[Any, ...]) -> bool:
        """Whether these are still the trees' arrays, and nothing new is there to be told."""
        return (
            len(trees) == len(self.arrays)
            and all(map(is_, told, self.told))
            and all(map(is_, map(_arrays_of, trees), self.arrays))
        )

    def learn(self, first: int, X: Floats, y: Codes, k: Floats) -> int:
        """Let trees from the first on learn a row ``k[m, 0]`` times; returns the first tree that lacks room for it."""
        return call_directly(kernels.learn, self.where[0], self.tables, first, X, y, k)  # type: ignore[no-any-return]

    def votes(self, X: Floats, weights: Floats | None, hard: bool, n_classes: int) -> Floats:
        """Votes of all trees for a row."""
        total = np.zeros((1, n_classes))
        weights = _ALIKE if weights is None else weights[:, None]
        call_directly(kernels.votes, self.where[1], self.tables, X, weights, hard, total)
        return total
