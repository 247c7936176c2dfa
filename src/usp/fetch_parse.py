"""Fetches and parses one sitemap and everything it declares.

The parsers are here under the names programs know; they live in :mod:`usp.formats`.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from usp.crawl import journal
from usp.crawl.addresses import refuse
from usp.crawl.build import document_node
from usp.crawl.choice import Choice
from usp.crawl.clients import prepared
from usp.crawl.fetch import Received
from usp.crawl.look import FirstLook, left_out_problem
from usp.crawl.pages import parser_for
from usp.crawl.plan import Plan
from usp.crawl.threads import ThreadDriver
from usp.crawl.website import OneSitemap
from usp.exceptions import SitemapException, SitemapXMLParsingException
from usp.formats.document import Role
from usp.formats.feeds import PagesAtomSitemapParser, PagesRSSSitemapParser
from usp.formats.index import IndexXMLSitemapParser
from usp.formats.parser import AbstractSitemapParser
from usp.formats.robots import IndexRobotsTxtSitemapParser
from usp.formats.root import XMLSitemapParser
from usp.formats.text import PlainTextSitemapParser
from usp.formats.urlset import PagesXMLSitemapParser
from usp.formats.values import MAX_VALID_PRIORITY, MIN_VALID_PRIORITY, date
from usp.formats.xml.parser import AbstractXMLSitemapParser
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
from usp.names import elsewhere
from usp.objects.page import (
    SITEMAP_PAGE_DEFAULT_PRIORITY,
    SitemapImage,
    SitemapNewsStory,
    SitemapPage,
    SitemapPageChangeFrequency,
)
from usp.objects.problem import Failure
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
from usp.store import Exchange, Store
from usp.urls import without_login
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
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from usp.crawl.crawl import Crawl
    from usp.crawl.events import Listener
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

log = logging.getLogger(__name__)

LOCAL_URL = "http://usp-local-dummy.local/"
"""The address of a document that has none."""


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
        refusal = refuse(url, recursion_level, parents, limits)
        if refusal:
            raise SitemapException(refusal)
        self._start = url
        self._url = without_login(url)
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


def crawl_with(
    seed: Callable[[Crawl], Callable[[], T]],
    start_url: str,
    web_client: AbstractWebClient | None,
    plan: Plan,
) -> T:
    """Run a crawl from start to end.

    ``seed`` says what is wanted and gives what makes the result of it.
    """
    with client_for(web_client, start_url, plan) as client:
        crawl = plan.crawl(client, start_url)
        result = seed(crawl)
        with ThreadDriver(crawl, client, plan.store(), plan.on_event) as driver:
            try:
                driver.run()
            except KeyboardInterrupt:
                if not plan.keep_partial:
                    raise
                crawl.end("the crawl was interrupted")
                driver.run()
    return result()


@contextmanager
def client_for(
    web_client: AbstractWebClient | None, start_url: str, plan: Plan
) -> Iterator[AbstractWebClient]:
    """Give what fetches for one crawl: a client of ours, or the caller's."""
    given = web_client if web_client is not None else RequestsWebClient()
    client = prepared(given, without_login(start_url), plan)
    try:
        yield client
    finally:
        if client is not web_client:
            client.close()


class SitemapStrParser:
    """Parses a sitemap that is at hand; what it declares is not fetched."""

    def __init__(self, static_content: str) -> None:
        self._content = static_content

    def sitemap(self) -> AbstractSitemap:
        """Parse; the children of an index are ``InvalidSitemap`` nodes."""
        data = self._content.encode("utf-8", "surrogatepass")
        return parse_document([data], None, content_type="text/plain; charset=utf-8")


def parse_document(
    chunks: Iterable[bytes],
    url: str | None,
    *,
    content_type: str | None = None,
    role: Role = Role.SITEMAP,
    name: str = LOCAL_URL,
    limits: Limits = DEFAULT,
    store: Store | None = None,
) -> AbstractSitemap:
    """Parse a document that is at hand; ``url`` is where it came from, if that is known.

    Otherwise ``name`` is the address of its node.
    """
    writer = (store or Store()).writer()
    first = FirstLook(
        parser_for(
            url,
            content_type,
            None,
            role=role,
            glance=limits.pages is None,
            fast=True,
            limits=limits,
        ),
        limits,
    )
    for chunk in chunks:
        writer.write(chunk)
        if not first.feed(chunk):
            break
    look = first.close()
    node_url = url or name
    exchange = Exchange(node_url, node_url, received=writer.size, content_type=content_type)
    journal.received(exchange, look)
    if look.kind is None:
        reason = f"No parsers support sitemap from {node_url}: {look.refusal}"
        return InvalidSitemap(node_url, reason, problems=look.problems)
    children: list[AbstractSitemap] = [
        InvalidSitemap(child.loc, "Un-fetched child sitemap", last_modified=date(child.lastmod))
        for child in look.children
    ]
    missing = look.unfinished
    most = limits.pages if limits.pages is not None and (look.pages or 0) > limits.pages else None
    if most is not None:
        missing = missing or limits.reached("pages")
    problems = []
    if look.left_out is not None:
        problems.append(left_out_problem(look.left_out, "sitemaps"))
        missing = missing or problems[0].message
    return document_node(
        Received(writer.finish(exchange), look),
        children,
        url=node_url,
        base=url,
        problems=problems,
        failure=Failure(node_url, missing) if missing else None,
        limits=limits,
        most=most,
    )
