"""scikit-learn's own estimator checks, and River's through a thin adapter."""

from __future__ import annotations

import warnings
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from river import base
from river import checks as river_checks
from sklearn.base import is_regressor
from sklearn.utils.estimator_checks import check_estimator

from anabranch.testing import all_learners, quick_settings

# What a stream learner means to do otherwise, and why.
NOT_FOR_STREAMS = {
    "check_all_zero_sample_weights_error": (
        "rows of weight 0 teach nothing and are no error: resampling a stream gives many such chunks"
    ),
}


# What certain learners mean to do otherwise: names of learners, names of checks, and why.
_DENSE = "check_sample_weight_equivalence_on_dense_data"
_SPARSE = "check_sample_weight_equivalence_on_sparse_data"
_OTHERWISE: list[tuple[str, list[str], str]] = [
    (
        "FESL NOGD OCDS OGD OLSF OLVF PUFE PassiveAggressive ROGD",
        [_DENSE, _SPARSE],
        "a row of weight 2 makes one step of twice the size, which is not two steps",
    ),
    (
        "ArcX4 CBCE ESOSELM MadaBoost OOB OzaBagging OzaBoosting SmoothBoosting UOB WEOB",
        [_DENSE],
        "what members learn of a row depends on a draw, or on what those before them made of it just then: "
        "a row that comes twice is drawn, and judged, twice",
    ),
    (
        "DWMIL",
        [_DENSE],
        "a row's weight says how often it is drawn; two rows also count twice where classes are compared in size",
    ),
    (
        "AccuracyWeightedEnsemble HUWRSIP LearnPPCDS REA SERA UncorrelatedBagging",
        [_DENSE],
        "a row that comes twice counts twice where rows are drawn, stored, dealt out to folds, or are neighbours",
    ),
    (
        "PastingBites",
        [_DENSE],
        "the trees split nodes of ten rows or more: a row that comes twice counts twice there",
    ),
    (
        "OPID",
        [_DENSE, _SPARSE],
        "a row is scaled by what is known with it: the second of two equal rows finds more known than the first",
    ),
]


def not_meant(cls: type) -> dict[str, str]:
    """Checks that a learner is not meant to pass, and why."""
    name = cls.__name__.removesuffix("Classifier").removesuffix("Regressor")
    own = {check: why for names, checks, why in _OTHERWISE if name in names.split() for check in checks}
    return NOT_FOR_STREAMS | own


@pytest.mark.parametrize("cls", all_learners(), ids=lambda cls: cls.__name__)
def test_scikit_learn(cls):
    expected_failures = not_meant(cls)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the checks themselves
        results = check_estimator(cls(), expected_failed_checks=expected_failures, on_fail=None, on_skip=None)
    failed = [f"{r['check_name']}: {r['exception']!r}" for r in results if r["status"] == "failed"]
    assert not failed, "\n".join(failed)
    expected = {r["check_name"] for r in results if r["status"] == "xfail"}
    there = {r["check_name"] for r in results}  # older releases of scikit-learn lack some checks
    assert expected == set(expected_failures) & there, "an expected failure does not fail any more"


class Adapter:
    """One of our learners, as River sees its own: what classifiers and regressors have in common.

    Parameters
    ----------
    kind
        Name of the learner's class.
    """

    def __init__(self, kind: str):
        self.kind = kind
        cls = {cls.__name__: cls for cls in all_learners()}[kind]
        self.learner = cls(**quick_settings(cls))  # chunks short enough for something to be learned

    def learn_one(self, x, y):
        self.learner.learn_one(x, y)

    def predict_one(self, x):
        return self.learner.predict_one(x)

    def learn_many(self, X, y):
        self.learner.partial_fit(X, y)

    def predict_many(self, X):
        if not self.learner.__sklearn_is_fitted__():
            return pd.Series([None] * len(X), index=X.index)
        return pd.Series(self.learner.predict(X), index=X.index)

    @property
    def _raw_memory_usage(self):
        """Bytes, as the learner counts them, which a law checks: River's own count follows compiled code into numba."""
        return self.learner.nbytes


class AdaptedRegressor(Adapter, base.MiniBatchRegressor):
    """A regressor, as River sees its own.

    Parameters
    ----------
    kind
        Name of the learner's class.
    """

    def __init__(self, kind: str = "OGDRegressor"):
        super().__init__(kind)


class AdaptedClassifier(Adapter, base.MiniBatchClassifier):
    """A classifier, as River sees its own.

    Parameters
    ----------
    kind
        Name of the learner's class.
    """

    def __init__(self, kind: str = "MajorityClassClassifier"):
        super().__init__(kind)

    @property
    def _multiclass(self):
        return True

    def predict_proba_one(self, x):
        return self.learner.predict_proba_one(x)

    def predict_proba_many(self, X):
        if not self.learner.__sklearn_is_fitted__():
            return pd.DataFrame(index=X.index)
        return pd.DataFrame(self.learner.predict_proba(X), index=X.index, columns=self.learner.classes_)


# Who is not meant to pass River's check_shuffle_features_no_impact, and why. Columns go by name, in whatever order a
# row brings them (see below), but the first row sets the order in which they lie, and the check shuffles that one too.
_FIRST_ORDER: list[tuple[str, str]] = [
    (
        "ArcX4 MadaBoost OzaBagging OzaBoosting SmoothBoosting",
        "another order of the columns rounds naive Bayes' sums otherwise, which may turn one hit of a member into a "
        "miss; from then on the weights of rows differ",
    ),
    (
        "AccuracyWeightedEnsemble BlockBoosting DWMIL LearnPPCDS LearnPPNIE PastingBites REA SERA "
        "UncorrelatedBagging UnderBagging",
        "where columns split a tree's node equally well, one of them is drawn, by its number",
    ),
    ("DFGWIS HUWRSIP", "members look at some of the columns, drawn by their numbers"),
    ("ESOSELM", "the hidden layer's weights go by a column's number"),
    ("OCDS", "the graph's edges start at random, drawn by columns' numbers"),
]


@pytest.mark.parametrize("cls", all_learners(), ids=lambda cls: cls.__name__)
def test_river(cls):
    adapter = AdaptedRegressor if is_regressor(cls()) else AdaptedClassifier
    checks = defaultdict(list)  # by name: the same one on each of River's data sets
    for check in river_checks.yield_checks(adapter(cls.__name__)):
        checks[check.__name__].append(check)
    failed = []
    for number, (name, alike) in enumerate(checks.items()):
        try:
            alike[number % len(alike)](adapter(cls.__name__))  # each check, and each data set, but not all pairs
        except Exception as error:
            failed.append((name, repr(error)))
    kind = cls.__name__.removesuffix("Classifier").removesuffix("Regressor")
    allowed = {"check_shuffle_features_no_impact"} if any(kind in names.split() for names, _ in _FIRST_ORDER) else set()
    unexpected = [f"{name}: {error}" for name, error in failed if name not in allowed]
    assert not unexpected, "\n".join(unexpected)


@pytest.mark.parametrize("cls", all_learners(), ids=lambda cls: cls.__name__)
def test_named_columns_may_come_in_any_order(cls):
    """Once the first row has set it, the order of named columns makes no difference at all."""
    rng = np.random.default_rng(3)
    data = rng.normal(size=(200, 4)).round(1)
    target = np.where(data[:, 0] + rng.normal(0.0, 0.5, 200) > 0.0, 1, 0)
    one, other = cls(**quick_settings(cls)), cls(**quick_settings(cls))
    for i, (values, y) in enumerate(zip(data.tolist(), target.tolist(), strict=True)):
        row = dict(zip("cadb", values, strict=True))
        shuffled = {name: row[name] for name in (rng.permutation(list(row)).tolist() if i else row)}
        if i > 100:
            assert one.predict_one(row) == other.predict_one(shuffled)
        one.learn_one(row, y)
        other.learn_one(shuffled, y)
