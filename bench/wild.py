"""How entries are written on the web, beside the ways of the plain shape: one function each; and feeds.

Taken from what real sitemaps look like: relative locs, CDATA, milliseconds, line breaks inside a loc,
images before the lastmod, comments, fields before the loc.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_START = datetime(2024, 1, 1, 5, 30, 7, tzinfo=UTC)
_HOST = "http://127.0.0.1"


def _moment(number: int) -> datetime:
    return _START + timedelta(minutes=number * 97)


def _text_of(loc: str) -> str:
    """Give a loc as CDATA has it, without references."""
    return loc.replace("&amp;", "&")


def _crlf(number: int, loc: str) -> str:
    lastmod = f"{_moment(number):%Y-%m-%dT%H:%M:%S}.{number % 1000:03d}Z"
    return f"  <url>\r\n    <loc>{loc}</loc>\r\n    <lastmod>{lastmod}</lastmod>\r\n  </url>\r\n"


def _relative(number: int, loc: str) -> str:
    lastmod = f"{_moment(number):%Y-%m-%d}"
    return f"<url><loc>{loc.removeprefix(_HOST)}</loc><lastmod>{lastmod}</lastmod></url>\n"


def _cdata(number: int, loc: str) -> str:
    lastmod = f"{_moment(number):%Y-%m-%dT%H:%M:%S}+00:00"
    return (
        f"<url>\n<loc><![CDATA[{_text_of(loc)}]]></loc>\n"
        f"<lastmod><![CDATA[{lastmod}]]></lastmod>\n</url>\n"
    )


def _wrapped(number: int, loc: str) -> str:
    return (
        f"\t<url>\n\t\t<loc>\n\t\t\t{loc}\n\t\t</loc>\n"
        f"\t\t<lastmod>{_moment(number):%Y-%m-%dT%H:%M:%S}-05:00</lastmod>\n"
        f"\t\t<changefreq>weekly</changefreq>\n\t\t<priority>0.8</priority>\n\t</url>\n"
    )


def _image_first(number: int, loc: str) -> str:
    return (
        f"\t<url>\n\t\t<loc>{loc}</loc>\n\t\t<image:image>\n\t\t\t<image:loc>"
        f"{_HOST}/uploads/{number}.jpg</image:loc>\n\t\t</image:image>\n"
        f"\t\t<lastmod>{_moment(number):%Y-%m-%dT%H:%M:%S}+00:00</lastmod>\n\t</url>\n"
    )


def _commented(number: int, loc: str) -> str:
    return (
        f"<!-- page {number} --><url><lastmod>{_moment(number):%Y-%m-%d}</lastmod>"
        f"<priority>0.{number % 10}</priority><loc>{loc}</loc></url>\n"
    )


WAYS: dict[str, Callable[[int, str], str]] = {
    "CRLF, milliseconds": _crlf,
    "relative loc": _relative,
    "CDATA": _cdata,
    "line breaks in loc": _wrapped,
    "image, then lastmod": _image_first,
    "comment, loc last": _commented,
}
"""The ways of writing, which the wild shape has in equal parts."""

_ROOT = (
    'urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
)


def wild_urlset(way: str, locs: Iterator[str]) -> str:
    """Give a sitemap in one of the ways."""
    entries = "".join(map(WAYS[way], count(), locs))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{_ROOT}>\n{entries}</urlset>\n'


def rss_feed(locs: Iterator[str]) -> str:
    """Give an RSS 2.0 feed as blogs write it."""
    items = "".join(
        f"\t<item>\n\t\t<title>Story {number}: harbour &amp; town</title>\n\t\t<link>{loc}</link>\n"
        f"\t\t<dc:creator><![CDATA[editor]]></dc:creator>\n"
        f"\t\t<pubDate>{format_datetime(_moment(number))}</pubDate>\n"
        f'\t\t<guid isPermaLink="false">{_HOST}/?p={number}</guid>\n'
        f"\t\t<description><![CDATA[<p>What happened in part {number} of it &#8230;</p>]]>"
        f"</description>\n\t</item>\n"
        for number, loc in enumerate(locs)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
        ' xmlns:atom="http://www.w3.org/2005/Atom">\n<channel>\n\t<title>Example</title>\n'
        f"\t<link>{_HOST}/</link>\n\t<description>News</description>\n{items}</channel>\n</rss>\n"
    )


def atom_feed(locs: Iterator[str]) -> str:
    """Give an Atom feed."""
    entries = "".join(
        f"  <entry>\n    <title>Story {number}</title>\n"
        f'    <link href="{loc}"/>\n    <id>tag:example.org,2024:{number}</id>\n'
        f"    <published>{_moment(number).isoformat()}</published>\n"
        f"    <updated>{_moment(number):%Y-%m-%dT%H:%M:%S}Z</updated>\n"
        f'    <summary type="html">What happened in part {number} &lt;b&gt;today&lt;/b&gt;</summary>\n'
        "    <author><name>Editor</name></author>\n  </entry>\n"
        for number, loc in enumerate(locs)
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"  <title>Example</title>\n  <id>{_HOST}/</id>\n{entries}</feed>\n"
    )
