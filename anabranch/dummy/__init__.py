"""Baselines that no table of results should lack."""

from anabranch.dummy.majority_class import MajorityClassClassifier
from anabranch.dummy.no_change import NoChangeClassifier

__all__ = ["MajorityClassClassifier", "NoChangeClassifier"]
