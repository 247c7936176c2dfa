"""Whatever a document loses, or is refused for, is told."""

from __future__ import annotations

import pytest
from formats_support import chunks, read

E = "https://www.example.org"


@pytest.mark.parametrize(
    ("document", "refusal", "problems"),
    [
        (
            "<?xml version='1.0' ?\n<Error>no</Error>",
            "<Error>",
            ["a processing instruction is not closed"],
        ),
        ("<br>\n</p><a b='c><Error/>", "<a>", ["text before the document"]),
        ("<!-- c\n<?x ?\n<html></html>", "HTML", ["a comment is not closed"]),
        ("</x><!DOCTYPE a [<!ENTITY b 'c'>]><urlset/>", "DOCTYPE", ["text before"]),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_a_refused_document_keeps_its_problems(document, refusal, problems, size):
    reading = read(chunks(document.encode(), size))
    assert refusal in reading.refusal
    for words, problem in zip(problems, reading.problems, strict=False):
        assert words in problem.message
    assert len(reading.problems) >= len(problems)


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
@pytest.mark.parametrize(
    ("entries", "name", "count"),
    [
        ("<URL><LOC>{0}/1</LOC></URL>" * 3, "<URL>", 3),
        ("<entry><link>{0}/1</link></entry>", "<entry>", 1),
        ("<ns1:url><ns1:loc>{0}/1</ns1:loc></ns1:url>" * 2, "<ns1:url>", 2),
        ("<page>{0}/1</page>\n<page>{0}/2</page>", "<page>", 2),
    ],
)
@pytest.mark.parametrize("root", ["urlset", "sitemapindex"])
def test_a_document_of_unknown_elements_says_so(root, entries, name, count, size):
    reading = read(chunks(f"<{root}>\n{entries.format(E)}</{root}>".encode(), size))
    (problem,) = reading.problems
    assert problem.message == "the document has no entries, only unknown elements"
    assert (problem.line, problem.excerpt, problem.lost) == (2, name, count)


def test_unknown_elements_beside_entries_are_no_problem():
    text = f"<urlset><generator>x</generator><url><loc>{E}/1</loc></url></urlset>"
    assert read([text.encode()]).problems == ()


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
@pytest.mark.parametrize(
    "entry",
    [
        "<url>\0\0\0<loc>{0}/1</loc></url>",
        "<url><loc>{0}/1</loc>\0\0\0</url>",
        "<url><loc>{0}/1</loc><lastmod>\0\0</lastmod></url>",
        "<url><loc>{0}/1</loc><b>\0\0</b></url>",
        "<url><loc>{0}/1</loc><la\0\0mod>2024</lastmod></url>",
        "<url><loc>{0}/1</loc><!-- \0\0 --></url>",
        "<url><loc>{0}/1</loc>\0\0\0</url>\n\0\0",
    ],
)
def test_a_hole_of_nul_bytes_is_told_once(entry, size):
    reading = read(chunks(f"<urlset>\n{entry.format(E)}</urlset>".encode(), size))
    holes = [problem.line for problem in reading.problems if "NUL bytes" in problem.message]
    assert holes == [2, 3][: 1 + entry.count("\n")]
    assert reading.urls == [f"{E}/1"]


@pytest.mark.parametrize("end", ["</loc x>", "</loc a='b'>", "</loc/>", "</loc\n\nhttp:>"])
def test_words_in_an_end_tag_are_told(end):
    reading = read([f"<urlset><url><loc>{E}/1{end}</url></urlset>".encode()])
    assert reading.urls == [f"{E}/1"]
    assert [problem.message for problem in reading.problems] == ["an end tag has more than a name"]
    assert read([f"<urlset><url><loc>{E}/1</loc \n></url></urlset>".encode()]).problems == ()
