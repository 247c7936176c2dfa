"""One site: its HTTP client, its tree, and its rows in the three tables."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from usp._base.display import counted
from usp._base.files import DatasetError
from usp._base.reason import Reason
from usp._base.shortage import shortage_of
from usp._base.urls import host_of, with_login
from usp._crawl.asyncio_driver import Stepper
from usp._crawl.fetch import END
from usp._crawl.orders import FetchOrder, HasEarlierResults, Received
from usp.aio import sitemap_tree_for_homepage
from usp.events import Event, SitemapReceived, SitemapStarted
from usp.exceptions import LocalShortageError, SitemapException
from usp.export.arrow import batches_of
from usp.export.sitemaps import places_in, problem_columns, sitemap_row
from usp.fleet.tables import page_columns, pages_of, rows_of
from usp.objects.problem import Failure, FailureCode
from usp.objects.sitemap import (
    AbstractPagesSitemap,
    AbstractSitemap,
    IndexWebsiteSitemap,
    page_steps,
    problems_until,
)
from usp.selection import Selection
from usp.web_client.aiohttp_client import AiohttpWebClient, AiohttpWebClientSuccessResponse

if TYPE_CHECKING:
    from usp._http.aiohttp_sessions import HostTurns
    from usp._http.flow import Conditions
    from usp.fleet.options import FleetOptions
    from usp.fleet.previous_crawl import PreviousCrawl
    from usp.objects.exchange import Exchange
    from usp.objects.page import PageBlock
    from usp.web_client.abstract_client import AbstractWebClientResponse

GRACE = 30.0  # seconds after the time limit of a site in which its crawl must have ended by itself
_SLICE = 1 << 15  # pages that are read before the others get their turn
_MOST_ROWS = 1000  # sitemaps in one batch


@dataclass(eq=False)
class SiteCrawl:
    """Crawls one site: ``fetch`` its tree, then read its ``tables``. Never raises."""

    site: str
    options: FleetOptions
    client: Any = None
    previous: PreviousCrawl | None = None
    run: int | None = None
    reason: Reason | None = None
    received: int = 0  # bytes, so far

    def __post_init__(self) -> None:
        self._tree = IndexWebsiteSitemap(self.site, [])
        self._counts: Counter[int] = Counter()  # pages that were read, by node
        self._copied: dict[str, list[dict[str, Any]]] = {}  # rows of the last crawl, by URL
        self._times: Counter[str] = Counter()  # how often the pages of a URL are copied
        self._copied_pages = self._kept_pages = 0  # kept: those of sitemaps that have failed now
        self._found: int | None = None  # pages, if all that there were before are kept instead
        self._stepper = Stepper()
        self._read_until: float | None = None
        self._started = datetime.now(UTC)
        self._duration = 0.0
        self._requests = 0

    def _hear(self, event: Event) -> None:
        if isinstance(event, SitemapStarted):
            self._requests += 1
        elif isinstance(event, SitemapReceived):
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
        try:
            async with asyncio.timeout(None if seconds is None else seconds + GRACE):
                options = self.options.for_site(self._hear)
                if paths := self.options.feeds.get(self.site):
                    known = (*(options.extra_known_paths or ()), *paths)
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
        """Yield the rows as batches, each with the name of its table; the site's own row comes last."""
        rows: list[dict[str, Any]] = []
        try:
            await self._compare()
            async for batch in self._pages():
                yield "pages", batch
            rows = await self._stepper.call(list, self._sitemaps())
        except DatasetError:
            raise  # not the site's fault either
        except Exception as error:
            code = shortage_of(error)
            if code is not None:
                raise LocalShortageError(code) from error
            self.reason = _unreadable(error)
        for at in range(0, len(rows), _MOST_ROWS):
            yield "sitemaps", rows_of("sitemaps", rows[at : at + _MOST_ROWS])
            await asyncio.sleep(0)
        yield "sites", self.row(rows)
        self._tree = IndexWebsiteSitemap(self.site, [])  # the documents go with the other one

    async def _compare(self) -> None:
        """Find out what stays of the last crawl: what is the same or has failed, or all of it."""
        previous = self.previous
        if previous is None:
            return
        found = self._unchanged(previous)
        if not previous.keeps:
            return
        lost = list[dict[str, Any]]()
        try:
            async for sitemap, chosen in self._each(self._chosen()):
                found[sitemap.url] += len(chosen.urls)
            lost = await self._stepper.call(previous.lost, self._tree)
        except Exception as error:  # then what there was before is the better one
            if shortage_of(error) is not None:
                raise
            self.reason = _unreadable(error)
        now = found.total()
        for row in lost:
            del found[row["url"]]  # what is left of it is not taken
        self._kept_pages = sum(row["pages"] or 0 for row in lost)
        if self._is_worse(previous, found.total() + self._kept_pages, partly=bool(lost)):
            self._found, self._kept_pages, lost = now, previous.count, previous.rows
            self._copied, self._copied_pages = {}, 0
        self._copied_pages += self._kept_pages
        for row in lost:
            self._copied.setdefault(row["url"], []).append(row)
            self._times[row["url"]] = 1

    def _unchanged(self, previous: PreviousCrawl) -> Counter[str]:
        """Take over the rows of sitemaps that are the same; return how many pages of each URL."""
        found = Counter[str]()
        for node in self._tree.all_sitemaps():
            if (row := previous.unchanged(node.exchange)) is not None:
                self._copied.setdefault(node.url, []).append(row)
                self._times[row["url"]] += 1  # some are in the tree more than once
                found[row["url"]] += row["pages"]
        self._copied_pages = found.total()
        return found

    def _is_worse(self, previous: PreviousCrawl, pages: int, *, partly: bool) -> bool:
        """Return whether nothing of this crawl, now of so many ``pages``, should replace what was."""
        if partly and not self.options.keeps_unchanged:
            return True  # those of some sitemaps only cannot be kept
        if self.reason is not None and pages < previous.count:
            return True
        if previous.is_comparable:
            return 2 * pages < previous.count
        return not pages and not any(
            isinstance(node, AbstractPagesSitemap) and node.failure is None
            for node in self._tree.all_sitemaps()
        )

    async def _pages(self) -> AsyncIterator[Any]:
        columns, previous = self.options.columns, self.previous
        if previous is not None and self._copied_pages and self.options.pages:
            times = self._times if self._found is None else None
            async for batch in self._each(previous.pages(times)):
                yield batch
        if self._found is not None:
            return
        blocks = self._counted()
        if not self.options.pages:
            async for _ in self._each(blocks):
                pass
            return
        async for batch in self._each(batches_of(blocks, page_columns(columns), _SLICE)):
            yield pages_of(self.site, batch, columns)

    async def _each(self, steps: Iterator[Any]) -> AsyncIterator[Any]:
        while (one := await self._stepper.next(steps)) is not END:
            yield one
            await asyncio.sleep(0)

    def _overdue(self) -> Reason | None:
        """Return why reading should end, if it takes longer than the time limit of the crawl."""
        if self._read_until is None or time.monotonic() < self._read_until:
            return None
        return self.options.effective_limits.reached("seconds")

    def _counted(self) -> Iterator[tuple[str, PageBlock]]:
        for sitemap, chosen in self._chosen():
            self._counts[id(sitemap)] += len(chosen.urls)
            yield sitemap.url, chosen

    def _chosen(self) -> Iterator[tuple[AbstractSitemap, PageBlock]]:
        """Yield the pages that were found, in blocks, without those that others are copied for."""
        seconds = self.options.effective_limits.seconds
        self._read_until = None if seconds is None else time.monotonic() + seconds
        run = (self.options.selection or Selection()).run(self.site)
        for sitemap, block in page_steps(self._tree):
            reason = self._overdue()
            if reason is not None:
                self.reason = reason.after("not all pages were read")
                return
            if block is None or sitemap.url in self._copied:
                continue
            for _, chosen in run.of_stream([(sitemap.url, block)]):
                yield sitemap, chosen

    def _sitemaps(self) -> Iterator[dict[str, Any]]:
        """Yield the row of every sitemap in the tree, depth first, then of those that are kept."""
        copied, failed = self._copied, {one.url: one for one in self._tree.failures()}
        if self._found is None:
            for node, parent, depth in places_in(self._tree):
                if copied.get(node.url):
                    row = copied[node.url].pop(0) | _failure_columns(failed.get(node.url))
                else:
                    row = self._row(node)
                yield row | {
                    "parent": parent,
                    "depth": depth,
                    "status": node.status,
                    "duration": None if node.exchange is None else node.exchange.seconds,
                }
        for row in chain.from_iterable(copied.values()):
            yield row | _failure_columns(failed.get(row["url"]))

    def _row(self, node: AbstractSitemap) -> dict[str, Any]:
        exchange = node.exchange
        row = sitemap_row(node, attrgetter("plain"), count=False) | {
            "site": self.site,
            "etag": None if exchange is None else exchange.header("ETag"),
            "last_modified": None if exchange is None else exchange.header("Last-Modified"),
        }
        if not isinstance(node, AbstractPagesSitemap):
            return row | problem_columns(node.problems)
        if self.options.problems:
            row |= problem_columns(problems_until(node, self._overdue))
        return row | {"pages": self._counts[id(node)]}

    def row(self, sitemaps: list[dict[str, Any]]) -> Any:
        """Return the row of the site itself, as a batch."""
        previous, kept = self.previous, self._kept_pages
        pages = self._counts.total() + self._copied_pages
        outcome = "complete" if pages else "empty"
        reason = code = None
        if self.reason is not None:
            failures = [Failure.of(self.site, self.reason)]
            reason = failures[0].plain
        elif failures := self._tree.failures():
            more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
            reason = f"{failures[0].url}: {failures[0].plain}{more}"
        if failures:
            code = failures[0].code.value
            found = pages or any(row["pages"] is not None for row in sitemaps)
            outcome = "partial" if found else "failed"
        started, options = self._started, self.options.digest
        if kept and previous is not None:
            outcome = "kept"
            why = reason or f"{self._found or 0:,} found now"
            reason = f"{counted(kept, 'page')} of an earlier crawl kept: {why}"
            if self._found is not None:
                started = previous.row["started"]
            if not previous.is_comparable or self._found is not None:
                options = previous.row["options"]
        row = {
            "site": self.site,
            "outcome": outcome,
            "reason": reason,
            "code": code,
            "sitemaps": len(sitemaps),
            "pages": pages,
            "bytes": self.received,
            "requests": self._requests,
            "duration": self._duration,
            "started": started,
            "run": self.run,
            "options": options,
        }
        return rows_of("sites", [row])


def _failure_columns(failure: Failure | None) -> dict[str, Any]:
    """Return the columns of a sitemap that has failed; none if it has not."""
    if failure is None:
        return {}
    return {"status": failure.status, "failure": failure.plain, "code": failure.code.value}


def _unreadable(error: Exception) -> Reason:
    text = f"the pages could not be read: {type(error).__name__}: {error}"
    return Reason(FailureCode.INTERNAL_ERROR, text)


# The HTTP client: all sites of a worker share the limit of requests to one host --------------------


class FleetClient(AiohttpWebClient, HasEarlierResults):
    """The client of one site in a worker."""

    def __init__(
        self, options: FleetOptions, turns: HostTurns, previous: PreviousCrawl | None = None
    ) -> None:
        same = ("verify", "user_agent", "timeout", "headers", "proxy", "zones")
        given = {name: getattr(options, name) for name in same}
        super().__init__(**given, max_concurrent_requests=options.per_host)
        self._turns = turns
        self._previous = previous

    def conditions(self) -> Conditions:
        """Return the headers that ask for sitemaps only if they have changed since the last crawl."""
        return {} if self._previous is None else self._previous.conditions()

    def unchanged(self, order: FetchOrder, exchange: Exchange) -> Received | None:
        """Return a document whose pages are those of the last crawl, if it is still the same."""
        return None if self._previous is None else self._previous.document(order, exchange)

    async def get(self, url: str) -> AbstractWebClientResponse:
        """Fetch a URL once it is its turn at the host."""
        room = await self._turns.enter(host_of(url) or "")
        with ExitStack() as turn:
            turn.callback(room.release)
            response = await super().get(url)
            if isinstance(response, AiohttpWebClientSuccessResponse):
                close, turn_of_body = response.close, turn.pop_all()

                async def closing() -> None:
                    turn_of_body.close()
                    await close()

                response.close = closing  # type: ignore[method-assign]
        return response
