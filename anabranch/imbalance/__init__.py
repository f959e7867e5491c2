"""Learners for skewed streams: a class that matters is rare."""

from anabranch.imbalance.cbce import CBCEClassifier
from anabranch.imbalance.dwmil import DWMILClassifier
from anabranch.imbalance.esos_elm import ESOSELMClassifier
from anabranch.imbalance.oob import OOBClassifier
from anabranch.imbalance.under_bagging import UnderBaggingClassifier
from anabranch.imbalance.uob import UOBClassifier
from anabranch.imbalance.weob import WEOBClassifier

__all__ = [
    "CBCEClassifier",
    "DWMILClassifier",
    "ESOSELMClassifier",
    "OOBClassifier",
    "UOBClassifier",
    "UnderBaggingClassifier",
    "WEOBClassifier",
]
