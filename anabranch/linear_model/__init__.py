"""Linear models, for dense and for sparse rows."""

from anabranch.linear_model.online_gradient_descent import OGDClassifier, OGDRegressor
from anabranch.linear_model.passive_aggressive import PassiveAggressiveClassifier

__all__ = ["OGDClassifier", "OGDRegressor", "PassiveAggressiveClassifier"]
