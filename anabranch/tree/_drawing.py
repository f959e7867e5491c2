"""Trees as text, as Graphviz source, and as a plot."""

from __future__ import annotations


class TreeDrawing:
    pass
