"""What reproductions of papers share: units of work that are done once and kept, results, tables.

A unit of work is one method on one data set with one seed. What it finds is kept in a file of its own as soon as it is
done, so that a reproduction goes on where it was stopped, however it was stopped, and a second one with more data sets,
methods or runs does only what is new.
"""

from __future__ import annotations

import abc
import json
import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeAlias

__all__ = ["Choice", "Reproduction", "Result", "Statement", "Table", "Unit", "beside", "reproduce"]

Result: TypeAlias = dict[str, Any]
"""A row of ``results.json``: dataset, method, metric, ours_mean, ours_std, runs, published."""

Found: TypeAlias = dict[str, Any]
"""What a unit of work found, as JSON knows it: under "metrics" its figures by name, and whatever else is of use."""

_FORMAT = 1  # of the files of units; others are done again


@dataclass(frozen=True)
class Unit:
    """One method on one data set, with one seed.

    Attributes
    ----------
    dataset, method : str
    seed : int
        Seed of everything that is drawn; runs that are averaged differ in it.
    rows : int or None
        Rows to learn; None for as many as there are.
    """

    dataset: str
    method: str
    seed: int
    rows: int | None = None

    @property
    def key(self) -> str:
        """Name of the file that keeps what the unit found."""
        rows = "" if self.rows is None else f".{self.rows}"
        return f"{self.dataset}.{self.method}.seed{self.seed}{rows}.json"


@dataclass(frozen=True)
class Choice:
    """What is to be reproduced: the options of ``anabranch reproduce``."""

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    runs: int
    rows: int | None
    seed: int


@dataclass(frozen=True)
class Statement:
    """Something that the paper says, and whether it holds of our results.

    Attributes
    ----------
    text : str
    holds : bool or None
        None where the results do not tell, as something it speaks of was not run.
    figures : str
        What it was judged by.
    """

    text: str
    holds: bool | None
    figures: str = ""


@dataclass(frozen=True)
class Table:
    """A table of texts; the first column is its heading, the others are figures."""

    title: str
    columns: Sequence[str]
    rows: list[list[str]] = field(default_factory=list)

    def markdown(self) -> str:
        """Write the table as Markdown.

        >>> print(Table("Mean", ["stream", "ours"], [["rts", "99.99"]]).markdown())
        **Mean**
        <BLANKLINE>
        | stream | ours |
        |---|---:|
        | rts | 99.99 |
        """
        lines = [self.columns, ["---", *["---:"] * (len(self.columns) - 1)], *self.rows]
        body = [f"| {' | '.join(line)} |" for line in lines]
        body[1] = body[1].replace(" ", "")
        return "\n".join([f"**{self.title}**", "", *body])


class Reproduction(abc.ABC):
    """A paper's experiment.

    A subclass sets the attributes and writes :meth:`run` and :meth:`published`; the other methods have defaults that
    do for most.

    Attributes
    ----------
    title, source : str
        What it is about, and where it was published.
    datasets, methods : tuple of str
        All there are, in the order of the paper's tables.
    default_methods : tuple of str
        Those to run if none are named; all, if it is empty.
    default_runs : int
        Runs with different seeds that are averaged.
    default_rows : int or None
        Rows to learn of each data set; None for all.
    main_metric : str
        The metric that the tables show.
    decimals : int
        Of that metric, in tables.
    """

    title: str
    source: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    default_methods: tuple[str, ...] = ()
    default_runs: int = 1
    default_rows: int | None = None
    main_metric: str = "accuracy"
    decimals: int = 2

    @abc.abstractmethod
    def run(self, unit: Unit) -> Found:
        """Do a unit of work; called in another process if there are several.

        Returns
        -------
        dict
            ``{"metrics": {name: value}}``, in the paper's units, and whatever :meth:`plots` draws, as JSON knows it.
        """

    @abc.abstractmethod
    def published(self, dataset: str, method: str, metric: str) -> float | None:
        """Look up the published figure; None if there is none."""

    def units(self, choice: Choice) -> list[Unit]:
        """List the units of work in the order in which they are to be started."""
        return [
            Unit(dataset, method, choice.seed + run, choice.rows)
            for dataset in choice.datasets
            for method in choice.methods
            for run in range(choice.runs)
        ]

    def results(self, choice: Choice, done: Mapping[Unit, Found]) -> list[Result]:
        """Average what has been found over the runs: one row per data set, method and metric."""
        values: dict[tuple[str, str, str], list[float]] = {}
        for unit, found in sorted(done.items(), key=lambda item: self._place(item[0])):
            for metric, value in found["metrics"].items():
                values.setdefault((unit.dataset, unit.method, metric), []).append(value)
        return [
            {
                "dataset": dataset,
                "method": method,
                "metric": metric,
                "ours_mean": statistics.fmean(found),
                "ours_std": statistics.stdev(found) if len(found) > 1 else None,
                "runs": len(found),
                "published": self.published(dataset, method, metric),
            }
            for (dataset, method, metric), found in values.items()
        ]

    def _place(self, unit: Unit) -> tuple[int, int, int]:
        return self.datasets.index(unit.dataset), self.methods.index(unit.method), unit.seed

    def tables(self, results: Sequence[Result]) -> list[Table]:
        """Set ours beside the published figures."""
        return beside(results, self.main_metric, self.decimals, self.main_metric)

    def statements(self, results: Sequence[Result]) -> list[Statement]:
        """Check what the paper says against our results."""
        return []

    def plots(self, results: Sequence[Result], done: Mapping[Unit, Found], folder: Path) -> list[Path]:
        """Draw plots into a folder; the files written."""
        return []

    def choose(
        self,
        datasets: Iterable[str] = (),
        methods: Iterable[str] = (),
        runs: int | None = None,
        rows: int | None = None,
        seed: int = 1,
    ) -> Choice:
        """Make sense of the command's options; what is not given is the paper's default.

        Parameters
        ----------
        datasets, methods : iterable of str
            Names, or patterns such as ``genF*``; commas separate several in one text.
        runs, rows : int, optional
        seed : int
            Of the first run; later ones count on from it.

        Raises
        ------
        ValueError
            If a name or pattern fits none.
        """
        return Choice(
            _chosen("data set", datasets, self.datasets) or self.datasets,
            _chosen("method", methods, self.methods) or self.default_methods or self.methods,
            self.default_runs if runs is None else runs,
            self.default_rows if rows is None else rows,
            seed,
        )


def _chosen(what: str, patterns: Iterable[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the known names that a pattern fits, in the order in which they are known.

    >>> _chosen("method", ["hot5@*", "htnba@32MB"], ("htnba@100KB", "htnba@32MB", "hot5@32MB"))
    ('htnba@32MB', 'hot5@32MB')
    """
    fitting: set[str] = set()
    for pattern in (part.strip() for text in patterns for part in text.split(",")):
        found = [name for name in known if fnmatchcase(name, pattern)]
        if not found:
            from anabranch._expression import suggestion

            raise ValueError(
                f"there is no {what} {pattern!r}.{suggestion(pattern, known)} There are: {', '.join(known)}"
            )
        fitting.update(found)
    return tuple(name for name in known if name in fitting)


# ---------------------------------------------------------------------------------------- doing it


def reproduce(
    paper: Reproduction,
    choice: Choice,
    out: Path,
    n_jobs: int = 1,
    progress: Callable[[Unit | None, Found, int, int], None] | None = None,
) -> dict[Unit, Found]:
    """Do all units of work that have not been done yet.

    Parameters
    ----------
    paper : Reproduction
    choice : Choice
    out : Path
        Folder for ``results.json``, which is up to date after each unit, and for what units found.
    n_jobs : int
        Processes, each of which does one unit at a time; -1 is one per processor.
    progress : callable, optional
        Called with a unit, what it found, and how many of how many are done: first with None for the unit.

    Returns
    -------
    dict
        What each unit found.
    """
    from joblib import Parallel, delayed

    kept = out / "units"
    kept.mkdir(parents=True, exist_ok=True)
    units = paper.units(choice)
    done = {unit: found for unit in units if (found := _kept(kept, unit)) is not None}
    if progress is not None:
        progress(None, {}, len(done), len(units))
    _write_results(paper, choice, done, out)
    left = [unit for unit in units if unit not in done]
    work: Iterator[tuple[Unit, Found]] = (
        (_do(paper, unit, kept) for unit in left)
        if n_jobs == 1
        else Parallel(n_jobs, batch_size=1, pre_dispatch="n_jobs", return_as="generator_unordered")(
            delayed(_do)(paper, unit, kept) for unit in left
        )
    )
    for unit, found in work:
        done[unit] = found
        _write_results(paper, choice, done, out)
        if progress is not None:
            progress(unit, found, len(done), len(units))
    return done


def _do(paper: Reproduction, unit: Unit, folder: Path) -> tuple[Unit, Found]:
    """Do a unit of work and keep what it found."""
    from anabranch.checkpoint import write_atomically

    found = paper.run(unit)
    content = {"format": _FORMAT, "unit": asdict(unit), "found": found}
    write_atomically(folder / unit.key, json.dumps(content, indent=1).encode())
    return unit, found


def _kept(folder: Path, unit: Unit) -> Found | None:
    """What a unit found earlier; None if it has not been done, or its file is of no use."""
    try:
        content = json.loads((folder / unit.key).read_text(encoding="utf-8"))
        found: Found = content["found"]
        return found if content["format"] == _FORMAT and content["unit"] == asdict(unit) else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _write_results(paper: Reproduction, choice: Choice, done: Mapping[Unit, Found], out: Path) -> None:
    from anabranch.checkpoint import write_atomically

    text = json.dumps(paper.results(choice, done), indent=1, ensure_ascii=False)
    write_atomically(out / "results.json", f"{text}\n".encode())


# ---------------------------------------------------------------------------------------- tables

_METHODS_PER_TABLE = 4  # as many as fit beside each other


def beside(results: Sequence[Result], metric: str, decimals: int, title: str) -> list[Table]:
    """Tables with a line per data set and a column per method: ours (published, difference), and their means.

    A mean is taken over the data sets that have both figures.

    >>> row = {"dataset": "a", "method": "m", "metric": "accuracy", "ours_mean": 90.5, "published": 90.0}
    >>> beside([row], "accuracy", 1, "Accuracy")[0].rows
    [['a', '90.5 (90.0, +0.5)'], ['mean', '90.5 (90.0, +0.5)']]
    """
    chosen = {(r["dataset"], r["method"]): (r["ours_mean"], r["published"]) for r in results if r["metric"] == metric}
    datasets = list(dict.fromkeys(dataset for dataset, _ in chosen))
    methods = list(dict.fromkeys(method for _, method in chosen))
    tables = []
    for first in range(0, len(methods), _METHODS_PER_TABLE):
        columns = methods[first : first + _METHODS_PER_TABLE]
        table = Table(f"{title}: ours (published, difference)", ["", *columns])
        for dataset in datasets:
            cells = [_cell(*chosen.get((dataset, method), (None, None)), decimals) for method in columns]
            table.rows.append([dataset, *cells])
        table.rows.append(["mean", *(_cell(*_means(chosen, datasets, method), decimals) for method in columns)])
        tables.append(table)
    return tables


def _means(
    chosen: Mapping[tuple[str, str], tuple[float, float | None]], datasets: Sequence[str], method: str
) -> tuple[float | None, float | None]:
    pairs = [chosen[dataset, method] for dataset in datasets if (dataset, method) in chosen]
    both = [(ours, published) for ours, published in pairs if published is not None]
    if not both:
        return (statistics.fmean(ours for ours, _ in pairs) if pairs else None), None
    return statistics.fmean(ours for ours, _ in both), statistics.fmean(published for _, published in both)


def _cell(ours: float | None, published: float | None, decimals: int) -> str:
    if ours is None or not math.isfinite(ours):
        return "-"
    if published is None:
        return f"{ours:.{decimals}f}"
    return f"{ours:.{decimals}f} ({published:.{decimals}f}, {ours - published:+.{decimals}f})"
