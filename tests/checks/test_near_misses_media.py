"""News, images and videos that are nearly wrong, how wrong ones are told, and relative URLs."""

from itertools import product

import pytest
from check_examples import HOME, found_in, found_in_file

from usp.checks.registry import ENTRIES
from website import rss

STORY, VIDEO = ENTRIES["<news:"], ENTRIES["<video:"]


def story(date="{now-1h}", language="en"):
    text = STORY.replace("{now-5h}", date).replace(">en<", f">{language}<").replace("…", "")
    return [(one.name, one.message) for one in found_in(text)]


def test_a_language_is_a_short_code_and_another_is_told():
    assert [one for one in ("en", "ja", "fil", "ZH-CN", "zh-TW", "EN") if story(language=one)] == []
    for language in ("english", "en-US", "e", "zh-hk", "12", "e n"):
        message = f"{language!r} is not a language code of two or three letters"
        assert story(language=language) == [("news-language", message)]
    for language in ("jp", "xx"):
        assert [name for name, _ in story(language=language)] == ["news-language"]


def test_feeds_are_not_news_sitemaps():
    date = "<pubDate>Tue, 07 May 2019 08:09:10 GMT</pubDate></item>"
    assert found_in(rss(f"{HOME}/a").replace("</item>", date), select=["SM7"]) == []


def test_each_video_of_a_page_is_told():
    two = VIDEO.replace("…", "<video:duration>0</video:duration>")
    body = two[two.index("<video:video>") : two.index("</url>")]
    found = found_in(two.replace("</url>", body + "</url>"))
    assert [one.name for one in found] == ["video-duration"] * 2
    assert {one.page for one in found} == {"https://example.org/tea"}


# Relative URLs are found, though they are read ----------------------------------------------------

FIRST = "<url><loc>https://example.org/a</loc></url>\n"
PAGE = "<url><loc>https://example.org/tea</loc>{}</url>\n"
LINK = '<xhtml:link rel="alternate" hreflang="en" href="{}"/>'
IMAGE = "<image:image><image:loc>{}</image:loc></image:image>"
WITH_VIDEO = """<video:video><video:thumbnail_loc>{}</video:thumbnail_loc><video:title>T</video:title>
<video:description>D</video:description>
<video:content_loc>https://example.org/v.mp4</video:content_loc></video:video>"""
KINDS = {"SM606": LINK, "SM802": IMAGE, "SM825": WITH_VIDEO}


def test_a_relative_url_is_found_once_with_its_page_and_a_whole_one_is_not():
    for code, kind in KINDS.items():
        for url in ("/tea", "tea", "../tea", "//example.org/tea", "?tea=1"):
            page = FIRST + PAGE.format(kind.format(url))
            found = found_in(page, select=["SM6", "SM8"], ignore=["SM603"])
            assert [(one.code, one.page) for one in found] == [(code, "https://example.org/tea")]
            assert url in found[0].message
        for url in (f"{HOME}/tea", "HTTPS://example.org/tea", " http://example.org/tea\n"):
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
        found = found_in_file(path, text, select=["SM401"])
        assert [(one.code, one.line) for one in found] == [("SM401", 2)]
        assert link in found[0].message
        based = text.replace(" ", ' xml:base="https://example.org/" ', 1)
        assert found_in_file(path, based, select=["SM401"]) == []
        assert found_in(text, select=["SM401"]) == []


@pytest.mark.parametrize("link", ["not a url", "&lt;a href='https://example.org/'&gt;x&lt;/a&gt;"])
def test_a_link_that_is_not_a_url_is_found_with_and_without_a_url_of_its_own(link, tmp_path):
    for text in (FEED.format(link), ATOM.format(link)):
        found = found_in(text, select=["SM458"])
        found += found_in_file(tmp_path / "teas.rss", text, select=["SM458"])
        assert [one.code for one in found] == ["SM458"] * 2
