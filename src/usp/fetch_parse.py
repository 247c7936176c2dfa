"""The fetcher and the parsers of ultimate-sitemap-parser 1.8.1, under the names that programs know.

The parsers are defined in :mod:`usp._compat`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from usp._base.display import get_logger
from usp._base.names import lazy_getattr
from usp._base.urls import without_login
from usp._compat import (
    AbstractSitemapParser,
    AbstractXMLSitemapParser,
    IndexRobotsTxtSitemapParser,
    IndexXMLSitemapParser,
    PagesAtomSitemapParser,
    PagesRSSSitemapParser,
    PagesXMLSitemapParser,
    PlainTextSitemapParser,
    XMLSitemapParser,
)
from usp._crawl.child_filter import refuse, without_fragments
from usp._crawl.given_documents import parse_text, text_bytes
from usp._crawl.thread_driver import crawl_with
from usp._crawl.website import OneSitemap, Search, tree_of
from usp._formats.values import MAX_VALID_PRIORITY, MIN_VALID_PRIORITY
from usp.exceptions import SitemapException, SitemapXMLParsingException
from usp.helpers import (
    RecurseCallbackType,
    RecurseListCallbackType,
    get_url_retry_on_client_errors,
    html_unescape_strip,
    is_http_url,
    parse_iso8601_date,
    parse_rfc2822_date,
    ungzipped_response_content,
)
from usp.objects.page import (
    SITEMAP_PAGE_DEFAULT_PRIORITY,
    SitemapImage,
    SitemapNewsStory,
    SitemapPage,
    SitemapPageChangeFrequency,
)
from usp.objects.sitemap import (
    AbstractSitemap,
    IndexRobotsTxtSitemap,
    IndexXMLSitemap,
    InvalidSitemap,
    PagesAtomSitemap,
    PagesRSSSitemap,
    PagesTextSitemap,
    PagesXMLSitemap,
)
from usp.options import CommonKeywords, combined, shows
from usp.web_client.abstract_client import (
    AbstractWebClient,
    AbstractWebClientResponse,
    AbstractWebClientSuccessResponse,
    LocalWebClient,
    LocalWebClientSuccessResponse,
    NoWebClientException,
    WebClientErrorResponse,
)

if TYPE_CHECKING:
    from typing import Unpack

    from usp.options import CrawlOptions
    from usp.web_client.requests_client import RequestsWebClient
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = [
    "MAX_VALID_PRIORITY",
    "MIN_VALID_PRIORITY",
    "SITEMAP_PAGE_DEFAULT_PRIORITY",
    "AbstractSitemap",
    "AbstractSitemapParser",
    "AbstractWebClient",
    "AbstractWebClientResponse",
    "AbstractWebClientSuccessResponse",
    "AbstractXMLSitemapParser",
    "IndexRobotsTxtSitemap",
    "IndexRobotsTxtSitemapParser",
    "IndexXMLSitemap",
    "IndexXMLSitemapParser",
    "InvalidSitemap",
    "LocalWebClient",
    "LocalWebClientSuccessResponse",
    "NoWebClientException",
    "PagesAtomSitemap",
    "PagesAtomSitemapParser",
    "PagesRSSSitemap",
    "PagesRSSSitemapParser",
    "PagesTextSitemap",
    "PagesXMLSitemap",
    "PagesXMLSitemapParser",
    "PlainTextSitemapParser",
    "RecurseCallbackType",
    "RecurseListCallbackType",
    "RequestsWebClient",
    "SitemapException",
    "SitemapFetcher",
    "SitemapImage",
    "SitemapNewsStory",
    "SitemapPage",
    "SitemapPageChangeFrequency",
    "SitemapStrParser",
    "SitemapXMLParsingException",
    "WebClientErrorResponse",
    "XMLSitemapParser",
    "get_url_retry_on_client_errors",
    "html_unescape_strip",
    "is_http_url",
    "parse_iso8601_date",
    "parse_rfc2822_date",
    "ungzipped_response_content",
]

log = get_logger(__name__)


class SitemapFetcher:
    """Fetches a sitemap and, if it is an index, the sitemaps that it lists.

    The keywords, or all of them as ``options``, are those of :class:`usp.CrawlOptions`.

    Raises ``SitemapException`` for a URL that is not HTTP, that is one of its own parents, or that is
    more than eleven levels deep.
    """

    @shows(CommonKeywords)
    def __init__(
        self,
        url: str,
        recursion_level: int,
        web_client: AbstractWebClient | None = None,
        parent_urls: set[str] | None = None,
        quiet_404: bool = False,
        recurse_callback: RecurseCallbackType | None = None,
        recurse_list_callback: RecurseListCallbackType | None = None,
        *,
        options: CrawlOptions | None = None,
        **keywords: Unpack[CommonKeywords],
    ) -> None:
        parents = frozenset(parent_urls or ())
        self._options = combined(
            options,
            keywords,
            CommonKeywords,
            recurse_callback=recurse_callback,
            recurse_list_callback=recurse_list_callback,
        )
        self._start = url
        self._url = without_login(str(url))  # None is refused as any other that is not HTTP
        limits = self._options.effective_limits
        refusal = refuse(self._url, recursion_level, without_fragments(parents), limits)
        if refusal:
            raise SitemapException(str(refusal))
        self._recursion_level = recursion_level
        self._web_client = web_client
        self._parent_urls = parents
        self._quiet_404 = quiet_404

    def sitemap(self) -> AbstractSitemap:
        """Return the tree of the sitemap; what cannot be fetched is an ``InvalidSitemap``."""
        begin = partial(
            OneSitemap,
            url=self._url,
            level=self._recursion_level,
            parents=self._parent_urls,
            quiet=self._quiet_404,
        )
        return tree_of(crawl_with(Search(begin, self._start, self._options), self._web_client))


class SitemapStrParser:
    """Parses a sitemap from text; nothing is fetched."""

    def __init__(self, static_content: str) -> None:
        self._data = text_bytes(static_content)

    def sitemap(self) -> AbstractSitemap:
        """Return the node of the sitemap; the children of an index are ``InvalidSitemap`` nodes."""
        return parse_text(self._data)
