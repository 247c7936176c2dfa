"""The cards about what is wrong: failures, problems, duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._base.display import counted, grouped
from usp.report.markup import (
    FIRST_ROWS,
    Markup,
    card,
    chip,
    folded,
    long_table,
    table,
    url_cell,
)
from usp.report.text import Addresses, shown_text

if TYPE_CHECKING:
    from usp.report.figures import Summary
    from usp.report.problems import KindRow

MAX_TABLE = 100
MAX_REASONS = 8


def damage_cards(summary: Summary) -> list[Markup]:
    """Return what is missing and what is damaged; one sentence if nothing is."""
    cards = []
    if summary.totals.failures:
        cards.append(failures_card(summary))
    if summary.totals.problems:
        cards.append(problems_card(summary))
    if not cards:
        text = f"Nothing is missing, and no problems were found. {_looked(summary)}"
        cards.append(Markup(f'<p class="good">{text}</p>'))
    return cards


def failures_card(summary: Summary) -> Markup:
    """Return the sitemaps that are missing or incomplete."""
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
    """Return the reasons with their counts, for more failures than are seen at once."""
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
    """Return the damage inside documents, by kind."""
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
    """Return one kind of problem: how often it came, and examples to unfold."""
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


def duplicates_card(summary: Summary) -> Markup:
    """Return the URLs that are declared more than once."""
    found = summary.duplicates
    addresses = Addresses(summary.origin)
    rows = summary.sitemaps
    about = "About " if found.one_in > 1 else ""
    note = (
        f"{about}{counted(found.urls, 'URL is', 'URLs are')} declared more than once, "
        f"in {counted(found.extra, 'declaration')} too many."
    )
    if found.one_in > 1:
        note += f" Estimated from {sample(found.one_in)}."
    pairs = long_table(
        "Sitemaps that share most",
        ("sitemap", "and", "URLs in both"),
        [
            (url_cell(addresses.url(rows[one].url)), url_cell(addresses.url(rows[two].url)), count)
            for one, two, count in found.pairs
        ],
        len(found.pairs),
    )
    examples = long_table(
        "Examples",
        ("page", "stands in"),
        [
            (
                url_cell(addresses.url(url)),
                Markup("<br>".join(url_cell(addresses.url(rows[at].url)) for at in places[:5])),
            )
            for url, places in found.examples
        ],
        len(found.examples),
    )
    return card(
        "duplicates",
        "Duplicates",
        pairs if found.pairs else "",
        examples if found.examples else "",
        wide=True,
        note=note,
    )


def sample(one_in: int) -> str:
    """Return which share of all URLs was looked at."""
    return f"one in {grouped(one_in)} URLs"


def _looked(summary: Summary) -> str:
    looked, sitemaps = summary.problems.looked_at, summary.problems.sitemaps
    if looked == sitemaps:
        return "All sitemaps were looked at."
    return f"{grouped(looked)} of {counted(sitemaps, 'sitemap')} were looked at for problems."


def _more(count: int) -> str:
    return f"and {grouped(count)} more" if count > 0 else ""
