"""What the tests of snapshots share: websites that change, and what it means that two trees are equal."""

import gzip
import zlib
from pathlib import Path
from typing import Any

from usp.objects.sitemap import AbstractSitemap
from website import Answer, dated, index, robots, urlset

DAMAGED = urlset(
    "/d/1", "<url><loc>{base}/d/2</loc><priority>high</priority></url>", "<url>x</url>"
)


def mixed() -> dict[str, Any]:
    """Return a website with everything that a tree can show."""
    return {
        "/robots.txt": robots("/index.xml", "/moved.xml", "/gone.xml", "/page.html"),
        "/index.xml": index(
            dated("/a.xml", "2024-01-01", "sitemap"),
            *("/b.xml", "/damaged.xml", "/cut.xml", "/error.xml", "/lost.xml", "/index.xml"),
        ),
        "/a.xml": urlset("/a/1", "/a/2"),
        "/b.xml": Answer(
            gzip.compress(urlset("http://h/b/1").encode(), mtime=0),
            headers={"Content-Encoding": "gzip", "Set-Cookie": "session=hidden"},
        ),
        "/damaged.xml": DAMAGED,
        "/cut.xml": Answer(urlset("/c/1", "/c/2", "/c/3"), cut=150),
        "/error.xml": Answer("down", 503),
        "/lost.xml": Answer(hang_up=True),
        "/moved.xml": Answer(redirect="{alt}/hop.xml", status=301),
        "alt:/hop.xml": Answer(redirect="{base}/there.xml", status=302),
        "/there.xml": Answer(urlset("/t/1"), chunked=True),
        "/page.html": Answer("<html>no sitemap</html>", headers={"Content-Type": "text/html"}),
        "/sitemap.txt": "{base}/text/1\n{base}/text/2\n",
    }


def assert_same(one: AbstractSitemap, other: AbstractSitemap) -> None:
    """Assert that two trees are equal in everything that they say."""
    assert one == other
    for a, b in zip([one, *one.all_sitemaps()], [other, *other.all_sitemaps()], strict=True):
        assert type(a) is type(b)
        assert (a.url, a.size, a.status) == (b.url, b.size, b.status)
        assert a.last_modified == b.last_modified
        assert a.exchange == b.exchange
        assert a.problems == b.problems
        assert a.failure == b.failure
        assert getattr(a.failure, "brief", None) == getattr(b.failure, "brief", None)
        assert [page.to_dict() for page in a.pages] == [page.to_dict() for page in b.pages]
    assert one.failures() == other.failures()
    assert getattr(one, "tried", ()) == getattr(other, "tried", ())
    assert getattr(one, "not_found", ()) == getattr(other, "not_found", ())


def urls(tree: AbstractSitemap) -> list[str]:
    return [page.url for page in tree.all_pages()]


def sorted_urls(tree: AbstractSitemap) -> list[str]:
    return sorted(urls(tree))


def codes(tree: AbstractSitemap) -> list[str]:
    return [failure.code for failure in tree.failures()]


def members_of(path: Path) -> list[bytes]:
    """Return what the gzip members of a file have in them."""
    data, members = path.read_bytes(), []
    while data:
        inflate = zlib.decompressobj(31)
        members.append(inflate.decompress(data))
        data = inflate.unused_data
    return members
