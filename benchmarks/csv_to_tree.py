"""From a file to a learned Hoeffding tree, whole commands from start to end: ours, MOA's and River's.

Each contestant is a process of its own, timed from its start to its end, with everything that belongs to it: starting,
importing, reading the file, testing and training on each row, the figures. Ours is ``anabranch run rows.csv`` with its
kernels compiled before, MOA's is ``java moa.DoTask EvaluatePrequential`` on the same rows as ARFF, River's is a script
with ``iter_csv`` and ``progressive_val_score``. The parameters are the defaults, which are equal; all give the accuracy
over all rows.

River takes minutes for a million rows, so it has a file with the first rows alone; the comparison is by time per
row, and favours River, whose trees grow slower with every row.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import _harness as harness

_RIVER = """
import sys
from river import evaluate, metrics, stream, tree
rows = stream.iter_csv(
    sys.argv[1], target="y", converters={**{f"x{j}": float for j in range(int(sys.argv[2]))}, "y": int}
)
accuracy = evaluate.progressive_val_score(rows, tree.HoeffdingTreeClassifier(), metrics.Accuracy())
print(100 * accuracy.get())
"""


@dataclass(frozen=True)
class Turn:
    """One run of a command."""

    round: int
    rows: int
    seconds: float
    cpu_seconds: float  # of all its threads
    accuracy: float  # percent


def timed(command: Sequence[str]) -> tuple[float, float, str]:
    """Run a command; returns the seconds it took, those of processor time, and what it printed."""
    with tempfile.TemporaryFile() as output:
        # Installed packages have their bytecode, so what is run from a clone may have it too.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, env=environment)
        assert process.stderr is not None
        complaints = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{complaints.decode()}")
        output.seek(0)
        return seconds, usage.ru_utime + usage.ru_stime, output.read().decode()


def write(folder: Path, n_rows: int, n_river: int, n_features: int) -> tuple[Path, Path, Path]:
    """Write the stream as CSV, the same rows as ARFF, and the first of them as CSV."""
    import pyarrow as pa
    import pyarrow.csv

    from anabranch.stream import RandomRBF

    csv, arff, head = folder / "rows.csv", folder / "rows.arff", folder / "head.csv"
    names = [f"x{j}" for j in range(n_features)]
    plain = pyarrow.csv.WriteOptions(include_header=False)
    with csv.open("wb") as csv_file, arff.open("wb") as arff_file, head.open("wb") as head_file:
        numeric = "".join(f"@attribute {name} numeric\n" for name in names)
        arff_file.write(f"@relation rbf\n{numeric}@attribute y {{0,1}}\n@data\n".encode())
        for file in (csv_file, head_file):
            file.write(",".join([*names, "y"]).encode() + b"\n")
        left = n_river
        for X, y in RandomRBF(n_features=n_features, seed=1, n_rows=n_rows).chunks(100_000):
            table = pa.table({**{name: X[:, j] for j, name in enumerate(names)}, "y": y})
            for rows, files in ((table, (csv_file, arff_file)), (table.slice(0, left), (head_file,))):
                sink = pa.BufferOutputStream()
                pyarrow.csv.write_csv(rows, sink, plain)
                for file in files:
                    file.write(sink.getvalue())
            left = max(0, left - len(y))
    return csv, arff, head


def moa_jar() -> str:
    """Return the path of MOA's jar, which CapyMOA brings along."""
    import importlib.util

    found = importlib.util.find_spec("capymoa")
    if found is None or found.origin is None:
        raise SystemExit("MOA takes pip install '.[bench]' and Java. Leave it out with --peers.")
    return str(Path(found.origin).parent / "jar" / "moa.jar")


def main() -> int:
    parser = harness.options(__doc__)
    parser.add_argument("--peers", nargs="*", choices=("moa", "river"), default=["moa", "river"])
    parser.add_argument("--rows", type=int, default=5_000_000, metavar="N", help="rows for us and for MOA")
    parser.add_argument("--river-rows", type=int, default=200_000, metavar="N", help="rows for River")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="rounds (default: 5)")
    parser.add_argument("--river-repeat", type=int, default=2, metavar="N", help="rounds with River (default: 2)")
    settings: argparse.Namespace = parser.parse_args()
    report = harness.Report("csv_to_tree", settings)
    turns: dict[str, list[Turn]] = {}
    with tempfile.TemporaryDirectory() as folder, harness.console.status("") as status:
        status.update("writing the files")
        csv, arff, head = write(Path(folder), settings.rows, settings.river_rows, 10)
        ours = [sys.executable, "-m", "anabranch", "run", str(csv), "-m", "accuracy", "-m", "kappa", "--json", "-"]
        task = (
            f"EvaluatePrequential -l trees.HoeffdingTree -s (ArffFileStream -f {arff}) "
            f"-i {settings.rows} -f {settings.rows} -e BasicClassificationPerformanceEvaluator"
        )
        moa = ["java", "-cp", moa_jar() if "moa" in settings.peers else "", "moa.DoTask", task]
        river = [sys.executable, "-c", _RIVER, str(head), "10"]
        commands = {"anabranch run": (ours, settings.rows, settings.repeat)}
        if "moa" in settings.peers:
            commands["MOA's DoTask"] = (moa, settings.rows, settings.repeat)
        if "river" in settings.peers:
            commands["River's iter_csv"] = (river, settings.river_rows, settings.river_repeat)
        status.update("compiling kernels")
        timed(ours)
        for number in range(settings.repeat):
            for name, (command, rows, repeat) in commands.items():
                if number < repeat:
                    status.update(f"round {number + 1} of {settings.repeat}: {name}")
                    seconds, cpu_seconds, printed = timed(command)
                    turn = Turn(number, rows, seconds, cpu_seconds, accuracy(name, printed))
                    turns.setdefault(name, []).append(turn)
        same_rows = _accuracy_on(head) if "river" in settings.peers else None

    report.table(
        "From file to tree",
        ["", "rows", "seconds (best)", "CPU seconds (best)", "rows/s (best)", "accuracy %"],
        [
            [
                name,
                f"{listed[0].rows:,}",
                f"{min(turn.seconds for turn in listed):.2f}",
                f"{min(turn.cpu_seconds for turn in listed):.2f}",
                f"{listed[0].rows / min(turn.seconds for turn in listed):,.0f}",
                f"{listed[0].accuracy:.2f}",
            ]
            for name, listed in turns.items()
        ],
    )
    mine = turns["anabranch run"]
    for name, limit in (("MOA's DoTask", 4), ("River's iter_csv", 100)):
        if name in turns:
            report.at_least(f"time per row, against {name}", _ratio(mine, turns[name], "seconds"), limit)
            cpu = _ratio(mine, turns[name], "cpu_seconds")
            harness.console.print(f"processor time per row, against {name}: {cpu:.1f}x")
            report.keep(f"processor time per row, against {name}", cpu)
            ours_there = mine[0].accuracy if same_rows is None or "River" not in name else same_rows
            report.at_most(f"accuracy, off {name}", abs(ours_there - turns[name][0].accuracy), 0.5, " points")
    report.keep("turns", {name: [asdict(turn) for turn in listed] for name, listed in turns.items()})
    return report.finish()


def _ratio(mine: Sequence[Turn], theirs: Sequence[Turn], clock: str) -> float:
    """How many times the peer's time per row, within a round; the median over the rounds."""
    by_round = {turn.round: getattr(turn, clock) / turn.rows for turn in theirs}
    return statistics.median(
        by_round[turn.round] / (getattr(turn, clock) / turn.rows) for turn in mine if turn.round in by_round
    )


def accuracy(name: str, printed: str) -> float:
    """Find the accuracy over all rows, in percent, in what a command printed."""
    if name.startswith("anabranch"):
        return 100 * float(json.loads(printed)["metrics"]["accuracy"])
    if name.startswith("River"):
        return float(printed)
    lines = [line for line in printed.splitlines() if "," in line]
    column = lines[0].split(",").index("classifications correct (percent)")
    return float(re.sub("[^0-9.]", "", lines[-1].split(",")[column]))


def _accuracy_on(path: Path) -> float:
    """Ours on River's rows, as accuracy is compared on the same rows."""
    command = [sys.executable, "-m", "anabranch", "run", str(path), "-m", "accuracy", "--json", "-"]
    return accuracy("anabranch", timed(command)[2])


if __name__ == "__main__":
    sys.exit(main())
