"""The command ``anabranch``.

Everything heavy is imported where it is used, so that ``anabranch --help`` starts at once.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from anabranch.evaluation import Run

__all__ = ["app", "main"]

_ENDLESS_ROWS = 100_000
_WIDE = 10_000  # columns in a pipe or a file: a line each, for other programs to cut

_EXAMPLES = """[bold]Examples[/bold]

anabranch run electricity

anabranch run electricity "HoeffdingTree(grace_period=100)" --plot curve.png

anabranch run "RandomRBF(n_classes=5)" --max-rows 1000000 --seed 7

anabranch run rows.csv --target label -m kappa -m auc --json result.json

anabranch run covertype --checkpoint run.ck

anabranch generate "SEA(noise=0.1)" -n 100000 -o sea.parquet

anabranch predict --model learner.ck rows.csv -o predictions.csv

anabranch list learners
"""

_RUN_EXAMPLES = """[bold]Examples[/bold]

anabranch run electricity

anabranch run rows.csv "HoeffdingTree(leaf_prediction='mc')" --target label

anabranch run "SEA(noise=0.1)" --max-rows 50000 --seed 7 --json -

Quote expressions, as shells give parentheses a meaning of their own. 'anabranch list' shows all names.
"""


class _Group(TyperGroup):
    """The command with its errors: one line each, and an exit code that says what kind of error it was."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command and exit: 0 is well, 2 bad input, 1 another error, 130 Ctrl-C."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
            sys.stdout.flush()
            if code == 130:  # what Typer makes of an interruption
                _complain("interrupted", prefix="")
        except BaseException as error:
            code = _exit_code(error)
        sys.exit(code if isinstance(code, int) else 0)


class _Interrupted(Exception):  # noqa: N818 - it is no error
    """The run was stopped from the keyboard, and all there was has been shown."""


def _exit_code(error: BaseException) -> int:
    """Say what went wrong, in one line on standard error, and return the exit code for it."""
    if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):  # Typer exits with 1
        sys.stdout, sys.stderr = sys.__stdout__ or sys.stdout, sys.__stderr__ or sys.stderr  # Typer's wrappers of them
        _give_up_stdout()
        return _end_by_broken_pipe()
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        _complain("interrupted", prefix="")
        return 130
    if isinstance(error, _Interrupted):
        _complain(str(error), prefix="")
        return 130
    if os.environ.get("ANABRANCH_DEBUG"):
        import traceback

        traceback.print_exception(error)
    if callable(getattr(error, "format_message", None)):  # a usage error
        context = getattr(error, "ctx", None)
        message = str(error.format_message()).rstrip(".") or "the command is incomplete"  # type: ignore[attr-defined]
        _complain(f"{message} (see '{context.command_path if context else 'anabranch'} --help')")
        return 2
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename}: " if error.filename is not None else ""
        _complain(f"{name}{error.strerror}")
        if error.filename is None:
            _give_up_stdout()
        named = (FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError, NotADirectoryError)
        return 2 if isinstance(error, named) else 1
    if isinstance(error, (ValueError, TypeError, OSError)) or type(error).__module__.startswith("anabranch"):
        _complain(str(error))
        return 2
    what = _clipped(": ".join(filter(None, [type(error).__name__, " ".join(str(error).split())])), 300)
    _complain(f"{what} (unexpected; set ANABRANCH_DEBUG=1 to see the traceback)")
    return 1


def _end_by_broken_pipe() -> int:
    """End as other commands do when nobody reads on, which is for the reader to decide: by the signal, silently."""
    import signal

    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
    return 1


def _give_up_stdout() -> None:
    """Let what is still buffered for standard output go nowhere, lest it raise once more at the very end."""
    if sys.stdout is sys.__stdout__ and not isinstance(sys.stdout, _Closed):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class _Closed(io.TextIOBase):
    """Stands in for standard output where that is closed."""

    encoding = "utf-8"

    def write(self, text: str | bytes) -> int:
        if text:
            raise OSError(errno.EBADF, "it is closed", "standard output")
        return 0

    @property
    def buffer(self) -> _Closed:
        return self


def _open_standard_streams() -> None:
    """Make up for standard streams that are closed, so that no file of ours gets their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it takes the lowest number that is free
    if sys.stdout is None:
        sys.stdout = sys.__stdout__ = _Closed()  # type: ignore[misc, assignment]
    if sys.stderr is None:  # where there is nobody to tell, things are not told
        sys.stderr = sys.__stderr__ = open(os.devnull, "w")  # type: ignore[misc] # noqa: SIM115


def _complain(message: str, prefix: str = "Error: ") -> None:
    line = " ".join(message.split())
    with contextlib.suppress(OSError):  # not even that can be written
        print(f"{prefix}{line}", file=sys.stderr, flush=True)


app = typer.Typer(
    cls=_Group,
    name="anabranch",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> NoReturn:
    """Run the command with the process's arguments."""
    _open_standard_streams()
    app(prog_name="anabranch")
    raise SystemExit(0)


def _show_version(wanted: bool) -> None:
    if wanted:
        from anabranch import __version__

        print(f"anabranch {__version__}")
        raise typer.Exit


@app.callback(epilog=_EXAMPLES)
def _anabranch(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Learn from data streams that drift, are skewed and change shape."""


# ---------------------------------------------------------------------------------------- run


@app.command(epilog=_RUN_EXAMPLES)
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
    _check_outputs(outputs)
    if plot is not None:
        _check_plot(plot)

    from anabranch._startup import import_later

    import_later("scipy.stats", "pandas")

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
    rows = _stream(stream, of_files, defaults, _notice(quiet))
    endless = max_rows is None and _is_endless(rows)
    if endless:
        max_rows = _ENDLESS_ROWS

    if checkpoint is not None and os.path.exists(checkpoint) and not restart:
        _notice(quiet)(f"going on from {checkpoint}")
    with _Progress(str(rows.name), selected, shown=not quiet) as progress:
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
        raise _Interrupted(f"interrupted after {result.rows:,} rows{how}")


def _check_outputs(outputs: dict[str, str | None]) -> None:
    """Refuse, before a long run, what could not be written after it."""
    seen: dict[Path | str, str] = {}
    for option, name in outputs.items():
        if name is None:
            continue
        if not name:
            raise ValueError(f"{option} needs the name of a file")
        if name == "-":
            if option not in ("--json", "--csv", "--out"):
                raise ValueError(f"{option} cannot be written to standard output: name a file")
            place: Path | str = name
        else:
            place = _checked_place(option, name)
        if place in seen:
            raise ValueError(f"{seen[place]} and {option} name the same file, {name}")
        seen[place] = option


def _checked_place(option: str, name: str) -> Path:
    """The place that a file's name stands for, if it can be written there."""
    from anabranch.checkpoint import check_writable

    path = Path(name)
    try:
        if path.is_dir():
            raise ValueError(f"{option}: {name} is a folder, not a file")
        if path.exists() and not path.is_file() and option in ("--json", "--csv", "--plot", "--out"):
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return path  # a pipe or a device, to be written to as it is
        place = path.resolve()
        if not place.parent.is_dir():
            raise ValueError(f"{option}: there is no folder {place.parent}")
        check_writable(path)
    except OSError as error:
        raise ValueError(f"{option}: {name} cannot be written ({error.strerror})") from error
    return place


def _check_plot(name: str) -> None:
    from matplotlib.backend_bases import FigureCanvasBase

    kinds = FigureCanvasBase.get_supported_filetypes()
    if Path(name).suffix.lower().removeprefix(".") not in kinds:
        raise ValueError(f"--plot: {name} must end in one of {', '.join(f'.{kind}' for kind in sorted(kinds))}")


_FILE_OPTIONS = {
    "target": None,
    "format": None,
    "delimiter": None,
    "on_bad_row": "raise",
    "follow": False,
    "idle_timeout": None,
}  # what FileStream takes, as it is where no option says otherwise


def _stream(text: str, of_files: dict[str, Any], defaults: dict[str, Any], notice: Callable[[str], None]) -> Any:
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


def _is_endless(stream: Any) -> bool:
    return bool(getattr(stream, "endless", False))


def _notice(quiet: bool) -> Callable[[str], None]:
    """Say something on standard error, unless asked to be quiet."""

    def say(message: str) -> None:
        if not quiet:
            print(message, file=sys.stderr, flush=True)

    return say


class _Progress:
    """A bar with current figures on standard error, if that is a terminal.

    Parameters
    ----------
    name : str
        The stream's name.
    metrics : list of Metric
        Their labels; the first ones that fit are shown.
    shown : bool
        Whether to show anything at all.
    """

    def __init__(self, name: str, metrics: Sequence[Any], shown: bool) -> None:
        self.shown = shown and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        if not self.shown:
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        console = Console(stderr=True)
        room = console.width - 56
        self._first: tuple[int, float] | None = None
        self._metrics = list(metrics)[: max(1, min(3, room // 22))]
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn(_clipped(name, 24), markup=False, style="bold"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[rows]}", markup=False),
            TextColumn("{task.fields[speed]}", markup=False, style="cyan"),
            TextColumn("{task.fields[figures]}", markup=False, style="green"),
            console=console,
            transient=True,
            expand=True,
        )

    def __enter__(self) -> _Progress:
        if self.shown:
            self._task = self._bar.add_task("", total=None, rows="", speed="", figures="")
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.shown:
            self._bar.stop()

    def update(self, rows: int, n_rows: int | None, values: dict[str, float]) -> None:
        """Show where the run is."""
        import time

        from anabranch.evaluation.run import shown

        of = "" if n_rows is None else f"/{n_rows:,}"
        # From the first report on: until then, code was loaded or compiled.
        now = time.perf_counter()
        if self._first is None:
            self._first = rows, now
        passed, took = rows - self._first[0], now - self._first[1]
        speed = passed / took if passed and took else 0.0
        pace = f"{speed / 1000:,.0f}k/s" if speed >= 9_999.5 else f"{speed:,.0f}/s" if speed else ""
        figures = "  ".join(
            f"{m.label if m.label.isupper() else m.label.lower()} {shown(m, values[m.name])}" for m in self._metrics
        )
        self._bar.update(
            self._task,
            completed=rows,
            total=n_rows,
            rows=f"{rows:,}{of} rows",
            speed=pace,
            figures=figures,
        )


def _clipped(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


@contextlib.contextmanager
def _console() -> Iterator[Console]:
    """Where tables go: the terminal, or else standard output as plain text."""
    from rich.console import Console

    if sys.stdout.isatty():
        yield Console(highlight=False)
        return
    text = io.StringIO()
    yield Console(file=text, highlight=False, width=_WIDE, no_color=True, color_system=None, force_terminal=False)
    # Cells are padded, the last ones too, which only a terminal hides.
    sys.stdout.write("".join(line.rstrip() + "\n" for line in text.getvalue().splitlines()))


def _table(*columns: tuple[str, Literal["left", "right"]]) -> Table:
    """Table of columns given by heading and justification; plain text outside a terminal."""
    from rich import box
    from rich.table import Table

    plain = not sys.stdout.isatty()
    table = Table(
        box=None if plain else box.SIMPLE_HEAD,
        header_style="bold",
        pad_edge=not plain,
        padding=(0, 2, 0, 0) if plain else (0, 1),
    )
    for heading, justify in columns:
        table.add_column(
            heading,
            justify=justify,
            no_wrap=justify == "right" or heading == "Name",
            overflow="fold",
        )
    return table


def _report(result: Run, endless: bool, outputs: dict[str, str]) -> None:
    """Print the closing table and what there is to know about the run."""
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    from anabranch.evaluation.run import quantity, shown, size

    in_terminal = sys.stdout.isatty()
    title = Text.assemble((result.learner_name, "bold"), " on ", (result.stream_name, "bold"))
    table = _table(
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
    start = f", after a start of {_duration(result.first_seconds)}" if result.first_seconds > 0.1 else ""
    alone = f"learner alone: {quantity(result.learner_rows_per_second)}{start}"
    speed = f"{quantity(result.rows_per_second)} rows/s ({alone})"
    time = _duration(result.seconds) + (f", in {result.starts} starts" if result.starts > 1 else "")
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
    with _console() as console:
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
    listed = ", ".join(_clipped(label, 20) for label in labels[:most]) + (", ..." if len(labels) > most else "")
    return f"{len(labels):,} ({listed})"


def _duration(seconds: float) -> str:
    """Write a time as people say it.

    >>> _duration(0.0123), _duration(4.2), _duration(75), _duration(7500)
    ('0.01 s', '4.2 s', '1 min 15 s', '2 h 5 min')
    """
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


# ---------------------------------------------------------------------------------------- generate, predict

_GENERATE_EXAMPLES = """[bold]Examples[/bold]

anabranch generate "RandomRBF(n_classes=5, seed=7)" -n 1000000 -o rbf.parquet

anabranch generate "SEA(noise=0.1)" -n 10000 -o sea.arff

anabranch generate electricity -o electricity.csv.gz

anabranch generate SEA -n 5

The suffix says in which format: .csv, .tsv, .jsonl, .parquet, .arrow, .arff, .svm; text formats may have .gz or .zst
after it.
"""

_PREDICT_EXAMPLES = """[bold]Examples[/bold]

anabranch run rows.csv --target label --save learner.ck

anabranch predict --model learner.ck new.csv -o predictions.parquet

zcat new.csv.gz | anabranch predict --model learner.ck - | cut -d, -f1
"""


@app.command(epilog=_GENERATE_EXAMPLES)
def generate(
    stream: Annotated[
        str,
        typer.Argument(
            metavar="STREAM",
            help="A generator such as 'RandomRBF(n_classes=3)', a data set's name, or a file's path.",
            show_default=False,
        ),
    ],
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows", "-n", min=1, metavar="N", help="Rows to write. \\[default: all there are]", show_default=False
        ),
    ] = None,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE|-", help="File to write; - is CSV on standard output.")
    ] = "-",
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of a file to put last. \\[default: the last]", show_default=False),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", help="Seed of the generator, where the expression gives none.", show_default=False
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Write the rows of a stream to a file."""
    from anabranch.stream.writer import file_format, write

    file_format(out)
    _check_outputs({"--out": out})
    made = _stream(
        stream, {} if target is None else {"target": target}, {} if seed is None else {"seed": seed}, _notice(quiet)
    )
    if rows is None and _is_endless(made):
        raise ValueError(f"{made.name} is endless: say how many rows with -n")
    with _Progress(str(made.name), [], shown=not quiet and out != "-") as progress:
        n = write(made, out, rows, (lambda n, of: progress.update(n, of, {})) if progress.shown else None)
    if not quiet and out != "-":
        print(f"{n:,} rows of {made.name} written to {out} ({_file_size(out)})")


@app.command(epilog=_PREDICT_EXAMPLES)
def predict(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A file of rows, with or without the target; - is standard input.",
            show_default=False,
        ),
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model", "-m", metavar="FILE", help="What 'run --save' or 'run --checkpoint' wrote.", show_default=False
        ),
    ],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE|-", help="File to write; - is CSV on standard output.")
    ] = "-",
    format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Format of the data, such as jsonl. \\[default: by suffix; csv for standard input]",
            show_default=False,
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, and no notices.")] = False,
) -> None:
    """Predict the rows of a file: labels and probabilities, or numbers."""
    from anabranch import _predict

    _check_outputs({"--out": out})
    with _Progress(data, [], shown=not quiet and out != "-") as progress:
        n = _predict.predict(
            *(model, data, out, format, _notice(quiet)),
            (lambda n, of: progress.update(n, of, {})) if progress.shown else None,
        )
    if not quiet and out != "-":
        print(f"{n:,} rows of {data} predicted, written to {out} ({_file_size(out)})")


def _file_size(path: str) -> str:
    from anabranch.evaluation.run import size

    return size(os.stat(path).st_size)


# ---------------------------------------------------------------------------------------- list


@app.command("list")
def list_(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="WHAT",
            help="datasets, generators, learners or metrics; everything if left out.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List data sets, generators, learners and metrics by the names that 'run' knows them by."""
    if what is not None and what not in _LISTS:
        from anabranch._expression import suggestion

        raise ValueError(f"cannot list {what!r}.{suggestion(what, _LISTS)} There are: {', '.join(_LISTS)}")
    found = {kind: make() for kind, make in _LISTS.items() if what in (None, kind)}
    if as_json:
        print(json.dumps(found if what is None else found[what], indent=2, ensure_ascii=False))
        return
    with _console() as console:
        for kind, entries in found.items():
            if what is None:
                console.print(f"[bold]{kind.capitalize() if kind != 'datasets' else 'Data sets'}[/bold]")
            if kind == "datasets":
                table = _table(
                    ("Name", "left"),
                    ("Rows", "right"),
                    ("Features", "right"),
                    ("Classes", "right"),
                    ("", "left"),
                )
                for entry in entries:
                    table.add_row(
                        entry["name"],
                        f"{entry['rows']:,}",
                        f"{entry['features']:,}",
                        str(len(entry["classes"])),
                        entry["summary"],
                    )
            else:
                table = _table(("Name", "left"), ("", "left"))
                for entry in entries:
                    table.add_row(entry["name"], entry["summary"])
            console.print(table)
            if what is None:
                console.print()


@app.command()
def datasets(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the data sets: rows, features, classes, whether they are on this machine, and on what terms."""
    found = _listed_datasets()
    if as_json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    table = _table(
        ("Name", "left"),
        ("Rows", "right"),
        ("Features", "right"),
        ("Classes", "right"),
        ("Cached", "left"),
        ("Licence", "left"),
    )
    for entry in found:
        table.add_row(
            entry["name"],
            f"{entry['rows']:,}",
            f"{entry['features']:,}",
            str(len(entry["classes"])),
            "yes" if entry["cached"] else "no",
            entry["licence"],
        )
    with _console() as console:
        console.print(table)


def _first_sentence(text: str | None) -> str:
    r"""Return the first paragraph of a docstring on one line, without its markup.

    >>> _first_sentence("Rows of ``X``,\n    as in [1]_.\n\n    More.")
    'Rows of X, as in.'
    """
    import re

    paragraph = " ".join((text or "").strip().split("\n\n")[0].split())
    paragraph = re.sub(r"\s*\[\d+\]_", "", paragraph)
    return re.sub(r":\w+:`~?([^`]*)`", r"\1", paragraph).replace("``", "").replace("`", "")


def _listed_datasets() -> list[dict[str, Any]]:
    from anabranch import datasets

    return [
        {
            "name": known.name,
            "rows": known.n_rows,
            "features": known.n_features,
            "classes": known.classes,
            "summary": known.description,
            "nominal_features": list(known.nominal),
            "source": known.source,
            "licence": known.licence,
            "package": f"{known.artifact.package}=={known.artifact.version}",
            "cached": datasets.is_cached(known.name),
        }
        for known in map(datasets.info, datasets.names())
    ]


def _parameters(cls: type) -> dict[str, Any]:
    """Return the parameters of a class with their defaults, as JSON knows them."""
    import inspect

    from anabranch.evaluation.run import plain

    return {
        name: None if p.default is p.empty else plain(p.default)
        for name, p in inspect.signature(cls).parameters.items()
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }


def _listed_generators() -> list[dict[str, Any]]:
    from anabranch.stream import GENERATORS

    return [
        {"name": name, "summary": _first_sentence(cls.__doc__), "parameters": _parameters(cls)}
        for name, cls in GENERATORS.items()
    ]


def _listed_learners() -> list[dict[str, Any]]:
    from anabranch import _expression

    names = _expression.learner_names()
    return [
        {
            # The short name of two classes stands for the classifier.
            "name": short if names[short := _expression.short_name(cls)] is cls else cls.__name__,
            "class": f"{cls.__module__}.{cls.__name__}",
            "summary": _first_sentence(cls.__doc__),
            "parameters": _parameters(cls),
        }
        for cls in _expression.learners()
    ]


def _listed_metrics() -> list[dict[str, Any]]:
    from anabranch.metrics import METRICS

    return [
        {
            "name": name,
            "label": cls.label,
            "greater_is_better": cls.greater_is_better,
            "percent": cls.percent,
            "task": cls.task,
            "summary": _first_sentence(cls.__doc__),
        }
        for name, cls in METRICS.items()
    ]


_LISTS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "datasets": _listed_datasets,
    "generators": _listed_generators,
    "learners": _listed_learners,
    "metrics": _listed_metrics,
}


# ---------------------------------------------------------------------------------------- warmup


@app.command()
def warmup() -> None:
    """Compile everything once, so that later starts are quick; for images and fresh installations."""
    import time

    from anabranch import _expression
    from anabranch._warmup import exercise, exercise_metrics, exercise_streams, read_files
    from anabranch.kernels import cache_folder, checks, compilations

    start = time.perf_counter()
    classes = _expression.learners()
    for number, cls in enumerate(classes, 1):
        print(f"[{number}/{len(classes)}] {cls.__name__}", file=sys.stderr, flush=True)
        exercise(cls)
    exercise_metrics()
    read_files()
    exercise_streams()
    n = compilations()
    what = f"{n} kernel{'' if n == 1 else 's'} compiled" if n else "nothing left to compile"
    print(f"{what}, {len(classes)} learners exercised in {_duration(time.perf_counter() - start)}")
    folder = cache_folder(Path(checks.__file__).resolve())
    print(f"cache: {folder.parent}" if folder else "no folder can be written: every process has to compile for itself")
