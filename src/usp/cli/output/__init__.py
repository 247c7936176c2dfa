"""The formats of a listing: one module each, and the table of them.

A new format is a module with a function ``lines`` that gives the lines of a tree one by one, so that
a site of any size can be listed, and a line in :data:`OUTPUTS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from usp.cli.output import pages, tabtree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from usp.objects.sitemap import AbstractSitemap


class Output(Protocol):
    """Gives the lines of a tree; ``shown`` makes of a URL what is printed for it."""

    def __call__(self, tree: AbstractSitemap, shown: Callable[[str], str], /) -> Iterator[str]:
        """Give the lines, without their ends."""
        ...


OUTPUTS: Mapping[str, Output] = {"tabtree": tabtree.lines, "pages": pages.lines}
