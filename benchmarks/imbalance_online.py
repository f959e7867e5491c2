"""Online methods for imbalanced streams: OOB and UOB against stream-learn's, dynamic weighted majority against MOA's.

All learn the streams of the DWMIL paper's authors, in order, which ANABRANCH_DATA must hold as dwmil/NAME.mat.
OOB and UOB have as many members as stream-learn's, naive Bayes in both; both predict a chunk of 1000 rows, then learn
it, the way stream-learn has it (it cannot predict the first), and the mean of their G-means over ten seeds counts.
It must be no lower than stream-learn's by more than chance: two and a half standard errors of the difference.
Sizes of classes start equal with us, as in the code of OOB's and UOB's authors, and at 0 with stream-learn, so that its
UOB learns nothing before the first row of the minority and little for some rows on; naive Bayes never forgets what it
learned first. So stream-learn's UOB is measured as it is, and once more with sizes that start equal: skill is held
against the latter, speed against the former. (With OOB there is no difference: nothing is left out.)
Dynamic weighted majority meets MOA's with Hoeffding trees of equal settings as experts, MOA in its own loop in Java.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import _harness as harness
import numpy as np

STREAMS = ("sea", "gaussian", "checkerboard", "hyperP", "electricity", "weather")
MEMBERS = 10
SEEDS = 10  # what few rows undersampling leaves makes a G-mean shaky
CHUNK = 1000
GRACE, DELTA, TAU = 200, 1e-7, 0.05


def authors_stream(name: str, most: int) -> Any:
    """Return a stream of the DWMIL paper's authors, or its first rows; class 1 is the minority."""
    from _contestants import Rows
    from scipy.io import loadmat

    folder = os.environ.get("ANABRANCH_DATA")
    path = Path(folder or ".", "dwmil", f"{name}.mat")
    if folder is None or not path.exists():
        raise SystemExit(f"There is no {path}: ANABRANCH_DATA must name a folder that holds dwmil/{name}.mat.")
    content = loadmat(path)
    X = np.vstack([np.asarray(chunk, np.float64) for chunk in content["data"].ravel()])
    y = np.concatenate([np.asarray(chunk).ravel() for chunk in content["label"].ravel()])
    return Rows(name, np.ascontiguousarray(X[:most]), (y[:most] > 0).astype(np.int64), 2)


def g_mean(found: Any, y: Any) -> float:
    """Return the geometric mean of both recalls, in percent."""
    return 100.0 * float(np.sqrt(np.prod([(found[y == c] == c).mean() for c in (0, 1)])))


def contestants_in_chunks(rows: Any, kind: str) -> list[Any]:
    """Return our OOB or UOB, stream-learn's, and of UOB, stream-learn's from equal sizes on."""
    from sklearn.naive_bayes import GaussianNB as ScikitNB
    from strlearn import ensembles

    from anabranch import imbalance
    from anabranch.naive_bayes import GaussianNB

    # scikit-learn refuses rows none of which is drawn, as may happen to a last short chunk.
    whole = len(rows) // CHUNK * CHUNK

    class InChunks(harness.Contestant):
        """A learner per seed, each of which predicts a chunk and then learns it."""

        learners: list[Any]
        scores: list[float]

        def learn(self, learner: Any, X: Any, y: Any) -> None:
            learner.partial_fit(X, y)

        def run(self) -> float:
            self.scores = []
            for learner in self.learners:
                found = []
                for i in range(0, whole, CHUNK):
                    X, y = rows.X[i : i + CHUNK], rows.y[i : i + CHUNK]
                    if i:
                        found.append(learner.predict(X))
                    self.learn(learner, X, y)
                self.scores.append(g_mean(np.concatenate(found), rows.y[CHUNK:whole]))
            return float(np.mean(self.scores))

    class Ours(InChunks):
        """Ours in chunks."""

        def prepare(self) -> None:
            cls = getattr(imbalance, f"{kind}Classifier")
            self.learners = [cls(GaussianNB(), n_estimators=MEMBERS, random_state=seed) for seed in range(SEEDS)]
            for learner in self.learners:
                learner.announce([0, 1])

        def nbytes(self) -> int:
            return int(self.learners[0].nbytes)

    class Theirs(InChunks):
        """stream-learn's in chunks."""

        def prepare(self) -> None:
            np.random.seed(1)  # noqa: NPY002 - where stream-learn draws from
            self.learners = [getattr(ensembles, kind)(ScikitNB(), n_estimators=MEMBERS) for _ in range(SEEDS)]

        def learn(self, learner: Any, X: Any, y: Any) -> None:
            learner.partial_fit(X, y.copy(), np.arange(2))  # it may write into the labels

    class FromEqualSizes(Theirs):
        """stream-learn's in chunks, whose sizes start as ours."""

        def prepare(self) -> None:
            super().prepare()
            for learner in self.learners:
                learner.last_instance_sizes = np.full((1, 2), 0.5)

    n = SEEDS * whole
    both = [Ours("anabranch", n), Theirs("stream-learn", n, warm_up=0, turns=1)]
    alike = FromEqualSizes("stream-learn, sizes start equal", n, warm_up=0, turns=1)
    return [*both, alike] if kind == "UOB" else both


def resampling(rows: Any, report: harness.Report, settings: argparse.Namespace) -> None:
    """Hold OOB and UOB against stream-learn's."""
    for kind in ("OOB", "UOB"):
        contestants = contestants_in_chunks(rows, kind)
        ours, theirs, alike = contestants[0], contestants[1], contestants[-1]
        results = harness.run_contest(contestants, settings)
        report.contest(
            f"{kind}, {MEMBERS} naive Bayes: {rows.name}, {len(rows):,} rows", list(results.values()), "G-mean %"
        )
        what = f"{kind}, {rows.name}"
        report.at_least(f"{what}: rows/s, against stream-learn", results[ours].speed_against(results[theirs]), 3)
        difference = results[ours].score - results[alike].score
        error = float(np.sqrt(sum(np.var(c.scores, ddof=1) / SEEDS for c in (ours, alike))))
        with np.errstate(divide="ignore", invalid="ignore"):  # where all G-means are 0, so is the difference
            errors = float(np.nan_to_num(np.float64(difference) / error))
        report.keep(f"{what}: G-mean", {c.name: c.scores for c in contestants})
        report.at_least(
            f"{what}: G-mean less stream-learn's ({difference:+.2f} points), in standard errors",
            errors,
            -2.5,
            "",
        )


def majority(rows: Any, report: harness.Report, settings: argparse.Namespace) -> None:
    """Hold dynamic weighted majority against MOA's."""
    from _contestants import InChunks
    from _moa import Moa, version

    from anabranch.ensemble import DynamicWeightedMajorityClassifier
    from anabranch.tree import HoeffdingTreeClassifier

    report.machine["versions"]["java"] = version()

    def make() -> Any:
        tree = HoeffdingTreeClassifier(grace_period=GRACE, delta=DELTA, tie_threshold=TAU, leaf_prediction="nba")
        return DynamicWeightedMajorityClassifier(tree)

    ours = InChunks("anabranch, in chunks", make, rows, passes=harness.passes_for(len(rows), 100_000))
    tree = f"trees.HoeffdingTree -g {GRACE} -c {DELTA} -t {TAU} -l NBAdaptive"
    theirs = Moa(
        "MOA, its own loop", f"meta.DynamicWeightedMajority -p 50 -b 0.5 -t 0.01 -l ({tree})", rows,
        passes=harness.passes_for(len(rows), 100_000), warm_up=2,
    )  # fmt: skip
    results = harness.run_contest([ours, theirs], settings)
    report.contest(f"dynamic weighted majority: {rows.name}, {len(rows):,} rows", list(results.values()))
    what = f"DWM, {rows.name}"
    report.at_least(f"{what}: rows/s, against MOA", results[ours].speed_against(results[theirs]), 3)
    report.close(f"{what}: accuracy, off MOA's", results[ours], results[theirs])


def main() -> int:
    parser = harness.contest_options(__doc__, peers=("stream-learn", "moa"))
    parser.add_argument("--streams", nargs="*", choices=STREAMS, default=list(STREAMS), help="default: all")
    parser.add_argument("--rows", type=int, default=100_000, metavar="N", help="most rows of a stream")
    settings = parser.parse_args()
    harness.on_one_thread()

    report = harness.Report("imbalance_online", settings)
    for name in settings.streams:
        rows = authors_stream(name, settings.rows)
        if "stream-learn" in settings.peers:
            resampling(rows, report, settings)
        if "moa" in settings.peers:
            majority(rows, report, settings)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
