"""The fetcher and the parsers of ultimate-sitemap-parser 1.8.1, under the names that programs know.

::

    AbstractSitemapParser              takes the content
    ├── XMLSitemapParser
    ├── IndexRobotsTxtSitemapParser
    └── PlainTextSitemapParser
    AbstractXMLSitemapParser           takes elements, one by one
    ├── IndexXMLSitemapParser
    ├── PagesXMLSitemapParser          with Page and Image
    ├── PagesRSSSitemapParser          with Page
    └── PagesAtomSitemapParser         with Page

They do not parse themselves: :mod:`usp._formats` does, and a crawl fetches the children.
"""

from __future__ import annotations

import abc
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar
from xml.sax.saxutils import escape, quoteattr

from usp._base.display import get_logger
from usp._base.names import lazy_getattr
from usp._base.urls import is_http_url, without_fragment, without_login
from usp._crawl.child_filter import refuse, without_fragments
from usp._crawl.orders import FinalResult
from usp._crawl.receiver import (
    parse_document,
    parse_text,
    read_document,
    text_bytes,
    unfetched_tree,
)
from usp._crawl.thread_driver import crawl_with
from usp._crawl.website import OneSitemap, Search, tree_of
from usp._formats.document import Role
from usp.exceptions import SitemapException, SitemapXMLParsingException
from usp.objects.extensions import NAMESPACES, PROTOCOL
from usp.objects.problem import Failure, FailureCode
from usp.objects.sitemap import (
    AbstractIndexSitemap,
    AbstractPagesSitemap,
    AbstractSitemap,
    IndexRobotsTxtSitemap,
    IndexXMLSitemap,
    InvalidSitemap,
    PagesAtomSitemap,
    PagesRSSSitemap,
    PagesTextSitemap,
    PagesXMLSitemap,
)
from usp.options import CommonKeywords, CrawlOptions, combined, shows
from usp.web_client.abstract_client import LocalWebClient

if TYPE_CHECKING:
    from typing import Unpack

    from usp._crawl.crawl import Crawl
    from usp._formats.values import MAX_VALID_PRIORITY, MIN_VALID_PRIORITY
    from usp.helpers import (
        RecurseCallbackType,
        RecurseListCallbackType,
        get_url_retry_on_client_errors,
        html_unescape_strip,
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
    from usp.web_client.abstract_client import (
        AbstractWebClient,
        AbstractWebClientResponse,
        AbstractWebClientSuccessResponse,
        LocalWebClientSuccessResponse,
        NoWebClientException,
        WebClientErrorResponse,
    )
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


# Parsers that take a document ---------------------------------------------------------------------

_TEXT = "text/plain; charset=utf-8"


class AbstractSitemapParser:
    """A parser of one document; the sitemaps that an index lists are fetched with the web client."""

    def __init__(
        self,
        url: str,
        content: str,
        recursion_level: int,
        web_client: AbstractWebClient | None,
        parent_urls: Collection[str] | None,
        recurse_callback: RecurseCallbackType | None = None,
        recurse_list_callback: RecurseListCallbackType | None = None,
    ) -> None:
        self._url = url
        self._content = content
        callbacks = recurse_callback, recurse_list_callback
        self._given = (web_client, recursion_level, parent_urls, *callbacks)

    def sitemap(self) -> AbstractSitemap:
        """Return the node of the document, whatever it is, with its children."""
        url, base = self._url, self._url if is_http_url(self._url) else None
        role = Role.ROBOTS if url.endswith("/robots.txt") else Role.SITEMAP
        kind = _TEXT if isinstance(self._content, str) else None
        received = read_document([_encoded(self._content)], base, url, content_type=kind, role=role)
        if base is None:
            return unfetched_tree(received, resolves=False)
        web_client, level, parent_urls, callback, list_callback = self._given
        if type(web_client) is LocalWebClient and not any(self._given[1:]):  # a tenth of the calls
            return unfetched_tree(received, above=frozenset({without_fragment(url)}))

        def begin(crawl: Crawl) -> OneSitemap:
            top = OneSitemap(crawl, url, level=level, parents=frozenset(parent_urls or ()))
            for order in crawl.next_fetches(1, time.monotonic()):
                crawl.recall(order, FinalResult(url, role, None, 1, received))
            return top

        options = CrawlOptions(recurse_callback=callback, recurse_list_callback=list_callback)
        return crawl_with(Search(begin, url, options), web_client).tree()


def _encoded(content: str | bytes) -> bytes:
    return content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content


class XMLSitemapParser(AbstractSitemapParser):
    """A parser of any XML document: an index, a urlset or a feed.

    ``_concrete_parser`` is the parser for its kind, as soon as that is known: from the document, or
    from elements as ``xml.parsers.expat`` reports them, with a blank after the namespace.
    """

    __XML_NAMESPACE_SEPARATOR = " "
    _concrete_parser: AbstractXMLSitemapParser | None = None

    def sitemap(self) -> AbstractSitemap:
        """Return the node of the document; an ``InvalidSitemap`` if it is not XML of these kinds."""
        node = super().sitemap()
        kind = next((one for one in _KINDS.values() if isinstance(node, one._kind)), None)  # noqa: SLF001
        if kind is not None:
            self._concrete_parser = kind(self._url, *self._given)
            self._concrete_parser.take(self._content)
        if isinstance(node, PagesTextSitemap | IndexRobotsTxtSitemap):
            reason = f"No parsers support sitemap from {self._url}"
            failure = Failure(self._url, reason, code=FailureCode.NOT_A_SITEMAP)
            return InvalidSitemap(self._url, reason, failure=failure)
        return node

    def _xml_element_start(self, name: str, attrs: Mapping[str, str]) -> None:
        uri, _, local = name.rpartition(self.__XML_NAMESPACE_SEPARATOR)
        if self._concrete_parser is None:
            kind = _KINDS.get(local)
            if kind is None:
                raise SitemapXMLParsingException(f"Unsupported root element '{name}'.")
            self._concrete_parser = kind(self._url, *self._given)
        self._concrete_parser.xml_element_start(local, {**attrs, "xmlns": uri})

    def _xml_element_end(self, name: str) -> None:
        local = name.rpartition(self.__XML_NAMESPACE_SEPARATOR)[2]
        assert self._concrete_parser is not None
        self._concrete_parser.xml_element_end(local)

    def _xml_char_data(self, data: str) -> None:
        assert self._concrete_parser is not None
        self._concrete_parser.xml_char_data(data)


class IndexRobotsTxtSitemapParser(AbstractSitemapParser):
    """A parser of robots.txt; raises ``SitemapException`` if the URL does not end in that."""

    def __init__(self, url: str, *args: Any, **options: Any) -> None:
        super().__init__(url, *args, **options)
        if not url.endswith("/robots.txt"):
            raise SitemapException(f"URL does not look like robots.txt URL: {url}")


class PlainTextSitemapParser(AbstractSitemapParser):
    """A parser of plain text: one URL per line."""


# Entries whose fields are set one by one: written as XML, and parsed like any other document --------

_NAMESPACES = {  # as 1.8.1 calls the namespaces of elements
    "sitemap": PROTOCOL,
    **{prefix: NAMESPACES[prefix] for prefix in ("news", "image", "video", "xhtml")},
}
_DECLARED = {f"xmlns:{prefix}": uri for prefix, uri in _NAMESPACES.items()}


def _tag(name: str, attributes: Mapping[str, str]) -> str:
    written = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
    return f"<{name}{written}>"


def _text(element: str, *, compare: bool = False) -> Any:
    return field(default=None, metadata={"element": element}, compare=compare)


def _written(entry: Any, prefix: str = "") -> str:
    """Return the fields of an entry as elements with a prefix; those that are not set are left out."""
    texts = {one.metadata.get("element"): getattr(entry, one.name) for one in fields(entry)}
    return "".join(
        f"<{name}>{escape(text)}</{name}>"
        for name, text in texts.items()
        if name is not None and text is not None and name.rpartition(":")[0] == prefix
    )


def _page(document: str) -> SitemapPage | None:
    return next(iter(parse_document([document.encode("utf-8", "replace")], None).all_pages()), None)


@dataclass(slots=True)
class ImageEntry:
    """An image with its fields as text."""

    loc: str | None = _text("image:loc")
    caption: str | None = _text("image:caption")
    geo_location: str | None = _text("image:geo_location")
    title: str | None = _text("image:title")
    license: str | None = _text("image:license")

    def written(self) -> str:
        """Return the image as XML."""
        return f"<image:image>{_written(self, 'image')}</image:image>"


@dataclass(slots=True, unsafe_hash=True)
class UrlPage:
    """A ``<url>`` with its fields as text; equal if the URLs are equal."""

    url: str | None = _text("loc", compare=True)
    last_modified: str | None = _text("lastmod")
    change_frequency: str | None = _text("changefreq")
    priority: str | None = _text("priority")
    news_title: str | None = _text("news:title")
    news_publish_date: str | None = _text("news:publication_date")
    news_publication_name: str | None = _text("news:name")
    news_publication_language: str | None = _text("news:language")
    news_access: str | None = _text("news:access")
    news_genres: str | None = _text("news:genres")
    news_keywords: str | None = _text("news:keywords")
    news_stock_tickers: str | None = _text("news:stock_tickers")
    images: list[ImageEntry] = field(default_factory=list, compare=False)
    alternates: list[tuple[str, str]] = field(default_factory=list, compare=False)

    def page(self) -> SitemapPage | None:
        """Return the page; None without a URL."""
        own, news = _written(self), _written(self, "news")
        story = f"<news:news>{news}</news:news>" if news else ""
        images = "".join(image.written() for image in self.images)
        links = "".join(
            f'<xhtml:link rel="alternate" hreflang={quoteattr(language)} href={quoteattr(href)}/>'
            for language, href in self.alternates
        )
        root = _tag("urlset", {"xmlns": _NAMESPACES["sitemap"], **_DECLARED})
        return _page(f"{root}<url>{own}{story}{images}{links}</url></urlset>")


@dataclass(slots=True, unsafe_hash=True)
class FeedPage:
    """An entry of a feed with its fields as text; equal if the links are equal."""

    link: str | None = _text("link", compare=True)
    title: str | None = _text("title")
    description: str | None = _text("description")
    publication_date: str | None = _text("pubDate")

    def page(self) -> SitemapPage | None:
        """Return the page; None without a link."""
        item = _written(self)
        return _page(f'<rss version="2.0"><channel><item>{item}</item></channel></rss>')


# Parsers that take elements one by one --------------------------------------------------------------


class AbstractXMLSitemapParser(abc.ABC):
    """A parser that takes elements, named as in ``sitemap:loc``, and text."""

    _kind: ClassVar[type[AbstractIndexSitemap | AbstractPagesSitemap]]

    def __init__(
        self,
        url: str,
        web_client: AbstractWebClient | None = None,
        recursion_level: int = 0,
        parent_urls: Collection[str] | None = None,
        recurse_callback: RecurseCallbackType | None = None,
        recurse_list_callback: RecurseListCallbackType | None = None,
    ) -> None:
        self._url = url
        callbacks = recurse_callback, recurse_list_callback
        self._given = (recursion_level, web_client, parent_urls, *callbacks)
        self._text: list[str] = []

    def xml_element_start(self, name: str, attrs: Mapping[str, str]) -> None:
        """Handle the start of an element."""
        self._text.append(_tag(name, attrs if self._text else {**attrs, **_DECLARED}))

    def xml_element_end(self, name: str) -> None:
        """Handle the end of an element."""
        self._text.append(f"</{name}>")

    def xml_char_data(self, data: str) -> None:
        """Handle text."""
        self._text.append(escape(data))

    def take(self, content: str | bytes) -> None:
        """Take a whole document instead of its elements."""
        text = content if isinstance(content, str) else content.decode("utf-8", "replace")
        self._text = [text]

    @abc.abstractmethod
    def sitemap(self) -> AbstractSitemap:
        """Return the node of the elements so far."""


class _ElementsParser(AbstractXMLSitemapParser):
    def sitemap(self) -> AbstractSitemap:
        """Return the sitemap with its children or pages."""
        if not self._text:
            return self._kind(self._url, [])
        return XMLSitemapParser(self._url, "".join(self._text), *self._given).sitemap()


class IndexXMLSitemapParser(_ElementsParser):
    """A parser of an index that takes its elements."""

    _kind = IndexXMLSitemap

    @property
    def _sub_sitemap_urls(self) -> list[str]:
        """The URLs of the children; programs fetch them in their own way."""
        data = _encoded("".join(self._text))
        received = read_document([data], self._url, self._url, content_type=_TEXT)
        return [child.loc for child in received.probe.children]


class PagesXMLSitemapParser(_ElementsParser):
    """A parser of a urlset that takes its elements."""

    _kind = PagesXMLSitemap
    Page = UrlPage
    Image = ImageEntry


class PagesRSSSitemapParser(_ElementsParser):
    """A parser of an RSS feed that takes its elements."""

    _kind = PagesRSSSitemap
    Page = FeedPage


class PagesAtomSitemapParser(_ElementsParser):
    """A parser of an Atom feed that takes its elements."""

    _kind = PagesAtomSitemap
    Page = FeedPage


_KINDS: dict[str, type[AbstractXMLSitemapParser]] = {  # by the name of the root
    "sitemapindex": IndexXMLSitemapParser,
    "urlset": PagesXMLSitemapParser,
    "rss": PagesRSSSitemapParser,
    "feed": PagesAtomSitemapParser,
}
