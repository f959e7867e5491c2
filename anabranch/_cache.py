"""Where the library keeps what it may recompute or fetch again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def user_cache() -> Path:
    """Folder for compiled kernels and fetched data, per user; it need not be there yet.

    ``ANABRANCH_CACHE`` if set, else the platform's usual place.

    Raises
    ------
    RuntimeError
        If the user has no home and nothing else says where.
    """
    if chosen := os.environ.get("ANABRANCH_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "anabranch"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "anabranch"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser() / "anabranch"
