"""``list_sitemaps``, ``summarise_site``, ``check_site`` and ``explain``."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from usp._base.dates import as_written
from usp.checks.checking import Checking
from usp.checks.finding import Severity
from usp.checks.registry import rules_named
from usp.checks.rules import RULES
from usp.export.sitemaps import failure_row, places_in, sitemap_row, why_missing
from usp.mcp.tool_call import Cancelled, CancelToken, ToolCall, ToolContext, client_options, fitting
from usp.mcp.tool_values import (
    NextPart,
    Refresh,
    ResultSource,
    SiteAddress,
    SiteText,
    SiteUrl,
    Texts,
    ToolValue,
    clean,
    optional,
    reason_of,
    remedy_of,
)
from usp.objects.abstract_sitemap import AbstractSitemap, page_sitemaps, walk
from usp.objects.problem import Failure, FailureCode, ProblemCode
from usp.objects.sitemap import AbstractPagesSitemap, IndexWebsiteSitemap, kind_of, state_of
from usp.report.content import Content, Tally
from usp.report.problems import CheckList, RuleRow, by_rule
from usp.web_client.requests_client import RequestsWebClient

if TYPE_CHECKING:
    from collections.abc import Iterable

    from usp.mcp.tool_call import CachedTree
    from usp.objects.failure_codes import Code

# list_sitemaps -------------------------------------------------------------------------------------


class Sitemap(ToolValue):
    """A sitemap."""

    url: SiteAddress
    parent: SiteAddress | None = optional("Sitemap that declares it.")
    level: int = Field(description="Depth in the tree, 0 at the top.")
    type: str = Field(
        description="Format: robots, index, urlset, text, rss, atom; invalid if it failed."
    )
    state: Literal["read", "incomplete", "failed", "not followed"]
    status: int | None = optional("HTTP status of the response.")
    bytes: int | None = None
    lastmod: str | None = optional("Date that its index declares.")
    pages: int | None = optional("Pages that it lists itself.")
    problems: int | None = optional("Mistakes inside the document; check_site tells which.")
    code: str | None = optional("Kind of failure, for the tool explain.")
    reason: str | None = optional("Why it failed or is incomplete.")
    todo: str | None = optional("What to do about the failure.")


class SitemapList(ToolValue):
    """Sitemaps in the order of their tree."""

    source: ResultSource
    total: int = Field(description="Number of sitemaps of the list in all its parts.")
    sitemaps: list[Sitemap]
    next_cursor: str | None = None


async def list_sitemaps(
    ctx: ToolContext,
    url: SiteUrl,
    refresh: Refresh = False,
    cursor: NextPart = "",
    only_failed: bool = Field(
        False, description="List only sitemaps that are missing or incomplete."
    ),
    limit: int = Field(50, ge=1, le=200, description="Most sitemaps in one result."),
) -> SitemapList:
    """Find and fetch the sitemaps of a website, and list them in the order of their tree.

    They are found in robots.txt, at well-known paths and in indexes. Each has its type, HTTP status,
    number of pages, problems, and why it failed. Use it to see how a site organises its sitemaps, or
    why pages are missing.
    """
    call = ToolCall(ctx, url, refresh, asked=("list_sitemaps", only_failed))
    cached = await call.tree(cursor)
    total, found = await call.read(_sitemaps, cached.tree, only_failed, call.begin, limit)
    return SitemapList(**call.part(cached, total, sitemaps=found))


def _sitemaps(
    token: CancelToken, tree: AbstractSitemap, only_failed: bool, begin: int, limit: int
) -> tuple[int, list[Sitemap]]:
    """Return how many sitemaps there are, and some of them; their pages are counted if time allows."""
    rows: list[tuple[AbstractSitemap | Failure, str | None, int]] = list(places_in(tree))
    if isinstance(tree, IndexWebsiteSitemap):
        rows[:0] = [(failure, None, 0) for failure in tree.not_found]
    if only_failed:
        rows = [row for row in rows if isinstance(row[0], Failure) or row[0].failure is not None]
    return len(rows), [_sitemap(token, *row) for row in rows[begin : begin + limit]]


def _sitemap(
    token: CancelToken, node: AbstractSitemap | Failure, parent: str | None, level: int
) -> Sitemap:
    if isinstance(node, Failure):
        row = failure_row(node, reason_of) | {"state": "failed"}
        why: Failure | None = node
    else:
        row = sitemap_row(node, reason_of, count=False) | _counts(token, node)
        row["state"] = state_of(node)[0] or "read"
        row["lastmod"] = node.last_modified and as_written(node.last_modified)
        why = why_missing(node)
    row |= {"parent": parent, "level": level, "reason": row["failure"]}
    return Sitemap(**row, todo=(why and remedy_of(why)) or None)


def _counts(token: CancelToken, node: AbstractSitemap) -> dict[str, int | None]:
    """Return the number of problems and pages; nothing if there is no time to read them."""
    try:
        token.step()
    except Cancelled:  # what is known without reading is better than nothing
        return {}
    problems = node.problem_count()  # first: finding them counts the pages too
    pages = node.page_count() if isinstance(node, AbstractPagesSitemap) else None
    token.pages += pages or 0
    return {"problems": None if kind_of(node).name == "invalid" else problems, "pages": pages}


# summarise_site ------------------------------------------------------------------------------------


_MOST_SECTIONS = 25
_MOST_NAMES = 15
_MOST_MONTHS = 24


class NameCount(ToolValue):
    """A name, and how often it occurs."""

    name: str
    count: int


class TopNames(ToolValue):
    """Names with their counts, the most frequent first."""

    top: list[NameCount] = Field(default_factory=list)
    other: int = Field(default=0, description="Sum of those that are not listed.")

    @classmethod
    def of(cls, tally: Tally, most: int = _MOST_NAMES) -> TopNames:
        """Return the most frequent names of a tally."""
        found = tally.top(most)
        return cls(top=_named(found.items), other=found.other)


def _named(counts: Iterable[tuple[str, int]]) -> list[NameCount]:
    return [NameCount(name=clean(name, 100), count=count) for name, count in counts]


class SiteSummary(ToolValue):
    """A website in numbers, as its sitemaps declare it. A page in two sitemaps counts twice."""

    source: ResultSource
    sitemaps: int = Field(
        description="Number of sitemaps. If there are none in robots.txt and at well-known paths, and "
        "you know where one is, pass its URL."
    )
    formats: list[NameCount] = Field(description="Sitemaps by format.")
    bytes: int = Field(description="Bytes of sitemaps that were received.")
    pages: int
    all_counted: bool = Field(description="False if there was no time to count all pages.")
    oldest: str | None = optional("Earliest lastmod of a page.")
    newest: str | None = optional("Latest lastmod of a page.")
    undated: int = Field(description="Pages without a lastmod.")
    months: list[NameCount] = Field(
        description="Pages by month of their lastmod; the latest first."
    )
    sections: TopNames = Field(description="Pages by the first two folders of their path.")
    hosts: TopNames = Field(description="Pages by host.")
    languages: TopNames = Field(description="Links to versions in other languages (hreflang).")
    news: int = Field(description="Pages with news, or entries of feeds.")
    news_months: list[NameCount] = Field(
        description="News by month of their publication; the latest first."
    )
    publications: TopNames = Field(description="News by the name of their publication.")
    images: int
    videos: int


async def summarise_site(ctx: ToolContext, url: SiteUrl, refresh: Refresh = False) -> SiteSummary:
    """Count what the sitemaps of a website declare. The best first call for an unknown site.

    Pages, news, images, videos; sections by path, hosts, languages, the range of dates and pages per
    month, formats of sitemaps, and what failed with what to do about it.
    """
    call = ToolCall(ctx, url, refresh)
    cached = await call.tree()
    cached.require_response()
    return await call.read(_summary, cached, call.source(cached))


def _summary(token: CancelToken, cached: CachedTree, source: ResultSource) -> SiteSummary:
    content = Content()
    days: list[str] = []  # the first and the last one of each block
    complete = True
    try:
        for node in page_sitemaps(cached.tree):
            for block in token.blocks(node):
                span, _ = content.add(block)
                days += span or ()
    except Cancelled:
        complete = False
    nodes = [node for node in walk(cached.tree) if not isinstance(node, IndexWebsiteSitemap)]
    return SiteSummary(
        source=source,
        sitemaps=len(nodes),
        formats=_named(Counter(kind_of(node).name for node in nodes).most_common()),
        bytes=cached.size,
        pages=content.pages,
        all_counted=complete,
        oldest=min(days, default=None),
        newest=max(days, default=None),
        undated=content.dates.undated,
        months=_latest(content.dates.months),
        sections=TopNames.of(content.sections, _MOST_SECTIONS),
        hosts=TopNames.of(content.hosts),
        languages=TopNames.of(content.alternates.names),
        news=content.news,
        news_months=_latest(content.news_dates.months),
        publications=TopNames.of(content.publications),
        images=content.images.items,
        videos=content.videos.items,
    )


def _latest(months: Tally) -> list[NameCount]:
    return _named(sorted(months.items(), reverse=True)[:_MOST_MONTHS])


# check_site ----------------------------------------------------------------------------------------


SeverityWord = Literal["error", "warning", "info"]

_PROOF_SECONDS = 3.0  # for the robots.txt of another host
_ALL_PROOF_SECONDS = 10.0  # for those of all other hosts


class Example(ToolValue):
    """One thing that a rule found."""

    message: SiteText
    sitemap: SiteAddress
    page: SiteAddress | None = None
    line: int | None = optional("Line of the sitemap.")


class RuleFindings(ToolValue):
    """What a rule found."""

    code: str
    name: str
    severity: SeverityWord
    times: int = Field(description="Number of findings.")
    sitemaps: int = Field(description="Number of sitemaps that have any.")
    fix: str = Field(description="What to do.")
    examples: list[Example]


class CheckResult(ToolValue):
    """What was found, by rule, the most severe first."""

    source: ResultSource
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
    limit: int = Field(30, ge=1, le=150, description="Most rules in the result."),
) -> CheckResult:
    """Check the sitemaps of a website against the sitemap protocol and the rules of search engines.

    Returns what was found by rule, the most severe first, with examples and how to fix it. The tool
    explain has the full documentation of a rule.
    """
    call = ToolCall(ctx, url, refresh)
    checking = _checking(call, select, ignore)
    cached = await call.tree()
    cached.require_response()
    least = Severity(min_severity).rank

    def check(token: CancelToken) -> CheckList:
        findings = checking.findings(cached.tree, token.step)
        severe = (one for one in findings if one.severity.rank <= least)
        return by_rule(severe, Cancelled, examples)

    found = await call.read(check, fetches=True)
    rules = fitting([_findings(row) for row in found.rules[:limit]])
    return CheckResult(
        source=call.source(cached),
        checked_all=found.complete,
        findings=sum(found.severities.values()),
        **{f"{severity}s": count for severity, count in found.severities.items()},
        rules=rules,
        more_rules=[row.code for row in found.rules[len(rules) :]],
    )


def _checking(call: ToolCall, select: list[str], ignore: list[str]) -> Checking:
    seconds = call.options.limits.seconds or math.inf
    limits = replace(  # for the robots.txt of other hosts, of which there may be many slow ones
        call.options.limits,
        seconds=min(_ALL_PROOF_SECONDS, seconds),
        document_seconds=min(_PROOF_SECONDS, seconds),
    )
    try:
        client = RequestsWebClient(**client_options(call.options))
        options = replace(call.options.crawl, limits=limits)
        return Checking.of(select, ignore, web_client=client, options=options, is_live=True)
    except ValueError as error:
        said = clean(str(error)).replace("'usp rule --all' lists them", "try SM4 or leave it out")
        raise ToolError(f"Wrong arguments: {said}") from error


def _findings(row: RuleRow) -> RuleFindings:
    values = {name: getattr(row, name) for name in ("code", "name", "severity", "sitemaps")}
    values |= {"times": row.count, "fix": row.hint, "examples": row.examples}
    return RuleFindings.model_validate(values)


# explain -------------------------------------------------------------------------------------------


_CODES: dict[str, Code] = {code.value: code for code in (*ProblemCode, *FailureCode)}


class Explanation(ToolValue):
    """What a code means."""

    code: str
    name: str | None = None
    kind: str = Field(description="rule, failure or problem")
    severity: str | None = optional("Of a rule: error, warning or info.")
    summary: str
    why: str = ""
    bad: str = Field(default="", description="An example that is wrong.")
    good: str = Field(default="", description="The same, right.")
    fix: str = Field(description="What to do.")
    sources: list[str] = Field(default_factory=list)


class Explanations(ToolValue):
    """What a code means; the beginning of codes has several explanations."""

    explanations: list[Explanation]
    more: list[str] = Field(
        default_factory=list, description="Further codes that fit; ask for them one by one."
    )


async def explain(
    code: str = Field(
        min_length=1,
        max_length=100,
        description="Code or name of a rule (SM401, relative-url), the beginning of codes (SM4), "
        "or the code of a failure or a problem (not-found, bare-ampersand).",
    ),
) -> Explanations:
    """Explain what a code in another result means and what to do about it.

    A rule of check_site (SM401, relative-url, or SM4 for a group), or the code of a failure or a
    problem of a sitemap (not-found, bare-ampersand).
    """
    text = code.strip().lower().replace("_", "-")
    if text in _CODES:
        known = _CODES[text]
        kind = "failure" if isinstance(known, FailureCode) else "problem"
        texts = {"summary": known.message, "why": known.meaning, "bad": known.example}
        about = {"code": known.value, "kind": kind, **texts, "fix": known.remedy}
        return Explanations(explanations=[Explanation.model_validate(about)])
    try:
        rules = rules_named(RULES, code)
    except ValueError as error:
        near = get_close_matches(text, [*_CODES, *(rule.name for rule in RULES.values())], 3)
        hint = "list_sitemaps and check_site return codes that can be explained."
        if near:
            hint = f"did you mean {' or '.join(dict.fromkeys(near))}?"
        wrong = f"There is no rule, failure or problem {clean(code)!r}"
        raise ToolError(f"{wrong}; {hint}") from error
    facts = (rule.to_dict() | {"kind": "rule", "fix": rule.hint} for rule in rules)
    found = fitting([Explanation.model_validate(one) for one in facts])
    return Explanations(explanations=found, more=[rule.code for rule in rules[len(found) :]])
