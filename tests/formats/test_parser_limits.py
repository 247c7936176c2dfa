"""Limits of the parsers: long fields, deep nesting, many children of one entry."""

from __future__ import annotations

from formats_support import XmlText, chunks, read, urlset

from together import together
from usp._formats.xml.xml_parser import MAX_FIELD
from usp._formats.xml_sitemaps import UrlsetParser

IMAGE = 'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
E = "https://www.example.org"
NS = "http://www.sitemaps.org/schemas/sitemap/0.9"


@together("size", [1 << 16, 1 << 30])
@together("before, after", [("", ""), ("<![CDATA[", "]]>")])
def test_a_field_that_is_far_too_long_is_cut_off_and_named_once(before, after, size):
    caption = f"<image:caption>{before}{'x' * (2 * MAX_FIELD)}{after}</image:caption>"
    image = f"<image:image><image:loc>{E}/i</image:loc>{caption}</image:image>"
    document = urlset(f"<url><loc>{E}/1</loc>{image}</url>", f"{E}/2", extra=IMAGE).encode()
    reading = read(chunks(document, size))
    assert reading.urls == [f"{E}/1", f"{E}/2"]
    assert reading.pages[0].images[0].caption == "x" * MAX_FIELD
    assert reading.messages == ["2: a field is too long and was cut off"]


def test_elements_that_are_nested_far_too_deep_and_closed_cost_nothing():
    deep = "<a>" * 1000 + "</a>" * 1000
    reading = read([urlset(f"<url>{deep}<loc>{E}/1</loc></url>", f"{E}/2").encode()])
    assert reading.urls == [f"{E}/1", f"{E}/2"]
    assert reading.problems == ()


def test_reading_a_page_twice_gives_equal_pages():
    parser = UrlsetParser(E)
    parser.scanner_only = True
    (entry,) = parser.feed(urlset(f"<url><loc>{E}/1</loc><lastmod>2024</lastmod></url>"))
    assert entry.page() == entry.page()


@together(
    "attributes, namespace",
    [("", ("urlset", "")), (" xmlns='urn:x'", ("urlset", "urn:x")), (f" xmlns='{NS}'", None)],
)
def test_a_urlset_in_another_namespace_than_that_of_sitemaps_is_read(attributes, namespace):
    parser = XmlText(E)
    (batch,) = parser.feed(f"<urlset{attributes}><url><loc>{E}/1</loc></url></urlset>")
    assert batch.urls == [f"{E}/1"]
    assert parser.namespace == namespace


def test_a_feed_that_says_so_little_is_still_a_feed():
    for root in (b"<rss/>", b"<feed/>", b"<rdf:RDF/>", b"<sitemapindex/>"):
        reading = read([root])
        assert reading.kind is not None
        assert reading.problems == ()
