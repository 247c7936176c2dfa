"""XML sitemaps: ``<urlset>`` with its ``<url>`` entries, ``<sitemapindex>`` with its ``<sitemap>``s.

Each may hold entries of the other: sitemaps that stand among pages are followed, and pages that stand
in an index come out as pages.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from usp._formats import values
from usp._formats.abstract_parser import ChildEntry, PageEntry
from usp._formats.extensions import FIELDS, NAMES, READERS
from usp._formats.url_batches import EntryReader, UrlBatch, ignore, read_own
from usp._formats.values import absolute_url
from usp._formats.xml.entries import Field, RawEntry, loc_text, note_scheme
from usp._formats.xml.fast import MAX_LOC, URL, Shape, Tags, cut, cut_shape, is_plain, learn_shape
from usp._formats.xml.lanes import TwoLaneParser
from usp._formats.xml.namespaces import Space
from usp._formats.xml.references import decode_cdata, decode_text
from usp.objects.page import DeferredPage, PageFields, SitemapPage
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import IndexXMLSitemap, PagesXMLSitemap

if TYPE_CHECKING:
    from usp._formats.abstract_parser import Entry, Note
    from usp._formats.xml.vocabulary import Vocabulary
    from usp.objects.sitemap import AbstractIndexSitemap, AbstractPagesSitemap

_MAX_SHAPELESS = 3  # blocks without a shape, until no shape is looked for any more


class _UrlEntry(RawEntry, PageEntry):
    """A ``<url>`` as it stands in the document."""

    own_fields = frozenset({"loc", "lastmod", "changefreq", "priority"})
    extensions = NAMES

    def __init__(self, line: int, base: str | None) -> None:
        super().__init__(line, base)
        self._fields: dict[str, str] = {}
        self._nested_loc: str | None = None

    def add(self, field: Field, parser: Vocabulary) -> None:
        """Take a field; of two locs the last one that is not empty counts."""
        text = loc_text(field, parser) if field.name == "loc" else field.text
        if text and not text.isspace():
            if field.name == "loc" and self._fields.get("loc", text) != text:
                parser.note(ProblemCode.SEVERAL_LOCS, self._fields["loc"])
            self._fields[field.name] = text

    def add_nested_loc(self, text: str) -> None:
        """Take a loc from inside an element that was not closed."""
        self._nested_loc = text

    def finish(self, parser: Vocabulary) -> list[Entry]:
        """Return the entry itself, if it has a URL."""
        loc = self._fields.get("loc") or self._nested_loc or self.stray_address(parser)
        if loc and is_plain(loc):
            self._fields["loc"] = loc
            return [self]
        url = absolute_url(values.text(loc) or "", self.base)
        if url is None:
            code = ProblemCode.BAD_LOC if loc else ProblemCode.NO_LOC
            parser.problems.add(code, self.line, loc, lost=1)
            return []
        note_scheme(loc or "", self, parser)
        self._fields["loc"] = url
        return [self]

    def page(self, note: Note | None = None) -> SitemapPage | None:
        """Return the page; its fields are read at once if somebody wants to hear of damage."""
        if note is None:
            return DeferredPage(self._fields["loc"], self, 0)
        return SitemapPage.of(self._fields["loc"], self.fields(0, note))

    def fields(self, at: int, note: Note = ignore) -> PageFields:
        """Read the fields of the entry, which is the only one here."""
        del at
        own = read_own(self._fields, note)
        more = {
            FIELDS[space]: READERS[space](records, note, self.base)
            for space, records in self.records.items()
        }
        return PageFields(*own, **more)


class _SitemapEntry(RawEntry):
    """A ``<sitemap>`` as it stands in the document; every loc in it is a child."""

    own_fields = frozenset({"loc", "lastmod"})
    counts_unfinished = True  # a child that is named can be fetched

    def __init__(self, line: int, base: str | None) -> None:
        super().__init__(line, base)
        self._locs: list[str] = []
        self._lastmods: dict[int, str] = {}  # by the number of the loc that they are about
        self._nested_loc: str | None = None

    def add(self, field: Field, parser: Vocabulary) -> None:
        """Take a loc, or a lastmod: of several each is about the loc before it."""
        text = values.text(loc_text(field, parser) if field.name == "loc" else field.text)
        if text is None:
            return
        if field.name == "loc":
            self._locs.append(text)
        else:
            self._lastmods[max(len(self._locs) - 1, 0)] = text

    def add_nested_loc(self, text: str) -> None:
        """Take a loc from inside an element that was not closed."""
        self._nested_loc = values.text(text)

    def finish(self, parser: Vocabulary) -> list[Entry]:
        """Return the children that have a URL."""
        children: list[Entry] = []
        locs = self._locs
        if not locs:
            loc = self._nested_loc or self.stray_address(parser)
            locs = [loc] if loc else []
        if not locs:
            parser.problems.add(ProblemCode.NO_LOC, self.line, lost=1)
        lastmods = self._lastmods
        common = next(iter(lastmods.values())) if len(lastmods) == 1 else None
        for at, loc in enumerate(locs):
            url = absolute_url(loc, self.base)
            if url is None:
                parser.problems.add(ProblemCode.BAD_LOC, self.line, loc, lost=1)
            else:
                note_scheme(loc, self, parser)
                children.append(ChildEntry(url, lastmods.get(at) or common))
        return children


class PagesXMLSitemapParser(TwoLaneParser):
    """Reads a ``<urlset>``: gives one :class:`Page` an entry, or batches of pages if it is fast."""

    sitemap_class: type[AbstractIndexSitemap | AbstractPagesSitemap] = PagesXMLSitemap
    Page = _UrlEntry
    vocabulary = frozenset({Space.SITEMAP})
    entries: ClassVar = {"url": _UrlEntry, "sitemap": _SitemapEntry}
    implied_entry = _UrlEntry
    strays: ClassVar = {"sitemap": ProblemCode.SITEMAPS_IN_URLSET}
    roots = frozenset({"sitemapindex"})
    fast_entry = "url"
    counts_lines = False  # pages are iterated over without a word, and problems asked for apart

    _reader: EntryReader | None = None
    _shape: Shape | None = None
    _shapeless = 0

    def _note_stray_entry(self, local: str) -> None:
        super()._note_stray_entry(local)
        # What declares sitemaps is an index, and its pages stand in that.
        self.sitemap_class = IndexXMLSitemap

    def _cut_block(self, block: str, tags: Tags) -> list[Entry] | None:
        locs, shape = self._cut_shape(block, tags), self._shape
        if locs is None:
            locs, shape = cut(block, tags), None
        if locs is None:
            return None
        if "&" in block:
            urls = [_decoded(loc) if "&" in loc else loc for loc in locs]
            if None in urls:
                return None
            locs = urls  # type: ignore[assignment]
        return [UrlBatch(locs, self._entry_reader(tags), block, shape=shape)]

    def _cut_shape(self, block: str, tags: Tags) -> list[str] | None:
        """Cut a block whose entries all have one shape, the last one's or a new one."""
        locs = cut_shape(block, tags, self._shape) if self._shape else None
        if locs is None and self._shapeless < _MAX_SHAPELESS:
            shape = learn_shape(block, tags)
            if shape and shape != self._shape:
                locs = cut_shape(block, tags, shape)
            self._shapeless += locs is None
            self._shape = shape if self._shapeless < _MAX_SHAPELESS else None
        return locs

    def _cut_entries(self, block: str, tags: Tags) -> list[Entry]:
        entries: list[Entry] = []
        urls: list[str] = []
        texts: list[str] = []
        at = 0
        while at < len(block):
            match = tags.entry.match(block, at) if self._at_rest() else None
            url = _matched_url(match) if match else None
            if match and url:
                self.scanner.forgive()
                urls.append(url)
                texts.append(match[1])
                at = match.end()
                continue
            if urls:
                entries.append(UrlBatch(urls, self._entry_reader(tags), "", entries=texts))
                urls, texts = [], []
            end = block.find(tags.end, at) + len(tags.end)
            entries += self._scan(block[at:end])
            at = end
        if urls:
            entries.append(UrlBatch(urls, self._entry_reader(tags), "", entries=texts))
        return entries

    def _entry_reader(self, tags: Tags) -> EntryReader:
        if self._reader is None:
            parser = PagesXMLSitemapParser(self.url)
            parser.start(*self._root_tag, False)
            parser.scanner.hurry = True
            self._reader = EntryReader(parser, _UrlEntry, tags)
        return self._reader


def _decoded(loc: str) -> str | None:
    """Return the URL of a loc with references in it; None if it turns out to be none."""
    url = loc.replace("&amp;", "&")
    if ";" not in url:  # then it has no other reference
        return url
    return absolute_url(values.text(decode_text(loc, ignore)) or "", None)


def _matched_url(match: re.Match[str]) -> str | None:
    """Return the URL of an entry that was cut out by itself."""
    marked, loc = match.group(2, 3)
    if len(marked or loc) > MAX_LOC:
        return None
    if marked is not None:
        return absolute_url(values.text(decode_cdata(marked, ignore)) or "", None)
    loc = loc.rstrip()
    if not is_plain(loc, references=True):
        return None
    return _decoded(loc) if "&" in loc else loc


class IndexXMLSitemapParser(TwoLaneParser):
    """Reads a ``<sitemapindex>``; stray ``<url>`` entries come out as pages."""

    sitemap_class = IndexXMLSitemap
    vocabulary = frozenset({Space.SITEMAP})
    entries: ClassVar = {"sitemap": _SitemapEntry, "url": _UrlEntry}
    implied_entry = _SitemapEntry
    roots = frozenset({"urlset"})
    fast_entry = "sitemap"

    def _cut_block(self, block: str, tags: Tags) -> list[Entry] | None:
        """Cut a block of entries that have a loc, perhaps a lastmod, and nothing else."""
        if cut(block, tags) is None or ("&" in block and _REFERENCE.search(block)):
            return None
        found = _entry(tags).findall(tags.end + block)
        if len(found) != block.count(tags.end):
            return None
        return [
            ChildEntry(loc.rstrip().replace("&amp;", "&"), lastmod.strip() or None)
            for loc, lastmod in found
        ]


# What is not the one reference that URLs have to contain, once decoded.
_REFERENCE = re.compile("&(?!amp;)|&amp;[A-Za-z0-9#]*;")


@lru_cache(maxsize=64)
def _entry(tags: Tags) -> re.Pattern[str]:
    """Return the pattern of a whole entry, which follows on another."""
    p = re.escape(tags.prefix)
    return re.compile(
        rf"{re.escape(tags.end)}\s*+<{p}sitemap>\s*+<{p}loc>\s*+({URL})</{p}loc>\s*+"
        rf"(?:<{p}lastmod>([^<&\x00-\x1f]*+)</{p}lastmod>\s*+)?+(?={re.escape(tags.end)})"
    )
