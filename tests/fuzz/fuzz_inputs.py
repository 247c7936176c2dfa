"""Inputs for fuzzing: cases of the corpus, changed at random."""

import gzip
import random
from functools import cache

from formats_support import corpus

_KINDS = {  # how the names of their classes end
    "robots": "IndexRobotsTxtSitemap",
    "text": "PagesTextSitemap",
    "urlset": "PagesXMLSitemap",
    "index": "IndexXMLSitemap",
    "rss": "PagesRSSSitemap",
    "atom": "PagesAtomSitemap",
    "jsonfeed": "JSONFeedSitemap",
    "llms": "LlmsTxtSitemap",
    "resourcesync": "ResourceSyncSitemap",
    "opml": "IndexOPMLSitemap",
    "homepage": "IndexWebsiteSitemap",
    "html": "PagesHTMLSitemap",
}
_TEXTS = {
    "dates": (
        *("2024-05-06", "2024-05-06T07:08:09Z", "2024-05-06T07:08:09.123+02:00", "2024", "1e9"),
        *("Thu, 05 Jan 2017 12:34:51 GMT", "5 Jan 17 12:34 EST", "20240506T070809Z", "2024-02-30"),
        *("May 6, 2024", "06.05.2024", "yesterday", "0000-00-00", "9999-12-31T24:00:00-23:59"),
        "2024-W05-1",
    ),
    "references": (
        *("a &amp; b", "&#38;&#x26;&lt;&nbsp;&who;", "&#0;&#xD800;&#99999999999;", "a&b;c&#;&#x;"),
        *(" href=\"a\" rel='b' c=d", ' a="1" a="2" é="&quot;"', " a='\"' b=\"'\" c"),
        ' x:y="\r\n\t"',
    ),
    "links": (
        '</s.xml>; rel="sitemap", <https://e.org/f>; rel=alternate; type="application/rss+xml"',
        '</s>; title="a, \\"b\\"; <c>"; rel="x sitemap"; anchor="/d", <../t>;REL = Sitemap; rel=y',
    ),
}
TOKENS = (
    *(b"<", b">", b"&", b";", b"&amp;", b'"', b"'", b"]]>", b"<![CDATA[", b"<!--", b"-->", b"<?"),
    *(b"?>", b"<url>", b"</url>", b"<loc>", b"</loc>", b"<url><loc>https://e.org/x</loc></url>"),
    *(b"</urlset>", b"<sitemap>", b"</sitemap>", b"<item>", b"</item>", b"<entry>", b"</entry>"),
    *(b"<link>", b"</link>", b"\n", b"\r", b"\r\n", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe"),
    *(b"\xe2\x80\xae", b"\x1b[31m", b"Sitemap:", b"https://e.org/\n", b"http://"),
    *(b"<link rel=sitemap href=/s.xml>", b"\x1f\x8b\x08", b"<!DOCTYPE x>", b"<!DOCTYPE html>"),
    *(b"xmlns:", b"xml:base='/b/'", b"/>", b"</", b"<1>", b" " * 70, b"2024-05-06", b"+99:99"),
    *(b"0" * 40, b"-", b":", b"T", b"Z", b"&#", b"&#x10FFFF;", b"<urlset>", b"<sitemapindex>"),
    *(b"<rss>", b"<link>/a</link>", b"<feed>", b"<link href='/b'/>", b"<title>t</title>"),
    *(b"<a href=/1>", b"</a>", b"<ul>", b"</ul>", b"<li>", b"<h2>", b"</h2>", b"<script>", b"<a>"),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b"\\",
        b'{"id": "1", "url": "/1"}',
        b',"next_url": "/2",',
        b'"items":[',
    ),
    *(b"# T\n", b"\n## S\n", b"[a](/b)", b"\n- [", b"](", b"```\n", b"![", b"(<"),
    *(b"</rss>", b"Sitemap: /s.xml\n", b"T07:08", b"+02:00", b"<loc>https://e.org/1</loc>"),
)


@cache
def seeds(target: str) -> tuple[tuple[bytes, dict], ...]:
    """Give what a target begins with: data, and how it was asked for."""
    if target in _TEXTS:
        return tuple((text.encode(), {}) for text in _TEXTS[target])
    small = [case for case in corpus() if len(case.data) < 20_000]
    if target == "unpack":
        folders = ("compression/", "encodings/")
        return tuple((c.data, c.options) for c in small if c.name.startswith(folders))
    kind = _KINDS[target]
    return tuple((c.data, c.options) for c in small if c.expected.get("kind", "").endswith(kind))


def mutated(chance: random.Random, target: str) -> tuple[bytes, dict]:
    """Give a case of a target, changed in some places."""
    data, options = chance.choice(seeds(target))
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 3, 5, 8])):
        _change(chance, changed, target)
    result = bytes(changed[:200_000])
    if target == "unpack" and chance.random() < 0.2:
        result = gzip.compress(result, mtime=0)[: chance.randint(1, len(result) + 30)]
    return result, options


def _change(chance: random.Random, data: bytearray, target: str) -> None:
    at = chance.randint(0, len(data))
    length = chance.choice([1, 2, 5, 20, 100])
    match chance.randrange(8):
        case 0:
            del data[at : at + length]
        case 1:
            data[at:at] = chance.choice(TOKENS)
        case 2 if at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        case 3:
            data[at:at] = data[at : at + length] * chance.choice([1, 2, 30, 300])
        case 4:
            del data[max(at, 1) :]
        case 5:
            other, _ = chance.choice(seeds(target))
            start = chance.randint(0, len(other))
            data[at : at + length] = other[start : start + chance.choice([5, 50, 500])]
        case 6:
            data[at:at] = chance.choice(TOKENS) * chance.choice([2, 50, 1000])
        case _:
            data[at : at + length] = chance.randbytes(length)


def cut(chance: random.Random, data: bytes) -> list[bytes]:
    """Cut data at some places."""
    count = chance.choice([1, 2, 8, 40])
    places = sorted(chance.randint(0, len(data)) for _ in range(count))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
