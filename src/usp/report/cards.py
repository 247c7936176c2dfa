"""The sections of the page: each a card of HTML and, where it has one, the data of its chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usp.display import counted, duration, grouped, size
from usp.report.markup import Markup, card, figure, table, url_cell
from usp.report.text import shown_text, shown_url

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from usp.report.fetches import Fetch
    from usp.report.figures import Spread, Summary

MAX_MONTHS = 300
"""Above that many months, dates are counted by year."""

_FREQUENCIES = ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
_ORDINARY_YEARS = ("1990", "2100")


class Cards:
    """Builds the cards of a summary; ``charts`` is the data of their charts, by name."""

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self.charts: dict[str, dict[str, Any]] = {}

    def all(self) -> list[Markup]:
        """Give the cards that have something to show, and one line about those that have not."""
        totals = self.summary.totals
        parts: list[tuple[str, int, Callable[[], Markup]]] = [
            ("pages", totals.pages, self.sections),
            ("pages", totals.pages, self.dates),
            ("pages", totals.pages, self.frequencies),
            ("pages", totals.pages, self.priorities),
            ("pages in other languages", totals.alternates, self.languages),
            ("news stories", totals.news, self.news),
            ("news stories", totals.news, self.publications),
            ("images", totals.images, self.images),
            ("videos", totals.videos, self.videos),
        ]
        missing = list(dict.fromkeys(name for name, count, _ in parts if not count))
        cards = [make() for _, count, make in parts if count]
        if missing:
            cards.append(Markup(f'<p class="none">Nothing was found of: {", ".join(missing)}.</p>'))
        return cards

    def sections(self) -> Markup:
        """Pages by the folders of the path."""
        summary = self.summary
        rows: list[tuple[str | int, ...]] = []
        data: list[dict[str, Any]] = []
        for section in summary.sections:
            name = shown_url(section.name, 80)
            below = [(shown_url(text, 80), count) for text, count in section.below.items]
            rows.append((url_cell(name), section.pages))
            rows += [
                (url_cell(f"{name}{text}/"), count)
                for text, count in below
                if text and len(below) > 1
            ]
            data.append({"name": name, "value": section.pages})
            if len(below) > 1:
                children = [{"name": f"{t}/" if t else name, "value": n} for t, n in below]
                if section.below.other:
                    children.append({"name": "other", "value": section.below.other})
                data[-1]["children"] = children
        if summary.other_sections:
            data.append({"name": "other sections", "value": summary.other_sections})
            rows.append(("other sections", summary.other_sections))
        self.charts["sections"] = {"type": "treemap", "data": data}
        label = "Pages by section of the path"
        hosts = self._spread("Pages by host", summary.hosts, "host") if _many(summary.hosts) else ""
        numbers = table(label, ("section", "pages"), rows)
        return card(
            "sections",
            "Sections",
            figure("sections", label, numbers),
            hosts,
            wide=True,
            note="Pages by the first and second folder of their path. Choose a section to look "
            f"into it.{_caution(summary.sections_exact)}",
        )

    def dates(self) -> Markup:
        """Pages by the month of their lastmod."""
        summary = self.summary
        note = f"{_pages(summary.undated)} without a date that can be read."
        return self._months("dates", "Last change of the pages", summary.months, note)

    def news(self) -> Markup:
        """News stories by month."""
        summary = self.summary
        note = (
            f"{grouped(summary.totals.news)} news stories, {grouped(summary.news_undated)} undated."
        )
        return self._months("news", "News over time", summary.news_months, note)

    def _months(
        self, name: str, title: str, months: Sequence[tuple[str, int]], note: str
    ) -> Markup:
        by = "month"
        if len(months) > MAX_MONTHS or (months and _span(months) > MAX_MONTHS):
            by = "year"
            years: dict[str, int] = {}
            for month, count in months:
                years[_year(month)] = years.get(_year(month), 0) + count
            months = list(years.items())
        elif months:
            known = dict(months)
            months = [(month, known.get(month, 0)) for month in _every_month(months)]
        label = f"{title}, by {by}"
        self.charts[name] = {
            "type": "columns",
            "labels": [month for month, _ in months],
            "values": [count for _, count in months],
        }
        filled = [row for row in months if row[1]]
        return card(
            name,
            title,
            figure(name, label, table(label, (by, "number"), filled)),
            wide=True,
            note=note,
        )

    def frequencies(self) -> Markup:
        """Pages by changefreq."""
        counts = self.summary.frequencies
        rows = [(word, counts.get(word, 0)) for word in _FREQUENCIES]
        rows.append(("not given", counts.get("", 0)))
        rows = [row for row in rows if row[1]]
        return self._bars("frequencies", "Change frequency", rows, "changefreq")

    def priorities(self) -> Markup:
        """Pages by priority."""
        counts = self.summary.priorities
        rows = [(f"{tenth / 10:.1f}", counts.get(tenth, 0)) for tenth in range(11)]
        return self._bars(
            "priorities",
            "Priority",
            rows,
            "priority, from",
            note="In steps of a tenth. Pages without a priority have 0.5.",
            kind="columns",
        )

    def languages(self) -> Markup:
        """Alternates by language."""
        summary = self.summary
        note = f"{_pages(summary.with_alternates)} with {grouped(summary.totals.alternates)} links."
        note += _caution(summary.languages.exact)
        return self._bars("languages", "Languages", _listed(summary.languages), "hreflang", note)

    def publications(self) -> Markup:
        """News stories by publication."""
        rows = _listed(self.summary.publications, "without a name")
        note = _caution(self.summary.publications.exact).strip()
        return self._bars("publications", "Publications", rows, "publication", note)

    def images(self) -> Markup:
        """Images by host."""
        summary = self.summary
        note = f"{grouped(summary.totals.images)} on {_pages(summary.with_images)}."
        note += _caution(summary.image_hosts.exact)
        rows = _listed(summary.image_hosts, "without a host")
        return self._bars("images", "Images by host", rows, "host", note)

    def videos(self) -> Markup:
        """Videos by host."""
        summary = self.summary
        note = f"{grouped(summary.totals.videos)} on {_pages(summary.with_videos)}."
        note += _caution(summary.video_hosts.exact)
        rows = _listed(summary.video_hosts, "without a host")
        return self._bars("videos", "Videos by host", rows, "host", note)

    def fetches(self) -> Markup:
        """Documents that took longest, and when they came."""
        summary = self.summary
        if summary.fetches is None:
            note = "Nothing is known: no sitemap was fetched, or nobody listened meanwhile."
            return card("fetches", "Fetching", wide=True, note=note)
        missing = {failure.url for failure in summary.failures}
        rows = [
            (
                url_cell(shown_url(fetch.url)),
                duration(fetch.seconds),
                _outcome(fetch, missing),
                fetch.attempts,
            )
            for fetch in summary.fetches
        ]
        label = "Fetching, the slowest documents in the order of asking"
        more = summary.totals.fetches - len(rows)
        numbers = table(
            label,
            ("document", "time", "what came", "attempts"),
            rows,
            f"{grouped(more)} more were faster." if more else "",
        )
        timed = [fetch for fetch in summary.fetches if fetch.begin is not None]
        self.charts["fetches"] = {
            "type": "waterfall",
            "labels": [shown_url(fetch.url, 60) for fetch in summary.fetches],
            "begin": [fetch.begin or 0 for fetch in summary.fetches],
            "seconds": [
                _lasted(fetch.begin, fetch.end, fetch.seconds) for fetch in summary.fetches
            ],
            "color": [
                "bad" if fetch.url in missing else "idle" if fetch.failed else "bar"
                for fetch in summary.fetches
            ],
        }
        note = (
            f"{grouped(summary.totals.fetches)} documents were asked for. Grey is a place where a "
            "sitemap might have been; red is one that was declared and could not be had."
        )
        if not timed:
            note += " When is not known, only how long each took."
        return card("fetches", "Fetching", figure("fetches", label, numbers), wide=True, note=note)

    def _bars(
        self,
        name: str,
        title: str,
        rows: Sequence[tuple[str, int]],
        head: str,
        note: str = "",
        kind: str = "bars",
    ) -> Markup:
        self.charts[name] = {
            "type": kind,
            "labels": [text for text, _ in rows],
            "values": [count for _, count in rows],
        }
        numbers = table(title, (head, "number"), rows)
        return card(name, title, figure(name, title, numbers), note=note)

    def _spread(self, title: str, spread: Spread, head: str) -> Markup:
        return table(title, (head, "number"), _listed(spread))


def _listed(spread: Spread, empty: str = "none") -> list[tuple[str, int]]:
    rows = [(shown_text(text, 60) or empty, count) for text, count in spread.items]
    return [*rows, ("other", spread.other)] if spread.other else rows


def _caution(exact: bool) -> str:
    return "" if exact else " There were too many to count each: rare ones may be counted too low."


def _many(spread: Spread) -> bool:
    return len(spread.items) > 1


def _pages(count: int) -> str:
    return counted(count, "page")


def _outcome(fetch: Fetch, missing: set[str]) -> str:
    if not fetch.failed:
        return size(fetch.received)
    return "failed" if fetch.url in missing else "no sitemap there"


def _lasted(begin: float | None, end: float | None, seconds: float) -> float:
    return seconds if begin is None or end is None else max(seconds, end - begin)


def _year(month: str) -> str:
    first, last = _ORDINARY_YEARS
    if month < first:
        return f"before {first}"
    return month[:4] if month < last else f"{last} or later"


def _number(month: str) -> int:
    return int(month[:4]) * 12 + int(month[5:7]) - 1


def _span(months: Sequence[tuple[str, int]]) -> int:
    return _number(months[-1][0]) - _number(months[0][0]) + 1


def _every_month(months: Sequence[tuple[str, int]]) -> list[str]:
    begin = _number(months[0][0])
    return [f"{at // 12:04}-{at % 12 + 1:02}" for at in range(begin, begin + _span(months))]
