"""What the documents say about fleets is so."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import sys
from pathlib import Path

import pytest

from usp.cli.commands import crawl, stats

ROOT = Path(__file__).parents[2]
FLEET = (ROOT / "docs" / "guides" / "fleet.md").read_text(encoding="utf-8")
SCALE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("option", [*crawl.command.params, *stats.command.params])
def test_every_option_is_documented(option):
    if not getattr(option, "hidden", False):
        names = [name for name in option.opts if name.startswith("-")]
        assert not names or any(f"`{name}" in FLEET or f" {name}" in FLEET for name in names), names


@pytest.mark.proof
def test_the_figures_of_the_simulation_are_those_that_it_prints(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["simulate_fleet.py"])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(ROOT / "tools" / "simulate_fleet.py"), run_name="__main__")
    rows = [line for line in printed.getvalue().splitlines() if re.match(r"\| [\w,]", line)]
    assert len(rows) > 15
    for row in rows:
        if "one after another, 32 workers" not in row:
            assert row in SCALE
