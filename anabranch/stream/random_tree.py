"""Random trees."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from anabranch.stream.base import number_between, whole_number
from anabranch.stream.generator import Block, KernelGenerator, empty_block

_SD = 12.0**-0.5  # of a number ~ U(0, 1)


class Tree(NamedTuple):
    """A decision tree as arrays with an entry per node; node 0 is the root.

    Attributes
    ----------
    feature : ndarray of int64
        The feature a node tests; 0 for a leaf.
    threshold : ndarray of float64
        Of a numeric test: smaller values go to the first child, others to the second. -1 for a nominal test,
        where the value says which child; infinite for a leaf.
    child : ndarray of int64
        The first child; the others follow it. A leaf is its own child.
    label : ndarray of int64
        The class of a leaf, -1 for other nodes.
    """

    feature: npt.NDArray[np.int64]
    threshold: npt.NDArray[np.float64]
    child: npt.NDArray[np.int64]
    label: npt.NDArray[np.int64]


class RandomTree(KernelGenerator):
    """Rows of random values, labelled by a random decision tree.

    A node is a leaf, its class drawn uniformly, at `max_depth`, or from `first_leaf_level` on with probability
    `leaf_fraction`. Other nodes test one of the nominal features that no node above tests and of all numeric
    ones, each equally likely: a nominal one has a child per value, a numeric one is split at a point drawn
    uniformly from what the tests above leave of [0, 1]. In a row every nominal value is equally likely, and
    numeric values are ~ U(0, 1). The nominal features come first.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    n_nominal, n_numeric : int
        Number of nominal and of numeric features; at least one of either kind.
    n_values : int
        Values of each nominal feature, with the codes 0 to ``n_values - 1``.
    max_depth : int
        Depth of the deepest leaves; the root has depth 0.
    first_leaf_level : int
        Depth of the first leaves.
    leaf_fraction : float
        Share of leaves at each depth from there on, from 0 to 1.
    noise : float
        Once the class is known, a nominal value or a class is changed into another one with this probability, and
        to every numeric value N(0, sd) is added, where sd is this share of a feature's standard deviation, that is, of
        0.289. (MOA's filter estimates the standard deviation from the rows so far.)
    model_seed : int, optional
        Seed of the tree; `seed`, if left out.
    seed : int
        Seed of the rows.
    n_rows : int, optional
        Number of rows; endless if left out.

    Attributes
    ----------
    tree : Tree
        The tree, grown when first asked for.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    References
    ----------
    .. [1] P. Domingos, G. Hulten, "Mining High-Speed Data Streams", KDD 2000.
    .. [2] R. Kirkby, "Improving Hoeffding Trees", PhD thesis, University of Waikato, 2007, section 3.4.

    Examples
    --------
    >>> stream = RandomTree(n_nominal=10, n_numeric=10, seed=3)
    >>> X, y = stream.take(1000)
    >>> X.shape, stream.nominal_features == list(range(10)), len(stream.tree.label) > 100
    ((1000, 20), True, True)
    """

    def __init__(
        self,
        n_classes: int = 2,
        n_nominal: int = 5,
        n_numeric: int = 5,
        n_values: int = 5,
        max_depth: int = 5,
        first_leaf_level: int = 3,
        leaf_fraction: float = 0.15,
        noise: float = 0.0,
        model_seed: int | None = None,
        seed: int = 1,
        n_rows: int | None = None,
    ) -> None:
        self.n_classes = whole_number("n_classes", n_classes, 2)
        self.n_nominal = whole_number("n_nominal", n_nominal, 0)
        self.n_numeric = whole_number("n_numeric", n_numeric, 0)
        self.n_values = whole_number("n_values", n_values, 2)
        self.max_depth = whole_number("max_depth", max_depth, 0)
        self.first_leaf_level = whole_number("first_leaf_level", first_leaf_level, 0)
        self.leaf_fraction = number_between("leaf_fraction", leaf_fraction, 0, 1)
        self.noise = number_between("noise", noise, 0, 1)
        self.model_seed = None if model_seed is None else whole_number("model_seed", model_seed, 0)
        self.n_features = self.n_nominal + self.n_numeric
        if self.n_features == 0:
            raise ValueError("n_nominal and n_numeric are both 0: a stream needs at least one feature")
        super().__init__(seed, n_rows)
        self.nominal_features = list(range(self.n_nominal))
        self.classes = np.arange(self.n_classes)

    @cached_property
    def tree(self) -> Tree:
        """The tree."""
        rng = self._model_rng()
        feature, threshold, child, label = [0], [np.inf], [0], [-1]
        low, high = [0.0] * self.n_numeric, [1.0] * self.n_numeric

        def grow(node: int, depth: int, nominal: list[int]) -> None:
            candidates = len(nominal) + self.n_numeric
            if (
                depth >= self.max_depth
                or candidates == 0
                or (depth >= self.first_leaf_level and rng.random() < self.leaf_fraction)
            ):
                label[node] = int(rng.random() * self.n_classes)
                return
            chosen = int(rng.random() * candidates)
            is_nominal = chosen < len(nominal)
            children = self.n_values if is_nominal else 2
            first = child[node] = len(child)
            feature.extend([0] * children)
            threshold.extend([np.inf] * children)
            child.extend(range(first, first + children))
            label.extend([-1] * children)
            if is_nominal:
                feature[node], threshold[node] = nominal[chosen], -1.0
                rest = nominal[:chosen] + nominal[chosen + 1 :]
                for branch in range(children):
                    grow(first + branch, depth + 1, rest)
            else:
                j = chosen - len(nominal)
                feature[node] = self.n_nominal + j
                split = threshold[node] = low[j] + (high[j] - low[j]) * rng.random()
                below, above = low[j], high[j]
                high[j] = split
                grow(first, depth + 1, nominal)
                low[j], high[j] = split, above
                grow(first + 1, depth + 1, nominal)
                low[j] = below

        grow(0, 0, list(range(self.n_nominal)))
        return Tree(np.array(feature), np.array(threshold), np.array(child), np.array(label))

    def _block(self, rng: npt.NDArray[np.uint64], start: int, n: int) -> Block:
        from anabranch.kernels import streams as kernels

        X, y = empty_block(n, self.n_features)
        kernels.random_tree(
            rng,
            X,
            y,
            *self.tree,
            self.max_depth,
            self.n_nominal,
            self.n_values,
            self.n_classes,
            self.noise,
            self.noise * _SD,
        )
        return X, y
