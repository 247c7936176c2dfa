"""URLs of images, videos and other languages are whole: relative ones are found, though they are read."""

from __future__ import annotations

import pytest
from check_examples import found_in

FIRST = "<url><loc>https://example.org/a</loc></url>\n"
PAGE = "<url><loc>https://example.org/tea</loc>{}</url>\n"
LINK = '<xhtml:link rel="alternate" hreflang="en" href="{}"/>'
IMAGE = "<image:image><image:loc>{}</image:loc></image:image>"
VIDEO = """<video:video><video:thumbnail_loc>{}</video:thumbnail_loc><video:title>T</video:title>
<video:description>D</video:description>
<video:content_loc>https://example.org/v.mp4</video:content_loc></video:video>"""
KINDS = {"SM606": LINK, "SM802": IMAGE, "SM825": VIDEO}


@pytest.mark.parametrize("url", ["/tea", "tea", "../tea", "//example.org/tea", "?tea=1"])
@pytest.mark.parametrize("code", KINDS)
def test_a_relative_url_is_found_once_with_its_page(code, url):
    found = found_in(
        FIRST + PAGE.format(KINDS[code].format(url)), select=["SM6", "SM8"], ignore=["SM603"]
    )
    assert [(one.code, one.page) for one in found] == [(code, "https://example.org/tea")]
    assert url in found[0].message


@pytest.mark.parametrize(
    "url", ["https://example.org/tea", "HTTPS://example.org/tea", " http://example.org/tea\n"]
)
@pytest.mark.parametrize("code", KINDS)
def test_a_whole_url_is_not(code, url):
    assert found_in(FIRST + PAGE.format(KINDS[code].format(url)), select=[code]) == []


def test_sections_and_comments_are_not_relative():
    images = IMAGE.format("<![CDATA[https://example.org/x.png]]>")
    assert found_in(PAGE.format(images) + f"<!-- {IMAGE.format('/x')} -->", select=["SM802"]) == []
