"""Where the software of a website has its sitemap, if that is not a path that is always tried.

A table: what the headers of the homepage say, or its ``<meta name="generator">``, and the paths to try.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

_MAX_HEADERS = 16 * 1024  # characters


class Software(NamedTuple):
    """A program that makes websites: how it is recognised, and where it has sitemaps or feeds.

    The ``signs`` are looked for in lines such as ``x-powered-by: next.js`` and ``generator: hugo 0.1``.
    """

    name: str
    signs: tuple[str, ...]
    paths: tuple[str, ...]


SOFTWARE = tuple(
    Software(name, (f"generator: {name.lower()}", *signs), paths)
    for name, signs, paths in (
        (
            "WordPress",
            ("https://api.w.org/", "\nx-powered-by: wp", "/xmlrpc.php"),
            ("?sitemap=index", "?sitemap=1", "post-sitemap.xml", "?feed=rss2"),
        ),
        (
            "Drupal",
            ("\nx-drupal-",),
            ("?q=sitemap.xml", "index.php/sitemap.xml", "en/sitemap.xml", "rss.xml"),
        ),
        (
            "Joomla",
            (),
            (
                "index.php?option=com_osmap&view=xml&id=1",
                "index.php?option=com_jmap&view=sitemap&format=xml",
                "index.php?option=com_xmap&view=xml&tmpl=component&id=1",
            ),
        ),
        ("TYPO3", (), ("?type=1533906435", "?eID=dd_googlesitemap")),
        ("Contao", (), ("share/sitemap.xml",)),
        ("Craft CMS", ("\nx-powered-by: craft cms",), ("sitemaps-1-sitemap.xml",)),
        ("DotNetNuke", ("\nx-compressed-by: dotnetnuke",), ("SiteMap.aspx",)),
        ("Ghost", ("\nx-ghost-",), ("sitemap-posts.xml", "sitemap-pages.xml", "rss/")),
        ("Blogger", (), ("atom.xml?redirect=false&start-index=1&max-results=500",)),
        (
            "Shopify",
            ("\nx-shopify-", "\nx-shopid:", "\npowered-by: shopify"),
            ("collections/all.atom", "blogs/news.atom"),
        ),
        (
            "Magento",
            ("\nx-magento-",),
            ("pub/sitemap.xml", "media/sitemap.xml", "sitemap/sitemap.xml"),
        ),
        ("PrestaShop", ("\npowered-by: prestashop",), ("1_index_sitemap.xml",)),
        ("BigCommerce", ("\nplatform: bigcommerce",), ("xmlsitemap.php",)),
        (
            "Wix",
            ("\nx-wix-",),
            ("pages-sitemap.xml", "store-products-sitemap.xml", "blog-feed.xml"),
        ),
        ("Squarespace", ("\nserver: squarespace",), ("blog?format=rss",)),
        ("Discourse", ("\nx-discourse-",), ("sitemap_1.xml", "sitemap_recent.xml", "latest.rss")),
        ("vBulletin", (), ("xmlsitemap.php",)),
        ("Hugo", (), ("en/sitemap.xml", "index.xml")),
        ("Jekyll", (), ("feed.xml",)),
        (
            "Next.js",
            ("\nx-powered-by: next.js", "\nx-nextjs-"),
            ("server-sitemap-index.xml", "server-sitemap.xml", "sitemap-0.xml", "sitemap/0.xml"),
        ),
        ("Gatsby", (), ("sitemap-0.xml",)),
        ("Astro", (), ("sitemap-0.xml",)),
    )
)
"""The software that is recognised."""


def paths_of_software(headers: Iterable[tuple[str, str]], named: str) -> list[str]:
    """Return the paths to try, by the headers of a homepage and what its ``<meta>`` tags name."""
    lines = "".join(f"\n{name}: {value}" for name, value in headers)
    text = f"{lines[:_MAX_HEADERS]}\n{named}".lower()
    found = (one.paths for one in SOFTWARE if any(sign in text for sign in one.signs))
    return list(dict.fromkeys(chain.from_iterable(found)))
