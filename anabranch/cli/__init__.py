"""The command ``anabranch``: one file per subcommand.

Everything heavy is imported where it is used, so that ``anabranch --help`` starts at once.
"""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer

from anabranch.cli import datasets, generate, listing, predict, reproduce, run, warmup
from anabranch.cli._process import Command, Group, open_standard_streams

__all__ = ["app", "main"]

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

app = typer.Typer(
    cls=Group,
    name="anabranch",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> NoReturn:
    """Run the command with the process's arguments."""
    open_standard_streams()
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


for _name, _command, _examples in (
    ("run", run.run, run.EXAMPLES),
    ("generate", generate.generate, generate.EXAMPLES),
    ("predict", predict.predict, predict.EXAMPLES),
    ("reproduce", reproduce.reproduce, reproduce.EXAMPLES),
    ("list", listing.list_, None),
    ("datasets", datasets.datasets, None),
    ("warmup", warmup.warmup, None),
):
    app.command(_name, cls=Command, epilog=_examples)(_command)
