"""Random radial basis functions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anabranch.stream.base import whole_number
from anabranch.stream.generator import Generator


class RandomRBF(Generator):
    """Clouds of points around random centroids, as in MOA's ``RandomRBFGenerator``.

    Each centroid has a centre ~ U(0, 1)^d, a class drawn uniformly, a standard deviation ~ U(0, 1) and a
    weight ~ U(0, 1). A row picks a centroid in proportion to the weights and lies off its centre in the
    direction of a vector of U(-1, 1), at a distance of N(0, 1) times the standard deviation; its class is
    the centroid's. The rows are those of MOA in distribution, not number by number.

    Parameters
    ----------
    n_centroids : int
        Number of centroids.
    n_features : int
        Number of numeric features, d.
    n_classes : int
        Number of classes; labels are 0 to n_classes - 1. With few centroids some may never occur.
    seed : int
        Seed of the centroids and the rows.
    n_rows : int, optional
        Number of rows; endless if left out.

    Raises
    ------
    ValueError
        If a parameter is not a whole number or too small.

    References
    ----------
    .. [1] R. Kirkby, "Improving Hoeffding Trees", PhD thesis, University of Waikato, 2007, section 3.4.
    .. [2] A. Bifet, G. Holmes, R. Kirkby, B. Pfahringer, "MOA: Massive Online Analysis", JMLR 11, 2010.

    Examples
    --------
    >>> stream = RandomRBF(n_features=3, seed=7)
    >>> X, y = stream.take(1000)
    >>> X.shape, stream.classes.tolist(), stream.name
    ((1000, 3), [0, 1], 'RandomRBF(n_features=3, seed=7)')
    """

    def __init__(
        self,
        n_centroids: int = 50,
        n_features: int = 10,
        n_classes: int = 2,
        seed: int = 1,
        n_rows: int | None = None,
    ) -> None:
        self.n_centroids = whole_number("n_centroids", n_centroids, 1)
        self.n_features = whole_number("n_features", n_features, 1)
        self.n_classes = whole_number("n_classes", n_classes, 2)
        super().__init__(seed, n_rows)
        self.classes = np.arange(self.n_classes)
        rng = self._model_rng()
        self.centres = rng.random((self.n_centroids, self.n_features))
        self.centroid_classes = rng.integers(self.n_classes, size=self.n_centroids)
        self.standard_deviations = rng.random(self.n_centroids)
        self.weights = rng.random(self.n_centroids)

    def _block(self, rng: np.random.Generator, n: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        bounds = np.cumsum(self.weights)
        picked = np.searchsorted(bounds[:-1], rng.random(n) * bounds[-1], side="right")
        # One row per feature: whole columns are worked on at once, and each is contiguous.
        offset = rng.random((self.n_features, n))
        offset *= 2.0
        offset -= 1.0
        squares = np.zeros(n)
        for column in offset:
            squares += column * column
        offset *= rng.standard_normal(n) * self.standard_deviations[picked] / np.sqrt(squares)
        X = self.centres[picked]
        X += offset.T
        return X, self.centroid_classes[picked]
