"""What Learn++.NIE and Learn++.CDS share: experts weighed by their errors over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np

from anabranch._parameters import Constraint, Number
from anabranch.ensemble._batch import Models
from anabranch.ensemble._experts import Expert, ExpertEnsemble
from anabranch.schema import Codes, Floats

__all__ = ["TimedExpert", "TimedExperts"]

# The authors' own floor for an expert's normalised error: without one, an expert that never errs outvotes all others.
SMALLEST_ERROR = 0.01
_TINY = 1e-300


class TimedExpert(Expert):
    """An expert whose weight comes from all its errors so far, late ones counting more than early ones.

    Attributes
    ----------
    age : int
        Chunks since it was made.
    errors, total : float
        Its normalised errors by the sigmoids of its age, added up; and those sigmoids.
    """

    def __init__(self, models: Models) -> None:
        super().__init__(models)
        self.age, self.errors, self.total = 0, 0.0, 0.0

    def erred(self, error: float, slope: float, crossing: float) -> None:
        """Take note of the error on a chunk, and set the weight."""
        error = min(error, 0.5)
        beta = error / (1.0 - error)
        sigmoid = max(_TINY, 1.0 / (1.0 + float(np.exp(min(700.0, -slope * (self.age - crossing))))))
        self.errors += sigmoid * beta
        self.total += sigmoid
        self.age += 1
        self.weight = -float(np.log(max(self.errors / self.total, SMALLEST_ERROR)))


class TimedExperts(ExpertEnsemble):
    """Base of the Learn++ family: experts weighed by their errors over time.

    A subclass writes ``_make(X, y, w)``, which makes an expert's models.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **ExpertEnsemble._constraints,
        "slope": Number(0),
        "crossing": Number(),
    }

    slope: float
    crossing: float

    def _make(self, X: Floats, y: Codes, w: Floats) -> Models:
        raise NotImplementedError

    def _learn_timed(
        self, X: Floats, y: Codes, w: Floats, said: list[Floats], error_of: Callable[[Codes], float]
    ) -> None:
        """Make an expert, and weigh all by the errors of what they say."""
        errors = [error_of(votes.argmax(axis=1)) for votes in said]
        models = self._make(X, y, w)
        newest = error_of(self._votes_of(models, X).argmax(axis=1))
        if newest > 0.5:  # a second try, and no third
            models = self._make(X, y, w)
            newest = error_of(self._votes_of(models, X).argmax(axis=1))
        for expert, error in zip(self._experts, errors, strict=True):
            expert.erred(error, self.slope, self.crossing)
        expert = TimedExpert(models)
        expert.erred(newest, self.slope, self.crossing)
        self._add(expert)
