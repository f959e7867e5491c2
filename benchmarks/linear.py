"""Linear models against Vowpal Wabbit's and River's: speed and accuracy on the same rows.

Vowpal Wabbit makes one pass over its cache file, its fastest way of reading, with its own progressive validation; the
file is written beforehand. River learns the same chunks as pandas frames (``predict_many``, then ``learn_many``), made
beforehand, and its passive-aggressive classifier, which has no such verbs, row by row. Ours learns arrays, or CSR
matrices, in chunks, test-then-train.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import _harness as harness
import numpy as np

CHUNK = 1000


class InChunks(harness.Contestant):
    """One of our classifiers, test-then-train on arrays or sparse matrices; what counts includes counting hits."""

    def __init__(self, name: str, make: Callable[[], Any], chunks: list[Any], **options: Any) -> None:
        super().__init__(name, sum(len(y) for _, y in chunks), **options)
        self.make, self.chunks = make, chunks

    def prepare(self) -> None:
        """Make a fresh learner that knows both classes, as the others do."""
        self.learner = self.make().announce([0, 1])

    def run(self) -> float:
        """Return the accuracy in percent."""
        hits = 0
        for X, y in self.chunks:
            hits += np.count_nonzero(self.learner.test_then_train(X, y).argmax(axis=1) == y)
        return 100.0 * hits / self.rows

    def nbytes(self) -> int | None:
        """Return the bytes that the learner counts itself."""
        return int(self.learner.nbytes)


class VowpalWabbit(harness.Contestant):
    """Vowpal Wabbit, one pass over its cache file."""

    def __init__(self, name: str, options: str, folder: str, chunks: list[Any], **others: Any) -> None:
        super().__init__(name, sum(len(y) for _, y in chunks), **others)
        from vowpalwabbit import Workspace

        text = Path(folder, "rows.vw")
        self.options = f"-d {text} --cache_file {text}.cache --loss_function logistic --binary --quiet {options}"
        if not text.exists():
            with text.open("w") as file:
                for X, y in chunks:
                    for entries, label in zip(_entries(X), y.tolist(), strict=True):
                        row = " ".join(f"{j}:{value:.9g}" for j, value in entries)
                        file.write(f"{1 if label else -1} | {row}\n")
            Workspace(self.options).finish()  # writes the cache

    def prepare(self) -> None:
        """Nothing: the workspace learns as it is made."""

    def run(self) -> float:
        """Return the accuracy in percent."""
        from vowpalwabbit import Workspace

        workspace = Workspace(self.options)
        errors = workspace.get_sum_loss()
        workspace.finish()
        return 100.0 - 100.0 * errors / self.rows


def _entries(X: Any) -> Any:
    if isinstance(X, np.ndarray):
        for row in X.tolist():
            yield list(enumerate(row))
    else:
        for start, stop in zip(X.indptr, X.indptr[1:], strict=False):
            yield list(zip(X.indices[start:stop].tolist(), X.data[start:stop].tolist(), strict=True))


class RiversFrames(harness.Contestant):
    """One of River's classifiers on data frames: predict a chunk, then learn it."""

    def __init__(self, name: str, make: Callable[[], Any], chunks: list[Any], **options: Any) -> None:
        import pandas as pd

        super().__init__(name, sum(len(y) for _, y in chunks), **options)
        self.make = make
        names = [f"x{j}" for j in range(chunks[0][0].shape[1])]
        self.frames = [(pd.DataFrame(X, columns=names), pd.Series(y == 1), y) for X, y in chunks]

    def prepare(self) -> None:
        """Make a fresh learner."""
        self.learner = self.make()

    def run(self) -> float:
        """Return the accuracy in percent."""
        hits = 0
        for X, target, y in self.frames:
            hits += np.count_nonzero(np.asarray(self.learner.predict_many(X)) == y)
            self.learner.learn_many(X, target)
        return 100.0 * hits / self.rows


def dense_chunks(n_rows: int, n_features: int) -> list[Any]:
    """Rows of a noisy linear rule."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n_rows, n_features))
    rule = rng.standard_normal(n_features) / np.sqrt(n_features)
    y = (X @ rule + 0.3 * rng.standard_normal(n_rows) > 0).astype(np.int64)
    return [(X[start : start + CHUNK], y[start : start + CHUNK]) for start in range(0, n_rows, CHUNK)]


def sparse_chunks(n_rows: int, n_columns: int = 50_000, per_row: int = 60) -> list[Any]:
    """Rows like texts: frequent and rare words, each row of length 1."""
    import scipy.sparse as sp

    rng = np.random.default_rng(2)
    words = (n_columns ** rng.random((n_rows, per_row))).astype(np.int64) - 1  # the j-th word with odds of 1/j
    rows = sp.csr_array(
        (rng.random(n_rows * per_row), words.ravel(), np.arange(n_rows + 1) * per_row), shape=(n_rows, n_columns)
    )
    rows.sum_duplicates()
    lengths = np.sqrt(rows.multiply(rows).sum(axis=1))
    rows = sp.csr_array(sp.diags_array(1.0 / lengths) @ rows)
    rows.sort_indices()
    scores = rows @ rng.standard_normal(n_columns)
    y = (scores + 0.1 * rng.standard_normal(n_rows) > 0).astype(np.int64)
    return [(rows[start : start + CHUNK], y[start : start + CHUNK]) for start in range(0, n_rows, CHUNK)]


def compare(title: str, chunks: list[Any], rate: float, report: harness.Report, settings: argparse.Namespace) -> None:
    """Hold the contest on one set of rows."""
    from anabranch.linear_model import OGDClassifier

    sqrt = InChunks("anabranch, c / sqrt(t)", lambda: OGDClassifier(learning_rate=rate), chunks)
    # As in Vowpal Wabbit's default, each weight's rate falls with its gradients; that scales by the largest value too.
    adaptive = InChunks("anabranch, AdaGrad", lambda: OGDClassifier(learning_rate=0.5, schedule="adagrad"), chunks)
    contestants: list[harness.Contestant] = [sqrt, adaptive]
    with tempfile.TemporaryDirectory() as folder:
        sgd = default = river = None
        if "vw" in settings.peers:
            sgd = VowpalWabbit("VW, --sgd", f"--sgd -l {rate} --power_t 0.5 --initial_t 1", folder, chunks)
            default = VowpalWabbit("VW, its default", "", folder, chunks)
            contestants += [sgd, default]
        if "river" in settings.peers and isinstance(chunks[0][0], np.ndarray):
            from river import linear_model, optim

            # It steps once per chunk, by the mean gradient.
            def rivers() -> Any:
                return linear_model.LogisticRegression(optimizer=optim.SGD(1.0))

            river = RiversFrames("River, learn_many", rivers, chunks, turns=settings.river_repeat)
            contestants.append(river)
        results = harness.run_contest(contestants, settings)
    report.contest(title, list(results.values()))
    if sgd is not None and default is not None:
        report.at_least(f"{title}: rows/s, against VW --sgd", results[sqrt].speed_against(results[sgd]), 1)
        report.at_least(f"{title}: rows/s, against VW's default", results[adaptive].speed_against(results[default]), 1)
        report.close(f"{title}: accuracy, off VW --sgd", results[sqrt], results[sgd], 1.0)
        best = results[sqrt] if results[sqrt].score > results[adaptive].score else results[adaptive]
        theirs = max(results[sgd].score, results[default].score)
        report.at_least(f"{title}: accuracy of our best less VW's best", best.score - theirs, -1.0, " points")
    if river is not None:
        report.at_least(f"{title}: rows/s, against River", results[sqrt].speed_against(results[river]), 5)
        ahead = results[sqrt].score - results[river].score
        report.at_least(f"{title}: accuracy less River's", ahead, -0.5, " points")


def compare_passive_aggressive(chunks: list[Any], report: harness.Report, settings: argparse.Namespace) -> None:
    """Passive-aggressive learning, ours in chunks and row by row, River's row by row."""
    from _contestants import OneByOne, Rows
    from river.linear_model import PAClassifier

    from anabranch.linear_model import PassiveAggressiveClassifier

    few = chunks[:50]
    rows = Rows("linear", np.vstack([X for X, _ in few]), np.concatenate([y for _, y in few]), 2)

    def ours() -> Any:
        return PassiveAggressiveClassifier(C=0.01, variant="PA-I", fit_intercept=False)

    def rivers() -> Any:
        return PAClassifier(C=0.01, mode=1, learn_intercept=False)

    fast = InChunks("anabranch PA-I, in chunks", ours, few)
    single = OneByOne("anabranch PA-I, row by row", ours, rows, turns=settings.river_repeat)
    peer = OneByOne("River PA-I, row by row", rivers, rows, warm_up=0, turns=settings.river_repeat)
    results = harness.run_contest([fast, single, peer], settings)
    title = f"passive-aggressive, {rows.X.shape[1]} columns"
    report.contest(title, list(results.values()))
    report.at_least(f"{title}: rows/s in chunks, against River", results[fast].speed_against(results[peer]), 20)
    report.at_least(f"{title}: rows/s row by row, against River", results[single].speed_against(results[peer]), 0.5)
    report.close(f"{title}: accuracy, off River's", results[fast], results[peer], 0.1)


def main() -> int:
    parser = harness.contest_options(__doc__, peers=("vw", "river"))
    parser.add_argument("--rows", type=int, default=300_000, metavar="N", help="dense rows (default: 300000)")
    parser.add_argument("--river-repeat", type=int, default=1, metavar="N", help="rounds with River (default: 1)")
    settings = parser.parse_args()
    harness.on_one_thread()
    report = harness.Report("linear", settings)
    for n_features in (10, 100):
        chunks = dense_chunks(settings.rows if n_features == 10 else settings.rows // 3, n_features)
        compare(f"{n_features} columns", chunks, 1.0, report, settings)
        if n_features == 10 and "river" in settings.peers:
            compare_passive_aggressive(chunks, report, settings)
    compare("50,000 columns, sparse", sparse_chunks(settings.rows // 3), 10.0, report, settings)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
