"""The ways to crawl: on threads, one request at a time or several, and on asyncio.

What holds for all of them is tested once, for each of ``FRONTS``.
"""

import asyncio
import contextlib
import gc
import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from memory_web import AsyncClient, Client, H, Web
from patience import within
from usp import aio, stream, tree
from usp.web_client.requests_client import RequestsWebClient

T = TypeVar("T")

FD = Path("/proc/self/fd")
needs_proc = pytest.mark.skipif(not FD.exists(), reason="looks at open files by /proc")


def spools() -> list[int]:
    """Give the open files that have no name, after whatever can be collected is gone."""
    gc.collect()
    found = []
    for file in FD.iterdir() if FD.exists() else ():
        with contextlib.suppress(OSError):
            if "(deleted)" in str(file.readlink()):
                found.append(int(file.name))
    return found


def run(work: Coroutine[Any, Any, T], seconds: float = 60.0) -> T:
    """Run to the end, but not for ever; nothing may be left in the loop."""

    async def bounded() -> T:
        async with asyncio.timeout(seconds):
            result = await work
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    with within(2 * seconds):  # a loop that turns in circles hears of no other timeout
        result = asyncio.run(bounded())
    gc.collect(1)  # what was not closed or awaited warns here, and not in another test
    return result


async def happens(true: Callable[[], object]) -> None:
    """Wait until something is true; whoever calls sets a limit."""
    while not true():  # noqa: ASYNC110 - it happens in another thread
        await asyncio.sleep(0.002)


async def rest(pages: Any) -> list:
    """Give what is left of an asynchronous stream."""
    return [page async for page in pages]


@dataclass(frozen=True)
class Coming:
    """Pages as they come in the stream of any front, asked for in a loop: one, or all that are left."""

    pages: Any

    async def one(self) -> Any:
        if hasattr(self.pages, "__anext__"):
            return await anext(self.pages)
        return await asyncio.to_thread(next, self.pages)

    async def rest(self) -> list:
        if hasattr(self.pages, "__anext__"):
            return await rest(self.pages)
        return await asyncio.to_thread(list, self.pages)

    async def stop(self, how: str, *error: Any) -> None:
        """End the stream by one of its methods: ``close`` or ``throw``."""
        if hasattr(self.pages, "__anext__"):
            await getattr(self.pages, f"a{how}")(*error)
        else:
            getattr(self.pages, how)(*error)


@dataclass(frozen=True)
class Front:
    """A way to crawl, without known paths unless they are asked for; ``at_once`` requests at most."""

    name: str
    at_once: int = 4
    awaits: bool = False

    def __repr__(self) -> str:
        return self.name

    def client(self, web: Web, before: Any = None) -> Client | AsyncClient:
        """Give a client of a user's own; ``before`` is called for every piece of a body."""
        if self.awaits and before and not inspect.iscoroutinefunction(before):
            before = partial(asyncio.to_thread, before)
        hooks = () if before is None else (before,)
        return AsyncClient(web, *hooks) if self.awaits else Client(web, self.at_once, *hooks)

    def tree(self, url: str, client: Any = None, *, single: bool = False, **options: Any) -> Any:
        """Give the tree of a website, or of a single sitemap."""
        if not single and "options" not in options:
            options.setdefault("use_known_paths", False)
        name = "sitemap_tree_for_sitemap" if single else "sitemap_tree_for_homepage"
        if self.awaits:
            return run(getattr(aio, name)(url, client, **options))
        if client is None and self.at_once == 1:
            client = RequestsWebClient(max_concurrent_requests=1)
        with within(120):
            return getattr(tree, name)(url, client, **options)

    def pages(self, url: str, client: Any = None, *, single: bool = False, **options: Any) -> list:
        """Give the pages of a website, or of a single sitemap, as they come in the stream."""
        if not single and "options" not in options:
            options.setdefault("use_known_paths", False)
        name = "pages_of_sitemap" if single else "pages"
        if self.awaits:
            return run(rest(getattr(aio, name)(url, client, **options)))
        with within(120):
            return list(getattr(stream, name)(url, client, **options))

    def coming(self, url: str, web_client: Any = None, **options: Any) -> Coming:
        """Give the stream of a website."""
        pages = aio.pages if self.awaits else stream.pages
        return Coming(pages(url, web_client, **{"use_known_paths": False} | options))

    def tree_pages(self, url: str, client: Any = None, **options: Any) -> list:
        """Give the pages of the tree."""
        return list(self.tree(url, client, **options).all_pages())


ONE_BY_ONE, THREADS = Front("one by one", 1), Front("threads")
ASYNCIO = Front("asyncio", awaits=True)
FRONTS = [ONE_BY_ONE, THREADS, ASYNCIO]
every_stream = pytest.mark.parametrize("front", [THREADS, ASYNCIO], ids=repr)
every_front = pytest.mark.parametrize("front", FRONTS, ids=repr)
WAYS = {
    f"{name}, {front}": (front, way)
    for front in FRONTS
    for name, way in [("tree", front.tree_pages), ("stream", front.pages)]
}


def pages_by(name: str, web: Web, url: str = f"{H}/", **options: Any) -> list:
    """Give the pages of a website in memory in one of the ``WAYS``."""
    front, way = WAYS[name]
    return way(url, front.client(web), **options)
