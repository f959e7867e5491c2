"""What the command ``predict`` does: a saved learner's predictions for the rows of a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from anabranch import checkpoint
from anabranch.base import Classifier, Learner
from anabranch.checkpoint import CheckpointError
from anabranch.stream import FileStream
from anabranch.stream._arrow import arrow
from anabranch.stream.writer import file_format, table_writer

_CHUNK = 1 << 14


def predict(
    model: str | os.PathLike[str],
    data: str | os.PathLike[str],
    out: str | os.PathLike[str],
    format: str | None = None,
    notice: Callable[[str], None] = lambda message: None,
    progress: Callable[[int, int | None], object] | None = None,
) -> int:
    """Write a saved learner's predictions for the rows of a file, in their order and in constant memory.

    Parameters
    ----------
    model : str or path-like
        What ``run --save``, ``run --checkpoint`` or a learner's ``save`` wrote.
    data : str or path-like
        A file as :class:`~anabranch.stream.FileStream` reads it, with or without the target; ``"-"`` for standard
        input.
    out : str or path-like
        File to write, as :func:`~anabranch.stream.write` does; ``"-"`` for CSV on standard output. A classifier gives a
        column ``prediction`` and a column ``probability_...`` for each class, a regressor ``prediction`` alone.
    format : str, optional
        Format of the data, if its suffix does not tell; CSV for standard input.
    notice : callable, optional
        Called with what is worth knowing, such as columns that are not there.
    progress : callable, optional
        Called with the rows so far, and those to come in all (None if not known).

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    ValueError
        If the model or the data are unfit, or do not fit together.
    OSError
        If a file cannot be read or written.
    """
    file_format(out)
    learner, notes = _learner(model)
    names, named = _names(learner, notes)
    if os.fspath(data) == "-" and format is None:
        format = "csv"
    stream = FileStream(data, format=format, unlabelled=True)
    if stream.format == "svmlight":
        rows: Iterator[Any] = (X for X, _ in stream.chunks(_CHUNK))
    else:
        columns = [*(stream.feature_names or []), str(stream.target)]
        names = _matched(learner, names, columns, notes, str(stream.name), notice)
        types = {name: kind for name, kind in _kinds(learner, names, named).items() if name in columns}
        if os.fspath(data) != "-":  # which cannot be looked at twice
            stream = FileStream(data, format=format, unlabelled=True, types=types)
        rows = _rows(stream, names, named)
    kinds = _schema(learner)
    n = 0
    with table_writer(out, kinds, relation="predictions") as put:
        for X in rows:
            try:
                table = _predicted(learner, X, kinds)
            except (ValueError, TypeError) as error:
                raise ValueError(f"{stream.name}, in the rows from {n:,} on: {error}") from error
            put(table)
            n += table.num_rows
            if progress is not None:
                progress(n, stream.n_rows)
    return n


def _learner(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """The learner in a file, and what is noted about it there."""
    found, notes = checkpoint.load(Path(path)), checkpoint.notes(Path(path))
    if isinstance(found, dict) and "state" in found:  # a run's
        found = getattr(found["state"], "learner", None)
    if not isinstance(found, Learner):
        raise CheckpointError(f"{path} holds no learner: take a file that 'run --save' or a learner's save wrote.")
    if found._schema is None:
        raise CheckpointError(f"{path} holds a {type(found).__name__} that has not learned anything yet.")
    return found, notes


def _names(learner: Any, notes: dict[str, Any]) -> tuple[list[str] | None, bool]:
    """The learner's columns in their order, None if nobody knows, and whether it goes by their names itself."""
    if learner._schema.named:
        return [str(name) for name in learner.feature_names_in_], True
    known = notes.get("feature_names")
    if known is not None and len(known) != learner.n_features_in_:
        known = None
    return known, False


def _matched(
    learner: Any,
    names: list[str] | None,
    columns: list[str],
    notes: dict[str, Any],
    data: str,
    notice: Callable[[str], None],
) -> list[str]:
    """The learner's columns by the names in the data."""
    if names is None:
        names = [column for column in columns if column != notes.get("target")]
        if len(names) != learner.n_features_in_:
            raise ValueError(
                f"{data} has {len(names)} columns, the learner has met {learner.n_features_in_} and does not know "
                "their names: give it these columns alone, in that order"
            )
        return names
    absent = [name for name in names if name not in columns]
    if len(absent) == len(names):
        raise ValueError(f"{data} has none of the learner's columns ({_listed(names)}): it has {_listed(columns)}")
    if absent:
        notice(f"{data} does not have {_listed(absent)}: missing in every row")
    return names


def _listed(names: list[str], most: int = 10) -> str:
    return ", ".join(names[:most]) + (f", ... ({len(names):,} in all)" if len(names) > most else "")


def _kinds(learner: Any, names: list[str], named: bool) -> dict[str, str]:
    """What the learner takes each column for, as FileStream calls it."""
    if not named:
        return dict.fromkeys(names, "number")
    schema = learner._schema
    kinds = {}
    for name, known in zip(schema.names, schema.vocabularies, strict=True):
        if known is None:
            kinds[name] = "number"
        elif known.values and isinstance(known.values[0], str):
            kinds[name] = "text"
    return kinds


def _rows(stream: FileStream, names: list[str], named: bool) -> Iterator[Any]:
    """The learner's columns of the data, in chunks: as a table if it goes by names, else as an array."""
    pa = arrow()
    target = str(stream.target)
    for X, y in stream.chunks(_CHUNK):
        columns: dict[str, Any] = {target: y}
        if isinstance(X, np.ndarray):
            columns |= dict(zip(stream.feature_names or [], X.T, strict=True))
        else:
            columns |= dict(zip(X.column_names, X.columns, strict=True))
        if named:
            yield pa.table({name: columns[name] for name in names if name in columns})
            continue
        rows = np.full((len(y), len(names)), np.nan)
        for j, name in enumerate(names):
            if name in columns:
                try:
                    rows[:, j] = columns[name]
                except (TypeError, ValueError) as error:
                    raise ValueError(f"the column {name!r} holds text, and the learner knows numbers there") from error
        yield rows


def _schema(learner: Any) -> Any:
    """Columns of the predictions."""
    pa = arrow()
    if not isinstance(learner, Classifier):
        return pa.schema([("prediction", pa.float64())])
    labels = learner.classes_.tolist()
    kind = pa.string() if any(isinstance(label, str) for label in labels) else pa.array(labels).type
    names = [f"probability_{label}" for label in labels]
    if len(set(names)) < len(names):
        names = [f"probability_{label!r}" for label in labels]
    return pa.schema([("prediction", kind), *((name, pa.float64()) for name in names)])


def _predicted(learner: Any, X: Any, schema: Any) -> Any:
    pa = arrow()
    if not isinstance(learner, Classifier):
        return pa.table([pa.array(learner.predict(X))], schema=schema)
    proba = learner.predict_proba(X)
    labels = learner.classes_.tolist()
    if pa.types.is_string(schema.field("prediction").type):
        labels = [str(label) for label in labels]
    said = pa.array(labels, schema.field("prediction").type).take(pa.array(proba.argmax(axis=1)))
    return pa.table([said, *(pa.array(np.ascontiguousarray(column)) for column in proba.T)], schema=schema)
