"""Google News: ``<news:news>``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._formats import values
from usp._formats.xml.entries import Extension, Field
from usp.objects.page import SitemapNewsStory

if TYPE_CHECKING:
    from usp._formats.parser import Note

EXTENSION = Extension(
    record="news",
    fields=frozenset(
        {
            "access",
            "genres",
            "keywords",
            "language",
            "name",
            "publication_date",
            "stock_tickers",
            "title",
        }
    ),
)
PAGE_FIELD = "news_story"


def read(
    records: list[list[Field]], note: Note, base: str | None = None
) -> SitemapNewsStory | None:
    """Give the story, which needs a title and a date; of several the last one counts."""
    del base  # no address in it is resolved
    raw = {field.name: field.text for field in records[-1]}
    title = values.text(raw.get("title"))
    publish_date = values.date(raw.get("publication_date"))
    if title is None:
        note("a news story has no title", "")
        return None
    if publish_date is None:
        note(
            "a news story has no publication date that can be read", raw.get("publication_date", "")
        )
        return None
    return SitemapNewsStory(
        title=title,
        publish_date=publish_date,
        publication_name=values.text(raw.get("name")),
        publication_language=values.text(raw.get("language")),
        access=values.text(raw.get("access")),
        genres=values.comma_list(raw.get("genres")),
        keywords=values.comma_list(raw.get("keywords")),
        stock_tickers=values.comma_list(raw.get("stock_tickers")),
    )
