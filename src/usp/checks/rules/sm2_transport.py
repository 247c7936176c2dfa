"""Rules about how sitemaps are sent: their type, size, compression and encoding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from usp._base.urls import url_parts
from usp._formats.decode import Decoder, known_encoding
from usp.checks.finding import Hit, Severity
from usp.checks.registry import sitemap_rule
from usp.limits import PROTOCOL_BYTES, PROTOCOL_URLS

if TYPE_CHECKING:
    from usp.checks.context import CheckedSitemap

_XML_TYPE = re.compile(r"(?:application|text)/(?:x-)?(?:[\w.-]++\+)?xml|text/x-opml")
_TEXT_TYPE = re.compile(r"text/plain")
_RIGHT_TYPES = {  # by the kind of document, unless it is XML
    "robots": ("robots.txt", _TEXT_TYPE),
    "text": ("a list of URLs", _TEXT_TYPE),
    "jsonfeed": ("a JSON Feed", re.compile(r"application/(?:feed\+)?json")),
    "llms": ("Markdown", re.compile(r"text/(?:plain|markdown)")),
    "html": ("a page", re.compile(r"text/html|application/xhtml\+xml")),
}
_GZIP_TYPE = re.compile(
    r"(?:application|binary)/(?:x-)?(?:gzip|gunzip|gzip-compressed|octet-stream)"
)


@sitemap_rule("SM201", Severity.WARNING)
def wrong_content_type(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """The Content-Type of a sitemap is not that of its content.

    Clients decide by the header what to do with a document. XML that is sent as a web page may be read
    as one, and robots.txt must be text/plain.
    Source: rfc7303#section-9.1 rfc9309#section-2.3
    Bad:
        --- /sitemap.xml (declared)
        Content-Type: text/html; charset=utf-8

        <url><loc>https://example.org/tea</loc></url>
    Good: with text/xml instead of text/html
    Fix: Send application/xml for XML, text/plain for text and robots.txt, application/gzip for .gz.
    """
    exchange, decoder = sitemap.exchange, sitemap.decoder
    if sitemap.is_local or exchange is None or decoder is None or not exchange.content_type:
        return
    if sitemap.is_robots and sitemap.site.robots.is_something_else:
        return
    if sitemap.is_index and sitemap.xml is None:
        return  # of its own pages, which are a sitemap below it, that will be said
    given = exchange.content_type.partition(";")[0].strip().lower()
    what, right = _RIGHT_TYPES.get(sitemap.kind, ("XML", _XML_TYPE))
    # Another rule is about files that are not compressed and should be.
    may_be_gzip = sitemap.is_packed or sitemap.url.endswith(".gz")
    if not right.fullmatch(given) and not (may_be_gzip and _GZIP_TYPE.fullmatch(given)):
        yield Hit(f"{what} is sent as {given}")


@sitemap_rule("SM202", Severity.ERROR)
def too_large(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """A sitemap has more than 50 MiB without compression.

    Search engines do not read larger ones: all of its pages are lost.
    Source: protocol#index google:crawling-indexing/sitemaps/build-sitemap#general-guidelines
    Bad:
        --- /sitemap.xml (declared)
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <!-- {a long comment *60,000} --> (x 60)
        <url><loc>https://example.org/tea</loc></url>
        </urlset>
    Good: with --> instead of --> (x 60)
    Fix: Split it into several sitemaps, and list them in an index.
    """
    if sitemap.unpacked > PROTOCOL_BYTES and not sitemap.is_robots:
        yield Hit(f"the sitemap has {sitemap.unpacked:,} bytes; {PROTOCOL_BYTES:,} are allowed")


@sitemap_rule("SM203", Severity.ERROR)
def too_many_urls(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """A sitemap has more than 50,000 URLs, or an index more than 50,000 sitemaps.

    Search engines reject it, or ignore everything after the first 50,000.
    Source: protocol#index google:crawling-indexing/sitemaps/large-sitemaps
    Bad: <url><loc>https://example.org/{n}</loc></url> (x 50,001)
    Good: <url><loc>https://example.org/{n}</loc></url> (x 1,000)
    Fix: Split it into several sitemaps, and list them in an index.
    """
    if sitemap.pages > PROTOCOL_URLS:
        yield Hit(f"the sitemap has {sitemap.pages:,} URLs; {PROTOCOL_URLS:,} are allowed")
    count = len(sitemap.children) if sitemap.is_index else 0
    if count > PROTOCOL_URLS:
        yield Hit(f"the index has {count:,} sitemaps; {PROTOCOL_URLS:,} are allowed")


# Bytes from which on compression is worth it: a MiB of XML becomes a tenth of that.
LARGE = 1024 * 1024


@sitemap_rule("SM204", Severity.INFO)
def not_compressed(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """A large sitemap is sent without compression.

    Sitemaps compress to about a tenth. Search engines fetch them again and again, so that compression
    saves bandwidth, and time until new pages are known.
    Source: https://www.sitemaps.org/faq.html#faq_sitemap_compressed rfc9110#section-8.4
    Bad: <url><loc>https://example.org/a/rather/long/path/of/a/page/{n}</loc></url> (x 20,000)
    Good:
        --- /sitemap.xml.gz (declared)
        <url><loc>https://example.org/a/rather/long/path/of/a/page/{n}</loc></url> (x 20,000)
    Fix: Turn on compression in the server (Content-Encoding: gzip), or write the sitemap as .xml.gz.
    """
    sent = sitemap.exchange and sitemap.exchange.status is not None and not sitemap.is_local
    if sent and sitemap.decoder and not sitemap.is_packed and sitemap.unpacked >= LARGE:
        yield Hit(f"{sitemap.unpacked:,} bytes are sent without compression")


@sitemap_rule("SM205", Severity.WARNING)
def gz_not_gzip(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """A sitemap is called .gz, but is not compressed.

    Programs that go by the name fail to decompress it, and may report a broken file.
    Source: https://www.sitemaps.org/faq.html#faq_sitemap_compressed
    Bad:
        --- /sitemap.xml.gz (declared)
        Content-Type: application/xml

        (as utf-8)
        <url><loc>https://example.org/tea</loc></url>
    Good:
        --- /sitemap.xml.gz (declared)
        <url><loc>https://example.org/tea</loc></url>
    Fix: Compress the file with gzip, or leave out .gz.
    """
    is_gz = url_parts(sitemap.url).path.lower().endswith(".gz")
    if is_gz and sitemap.decoder is not None and not sitemap.is_packed:
        yield Hit("the sitemap is called .gz and is not compressed")


@sitemap_rule("SM206", Severity.ERROR)
def compressed_twice(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """A sitemap is compressed several times.

    Search engines decompress it once, and find another compressed file instead of a sitemap.
    Source: https://www.sitemaps.org/faq.html#faq_sitemap_compressed rfc9110#section-8.4
    Bad:
        --- /sitemap.xml.gz (declared)
        (as utf-8, gzip, gzip)
        <url><loc>https://example.org/tea</loc></url>
    Good:
        --- /sitemap.xml.gz (declared)
        Content-Encoding: gzip

        (as utf-8, gzip, gzip)
        <url><loc>https://example.org/tea</loc></url>
    Fix: Compress the sitemap once.
    """
    of_transfer = sum(name in ("gzip", "x-gzip", "deflate") for name in sitemap.content_encodings)
    layers = sitemap.layers - of_transfer
    if layers > 1:
        yield Hit(f"the sitemap is compressed {layers} times")


@sitemap_rule("SM207", Severity.WARNING)
def gzip_not_announced(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """A sitemap is compressed, and neither its name nor a header says so.

    Clients that do not look at the bytes themselves take it for broken XML.
    Source: rfc9110#section-8.4
    Bad:
        --- /sitemap.xml (declared)
        Content-Type: application/xml

        (as utf-8, gzip)
        <url><loc>https://example.org/tea</loc></url>
    Good:
        --- /sitemap.xml (declared)
        Content-Type: application/xml
        Content-Encoding: gzip

        (as utf-8, gzip)
        <url><loc>https://example.org/tea</loc></url>
    Fix: Send "Content-Encoding: gzip", or let its name end with .gz.
    """
    exchange = sitemap.exchange
    if not sitemap.layers or exchange is None or sitemap.content_encodings:
        return
    if sitemap.is_local and "." not in sitemap.url.rpartition("/")[2]:
        return  # standard input, a pipe: it has no name
    said = f"{exchange.content_type} {exchange.header('Content-Disposition')}".lower()
    names = f"{sitemap.url} {sitemap.requested}"
    if not ("gz" in said or "octet-stream" in said or ".gz" in names):
        yield Hit("the sitemap is compressed, but neither its name nor a header says so")


_UTF8 = frozenset({"utf-8", "utf-8-sig", "ascii"})


@sitemap_rule("SM208", Severity.WARNING)
def not_utf_8(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """A sitemap is not encoded in UTF-8.

    The protocol wants UTF-8. Search engines may read URLs with other characters wrongly, or reject the
    sitemap.
    Source: protocol#escaping google:crawling-indexing/sitemaps/build-sitemap#general-guidelines
    Bad:
        --- /sitemap.xml (declared)
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
    if decoder is None or sitemap.is_feed:  # which may have any encoding
        return
    if decoder.encoding is not None and decoder.encoding not in _UTF8:
        yield Hit(f"the document is encoded in {_name(decoder)}")
    elif _complaint(decoder) is None:
        label = next(filter(None, decoder.labels), None)
        known = known_encoding(label)
        if known is not None and known not in _UTF8 and not _is_wide(known):
            yield Hit(f"the document says that it is encoded in {label}")


@sitemap_rule("SM209", Severity.WARNING)
def conflicting_encodings(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """What a document says about its encoding is contradictory or wrong.

    The byte order mark, the charset of the Content-Type header and the XML declaration must name the
    encoding in which it is written. Clients trust them in different order: one reads the document, and
    the next one finds broken characters in it.
    Source: rfc7303#section-3 w3:xml/#charencoding
    Bad:
        --- /sitemap.xml (declared)
        Content-Type: text/xml; charset=iso-8859-1

        <?xml version="1.0" encoding="UTF-8"?>
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <url><loc>https://example.org/tea</loc></url>
        </urlset>
    Good: with utf-8 instead of iso-8859-1
    Fix: Write the file in UTF-8 and say UTF-8 everywhere, or leave out the charset of the header.
    """
    decoder = sitemap.decoder
    if decoder is not None and (complaint := _complaint(decoder)):
        yield Hit(complaint)


def _complaint(decoder: Decoder) -> str | None:
    """Return what is contradictory about the labels of a document."""
    names = ("byte order mark", "Content-Type header", "XML declaration")
    said = zip(names, decoder.labels, strict=True)
    given = {f"the {who}": label for who, label in said if label is not None}
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
