"""UnderBagging."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch._parameters import Constraint, OneOf
from anabranch.ensemble._chunks import LatestModelsClassifier
from anabranch.schema import Codes, Floats

__all__ = ["UnderBaggingClassifier"]


class UnderSampler:
    """Draws samples of a chunk in which all classes are as many: as many rows of each as the rarest one has."""

    def __init__(self, y: Codes, w: Floats) -> None:
        self.groups = [np.flatnonzero(y == code) for code in np.unique(y)]
        self.size = min(len(group) for group in self.groups)
        self.shares = None if (w == w[0]).all() else [np.cumsum(w[group]) for group in self.groups]

    def __len__(self) -> int:
        """Rows per class."""
        return self.size

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Row numbers of a sample, drawn with replacement, in proportion to the rows' weights."""
        if self.shares is None:
            drawn = [group[rng.integers(len(group), size=self.size)] for group in self.groups]
        else:
            drawn = []
            for group, sums in zip(self.groups, self.shares, strict=True):
                places = np.searchsorted(sums, rng.random(self.size) * sums[-1], side="right")
                drawn.append(group[np.minimum(places, len(group) - 1)])
        return np.concatenate(drawn)


class UnderBaggingClassifier(LatestModelsClassifier):
    """UnderBagging: every member learns as many rows of each class as the rarest one has.

    Members are fitted to samples of the latest chunk: k rows of each class, drawn with replacement, where k is the
    number of rows of the smaller class [1]_. So all members know most of the minority, and each a different part of
    the majority. With more than two classes, k is the size of the smallest class in the chunk. A chunk of one class
    changes nothing.

    Parameters
    ----------
    estimator : classifier, optional
        What is fitted to the samples: any classifier with ``fit``. By default CART:
        ``DecisionTreeClassifier(min_samples_split=10)``.
    n_estimators : int, default=11
        Number T of members; odd, so that two classes cannot have equally many votes.
    chunk_size : int, default=500
        Rows learned at a time. Rows wait until there are as many; see :meth:`flush`.
    voting : {"hard", "soft"}, default="hard"
        Give each member's most probable class one vote, as published, or add up their probabilities.
    n_jobs : int or None, default=None
        Threads that members are fitted on; -1 is one per processor. The results are the same.
    random_state : int, Generator, RandomState or None, default=None
        Where the members' random generators come from.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    nbytes : int
        Bytes of state.

    References
    ----------
    .. [1] Y. Lu, Y.-m. Cheung and Y. Y. Tang, "Dynamic weighted majority for incremental learning of imbalanced data
       streams with concept drift", IJCAI 2017: Algorithm 2.

    Examples
    --------
    >>> from anabranch.imbalance import UnderBaggingClassifier
    >>> from anabranch.stream import MovingGaussian
    >>> X, y = MovingGaussian(seed=1).take(2000)
    >>> learner = UnderBaggingClassifier(chunk_size=1000, random_state=1).partial_fit(X[:1000], y[:1000])
    >>> rare = y[1000:] == 1
    >>> bool((learner.predict(X[1000:])[rare] == 1).mean() > 0.6)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **LatestModelsClassifier._constraints,
        "voting": OneOf(("hard", "soft")),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 11,
        chunk_size: int = 500,
        voting: str = "hard",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.chunk_size = chunk_size
        self.voting = voting
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _learn_block(self, X: Floats, y: Codes, w: Floats) -> None:
        sampler = UnderSampler(y, w)
        if len(sampler.groups) == 1:
            return

        def sample(m: int, rng: np.random.Generator) -> tuple[Floats, Codes, None]:
            rows = sampler.draw(rng)
            return X[rows], y[rows], None

        self._models = self._fit_each(self.n_estimators, sample)
