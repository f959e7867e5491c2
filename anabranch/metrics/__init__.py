"""How well a stream is predicted: metrics that are updated chunk by chunk.

Each metric is one small class with `update(y, proba)`, `value`, `reset()`, a pure `compute(y, proba)` over whole
arrays and `trace(y, proba)` for the value after each row; see :class:`Metric`, and :class:`RegressionMetric` for
those of numbers. :class:`Window` turns any of them into the same over the latest rows, :class:`Fading` into the same
with old rows fading away.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping

from anabranch.metrics._base import Metric, RegressionMetric
from anabranch.metrics._means import MeanMetric, RegressionMeanMetric
from anabranch.metrics.auc import ROCAUC
from anabranch.metrics.average_precision import AveragePrecision
from anabranch.metrics.baseline import KappaM, TemporalKappa
from anabranch.metrics.brier import Brier
from anabranch.metrics.confusion import Accuracy, BalancedAccuracy, ConfusionMatrix, CountMetric, GMean, Kappa
from anabranch.metrics.fading import Fading
from anabranch.metrics.log_loss import LogLoss
from anabranch.metrics.recall import F1, Precision, Recall
from anabranch.metrics.regression import MAE, R2, RMSE
from anabranch.metrics.window import Window

__all__ = [
    "F1",
    "MAE",
    "METRICS",
    "R2",
    "RMSE",
    "ROCAUC",
    "Accuracy",
    "AveragePrecision",
    "BalancedAccuracy",
    "Brier",
    "ConfusionMatrix",
    "CountMetric",
    "Fading",
    "GMean",
    "Kappa",
    "KappaM",
    "LogLoss",
    "MeanMetric",
    "Metric",
    "Precision",
    "Recall",
    "RegressionMeanMetric",
    "RegressionMetric",
    "TemporalKappa",
    "Window",
    "get",
]

METRICS: dict[str, type[Metric]] = {
    metric.name: metric
    for metric in (
        *(Accuracy, BalancedAccuracy, Kappa, TemporalKappa, KappaM, GMean, Recall, Precision, F1),
        *(ROCAUC, AveragePrecision, LogLoss, Brier),
        *(MAE, RMSE, R2),
    )
}
"""All metrics by name, in the order in which tables show them."""

_ALIASES = {
    "acc": "accuracy",
    "rocauc": "auc",
    "kappat": "temporal_kappa",
    "kappatemporal": "temporal_kappa",
    "brierscore": "brier",
    "r²": "r2",
}
_WRAPPERS = {"window": Window, "fading": Fading}


class _Names(Mapping[str, type]):
    """Whatever an expression may name, however it is spelt."""

    def __init__(self) -> None:
        metrics: dict[str, type] = {**{_key(name): cls for name, cls in METRICS.items()}, **_WRAPPERS}
        self._classes = metrics | {alias: METRICS[name] for alias, name in _ALIASES.items()}

    def __getitem__(self, name: str) -> type:
        return self._classes[_key(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)


def get(metric: str | type[Metric] | Metric) -> Metric:
    """Metric by name or expression.

    Parameters
    ----------
    metric : str, type of Metric or Metric
        A name in :data:`METRICS`, or one of ``acc``, ``roc_auc``, ``kappa_t`` and ``brier_score``; case, hyphens,
        underscores and spaces do not matter. Or a name with parameters, such as ``"recall(average='macro')"``,
        ``"window(auc, 500)"`` or ``"fading(kappa, 0.999)"``, which is parsed and never evaluated. Or a class, which is
        instantiated, or a metric, which is returned as it is.

    Returns
    -------
    Metric
        A new metric, or the one given.

    Raises
    ------
    ValueError
        If there is no metric of that name, the parameters are not its own, or the argument is none of these.

    Examples
    --------
    >>> from anabranch import metrics
    >>> metrics.get("G-mean").label
    'G-mean'
    >>> metrics.get("fading(f1(average='macro'), 0.99)").label
    'Macro F1, fading by 0.99'
    >>> metrics.get("kapa")
    Traceback (most recent call last):
        ...
    ValueError: unknown metric 'kapa'; there are accuracy, ... Did you mean 'kappa'?
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, type) and issubclass(metric, Metric):
        return metric()
    if not isinstance(metric, str):
        raise ValueError(f"a metric is given by its name, its class or an instance, got {metric!r}")
    names = _Names()
    key = _key(metric)
    if key in names and key not in _WRAPPERS:
        made: Metric = names[key]()
        return made
    from anabranch._expression import Call, ExpressionError, is_call, parse

    if not is_call(metric):
        raise ValueError(_unknown(metric))
    call = parse(metric)
    waiting = [call]
    while waiting:
        part = waiting.pop()
        if part.name not in names:
            raise ExpressionError(_unknown(part.name))
        waiting += [value for value in (*part.positional, *part.named.values()) if isinstance(value, Call)]
    try:
        made = call.build(names, "metric")
    except TypeError as error:
        raise ExpressionError(f"{metric}: {error}") from None
    return made


def _unknown(name: str) -> str:
    known = {_key(name): name for name in (*METRICS, *_WRAPPERS)} | _ALIASES
    message = f"unknown metric {name!r}; there are {', '.join((*METRICS, *(f'{w}(...)' for w in _WRAPPERS)))}"
    nearest = difflib.get_close_matches(_key(name), known, n=1)
    return f"{message}. Did you mean {known[nearest[0]]!r}?" if nearest else message


def _key(name: str) -> str:
    return re.sub(r"[-_\s]+", "", name.lower())
