"""Random generators from whatever a user passes as ``random_state``."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["RandomState", "generators", "seed_sequence"]


@dataclass(frozen=True)
class RandomState:
    """A seed, a random generator of NumPy's, or None."""

    def check(self, name: str, value: Any) -> None:
        """Check that randomness can be drawn from the value."""
        if value is None or isinstance(value, (np.random.Generator, np.random.RandomState)):
            return
        if not isinstance(value, numbers.Integral) or isinstance(value, bool):
            raise TypeError(f"{name} must be a whole number, a NumPy random generator or None, got {value!r}.")
        if value < 0:
            raise ValueError(f"{name} must not be negative, got {value!r}.")


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return the seed that all random generators of a learner stem from.

    A generator that is passed in gives one number per call, so that two learners made with it differ; None gives
    fresh randomness.
    """
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**63))
    elif isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    return np.random.SeedSequence(None if random_state is None else int(random_state))


def generators(seed: np.random.SeedSequence, n: int) -> list[np.random.Generator]:
    """Return ``n`` independent random generators.

    >>> first, second = generators(seed_sequence(1), 2)
    >>> first.random() == second.random()
    False
    """
    # PCG64 by name: NumPy is free to change what default_rng means.
    return [np.random.Generator(np.random.PCG64(child)) for child in seed.spawn(n)]
