"""Kernel logistic regression, what CBCE's models are unless others are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from anabranch._parameters import Constraint, Number
from anabranch.base import StreamClassifier
from anabranch.ensemble._base import make_writable
from anabranch.kernels import kernel_logistic as kernels
from anabranch.schema import Codes, Floats

__all__ = ["KernelLogistic"]

_FIRST_ROOM = 64  # rows; doubled until the budget is reached


class KernelLogistic(StreamClassifier):
    """Logistic regression with a Gaussian kernel for two classes, by stochastic gradient steps on the logistic loss.

    With each row all coefficients shrink by 1 - eta lambda, and the row is kept with the coefficient
    eta y sigma(-y f(x)); beyond the budget the oldest row goes. Columns are scaled by their ranges so far: only
    differences between rows count, so that what is kept need not be scaled anew.

    Parameters
    ----------
    learning_rate : float
        eta.
    l2 : float
        lambda.
    bandwidth : float
        sigma of the kernel exp(-d^2 / (2 sigma^2)), in units of the columns' ranges; two nominal values are 0 or 1
        apart.
    budget : int
        Most rows kept.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "learning_rate": Number(0, open_low=True),
        "l2": Number(0),
        "bandwidth": Number(0, open_low=True),
        "budget": Number(1, integer=True),
    }

    def __init__(
        self, learning_rate: float = 0.01, l2: float = 0.1, bandwidth: float = 0.1, budget: int = 5000
    ) -> None:
        self.learning_rate = learning_rate
        self.l2 = l2
        self.bandwidth = bandwidth
        self.budget = budget

    def _begin(self) -> None:
        self._kept = np.zeros((0, 0))
        self._alphas = np.zeros(0)
        self._numbers = np.array([1.0, 0.0, 0.0])
        self._ranges = np.zeros((2, 0))
        self._nominal = np.zeros(0, np.bool_)

    def _reconfigure(self) -> None:
        if len(self._alphas) > self.budget:
            raise ValueError("budget cannot fall below the rows there is room for: fit starts afresh.")
        if self._numbers[kernels.NEXT] < self._numbers[kernels.FILLED]:  # all room was used, and may not be any more
            filled, at = int(self._numbers[kernels.FILLED]), int(self._numbers[kernels.NEXT])
            self._kept, self._alphas = np.roll(self._kept, -at, axis=0), np.roll(self._alphas, -at)
            self._numbers[kernels.NEXT] = filled % self.budget

    def _make_room(self, width: int, rows: int) -> None:
        known = len(self._nominal)
        if width > known:
            assert self._schema is not None
            kinds = np.zeros(width - known, np.bool_)
            told = self._schema.nominal[known:width]
            kinds[: len(told)] = told
            self._nominal = np.concatenate([self._nominal, kinds])
            self._ranges = np.hstack([self._ranges, np.tile([[np.inf], [-np.inf]], width - known)])
            self._kept = np.hstack([self._kept, np.full((len(self._kept), width - known), np.nan)])
        needed = min(int(self._numbers[kernels.FILLED]) + rows, int(self.budget))
        room = len(self._alphas)
        if needed > room:
            while room < needed:
                room = min(max(2 * room, _FIRST_ROOM), int(self.budget))
            kept = np.full((room, len(self._nominal)), np.nan)
            kept[: len(self._kept)] = self._kept
            self._kept = kept
            self._alphas = np.concatenate([self._alphas, np.zeros(room - len(self._alphas))])

    @property
    def _gamma(self) -> float:
        return 0.5 / float(self.bandwidth) ** 2

    def _run(self, X: Floats, y: Codes, w: Floats, votes: Floats) -> None:
        make_writable(self)
        self._make_room(X.shape[1], int(np.count_nonzero(w)))
        filled = int(self._numbers[kernels.FILLED])
        # The kernel goes round the room there is: up to the budget there is always more than it needs.
        if filled < len(self._alphas):
            self._numbers[kernels.NEXT] = filled
        kernels.learn(
            X, y, w, votes, self._kept, self._alphas, self._numbers, self._ranges, self._nominal, self._gamma,
            float(self.learning_rate), max(1.0 - float(self.learning_rate) * float(self.l2), 0.0),
        )  # fmt: skip

    def _learn(self, X: Floats, y: Codes, w: Floats) -> None:
        self._run(X, y, w, kernels.NO_VOTES)

    def _test_then_train(self, X: Floats, y: Codes, w: Floats) -> Floats:
        votes = np.zeros((len(X), 2))
        self._run(X, y, w, votes)
        return votes

    def _votes(self, X: Floats) -> Floats:
        votes = np.zeros((len(X), 2))
        if self._numbers[kernels.FILLED] == 0:
            return votes
        width = len(self._nominal)
        if X.shape[1] < width:
            X = np.hstack([X, np.full((len(X), width - X.shape[1]), np.nan)])
        X = np.ascontiguousarray(X[:, :width])
        kernels.votes(X, votes, self._kept, self._alphas, self._numbers, self._ranges, self._nominal, self._gamma)
        return votes
