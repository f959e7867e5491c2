"""Turns files as they were published into CSV with a header, value by value: the same bytes on every machine."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence

from anabranch.datasets.registry import Dataset

Row = Sequence[str]


def prepared(dataset: Dataset, contents: Sequence[bytes]) -> bytes:
    """Return the CSV that a data set's files amount to.

    Parameters
    ----------
    dataset : Dataset
        With the name of a function of this module in ``preparation``.
    contents : sequence of bytes
        Of the files, in the order of ``members``.
    """
    rows = _PREPARATIONS[dataset.preparation](dataset, contents)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*dataset.feature_names, dataset.target])
    writer.writerows(rows)
    return text.getvalue().encode()


def gzipped(dataset: Dataset, contents: Sequence[bytes]) -> Iterator[Row]:
    """A compressed CSV file, its target last."""
    rows = csv.reader(io.StringIO(gzip.decompress(contents[0]).decode()))
    next(rows)
    yield from rows


def without_header(dataset: Dataset, contents: Sequence[bytes]) -> Iterator[Row]:
    """Lines of values between commas or blanks, the target last."""
    for line in contents[0].decode().splitlines():
        values = [value.strip() for value in line.split(",")] if "," in line else line.split()
        if values:
            yield values


def svmguide(dataset: Dataset, contents: Sequence[bytes]) -> Iterator[Row]:
    """Training rows, then test rows: CSV files with a header of numbers, the label first."""
    for content in contents:
        for label, *values in list(csv.reader(io.StringIO(content.decode())))[1:]:
            yield [*values, str(int(label))]


def census(dataset: Dataset, contents: Sequence[bytes]) -> Iterator[Row]:
    """Training rows, then test rows, without the sampling weight, which is no property of a person."""
    weight = 24
    for content in contents:
        for values in csv.reader(io.StringIO(content.decode()), skipinitialspace=True):
            *features, income = [value.strip() for value in values]
            del features[weight]
            yield [*features, "1" if income.startswith("50000+") else "0"]


def flights(dataset: Dataset, contents: Sequence[bytes]) -> Iterator[Row]:
    """Flights that arrived, by the time they should have left, with what was known then and whether they were late."""
    with zipfile.ZipFile(io.BytesIO(contents[0])) as archive:
        text = archive.read("flights.csv").decode()
    arrived = [row for row in csv.DictReader(io.StringIO(text)) if row["arr_delay"] != "NA"]
    arrived.sort(key=lambda row: (int(row["month"]), int(row["day"]), int(row["sched_dep_time"])))
    for row in arrived:
        day = datetime.date(int(row["year"]), int(row["month"]), int(row["day"]))
        yield [
            row["month"],
            row["day"],
            str(day.weekday()),
            _minutes(row["sched_dep_time"]),
            _minutes(row["sched_arr_time"]),
            row["carrier"],
            row["flight"],
            row["tailnum"],
            row["origin"],
            row["dest"],
            row["distance"],
            "1" if int(row["arr_delay"]) > 15 else "0",
        ]


def _minutes(time: str) -> str:
    """Minutes after midnight of a time such as 517, which is 5:17.

    >>> _minutes("517")
    '317'
    """
    return str(int(time) // 100 * 60 + int(time) % 100)


_PREPARATIONS: dict[str, Callable[[Dataset, Sequence[bytes]], Iterable[Row]]] = {
    function.__name__: function for function in (gzipped, without_header, svmguide, census, flights)
}
