"""``list_sitemaps``: the sitemaps of a website, what they have, and why some are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from usp._base.dates import as_written
from usp._base.display import counted, size
from usp.export.sitemaps import bytes_received, why_missing
from usp.mcp.reading import Stopped
from usp.mcp.schemas import ListArguments, Result, Source, Value, fitting
from usp.mcp.words import clean_url, reason_of, remedy_of
from usp.objects.problem import Failure
from usp.objects.sitemap import (
    AbstractPagesSitemap,
    IndexWebsiteSitemap,
    InvalidSitemap,
    kind_of,
)
from usp.report.markup import state_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from usp.mcp.call import Call
    from usp.mcp.reading import Reading
    from usp.mcp.trees import Visit
    from usp.objects.sitemap import AbstractSitemap

State = Literal["read", "incomplete", "failed", "not followed"]


class SitemapArguments(ListArguments):
    """What to list."""

    only_failed: bool = Field(
        default=False, description="List only sitemaps that are missing or incomplete."
    )
    limit: int = Field(default=50, ge=1, le=200, description="Most sitemaps in one result.")


class Sitemap(Value):
    """A sitemap."""

    url: str
    parent: str | None = Field(default=None, description="Sitemap that declares it.")
    level: int = Field(description="Depth in the tree, 0 at the top.")
    type: str = Field(
        description="Format: robots, index, xml, text, rss, atom; invalid if it failed."
    )
    state: State
    status: int | None = Field(default=None, description="HTTP status of the response.")
    bytes: int | None = None
    lastmod: str | None = Field(default=None, description="Date that its index declares.")
    pages: int | None = Field(default=None, description="Pages that it lists itself.")
    problems: int | None = Field(
        default=None, description="Mistakes inside the document; check_site tells which."
    )
    code: str | None = Field(default=None, description="Kind of failure, for the tool explain.")
    reason: str | None = Field(default=None, description="Why it failed or is incomplete.")
    todo: str | None = Field(default=None, description="What to do about the failure.")


class SitemapList(Result):
    """Sitemaps in the order of their tree."""

    source: Source
    total: int = Field(description="Number of sitemaps of the list in all its parts.")
    sitemaps: list[Sitemap]
    next_cursor: str | None = None

    def lines(self) -> Iterable[str]:
        """Yield the result as text."""
        yield from self.source.lines()
        yield f"{counted(self.total, 'sitemap')}; {len(self.sitemaps)} here:"
        for one in self.sitemaps:
            held = [one.type if one.state == "read" else f"{one.state.upper()} {one.type}"]
            if one.pages is not None:
                held.append(counted(one.pages, "page"))
            if one.problems:
                held.append(counted(one.problems, "problem"))
            if one.bytes is not None:
                held.append(size(one.bytes))
            held += [text for text in (one.code, one.reason) if text]
            yield f"{'  ' * min(one.level, 10)}{one.url} ({', '.join(held)})"
        if self.next_cursor:
            yield f"More with cursor={self.next_cursor}"


async def list_sitemaps(call: Call, given: SitemapArguments) -> SitemapList:
    """Return the sitemaps of a website."""
    if given.cursor is None:
        visit, kept = await call.visit(given.url, refresh=given.refresh)
        begin = 0
    else:
        visit, cursor = call.begun(given.cursor, 1, refresh=given.refresh)
        begin, kept = int(cursor.position[0] or 0), True
    total, found = await call.read(_listed, visit, given, max(begin, 0))
    taken = fitting(found)
    end = begin + len(taken)
    return SitemapList(
        source=Source.of(visit, kept=kept),
        total=total,
        sitemaps=taken,
        next_cursor=call.cursor(visit, end) if end < total else None,
    )


def _listed(
    reading: Reading, visit: Visit, given: SitemapArguments, begin: int
) -> tuple[int, list[Sitemap]]:
    """Return how many sitemaps there are, and some of them; their pages are counted if time allows."""
    rows = list(_rows(visit.tree))
    if given.only_failed:
        rows = [row for row in rows if isinstance(row[0], Failure) or row[0].failure is not None]
    chosen = rows[begin : begin + given.limit]
    return len(rows), [_sitemap(reading, *row) for row in chosen]


def _rows(tree: AbstractSitemap) -> Iterator[tuple[AbstractSitemap | Failure, str | None, int]]:
    """Yield all sitemaps with their parents and levels; first what failed without being declared."""
    waiting: list[tuple[AbstractSitemap, str | None, int]] = [(tree, None, 0)]
    if isinstance(tree, IndexWebsiteSitemap):
        yield from ((failure, None, 0) for failure in tree.not_found)
        waiting = [(node, None, 0) for node in reversed(tree.sub_sitemaps)]
    while waiting:
        node, parent, level = waiting.pop()
        yield node, parent, level
        below = reversed(node.sub_sitemaps)
        waiting.extend((child, node.url, level + 1) for child in below)


def _sitemap(
    reading: Reading, node: AbstractSitemap | Failure, parent: str | None, level: int
) -> Sitemap:
    if isinstance(node, Failure):
        return Sitemap(
            url=clean_url(node.url),
            level=level,
            type="invalid",
            state="failed",
            status=node.status,
            code=node.code.value,
            reason=reason_of(node),
            todo=remedy_of(node) or None,
        )
    problems = pages = None
    try:
        reading.step()
        problems = node.problem_count()  # first: finding them counts the pages too
        if isinstance(node, AbstractPagesSitemap):
            pages = node.page_count()
            reading.pages += pages
    except Stopped:  # what is known without reading is better than nothing
        pass
    why = why_missing(node)
    state = state_of(node)[0] or "read"
    return Sitemap(
        url=clean_url(node.url),
        parent=None if parent is None else clean_url(parent),
        level=level,
        type=kind_of(node).name,
        state=state,  # type: ignore[arg-type]  # the words of state_of
        status=node.status,
        bytes=bytes_received(node),
        lastmod=None if node.last_modified is None else as_written(node.last_modified),
        pages=pages,
        problems=None if isinstance(node, InvalidSitemap) else problems,
        code=None if why is None else why.code.value,
        reason=None if why is None else reason_of(why),
        todo=None if why is None else remedy_of(why) or None,
    )
