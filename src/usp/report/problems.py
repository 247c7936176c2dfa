"""What is wrong (sitemaps that failed, findings of ``usp check``), what changed, and their cards.

The rules also tell what the parser found inside documents, and which pages are listed more than once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from usp._base.display import counted, grouped
from usp.changes import Change, ChangeKind, PageChange, diff
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
    folded,
    long_table,
    shown_text,
    table,
    url_cell,
)

if TYPE_CHECKING:
    from usp.objects.sitemap import AbstractSitemap
    from usp.report.summary import Summary

MAX_ODD_PAGES = 200_000
"""How many pages of sitemaps that look damaged are read for the number of their problems."""

MAX_OTHER_PAGES = 25_000
"""The same for sitemaps that look fine."""

MAX_CHECKED_PAGES = 200_000
"""How many pages are checked by rules; the rest of a larger website is not."""

MAX_TABLE = 100
MAX_REASONS = 8
MAX_RULES = 60
MAX_HINT = 400
MAX_EXAMPLES = 5
"""How many findings of one rule are listed."""

_CHIPS = {Severity.ERROR: "bad", Severity.WARNING: "warn", Severity.INFO: ""}
_DUPLICATES = frozenset({"SM409", "SM410"})


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
class RuleRow:
    """What one rule found: how often, in how many sitemaps, and the first of it."""

    code: str
    name: str
    severity: Severity
    hint: str
    count: int = 0
    sitemaps: int = 0
    examples: list[Finding] = field(default_factory=list)


class FindingsByRule:
    """Collects findings by rule, with some examples of each."""

    def __init__(self, examples: int = MAX_EXAMPLES) -> None:
        self.severities: Counter[Severity] = Counter()
        self._examples = examples
        self._rows: dict[str, RuleRow] = {}
        self._sitemaps: dict[str, set[int]] = {}  # hashes of their URLs

    def add(self, finding: Finding) -> None:
        """Add a finding."""
        self.severities[finding.severity] += finding.times
        row = self._rows.setdefault(
            finding.code, RuleRow(finding.code, finding.name, finding.severity, finding.hint)
        )
        row.count += finding.times
        sitemaps = self._sitemaps.setdefault(finding.code, set())
        sitemaps.add(hash(finding.sitemap))
        row.sitemaps = len(sitemaps)
        if len(row.examples) < self._examples:
            row.examples.append(finding)

    def rows(self) -> list[RuleRow]:
        """Return the rules that found anything, the most severe first, then the most frequent."""
        return sorted(
            self._rows.values(), key=lambda row: (row.severity.rank, -row.count, row.code)
        )


@dataclass(slots=True)
class CheckList:
    """All findings by rule. ``complete`` is False if there were too many pages to check them all."""

    severities: dict[str, int] = field(default_factory=dict)
    rules: list[RuleRow] = field(default_factory=list)
    pages: int = 0
    complete: bool = True

    @property
    def has_duplicates(self) -> bool:
        """Whether a page is listed more than once."""
        return any(row.code in _DUPLICATES for row in self.rules)


class _EnoughError(Exception):
    """Ends a check."""


def checks_of(tree: AbstractSitemap, *, everything: bool = False) -> CheckList:
    """Return what is wrong with a tree; ``everything`` checks all pages, however many there are."""
    result, found = CheckList(), FindingsByRule()

    def count(pages: int) -> None:
        if result.pages >= MAX_CHECKED_PAGES and not everything:
            raise _EnoughError
        result.pages += pages

    try:
        for finding in Checking.of().findings(tree, count):
            found.add(finding)
    except _EnoughError:
        result.complete = False
    result.severities = {one.value: found.severities[one] for one in Severity}
    result.rules = found.rows()
    return result


def damage_cards(summary: Summary) -> list[Markup]:
    """Return the cards for failures and problems; first a sentence if nothing was lost."""
    cards = []
    if summary.totals.failures:
        cards.append(_failures_card(summary))
    elif not summary.totals.problems:
        text = f"Nothing is missing, and no problems were found. {_looked(summary)}"
        if not summary.checks.rules:
            text += f" {_checked(summary.checks)}"
        cards.append(Markup(f'<p class="good">{text}</p>'))
    if summary.checks.rules:
        cards.append(_problems_card(summary))
    return cards


def _failures_card(summary: Summary) -> Markup:
    """Return the card for sitemaps that are missing or incomplete."""
    addresses = Addresses(summary.origin)
    total = summary.totals.failures
    rows = [
        (
            url_cell(addresses.url(failure.url)),
            addresses.text(failure.brief),
            None if failure.status is None else str(failure.status),
            failure.attempts,
        )
        for failure in summary.failures[:MAX_TABLE]
    ]
    heads = ("sitemap", "reason", "status", "attempts")
    return card(
        "failures",
        "Failures",
        _reasons(summary, addresses) if total > FIRST_ROWS else "",
        long_table("Missing or incomplete sitemaps", heads, rows, total),
        wide=True,
        note=f"{counted(total, 'sitemap is', 'sitemaps are')} missing or incomplete.",
    )


def _reasons(summary: Summary, addresses: Addresses) -> Markup:
    """Return the reasons with their counts, for more failures than are shown at first."""
    reasons = summary.failure_reasons
    chips = [
        chip(f"{addresses.text(reason, 80)}: {grouped(count)}", "bad")
        for reason, count in reasons.items[:MAX_REASONS]
    ]
    other = reasons.other + sum(count for _, count in reasons.items[MAX_REASONS:])
    if other:
        chips.append(chip(f"other reasons: {grouped(other)}"))
    return Markup(f'<p class="chips">{" ".join(chips)}</p>')


def _problems_card(summary: Summary) -> Markup:
    """Return the card for what the rules find."""
    found, lost = summary.checks, summary.problems.lost
    chips = [
        chip(counted(number, severity), _CHIPS[Severity(severity)])
        for severity, number in found.severities.items()
        if number
    ]
    if lost:
        chips.append(chip(f"{counted(lost, 'entry')} lost", "bad"))
    rules = [_rule(row, summary) for row in found.rules[:MAX_RULES]]
    left = len(found.rules) - MAX_RULES
    if left > 0:
        rules.append(Markup(f'<p class="more">and {counted(left, "more rule")}</p>'))
    first, rest = rules[:FIRST_ROWS], rules[FIRST_ROWS:]
    if rest:
        more = counted(len(found.rules) - FIRST_ROWS, "more rule")
        first.append(folded(more, "".join(rest)))
    shown = Markup(f'<p class="chips">{" ".join(chips)}</p>') if chips else ""
    return card("problems", "Problems", shown, *first, wide=True, note=_checked(found))


def _checked(found: CheckList) -> str:
    """Return a sentence: how many rules found something, and in how many pages if not in all."""
    asked = counted(len(RULES), "rule")
    text = f"{len(found.rules):,} of {asked}" if found.rules else f"None of {asked}"
    if not found.complete:
        pages = counted(found.pages, "page")
        return f"{text} found something in the first {pages}; usp check reads all of them."
    explained = f" 'usp rule {found.rules[0].code}' explains one." if found.rules else ""
    return f"{text} found something.{explained}"


def _rule(row: RuleRow, summary: Summary) -> Markup:
    """Return what one rule found: how often, what to do, and examples to expand."""
    addresses = Addresses(summary.origin)
    left = row.count - sum(example.times for example in row.examples)
    pages = any(example.page is not None for example in row.examples)
    examples = table(
        f"{row.code} {row.name}",
        ("sitemap", "line", "finding", *(["page"] if pages else [])),
        [
            (
                url_cell(addresses.url(example.sitemap)),
                example.line,
                addresses.text(example.message),
                *([example.page and url_cell(addresses.url(example.page))] if pages else []),
            )
            for example in row.examples
        ],
        f"and {left:,} more" if left > 0 else "",
    )
    hint = f'<p class="note">{escape(shown_text(row.hint, MAX_HINT))}</p>'
    return folded(
        f"{row.code} {row.name}",
        hint + examples,
        chip(row.severity.value, _CHIPS[row.severity]),
        chip(counted(row.count, "time")),
        chip(counted(row.sitemaps, "sitemap")),
    )


def _looked(summary: Summary) -> str:
    looked, sitemaps = summary.problems.looked_at, summary.problems.sitemaps
    if looked == sitemaps:
        return "All sitemaps were checked."
    return f"{grouped(looked)} of {counted(sitemaps, 'sitemap')} were checked for problems."


# What changed since another tree ---------------------------------------------------------------------


MAX_CHANGES = 100
"""How many changes of one kind are listed."""

_BAD = frozenset({ChangeKind.FAILED, ChangeKind.UNKNOWN})


@dataclass(slots=True)
class KindOfChange:
    """The changes of one kind: how many, and the first of them with their details."""

    count: int = 0
    first: list[tuple[str, str]] = field(default_factory=list)

    def add(self, change: Change) -> None:
        """Count a change."""
        self.count += 1
        if len(self.first) < MAX_CHANGES:
            self.first.append((change.url, details_of(change)))


@dataclass(frozen=True, slots=True)
class ChangeList:
    """What changed ``since`` another tree, which is named by its URL."""

    since: str
    pages: Mapping[str, KindOfChange]
    sitemaps: Mapping[str, KindOfChange]


def changes_of(before: AbstractSitemap, after: AbstractSitemap) -> ChangeList:
    """Return what changed between two trees."""
    pages: dict[str, KindOfChange] = {}
    sitemaps: dict[str, KindOfChange] = {}
    for change in diff(before, after):
        found = pages if isinstance(change, PageChange) else sitemaps
        found.setdefault(change.kind.value, KindOfChange()).add(change)
    return ChangeList(before.url, pages, sitemaps)


def changes_card(summary: Summary) -> Markup:
    """Return the card for what changed; nothing if the tree was not compared."""
    found = summary.changes
    if found is None:
        return Markup("")
    addresses = Addresses(summary.origin)
    both = (("page", found.pages), ("sitemap", found.sitemaps))
    tables = [one for noun, kinds in both for one in _tables(noun, kinds, addresses)]
    note = f"Compared with {shown_text(found.since)}."
    if not tables:
        note += " Nothing changed."
    return card("changes", "Changes", *tables, wide=True, note=note)


def _tables(noun: str, kinds: Mapping[str, KindOfChange], addresses: Addresses) -> Iterator[Markup]:
    for kind in ChangeKind:
        if found := kinds.get(kind.value):
            title = f"{counted(found.count, noun)} {kind.value}"
            rows = [
                (url_cell(addresses.url(url)), shown_text(details) if details else "")
                for url, details in found.first
            ]
            listed = long_table(title, (noun, "details"), rows, found.count)
            yield folded(title, listed, chip(kind.value, "warn" if kind in _BAD else ""))
