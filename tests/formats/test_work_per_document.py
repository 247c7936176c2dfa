"""A glance at an ordinary page sitemap makes nothing that only reading its pages needs."""

from __future__ import annotations

import pytest

from together import together
from usp._formats.document import DocumentParser
from usp._formats.xml.xml_parser import XmlParser
from usp.objects.sitemap import IndexXMLSitemap, PagesRSSSitemap, PagesXMLSitemap

URLSET = b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>%s</urlset>"
PAGE = b"<url><loc>http://h.example/a</loc></url>" * 20
CHILD = b"<sitemap><loc>http://h.example/b.xml</loc></sitemap>"
INDEX = URLSET.replace(b"urlset", b"sitemapindex") % CHILD
FOREIGN = (URLSET % PAGE).replace(b"sitemaps.org/schemas/sitemap", b"other.example")
RSS = b"<rss version='2.0'><channel><item><link>http://h.example/</link></item></channel></rss>"


@pytest.fixture
def made(monkeypatch):
    for document in (URLSET % PAGE, RSS, INDEX, FOREIGN):
        glance(document)  # what is found out once about a root needs a parser
    made = []
    real = XmlParser.__init__

    def init(self, *args, **options):
        made.append(type(self))
        real(self, *args, **options)

    monkeypatch.setattr(XmlParser, "__init__", init)
    return made


def glance(document):
    parser = DocumentParser("http://h.example/s.xml", glance=True, fast=True)
    entries = [*parser.feed(document), *parser.close()]
    return parser, entries


@together("document, kind", [(URLSET % PAGE, PagesXMLSitemap), (RSS, PagesRSSSitemap)])
def test_pages_are_not_read(made, document, kind):
    parser, entries = glance(document)
    assert (made, entries) == ([], [])
    assert parser.parser.sitemap_class is kind
    assert not parser.may_have_children
    assert parser.problems.listed() == []


def test_what_a_glance_must_see_is_seen(made):
    assert glance(URLSET % (PAGE + CHILD))[0].may_have_children
    assert glance((URLSET % PAGE)[:-9])[0].problems.unfinished is not None
    assert glance(FOREIGN)[0].namespace
    assert made == []


def test_an_index_is_read(made):
    parser, entries = glance(INDEX)
    assert [entry.loc for entry in entries] == ["http://h.example/b.xml"]
    assert parser.parser.sitemap_class is IndexXMLSitemap
    assert [one.sitemap_class for one in made] == [IndexXMLSitemap]


@together("size", [1, 7, 1000])
def test_one_document_leaves_nothing_for_the_next(size):
    """Whatever stands in one, and however it is cut: the same parser is asked about all of them."""
    for document in (URLSET % (CHILD + PAGE), URLSET % PAGE, URLSET % b"<url><x/>", URLSET % PAGE):
        parser = DocumentParser("http://h.example/s.xml", glance=True, fast=True)
        for at in range(0, len(document), size):
            parser.feed(document[at : at + size])
        parser.close()
        assert parser.may_have_children is (CHILD in document)
        assert parser.parser.sitemap_class is PagesXMLSitemap
        assert not parser.parser.root_closed
