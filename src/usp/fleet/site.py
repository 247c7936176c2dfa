"""One site: its HTTP client, its tree, and the rows of a visit."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from usp._base.display import counted
from usp._base.files import DatasetError
from usp._base.reason import Reason
from usp._base.recrawl_policy import next_due
from usp._base.shortage import shortage_of
from usp._base.urls import host_of, with_login
from usp._crawl.asyncio_driver import Stepper
from usp._crawl.fetch import END
from usp._crawl.orders import Failed, FetchOrder, FinalResult, HasEarlierResults, Received
from usp._formats.document import Role
from usp.aio import sitemap_tree_for_homepage
from usp.events import Event, SitemapReceived
from usp.exceptions import LocalShortageError, SitemapException
from usp.export.arrow import batches_of
from usp.export.sitemaps import places_in, problem_columns, sitemap_row
from usp.fleet.previous_visit import PreviousVisit, packed_document
from usp.fleet.tables import GONE, Row, domain_of, page_columns, pages_of
from usp.objects.problem import Failure, FailureCode
from usp.objects.sitemap import (
    AbstractPagesSitemap,
    AbstractSitemap,
    IndexWebsiteSitemap,
    InvalidSitemap,
    fetched_of,
    page_steps,
    problems_until,
)
from usp.selection import Selection
from usp.web_client.abstract_client import WebClientErrorResponse, status_of
from usp.web_client.aiohttp_client import AiohttpWebClient, AiohttpWebClientSuccessResponse

if TYPE_CHECKING:
    from usp._http.flow import Conditions
    from usp.fleet.crawler import HostTurns
    from usp.fleet.options import FleetOptions
    from usp.objects.exchange import Exchange
    from usp.objects.page import PageBlock
    from usp.web_client.abstract_client import AbstractWebClientResponse

GRACE = 30.0  # seconds after the time limit of a site in which its crawl must have ended by itself
_SLICE = 1 << 15  # pages that are read before the others get their turn
_MOST_ROWS = 1000  # sitemaps in one batch
_OK = 200
_BUSY = 429
_SERVER_ERROR = 500
_PLACE = ("parent", "depth", "index_lastmod")
_OF_CONTENT = (
    *("status", "failure", "code", "etag", "last_modified", "digest", "document", "pages_visit"),
    *("pages", "bytes", "problems", "problem_codes", "duration", "due", "index_lastmod"),
)
_MAX_AGE = re.compile(r"max-age\s*=\s*(\d{1,9})", re.IGNORECASE)


@dataclass(eq=False)
class SiteCrawl:
    """Crawls one site: ``fetch`` its tree, then read its ``tables``. Never raises."""

    site: str
    options: FleetOptions
    visit: str
    client: Any = None
    previous: PreviousVisit | None = None
    run: int | None = None
    reason: Reason | None = None
    accept: bool = False
    received: int = 0  # bytes, so far

    def __post_init__(self) -> None:
        self._tree = IndexWebsiteSitemap(self.site, [])
        self._finals: dict[str, FinalResult] = {}  # by URL
        self._digests: dict[str, str] = {}  # of documents, by the URL of the sitemap
        self._first: dict[str, AbstractSitemap] = {}  # the node of each URL that has pages to read
        self._counts: Counter[str] = Counter()  # pages that were read, by sitemap
        self._kept_pages = 0  # of sitemaps that have failed now, or of all if too many are gone
        self._total = 0  # pages that the sitemaps in the tree have
        self._is_sudden = False
        self._unread: dict[str, Reason] = {}  # sitemaps that were not read to their end
        self._with_news: set[str] = set()
        self._stepper = Stepper()
        self._read_until: float | None = None
        self._started = datetime.now(UTC)
        self._duration = 0.0
        self._due: list[datetime] = []
        self._delays: list[float] = []

    def _hear(self, event: Event) -> None:
        if isinstance(event, SitemapReceived):
            self.received += event.received
        if self.options.on_event is not None:
            self.options.on_event(event)

    async def fetch(self) -> None:
        """Fetch the sitemaps of the site, within its limits."""
        self._started = datetime.now(UTC)
        begin = time.monotonic()
        seconds = self.options.effective_limits.seconds
        login = self.options.logins.get(self.site)
        start = self.site if login is None else with_login(self.site, login)
        paths = self.previous.known_paths(self.options) if self.previous is not None else None
        try:
            async with asyncio.timeout(None if seconds is None else seconds + GRACE):
                options = self.options.for_site(self._hear, paths)
                if feeds := self.options.feeds.get(self.site):
                    known = (*(options.extra_known_paths or ()), *feeds)
                    options = replace(options, extra_known_paths=known)
                self._tree = await sitemap_tree_for_homepage(start, self.client, options=options)
        except TimeoutError:
            self.reason = self.options.effective_limits.reached("seconds")
        except LocalShortageError:
            raise  # not the site's fault: it is crawled again
        except SitemapException as error:
            text = f"{error} Write for example https://example.org/"
            self.reason = Reason(FailureCode.BAD_URL, text)
        except Exception as error:  # noqa: BLE001 - one site must not end the others
            self.reason = Reason(FailureCode.INTERNAL_ERROR, f"{type(error).__name__}: {error}")
        self._duration = time.monotonic() - begin

    async def tables(self) -> AsyncIterator[tuple[str, Any]]:
        """Yield the rows, each time with the name of their table; the site's own row comes last."""
        rows: list[Row] = []
        replaced: list[Row] = []
        previous = self.previous
        try:
            await self._stepper.call(deque, self._compare(), 0)
            table = "pages" if previous is None or not previous.there else "compared"
            async for batch in self._pages():
                yield table, batch
            rows, replaced = await self._stepper.call(self._sitemaps)
        except DatasetError:
            raise  # not the site's fault either
        except Exception as error:
            code = shortage_of(error)
            if code is not None:
                raise LocalShortageError(code) from error
            self.reason = _unreadable(error)
        for at in range(0, len(rows), _MOST_ROWS):
            yield "fetches", rows[at : at + _MOST_ROWS]
            await asyncio.sleep(0)
        if replaced and self.options.pages:
            yield "replaced", replaced
        yield "visits", [self.row(rows)]
        self._tree = IndexWebsiteSitemap(self.site, [])  # the documents go with the other one
        self._finals = {}

    def _compare(self) -> Iterator[None]:
        """Find out which documents are the same as the last time, step by step."""
        fetched = fetched_of(self._tree)
        self._finals = (
            {one.url: one for one in fetched.documents if one.role is not Role.HOMEPAGE}
            if fetched
            else {}
        )
        previous = self.previous
        for node, _, _ in places_in(self._tree):
            final = self._final_of(node)
            is_new = node.url not in self._first or not isinstance(node, InvalidSitemap)
            if isinstance(self._first.get(node.url), InvalidSitemap | None) and is_new:
                self._first[node.url] = node
            if final is None or not isinstance(final.result, Received):
                continue
            if previous is not None and (
                node.url in previous.same or node.url in previous.recalled
            ):
                continue
            if node.url in self._digests:
                continue
            digest = hashlib.blake2b(digest_size=16)
            for chunk in final.result.document.chunks():
                digest.update(chunk)
                yield
            self._digests[node.url] = digest.hexdigest()
            row = None if previous is None else previous.there.get(node.url)
            if (
                previous is not None
                and previous.is_comparable
                and self.options.keeps_unchanged
                and row is not None
                and row["digest"] == self._digests[node.url]
                and node.failure is None
            ):
                headers = {"etag": final.result.exchange.header("ETag")}
                headers["last_modified"] = final.result.exchange.header("Last-Modified")
                previous.same[node.url] = row | headers

    def _final_of(self, node: AbstractSitemap) -> FinalResult | None:
        exchange = node.exchange
        return self._finals.get(node.url if exchange is None else exchange.url)

    async def _pages(self) -> AsyncIterator[Any]:
        columns, blocks = self.options.columns, self._chosen()
        if not self.options.pages:
            async for _ in self._each(blocks):
                pass
            return
        visit = {"site": self.site, "domain": self._domain, "visit": self.visit}
        async for batch in self._each(batches_of(blocks, page_columns(columns), _SLICE)):
            if "news" in batch.schema.names and batch.column("news").null_count < len(batch):
                found = batch.filter(batch.column("news").is_valid()).column("sitemap")
                self._with_news.update(found.unique().to_pylist())
            yield pages_of(batch, visit | {"started": self._started}, self._digests, columns)

    @cached_property
    def _domain(self) -> str:
        return domain_of(self.site)

    async def _each(self, steps: Iterator[Any]) -> AsyncIterator[Any]:
        while (one := await self._stepper.next(steps)) is not END:
            yield one
            await asyncio.sleep(0)

    def _overdue(self) -> Reason | None:
        """Return why reading should end, if it takes longer than the time limit of the crawl."""
        if self._read_until is None or time.monotonic() < self._read_until:
            return None
        return self.options.effective_limits.reached("seconds")

    def _chosen(self) -> Iterator[tuple[str, PageBlock]]:
        """Yield the pages of sitemaps that are not as they were, in blocks; each sitemap once."""
        seconds = self.options.effective_limits.seconds
        self._read_until = None if seconds is None else time.monotonic() + seconds
        run = (self.options.selection or Selection()).run(self.site)
        previous = self.previous
        read: dict[str, AbstractSitemap] = {}
        last: str | None = None
        for sitemap, block in page_steps(self._tree):
            reason, url = self._overdue(), sitemap.url
            if reason is not None:
                self.reason = reason.after("not all pages were read")
                done = read.keys() - {last, url}
                left = (one for one in self._first if one not in done)
                self._unread = dict.fromkeys(left, self.reason)
                return
            last = url
            if block is None or read.setdefault(url, sitemap) is not sitemap:
                continue
            if previous is not None and (url in previous.same or url in previous.recalled):
                continue
            for _, chosen in run.of_stream([(url, block)]):
                self._counts[url] += len(chosen.urls)
                yield url, chosen

    # The rows ---------------------------------------------------------------------------------------

    def _sitemaps(self) -> tuple[list[Row], list[Row]]:
        """Return the rows of what was asked for, or is gone, and which pages are replaced."""
        previous, rows = self.previous, list(self._rows_of_tree())
        if previous is None:
            return rows, []
        lost = previous.lost(self._tree)
        if self.reason is not None and not self._unread:
            lost = previous.there.keys() - self._first.keys()  # nobody knows
        if self.accept:
            lost = set()
        kept = sum(previous.there[url]["pages"] or 0 for url in lost)
        failing = (row for row in (*rows, *previous.recalled.values()) if not row["good"])
        self._kept_pages = kept + sum(row["pages"] or 0 for row in failing)
        gone = previous.there.keys() - self._first.keys() - lost
        if self._is_worse(kept + self._total):
            self._is_sudden, self._kept_pages, self._due = True, previous.count, []
            return [], []
        rows += [self._gone(previous.there[url]) for url in sorted(gone)]
        return rows, self._replaced(rows)

    def _rows_of_tree(self) -> Iterator[Row]:
        """Yield the rows of the sitemaps that the tree has, but for those that were not due."""
        previous = self.previous
        places: dict[str, tuple[str | None, int]] = {}
        for node, parent, depth in places_in(self._tree):
            places.setdefault(node.url, (parent, depth))
        for url, node in self._first.items():
            if isinstance(node, InvalidSitemap) and node.failure is None:
                continue  # where it leads back to a sitemap above: that has its row
            before = None if previous is None else previous.rows.get(url)
            row, final = self._row(node, before), self._final_of(node)
            self._total += row["pages"] or 0
            place = (*places[url], None if final is None else final.lastmod)
            row |= dict(zip(_PLACE, place, strict=True))
            if previous is None or url not in previous.recalled:
                changed = previous is None or url not in previous.same
                self._schedule(row, before, changed=changed)
                yield row
                continue
            self._due.append(row["due"] or self._started)
            if before is None or place != tuple(before[name] for name in _PLACE):
                yield row | {"visit": self.visit, "document": None}

    def _is_worse(self, pages: int) -> bool:
        """Return whether more than half of the pages are suddenly gone, which may be a mistake."""
        previous = self.previous
        if previous is None or self.accept or not previous.count:
            return False
        was_so = previous.row["outcome"] == "kept" and previous.row["code"] is None
        if previous.is_comparable:
            return 2 * pages < previous.count and not was_so
        return not pages and not any(
            isinstance(node, AbstractPagesSitemap) and node.failure is None
            for node in self._first.values()
        )

    def _replaced(self, rows: list[Row]) -> list[Row]:
        """Return which pages are compared with which ones."""
        assert self.previous is not None
        found = []
        for row in rows:
            before = self.previous.rows.get(row["sitemap"])
            old = before["pages_visit"] if before is not None else None
            new = row["pages_visit"]
            if old != new:
                names = ("site", "domain", "sitemap")
                found.append(
                    {name: row[name] for name in names}
                    | {"visit": new or self.visit, "old": old, "seen_at": self._started}
                )
        return found

    def _row(self, node: AbstractSitemap, before: Row | None) -> Row:
        """Return the row of a sitemap, but for its place and its schedule."""
        previous, url = self.previous, node.url
        if previous is not None and url in previous.recalled:
            return dict(previous.recalled[url])
        exchange = node.exchange
        row = sitemap_row(node, attrgetter("plain"), count=False)
        del row["url"]
        row |= {
            "site": self.site,
            "domain": self._domain,
            "visit": self.visit,
            "sitemap": url,
            "declared": None if exchange is None or exchange.url == url else exchange.url,
            "etag": None if exchange is None else exchange.header("ETag"),
            "last_modified": None if exchange is None else exchange.header("Last-Modified"),
            "duration": None if exchange is None else exchange.seconds,
            "status": node.status,
            "max_age": _max_age(exchange),
            "fetched_at": self._started,
            "first_seen": self._started if before is None else before["first_seen"],
            "changed_at": self._started,
            "good": True,
            "failures": 0,
            "digest": self._digests.get(url),
            "document": None,
            "pages_visit": None,
        }
        if previous is not None and url in previous.same:
            newer = {
                name: row[name] for name in ("visit", "status", "duration", "fetched_at", "max_age")
            }
            good = {"good": True, "failure": None, "code": None, "failures": 0, "document": None}
            return previous.same[url] | newer | good
        if isinstance(node, AbstractPagesSitemap):
            found = problems_until(node, self._overdue) if self.options.problems else node.problems
            row |= problem_columns(found) if self.options.problems else {}
            row["pages"] = self._counts[url]
        else:
            row |= problem_columns(node.problems)
            if self._counts[url]:
                row["pages"] = self._counts[url]  # among the sitemaps of an index
        if self._counts[url] and self.options.pages:
            row["pages_visit"] = self.visit
        if url in self._unread and isinstance(node, AbstractPagesSitemap):
            why = Failure.of(url, self._unread[url])
            row |= {"failure": why.plain, "code": why.code.value}
        if row["code"] is not None:
            return self._failed_row(row, before)
        if not isinstance(node, AbstractPagesSitemap):
            final = self._final_of(node)
            if final is not None and isinstance(final.result, Received):
                row["document"] = packed_document(final.result.document)
        row["news"] = url in self._with_news
        return row

    def _failed_row(self, row: Row, before: Row | None) -> Row:
        """Return the row of a sitemap that has failed: what was there stays, if that is better."""
        failures = 1 + (0 if before is None else before["failures"] or 0)
        is_better = (
            before is not None
            and not self.accept
            and before["type"] != GONE
            and before["digest"] is not None
            and (before["code"] is None or (before["pages"] or 0) > (row["pages"] or 0))
        )
        if before is not None and is_better:
            names = ("visit", "status", "failure", "code", "duration", "fetched_at")
            newer = {name: row[name] for name in names}
            return before | newer | {"good": False, "failures": failures, "document": None}
        return row | {"good": bool(row["pages"]) or self.accept, "failures": failures}

    def _gone(self, row: Row) -> Row:
        """Return the row of a sitemap that is in the tree no more."""
        nothing = dict.fromkeys(_OF_CONTENT)
        now = {"visit": self.visit, "fetched_at": self._started, "changed_at": self._started}
        return row | nothing | now | {"type": GONE, "good": True, "failures": 0}

    def _schedule(self, row: Row, before: Row | None, *, changed: bool) -> None:
        """Put into a row when its sitemap is to be asked for again."""
        facts = {
            **row,
            "url": row["sitemap"],
            "checked_at": None if before is None else before["fetched_at"],
            "interval": None if before is None else before["interval"],
            "changed_at": None if before is None else before["changed_at"],
            "changed": changed,
            "failed": row["code"] is not None,
        }
        row["interval"], row["due"] = next_due(facts, now=self._started)
        if before is not None and not (changed and row["good"]):
            row["changed_at"] = before["changed_at"]
        elif before is not None and before["fetched_at"] is not None and row["pages"]:
            self._delays.append((self._started - before["fetched_at"]).total_seconds())
        self._due.append(row["due"])

    def row(self, sitemaps: list[Row]) -> Row:
        """Return the row of the site itself; ``was_good`` and ``is_lost`` are for the run."""
        previous, kept = self.previous, self._kept_pages
        there = {row["sitemap"]: row for row in sitemaps}
        if previous is not None and not (self._is_sudden or (self.reason and not there)):
            there = previous.there | there
        elif previous is not None:
            there = previous.there
        now = [row for row in there.values() if row["type"] != GONE]
        pages = sum(row["pages"] or 0 for row in now)
        outcome = "complete" if pages else "empty"
        reason = code = None
        if self.reason is not None:
            failures = [Failure.of(self.site, self.reason)]
            reason = failures[0].plain
            if previous is not None and not kept and not there:
                kept = previous.count
        elif failures := self._tree.failures():
            more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
            reason = f"{failures[0].url}: {failures[0].plain}{more}"
        if failures:
            code = failures[0].code.value
            found = pages or any(row["pages"] is not None for row in now)
            outcome = "partial" if found else "failed"
        if kept:
            outcome = "kept"
            why = reason or f"{sum(self._counts.values()):,} found now"
            reason = f"{counted(kept, 'page')} of an earlier visit kept: {why}"
        return {
            "site": self.site,
            "domain": self._domain,
            "visit": self.visit,
            "outcome": outcome,
            "reason": reason,
            "code": code,
            "sitemaps": len(now),
            "pages": pages,
            "bytes": self.received,
            "requests": self.client.sent.total(),
            "duration": self._duration,
            "started": self._started,
            "run": self.run,
            "options": self.options.digest,
            "statuses": dict(self.client.statuses),
            "delays": self._delays,
            "was_good": previous is not None and bool(previous.count),
            "is_lost": outcome == "failed" or 2 * kept > pages,
            **self._next_visit(outcome, code),
            **self._absent(),
        }

    def _next_visit(self, outcome: str, code: str | None) -> Row:
        """Return when the site is to be visited again."""
        failures = 0
        due = min(self._due, default=None)
        if outcome in ("failed", "kept") or due is None:
            before = 0 if self.previous is None else self.previous.row["failures"] or 0
            failures = before + 1 if outcome in ("failed", "kept") else 0
            if self._is_sudden:  # an outage may look like that, and last for hours
                code = FailureCode.NOT_FOUND.value
            known = {"failed": bool(failures), "failures": failures, "code": code}
            _, again = next_due(known, now=self._started)
            due = again if due is None else min(due, again)
        return {"due": due, "failures": failures}

    def _absent(self) -> Row:
        """Return the known paths at which nothing is that the tree has, so as not to ask again."""
        previous = self.previous
        absent = {}
        for final in self._finals.values():
            if final.is_guess and final.url.startswith(self._tree.url):
                result = final.result
                if isinstance(result, Failed):
                    status = result.exchange.status if result.exchange is not None else None
                    is_absent = status is not None and status < _SERVER_ERROR and status != _BUSY
                else:
                    is_absent = result.exchange.final_url not in self._first
                if is_absent:
                    absent[final.url.removeprefix(self._tree.url)] = True
        if previous is not None and previous.known_paths(self.options) is not None:
            paths = dict.fromkeys(previous.row["absent"] or ()) | absent
            return {"absent": list(paths), "absent_at": previous.row["absent_at"]}
        at = self._started if self.reason is None and self._finals else None
        return {"absent": list(absent), "absent_at": at}


def _max_age(exchange: Exchange | None) -> float | None:
    """Return for how many seconds a response says that it stays as it is."""
    found = _MAX_AGE.search((exchange and exchange.header("Cache-Control")) or "")
    return float(found[1]) if found else None


def _unreadable(error: Exception) -> Reason:
    text = f"the pages could not be read: {type(error).__name__}: {error}"
    return Reason(FailureCode.INTERNAL_ERROR, text)


# The HTTP client: all sites of a worker share the limit of requests to one host --------------------


class FleetClient(AiohttpWebClient, HasEarlierResults):
    """The client of one site in a worker."""

    def __init__(
        self, options: FleetOptions, turns: HostTurns, previous: PreviousVisit | None = None
    ) -> None:
        same = ("verify", "user_agent", "timeout", "headers", "proxy", "zones")
        given = {name: getattr(options, name) for name in same}
        super().__init__(**given, max_concurrent_requests=options.per_host)
        self._turns = turns
        self._previous = previous
        # Requests, by host and by the status of the response; copies for a crawl share both.
        self.sent: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()

    def conditions(self) -> Conditions:
        """Return the headers that ask for sitemaps only if they have changed since the last visit."""
        return {} if self._previous is None else self._previous.conditions()

    def recall(self, order: FetchOrder) -> Received | Failed | None:
        """Return what need not be requested now."""
        return None if self._previous is None else self._previous.recall(order)

    def unchanged(self, order: FetchOrder, exchange: Exchange) -> Received | None:
        """Return what is known of a document if it is still the same."""
        return None if self._previous is None else self._previous.unchanged(order, exchange)

    async def get(self, url: str) -> AbstractWebClientResponse:
        """Fetch a URL once it is its turn at the host."""
        host = host_of(url) or ""
        self.sent[host] += 1
        room = await self._turns.enter(host)
        with ExitStack() as turn:
            turn.callback(room.release)
            response = await super().get(url)
            status = status_of(response) if isinstance(response, WebClientErrorResponse) else None
            if isinstance(response, AiohttpWebClientSuccessResponse):
                status = response.status_code()
                close, turn_of_body = response.close, turn.pop_all()

                async def closing() -> None:
                    turn_of_body.close()
                    await close()

                response.close = closing  # type: ignore[method-assign]
        self.statuses[str(status or "none")] += 1
        return response
