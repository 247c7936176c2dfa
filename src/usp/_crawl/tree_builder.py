"""Builds the tree: settles its slots, one after another, as far as their documents have arrived.

Callbacks run and limits cut here, in an order that does not depend on the network.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import repeat
from typing import TYPE_CHECKING

from usp._base.dates import MAX_REMEMBERED, in_utc, known_date, precision_of_text
from usp._base.filters import Patterns, period
from usp._base.reason import Reason
from usp._base.urls import BadUrl, read_url, redact_url, url_parts, without_fragment
from usp._crawl import journal
from usp._crawl.orders import (
    UNFETCHED,
    ClientRaised,
    Failed,
    FetchOrder,
    LeftOut,
    NoNetwork,
    Probe,
    Received,
)
from usp._crawl.tree_slots import TreeSlot, listed
from usp._formats.abstract_parser import ChildEntry
from usp._formats.values import date
from usp.events import Event, SitemapSkipped
from usp.limits import DEFAULT, Limits
from usp.objects.child import ChildSitemap, SkippedSitemap, SkipReason
from usp.objects.failure_codes import FailureCode
from usp.objects.sitemap import AbstractIndexSitemap, IndexWebsiteSitemap, IndexXMLSitemap
from usp.web_client.abstract_client import failure_reason

if TYPE_CHECKING:
    from usp._crawl.website import Website
    from usp.options import CrawlOptions


class TreeBuilder(abc.ABC):
    """Goes through the slots of a tree, depth first.

    It stops at the slot that is ``awaited``, whose document has not arrived yet, until it is
    ``complete``. ``roots`` decides which of the slots at the top are in the tree, if not all of them
    are; ``limits_of`` which limits are those of a child, by its URL and those above it.
    """

    def __init__(self, options: CrawlOptions) -> None:
        self.options = options
        self.limits = options.effective_limits
        self.limits_of: Callable[[str, frozenset[str]], Limits] = lambda *_: self.limits
        self.awaited: TreeSlot | None = None
        self.complete = False
        self.roots: Website | None = None
        self.ending: Reason | None = None
        self._filter = ChildFilter(options)
        self.wanted: list[TreeSlot] = []  # at the top
        self._later: list[TreeSlot] = []  # known paths that may turn out to be excluded
        self._ahead: list[tuple[TreeSlot, bool]] | None = None  # a stack; whether children are done
        self._advancing = False
        self._settled: list[TreeSlot] = []
        self._events: list[Event] = []
        self._slots = 0  # in the tree
        self._pages = 0

    @abc.abstractmethod
    def _request(self, slot: TreeSlot, parent_url: str | None = None) -> FetchOrder:
        """Return the document of a slot; ``parent_url`` is the sitemap that declares it."""

    @abc.abstractmethod
    def end(self, reason: Reason) -> None:
        """Request nothing more."""

    def includes(self, slot: TreeSlot) -> bool:
        """Return whether what is at or below a slot is in the tree."""
        return self.roots is None or self.roots.includes(self._root_of(slot))

    def take_settled(self) -> list[TreeSlot]:
        """Return the slots that were settled since the last call, in the order of their pages."""
        settled, self._settled = self._settled, []
        return settled

    def _advance(self) -> None:
        """Go on as far as possible.

        If a callback raises an exception, its slot is tried again the next time.
        """
        if self._advancing:  # settling a slot has ended the crawl, and brought more results
            return
        self._advancing = True
        self.awaited = None
        if self._ahead is None:
            self._ahead = list(zip(reversed(self.wanted), repeat(False)))
        ahead = self._ahead  # a stack, not recursion: a website decides how deep its tree is
        try:
            while ahead:
                slot, is_done = ahead[-1]
                if is_done:
                    ahead.pop()
                    self._finish(slot)
                    continue
                if self._later and slot is self._later[0]:
                    self._request_known_paths()
                if not slot.is_there:
                    self.awaited = slot
                    return
                self._settle_slot(slot)
                # Pages of an index are among its children; those of all others come first.
                pages_at = (slot.received.probe.pages_at if slot.received else None) or 0
                first, last = slot.children[:pages_at], slot.children[pages_at:]
                ahead[-1:] = [  # all at once: an interrupt must not leave a half of them
                    *zip(reversed(last), repeat(False)),
                    (slot, True),
                    *zip(reversed(first), repeat(False)),
                ]
            self.complete = True
        finally:
            self._advancing = False

    def _request_known_paths(self) -> None:
        """Request the known paths that nothing before them declares."""
        later, self._later = self._later, []
        for slot in later:
            if self.roots is None or not self.roots.is_declared(slot.url):
                slot.order = self._request(slot)

    def _finish(self, slot: TreeSlot) -> None:
        """Count the pages of a slot, and leave out those beyond the limit."""
        most = self.limits.pages
        pages = slot.received.probe.pages if slot.received else None
        self._settled.append(slot)
        if most is None or not pages or not self.includes(slot):
            return
        room = most - self._pages
        self._pages += min(pages, room)
        if pages > room:
            slot.most = room
            reason = self.limits.reached("pages")
            slot.leave_out(LeftOut(pages - room, reason), "pages")
            self.end(reason)

    def _settle_slot(self, slot: TreeSlot) -> None:
        result = slot.result
        if isinstance(result, Failed):
            slot.reason = _why_failed(slot, result)
        elif result is not None:
            slot.examine()
        is_root = self._root_of(slot) is slot and not slot.is_homepage
        if is_root and not self.includes(slot):  # called for each of them, in order
            if slot.reason is not None:
                journal.left_out(slot.node_url, str(slot.reason), quiet=slot.guess)
            return
        received = slot.received
        if received is not None and slot.order is not None:
            self._slots += slot.order.is_guess  # a known path counts once it is in the tree
            if received.probe.kind and issubclass(received.probe.kind, AbstractIndexSitemap):
                self._add_children(slot, received)

    def _root_of(self, slot: TreeSlot) -> TreeSlot:
        """Return the slot at the top of the tree above a slot, or the slot itself."""
        root = self.wanted[slot.position[0]]
        if root.is_homepage and len(slot.position) > 1:
            return root.children[slot.position[1]]
        return root

    def _add_children(self, slot: TreeSlot, received: Received) -> None:
        parents = slot.parents | {slot.final_url}
        ask = self.ending is None
        children, skipped = self._filter.select(received.probe, slot.level, parents, ask=ask)
        left_out = received.probe.left_out
        above = without_fragments(parents)
        below: list[TreeSlot] = []
        for entry in children:
            limits = self.limits_of(entry.loc, above)
            if limits.sitemaps is not None and self._slots + len(below) >= limits.sitemaps:
                left_out = left_out or LeftOut(0, limits.reached("sitemaps"))
                left_out = replace(left_out, count=left_out.count + 1)
                continue
            child = child_slot(slot, len(below), entry, above, limits)
            linked_by = self.roots if slot.is_homepage else None
            if child.reason is None and not (linked_by and linked_by.is_declared(child.url)):
                child.order = self._request(child, slot.final_url)
            below.append(child)
        if left_out is not None:
            slot.leave_out(left_out, "sitemaps")
        slot.children, slot.skipped = tuple(below), tuple(skipped)
        self._slots += len(below)
        for one in skipped:
            event = SitemapSkipped(one.url, slot.final_url, slot.level + 1, one.reason)
            self._events.append(event)


def _why_failed(slot: TreeSlot, result: Failed) -> Reason:
    """Return why a document is missing; raises an exception of a client that would be hidden."""
    if isinstance(result.error, NoNetwork):
        return UNFETCHED
    is_declared = slot.guess and slot.order is not None and not slot.order.is_guess
    if isinstance(result.error, ClientRaised) and len(slot.position) == 1 and not is_declared:
        raise result.error.exception  # the caller must not take it for an empty website
    return failure_reason(result.error).at(f"Unable to fetch sitemap from {slot.url}")


# Which children are followed: options, callbacks, and URLs that are refused -------------------------

_SPANS = {
    "year": timedelta(days=366),
    "month": timedelta(days=31),
    "day": timedelta(days=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
    "fraction": timedelta(seconds=1),
}
_FARTHEST_WEST = timedelta(hours=12)  # the last place on earth where a day ends
_YEAR_FIRST = re.compile(r"\d{4}(?:[-/.]\d|\Z)")  # no other order of day and month is certain


class ChildFilter:
    """Decides which children of a document are followed, by callbacks and by their date and URL."""

    def __init__(self, options: CrawlOptions) -> None:
        self._options = options
        since = options.sitemaps_since
        self._since = None if since is None else period("sitemaps_since", since)[0]
        self._skips = bool(since or options.include_sitemaps or options.exclude_sitemaps)
        if self._skips:
            self._patterns = Patterns.of(options.include_sitemaps, options.exclude_sitemaps)
        self.has_callbacks = bool(
            options.recurse_callback
            or options.recurse_list_callback
            or options.recurse_entry_callback
        )
        self.may_skip = self._skips or self.has_callbacks

    def select(
        self, probe: Probe, level: int, parents: frozenset[str], *, ask: bool
    ) -> tuple[Sequence[ChildEntry], list[SkippedSitemap]]:
        """Return the children that are followed, and those that are not; ``ask`` the callbacks or not.

        Links of a homepage are always followed.
        """
        children = probe.children
        skipped: list[tuple[ChildEntry, SkipReason]] = []
        if not self.may_skip or probe.kind is IndexWebsiteSitemap:
            return children, []
        if ask and self.has_callbacks:
            children = tuple(self._asked(children, level, parents))
            kept = {child.loc for child in children}
            out = (child for child in probe.children if child.loc not in kept)
            skipped = [(child, SkipReason.CALLBACK) for child in out]
        if self._skips:
            reasons = [(child, self._why(child, probe)) for child in children]
            children = tuple(child for child, why in reasons if why is None)
            skipped += [(child, why) for child, why in reasons if why is not None]
        return children, [
            SkippedSitemap(child.loc, date(child.lastmod), why) for child, why in skipped
        ]

    def _asked(
        self, children: Iterable[ChildEntry], level: int, parents: frozenset[str]
    ) -> Iterator[ChildEntry]:
        """Yield the children that callbacks follow, in order: the list callback is called first."""
        options = self._options
        if options.recurse_list_callback:
            by_url = {child.loc: child for child in children}
            urls: object = options.recurse_list_callback(list(by_url), level, set(parents))
            if not isinstance(urls, Iterable) or isinstance(urls, str):
                raise TypeError(
                    f"recurse_list_callback must return the URLs to follow, not {urls!r}"
                )
            children = [by_url.get(url) or ChildEntry(url) for url in urls]
        for child in children:
            callback, of_entry = options.recurse_callback, options.recurse_entry_callback
            if callback and not callback(child.loc, level, set(parents)):
                continue
            if of_entry is None or of_entry(
                ChildSitemap(child.loc, date(child.lastmod), level, parents)
            ):
                yield child

    def _why(self, child: ChildEntry, probe: Probe) -> SkipReason | None:
        """Return why a child is skipped; None if it is not.

        What robots.txt declares is mostly an index, whose children may match what it does not match
        itself; so may those of a child that is named as an index.
        """
        if self._patterns.excludes(child.loc):
            return SkipReason.URL
        if probe.kind is IndexXMLSitemap and not self._patterns.includes(child.loc):
            name = url_parts(child.loc).path.rpartition("/")[2]
            if "index" not in name.lower():
                return SkipReason.URL
        if self._since is None:
            return None
        end = latest(child.lastmod)
        return SkipReason.DATE if end is not None and end <= self._since else None


def latest(text: str | None) -> datetime | None:
    """Return the first moment after everything that a written date may mean, in UTC.

    A day is over when it has ended everywhere, since it names no time zone. None for what is not a
    date, or one that could be read in two ways.
    """
    if text is None or len(text) > MAX_REMEMBERED or not _YEAR_FIRST.match(text.strip()):
        return None
    date, precision = known_date(text), precision_of_text(text)
    if date is None or precision is None or "W" in text.upper():  # a week
        return None
    span = _SPANS[precision]
    if date.utcoffset() is None:
        span += _FARTHEST_WEST
    try:
        return in_utc(date) + span
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def refuse(
    url: str, level: int = 0, above: frozenset[str] = frozenset(), limits: Limits = DEFAULT
) -> Reason | None:
    """Return why a sitemap must not be requested, or None; ``above`` are URLs without fragments."""
    try:
        read_url(url)
    except BadUrl as error:
        text = f"is not a HTTP(s) URL{f': it {error.why}' if error.is_http else ''}"
        return Reason(FailureCode.BAD_URL, f"it {text}", full=f"URL {redact_url(url)} {text}.")
    if limits.too_long(url):
        reached = limits.reached("url_length")
        full = f"URL {redact_url(url)} is too long: {reached}."
        return replace(reached, text=f"it is too long: {reached}", full=full)
    if without_fragment(url) in above:
        full = f"Recursion detected in URL {url} with parent URLs {listed(above)}."
        code = FailureCode.RECURSION
        return Reason(code, code.message, full=full)
    if limits.depth is not None and level > limits.depth:
        reached = limits.reached("depth")
        text = f"Recursion level exceeded {limits.depth}"
        return replace(reached, text=f"{text}: {reached}", full=f"{text} for URL {url}: {reached}.")
    return None


def child_slot(
    slot: TreeSlot, at: int, entry: ChildEntry, above: frozenset[str], limits: Limits
) -> TreeSlot:
    """Return the slot of a child, with a reason if it is refused."""
    child = TreeSlot(entry.loc, slot.level + 1, slot, (*slot.position, at), entry.lastmod)
    refusal = refuse(child.url, child.level, above, limits)
    if refusal:
        child.reason = refusal.at(f"Unable to add sub-sitemap from URL {child.url}")
        child.recurs = refusal.code is FailureCode.RECURSION
    return child


def without_fragments(urls: Iterable[str]) -> frozenset[str]:
    """Return URLs without their fragments, as they are requested."""
    return frozenset(map(without_fragment, urls))
