"""Batch classifiers as members: fitted once on the rows of a chunk, asked ever after.

Decision trees, the usual ones, are kept as plain arrays, so that they are asked by a compiled loop, counted to the
byte, and go into checkpoints. Most are also grown by compiled code, into the same trees as scikit-learn's: on the small
samples of a chunk, scikit-learn spends most of its time before it starts. Whatever that code does not know (weights,
gaps, other settings) scikit-learn grows itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from anabranch.base import Part, StreamLearner
from anabranch.kernels import cart
from anabranch.schema import Codes, Floats

__all__ = ["BatchMember", "Models", "fit_model"]

_LARGEST = float(np.finfo(np.float32).max)


class BatchMember:
    """A classifier with ``fit`` and ``predict``, such as scikit-learn's; None for the default."""

    def check(self, name: str, value: Any) -> None:
        """Check that the value can be fitted to a chunk."""
        if value is None:
            return
        needed = ("fit", "predict", "get_params")
        if isinstance(value, type) or not all(hasattr(value, method) for method in needed):
            raise TypeError(f"{name} must be a classifier such as DecisionTreeClassifier(), got {value!r}.")


class Models(Part):
    """Classifiers that have been fitted, and vote together.

    Attributes
    ----------
    roots, feature, left, right, threshold, missing_left, values
        The trees among them; see :func:`anabranch.kernels.cart.add_votes`.
    others : list of (classifier, columns, codes)
        The other ones: how many columns each knows, and what codes the columns of its answers stand for.
    width : int
        Number of columns of votes.
    """

    def __init__(self, trees: dict[str, NDArray[Any]], others: Sequence[tuple[Any, int, Codes]] = ()) -> None:
        self.roots, self.feature, self.left, self.right = (trees[n] for n in ("roots", "feature", "left", "right"))
        self.threshold, self.missing_left, self.values = (trees[n] for n in ("threshold", "missing_left", "values"))
        self.others = list(others)
        self.width = max([self.values.shape[1], *(int(codes.max()) + 1 for _, _, codes in self.others)])

    def __len__(self) -> int:
        return len(self.roots) + len(self.others)

    @classmethod
    def of_tree(cls, tree: DecisionTreeClassifier) -> Self:
        """Take a fitted tree out into arrays; its classes are codes."""
        nodes = tree.tree_
        leaf = nodes.children_left < 0
        left = nodes.children_left.astype(np.int32)
        left[leaf] = np.arange(leaf.sum())
        codes = np.asarray(tree.classes_, np.int64)
        values = np.zeros((int(leaf.sum()), int(codes.max()) + 1))
        values[:, codes] = nodes.value[leaf, 0, :]
        return cls(
            {
                "roots": np.zeros(1, np.int32),
                "feature": np.where(leaf, -1, nodes.feature).astype(np.int32),
                "left": left,
                "right": nodes.children_right.astype(np.int32),
                "threshold": nodes.threshold.copy(),
                "missing_left": nodes.missing_go_to_left.astype(np.bool_),
                "values": values,
            }
        )

    @classmethod
    def constant(cls, shares: Floats) -> Self:
        """Make a tree of one leaf: the same shares of the classes for every row."""
        return cls(
            {
                "roots": np.zeros(1, np.int32),
                "feature": np.full(1, -1, np.int32),
                "left": np.zeros(1, np.int32),
                "right": np.full(1, -1, np.int32),
                "threshold": np.zeros(1),
                "missing_left": np.zeros(1, np.bool_),
                "values": np.array([shares], np.float64),
            }
        )

    @classmethod
    def joined(cls, models: Sequence[Models]) -> Self:
        """Put models together into one, in order."""
        k = max((m.values.shape[1] for m in models), default=0)
        nodes = np.cumsum([0, *(len(m.feature) for m in models)])
        leaves = np.cumsum([0, *(len(m.values) for m in models)])
        values = np.zeros((int(leaves[-1]), k))
        roots, left, right = [], [], []
        for m, node, leaf in zip(models, nodes.tolist(), leaves.tolist(), strict=False):
            values[leaf : leaf + len(m.values), : m.values.shape[1]] = m.values
            roots.append(m.roots + np.int32(node))
            left.append(m.left + np.where(m.feature < 0, np.int32(leaf), np.int32(node)))
            right.append(m.right + np.where(m.feature < 0, np.int32(0), np.int32(node)))
        none = np.zeros(0, np.int32)
        trees = {
            "roots": np.concatenate([none, *roots]),
            "feature": np.concatenate([none, *(m.feature for m in models)]),
            "left": np.concatenate([none, *left]),
            "right": np.concatenate([none, *right]),
            "threshold": np.concatenate([np.zeros(0), *(m.threshold for m in models)]),
            "missing_left": np.concatenate([np.zeros(0, np.bool_), *(m.missing_left for m in models)]),
            "values": values,
        }
        return cls(trees, [other for m in models for other in m.others])

    def votes(self, X: Floats, hard: bool = False) -> Floats:
        """Add up what the models say of each row.

        Parameters
        ----------
        X : float64 (n, d)
            Rows as the models learned them; there may be more columns by now.
        hard : bool, default=False
            Each model gives its most probable class one vote, the first one among equals, rather than shares.

        Returns
        -------
        ndarray of float64, shape (n, width)
        """
        votes = np.zeros((len(X), self.width))
        if len(self.roots):
            X = np.ascontiguousarray(X, np.float64)
            cart.add_votes(
                X, self.roots, self.feature, self.threshold, self.left, self.right, self.missing_left, self.values,
                hard, votes,
            )  # fmt: skip
        for classifier, columns, codes in self.others:
            shares = _shares(classifier, _filled(classifier, X, columns))
            if hard:
                votes[np.arange(len(X)), codes[shares.argmax(axis=1)]] += 1.0
            else:
                votes[:, codes] += shares
        return votes


_CART = DecisionTreeClassifier(min_samples_split=10)
_PLAIN = {**DecisionTreeClassifier().get_params(), "min_samples_split": None, "max_depth": None, "random_state": None}
_UNLIMITED = np.iinfo(np.int32).max


def _is_plain(tree: DecisionTreeClassifier) -> bool:
    """Whether our own code grows such trees."""
    free = {"min_samples_split": None, "max_depth": None, "random_state": None}
    return isinstance(tree.min_samples_split, int) and {**vars(tree), **free} == _PLAIN


def _grown(settings: DecisionTreeClassifier, X: NDArray[np.float32], y: Codes, seed: int) -> Models:
    """Grow a decision tree from rows without gaps."""
    n, k = len(y), int(y.max()) + 1
    feature, left, right = np.empty((3, 2 * n - 1), np.int32)
    threshold, values = np.empty(2 * n - 1), np.empty((n, k))
    max_depth = _UNLIMITED if settings.max_depth is None else settings.max_depth
    nodes, leaves = cart.grow(
        X, y, k, settings.min_samples_split, max_depth, seed, feature, threshold, left, right, values
    )
    return Models(
        {
            "roots": np.zeros(1, np.int32),
            "feature": feature[:nodes].copy(),
            "left": left[:nodes].copy(),
            "right": right[:nodes].copy(),
            "threshold": threshold[:nodes].copy(),
            "missing_left": np.zeros(nodes, np.bool_),
            "values": values[:leaves].copy(),
        }
    )


def _shares(classifier: Any, X: Floats) -> Floats:
    """Probabilities of a foreign classifier, or 1 for what it predicts."""
    if hasattr(classifier, "predict_proba"):
        return np.asarray(classifier.predict_proba(X), np.float64)
    said = np.asarray(classifier.predict(X))
    right: Floats = np.equal(said[:, None], classifier.classes_).astype(np.float64)
    return right


def _filled(classifier: Any, X: Floats, columns: int) -> Floats:
    """Rows with the columns that a foreign classifier knows, and without gaps where it takes none."""
    X = X[:, :columns]
    if X.shape[1] < columns:
        X = np.hstack([X, np.full((len(X), columns - X.shape[1]), np.nan)])
    if not isinstance(classifier, StreamLearner):
        X = np.clip(X, -_LARGEST, _LARGEST)  # many compute in float32
        if not get_tags(classifier).input_tags.allow_nan:
            X = np.nan_to_num(X, nan=0.0)
    return X


def fit_model(estimator: Any, X: Floats, y: Codes, w: Floats | None, rng: np.random.Generator) -> Models:
    """Fit a classifier to rows.

    Rows of a single class, or without columns, make a tree of one leaf, since most classifiers refuse such rows.

    Parameters
    ----------
    estimator : classifier or None
        None stands for CART as MATLAB's ``fitctree`` grows it: nodes of ten rows or more are split, until pure. Where
        ``fit`` takes no weights, as many rows are drawn with replacement, in proportion to their weights.
    X : float64 (n, d)
        NaN is missing; 0 for classifiers that take no gaps. Codes of nominal values count as numbers.
    y : int64 (n,)
        Codes.
    w : float64 (n,) or None
        Weights, none below 0 and some above; None for all alike.
    rng : numpy.random.Generator
        Draws the classifier's ``random_state``.

    Returns
    -------
    Models
        A single one.
    """
    seed = int(rng.integers(2**31))  # always drawn, so that what follows does not depend on the rows
    if w is not None and (w == w[0]).all():
        w = None
    if X.shape[1] == 0 or (y == y[0]).all():
        counts = np.bincount(y, w)
        return Models.constant(counts / counts.sum())
    if estimator is None:
        estimator = _CART
    if type(estimator) is DecisionTreeClassifier:
        narrow = np.clip(X, -_LARGEST, _LARGEST).astype(np.float32)
        if w is None and _is_plain(estimator) and not np.isnan(narrow).any():
            return _grown(estimator, narrow, y, seed)
    fresh = clone(estimator)
    if "random_state" in fresh.get_params(deep=False):
        fresh.set_params(random_state=seed)
    if isinstance(fresh, DecisionTreeClassifier):
        narrow = np.clip(X, -_LARGEST, _LARGEST).astype(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # it looks for gaps by a sum, which large values exceed
            return Models.of_tree(fresh.fit(narrow, y, w))
    rows = _filled(fresh, X, X.shape[1])
    if w is None:
        fresh.fit(rows, y)
    elif has_fit_parameter(fresh, "sample_weight"):
        fresh.fit(rows, y, sample_weight=w)
    else:
        drawn = np.searchsorted(np.cumsum(w), rng.random(len(y)) * w.sum(), side="right")
        drawn = np.minimum(drawn, np.flatnonzero(w)[-1])
        if (y[drawn] == y[drawn[0]]).all():
            return Models.constant(np.bincount(y[drawn]) / len(y))
        fresh.fit(rows[drawn], y[drawn])
    none = np.zeros(0, np.int32)
    names = ("roots", "feature", "left", "right", "threshold", "missing_left")
    empty: dict[str, Any] = dict.fromkeys(names, none)
    empty |= {"threshold": np.zeros(0), "missing_left": np.zeros(0, np.bool_), "values": np.zeros((0, 0))}
    return Models(empty, [(fresh, X.shape[1], np.array(fresh.classes_, np.int64))])
