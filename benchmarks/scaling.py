"""How the Hoeffding tree's speed depends on columns, classes, and how long the stream has been going on."""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import _harness as harness

BLOCK = 1_000_000
# Enough to fill the tree with leaves, and no more than fits in memory at 1000 columns.
VALUES = 20_000_000
MAX_BYTES = 1_000_000
# What last and first blocks may differ by on a machine with other things to do.
TOLERANCE = 1.1


def ours(**parameters: Any) -> Any:
    from anabranch.tree import HoeffdingTreeClassifier

    return HoeffdingTreeClassifier(**parameters)


def by_width(report: harness.Report, settings: Any) -> None:
    """Measure rows per second for some numbers of columns and classes."""
    from _contestants import InChunks, random_rbf

    lines, figures = [], []
    for n_features in (10, 100, 1000):
        for n_classes in (2, 20):
            rows = random_rbf(min(settings.rows, VALUES // n_features), n_features, n_classes)
            contestant = InChunks("", ours, rows, passes=1)
            result = harness.run_contest([contestant], settings)[contestant]
            tree = contestant.learner
            lines.append(
                [
                    f"{n_features} features, {n_classes} classes",
                    f"{len(rows):,}",
                    f"{result.best:,.0f}",
                    f"{1e9 / result.best / n_features:.1f}",
                    f"{result.score:.2f}",
                    f"{tree.n_leaves_:,}",
                    harness.human_bytes(tree.nbytes),
                ]
            )
            figures.append(
                {
                    "features": n_features,
                    "classes": n_classes,
                    "rows": len(rows),
                    "rows_per_second": result.best,
                    "accuracy": result.score,
                    "leaves": tree.n_leaves_,
                    "nbytes": tree.nbytes,
                }
            )
    columns = ["random RBF", "rows", "rows/s (best)", "ns per value", "accuracy %", "leaves", "state"]
    report.table("Columns and classes", columns, lines)
    report.keep("width", figures)


def by_length(report: harness.Report, settings: Any) -> None:
    """Measure the time per row in each million rows, without and with a limit on memory."""
    from _contestants import CHUNK

    from anabranch.stream import RandomRBF

    clock = time.thread_time if settings.clock == "cpu" else time.perf_counter
    trees = {"unlimited": ours(), f"max_bytes={MAX_BYTES:,}": ours(max_bytes=MAX_BYTES)}
    warm = ours(max_bytes=MAX_BYTES)
    blocks: dict[str, list[dict[str, Any]]] = {name: [] for name in trees}
    with harness.console.status("") as status:
        for number, (X, y) in enumerate(RandomRBF(n_rows=settings.length).chunks(BLOCK)):
            if number == 0:  # compile, or load what is compiled
                warm.test_then_train(X[:CHUNK], y[:CHUNK])
            for name, tree in trees.items():
                status.update(f"{name}: rows {number * BLOCK:,} to {number * BLOCK + len(y):,}")
                hits = 0
                start = clock()
                for first in range(0, len(y), CHUNK):
                    probabilities = tree.test_then_train(X[first : first + CHUNK], y[first : first + CHUNK])
                    hits += int((tree.classes_[probabilities.argmax(axis=1)] == y[first : first + CHUNK]).sum())
                seconds = clock() - start
                blocks[name].append(
                    {
                        "ns_per_row": 1e9 * seconds / len(y),
                        "accuracy": 100 * hits / len(y),
                        "leaves": tree.n_leaves_,
                        "inactive": tree.n_inactive_leaves_,
                        "depth": tree.depth_,
                        "nbytes": tree.nbytes,
                    }
                )
    for name, measured in blocks.items():
        report.table(
            f"Each million rows, {name}",
            ["rows", "ns per row", "accuracy %", "leaves", "inactive", "depth", "state"],
            [
                [
                    f"to {(number + 1) * BLOCK:,}",
                    f"{block['ns_per_row']:.0f}",
                    f"{block['accuracy']:.2f}",
                    f"{block['leaves']:,}",
                    f"{block['inactive']:,}",
                    str(block["depth"]),
                    harness.human_bytes(block["nbytes"]),
                ]
                for number, block in enumerate(measured)
            ],
        )
        times = [block["ns_per_row"] for block in measured]
        harness.console.print(f"last block / first block: {times[-1] / times[0]:.2f}\n")
        some = max(1, len(times) // 3)
        ratio = statistics.median(times[-some:]) / statistics.median(times[:some])
        report.at_most(f"{name}: time per row, last third / first third", ratio, TOLERANCE)
    report.keep("length", blocks)


def main() -> int:
    parser = harness.contest_options(__doc__)
    parser.add_argument("--rows", type=int, default=300_000, metavar="N", help="rows for each width, at most")
    parser.add_argument("--length", type=int, default=10_000_000, metavar="N", help="rows of the long stream")
    settings = parser.parse_args()
    harness.on_one_thread()
    report = harness.Report("scaling", settings)
    by_width(report, settings)
    by_length(report, settings)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
