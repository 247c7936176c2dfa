"""What calls share: the trees of websites, crawled when they are asked for and kept for a while.

Calls for the same website at the same time share one crawl, which ends when the last of them is
cancelled. Trees are kept within bounds of age, number and size, so that the next part of a list needs
no crawl; a list goes on with the tree it began with, even if the website was fetched again since.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from anyio import Semaphore
from mcp.server.mcpserver.exceptions import ToolError

from usp._base.display import counted
from usp._base.urls import BadUrl, host_in, without_login
from usp._http.identity import DEFAULT_TIMEOUT
from usp._inputs import read_web_input, tree_of_async
from usp.events import SitemapFailed, SitemapFinished
from usp.exceptions import SitemapException
from usp.mcp.tool_values import clean, clean_url, nothing_read
from usp.objects.abstract_sitemap import page_sitemaps, walk
from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.zones import Zones

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Hashable

    from usp._inputs import Input
    from usp.events import Event
    from usp.mcp import ServerOptions
    from usp.mcp.page_tools import MatchingPages
    from usp.objects.problem import Failure
    from usp.objects.sitemap import AbstractSitemap
    from usp.options import CrawlOptions

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
