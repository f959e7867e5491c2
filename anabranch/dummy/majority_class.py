"""Predict the class seen most often."""

from __future__ import annotations

from typing import Any

import numpy as np

from anabranch.base import StreamClassifier
from anabranch.schema import Codes, Floats

__all__ = ["MajorityClassClassifier"]


class MajorityClassClassifier(StreamClassifier):
    """Predict the class with the largest weight so far, whatever the row.

    What a learner must beat on a skewed stream.

    Attributes
    ----------
    class_weight_ : ndarray of shape (n_classes,)
        Weight of each class so far, in the order of ``classes_``.

    Examples
    --------
    >>> from anabranch.dummy import MajorityClassClassifier
    >>> learner = MajorityClassClassifier().partial_fit([[0], [1], [2]], ["no", "yes", "no"])
    >>> learner.predict([[5]]), learner.predict_proba([[5]]).round(3)
    (array(['no'], dtype='<U3'), array([[0.667, 0.333]]))
    """

    def _begin(self) -> None:
        self._weights = np.zeros(0)

    def _learn(self, X: Floats, y: Codes, w: Floats) -> None:
        k = int(y.max()) + 1
        if k > len(self._weights):
            self._weights = np.concatenate([self._weights, np.zeros(k - len(self._weights))])
        np.add.at(self._weights, y, w)  # in row order, so that chunks round alike

    def _votes(self, X: Floats) -> Floats:
        return np.tile(self._weights, (len(X), 1))

    def _test_then_train(self, X: Floats, y: Codes, w: Floats) -> Floats:
        return self._running(y, w)[:-1]

    def _train_then_test(self, X: Floats, y: Codes, w: Floats) -> Floats:
        return self._running(y, w)[1:]

    def _running(self, y: Codes, w: Floats) -> Floats:
        """Weights before the first row and after each; the last ones are kept."""
        steps = np.zeros((len(y) + 1, max(self._n_classes, len(self._weights))))
        steps[0, : len(self._weights)] = self._weights
        steps[np.arange(1, len(y) + 1), y] = w
        np.add.accumulate(steps, axis=0, out=steps)
        k = max(len(self._weights), int(y.max()) + 1)
        self._weights = steps[-1, :k].copy()
        return steps

    @property
    def class_weight_(self) -> Floats:
        """Weight of each class so far."""
        self._columns()
        weights: Floats = self._padded(self._weights[None])[0].copy()
        return weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
