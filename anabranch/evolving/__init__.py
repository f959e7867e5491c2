"""Learners for streams whose columns vanish and appear."""

from anabranch.evolving.fesl import FESLClassifier, FESLRegressor
from anabranch.evolving.nogd import NOGDClassifier, NOGDRegressor
from anabranch.evolving.ocds import OCDSClassifier
from anabranch.evolving.olsf import OLSFClassifier
from anabranch.evolving.olvf import OLVFClassifier
from anabranch.evolving.opid import OPIDClassifier
from anabranch.evolving.pufe import PUFEClassifier, PUFERegressor
from anabranch.evolving.rogd import ROGDClassifier, ROGDRegressor

__all__ = [
    "FESLClassifier",
    "FESLRegressor",
    "NOGDClassifier",
    "NOGDRegressor",
    "OCDSClassifier",
    "OLSFClassifier",
    "OLVFClassifier",
    "OPIDClassifier",
    "PUFEClassifier",
    "PUFERegressor",
    "ROGDClassifier",
    "ROGDRegressor",
]
