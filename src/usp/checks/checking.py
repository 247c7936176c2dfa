"""The check itself: one pass over the tree, rules asked on the way."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field, replace
from itertools import chain, islice, repeat
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack

from usp._base.urls import origin_of, unquote, urlsplit
from usp._crawl.stored_pages import ExaminedBlock
from usp._formats.abstract_parser import ignore
from usp._inputs import Source, is_url, tree_of, tree_of_async
from usp.checks.context import CheckedSitemap, Site
from usp.checks.finding import Baseline, Finding, Severity
from usp.checks.node_findings import (
    CODES,
    FAILURES,
    findings_at,
    is_broken,
    is_folder,
    is_new,
    is_quickly_read,
    known_findings,
    missing_findings,
    requested,
    with_known,
)
from usp.checks.page_columns import PageColumns
from usp.checks.page_urls import origin_at
from usp.checks.registry import RuleScope, RuleSelection
from usp.checks.robots_access import AGENTS, agents_of
from usp.checks.rules import RULES
from usp.checks.verdicts import CheckList, RuleRow, Verdict, by_sitemap, judge
from usp.objects.abstract_sitemap import walk
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import (
    AbstractPagesSitemap,
    IndexWebsiteSitemap,
    InvalidSitemap,
    kind_of,
    stored_of,
    websites_in,
)
from usp.options import CrawlOptions
from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient

if TYPE_CHECKING:
    from os import PathLike

    from usp._formats.abstract_parser import Place
    from usp.checks.fetching import FetchedPage
    from usp.checks.ignores import Ignore
    from usp.objects.abstract_sitemap import AbstractSitemap


OnBlock: TypeAlias = Callable[["AbstractSitemap", ExaminedBlock], object]


def ignore_block(node: AbstractSitemap, block: ExaminedBlock) -> None:
    """Take no notice of a block of pages."""


@dataclass(frozen=True, slots=True)
class Checking:
    """Which rules are asked, how severe they are, and how many pages are fetched themselves.

    ``agents`` are the robots for which robots.txt is judged. If it ``is_live``, what the tree lacks may
    be fetched: the robots.txt of other hosts. After ``most_pages`` no more pages are read: of other
    sitemaps, only why they failed is a finding. ``url`` is where files will be, ``against`` a list of
    pages, ``before`` an earlier state. ``on_page_problem`` is called with the code of each
    problem of a page, and its URL; of many, findings are but the first ones and their number.
    """

    chosen: RuleSelection
    fetch_pages: int = 0
    fetch_linked: bool = False
    web_client: AbstractWebClient | None = None
    options: CrawlOptions = field(default_factory=CrawlOptions)
    is_live: bool = False
    most_pages: int | None = None
    agents: Sequence[str] = AGENTS
    url: str | None = None
    against: AbstractSitemap | None = None
    before: AbstractSitemap | None = None
    on_page_problem: Callable[[ProblemCode, str], object] = ignore

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for what is no URL of a website."""
        if self.url is not None and origin_at(self.url) is None:
            example = "such as https://example.org/"
            raise ValueError(f"{self.url!r} is not the URL of a website, {example}")

    @classmethod
    def of(
        cls,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        severities: Mapping[str, Severity | str] | None = None,
        agents: Iterable[str] = AGENTS,
        profile: str | None = None,
        **rest: Any,
    ) -> Checking:
        """Return a check with the chosen rules; raises ``ValueError`` for one that does not exist."""
        chosen = RuleSelection.of(RULES, select, ignore, severities or {}, profile)
        return cls(chosen, agents=agents_of(agents), **rest)

    def findings(
        self, root: AbstractSitemap, on_block: OnBlock = ignore_block
    ) -> Iterator[Finding]:
        """Yield what the rules find, sitemap by sitemap; what is about all of them at the end.

        The neighbours of a website are websites of their own. ``on_block`` is called with each block of
        pages that was read, and its sitemap before that.
        """
        for website in websites_in(root):
            yield from self._findings_of(website, on_block)

    def _findings_of(self, root: AbstractSitemap, on_block: OnBlock) -> Iterator[Finding]:
        site = Site(root, self)
        if self.is_live and site.start_url is not None:
            from usp.checks.fetching import OtherRobots  # noqa: PLC0415 - not of a tree

            site.others = OtherRobots(site.start_url, self.web_client, self.options)
        seen: set[int | str] = set()  # documents that were checked, and their URLs
        waiting: list[tuple[AbstractSitemap, CheckedSitemap | None]] = [(root, None)]
        while waiting:
            node, parent = waiting.pop()
            sitemap = CheckedSitemap(site, node, parent)
            if is_new(node, seen):
                yield from self._check(sitemap, on_block)
            site.sitemaps.append(sitemap)
            waiting.extend((child, sitemap) for child in reversed(node.sub_sitemaps))
        yield from self._chosen(missing_findings(root))
        yield from self._ask(RuleScope.SITE, site, root.url)
        is_any = site.sample.pages or site.built.is_built
        if is_any and self.chosen.asked[RuleScope.FETCHED]:
            from usp.checks.fetching import OtherRobots, fetched_pages  # noqa: PLC0415 - few pages

            others = site.others or OtherRobots(site.start_url, self.web_client, self.options)
            if known := site.robots_txt:
                others.known[origin_of(known.url)] = site.robots
            fetched = fetched_pages(site.sample.pages, others, linked=self.fetch_linked)
            for page in chain(site.built.pages(), fetched):
                yield from self._ask(RuleScope.FETCHED, page, page.listed.sitemap)

    def _check(self, sitemap: CheckedSitemap, on_block: OnBlock) -> Iterator[Finding]:
        """Read a sitemap, and ask the rules about it and its pages."""
        is_whole = yield from self._read(sitemap, on_block)
        about = sitemap.node, sitemap.problems, sitemap.declared
        yield from self._chosen(findings_at(*about, in_folder=sitemap.site.is_folder))
        if is_whole:
            yield from self._ask(RuleScope.SITEMAP, sitemap, sitemap.url)
        sitemap.examination = None
        sitemap.origins.forget()
        sitemap.variants.clear()

    def _read(self, sitemap: CheckedSitemap, on_block: OnBlock) -> Generator[Finding, None, bool]:
        """Read a sitemap, and ask the rules about its pages; return whether it was read to its end."""
        stored, site = stored_of(sitemap.node), sitemap.site
        is_pages = isinstance(sitemap.node, AbstractPagesSitemap)
        if (is_pages and site.is_full) or is_broken(sitemap.failure):
            return False
        gathered = {name for rule in self.chosen.rules for name in rule.uses}
        if self.chosen.asked[RuleScope.FETCHED]:
            gathered |= {"sample", "built"}
        blocks: Iterable[ExaminedBlock]
        if stored is None:  # as in a table
            examination, sitemap.problems = None, sitemap.node.problems
            listed = sitemap.node.page_blocks() if is_pages else ()
            blocks = (ExaminedBlock(pages) for _, pages in listed)
        else:
            roles = {"is_robots": sitemap.is_robots, "lists_sitemaps": not is_pages}
            examination = sitemap.examination = stored.examination(**roles)
            examination.on_page_problem = self.on_page_problem
            blocks = examination.blocks()
        first: Place = (None, None)  # of the first page
        held: Iterable[Finding] = ()
        for examined in blocks:
            if not sitemap.pages:
                first = examined.place(0, "")
            block = PageColumns(sitemap, examined)
            sitemap.add(block)
            for name in gathered:
                getattr(site, name).add(block)
            on_block(sitemap.node, examined)
            yield from held
            findings: Iterable[Finding] = self._ask(RuleScope.BLOCK, block, sitemap.url)
            held, findings = _held_back(block, findings) if sitemap.is_cut else ((), findings)
            yield from findings
            site.room -= len(block.urls)
            if is_pages and site.is_full:
                if examination is not None:
                    sitemap.problems = examination.problems  # so far
                return False
        if examination is not None:
            found = examination.problems
            sitemap.problems = found if is_pages else with_known(sitemap.node, found, first)
            sitemap.children = examination.children
            sitemap.failure = sitemap.node.failure  # a damaged record is known only now
        return True

    def _ask(
        self,
        scope: RuleScope,
        about: Site | CheckedSitemap | PageColumns | FetchedPage,
        url: str,
    ) -> Iterator[Finding]:
        """Yield what the rules of a scope find in something of the document at a URL."""
        is_part = isinstance(about, Site) and about.is_full  # rules that compare pages miss some
        for rule in self.chosen.asked[scope]:
            if rule.find and not (is_part and rule.uses):
                hits = rule.find(about)
                if not isinstance(about, Site | CheckedSitemap):
                    hits = map(about.located, hits, repeat(rule.element))
                severity = self.chosen.severities[rule.code]
                for hit in hits:
                    found = rule.code, rule.name, severity, hit.message, hit.sitemap or url
                    yield Finding(*found, hit.page, *hit.place, rule.hint)

    def _chosen(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield those that are asked for, as severe as they are meant to be."""
        for one in findings:
            if one.code in self.chosen:
                yield replace(one, severity=self.chosen.severities[one.code])


def _held_back(
    block: PageColumns, findings: Iterable[Finding]
) -> tuple[list[Finding], list[Finding]]:
    """Return the findings about the last page of a block, which may be cut, and the others."""
    both: tuple[list[Finding], list[Finding]] = [], []
    for one in findings:
        both[one.page != block.urls[-1]].append(one)
    return both


# What is shown beside a tree: its findings by rule and by document, and the verdict on them ----------


@dataclass(frozen=True, slots=True)
class SiteFindings:
    """What is wrong with the documents of a tree.

    ``found`` are all findings by rule. If they are not ``checked``, because the website is large, they
    are what is known without its pages: what failed, and what is wrong inside indexes.
    """

    tree: AbstractSitemap = field(repr=False)
    found: CheckList
    checked: bool
    _rows: Mapping[str, list[RuleRow]] = field(repr=False)

    @classmethod
    def of(
        cls,
        tree: AbstractSitemap,
        checked: bool | None = None,
        on_block: OnBlock = ignore_block,
    ) -> SiteFindings:
        """Return the findings of a tree; a small one is checked unless something else is said."""
        if checked is None:
            checked = is_quickly_read(walk(tree))
        findings = Checking.of().findings(tree, on_block) if checked else known_findings(tree)
        found = CheckList()
        rows = by_sitemap(found.counted(findings), most_sitemaps=None)
        return cls(tree, found, checked, rows)

    def at(self, node: AbstractSitemap) -> Iterator[RuleRow]:
        """Yield what each rule found in the document of a node, the most severe first; no infos."""
        for url in dict.fromkeys((node.url, requested(node))):
            yield from self._serious(url)

    def elsewhere(self) -> Iterator[RuleRow]:
        """Yield the same of documents that are not in the tree."""
        inside = {url for node in walk(self.tree) for url in (node.url, requested(node))}
        for url in self._rows:
            if url not in inside:
                yield from self._serious(url)

    def _serious(self, url: str) -> Iterator[RuleRow]:
        return (row for row in self._rows.get(url, ()) if row.severity is not Severity.INFO)

    def verdict(self, *, counts: bool = True) -> Verdict:
        """Return the verdict; without ``counts`` no documents are read for the number of pages."""
        return judge(self.tree, self.found, checked=self.checked, counts=counts)


def findings_of(tree: AbstractSitemap, *, read: bool = True) -> Iterator[Finding]:
    """Yield what failed in a tree, and what is wrong inside its documents.

    These are the findings of :func:`usp.checks.check` that need no rules, sitemap by sitemap, with
    the same codes, messages and places. Without ``read`` no document is read for them: what is wrong
    inside page sitemaps is left out, and so are the lines where sitemaps are declared.
    """
    known = {code: RULES[code].severity for code in CODES.keys() | FAILURES}
    return Checking(RuleSelection((), known)).findings(tree) if read else known_findings(tree)


# The entry points ------------------------------------------------------------------------------------


_BATCH = 500  # findings that a thread makes at a time


class CheckKeywords(TypedDict, total=False):
    """The keywords of :func:`check`."""

    select: Sequence[str]
    ignore: Sequence[str]
    severities: Mapping[str, Severity | str] | None
    fetch_pages: int
    fetch_linked: bool
    agents: Iterable[str]
    profile: str | None
    url: str | None
    ignores: Iterable[Ignore | Mapping[str, Any]]
    baseline: Baseline | str | PathLike[str] | None


def check(
    source: Source,
    web_client: AbstractWebClient | None = None,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    severities: Mapping[str, Severity | str] | None = None,
    fetch_pages: int = 0,
    fetch_linked: bool = False,
    agents: Iterable[str] = AGENTS,
    profile: str | None = None,
    url: str | None = None,
    against: Source | None = None,
    compare: Source | None = None,
    ignores: Iterable[Ignore | Mapping[str, Any]] = (),
    baseline: Baseline | str | PathLike[str] | None = None,
    options: CrawlOptions | None = None,
) -> Iterator[Finding]:
    """Yield what is wrong with the sitemaps of a website.

    ``source`` is a tree, or what it is read from: the URL of a website or a sitemap, the path of a
    snapshot, a sitemap or a folder. ``select`` and ``ignore`` are codes of rules, the beginnings of
    codes (``SM4``) or names; of two that fit, the longer one counts. ``severities`` are other
    severities of rules, by code, beginning or name; ``off`` is one, too. ``fetch_pages`` is how many of
    the listed pages are fetched themselves, a sample, if robots.txt allows it; with ``fetch_linked``
    their images, videos and versions in other languages, too. ``agents`` are the
    robots for which robots.txt is judged; beside ``Googlebot``, those for news, images and videos too.
    A ``profile`` (``google``, ``bing``, ``news``, ``video``, ``strict``) is what one of them wants.
    ``url`` is where a folder or a file will be; ``against`` are pages that are known, ``compare`` is an
    earlier state: both are sources, too.
    What fits one of the ``ignores``, which are as in the configuration file, and what is in the
    ``baseline``, or in the file of one, is left out. ``web_client`` and ``options`` are for what is
    fetched.

    Raises ``ValueError`` for a rule or a profile that does not exist and a robot without a name, before
    anything is fetched.
    """
    rules = {"select": select, "ignore": ignore, "severities": severities, "profile": profile}
    more = {"fetch_pages": fetch_pages, "fetch_linked": fetch_linked, "agents": agents, "url": url}
    find = _prepared(source, web_client, options, baseline, ignores, **rules, **more)
    others = (one and tree_of(one, web_client, options) for one in (against, compare))
    return find(tree_of(source, web_client, options), *others)


async def check_async(
    source: Source,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
    against: Source | None = None,
    compare: Source | None = None,
    **keywords: Unpack[CheckKeywords],
) -> AsyncGenerator[Finding, None]:
    """Yield the same as :func:`check` on asyncio: fetched in the event loop, checked in a thread."""
    find = _prepared(source, web_client, options, **keywords)
    trees = [
        one and await tree_of_async(one, web_client, options) for one in (source, against, compare)
    ]
    findings = find(*trees)
    while batch := await asyncio.to_thread(lambda: list(islice(findings, _BATCH))):
        for finding in batch:
            yield finding


def _prepared(
    source: Source,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None,
    options: CrawlOptions | None,
    baseline: Baseline | str | PathLike[str] | None = None,
    ignores: Iterable[Ignore | Mapping[str, Any]] = (),
    **keywords: Any,
) -> Callable[..., Iterator[Finding]]:
    """Return what checks the tree of a source: a client on asyncio fetches nothing more for it."""
    client = None if isinstance(web_client, AbstractAsyncWebClient) else web_client
    is_live = client is not None or (web_client is None and is_url(source))
    given = options or CrawlOptions()
    checking = Checking.of(**keywords, web_client=client, options=given, is_live=is_live)
    if baseline is not None and not isinstance(baseline, Baseline):
        baseline = Baseline.read(baseline)
    others: Callable[[Iterator[Finding]], Iterator[Finding]] = iter
    if ignores:
        from usp.checks.ignores import Ignores  # noqa: PLC0415 - most checks ignore nothing

        others = Ignores(ignores).others

    def find(
        tree: AbstractSitemap, against: AbstractSitemap | None, before: AbstractSitemap | None
    ) -> Iterator[Finding]:
        asked = replace(checking, against=against, before=before)
        findings = others(asked.findings(drop_non_sitemaps(tree)))
        if baseline is None:
            return findings
        baseline.follow([tree.url])
        return baseline.new(findings)

    return find


# What browserconfig.xml and the like are, if they are read as sitemaps.
_NOT_SITEMAPS = ("not-a-sitemap", "html-page", "forbidden-doctype", "empty-document")


def drop_non_sitemaps(tree: AbstractSitemap) -> AbstractSitemap:
    """Return the tree of a folder without files that nothing declares and that are something else.

    Any other tree is returned as it is: what was named, declared or found as a sitemap is meant as one.
    """
    if not is_folder(tree) or all(map(_is_meant, tree.sub_sitemaps)):
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
