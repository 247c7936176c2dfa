"""What is shown beside a tree: its findings by rule and by document, and the verdict on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from usp.checks.checking import Checking, OnBlock, ignore_block
from usp.checks.finding import Severity
from usp.checks.node_findings import findings_of, is_quickly_read, requested
from usp.checks.verdicts import CheckList, RuleRow, Verdict, by_sitemap, judge
from usp.objects.abstract_sitemap import walk

if TYPE_CHECKING:
    from usp.objects.abstract_sitemap import AbstractSitemap


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
        findings = (
            Checking.of().findings(tree, on_block) if checked else findings_of(tree, read=False)
        )
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
