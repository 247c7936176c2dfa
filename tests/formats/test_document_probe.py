"""A probe shows what a document is, and whether it is whole, without reading its pages.

It makes nothing that only reading needs, and leaves nothing to the garbage collector.
"""

import gc
from itertools import product

import pytest
from formats_support import E, chunks, corpus, read, urlset

from together import together
from usp._formats.document import DocumentParser
from usp._formats.xml.scanner import Scanner
from usp._formats.xml.xml_parser import XmlParser
from usp.objects.sitemap import IndexXMLSitemap, PagesRSSSitemap, PagesXMLSitemap

PAGES = urlset(*[f"{E}/a"] * 20)
CHILD = f"<sitemap><loc>{E}/b.xml</loc></sitemap>"
INDEX = urlset(CHILD).replace("urlset", "sitemapindex")
FOREIGN = PAGES.replace("sitemaps.org/schemas/sitemap", "other.example")
RSS = f"<rss version='2.0'><channel><item><link>{E}/</link></item></channel></rss>"


def breaks_off(reading):
    return any("breaks off" in problem.message for problem in reading.problems)


@together("size", [7, 1 << 20])
def test_a_probe_notes_a_document_that_breaks_off_anywhere_behind_its_root_tag(size):
    document = urlset(f"{E}/1", f"{E}/2").encode()
    for at in range(document.index(b">") + 1, len(document) + 1):
        part = document[:at]
        assert breaks_off(read(chunks(part, size), skip_pages=True)) == breaks_off(read([part])), (
            part
        )


def test_a_probe_at_a_whole_document_notes_nothing():
    ends = [
        *("<urlset/>", "<urlset></urlset>", "<urlset></urlset >\n\n"),
        "<sm:urlset></sm:urlset><!-- done -->",
        "<urlset></urlset><!-- " + "x" * 10_000 + " -->",
        "<urlset></urlset>" + "\n" * 10_000,
    ]
    for end, size in product(ends, [1, 1000, 1 << 20]):
        assert read(chunks(end.encode(), size), skip_pages=True).problems == (), (end[:40], size)


def test_a_probe_notes_compressed_data_that_breaks_off():
    case = next(c for c in corpus() if c.name == "compression/gzip-truncated.xml.gz")
    reading = read([case.data], skip_pages=True, **case.options)
    assert "the compressed data breaks off" in str(reading.problems[0])


def test_after_a_refusal_nothing_more_is_read():
    parser = DocumentParser(f"{E}/")
    for part in ("<html><body>" + "x" * 1000, "</body></html>" + PAGES):
        assert list(parser.feed(part.encode())) == []
        assert "HTML" in parser.refusal.text
    assert list(parser.close()) == []
    assert "HTML" in parser.refusal.text


# What is made, and what is left -------------------------------------------------------------------


def parsed(document, size=1 << 20, *, skip_pages=True):
    parser = DocumentParser(f"{E}/s.xml", skip_pages=skip_pages, fast=True)
    entries = [entry for part in chunks(document.encode(), size) for entry in parser.feed(part)]
    return parser, [*entries, *parser.close()]


@pytest.fixture
def made(monkeypatch):
    """The classes of the parsers that are made."""
    for document in (PAGES, RSS, INDEX, FOREIGN):
        parsed(document)  # what is found out once about a root needs a parser
    made = []
    real = XmlParser.__init__

    def init(self, *given, **options):
        made.append(type(self))
        real(self, *given, **options)

    monkeypatch.setattr(XmlParser, "__init__", init)
    return made


@together("document, kind", [(PAGES, PagesXMLSitemap), (RSS, PagesRSSSitemap)])
def test_pages_are_not_read(made, document, kind):
    parser, entries = parsed(document)
    assert (made, entries) == ([], [])
    assert parser.parser.sitemap_class is kind
    assert not parser.may_have_children
    assert parser.problems.listed() == []


def test_what_a_probe_must_see_is_seen(made):
    assert parsed(PAGES.replace("</urlset>", f"{CHILD}</urlset>"))[0].may_have_children
    assert parsed(PAGES[:-9])[0].problems.unfinished is not None
    assert parsed(FOREIGN)[0].namespace
    assert made == []


def test_an_index_is_read(made):
    parser, entries = parsed(INDEX)
    assert [entry.loc for entry in entries] == [f"{E}/b.xml"]
    assert parser.parser.sitemap_class is IndexXMLSitemap
    assert [one.sitemap_class for one in made] == [IndexXMLSitemap]


@together("size", [1, 7, 1000])
def test_one_document_leaves_nothing_for_the_next(size):
    """Whatever stands in one, and however it is cut: the same parser is asked about all of them."""
    for document in (urlset(CHILD, f"{E}/a"), PAGES, urlset("<url><x/>"), PAGES):
        parser, _ = parsed(document, size)
        assert parser.may_have_children is (CHILD in document)
        assert parser.parser.sitemap_class is PagesXMLSitemap
        assert not parser.parser.root_closed


@together("skip_pages", [True, False])
@together(
    "document",
    [
        *(PAGES, INDEX, PAGES[:90]),
        PAGES.replace("<url>", "<!-- one --><url>", 1),
        PAGES.replace("</loc>", "<", 1),
    ],
)
def test_a_parser_that_is_closed_is_not_left_to_the_collector(document, skip_pages):
    parsed(
        document, skip_pages=skip_pages
    )  # what is found out once about a root needs a parser, too
    gc.disable()
    gc.freeze()  # whatever other tests have left is not looked at
    try:
        assert parsed(document, skip_pages=skip_pages)[0].parser is not None
        assert not [one for one in gc.get_objects() if isinstance(one, Scanner | XmlParser)]
    finally:
        gc.enable()
