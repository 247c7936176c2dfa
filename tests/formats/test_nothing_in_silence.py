"""Whatever a document loses, or is refused for, is told."""

from __future__ import annotations

from formats_support import chunks, read

from together import together

E = "https://www.example.org"


@together(
    "document, refusal, problems",
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
@together("size", [1, 7, 1 << 20])
def test_a_refused_document_keeps_its_problems(document, refusal, problems, size):
    reading = read(chunks(document.encode(), size))
    assert refusal in reading.refusal
    for words, problem in zip(problems, reading.problems, strict=False):
        assert words in problem.message
    assert len(reading.problems) >= len(problems)


@together("size", [1, 3, 1 << 20])
@together(
    "entries, name, count",
    [
        ("<URL><LOC>{0}/1</LOC></URL>" * 3, "<URL>", 3),
        ("<entry><link>{0}/1</link></entry>", "<entry>", 1),
        ("<ns1:url><ns1:loc>{0}/1</ns1:loc></ns1:url>" * 2, "<ns1:url>", 2),
        ("<page>{0}/1</page>\n<page>{0}/2</page>", "<page>", 2),
    ],
)
@together("root", ["urlset", "sitemapindex"])
def test_a_document_of_unknown_elements_says_so(root, entries, name, count, size):
    reading = read(chunks(f"<{root}>\n{entries.format(E)}</{root}>".encode(), size))
    (problem,) = reading.problems
    assert problem.message == "the document has no entries, only unknown elements"
    assert (problem.line, problem.excerpt, problem.lost) == (2, name, count)


def test_unknown_elements_beside_entries_are_no_problem():
    text = f"<urlset><generator>x</generator><url><loc>{E}/1</loc></url></urlset>"
    assert read([text.encode()]).problems == ()


@together("size", [1, 3, 1 << 20])
@together(
    "entry",
    [
        *("<url>\0\0\0<loc>{0}/1</loc></url>", "<url><loc>{0}/1</loc>\0\0\0</url>"),
        "<url><loc>{0}/1</loc><lastmod>\0\0</lastmod></url>",
        "<url><loc>{0}/1</loc><b>\0\0</b></url>",
        "<url><loc>{0}/1</loc><la\0\0mod>2024</lastmod></url>",
        *("<url><loc>{0}/1</loc><!-- \0\0 --></url>", "<url><loc>{0}/1</loc>\0\0\0</url>\n\0\0"),
    ],
)
def test_a_hole_of_nul_bytes_is_told_once(entry, size):
    reading = read(chunks(f"<urlset>\n{entry.format(E)}</urlset>".encode(), size))
    holes = [problem.line for problem in reading.problems if "NUL bytes" in problem.message]
    assert holes == [2, 3][: 1 + entry.count("\n")]
    assert reading.urls == [f"{E}/1"]


CUT = {  # documents of three entries, and how the address of one ends
    "urlset": ("<urlset>", "<url><lastmod>2024</lastmod><loc>{}</loc><priority>1</priority></url>"),
    "sitemapindex": ("<sitemapindex>", "<sitemap><loc>{}</loc><lastmod>2024</lastmod></sitemap>"),
    "rss": ("<rss><channel>", "<item><title>T</title><link>{}</link><guid>9</guid></item>"),
    "feed": ("<feed>", '<entry><id>9</id><link href="{}"/><title>T</title></entry>'),
}


@together("lanes", [None, True, "fast"])
@together("root", CUT)
def test_an_entry_counts_whose_address_stands_before_the_break_and_the_break_is_told(root, lanes):
    begin, entry = CUT[root]
    end = '"/>' if root == "feed" else "</link>" if root == "rss" else "</loc>"
    urls = [f"{E}/{at}" for at in range(3)]
    text = begin + "".join(entry.format(url) for url in urls)
    for at in range(len(begin), len(text) + 1):
        reading = read([text[:at].encode()], lanes=lanes)
        found = reading.urls or [child.loc for child in reading.children]
        assert found == urls[: text[:at].count(end)], text[:at]
        assert [one.code for one in reading.problems][-1:] == ["truncated"], text[:at]
