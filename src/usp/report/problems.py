"""What is wrong (sitemaps that failed, findings of ``usp check``), what changed, and their cards.

The rules also tell what the parser found inside documents, and which pages are listed more than once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from usp._base.display import counted, grouped
from usp.changes import ChangeKind, PageChange, diff
from usp.changes.change_values import details_of
from usp.checks.checking import Checking
from usp.checks.finding import Finding, Severity
from usp.checks.rules import RULES
from usp.report.markup import (
    FIRST_ROWS,
    Addresses,
    Markup,
    card,
    chip,
    chips,
    folded,
    long_table,
    shown_text,
    table,
    tag,
    url_cell,
)

if TYPE_CHECKING:
    from usp.objects.sitemap import AbstractSitemap
    from usp.report.summary import Summary

MAX_CHECKED_PAGES = 200_000  # pages that rules look at; the rest of a larger website is left out
MAX_TABLE = 100
MAX_REASONS = 8
MAX_RULES = 60
MAX_HINT = 400
MAX_EXAMPLES = 5  # how many findings of one rule are listed
_CHIPS = {"error": "bad", "warning": "warn", "info": ""}
_DUPLICATES = frozenset({"SM409", "SM410"})


@dataclass(slots=True)
class RuleRow:
    """What one rule found: how often, in how many sitemaps, and the first of it."""

    code: str
    name: str
    severity: Severity
    hint: str
    count: int = 0
    sitemaps: int = 0
    examples: list[Finding] = field(default_factory=list)


@dataclass(slots=True)
class CheckList:
    """All findings by severity and by rule, the most severe first, then the most frequent.

    ``complete`` is False if the check was stopped, after so many ``pages``.
    """

    severities: dict[str, int] = field(default_factory=dict)
    rules: list[RuleRow] = field(default_factory=list)
    pages: int = 0
    complete: bool = True

    @property
    def has_duplicates(self) -> bool:
        """Whether a page is listed more than once."""
        return any(row.code in _DUPLICATES for row in self.rules)


def by_rule(
    findings: Iterable[Finding], stopped: type[Exception], examples: int = MAX_EXAMPLES
) -> CheckList:
    """Return findings by rule, as many as there are before the exception ``stopped`` is raised."""
    result = CheckList({severity.value: 0 for severity in Severity})
    rows: dict[str, RuleRow] = {}
    sitemaps: dict[str, set[int]] = {}  # hashes of their URLs
    try:
        for one in findings:
            row = rows.setdefault(one.code, RuleRow(one.code, one.name, one.severity, one.hint))
            row.count += one.times
            result.severities[one.severity] += one.times
            sitemaps.setdefault(one.code, set()).add(hash(one.sitemap))
            if len(row.examples) < examples:
                row.examples.append(one)
    except stopped:
        result.complete = False
    for code, row in rows.items():
        row.sitemaps = len(sitemaps[code])
    result.rules = sorted(rows.values(), key=lambda row: (row.severity.rank, -row.count, row.code))
    return result


class _EnoughError(Exception):
    """Ends a check."""


def checks_of(tree: AbstractSitemap, *, everything: bool = False) -> CheckList:
    """Return what is wrong with a tree; ``everything`` checks all pages, however many there are."""
    checked = 0

    def count(pages: int) -> None:
        nonlocal checked
        if checked >= MAX_CHECKED_PAGES and not everything:
            raise _EnoughError
        checked += pages

    result = by_rule(Checking.of().findings(tree, count), _EnoughError)
    result.pages = checked
    return result


def damage_cards(summary: Summary) -> list[Markup]:
    """Return the cards for failures and problems; first a sentence if nothing was lost."""
    cards = []
    problems, checks = summary.problems, summary.checks
    if summary.totals.failures:
        cards.append(_failures_card(summary))
    elif not problems.count:
        looked = "All sitemaps were checked."
        if problems.looked_at != problems.sitemaps:
            sitemaps = counted(problems.sitemaps, "sitemap")
            looked = f"{grouped(problems.looked_at)} of {sitemaps} were checked for problems."
        text = f"Nothing is missing, and no problems were found. {looked}"
        text += "" if checks.rules else f" {_checked(checks)}"
        cards.append(tag("p", text, class_="good"))
    if checks.rules:
        cards.append(_problems_card(summary))
    return cards


def _failures_card(summary: Summary) -> Markup:
    addresses = summary.addresses
    total = summary.totals.failures
    rows = []
    for failure in summary.failures[:MAX_TABLE]:
        url, status = addresses.url(failure.url), failure.status
        response = None if status is None else str(status), failure.attempts
        rows.append((url_cell(url), addresses.text(failure.brief), *response))
    heads = ("sitemap", "reason", "status", "attempts")
    told = []
    if total > FIRST_ROWS:  # more than are shown at first: their reasons with counts
        reasons = summary.failure_reasons.items[:MAX_REASONS]
        told = [chip(f"{addresses.text(why, 80)}: {grouped(n)}", "bad") for why, n in reasons]
        if other := total - sum(count for _, count in reasons):
            told.append(chip(f"other reasons: {grouped(other)}"))
    return card(
        "failures",
        "Failures",
        chips(*told),
        long_table("Missing or incomplete sitemaps", heads, rows, total),
        wide=True,
        note=f"{counted(total, 'sitemap is', 'sitemaps are')} missing or incomplete.",
    )


def _problems_card(summary: Summary) -> Markup:
    found, lost = summary.checks, summary.problems.lost
    told = [chip(counted(n, word), _CHIPS[word]) for word, n in found.severities.items() if n]
    if lost:
        told.append(chip(f"{counted(lost, 'entry')} lost", "bad"))
    rules = [_rule(row, summary.addresses) for row in found.rules[:MAX_RULES]]
    left = len(found.rules) - MAX_RULES
    if left > 0:
        rules.append(tag("p", f"and {counted(left, 'more rule')}", class_="more"))
    first, rest = rules[:FIRST_ROWS], rules[FIRST_ROWS:]
    if rest:
        more = counted(len(found.rules) - FIRST_ROWS, "more rule")
        first.append(folded(more, Markup("".join(rest))))
    return card("problems", "Problems", chips(*told), *first, wide=True, note=_checked(found))


def _checked(found: CheckList) -> str:
    """Return a sentence: how many rules found something, and in how many pages if not in all."""
    asked = counted(len(RULES), "rule")
    text = f"{len(found.rules):,} of {asked}" if found.rules else f"None of {asked}"
    if not found.complete:
        pages = counted(found.pages, "page")
        return f"{text} found something in the first {pages}; usp check reads all of them."
    explained = f" 'usp rule {found.rules[0].code}' explains one." if found.rules else ""
    return f"{text} found something.{explained}"


def _rule(row: RuleRow, addresses: Addresses) -> Markup:
    """Return what one rule found: how often, what to do, and examples to expand."""
    title = f"{row.code} {row.name}"
    left = row.count - sum(example.times for example in row.examples)
    rows = []
    for one in row.examples:
        page = one.page and url_cell(addresses.url(one.page))
        said = addresses.text(one.message)
        rows.append((url_cell(addresses.url(one.sitemap)), one.line, said, page))
    columns = 4 if any(page for *_, page in rows) else 3
    heads = ("sitemap", "line", "finding", "page")[:columns]
    more = f"and {grouped(left)} more" if left > 0 else ""
    examples = table(title, heads, [cells[:columns] for cells in rows], more)
    hint = tag("p", shown_text(row.hint, MAX_HINT), class_="note")
    return folded(
        title,
        Markup(hint + examples),
        chip(row.severity.value, _CHIPS[row.severity]),
        chip(counted(row.count, "time")),
        chip(counted(row.sitemaps, "sitemap")),
    )


# What changed since another tree ---------------------------------------------------------------------


MAX_CHANGES = 100  # how many changes of one kind are listed
_BAD = frozenset({ChangeKind.FAILED, ChangeKind.UNKNOWN})


@dataclass(slots=True)
class KindOfChange:
    """The changes of one kind: how many, and the first of them with their details."""

    count: int = 0
    first: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ChangeList:
    """What changed ``since`` another tree, which is named by its URL."""

    since: str
    pages: dict[str, KindOfChange] = field(default_factory=dict)
    sitemaps: dict[str, KindOfChange] = field(default_factory=dict)


def changes_of(before: AbstractSitemap, after: AbstractSitemap) -> ChangeList:
    """Return what changed between two trees."""
    result = ChangeList(before.url)
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
    for noun, kinds in (("page", found.pages), ("sitemap", found.sitemaps)):
        for kind in filter(kinds.__contains__, ChangeKind):
            count, first = kinds[kind].count, kinds[kind].first
            title = f"{counted(count, noun)} {kind.value}"
            rows = [(url_cell(addresses.url(url)), shown_text(text)) for url, text in first]
            listed = long_table(title, (noun, "details"), rows, count)
            tables.append(folded(title, listed, chip(kind.value, "warn" if kind in _BAD else "")))
    note = f"Compared with {shown_text(found.since)}.{'' if tables else ' Nothing changed.'}"
    return card("changes", "Changes", *tables, wide=True, note=note)
