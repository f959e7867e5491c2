"""``anabranch run``: a learner over a stream, tested on each row before it learns it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli._output import Progress, check_outputs, clipped, duration, new_table, notice, open_console
from anabranch.cli._process import Interrupted
from anabranch.cli._streams import find_stream, is_endless

if TYPE_CHECKING:
    from anabranch.evaluation import Run

_ENDLESS_ROWS = 100_000

EXAMPLES = """[bold]Examples[/bold]

anabranch run electricity

anabranch run rows.csv "HoeffdingTree(leaf_prediction='mc')" --target label

anabranch run "SEA(noise=0.1)" --max-rows 50000 --seed 7 --json -

Quote expressions, as shells give parentheses a meaning of their own. 'anabranch list' shows all names.
"""


def run(
    stream: Annotated[
        str,
        typer.Argument(
            metavar="STREAM",
            help="A data set's name ('openml:31' for OpenML's), a file's path (- for standard input), or a generator "
            "such as 'RandomRBF(n_classes=3)'.",
            show_default=False,
        ),
    ],
    learner: Annotated[
        str, typer.Argument(metavar="LEARNER", help="A learner such as 'HoeffdingTree(grace_period=100)'.")
    ] = "HoeffdingTree",
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="A metric; repeat for several. 'anabranch list metrics' shows all.",
            show_default=False,
        ),
    ] = None,
    window: Annotated[
        int,
        typer.Option("--window", min=1, metavar="ROWS", help="Rows in the sliding window and between points."),
    ] = 1000,
    chunk_size: Annotated[
        int, typer.Option("--chunk-size", min=1, metavar="ROWS", help="Rows handed over at a time.")
    ] = 1000,
    max_rows: Annotated[
        int | None,
        typer.Option(
            "--max-rows",
            min=1,
            metavar="ROWS",
            help=f"Stop after so many rows. \\[default: all; {_ENDLESS_ROWS:,} of an endless stream]",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of a file to predict. \\[default: the last]", show_default=False),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Format of a file whose name does not tell, or of standard input: csv, tsv, jsonl, parquet, arrow, "
            "arff or svmlight.",
            show_default=False,
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(
            metavar="CHARACTER",
            help="What separates the columns of a CSV file. \\[default: found out]",
            show_default=False,
        ),
    ] = None,
    on_bad_row: Annotated[
        str,
        typer.Option("--on-bad-row", metavar="raise|skip", help="What to do with a row of a file that does not fit."),
    ] = "raise",
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for more at the end of a growing file; Ctrl-C ends the run.")
    ] = False,
    idle_timeout: Annotated[
        float | None,
        typer.Option(
            "--idle-timeout",
            metavar="SECONDS",
            help="End a run that follows a file when nothing new has come for so long.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Seed of the generator and the learner, where the expressions give none themselves.",
            show_default=False,
        ),
    ] = None,
    json_file: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE|-", help="Write everything as JSON.", show_default=False),
    ] = None,
    csv_file: Annotated[
        str | None,
        typer.Option("--csv", metavar="FILE|-", help="Write the windowed curve as CSV.", show_default=False),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw the windowed curve (.png, .svg, .pdf).", show_default=False),
    ] = None,
    save: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Save the learner, to go on with it later.", show_default=False),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Save the whole run from time to time; the same command then goes on from there.",
            show_default=False,
        ),
    ] = None,
    checkpoint_every: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="ROWS",
            help="Rows from one checkpoint to the next. \\[default: every ten seconds or so]",
            show_default=False,
        ),
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Start afresh even if there is a checkpoint.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no table.")] = False,
) -> None:
    """Run a learner over a stream, testing on each row before learning it."""
    outputs = {"--json": json_file, "--csv": csv_file, "--plot": plot, "--save": save, "--checkpoint": checkpoint}
    if checkpoint is None and (checkpoint_every is not None or restart):
        raise ValueError(f"{'--restart' if restart else '--checkpoint-every'} needs --checkpoint FILE")
    check_outputs(outputs)
    if plot is not None:
        _check_plot(plot)

    from anabranch._startup import SELDOM_USED, import_later

    import_later(*SELDOM_USED)

    from anabranch import _expression
    from anabranch import checkpoint as checkpoints
    from anabranch.evaluation import prequential
    from anabranch.evaluation._scores import chosen
    from anabranch.evaluation.prequential import task_of

    defaults = {} if seed is None else {"seed": seed, "random_state": seed}
    model = _expression.learner(learner, defaults)
    selected = chosen(metric or None, task_of(model))
    if save is not None and not callable(getattr(model, "save", None)):
        raise ValueError(f"--save: {type(model).__name__} cannot be saved")
    of_files = {
        "target": target,
        "format": format_,
        "delimiter": "\t" if delimiter == "\\t" else delimiter,
        "on_bad_row": on_bad_row,
        "follow": follow,
        "idle_timeout": idle_timeout,
    }
    rows = find_stream(stream, of_files, defaults, notice(quiet))
    endless = max_rows is None and is_endless(rows)
    if endless:
        max_rows = _ENDLESS_ROWS

    if checkpoint is not None and os.path.exists(checkpoint) and not restart:
        notice(quiet)(f"going on from {checkpoint}")
    with Progress(str(rows.name), selected, shown=not quiet) as progress:
        result = prequential(
            *(model, rows, selected, window, chunk_size, max_rows, progress.update if progress.shown else None),
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            resume=not restart,
        )
    notes = {
        "feature_names": rows.feature_names,
        "target": getattr(rows, "target", None),
        "rows": result.rows,
        "stream": result.stream_name,
    }
    writers: dict[str, Callable[[str], object]] = {
        "--json": result.to_json,
        "--csv": result.to_csv,
        "--plot": result.plot,
        "--save": lambda path: checkpoints.save(model, path, notes),
        "--checkpoint": lambda path: None,  # it is there
    }
    failed: list[OSError] = []
    for option, path in outputs.items():
        if path is not None and path != "-":
            try:
                writers[option](path)
            except OSError as error:  # the other files, and the table, are worth having all the same
                failed.append(OSError(error.errno, error.strerror or str(error), f"{option} {path}"))
    for text in (result.to_json() if json_file == "-" else "", result.to_csv() if csv_file == "-" else ""):
        sys.stdout.write(text)
    if not quiet and "-" not in (json_file, csv_file):
        _report(result, endless, {option: path for option, path in outputs.items() if path is not None})
    sys.stdout.flush()
    if failed:
        raise failed[0]
    if result.interrupted:
        how = "" if checkpoint is None else f"; the same command goes on from there ({checkpoint})"
        how = how.replace("the same command", "the command without --restart") if restart else how
        raise Interrupted(f"interrupted after {result.rows:,} rows{how}")


def _check_plot(name: str) -> None:
    from matplotlib.backend_bases import FigureCanvasBase

    kinds = FigureCanvasBase.get_supported_filetypes()
    if Path(name).suffix.lower().removeprefix(".") not in kinds:
        raise ValueError(f"--plot: {name} must end in one of {', '.join(f'.{kind}' for kind in sorted(kinds))}")


def _report(result: Run, endless: bool, outputs: dict[str, str]) -> None:
    """Print the closing table and what there is to know about the run."""
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    from anabranch.evaluation.run import quantity, shown, size

    in_terminal = sys.stdout.isatty()
    title = Text.assemble((result.learner_name, "bold"), " on ", (result.stream_name, "bold"))
    table = new_table(
        ("Metric", "left"),
        ("All rows", "right"),
        (f"Last {min(result.settings['window'], max(result.rows, 1)):,}", "right"),
    )
    last = result.last
    for metric in result.shown:
        table.add_row(
            metric.label,
            Text(shown(metric, result.metrics[metric.name]), style="bold green"),
            shown(metric, last[metric.name]),
        )

    rows = f"{result.rows:,}"
    if result.interrupted:
        rows += ", interrupted"
    elif endless:
        rows += " of an endless stream (--max-rows for more)"
    facts = [("Rows", rows)]
    if skipped := result.stream.get("n_bad_rows"):
        facts.append(
            ("Skipped", f"{skipped:,} bad row{'s' * (skipped != 1)}, the first: {result.stream['bad_rows'][0]}")
        )
    learner = result.learner
    if hasattr(learner, "n_features_in_"):
        facts.append(("Features", f"{learner.n_features_in_:,}"))
    if hasattr(learner, "classes_"):
        facts.append(("Classes", _few([str(label) for label in learner.classes_])))
    shape = [
        f"{(n := getattr(learner, attribute)):,} {one if n == 1 else more}"
        for attribute, one, more in (("n_leaves_", "leaf", "leaves"), ("n_nodes_", "node", "nodes"))
        if hasattr(learner, attribute)
    ]
    if hasattr(learner, "depth_"):
        shape.append(f"depth {learner.depth_}")
    if shape:
        facts.append(("Tree", ", ".join(shape)))
    start = f", after a start of {duration(result.first_seconds)}" if result.first_seconds > 0.1 else ""
    alone = f"learner alone: {quantity(result.learner_rows_per_second)}{start}"
    speed = f"{quantity(result.rows_per_second)} rows/s ({alone})"
    time = duration(result.seconds) + (f", in {result.starts} starts" if result.starts > 1 else "")
    facts += [("Time", time), ("Speed", speed)]
    if result.nbytes is not None:
        peak = "" if result.peak_nbytes in (None, result.nbytes) else f" (at most {size(result.peak_nbytes or 0)})"
        facts.append(("Memory", size(result.nbytes) + peak))
    facts += [(option.removeprefix("--").capitalize(), path) for option, path in outputs.items()]

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(name, Text(value))
    with open_console() as console:
        if in_terminal:
            console.print()
            console.print(Text(" ") + title)
            console.print(table)
            console.print(Panel(grid, expand=False, border_style="bright_black", padding=(0, 1)))
        else:
            for part in (title, "", table, "", grid):
                console.print(part)


def _few(labels: list[str], most: int = 8) -> str:
    """Tell the number of labels, and the labels as far as they fit.

    >>> _few(["0", "1"]), _few([str(i) for i in range(20)], most=3)
    ('2 (0, 1)', '20 (0, 1, 2, ...)')
    """
    listed = ", ".join(clipped(label, 20) for label in labels[:most]) + (", ..." if len(labels) > most else "")
    return f"{len(labels):,} ({listed})"
