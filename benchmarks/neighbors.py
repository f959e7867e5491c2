"""k nearest neighbours in a window of 1000 rows against River's and MOA's: speed, accuracy and size.

All learn the same arrays in one process: ours in chunks, MOA in its own loop in Java, River row by row with its
exact search (`LazySearch`, compiled, for Euclidean distances). MOA divides differences by the columns' ranges in the
window and River does not, so ours runs both ways, each against its like.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

import _harness as harness

K, WINDOW = 10, 1000
MOAS = f"lazy.kNN -k {K} -w {WINDOW}"


def ours(normalize: bool) -> Any:
    from anabranch.neighbors import KNNClassifier

    return KNNClassifier(n_neighbors=K, window_size=WINDOW, normalize=normalize)


def rivers() -> Any:
    from river.neighbors import KNNClassifier, LazySearch

    return KNNClassifier(n_neighbors=K, engine=LazySearch(window_size=WINDOW), weighted=False)


def compare(rows: Any, report: harness.Report, settings: argparse.Namespace) -> None:
    """Hold the contest on one stream."""
    from _contestants import InChunks, OneByOne

    plain = InChunks("anabranch, in chunks", partial(ours, False), rows, passes=1)
    scaled = InChunks("anabranch, normalized, in chunks", partial(ours, True), rows, passes=1)
    contestants: list[harness.Contestant] = [plain, scaled]
    river = moa = None
    if "river" in settings.peers:
        river = OneByOne("River, row by row", rivers, rows, warm_up=0, turns=settings.peer_repeat)
        contestants.append(river)
    if "moa" in settings.peers:
        from _moa import Moa, version

        report.machine["versions"]["java"] = version()
        moa = Moa("MOA, its own loop", MOAS, rows, passes=1, warm_up=1, turns=settings.peer_repeat)
        contestants.append(moa)

    results = harness.run_contest(contestants, settings)
    report.contest(f"{rows.name}: {len(rows):,} rows, {rows.X.shape[1]} features", list(results.values()))

    if river is not None:
        report.at_least(f"{rows.name}: rows/s, against River", results[plain].speed_against(results[river]), 20)
        report.close(f"{rows.name}: accuracy, off River's", results[plain], results[river])
    if moa is not None:
        report.at_least(f"{rows.name}: rows/s, against MOA", results[scaled].speed_against(results[moa]), 5)
        report.close(f"{rows.name}: accuracy, off MOA's", results[scaled], results[moa])


def main() -> int:
    parser = harness.contest_options(__doc__, peers=("river", "moa"))
    parser.add_argument("--rows", type=int, default=20_000, metavar="N", help="rows of each stream, at most")
    parser.add_argument(
        "--peer-repeat", type=int, default=2, metavar="N", help="rounds with the others, which are slow (default: 2)"
    )
    settings = parser.parse_args()
    harness.on_one_thread()
    from _contestants import data_set, random_rbf

    report = harness.Report("neighbors", settings)
    compare(random_rbf(settings.rows), report, settings)
    compare(data_set("electricity", settings.rows), report, settings)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
