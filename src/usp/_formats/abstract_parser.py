"""The base class of all parsers: text in, entries and problems out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from usp._base.loc_urls import absolute_url
from usp._base.reason import Reason
from usp._base.urls import without_fragment
from usp.limits import DEFAULT
from usp.objects.page import DeferredPage, PageFields, SitemapNewsStory, SitemapPage, page_of
from usp.objects.problem import FailureCode, ProblemCode, Problems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from usp.objects.sitemap import AbstractIndexSitemap, AbstractPagesSitemap

    Note = Callable[[ProblemCode, str], None]
    """``note(code, excerpt)``: called for each field that cannot be read."""


Place: TypeAlias = "tuple[int | None, int | None]"
"""A line and a column; both count from 1, and are None where they are not known."""


def ignore(code: ProblemCode, excerpt: str) -> None:
    """Ignore damage: problems were not requested."""


TRUNCATED = Reason(FailureCode.TRUNCATED, "the document breaks off before its end")


@dataclass(slots=True, unsafe_hash=True)
class ChildEntry:
    """A child sitemap as an index declares it; ``loc`` is absolute, ``lastmod`` as written.

    ``written`` is the URL as written, ``line`` and ``column`` where it stands, ``dated_at`` where its
    lastmod does, if these are known. With ``is_guess``, nothing says that it is a sitemap but its URL:
    it may be a page.
    """

    loc: str
    lastmod: str | None = None
    written: str | None = field(default=None, compare=False)
    line: int | None = field(default=None, compare=False)
    column: int | None = field(default=None, compare=False)
    dated_at: Place = field(default=(None, None), compare=False)
    is_guess: bool = field(default=False, compare=False)

    @property
    def place(self) -> Place:
        """Where its URL stands."""
        return self.line, self.column


class PageEntry:
    """A page as written in a document, before its fields are parsed."""

    line: int | None = None
    """The line of the document where the entry begins, if it is known."""

    column: int | None = None
    """The column on that line."""

    as_written: str | None = None
    """The URL as written, if it is known."""

    def place_of(
        self, element: str = "", text: str = "", record: str = "", number: int | None = None
    ) -> Place:
        """Return where one of its elements is, or else the entry."""
        del element, text, record, number
        return self.line, self.column

    @property
    def core_texts(self) -> Mapping[str, str]:
        """``lastmod``, ``changefreq`` and ``priority`` as written, as far as that is known."""
        return {}

    url: str
    """The URL of a page that is finished."""

    def fields(self, note: Note | None = None) -> PageFields:
        """Read the fields of the entry; ``note`` is called for damage."""
        raise NotImplementedError

    def page(self, note: Note | None = None) -> SitemapPage:
        """Return the page; its fields are read at once if there is a ``note`` to call for damage."""
        if note is None:
            return DeferredPage(self.url, lambda _: self.fields(), 0)
        return page_of(self.url, self.fields(note))


class LinkEntry(PageEntry):
    """A link to a page: its text is the title of a story, the section where it stands the keywords."""

    def __init__(
        self,
        url: str,
        line: int,
        title: str = "",
        section: Iterable[str] = (),
        written: str | None = None,
    ) -> None:
        self.url, self.line, self.title, self.as_written = url, line, title, written
        self._section = [*filter(None, section)]

    def fields(self, note: Note | None = None) -> PageFields:
        """Return the title and the section."""
        del note
        if not self.title:
            return NO_FIELDS
        return PageFields(news_story=SitemapNewsStory(self.title, None, keywords=self._section))


NO_FIELDS = PageFields()


class BlockText(NamedTuple):
    """The text that pages were read from: where it begins, and how its entries begin."""

    text: str
    line: int
    entry: str
    column: int = 1


class PageBatch:
    """Many pages at once: their URLs in a column, everything else ``read`` on demand."""

    as_written: Sequence[str | None] | None = None
    """The URLs as written, where any of them differs and problems were requested."""

    block: BlockText | None = None
    """The text of the pages, if problems were requested and it is known."""

    lines: Sequence[int] = ()
    """The lines where the entries of the pages begin, if these are known without their text."""

    entries: Sequence[PageEntry] = ()
    """The entries of the pages, if they were read one by one."""

    _rows: Sequence[PageFields] = ()

    def __init__(
        self, urls: list[str], read: Callable[[], Sequence[PageFields]] | None = None
    ) -> None:
        self.urls = urls
        self._read = read  # None for pages without fields

    def pages(self) -> Iterator[SitemapPage]:
        """Return the pages, one for each URL and in their order; fields are read on first access."""
        return map(DeferredPage, self.urls, repeat(self.fields), range(len(self.urls)))

    def fields(self, at: int) -> PageFields:
        """Return all fields of a page."""
        return (self._rows or self.rows())[at]

    def texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the fields of the protocol as they are written, in columns; see ``PageBlock``."""
        return None if self._read else {}

    def core_texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the same for pages that have other fields too; None if that is not known."""
        return core_columns(self.entries) if self.entries else self.texts()

    def rows(self) -> Sequence[PageFields]:
        """Return everything except the URL of each page, without creating page objects."""
        if not self._rows:
            self._rows = self._read() if self._read else [NO_FIELDS] * len(self.urls)
        return self._rows


def batch_of(entries: Sequence[PageEntry], note: Note | None = None) -> PageBatch:
    """Return the pages of entries that were read; with ``note``, their fields are read at once."""
    batch = PageBatch([entry.url for entry in entries], lambda: [one.fields() for one in entries])
    batch.entries = entries
    if note is not None:
        batch._rows = [entry.fields(note) for entry in entries]  # noqa: SLF001 - of this module
        batch.as_written = [entry.as_written for entry in entries]
    return batch


def core_columns(entries: Iterable[object]) -> dict[str, list[str]]:
    """Return the fields of the protocol of entries as written, in columns."""
    texts = [entry.core_texts for entry in entries if isinstance(entry, PageEntry)]
    return {name: [one.get(name, "") for one in texts] for name in set().union(*texts)}


@dataclass(frozen=True, slots=True)
class RemovedEntry:
    """An entry that says that a page is gone."""

    entry: PageEntry


Entry: TypeAlias = ChildEntry | PageEntry | PageBatch | RemovedEntry
"""What parsers return."""


MAX_PIECE = 256 * 1024
"""The number of characters that parsers read at a time, however many are fed."""


def pieces(text: str, most: int = MAX_PIECE) -> Iterator[str]:
    """Yield a text in pieces of the size that parsers read at a time."""
    for at in range(0, len(text), most):
        yield text[at : at + most]


class ReadOptions(NamedTuple):
    """How a document is read.

    With ``fast``, pages may be returned in batches, and problems in these are not looked for.
    ``url_length`` is the maximum length of the base of relative URLs, which is a part of each. With
    ``scanner_only``, it is read tag by tag, without blocks: what these are compared with.
    """

    fast: bool = False
    url_length: int | None = DEFAULT.url_length
    scanner_only: bool = False


class Notes:
    """Where the problems of entries go: nowhere, if they were not requested."""

    def note(
        self,
        code: ProblemCode,
        excerpt: str | None = None,
        *,
        at: Place | None = None,
        lost: int = 0,
    ) -> None:
        """Note a problem at some place, or at the current one."""

    def base_in(self, entry: Any) -> str | None:
        """Return the base of URLs at the current tag of an entry."""
        base: str | None = entry.base
        return base


class FormatParser(Notes):
    """Reads the text of one document: ``feed`` pieces of it, then ``close``.

    However the text is split, the entries and problems are the same. Relative URLs are resolved
    against ``url``.
    """

    sitemap_class: type[AbstractIndexSitemap | AbstractPagesSitemap]
    """The node of the tree that a document of this kind becomes."""

    is_always_read: bool = False
    """Whether only reading its pages shows if a document is complete, and what it declares."""

    def __init__(
        self,
        url: str | None = None,
        problems: Problems | None = None,
        options: ReadOptions = ReadOptions(),  # noqa: B008 - a value
    ) -> None:
        self.url = url
        self.problems = problems if problems is not None else Problems()
        self.options = options
        self.fast, self.url_length, self.scanner_only = options

    @property
    def place(self) -> Place:
        """Where the parser is."""
        raise NotImplementedError

    def note(
        self,
        code: ProblemCode,
        excerpt: str | None = None,
        *,
        at: Place | None = None,
        lost: int = 0,
    ) -> None:
        """Note a problem at some place, or at the current one."""
        line, column = at or self.place
        self.problems.add(code, line, excerpt, lost, column=column)

    def page_of_link(self, address: str, base: str | None, line: int) -> str | None:
        """Return the URL of the page that a link leads to; None for mail, an app and the like."""
        scheme, colon, _ = address.partition(":")
        is_scheme = colon and scheme.replace("-", "").replace("+", "").isalnum()
        is_other = is_scheme and scheme.lower() not in ("http", "https")
        if is_other or address[:1] in ("", "#"):
            return None
        url = absolute_url(address, base)
        if url is None:
            self.problems.add(ProblemCode.BAD_LINK, line, address, lost=1)
        return url and without_fragment(url)

    def feed(self, text: str) -> Iterable[Entry]:
        """Return the entries that are complete so far."""
        raise NotImplementedError

    def close(self) -> Iterable[Entry]:
        """Return the rest, and note what is missing."""
        raise NotImplementedError


@cache
def parser_at(place: str) -> type[Any]:
    """Return the parser at a place such as ``feeds:RssParser``, which is loaded with the first one."""
    module, _, name = place.partition(":")
    parser: type[Any] = getattr(import_module(f"usp._formats.{module}"), name)
    return parser
