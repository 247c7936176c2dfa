"""The trees of websites: crawled when they are asked for, shared by calls, kept for a while.

Calls for the same website at the same time share one crawl, which ends when the last of them is
cancelled. Trees are kept within bounds of age, number and size, so that the next part of a list needs
no crawl; a list goes on with the tree it began with, even if the website was fetched again since.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from usp import aio
from usp._base.display import counted, duration
from usp._base.sitemap_urls import PAGES, looks_like_sitemap
from usp._base.urls import BadUrl, read_url, url_parts, without_login
from usp._http.identity import DEFAULT_TIMEOUT
from usp.events import SitemapFailed, SitemapFinished, SitemapFound
from usp.exceptions import SitemapException
from usp.mcp.words import Refusal, clean, clean_url
from usp.objects.abstract_sitemap import walk
from usp.objects.sitemap import AbstractIndexSitemap, InvalidSitemap, PagesTextSitemap
from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.requests_client import RequestsWebClient
from usp.web_client.zones import Zones

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from usp.events import Event
    from usp.mcp.options import ServerOptions
    from usp.objects.problem import Failure
    from usp.objects.sitemap import AbstractSitemap
    from usp.options import CrawlOptions
    from usp.selection import Selection

    Tell: TypeAlias = Callable[[int, str], Awaitable[None]]
    """Reports progress: a number that grows, and what it means."""

CRAWLS = 4
"""Crawls at the same time; further ones wait."""

MOST_SITEMAPS = 20_000
"""Sitemaps in all trees that are kept."""

EVERY = 0.5
"""Seconds between two reports of progress."""


def address(text: str) -> str:
    """Return the URL of a website or a sitemap that a caller named; https is the default scheme."""
    url = text.strip()
    if "://" not in url:
        url = f"https://{url}"
    try:
        read_url(url)
    except BadUrl as error:
        raise Refusal(
            f"{clean_url(without_login(text))!r} is not the address of a website or a sitemap "
            f"({clean(str(error))}). Use for example https://example.org/."
        ) from error
    return url


@dataclass(frozen=True, slots=True)
class Visit:
    """A tree, and when it was fetched; ``name`` is for cursors."""

    url: str
    tree: AbstractSitemap = field(repr=False)
    fetched: datetime
    failures: tuple[Failure, ...] = field(repr=False)
    sitemaps: int
    size: int
    skipped: int
    name: str = field(default_factory=lambda: secrets.token_urlsafe(6))
    since: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, url: str, tree: AbstractSitemap, fetched: datetime) -> Visit:
        """Return the visit that a tree is the result of."""
        nodes = list(walk(tree))
        return cls(
            without_login(url),
            tree,
            fetched,
            tuple(tree.failures()),
            sitemaps=len(nodes),
            size=sum(node.size or 0 for node in nodes),
            skipped=sum(len(n.skipped) for n in nodes if isinstance(n, AbstractIndexSitemap)),
        )


@dataclass(frozen=True, slots=True)
class Skips:
    """Which sitemaps may be left out of a tree: those that can have no page of a selection.

    ``key`` is what the caller wrote: seven days ago is another moment each time.
    """

    selection: Selection | None = None
    key: tuple[str, ...] = ()


NO_SKIPS = Skips()


class _Running:
    """A crawl that is going on, how far it is, and how many calls wait for it."""

    def __init__(self) -> None:
        self.task: asyncio.Task[Visit] | None = None
        self.waiting = 0
        self.found = 0
        self.done = 0

    def hear(self, event: Event) -> None:
        """Count what has happened."""
        self.found += isinstance(event, SitemapFound)
        self.done += isinstance(event, SitemapFinished | SitemapFailed)

    def __str__(self) -> str:
        return f"fetching: {counted(self.done, 'document')} so far"


class Trees:
    """Crawls websites, and keeps their trees."""

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._kept: OrderedDict[str, Visit] = OrderedDict()  # the last used at the end
        self._names: dict[Hashable, str] = {}
        self._running: dict[Hashable, _Running] = {}
        self._client = AiohttpWebClient(**_client_options(options))  # each crawl has a copy of it
        self._turns = asyncio.Semaphore(CRAWLS)

    async def visit(self, url: str, skips: Skips, refresh: bool, tell: Tell) -> tuple[Visit, bool]:
        """Return the tree of a website or sitemap, and whether it was at hand.

        What ``skips`` says need not be in it, but may be.
        """
        if not refresh:
            for key in ((url, NO_SKIPS.key), (url, skips.key)):
                known = self.kept_as(key)
                if known is not None:
                    return known, True
        options = self._options.crawl
        if skips.selection is not None:
            options = skips.selection.crawl_options(options)
        return await self._fetched((url, skips.key), url, options, tell), False

    def find(self, name: str) -> Visit | None:
        """Return the tree that a cursor names, if it is still kept."""
        self._drop_old()
        visit = self._kept.get(name)
        if visit is not None:
            self._kept.move_to_end(name)
        return visit

    def keep(self, key: Hashable, visit: Visit) -> None:
        """Keep a tree within the bounds; the last one always stays, until it is too old."""
        self._kept[visit.name] = visit
        self._names[key] = visit.name
        options = self._options
        while len(self._kept) > 1 and (
            len(self._kept) > options.cache_trees
            or sum(one.size for one in self._kept.values()) > options.cache_bytes
            or sum(one.sitemaps for one in self._kept.values()) > MOST_SITEMAPS
        ):
            self._kept.popitem(last=False)
        self._drop_old()

    def kept_as(self, key: Hashable) -> Visit | None:
        """Return the tree that is kept under a key."""
        return self.find(self._names.get(key, ""))

    @property
    def how_long(self) -> str:
        """How long trees are kept, for messages."""
        return duration(self._options.cache_seconds)

    def _drop_old(self) -> None:
        oldest = time.monotonic() - self._options.cache_seconds
        for name in [name for name, visit in self._kept.items() if visit.since < oldest]:
            del self._kept[name]
        for key in [key for key, name in self._names.items() if name not in self._kept]:
            del self._names[key]

    async def close(self) -> None:
        """Stop all crawls, and forget all trees."""
        tasks = [one.task for one in self._running.values() if one.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._kept.clear()

    # Crawling --------------------------------------------------------------------------------------

    async def _fetched(
        self,
        key: Hashable,
        url: str,
        options: CrawlOptions,
        tell: Tell,
    ) -> Visit:
        """Return the tree of a crawl, which calls for the same share while it goes on."""
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = _Running()
            options = replace(options, on_event=running.hear)
            running.task = asyncio.create_task(self._crawl(key, url, options))
        task = running.task
        assert task is not None
        running.waiting += 1
        try:
            while not (await asyncio.wait([task], timeout=EVERY))[0]:
                await tell(running.done, str(running))
        finally:
            running.waiting -= 1
            if not running.waiting and self._running.get(key) is running:
                del self._running[key]  # whoever comes now begins anew
                task.cancel()  # nobody waits for it; does nothing if it is done
        return task.result()

    async def _crawl(self, key: Hashable, url: str, options: CrawlOptions) -> Visit:
        async with self._turns:
            fetched = datetime.now(UTC)
            try:
                tree = await self._tree(url, options)
            except SitemapException as error:
                raise Refusal(
                    f"{clean_url(str(error))} Use for example https://example.org/."
                ) from error
        visit = await asyncio.to_thread(Visit.of, url, tree, fetched)
        self.keep(key, visit)
        return visit

    async def _tree(self, url: str, options: CrawlOptions) -> AbstractSitemap:
        """Return the tree of a website or a sitemap; what may be a sitemap is tried as one first."""
        parts = url_parts(url)
        is_sitemap = looks_like_sitemap(url)
        has_path = bool(parts.path.strip("/") or parts.query)
        if is_sitemap or (has_path and not parts.path.endswith(PAGES)):
            tree = await aio.sitemap_tree_for_sitemap(url, self._client, options=options)
            if is_sitemap or not isinstance(tree, InvalidSitemap | PagesTextSitemap):
                return tree
        return await aio.sitemap_tree_for_homepage(url, self._client, options=options)

    def client(self) -> RequestsWebClient:
        """Return a client for what a check fetches, in a thread."""
        return RequestsWebClient(**_client_options(self._options))


def _client_options(options: ServerOptions) -> dict[str, Any]:
    return {
        "verify": options.verify,
        "user_agent": options.user_agent,
        "headers": dict(options.headers),
        "timeout": DEFAULT_TIMEOUT if options.timeout is None else options.timeout,
        "proxy": options.proxy,
        "max_concurrent_requests": options.concurrency,
        "zones": options.zones or Zones(trust_start=False),
    }
