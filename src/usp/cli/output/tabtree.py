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
    waiting: list[tuple[AbstractSitemap, int, bool]] = [(tree, 0, True)]
    while waiting:
        sitemap, depth, listed = waiting.pop()
        if not listed:
            yield "\t" * depth + shown(sitemap.url)
        waiting.extend((child, depth + 1, False) for child in reversed(sitemap.sub_sitemaps))
        if isinstance(sitemap, AbstractPagesSitemap):
            for page in pages_of(sitemap):
                yield "\t" * (depth + 1) + shown(page.url)
