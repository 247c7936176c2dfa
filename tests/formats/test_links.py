"""Links that lead to sitemaps: in Link headers, and in the HTML of a homepage."""

import pytest
from formats_support import read

from usp._formats.document import Role
from usp._formats.html import MAX_HOMEPAGE, header_links

BASE = "https://www.example.org/dir/"
ROOT = "https://www.example.org/"

HEADERS = {
    "the usual form": ('<https://a.example/s.xml>; rel="sitemap"', ["https://a.example/s.xml"]),
    "relative, bare and in capitals": ("<s.xml>;REL = Sitemap", [BASE + "s.xml"]),
    "in the quotes of HTML": ("</s>; rel='sitemap'", [ROOT + "s"]),
    "among others": ('</a.css>; rel=preload, </s>; rel="x sitemap", <b>', [ROOT + "s"]),
    "a comma and a semicolon in quotes": ('</s>; title="a, <b>; rel=x"; rel=sitemap', [ROOT + "s"]),
    "a quote in quotes": ('</s>; title="say \\"a, b\\""; rel=sitemap', [ROOT + "s"]),
    "two relations": ("</s>; rel=sitemap; rel=x, </t>; rel=x; rel=sitemap", [ROOT + "s"]),
    "a feed in JSON, 1.0": (
        '</feed.json>; rel=alternate; type="application/json"',
        [ROOT + "feed.json"],
    ),
    "other JSON": ('</wp-json/wp/v2/pages/2>; rel=alternate; type="application/json"', []),
    "a feed": ('</f>; rel="alternate"; type="application/rss+xml; a=b"', [ROOT + "f"]),
    "another language": ('</de>; rel="alternate"; hreflang="de"', []),
    "of another page": ('</s>; rel="sitemap"; anchor="/elsewhere"', []),
    "not HTTP": ('<mailto:a@b>; rel="sitemap"', []),
    "nothing in it": ('<>; rel="sitemap"', []),
    "a quote that is not closed": ('</a>; rel="sitemap, </b>; rel="sitemap"', []),
    "without brackets": ('/s.xml; rel="sitemap"', []),
    "no link at all": (',;<>"=' * 9, []),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_link_header_names_sitemaps_as_rfc_8288_writes_them(name):
    value, expected = HEADERS[name]
    assert [child.loc for child in header_links([("LINK", value)], BASE)] == expected


def test_all_link_headers_count_up_to_a_length():
    given = [("Link", f'</{number}>; rel="sitemap"') for number in range(100_000)]
    found = [child.loc for child in header_links([("Location", "/"), *given], BASE)]
    assert found[:2] == [f"{ROOT}0", f"{ROOT}1"]
    assert 100 < len(found) < 1000


ANCHORS = {
    "/sitemap.xml": True,
    "maps/Site-Map_posts.XML.gz": True,
    "/sitemap_index.php?x=1": True,
    "http://example.org/sitemap.txt": True,
    "https://blog.example.org/rss": True,
    "/feed/": True,
    "/?feed=rss2": True,
    "/index.php?sitemap=1": True,
    "/news.rdf": True,
    "/sitemap/": True,  # a page, if HTML sitemaps are asked for
    "/en/html_site-maps2.html": True,
    "/sitemap/index.html": True,
    "/fr/plan-du-site": True,
    "/seiten%C3%BCbersicht.php": True,
    "/sitemap.pdf": False,
    "/data.xml": False,
    "/sitemaps-explained": False,
    "/feedback/": False,
    "/?feeds=rss2": False,
    "https://example.com/sitemap.xml": False,
    "https://notexample.org/sitemap.xml": False,
    "javascript:sitemap.xml": False,
    "#sitemap.xml": False,
    "": False,
}


@pytest.mark.parametrize("href", ANCHORS)
def test_an_anchor_is_followed_if_it_is_named_as_sitemaps_are(href):
    html = f"<!doctype html><title>x</title><body><a class=a href='{href}'>x</a>"
    found = read([html.encode()], url=BASE, role=Role.HOMEPAGE).children
    assert [child.is_guess for child in found] == [True] * ANCHORS[href]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<a href=/feed/>x</a>", ["/feed/"]),  # HTML does not close an <a> like that
        ("<link rel=sitemap href=/s.xml />", ["/s.xml"]),
        ("<p><a href='/feed/'" + "<b>" * 1000, []),
        ("<script>" + "<a href='/rss'>" * 9, []),
        ("<!-- " + "<a href='/rss'>" * 9, ["/rss"]),
        ("<base href='https://example.com/'><a href='/rss'>", []),
        ("<base href='/b/'><a href=rss>", ["/b/rss"]),
        ("<" * 100_000 + "<a href='/rss'>", ["/rss"]),
        (" " * MAX_HOMEPAGE + "<a href='/rss'>", []),
        ("<link rel=sitemap href='//'><link rel=sitemap>", []),
    ],
)
def test_hostile_html_is_read_as_far_as_it_is_html(html, expected):
    found = read([html.encode()], url=BASE, role=Role.HOMEPAGE).children
    locs = [child.loc for child in found]
    assert locs[:1] == [ROOT + url[1:] for url in expected]
