"""The nodes of the sitemap tree.

::

    AbstractSitemap
    ├── InvalidSitemap                what was declared but could not be read, with the reason
    ├── AbstractIndexSitemap          lists other sitemaps
    │   ├── IndexWebsiteSitemap       the root: the website itself
    │   ├── IndexRobotsTxtSitemap
    │   ├── IndexXMLSitemap
    │   ├── IndexJSONFeedSitemap      a JSON Feed with a next one
    │   ├── IndexLlmsTxtSitemap       an llms.txt that links to others
    │   ├── IndexResourceSyncSitemap  a list of lists, in ResourceSync
    │   └── IndexOPMLSitemap          a list of feeds
    └── AbstractPagesSitemap          lists pages
        ├── PagesXMLSitemap
        ├── PagesTextSitemap
        ├── PagesRSSSitemap
        ├── PagesAtomSitemap
        ├── PagesHTMLSitemap
        ├── PagesJSONFeedSitemap
        ├── PagesLlmsTxtSitemap
        └── PagesResourceSyncSitemap

Page nodes do not depend on parsers: they are given their pages, either as a list or as a *page
source*, which parses a stored document each time it is iterated over.
"""

from __future__ import annotations

from itertools import repeat, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from usp._base.display import counted, get_logger, printable
from usp._base.names import lazy_getattr
from usp.objects.abstract_sitemap import (
    AbstractSitemap,
    SitemapFacts,
    reduced,
    shows_facts,
    walk,
)
from usp.objects.page import NodePages, PageSource, SitemapPage
from usp.objects.problem import Failure, how_many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from usp._base.reason import Reason
    from usp._crawl.orders import Fetched
    from usp._crawl.stored_pages import StoredPages
    from usp.objects.child import SkippedSitemap
    from usp.objects.exchange import Exchange
    from usp.objects.page import PageBlock
    from usp.objects.problem import Problem
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = [
    "AbstractIndexSitemap",
    "AbstractPagesSitemap",
    "AbstractSitemap",
    "IndexJSONFeedSitemap",
    "IndexLlmsTxtSitemap",
    "IndexOPMLSitemap",
    "IndexResourceSyncSitemap",
    "IndexRobotsTxtSitemap",
    "IndexWebsiteSitemap",
    "IndexXMLSitemap",
    "InvalidSitemap",
    "PageSource",
    "PagesAtomSitemap",
    "PagesHTMLSitemap",
    "PagesJSONFeedSitemap",
    "PagesLlmsTxtSitemap",
    "PagesRSSSitemap",
    "PagesResourceSyncSitemap",
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


class InvalidSitemap(AbstractSitemap):
    """A sitemap that was declared but could not be fetched or read.

    ``missing`` is False if it leads back to one of its ancestors: that one is in the tree, so nothing
    is missing, and there is no failure.
    """

    _missing = True

    @shows_facts
    def __init__(
        self, url: str, reason: str, *, missing: bool = True, **facts: Unpack[SitemapFacts]
    ) -> None:
        super().__init__(url, **facts)
        self._missing = missing
        self._reason = printable(reason)
        log.info("Invalid sitemap: %s, reason: %s", url, reason)

    @property
    def reason(self) -> str:
        """Why the sitemap could not be read."""
        return self._reason

    @property
    def failure(self) -> Failure | None:
        """Why the sitemap is missing; None if it leads back to one of its ancestors."""
        return self.why if self._missing else None

    @property
    def why(self) -> Failure:
        """The reason with its code, also if the sitemap leads back to one of its ancestors."""
        return super().failure or Failure(self.url, self.reason)

    def _own_dict(self, with_pages: bool) -> dict[str, Any]:
        return {**super()._own_dict(with_pages), "reason": self.reason}

    def _same_content(self, other: InvalidSitemap) -> bool:
        return self.reason == other.reason

    def __repr__(self) -> str:
        """Return URL and reason."""
        return f"{type(self).__name__}(url={bounded(self.url)}, reason={bounded(self.reason)})"


class AbstractIndexSitemap(AbstractSitemap):
    """A sitemap that lists other sitemaps."""

    # The kind of its first child, which has the pages that it lists itself; None if it must not.
    _pages_kind: type[AbstractPagesSitemap] | None = None

    @shows_facts
    def __init__(
        self,
        url: str,
        sub_sitemaps: list[AbstractSitemap],
        *,
        skipped: Sequence[SkippedSitemap] = (),
        **facts: Unpack[SitemapFacts],
    ) -> None:
        super().__init__(url, **facts)
        self._sub_sitemaps = list(sub_sitemaps)
        self._skipped = tuple(skipped)

    @property
    def sub_sitemaps(self) -> list[AbstractSitemap]:
        """The sitemaps directly below, in order of declaration."""
        return list(self._sub_sitemaps)

    @property
    def skipped(self) -> list[SkippedSitemap]:
        """The sitemaps that are declared here but were left out by an option or a callback."""
        return list(self._skipped)

    def _own_dict(self, with_pages: bool) -> dict[str, Any]:
        return {**super()._own_dict(with_pages), "sub_sitemaps": []}

    def _same_content(self, other: AbstractIndexSitemap) -> bool:  # noqa: ARG002 - its children are all
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the tree as a flat list: pickle itself fails for deep trees."""
        return reduced(self)

    def __repr__(self) -> str:
        """Return the URL and the number of direct children."""
        below = counted(len(self._sub_sitemaps), "sitemap")
        return f"{type(self).__name__}(url={bounded(self.url)}, sub_sitemaps=<{below}>)"


class IndexWebsiteSitemap(AbstractIndexSitemap):
    """The root of the tree: a website, above its robots.txt and its other sitemaps.

    With ``use_neighbours``, the last of ``sub_sitemaps`` are websites, too: its neighbours.
    ``not_found`` has the failures of documents without a place in the tree, such as a robots.txt that
    could not be fetched; ``tried`` has the exchanges of all requests for such documents.
    """

    @shows_facts
    def __init__(
        self,
        url: str,
        sub_sitemaps: list[AbstractSitemap],
        *,
        not_found: Sequence[Failure] = (),
        tried: Sequence[Exchange] = (),
        **facts: Unpack[SitemapFacts],
    ) -> None:
        super().__init__(url, sub_sitemaps, **facts)
        self._not_found = tuple(not_found)
        self._tried = tuple(tried)

    @property
    def tried(self) -> list[Exchange]:
        """The exchanges of requests for documents that are not in the tree, such as known paths."""
        return list(self._tried)

    @property
    def not_found(self) -> list[Failure]:
        """What was looked for but could not be fetched, and so is not in the tree."""
        return list(self._not_found)

    def sitemap_count(self) -> int:
        """Return the number of sitemaps of the website, and of its neighbours."""
        return sum(not isinstance(node, IndexWebsiteSitemap) for node in walk(self))

    def _own_failures(self) -> Sequence[Failure]:
        """Return the failures of the website itself, and of what is not in the tree."""
        return (*self._not_found, *super()._own_failures())


class IndexXMLSitemap(AbstractIndexSitemap):
    """An XML index (``sitemapindex``)."""


class IndexOPMLSitemap(AbstractIndexSitemap):
    """An OPML document: a list of feeds."""


class IndexRobotsTxtSitemap(AbstractIndexSitemap):
    """A robots.txt, whose ``Sitemap:`` lines declare sitemaps."""


class AbstractPagesSitemap(AbstractSitemap):
    """A sitemap that lists pages, given as a list or as a :class:`PageSource`."""

    lists_pages = True

    @shows_facts
    def __init__(
        self, url: str, pages: Iterable[SitemapPage], **facts: Unpack[SitemapFacts]
    ) -> None:
        super().__init__(url, **facts)
        self._pages = pages if isinstance(pages, NodePages) else NodePages(pages)

    @property
    def failure(self) -> Failure | None:
        """Why this sitemap is missing or incomplete, or None.

        That a stored document is damaged may be known only when it was read.
        """
        known, damage = super().failure, self._pages.damage
        return known if damage is None or known else Failure.of(self.url, damage, 0, self.status)

    @property
    def problems(self) -> list[Problem]:
        """What was wrong with the document, which is parsed on first access."""
        return [*self._problems, *self._pages.problems()]

    def problem_count(self) -> int:
        """Return how many problems there are; on first use, the document is parsed."""
        return how_many(self._problems) + self._pages.problem_count()

    @property
    def pages(self) -> list[SitemapPage]:
        """All pages of the sitemap, as a list."""
        return list(self._pages)

    def all_pages(self) -> Iterator[SitemapPage]:
        """Iterate over the pages of the sitemap, in order of declaration."""
        return iter(self._pages)

    def page_blocks(self) -> Iterator[tuple[AbstractSitemap, PageBlock]]:
        """Yield the pages of the sitemap in blocks."""
        return zip(repeat(self), self._pages.blocks())

    def page_count(self) -> int:
        """Return the number of pages; on first use, the document is parsed."""
        return self._pages.count()

    def _own_dict(self, with_pages: bool) -> dict[str, Any]:
        result = super()._own_dict(with_pages)
        if with_pages:
            result["pages"] = [page.to_dict() for page in self._pages]
        return result

    def _same_content(self, other: AbstractPagesSitemap) -> bool:
        return all(ours == theirs for ours, theirs in zip_longest(self._pages, other._pages))

    def __repr__(self) -> str:
        """Return the URL, and the number of pages if it is known."""
        count = self._pages.given_count
        pages = "pages" if count is None else counted(count, "page")
        return f"{type(self).__name__}(url={bounded(self.url)}, pages=<{pages}>)"


class PagesXMLSitemap(AbstractPagesSitemap):
    """An XML sitemap (``urlset``)."""


class PagesResourceSyncSitemap(PagesXMLSitemap):
    """A resource list or a change list of ResourceSync (NISO Z39.99): a ``urlset``.

    The entries of dumps, which are packages of resources, are no pages.
    """

    @property
    def removed(self) -> list[SitemapPage]:
        """The resources that a change list says are gone; they are not among the pages."""
        return list(self._pages.removed())

    def _own_dict(self, with_pages: bool) -> dict[str, Any]:
        result = super()._own_dict(with_pages)
        if with_pages:
            result["removed"] = [page.to_dict() for page in self._pages.removed()]
        return result


class IndexResourceSyncSitemap(IndexXMLSitemap):
    """A source description or a capability list of ResourceSync: a ``urlset`` of other lists."""


class PagesTextSitemap(AbstractPagesSitemap):
    """A plain-text sitemap: one URL per line."""


class PagesRSSSitemap(AbstractPagesSitemap):
    """An RSS 2.0, 1.0 or 0.9x feed."""


class PagesAtomSitemap(AbstractPagesSitemap):
    """An Atom 1.0 or 0.3 feed."""


class PagesHTMLSitemap(AbstractPagesSitemap):
    """An HTML sitemap: a page of links, for people."""


class PagesJSONFeedSitemap(AbstractPagesSitemap):
    """A JSON Feed 1.0 or 1.1."""


class IndexJSONFeedSitemap(AbstractIndexSitemap):
    """A JSON Feed that names a next one: its own pages are in its first child, a page sitemap."""

    _pages_kind = PagesJSONFeedSitemap


class PagesLlmsTxtSitemap(AbstractPagesSitemap):
    """An llms.txt, or another list of links in Markdown."""


class IndexLlmsTxtSitemap(AbstractIndexSitemap):
    """An llms.txt that links to others: its own links are in its first child, a page sitemap.

    The others are followed with ``use_llms_txt``; otherwise, they are ``skipped``.
    """

    _pages_kind = PagesLlmsTxtSitemap


# What the package itself asks of nodes --------------------------------------------------------------


def unfetched(url: str, why: Reason, last_modified: datetime | None) -> InvalidSitemap:
    """Return the node of a sitemap that nobody fetched: an index that is given has many."""
    node = InvalidSitemap.__new__(InvalidSitemap)  # what is not set is as the classes say
    node._url, node._reason, node._failure = url, why.text, why  # noqa: SLF001 - of this module
    node._last_modified = last_modified  # noqa: SLF001
    log.info("Invalid sitemap: %s, reason: %s", url, why.text)
    return node


def not_found_in(root: AbstractSitemap) -> list[Failure]:
    """Return what was looked for but is not in the tree, of a website and its neighbours."""
    websites = (
        node for node in (root, *root.sub_sitemaps) if isinstance(node, IndexWebsiteSitemap)
    )
    return [failure for website in websites for failure in website.not_found]


def websites_in(root: AbstractSitemap) -> Iterator[AbstractSitemap]:
    """Yield a tree without the neighbours of its website, and theirs; any other tree as it is."""
    below = root.sub_sitemaps
    neighbours = [node for node in below if isinstance(node, IndexWebsiteSitemap)]
    if neighbours and isinstance(root, IndexWebsiteSitemap):
        own = [node for node in below if not isinstance(node, IndexWebsiteSitemap)]
        root = IndexWebsiteSitemap(root.url, own, not_found=root.not_found, tried=root.tried)
    yield root
    yield from neighbours


def page_steps(root: AbstractSitemap) -> Iterator[tuple[AbstractSitemap, PageBlock | None]]:
    """Yield what ``page_blocks`` yields, with None as the block after a step without pages.

    For callers that have other work to do while a large or damaged document is parsed.
    """
    for node in walk(root):
        if isinstance(node, AbstractPagesSitemap):
            yield from zip(repeat(node), node._pages.steps())  # noqa: SLF001


def problems_until(
    node: AbstractPagesSitemap, given_up: Callable[[], Reason | None]
) -> list[Problem]:
    """Return the problems; stop reading the document once ``given_up`` returns a reason."""
    return [*node._problems, *node._pages.problems(given_up)]  # noqa: SLF001


def same_document(one: object, other: object) -> bool:
    """Return whether two things are sitemaps that are read from the same bytes in the same way."""
    if not (isinstance(one, AbstractPagesSitemap) and isinstance(other, AbstractPagesSitemap)):
        return False
    return one._pages.same_document(other._pages)  # noqa: SLF001


def has_page_list(node: AbstractPagesSitemap) -> bool:
    """Return whether the pages were given as a list, so that no document is parsed to count them."""
    return node._pages.given_count is not None  # noqa: SLF001


def stored_of(node: AbstractSitemap) -> StoredPages | None:
    """Return the document of a sitemap, to be read again; None if it is not at hand."""
    stored = node._pages if isinstance(node, AbstractPagesSitemap) else node._stored  # noqa: SLF001
    return stored if hasattr(stored, "examination") else None  # type: ignore[return-value]


def fetched_of(root: AbstractSitemap) -> Fetched | None:
    """Return what a tree was read from; None for nodes that are not its root, and after pickling."""
    return root._fetched  # noqa: SLF001


def keep_fetched(root: AbstractSitemap, fetched: Fetched | None) -> None:
    """Keep what a tree was read from, for ``save``."""
    root._fetched = fetched  # noqa: SLF001


class SitemapKind(NamedTuple):
    """The names of a kind of sitemap: in tables, and for people."""

    name: str
    label: str


KINDS: Mapping[type[AbstractSitemap], SitemapKind] = {  # all kinds of nodes
    IndexWebsiteSitemap: SitemapKind("website", "website"),
    IndexRobotsTxtSitemap: SitemapKind("robots", "robots.txt"),
    IndexXMLSitemap: SitemapKind("index", "index"),
    PagesXMLSitemap: SitemapKind("urlset", "XML"),
    PagesResourceSyncSitemap: SitemapKind("resourcesync", "ResourceSync"),
    IndexResourceSyncSitemap: SitemapKind("index", "index"),
    PagesTextSitemap: SitemapKind("text", "text"),
    PagesRSSSitemap: SitemapKind("rss", "RSS"),
    PagesAtomSitemap: SitemapKind("atom", "Atom"),
    PagesHTMLSitemap: SitemapKind("html", "HTML"),
    PagesJSONFeedSitemap: SitemapKind("jsonfeed", "JSON Feed"),
    IndexJSONFeedSitemap: SitemapKind("index", "index"),
    IndexOPMLSitemap: SitemapKind("opml", "OPML"),
    PagesLlmsTxtSitemap: SitemapKind("llms", "llms.txt"),
    IndexLlmsTxtSitemap: SitemapKind("index", "index"),
    InvalidSitemap: SitemapKind("invalid", "invalid"),
}


_OTHERS = frozenset({IndexWebsiteSitemap, InvalidSitemap})
SITEMAP_TYPES = tuple(
    dict.fromkeys(kind.name for node, kind in KINDS.items() if node not in _OTHERS)
)
"""The names of all kinds of sitemaps that can be read."""

FEEDS = frozenset({"rss", "atom", "jsonfeed"})
"""The kinds that list the latest pages, not all."""


def kind_of(node: AbstractSitemap) -> SitemapKind:
    """Return the kind of a node; a subclass has the kind of its base class."""
    return next(KINDS[kind] for kind in (*type(node).__mro__, InvalidSitemap) if kind in KINDS)


FAILED = "failed"
INCOMPLETE = "incomplete"
NOT_FOLLOWED = "not followed"


def state_of(node: AbstractSitemap) -> tuple[str | None, str | None]:
    """Return the state of a sitemap and the reason for it; both None if it was read to its end."""
    failure = node.failure
    if failure is not None:
        return (FAILED if isinstance(node, InvalidSitemap) else INCOMPLETE), failure.brief
    if not isinstance(node, InvalidSitemap):
        return None, None
    return NOT_FOLLOWED, node.why.brief
