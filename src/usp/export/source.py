"""What is exported: the pages of a tree or of a stream, in blocks, as far as they are wanted."""

from __future__ import annotations

from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from usp.objects.page import PageList
from usp.objects.sitemap import AbstractSitemap
from usp.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from usp.objects.page import PageBlock, SitemapPage

    Pages: TypeAlias = AbstractSitemap | Iterable[SitemapPage]
    """A tree, or pages that come one by one."""

_TOGETHER = 100  # pages of a stream, which wait for each other


def blocks_of(
    pages: Pages, selection: Selection | None = None, site: str | None = None
) -> Iterator[tuple[str | None, PageBlock]]:
    """Give blocks of pages, each with the address of its sitemap where that is known.

    ``site`` is the address of the website, for pages that come without a tree.
    """
    chosen = selection or Selection()
    if not isinstance(pages, AbstractSitemap):
        wanted = iter(pages) if chosen.takes_all else chosen.of(pages, site)
        return _of_stream(wanted)
    blocks = pages.page_blocks()
    if not chosen.takes_all:
        blocks = chosen.run(site or pages.url).blocks(pages)
    return ((sitemap.url, block) for sitemap, block in blocks)


def _of_stream(pages: Iterator[SitemapPage]) -> Iterator[tuple[str | None, PageBlock]]:
    for url, of_sitemap in groupby(pages, attrgetter("sitemap_url")):
        while some := list(islice(of_sitemap, _TOGETHER)):
            yield url, PageList(some)
