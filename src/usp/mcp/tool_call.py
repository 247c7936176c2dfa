"""One call of a tool, and what calls share: the trees of websites, crawled when they are asked for.

A call has its progress, its cursor, and its work in a thread, which can be stopped. Calls for the same
website at the same time share one crawl, which ends when the last of them is cancelled. Trees are kept
within bounds of age, number and size, so that the next part of a list needs no crawl; a list goes on
with the tree it began with, even if the website was fetched again since.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import secrets
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, TypeVarTuple
from weakref import WeakValueDictionary

from anyio import Semaphore
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from usp._base.display import counted, duration
from usp._base.urls import BadUrl, host_in, without_login
from usp._http.identity import DEFAULT_TIMEOUT
from usp._inputs import read_web_input, tree_of_async
from usp.events import SitemapFailed, SitemapFinished
from usp.exceptions import SitemapException
from usp.mcp.tool_values import ResultSource, clean, clean_url, missing_by_reason, nothing_read, utc
from usp.objects.abstract_sitemap import page_sitemaps, walk
from usp.objects.sitemap import AbstractIndexSitemap
from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.zones import Zones

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator, Sequence

    from usp._inputs import Input
    from usp.events import Event
    from usp.mcp import ServerOptions
    from usp.mcp.page_tools import MatchingPages
    from usp.mcp.tool_values import ToolValue
    from usp.objects.page import PageBlock
    from usp.objects.problem import Failure
    from usp.objects.sitemap import AbstractSitemap
    from usp.options import CrawlOptions
    from usp.selection import Selection

    T = TypeVar("T")
    V = TypeVar("V", bound=ToolValue)
    Ts = TypeVarTuple("Ts")

CRAWLS = 16  # crawls at the same time; further ones wait
THREADS = 8  # calls that read pages at the same time; further ones wait
CHECKS = 6  # those that also fetch from other hosts, maybe slow ones: some threads stay free
PER_SITE = 2  # crawls of a site, and calls that read its pages, at the same time
MOST_WAITING = 16  # calls that wait for the same site; further ones are refused
MOST_SITEMAPS = 20_000  # sitemaps in all trees that are kept
EVERY = 0.5  # seconds between two reports of progress


class FairTurns:
    """Limits how much runs at once, in total and for each site.

    A call waits first for those of the same site, without taking anything from others.
    """

    def __init__(self, most: int) -> None:
        self._all = Semaphore(most)
        self._sites: WeakValueDictionary[str, Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, url: str) -> AsyncIterator[None]:
        """Wait for a turn of the site of this URL, and take it during the block."""
        host = host_in(without_login(url))
        site = self._sites.setdefault(host, Semaphore(PER_SITE))
        waiting = site.statistics().tasks_waiting
        if waiting >= MOST_WAITING:
            raise ToolError(
                f"{counted(waiting, 'call')} are waiting for {clean(host)} already: try again "
                "later, and ask for one thing after another."
            )
        async with site, self._all:
            yield


def site_input(text: str) -> Input:
    """Return the website or sitemap that a caller named; https is the default scheme."""
    url = text.strip()
    try:
        return read_web_input(url if "://" in url else f"https://{url}")
    except BadUrl as error:
        raise ToolError(
            f"{clean_url(without_login(text))!r} is not the address of a website or a sitemap "
            f"({clean(str(error))}). Use for example https://example.org/."
        ) from error


@dataclass(frozen=True)
class CachedTree:
    """A tree, and when it was fetched; ``key`` says of what, ``name`` is for cursors."""

    key: Hashable
    url: str
    tree: AbstractSitemap = field(repr=False)
    fetched: datetime
    name: str = field(default_factory=lambda: secrets.token_urlsafe(6))
    since: float = field(default_factory=time.monotonic)

    @cached_property
    def failures(self) -> list[Failure]:
        """Which sitemaps are missing or incomplete."""
        return self.tree.failures()

    @cached_property
    def size(self) -> int:
        """Bytes of all documents."""
        return sum(node.size or 0 for node in walk(self.tree))

    def require_response(self) -> None:
        """Raise ``ToolError`` if no server has sent anything, not even an error."""
        silent = all(failure.status is None for failure in self.failures)
        if self.failures and silent and all(node.size is None for node in walk(self.tree)):
            raise nothing_read(self.url, self.failures)

    def require_pages(self) -> None:
        """Raise ``ToolError`` if something failed, and no sitemap with pages was read."""
        if self.failures and next(page_sitemaps(self.tree), None) is None:
            raise nothing_read(self.url, self.failures)


class _RunningCrawl:
    """A crawl that is going on, how far it is, and how many calls wait for it."""

    task: asyncio.Task[CachedTree]
    waiting = 0
    done = 0

    def hear(self, event: Event) -> None:
        self.done += isinstance(event, SitemapFinished | SitemapFailed)


class ServerState:
    """What all calls of a server share: its options, its trees, its threads."""

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self.lists: OrderedDict[tuple[str, str], MatchingPages] = OrderedDict()
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="usp-mcp")
        self.turns, self.check_turns = FairTurns(THREADS), FairTurns(CHECKS)
        self._crawl_turns = FairTurns(CRAWLS)
        self._client = AiohttpWebClient(**client_options(options))  # each crawl has a copy of it
        self._kept: dict[str, CachedTree] = {}  # by name, the last used at the end
        self._running: dict[Hashable, _RunningCrawl] = {}

    def find(self, name: str) -> CachedTree | None:
        """Return the tree that a cursor names, if it is still kept."""
        self._drop_old()
        cached = self._kept.pop(name, None)
        if cached is not None:
            self._kept[name] = cached
        return cached

    def newest(self, key: Hashable) -> CachedTree | None:
        """Return the last tree that was kept under a key."""
        found = [one for one in self._kept.values() if one.key == key]
        return self.find(max(found, key=lambda one: one.since).name) if found else None

    def keep(self, cached: CachedTree) -> None:
        """Keep a tree within the bounds; the last one always stays, until it is too old."""
        kept, options = self._kept, self.options
        kept[cached.name] = cached
        while len(kept) > 1 and (
            len(kept) > options.cache_trees
            or sum(one.size for one in kept.values()) > options.cache_bytes
            or sum(one.tree.sitemap_count() for one in kept.values()) > MOST_SITEMAPS
        ):
            del kept[next(iter(kept))]
        self._drop_old()

    def _drop_old(self) -> None:
        oldest = time.monotonic() - self.options.cache_seconds
        self._kept = {name: one for name, one in self._kept.items() if one.since >= oldest}

    async def aclose(self) -> None:
        """Stop everything, and forget all trees."""
        tasks = [one.task for one in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._kept.clear()
        self.threads.shutdown(wait=False, cancel_futures=True)

    async def crawl(
        self,
        key: Hashable,
        start: Input,
        options: CrawlOptions,
        report: Callable[[float, str], Awaitable[None]],
    ) -> CachedTree:
        """Crawl together with all calls for the same key; the last one that leaves stops it."""
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = _RunningCrawl()
            options = replace(options, on_event=running.hear)
            running.task = asyncio.create_task(self._crawl(key, start, options))
        running.waiting += 1
        try:
            while not (await asyncio.wait([running.task], timeout=EVERY))[0]:
                await report(running.done, f"fetching: {counted(running.done, 'document')} so far")
            return running.task.result()
        finally:
            running.waiting -= 1
            if not running.waiting and self._running.get(key) is running:
                del self._running[key]  # whoever comes now begins anew
                running.task.cancel()  # nobody waits for it; does nothing if it is done

    async def _crawl(self, key: Hashable, start: Input, options: CrawlOptions) -> CachedTree:
        async with self._crawl_turns.turn(start.url):
            fetched = datetime.now(UTC)
            try:
                tree = await tree_of_async(start, self._client, options)
            except SitemapException as error:
                raise ToolError(
                    f"{clean_url(str(error))} Use for example https://example.org/."
                ) from error
        cached = CachedTree(key, start.url, tree, fetched)
        self.keep(cached)
        return cached


def client_options(options: ServerOptions) -> dict[str, Any]:
    """Return the options of a client that fetches for a server."""
    return {
        "verify": options.verify,
        "user_agent": options.user_agent,
        "headers": dict(options.headers),
        "timeout": DEFAULT_TIMEOUT if options.timeout is None else options.timeout,
        "proxy": options.proxy,
        "max_concurrent_requests": options.concurrency,
        "zones": options.zones or Zones(trust_start=False),
    }


# One call ------------------------------------------------------------------------------------------


MOST_BYTES = 40_000  # bytes of the items of one result, as JSON; the rest is in the next part
GRACE = 5.0  # seconds that a thread may take to notice that its time is over
ToolContext: TypeAlias = Context[ServerState]

_CURSOR = re.compile("([A-Za-z0-9_-]+)[.]([0-9a-f]+)[.]([0-9]{1,15})")


class Cancelled(Exception):  # noqa: N818 - says what happened
    """The caller has gone, or the time of the call is over."""


class CancelToken:
    """Tells a thread when to stop, and others how far it is."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = math.inf if seconds is None else seconds
        self._end = math.inf
        self.has_begun = False
        self.pages = 0

    def begin(self) -> None:
        """Let the time begin."""
        self.has_begun = True
        self._end = time.monotonic() + self._seconds

    def cancel(self) -> None:
        """Stop the work at its next step."""
        self._end = -math.inf

    @property
    def overtime(self) -> float:
        """How many seconds ago it should have ended; negative while there is time left."""
        return time.monotonic() - self._end

    def step(self, pages: int = 0) -> None:
        """Count pages that were read; raises :class:`Cancelled` if it is time to stop."""
        self.pages += pages
        if self.overtime > 0:
            raise Cancelled

    def blocks(self, sitemap: AbstractSitemap) -> Iterator[PageBlock]:
        """Yield the pages of a sitemap in blocks; may raise :class:`Cancelled` at each."""
        for _, block in sitemap.page_steps():
            self.step(0 if block is None else len(block.urls))
            if block is not None:
                yield block


@dataclass(eq=False)
class ToolCall:
    """One call about a website, or about none.

    A tree for a ``selection`` need not have all sitemaps. ``skipping`` is what the caller wrote that
    leaves some out: it tells such trees apart, because seven days ago is another moment each time.
    ``asked`` is all that the calls for the parts of one list have in common; ``begin`` is the number of
    the first item of this part.
    """

    ctx: ToolContext
    url: str = ""
    refresh: bool = False
    asked: Sequence[object] = ()
    selection: Selection | None = None
    skipping: Hashable = None
    begin: int = 0

    def __post_init__(self) -> None:
        self.state = self.ctx.request_context.lifespan_context
        self.options = self.state.options
        self._start = site_input(self.url) if self.url else None
        text = repr((self.url, *self.asked)).encode("utf-8", "surrogatepass")
        self.digest = hashlib.blake2b(text, digest_size=9).hexdigest()
        self._began = time.monotonic()
        self._reported = 0.0

    async def _report(self, number: float, message: str) -> None:
        """Report progress; the number must grow, as the protocol wants it."""
        if number > self._reported:
            self._reported = number
            await self.ctx.report_progress(number, None, message)

    async def tree(self, cursor: str = "") -> CachedTree:
        """Return the tree of the website, from the cache if there is one that has what is needed.

        A cursor names the tree that the list was made from, so that its parts belong together however
        often the website is fetched in the meantime, and what was asked for, so that it cannot be mixed
        up.
        """
        if cursor:
            return self._continued(cursor)
        start, crawl = self._start, self.options.crawl
        assert start is not None
        key = (start.start, self.skipping)
        if not self.refresh:
            for known in map(self.state.newest, ((start.start, None), key)):
                if known is not None:
                    return known
        if self.selection is not None:
            crawl = self.selection.crawl_options(crawl)
        return await self.state.crawl(key, start, crawl, self._report)

    def _continued(self, cursor: str) -> CachedTree:
        if self.refresh:
            raise ToolError("refresh begins a new list: leave out either refresh or the cursor.")
        found = _CURSOR.fullmatch(cursor)
        if found is None:
            raise ToolError(
                "This is not a cursor: pass next_cursor of an earlier result, or leave it out."
            )
        if found[2] != self.digest:
            raise ToolError(
                "The cursor is from a call with other arguments, or of a snapshot that has changed "
                "since: repeat the arguments of that call, or leave the cursor out to begin a new list."
            )
        known = self.state.find(found[1])
        if known is None:
            raise ToolError(
                f"The cursor has expired: results are kept for {duration(self.options.cache_seconds)}, "
                "fewer if there are many. Call the tool again without a cursor."
            )
        self.begin = int(found[3])
        return known

    def source(self, cached: CachedTree) -> ResultSource:
        """Return what a result that is made from a tree is based on."""
        indexes = (node for node in walk(cached.tree) if isinstance(node, AbstractIndexSitemap))
        return ResultSource(
            site=cached.tree.url,
            fetched=utc(cached.fetched),
            from_cache=cached.since < self._began,
            complete=not cached.failures,
            missing=missing_by_reason(cached.failures),
            skipped=sum(len(index.skipped) for index in indexes),
        )

    def part(self, cached: CachedTree, total: int, **items: Sequence[ToolValue]) -> dict[str, Any]:
        """Return the fields of a result: as many items as there is room for, and the next cursor."""
        ((name, given),) = items.items()
        taken = fitting(given)
        end = self.begin + len(taken)
        more = f"{cached.name}.{self.digest}.{end}" if taken and end < total else None
        return {"source": self.source(cached), "total": total, name: taken, "next_cursor": more}

    async def read(
        self, work: Callable[[CancelToken, *Ts], T], *arguments: *Ts, fetches: bool = False
    ) -> T:
        """Return what a function returns that runs in a thread and is given a ``CancelToken``.

        It may take as long as a crawl, and stops when the call is cancelled. One that ``fetches`` from
        other hosts while it reads leaves threads to others.
        """
        seconds, state = self.options.limits.seconds, self.state
        token = CancelToken(seconds)

        async def in_thread() -> T:
            """Wait for a turn, and keep it until the thread has ended, whoever waits for that."""
            site = "" if self._start is None else self._start.url
            checking = state.check_turns.turn(site) if fetches else nullcontext()
            async with checking, state.turns.turn(site):
                token.begin()
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(state.threads, work, token, *arguments)

        running = asyncio.ensure_future(in_thread())
        # Of an exception that nobody waits for any more, asyncio would write a log.
        running.add_done_callback(lambda done: done.cancelled() or done.exception())
        begun = self._reported
        try:
            while not (await asyncio.wait([running], timeout=EVERY))[0]:
                if token.overtime > GRACE:
                    break
                message = f"reading: {counted(token.pages, 'page')} so far"
                await self._report(begun + token.pages / 1000, message)
            else:
                return running.result()
        except Cancelled:
            pass
        finally:
            token.cancel()
            if not token.has_begun:
                running.cancel()
        raise ToolError(
            f"Reading the pages took longer than {duration(seconds or 0)}. Ask for less: the URL of "
            "a sitemap (list_sitemaps lists them) instead of the website, or a shorter period. "
            "The operator of this server can raise the limit: usp mcp --max seconds=…"
        )


def fitting(items: Sequence[V]) -> list[V]:
    """Return as many of the first items as a result has room for; one at least."""
    room = MOST_BYTES
    taken: list[V] = []
    for item in items:
        room -= len(item.model_dump_json().encode())
        if room < 0 and taken:
            break
        taken.append(item)
    return taken
