"""XML sitemaps: ``<urlset>`` with its ``<url>`` entries, ``<sitemapindex>`` with its ``<sitemap>``s.

Each may contain entries of the other: sitemaps among pages are followed, and pages in an index are
returned as pages.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, ClassVar

from usp._base.loc_urls import USUAL, absolute_url, child_url
from usp._formats import values
from usp._formats.abstract_parser import ChildEntry, Notes, PageEntry, RemovedEntry, ignore
from usp._formats.batches import BlockReader, LazyBatch, can_be_read, new_fields, read_core_fields
from usp._formats.extension_reader import NAMES, PLACES, READERS
from usp._formats.xml import cut
from usp._formats.xml.blocks import LARGEST, BlockParser
from usp._formats.xml.cut import CutNames
from usp._formats.xml.namespaces import Scope, Space
from usp._formats.xml.raw_entries import (
    Dialect,
    ElementRole,
    RawEntry,
    Written,
    given_in,
    loc_text,
    note_scheme,
)
from usp._formats.xml.references import attributes as read_attributes
from usp._formats.xml.tree_reader import LARGEST_TREE, TreeReader
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import (
    AbstractIndexSitemap,
    AbstractPagesSitemap,
    IndexResourceSyncSitemap,
    IndexXMLSitemap,
    PagesResourceSyncSitemap,
    PagesXMLSitemap,
)

if TYPE_CHECKING:
    from usp._formats.abstract_parser import Entry, Note
    from usp.objects.page import PageFields

_MAX_ODD = 6  # fields of one entry
_MAX_PREFIXES, _MAX_OTHERS = 10, 30  # that are looked for, each by itself


class UrlEntry(RawEntry, PageEntry):
    """A ``<url>`` as written in the document."""

    core_fields = frozenset({"loc", "lastmod", "changefreq", "priority"})
    extensions = NAMES

    def __init__(self, line: int | None, base: str | None) -> None:
        super().__init__(line, base)
        self._fields: dict[str, str] = {}

    def add(self, name: str, text: str, written: Written, notes: Notes) -> None:
        """Take a field; of two locs the last one that is not empty counts."""
        if name == "loc" and (written != "" or "loc" in self._fields):
            text = loc_text(text, written, notes)
            if self._fields.get("loc", text) != text and text and not text.isspace():
                notes.note(ProblemCode.SEVERAL_LOCS, self._fields["loc"], at=self.place_of("loc"))
        is_empty = not text or text.isspace()
        if (is_empty or name in self._fields) and name != "loc" and len(self.odd_fields) < _MAX_ODD:
            self.odd_fields += ((name, "empty" if is_empty else "twice"),)
        if not is_empty:
            self._fields[name] = text

    def finish(self, notes: Notes) -> list[Entry]:
        """Return the entry itself, if it has a URL."""
        loc = self._fields.get("loc")
        if loc and "&" not in loc and USUAL.fullmatch(loc):
            self.url = self.as_written = loc
            return [self]
        loc = loc or self.nested_loc or self.stray_address(notes)
        self.as_written = loc
        url = absolute_url(values.text(loc) or "", self.base)
        if url is None:
            code = ProblemCode.BAD_LOC if loc else ProblemCode.NO_LOC
            notes.note(code, loc or self.misnamed_loc(), at=self.place_of("loc"), lost=1)
            return []
        note_scheme(loc or "", self, notes)
        self.url = url
        return [self]

    @property
    def core_texts(self) -> dict[str, str]:
        """The fields of the protocol as written."""
        strip = values.without_xml_blanks
        return {
            name: strip(text) if values.text(text) else "" for name, text in self._fields.items()
        }

    def fields(self, note: Note | None = None) -> PageFields:
        """Read the fields of the entry."""
        note = note or ignore
        fields = read_core_fields(self._fields, note)
        for space, records in self.records.items():
            fields[PLACES[space]] = READERS[space](records, note, self.base)
        return new_fields(fields)


class SitemapEntry(RawEntry):
    """A ``<sitemap>`` as written in the document; every loc in it is a child."""

    core_fields = frozenset({"loc", "lastmod"})

    def __init__(self, line: int | None, base: str | None) -> None:
        super().__init__(line, base)
        self._locs: list[str] = []
        self._lastmods: dict[int, str] = {}  # by the number of the loc that they are about

    def add(self, name: str, text: str, written: Written, notes: Notes) -> None:
        """Take a loc, or a lastmod: of several each is about the loc before it."""
        if name == "loc" and written != "":
            text = loc_text(text, written, notes)
        given = values.text(text)
        if given is None:
            return
        if name == "loc":
            self._locs.append(given)
        else:
            self._lastmods[max(len(self._locs) - 1, 0)] = given

    def finish(self, notes: Notes) -> list[Entry]:
        """Return the children that have a URL."""
        children: list[Entry] = []
        locs = self._locs
        if not locs:
            loc = values.text(self.nested_loc) or self.stray_address(notes)
            locs = [loc] if loc else []
        if not locs:
            excerpt, place = self.misnamed_loc(), self.place_of("loc")
            notes.note(ProblemCode.NO_LOC, excerpt, at=place, lost=1)
        elif len({*locs}) > 1:
            notes.note(ProblemCode.SEVERAL_LOCS, locs[0], at=self.place_of("loc"))
        lastmods = self._lastmods
        common = next(iter(lastmods.values())) if len(lastmods) == 1 else None
        for at, loc in enumerate(locs):
            url = child_url(loc, self.base)
            if url is None:
                notes.note(ProblemCode.BAD_LOC, loc, at=self.place_of("loc", loc), lost=1)
            else:
                if url != loc:
                    note_scheme(loc, self, notes)
                date = lastmods.get(at) or common
                dated = self.place_of("lastmod", date or "")
                place = self.place_of("loc", loc)
                children.append(ChildEntry(url, date, loc, *place, dated_at=dated))
        return children


class SitemapParser(BlockParser):
    """What both kinds share: their entries are cut if all are written alike."""

    vocabulary = frozenset({Space.SITEMAP})
    _reader: BlockReader | None = None

    def learn(self) -> None:
        """Look up the usual names, and those that matter for cutting."""
        prefix, colon, _ = self.root_tag[0].rpartition(":")
        self._names(f"{prefix}{colon}{next(iter(self.entries))}")
        super().learn()

    def _names(self, entry: str) -> CutNames:
        """Return which names matter where entries of that name are cut; remember it."""
        dialect = Dialect(type(self), self.dialect.root, None)  # what is asked here is not seen
        names = cut_names(dialect, Scope(like=self._scope), entry)
        self._scope.remember_skeleton(entry, names)
        return names

    def _cut(self, block: str) -> list[Entry] | None:
        """Cut whole entries, or at least the URLs of pages if problems are not requested."""
        # A sign is found ten times as fast as a word, and without one there are no attributes.
        if len(self._stack) > 1 or ("=" in block and "xmlns" in block):
            return None
        shape = cut.shape_of(
            block, self._scope.skeletons.get(self._name) or self._names(self._name)
        )
        self.largest = LARGEST if shape else LARGEST_TREE
        if shape is None or len(block) > self.largest:
            return None
        # Most documents have no second block.
        is_first = self._reader is None or self.report_problems
        found = cut.columns(block, shape) if is_first else None
        if self.report_problems and not (found and self._is_well(found, block)):
            return None
        locs = found["loc"] if found else cut.locs(block, shape)
        urls = locs if locs and cut.plain(locs) else []
        if "&" in block:
            if not shape.loc.endswith("["):
                urls = [loc.replace("&amp;", "&") for loc in urls]
            if any("&" in url and ";" in url for url in urls):
                urls = []  # another reference
        if not urls:
            return None
        if found and self.implied_entry is SitemapEntry:
            return self._children(urls, found)
        if self._reader is None:
            trees = TreeReader(self.dialect, self._scope, self._bases[-1][1])  # for its own thread
            self._reader = BlockReader(self.url, "<{}{}>".format(*self.root_tag), trees)
        return [LazyBatch(urls, block, shape, self._reader, found)]

    def _is_well(self, found: dict[str, list[str]], block: str) -> bool:
        has_problem = block.count("&") != block.count("&amp;") or not can_be_read(found)
        return not (has_problem or self.dialect.is_too_long(found["loc"]))

    def _children(self, urls: list[str], found: dict[str, list[str]]) -> list[Entry] | None:
        if found.keys() - SitemapEntry.core_fields or urls != found["loc"]:
            return None
        dates = values.texts(found["lastmod"]) if "lastmod" in found else repeat(None)
        return [ChildEntry(url, date, url) for url, date in zip(urls, dates, strict=False)]

    def _reopen(self, name: str, attributes: str) -> None:
        super()._reopen(name, attributes)
        if (name, attributes) != self.root_tag:
            self.scanner_only = True  # the same tags may mean something else below another root


_CAPABILITY = "capability"
_WHEN = {"resourcelist": "at", "resourcedump": "at", "changelist": "from", "changedump": "from"}
_LISTS_OF_LISTS = frozenset({"description", "capabilitylist", *(f"{one}-archive" for one in _WHEN)})


class UrlsetParser(SitemapParser):
    """Reads a ``<urlset>``: returns one :class:`Page` per entry, or batches of pages.

    One of ResourceSync says in front of its entries what they are: its ``capability``.
    """

    sitemap_class: type[AbstractIndexSitemap | AbstractPagesSitemap] = PagesXMLSitemap
    capability = ""
    entries: ClassVar = {"url": UrlEntry, "sitemap": SitemapEntry}
    implied_entry = UrlEntry
    strays: ClassVar = {"sitemap": ProblemCode.SITEMAPS_IN_URLSET}
    roots = frozenset({"sitemapindex"})

    largest = _size = LARGEST  # of which locs are cut

    def _note_stray_entry(self, local: str) -> None:
        super()._note_stray_entry(local)
        # What declares sitemaps is an index, and its pages stand in that.
        self.sitemap_class = IndexXMLSitemap

    def may_have_strays(self, text: str) -> bool:
        """Return whether a text that was not read may have sitemaps, or be one of ResourceSync."""
        has_capability = "=" in text and _CAPABILITY in text
        return has_capability or super().may_have_strays(text)

    def _take_unknown(self, name: str, attributes: str) -> None:
        element = self._scope_inside(attributes).name(name)
        if element.space is not Space.RS or self._field is not None:
            super()._take_unknown(name, attributes)
        elif element.local == "md" and len(self._stack) == 1:
            given = read_attributes(attributes, self.note)
            # As `may_have_strays` finds it: the names of attributes are in lower case.
            capability = given.get(_CAPABILITY, "") if _CAPABILITY in attributes else ""
            self.capability = capability.strip().lower()
            when = _WHEN.get(self.capability, _CAPABILITY)
            if not given.get(when, "").strip():
                self.note(ProblemCode.MISSING_EXTENSION_FIELD, f"rs:md[{when}]")
            if not self.capability:
                return
            is_index = self.capability in _LISTS_OF_LISTS
            self.sitemap_class = IndexResourceSyncSitemap if is_index else PagesResourceSyncSitemap
            self.scanner_only = self.scanner_only or self.capability != "resourcelist"

    def _finish_entry(self) -> None:
        before = len(self._done)
        super()._finish_entry()
        if self.capability and self.capability != "resourcelist":
            self._done[before:] = filter(None, map(self._as_listed, self._done[before:]))

    def _as_listed(self, entry: Entry) -> Entry | None:
        """Return what an entry is in a list of ResourceSync; None for a package of resources."""
        if not isinstance(entry, UrlEntry):
            return entry
        if self.capability in _LISTS_OF_LISTS:
            lastmod = entry.core_texts.get("lastmod")
            return ChildEntry(entry.url, lastmod, entry.as_written, *entry.place_of("loc"))
        if "dump" in self.capability:
            return None
        elements = (one[:3] for one in entry.records.get(Space.RS, ()) if one[:1] == ["md"])
        change = "".join([given_in(one[2], ignore).get("change", "") for one in elements])
        if not change.strip() and self.capability == "changelist":
            self.note(ProblemCode.MISSING_EXTENSION_FIELD, "rs:md[change]", at=entry.place_of())
        return RemovedEntry(entry) if change.strip().lower() == "deleted" else entry


def cut_names(dialect: Dialect, scope: Scope, name: str) -> CutNames:
    """Return which names matter where entries of that name are cut."""
    tables, (prefix, colon, local) = dialect.tables, name.rpartition(":")
    entry, strays = tables.implied_entry, tables.strays
    assert entry is not None
    prefixes = {*scope.prefixes()} - {"", prefix}
    # Of many prefixes none is looked for: every block is taken for one with extensions.
    extensions = tuple(f"<{one}:" for one in prefixes) if len(prefixes) < _MAX_PREFIXES else ("<",)
    roles = {
        dialect.meaning(scope, f"{prefix}{colon}{one}", entry).role for one in entry.core_fields
    }
    is_usual = tables.entries.get(dialect.meaning(scope, name, type(None)).local) is entry
    others = [
        f"{other}:{tag}" if other else tag
        for other in sorted({"", prefix, *prefixes})
        if dialect.is_own(scope.name(f"{other}:loc" if other else "loc"))
        for tag in (*((local, "loc") if other != prefix else ()), *strays)
    ]
    if roles != {ElementRole.FIELD} or not is_usual or len(others) > _MAX_OTHERS:
        return CutNames(name, None, extensions)
    return CutNames(name, tuple(others), extensions)


class SitemapIndexParser(SitemapParser):
    """Reads a ``<sitemapindex>``; stray ``<url>`` entries are returned as pages."""

    sitemap_class = IndexXMLSitemap
    entries: ClassVar = {"sitemap": SitemapEntry, "url": UrlEntry}
    implied_entry = SitemapEntry
    roots = frozenset({"urlset"})
    always_reports = True
