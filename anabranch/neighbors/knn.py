"""k nearest neighbours in a sliding window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch import checkpoint
from anabranch._parameters import Columns, Constraint, Flag, Number, OneOf
from anabranch.base import StreamClassifier
from anabranch.kernels import call_directly
from anabranch.kernels import neighbors as kernels
from anabranch.schema import Codes, Floats

__all__ = ["KNNClassifier"]

_WEIGHTS = ("uniform", "distance")


class KNNClassifier(StreamClassifier):
    """k nearest neighbours: the classes of the most similar of the latest rows decide.

    The latest ``window_size`` rows are kept as they are; a row is compared with every one of them, and the
    ``n_neighbors`` nearest vote. What the window has forgotten no longer counts, so the learner follows a stream that
    drifts.

    Parameters
    ----------
    n_neighbors : int, default=5
        Rows that vote (k). A row of weight w counts as w rows: the nearest rows whose weights add up to k vote, the
        last of them with what is left.
    window_size : int, default=1000
        Rows that are kept.
    weights : {"uniform", "distance"}, default="uniform"
        Let all neighbours count alike, or each by the inverse of its distance. If any of them is equal to the row, then
        only those that are vote, as in scikit-learn.
    normalize : bool, default=False
        Divide differences in a numeric column by the column's range (largest less smallest value) in the window, as MOA
        does; without it columns of large numbers drown the others. The range is exact at every row. A column whose
        values are all the same counts for nothing.
    nominal_features : list of int or str, optional
        Columns whose numbers are categories: positions in arrays, names in data frames. Text is nominal anyway.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_rows_ : int
        Rows in the window.

    See Also
    --------
    anabranch.naive_bayes.GaussianNB : keeps figures rather than rows.

    Notes
    -----
    Distances are Euclidean: the root of the sum of squared differences, where two nominal values differ by 0 if they
    are equal and by 1 if not. Among rows at the same distance the later one is nearer. Among classes with equal votes
    the first wins. The search is exact: it goes through the whole window, or as much of each row as it takes to know
    that it is too far.

    Where one of two rows lacks a value, the column is left out, and the sum over the columns that both have is scaled
    up by how many the row to predict has to how many both have, as scikit-learn's ``nan_euclidean_distances`` does
    (which scales by the number of all columns: the same neighbours). Rows without a common column are infinitely far
    apart; should all neighbours be, they count alike. A column that has just appeared is missing in the rows before.

    A row of weight 0 teaches nothing and takes no place in the window. [1]_ describes the learner and its kin.

    ``window_size`` may be changed on the way (``set_params``): the latest rows are kept.

    References
    ----------
    .. [1] A. Bifet, B. Pfahringer, J. Read and G. Holmes, "Efficient data stream classification via probabilistic
       adaptive windows", SAC 2013.

    Examples
    --------
    >>> from anabranch.neighbors import KNNClassifier
    >>> from anabranch.stream import RandomRBF
    >>> learner = KNNClassifier(n_neighbors=10)
    >>> for X, y in RandomRBF(n_centroids=20, seed=2, n_rows=5000).chunks(1000):
    ...     proba = learner.test_then_train(X, y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == y).mean() > 0.9)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_neighbors": Number(1, integer=True),
        "window_size": Number(1, integer=True),
        "weights": OneOf(_WEIGHTS),
        "normalize": Flag(),
        "nominal_features": Columns(),
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        window_size: int = 1000,
        weights: str = "uniform",
        normalize: bool = False,
        nominal_features: Sequence[int | str] | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.window_size = window_size
        self.weights = weights
        self.normalize = normalize
        self.nominal_features = nominal_features

    @property
    def n_rows_(self) -> int:
        """Rows in the window."""
        self._columns()
        return int(self._meta[kernels.FILLED])

    # ------------------------------------------------------------------------------------ hooks

    def _begin(self) -> None:
        # Blocks of kernels.BLOCK rows, within them columns, within them rows; NaN where there is no row yet.
        self._window = np.full((0, 0, kernels.BLOCK), np.nan)
        self._codes = np.zeros(0, np.int32)  # the rows' classes
        self._row_weights = np.zeros(0)
        self._nominal = np.zeros(0, np.bool_)
        self._ranges = np.zeros((2, 0))
        self._missing = np.zeros(0, np.int64)  # how many rows lack a value, per column
        self._meta = np.zeros(kernels.META_SIZE, np.int64)

    def _learn(self, X: Floats, y: Codes, w: Floats) -> None:
        self._run(X, y, w, kernels.ONLY_LEARN, _NO_VOTES)

    def _votes(self, X: Floats) -> Floats:
        width = len(self._nominal)
        if X.shape[1] < width:  # columns that this frame lacks
            X = np.hstack([X, np.full((len(X), width - X.shape[1]), np.nan)])
        votes = np.zeros((len(X), self._n_classes))
        call_directly(kernels.votes, X, votes, *self._parameters(), *self._state)
        return votes

    def _test_then_train(self, X: Floats, y: Codes, w: Floats) -> Floats:
        return self._run(X, y, w, kernels.TEST_THEN_TRAIN, np.zeros((len(X), self._n_classes)))

    def _train_then_test(self, X: Floats, y: Codes, w: Floats) -> Floats:
        return self._run(X, y, w, kernels.TRAIN_THEN_TEST, np.zeros((len(X), self._n_classes)))

    def _run(self, X: Floats, y: Codes, w: Floats, mode: int, votes: Floats) -> Floats:
        self._make_room(X.shape[1], int(np.count_nonzero(w)))
        k, by_distance, normalize = self._parameters()
        call_directly(
            kernels.learn, X, y, w, mode, votes, k, int(self.window_size), by_distance, normalize, *self._state
        )
        return votes

    def _parameters(self) -> tuple[float, bool, bool]:
        return float(self.n_neighbors), self.weights == "distance", bool(self.normalize)

    @property
    def _state(self) -> tuple[NDArray[Any], ...]:
        return (
            self._window, self._codes, self._row_weights, self._nominal, self._ranges, self._missing, self._meta,
        )  # fmt: skip

    # ------------------------------------------------------------------------------------ room

    def _make_room(self, width: int, rows: int) -> None:
        """Make room for more columns, and for more rows until the window is full."""
        blocks, known, _ = self._window.shape
        if width > known:
            new = width - known
            assert self._schema is not None
            kinds = np.zeros(new, np.bool_)
            told = self._schema.nominal[known:width]
            kinds[: len(told)] = told
            self._window = np.concatenate([self._window, np.full((blocks, new, kernels.BLOCK), np.nan)], axis=1)
            self._nominal = np.concatenate([self._nominal, kinds])
            self._ranges = np.hstack([self._ranges, np.tile([[np.inf], [-np.inf]], new)])
            self._missing = np.concatenate([self._missing, np.full(new, self._meta[kernels.FILLED])])
        filled = int(self._meta[kernels.FILLED])
        if filled < self.window_size:
            needed = _blocks(min(filled + rows, int(self.window_size)), int(self.window_size))
            if needed > blocks:
                self._resize(needed)

    def _resize(self, blocks: int) -> None:
        """Make room for a number of blocks; those that are there stay."""
        old, width, _ = self._window.shape
        window = np.full((blocks, width, kernels.BLOCK), np.nan)
        window[:old] = self._window
        self._window = window
        for name in ("_codes", "_row_weights"):
            array = getattr(self, name)
            longer = np.zeros(blocks * kernels.BLOCK, array.dtype)
            longer[: len(array)] = array
            setattr(self, name, longer)

    def _reconfigure(self) -> None:
        """Keep the latest rows if the size of the window changed, and know their ranges if they are asked for."""
        filled, at = self._meta.tolist()
        width = self._window.shape[1]
        order = np.arange(at - filled, at) % max(filled, 1)  # slots, the oldest first
        order = order[max(0, filled - int(self.window_size)) :]
        n = len(order)
        rows = self._window.transpose(0, 2, 1).reshape(-1, width)[order]
        codes, weights = self._codes[order], self._row_weights[order]
        self._window = np.full((0, width, kernels.BLOCK), np.nan)
        self._codes, self._row_weights = self._codes[:0], self._row_weights[:0]
        self._resize(_blocks(n, int(self.window_size)))
        slots = np.arange(n)
        self._window[slots // kernels.BLOCK, :, slots % kernels.BLOCK] = rows
        self._codes[:n], self._row_weights[:n] = codes, weights
        self._missing = np.isnan(rows).sum(axis=0)
        self._meta[[kernels.FILLED, kernels.NEXT]] = n, n % int(self.window_size)
        self._ranges = np.tile([[np.inf], [-np.inf]], width)
        if self.normalize:
            for j in np.flatnonzero(~self._nominal & (self._missing < n)):
                self._ranges[:, j] = np.nanmin(rows[:, j]), np.nanmax(rows[:, j])

    def __restore__(self, state: dict[str, Any]) -> None:
        """Take a state from a checkpoint, unless its arrays do not fit together: the kernels trust them."""
        super().__restore__(state)
        if "_window" in state and not self._fits_together():
            raise checkpoint.CheckpointError("The checkpoint's window does not fit together.")

    def _fits_together(self) -> bool:
        kinds, dims = ("f8", "i4", "f8", "b1", "f8", "i8", "i8"), (3, 1, 1, 1, 2, 1, 1)
        for array, kind, dim in zip(self._state, kinds, dims, strict=True):
            if not isinstance(array, np.ndarray) or array.dtype != np.dtype(kind) or array.ndim != dim:
                return False
        blocks, width, block = self._window.shape
        size = blocks * kernels.BLOCK
        if self._meta.shape != (kernels.META_SIZE,):
            return False
        filled, at = self._meta.tolist()
        return (
            block == kernels.BLOCK
            and self._codes.shape == self._row_weights.shape == (size,)
            and self._nominal.shape == self._missing.shape == (width,)
            and self._ranges.shape == (2, width)
            and 0 <= filled <= min(size, self.window_size)
            and at == (filled if filled < self.window_size else at)
            and 0 <= at < self.window_size
            and (size == 0 or 0 <= int(self._codes.min()) <= int(self._codes.max()) < max(self._n_classes, 1))
        )


_NO_VOTES = np.zeros((0, 0))


def _blocks(rows: int, most: int) -> int:
    """Blocks to have room for a number of rows, with some to spare unless it is the most there can be."""
    step = max(kernels.BLOCK, (1 << (rows - 1).bit_length()) // 8) if rows > 0 else 1
    return -(-min(-(-rows // step) * step, most) // kernels.BLOCK)
