"""The page in other languages: ``<xhtml:link rel="alternate" hreflang="…" href="…"/>``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from usp._formats.parser import resolved
from usp._formats.xml.entries import Extension, Field

if TYPE_CHECKING:
    from usp._formats.parser import Note

EXTENSION = Extension(record="link")
PAGE_FIELD = "alternates"

# How nearly every generator writes a link; anything else is read with more care.
_USUAL = re.compile(
    r' rel="alternate" hreflang="([\w-]++)" href="(https?://[^"&\s]++)"[ \t]*+(?=\n)', re.ASCII
)


def read(
    records: list[list[Field]], note: Note, base: str | None = None
) -> list[tuple[str, str]] | None:
    """Give language and address of each alternate; links of other kinds are none."""
    usual = _USUAL.findall("\n".join([record[0].written for record in records]) + "\n")
    if len(usual) == len(records):
        return usual
    found = []
    for record in records:
        link = record[0].attributes(note)
        rel = link.get("rel", "")
        if rel != "alternate" and "alternate" not in rel.lower().split():
            continue
        language, href = link.get("hreflang", "").strip(), link.get("href", "").strip()
        if language and href:
            found.append((language, resolved(href, base)))
        elif "media" not in link:  # a page for phones has a medium instead of a language
            note("an alternate has no hreflang or no href", language or href)
    return found or None
