"""What the robots.txt of other hosts declare: the proof that a sitemap may list their pages.

It is fetched when a sitemap lists something of another host, and only then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protego import Protego

from usp._crawl.orders import Received
from usp._crawl.page_fetch import fetch_pages, text_of
from usp.checks.listing import normal_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from usp._base.urls import HttpUrl
    from usp.options import CrawlOptions
    from usp.web_client.abstract_client import AbstractWebClient

MOST_HOSTS = 20
"""Hosts whose robots.txt is fetched; a sitemap may list thousands."""


class Proofs:
    """The sitemaps that other hosts declare; without ``fetch``, which returns a text, none."""

    def __init__(self, fetch: Callable[[str], str] | None = None) -> None:
        self._fetch = fetch
        self._declared: dict[str, frozenset[str]] = {}

    def has(self, origin: HttpUrl, sitemaps: Iterable[str]) -> bool:
        """Return whether the robots.txt of an origin declares any of some sitemaps."""
        declared = self._declared.get(origin.origin)
        if declared is None:
            if self._fetch is None or len(self._declared) >= MOST_HOSTS:
                return False
            text = self._fetch(f"{origin.origin}/robots.txt")
            declared = frozenset(normal_all(list(Protego.parse(text).sitemaps)))
            self._declared[origin.origin] = declared
        return bool(declared) and not declared.isdisjoint(normal_all(list(sitemaps)))


def proofs_with(
    start_url: str, web_client: AbstractWebClient | None, options: CrawlOptions
) -> Proofs:
    """Return proofs that are fetched as a website's documents are: it may not lead everywhere."""

    def fetch(url: str) -> str:
        for _, result in fetch_pages([url], start_url, web_client, options):
            if isinstance(result, Received):
                return text_of(result)
        return ""

    return Proofs(fetch)
