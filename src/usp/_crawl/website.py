"""What a crawl begins with: a website, whose sitemaps are looked for, or one sitemap.

Both decide what is in the tree; trees and streams, on threads and on asyncio, share them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from usp._base.display import counted, get_logger
from usp._base.urls import without_fragment, without_login
from usp._crawl.child_filter import refuse, without_fragments
from usp._crawl.orders import (
    FetchOrder,
    HostGivenUp,
    NotRequested,
    Received,
    TreeSlot,
    failure_of,
    node_for,
    slots_from,
)
from usp._formats.document import Role
from usp._formats.plain_text import LLMS_TXT
from usp.exceptions import SitemapException
from usp.helpers import strip_url_to_homepage
from usp.limits import Limits
from usp.objects.problem import Failure, FailureCode, ProblemCode
from usp.objects.sitemap import (
    AbstractSitemap,
    IndexWebsiteSitemap,
    PagesAtomSitemap,
    PagesJSONFeedSitemap,
    PagesRSSSitemap,
    PagesTextSitemap,
    keep_fetched,
)
from usp.web_client.abstract_client import WebClientErrorResponse, failure_reason, status_of

if TYPE_CHECKING:
    from usp._crawl.crawl import Crawl
    from usp._snapshot.recording import SnapshotRecorder
    from usp.objects.exchange import Exchange
    from usp.options import CrawlOptions


_KNOWN = """
    sitemap.xml sitemap_index.xml wp-sitemap.xml sitemap-index.xml sitemaps.xml sitemap1.xml
    sitemap.txt sitemap.xml.gz sitemap_index.xml.gz sitemap-index.xml.gz .sitemap.xml sitemap
    sitemap/sitemap-index.xml admin/config/search/xmlsitemap sitemap_news.xml sitemap-news.xml
    news-sitemap.xml sitemap_news.xml.gz sitemap-news.xml.gz"""
KNOWN_SITEMAP_PATHS = tuple(_KNOWN.split())
"""Known paths in the order in which they are tried: the most usual and the most general first."""

_UNPUBLISHED_SITEMAP_PATHS = set(KNOWN_SITEMAP_PATHS)
"""Where sitemaps are looked for without being declared anywhere; programs may add to it."""

_HTML = """
    sitemap.html sitemap/ site-map site-map/ sitemap.htm site-map.html sitemap.php sitemap.aspx
    html-sitemap pages/sitemap"""
HTML_SITEMAP_PATHS = tuple(_HTML.split())
"""Known paths of HTML sitemaps, apart from ``sitemap``, which comes with those above."""


def in_order(paths: Iterable[str], extra: Iterable[str] = (), *, pages: bool = False) -> list[str]:
    """Return ``paths`` in their fixed order, the caller's own after them, each once.

    With ``pages``, those of HTML sitemaps come before the caller's own.
    """
    wanted = set(paths)
    ordered = [path for path in KNOWN_SITEMAP_PATHS if path in wanted]
    ordered += sorted(wanted.difference(ordered))
    ordered += HTML_SITEMAP_PATHS if pages else ()
    return list(dict.fromkeys(path.lstrip("/") for path in (*ordered, *extra)))


_ANY_LENGTH = Limits(url_length=None)

log = get_logger("usp.tree")  # as programs know it


@dataclass(frozen=True, slots=True)
class Search:
    """What a crawl looks for, and with which options.

    ``begin`` requests the first documents from a crawl and returns the top of the tree. A login in
    ``start_url`` is used for its host. ``record`` creates what records the crawl instead of
    ``options.record``.
    """

    begin: Callable[[Crawl], Website | OneSitemap]
    start_url: str
    options: CrawlOptions
    record: Callable[[Crawl, Website | OneSitemap], SnapshotRecorder] | None = None


def website_search(
    homepage_url: str, options: CrawlOptions, known: Iterable[str] | None = None
) -> Search:
    """Return the search for a website's sitemaps; ``known`` are the paths that are always tried.

    Raises ``SitemapException`` if the URL is not an HTTP(S) URL.
    """
    refusal = refuse(str(homepage_url), limits=_ANY_LENGTH)
    if refusal:
        raise SitemapException(str(refusal))
    start_url = homepage_url.strip()
    url = homepage = without_login(start_url)
    if options.normalize_homepage_url:
        homepage = strip_url_to_homepage(url)
        if homepage != url:
            log.warning("Assuming that the homepage of %s is %s", url, homepage)
    elif not url.endswith("/"):
        homepage = f"{url}/"
    known_paths = in_order(
        (_UNPUBLISHED_SITEMAP_PATHS if known is None else known) if options.use_known_paths else (),
        (*((LLMS_TXT,) if options.use_llms_txt else ()), *(options.extra_known_paths or ())),
        pages=options.use_known_paths and options.use_html_sitemaps,
    )
    begin = partial(Website, homepage_url=homepage, known_paths=known_paths)
    return Search(begin, start_url, options)


def sitemap_search(url: str, options: CrawlOptions, *, guess: bool = False) -> Search:
    """Return the search for one sitemap.

    Raises ``SitemapException`` if the URL is not an HTTP(S) URL.
    """
    refusal = refuse(url)
    if refusal:
        raise SitemapException(str(refusal))
    return Search(partial(OneSitemap, url=without_login(url), guess=guess), url, options)


def tree_of(top: Website | OneSitemap) -> AbstractSitemap:
    """Return the tree of a complete crawl, after calling ``on_failure`` for what is missing."""
    tree, on_failure = top.tree(), top.crawl.options.on_failure
    if on_failure is not None:
        for failure in tree.failures():
            on_failure(failure)
    return tree


class OneSitemap:
    """Requests one sitemap, whose URL is known, from a crawl: the root of its own tree.

    It is ``wanted`` as :meth:`Crawl.want` says.
    """

    def __init__(self, crawl: Crawl, url: str, **wanted: Any) -> None:
        self.start = ("sitemap", url)
        self.crawl = crawl
        role = Role.HTML_SITEMAP if crawl.options.use_html_sitemaps else Role.SITEMAP
        role = Role.ROBOTS if url.endswith("/robots.txt") else role
        self._slot = crawl.want(url, role=role, **wanted)

    @property
    def url(self) -> str:
        """The URL, after redirects as far as they are known."""
        return self._slot.node_url

    @property
    def is_wrong_guess(self) -> bool:
        """Whether it was a guess, and the document is not XML that is a sitemap or a feed.

        Text at a guessed URL is not taken as a list of URLs, nor any page as an HTML sitemap.
        """
        received, arrival = self._slot.received, self._slot.arrival
        kind = received.probe.kind if received else arrival.kind if arrival else None
        is_doubtful = received is not None and received.probe.is_doubtful
        is_sure = kind is not None and not (is_doubtful or issubclass(kind, PagesTextSitemap))
        return self._slot.guess and not is_sure

    def tree(self) -> AbstractSitemap:
        """Return the tree, once the crawl is complete."""
        tree = node_for(self._slot, self.crawl.limits)
        keep_fetched(tree, self.crawl.fetched(*self.start))
        return tree


class Website:
    """Requests robots.txt, then the links of the homepage, then the known paths, from a crawl."""

    is_wrong_guess = False

    def __init__(
        self,
        crawl: Crawl,
        homepage_url: str,
        known_paths: Iterable[str],
        main: Website | None = None,
    ) -> None:
        self.url = homepage_url
        self.start = ("website", homepage_url)
        self.crawl = crawl
        self._main = main or self
        # All websites of the crawl, the main one first; which of them a slot at the top is of; and
        # what is in the trees of those that are decided.
        self.sites: list[Website] = main.sites if main else []
        self.owners: dict[TreeSlot, Website] = main.owners if main else {}
        self.decided: set[str] = main.decided if main else set()
        self.sites.append(self)
        self._tops: list[TreeSlot] = []
        self._robots = self._homepage = None
        if crawl.options.use_robots:
            self._robots = self._want("robots.txt", role=Role.ROBOTS)
        if crawl.options.use_html_links:
            # Sitemaps that the homepage links to are at level 0, like those at known paths.
            self._homepage = self._want("", role=Role.HOMEPAGE, level=-1)
        self._known_paths = dict.fromkeys(known_paths)
        for path in self._known_paths:
            self._want(path, guess=True)
        self._has_more = crawl.options.use_known_paths and self._homepage is not None
        self._included: dict[TreeSlot, bool] = {}
        self._root_urls: set[str] = set()
        self._has_neighbours = crawl.options.use_neighbours and main is None
        self._left_out: list[Failure] = []
        crawl.roots = self._main

    def _want(self, path: str, **how: Any) -> TreeSlot:
        slot = self.crawl.want(self.url + path, **how)
        self._tops.append(slot)
        self.owners[slot] = self
        return slot

    def want_more(self) -> bool:
        """Request what else there may be, now that all that was requested is decided.

        If there is no sitemap but feeds, these are the paths of the software that the homepage names;
        then, if they are asked for, its neighbours.
        """
        return self._want_software() or self._want_neighbours()

    def _want_neighbours(self) -> bool:
        more, self._has_neighbours = self._has_neighbours, False
        tops = [top for top in self._tops if top is self._homepage or self.includes(top)]
        slots = sorted(chain.from_iterable(map(slots_from, tops)), key=lambda slot: slot.position)
        found: list[str] = []
        if more:
            from usp._crawl.hints import neighbours_of  # noqa: PLC0415 - few ask for them

            found = neighbours_of(self.url, slots)
        most = self.crawl.limits.neighbours
        if most is not None and len(found) > most:
            reason = self.crawl.limits.reached("neighbours")
            reason = reason.after(f"{counted(len(found) - most, 'neighbour')} left out")
            self._left_out.append(Failure.of(self.url, reason))
        for url in found[:most]:
            Website(self.crawl, url, self._known_paths, self)
        return bool(found[:most])

    def _want_software(self) -> bool:
        more, self._has_more = self._has_more, False
        homepage = self._homepage.received if self._homepage else None
        if not more or homepage is None or any(map(self._is_found, self._tops)):
            return False
        from usp._crawl.hints import paths_of_software  # noqa: PLC0415 - most have sitemaps

        paths = paths_of_software(homepage.exchange.headers, homepage.probe.software)
        wanted = [path for path in paths if path not in self._known_paths]
        for path in wanted:
            self._want(path, guess=True)
        return bool(wanted)

    def _is_found(self, top: TreeSlot) -> bool:
        """Return whether there is a sitemap at or below a slot at the top, apart from feeds."""
        if top is not self._homepage and not self.includes(top):
            return False
        kinds = (slot.received.probe.kind for slot in slots_from(top) if slot.received)
        return any(kind and kind.lists_pages and not issubclass(kind, _FEEDS) for kind in kinds)

    def tree(self) -> IndexWebsiteSitemap:
        """Return the tree, once the crawl is complete."""
        neighbours = [] if self is not self._main else self.sites[1:]
        roots: list[AbstractSitemap] = []
        tried: list[Exchange] = []
        there: set[FetchOrder | None] = set()  # documents that are in the tree
        for wanted in self._tops:
            for slot in wanted.children if wanted is self._homepage else (wanted,):
                if self.includes(slot):
                    roots.append(node_for(slot, self.crawl.limits))
                    there.update(below.order for below in slots_from(slot))
        for slot in self._tops:
            exchange = slot.result.exchange if slot.result else None
            if exchange is not None and slot.order not in there:
                there.add(slot.order)
                tried.append(exchange)
        roots += [site.tree() for site in neighbours if not site.is_alias]
        not_found = [*self._not_found(), *self._left_out]
        # What else is wrong with a page of HTML is of no interest.
        read = self._homepage.received if self._homepage else None
        found = read.probe.problems if read else ()
        problems = [one for one in found if one.code is ProblemCode.BAD_SITEMAP_LINK]
        tree = IndexWebsiteSitemap(
            self.url, roots, not_found=not_found, tried=tried, problems=problems
        )
        if self is self._main:
            keep_fetched(tree, self.crawl.fetched(*self.start))
        return tree

    def _not_found(self) -> Iterator[Failure]:
        """Yield the failures of what could not be checked: there may be sitemaps."""
        unreachable = unchecked = False
        for slot in self._tops:
            result = slot.result
            if slot.guess and slot.order is not None and not slot.order.is_guess:
                continue  # something declares it, and its node says what is wrong
            failure = failure_of(slot) if result else None
            if isinstance(result, Received):
                # The page of a bot wall does not show whether there is a sitemap.
                probe = result.probe
                guarded = probe.refusal and probe.refusal.code is FailureCode.BOT_CHALLENGE
                if not guarded and not (slot.is_homepage and (probe.unfinished or result.kept)):
                    failure = None
            elif result is not None and slot.guess and isinstance(result.error, NotRequested):
                failure = None
                if not isinstance(result.error, HostGivenUp) and not unchecked:
                    unchecked = True
                    reason = failure_reason(result.error).after("known paths were not checked")
                    failure = Failure.of(self.url, reason)
            elif result is not None:
                # An unreachable host is reported once, best for robots.txt, which comes first.
                if _is_absent(slot, result.error) or (result.error.unreachable and unreachable):
                    failure = None
                unreachable = unreachable or result.error.unreachable
            if failure is not None:
                yield failure

    def includes(self, root: TreeSlot) -> bool:
        """Return whether a slot is at the top of the tree; to be called in the order of the tree.

        A response that is not a robots.txt is left out of the tree, and so are known paths that lead
        to no sitemap, or to one that robots.txt's subtree declares or that is at the top already. A
        page that nothing declares as a sitemap has to call itself one. What is in the tree of another
        website is not in that of its neighbour.
        """
        site = self.site_of(root)
        return self._includes(root) if site is self else site.includes(root)

    def site_of(self, slot: TreeSlot) -> Website:
        """Return the website to which a slot belongs."""
        return self.owners[self.crawl.wanted[slot.position[0]]]

    def _includes(self, root: TreeSlot) -> bool:
        included = self._included.get(root)
        if included is not None:
            return included
        included = root.received is not None or root.arrival is not None or self._is_linked(root)
        if root.received is not None and root.received.probe.is_doubtful:
            included = not (root.guess or root.url in self._guessed)
        urls = without_fragments((root.url, root.final_url))
        included = included and urls.isdisjoint(self.elsewhere)
        if included and root is not self._robots:
            included = urls.isdisjoint(self._declared) and urls.isdisjoint(self._root_urls)
            if included:
                self._root_urls |= urls
        self._included[root] = included
        return included

    def _is_linked(self, root: TreeSlot) -> bool:
        """Return whether the homepage names a slot; not if it seemed to, and that is a page."""
        if self._homepage is None or root not in self._homepage.children:
            return False
        refusal = root.result.probe.refusal if isinstance(root.result, Received) else None
        is_page = refusal is not None and refusal.code is FailureCode.HTML_PAGE
        return not (is_page and root.url in self._guessed)

    @cached_property
    def _guessed(self) -> frozenset[str]:
        """The URLs that the homepage links to as to any page."""
        received = self._homepage.received if self._homepage else None
        children = received.probe.children if received else ()
        return frozenset(child.loc for child in children if child.is_guess)

    def is_declared(self, slot: TreeSlot) -> bool:
        """Return whether robots.txt's subtree, decided by now, declares a URL, followed or not."""
        return without_fragment(slot.url) in self.site_of(slot)._declared  # noqa: SLF001 - of this class

    @cached_property
    def _declared(self) -> frozenset[str]:
        """The URLs below robots.txt, before and after redirects, and those that its indexes declare."""
        if self._robots is None or not self.includes(self._robots):
            return frozenset()
        urls: set[str] = set()
        for slot in slots_from(self._robots):
            urls.update((slot.url, slot.final_url))
            if slot.received is not None:
                urls.update(child.loc for child in slot.received.probe.children)
        return without_fragments(urls)

    @cached_property
    def elsewhere(self) -> set[str]:
        """The URLs in the trees of the websites before this one, which are decided by now."""
        at = self.sites.index(self)
        if at:
            self.decided.update(self.sites[at - 1].urls())
        return self.decided

    def urls(self) -> frozenset[str]:
        """Return the URLs in the tree of this website, before and after redirects."""
        slots = chain.from_iterable(map(slots_from, filter(self.includes, self._tops)))
        return without_fragments(chain.from_iterable((one.url, one.final_url) for one in slots))

    @property
    def is_alias(self) -> bool:
        """Whether its robots.txt is that of a website before it."""
        robots = self._robots
        return robots is not None and not self.includes(robots) and robots.final_url in self.decided


_FEEDS = (PagesRSSSitemap, PagesAtomSitemap, PagesJSONFeedSitemap)
_ABSENT = frozenset({404, 410})
_BUSY = 429
_SERVER_ERROR = 500


def _is_absent(slot: TreeSlot, error: WebClientErrorResponse) -> bool:
    """Return whether a response means that nothing is there.

    For a known path any refusal does; for robots.txt or the homepage, robots may be blocked.
    """
    status = status_of(error)
    if slot.guess:
        return status is not None and status < _SERVER_ERROR and status != _BUSY
    return status in _ABSENT
