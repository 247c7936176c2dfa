"""What tools share: arguments, parts of results, the trees of websites, and one call.

Whatever a website has written is data. It is bounded, on one line, and without control characters or
direction marks.

Calls for the same website at the same time share one crawl. Trees are kept within bounds of age, number
and size, so that the next part of a list needs no crawl; a list goes on with the tree it began with,
even if the website was fetched again since.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, TypeVarTuple
from weakref import WeakValueDictionary

from anyio import Semaphore, to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_serializer

from usp._base.display import counted, duration, excerpt, printable
from usp._base.urls import BadUrl, host_in, without_login
from usp._inputs import read_web_input, tree_of_async
from usp.checks.checking import SiteFindings
from usp.checks.finding import Severity
from usp.events import SitemapFailed, SitemapFinished
from usp.exceptions import SitemapException
from usp.objects.abstract_sitemap import walk
from usp.objects.sitemap import AbstractIndexSitemap, page_steps
from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.zones import Zones

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Hashable

    from usp._inputs import Input
    from usp.checks.verdicts import RuleRow
    from usp.events import Event
    from usp.mcp import ServerOptions
    from usp.mcp.page_tools import MatchingPages
    from usp.objects.page import PageBlock
    from usp.objects.sitemap import AbstractSitemap
    from usp.options import CrawlOptions

    T = TypeVar("T")
    V = TypeVar("V", bound="ToolValue")
    Ts = TypeVarTuple("Ts")

MOST_TEXT = 300  # characters of a title, a message or a name
MOST_URL = 3 * 2_048  # characters of a URL: the limit of a crawl, after escaping
MOST_BYTES = 40_000  # bytes of the items of one result, as JSON; the rest is in the next part


# Arguments -----------------------------------------------------------------------------------------


def listed(value: object) -> object:
    """Return a list of what models write instead: nothing, or one text."""
    return [] if value is None else [value] if isinstance(value, str) else value


# A text that may be left out.
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]

Texts = Annotated[  # a list of short texts
    list[Annotated[str, Field(max_length=500)]], BeforeValidator(listed), Field(max_length=20)
]

SeverityWord = Literal["error", "warning", "info"]

SiteUrl = Annotated[
    str,
    Field(
        min_length=1,
        max_length=2048,
        description="Website (example.org, https://example.org/) or one sitemap, feed or robots.txt "
        "by its URL. A page stands for its website.",
    ),
]
Refresh = Annotated[
    bool,
    Field(description="Fetch again even if an earlier call has fetched it a few minutes ago."),
]
Cursor = Annotated[
    Text,
    Field(
        max_length=400,
        description="next_cursor of the last result, for the next part; repeat all other arguments.",
    ),
]
Limit = Annotated[int, Field(ge=1, le=200, description="Most items of the list in one result.")]


@contextmanager
def refusing_wrong_arguments() -> Iterator[None]:
    """Turn a ``ValueError`` about what the caller wrote into an error of the tool."""
    try:
        yield
    except ValueError as error:
        raise ToolError(f"Wrong arguments: {clean(str(error))}") from error


# Results -------------------------------------------------------------------------------------------


def clean(text: str, most: int = MOST_TEXT) -> str:
    """Return text of a website: on one line, bounded, control characters percent-encoded."""
    return excerpt(printable(" ".join(text[: 4 * most].split())), most)


def clean_url(url: str) -> str:
    """Return a URL of a website, control characters percent-encoded."""
    return excerpt(printable(url), MOST_URL)


SiteText = Annotated[str, AfterValidator(clean)]  # text that a website has written
SiteAddress = Annotated[str, AfterValidator(clean_url)]  # a URL that a website has written


class ToolValue(BaseModel):
    """A result, or a part of one; what is None is left out.

    It may be made from an object that has the same attributes.
    """

    model_config = ConfigDict(frozen=True, from_attributes=True)

    @model_serializer(mode="wrap")
    def _given(self, serialize: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        return {name: value for name, value in serialize(self).items() if value is not None}


def optional(description: str) -> Any:
    """Return a field that may be left out."""
    return Field(default=None, description=description)


class Example(ToolValue):
    """One thing that a rule found."""

    message: SiteText
    sitemap: SiteAddress
    page: SiteAddress | None = None
    line: int | None = optional("Line of the sitemap.")


class RuleFindings(ToolValue):
    """What a rule found."""

    code: str = Field(description="Code of the rule; the tool explain documents it.")
    name: str
    severity: SeverityWord
    times: int = Field(description="Number of findings.")
    sitemaps: int = Field(description="Number of sitemaps that have any.")
    hint: str = Field(description="What to do.")
    examples: list[Example]

    @classmethod
    def of(cls, row: RuleRow) -> RuleFindings:
        """Return what a rule found, as the report counts it."""
        return cls.model_validate(asdict(row) | {"times": row.count, "sitemaps": row.sitemaps})


class ResultSource(ToolValue):
    """What a result is based on."""

    site: SiteAddress = Field(description="Website or sitemap that was read, after redirects.")
    fetched: str = Field(description="When it was fetched, in UTC.")
    from_cache: bool = Field(description="Whether an earlier call had fetched it.")
    complete: bool = Field(
        description="Whether every sitemap that is declared was read to its end. If not, pages may be "
        "missing: see findings."
    )
    findings: list[RuleFindings] = Field(
        default_factory=list,
        description="Errors and warnings by rule, the most severe first; of a large website only "
        "what is known without reading pages: why sitemaps are missing or incomplete. In the first "
        "part of a list.",
    )
    skipped: int = Field(
        default=0,
        description="Sitemaps that were not downloaded, because of their date or URL they cannot have "
        "what was asked for.",
    )


class SiteResult(ToolValue):
    """A result about a website."""

    source: ResultSource


class ListResult(SiteResult):
    """A part of a list."""

    total: int = Field(description="Number of items of the list in all its parts.")
    next_cursor: str | None = optional("Pass it as cursor for the next part; none at the end.")


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


def utc(moment: datetime) -> str:
    """Return a moment in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# What calls share -----------------------------------------------------------------------------------


CRAWLS = 16  # crawls at the same time; further ones wait
THREADS = 8  # calls that read pages at the same time; further ones wait
PER_SITE = 2  # crawls of a site, and calls that read its pages, at the same time
LEAST_SIZE = 50_000  # bytes that a sitemap counts for, however small it is
CACHE_TREES = 8
CACHE_BYTES = 1024 * 1024 * 1024
MOST_RULES = 15  # rules whose findings are in each result
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
        site = self._sites.setdefault(host_in(url), Semaphore(PER_SITE))
        async with site, self._all:
            yield


@dataclass(frozen=True)
class CachedTree:
    """A tree, and when it was fetched; ``key`` says of what, ``name`` is for cursors."""

    key: Hashable
    url: str
    tree: AbstractSitemap = field(repr=False)
    fetched: datetime
    name: str = field(default_factory=lambda: secrets.token_urlsafe(6))
    since: float = field(default_factory=time.monotonic)
    lists: dict[str, MatchingPages] = field(default_factory=dict)  # the last one, for its next part

    @cached_property
    def wrong(self) -> SiteFindings:
        """What is wrong with it; of a large one without its pages."""
        return SiteFindings.of(self.tree)

    @cached_property
    def size(self) -> int:
        """Bytes of all documents, at least so many for each."""
        return sum(max(node.size or 0, LEAST_SIZE) for node in walk(self.tree))


class SharedCrawl(asyncio.Lock):
    """Held by the call that crawls a website; others wait for what it finds."""

    done = 0

    def count_event(self, event: Event) -> None:
        """Count the documents that were fetched."""
        self.done += isinstance(event, SitemapFinished | SitemapFailed)


class ServerState:
    """What all calls of a server share: its options, and the trees that were fetched last."""

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self.client = {"zones": Zones(trust_start=False), **options.client}
        self.turns, self.crawl_turns = FairTurns(THREADS), FairTurns(CRAWLS)
        self.web_client = AiohttpWebClient(**self.client)  # each crawl has a copy of it
        self.crawls: WeakValueDictionary[Hashable, SharedCrawl] = WeakValueDictionary()
        self._kept: list[CachedTree] = []

    def newest(self, *names: Hashable) -> CachedTree | None:
        """Return the last tree that was kept under one of these names or keys."""
        oldest = time.monotonic() - self.options.cache_seconds
        self._kept = [one for one in self._kept if one.since >= oldest]
        found = (one for one in reversed(self._kept) if one.name in names or one.key in names)
        return next(found, None)

    def keep(self, cached: CachedTree) -> None:
        """Keep a tree within the bounds; the last one always stays, until it is too old."""
        self._kept.append(cached)
        while len(self._kept) > 1 and (
            len(self._kept) > CACHE_TREES or sum(one.size for one in self._kept) > CACHE_BYTES
        ):
            del self._kept[0]


# One call ------------------------------------------------------------------------------------------


ToolContext: TypeAlias = Context[ServerState]


class Cancelled(Exception):  # noqa: N818 - says what happened
    """The caller has gone, or the time of the call is over."""


class CancelToken:
    """Stops work in a thread, and shows others how far it is."""

    def __init__(self, seconds: float | None) -> None:
        self.pages = 0
        self._end = math.inf if seconds is None else time.monotonic() + seconds

    def cancel(self) -> None:
        """Stop the work at its next step."""
        self._end = -math.inf

    def step(self, pages: int = 0) -> None:
        """Count pages that were read; raises :class:`Cancelled` if it is time to stop."""
        self.pages += pages
        if time.monotonic() > self._end:
            raise Cancelled

    def blocks(self, sitemap: AbstractSitemap) -> Iterator[PageBlock]:
        """Yield the pages of a sitemap in blocks; may raise :class:`Cancelled` at each."""
        for _, block in page_steps(sitemap):
            self.step(0 if block is None else len(block.urls))
            if block is not None:
                yield block


class ToolCall:
    """One call about a website, or about none.

    ``asked`` is all that the calls for the parts of one list have in common; ``begin`` is the number of
    the first item of this part.
    """

    def __init__(
        self,
        ctx: ToolContext,
        url: str = "",
        refresh: bool = False,
        cursor: str = "",
        asked: Sequence[object] = (),
    ) -> None:
        self.state = ctx.request_context.lifespan_context
        self.options = self.state.options
        self.begin = 0
        self._ctx, self._refresh, self._cursor = ctx, refresh, cursor
        self._start = _site_input(url) if url else None
        text = repr((url, *asked)).encode("utf-8", "surrogatepass")
        self.digest = hashlib.blake2b(text, digest_size=9).hexdigest()
        self._began = time.monotonic()
        self._reports = count(1)

    @asynccontextmanager
    async def _progress(self, message: Callable[[], str]) -> AsyncIterator[None]:
        """Report progress during the block; the number must grow, as the protocol wants it."""

        async def report() -> None:
            while True:
                await asyncio.sleep(EVERY)
                await self._ctx.report_progress(next(self._reports), None, message())

        reporting = asyncio.create_task(report())
        try:
            yield
        finally:
            reporting.cancel()

    async def tree(
        self, crawl: CrawlOptions | None = None, skipping: Hashable = None
    ) -> CachedTree:
        """Return the tree of the website, from the cache if there is one that has what is needed.

        A crawl with other options than the server's need not fetch all sitemaps; ``skipping`` is what
        the caller wrote that leaves some out. It is part of their key, because seven days ago is
        another moment each time.
        """
        state, start = self.state, self._start
        assert start is not None
        if self._cursor:
            return self._continued(self._cursor)
        key = (start.start, skipping)
        shared = state.crawls.setdefault(key, SharedCrawl())
        shown = self._progress(lambda: f"fetching: {counted(shared.done, 'document')} so far")
        async with shown, shared:
            cached = state.newest((start.start, None), key)
            if cached is not None and not (self._refresh and cached.since < self._began):
                return cached
            shared.done, fetched = 0, datetime.now(UTC)
            options = replace(crawl or self.options.crawl, on_event=shared.count_event)
            async with state.crawl_turns.turn(start.url):
                try:
                    tree = await tree_of_async(start, state.web_client, options)
                except SitemapException as error:
                    raise ToolError(clean_url(str(error))) from error
            cached = CachedTree(key, start.url, tree, fetched)
            await to_thread.run_sync(lambda: cached.wrong)  # which may read documents
            failed = any(one.status for one in tree.failures())  # with a response
            if not (tree.is_complete or failed or any(node.status for node in walk(tree))):
                said = cached.wrong.verdict()
                raise ToolError(f"{clean_url(start.url)}: {said.sentence} {said.advice}".rstrip())
            state.keep(cached)
        return cached

    def _continued(self, cursor: str) -> CachedTree:
        """Return the tree that a list was made from, however often it was fetched in the meantime."""
        name, digest, begin = (*cursor.split("."), "", "")[:3]
        if digest != self.digest or not begin.isdecimal():
            raise ToolError(
                "The cursor is not from a call with these arguments: pass next_cursor of the last "
                "result and repeat its arguments, or leave the cursor out to begin a new list."
            )
        known = self.state.newest(name)
        if known is None:
            raise ToolError(
                f"The cursor has expired: results are kept for {duration(self.options.cache_seconds)}, "
                "fewer if there are many. Call the tool again without a cursor."
            )
        self.begin = int(begin)
        return known

    def source(self, cached: CachedTree) -> ResultSource:
        """Return what a result that is made from a tree is based on."""
        indexes = (node for node in walk(cached.tree) if isinstance(node, AbstractIndexSitemap))
        serious = [row for row in cached.wrong.found.rules if row.severity is not Severity.INFO]
        rows = [] if self.begin else serious[:MOST_RULES]  # the first part has listed them
        return ResultSource(
            site=cached.tree.url,
            fetched=utc(cached.fetched),
            from_cache=cached.since < self._began,
            complete=cached.tree.is_complete,
            findings=[RuleFindings.of(replace(row, examples=row.examples[:1])) for row in rows],
            skipped=sum(len(index.skipped) for index in indexes),
        )

    def part(self, cached: CachedTree, total: int, **items: Sequence[ToolValue]) -> dict[str, Any]:
        """Return the fields of a result: as many items as there is room for, and the next cursor."""
        ((name, given),) = items.items()
        taken = fitting(given)
        end = self.begin + len(taken)
        more = f"{cached.name}.{self.digest}.{end}" if taken and end < total else None
        return {"source": self.source(cached), "total": total, name: taken, "next_cursor": more}

    async def read(self, work: Callable[[CancelToken, *Ts], T], *arguments: *Ts) -> T:
        """Return what a function returns that runs in a thread and is given a ``CancelToken``.

        It may take as long as a crawl, and stops when the call is cancelled.
        """
        seconds = self.options.crawl.effective_limits.seconds
        async with self.state.turns.turn(self._start.url if self._start else ""):
            token = CancelToken(seconds)
            async with self._progress(lambda: f"reading: {counted(token.pages, 'page')} so far"):
                try:
                    return await to_thread.run_sync(work, token, *arguments, abandon_on_cancel=True)
                except Cancelled:
                    pass
                finally:
                    token.cancel()
        raise ToolError(
            f"Reading the pages took longer than {duration(seconds or 0)}. Ask for less: the URL of "
            "a sitemap (list_sitemaps lists them) instead of the website, or a shorter period. "
            "The operator of this server can raise the limit: usp mcp --max seconds=…"
        )


def _site_input(text: str) -> Input:
    """Return the website or sitemap that a caller named; https is the default scheme."""
    url = text.strip()
    try:
        return read_web_input(url if "://" in url else f"https://{url}")
    except BadUrl as error:
        raise ToolError(
            f"{clean_url(without_login(text))!r} is not the address of a website or a sitemap "
            f"({clean_url(str(error))}). Use for example https://example.org/."
        ) from error
