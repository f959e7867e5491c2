"""Data sets of OpenML, through scikit-learn's ``fetch_openml``, which keeps what it has fetched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anabranch.datasets.fetch import DatasetError, cache_folder
from anabranch.stream.frame import FrameStream

_PREFIX = "openml:"


def is_openml(name: str) -> bool:
    """Whether a name is one of OpenML's.

    >>> is_openml("openml:31"), is_openml("electricity")
    (True, False)
    """
    return name.startswith(_PREFIX)


def load_openml(name: str, progress: Callable[[str], None] | None = None) -> FrameStream:
    """Return a data set of OpenML as a stream, in the order its rows have there.

    Parameters
    ----------
    name : str
        ``openml:`` and the data set's number.
    progress : callable, optional
        Called with a message before scikit-learn looks for the data.

    Raises
    ------
    ValueError
        If what follows ``openml:`` is no number, or the data set has no target of one column.
    DatasetError
        If OpenML cannot be reached or does not have the data set.
    """
    number = name.removeprefix(_PREFIX)
    if not (number.isascii() and number.isdigit() and int(number) > 0):
        raise ValueError(f"{name!r} must be 'openml:' and the number of a data set, as in 'openml:31'")
    from sklearn.datasets import fetch_openml

    folder = cache_folder() / "openml"
    if progress is not None:
        progress(f"fetching {name} unless it is in {folder}")
    try:
        # A data set of one number never changes: version and name need not be asked for.
        bunch: Any = fetch_openml(data_id=int(number), as_frame=True, parser="auto", data_home=folder)
    except ImportError as error:
        raise DatasetError(f"cannot load {name}: {error}") from error
    except Exception as error:  # of the network, of OpenML's, of the file's: scikit-learn lets all of them through
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise DatasetError(
            f"cannot load {name} from OpenML ({reason}): look whether www.openml.org can be reached and has a data "
            f"set of this number, or copy one that was fetched elsewhere into {folder}"
        ) from error
    targets = bunch.target_names or []
    if len(targets) != 1:
        raise ValueError(
            f"{name} has {len(targets) or 'no'} target columns, and a stream needs one: fetch it with "
            "sklearn.datasets.fetch_openml and wrap the frame in FrameStream"
        )
    title = bunch.details.get("name") if isinstance(bunch.details, dict) else None
    return FrameStream(bunch.frame, targets[0], name=f"{title} ({name})" if title else name)
