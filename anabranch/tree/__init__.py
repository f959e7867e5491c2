"""Decision trees that grow as the stream goes by."""

from anabranch.tree.hoeffding_tree import HoeffdingTreeClassifier

__all__ = ["HoeffdingTreeClassifier"]
