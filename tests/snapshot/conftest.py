"""What the tests of snapshots share: websites that are recorded, updates and watches on every front."""

import asyncio
from contextlib import ExitStack

import pytest

import usp
from fronts import rest
from usp import aio
from website import TaggedSite


@pytest.fixture(params=["threads", "asyncio"])
def update(request):
    """Update a snapshot, on threads or on asyncio."""
    if request.param == "threads":
        return usp.update
    return lambda *given, **options: asyncio.run(aio.update(*given, **options))


@pytest.fixture(params=["threads", "asyncio"])
def watched(request):
    """Return all rounds of a watch, on threads or on asyncio."""
    if request.param == "threads":
        return lambda *given, **options: list(usp.watch(*given, **options))
    return lambda *given, **options: asyncio.run(rest(aio.watch(*given, **options)))


@pytest.fixture
def path(tmp_path):
    """Where a snapshot is, or will be."""
    return tmp_path / "site.warc.gz"


@pytest.fixture
def record(path):
    """Record a website with these answers; return it, open until the test ends, and its tree."""
    with ExitStack() as sites:

        def record(answers, **options):
            site = sites.enter_context(TaggedSite(answers))
            return site, usp.sitemap_tree_for_homepage(f"{site.base}/", record=path, **options)

        yield record
