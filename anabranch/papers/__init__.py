"""The published experiments, one file per source; ``anabranch reproduce`` runs them.

A paper's file has a class derived from :class:`~anabranch.papers._reproduction.Reproduction` and an object of it
called ``reproduction``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.papers._reproduction import Reproduction

__all__ = ["PAPERS", "load"]

PAPERS = {
    "dwmil": "imbalanced streams under concept drift (IJCAI, 2017)",
    "fesl": "streams whose columns vanish and appear (NIPS, 2017)",
    "kirkby": "option trees, bagging and boosting in bounded memory (thesis, 2007)",
    "kirkby-batch": "option trees and alternating trees of the batch setting, beside scikit-learn's (no figures)",
}
"""What can be reproduced, by name: a line on each."""


def load(name: str) -> Reproduction:
    """Find a paper's experiment.

    Raises
    ------
    ValueError
        If there is none of that name.

    Examples
    --------
    >>> load("kirkby").datasets[:3]
    ('rts', 'rtsn', 'rtc')
    """
    if name not in PAPERS:
        from anabranch._expression import suggestion

        raise ValueError(f"there is no paper {name!r}.{suggestion(name, PAPERS)} There are: {', '.join(PAPERS)}")
    found: Reproduction = importlib.import_module(f"anabranch.papers.{name.replace('-', '_')}").reproduction
    return found
