"""Indexes below indexes: cycles, depth, shared documents, stray pages."""

import pytest

from cases import cases
from usp.exceptions import SitemapException
from usp.fetch_parse import SitemapFetcher
from usp.objects.sitemap import IndexXMLSitemap, InvalidSitemap
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from website import Answer, index, paths, urlset

A = {"/a.xml": urlset("/p")}
LOGIN = {"/a.xml": Answer(redirect="/login"), "/login": "<html><body>who are you</body></html>"}
CYCLE = {"/i.xml": index("/j.xml"), "/j.xml": index("/k.xml"), "/k.xml": index("/i.xml", "/a.xml")}
GONE = "Unable to fetch sitemap from {base}/gone.xml: 404 Not Found"


def test_what_cannot_stand_below_an_index_is_invalid_and_says_why(serve):
    """A cycle is cut where it closes; each address is asked for once."""
    for answers, nodes, reasons in cases(
        [
            (
                {"/i.xml": index("/i.xml", "/a.xml")} | A,
                ["/i.xml", "!/i.xml", "/a.xml"],
                ["Recursion detected in URL {base}/i.xml"],
            ),
            (
                CYCLE | A,
                ["/i.xml", "/j.xml", "/k.xml", "!/i.xml", "/a.xml"],
                ["{base}/i.xml", "{base}/j.xml", "{base}/k.xml", "Recursion detected"],
            ),
            (
                {"/i.xml": index("/r.xml"), "/r.xml": [Answer(redirect="/i.xml")]},
                ["/i.xml", "!/r.xml"],
                ["Recursion detected when {base}/r.xml redirected to {base}/i.xml"],
            ),
            (
                {"/i.xml": Answer(redirect="/new.xml"), "/new.xml": index("/i.xml")},
                ["/new.xml", "!/i.xml"],
                ["Recursion detected"],
            ),
            (
                {"/i.xml": index("/a.xml")} | LOGIN,
                ["/i.xml", "!/login"],
                ["No parsers support sitemap from {base}/login"],
            ),
            (
                {"/i.xml": index("/j.xml", "/gone.xml"), "/j.xml": index("/gone.xml")},
                ["/i.xml", "/j.xml", "!/gone.xml", "!/gone.xml"],
                [GONE],
            ),
        ]
    ):
        site = serve(answers)
        tree = sitemap_tree_for_sitemap(site.url("/i.xml"))
        found = [tree, *tree.all_sitemaps()]
        invalid = [node for node in found if isinstance(node, InvalidSitemap)]
        marks = ["!" if node in invalid else "" for node in found]
        names = [node.url.removeprefix(site.base) for node in found]
        assert [mark + name for mark, name in zip(marks, names, strict=True)] == nodes
        for reason in reasons:
            assert all(site.fill(reason).decode() in node.reason for node in invalid)
        again = {"/i.xml": 2} if "/r.xml" in answers else {}  # what a redirect leads to
        assert site.hits == dict.fromkeys(site.hits, 1) | again


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


def test_stray_pages_are_kept_where_a_callback_leaves_children_out(serve):
    entries = ["/a.xml", "/b.xml", "<url><loc>{base}/stray</loc></url>", "/c.xml"]
    site = serve({"/i.xml": index(*entries), "/c.xml": urlset("/c")})
    tree = sitemap_tree_for_sitemap(
        site.url("/i.xml"), recurse_callback=lambda url, *_: url.endswith("c.xml")
    )
    assert sorted(paths(tree, site.base)) == ["/c", "/stray"]


def test_a_fetcher_without_a_url_is_refused():
    with pytest.raises(SitemapException):
        SitemapFetcher(None, 0)


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


def test_a_robots_txt_that_is_declared_below_itself_is_requested_once(serve):
    site = serve(
        {"/robots.txt": "Sitemap: /index.xml", "/index.xml": index("/robots.txt", "/a.xml")}
    )
    tree = sitemap_tree_for_homepage(f"{site.base}/", use_known_paths=False)
    loop = tree.sub_sitemaps[0].sub_sitemaps[0].sub_sitemaps[0]
    assert (loop.url, loop.why.code) == (f"{site.base}/robots.txt", "recursion")
    assert site.hits["/robots.txt"] == 1
