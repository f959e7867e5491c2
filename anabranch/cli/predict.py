"""``anabranch predict``: labels and probabilities for the rows of a file."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli._output import Progress, check_outputs, file_size, notice

EXAMPLES = """[bold]Examples[/bold]

anabranch run rows.csv --target label --save learner.ck

anabranch predict --model learner.ck new.csv -o predictions.parquet

zcat new.csv.gz | anabranch predict --model learner.ck - | cut -d, -f1
"""


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

    check_outputs({"--out": out})
    with Progress(data, [], shown=not quiet and out != "-") as progress:
        n = _predict.predict(
            *(model, data, out, format, notice(quiet)),
            (lambda n, of: progress.update(n, of, {})) if progress.shown else None,
        )
    if not quiet and out != "-":
        print(f"{n:,} rows of {data} predicted, written to {out} ({file_size(out)})")
