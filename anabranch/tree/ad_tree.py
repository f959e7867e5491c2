"""The alternating decision tree of Freund and Mason: boosting that grows one tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch import checkpoint
from anabranch._parameters import Columns, Constraint, Number
from anabranch.base import BatchClassifier
from anabranch.kernels import ad_tree as kernels
from anabranch.schema import Codes, Floats
from anabranch.tree._drawing import Node, TreeDrawing, name_of, number_of
from anabranch.tree._presorted import n_values, presorted

__all__ = ["ADTreeClassifier"]


class ADTreeClassifier(TreeDrawing, BatchClassifier):
    """Alternating decision tree (ADTree): boosted tests that share one tree.

    Layers of *splitters*, which ask a question, alternate with layers of *prediction nodes*, which hold a number. A row
    begins at the root, a prediction node, and follows all splitters below every prediction node that it reaches; the
    sum of the numbers that it meets is its score, and the score's sign its class. Each round of boosting adds the
    splitter, anywhere in the tree, that leaves the least to be corrected, with two new prediction nodes below it, and
    weighs the rows anew.

    Parameters
    ----------
    n_rounds : int, default=10
        Rounds of boosting (T): splitters, those that are merged with an equal one included.
    smoothing : float, default=1.0
        Added to each sum of weights, so that pure branches do not get infinite predictions. Weights count as numbers of
        rows here: scaling all of them changes the tree.
    nominal_features : list of int or str, optional
        Columns whose numbers are categories: positions in arrays, names in data frames. Text is nominal anyway.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    n_trees_ : int
        1 for two classes, for whose second one positive scores stand; else one per class (one against the rest), and
        none where there is but one class.
    n_splitters_, n_nodes_, depth_ : int
        Splitters, prediction nodes and splitters together, and splitters on the longest path, over all trees.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in the change that splitters make to scores: the mean size of their predictions over the
        rows that reach them.
    n_features_in_, feature_names_in_, nbytes
        As for other learners.

    Notes
    -----
    It learns from all rows in one go and has no ``partial_fit``. A base condition is "value <= middle between two
    values" or, in nominal columns, "value = this one"; a splitter lies below the prediction node p and with the
    condition c for which

        Z = 2 (sqrt(W+(p and c) W-(p and c)) + sqrt(W+(p and not c) W-(p and not c))) + W(all else)

    is smallest [1]_. Rows whose value is missing follow neither branch, and so belong to all else. A splitter equal to
    one that the prediction node has already is merged with it: its predictions are added. Z that differ by less than
    1e-10 of the weight are equal: the node that was there first wins, then the first column, then the lowest value. The
    search skips nodes whose rows could not do better even if one condition told all their classes apart, and those
    whose rows have the same weights as when they were searched last.

    Probabilities are 1 / (1 + exp(-2 score)), which boosting's theory has for them; with more than two classes, those
    of all trees, scaled to sum 1. WEKA's ADTree leaves the 2 out. Boosting stops early when no condition tells the
    classes apart any more.

    References
    ----------
    .. [1] Y. Freund and L. Mason, "The alternating decision tree learning algorithm", ICML 1999.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from anabranch.tree import ADTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> tree = ADTreeClassifier(n_rounds=3).fit(X, y.map({0: "malignant", 1: "benign"}))
    >>> print(tree.export_text())
    |--- score -0.26
    |--- splitter 1
    |   |--- worst perimeter <= 102.05: score -1.473, weight 320 (benign: 97.2%, malignant: 2.8%)
    |   |--- worst perimeter > 102.05: score +0.99, weight 249 (malignant: 81.5%, benign: 18.5%)
    |--- splitter 2
    |   |--- worst concave points <= 0.16: score -0.469, weight 422 (benign: 84.1%, malignant: 15.9%)
    |   |--- worst concave points > 0.16: score +2.107, weight 147 (malignant: 98.6%, benign: 1.4%)
    |--- splitter 3
    |   |--- mean texture <= 18.04: score -1.069, weight 234 (benign: 86.8%, malignant: 13.2%)
    |   |--- mean texture > 18.04: score +0.46, weight 335 (malignant: 54%, benign: 46%)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_rounds": Number(1, integer=True),
        "smoothing": Number(0, open_low=True),
        "nominal_features": Columns(),
    }

    # Per tree: splitters' integers and thresholds, prediction values, and weights by "other" and "this" class.
    _trees: list[list[NDArray[Any]]]

    def __init__(
        self, *, n_rounds: int = 10, smoothing: float = 1.0, nominal_features: Sequence[int | str] | None = None
    ) -> None:
        self.n_rounds = n_rounds
        self.smoothing = smoothing
        self.nominal_features = nominal_features

    # ------------------------------------------------------------------------------------ hooks

    def _fit(self, X: Floats, y: Codes, w: Floats) -> None:
        nominal = n_values(self._columns()) > 0
        values, order = presorted(X, np.arange(X.shape[1]))
        n_known = (~np.isnan(values)).sum(axis=1)
        rounds, smoothing = int(self.n_rounds), float(self.smoothing)
        self._trees = []
        for positive in self._positives():
            tree = kernels.boost(values, nominal, order, n_known, y == positive, w, rounds, smoothing)
            self._trees.append([np.array(part) for part in tree])  # not the room around them

    def _positives(self) -> list[int]:
        """The class that each tree tells from the others."""
        k = self._n_classes
        return [1] if k == 2 else list(range(k)) if k > 2 else []

    def _scores(self, X: Floats) -> Floats:
        """Each tree's score for each row: shape (n, n_trees_)."""
        scores = np.zeros((len(self._trees), len(X)))
        for (ints, thresholds, predictions, _), out in zip(self._trees, scores, strict=True):
            kernels.scores(ints, thresholds, predictions, X, out)
        return scores.T

    def _votes(self, X: Floats) -> Floats:
        scores = self._scores(X)
        if self._n_classes == 1:
            return np.ones((len(X), 1))
        if self._n_classes == 2:
            scores = np.hstack([-scores, scores])
        # Logarithms of the probabilities, and the largest taken out before they are scaled: none underflows.
        logs = -np.logaddexp(0.0, -2.0 * scores)
        votes: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
        return votes

    def decision_function(self, X: Any) -> Floats:
        """Scores of rows: the sums of the prediction values that each meets.

        Parameters
        ----------
        X : array-like of shape (n, d), or data frame

        Returns
        -------
        ndarray of float64, shape (n,) or (n, n_classes)
            With two classes a number per row, above 0 for the second class; else a number per class, for it and
            against the rest.
        """
        scores = self._scores(self._encode_rows(self._columns(), X, grow=False)[0])
        if self._n_classes == 1:
            return np.zeros(len(scores))
        return scores[:, 0] if self._n_classes == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of the highest score for each row; the first of ``classes_`` among equals.

        Parameters
        ----------
        X : array-like of shape (n, d), or data frame

        Returns
        -------
        ndarray of shape (n,)
        """
        scores = self.decision_function(X)  # probabilities that round to 1 would make ties
        best = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.int64)
        return self.classes_[best]  # type: ignore[no-any-return]

    def __restore__(self, state: dict[str, Any]) -> None:
        """Take a state from a checkpoint, unless its arrays do not fit together: the kernels trust them."""
        super().__restore__(state)
        if "_trees" in state:
            trees = state["_trees"]
            fits = isinstance(trees, list) and len(trees) == len(self._positives())
            if not fits or not all(_fits_together(tree, len(self._columns())) for tree in trees):
                raise checkpoint.CheckpointError("The checkpoint's tree does not fit together.")

    # ------------------------------------------------------------------------------------ attributes

    def _fitted(self) -> list[list[NDArray[Any]]]:
        self._columns()
        return self._trees

    @property
    def n_trees_(self) -> int:
        """Number of trees: one for two classes, else one per class."""
        return len(self._fitted())

    @property
    def n_splitters_(self) -> int:
        """Number of splitters, over all trees."""
        return sum(len(ints) for ints, _, _, _ in self._fitted())

    @property
    def n_nodes_(self) -> int:
        """Number of prediction nodes and splitters, over all trees."""
        return self.n_splitters_ + sum(len(predictions) for _, _, predictions, _ in self._fitted())

    @property
    def depth_(self) -> int:
        """Splitters on the longest path of any tree."""
        return max((int(depth.max()) for depth in map(_depths, self._fitted())), default=0)

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column in the change that splitters make to scores."""
        changes = np.zeros(self.n_features_in_)
        for ints, _, predictions, counts in self._fitted():
            sizes = np.abs(predictions) * counts.sum(axis=1)
            np.add.at(changes, ints[:, kernels.FEATURE], sizes[1::2] + sizes[2::2])
        total = changes.sum()
        return changes / total if total > 0 else changes

    # ------------------------------------------------------------------------------------ drawing

    def _nodes(self, features: list[str], classes: list[str], decimals: int) -> Node:
        trees = self._fitted()
        positives = self._positives()
        if len(trees) == 1:
            return self._tree_nodes(trees[0], 1, 0, 0, "", features, classes, decimals)
        roots: list[Node] = []
        number = 1
        for tree, positive in zip(trees, positives, strict=True):
            answer = f"class {classes[positive]}"
            roots.append(self._tree_nodes(tree, positive, number, 1, answer, features, classes, decimals))
            number += 1 + roots[-1].n_below
        return Node(
            number=0,
            level=0,
            depth=0,
            kind="options" if roots else "leaf",
            answer="",
            feature="",
            test="",
            weight=roots[0].weight if roots else 0.0,
            counts=(0.0,) * len(classes),
            prediction=classes[0],
            predictor="",
            children=tuple(roots),
            n_below=sum(1 + root.n_below for root in roots),
            title=f"{len(roots)} trees, each class against the rest" if roots else f"class {classes[0]}",
            fill=(0.0,) * len(classes),
        )

    def _tree_nodes(
        self,
        tree: list[NDArray[Any]],
        positive: int,
        first_number: int,
        level: int,
        answer: str,
        features: list[str],
        classes: list[str],
        decimals: int,
    ) -> Node:
        """One tree's nodes; returns its root."""
        ints, thresholds, predictions, counts = tree
        n = len(predictions)
        vocabularies = self._columns().vocabularies
        depths = _depths(tree)
        below: list[list[Node]] = [[] for _ in range(n)]

        def prediction_node(node: int, answer: str) -> Node:
            value = float(predictions[node])
            own = [0.0] * len(classes)
            if len(classes) == 2:
                own = counts[node].tolist()
            else:
                own[positive] = float(counts[node, 1])
            # The chance of the class that this number alone would give; white if it speaks against.
            chance = 1.0 / (1.0 + np.exp(-2.0 * value))
            fill = [(1.0 - chance) / (len(classes) - 1)] * len(classes)
            fill[positive] = chance
            if len(classes) > 2 and chance <= 1.0 / len(classes):
                fill = [1.0] * len(classes)
            children = tuple(below[node])
            return Node(
                number=first_number + (node if node == 0 else node + (node + 1) // 2),
                level=level + 2 * int(depths[node]),
                depth=int(depths[node]),
                kind="options" if children else "leaf",
                answer=answer,
                feature="",
                test="",
                weight=float(counts[node].sum()),
                counts=tuple(own),
                prediction=classes[positive if value > 0 else 1 - positive if len(classes) == 2 else positive],
                predictor="",
                children=children,
                n_below=sum(1 + child.n_below for child in children),
                title=f"score {'+' if value >= 0 else ''}{number_of(value, decimals)}",
                fill=tuple(fill),
            )

        for s in range(len(ints) - 1, -1, -1):  # from the bottom up
            parent, feature, is_nominal = ints[s].tolist()
            vocabulary = vocabularies[feature]
            name = features[feature]
            if is_nominal and vocabulary is not None:
                value = name_of(vocabulary.values[int(thresholds[s])])
                test, answers = f"{name} = {value}", (f"= {value}", f"is not {value}")
            else:
                point = number_of(float(thresholds[s]), decimals)
                test, answers = f"{name} <= {point}", (f"<= {point}", f"> {point}")
            branches = tuple(prediction_node(2 * s + 1 + i, answers[i]) for i in range(2))
            weights = [branch.counts for branch in branches]
            below[parent].insert(
                0,
                Node(
                    number=first_number + 3 * s + 1,
                    level=level + 2 * int(depths[parent]) + 1,
                    depth=int(depths[parent]),
                    kind="split",
                    answer=f"splitter {s + 1}",
                    feature=name,
                    test=test,
                    weight=sum(branch.weight for branch in branches),
                    counts=tuple(map(sum, zip(*weights, strict=True))),
                    prediction=branches[0].prediction,
                    predictor="",
                    children=branches,
                    n_below=sum(1 + branch.n_below for branch in branches),
                    fill=(0.0,) * len(classes),
                ),
            )
        return prediction_node(0, answer)


def _depths(tree: list[NDArray[Any]]) -> NDArray[np.int64]:
    """Splitters above each prediction node."""
    ints, _, predictions, _ = tree
    depths = np.zeros(len(predictions), np.int64)
    for s, parent in enumerate(ints[:, kernels.PARENT].tolist()):
        depths[2 * s + 1 : 2 * s + 3] = depths[parent] + 1
    return depths


def _fits_together(tree: Any, n_columns: int) -> bool:
    """Whether arrays make up a tree in which no number points outside its array."""
    if not isinstance(tree, list) or len(tree) != 4 or not all(isinstance(array, np.ndarray) for array in tree):
        return False
    ints, thresholds, predictions, counts = tree
    n = len(thresholds)
    if [array.dtype for array in tree] != [np.dtype(kind) for kind in ("i4", "f8", "f8", "f8")]:
        return False
    if ints.shape != (n, 3) or predictions.shape != (2 * n + 1,) or counts.shape != (2 * n + 1, 2):
        return False
    parents, features = ints[:, kernels.PARENT], ints[:, kernels.FEATURE]
    return bool(
        ((parents >= 0) & (parents <= 2 * np.arange(n))).all() and ((features >= 0) & (features < n_columns)).all()
    )
