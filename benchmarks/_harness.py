"""What every benchmark shares: contests in turns, targets, tables, results as JSON.

A benchmark makes :class:`Contestant` objects, lets :func:`contest` run them in turns, and puts what came out
into a :class:`Report`, which prints it, holds it against targets and writes ``results/NAME.json``.
"""

from __future__ import annotations

import abc
import argparse
import datetime
import gc
import importlib.metadata
import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).resolve().parent / "results"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_PACKAGES = ("anabranch", "numpy", "numba", "scikit-learn", "river", "capymoa", "vowpalwabbit")
# Below this share of a processor, a turn had to wait for others too often for its speed to mean much.
_BUSY = 0.9

# In a pipe there is no window to fit the tables into.
console = Console() if sys.stdout.isatty() else Console(width=132)


def on_one_thread() -> None:
    """Start this process afresh with one thread for every library that reads its number at import."""
    if any(os.environ.get(name) != "1" for name in _THREADS):
        os.environ.update(dict.fromkeys(_THREADS, "1"))
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def options(description: str | None) -> argparse.ArgumentParser:
    """Return the options all benchmarks have; a benchmark adds its own."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target was missed")
    return parser


def contest_options(description: str | None, peers: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the options of benchmarks that hold a contest, against any of `peers`."""
    parser = options(description)
    if peers:
        parser.add_argument(
            "--peers",
            nargs="*",
            choices=peers,
            default=list(peers),
            help="whom to measure against (default: all); the others' targets are left out",
        )
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="rounds that count (default: 5)")
    parser.add_argument(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="measure by the clock on the wall, or, where the machine is busy, by the processor time of the "
        "thread that learns (default: wall)",
    )
    return parser


# ---------------------------------------------------------------------------------------------- contests


class Contestant(abc.ABC):
    """One learner on one data set: made afresh, timed, weighed.

    Parameters
    ----------
    name : str
        Name in tables.
    rows : int
        Rows of one pass.
    passes : int
        Passes that make up one turn, each with a fresh learner; their times are added up.
    warm_up : int
        Turns before the first that counts.
    turns : int, optional
        Turns after which a slow contestant sits out; by default it takes part in every round.
    """

    def __init__(self, name: str, rows: int, *, passes: int = 1, warm_up: int = 1, turns: int | None = None) -> None:
        self.name = name
        self.rows = rows
        self.passes = passes
        self.warm_up = warm_up
        self.turns = turns

    @abc.abstractmethod
    def prepare(self) -> None:
        """Make a fresh learner. Not timed."""

    @abc.abstractmethod
    def run(self) -> float:
        """Take the learner through all rows, timed; returns its score."""

    def nbytes(self) -> int | None:
        """Bytes of state of the learner that ran last, which may be gone afterwards; None if not known."""
        return None


@dataclass(frozen=True)
class Turn:
    """One contestant's share in one round."""

    round: int
    seconds: float  # by the clock chosen
    share: float  # of a processor that the thread had


@dataclass
class Result:
    """What a contestant achieved."""

    name: str
    rows: int  # in a turn
    score: float = math.nan
    nbytes: int | None = None
    turns: list[Turn] = field(default_factory=list)

    @property
    def best(self) -> float:
        """Rows per second in the fastest turn."""
        return self.rows / min(turn.seconds for turn in self.turns)

    @property
    def share(self) -> float:
        """Share of a processor that the thread had, in the median turn."""
        return statistics.median(turn.share for turn in self.turns)

    def speed_against(self, peer: Result) -> float:
        """How many times the peer's rows per second: the median over the rounds that both took part in."""
        theirs = {turn.round: turn.seconds / peer.rows for turn in peer.turns}
        return statistics.median(
            theirs[turn.round] / (turn.seconds / self.rows) for turn in self.turns if turn.round in theirs
        )

    def smaller_than(self, peer: Result) -> float:
        """How many times this one's state fits into the peer's."""
        return math.nan if self.nbytes is None or peer.nbytes is None else peer.nbytes / self.nbytes


def contest(
    contestants: Sequence[Contestant],
    rounds: int,
    clock: str = "wall",
    progress: Callable[[str], object] | None = None,
) -> list[Result]:
    """Run all contestants in turns: one after another, round by round.

    What slows the machine down for a while then hits them all, and ratios within a round hold.

    Parameters
    ----------
    contestants : sequence of Contestant
    rounds : int
        Rounds that count.
    clock : {"wall", "cpu"}
        What time is taken by: the clock on the wall, or the processor time of the thread that runs. The
        latter leaves out what other threads do, such as Java's compiler and collector.
    progress : callable, optional
        Told what is going on.

    Returns
    -------
    list of Result
        In the order of the contestants.
    """
    progress = progress or (lambda message: None)
    results = [Result(c.name, c.rows * c.passes) for c in contestants]
    # What has been made so far lives on: peers whose state is Python objects are spared walking through it.
    gc.collect()
    gc.freeze()
    for contestant in contestants:
        for _ in range(contestant.warm_up):
            progress(f"warming up: {contestant.name}")
            _turn(contestant, 0, clock)
    for number in range(rounds):
        for contestant, result in zip(contestants, results, strict=True):
            if contestant.turns is None or number < contestant.turns:
                progress(f"round {number + 1} of {rounds}: {contestant.name}")
                turn, result.score = _turn(contestant, number, clock)
                result.turns.append(turn)
    for contestant, result in zip(contestants, results, strict=True):
        result.nbytes = contestant.nbytes()
    gc.unfreeze()
    return results


def _turn(contestant: Contestant, number: int, clock: str) -> tuple[Turn, float]:
    seconds = cpu_seconds = score = 0.0
    for _ in range(contestant.passes):
        contestant.prepare()
        cpu, wall = time.thread_time(), time.perf_counter()
        score = contestant.run()
        seconds += time.perf_counter() - wall
        cpu_seconds += time.thread_time() - cpu
    chosen = cpu_seconds if clock == "cpu" else seconds
    return Turn(number, chosen, cpu_seconds / seconds), score


def run_contest(contestants: Sequence[Contestant], settings: argparse.Namespace) -> dict[Contestant, Result]:
    """Hold a contest as :func:`contest_options` has it, saying on the terminal what is going on."""
    with console.status("") as status:
        results = contest(contestants, settings.repeat, settings.clock, status.update)
    return dict(zip(contestants, results, strict=True))


def passes_for(rows: int, at_least: int) -> int:
    """Count the passes over `rows` that make a turn of `at_least` rows."""
    return -(-at_least // rows)


# ---------------------------------------------------------------------------------------------- reports


@dataclass(frozen=True)
class Target:
    """A figure and the limit it is held to."""

    what: str
    value: float
    limit: float
    unit: str
    at_most: bool

    @property
    def reached(self) -> bool:
        """Whether the figure is on the right side of its limit."""
        return self.value <= self.limit if self.at_most else self.value >= self.limit


class Report:
    """Prints tables and targets as they come, and keeps all of it for the JSON file.

    Parameters
    ----------
    name : str
        Name of the benchmark and of its file in ``results/``.
    settings : argparse.Namespace
        The options it runs with.
    """

    def __init__(self, name: str, settings: argparse.Namespace) -> None:
        self.name = name
        self.settings = settings
        self.machine = machine()
        self.started = datetime.datetime.now(datetime.UTC)
        self.figures: dict[str, Any] = {}
        self.targets: list[Target] = []
        m = self.machine
        versions = ", ".join(f"{package} {version}" for package, version in m["versions"].items())
        console.print(f"[bold]{name}[/bold] on {m['cpu']}, {m['cores']} cores, {m['system']}")
        console.print(f"Python {m['python']}, {versions}\n", highlight=False)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print a table: the first column holds names, the others figures."""
        table = Table(title=title, title_justify="left", title_style="bold")
        for place, column in enumerate(columns):
            table.add_column(column, justify="right" if place else "left")
        for row in rows:
            table.add_row(*row)
        console.print(table)

    def contest(self, title: str, results: Sequence[Result], score: str = "accuracy %") -> None:
        """Print and keep the results of a contest."""
        self.table(
            title,
            ["", "rows/s (best)", "rows/s (all turns)", "turns", score, "state"],
            [
                [
                    r.name,
                    f"{r.best:,.0f}",
                    f"{r.rows * len(r.turns) / sum(turn.seconds for turn in r.turns):,.0f}",
                    str(len(r.turns)),
                    f"{r.score:.2f}",
                    human_bytes(r.nbytes),
                ]
                for r in results
            ],
        )
        waiting = [f"{r.name} ({r.share:.0%})" for r in results if r.share < _BUSY]
        if waiting:
            console.print(f"[yellow]The machine is busy: {', '.join(waiting)} did not get a whole processor.[/yellow]")
        self.keep(title, [asdict(r) for r in results])

    def keep(self, key: str, figures: Any) -> None:
        """Keep figures for the JSON file."""
        self.figures[key] = figures

    def at_least(self, what: str, value: float, limit: float, unit: str = "x") -> None:
        """Hold a figure to a lower limit."""
        self.targets.append(Target(what, float(value), limit, unit, at_most=False))

    def at_most(self, what: str, value: float, limit: float, unit: str = "") -> None:
        """Hold a figure to an upper limit."""
        self.targets.append(Target(what, float(value), limit, unit, at_most=True))

    def close(self, what: str, ours: Result, peer: Result, points: float = 0.5) -> None:
        """Hold the difference of two scores to a limit: equal parameters are to mean equal work."""
        self.at_most(what, abs(ours.score - peer.score), points, " points")

    def finish(self) -> int:
        """Print the targets, write the file, and return the exit code."""
        if self.targets:
            table = Table(title="Targets", title_justify="left", title_style="bold")
            table.add_column("")
            table.add_column("measured", justify="right")
            table.add_column("target", justify="right")
            table.add_column("")
            for t in self.targets:
                table.add_row(
                    t.what,
                    f"{t.value:,.{_digits(t.value)}f}{t.unit}",
                    f"{'at most' if t.at_most else 'at least'} {t.limit:g}{t.unit}",
                    "[green]reached[/green]" if t.reached else "[bold red]missed[/bold red]",
                )
            console.print(table)
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{self.name}.json"
        content = {
            "benchmark": self.name,
            "started": self.started.isoformat(timespec="seconds"),
            "machine": self.machine,
            "settings": vars(self.settings),
            "figures": self.figures,
            "targets": [{**asdict(t), "reached": t.reached} for t in self.targets],
        }
        path.write_text(json.dumps(content, indent=1) + "\n")
        console.print(f"written: {path.relative_to(RESULTS.parent.parent)}", style="dim")
        return int(self.settings.check and not all(t.reached for t in self.targets))


def machine() -> dict[str, Any]:
    """Describe what the figures were measured on."""
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions,
    }


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "an unknown processor"


def _digits(value: float) -> int:
    return 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2


def human_bytes(n: int | None) -> str:
    """Return a number of bytes for people to read.

    >>> human_bytes(1_234_567)
    '1,235 kB'
    """
    return "" if n is None else f"{n / 1000:,.0f} kB"
