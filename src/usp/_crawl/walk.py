"""Settles the places of the tree, one after another, as far as their documents have come.

Callbacks run and limits cut here, in an order that does not depend on the network.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from usp._base.reason import Reason
from usp._base.urls import BadUrl, read_url, shown, without_fragment
from usp._crawl import journal
from usp._crawl.orders import UNFETCHED, ClientMistake, Failed, LeftOut, NotFetched
from usp._crawl.places import Absent, Place, Present, Skipped
from usp._crawl.skips import Skips
from usp._formats.abstract_parser import ChildEntry
from usp._formats.values import date
from usp.events import SitemapSkipped
from usp.limits import DEFAULT, Limits
from usp.objects.child import ChildSitemap, SkippedSitemap, SkipReason
from usp.objects.failure_codes import FailureCode
from usp.objects.sitemap import AbstractIndexSitemap
from usp.web_client.abstract_client import failure_reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from usp._crawl.orders import Look, Received
    from usp._crawl.places import Doc, State
    from usp.options import CrawlOptions


class Top(Protocol):
    """Decides what is at the top of the tree; its methods are called in the order of the tree."""

    def holds(self, top: Place) -> bool:
        """Return whether a place at the top is in the tree."""

    def declares(self, url: str) -> bool:
        """Return whether a URL is declared in what comes before the known paths."""


class Everything:
    """A top that holds everything."""

    def holds(self, top: Place) -> bool:  # noqa: ARG002
        """Return True."""
        return True

    def declares(self, url: str) -> bool:  # noqa: ARG002
        """Return False."""
        return False


class Walk:
    """The way through the places of a tree, depth first.

    It stops at the place that is ``awaited``, whose document has not arrived yet, until it is
    ``complete``. ``ask`` requests the document of a place, given the URL of the declaring sitemap;
    ``tell`` is called for those that are skipped.
    """

    def __init__(
        self,
        options: CrawlOptions,
        ask: Callable[[Place, str | None], Doc],
        top: Top,
        tell: Callable[[SitemapSkipped], object] = bool,
    ) -> None:
        self.awaited: Place | None = None
        self.complete = False
        self._options = options
        self._limits = options.effective_limits
        self._asks_callbacks = has_callbacks(options)
        self._skips = Skips(options)
        self._ask = ask
        self._tell = tell
        self._top = top
        self._roots: list[Place] = []
        self._later: list[Place] = []  # known paths that may turn out to be excluded
        self._ahead: list[tuple[Place, bool]] | None = None  # a stack; whether children are walked
        self._settled: list[Place] = []
        self._places = 0  # in the tree
        self._pages = 0

    def begin(self, top: Top) -> None:
        """Let ``top`` decide what is in the tree."""
        self._top = top

    def add(
        self, url: str, level: int, parents: frozenset[str], *, probe: bool, later: bool
    ) -> Place:
        """Return a new place at the top, after those that are there already.

        With ``later``, a known path is requested only when everything before it is settled.
        """
        place = Place(url, level, None, (len(self._roots),), declared_by=parents, probe=probe)
        self._roots.append(place)
        self._places += not probe
        if later:
            self._later.append(place)
        return place

    def ask_no_more(self) -> None:
        """Call no more callbacks: the crawl has ended."""
        self._asks_callbacks = False

    def holds(self, place: Place) -> bool:
        """Return whether what is at or below a place is in the tree."""
        return self._top.holds(self._top_of(place))

    def take_settled(self) -> list[Place]:
        """Return the places that were settled since the last call, in the order of their pages."""
        settled, self._settled = self._settled, []
        return settled

    def advance(self) -> Reason | None:
        """Go on as far as possible; return the reason if the limit of pages is reached.

        If a callback raises an exception, its place is tried again the next time.
        """
        self.awaited = None
        if self._ahead is None:
            self._ahead = [(place, False) for place in reversed(self._roots)]
        ahead = self._ahead  # a stack, not recursion: a website decides how deep its tree is
        while ahead:
            place, is_walked = ahead[-1]
            if is_walked:
                ahead.pop()
                if reason := self._finish(place):
                    return reason
                continue
            if self._later and place is self._later[0]:
                self._ask_for_known_paths()
            if not place.is_there:
                self.awaited = place
                return None
            self._settle(place)
            children, received = place.children, place.received
            if not children:
                ahead[-1] = (place, True)
                continue
            # Pages of an index are among its children; those of all others come first.
            pages_at = (received.look.pages_at if received else None) or 0
            first, last = children[:pages_at], children[pages_at:]
            ahead[-1:] = [  # all at once: an interrupt must not leave a half of them
                *((child, False) for child in reversed(last)),
                (place, True),
                *((child, False) for child in reversed(first)),
            ]
        self.complete = True
        return None

    def _ask_for_known_paths(self) -> None:
        """Request the known paths that nothing before them declares."""
        later, self._later = self._later, []
        for place in later:
            if not self._top.declares(place.url):
                place.doc = self._ask(place, None)

    def _finish(self, place: Place) -> Reason | None:
        """Count the pages of a place once those before it are counted, and mark it as settled."""
        received = place.received
        reason = None if received is None else self._count_pages(place, received.look)
        self._settled.append(place)
        return reason

    def _settle(self, place: Place) -> None:
        place.state = self._outcome(place)
        is_top = self._top_of(place) is place and not place.is_homepage
        if is_top and not self._top.holds(place):  # called for each of them, in order
            if place.reason is not None:
                journal.left_out(place.node_url, str(place.reason), quiet=place.probe)
            return
        received = place.received
        if received is not None and place.doc is not None:
            self._places += place.doc.probe  # a known path counts once it is in the tree
            if received.look.kind and issubclass(received.look.kind, AbstractIndexSitemap):
                self._add_children(place, received)

    @staticmethod
    def _outcome(place: Place) -> State:
        """Return the state of a place whose document has arrived."""
        if isinstance(place.state, Absent):
            return place.state  # it was refused when it was declared
        result = place.doc.result if place.doc else None
        if result is None:
            return Skipped()
        if isinstance(result, Failed):
            return Absent(_why_failed(place, result))
        look, final_url = result.look, result.document.exchange.final_url
        if final_url != place.url and final_url in place.parents:
            code = FailureCode.REDIRECT_RECURSION
            full = (
                f"Recursion detected when {place.url} redirected to {final_url} "
                f"with parent URLs {listed(place.parents)}."
            )
            return Absent(Reason(code, code.message, full=full), recurs=True, astray=True)
        if look.kind is None:
            assert look.refusal is not None
            reason = look.refusal.at(f"No parsers support sitemap from {final_url}")
            return Absent(reason, tuple(look.problems))
        return Present(result)

    def _top_of(self, place: Place) -> Place:
        """Return the place at the top of the tree above a place, or the place itself."""
        top = self._roots[place.position[0]]
        if top.is_homepage and len(place.position) > 1:
            return top.children[place.position[1]]
        return top

    def _count_pages(self, place: Place, look: Look) -> Reason | None:
        """Leave out pages beyond the limit; return the reason if it is reached."""
        most = self._limits.pages
        if most is None or not look.pages or not self.holds(place):
            return None
        room = most - self._pages
        self._pages += min(look.pages, room)
        if look.pages <= room:
            return None
        place.most = room
        reason = self._limits.reached("pages")
        place.leave_out(LeftOut(look.pages - room, reason), "pages")
        return reason

    def _add_children(self, place: Place, received: Received) -> None:
        parents = place.parents | {place.final_url}
        children, skipped = self._parted(place, received.look, parents)
        most = self._limits.sitemaps
        room = len(children) if most is None else max(0, most - self._places)
        left_out = received.look.left_out or LeftOut(0, self._limits.reached("sitemaps"))
        missing = left_out.count + max(0, len(children) - room)
        if missing:
            place.leave_out(LeftOut(missing, left_out.reason), "sitemaps")
        above = without_fragments(parents)
        places = tuple(
            self._child(place, child, above, (*place.position, at))
            for at, child in enumerate(children[:room])
        )
        place.state = Present(received, places, skipped)
        self._places += len(places)
        for one in skipped:
            self._tell(SitemapSkipped(one.url, place.final_url, place.level + 1, one.reason))

    def _parted(
        self, place: Place, look: Look, parents: frozenset[str]
    ) -> tuple[list[ChildEntry], tuple[SkippedSitemap, ...]]:
        """Return the children to follow, and those that an option or a callback leaves out."""
        children, skipped = list(look.children), []
        if place.is_homepage:
            return children, ()
        if self._asks_callbacks:
            children = followed(children, place.level, parents, self._options)
            kept = {child.loc for child in children}
            out = (child for child in look.children if child.loc not in kept)
            skipped = [(child, SkipReason.CALLBACK) for child in out]
        if self._skips:
            children, by_option = self._skips.parted(look, children)
            skipped += by_option
        return children, tuple(
            SkippedSitemap(child.loc, date(child.lastmod), why) for child, why in skipped
        )

    def _child(
        self, parent: Place, entry: ChildEntry, above: frozenset[str], position: tuple[int, ...]
    ) -> Place:
        url, level = entry.loc, parent.level + 1
        place = Place(url, level, parent, position, entry.lastmod)
        refusal = refuse(url, level, above, self._limits)
        if refusal:
            reason = refusal.at(f"Unable to add sub-sitemap from URL {url}")
            place.state = Absent(reason, recurs=recurs(url, above))
        elif not parent.is_homepage or not self._top.declares(url):
            place.doc = self._ask(place, parent.final_url)
        return place


def _why_failed(place: Place, result: Failed) -> Reason:
    """Return why a document is missing; raises an exception of a client that would be hidden."""
    if isinstance(result.error, NotFetched):
        return UNFETCHED
    if isinstance(result.error, ClientMistake) and place.is_alone:
        raise result.error.exception  # the caller must not take it for an empty website
    return failure_reason(result.error).at(f"Unable to fetch sitemap from {place.url}")


# Which sitemaps are followed: callbacks, and URLs that are refused ---------------------------------


def has_callbacks(options: CrawlOptions) -> bool:
    """Return whether there are callbacks that decide which children to follow."""
    return bool(
        options.recurse_callback or options.recurse_list_callback or options.recurse_entry_callback
    )


def followed(
    children: list[ChildEntry], level: int, parents: frozenset[str], options: CrawlOptions
) -> list[ChildEntry]:
    """Return the children to follow, in order: the list callback is called first."""
    if options.recurse_list_callback:
        by_url = {child.loc: child for child in children}
        urls: object = options.recurse_list_callback(list(by_url), level, set(parents))
        if not isinstance(urls, Iterable) or isinstance(urls, str):
            raise TypeError(f"recurse_list_callback must return the URLs to follow, not {urls!r}")
        children = [by_url.get(url) or ChildEntry(url) for url in urls]
    return [child for child in children if _follows(child, level, parents, options)]


def _follows(child: ChildEntry, level: int, parents: frozenset[str], options: CrawlOptions) -> bool:
    if options.recurse_callback and not options.recurse_callback(child.loc, level, set(parents)):
        return False
    if options.recurse_entry_callback is None:
        return True
    entry = ChildSitemap(child.loc, date(child.lastmod), level, parents)
    return options.recurse_entry_callback(entry)


# Addresses ------------------------------------------------------------------------------------------


def refuse(url: str, level: int, above: frozenset[str], limits: Limits = DEFAULT) -> Reason | None:
    """Return why a sitemap must not be requested, or None; ``above`` are URLs without fragments."""
    refusal = refuse_address(url)
    if refusal:
        return refusal
    if limits.too_long(url):
        reached = limits.reached("url_length")
        full = f"URL {shown(url)} is too long: {reached}."
        return replace(reached, text=f"it is too long: {reached}", full=full)
    if recurs(url, above):
        full = f"Recursion detected in URL {url} with parent URLs {listed(above)}."
        code = FailureCode.RECURSION
        return Reason(code, code.message, full=full)
    if limits.depth is not None and level > limits.depth:
        reached = limits.reached("depth")
        text = f"Recursion level exceeded {limits.depth}"
        return replace(reached, text=f"{text}: {reached}", full=f"{text} for URL {url}: {reached}.")
    return None


def recurs(url: str, above: frozenset[str]) -> bool:
    """Return whether a sitemap is one of its ancestors, given as URLs without fragments."""
    return without_fragment(url) in above


def without_fragments(urls: Iterable[str]) -> frozenset[str]:
    """Return URLs without their fragments, as they are requested."""
    return frozenset(map(without_fragment, urls))


def refuse_address(url: str) -> Reason | None:
    """Return why a URL cannot be requested, or None."""
    try:
        read_url(url)
    except BadUrl as error:
        text = f"is not a HTTP(s) URL{f': it {error.why}' if error.is_http else ''}"
        return Reason(FailureCode.BAD_URL, f"it {text}", full=f"URL {shown(url)} {text}.")
    return None


def listed(urls: Iterable[str]) -> str:
    """Return URLs in one line, in order."""
    return "{" + ", ".join(repr(url) for url in sorted(urls)) + "}"
