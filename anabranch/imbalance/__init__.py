"""Learners for skewed streams: a class that matters is rare."""

from anabranch.imbalance.under_bagging import UnderBaggingClassifier

__all__ = ["UnderBaggingClassifier"]
