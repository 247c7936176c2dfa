"""Which vocabulary an element belongs to, in all the ways websites write it."""

from __future__ import annotations

import functools
from enum import IntEnum, auto
from typing import Any, NamedTuple


class Space(IntEnum):
    """The vocabularies that the parsers know."""

    NONE = auto()
    SITEMAP = auto()
    NEWS = auto()
    IMAGE = auto()
    VIDEO = auto()
    MOBILE = auto()
    PAGEMAP = auto()
    XHTML = auto()
    RSS = auto()
    ATOM = auto()
    DUBLIN_CORE = auto()
    OTHER = auto()


class Name(NamedTuple):
    """An element's name: its vocabulary, its local name and its namespace as written."""

    space: Space
    local: str
    uri: str


# Parts of namespace URIs, tried in this order on the URI in lower case. Sites vary scheme, host,
# version and trailing slash: Google's of 2005 (0.84), sitemaps.org's, https, without www, …
_BY_PART = (
    ("/sitemap-news", Space.NEWS),
    ("/sitemap-image", Space.IMAGE),
    ("/sitemap-video", Space.VIDEO),
    ("/sitemap-mobile", Space.MOBILE),
    ("/sitemap-pagemap", Space.PAGEMAP),
    ("/schemas/sitemap", Space.SITEMAP),
    ("/sitemap/", Space.SITEMAP),
    ("w3.org/1999/xhtml", Space.XHTML),
    ("w3.org/tr/xhtml", Space.XHTML),
    ("w3.org/2005/atom", Space.ATOM),
    ("purl.org/atom/ns", Space.ATOM),
    ("purl.org/rss/1.0/modules", Space.OTHER),
    ("purl.org/rss/", Space.RSS),
    ("my.netscape.com/rdf/simple", Space.RSS),
    ("channel.netscape.com/rdf/simple", Space.RSS),
    ("backend.userland.com/rss", Space.RSS),
    ("blogs.law.harvard.edu/tech/rss", Space.RSS),
    ("cyber.law.harvard.edu/rss", Space.RSS),
    ("purl.org/dc/", Space.DUBLIN_CORE),
)

# What a prefix means that was never declared, or declared as something nobody knows.
_BY_PREFIX = {
    "news": Space.NEWS,
    "n": Space.NEWS,
    "image": Space.IMAGE,
    "video": Space.VIDEO,
    "mobile": Space.MOBILE,
    "pagemap": Space.PAGEMAP,
    "xhtml": Space.XHTML,
    "rss": Space.RSS,
    "atom": Space.ATOM,
    "a10": Space.ATOM,  # what .NET calls it
    "dc": Space.DUBLIN_CORE,
    "dcterms": Space.DUBLIN_CORE,
}


_MAX_URI = 300  # characters of a namespace that is remembered


def space_of(uri: str) -> Space:
    """Return the vocabulary of a namespace URI."""
    return (_known_space if len(uri) <= _MAX_URI else _find_space)(uri)


def _find_space(uri: str) -> Space:
    uri = uri.strip().lower()
    if not uri:
        return Space.NONE
    return next((space for part, space in _BY_PART if part in uri + "/"), Space.OTHER)


_known_space = functools.lru_cache(maxsize=256)(_find_space)


class Scope:
    """The prefixes in force at a position of a document; the meanings of names are cached."""

    __slots__ = ("_below", "_fold", "_meanings", "_names", "_uris")

    _MAX_REMEMBERED = 1000
    _MAX_LENGTH = 1000  # characters of what is remembered

    def __init__(self, uris: dict[str, str] | None = None, *, fold: bool = False) -> None:
        self._uris = uris or {}
        self._fold = fold  # whether the document is written in capitals
        self._names: dict[str, Name] = {}
        self._below: dict[str, Scope] = {}
        self._meanings: dict[type, dict[str, Any]] = {}

    def copy(self) -> Scope:
        """Return a copy of the scope, with its cache."""
        scope = Scope(self._uris, fold=self._fold)
        scope._names = self._names.copy()
        scope._meanings = {inside: known.copy() for inside, known in self._meanings.items()}
        return scope

    def prefixes(self) -> list[str]:
        """Return the declared prefixes; the default namespace is ``""``."""
        return list(self._uris)

    def declares(self, prefix: str) -> bool:
        """Return whether a prefix, in lower case, is declared."""
        return prefix in self._uris

    def name(self, written: str) -> Name:
        """Return the meaning of a tag's name."""
        name = self._names.get(written)
        if name is None:
            name = self._look_up(written)
            if len(self._names) < self._MAX_REMEMBERED and len(written) <= self._MAX_LENGTH:
                self._names[written] = name
        return name

    def meanings(self, inside: type) -> dict[str, Any]:
        """Return the place where a parser remembers what tags mean to it, in some entries."""
        meanings = self._meanings.get(inside)
        if meanings is None:
            meanings = self._meanings[inside] = {}
        return meanings

    def _look_up(self, written: str) -> Name:
        prefix, colon, local = written.rpartition(":")
        if self._fold:
            local = local.lower()
        if colon and not prefix:
            return Name(Space.OTHER, local, "undeclared:")
        uri = self._uris.get(prefix.lower())  # attributes are read in lower case
        if uri is None:
            if not prefix:
                return Name(Space.NONE, local, "")
            return Name(_BY_PREFIX.get(prefix.lower(), Space.OTHER), local, f"undeclared:{prefix}")
        space = space_of(uri)
        if space is Space.OTHER and ("sitemap" in uri or "google" in uri):
            space = _BY_PREFIX.get(prefix.lower(), space)
        return Name(space, local, uri)

    def below(self, written: str, attributes: dict[str, str]) -> Scope:
        """Return the scope inside a tag that declares namespaces; ``written`` are its attributes."""
        scope = self._below.get(written)
        if scope is None:
            uris = dict(self._uris)
            for name, value in attributes.items():
                if name == "xmlns":
                    uris[""] = value
                elif name.startswith("xmlns:"):
                    uris[name[6:]] = value
            scope = Scope(uris, fold=self._fold)
            if len(self._below) < self._MAX_REMEMBERED and len(written) <= self._MAX_LENGTH:
                self._below[written] = scope
        return scope
