"""The base class of all parsers: text in, entries and problems out."""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from usp._base.reason import Reason
from usp.limits import DEFAULT
from usp.objects.page import rows_of
from usp.objects.problem import FailureCode, Problems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from usp.objects.page import PageFields, SitemapPage
    from usp.objects.problem import ProblemCode
    from usp.objects.sitemap import AbstractIndexSitemap, AbstractPagesSitemap

    Note = Callable[[ProblemCode, str], None]
    """``note(code, excerpt)``: called for each field that cannot be read."""


TRUNCATED = Reason(FailureCode.TRUNCATED, "the document breaks off before its end")


@dataclass(frozen=True, slots=True)
class ChildEntry:
    """A child sitemap as an index declares it; ``loc`` is absolute, ``lastmod`` as written.

    ``written`` is the URL as written, ``line`` where its entry begins, if these are known.
    """

    loc: str
    lastmod: str | None = None
    written: str | None = field(default=None, compare=False)
    line: int | None = field(default=None, compare=False)


class PageEntry(abc.ABC):
    """A page as written in a document, before its fields are parsed."""

    line: int | None = None
    """The line of the document where the entry begins, if it is known."""

    as_written: str | None = None
    """The URL as written, if it is known."""

    @property
    def own_texts(self) -> Mapping[str, str]:
        """``lastmod``, ``changefreq`` and ``priority`` as written, as far as that is known."""
        return {}

    @abc.abstractmethod
    def page(self, note: Note | None = None) -> SitemapPage | None:
        """Parse the fields; None if there is no page in the entry. ``note`` is called for damage."""


class BlockText(NamedTuple):
    """The text that pages were read from: where it begins, and how its entries begin."""

    text: str
    line: int
    entry: str


class PageBatch(abc.ABC):
    """Many pages at once: their URLs in a column, everything else parsed on demand."""

    urls: list[str]

    as_written: Sequence[str | None] | None = None
    """The URLs as written, where any of them differs and problems were requested."""

    block: BlockText | None = None
    """The text of the pages, if problems were requested and it is known."""

    lines: Sequence[int] = ()
    """The lines where the entries of the pages begin, if these are known without their text."""

    @abc.abstractmethod
    def pages(self) -> Iterator[SitemapPage]:
        """Return the pages, one for each URL and in their order."""

    @abc.abstractmethod
    def texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the fields of the protocol as they are written, in columns; see ``PageBlock``."""

    def own_texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the same for pages that have other fields too; None if that is not known."""
        return self.texts()

    def rows(self) -> Sequence[PageFields]:
        """Return everything except the URL of each page."""
        return rows_of(self.pages())


def own_columns(entries: Iterable[object]) -> dict[str, list[str]]:
    """Return the fields of the protocol of entries as written, in columns."""
    texts = [entry.own_texts for entry in entries if isinstance(entry, PageEntry)]
    return {name: [one.get(name, "") for one in texts] for name in set().union(*texts)}


class Pages(PageBatch):
    """Pages that exist already."""

    __slots__ = ("_pages", "entries", "urls")

    def __init__(self, pages: list[SitemapPage]) -> None:
        self._pages = pages
        self.urls = [page.url for page in pages]
        self.entries: Sequence[object] = ()  # what they were read from, if problems were requested

    def pages(self) -> Iterator[SitemapPage]:
        """Return the pages."""
        return iter(self._pages)

    def texts(self) -> None:
        """Return None: use the pages."""

    def own_texts(self) -> dict[str, list[str]] | None:
        """Return the fields of the protocol as written, if that is known."""
        return own_columns(self.entries) if self.entries else None


Entry: TypeAlias = ChildEntry | PageEntry | PageBatch
"""What parsers return."""


MAX_PIECE = 256 * 1024
"""The number of characters that parsers read at a time, however many are fed."""


def pieces(text: str, most: int = MAX_PIECE) -> Iterator[str]:
    """Yield a text in pieces of the size that parsers read at a time."""
    for at in range(0, len(text), most):
        yield text[at : at + most]


class AbstractSitemapParser(abc.ABC):
    """Reads the text of one document: ``feed`` pieces of it, then ``close``.

    However the text is split, the entries and problems are the same. Relative URLs are resolved
    against ``url``. With ``fast``, pages may be returned in batches, and problems inside such a batch
    are not looked for.
    """

    sitemap_class: type[AbstractIndexSitemap | AbstractPagesSitemap]
    """The node of the tree that a document of this kind becomes."""

    url_length: int | None = DEFAULT.url_length
    """The maximum length of the base of relative URLs, which becomes a part of each of them."""

    scans: bool = False
    """Whether to read tag by tag, without the quick lanes: what these are compared with."""

    def __init__(
        self, url: str | None = None, problems: Problems | None = None, *, fast: bool = False
    ) -> None:
        self.url = url
        self.fast = fast
        self.problems = problems if problems is not None else Problems()

    @abc.abstractmethod
    def feed(self, text: str) -> Iterable[Entry]:
        """Return the entries that are complete so far."""

    @abc.abstractmethod
    def close(self) -> Iterable[Entry]:
        """Return the rest, and note what is missing."""
