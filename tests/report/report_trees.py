"""Trees for the tests of the report, and what is in them, counted the plain way."""

import base64
import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

from usp._crawl.receiver import parse_document
from usp.objects.page import SitemapPage, fields_of
from usp.objects.sitemap import (
    AbstractPagesSitemap,
    AbstractSitemap,
    IndexRobotsTxtSitemap,
    IndexWebsiteSitemap,
    IndexXMLSitemap,
    InvalidSitemap,
    PagesXMLSitemap,
)
from website import urlset

SITE = "https://example.org"

HOSTILE = [
    f"{SITE}/<script>window.hurt=1</script>",
    f"{SITE}/</script><script>window.hurt=1</script>",
    f"{SITE}/\"><img src=x onerror='window.hurt=1'>/page",
    f"{SITE}/'onmouseover='window.hurt=1'/x",
    *(f"{SITE}/a\u202egnp.exe", f"{SITE}/\u2066\u2067\u2069/b", f"{SITE}/\ud800lone"),
    *(f"{SITE}/\x1b[31mred\x07\x00\r\n", f"{SITE}/\u05d0\u05d1\u05d2/\U0001f600"),
    *(f"{SITE}/@@data@@/@@site@@", f"{SITE}/&lt;b&gt;&amp;]]>--><!--", f"{SITE}/{{a|b}}/{{b}}"),
    *(f"{SITE}/{'x' * 5000}", "javascript:window.hurt=1"),
]


def sitemap(name: str, *entries: str) -> AbstractSitemap:
    document = urlset(*(f"<url>{entry}</url>" for entry in entries))
    return parse_document([document.encode()], f"{SITE}/{name}")


def dated(*dates: str) -> AbstractSitemap:
    return sitemap("a.xml", *(f"<loc>{SITE}/{d}</loc><lastmod>{d}</lastmod>" for d in dates))


def empty_sitemaps(count: int, host: str = SITE) -> list[AbstractSitemap]:
    return [PagesXMLSitemap(f"{host}/{at}.xml", []) for at in range(count)]


def website(*below: AbstractSitemap) -> IndexWebsiteSitemap:
    return IndexWebsiteSitemap(f"{SITE}/", [IndexRobotsTxtSitemap(f"{SITE}/robots.txt", [*below])])


def hostile_website() -> IndexWebsiteSitemap:
    pages = [SitemapPage(url) for url in HOSTILE]
    nodes: list[AbstractSitemap] = [PagesXMLSitemap(url, pages) for url in HOSTILE]
    nodes += [InvalidSitemap(url, f"reason {url}") for url in HOSTILE]
    return website(IndexXMLSitemap(f"{SITE}/index.xml", nodes))


def many_sitemaps(count: int) -> IndexWebsiteSitemap:
    """A website with so many sitemaps of a page each, a thousand in an index."""
    nodes = [
        PagesXMLSitemap(
            f"{SITE}/maps/{at * 2654435761 % 2**32:08x}-{at}.xml", [SitemapPage(f"{SITE}/p/{at}")]
        )
        for at in range(count)
    ]
    parts = range(0, count, 1000)
    indexes = (
        IndexXMLSitemap(f"{SITE}/index-{at // 1000}.xml", nodes[at : at + 1000]) for at in parts
    )
    return website(*indexes)


def script(text: str, name: str) -> str:
    """Return what is in a script element of a page."""
    return text.partition(f'id="{name}">')[2].partition("</script>")[0]


def unpacked(text: str) -> Any:
    """Return what is in an embedded text."""
    return json.loads(gzip.decompress(base64.b64decode(text)))


def charts(text: str) -> dict[str, Any]:
    """Return the data of the charts of a page."""
    return json.loads(script(text, "charts-data"))


def elements(text):
    """Return the elements of a page, with their attributes."""
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.append((tag, dict(attributes)))
    parser.feed(text)
    return found


def with_lists(node: AbstractSitemap) -> AbstractSitemap:
    """Copy a tree so that all pages are there already: then no columns can be asked for."""
    if isinstance(node, AbstractPagesSitemap):
        return type(node)(node.url, node.pages)
    if isinstance(node, InvalidSitemap):
        return node
    return type(node)(node.url, [with_lists(child) for child in node.sub_sitemaps])


def section(url: str) -> str:
    path, query = urlsplit(url).path, urlsplit(url).query
    folders = (path if query else path.rstrip("/")).split("/")[1:-1][:2]
    return "/".join(["", *folders, ""])


def expected(pages: Iterable[SitemapPage]) -> dict[str, Counter]:
    """Count pages one by one."""
    found: dict[str, Counter] = defaultdict(Counter)
    for page in pages:
        lists = {name: getattr(page, name) or () for name in ("images", "videos", "alternates")}
        found["total"].update(
            {name: len(held) for name, held in lists.items()},
            pages=1,
            news=page.news_story is not None,
        )
        date = page.last_modified
        found["month"][f"{date.year:04}-{date.month:02}" if date else ""] += 1
        found["frequency"][page.change_frequency.value if page.change_frequency else ""] += 1
        if fields_of(page).declared_priority is not None:
            found["priority"][int(page.priority * 10)] += 1
        found["language"].update(language.lower() for language, _ in page.alternates or ())
        found["section"][section(page.url)] += 1
        found["host"][urlsplit(page.url).netloc.lower()] += 1
    return found
