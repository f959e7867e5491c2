"""The batch setting of Kirkby's thesis: option trees and alternating trees beside bagging, boosting and a single tree.

Section 6.1 of R. Kirkby, "Improving Hoeffding Trees", PhD thesis, University of Waikato, 2007, tells of these methods
and gives no figures. This compares them on ten real data sets: :class:`~anabranch.tree.OptionTreeClassifier` and
:class:`~anabranch.tree.ADTreeClassifier` beside scikit-learn's single tree (CART), bagging and AdaBoost (SAMME), by
stratified cross-validation in equal folds, repeated with other folds. Ours take nominal columns as they are,
scikit-learn's as columns of 0 and 1 (one per value).

>>> found = evaluate("iris", "option_tree", seed=1, folds=3)
>>> sorted(found), found["accuracy"] > 90
(['accuracy', 'nodes', 'seconds'], True)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anabranch.papers._reproduction import Found, Reproduction, Result, Table, Unit, beside

__all__ = ["DATASETS", "METHODS", "KirkbyBatch", "evaluate", "reproduction"]

_N_MEMBERS = 50  # of ensembles, and rounds of the alternating tree


def _cart(seed: int, **limits: Any) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=seed, **limits)


def _bagging(seed: int) -> Any:
    from sklearn.ensemble import BaggingClassifier

    return BaggingClassifier(_cart(seed), n_estimators=_N_MEMBERS, random_state=seed)


def _adaboost(seed: int, **limits: Any) -> Any:
    from sklearn.ensemble import AdaBoostClassifier

    return AdaBoostClassifier(_cart(seed, **limits), n_estimators=_N_MEMBERS, random_state=seed)


def _option_tree(**parameters: Any) -> Any:
    from anabranch.tree import OptionTreeClassifier

    return OptionTreeClassifier(**parameters)


def _ad_tree() -> Any:
    from anabranch.tree import ADTreeClassifier

    return ADTreeClassifier(n_rounds=_N_MEMBERS)


METHODS: dict[str, Callable[[int], Any]] = {
    "option_tree": lambda seed: _option_tree(),
    "option_tree_soft": lambda seed: _option_tree(voting="soft"),
    "option_tree_lowest": lambda seed: _option_tree(option_place="lowest", option_levels=3),
    "single_option": lambda seed: _option_tree(max_options=1),
    "ad_tree": lambda seed: _ad_tree(),
    "cart": _cart,
    "bagging": _bagging,
    "adaboost_stumps": lambda seed: _adaboost(seed, max_depth=1),
    "adaboost_depth3": lambda seed: _adaboost(seed, max_depth=3),
    "adaboost_full": _adaboost,
}
"""Makes a fresh learner from a seed. Names without "cart", "bagging" or "adaboost" are ours, which draw nothing."""

_SKLEARN = ("iris", "wine", "breast_cancer", "digits")
DATASETS: tuple[str, ...] = (*_SKLEARN, "german", "svmguide3", "kr-vs-kp", "splice", "spambase", "phishing")
"""scikit-learn's own, then those of :mod:`anabranch.datasets`, which are fetched at first use."""


def _rows(dataset: str) -> tuple[NDArray[Any], NDArray[Any], list[int]]:
    """Rows as an array, labels, and the places of nominal columns, whose values are codes."""
    if dataset in _SKLEARN:
        from sklearn import datasets

        X, y = getattr(datasets, f"load_{dataset}")(return_X_y=True)
        return X, y, []
    from anabranch.datasets import load
    from anabranch.schema import Schema

    rows, labels = load(dataset).take(10**6)
    X, schema = Schema().encode(rows)
    return X, labels, np.flatnonzero(schema.nominal).tolist()


def _fitting(method: str, seed: int, nominal: list[int]) -> Any:
    """A fresh learner that takes the rows as they are."""
    learner = METHODS[method](seed)
    if "nominal_features" in learner.get_params():
        return learner.set_params(nominal_features=nominal)
    if not nominal:
        return learner
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((one_hot, nominal), remainder="passthrough"), learner)


def _nodes(learner: Any) -> int:
    """Nodes of all trees of a fitted learner."""
    learner = getattr(learner, "steps", [(None, learner)])[-1][1]
    if hasattr(learner, "tree_"):
        return int(learner.tree_.node_count)
    if hasattr(learner, "estimators_"):
        return sum(map(_nodes, learner.estimators_))
    return int(learner.n_nodes_)


def evaluate(dataset: str, method: str, seed: int = 1, folds: int = 10) -> dict[str, float]:
    """Cross-validate one method on one data set once.

    Parameters
    ----------
    dataset : str
        One of :data:`DATASETS`.
    method : str
        One of :data:`METHODS`.
    seed : int, default=1
        Of the folds, which are the same for all methods, and of what a method draws.
    folds : int, default=10

    Returns
    -------
    dict of str to float
        Per cent of rows predicted right, over all folds; and means over the folds: nodes of the tree or of all trees,
        and seconds that learning took.

    Raises
    ------
    ValueError
        If the data set or the method is not known.
    DatasetError
        If the data cannot be had.
    """
    for what, name, known in (("data set", dataset, DATASETS), ("method", method, METHODS)):
        if name not in known:
            raise ValueError(f"there is no {what} {name!r}; there are: {', '.join(known)}")
    from sklearn.model_selection import StratifiedKFold

    X, y, nominal = _rows(dataset)
    right = nodes = 0
    seconds = 0.0
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, y):
        learner = _fitting(method, seed, nominal)
        start = time.perf_counter()
        learner.fit(X[train], y[train])
        seconds += time.perf_counter() - start
        right += int((learner.predict(X[test]) == y[test]).sum())
        nodes += _nodes(learner)
    return {"accuracy": 100.0 * right / len(y), "nodes": nodes / folds, "seconds": seconds / folds}


class KirkbyBatch(Reproduction):
    """The comparison, as ``anabranch reproduce kirkby-batch`` runs it; there are no published figures."""

    title = "Improving Hoeffding Trees, the batch setting: option trees and alternating trees"
    source = "R. Kirkby, PhD thesis, University of Waikato, 2007, section 6.1 (which gives no figures)"
    datasets = DATASETS
    methods = tuple(METHODS)
    default_runs = 5

    def run(self, unit: Unit) -> Found:
        """Cross-validate a method on a data set; all of its rows are taken, whatever ``rows`` says."""
        return {"metrics": evaluate(unit.dataset, unit.method, unit.seed)}

    def published(self, dataset: str, method: str, metric: str) -> None:
        """Nothing has been published."""

    def tables(self, results: Sequence[Result]) -> list[Table]:
        """Accuracies, nodes, and seconds to learn."""
        return [
            table
            for metric, decimals, title in (
                ("accuracy", 2, "Accuracy in %"),
                ("nodes", 0, "Nodes of all trees"),
                ("seconds", 3, "Seconds to learn nine tenths of the rows"),
            )
            for table in beside(results, metric, decimals, title)
        ]


reproduction = KirkbyBatch()
