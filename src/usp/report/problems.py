"""What is wrong, what changed and how it was earlier, and their cards."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from usp._base.display import counted, get_logger, grouped
from usp._base.urls import origin_of
from usp.changes import ChangeKind, PageChange, diff
from usp.changes.change_values import details_of
from usp.checks.checking import Checking
from usp.checks.finding import line_col, rule_url
from usp.checks.node_findings import FAILURES
from usp.checks.rules import RULES
from usp.checks.verdicts import CheckList, RuleRow, by_rule
from usp.exceptions import SnapshotError
from usp.objects.abstract_sitemap import AbstractSitemap, page_sitemaps
from usp.report.markup import (
    FIRST_ROWS,
    Addresses,
    Cell,
    Markup,
    card,
    chip,
    chips,
    folded,
    long_table,
    shown_text,
    table,
    tag,
)

if TYPE_CHECKING:
    from usp._crawl.stored_pages import ExaminedBlock
    from usp.checks.finding import Finding
    from usp.objects.problem import Failure, ProblemCode
    from usp.report.summary import Summary

MAX_CHECKED_PAGES = 500_000  # pages that rules look at; the rest of a larger website is left out
MAX_TABLE = 100  # failed documents of one rule
MAX_RULES = 60
MAX_HINT = 400
MAX_SENTENCE = 500
log = get_logger(__name__)

_NOTHING = frozenset[str]()
_CHIPS = {"error": "bad", "warning": "warn", "info": ""}


class FindingPlaces:
    """Which rules found something where.

    ``sitemaps`` are the numbers of findings by the URL of the document and by code.
    """

    def __init__(self) -> None:
        self.sitemaps: dict[str, Counter[str]] = {}
        self._pages: dict[
            int, frozenset[str]
        ] = {}  # codes by the hash of the URL, which is shorter
        self._same: dict[frozenset[str], frozenset[str]] = {}

    def noted(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield findings, and note where they are."""
        for one in findings:
            self.sitemaps.setdefault(one.sitemap, Counter())[one.code] += one.times
            if one.page:
                self._add(one.code, one.page)
            yield one

    def add_problem(self, code: ProblemCode, page: str) -> None:
        """Note a problem of a page, which may be too many to be findings of their own."""
        self._add(code.rule, page)

    def _add(self, code: str, page: str) -> None:
        codes = self.at(page) | {code}
        self._pages[hash(page)] = self._same.setdefault(codes, codes)

    def at(self, page: str) -> frozenset[str]:
        """Return the codes of the rules that found something in the page at a URL."""
        return self._pages.get(hash(page), _NOTHING)


def checks_of(
    tree: AbstractSitemap,
    *,
    everything: bool = False,
    on_pages: Callable[[int], object] = lambda _: None,
) -> tuple[CheckList, FindingPlaces]:
    """Return what is wrong with a tree; ``everything`` checks all pages, however many there are."""
    places, checked = FindingPlaces(), Counter[str]()

    def count(_node: AbstractSitemap, block: ExaminedBlock) -> None:
        checked["pages"] += len(block.urls)
        on_pages(len(block.urls))

    most = None if everything else MAX_CHECKED_PAGES
    checking = Checking.of(most_pages=most, on_page_problem=places.add_problem)
    result = by_rule(places.noted(checking.findings(tree, count)), failures=MAX_TABLE)
    result.pages = checked["pages"]
    result.complete = most is None or result.pages < most
    return result, places


def verdict_card(summary: Summary) -> Markup:
    """Return the verdict: its color, why, and what to fix first, with links to the findings."""
    result, found = summary.verdict, summary.checks
    light = tag("strong", result.color.capitalize(), class_="light")
    parts = [tag("p", light, " ", shown_text(result.sentence, MAX_SENTENCE), class_="sentence")]
    if advice := result.what_to_do():
        parts.append(tag("p", advice))
    first = [
        tag("li", rule_link(row), " ", chip(counted(row.count, "finding")), f" {row.hint}")
        for row in result.first
    ]
    if first:
        parts += [tag("p", "To fix first:"), tag("ol", *first)]
    if not found.complete or not found.rules:
        parts.append(tag("p", _checked(found), class_="note"))
    kind = f"verdict {result.color}"
    return tag("section", *parts, class_=kind, id="verdict", aria_label="Verdict")


def rule_link(row: RuleRow) -> Markup:
    """Return a link to what a rule has found, and its explanation."""
    return tag("a", f"{row.code} {row.name}", href=f"#rule-{row.code}")


def findings_card(summary: Summary) -> Markup:
    """Return the card for everything that is wrong, by rule, what to fix first at the top."""
    found = summary.checks
    if not found.rules:
        return Markup("")
    said = [chip(counted(n, word), _CHIPS[word]) for word, n in found.severities.items() if n]
    if lost := sum(row.lost for row in found.rules):
        said.append(chip(f"{counted(lost, 'entry')} lost", "bad"))
    failures = {failure.url: failure for failure in summary.failures}
    rules = [_rule(row, summary.addresses, failures) for row in found.rules[:MAX_RULES]]
    left = len(found.rules) - MAX_RULES
    if left > 0:
        rules.append(tag("p", f"and {counted(left, 'more rule')}", class_="more"))
    first, rest = rules[:FIRST_ROWS], rules[FIRST_ROWS:]
    if rest:
        more = counted(len(found.rules) - FIRST_ROWS, "more rule")
        first.append(folded(more, Markup("".join(rest))))
    return card("findings", "Findings", chips(*said), *first, wide=True, note=_checked(found))


def _checked(found: CheckList) -> str:
    """Return a sentence: how many rules found something, and in how many pages if not in all."""
    asked = counted(len(RULES), "rule")
    text = f"{len(found.rules):,} of {asked} found something"
    if not found.rules:
        text = f"None of {asked} found anything"
    if not found.complete:
        return f"{text} in the first {counted(found.pages, 'page')}; usp check reads all of them."
    return f"{text}."


def _rule(row: RuleRow, addresses: Addresses, failures: Mapping[str, Failure]) -> Markup:
    """Return what one rule found: how often, why it matters, what to do, and examples to expand."""
    title, rule = f"{row.code} {row.name}", RULES[row.code]
    said = [rule.summary, *(" ".join(text.split()) for text in rule.why.split("\n\n") if text)]
    about = [tag("p", text) for text in said]
    about.append(tag("p", tag("strong", "What to do: "), shown_text(row.hint, MAX_HINT)))
    if url := rule_url(row.code, row.name):
        about.append(tag("p", tag("a", "More about this rule", href=url)))
    beside = [chip(row.severity.value, _CHIPS[row.severity]), chip(counted(row.count, "finding"))]
    beside.append(chip(counted(row.sitemaps, "sitemap")))
    if row.lost:
        beside.append(chip(f"{counted(row.lost, 'entry')} lost", "bad"))
    explained = tag("div", *about, class_="explained", id=f"rule-{row.code}")
    return folded(title, Markup(explained + _examples(row, title, addresses, failures)), *beside)


def _examples(
    row: RuleRow, title: str, addresses: Addresses, failures: Mapping[str, Failure]
) -> Markup:
    """Return a table of the first findings of a rule: failed documents with their responses."""
    if row.code in FAILURES:
        heads = ["sitemap", "reason", "status", "attempts"]
        rows: list[tuple[Cell, ...]] = []
        for one in row.examples:
            why = failures.get(one.sitemap)
            response = (
                (why.status and str(why.status), why.attempts or None) if why else (None, None)
            )
            rows.append((addresses.cell(one.sitemap), addresses.text(one.message), *response))
        return long_table(title, heads, rows, row.count)
    listed = []
    for one in row.examples:
        page = one.page and addresses.cell(one.page)
        where = int(line_col(one)) if line_col(one).isdecimal() else line_col(one) or None
        sitemap = addresses.cell(one.sitemap)
        listed.append((sitemap, where, addresses.text(one.message), page))
    columns = 4 if any(page for *_, page in listed) else 3
    heads = ["sitemap", "line", "finding", "page"][:columns]
    more = f"and {grouped(row.more)} more" if row.more else ""
    return table(title, heads, [cells[:columns] for cells in listed], more)


# What changed since another tree ---------------------------------------------------------------------


MAX_CHANGES = 100  # how many changes of one kind are listed


@dataclass(slots=True)
class KindOfChange:
    """The changes of one kind: how many, and the first of them with their details."""

    count: int = 0
    first: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ChangeList:
    """What changed between two trees, ``named`` by their URLs, and when they were crawled."""

    named: str
    pages: dict[str, KindOfChange] = field(default_factory=dict)
    sitemaps: dict[str, KindOfChange] = field(default_factory=dict)

    def listed(self) -> Iterator[tuple[str, str, KindOfChange]]:
        """Yield what changed: a noun, a title, and the changes of this kind."""
        for noun, kinds in (("page", self.pages), ("sitemap", self.sitemaps)):
            for kind in filter(kinds.__contains__, ChangeKind):
                yield noun, f"{counted(kinds[kind].count, noun)} {kind.value}", kinds[kind]


def changes_of(before: AbstractSitemap, after: AbstractSitemap) -> ChangeList:
    """Return what changed between two trees."""
    names = []
    for tree in (before, after):
        crawled = _crawled(tree)
        when = "" if crawled is None else f" of {crawled:%Y-%m-%d %H:%M} UTC"
        names.append(f"{shown_text(tree.url)}{when}")
    result = ChangeList(" to ".join(names))
    for change in diff(before, after):
        kinds = result.pages if isinstance(change, PageChange) else result.sitemaps
        of_kind = kinds.setdefault(change.kind.value, KindOfChange())
        of_kind.count += 1
        if len(of_kind.first) < MAX_CHANGES:
            of_kind.first.append((change.url, details_of(change)))
    return result


def changes_card(summary: Summary) -> Markup:
    """Return the card for what changed; nothing if the tree was not compared."""
    found, addresses = summary.changes, summary.addresses
    if found is None:
        return Markup("")
    tables = []
    for noun, title, changes in found.listed():
        rows = [(addresses.cell(url), shown_text(text)) for url, text in changes.first]
        tables.append(folded(title, long_table(title, (noun, "details"), rows, changes.count)))
    note = f"From {found.named}.{'' if tables else ' Nothing changed.'}"
    return card("changes", "Changes", *tables, wide=True, note=note)


# How the website was at earlier times ----------------------------------------------------------------


FRESH = timedelta(days=30)

History: TypeAlias = str | os.PathLike[str] | Iterable[AbstractSitemap]
"""A folder of snapshots, or trees."""


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """A website at the time of a crawl.

    ``errors`` and ``warnings`` are findings. Of the ``pages``, ``dated`` have a lastmod, which is at
    most 30 days old in ``fresh`` of them; ``newest`` is the last day of all.
    """

    when: datetime
    sitemaps: int
    pages: int
    failures: int
    errors: int
    warnings: int
    dated: int
    fresh: int
    newest: str | None


def history_of(
    tree: AbstractSitemap, earlier: History, *, everything: bool = False
) -> tuple[HistoryPoint, ...]:
    """Return a website at earlier times and now, in the order of the crawls.

    In a folder, snapshots of other websites and other files are passed over. Raises
    :class:`SnapshotError` if there is no snapshot of the website in it.
    """
    folder = Path(earlier) if isinstance(earlier, str | os.PathLike) else None
    trees: Any = earlier if folder is None else _snapshots(folder, tree.url)
    points = [_point(one, everything) for one in trees]
    if folder is not None and not points:
        raise SnapshotError(f"no snapshot of {tree.url} was found in {earlier}")
    points.append(_point(tree, everything))
    return tuple(sorted({point.when: point for point in points}.values(), key=attrgetter("when")))


def _snapshots(folder: Path, site: str) -> Iterator[AbstractSitemap]:
    from usp._snapshot.warc import is_warc  # noqa: PLC0415 - few reports have a history
    from usp.snapshot import load  # noqa: PLC0415

    for path in sorted(folder.iterdir()):
        if path.is_file() and is_warc(path):
            try:
                tree = load(path)
            except SnapshotError as error:  # it says which file
                log.warning("Left out of the history: %s", error)
                continue
            if origin_of(tree.url) == origin_of(site):
                yield tree


def _crawled(tree: AbstractSitemap) -> datetime | None:
    """Return when the last request for a tree was sent, if that is known."""
    nodes = [tree, *tree.all_sitemaps()]
    begun = [one.exchange.started for one in nodes if one.exchange and one.exchange.started]
    return max(begun, default=None)


def _point(tree: AbstractSitemap, everything: bool) -> HistoryPoint:
    when = _crawled(tree) or datetime.now(UTC)
    blocks = (block for node in page_sitemaps(tree) for _, block in node.page_blocks())
    days = Counter(
        row.last_modified.date().isoformat() if row.last_modified else ""
        for block in blocks
        for row in block.rows()
    )
    pages, undated = days.total(), days.pop("", 0)
    first, last = (when - FRESH).date().isoformat(), when.date().isoformat()
    checks, _ = checks_of(tree, everything=everything)
    return HistoryPoint(
        when=when,
        sitemaps=tree.sitemap_count(),
        pages=pages,
        failures=len(tree.failures()),
        errors=checks.severities["error"],
        warnings=checks.severities["warning"],
        dated=pages - undated,
        fresh=sum(count for day, count in days.items() if first <= day <= last),
        newest=max(days, default=None),
    )


def history_card(points: tuple[HistoryPoint, ...], charts: dict[str, dict[str, Any]]) -> Markup:
    """Return the card with charts and a table of points in time; the data of charts are added."""
    if not points:
        return Markup("")
    days = Counter(point.when.date() for point in points)
    is_daily = max(days.values()) == 1
    labels = [
        f"{point.when:%Y-%m-%d}{'' if is_daily else f' {point.when:%H:%M}'}" for point in points
    ]
    errors = {"name": "errors", "values": [point.errors for point in points], "color": "bad"}
    warnings = {"name": "warnings", "values": [point.warnings for point in points], "color": "c8"}
    over_time: dict[str, dict[str, Any]] = {
        "Pages": {"values": [point.pages for point in points]},
        "Errors and warnings": {"series": [errors, warnings]},
        "Pages of the last 30 days": {"values": [point.fresh for point in points]},
    }
    drawn = []
    for at, (title, data) in enumerate(over_time.items() if len(points) > 1 else ()):
        if not any(any(one["values"]) for one in data.get("series", [data])):
            continue
        charts[f"history-{at}"] = {"type": "columns", "labels": labels, **data}
        label = f"{title} over time; the numbers are in the table below"
        place = tag("div", class_="chart", id=f"chart-history-{at}", role="img", aria_label=label)
        drawn.append(tag("figure", tag("figcaption", title), place))
    heads = "crawl", "sitemaps", "pages", "failures", "errors", "warnings", "% fresh", "newest page"
    rows = [
        (
            *(label, point.sitemaps, point.pages, point.failures, point.errors, point.warnings),
            *(_share(point), point.newest),
        )
        for label, point in zip(labels, points, strict=True)
    ]
    note = f"{counted(len(points), 'crawl')}. Fresh are dated pages of the 30 days before a crawl."
    listed = table("The website over time", heads, rows)
    return card(
        "history", "History", tag("div", *drawn, class_="beside"), listed, wide=True, note=note
    )


def _share(point: HistoryPoint) -> int | None:
    return round(100 * point.fresh / point.dated) if point.dated else None
