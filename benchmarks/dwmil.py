"""DWMIL against a straightforward version of it with scikit-learn: speed and skill on six skewed streams; flat costs.

Test-then-train by chunks, on the streams of the DWMIL paper: the authors' own where ``ANABRANCH_DATA`` has them (the
folder ``dwmil``), our generators' otherwise. The straightforward version is in this file: Python and NumPy around
``fit`` and ``predict`` of scikit-learn's trees, which it asks once per chunk for both the votes and the errors. Both
take the same arrays in the same chunks, draw the same samples and grow the same trees, so that both say the same. The
last table follows ours over many chunks; then a copy of it from the end of the first tenth and the one from the end
learn the same further chunks, turn about, so that a busy machine slows both.
"""

from __future__ import annotations

import argparse
import copy
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import _harness as harness
import numpy as np

MEMBERS, THETA = 11, 0.001


class Drawn(np.random.RandomState):
    """Has scikit-learn's tree draw a given number, so that it settles ties between columns as ours does."""

    number = 0

    def randint(self, *args: Any, **options: Any) -> int:
        """Return the number."""
        return self.number


class Straightforward:
    """Algorithms 1 and 2 with scikit-learn's trees, for the classes 0 and 1."""

    def __init__(self, seed: int) -> None:
        root = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed).spawn(1)[0]))
        self.rngs = root.spawn(MEMBERS)  # as ours, so that both draw the same samples
        self.drawn = Drawn(0)
        self.experts: list[list[Any]] = []
        self.weights = np.zeros(0)

    def test_then_train(self, X: Any, y: Any) -> Any:
        """Return each row's share of votes for class 1."""
        from sklearn.tree import DecisionTreeClassifier

        said = np.array([np.sign(sum(2.0 * tree.predict(X) - 1.0 for tree in trees)) for trees in self.experts])
        share = np.full(len(y), 0.5)
        positives, negatives = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
        if self.experts:
            share = (1.0 + self.weights @ said / self.weights.sum()) / 2.0
            recalls = (said[:, positives] == 1).mean(axis=1), (said[:, negatives] == -1).mean(axis=1)
            self.weights = self.weights * np.sqrt(recalls[0] * recalls[1])
        alive = np.flatnonzero(self.weights >= THETA)
        trees = []
        k = min(len(positives), len(negatives))
        for rng in self.rngs:
            rows = np.concatenate([group[rng.integers(len(group), size=k)] for group in (negatives, positives)])
            self.drawn.number = int(rng.integers(2**31))
            tree = DecisionTreeClassifier(min_samples_split=10, random_state=self.drawn)
            trees.append(tree.fit(X[rows], y[rows]))
        self.experts = [self.experts[j] for j in alive] + [trees]
        self.weights = np.append(self.weights[alive], 1.0)
        return share


class ByChunks(harness.Contestant):
    """A learner that goes through all six streams, chunk by chunk; its score is the mean G-mean in %."""

    def __init__(self, name: str, streams: dict[str, list[Any]], n_jobs: int | None, warm_up: int = 1) -> None:
        super().__init__(name, sum(len(y) for chunks in streams.values() for _, y in chunks), warm_up=warm_up)
        self.streams, self.n_jobs = streams, n_jobs
        self.seconds: dict[str, list[float]] = {stream: [] for stream in streams}

    def prepare(self) -> None:
        """Make a fresh learner per stream."""
        self.learners = {name: self._fresh(len(chunks[0][1])) for name, chunks in self.streams.items()}

    def _fresh(self, rows: int) -> Any:
        if self.n_jobs is None:
            return Straightforward(1)
        from anabranch.imbalance import DWMILClassifier

        learner = DWMILClassifier(chunk_size=rows, n_jobs=self.n_jobs, random_state=1)
        return learner.announce([0, 1])

    def run(self) -> float:
        """Go through all streams; the first chunk, of which nobody knows anything, has no score."""
        scores = []
        for name, chunks in self.streams.items():
            learner = self.learners[name]
            start = time.perf_counter()
            told = [learner.test_then_train(X, y) for X, y in chunks]
            self.seconds[name].append(time.perf_counter() - start)
            for (_, y), shares in zip(chunks[1:], told[1:], strict=True):
                positive = (shares if shares.ndim == 1 else shares[:, 1]) > 0.5
                scores.append(np.sqrt(positive[y == 1].mean() * (~positive[y == 0]).mean()))
        return 100.0 * float(np.mean(scores))

    def nbytes(self) -> int | None:
        """Bytes of all learners together."""
        return None if self.n_jobs is None else sum(learner.nbytes for learner in self.learners.values())


def the_authors(folder: Path, most: int) -> dict[str, list[Any]]:
    """Read the authors' streams, cut anew into chunks of their mean length."""
    from scipy.io import loadmat

    streams = {}
    for name in ("gaussian", "sea", "hyperP", "checkerboard", "electricity", "weather"):
        content = loadmat(folder / f"{name}.mat")
        X = np.ascontiguousarray(np.vstack(list(content["data"].ravel())), np.float64)
        y = (np.concatenate([part.ravel() for part in content["label"].ravel()]) == 1).astype(np.int64)
        rows = len(y) // content["data"].size
        streams[name] = [(X[i : i + rows], y[i : i + rows]) for i in range(0, len(y) - rows + 1, rows)][:most]
    return streams


def our_own(most: int) -> dict[str, list[Any]]:
    """Draw streams like the authors' synthetic ones."""
    from anabranch.stream import SEA, Hyperplane, MovingGaussian, RotatingCheckerboard

    share: dict[str, Any] = {"minority_share": 0.05}
    sources = {
        "gaussian": (MovingGaussian(**share), 50),
        "sea": (SEA(**share), 100),
        "hyperplane": (Hyperplane(**share), 50),
        "checkerboard": (RotatingCheckerboard(**share), 200),
    }
    streams = {}
    for name, (source, n) in sources.items():
        chunks = source.chunks(1000)
        streams[name] = [next(chunks) for _ in range(min(n, most))]
    return streams


def speed(report: harness.Report, settings: argparse.Namespace) -> None:
    """Hold the contest."""
    folder = Path(os.environ.get("ANABRANCH_DATA", ""), "dwmil")
    streams = the_authors(folder, settings.chunks) if folder.is_dir() else our_own(settings.chunks)
    one = ByChunks("anabranch, one thread", streams, 1)
    two = ByChunks("anabranch, two threads", streams, 2)
    peer = ByChunks("straightforward, with scikit-learn", streams, None, warm_up=0)
    results = harness.run_contest([one, two, peer], settings)
    n = sum(len(chunks) for chunks in streams.values())
    whose = "the authors' streams" if folder.is_dir() else "our own streams"
    report.contest(f"DWMIL, {MEMBERS} trees per chunk: {whose}, {n} chunks", list(results.values()), "G-mean %")
    rows = []
    for name, chunks in streams.items():
        took = [statistics.median(c.seconds[name][-settings.repeat :]) / len(chunks) for c in (one, two, peer)]
        rows.append([name, str(len(chunks)), *(f"{1e3 * t:.2f}" for t in took), f"{took[2] / took[0]:.1f}x"])
    report.table("milliseconds per chunk", ["", "chunks", "one thread", "two threads", "scikit-learn", ""], rows)
    report.keep("per stream", rows)
    report.at_least("DWMIL, one thread: against scikit-learn", results[one].speed_against(results[peer]), 4)
    report.at_least("DWMIL, two threads: against scikit-learn", results[two].speed_against(results[peer]), 6)
    report.close("DWMIL: G-mean, off scikit-learn's", results[one], results[peer], 0.01)


def growth(report: harness.Report, n: int, clock: str) -> None:
    """Follow time per chunk and bytes of state over many chunks of a stream that goes back and forth."""
    from anabranch.imbalance import DWMILClassifier
    from anabranch.stream import MovingGaussian

    now = time.thread_time if clock == "cpu" else time.perf_counter

    def learn(learner: Any, X: Any, y: Any) -> float:
        start = now()
        learner.test_then_train(X, y)
        return now() - start

    learner = DWMILClassifier(chunk_size=200, random_state=1).announce([0, 1])
    chunks = MovingGaussian(chunk_rows=200).chunks(200)
    seconds, nbytes, experts = np.zeros(n), np.zeros(n), np.zeros(n)
    for i, (X, y) in zip(range(n), chunks, strict=False):
        seconds[i] = learn(learner, X, y)
        nbytes[i], experts[i] = learner.nbytes, learner.n_experts_
        if i == n // 10:
            young = copy.deepcopy(learner)
    both = np.array(
        [[learn(it, X, y) for it in (young, learner)] for _, (X, y) in zip(range(500), chunks, strict=False)]
    )
    tenths = np.array_split(np.arange(n), 10)
    figures = [
        (1e3 * float(np.median(seconds[t])), float(nbytes[t].mean()), float(nbytes[t].max()), float(experts[t].mean()))
        for t in tenths
    ]
    report.table(
        f"DWMIL over {n:,} chunks of 200 rows, in tenths",
        ["chunks", "ms per chunk (median)", "state, mean", "state, most", "experts"],
        [
            [f"{t[0]:,} to {t[-1] + 1:,}", f"{ms:.2f}", harness.human_bytes(int(mean)), harness.human_bytes(int(most)),
             f"{alive:.1f}"]
            for t, (ms, mean, most, alive) in zip(tenths, figures, strict=True)
        ],
    )  # fmt: skip
    early, late = 1e3 * np.median(both, axis=0)
    report.table(
        "DWMIL, milliseconds per chunk (median of the same 500 chunks)",
        [f"after {n // 10:,} chunks", f"after {n:,}"],
        [[f"{early:.2f}", f"{late:.2f}"]],
    )
    report.keep("growth", figures)
    report.at_most("DWMIL: time per chunk, in the end against after a tenth", float(late / early), 1.1, "x")
    report.at_most("DWMIL: bytes of state, last tenth against second", figures[-1][1] / figures[1][1], 1.1, "x")


def main() -> int:
    parser = harness.contest_options(__doc__)
    parser.add_argument("--chunks", type=int, default=10_000, metavar="N", help="at most so many chunks per stream")
    parser.add_argument("--long", type=int, default=10_000, metavar="N", help="chunks of the long run; 0 leaves it out")
    settings = parser.parse_args()
    harness.on_one_thread()
    report = harness.Report("dwmil", settings)
    speed(report, settings)
    if settings.long:
        growth(report, settings.long, settings.clock)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
