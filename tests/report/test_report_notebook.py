"""What a notebook shows of a tree."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from report_trees import SITE, hostile_website, many_sitemaps, sitemap, website

from usp.objects.page import SitemapPage
from usp.objects.problem import Failure
from usp.objects.sitemap import IndexXMLSitemap, InvalidSitemap, PagesXMLSitemap
from usp.report import notebook
from usp.report.notebook import repr_html
from usp.tree import sitemap_tree_for_homepage


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


def test_small_documents_are_counted_and_large_ones_are_not(serve):
    entries = "".join(f"<url><loc>{{base}}/{at}</loc></url>" for at in range(3))
    site = serve({"/sitemap.xml": f"<urlset>{entries}</urlset>"})
    tree = sitemap_tree_for_homepage(f"{site.base}/")
    assert "XML, 3 pages, " in repr_html(tree)
    large = PagesXMLSitemap(f"{SITE}/a.xml", Unread(), size=notebook.MAX_READ + 1)
    assert "XML, 2.0 MiB" in repr_html(large)
    beside = PagesXMLSitemap(f"{SITE}/b.xml", Unread(), size=10)
    assert "XML, 10 B" in repr_html(website(large, beside))


def test_failed_and_incomplete_sitemaps_are_shown_as_such_and_counted():
    url = f"{SITE}/a.xml"
    cut = PagesXMLSitemap(url, [], failure=Failure(url, f"the transfer of {url} broke off"))
    again = InvalidSitemap(f"{SITE}/i.xml", "Recursion detected", missing=False)
    lost = [InvalidSitemap(f"{SITE}/{at}.xml", "404 Not Found") for at in range(30)]
    text = repr_html(website(cut, again, *lost))
    shown = re.sub(r"<[^>]*>", " ", text)
    words = " ".join(shown.split())
    assert words.startswith("33 sitemaps , 30 failed , 1 incomplete")
    assert "/a.xml XML, 0 pages incomplete: the transfer of /a.xml broke off" in words
    assert "/i.xml not followed: Recursion detected" in words
    assert "/0.xml failed: 404 Not Found" in words
    assert "… 12 more, 12 failed" in words.replace(" ,", ",")


def test_an_undamaged_tree_speaks_of_no_damage():
    text = repr_html(website(PagesXMLSitemap(f"{SITE}/a.xml", [])))
    assert "2 sitemaps" in text
    assert "failed" not in text
    assert "incomplete" not in text


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
