"""What oversampling and undersampling online bagging share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from anabranch._parameters import Constraint, Number
from anabranch.ensemble._base import Ensemble
from anabranch.kernels import resampling as kernels
from anabranch.schema import Codes, Floats

__all__ = ["DECAY", "ResamplingBagging"]

# A share of 1 would leave sizes as they are for ever, and 0 forget all but the last row.
DECAY = Number(0, 1, open_low=True, open_high=True)


class ResamplingBagging(Ensemble):
    """Online bagging whose members learn a row k times, k ~ Poisson(rate), the rate set by the size of its class.

    Sizes fade row by row and depend on labels alone, so that all rates of a chunk are known before any member
    learns it.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {**Ensemble._constraints, "decay": DECAY}

    _against: ClassVar[int]  # which class' size a row's own is held against

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 10,
        decay: float = 0.9,
        voting: str = "soft",
        max_bytes: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            n_estimators=n_estimators,
            voting=voting,
            max_bytes=max_bytes,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.decay = decay

    def _begin(self) -> None:
        super()._begin()
        # As the labels, one per class and no part of nbytes; None before the first row.
        self._sizes: list[float] | None = None

    def _rates(self, y: Codes, w: Floats) -> Floats:
        """How often members shall learn each row on average; fades the class sizes."""
        known = self._known_sizes()
        sizes = np.full(max(len(known), int(y.max()) + 1), kernels.UNMET)
        sizes[: len(known)] = known
        rates = np.empty(len(y))
        kernels.rates(sizes, y, w, float(self.decay), self._against, rates)
        self._sizes = sizes.tolist()
        return rates

    def _known_sizes(self) -> list[float]:
        """Size of each class known so far; those announced before the first row start with equal shares."""
        if self._sizes is None:
            return [1.0 / self._n_announced for _ in range(self._n_announced)]
        return self._sizes

    @property
    def class_sizes_(self) -> Floats:
        """Share of each class in the latest rows, as it has faded; 0 for a class not known yet."""
        self._columns()
        sizes = np.zeros(self._n_classes)
        known = self._known_sizes()
        sizes[: len(known)] = np.maximum(known, 0.0)
        return sizes

    # ------------------------------------------------------------------------------------ hooks

    def _learn(self, X: Floats, y: Codes, w: Floats) -> None:
        self._learn_drawn(X, y, w, self._rates(y, w))

    def _test_then_train(self, X: Floats, y: Codes, w: Floats) -> Floats:
        rates = self._rates(y, w)
        return self._sum(self._each(lambda m: self._member(m)._test_then_train(X, y, self._draw(m, w, rates)), len(X)))

    def _train_then_test(self, X: Floats, y: Codes, w: Floats) -> Floats:
        rates = self._rates(y, w)
        return self._sum(self._each(lambda m: self._member(m)._train_then_test(X, y, self._draw(m, w, rates)), len(X)))
