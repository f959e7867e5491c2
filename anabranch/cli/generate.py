"""``anabranch generate``: the rows of a stream, written to a file."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli._output import Progress, check_outputs, file_size, notice
from anabranch.cli._streams import find_stream, is_endless

EXAMPLES = """[bold]Examples[/bold]

anabranch generate "RandomRBF(n_classes=5, seed=7)" -n 1000000 -o rbf.parquet

anabranch generate "SEA(noise=0.1)" -n 10000 -o sea.arff

anabranch generate electricity -o electricity.csv.gz

anabranch generate SEA -n 5

The suffix says in which format: .csv, .tsv, .jsonl, .parquet, .arrow, .arff, .svm; text formats may have .gz or .zst
after it.
"""


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
    check_outputs({"--out": out})
    made = find_stream(
        stream, {} if target is None else {"target": target}, {} if seed is None else {"seed": seed}, notice(quiet)
    )
    if rows is None and is_endless(made):
        raise ValueError(f"{made.name} is endless: say how many rows with -n")
    with Progress(str(made.name), [], shown=not quiet and out != "-") as progress:
        n = write(made, out, rows, (lambda n, of: progress.update(n, of, {})) if progress.shown else None)
    if not quiet and out != "-":
        print(f"{n:,} rows of {made.name} written to {out} ({file_size(out)})")
