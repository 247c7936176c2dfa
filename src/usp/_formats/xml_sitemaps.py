"""XML sitemaps: ``<urlset>`` with its ``<url>`` entries, ``<sitemapindex>`` with its ``<sitemap>``s.

Each may contain entries of the other: sitemaps among pages are followed, and pages in an index are
returned as pages.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, ClassVar, cast

from usp._formats import values
from usp._formats.abstract_parser import PageBatch, Pages
from usp._formats.block_reader import BlockReader
from usp._formats.sitemap_entries import SitemapEntry, UrlEntry
from usp._formats.tree_entries import Plans, ReadPages
from usp._formats.url_batches import (
    Ahead,
    BlockBatch,
    ColumnBatch,
    Columns,
    ignore,
    read_columns,
)
from usp._formats.values import absolute_url, begins_with_host, on_base
from usp._formats.xml import cut, scanner
from usp._formats.xml.entries import Sort
from usp._formats.xml.lanes import LARGEST, LARGEST_TREE, LaneParser
from usp._formats.xml.namespaces import Space
from usp._formats.xml.references import decode_text, without_cdata
from usp._formats.xml.trees import Unvouched, check_text_before
from usp.objects.page import SitemapPage
from usp.objects.problem import ProblemCode, Problems
from usp.objects.sitemap import IndexXMLSitemap, PagesXMLSitemap

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from usp._formats.abstract_parser import Entry
    from usp._formats.tree_entries import TreeEntry
    from usp._formats.xml.vocabulary import SeenElement
    from usp.objects.sitemap import AbstractIndexSitemap, AbstractPagesSitemap


class PagesXMLSitemapParser(LaneParser):
    """Reads a ``<urlset>``: returns one :class:`Page` per entry, or batches of pages."""

    sitemap_class: type[AbstractIndexSitemap | AbstractPagesSitemap] = PagesXMLSitemap
    Page = UrlEntry
    vocabulary = frozenset({Space.SITEMAP})
    entries: ClassVar = {"url": UrlEntry, "sitemap": SitemapEntry}
    implied_entry = UrlEntry
    strays: ClassVar = {"sitemap": ProblemCode.SITEMAPS_IN_URLSET}
    roots = frozenset({"sitemapindex"})

    _reader: BlockReader | None = None
    _others: tuple[str, ...] | None = None
    _plans: Plans | None = None

    def _note_stray_entry(self, local: str) -> None:
        super()._note_stray_entry(local)
        # What declares sitemaps is an index, and its pages stand in that.
        self.sitemap_class = IndexXMLSitemap

    def _cut(self, block: str) -> list[Entry] | None:
        """Cut whole entries, or at least their URLs, if problems are not requested."""
        if self._others is None:
            self._others = _others_below(type(self), *self._root_tag, self._name)
        if len(self._stack) > 1 or self._others is _MEAN_OTHERWISE:
            return None
        style = cut.style_of(block, self._name, self._others)
        if style and not style.is_all and "[" in block:  # that is found quickly, and perhaps CDATA
            block = without_cdata(block)
            style = cut.style_of(block, self._name, self._others)
        if style is None:
            return self._read_uncut(block)
        self.largest = LARGEST if style.is_all else 2 * LARGEST_TREE
        batch = None
        if len(block) <= self.largest:
            reader = self._block_reader()
            if not style.is_all and (self.thorough or reader.ahead is Ahead.ALL):
                batch = self._read_all(block, style, reader)
            batch = batch or self._read_some(block, style, reader)
        return None if batch is None else [batch]

    def _read_uncut(self, block: str) -> list[Entry] | None:
        """Return entries that begin with an extension, and cannot be cut, with all of their fields."""
        is_rich = _EXTENSION.search(block, 0, block.find("</"))
        if self.thorough or not is_rich or len(block) > 2 * LARGEST_TREE:
            return None
        found = self._block_reader().entries(without_cdata(block) if "[" in block else block)
        urls = None if found is None else self._urls(found[0])
        if found is None or urls is None:
            return None
        return [ReadPages(urls, found[1])]

    def _read_all(self, block: str, style: cut.Style, reader: BlockReader) -> PageBatch | None:
        """Return entries with all of their fields, which are wanted in any case."""
        found = reader.entries(block, strict=self.thorough)
        if found is None:
            return None
        locs, fields = found
        urls = self._urls(locs)
        if urls is None or (self.thorough and self.is_too_long(urls)):
            return None
        batch = BlockBatch(urls, block, style, reader, fields=fields)
        batch.as_written = None if urls is locs else locs
        return batch

    def _read_some(self, block: str, style: cut.Style, reader: BlockReader) -> PageBatch | None:
        """Return entries with the fields of the protocol, if these are wanted; they have no others."""
        columns = cut.columns(block, style) if self.thorough or reader.ahead else None
        if columns is not None:
            locs: list[str] | None = columns["loc"]
        else:
            locs = None if self.thorough else cut.locs(block, style)
        urls = None if locs is None else self._decoded_all(locs, block, style)
        if urls is None:
            return None
        found = None if columns is None else Columns(columns, len(urls))
        if not self.thorough:
            return BlockBatch(urls, block, style, reader, found)
        is_certain = found is not None and block.count("&") == block.count("&amp;")
        paths = locs if style.is_path else None
        return self._batch(urls, found, paths) if found and is_certain else None

    def _decoded_all(self, locs: list[str], block: str, style: cut.Style) -> list[str] | None:
        """Return the URLs of locs, references decoded; None if one of them turns out to be none."""
        if not style.is_path and not cut.plain(locs):
            return None
        if "&" in block:
            in_cdata = style.loc.endswith("[")
            urls = [_decoded(loc, in_cdata=in_cdata) if "&" in loc else loc for loc in locs]
            if None in urls:
                return None
            locs = cast("list[str]", urls)
        return on_base(locs, self.base()) if style.is_path else locs

    def _batch(
        self, urls: list[str], columns: Columns, written: list[str] | None
    ) -> PageBatch | None:
        if self.thorough and (self.is_too_long(urls) or not columns.can_all_be_read()):
            return None
        batch = ColumnBatch(urls, columns)
        batch.as_written = written
        return batch

    def _read_block_tree(self, root: Element, block: str) -> list[Entry]:
        found = read_columns(root, self.trees(), UrlEntry, blank=self.thorough)
        if found is not None:
            locs, columns = found
            urls = self._urls(locs)
            written = None if urls is locs else locs
            batch = None if urls is None else self._batch(urls, columns, written)
            if batch is not None:
                return [batch]
        if len(self._stack) > 1 or not self.trees().are_entries(root, UrlEntry):
            return self._read_tree(root)
        check_text_before(root)
        if self._plans is None or self._plans.trees is not self.trees():
            self._plans = Plans(self.trees(), UrlEntry)
        entries = list(map(self._plans.entry, root))
        locs = [entry.loc for entry in entries]
        urls = self._urls(locs) if all(locs) else None
        if urls is None:
            return self._read_odd(entries)
        batch = self._read_entries(entries, urls, block)
        batch.as_written = None if urls is locs else locs
        return [batch]

    def _read_entries(self, entries: list[TreeEntry], urls: list[str], block: str) -> PageBatch:
        """Return entries whose URLs are known, with the fields that are wanted in any case."""
        reader = self._block_reader()
        if not self.thorough and reader.ahead is not Ahead.ALL:
            own = [entry.own() for entry in entries] if reader.ahead else ()
            return BlockBatch(urls, block, None, reader, own=own)
        if self.thorough and self.is_too_long(urls):
            raise Unvouched
        base, strict = self.base(), self.thorough
        texts = [entry.texts() for entry in entries]
        fields = [
            plan.fields(own, elements, base, strict=strict)
            for (plan, elements), own in zip(entries, texts, strict=True)
        ]
        if self.fast:
            return ReadPages(urls, fields)
        given = [entry.plan.given(own) for entry, own in zip(entries, texts, strict=True)]
        return ReadPages(urls, fields, given)

    def _read_odd(self, entries: list[TreeEntry]) -> list[Entry]:
        """Return entries some of which have no loc that can be read, with all of their fields."""
        if self.thorough:
            raise Unvouched
        pages: list[SitemapPage] = []
        base = self.base()
        problems, self.problems = self.problems, Problems()
        try:
            for entry in entries:
                loc = entry.loc
                url = absolute_url(values.text(loc) or "", base) if loc else None
                if url is not None:
                    pages.append(SitemapPage.of(url, entry.fields(base)))
                elif not loc:
                    (raw,) = self.trees().entries(entry.elements[:1], base)
                    pages += self._pages(raw.finish(self))
        finally:
            self.problems = problems
        if not pages or len(entries) - len(pages) > scanner.MAX_DAMAGE:
            raise Unvouched  # the scanner knows when to give up
        return [Pages(pages)]

    def _urls(self, locs: list[str]) -> list[str] | None:
        """Return the URLs of locs, references decoded; None if one of them needs a closer look."""
        base = self.base()
        plain = cut.are_plain(locs)
        if plain and "&" not in "".join(locs):
            return locs
        paths = None if plain else on_base(locs, base)
        if paths is not None:
            return paths
        urls = []
        for loc in locs:
            if plain and "&" not in loc:
                urls.append(loc)
                continue
            url = absolute_url((values.text(loc) or "") if "&" in loc else loc, base)
            if url is None or (self.thorough and begins_with_host(loc, base)):
                return None
            urls.append(url)
        return urls

    def names_to_cut(self, name: str) -> tuple[str, ...]:
        """Return how the names of entries and locs begin that are not written as the first one is.

        ``name`` is that of entries. Nothing is cut if it, or a field, does not mean what it is called.
        """
        prefix = name.rpartition(":")[0]
        fields = (f"{prefix}:{field}" if prefix else field for field in ("loc", *cut.FIELDS))
        if self.meaning(name, type(None)).local != "url" or any(
            self.meaning(field, UrlEntry).sort is not Sort.FIELD for field in fields
        ):
            return _MEAN_OTHERWISE
        own = [
            other
            for other in sorted({"", prefix, *self._scope.prefixes()})
            if self._is_own(self._scope.name(f"{other}:loc" if other else "loc"))
        ]
        return tuple(
            f"{other}:{tag}" if other else tag
            for other in own
            for tag in (*(("url", "loc") if other != prefix else ()), *self.strays)
        )

    def _block_reader(self) -> BlockReader:
        if self._reader is None:
            # Pages keep the reader, and need not keep this parser with it.
            begin = partial(_begun, self.url, self.url_length, self.seen, *self._root_tag)
            self._reader = BlockReader(begin, UrlEntry)
        return self._reader

    def _reopen(self, name: str, attributes: str) -> None:
        super()._reopen(name, attributes)
        if (name, attributes) != self._root_tag:
            self.scans = True  # the same tags may mean something else below another root


_EXTENSION = re.compile(r"<[\w.-]++>\s*+<[\w.-]++:[\w.-]")
_MEAN_OTHERWISE = ("\0",)  # no name begins so


def _begun(
    url: str | None, url_length: int | None, seen: list[SeenElement], root: str, attributes: str
) -> PagesXMLSitemapParser:
    """Return a parser whose position is directly below a root; it adds to elements that were seen."""
    parser = PagesXMLSitemapParser(url, fast=True)
    parser.url_length = url_length
    parser.seen = seen
    parser.start(root, attributes, False)
    return parser


def _others_below(
    parser: type[PagesXMLSitemapParser], root: str, attributes: str, name: str
) -> tuple[str, ...]:
    """Return :meth:`~PagesXMLSitemapParser.names_to_cut` below a root, which is remembered."""
    known = len(attributes) <= _MAX_REMEMBERED
    return (_known_others if known else _find_others)(parser, root, attributes, name)


def _find_others(
    parser: type[PagesXMLSitemapParser], root: str, attributes: str, name: str
) -> tuple[str, ...]:
    example = parser()
    example.start(root, attributes, False)
    return example.names_to_cut(name)


_MAX_REMEMBERED = 2000  # characters of a root tag
_known_others = lru_cache(maxsize=128)(_find_others)


def _decoded(loc: str, *, in_cdata: bool) -> str | None:
    """Return the URL of a loc with references in it; None if it turns out to be none."""
    url = loc if in_cdata else loc.replace("&amp;", "&")
    if ";" not in url:  # then it has no other reference
        return url
    return absolute_url(values.text(loc if in_cdata else decode_text(loc, ignore)) or "", None)


class IndexXMLSitemapParser(LaneParser):
    """Reads a ``<sitemapindex>``; stray ``<url>`` entries are returned as pages."""

    sitemap_class = IndexXMLSitemap
    vocabulary = frozenset({Space.SITEMAP})
    entries: ClassVar = {"sitemap": SitemapEntry, "url": UrlEntry}
    implied_entry = SitemapEntry
    roots = frozenset({"urlset"})
    tells_all = True
