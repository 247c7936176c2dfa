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
from usp.fleet import schema_of, wide_schema

ROOT = Path(__file__).parents[2]
FLEET = (ROOT / "docs" / "guides" / "fleet.md").read_text(encoding="utf-8")
SCALE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("option", [*crawl.command.params, *stats.command.params])
def test_every_option_is_documented(option):
    if not getattr(option, "hidden", False):
        names = [name for name in option.opts if name.startswith("-")]
        assert not names or any(f"`{name}" in FLEET or f" {name}" in FLEET for name in names), names


def test_the_tables_of_columns_are_the_schemas():
    parts = re.split(r"^`(pages|sitemaps|sites)`: ", FLEET, flags=re.MULTILINE)
    for table, text in zip(parts[1::2], parts[2::2], strict=True):
        if table == "pages":
            continue
        rows = re.findall(r"^\| (`[\w`, ]+`) \| `([^`]+)` \|", text.split("\n## ")[0], re.MULTILINE)
        said = [(name, kind) for names, kind in rows for name in re.findall(r"\w+", names)]
        assert [name for name, _ in said] == schema_of(table).names
        for (_, kind), field in zip(said, schema_of(table), strict=True):
            assert str(field.type) == kind.replace("UTC", "tz=UTC")
    assert wide_schema().names == ["site", "table", "pages", "sitemaps", "sites"]


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
