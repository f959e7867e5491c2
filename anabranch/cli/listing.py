"""``anabranch list``: data sets, generators, learners and metrics by their names."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

from anabranch.cli._output import new_table, open_console


def list_(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="WHAT",
            help="datasets, detectors, generators, learners or metrics; everything if left out.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List data sets, generators, learners and metrics by their names in 'run', and change detectors."""
    if what is not None and what not in _LISTS:
        from anabranch._expression import suggestion

        raise ValueError(f"cannot list {what!r}.{suggestion(what, _LISTS)} There are: {', '.join(_LISTS)}")
    found = {kind: make() for kind, make in _LISTS.items() if what in (None, kind)}
    if as_json:
        print(json.dumps(found if what is None else found[what], indent=2, ensure_ascii=False))
        return
    with open_console() as console:
        for kind, entries in found.items():
            if what is None:
                console.print(f"[bold]{kind.capitalize() if kind != 'datasets' else 'Data sets'}[/bold]")
            if kind == "datasets":
                table = new_table(
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
                table = new_table(("Name", "left"), ("", "left"))
                for entry in entries:
                    table.add_row(entry["name"], entry["summary"])
            console.print(table)
            if what is None:
                console.print()


def _first_sentence(text: str | None) -> str:
    r"""Return the first paragraph of a docstring on one line, without its markup.

    >>> _first_sentence("Rows of ``X``,\n    as in [1]_.\n\n    More.")
    'Rows of X, as in.'
    """
    import re

    paragraph = " ".join((text or "").strip().split("\n\n")[0].split())
    paragraph = re.sub(r"\s*\[\d+\]_", "", paragraph)
    return re.sub(r":\w+:`~?([^`]*)`", r"\1", paragraph).replace("``", "").replace("`", "")


def listed_datasets() -> list[dict[str, Any]]:
    """Say what there is to know about each data set."""
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


def _listed_detectors() -> list[dict[str, Any]]:
    from anabranch import drift

    return [
        {
            "name": name,
            "class": f"{cls.__module__}.{name}",
            "summary": _first_sentence(cls.__doc__),
            "parameters": _parameters(cls),
        }
        for name, cls in ((name, getattr(drift, name)) for name in drift.__all__ if name != "DriftDetector")
    ]


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
    "datasets": listed_datasets,
    "detectors": _listed_detectors,
    "generators": _listed_generators,
    "learners": _listed_learners,
    "metrics": _listed_metrics,
}
