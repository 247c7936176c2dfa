"""The cards about pages and requests: a chart each, or a sentence where it would say nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from usp._base.display import counted, duration, grouped, size
from usp._base.urls import readable
from usp.objects.page import SITEMAP_PAGE_DEFAULT_PRIORITY, SitemapPageChangeFrequency
from usp.objects.sitemap import AbstractSitemap, IndexWebsiteSitemap, InvalidSitemap
from usp.report.markup import (
    Markup,
    card,
    figure,
    folded,
    shown_text,
    shown_url,
    table,
    tag,
    url_cell,
)

if TYPE_CHECKING:
    from usp._content import Spread
    from usp.report.summary import Summary

MAX_MONTHS = 300  # beyond that many months, dates are counted by year
MOST_NARROW = 12  # bars of a chart beside another one
_TENTHS = 10
_SLOWEST = "The slowest documents, in the order of their requests"


@dataclass
class Cards:
    """Builds the cards of a summary.

    ``charts`` has the data of their charts, by name. A chart needs at least two non-zero values;
    anything less becomes a sentence in ``facts``.
    """

    summary: Summary
    charts: dict[str, dict[str, Any]] = field(default_factory=dict)
    facts: list[str] = field(default_factory=list)

    def all(self) -> list[str]:
        """Return the cards with something to show; the others are sentences in :meth:`in_short`."""
        summary, totals = self.summary, self.summary.totals
        links = f"{counted(totals.alternates, 'link')} to other languages"
        images, videos = counted(totals.images, "image"), counted(totals.videos, "video")
        stories = counted(totals.news, "news story")
        with_links, with_images, with_videos = (
            f" on {counted(pages, 'page')}"
            for pages in (summary.with_alternates, summary.with_images, summary.with_videos)
        )
        spread, cards = self._spread, []
        if totals.pages:
            cards = [self._sections(), self._dates(), self._frequencies(), self._priorities()]
        cards += [
            spread("languages", "Languages", summary.languages, "hreflang", links + with_links),
            self._news(stories),
            spread("publications", "Publications", summary.publications, "publication", stories),
            spread("images", "Images by host", summary.image_hosts, "host", images + with_images),
            spread("videos", "Videos by host", summary.video_hosts, "host", videos + with_videos),
            self._fetches(),
        ]
        checks = summary.checks
        if totals.pages and checks.complete and not checks.has_duplicates:
            self.facts.append("No page is listed more than once.")
        names = {
            "pages": totals.pages,
            "news stories": totals.news,
            "images": totals.images,
            "videos": totals.videos,
            "links to other languages": totals.alternates,
        }
        missing = [name for name, count in names.items() if not count]
        if missing:
            *most, last = missing
            listed = f"{', '.join(most)} or {last}" if most else last
            self.facts.append(f"No {listed} were found.")
        return [one for one in cards if one]

    def in_short(self) -> Markup:
        """Return a card with sentences about what has no card of its own; what there is comes first.

        The other cards must have been made.
        """
        facts = sorted(self.facts, key=lambda fact: fact.startswith("No "))
        listed = tag("ul", *(tag("li", fact) for fact in facts))
        return card("facts", "In short", listed, wide=True) if self.facts else Markup("")

    def _fact(self, text: str) -> str:
        """Add a sentence in place of a card."""
        self.facts.append(text)
        return ""

    def _chart(
        self,
        name: str,
        title: str,
        rows: Sequence[tuple[str, int]],
        head: str,
        note: str = "",
        kind: str = "bars",
        *,
        over_time: bool = False,
    ) -> str:
        """Return a card with a chart of rows, and its numbers as a table."""
        labels, values = [text for text, _ in rows], [count for _, count in rows]
        self.charts[name] = {"type": kind, "labels": labels, "values": values}
        label = f"{title}, by {head}" if over_time else title
        listed = [row for row in rows if row[1]] if over_time else rows
        numbers = table(label, (head, "number"), listed)
        wide = over_time or len(labels) > MOST_NARROW
        return card(name, title, figure(name, label, numbers), wide=wide, note=note)

    def _sections(self) -> str:
        summary = self.summary
        rows: list[tuple[str | int, ...]] = []
        boxes: list[dict[str, Any]] = []
        for section in summary.sections:
            name = shown_url(section.name, 80)
            below = [(shown_url(text, 80), count) for text, count in section.below.items]
            boxes.append({"name": name, "value": section.pages})
            rows.append((url_cell(name), section.pages))
            if len(below) > 1:
                rows += [(url_cell(f"{name}{text}/"), count) for text, count in below if text]
                inside = [(f"{text}/" if text else name, count) for text, count in below]
                inside += [("other", section.below.other)] if section.below.other else []
                boxes[-1]["children"] = [{"name": text, "value": count} for text, count in inside]
        if summary.other_sections:
            boxes.append({"name": "other sections", "value": summary.other_sections})
            rows.append(("other sections", summary.other_sections))
        parts: list[str] = []
        note = ""
        if len(rows) > 1:
            label = "Pages by section of the path"
            self.charts["sections"] = {"type": "treemap", "data": boxes}
            parts.append(figure("sections", label, table(label, ("section", "pages"), rows)))
            note = "By the first folders of the path. Select a section to see what is in it."
            note += _caution(summary.sections_exact)
        else:
            name = summary.sections[0].name
            every = f"{_all(summary.totals.pages, 'page')} below {shown_url(name, 80)}."
            self.facts.append("No folder of the path is shared by pages." if name == "/" else every)
        if _several(summary.hosts):
            parts.append(table("Pages by host", ("host", "number"), _listed(summary.hosts)))
        return card("sections", "Sections", *parts, wide=True, note=note) if parts else ""

    def _dates(self) -> str:
        months, undated = self.summary.months, self.summary.undated
        note = f"{counted(undated, 'page has', 'pages have')} no readable date." if undated else ""
        few = "No page has a last-modified date."
        for month, count in months[:1]:
            few = f"{_all(count, 'dated page')} from {month}. {note}".rstrip()
        return self._over_time("dates", "Last modified", months, note, few)

    def _news(self, stories: str) -> str:
        """Return the card for news stories by month; ``stories`` says how many there are."""
        months, count = self.summary.news_months, self.summary.news_undated
        if not self.summary.totals.news:
            return ""
        undated = f", {grouped(count)} undated" if count else ""
        few = f"{stories}, none with a readable date."
        for month, _ in months[:1]:
            few = f"{stories}, all from {month}{undated}."
        return self._over_time("news", "News over time", months, f"{stories}{undated}.", few)

    def _over_time(
        self, name: str, title: str, months: Sequence[tuple[str, int]], note: str, few: str
    ) -> str:
        """Return a card with a column for each month or year; for one month or none, a sentence."""
        if len(months) <= 1:
            return self._fact(few)
        unit, steps = _axis(months)
        return self._chart(name, title, steps, unit, note, "columns", over_time=True)

    def _frequencies(self) -> str:
        counts = self.summary.frequencies
        words = (*(one.value for one in SitemapPageChangeFrequency), "")
        rows = [(word or "not given", counts[word]) for word in words if counts.get(word)]
        if len(rows) == 1:
            every = f"Every page has the change frequency {rows[0][0]}."
            return self._fact("No page has a change frequency." if counts.get("") else every)
        return self._chart("frequencies", "Change frequency", rows, "changefreq")

    def _priorities(self) -> str:
        counts, total = self.summary.priorities, self.summary.totals.pages
        every = "Every page" if sum(counts.values()) == total else "Every page that declares one"
        if not counts:
            return self._fact("No page has a priority.")
        lowest, highest = self.summary.lowest_priority, self.summary.highest_priority
        if len(counts) == 1 or lowest == highest:
            span = f"{lowest}" if lowest == highest else f"{lowest} to {highest}"
            usual = ", the default" if lowest == highest == SITEMAP_PAGE_DEFAULT_PRIORITY else ""
            return self._fact(f"{every} has a priority of {span}{usual}.")
        rows = [(f"{tenth / 10:.1f}", counts.get(tenth, 0)) for tenth in range(_TENTHS + 1)]
        note = "In steps of 0.1. Pages without a priority are left out."
        return self._chart("priorities", "Priority", rows, "priority, from", note, "columns")

    def _spread(self, name: str, title: str, spread: Spread, head: str, what: str) -> str:
        """Return a card with the bars of a spread; ``what`` names what was counted."""
        if not spread.items:
            return ""
        if not _several(spread):
            only = shown_text(spread.items[0][0], 60)
            return self._fact(f"{what}: {head} {only}." if only else f"{what}, without a {head}.")
        rows = _listed(spread, f"without a {head}")
        return self._chart(name, title, rows, head, f"{what}.{_caution(spread.exact)}")

    def _fetches(self) -> str:
        """Return the card for the slowest documents; for a single one a table is enough."""
        summary, addresses = self.summary, self.summary.addresses
        fetches, total = summary.fetches, summary.totals.fetches
        if fetches is None:
            return self._fact("Fetch times are not available.")
        parts: list[str] = []
        note = f"{counted(total, 'document was', 'documents were')} fetched."
        if fetches:
            rows = []
            for fetch in fetches:
                received = "failed" if fetch.failed else size(fetch.received)
                timing = duration(fetch.seconds), received, fetch.attempts
                rows.append((addresses.cell(fetch.url), *timing))
            more = total - len(fetches)
            foot = f"{counted(more, 'more was', 'more were')} faster." if more else ""
            heads = ("document", "time", "received", "attempts")
            slowest = table(_SLOWEST, heads, rows, foot)
            parts.append(figure("fetches", _SLOWEST, slowest) if len(fetches) > 1 else slowest)
            if len(fetches) > 1 and any(fetch.failed for fetch in fetches):
                note += " Documents in red could not be fetched, or are not sitemaps."
            if any(fetch.earlier for fetch in fetches):
                note += " Attempts before the last one are paler."
            if all(fetch.begin is None for fetch in fetches):
                note += " Only durations are known, not start times."
        if len(fetches) > 1:
            self.charts["fetches"] = {
                "type": "waterfall",
                "labels": [addresses.url(readable(fetch.url), 60) for fetch in fetches],
                "begin": [fetch.begin or 0 for fetch in fetches],
                "seconds": [fetch.seconds for fetch in fetches],
                "texts": [duration(fetch.seconds) for fetch in fetches],
                "color": ["bad" if fetch.failed else "bar" for fetch in fetches],
                "earlier": [fetch.earlier for fetch in fetches],
            }
        if summary.probes:
            total = summary.totals.probes
            title = f"{counted(total, 'undeclared address was', 'undeclared addresses were')} tried"
            tried = [
                (addresses.cell(probe.url), duration(probe.seconds), probe.attempts)
                for probe in summary.probes
            ]
            foot = f"and {grouped(total - len(tried))} more" if total > len(tried) else ""
            listed = table(title, ("address", "time", "attempts"), tried, foot)
            where = "robots.txt and known paths where no sitemap was found"
            parts.append(folded(f"{title}: {where}", listed))
        return card("fetches", "Fetching", *parts, wide=True, note=note)


def _listed(spread: Spread, empty: str = "none") -> list[tuple[str, int]]:
    rows = [(shown_text(text, 60) or empty, count) for text, count in spread.items]
    return [*rows, ("other", spread.other)] if spread.other else rows


def _several(spread: Spread) -> bool:
    return len(spread.items) + bool(spread.other) > 1


def _caution(exact: bool) -> str:
    note = " There were too many to count exactly: counts of rare ones may be too low."
    return "" if exact else note


def _all(count: int, noun: str) -> str:
    """Return the beginning of a sentence about every one of them."""
    every = counted(count, noun)
    if count == 1:
        return f"The only {noun} is"
    return f"Both{every[1:]} are" if every.startswith("2 ") else f"All {every} are"


def _axis(months: Sequence[tuple[str, int]]) -> tuple[str, list[tuple[str, int]]]:
    """Return the unit, ``month`` or ``year``, and the count of every step without gaps."""
    first, last = (
        int(month[:4]) * 12 + int(month[5:7]) - 1 for month, _ in (months[0], months[-1])
    )
    if last - first >= MAX_MONTHS:
        years: Counter[str] = Counter()
        for month, count in months:
            years[month[:4]] += count
        return "year", list(years.items())
    known = dict(months)
    every = (f"{at // 12:04}-{at % 12 + 1:02}" for at in range(first, last + 1))
    return "month", [(month, known.get(month, 0)) for month in every]


# Requests -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FetchedDocument:
    """One document; ``begin`` is when its last request was sent, in seconds after the first of all.

    ``earlier`` are the attempts before that: when each began, and its seconds.
    """

    url: str
    attempts: int
    begin: float | None
    seconds: float
    received: int
    failed: bool = False
    earlier: tuple[tuple[float, float], ...] = ()


class FetchLog:
    """Does nothing; kept for programs that pass it as ``on_event`` and to the report.

    The nodes of a tree know how they were fetched (``node.exchange``).
    """

    def __init__(self, clock: object = None) -> None:
        del clock

    def __call__(self, event: object) -> None:
        """Ignore an event."""


def fetches_of(
    tree: AbstractSitemap, nodes: Sequence[AbstractSitemap]
) -> tuple[list[FetchedDocument] | None, list[FetchedDocument]]:
    """Return the fetched documents, and the undeclared addresses that were tried without success.

    Both are in the order of their requests. The first is None if nothing was fetched, as from files.
    """
    requested = [(node, node.exchange) for node in nodes if node.exchange is not None]
    requested = [(node, one) for node, one in requested if one.attempts]  # and not given
    documents = {one.url: one for _, one in requested}
    failed = {one.url for node, one in requested if isinstance(node, InvalidSitemap)}
    missing = {failure.url for failure in tree.failures()}
    probes: set[str] = set()
    for one in tree.tried if isinstance(tree, IndexWebsiteSitemap) else ():
        if one.url not in documents:
            documents[one.url] = one
            (failed if one.url in missing else probes).add(one.url)
    probes.discard(tree.url)
    sent = [moment for one in documents.values() for moment in (one.started, *dict(one.earlier))]
    first = min(filter(None, sent), default=None)
    fetches = []
    for url, one in documents.items():
        begin = (one.started - first).total_seconds() if one.started and first else None
        is_failed = url in failed or url in probes
        timing = one.attempts, begin, one.seconds, one.received
        earlier = [((at - first).total_seconds(), took) for at, took in one.earlier if first]
        fetches.append(FetchedDocument(url, *timing, is_failed, tuple(earlier)))
    fetches.sort(key=lambda fetch: fetch.begin or 0.0)
    declared = [fetch for fetch in fetches if fetch.url not in probes]
    return declared if fetches else None, [fetch for fetch in fetches if fetch.url in probes]
