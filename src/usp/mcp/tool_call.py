"""One call of a tool: its progress, its cursor, its work in a thread, which can be stopped."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, TypeVarTuple

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from usp._base.display import counted, duration
from usp.mcp import tree_cache
from usp.mcp.tool_values import ResultSource, ToolValue, missing_by_reason, utc
from usp.mcp.tree_cache import ServerState, site_input
from usp.objects.abstract_sitemap import walk
from usp.objects.sitemap import AbstractIndexSitemap

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from usp.mcp.tree_cache import CachedTree
    from usp.objects.page import PageBlock
    from usp.objects.sitemap import AbstractSitemap
    from usp.selection import Selection

    T = TypeVar("T")
    V = TypeVar("V", bound=ToolValue)
    Ts = TypeVarTuple("Ts")

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
            while not (await asyncio.wait([running], timeout=tree_cache.EVERY))[0]:
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
