"""Trees of the batch setting against scikit-learn's: learning half of the rows at once, predicting the other half.

A single tree (the option tree with one option) against CART, an option tree against bagging as many CARTs as a row
reaches leaves of it on average, and the alternating tree against AdaBoost over as many stumps. Entropy, at least two
rows per leaf and no pruning on both sides. Rows are shuffled: the batch setting knows no time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import _harness as harness
import numpy as np
from _contestants import Rows

ROUNDS = 50


class AtOnce(harness.Contestant):
    """A scikit-learn estimator that learns the first half of the rows and predicts the second.

    Parameters
    ----------
    name : str
    make : callable
        Returns a fresh estimator.
    rows : Rows
    """

    def __init__(self, name: str, make: Callable[[], Any], rows: Rows, **options: Any) -> None:
        super().__init__(name, len(rows), **options)
        self.make = make
        self.data = rows

    def prepare(self) -> None:
        """Make a fresh estimator."""
        self.learner = self.make()

    def run(self) -> float:
        """Return the accuracy in percent on the second half."""
        half = len(self.data) // 2
        X, y = self.data.X, self.data.y
        self.learner.fit(X[:half], y[:half])
        return 100.0 * float((self.learner.predict(X[half:]) == y[half:]).mean())

    def nbytes(self) -> int | None:
        """Bytes of the arrays of our learners."""
        return getattr(self.learner, "nbytes", None)


def compare(rows: Rows, report: harness.Report, settings: argparse.Namespace) -> None:
    """Run the three contests on a data set."""
    from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
    from sklearn.tree import DecisionTreeClassifier

    from anabranch.tree import ADTreeClassifier, OptionTreeClassifier

    def options(**parameters: Any) -> OptionTreeClassifier:
        return OptionTreeClassifier(criterion="info_gain", pruning_confidence=None, **parameters)

    def cart() -> DecisionTreeClassifier:
        return DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=1)

    half = len(rows) // 2
    # With hard votes, a row's votes are as many as it reaches leaves.
    reached = options().fit(rows.X[:half], rows.y[:half])._votes(rows.X[half:]).sum(axis=1)
    members = max(round(float(reached.mean())), 2)
    report.keep(f"{rows.name}: leaves a row reaches", float(reached.mean()))
    tree = AtOnce("anabranch, one option", lambda: options(max_options=1), rows)
    single = AtOnce("scikit-learn, CART", cart, rows)
    option_tree = AtOnce("anabranch, option tree", options, rows)
    bagging = AtOnce(
        f"scikit-learn, bagging {members}", lambda: BaggingClassifier(cart(), members, random_state=1), rows, turns=2
    )
    ad_tree = AtOnce("anabranch, alternating tree", lambda: ADTreeClassifier(n_rounds=ROUNDS), rows)
    adaboost = AtOnce(
        f"scikit-learn, AdaBoost {ROUNDS}", lambda: AdaBoostClassifier(n_estimators=ROUNDS, random_state=1), rows,
        turns=2,
    )  # fmt: skip
    results = harness.run_contest([tree, single, option_tree, bagging, ad_tree, adaboost], settings)
    report.contest(f"{rows.name}: {len(rows):,} rows, {rows.X.shape[1]} features", list(results.values()))
    for ours, peer, what, limit in (
        (tree, single, "one option, against CART", 1),
        (option_tree, bagging, f"option tree, against bagging {members}", 1.5),
        (ad_tree, adaboost, "alternating tree, against AdaBoost over stumps", 1),
    ):
        own, other = results[ours], results[peer]
        report.at_least(f"{rows.name}: {what}", own.speed_against(other), limit)
        report.at_least(f"{rows.name}: {what}, accuracy", own.score - other.score, -0.5, " points")


def main() -> int:
    parser = harness.contest_options(__doc__)
    parser.add_argument("--rows", type=int, default=40_000, metavar="N", help="rows of each data set, at most")
    settings = parser.parse_args()
    harness.on_one_thread()
    from _contestants import data_set, random_rbf

    report = harness.Report("batch_trees", settings)
    for rows in (random_rbf(settings.rows), data_set("electricity", settings.rows)):
        turn = np.random.default_rng(1).permutation(len(rows))
        compare(Rows(rows.name, rows.X[turn], rows.y[turn], rows.n_classes), report, settings)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
