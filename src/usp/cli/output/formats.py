"""The formats of a listing: of lines, one module each beside this; tables are in ``usp.export``.

A new format of lines is a module with a function ``lines`` that gives the lines of a tree one by one,
so that a site of any size can be listed, and a line in :data:`LINES`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from usp.cli.output import pages, tabtree
from usp.export import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from usp.objects.sitemap import AbstractSitemap
    from usp.selection import Selection


class Output(Protocol):
    """Gives the lines of a tree; ``shown`` makes of a URL what is printed for it."""

    def __call__(
        self,
        tree: AbstractSitemap,
        shown: Callable[[str], str],
        selection: Selection | None = None,
        /,
    ) -> Iterator[str]:
        """Give the lines, without their ends."""
        ...


LINES: Mapping[str, Output] = {"tabtree": tabtree.lines, "pages": pages.lines}

OUTPUTS = (*LINES, *FORMATS)
"""Every format that can be asked for."""
