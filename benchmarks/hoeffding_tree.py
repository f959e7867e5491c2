"""The Hoeffding tree against River's and MOA's: speed, accuracy and size at equal parameters.

All learn the same arrays in one process, each in the way that suits it best: ours in chunks, River row by
row, MOA in its own loop in Java. Ours row by row meets River on the same dicts.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import _harness as harness

# As far as they differ from what the three have in common by default: 10 split points, at least 1 % of the
# weight down two branches, no nominal attributes, no limit on memory.
GRACE, DELTA, TAU = 200, 1e-7, 0.05


def ours() -> Any:
    from anabranch.tree import HoeffdingTreeClassifier

    return HoeffdingTreeClassifier(grace_period=GRACE, delta=DELTA, tie_threshold=TAU, leaf_prediction="nba")


def rivers() -> Any:
    from river.tree import HoeffdingTreeClassifier

    return HoeffdingTreeClassifier(grace_period=GRACE, delta=DELTA, tau=TAU, leaf_prediction="nba", max_size=1000.0)


# Its defaults are these parameters; CapyMOA's differ.
MOAS = f"trees.HoeffdingTree -g {GRACE} -c {DELTA} -t {TAU} -l NBAdaptive"


def compare(rows: Any, report: harness.Report, settings: argparse.Namespace) -> None:
    """Hold the contest on one stream."""
    from _contestants import InChunks, OneByOne

    chunks = InChunks("anabranch, in chunks", ours, rows)
    # Sits out with River: row by row is its match alone.
    singly = OneByOne("anabranch, row by row", ours, rows, turns=settings.river_repeat)
    contestants: list[harness.Contestant] = [chunks, singly]
    river = moa = None
    if "river" in settings.peers:
        river = OneByOne("River, row by row", rivers, rows, warm_up=0, turns=settings.river_repeat)
        contestants.append(river)
    if "moa" in settings.peers:
        from _moa import Moa, version

        report.machine["versions"]["java"] = version()
        moa = Moa("MOA, its own loop", MOAS, rows)
        contestants.append(moa)

    results = harness.run_contest(contestants, settings)
    title = f"{rows.name}: {len(rows):,} rows, {rows.X.shape[1]} features"
    report.contest(title, list(results.values()))

    fast, single = results[chunks], results[singly]
    if river is not None:
        peer = results[river]
        report.at_least(f"{rows.name}: rows/s in chunks, against River", fast.speed_against(peer), 250)
        report.at_least(f"{rows.name}: rows/s row by row, against River", single.speed_against(peer), 10)
        report.at_least(f"{rows.name}: River's state, in ours", fast.smaller_than(peer), 4)
        report.close(f"{rows.name}: accuracy, off River's", fast, peer)
    if moa is not None:
        peer = results[moa]
        report.at_least(f"{rows.name}: rows/s in chunks, against MOA", fast.speed_against(peer), 8)
        report.at_least(f"{rows.name}: MOA's state, in ours", fast.smaller_than(peer), 4)
        report.close(f"{rows.name}: accuracy, off MOA's", fast, peer)


def main() -> int:
    parser = harness.contest_options(__doc__, peers=("river", "moa"))
    parser.add_argument("--rows", type=int, default=300_000, metavar="N", help="rows of each stream, at most")
    parser.add_argument(
        "--river-repeat",
        type=int,
        default=1,
        metavar="N",
        help="rounds with River, which is slow (default: 1)",
    )
    settings = parser.parse_args()
    harness.on_one_thread()
    from _contestants import data_set, random_rbf

    report = harness.Report("hoeffding_tree", settings)
    # The small one first: what Java keeps of the large one, it goes through while others have their turn.
    compare(data_set("electricity", settings.rows), report, settings)
    compare(random_rbf(settings.rows), report, settings)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
