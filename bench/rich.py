"""Entries full of extensions: ten alternates each, images, news."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LANGUAGES = ("en", "de", "fr", "es", "it", "pt-BR", "nl", "pl", "ja", "x-default")
_ROOT = (
    'urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    ' xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
)


def rich_urlset(number: int, locs: Iterator[str]) -> str:
    """Give one document; every second sitemap is indented, the others have a line per element."""
    indent = "  " if number % 2 else ""
    body = "".join(_entry(at, loc, indent) for at, loc in enumerate(locs))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{_ROOT}>\n{body}</urlset>\n'


def _entry(number: int, loc: str, indent: str) -> str:
    lines = [
        f"<loc>{loc}</loc>",
        f"<lastmod>2024-{1 + number % 12:02d}-01T06:30:00+00:00</lastmod>",
    ]
    path = loc.removeprefix("http://127.0.0.1")
    lines += [
        f'<xhtml:link rel="alternate" hreflang="{language}" href="http://127.0.0.1/{language}{path}"/>'
        for language in _LANGUAGES
    ]
    for image in range(number % 4):
        lines += _image(number, image)
    if number % 2:
        lines += _news(number)
    inside = "".join(f"{indent * 2}{line}\n" for line in lines)
    return f"{indent}<url>\n{inside}{indent}</url>\n"


def _image(number: int, image: int) -> list[str]:
    fields = [
        f"<image:loc>http://127.0.0.1/media/{number}/{image}.jpg?w=1200&amp;h=800</image:loc>"
    ]
    if image == 0:
        fields += [
            f"<image:title>Picture {number}: the harbour &amp; the old town</image:title>",
            "<image:caption>Seen from the north, on a quiet morning in winter</image:caption>",
        ]
    if image == 1:
        fields += [
            "<image:geo_location>Limerick, Ireland</image:geo_location>",
            "<image:license>http://127.0.0.1/licence</image:license>",
        ]
    return ["<image:image>", *fields, "</image:image>"]


def _news(number: int) -> list[str]:
    published = f"2024-05-{1 + number % 28:02d}T07:{number % 60:02d}:00Z"
    return [
        "<news:news>",
        "<news:publication>",
        "<news:name>The Example Times</news:name>",
        "<news:language>en</news:language>",
        "</news:publication>",
        f"<news:publication_date>{published}</news:publication_date>",
        f"<news:title>Companies A, B in merger talks, part {number} &#8211; what we know</news:title>",
        "<news:keywords>business, merger, acquisition</news:keywords>",
        "<news:stock_tickers>NASDAQ:A, NASDAQ:B</news:stock_tickers>",
        "</news:news>",
    ]
