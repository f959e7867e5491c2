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

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DATASETS", "METHODS", "compare_batch", "evaluate"]

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


def compare_batch(
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    *,
    runs: int = 5,
    folds: int = 10,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: Callable[[str], object] | None = None,
) -> list[dict[str, Any]]:
    """Cross-validate methods on data sets, several times each.

    Parameters
    ----------
    datasets, methods : sequence of str, optional
        Some of :data:`DATASETS` and :data:`METHODS`; all by default.
    runs : int, default=5
        Repetitions; each deals the rows out to the folds anew, in the same way for every method.
    folds : int, default=10
    seed : int, default=1
        Of the first repetition; the others' follow.
    n_jobs : int, optional
        Processes; what it finds is the same, but for seconds.
    progress : callable, optional
        Told, after each cross-validation, how far it has come.

    Returns
    -------
    list of dict
        A row per data set, method and metric ("accuracy", "nodes", "seconds") with the keys dataset, method, metric,
        ours_mean, ours_std (over the repetitions; 0 for one), runs, published (None: there are no published figures).

    Raises
    ------
    ValueError
        If a data set or method is not known.
    """
    datasets = DATASETS if datasets is None else datasets
    methods = tuple(METHODS) if methods is None else methods
    units = [(d, m, s) for d in datasets for m in methods for s in range(seed, seed + runs)]
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for n, ((dataset, method, _), figures) in enumerate(zip(units, _all(units, folds, n_jobs), strict=True), start=1):
        found.setdefault((dataset, method), []).append(figures)
        if progress is not None:
            progress(f"{n} of {len(units)} cross-validations: {method} on {dataset}")
    rows = []
    for (dataset, method), repetitions in found.items():
        for metric in repetitions[0]:
            values = [figures[metric] for figures in repetitions]
            rows.append(
                {
                    "dataset": dataset,
                    "method": method,
                    "metric": metric,
                    "ours_mean": statistics.fmean(values),
                    "ours_std": statistics.stdev(values) if len(values) > 1 else 0.0,
                    "runs": len(values),
                    "published": None,
                }
            )
    return rows


def _all(units: Sequence[tuple[str, str, int]], folds: int, n_jobs: int | None) -> Iterator[dict[str, float]]:
    """Evaluate units, in their order."""
    if n_jobs in (None, 1):
        yield from (evaluate(*unit, folds) for unit in units)
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs, batch_size=1, return_as="generator")(delayed(evaluate)(*unit, folds) for unit in units)
