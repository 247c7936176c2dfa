"""The nodes of the sitemap tree.

::

    AbstractSitemap
    ├── InvalidSitemap                what was declared but could not be read, with the reason
    ├── AbstractIndexSitemap          lists other sitemaps
    │   ├── IndexWebsiteSitemap       the root: the website itself
    │   ├── IndexRobotsTxtSitemap
    │   └── IndexXMLSitemap
    └── AbstractPagesSitemap          lists pages
        ├── PagesXMLSitemap
        ├── PagesTextSitemap
        ├── PagesRSSSitemap
        └── PagesAtomSitemap

A page node knows no parser: it is given its pages, either as a list or as a *page source* that reads
a stored document anew each time somebody iterates.
"""

from __future__ import annotations

import abc
from itertools import chain, islice, repeat, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from usp._base.logs import get_logger
from usp._compat.names import elsewhere
from usp.objects.extension_values import old_fields
from usp.objects.page import PageList, SitemapPage
from usp.objects.pickles import flattened, restored
from usp.objects.problem import Failure, how_many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from usp._base.reason import Reason
    from usp.objects.exchange import Exchange
    from usp.objects.page import PageBlock
    from usp.objects.problem import Problem
    from usp.selection import Moment, Selection
else:
    __getattr__ = elsewhere(__name__)

__all__ = [
    "AbstractIndexSitemap",
    "AbstractPagesSitemap",
    "AbstractSitemap",
    "IndexRobotsTxtSitemap",
    "IndexWebsiteSitemap",
    "IndexXMLSitemap",
    "InvalidSitemap",
    "PageSource",
    "PagesAtomSitemap",
    "PagesRSSSitemap",
    "PagesTextSitemap",
    "PagesXMLSitemap",
    "SitemapPage",
]


log = get_logger(__name__)

_MAX_REPR = 200


def bounded(value: object) -> str:
    """Return the ``repr`` of a value, cut to a length that a terminal can show."""
    text = repr(value)
    return text if len(text) <= _MAX_REPR else text[:_MAX_REPR] + "…"


@runtime_checkable
class PageSource(Protocol):
    """Pages that are read when they are asked for."""

    def __iter__(self) -> Iterator[SitemapPage]:
        """Read the pages from the start."""
        ...

    def count(self) -> int:
        """Count the pages without keeping them."""
        ...

    def problems(self) -> list[Problem]:
        """Read the whole document and say what was wrong with it."""
        ...


class AbstractSitemap(abc.ABC):
    """A sitemap in the tree: something that lists sitemaps, or pages, or could not be read.

    Two nodes are equal if they are of the same class and have the same URL and content. A node is
    hashed by its URL and can be pickled with everything below it.
    """

    def __init__(
        self,
        url: str,
        *,
        last_modified: datetime | None = None,
        problems: Sequence[Problem] = (),
        failure: Failure | None = None,
        size: int | None = None,
        status: int | None = None,
        exchange: Exchange | None = None,
    ) -> None:
        self._url = url
        self._last_modified = last_modified
        self._problems = tuple(problems)
        self._failure = failure
        self._size = size
        self._status = status
        self._exchange = exchange

    @property
    def url(self) -> str:
        """The address of the sitemap, after redirects."""
        return self._url

    @property
    def last_modified(self) -> datetime | None:
        """When the sitemap changed, according to the index that declares it."""
        return self._last_modified

    @property
    def problems(self) -> list[Problem]:
        """What was wrong with the document, where, and how many entries it cost.

        Asking a page sitemap reads its document once.
        """
        return list(self._problems)

    def problem_count(self) -> int:
        """Return how many problems there are; finding that out reads a page sitemap once."""
        return how_many(self.problems)

    @property
    def size(self) -> int | None:
        """How many bytes of the document were received; None if it was not fetched."""
        return self._size

    @property
    def status(self) -> int | None:
        """The status of the answer; None if there was none, as with files."""
        known: int | None = getattr(self, "_status", None)  # older pickles have none
        return known if known is not None or self._failure is None else self._failure.status

    @property
    def exchange(self) -> Exchange | None:
        """What was said when the document was fetched: status, headers, redirects, attempts, times.

        Also of a sitemap that failed, if it was asked for; None for a node that was made by hand.
        """
        known: Exchange | None = getattr(self, "_exchange", None)  # older pickles have none
        return known

    @property
    def failure(self) -> Failure | None:
        """What is missing of this sitemap itself, if something is."""
        return self._failure

    @property
    def is_complete(self) -> bool:
        """Whether everything that is declared here and below was found and received as a whole.

        What was wrong inside a document that came as a whole is in :attr:`problems`.
        """
        return not self.failures()

    def failures(self) -> list[Failure]:
        """Return what of this sitemap, and of those below, is missing or incomplete, and why.

        A document that stands in the tree twice fails once.
        """
        own = (node._own_failures() for node in _walk(self))  # noqa: SLF001 - the same class
        return list(dict.fromkeys(chain.from_iterable(own)))

    def _own_failures(self) -> Sequence[Failure]:
        """Return what is missing of this sitemap itself."""
        return () if self._failure is None else (self._failure,)

    @property
    @abc.abstractmethod
    def sub_sitemaps(self) -> list[AbstractSitemap]:
        """The sitemaps directly below, in order of declaration; empty where there are none."""

    @property
    @abc.abstractmethod
    def pages(self) -> list[SitemapPage]:
        """The pages directly below, in order of declaration; empty where there are none.

        A list of all of them: for large sitemaps iterate over :meth:`all_pages` instead.
        """

    def all_sitemaps(self) -> Iterator[AbstractSitemap]:
        """Iterate over all sitemaps below this one, depth first, in order of declaration."""
        return islice(_walk(self), 1, None)

    def sitemap_count(self) -> int:
        """Count this sitemap and all below: the number that every summary gives as "sitemaps".

        robots.txt is counted, and so are sitemaps that failed; a website is not a sitemap itself. A
        document that stands in two places is counted twice, as its pages are.
        """
        return sum(1 for _ in _walk(self))

    def all_pages(self) -> Iterator[SitemapPage]:
        """Iterate over all pages below, depth first, in order of declaration."""
        return chain.from_iterable(sitemap.all_pages() for sitemap in self._page_sitemaps())

    def page_blocks(self) -> Iterator[tuple[AbstractSitemap, PageBlock]]:
        """Give the pages of :meth:`all_pages` in blocks, each with the sitemap it stands in.

        For those who build columns: a block can give its URLs, dates and so on without making a page.
        """
        return chain.from_iterable(sitemap.page_blocks() for sitemap in self._page_sitemaps())

    def page_steps(self) -> Iterator[tuple[AbstractSitemap, PageBlock | None]]:
        """Yield what :meth:`page_blocks` yields, and None as a block after a step that gave none.

        For those who have something else to do while a large or damaged document is read.
        """
        return chain.from_iterable(sitemap.page_steps() for sitemap in self._page_sitemaps())

    def page_count(self) -> int:
        """Count what :meth:`all_pages` would give, without keeping any of it."""
        return sum(sitemap.page_count() for sitemap in self._page_sitemaps())

    def _page_sitemaps(self) -> Iterator[AbstractPagesSitemap]:
        """Yield the page sitemaps below."""
        return (node for node in self.all_sitemaps() if isinstance(node, AbstractPagesSitemap))

    def to_dict(self, with_pages: bool = True) -> dict[str, Any]:
        """Return the node and everything below it as dictionaries and lists."""
        result = self._own_dict(with_pages)
        waiting = [(self, result)]
        while waiting:
            node, written = waiting.pop()
            below = [(child, child._own_dict(with_pages)) for child in node.sub_sitemaps]  # noqa: SLF001
            if "sub_sitemaps" in written:
                written["sub_sitemaps"] = [child for _, child in below]
                waiting.extend(below)
        return result

    def _own_dict(self, with_pages: bool) -> dict[str, Any]:  # noqa: ARG002 - for page nodes
        """Return the node itself as a dictionary, the list of its sitemaps still empty."""
        return {"url": self.url}

    def to_arrow(
        self, columns: Sequence[str] | None = None, selection: Selection | None = None
    ) -> Any:
        """Give all pages below as a ``pyarrow.Table``; needs ``pip install 'usp[arrow]'``."""
        from usp.export.arrow import to_arrow  # noqa: PLC0415 - an extra, and a layer above

        return to_arrow(self, columns, selection)

    def select(
        self,
        *,
        since: Moment | None = None,
        until: Moment | None = None,
        keep_undated: bool = True,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        unique: bool = False,
        same_host: bool = False,
        limit: int | None = None,
        on_undated: Callable[[int], object] | None = None,
    ) -> Iterator[SitemapPage]:
        """Iterate over the pages below that are wanted, as :class:`usp.Selection` describes."""
        from usp.selection import Selection  # noqa: PLC0415 - a layer above

        selection = Selection(
            since=since,
            until=until,
            keep_undated=keep_undated,
            include=include,
            exclude=exclude,
            unique=unique,
            same_host=same_host,
            limit=limit,
            on_undated=on_undated,
        )
        return selection.of(self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Give all pages below, batch by batch, to whoever reads Arrow: polars, pyarrow, duckdb."""
        from usp.export.arrow import c_stream  # noqa: PLC0415 - an extra, and a layer above

        return c_stream(self, requested_schema)

    def _repr_html_(self) -> str:
        """Show the tree in a notebook."""
        from usp.report.notebook import repr_html  # noqa: PLC0415 - a layer above

        return repr_html(self)

    @abc.abstractmethod
    def _same_content(self, other: Any) -> bool:
        """Compare everything but the URL and the sitemaps below with a node of the same class."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AbstractSitemap):
            return NotImplemented
        waiting = [(self, other)]
        while waiting:
            one, two = waiting.pop()
            if one is two:
                continue
            if type(one) is not type(two) or one.url != two.url or not one._same_content(two):
                return False
            below = one.sub_sitemaps, two.sub_sitemaps
            if len(below[0]) != len(below[1]):
                return False
            waiting.extend(zip(*below, strict=True))
        return True

    def __hash__(self) -> int:
        return hash(self.url)

    def __setstate__(self, state: Any) -> None:
        """Take the state of a node that was pickled here, or by 1.8.1."""
        fields = old_fields(state)
        if fields is None:
            vars(self).update(state)
        else:
            type(self).__init__(self, **fields)


class InvalidSitemap(AbstractSitemap):
    """A sitemap that was declared but could not be fetched or read.

    ``missing`` is False for one that leads back to a sitemap above it: that one is in the tree, so
    nothing is missing, and there is no failure.
    """

    def __init__(
        self,
        url: str,
        reason: str,
        *,
        last_modified: datetime | None = None,
        problems: Sequence[Problem] = (),
        failure: Failure | None = None,
        missing: bool = True,
        exchange: Exchange | None = None,
    ) -> None:
        super().__init__(
            url,
            last_modified=last_modified,
            problems=problems,
            failure=(failure or Failure(url, reason)) if missing else None,
            exchange=exchange,
        )
        self._reason = reason
        self._why = failure or Failure(url, reason)
        log.info("Invalid sitemap: %s, reason: %s", url, reason)

    @property
    def reason(self) -> str:
        """Why the sitemap could not be read."""
        return self._reason

    @property
    def why(self) -> Failure:
        """The same for programs, with its code; also of a sitemap that leads back to one above it."""
        known: Failure | None = getattr(self, "_why", None)  # older pickles have none
        return known or Failure(self.url, self.reason)

    @property
    def sub_sitemaps(self) -> list[AbstractSitemap]:
        """Empty: nothing is known below an invalid sitemap."""
        return []

    @property
    def pages(self) -> list[SitemapPage]:
        """Empty: nothing is known below an invalid sitemap."""
        return []

    def _own_dict(self, with_pages: bool) -> dict[str, Any]:
        return {**super()._own_dict(with_pages), "reason": self.reason}

    def _same_content(self, other: InvalidSitemap) -> bool:
        return self.reason == other.reason

    def __repr__(self) -> str:
        """Give URL and reason."""
        return f"{type(self).__name__}(url={bounded(self.url)}, reason={bounded(self.reason)})"


class AbstractIndexSitemap(AbstractSitemap):
    """A sitemap that lists other sitemaps."""

    def __init__(
        self,
        url: str,
        sub_sitemaps: list[AbstractSitemap],
        *,
        last_modified: datetime | None = None,
        problems: Sequence[Problem] = (),
        failure: Failure | None = None,
        size: int | None = None,
        status: int | None = None,
        exchange: Exchange | None = None,
    ) -> None:
        super().__init__(
            url,
            last_modified=last_modified,
            problems=problems,
            failure=failure,
            size=size,
            status=status,
            exchange=exchange,
        )
        self._sub_sitemaps = list(sub_sitemaps)

    @property
    def sub_sitemaps(self) -> list[AbstractSitemap]:
        """The sitemaps directly below, in order of declaration."""
        return list(self._sub_sitemaps)

    @property
    def pages(self) -> list[SitemapPage]:
        """Empty: an index has no pages of its own."""
        return []

    def _own_dict(self, with_pages: bool) -> dict[str, Any]:
        return {**super()._own_dict(with_pages), "sub_sitemaps": []}

    def _same_content(self, other: AbstractIndexSitemap) -> bool:
        return len(self._sub_sitemaps) == len(other._sub_sitemaps)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the indexes below as a list: pickle itself is no use for a deep tree."""
        return restored, (flattened(self),)

    def __repr__(self) -> str:
        """Give the URL and how many sitemaps stand directly below."""
        below = len(self._sub_sitemaps)
        return f"{type(self).__name__}(url={bounded(self.url)}, sub_sitemaps=<{below} sitemaps>)"


class IndexWebsiteSitemap(AbstractIndexSitemap):
    """The root of the tree: a website, above its robots.txt and its other sitemaps.

    ``not_found`` are failures of what stands nowhere in the tree: a robots.txt that was not fetched.
    ``tried`` are the exchanges of everything that was asked for and stands nowhere in the tree.
    """

    def __init__(
        self,
        url: str,
        sub_sitemaps: list[AbstractSitemap],
        *,
        last_modified: datetime | None = None,
        problems: Sequence[Problem] = (),
        failure: Failure | None = None,
        size: int | None = None,
        status: int | None = None,
        exchange: Exchange | None = None,
        not_found: Sequence[Failure] = (),
        tried: Sequence[Exchange] = (),
    ) -> None:
        super().__init__(
            url,
            sub_sitemaps,
            last_modified=last_modified,
            problems=problems,
            failure=failure,
            size=size,
            status=status,
            exchange=exchange,
        )
        self._not_found = tuple(not_found)
        self._tried = tuple(tried)

    @property
    def tried(self) -> list[Exchange]:
        """The exchanges of what was looked for and stands nowhere in the tree, such as known paths."""
        known: tuple[Exchange, ...] = getattr(self, "_tried", ())  # older pickles have none
        return list(known)

    @property
    def not_found(self) -> list[Failure]:
        """What was looked for and could not be fetched, and so stands nowhere in the tree."""
        return list(self._not_found)

    def sitemap_count(self) -> int:
        """Count the sitemaps of the website."""
        return super().sitemap_count() - 1

    def _own_failures(self) -> Sequence[Failure]:
        """Return what is missing of the website itself, and what stands nowhere below it."""
        return (*self._not_found, *super()._own_failures())


class IndexXMLSitemap(AbstractIndexSitemap):
    """An XML index (``sitemapindex``)."""


class IndexRobotsTxtSitemap(AbstractIndexSitemap):
    """A robots.txt, whose ``Sitemap:`` lines declare sitemaps."""


class AbstractPagesSitemap(AbstractSitemap):
    """A sitemap that lists pages, given as a list or as a :class:`PageSource`."""

    def __init__(
        self,
        url: str,
        pages: Iterable[SitemapPage],
        *,
        last_modified: datetime | None = None,
        problems: Sequence[Problem] = (),
        failure: Failure | None = None,
        size: int | None = None,
        status: int | None = None,
        exchange: Exchange | None = None,
    ) -> None:
        super().__init__(
            url,
            last_modified=last_modified,
            problems=problems,
            failure=failure,
            size=size,
            status=status,
            exchange=exchange,
        )
        self._pages = pages if isinstance(pages, PageSource) else list(pages)

    @property
    def has_page_list(self) -> bool:
        """Whether the pages were given as a list, so that counting them reads no document."""
        return isinstance(self._pages, list)

    @property
    def problems(self) -> list[Problem]:
        """What was wrong with the document; asking reads it, once."""
        return self.problems_until(lambda: None)

    def problem_count(self) -> int:
        """Return how many problems there are; finding that out reads the document once."""
        count = getattr(self._pages, "problem_count", None)
        return how_many(self._problems) + count() if count else super().problem_count()

    def examined_blocks(self) -> Iterator[tuple[AbstractSitemap, PageBlock]]:
        """Yield the pages in blocks, read field by field: their problems and number are known then."""
        examined = getattr(self._pages, "examined", None)
        return self.page_blocks() if examined is None else zip(repeat(self), examined())

    def problems_until(self, given_up: Callable[[], Reason | None]) -> list[Problem]:
        """Return the same, as far as the document was read before there was a reason to give up."""
        own = super().problems
        if isinstance(self._pages, list):
            return own
        if hasattr(self._pages, "steps"):
            return own + self._pages.problems(given_up)  # type: ignore[call-arg]
        return own + self._pages.problems()

    @property
    def sub_sitemaps(self) -> list[AbstractSitemap]:
        """Empty: a page sitemap lists no sitemaps."""
        return []

    @property
    def pages(self) -> list[SitemapPage]:
        """All pages of the sitemap, as a list."""
        return list(self._pages)

    def all_pages(self) -> Iterator[SitemapPage]:
        """Iterate over the pages of the sitemap, in order of declaration."""
        return iter(self._pages)

    def page_blocks(self) -> Iterator[tuple[AbstractSitemap, PageBlock]]:
        """Give the pages of the sitemap in blocks."""
        blocks = getattr(self._pages, "blocks", None)
        if blocks is None:
            return zip(repeat(self), _lists(self._pages))
        return zip(repeat(self), blocks())

    def page_steps(self) -> Iterator[tuple[AbstractSitemap, PageBlock | None]]:
        """Yield the pages of the sitemap in blocks, and None after a step that gave none."""
        steps = getattr(self._pages, "steps", None)
        return self.page_blocks() if steps is None else zip(repeat(self), steps())

    def page_count(self) -> int:
        """Return the number of pages; finding that out reads the document, once."""
        return len(self._pages) if isinstance(self._pages, list) else self._pages.count()

    def _own_dict(self, with_pages: bool) -> dict[str, Any]:
        result = super()._own_dict(with_pages)
        if with_pages:
            result["pages"] = [page.to_dict() for page in self._pages]
        return result

    def _same_content(self, other: AbstractPagesSitemap) -> bool:
        return all(ours == theirs for ours, theirs in zip_longest(self._pages, other._pages))

    def __repr__(self) -> str:
        """Give the URL, and the number of pages where that costs nothing."""
        known = f"<{len(self._pages)} pages>" if isinstance(self._pages, list) else "<pages>"
        return f"{type(self).__name__}(url={bounded(self.url)}, pages={known})"


def _walk(root: AbstractSitemap) -> Iterator[AbstractSitemap]:
    """Yield a sitemap and all below it, depth first, in order of declaration, however deep."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.sub_sitemaps))


def _lists(pages: Iterable[SitemapPage]) -> Iterator[PageList]:
    remaining = iter(pages)
    while some := list(islice(remaining, _BLOCK)):
        yield PageList(some)


_BLOCK = 1000


class PagesXMLSitemap(AbstractPagesSitemap):
    """An XML sitemap (``urlset``)."""


class PagesTextSitemap(AbstractPagesSitemap):
    """A plain-text sitemap: one URL a line."""


class PagesRSSSitemap(AbstractPagesSitemap):
    """An RSS 2.0, 1.0 or 0.9x feed."""


class PagesAtomSitemap(AbstractPagesSitemap):
    """An Atom 1.0 or 0.3 feed."""


class SitemapKind(NamedTuple):
    """What a kind of sitemaps is called: in tables, and where people read it."""

    name: str
    label: str


KINDS: Mapping[type[AbstractSitemap], SitemapKind] = {
    IndexWebsiteSitemap: SitemapKind("website", "website"),
    IndexRobotsTxtSitemap: SitemapKind("robots", "robots.txt"),
    IndexXMLSitemap: SitemapKind("index", "index"),
    PagesXMLSitemap: SitemapKind("urlset", "XML"),
    PagesTextSitemap: SitemapKind("text", "text"),
    PagesRSSSitemap: SitemapKind("rss", "RSS"),
    PagesAtomSitemap: SitemapKind("atom", "Atom"),
    InvalidSitemap: SitemapKind("invalid", "invalid"),
}
"""Every kind of nodes."""


def kind_of(node: AbstractSitemap) -> SitemapKind:
    """Return what kind a node is of; one of a class of somebody else's is of that class's kind."""
    return next(KINDS[kind] for kind in (*type(node).__mro__, InvalidSitemap) if kind in KINDS)
