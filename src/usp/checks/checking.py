"""The check itself: one pass over the tree, rules asked on the way."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from usp.checks.blocks import Block
from usp.checks.facts import Site, Sitemap
from usp.checks.fetching import Sample, fetched_pages
from usp.checks.listing import normal_url
from usp.checks.proofs import proofs_with
from usp.checks.registry import Scope
from usp.checks.robots import robots_of
from usp.checks.rules import RULES
from usp.checks.rules.parsed import rule_of
from usp.checks.selecting import Chosen
from usp.checks.values import Finding, Hit
from usp.objects.problem import FailureCode, ProblemCode
from usp.objects.sitemap import AbstractPagesSitemap, InvalidSitemap
from usp.options import CrawlOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from usp.checks.fetching import FetchedPage
    from usp.checks.registry import Rule
    from usp.checks.values import Severity
    from usp.objects.abstract_sitemap import AbstractSitemap
    from usp.web_client.abstract_client import AbstractWebClient


@dataclass(frozen=True, slots=True)
class Checking:
    """Which rules are asked, how severe they are, and how many pages are fetched themselves.

    If it ``is_live``, what the tree lacks may be fetched: the robots.txt of other hosts.
    """

    chosen: Chosen
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
        *,
        fetch_pages: int = 0,
        web_client: AbstractWebClient | None = None,
        options: CrawlOptions | None = None,
        is_live: bool = False,
    ) -> Checking:
        """Return a check with the chosen rules; raises ``ValueError`` for one that does not exist."""
        chosen = Chosen.of(RULES, select, ignore, severities or {})
        return cls(chosen, fetch_pages, web_client, options or CrawlOptions(), is_live)

    def findings(
        self, root: AbstractSitemap, on_pages: Callable[[int], object] | None = None
    ) -> Iterator[Finding]:
        """Yield what the rules find, sitemap by sitemap; what is about all of them at the end.

        ``on_pages`` is called with the number of pages of each block that was read.
        """
        site = Site(root)
        if self.is_live and site.start_url is not None:
            site.proofs = proofs_with(site.start_url, self.web_client, self.options)
        return _Run(self, site, on_pages).findings()


_OTHER_DOCUMENTS = frozenset(
    {FailureCode.HTML_PAGE, FailureCode.BOT_CHALLENGE, FailureCode.NOT_A_SITEMAP}
)  # what else is wrong with them does not matter


class Collecting(Protocol):
    """What is gathered from all blocks for rules that need it."""

    def add(self, block: Block) -> None:
        """Add the pages of a block."""
        ...


_FOR_LOGS = (FailureCode.FORBIDDEN_DOCTYPE, FailureCode.NOT_FETCHED)
"""Failures whose reasons are in the words of logs."""


class _Run:
    """One check of one tree."""

    def __init__(
        self, checking: Checking, site: Site, on_pages: Callable[[int], object] | None = None
    ) -> None:
        self._checking = checking
        self._chosen = chosen = checking.chosen
        self._sample = Sample(checking.fetch_pages)
        self._site = site
        self._on_pages = on_pages
        self._rules: dict[Scope, list[Rule]] = defaultdict(list)
        for rule in chosen.rules:
            self._rules[rule.scope].append(rule)
        self._collecting: list[Collecting] = [
            getattr(site, name)
            for name in sorted({name for rule in chosen.rules for name in rule.uses})
        ]
        self._read: set[int | str] = set()  # documents that were checked, and their URLs

    def findings(self) -> Iterator[Finding]:
        self._site.robots = robots_of(self._site.root)
        waiting: list[tuple[AbstractSitemap, Sitemap | None]] = [(self._site.root, None)]
        while waiting:
            node, parent = waiting.pop()
            sitemap = Sitemap(self._site, node, parent)
            yield from self._check(sitemap)
            self._site.sitemaps.append(sitemap)
            waiting.extend((child, sitemap) for child in reversed(node.sub_sitemaps))
        told = {url for one in self._site.sitemaps for url in (one.url, one.requested)}
        for failure in self._site.not_found:
            # There is a rule about robots.txt; what is declared and looked for is told once.
            if not self._site.is_robots_url(failure.url) and failure.url not in told:
                yield from self._found(rule_of(failure.code), [Hit(failure.plain)], failure.url)
        for rule in self._rules[Scope.SITE]:
            yield from self._found(rule, self._asked(rule, self._site), self._site.root.url)
        yield from self._check_pages()

    def _check_pages(self) -> Iterator[Finding]:
        """Fetch some pages, and ask the rules about them."""
        checking, rules = self._checking, self._rules[Scope.FETCHED]
        if not rules:
            return
        pages = fetched_pages(self._site, self._sample, checking.web_client, checking.options)
        for page in pages:
            place = page.listed.place
            for rule in rules:
                for hit in self._asked(rule, page):
                    here = replace(hit, page=page.url, line=place.line, column=place.column)
                    yield from self._found(rule, [here], page.listed.sitemap)

    def _check(self, sitemap: Sitemap) -> Iterator[Finding]:
        """Read a sitemap, and ask the rules about it and its pages."""
        stored = sitemap.node.stored
        url = normal_url(sitemap.url)
        if stored is not None and not self._read.isdisjoint((id(stored.document), url)):
            return  # it is in the tree twice, perhaps after a redirect
        if stored is None:
            sitemap.problems = sitemap.node.problems
        else:
            self._read |= {id(stored.document), url}
            is_pages = isinstance(sitemap.node, AbstractPagesSitemap)
            examination = stored.examination(
                is_robots=sitemap.is_robots, lists_sitemaps=not is_pages
            )
            sitemap.examination = examination
            first = None  # the line of the first page
            for examined in examination.blocks():
                if not sitemap.pages:
                    first = examined.place(0).line
                block = Block(sitemap, examined, sitemap.pages)
                sitemap.add(block)
                self._sample.add(block)
                for collecting in self._collecting:
                    collecting.add(block)
                if self._on_pages is not None:
                    self._on_pages(len(block.urls))
                yield from self._check_block(block)
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
        for rule in self._rules[Scope.SITEMAP]:
            yield from self._found(rule, self._asked(rule, sitemap), sitemap.url)
        sitemap.examination = None
        sitemap.origins.counts.clear()

    def _check_block(self, block: Block) -> Iterator[Finding]:
        for rule in self._rules[Scope.BLOCK]:
            for hit in self._asked(rule, block):
                if hit.at is None:
                    yield from self._found(rule, [hit], block.sitemap.url)
                    continue
                place = block.place(hit.at)
                yield Finding(
                    rule.code,
                    rule.name,
                    self._chosen.severity(rule),
                    hit.message,
                    block.sitemap.url,
                    block.urls[hit.at],
                    place.line,
                    place.column,
                    rule.hint,
                )

    @staticmethod
    def _asked(rule: Rule, about: Site | Sitemap | Block | FetchedPage) -> Iterable[Hit]:
        assert rule.find is not None
        return rule.find(about)

    def _parsed(self, sitemap: Sitemap) -> Iterator[Finding]:
        """Yield what reading the document has found, and why it could not be read."""
        node = sitemap.node
        failure = node.why if isinstance(node, InvalidSitemap) else sitemap.failure
        if failure is not None and not (sitemap.is_soft_404 or sitemap.is_missing_file):
            lines = (one.line for one in sitemap.problems if one.code is failure.code and one.line)
            said = failure.code.message if failure.code in _FOR_LOGS else failure.plain
            hit = Hit(f"{said}{sitemap.declared_in}", line=next(lines, None))
            yield from self._found(rule_of(failure.code), [hit], sitemap.url)
        is_other = failure is not None and failure.code in _OTHER_DOCUMENTS
        if is_other or (sitemap.is_robots and self._site.robots.is_something_else):
            return
        for problem in sitemap.problems:
            rule = rule_of(problem.code)
            if failure is not None and problem.code in (failure.code, FailureCode.TRUNCATED):
                continue  # what was not received whole breaks off, too
            quoted = "" if problem.excerpt is None else f": {problem.excerpt!r}"
            hit = Hit(f"{problem.message}{quoted}", line=problem.line, times=problem.times)
            yield from self._found(rule, [hit], sitemap.url)

    def _found(self, rule: Rule, hits: Iterable[Hit], url: str) -> Iterator[Finding]:
        if rule.code not in self._chosen:
            return
        for hit in hits:
            yield Finding(
                rule.code,
                rule.name,
                self._chosen.severity(rule),
                hit.message,
                hit.sitemap or url,
                hit.page,
                hit.line,
                hit.column,
                rule.hint,
                hit.times,
            )
