"""Learners for haphazard rows: held to plain references, to their promises, and to baselines on real data."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from reference_evolving import OCDS, OLSF, OLVF, OPID

from anabranch.checkpoint import CheckpointError
from anabranch.dummy import MajorityClassClassifier
from anabranch.evolving import OCDSClassifier, OLSFClassifier, OLVFClassifier, OPIDClassifier
from anabranch.evolving.ocds import _edges
from anabranch.kernels.haphazard import Model
from anabranch.linear_model import OGDClassifier

LEARNERS = [OCDSClassifier, OLSFClassifier, OLVFClassifier, OPIDClassifier]
PLAIN = {"scaling": "none", "fit_intercept": False}


def haphazard_rows(n, seed=0, gaps=0.3):
    """Rows of twelve columns, of which some come late, some vanish for good, and some values are missing."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(12)
    rows, labels = [], []
    for i in range(n):
        x = rng.standard_normal(12)
        labels.append(1 if x @ truth + 0.5 * rng.standard_normal() > 0 else -1)
        first, last = (0, 8) if i < n // 3 else (0, 10) if i < n // 2 else (4, 12)
        rows.append({f"c{j:02d}": float(x[j]) for j in range(first, last) if rng.random() >= gaps} or {"c07": 0.0})
    weights = rng.exponential(1.0, n) * (rng.random(n) > 0.1)
    return rows, labels, weights


def assert_follows(learner, reference, rows, labels, weights, tolerance):
    """Scores just before each row, in the middle and at the end, are the reference's."""
    # Announced, so that class 1 is the one that speaks.
    learner.partial_fit(rows[:1], labels[:1], classes=[-1, 1], sample_weight=weights[:1])
    if weights[0] > 0.0:
        reference.learn(rows[0], labels[0], weights[0])
    compared = 0
    for i in range(1, len(rows)):
        got, expected = learner.decision_function(rows[i : i + 1])[0], reference.score(rows[i])
        assert got == pytest.approx(expected, rel=tolerance, abs=tolerance), f"row {i}"
        compared += expected != 0.0
        learner.learn_one(rows[i], labels[i], weights[i])
        if weights[i] > 0.0:
            reference.learn(rows[i], labels[i], weights[i])
    assert compared > len(rows) // 2


@pytest.mark.parametrize("variant", ["OLSF", "OLSF-I", "OLSF-II"])
@pytest.mark.parametrize(("radius", "share"), [(30.0, 1.0), (1.5, 0.64)])
def test_olsf_is_the_reference(variant, radius, share):
    settings = {"variant": variant, "C": 0.5, "radius": radius, "share": share}
    assert_follows(OLSFClassifier(**settings, **PLAIN), OLSF(**settings), *haphazard_rows(400), 1e-9)


@pytest.mark.parametrize(("radius", "share"), [(30.0, 1.0), (0.3, 0.5)])
def test_olvf_is_the_reference(radius, share):
    settings = {"C": 0.5, "C_space": 0.2, "radius": radius, "share": share}
    assert_follows(OLVFClassifier(**settings, **PLAIN), OLVF(**settings), *haphazard_rows(400), 1e-9)


@pytest.mark.parametrize(("alpha", "beta2", "share"), [(100.0, 0.0, 1.0), (1.0, 0.01, 0.6)])
def test_ocds_is_the_reference(alpha, beta2, share):
    settings = {"alpha": alpha, "beta1": 0.001, "beta2": beta2, "period": 8, "share": share}
    learner = OCDSClassifier(learning_rate=0.3, random_state=3, **settings, **PLAIN)
    learner._start()
    reference = OCDS(lambda n: _edges(learner._seed, n), rate=0.3, **settings)
    assert_follows(OCDSClassifier(learning_rate=0.3, random_state=3, **settings, **PLAIN), reference,
                   *haphazard_rows(300), 1e-7)  # fmt: skip


@pytest.mark.parametrize("patience", [3, 1000])
def test_opid_is_the_reference(patience):
    settings = {"alpha": 2.0, "ridge": 0.5, "inherit": 5.0, "patience": patience}
    assert_follows(OPIDClassifier(**settings, **PLAIN), OPID(**settings), *haphazard_rows(250), 1e-8)


def test_several_classes_are_learned_one_against_the_rest():
    """From announced classes on, class c's score is that of a learner of c and not c."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    X[rng.random(X.shape) < 0.2] = np.nan
    y = np.nan_to_num(X[:, :3]).argmax(axis=1)
    for cls in LEARNERS:
        seed = {"random_state": 1} if cls is OCDSClassifier else {}
        together = cls(**seed).partial_fit(X, y, classes=[0, 1, 2]).decision_function(X)
        for c in range(3):
            alone = cls(**seed).partial_fit(X, (y == c).astype(int), classes=[0, 1]).decision_function(X)
            np.testing.assert_allclose(together[:, c], alone, rtol=1e-12, err_msg=f"{cls.__name__}, class {c}")


def test_a_third_class_changes_no_prediction_of_two():
    X = np.random.default_rng(0).standard_normal((100, 4))
    y = (X[:, 0] > 0).astype(int)
    for cls in LEARNERS:
        learner = cls(**({"random_state": 1} if cls is OCDSClassifier else {})).partial_fit(X, y)
        before = learner.decision_function(X)
        learner.partial_fit(X[:1] * 0.0, [2], sample_weight=[1e-12])
        after = learner.decision_function(X)
        np.testing.assert_allclose(after[:, 1], before, atol=1e-6)
        np.testing.assert_allclose(after[:, 0], -before, atol=1e-6)


def test_edges_do_not_depend_on_how_many_there_are():
    assert np.array_equal(_edges(7, 40)[:9, :9], _edges(7, 9))
    edges = _edges(7, 100)
    assert edges.min() >= 0.0
    assert edges.max() < 1.0
    assert abs(edges.mean() - 0.5) < 0.02
    assert len(np.unique(edges)) == 10_000


def test_graph_rebuilds_what_a_row_lacks():
    """Two columns that say the same: one alone is enough, though its own weight was never needed."""
    rng = np.random.default_rng(0)
    learner = OCDSClassifier(random_state=0)
    for _ in range(500):
        sign = 1.0 if rng.random() < 0.5 else -1.0
        learner.learn_one({"a": sign + 0.1 * rng.standard_normal(), "b": sign + 0.1 * rng.standard_normal()}, sign)
    assert learner.predict([{"a": 1.0}, {"a": -1.0}, {"b": 1.0}, {"b": -1.0}]).tolist() == [1.0, -1.0, 1.0, -1.0]


def test_bound_of_the_graph():
    X = np.random.default_rng(0).standard_normal((60, 30))
    y = (X[:, 0] > 0).astype(int)
    whole = OCDSClassifier(random_state=0).partial_fit(X, y)
    bounded = OCDSClassifier(random_state=0, max_graph=5).partial_fit(X, y)
    assert whole.nbytes - bounded.nbytes == 8 * (31**2 - 5**2)
    with pytest.raises(ValueError, match="max_graph"):
        bounded.set_params(max_graph=9)


def test_vanished_columns_are_compressed_into_surviving_ones():
    """What the old column said reaches the surviving one at the very row at which it is replaced."""
    rng = np.random.default_rng(1)
    sign = np.where(rng.random(400) < 0.5, 1.0, -1.0)
    old, kept = sign, sign + 0.3 * rng.standard_normal(400)
    learner = OPIDClassifier()
    learner.partial_fit([{"old": o, "kept": k} for o, k in zip(old, kept, strict=True)], sign)
    before = dict(zip(learner.feature_names_in_, learner.coef_[0], strict=True))
    assert abs(before["kept"]) < 0.2 * abs(before["old"])  # the old one says it all
    learner.learn_one({"kept": kept[0], "new": 0.0}, sign[0])
    after = dict(zip(learner.feature_names_in_, learner.coef_[0], strict=True))
    assert after["old"] == 0.0
    assert abs(after["kept"]) > 0.7


def test_a_value_missing_now_and_then_is_no_change():
    rows = [{"a": float(i % 2), "b": float(i % 3)} for i in range(60)]
    whole = OPIDClassifier(patience=5).partial_fit(rows, [i % 2 for i in range(60)])
    state = whole._arrays
    whole.partial_fit([{"a": 1.0}] * 4, [1] * 4)
    assert whole.coef_[0, 1] != 0.0
    assert Model(*whole._arrays).columns[2].tolist() == [1.0, 1.0, 1.0]
    whole.learn_one({"a": 1.0}, 1)
    assert whole.coef_[0, 1] == 0.0
    assert Model(*whole._arrays).columns[2].tolist() == [1.0, 1.0, 0.0]
    assert state is whole._arrays


def test_truncation_keeps_the_largest():
    X = np.random.default_rng(0).standard_normal((500, 20))
    y = (X[:, 3] - X[:, 7] > 0).astype(int)
    for cls in (OLSFClassifier, OLVFClassifier):
        coef = cls(C=1.0, share=0.2).partial_fit(X, y).coef_[0]
        assert np.count_nonzero(coef) <= 4
        assert {3, 7} <= set(np.flatnonzero(coef))


def test_l1_norm_stays_within_the_radius():
    X = np.random.default_rng(0).standard_normal((300, 20))
    learner = OLSFClassifier(radius=0.5, variant="OLSF", scaling="none")
    for i in range(300):
        learner.partial_fit(X[i : i + 1], [int(X[i, 0] > 0)])
        assert np.abs(learner.coef_).sum() + abs(learner.intercept_[0]) <= 0.5 * (1 + 1e-12)


@pytest.mark.parametrize("cls", LEARNERS)
def test_settings_that_cannot_change(cls):
    learner = cls().partial_fit([[1.0], [2.0]], [0, 1])
    for name, value in (("scaling", "max_abs"), ("fit_intercept", False)):
        with pytest.raises(ValueError, match=name):
            learner.set_params(**{name: value})
    learner.set_params(scaling="standard", fit_intercept=True)


@pytest.mark.parametrize("cls", LEARNERS)
def test_altered_states_are_refused(cls):
    learner = cls().partial_fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
    for place in range(len(learner._arrays)):
        state = dict(learner.__checkpoint__())
        state["_arrays"] = [a if k != place else np.zeros((7, 7)) for k, a in enumerate(learner._arrays)]
        with pytest.raises(CheckpointError, match="does not fit"):
            cls.__new__(cls).__restore__(state)


# ---------------------------------------------------------------------------------------------- real data

DATA = Path(os.environ.get("ANABRANCH_DATA", "data")) / "fesl"


def real(name):
    table = np.genfromtxt(DATA / f"{name}.csv", delimiter=",", names=True)
    X = np.column_stack([table[c] for c in table.dtype.names if c.startswith("X1_")])
    order = table["perm_1"].astype(int) - 1
    return X[order], table["label"][order].astype(int)


def trapezoid(X, rng, parts=10):
    """Columns come one tenth of the rows after another."""
    n, d = X.shape
    order = rng.permutation(d)
    Z = np.full_like(X, np.nan)
    for k, rows in enumerate(np.array_split(np.arange(n), parts)):
        columns = order[: max(1, (k + 1) * d // parts)]
        Z[np.ix_(rows, columns)] = X[np.ix_(rows, columns)]
    return Z


def capricious(X, rng):
    """Half of all values are not there."""
    return np.where(rng.random(X.shape) < 0.5, np.nan, X)


def replaced(X, rng):
    """After half the rows a third of the columns is replaced by another third."""
    n, d = X.shape
    order = rng.permutation(d)
    Z = X.copy()
    Z[: n // 2, order[2 * d // 3 :]] = np.nan
    Z[n // 2 :, order[: d // 3]] = np.nan
    return Z


def hits(learner, X, y):
    told = learner.test_then_train(X, y)
    return learner.classes_[told.argmax(axis=1)] == y


@pytest.mark.skipif(not DATA.is_dir(), reason="the real data sets are not at hand")
@pytest.mark.parametrize(
    ("cls", "shape", "margin"),
    [
        (OLSFClassifier, trapezoid, 0.12),
        (OLVFClassifier, capricious, 0.12),
        (OCDSClassifier, capricious, 0.12),
        (OPIDClassifier, replaced, 0.12),
    ],
)
def test_far_better_than_the_majority_class(cls, shape, margin):
    """On australian and kr-vs-kp, over three masks: the margin is about half of what was measured."""
    for name in ("australian", "kr-vs-kp"):
        X, y = real(name)
        gains = []
        for seed in range(3):
            Z = shape(X, np.random.default_rng(seed))
            learner = cls(**({"random_state": seed} if cls is OCDSClassifier else {}))
            gains.append(hits(learner, Z, y).mean() - hits(MajorityClassClassifier(), Z, y).mean())
        assert np.mean(gains) > margin, f"{name}: {gains}"


@pytest.mark.skipif(not DATA.is_dir(), reason="the real data sets are not at hand")
@pytest.mark.parametrize(
    ("cls", "shape", "margin"),
    [
        (OLSFClassifier, trapezoid, 0.04),
        (OLVFClassifier, trapezoid, 0.04),
        (OLVFClassifier, capricious, 0.03),
        (OCDSClassifier, capricious, 0.025),
        (OPIDClassifier, replaced, 0.01),
    ],
)
def test_better_than_starting_again(cls, shape, margin):
    """Just after the change, what was learned before it is worth more than a fresh start by online gradient descent."""
    gains = []
    for name in ("german", "australian", "kr-vs-kp"):
        X, y = real(name)
        half, some = len(y) // 2, len(y) // 8
        for seed in range(3):
            Z = shape(X, np.random.default_rng(seed))
            learner = cls(**({"random_state": seed} if cls is OCDSClassifier else {}))
            ours = hits(learner, Z, y)[half : half + some].mean()
            again = hits(OGDClassifier(scaling="standard"), Z[half:], y[half:])[:some].mean()
            gains.append(ours - again)
    assert np.mean(gains) > margin, gains  # about half of what was measured


@pytest.mark.parametrize("cls", LEARNERS)
def test_sparse_rows_are_written_out_a_part_at_a_time(cls, monkeypatch):
    """And what comes out are the rows of an array, with what is absent among them."""
    rng = np.random.default_rng(5)
    X = np.where(rng.random((90, 12)) < 0.3, rng.standard_normal((90, 12)), 0.0)
    X[:40, 8:] = np.nan  # columns that come later, and gaps
    X[rng.random(X.shape) < 0.05] = np.nan
    y = rng.integers(0, 3, 90)
    settings = {"random_state": 1} if cls is OCDSClassifier else {}
    rows, whole = sp.csr_array(X), cls(**settings).fit(X, y)
    monkeypatch.setattr("anabranch.evolving._haphazard._MOST_VALUES", 100)
    parts = cls(**settings)
    assert np.array_equal(parts.test_then_train(rows, y), cls(**settings).test_then_train(X, y))
    assert parts.fit(rows, y).to_bytes() == whole.to_bytes()
    assert np.array_equal(parts.predict_proba(rows), whole.predict_proba(X))
    assert np.array_equal(parts.decision_function(rows), whole.decision_function(X))


@pytest.mark.parametrize("cls", [OLSFClassifier, OLVFClassifier])
def test_wide_sparse_rows_stay_small(cls):
    rng = np.random.default_rng(0)
    n, d = 1000, 10_000
    X = sp.csr_array(sp.random(n, d, 0.001, "csr", rng=rng))
    y = X[:, :1000].sum(axis=1) > 0.5
    tracemalloc.start()
    learner = cls(scaling="max_abs").fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6 < n * d * 8
    assert learner.nbytes < 1e6
