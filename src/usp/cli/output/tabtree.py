"""``tabtree``: a line for each sitemap and each page, indented by tabs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.cli.output.text import printable
from usp.objects.sitemap import AbstractPagesSitemap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from usp.objects.page import SitemapPage
    from usp.objects.sitemap import AbstractSitemap
    from usp.selection import Selection


def lines(
    tree: AbstractSitemap, shown: Callable[[str], str], selection: Selection | None = None
) -> Iterator[str]:
    """Give the root, whose URL is always whole, and below each sitemap its sitemaps and pages.

    A selection is one of pages: sitemaps are listed whether or not they have pages that are wanted.
    """
    run = None if selection is None else selection.run(tree.url)

    def pages_of(sitemap: AbstractSitemap) -> Iterable[SitemapPage]:
        if run is None:
            return sitemap.all_pages()
        return (page for _, block in run.blocks(sitemap) for page in block.pages())

    yield printable(tree.url)
    yield from _below(tree, shown, pages_of, "\t")


def _below(
    sitemap: AbstractSitemap,
    shown: Callable[[str], str],
    pages_of: Callable[[AbstractSitemap], Iterable[SitemapPage]],
    indent: str,
) -> Iterator[str]:
    for child in sitemap.sub_sitemaps:
        yield indent + shown(child.url)
        yield from _below(child, shown, pages_of, indent + "\t")
    if isinstance(sitemap, AbstractPagesSitemap):
        for page in pages_of(sitemap):
            yield indent + shown(page.url)
