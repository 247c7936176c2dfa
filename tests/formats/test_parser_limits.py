"""Limits of the parsers: long fields, deep nesting, many children of one entry."""

from __future__ import annotations

from formats_support import XmlText, chunks, read, urlset

from together import together
from usp._formats.abstract_parser import PageEntry
from usp._formats.xml.raw_entries import MAX_FIELD
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


def test_a_concrete_parser_reads_text_on_its_own():
    parser = UrlsetParser(E)
    parser.scanner_only = True
    entries = [*parser.feed(urlset("/1", "/2")), *parser.close()]
    assert all(isinstance(entry, PageEntry) for entry in entries)
    assert [entry.page().url for entry in entries] == [f"{E}/1", f"{E}/2"]
    assert [entry.line for entry in entries] == [2, 3]


def test_the_parser_of_any_xml_finds_the_concrete_one():
    parser = XmlText(E)
    assert parser.concrete is None
    parser.feed("<urlset")
    assert parser.concrete is None
    parser.feed("   \n   >")
    assert isinstance(parser.concrete, UrlsetParser)


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


@together(
    "declaration", ["<!DOCTYPE urlset []>", "<!ENTITY a 'b'>", "<!doctype x [<!ENTITY a 'b'>]>"]
)
def test_a_document_type_with_declarations_is_refused_in_known_words(declaration):
    reading = read([declaration.encode() + urlset(f"{E}/1").encode()])
    assert reading.kind is None
    assert reading.pages == ()
    assert reading.refusal.startswith("Sitemap contained unexpected non-standard XML DOCTYPE.")


@together(
    "declaration",
    [
        "<!DOCTYPE urlset>",
        '<!doctype rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN"\n "http://a/rss.dtd">',
        "<?xml version='1.0'?> <!DOCTYPE x SYSTEM 'x.dtd' >",
    ],
)
def test_a_document_type_without_declarations_is_passed_over_with_a_problem(caplog, declaration):
    reading = read([declaration.encode() + urlset(f"{E}/1").encode()])
    assert reading.urls == [f"{E}/1"]
    assert reading.messages == ["1: a DOCTYPE before the document was ignored"]
    assert caplog.text == ""


@together("version", ["0.91", "2.0"])
@together("size", [1, 1 << 20])
def test_the_document_type_of_rss_is_no_problem_in_rss(version, size):
    declaration = (
        '<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "rss-0.91.dtd">'
    )
    data = f"{declaration}<rss version='{version}'><channel/></rss>".encode()
    reading = read(chunks(data, size))
    assert (reading.kind, reading.problems) == ("PagesRSSSitemap", ())


def test_a_feed_that_says_so_little_is_still_a_feed():
    for root in (b"<rss/>", b"<feed/>", b"<rdf:RDF/>", b"<sitemapindex/>"):
        reading = read([root])
        assert reading.kind is not None
        assert reading.problems == ()
