"""Rules: what each one is about, and how it is declared.

A rule is a function with a decorator. Its docstring is its documentation::

    @block_rule("SM401", "relative-url", Severity.ERROR)
    def relative_url(block: Block) -> Iterator[Hit]:
        '''The URL of a page is relative.

        Why this matters, in a few sentences. Search engines …

        Source: https://www.sitemaps.org/protocol.html#locdef

        Bad:

            <url><loc>/tea</loc></url>

        Good:

            <url><loc>https://example.org/tea</loc></url>

        Fix: Write the whole URL, with its scheme and host.
        '''

Both examples are run as tests: ``tests/checks/check_examples.py`` says how they are written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import Enum
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from usp.checks.blocks import Block
    from usp.checks.facts import Site, Sitemap
    from usp.checks.values import Hit, Severity

    SiteFunction: TypeAlias = Callable[[Site], Iterable[Hit]]
    SitemapFunction: TypeAlias = Callable[[Sitemap], Iterable[Hit]]
    BlockFunction: TypeAlias = Callable[[Block], Iterable[Hit]]
    F = TypeVar("F", bound=Callable[..., Any])


class Group(Enum):
    """What rules are about: the first digit of their codes."""

    INCOMPLETE = ("0", "what could not be checked")
    DISCOVERY = ("1", "how sitemaps are found")
    TRANSPORT = ("2", "how sitemaps are sent")
    DOCUMENT = ("3", "the documents themselves")
    URLS = ("4", "the URLs of pages")
    VALUES = ("5", "dates, frequencies and priorities")
    HREFLANG = ("6", "links to other languages")
    NEWS = ("7", "news")
    MEDIA = ("8", "images and videos")
    PAGES = ("9", "the pages themselves")

    def __init__(self, digit: str, title: str) -> None:
        self.digit = digit
        self.title = title

    @classmethod
    def of(cls, code: str) -> Group:
        """Return the group of a code."""
        return next(group for group in cls if code.startswith(f"{PREFIX}{group.digit}"))


PREFIX = "SM"
CODE = re.compile(rf"{PREFIX}[0-9]{{3}}")


class Scope(Enum):
    """When a rule is asked."""

    SITE = "site"  # once, when everything has been read
    SITEMAP = "sitemap"  # for each sitemap, when it has been read
    BLOCK = "block"  # for each block of pages, while they are read
    PARSER = "parser"  # never: reading a document, or fetching it, has found it
    FETCHED = "fetched"  # for pages that were fetched themselves


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its code and name, and its documentation.

    ``summary`` says what it finds in one sentence, ``why`` why it matters, ``sources`` are the URLs
    of what it is based on, ``bad`` and ``good`` are examples, ``hint`` is what to do.
    ``uses`` names what is gathered from all pages for it: attributes of the website.
    """

    code: str
    name: str
    severity: Severity
    scope: Scope
    summary: str
    why: str = ""
    sources: tuple[str, ...] = ()
    bad: str = ""
    good: str = ""
    hint: str = ""
    find: Callable[..., Iterable[Hit]] | None = field(default=None, repr=False, compare=False)
    uses: tuple[str, ...] = ()

    @property
    def group(self) -> Group:
        """What the rule is about."""
        return Group.of(self.code)

    @property
    def examples(self) -> tuple[tuple[str, str], ...]:
        """The examples with their titles; one that has no counterpart is just an example."""
        both = (("Bad" if self.good else "Example", self.bad), ("Good", self.good))
        return tuple((title, example) for title, example in both if example)

    def to_dict(self) -> dict[str, object]:
        """Return the rule and its documentation as a dictionary of plain values."""
        return {
            "code": self.code,
            "name": self.name,
            "severity": self.severity.value,
            "group": self.group.name.lower(),
            "summary": self.summary,
            "why": self.why,
            "bad": self.bad,
            "good": self.good,
            "hint": self.hint,
            "sources": list(self.sources),
        }


_RULES: dict[str, Rule] = {}


def add(rule: Rule) -> None:
    """Add a rule to those that are known; its code and its name must be new."""
    if not CODE.fullmatch(rule.code):
        raise ValueError(f"{rule.code} is not a code")
    taken = {known.name for known in _RULES.values()} | _RULES.keys()
    if rule.code in taken or rule.name in taken:
        raise ValueError(f"{rule.code} {rule.name} exists already")
    _RULES[rule.code] = rule


def known_rules() -> Mapping[str, Rule]:
    """Return the rules that were added so far, by their codes."""
    return _RULES


def site_rule(code: str, name: str, severity: Severity, *uses: str) -> Callable[[F], F]:
    """Declare a rule about the website as a whole."""
    return _declare(code, name, severity, Scope.SITE, uses)


def sitemap_rule(code: str, name: str, severity: Severity) -> Callable[[F], F]:
    """Declare a rule about one sitemap, which has been read."""
    return _declare(code, name, severity, Scope.SITEMAP)


def block_rule(code: str, name: str, severity: Severity, *uses: str) -> Callable[[F], F]:
    """Declare a rule about pages, which are given in blocks."""
    return _declare(code, name, severity, Scope.BLOCK, uses)


def fetched_rule(code: str, name: str, severity: Severity) -> Callable[[F], F]:
    """Declare a rule about a page that was fetched itself."""
    return _declare(code, name, severity, Scope.FETCHED)


def _declare(
    code: str, name: str, severity: Severity, scope: Scope, uses: tuple[str, ...] = ()
) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        rule = documented(code, name, severity, scope, function.__doc__ or "")
        add(replace(rule, find=function, uses=uses))
        return function

    return decorate


_PART = re.compile(r"^(Source|Sources|Bad|Good|Fix):[ \n]", re.MULTILINE)


def documented(code: str, name: str, severity: Severity, scope: Scope, doc: str) -> Rule:
    """Return a rule from its docstring; raises ``ValueError`` if that lacks a part."""
    text, *parts = _PART.split(cleandoc(doc))
    found = {name.removesuffix("s"): part for name, part in _pairs(parts)}
    summary, _, why = text.strip().partition("\n\n")
    missing = {"Source", "Bad", "Good", "Fix"} - found.keys()
    if missing or not why:
        raise ValueError(
            f"{code} {name}: its docstring has no {', '.join(sorted(missing)) or 'reason'}"
        )
    return Rule(
        code,
        name,
        severity,
        scope,
        summary=_joined(summary),
        why=why.strip(),
        sources=tuple(found["Source"].split()),
        bad=cleandoc("\n" + found["Bad"]).strip("\n"),
        good=cleandoc("\n" + found["Good"]).strip("\n"),
        hint=_joined(found["Fix"]),
    )


def _pairs(parts: list[str]) -> Iterator[tuple[str, str]]:
    return zip(parts[::2], parts[1::2], strict=True)


def _joined(text: str) -> str:
    return " ".join(text.split())
