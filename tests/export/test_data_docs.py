"""What the documents say about data is so."""

from pathlib import Path

from usp.export import COLUMNS, FORMATS
from usp.export.sitemaps import SITEMAP_COLUMNS

TEXT = (Path(__file__).parents[2] / "docs" / "guides" / "data.md").read_text(encoding="utf-8")


def test_every_column_is_named_and_every_format_described():
    assert [name for name in (*COLUMNS, *SITEMAP_COLUMNS) if f"`{name}`" not in TEXT] == []
    assert [form for form in FORMATS if f"**{form}**" not in TEXT] == []
