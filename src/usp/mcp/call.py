"""One call of a tool: what it may use, and how it waits for crawls and for work in threads."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from usp._base.display import counted, duration
from usp.mcp.cursors import Cursor, digest_of
from usp.mcp.page_lists import PageLists
from usp.mcp.reading import Reading, Stopped
from usp.mcp.trees import EVERY, NO_SKIPS, Trees, address
from usp.mcp.words import Refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Concatenate, ParamSpec

    from usp.mcp.options import ServerOptions
    from usp.mcp.trees import Skips, Visit

    P = ParamSpec("P")
    T = TypeVar("T")

THREADS = 4
"""Calls that read pages at the same time; further ones wait."""

_GRACE = 5.0  # seconds that a thread may take to notice that its time is over


class Workshop:
    """What all calls of a server share: its options, its trees, its threads."""

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self.trees = Trees(options)
        self.lists = PageLists()
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="usp-mcp")

    async def close(self) -> None:
        """Stop everything."""
        await self.trees.close()
        self.threads.shutdown(wait=False, cancel_futures=True)


class Call:
    """One call; ``report`` sends progress to the caller, who may not want any."""

    def __init__(
        self,
        workshop: Workshop,
        tool: str,
        arguments: dict[str, Any],
        report: Callable[[float, str], Awaitable[None]],
    ) -> None:
        self.options = workshop.options
        self.trees = workshop.trees
        self.lists = workshop.lists
        self._threads = workshop.threads
        listed = {name: arguments[name] for name in arguments if name not in _OF_A_PART}
        self.digest = digest_of(tool, listed)
        self._report = report
        self._reported = 0.0

    async def tell(self, number: float, message: str) -> None:
        """Report progress; the number must grow, as the protocol wants it."""
        if number > self._reported:
            self._reported = number
            await self._report(number, message)

    async def visit(
        self, url: str, *, refresh: bool, skips: Skips = NO_SKIPS
    ) -> tuple[Visit, bool]:
        """Return the tree of a website or a sitemap, and whether it was kept from another call."""
        return await self.trees.visit(address(url), skips, refresh, self.tell)

    def begun(self, cursor: str, numbers: int, *, refresh: bool) -> tuple[Visit, Cursor]:
        """Return the tree of a list that was begun, and where it goes on."""
        if refresh:
            raise Refusal("refresh begins a new list: leave out either refresh or the cursor.")
        read = Cursor.read(cursor, self.digest, numbers)
        visit = self.trees.find(read.tree)
        if visit is None:
            raise Refusal(
                f"The cursor has expired: results are kept for {self.trees.how_long}, fewer if there "
                "are many. Call the tool again without a cursor."
            )
        return visit, read

    def cursor(self, visit: Visit, *position: float | None) -> str:
        """Return the cursor of the next part of a list."""
        return str(Cursor(visit.name, self.digest, position))

    async def read(
        self,
        work: Callable[Concatenate[Reading, P], T],
        *arguments: P.args,
        **keywords: P.kwargs,
    ) -> T:
        """Return what a function returns that runs in a thread and is given a ``Reading``.

        It may take as long as a crawl, and stops when the call is cancelled.
        """
        seconds = self.options.limits.seconds
        reading = Reading(seconds)
        loop = asyncio.get_running_loop()
        running = loop.run_in_executor(self._threads, lambda: work(reading, *arguments, **keywords))
        running.add_done_callback(_retrieve)
        begun = self._reported
        try:
            while not (await asyncio.wait([running], timeout=EVERY))[0]:
                if reading.overtime > _GRACE:
                    break
                message = f"reading: {counted(reading.pages, 'page')} so far"
                await self.tell(begun + reading.pages / 1000, message)
            else:
                return running.result()
        except Stopped:
            pass
        finally:
            reading.cancel()
        raise Refusal(
            f"Reading the pages took longer than {duration(seconds or 0)}. Ask for less: the URL of "
            "a sitemap (list_sitemaps lists them) instead of the website, or a shorter period. "
            "The operator of this server can raise the limit: usp mcp --max seconds=…"
        )


_OF_A_PART = frozenset({"cursor", "limit", "refresh"})
"""Arguments in which the calls for the parts of one list may differ."""


def _retrieve(done: asyncio.Future[Any]) -> None:
    """Take note of an exception that nobody waits for any more, so that asyncio does not log it."""
    if not done.cancelled():
        done.exception()
