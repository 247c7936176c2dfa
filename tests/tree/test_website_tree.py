"""The tree of a website: robots.txt first, then what the known paths hold, in order of declaration."""

from __future__ import annotations

from cases import cases
from usp.objects.page import SitemapPage
from usp.objects.sitemap import (
    IndexRobotsTxtSitemap,
    IndexWebsiteSitemap,
    IndexXMLSitemap,
    PagesXMLSitemap,
)
from usp.tree import sitemap_tree_for_homepage
from website import Answer, index, outline, paths, robots, rss, urlset


def test_a_single_sitemap_at_a_known_path_stands_below_the_website(serve):
    """The first example of the sitemap tree guide."""
    site = serve({"/sitemap.xml": urlset("/p")})
    tree = sitemap_tree_for_homepage(site.base + "/")
    page = SitemapPage(site.url("/p"))
    assert tree == IndexWebsiteSitemap(
        site.url("/"), [PagesXMLSitemap(site.url("/sitemap.xml"), [page])]
    )


def test_a_sitemap_that_robots_txt_declares_stands_below_robots_txt(serve):
    """The second example: a known path that robots.txt declares is not listed again."""
    site = serve({"/robots.txt": robots("/sitemap.xml"), "/sitemap.xml": urlset("/p")})
    tree = sitemap_tree_for_homepage(site.base + "/")
    sitemap = PagesXMLSitemap(site.url("/sitemap.xml"), [SitemapPage(site.url("/p"))])
    robots_txt = IndexRobotsTxtSitemap(site.url("/robots.txt"), [sitemap])
    assert tree == IndexWebsiteSitemap(site.url("/"), [robots_txt])
    assert site.hits["/sitemap.xml"] == 1


def test_known_paths_stand_beside_robots_txt(serve):
    """The third example: robots.txt, and an index of news at a known path."""
    news = [f"/sitemap_news_{n}.xml" for n in (1, 2, 3)]
    site = serve(
        {
            "/robots.txt": robots("/sitemap.xml"),
            "/sitemap.xml": urlset("/p"),
            "/sitemap_news.xml": index(*news),
            **{path: urlset(f"{path}/story") for path in news},
        }
    )
    tree = sitemap_tree_for_homepage(site.base + "/")

    def pages(path: str, page: str) -> PagesXMLSitemap:
        return PagesXMLSitemap(site.url(path), [SitemapPage(site.url(page))])

    assert tree == IndexWebsiteSitemap(
        site.url("/"),
        [
            IndexRobotsTxtSitemap(site.url("/robots.txt"), [pages("/sitemap.xml", "/p")]),
            IndexXMLSitemap(
                site.url("/sitemap_news.xml"), [pages(path, f"{path}/story") for path in news]
            ),
        ],
    )


def test_order_is_the_order_of_declaration_not_of_arrival(serve):
    """The first child answers last, the last one first."""
    names = ["d", "a", "c", "b"]
    site = serve(
        {
            "/robots.txt": robots("/slow.xml", "/i.xml"),
            "/slow.xml": Answer(urlset("/slow"), delay=0.3),
            "/i.xml": index(*(f"/{name}.xml" for name in names)),
            **{
                f"/{name}.xml": Answer(urlset(f"/{name}"), delay=0.2 - at * 0.05)
                for at, name in enumerate(names)
            },
        }
    )
    tree = sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
    assert paths(tree, site.base) == ["/slow", "/d", "/a", "/c", "/b"]
    assert [node.url.removeprefix(site.base) for node in tree.all_sitemaps()] == [
        "/robots.txt", "/slow.xml", "/i.xml", "/d.xml", "/a.xml", "/c.xml", "/b.xml",
    ]  # fmt: skip


def test_robots_txt_without_sitemaps_is_kept(serve):
    site = serve({"/robots.txt": "User-agent: *\nDisallow:\n", "/sitemap.xml": urlset("/p")})
    tree = sitemap_tree_for_homepage(site.base + "/")
    assert [type(node) for node in tree.sub_sitemaps] == [IndexRobotsTxtSitemap, PagesXMLSitemap]


def test_an_invalid_robots_txt_is_dropped_and_known_paths_still_count(serve):
    for answer in cases(
        [
            Answer("", 404),
            Answer("", 403),
            Answer("<!doctype html><html><body>Sitemap: {base}/a.xml</body></html>"),
            Answer(redirect="/robots.txt"),
            Answer(redirect="http://[broken/robots.txt"),
            Answer(redirect="http://127.0.0.1:9/robots.txt"),
            Answer(hang_up=True),
        ]
    ):
        site = serve({"/robots.txt": answer, "/a.xml": urlset("/a"), "/sitemap.xml": urlset("/p")})
        tree = sitemap_tree_for_homepage(site.base + "/")
        assert outline(tree, site.base) == (
            "IndexWebsiteSitemap",
            "/",
            [("PagesXMLSitemap", "/sitemap.xml")],
        )


def test_a_robots_txt_that_redirects_stays_a_robots_txt_under_its_last_address(serve):
    site = serve(
        {
            "/robots.txt": Answer(redirect="{alt}/static/crawlers"),
            "alt:/static/crawlers": robots("/a.xml"),
            "/a.xml": urlset("/a"),
        }
    )
    tree = sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
    (robots_txt,) = tree.sub_sitemaps
    assert isinstance(robots_txt, IndexRobotsTxtSitemap)
    assert robots_txt.url == site.alt + "/static/crawlers"
    assert paths(tree, site.base) == ["/a"]


def test_relative_sitemap_lines_are_resolved_against_robots_txt(serve):
    site = serve({"/robots.txt": "Sitemap: /a.xml\nSitemap: b.xml\n", "/a.xml": urlset("/a")})
    tree = sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
    assert outline(tree.sub_sitemaps[0], site.base)[2] == [
        ("PagesXMLSitemap", "/a.xml"),
        ("InvalidSitemap", "/b.xml"),
    ]


def test_use_robots_false_asks_for_no_robots_txt(serve):
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/a")})
    tree = sitemap_tree_for_homepage(site.base + "/", use_robots=False)
    assert tree == IndexWebsiteSitemap(site.url("/"), [])
    assert not site.hits["/robots.txt"]
    assert not site.hits["/a.xml"]


def test_without_robots_and_known_paths_nothing_is_asked(serve):
    site = serve({"/sitemap.xml": urlset("/p")})
    tree = sitemap_tree_for_homepage(site.base + "/", use_robots=False, use_known_paths=False)
    assert tree == IndexWebsiteSitemap(site.url("/"), [])
    assert not site.requests


def test_a_site_without_anything_is_an_empty_tree_and_each_place_is_asked_once(serve):
    site = serve({})
    tree = sitemap_tree_for_homepage(site.base + "/")
    assert tree == IndexWebsiteSitemap(site.url("/"), [])
    assert set(site.hits.values()) == {1}
    assert {request.method for request in site.requests} == {"GET"}


def test_duplicates_inside_one_sitemap_are_dropped_and_across_sitemaps_kept(serve):
    site = serve(
        {
            "/robots.txt": robots("/a.xml", "/b.xml", "/a.xml"),
            "/a.xml": urlset("/1", "/2", "/1"),
            "/b.xml": urlset("/2"),
        }
    )
    tree = sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
    assert paths(tree, site.base) == ["/1", "/2", "/2"]
    assert len(tree.sub_sitemaps[0].sub_sitemaps) == 2


def test_every_kind_of_sitemap_may_stand_below_every_index(serve):
    site = serve(
        {
            "/robots.txt": robots("/list.txt", "/feed", "/i.xml"),
            "/list.txt": "{base}/t1\n{base}/t2\n",
            "/feed": rss("/r1"),
            "/i.xml": index("/list.txt", "/feed"),
        }
    )
    tree = sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
    feeds = [("PagesTextSitemap", "/list.txt"), ("PagesRSSSitemap", "/feed")]
    assert outline(tree.sub_sitemaps[0], site.base)[2] == [
        *feeds,
        ("IndexXMLSitemap", "/i.xml", feeds),
    ]
    assert paths(tree, site.base) == ["/t1", "/t2", "/r1"] * 2
    assert site.hits["/feed"] == 1
