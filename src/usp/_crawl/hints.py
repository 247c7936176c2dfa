"""Hints of documents at more sitemaps: the software of a website, and the hosts of its neighbours.

Neighbours are its subdomains, and its languages on other hosts, as it names them. For software there is
a table: what the headers of the homepage say, or its ``<meta name="generator">``, and the paths to try.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from usp._base.urls import BadUrl, are_related, host_of, read_url
from usp._formats.abstract_parser import PageBatch

if TYPE_CHECKING:
    from usp._crawl.orders import TreeSlot
    from usp._formats.abstract_parser import PageEntry

_MAX_HEADERS = 16 * 1024  # characters


class Software(NamedTuple):
    """A program that makes websites: how it is recognised, and where it has sitemaps or feeds.

    The ``signs`` are looked for in lines such as ``x-powered-by: next.js`` and ``generator: hugo 0.1``.
    """

    name: str
    signs: tuple[str, ...]
    paths: tuple[str, ...]


_PATHS = {
    "WordPress": "?sitemap=index ?sitemap=1 post-sitemap.xml ?feed=rss2",
    "Drupal": "?q=sitemap.xml index.php/sitemap.xml en/sitemap.xml rss.xml",
    "Joomla": "index.php?option=com_osmap&view=xml&id=1"
    " index.php?option=com_jmap&view=sitemap&format=xml"
    " index.php?option=com_xmap&view=xml&tmpl=component&id=1",
    "TYPO3": "?type=1533906435 ?eID=dd_googlesitemap",
    "Contao": "share/sitemap.xml",
    "Craft CMS": "sitemaps-1-sitemap.xml",
    "DotNetNuke": "SiteMap.aspx",
    "Ghost": "sitemap-posts.xml sitemap-pages.xml rss/",
    "Blogger": "atom.xml?redirect=false&start-index=1&max-results=500",
    "Shopify": "collections/all.atom blogs/news.atom",
    "Magento": "pub/sitemap.xml media/sitemap.xml sitemap/sitemap.xml",
    "PrestaShop": "1_index_sitemap.xml",
    "BigCommerce": "xmlsitemap.php",
    "Wix": "pages-sitemap.xml store-products-sitemap.xml blog-feed.xml",
    "Squarespace": "blog?format=rss",
    "Discourse": "sitemap_1.xml sitemap_recent.xml latest.rss",
    "vBulletin": "xmlsitemap.php",
    "Hugo": "en/sitemap.xml index.xml",
    "Jekyll": "feed.xml",
    "Next.js": "server-sitemap-index.xml server-sitemap.xml sitemap-0.xml sitemap/0.xml",
    "Gatsby": "sitemap-0.xml",
    "Astro": "sitemap-0.xml",
}
_SIGNS = {  # apart from the generator
    "WordPress": ("https://api.w.org/", "\nx-powered-by: wp", "/xmlrpc.php"),
    "Drupal": ("\nx-drupal-",),
    "Craft CMS": ("\nx-powered-by: craft cms",),
    "DotNetNuke": ("\nx-compressed-by: dotnetnuke",),
    "Ghost": ("\nx-ghost-",),
    "Shopify": ("\nx-shopify-", "\nx-shopid:", "\npowered-by: shopify"),
    "Magento": ("\nx-magento-",),
    "PrestaShop": ("\npowered-by: prestashop",),
    "BigCommerce": ("\nplatform: bigcommerce",),
    "Wix": ("\nx-wix-",),
    "Squarespace": ("\nserver: squarespace",),
    "Discourse": ("\nx-discourse-",),
    "Next.js": ("\nx-powered-by: next.js", "\nx-nextjs-"),
}
SOFTWARE = tuple(
    Software(name, (f"generator: {name.lower()}", *_SIGNS.get(name, ())), tuple(paths.split()))
    for name, paths in _PATHS.items()
)
"""The software that is recognised."""


def paths_of_software(headers: Iterable[tuple[str, str]], named: str) -> list[str]:
    """Return the paths to try, by the headers of a homepage and what its ``<meta>`` tags name."""
    lines = "".join(f"\n{name}: {value}" for name, value in headers)
    text = f"{lines[:_MAX_HEADERS]}\n{named}".lower()
    found = (one.paths for one in SOFTWARE if any(sign in text for sign in one.signs))
    return list(dict.fromkeys(chain.from_iterable(found)))


# Neighbours ----------------------------------------------------------------------------------------

_MOST_HOSTS = 1000  # hosts that one document names in each way


class NamedHosts:
    """Collects where the pages of a document are, and their versions in other languages.

    Both are origins such as ``https://shop.example.org``, each once and in order.
    """

    def __init__(self) -> None:
        self.of_pages: dict[str, None] = {}
        self.of_languages: dict[str, None] = {}

    def add(self, entry: PageEntry | PageBatch) -> None:
        """Take a page, or many."""
        if isinstance(entry, PageBatch):
            _keep(self.of_pages, entry.urls)
            rows = entry.rows() if entry.texts() is None else ()
        else:
            _keep(self.of_pages, [entry.url])
            rows = [entry.fields()]
        _keep(self.of_languages, (href for row in rows for _, href in row.alternates or ()))


def _keep(origins: dict[str, None], urls: Iterable[str]) -> None:
    for origin in dict.fromkeys("/".join(url.split("/", 3)[:3]) for url in urls):
        if len(origins) < _MOST_HOSTS:
            origins[origin] = None


def neighbours_of(url: str, slots: Iterable[TreeSlot]) -> list[str]:
    """Return the homepages of a website's neighbours, by the slots of its tree in their order.

    Those of its sitemaps and pages are on related hosts; a language may be on any. A host with
    ``www.`` is the same as without.
    """
    own, found = host_of(url), dict[str, str]()
    for slot in slots:
        probe = slot.received.probe if slot.received else None
        hosts, languages = (probe.hosts, probe.language_hosts) if probe else ((), ())
        named = *((one, False) for one in (slot.url, *hosts)), *((one, True) for one in languages)
        for one, is_language in named:
            with suppress(BadUrl):
                there = read_url(one)
                if is_language or are_related(host_of(one), own):
                    found.setdefault(_identity(there.origin), f"{there.origin}/")
    found.pop(_identity(read_url(url).origin), None)
    return list(found.values())


def _identity(origin: str) -> str:
    """Return what an origin has in common with the same host on http, or with ``www.``."""
    return origin.partition("://")[2].removeprefix("www.")
