"""A website in numbers: everything that the report shows, collected in one pass over the pages."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from usp.objects.problem import Failure, FailureCode, how_many
from usp.objects.sitemap import AbstractPagesSitemap, AbstractSitemap, IndexWebsiteSitemap, state_of
from usp.report.charts import FetchedDocument, fetches_of
from usp.report.content import Content, Spread, Tally
from usp.report.markup import Addresses, shared_origin
from usp.report.problems import ChangeList, CheckList, changes_of, checks_of

MAX_ODD_PAGES = 200_000  # pages of sitemaps that look damaged that are read to count problems
MAX_OTHER_PAGES = 25_000  # the same for sitemaps that look fine
MAX_FAILURES = 200
MAX_SECTIONS = 40
MAX_BELOW = 12
MAX_FETCHES = 60


@dataclass(slots=True)
class ProblemCount:
    """How many errors there are inside documents, and entries that they cost.

    ``looked_at`` of ``sitemaps`` were read for them, which is slow: see :data:`MAX_ODD_PAGES`.
    """

    count: int = 0
    lost: int = 0
    looked_at: int = 0
    sitemaps: int = 0


@dataclass(slots=True)
class SitemapRow:
    """A sitemap; the list of them is in the order of the tree.

    ``parent`` is an index into that list, -1 for the root. ``pages`` includes everything below.
    ``first`` and ``last`` are the first and last day of its pages' lastmod. ``problems`` is None if it
    was not checked. ``state`` is ``failed``, ``incomplete``, ``not followed`` (an index that lists
    itself, for example) or None, and ``reason`` is the reason for it.
    """

    url: str
    kind: str
    parent: int
    pages: int = 0
    received: int | None = None
    seconds: float | None = None
    first: str | None = None
    last: str | None = None
    problems: int | None = None
    lost: int = 0
    state: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class PathSection:
    """Pages below one folder of the path, and below its subfolders."""

    name: str
    pages: int
    below: Spread


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals."""

    sitemaps: int
    pages: int
    news: int
    images: int
    videos: int
    alternates: int
    failures: int
    problems: int
    received: int | None
    seconds: float | None
    fetches: int
    probes: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A website in numbers. Text is as the website wrote it: escape it before showing it.

    ``origin`` is the scheme and host that most sitemaps share. ``fetches`` are the slowest documents,
    in the order of their requests; ``probes`` are undeclared addresses without a sitemap.
    ``only_default_priority`` is True if all pages have the default priority.
    """

    site: str
    origin: str
    made: datetime
    totals: Totals
    sitemaps: list[SitemapRow]
    kinds: Spread
    hosts: Spread
    sections: tuple[PathSection, ...]
    other_sections: int
    sections_exact: bool
    months: tuple[tuple[str, int], ...]
    undated: int
    frequencies: dict[str, int]
    priorities: dict[int, int]
    only_default_priority: bool
    languages: Spread
    with_alternates: int
    news_months: tuple[tuple[str, int], ...]
    news_undated: int
    publications: Spread
    with_images: int
    image_hosts: Spread
    with_videos: int
    video_hosts: Spread
    problems: ProblemCount
    failures: list[Failure]
    failure_reasons: Spread
    fetches: list[FetchedDocument] | None
    probes: list[FetchedDocument]
    changes: ChangeList | None = None
    checks: CheckList = field(default_factory=CheckList)

    @property
    def addresses(self) -> Addresses:
        """Shortens URLs by the origin."""
        return Addresses(self.origin)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries and lists."""
        return dataclasses.asdict(self)


def summarise(
    tree: AbstractSitemap,
    events: object = None,
    *,
    all_problems: bool = False,
    before: AbstractSitemap | None = None,
) -> Summary:
    """Return a tree in numbers; its pages are parsed once, in bounded memory.

    Checking a document for problems is slow, so only a limited number of pages is checked, those of
    sitemaps that look damaged first, and the rules of ``usp check`` look at the first pages only; with
    ``all_problems`` all are checked. With the tree ``before``, changes since are listed, too.
    ``events`` are ignored: nodes know how they were fetched.
    """
    del events
    nodes: list[AbstractSitemap] = []
    rows: list[SitemapRow] = []
    failures = tree.failures()
    content, problems = Content(), ProblemCount(sitemaps=tree.sitemap_count())
    room = {True: MAX_ODD_PAGES, False: MAX_OTHER_PAGES}  # for pages that are read for problems
    waiting = [(tree, -1)]
    while waiting:
        node, parent = waiting.pop()
        waiting += [(child, len(nodes)) for child in reversed(node.sub_sitemaps)]
        row, looks_odd = _row(node, parent, content)
        nodes.append(node)
        rows.append(row)
        if all_problems or row.pages <= room[looks_odd]:
            room[looks_odd] -= row.pages
            found = node.problems
            row.problems, row.lost = how_many(found), sum(problem.lost for problem in found)
            problems.looked_at += not isinstance(node, IndexWebsiteSitemap)
            problems.count += row.problems
            problems.lost += row.lost
    for row in reversed(rows[1:]):
        rows[row.parent].pages += row.pages
    fetches, probes = fetches_of(tree, nodes)
    requests = [*(fetches or ()), *probes]
    ends = [fetch.begin + fetch.seconds for fetch in requests if fetch.begin is not None]
    sections, other_sections = _sections(content.sections)
    return Summary(
        site=tree.url,
        made=datetime.now(UTC),
        origin=shared_origin(row.url for row in rows),
        totals=Totals(
            sitemaps=problems.sitemaps,
            pages=content.pages,
            news=content.news,
            images=content.images.items,
            videos=content.videos.items,
            alternates=content.alternates.items,
            failures=len(failures),
            problems=problems.count,
            received=None if fetches is None else sum(fetch.received for fetch in requests),
            seconds=max(ends, default=None),
            fetches=len(fetches or ()),
            probes=len(probes),
        ),
        sitemaps=rows,
        kinds=Tally(row.kind for row in rows).top(),
        hosts=content.hosts.top(),
        sections=sections,
        other_sections=other_sections,
        sections_exact=content.sections.exact,
        months=tuple(content.dates.months.items()),
        undated=content.dates.undated,
        frequencies=dict(content.frequencies),
        priorities=dict(content.priorities),
        only_default_priority=content.only_default_priority,
        languages=content.alternates.names.top(),
        with_alternates=content.alternates.pages,
        news_months=tuple(content.news_dates.months.items()),
        news_undated=content.news_dates.undated,
        publications=content.publications.top(),
        with_images=content.images.pages,
        image_hosts=content.images.names.top(),
        with_videos=content.videos.pages,
        video_hosts=content.videos.names.top(),
        problems=problems,
        failures=failures[:MAX_FAILURES],
        failure_reasons=Tally(_reasons(failures)).top(),
        fetches=None if fetches is None else _slowest(fetches),
        probes=probes[:MAX_FETCHES],
        changes=None if before is None else changes_of(before, tree),
        checks=checks_of(tree, everything=all_problems),
    )


def _reasons(failures: Sequence[Failure]) -> Iterator[str]:
    """Yield the reason of each failure; those of one code share one, though their words may differ."""
    reasons: dict[str, set[str]] = {}
    for failure in failures:
        reasons.setdefault(failure.code, set()).add(failure.brief)
    for failure in failures:
        alike = len(reasons[failure.code]) == 1 or failure.code is FailureCode.OTHER_FAILURE
        yield failure.brief if alike else failure.code.message


def _slowest(fetches: list[FetchedDocument]) -> list[FetchedDocument]:
    """Return the slowest ones, in the order of their requests."""
    places = sorted(range(len(fetches)), key=lambda at: -fetches[at].seconds)[:MAX_FETCHES]
    return [fetches[at] for at in sorted(places)]


def _row(node: AbstractSitemap, parent: int, content: Content) -> tuple[SitemapRow, bool]:
    """Count the pages of a sitemap; return its row, and whether it looks damaged."""
    row = SitemapRow(node.url, type(node).__name__, parent, received=node.size)
    row.state, row.reason = state_of(node)
    if node.exchange is not None and node.exchange.attempts and node.size is not None:
        row.seconds = node.exchange.seconds
    looks_odd = row.state is not None
    for _, block in node.page_blocks() if isinstance(node, AbstractPagesSitemap) else ():
        row.pages += len(block.urls)
        span, is_odd = content.add(block)
        if span:
            row.first = min(span[0], row.first or span[0])
            row.last = max(span[1], row.last or span[1])
        looks_odd = looks_odd or is_odd
    return row, looks_odd


def _sections(tally: Tally) -> tuple[tuple[PathSection, ...], int]:
    """Return folders of the first level with those of the second, and the pages in no listed one."""
    firsts = Tally()
    seconds: dict[str, Tally] = {}
    for path, count in tally.items():
        _, first, *rest = path.split("/")
        firsts.add({first: count})
        seconds.setdefault(first, Tally()).add({"/".join(rest[:-1]): count})
    listed = firsts.top(MAX_SECTIONS)
    sections = tuple(
        PathSection(f"/{name}/" if name else "/", count, seconds[name].top(MAX_BELOW))
        for name, count in listed.items
    )
    return sections, listed.other + tally.other
