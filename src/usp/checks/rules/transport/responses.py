"""Rules about responses: their type and their size."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from usp.checks.registry import sitemap_rule
from usp.checks.values import Hit, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.checks.facts import Sitemap

MAX_UNPACKED = 50 * 1024 * 1024
MAX_ENTRIES = 50_000
"""The limits of the protocol: bytes without compression, and URLs or sitemaps."""

_XML = re.compile(r"(?:application|text)/(?:x-)?(?:[\w.-]++\+)?xml")
_TEXT = re.compile(r"text/plain")
_GZIP = re.compile(r"(?:application|binary)/(?:x-)?(?:gzip|gunzip|gzip-compressed|octet-stream)")


@sitemap_rule("SM201", "wrong-content-type", Severity.WARNING)
def wrong_content_type(sitemap: Sitemap) -> Iterator[Hit]:
    """The Content-Type of a sitemap is not that of its content.

    Clients decide by the header what to do with a document. XML that is sent as a web page may be read
    as one, and robots.txt must be text/plain.

    Source: https://www.rfc-editor.org/rfc/rfc7303#section-9.1
        https://www.rfc-editor.org/rfc/rfc9309#section-2.3

    Bad:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        Content-Type: text/html; charset=utf-8

        <url><loc>https://example.org/tea</loc></url>

    Good:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        Content-Type: text/xml; charset=utf-8

        <url><loc>https://example.org/tea</loc></url>

    Fix: Send application/xml for XML, text/plain for text and robots.txt, application/gzip for .gz.
    """
    exchange, decoder = sitemap.exchange, sitemap.decoder
    if sitemap.is_local or exchange is None or decoder is None or not exchange.content_type:
        return
    if sitemap.is_robots and sitemap.site.robots.is_something_else:
        return
    given = exchange.content_type.partition(";")[0].strip().lower()
    is_text = sitemap.is_robots or sitemap.kind == "text"
    right = _TEXT if is_text else _XML
    if right.fullmatch(given) or (sitemap.is_packed and _GZIP.fullmatch(given)):
        return
    if sitemap.url.endswith(".gz") and _GZIP.fullmatch(given):
        return  # another rule is about files that are not compressed and should be
    what = "robots.txt" if sitemap.is_robots else "a list of URLs" if is_text else "XML"
    yield Hit(f"{what} is sent as {given}")


@sitemap_rule("SM202", "too-large", Severity.ERROR)
def too_large(sitemap: Sitemap) -> Iterator[Hit]:
    """A sitemap has more than 50 MiB without compression.

    Search engines do not read larger ones: all of its pages are lost.

    Source: https://www.sitemaps.org/protocol.html#index
        https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap#general-guidelines

    Bad:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <!-- {a long comment *60,000} --> (x 60)
        <url><loc>https://example.org/tea</loc></url>
        </urlset>

    Good:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <!-- {a long comment *60,000} -->
        <url><loc>https://example.org/tea</loc></url>
        </urlset>

    Fix: Split it into several sitemaps, and list them in an index.
    """
    if sitemap.unpacked > MAX_UNPACKED and not sitemap.is_robots:
        yield Hit(f"the sitemap has {sitemap.unpacked:,} bytes; {MAX_UNPACKED:,} are allowed")


@sitemap_rule("SM203", "too-many-urls", Severity.ERROR)
def too_many_urls(sitemap: Sitemap) -> Iterator[Hit]:
    """A sitemap has more than 50,000 URLs, or an index more than 50,000 sitemaps.

    Search engines reject it, or ignore everything after the first 50,000.

    Source: https://www.sitemaps.org/protocol.html#index
        https://developers.google.com/search/docs/crawling-indexing/sitemaps/large-sitemaps

    Bad:

        <url><loc>https://example.org/{n}</loc></url> (x 50,001)

    Good:

        <url><loc>https://example.org/{n}</loc></url> (x 1,000)

    Fix: Split it into several sitemaps, and list them in an index.
    """
    if sitemap.pages > MAX_ENTRIES:
        yield Hit(f"the sitemap has {sitemap.pages:,} URLs; {MAX_ENTRIES:,} are allowed")
    if sitemap.is_index and len(sitemap.children) > MAX_ENTRIES:
        count = len(sitemap.children)
        yield Hit(f"the index has {count:,} sitemaps; {MAX_ENTRIES:,} are allowed")
