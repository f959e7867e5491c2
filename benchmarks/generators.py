"""The generators against River's and MOA's: rows per second of the same stream, drawn and thrown away.

Ours hand out chunks of 1000 rows; River's dicts row by row; MOA's instances in a loop in Java, that of its own task
MeasureStreamSpeed. That the streams are the same in distribution is what the tests are for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import _harness as harness


@dataclass(frozen=True)
class Setting:
    """One stream in the words of three libraries; None where one does not have it."""

    name: str
    ours: Callable[[], Any]
    rivers: Callable[[], Any] | None
    moas: str | None
    rows: int = 400_000


def settings_of_all() -> list[Setting]:
    from river.datasets import synth

    from anabranch import stream as s

    return [
        Setting("Agrawal", lambda: s.Agrawal(5), lambda: synth.Agrawal(4, perturbation=0.05), "AgrawalGenerator -f 5"),
        Setting(
            "Agrawal, balanced",
            lambda: s.Agrawal(5, balanced=True),
            lambda: synth.Agrawal(4, balance_classes=True, perturbation=0.05),
            "AgrawalGenerator -f 5 -b",
        ),
        Setting("Hyperplane", lambda: s.Hyperplane(), lambda: synth.Hyperplane(), "HyperplaneGenerator"),
        Setting(
            "Hyperplane, drifting",
            lambda: s.Hyperplane(magnitude=0.001),
            lambda: synth.Hyperplane(mag_change=0.001),
            "HyperplaneGenerator -t 0.001",
        ),
        Setting(
            "LED",
            lambda: s.LED(),
            lambda: synth.LED(noise_percentage=0.1, irrelevant_features=True),
            "LEDGenerator",
        ),
        Setting(
            "LED, 3 features drifted",
            lambda: s.LED(n_drift_features=3),
            lambda: synth.LEDDrift(noise_percentage=0.1, irrelevant_features=True, n_drift_features=3),
            "LEDGeneratorDrift -d 3",
        ),
        Setting(
            "RandomRBF",
            lambda: s.RandomRBF(),
            lambda: synth.RandomRBF(n_centroids=50),
            "RandomRBFGenerator",
        ),
        Setting(
            "RandomRBF, drifting",
            lambda: s.RandomRBF(drift_speed=0.001),
            lambda: synth.RandomRBFDrift(change_speed=0.001, n_drift_centroids=50),
            "RandomRBFGeneratorDrift -s 0.001",
        ),
        Setting(
            "RandomRBF, 1000 centroids, 50 features",
            lambda: s.RandomRBF(1000, 50),
            lambda: synth.RandomRBF(n_centroids=1000, n_features=50),
            "RandomRBFGenerator -n 1000 -a 50",
            100_000,
        ),
        Setting("RandomTree", lambda: s.RandomTree(), lambda: synth.RandomTree(), "RandomTreeGenerator"),
        Setting(
            "RandomTree, simple (rts)",
            lambda: s.RandomTree(n_nominal=10, n_numeric=10),
            lambda: synth.RandomTree(n_num_features=10, n_cat_features=10),
            "RandomTreeGenerator -o 10 -u 10",
        ),
        Setting(
            "RandomTree, complex (rtc)",
            lambda: s.RandomTree(n_nominal=50, n_numeric=50, max_depth=10, first_leaf_level=5),
            lambda: synth.RandomTree(
                n_num_features=50,
                n_cat_features=50,
                max_tree_depth=10,
                first_leaf_level=5,
                fraction_leaves_per_level=0.15,
            ),
            "RandomTreeGenerator -o 50 -u 50 -d 10 -l 5",
            100_000,
        ),
        Setting("SEA", lambda: s.SEA(noise=0.1), lambda: synth.SEA(noise=0.1), "SEAGenerator"),
        Setting("STAGGER", lambda: s.STAGGER(2), lambda: synth.STAGGER(1), "STAGGERGenerator -f 2"),
        Setting("Waveform, 21", lambda: s.Waveform(), lambda: synth.Waveform(), "WaveformGenerator"),
        Setting("Waveform, 40", lambda: s.Waveform(40), lambda: synth.Waveform(has_noise=True), "WaveformGenerator -n"),
        Setting(
            "DriftStream of two SEA",
            lambda: s.DriftStream([s.SEA(1), s.SEA(3)], [200_000], widths=50_000),
            lambda: synth.ConceptDriftStream(synth.SEA(0), synth.SEA(2), position=5_000, width=1_000),
            "ConceptDriftStream -s (generators.SEAGenerator -f 1 -n 0) -d (generators.SEAGenerator -f 3 -n 0) "
            "-p 200000 -w 50000",
        ),
    ]


class Drawing(harness.Contestant):
    """A stream that is drawn from.

    Parameters
    ----------
    setting : Setting
    """

    def __init__(self, name: str, setting: Setting, rows: int, **options: Any) -> None:
        super().__init__(name, rows, **options)
        self.setting = setting


class Ours(Drawing):
    """Ours, in chunks."""

    def prepare(self) -> None:
        """Make a fresh stream."""
        self.stream = self.setting.ours()
        self.stream.take(1)  # trees grow when first needed

    def run(self) -> float:
        """Return the number of rows drawn."""
        drawn = 0
        for _, y in self.stream.chunks(1000):
            drawn += len(y)
            if drawn >= self.rows:
                return drawn
        raise AssertionError


class Rivers(Drawing):
    """River's, row by row."""

    def prepare(self) -> None:
        """Make a fresh stream."""
        assert self.setting.rivers is not None
        self.stream = iter(self.setting.rivers())
        next(self.stream)

    def run(self) -> float:
        """Return the number of rows drawn."""
        draw = self.stream.__next__
        for _ in range(self.rows):
            draw()
        return self.rows


class Moas(Drawing):
    """MOA's, in a loop of its own."""

    def prepare(self) -> None:
        """Make a fresh stream."""
        from _moa import java_class

        command = self.setting.moas
        assert command is not None
        if not command.startswith("ConceptDrift"):
            command = f"generators.{command}"
        task = java_class("moa.tasks.MeasureStreamSpeed")()
        task.streamOption.setValueViaCLIString(command)
        task.generateSizeOption.setValue(self.rows)
        task.prepareForUse()
        self.task = task

    def run(self) -> float:
        """Return the number of rows drawn."""
        return float(self.task.doTask().getMeasurements()[0].getValue())


def main() -> int:
    parser = harness.contest_options(__doc__, peers=("river", "moa"))
    parser.add_argument("--only", metavar="TEXT", default="", help="only streams whose name begins so")
    settings = parser.parse_args()
    harness.on_one_thread()
    report = harness.Report("generators", settings)
    rows, kept = [], {}
    for setting in settings_of_all():
        if not setting.name.startswith(settings.only):
            continue
        contestants: list[harness.Contestant] = [Ours("anabranch", setting, setting.rows)]
        if "river" in settings.peers and setting.rivers is not None:
            contestants.append(Rivers("River", setting, max(1000, setting.rows // 100), warm_up=1, turns=2))
        if "moa" in settings.peers and setting.moas is not None:
            contestants.append(Moas("MOA", setting, setting.rows, warm_up=3))
        results = list(harness.run_contest(contestants, settings).values())
        speeds = {result.name: result.best for result in results}
        ratios = {result.name: results[0].speed_against(result) for result in results[1:]}
        kept[setting.name] = {"rows_per_second": speeds, "times_as_fast_as": ratios}
        rows.append(
            [
                setting.name,
                *(f"{speeds[name]:,.0f}" if name in speeds else "" for name in ("anabranch", "River", "MOA")),
                *(f"{ratios[name]:,.1f}" if name in ratios else "" for name in ("River", "MOA")),
            ]
        )
        for name, limit in (("River", 20), ("MOA", 2)):
            if name in ratios:
                report.at_least(f"{setting.name}: rows/s, against {name}", ratios[name], limit)
    report.table("Rows/s, best turn, and ratios, median", ["", "anabranch", "River", "MOA", "x River", "x MOA"], rows)
    report.keep("streams", kept)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
