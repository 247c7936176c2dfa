"""URLs of images, videos and other languages are whole: relative ones are found, though they are read."""

from __future__ import annotations

from itertools import product

import pytest
from check_examples import found_in

import usp

FIRST = "<url><loc>https://example.org/a</loc></url>\n"
PAGE = "<url><loc>https://example.org/tea</loc>{}</url>\n"
LINK = '<xhtml:link rel="alternate" hreflang="en" href="{}"/>'
IMAGE = "<image:image><image:loc>{}</image:loc></image:image>"
VIDEO = """<video:video><video:thumbnail_loc>{}</video:thumbnail_loc><video:title>T</video:title>
<video:description>D</video:description>
<video:content_loc>https://example.org/v.mp4</video:content_loc></video:video>"""
KINDS = {"SM606": LINK, "SM802": IMAGE, "SM825": VIDEO}


def test_a_relative_url_is_found_once_with_its_page_and_a_whole_one_is_not():
    for code, kind in KINDS.items():
        for url in ("/tea", "tea", "../tea", "//example.org/tea", "?tea=1"):
            page = FIRST + PAGE.format(kind.format(url))
            found = found_in(page, select=["SM6", "SM8"], ignore=["SM603"])
            assert [(one.code, one.page) for one in found] == [(code, "https://example.org/tea")]
            assert url in found[0].message
        for url in (
            "https://example.org/tea",
            "HTTPS://example.org/tea",
            " http://example.org/tea\n",
        ):
            assert found_in(FIRST + PAGE.format(kind.format(url)), select=[code]) == []


def test_sections_and_comments_are_not_relative():
    images = IMAGE.format("<![CDATA[https://example.org/x.png]]>")
    assert found_in(PAGE.format(images) + f"<!-- {IMAGE.format('/x')} -->", select=["SM802"]) == []


FEED = """<rss version="2.0"><channel><title>Teas</title><link>https://example.org/</link>
<item><title>1</title><link>{}</link></item>
<item><title>2</title><link>https://example.org/tea</link></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Teas</title>
<entry><title>1</title><link href="{}"/></entry></feed>"""


@pytest.mark.parametrize("feed", [FEED, ATOM], ids=["rss", "atom"])
def test_a_relative_link_of_a_feed_is_found_where_nothing_makes_it_absolute(feed, tmp_path):
    path = tmp_path / "teas.xml"
    for link, title in product(["/tea", "tea.html", "?tea=1"], ["<title>1</title>", ""]):
        text = feed.format(link).replace("<title>1</title>", title)
        path.write_text(text, encoding="utf-8")
        found = list(usp.check(path, select=["SM401"]))
        assert [(one.code, one.line) for one in found] == [("SM401", 2)]
        assert link in found[0].message
        based = text.replace(" ", ' xml:base="https://example.org/" ', 1)
        path.write_text(based, encoding="utf-8")
        assert list(usp.check(path, select=["SM401"])) == []
        assert found_in(text, select=["SM401"]) == []


@pytest.mark.parametrize("link", ["not a url", "&lt;a href='https://example.org/'&gt;x&lt;/a&gt;"])
def test_a_link_that_is_not_a_url_is_found_with_and_without_a_url_of_its_own(link, tmp_path):
    path = tmp_path / "teas.rss"
    for feed in (FEED, ATOM):
        path.write_text(feed.format(link), encoding="utf-8")
        readings = found_in(feed.format(link), select=["SM458"]), usp.check(path, select=["SM458"])
        assert [[one.code for one in found] for found in readings] == [["SM458"], ["SM458"]]
