"""Learning from data streams that drift, are skewed and change shape.

The package's parts are imported when first used, so that ``import anabranch`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_PARTS = (
    "base",
    "checkpoint",
    "datasets",
    "drift",
    "dummy",
    "ensemble",
    "evaluation",
    "evolving",
    "imbalance",
    "kernels",
    "linear_model",
    "metrics",
    "naive_bayes",
    "neighbors",
    "papers",
    "schema",
    "stream",
    "testing",
    "tree",
)

__all__ = ["__version__", *_PARTS]


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
