"""Where rows come from: arrays, data frames, files and generators."""

from __future__ import annotations

from anabranch.stream.array import ArrayStream
from anabranch.stream.base import Stream
from anabranch.stream.file import FileStream
from anabranch.stream.frame import FrameStream
from anabranch.stream.generator import Generator
from anabranch.stream.random_rbf import RandomRBF
from anabranch.stream.sea import SEA

GENERATORS: dict[str, type[Generator]] = {"RandomRBF": RandomRBF, "SEA": SEA}
"""The generators by name, for those who take the name from a user."""

__all__ = [
    "GENERATORS",
    "SEA",
    "ArrayStream",
    "FileStream",
    "FrameStream",
    "Generator",
    "RandomRBF",
    "Stream",
]
