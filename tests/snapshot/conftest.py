"""What the tests of snapshots share: the commands, run in this process."""

from __future__ import annotations

import asyncio
import sys

import pytest

import usp
from usp import aio


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command in this process; return its exit status, output and messages."""
    from usp.cli import main  # noqa: PLC0415

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["usp", *map(str, arguments)])
        try:
            main()
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
        told = capsys.readouterr()
        return status, told.out, told.err

    return run


@pytest.fixture(params=["threads", "asyncio"])
def update(request):
    """Update a snapshot, on threads or on asyncio."""
    if request.param == "threads":
        return usp.update
    return lambda *given, **options: asyncio.run(aio.update(*given, **options))


@pytest.fixture
def path(tmp_path):
    """Where a snapshot is, or will be."""
    return tmp_path / "site.warc.gz"
