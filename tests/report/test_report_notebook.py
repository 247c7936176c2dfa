"""What a notebook shows of a tree."""

import re

from report_trees import SITE, elements, hostile_website, many_sitemaps, sitemap, website

from usp.checks import node_findings
from usp.objects.page import SitemapPage
from usp.objects.problem import Failure
from usp.objects.sitemap import IndexXMLSitemap, InvalidSitemap, PagesXMLSitemap
from usp.report.notebook import repr_html
from usp.tree import sitemap_tree_for_homepage
from website import urlset


class Unread:
    """Pages that must not be asked for."""

    def __iter__(self):
        raise AssertionError

    count = problems = __iter__


def test_the_tree_unfolds_without_scripts():
    read = PagesXMLSitemap(f"{SITE}/a.xml", [SitemapPage(f"{SITE}/p")])
    text = repr_html(website(read, InvalidSitemap(f"{SITE}/b.xml", "gone")))
    assert text.count("<details") == 2
    assert "1 page<" in text
    assert "gone" in text
    assert "/café.xml" in repr_html(website(sitemap("caf%C3%A9.xml")))


def test_small_documents_are_counted_and_large_ones_and_those_of_no_known_size_are_not(serve):
    assert "pages" not in repr_html(PagesXMLSitemap(f"{SITE}/a.xml", Unread()))
    assert "pages" not in repr_html(sitemap("a.xml", f"<loc>{SITE}/x</loc>"))
    site = serve({"/sitemap.xml": urlset("/1", "/2", "/3")})
    assert "XML, 3 pages, " in repr_html(sitemap_tree_for_homepage(f"{site.base}/"))
    large = PagesXMLSitemap(f"{SITE}/a.xml", Unread(), size=node_findings.MAX_READ + 1)
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
    assert words.startswith(
        "amber: 31 sitemaps are missing or incomplete. 33 sitemaps, 32 findings"
    )
    assert "To fix first ('usp rule SM060' explains one): SM060 other-failure (32 times): " in (
        words.replace("&#x27;", "'")
    )
    assert "/a.xml XML, 0 pages incomplete warning SM060: the transfer of /a.xml broke off" in words
    assert "/i.xml not followed warning SM060: Recursion detected" in words
    assert "/0.xml failed warning SM060: 404 Not Found" in words
    assert "… 12 more, 12 failed" in words.replace(" ,", ",")

    sound = repr_html(website(PagesXMLSitemap(url, [])))
    assert "2 sitemaps" in sound
    assert not {"failed", "incomplete"} & set(re.findall(r"\w+", sound))


def test_wide_and_deep_trees_end_somewhere():
    text = repr_html(many_sitemaps(20_000))
    assert len(text) < 60_000
    assert "… 980 more" in text
    node = PagesXMLSitemap(f"{SITE}/a.xml", [])
    for level in range(2000):
        node = IndexXMLSitemap(f"{SITE}/{level}.xml", [node])
    assert repr_html(node).count("<details") == 13


def test_what_websites_write_stays_text():
    text = repr_html(hostile_website())
    tags = {tag for tag, _ in elements(text)}
    assert tags == {"div", "details", "summary", "bdi", "span"}
    assert text.isprintable()


def test_the_same_finding_again_is_counted_and_what_is_not_known_is_not_called_none():
    bad = [f"<loc>{SITE}/{at}</loc><lastmod>never</lastmod>" for at in range(9)]
    text = repr_html(website(sitemap("a.xml", *bad)))
    assert text.count("which is not a date") == 1
    assert "SM550: 9 times: search engines ignore this lastmod" in text
    assert "red: All sitemaps were read; 9 errors." in text
    assert "no findings" not in repr_html(website(sitemap("a.xml", f"<loc>{SITE}/a</loc>")))
    assert "If there is a sitemap elsewhere" in repr_html(website())
