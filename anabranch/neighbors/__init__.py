"""Nearest neighbours among the latest rows."""

from anabranch.neighbors.knn import KNNClassifier

__all__ = ["KNNClassifier"]
