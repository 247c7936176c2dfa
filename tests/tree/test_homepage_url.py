"""The homepage: what its URL may be, what is looked for below it, and the links it has."""

from __future__ import annotations

import logging

import pytest

from cases import cases
from usp.exceptions import SitemapException
from usp.objects.sitemap import IndexWebsiteSitemap
from usp.tree import sitemap_tree_for_homepage
from website import Answer, index, outline, paths, robots, urlset


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


HOME = """<!doctype html><html><head>
<link rel="stylesheet" href="/x.css">
<link rel="sitemap" type="application/xml" title="Sitemap" href="/maps/one.xml">
<LINK REL='alternate Sitemap' HREF="{base}/maps/two.xml"/>
<link rel=sitemap href="mailto:me@example.org">
</head><body>...</body></html>"""


def test_links_of_the_homepage_are_read_when_asked_for(serve):
    site = serve({"/": HOME, "/maps/one.xml": index("/a.xml"), "/a.xml": urlset("/p")})
    tree = sitemap_tree_for_homepage(site.base + "/", use_html_links=True)
    assert outline(tree, site.base)[2] == [
        ("IndexXMLSitemap", "/maps/one.xml", [("PagesXMLSitemap", "/a.xml")]),
        ("InvalidSitemap", "/maps/two.xml"),
    ]


def test_feeds_that_the_homepage_links_to_are_read_too(serve):
    item = "<item><title>T</title><link>/{}</link></item>"
    rss = "<rss version='2.0'><channel>{}</channel></rss>"
    site = serve(
        {
            "/": "<link rel='alternate' type='Application/RSS+XML; charset=utf-8' href='/feed/'>"
            "<link type='application/rss+xml' href='/not-alternate'>"
            "<link rel='alternate' hreflang='de' href='/de/'>"
            "<link rel='alternate' type='application/json' href='/wp-json/'>",
            "/feed/": rss.format(item.format("post")),
        }
    )
    tree = sitemap_tree_for_homepage(site.base + "/", use_html_links=True, use_known_paths=False)
    assert outline(tree, site.base)[2] == [("PagesRSSSitemap", "/feed/")]
    assert paths(tree, site.base) == ["/post"]
    assert not {"/not-alternate", "/de/", "/wp-json/"} & set(site.hits)


def test_links_of_the_homepage_are_not_read_unless_asked_for(serve):
    site = serve({"/": HOME, "/maps/one.xml": urlset("/p")})
    assert not sitemap_tree_for_homepage(site.base + "/").sub_sitemaps
    assert not site.hits["/"]


def test_links_stand_between_robots_txt_and_the_known_paths_and_only_if_they_are_new(serve):
    link = '<link rel="sitemap" href="{}">'
    site = serve(
        {
            "/": "<head>" + "".join(map(link.format, ["/r.xml", "/l.xml", "/sitemap.xml"])),
            "/robots.txt": robots("/r.xml"),
            **{f"/{name}.xml": urlset(f"/{name}") for name in ("r", "l", "sitemap", "sitemap1")},
        }
    )
    tree = sitemap_tree_for_homepage(site.base + "/", use_html_links=True)
    assert outline(tree, site.base)[2] == [
        ("IndexRobotsTxtSitemap", "/robots.txt", [("PagesXMLSitemap", "/r.xml")]),
        ("PagesXMLSitemap", "/l.xml"),
        ("PagesXMLSitemap", "/sitemap.xml"),
        ("PagesXMLSitemap", "/sitemap1.xml"),
    ]
    assert max(site.hits.values()) == 1


def test_a_homepage_without_links_costs_nothing_else(serve):
    for answer in cases([Answer("", 500), Answer(""), "<html>no links</html>"]):
        site = serve({"/": answer, "/sitemap.xml": urlset("/p")})
        tree = sitemap_tree_for_homepage(site.base + "/", use_html_links=True)
        assert paths(tree, site.base) == ["/p"]


def test_a_homepage_link_may_lead_to_another_host_and_by_redirect(serve):
    site = serve(
        {
            "/": '<link rel="sitemap" href="{alt}/s.xml">',
            "alt:/s.xml": Answer(redirect="/t.xml"),
            "alt:/t.xml": urlset("/p"),
        }
    )
    tree = sitemap_tree_for_homepage(site.base + "/", use_html_links=True, use_known_paths=False)
    assert [node.url for node in tree.sub_sitemaps] == [site.alt + "/t.xml"]


def test_links_in_scripts_are_no_links_and_base_is_what_they_are_relative_to(serve):
    link = '<link rel="sitemap" href="{}">'
    page = (
        f"<head><title>{link.format('/t.xml')}</title><script>x = '{link.format('/s.xml')}'</script>"
        f"<base href='/below/'>{link.format('a.xml')}<base href='/no/'>"
        f"<template>{link.format('/u.xml')}</template><noscript>{link.format('/b.xml')}</noscript>"
    )
    site = serve({"/": page, "/below/a.xml": urlset("/a"), "/b.xml": urlset("/b")})
    tree = sitemap_tree_for_homepage(
        site.base + "/", use_html_links=True, use_robots=False, use_known_paths=False
    )
    assert [node.url for node in tree.sub_sitemaps] == [
        site.url("/below/a.xml"),
        site.url("/b.xml"),
    ]
