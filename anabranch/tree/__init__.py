"""Decision trees that grow as the stream goes by; and two that are grown from all rows in one go."""

from anabranch.tree.ad_tree import ADTreeClassifier
from anabranch.tree.adaptive_hoeffding_option_tree import AdaptiveHoeffdingOptionTreeClassifier
from anabranch.tree.hoeffding_option_tree import HoeffdingOptionTreeClassifier
from anabranch.tree.hoeffding_tree import HoeffdingTreeClassifier
from anabranch.tree.option_tree import OptionTreeClassifier

__all__ = [
    "ADTreeClassifier",
    "AdaptiveHoeffdingOptionTreeClassifier",
    "HoeffdingOptionTreeClassifier",
    "HoeffdingTreeClassifier",
    "OptionTreeClassifier",
]
