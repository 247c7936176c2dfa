"""The cards about pages and requests: a chart each, or a sentence where it would say nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from usp._base.display import counted, duration, grouped, size
from usp.objects.page import SitemapPageChangeFrequency
from usp.objects.sitemap import AbstractSitemap, IndexWebsiteSitemap, InvalidSitemap
from usp.report.markup import (
    Addresses,
    Markup,
    card,
    figure,
    folded,
    sentences,
    shown_text,
    shown_url,
    table,
    url_cell,
)

if TYPE_CHECKING:
    from usp.objects.exchange import Exchange
    from usp.report.summary import Spread, Summary

MAX_MONTHS = 300
"""Beyond that many months, dates are counted by year."""

_ORDINARY_YEARS = ("1990", "2100")
_TENTHS = 10


class Cards:
    """Builds the cards of a summary.

    ``charts`` has the data of their charts, by name. A chart needs at least two non-zero values;
    anything less becomes a sentence in ``facts``.
    """

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self.charts: dict[str, dict[str, Any]] = {}
        self.facts: list[str] = []

    def all(self) -> list[Markup]:
        """Return the cards with something to show, and one with sentences about the others."""
        summary, totals = self.summary, self.summary.totals
        cards: list[Markup] = []
        if totals.pages:
            cards += [self.sections(), self.dates(), self.frequencies(), self.priorities()]
        if totals.alternates:
            links = counted(totals.alternates, "link")
            what = f"{links} to other languages on {counted(summary.with_alternates, 'page')}"
            cards.append(
                self._spread("languages", "Languages", summary.languages, "hreflang", what)
            )
        if totals.news:
            stories, names = counted(totals.news, "news story"), summary.publications
            cards.append(self.news(stories))
            cards.append(
                self._spread("publications", "Publications", names, "publication", stories)
            )
        for noun, count, pages, hosts in (
            ("image", totals.images, summary.with_images, summary.image_hosts),
            ("video", totals.videos, summary.with_videos, summary.video_hosts),
        ):
            if count:
                what = f"{counted(count, noun)} on {counted(pages, 'page')}"
                title = f"{noun.capitalize()}s by host"
                cards.append(self._spread(f"{noun}s", title, hosts, "host", what))
        cards.append(self.fetches())
        checks = summary.checks
        if totals.pages and checks.complete and not checks.has_duplicates:
            self.facts.append("No page is listed more than once.")
        self._add_missing()
        if self.facts:
            cards.append(card("facts", "In short", sentences(self.facts), wide=True))
        return [one for one in cards if one]

    def _fact(self, text: str) -> Markup:
        """Add a sentence in place of a card."""
        self.facts.append(text)
        return Markup("")

    def _add_missing(self) -> None:
        """Add a sentence that names what was not found."""
        totals = self.summary.totals
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

    def fetches(self) -> Markup:
        """Return the card for the slowest documents."""
        if self.summary.fetches is None:
            return self._fact("Fetch times are not available.")
        made, chart = fetching_card(self.summary)
        if chart is not None:
            self.charts["fetches"] = chart
        return made

    def sections(self) -> Markup:
        """Return the card for pages by the folders of their path."""
        summary = self.summary
        rows: list[tuple[str | int, ...]] = []
        data: list[dict[str, Any]] = []
        for section in summary.sections:
            name = shown_url(section.name, 80)
            below = [(shown_url(text, 80), count) for text, count in section.below.items]
            rows.append((url_cell(name), section.pages))
            data.append({"name": name, "value": section.pages})
            if len(below) > 1:
                rows += [(url_cell(f"{name}{text}/"), count) for text, count in below if text]
                children = [{"name": f"{t}/" if t else name, "value": n} for t, n in below]
                if section.below.other:
                    children.append({"name": "other", "value": section.below.other})
                data[-1]["children"] = children
        if summary.other_sections:
            data.append({"name": "other sections", "value": summary.other_sections})
            rows.append(("other sections", summary.other_sections))
        hosts = ""
        if _several(summary.hosts):
            hosts = table("Pages by host", ("host", "number"), _listed(summary.hosts))
        label = "Pages by section of the path"
        chart: Markup | str = ""
        note = ""
        if len(rows) > 1:
            self.charts["sections"] = {"type": "treemap", "data": data}
            chart = figure("sections", label, table(label, ("section", "pages"), rows))
            note = "By the first and second folder of the path. Select a section to see its subfolders."
            note += _caution(summary.sections_exact)
        else:
            name = summary.sections[0].name
            top = name == "/"
            where = "at the top level of the site" if top else f"below {shown_url(name, 80)}"
            self.facts.append(f"{_all(summary.totals.pages, 'page')} {where}.")
        if not chart and not hosts:
            return Markup("")
        return card("sections", "Sections", chart, hosts, wide=True, note=note)

    def dates(self) -> Markup:
        """Return the card for pages by the month of their lastmod."""
        summary = self.summary
        undated = f"{counted(summary.undated, 'page has', 'pages have')} no readable date."
        if not summary.months:
            return self._fact("No page has a last-modified date.")
        if len(summary.months) == 1:
            ((month, count),) = summary.months
            fact = f"{_all(count, 'dated page')} from {month}."
            return self._fact(f"{fact} {undated}" if summary.undated else fact)
        note = undated if summary.undated else ""
        return self._months("dates", "Last modified", summary.months, note)

    def news(self, stories: str) -> Markup:
        """Return the card for news stories by month; ``stories`` says how many there are."""
        summary = self.summary
        if not summary.news_months:
            return self._fact(f"{stories}, none with a readable date.")
        undated = f", {summary.news_undated:,} undated" if summary.news_undated else ""
        if len(summary.news_months) == 1:
            return self._fact(f"{stories}, all from {summary.news_months[0][0]}{undated}.")
        return self._months("news", "News over time", summary.news_months, f"{stories}{undated}.")

    def _months(
        self, name: str, title: str, months: Sequence[tuple[str, int]], note: str
    ) -> Markup:
        unit, steps = _axis(months)
        label = f"{title}, by {unit}"
        filled = [step for step in steps if step[1]]
        chart = self._figure(name, label, "columns", steps, table(label, (unit, "number"), filled))
        return card(name, title, chart, wide=True, note=note)

    def _figure(
        self, name: str, label: str, kind: str, rows: Sequence[tuple[str, int]], numbers: Markup
    ) -> Markup:
        """Return a chart of rows, with its numbers as a table."""
        labels, values = [text for text, _ in rows], [count for _, count in rows]
        self.charts[name] = {"type": kind, "labels": labels, "values": values}
        return figure(name, label, numbers)

    def frequencies(self) -> Markup:
        """Return the card for pages by changefreq."""
        counts = self.summary.frequencies
        words = (*(one.value for one in SitemapPageChangeFrequency), "")
        rows = [(word or "not given", counts[word]) for word in words if counts.get(word)]
        if len(rows) == 1:
            every = f"Every page has the change frequency {rows[0][0]}."
            return self._fact("No page has a change frequency." if counts.get("") else every)
        return self._bars("frequencies", "Change frequency", rows, "changefreq")

    def priorities(self) -> Markup:
        """Return the card for pages by priority."""
        summary = self.summary
        rows = [(f"{tenth / 10:.1f}", summary.priorities.get(tenth, 0)) for tenth in range(11)]
        if sum(1 for _, count in rows if count) == 1:
            tenth = next(iter(summary.priorities))
            if summary.only_default_priority:
                return self._fact("Every page has priority 0.5, the default.")
            span = "1.0" if tenth == _TENTHS else f"{tenth / 10:.1f} to {tenth / 10 + 0.09:.2f}"
            return self._fact(f"Every page has a priority of {span}.")
        return self._bars(
            "priorities",
            "Priority",
            rows,
            "priority, from",
            note="In steps of 0.1. Pages without a priority count as 0.5.",
            kind="columns",
        )

    def _spread(self, name: str, title: str, spread: Spread, head: str, what: str) -> Markup:
        """Return a card with the bars of a spread; ``what`` names what was counted."""
        if not _several(spread) and spread.items:
            only = shown_text(spread.items[0][0], 60)
            return self._fact(f"{what}: {head} {only}." if only else f"{what}, without a {head}.")
        note = f"{what}.{_caution(spread.exact)}"
        return self._bars(name, title, _listed(spread, f"without a {head}"), head, note)

    def _bars(
        self,
        name: str,
        title: str,
        rows: Sequence[tuple[str, int]],
        head: str,
        note: str = "",
        kind: str = "bars",
    ) -> Markup:
        numbers = table(title, (head, "number"), rows)
        return card(name, title, self._figure(name, title, kind, rows, numbers), note=note)


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
    return f"The only {noun} is" if count == 1 else f"All {counted(count, noun)} are"


def _axis(months: Sequence[tuple[str, int]]) -> tuple[str, list[tuple[str, int]]]:
    """Return the unit, ``month`` or ``year``, and the count of every step without gaps."""
    first, last = (_number(months[at][0]) for at in (0, -1))
    if last - first >= MAX_MONTHS:
        years: dict[str, int] = {}
        for month, count in months:
            years[_year(month)] = years.get(_year(month), 0) + count
        return "year", list(years.items())
    known = dict(months)
    every = (f"{at // 12:04}-{at % 12 + 1:02}" for at in range(first, last + 1))
    return "month", [(month, known.get(month, 0)) for month in every]


def _year(month: str) -> str:
    first, last = _ORDINARY_YEARS
    if month < first:
        return f"before {first}"
    return month[:4] if month < last else f"{last} or later"


def _number(month: str) -> int:
    return int(month[:4]) * 12 + int(month[5:7]) - 1


# Requests -------------------------------------------------------------------------------------------


_SLOWEST = "The slowest documents, in the order of their requests"


@dataclass(frozen=True, slots=True)
class FetchedDocument:
    """One document; ``begin`` is when its last request was sent, in seconds after the first of all."""

    url: str
    attempts: int
    begin: float | None
    seconds: float
    received: int
    failed: bool = False


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
    declared: dict[str, Exchange] = {}
    failed: set[str] = set()
    for node in nodes:
        exchange = node.exchange
        if exchange is not None and exchange.attempts:  # requested, not given
            declared[exchange.url] = exchange
            if isinstance(node, InvalidSitemap):
                failed.add(exchange.url)
    of_nodes = frozenset(declared)
    missing = {failure.url for failure in tree.failures()}
    probes: dict[str, Exchange] = {}
    for exchange in tree.tried if isinstance(tree, IndexWebsiteSitemap) else ():
        url = exchange.url
        if url in of_nodes:
            continue
        is_probe = url not in missing and url != tree.url
        (probes if is_probe else declared)[url] = exchange
        failed |= missing & {url}
    if not declared and not probes:
        return None, []
    everything = (*declared.values(), *probes.values())
    first = min((one.started for one in everything if one.started), default=None)
    failed |= probes.keys()

    def in_order(exchanges: Iterable[Exchange]) -> list[FetchedDocument]:
        fetches = [
            FetchedDocument(
                one.url,
                one.attempts,
                (one.started - first).total_seconds() if one.started and first else None,
                one.seconds,
                one.received,
                failed=one.url in failed,
            )
            for one in exchanges
        ]
        return sorted(fetches, key=lambda fetch: fetch.begin or 0.0)

    return in_order(declared.values()), in_order(probes.values())


def fetching_card(summary: Summary) -> tuple[Markup, dict[str, Any] | None]:
    """Return the card and the data of its chart; for a single document a table is enough."""
    addresses = Addresses(summary.origin)
    fetches = summary.fetches or []
    inside: list[str] = []
    chart = None
    if fetches:
        numbers = _fetch_table(summary, fetches, addresses)
        if len(fetches) > 1:
            chart = _waterfall(fetches, addresses)
            numbers = figure("fetches", _SLOWEST, numbers)
        inside.append(numbers)
    if summary.probes:
        inside.append(_probes(summary, addresses))
    note = f"{counted(summary.totals.fetches, 'document was', 'documents were')} fetched."
    if any(fetch.failed for fetch in fetches):
        note += " Documents in red were declared but could not be fetched."
    if fetches and all(fetch.begin is None for fetch in fetches):
        note += " Only durations are known, not start times."
    return card("fetches", "Fetching", *inside, wide=True, note=note), chart


def _fetch_table(
    summary: Summary, fetches: Sequence[FetchedDocument], addresses: Addresses
) -> Markup:
    more = summary.totals.fetches - len(fetches)
    rows = [
        (
            url_cell(addresses.url(fetch.url)),
            duration(fetch.seconds),
            "failed" if fetch.failed else size(fetch.received),
            fetch.attempts,
        )
        for fetch in fetches
    ]
    foot = f"{counted(more, 'more was', 'more were')} faster." if more else ""
    return table(_SLOWEST, ("document", "time", "received", "attempts"), rows, foot)


def _waterfall(fetches: Sequence[FetchedDocument], addresses: Addresses) -> dict[str, Any]:
    return {
        "type": "waterfall",
        "labels": [addresses.url(fetch.url, 60) for fetch in fetches],
        "begin": [fetch.begin or 0 for fetch in fetches],
        "seconds": [fetch.seconds for fetch in fetches],
        "texts": [duration(fetch.seconds) for fetch in fetches],
        "color": ["bad" if fetch.failed else "bar" for fetch in fetches],
    }


def _probes(summary: Summary, addresses: Addresses) -> Markup:
    total = summary.totals.probes
    title = f"{counted(total, 'undeclared address was', 'undeclared addresses were')} tried"
    rows = [
        (url_cell(addresses.url(fetch.url)), duration(fetch.seconds), fetch.attempts)
        for fetch in summary.probes
    ]
    more = f"and {grouped(total - len(rows))} more" if total > len(rows) else ""
    return folded(
        f"{title}: robots.txt and known paths where no sitemap was found",
        table(title, ("address", "time", "attempts"), rows, more),
    )
