"""The option tree against MOA's: speed, accuracy and size at equal parameters, and against the plain tree.

MOA's differs in two ways that no parameter can undo: it adds the votes of leaves as they are, not scaled to sum 1,
and with naive Bayes leaves an attribute may come back as a further option of the same node.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import _harness as harness

# MOA's own default for further options is 0.1.
MAX_OPTIONS, GRACE, DELTA, SECONDARY_DELTA, TAU = 5, 200, 1e-7, 0.999, 0.05
MOAS = (
    f"trees.HoeffdingOptionTree -o {MAX_OPTIONS} -g {GRACE} -c {DELTA} -w {SECONDARY_DELTA} -t {TAU} -l NBAdaptive "
    f"-m {2**31 - 1}"
)
MOAS_ADAPTIVE = MOAS.replace("HoeffdingOptionTree", "AdaHoeffdingOptionTree")
PARAMETERS = {"grace_period": GRACE, "delta": DELTA, "tie_threshold": TAU, "leaf_prediction": "nba"}


def plain() -> Any:
    from anabranch.tree import HoeffdingTreeClassifier

    return HoeffdingTreeClassifier(**PARAMETERS)


def ours() -> Any:
    from anabranch.tree import HoeffdingOptionTreeClassifier

    return HoeffdingOptionTreeClassifier(max_options=MAX_OPTIONS, secondary_delta=SECONDARY_DELTA, **PARAMETERS)


def our_adaptive() -> Any:
    from anabranch.tree import AdaptiveHoeffdingOptionTreeClassifier

    return AdaptiveHoeffdingOptionTreeClassifier(max_options=MAX_OPTIONS, secondary_delta=SECONDARY_DELTA, **PARAMETERS)


def compare(rows: Any, report: harness.Report, settings: argparse.Namespace) -> None:
    """Hold the contest on one stream."""
    from _contestants import InChunks

    tree = InChunks("Hoeffding tree", plain, rows)
    option_tree = InChunks("option tree", ours, rows)
    adaptive = InChunks("adaptive option tree", our_adaptive, rows)
    contestants: list[harness.Contestant] = [tree, option_tree, adaptive]
    moa = moa_adaptive = None
    if "moa" in settings.peers:
        from _moa import Moa, version

        report.machine["versions"]["java"] = version()
        moa = Moa("MOA's option tree", MOAS, rows)
        moa_adaptive = Moa("MOA's adaptive option tree", MOAS_ADAPTIVE, rows)
        contestants += [moa, moa_adaptive]

    results = harness.run_contest(contestants, settings)
    report.contest(f"{rows.name}: {len(rows):,} rows, {rows.X.shape[1]} features", list(results.values()))
    report.keep(
        f"{rows.name}: sizes",
        {c.name: {n: int(getattr(c.learner, n)) for n in ("n_nodes_", "n_leaves_", "depth_")} for c in contestants[:3]},
    )
    report.at_least(
        f"{rows.name}: the plain tree's speed, kept", results[option_tree].speed_against(results[tree]), 0.2
    )
    for ours_, theirs, what in (
        (option_tree, moa, "option tree"),
        (adaptive, moa_adaptive, "adaptive option tree"),
    ):
        if theirs is not None:
            own, peer = results[ours_], results[theirs]
            report.at_least(f"{rows.name}: {what}, rows/s in chunks, against MOA", own.speed_against(peer), 5)
            report.at_least(f"{rows.name}: {what}, MOA's state, in ours", own.smaller_than(peer), 4)
            report.close(f"{rows.name}: {what}, accuracy, off MOA's", own, peer)


def main() -> int:
    parser = harness.contest_options(__doc__, peers=("moa",))
    parser.add_argument("--rows", type=int, default=300_000, metavar="N", help="rows of each stream, at most")
    settings = parser.parse_args()
    harness.on_one_thread()
    from _contestants import data_set, random_rbf

    report = harness.Report("option_tree", settings)
    compare(random_rbf(settings.rows), report, settings)
    compare(data_set("electricity", settings.rows), report, settings)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
