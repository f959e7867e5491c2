"""Gaussian naive Bayes against River's and MOA's: speed, accuracy and size.

All learn the same arrays in one process, each in the way that suits it best: ours in chunks, MOA in its own loop in
Java, River in data frames of 1000 rows (it predicts a frame with what it learned from those before) and row by row.
Ours row by row meets River's on the same dicts.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import _harness as harness

MOAS = "bayes.NaiveBayes"


def ours() -> Any:
    from anabranch.naive_bayes import GaussianNB

    return GaussianNB()


def rivers() -> Any:
    from river.naive_bayes import GaussianNB

    return GaussianNB()


def compare(rows: Any, report: harness.Report, settings: argparse.Namespace) -> None:
    """Hold the contest on one stream."""
    from _contestants import InChunks, InFrames, OneByOne

    chunks = InChunks("anabranch, in chunks", ours, rows)
    singly = OneByOne("anabranch, row by row", ours, rows, turns=settings.river_repeat)
    contestants: list[harness.Contestant] = [chunks, singly]
    frames = river = moa = None
    if "river" in settings.peers:
        frames = InFrames("River, in frames", rivers, rows, warm_up=0, turns=settings.river_repeat)
        river = OneByOne("River, row by row", rivers, rows, warm_up=0, turns=settings.river_repeat)
        contestants += [frames, river]
    if "moa" in settings.peers:
        from _moa import Moa, version

        report.machine["versions"]["java"] = version()
        moa = Moa("MOA, its own loop", MOAS, rows)
        contestants.append(moa)

    results = harness.run_contest(contestants, settings)
    report.contest(f"{rows.name}: {len(rows):,} rows, {rows.X.shape[1]} features", list(results.values()))

    fast, single = results[chunks], results[singly]
    if frames is not None and river is not None:
        report.at_least(
            f"{rows.name}: rows/s in chunks, against River's frames", fast.speed_against(results[frames]), 20
        )
        report.at_least(f"{rows.name}: rows/s row by row, against River", single.speed_against(results[river]), 5)
        report.close(f"{rows.name}: accuracy, off River's row by row", fast, results[river])
    if moa is not None:
        report.at_least(f"{rows.name}: rows/s in chunks, against MOA", fast.speed_against(results[moa]), 4)
        report.close(f"{rows.name}: accuracy, off MOA's", fast, results[moa])


def main() -> int:
    parser = harness.contest_options(__doc__, peers=("river", "moa"))
    parser.add_argument("--rows", type=int, default=300_000, metavar="N", help="rows of each stream, at most")
    parser.add_argument(
        "--river-repeat", type=int, default=1, metavar="N", help="rounds with River, which is slow (default: 1)"
    )
    settings = parser.parse_args()
    harness.on_one_thread()
    from _contestants import data_set, random_rbf

    report = harness.Report("naive_bayes", settings)
    compare(random_rbf(settings.rows), report, settings)
    compare(data_set("electricity", settings.rows), report, settings)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
