"""``pages``: one URL a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from usp.objects.sitemap import AbstractSitemap
    from usp.selection import Selection


def lines(
    tree: AbstractSitemap, shown: Callable[[str], str], selection: Selection | None = None
) -> Iterator[str]:
    """Give the URLs of all pages, or of the wanted ones, in the order of the tree."""
    pages = tree.all_pages() if selection is None else selection.of(tree)
    return (shown(page.url) for page in pages)
