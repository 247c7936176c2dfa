"""Findings counted by rule; the verdict on them: red, amber or green, why, and what to mend first."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING

from usp._base.display import counted, excerpt, printable
from usp.checks.finding import Finding, Severity
from usp.checks.node_findings import FAILURES
from usp.objects.problem import FailureCode
from usp.objects.sitemap import (
    FEEDS,
    AbstractIndexSitemap,
    AbstractPagesSitemap,
    AbstractSitemap,
    IndexWebsiteSitemap,
    IndexXMLSitemap,
    InvalidSitemap,
    kind_of,
)

if TYPE_CHECKING:
    from usp.objects.problem import Failure

MAX_EXAMPLES = 5  # how many findings of one rule are kept
_MOST_FIRST = 5  # rules to mend first
_DUPLICATES = ("SM409", "SM410")
_LONGEST_URL = 100


@dataclass(slots=True)
class RuleRow:
    """What one rule found: how often, in how many sitemaps, what it cost, and the first of it.

    ``where`` are hashes of the URLs of the sitemaps.
    """

    code: str
    name: str
    severity: Severity
    hint: str
    count: int = 0
    lost: int = 0
    examples: list[Finding] = field(default_factory=list)
    where: set[int] = field(default_factory=set, repr=False)

    @classmethod
    def of(cls, one: Finding) -> RuleRow:
        """Return the row of the rule of a finding, without any."""
        return cls(one.code, one.name, one.severity, one.hint)

    def add(self, one: Finding, examples: int) -> None:
        """Count a finding, and keep it if it is one of the first and not the same as the last."""
        self.count += one.times
        self.lost += one.lost
        self.where.add(hash(one.sitemap))
        if len(self.examples) < examples and one not in self.examples[-1:]:
            self.examples.append(one)

    @property
    def sitemaps(self) -> int:
        """In how many sitemaps there are findings."""
        return len(self.where)

    @property
    def more(self) -> int:
        """How many findings there are beside the examples."""
        return self.count - sum(example.times for example in self.examples)

    @property
    def urgency(self) -> tuple[int, bool, int, int, str]:
        """What rows are sorted by: severity, missing documents first, lost entries, how many."""
        kind = self.severity.rank, self.code not in FAILURES
        return *kind, -self.lost, -self.count, self.code


@dataclass(slots=True)
class CheckList:
    """All findings by severity and by rule, what to mend first at the top.

    ``complete`` is False if the check was stopped, after so many ``pages``. Memory does not grow with
    the number of findings, only with that of sitemaps and rules.
    """

    severities: dict[str, int] = field(default_factory=lambda: {one.value: 0 for one in Severity})
    rules: list[RuleRow] = field(default_factory=list)
    pages: int = 0
    complete: bool = True

    def counted(
        self,
        findings: Iterable[Finding],
        examples: int = MAX_EXAMPLES,
        failures: int = MAX_EXAMPLES,
    ) -> Iterator[Finding]:
        """Yield findings, and count them; the rules are known when they end."""
        rows: dict[str, RuleRow] = {}
        try:
            for one in findings:
                row = rows.get(one.code) or rows.setdefault(one.code, RuleRow.of(one))
                row.add(one, failures if one.code in FAILURES else examples)
                self.severities[one.severity] += one.times
                yield one
        finally:
            self.rules = sorted(rows.values(), key=lambda row: row.urgency)

    @property
    def total(self) -> int:
        """How many findings there are."""
        return sum(self.severities.values())

    @property
    def has_duplicates(self) -> bool:
        """Whether a page is listed more than once."""
        return any(row.code in _DUPLICATES for row in self.rules)

    def at_least(self, severity: Severity) -> int:
        """Return how many findings are that severe, or more."""
        return sum(self.severities[one] for one in Severity if one.rank <= severity.rank)

    def to_dict(self) -> dict[str, object]:
        """Return the counts as a dictionary of plain values."""
        return {
            "findings": self.total,
            "severities": dict(self.severities),
            "rules": dict(sorted((row.code, row.count) for row in self.rules)),
            "sitemaps": len(set().union(*(row.where for row in self.rules))),
        }

    def text(self, paint: Callable[[str, str], str] = lambda text, _style: text) -> str:
        """Return how many findings there are; ``paint`` returns a text in the style of a severity."""
        plurals = {Severity.INFO: "infos"}
        parts = [
            paint(counted(number, one.value, plurals.get(one)), one.value)
            for one in Severity
            if (number := self.severities[one])
        ]
        return f"{counted(self.total, 'finding')} ({', '.join(parts)})" if parts else "no findings"

    def __str__(self) -> str:
        """Return how many findings there are: ``3 findings (1 error, 2 infos)``."""
        return self.text()


def by_rule(
    findings: Iterable[Finding],
    stopped: type[Exception] | tuple[()] = (),
    examples: int = MAX_EXAMPLES,
    failures: int = MAX_EXAMPLES,
) -> CheckList:
    """Return findings by rule, as many as there are before the exception ``stopped`` is raised.

    ``examples`` is how many of a rule are kept, ``failures`` how many documents missing for one reason.
    """
    result = CheckList()
    try:
        deque(result.counted(findings, examples, failures), 0)
    except stopped:
        result.complete = False
    return result


def by_sitemap(
    findings: Iterable[Finding], examples: int = 3, most_sitemaps: int | None = 20
) -> dict[str, list[RuleRow]]:
    """Return the rows of each sitemap by its URL, the most severe first, with some examples.

    For each rule there are so many sitemaps, unless they are all wanted; what it found in others is one
    row, under an empty URL.
    """
    rows: dict[tuple[str, str], RuleRow] = {}
    shown: Counter[str] = Counter()  # sitemaps with a row, by rule
    for one in findings:
        at = one.sitemap, one.code
        if most_sitemaps is not None and at not in rows and shown[one.code] >= most_sitemaps:
            at = "", one.code
        if at not in rows:
            shown[one.code] += 1
            rows[at] = RuleRow.of(one)
        rows[at].add(one, examples + 1)  # "1 more" takes as much room as it
    by_url: dict[str, list[RuleRow]] = {url: [] for url in (*(url for url, _ in rows if url), "")}
    for (url, _), row in sorted(rows.items(), key=lambda item: (item[1].severity.rank, item[0][1])):
        if row.more:
            del row.examples[examples:]
        by_url[url].append(row)
    return {url: listed for url, listed in by_url.items() if listed}


class Color(StrEnum):
    """How a website is: what a traffic light would show."""

    RED = "red"
    """Search engines lose something, or get nothing at all."""

    AMBER = "amber"
    """Something is missing, or against the rules."""

    GREEN = "green"
    """Sitemaps were found and read completely, and nothing is wrong that matters."""


_COLORS = dict(zip(Severity, Color, strict=True))
_rank = tuple(Color).index


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a website is: a color, a sentence that says why, and what to do about that.

    ``first`` are the rules to mend first, at most five. If nothing could be read because of a failure,
    ``code`` is its code. ``topic`` is the page of ``usp help`` that goes on from here, if there is one.
    """

    color: Color
    sentence: str
    advice: str = ""
    first: tuple[RuleRow, ...] = ()
    code: FailureCode | None = None
    topic: str = ""

    def __str__(self) -> str:
        """Return color and sentence."""
        return f"{self.color}: {self.sentence}"

    def to_dict(self) -> dict[str, object]:
        """Return the verdict as a dictionary of plain values; ``first`` are codes of rules."""
        code = None if self.code is None else self.code.value
        values = {"color": self.color.value, "sentence": self.sentence, "advice": self.advice}
        return values | {"first": [row.code for row in self.first], "code": code}

    def to_mend(self, hint: Callable[[RuleRow], str] = attrgetter("hint")) -> Iterator[str]:
        """Yield what to mend first, in lines: a head, and one for each rule; nothing if nothing is.

        ``hint`` returns what to do, in the words of whoever shows it.
        """
        if self.first:
            yield f"To mend first ('usp rule {self.first[0].code}' explains one):"
        for row in self.first:
            often = f" ({row.count:,} times)" if row.count > 1 else ""
            yield f"  {row.code} {row.name}{often}: {hint(row)}"

    def what_to_do(self, words: str = "") -> str:
        """Return the advice, or other words for it, and where to read on; empty if there is none."""
        advice = words or self.advice
        more = f" 'usp help {self.topic}' says more." if self.topic else ""
        return f"{advice[:1].upper()}{advice[1:].rstrip('.')}.{more}" if advice else ""


def verdict(
    tree: AbstractSitemap, findings: Iterable[Finding] | None = None, *, checked: bool = True
) -> Verdict:
    """Return the verdict on the tree of a website.

    ``findings`` are what is wrong with it; without them it is checked. ``checked`` says whether they
    are those of all rules, or only what is known without these, as of :func:`findings_of`.
    """
    if findings is None:
        from usp.checks.checking import check  # noqa: PLC0415 - most callers have checked

        findings, checked = check(tree), True
    return judge(tree, by_rule(findings), checked=checked)


def judge(
    trees: AbstractSitemap | Sequence[AbstractSitemap],
    found: CheckList,
    *,
    checked: bool = True,
    counts: bool = True,
    known: int = 0,
) -> Verdict:
    """Return the verdict on a tree, or several together, for findings by rule.

    ``known`` is how many more a baseline has left out. Without ``counts`` no documents are read to see
    whether they have pages.
    """
    given = [trees] if isinstance(trees, AbstractSitemap) else trees
    closer = "" if checked else "; usp check looks closer"
    situations = filter(None, (_situation(tree, closer, counts=counts) for tree in given))
    results = [*situations] or [_quality(found, known, closer)]
    result = min(results, key=lambda one: _rank(one.color))
    color = min([result.color, *(_COLORS[row.severity] for row in found.rules)], key=_rank)
    serious = [row for row in found.rules if row.severity is not Severity.INFO]
    return replace(result, color=color, first=tuple(serious[:_MOST_FIRST]))


BLOCKED = frozenset(map(FailureCode, ("blocked", "bot-challenge", "rate-limited", "unauthorized")))


def _situation(tree: AbstractSitemap, closer: str, *, counts: bool) -> Verdict | None:
    """Return what is to be said before anything else: nothing was found, or not all of it."""
    nodes, failures = [tree, *tree.all_sitemaps()], tree.failures()
    listing = [node for node in nodes if isinstance(node, AbstractPagesSitemap)]
    indexes = [node for node in nodes if isinstance(node, AbstractIndexSitemap)]
    skipped = any(index.skipped for index in indexes)
    if not (listing or skipped or any(isinstance(one, IndexXMLSitemap) for one in indexes)):
        return _nothing(tree, failures)
    if failures:
        missing = counted(len(failures), "sitemap is", "sitemaps are")
        return Verdict(Color.AMBER, f"{missing} missing or incomplete{closer}.")
    if counts and not skipped and not any(node.page_count() for node in listing):
        read = counted(len(listing) or len(indexes), "sitemap was", "sitemaps were")
        advice = "Look at what writes the sitemaps: it has found no pages."
        return Verdict(Color.AMBER, f"{read} read, without any pages.", advice, topic="nothing")
    if listing and all(kind_of(node).name in FEEDS for node in listing):
        what = "Only a feed was found" if len(listing) == 1 else "Only feeds were found"
        advice = "Generate a sitemap of all pages, and declare it in robots.txt."
        return Verdict(Color.AMBER, f"{what}: feeds list the latest pages, not all.", advice)
    return None


def _nothing(tree: AbstractSitemap, failures: Sequence[Failure]) -> Verdict:
    """Return why there are no sitemaps."""
    site = excerpt(printable(tree.url), _LONGEST_URL)
    blocked = next((one for one in failures if one.code in BLOCKED), None)
    why = blocked or next(iter(failures), None)
    if same := html_everywhere(tree):
        sentence = f"{site} answers every path with {same}: it has no sitemaps at the usual places."
        advice = (
            "Serve robots.txt and the sitemaps as files, and return 404 for paths that do not exist. "
            "If there is a sitemap elsewhere, give its URL."
        )
        return Verdict(Color.RED, sentence, advice, topic="nothing")
    if why is None:
        where = ": none is declared in robots.txt, and none is at the usual paths"
        is_website = isinstance(tree, IndexWebsiteSitemap) and not tree.url.startswith("file:")
        sentence = f"No sitemaps were found{where if is_website else ''}."
        advice = (
            "If there is a sitemap elsewhere, give its URL; if not, generate one and declare it."
        )
        return Verdict(Color.AMBER, sentence, advice, topic="nothing")
    if why.code is FailureCode.UNAUTHORIZED:
        sentence = f"Blocked: {site} asks for a login ({why.plain})."
    elif blocked:
        sentence = f"Blocked: {site} turns robots away ({why.plain})."
    elif len(failures) > 1:
        sentence = f"No sitemap could be read: {why.plain} ({len(failures):,} failures)."
    else:
        nodes = (one for one in (tree, *tree.all_sitemaps()) if not isinstance(one, InvalidSitemap))
        is_read = any(one.failure == why for one in nodes)
        what = "is incomplete" if is_read else "could not be read"
        sentence = f"{excerpt(printable(why.url), _LONGEST_URL)} {what}: {why.plain}."
    return Verdict(Color.RED, sentence, why.code.remedy, code=why.code, topic="nothing")


def html_everywhere(tree: AbstractSitemap) -> str:
    """Return what a website answers every path with, robots.txt too, if it is HTML; else ``""``."""
    tried = tree.tried if isinstance(tree, IndexWebsiteSitemap) else []
    answers = [one for one in tried if one.status is not None]
    if all(one.url != f"{tree.url}robots.txt" for one in answers):
        return ""
    failed = {failure.url for failure in tree.failures()}
    for one in answers:
        is_html = "html" in (one.content_type or "html")
        if one.status not in range(200, 300) or not is_html or one.url in failed:
            return ""
    return "the same HTML page" if len({one.received for one in answers}) == 1 else "HTML pages"


def _quality(found: CheckList, known: int, closer: str) -> Verdict:
    """Return the verdict on a website whose sitemaps were all read."""
    for severity in (Severity.ERROR, Severity.WARNING):
        if number := found.severities.get(severity):
            wrong = counted(number, severity.value)
            return Verdict(Color.AMBER, f"All sitemaps were read; {wrong}{closer}.")
    if closer:
        return Verdict(Color.GREEN, f"All sitemaps were read{closer}.")
    nothing = "nothing new" if known else "nothing serious" if found.total else "nothing wrong"
    return Verdict(Color.GREEN, f"All sitemaps were read, and {nothing} was found.")
