"""The base class of all nodes: a URL, facts about the document, and iteration over what is below."""

from __future__ import annotations

import abc
import inspect
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypedDict

from usp._base.reason import Reason
from usp.objects.extension_values import old_fields
from usp.objects.problem import Failure, Problem, how_many
from usp.options import with_keywords

if TYPE_CHECKING:
    from datetime import datetime
    from os import PathLike

    from usp._crawl.orders import Fetched
    from usp._crawl.stored_pages import StoredPages
    from usp.objects.exchange import Exchange
    from usp.objects.page import PageBlock, SitemapPage
    from usp.objects.sitemap import AbstractIndexSitemap
    from usp.selection import Moment, Selection


class SitemapFacts(TypedDict, total=False):
    """What a node of any kind may be given about its document, by keyword."""

    last_modified: datetime | None
    problems: Sequence[Problem]
    failure: Failure | Reason | None
    size: int | None
    exchange: Exchange | None


class AbstractSitemap(abc.ABC):
    """A sitemap in the tree: something that lists sitemaps, or pages, or could not be read.

    Two nodes are equal if they are of the same class and have the same URL and content. A node is
    hashed by its URL and can be pickled with everything below it.
    """

    lists_pages: ClassVar[bool] = False
    """Whether nodes of this class list pages."""

    _last_modified: datetime | None = None
    _problems: Sequence[Problem] = ()
    _failure: Failure | Reason | None = None
    _size: int | None = None
    _exchange: Exchange | None = None
    _fetched: Fetched | None = None
    _stored: StoredPages | None = None

    def __init__(
        self,
        url: str,
        *,
        last_modified: datetime | None = None,
        problems: Sequence[Problem] = (),
        failure: Failure | Reason | None = None,
        size: int | None = None,
        exchange: Exchange | None = None,
    ) -> None:
        self._url = url
        self._last_modified = last_modified
        self._problems = tuple(problems)
        self._failure = failure
        self._size = size
        self._exchange = exchange

    @property
    def url(self) -> str:
        """The URL of the sitemap, after redirects."""
        return self._url

    @property
    def last_modified(self) -> datetime | None:
        """When the sitemap changed, according to the index that declares it."""
        return self._last_modified

    @property
    def problems(self) -> list[Problem]:
        """What was wrong with the document, where, and how many entries it cost.

        On first access, the document of a page sitemap is parsed.
        """
        return list(self._problems)

    def problem_count(self) -> int:
        """Return how many problems there are; a page sitemap is parsed on first use."""
        return how_many(self.problems)

    @property
    def size(self) -> int | None:
        """How many bytes of the document were received; None if it was not fetched."""
        return self._size

    @property
    def status(self) -> int | None:
        """The HTTP status of the response; None if there was none, as for files."""
        if self._exchange is not None:
            return self._exchange.status
        return self.failure.status if self.failure else None

    @property
    def exchange(self) -> Exchange | None:
        """How the document was fetched: status, headers, redirects, attempts, timing.

        A sitemap that failed has one too, if it was requested; a node that you create has None.
        """
        return self._exchange

    @property
    def failure(self) -> Failure | None:
        """Why this sitemap itself is missing or incomplete, or None."""
        if isinstance(self._failure, Reason):  # few look at it
            self._failure = Failure.of(self.url, self._failure)
        return self._failure

    @property
    def is_complete(self) -> bool:
        """Whether everything that is declared here and below was found and received completely.

        What is wrong inside a complete document is in :attr:`problems`.
        """
        return not self.failures()

    def failures(self) -> list[Failure]:
        """Return which sitemaps, this one and those below, are missing or incomplete, and why.

        A document that is in the tree twice is listed once.
        """
        own = (node._own_failures() for node in walk(self))  # noqa: SLF001 - the same class
        return list(dict.fromkeys(chain.from_iterable(own)))

    def _own_failures(self) -> Sequence[Failure]:
        failure = self.failure
        return () if failure is None else (failure,)

    @property
    def sub_sitemaps(self) -> list[AbstractSitemap]:
        """The sitemaps directly below, in order of declaration; empty unless this is an index."""
        return []

    @property
    def pages(self) -> list[SitemapPage]:
        """The pages directly below, in order of declaration; empty unless this is a page sitemap.

        This is a list; for large sitemaps, iterate over :meth:`all_pages` instead.
        """
        return []

    def all_sitemaps(self) -> Iterator[AbstractSitemap]:
        """Iterate over all sitemaps below this one, depth first, in order of declaration."""
        return islice(walk(self), 1, None)

    def sitemap_count(self) -> int:
        """Return the number of sitemaps, this one and all below: "sitemaps" in every summary.

        robots.txt is counted, and so are sitemaps that failed; a website is not a sitemap itself. A
        document that is declared twice is counted twice, and so are its pages.
        """
        return sum(1 for _ in walk(self))

    def all_pages(self) -> Iterator[SitemapPage]:
        """Iterate over all pages below, depth first, in order of declaration."""
        return chain.from_iterable(map(_pages_of, page_sitemaps(self)))

    def page_blocks(self) -> Iterator[tuple[AbstractSitemap, PageBlock]]:
        """Yield the pages of :meth:`all_pages` in blocks, each with its sitemap.

        For building columns: a block has URLs, dates and so on without creating page objects.
        """
        return chain.from_iterable(map(methodcaller("page_blocks"), page_sitemaps(self)))

    def page_count(self) -> int:
        """Return the number of pages of :meth:`all_pages`, without keeping any of them."""
        return sum(sitemap.page_count() for sitemap in page_sitemaps(self))

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

    def save(self, path: str | PathLike[str]) -> None:
        """Write what the tree was read from to a snapshot, a WARC file that ``usp.load`` reads.

        For the root of a tree that was crawled or loaded, not for one that was pickled. The file is
        replaced only when the new one is complete. Needs the extra ``warc``. Raises
        ``SnapshotError`` if the documents of the tree are not at hand.
        """
        from usp._snapshot.recording import save  # noqa: PLC0415 - warcio is an extra

        save(self._fetched, path)

    def to_arrow(
        self, columns: Sequence[str] | None = None, selection: Selection | None = None
    ) -> Any:
        """Return all pages below as a ``pyarrow.Table``; needs the extra ``arrow``."""
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
        """Iterate over the pages below that match; :class:`usp.Selection` describes the parameters."""
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
        """Return all pages below, in batches, as an Arrow stream for polars, pyarrow or duckdb."""
        from usp.export.arrow import c_stream  # noqa: PLC0415 - an extra, and a layer above

        return c_stream(self, requested_schema)

    def _repr_html_(self) -> str:
        """Return the tree as a notebook shows it."""
        from usp.report.notebook import repr_html  # noqa: PLC0415 - a layer above

        return repr_html(self)

    @abc.abstractmethod
    def _same_content(self, other: Any) -> bool:
        """Return whether a node of the same class has the same content, apart from URL and children."""

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
        """Restore the state of a node that was pickled here, or by 1.8.1."""
        fields = old_fields(state)
        if fields is None:
            vars(self).update(state)
        else:
            type(self).__init__(self, **fields)


shows_facts = with_keywords(list(inspect.signature(AbstractSitemap).parameters.values())[1:])
"""Decorates constructors that pass :class:`SitemapFacts` on: their signatures list them."""


def walk(root: AbstractSitemap) -> Iterator[AbstractSitemap]:
    """Yield a sitemap and all below it, depth first, in order of declaration, however deep."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if below := node.sub_sitemaps:
            waiting += reversed(below)


def page_sitemaps(root: AbstractSitemap) -> Iterator[AbstractSitemap]:
    """Yield the sitemaps of a tree that list pages, in its order."""
    return filter(_lists_pages, walk(root))


_lists_pages, _pages_of = attrgetter("lists_pages"), methodcaller("all_pages")


# Trees in pickles: flat, so that they may be deep --------------------------------------------------


_CHILDREN = "_sub_sitemaps"
# Nodes without children as they are; indexes as class, state, and the positions of their children.
_Flat: TypeAlias = (
    "list[tuple[AbstractSitemap, None, None] | tuple[type, dict[str, Any], list[int]]]"
)


def reduced(top: AbstractIndexSitemap) -> tuple[Any, ...]:
    """Return what is pickled of a tree: a list, the root first; what is in it twice is listed once."""
    places = {id(top): 0}
    order: list[AbstractSitemap] = [top]
    flat: _Flat = []
    for node in order:  # grows during the iteration
        below = _children(node)
        if below is None:
            flat.append((node, None, None))
            continue
        for child in below:
            if id(child) not in places:
                places[id(child)] = len(order)
                order.append(child)
        state = {name: value for name, value in vars(node).items() if name != _CHILDREN}
        flat.append((type(node), state, [places[id(child)] for child in below]))
    return restored, (flat,)


def _children(node: AbstractSitemap) -> Sequence[AbstractSitemap] | None:
    """Return the children of an index; None for other nodes and for classes with their own pickling."""
    ours = getattr(type(node).__reduce__, "__module__", "") == "usp.objects.sitemap"
    return vars(node).get(_CHILDREN) if ours else None


def restored(flat: _Flat) -> AbstractSitemap:
    """Return the tree of a list that :func:`reduced` made."""
    nodes: list[Any] = []
    for kind, state, _ in flat:
        if state is None:
            nodes.append(kind)
        else:
            node: Any = object.__new__(kind)  # type: ignore[arg-type]
            vars(node).update(state)
            nodes.append(node)
    for node, (_, _, below) in zip(nodes, flat, strict=True):
        if below is not None:
            vars(node)[_CHILDREN] = [nodes[at] for at in below]
    top: AbstractSitemap = nodes[0]
    return top
