"""What a crawl begins with: a website, whose sitemaps are looked for, or one sitemap.

Both decide what is in the tree; trees and streams, on threads and on asyncio, share them.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

from usp._crawl.orders import Failed, HostGivenUp, NotAsked
from usp._crawl.places import exchange_of, failure_of, node_for
from usp._formats.document import Role
from usp.objects.problem import Failure, FailureCode
from usp.objects.sitemap import IndexWebsiteSitemap, PagesTextSitemap
from usp.web_client.abstract_client import failure_reason, status_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from usp._crawl.crawl import Crawl
    from usp._crawl.places import Place
    from usp.objects.exchange import Exchange
    from usp.objects.sitemap import AbstractSitemap
    from usp.web_client.abstract_client import WebClientErrorResponse


KNOWN_SITEMAP_PATHS = (
    "sitemap.xml",
    "sitemap_index.xml",
    "wp-sitemap.xml",
    "sitemap-index.xml",
    "sitemaps.xml",
    "sitemap1.xml",
    "sitemap.txt",
    "sitemap.xml.gz",
    "sitemap_index.xml.gz",
    "sitemap-index.xml.gz",
    ".sitemap.xml",
    "sitemap",
    "sitemap/sitemap-index.xml",
    "admin/config/search/xmlsitemap",
    "sitemap_news.xml",
    "sitemap-news.xml",
    "news-sitemap.xml",
    "sitemap_news.xml.gz",
    "sitemap-news.xml.gz",
)
"""Known paths in the order in which they are tried: the most usual and the most general first."""


def in_order(paths: Iterable[str], extra: Iterable[str] = ()) -> list[str]:
    """Return ``paths`` in their fixed order, the caller's own after them, each once."""
    wanted = set(paths)
    ordered = [path for path in KNOWN_SITEMAP_PATHS if path in wanted]
    ordered += sorted(wanted.difference(ordered))
    ordered += sorted(extra) if isinstance(extra, set | frozenset) else list(extra)
    return list(dict.fromkeys(path.lstrip("/") for path in ordered))


class OneSitemap:
    """Requests one sitemap, whose URL is known, from a crawl: the root of its own tree.

    A ``guess`` may well be something else, and is retried less often.
    """

    def __init__(
        self,
        crawl: Crawl,
        url: str,
        *,
        level: int = 0,
        parents: frozenset[str] = frozenset(),
        quiet: bool = False,
        guess: bool = False,
    ) -> None:
        self._limits = crawl.limits
        self._fetched = partial(crawl.fetched, "sitemap", url)
        self.start = ("sitemap", url)
        self._is_guess = guess
        role = Role.ROBOTS if url.endswith("/robots.txt") else Role.SITEMAP
        self._place = crawl.want(
            url, role=role, level=level, parents=parents, quiet=quiet, probe=guess
        )
        crawl.begin(self)

    @property
    def url(self) -> str:
        """The URL, after redirects as far as they are known."""
        return self._place.node_url

    @property
    def is_wrong_guess(self) -> bool:
        """Whether it was a guess, and the document is not XML that is a sitemap or a feed.

        Text at a guessed URL is not taken as a list of URLs.
        """
        received, arrival = self._place.received, self._place.arrival
        kind = received.look.kind if received else arrival.kind if arrival else None
        return self._is_guess and (kind is None or issubclass(kind, PagesTextSitemap))

    def tree(self) -> AbstractSitemap:
        """Return the tree, once the crawl is complete."""
        tree = node_for(self._place, self._limits)
        tree.keep(self._fetched())
        return tree

    def holds(self, top: Place) -> bool:
        """Return whether a place is at the top of the tree."""
        return top is self._place

    def declares(self, url: str) -> bool:  # noqa: ARG002
        """Return False: there is nothing else at the top."""
        return False


class Website:
    """Requests robots.txt, then the links of the homepage, then the known paths, from a crawl."""

    is_wrong_guess = False

    def __init__(
        self,
        crawl: Crawl,
        homepage_url: str,
        *,
        use_robots: bool,
        use_html_links: bool,
        known_paths: Iterable[str],
    ) -> None:
        self.url = homepage_url
        self.start = ("website", homepage_url)
        self._limits = crawl.limits
        self._fetched = partial(crawl.fetched, *self.start)
        self._robots = (
            crawl.want(f"{homepage_url}robots.txt", role=Role.ROBOTS) if use_robots else None
        )
        # Sitemaps that the homepage links to are at level 0, like those at known paths.
        self._homepage = (
            crawl.want(homepage_url, role=Role.HOMEPAGE, level=-1) if use_html_links else None
        )
        self._known = [crawl.want(homepage_url + path, probe=True) for path in known_paths]
        self._held: dict[int, bool] = {}
        self._tops_held: set[str] = set()
        crawl.begin(self)

    def tree(self) -> IndexWebsiteSitemap:
        """Return the tree, once the crawl is complete."""
        held = [place for place in self._tops() if self.holds(place)]
        tree = IndexWebsiteSitemap(
            self.url,
            [node_for(place, self._limits) for place in held],
            not_found=[failure for failure in self._not_found() if failure is not None],
            tried=list(self._tried(held)),
        )
        tree.keep(self._fetched())
        return tree

    def _tried(self, held: Iterable[Place]) -> Iterator[Exchange]:
        """Yield the exchanges of requests for documents that are not in the tree."""
        there = {id(place.doc) for top in held for place in _places(top)}
        for place in (self._robots, self._homepage, *self._known):
            exchange = None if place is None else exchange_of(place)
            if place is not None and exchange is not None and id(place.doc) not in there:
                there.add(id(place.doc))
                yield exchange

    def _not_found(self) -> Iterator[Failure | None]:
        """Yield the failures of what could not be checked: there may be sitemaps."""
        failures = list(self._failures())
        nobody = [failure for failure, alone in failures if alone]
        for failure, alone in failures:
            # An unreachable host is reported once, best for robots.txt, which comes first.
            if not alone or failure is nobody[0]:
                yield failure

    def _failures(self) -> Iterator[tuple[Failure | None, bool]]:
        """Yield the failures of what could not be checked, and whether its host is to blame."""
        unasked = False
        for place in (self._robots, self._homepage, *self._known):
            result = place.doc.result if place and place.doc else None
            if place is None or result is None:
                continue
            if not isinstance(result, Failed):
                # The page of a bot wall does not show whether there is a sitemap.
                look = result.look
                guarded = look.refusal and look.refusal.code is FailureCode.BOT_CHALLENGE
                if guarded or (place.is_homepage and look.unfinished):
                    yield failure_of(place), False
            elif place in self._known and isinstance(result.error, NotAsked):
                if not isinstance(result.error, HostGivenUp) and not unasked:
                    unasked = True
                    reason = failure_reason(result.error).after("known paths were not checked")
                    yield Failure.of(self.url, reason), False
            elif not _is_absent(place, result.error):
                yield failure_of(place), result.error.unreachable

    def _tops(self) -> Iterator[Place]:
        """Yield the places that may be at the top of the tree, in order."""
        if self._robots is not None:
            yield self._robots
        if self._homepage is not None:
            yield from self._homepage.children
        yield from self._known

    def holds(self, top: Place) -> bool:
        """Return whether a place is at the top of the tree; to be called in the order of the tree.

        A response that is not a robots.txt is left out of the tree, and so are known paths that lead
        to no sitemap, or to one that robots.txt's subtree declares or that is at the top already.
        """
        known = self._held.get(id(top))
        if known is None:
            known = self._held[id(top)] = self._decide(top)
        return known

    def _decide(self, top: Place) -> bool:
        linked = self._homepage is not None and top in self._homepage.children
        if top.received is None and not top.arrival and not linked:
            return False
        if top is self._robots:
            return True
        urls = {urldefrag(url)[0] for url in (top.url, top.final_url)}
        if not urls.isdisjoint(self._declared) or not urls.isdisjoint(self._tops_held):
            return False
        self._tops_held |= urls
        return True

    def declares(self, url: str) -> bool:
        """Return whether robots.txt's subtree, settled by now, declares a URL, followed or not."""
        return urldefrag(url)[0] in self._declared

    @cached_property
    def _declared(self) -> frozenset[str]:
        if self._robots is None or not self.holds(self._robots):
            return frozenset()
        return frozenset(urldefrag(url)[0] for url in _urls(self._robots))


def _is_absent(place: Place, error: WebClientErrorResponse) -> bool:
    """Return whether a response means that nothing is there.

    For a known path any refusal does; for robots.txt or the homepage, robots may be blocked.
    """
    status = status_of(error)
    if place.doc and place.doc.probe:
        return status is not None and status < _SERVER_ERROR and status != _BUSY
    return status in _ABSENT


_ABSENT = frozenset({404, 410})
_BUSY = 429
_SERVER_ERROR = 500


def _urls(top: Place) -> Iterator[str]:
    """Yield the URLs in a subtree, before and after redirects, and those that its indexes declare."""
    for place in _places(top):
        yield place.url
        yield place.final_url
        if place.received is not None:
            yield from (child.loc for child in place.received.look.children)


def _places(top: Place) -> Iterator[Place]:
    """Yield a place and all below it."""
    places = [top]
    while places:
        place = places.pop()
        yield place
        places.extend(place.children)
