"""Rules: what each one is about, how it is declared, and which of them are asked.

A rule is a function with a decorator. Its docstring is its documentation::

    @block_rule("SM401", Severity.ERROR)
    def relative_url(block: PageColumns) -> Iterator[Hit]:
        '''The URL of a page is relative.

        Why this matters, in a few sentences. Search engines …
        Source: protocol#locdef
        Bad: <url><loc>/tea</loc></url>
        Good: <url><loc>https://example.org/tea</loc></url>
        Fix: Write the full URL, with its scheme and host.
        '''

Both examples are run as tests: ``tests/checks/check_examples.py`` says how they are written. Here they
are shorter. Of an entry with a video or news, only those elements are written that matter (see
:data:`ENTRIES`), and ``no <video:title>`` leaves one out. ``--- /sitemap.xml (declared)`` stands for a
robots.txt that declares it, too, and a sitemap without a body lists one page. ``Good: with X instead
of Y`` is the bad example with that changed, ``Good: without X`` that without the lines that have it,
and ``/en: en=/en de=/de`` an entry with links to other languages. Sources may begin as in
:data:`SOURCES`. Without a source or a good example, that of its group counts.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from functools import cache, cached_property, partial
from importlib.resources import files
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from usp._base.urls import urljoin
from usp.checks.finding import ALIASES, Severity

if TYPE_CHECKING:
    from usp.checks.finding import Hit

    Find = TypeVar("Find", bound=Callable[..., Any])
    Value = TypeVar("Value")


_HOME = "https://example.org"
_PAGE = f"<url><loc>{_HOME}/tea</loc></url>"
USUAL = {  # by the digit of a group: the source of most of its rules, or what they want
    "1": {"Good": "--- /sitemap.xml (declared)"},
    "3": {
        "Good": f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{_PAGE}\n</urlset>'
    },
    "6": {"Source": "google:specialty/international/localized-versions"},
    "7": {"Source": "google:crawling-indexing/sitemaps/news-sitemap"},
    "8": {"Source": "google:crawling-indexing/sitemaps/video-sitemaps"},
    "9": {"Good": f"{_PAGE}\n--- /tea\n<!DOCTYPE html><title>Tea</title>"},
}


_ELEMENTS = {  # by the beginnings of codes
    "SM4": "loc",
    "SM9": "loc",
    "SM511": "changefreq",
    "SM5": "lastmod",
    "SM6": "link",
    "SM7": "news",
    "SM80": "image",
    "SM8": "video",
}


@cache
def _element_of(code: str) -> str:
    return next((name for begin, name in _ELEMENTS.items() if code.startswith(begin)), "")


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
        self.digit, self.title = digit, title

    @classmethod
    def of(cls, code: str) -> Group:
        """Return the group of a code."""
        return next(group for group in cls if code.startswith(f"{PREFIX}{group.digit}"))


PREFIX = "SM"
CODE = re.compile(rf"{PREFIX}[0-9]{{3}}")


class RuleScope(Enum):
    """When a rule is asked."""

    SITE = "site"  # once, when everything has been read
    SITEMAP = "sitemap"  # for each sitemap, when it has been read
    BLOCK = "block"  # for each block of pages, while they are read
    PARSER = "parser"  # never: reading a document, or fetching it, has found it
    FAILURE = "failure"  # never: why a document is missing, or where, says it
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
    scope: RuleScope
    summary: str
    why: str = ""
    sources: tuple[str, ...] = ()
    bad: str = ""
    good: str = ""
    hint: str = ""
    find: Callable[..., Iterable[Hit]] | None = field(default=None, repr=False, compare=False)
    uses: tuple[str, ...] = ()

    @property
    def element(self) -> str:
        """The element of an entry that the rule is about."""
        return _element_of(self.code)

    @property
    def group(self) -> Group:
        """What the rule is about."""
        return Group.of(self.code)

    @property
    def asked_by(self) -> tuple[str, ...]:
        """Whose documentation it is based on: ``Google``, ``Bing``, ``sitemaps.org`` and so on."""
        return tuple(
            name
            for name, begin in _OWNERS.items()
            if any(source.startswith(begin) for source in self.sources)
        )

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profiles that it is in."""
        return tuple(name for name, profile in PROFILES.items() if profile.severity(self))

    @property
    def examples(self) -> tuple[tuple[str, str], ...]:
        """The examples with their titles; one that has no counterpart is just an example."""
        both = (("Bad" if self.good else "Example", self.bad), ("Good", self.good))
        return tuple((title, example) for title, example in both if example)

    def to_dict(self) -> dict[str, object]:
        """Return the rule and its documentation as a dictionary of plain values."""
        about = {"code": self.code, "name": self.name, "severity": self.severity.value}
        texts = {name: getattr(self, name) for name in ("summary", "why", "bad", "good", "hint")}
        based_on = {"sources": list(self.sources), "asked_by": list(self.asked_by)}
        more = {**texts, **based_on, "profiles": list(self.profiles)}
        return {**about, "group": self.group.name.lower(), **more}


# Who asks for a rule; and profiles: what one search engine wants, and how severe that is for it ------

_ENGINES = ("Google", "Bing")
_OWNERS: Mapping[str, tuple[str, ...]] = {  # whose documentation sources are, by how they begin
    "sitemaps.org": ("https://www.sitemaps.org/",),
    "RFC": ("https://www.rfc-editor.org/",),
    "W3C": ("https://www.w3.org/",),
    "Google": ("https://developers.google.com/", "https://support.google.com/"),
    "Bing": ("https://www.bing.com/", "https://blogs.bing.com/"),
}


class Profile(NamedTuple):
    """What is checked for one purpose.

    ``engine`` is whose rules count beside those of standards, empty for all. Rules whose codes begin as
    in ``harsher`` are a degree more severe; ``ignored`` are those about what the engine does not read.
    """

    engine: str = ""
    harsher: tuple[str, ...] = ()
    ignored: Collection[str] = ()

    def severity(self, rule: Rule) -> Severity | None:
        """Return how severe a rule is; None if it is left out."""
        is_for_others = self.engine and {*_ENGINES} - {self.engine} >= {*rule.asked_by}
        if is_for_others or rule.code in self.ignored:
            return None
        harsher = rule.code.startswith(self.harsher)
        return tuple(Severity)[max(rule.severity.rank - harsher, 0)]


_UNREAD = frozenset({"SM506", "SM511", "SM551", "SM552"})  # Google reads no changefreq, no priority

PROFILES: Mapping[str, Profile] = {
    "google": Profile("Google", ignored=_UNREAD),
    "bing": Profile("Bing"),
    "news": Profile("Google", harsher=("SM7",), ignored=_UNREAD),
    "video": Profile("Google", harsher=("SM82", "SM83", "SM85"), ignored=_UNREAD),
    "strict": Profile(harsher=("SM",)),
}
"""The profiles by their names."""


# How rules are declared -----------------------------------------------------------------------------

DECLARED: dict[str, Rule] = {}  # the rules that were declared so far, by their codes


def add(rule: Rule) -> None:
    """Add a rule to those that are known; its code and its name must be new."""
    taken = {known.name for known in DECLARED.values()} | DECLARED.keys()
    if not CODE.fullmatch(rule.code) or not taken.isdisjoint((rule.code, rule.name)):
        raise ValueError(f"{rule.code} is not a code, or {rule.code} {rule.name} exists already")
    DECLARED[rule.code] = rule


def _declare(scope: RuleScope, code: str, severity: Severity, *uses: str) -> Callable[[Find], Find]:
    """Return a decorator that declares a rule; its name is that of the function, with dashes."""

    def decorate(function: Find) -> Find:
        name = function.__name__.replace("_", "-")
        texts = _documentation(code, name, function.__doc__ or "")
        add(Rule(code, name, severity, scope, **texts, find=function, uses=uses))
        return function

    return decorate


site_rule = partial(_declare, RuleScope.SITE)
sitemap_rule = partial(_declare, RuleScope.SITEMAP)
block_rule = partial(_declare, RuleScope.BLOCK)
fetched_rule = partial(_declare, RuleScope.FETCHED)
failure_rule = partial(_declare, RuleScope.FAILURE)


SOURCES = {  # how the sources of rules begin
    "protocol": "https://www.sitemaps.org/protocol.html",
    "google:": "https://developers.google.com/search/docs/",
    "support:": "https://support.google.com/webmasters/answer/",
    "rfc": "https://www.rfc-editor.org/rfc/rfc",
    "w3:": "https://www.w3.org/TR/",
    "bing:": "https://www.bing.com/webmasters/help/",
    "blog:": "https://developers.google.com/search/blog/",
}

_PART = re.compile(r"^(Source|Bad|Good|Fix):[ \n]", re.MULTILINE)
_SOURCE = re.compile(rf"(?<!\S)({'|'.join(SOURCES)})")


def _documentation(code: str, name: str, doc: str) -> dict[str, Any]:
    """Return the parts of a rule's docstring; raises ``ValueError`` if it lacks one."""
    text, *parts = _PART.split(cleandoc(doc))
    found = USUAL.get(code[len(PREFIX)], {}) | dict(zip(parts[::2], parts[1::2], strict=True))
    summary, _, why = text.strip().partition("\n\n")
    missing = {"Source", "Bad", "Good", "Fix"} - found.keys()
    if missing or not why:
        raise ValueError(
            f"{code} {name}: its docstring has no {', '.join(sorted(missing)) or 'reason'}"
        )
    bad, good = (cleandoc("\n" + found[title]).strip("\n") for title in ("Bad", "Good"))
    right, instead, wrong = good.removeprefix("with ").partition(" instead of ")
    if instead:
        good = bad.replace(wrong, right)
    elif good.startswith("without "):
        left_out = good.removeprefix("without ")
        good = "\n".join(line for line in bad.split("\n") if left_out not in line)
    return {
        "summary": " ".join(summary.split()),
        "why": why.strip(),
        "sources": sources_of(found["Source"]),
        "bad": _completed(bad),
        "good": _completed(good),
        "hint": " ".join(found["Fix"].split()),
    }


def sources_of(text: str) -> tuple[str, ...]:
    """Return the URLs of sources as docstrings write them."""
    return tuple(_SOURCE.sub(lambda begin: SOURCES[begin[0]], text).split())


# Entries for examples that begin so: a line replaces that of the same element, or comes where … is.
ENTRIES: Mapping[str, str] = tomllib.loads(
    (files("usp.checks") / "assets" / "example_entries.toml").read_text(encoding="utf-8")
)

_DECLARED = re.compile(r"^--- (\S++)[^(\n]*+\(declared\)$", re.MULTILINE)
_BARE = re.compile(r"^(--- \S+\.xml(?: \(declared\))?)$(?=\n---|\Z)", re.MULTILINE)
_VERSIONS = re.compile(r"^(/\w++): ([\w-]++=.++)$", re.MULTILINE)
_ELEMENT = re.compile(r" *(<[\w:]++)")


def _completed(example: str) -> str:
    """Return an example as readers see it."""
    example = _VERSIONS.sub(_entry_with_links, example)
    example = _BARE.sub(rf"\1\n{_PAGE}", example)
    declared = [path if "://" in path else _HOME + path for path in _DECLARED.findall(example)]
    if declared:
        robots = "".join(f"Sitemap: {url}\n" for url in declared)
        return f"--- /robots.txt\n{robots}{example.replace(' (declared)', '')}"
    first = example.removeprefix("no ")
    entry = next((ENTRIES[start] for start in ENTRIES if first.startswith(start)), None)
    if entry is None:
        return example
    lines = {_element_in(line): line for line in entry.split("\n")}
    added = []
    for given in example.split("\n"):
        element = _element_in(given.removeprefix("no "))
        if given.startswith("no "):
            del lines[element]
        elif element in lines:
            lines[element] = lines[element].partition("<")[0] + given
        else:
            added.append(lines["…"].replace("…", given))
    lines["…"] = "\n".join(added)
    return "\n".join(filter(None, lines.values()))


def _entry_with_links(found: re.Match[str]) -> str:
    """Return the entry of a page whose versions in other languages are given."""
    links = (version.split("=") for version in found[2].split())
    lines = [
        f'  <xhtml:link rel="alternate" hreflang="{code}" href="{urljoin(_HOME, url)}"/>'
        for code, url in links
    ]
    return "\n".join(["<url>", f"  <loc>{_HOME}{found[1]}</loc>", *lines, "</url>"])


def _element_in(line: str) -> str:
    found = _ELEMENT.match(line)
    return found[1] if found else line.strip()


ALL = "ALL"
OFF = "off"  # what can be given instead of a severity: the rule is not asked
_MOST_ALIKE = 3  # names that a message suggests
_ALIKE = 0.7  # of 1; how much of a name must be the same


@dataclass(frozen=True)
class RuleSelection:
    """The rules that are asked, and how severe they are."""

    rules: tuple[Rule, ...]
    severities: Mapping[str, Severity]

    @classmethod
    def of(
        cls,
        rules: Mapping[str, Rule],
        select: Sequence[str],
        ignore: Sequence[str],
        severities: Mapping[str, Severity | str],
        profile: str | None = None,
    ) -> RuleSelection:
        """Choose from all rules; raises ``ValueError`` if something fits none of them.

        The more specific of what selects and what ignores a rule wins; of equals, what ignores.
        The same holds for severities, of which ``off`` is one; of equals, the last one counts. A
        ``profile`` leaves out rules and makes others more severe, unless that is said otherwise.
        """
        for text, severity in severities.items():
            if str(severity).strip().lower() not in (*Severity, OFF):
                choices = ", ".join((*Severity, OFF))
                raise ValueError(f"unknown severity {severity!r} of {text}; choose from {choices}")
        wanted = [*((text, True) for text in select or [ALL]), *((text, False) for text in ignore)]
        chosen = _best(rules, wanted)
        named = _best(rules, ((text, True) for text in select if text.strip().upper() != ALL))
        if profile not in (None, *PROFILES):
            raise ValueError(f"unknown profile {profile!r}; choose from {', '.join(PROFILES)}")
        usual = (PROFILES[profile] if profile else Profile()).severity
        own = {
            code: usual(rule) or (rule.severity if code in named else OFF)
            for code, rule in rules.items()
        }
        graded = own | _best(rules, severities.items())
        asked = {code: str(graded[code]).strip().lower() for code in rules if chosen.get(code)}
        given = {code: Severity(asked[code]) for code in asked if asked[code] != OFF}
        return cls(tuple(rules[code] for code in given), given)

    def __contains__(self, code: object) -> bool:
        return code in self.severities

    @cached_property
    def asked(self) -> Mapping[RuleScope, Sequence[Rule]]:
        """The rules that look at something of each scope."""
        scopes: Mapping[RuleScope, list[Rule]] = {scope: [] for scope in RuleScope}
        for rule in self.rules:
            if rule.find is not None:
                scopes[rule.scope].append(rule)
        return scopes


def rules_named(rules: Mapping[str, Rule], text: str) -> list[Rule]:
    """Return the rules that a code, the beginning of a code or a name means, by their codes.

    Raises ``ValueError`` with the nearest names if there are none.
    """
    return [rules[code] for code in _fitting(rules, text)]


def _best(rules: Mapping[str, Rule], given: Iterable[tuple[str, Value]]) -> dict[str, Value]:
    """Return the value for each code that texts mean: the most precise one, and of equals the last."""
    found: dict[str, tuple[int, Value]] = {}
    for text, value in given:
        for code, precision in _fitting(rules, text).items():
            if precision >= found.get(code, (-1,))[0]:
                found[code] = precision, value
    return {code: value for code, (_, value) in found.items()}


def _fitting(rules: Mapping[str, Rule], given: str) -> dict[str, int]:
    """Return the codes that a text means; a name is as precise as a code, and ``ALL`` the least."""
    text = given.strip()
    upper, name = text.upper(), text.lower().replace("_", "-")
    upper = ALIASES.get(upper) or ALIASES.get(name) or upper
    if upper == ALL:
        return dict.fromkeys(rules, 0)
    fits = {code: len(upper) for code in rules if text and code.startswith(upper)}
    fits |= {code: len(code) for code, rule in rules.items() if rule.name == name}
    if not fits:
        raise ValueError(_unknown(rules, text))
    return fits


def _unknown(rules: Mapping[str, Rule], text: str) -> str:
    """Return what to say about a text that means no rule, with the nearest ones."""
    if CODE.fullmatch(text.upper()):
        same = [code for code in rules if code.startswith(text.upper()[:4])]
        near = get_close_matches(text.upper(), same, _MOST_ALIKE)
    else:
        names = {rule.name: rule for rule in rules.values()}
        near = get_close_matches(text.lower().replace("_", "-"), names, _MOST_ALIKE, _ALIKE)
    said = " or ".join(near)
    hint = f"did you mean {said}?" if near else "'usp rule' lists them"
    return f"no rule has the code or name {text!r}; {hint}"
