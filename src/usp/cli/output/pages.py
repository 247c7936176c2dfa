"""``pages``: one URL a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from usp.objects.sitemap import AbstractSitemap


def lines(tree: AbstractSitemap, shown: Callable[[str], str]) -> Iterator[str]:
    """Give the URLs of all pages, in the order of the tree."""
    return (shown(page.url) for page in tree.all_pages())
