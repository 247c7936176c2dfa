"""Callbacks: what they are told, in which order, in which thread, and what they decide."""

import threading
from datetime import datetime

import pytest

from usp.objects.child import ChildSitemap
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from website import Answer, index, outline, paths, robots, urlset


class Diary:
    """Notes every call of the two callbacks."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.calls: list[tuple] = []
        self.threads: set[int] = set()

    def _note(self, what, urls, level, parents) -> None:
        assert isinstance(parents, set)
        self.threads.add(threading.get_ident())
        short = {parent.removeprefix(self.base) for parent in parents}
        self.calls.append((what, urls, level, short))

    def pick(self, urls, level, parents):
        assert isinstance(urls, list)
        self._note("list", [url.removeprefix(self.base) for url in urls], level, parents)
        return urls

    def follow(self, url, level, parents):
        self._note("one", url.removeprefix(self.base), level, parents)
        return True


SITE = {
    "/robots.txt": robots("/i.xml", "/j.xml"),
    "/i.xml": Answer(index("/a.xml", "/k.xml", "/b.xml"), delay=0.1),
    "/k.xml": index("/c.xml"),
    "/j.xml": index("/a.xml"),
    "/sitemap.xml": index("/b.xml", "/b.xml", "/c.xml"),
    **{f"/{name}.xml": urlset(f"/{name}") for name in "abc"},
}


def test_each_index_is_told_as_a_list_and_then_child_by_child_in_order_of_declaration(serve):
    """The first index answers last; still its children are decided about first."""
    names = ["i", "j", "k"]
    tops = [f"/{name}.xml" for name in names]
    site = serve({"/robots.txt": robots(*tops)})
    for at, name in enumerate(names):
        children = index(f"/{name}1.xml", f"/{name}2.xml", f"/{name}1.xml")
        site.answers[f"/{name}.xml"] = Answer(children, delay=0.2 - at / 10)
    diary = Diary(site.base)
    start = {"homepage_url": site.base + "/", "use_known_paths": False}
    tree = sitemap_tree_for_homepage(
        **start, recurse_callback=diary.follow, recurse_list_callback=diary.pick
    )
    above = {"/robots.txt"}
    expected = [("list", tops, 0, above), *(("one", top, 0, above) for top in tops)]
    for name, top in zip(names, tops, strict=True):
        children = [f"/{name}1.xml", f"/{name}2.xml"]
        expected.append(("list", children, 1, above | {top}))
        expected += [("one", child, 1, above | {top}) for child in children]
    assert diary.calls == expected
    assert diary.threads == {threading.get_ident()}
    assert tree == sitemap_tree_for_homepage(**start)


@pytest.mark.parametrize("returned", [None, True, "https://example.org/a.xml"])
def test_a_list_callback_that_returns_no_list_is_told(serve, returned):
    site = serve({"/j.xml": index("/a.xml")})
    with pytest.raises(TypeError, match="must return the URLs to follow"):
        sitemap_tree_for_sitemap(site.url("/j.xml"), recurse_list_callback=lambda *_: returned)


def test_the_list_callback_may_name_a_sitemap_of_its_own(serve):
    site = serve(SITE)
    tree = sitemap_tree_for_sitemap(
        site.url("/j.xml"), recurse_list_callback=lambda urls, *_: [*urls, site.url("/c.xml")]
    )
    assert paths(tree, site.base) == ["/a", "/c"]


def test_a_callback_that_changes_its_arguments_changes_nothing_else(serve):
    site = serve(SITE)

    def spoil(urls, level, parents):
        kept = list(urls)
        urls.clear()
        parents.clear()
        return kept

    tree = sitemap_tree_for_sitemap(site.url("/i.xml"), recurse_list_callback=spoil)
    assert tree == sitemap_tree_for_sitemap(site.url("/i.xml"))


def test_the_entry_callback_sees_what_the_index_says(serve):
    dated = "<sitemap><loc>{base}/a.xml</loc><lastmod>2024-01-02</lastmod></sitemap>"
    site = serve(
        {"/i.xml": index("/j.xml"), "/j.xml": index(dated, "/b.xml"), "/b.xml": urlset("/b")}
    )
    seen = []

    def newer(child: ChildSitemap) -> bool:
        seen.append(child)
        return child.last_modified is None

    tree = sitemap_tree_for_sitemap(site.url("/i.xml"), recurse_entry_callback=newer)
    i, j, a, b = (site.url(f"/{name}.xml") for name in "ijab")
    assert seen == [
        ChildSitemap(j, None, 0, frozenset({i})),
        ChildSitemap(a, datetime(2024, 1, 2), 1, frozenset({i, j})),  # noqa: DTZ001
        ChildSitemap(b, None, 1, frozenset({i, j})),
    ]
    assert paths(tree, site.base) == ["/b"]
    assert not site.hits["/a.xml"]


def test_all_three_callbacks_must_agree_and_are_asked_about_what_the_one_before_has_left(serve):
    site = serve(SITE)
    asked = []
    tree = sitemap_tree_for_sitemap(
        site.url("/i.xml"),
        recurse_list_callback=lambda urls, level, _: urls if level else urls[:2],
        recurse_callback=lambda url, *_: asked.append(url) or not url.endswith("/a.xml"),
        recurse_entry_callback=lambda child: not child.url.endswith("/c.xml"),
    )
    assert outline(tree, site.base)[2] == [("IndexXMLSitemap", "/k.xml")]
    assert asked == [site.url(path) for path in ("/a.xml", "/k.xml", "/c.xml")]


def test_the_links_of_a_homepage_are_no_index_to_decide_about(serve):
    site = serve({"/": '<link rel="sitemap" href="/i.xml">', **SITE})
    diary = Diary(site.base)
    sitemap_tree_for_homepage(
        site.base + "/",
        use_robots=False,
        use_known_paths=False,
        use_html_links=True,
        recurse_list_callback=diary.pick,
    )
    assert [(level, urls) for _, urls, level, _ in diary.calls] == [
        (0, ["/a.xml", "/k.xml", "/b.xml"]),
        (1, ["/c.xml"]),
    ]
