"""Google's PageMap: ``<DataObject type="…" id="…"><Attribute name="…">…</Attribute>…``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._formats import values
from usp._formats.xml.entries import Extension, Field
from usp.objects.page import SitemapPageMapObject

if TYPE_CHECKING:
    from usp._formats.parser import Note

EXTENSION = Extension(record="DataObject", fields=frozenset({"Attribute"}))
PAGE_FIELD = "page_map"


def read(
    records: list[list[Field]], note: Note, base: str | None = None
) -> list[SitemapPageMapObject] | None:
    """Give the data objects, each with its attributes in order."""
    del base  # no address in it is resolved
    objects = []
    for head, *fields in records:
        if head.name == "Attribute":
            note("a PageMap attribute stands outside of a data object", head.text)
            continue
        attributes = []
        for field in fields:
            given = field.attributes(note)
            if "name" in given:
                # The value may also stand in an attribute of the element.
                value = values.text(field.text) or given.get("value", "")
                attributes.append((given["name"], value))
        given = head.attributes(note)
        objects.append(SitemapPageMapObject(given.get("type"), given.get("id"), tuple(attributes)))
    return objects or None
