"""How wrong a classifier is about a class that may be rare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anabranch._parameters import OneOf
from anabranch.schema import Codes, Floats

__all__ = ["ErrorFunction", "error_of"]

_NAMES = ("gmean", "f1", "recall")


class ErrorFunction:
    """The name of an error, or a function that returns one."""

    def check(self, name: str, value: Any) -> None:
        """Check that the value can be had as an error."""
        if isinstance(value, str) or not callable(value):
            OneOf(_NAMES).check(name, value)


def error_of(error: str | Callable[[Codes, Floats, Floats], float], truth: Codes, said: Floats, w: Floats) -> float:
    """Error of a classifier on a chunk.

    Parameters
    ----------
    error : str or callable
        See :class:`~anabranch.imbalance.DWMILClassifier`.
    truth : int64 (n,)
        1 for rows of the class, -1 for the others; there are some of both.
    said : float64 (n,)
        The same as the classifier says; 0, if it cannot say, is wrong.
    w : float64 (n,)
        Weights of the rows.

    Returns
    -------
    float
        From 0 to 1.
    """
    if callable(error):
        value = float(error(truth, said, w))
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"error must be a function that returns a number from 0 to 1, it returned {value!r}.")
        return value
    positive = truth > 0
    right = said == truth
    p, n = float(w[positive].sum()), float(w[~positive].sum())
    tp, tn = float(w[positive & right].sum()), float(w[~positive & right].sum())
    if error == "gmean":
        return 1.0 - float(np.sqrt((tp / p) * (tn / n)))
    if error == "recall":
        return 1.0 - (tp / p + tn / n) / 2.0
    fp = float(w[~positive & (said > 0)].sum())
    return 1.0 - 2.0 * tp / (p + tp + fp)  # 2 tp / (2 tp + fn + fp), where p = tp + fn
