"""Fetches and parses one sitemap and everything it declares.

The parsers are here under the names programs know; they live in :mod:`usp.formats`.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from usp.crawl.build import document_node, node_for
from usp.crawl.choice import Choice
from usp.crawl.crawl import Crawl, refuse, unique
from usp.crawl.fetch import MAX_RESPONSE_BYTES, FirstLook, Received
from usp.crawl.pages import parser_for
from usp.crawl.threads import ThreadDriver
from usp.exceptions import SitemapException
from usp.formats.document import Role
from usp.formats.feeds import PagesAtomSitemapParser, PagesRSSSitemapParser
from usp.formats.index import IndexXMLSitemapParser
from usp.formats.parser import AbstractSitemapParser
from usp.formats.robots import IndexRobotsTxtSitemapParser
from usp.formats.root import XMLSitemapParser
from usp.formats.text import PlainTextSitemapParser
from usp.formats.urlset import PagesXMLSitemapParser
from usp.formats.values import date
from usp.formats.xml.parser import AbstractXMLSitemapParser
from usp.objects.sitemap import AbstractSitemap, InvalidSitemap
from usp.store import Exchange, Store
from usp.web_client.requests_client import RequestsWebClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from usp.crawl.events import Listener
    from usp.helpers import (
        RecurseCallbackType,
        RecurseEntryCallbackType,
        RecurseListCallbackType,
    )
    from usp.web_client.abstract_client import AbstractWebClient

    T = TypeVar("T")

__all__ = [
    "AbstractSitemapParser",
    "AbstractXMLSitemapParser",
    "IndexRobotsTxtSitemapParser",
    "IndexXMLSitemapParser",
    "PagesAtomSitemapParser",
    "PagesRSSSitemapParser",
    "PagesXMLSitemapParser",
    "PlainTextSitemapParser",
    "SitemapFetcher",
    "SitemapStrParser",
    "XMLSitemapParser",
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
        on_event: Listener | None = None,
    ) -> None:
        parents = frozenset(parent_urls or ())
        refusal = refuse(url, recursion_level, parents)
        if refusal:
            raise SitemapException(refusal)
        self._url = url
        self._level = recursion_level
        self._client = web_client
        self._parents = parents
        self._quiet_404 = quiet_404
        self._choice = Choice(recurse_callback, recurse_list_callback, recurse_entry_callback)
        self._on_event = on_event

    def sitemap(self) -> AbstractSitemap:
        """Fetch and parse; what cannot be fetched is an ``InvalidSitemap``."""

        def seed(crawl: Crawl) -> Callable[[], AbstractSitemap]:
            role = Role.ROBOTS if self._url.endswith("/robots.txt") else Role.SITEMAP
            place = crawl.want(
                self._url,
                role=role,
                level=self._level,
                parents=self._parents,
                quiet=self._quiet_404,
            )
            return lambda: node_for(place)

        return crawl_with(seed, self._client, self._choice, self._on_event)


def crawl_with(
    seed: Callable[[Crawl], Callable[[], T]],
    web_client: AbstractWebClient | None,
    choice: Choice,
    on_event: Listener | None,
) -> T:
    """Run a crawl from start to end.

    ``seed`` says what is wanted and gives what makes the result of it.
    """
    with client_for(web_client) as client:
        crawl = Crawl(choice=choice, per_host=getattr(client, "max_concurrent_requests", 1))
        result = seed(crawl)
        with ThreadDriver(crawl, client, Store(), on_event) as driver:
            driver.run()
    return result()


@contextmanager
def client_for(web_client: AbstractWebClient | None) -> Iterator[AbstractWebClient]:
    """Give the caller's client, or one of our own that is closed in the end; its bodies limited."""
    client = web_client if web_client is not None else RequestsWebClient()
    client.set_max_response_data_length(MAX_RESPONSE_BYTES)
    try:
        yield client
    finally:
        if web_client is None and isinstance(client, RequestsWebClient):
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
) -> AbstractSitemap:
    """Parse a document that is at hand; ``url`` is where it came from, if that is known."""
    writer = Store().writer()
    first = FirstLook(parser_for(url, content_type, None, role=role, glance=True, fast=True))
    for chunk in chunks:
        writer.write(chunk)
        if not first.feed(chunk):
            break
    look = first.close()
    node_url = url or LOCAL_URL
    if look.kind is None:
        reason = f"No parsers support sitemap from {node_url}: {look.refusal}"
        return InvalidSitemap(node_url, reason, problems=look.problems)
    exchange = Exchange(node_url, node_url, received=writer.size, content_type=content_type)
    children: list[AbstractSitemap] = [
        InvalidSitemap(child.loc, "Un-fetched child sitemap", last_modified=date(child.lastmod))
        for child in unique(look.children)
    ]
    return document_node(Received(writer.finish(exchange), look), children, url=node_url, base=url)
