"""Which URLs look like those of sitemaps, before anything is fetched."""

from __future__ import annotations

from urllib.parse import parse_qs

from usp._base.urls import url_parts

DOCUMENTS = (".xml", ".txt", ".rss", ".atom")
"""Suffixes of sitemaps, feeds and robots.txt."""

ARCHIVES = (".warc", ".wacz")
"""Suffixes of web archives, which are files and never hosts."""

PAGES = (".html", ".htm", ".xhtml")
"""Suffixes of pages, which stand for their website."""


def looks_like_sitemap(url: str) -> bool:
    """Return whether a URL looks like that of a sitemap rather than of a website.

    It does if the last segment of its path has a suffix of sitemaps, feeds or robots.txt (``.xml``,
    ``.txt``, ``.rss``, ``.atom``, also compressed) or contains ``sitemap``, or if its query has a key
    ``sitemap``. A path that ends in a slash or in ``.html`` stands for its website, like any other URL.
    """
    parts = url_parts(url)
    name = parts.path.rpartition("/")[2].lower().removesuffix(".gz")
    if name.endswith(PAGES):
        return False
    if name.endswith(DOCUMENTS) or "sitemap" in name:
        return True
    return "sitemap" in parse_qs(parts.query, keep_blank_values=True)
