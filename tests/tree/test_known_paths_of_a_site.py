"""The homepage, what is looked for below it, and the known paths, in a fixed order."""

import logging

import usp
from cases import cases
from usp import tree as tree_module
from usp._crawl.website import KNOWN_SITEMAP_PATHS, in_order
from usp.tree import sitemap_tree_for_homepage
from website import Answer, index, paths, robots, urlset

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
    assert in_order((), ("b", "a")) == ["b", "a"]


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


def test_a_known_path_that_is_declared_later_and_fails_again_is_missing_once(serve, tmp_path):
    late = Answer(index("/sitemap.xml"), delay=0.5)
    busy, gone = [Answer(status=503)] * 2, Answer(status=501)
    site = serve({"/sitemap.xml": [*busy, gone], "/sitemap_index.xml": late})
    file = tmp_path / "a.warc.gz"
    tree = sitemap_tree_for_homepage(site.base + "/", record=file)
    assert [(failure.url, failure.status) for failure in tree.failures()] == [
        (site.url("/sitemap.xml"), 501)
    ]
    assert usp.load(file).failures() == tree.failures()


def test_normalizing_cuts_the_url_back_to_its_host_and_says_so_if_that_changes_it(serve, caplog):
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/p")})
    for given, levels in cases([("/shop/index.html?x=1#top", ["WARNING"]), ("/", [])]):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "usp.tree"):
            tree = sitemap_tree_for_homepage(site.base + given)
        assert tree.url == site.base + "/"
        assert paths(tree, site.base) == ["/p"]
        told = [record.levelname for record in caplog.records if record.name == "usp.tree"]
        assert told == levels


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
