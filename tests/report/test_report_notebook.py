"""What a notebook shows of a tree."""

from __future__ import annotations

from html.parser import HTMLParser

from report_trees import SITE, hostile_website, many_sitemaps, sitemap, website

from usp.objects.page import SitemapPage
from usp.objects.sitemap import IndexXMLSitemap, InvalidSitemap, PagesXMLSitemap
from usp.report.notebook import repr_html


class Unread:
    """Pages that must not be asked for."""

    def __iter__(self):
        raise AssertionError

    def count(self):
        raise AssertionError

    def problems(self):
        raise AssertionError


def test_the_tree_unfolds_without_scripts():
    text = repr_html(
        website(
            PagesXMLSitemap(f"{SITE}/a.xml", [SitemapPage(f"{SITE}/p")]),
            InvalidSitemap(f"{SITE}/b.xml", "gone"),
        )
    )
    assert text.count("<details") == 2
    assert "1 page<" in text
    assert "gone" in text


def test_no_document_is_read():
    assert "pages" not in repr_html(PagesXMLSitemap(f"{SITE}/a.xml", Unread()))
    assert "pages" not in repr_html(sitemap("a.xml", f"<loc>{SITE}/x</loc>"))


def test_the_size_does_not_grow_with_the_tree():
    text = repr_html(many_sitemaps(20_000))
    assert len(text) < 60_000
    assert "… 980 more" in text


def test_deep_trees_end_somewhere():
    node = PagesXMLSitemap(f"{SITE}/a.xml", [])
    for level in range(2000):
        node = IndexXMLSitemap(f"{SITE}/{level}.xml", [node])
    assert repr_html(node).count("<details") == 13


def test_what_websites_write_stays_text():
    tags = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag, attrs):
            tags.append(tag)

    text = repr_html(hostile_website())
    Tags().feed(text)
    assert set(tags) == {"div", "details", "summary", "bdi", "span"}
    assert text.isprintable()
