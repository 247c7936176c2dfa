"""Images: ``<image:image>``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._formats import values
from usp._formats.parser import resolved
from usp._formats.xml.entries import Extension, Field
from usp.objects.page import SitemapImage

if TYPE_CHECKING:
    from usp._formats.parser import Note

EXTENSION = Extension(
    record="image", fields=frozenset({"caption", "geo_location", "license", "loc", "title"})
)
PAGE_FIELD = "images"


def read(
    records: list[list[Field]], note: Note, base: str | None = None
) -> list[SitemapImage] | None:
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
                loc=resolved(loc, base),
                caption=raw.get("caption"),
                geo_location=raw.get("geo_location"),
                title=raw.get("title"),
                license_=_license(raw.get("license"), base),
            )
        )
    return images or None


def _license(written: str | None, base: str | None) -> str | None:
    """Return the address of a license; its name, which some sites give instead, stays as it is."""
    return resolved(written, base) if written and written.startswith("/") else written
