"""Every law on every learner."""

from __future__ import annotations

import pytest

from anabranch.testing import CHECKS, all_learners, variants


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("learner", variants(), ids=lambda learner: repr(learner).replace("\n", "")[:90])
def test_law(learner, check):
    check(learner)


def test_registry_misses_no_learner():
    from anabranch.base import StreamLearner

    def below(cls):
        for sub in cls.__subclasses__():
            yield sub
            yield from below(sub)

    def is_public(cls):
        parts = cls.__module__.split(".")
        return parts[0] == "anabranch" and parts[1] != "base" and not any(part.startswith("_") for part in parts)

    assert {cls for cls in below(StreamLearner) if is_public(cls)} == set(all_learners())
