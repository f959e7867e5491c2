"""The adaptive Hoeffding option tree: leaves vote by how well they do."""

from __future__ import annotations

from typing import ClassVar

from anabranch.tree.hoeffding_option_tree import HoeffdingOptionTreeClassifier

__all__ = ["AdaptiveHoeffdingOptionTreeClassifier"]


class AdaptiveHoeffdingOptionTreeClassifier(HoeffdingOptionTreeClassifier):
    """Adaptive Hoeffding option tree: an option tree whose leaves weigh their votes by how well they do lately.

    Every leaf keeps a fading mean ``a`` of whether its own prediction of a row, just before learning it, was right:
    ``a`` becomes ``a + 0.2 (1 - a)`` where it was and ``a - 0.2 a`` where not, from 0 at the start. The leaf's class
    probabilities count ``1 / (1 - a)^2`` times.

    Parameters
    ----------
    max_options, secondary_delta, memory_order
        As for :class:`HoeffdingOptionTreeClassifier`.
    grace_period, delta, tie_threshold, criterion, leaf_prediction, nb_threshold, n_split_points
        As for :class:`HoeffdingTreeClassifier`.
    min_branch_fraction, binary_split, pre_prune, remove_poor_attributes, max_bytes, memory_period, nominal_features
        As for :class:`HoeffdingTreeClassifier`.

    Notes
    -----
    As in MOA, the mean takes no notice of weights, and a leaf that gave up its statistics to save memory has a
    weight of 1 and begins anew when it resumes. MOA's leaves lose their weight altogether after some 165 right
    predictions in a row, when ``1 - a`` has become 0; here it stays at the smallest number before that, 2^-53.

    References
    ----------
    .. [1] A. Bifet, G. Holmes, B. Pfahringer, R. Kirkby and R. Gavaldà, "New ensemble methods for evolving data
       streams", KDD 2009.

    Examples
    --------
    >>> from anabranch.stream import SEA
    >>> from anabranch.tree import AdaptiveHoeffdingOptionTreeClassifier
    >>> X, y = SEA(seed=1).take(5000)
    >>> tree = AdaptiveHoeffdingOptionTreeClassifier().partial_fit(X, y)
    >>> bool((tree.predict(X) == y).mean() > 0.85)
    True
    """

    _weighs_leaves: ClassVar[bool] = True
