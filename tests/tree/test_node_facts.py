"""What a fetched node knows beside its content: dates, problems, counts, reasons."""

import itertools
from datetime import UTC, datetime

from usp.objects.sitemap import InvalidSitemap
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from website import Answer, index, robots, urlset


def test_last_modified_is_what_the_declaring_index_said(serve):
    """A document that two indexes date differently has each one's date."""
    dated = "<sitemap><loc>{{base}}/{}.xml</loc><lastmod>{}</lastmod></sitemap>"
    dates = {"a": "2024-02-03T04:05:06Z", "b": "2024-02-03", "c": "yesterday", "gone": "2023"}
    site = serve(
        {
            "/robots.txt": robots("/i.xml", "/j.xml"),
            "/i.xml": index(*itertools.starmap(dated.format, dates.items()), "/d.xml"),
            "/j.xml": index(dated.format("a", "2022")),
            **{f"/{name}.xml": urlset("/p") for name in "abd"},
            "/c.xml": index(),
        }
    )
    tree = sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
    first, second = tree.sub_sitemaps[0].sub_sitemaps
    assert first != second
    assert [node.last_modified for node in (*first.sub_sitemaps, *second.sub_sitemaps)] == [
        datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC),
        datetime(2024, 2, 3),  # noqa: DTZ001 - the text had no offset
        None,
        datetime(2023, 1, 1),  # noqa: DTZ001
        None,
        datetime(2022, 1, 1),  # noqa: DTZ001
    ]
    assert first.last_modified is None


def test_pages_can_be_read_again_and_by_two_readers_at_once(serve):
    site = serve({"/a.xml": urlset(*(f"/{n}" for n in range(500)))})
    node = sitemap_tree_for_sitemap(site.url("/a.xml"))
    first, second = node.all_pages(), node.all_pages()
    assert [(a.url, b.url) for a, b in zip(first, second, strict=True)] == [
        (page.url, page.url) for page in node.pages
    ]
    assert site.hits["/a.xml"] == 1


def test_the_log_has_one_info_line_a_sitemap_and_expected_404s_are_debug(serve, caplog):
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/p")})
    with caplog.at_level("DEBUG", "usp"):
        sitemap_tree_for_homepage(site.base + "/")
    lines = [record for record in caplog.records if record.name.startswith("usp")]
    for path in ("/robots.txt", "/a.xml"):
        told = [r for r in lines if r.levelname == "INFO" and site.url(path) in r.getMessage()]
        assert len(told) == 1
    assert {record.levelname for record in lines} == {"INFO", "DEBUG"}


def test_what_is_no_sitemap_is_not_received_to_the_end(serve):
    endless = b"<p>more and more</p>" * 100
    site = serve({"/a.xml": Answer("<!doctype html><html><body>", endless=endless)})
    node = sitemap_tree_for_sitemap(site.url("/a.xml"))
    assert isinstance(node, InvalidSitemap)
