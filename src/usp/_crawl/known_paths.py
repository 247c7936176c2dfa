"""Where sitemaps are found although nothing points there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

KNOWN_SITEMAP_PATHS = (
    "sitemap.xml",
    "sitemap_index.xml",
    "wp-sitemap.xml",
    "sitemap-index.xml",
    "sitemaps.xml",
    "sitemap1.xml",
    "sitemap.txt",
    "sitemap.xml.gz",
    "sitemap_index.xml.gz",
    "sitemap-index.xml.gz",
    ".sitemap.xml",
    "sitemap",
    "sitemap/sitemap-index.xml",
    "admin/config/search/xmlsitemap",
    "sitemap_news.xml",
    "sitemap-news.xml",
    "news-sitemap.xml",
    "sitemap_news.xml.gz",
    "sitemap-news.xml.gz",
)
"""Known paths in the order in which they are tried: the most usual and the most general first."""


def in_order(paths: Iterable[str], extra: Iterable[str] = ()) -> list[str]:
    """Give ``paths`` in their fixed order, the caller's own behind them, each once."""
    wanted = set(paths)
    ordered = [path for path in KNOWN_SITEMAP_PATHS if path in wanted]
    ordered += sorted(wanted.difference(ordered))
    ordered += sorted(extra) if isinstance(extra, set | frozenset) else list(extra)
    return list(dict.fromkeys(path.lstrip("/") for path in ordered))
