"""Dynamic weighted majority for imbalanced streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from anabranch._parameters import Constraint, Number, OneOf
from anabranch.base import Part
from anabranch.ensemble._base import each
from anabranch.ensemble._batch import Models
from anabranch.ensemble._chunks import AskedOnceClassifier
from anabranch.imbalance._errors import ErrorFunction, error_of
from anabranch.imbalance.under_bagging import UnderSampler
from anabranch.schema import Codes, Floats

__all__ = ["DWMILClassifier"]


class Expert(Part):
    """What one chunk has taught about a class: the paper's H_j.

    Attributes
    ----------
    models : Models
        Fitted by UnderBagging to codes 0 and 1.
    positive : int
        Which of them stands for the class: 1, or 0 where the models were fitted to its opposite.
    weight : float
        The paper's w_j.
    """

    def __init__(self, models: Models, positive: int = 1, weight: float = 1.0) -> None:
        self.models, self.positive, self.weight = models, positive, weight

    def say(self, X: Floats, hard: bool) -> Floats:
        """H_j(x): 1 for the class, -1 against it, 0 for a draw; unless ``hard``, anything between."""
        votes = self.models.votes(X, hard)
        score = votes[:, self.positive] - votes[:, 1 - self.positive]
        return np.sign(score) if hard else score / len(self.models)


class DWMILClassifier(AskedOnceClassifier):
    """Dynamic weighted majority for imbalance learning (DWMIL).

    Every chunk makes an expert, by UnderBagging: members are fitted to k rows of either class, drawn with replacement,
    where k is the number of rows of the class that is smaller in that chunk. An expert enters with weight 1, and with
    each later chunk its weight is multiplied by 1 - error, its error on that chunk. What falls below ``theta`` is
    removed. So experts of a concept like today's count most, those of another are soon gone, and a minority that
    becomes the majority needs no special care [1]_.

    Two classes are learned as published; more than two one against the rest, with experts and weights per class. There
    the smaller side of a chunk, usually the class itself, decides how many rows are drawn, and a class is predicted
    whose experts, by weight, are most in favour of it. A chunk in which a class has no row, or every row, teaches its
    experts nothing and leaves their weights alone: its error would be that of all of them. A last short chunk
    (:meth:`flush`) is treated like any other. The experts can only be none before the first chunk with two classes,
    since the newest is never weighed down; until then all classes are equally probable.

    Parameters
    ----------
    estimator : classifier, optional
        What UnderBagging fits: any classifier with ``fit``. By default CART:
        ``DecisionTreeClassifier(min_samples_split=10)``.
    n_estimators : int, default=11
        Number T of an expert's members; odd, so that there is no draw.
    chunk_size : int, default=500
        Rows learned at a time. Rows wait until there are as many; see :meth:`flush`.
    theta : float, default=0.001
        Experts of a smaller weight are removed.
    error : {"gmean", "f1", "recall"} or callable, default="gmean"
        Error of an expert on a chunk: 1 minus the geometric mean of the two classes' recalls, minus the F1 measure of
        the class (of two, the one that is smaller in the chunk), or minus the mean of the recalls. Or a function of
        the class of each row, what the expert says (both 1 or -1; 0 is a draw, and wrong) and the rows' weights, which
        returns an error from 0 to 1.
    voting : {"hard", "soft"}, default="hard"
        Members and experts each say 1 or -1, as published, or the difference of the probabilities.
    n_jobs : int or None, default=None
        Threads that members are fitted on and experts vote on; -1 is one per processor. The results are the same.
    random_state : int, Generator, RandomState or None, default=None
        Where the members' random generators come from.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_experts_ : int
        Number of experts alive; of more than two classes, all together.
    nbytes : int
        Bytes of state.

    References
    ----------
    .. [1] Y. Lu, Y.-m. Cheung and Y. Y. Tang, "Dynamic weighted majority for incremental learning of imbalanced data
       streams with concept drift", IJCAI 2017: Algorithm 1.

    Examples
    --------
    >>> from anabranch.evaluation import prequential
    >>> from anabranch.imbalance import DWMILClassifier
    >>> from anabranch.stream import MovingGaussian
    >>> learner = DWMILClassifier(chunk_size=1000, random_state=1)
    >>> run = prequential(learner, MovingGaussian(seed=1, n_rows=10_000), metrics=["gmean"])
    >>> run.metrics["gmean"] > 0.6
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **AskedOnceClassifier._constraints,
        "theta": Number(0, 1),
        "error": ErrorFunction(),
        "voting": OneOf(("hard", "soft")),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 11,
        chunk_size: int = 500,
        theta: float = 0.001,
        error: str | Callable[[Codes, Floats, Floats], float] = "gmean",
        voting: str = "hard",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.chunk_size = chunk_size
        self.theta = theta
        self.error = error
        self.voting = voting
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def n_experts_(self) -> int:
        """Number of experts alive."""
        return sum(len(experts) for experts in self._experts.values())

    # ------------------------------------------------------------------------------------ Algorithm 1

    def _begin(self) -> None:
        super()._begin()
        self._met: list[int] = []  # codes of classes that have been in a chunk
        self._experts: dict[int, list[Expert]] = {}  # by class; of two classes only the later one has any

    def _learn_said(self, X: Floats, y: Codes, w: Floats, said: dict[int, list[Floats]]) -> None:
        """Algorithm 1, with what the experts say of the rows."""
        self._meet(y)
        for code, old in self._experts.items():
            positive = y == code
            if positive.all() or not positive.any():
                continue
            # Of two classes, the smaller one is the positive.
            sign = -1 if len(self._met) == 2 and 2 * int(positive.sum()) > len(y) else 1
            truth = np.where(positive, sign, -sign)
            errors = [error_of(self.error, truth, np.sign(sign * says), w) for says in said.get(code, ())]
            for expert, error in zip(old, errors, strict=False):  # 4-7; those of a class just met have said nothing
                expert.weight *= 1.0 - error
            kept = [expert for expert in old if expert.weight >= self.theta]  # 8
            self._experts[code] = [*kept, Expert(self._under_bagging(X, positive.astype(np.int64), w))]  # 9

    def _under_bagging(self, X: Floats, target: Codes, w: Floats) -> Models:
        """Algorithm 2."""
        sampler = UnderSampler(target, w)

        def sample(m: int, rng: np.random.Generator) -> tuple[Floats, Codes, None]:
            rows = sampler.draw(rng)
            return X[rows], target[rows], None

        return self._fit_each(self.n_estimators, sample)

    def _meet(self, y: Codes) -> None:
        """Take note of the classes of a chunk, and have experts for the second one, or for each of more than two."""
        before = self._met
        self._met = sorted({*before, *np.unique(y).tolist()})
        if len(self._met) == 2:
            self._experts = self._experts or {self._met[1]: []}
        elif len(self._met) > 2:
            known = dict(self._experts)
            if len(before) == 2:  # what spoke for the second class, or against it, did so against or for the first
                known[before[0]] = [Expert(e.models, 1 - e.positive, e.weight) for e in known[before[1]]]
            self._experts = {code: known.get(code, []) for code in self._met}

    def _say(self, X: Floats) -> dict[int, list[Floats]]:
        """What each expert says of rows, by class."""
        experts = [expert for group in self._experts.values() for expert in group]
        said = each(self.n_jobs, lambda expert: expert.say(X, self.voting == "hard"), experts, len(X))
        parts = iter(said)
        return {c: [next(parts) for _ in group] for c, group in self._experts.items() if group}

    def _weighted(self, said: dict[int, list[Floats]], n: int) -> Floats:
        """Votes of the experts: for each class, by weight, the share that is in favour of it."""
        votes = np.zeros((n, self._n_classes))
        for code, says in said.items():
            score, total = np.zeros(n), 0.0
            # No matrix product: its sums differ by shape.
            for expert, one in zip(self._experts[code], says, strict=True):
                score += expert.weight * one
                total += expert.weight
            votes[:, code] = (1.0 + score / total) / 2.0
        if len(self._met) == 2 and said:
            votes[:, self._met[0]] = 1.0 - votes[:, self._met[1]]
        return votes
