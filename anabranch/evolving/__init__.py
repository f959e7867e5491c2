"""Learners for streams whose columns vanish and appear."""

from anabranch.evolving.fesl import FESLClassifier, FESLRegressor
from anabranch.evolving.nogd import NOGDClassifier, NOGDRegressor
from anabranch.evolving.rogd import ROGDClassifier, ROGDRegressor

__all__ = [
    "FESLClassifier",
    "FESLRegressor",
    "NOGDClassifier",
    "NOGDRegressor",
    "ROGDClassifier",
    "ROGDRegressor",
]
