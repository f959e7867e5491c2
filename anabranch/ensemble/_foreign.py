"""A classifier of another library as a member of an ensemble."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from anabranch.base import StreamClassifier
from anabranch.schema import Codes, Floats

__all__ = ["Foreign"]


class Foreign(StreamClassifier):
    """Learns with a scikit-learn classifier's ``partial_fit``, one row at a time.

    Chunks would be learned differently from the same rows alone, so rows are handed over singly; that costs about a
    tenth of a millisecond each. Missing values become 0. scikit-learn fixes columns and classes at the first row:
    one that turns up later makes the classifier start again, with a warning; announce the classes to avoid it.

    Parameters
    ----------
    estimator : classifier with ``partial_fit(X, y, classes, sample_weight)``
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def _begin(self) -> None:
        self._model: Any = None
        self._classes = self._width = 0

    def _learn(self, X: Floats, y: Codes, w: Floats) -> None:
        X = np.nan_to_num(X, nan=0.0)
        for i in np.flatnonzero(w > 0):
            classes = max(self._classes, self._n_announced, int(y[i]) + 1)
            if self._model is None or classes > self._classes or X.shape[1] > self._width:
                if self._model is not None:
                    warnings.warn(
                        f"{type(self.estimator).__name__} starts again: it cannot take in a class or column that "
                        "turns up after its first row.",
                        stacklevel=2,
                    )
                self._model = clone(self.estimator)
                self._classes, self._width = classes, X.shape[1]
            self._model.partial_fit(
                X[i : i + 1], y[i : i + 1], classes=np.arange(self._classes), sample_weight=w[i : i + 1]
            )

    def _votes(self, X: Floats) -> Floats:
        votes = np.zeros((len(X), self._n_classes))
        if self._model is None:
            return votes
        X = np.nan_to_num(X[:, : self._width], nan=0.0)
        if X.shape[1] < self._width:
            X = np.hstack([X, np.zeros((len(X), self._width - X.shape[1]))])
        if hasattr(self._model, "predict_proba"):
            votes[:, : self._classes] = self._model.predict_proba(X)
        else:
            votes[np.arange(len(X)), self._model.predict(X)] = 1.0
        return votes
