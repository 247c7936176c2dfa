"""Findings counted and folded: of each rule in each sitemap a number and a few examples.

Memory does not grow with the number of findings, only with that of sitemaps and rules.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from usp.checks.values import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from usp.checks.values import Finding

EXAMPLES = 3
"""How many findings of a rule in a sitemap are shown."""

MOST_SITEMAPS = 20
"""For how many sitemaps the findings of a rule are shown; in others they are only counted."""


class Counts:
    """Counts findings: by severity, by rule, and the sitemaps that have any."""

    def __init__(self) -> None:
        self.severities: Counter[Severity] = Counter()
        self.rules: Counter[str] = Counter()
        self._sitemaps: set[str] = set()

    def counted(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield findings, and count them."""
        for finding in findings:
            self.severities[finding.severity] += finding.times
            self.rules[finding.code] += finding.times
            self._sitemaps.add(finding.sitemap)
            yield finding

    @property
    def total(self) -> int:
        """How many findings there are."""
        return self.severities.total()

    @property
    def sitemaps(self) -> int:
        """How many sitemaps have findings."""
        return len(self._sitemaps)

    def at_least(self, severity: Severity) -> int:
        """Return how many findings are that severe, or more."""
        return sum(self.severities[one] for one in Severity if one.rank <= severity.rank)

    def to_dict(self) -> dict[str, object]:
        """Return the counts as a dictionary of plain values."""
        return {
            "findings": self.total,
            "severities": {one.value: self.severities[one] for one in Severity},
            "rules": dict(sorted(self.rules.items())),
            "sitemaps": self.sitemaps,
        }


@dataclass(slots=True)
class Fold:
    """The findings of one rule in one sitemap: how many there are, and the first of them."""

    first: Finding
    times: int = 0
    examples: list[Finding] = field(default_factory=list)

    @property
    def more(self) -> int:
        """How many findings there are beside the examples."""
        return self.times - sum(example.times for example in self.examples)


@dataclass(slots=True)
class Elsewhere:
    """The findings of one rule in sitemaps that are not shown."""

    first: Finding
    times: int = 0
    sitemaps: set[int] = field(default_factory=set)  # hashes of their URLs


class Folded:
    """Findings by sitemap and rule."""

    def __init__(self, examples: int = EXAMPLES, most_sitemaps: int = MOST_SITEMAPS) -> None:
        self._examples = examples
        self._most = most_sitemaps
        self._folds: dict[tuple[str, str], Fold] = {}
        self._shown: Counter[str] = Counter()  # sitemaps with a fold, by rule
        self.elsewhere: dict[str, Elsewhere] = {}

    @classmethod
    def of(cls, findings: Iterable[Finding], **most: int) -> Folded:
        """Return all findings folded."""
        folded = cls(**most)
        for finding in findings:
            folded.add(finding)
        return folded

    def add(self, finding: Finding) -> None:
        """Count a finding, and keep it if it is among the first."""
        at = finding.sitemap, finding.code
        fold = self._folds.get(at)
        if fold is None:
            if self._shown[finding.code] >= self._most:
                other = self.elsewhere.setdefault(finding.code, Elsewhere(finding))
                other.times += finding.times
                other.sitemaps.add(hash(finding.sitemap))
                return
            self._shown[finding.code] += 1
            fold = self._folds[at] = Fold(finding)
        fold.times += finding.times
        if len(fold.examples) <= self._examples:  # one more: "1 more" takes as much room as it
            fold.examples.append(finding)

    def sitemaps(self) -> dict[str, list[Fold]]:
        """Return the folds of each sitemap, the most severe ones first."""
        found: dict[str, list[Fold]] = {}
        for (sitemap, _), fold in self._folds.items():
            if fold.more:
                del fold.examples[self._examples :]
            found.setdefault(sitemap, []).append(fold)
        for folds in found.values():
            folds.sort(key=lambda fold: (fold.first.severity.rank, fold.first.code))
        return found

    def rules(self) -> list[Finding]:
        """Return one finding of each rule, the most severe ones first."""
        firsts: dict[str, Finding] = {}
        for fold in self._folds.values():
            firsts.setdefault(fold.first.code, fold.first)
        return sorted(firsts.values(), key=lambda one: (one.severity.rank, one.code))
