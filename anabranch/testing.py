"""The laws that every learner keeps, as checks; and the registry of all learners.

:func:`check_learner` runs every check that fits a learner, in the project's own tests on every learner of
:func:`all_learners`, and in yours on your own::

    from anabranch.testing import check_learner

    def test_my_learner():
        check_learner(MyLearner())

The laws:

- **Chunk law.** However the rows are cut into chunks, state and predictions are the same to the last bit.
- **Thread law.** ``n_jobs`` changes speed only.
- **Restart law.** Saved in mid-stream and loaded again, a learner goes on as if it had never stopped.
- **Purity.** Predicting changes nothing, inputs are never modified, a call that raises changes nothing.
- **Memory law.** With ``max_bytes``, ``nbytes`` never exceeds it, not even for one row.
- **Missing and new.** Gaps, unseen values, new classes and columns that come and go do no harm.
- **Agreement.** Probabilities are finite, not negative and sum to 1; ``predict`` is their arg max; a regressor's
  predictions are finite; the verbs for one row say the same as those for chunks.
- **Sparse rows** teach and are predicted as the same rows written out, by learners that take them; others refuse them.

Checks adapt to the kind of learner: a classifier's answers are its probabilities, a regressor's its predictions.

Change detectors are no learners, but keep the same laws: :func:`check_detector` runs those that fit them.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import itertools
import pickle
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from operator import methodcaller
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_regressor

import anabranch
from anabranch import checkpoint
from anabranch.base import Part, StreamClassifier, StreamLearner, StreamRegressor
from anabranch.drift import DriftDetector

__all__ = [
    "CHECKS",
    "DETECTOR_CHECKS",
    "all_detectors",
    "all_learners",
    "check_detector",
    "check_learner",
    "detector_variants",
    "variants",
]

Row = dict[str, Any]
T = TypeVar("T")

# Packages of the library that hold no learner, so that the walk need not import them.
_WITHOUT_LEARNERS = {
    "cli",
    "__main__",
    "datasets",
    "drift",
    "evaluation",
    "kernels",
    "metrics",
    "papers",
    "stream",
    "testing",
}

# Splits early, so that a few hundred rows grow a tree.
_EAGER = "HoeffdingTree(grace_period=20, tie_threshold=0.5)"

# Settings beyond the defaults under which a class is checked too.
_VARIANTS: dict[str, list[dict[str, Any]]] = {
    "GaussianNB": [{"var_smoothing": 0}, {"var_smoothing": 0.1}],
    "KNNClassifier": [
        {"n_neighbors": 3, "window_size": 70, "normalize": True},
        {"n_neighbors": 12, "window_size": 150, "weights": "distance"},
        {"n_neighbors": 5, "window_size": 1},
    ],
    "HoeffdingTreeClassifier": [
        {"grace_period": 20, "tie_threshold": 0.5},
        {"grace_period": 20, "tie_threshold": 0.5, "leaf_prediction": "nb", "criterion": "gini", "pre_prune": True},
        {
            "grace_period": 20,
            "tie_threshold": 0.5,
            "leaf_prediction": "mc",
            "remove_poor_attributes": True,
            "binary_split": True,
        },
        {"grace_period": 20, "tie_threshold": 0.5, "max_bytes": 6000, "memory_period": 50},
        {"grace_period": 20, "tie_threshold": 0.5, "max_bytes": 40_000},
    ],
    "OGDClassifier": [
        {"scaling": "standard", "schedule": "adagrad", "l2": 0.01},
        {"scaling": "max_abs", "radius": 2.0, "l2": 0.1, "schedule": "inverse"},
        {"loss": "hinge", "schedule": "constant", "fit_intercept": False, "radius": 0.5},
        {"scaling": "max_abs", "schedule": "adagrad", "loss": "hinge"},
    ],
    "OGDRegressor": [
        {"scaling": "standard", "radius": 3.0},
        {"scaling": "max_abs", "loss": "absolute_error", "schedule": "adagrad"},
        {"loss": "huber", "schedule": "constant", "l2": 0.1, "fit_intercept": False},
    ],
    "FESLClassifier": [
        {"strategy": "selection", "patience": 3, "max_overlap": 40, "overlap_rows": 8},
        {"horizon": 200, "overlap_rows": None, "radius": 2.0, "ridge": 0.1, "fit_intercept": False},
    ],
    "FESLRegressor": [
        {"strategy": "selection", "horizon": 50, "patience": 3, "overlap_rows": 8, "radius": 3.0},
        {"overlap_rows": None, "patience": 2, "max_overlap": 30},
    ],
    "PUFEClassifier": [{"patience": 3, "max_overlap": 40, "overlap_rows": 8, "rank": 2}],
    "PUFERegressor": [{"horizon": 50, "patience": 3, "overlap_rows": 8, "radius": 3.0, "fit_intercept": False}],
    "ROGDClassifier": [{"update": False, "patience": 3, "overlap_rows": 8}],
    "PassiveAggressiveClassifier": [
        {"variant": "PA"},
        {"variant": "PA-II", "C": 0.1, "fit_intercept": False},
    ],
    "HoeffdingOptionTreeClassifier": [
        {"grace_period": 20, "tie_threshold": 0.5},
        {"grace_period": 20, "tie_threshold": 0.5, "max_bytes": 6000, "memory_period": 50},
        {
            "grace_period": 20,
            "tie_threshold": 0.5,
            "max_options": 40,
            "leaf_prediction": "mc",
            "remove_poor_attributes": True,
            "max_bytes": 20_000,
            "memory_order": "divided",
        },
    ],
    "AdaptiveHoeffdingOptionTreeClassifier": [
        {"grace_period": 20, "tie_threshold": 0.5, "max_options": 10},
        {"grace_period": 20, "tie_threshold": 0.5, "max_bytes": 12_000, "memory_order": "equal"},
    ],
    "OzaBaggingClassifier": [
        {"estimator": _EAGER, "voting": "hard", "n_jobs": 2},
        {"estimator": _EAGER, "max_bytes": 18_000},
    ],
    "OzaBoostingClassifier": [
        {"estimator": _EAGER, "max_bytes": 18_000},
        {"estimator": _EAGER, "voting": "hard", "poisson": False},
    ],
    "ArcX4Classifier": [{"estimator": _EAGER, "voting": "hard", "max_bytes": 18_000}],
    "CBCEClassifier": [
        {"estimator": _EAGER, "n_jobs": 2},
        {"decay": 0.98, "bandwidth": 0.3, "budget": 70, "learning_rate": 0.5, "max_stored": 20},
    ],
    "ESOSELMClassifier": [{"n_hidden": 6, "period": 25, "threshold": 1.0, "n_stored": 2, "C": 10.0}],
    "OOBClassifier": [{"estimator": _EAGER, "voting": "hard", "max_bytes": 18_000}],
    "UOBClassifier": [{"estimator": _EAGER, "decay": 0.99, "n_jobs": 2}],
    "WEOBClassifier": [{"estimator": _EAGER, "variant": "WEOB2", "window_size": 7, "n_jobs": 2}],
    "DynamicWeightedMajorityClassifier": [
        {"estimator": _EAGER, "period": 7, "voting": "soft", "theta": 0.3, "max_bytes": 18_000},
        {"estimator": f"UOB({_EAGER}, n_estimators=2)", "n_estimators": 2, "period": 9},
    ],
    "MadaBoostClassifier": [{"estimator": _EAGER, "filtering": True}],
    "SmoothBoostingClassifier": [{"estimator": _EAGER, "form": "capped", "max_bytes": 18_000}],
    "OCDSClassifier": [
        {"scaling": "none", "fit_intercept": False, "max_graph": 4, "share": 0.5, "period": 2},
    ],
    "OLSFClassifier": [
        {"variant": "OLSF", "scaling": "none", "fit_intercept": False, "share": 0.64, "radius": 1.0},
        {"variant": "OLSF-II", "scaling": "max_abs"},
    ],
    "OLVFClassifier": [{"scaling": "none", "fit_intercept": False, "share": 0.5, "radius": 0.5, "C": 10.0}],
    "OPIDClassifier": [{"scaling": "none", "fit_intercept": False, "patience": 1, "ridge": 0.01}],
    "BlockBoostingClassifier": [
        {"pruning": "reduce_error", "voting": "soft", "n_jobs": 2, "chunk_size": 37},
        {"pruning": "kappa_error", "max_members": 2, "chunk_size": 100},
    ],
    "PastingBitesClassifier": [
        {"sampling": "random", "voting": "soft", "chunk_size": 37, "n_jobs": 2},
        {"max_skipped": 0.3, "smoothing": 0, "chunk_size": 30},
    ],
    "UnderBaggingClassifier": [{"voting": "soft", "chunk_size": 1}, {"estimator": "GaussianNB", "chunk_size": 500}],
    "DWMILClassifier": [{"voting": "soft", "error": "f1", "chunk_size": 87, "theta": 0.3, "n_jobs": 2}],
    "AccuracyWeightedEnsembleClassifier": [{"voting": "hard", "n_folds": 2, "n_jobs": 2}],
    "LearnPPCDSClassifier": [{"voting": "soft", "amount": 0.7, "n_neighbors": 2, "max_experts": 3}],
    "DFGWISClassifier": [
        {"n_groups": 3, "n_estimators": 1, "holdout": 0.3, "stability": 1.0, "n_bins": 5, "n_jobs": 2}
    ],
    "HUWRSIPClassifier": [{"subspace": 0.1, "threshold": 0.9, "voting": "hard", "max_stored": 70, "n_jobs": 2}],
    "LearnPPNIEClassifier": [
        {"voting": "soft", "error": "f1", "max_experts": 3, "slope": 2.0, "crossing": 1, "n_jobs": 2},
    ],
    "SERAClassifier": [{"n_estimators": 1, "post_balance": 0.4, "max_stored": 70, "voting": "hard", "n_jobs": 2}],
    "UncorrelatedBaggingClassifier": [{"ratio": 3.0, "max_stored": 70, "voting": "hard", "n_jobs": 2}],
    "REAClassifier": [{"voting": "hard", "post_balance": 0.4, "n_neighbors": 3, "max_experts": 3, "max_stored": 70}],
}

# Checks of an ensemble need a seed, and not many members.
_QUICK = {"random_state": 0, "n_estimators": 3, "chunk_size": 60, "n_folds": 3, "n_groups": 2}


def all_learners() -> list[type[StreamLearner]]:
    """Every public learner class of the library, found by walking its modules.

    Returns
    -------
    list of type
        Sorted by name.

    Examples
    --------
    >>> from anabranch.testing import all_learners
    >>> "HoeffdingTreeClassifier" in [cls.__name__ for cls in all_learners()]
    True
    """
    return _defined(StreamLearner, anabranch, _may_hold_learners)


def _defined(base: type[T], package: ModuleType, may_hold: Callable[[str], bool] = lambda _: True) -> list[type[T]]:
    """Classes made of a base that the modules of a package define, but for the base's own module, sorted by name."""
    found: set[type[T]] = set()
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if may_hold(info.name):
            module = importlib.import_module(info.name)
            found.update(cls for _, cls in inspect.getmembers(module) if _is_made_of(base, cls, module))
    return sorted(found, key=lambda cls: cls.__name__)


def find_learner(name: str) -> type[StreamLearner] | None:
    """The learner class of a name, importing nothing that does not define it; None if no source tells where it is.

    Examples
    --------
    >>> find_learner("GaussianNB").__module__
    'anabranch.naive_bayes.gaussian_nb'
    >>> find_learner("NaiveBayes")
    """
    definition = re.compile(rf"^class {re.escape(name)}\b", re.MULTILINE)
    for folder in map(Path, anabranch.__path__):
        for path in sorted(folder.rglob("*.py")):
            module_name = ".".join(["anabranch", *path.relative_to(folder).with_suffix("").parts])
            if _may_hold_learners(module_name) and definition.search(path.read_text(encoding="utf-8")):
                module = importlib.import_module(module_name)
                cls = getattr(module, name, None)
                if _is_made_of(StreamLearner, cls, module):
                    return cls
    return None


def _may_hold_learners(module: str) -> bool:
    parts = module.split(".")[1:]
    return parts[0] not in _WITHOUT_LEARNERS and not any(part.startswith("_") for part in parts)


def _is_made_of(base: type, cls: Any, module: ModuleType) -> bool:
    """Whether something in a module is a class made of ``base`` that is defined there, and not beside the base."""
    return inspect.isclass(cls) and issubclass(cls, base) and cls.__module__ == module.__name__ != base.__module__


def quick_settings(cls: type) -> dict[str, Any]:
    """Parameters that make a learner's checks repeatable, and short."""
    return {name: value for name, value in _QUICK.items() if name in inspect.signature(cls).parameters}


def variants() -> list[StreamLearner]:
    """Every learner of the library under its defaults, and under settings that bring out what else it can do."""
    from anabranch import _expression

    found: list[StreamLearner] = []
    for cls in all_learners():
        quick = quick_settings(cls)
        for settings in [{}, *_VARIANTS.get(cls.__name__, [])]:
            settings = {**quick, **settings}
            if isinstance(settings.get("estimator"), str):
                settings["estimator"] = _expression.learner(settings["estimator"])
            found.append(cls(**settings))
    return found


# ---------------------------------------------------------------------------------------------- rows


def _numbers(n: int, seed: int = 0, gaps: bool = False, classes: int = 3) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows of numbers whose class can be learned: columns of several scales, one of them constant."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = rng.standard_normal((n, 5)) + np.column_stack([y, y * 0.5, 0 * y, -y, 0 * y])
    X[:, 1] *= 1e6
    X[:, 2] = X[:, 2].round(1)
    X[:, 4] = 7.0
    if gaps:
        X[rng.random((n, 5)) < 0.1] = np.nan
    return X, y


def _rows(n: int, seed: int = 0) -> tuple[list[Row], NDArray[Any]]:
    """Rows as dicts: text, gaps, columns that come and go, classes and values that turn up late."""
    rng = np.random.default_rng(seed)
    colours = ["red", "green", "blue", "black", "white", "yellow", "pink"]
    labels = np.empty(n, dtype=object)
    rows: list[Row] = []
    for i in range(n):
        late = int(i > n // 2)
        code = int(rng.integers(0, 3 + late))
        labels[i] = ["no", "yes", "maybe", "never"][code]
        row: Row = {"size": float(rng.standard_normal() + code)}
        row["colour"] = colours[int(rng.integers(0, 3 + 4 * late)) if rng.random() < 0.5 else code]
        if rng.random() < 0.15:
            row["size"] = None
        if rng.random() < 0.1:
            row["colour"] = None
        if i < 2 * n // 3:
            row["old"] = int(rng.integers(0, 10)) + code
        if i > n // 3:
            row["new"] = bool(rng.random() < 0.2 + 0.15 * code)
            row["kind"] = "even" if code % 2 == 0 else "odd"
        rows.append(row)
    return rows, labels


def _weights(n: int, seed: int = 0) -> NDArray[Any]:
    rng = np.random.default_rng(seed + 1)
    w: NDArray[Any] = rng.exponential(1.0, n) * (rng.random(n) > 0.1)
    return w


def _sparse(n: int, width: int = 61, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows of mostly zeros, with gaps, written out."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.standard_normal((n, width)) * (rng.random((n, width)) < 0.1)
    X[:, 7] += y * (rng.random(n) < 0.5)
    X[rng.random((n, width)) < 0.01] = np.nan
    X[:5] = 0.0  # rows of nothing
    return X, y


def _as_targets(labels: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers that are the larger, the later their label was first met, give or take some noise."""
    place = {label: float(i) for i, label in enumerate(dict.fromkeys(labels.tolist()))}
    noise = np.random.default_rng(len(labels)).standard_normal(len(labels))
    return np.array([place[label] for label in labels.tolist()]) * 10.0 - 5.0 + noise


def _for(learner: Any, X: Any, labels: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    """Rows and what a learner of this kind is to predict."""
    return X, _as_targets(labels) if is_regressor(learner) else labels


def _streams(learner: Any) -> Iterator[tuple[str, Any, NDArray[Any], NDArray[Any] | None]]:
    """Streams as (name, rows, labels or targets, weights)."""
    parameters = learner.get_params(deep=False)
    # A tree takes its rows to grow, an ensemble its members' time.
    n = 260 if "n_estimators" in parameters else 700 if "grace_period" in parameters else 360
    yield "numbers", *_for(learner, *_numbers(n)), None
    yield "numbers with gaps and weights", *_for(learner, *_numbers(n, gaps=True)), _weights(n)
    yield "named rows", *_for(learner, *_rows(n)), None
    rows, labels = _for(learner, *_rows(n, seed=3))
    yield "named rows with weights", rows, labels, _weights(n)


def _cuts(n: int, sizes: Sequence[int]) -> Iterator[slice]:
    """Slices that cut n rows into chunks of the given sizes, over and over."""
    start = 0
    turn = 0
    while start < n:
        yield slice(start, start + sizes[turn % len(sizes)])
        start += sizes[turn % len(sizes)]
        turn += 1


def _part(values: Any, cut: slice) -> Any:
    return None if values is None else values[cut]


def _learned(learner: Any, X: Any, y: Any, w: Any, sizes: Sequence[int] = (100,)) -> Any:
    """A fresh copy of the learner that has learned the rows."""
    result = clone(learner)
    for cut in _cuts(len(y), sizes):
        result.partial_fit(X[cut], y[cut], sample_weight=_part(w, cut))
    return result


def _answers(learner: Any, X: Any) -> NDArray[Any]:
    """What a learner says of rows: probabilities, or predictions."""
    answers: NDArray[Any] = learner.predict(X) if is_regressor(learner) else learner.predict_proba(X)
    return answers


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Answers to chunks in one array, though later ones may know more classes."""
    if parts[0].ndim == 1:
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    return np.vstack([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts])


def _same(a: Any, b: Any, what: str) -> None:
    assert a.to_bytes() == b.to_bytes(), f"{what}: the states differ"


# ---------------------------------------------------------------------------------------------- checks


def check_chunk_law(learner: Any) -> None:
    """Rows one by one, in chunks of any sizes, or all at once: the same state and the same predictions."""
    for name, X, y, w in _streams(learner):
        n = len(y)
        whole = _learned(learner, X, y, w, [n])
        tested = {}
        for sizes in ([1], [7, 1, 130, 2], [n]):
            what = f"{name}, chunks of {sizes}"
            if sizes != [n]:
                _same(_learned(learner, X, y, w, sizes), whole, what)
            other = clone(learner)
            parts = []
            for cut in _cuts(n, sizes):
                parts.append(other.test_then_train(X[cut], y[cut], _part(w, cut)))
            _same(other, whole, f"{what}, test_then_train")
            tested[tuple(sizes)] = _joined(parts)
        first = tested[(n,)]
        for sizes_, proba in tested.items():
            assert np.array_equal(proba, first), f"{name}: test_then_train differs for chunks of {sizes_}"


def check_just_before_and_after(learner: Any) -> None:
    """test_then_train is predict_proba just before each row, and ``_train_then_test`` just after."""
    for name, X, y, w in _streams(learner):
        n = len(y) // 3
        for start in (0, len(y) // 2):
            fused, slow, after = (_learned(learner, X[:start], y[:start], _part(w, slice(start))) for _ in range(3))
            told = fused.test_then_train(X[start : start + n], y[start : start + n], _part(w, slice(start, start + n)))
            for i in range(start, start + n):
                got = np.atleast_1d(told[i - start])
                if slow.__sklearn_is_fitted__():
                    expected = np.atleast_1d(_answers(slow, X[i : i + 1])[0])
                    assert np.array_equal(got[: len(expected)], expected), f"{name}: row {i} before learning"
                    assert not got[len(expected) :].any(), f"{name}: row {i} knows a later class"
                else:
                    assert not got.any(), f"{name}: an answer before anything was learned"
                slow.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=_part(w, slice(i, i + 1)))
            _same(fused, slow, f"{name}: after test_then_train")
            if start == 0 or not hasattr(after, "_train_then_test"):
                continue
            # The inner hook: encode as the public methods do.
            X_, y_, w_ = X[start : start + n], y[start : start + n], _part(w, slice(start, start + n))
            rows, after._schema = after._schema.encode(X_)
            codes, after._labels = after._labels.encode(after._targets(y_))
            after._n_classes = len(after._labels)
            both = copy.deepcopy(after)
            votes = after._train_then_test(rows, codes, after._encode_weights(w_, n))
            before_, after_ = both._test_train_test(rows, codes, both._encode_weights(w_, n))
            assert np.array_equal(after_, votes), f"{name}: _test_train_test and _train_then_test differ"
            _same(both, after, f"{name}: after _test_train_test")
            again = _learned(learner, X[:start], y[:start], _part(w, slice(start)))
            for i in range(n):
                expected = _answers(again, X_[i : i + 1])[0]
                total = before_[i].sum()
                if total > 0:
                    scaled = before_[i][: len(expected)] / total
                    assert np.allclose(scaled, expected, rtol=1e-12), f"{name}: row {i}, _test_train_test"
                again.partial_fit(X_[i : i + 1], y_[i : i + 1], sample_weight=_part(w_, slice(i, i + 1)))
                expected = again.predict_proba(X_[i : i + 1])[0]
                total = votes[i].sum()
                if total > 0:
                    scaled = votes[i][: len(expected)] / total
                    assert np.allclose(scaled, expected, rtol=1e-12), f"{name}: row {i} after learning"
            _same(after, again, f"{name}: after _train_then_test")


def check_thread_law(learner: Any) -> None:
    """``n_jobs`` changes speed only."""
    if "n_jobs" not in learner.get_params():
        return
    X, y = _for(learner, *_numbers(700))
    one = _learned(clone(learner).set_params(n_jobs=1), X, y, None)
    two = _learned(clone(learner).set_params(n_jobs=2), X, y, None)
    assert np.array_equal(_answers(one, X), _answers(two, X)), "n_jobs changes predictions"
    _same(one.set_params(n_jobs=None), two.set_params(n_jobs=None), "n_jobs")


def check_restart_law(learner: Any) -> None:
    """A copy made in mid-stream in any way goes on exactly as the original."""
    ways: dict[str, Callable[[Any], Any]] = {
        "to_bytes and from_bytes": lambda it: type(it).from_bytes(it.to_bytes()),
        "deepcopy": copy.deepcopy,
    }
    cls = type(learner)
    if getattr(sys.modules.get(cls.__module__), cls.__qualname__, None) is cls:  # pickle cannot find any other
        ways["pickle"] = lambda it: pickle.loads(pickle.dumps(it))
    for name, X, y, w in _streams(learner):
        for where in (0, 1, len(y) // 2):
            rest = [slice(cut.start + where, cut.stop + where) for cut in _cuts(len(y) - where, [90])]
            original = _learned(learner, X[:where], y[:where], _part(w, slice(where)))
            copies = {way: make(original) for way, make in ways.items()}
            for way, other in copies.items():
                _same(original, other, f"{name}: {way} at row {where}")
            straight = _learned(learner, X[:where], y[:where], _part(w, slice(where)))
            for it in (straight, *copies.values()):
                for cut in rest:
                    it.partial_fit(X[cut], y[cut], sample_weight=_part(w, cut))
            answers = _answers(straight, X)
            for way, other in copies.items():
                _same(straight, other, f"{name}: {way} at row {where}, then on")
                assert np.array_equal(answers, _answers(other, X)), f"{name}: {way}"
    fresh = clone(_learned(learner, *_for(learner, *_numbers(50)), None))
    assert not fresh.__sklearn_is_fitted__(), "clone copies what was learned"


def check_purity(learner: Any) -> None:
    """Predicting changes nothing, inputs are not modified, and a call that raises changes nothing."""
    for name, X, y, w in _streams(learner):
        kept = copy.deepcopy((X, y, w))
        it = _learned(learner, X, y, w)
        state = it.to_bytes()
        it.predict(X)
        _answers(it, X[:3])
        one = _as_dict(X[0])
        it.predict_one(one)
        odd = {"never met": 1.0, "nor this": "text"} if isinstance(X, list) else one
        it.predict_one(odd) if is_regressor(it) else it.predict_proba_one(odd)
        assert it.to_bytes() == state, f"{name}: predicting changes the state"
        for before, after in zip(kept, (X, y, w), strict=True):
            same = np.array_equal(before, after, equal_nan=True) if _is_floats(after) else before == after
            assert np.all(same), f"{name}: an input was modified"
        for what, bad_X, bad_y, bad_w in _bad_input(X, y):
            for call in ("partial_fit", "test_then_train"):
                try:
                    getattr(it, call)(bad_X, bad_y, sample_weight=bad_w)
                except (ValueError, TypeError) as error:
                    assert len(str(error)) > 10, f"{what}: the message says nothing"
                else:
                    raise AssertionError(f"{name}: {call} takes {what}")
                assert it.to_bytes() == state, f"{name}: {call} of {what} raises, and changes the state"


def _is_floats(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _as_dict(row: Any) -> Row:
    return row if isinstance(row, dict) else {f"x{j}": value for j, value in enumerate(row)}


def _bad_input(X: Any, y: Any) -> Iterator[tuple[str, Any, Any, Any]]:
    """Input no learner may take, as (what, X, y, weights)."""
    n = 20
    good, labels = X[:n], y[:n]
    yield "fewer labels than rows", good, labels[:-1], None
    yield "no rows", good[:0], labels[:0], None
    yield "no labels", good, None, None
    yield "a negative weight", good, labels, [1.0] * (n - 1) + [-1.0]
    yield "an infinite weight", good, labels, [1.0] * (n - 1) + [np.inf]
    yield "a weight that is NaN", good, labels, [1.0] * (n - 1) + [np.nan]
    yield "too few weights", good, labels, [1.0] * (n - 1)
    yield "a label that is NaN", good, [*labels[:-1], float("nan")], None
    yield "a label that is None", good, [*labels[:-1], None], None
    yield "a label that cannot be hashed", good, [*labels[:-1], {"a": 1}], None
    yield "an infinite label", good, [*np.ones(n - 1), np.inf], None
    if isinstance(good, list):
        yield "infinity", [*good[:-1], {"size": np.inf}], labels, None
        yield "text where numbers were", [*good[:-1], {"size": "large"}], labels, None
        yield "a date", [*good[:-1], {"size": np.datetime64("2020-01-01")}], labels, None
        yield "a list in a row", [*good[:-1], {"colour": ["red"]}], labels, None
    else:
        infinite = good.copy()
        infinite[-1, 0] = -np.inf
        yield "infinity", infinite, labels, None
        yield "a column less", good[:, :-1], labels, None
        yield "text where numbers were", good.astype(str), labels, None
        yield "three dimensions", good[None], labels, None


def check_memory_law(learner: Any) -> None:
    """``nbytes`` counts what is there, and never exceeds ``max_bytes``."""
    for name, X, y, w in _streams(learner):
        it = _learned(learner, X, y, w)
        assert it.nbytes == sum(a.nbytes for a in _arrays(it)), f"{name}: nbytes does not count the arrays"
    if "max_bytes" not in learner.get_params():
        return
    members = _members(learner)
    for limit in (1500 * members, 4000 * members, 12_000 * members):
        for name, X, y, w in _streams(learner):
            it = clone(learner).set_params(max_bytes=limit)
            for i in range(len(y)):
                it.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=_part(w, slice(i, i + 1)))
                assert it.nbytes <= limit, f"{name}: {it.nbytes} bytes after row {i}, the limit is {limit}"
            assert np.isfinite(_answers(it, X)).all(), name


def _members(learner: Any) -> int:
    """How many learners share the memory."""
    members: int = learner.get_params().get("n_estimators", 1)
    members *= len(getattr(learner, "_ensembles", (learner,)))  # ensembles of n_estimators each
    inner = getattr(learner, "estimator", None)
    return members * _members(inner) if isinstance(inner, StreamLearner) else members


def _arrays(value: Any, seen: set[int] | None = None) -> Iterator[NDArray[Any]]:
    """Arrays reachable from a learner's attributes: a count of its own beside ``nbytes``."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield from _arrays(value.base, seen) if isinstance(value.base, np.ndarray) else [value]
    elif isinstance(value, dict):
        for part in value.values():
            yield from _arrays(part, seen)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _arrays(part, seen)
    elif isinstance(value, (Part, BaseEstimator)):
        yield from _arrays(vars(value), seen)
    elif type(value).__name__ == "Tree":  # scikit-learn's
        state = value.__getstate__()
        yield from (state["nodes"], state["values"])


def check_missing_and_new(learner: Any) -> None:
    """Gaps everywhere, unseen values, late classes, columns that come and go: defined, and no harm done."""
    rows, labels = _for(learner, *_rows(700))
    it = _learned(learner, rows, labels, None)
    if not is_regressor(learner):
        assert list(it.classes_) == list(dict.fromkeys(labels)), "classes_ is not in the order of their first rows"
    for odd in (
        {"size": None, "colour": None},
        {"colour": "a colour never seen"},
        {"unknown": 3.0},
        {},
        {"size": -1e99, "old": 1e99},
    ):
        if is_regressor(learner):
            assert np.isfinite(it.predict_one(odd)), f"the prediction for {odd}"
        else:
            assert abs(sum(it.predict_proba_one(odd).values()) - 1.0) < 1e-9, f"probabilities of {odd}"
    shuffled = [dict(reversed(list(row.items()))) for row in rows]
    assert np.array_equal(_answers(it, shuffled), _answers(it, rows)), "the order of named columns matters"
    X, y = _for(learner, *_numbers(700))
    blank = np.full_like(X, np.nan)
    it = clone(learner).partial_fit(blank[:50], y[:50])
    it.partial_fit(X, y)
    it.partial_fit(blank[:50], y[:50])
    assert np.isfinite(_answers(it, np.vstack([X, blank]))).all()
    # A row of weight 0 teaches nothing.
    it = _learned(learner, X, y, None)
    before = _answers(it, X)
    it.partial_fit(X[:40], y[:40], sample_weight=np.zeros(40))
    assert np.array_equal(_answers(it, X), before), "rows of weight 0 teach something"
    # What is large, though allowed, leaves no infinity and no NaN behind.
    wild = X.copy()
    wild[::3] *= 1e90
    it.partial_fit(wild, y).partial_fit(X, y)
    assert np.isfinite(_answers(it, X)).all() and np.isfinite(_answers(it, wild)).all(), (
        "large numbers poison the state"
    )


def check_agreement(learner: Any) -> None:
    """Probabilities are sound, ``predict`` is their arg max, and all ways of asking and telling agree."""
    for name, X, y, w in _streams(learner):
        it = _learned(learner, X, y, w)
        told = _answers(it, X)
        assert np.isfinite(told).all(), name
        if is_regressor(it):
            assert told.shape == (len(y),) and told.dtype == np.float64, name
        else:
            assert told.shape == (len(y), len(it.classes_)), name
            assert (told >= 0).all(), name
            assert np.allclose(told.sum(axis=1), 1.0, atol=1e-9), name
            assert np.array_equal(it.predict(X), it.classes_[told.argmax(axis=1)]), name
        single = _joined([_answers(it, X[i : i + 1]) for i in range(len(y))])
        assert np.array_equal(single, told), f"{name}: rows alone and in a chunk differ"
        if isinstance(X, list):
            one = clone(learner)
            for i, row in enumerate(X):
                one.learn_one(row, y[i], 1.0 if w is None else float(w[i]))
            _same(one, it, f"{name}: learn_one")
            for i, row in enumerate(X[:100]):
                if is_regressor(it):
                    assert one.predict_one(row) == told[i], name
                    continue
                assert one.predict_one(row) == one.classes_[told[i].argmax()], name
                assert list(one.predict_proba_one(row).values()) == told[i].tolist(), name
    fresh = clone(learner)
    if is_regressor(fresh):
        assert fresh.predict_one({"a": 1.0}) == 0.0
    else:
        assert fresh.predict_one({"a": 1.0}) is None
        assert fresh.predict_proba_one({"a": 1.0}) == {}


def check_sparse_rows(learner: Any) -> None:
    """Sparse rows, of any format and in chunks of any size, are the same to the bit as those rows written out."""
    import scipy.sparse as sp

    X, y = _for(learner, *_sparse(300))
    rows = sp.csr_array(X)
    if not learner._takes_sparse:
        it = _learned(learner, X, y, None)
        state = it.to_bytes()
        for call in (it.predict, lambda rows: it.partial_fit(rows, y), lambda rows: it.test_then_train(rows, y)):
            try:
                call(rows)
            except TypeError as error:
                assert "parse" in str(error), f"the message on sparse rows does not speak of them: {error}"
            else:
                raise AssertionError("sparse rows are taken, though _takes_sparse is False")
        assert it.to_bytes() == state, "refusing sparse rows changes the state"
        return
    for w in (None, _weights(len(y))):
        whole = _learned(learner, X, y, w, [len(y)])
        told = clone(learner).test_then_train(X, y, w)
        answers = _answers(whole, X)
        for sizes in ([1], [7, 1, 130, 2], [len(y)]):
            what = f"sparse rows in chunks of {sizes}"
            it, tested = clone(learner), clone(learner)
            parts = []
            for cut in _cuts(len(y), sizes):
                it.partial_fit(rows[cut], y[cut], sample_weight=_part(w, cut))
                parts.append(tested.test_then_train(rows[cut], y[cut], _part(w, cut)))
            _same(it, whole, what)
            _same(tested, whole, f"{what}, test_then_train")
            assert np.array_equal(_joined(parts), told), f"{what}: test_then_train differs from dense rows"
            assert np.array_equal(_answers(it, rows), answers), f"{what}: predictions differ from dense rows"
        mixed = clone(learner)
        for k, cut in enumerate(_cuts(len(y), [40])):
            mixed.partial_fit(X[cut] if k % 2 else rows[cut], y[cut], sample_weight=_part(w, cut))
        _same(mixed, whole, "dense and sparse rows in turns")
    whole = _learned(learner, X, y, None, [len(y)])
    turned = np.concatenate([np.arange(a, b)[::-1] for a, b in itertools.pairwise(rows.indptr.tolist())])
    backwards = sp.csr_array((rows.data[turned], rows.indices[turned], rows.indptr), shape=rows.shape)
    halves = sp.csr_array(
        (np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), rows.indptr * 2), shape=rows.shape
    )  # every value in two parts
    long = sp.csr_array(rows)
    long.indices, long.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    fixed = sp.csr_array(rows)
    for part in (fixed.data, fixed.indices, fixed.indptr):
        part.flags.writeable = False
    others = {
        "columns backwards": backwards,
        "columns twice": halves,
        "int64 indices": long,
        "read-only": fixed,
        "csr_matrix": sp.csr_matrix(rows),
        "csc": sp.csc_array(rows),
        "coo": sp.coo_array(rows),
        "lil": sp.lil_array(rows),
    }
    for name, other in others.items():
        before = other.toarray()
        it = clone(learner).partial_fit(other, y)
        _same(it, whole, f"sparse rows, {name}")
        assert np.array_equal(_answers(it, other), _answers(whole, X)), f"sparse rows, {name}: predictions"
        assert np.array_equal(other.toarray(), before, equal_nan=True), f"sparse rows, {name}: the input was modified"
    state = whole.to_bytes()
    infinite = rows.copy()
    infinite.data[-1] = np.inf
    astray = rows.copy()
    astray.indices[3] = 10_000
    for what, bad in {
        "infinity": infinite,
        "a column outside": astray,
        "another width": rows[:, :-1],
        "no rows": rows[:0],
        "complex numbers": rows.astype(complex),
    }.items():
        try:
            whole.partial_fit(bad, y[: bad.shape[0]])
        except (ValueError, TypeError) as error:
            assert len(str(error)) > 10, f"sparse rows with {what}: the message says nothing"
        else:
            raise AssertionError(f"sparse rows with {what} are taken")
        assert whole.to_bytes() == state, f"refusing sparse rows with {what} changes the state"


def check_targets(learner: Any) -> None:
    """A regressor's targets: numbers of any kind, in any container."""
    if not is_regressor(learner):
        return
    X, codes = _numbers(120)
    expected = clone(learner).partial_fit(X, codes.astype(np.float64))
    integers = codes.astype(np.int32)
    integers.flags.writeable = False
    for y in (codes, integers, codes.tolist(), tuple(codes.tolist()), codes.astype(object), codes.astype(np.float32)):
        _same(clone(learner).partial_fit(X, y), expected, f"targets as {type(y).__name__}")
    for bad in (["a"] * 120, codes + 1j, np.column_stack([codes, codes]), codes * 1e200, "text", 5.0):
        try:
            clone(learner).partial_fit(X, bad)
        except (ValueError, TypeError) as error:
            assert len(str(error)) > 10, "the message on bad targets says nothing"
        else:
            raise AssertionError(f"targets {bad!r:.40} are taken")


def check_labels(learner: Any) -> None:
    """Labels of any hashable kind, kept as they are; announced ones come first and sorted."""
    if is_regressor(learner):
        return
    X, codes = _numbers(120)
    for labels in (["b", "a", "c"], [-5, 7, 100_000_000_000], [2.0, 1.0, 0.0], [("x", 1), ("y", 2), "z"], [1, "1", 2]):
        y = np.empty(len(codes), object)
        y[:] = [labels[code] for code in codes]
        it = clone(learner).partial_fit(X, y)
        assert set(it.classes_.tolist()) == set(labels), f"labels {labels} became {it.classes_}"
        assert all(label in labels for label in it.predict(X).tolist())
    it = clone(learner).partial_fit(X, codes == 1, classes=[True, False])
    assert it.classes_.tolist() == [False, True] and it.predict(X).dtype == bool
    it = clone(learner).partial_fit(X, codes, classes=[9, 1, 2])
    assert it.classes_.tolist() == [1, 2, 9, 0]
    alone = clone(learner).partial_fit(X[:5], [3] * 5)
    assert alone.predict(X[:2]).tolist() == [3, 3]


def check_parameters(learner: Any) -> None:
    """Bad parameters are refused when learning starts, by name; ``get_params`` gives back what was set."""
    assert _parameters(clone(learner)) == _parameters(learner)
    X, y = _for(learner, *_numbers(20))
    for name in type(learner)._constraints:
        it = clone(learner).set_params(**{name: object()})
        try:
            it.partial_fit(X, y)
        except (ValueError, TypeError) as error:
            assert name in str(error), f"the message about {name} does not name it: {error}"
        else:
            raise AssertionError(f"{name}=object() is taken")
        assert not it.__sklearn_is_fitted__()


def _parameters(learner: Any) -> dict[str, Any]:
    """All parameters, those of nested learners by their own names; the learners themselves only by their class."""
    params = learner.get_params()
    return {name: type(value) if isinstance(value, BaseEstimator) else value for name, value in params.items()}


def check_fit_forgets(learner: Any) -> None:
    """``fit`` starts afresh; if it raises, what was learned before stays."""
    X, y = _for(learner, *_numbers(200))
    it = _learned(learner, *_for(learner, *_rows(100)), None)
    state = it.to_bytes()
    try:
        it.fit(X, y[:-1])
    except ValueError:
        assert it.to_bytes() == state, "fit forgets before it has checked its input"
    else:
        raise AssertionError("fit takes fewer labels than rows")
    _same(it.fit(X, y), clone(learner).fit(X, y), "fit")


CHECKS: list[Callable[[Any], None]] = [
    check_chunk_law,
    check_just_before_and_after,
    check_thread_law,
    check_restart_law,
    check_purity,
    check_memory_law,
    check_missing_and_new,
    check_agreement,
    check_sparse_rows,
    check_labels,
    check_targets,
    check_parameters,
    check_fit_forgets,
]


def check_learner(learner: StreamLearner) -> None:
    """Run every check on a learner.

    Parameters
    ----------
    learner : StreamLearner
        Its parameters count; what it has learned does not.

    Raises
    ------
    AssertionError
        At the first law that is broken; the message says which, and where.

    Examples
    --------
    >>> from anabranch.dummy import NoChangeClassifier
    >>> from anabranch.testing import check_learner
    >>> check_learner(NoChangeClassifier())
    """
    if not isinstance(learner, (StreamClassifier, StreamRegressor)):
        raise TypeError(f"{type(learner).__name__} is neither a StreamClassifier nor a StreamRegressor.")
    for check in CHECKS:
        check(learner)
    assert _parameters(checkpoint.from_bytes(checkpoint.to_bytes(learner))) == _parameters(learner)


# ---------------------------------------------------------------------------------------------- change detectors

# Settings beyond the defaults under which a detector is checked too.
_DETECTOR_VARIANTS: dict[str, list[dict[str, Any]]] = {
    "ADWIN": [
        {"delta": 0.1, "clock": 1, "max_buckets": 1, "mode": "down"},
        {"max_buckets": 9, "min_window_length": 1, "clock": 7, "mode": "up"},
    ],
    "DDM": [{"min_values": 1, "warning_level": 1.0, "drift_level": 1.5}],
    "DDMOCI": [{"recall_decay": 0.9, "class_decay": 0.9, "drift_level": 6.0}, {"recall_decay": 1.0}],
    "EDDM": [{"min_errors": 5, "warning_level": 0.8, "drift_level": 0.7}],
    "HDDMA": [{"two_sided": False}, {"drift_confidence": 0.05, "warning_confidence": 0.1}],
    "HDDMW": [{"two_sided": True, "newest_weight": 0.1}],
    "KSWIN": [{"random_state": 1, "window_size": 40, "stat_size": 20, "alpha": 0.01}],
    "PageHinkley": [
        {"mode": "both", "threshold": 10.0, "rise_from": "zero"},
        {"mode": "down", "threshold": 5.0, "alpha": 1.0},
    ],
}


def all_detectors() -> list[type[DriftDetector]]:
    """Every public change detector of the library, found by walking the modules of :mod:`anabranch.drift`.

    Returns
    -------
    list of type
        Sorted by name.

    Examples
    --------
    >>> from anabranch.testing import all_detectors
    >>> [cls.__name__ for cls in all_detectors()][:3]
    ['ADWIN', 'DDM', 'DDMOCI']
    """
    from anabranch import drift

    return _defined(DriftDetector, drift)


def detector_variants() -> list[DriftDetector]:
    """Every detector of the library under its defaults, and under settings that bring out what else it can do."""
    found: list[DriftDetector] = []
    for cls in all_detectors():
        seed = {"random_state": 0} if "random_state" in inspect.signature(cls).parameters else {}
        found += [cls(**{**seed, **settings}) for settings in [{}, *_DETECTOR_VARIANTS.get(cls.__name__, [])]]
    return found


def _takes_pairs(detector: Any) -> bool:
    """Whether it watches what was and what was predicted, rather than values."""
    return len(inspect.signature(detector.update).parameters) == 2


def _sequences(detector: Any, n: int = 1500) -> Iterator[tuple[str, tuple[NDArray[Any], ...]]]:
    """Sequences as (name, arguments of ``update``): with no change, an abrupt one up and down, a gradual one."""
    rng = np.random.default_rng(5)
    place = np.arange(n) / n
    shapes = {
        "no change": np.full(n, 0.2),
        "abrupt": np.where(place < 0.4, 0.1, np.where(place < 0.7, 0.7, 0.2)),
        "gradual": 0.1 + 0.7 * np.clip(2.0 * place - 0.5, 0.0, 1.0),
        "constant": np.zeros(n),
    }
    for name, chance in shapes.items():
        errors = (rng.random(n) < chance).astype(np.float64)
        if _takes_pairs(detector):
            y = np.array(["often", "rare", "sometimes"])[
                (rng.random(n) < 0.3).astype(int) + (place > 0.5) * (errors > 0)
            ]
            yield f"pairs, {name}", (y, np.where(errors == 1.0, "none of them", y))
            continue
        yield f"errors, {name}", (errors,)
        numbers = np.clip(chance + rng.normal(0.0, 0.05, n), 0.0, 1.0)
        try:
            clone(detector).update(numbers[:5])
        except ValueError:  # takes errors alone
            continue
        yield f"numbers, {name}", (numbers,)


def _watched(detector: Any, columns: tuple[NDArray[Any], ...], sizes: Sequence[int] = (100,)) -> tuple[Any, list[int]]:
    """A fresh copy of the detector that has met the values, and where it fired."""
    result = clone(detector)
    fired: list[int] = []
    for cut in _cuts(len(columns[0]), sizes):
        fired += (cut.start + result.update(*(column[cut] for column in columns))).tolist()
    return result, fired


def check_detector_chunk_law(detector: Any) -> None:
    """Values one by one, in arrays of any sizes, or all at once: the same state, and drifts at the same values."""
    for name, columns in _sequences(detector):
        n = len(columns[0])
        whole, fired = _watched(detector, columns, [n])
        for sizes in ([1], [7, 1, 130, 2], [256]):
            it, others = _watched(detector, columns, sizes)
            _same(it, whole, f"{name}, arrays of {sizes}")
            assert others == fired, f"{name}: fires elsewhere in arrays of {sizes}"
        it, traced = clone(detector), clone(detector)
        levels = traced.trace(*columns)
        _same(traced, whole, f"{name}, trace")
        assert levels.dtype == np.int8 and np.flatnonzero(levels == 2).tolist() == fired, f"{name}: trace"
        for i, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            told = it.update(*row)
            assert isinstance(told, bool) and told == it.drift_detected == (levels[i] == 2), f"{name}: value {i}"
            assert it.warning_detected == (levels[i] == 1), f"{name}: warning at value {i}"
        _same(it, whole, f"{name}, one by one")
        assert it.n_detections_ == len(fired), f"{name}: n_detections_"
        empty = tuple(column[:0] for column in columns)
        assert it.update(*empty).tolist() == [] and it.trace(*empty).tolist() == []
        _same(it, whole, f"{name}, an empty array")


def check_detector_restart_law(detector: Any) -> None:
    """Saved, pickled or copied in mid-stream, a detector goes on as if nothing had been; ``reset`` forgets all."""
    ways: dict[str, Callable[[Any], Any]] = {
        "checkpoint": lambda it: type(it).from_bytes(it.to_bytes()),
        "pickle": lambda it: pickle.loads(pickle.dumps(it)),
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
    }
    for name, columns in _sequences(detector):
        for where in (0, 1, 700):
            first, rest = tuple(c[:where] for c in columns), tuple(c[where:] for c in columns)
            for way, make in ways.items():
                original, _ = _watched(detector, first) if where else (clone(detector), [])
                state = original.to_bytes()
                other = make(original)
                assert _parameters(other) == _parameters(original)
                _same(original, other, f"{name}: {way} at {where}")
                fired = other.update(*rest).tolist()
                assert original.to_bytes() == state, f"{name}: a {way} shares its state"
                assert original.update(*rest).tolist() == fired, f"{name}: {way} at {where}, then on"
                _same(original, other, f"{name}: {way} at {where}, then on")
        it, fired = _watched(detector, columns)
        assert it.reset() is it and it.n_detections_ == 0 and not it.drift_detected and not it.warning_detected
        _same(it, clone(detector), f"{name}: reset")
        assert it.update(*columns).tolist() == fired, f"{name}: after reset it fires elsewhere"


def check_detector_purity(detector: Any) -> None:
    """Looking changes nothing, inputs are not modified, what does not fit is refused and changes nothing."""
    for name, columns in _sequences(detector, 400):
        kept = copy.deepcopy(columns)
        for column in columns:
            column.flags.writeable = False
        it, _ = _watched(detector, columns)
        state = it.to_bytes()
        for attribute in dir(type(it)):
            if isinstance(getattr(type(it), attribute), property):
                getattr(it, attribute)
        repr(it)
        assert it.nbytes == sum(array.nbytes for array in _arrays(it)), f"{name}: nbytes does not count the arrays"
        assert it.to_bytes() == state, f"{name}: looking changes the state"
        assert all(map(np.array_equal, kept, columns)), f"{name}: an input was modified"
        for what, bad in _bad_values(it):
            for call in (it.update, it.trace):
                try:
                    call(*bad)
                except (ValueError, TypeError) as error:
                    assert len(str(error)) > 10, f"{what}: the message says nothing"
                else:
                    raise AssertionError(f"{name}: {call.__name__} takes {what}")
                assert it.to_bytes() == state, f"{name}: {call.__name__} of {what} raises, and changes the state"
    assert clone(detector).to_bytes() == detector.reset().to_bytes(), "refused input starts a detector"


def _bad_values(detector: Any) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Arguments that no detector may take, as (what, arguments)."""
    if _takes_pairs(detector):
        yield "fewer predictions than labels", (["a", "b"], ["a"])
        yield "two dimensions", ([["a"]], [["a"]])
        yield "a missing label", (["a", None], ["a", "a"])
        yield "a label that is NaN", (float("nan"), 1.0)
        yield "a label that cannot be hashed", ([{"a": 1}], ["a"])
        yield "masked labels", (np.ma.masked_array([1, 2], [False, True]), [1, 2])
        return
    for what, value in {
        "NaN": np.nan, "infinity": np.inf, "a number beyond all": -1e101, "a huge whole number": 10**400,
    }.items():  # fmt: skip
        yield what, (value,)
        yield f"{what} in an array", ([0.0, 1.0, value],)
    yield "None", (None,)
    yield "text", ("1.0",)
    yield "text in an array", (["0.0", "1.0"],)
    yield "a complex number", (1j,)
    yield "a date", (np.datetime64("2020-01-01"),)
    yield "two dimensions", ([[0.0, 1.0]],)
    yield "a masked array", (np.ma.masked_array([0.0, 1.0], [False, True]),)
    yield "a dict", ({"value": 1.0},)
    if detector._high <= 1.0:
        yield "a value out of range", (1.5,)
        yield "values out of range", ([0.0, -0.5],)


def check_detector_input(detector: Any) -> None:
    """Values of any kind of number, in any container; NaN is refused, or passed over as if it had not come."""
    name, columns = next(_sequences(detector))
    expected, fired = _watched(detector, columns, [len(columns[0])])
    kinds: list[Callable[[NDArray[Any]], Any]] = [
        np.ndarray.tolist,
        lambda c: tuple(c.tolist()),
        lambda c: c.astype(object),
    ]
    if not _takes_pairs(detector):
        kinds += [methodcaller("astype", kind) for kind in (np.float32, np.int64, np.uint8, np.bool_)]
        kinds.append(lambda c: np.repeat(c, 2)[::2])
    for kind in kinds:
        it = clone(detector)
        assert it.update(*map(kind, columns)).tolist() == fired
        _same(it, expected, f"{name}: other kinds of input")
        single = clone(detector)
        for row in zip(*map(kind, columns), strict=True):
            single.update(*row)
        _same(single, expected, f"{name}: other kinds of input, one by one")
    rng = np.random.default_rng(0)
    for name, columns in _sequences(detector):
        gaps = rng.random(len(columns[0])) < 0.3
        first: NDArray[Any] = columns[0].astype(object) if _takes_pairs(detector) else columns[0].copy()
        first[gaps] = None if _takes_pairs(detector) else np.nan
        holed = (first, *columns[1:])
        skipping = clone(detector).set_params(nan_policy="skip")
        without, fired = _watched(skipping, tuple(column[~gaps] for column in columns), [1000])
        it, there = _watched(skipping, holed, [1000])
        assert there == np.flatnonzero(~gaps)[fired].tolist(), f"{name}: with gaps it fires elsewhere"
        if not gaps[-1]:
            _same(it, without, f"{name}: gaps are not passed over")
        for sizes in ([1], [13, 400]):
            _same(_watched(skipping, holed, sizes)[0], it, f"{name} with gaps, arrays of {sizes}")
        one = clone(skipping)
        for row in zip(*holed, strict=True):
            one.update(*row)
        _same(one, it, f"{name} with gaps, one by one")


def check_detector_parameters(detector: Any) -> None:
    """Bad parameters are refused at the first value, by name, and when they are set later; nothing has changed then."""
    assert _parameters(clone(detector)) == _parameters(detector)
    _, columns = list(_sequences(detector, 200))[1]
    for name in {*type(detector)._constraints, "nan_policy"}:
        it = clone(detector).set_params(**{name: object()})
        try:
            it.update(*columns)
        except (ValueError, TypeError) as error:
            assert name in str(error), f"the message about {name} does not name it: {error}"
        else:
            raise AssertionError(f"{name}=object() is taken")
        assert not it.__sklearn_is_fitted__()
        it, _ = _watched(detector, columns)
        state = it.to_bytes()
        try:
            it.set_params(**{name: object()})
        except (ValueError, TypeError) as error:
            assert name in str(error), f"the message about {name} does not name it: {error}"
        else:
            raise AssertionError(f"{name}=object() is taken by a detector that has begun")
        assert it.to_bytes() == state, f"refusing {name} changes the detector"
        it.set_params(**{name: getattr(it, name)})
        assert it.to_bytes() == state, f"setting {name} to what it is changes the detector"


def check_detector_fires(detector: Any) -> None:
    """A change as large as can be is found, and a constant is none."""
    if _takes_pairs(detector):
        y = np.array([0, 0, 0, 1] * 1000)
        wrong = np.arange(4000) % 40 == 39  # a tenth of the rare class
        wrong[2000:] = True
        fired = clone(detector).update(y, np.where(wrong, 9, y))
    else:
        rng = np.random.default_rng(0)
        values = (rng.random(4000) < 0.1).astype(np.float64)
        values[2000:] = rng.random(2000) < 0.9
        down = "down" in detector.get_params().values()
        fired = clone(detector).update(1.0 - values if down else values)
        assert clone(detector).update(np.zeros(1000)).size == 0, "fires on a constant"
    assert ((fired >= 2000) & (fired < 3000)).any(), f"does not fire within 1000 values of a change, but at {fired}"


DETECTOR_CHECKS: list[Callable[[Any], None]] = [
    check_detector_chunk_law,
    check_detector_restart_law,
    check_detector_purity,
    check_detector_input,
    check_detector_parameters,
    check_detector_fires,
]


def check_detector(detector: DriftDetector) -> None:
    """Run every check on a change detector.

    Parameters
    ----------
    detector : DriftDetector
        Its parameters count, a seed among them if it draws random numbers; what it has met does not.

    Raises
    ------
    AssertionError
        At the first law that is broken; the message says which, and where.

    Examples
    --------
    >>> from anabranch.drift import DDM
    >>> from anabranch.testing import check_detector
    >>> check_detector(DDM())
    """
    if not isinstance(detector, DriftDetector):
        raise TypeError(f"{type(detector).__name__} is no DriftDetector.")
    for check in DETECTOR_CHECKS:
        check(clone(detector))
