"""One site: its HTTP client, its tree, and the rows of a visit."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
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
from usp.fleet.previous_visit import VALIDATORS, PreviousVisit, packed_document
from usp.fleet.tables import GONE, Row, columns_of, domain_of, page_columns, pages_of
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
    from usp.fleet.crawler import HostTurns, Job
    from usp.fleet.options import FleetOptions
    from usp.fleet.site_list import WaitingSite
    from usp.objects.exchange import Exchange
    from usp.objects.page import PageBlock
    from usp.web_client.abstract_client import AbstractWebClientResponse

GRACE = 30.0  # seconds after the time limit of a site in which its crawl must have ended by itself
_SLICE = 1 << 15  # pages that are read before the others get their turn
_MOST_ROWS = 1000  # sitemaps in one batch
_BUSY = 429
_SERVER_ERROR = 500
_PLACE = ("parent", "depth", "index_lastmod")
_OF_CONTENT = (
    *("status", "failure", "code", "etag", "last_modified", "digest", "document", "pages_visit"),
    *("pages", "bytes", "problems", "problem_codes", "duration", "due", "index_lastmod"),
)
_MAX_AGE = re.compile(r"max-age\s*=\s*(\d{1,9})", re.IGNORECASE)
_KILLER = (
    "the worker process died while it was crawling only this site; lower limits may help (--max)"
)


class SiteCrawl:
    """A visit of one site: ``fetch`` its tree, then read its ``tables``. Never raises."""

    def __init__(self, job: Job, given: WaitingSite, visit: str, turns: HostTurns) -> None:
        self.site = site = given.url
        self.received = 0  # bytes, so far
        self._options, self._run, self._accept = job.how.options, job.run, job.how.accept
        self._given = given
        self._previous = PreviousVisit(job.how, given)
        self.client = FleetClient(self._options, turns, self._previous)
        self._reason = Reason(FailureCode.INTERNAL_ERROR, _KILLER) if given.kills else None
        self._started = datetime.now(UTC)
        self._who = {"site": site, "domain": domain_of(site), "visit": visit}
        self._tree = IndexWebsiteSitemap(site, [])
        self._finals: dict[str, FinalResult] = {}  # by URL
        self._digests: dict[str, str] = {}  # of documents, by the URL of the sitemap
        self._first: dict[str, AbstractSitemap] = {}  # the node of each URL that has pages to read
        self._counts: Counter[str] = Counter()  # pages that were read, by sitemap
        self._kept_pages = 0  # of sitemaps that have failed now, or of all if too many are gone
        self._is_sudden = False  # so many are gone that it may be a mistake
        self._unread: dict[str, Reason] = {}  # sitemaps that were not read to their end
        self._with_news: set[str] = set()
        self._stepper = Stepper()
        self._read_until: float | None = None
        self._duration = 0.0
        self._due: list[datetime] = []
        self._delays: list[float] = []

    def _hear(self, event: Event) -> None:
        if isinstance(event, SitemapReceived):
            self.received += event.received
        if self._options.on_event is not None:
            self._options.on_event(event)

    async def fetch(self) -> None:
        """Fetch the sitemaps of the site, within its limits."""
        self._started = datetime.now(UTC)
        begin, limits = time.monotonic(), self._options.effective_limits
        login, feeds = self._given.login, self._given.feeds
        start = self.site if login is None else with_login(self.site, login)
        options = self._options.for_site(self._hear, self._previous.known_paths, feeds)
        try:
            async with asyncio.timeout(None if limits.seconds is None else limits.seconds + GRACE):
                self._tree = await sitemap_tree_for_homepage(start, self.client, options=options)
        except TimeoutError:
            self._reason = limits.reached("seconds")
        except LocalShortageError:
            raise  # not the site's fault: it is crawled again
        except SitemapException as error:
            text = f"{error} Write for example https://example.org/"
            self._reason = Reason(FailureCode.BAD_URL, text)
        except Exception as error:  # noqa: BLE001 - one site must not end the others
            self._reason = Reason(FailureCode.INTERNAL_ERROR, f"{type(error).__name__}: {error}")
        self._duration = time.monotonic() - begin

    async def tables(self) -> AsyncIterator[tuple[str, Any]]:
        """Yield the rows, each time with the name of their table; the site's own row comes last."""
        rows: list[Row] = []
        replaced: list[Row] = []
        table = "compared" if self._previous.rows else "pages"
        try:
            await self._stepper.call(deque, self._compare(), 0)
            async for batch in self._pages():
                yield table, batch
            rows, replaced = await self._stepper.call(self._sitemaps)
        except DatasetError:
            raise  # not the site's fault either
        except Exception as error:
            code = shortage_of(error)
            if code is not None:
                raise LocalShortageError(code) from error
            text = f"the pages could not be read: {type(error).__name__}: {error}"
            self._reason = Reason(FailureCode.INTERNAL_ERROR, text)
            self._kept_pages = self._previous.count
        for at in range(0, len(rows), _MOST_ROWS):
            yield "fetches", rows[at : at + _MOST_ROWS]
            await asyncio.sleep(0)
        if replaced and self._options.pages:
            yield "replaced", replaced
        yield "visits", [self._row_of_site(rows)]
        self._tree = IndexWebsiteSitemap(self.site, [])  # the documents go with the other one
        self._finals = {}

    def _compare(self) -> Iterator[None]:
        """Find out which documents are the same as the last time, step by step."""
        fetched, previous = fetched_of(self._tree), self._previous
        documents = fetched.documents if fetched else ()
        self._finals = {one.url: one for one in documents if one.role is not Role.HOMEPAGE}
        for node, _, _ in places_in(self._tree):
            url, final = node.url, self._final_of(node)
            known = self._first.setdefault(url, node)
            if isinstance(known, InvalidSitemap) and not isinstance(node, InvalidSitemap):
                self._first[url] = node
            if final is None or not isinstance(final.result, Received):
                continue
            if previous.keeps(url) or url in self._digests:
                continue
            digest = hashlib.blake2b(digest_size=16)
            for chunk in final.result.document.chunks():
                digest.update(chunk)
                yield
            self._digests[url] = digest.hexdigest()
            if node.failure is None and previous.has(url, self._digests[url]):
                header = final.result.exchange.header
                headers = {key: header(name) for key, name in VALIDATORS.items()}
                previous.same[url] = previous.there[url] | headers

    def _final_of(self, node: AbstractSitemap) -> FinalResult | None:
        exchange = node.exchange
        return self._finals.get(node.url if exchange is None else exchange.url)

    async def _pages(self) -> AsyncIterator[Any]:
        is_wanted, columns = self._options.pages, self._options.columns
        steps: Iterator[Any] = self._chosen()
        if is_wanted:
            steps = batches_of(steps, page_columns(columns), _SLICE)
        while (batch := await self._stepper.next(steps)) is not END:
            if is_wanted:
                if "news" in batch.schema.names and batch.column("news").null_count < len(batch):
                    found = batch.filter(batch.column("news").is_valid()).column("sitemap")
                    self._with_news.update(found.unique().to_pylist())
                visit = self._who | {"started": self._started}
                yield pages_of(batch, visit, self._digests, columns)
            await asyncio.sleep(0)

    def _overdue(self) -> Reason | None:
        """Return why reading should end, if it takes longer than the time limit of the crawl."""
        if self._read_until is None or time.monotonic() < self._read_until:
            return None
        return self._options.effective_limits.reached("seconds")

    def _chosen(self) -> Iterator[tuple[str, PageBlock]]:
        """Yield the pages of sitemaps that are not as they were, in blocks; each sitemap once."""
        seconds = self._options.effective_limits.seconds
        self._read_until = None if seconds is None else time.monotonic() + seconds
        run = (self._options.selection or Selection()).run(self.site)
        read: dict[str, AbstractSitemap] = {}
        last: str | None = None
        for sitemap, block in page_steps(self._tree):
            reason, url = self._overdue(), sitemap.url
            if reason is not None:
                self._reason = reason.after("not all pages were read")
                done = read.keys() - {last, url}
                left = (one for one in self._first if one not in done)
                self._unread = dict.fromkeys(left, self._reason)
                return
            last = url
            if block is None or read.setdefault(url, sitemap) is not sitemap:
                continue
            if self._previous.keeps(url):
                continue
            for _, chosen in run.of_stream([(url, block)]):
                self._counts[url] += len(chosen.urls)
                yield url, chosen

    # The rows ---------------------------------------------------------------------------------------

    def _sitemaps(self) -> tuple[list[Row], list[Row]]:
        """Return the rows of what was asked for, or is gone, and which pages are replaced."""
        previous, total = self._previous, 0
        rows: list[Row] = []
        for row, is_new in self._rows_of_tree():
            total += row["pages"] or 0
            if is_new:
                rows.append(row)
        if not previous.rows:
            return rows, []
        lost = previous.lost(self._tree)
        if self._reason is not None and not self._unread:
            lost = previous.there.keys() - self._first.keys()  # nobody knows
        if self._accept:
            lost = set()
        kept = sum(previous.there[url]["pages"] or 0 for url in lost)
        failing = (row for row in (*rows, *previous.recalled.values()) if not row["good"])
        self._kept_pages = kept + sum(row["pages"] or 0 for row in failing)
        gone = previous.there.keys() - self._first.keys() - lost
        if self._is_worse(kept + total):
            self._is_sudden, self._kept_pages, self._due = True, previous.count, []
            return [], []
        rows += [self._gone(previous.there[url]) for url in sorted(gone)]
        return rows, self._replaced(rows)

    def _rows_of_tree(self) -> Iterator[tuple[Row, bool]]:
        """Yield the row of each sitemap that the tree has, and whether it is to be written."""
        previous = self._previous
        places: dict[str, tuple[str | None, int]] = {}
        for node, parent, depth in places_in(self._tree):
            places.setdefault(node.url, (parent, depth))
        for url, node in self._first.items():
            if isinstance(node, InvalidSitemap) and node.failure is None:
                continue  # where it leads back to a sitemap above: that has its row
            before, final = previous.rows.get(url), self._final_of(node)
            place = (*places[url], None if final is None else final.lastmod)
            row = self._row(node, before) | dict(zip(_PLACE, place, strict=True))
            if url not in previous.recalled:
                self._schedule(row, before, changed=url not in previous.same)
                yield row, True
                continue
            self._due.append(row["due"] or self._started)
            has_moved = before is None or place != tuple(before[name] for name in _PLACE)
            yield row | {"visit": self._who["visit"], "document": None}, has_moved

    def _is_worse(self, pages: int) -> bool:
        """Return whether more than half of the pages are suddenly gone, which may be a mistake."""
        previous = self._previous
        if self._accept or not previous.count:
            return False
        was_so = previous.row["outcome"] == "kept" and previous.row["code"] is None
        if previous.is_comparable:
            return 2 * pages < previous.count and not was_so
        return not pages and not any(
            isinstance(node, AbstractPagesSitemap) and node.failure is None
            for node in self._first.values()
        )

    def _replaced(self, rows: list[Row]) -> list[Row]:
        """Return which pages are compared with which ones, and which others are still there."""
        known = self._previous.rows
        now = {url: row["pages_visit"] for url, row in known.items()}
        now |= {row["sitemap"]: row["pages_visit"] for row in rows}
        old = {url: known[url]["pages_visit"] if url in known else None for url in now}
        if now == old:
            return []
        return [
            self._who
            | {"sitemap": url, "visit": new or self._who["visit"], "old": old[url]}
            | {"seen_at": self._started}
            for url, new in now.items()
            if new or old[url]
        ]

    def _row(self, node: AbstractSitemap, before: Row | None) -> Row:
        """Return the row of a sitemap, but for its place and its schedule."""
        previous, url, exchange = self._previous, node.url, node.exchange
        if url in previous.recalled:
            return previous.recalled[url]
        answer = {
            "visit": self._who["visit"],
            "status": node.status,
            "duration": None if exchange is None else exchange.seconds,
            "fetched_at": self._started,
        }
        good = {"good": True, "failures": 0, "max_age": _max_age(exchange)}
        if url in previous.same:
            nothing = dict.fromkeys(("failure", "code", "document"))
            return previous.same[url] | answer | good | nothing
        row = dict.fromkeys(columns_of("fetches")) | self._who | answer | good
        row |= sitemap_row(node, attrgetter("plain"), count=False)
        row |= {
            "sitemap": url,
            "first_seen": self._started if before is None else before["first_seen"],
            "changed_at": self._started,
            "digest": self._digests.get(url),
            "news": url in self._with_news,
        }
        if exchange is not None:
            row |= {key: exchange.header(name) for key, name in VALIDATORS.items()}
            row["declared"] = None if exchange.url == url else exchange.url
        row |= self._content(node)
        return row if row["code"] is None else self._failed_row(row, before, answer)

    def _content(self, node: AbstractSitemap) -> Row:
        """Return what was read of a sitemap, and why it was not read to its end."""
        url, count, final = node.url, self._counts[node.url], self._final_of(node)
        found: Row = {"pages": count} if count else {}
        if count and self._options.pages:
            found["pages_visit"] = self._who["visit"]
        if not isinstance(node, AbstractPagesSitemap):
            if node.failure is None and final is not None and isinstance(final.result, Received):
                found["document"] = packed_document(final.result.document)
            return found | problem_columns(node.problems)
        if self._options.problems:
            found |= problem_columns(problems_until(node, self._overdue))
        if url in self._unread:
            why = Failure.of(url, self._unread[url])
            found |= {"failure": why.plain, "code": why.code.value}
        return found | {"pages": count}

    def _failed_row(self, row: Row, before: Row | None, answer: Row) -> Row:
        """Return the row of a sitemap that has failed: what was there stays, if that is better."""
        failures = {"failures": 1 + ((before or {}).get("failures") or 0)}
        if (
            before is not None
            and not self._accept
            and before["type"] != GONE
            and before["digest"] is not None
            and (before["code"] is None or (before["pages"] or 0) > (row["pages"] or 0))
        ):
            why = {name: row[name] for name in ("failure", "code")}
            return before | answer | why | failures | {"good": False, "document": None}
        return row | failures | {"good": bool(row["pages"]) or self._accept}

    def _gone(self, row: Row) -> Row:
        """Return the row of a sitemap that is in the tree no more."""
        now = {"visit": self._who["visit"], "type": GONE, "good": True, "failures": 0}
        now |= dict.fromkeys(("fetched_at", "changed_at"), self._started)
        return row | dict.fromkeys(_OF_CONTENT) | now

    def _schedule(self, row: Row, before: Row | None, *, changed: bool) -> None:
        """Put into a row when its sitemap is to be asked for again."""
        past = before or dict.fromkeys(("fetched_at", "interval", "changed_at"))
        facts = {"url": row["sitemap"], "changed": changed, "failed": row["code"] is not None}
        facts |= {"checked_at": past["fetched_at"], "interval": past["interval"]}
        facts["changed_at"] = past["changed_at"]
        row["interval"], row["due"] = next_due(row | facts, now=self._started)
        if before is not None and not (changed and row["good"]):
            row["changed_at"] = before["changed_at"]
        elif past["fetched_at"] is not None and row["pages"]:
            self._delays.append((self._started - past["fetched_at"]).total_seconds())
        self._due.append(row["due"])

    def _row_of_site(self, sitemaps: list[Row]) -> Row:
        """Return the row of the site itself; ``was_good`` and ``is_lost`` are for the run."""
        previous, kept = self._previous, self._kept_pages
        there = previous.there | {row["sitemap"]: row for row in sitemaps}
        now = [row for row in there.values() if row["type"] != GONE]
        pages = sum(row["pages"] or 0 for row in now)
        outcome = "complete" if pages else "empty"
        reason = code = None
        if self._reason is not None:
            failures = [Failure.of(self.site, self._reason)]
            reason = failures[0].plain
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
        return self._who | {
            "outcome": outcome,
            "reason": reason,
            "code": code,
            "sitemaps": len(now),
            "pages": pages,
            "bytes": self.received,
            "requests": self.client.sent.total(),
            "duration": self._duration,
            "started": self._started,
            "run": self._run,
            "options": self._options.digest,
            "statuses": dict(self.client.statuses),
            "delays": self._delays,
            "was_good": bool(previous.count),
            "is_lost": outcome == "failed" or 2 * kept > pages,
            **self._next_visit(outcome, code),
            **self._absent(),
        }

    def _next_visit(self, outcome: str, code: str | None) -> Row:
        """Return when the site is to be visited again."""
        failures, due = 0, min(self._due, default=None)
        if outcome in ("failed", "kept"):
            failures = (self._previous.row["failures"] or 0) + 1
        if failures or due is None:
            if self._is_sudden:  # an outage may look like that, and last for hours
                code = FailureCode.NOT_FOUND.value
            known = {"failed": bool(failures), "failures": failures, "code": code}
            _, again = next_due(known, now=self._started)
            due = again if due is None else min(due, again)
        return {"due": due, "failures": failures}

    def _absent(self) -> Row:
        """Return the known paths at which nothing is that the tree has, so as not to ask again."""
        row, absent = self._previous.row, {}
        for final in self._finals.values():
            is_below = final.is_guess and final.url.startswith(self._tree.url)
            if not is_below or self._previous.had(final.url):
                continue
            if isinstance(final.result, Failed):
                exchange = final.result.exchange
                status = None if exchange is None else exchange.status
                is_absent = status is not None and status < _SERVER_ERROR and status != _BUSY
            else:
                is_absent = final.result.exchange.final_url not in self._first
            if is_absent:
                absent[final.url.removeprefix(self._tree.url)] = True
        if self._previous.known_paths is not None:
            paths = dict.fromkeys(row["absent"] or ()) | absent
            return {"absent": list(paths), "absent_at": row["absent_at"]}
        at = self._started if self._reason is None and self._finals else None
        return {"absent": list(absent), "absent_at": at}


def _max_age(exchange: Exchange | None) -> float | None:
    """Return for how many seconds a response says that it stays as it is."""
    found = _MAX_AGE.search((exchange and exchange.header("Cache-Control")) or "")
    return float(found[1]) if found else None


# The HTTP client: all sites of a worker share the limit of requests to one host --------------------


class FleetClient(AiohttpWebClient, HasEarlierResults):
    """The client of one site in a worker."""

    def __init__(self, options: FleetOptions, turns: HostTurns, previous: PreviousVisit) -> None:
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
        return self._previous.conditions()

    def recall(self, order: FetchOrder) -> Received | Failed | None:
        """Return what need not be requested now."""
        return self._previous.recall(order)

    def unchanged(self, order: FetchOrder, exchange: Exchange) -> Received | None:
        """Return what is known of a document if it is still the same."""
        return self._previous.unchanged(order, exchange)

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
