"""Streams by what the command line calls them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["find_stream", "is_endless"]

_FILE_OPTIONS = {
    "target": None,
    "format": None,
    "delimiter": None,
    "on_bad_row": "raise",
    "follow": False,
    "idle_timeout": None,
}  # what FileStream takes, as it is where no option says otherwise


def find_stream(text: str, of_files: dict[str, Any], defaults: dict[str, Any], notice: Callable[[str], None]) -> Any:
    """Make the stream that a data set's name, a path or an expression stands for."""
    from anabranch import _expression, datasets
    from anabranch.datasets.openml import is_openml
    from anabranch.stream import GENERATORS, FileStream

    path = Path(text)
    is_file = len(text) < 4096 and os.path.exists(text)
    given = {name: value for name, value in of_files.items() if value != _FILE_OPTIONS[name]}
    option = "--" + next(iter(given), "").replace("_", "-")
    if text in datasets.names() or is_openml(text):
        if given:
            raise ValueError(f"{option} is for files: the data set {text} has its own")
        return datasets.load(text, progress=notice)
    if text == "-" or (is_file and text not in GENERATORS):
        return FileStream(text, **given)
    if _expression.is_call(text) or text in GENERATORS:
        if given:
            raise ValueError(f"{option} is for files: a generator has its own")
        return _expression.stream(text, defaults)
    if path.suffix or "/" in text or os.sep in text:
        raise FileNotFoundError(f"there is no file {text}")
    known = [*datasets.names(), *GENERATORS]
    raise ValueError(
        f"there is no data set, file or generator {text!r}.{_expression.suggestion(text, known)} "
        f"Data sets: {', '.join(datasets.names())}. Generators: {', '.join(GENERATORS)}"
    )


def is_endless(stream: Any) -> bool:
    return bool(getattr(stream, "endless", False))
