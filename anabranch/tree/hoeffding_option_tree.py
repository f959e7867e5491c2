"""The Hoeffding option tree: one tree that stands for several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch import checkpoint
from anabranch._parameters import Constraint, Number, OneOf
from anabranch.kernels import hoeffding, option_tree
from anabranch.schema import Floats
from anabranch.tree.hoeffding_tree import HoeffdingTreeClassifier

__all__ = ["HoeffdingOptionTreeClassifier"]

_ORDERS = ("leaves_first", "equal", "divided")  # in the order of the kernel's LEAVES_FIRST, EQUAL, DIVIDED


class HoeffdingOptionTreeClassifier(HoeffdingTreeClassifier):
    """Hoeffding option tree: a Hoeffding tree in which a node may hold several splits side by side.

    A row follows all of a node's splits, its *options*, and so reaches several leaves, whose class probabilities are
    added up. A node that has been split goes on learning; every ``grace_period`` rows it asks whether an attribute it
    has not split on yet now beats, by a second and much looser Hoeffding bound, the best of its splits, and if so adds
    it as a further option. One option tree thus does much of what an ensemble of trees does, while whatever its
    trees have in common is there but once.

    Parameters
    ----------
    max_options : int, default=5
        Leaves that a row may reach at most. With 1 this is a :class:`HoeffdingTreeClassifier`, to the last bit.
    secondary_delta : float, default=0.999
        As ``delta``, for options beyond the first split (delta'). It may be so large since the first split has been
        found to be the best already; near 1, any attribute that gets ahead of it will do.
    memory_order : {"leaves_first", "equal", "divided"}, default="leaves_first"
        Who keeps statistics when ``max_bytes`` does not suffice for all. Inner nodes that look for further options
        come after all leaves, or are ranked among them by their promise, or by their promise divided by the number of
        their options.
    grace_period : int or float, default=200
        Weight a node must see between attempts to split (n_min).
    delta : float, default=1e-7
        Probability allowed for choosing another first split than endlessly many rows would.
    tie_threshold : float, default=0.05
        Below this bound the best first split is taken even if the second is as good (tau). Further options must
        win outright.
    criterion, leaf_prediction, nb_threshold, n_split_points, min_branch_fraction, binary_split, pre_prune
        As for :class:`HoeffdingTreeClassifier`.
    remove_poor_attributes, max_bytes, memory_period, nominal_features
        As for :class:`HoeffdingTreeClassifier`.

    Attributes
    ----------
    n_options_ : int
        Leaves that a row may reach by now, as the algorithm counts them (see the notes).
    n_option_nodes_ : int
        Nodes with more than one split.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_nodes_, n_leaves_, n_inactive_leaves_, depth_ : int
        Size of the tree; each split counts as a node. A single leaf has depth 0.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in the merit of all splits, weighted by the rows that each split saw.
    nbytes : int
        Bytes of state.

    Notes
    -----
    This is the thesis' algorithm [1]_: an attribute is used once per node, further options are not helped by ties,
    and each leaf's class weights or naive Bayes probabilities are scaled to sum 1 before they are added. MOA's
    differs in all of its last three: with naive Bayes leaves an attribute may come back, votes are added as they are,
    which lets leaves that have seen more rows, or rows in denser regions, drown the others, and its
    ``secondarySplitConfidence`` is 0.1 by default.

    The published way of counting options (Algorithm 12) adds one to *every* node of the tree whenever any node
    gains an option: what it adds on the way up it also hands down to all other branches. All nodes therefore have
    the same count at all times, the whole tree holds ``max_options - 1`` further options at most, and when they are
    spent, all inner nodes stop learning at the same row. Here that is one number instead of one per node.

    References
    ----------
    .. [1] R. Kirkby, "Improving Hoeffding Trees", PhD thesis, University of Waikato, 2007: section 6.2.3,
       Algorithms 11 and 12.
    .. [2] B. Pfahringer, G. Holmes and R. Kirkby, "New options for Hoeffding trees", AI 2007.

    Examples
    --------
    >>> from anabranch.stream import RandomRBF
    >>> from anabranch.tree import HoeffdingOptionTreeClassifier, HoeffdingTreeClassifier
    >>> right = dict.fromkeys((HoeffdingTreeClassifier, HoeffdingOptionTreeClassifier), 0)
    >>> for kind in right:
    ...     tree = kind()
    ...     for X, y in RandomRBF(seed=7, n_rows=50_000).chunks(1000):
    ...         proba = tree.test_then_train(X, y)
    ...         right[kind] += int((tree.classes_[proba.argmax(axis=1)] == y).sum())
    >>> right[HoeffdingOptionTreeClassifier] > right[HoeffdingTreeClassifier]
    True
    >>> tree.n_options_
    5
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **HoeffdingTreeClassifier._constraints,
        "max_options": Number(1, integer=True),
        "secondary_delta": Number(0, 1, open_low=True),
        "memory_order": OneOf(_ORDERS),
    }
    _weighs_leaves: ClassVar[bool] = False

    def __init__(
        self,
        *,
        max_options: int = 5,
        secondary_delta: float = 0.999,
        memory_order: str = "leaves_first",
        grace_period: float = 200,
        delta: float = 1e-7,
        tie_threshold: float = 0.05,
        criterion: str = "info_gain",
        leaf_prediction: str = "nba",
        nb_threshold: float = 0,
        n_split_points: int = 10,
        min_branch_fraction: float = 0.01,
        binary_split: bool = False,
        pre_prune: bool = False,
        remove_poor_attributes: bool = False,
        max_bytes: int | None = None,
        memory_period: int = 10_000,
        nominal_features: Sequence[int | str] | None = None,
    ) -> None:
        super().__init__(
            grace_period=grace_period,
            delta=delta,
            tie_threshold=tie_threshold,
            criterion=criterion,
            leaf_prediction=leaf_prediction,
            nb_threshold=nb_threshold,
            n_split_points=n_split_points,
            min_branch_fraction=min_branch_fraction,
            binary_split=binary_split,
            pre_prune=pre_prune,
            remove_poor_attributes=remove_poor_attributes,
            max_bytes=max_bytes,
            memory_period=memory_period,
            nominal_features=nominal_features,
        )
        self.max_options = max_options
        self.secondary_delta = secondary_delta
        self.memory_order = memory_order

    # ------------------------------------------------------------------------------------ hooks

    _kernels: ClassVar[Any] = option_tree

    def _options(self) -> Floats:
        options = super()._options()
        options[hoeffding.MAX_OPTIONS] = self.max_options
        options[hoeffding.SECONDARY_DELTA] = self.secondary_delta
        options[hoeffding.MEMORY_ORDER] = _ORDERS.index(self.memory_order)
        return options

    def _begin(self) -> None:
        super()._begin()
        self._replace(
            links=np.full((int(self.max_options > 1), option_tree.LINKS_SIZE), -1, np.int32),
            errors=np.ones(int(self._weighs_leaves)),
        )

    def _reconfigure(self) -> None:
        if (self.max_options > 1) != bool(len(self._tree.links)):
            raise ValueError(
                "max_options cannot change from or to 1 once the tree has begun to learn: fit starts afresh."
            )
        super()._reconfigure()
        option_tree.stop_if_spent(self._table())

    def __restore__(self, state: dict[str, Any]) -> None:
        """Take a state from a checkpoint, unless its arrays do not fit together."""
        super().__restore__(state)
        if "_tree" in state and not self._options_hang_together():
            raise checkpoint.CheckpointError("The checkpoint's tree does not fit together.")

    def _n_learners(self) -> int:
        """Number of nodes that learn, or would if they had the memory."""
        t = self._tree
        if not len(t.links):
            return self.n_leaves_
        n = self.n_nodes_
        inner = t.node_ints[:n, hoeffding.FEATURE] >= 0
        return self.n_leaves_ + int((inner & (t.links[:n, option_tree.STATE] < 0)).sum())

    # ------------------------------------------------------------------------------------ attributes

    @property
    def n_options_(self) -> int:
        """Leaves that a row may reach by now."""
        return int(self._fitted().meta[hoeffding.N_OPTIONS])

    @property
    def n_option_nodes_(self) -> int:
        """Number of nodes with more than one split."""
        self._fitted()
        return len(self._options_side_by_side())

    @property
    def n_inactive_leaves_(self) -> int:
        """Number of leaves that gave up their statistics to save memory."""
        t = self._fitted()
        return int((t.node_ints[: self.n_nodes_, hoeffding.FEATURE] == hoeffding.INACTIVE).sum())

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Find the nodes each row ends in.

        Parameters
        ----------
        X : array-like of shape (n, d), or data frame

        Returns
        -------
        ndarray of int64, shape (n, n_options_)
            Numbers of the leaves that a row reaches, or of the splits that have no branch for it; -1 fills up.
        """
        rows, _ = self._columns().encode(X, grow=False, estimator=type(self).__name__)
        nodes = np.full((len(rows), self.n_options_), -1, np.int64)
        option_tree.apply(self._table(), self._with_known_columns(rows), nodes)
        return nodes

    def _options_side_by_side(self) -> dict[int, list[int]]:
        following, state = self._tree.links[: self.n_nodes_].T
        found: dict[int, list[int]] = {}
        for node in np.flatnonzero((following >= 0) & (state != option_tree.OPTION)).tolist():
            found[node] = []
            link = int(following[node])
            while link >= 0:
                found[node].append(link)
                link = int(following[link])
        return found

    def _options_hang_together(self) -> bool:
        """Whether every further option belongs to one node, and the number of options is right: kernels trust it."""
        t = self._tree
        m, n = len(t.node_ints), int(t.meta[hoeffding.N_NODES])
        if len(t.links) != m * (self.max_options > 1) or len(t.errors) != m * self._weighs_leaves:
            return False
        following, state = t.links[:n].T
        before = np.flatnonzero(following >= 0)
        after = following[before]
        if (after <= before).any() or (after >= n).any():  # no way leads back
            return False
        inner = t.node_ints[: len(following), hoeffding.FEATURE] >= 0
        return bool(
            inner[before].all()
            and inner[after].all()
            and (np.bincount(after, minlength=len(following)) == (state == option_tree.OPTION)).all()
            and t.meta[hoeffding.N_OPTIONS] == 1 + len(before)
        )
