"""A thousand websites in one process, or as many as ``USP_FLEET_SITES`` says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fleet_support import COUNT, Served, serving


@pytest.fixture(scope="session")
def fleet() -> Iterator[Served]:
    """All the websites, quick ones."""
    yield from serving(COUNT)


@pytest.fixture(scope="session")
def slow_fleet() -> Iterator[Served]:
    """The same with a pause before every answer: there is time to kill somebody."""
    yield from serving(COUNT, 0.1)
