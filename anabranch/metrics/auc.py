"""Area under the receiver operating characteristic curve."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from anabranch import checkpoint
from anabranch.metrics._base import Codes, Metric, Probabilities, compiled
from anabranch.metrics._ranks import RankMetric


class ROCAUC(RankMetric):
    """Area under the ROC curve, exact.

    The share of all pairs of a positive and a negative row in which the positive one has the higher score;
    ties count half [1]_. With up to two classes, class 1 is the positive one and its probability the score.
    As soon as a third class is known, from a column of `proba` or a code in `y`, it is the unweighted mean
    over the classes that occur in `y` of the area of each against the rest [2]_.

    The score of a class without a column is 0. A row without a prediction loses all its pairs, whichever
    class it has. With all rows in one class there are no pairs; the area is then 0.5, that of a guess.

    An exact area needs every score: the metric keeps about ``8 * k + 1`` bytes for each row, and each look at
    `value` sorts them. In a
    :class:`~anabranch.metrics.Window` it takes time logarithmic in the window for each row, and none for a look
    [3]_. In a :class:`~anabranch.metrics.Fading` a pair weighs the product of the weights of its rows, and what is
    kept are the rows that weigh more than 2**-60 times the latest one.

    Attributes
    ----------
    value : float
        In [0, 1]; NaN before the first row.

    References
    ----------
    .. [1] J. A. Hanley and B. J. McNeil, "The meaning and use of the area under a receiver operating
       characteristic (ROC) curve", Radiology 143, 1982.
    .. [2] F. Provost and P. Domingos, "Tree induction for probability-based ranking", Machine Learning 52,
       2003; here, as is now customary, without its weights.
    .. [3] D. Brzezinski and J. Stefanowski, "Prequential AUC: properties of the area under the ROC curve for data
       streams with concept drift", Knowledge and Information Systems 52, 2017.

    Examples
    --------
    >>> from anabranch.metrics import ROCAUC
    >>> ROCAUC().update([0, 0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]).value
    0.75
    """

    name = "auc"
    label = "AUC"

    @staticmethod
    def _of_class(keys: NDArray[np.int64], weights: NDArray[np.float64] | None) -> float:
        return area(*(compiled().pairs_won(keys) if weights is None else compiled().weight_won(keys, weights)))

    def _sliding(self) -> SlidingAUC:
        return SlidingAUC()


def area(won: float, positives: float, negatives: float) -> float:
    """Share of the pairs that were won; `won` counts a win twice and a tie once."""
    pairs = positives * negatives
    return min(won / (2 * pairs), 1.0) if pairs > 0 else 0.5


class SlidingAUC(Metric):
    """The same area over rows that come and go, each in logarithmic time.

    For each class that is ranked there is a tree of the scores. All classes must be known from the first row on:
    later ones need a new start.
    """

    name, label, greater_is_better, percent = ROCAUC.name, ROCAUC.label, True, True
    _takes_back = True

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> Self:
        """Forget all rows and classes.

        Returns
        -------
        Self
            The metric itself.
        """
        self._n_columns = 0
        self._n_classes = 0
        self._trees: dict[int, RankTree] = {}
        return self

    def _fits(self, y: Codes, n_columns: int) -> bool:
        return n_columns <= self._n_columns and int(y.max(initial=-1)) < self._n_classes

    def _update(self, y: Codes, proba: Probabilities) -> None:
        if not self._trees:
            self._n_columns = proba.shape[1]
            self._n_classes = max(self._n_columns, int(y.max(initial=-1)) + 1)
            self._trees = {code: RankTree() for code in (range(self._n_classes) if self._n_classes > 2 else [1])}
        self.move(y, proba, np.ones(len(y), np.bool_))

    def _take_back(self, y: Codes, proba: Probabilities) -> None:
        self.move(y, proba, np.zeros(len(y), np.bool_))

    def move(self, y: Codes, proba: Probabilities, comes: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Let rows come or go, one after another; returns the area after each."""
        keys = np.empty(len(y), np.int64)
        counts = {}
        for code, tree in self._trees.items():
            compiled().sort_keys(y, proba, code, keys)
            counts[code] = tree.move(keys, comes)
        return self._areas(counts)

    @property
    def value(self) -> float:
        """Area over the rows that are there; NaN if there are none."""
        counts = {code: tree.counts() for code, tree in self._trees.items()}
        return float(self._areas(counts)[0]) if counts else float("nan")

    def _areas(self, counts: dict[int, tuple[NDArray[np.int64], ...]]) -> NDArray[np.float64]:
        """Area from twice the pairs won plus those tied, positive rows and negative rows, for each class."""
        total = np.zeros(len(counts[1][0]))
        ranked = np.zeros(len(total))
        third = np.full(len(total), self._n_columns > 2)
        for code, (_, positives, _) in counts.items():
            third |= (positives > 0) & (code >= 2)
        for code, (won, positives, negatives) in counts.items():
            pairs = positives * negatives
            each = np.full(len(total), 0.5)
            np.divide(won, 2 * pairs, out=each, where=pairs > 0)
            counts_too = np.where(third, positives > 0, code == 1)
            total += np.where(counts_too, each, 0.0)
            ranked += counts_too
        some = counts[1][1] + counts[1][2] > 0
        areas = np.full(len(total), np.nan)
        np.divide(total, ranked, out=areas, where=some)
        return areas


@checkpoint.register
class RankTree:
    """Scores of one class in order, and how many pairs of a positive and a negative row are won.

    The arrays are those of :func:`anabranch.kernels.metrics.move_ranks`.
    """

    def __init__(self) -> None:
        fan = compiled().FAN
        self._ranks = np.zeros((0, fan), np.int64)
        self._rows = np.zeros((0, fan), np.int64)
        self._child = np.zeros((0, fan), np.int32)
        self._size = np.zeros(0, np.int32)
        self._spare = np.zeros(0, np.int32)
        self._meta = np.array([0, 1, 0, 0, 0])  # a root without entries
        self._grow(32)
        self._meta[compiled().SPARE] -= 1

    def _grow(self, nodes: int) -> None:
        old, fan = self._ranks.shape
        more = nodes - old
        self._ranks = np.concatenate([self._ranks, np.full((more, fan), compiled().NO_RANK)])
        self._rows = np.concatenate([self._rows, np.zeros((more, fan), np.int64)])
        self._child = np.concatenate([self._child, np.zeros((more, fan), np.int32)])
        self._size = np.concatenate([self._size, np.zeros(more, np.int32)])
        free = int(self._meta[compiled().SPARE])
        spare = np.zeros(nodes, np.int32)
        spare[:free] = self._spare[:free]
        spare[free : free + more] = np.arange(nodes - 1, old - 1, -1)
        self._spare = spare
        self._meta[compiled().SPARE] += more

    def move(self, keys: NDArray[np.int64], comes: NDArray[np.bool_]) -> tuple[NDArray[np.int64], ...]:
        """Let rows come or go, one after another; counts after each."""
        won, rows = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
        done = 0
        while True:
            tree = self._ranks, self._rows, self._child, self._size, self._spare, self._meta
            done = compiled().move_ranks(*tree, done, keys, comes, won, rows)
            if done == len(keys):
                return won, rows >> 32, rows & 0xFFFFFFFF
            self._grow(2 * len(self._size))

    def counts(self) -> tuple[NDArray[np.int64], ...]:
        """Twice the pairs won plus those tied, positive rows, negative rows; each of shape (1,)."""
        won, rows = self._meta[[compiled().WON]], self._meta[[compiled().ROWS]]
        return won, rows >> 32, rows & 0xFFFFFFFF
