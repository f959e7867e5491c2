"""Online bagging and boosting against MOA's and River's: speed and accuracy with ten Hoeffding trees each.

All learn the same arrays in one process, each in the way that suits it best: ours in chunks on one thread and on two,
River row by row, MOA in its own loop in Java. Ours row by row meets River on the same dicts. Then an option tree of
five options beside bagging of five trees, which it is to equal with about half of the nodes, and how time grows with
the number of members and with threads. (`option_tree.py` holds the option tree against MOA's.)

Two threads are worth measuring by the clock on the wall alone: `--clock cpu` leaves them, and their targets, out.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import _harness as harness

GRACE, DELTA, TAU = 200, 1e-7, 0.05
MEMBERS = 10


def tree() -> Any:
    from anabranch.tree import HoeffdingTreeClassifier

    return HoeffdingTreeClassifier(grace_period=GRACE, delta=DELTA, tie_threshold=TAU, leaf_prediction="nba")


def bagging(n_jobs: int = 1, members: int = MEMBERS) -> Any:
    from anabranch.ensemble import OzaBaggingClassifier

    return OzaBaggingClassifier(tree(), n_estimators=members, n_jobs=n_jobs, random_state=1)


def boosting() -> Any:
    from anabranch.ensemble import OzaBoostingClassifier

    return OzaBoostingClassifier(tree(), n_estimators=MEMBERS, random_state=1)


def rivers_tree() -> Any:
    from river.tree import HoeffdingTreeClassifier

    return HoeffdingTreeClassifier(grace_period=GRACE, delta=DELTA, tau=TAU, leaf_prediction="nba", max_size=1000.0)


def rivers_bagging() -> Any:
    from river.ensemble import BaggingClassifier

    return BaggingClassifier(rivers_tree(), n_models=MEMBERS, seed=1)


def rivers_boosting() -> Any:
    from river.ensemble import AdaBoostClassifier

    return AdaBoostClassifier(rivers_tree(), n_models=MEMBERS, seed=1)


MOAS_TREE = f"trees.HoeffdingTree -g {GRACE} -c {DELTA} -t {TAU} -l NBAdaptive"


def compare(
    kind: str,
    ours: dict[str, Callable[[], Any]],  # by threads; the first is on one
    rivers: Callable[[], Any],
    moas: str,
    bars: dict[str, float],
    rows: tuple[Any, Any],
    report: harness.Report,
    settings: argparse.Namespace,
) -> None:
    """Hold the contest of one kind of ensemble; ``rows`` are many, and fewer for what goes row by row."""
    from _contestants import InChunks, OneByOne

    many, few = rows
    chunks = {name: InChunks(f"anabranch, {name}", make, many, passes=1) for name, make in ours.items()}
    first = next(iter(ours.values()))
    singly = OneByOne("anabranch, row by row", first, few, turns=settings.river_repeat)
    same = InChunks("anabranch, in chunks, fewer rows", first, few, passes=1)
    contestants: list[harness.Contestant] = [*chunks.values(), singly, same]
    river = moa = None
    if "river" in settings.peers:
        river = OneByOne("River, row by row", rivers, few, warm_up=0, turns=settings.river_repeat)
        contestants.append(river)
    if "moa" in settings.peers:
        from _moa import Moa, version

        report.machine["versions"]["java"] = version()
        moa = Moa("MOA, its own loop", moas, many, passes=1, warm_up=1)
        contestants.append(moa)
    results = harness.run_contest(contestants, settings)
    report.contest(f"{kind}, {MEMBERS} trees: {many.name}, {len(many):,} rows", list(results.values()))
    if river is not None:
        peer = results[river]
        report.at_least(f"{kind}: rows/s, against River", results[same].speed_against(peer), bars["river"])
        if "row" in bars:
            report.at_least(f"{kind}: row by row, against River", results[singly].speed_against(peer), bars["row"])
        if kind == "bagging":  # River's boosting is another algorithm
            report.close(f"{kind}: accuracy, off River's", results[same], peer)
    if moa is not None:
        peer = results[moa]
        for name, contestant in chunks.items():
            report.at_least(f"{kind}, {name}: rows/s, against MOA", results[contestant].speed_against(peer), bars[name])
        report.close(f"{kind}: accuracy, off MOA's", results[next(iter(chunks.values()))], peer)


def nodes(rows: Any, report: harness.Report) -> None:
    """Set an option tree of five options beside bagging of five trees: nodes at about equal accuracy."""
    from _contestants import InChunks

    from anabranch.ensemble import OzaBaggingClassifier
    from anabranch.tree import HoeffdingOptionTreeClassifier

    parameters = {"grace_period": GRACE, "delta": DELTA, "tie_threshold": TAU, "leaf_prediction": "nba"}
    option_tree = InChunks("hot5", lambda: HoeffdingOptionTreeClassifier(max_options=5, **parameters), rows, passes=1)
    of_trees = InChunks("bag5", lambda: OzaBaggingClassifier(tree(), n_estimators=5, random_state=1), rows, passes=1)
    accuracy, size = {}, {}
    for contestant in (option_tree, of_trees):
        contestant.prepare()
        accuracy[contestant.name] = contestant.run()
        trees = getattr(contestant.learner, "estimators_", [contestant.learner])
        size[contestant.name] = sum(one.n_nodes_ for one in trees)
    report.table(
        f"an option tree and bagging: {rows.name}, {len(rows):,} rows",
        ["", "accuracy %", "nodes", "state"],
        [
            [c.name, f"{accuracy[c.name]:.2f}", f"{size[c.name]:,}", harness.human_bytes(c.nbytes())]
            for c in (option_tree, of_trees)
        ],
    )
    report.keep("nodes", {"accuracy": accuracy, "nodes": size})
    # The thesis' nineteen streams at 32 MB: a little over half, and 0.2 points apart.
    report.at_most("hot5: nodes, of those of bag5", size["hot5"] / size["bag5"], 0.6)
    report.at_least("hot5: accuracy, off bag5's", accuracy["hot5"] - accuracy["bag5"], -0.5, " points")


def growth(rows: Any, report: harness.Report) -> None:
    """Measure time per row with 1, 10 and 100 members, on one thread and on two."""
    times: dict[tuple[int, int], float] = {}
    for members in (1, 10, 100):
        for n_jobs in (1, 2):
            learner = bagging(n_jobs, members)
            start = time.perf_counter()
            for place in range(0, len(rows), 1000):
                learner.test_then_train(rows.X[place : place + 1000], rows.y[place : place + 1000])
            times[members, n_jobs] = 1e6 * (time.perf_counter() - start) / len(rows)
    report.table(
        f"bagging: microseconds per row, {rows.name}, {len(rows):,} rows",
        ["members", "one thread", "two threads", "speed-up"],
        [
            [str(m), f"{times[m, 1]:.2f}", f"{times[m, 2]:.2f}", f"{times[m, 1] / times[m, 2]:.2f}"]
            for m in (1, 10, 100)
        ],
    )
    report.keep("growth", [{"members": m, "n_jobs": j, "us_per_row": t} for (m, j), t in times.items()])


def main() -> int:
    parser = harness.contest_options(__doc__, peers=("river", "moa"))
    parser.add_argument("--rows", type=int, default=200_000, metavar="N", help="rows of the stream")
    parser.add_argument("--river-rows", type=int, default=10_000, metavar="N", help="rows for what goes row by row")
    parser.add_argument("--river-repeat", type=int, default=2, metavar="N", help="rounds of what goes row by row")
    parser.set_defaults(repeat=3)
    settings = parser.parse_args()
    harness.on_one_thread()
    from _contestants import random_rbf

    report = harness.Report("ensembles", settings)
    rows = (random_rbf(settings.rows), random_rbf(settings.river_rows))
    on_threads = {"one thread": bagging, "two threads": lambda: bagging(2)}
    if settings.clock == "cpu":
        del on_threads["two threads"]
    compare(
        "bagging",
        on_threads,
        rivers_bagging,
        f"meta.OzaBag -s {MEMBERS} -l ({MOAS_TREE})",
        {"one thread": 6, "two threads": 10, "river": 150, "row": 15},
        rows,
        report,
        settings,
    )
    compare(
        "boosting",
        {"one thread": boosting},
        rivers_boosting,
        f"meta.OzaBoost -s {MEMBERS} -l ({MOAS_TREE})",
        {"one thread": 5, "river": 100},
        rows,
        report,
        settings,
    )
    nodes(rows[0], report)
    growth(random_rbf(min(settings.rows, 30_000)), report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
