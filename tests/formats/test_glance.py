"""A glance tells what a document is, and whether it is whole, without giving its pages."""

from __future__ import annotations

from itertools import product

from formats_support import chunks, corpus, read, urlset

from together import together
from usp._formats.document import DocumentParser


def breaks_off(reading):
    return any("breaks off" in problem.message for problem in reading.problems)


@together("size", [7, 1 << 20])
def test_a_glance_notes_a_document_that_breaks_off_anywhere_behind_its_root_tag(size):
    document = urlset("https://www.example.org/1", "https://www.example.org/2").encode()
    for at in range(document.index(b">") + 1, len(document) + 1):
        part = document[:at]
        whole = read([part])
        assert breaks_off(read(chunks(part, size), glance=True)) == breaks_off(whole), part


def test_a_glance_at_a_whole_document_notes_nothing():
    ends = [
        *("<urlset/>", "<urlset></urlset>", "<urlset></urlset >\n\n"),
        "<sm:urlset></sm:urlset><!-- done -->",
        "<urlset></urlset><!-- " + "x" * 10_000 + " -->",
        "<urlset></urlset>" + "\n" * 10_000,
    ]
    for end, size in product(ends, [1, 1000, 1 << 20]):
        assert read(chunks(end.encode(), size), glance=True).problems == (), (end[:40], size)


def test_a_glance_notes_compressed_data_that_breaks_off():
    case = next(c for c in corpus() if c.name == "compression/gzip-truncated.xml.gz")
    assert "the compressed data breaks off" in str(
        read([case.data], glance=True, **case.options).problems[0]
    )


def test_after_a_refusal_nothing_more_is_read():
    parser = DocumentParser("https://www.example.org/")
    page = b"<html><body>" + b"x" * 1000
    assert list(parser.feed(page)) == []
    assert "HTML" in parser.refusal.text
    assert list(parser.feed(b"</body></html>" + urlset("https://www.example.org/1").encode())) == []
    assert list(parser.close()) == []
    assert "HTML" in parser.refusal.text
