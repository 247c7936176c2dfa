"""Looks at the root of an XML document and picks the parser that reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.excerpts import excerpt
from usp.formats.feeds import PagesAtomSitemapParser, PagesRSSSitemapParser
from usp.formats.index import IndexXMLSitemapParser
from usp.formats.parser import AbstractSitemapParser
from usp.formats.urlset import PagesXMLSitemapParser
from usp.formats.xml.namespaces import Scope, Space
from usp.formats.xml.references import attributes as read_attributes
from usp.formats.xml.scanner import Scanner
from usp.objects.problem import Problems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from usp.formats.parser import Entry
    from usp.formats.xml.parser import AbstractXMLSitemapParser
    from usp.formats.xml.scanner import Token

DOCTYPE = (
    "Sitemap contained unexpected non-standard XML DOCTYPE. "
    "Parsing not supported for security reasons."
)
"""Why a document with declarations of its own is refused, in the words that programs know."""

ROOTS: Mapping[str, type[AbstractXMLSitemapParser]] = {
    "urlset": PagesXMLSitemapParser,
    "sitemapindex": IndexXMLSitemapParser,
    "rss": PagesRSSSitemapParser,
    "RDF": PagesRSSSitemapParser,
    "feed": PagesAtomSitemapParser,
}

_ROOTS_IN_CAPITALS = {name.upper(): parser for name, parser in ROOTS.items()}

# What PHP and its like write in front of a document when something went wrong.
_STRAY = frozenset(
    {"b", "br", "code", "div", "em", "font", "hr", "i", "p", "pre", "span", "strong"}
    | {"table", "td", "th", "tr", "u"}
)
_MAX_STRAY = 64 * 1024  # characters in front of the root


class XMLSitemapParser(AbstractSitemapParser):
    """Reads an XML document of any kind: finds the root, then hands over to the concrete parser.

    ``concrete`` is that parser, once the root is known; ``refusal`` says why there will be none.
    ``namespace`` is the root's name and namespace, if that is not the one of sitemaps.
    """

    def __init__(
        self, url: str | None = None, problems: Problems | None = None, *, fast: bool = False
    ) -> None:
        super().__init__(url, problems, fast=fast)
        self.concrete: AbstractXMLSitemapParser | None = None
        self.refusal: str | None = None
        self.namespace: tuple[str, str] | None = None
        self._before = Problems()  # what is wrong before the root; of interest if there is one
        self._scanner = Scanner(self, self._before)
        self._scanner.before_root = True
        self._stray = False

    def feed(self, text: str) -> list[Entry]:
        """Give the entries that are complete so far."""
        if self.concrete is None:
            text = self.look(text)
        return self.concrete.feed(text) if self.concrete else []

    def close(self) -> list[Entry]:
        """Give the rest."""
        entries = self.feed(self.look("", final=True)) if self.concrete is None else []
        return entries + self.concrete.close() if self.concrete else []

    def look(self, text: str, *, final: bool = False) -> str:
        """Look for the root; once it is found, give the text behind its tag."""
        if self.refusal:
            return ""
        self._scanner.feed(text)
        if final and self.concrete is None:
            self._scanner.close()
        if self.concrete is not None:
            return self._scanner.rest()
        if final or (self._stray and self._scanner.offset > _MAX_STRAY):
            self.refuse("it has no root element")
        return ""

    def refuse(self, reason: str) -> None:
        """Decide that the document is no sitemap; the first reason counts."""
        self.refusal = self.refusal or excerpt(reason)

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
            parser = _ROOTS_IN_CAPITALS.get(root.local)
        if self._stray and self._scanner.offset > _MAX_STRAY:
            self.refuse("it has no root element")
            return
        if parser is None:
            if root.local.lower() in _STRAY:
                self._note_stray()
            elif root.local.lower() in ("html", "head", "body", "script", "title", "meta"):
                self.refuse("it is an HTML page")
            else:
                self.refuse(f"its root element is <{name}>")
            return
        if parser.vocabulary == frozenset({Space.SITEMAP}) and root.space is not Space.SITEMAP:
            self.namespace = (root.local, "" if root.space is Space.NONE else excerpt(root.uri))
        self.problems.add_all(self._before.listed())
        self._scanner.problems = self.problems
        self._scanner.before_root = False
        self.concrete = parser(self.url, self.problems, self._scanner, fast=self.fast, fold=fold)
        self.concrete.url_length = self.url_length
        self._scanner.handler = self.concrete
        self.concrete.start(name, attributes, empty)

    def end(self, name: str) -> None:
        """Pass over an end tag in front of the root."""
        del name
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
            self._before.add(
                "a DOCTYPE stands before the document and was ignored", self._scanner.line
            )
        else:
            self.refuse(DOCTYPE)

    def _note_stray(self, lines: int = 0) -> None:
        if not self._stray:
            self._stray = True
            line = self._scanner.line + lines
            self._before.add("something stands before the document", line)

    def _ignore(self, message: str, excerpt: str) -> None:
        """Leave it to the concrete parser, which reads the same attributes, to tell."""
