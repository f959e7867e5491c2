"""``anabranch reproduce``: a paper's experiment, ours beside what was published."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli._output import duration, new_table, notice, open_console
from anabranch.cli._process import Interrupted
from anabranch.papers import PAPERS

if TYPE_CHECKING:
    from anabranch.papers._reproduction import Statement, Table, Unit

EXAMPLES = f"""[bold]Examples[/bold]

anabranch reproduce kirkby

anabranch reproduce kirkby --rows 5000000 --n-jobs 2 --out kirkby

anabranch reproduce kirkby --datasets "genF*,led" --methods "hot5@*" --methods htnba@32MB

anabranch reproduce kirkby --markdown > tables.md

Stopped at any time, the same command goes on where it was. PAPER is one of: {", ".join(PAPERS)}.
"""


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="Whose experiment to run.", show_default=False)],
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Data sets or patterns such as 'genF*', with commas or repeated. \\[default: all]",
            show_default=False,
        ),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="Methods or patterns, likewise. \\[default: as in the paper]", show_default=False
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Runs to average. \\[default: the paper's]", show_default=False),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Rows to learn of each data set. \\[default: the paper's]", show_default=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the first run.")] = 1,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Folder for results.json, plots and finished work. \\[default: reproduce-PAPER]",
            show_default=False,
        ),
    ] = None,
    n_jobs: Annotated[
        int, typer.Option("--n-jobs", metavar="N", help="Processes to work in; -1 is one per processor.")
    ] = 1,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no tables.")] = False,
) -> None:
    """Run a paper's experiment, and set our figures beside the published ones."""
    from anabranch.papers import load

    if n_jobs == 0:
        raise ValueError("--n-jobs must not be 0: 1 is one process, -1 one per processor")
    experiment = load(paper)
    choice = experiment.choose(datasets or (), methods or (), runs, rows, seed)
    folder = Path(f"reproduce-{paper}" if out is None else out)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--out: {folder} is a file, not a folder")

    from anabranch._startup import SELDOM_USED, import_later
    from anabranch.papers._reproduction import reproduce as carry_out

    import_later(*SELDOM_USED)
    with _Units(paper, experiment.main_metric, shown=not quiet) as progress:
        try:
            done = carry_out(experiment, choice, folder, n_jobs, progress.update)
        except KeyboardInterrupt:
            how_far = f"interrupted with {progress.done} of {progress.total} done"
            raise Interrupted(f"{how_far}; the same command goes on from there ({folder})") from None
    results = experiment.results(choice, done)
    files = experiment.plots(results, done, folder)
    if quiet:
        return
    tables, statements = experiment.tables(results), experiment.statements(results)
    if markdown:
        print("\n\n".join([table.markdown() for table in tables] + _as_list(statements)))
        return
    _show(experiment.title, experiment.source, tables, statements)
    names = ", ".join(path.name for path in [folder / "results.json", *files])
    print(f"written to {folder}: {names}")


def _as_list(statements: list[Statement]) -> list[str]:
    return ["\n".join(f"- {_verdict(said.holds)}: {said.text} ({said.figures})" for said in statements)] * bool(
        statements
    )


def _verdict(holds: bool | None) -> str:
    return {True: "holds", False: "does not hold", None: "not run"}[holds]


def _show(title: str, source: str, tables: list[Table], statements: list[Statement]) -> None:
    from rich.text import Text

    with open_console() as console:
        console.print(Text(title, style="bold"))
        console.print(Text(f"{source}\n"))
        for table in tables:
            console.print(Text(table.title, style="bold"))
            shown = new_table(*((heading, "right" if place else "left") for place, heading in enumerate(table.columns)))
            for row in table.rows:
                shown.add_row(*map(Text, row))
            console.print(shown)
            console.print()
        for said in statements:
            style = {True: "green", False: "red", None: ""}[said.holds]
            console.print(Text.assemble((f"{_verdict(said.holds)}: ", style), f"{said.text} ({said.figures})"))
        if statements:
            console.print()


class _Units:
    """How far a reproduction is, on standard error: a bar on a terminal, elsewhere a line per finished unit of work."""

    def __init__(self, paper: str, metric: str, shown: bool) -> None:
        self.done = self.total = 0
        self._metric, self._shown = metric, shown
        self._bar: Any = None
        self._say = notice(not shown)
        if shown and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                SpinnerColumn,
                TextColumn,
                TimeRemainingColumn,
            )

            self._bar = Progress(
                SpinnerColumn(),
                TextColumn(paper, style="bold"),
                BarColumn(bar_width=None),
                MofNCompleteColumn(),
                TimeRemainingColumn(elapsed_when_finished=True),
                TextColumn("{task.description}", markup=False, style="green"),
                console=Console(stderr=True),
                transient=True,
                expand=True,
            )

    def __enter__(self) -> _Units:
        self._start = time.monotonic()
        if self._bar is not None:
            self._task = self._bar.add_task("", total=None)
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, unit: Unit | None, found: dict[str, Any], done: int, total: int) -> None:
        """Show that a unit has been done."""
        self.done, self.total = done, total
        what = ""
        if unit is not None:
            figure = found["metrics"].get(self._metric)
            what = f"{unit.dataset}, {unit.method}" + ("" if figure is None else f": {self._metric} {figure:.4g}")
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, description=what)
        elif unit is not None:
            self._say(f"[{done}/{total}] {what} (seed {unit.seed}, after {duration(time.monotonic() - self._start)})")
        elif done:
            self._say(f"going on: {done} of {total} are done")
