"""Google's PageMap: ``<DataObject type="…" id="…"><Attribute name="…">…</Attribute>…``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.formats import values
from usp.formats.xml.parser import Extension, Field
from usp.objects.page import SitemapPageMapObject

if TYPE_CHECKING:
    from usp.formats.parser import Note

EXTENSION = Extension(record="dataobject", fields=frozenset({"attribute"}))
PAGE_FIELD = "page_map"


def read(records: list[list[Field]], note: Note) -> list[SitemapPageMapObject] | None:
    """Give the data objects, each with its attributes in order."""
    objects = []
    for head, *fields in records:
        if head.name == "attribute":
            note("a PageMap attribute stands outside of a data object", head.text)
            continue
        attributes = tuple(
            # The value may also stand in an attribute of the element.
            (name, values.text(field.text) or field.attributes.get("value", ""))
            for field in fields
            if (name := field.attributes.get("name"))
        )
        objects.append(
            SitemapPageMapObject(head.attributes.get("type"), head.attributes.get("id"), attributes)
        )
    return objects or None
