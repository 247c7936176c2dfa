"""What an address means: a website, or a sitemap, by its looks or by what it answers."""

import pytest

from cases import cases
from usp._base.urls import looks_like_sitemap
from usp.cli.options import input_type
from website import atom, index, rss, urlset

WEBSITES = {
    "example.org": "https://example.org/",
    "Example.org/shop/": "https://Example.org/shop/",
    " example.org:8080/a?b=c ": "https://example.org:8080/a?b=c",
    "localhost": "https://localhost/",
    "[::1]:8000": "https://[::1]:8000/",
    "localhost:8000": "https://localhost:8000/",
    "http://intranet": "http://intranet/",
    "HTTP://example.org": "http://example.org/",
    "http://[::1]:80/": "http://[::1]:80/",
    "bücher.example": "https://bücher.example/",
}
SITEMAPS = [
    *("/sitemap.xml", "/a/b/posts.xml.gz", "/urls.txt", "/robots.txt", "/blog/feed.rss"),
    *("/feed.ATOM", "/sitemap", "/sitemap_index.php?page=2", "/products.xml?from=1&to=9"),
    *("/?sitemap=index", "/index.php?sitemap"),
]
OTHERS = [
    *("", "/", "/index.html", "/shop/", "/sitemap/", "/sitemap.html", "/sitemaps/index.htm"),
    *("/about-us", "/?q=sitemap", "/xml"),
]


def test_websites_are_completed_and_sitemaps_feeds_and_robots_told_by_their_looks():
    for written, url in cases(WEBSITES.items()):
        assert input_type(written).url == url
        assert not input_type(written).is_sitemap
    for path in cases(SITEMAPS):
        assert looks_like_sitemap(f"https://example.org{path}")
        assert input_type(f"example.org{path}").is_sitemap
    for path in cases(OTHERS):
        assert not looks_like_sitemap(f"https://sitemap.example.org{path}")


@pytest.fixture
def site(serve):
    return serve(
        {
            "/robots.txt": "Sitemap: {site}/main.xml",
            "/main.xml": urlset("/page"),
            "/feed/": rss("/story"),
            "/?feed=atom": atom("/story"),
            "/all": index("/main.xml"),
            "/shop/": "<!doctype html><html><body>a shop</body></html>",
            "/notes": "some words\n{site}/not-listed\n",
            "/empty": "",
        }
    )


def test_a_feed_is_listed_alone_and_an_index_is_followed(run, site):
    for path in ["/feed/", "/?feed=atom"]:
        assert run("ls", site + path, "-f", "pages").lines == [f"{site}/story"]
        assert run("ls", site + path).lines[0] == site + path
        assert "1 page" in run("tree", site + path).out
    listed = [f"{site}/all", f"\t{site}/main.xml", f"\t\t{site}/page"]
    assert run("ls", f"{site}/all").lines == listed


def test_anything_else_stands_for_its_website(run, site):
    for path in ["/shop/", "/notes", "/empty", "/missing", "/shop/index.html"]:
        for options in [["-f", "pages"], []]:
            ended = run("ls", site + path, *options).ends(
                0, f"is not a sitemap; its website {site}/ was read instead"
            )
            assert ended.lines == run("ls", site, *options).lines
            assert ended.lines[-1].strip() == f"{site}/page"


def test_what_is_recognised_is_asked_for_once(run, serve):
    site = serve({"/feed/": rss("/story")})
    run("ls", f"{site}/feed/", "-f", "pages")
    run("ls", f"{site}/feed/")
    assert len(site.web.requests) == 2
