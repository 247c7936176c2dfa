"""A change prints itself as ``usp diff`` shows it."""

from __future__ import annotations

from datetime import UTC, datetime

from usp.changes import ChangeKind, SitemapChange, diff
from usp.objects.page import SitemapPage
from usp.objects.sitemap import IndexWebsiteSitemap, PagesXMLSitemap


def website(*pages: SitemapPage) -> IndexWebsiteSitemap:
    return IndexWebsiteSitemap("http://h/", [PagesXMLSitemap("http://h/s.xml", list(pages))])


def test_a_change_is_printed_as_one_line():
    old = website(
        SitemapPage("http://h/menu", last_modified=datetime(2025, 1, 1, tzinfo=UTC)),
        SitemapPage("http://h/jobs"),
    )
    new = website(
        SitemapPage("http://h/menu", last_modified=datetime(2025, 2, 1, tzinfo=UTC)),
        SitemapPage("http://h/visit"),
    )
    assert [str(change) for change in diff(old, new)] == [
        "~ http://h/menu  lastmod 2025-01-01T00:00:00Z -> 2025-02-01T00:00:00Z",
        "+ http://h/visit",
        "- http://h/jobs",
    ]


def test_a_failed_sitemap_is_printed_with_its_reason():
    change = SitemapChange(ChangeKind.FAILED, "http://h/a.xml", "404 Not Found")
    assert f"{change}" == "! sitemap http://h/a.xml failed: 404 Not Found"
