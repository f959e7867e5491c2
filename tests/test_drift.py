"""Change detectors: every law on every one of them, and each against its slow reference."""

from __future__ import annotations

import copy
import math
import threading
from fractions import Fraction

import numpy as np
import pytest
import reference_drift as reference
from scipy.stats import ks_2samp
from sklearn.base import clone

from anabranch import checkpoint, drift
from anabranch.drift import ADWIN, DDM, DDMOCI, EDDM, HDDMA, HDDMW, KSWIN, DriftDetector, PageHinkley
from anabranch.drift.kswin import _p_value
from anabranch.testing import DETECTOR_CHECKS, all_detectors, check_detector, detector_variants


@pytest.mark.parametrize("check", DETECTOR_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("detector", detector_variants(), ids=lambda detector: repr(detector).replace("\n", "")[:80])
def test_law(detector, check):
    check(detector)


def test_registry_misses_no_detector():
    def below(cls):
        for sub in cls.__subclasses__():
            yield sub
            yield from below(sub)

    ours = {cls for cls in below(DriftDetector) if cls.__module__.startswith("anabranch.")}
    assert ours - {drift.base.CompiledDetector} == set(all_detectors())
    assert {cls.__name__ for cls in all_detectors()} | {"DriftDetector"} == set(drift.__all__)


# ---------------------------------------------------------------------------------------------- references


def sequences(n=6000):
    """Means of a stream over time; errors and numbers are made of them."""
    place = np.arange(n) / n
    yield np.full(n, 0.2)
    yield np.where(place < 0.3, 0.1, np.where(place < 0.6, 0.5, 0.25))
    yield 0.1 + 0.6 * np.clip(2 * place - 0.5, 0, 1)
    yield np.full(n, 0.003)
    yield 0.3 + 0.25 * np.sin(20 * place)


VALUES = {
    "errors": lambda mean, rng: (rng.random(len(mean)) < mean).astype(float),
    "numbers": lambda mean, rng: np.clip(mean + rng.normal(0, 0.15, len(mean)), 0, 1),
}
CASES = [
    ("ADWIN", {}),
    ("ADWIN", {"delta": 0.3, "clock": 1, "max_buckets": 2, "min_window_length": 1, "grace_period": 3}),
    ("ADWIN", {"max_buckets": 1, "mode": "down"}),
    ("ADWIN", {"mode": "up"}),
    ("ADWIN", {"clock": 5, "max_buckets": 11, "grace_period": 200}),
    ("DDM", {}),
    ("DDM", {"min_values": 5, "warning_level": 1.0, "drift_level": 1.5}),
    ("EDDM", {}),
    ("EDDM", {"min_errors": 10, "warning_level": 0.8, "drift_level": 0.7}),
    ("HDDMA", {}),
    ("HDDMA", {"two_sided": False, "drift_confidence": 0.02, "warning_confidence": 0.1}),
    ("HDDMW", {}),
    ("HDDMW", {"two_sided": True, "newest_weight": 0.2, "drift_confidence": 0.02, "warning_confidence": 0.1}),
    ("PageHinkley", {}),
    ("PageHinkley", {"mode": "both", "threshold": 8.0, "delta": 0.02, "alpha": 0.999}),
    ("PageHinkley", {"mode": "down", "threshold": 8.0, "min_values": 100}),
    ("PageHinkley", {"mode": "both", "threshold": 8.0, "rise_from": "zero"}),
]


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=str)
def test_levels_are_the_references(name, parameters):
    rng = np.random.default_rng(11)
    met = set()
    for mean in sequences():
        for kind, make in VALUES.items():
            if name == "EDDM" and kind == "numbers":
                continue
            values = make(mean, rng)
            slow = getattr(reference, name)(**parameters)
            expected = [slow.step(value) for value in values.tolist()]
            told = getattr(drift, name)(**parameters).trace(values).tolist()
            assert told == expected, kind
            met.update(told)
    assert met == ({0, 2} if name in ("ADWIN", "PageHinkley") else {0, 1, 2}), "not all that can be said was said"


def test_adwin_takes_numbers_of_any_size():
    rng = np.random.default_rng(0)
    for scale, offset in ((1e-9, 0.0), (1e6, -1e8), (1e90, 0.0), (1.0, 1e12)):
        values = offset + scale * np.concatenate([rng.normal(0, 1, 2000), rng.normal(2, 1, 2000)])
        slow, fast = reference.ADWIN(), ADWIN()
        assert fast.trace(values).tolist() == [slow.step(value) for value in values.tolist()]
        assert fast.width_ == slow.width
        assert fast.mean_ == slow.total / slow.width
        assert fast.variance_ == pytest.approx(slow.variance / slow.width, rel=1e-9)


def test_adwin_keeps_a_window_of_logarithmic_size():
    detector = ADWIN()
    rng = np.random.default_rng(1)
    assert detector.update(rng.random(300_000)).size == 0
    assert detector.width_ == 300_000
    assert detector.nbytes < 2500
    assert detector.mean_ == pytest.approx(0.5, abs=0.01)
    assert detector.variance_ == pytest.approx(1 / 12, abs=0.001)
    fresh = ADWIN()
    assert fresh.width_ == 0
    assert np.isnan(fresh.mean_)
    assert np.isnan(fresh.variance_)


def test_ddm_oci_is_the_reference():
    rng = np.random.default_rng(2)
    met = set()
    for parameters in ({}, {"recall_decay": 0.9, "class_decay": 0.9}, {"min_examples": 3, "drift_level": 2.5}):
        for mean in sequences():
            n = len(mean)
            y = np.array(["a", "b", "c"])[np.where(rng.random(n) < 0.2, 1 + (np.arange(n) > n // 2), 0)]
            guess = np.where(rng.random(n) < mean, "other", y)
            slow, fast = reference.DDMOCI(**parameters), DDMOCI(**parameters)
            told = fast.trace(y, guess).tolist()
            assert told == [slow.step(pair) for pair in zip(y.tolist(), guess.tolist(), strict=True)]
            met.update(told)
            sizes = np.array([slow.sizes[label] for label in fast.classes_])
            np.testing.assert_allclose(fast.class_sizes_, sizes / sizes.sum(), rtol=1e-12)
            recalls = [slow.hits[c] / slow.weights[c] if c in slow.hits else np.nan for c in fast.classes_]
            np.testing.assert_array_equal(fast.recalls_, recalls)
    assert met == {0, 1, 2}


def test_ddm_oci_sees_what_the_error_rate_hides():
    """The rare class goes from found to missed, and the common one from partly to always found: as many errors."""
    rng = np.random.default_rng(3)
    n = 20_000
    y = (rng.random(n) < 0.05).astype(int)
    miss = np.where(y == 1, np.where(np.arange(n) < n // 2, 0.1, 0.8), np.where(np.arange(n) < n // 2, 0.05, 0.013))
    guess = np.where(rng.random(n) < miss, 1 - y, y)
    assert HDDMA().update(y != guess).size == 0
    fired = DDMOCI().update(y, guess)
    assert len(fired) == 1
    assert n // 2 < fired[0] < n // 2 + 1500


def test_kswin_is_scipys_test_on_the_same_sample():
    rng = np.random.default_rng(4)
    mask = (1 << 64) - 1
    fired = 0
    for parameters in ({}, {"alpha": 0.02, "window_size": 50, "stat_size": 20}):
        for digits in (9, 1):  # few digits make equal values
            values = np.concatenate([rng.normal(0, 1, 250), rng.normal(0, 3, 250)]).round(digits)
            detector = KSWIN(random_state=3, **parameters)
            detector.update([])
            seed, draws = int(detector._state[2]), 0

            def uniform(seed=seed):
                nonlocal draws
                draws += 1
                z = (seed * 0x94D049BB133111EB + draws * 0x9E3779B97F4A7C15) & mask
                z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
                z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
                return ((z ^ (z >> 31)) >> 11) * 2.0**-53

            slow = reference.KSWIN(uniform, **parameters)
            for value in values.tolist():
                level = slow.step(value)
                assert detector.update(value) == (level == 2)
                if level == 0:
                    np.testing.assert_allclose(detector.p_value_, slow.p_value, rtol=1e-12)
                fired += level == 2
    assert fired > 3


@pytest.mark.parametrize("n", [1, 2, 7, 30, 100])
def test_p_values_are_exact(n):
    for h in range(n + 1):
        paths = sum((-1) ** (k - 1) * math.comb(2 * n, n - k * h) for k in range(1, n // h + 1)) if h else 0
        expected = float(Fraction(2 * paths, math.comb(2 * n, n))) if h else 1.0
        assert _p_value(n, h) == pytest.approx(expected, rel=1e-12)
        if h > 1:  # SciPy's own sum comes out above 1 by rounding at times, and it falls back on an approximation
            distance, p = ks_2samp(np.arange(n), np.arange(n) + h, method="exact")[:2]
            assert round(distance * n) == h
            assert _p_value(n, h) == pytest.approx(p, rel=1e-12)


def test_kswin_draws_every_sample_alike():
    """Each of the older values is in the sample equally often: looked at through the distance it makes."""
    values = np.arange(10.0)
    counts = np.zeros(3)
    for seed in range(3000):
        detector = KSWIN(window_size=4, stat_size=1, random_state=seed, alpha=1e-9)
        detector.update([values[0], values[5], values[9], values[7]])  # two of the older are below, one above
        counts[int(detector._state[4])] += 1
    assert counts[1] == 3000  # a sample of one is always one apart
    shares = []
    for seed in range(3000):
        detector = KSWIN(window_size=6, stat_size=2, random_state=seed, alpha=1e-9)
        detector.update([1.0, 2.0, 8.0, 9.0, 5.0, 6.0])
        shares.append(detector._state[4])
    # Both below, or both above: 2 of the 6 pairs, at distance 2; one of each: at distance 1.
    assert np.mean(np.array(shares) == 2) == pytest.approx(1 / 3, abs=0.03)


# ---------------------------------------------------------------------------------------------- the rest


def test_false_alarms_are_as_rare_as_promised():
    rng = np.random.default_rng(5)
    runs = 200
    fired = dict.fromkeys(("ADWIN", "HDDMA"), 0)
    for _ in range(runs):
        values = (rng.random(2000) < 0.2).astype(float)
        for name in fired:
            fired[name] += getattr(drift, name)().update(values).size > 0
    assert fired["ADWIN"] <= 0.05 * runs
    assert fired["HDDMA"] <= 0.2 * runs


@pytest.mark.parametrize(
    ("detector", "message"),
    [
        (DDM(warning_level=4.0), "warning_level must not be above drift_level"),
        (DDMOCI(warning_level=4.0), "warning_level must not be above drift_level"),
        (EDDM(warning_level=0.5), "warning_level must not be below drift_level"),
        (HDDMA(warning_confidence=1e-5), "warning_confidence must not be below drift_confidence"),
        (HDDMW(newest_weight=1.0), "newest_weight must be a number above 0 and below 1"),
        (KSWIN(stat_size=51), "stat_size must be at most half of window_size, got 51 and 100"),
        (ADWIN(delta=0), "delta must be a number above 0"),
        (PageHinkley(mode="upp"), "Did you mean 'up'"),
        (DDM(nan_policy="omit"), "nan_policy must be one of 'raise', 'skip'"),
    ],
    ids=repr,
)
def test_parameters_that_do_not_go_together(detector, message):
    arguments = ([0, 1], [0, 1]) if isinstance(detector, DDMOCI) else ([0.0, 1.0],)
    with pytest.raises(ValueError, match=message):
        detector.update(*arguments)
    assert not detector.__sklearn_is_fitted__()


def test_what_the_state_depends_on_cannot_be_changed_on_the_way():
    detector = KSWIN(random_state=0)
    detector.update([1.0, 2.0])
    with pytest.raises(ValueError, match=r"window_size cannot be changed once values have come in: call reset\(\)"):
        detector.set_params(window_size=200)
    assert detector.window_size == 100
    detector.set_params(alpha=0.1).reset().set_params(window_size=200).update([1.0])
    assert detector._size() == len(detector._state)


def test_new_parameters_hold_from_the_next_value_on():
    values = np.concatenate([np.zeros(500), np.ones(20)]) + np.random.default_rng(0).normal(0, 0.01, 520)
    detector = PageHinkley(threshold=1e9)
    assert detector.update(values).size == 0
    detector.set_params(threshold=1.0)
    assert detector.update(1.0)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "DDM: got NaN. Leave such values out, or have them passed over with nan_policy='skip'"),
        ([0, 1, np.nan], r"DDM: values\[2\] is NaN"),
        ([0, 1.5], r"DDM takes numbers from 0 to 1 \(scale others by their range\); values\[1\] is 1.5"),
        (-1, "DDM takes numbers from 0 to 1 .*; got -1"),
        ("wrong", "DDM takes numbers, got 'wrong'"),
        ([[0]], r"DDM takes a number or an array of shape \(n,\), got \(1, 1\)"),
    ],
)
def test_messages(value, message):
    for start in ([], [0.0]):
        detector = DDM()
        detector.update(start)
        with pytest.raises((ValueError, TypeError), match=message):
            detector.update(value)


def test_eddm_takes_nothing_but_errors():
    with pytest.raises(ValueError, match="EDDM takes 0 and 1 only"):
        EDDM().update(0.5)


def test_a_gap_ends_a_drift_and_not_a_warning():
    detector = DDM(nan_policy="skip")
    detector.update(np.zeros(40))
    assert detector.update(1.0)
    assert detector.drift_detected
    assert detector.update(np.nan) is False
    assert not detector.drift_detected
    errors = (np.random.default_rng(0).random(3000) < np.linspace(0.1, 0.3, 3000)).astype(float)
    levels = DDM().trace(errors)
    at = int(np.argmax(levels == 1))
    detector.reset().update(errors[: at + 1])
    detector.update(np.nan)
    assert detector.warning_detected


def test_one_thread_at_a_time():
    class Slow(DriftDetector):
        def _begin(self):
            self.inside, self.go = threading.Event(), threading.Event()

        def _step(self, value):
            self.inside.set()
            self.go.wait(10)
            return 0

    detector = Slow()
    detector.update([])
    thread = threading.Thread(target=detector.update, args=([1.0],))
    thread.start()
    assert detector.inside.wait(10)
    for value in (1.0, [1.0]):
        with pytest.raises(RuntimeError, match="Another thread is learning on this Slow"):
            detector.update(value)
    detector.go.set()
    thread.join()
    assert detector.update(1.0) is False


class Streak(DriftDetector):
    """Somebody else's detector, in Python."""

    def __init__(self, length=5, nan_policy="raise"):
        self.length = length
        self.nan_policy = nan_policy

    def _begin(self):
        self.run = np.zeros(1)

    def _step(self, value):
        self.run[0] = self.run[0] + 1 if value > 0.6 else 0
        if self.run[0] < self.length:
            return int(self.run[0] >= self.length - 1)
        self.run[0] = 0
        return 2


def test_detectors_in_python_keep_the_laws():
    check_detector(Streak())
    with pytest.raises(AssertionError, match="does not fire"):
        check_detector(Streak(length=10_000))


def test_a_law_that_is_broken_is_found():
    class Forgetful(Streak):
        def __getstate__(self):
            return super().__getstate__() | {"run": np.zeros(1)}

        __checkpoint__ = __getstate__

    class Greedy(Streak):
        def _take(self, values, levels):
            super()._take(values, levels)
            self.run[0] = len(values)

    for broken in (Forgetful(), Greedy()):
        with pytest.raises(AssertionError):
            check_detector(broken)


@pytest.mark.parametrize("detector", detector_variants()[::2], ids=lambda detector: type(detector).__name__)
def test_states_that_are_none_are_refused(detector):
    pairs = isinstance(detector, DDMOCI)
    detector.update(*(([0, 1] * 60, [0, 1] * 60) if pairs else ([0.0, 1.0] * 60,)))
    whole = detector._state
    for state in (whole[:-1], whole.astype(np.float32), whole.reshape(1, -1), None, np.full_like(whole, 1e18)):
        broken = copy.deepcopy(detector)
        broken._state = state
        if state is not None and state.shape == whole.shape and state.dtype == whole.dtype:
            if type(detector) not in (ADWIN, KSWIN):
                continue  # nothing in it is a place: whatever it holds, no harm is done
        elif isinstance(state, np.ndarray) and state.shape == (len(whole) - 1,) and len(whole) <= 1:
            continue
        with pytest.raises(checkpoint.CheckpointError):
            type(detector).from_bytes(broken.to_bytes())


def test_clone_and_repr():
    detector = ADWIN(delta=0.01)
    detector.update([1.0])
    assert repr(detector) == "ADWIN(delta=0.01)"
    assert clone(detector).delta == 0.01
    assert not clone(detector).__sklearn_is_fitted__()
