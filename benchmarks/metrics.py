"""Metrics against River's: over a run, and over a window.

Both are given the same truth and the same probabilities. Ours take arrays in chunks of 1000 rows through the public
`update`, checks included; River's are updated row by row, with Python's own numbers made beforehand: labels for those
that compare labels, a dict of probabilities for the area under the curve. At the end of a turn, and where a window is
looked at in between, the value is read.

River's ROCAUC over a run is an approximation by 10 thresholds, ours is exact, so the values differ; its RollingROCAUC
(compiled from Rust) is exact too. What the metrics cost in a run is shown beside a Hoeffding tree.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import _harness as harness
import numpy as np

ROWS, WINDOW, CHUNK = 200_000, 1000, 1000


class Ours(harness.Contestant):
    """One of our metrics, in chunks."""

    def __init__(self, name: str, make: Callable[[], Any], y: Any, proba: Any, *, each: bool = False) -> None:
        super().__init__(name, len(y), passes=harness.passes_for(len(y), 1_000_000))
        self.make, self.y, self.proba, self.each = make, y, proba, each

    def prepare(self) -> None:
        """Make a fresh metric."""
        self.metric = self.make()

    def run(self) -> float:
        """Return the value in percent; `each`: after it was read after each row."""
        window = hasattr(self.metric, "size")  # there to be looked at
        for start in range(0, len(self.y), CHUNK):
            chunk = self.y[start : start + CHUNK], self.proba[start : start + CHUNK]
            if self.each:
                values = self.metric.trace(*chunk)
            else:
                self.metric.update(*chunk)
                if window:
                    _ = self.metric.value
        return 100.0 * float(values[-1] if self.each else self.metric.value)


class Rivers(harness.Contestant):
    """One of River's, row by row."""

    def __init__(self, name: str, make: Callable[[], Any], truth: list[Any], said: list[Any], look: int) -> None:
        super().__init__(name, len(truth), warm_up=0, turns=3)
        self.make, self.truth, self.said, self.look = make, truth, said, look

    def prepare(self) -> None:
        """Make a fresh metric."""
        self.metric = self.make()

    def run(self) -> float:
        """Return the value in percent, read every `look` rows."""
        update, get, look = self.metric.update, self.metric.get, self.look
        if look == 1:
            for truth, said in zip(self.truth, self.said, strict=True):
                update(truth, said)
                get()
        else:
            for start in range(0, self.rows, look):
                for truth, said in zip(self.truth[start : start + look], self.said[start : start + look], strict=True):
                    update(truth, said)
                get()
        return 100.0 * get()


def main() -> int:
    parser = harness.contest_options(__doc__)
    settings = parser.parse_args()
    harness.on_one_thread()
    from river import metrics as rivers
    from river import utils

    from anabranch import metrics as ours

    report = harness.Report("metrics", settings)
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, ROWS)
    scores = rng.beta(2.0 + y, 3.0 - y)
    proba = np.column_stack([1.0 - scores, scores])
    labels = [bool(label) for label in y]
    hard = (scores > 0.5).tolist()
    soft = [{False: a, True: b} for a, b in proba.tolist()]

    def compare(title: str, mine: Ours, peers: list[tuple[Rivers, float]], points: float | None) -> None:
        results = harness.run_contest([mine, *(peer for peer, _ in peers)], settings)
        report.contest(title, list(results.values()), score="value %")
        for peer, limit in peers:
            report.at_least(f"{title}: rows/s, against {peer.name}", results[mine].speed_against(results[peer]), limit)
            if points is not None:
                report.close(f"{title}: value, off {peer.name}", results[mine], results[peer], points)

    for name, metric, peer in (
        ("accuracy", ours.Accuracy, rivers.Accuracy),
        ("G-mean", ours.GMean, rivers.GeometricMean),
    ):
        compare(
            f"{name} over a run",
            Ours("anabranch", metric, y, proba),
            [(Rivers(f"River's {peer.__name__}", peer, labels, hard, ROWS), 50)],
            1e-9,
        )
    compare(
        "AUC over a run",
        Ours("anabranch, exact", ours.ROCAUC, y, proba),
        [(Rivers("River's ROCAUC, 10 thresholds", rivers.ROCAUC, labels, soft, ROWS), 50)],
        1.0,
    )
    few = 20_000

    def rolling_area(size: int) -> Callable[[], Any]:
        return lambda: rivers.RollingROCAUC(window_size=size)

    compare(
        "AUC over 1000 rows, read every 1000 rows",
        Ours("anabranch, exact", lambda: ours.Window("auc", WINDOW), y, proba),
        [
            (Rivers("River's RollingROCAUC", rolling_area(WINDOW), labels, soft, WINDOW), 50),
            (
                Rivers(
                    "River's Rolling(ROCAUC)",
                    lambda: utils.Rolling(rivers.ROCAUC, window_size=WINDOW),
                    labels[:few],
                    soft[:few],
                    WINDOW,
                ),
                50,
            ),
        ],
        None,
    )
    for size in (1000, 10_000):
        compare(
            f"AUC over {size} rows, read at every row",
            Ours("anabranch, exact", lambda size=size: ours.Window("auc", size), y, proba, each=True),
            [
                (Rivers("River's RollingROCAUC", rolling_area(size), labels[:few], soft[:few], 1), 50),
                (
                    Rivers(
                        "River's Rolling(ROCAUC)",
                        lambda size=size: utils.Rolling(rivers.ROCAUC, window_size=size),
                        labels[:few],
                        soft[:few],
                        1,
                    ),
                    50,
                ),
            ],
            None,
        )

    forms = [
        *((name, name) for name, metric in ours.METRICS.items() if metric.task == "classification"),
        ("fading(accuracy, 0.999)", "fading(accuracy, 0.999)"),
        ("fading(log_loss, 0.999)", "fading(log_loss, 0.999)"),
    ]
    figures = []
    for label, expression in forms:
        best = min(_seconds(ours.get(expression), y, proba) for _ in range(settings.repeat))
        figures.append((label, f"{1e9 * best / ROWS:.1f}"))
    report.table("Each metric over a run of 200,000 rows", ["", "ns per row"], figures)
    report.keep("ns per row", {label: float(value) for label, value in figures})

    share = _share_of_a_run(settings.repeat)
    report.table(
        "Metrics in a run of a Hoeffding tree", ["", ""], [["the five by default, share of its time", f"{share:.2f}"]]
    )
    report.at_most("default metrics, of the tree's own time", share, 0.5)
    return report.finish()


def _seconds(metric: Any, y: Any, proba: Any) -> float:
    metric.update(y[:10], proba[:10])
    metric.reset()
    start = time.thread_time()
    for i in range(0, len(y), CHUNK):
        metric.update(y[i : i + CHUNK], proba[i : i + CHUNK])
    _ = metric.value
    return time.thread_time() - start


def _share_of_a_run(repeat: int) -> float:
    """Time of the run's scores beside the learner's: two classes, ten columns, windows of 1000 rows."""
    from anabranch.evaluation._scores import Scores, chosen
    from anabranch.stream import RandomRBF
    from anabranch.tree import HoeffdingTreeClassifier

    X, y = RandomRBF(n_centroids=50, n_features=10, n_classes=2, seed=1).take(300_000)
    shares = []
    for _ in range(repeat + 1):
        learner, scores = HoeffdingTreeClassifier(), Scores(chosen(None), WINDOW)
        learner.announce([0, 1])
        learning = scoring = 0.0
        for start in range(0, len(y), CHUNK):
            before = time.thread_time()
            proba = learner.test_then_train(X[start : start + CHUNK], y[start : start + CHUNK])
            between = time.thread_time()
            scores.update(y[start : start + CHUNK], proba)
            scoring += time.thread_time() - between
            learning += between - before
        before = time.thread_time()
        scores.total()
        scoring += time.thread_time() - before
        shares.append(scoring / learning)
    return sorted(shares[1:])[repeat // 2]


if __name__ == "__main__":
    sys.exit(main())
