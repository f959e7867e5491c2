"""Naive Bayes: classes described column by column."""

from anabranch.naive_bayes.gaussian_nb import GaussianNB

__all__ = ["GaussianNB"]
