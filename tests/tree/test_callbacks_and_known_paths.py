"""What callbacks exclude is not requested, and a known path that robots.txt declares is not expanded."""

import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cases import cases
from fronts import FRONTS, THREADS, Front
from memory_web import Doc, H, Web
from profiles import examples
from usp.limits import Limits
from website import index, indexed, outline, robots, urlset

KNOWN = ["sitemap.xml", "sitemap_index.xml", "sitemap1.xml"]
CRAWLS = [(front, way) for front in FRONTS for way in (front.tree, front.pages)]
CHILDREN = {f"/c{n}.xml": urlset(f"/p{n}") for n in range(30)}


def crawl(web: Web, front: Front = THREADS, way: Any = THREADS.tree, **options: Any) -> Any:
    """Crawl with one of the entry points; the tree, where it gives one."""
    return way(H + "/", front.client(web), extra_known_paths=KNOWN, **options)


class Asked:
    """Callbacks that note every question and answer it by ``exclude(path, level)``."""

    def __init__(self, exclude: Any) -> None:
        self.exclude = exclude
        self.questions: list[tuple[str, frozenset[str]]] = []
        self.excluded: set[str] = set()

    def _follows(self, url: str, level: int, parents: Any) -> bool:
        path = url.removeprefix(H)
        self.questions.append((path, frozenset(parents)))
        if self.exclude(path, level):
            self.excluded.add(path)
            return False
        return True

    def callback(self, name: str) -> Any:
        """Give the callback of that name."""
        if name == "recurse_list_callback":
            return lambda urls, *where: [url for url in urls if self._follows(url, *where)]
        if name == "recurse_entry_callback":
            return lambda child: self._follows(child.url, child.recursion_level, child.parent_urls)
        return self._follows


CALLBACKS = ["recurse_callback", "recurse_list_callback", "recurse_entry_callback"]

ALL = index(*CHILDREN)
DECLARED = {"/robots.txt": robots("/sitemap.xml"), "/sitemap.xml": ALL}
BESIDE = {"/robots.txt": robots("/i.xml"), "/i.xml": ALL}
LINKED = {"/": '<html><link rel="sitemap" href="/sitemap.xml"></html>'}
SITES = {
    "robots.txt declares it": DECLARED,
    "declared deeper": BESIDE | {"/i.xml": index("/sitemap.xml"), "/sitemap.xml": ALL},
    "redirects to what is declared": BESIDE | {"/sitemap.xml": Doc(moved_to="/i.xml")},
    "what is declared redirects to it": (
        BESIDE | {"/i.xml": Doc(moved_to="/sitemap.xml"), "/sitemap.xml": ALL}
    ),
    "another known path redirects to it": (
        DECLARED | {"/sitemap_index.xml": Doc(moved_to="/sitemap.xml")}
    ),
    "declared with a fragment": DECLARED | {"/robots.txt": robots("/sitemap.xml#top")},
    "linked by the homepage, too": DECLARED | LINKED,
}


def test_children_that_a_callback_excludes_are_not_requested():
    for site, name, (front, way) in cases(itertools.product(SITES, CALLBACKS, CRAWLS)):
        web = Web({**SITES[site], **CHILDREN})
        asked = Asked(lambda path, _: path in CHILDREN)
        crawl(web, front, way, use_html_links=True, **{name: asked.callback(name)})
        assert not CHILDREN.keys() & set(web.asked)
        assert asked.excluded == CHILDREN.keys()
        assert len(asked.questions) == len(set(asked.questions))  # each child was asked about once
        assert sum(path in CHILDREN for path, _ in asked.questions) == len(CHILDREN)


EXCLUDED = {
    "by robots.txt": {"/robots.txt": robots("/sitemap.xml", "/c0.xml")},
    "deeper": {"/robots.txt": robots("/i.xml"), "/i.xml": index("/c0.xml", "/sitemap.xml")},
    "and linked by the homepage": LINKED | {"/robots.txt": robots("/c0.xml", "/sitemap.xml")},
}


def test_a_known_path_that_a_callback_excludes_is_not_requested():
    for declared, name, (front, way) in cases(itertools.product(EXCLUDED, CALLBACKS, CRAWLS)):
        web = Web({**EXCLUDED[declared], "/sitemap.xml": index("/c1.xml"), **CHILDREN})
        asked = Asked(lambda path, _: path == "/sitemap.xml")
        found = crawl(web, front, way, use_html_links=True, **{name: asked.callback(name)})
        assert {"/sitemap.xml", "/c1.xml"}.isdisjoint(web.asked)
        assert "/sitemap_index.xml" in web.asked  # the other known paths are looked at
        pages = found if isinstance(found, list) else found.all_pages()
        assert [page.url for page in pages] == [H + "/p0"]


def test_a_known_path_that_nothing_declares_is_asked_about_at_level_0():
    web = Web(indexed("/c0.xml") | CHILDREN | {"/sitemap.xml": index("/c1.xml")})
    found = crawl(web, recurse_callback=lambda _, level, __: level < 1)
    assert outline(found, H)[2] == [
        ("IndexRobotsTxtSitemap", "/robots.txt", [("IndexXMLSitemap", "/i.xml")]),
        ("IndexXMLSitemap", "/sitemap.xml", [("PagesXMLSitemap", "/c1.xml")]),
    ]


def test_a_known_path_that_is_not_expanded_takes_no_room_in_the_tree():
    """Three sitemaps are declared: a limit of four leaves none of them out."""
    web = Web(indexed("/c0.xml", "/c1.xml") | CHILDREN | {"/sitemap.xml": Doc(moved_to="/i.xml")})
    found = crawl(web, limits=Limits(sitemaps=4))
    assert found.is_complete


NAMES = [f"/{name}" for name in KNOWN] + ["/a.xml", "/b.xml", "/c.xml"]
names = st.sampled_from(NAMES)
links = st.lists(names, max_size=3, unique=True)  # an index
documents = links | st.builds(lambda to: Doc(moved_to=to), names) | st.none()
websites = st.fixed_dictionaries({"/robots.txt": links, **dict.fromkeys(NAMES, documents)})


class Expected:
    """What the rules say about a website: a plain recursion, one request after the other."""

    def __init__(self, site: dict[str, Any], exclude: Any) -> None:
        self.site, self.exclude = site, exclude
        self.requests: set[str] = set()
        self.questions: list[tuple[str, frozenset[str]]] = []
        self.declared: set[str] = set()
        self._expand("/robots.txt", 0, frozenset())
        declared = frozenset(self.declared)
        tops: set[str] = set()
        for path in (f"/{name}" for name in KNOWN):
            if path in declared:
                continue
            self.requests.add(path)
            final = self._after_redirects(path)
            if final is not None and {path, final}.isdisjoint(declared | tops):
                tops |= {path, final}
                self._expand(path, 0, frozenset())

    def _after_redirects(self, path: str) -> str | None:
        for _ in range(10):
            if not isinstance(self.site[path], Doc):
                return path
            path = self.site[path].moved_to
        return None

    def _expand(self, path: str, level: int, parents: frozenset[str]) -> None:
        self.requests.add(path)
        final = self._after_redirects(path)
        self.declared |= {path, final or path}
        if final is None or (final != path and H + final in parents) or not self.site[final]:
            return
        parents |= {H + final}
        self.declared |= set(self.site[final])
        self.questions += [(child, parents) for child in self.site[final]]
        for child in self.site[final]:
            if not self.exclude(child, level) and H + child not in parents:
                self._expand(child, level + 1, parents)


def served(document: Any) -> Any:
    if isinstance(document, Doc):
        return document
    return index(*document) if document else urlset("/p")


@settings(max_examples=examples(60), deadline=None)
@given(websites, st.sets(st.tuples(names, st.integers(0, 2)), max_size=8))
def test_on_any_website_the_rules_say_what_is_requested_and_asked(site, excluded):
    """Whichever entry point and callback it is: the same requests, the same questions in order."""
    expected = Expected(site, lambda path, level: (path, level) in excluded)
    pages = {path: served(document) for path, document in site.items()}
    for (front, way), name in zip(CRAWLS, CALLBACKS * 2, strict=True):
        web = Web({**pages, "/robots.txt": robots(*site["/robots.txt"])})
        asked = Asked(lambda path, level: (path, level) in excluded)
        crawl(web, front, way, **{name: asked.callback(name)})
        assert set(web.asked) == expected.requests
        assert asked.questions == expected.questions
