"""Replays a crawl from a snapshot: the same decisions, answered from the records."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import fields, replace
from datetime import datetime
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

from usp._base.display import get_logger
from usp._base.reason import Reason
from usp._crawl.crawl import Crawl
from usp._crawl.orders import Failed, FetchOrder, FinalResult, HostGivenUp, Kept, Received
from usp._crawl.receiver import DocumentProbe
from usp._crawl.stored_pages import result_of
from usp._crawl.website import (
    KNOWN_SITEMAP_PATHS,
    OneSitemap,
    Search,
    Website,
    sitemap_search,
    tree_of,
    website_search,
)
from usp._snapshot.recorded_responses import ThirdPartyRecords, damaged, recorded_body
from usp._snapshot.snapshot_entries import Entry, key_of
from usp._snapshot.snapshot_file import OpenSnapshot, merged_limits
from usp._snapshot.warc import DamagedRecord, WarcRecord
from usp._store import Document
from usp.exceptions import SitemapException, SnapshotError
from usp.limits import DEFAULT, Limits
from usp.objects.failure_codes import FailureCode
from usp.objects.problem import Failure
from usp.objects.sitemap import AbstractSitemap, IndexWebsiteSitemap, fetched_of, keep_fetched
from usp.options import CrawlOptions
from usp.web_client.abstract_client import BrokenBody, WebClientErrorResponse, failure_reason

if TYPE_CHECKING:
    from pathlib import Path

    from usp.objects.exchange import Exchange

log = get_logger("usp.snapshot")

ALL = frozenset(one.name for one in fields(CrawlOptions))
_ABSENT = 10_000  # sitemaps that are listed in a file and not in it, unless the reader has limits
_AT_ONCE = 64  # orders
_CUTTING = ("ratio", "unpacked_bytes")  # limits of a document that is in the file as a whole


class KeptAs(Enum):
    """What a document is that failed in an update, and whose last good response is kept."""

    ABSENT = "the failure"
    SHOWN = "the last good response, with the failure"
    GOOD = "the last good response"


def replay(
    snapshot: OpenSnapshot,
    search: Search,
    *,
    kept: KeptAs = KeptAs.SHOWN,
    begun: float | None = None,
) -> Website | OneSitemap:
    """Crawl a snapshot; return the top of its tree; time counts from when it was ``begun``."""
    options = search.options
    crawl = Crawl(options, per_host=_AT_ONCE)
    top = search.begin(crawl)
    limits = options.effective_limits

    def overdue() -> Reason | None:
        return limits.reached("seconds") if time.monotonic() >= crawl.ends_at else None

    answers = RecordedAnswers(snapshot, limits, kept, overdue)
    least = answers.least
    if least != limits:  # why something is not in the file; what is in it is read
        crawl.limits_of = lambda url, above: limits if snapshot.has(url, above) else least
    crawl.next_fetches(0, time.monotonic() if begun is None else begun)  # the clock runs
    while not crawl.complete:
        for order in crawl.next_fetches(_AT_ONCE, time.monotonic()):
            why = overdue()
            if why is not None:
                crawl.end(why)
                crawl.abandon()
                break
            crawl.recall(order, answers.final_result(order))
        for event in crawl.take_events():
            if options.on_event is not None:
                options.on_event(event)
        crawl.take_documents()
    return top


class RecordedAnswers:
    """Answers the orders of a crawl from a snapshot; ``overdue`` says when its time is over."""

    def __init__(
        self,
        snapshot: OpenSnapshot,
        limits: Limits,
        kept: KeptAs = KeptAs.ABSENT,
        overdue: Callable[[], Reason | None] = lambda: None,
    ) -> None:
        self._kept = kept
        self._overdue = overdue
        self._snapshot = snapshot
        self._limits = limits
        code = FailureCode.NOT_IN_SNAPSHOT
        incomplete = "" if snapshot.is_complete else ", which is incomplete"
        declared = Reason(code, f"{code.message}{incomplete}")
        self.least = merged_limits(min, snapshot.options.limits or limits, limits)
        for name in _CUTTING:  # so that less of an index was read
            if snapshot.is_complete and getattr(self.least, name) != getattr(limits, name):
                declared = self.least.reached(name)
        self._absent = {  # the same for all: there may be many
            False: Failed(WebClientErrorResponse(declared, retryable=False)),
            True: Failed(HostGivenUp(Reason(code, code.message), retryable=False)),  # guesses
        }

    def final_result(self, order: FetchOrder) -> FinalResult:
        snapshot = self._snapshot
        entry = snapshot.entries.get(key_of(order.role, order.url))
        if entry is not None and entry.failed_as_guess and order.is_guess:  # it is declared later
            error = WebClientErrorResponse("it failed as a known path", retryable=True)
            return FinalResult(order.url, order.role, order.lastmod, 1, Failed(error))
        if snapshot.third_party is not None:
            found = snapshot.third_party.find(order.url, self._limits)
            entry = found and replace(found, role=order.role, lastmod=order.lastmod)
        if entry is not None:
            return self.recalled(entry.asked_as(order.url))
        absent = self._absent[order.is_guess]
        return FinalResult(order.url, order.role, order.lastmod, 0, absent)

    def recalled(self, entry: Entry) -> FinalResult:
        good = None if entry.last_good is None else self._last_good(entry, entry.last_good)
        result = good or self._result(entry)
        return FinalResult(entry.url, entry.role, entry.lastmod, entry.attempts, result)

    def _last_good(self, entry: Entry, before: Entry) -> Received | None:
        """Return the last good response of a document, if it is to be shown and can be read."""
        if self._kept is KeptAs.ABSENT:
            return None
        result, instead = self._result(before), self._result(entry)
        if isinstance(result, Failed):
            return None
        if self._kept is KeptAs.GOOD:
            return result
        if isinstance(instead, Failed):
            why: Reason | None = failure_reason(instead.error)
        else:
            why = instead.probe.refusal or instead.probe.unfinished
        if why is None and not entry.is_document:  # with other limits, what came may be good
            return None
        why = why or Reason(FailureCode.EMPTIED, FailureCode.EMPTIED.message)
        reason = replace(why, text=f"{why.text}; kept as it was {_when(before)}", full=None)
        return replace(result, kept=Kept(instead, reason))

    def _result(self, entry: Entry) -> Received | Failed:
        exchange, limits, snapshot = entry.exchange, self._limits, self._snapshot
        if entry.error is not None:
            return Failed(entry.error, exchange)
        assert exchange is not None
        assert entry.offset is not None
        size, most = exchange.received, limits.document_bytes
        is_within = limits.pages is None and (most is None or size <= most)
        if entry.probe is not None and size and is_within and snapshot.is_sound(entry):
            document = Document(snapshot.store, exchange, size, None, ((entry.offset, size),))
            return Received(document, entry.probe)
        return self._read(entry, exchange, entry.offset)

    def _read(self, entry: Entry, exchange: Exchange, offset: int) -> Received | Failed:
        """Take the first look at a recorded document, within the limits of one that is received."""
        limits, snapshot, late = self._limits, self._snapshot, partial(self._late, time.monotonic())
        broken, ended = (None, exchange.broken) if entry.ended else (exchange.broken, None)
        names = bool(snapshot.options.values.get("use_neighbours"))
        given = exchange.final_url, limits
        first = DocumentProbe(*given, names_hosts=names, exchange=exchange, role=entry.role)
        size, most = 0, limits.document_bytes
        stopped: Reason | None = None
        try:
            for chunk in recorded_body(WarcRecord(snapshot.file, offset), limits.ratio):
                if most is not None and size + len(chunk) > most:
                    chunk = chunk[: most - size]  # noqa: PLW2901
                    stopped = limits.reached("document_bytes")
                size += len(chunk)
                too_late = next(filter(None, (late() for _ in first.steps(chunk))), None)
                stopped = stopped or too_late
                if stopped is not None or first.parser.refusal is not None:
                    break
        except (DamagedRecord, BrokenBody) as error:
            broken = broken or damaged(error)
        ended = stopped or ended
        look, why = first.close(broken, ended), broken or ended
        if why is not None and not size:
            why = why.after("no data came")
            return Failed(WebClientErrorResponse(why, retryable=False), exchange)
        said = exchange.received
        if snapshot.third_party is not None:
            said, charset = size, first.parser.decoder.encoding
            exchange = replace(exchange, received=size, charset=charset)
        snapshot.store.measured.add(offset)
        exchange = replace(exchange, broken=ended or broken)
        document = Document(snapshot.store, exchange, size, None, ((offset, size),))
        if first.parser.may_have_children and late() is None:
            look = result_of(first.again(document, broken, ended, late))
        if size != said and why is None and look.refusal is None:  # it was read to its end
            why = damaged(f"it has {size:,} bytes, and should have {said:,}")
            return Failed(WebClientErrorResponse(why, retryable=False), exchange)
        return Received(document, look)

    def _late(self, begun: float) -> Reason | None:
        """Return why no more is read of a document that was begun then, if it takes too long."""
        most = self._limits.document_seconds
        if most is not None and time.monotonic() - begun > most:
            return self._limits.reached("document_seconds")
        return self._overdue()


def _when(entry: Entry) -> str:
    """Return when a document was last found to be good."""
    moment = entry.exchange and entry.exchange.started
    with suppress(ValueError):
        moment = datetime.fromisoformat(entry.seen or "")
    return "before" if moment is None else f"at {moment:%Y-%m-%d %H:%M} UTC"


# The tree of a file --------------------------------------------------------------------------------


def tree_in(
    snapshot: OpenSnapshot,
    options: CrawlOptions,
    own: Collection[str] = (),
    url: str | None = None,
    *,
    kept: KeptAs | None = None,
    begun: float | None = None,
) -> AbstractSitemap:
    """Return the tree of a snapshot that is open; it says so if that is incomplete.

    ``own`` are the options that the caller decides about, not the file. Documents that failed are shown
    as they were, unless somebody accepted the loss.
    """
    kept = kept or (KeptAs.ABSENT if snapshot.is_accepted else KeptAs.SHOWN)
    recorded = snapshot.options
    chosen = with_recorded(snapshot, options, own, recorded.values)
    leaves_out = recorded.callbacks or not recorded.filters.keys() <= set(own)
    if leaves_out and chosen.recurse_entry_callback is None:
        chosen = replace(chosen, recurse_entry_callback=lambda child: snapshot.has(child.url))
    if snapshot.unread and own is not ALL:
        snapshot.is_complete = False
        snapshot.losses.insert(0, snapshot.unread)
    search = search_in(snapshot, url, chosen)
    chosen = search.options
    limits = chosen.effective_limits
    if options.limits is None and limits.sitemaps is not None:
        limits = replace(limits, sitemaps=min(limits.sitemaps, snapshot.documents + _ABSENT))
    search = replace(search, options=replace(chosen, limits=limits))
    top = replay(snapshot, search, kept=kept, begun=begun)
    if snapshot.third_party is not None and isinstance(top, Website) and chosen.extra_known_paths:
        search = _without_declared(top)
        top = replay(snapshot, search, begun=begun)
    tree, said = tree_of(top), chosen.limits
    if recorded.limits is not None:  # it says why something is missing in another file, too
        said = merged_limits(min, recorded.limits, chosen.effective_limits)
    was = fetched_of(tree)
    assert was is not None
    fetched = replace(was, options=replace(search.options, limits=said))
    if isinstance(tree, IndexWebsiteSitemap) and not snapshot.is_complete:
        code = FailureCode.INCOMPLETE_SNAPSHOT
        lost = f": {snapshot.losses[0]}" if snapshot.losses else ""
        not_found = [*tree.not_found, Failure(tree.url, f"{code.message}{lost}", code=code)]
        tree = IndexWebsiteSitemap(
            tree.url, tree.sub_sitemaps, not_found=not_found, tried=tree.tried
        )
    keep_fetched(tree, fetched)
    return tree


def with_recorded(
    snapshot: OpenSnapshot, options: CrawlOptions, own: Collection[str], known: dict[str, Any]
) -> CrawlOptions:
    """Return the options of a crawl: what is known of the recorded one, or the caller's."""
    if snapshot.options.ignored and own is not ALL:
        names = ", ".join(snapshot.options.ignored)
        log.warning("%s: options in the file that are ignored: %s", snapshot.file.path, names)
    return replace(options, **{name: one for name, one in known.items() if name not in own})


def search_in(snapshot: OpenSnapshot, url: str | None, options: CrawlOptions) -> Search:
    """Return where the replay begins, and the options with which it looks for sitemaps."""
    if url is not None and "://" not in url:
        url = _with_scheme(snapshot, url)
    if url is None and snapshot.start is not None:
        kind, start = snapshot.start
        try:
            if kind == "sitemap":
                return sitemap_search(start, options)
            return website_search(start, replace(options, normalize_homepage_url=False))
        except SitemapException as error:
            raise SnapshotError(f"{snapshot.file.path}: {error}") from error
    if snapshot.third_party is None:
        return website_search(url or "", options)
    records = snapshot.third_party
    homepage = url or _only_site(snapshot.file.path, list(records.sites))
    if homepage in records.sitemaps:
        return sitemap_search(homepage, options)
    paths = KNOWN_SITEMAP_PATHS if options.use_known_paths else ()
    there = _present(records, homepage, paths)
    options = replace(options, use_known_paths=False, extra_known_paths=there)
    return website_search(homepage, options)


def _with_scheme(snapshot: OpenSnapshot, site: str) -> str:
    """Return the URL of a website or a sitemap: by https, unless only http is in the file."""
    records = snapshot.third_party
    known = () if records is None else (*records.sites, *records.sitemaps)
    ways = [f"{scheme}://{site}" for scheme in ("https", "http")]
    starts = (
        way for way in ways if any(f"{url}/".startswith(f"{way.rstrip('/')}/") for url in known)
    )
    return next(starts, ways[0])


def _only_site(path: Path, sites: list[str]) -> str:
    names = {site.partition("://")[2].removeprefix("www.") for site in sites}
    if len(names) == 1:
        return sites[0]
    if not names:
        raise SnapshotError(
            f"{path} has no robots.txt and no sitemaps; name the website with url=, or --site"
        )
    shown = ", ".join(sites[:3])
    raise SnapshotError(f"{path} has several websites ({shown} …): choose one with url=, or --site")


def _present(records: ThirdPartyRecords, homepage: str, paths: Iterable[str]) -> list[str]:
    """Return the known paths that are in a file, and without a robots.txt all of its sitemaps."""
    base = homepage if homepage.endswith("/") else f"{homepage}/"
    there = [path for path in paths if records.find(base + path, DEFAULT) is not None]
    if records.find(f"{base}robots.txt", DEFAULT) is None:
        there += [url[len(base) :] for url in records.sitemaps if url.startswith(base)]
    return list(dict.fromkeys(there))


def _without_declared(top: Website) -> Search:
    """Return a search without the paths that a sitemap declares: they are in the tree below it."""
    tree, options = top.tree(), top.crawl.options
    declared = {below.url for node in tree.sub_sitemaps for below in node.all_sitemaps()}
    paths = [path for path in options.extra_known_paths or () if tree.url + path not in declared]
    options = replace(options, extra_known_paths=paths, normalize_homepage_url=False)
    return website_search(tree.url, options)
