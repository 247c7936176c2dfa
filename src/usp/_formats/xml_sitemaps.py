"""XML sitemaps: ``<urlset>`` with its ``<url>`` entries, ``<sitemapindex>`` with its ``<sitemap>``s.

Each may contain entries of the other: sitemaps among pages are followed, and pages in an index are
returned as pages.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, ClassVar

from usp._base.loc_urls import USUAL, absolute_url, child_url
from usp._formats import values
from usp._formats.abstract_parser import ChildEntry, PageEntry, ignore
from usp._formats.batches import LazyBatch, can_be_read, new_fields, read_own
from usp._formats.block_reader import BlockReader
from usp._formats.extension_reader import NAMES, PLACES, READERS
from usp._formats.xml import cut
from usp._formats.xml.blocks import LARGEST, BlockParser
from usp._formats.xml.cut import CutNames
from usp._formats.xml.namespaces import Name, Scope, Space, space_of
from usp._formats.xml.raw_entries import (
    Dialect,
    ElementRole,
    KnownRoot,
    Notes,
    RawEntry,
    Written,
    loc_text,
    note_scheme,
)
from usp._formats.xml.references import decode_text
from usp._formats.xml.tree_reader import LARGEST_TREE, declared
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import (
    AbstractIndexSitemap,
    AbstractPagesSitemap,
    IndexXMLSitemap,
    PagesXMLSitemap,
)

if TYPE_CHECKING:
    from usp._formats.abstract_parser import Entry, Note
    from usp.objects.page import PageFields

_MAX_PREFIXES = 10  # that are looked for, each by itself
_EARLY = 64 * 1024  # characters whose entries are cut with all fields: most documents have no more


class UrlEntry(RawEntry, PageEntry):
    """A ``<url>`` as written in the document."""

    own_fields = frozenset({"loc", "lastmod", "changefreq", "priority"})
    extensions = NAMES

    def __init__(self, line: int | None, base: str | None) -> None:
        self.line = line
        self.base = base
        self.records = {}
        self._fields: dict[str, str] = {}

    def add(self, name: str, text: str, written: Written, notes: Notes) -> None:
        """Take a field; of two locs the last one that is not empty counts."""
        if name == "loc" and (written != "" or "loc" in self._fields):
            text = loc_text(text, written, notes)
            if self._fields.get("loc", text) != text and text and not text.isspace():
                notes.note(ProblemCode.SEVERAL_LOCS, self._fields["loc"])
        if text and not text.isspace():
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
            notes.note(code, loc, line=self.line, lost=1)
            return []
        note_scheme(loc or "", self, notes)
        self.url = url
        return [self]

    @property
    def own_texts(self) -> dict[str, str]:
        """The fields of the protocol as written."""
        return {name: values.text(text) or "" for name, text in self._fields.items()}

    def fields(self, at: int = 0, note: Note | None = None) -> PageFields:
        """Read the fields of the entry, which is the only one here."""
        del at
        note = note or ignore
        fields = read_own(self._fields, note)
        for space, records in self.records.items():
            fields[PLACES[space]] = READERS[space](records, note, self.base)
        return new_fields(fields)


class SitemapEntry(RawEntry):
    """A ``<sitemap>`` as written in the document; every loc in it is a child."""

    own_fields = frozenset({"loc", "lastmod"})

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
            notes.note(ProblemCode.NO_LOC, line=self.line, lost=1)
        lastmods = self._lastmods
        common = next(iter(lastmods.values())) if len(lastmods) == 1 else None
        for at, loc in enumerate(locs):
            url = child_url(loc, self.base)
            if url is None:
                notes.note(ProblemCode.BAD_LOC, loc, line=self.line, lost=1)
            else:
                if url != loc:
                    note_scheme(loc, self, notes)
                children.append(ChildEntry(url, lastmods.get(at) or common, loc, self.line))
        return children


class SitemapParser(BlockParser):
    """What both kinds share: their entries are cut if all are written alike."""

    vocabulary = frozenset({Space.SITEMAP})
    _reader: BlockReader | None = None

    def learned(self) -> KnownRoot:
        """Look up the usual names, and those that matter for cutting."""
        prefix, colon, _ = self.root_tag[0].rpartition(":")
        name = next(iter(self.entries))
        self._names = cut_names(self.dialect, self._scope, f"{prefix}{colon}{name}")
        return super().learned()

    def _cut(self, block: str) -> list[Entry] | None:
        """Cut whole entries, or at least the URLs of pages if problems are not requested."""
        names = self._names
        if names is None or names.name != self._name:
            dialect = Dialect(type(self), self.dialect.root, None)  # what is asked here is not seen
            names = self._names = cut_names(dialect, Scope(like=self._scope), self._name)
        if len(self._stack) > 1 or ("xmlns" in block and self._declares_own(block)):
            return None
        shape = cut.shape_of(block, names)
        self.largest = LARGEST if shape and shape.core_fields_only else LARGEST_TREE
        if shape is None or len(block) > self.largest:
            return None
        early = self._passed < _EARLY or self.report_problems
        found = cut.columns(block, shape) if early else None
        if self.report_problems and not (found and self._is_well(found, block)):
            return None
        locs = found["loc"] if found else cut.locs(block, shape)
        urls = locs if locs and cut.plain(locs) else None
        if urls and "&" in block:
            urls = _decoded_all(urls, in_cdata=shape.loc.endswith("["))
        if not urls:
            return None
        if found and self.implied_entry is SitemapEntry:
            return self._children(urls, found)
        if self._reader is None:
            root = KnownRoot(*self.root_tag, self.dialect.root, self._scope, names, self._layouts)
            self._reader = BlockReader(self.dialect, root, self._bases[-1][1], names)
        return [LazyBatch(urls, block, shape, self._reader.fields, found)]

    def _is_well(self, found: dict[str, list[str]], block: str) -> bool:
        """Return whether there is no problem with what was cut."""
        has_problem = block.count("&") != block.count("&amp;") or not can_be_read(found)
        return not (has_problem or self.dialect.is_too_long(found["loc"]))

    def _children(self, urls: list[str], found: dict[str, list[str]]) -> list[Entry] | None:
        """Return children that have a URL, and at most a date."""
        if found.keys() - SitemapEntry.own_fields or urls is not found["loc"]:
            return None
        dates = map(values.text, found.get("lastmod") or repeat(""))
        return [ChildEntry(url, date, url) for url, date in zip(urls, dates, strict=False)]

    def _declares_own(self, block: str) -> bool:
        """Return whether there may be elements of the protocol with a prefix that a block declares."""
        found = declared(block)
        return found is None or any(
            self.dialect.is_own(Name(space_of(uri), "", uri)) for uri in {uri for _, uri in found}
        )

    def _reopen(self, name: str, attributes: str) -> None:
        super()._reopen(name, attributes)
        if (name, attributes) != self.root_tag:
            self.scanner_only = True  # the same tags may mean something else below another root


class UrlsetParser(SitemapParser):
    """Reads a ``<urlset>``: returns one :class:`Page` per entry, or batches of pages."""

    sitemap_class: type[AbstractIndexSitemap | AbstractPagesSitemap] = PagesXMLSitemap
    entries: ClassVar = {"url": UrlEntry, "sitemap": SitemapEntry}
    implied_entry = UrlEntry
    strays: ClassVar = {"sitemap": ProblemCode.SITEMAPS_IN_URLSET}
    roots = frozenset({"sitemapindex"})

    largest = _size = LARGEST  # of which locs are cut

    def _note_stray_entry(self, local: str) -> None:
        super()._note_stray_entry(local)
        # What declares sitemaps is an index, and its pages stand in that.
        self.sitemap_class = IndexXMLSitemap


def cut_names(dialect: Dialect, scope: Scope, name: str) -> CutNames:
    """Return which names matter where entries of that name are cut."""
    entry, (prefix, _, local) = dialect.tables.implied_entry, name.rpartition(":")
    assert entry is not None
    prefixes = {*scope.prefixes()} - {"", prefix}
    # Of many prefixes none is looked for: every block is taken for one with extensions.
    extensions = tuple(f"<{one}:" for one in prefixes) if len(prefixes) < _MAX_PREFIXES else ("<",)
    fields = (f"{prefix}:{field}" if prefix else field for field in entry.own_fields)
    if dialect.tables.entries.get(
        dialect.meaning(scope, name, type(None)).local
    ) is not entry or any(
        dialect.meaning(scope, field, entry).role is not ElementRole.FIELD for field in fields
    ):
        return CutNames(name, None, extensions)
    own = [
        other
        for other in sorted({"", prefix, *prefixes})
        if dialect.is_own(scope.name(f"{other}:loc" if other else "loc"))
    ]
    if len(own) > _MAX_PREFIXES:
        return CutNames(name, None, extensions)
    others = tuple(
        f"{other}:{tag}" if other else tag
        for other in own
        for tag in (*((local, "loc") if other != prefix else ()), *dialect.tables.strays)
    )
    return CutNames(name, others, extensions)


def _decoded_all(locs: list[str], *, in_cdata: bool) -> list[str] | None:
    """Return the URLs of locs, references decoded; None if one of them turns out to be none."""
    urls = []
    for loc in locs:
        url: str | None = loc if in_cdata else loc.replace("&amp;", "&")
        if "&" in loc and ";" in (url or ""):  # another reference
            decoded = loc if in_cdata else decode_text(loc, ignore)
            url = absolute_url(values.text(decoded) or "", None)
        if url is None:
            return None
        urls.append(url)
    return urls


class SitemapIndexParser(SitemapParser):
    """Reads a ``<sitemapindex>``; stray ``<url>`` entries are returned as pages."""

    sitemap_class = IndexXMLSitemap
    entries: ClassVar = {"sitemap": SitemapEntry, "url": UrlEntry}
    implied_entry = SitemapEntry
    roots = frozenset({"urlset"})
    always_reports = True
