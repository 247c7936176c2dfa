"""Indexes below indexes: cycles, depth, shared documents, stray pages."""

from __future__ import annotations

import pytest

from cases import cases
from usp.exceptions import SitemapException
from usp.fetch_parse import SitemapFetcher
from usp.objects.sitemap import IndexXMLSitemap, InvalidSitemap, PagesXMLSitemap
from usp.tree import sitemap_tree_for_sitemap
from website import Answer, index, paths, urlset


def test_an_index_that_lists_itself_gets_an_invalid_child_with_the_reason(serve):
    site = serve({"/i.xml": index("/i.xml", "/a.xml"), "/a.xml": urlset("/p")})
    tree = sitemap_tree_for_sitemap(site.url("/i.xml"))
    loop, sitemap = tree.sub_sitemaps
    assert isinstance(loop, InvalidSitemap)
    assert loop.url == site.url("/i.xml")
    assert f"Recursion detected in URL {site.url('/i.xml')}" in loop.reason
    assert sitemap.url == site.url("/a.xml")
    assert site.hits["/i.xml"] == 1


def test_a_cycle_through_several_indexes_is_cut_where_it_closes(serve):
    site = serve(
        {"/i.xml": index("/j.xml"), "/j.xml": index("/k.xml"), "/k.xml": index("/i.xml", "/a.xml")}
        | {"/a.xml": urlset("/p")}
    )
    tree = sitemap_tree_for_sitemap(site.url("/i.xml"))
    below_k = tree.sub_sitemaps[0].sub_sitemaps[0].sub_sitemaps
    assert [type(node) for node in below_k] == [InvalidSitemap, PagesXMLSitemap]
    for path in ("/i.xml", "/j.xml", "/k.xml"):
        assert site.url(path) in below_k[0].reason
    assert set(site.hits.values()) == {1}


def test_a_child_that_redirects_to_one_of_its_parents_is_a_recursion(serve):
    site = serve({"/i.xml": index("/r.xml"), "/r.xml": Answer(redirect="/i.xml")})
    (child,) = sitemap_tree_for_sitemap(site.url("/i.xml")).sub_sitemaps
    assert isinstance(child, InvalidSitemap)
    assert child.url == site.url("/r.xml")
    expected = f"Recursion detected when {site.url('/r.xml')} redirected to {site.url('/i.xml')}"
    assert expected in child.reason


def test_an_index_that_was_redirected_to_and_lists_its_old_address_is_a_recursion(serve):
    site = serve({"/old.xml": Answer(redirect="/new.xml"), "/new.xml": index("/old.xml")})
    tree = sitemap_tree_for_sitemap(site.url("/old.xml"))
    assert tree.url == site.url("/new.xml")
    (child,) = tree.sub_sitemaps
    assert "Recursion detected" in child.reason


def test_children_down_to_level_eleven_are_followed_and_no_further(serve):
    chain = {f"/{n}.xml": index(f"/{n + 1}.xml", f"/p{n}.xml") for n in range(20)}
    pages = {f"/p{n}.xml": urlset(f"/{n}") for n in range(20)}
    site = serve({**chain, **pages})
    node = sitemap_tree_for_sitemap(site.url("/0.xml"))
    for level in range(11):
        assert isinstance(node, IndexXMLSitemap), level
        node = node.sub_sitemaps[0]
    assert node.url == site.url("/11.xml")
    assert isinstance(node, IndexXMLSitemap)
    for child in node.sub_sitemaps:
        assert isinstance(child, InvalidSitemap)
        assert "Recursion level exceeded 11" in child.reason
    assert not site.hits["/12.xml"]
    assert not site.hits["/p11.xml"]


def test_a_document_that_failed_is_asked_once_and_stands_twice(serve):
    site = serve({"/i.xml": index("/j.xml", "/gone.xml"), "/j.xml": index("/gone.xml")})
    tree = sitemap_tree_for_sitemap(site.url("/i.xml"))
    gone = InvalidSitemap(
        site.url("/gone.xml"),
        f"Unable to fetch sitemap from {site.url('/gone.xml')}: 404 Not Found",
    )
    assert tree.sub_sitemaps == [IndexXMLSitemap(site.url("/j.xml"), [gone]), gone]
    assert site.hits["/gone.xml"] == 1


def test_stray_pages_are_kept_where_a_callback_leaves_children_out(serve):
    entries = ["/a.xml", "/b.xml", "<url><loc>{base}/stray</loc></url>", "/c.xml"]
    site = serve({"/i.xml": index(*entries), "/c.xml": urlset("/c")})
    tree = sitemap_tree_for_sitemap(
        site.url("/i.xml"), recurse_callback=lambda url, *_: url.endswith("c.xml")
    )
    assert sorted(paths(tree, site.base)) == ["/c", "/stray"]


def test_what_redirects_to_no_sitemap_is_invalid_under_the_address_after_redirects(serve):
    site = serve(
        {
            "/i.xml": index("/a.xml"),
            "/a.xml": Answer(redirect="/login"),
            "/login": "<html><body>who are you</body></html>",
        }
    )
    (child,) = sitemap_tree_for_sitemap(site.url("/i.xml")).sub_sitemaps
    assert isinstance(child, InvalidSitemap)
    assert f"No parsers support sitemap from {site.url('/login')}" in child.reason
    assert child.url == site.url("/login")


def test_a_fetcher_refuses_what_cannot_be_fetched():
    for url, level, parents in cases(
        [
            ("ftp://example.org/s.xml", 0, None),
            (None, 0, None),
            ("http://example.org/s.xml", 12, None),
            ("http://example.org/s.xml", 1, {"http://example.org/s.xml"}),
        ]
    ):
        with pytest.raises(SitemapException):
            SitemapFetcher(url, level, parent_urls=parents)


def test_a_fetcher_knows_its_level_and_parents(serve):
    site = serve({"/i.xml": index("/top.xml", "/a.xml"), "/a.xml": index("/b.xml")})
    tree = SitemapFetcher(site.url("/i.xml"), 10, parent_urls={site.url("/top.xml")}).sitemap()
    top, deep = tree.sub_sitemaps
    assert "Recursion detected in URL" in top.reason
    assert "Recursion level exceeded" in deep.sub_sitemaps[0].reason


def test_a_fetcher_that_is_redirected_to_one_of_its_parents_gives_an_invalid_sitemap(serve):
    site = serve({"/r.xml": Answer(redirect="/top.xml"), "/top.xml": urlset("/p")})
    node = SitemapFetcher(site.url("/r.xml"), 1, parent_urls={site.url("/top.xml")}).sitemap()
    assert isinstance(node, InvalidSitemap)
    assert "Recursion detected when" in node.reason
