"""What a run gave: figures, curve, speed, memory, and all it takes to repeat it."""

from __future__ import annotations

import html
import json
import math
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import anabranch
from anabranch._colours import COLOURS
from anabranch.base import StreamLearner
from anabranch.checkpoint import write_atomically
from anabranch.metrics import Metric
from anabranch.stream._arrow import arrow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Run"]


_STEPS = (1, 2, 2.5, 5, 10)  # between ticks


@dataclass(repr=False, eq=False)
class Run:
    """Result of running a learner over a stream.

    Attributes
    ----------
    learner : classifier
        The learner, after its last row.
    learner_name, stream_name : str
        Names for tables, such as ``"HoeffdingTree(grace_period=100)"`` and ``"electricity"``.
    rows : int
        Rows predicted and learned.
    metrics : dict of str to float
        Each metric over all rows, by name.
    seconds, learn_seconds : float
        Seconds in all, and those spent in the learner.
    first_rows, first_seconds : int, float
        Rows of the first chunk, and seconds in the learner for it: code is loaded or compiled there. Of a run that was
        started again, all first chunks together.
    nbytes, peak_nbytes : int or None
        Bytes of the learner's state at the end, and the most at any point of the curve; None if it does not
        tell.
    interrupted : bool
        Whether the run was stopped from the keyboard.
    points : dict of str to list
        The curve by columns: ``row``, then each metric over the window that ends at that row.
    shown : list of Metric
        The metrics, for their labels.
    settings, stream, versions : dict
        What the run was called with, what is known about the stream, and the versions of what it ran on.
    starts : int
        How often the run was started, if it went on from a checkpoint; seconds add up.
    checkpoint : str or None
        The file from which the same call goes on.

    Examples
    --------
    >>> from anabranch.evaluation import prequential
    >>> from anabranch.stream import SEA
    >>> from anabranch.tree import HoeffdingTreeClassifier
    >>> run = prequential(HoeffdingTreeClassifier(), SEA(n_rows=2500), metrics=["accuracy"])
    >>> run
    <Run of HoeffdingTree on SEA(seed=1): 2,500 rows, accuracy ... %>
    >>> run.curve["row"].to_pylist()
    [1000, 2000, 2500]
    """

    learner: Any
    learner_name: str
    stream_name: str
    rows: int
    metrics: dict[str, float]
    seconds: float
    learn_seconds: float
    first_rows: int
    first_seconds: float
    nbytes: int | None
    peak_nbytes: int | None
    interrupted: bool
    points: dict[str, list[Any]]
    shown: list[Metric] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    stream: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    starts: int = 1
    checkpoint: str | None = None

    @property
    def rows_per_second(self) -> float:
        """Rows per second, the stream's and the metrics' work included; NaN without a row."""
        return self.rows / self.seconds if self.rows and self.seconds > 0 else math.nan

    @property
    def learner_rows_per_second(self) -> float:
        """Rows per second in the learner alone, without the first chunk unless that is all there is."""
        rows, seconds = self.rows - self.first_rows, self.learn_seconds - self.first_seconds
        if rows == 0:
            rows, seconds = self.rows, self.learn_seconds
        return rows / seconds if rows and seconds > 0 else math.nan

    @property
    def last(self) -> dict[str, float]:
        """Each metric over the last window, by name; NaN without a row."""
        return {name: values[-1] if values else math.nan for name, values in self.points.items() if name != "row"}

    @property
    def curve(self) -> Any:
        """The curve as a PyArrow table: ``row``, then each metric over the window that ends at that row."""
        pyarrow = arrow()
        kinds = {name: pyarrow.int64() if name == "row" else pyarrow.float64() for name in self.points}
        return pyarrow.table({name: pyarrow.array(values, kinds[name]) for name, values in self.points.items()})

    # ------------------------------------------------------------------------------------ files

    def to_dict(self) -> dict[str, Any]:
        """Everything but the learner's state, as values that JSON knows (NaN becomes None)."""
        last = self.last
        return {
            "learner": {"name": self.learner_name, **parameters_of(self.learner)},
            "stream": {"name": self.stream_name, **self.stream},
            "settings": self.settings,
            "rows": self.rows,
            "interrupted": self.interrupted,
            "starts": self.starts,
            "metrics": {name: plain(value) for name, value in self.metrics.items()},
            "last_window": {name: plain(value) for name, value in last.items()},
            "seconds": self.seconds,
            "learn_seconds": self.learn_seconds,
            "first_rows": self.first_rows,
            "first_seconds": self.first_seconds,
            "rows_per_second": plain(self.rows_per_second),
            "learner_rows_per_second": plain(self.learner_rows_per_second),
            "nbytes": self.nbytes,
            "peak_nbytes": self.peak_nbytes,
            "curve": {name: [plain(value) for value in values] for name, values in self.points.items()},
            "versions": self.versions,
        }

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Write the run as JSON: figures, curve, and what it takes to repeat it.

        Parameters
        ----------
        path : str or path-like, optional
            File to write; an old one is replaced only once the new one is whole.

        Returns
        -------
        str
            The JSON text.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        text = json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
        if path is not None:
            _write(path, text)
        return text

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Write the curve as CSV; NaN is an empty field.

        Parameters
        ----------
        path : str or path-like, optional
            File to write; an old one is replaced only once the new one is whole.

        Returns
        -------
        str
            The CSV text.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        lines = [",".join(_csv_field(name) for name in self.points)]
        for values in zip(*self.points.values(), strict=True):
            lines.append(",".join("" if value != value else repr(value) for value in map(_plain_number, values)))
        text = "\n".join(lines) + "\n"
        if path is not None:
            _write(path, text)
        return text

    # ------------------------------------------------------------------------------------ looks

    def plot(self, path: str | os.PathLike[str] | None = None, ax: Axes | None = None) -> Figure:
        """Draw the windowed curves.

        Parameters
        ----------
        path : str or path-like, optional
            File to write the figure to; its suffix (``.png``, ``.svg``, ``.pdf``, ...) says how.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a figure of its own if left out. Metrics that are no percentages get a second axis.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ValueError
            If the suffix is of no known kind.
        OSError
            If the file cannot be written.
        """
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator, PercentFormatter, StrMethodFormatter

        percent = [metric for metric in self.shown if metric.percent]
        other = [metric for metric in self.shown if not metric.percent]
        own = ax is None
        if ax is None:
            panels = bool(percent) + bool(other)
            figure = Figure(figsize=(8.0, 4.5 if panels == 1 else 5.6), dpi=150, layout="constrained")
            made = figure.subplots(panels, 1, sharex=True, squeeze=False, height_ratios=[1] if panels == 1 else [5, 2])[
                :, 0
            ]
            first, last = made[0], made[-1]
        else:
            figure = cast("Figure", ax.get_figure(root=True))
            first = ax
            last = ax.twinx() if percent and other else ax
        colours = iter(COLOURS * (1 + len(self.shown) // len(COLOURS)))
        rows = self.points["row"]
        marker = "o" if len(rows) < 3 else ""
        lines = []
        for axis, metrics in ((first, percent), (last, other)):
            for metric in metrics:
                total = shown(metric, self.metrics[metric.name])
                lines += axis.plot(
                    rows,
                    self.points[metric.name],
                    color=next(colours),
                    linewidth=1.4,
                    marker=marker,
                    label=f"{metric.label} ({total} over all rows)",
                )
            if metrics and metrics is percent:
                axis.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
            elif metrics:
                axis.set_ylabel(", ".join(metric.label for metric in metrics))
        for axis in {first, last} if own else {first}:
            axis.grid(color="#DDDDDD", linewidth=0.6)
            axis.set_axisbelow(True)
            axis.yaxis.set_major_locator(MaxNLocator(6 if axis is first else 3, steps=_STEPS))
            axis.margins(x=0.01)
            axis.set_xlim(left=0)
        if own:
            for axis in {first, last}:
                axis.spines[["top", "right"]].set_visible(False)
                axis.legend(
                    loc="lower left",
                    bbox_to_anchor=(0.0, 1.0),
                    ncols=2,
                    frameon=False,
                    fontsize="small",
                    borderaxespad=0.2,
                )
        else:
            first.legend(handles=lines, framealpha=0.8, fontsize="small")
        last.set_xlabel(f"row (each point: the {self.settings['window']:,} rows before it)")
        if not own and last is not first:
            first.set_xlabel(last.get_xlabel())
        last.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        last.xaxis.set_major_locator(MaxNLocator(7, steps=_STEPS, integer=True))
        title = f"{self.learner_name} on {self.stream_name}" + (" (interrupted)" if self.interrupted else "")
        if own:
            figure.suptitle(_wrapped(title, 85), x=0.01, ha="left", fontsize="large")
        else:
            first.set_title(title)
        if path is not None:
            figure.savefig(path)
        return figure

    def __repr__(self) -> str:
        figures = [
            f"{m.label if m.label.isupper() else m.label.lower()} {shown(m, self.metrics[m.name])}"
            for m in self.shown[:2]
        ]
        state = ", interrupted" if self.interrupted else ""
        if self.interrupted and self.checkpoint is not None:
            state += f": the same call goes on from {self.checkpoint}"
        what = f"{self.learner_name} on {self.stream_name}"
        return f"<Run of {what}: {self.rows:,} rows, {', '.join(figures)}{state}>"

    def _repr_html_(self) -> str:
        last = self.last
        body = "".join(
            f"<tr><td style='text-align:left'>{html.escape(m.label)}</td>"
            f"<td>{shown(m, self.metrics[m.name])}</td><td>{shown(m, last[m.name])}</td></tr>"
            for m in self.shown
        )
        facts = [f"{self.rows:,} rows", f"{quantity(self.rows_per_second)} rows/s"]
        if self.nbytes is not None:
            facts.append(f"{size(self.nbytes)} of state")
        if self.interrupted:
            facts.append("interrupted")
        window = self.settings["window"]
        return (
            f"<table><caption style='text-align:left'><b>{html.escape(self.learner_name)}</b> on "
            f"<b>{html.escape(self.stream_name)}</b><br>{html.escape(' · '.join(facts))}</caption>"
            "<thead><tr><th style='text-align:left'>Metric</th><th>All rows</th>"
            f"<th>Last {window:,}</th></tr></thead><tbody>{body}</tbody></table>"
        )


def shown(metric: Metric, value: float) -> str:
    """Write a value as people read it.

    >>> from anabranch.metrics import Accuracy, LogLoss
    >>> shown(Accuracy(), 0.79204), shown(LogLoss(), 0.51239), shown(LogLoss(), float("nan"))
    ('79.20 %', '0.5124', '-')
    """
    if math.isnan(value):
        return "-"
    return f"{100 * value:.2f} %" if metric.percent else f"{value:.4f}"


def quantity(number: float) -> str:
    """Write a number, rounded, with a unit.

    >>> [quantity(n) for n in (7, 950.4, 12_345, 2_345_678, float("nan"))]
    ['7', '950', '12.3 thousand', '2.35 million', '-']
    """
    if math.isnan(number):
        return "-"
    if number < 9_999.5:
        return f"{number:,.0f}"
    if number < 999_500:
        return f"{number / 1e3:.3g} thousand"
    return f"{number / 1e6:,.3g} million" if number < 999.5e6 else f"{number / 1e6:,.0f} million"


def size(nbytes: int) -> str:
    """Write a number of bytes with a unit.

    >>> size(512), size(81_234), size(5_000_000)
    ('512 B', '79.3 KiB', '4.77 MiB')
    """
    value, units = float(nbytes), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1023.5 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:.0f} B" if units[0] == "B" else f"{value:.3g} {units[0]}"


def _wrapped(text: str, width: int) -> str:
    import textwrap

    return textwrap.fill(text, width, break_long_words=False)


def _write(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file; what is no regular file, such as a pipe, is written to directly."""
    target = Path(path)
    if target.exists() and not target.is_file():
        with target.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
    else:
        write_atomically(target.resolve(), text.encode())  # resolved: a link stays a link


def _plain_number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _csv_field(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\r\n') else text


# ---------------------------------------------------------------------------------------- descriptions


def describe_learner(learner: Any) -> str:
    """Write a learner as an expression, with what differs from the defaults.

    The library's own, and those built on it, are named without the suffix Classifier or Regressor.

    Examples
    --------
    >>> from anabranch.tree import HoeffdingTreeClassifier
    >>> describe_learner(HoeffdingTreeClassifier(delta=0.01))
    'HoeffdingTree(delta=0.01)'
    """
    name = type(learner).__name__
    for suffix in ("Classifier", "Regressor") if isinstance(learner, StreamLearner) else ():
        name = name.removesuffix(suffix) or name
    changed = [f"{key}={_expression(value)}" for key, value in _changed_parameters(learner).items()]
    return f"{name}({', '.join(changed)})" if changed else name


def _changed_parameters(learner: Any) -> dict[str, Any]:
    if not callable(getattr(learner, "get_params", None)):
        return {}
    import inspect

    defaults = {name: p.default for name, p in inspect.signature(type(learner).__init__).parameters.items()}
    return {
        name: value
        for name, value in learner.get_params(deep=False).items()
        if name not in defaults or repr(value) != repr(defaults[name])
    }


def _expression(value: Any) -> str:
    if callable(getattr(value, "get_params", None)) and not isinstance(value, type):
        return describe_learner(value)
    return repr(_plain_number(value))


def parameters_of(learner: Any) -> dict[str, Any]:
    """Class and parameters of a learner, as values that JSON knows."""
    kind = type(learner)
    described: dict[str, Any] = {"class": f"{kind.__module__}.{kind.__qualname__}"}
    if callable(getattr(learner, "get_params", None)):
        described["parameters"] = {name: plain(value) for name, value in learner.get_params(deep=False).items()}
    return described


def describe_stream(stream: Any) -> dict[str, Any]:
    """Tell what is known about a stream, as values that JSON knows."""
    described: dict[str, Any] = {
        "class": f"{type(stream).__module__}.{type(stream).__qualname__}",
        "expression": repr(stream),
        "n_rows": stream.n_rows,
        "n_features": stream.n_features,
        "classes": None if stream.classes is None else plain(np.asarray(stream.classes)),
    }
    parameters: Callable[[], Mapping[str, Any]] | None = getattr(stream, "parameters", None)
    if callable(parameters):
        described["parameters"] = {name: plain(value) for name, value in parameters().items()}
    if getattr(stream, "n_bad_rows", None) is not None:
        described |= {"n_bad_rows": stream.n_bad_rows, "bad_rows": list(stream.bad_rows)}
    digest = getattr(getattr(stream, "dataset", None), "sha256", None)
    if digest is not None:
        described["sha256"] = str(digest)
    return described


def versions() -> dict[str, str]:
    """Versions of what a result may depend on."""
    found = {"anabranch": anabranch.__version__, "python": platform.python_version(), "numpy": np.__version__}
    for name in ("numba", "scikit-learn"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # a copy without its metadata
            continue
    return found | {"platform": platform.platform()}


def plain(value: Any) -> Any:
    """Value as JSON knows it: NaN as None, learners by class and parameters, anything else by its text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else repr(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if callable(getattr(value, "get_params", None)) and not isinstance(value, type):
        return parameters_of(value)
    return repr(value)
