"""Waveforms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anabranch.stream.generator import Block, KernelGenerator, empty_block

_POINTS = 21
# Triangles of height 6 that peak at these points, and which two of them each class mixes.
_TRIANGLES = np.array([[max(0, 6 - abs(i - peak)) for i in range(_POINTS)] for peak in (6, 14, 10)], dtype=np.float64)
_MIXED = np.array([(0, 1), (0, 2), (1, 2)])


class Waveform(KernelGenerator):
    """Three classes of waves, each a random mixture of two of three triangles, with noise.

    Of the triangles h1, h2, h3, with peaks at points 6, 14 and 10, class 0 mixes h1 and h2, class 1 h1 and h3, class
    2 h2 and h3: point i is ``u h_a[i] + (1 - u) h_b[i]`` with one u ~ U(0, 1) per row, plus N(0, 1). The best possible
    accuracy is about 86 %.

    Parameters
    ----------
    n_features : {21, 40}
        21 points of the wave, or 19 features ~ N(0, 1) that mean nothing in addition.
    seed : int
        Seed of the rows.
    n_rows : int, optional
        Number of rows; endless if left out.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    References
    ----------
    .. [1] L. Breiman, J. H. Friedman, R. A. Olshen, C. J. Stone, "Classification and Regression Trees", 1984,
       section 2.6.2.
    .. [2] R. Kirkby, "Improving Hoeffding Trees", PhD thesis, University of Waikato, 2007, section 3.4.

    Examples
    --------
    >>> X, y = Waveform(n_features=40).take(3)
    >>> X.shape, Waveform().classes.tolist()
    ((3, 40), [0, 1, 2])
    """

    def __init__(self, n_features: int = 21, seed: int = 1, n_rows: int | None = None) -> None:
        if n_features not in (21, 40):
            raise ValueError(f"n_features must be 21 or 40, got {n_features!r}")
        self.n_features = int(n_features)
        super().__init__(seed, n_rows)
        self.classes = np.arange(3)

    def _block(self, rng: npt.NDArray[np.uint64], start: int, n: int) -> Block:
        from anabranch.kernels import streams as kernels

        X, y = empty_block(n, self.n_features)
        kernels.waveform(rng, X, y, _TRIANGLES, _MIXED)
        return X, y
