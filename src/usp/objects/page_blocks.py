"""Pages as nodes hold them: parsed on demand, or in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress, islice
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from usp.objects.page import PageBlock, PageFields, SitemapPage, fields_of, page_of, rows_of
from usp.objects.problem import Problem, how_many

if TYPE_CHECKING:
    from usp._base.reason import Reason


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


class NodePages:
    """The pages of a node, with all that nodes ask of them: of a list, or of a source.

    Stored documents know more than a source has to.
    """

    def __init__(self, pages: Iterable[SitemapPage] | PageSource) -> None:
        # Not by isinstance: from Python 3.12 on, that sees no attributes that are made when asked for.
        self._pages: list[SitemapPage] | PageSource
        self._pages = cast("PageSource", pages) if hasattr(pages, "problems") else list(pages)

    @property
    def given_count(self) -> int | None:
        """How many pages were given as a list; None if they are parsed on demand."""
        pages = getattr(self, "_pages", None)  # which stored documents do not have
        return len(pages) if isinstance(pages, list) else None

    @property
    def damage(self) -> Reason | None:
        """Why the pages could not be read to their end when that was last tried, if they could not."""
        return None

    def __iter__(self) -> Iterator[SitemapPage]:
        """Return the pages, from the first one."""
        return iter(self._pages)

    def count(self) -> int:
        """Return the number of pages, without keeping them."""
        return len(self._pages) if isinstance(self._pages, list) else self._pages.count()

    def blocks(self) -> Iterator[PageBlock]:
        """Yield the pages in blocks."""
        remaining = iter(self)
        while some := list(islice(remaining, _BLOCK)):
            yield PageList(some)

    def steps(self) -> Iterator[PageBlock | None]:
        """Yield the same blocks, and None after a step without pages."""
        return self.blocks()

    def examined(self) -> Iterator[PageBlock]:
        """Yield the same blocks and check every field: then problems and page count are known."""
        return self.blocks()

    def problems(self, given_up: Callable[[], Reason | None] = lambda: None) -> list[Problem]:
        """Return the problems of the document; a reason that ``given_up`` returns ends the reading."""
        del given_up
        return [] if isinstance(self._pages, list) else self._pages.problems()

    def problem_count(self) -> int:
        """Return the number of problems."""
        return how_many(self.problems())

    def removed(self) -> Iterator[SitemapPage]:
        """Yield what the document says is removed."""
        return iter(())

    def same_document(self, other: object) -> bool:
        """Return whether other pages are read from the same bytes in the same way, if that is known."""
        del other
        return False


_BLOCK = 1000  # pages


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
    return PageList([page_of(pages[at].url, fields_of(pages[at])) for at in numbers])


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
