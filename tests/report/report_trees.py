"""Trees for the tests of the report, and what is in them, counted the plain way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from urllib.parse import urlsplit

from usp._crawl.receiver import parse_document
from usp.objects.page import SitemapPage
from usp.objects.sitemap import (
    AbstractPagesSitemap,
    AbstractSitemap,
    IndexRobotsTxtSitemap,
    IndexWebsiteSitemap,
    IndexXMLSitemap,
    InvalidSitemap,
    PagesXMLSitemap,
)

SITE = "https://example.org"

HOSTILE = [
    f"{SITE}/<script>window.hurt=1</script>",
    f"{SITE}/</script><script>window.hurt=1</script>",
    f"{SITE}/\"><img src=x onerror='window.hurt=1'>/page",
    f"{SITE}/'onmouseover='window.hurt=1'/x",
    f"{SITE}/a\u202egnp.exe",
    f"{SITE}/\u2066\u2067\u2069/b",
    f"{SITE}/\x1b[31mred\x07\x00\r\n",
    f"{SITE}/\ud800lone",
    f"{SITE}/\u05d0\u05d1\u05d2/\U0001f600",
    f"{SITE}/@@data@@/@@site@@",
    f"{SITE}/&lt;b&gt;&amp;]]>--><!--",
    f"{SITE}/{{a|b}}/{{b}}",
    f"{SITE}/{'x' * 5000}",
    "javascript:window.hurt=1",
]


def urlset(*entries: str, extra: str = "") -> bytes:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"{extra}>'
        + "\n".join(f"<url>{entry}</url>" for entry in entries)
        + "</urlset>"
    ).encode()


def sitemap(name: str, *entries: str, extra: str = "") -> AbstractSitemap:
    return parse_document([urlset(*entries, extra=extra)], f"{SITE}/{name}")


def website(*below: AbstractSitemap) -> IndexWebsiteSitemap:
    return IndexWebsiteSitemap(f"{SITE}/", [IndexRobotsTxtSitemap(f"{SITE}/robots.txt", [*below])])


def hostile_website() -> IndexWebsiteSitemap:
    pages = [SitemapPage(url) for url in HOSTILE]
    nodes: list[AbstractSitemap] = [PagesXMLSitemap(url, pages) for url in HOSTILE]
    nodes += [InvalidSitemap(url, f"reason {url}") for url in HOSTILE]
    return website(IndexXMLSitemap(f"{SITE}/index.xml", nodes))


def many_sitemaps(count: int) -> IndexWebsiteSitemap:
    """A website with so many sitemaps of a page each, a thousand in an index."""
    indexes: list[AbstractSitemap] = []
    for begin in range(0, count, 1000):
        below: list[AbstractSitemap] = [
            PagesXMLSitemap(
                f"{SITE}/maps/{at * 2654435761 % 2**32:08x}-{at}.xml",
                [SitemapPage(f"{SITE}/p/{at}")],
            )
            for at in range(begin, begin + 1000)
        ]
        indexes.append(IndexXMLSitemap(f"{SITE}/index-{begin // 1000}.xml", below))
    return website(*indexes)


def with_lists(node: AbstractSitemap) -> AbstractSitemap:
    """Copy a tree so that all pages are there already: then no columns can be asked for."""
    if isinstance(node, AbstractPagesSitemap):
        return type(node)(node.url, node.pages)
    if isinstance(node, InvalidSitemap):
        return node
    return type(node)(node.url, [with_lists(child) for child in node.sub_sitemaps])


def section(url: str) -> str:
    folders = urlsplit(url).path.split("/")[1:-1][:2]
    return "/".join(["", *folders, ""])


def expected(pages: Iterable[SitemapPage]) -> dict[str, Counter]:
    """Count pages one by one."""
    found: dict[str, Counter] = {
        name: Counter()
        for name in ("total", "month", "frequency", "priority", "language", "section", "host")
    }
    for page in pages:
        found["total"]["pages"] += 1
        found["total"]["news"] += page.news_story is not None
        found["total"]["images"] += len(page.images or ())
        found["total"]["videos"] += len(page.videos or ())
        found["total"]["alternates"] += len(page.alternates or ())
        date = page.last_modified
        found["month"][f"{date.year:04}-{date.month:02}" if date else ""] += 1
        found["frequency"][page.change_frequency.value if page.change_frequency else ""] += 1
        found["priority"][int(page.priority * 10)] += 1
        found["language"].update(language.lower() for language, _ in page.alternates or ())
        found["section"][section(page.url)] += 1
        found["host"][urlsplit(page.url).netloc.lower()] += 1
    return found
