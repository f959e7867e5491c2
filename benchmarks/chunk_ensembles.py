"""Learn++.NIE and REA against stream-learn's: speed and skill on six skewed streams.

Test-then-train by chunks, on the streams of the DWMIL paper: the authors' own where ``ANABRANCH_DATA`` has them (the
folder ``dwmil``), our generators' otherwise. Ensembles are of equal size: stream-learn's NIE keeps one sub-ensemble
less than it has members in each (its ``n_estimators`` is both), and so does ours here; REA keeps all its trees in both.
The base is the same decision tree. Each is used in the way that suits it best: ours tests and learns a chunk in one
call, stream-learn's predicts and then fits.

stream-learn needs imbalanced-learn beside it.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _harness as harness
import numpy as np
from dwmil import our_own, the_authors

MEMBERS = 5


def tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(min_samples_split=10)


def nie(rows: int) -> Any:
    from anabranch.imbalance import LearnPPNIEClassifier

    return LearnPPNIEClassifier(chunk_size=rows, n_estimators=MEMBERS, max_experts=MEMBERS - 1, random_state=1)


def rea(rows: int) -> Any:
    from anabranch.imbalance import REAClassifier

    return REAClassifier(chunk_size=rows, random_state=1)


def their_nie(rows: int) -> Any:
    from strlearn.ensembles import NIE

    return NIE(tree(), n_estimators=MEMBERS)


def their_rea(rows: int) -> Any:
    from strlearn.ensembles import REA

    return REA(tree(), weighted=True)


class ByChunks(harness.Contestant):
    """A learner that goes through all streams, chunk by chunk; its score is the mean G-mean in %."""

    def __init__(self, name: str, make: Callable[[int], Any], streams: dict[str, list[Any]], warm_up: int = 1) -> None:
        super().__init__(name, sum(len(y) for chunks in streams.values() for _, y in chunks), warm_up=warm_up)
        self.make, self.streams = make, streams
        self.seconds: dict[str, list[float]] = {stream: [] for stream in streams}
        self.scores: dict[str, float] = {}

    def prepare(self) -> None:
        """Make a fresh learner per stream."""
        np.random.seed(1)  # noqa: NPY002 - stream-learn's randomness
        self.learners = {name: self.make(len(chunks[0][1])) for name, chunks in self.streams.items()}

    def run(self) -> float:
        """Go through all streams; the first chunk, of which nobody knows anything, has no score."""
        for name, chunks in self.streams.items():
            learner = self.learners[name]
            start = time.perf_counter()
            told = self.through(learner, chunks)
            self.seconds[name].append(time.perf_counter() - start)
            gmeans = [
                np.sqrt((said[y == 1] == 1).mean() * (said[y == 0] == 0).mean())
                for (_, y), said in zip(chunks[1:], told, strict=True)
            ]
            self.scores[name] = 100.0 * float(np.mean(gmeans))
        return float(np.mean(list(self.scores.values())))

    def through(self, learner: Any, chunks: list[Any]) -> list[Any]:
        """What the learner says of each chunk but the first, before it learns it."""
        learner.announce([0, 1])
        return [learner.test_then_train(X, y).argmax(axis=1) for X, y in chunks][1:]

    def nbytes(self) -> int | None:
        """Bytes of all learners together."""
        return sum(learner.nbytes for learner in self.learners.values())


class Theirs(ByChunks):
    """A learner of stream-learn's."""

    def through(self, learner: Any, chunks: list[Any]) -> list[Any]:
        """What the learner says of each chunk but the first, before it learns it."""
        told = []
        for i, (X, y) in enumerate(chunks):
            with np.errstate(divide="ignore", invalid="ignore"):  # its REA divides by errors that may be 0
                if i:
                    told.append(learner.predict(X))
                learner.partial_fit(X, y, np.array([0, 1]))
        return told

    def nbytes(self) -> int | None:
        """Nobody counts them."""
        return None


def compare(name: str, ours: Any, theirs: Any, streams: Any, whose: str, report: Any, settings: Any) -> None:
    """Hold the contest of one method."""
    one = ByChunks("anabranch, one thread", ours, streams)
    peer = Theirs("stream-learn", theirs, streams, warm_up=0)
    results = harness.run_contest([one, peer], settings)
    n = sum(len(chunks) for chunks in streams.values())
    report.contest(f"{name}: {whose}, {n} chunks", list(results.values()), "G-mean %")
    rows = []
    for stream, chunks in streams.items():
        took = [statistics.median(c.seconds[stream][-settings.repeat :]) / len(chunks) for c in (one, peer)]
        rows.append(
            [stream, str(len(chunks)), *(f"{1e3 * t:.2f}" for t in took), f"{took[1] / took[0]:.1f}x",
             *(f"{c.scores[stream]:.1f}" for c in (one, peer))]
        )  # fmt: skip
    heads = ["", "chunks", "anabranch", "stream-learn", "", "G-mean % of anabranch", "of stream-learn"]
    report.table(f"{name}: milliseconds per chunk", heads, rows)
    report.keep(f"{name} per stream", rows)
    report.at_least(f"{name}: against stream-learn", results[one].speed_against(results[peer]), 3)
    report.at_least(f"{name}: G-mean over stream-learn's", results[one].score - results[peer].score, 0, " points")


def main() -> int:
    parser = harness.contest_options(__doc__)
    parser.add_argument("--chunks", type=int, default=10_000, metavar="N", help="at most so many chunks per stream")
    settings = parser.parse_args()
    harness.on_one_thread()
    report = harness.Report("chunk_ensembles", settings)
    folder = Path(os.environ.get("ANABRANCH_DATA", ""), "dwmil")
    streams = the_authors(folder, settings.chunks) if folder.is_dir() else our_own(settings.chunks)
    whose = "the DWMIL authors' streams" if folder.is_dir() else "our own streams"
    compare("Learn++.NIE", nie, their_nie, streams, whose, report, settings)
    compare("REA", rea, their_rea, streams, whose, report, settings)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
