"""Learners made of learners."""

from anabranch.ensemble.accuracy_weighted_ensemble import AccuracyWeightedEnsembleClassifier
from anabranch.ensemble.arc_x4 import ArcX4Classifier
from anabranch.ensemble.block_boosting import BlockBoostingClassifier
from anabranch.ensemble.dynamic_weighted_majority import DynamicWeightedMajorityClassifier
from anabranch.ensemble.madaboost import MadaBoostClassifier
from anabranch.ensemble.oza_bagging import OzaBaggingClassifier
from anabranch.ensemble.oza_boosting import OzaBoostingClassifier
from anabranch.ensemble.pasting_bites import PastingBitesClassifier
from anabranch.ensemble.smooth_boosting import SmoothBoostingClassifier

__all__ = [
    "AccuracyWeightedEnsembleClassifier",
    "ArcX4Classifier",
    "BlockBoostingClassifier",
    "DynamicWeightedMajorityClassifier",
    "MadaBoostClassifier",
    "OzaBaggingClassifier",
    "OzaBoostingClassifier",
    "PastingBitesClassifier",
    "SmoothBoostingClassifier",
]
