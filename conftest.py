"""Examples in the documentation run in a folder of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _elsewhere(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    here = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("example"))
    yield
    os.chdir(here)
