"""Where rows come from: arrays, data frames, files and generators; and to files."""

from __future__ import annotations

from anabranch.stream.agrawal import Agrawal
from anabranch.stream.array import ArrayStream
from anabranch.stream.base import Stream
from anabranch.stream.drift import DriftStream
from anabranch.stream.evolving_features import EvolvingFeatures
from anabranch.stream.file import FileStream
from anabranch.stream.frame import FrameStream
from anabranch.stream.generator import Generator
from anabranch.stream.hyperplane import Hyperplane
from anabranch.stream.imbalance import Imbalance
from anabranch.stream.led import LED
from anabranch.stream.moving_gaussian import MovingGaussian
from anabranch.stream.random_rbf import RandomRBF
from anabranch.stream.random_tree import RandomTree
from anabranch.stream.rotating_checkerboard import RotatingCheckerboard
from anabranch.stream.sea import SEA
from anabranch.stream.stagger import STAGGER
from anabranch.stream.waveform import Waveform
from anabranch.stream.writer import write

GENERATORS: dict[str, type[Generator]] = {
    cls.__name__: cls
    for cls in (
        Agrawal,
        Hyperplane,
        LED,
        MovingGaussian,
        RandomRBF,
        RandomTree,
        RotatingCheckerboard,
        SEA,
        STAGGER,
        Waveform,
    )
}
"""The generators by name, for those who take the name from a user."""

__all__ = [
    "GENERATORS",
    "LED",
    "SEA",
    "STAGGER",
    "Agrawal",
    "ArrayStream",
    "DriftStream",
    "EvolvingFeatures",
    "FileStream",
    "FrameStream",
    "Generator",
    "Hyperplane",
    "Imbalance",
    "MovingGaussian",
    "RandomRBF",
    "RandomTree",
    "RotatingCheckerboard",
    "Stream",
    "Waveform",
    "write",
]
