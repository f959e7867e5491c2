"""Online learning from capricious data streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from anabranch._parameters import Constraint, Number
from anabranch._random import RandomState, seed_sequence
from anabranch.evolving._haphazard import CONSTRAINTS, HaphazardClassifier
from anabranch.kernels import haphazard as kernels
from anabranch.kernels.haphazard import Model
from anabranch.schema import Floats

__all__ = ["OCDSClassifier"]


class OCDSClassifier(HaphazardClassifier):
    """Online learning from capricious data streams (OCDS, in its first version called GLSC).

    A graph over all features ever met, the universal feature space, rebuilds those a row lacks from those it has, so
    that weights learned of the former still count [1]_. For a row x with d_t features, psi(x) = G'x / d_t rebuilds all
    of them, and the score is

        p * (sum of w x over what is there) + (1 - p) * (sum of w psi over what is not).

    Every ``period`` rows p = e^(-eta L_there) / (e^(-eta L_there) + e^(-eta L_rebuilt)), with the logistic losses (to
    the base 2) of both parts since then and eta = 8 sqrt(1 / ln period). Weights and graph then take one gradient step
    of c / sqrt(t) on

        (y - w.psi)^2 + alpha |x - psi on what is there|^2 + beta1 |w|_1 + beta2 / 2 (sum of |g_ij| (w_i - w_j)^2).

    Parameters
    ----------
    learning_rate : float, default=0.1
        c. The published step has c = 1, which on scaled columns does worse on all the sets tried here.
    alpha : float, default=100.0
        How much rebuilding what is there counts beside the loss. The more, the sooner the graph is of use.
    beta1 : float, default=0.0001
        Strength of the L1 penalty.
    beta2 : float, default=0.0001
        Strength of the graph's pull on the weights of related features.
    period : int, default=8
        Rows after which p is set anew, at least 2; the paper's T.
    share : float, default=1.0
        Share gamma of the features known that may have a weight, above 0 and at most 1: at 1, none is cut.
    max_graph : int, optional
        The graph is over the first so many features (with the constant, and with each value of nominal columns): it
        takes ``max_graph`` squared numbers per binary learner, and as many steps per row. Features beyond it take part
        where they are there, and are not rebuilt. None: all features.
    scaling : {"none", "standard", "max_abs"}, default="standard"
        How numeric columns are scaled: not at all, as in the paper; by mean and standard deviation; or by the largest
        size, each of the rows so far that had the column.
    fit_intercept : bool, default=True
        Whether there is a feature that is always 1, from which the graph can rebuild too. The paper has none.
    nominal_features : list of int or str, optional
        Columns whose numbers are categories: positions in arrays, names in data frames. Text is nominal anyway.
    random_state : int, numpy.random.Generator or None, default=None
        Edges of the graph start at random between 0 and 1. Each is determined by the seed and the numbers of its two
        features, so that it does not matter when rows bring them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights; NaN for nominal columns, whose weights are in ``nominal_coef_``.
    observed_share_ : ndarray of shape (1,) or (n_classes,)
        p, the say of what is there.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    nominal_coef_ : dict of dict
        Weights of each value of each nominal column.
    nbytes : int
        Bytes of state: 8 d^2 for d features, per class if there are more than two. 1,000 features take 8 MB.

    Notes
    -----
    Of the graph, edges out of features that are there are learned, all of them; edges of rebuilding lead to features
    that are there, since only those can be compared. (Some published code updates the diagonal alone.)

    What published accounts leave open: no step of the weights, or of the graph, goes further than 1 / (an upper bound
    of the row's curvature), for that of 1 / sqrt(t) diverges on the first rows of more than a few features; and edges
    pull weights together by their size, for with edges below 0 the penalty would have no minimum. With more than two
    classes, each has a learner and a graph of its own, one against the rest.

    References
    ----------
    .. [1] Y. He, B. Wu, D. Wu, E. Beyazit, S. Chen and X. Wu, "Online learning from capricious data streams: a
       generative approach", IJCAI 2019. https://doi.org/10.24963/ijcai.2019/346

    Examples
    --------
    >>> from anabranch.evolving import OCDSClassifier
    >>> learner = OCDSClassifier(random_state=1)
    >>> for i in range(200):  # both columns say the same; a row has the one, the other, or both
    ...     sign = 1.0 if i % 2 else -1.0
    ...     row = {"a": sign, "b": sign}
    ...     _ = row.pop({0: "a", 1: "b"}.get(i // 2 % 3), None)
    ...     learner.learn_one(row, "odd" if i % 2 else "even")
    >>> learner.predict_one({"a": 1.0}), learner.predict_one({"b": -1.0})
    ('odd', 'even')
    """

    _method = kernels.OCDS
    _fixed = ("scaling", "fit_intercept", "max_graph", "random_state")

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "learning_rate": Number(0, 1e30, open_low=True),
        "alpha": Number(0, 1e6),
        "beta1": Number(0, 1e6),
        "beta2": Number(0, 1e6),
        "period": Number(2, 1e9, integer=True),
        "share": Number(0, 1, open_low=True),
        "max_graph": Number(1, integer=True, optional=True),
        "random_state": RandomState(),
        **CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        learning_rate: float = 0.1,
        alpha: float = 100.0,
        beta1: float = 0.0001,
        beta2: float = 0.0001,
        period: int = 8,
        share: float = 1.0,
        max_graph: int | None = None,
        scaling: str = "standard",
        fit_intercept: bool = True,
        nominal_features: Sequence[int | str] | None = None,
        random_state: Any = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.alpha = alpha
        self.beta1 = beta1
        self.beta2 = beta2
        self.period = period
        self.share = share
        self.max_graph = max_graph
        self.scaling = scaling
        self.fit_intercept = fit_intercept
        self.nominal_features = nominal_features
        self.random_state = random_state

    def _begin(self) -> None:
        self._seed = int(seed_sequence(self.random_state).generate_state(1, np.uint64)[0] >> 1)
        super()._begin()

    def _set_options(self, options: Floats) -> None:
        options[kernels.RATE] = self.learning_rate
        options[kernels.ALPHA] = self.alpha
        options[kernels.BETA_1] = self.beta1
        options[kernels.BETA_2] = self.beta2
        options[kernels.PERIOD] = self.period
        options[kernels.SHARE] = self.share

    def _shapes(self, k: int, d: int) -> Mapping[str, tuple[int, ...]]:
        g = d if self.max_graph is None else min(d, self.max_graph)
        return {"graph": (k, g, g)}

    def _fill(self, model: Model, old: Model) -> None:
        k, g = old.graph.shape[:2]
        edges = _edges(self._seed, model.graph.shape[1])
        model.graph[k:] = edges
        model.graph[:k, g:] = edges[g:]
        model.graph[:k, :g, g:] = edges[:g, g:]
        model.numbers[len(old.numbers) :, kernels.OBSERVED_SHARE] = 0.5

    @property
    def observed_share_(self) -> Floats:
        """The say of what is there, p."""
        self._columns()
        return Model(*self._arrays).numbers[: self._vectors, kernels.OBSERVED_SHARE].copy()


def _edges(seed: int, n: int) -> Floats:
    """Edges among n features before anything is learned: even in [0, 1), by the seed and both ends (splitmix64)."""
    i = np.arange(n, dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (i[:, None] << np.uint64(32) | i) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        z = z ^ z >> np.uint64(31)
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53
