"""``anabranch warmup``: everything compiled once."""

from __future__ import annotations

import sys
from pathlib import Path

from anabranch.cli._output import duration


def warmup() -> None:
    """Compile everything once, so that later starts are quick; for images and fresh installations."""
    import time

    from anabranch import _expression
    from anabranch._warmup import (
        exercise,
        exercise_detectors,
        exercise_metrics,
        exercise_streams,
        read_files,
    )
    from anabranch.kernels import cache_folder, checks, compilations

    start = time.perf_counter()
    classes = _expression.learners()
    for number, cls in enumerate(classes, 1):
        print(f"[{number}/{len(classes)}] {cls.__name__}", file=sys.stderr, flush=True)
        exercise(cls)
    exercise_detectors()
    exercise_metrics()
    read_files()
    exercise_streams()
    n = compilations()
    what = f"{n} kernel{'' if n == 1 else 's'} compiled" if n else "nothing left to compile"
    print(f"{what}, {len(classes)} learners exercised in {duration(time.perf_counter() - start)}")
    folder = cache_folder(Path(checks.__file__).resolve())
    print(f"cache: {folder.parent}" if folder else "no folder can be written: every process has to compile for itself")
