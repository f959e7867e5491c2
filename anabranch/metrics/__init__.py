"""How well a stream is predicted: metrics that are updated chunk by chunk.

Each metric is one small class with `update(y, proba)`, `value`, `reset()` and a pure `compute(y, proba)` over
whole arrays; see :class:`Metric`. :class:`Window` turns any of them into the same over the latest rows.
"""

from __future__ import annotations

import difflib
import re

from anabranch.metrics._base import Metric
from anabranch.metrics.auc import ROCAUC
from anabranch.metrics.confusion import Accuracy, ConfusionMatrix, GMean, Kappa
from anabranch.metrics.log_loss import LogLoss
from anabranch.metrics.window import Window

__all__ = [
    "METRICS",
    "ROCAUC",
    "Accuracy",
    "ConfusionMatrix",
    "GMean",
    "Kappa",
    "LogLoss",
    "Metric",
    "Window",
    "get",
]

METRICS: dict[str, type[Metric]] = {metric.name: metric for metric in (Accuracy, Kappa, GMean, ROCAUC, LogLoss)}
"""All metrics by name, in the order in which tables show them."""

_ALIASES = {"acc": "accuracy", "rocauc": "auc"}


def get(metric: str | type[Metric] | Metric) -> Metric:
    """Metric by name.

    Parameters
    ----------
    metric : str, type of Metric or Metric
        A name in :data:`METRICS` or one of ``acc`` and ``roc_auc``; case, hyphens, underscores and spaces do
        not matter. Or a class, which is instantiated, or a metric, which is returned as it is.

    Returns
    -------
    Metric
        A new metric, or the one given.

    Raises
    ------
    ValueError
        If there is no metric of that name, or the argument is none of these.

    Examples
    --------
    >>> from anabranch import metrics
    >>> metrics.get("G-mean").label
    'G-mean'
    >>> metrics.get("kapa")
    Traceback (most recent call last):
        ...
    ValueError: unknown metric 'kapa'; there are accuracy, kappa, gmean, auc, log_loss. Did you mean 'kappa'?
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, type) and issubclass(metric, Metric):
        return metric()
    if not isinstance(metric, str):
        raise ValueError(f"a metric is given by its name, its class or an instance, got {metric!r}")
    names = {_key(name): name for name in METRICS} | _ALIASES
    key = _key(metric)
    if key in names:
        return METRICS[names[key]]()
    message = f"unknown metric {metric!r}; there are {', '.join(METRICS)}"
    nearest = difflib.get_close_matches(key, names, n=1)
    if nearest:
        message += f". Did you mean {names[nearest[0]]!r}?"
    raise ValueError(message)


def _key(name: str) -> str:
    return re.sub(r"[-_\s]+", "", name.lower())
