"""Drift detection for online class imbalance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anabranch._parameters import Constraint, Number
from anabranch.base import _unmasked
from anabranch.drift.base import DRIFT, CompiledDetector
from anabranch.schema import Vocabulary

__all__ = ["DDMOCI"]

# Places in the kernel's state (anabranch.kernels.drift).
_HEAD = 1
_MET, _SHARE, _HITS, _WEIGHT, _N, _P_MAX, _S_MAX, _CLASS = range(8)


class DDMOCI(CompiledDetector):
    """DDM for online class imbalance: where the recall of the rarest class falls, the concept has changed.

    When one class is rare, the error rate hardly moves if only the rare class is affected. This detector follows the
    recall p of the class that is rarest at present, with its standard deviation s = sqrt(p (1 - p) / n), and
    keeps the largest p + s so far, as p_max and s_max. Where p - s falls below p_max - ``warning_level`` s_max, it
    warns; below p_max - ``drift_level`` s_max there is a drift, and the recalls start anew.

    Parameters
    ----------
    min_examples : int, default=30
        Examples of a class that must have come since the start before its recall counts.
    warning_level : float, default=2.0
        Standard deviations to a warning.
    drift_level : float, default=3.0
        Standard deviations to a drift.
    class_decay : float, default=0.99
        Factor by which the sizes of the classes fade at each row (theta).
    recall_decay : float, default=0.999
        Factor by which earlier examples of a class fade at each of them (eta).
    nan_policy : {"raise", "skip"}, default="raise"
        What to do with a row whose true label is missing (NaN or None): refuse it, or pass it over as if it had not
        come.

    Attributes
    ----------
    classes_ : list
        Labels met so far, in the order in which they turned up.
    class_sizes_ : ndarray of shape (n_classes,)
        Decayed share of each class; they add up to 1.
    recalls_ : ndarray of shape (n_classes,)
        Decayed recall of each class since the last drift; NaN where there was no example.
    n_detections_ : int
        Number of drifts so far.

    Notes
    -----
    Unlike all other detectors it takes what was and what was predicted. There may be any number of classes; the rarest
    is the one of the smallest decayed size among those that have come, and its examples alone say anything: a
    warning stays until the next of them.

    What [1]_ leaves open, or is done in several ways, is done so here. n is the decayed number of examples that the
    recall rests on. A recall starts at its first example, not at 0. The largest p + s is kept for each class by itself,
    so that a change of the rarest class is no change of recall. A drift leaves the class sizes as they are. Published
    code differs in the decays, too: with 0.9 for both a recall rests on some ten examples, and chance alone makes the
    detector fire; the defaults are those of C. W. Chiu's implementation for MOA.

    References
    ----------
    .. [1] S. Wang, L. L. Minku, D. Ghezzi, D. Caltabiano, P. Tino and X. Yao, "Concept drift detection for online class
       imbalance learning", IJCNN 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from anabranch.drift import DDMOCI
    >>> rng = np.random.default_rng(1)
    >>> y = (rng.random(6000) < 0.1).astype(int)
    >>> found = rng.random(6000) < np.where(np.arange(6000) < 3000, 0.9, 0.3)  # of the rare class
    >>> detector = DDMOCI()
    >>> detector.update(y, np.where(found, y, 0))
    array([3339])
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "min_examples": Number(1, integer=True),
        "warning_level": Number(0, open_low=True),
        "drift_level": Number(0, open_low=True),
        "class_decay": Number(0, 1, open_low=True, open_high=True),
        "recall_decay": Number(0, 1, open_low=True),
    }
    _low: ClassVar[float] = 0.0
    _high: ClassVar[float] = 2.0**53
    _whole: ClassVar[bool] = True
    _kind: ClassVar[int] = 3
    _labels: Vocabulary | None = None

    def __init__(
        self,
        *,
        min_examples: int = 30,
        warning_level: float = 2.0,
        drift_level: float = 3.0,
        class_decay: float = 0.99,
        recall_decay: float = 0.999,
        nan_policy: str = "raise",
    ) -> None:
        self.min_examples = min_examples
        self.warning_level = warning_level
        self.drift_level = drift_level
        self.class_decay = class_decay
        self.recall_decay = recall_decay
        self.nan_policy = nan_policy

    def update(self, y_true: Any, y_pred: Any) -> Any:  # type: ignore[override]
        """Take in a row, or an array of them in their order.

        Parameters
        ----------
        y_true : label, or array-like of shape (n,)
            What was.
        y_pred : label, or array-like of shape (n,)
            What was predicted; a label never met, or a missing one, is a miss.

        Returns
        -------
        bool or ndarray of int64
            For a row, whether a drift was detected at it. For an array, the positions of the rows at which one was.

        Raises
        ------
        ValueError
            If the lengths differ, or a true label is missing and ``nan_policy`` is ``"raise"``. Nothing has
            changed then.
        """
        labels = self._labels
        if labels is not None:
            try:
                code, guess = labels.index.get(y_true), labels.index.get(y_pred)
            except TypeError:  # an array, most likely
                code = None
            if code is not None:
                level = self._call(2.0 * code + (guess == code))
                if level >= 0:
                    self._level = level
                    self._n_detections += level == DRIFT
                    return level == DRIFT
        levels = self.trace(y_true, y_pred)
        return bool(levels[0] == DRIFT) if _is_label(y_true) else np.flatnonzero(levels == DRIFT)

    def trace(self, y_true: ArrayLike, y_pred: ArrayLike) -> NDArray[np.int8]:  # type: ignore[override]
        """Take in rows as :meth:`update` does, and say of each what the detector said at it.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n,)

        Returns
        -------
        ndarray of int8, shape (n,)
            0: nothing, 1: a warning, 2: a drift.
        """
        return self._update(lambda: self._encoded(y_true, y_pred))

    @property
    def classes_(self) -> list[Any]:
        """Labels met so far, in the order in which they turned up."""
        return [] if self._labels is None else list(self._labels.values)

    @property
    def class_sizes_(self) -> NDArray[np.float64]:
        """Decayed share of each class."""
        shares = self._per_class()[:, _SHARE]
        return np.asarray(shares / shares.sum())

    @property
    def recalls_(self) -> NDArray[np.float64]:
        """Decayed recall of each class; NaN where there was no example since the last drift."""
        rows = self._per_class()
        with np.errstate(invalid="ignore"):
            return rows[:, _HITS] / rows[:, _WEIGHT]

    def _per_class(self) -> NDArray[np.float64]:
        return (self._state[_HEAD:] if self._begun else np.empty(0)).reshape(-1, _CLASS)

    def _encoded(self, y_true: Any, y_pred: Any) -> NDArray[np.float64]:
        """Rows as the kernel takes them: twice the code of the true class, plus one if it was predicted."""
        true, predicted = _labels_in(y_true, "y_true"), _labels_in(y_pred, "y_pred")
        if len(true) != len(predicted):
            raise ValueError(f"y_true and y_pred must have as many rows, got {len(true)} and {len(predicted)}.")
        known = self._labels if self._labels is not None else Vocabulary()
        codes, grown = known.encode(true)
        missing = codes < 0
        if self.nan_policy != "skip" and missing.any():
            raise ValueError(
                f"DDMOCI: y_true[{int(np.argmax(missing))}] is missing. Leave such rows out, or have them passed over "
                "with nan_policy='skip'."
            )
        hits = np.asarray(codes == grown.encode(predicted, grow=False)[0])
        self._labels = grown
        return np.asarray(np.where(missing, np.nan, 2.0 * codes + hits), np.float64)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.warning_level > self.drift_level:
            raise ValueError(
                f"warning_level must not be above drift_level, got {self.warning_level!r} and {self.drift_level!r}."
            )

    def _size(self) -> int:
        return _HEAD

    def _own_settings(self) -> list[float]:
        return [self.min_examples, self.warning_level, self.drift_level, self.class_decay, self.recall_decay]

    def _grow(self) -> None:
        fresh = np.zeros(_CLASS)
        fresh[_P_MAX] = -np.inf
        self._state = np.concatenate([self._state, fresh])

    def _fits_together(self) -> bool:
        return (len(self._state) - _HEAD) % _CLASS == 0


def _is_label(value: Any) -> bool:
    return isinstance(value, (str, bytes)) or np.ndim(value) == 0


def _labels_in(values: Any, name: str) -> NDArray[Any]:
    """Labels in an array of one dimension."""
    if _is_label(values):
        array = np.empty(1, object)
        array[0] = values.item() if isinstance(values, np.generic) else values
        return array
    array = np.asarray(_unmasked(values, name))
    if array.ndim != 1:
        raise ValueError(f"{name} must be a label or an array of shape (n,), got {array.shape}.")
    return array
