"""``summarise_site``: a website in numbers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pydantic import Field

from usp._base.display import counted, size
from usp._formats import values
from usp.mcp.reading import Stopped, page_sitemaps
from usp.mcp.schemas import Result, SiteArguments, Source, Value
from usp.mcp.words import bounded, nothing_read
from usp.objects.abstract_sitemap import walk
from usp.objects.sitemap import IndexWebsiteSitemap, kind_of
from usp.report.content import Content

if TYPE_CHECKING:
    from collections.abc import Iterable

    from usp.mcp.call import Call
    from usp.mcp.reading import Reading
    from usp.mcp.trees import Visit
    from usp.report.content import Tally

_MOST_SECTIONS = 25
_MOST_NAMES = 15
_MOST_MONTHS = 24


class SummaryArguments(SiteArguments):
    """What to summarise."""


class Count(Value):
    """A name, and how often it occurs."""

    name: str
    count: int


class Counts(Value):
    """Names with their counts, the most frequent first."""

    top: list[Count] = Field(default_factory=list)
    other: int = Field(default=0, description="Sum of those that are not listed.")

    @classmethod
    def of(cls, tally: Tally, most: int) -> Counts:
        """Return the most frequent names of a tally."""
        top, other = tally.top(most)
        return cls(top=[Count(name=name, count=count) for name, count in bounded(top)], other=other)

    def __str__(self) -> str:
        named = [f"{one.name or '(none)'} {one.count:,}" for one in self.top]
        return ", ".join(named + ([f"others {self.other:,}"] if self.other else []))


class SiteSummary(Result):
    """A website in numbers, as its sitemaps declare it. A page in two sitemaps counts twice."""

    source: Source
    sitemaps: int
    formats: list[Count] = Field(description="Sitemaps by format.")
    bytes: int = Field(description="Bytes of sitemaps that were received.")
    pages: int
    all_counted: bool = Field(description="False if there was no time to count all pages.")
    oldest: str | None = Field(default=None, description="Earliest lastmod of a page.")
    newest: str | None = Field(default=None, description="Latest lastmod of a page.")
    undated: int = Field(description="Pages without a lastmod.")
    months: list[Count] = Field(description="Pages by month of their lastmod; the latest first.")
    sections: Counts = Field(description="Pages by the first two folders of their path.")
    hosts: Counts = Field(description="Pages by host.")
    languages: Counts = Field(description="Links to versions in other languages (hreflang).")
    news: int = Field(description="Pages with news, or entries of feeds.")
    news_months: list[Count] = Field(
        description="News by month of their publication; the latest first."
    )
    publications: Counts = Field(description="News by the name of their publication.")
    images: int
    videos: int

    def lines(self) -> Iterable[str]:
        """Yield the result as text."""
        yield from self.source.lines(everything=True)
        formats = ", ".join(f"{one.name} {one.count:,}" for one in self.formats)
        yield f"{counted(self.sitemaps, 'sitemap')} ({formats or 'none'}), {size(self.bytes)}."
        if not self.sitemaps:
            yield (
                "No sitemaps were found in robots.txt or at well-known paths. If you know where one "
                "is, pass its URL."
            )
        counting = "" if self.all_counted else " counted so far; there was no time for the rest"
        yield f"{counted(self.pages, 'page')}{counting}; {self.undated:,} without a lastmod."
        if self.newest:
            yield f"Dates: {self.oldest} to {self.newest}."
            latest = ", ".join(f"{one.name} {one.count:,}" for one in self.months[:6])
            yield f"By month: {latest}."
        named = (("Sections", self.sections), ("Hosts", self.hosts), ("Languages", self.languages))
        yield from (f"{title}: {counts}." for title, counts in named if counts.top)
        parts = (self.news, "news story"), (self.images, "image"), (self.videos, "video")
        held = [counted(number, noun) for number, noun in parts if number]
        if held:
            yield f"With {', '.join(held)}."


async def summarise_site(call: Call, given: SummaryArguments) -> SiteSummary:
    """Return a website in numbers."""
    visit, kept = await call.visit(given.url, refresh=given.refresh)
    if visit.failures and not has_responded(visit):
        raise nothing_read(visit.url, visit.failures)
    return await call.read(_summary, visit, Source.of(visit, kept=kept))


def has_responded(visit: Visit) -> bool:
    """Return whether a server has sent anything, if only an error."""
    nodes = walk(visit.tree)
    return any(node.size is not None for node in nodes) or any(
        failure.status is not None for failure in visit.failures
    )


def _summary(reading: Reading, visit: Visit, source: Source) -> SiteSummary:
    content = Content(values.priority, values.change_frequency)
    days: list[str] = []
    complete = True
    try:
        for node in page_sitemaps(visit.tree):
            for _, block in reading.blocks(node):
                span, _ = content.add(block)
                days = sorted([*days, *(span or ())])
                days = [days[0], days[-1]] if days else []
    except Stopped:
        complete = False
    nodes = [node for node in walk(visit.tree) if not isinstance(node, IndexWebsiteSitemap)]
    formats = Counter(kind_of(node).name for node in nodes)
    return SiteSummary(
        source=source,
        sitemaps=len(nodes),
        formats=[Count(name=name, count=count) for name, count in formats.most_common()],
        bytes=visit.size,
        pages=content.pages,
        all_counted=complete,
        oldest=days[0] if days else None,
        newest=days[1] if days else None,
        undated=content.dates.undated,
        months=_latest(content.dates.months),
        sections=Counts.of(content.sections, _MOST_SECTIONS),
        hosts=Counts.of(content.hosts, _MOST_NAMES),
        languages=Counts.of(content.languages, _MOST_NAMES),
        news=content.news,
        news_months=_latest(content.news_dates.months),
        publications=Counts.of(content.publications, _MOST_NAMES),
        images=content.images,
        videos=content.videos,
    )


def _latest(months: Tally) -> list[Count]:
    latest = sorted(months.items(), reverse=True)[:_MOST_MONTHS]
    return [Count(name=name, count=count) for name, count in bounded(latest)]
