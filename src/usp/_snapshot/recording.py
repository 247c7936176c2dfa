"""Records a crawl, and updates what was recorded.

A thread of its own writes each document as its fetch ends. In an update documents are requested only if
they have changed, and kept if they have not.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import usp
from usp._base.dates import known_date
from usp._base.display import counted, excerpt, get_logger
from usp._base.filters import is_regular
from usp._base.reason import Reason
from usp._base.recrawl_policy import RecrawlPolicy, Rhythm, SitemapHints
from usp._base.urls import read_url, with_login
from usp._crawl.orders import Failed, Fetched, FetchOrder, FinalResult, HasEarlierResults, Received
from usp._crawl.stored_pages import StoredPages
from usp._formats.document import Role
from usp._http.flow import Conditions, conditions_of
from usp._snapshot.replay import ALL, RecordedAnswers, search_in, tree_in, with_recorded
from usp._snapshot.snapshot_entries import LIMIT, Entry, entry_of, key_of
from usp._snapshot.snapshot_file import (
    OpenSnapshot,
    merged_limits,
    open_snapshot,
    option_values,
    unfinished_snapshot,
)
from usp._snapshot.warc_writing import ACCEPTED, NewSnapshot, digest_of
from usp.exceptions import SnapshotError
from usp.limits import DEFAULT
from usp.objects.abstract_sitemap import page_sitemaps
from usp.objects.failure_codes import FailureCode
from usp.objects.problem import Failure
from usp.objects.sitemap import AbstractIndexSitemap, AbstractSitemap
from usp.options import CrawlOptions, WebsiteKeywords, combined
from usp.web_client.abstract_client import failure_reason

if TYPE_CHECKING:
    import os

    from usp._crawl.crawl import Crawl
    from usp._crawl.website import OneSitemap, Website
    from usp._store import Document
    from usp.objects.exchange import Exchange

log = get_logger("usp.snapshot")


class SnapshotRecorder:
    """Takes the documents of a crawl as their fetches end, and writes them in a thread of its own."""

    file: NewSnapshot
    started: float
    _crawl: Crawl
    _top: Website | OneSitemap

    def __init__(self, path: str | os.PathLike[str], options: CrawlOptions) -> None:
        self.path = path
        self._recorded = options
        self._thread = ThreadPoolExecutor(1, "usp-record")
        self._error: BaseException | None = None

    def begin(self, crawl: Crawl, top: Website | OneSitemap) -> Self:
        """Begin to write the documents of a crawl."""
        self.file = NewSnapshot(self.path, info_of(top.start, self._recorded))
        self.started, self._crawl, self._top = time.monotonic(), crawl, top
        return self

    def take(self, documents: Iterable[FinalResult]) -> None:
        """Take documents; may be called from any thread."""
        for final in documents:
            self._thread.submit(self._write, final)

    def _write(self, final: FinalResult) -> None:
        try:
            if self._error is None:
                self.add(final)
        except BaseException as error:  # noqa: BLE001 - raised where the crawl ends
            self._error = error

    def add(self, final: FinalResult) -> None:
        """Write a document; called in the thread that writes."""
        self.file.add(*entry_of(final))

    def facts(self) -> dict[str, Any]:
        return {"seconds": round(time.monotonic() - self.started, 3)}

    def before_end(self) -> bool:
        """Write what is left; return whether the new file is to replace what is there."""
        if not self.file.path.exists():
            return True
        tree = self._top.tree()
        nodes = (tree, *tree.all_sitemaps())
        # What was skipped may have some.
        skips = any(isinstance(node, AbstractIndexSitemap) and node.skipped for node in nodes)
        has_pages = skips or next(tree.all_pages(), None) is not None
        if not has_pages:
            log.warning("No pages were found: %s was left as it was", self.file.path)
        return has_pages

    def close(self, *, keep: bool) -> None:
        """Wait for the thread; ``keep`` what was written, or leave everything as it was."""
        self._thread.shutdown(cancel_futures=not keep)
        with self.file:
            if keep and self._crawl.complete and not self._top.is_wrong_guess:
                if self._error is not None:
                    raise self._error
                if self.before_end():
                    self.file.finish(self.facts())


def save(fetched: Fetched | None, path: str | os.PathLike[str]) -> None:
    """Write what a tree was read from to a snapshot."""
    if not isinstance(fetched, Fetched):
        raise SnapshotError(
            "this is not the root of a tree that was crawled or loaded: its documents are not at hand"
        )
    file = NewSnapshot(path, info_of(fetched.start, fetched.options))
    with file:
        for final in fetched.documents:
            written = file.add(*entry_of(final))
            kept = final.result.kept if isinstance(final.result, Received) else None
            if kept is not None:
                entry, document = entry_of(replace(final, result=kept.instead))
                file.add(replace(entry, last_good=written), document)
        file.finish({"seconds": _seconds(fetched.documents)})


def _seconds(documents: Iterable[FinalResult]) -> float:
    """Return how long a crawl took, from its first request to its last byte."""
    known = (final.result.exchange for final in documents)
    times = [(one.started.timestamp(), one.seconds) for one in known if one and one.started]
    return round(max(map(sum, times)) - min(times)[0], 3) if times else 0.0


def info_of(start: tuple[str, str], options: CrawlOptions) -> dict[str, str]:
    """Return what a file says about itself."""
    return {
        "software": f"usp/{usp.__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "usp-start": json.dumps(dict([start])),
        "usp-options": json.dumps(option_values(options)),
    }


# Updates ------------------------------------------------------------------------------------------

HALF = 0.5  # of the pages
_PATTERN_TEXT = 2000  # characters of all patterns: each URL is compared with all of them
_NOT_MODIFIED = 304
_CLIENT_ERRORS = range(400, 500)
_GONE = frozenset({404, 410})
_OFFLINE = CrawlOptions(wait=0.0, crawl_delay=False)


@dataclass(frozen=True, slots=True)
class UpdatePolicy:
    """What an update believes: dates in indexes, any loss, or that of this share of the pages.

    With a ``schedule`` it notes the rhythm of each document; with ``due_only`` it requests what is due.
    """

    trust_lastmod: bool = False
    accept: bool = False
    max_removed: float = HALF
    schedule: RecrawlPolicy | None = None
    due_only: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.max_removed, int | float) or not 0 <= self.max_removed <= 1:
            raise ValueError(f"max_removed must be from 0 to 1, not {self.max_removed!r}")


@dataclass(frozen=True, slots=True)
class Loss:
    """How many pages there were, how many are left, and a sitemap that has lost some."""

    before: int
    after: int
    example: str

    def __str__(self) -> str:
        return f"{self.before - self.after:,} of {counted(self.before, 'page')}"


def _is_current(entry: Entry, order: FetchOrder) -> bool:
    """Return whether a document has the date that it had, or is a known path that was not there."""
    if order.is_guess and entry.failed_with in _CLIENT_ERRORS:
        return True
    is_good = entry.is_whole and not entry.refused
    return is_good and bool(order.lastmod) and entry.lastmod == order.lastmod


def _listed(result: Received | Failed) -> set[str]:
    """Return the sitemaps that a document lists, or the first of its pages if it lists none."""
    if isinstance(result, Failed):
        return set()
    pages = StoredPages(result.document, result.exchange.final_url)
    return {child.loc for child in result.probe.children} or {one.url for one in islice(pages, 1)}


class UpdateRecorder(SnapshotRecorder, HasEarlierResults):
    """Writes the next state of a snapshot: what has changed anew, and the rest as it was.

    ``counts`` are how many documents were what, ``received`` and ``saved`` the bytes of bodies.
    ``kept`` are the URLs of documents that failed, or have lost their pages or most of their sitemaps
    since the last update, and whose last good responses are kept. ``refused`` are those of them that
    were answered, but not with the document, ``shrunk`` what became of those that have suddenly lost
    what they had.

    If more of the pages are ``gone_pages`` than may be, nothing is replaced unless that is accepted.
    ``unread_pages`` is the same of more than half of the pages that were read now, without those that
    are kept.
    """

    def __init__(
        self,
        policy: UpdatePolicy,
        path: str | os.PathLike[str],
        output: str | os.PathLike[str] | None,
        options: CrawlOptions | None,
        keywords: Any,
    ) -> None:
        given = combined(options, keywords, WebsiteKeywords)
        self.before = before = open_snapshot(path, given.effective_limits)
        if before.start is None:
            raise SnapshotError(
                f"{path} was written by another program: record the website with usp snapshot first"
            )
        own = keywords.keys() if options is None else ALL
        _check_again(before, own)
        known = before.options.values | before.options.filters
        chosen = with_recorded(before, replace(given, record=None), own, known)
        self.search = replace(search_in(before, None, chosen), record=self.begin)
        limits, then = chosen.effective_limits, before.options.limits
        # What is left out by a limit that did not end the recorded crawl is kept, too.
        self._keeps = limits != merged_limits(max, limits, then or DEFAULT)
        # Limits that are lower than before are for this update only.
        chosen = self.search.options
        super().__init__(output or path, replace(chosen, limits=then) if self._keeps else chosen)
        self.policy = policy
        self._answers = RecordedAnswers(before, limits)
        self._lock = threading.Lock()
        self._seen: dict[tuple[Role, str], Exchange] = {}  # what was said to be unchanged
        self._trusted: set[tuple[Role, str]] = set()  # what was not asked for
        self._same: set[str] = set()  # URLs of documents that are as they were
        self._is_partial = False  # whether something failed that may be there again next time
        self._not_found: set[str] = set()  # URLs of what was there and is not declared
        self.kept: set[str] = set()
        self.shrunk: dict[tuple[Role, str], Failure] = {}
        self.refused: dict[str, Failure] = {}
        self.counts = dict.fromkeys(
            ("added", "changed", "identical", "not_modified", "not_asked", "not_checked"), 0
        )
        self.requests = self.received = self.saved = self.removed = 0
        self.seconds = 0.0
        self.gone_pages: Loss | None = None
        self.unread_pages: Loss | None = None

    def log_in(self, url: str) -> None:
        """Use the login in a URL of the website, if it has one: the snapshot does not have it."""
        login = read_url(url).login
        if login is not None:
            start_url = with_login(self.search.start_url, login)
            self.search = replace(self.search, start_url=start_url)

    @cached_property
    def tree(self) -> AbstractSitemap:
        """What was found in this update alone."""
        return self._top.tree()

    def _good(self, key: tuple[Role, str]) -> Entry | None:
        """Return the last complete response of a document, even if it failed later."""
        entry = self.before.entries.get(key)
        best = entry and (entry.last_good or entry)
        return best if best and best.is_whole and self.before.is_sound(best) else None

    def conditions(self) -> Conditions:
        return conditions_of(
            (exchange.url, exchange.final_url, exchange.header)
            for entry in map(self._good, self.before.entries)
            if entry is not None and (exchange := entry.exchange) is not None
        )

    def recall(self, order: FetchOrder) -> Received | Failed | None:
        """Return what is not asked for: its index says that it is the same, or it is not due yet."""
        key = key_of(order.role, order.url)
        entry = self.before.entries.get(key) if order.attempt == 1 else None
        is_current = (
            entry is not None
            and entry.last_good is None
            and (
                (self.policy.trust_lastmod and _is_current(entry, order))
                or self._is_early(entry, order)
            )
        )
        if entry is None or not is_current or not self.before.is_sound(entry):
            self._count_requests(1)
            return None
        self._trusted.add(key)
        return self._answers.recalled(entry.asked_as(order.url)).result

    def _is_early(self, entry: Entry, order: FetchOrder) -> bool:
        """Return whether a document is not due yet, and its index does not say that it has changed."""
        policy, known = self.policy.schedule, entry.rhythm
        if (
            policy is None
            or known is None
            or not self.policy.due_only
            or entry.lastmod != order.lastmod
        ):
            return False
        is_known = order.is_guess if entry.error is not None else entry.is_whole
        return is_known and not entry.refused and 0 < known.due - time.time() <= policy.longest

    def _rhythm(self, entry: Entry, what: str) -> Rhythm | None:
        """Return the rhythm of a document after this update, in which it was ``what``."""
        old, policy, now = self.before.entries.get(entry.key), self.policy.schedule, time.time()
        if policy is None or entry.key in self._trusted:
            return None if old is None else old.rhythm
        index_date = known_date(entry.lastmod or "")
        hints = SitemapHints(index_date.timestamp() if index_date else None, url=entry.url)
        known = old.rhythm if old else None
        if known is None:  # recorded without a schedule, or new
            then = old.exchange and old.exchange.started if old else None
            known = policy.first(then.timestamp() if then else now, hints)
        if what == "failed":
            code = failure_reason(entry.error).code.value if entry.error else None
            return policy.failed(known, now, code)
        return (policy.changed if what == "changed" else policy.unchanged)(known, now, hints)

    def next_due(self) -> float | None:
        """Return the time at which the first of the documents is due again, if that is known."""
        rhythms = (one.rhythm for one in self.file.entries.values())
        return min((one.due for one in rhythms if one is not None), default=None)

    def _count_requests(self, number: int) -> None:
        with self._lock:
            self.requests += number

    def unchanged(self, order: FetchOrder, exchange: Exchange) -> Received | None:
        key = key_of(order.role, order.url)
        entry = self._good(key) if exchange.status == _NOT_MODIFIED else None
        result = None if entry is None else self._as_recorded(entry.asked_as(order.url))
        if not isinstance(result, Received):
            return None
        self._seen[key] = exchange
        return result

    def _as_recorded(self, entry: Entry) -> Received | Failed:
        """Return a document as it was recorded, whatever became of it later."""
        return self._answers.recalled(replace(entry, error=None)).result

    def add(self, final: FinalResult) -> None:
        """Write a document, or copy its records if it has not changed."""
        entry, document = entry_of(final)
        key, seen = entry.key, self._seen.get(entry.key)
        before = self._good(key)
        exchange = seen or (None if key in self._trusted else final.result.exchange)
        if exchange is not None:
            self._count_requests(len(exchange.redirects))
        if document is None:
            entry = replace(entry, rhythm=self._rhythm(entry, "failed"))
            self.file.add(self._failed(final, entry, before))
            return
        if document.store is self.before.store:
            self.saved += document.size
        else:
            self.received += document.size
        what = self._against(before or self.before.entries.get(key), key, document)
        is_new = before is None or what == "changed"
        if what == "changed" and before is not None and self._is_packed_anew(document, before):
            what = "identical"
            self._same.add(document.exchange.final_url)
        is_worse = before is not None and self._is_worse(final, entry, before, what)
        entry = replace(entry, rhythm=self._rhythm(entry, "failed" if is_worse else what))
        if before is not None and is_worse:
            self.file.add(self._with_last_good(entry, before), document)
            return
        self.counts[what] += what != "added" or not entry.refused  # an HTML page is nothing new
        if before is None or is_new:
            self.file.add(entry, document)
            return
        if what == "identical":
            seen = document.exchange
        else:
            probe = before.probe or entry.probe
            entry = replace(entry, exchange=before.exchange, probe=probe)
        if seen is not None and seen.started is not None:
            entry = replace(entry, seen=seen.started.isoformat())
        self._same.add(document.exchange.final_url)
        self.file.carry(self.before.file, before, entry, revisit=seen)

    def _against(self, old: Entry | None, key: tuple[Role, str], document: Document) -> str:
        """Return what a document is compared with the one that there was."""
        if document.store is self.before.store:
            return "not_asked" if key in self._trusted else "not_modified"
        if old is None or old.offset is None or old.exchange is None:
            return "added"
        is_same = document.size == old.exchange.received
        return "identical" if is_same and digest_of(document.chunks()) == old.digest else "changed"

    def _is_packed_anew(self, document: Document, before: Entry) -> bool:
        """Return whether only the compression of a document is not what it was."""
        earlier = self._as_recorded(before)
        if not isinstance(earlier, Received):
            return False
        both = [StoredPages(one, "") for one in (document, earlier.document)]
        if not any(one.is_packed for one in both):
            return False
        now, then = (
            digest_of(text.encode(errors="replace") for text in one.texts()) for one in both
        )
        return now == then

    def _is_worse(self, final: FinalResult, entry: Entry, before: Entry, what: str) -> bool:
        """Return whether a response is not the document, or one that has suddenly lost what it had."""
        assert isinstance(final.result, Received)
        if not before.refused and (entry.refused or (self._keeps and entry.ended)):
            look, status = final.result.probe, final.result.exchange.status
            why = look.refusal or look.unfinished
            if why is not None:
                self.refused[entry.url] = Failure.of(entry.url, why, final.attempts, status)
            return True
        if what != "changed" or entry.role is Role.HOMEPAGE or not self._is_sudden(entry.key):
            return False
        now, former = _listed(final.result), _listed(self._as_recorded(before))
        # No pages, or few of its sitemaps and no others.
        if now < former and 2 * len(now) < len(former):
            why = Reason(FailureCode.EMPTIED, FailureCode.EMPTIED.message)
            self.shrunk[entry.key] = Failure.of(entry.url, why, final.attempts)
            return True
        return False

    def _failed(self, final: FinalResult, entry: Entry, before: Entry | None) -> Entry:
        """Return why a document is missing now; only what nothing declares any more is gone."""
        is_declared = final.role in (Role.SITEMAP, Role.HTML_SITEMAP) and not final.is_guess
        if before is None:
            return entry
        if not is_declared and entry.failed_with in _GONE:
            if final.role is not Role.ROBOTS or not self._is_sudden(entry.key):
                if not before.refused:
                    self._not_found.add(entry.url)
                return entry
            assert entry.error is not None
            why = failure_reason(entry.error)
            status = entry.failed_with
            self.shrunk[entry.key] = Failure.of(entry.url, why, final.attempts, status)
        return self._with_last_good(entry, before)

    def _is_sudden(self, key: tuple[Role, str]) -> bool:
        """Return whether the last update did not find yet that a document has lost what it had."""
        was = self.before.entries[key]
        is_known = was.last_good is not None and (was.is_document or was.failed_with in _GONE)
        return not is_known and not self.policy.accept

    def _with_last_good(self, entry: Entry, before: Entry) -> Entry:
        """Return a document that failed, or is not what it was, with its last good response."""
        # Below a page sitemap there is nothing that could not be reached because of it.
        self._is_partial |= before.probe is None
        assert before.exchange is not None
        self.kept |= {entry.url, before.exchange.final_url}
        return replace(entry, last_good=self.file.copied(self.before.file, before))

    def facts(self) -> dict[str, Any]:
        """Return what the last record says; the seconds are those of the last full crawl."""
        before = self.before
        facts = super().facts() | ({} if before.seconds is None else {"seconds": before.seconds})
        # What was accepted once stays so, until more is lost.
        accepts = self.policy.accept if self.unread_pages else before.is_accepted
        return {**facts, ACCEPTED: True} if self.kept and accepts else facts

    def before_end(self) -> bool:
        """Keep what was not asked for because something above it failed, or of a limit; close the file.

        So it is not lost, and the next update need not fetch it again. Returns whether the new file is
        to replace the old one.
        """
        old = self.before
        is_limited = self._keeps and any(
            failure.code.value.startswith(LIMIT) for failure in self.tree.failures()
        )
        left = old.entries.keys() - self.file.entries.keys()
        self.removed = len(self._not_found)
        if is_limited or self._is_partial:
            for key in sorted(left, key=lambda key: key[1]):
                before, entry = self._good(key), old.entries[key]
                if entry.offset is None:
                    self.file.add(entry if before is None else self._with_last_good(entry, before))
                elif before is not None:
                    self.file.carry(old.file, before, before)
                self.counts["not_checked"] += before is not None
        else:
            self.removed += sum(old.entries[key].is_whole for key in left)
        if self.counts["changed"] or self.removed or self.shrunk:
            self.gone_pages = self._gone()
        self.unread_pages = self.gone_pages
        if self.kept and not is_limited:
            self.unread_pages = self._lost(self.tree, self._same)
        self.seconds = time.monotonic() - self.started
        old.file.close()  # some systems do not replace one that is open
        return self.gone_pages is None or self.policy.accept

    def _gone(self) -> Loss | None:
        """Return what would be lost if nothing were kept of what has suddenly shrunk."""
        entries, kept = dict(self.file.entries), set(self.kept)
        for key in self.shrunk:
            good = entries[key].last_good
            entries[key] = replace(entries[key], last_good=None)
            kept -= {key[1], good.exchange.final_url if good and good.exchange else ""}
        snapshot = unfinished_snapshot(self.file.so_far(), entries)
        with closing(snapshot.file):
            now = tree_in(snapshot, _OFFLINE)
            return self._lost(now, self._same | kept, self.policy.max_removed)

    def _lost(self, now: AbstractSitemap, same: set[str], most: float = HALF) -> Loss | None:
        return _loss(tree_in(self.before, _OFFLINE), now, same, most)


def _check_again(snapshot: OpenSnapshot, own: Collection[str]) -> None:
    """Raise :class:`SnapshotError` if a crawl cannot go on with what the file says about options."""
    path = snapshot.file.path
    if snapshot.unread and own is not ALL:
        raise SnapshotError(f"{path}: {snapshot.unread}; record the website anew")
    filters = snapshot.options.filters.items()
    patterns = {name: one for name, one in filters if isinstance(one, tuple) and name not in own}
    texts = [text for one in patterns.values() for text in one]
    if any(map(is_regular, texts)) or sum(map(len, texts)) > _PATTERN_TEXT:  # could take for ever
        name, said = next(iter(patterns.items()))
        raise SnapshotError(
            f"{path} was recorded with {name}={excerpt(repr(list(said)), 200)}: regular "
            f"expressions, and very many patterns, are not taken from a file; give {name} again"
        )


def _loss(
    before: AbstractSitemap, after: AbstractSitemap, same: set[str], most: float
) -> Loss | None:
    """Return how many pages two trees have, if more than a share of them is not in the second one.

    Those of the ``same`` sitemaps are counted last, and only until they are enough.
    """
    old, new = ({node.url: node for node in page_sitemaps(tree)} for tree in (before, after))
    same = same & old.keys() & new.keys()
    old_counts, new_counts = (
        {url: node.page_count() for url, node in half.items() if url not in same}
        for half in (old, new)
    )
    pages_before, pages_after = sum(old_counts.values()), sum(new_counts.values())
    for url in same:
        if pages_before - pages_after <= most * pages_before:
            break
        count = old[url].page_count()
        pages_before, pages_after = pages_before + count, pages_after + count
    if pages_before - pages_after <= most * pages_before:
        return None
    return Loss(
        pages_before,
        pages_after,
        next(url for url in old_counts if new_counts.get(url, 0) < old_counts[url]),
    )
