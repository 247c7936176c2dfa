"""From bytes to entries: unpack, decode, look at the document, parse. Pure: no I/O, no clock.

The parsers of formats that few websites have are loaded with the first document of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._base.names import lazy_getattr

if TYPE_CHECKING:
    from usp._formats.feeds import AtomParser as AtomParser
    from usp._formats.feeds import RssParser as RssParser
    from usp._formats.json_feeds import JsonFeedParser as JsonFeedParser
    from usp._formats.llms_txt import LlmsTxtParser as LlmsTxtParser
    from usp._formats.opml import OpmlParser as OpmlParser
    from usp._formats.xml_sitemaps import SitemapIndexParser as SitemapIndexParser
    from usp._formats.xml_sitemaps import UrlsetParser as UrlsetParser
else:
    __getattr__ = lazy_getattr(__name__)
