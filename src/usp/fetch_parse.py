"""Fetches and parses one sitemap and everything it declares.

The parsers are here under the names that programs know; :mod:`usp._compat.parsers` has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._base.logs import get_logger
from usp._base.urls import without_login
from usp._compat.names import elsewhere
from usp._compat.parsers import (
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
from usp._crawl.choice import Choice, refuse, without_fragments
from usp._crawl.plan import Plan
from usp._crawl.run import crawl_with, parse_document
from usp._crawl.website import OneSitemap
from usp._formats.values import MAX_VALID_PRIORITY, MIN_VALID_PRIORITY
from usp.exceptions import SitemapException, SitemapXMLParsingException
from usp.helpers import (
    RecurseCallbackType,
    RecurseEntryCallbackType,
    RecurseListCallbackType,
    get_url_retry_on_client_errors,
    html_unescape_strip,
    is_http_url,
    parse_iso8601_date,
    parse_rfc2822_date,
    ungzipped_response_content,
)
from usp.limits import DEFAULT
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
from usp.web_client.abstract_client import (
    AbstractWebClient,
    AbstractWebClientResponse,
    AbstractWebClientSuccessResponse,
    LocalWebClient,
    LocalWebClientSuccessResponse,
    NoWebClientException,
    WebClientErrorResponse,
)
from usp.web_client.requests_client import RequestsWebClient

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from usp._crawl.crawl import Crawl
    from usp._crawl.events import Listener
    from usp.limits import Limits

    T = TypeVar("T")
else:
    __getattr__ = elsewhere(__name__)

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
    """Fetches a sitemap, and if it is an index, the sitemaps that it declares.

    Raises ``SitemapException`` for a URL that is not HTTP, that is among its own parents, or that
    stands more than eleven levels deep.
    """

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
        recurse_entry_callback: RecurseEntryCallbackType | None = None,
        limits: Limits | None = None,
        crawl_delay: bool = False,
        keep_partial: bool = False,
        on_event: Listener | None = None,
    ) -> None:
        parents = frozenset(parent_urls or ())
        limits = limits or DEFAULT
        self._start = url
        self._url = without_login(str(url))  # None is refused as any other that is not HTTP
        refusal = refuse(self._url, recursion_level, without_fragments(parents), limits)
        if refusal:
            raise SitemapException(refusal)
        self._level = recursion_level
        self._client = web_client
        self._parents = parents
        self._quiet_404 = quiet_404
        self._plan = Plan(
            choice=Choice(recurse_callback, recurse_list_callback, recurse_entry_callback),
            limits=limits,
            crawl_delay=crawl_delay,
            keep_partial=keep_partial,
            on_event=on_event,
        )

    def sitemap(self) -> AbstractSitemap:
        """Fetch and parse; what cannot be fetched is an ``InvalidSitemap``."""

        def seed(crawl: Crawl) -> Callable[[], AbstractSitemap]:
            return OneSitemap(
                crawl,
                self._url,
                level=self._level,
                parents=self._parents,
                quiet=self._quiet_404,
            ).tree

        return crawl_with(seed, self._start, self._client, self._plan)


class SitemapStrParser:
    """Parses a sitemap that is at hand; what it declares is not fetched."""

    def __init__(self, static_content: str) -> None:
        self._content = static_content

    def sitemap(self) -> AbstractSitemap:
        """Parse; the children of an index are ``InvalidSitemap`` nodes."""
        data = self._content.encode("utf-8", "surrogatepass")
        return parse_document([data], None, content_type="text/plain; charset=utf-8")
