"""Learners made of learners."""

from anabranch.ensemble.arc_x4 import ArcX4Classifier
from anabranch.ensemble.madaboost import MadaBoostClassifier
from anabranch.ensemble.oza_bagging import OzaBaggingClassifier
from anabranch.ensemble.oza_boosting import OzaBoostingClassifier
from anabranch.ensemble.smooth_boosting import SmoothBoostingClassifier

__all__ = [
    "ArcX4Classifier",
    "MadaBoostClassifier",
    "OzaBaggingClassifier",
    "OzaBoostingClassifier",
    "SmoothBoostingClassifier",
]
