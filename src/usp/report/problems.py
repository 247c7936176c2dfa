"""Failures and problems: counted by kind in bounded memory, and their cards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from usp._base.display import counted, grouped
from usp.objects.problem import ProblemCode, by_kind, kind_key
from usp.report.checks import checked
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
    from collections.abc import Sequence

    from usp.objects.problem import AnyCode, Problem, ProblemKind
    from usp.report.summary import Summary

MAX_ODD_PAGES = 200_000
"""How many pages of sitemaps that look damaged are checked for problems."""

MAX_OTHER_PAGES = 25_000
"""The same for sitemaps that look fine."""

MAX_KINDS = 200
MAX_EXAMPLES = 10
"""How many problems of one kind are listed."""

MAX_TABLE = 100
MAX_REASONS = 8

_OTHER = ProblemCode.OTHER_PROBLEM


@dataclass(frozen=True, slots=True)
class ListedProblem:
    """A problem, with the index of its sitemap in the summary."""

    sitemap: int
    message: str
    line: int | None
    excerpt: str | None
    lost: int


@dataclass(slots=True)
class KindRow:
    """One kind of problem: how often, in how many sitemaps, entries lost, examples."""

    code: AnyCode
    message: str
    count: int = 0
    sitemaps: int = 0
    lost: int = 0
    examples: list[ListedProblem] = field(default_factory=list)


@dataclass(slots=True)
class ProblemList:
    """All problems, counted by kind.

    ``looked_at`` of ``sitemaps`` were checked, which is slow: see :data:`MAX_ODD_PAGES`.
    """

    count: int = 0
    lost: int = 0
    looked_at: int = 0
    sitemaps: int = 0
    kinds: dict[str, KindRow] = field(default_factory=dict)

    def add(self, number: int, problems: Sequence[Problem]) -> tuple[int, int]:
        """Add the problems of a sitemap; return how many there are, and how many entries were lost."""
        before = self.count, self.lost
        seen: set[int] = set()
        for found in by_kind(problems):
            self.count += found.times
            self.lost += found.lost
            kind = self._kind(found)
            kind.count += found.times
            kind.lost += found.lost
            kind.sitemaps += id(kind) not in seen
            seen.add(id(kind))
        for problem in problems:
            examples = self._kind(problem).examples
            if problem.times == 1 and len(examples) < MAX_EXAMPLES:
                examples.append(
                    ListedProblem(
                        number, problem.message, problem.line, problem.excerpt, problem.lost
                    )
                )
        return self.count - before[0], self.lost - before[1]

    def most_frequent(self) -> list[KindRow]:
        """Return the kinds, the most frequent first."""
        return sorted(self.kinds.values(), key=lambda kind: -kind.count)

    def _kind(self, problem: Problem | ProblemKind) -> KindRow:
        key = kind_key(problem)
        if key not in self.kinds and len(self.kinds) >= MAX_KINDS:
            return self.kinds.setdefault(_OTHER.value, KindRow(_OTHER, "other problems"))
        return self.kinds.setdefault(key, KindRow(problem.code, problem.message))


def damage_cards(summary: Summary) -> list[Markup]:
    """Return the cards for failures and problems, or a sentence if there are none."""
    cards = []
    if summary.totals.failures:
        cards.append(failures_card(summary))
    if summary.totals.problems:
        cards.append(problems_card(summary))
    if not cards:
        text = f"Nothing is missing, and no problems were found. {_looked(summary)}"
        if not summary.checks.rules:
            text += f" {checked(summary.checks)}"
        cards.append(Markup(f'<p class="good">{text}</p>'))
    return cards


def failures_card(summary: Summary) -> Markup:
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


def problems_card(summary: Summary) -> Markup:
    """Return the card for problems inside documents, by kind."""
    problems = summary.problems
    lost = (
        counted(problems.lost, "entry was", "entries were") if problems.lost else "no entries were"
    )
    note = f"{counted(problems.count, 'problem')}; {lost} lost. {_looked(summary)}"
    kinds = [_kind(kind, summary) for kind in problems.most_frequent()[:MAX_TABLE]]
    left = len(problems.kinds) - MAX_TABLE
    if left > 0:
        kinds.append(Markup(f'<p class="more">and {counted(left, "more kind")}</p>'))
    first, rest = kinds[:FIRST_ROWS], kinds[FIRST_ROWS:]
    if rest:
        first.append(folded(counted(len(problems.kinds) - FIRST_ROWS, "more kind"), "".join(rest)))
    return card("problems", "Problems", *first, wide=True, note=note)


def _kind(kind: KindRow, summary: Summary) -> Markup:
    """Return one kind of problem: how often it occurred, and examples to expand."""
    addresses = Addresses(summary.origin)
    rows = summary.sitemaps
    examples = table(
        shown_text(kind.message),
        ("sitemap", "line", "text", "entries lost"),
        [
            (
                url_cell(addresses.url(rows[problem.sitemap].url)),
                problem.line,
                None if problem.excerpt is None else addresses.text(problem.excerpt),
                problem.lost,
            )
            for problem in kind.examples
        ],
        _more(kind.count - len(kind.examples)),
    )
    chips = [
        chip(counted(kind.count, "time"), "warn"),
        chip(counted(kind.sitemaps, "sitemap")),
        chip(f"{counted(kind.lost, 'entry')} lost", "bad") if kind.lost else "",
    ]
    return folded(addresses.text(kind.message), examples, *chips)


def _looked(summary: Summary) -> str:
    looked, sitemaps = summary.problems.looked_at, summary.problems.sitemaps
    if looked == sitemaps:
        return "All sitemaps were checked."
    return f"{grouped(looked)} of {counted(sitemaps, 'sitemap')} were checked for problems."


def _more(count: int) -> str:
    return f"and {grouped(count)} more" if count > 0 else ""
