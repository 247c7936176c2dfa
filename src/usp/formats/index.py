"""XML indexes: ``<sitemapindex>`` with its ``<sitemap>`` entries."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from usp.formats import values
from usp.formats.parser import ChildEntry, absolute_url
from usp.formats.urlset import PagesXMLSitemapParser
from usp.formats.xml.entries import Field, RawEntry
from usp.formats.xml.fast import URL, Tags, cut
from usp.formats.xml.lanes import TwoLaneParser
from usp.formats.xml.namespaces import Space
from usp.objects.sitemap import IndexXMLSitemap

if TYPE_CHECKING:
    from usp.formats.parser import Entry
    from usp.formats.xml.parser import AbstractXMLSitemapParser


class _SitemapEntry(RawEntry):
    """A ``<sitemap>`` as it stands in the document; every loc in it is a child."""

    own_fields = frozenset({"loc", "lastmod"})
    counts_unfinished = True  # a child that is named can be fetched

    def __init__(self, line: int, base: str | None) -> None:
        super().__init__(line, base)
        self._locs: list[str] = []
        self._lastmods: dict[int, str] = {}  # by the number of the loc that they are about
        self._nested_loc: str | None = None

    def add(self, field: Field, parser: AbstractXMLSitemapParser) -> None:
        """Take a loc, or a lastmod: of several each is about the loc before it."""
        del parser
        text = values.text(field.text)
        if text is None:
            return
        if field.name == "loc":
            self._locs.append(text)
        else:
            self._lastmods[max(len(self._locs) - 1, 0)] = text

    def add_nested_loc(self, text: str) -> None:
        """Take a loc from inside an element that was not closed."""
        self._nested_loc = values.text(text)

    def finish(self, parser: AbstractXMLSitemapParser) -> list[Entry]:
        """Give the children that have a URL."""
        children: list[Entry] = []
        locs = self._locs or ([self._nested_loc] if self._nested_loc else [])
        if not locs:
            parser.problems.add("an entry has no loc", self.line, lost=1)
        lastmods = self._lastmods
        common = next(iter(lastmods.values())) if len(lastmods) == 1 else None
        for at, loc in enumerate(locs):
            url = absolute_url(loc, self.base)
            if url is None:
                parser.problems.add("a loc is not an HTTP URL", self.line, loc, lost=1)
            else:
                children.append(ChildEntry(url, lastmods.get(at) or common))
        return children


class IndexXMLSitemapParser(TwoLaneParser):
    """Reads a ``<sitemapindex>``; stray ``<url>`` entries come out as pages."""

    sitemap_class = IndexXMLSitemap
    vocabulary = frozenset({Space.SITEMAP})
    entries: ClassVar = {"sitemap": _SitemapEntry, "url": PagesXMLSitemapParser.Page}
    implied_entry = _SitemapEntry
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
    """Give the pattern of a whole entry, which follows on another."""
    p = re.escape(tags.prefix)
    return re.compile(
        rf"{re.escape(tags.end)}\s*+<{p}sitemap>\s*+<{p}loc>\s*+({URL})</{p}loc>\s*+"
        rf"(?:<{p}lastmod>([^<&\x00-\x1f]*+)</{p}lastmod>\s*+)?+(?={re.escape(tags.end)})"
    )
