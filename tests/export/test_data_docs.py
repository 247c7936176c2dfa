"""What the documents say about data is so."""

import re
from pathlib import Path

import pytest

from usp.export import COLUMNS, FORMATS
from usp.export.schema import arrow_schema

TEXT = (Path(__file__).parents[2] / "docs" / "guides" / "data.md").read_text(encoding="utf-8")


def test_the_table_of_columns_is_the_schema():
    rows = re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", TEXT, re.MULTILINE)
    assert [name for name, _ in rows] == list(COLUMNS)
    for (_, said), field in zip(rows, arrow_schema(), strict=True):
        arrow = str(field.type).replace(" ", "").replace("list<item:", "list<")
        if said.startswith("dictionary"):
            assert arrow.startswith("dictionary<values=string")
        else:
            assert arrow.startswith(said.replace("UTC", "tz=UTC").replace(" ", "").rstrip(">"))


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_described(form):
    assert f"**{form}**" in TEXT
