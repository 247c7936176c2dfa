"""``tabtree``: a line for each sitemap and each page, indented by tabs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.cli.output.text import printable
from usp.objects.sitemap import AbstractPagesSitemap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from usp.objects.sitemap import AbstractSitemap


def lines(tree: AbstractSitemap, shown: Callable[[str], str]) -> Iterator[str]:
    """Give the root, whose URL is always whole, and below each sitemap its sitemaps and pages."""
    yield printable(tree.url)
    yield from _below(tree, shown, "\t")


def _below(sitemap: AbstractSitemap, shown: Callable[[str], str], indent: str) -> Iterator[str]:
    for child in sitemap.sub_sitemaps:
        yield indent + shown(child.url)
        yield from _below(child, shown, indent + "\t")
    if isinstance(sitemap, AbstractPagesSitemap):
        for page in sitemap.all_pages():
            yield indent + shown(page.url)
