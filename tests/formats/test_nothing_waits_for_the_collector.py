"""A parser that is done is gone: nothing of it waits for the garbage collector."""

from __future__ import annotations

import gc

from together import together
from usp._formats.document import DocumentParser
from usp._formats.xml.scanner import Scanner
from usp._formats.xml.xml_parser import XmlParser

URLSET = "<urlset><url><loc>https://x.org/a</loc><lastmod>2024-05-31</lastmod></url></urlset>"
DOCUMENTS = {
    "regular": URLSET,
    "a comment": URLSET.replace("<url>", "<!-- one --><url>"),
    "damaged": URLSET.replace("</lastmod>", "<"),
    "an index": "<sitemapindex><sitemap><loc>https://x.org/a.xml</loc></sitemap></sitemapindex>",
    "cut off": URLSET[:30],
}


def read(document: str, *, glance: bool) -> None:
    parser = DocumentParser("https://x.org/s.xml", fast=True, glance=glance)
    list(parser.feed(document.encode()))
    list(parser.close())
    assert parser.parser is not None


def parsers() -> int:
    return sum(isinstance(o, Scanner | XmlParser) for o in gc.get_objects())


@together("glance", [True, False])
@together("document", DOCUMENTS.values())
def test_a_parser_that_is_closed_is_not_left_to_the_collector(document, glance):
    read(document, glance=glance)  # what is found out once about a root needs a parser, too
    gc.disable()
    gc.freeze()  # whatever other tests have left is not looked at
    try:
        read(document, glance=glance)
        assert parsers() == 0
    finally:
        gc.enable()
