"""``list_sitemaps``, ``summarise_site``, ``check_site`` and ``explain``."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from usp._base.dates import as_written
from usp._content import Content, Tally
from usp.checks.checking import Checking
from usp.checks.finding import Severity
from usp.checks.registry import rules_named
from usp.checks.rules import RULES
from usp.checks.verdicts import CheckList, by_rule
from usp.export.sitemaps import failure_row, places_in, sitemap_row
from usp.mcp.tool_call import (
    Cancelled,
    CancelToken,
    Cursor,
    Limit,
    ListResult,
    Refresh,
    RuleFindings,
    SeverityWord,
    SiteAddress,
    SiteResult,
    SiteText,
    SiteUrl,
    Texts,
    ToolCall,
    ToolContext,
    ToolValue,
    clean,
    fitting,
    optional,
    refusing_wrong_arguments,
)
from usp.objects.abstract_sitemap import page_sitemaps, walk
from usp.objects.problem import Failure, FailureCode
from usp.objects.sitemap import (
    SITEMAP_TYPES,
    IndexWebsiteSitemap,
    kind_of,
    not_found_in,
    state_of,
)
from usp.web_client.requests_client import RequestsWebClient

if TYPE_CHECKING:
    from collections.abc import Iterable

    from usp.mcp.tool_call import CachedTree, ResultSource
    from usp.objects.abstract_sitemap import AbstractSitemap

# list_sitemaps -------------------------------------------------------------------------------------


_REASON = attrgetter("plain")  # without advice: findings have the hint of their rule


class Sitemap(ToolValue):
    """A sitemap."""

    url: SiteAddress
    parent: SiteAddress | None = optional("Sitemap that declares it.")
    level: int = Field(description="Depth in the tree, 0 at the top.")
    type: str = Field(description=f"Format: {', '.join(SITEMAP_TYPES)}; invalid if it failed.")
    state: Literal["read", "incomplete", "failed", "not followed"]
    status: int | None = optional("HTTP status of the response.")
    bytes: int | None = optional("Bytes that were received, after decompression.")
    lastmod: str | None = optional("Date that its index declares.")
    pages: int | None = optional("Pages that it lists itself.")
    problems: int | None = optional("Mistakes inside the document; check_site lists them.")
    code: str | None = optional("Rule that says why it failed or is incomplete, for explain.")
    reason: SiteText | None = optional("Why it failed or is incomplete.")


class SitemapList(ListResult):
    """Sitemaps in the order of their tree."""

    sitemaps: list[Sitemap]


async def list_sitemaps(
    ctx: ToolContext,
    url: SiteUrl,
    refresh: Refresh = False,
    cursor: Cursor = "",
    only_failed: bool = Field(
        False, description="List only sitemaps that are missing or incomplete."
    ),
    limit: Limit = 50,
) -> SitemapList:
    """Find and fetch the sitemaps of a website, and list them in the order of their tree.

    They are found in robots.txt, at well-known paths and in indexes. Each has its type, HTTP status,
    number of pages, problems, and why it failed. Use it to see how a site organises its sitemaps, or
    why pages are missing.
    """
    call = ToolCall(ctx, url, refresh, cursor, asked=("list_sitemaps", only_failed))
    cached = await call.tree()
    total, found = await call.read(_sitemaps, cached.tree, only_failed, call.begin, limit)
    return SitemapList(**call.part(cached, total, sitemaps=found))


def _sitemaps(
    token: CancelToken, tree: AbstractSitemap, only_failed: bool, begin: int, limit: int
) -> tuple[int, list[Sitemap]]:
    """Return how many sitemaps there are, and some of them with the number of their pages."""
    rows: list[tuple[AbstractSitemap | Failure, str | None, int]] = list(places_in(tree))
    rows[:0] = [(failure, None, 0) for failure in not_found_in(tree)]
    if only_failed:
        rows = [row for row in rows if isinstance(row[0], Failure) or row[0].failure is not None]
    return len(rows), [_sitemap(token, *row) for row in rows[begin : begin + limit]]


def _sitemap(
    token: CancelToken, node: AbstractSitemap | Failure, parent: str | None, level: int
) -> Sitemap:
    if isinstance(node, Failure):
        row = failure_row(node, _REASON) | {"state": "failed"}
    else:
        token.step()
        problems = node.problem_count()  # first: finding them counts the pages too
        row = sitemap_row(node, _REASON) | {"problems": problems}
        row["state"] = state_of(node)[0] or "read"
        row["lastmod"] = node.last_modified and as_written(node.last_modified)
    code = row["code"] and FailureCode(row["code"]).rule
    about = {"parent": parent, "level": level, "code": code, "reason": row["failure"]}
    return Sitemap(**row | about)


# summarise_site ------------------------------------------------------------------------------------


_MOST_SECTIONS = 25
_MOST_NAMES = 15
_MOST_MONTHS = 24


class SiteSummary(SiteResult):
    """A website in numbers, as its sitemaps declare it. A page in two sitemaps counts twice."""

    verdict: str = Field(
        description="red, amber or green, why in a sentence, and what to do if nothing was found."
    )
    sitemaps: int = Field(
        description="Number of sitemaps. If there are none in robots.txt and at well-known paths, and "
        "you know where one is, pass its URL."
    )
    formats: dict[str, int] = Field(description="Sitemaps by format.")
    bytes: int = Field(description="Bytes of sitemaps that were received.")
    pages: int
    all_counted: bool = Field(description="False if there was no time to count all pages.")
    oldest: str | None = optional("Earliest lastmod of a page.")
    newest: str | None = optional("Latest lastmod of a page.")
    undated: int = Field(description="Pages without a lastmod.")
    months: dict[str, int] = Field(description="Pages by month of their lastmod; the latest first.")
    sections: dict[str, int] = Field(
        description="Pages by the first two folders of their path; those with most pages."
    )
    hosts: dict[str, int] = Field(description="Pages by host.")
    languages: dict[str, int] = Field(
        description="Links to versions in other languages (hreflang)."
    )
    news: int = Field(description="Pages with news, or entries of feeds.")
    news_months: dict[str, int] = Field(
        description="News by month of their publication; the latest first."
    )
    publications: dict[str, int] = Field(description="News by the name of their publication.")
    images: int
    videos: int


async def summarise_site(ctx: ToolContext, url: SiteUrl, refresh: Refresh = False) -> SiteSummary:
    """Count what the sitemaps of a website declare. The best first call for an unknown site.

    Pages, news, images, videos; sections by path, hosts, languages, the range of dates and pages per
    month, formats of sitemaps, and what failed with what to do about it.
    """
    call = ToolCall(ctx, url, refresh)
    cached = await call.tree()
    return await call.read(_summary, cached, call.source(cached))


def _summary(token: CancelToken, cached: CachedTree, source: ResultSource) -> SiteSummary:
    content = Content()
    complete = True
    try:
        for node in page_sitemaps(cached.tree):
            for block in token.blocks(node):
                content.add(block)
    except Cancelled:
        complete = False
    nodes = [node for node in walk(cached.tree) if not isinstance(node, IndexWebsiteSitemap)]
    verdict = cached.wrong.verdict()
    return SiteSummary(
        source=source,
        verdict=f"{clean(str(verdict))} {clean(verdict.advice)}".rstrip(),
        sitemaps=len(nodes),
        formats=_named(Counter(kind_of(node).name for node in nodes).most_common()),
        bytes=sum(node.size or 0 for node in nodes),
        pages=content.pages,
        all_counted=complete,
        oldest=content.dates.first,
        newest=content.dates.last,
        undated=content.dates.undated,
        months=_latest(content.dates.months),
        sections=_named(content.sections.largest(_MOST_SECTIONS)),
        hosts=_top(content.hosts),
        languages=_top(content.alternates.names),
        news=content.news,
        news_months=_latest(content.news_dates.months),
        publications=_top(content.publications),
        images=content.images.items,
        videos=content.videos.items,
    )


def _top(tally: Tally, most: int = _MOST_NAMES) -> dict[str, int]:
    return _named(tally.top(most).items)


def _latest(months: Tally) -> dict[str, int]:
    return _named(sorted(months.items(), reverse=True)[:_MOST_MONTHS])


def _named(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    return {clean(name, 100): count for name, count in counts}


# check_site ----------------------------------------------------------------------------------------


_PROOF_SECONDS = 3.0  # for the robots.txt of another host
_ALL_PROOF_SECONDS = 10.0  # for those of all other hosts, of which there may be many slow ones


class CheckResult(SiteResult):
    """What was found, by rule, the most severe first."""

    checked_all: bool = Field(description="False if there was no time to check everything.")
    findings: int
    errors: int
    warnings: int
    infos: int
    rules: list[RuleFindings]
    more_rules: list[str] = Field(
        default_factory=list, description="Rules with findings that are not listed; select them."
    )


async def check_site(
    ctx: ToolContext,
    url: SiteUrl,
    refresh: Refresh = False,
    select: Texts = Field(
        [],
        description="Check only these rules: codes (SM401), beginnings of codes (SM4: all about "
        "URLs; SM1 discovery, SM2 transport, SM3 documents, SM5 dates, SM6 languages, SM7 news, "
        "SM8 media) or names (relative-url). Default: all.",
    ),
    ignore: Texts = Field([], description="Leave out these rules."),
    min_severity: SeverityWord = Field("info", description="Leave out what is less severe."),
    examples: int = Field(3, ge=1, le=20, description="Most examples for each rule."),
    limit: Limit = 30,
) -> CheckResult:
    """Check the sitemaps of a website against the sitemap protocol and the rules of search engines.

    Returns what was found by rule, the most severe first, with examples and how to fix it. The tool
    explain has the full documentation of a rule.
    """
    call = ToolCall(ctx, url, refresh)
    limits, least = call.options.crawl.effective_limits, Severity(min_severity).rank
    seconds = limits.seconds or math.inf
    limits = replace(
        limits,
        seconds=min(_ALL_PROOF_SECONDS, seconds),
        document_seconds=min(_PROOF_SECONDS, seconds),
    )
    with refusing_wrong_arguments():
        checking = Checking.of(
            select,
            ignore,
            web_client=RequestsWebClient(**call.state.client),
            options=replace(call.options.crawl, limits=limits),
            is_live=True,
        )
    cached = await call.tree()

    def check(token: CancelToken) -> CheckList:
        findings = checking.findings(cached.tree, lambda _, block: token.step(len(block.urls)))
        severe = (one for one in findings if one.severity.rank <= least)
        return by_rule(severe, Cancelled, examples)

    found = await call.read(check)
    rules = fitting([RuleFindings.of(row) for row in found.rules[:limit]])
    return CheckResult(
        source=call.source(cached).model_copy(update={"findings": []}),  # they are among the rules
        checked_all=found.complete,
        findings=sum(found.severities.values()),
        **{f"{severity}s": count for severity, count in found.severities.items()},
        rules=rules,
        more_rules=[row.code for row in found.rules[len(rules) :]],
    )


# explain -------------------------------------------------------------------------------------------


class Explanation(ToolValue):
    """What a rule means."""

    code: str
    name: str
    severity: SeverityWord
    summary: str
    why: str
    bad: str = Field(description="An example that is wrong.")
    good: str = Field(description="The same, right.")
    hint: str = Field(description="What to do.")
    sources: list[str]


class Explanations(ToolValue):
    """What a rule means; the beginning of codes has several explanations."""

    explanations: list[Explanation]
    more: list[str] = Field(
        default_factory=list, description="Further codes that fit; ask for them one by one."
    )


async def explain(
    code: str = Field(
        min_length=1,
        max_length=100,
        description="Code or name of a rule (SM401, relative-url), or the beginning of codes (SM4).",
    ),
) -> Explanations:
    """Explain what a code in another result means, why it matters, and what to do about it."""
    with refusing_wrong_arguments():
        rules = rules_named(RULES, code)
    found = fitting([Explanation.model_validate(rule) for rule in rules])
    return Explanations(explanations=found, more=[rule.code for rule in rules[len(found) :]])
