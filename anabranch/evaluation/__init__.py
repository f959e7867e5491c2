"""How well a learner does on a stream: runs, their figures and their curves."""

from __future__ import annotations

from anabranch.evaluation.prequential import prequential
from anabranch.evaluation.run import Run

__all__ = ["Run", "prequential"]
