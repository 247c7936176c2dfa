"""``check_site``: what is wrong with the sitemaps of a website, by rule."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from usp._base.display import counted
from usp.checks.checking import Checking
from usp.checks.folding import Counts
from usp.checks.rules import RULES
from usp.checks.selecting import rules_named
from usp.checks.values import Severity
from usp.mcp.reading import Stopped
from usp.mcp.schemas import Result, SiteArguments, Source, Texts, Value, fitting
from usp.mcp.tools.summary import has_responded
from usp.mcp.words import Refusal, clean, clean_url, nothing_read, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from usp.checks.values import Finding
    from usp.limits import Limits
    from usp.mcp.call import Call
    from usp.mcp.reading import Reading
    from usp.mcp.trees import Visit

_PROOF_SECONDS = 3.0


class CheckArguments(SiteArguments):
    """What to check."""

    select: Texts = Field(
        default_factory=list,
        description="Check only these rules: codes (SM401), beginnings of codes (SM4: all about URLs; "
        "SM1 discovery, SM2 transport, SM3 documents, SM5 dates, SM6 languages, SM7 news, SM8 media) "
        "or names (relative-url). Default: all.",
    )
    ignore: Texts = Field(default_factory=list, description="Leave out these rules.")
    min_severity: Literal["error", "warning", "info"] = Field(
        default="info", description="Leave out what is less severe."
    )
    examples: int = Field(default=3, ge=1, le=20, description="Most examples for each rule.")
    limit: int = Field(default=30, ge=1, le=150, description="Most rules in the result.")


class Example(Value):
    """One thing that a rule found."""

    message: str
    sitemap: str
    page: str | None = None
    line: int | None = Field(default=None, description="Line of the sitemap.")


class RuleFindings(Value):
    """What a rule found."""

    code: str
    name: str
    severity: Literal["error", "warning", "info"]
    times: int = Field(description="Number of findings.")
    sitemaps: int = Field(description="Number of sitemaps that have any.")
    fix: str = Field(description="What to do.")
    examples: list[Example]


class CheckResult(Result):
    """What was found, by rule, the most severe first."""

    source: Source
    checked_all: bool = Field(description="False if there was no time to check everything.")
    findings: int
    errors: int
    warnings: int
    infos: int
    rules: list[RuleFindings]
    more_rules: list[str] = Field(
        default_factory=list, description="Rules with findings that are not listed; select them."
    )

    def lines(self) -> Iterable[str]:
        """Yield the result as text."""
        yield from self.source.lines()
        rest = "" if self.checked_all else " so far; there was no time for the rest"
        counts = f"errors {self.errors:,}, warnings {self.warnings:,}, infos {self.infos:,}"
        yield f"{counted(self.findings, 'finding')}{rest}: {counts}."
        for one in self.rules:
            where = counted(one.sitemaps, "sitemap")
            yield f"{one.severity} {one.code} {one.name}: {one.times:,} in {where}. Fix: {one.fix}"
            for example in one.examples:
                line = "" if example.line is None else f" line {example.line}"
                page = "" if example.page is None else f", page {example.page}"
                yield f"  {quoted(example.message)} in {example.sitemap}{line}{page}"
        if self.more_rules:
            yield f"Also: {', '.join(self.more_rules)}"


@dataclass(slots=True)
class _Fold:
    first: Finding
    times: int = 0
    sitemaps: set[int] = field(default_factory=set)  # hashes of their URLs
    examples: list[Example] = field(default_factory=list)


async def check_site(call: Call, given: CheckArguments) -> CheckResult:
    """Return what is wrong with the sitemaps of a website."""
    checking = _checking(call, given)
    visit, kept = await call.visit(given.url, refresh=given.refresh)
    if visit.failures and not has_responded(visit):
        raise nothing_read(visit.url, visit.failures)
    return await call.read(_checked, visit, checking, given, Source.of(visit, kept=kept))


def _checking(call: Call, given: CheckArguments) -> Checking:
    for text in (*given.select, *given.ignore):
        try:
            rules_named(RULES, text)
        except ValueError as error:
            said = clean(str(error)).replace(
                "'usp rule --all' lists them", "try SM4 or leave it out"
            )
            raise Refusal(f"Wrong arguments: {said}") from error
    return Checking.of(
        given.select,
        given.ignore,
        web_client=call.trees.client(),
        options=replace(call.options.crawl, limits=_for_proofs(call.options.limits)),
        is_live=True,
    )


def _for_proofs(limits: Limits) -> Limits:
    """Return the limits for the robots.txt of another host, of which there may be many slow ones."""
    seconds = min(_PROOF_SECONDS, limits.seconds or _PROOF_SECONDS)
    return replace(limits, seconds=seconds, document_seconds=seconds)


def _checked(
    reading: Reading, visit: Visit, checking: Checking, given: CheckArguments, source: Source
) -> CheckResult:
    least = Severity(given.min_severity).rank
    counts = Counts()
    folds: dict[str, _Fold] = {}
    complete = True
    found = checking.findings(visit.tree, reading.step)
    severe = (one for one in found if one.severity.rank <= least)
    try:
        for finding in counts.counted(severe):
            fold = folds.setdefault(finding.code, _Fold(finding))
            fold.times += finding.times
            fold.sitemaps.add(hash(finding.sitemap))
            if len(fold.examples) < given.examples:
                fold.examples.append(_example(finding))
    except Stopped:
        complete = False
    ranked = sorted(folds.values(), key=lambda one: (one.first.severity.rank, one.first.code))
    rules = fitting([_findings(fold) for fold in ranked[: given.limit]])
    return CheckResult(
        source=source,
        checked_all=complete,
        findings=counts.total,
        errors=counts.severities[Severity.ERROR],
        warnings=counts.severities[Severity.WARNING],
        infos=counts.severities[Severity.INFO],
        rules=rules,
        more_rules=[fold.first.code for fold in ranked[len(rules) :]],
    )


def _example(finding: Finding) -> Example:
    return Example(
        message=clean(finding.message),
        sitemap=clean_url(finding.sitemap),
        page=None if finding.page is None else clean_url(finding.page),
        line=finding.line,
    )


def _findings(fold: _Fold) -> RuleFindings:
    return RuleFindings(
        code=fold.first.code,
        name=fold.first.name,
        severity=fold.first.severity.value,
        times=fold.times,
        sitemaps=len(fold.sitemaps),
        fix=fold.first.hint,
        examples=fold.examples,
    )
