"""The option tree of Kohavi and Kunz, grown from all rows in one go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch import checkpoint
from anabranch._parameters import Columns, Constraint, Number, OneOf
from anabranch.base import BatchClassifier
from anabranch.kernels import batch_tree as kernels
from anabranch.schema import Codes, Floats
from anabranch.tree._drawing import Layout, TreeDrawing
from anabranch.tree._presorted import n_values, presorted

__all__ = ["OptionTreeClassifier"]

_PLACES = ("anywhere", "top", "lowest")  # in the order of the kernel's ANYWHERE, TOP, LOWEST


class OptionTreeClassifier(TreeDrawing, BatchClassifier):
    """Option tree of the batch setting: a decision tree in which a node may hold several splits side by side.

    Grown like a C4.5 tree, but where further tests score nearly as well as a node's best, they become *options* beside
    it: each gets a subtree of its own, grown from all rows of the node. A row to be predicted follows all options, and
    the leaves that it reaches vote. One tree thus does what bagging does, without chance, and what its trees have in
    common is there but once.

    Parameters
    ----------
    option_factor : float, default=1.0
        How close to the best a test must come to be an option: its score must reach the best one's divided by
        1 + ``option_factor``: with 1, half of it. With 0 only tests as good as the best are options.
    max_options : int, default=5
        Splits that a node may hold at most. With 1 this is an ordinary decision tree.
    option_levels : int, default=2
        To how many levels ``option_place`` confines options.
    option_place : {"top", "lowest", "anywhere"}, default="top"
        Where options may be: in the top levels (the root is one level), in the lowest ones (nodes from which a tree
        without options would have no more levels of splits than that), or anywhere. Options multiply: mind
        ``max_nodes`` with the last.
    depth_decay : float, default=1.0
        The option factor is multiplied by this once per level: below 1 there are fewer options further down, above 1
        fewer near the root.
    support_power : float, default=0.0
        The option factor is multiplied by the node's share of all weight to this power: above 0 there are fewer options
        where few rows are, below 0 fewer where many are.
    voting : {"hard", "soft"}, default="hard"
        Each leaf that a row reaches has one vote for its majority class, or adds its class shares.
    criterion : {"info_gain", "gain_ratio"}, default="info_gain"
        Score of a test: the information it gains; or that over the information of the split itself, among tests of at
        least average gain (C4.5).
    min_leaf_weight : float, default=2.0
        At least two branches of every split must hold this weight.
    max_depth : int, optional
        Levels of splits at most.
    pruning_confidence : float or None, default=0.25
        Confidence of C4.5's pessimistic pruning, smaller is more drastic; None leaves the tree as it has grown. The
        estimate for a node with options is the mean of its splits'.
    max_nodes : int, default=1_000_000
        Once the growing tree has so many nodes, no node gets further options.
    nominal_features : list of int or str, optional
        Columns whose numbers are categories: positions in arrays, names in data frames. Text is nominal anyway.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    n_nodes_, n_leaves_, n_option_nodes_, depth_ : int
        Size of the tree; each split counts as a node. A single leaf has depth 0.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in the information gained by all splits, each weighted by its rows, and divided by the
        number of options that stand side by side there or above.
    n_features_in_, feature_names_in_, nbytes
        As for other learners.

    Notes
    -----
    It learns from all rows in one go and has no ``partial_fit``; :class:`HoeffdingOptionTreeClassifier` is the option
    tree for streams. The paper [1]_ was not to be had in full when this was written. From what is said of it in [2]_
    are: the option factor, five options per node at most, options in the top two or lowest three levels, their number
    as a function of depth or support, and hard votes. Of our choosing are the very form of these rules, the scores, and
    C4.5's pruning [3]_ extended to options; the defaults of the option factor and the criterion did best in
    cross-validation on seven of the data sets of :mod:`anabranch.papers.kirkby_batch`.

    A numeric attribute is split in the middle between two values, a nominal one into a branch per value; an attribute
    is one test, with its best threshold. Missing values do not count towards an attribute's gain, which shrinks by
    their share; rows without the value, or with one that was not there in training, go where most weight went. Scores
    that differ by less than 1e-9 are equal: the first column wins. Between classes with as many votes the one with more
    weight in training wins.

    References
    ----------
    .. [1] R. Kohavi and C. Kunz, "Option decision trees with majority votes", ICML 1997.
    .. [2] R. Kirkby, "Improving Hoeffding Trees", PhD thesis, University of Waikato, 2007: section 6.1.
    .. [3] J. R. Quinlan, "C4.5: programs for machine learning", Morgan Kaufmann, 1993.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from anabranch.tree import OptionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = OptionTreeClassifier(max_depth=1, max_options=2).fit(X, y)
    >>> names = ["sepal length", "sepal width", "petal length", "petal width"]
    >>> print(tree.export_text(feature_names=names))
    |--- option 1
    |   |--- petal length <= 2.45: class 0, weight 50 (0: 100%), by majority class
    |   |--- petal length > 2.45: class 1, weight 100 (1: 50%, 2: 50%), by majority class
    |--- option 2
    |   |--- petal width <= 0.8: class 0, weight 50 (0: 100%), by majority class
    |   |--- petal width > 0.8: class 1, weight 100 (1: 50%, 2: 50%), by majority class
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "option_factor": Number(0),
        "max_options": Number(1, integer=True),
        "option_levels": Number(0, integer=True),
        "option_place": OneOf(_PLACES),
        "depth_decay": Number(0, open_low=True),
        "support_power": Number(),
        "voting": OneOf(("hard", "soft")),
        "criterion": OneOf(("info_gain", "gain_ratio")),
        "min_leaf_weight": Number(0),
        "max_depth": Number(0, integer=True, optional=True),
        "pruning_confidence": Number(0, 0.5, open_low=True, optional=True),
        "max_nodes": Number(1, integer=True),
        "nominal_features": Columns(),
    }

    _ints: NDArray[np.int32]
    _floats: Floats

    def __init__(
        self,
        *,
        option_factor: float = 1.0,
        max_options: int = 5,
        option_levels: int = 2,
        option_place: str = "top",
        depth_decay: float = 1.0,
        support_power: float = 0.0,
        voting: str = "hard",
        criterion: str = "info_gain",
        min_leaf_weight: float = 2.0,
        max_depth: int | None = None,
        pruning_confidence: float | None = 0.25,
        max_nodes: int = 1_000_000,
        nominal_features: Sequence[int | str] | None = None,
    ) -> None:
        self.option_factor = option_factor
        self.max_options = max_options
        self.option_levels = option_levels
        self.option_place = option_place
        self.depth_decay = depth_decay
        self.support_power = support_power
        self.voting = voting
        self.criterion = criterion
        self.min_leaf_weight = min_leaf_weight
        self.max_depth = max_depth
        self.pruning_confidence = pruning_confidence
        self.max_nodes = max_nodes
        self.nominal_features = nominal_features

    # ------------------------------------------------------------------------------------ hooks

    def _settings(self) -> Floats:
        settings = np.zeros(kernels.SETTINGS)
        settings[kernels.MAX_OPTIONS] = self.max_options
        settings[kernels.FACTOR] = self.option_factor
        settings[kernels.DEPTH_DECAY] = self.depth_decay
        settings[kernels.SUPPORT_POWER] = self.support_power
        settings[kernels.WHERE] = _PLACES.index(self.option_place)
        settings[kernels.LEVELS] = self.option_levels
        settings[kernels.MIN_LEAF] = self.min_leaf_weight
        settings[kernels.MAX_DEPTH] = np.inf if self.max_depth is None else self.max_depth
        settings[kernels.RATIO] = self.criterion == "gain_ratio"
        settings[kernels.MAX_NODES] = self.max_nodes
        return settings

    def _fit(self, X: Floats, y: Codes, w: Floats) -> None:
        branches = n_values(self._columns())
        numeric = np.flatnonzero(branches == kernels.NUMERIC)
        values, sorted_rows = presorted(X, numeric)
        order = np.vstack([np.arange(len(X), dtype=np.int32), sorted_rows])
        place = np.zeros(len(branches), np.int64)
        place[numeric] = 1 + np.arange(len(numeric))
        gaps = np.isnan(values).any(axis=1)
        ints, floats = kernels.grow(values, branches, place, gaps, order, y, w, self._n_classes, self._settings())
        if self.pruning_confidence is not None:
            z = NormalDist().inv_cdf(1.0 - self.pruning_confidence)
            kernels.prune(ints, floats, z, float(self.pruning_confidence))
            ints, floats = kernels.compact(ints, floats)
        self._ints, self._floats = np.array(ints), np.array(floats)  # not the room around them

    def _votes(self, X: Floats) -> Floats:
        votes = np.zeros((len(X), self._n_classes))
        kernels.votes(self._ints, self._floats, X, self.voting == "soft", votes)
        return votes

    def __restore__(self, state: dict[str, Any]) -> None:
        """Take a state from a checkpoint, unless its arrays do not fit together: the kernels trust them."""
        super().__restore__(state)
        if "_ints" in state and not self._hangs_together():
            raise checkpoint.CheckpointError("The checkpoint's tree does not fit together.")

    def _hangs_together(self) -> bool:
        ints, floats = self._ints, self._floats
        if not (isinstance(ints, np.ndarray) and isinstance(floats, np.ndarray)):
            return False
        n = len(ints)
        if ints.dtype != np.int32 or ints.shape != (n, kernels.INTS) or n < 1:
            return False
        if floats.dtype != np.float64 or floats.shape != (n, kernels.COUNTS + self._n_classes):
            return False
        inner = np.flatnonzero(ints[:, kernels.FEATURE] != kernels.LEAF)
        feature, branches, first, following, _, largest = ints[inner].T
        width = np.where(branches == kernels.NUMERIC, 2, branches)
        return bool(
            ((feature >= 0) & (feature < len(self._columns()))).all()
            and (width > 1).all()
            and ((first > inner) & (first + width <= n)).all()
            and ((largest >= 0) & (largest < width)).all()
            and ((following > inner) & (following < n) | (following == -1)).all()
            and (ints[np.maximum(following, 0), kernels.FEATURE] >= 0)[following >= 0].all()
            and len({*following[following >= 0].tolist()}) == (following >= 0).sum()  # no node is reached twice
            and len(np.unique(first)) == len(first)
        )

    # ------------------------------------------------------------------------------------ attributes

    def _fitted(self) -> NDArray[np.int32]:
        self._columns()
        return self._ints

    @property
    def n_nodes_(self) -> int:
        """Number of nodes, each split of a node with options counted as one."""
        return len(self._fitted())

    @property
    def n_leaves_(self) -> int:
        """Number of leaves."""
        return int((self._fitted()[:, kernels.FEATURE] == kernels.LEAF).sum())

    @property
    def n_option_nodes_(self) -> int:
        """Number of nodes with more than one split."""
        return len(self._options_side_by_side())

    @property
    def depth_(self) -> int:
        """Splits on the longest path."""
        return int(self._fitted()[:, kernels.LEVEL].max())

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column in the information gained by all splits."""
        inner = self._fitted()[:, kernels.FEATURE] != kernels.LEAF
        share, gain, weight = self._floats[inner][:, [kernels.SHARE, kernels.GAIN, kernels.WEIGHT]].T
        gains = np.zeros(self.n_features_in_)
        np.add.at(gains, self._ints[inner, kernels.FEATURE], share * gain * weight)
        total = gains.sum()
        return gains / total if total > 0 else gains

    def _options_side_by_side(self) -> dict[int, list[int]]:
        following = self._fitted()[:, kernels.NEXT].tolist()
        further = set(following)
        found: dict[int, list[int]] = {}
        for node, link in enumerate(following):
            if link >= 0 and node not in further:
                found[node] = []
                while link >= 0:
                    found[node].append(link)
                    link = following[link]
        return found

    def _layout(self) -> Layout:
        n = len(self._ints)
        return Layout(
            splits=self._ints[:, [kernels.FEATURE, kernels.BRANCHES, kernels.FIRST]].tolist(),
            thresholds=self._floats[:, kernels.THRESHOLD].tolist(),
            weights=self._floats[:, kernels.WEIGHT].tolist(),
            counts=self._floats[:, kernels.COUNTS :],
            predictors=["majority class"] * n,
            inactive=[False] * n,
            options=self._options_side_by_side(),
        )
