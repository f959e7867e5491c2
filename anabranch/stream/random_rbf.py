"""Random radial basis functions."""

from __future__ import annotations

import numpy as np

from anabranch.stream.base import number_between, whole_number
from anabranch.stream.generator import Block, Generator, empty_block, uniforms


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
    drift_speed : float
        How far a centre moves from row to row, as in MOA's ``RandomRBFGeneratorDrift``: each in a direction of
        its own, none of whose parts is negative at first; at the border of [0, 1] a part turns round. The usual
        settings are 0.001 and 0.0001.
    n_drift_centroids : int, optional
        How many of the centres move; all, if left out.
    model_seed : int, optional
        Seed of the centroids; `seed`, if left out.
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
        drift_speed: float = 0.0,
        n_drift_centroids: int | None = None,
        model_seed: int | None = None,
        seed: int = 1,
        n_rows: int | None = None,
    ) -> None:
        self.n_centroids = whole_number("n_centroids", n_centroids, 1)
        self.n_features = whole_number("n_features", n_features, 1)
        self.n_classes = whole_number("n_classes", n_classes, 2)
        self.drift_speed = number_between("drift_speed", drift_speed, 0, np.inf)
        self.n_drift_centroids = (
            None if n_drift_centroids is None else whole_number("n_drift_centroids", n_drift_centroids, 0)
        )
        if (self.n_drift_centroids or 0) > self.n_centroids:
            raise ValueError(
                f"n_drift_centroids must be at most n_centroids ({self.n_centroids}), got {n_drift_centroids!r}"
            )
        self.model_seed = None if model_seed is None else whole_number("model_seed", model_seed, 0)
        super().__init__(seed, n_rows)
        self.classes = np.arange(self.n_classes)
        rng = self._model_rng()
        self.centres = rng.random((self.n_centroids, self.n_features))
        self.centroid_classes = rng.integers(self.n_classes, size=self.n_centroids)
        self.standard_deviations = rng.random(self.n_centroids)
        self.weights = rng.random(self.n_centroids)
        self._bounds = np.cumsum(self.weights)
        # One too early does no harm, as picking goes on from there; one too late, by rounding, would.
        n_parts = 8 * self.n_centroids  # so many that most lead straight to the centroid
        parts = np.arange(n_parts) / n_parts * self._bounds[-1]
        self._guide = np.maximum(np.searchsorted(self._bounds, parts, side="right") - 1, 0)
        if self.drift_speed > 0.0:
            self._set_in_motion(rng)

    def _set_in_motion(self, rng: np.random.Generator) -> None:
        """Draw where the centres go, and reckon when they turn round.

        Step by step, a part of a centre that would leave [0, 1] is set to the border and turns round.
        """
        steps = rng.random(self.centres.shape)
        squares = np.zeros(self.n_centroids)
        for column in steps.T:
            squares += column * column
        steps *= self.drift_speed / np.sqrt(squares)[:, None]
        steps[self.n_centroids if self.n_drift_centroids is None else self.n_drift_centroids :] = 0.0
        with np.errstate(divide="ignore"):  # what stands still never turns
            self._motion = (
                steps,
                np.floor((1.0 - self.centres) / steps) + 1.0,  # the step that reaches the upper border
                np.floor(1.0 / steps) + 1.0,  # steps from one border to the other
            )

    def _block(self, rng: np.random.Generator, start: int, n: int) -> Block:
        from anabranch.kernels import streams as kernels

        X, y = empty_block(n, self.n_features)
        # One row per feature, which is the order in which they have always been drawn.
        drawn = uniforms(rng, (1 + self.n_features) * n).reshape(-1, n)
        picks, directions = drawn[0], drawn[1:]
        lengths = rng.standard_normal(n)
        kernels.random_rbf(
            X,
            y,
            picks,
            directions,
            lengths,
            self._bounds,
            self._guide,
            self.centres,
            self.centroid_classes,
            self.standard_deviations,
        )
        if self.drift_speed > 0.0:
            kernels.centres_moved(X, picks, start, self.centres, *self._motion)
        return X, y
