"""Known paths: tried in a fixed order, and without a trace where they lead to nothing new."""

from __future__ import annotations

import usp
from cases import cases
from usp import tree as tree_module
from usp._crawl.website import KNOWN_SITEMAP_PATHS, in_order
from usp.tree import sitemap_tree_for_homepage
from website import Answer, index, outline, paths, robots, urlset

OF_THE_PEER = {
    "sitemap.xml", "sitemap.xml.gz", "sitemap_index.xml", "sitemap-index.xml",
    "sitemap_index.xml.gz", "sitemap-index.xml.gz", ".sitemap.xml", "sitemap",
    "admin/config/search/xmlsitemap", "sitemap/sitemap-index.xml", "sitemap_news.xml",
    "sitemap-news.xml", "sitemap_news.xml.gz", "sitemap-news.xml.gz",
}  # fmt: skip
OF_TODAYS_PLATFORMS = {
    "wp-sitemap.xml", "sitemap.txt", "sitemaps.xml", "sitemap1.xml", "news-sitemap.xml",
}  # fmt: skip


def tops(tree, site) -> list[str]:
    return [node.url.removeprefix(site.base) for node in tree.sub_sitemaps]


def test_the_known_paths_are_those_of_the_peer_and_of_todays_platforms():
    assert isinstance(tree_module._UNPUBLISHED_SITEMAP_PATHS, set)
    assert tree_module._UNPUBLISHED_SITEMAP_PATHS == OF_THE_PEER | OF_TODAYS_PLATFORMS
    assert len(KNOWN_SITEMAP_PATHS) == len(set(KNOWN_SITEMAP_PATHS))
    assert not any(path.startswith("/") for path in KNOWN_SITEMAP_PATHS)


def test_all_known_paths_are_asked_and_found_in_a_fixed_order(serve):
    site = serve({"/" + path: urlset("/of/" + path) for path in KNOWN_SITEMAP_PATHS})
    first = sitemap_tree_for_homepage(site.base + "/")
    assert tops(first, site) == ["/" + path for path in KNOWN_SITEMAP_PATHS]
    assert sitemap_tree_for_homepage(site.base + "/") == first


def test_in_order_gives_each_path_once_unknown_ones_sorted_then_the_callers_own():
    assert in_order({"z.xml", "b.xml", "sitemap_index.xml", "sitemap.xml"}, ["/y", "b.xml"]) == [
        "sitemap.xml", "sitemap_index.xml", "b.xml", "z.xml", "y",
    ]  # fmt: skip
    assert in_order((), {"b", "a"}) == ["a", "b"]
    assert in_order((), ("b", "a")) == ["b", "a"]


def test_a_known_path_that_leads_to_no_sitemap_leaves_no_trace(serve):
    for answer in cases(
        [
            Answer("", 404),
            Answer("", 401),
            Answer("<!doctype html><html><body>https://e.org/</body></html>"),
            Answer(""),
            Answer("nothing to see here"),
            Answer('<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'),
            Answer(redirect="/sitemap_index.xml"),
        ]
    ):
        site = serve({"/sitemap.xml": answer, "/sitemap_news.xml": urlset("/p")})
        tree = sitemap_tree_for_homepage(site.base + "/")
        assert outline(tree, site.base)[2] == [("PagesXMLSitemap", "/sitemap_news.xml")]


def test_a_known_path_that_robots_txts_subtree_holds_leaves_no_trace(serve):
    site = serve(
        {
            "/robots.txt": robots("/i.xml"),
            "/i.xml": index("/deep.xml"),
            "/deep.xml": index("/sitemap.xml"),
            "/sitemap.xml": urlset("/p"),
        }
    )
    tree = sitemap_tree_for_homepage(site.base + "/")
    assert tops(tree, site) == ["/robots.txt"]
    assert paths(tree, site.base) == ["/p"]
    assert site.hits["/sitemap.xml"] == 1


def test_a_known_path_that_redirects_to_what_robots_txt_holds_leaves_no_trace(serve):
    site = serve(
        {
            "/robots.txt": robots("/i.xml"),
            "/i.xml": index("/a.xml"),
            "/a.xml": urlset("/p"),
            "/sitemap.xml": Answer(redirect="/a.xml"),
            "/sitemap_index.xml": Answer(redirect="/i.xml"),
        }
    )
    tree = sitemap_tree_for_homepage(site.base + "/")
    assert tops(tree, site) == ["/robots.txt"]


def test_a_known_path_that_robots_txts_subtree_reaches_by_redirect_leaves_no_trace(serve):
    site = serve(
        {
            "/robots.txt": robots("/old.xml"),
            "/old.xml": Answer(redirect="/sitemap.xml"),
            "/sitemap.xml": urlset("/p"),
        }
    )
    tree = sitemap_tree_for_homepage(site.base + "/")
    assert paths(tree, site.base) == ["/p"]
    assert tops(tree, site) == ["/robots.txt"]


def test_a_known_path_that_failed_below_robots_txt_is_not_listed_again(serve):
    site = serve({"/robots.txt": robots("/sitemap.xml")})
    tree = sitemap_tree_for_homepage(site.base + "/")
    assert outline(tree, site.base)[2] == [
        ("IndexRobotsTxtSitemap", "/robots.txt", [("InvalidSitemap", "/sitemap.xml")])
    ]
    assert site.hits["/sitemap.xml"] == 1


def test_two_known_paths_that_redirect_to_the_same_place_are_one(serve):
    site = serve(
        {
            "/sitemap.xml": Answer(redirect="/maps/all.xml"),
            "/sitemap_index.xml": Answer(redirect="/maps/all.xml"),
            "/maps/all.xml": index("/a.xml"),
            "/a.xml": urlset("/p"),
        }
    )
    tree = sitemap_tree_for_homepage(site.base + "/")
    assert tops(tree, site) == ["/maps/all.xml"]
    assert paths(tree, site.base) == ["/p"]


def test_a_known_path_that_redirects_to_another_known_path_is_one(serve):
    """What WordPress does: /sitemap.xml redirects to /wp-sitemap.xml."""
    site = serve(
        {"/sitemap.xml": Answer(redirect="/wp-sitemap.xml"), "/wp-sitemap.xml": urlset("/p")}
    )
    tree = sitemap_tree_for_homepage(site.base + "/")
    assert tops(tree, site) == ["/wp-sitemap.xml"]
    assert paths(tree, site.base) == ["/p"]


def test_a_child_of_robots_txt_and_of_a_known_paths_index_stands_under_both(serve):
    site = serve(
        {
            "/robots.txt": robots("/a.xml"),
            "/a.xml": urlset("/p"),
            "/sitemap.xml": index("/a.xml", "/b.xml"),
            "/b.xml": urlset("/q"),
        }
    )
    tree = sitemap_tree_for_homepage(site.base + "/")
    assert paths(tree, site.base) == ["/p", "/p", "/q"]
    assert site.hits["/a.xml"] == 1


def test_extra_known_paths_are_tried_behind_the_others_in_their_order(serve):
    for extra in cases([["maps/z.xml", "/maps/a.xml"], ("maps/z.xml", "maps/a.xml")]):
        site = serve(
            {"/maps/z.xml": urlset("/z"), "/maps/a.xml": urlset("/a"), "/sitemap.xml": urlset("/p")}
        )
        tree = sitemap_tree_for_homepage(site.base + "/", extra_known_paths=extra)
        assert tops(tree, site) == ["/sitemap.xml", "/maps/z.xml", "/maps/a.xml"]


def test_extra_known_paths_as_a_set_have_a_fixed_order_too(serve):
    site = serve({f"/m/{n}.xml": urlset(f"/{n}") for n in range(5)})
    tree = sitemap_tree_for_homepage(
        site.base + "/", use_known_paths=False, extra_known_paths={f"m/{n}.xml" for n in range(5)}
    )
    assert tops(tree, site) == [f"/m/{n}.xml" for n in range(5)]


def test_programs_that_change_the_set_of_known_paths_are_heard(serve, monkeypatch):
    known = {"maps/own.xml", "sitemap.xml"}
    monkeypatch.setattr(tree_module, "_UNPUBLISHED_SITEMAP_PATHS", known)
    site = serve({"/maps/own.xml": urlset("/own"), "/sitemap_index.xml": urlset("/other")})
    tree = sitemap_tree_for_homepage(site.base + "/")
    assert tops(tree, site) == ["/maps/own.xml"]
    known.add("sitemap_index.xml")
    assert tops(sitemap_tree_for_homepage(site.base + "/"), site) == [
        "/sitemap_index.xml",
        "/maps/own.xml",
    ]


def test_a_known_path_that_stumbles_once_is_asked_again(serve):
    site = serve({"/sitemap.xml": [Answer("", 503), urlset("/p")]})
    tree = sitemap_tree_for_homepage(site.base + "/")
    assert paths(tree, site.base) == ["/p"]


def test_a_known_path_that_fails_and_is_declared_later_is_loaded_as_it_was_crawled(serve, tmp_path):
    """It is requested again; the snapshot has it once in the tree, as the crawl had."""
    busy = [Answer(status=503)] * 2
    late = Answer(index("/sitemap.xml"), delay=0.5)
    site = serve({"/sitemap.xml": [*busy, urlset("/p")], "/sitemap_index.xml": late})
    file = tmp_path / "a.warc.gz"
    tree = sitemap_tree_for_homepage(site.base + "/", record=file)
    assert [page.url for page in tree.all_pages()] == [site.url("/p")]
    loaded = usp.load(file)
    assert [page.url for page in loaded.all_pages()] == [site.url("/p")]
    assert loaded == tree
    tree.save(tmp_path / "b.warc.gz")
    assert usp.load(tmp_path / "b.warc.gz") == tree
