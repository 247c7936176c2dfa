"""What names mean at the position of a parser: vocabularies in force, the base of URLs, the root."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple
from urllib.parse import urljoin

from usp._formats.abstract_parser import AbstractSitemapParser
from usp._formats.xml.entries import Meaning, RawEntry, Sort, meaning_inside
from usp._formats.xml.namespaces import Name, Scope, Space
from usp._formats.xml.references import attributes as read_attributes
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from usp._formats.xml.scanner import Scanner
    from usp.objects.problem import Problems

MAX_NAMES = 1000
MAX_NAME = 100
"""How many names, and of which length, are cached."""


class KnownRoot(NamedTuple):
    """The tag of a root as it is written, what it means, and the prefixes in force below it."""

    name: str
    attributes: str
    meaning: Name
    scope: Scope


class SeenElement(NamedTuple):
    """An element that is not one of the usual ones: as written, and what it means inside of what."""

    written: str
    name: Name
    inside: type
    sort: Sort


class Vocabulary(AbstractSitemapParser):
    """Knows what an element is by its name and place; the concrete parsers are tables of names."""

    vocabulary: ClassVar[frozenset[Space]]
    """The document's own vocabulary, in addition to the namespace of its root and no namespace."""

    entries: ClassVar[Mapping[str, type[RawEntry]]]
    """The elements that are entries."""

    strays: ClassVar[Mapping[str, ProblemCode]] = {}
    """Entries that do not belong in such a document, and the problem to note for the first one."""

    roots: ClassVar[frozenset[str]] = frozenset()
    """Roots of other documents that may follow in the same one."""

    implied_entry: ClassVar[type[RawEntry] | None] = None
    """What a ``<loc>`` outside of an entry belongs to: its entry's tag is lost, or misspelt."""

    reads_bases: ClassVar[bool] = False
    """Whether trees may declare bases of URLs."""

    root_implied: bool
    scanner: Scanner
    _entry: RawEntry | None

    def __init__(
        self,
        url: str | None = None,
        problems: Problems | None = None,
        *,
        fast: bool = False,
        fold: bool = False,
    ) -> None:
        super().__init__(url, problems, fast=fast and not fold)
        self.fold = fold  # whether names are written in capitals
        self._scope = Scope(fold=fold)
        self._root: Name | None = None
        self._root_tag = ("", "")
        self.seen: list[SeenElement] = []
        self._bases: list[tuple[int, str | None]] = []  # depth, and the base from there on

    def _begin_root(self, name: str, attributes: str) -> None:
        self._root = self._scope.name(name)
        self._root_tag = (name, attributes)

    @property
    def root(self) -> Name | None:
        """What the root is called, if there is one."""
        return None if self.root_implied else self._root

    @property
    def root_tag(self) -> tuple[str, str]:
        """The root as it is written: its name and its attributes."""
        return self._root_tag

    @property
    def scope(self) -> Scope:
        """The prefixes in force at the position of the parser."""
        return self._scope

    def _known(self, name: str) -> Meaning:
        """Return what an element means at the position of the parser."""
        return self.meaning(name, type(self._entry))

    def meanings(self, inside: type) -> dict[str, Meaning]:
        """Return what is known about the meaning of elements in entries of some class."""
        return self._scope.meanings(inside)

    def meaning(self, name: str, inside: type) -> Meaning:
        """Return what an element means in entries of some class, or outside (``NoneType``)."""
        known = self.meanings(inside)
        meaning = known.get(name)
        if meaning is None:
            meaning = self.find_meaning(self._scope.name(name), inside, name)
            if len(known) < MAX_NAMES and len(name) <= MAX_NAME:
                known[name] = meaning
        return meaning

    def would_mean(self, name: str, inside: type) -> Meaning:
        """Return what :meth:`meaning` would, for a name that may be declared at the element itself."""
        return self._find_meaning(self._scope.name(name), inside)

    def learn(self) -> None:
        """Look up the usual names: those of entries and their fields, written as the root is."""
        prefix, colon, _ = self._root_tag[0].rpartition(":")
        for local, entry in self.entries.items():
            self.meaning(f"{prefix}{colon}{local}", type(None))
            for field in entry.own_fields:
                self.meaning(f"{prefix}{colon}{field}", entry)

    def find_meaning(self, name: Name, inside: type, written: str = "") -> Meaning:
        """Return what an element of that name means; see :meth:`meaning`."""
        meaning = self._find_meaning(name, inside)
        if len(self.seen) < MAX_NAMES:
            short = (written or name.local)[:MAX_NAME]
            self.seen.append(SeenElement(short, name, inside, meaning.sort))
        return meaning

    def _find_meaning(self, name: Name, inside: type) -> Meaning:
        own = self._is_own(name)
        if own and name.local in self.entries:
            return Meaning(Sort.ENTRY, name.local, name.space)
        if issubclass(inside, RawEntry):
            return meaning_inside(name, inside, own=own)
        implies = own and name.local == "loc" and self.implied_entry is not None
        return Meaning(Sort.FIELD if implies else Sort.OTHER, name.local, name.space)

    def _is_own(self, name: Name) -> bool:
        assert self._root is not None
        space = name.space
        return space in self.vocabulary or space is Space.NONE or name.uri == self._root.uri

    def _scope_inside(self, attributes: str) -> Scope:
        """Return the scope inside a tag, which may declare namespaces."""
        if "xmlns" not in attributes:
            return self._scope
        return self._scope.below(attributes, read_attributes(attributes, self._ignore))

    def _declare_base(self, attributes: str, depth: int) -> None:
        """Read the base of URLs from a tag; note damage in its attributes."""
        step = read_attributes(attributes, self.note).get("xml:base")
        if step is not None:
            self._bases.append((depth, self._joined(step)))

    def may_have_strays(self, text: str) -> bool:
        """Return whether entries that do not belong here may begin in a text that was not read."""
        text = text.lower() if self.fold else text
        for stray in self.strays:
            # The word alone is found faster than a tag, and most documents do not have it.
            if stray in text and (f"<{stray}" in text or f":{stray}" in text):
                return True
        return False

    @property
    def root_name(self) -> str:
        """The name of the root element, without a prefix."""
        return self._root.local if self._root else ""

    @property
    def line(self) -> int:
        """The line of the current tag."""
        return self.scanner.line

    def note(self, code: ProblemCode, excerpt: str | None = None, *, lost: int = 0) -> None:
        """Note a problem at the current tag."""
        self.problems.add(code, self.line, excerpt, lost)

    def base(self) -> str | None:
        """Return the URL against which relative ones are resolved, with ``xml:base``."""
        return self._bases[-1][1] if self._bases else self.url

    def _joined(self, step: str) -> str | None:
        """Return the base inside an element that declares one; what cannot be a base is ignored."""
        base = self.base()
        try:
            joined = urljoin(base or "", step) or None
        except ValueError:
            return base
        if joined and self.url_length is not None and len(joined) > self.url_length:
            self.note(ProblemCode.LONG_BASE, step)
            return base
        return joined

    def _ignore(self, code: ProblemCode, excerpt: str) -> None:
        """Do nothing: damage in attributes is noted when they are read again."""
