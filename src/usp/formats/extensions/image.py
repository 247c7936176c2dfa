"""Images: ``<image:image>``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.formats import values
from usp.formats.xml.entries import Extension, Field
from usp.objects.page import SitemapImage

if TYPE_CHECKING:
    from usp.formats.parser import Note

EXTENSION = Extension(
    record="image", fields=frozenset({"caption", "geo_location", "license", "loc", "title"})
)
PAGE_FIELD = "images"


def read(records: list[list[Field]], note: Note) -> list[SitemapImage] | None:
    """Give the images; one without an address is left out."""
    images = []
    for record in records:
        raw = {field.name: values.text(field.text) for field in record}
        loc = raw.get("loc")
        if loc is None:
            note("an image has no loc", "")
            continue
        images.append(
            SitemapImage(
                loc=loc,
                caption=raw.get("caption"),
                geo_location=raw.get("geo_location"),
                title=raw.get("title"),
                license_=raw.get("license"),
            )
        )
    return images or None
