"""Rules about character encodings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._formats.decode import known_encoding
from usp.checks.registry import sitemap_rule
from usp.checks.values import Hit, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp._formats.decode import Decoder
    from usp.checks.facts import Sitemap

_UTF8 = frozenset({"utf-8", "utf-8-sig", "ascii"})
_FEEDS = frozenset({"rss", "atom"})  # may have any encoding


@sitemap_rule("SM208", "not-utf-8", Severity.WARNING)
def not_utf_8(sitemap: Sitemap) -> Iterator[Hit]:
    """A sitemap is not encoded in UTF-8.

    The protocol wants UTF-8. Search engines may read URLs with other characters wrongly, or reject the
    sitemap.

    Source: https://www.sitemaps.org/protocol.html#escaping
        https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap#general-guidelines

    Bad:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        (as latin-1)
        <?xml version="1.0" encoding="ISO-8859-1"?>
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <!-- Café -->
        <url><loc>https://example.org/tea</loc></url>
        </urlset>

    Good:

        <?xml version="1.0" encoding="UTF-8"?>
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <!-- Café -->
        <url><loc>https://example.org/tea</loc></url>
        </urlset>

    Fix: Write the file in UTF-8, and say so in its XML declaration.
    """
    decoder = sitemap.decoder
    if decoder is None or sitemap.kind in _FEEDS:
        return
    if decoder.encoding is not None and decoder.encoding not in _UTF8:
        yield Hit(f"the document is encoded in {_name(decoder)}")
    elif _complaint(decoder) is None:
        labels = decoder.labels
        label = labels.mark or labels.header or labels.declared
        known = known_encoding(label)
        if known is not None and known not in _UTF8 and not _is_wide(known):
            yield Hit(f"the document says that it is encoded in {label}")


@sitemap_rule("SM209", "conflicting-encodings", Severity.WARNING)
def conflicting_encodings(sitemap: Sitemap) -> Iterator[Hit]:
    """What a document says about its encoding is contradictory or wrong.

    The byte order mark, the charset of the Content-Type header and the XML declaration must name the
    encoding in which it is written. Clients trust them in different order: one reads the document, and
    the next one finds broken characters in it.

    Source: https://www.rfc-editor.org/rfc/rfc7303#section-3
        https://www.w3.org/TR/xml/#charencoding

    Bad:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        Content-Type: text/xml; charset=iso-8859-1

        <?xml version="1.0" encoding="UTF-8"?>
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <url><loc>https://example.org/tea</loc></url>
        </urlset>

    Good:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        Content-Type: text/xml; charset=utf-8

        <?xml version="1.0" encoding="UTF-8"?>
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <url><loc>https://example.org/tea</loc></url>
        </urlset>

    Fix: Write the file in UTF-8 and say UTF-8 everywhere, or leave out the charset of the header.
    """
    decoder = sitemap.decoder
    if decoder is None:
        return
    complaint = _complaint(decoder)
    if complaint:
        yield Hit(complaint)


def _complaint(decoder: Decoder) -> str | None:
    """Return what is contradictory about the labels of a document."""
    mark, header, declared = decoder.labels
    said = {
        "the byte order mark": mark,
        "the Content-Type header": header,
        "the XML declaration": declared,
    }
    given = {who: label for who, label in said.items() if label is not None}
    for who, label in given.items():
        if known_encoding(label) is None:
            return f"{who} names an unknown encoding: {label}"
    families = {who: _family(label) for who, label in given.items()}
    if len(set(families.values())) > 1:
        return ", ".join(f"{who} says {label}" for who, label in given.items())
    real = _family(decoder.encoding or "utf-8")
    for who, label in given.items():
        if decoder.is_mislabelled or (_is_wide(real) != _is_wide(families[who])):
            return f"{who} says {label}, but the document is encoded in {_name(decoder)}"
    return None


def _name(decoder: Decoder) -> str:
    """Return the name of a document's encoding, as the document calls it if it is right."""
    encoding = decoder.encoding or "utf-8"
    labels = (label for label in decoder.labels if label and known_encoding(label) == encoding)
    return next(labels, encoding.upper().removesuffix("-LE").removesuffix("-BE"))


def _family(label: str) -> str:
    """Return the name of an encoding; those that differ in the order of bytes only have the same."""
    known = known_encoding(label) or label.lower()
    if known in _UTF8:
        return "utf-8"
    return known.removesuffix("-le").removesuffix("-be")


def _is_wide(encoding: str) -> bool:
    return encoding.startswith(("utf-16", "utf-32"))
