"""The Hoeffding tree, also known as the very fast decision tree (VFDT)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch import checkpoint
from anabranch._parameters import Columns, Constraint, Flag, Number, OneOf
from anabranch.base import StreamClassifier
from anabranch.kernels import call_directly
from anabranch.kernels import hoeffding as kernels
from anabranch.kernels.bundle import Bundle
from anabranch.kernels.hoeffding import Tree
from anabranch.kernels.vector import padded
from anabranch.schema import Codes, Floats
from anabranch.tree._drawing import TreeDrawing

__all__ = ["HoeffdingTreeClassifier"]

_CRITERIA = ("info_gain", "gini")
_LEAF_KINDS = ("mc", "nb", "nba")  # in the order of the kernel's MAJORITY, BAYES, ADAPTIVE
_FIRST_CELLS = 4  # room for values per nominal attribute at the start
_NO_VOTES = np.zeros((0, 0))
_SMALLEST_STEP = 16  # arrays grow by a sixteenth, and at least by this many entries


class HoeffdingTreeClassifier(TreeDrawing, StreamClassifier):
    """Hoeffding tree: a decision tree grown from a stream, each split once enough rows back it.

    A leaf gathers statistics of the rows that reach it. Every ``grace_period`` rows it compares the two best
    splits; when the difference of their merits exceeds the Hoeffding bound

        epsilon = sqrt(R^2 ln(1 / delta) / (2 n)),

    the better one would very probably also be the better one on endlessly many rows, and the leaf splits.

    Parameters
    ----------
    grace_period : int or float, default=200
        Weight a leaf must see between attempts to split (n_min).
    delta : float, default=1e-7
        Probability allowed for choosing another split than endlessly many rows would.
    tie_threshold : float, default=0.05
        Below this bound the best split is taken even if the second is as good (tau).
    criterion : {"info_gain", "gini"}, default="info_gain"
        Merit of a split: information gain in bits, or the decrease of Gini's index.
    leaf_prediction : {"nba", "nb", "mc"}, default="nba"
        Majority class ("mc"), naive Bayes ("nb"), or in each leaf whichever of them has been right more often
        on the rows that came by ("nba", adaptive naive Bayes).
    nb_threshold : int or float, default=0
        Weight a leaf must have seen before it may predict with naive Bayes.
    n_split_points : int, default=10
        Candidate thresholds per numeric attribute, equally spaced between its smallest and largest value.
    min_branch_fraction : float, default=0.01
        A split must send more than this share of the weight down at least two of its branches.
    binary_split : bool, default=False
        Split nominal attributes only into one value against the rest, never into one branch per value.
    pre_prune : bool, default=False
        Let every split compete with not splitting, whose merit is 0.
    remove_poor_attributes : bool, default=False
        Let a leaf stop looking at attributes whose merit lies more than the bound below the best. Only with
        ``leaf_prediction="mc"``: naive Bayes needs them all.
    max_bytes : int or None, default=None
        Upper limit of :attr:`nbytes`, at least 1024, kept after every single row. What no longer fits is given up in
        the published order: the least promising leaves stop learning and only count classes, so that the most
        promising can go on; they resume when their turn comes again.
    memory_period : int, default=10000
        Rows between looks at which leaves are the most promising, while some are inactive. (It also happens
        whenever a leaf splits or the room runs out.)
    nominal_features : list of int or str, optional
        Columns whose numbers are categories: positions in arrays, names in data frames. Text is nominal anyway.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_nodes_, n_leaves_, n_inactive_leaves_, depth_ : int
        Size of the tree. A single leaf has depth 0.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in the merit of all splits, weighted by the rows that each split saw.
    nbytes : int
        Bytes of state.

    Notes
    -----
    Numeric attributes are kept as one Gaussian per class and leaf [2]_. Missing values are left out of the
    statistics; at a split, a row that lacks the value goes where most weight went. A nominal value that a split
    into one branch per value has not met gets a branch of its own when it is learned; until then its rows are
    predicted with the split's own class weights. A column's first 256 nominal values are told apart, later ones count
    as missing. A new column is taken in by all leaves from then on, a vanished
    one is missing. Among classes with equal votes the first wins.

    MOA's tree differs in three details: its pre-pruning never acts (its merit of not splitting is minus infinity,
    which is why ``pre_prune`` is off by default here), it loses rows that lack the value a split asks for, and it
    bounds memory by estimates at intervals. With ``leaf_prediction="nba"`` naive Bayes wins ties, as in MOA (the
    thesis lets the majority class win them).

    References
    ----------
    .. [1] P. Domingos and G. Hulten, "Mining high-speed data streams", KDD 2000.
    .. [2] R. Kirkby, "Improving Hoeffding Trees", PhD thesis, University of Waikato, 2007: Algorithm 2 and
       chapters 3 to 5.

    Examples
    --------
    >>> from anabranch.stream import RandomRBF
    >>> from anabranch.tree import HoeffdingTreeClassifier
    >>> tree = HoeffdingTreeClassifier(grace_period=100)
    >>> right = rows = 0
    >>> for X, y in RandomRBF(n_centroids=10, seed=7, n_rows=20_000).chunks(1000):
    ...     proba = tree.test_then_train(X, y)
    ...     right += (tree.classes_[proba.argmax(axis=1)] == y).sum()
    ...     rows += len(y)
    >>> bool(right / rows > 0.75)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "grace_period": Number(0, open_low=True),
        "delta": Number(0, 1, open_low=True, open_high=True),
        "tie_threshold": Number(0),
        "criterion": OneOf(_CRITERIA),
        "leaf_prediction": OneOf(_LEAF_KINDS),
        "nb_threshold": Number(0),
        "n_split_points": Number(1, integer=True),
        "min_branch_fraction": Number(0, 0.5, open_high=True),
        "binary_split": Flag(),
        "pre_prune": Flag(),
        "remove_poor_attributes": Flag(),
        "max_bytes": Number(1024, integer=True, optional=True),
        "memory_period": Number(1, integer=True),
        "nominal_features": Columns(),
    }

    def __init__(
        self,
        *,
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
        self.grace_period = grace_period
        self.delta = delta
        self.tie_threshold = tie_threshold
        self.criterion = criterion
        self.leaf_prediction = leaf_prediction
        self.nb_threshold = nb_threshold
        self.n_split_points = n_split_points
        self.min_branch_fraction = min_branch_fraction
        self.binary_split = binary_split
        self.pre_prune = pre_prune
        self.remove_poor_attributes = remove_poor_attributes
        self.max_bytes = max_bytes
        self.memory_period = memory_period
        self.nominal_features = nominal_features

    # ------------------------------------------------------------------------------------ hooks

    _kernels: ClassVar[Any] = kernels  # learn, votes, shrink, functions
    _tree: Tree
    _bundle: Bundle | None = None

    def _options(self) -> Floats:
        options = np.zeros(kernels.OPTIONS_SIZE)
        options[kernels.DELTA] = self.delta
        options[kernels.TAU] = self.tie_threshold
        options[kernels.GRACE] = self.grace_period
        options[kernels.MIN_BRANCH] = self.min_branch_fraction
        options[kernels.NB_THRESHOLD] = self.nb_threshold
        options[kernels.MEMORY_PERIOD] = self.memory_period
        options[kernels.POINTS] = self.n_split_points
        options[kernels.GINI] = self.criterion == "gini"
        options[kernels.LEAF_KIND] = _LEAF_KINDS.index(self.leaf_prediction)
        options[kernels.BINARY] = self.binary_split
        options[kernels.PRE_PRUNE] = self.pre_prune
        options[kernels.DROP_POOR] = self.remove_poor_attributes and self.leaf_prediction == "mc"
        return options

    def _reconfigure(self) -> None:
        self._own()
        options = self._options()
        kept = (kernels.LEAF_KIND, kernels.DROP_POOR)  # the statistics in hand are made for them
        if any(options[i] != self._tree.options[i] for i in kept):
            raise ValueError(
                "leaf_prediction and remove_poor_attributes cannot change once the tree has begun to learn: "
                "fit starts afresh."
            )
        if self.max_bytes is not None and self._bytes(nodes=self.n_nodes_, rows=0) > self.max_bytes:
            raise ValueError(
                f"max_bytes={self.max_bytes} is too small for the {self.n_nodes_} nodes that the tree has grown to "
                f"({self._bytes(nodes=self.n_nodes_, rows=0)} bytes without any statistics)."
            )
        self._replace(options=options)
        meta = self._tree.meta
        meta[[kernels.ROWS_FIXED, kernels.NODES_FIXED, kernels.CLASSES_FIXED, kernels.COLUMNS_FIXED]] = 0
        if not self._fits():
            self._resize_nodes(self.n_nodes_)
            self._give_way()
        elif meta[kernels.N_INACTIVE]:  # room for leaves to learn again
            t = self._tree
            rows = self._n_learners() * (t.node_floats.shape[1] - kernels.COUNTS)
            if not self._fits(rows=rows):
                rows = self._rows_that_fit()
            rows = max(rows, len(t.moments))
            self._resize_rows(rows)
            self._kernels.shrink(self._table(), rows)

    def _begin(self) -> None:
        options = self._options()
        poor = bool(options[kernels.DROP_POOR])
        meta = np.zeros(kernels.META_SIZE, np.int64)
        meta[kernels.N_NODES] = 1
        meta[kernels.FREE_ROW] = -1
        meta[kernels.N_OPTIONS] = 1
        ints = np.full((1, kernels.ROWS + 1), -1, np.int32)
        ints[0, kernels.FEATURE] = kernels.ACTIVE
        self._tree = Tree(
            node_ints=ints,
            node_floats=np.zeros((1, kernels.COUNTS + 1)),
            moments=np.zeros((0, kernels.MEANS)),
            ranges=np.zeros((0, 0), np.float32),
            extra=np.zeros((0, 3), np.int32),
            dropped=np.zeros((int(poor), 0), np.bool_),
            slots=np.zeros(0, np.int32),
            numeric=np.zeros(0, np.int32),
            cells=np.zeros((0, 3), np.int32),
            origin=np.zeros(0),
            gains=np.zeros(0),
            meta=meta,
            options=options,
            links=np.zeros((0, 2), np.int32),
            errors=np.zeros(0),
        )

    def _learn(self, X: Floats, y: Codes, w: Floats) -> None:
        self._run(X, y, w)

    def _votes(self, X: Floats) -> Floats:
        votes = np.zeros((len(X), self._n_classes))
        call_directly(self._kernels.votes, self._table(), self._with_known_columns(X), votes)
        return votes

    def _best(self, row: Floats) -> int:
        tree, bundle = self._tree, self._bundle
        if bundle is None or bundle.arrays is not tree:
            bundle = self._bundled()
        if row.shape[1] < tree.slots.size:
            row = self._with_known_columns(row)
        best_class = (_SINGLE_ROWS.get(type(self)) or self._taking_single_rows())[1]
        return best_class(bundle.address, row, self._n_classes)  # type: ignore[no-any-return]

    def _learn_row(self, row: Floats, code: int, w: float) -> None:
        bundle = self._bundle
        if (
            bundle is None
            or bundle.arrays is not self._tree
            or not bundle.writable
            or (self._n_announced and self._tree.meta[kernels.N_CLASSES] < self._n_announced)
            or not (_SINGLE_ROWS.get(type(self)) or self._taking_single_rows())[0](bundle.address, row, code, float(w))
        ):
            super()._learn_row(row, code, w)  # which makes room

    def _taking_single_rows(self) -> tuple[Callable[..., Any], ...]:
        """What learns and what predicts a single row, for :meth:`_learn_row` and :meth:`_best`."""
        from anabranch.kernels.single_row import for_trees

        learn, best_class = for_trees(self._kernels)
        kind, mine = type(self), HoeffdingTreeClassifier
        usual = kind._learn is mine._learn and kind._run is mine._run  # else a subclass has a way of its own
        _SINGLE_ROWS[kind] = (learn if usual else _learn_nothing), best_class
        return _SINGLE_ROWS[kind]

    def _test_then_train(self, X: Floats, y: Codes, w: Floats) -> Floats:
        votes = np.zeros((len(X), self._n_classes))
        self._run(X, y, w, before=votes)
        return votes

    def _train_then_test(self, X: Floats, y: Codes, w: Floats) -> Floats:
        votes = np.zeros((len(X), self._n_classes))
        self._run(X, y, w, after=votes)
        return votes

    def _test_train_test(self, X: Floats, y: Codes, w: Floats) -> tuple[Floats, Floats]:
        before, after = np.zeros((2, len(X), self._n_classes))
        self._run(X, y, w, before, after)
        return before, after

    def _run(self, X: Floats, y: Codes, w: Floats, before: Floats = _NO_VOTES, after: Floats = _NO_VOTES) -> None:
        """Learn all rows, making room wherever the kernel asks for it; take votes before and after each."""
        bundle = self._bundle
        if bundle is None or bundle.arrays is not self._tree or not bundle.writable:
            bundle = self._own()
        if self._n_announced and self._tree.meta[kernels.N_CLASSES] < self._n_announced:
            self._take_in_classes(self._n_announced)
            self._tree.meta[kernels.N_CLASSES] = self._n_announced
            bundle = self._bundled()
        n, row = len(X), 0
        while (row := call_directly(self._kernels.learn, bundle.table, row, X, y, w, before, after)) < n:
            self._make_room(int(self._tree.meta[kernels.NEED]), X[row], int(y[row]))
            self._tree.meta[kernels.HAS_VOTED] = 1
            bundle = self._bundled()

    def _bundled(self) -> Bundle:
        """The arrays as kernels take them."""
        bundle = self._bundle
        if bundle is None or bundle.arrays is not self._tree:
            bundle = self._bundle = Bundle(self._tree, self._kernels.functions(), bundle)
        return bundle

    def _table(self) -> NDArray[np.int64]:
        """The table through which kernels find the arrays."""
        return self._bundled().table

    def _own(self) -> Bundle:
        """Copy arrays that may only be read, such as those that joblib maps from a file, before they are written."""
        if not all(array.flags.writeable for array in self._tree):
            self._tree = Tree(*map(np.array, self._tree))
        return self._bundled()

    def _replace(self, **arrays: NDArray[Any]) -> None:
        self._tree = self._tree._replace(**arrays)

    def _with_known_columns(self, X: Floats) -> Floats:
        """Rows with at least as many columns as the tree knows; those it lacks are missing."""
        missing = self._tree.slots.size - X.shape[1]
        return X if missing <= 0 else np.hstack([X, np.full((len(X), missing), np.nan)])

    def __restore__(self, state: dict[str, Any]) -> None:
        """Take a state from a checkpoint, unless its arrays do not fit together: the kernels trust them."""
        if "_tree" in state:
            if not _fit_together(state["_tree"]):
                raise checkpoint.CheckpointError("The checkpoint's tree does not fit together.")
            state = state | {"_tree": Tree(*state["_tree"])}
        super().__restore__(state)

    def __checkpoint__(self) -> dict[str, Any]:
        state = super().__checkpoint__()
        state.pop("_bundle", None)
        return state | {"_tree": list(self._tree)} if "_tree" in state else state

    # ------------------------------------------------------------------------------------ room

    def _fits(self, **sizes: int) -> bool:
        return self.max_bytes is None or self._bytes(**sizes) <= self.max_bytes

    def _bytes(
        self, nodes: int | None = None, rows: int | None = None, classes: int | None = None, late: int | None = None,
        width: int | None = None, columns: int | None = None, nominal: int | None = None,
    ) -> int:  # fmt: skip
        """Bytes of all arrays at given sizes; sizes not given are today's."""
        t = self._tree
        nodes = len(t.node_ints) if nodes is None else nodes
        rows = len(t.moments) if rows is None else rows
        classes = t.node_floats.shape[1] - kernels.COUNTS if classes is None else classes
        late = len(t.extra) if late is None else late
        width = t.moments.shape[1] if width is None else width
        columns = len(t.slots) if columns is None else columns
        n_cells = len(t.cells) if nominal is None else nominal
        n_numeric = columns - n_cells
        per_node = 4 * (kernels.ROWS + classes) + 8 * (kernels.COUNTS + classes)
        per_node += columns * bool(len(t.dropped)) + t.links[:1].nbytes + t.errors[:1].nbytes
        per_row = 8 * width + 8 * padded(n_numeric)
        fixed = t.meta.nbytes + t.options.nbytes + 12 * columns + 4 * n_numeric + 8 * padded(n_numeric) + 12 * n_cells
        return nodes * per_node + rows * per_row + 12 * late + fixed

    def _rows_that_fit(self, **sizes: int) -> int:
        """Statistics rows there is room for at the given sizes; negative if even none is too much."""
        assert self.max_bytes is not None
        empty = self._bytes(rows=0, **sizes)
        per_row = self._bytes(rows=1, **sizes) - empty
        return (self.max_bytes - empty) // max(per_row, 1)

    def _give_way(self, **sizes: int) -> bool:
        """Give up as many statistics rows as it takes for the given sizes to fit; False if that is not enough."""
        if self._fits(**sizes):
            return True
        room = self._rows_that_fit(**sizes)
        if room < 0:
            return False
        t = self._tree
        if room < len(t.moments):
            self._kernels.shrink(self._table(), room)
            self._resize_rows(room)
        t.meta[kernels.ROWS_FIXED] = 1
        return True

    def _make_room(self, need: int, x: Floats, y: int) -> None:
        t = self._tree
        if need == kernels.NEED_NODES:
            now = len(t.node_ints)
            needed = int(t.meta[kernels.N_NODES] + t.meta[kernels.NEEDED_NODES])
            nodes = max(now + max(now // 16, _SMALLEST_STEP), needed)
            if not self._fits(nodes=nodes):
                nodes = needed
            if self._give_way(nodes=nodes):
                self._resize_nodes(nodes)
            else:
                t.meta[kernels.NODES_FIXED] = 1
        elif need == kernels.NEED_ROWS:
            now = len(t.moments)
            rows = now + max(now // 16, _SMALLEST_STEP)
            if not self._fits(rows=rows):
                rows = max(now, self._rows_that_fit())
                t.meta[kernels.ROWS_FIXED] = 1
            self._resize_rows(rows)
        elif need == kernels.NEED_CLASSES:
            self._take_in_classes(y + 1)
        elif need == kernels.NEED_COLUMNS:
            self._take_in_columns(1 + int(np.flatnonzero(~np.isnan(x))[-1]))
        elif need == kernels.NEED_MISSING:
            self._keep_missing()
        elif need == kernels.NEED_EXTRA:
            late = len(t.extra) + max(len(t.extra) // 16, _SMALLEST_STEP)
            if self._give_way(late=late):
                self._replace(extra=_lengthened(self._tree.extra, late, -1))
            else:
                t.meta[kernels.NODES_FIXED] = 1
        else:
            nominal = need - kernels.NEED_CELLS
            column = int(np.flatnonzero(t.slots == -1 - nominal)[0])
            self._lengthen_cells(nominal, int(x[column]))

    def _resize_rows(self, rows: int) -> None:
        t = self._tree
        self._replace(moments=_lengthened(t.moments, rows, 0), ranges=_lengthened(t.ranges, rows, 0))

    def _resize_nodes(self, nodes: int) -> None:
        t = self._tree
        self._replace(
            node_ints=_lengthened(t.node_ints, nodes, -1),
            node_floats=_lengthened(t.node_floats, nodes, 0),
            dropped=_lengthened(t.dropped, nodes, False) if len(t.dropped) else t.dropped,
            links=_lengthened(t.links, nodes, -1) if len(t.links) else t.links,
            errors=_lengthened(t.errors, nodes, 1.0) if len(t.errors) else t.errors,
        )

    def _take_in_classes(self, classes: int) -> None:
        """Widen the nodes; where that does not fit, rows of further classes are passed over from now on."""
        t = self._tree
        now = t.node_floats.shape[1] - kernels.COUNTS
        if classes <= now:
            return
        if not self._give_way(classes=classes):
            t.meta[kernels.CLASSES_FIXED] = 1
            return
        t = self._tree
        self._replace(
            node_ints=_widened(t.node_ints, classes - now, -1), node_floats=_widened(t.node_floats, classes - now, 0)
        )

    def _relayout(self, parts: list[NDArray[Any]]) -> None:
        self._replace(moments=np.ascontiguousarray(np.hstack(parts)))

    def _used_weights(self) -> Floats:
        """Weight of each statistics row, 0 for free ones (which hold a link in its place)."""
        t = self._tree
        weights = np.zeros(len(t.moments))
        used = t.node_ints[:, kernels.ROWS :]
        used = used[used >= 0]
        weights[used] = t.moments[used, kernels.WEIGHT]
        return weights

    def _keep_missing(self) -> None:
        """Make room for the weight missing per numeric attribute, at the first missing value."""
        n = len(self._tree.origin)
        # The width of a row fits always if no row is kept, so giving way cannot fail.
        self._give_way(width=self._tree.moments.shape[1] + n)
        t = self._tree
        end = kernels.MEANS + 3 * n
        self._relayout([t.moments[:, :end], np.zeros((len(t.moments), n)), t.moments[:, end:]])
        t.cells[:, kernels.START] += n
        t.meta[kernels.MISSING_KEPT] = 1

    def _lengthen_cells(self, nominal: int, value: int) -> None:
        """Make room for more values of a nominal attribute, unless hardly a leaf could then still learn."""
        t = self._tree
        capacity = int(t.cells[nominal, kernels.CAPACITY])
        longer = min(max(_FIRST_CELLS, 1 << value.bit_length()), kernels.MOST_CELLS)
        if longer <= capacity:
            t.cells[nominal, kernels.CELLS_FIXED] = 1
            return
        width = t.moments.shape[1] + longer - capacity
        classes = t.node_floats.shape[1] - kernels.COUNTS
        if self.max_bytes is not None and self._rows_that_fit(width=width) < min(4 * classes, len(t.moments)):
            t.cells[nominal, kernels.CELLS_FIXED] = 1
            return
        self._give_way(width=width)
        t = self._tree
        end = int(t.cells[nominal, kernels.START]) + kernels.CELLS + capacity
        self._relayout([t.moments[:, :end], np.zeros((len(t.moments), longer - capacity)), t.moments[:, end:]])
        t.cells[nominal, kernels.CAPACITY] = longer
        t.cells[t.cells[:, kernels.START] >= end, kernels.START] += longer - capacity

    def _take_in_columns(self, columns: int) -> None:
        """Take in columns beyond those known; where they do not fit they are passed over."""
        assert self._schema is not None
        t = self._tree
        known = len(t.slots)
        nominal = self._schema.nominal[known:columns]
        new_numeric = known + np.flatnonzero(~nominal)
        new_nominal = known + np.flatnonzero(nominal)
        n, m = len(t.numeric), len(new_numeric)
        room, more = len(t.origin), padded(n + m)  # places for numeric columns, before and after
        learned = t.meta[kernels.N_SEEN] > 0
        missing = bool(t.meta[kernels.MISSING_KEPT]) or (learned and m > 0)
        old_end = kernels.MEANS + (3 + bool(t.meta[kernels.MISSING_KEPT])) * room
        new_end = kernels.MEANS + (3 + missing) * more
        blocks = len(new_nominal) * (kernels.CELLS + _FIRST_CELLS)
        width = new_end + t.moments.shape[1] - old_end + blocks
        if not self._give_way(width=width, columns=columns, nominal=len(t.cells) + len(new_nominal)):
            warnings.warn(
                f"max_bytes={self.max_bytes} has room for {known} of {columns} columns only; "
                "the others are passed over.",
                stacklevel=6,  # the caller of partial_fit
            )
            t.meta[kernels.COLUMNS_FIXED] = 1
            return
        t = self._tree
        rows = len(t.moments)
        moments = np.zeros((rows, width))
        moments[:, : kernels.MEANS] = t.moments[:, : kernels.MEANS]
        for block in range((old_end - kernels.MEANS) // room if room else 0):
            old, new = kernels.MEANS + block * room, kernels.MEANS + block * more
            moments[:, new : new + n] = t.moments[:, old : old + n]
        if missing:  # what was learned before lacks the new columns altogether
            moments[:, new_end - more + n : new_end - more + n + m] = self._used_weights()[:, None]
        moments[:, new_end : width - blocks] = t.moments[:, old_end:]
        ranges = np.zeros((rows, 2 * more), np.float32)
        ranges[:, :n] = t.ranges[:, :n]
        ranges[:, more : more + n] = t.ranges[:, room : room + n]
        origin = _lengthened(t.origin[:n], more, 0.0)
        origin[n : n + m] = np.nan
        cells = _lengthened(t.cells, len(t.cells) + len(new_nominal), 0)
        cells[: len(t.cells), kernels.START] += new_end - old_end
        first = width - blocks
        cells[len(t.cells) :, kernels.START] = first + np.arange(len(new_nominal)) * (kernels.CELLS + _FIRST_CELLS)
        cells[len(t.cells) :, kernels.CAPACITY] = _FIRST_CELLS
        slots = _lengthened(t.slots, columns, 0)
        slots[new_numeric] = n + np.arange(m)
        slots[new_nominal] = -1 - (len(t.cells) + np.arange(len(new_nominal)))
        self._replace(
            moments=moments,
            ranges=ranges,
            slots=slots,
            numeric=np.concatenate([t.numeric, new_numeric], dtype=np.int32),
            cells=cells,
            origin=origin,
            gains=_lengthened(t.gains, columns, 0.0),
            dropped=_widened(t.dropped, columns - known, False) if len(t.dropped) else t.dropped,
        )
        t.meta[kernels.MISSING_KEPT] = missing

    # ------------------------------------------------------------------------------------ attributes

    def _fitted(self) -> Tree:
        self._columns()
        return self._tree

    @property
    def n_nodes_(self) -> int:
        """Number of nodes, inner ones and leaves."""
        return int(self._fitted().meta[kernels.N_NODES])

    @property
    def n_leaves_(self) -> int:
        """Number of leaves."""
        t = self._fitted()
        return int((t.node_ints[: self.n_nodes_, kernels.FEATURE] < 0).sum())

    def _n_learners(self) -> int:
        """Number of nodes that learn, or would if they had the memory."""
        return self.n_leaves_

    @property
    def n_inactive_leaves_(self) -> int:
        """Number of leaves that gave up their statistics to save memory."""
        return int(self._fitted().meta[kernels.N_INACTIVE])

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column in the merit of all splits, weighted by the rows that each split saw."""
        gains = self._fitted().gains
        total = gains.sum()
        return gains / total if total > 0 else gains.copy()

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Find the node each row ends in.

        Parameters
        ----------
        X : array-like of shape (n, d), or data frame

        Returns
        -------
        ndarray of int64, shape (n,)
            Node numbers: the root is 0; a leaf's number, or that of an inner node without a branch for the row.
        """
        rows, _ = self._columns().encode(X, grow=False, estimator=type(self).__name__)
        nodes = np.empty(len(rows), np.int64)
        kernels.apply(self._table(), self._with_known_columns(rows), nodes)
        return nodes


def _learn_nothing(table: int, row: Floats, code: int, w: float) -> int:
    return 0


# Not kept by the trees: who walks through what they are made of would get lost in the compiler's own objects.
_SINGLE_ROWS: dict[type, tuple[Callable[..., Any], ...]] = {}


def _fit_together(arrays: Any) -> bool:
    """Whether arrays make up a tree in which no number points outside its array."""
    if not isinstance(arrays, list) or len(arrays) != len(Tree._fields):
        return False
    t = Tree(*arrays)
    kinds = ["i4", "f8", "f8", "f4", "i4", "b1", "i4", "i4", "i4", "f8", "f8", "i8", "f8", "i4", "f8"]
    dims = [2, 2, 2, 2, 2, 2, 1, 1, 2, 1, 1, 1, 1, 2, 1]
    for array, kind, dim in zip(t, kinds, dims, strict=True):
        if not isinstance(array, np.ndarray) or array.dtype != np.dtype(kind) or array.ndim != dim:
            return False
    m, k = len(t.node_ints), t.node_floats.shape[1] - kernels.COUNTS
    d, n, rows = len(t.slots), len(t.numeric), len(t.moments)
    room = padded(n)
    if len(t.meta) != kernels.META_SIZE or len(t.options) != kernels.OPTIONS_SIZE or k < 1:
        return False
    missing = room if t.meta[kernels.MISSING_KEPT] else 0
    ends = t.cells[:, kernels.START] + kernels.CELLS + t.cells[:, kernels.CAPACITY] if t.cells.shape[1] == 3 else []
    used = int(t.meta[kernels.N_NODES])
    shapes = (
        t.node_ints.shape == (m, kernels.ROWS + k)
        and len(t.node_floats) == m
        and t.ranges.shape == (rows, 2 * room)
        and t.extra.shape[1] == 3
        and t.cells.shape == (d - n, 3)
        and (len(t.dropped) == 0 or t.dropped.shape == (m, d))
        and t.links.shape in ((0, 2), (m, 2))
        and len(t.errors) in (0, m)
        and t.origin.shape == (room,)
        and t.gains.shape == (d,)
        and t.moments.shape[1] >= max([kernels.MEANS + 3 * room + missing, *ends])
        and bool((t.cells >= 0).all())
        and 1 <= used <= m
        and 0 <= t.meta[kernels.N_ROWS] <= rows
        and -1 <= t.meta[kernels.FREE_ROW] < max(rows, 1)
        and 0 <= t.meta[kernels.N_EXTRA] <= len(t.extra)
        and 0 <= t.meta[kernels.DEPTH] <= m
    )
    if not shapes or not ((t.numeric >= 0) & (t.numeric < d)).all():
        return False
    if not ((t.slots < n) & (t.slots >= -len(t.cells))).all():
        return False
    feature, branches, child = t.node_ints[:used, : kernels.ROWS].T
    inner = feature >= 0
    width = np.where(branches < 2, 2, branches)
    late = t.extra[: int(t.meta[kernels.N_EXTRA])]
    chained = inner & (branches >= 2)
    heads = t.node_floats[:used, kernels.THRESHOLD][chained]
    numbers = t.node_ints[:used, kernels.ROWS :]
    return bool(
        (feature < d).all()
        and not (~inner & (branches == kernels.NUMERIC)).any()
        and (child[inner] > np.flatnonzero(inner)).all()  # children come after their parents: no way leads back
        and (child[inner].astype(np.int64) + width[inner] <= used).all()
        and (numbers < rows).all()
        and np.isin(heads, np.arange(-1, len(late))).all()
        and ((late[:, kernels.LATE_CHILD] >= 0) & (late[:, kernels.LATE_CHILD] < used)).all()
        and (late[:, kernels.NEXT] < np.arange(len(late))).all()
    )


def _lengthened(array: NDArray[Any], n: int, fill: Any) -> NDArray[Any]:
    """A copy with ``n`` entries: cut, or filled up."""
    kept = min(n, len(array))
    result = np.empty((n, *array.shape[1:]), array.dtype)
    result[:kept] = array[:kept]
    result[kept:] = fill
    return result


def _widened(array: NDArray[Any], more: int, fill: Any) -> NDArray[Any]:
    return np.hstack([array, np.full((len(array), more), fill, array.dtype)])
