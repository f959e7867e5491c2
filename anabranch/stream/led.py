"""The LED display."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anabranch.stream.base import number_between, whole_number
from anabranch.stream.generator import Block, KernelGenerator, empty_block

# The digits 0 to 9: upper bar, upper left, upper right, middle bar, lower left, lower right, lower bar.
_DIGITS = np.array(
    [
        [int(lit) for lit in digit]
        for digit in (
            "1110111",
            "0010010",
            "1011101",
            "1011011",
            "0111010",
            "1101011",
            "1101111",
            "1010010",
            "1111111",
            "1111011",
        )
    ],
    dtype=np.bool_,
)
_IRRELEVANT = 17


class LED(KernelGenerator):
    """Digits on a display of seven segments, some of them wrong.

    The digit is drawn uniformly; each of its seven segments is inverted with probability `noise`, and 17 fair
    bits that mean nothing follow. All features are nominal, with the codes 0 and 1. With 10 % noise the best
    possible accuracy is 74 %.

    Parameters
    ----------
    noise : float
        Probability that a segment is inverted, from 0 to 1.
    irrelevant : bool
        Whether the 17 irrelevant features are there.
    n_drift_features : int
        Number of segments, 0 to 7, that have changed places with irrelevant features: segment i with irrelevant
        feature i, as in MOA's ``LEDGeneratorDrift``. To make a drift of it, join streams that differ in this
        number with `DriftStream`.
    seed : int
        Seed of the rows.
    n_rows : int, optional
        Number of rows; endless if left out.

    Raises
    ------
    ValueError
        If a parameter is out of its range, or segments are to change places with features that are not there.

    References
    ----------
    .. [1] L. Breiman, J. H. Friedman, R. A. Olshen, C. J. Stone, "Classification and Regression Trees", 1984,
       section 2.6.1.
    .. [2] R. Kirkby, "Improving Hoeffding Trees", PhD thesis, University of Waikato, 2007, section 3.4.

    Examples
    --------
    >>> X, y = LED(noise=0, irrelevant=False).take(1000)
    >>> X[y == 7][0].tolist()
    [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]
    """

    def __init__(
        self,
        noise: float = 0.1,
        irrelevant: bool = True,
        n_drift_features: int = 0,
        seed: int = 1,
        n_rows: int | None = None,
    ) -> None:
        self.noise = number_between("noise", noise, 0, 1)
        self.irrelevant = bool(irrelevant)
        self.n_drift_features = whole_number("n_drift_features", n_drift_features, 0)
        if self.n_drift_features > (7 if self.irrelevant else 0):
            raise ValueError(
                f"n_drift_features must be from 0 to 7, and 0 without irrelevant features, got {n_drift_features!r}"
            )
        self.n_features = 7 + _IRRELEVANT * self.irrelevant
        super().__init__(seed, n_rows)
        self.nominal_features = list(range(self.n_features))
        self.classes = np.arange(10)

    def _block(self, rng: npt.NDArray[np.uint64], start: int, n: int) -> Block:
        from anabranch.kernels import streams as kernels

        X, y = empty_block(n, self.n_features)
        kernels.led(rng, X, y, _DIGITS, self.noise, self.n_drift_features)
        return X, y
