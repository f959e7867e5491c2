"""Predict that the next row has the class of the last one."""

from __future__ import annotations

from typing import Any

import numpy as np

from anabranch.base import StreamClassifier
from anabranch.schema import Codes, Floats

__all__ = ["NoChangeClassifier"]


class NoChangeClassifier(StreamClassifier):
    """Predict the class of the row learned last, whatever the row.

    What a learner must beat where labels come in runs, as they do in *electricity*.

    References
    ----------
    .. [1] A. Bifet et al., "Pitfalls in benchmarking data stream classification and how to avoid them",
       ECML PKDD 2013.

    Examples
    --------
    >>> from anabranch.dummy import NoChangeClassifier
    >>> learner = NoChangeClassifier().partial_fit([[0], [1], [2]], ["up", "up", "down"])
    >>> learner.predict([[5], [6]])
    array(['down', 'down'], dtype='<U4')
    """

    def _begin(self) -> None:
        self._last = np.full(1, -1, np.int64)

    def _learn(self, X: Floats, y: Codes, w: Floats) -> None:
        taught = np.flatnonzero(w > 0)
        if taught.size:
            self._last[0] = y[taught[-1]]

    def _votes(self, X: Floats) -> Floats:
        return self._one_hot(np.full(len(X), self._last[0]))

    def _test_then_train(self, X: Floats, y: Codes, w: Floats) -> Floats:
        return self._one_hot(self._running(y, w)[:-1])

    def _train_then_test(self, X: Floats, y: Codes, w: Floats) -> Floats:
        return self._one_hot(self._running(y, w)[1:])

    def _running(self, y: Codes, w: Floats) -> Codes:
        """The last class before the first row and after each; the last one is kept."""
        where = np.maximum.accumulate(np.concatenate([[0], np.where(w > 0, np.arange(1, len(y) + 1), 0)]))
        result: Codes = np.concatenate([self._last, y])[where]
        self._last = result[-1:].copy()
        return result

    def _one_hot(self, last: Codes) -> Floats:
        votes = np.zeros((len(last), self._n_classes))
        known = np.flatnonzero(last >= 0)
        votes[known, last[known]] = 1.0
        return votes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
