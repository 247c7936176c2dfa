"""What a check finds: findings with their severity and their place, counted and grouped.

Memory does not grow with the number of findings, only with that of sitemaps and rules.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import url2pathname

from usp._base.safe_text import excerpt as cut
from usp._base.urls import quote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Severity(StrEnum):
    """How bad something is."""

    ERROR = "error"
    """Search engines ignore what is wrong, or more than that: pages are lost."""

    WARNING = "warning"
    """Against the rules, or against the website's own interest; search engines cope."""

    INFO = "info"
    """Worth knowing; often intended."""

    @property
    def rank(self) -> int:
        """0 for errors, more for what is less severe."""
        return _RANKS[self]


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found.

    ``code`` and ``name`` are those of the rule, such as ``SM401`` and ``relative-url``. ``sitemap`` is
    the URL of the document (a robots.txt too), ``page`` that of the page, if it is about one. ``line``
    and ``column`` count from 1 and are None where they are not known. ``hint`` says what to do.
    ``times`` is more than 1 where findings of one kind were too many to be kept one by one.
    """

    code: str
    name: str
    severity: Severity
    message: str
    sitemap: str
    page: str | None = None
    line: int | None = None
    column: int | None = None
    hint: str = ""
    times: int = 1

    def __post_init__(self) -> None:
        """Bound the length of the message: it may quote what a website has sent."""
        object.__setattr__(self, "message", cut(self.message))

    def to_dict(self) -> dict[str, object]:
        """Return the finding as a dictionary of plain values."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return values | {"severity": self.severity.value}


@dataclass(frozen=True, slots=True)
class Hit:
    """What a rule yields; the rest of a finding is known to the check.

    ``at`` is the number of the page in its block. Rules about sitemaps may give a ``line``, and a
    ``page``; rules about the website the URL of the ``sitemap``.
    """

    message: str
    at: int | None = None
    page: str | None = None
    line: int | None = None
    column: int | None = None
    sitemap: str | None = None
    times: int = 1


EXAMPLES = 3
"""How many findings of a rule in a sitemap are shown."""

MOST_SITEMAPS = 20
"""For how many sitemaps the findings of a rule are shown; in others they are only counted."""


class FindingCounts:
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
class FindingGroup:
    """The findings of one rule in one sitemap or several: how many there are, and the first ones.

    ``sitemaps`` are hashes of the URLs of several sitemaps, which are not shown one by one.
    """

    first: Finding
    times: int = 0
    examples: list[Finding] = field(default_factory=list)
    sitemaps: set[int] = field(default_factory=set)

    @property
    def more(self) -> int:
        """How many findings there are beside the examples."""
        return self.times - sum(example.times for example in self.examples)


class GroupedFindings:
    """Findings by sitemap and rule."""

    def __init__(self, examples: int = EXAMPLES, most_sitemaps: int = MOST_SITEMAPS) -> None:
        self._examples = examples
        self._most = most_sitemaps
        self._groups: dict[tuple[str, str], FindingGroup] = {}
        self._shown: Counter[str] = Counter()  # sitemaps with a group, by rule
        self.overflow: dict[str, FindingGroup] = {}  # by rule: in sitemaps that are not shown

    @classmethod
    def of(cls, findings: Iterable[Finding], **most: int) -> GroupedFindings:
        """Return all findings grouped."""
        grouped = cls(**most)
        for finding in findings:
            grouped.add(finding)
        return grouped

    def add(self, finding: Finding) -> None:
        """Count a finding, and keep it if it is among the first."""
        at = finding.sitemap, finding.code
        group = self._groups.get(at)
        if group is None:
            if self._shown[finding.code] >= self._most:
                other = self.overflow.setdefault(finding.code, FindingGroup(finding))
                other.times += finding.times
                other.sitemaps.add(hash(finding.sitemap))
                return
            self._shown[finding.code] += 1
            group = self._groups[at] = FindingGroup(finding)
        group.times += finding.times
        if len(group.examples) <= self._examples:  # one more: "1 more" takes as much room as it
            group.examples.append(finding)

    def sitemaps(self) -> dict[str, list[FindingGroup]]:
        """Return the groups of each sitemap, the most severe ones first."""
        found: dict[str, list[FindingGroup]] = {}
        for (sitemap, _), group in self._groups.items():
            if group.more:
                del group.examples[self._examples :]
            found.setdefault(sitemap, []).append(group)
        for groups in found.values():
            groups.sort(key=lambda group: (group.first.severity.rank, group.first.code))
        return found

    def rules(self) -> list[Finding]:
        """Return one finding of each rule, the most severe ones first."""
        firsts: dict[str, Finding] = {}
        for group in self._groups.values():
            firsts.setdefault(group.first.code, group.first)
        return sorted(firsts.values(), key=lambda one: (one.severity.rank, one.code))


def path_of(url: str) -> Path | None:
    """Return the path of a local file or folder; None for any other URL."""
    return Path(url2pathname(urlsplit(url).path)) if url.startswith("file:") else None


class SitemapNames:
    """Names sitemaps as they are seen from a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def name(self, url: str) -> str:
        """Return the path of a local sitemap, relative if it is in the folder; otherwise its URL."""
        relative = self.relative(url)
        if relative is not None:
            return relative
        path = path_of(url)
        return url if path is None else str(path)

    def relative(self, url: str) -> str | None:
        """Return the path of a local sitemap inside the folder, with slashes."""
        path = path_of(url)
        if path is None or not path.is_relative_to(self.folder):
            return None
        return path.relative_to(self.folder).as_posix()

    def uri(self, url: str) -> str:
        """Return the same as a URI, which is relative for files inside the folder."""
        relative = self.relative(url)
        return url if relative is None else quote(relative)


def line_col(finding: Finding) -> str:
    """Return line and column as ``12:5``, as far as they are known."""
    if finding.line is None:
        return ""
    return f"{finding.line}" if finding.column is None else f"{finding.line}:{finding.column}"


def message_of(finding: Finding) -> str:
    """Return the message of a finding, with its page unless that is quoted already."""
    if finding.page is None or finding.page in finding.message:
        return finding.message
    return f"{finding.message}: {finding.page}"
