"""Looks at the root of an XML document and picks the parser that reads it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from usp._base.reason import Reason
from usp._base.safe_text import excerpt
from usp._formats.abstract_parser import AbstractSitemapParser
from usp._formats.feeds import PagesAtomSitemapParser, PagesRSSSitemapParser
from usp._formats.html import HTML
from usp._formats.xml.namespaces import Scope, Space
from usp._formats.xml.references import attributes as read_attributes
from usp._formats.xml.scanner import Scanner
from usp._formats.xml.tokens import DEAF, TAG
from usp._formats.xml.vocabulary import MAX_NAME, KnownRoot
from usp._formats.xml_sitemaps import IndexXMLSitemapParser, PagesXMLSitemapParser
from usp.objects.problem import FailureCode, ProblemCode, Problems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from usp._formats.abstract_parser import Entry
    from usp._formats.xml.namespaces import Name
    from usp._formats.xml.parser import AbstractXMLSitemapParser
    from usp._formats.xml.tokens import Token

DOCTYPE = Reason(
    FailureCode.FORBIDDEN_DOCTYPE,
    "Sitemap contained unexpected non-standard XML DOCTYPE. "
    "Parsing not supported for security reasons.",
)
"""Why a document with its own declarations is refused, in the words of 1.8.1."""

ROOTS: Mapping[str, type[AbstractXMLSitemapParser]] = {
    "urlset": PagesXMLSitemapParser,
    "sitemapindex": IndexXMLSitemapParser,
    "rss": PagesRSSSitemapParser,
    "RDF": PagesRSSSitemapParser,
    "feed": PagesAtomSitemapParser,
}

_IN_ANY_CAPITALS = {name.lower(): parser for name, parser in ROOTS.items()}

# Which root a document has lost, told by the first element that is there.
_LOST_ROOTS = {
    "url": "urlset",
    "loc": "urlset",
    "sitemap": "sitemapindex",
    "item": "rss",
    "channel": "rss",
    "entry": "feed",
}
_OWN = frozenset({Space.NONE, Space.SITEMAP, Space.RSS, Space.ATOM, Space.OTHER})
_HTML = frozenset({"html", "head", "body", "script", "title", "meta"})

# What PHP and its like write in front of a document when something went wrong.
_STRAY = frozenset(
    {"b", "br", "code", "div", "em", "font", "hr", "i", "p", "pre", "span", "strong"}
    | {"table", "td", "th", "tr", "u"}
)
_MAX_STRAY = 64 * 1024  # characters in front of the root

# The usual beginning: declaration, stylesheet and comments, with nothing in them to think about.
_PROLOG = re.compile(r"(?:[ \t\r\n]++|<\?[^<>]*?\?>|<!--[^<>]*?-->)*+")
_MAX_REMEMBERED = 2000  # characters of a root tag, and of a beginning
_MAX_BEGINNINGS = 6  # more are looked for as slowly as a root tag is read


class _Root(NamedTuple):
    """A root tag without problems, and the parser for what is below it; ``example`` reads nothing."""

    parser: type[AbstractXMLSitemapParser]
    namespace: tuple[str, str] | None
    known: KnownRoot
    example: AbstractXMLSitemapParser


class Beginning(NamedTuple):
    """A document up to the end of a usual root tag: all that a glance at its pages needs."""

    text: str
    root: _Root

    @property
    def refusal(self) -> Reason | None:
        """None: the document is a sitemap."""
        return None

    @property
    def concrete(self) -> AbstractXMLSitemapParser:
        """The parser that would read the document; it knows what the root is."""
        return self.root.example

    @property
    def namespace(self) -> tuple[str, str] | None:
        """The root's name and namespace, if that is not the one of sitemaps."""
        return self.root.namespace

    def look(self, text: str, *, final: bool = False) -> str:
        """Return the text after the root tag."""
        del final
        return text[len(self.text) :]

    def release(self) -> None:
        """Do nothing: nothing was made for this document."""


@lru_cache(maxsize=128)
def _usual_root(name: str, attributes: str) -> _Root | None:
    """Return what a root tag means; None if that needs a closer look.

    The documents of a website have the same one, and finding out takes as long as reading twenty pages.
    """
    damage: list[ProblemCode] = []
    given = read_attributes(attributes, lambda code, _: damage.append(code))
    if damage or "xml:base" in given:
        return None
    scope = Scope().below(attributes, given) if "xmlns" in attributes else Scope()
    meaning = scope.name(name)
    parser = ROOTS.get(meaning.local)
    if parser is None:
        return None
    known = KnownRoot(name, attributes, meaning, scope)
    example = parser()
    example.start_known_root(known)
    example.learn()
    known = known._replace(scope=example.scope)
    return _Root(parser, _foreign_namespace(meaning, parser), known, example)


def _foreign_namespace(
    root: Name, parser: type[AbstractXMLSitemapParser]
) -> tuple[str, str] | None:
    """Return the name and namespace of a root that should be in that of sitemaps and is not."""
    if Space.SITEMAP not in parser.vocabulary or root.space is Space.SITEMAP:
        return None
    return root.local, "" if root.space is Space.NONE else excerpt(root.uri)


_recent: tuple[Beginning, ...] = ()
"""The last ones: the documents of a website begin alike."""


def usual_beginning(text: str) -> Beginning | None:
    """Return how a document begins, if there is nothing unusual up to the end of its root tag."""
    global _recent  # noqa: PLW0603 - a cache, replaced as a whole
    for known in _recent:
        if text.startswith(known.text):
            return known
    before = _PROLOG.match(text)
    tag = TAG.match(text, before.end()) if before else None
    if tag is None or tag.end() - tag.start() > _MAX_REMEMBERED:
        return None
    slash, name, attributes = tag.groups()
    if slash or attributes[-1:] == "/" or len(name) > MAX_NAME:
        return None
    root = _usual_root(name, attributes)
    if root is None:
        return None
    found = Beginning(text[: tag.end()], root)
    if len(found.text) <= _MAX_REMEMBERED:
        _recent = (found, *_recent)[:_MAX_BEGINNINGS]
    return found


class XMLSitemapParser(AbstractSitemapParser):
    """Reads an XML document of any kind: finds the root, then hands over to the concrete parser.

    ``concrete`` is that parser, once the root is known; ``refusal`` is why there is none.
    ``namespace`` is the root's name and namespace, if that is not the one of sitemaps.
    """

    def __init__(
        self, url: str | None = None, problems: Problems | None = None, *, fast: bool = False
    ) -> None:
        super().__init__(url, problems, fast=fast)
        self.concrete: AbstractXMLSitemapParser | None = None
        self.refusal: Reason | None = None
        self.namespace: tuple[str, str] | None = None
        self._before = Problems()  # what is wrong before the root; of interest if there is one
        self._scanner = Scanner(self, self._before)
        self._scanner.before_root = True
        self._has_begun = False
        self._stray = False
        self._wrapper: str | None = None  # an element around what may be the root,
        self._wrapper_line = 1  # and its line
        self._open = 0  # elements that are open around what may be the root

    def feed(self, text: str) -> list[Entry]:
        """Return the entries that are complete so far."""
        if self.concrete is None:
            text = self.look(text)
        return self.concrete.feed(text) if self.concrete else []

    def close(self) -> list[Entry]:
        """Return the rest."""
        entries = self.feed(self.look("", final=True)) if self.concrete is None else []
        return entries + self.concrete.close() if self.concrete else []

    def look(self, text: str, *, final: bool = False) -> str:
        """Look for the root; return the text after its tag once it is found."""
        if self.refusal:
            return ""
        if not self._has_begun:
            self._has_begun = True
            beginning = usual_beginning(text)
            if beginning is not None:
                self._begin_known(beginning)
                return beginning.look(text)
        self._scanner.feed(text)
        if final and self.concrete is None:
            self._scanner.close()
        if self.concrete is not None:
            return self._scanner.rest()
        if final or self._is_far_astray():
            self._refuse_rootless()
        if self._is_refused:
            self._scanner.rest()  # is of no use, and would wait for the garbage collector
        return ""

    def release(self) -> None:
        """Part scanner and parser once nothing more is read.

        They know each other: otherwise both would wait for the garbage collector.
        """
        self._scanner.handler = DEAF

    def _begin_known(self, beginning: Beginning) -> None:
        root = beginning.root
        self.namespace = root.namespace
        self._begin(root.parser).start_known_root(root.known)
        self._scanner.skip(beginning.text, count=True)

    @property
    def _is_refused(self) -> bool:
        return self.refusal is not None

    def _is_far_astray(self) -> bool:
        astray = self._stray or self._wrapper is not None
        return astray and self._scanner.offset > _MAX_STRAY

    def _refuse_rootless(self) -> None:
        wrapper = self._wrapper
        text = f"its root element is <{wrapper}>" if wrapper else "it has no root element"
        self.refuse(Reason(FailureCode.NOT_A_SITEMAP, text))

    def refuse(self, reason: Reason) -> None:
        """Refuse the document; the first reason counts."""
        if self.refusal is None:
            self.problems.add_all(self._before.listed())
        self.refusal = self.refusal or reason

    # What the scanner tells until the root is known ----------------------------------------------

    def start(self, name: str, attributes: str, empty: bool) -> None:
        """Look at an element that may be the root."""
        if self.refusal:
            return
        scope = Scope()
        if "xmlns" in attributes:
            scope = scope.below(attributes, read_attributes(attributes, self._ignore))
        root = scope.name(name)
        parser = ROOTS.get(root.local)
        fold = parser is None
        if parser is None:
            parser = _IN_ANY_CAPITALS.get(root.local.lower())
        if self._is_far_astray():
            self._refuse_rootless()
        elif parser is not None and not (self._wrapper and self._is_common_word(root, parser)):
            self.namespace = _foreign_namespace(root, parser)
            self._begin(parser, fold=fold).start(name, attributes, empty)
        else:
            self._look_at_other(name, root, attributes, empty)

    @staticmethod
    def _is_common_word(root: Name, parser: type[AbstractXMLSitemapParser]) -> bool:
        """Return whether an element inside another one may be a root by its name alone."""
        return root.local.lower() == "feed" and root.space not in parser.vocabulary

    def _begin(
        self, parser: type[AbstractXMLSitemapParser], *, fold: bool = False
    ) -> AbstractXMLSitemapParser:
        """Hand over to the concrete parser, with all that was noted so far."""
        if self._wrapper is not None and not self._stray:
            self._before.add(ProblemCode.TEXT_BEFORE_DOCUMENT, self._wrapper_line)
        self.problems.add_all(self._before.listed())
        self._scanner.problems = self.problems
        self._scanner.before_root = False
        self.concrete = parser(self.url, self.problems, self._scanner, fast=self.fast, fold=fold)
        self.concrete.url_length = self.url_length
        self.concrete.scans = self.scans
        self._scanner.handler = self.concrete
        return self.concrete

    def _look_at_other(self, name: str, root: Name, attributes: str, empty: bool) -> None:
        """Look at an element that is not a root: a stray, an entry without a root, or a wrapper."""
        local = root.local.lower()
        if local in _STRAY or local == "xml":  # an XML declaration may be written as an element
            self._note_stray()
        elif self._wrapper is None and local in _HTML:
            self.refuse(HTML)
        elif local in _LOST_ROOTS and root.space in _OWN and not (self._open or empty):
            self._begin_without_root(name, local).start(name, attributes, empty)
        else:
            self._open += not empty
            if self._wrapper is None:
                self._wrapper, self._wrapper_line = excerpt(name), self._scanner.line

    def _begin_without_root(self, name: str, local: str) -> AbstractXMLSitemapParser:
        prefix, colon, _ = name.rpartition(":")
        root = _LOST_ROOTS[local]
        concrete = self._begin(ROOTS[root])
        concrete.start_without_root(f"{prefix}{colon}{root}")
        return concrete

    def end(self, name: str) -> None:
        """Pass over an end tag in front of the root."""
        if self._open and name.lower() not in _STRAY:
            self._open -= 1
        else:
            self._note_stray()

    def text(self, raw: str) -> None:
        """Pass over text in front of the root."""
        text = raw.lstrip(" \t\r\n\ufeff\0")
        if text:
            self._note_stray(raw.count("\n", 0, len(raw) - len(text)))

    def take(self, tokens: list[Token]) -> None:
        """Nothing: the scanner is in no hurry before the root is known."""

    def cdata(self, text: str) -> None:
        """Pass over CDATA in front of the root."""
        del text
        self._note_stray()

    def declaration(self, kind: str, subset: bool) -> None:
        """Refuse declarations: sitemaps need none, and attacks begin with them.

        A document type without any only names a DTD, which is never loaded: it is skipped.
        """
        if kind == "DOCTYPE" and not subset:
            self._before.add(ProblemCode.DOCTYPE_IGNORED, self._scanner.line)
        else:
            self.refuse(DOCTYPE)

    def _note_stray(self, lines: int = 0) -> None:
        if not self._stray and self._wrapper is None:
            self._stray = True
            line = self._scanner.line + lines
            self._before.add(ProblemCode.TEXT_BEFORE_DOCUMENT, line)

    def _ignore(self, code: ProblemCode, excerpt: str) -> None:
        """Do nothing: the concrete parser reads the same attributes, and notes the problems."""
