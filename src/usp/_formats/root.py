"""Looks at the root of an XML document and picks the parser that reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from usp._base.display import excerpt
from usp._base.reason import Reason
from usp._formats.abstract_parser import FormatParser, ignore, parser_at
from usp._formats.html import HTML
from usp._formats.xml.namespaces import Name, Scope, Space
from usp._formats.xml.raw_entries import MAX_NAME
from usp._formats.xml.references import attributes as read_attributes
from usp._formats.xml.scanner import DEAF, TAG, Scanner, TokenHandler
from usp.objects.problem import FailureCode, ProblemCode, Problems

if TYPE_CHECKING:
    from usp._formats.xml.xml_parser import XmlParser

DOCTYPE = Reason(
    FailureCode.FORBIDDEN_DOCTYPE,
    "Sitemap contained unexpected non-standard XML DOCTYPE. "
    "Parsing not supported for security reasons.",
)
"""Why a document with its own declarations is refused, in the words of 1.8.1."""

ROOTS: Mapping[str, str] = {
    "urlset": "xml_sitemaps:UrlsetParser",
    "sitemapindex": "xml_sitemaps:SitemapIndexParser",
    "rss": "feeds:RssParser",
    "RDF": "feeds:RssParser",
    "feed": "feeds:AtomParser",
    "opml": "feeds:OpmlParser",
}
"""The elements that are roots, and the places of what reads documents with them."""

_IN_ANY_CAPITALS = {name.lower(): parser for name, parser in ROOTS.items()}

# Which root a document has lost, by the first element that is there.
_LOST_ROOTS = {
    "url": "urlset",
    "loc": "urlset",
    "sitemap": "sitemapindex",
    "item": "rss",
    "channel": "rss",
    "entry": "feed",
}
_OWN = frozenset({Space.NONE, Space.SITEMAP, Space.RSS, Space.ATOM, Space.OTHER})
_HTML = frozenset({"html", "head", "body", "frameset"})

# What programs, plugins and proxies write in front of a document: HTML without a page around it.
_OF_PAGES = frozenset({"script", "style", "title", "meta", "link", "noscript", "base", "template"})
_STRAY = _OF_PAGES | frozenset(
    {"b", "br", "code", "div", "em", "font", "hr", "i", "iframe", "img", "input", "p", "pre"}
    | {"span", "strong", "table", "td", "textarea", "th", "tr", "u"}
)
_SILENT = frozenset({"script", "style", "title", "textarea", "template", "noscript"})
"""Elements of HTML in which nothing is the root, whatever is quoted there."""

_MAX_STRAY = 64 * 1024  # characters in front of the root

_RSS_DOCTYPE = re.compile(r"\bDTD RSS 0\.9|/rss-0\.9[0-9]?\.dtd", re.IGNORECASE)
# The usual beginning: declaration, stylesheet and comments, with nothing in them to think about.
_PROLOG = re.compile(r"(?:[ \t\r\n]++|<\?[^<>]*?\?>|<!--[^<>]*?-->)*+")
_Root: TypeAlias = "tuple[tuple[str, str] | None, XmlParser]"
_MAX_REMEMBERED = 2000  # characters of a root tag


@lru_cache(maxsize=128)
def _usual_root(name: str, attributes: str) -> _Root | None:
    """Return what a root tag means: its foreign namespace, and a parser that has read nothing else.

    None if that needs a closer look.
    The documents of a website have the same one, and finding out takes as long as reading twenty pages.
    """
    damage: list[ProblemCode] = []
    given = read_attributes(attributes, lambda code, _: damage.append(code))
    if damage or "xml:base" in given:
        return None
    scope = Scope().below(attributes, given) if "xmlns" in attributes else Scope()
    meaning = scope.name(name)
    parser = _parser_of(meaning.local)
    if parser is None:
        return None
    example = parser()
    example.start(name, attributes, empty=False)
    example.learn()
    return _foreign_namespace(meaning, parser), example


def _parser_of(name: str, roots: Mapping[str, str] = ROOTS) -> type[XmlParser] | None:
    return parser_at(roots[name]) if name in roots else None


def _foreign_namespace(root: Name, parser: type[XmlParser]) -> tuple[str, str] | None:
    """Return the name and namespace of a root that should be in that of sitemaps and is not."""
    if Space.SITEMAP not in parser.vocabulary or root.space is Space.SITEMAP:
        return None
    return root.local, "" if root.space is Space.NONE else excerpt(root.uri)


def usual_beginning(text: str) -> tuple[_Root, int] | None:
    """Return the root of a document and where its tag ends, if there is nothing unusual up to there."""
    before = _PROLOG.match(text)
    tag = TAG.match(text, before.end()) if before else None
    if tag is None or tag.end() - tag.start() > _MAX_REMEMBERED:
        return None
    slash, name, attributes = tag.groups()
    if slash or attributes[-1:] == "/" or len(name) > MAX_NAME:
        return None
    root = _usual_root(name, attributes)
    return None if root is None else (root, tag.end())


class RootFinder(TokenHandler, FormatParser):
    """Finds the root of an XML document of any kind, then hands over to the concrete parser.

    ``concrete`` is that parser, once the root is known; ``refusal`` is why there is none.
    ``namespace`` is the root's name and namespace, if that is not the one of sitemaps. A page
    is refused, unless ``reads_pages``: then ``found_page`` says so.
    """

    reads_pages = False
    found_page = False

    def __init__(self, *given: Any) -> None:
        FormatParser.__init__(self, *given)
        self.concrete: XmlParser | None = None
        self.refusal: Reason | None = None
        self.namespace: tuple[str, str] | None = None
        self._before = Problems()  # what is wrong before the root; of interest if there is one
        self.scanner = Scanner(self, self._before)
        self.scanner.before_root = True
        self._stray = False
        self._wrapper: str | None = None  # an element around what may be the root,
        self._wrapper_place = 1, 1  # and its place
        self._open = 0  # elements that are open around what may be the root
        self._is_direct = False  # whether nothing is between the wrapper and what comes next
        self._silent: str | None = None  # an element of HTML that may quote anything
        self._rss_doctype: tuple[int, int] | None = None  # its place
        self._is_page = False  # whether there were elements that pages have

    def look(self, text: str, *, final: bool = False) -> str:
        """Look for the root; return the text after its tag once it is found."""
        if self.refusal:
            return ""
        self.scanner.feed(text)
        if final and self.concrete is None:
            self.scanner.close()
        if self.concrete is not None or self.found_page:
            return self.scanner.rest()
        if final or self._is_far_from_root():
            self._refuse_rootless()
        if self.refusal is not None:
            self.scanner.rest()  # is of no use, and would wait for the garbage collector
        return ""

    def _is_far_from_root(self) -> bool:
        outside = self._stray or self._wrapper is not None
        return outside and self.scanner.offset > _MAX_STRAY

    def _refuse_rootless(self) -> None:
        wrapper = self._wrapper
        if self._is_page and wrapper is None:
            self.refuse(HTML)
        text = f"its root element is <{wrapper}>" if wrapper else "it has no root element"
        self.refuse(Reason(FailureCode.NOT_A_SITEMAP, text))

    def refuse(self, reason: Reason) -> None:
        """Refuse the document; the first reason counts."""
        if self.refusal is None:
            self.problems.add_all(self._before.listed())
        self.refusal = self.refusal or reason

    # What the scanner reports until the root is known --------------------------------------------

    def start(self, name: str, attributes: str, empty: bool) -> None:
        """Look at an element that may be the root.

        It is what follows an XML declaration, or is inside no other element: HTML in front of it is
        not around it.
        """
        if self.scanner.take_declaration():  # a document begins here
            if self._wrapper is not None or self._silent is not None:
                self._note_stray()
            self._silent, self._open = None, 0
        if self.refusal or self._silent:
            return
        scope = Scope()
        if "xmlns" in attributes:
            scope = scope.below(attributes, read_attributes(attributes, ignore))
        root = scope.name(name)
        parser = _parser_of(root.local)
        case_insensitive = parser is None
        if parser is None:
            parser = _parser_of(root.local.lower(), _IN_ANY_CAPITALS)
        if self._is_far_from_root():
            self._refuse_rootless()
        elif parser is not None and (not self._open or self._is_wrapped(parser)):
            self.namespace = _foreign_namespace(root, parser)
            self._begin(parser, case_insensitive=case_insensitive).start(name, attributes, empty)
        else:
            self._look_at_other(name, root, attributes, empty)

    def _is_wrapped(self, parser: type[XmlParser]) -> bool:
        """Return whether an element inside a single other one is the root all the same.

        A name such as rss may mean anything in another vocabulary, that of a sitemap may not.
        """
        return self._is_direct and self._open == 1 and Space.SITEMAP in parser.vocabulary

    def _begin(self, parser: type[XmlParser], *, case_insensitive: bool = False) -> XmlParser:
        """Hand over to the concrete parser, with all that was noted so far."""
        if self._wrapper is not None and not self._stray:
            line, column = self._wrapper_place
            self._before.add(ProblemCode.TEXT_BEFORE_DOCUMENT, line, column=column)
        if self._rss_doctype is not None and parser is not parser_at(ROOTS["rss"]):
            line, column = self._rss_doctype
            self._before.add(ProblemCode.DOCTYPE_IGNORED, line, column=column)
        self.problems.add_all(self._before.listed())
        self.scanner.problems = self.problems
        self.scanner.before_root = False
        given = self.url, self.problems, self.options
        self.concrete = parser(*given, scanner=self.scanner, case_insensitive=case_insensitive)
        self.scanner.handler = self.concrete
        return self.concrete

    def _look_at_other(self, name: str, root: Name, attributes: str, empty: bool) -> None:
        """Look at an element that is not a root: a stray, an entry without a root, or a wrapper."""
        local = root.local.lower()
        if self._wrapper is None and local in _HTML and self.reads_pages:
            self.found_page, self.scanner.handler = True, DEAF
        elif self._wrapper is None and local in _HTML:
            self.refuse(HTML)
        elif (local in _STRAY and not self._open) or local == "xml":  # a declaration as an element
            self._is_page = self._is_page or local in _OF_PAGES
            self._silent = local if local in _SILENT and not empty else None
            self._note_stray()
        elif local in _LOST_ROOTS and root.space in _OWN and not (self._open or empty):
            lost = _LOST_ROOTS[local]
            concrete = self._begin(parser_at(ROOTS[lost]))
            concrete.start_without_root(name[: name.rfind(":") + 1] + lost)
            concrete.start(name, attributes, empty)
        else:
            self._is_direct = not (empty or self._open or ":" in name)
            self._open += not empty
            if self._wrapper is None:
                self._wrapper, self._wrapper_place = excerpt(name), self.scanner.place

    def end(self, name: str) -> None:
        """Pass over an end tag in front of the root."""
        self._is_direct = False
        if self._silent is not None:
            if name.lower() == self._silent:
                self._silent = None
        elif self._open:
            self._open -= 1
        else:
            self._note_stray()

    def text(self, raw: str) -> None:
        """Pass over text in front of the root."""
        text = raw.lstrip(" \t\r\n\ufeff\0")
        if text:
            self._is_direct = False
            self._note_stray(raw[: len(raw) - len(text)])

    def cdata(self, text: str) -> None:
        """Pass over CDATA in front of the root."""
        del text
        self._note_stray()

    def declaration(self, kind: str, written: str) -> None:
        """Refuse declarations: sitemaps need none, and attacks begin with them.

        A document type without any only names a DTD, which is never loaded: it is skipped. That of RSS
        0.91 is a part of the format.
        """
        if kind != "DOCTYPE" or "[" in written:
            self.refuse(DOCTYPE)
        elif _RSS_DOCTYPE.search(written):
            self._rss_doctype = self.scanner.place
        else:
            line, column = self.scanner.place
            self._before.add(ProblemCode.DOCTYPE_IGNORED, line, column=column)

    def _note_stray(self, before: str = "") -> None:
        if not self._stray and self._wrapper is None:
            self._stray = True
            line, column = self.scanner.place_after(before)
            self._before.add(ProblemCode.TEXT_BEFORE_DOCUMENT, line, column=column)
