"""Change detectors: where they fire against MOA's, and how fast they are against River's.

First, MOA's detectors and ours are given the same sequences (no change, abrupt and gradual changes, waves; errors and
numbers), value by value and with equal parameters, and have to say the same of every value: nothing, a warning, a
drift.

Then each detector takes in a stream whose mean changes every 5000 values: ours over arrays of 1000 values and one by
one, River's one by one, each asked at every value whether there was a drift. Parameters are equal. River's ADWIN
empties its window at a drift, its KSWIN too; else all keep the same state. The column *drifts* counts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any

import _harness as harness
import numpy as np
from numpy.typing import NDArray

ROWS, FEW, CHUNK = 200_000, 5_000, 1000

# Ours, MOA's class, MOA's options that differ from its defaults.
IN_MOA: list[tuple[str, dict[str, Any], str, str]] = [
    ("ADWIN", {}, "ADWIN", ""),
    ("ADWIN", {"mode": "up"}, "ADWINChangeDetector", ""),
    ("ADWIN", {"mode": "up", "delta": 0.05}, "ADWINChangeDetector", "-a 0.05"),
    ("DDM", {}, "DDM", ""),
    ("DDM", {"min_values": 100, "warning_level": 1.5, "drift_level": 2.5}, "DDM", "-n 100 -w 1.5 -o 2.5"),
    ("EDDM", {}, "EDDM", ""),
    ("HDDMA", {}, "HDDM_A_Test", ""),
    ("HDDMA", {"two_sided": False, "drift_confidence": 0.01, "warning_confidence": 0.05}, "HDDM_A_Test",
     "-d 0.01 -w 0.05 -t One-sided"),
    ("HDDMW", {}, "HDDM_W_Test", ""),
    ("HDDMW", {"two_sided": True, "newest_weight": 0.1}, "HDDM_W_Test", "-m 0.1 -t Two-sided"),
    ("PageHinkley", {"rise_from": "zero"}, "PageHinkleyDM", ""),
    ("PageHinkley", {"rise_from": "zero", "threshold": 10.0, "delta": 0.02, "min_values": 100}, "PageHinkleyDM",
     "-l 10 -d 0.02 -n 100"),
]  # fmt: skip


def sequences(n: int) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Sequences from 0 to 1 by their names."""
    rng = np.random.default_rng(7)
    place = np.arange(n) / n
    means = {
        "no change": np.full(n, 0.2),
        "rare errors": np.full(n, 0.005),
        "abrupt": np.select([place < 0.25, place < 0.5, place < 0.75], [0.1, 0.4, 0.15], 0.3),
        "gradual": 0.1 + 0.5 * np.clip(2.0 * place - 0.5, 0.0, 1.0),
        "waves": 0.3 + 0.2 * np.sin(40.0 * place),
    }
    for name, mean in means.items():
        yield f"errors, {name}", (rng.random(n) < mean).astype(np.float64)
        yield f"numbers, {name}", np.clip(mean + rng.normal(0.0, 0.2, n), 0.0, 1.0)


def in_moa(kind: str, options: str, values: list[float]) -> NDArray[np.int8]:
    """What MOA's detector says of each value: 0, 1 (warning) or 2 (drift)."""
    from _moa import java_class

    detector = java_class(f"moa.classifiers.core.driftdetection.{kind}")()
    if kind == "ADWIN":  # the window itself, as MOA's learners keep it
        return np.array([2 if detector.setInput(value) else 0 for value in values], np.int8)
    detector.getOptions().setViaCLIString(options)
    detector.prepareForUse()
    detector.resetLearning()
    levels = np.zeros(len(values), np.int8)
    for i, value in enumerate(values):
        detector.input(value)
        levels[i] = 2 if detector.getChange() else int(bool(detector.getWarningZone()))
    return levels


def against_moa(n: int, report: harness.Report) -> None:
    """Hold what ours say to what MOA's say."""
    from anabranch import drift

    rows, figures = [], []
    total: dict[str, int] = {}
    for name, parameters, kind, options in IN_MOA:
        said = differ = drifts = warnings = 0
        for sequence, values in sequences(n):
            if name == "EDDM" and sequence.startswith("numbers"):
                continue
            ours = getattr(drift, name)(**parameters).trace(values)
            theirs = in_moa(kind, options, values.tolist())
            said += n
            drifts += int(np.count_nonzero(theirs == 2))
            warnings += int(np.count_nonzero(theirs == 1))
            different = int(np.count_nonzero(ours != theirs))
            differ += different
            figures.append({"detector": name, "options": options, "sequence": sequence, "values": n,
                            "drifts": int(np.count_nonzero(theirs == 2)), "different": different})  # fmt: skip
        title = f"{name}: {kind} {options}".strip()
        rows.append([title, f"{said:,}", f"{drifts:,}", f"{warnings:,}", f"{differ:,}"])
        total[name] = total.get(name, 0) + differ
    report.table("The same said as by MOA", ["", "values", "drifts", "warnings", "different"], rows)
    report.keep("against MOA", figures)
    for name, different in total.items():
        report.at_most(f"{name}, values of which MOA says something else", different, 0)


class Watching(harness.Contestant):
    """A detector of anybody's, fed by a function that counts the drifts."""

    def __init__(self, name: str, make: Callable[[], Any], values: Any, feed: Callable[[Any, Any], int],
                 **options: Any) -> None:  # fmt: skip
        super().__init__(name, len(values), **options)
        self.make, self.values, self.feed = make, values, feed

    def prepare(self) -> None:
        """Make a fresh detector."""
        self.detector = self.make()

    def run(self) -> float:
        """Return the number of drifts."""
        return float(self.feed(self.detector, self.values))

    def nbytes(self) -> int | None:
        """Bytes of state."""
        from _contestants import deep_size

        return self.detector.nbytes if hasattr(self.detector, "nbytes") else deep_size(self.detector)


def in_arrays(detector: Any, values: NDArray[np.float64]) -> int:
    """Feed ours in arrays."""
    drifts = 0
    for start in range(0, len(values), CHUNK):
        drifts += len(detector.update(values[start : start + CHUNK]))
    return drifts


def one_by_one(detector: Any, values: list[float]) -> int:
    """Feed ours value by value."""
    drifts = 0
    for value in values:
        if detector.update(value):
            drifts += 1
    return drifts


def rivers(detector: Any, values: list[float]) -> int:
    """Feed River's value by value."""
    drifts = 0
    for value in values:
        detector.update(value)
        if detector.drift_detected:
            drifts += 1
    return drifts


def against_river(rows: int, report: harness.Report, settings: argparse.Namespace) -> None:
    """Measure how fast detectors are."""
    from river import drift as theirs
    from river.drift import binary

    from anabranch import drift as ours

    rng = np.random.default_rng(9)
    mean = np.where(np.arange(rows) // 5000 % 2 == 0, 0.15, 0.35)
    errors = (rng.random(rows) < mean).astype(np.float64)
    numbers = np.clip(mean + rng.normal(0.0, 0.2, rows), 0.0, 1.0)
    hddm_a = getattr(binary, "HDDM_A", None) or binary.HDDMA
    hddm_w = getattr(binary, "HDDM_W", None) or binary.HDDMW
    table: list[tuple[str, Callable[[], Any], Callable[[], Any], Any, int, float]] = [
        ("ADWIN", ours.ADWIN, theirs.ADWIN, numbers, rows, 5),
        ("DDM", ours.DDM, binary.DDM, errors, rows, 10),
        ("EDDM", ours.EDDM, binary.EDDM, errors, rows, 10),
        ("HDDMA", lambda: ours.HDDMA(two_sided=False), hddm_a, errors, rows // 4, 10),
        ("HDDMW", ours.HDDMW, hddm_w, errors, rows // 4, 10),
        ("PageHinkley", ours.PageHinkley, lambda: theirs.PageHinkley(mode="up"), numbers, rows, 10),
        ("KSWIN", lambda: ours.KSWIN(random_state=1), lambda: theirs.KSWIN(seed=1), numbers, min(FEW, rows), 50),
    ]
    for name, mine, other, values, n_river, limit in table:
        chunks = Watching("anabranch, arrays", mine, values, in_arrays, passes=2)
        single = Watching("anabranch, one by one", mine, values.tolist(), one_by_one)
        peer = Watching("River, one by one", other, values[:n_river].tolist(), rivers, turns=3)
        results = harness.run_contest([chunks, single, peer], settings)
        report.contest(f"{name}, a change every 5000 values", list(results.values()), "drifts")
        report.at_least(f"{name}, arrays against River", results[chunks].speed_against(results[peer]), limit)
        report.at_least(f"{name}, one by one against River", results[single].speed_against(results[peer]), 1)


def main() -> int:
    parser = harness.contest_options(__doc__, peers=("moa", "river"))
    parser.add_argument("--rows", type=int, default=ROWS, metavar="N", help=f"values for River (default: {ROWS:,})")
    parser.add_argument(
        "--moa-rows", type=int, default=20_000, metavar="N", help="values per sequence (default: 20,000)"
    )
    settings = parser.parse_args()
    harness.on_one_thread()
    report = harness.Report("drift", settings)
    if "moa" in settings.peers:
        against_moa(settings.moa_rows, report)
    if "river" in settings.peers:
        against_river(settings.rows, report, settings)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
