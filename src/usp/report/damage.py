"""The cards about what is wrong: duplicates, problems, failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.display import counted, grouped
from usp.report.markup import Markup, card, chip, folded, table, url_cell
from usp.report.text import shown_text, shown_url

if TYPE_CHECKING:
    from usp.report.figures import Summary
    from usp.report.problems import KindRow

MAX_TABLE = 100


def duplicates_card(summary: Summary) -> Markup:
    """URLs that stand in more than one sitemap."""
    found = summary.duplicates
    if not found.urls:
        note = "No page stands in more than one sitemap."
        if found.one_in > 1:
            note = f"Of {_sample(found.one_in)}, none stands in more than one sitemap."
        return card("duplicates", "Duplicates", wide=True, note=note)
    rows = summary.sitemaps
    about = "About " if found.one_in > 1 else ""
    note = (
        f"{about}{grouped(found.urls)} URLs are declared more than once, "
        f"in {grouped(found.extra)} declarations too many."
    )
    if found.one_in > 1:
        note += f" Estimated from {_sample(found.one_in)}."
    pairs = table(
        "Sitemaps that share most",
        ("sitemap", "and", "URLs in both"),
        [
            (url_cell(shown_url(rows[one].url)), url_cell(shown_url(rows[two].url)), count)
            for one, two, count in found.pairs
        ],
    )
    examples = table(
        "Examples",
        ("page", "stands in"),
        [
            (
                url_cell(shown_url(url)),
                Markup("<br>".join(url_cell(shown_url(rows[at].url)) for at in places[:5])),
            )
            for url, places in found.examples
        ],
    )
    return card(
        "duplicates",
        "Duplicates",
        pairs if found.pairs else "",
        examples if found.examples else "",
        wide=True,
        note=note,
    )


def failures_card(summary: Summary) -> Markup:
    """Sitemaps that could not be had."""
    total = summary.totals.failures
    if not total:
        return card(
            "failures", "Failures", wide=True, note="Everything that is declared was found."
        )
    listed = summary.failures[:MAX_TABLE]
    rows = [
        (
            url_cell(shown_url(failure.url)),
            shown_text(failure.reason),
            None if failure.status is None else str(failure.status),
            failure.attempts,
        )
        for failure in listed
    ]
    return card(
        "failures",
        "Failures",
        table(
            "What is missing, or not whole",
            ("sitemap", "reason", "status", "attempts"),
            rows,
            _more(total - len(listed)),
        ),
        wide=True,
    )


def problems_card(summary: Summary) -> Markup:
    """Damage inside documents."""
    problems = summary.problems
    looked = (
        f"Looked for in {grouped(problems.looked_at)} of {grouped(problems.sitemaps)} sitemaps."
        if problems.looked_at < problems.sitemaps
        else "Looked for in all sitemaps."
    )
    if not problems.count:
        note = f"No problems were found. {looked}"
        return card("problems", "Problems", wide=True, note=note)
    note = (
        f"{counted(problems.count, 'problem')}, by which {counted(problems.lost, 'entry')} "
        f"{'was' if problems.lost == 1 else 'were'} lost. {looked}"
    )
    kinds = problems.most_frequent()
    listed = [_kind(kind, summary) for kind in kinds[:MAX_TABLE]]
    return card(
        "problems", "Problems", *listed, _more(len(kinds) - MAX_TABLE), wide=True, note=note
    )


def _kind(kind: KindRow, summary: Summary) -> Markup:
    """Return one kind of problem: how often it came, and examples to unfold."""
    rows = summary.sitemaps
    examples = table(
        kind.message,
        ("sitemap", "line", "text", "entries lost"),
        [
            (
                url_cell(shown_url(rows[problem.sitemap].url)),
                problem.line,
                None if problem.excerpt is None else shown_text(problem.excerpt),
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
    return folded(shown_text(kind.message), examples, *chips)


def _sample(one_in: int) -> str:
    return f"one in {grouped(one_in)} URLs"


def _more(count: int) -> str:
    return f"and {grouped(count)} more" if count > 0 else ""
