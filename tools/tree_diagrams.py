"""The diagrams of docs/process.md and docs/tree.md: ``python tools/pictures.py trees``.

The trees are those of real crawls, of small websites in memory, as ``usp tree -f svg`` draws them.
"""

# ruff: noqa: INP001 - part of a script
from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from drawings import drawn

import usp
from usp.graph import svg
from usp.web_client.abstract_client import (
    AbstractWebClient,
    AbstractWebClientResponse,
    AbstractWebClientSuccessResponse,
    WebClientErrorResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

SITE = "https://example.org"
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'

# Websites -----------------------------------------------------------------------------------------


def robots(*paths: str) -> str:
    """Return a robots.txt that declares sitemaps."""
    return "".join(f"Sitemap: {SITE}{path}\n" for path in paths)


def index(*paths: str) -> str:
    """Return an index of sitemaps."""
    listed = "".join(f"<sitemap><loc>{SITE}{path}</loc></sitemap>" for path in paths)
    return f"<sitemapindex {NAMESPACE}>{listed}</sitemapindex>"


def urlset(name: str, pages: int) -> str:
    """Return a sitemap with so many pages."""
    listed = "".join(f"<url><loc>{SITE}/{name}/{n}</loc></url>" for n in range(pages))
    return f"<urlset {NAMESPACE}>{listed}</urlset>"


def newspaper() -> dict[str, str]:
    """Return a website as newspapers have it: sections, months of an archive, news, a sitemap twice."""
    months = [f"/archive/{year}-{month:02}.xml" for year in (2024, 2025) for month in range(1, 13)]
    return {
        "/robots.txt": robots(
            "/sitemap.xml", "/sport/sitemap.xml", "/archive/index.xml", "/sitemap-news.xml"
        ),
        "/sitemap.xml": index("/sections.xml", "/sport/sitemap.xml", "/authors.xml"),
        "/sections.xml": urlset("sections", 40),
        "/sport/sitemap.xml": urlset("sport", 900),
        "/archive/index.xml": index(*months),
        **{month: urlset(month[9:16], 1000) for month in months},
        "/sitemap-news.xml": urlset("news", 220),
    }


WEBSITES = {
    "tree-known-path": {"/sitemap.xml": urlset("page", 12)},
    "tree-robots": {"/robots.txt": robots("/sitemap.xml"), "/sitemap.xml": urlset("page", 12)},
    "tree-both": {
        "/robots.txt": robots("/sitemap.xml"),
        "/sitemap.xml": urlset("page", 12),
        "/sitemap_news.xml": index("/news/1.xml", "/news/2.xml", "/news/3.xml"),
        **{f"/news/{n}.xml": urlset(f"story-{n}", 30) for n in (1, 2, 3)},
    },
    "tree-newspaper": newspaper(),
}


class _Response(AbstractWebClientSuccessResponse):
    def __init__(self, url: str, text: str) -> None:
        self._url, self._text = url, text

    def status_code(self) -> int:
        return 200

    def status_message(self) -> str:
        return "OK"

    def header(self, case_insensitive_name: str) -> str | None:
        del case_insensitive_name
        return None

    def raw_data(self) -> bytes:
        return self._text.encode()

    def url(self) -> str:
        return self._url


class _Client(AbstractWebClient):
    def __init__(self, files: dict[str, str]) -> None:
        self._files = files

    def set_max_response_data_length(self, max_response_data_length: int | None) -> None:
        """Ignore it: nothing is large here."""

    def get(self, url: str) -> AbstractWebClientResponse:
        text = self._files.get(url.removeprefix(SITE))
        if text is None:
            return WebClientErrorResponse("404 Not Found", retryable=False)
        return _Response(url, text)


# What becomes of a document -----------------------------------------------------------------------

FLOW = """
digraph flow {
  nodesep=0.15; ranksep=0.35;
  node [fontname="Helvetica", fontsize=11, margin="0.15,0.08"];
  edge [fontname="Helvetica", fontsize=10, arrowsize=0.6, color="#777777"];
  bytes [label="bytes of a response", shape=plaintext];
  text [label="decompress by content, decode", shape=box];
  asked [label="requested as robots.txt,\\nand neither HTML nor XML?", shape=diamond];
  angle [label="begins with <?", shape=diamond];
  urls [label="holds a URL?", shape=diamond];
  root [label="XML: which root?", shape=box];
  robots [label="IndexRobotsTxtSitemap", shape=box];
  index [label="IndexXMLSitemap", shape=box];
  pages [label="PagesXMLSitemap", shape=box, style=rounded];
  rss [label="PagesRSSSitemap", shape=box, style=rounded];
  atom [label="PagesAtomSitemap", shape=box, style=rounded];
  plain [label="PagesTextSitemap", shape=box, style=rounded];
  invalid [label="InvalidSitemap", shape=box, style=dashed, color="#b00020", fontcolor="#b00020"];
  bytes -> text -> asked;
  asked -> robots [label="yes"];
  asked -> angle [label="no"];
  angle -> root [label="yes"];
  angle -> urls [label="no"];
  urls -> plain [label="yes"];
  urls -> invalid [label="no"];
  root -> index [label="sitemapindex"];
  root -> pages [label="urlset"];
  root -> rss [label="rss, RDF"];
  root -> atom [label="feed"];
  root -> invalid [label="html, others"];
}
"""


NAMES = (*(f"{name}.svg" for name in WEBSITES), "parse-flow.svg")


def drawings() -> Iterator[tuple[str, str]]:
    """Yield all diagrams with the names of their files."""
    logging.getLogger("usp").setLevel(logging.CRITICAL)
    for name, files in WEBSITES.items():
        tree = usp.sitemap_tree_for_homepage(f"{SITE}/", _Client(files))
        yield f"{name}.svg", svg(tree, most_siblings=6)
    yield "parse-flow.svg", drawn(FLOW)
