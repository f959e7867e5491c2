"""What commands print: tables, progress, notices; and the files they are to write."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["Progress", "check_outputs", "clipped", "duration", "file_size", "new_table", "notice", "open_console"]

_WIDE = 10_000  # columns in a pipe or a file: a line each, for other programs to cut


def check_outputs(outputs: dict[str, str | None]) -> None:
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


def notice(quiet: bool) -> Callable[[str], None]:
    """Say something on standard error, unless asked to be quiet."""

    def say(message: str) -> None:
        if not quiet:
            print(message, file=sys.stderr, flush=True)

    return say


class Progress:
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
            TextColumn(clipped(name, 24), markup=False, style="bold"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[rows]}", markup=False),
            TextColumn("{task.fields[speed]}", markup=False, style="cyan"),
            TextColumn("{task.fields[figures]}", markup=False, style="green"),
            console=console,
            transient=True,
            expand=True,
        )

    def __enter__(self) -> Progress:
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


def clipped(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


@contextlib.contextmanager
def open_console() -> Iterator[Console]:
    """Where tables go: the terminal, or else standard output as plain text."""
    from rich.console import Console

    if sys.stdout.isatty():
        yield Console(highlight=False)
        return
    text = io.StringIO()
    yield Console(file=text, highlight=False, width=_WIDE, no_color=True, color_system=None, force_terminal=False)
    # Cells are padded, the last ones too, which only a terminal hides.
    sys.stdout.write("".join(line.rstrip() + "\n" for line in text.getvalue().splitlines()))


def new_table(*columns: tuple[str, Literal["left", "right"]]) -> Table:
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


def duration(seconds: float) -> str:
    """Write a time as people say it.

    >>> duration(0.0123), duration(4.2), duration(75), duration(7500)
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


def file_size(path: str) -> str:
    from anabranch.evaluation.run import size

    return size(os.stat(path).st_size)
