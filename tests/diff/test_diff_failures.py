"""A failed sitemap removes nothing: its pages are unknown, whatever it was that failed."""

import gzip

import usp
from memory_web import Client, Doc, Web
from usp.changes import ChangeKind, PageChange, SitemapChange
from usp.limits import Limits
from website import index, robots, urlset

H = "http://h"
SITE = {
    "/robots.txt": robots("/index.xml"),
    "/index.xml": index("/a.xml", "/below.xml"),
    "/below.xml": index("/b.xml"),
    "/a.xml": urlset("/1", "/2"),
    "/b.xml": urlset("/2", "/3"),
    "/sitemap.xml": urlset("/4"),
}
PAGES = {"/1", "/2", "/3", "/4"}


def crawled(changes=(), **options):
    docs = {**SITE, **dict(changes)}
    docs = {path: doc for path, doc in docs.items() if doc is not None}
    return usp.sitemap_tree_for_homepage(f"{H}/", Client(Web(docs)), **options)


def changes(before, after, what) -> set[tuple[str, str]]:
    found = (change for change in usp.diff(before, after) if isinstance(change, what))
    return {(change.kind.value, change.url.removeprefix(H)) for change in found}


def by_kind(before, after) -> dict[str, set[str]]:
    pages = changes(before, after, PageChange)
    return {kind: {url for one, url in pages if one == kind} for kind, _ in pages}


def sitemaps(before, after) -> set[tuple[str, str]]:
    return changes(before, after, SitemapChange)


def truncated(text: str) -> bytes:
    return gzip.compress(text.replace("{base}", H).encode())[:-12]


FAILURES = {
    "a sitemap": ({"/b.xml": Doc(status=503)}, {"/3"}),
    "a sitemap that is not one any more": ({"/b.xml": "<html>sorry</html>"}, {"/3"}),
    "an index": ({"/below.xml": Doc(status=500)}, {"/3"}),
    "the first index": ({"/index.xml": Doc(status=500)}, {"/1", "/2", "/3"}),
    "robots.txt": ({"/robots.txt": Doc(status=503)}, {"/1", "/2", "/3"}),
    "a known path": ({"/sitemap.xml": Doc(status=500)}, {"/4"}),
    "a list that is an index of what failed": (
        {"/b.xml": index("/c.xml"), "/c.xml": Doc(status=503)},
        {"/3"},
    ),
    "a body that broke off": ({"/b.xml": Doc(urlset("/2"), broken=True)}, {"/3"}),
    "a body that was cut off": ({"/b.xml": urlset("/2", "/3")[:-60]}, {"/3"}),
    "a damaged gzip": ({"/b.xml": truncated(urlset("/2", "/3"))}, {"/3"}),
}


LEFT_OUT = [
    {"limits": Limits(sitemaps=3)}, {"limits": Limits(pages=1)}, {"limits": Limits(depth=1)},
    {"recurse_callback": lambda url, *_: "below" not in url},
    {"exclude_sitemaps": ["*/below*"]}, {"exclude_sitemaps": ["*/b.xml"]},
]  # fmt: skip


def absent(tree) -> set[str]:
    return PAGES - {page.url.removeprefix(H) for page in tree.all_pages()}


def test_what_failed_removes_nothing_and_its_recovery_adds_nothing():
    before = crawled()
    for failure, (changes, lost) in FAILURES.items():
        after = crawled(changes)
        found, back = by_kind(before, after), by_kind(after, before)
        assert found.keys() <= {"unknown", "moved"}, failure
        assert not back.keys() & {"added", "removed"}, failure
        unknown = found.get("unknown", set())
        assert unknown == back.get("unknown", set()) == absent(after) <= lost, failure


def test_limits_callbacks_and_skips_remove_nothing():
    for options in LEFT_OUT:
        before, after = crawled(), crawled(**options)
        found = by_kind(before, after)
        assert found["unknown"] == absent(after), options
        assert not found.keys() & {"removed", "added"}, options


def test_a_page_is_removed_if_all_its_sitemaps_were_read_or_are_gone_from_a_complete_index():
    assert by_kind(crawled(), crawled({"/b.xml": urlset("/2")})) == {"removed": {"/3"}}
    after = crawled({"/below.xml": index()})
    assert by_kind(crawled(), after) == {"removed": {"/3"}, "moved": {"/2"}}
    assert sitemaps(crawled(), after) == {("removed", "/b.xml")}
    gone = crawled({"/index.xml": index("/a.xml")})
    assert sitemaps(crawled(), gone) == {("removed", "/b.xml"), ("removed", "/below.xml")}


def test_a_page_is_unknown_if_one_of_its_sitemaps_failed_or_a_new_one():
    """Sitemaps are renamed all the time; the index says nothing about what is in which."""
    after = crawled({"/a.xml": urlset("/1"), "/b.xml": Doc(status=503)})
    assert by_kind(crawled(), after) == {"unknown": {"/2", "/3"}}
    after = crawled({"/below.xml": index("/renamed.xml"), "/renamed.xml": Doc(status=503)})
    assert by_kind(crawled(), after) == {"unknown": {"/3"}}
    assert sitemaps(crawled(), after) == {("removed", "/b.xml"), ("failed", "/renamed.xml")}


def test_sitemaps_fail_and_recover():
    good, bad = crawled(), crawled({"/b.xml": Doc(status=503)})
    assert sitemaps(good, bad) == {("failed", "/b.xml")}
    assert sitemaps(bad, good) == {("recovered", "/b.xml")}
    assert sitemaps(bad, bad) == set()
    (failed,) = [c for c in usp.diff(good, bad) if c.kind is ChangeKind.FAILED]
    assert "503" in failed.reason
    assert failed.code is not None


def test_new_sitemaps_are_added_and_their_pages():
    after = crawled({"/below.xml": index("/b.xml", "/c.xml"), "/c.xml": urlset("/9")})
    assert sitemaps(crawled(), after) == {("added", "/c.xml")}
    assert by_kind(crawled(), after) == {"added": {"/9"}}


PAGE = "<!doctype html><html>We are back soon</html>"


def test_a_page_instead_of_what_was_there_removes_nothing():
    for path in ("/robots.txt", "/sitemap.xml"):
        before, after = crawled(), crawled({path: PAGE})
        assert by_kind(before, after).keys() == {"unknown"}
        assert "removed" not in {kind for kind, _ in sitemaps(before, after)}
        assert by_kind(after, before).keys() == {"added"}  # it had none, as far as was told


def test_a_crawl_that_leaves_robots_txt_alone_removes_nothing():
    before, after = crawled(), crawled(use_robots=False)
    assert by_kind(before, after) == {"unknown": {"/1", "/2", "/3"}}
    assert ("removed", "/robots.txt") not in sitemaps(before, after)


def test_the_children_of_an_index_that_was_replaced_by_a_broken_one_are_unknown():
    other = {"/robots.txt": robots("/new.xml"), "/new.xml": index("/a.xml", "/below.xml")[:-60]}
    found = sitemaps(crawled(), crawled(other))
    assert {("removed", "/index.xml"), ("unknown", "/b.xml"), ("failed", "/new.xml")} <= found
    assert ("removed", "/b.xml") not in found
