"""What the tests of snapshots share: the commands, run in this process."""

from __future__ import annotations

import sys

import pytest


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
