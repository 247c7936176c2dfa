"""Pages as nodes hold them: parsed on demand, or in blocks."""

from __future__ import annotations

from functools import cache
from itertools import compress
from typing import TYPE_CHECKING, Protocol, TypeGuard, runtime_checkable

from usp.objects.page import SitemapPage, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from usp.objects.page import PageBlock, PageFields
    from usp.objects.problem import Problem


@runtime_checkable
class PageSource(Protocol):
    """Pages that are parsed on demand."""

    def __iter__(self) -> Iterator[SitemapPage]:
        """Parse the pages, from the first one."""
        ...

    def count(self) -> int:
        """Return the number of pages, without keeping them."""
        ...

    def problems(self) -> list[Problem]:
        """Parse the whole document and return its problems."""
        ...


def is_source(pages: Iterable[SitemapPage] | PageSource) -> TypeGuard[PageSource]:
    """Return whether pages are parsed on demand."""
    return _is_kind_of_source(type(pages))


@cache
def _is_kind_of_source(kind: type) -> bool:
    return issubclass(kind, PageSource)  # slower than parsing a small sitemap


class PageList:
    """A block of pages that exist already."""

    __slots__ = ("_pages", "urls")

    def __init__(self, pages: Sequence[SitemapPage]) -> None:
        self._pages = pages
        self.urls: Sequence[str] = [page.url for page in pages]

    def pages(self) -> Sequence[SitemapPage]:
        """Return the pages, in order."""
        return self._pages

    def texts(self) -> None:
        """Return None: there are only rows."""

    def rows(self) -> list[PageFields]:
        """Return everything but the URL of each page."""
        return rows_of(self._pages)


def part_of(block: PageBlock, numbers: Sequence[int]) -> PageBlock:
    """Return a block of some pages of another one, which is not kept for it."""
    part: PageBlock | None = getattr(block, "part", lambda _: None)(numbers)
    if part is not None:
        return part
    pages = list(block.pages())
    return PageList([SitemapPage.of(pages[at].url, pages[at].fields()) for at in numbers])


class PickedPages:
    """Some pages of a block."""

    __slots__ = ("_block", "_keep", "urls")

    def __init__(self, block: PageBlock, keep: list[bool]) -> None:
        self._block = block
        self._keep = keep
        self.urls = list(compress(block.urls, keep))

    def pages(self) -> Iterator[SitemapPage]:
        """Return the pages, in order."""
        return compress(self._block.pages(), self._keep)

    def texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the fields as columns, if the block has them."""
        texts = self._block.texts()
        if texts is None:
            return None
        return {name: list(compress(column, self._keep)) for name, column in texts.items()}

    def entry_texts(self) -> list[str] | None:
        """Return each entry as it is written, if the block knows."""
        texts = getattr(self._block, "entry_texts", lambda: None)()
        return None if texts is None else list(compress(texts, self._keep))

    def part(self, numbers: Sequence[int]) -> PageBlock:
        """Return a block of some of these pages."""
        kept = [at for at, keep in enumerate(self._keep) if keep]
        return part_of(self._block, [kept[at] for at in numbers])

    def rows(self) -> list[PageFields]:
        """Return everything but the URL of each page."""
        return list(compress(self._block.rows(), self._keep))
