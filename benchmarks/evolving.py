"""FESL: against OpenMOA's and against a row-by-row version in NumPy, and its speed and memory over wide sparse rows.

A stream shows one set of columns for its first rows and a random linear map of them for the rest; ten rows show both.
Ours learns it in chunks, test-then-train, and what is timed includes turning probabilities into hits. The NumPy version
is the paper's combination as one would write it down: the mapping as a dense matrix, a handful of products per row,
scalars by `math`. OpenMOA's (`pip install openmoa`) is given instances that name their columns, made beforehand, which
is its quickest way. It steps by a constant and takes the end of the overlap for another change, so its accuracy is
shown and not held to ours; the NumPy version's is.

Sparse rows are texts in two languages in the sizes of Reuters' multilingual collection, and in rising ones.
"""

from __future__ import annotations

import argparse
import math
import sys
import tracemalloc
from types import SimpleNamespace
from typing import Any

import _harness as harness
import numpy as np

CHUNK = 1000
FIRST = 2000  # rows of the first space of dense streams
SHAPES = ((10, 7), (30, 21), (60, 42))
B, C = 10, 0.3


class Replaced:
    """Dense rows whose columns are replaced.

    Parameters
    ----------
    n : int
        Rows.
    d1, d2 : int
        Columns before and after.
    """

    def __init__(self, n: int, d1: int, d2: int) -> None:
        rng = np.random.default_rng(1)
        old = rng.random((n, d1))
        old /= np.sqrt((old**2).sum(axis=1, keepdims=True))
        rule = rng.standard_normal(d1)
        scores = old @ rule
        scores += 0.1 * scores.std() * rng.standard_normal(n)
        self.y = (scores > np.median(scores)).astype(np.int64)
        self.old, self.new = old, old @ rng.standard_normal((d1, d2))
        self.X = np.hstack([self.old, self.new])
        self.X[FIRST:, :d1] = np.nan
        self.X[: FIRST - B, d1:] = np.nan

    def __len__(self) -> int:
        return len(self.y)


class Ours(harness.Contestant):
    """FESLClassifier in chunks."""

    def __init__(self, name: str, rows: Replaced, **options: Any) -> None:
        super().__init__(name, len(rows), **options)
        self.source = rows

    def prepare(self) -> None:
        """Make a fresh learner that knows both classes, as the others do."""
        from anabranch.evolving import FESLClassifier

        self.learner = FESLClassifier(c=C, overlap_rows=B, horizon=self.rows - FIRST, fit_intercept=False)
        self.learner.announce([0, 1])

    def run(self) -> float:
        """Return the accuracy in percent."""
        hits, X, y = 0, self.source.X, self.source.y
        for start in range(0, self.rows, CHUNK):
            rows = slice(start, start + CHUNK)
            hits += np.count_nonzero(self.learner.test_then_train(X[rows], y[rows]).argmax(axis=1) == y[rows])
        return 100.0 * hits / self.rows

    def nbytes(self) -> int | None:
        """Return the bytes that the learner counts itself."""
        return int(self.learner.nbytes)


class InNumPy(harness.Contestant):
    """The paper's combination, row by row."""

    def __init__(self, name: str, rows: Replaced, **options: Any) -> None:
        super().__init__(name, len(rows), **options)
        self.source = rows

    def prepare(self) -> None:
        """Nothing: it learns as it is run."""

    def run(self) -> float:
        """Return the accuracy in percent."""
        old, new = self.source.old, self.source.new
        signs = np.where(self.source.y > 0, 1.0, -1.0).tolist()
        w1, w2 = np.zeros(old.shape[1]), np.zeros(new.shape[1])
        ln2, hits = math.log(2.0), 0
        for t in range(FIRST):
            x, sign = old[t], signs[t]
            score = float(w1 @ x)
            hits += (score > 0.0) == (sign > 0.0)
            w1 += (sign / ((1.0 + math.exp(sign * score)) * ln2 * C * math.sqrt(t + 1.0))) * x
        both = slice(FIRST - B, FIRST)
        mapping = np.linalg.pinv(new[both], rcond=1e-6) @ old[both]
        eta = math.sqrt(8.0 * ln2 / (self.rows - FIRST))
        loss1 = loss2 = 0.0
        for t in range(FIRST, self.rows):
            x, sign = new[t], signs[t]
            recovered = x @ mapping
            score1, score2 = float(w1 @ recovered), float(w2 @ x)
            share = 1.0 / (1.0 + math.exp(eta * (loss1 - loss2)))
            hits += (share * score1 + (1.0 - share) * score2 > 0.0) == (sign > 0.0)
            odds1, odds2 = math.exp(-sign * score1), math.exp(-sign * score2)
            loss1 += math.log1p(odds1) / ln2
            loss2 += math.log1p(odds2) / ln2
            step = sign / (ln2 * C * math.sqrt(t - FIRST + 1.0))
            w1 += (step * odds1 / (1.0 + odds1)) * recovered
            w2 += (step * odds2 / (1.0 + odds2)) * x
        return 100.0 * hits / self.rows


class OpenMoa(harness.Contestant):
    """OpenMOA's FESLClassifier."""

    def __init__(self, name: str, rows: Replaced, **options: Any) -> None:
        super().__init__(name, len(rows), **options)
        self.instances = []
        for row, label in zip(rows.X, rows.y.tolist(), strict=True):
            there = np.flatnonzero(~np.isnan(row))
            self.instances.append(SimpleNamespace(feature_indices=there, x=row[there], y_index=label))

    def prepare(self) -> None:
        """Make a fresh learner."""
        from openmoa.classifier import FESLClassifier

        schema: Any = SimpleNamespace(get_num_classes=lambda: 2)
        self.learner = FESLClassifier(schema, window_size=B)

    def run(self) -> float:
        """Return the accuracy in percent."""
        hits, predict, train = 0, self.learner.predict, self.learner.train
        for instance in self.instances:
            hits += predict(instance) == instance.y_index
            train(instance)
        return 100.0 * hits / self.rows


def compare(d1: int, d2: int, report: harness.Report, settings: argparse.Namespace) -> None:
    """Hold the contest on one shape."""
    rows = Replaced(settings.rows, d1, d2)
    ours = Ours("anabranch, in chunks", rows, passes=harness.passes_for(len(rows), 200_000))
    plain = InNumPy("NumPy, row by row", rows, warm_up=0, turns=settings.peer_repeat)
    contestants: list[harness.Contestant] = [ours, plain]
    peer = None
    if "openmoa" in settings.peers:
        peer = OpenMoa("OpenMOA", rows, warm_up=0, turns=settings.peer_repeat)
        contestants.append(peer)
    results = harness.run_contest(contestants, settings)
    title = f"{d1} columns, then {d2}"
    report.contest(title, list(results.values()))
    report.at_least(f"{title}: rows/s, against NumPy row by row", results[ours].speed_against(results[plain]), 50)
    report.close(f"{title}: accuracy, off NumPy's", results[ours], results[plain], 0.1)
    if peer is not None:
        report.at_least(f"{title}: rows/s, against OpenMOA", results[ours].speed_against(results[peer]), 50)


class Texts(harness.Contestant):
    """FESLClassifier over documents that change their language half way, as CSR matrices."""

    def __init__(self, name: str, n: int, words: tuple[int, int], overlap: int = 50) -> None:
        import scipy.sparse as sp

        from anabranch.papers.fesl import text_pair

        super().__init__(name, n)
        old, new, self.y = text_pair(n, words, 1)
        first = n // 2
        old = sp.vstack([old[:first], sp.csr_array((n - first, words[0]))])
        new = sp.vstack([sp.csr_array((first - overlap, words[1])), new[first - overlap :]])
        self.X = sp.csr_array(sp.hstack([old, new]).tocsr())
        self.chunks = [self.X[start : start + CHUNK] for start in range(0, n, CHUNK)]
        self.spaces = [list(range(words[0])), list(range(words[0], sum(words)))]
        self.overlap = overlap

    def prepare(self) -> None:
        """Make a fresh learner."""
        from anabranch.evolving import FESLClassifier

        self.learner = FESLClassifier(c=C, overlap_rows=self.overlap, spaces=self.spaces, fit_intercept=False)
        self.learner.announce([-1, 1])

    def run(self) -> float:
        """Return the accuracy in percent."""
        hits = 0
        for number, X in enumerate(self.chunks):
            y = self.y[number * CHUNK : (number + 1) * CHUNK]
            told = self.learner.test_then_train(X, y)
            hits += np.count_nonzero(self.learner.classes_[told.argmax(axis=1)] == y)
        return 100.0 * hits / self.rows

    def nbytes(self) -> int | None:
        """Return the bytes that the learner counts itself."""
        return int(self.learner.nbytes)

    def peak(self) -> int:
        """Return the most bytes that learning takes at a time, the rows left out."""
        tracemalloc.start()
        self.prepare()
        self.run()
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most


def wide(report: harness.Report, settings: argparse.Namespace) -> None:
    """Time sparse rows of rising width, and those of Reuters' size."""
    n = settings.text_rows
    reuters = Texts("34,279 words, then 24,892", n, (34_279, 24_892))
    rising = [Texts(f"{d:,} words, then {d:,}", n, (d, d)) for d in (1_000, 5_000, 20_000, 50_000)]
    results = harness.run_contest([*rising, reuters], settings)
    title = "documents of 80 words, 50 rows of overlap"
    report.contest(title, list(results.values()))
    peak = reuters.peak()
    report.keep("Reuters' size: peak bytes", peak)
    report.at_least("Reuters' size: rows/s", results[reuters].best, 3000, "")
    report.at_most("Reuters' size: MB at most while learning", peak / 1e6, 200, "")


def main() -> int:
    parser = harness.contest_options(__doc__, peers=("openmoa",))
    parser.add_argument("--rows", type=int, default=50_000, metavar="N", help="dense rows (default: 50000)")
    parser.add_argument("--text-rows", type=int, default=20_000, metavar="N", help="sparse rows (default: 20000)")
    parser.add_argument("--peer-repeat", type=int, default=1, metavar="N", help="rounds with peers (default: 1)")
    settings = parser.parse_args()
    harness.on_one_thread()
    report = harness.Report("evolving", settings)
    for d1, d2 in SHAPES:
        compare(d1, d2, report, settings)
    wide(report, settings)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
