"""Which vocabulary an element belongs to, in all the ways websites write it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum, auto
from itertools import chain
from typing import Any, NamedTuple

from usp._base.urls import cached


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
    RS = auto()
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
    ("openarchives.org/rs/terms", Space.RS),
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
    "rs": Space.RS,
    "rss": Space.RSS,
    "atom": Space.ATOM,
    "a10": Space.ATOM,  # what .NET calls it
    "dc": Space.DUBLIN_CORE,
    "dcterms": Space.DUBLIN_CORE,
}


MAX_URI = 300
"""Characters of a namespace that is remembered."""


@cached(256)
def space_of(uri: str) -> Space:
    """Return the vocabulary of a namespace URI."""
    uri = uri.strip().lower()
    if not uri:
        return Space.NONE
    return next((space for part, space in _BY_PART if part in uri + "/"), Space.OTHER)


_ROOM = 2 * 1024 * 1024  # characters that the scopes of a document may remember
_MAX_LENGTH = 2000  # characters of a text that is remembered
_MEANING, _SCOPE, _OF_SKELETON = 200, 1000, 10  # about what their objects take
_MAX_SKELETONS = 50


class Scope:
    """The prefixes in force at a position of a document: those of a tag, and those around it.

    What names mean is remembered, and so are the scopes below, as far as the document has room for it.
    """

    __slots__ = ("_below", "_case_insensitive", "_known", "_room", "known", "skeletons", "uris")

    def __init__(
        self,
        uris: tuple[dict[str, str], ...] = (),
        room: list[int] | None = None,
        *,
        case_insensitive: bool = False,
        like: Scope | None = None,
    ) -> None:
        """Begin with declarations, or ``like`` the scope of another document."""
        # As the innermost tag declares them, the one around it, and so on.
        self.uris: tuple[dict[str, str], ...] = like.uris if like else uris
        self._room = room or [_ROOM]  # which all scopes of a document share
        self._case_insensitive = case_insensitive  # whether the document is written in capitals
        self._below: dict[str, Scope] = {}
        self._known: dict[type, dict[str, Any]] = like.known if like else {}
        self.known: dict[type, dict[str, Any]] = {}  # what tags mean, inside of what
        # What is known of entries by how they are written, also in documents with the same root.
        self.skeletons: dict[str, Any] = like.skeletons if like else {}

    def prefixes(self) -> Iterator[str]:
        """Yield the declared prefixes, perhaps several times; the default namespace is ``""``."""
        return chain.from_iterable(self.uris)

    def uri(self, prefix: str) -> str | None:
        """Return the namespace that a prefix, in lower case, is declared as."""
        for uris in self.uris:
            if prefix in uris:
                return uris[prefix]
        return None

    def meanings(self, inside: type) -> dict[str, Any]:
        """Return what a parser remembers of the meaning of tags, in some entries."""
        meanings = self.known.get(inside)
        if meanings is None:
            meanings = self.known[inside] = dict(self._known.get(inside, ()))
        return meanings

    def remember(self, inside: type, written: str, meaning: Any) -> None:
        """Remember what a tag means, if there is room."""
        if self._takes(written, _MEANING):
            self.meanings(inside)[written] = meaning

    def remember_skeleton(self, skeleton: str, meaning: Any) -> None:
        """Remember what an entry means, if there is room, also for documents with the same root."""
        if self._takes(skeleton, _OF_SKELETON * len(skeleton)):
            if len(self.skeletons) >= _MAX_SKELETONS:  # other documents may need other ones
                self.skeletons.clear()
            self.skeletons[skeleton] = meaning

    def _takes(self, written: str, more: int) -> bool:
        """Return whether there is room for a text and for ``more`` than that; if so, take it."""
        size = len(written) + more
        if len(written) > _MAX_LENGTH or size > self._room[0]:
            return False
        self._room[0] -= size
        return True

    def name(self, written: str) -> Name:
        """Return the meaning of a tag's name."""
        prefix, colon, local = written.rpartition(":")
        if self._case_insensitive:
            local = local.lower()
        if colon and not prefix:
            return Name(Space.OTHER, local, "undeclared:")
        uri = self.uri(prefix.lower())  # attributes are read in lower case
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
            uris = {
                name[len("xmlns:") :]: value
                for name, value in attributes.items()
                if name == "xmlns" or name.startswith("xmlns:")
            }
            scope = Scope((uris, *self.uris), self._room, case_insensitive=self._case_insensitive)
            if self._takes(written, _SCOPE):
                self._below[written] = scope
        return scope
