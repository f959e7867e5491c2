"""Kirkby's comparison of one Hoeffding tree with online bagging, online boosting and option trees.

R. Kirkby, "Improving Hoeffding Trees", PhD thesis, University of Waikato, 2007, chapters 6 and 7. Nineteen streams, ten
learners, three limits on memory; the first million rows of a stream are held out for testing, and the learner is
trained on those that follow. The thesis trained for ten hours each, on up to a billion rows; how many rows it takes to
come near its accuracies is what the curves show.

The published figures in ``kirkby_published.csv`` are those of the thesis' appendix.
"""

from __future__ import annotations

import csv
import statistics
import time
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.papers._reproduction import Choice, Found, Reproduction, Result, Statement, Table, Unit, beside
from anabranch.papers.kirkby_streams import STREAMS

if TYPE_CHECKING:
    from anabranch.base import StreamClassifier
    from anabranch.stream import Generator

__all__ = ["MEMORIES", "Kirkby", "learner", "reproduction"]

MEMORIES = {"100KB": 100 * 2**10, "32MB": 32 * 2**20, "400MB": 400 * 2**20}
"""Limits in bytes."""

_LEARNERS = ("htnba", "bag3", "bag5", "bag10", "boost3", "boost5", "boost10", "hot3", "hot5", "hot10")
_MAIN = ("htnba", "bag5", "boost5", "hot5")
# The trees and centroids of these are drawn, and unlike the thesis' own: what they give differs from run to run.
_DRAWN = ("rts", "rtsn", "rtc", "rtcn", "rrbfs", "rrbfc")

_HELD_OUT = 1_000_000
_CURVE_TEST_ROWS = 100_000  # enough to see a curve; its last point is of all rows held out
_CHUNK = 8192


def learner(method: str, nominal_features: Sequence[int] = (), seed: int = 1) -> StreamClassifier:
    """Make a learner by its name in the thesis and its memory.

    Parameters
    ----------
    method : str
        Such as ``"hot5@32MB"``.
    nominal_features : sequence of int
        Columns whose numbers are categories.
    seed : int
        Of the ensembles' random numbers.

    Examples
    --------
    >>> learner("bag5@100KB").n_estimators, learner("hot3@32MB").max_options
    (5, 3)
    """
    from anabranch.ensemble import OzaBaggingClassifier, OzaBoostingClassifier
    from anabranch.tree import HoeffdingOptionTreeClassifier, HoeffdingTreeClassifier

    family, size, memory = _parts(method)
    # The other parameters' defaults are the thesis' settings.
    of_trees: dict[str, Any] = {
        "memory_period": 10_000 if memory == "100KB" else 100_000,
        "nominal_features": list(nominal_features),
    }
    limit = MEMORIES[memory]
    if family == "htnba":
        return HoeffdingTreeClassifier(max_bytes=limit, **of_trees)
    if family == "hot":
        return HoeffdingOptionTreeClassifier(max_options=size, max_bytes=limit, **of_trees)
    of: dict[str, Any] = {"n_estimators": size, "max_bytes": limit, "random_state": seed}
    tree = HoeffdingTreeClassifier(**of_trees)
    return OzaBaggingClassifier(tree, **of) if family == "bag" else OzaBoostingClassifier(tree, **of)


def _parts(method: str) -> tuple[str, int, str]:
    """Take a method's name apart: family, number of members or options, memory.

    >>> _parts("bag10@32MB"), _parts("htnba@100KB")
    (('bag', 10, '32MB'), ('htnba', 1, '100KB'))
    """
    kind, memory = method.split("@")
    family = kind.rstrip("0123456789")
    return family, int(kind.removeprefix(family) or 1), memory


class Kirkby(Reproduction):
    """The thesis' main comparison."""

    title = "Improving Hoeffding Trees: option trees, bagging and boosting in bounded memory"
    source = "R. Kirkby, PhD thesis, University of Waikato, 2007"
    datasets = tuple(STREAMS)
    methods = tuple(f"{kind}@{memory}" for memory in MEMORIES for kind in _LEARNERS)
    default_methods = tuple(method for method in methods if not method.endswith("@400MB"))
    default_rows = 3_000_000

    def units(self, choice: Choice) -> list[Unit]:
        """List the units of work, those that take longest first; streams on which nothing is drawn have one run."""
        units = [unit for unit in super().units(choice) if unit.dataset in _DRAWN or unit.seed == choice.seed]
        return sorted(units, key=_effort, reverse=True)

    def run(self, unit: Unit) -> Found:
        """Train a learner on a stream, and test it now and then on the rows held out."""
        assert unit.rows is not None
        stream = partial(STREAMS[unit.dataset], seed=unit.seed)
        one = stream()
        model = learner(unit.method, one.nominal_features, unit.seed)
        _warm_up(unit.method, one)
        held_out = min(_HELD_OUT, max(unit.rows // 5, 1000))
        learned, seconds, curve = 0, 0.0, []
        for rows in _checkpoints(unit.rows):
            for X, y in stream(n_rows=_HELD_OUT + rows).chunks(_CHUNK, skip=_HELD_OUT + learned):
                start = time.process_time()
                model.partial_fit(X, y, classes=one.classes)
                seconds += time.process_time() - start
            learned = rows
            tested = held_out if rows == unit.rows else min(held_out, _CURVE_TEST_ROWS)
            accuracy, test_seconds = _test(model, stream(n_rows=tested))
            curve.append((rows, accuracy))
        return {
            "metrics": {
                "accuracy": accuracy,
                **_size(model),
                "rows_per_second": learned / max(seconds, 1e-9),
                "predictions_per_second": tested / max(test_seconds, 1e-9),
            },
            "curve": curve,
            "held_out": held_out,
        }

    def published(self, dataset: str, method: str, metric: str) -> float | None:
        """Look up a figure of the thesis' appendix."""
        return _published().get((dataset, method, metric))

    def tables(self, results: Sequence[Result]) -> list[Table]:
        """Accuracies by memory and stream, then what they have in common by method."""
        tables = []
        for memory in MEMORIES:
            of_memory = [
                {**row, "method": row["method"].split("@")[0]}
                for row in results
                if row["method"].endswith(f"@{memory}")
            ]
            tables += beside(of_memory, "accuracy", 2, f"Accuracy in %, {_spelled(memory)}")
        return [*tables, _means_table(results)]

    def statements(self, results: Sequence[Result]) -> list[Statement]:
        """Check the thesis' findings."""
        accuracy = _by_method(results, "accuracy")
        nodes = _by_method(results, "nodes")
        said = []
        for memory in MEMORIES:
            here = {kind: accuracy.get(f"{kind}@{memory}", {}) for kind in _LEARNERS}
            for text, first, second, allowance in (
                ("option trees beat one tree", "hot5", "htnba", 0.0),
                ("one tree beats boosting", "htnba", "boost5", 0.0),
                ("option trees are not 0.3 points behind bagging", "hot5", "bag5", 0.3),
            ):
                if streams := _common(here[first], here[second]):
                    ours = [statistics.fmean(here[kind][s] for s in streams) for kind in (first, second)]
                    said.append(
                        Statement(
                            f"{_spelled(memory)}: on average, {text}",
                            ours[0] > ours[1] - allowance,
                            f"{first} {ours[0]:.2f}, {second} {ours[1]:.2f}, {len(streams)} streams",
                        )
                    )
            if streams := _common(nodes.get(f"hot5@{memory}", {}), nodes.get(f"bag5@{memory}", {})):
                hot, bag = (sum(nodes[f"{kind}@{memory}"][s] for s in streams) for kind in ("hot5", "bag5"))
                said.append(
                    Statement(
                        f"{_spelled(memory)}: an option tree has fewer nodes than the trees of bagging together",
                        hot < bag,
                        f"hot5 {hot:,.0f}, bag5 {bag:,.0f}: {hot / bag:.0%}",
                    )
                )
        for streams_of, prefixes, most in (
            ("genF and led", ("genF", "led"), 1),
            ("wave", ("wave",), 3),
        ):
            off = {
                (row["dataset"], row["method"]): row["ours_mean"] - row["published"]
                for row in results
                if row["metric"] == "accuracy"
                and row["method"] in ("htnba@32MB", "bag5@32MB", "hot5@32MB")
                and row["dataset"].startswith(prefixes)
            }
            if off:
                points = "1 point" if most == 1 else f"{most} points"
                stream, method = max(off, key=lambda key: abs(off[key]))
                said.append(
                    Statement(
                        f"32 MB, each {streams_of} stream: htnba, bag5 and hot5 within {points} of the thesis",
                        abs(off[stream, method]) <= most,
                        f"farthest off: {stream}, {method.split('@')[0]}, {off[stream, method]:+.2f}",
                    )
                )
        return said

    def plots(self, results: Sequence[Result], done: Mapping[Unit, Found], folder: Path) -> list[Path]:
        """Draw, for each memory, accuracy over rows; and the mean accuracies beside the published ones."""
        drawn = []
        for memory in MEMORIES:
            curves = _curves(done, memory)
            if curves:
                drawn.append(_draw_curves(curves, memory, folder / f"curves-{memory}.png"))
        means = _means(results)
        if means:
            drawn.append(_draw_means(means, folder / "means.png"))
        return drawn


reproduction = Kirkby()


# ---------------------------------------------------------------------------------------- a unit of work


def _effort(unit: Unit) -> float:
    """How long a unit takes compared with others, by rule of thumb."""
    stream = STREAMS[unit.dataset]()
    family, size, _ = _parts(unit.method)
    n_classes = 1 if stream.classes is None else len(stream.classes)
    return float(stream.n_features * n_classes * size * {"htnba": 1.0, "bag": 1.0, "boost": 1.6, "hot": 0.6}[family])


def _warm_up(method: str, stream: Generator) -> None:
    """Have everything compiled before the clock runs."""
    model = learner(method, stream.nominal_features)
    X, y = stream.take(1000)
    model.partial_fit(X, y, classes=stream.classes)
    model.predict(X)


def _checkpoints(rows: int) -> list[int]:
    """Rows after which to test: 1, 2 and 5 times powers of ten from 100,000 on, and all.

    >>> _checkpoints(1_500_000)
    [100000, 200000, 500000, 1000000, 1500000]
    """
    found = []
    power = 100_000
    while power < rows:
        found += [step for step in (power, 2 * power, 5 * power) if step < rows]
        power *= 10
    return [*found, rows]


def _test(model: StreamClassifier, stream: Generator) -> tuple[float, float]:
    """Share of a stream's rows that are predicted right, in percent, and the seconds predicting took."""
    right = rows = 0
    seconds = 0.0
    for X, y in stream.chunks(_CHUNK):
        start = time.process_time()
        predicted = model.predict(X)
        seconds += time.process_time() - start
        right += int((predicted == y).sum())
        rows += len(y)
    return 100.0 * right / rows, seconds


def _size(model: Any) -> dict[str, float]:
    """Size of a tree, or of an ensemble's trees together (their depth on average)."""
    trees = getattr(model, "estimators_", [model])
    inactive = sum(tree.n_inactive_leaves_ for tree in trees)
    return {
        "nodes": sum(tree.n_nodes_ for tree in trees),
        "active_leaves": sum(tree.n_leaves_ for tree in trees) - inactive,
        "inactive_leaves": inactive,
        "depth": statistics.fmean(tree.depth_ for tree in trees),
        "bytes": model.nbytes,
    }


# ---------------------------------------------------------------------------------------- figures


@cache
def _published() -> dict[tuple[str, str, str], float]:
    text = files("anabranch.papers").joinpath("kirkby_published.csv").read_text(encoding="utf-8")
    return {
        (row["dataset"], f"{row['method']}@{row['memory']}", metric): float(row[metric])
        for row in csv.DictReader(text.splitlines())
        for metric in ("accuracy", "nodes", "active_leaves", "inactive_leaves", "depth")
    }


def _spelled(memory: str) -> str:
    return f"{memory[:-2]} {memory[-2:]}"


def _by_method(results: Sequence[Result], metric: str) -> dict[str, dict[str, float]]:
    """Ours of a metric by method and stream."""
    found: dict[str, dict[str, float]] = {}
    for row in results:
        if row["metric"] == metric:
            found.setdefault(row["method"], {})[row["dataset"]] = row["ours_mean"]
    return found


def _common(first: Mapping[str, float], second: Mapping[str, float]) -> list[str]:
    return [stream for stream in first if stream in second]


def _means(results: Sequence[Result]) -> dict[str, tuple[float, float, int]]:
    """Mean accuracy over the streams by method: ours, published, and of how many streams."""
    pairs: dict[str, list[tuple[float, float]]] = {}
    for row in results:
        if row["metric"] == "accuracy":
            pairs.setdefault(row["method"], []).append((row["ours_mean"], row["published"]))
    return {
        method: (statistics.fmean(o for o, _ in found), statistics.fmean(p for _, p in found), len(found))
        for method, found in pairs.items()
    }


def _means_table(results: Sequence[Result]) -> Table:
    """A line per method: means over the streams; nodes beside the thesis', which has seen a hundred times the rows."""
    accuracy, size = ["accuracy", "thesis", "difference"], ["nodes", "thesis", "leaves", "inactive", "depth"]
    table = Table("Means over the streams", ["method", "streams", *accuracy, *size, "rows/s", "predictions/s"])
    of = {metric: _by_method(results, metric) for metric in {row["metric"] for row in results}}
    for method, (ours, published, n) in sorted(_means(results).items(), key=lambda m: Kirkby.methods.index(m[0])):
        streams = of["accuracy"][method]
        figure = {metric: statistics.fmean(values[method].values()) for metric, values in of.items()}
        thesis_nodes = statistics.fmean(_published()[stream, method, "nodes"] for stream in streams)
        # Speeds are averaged as times are: what a row takes on average, over the streams.
        speed, tested = (
            statistics.harmonic_mean(of[metric][method].values())
            for metric in ("rows_per_second", "predictions_per_second")
        )
        leaves = figure["active_leaves"] + figure["inactive_leaves"]
        table.rows.append([method.replace("@", ", "), str(n), f"{ours:.2f}", f"{published:.2f}"])
        table.rows[-1] += [f"{ours - published:+.2f}", f"{figure['nodes']:,.0f}", f"{thesis_nodes:,.0f}"]
        table.rows[-1] += [f"{leaves:,.0f}", f"{figure['inactive_leaves']:,.0f}", f"{figure['depth']:.1f}"]
        table.rows[-1] += [f"{speed:,.0f}", f"{tested:,.0f}"]
    return table


def _curves(done: Mapping[Unit, Found], memory: str) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Accuracy over rows by stream and learner, averaged over runs; of the main learners, where there are any."""
    found: dict[tuple[str, str], list[list[tuple[int, float]]]] = {}
    for unit, what in done.items():
        kind, of = unit.method.split("@")
        if of == memory:
            found.setdefault((unit.dataset, kind), []).append(what["curve"])
    main = {key: runs for key, runs in found.items() if key[1] in _MAIN} or found
    curves: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for dataset, kind in sorted(main, key=lambda key: (Kirkby.datasets.index(key[0]), _LEARNERS.index(key[1]))):
        points = zip(*main[dataset, kind], strict=True)
        curves.setdefault(dataset, {})[kind] = [
            (same[0][0], statistics.fmean(accuracy for _, accuracy in same)) for same in points
        ]
    return curves


def _draw_curves(curves: Mapping[str, Mapping[str, list[tuple[int, float]]]], memory: str, path: Path) -> Path:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from anabranch._colours import COLOURS

    across = min(5, len(curves))
    down = -(-len(curves) // across)
    figure = Figure(figsize=(3.0 * across + 0.5, 2.4 * down + 0.8), dpi=120, layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    kinds = list(dict.fromkeys(kind for of_stream in curves.values() for kind in of_stream))
    colours = {kind: COLOURS[i % len(COLOURS)] for i, kind in enumerate(kinds)}
    for panel, (dataset, of_stream) in zip(panels, curves.items(), strict=False):
        for kind, points in of_stream.items():
            panel.plot(*zip(*points, strict=True), color=colours[kind], marker=".")
            panel.axhline(_published()[dataset, f"{kind}@{memory}", "accuracy"], color=colours[kind], ls=":", lw=1.0)
        panel.set_xscale("log")
        panel.set_title(dataset, fontsize="medium")
    for panel in panels[len(curves) :]:
        panel.set_visible(False)
    handles = [Line2D([], [], color=colours[kind], marker=".", label=kind) for kind in kinds]
    handles.append(Line2D([], [], color="black", ls=":", lw=1.0, label="the thesis' last reading"))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    figure.supxlabel("rows learned")
    figure.supylabel(f"accuracy in %, {_spelled(memory)}")
    figure.savefig(path)
    return path


def _draw_means(means: Mapping[str, tuple[float, float, int]], path: Path) -> Path:
    from matplotlib.figure import Figure

    from anabranch._colours import COLOURS

    methods = sorted(means, key=Kirkby.methods.index)
    figure = Figure(figsize=(7.0, 0.28 * len(methods) + 1.2), dpi=120, layout="constrained")
    panel = figure.subplots()
    places = range(len(methods))
    ours, published = zip(*((means[method][0], means[method][1]) for method in methods), strict=True)
    panel.hlines(places, ours, published, color="0.8")
    panel.plot(ours, places, "o", color=COLOURS[0], label="ours")
    panel.plot(published, places, "x", color=COLOURS[1], label="thesis")
    panel.set_yticks(places, [method.replace("@", ", ") for method in methods])
    panel.invert_yaxis()
    panel.set_xlabel("mean accuracy in %")
    panel.legend()
    figure.savefig(path)
    return path
