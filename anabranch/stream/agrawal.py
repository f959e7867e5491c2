"""The ten functions of Agrawal, Imielinski and Swami."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from anabranch.stream.base import number_between, whole_number
from anabranch.stream.generator import Block, KernelGenerator, empty_block


class Agrawal(KernelGenerator):
    """Is a loan granted to a person? Nine features, and ten functions that decide.

    ==========  =========  ==================================================================
    feature     kind       values
    ==========  =========  ==================================================================
    salary      numeric    U(20,000, 150,000)
    commission  numeric    0 if salary is 75,000 or more, else U(10,000, 75,000)
    age         numeric    whole, 20 to 80
    elevel      nominal    level of education, codes 0 to 4
    car         nominal    make of the car, codes 0 to 19
    zipcode     nominal    codes 0 to 8
    hvalue      numeric    value of the house: (9 - zipcode) 100,000 U(0.5, 1.5)
    hyears      numeric    years the house has been owned, whole, 1 to 30
    loan        numeric    U(0, 500,000)
    ==========  =========  ==================================================================

    Class 0 is group A of the paper, class 1 group B.

    Parameters
    ----------
    function : int, 1 to 10
        Which function decides.
    perturbation : float
        Numeric features, but for a commission of 0, are moved by U(-1, 1) times this share of their range once the
        class is known, and brought back into the range; whole ones are rounded. From 0 to 1; MOA's default is 0.05,
        too. As in MOA, a house value is moved by up to the share of (9 - zipcode) 100,000 and then cut down to
        135,000, which most exceed: with any perturbation that feature says little.
    balanced : bool
        Let the classes take turns, class 1 first; rows within a class stay as they are.
    seed : int
        Seed of the rows. Streams that differ in function alone have the same X, unless balanced.
    n_rows : int, optional
        Number of rows; endless if left out.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    References
    ----------
    .. [1] R. Agrawal, T. Imielinski, A. Swami, "Database Mining: A Performance Perspective", IEEE Transactions on
       Knowledge and Data Engineering 5, 1993.
    .. [2] R. Kirkby, "Improving Hoeffding Trees", PhD thesis, University of Waikato, 2007, section 3.4.

    Examples
    --------
    >>> stream = Agrawal(function=1, perturbation=0)
    >>> X, y = stream.take(1000)
    >>> age = X[:, stream.feature_names.index("age")]
    >>> bool((((age < 40) | (age >= 60)) == (y == 0)).all())
    True
    """

    n_features = 9

    def __init__(
        self,
        function: int = 1,
        perturbation: float = 0.05,
        balanced: bool = False,
        seed: int = 1,
        n_rows: int | None = None,
    ) -> None:
        self.function = whole_number("function", function, 1)
        if self.function > 10:
            raise ValueError(f"function must be a whole number from 1 to 10, got {function!r}")
        self.perturbation = number_between("perturbation", perturbation, 0, 1)
        self.balanced = bool(balanced)
        super().__init__(seed, n_rows)
        self.feature_names = [
            "salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan",
        ]  # fmt: skip
        self.nominal_features = [3, 4, 5]
        self.classes = np.arange(2)

    def _block(self, rng: npt.NDArray[np.uint64], start: int, n: int) -> Block:
        from anabranch.kernels import streams as kernels

        X, y = empty_block(n, self.n_features)
        kernels.agrawal(rng, X, y, self.function, self.perturbation, self.balanced)
        return X, y
