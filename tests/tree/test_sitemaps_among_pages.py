"""Sitemaps that stand among pages are followed, as pages that stand among sitemaps are kept."""

from cases import cases
from fronts import every_front
from usp.objects.sitemap import IndexXMLSitemap, InvalidSitemap, PagesXMLSitemap
from usp.tree import sitemap_from_str, sitemap_tree_for_homepage
from website import index, robots, urlset

CHILD = "<sitemap><loc>{base}/child.xml</loc></sitemap>"
MIXED = {
    "inside": urlset("/a", "/b", CHILD),
    "first": urlset(CHILD, "/a", "/b"),
    "without a loc": urlset("/a", "/b", "<sitemap>{base}/child.xml</sitemap>"),
    "with attributes": urlset("/a", "/b", CHILD.replace("<sitemap>", "<sitemap id='1'>")),
    "an index after the urlset": urlset("/a", "/b") + "\n" + index("/child.xml"),
    "far behind": urlset("/a", "/b", f"<!--{'x' * 100_000}-->{CHILD}"),
}


def mixed_site(serve, body):
    answers = {"/robots.txt": robots("/sitemap.xml"), "/child.xml": urlset("/c")}
    return serve(answers | {"/sitemap.xml": body})


@every_front
def test_sitemaps_in_a_urlset_are_followed_and_its_pages_are_kept(serve, front):
    for body in cases(MIXED.values()):
        site = mixed_site(serve, body)
        tree = front.tree(site.base + "/")
        (node,) = [n for n in tree.all_sitemaps() if isinstance(n, IndexXMLSitemap)]
        assert node.url == site.url("/sitemap.xml")
        assert sorted(child.url for child in node.sub_sitemaps) == [
            site.url("/child.xml"),
            site.url("/sitemap.xml"),  # its own pages
        ]
        assert any("sitemaps in a urlset" in str(problem) for problem in node.problems)
        assert site.hits["/child.xml"] == 1
        assert node.failure is None
        expected = [site.url(path) for path in ("/a", "/b", "/c")]
        assert sorted(page.url for page in tree.all_pages()) == expected
        assert sorted(page.url for page in front.pages(site.base + "/")) == expected


def test_sitemaps_in_a_comment_of_a_urlset_are_not_followed(serve):
    site = mixed_site(serve, urlset("/a", f"<!-- {CHILD} -->"))
    tree = sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
    assert [page.url for page in tree.all_pages()] == [site.url("/a")]
    assert site.hits["/child.xml"] == 0


def test_a_urlset_with_sitemaps_at_hand_is_an_index():
    child = "<sitemap><loc>https://e.org/s.xml</loc></sitemap>"
    tree = sitemap_from_str(urlset("https://e.org/1", child))
    assert isinstance(tree, IndexXMLSitemap)
    assert [type(child) for child in tree.sub_sitemaps] == [PagesXMLSitemap, InvalidSitemap]
    assert [page.url for page in tree.all_pages()] == ["https://e.org/1"]
