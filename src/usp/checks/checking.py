"""The check itself: one pass over the tree, rules asked on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from usp._base.urls import unquote, urlsplit
from usp._inputs import Source, is_url, tree_of, tree_of_async
from usp.checks.context import CheckedSitemap, Site
from usp.checks.fetching import CrossHostDeclarations, FetchedPage, fetched_pages
from usp.checks.finding import Baseline, Finding, Hit, Severity
from usp.checks.page_columns import PageColumns
from usp.checks.page_urls import normal_url
from usp.checks.registry import RuleScope, RuleSelection
from usp.checks.rules import RULES
from usp.objects.problem import FailureCode, ProblemCode
from usp.objects.sitemap import AbstractPagesSitemap, IndexWebsiteSitemap, InvalidSitemap, kind_of
from usp.options import CrawlOptions
from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient

if TYPE_CHECKING:
    from os import PathLike

    from usp.objects.abstract_sitemap import AbstractSitemap


_OTHER_DOCUMENTS = frozenset(
    {FailureCode.HTML_PAGE, FailureCode.BOT_CHALLENGE, FailureCode.NOT_A_SITEMAP}
)  # what else is wrong with them does not matter
# Failures whose reasons are in the words of logs.
_FOR_LOGS = (FailureCode.FORBIDDEN_DOCTYPE, FailureCode.NOT_FETCHED)


@dataclass(frozen=True, slots=True)
class Checking:
    """Which rules are asked, how severe they are, and how many pages are fetched themselves.

    If it ``is_live``, what the tree lacks may be fetched: the robots.txt of other hosts.
    """

    chosen: RuleSelection
    fetch_pages: int = 0
    web_client: AbstractWebClient | None = None
    options: CrawlOptions = field(default_factory=CrawlOptions)
    is_live: bool = False

    @classmethod
    def of(
        cls,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        severities: Mapping[str, Severity | str] | None = None,
        **rest: Any,
    ) -> Checking:
        """Return a check with the chosen rules; raises ``ValueError`` for one that does not exist."""
        return cls(RuleSelection.of(RULES, select, ignore, severities or {}), **rest)

    def findings(
        self, root: AbstractSitemap, on_pages: Callable[[int], object] = lambda _: None
    ) -> Iterator[Finding]:
        """Yield what the rules find, sitemap by sitemap; what is about all of them at the end.

        ``on_pages`` is called with the number of pages of each block that was read.
        """
        site = Site(root, self.fetch_pages)
        if self.is_live and site.start_url is not None:
            site.cross_host = CrossHostDeclarations(site.start_url, self.web_client, self.options)
        seen: set[int | str] = set()  # documents that were checked, and their URLs
        waiting: list[tuple[AbstractSitemap, CheckedSitemap | None]] = [(root, None)]
        while waiting:
            node, parent = waiting.pop()
            sitemap = CheckedSitemap(site, node, parent)
            stored = node.stored
            keys = () if stored is None else (id(stored.document), normal_url(node.url))
            if seen.isdisjoint(keys):  # it may be in the tree twice, perhaps after a redirect
                seen.update(keys)
                yield from self._check(sitemap, on_pages)
            site.sitemaps.append(sitemap)
            waiting.extend((child, sitemap) for child in reversed(node.sub_sitemaps))
        reported = {url for one in site.sitemaps for url in (one.url, one.requested)}
        for failure in site.not_found:
            # There is a rule about robots.txt; what is declared and looked for is told once.
            if not site.is_robots_url(failure.url) and failure.url not in reported:
                yield from self._found(failure.code.rule, [Hit(failure.plain)], failure.url)
        yield from self._ask(RuleScope.SITE, site, root.url)
        if any(rule.scope is RuleScope.FETCHED for rule in self.chosen.rules):
            for page in fetched_pages(site, self.web_client, self.options):
                yield from self._ask(RuleScope.FETCHED, page, page.listed.sitemap)

    def _check(
        self, sitemap: CheckedSitemap, on_pages: Callable[[int], object]
    ) -> Iterator[Finding]:
        """Read a sitemap, and ask the rules about it and its pages."""
        stored, site = sitemap.node.stored, sitemap.site
        gathered = {"sample", *(name for rule in self.chosen.rules for name in rule.uses)}
        if stored is None:
            sitemap.problems = sitemap.node.problems
        else:
            is_pages = isinstance(sitemap.node, AbstractPagesSitemap)
            roles = {"is_robots": sitemap.is_robots, "lists_sitemaps": not is_pages}
            examination = sitemap.examination = stored.examination(**roles)
            first = None  # the line of the first page
            for examined in examination.blocks():
                if not sitemap.pages:
                    first = examined.place(0).line
                block = PageColumns(sitemap, examined)
                sitemap.add(block)
                for name in gathered:
                    getattr(site, name).add(block)
                on_pages(len(block.urls))
                yield from self._ask(RuleScope.BLOCK, block, sitemap.url)
            sitemap.problems = examination.problems
            if not is_pages:  # what the tree knows, and the document alone does not show
                known = {problem.code for problem in sitemap.problems}
                if ProblemCode.SITEMAPS_IN_URLSET in known:
                    known.add(ProblemCode.PAGES_IN_INDEX)  # the same from the other side
                more = (one for one in sitemap.node.problems if one.code not in known)
                sitemap.problems.extend(replace(one, line=first) for one in more)
            sitemap.children = examination.children
            sitemap.failure = sitemap.node.failure  # a damaged record is known only now
        yield from self._parsed(sitemap)
        yield from self._ask(RuleScope.SITEMAP, sitemap, sitemap.url)
        sitemap.examination = None
        sitemap.origins.counts.clear()

    def _parsed(self, sitemap: CheckedSitemap) -> Iterator[Finding]:
        """Yield what reading the document has found, and why it could not be read."""
        node = sitemap.node
        failure = node.why if isinstance(node, InvalidSitemap) else sitemap.failure
        if failure is not None and not (sitemap.is_soft_404 or sitemap.is_missing_file):
            lines = (one.line for one in sitemap.problems if one.code is failure.code and one.line)
            said = failure.code.message if failure.code in _FOR_LOGS else failure.plain
            hit = Hit(f"{said}{sitemap.declared_in}", line=next(lines, None))
            yield from self._found(failure.code.rule, [hit], sitemap.url)
        is_other = failure is not None and failure.code in _OTHER_DOCUMENTS
        if is_other or (sitemap.is_robots and sitemap.site.robots.is_something_else):
            return
        for problem in sitemap.problems:
            if failure is not None and problem.code in (failure.code, FailureCode.TRUNCATED):
                continue  # what was not received whole breaks off, too
            quoted = "" if problem.excerpt is None else f": {problem.excerpt!r}"
            hit = Hit(f"{problem.message}{quoted}", line=problem.line, times=problem.times)
            yield from self._found(problem.code.rule, [hit], sitemap.url)

    def _ask(
        self,
        scope: RuleScope,
        about: Site | CheckedSitemap | PageColumns | FetchedPage,
        url: str,
    ) -> Iterator[Finding]:
        """Yield what the rules of a scope find in something of the document at a URL."""
        for rule in self.chosen.rules:
            if rule.scope is scope and rule.find is not None:
                hits = rule.find(about)
                if isinstance(about, PageColumns | FetchedPage):
                    hits = map(about.located, hits)
                yield from self._found(rule.code, hits, url)

    def _found(self, code: str, hits: Iterable[Hit], url: str) -> Iterator[Finding]:
        rule = RULES[code]
        for hit in hits if code in self.chosen else ():
            about = code, rule.name, self.chosen.severities[code], hit.message
            place = hit.sitemap or url, hit.page, hit.line, hit.column
            yield Finding(*about, *place, rule.hint, hit.times)


_BATCH = 500  # findings that a thread makes at a time


class CheckKeywords(TypedDict, total=False):
    """The keywords of :func:`check`."""

    select: Sequence[str]
    ignore: Sequence[str]
    severities: Mapping[str, Severity | str] | None
    fetch_pages: int
    baseline: Baseline | str | PathLike[str] | None


def check(
    source: Source,
    web_client: AbstractWebClient | None = None,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    severities: Mapping[str, Severity | str] | None = None,
    fetch_pages: int = 0,
    baseline: Baseline | str | PathLike[str] | None = None,
    options: CrawlOptions | None = None,
) -> Iterator[Finding]:
    """Yield what is wrong with the sitemaps of a website.

    ``source`` is a tree, or what it is read from: the URL of a website or a sitemap, the path of a
    snapshot, a sitemap or a folder. ``select`` and ``ignore`` are codes of rules, the beginnings of
    codes (``SM4``) or names; of two that fit, the longer one counts. ``severities`` are other
    severities of rules, by code, beginning or name; ``off`` is one, too. ``fetch_pages`` is how many of
    the listed pages are fetched themselves, a sample, if robots.txt allows it. Findings in the
    ``baseline``, or in the file of one, are left out. ``web_client`` and ``options`` are for what is
    fetched.

    Raises ``ValueError`` for a rule that does not exist, before anything is fetched.
    """
    rules = {"select": select, "ignore": ignore, "severities": severities}
    find = _prepared(source, web_client, options, baseline, **rules, fetch_pages=fetch_pages)
    return find(tree_of(source, web_client, options))


async def check_async(
    source: Source,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
    **keywords: Unpack[CheckKeywords],
) -> AsyncGenerator[Finding, None]:
    """Yield the same as :func:`check` on asyncio: fetched in the event loop, checked in a thread."""
    find = _prepared(source, web_client, options, **keywords)
    findings = find(await tree_of_async(source, web_client, options))
    while batch := await asyncio.to_thread(lambda: list(islice(findings, _BATCH))):
        for finding in batch:
            yield finding


def _prepared(
    source: Source,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None,
    options: CrawlOptions | None,
    baseline: Baseline | str | PathLike[str] | None = None,
    **keywords: Any,
) -> Callable[[AbstractSitemap], Iterator[Finding]]:
    """Return what checks the tree of a source: a client on asyncio fetches nothing more for it."""
    client = None if isinstance(web_client, AbstractAsyncWebClient) else web_client
    is_live = client is not None or (web_client is None and is_url(source))
    given = options or CrawlOptions()
    checking = Checking.of(**keywords, web_client=client, options=given, is_live=is_live)
    if baseline is not None and not isinstance(baseline, Baseline):
        baseline = Baseline.read(baseline)

    def find(tree: AbstractSitemap) -> Iterator[Finding]:
        findings = checking.findings(drop_non_sitemaps(tree))
        return findings if baseline is None else baseline.new(findings)

    return find


# What browserconfig.xml and the like are, if they are read as sitemaps.
_NOT_SITEMAPS = ("not-a-sitemap", "html-page", "forbidden-doctype", "empty-document")


def drop_non_sitemaps(tree: AbstractSitemap) -> AbstractSitemap:
    """Return the tree of a folder without files that nothing declares and that are something else.

    Any other tree is returned as it is: what was named, declared or found as a sitemap is meant as one.
    """
    is_folder = isinstance(tree, IndexWebsiteSitemap) and tree.url.startswith("file:")
    if not is_folder or all(map(_is_meant, tree.sub_sitemaps)):
        return tree
    return IndexWebsiteSitemap(tree.url, [node for node in tree.sub_sitemaps if _is_meant(node)])


def _is_meant(node: AbstractSitemap) -> bool:
    """Return whether a file at the top of the tree is a sitemap, or at least called one."""
    if "sitemap" in PurePosixPath(unquote(urlsplit(node.url).path)).name.lower():
        return True
    if isinstance(node, InvalidSitemap):
        return node.failure is None or node.failure.code not in _NOT_SITEMAPS
    if kind_of(node).name == "text":  # llms.txt has lines with URLs, and others
        return all(problem.code is not ProblemCode.BAD_LINE for problem in node.problems)
    return True
