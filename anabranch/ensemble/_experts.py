"""Ensembles in which every chunk makes an expert, and experts vote by weights that each further chunk sets anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from anabranch._parameters import Constraint, Number, OneOf
from anabranch.base import Part
from anabranch.ensemble._base import each
from anabranch.ensemble._batch import Models
from anabranch.ensemble._chunks import AskedOnceClassifier
from anabranch.kernels import voting as kernels
from anabranch.schema import Codes, Floats

__all__ = ["Expert", "ExpertEnsemble", "squared_error"]


class Expert(Part):
    """What one chunk has taught.

    Attributes
    ----------
    models : Models
        Their votes are the expert's.
    weight : float
        Of its vote, 0 or above.
    """

    def __init__(self, models: Models, weight: float = 1.0) -> None:
        self.models, self.weight = models, weight


class ExpertEnsemble(AskedOnceClassifier):
    """Base of ensembles with an expert per chunk.

    A subclass writes ``_learn_said(X, y, w, said)``, where ``said`` are each expert's votes.

    Attributes
    ----------
    n_experts_ : int
        Number of experts.
    weights_ : ndarray of shape (n_experts_,)
        Weights of their votes, in the order of the chunks that made them.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **{name: it for name, it in AskedOnceClassifier._constraints.items() if name != "n_estimators"},
        "voting": OneOf(("hard", "soft")),
        "max_experts": Number(1, integer=True, optional=True),
    }

    voting: str
    max_experts: int | None

    _experts: list[Any]

    @property
    def n_experts_(self) -> int:
        """Number of experts."""
        return len(self._experts)

    @property
    def weights_(self) -> Floats:
        """Weights of the experts' votes."""
        return np.array([expert.weight for expert in self._experts], np.float64)

    # ------------------------------------------------------------------------------------ hooks

    def _votes_of(self, models: Models, X: Floats) -> Floats:
        """Votes of an expert's models, which need not add up to anything in particular."""
        return models.votes(X)

    # ------------------------------------------------------------------------------------ learning and voting

    def _begin(self) -> None:
        super()._begin()
        self._experts = []

    def _say(self, X: Floats) -> list[Floats]:
        """Each expert's votes."""
        return each(self.n_jobs, lambda expert: self._votes_of(expert.models, X), self._experts, len(X))

    def _weighted(self, said: Sequence[Floats], n: int) -> Floats:
        """The experts' votes by weight; if none has any, all count alike."""
        votes = np.zeros((n, self._n_classes))
        weights = self.weights_
        if not weights.any():
            weights = np.ones(len(said))
        for m, one in enumerate(said):
            kernels.add_votes(votes, one, weights[m : m + 1], self.voting == "hard")
        return votes

    def _add(self, expert: Any) -> None:
        """Take in a new expert; the one of the smallest weight, the oldest among equals, makes room if it has to."""
        if self.max_experts is not None:
            while len(self._experts) >= self.max_experts:
                del self._experts[int(self.weights_.argmin())]
        self._experts.append(expert)


def squared_error(votes: Floats, y: Codes, w: Floats) -> float:
    """Mean of (1 - p)^2, by weight, where p is the share of votes for a row's class.

    Parameters
    ----------
    votes : float64 (n, k)
        A row without any votes has p = 0, as has a class beyond k.
    y : int64 (n,)
    w : float64 (n,)
    """
    p = np.zeros(len(y))
    known = np.flatnonzero(y < votes.shape[1])
    total = votes.sum(axis=1)
    known = known[total[known] > 0]
    p[known] = votes[known, y[known]] / total[known]
    return float((w * (1.0 - p) ** 2).sum() / w.sum())
