"""The page in other languages: ``<xhtml:link rel="alternate" hreflang="…" href="…"/>``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.formats.xml.parser import Extension, Field

if TYPE_CHECKING:
    from usp.formats.parser import Note

EXTENSION = Extension(record="link")
PAGE_FIELD = "alternates"


def read(records: list[list[Field]], note: Note) -> list[tuple[str, str]] | None:
    """Give language and address of each alternate; links of other kinds are none."""
    found = []
    for record in records:
        link = record[0].attributes
        if "alternate" not in link.get("rel", "").lower().split():
            continue
        language, href = link.get("hreflang", "").strip(), link.get("href", "").strip()
        if language and href:
            found.append((language, href))
        elif "media" not in link:  # a page for phones has a medium instead of a language
            note("an alternate has no hreflang or no href", language or href)
    return found or None
