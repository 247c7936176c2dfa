"""The homepage: what its URL may be, what is looked for below it, and the links it has."""

from __future__ import annotations

import logging

import pytest

from cases import cases
from usp.exceptions import SitemapException
from usp.objects.sitemap import IndexWebsiteSitemap
from usp.tree import sitemap_tree_for_homepage
from website import paths, robots, urlset


def test_a_homepage_that_is_no_http_url_is_the_callers_mistake():
    for normalize in cases([True, False]):
        for url in cases(
            [
                "ftp://example.org/",
                "example.org",
                "",
                "/sitemap.xml",
                "http://",
                "http:// a b/",
                "x",
            ]
        ):
            with pytest.raises(SitemapException):
                sitemap_tree_for_homepage(url, normalize_homepage_url=normalize)


def test_normalizing_cuts_the_url_back_to_its_host_and_says_so(serve, caplog):
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/p")})
    with caplog.at_level(logging.WARNING, "usp.tree"):
        tree = sitemap_tree_for_homepage(site.base + "/shop/index.html?x=1#top")
    assert tree.url == site.base + "/"
    assert paths(tree, site.base) == ["/p"]
    assert [record.levelname for record in caplog.records if record.name == "usp.tree"] == [
        "WARNING"
    ]


def test_a_homepage_that_is_one_already_is_used_without_a_word(serve, caplog):
    site = serve({})
    with caplog.at_level(logging.WARNING, "usp.tree"):
        assert sitemap_tree_for_homepage(site.base + "/").url == site.base + "/"
    assert not [record for record in caplog.records if record.name == "usp.tree"]


def test_without_normalizing_everything_is_looked_for_below_the_path(serve):
    for given in cases(["/shop/de", "/shop/de/"]):
        site = serve(
            {
                "/shop/de/robots.txt": robots("/a.xml"),
                "/a.xml": urlset("/p"),
                "/shop/de/sitemap.xml": urlset("/q"),
                "/sitemap.xml": urlset("/not/this"),
            }
        )
        tree = sitemap_tree_for_homepage(site.base + given, normalize_homepage_url=False)
        assert tree.url == site.base + "/shop/de/"
        assert paths(tree, site.base) == ["/p", "/q"]
        assert all(path.startswith("/shop/de/") for path in site.hits if path != "/a.xml")


def test_a_homepage_without_a_slash_gets_one(serve):
    site = serve({})
    for normalize in (True, False):
        tree = sitemap_tree_for_homepage(
            site.base, use_known_paths=False, normalize_homepage_url=normalize
        )
        assert tree == IndexWebsiteSitemap(site.base + "/", [])
