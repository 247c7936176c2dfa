"""The main entry points: the sitemap tree of a website, of one sitemap, or of a document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from usp._base.names import lazy_getattr
from usp._crawl.receiver import parse_document, parse_file, parse_text, text_bytes
from usp._crawl.thread_driver import crawl_with
from usp._crawl.website import (
    _UNPUBLISHED_SITEMAP_PATHS,
    sitemap_search,
    tree_of,
    website_search,
)
from usp.exceptions import SitemapException
from usp.helpers import (
    RecurseCallbackType,
    RecurseListCallbackType,
    is_http_url,
    strip_url_to_homepage,
)
from usp.limits import DEFAULT, Limits
from usp.objects.sitemap import (
    AbstractSitemap,
    IndexRobotsTxtSitemap,
    IndexWebsiteSitemap,
    InvalidSitemap,
)
from usp.options import CommonKeywords, CrawlOptions, SitemapKeywords, combined, shows
from usp.web_client.abstract_client import AbstractWebClient

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike
    from typing import Unpack

    from usp.fetch_parse import SitemapFetcher, SitemapStrParser
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = [
    "AbstractSitemap",
    "AbstractWebClient",
    "IndexRobotsTxtSitemap",
    "IndexWebsiteSitemap",
    "InvalidSitemap",
    "RecurseCallbackType",
    "RecurseListCallbackType",
    "SitemapException",
    "SitemapFetcher",
    "SitemapStrParser",
    "is_http_url",
    "sitemap_from_bytes",
    "sitemap_from_file",
    "sitemap_from_str",
    "sitemap_tree_for_homepage",
    "sitemap_tree_for_sitemap",
    "strip_url_to_homepage",
]


class _TreeKeywords(CommonKeywords, total=False):
    """The options after those that can be passed by position."""

    use_html_links: bool
    use_neighbours: bool


@shows(_TreeKeywords)
def sitemap_tree_for_homepage(
    homepage_url: str,
    web_client: AbstractWebClient | None = None,
    use_robots: bool = True,
    use_known_paths: bool = True,
    extra_known_paths: Iterable[str] | None = None,
    recurse_callback: RecurseCallbackType | None = None,
    recurse_list_callback: RecurseListCallbackType | None = None,
    normalize_homepage_url: bool = True,
    *,
    options: CrawlOptions | None = None,
    **keywords: Unpack[_TreeKeywords],
) -> IndexWebsiteSitemap:
    """Find, fetch and read the sitemaps of a website; return their tree.

    Looks for sitemaps in robots.txt, in links on the homepage (with ``use_html_links``) and at
    well-known paths, and follows indexes. A sitemap that failed is an ``InvalidSitemap`` in the tree;
    ``tree.is_complete`` and ``tree.failures()`` show whether anything is missing.

    The options are those of :class:`usp.CrawlOptions`. Callbacks run in the calling thread. A client of
    your own gets one request at a time unless it declares otherwise.

    Raises ``SitemapException`` if the URL is not an HTTP(S) URL.
    """
    options = combined(
        options,
        keywords,
        _TreeKeywords,
        use_robots=use_robots,
        use_known_paths=use_known_paths,
        extra_known_paths=extra_known_paths,
        recurse_callback=recurse_callback,
        recurse_list_callback=recurse_list_callback,
        normalize_homepage_url=normalize_homepage_url,
    )
    top = crawl_with(website_search(homepage_url, options, _UNPUBLISHED_SITEMAP_PATHS), web_client)
    return cast("IndexWebsiteSitemap", tree_of(top))


@shows(SitemapKeywords)
def sitemap_tree_for_sitemap(
    url: str,
    web_client: AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
    **keywords: Unpack[SitemapKeywords],
) -> AbstractSitemap:
    """Fetch and read a sitemap and the sitemaps that it lists; return their tree.

    The sitemap itself is the root of the tree. The options are those of :class:`usp.CrawlOptions`.
    Raises ``SitemapException`` if the URL is not an HTTP(S) URL.
    """
    options = combined(options, keywords, SitemapKeywords)
    return tree_of(crawl_with(sitemap_search(url, options), web_client))


def sitemap_from_str(content: str) -> AbstractSitemap:
    """Parse a sitemap from text; nothing is fetched."""
    return parse_text(text_bytes(content))


def sitemap_from_bytes(
    data: bytes, url: str | None = None, *, limits: Limits | None = None
) -> AbstractSitemap:
    """Parse a sitemap from bytes, compressed or not, in any encoding.

    ``url`` is where it came from: relative URLs are resolved against it. Nothing is fetched.
    """
    given: object = data
    if isinstance(given, str):
        raise TypeError("data must be bytes, not str; sitemap_from_str takes text")
    return parse_document([data], url, limits=limits or DEFAULT)


def sitemap_from_file(
    path: str | PathLike[str], *, limits: Limits | None = None
) -> AbstractSitemap:
    """Parse a sitemap from a file, compressed or not; nothing is fetched.

    The URL of the node is that of the file (``file://…``).
    """
    return parse_file(Path(path), limits)
