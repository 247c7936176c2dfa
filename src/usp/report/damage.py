"""The cards about what is wrong: duplicates, problems, failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.report.markup import Markup, card, table, url_cell
from usp.report.text import grouped, shown_text, shown_url

if TYPE_CHECKING:
    from usp.report.figures import Summary

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
    rows = summary.sitemaps
    kinds = sorted(problems.kinds.values(), key=lambda kind: -kind.count)
    kind_table = table(
        "By kind",
        ("what", "times", "sitemaps", "entries lost", "first in"),
        [
            (
                shown_text(kind.message),
                kind.count,
                kind.sitemaps,
                kind.lost,
                url_cell(shown_url(rows[kind.first].url)),
            )
            for kind in kinds[:MAX_TABLE]
        ],
        _more(len(kinds) - MAX_TABLE),
    )
    listed = problems.listed[:MAX_TABLE]
    single = table(
        "One by one",
        ("sitemap", "line", "what", "text", "entries lost"),
        [
            (
                url_cell(shown_url(rows[problem.sitemap].url)),
                problem.line,
                shown_text(problem.message),
                None if problem.excerpt is None else shown_text(problem.excerpt),
                problem.lost,
            )
            for problem in listed
        ],
        _more(problems.count - len(listed)),
    )
    lost = grouped(problems.lost)
    note = f"Problems: {grouped(problems.count)}, entries lost by them: {lost}. {looked}"
    return card("problems", "Problems", kind_table, single, wide=True, note=note)


def _sample(one_in: int) -> str:
    return f"one in {grouped(one_in)} URLs"


def _more(count: int) -> str:
    return f"and {grouped(count)} more" if count > 0 else ""
