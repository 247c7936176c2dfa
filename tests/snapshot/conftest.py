"""What the tests of snapshots share: the commands, run in this process."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

import usp
from fronts import rest
from usp import aio
from website import TaggedSite


@pytest.fixture
def run(capsys):
    """Run a command in this process; return its exit status, output and messages."""
    from usp.cli import main  # noqa: PLC0415

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(one) for one in arguments])
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return run


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
