"""Rules about compression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._base.urls import url_parts
from usp.checks.registry import sitemap_rule
from usp.checks.values import Hit, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.checks.facts import Sitemap

LARGE = 1024 * 1024
"""Bytes from which on compression is worth it: a MiB of XML becomes a tenth of that."""


@sitemap_rule("SM204", "not-compressed", Severity.INFO)
def not_compressed(sitemap: Sitemap) -> Iterator[Hit]:
    """A large sitemap is sent without compression.

    Sitemaps compress to about a tenth. Search engines fetch them again and again, so that compression
    saves bandwidth, and time until new pages are known.

    Source: https://www.sitemaps.org/faq.html#faq_sitemap_compressed
        https://www.rfc-editor.org/rfc/rfc9110#section-8.4

    Bad:

        <url><loc>https://example.org/a/rather/long/path/of/a/page/{n}</loc></url> (x 20,000)

    Good:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml.gz
        --- /sitemap.xml.gz
        <url><loc>https://example.org/a/rather/long/path/of/a/page/{n}</loc></url> (x 20,000)

    Fix: Turn on compression in the server (Content-Encoding: gzip), or write the sitemap as .xml.gz.
    """
    exchange, decoder = sitemap.exchange, sitemap.decoder
    if sitemap.is_local or exchange is None or decoder is None or sitemap.is_packed:
        return
    if sitemap.unpacked >= LARGE and exchange.status is not None:
        yield Hit(f"{sitemap.unpacked:,} bytes are sent without compression")


@sitemap_rule("SM205", "gz-not-gzip", Severity.WARNING)
def gz_not_gzip(sitemap: Sitemap) -> Iterator[Hit]:
    """A sitemap is called .gz, but is not compressed.

    Programs that go by the name fail to decompress it, and may report a broken file.

    Source: https://www.sitemaps.org/faq.html#faq_sitemap_compressed

    Bad:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml.gz
        --- /sitemap.xml.gz
        Content-Type: application/xml

        (as utf-8)
        <url><loc>https://example.org/tea</loc></url>

    Good:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml.gz
        --- /sitemap.xml.gz
        <url><loc>https://example.org/tea</loc></url>

    Fix: Compress the file with gzip, or leave out .gz.
    """
    if sitemap.decoder is not None and not sitemap.is_packed and _is_gz(sitemap.url):
        yield Hit("the sitemap is called .gz and is not compressed")


@sitemap_rule("SM206", "compressed-twice", Severity.ERROR)
def compressed_twice(sitemap: Sitemap) -> Iterator[Hit]:
    """A sitemap is compressed several times.

    Search engines decompress it once, and find another compressed file instead of a sitemap.

    Source: https://www.sitemaps.org/faq.html#faq_sitemap_compressed
        https://www.rfc-editor.org/rfc/rfc9110#section-8.4

    Bad:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml.gz
        --- /sitemap.xml.gz
        (as utf-8, gzip, gzip)
        <url><loc>https://example.org/tea</loc></url>

    Good:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml.gz
        --- /sitemap.xml.gz
        Content-Encoding: gzip

        (as utf-8, gzip, gzip)
        <url><loc>https://example.org/tea</loc></url>

    Fix: Compress the sitemap once.
    """
    if sitemap.decoder is None:
        return
    of_transfer = sum(name in ("gzip", "x-gzip", "deflate") for name in sitemap.content_encodings)
    layers = sitemap.decoder.layers - of_transfer
    if layers > 1:
        yield Hit(f"the sitemap is compressed {layers} times")


@sitemap_rule("SM207", "gzip-not-announced", Severity.WARNING)
def gzip_not_announced(sitemap: Sitemap) -> Iterator[Hit]:
    """A sitemap is compressed, and neither its name nor a header says so.

    Clients that do not look at the bytes themselves take it for broken XML.

    Source: https://www.rfc-editor.org/rfc/rfc9110#section-8.4

    Bad:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        Content-Type: application/xml

        (as utf-8, gzip)
        <url><loc>https://example.org/tea</loc></url>

    Good:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        Content-Type: application/xml
        Content-Encoding: gzip

        (as utf-8, gzip)
        <url><loc>https://example.org/tea</loc></url>

    Fix: Send "Content-Encoding: gzip", or let its name end with .gz.
    """
    exchange, decoder = sitemap.exchange, sitemap.decoder
    if decoder is None or not decoder.layers or exchange is None or sitemap.content_encodings:
        return
    if sitemap.is_local and "." not in sitemap.url.rpartition("/")[2]:
        return  # standard input, a pipe: it has no name
    said = f"{exchange.content_type} {exchange.header('Content-Disposition')}".lower()
    if "gz" in said or "octet-stream" in said or ".gz" in f"{sitemap.url} {sitemap.requested}":
        return
    yield Hit("the sitemap is compressed, but neither its name nor a header says so")


def _is_gz(url: str) -> bool:
    return url_parts(url).path.lower().endswith(".gz")
