"""One site: its HTTP client, its tree, and its rows in the three tables."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from usp._base.reason import Reason
from usp._base.shortage import shortage_of
from usp._base.urls import host_of, with_login
from usp._crawl.asyncio_driver import Stepper
from usp._crawl.fetch import END
from usp._crawl.orders import Recalls
from usp.aio import sitemap_tree_for_homepage
from usp.events import SitemapReceived, SitemapStarted
from usp.exceptions import LocalShortageError, SitemapException
from usp.export.arrow import batches_of
from usp.export.sitemaps import bytes_received, problem_columns, why_missing
from usp.fleet.store import DatasetError
from usp.fleet.tables import page_columns, pages_of, rows_of
from usp.objects.problem import Failure, FailureCode
from usp.objects.sitemap import AbstractPagesSitemap, AbstractSitemap, kind_of
from usp.web_client.abstract_client import WebClientErrorResponse
from usp.web_client.aiohttp_client import AiohttpWebClient, AiohttpWebClientSuccessResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from usp._crawl.orders import Failed, Fetch, Received
    from usp.events import Event
    from usp.fleet.earlier import Earlier
    from usp.fleet.options import FleetOptions
    from usp.limits import Limits
    from usp.objects.exchange import Exchange
    from usp.objects.page import PageBlock
    from usp.web_client.abstract_client import (
        AbstractAsyncWebClient,
        AbstractWebClientResponse,
    )

GRACE = 30.0
"""Seconds after the time limit of a site in which its crawl must have ended by itself."""

_SLICE = 1 << 15  # pages that are read before the others get their turn
_MOST_ROWS = 1000  # sitemaps in one batch


class Notes:
    """Counts the requests, bytes and seconds of a site while it is crawled."""

    def __init__(self, on_bytes: Callable[[int], None]) -> None:
        self.requests = self.bytes = 0
        self._on_bytes = on_bytes

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, SitemapStarted):
            self.requests += 1
        elif isinstance(event, SitemapReceived):
            self.bytes += event.received
            self._on_bytes(event.received)


class SiteCrawl:
    """Crawls one site: ``fetch`` its tree, then read its ``tables``. Never raises."""

    def __init__(
        self,
        site: str,
        options: FleetOptions,
        client: Any,
        on_bytes: Callable[[int], None],
        earlier: Earlier | None = None,
    ) -> None:
        self.site = site
        self._earlier = earlier
        self._options = options
        self._client = client
        self._notes = Notes(on_bytes)
        self._tree: AbstractSitemap | None = None
        self._reason: Reason | None = None
        self._counts: Counter[int] = Counter()
        self._stepper = Stepper()
        self._read_until: float | None = None
        self._started = datetime.now(UTC)
        self._duration = 0.0

    async def fetch(self) -> None:
        """Fetch the sitemaps of the site, within its limits."""
        self._started = datetime.now(UTC)
        begin = time.monotonic()
        seconds = self._options.effective_limits.seconds
        login = self._options.logins.get(self.site)
        start = self.site if login is None else with_login(self.site, login)
        try:
            async with asyncio.timeout(None if seconds is None else seconds + GRACE):
                options = self._options.for_site(self._notes)
                self._tree = await sitemap_tree_for_homepage(start, self._client, options=options)
        except TimeoutError:
            self._reason = self._options.effective_limits.reached("seconds")
        except LocalShortageError:
            raise  # not the site's fault: it is crawled again
        except SitemapException as error:
            text = f"{error} Write for example https://example.org/"
            self._reason = Reason(FailureCode.BAD_URL, text)
        except Exception as error:  # noqa: BLE001 - one site must not end the others
            self._reason = Reason(FailureCode.INTERNAL_ERROR, f"{type(error).__name__}: {error}")
        self._duration = time.monotonic() - begin

    async def tables(self) -> AsyncIterator[tuple[str, Any]]:
        """Yield the rows as batches, each with the name of its table; the site's own row comes last."""
        rows: list[dict[str, Any]] = []
        total = 0
        if self._tree is not None:
            try:
                async for batch in self._pages(self._tree):
                    yield "pages", batch
                total = sum(self._counts.values())
                rows = await self._stepper.call(list, self._sitemaps(self._tree))
            except DatasetError:
                raise  # not the site's fault either
            except Exception as error:
                code = shortage_of(error)
                if code is not None:
                    raise LocalShortageError(code) from error
                text = f"the pages could not be read: {type(error).__name__}: {error}"
                self._reason = Reason(FailureCode.INTERNAL_ERROR, text)
                total = sum(self._counts.values())
        for at in range(0, len(rows), _MOST_ROWS):
            yield "sitemaps", rows_of("sitemaps", rows[at : at + _MOST_ROWS])
            await asyncio.sleep(0)
        yield "sites", rows_of("sites", [self._outcome(rows, total)])
        self._tree = None  # its documents go with it

    async def _pages(self, tree: AbstractSitemap) -> AsyncIterator[Any]:
        seconds = self._options.effective_limits.seconds
        self._read_until = None if seconds is None else time.monotonic() + seconds
        blocks = self._counted(tree)
        kept = self._kept(tree)
        if not self._options.pages:
            while await self._stepper.next(blocks) is not END:
                pass
            return
        while kept:  # more than once for what is in the tree more than once
            assert self._earlier is not None
            copies = self._earlier.pages(kept)
            while (batch := await self._stepper.next(copies)) is not END:
                yield batch
                await asyncio.sleep(0)
            kept -= Counter(dict.fromkeys(kept, 1))
        batches = batches_of(blocks, page_columns(self._options.columns), _SLICE)
        while (batch := await self._stepper.next(batches)) is not END:
            yield pages_of(self.site, batch, self._options.columns)
            await asyncio.sleep(0)

    def _kept(self, tree: AbstractSitemap) -> Counter[str]:
        """Count the pages of sitemaps that have not changed; return how often each is in the tree."""
        kept: Counter[str] = Counter()
        if self._earlier is not None:
            for node in tree.all_sitemaps():
                row = self._earlier.row(node.exchange)
                if row is not None:
                    self._counts[id(node)] += row["pages"]
                    kept[row["url"]] += 1
        return kept

    def _overdue(self) -> Reason | None:
        """Return why reading should end, if it takes longer than the time limit of the crawl."""
        if self._read_until is None or time.monotonic() < self._read_until:
            return None
        return self._options.effective_limits.reached("seconds")

    def _counted(self, tree: AbstractSitemap) -> Iterator[tuple[str, PageBlock]]:
        selection = self._options.selection
        run = None if selection is None else selection.run(self.site)
        for sitemap, block in tree.page_steps():
            reason = self._overdue()
            if reason is not None:
                self._reason = reason.after("not all pages were read")
                return
            if block is None:
                continue
            found = [(sitemap.url, block)]
            for url, chosen in found if run is None else run.of_stream(found):
                self._counts[id(sitemap)] += len(chosen.urls)
                yield url, chosen

    def _sitemaps(self, tree: AbstractSitemap) -> Iterator[dict[str, Any]]:
        """Yield the row of every sitemap in the tree, depth first."""
        waiting: list[tuple[AbstractSitemap, str | None, int]] = [
            (node, None, 0) for node in reversed(tree.sub_sitemaps)
        ]
        while waiting:
            node, parent, depth = waiting.pop()
            yield self._row(node, parent, depth)
            waiting += [(below, node.url, depth + 1) for below in reversed(node.sub_sitemaps)]

    def _row(self, node: AbstractSitemap, parent: str | None, depth: int) -> dict[str, Any]:
        told = node.exchange
        kept = None if self._earlier is None else self._earlier.row(told)
        duration = None if told is None else told.seconds
        if kept is not None:
            new = {"parent": parent, "depth": depth, "status": node.status, "duration": duration}
            return kept | new
        why = why_missing(node)
        has_pages = isinstance(node, AbstractPagesSitemap)
        return {
            "site": self.site,
            "url": node.url,
            "parent": parent,
            "type": kind_of(node).name,
            "depth": depth,
            "status": node.status,
            "bytes": bytes_received(node),
            "pages": self._counts[id(node)] if has_pages else None,
            **self._problems(node),
            "duration": duration,
            "failure": None if why is None else why.plain,
            "code": None if why is None else why.code.value,
            "etag": None if told is None else told.header("ETag"),
            "last_modified": None if told is None else told.header("Last-Modified"),
        }

    def _problems(self, node: AbstractSitemap) -> dict[str, Any]:
        if isinstance(node, AbstractPagesSitemap):
            wanted = self._options.problems
            return problem_columns(node.problems_until(self._overdue)) if wanted else {}
        return problem_columns(node.problems)

    def _outcome(self, rows: list[dict[str, Any]], pages: int) -> dict[str, Any]:
        failures = [] if self._tree is None else self._tree.failures()
        found = any(row["pages"] is not None for row in rows)
        reason = code = None
        if self._reason is not None:
            failure = Failure.of(self.site, self._reason)
            reason, code = failure.plain, failure.code
        elif failures:
            more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
            reason = f"{failures[0].url}: {failures[0].plain}{more}"
            code = failures[0].code
        if reason is not None:
            outcome = "partial" if found or pages else "failed"
        else:
            outcome = "complete" if pages else "empty"
        return {
            "site": self.site,
            "outcome": outcome,
            "reason": reason,
            "code": None if code is None else code.value,
            "sitemaps": len(rows),
            "pages": pages,
            "bytes": self._notes.bytes,
            "requests": self._notes.requests,
            "duration": self._duration,
            "started": self._started,
            "options": self._options.digest,
        }


# The HTTP client: all sites of a worker share the limit of requests to one host --------------------


_MOST_TIMES = 10_000  # hosts whose last request is remembered before the past is forgotten


class HostTurns:
    """Limits the concurrent requests to one host, for all sites together.

    With ``wait`` seconds between them, requests are sent one at a time.
    """

    def __init__(self, most: int, wait: float = 0.0) -> None:
        self._most = 1 if wait else most
        self._wait = wait
        self._free_at: dict[str, float] = {}
        self._rooms: dict[str, asyncio.Semaphore] = {}
        self._visitors: Counter[str] = Counter()

    async def enter(self, host: str) -> None:
        """Wait for a turn, and for the pause to be over."""
        self._visitors[host] += 1
        room = self._rooms.setdefault(host, asyncio.Semaphore(self._most))
        try:
            await room.acquire()
        except BaseException:
            self._forget(host)
            raise
        if self._wait:
            try:
                await self._pause(host)
            except BaseException:
                self.leave(host)
                raise

    async def _pause(self, host: str) -> None:
        now = asyncio.get_running_loop().time()
        if len(self._free_at) > _MOST_TIMES:
            self._free_at = {name: at for name, at in self._free_at.items() if at > now}
        begin = max(now, self._free_at.get(host, now))
        self._free_at[host] = begin + self._wait
        await asyncio.sleep(begin - now)

    def leave(self, host: str) -> None:
        """Pass the turn to the request that has waited longest."""
        self._rooms[host].release()
        self._forget(host)

    def _forget(self, host: str) -> None:
        self._visitors[host] -= 1
        if not self._visitors[host]:
            del self._visitors[host], self._rooms[host]


class FleetClient(AiohttpWebClient, Recalls):
    """The client of one site in a worker."""

    def __init__(
        self, options: FleetOptions, turns: HostTurns, earlier: Earlier | None = None
    ) -> None:
        super().__init__(
            verify=options.verify,
            user_agent=options.user_agent,
            timeout=options.timeout,
            headers=options.headers,
            proxy=options.proxy,
            max_concurrent_requests=options.per_host,
            zones=options.zones,
        )
        self._turns = turns
        self._earlier = earlier

    def for_crawl(self, start_url: str, limits: Limits) -> AbstractAsyncWebClient:
        """Return the client of a crawl, which knows the validators of the last one."""
        client = super().for_crawl(start_url, limits)
        if self._earlier is not None and isinstance(client, FleetClient):
            client.set_conditions(self._earlier.conditions())
        return client

    def recall(self, order: Fetch) -> Received | Failed | None:  # noqa: ARG002
        """Return None: everything is requested."""
        return None

    def unchanged(self, order: Fetch, told: Exchange) -> Received | None:
        """Return a document whose pages are those of the last crawl, if it is still the same."""
        return None if self._earlier is None else self._earlier.document(order, told)

    async def get(self, url: str) -> AbstractWebClientResponse:
        """Fetch a URL once it is its turn at the host."""
        host = host_of(url) or ""
        await self._turns.enter(host)
        try:
            response = await super().get(url)
        except BaseException:
            self._turns.leave(host)
            raise
        if isinstance(response, WebClientErrorResponse):
            self._turns.leave(host)
        elif isinstance(response, AiohttpWebClientSuccessResponse):
            _leave_at_close(response, self._turns, host)
        return response


def _leave_at_close(response: AiohttpWebClientSuccessResponse, turns: HostTurns, host: str) -> None:
    close = response.close
    left = False

    async def closing() -> None:
        nonlocal left
        if not left:
            left = True
            turns.leave(host)
        await close()

    response.close = closing  # type: ignore[method-assign]
