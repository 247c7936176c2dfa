"""What the documents say about data is so."""

from pathlib import Path

import pytest

from usp.export import COLUMNS, FORMATS
from usp.export.sitemaps import SITEMAP_COLUMNS

TEXT = (Path(__file__).parents[2] / "docs" / "guides" / "data.md").read_text(encoding="utf-8")


def test_every_column_is_named():
    assert [name for name in (*COLUMNS, *SITEMAP_COLUMNS) if f"`{name}`" not in TEXT] == []


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_described(form):
    assert f"**{form}**" in TEXT
