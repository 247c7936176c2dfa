"""Finds, fetches and reads the sitemaps of a website, and returns them as a tree.

::

    import usp

    tree = usp.sitemap_tree_for_homepage("https://example.org/")
    for page in tree.all_pages():
        print(page.url)

The names below are loaded on first use: ``import usp`` itself loads next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._base.names import LAZY_NAMES, lazy_getattr

__all__ = [
    "AbstractAsyncWebClient",
    "AbstractIndexSitemap",
    "AbstractPagesSitemap",
    "AbstractSitemap",
    "AbstractWebClient",
    "ChildSitemap",
    "CrawlOptions",
    "Exchange",
    "Failure",
    "FailureCode",
    "IndexRobotsTxtSitemap",
    "IndexWebsiteSitemap",
    "IndexXMLSitemap",
    "InvalidSitemap",
    "Limits",
    "LocalShortageError",
    "PagesAtomSitemap",
    "PagesRSSSitemap",
    "PagesTextSitemap",
    "PagesXMLSitemap",
    "Problem",
    "ProblemCode",
    "RequestsWebClient",
    "Selection",
    "SitemapException",
    "SitemapImage",
    "SitemapNewsStory",
    "SitemapPage",
    "SitemapPageChangeFrequency",
    "SitemapVideo",
    "SnapshotError",
    "Update",
    "Zones",
    "__version__",
    "check",
    "diff",
    "load",
    "pages",
    "pages_of_sitemap",
    "sitemap_from_bytes",
    "sitemap_from_file",
    "sitemap_from_str",
    "sitemap_tree_for_homepage",
    "sitemap_tree_for_sitemap",
    "tree",
    "update",
    "watch",
]

__version__ = "2.0.0.dev0"

if TYPE_CHECKING:
    from usp import aio as aio
    from usp import changes as changes
    from usp import checks as checks
    from usp import cli as cli
    from usp import events as events
    from usp import exceptions as exceptions
    from usp import export as export
    from usp import fetch_parse as fetch_parse
    from usp import fleet as fleet
    from usp import graph as graph
    from usp import helpers as helpers
    from usp import limits as limits
    from usp import mcp as mcp
    from usp import objects as objects
    from usp import options as options
    from usp import report as report
    from usp import selection as selection
    from usp import snapshot as snapshot
    from usp import stream as stream
    from usp import tree as tree
    from usp import web_client as web_client
    from usp.changes import diff
    from usp.changes.watching import watch
    from usp.checks import check
    from usp.exceptions import LocalShortageError, SitemapException, SnapshotError
    from usp.limits import Limits
    from usp.objects.child import ChildSitemap
    from usp.objects.exchange import Exchange
    from usp.objects.page import (
        SitemapImage,
        SitemapNewsStory,
        SitemapPage,
        SitemapPageChangeFrequency,
    )
    from usp.objects.problem import Failure, FailureCode, Problem, ProblemCode
    from usp.objects.sitemap import (
        AbstractIndexSitemap,
        AbstractPagesSitemap,
        AbstractSitemap,
        IndexRobotsTxtSitemap,
        IndexWebsiteSitemap,
        IndexXMLSitemap,
        InvalidSitemap,
        PagesAtomSitemap,
        PagesRSSSitemap,
        PagesTextSitemap,
        PagesXMLSitemap,
    )
    from usp.objects.video import SitemapVideo
    from usp.options import CrawlOptions
    from usp.selection import Selection
    from usp.snapshot import Update, load, update
    from usp.stream import pages, pages_of_sitemap
    from usp.tree import (
        sitemap_from_bytes,
        sitemap_from_file,
        sitemap_from_str,
        sitemap_tree_for_homepage,
        sitemap_tree_for_sitemap,
    )
    from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient
    from usp.web_client.aiohttp_client import AiohttpWebClient as AiohttpWebClient
    from usp.web_client.requests_client import RequestsWebClient
    from usp.web_client.zones import Zones
else:
    __getattr__ = lazy_getattr(__name__)


def __dir__() -> list[str]:
    # Modules, and what needs an extra, are left out of a star import but not of this.
    special = {name for name in globals() if name.startswith("__")}
    return sorted({*special, *LAZY_NAMES[__name__]})
