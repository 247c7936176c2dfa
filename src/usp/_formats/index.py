"""XML indexes: ``<sitemapindex>`` with its ``<sitemap>`` entries."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from usp._formats.parser import ChildEntry
from usp._formats.sitemap_entry import SitemapEntry
from usp._formats.urlset import PagesXMLSitemapParser
from usp._formats.xml.fast import URL, Tags, cut
from usp._formats.xml.lanes import TwoLaneParser
from usp._formats.xml.namespaces import Space
from usp.objects.sitemap import IndexXMLSitemap

if TYPE_CHECKING:
    from usp._formats.parser import Entry


class IndexXMLSitemapParser(TwoLaneParser):
    """Reads a ``<sitemapindex>``; stray ``<url>`` entries come out as pages."""

    sitemap_class = IndexXMLSitemap
    vocabulary = frozenset({Space.SITEMAP})
    entries: ClassVar = {"sitemap": SitemapEntry, "url": PagesXMLSitemapParser.Page}
    implied_entry = SitemapEntry
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
    """Give the pattern of a whole entry, which follows on another."""
    p = re.escape(tags.prefix)
    return re.compile(
        rf"{re.escape(tags.end)}\s*+<{p}sitemap>\s*+<{p}loc>\s*+({URL})</{p}loc>\s*+"
        rf"(?:<{p}lastmod>([^<&\x00-\x1f]*+)</{p}lastmod>\s*+)?+(?={re.escape(tags.end)})"
    )
