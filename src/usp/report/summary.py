"""A website in numbers: everything that the report shows, collected in one pass over the pages."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from usp._content import Content, PathSection, Spread
from usp.checks.verdicts import CheckList, Verdict, judge
from usp.objects.sitemap import AbstractPagesSitemap, AbstractSitemap, state_of
from usp.report.charts import FetchedDocument, fetches_of
from usp.report.markup import Addresses, shared_origin
from usp.report.problems import (
    ChangeList,
    FindingPlaces,
    History,
    HistoryPoint,
    changes_of,
    checks_of,
    history_of,
)

if TYPE_CHECKING:
    from decimal import Decimal

    from usp.objects.problem import Failure
    from usp.report.html_page import PageRows

MAX_FAILURES = 200
MAX_SECTIONS = 40
MAX_BELOW = 12
MAX_FETCHES = 60


@dataclass(slots=True)
class SitemapRow:
    """A sitemap; the list of them is in the order of the tree.

    ``parent`` is an index into that list, -1 for the root. ``pages`` includes everything below.
    ``first`` and ``last`` are the first and last day of its pages' lastmod. ``findings`` is the number
    of those in its document. ``state`` is ``failed``, ``incomplete``, ``not followed`` (an index that
    lists itself, for example) or None, and ``reason`` is the reason for it.
    """

    url: str
    kind: str
    parent: int
    pages: int = 0
    received: int | None = None
    seconds: float | None = None
    first: str | None = None
    last: str | None = None
    findings: int = 0
    state: str | None = None
    reason: str | None = None


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
    findings: int
    received: int | None
    seconds: float | None
    fetches: int
    probes: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A website in numbers. Text is as the website wrote it: escape it before showing it.

    ``origin`` is the scheme and host that most sitemaps share. ``fetches`` are the slowest documents,
    in the order of their requests; ``probes`` are undeclared addresses without a sitemap.
    ``lowest_priority`` and ``highest_priority`` are those that pages declare.
    """

    site: str
    origin: str
    made: datetime
    totals: Totals
    sitemaps: list[SitemapRow]
    hosts: Spread
    sections: tuple[PathSection, ...]
    other_sections: int
    sections_exact: bool
    months: tuple[tuple[str, int], ...]
    undated: int
    frequencies: dict[str, int]
    priorities: dict[int, int]
    lowest_priority: Decimal | None
    highest_priority: Decimal | None
    languages: Spread
    with_alternates: int
    news_months: tuple[tuple[str, int], ...]
    news_undated: int
    publications: Spread
    with_images: int
    image_hosts: Spread
    with_videos: int
    video_hosts: Spread
    failures: list[Failure]
    checks: CheckList
    places: FindingPlaces
    verdict: Verdict
    fetches: list[FetchedDocument] | None
    probes: list[FetchedDocument]
    changes: ChangeList | None = None
    history: tuple[HistoryPoint, ...] = ()

    @property
    def addresses(self) -> Addresses:
        """Shortens URLs by the origin."""
        return Addresses(self.origin)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries and lists, without ``places``."""
        left_out = "places", "where"
        return dataclasses.asdict(
            self, dict_factory=lambda items: {k: v for k, v in items if k not in left_out}
        )


def summarise(
    tree: AbstractSitemap,
    events: object = None,
    *,
    all_problems: bool = False,
    before: AbstractSitemap | None = None,
    history: History | None = None,
    pages: PageRows | None = None,
    on_read: Callable[[], object] = bool,
    on_pages: Callable[[int], object] = lambda _: None,
) -> Summary:
    """Return a tree in numbers; its pages are parsed once, in bounded memory.

    The rules of ``usp check`` look at a limited number of pages only, since that is slower; with
    ``all_problems`` at all of them. With the tree ``before``, changes since are listed, too; with a
    ``history``, a folder of snapshots or trees, what the website was like at other times.
    ``events`` are ignored: nodes know how they were fetched. ``pages`` collects the pages themselves.
    ``on_read`` is called when the pages of a sitemap have been read, and then ``on_pages`` with the
    number of each block that was checked.
    """
    del events
    nodes: list[AbstractSitemap] = []
    rows: list[SitemapRow] = []
    failures = tree.failures()
    content = Content()
    waiting = [(tree, -1)]
    while waiting:
        node, parent = waiting.pop()
        waiting += [(child, len(nodes)) for child in reversed(node.sub_sitemaps)]
        row = _row(node, parent, content, pages, len(nodes))
        nodes.append(node)
        rows.append(row)
        if isinstance(node, AbstractPagesSitemap):
            on_read()
    checks, places = checks_of(tree, everything=all_problems, on_pages=on_pages)
    for row in rows:
        row.findings = places.sitemaps.get(row.url, Counter[str]()).total()
    for row in reversed(rows[1:]):
        rows[row.parent].pages += row.pages
    fetches, probes = fetches_of(tree, nodes)
    requests = [*(fetches or ()), *probes]
    ends = [fetch.begin + fetch.seconds for fetch in requests if fetch.begin is not None]
    sections = content.sections.ranked(MAX_SECTIONS, MAX_BELOW)
    return Summary(
        site=tree.url,
        made=datetime.now(UTC),
        origin=shared_origin(row.url for row in rows),
        totals=Totals(
            sitemaps=tree.sitemap_count(),
            pages=content.pages,
            news=content.news,
            images=content.images.items,
            videos=content.videos.items,
            alternates=content.alternates.items,
            failures=len(failures),
            findings=checks.total,
            received=None if fetches is None else sum(fetch.received for fetch in requests),
            seconds=max(ends, default=None),
            fetches=len(fetches or ()),
            probes=len(probes),
        ),
        sitemaps=rows,
        hosts=content.hosts.top(),
        sections=tuple(sections[:MAX_SECTIONS]),
        other_sections=sum(section.pages for section in sections[MAX_SECTIONS:]),
        sections_exact=content.sections.exact,
        months=tuple(content.dates.months.items()),
        undated=content.dates.undated,
        frequencies=dict(content.frequencies),
        priorities=dict(content.priorities),
        lowest_priority=content.lowest_priority,
        highest_priority=content.highest_priority,
        languages=content.alternates.names.top(),
        with_alternates=content.alternates.pages,
        news_months=tuple(content.news_dates.months.items()),
        news_undated=content.news_dates.undated,
        publications=content.publications.top(),
        with_images=content.images.pages,
        image_hosts=content.images.names.top(),
        with_videos=content.videos.pages,
        video_hosts=content.videos.names.top(),
        failures=failures[:MAX_FAILURES],
        checks=checks,
        places=places,
        verdict=judge(tree, checks),
        fetches=None if fetches is None else _slowest(fetches),
        probes=probes[:MAX_FETCHES],
        changes=None if before is None else changes_of(before, tree),
        history=() if history is None else history_of(tree, history, everything=all_problems),
    )


def _slowest(fetches: list[FetchedDocument]) -> list[FetchedDocument]:
    """Return the slowest ones, in the order of their requests."""
    places = sorted(range(len(fetches)), key=lambda at: -fetches[at].seconds)[:MAX_FETCHES]
    return [fetches[at] for at in sorted(places)]


def _row(
    node: AbstractSitemap, parent: int, content: Content, pages: PageRows | None, place: int
) -> SitemapRow:
    """Count the pages of a sitemap; return its row."""
    row = SitemapRow(node.url, type(node).__name__, parent, received=node.size)
    row.state, row.reason = state_of(node)
    if node.exchange is not None and node.exchange.attempts and node.size is not None:
        row.seconds = node.exchange.seconds
    content.dates.first = content.dates.last = None  # from here on those of this sitemap
    for _, block in node.page_blocks() if isinstance(node, AbstractPagesSitemap) else ():
        row.pages += len(block.urls)
        content.add(block)
        if pages is not None:
            pages.add(block, place)
    row.first, row.last = content.dates.first, content.dates.last
    return row
