"""``docs/architecture.md`` names modules that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_module_that_is_named_without_its_folder_exists():
    names = set(re.findall(r"`(?:xml/)?(\w+\.py)`", TEXT))
    assert len(names) > 10
    assert names <= {path.name for path in (ROOT / "src").rglob("*.py")}


def test_every_folder_of_the_package_is_in_the_table_of_layers():
    layers = TEXT[TEXT.index("## Layers") : TEXT.index("## Glossary")]
    folders = {f"usp/{path.parent.name}" for path in (ROOT / "src" / "usp").glob("*/__init__.py")}
    assert folders - {"usp/_demo"} <= set(re.findall(r"`(usp/\w+)`", layers))
