"""``anabranch datasets``: the data sets, and what may be done with them."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from anabranch.cli._output import new_table, open_console
from anabranch.cli.listing import listed_datasets


def datasets(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the data sets: rows, features, classes, whether they are on this machine, and on what terms."""
    found = listed_datasets()
    if as_json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return
    table = new_table(
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
    with open_console() as console:
        console.print(table)
