"""Moving hyperplanes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from anabranch.stream.base import number_between, whole_number
from anabranch.stream.generator import Block, KernelGenerator, States, empty_block

# Threshold of the form "ratio", per unit of weight, that parts the rows of ten features about evenly.
_MEDIAN_OF_RATIOS = 2.78


class Hyperplane(KernelGenerator):
    """Class 1 lies above a hyperplane whose orientation may drift: ``sum_i a_i x_i >= threshold sum_i a_i``.

    Features are ~ U(0, `high`), weights a_i ~ U(0, 1). After each row, the first `n_drift_features` weights
    change by `magnitude`, each up or down, and then with probability `reversal` turn round.

    Parameters
    ----------
    n_features : int
        Number of numeric features.
    n_drift_features : int
        Number of weights that change.
    magnitude : float
        Change of a weight per row; 0 for no drift. With drift, rows that are skipped cost a fraction of rows
        that are drawn.
    reversal : float
        Probability, per row and weight, that the change turns round.
    noise : float
        Share of rows whose class is turned around, from 0 to 1.
    high : float
        Features lie between 0 and this; above 0.
    form : {"linear", "ratio"}
        With ``"ratio"``, ``sum_i a_i (x_i + x_{i+1}) / x_i`` over all features but the last takes the place of the
        weighted sum. That is the form which the evaluation of DWMIL [2]_ prints, with features up to 2.
    threshold : float, optional
        Where classes part, per unit of weight. Half of `high`, if left out, which parts rows evenly; with
        ``form="ratio"`` 2.78, which does so about.
    minority_share : float, optional
        Rows of class 1 are dropped at random such that, of classes as frequent as each other, this share would
        be left to it; from 0 to 0.5. The evaluation of DWMIL has 0.05.
    seed : int
        Seed of weights and rows.
    n_rows : int, optional
        Number of rows; endless if left out.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    References
    ----------
    .. [1] G. Hulten, L. Spencer, P. Domingos, "Mining time-changing data streams", KDD 2001.
    .. [2] Y. Lu, Y.-m. Cheung, Y. Y. Tang, "Dynamic Weighted Majority for Incremental Learning of Imbalanced
       Data Streams with Concept Drift", IJCAI 2017.

    Examples
    --------
    >>> stream = Hyperplane(noise=0)
    >>> X, y = stream.take(1000)
    >>> bool(((X @ stream.weights >= stream.weights.sum() / 2) == (y == 1)).all())
    True
    """

    def __init__(
        self,
        n_features: int = 10,
        n_drift_features: int = 2,
        magnitude: float = 0.0,
        reversal: float = 0.1,
        noise: float = 0.05,
        high: float = 1.0,
        form: str = "linear",
        threshold: float | None = None,
        minority_share: float | None = None,
        seed: int = 1,
        n_rows: int | None = None,
    ) -> None:
        self.n_features = whole_number("n_features", n_features, 1)
        self.n_drift_features = whole_number("n_drift_features", n_drift_features, 0)
        self.magnitude = number_between("magnitude", magnitude, 0, np.inf)
        self.reversal = number_between("reversal", reversal, 0, 1)
        self.noise = number_between("noise", noise, 0, 1)
        self.high = number_between("high", high, 1e-100, np.inf)
        if form not in ("linear", "ratio"):
            raise ValueError(f"form must be 'linear' or 'ratio', got {form!r}")
        self.form = form
        if form == "ratio" and self.n_features < 2:
            raise ValueError("form='ratio' needs at least two features")
        self.threshold = None if threshold is None else number_between("threshold", threshold, 0, np.inf)
        self.minority_share = (
            None if minority_share is None else number_between("minority_share", minority_share, 0, 0.5)
        )
        self._n_weights = self.n_features - (form == "ratio")
        if self.n_drift_features > self._n_weights:
            raise ValueError(f"n_drift_features must be at most {self._n_weights}, got {n_drift_features!r}")
        super().__init__(seed, n_rows)
        self.classes = np.arange(2)
        self.weights = self._model_rng().random(self._n_weights)

    def _draw(self, block: int) -> Iterator[Block]:
        from anabranch.kernels import streams as kernels

        drifting = self.n_drift_features if self.magnitude > 0.0 else 0
        gone, signs = np.zeros(drifting, np.int64), np.ones(drifting, np.int64)
        default = self.high / 2 if self.form == "linear" else _MEDIAN_OF_RATIOS
        odds = 1.0 if self.minority_share is None else self.minority_share / (1.0 - self.minority_share)
        nothing = np.empty((0, 0))
        turning = States(self.seed, (2,))
        for number in range(0 if drifting else block, 2**63):
            wanted = number >= block
            X, y = empty_block(self._block_rows, self.n_features)
            kernels.hyperplane(
                self._block_rng(number),
                turning[number],
                X if wanted else nothing,
                y,
                self.weights,
                gone,
                signs,
                self.magnitude,
                self.reversal,
                self.high,
                self.form == "ratio",
                default if self.threshold is None else self.threshold,
                self.noise,
                odds,
            )
            if wanted:
                yield X, y
