"""Decision trees that grow as the stream goes by."""

from anabranch.tree.adaptive_hoeffding_option_tree import AdaptiveHoeffdingOptionTreeClassifier
from anabranch.tree.hoeffding_option_tree import HoeffdingOptionTreeClassifier
from anabranch.tree.hoeffding_tree import HoeffdingTreeClassifier

__all__ = ["AdaptiveHoeffdingOptionTreeClassifier", "HoeffdingOptionTreeClassifier", "HoeffdingTreeClassifier"]
