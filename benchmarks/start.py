"""How long one waits: for the import, for the command's help, and for the first rows.

The first rows compile the kernels, or find them compiled. Everything is measured in processes of its own.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import _harness as harness

# Prints the seconds from after the imports to the end of the first call.
_FIRST_CALL = """
import time
import numpy as np
from anabranch.tree import HoeffdingTreeClassifier
X, y = np.random.default_rng(1).random((1000, 10)), np.arange(1000) % 2
start = time.perf_counter()
tree = HoeffdingTreeClassifier()
tree.test_then_train(X, y)
print(time.perf_counter() - start)
"""


def seconds(command: Sequence[str], environment: dict[str, str]) -> tuple[float, str]:
    """Time a process from start to end; returns also what it printed."""
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return time.perf_counter() - start, done.stdout


def main() -> int:
    parser = harness.options(__doc__)
    parser.add_argument("--repeat", type=int, default=7, metavar="N", help="times each is run (default: 7)")
    settings = parser.parse_args()
    report = harness.Report("start", settings)
    python = sys.executable
    script = Path(python).with_name("anabranch")
    command = [str(script)] if script.exists() else [python, "-m", "anabranch"]
    waits: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        waits.setdefault(name, []).append(value)

    with tempfile.TemporaryDirectory() as folder, harness.console.status("") as status:
        cache = Path(folder) / "kernels"
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
        seconds([python, "-c", "import anabranch"], environment)  # so that Python's own bytecode is there
        for number in range(settings.repeat):
            status.update(f"round {number + 1} of {settings.repeat}")
            bare = seconds([python, "-c", "pass"], environment)[0]
            note("python, doing nothing", bare)
            note("import anabranch", seconds([python, "-c", "import anabranch"], environment)[0] - bare)
            tree = "from anabranch.tree import HoeffdingTreeClassifier"
            note("import the Hoeffding tree", seconds([python, "-c", tree], environment)[0] - bare)
            note("anabranch --help", seconds([*command, "--help"], environment)[0])
            shutil.rmtree(cache, ignore_errors=True)
            for state in ("nothing compiled yet", "compiled before"):
                whole, inner = seconds([python, "-c", _FIRST_CALL], environment)
                note(f"first call, {state}", float(inner))
                note(f"whole process with it, {state}", whole)

    medians = {name: statistics.median(values) for name, values in waits.items()}
    report.table(
        f"Seconds, median of {settings.repeat} processes",
        ["", "median", "least", "most"],
        [[name, f"{medians[name]:.2f}", f"{min(values):.2f}", f"{max(values):.2f}"] for name, values in waits.items()],
    )
    report.keep("seconds", waits)
    report.at_most("import anabranch", medians["import anabranch"], 0.5, " s")
    report.at_most("anabranch --help", medians["anabranch --help"], 0.4, " s")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
