"""PyArrow, imported where it is first used: it takes a while, and most streams do without."""

from __future__ import annotations

import importlib
from typing import Any


def arrow(module: str = "pyarrow") -> Any:
    """Return PyArrow or a module of it, untyped as it is.

    >>> arrow().table({"a": [1, 2]}).num_rows
    2
    """
    return importlib.import_module(module)
