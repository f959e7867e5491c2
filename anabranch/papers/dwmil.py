"""The experiments of the DWMIL paper: six skewed streams under concept drift.

Y. Lu, Y.-m. Cheung and Y. Y. Tang, "Dynamic weighted majority for incremental learning of imbalanced data streams with
concept drift", IJCAI 2017.

**Streams.** Six, with about 5 % of the minority, in chunks: the authors' own (``dwmil/*.mat`` in a folder that
``ANABRANCH_DATA`` names) where they are there. Otherwise our generators make streams after the paper's description,
drawn anew for each run, and *electricity* and *weather* are thinned out from the library's data sets; beside those no
published figure is set. The tables say which.

**Protocol.** Every chunk is predicted, then learned. Methods that learn by chunks take the very chunks of the stream;
where these differ in length, each is closed by ``flush()``. Methods that learn row by row predict each row just before
they learn it; ``CBCE@chunk`` and ``DWM+UOB@chunk`` have to predict a whole chunk first, as those by chunks do. A row is
given to the minority if that is at least as probable as the majority, as in the authors' code.
G-mean and AUC are worked out per chunk and averaged over the chunks; the first one is counted, though a method that
learns by chunks knows nothing yet (G-mean 0, AUC 0.5). What they are without it is also shown.

**Settings.** As the paper has them: 11 members for DWMIL, LPN and each expert of DWM, theta = 0.001, G-mean as the
error. DWM judges its experts once per chunk's length. All else is the library's default. The authors' LPN has 11
members, each with a fifth of the chunk's majority; Learn++.NIE proper ties one to the other: an eleventh for 11
members (``LPN``), a fifth for 5 (``LPN5``).

**Tests.** Wilcoxon's signed-rank test, two-sided, at 95 %, over the chunks, each with its mean over the runs. (The
paper does not say what it pairs.) **Time** is that of the processor, for predicting and learning, on one thread. Where
chunks differ in length, learners by chunks ask their experts twice, once to predict and once in ``flush()``.
"""

from __future__ import annotations

import importlib
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anabranch.papers._reproduction import Choice, Found, Reproduction, Result, Statement, Table, Unit

__all__ = ["DWMIL", "MAIN", "chunks_of", "learner", "reproduction"]

MAIN = ("DWMIL", "LPN", "REA", "CBCE", "DWM+UOB")
"""The methods that the paper compares."""

_PUBLISHED = {  # DWMIL's columns of Tables 2 and 3; the other methods' were not to be found
    "gaussian": (0.7565, 0.8517),
    "sea": (0.9256, 0.9776),
    "hyperP": (0.5889, 0.7007),
    "checkerboard": (0.8123, 0.8876),
    "electricity": (0.7062, 0.8271),
    "weather": (0.6641, 0.7725),
}
_TOLERANCE = {name: 0.02 if name in ("hyperP", "electricity") else 0.015 for name in _PUBLISHED}
_SEA_DRIFTS = (33, 66)  # the first chunks of a new concept, counted from 0

# Method: package, class, and settings beyond the library's.
_LEARNERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "DWMIL": ("imbalance", "DWMILClassifier", {"n_estimators": 11, "theta": 0.001, "error": "gmean"}),
    "LPN": ("imbalance", "LearnPPNIEClassifier", {"n_estimators": 11, "error": "gmean"}),
    "REA": ("imbalance", "REAClassifier", {}),
    "CBCE": ("imbalance", "CBCEClassifier", {}),
    "DWM+UOB": ("ensemble", "DynamicWeightedMajorityClassifier", {"beta": 0.5, "theta": 0.001}),
    "LPN5": ("imbalance", "LearnPPNIEClassifier", {"n_estimators": 5, "error": "gmean"}),
    "Learn++.CDS": ("imbalance", "LearnPPCDSClassifier", {}),
    "SERA": ("imbalance", "SERAClassifier", {}),
    "UncorrelatedBagging": ("imbalance", "UncorrelatedBaggingClassifier", {}),
    "HUWRS.IP": ("imbalance", "HUWRSIPClassifier", {}),
    "DFGW-IS": ("imbalance", "DFGWISClassifier", {}),
    "UnderBagging": ("imbalance", "UnderBaggingClassifier", {"n_estimators": 11}),
    "AWE": ("ensemble", "AccuracyWeightedEnsembleClassifier", {}),
    "OOB": ("imbalance", "OOBClassifier", {"n_estimators": 11}),
    "UOB": ("imbalance", "UOBClassifier", {"n_estimators": 11}),
    "WEOB1": ("imbalance", "WEOBClassifier", {"n_estimators": 11, "variant": "WEOB1"}),
    "WEOB2": ("imbalance", "WEOBClassifier", {"n_estimators": 11, "variant": "WEOB2"}),
    "ESOS-ELM": ("imbalance", "ESOSELMClassifier", {}),
    "DWM+NB": ("ensemble", "DynamicWeightedMajorityClassifier", {"beta": 0.5, "theta": 0.001}),
    "DWM+tree": ("ensemble", "DynamicWeightedMajorityClassifier", {"beta": 0.5, "theta": 0.001}),
}
_BY_CHUNK = "@chunk"  # a learner by rows that has to predict a whole chunk before it learns any of it

Chunk = tuple[Any, NDArray[np.int64]]


class DWMIL(Reproduction):
    """Tables 2 to 4, Figures 1 and 2, and how many experts there are over time."""

    title = "dynamic weighted majority for imbalanced data streams with concept drift (DWMIL)"
    source = "Y. Lu, Y.-m. Cheung and Y. Y. Tang, IJCAI 2017"
    datasets = tuple(_PUBLISHED)
    methods = (*_LEARNERS, "CBCE@chunk", "DWM+UOB@chunk")
    default_runs = 10
    main_metric = "gmean"
    decimals = 4

    def units(self, choice: Choice) -> list[Unit]:
        """List the units of work, run by run, so that every method has its first run before any has its second."""
        return [
            Unit(dataset, method, choice.seed + run, choice.rows)
            for run in range(choice.runs)
            for method in choice.methods
            for dataset in choice.datasets
        ]

    def run(self, unit: Unit) -> Found:
        """Take a method through a stream, chunk by chunk."""
        authors, chunks = chunks_of(unit.dataset, unit.seed, unit.rows)
        for warm in (True, False):  # so that everything is compiled before the clock runs
            model = learner(unit.method, [len(y) for _, y in chunks], unit.seed).announce([0, 1])
            found: dict[str, list[Any]] = {"gmean": [], "auc": [], "experts": []}
            seconds = 0.0
            for X, y in chunks[:3] if warm else chunks:
                start = time.process_time()
                told = _tested(model, X, y, unit.method.endswith(_BY_CHUNK))
                if hasattr(model, "flush"):
                    model.flush()
                seconds += time.process_time() - start
                found["gmean"].append(_g_mean(y, told[:, 1] >= told[:, 0]))
                found["auc"].append(_auc(y, told))
                experts = getattr(model, "n_experts_", None)
                found["experts"].append(len(model.estimators_) if unit.method.startswith("DWM+") else experts)
        return {
            "metrics": {
                "gmean": statistics.fmean(found["gmean"]),
                "auc": statistics.fmean(found["auc"]),
                "seconds": seconds,
                "bytes": model.nbytes,
                "authors_stream": float(authors),
            },
            **found,
        }

    def published(self, dataset: str, method: str, metric: str) -> float | None:
        """DWMIL's column of Table 2 (G-mean) or Table 3 (AUC)."""
        if method != "DWMIL" or metric not in ("gmean", "auc"):
            return None
        return _PUBLISHED[dataset][0 if metric == "gmean" else 1]

    def results(self, choice: Choice, done: Mapping[Unit, Found]) -> list[Result]:
        """Average over the runs, work out what the curves tell, and, once all is done, test the differences."""
        results = super().results(
            choice, {unit: {"metrics": {**found["metrics"], **_told_by(unit, found)}} for unit, found in done.items()}
        )
        theirs = {(r["dataset"], r["method"]) for r in results if r["metric"] == "authors_stream" and r["ours_mean"]}
        for row in results:
            if (row["dataset"], row["method"]) not in theirs:
                row["published"] = None
        if len(done) == len(self.units(choice)):
            results += _tests(results, done)
        return results

    # ------------------------------------------------------------------------------------ tables

    def tables(self, results: Sequence[Result]) -> list[Table]:
        """Tables 2, 3 and 4, the first two also without the first chunk; the numbers of experts; whose streams."""
        marks = (
            "the best of the paper's five: * significantly, = not; others: + or - significantly above or below DWMIL"
        )
        tables = []
        for metric, number, name in (("gmean", 2, "G-mean"), ("auc", 3, "AUC")):
            tables += [
                _table(f"Table {number}: {name} ({marks})", results, metric, 4, marked=True, published=True),
                _table(f"{name} without the first chunk", results, f"{metric}_later", 4),
            ]
        tables += [
            _table("Table 4: running time in seconds, one run, one thread", results, "seconds", 2),
            _table("Experts, mean over the chunks", results, "experts", 1),
        ]
        whose = Table("Streams", ["stream", "chunks", "whose"])
        for dataset in _named(results, "dataset"):
            of = {row["metric"]: row["ours_mean"] for row in results if row["dataset"] == dataset}
            made = "the authors'" if of["authors_stream"] == 1.0 else "made by the library"
            whose.rows.append([dataset, f"{of['chunks']:.0f}", made])
        return [*(table for table in tables if table.rows), whose]

    # ------------------------------------------------------------------------------------ statements

    def statements(self, results: Sequence[Result]) -> list[Statement]:
        """Hold DWMIL to its published figures, and check what the paper says of all methods."""
        of = _figures(results)
        return [*_tolerances(of), *_findings(of)]

    def plots(self, results: Sequence[Result], done: Mapping[Unit, Found], folder: Path) -> list[Path]:
        """Figures 1 and 2, G-mean and AUC over the chunks, and the number of experts."""
        main = {unit: found for unit, found in done.items() if unit.method in MAIN} or done
        drawn = []
        for what, label, name in (
            ("gmean", "G-mean", "figure1-gmean.png"),
            ("auc", "AUC", "figure2-auc.png"),
            ("experts", "experts", "experts.png"),
        ):
            chosen = {unit: found for unit, found in main.items() if None not in found[what]}
            if chosen:
                folder.mkdir(parents=True, exist_ok=True)
                drawn.append(_draw(chosen, what, label, folder / name))
        return drawn


reproduction = DWMIL()


# ---------------------------------------------------------------------------------------- streams and learners


@lru_cache(maxsize=6)
def chunks_of(dataset: str, seed: int = 1, rows: int | None = None) -> tuple[bool, list[Chunk]]:
    """Cut one of the six streams into its chunks.

    Parameters
    ----------
    dataset : str
    seed : int
        Of the streams that are made by the library.
    rows : int, optional
        Rows in whole chunks after which to stop; at least two chunks.

    Returns
    -------
    authors : bool
        Whether this is the authors' own stream.
    chunks : list of (X, y)
        Rows, and 1 for the minority, 0 for the majority.
    """
    folder = os.environ.get("ANABRANCH_DATA")
    path = None if folder is None else Path(folder, "dwmil", f"{dataset}.mat")
    authors = path is not None and path.is_file()
    whole = _authors_chunks(path) if path is not None and authors else _own_chunks(dataset, seed)
    chunks: list[Chunk] = []
    so_far = 0
    for X, y in whole:
        so_far += len(y)
        if rows is not None and so_far > rows and len(chunks) >= 2:
            break
        chunks.append((X, y))
    return authors, chunks


def _authors_chunks(path: Path) -> Iterator[Chunk]:
    from scipy.io import loadmat

    content = loadmat(path)
    for X, labels in zip(content["data"].ravel(), content["label"].ravel(), strict=True):
        yield np.ascontiguousarray(X, np.float64), (labels.ravel() == 1).astype(np.int64)


def _own_chunks(dataset: str, seed: int) -> Iterator[Chunk]:
    """After the paper's description; what it leaves open was chosen to resemble the authors' streams."""
    from anabranch import datasets
    from anabranch.stream import SEA, DriftStream, Hyperplane, Imbalance, MovingGaussian, RotatingCheckerboard

    chunks: Iterator[Any]
    minority: Any = 1
    if dataset == "gaussian":
        chunks = MovingGaussian(seed=seed, n_rows=50_000).chunks(1000)
    elif dataset == "sea":
        concepts = [SEA(threshold=value, minority_share=0.05, seed=2 * seed + i) for i, value in enumerate((15, 5))]
        positions = [1000 * chunk for chunk in _SEA_DRIFTS]
        chunks = DriftStream(concepts, positions, order=[0, 1, 0], n_rows=100_000).chunks(1000)
    elif dataset == "hyperP":
        moving = {"n_drift_features": 9, "magnitude": 1e-5, "reversal": 0.0}
        plane = Hyperplane(**moving, form="ratio", high=2.0, minority_share=0.05, seed=seed, n_rows=50_000)  # type: ignore[arg-type]
        chunks = plane.chunks(1000)
    elif dataset == "checkerboard":
        chunks = RotatingCheckerboard(seed=seed, n_rows=300_000).chunks(1500)
    elif dataset == "electricity":
        minority = "UP"
        whole = datasets.load("electricity")
        chunks = Imbalance(whole, minority=minority, skip=17_763, piece_rows=500, seed=seed).pieces()
    else:
        whole = datasets.load("weather")
        known = list(whole.classes) if whole.classes is not None else [0, 1]
        minority = known[-1]  # rain
        chunks = Imbalance(whole, minority=minority, piece_rows=365, seed=seed).pieces()
    for X, y in chunks:
        yield X, (np.asarray(y) == minority).astype(np.int64)


def learner(method: str, lengths: Sequence[int] = (1000,), seed: int = 1) -> Any:
    """Make a learner by the method's name.

    Parameters
    ----------
    method : str
    lengths : sequence of int
        Numbers of rows of the stream's chunks.
    seed : int

    Examples
    --------
    >>> learner("DWMIL", [900, 1000]).chunk_size
    1000
    >>> learner("DWM+UOB", [900, 1100]).period
    1000
    """
    method = method.removesuffix(_BY_CHUNK)
    package, name, settings = _LEARNERS[method]
    kind = getattr(importlib.import_module(f"anabranch.{package}"), name)
    settings = dict(settings)
    if method.startswith("DWM+"):
        settings |= {
            "estimator": _expert(method.removeprefix("DWM+"), seed),
            "period": round(statistics.fmean(lengths)),
        }
    parameters = kind().get_params(deep=False)
    if "chunk_size" in parameters:
        settings["chunk_size"] = max(lengths)
    if "random_state" in parameters:
        settings["random_state"] = seed
    return kind(**settings)


def _expert(name: str, seed: int) -> Any:
    if name == "UOB":
        from anabranch.imbalance import UOBClassifier

        return UOBClassifier(n_estimators=11, random_state=seed)
    if name == "NB":
        from anabranch.naive_bayes import GaussianNB

        return GaussianNB()
    from anabranch.tree import HoeffdingTreeClassifier

    return HoeffdingTreeClassifier()


def _tested(model: Any, X: Any, y: NDArray[np.int64], by_chunk: bool) -> NDArray[np.float64]:
    """Probabilities of rows just before each was learned, or, ``by_chunk``, before any of the chunk was."""
    if not by_chunk:
        told: NDArray[np.float64] = model.test_then_train(X, y)
        return told
    told = model.predict_proba(X) if model.__sklearn_is_fitted__() else np.zeros((len(y), 2))
    model.partial_fit(X, y)
    return told


def _g_mean(y: NDArray[np.int64], positive: NDArray[np.bool_]) -> float:
    """Geometric mean of the recalls, of the classes that are there."""
    recalls = [float((positive[y == code] == bool(code)).mean()) for code in (0, 1) if (y == code).any()]
    return float(np.sqrt(np.prod(recalls)))


def _auc(y: NDArray[np.int64], told: NDArray[np.float64]) -> float:
    from anabranch.metrics import ROCAUC

    return float(ROCAUC().update(y, told).value)


# ---------------------------------------------------------------------------------------- what the curves tell


def _told_by(unit: Unit, found: Found) -> dict[str, float]:
    """Figures from the curves: without the first chunk, at the end, from chunk to chunk, after SEA's drifts."""
    metrics: dict[str, float] = {"chunks": len(found["gmean"])}
    for metric in ("gmean", "auc"):
        metrics[f"{metric}_later"] = statistics.fmean(found[metric][1:])
        metrics[f"{metric}_end"] = statistics.fmean(found[metric][-10:])
    if None not in found["experts"]:
        metrics["experts"] = statistics.fmean(found["experts"])
    steps = [abs(after - before) for before, after in pairwise(found["auc"][1:])]
    metrics["auc_step"] = statistics.fmean(steps) if steps else 0.0
    if unit.dataset == "sea":
        for number, drift in enumerate(_SEA_DRIFTS, start=1):
            if len(found["gmean"]) >= drift + 20:
                curve = found["gmean"]
                metrics[f"half_back_{number}"] = _chunks_until(curve, drift, 0.5)
                metrics[f"back_{number}"] = _chunks_until(curve, drift, 0.95)
                before, after = (statistics.fmean(found["auc"][i : i + 10]) for i in (drift - 10, drift))
                metrics[f"auc_loss_{number}"] = before - after
    return metrics


def _chunks_until(curve: Sequence[float], drift: int, share: float) -> int:
    """Chunks since a drift before the curve is back at a share of its mean over the ten chunks before the drift.

    >>> _chunks_until([0.8] * 10 + [0.1, 0.3, 0.5, 0.8], 10, 0.5)
    2
    """
    goal = share * statistics.fmean(curve[drift - 10 : drift])
    return next((n for n, value in enumerate(curve[drift:]) if value >= goal), len(curve) - drift)


def _tests(results: Sequence[Result], done: Mapping[Unit, Found]) -> list[Result]:
    """Test the differences between methods.

    Rows ``gmean_p_best`` and ``auc_p_best`` hold the p-value of the difference from the best of the paper's methods,
    ``gmean_p_dwmil`` and ``auc_p_dwmil`` that from DWMIL.
    """
    of = _figures(results)
    rows: list[Result] = []
    for metric in ("gmean", "auc"):
        curves: dict[str, dict[str, list[Any]]] = {}
        for unit, found in done.items():
            curves.setdefault(unit.dataset, {}).setdefault(unit.method, []).append(found[metric])
        for dataset, runs in curves.items():
            means = {method: np.mean(np.array(several), axis=0) for method, several in runs.items()}
            ranked = _ranked(of, dataset, metric)
            for against, name in ((ranked[0] if ranked else None, "best"), ("DWMIL", "dwmil")):
                rows += [
                    {
                        "dataset": dataset,
                        "method": method,
                        "metric": f"{metric}_p_{name}",
                        "ours_mean": _p_value(means[method], means[against]),
                        "ours_std": None,
                        "runs": len(runs[method]),
                        "published": None,
                    }
                    for method in means
                    if against in means and method != against
                ]
    return rows


def _p_value(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    from scipy.stats import wilcoxon

    return float(wilcoxon(first, second).pvalue) if (first != second).any() else 1.0


# ---------------------------------------------------------------------------------------- figures and tables

_Figures = Mapping[tuple[str, str, str], float]


def _figures(results: Sequence[Result]) -> dict[tuple[str, str, str], float]:
    return {(row["dataset"], row["method"], row["metric"]): row["ours_mean"] for row in results}


def _named(results: Sequence[Result], what: str) -> list[str]:
    known = DWMIL.datasets if what == "dataset" else DWMIL.methods
    return [name for name in known if any(row[what] == name for row in results)]


def _ranked(of: _Figures, dataset: str, metric: str) -> list[str]:
    """The paper's methods that were run, the best first."""
    there = [method for method in MAIN if (dataset, method, metric) in of]
    return sorted(there, key=lambda method: -of[dataset, method, metric])


def _table(
    title: str, results: Sequence[Result], metric: str, decimals: int, marked: bool = False, published: bool = False
) -> Table:
    of = _figures(results)
    sets = _named(results, "dataset")
    table = Table(title, ["method", *sets, "mean"])
    for method in _named(results, "method"):
        values = [of.get((dataset, method, metric)) for dataset in sets]
        if all(value is None for value in values):
            continue
        cells = [
            "-" if value is None else f"{value:.{decimals}f}{_mark(of, dataset, method, metric) if marked else ''}"
            for dataset, value in zip(sets, values, strict=True)
        ]
        there = [value for value in values if value is not None]
        table.rows.append([method, *cells, f"{statistics.fmean(there):.{decimals}f}" if len(there) > 1 else "-"])
    if published:
        theirs = {row["dataset"]: row["published"] for row in results if row["metric"] == metric and row["published"]}
        cells = [f"{theirs[dataset]:.{decimals}f}" if dataset in theirs else "-" for dataset in sets]
        mean = f"{statistics.fmean(theirs.values()):.{decimals}f}" if len(theirs) == len(sets) > 1 else "-"
        table.rows.append(["DWMIL, published", *cells, mean])
    return table


def _mark(of: _Figures, dataset: str, method: str, metric: str) -> str:
    if method in MAIN:
        ranked = _ranked(of, dataset, metric)
        p = of.get((dataset, ranked[1], f"{metric}_p_best")) if len(ranked) > 1 else None
        return "" if method != ranked[0] or p is None else "*" if p < 0.05 else "="
    p = of.get((dataset, method, f"{metric}_p_dwmil"))
    if p is None or p >= 0.05:
        return ""
    return "+" if of[dataset, method, metric] > of[dataset, "DWMIL", metric] else "-"


# ---------------------------------------------------------------------------------------- statements


def _tolerances(of: _Figures) -> list[Statement]:
    said = []
    for dataset, published in _PUBLISHED.items():
        if of.get((dataset, "DWMIL", "authors_stream")):
            ours = [of[dataset, "DWMIL", metric] for metric in ("gmean", "auc")]
            said.append(
                Statement(
                    f"{dataset}: DWMIL's G-mean and AUC within {_TOLERANCE[dataset]} of the published",
                    max(abs(o - p) for o, p in zip(ours, published, strict=True)) <= _TOLERANCE[dataset],
                    ", ".join(
                        f"{name} {o:.4f}, published {p:.4f}: {o - p:+.4f}"
                        for name, o, p in zip(("G-mean", "AUC"), ours, published, strict=True)
                    ),
                )
            )
    return said


def _findings(of: _Figures) -> list[Statement]:
    """What the paper says in sections 4.3 and 4.4; its "comparable", "close" and "around" in numbers of ours."""
    said: list[Statement] = []

    def check(text: str, judge: Callable[[], tuple[bool, str]]) -> None:
        try:
            holds, figures = judge()
        except KeyError:  # something that it speaks of was not run
            said.append(Statement(text, None))
        else:
            said.append(Statement(text, holds, figures))

    def figures(metric: str, dataset: str, *methods: str) -> str:
        digits = 1 if metric.startswith(("back", "half")) else 4
        return ", ".join(f"{method} {of[dataset, method, metric]:.{digits}f}" for method in methods)

    def significantly_best(metric: str) -> tuple[list[str], str]:
        wins, how = [], []
        for dataset in _PUBLISHED:
            first, second = _ranked(of, dataset, metric)[:2] if _of_all(of, dataset, metric) else ("", "")
            p = of[dataset, second, f"{metric}_p_best"]
            if first == "DWMIL" and p < 0.05:
                wins.append(dataset)
            how.append(f"{dataset}: {first} before {second}, p = {p:.2g}")
        return wins, "; ".join(how)

    def best_g_mean() -> tuple[bool, str]:
        wins, how = significantly_best("gmean")
        return len(wins) >= 4, how

    def best_auc() -> tuple[bool, str]:
        wins, how = significantly_best("auc")
        return len(wins) >= 3, how

    def ties_auc() -> tuple[bool, str]:
        wins, _ = significantly_best("auc")
        others = [dataset for dataset in _PUBLISHED if dataset not in wins]
        p = {dataset: of[dataset, "LPN", "auc_p_dwmil"] for dataset in others}
        how = [f"{dataset}: {figures('auc', dataset, 'DWMIL', 'LPN')}, p = {p[dataset]:.2g}" for dataset in others]
        return all(value >= 0.05 for value in p.values()), "; ".join(how)

    check("DWMIL has the best G-mean, significantly, on four streams or more", best_g_mean)
    check("DWMIL has the best AUC, significantly, on three streams or more", best_auc)
    check("on the other streams, DWMIL's AUC and LPN's do not differ significantly", ties_auc)

    def simple(text: str, metric: str, dataset: str, methods: Sequence[str], holds: Callable[..., bool]) -> None:
        check(
            text,
            lambda: (
                holds(*(of[dataset, method, metric] for method in methods)),
                figures(metric, dataset, *methods),
            ),
        )

    three = ("DWMIL", "LPN", "REA")
    simple(
        "gaussian: CBCE names no row the minority, a G-mean of 0 (below 0.05)", "gmean", "gaussian", ("CBCE",),
        lambda cbce: cbce < 0.05,
    )  # fmt: skip
    simple(
        "gaussian: REA's G-mean falls to 0 (its last ten chunks below 0.05)", "gmean_end", "gaussian", ("REA",),
        lambda rea: rea < 0.05,
    )  # fmt: skip
    simple(
        "gaussian: DWMIL's G-mean and DWM's are comparable (within 0.03), and both better than LPN's", "gmean",
        "gaussian", ("DWMIL", "DWM+UOB", "LPN"), lambda a, b, lpn: abs(a - b) <= 0.03 and min(a, b) > lpn,
    )  # fmt: skip
    simple("gaussian: DWMIL has the best AUC", "auc", "gaussian", MAIN, lambda a, *others: a > max(others))
    simple(
        "sea, first drift: DWMIL recovers at once (95 % of its G-mean after three chunks or fewer)", "back_1", "sea",
        ("DWMIL",), lambda a: a <= 3,
    )  # fmt: skip
    simple("sea, first drift: DWMIL is the first to recover", "back_1", "sea", MAIN, lambda a, *others: a < min(others))
    simple(
        "sea, first drift: DWM recovers in around 15 chunks (10 to 20)", "back_1", "sea", ("DWM+UOB",),
        lambda dwm: 10 <= dwm <= 20,
    )  # fmt: skip
    simple(
        "sea, first drift: LPN stays in the valley for around 7 chunks (half its G-mean back after 5 to 9)",
        "half_back_1", "sea", ("LPN",), lambda lpn: 5 <= lpn <= 9,
    )  # fmt: skip
    simple(
        "sea: the AUC of DWMIL and LPN is comparable (within 0.02)", "auc", "sea", ("DWMIL", "LPN"),
        lambda a, b: abs(a - b) <= 0.02,
    )  # fmt: skip
    simple(
        "sea: the second drift leaves REA's AUC alone (mean of ten chunks before, less that of ten after, below 0.01)",
        "auc_loss_2", "sea", ("REA",), lambda rea: rea < 0.01,
    )  # fmt: skip
    simple(
        "hyperP: DWMIL's G-mean is slightly better than DWM's", "gmean", "hyperP", ("DWMIL", "DWM+UOB"),
        lambda a, b: a > b,
    )  # fmt: skip
    simple(
        "hyperP: DWMIL's AUC is close to LPN's (within 0.03), and both are better than the others'", "auc", "hyperP",
        MAIN, lambda a, lpn, *others: abs(a - lpn) <= 0.03 and min(a, lpn) > max(others),
    )  # fmt: skip
    simple(
        "checkerboard: the G-mean of DWMIL, LPN and REA is similar (within 0.1)", "gmean", "checkerboard", three,
        lambda *three: max(three) - min(three) <= 0.1,
    )  # fmt: skip
    simple(
        "checkerboard: DWMIL's AUC is the steadiest (mean step from chunk to chunk)", "auc_step", "checkerboard", three,
        lambda a, *others: a < min(others),
    )  # fmt: skip
    for dataset in ("electricity", "weather"):
        simple(
            f"{dataset}: DWMIL's G-mean is better than LPN's and REA's", "gmean", dataset, three,
            lambda a, *others: a > max(others),
        )  # fmt: skip
        simple(
            f"{dataset}: the AUC of DWMIL, LPN and REA is comparable (within 0.03)", "auc", dataset, three,
            lambda *three: max(three) - min(three) <= 0.03,
        )  # fmt: skip

    def seconds(*datasets: str) -> dict[str, dict[str, float]]:
        return {dataset: {method: of[dataset, method, "seconds"] for method in MAIN} for dataset in datasets}

    def fastest(method: str, *datasets: str) -> tuple[bool, str]:
        times = seconds(*datasets)
        first = {dataset: min(took, key=lambda name: took[name]) for dataset, took in times.items()}
        how = [f"{dataset}: {name} {times[dataset][name]:.2f} s" for dataset, name in first.items()]
        return all(name == method for name in first.values()), ", ".join(how)

    def ratio(first: str, second: str, low: float, high: float, *datasets: str) -> tuple[bool, str]:
        times = seconds(*datasets)
        ratios = {dataset: took[first] / took[second] for dataset, took in times.items()}
        mean = statistics.geometric_mean(ratios.values())
        return low <= mean <= high, ", ".join(f"{dataset} {value:.1f}" for dataset, value in ratios.items())

    def slowest() -> tuple[bool, str]:
        times = seconds(*_PUBLISHED)
        order = {dataset: sorted(took, key=lambda name: took[name]) for dataset, took in times.items()}
        holds = all(names[3:] == ["CBCE", "DWM+UOB"] for names in order.values())
        return holds, "; ".join(f"{dataset}: {', '.join(names[3:])}" for dataset, names in order.items())

    check(
        "DWMIL takes the least time on gaussian, sea, hyperP and checkerboard",
        lambda: fastest("DWMIL", "gaussian", "sea", "hyperP", "checkerboard"),
    )
    check("REA takes the least time on electricity and weather", lambda: fastest("REA", "electricity", "weather"))
    check(
        "REA takes about five times as long as DWMIL on checkerboard (3 to 8)",
        lambda: ratio("REA", "DWMIL", 3, 8, "checkerboard"),
    )
    check(
        "LPN takes about twice as long as DWMIL (1.5 to 3, geometric mean over the streams)",
        lambda: ratio("LPN", "DWMIL", 1.5, 3, *_PUBLISHED),
    )
    check("CBCE and DWM are the slowest, DWM slower than CBCE, on every stream", slowest)
    return said


def _of_all(of: _Figures, dataset: str, metric: str) -> bool:
    """Whether all of the paper's methods were run on a stream."""
    return len(_ranked(of, dataset, metric)) == len(MAIN)


# ---------------------------------------------------------------------------------------- plots


def _draw(done: Mapping[Unit, Found], what: str, label: str, path: Path) -> Path:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from anabranch._colours import COLOURS

    curves: dict[str, dict[str, list[Any]]] = {}
    for unit, found in done.items():
        curves.setdefault(unit.dataset, {}).setdefault(unit.method, []).append(found[what])
    sets = [name for name in DWMIL.datasets if name in curves]
    methods = [name for name in DWMIL.methods if any(name in of for of in curves.values())]
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(methods)}
    across = min(3, len(sets))
    down = -(-len(sets) // across)
    figure = Figure(figsize=(4.0 * across + 0.5, 2.6 * down + 0.8), dpi=120, layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel, name in zip(panels, sets, strict=False):
        for method in reversed([m for m in methods if m in curves[name]]):  # the first on top
            mean = np.mean(np.array(curves[name][method], dtype=float), axis=0)
            panel.plot(np.arange(1, len(mean) + 1), mean, color=colours[method], lw=1.2)
        panel.set_title(name, fontsize="medium")
        if what == "experts":
            panel.set_yscale("log")
    for panel in panels[len(sets) :]:
        panel.set_visible(False)
    handles = [Line2D([], [], color=colours[name], label=name) for name in methods]
    figure.legend(handles=handles, loc="outside upper center", ncols=min(6, len(handles)))
    figure.supxlabel("chunk")
    figure.supylabel(label)
    figure.savefig(path)
    return path
