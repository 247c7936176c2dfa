import pytest
import rich_click as click

from usp._base.sitemap_urls import looks_like_sitemap
from usp.cli.crawling import address


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("example.org", "https://example.org/"),
        ("Example.org/shop/", "https://Example.org/shop/"),
        (" example.org:8080/a?b=c ", "https://example.org:8080/a?b=c"),
        ("localhost", "https://localhost/"),
        ("localhost:8000", "https://localhost:8000/"),
        ("http://intranet", "http://intranet/"),
        ("HTTP://example.org", "http://example.org/"),
        ("http://[::1]:80/", "http://[::1]:80/"),
        ("bücher.example", "https://bücher.example/"),
    ],
)
def test_a_website_is_completed(written, url):
    assert address(written).url == url
    assert not address(written).is_sitemap


@pytest.mark.parametrize(
    "written",
    [
        "",
        " ",
        "word",
        "sitemap.xml",
        "sitemap.xml.gz",
        "./sitemap.xml",
        "http://",
        "http:///path",
        "ftp://example.org/",
        "file:///etc/passwd",
        "http://example.org:99999/",
        "http://[::1/",
        "http://exa mple.org/",
        "mailto:somebody@example.org:x",
    ],
)
def test_what_is_no_web_address_is_refused_with_an_example(written, run):
    with pytest.raises(click.UsageError):
        address(written)
    ended = run("ls", written)
    assert (ended.status, ended.out) == (2, "")
    assert "https://example.org" in ended.err
    assert len(ended.err.splitlines()) == 2


@pytest.mark.parametrize(
    "path",
    [
        "/sitemap.xml",
        "/a/b/posts.xml.gz",
        "/urls.txt",
        "/robots.txt",
        "/blog/feed.rss",
        "/feed.ATOM",
        "/sitemap",
        "/sitemap_index.php?page=2",
        "/products.xml?from=1&to=9",
        "/?sitemap=index",
        "/index.php?sitemap",
    ],
)
def test_sitemaps_feeds_and_robots_are_sitemaps(path):
    assert looks_like_sitemap(f"https://example.org{path}")
    assert address(f"example.org{path}").is_sitemap


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/index.html",
        "/shop/",
        "/sitemap/",
        "/sitemap.html",
        "/sitemaps/index.htm",
        "/about-us",
        "/?q=sitemap",
        "/xml",
    ],
)
def test_homepages_folders_and_pages_are_websites(path):
    assert not looks_like_sitemap(f"https://sitemap.example.org{path}")
