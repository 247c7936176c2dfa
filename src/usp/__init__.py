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

from usp._base.names import LAZY_NAMES, PUBLIC_NAMES, lazy_getattr

# Modules, and what needs an extra, are left out of a star import.
__all__ = ["__version__", "tree", *sorted(PUBLIC_NAMES)]  # noqa: PLE0604 - they are strings

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
    from usp import matching as matching
    from usp import mcp as mcp
    from usp import objects as objects
    from usp import options as options
    from usp import report as report
    from usp import selection as selection
    from usp import snapshot as snapshot
    from usp import stream as stream
    from usp import tree as tree
    from usp import web_client as web_client
    from usp.changes import diff as diff
    from usp.changes.watching import watch as watch
    from usp.checks import check as check
    from usp.exceptions import LocalShortageError as LocalShortageError
    from usp.exceptions import SitemapException as SitemapException
    from usp.exceptions import SnapshotError as SnapshotError
    from usp.limits import Limits as Limits
    from usp.matching import best_pages as best_pages
    from usp.objects.child import ChildSitemap as ChildSitemap
    from usp.objects.exchange import Exchange as Exchange
    from usp.objects.page import SitemapImage as SitemapImage
    from usp.objects.page import SitemapNewsStory as SitemapNewsStory
    from usp.objects.page import SitemapPage as SitemapPage
    from usp.objects.page import SitemapPageChangeFrequency as SitemapPageChangeFrequency
    from usp.objects.problem import Failure as Failure
    from usp.objects.problem import FailureCode as FailureCode
    from usp.objects.problem import Problem as Problem
    from usp.objects.problem import ProblemCode as ProblemCode
    from usp.objects.sitemap import AbstractIndexSitemap as AbstractIndexSitemap
    from usp.objects.sitemap import AbstractPagesSitemap as AbstractPagesSitemap
    from usp.objects.sitemap import AbstractSitemap as AbstractSitemap
    from usp.objects.sitemap import IndexJSONFeedSitemap as IndexJSONFeedSitemap
    from usp.objects.sitemap import IndexLlmsTxtSitemap as IndexLlmsTxtSitemap
    from usp.objects.sitemap import IndexOPMLSitemap as IndexOPMLSitemap
    from usp.objects.sitemap import IndexResourceSyncSitemap as IndexResourceSyncSitemap
    from usp.objects.sitemap import IndexRobotsTxtSitemap as IndexRobotsTxtSitemap
    from usp.objects.sitemap import IndexWebsiteSitemap as IndexWebsiteSitemap
    from usp.objects.sitemap import IndexXMLSitemap as IndexXMLSitemap
    from usp.objects.sitemap import InvalidSitemap as InvalidSitemap
    from usp.objects.sitemap import PagesAtomSitemap as PagesAtomSitemap
    from usp.objects.sitemap import PagesHTMLSitemap as PagesHTMLSitemap
    from usp.objects.sitemap import PagesJSONFeedSitemap as PagesJSONFeedSitemap
    from usp.objects.sitemap import PagesLlmsTxtSitemap as PagesLlmsTxtSitemap
    from usp.objects.sitemap import PagesResourceSyncSitemap as PagesResourceSyncSitemap
    from usp.objects.sitemap import PagesRSSSitemap as PagesRSSSitemap
    from usp.objects.sitemap import PagesTextSitemap as PagesTextSitemap
    from usp.objects.sitemap import PagesXMLSitemap as PagesXMLSitemap
    from usp.objects.video import SitemapVideo as SitemapVideo
    from usp.options import CrawlOptions as CrawlOptions
    from usp.selection import Selection as Selection
    from usp.snapshot import Update as Update
    from usp.snapshot import load as load
    from usp.snapshot import update as update
    from usp.stream import pages as pages
    from usp.stream import pages_of_sitemap as pages_of_sitemap
    from usp.tree import sitemap_from_bytes as sitemap_from_bytes
    from usp.tree import sitemap_from_file as sitemap_from_file
    from usp.tree import sitemap_from_str as sitemap_from_str
    from usp.tree import sitemap_tree_for_homepage as sitemap_tree_for_homepage
    from usp.tree import sitemap_tree_for_sitemap as sitemap_tree_for_sitemap
    from usp.web_client.abstract_client import AbstractAsyncWebClient as AbstractAsyncWebClient
    from usp.web_client.abstract_client import AbstractWebClient as AbstractWebClient
    from usp.web_client.aiohttp_client import AiohttpWebClient as AiohttpWebClient
    from usp.web_client.requests_client import RequestsWebClient as RequestsWebClient
    from usp.web_client.zones import Zones as Zones
else:
    __getattr__ = lazy_getattr(__name__)


def __dir__() -> list[str]:
    special = {name for name in globals() if name.startswith("__")}
    return sorted({*special, *LAZY_NAMES[__name__]})
