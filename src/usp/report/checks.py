"""What the rules of ``usp check`` find: counted by rule, some of each listed, and the card."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from usp._base.display import counted
from usp.checks.checking import Checking
from usp.checks.folding import Counts
from usp.checks.rules import RULES
from usp.checks.values import Severity
from usp.report.markup import (
    FIRST_ROWS,
    Addresses,
    Markup,
    card,
    chip,
    folded,
    shown_text,
    table,
    url_cell,
)

if TYPE_CHECKING:
    from usp.checks.values import Finding
    from usp.objects.sitemap import AbstractSitemap
    from usp.report.summary import Summary

MAX_CHECKED_PAGES = 200_000
"""How many pages are checked; the rest of a larger website is not."""

MAX_RULES = 60
MAX_HINT = 400
MAX_EXAMPLES = 5
"""How many findings of one rule are listed."""

_CHIPS = {Severity.ERROR: "bad", Severity.WARNING: "warn", Severity.INFO: ""}


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
    """All findings by rule. ``complete`` is False if there were too many pages to check them all."""

    severities: dict[str, int] = field(default_factory=dict)
    rules: list[RuleRow] = field(default_factory=list)
    pages: int = 0
    complete: bool = True


class _EnoughError(Exception):
    """Ends a check."""


def checks_of(tree: AbstractSitemap, *, everything: bool = False) -> CheckList:
    """Return what is wrong with a tree; ``everything`` checks all pages, however many there are."""
    found, counts = CheckList(), Counts()
    rows: dict[str, RuleRow] = {}
    seen: dict[str, str] = {}  # the sitemap of the last finding, by rule

    def count(pages: int) -> None:
        if found.pages >= MAX_CHECKED_PAGES and not everything:
            raise _EnoughError
        found.pages += pages

    try:
        for finding in counts.counted(Checking.of().findings(tree, count)):
            row = rows.get(finding.code)
            if row is None:
                row = rows[finding.code] = RuleRow(
                    finding.code, finding.name, finding.severity, finding.hint
                )
            row.count += finding.times
            row.sitemaps += seen.get(finding.code) != finding.sitemap
            seen[finding.code] = finding.sitemap
            if len(row.examples) < MAX_EXAMPLES:
                row.examples.append(finding)
    except _EnoughError:
        found.complete = False
    found.severities = {one.value: counts.severities[one] for one in Severity}
    found.rules = sorted(rows.values(), key=lambda row: (row.severity.rank, -row.count, row.code))
    return found


def checks_card(summary: Summary) -> Markup:
    """Return the card for findings; nothing if there are none."""
    found = summary.checks
    if not found.rules:
        return Markup("")
    chips = [
        chip(counted(number, severity), _CHIPS[Severity(severity)])
        for severity, number in found.severities.items()
        if number
    ]
    rules = [_rule(row, summary) for row in found.rules[:MAX_RULES]]
    left = len(found.rules) - MAX_RULES
    if left > 0:
        rules.append(Markup(f'<p class="more">and {counted(left, "more rule")}</p>'))
    first, rest = rules[:FIRST_ROWS], rules[FIRST_ROWS:]
    if rest:
        more = counted(len(found.rules) - FIRST_ROWS, "more rule")
        first.append(folded(more, "".join(rest)))
    shown = Markup(f'<p class="chips">{" ".join(chips)}</p>') if chips else ""
    return card("checks", "Checks", shown, *first, wide=True, note=checked(found))


def checked(found: CheckList) -> str:
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
                *([_page(example.page, addresses)] if pages else []),
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


def _page(url: str | None, addresses: Addresses) -> Markup | None:
    return None if url is None else url_cell(addresses.url(url))
