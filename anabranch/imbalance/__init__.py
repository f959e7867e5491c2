"""Learners for skewed streams: a class that matters is rare."""

from anabranch.imbalance.cbce import CBCEClassifier
from anabranch.imbalance.dfgw_is import DFGWISClassifier
from anabranch.imbalance.dwmil import DWMILClassifier
from anabranch.imbalance.esos_elm import ESOSELMClassifier
from anabranch.imbalance.huwrs_ip import HUWRSIPClassifier
from anabranch.imbalance.learnpp_cds import LearnPPCDSClassifier
from anabranch.imbalance.learnpp_nie import LearnPPNIEClassifier
from anabranch.imbalance.oob import OOBClassifier
from anabranch.imbalance.rea import REAClassifier
from anabranch.imbalance.sera import SERAClassifier
from anabranch.imbalance.uncorrelated_bagging import UncorrelatedBaggingClassifier
from anabranch.imbalance.under_bagging import UnderBaggingClassifier
from anabranch.imbalance.uob import UOBClassifier
from anabranch.imbalance.weob import WEOBClassifier

__all__ = [
    "CBCEClassifier",
    "DFGWISClassifier",
    "DWMILClassifier",
    "ESOSELMClassifier",
    "HUWRSIPClassifier",
    "LearnPPCDSClassifier",
    "LearnPPNIEClassifier",
    "OOBClassifier",
    "REAClassifier",
    "SERAClassifier",
    "UOBClassifier",
    "UncorrelatedBaggingClassifier",
    "UnderBaggingClassifier",
    "WEOBClassifier",
]
