"""Lines of plain text are read many at a time, with the pages and problems of each line by itself."""

from __future__ import annotations

from formats_support import read
from hypothesis import example, given
from hypothesis import strategies as st

from usp._crawl.stored_pages import ExaminedBlock
from usp._formats.abstract_parser import PageBatch
from usp._formats.plain_text import MAX_LINE, Lines, PlainTextParser
from usp.objects.problem import Problems

LINES = [
    *("https://a.example/1", "  http://a.example/2\t", "HTTPS://A.example"),
    *("https://b\u00fc.example/", "https://u@a.example/", "http://[::1]/"),
    *("https://a.example/\u00e9", "\ufeffhttps://a.example/", "", " ", "# a comment", "/relative"),
    *("https://a.example/a b", "https://", "http://[x", "\ufeff"),
]
ENDS = ["\n", "\n", "\n", "\r\n", "\r", "\x0b", "\x85", "\u2028"]
written = st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(ENDS))).map(
    lambda lines: "https://a.example/0\n" + "".join(map("".join, lines))
)


@given(written, st.integers(1, 60))
@example("https://a.example/0\n" + "x" * (MAX_LINE + 1) + "\nhttps://a.example/1\n", 1 << 20)
def test_lines_read_together_are_those_read_one_by_one(text, size):
    data = text.encode()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    expected = read([data])
    assert read(pieces, lanes=True) == expected
    assert read(pieces, lanes="fast").urls == expected.urls


@given(st.lists(st.sampled_from(["\n", *ENDS[5:], "a", "b"])).map("".join), st.integers(1, 5))
def test_lines_end_where_python_ends_them(text, size):
    text += "c"
    lines = Lines(Problems())
    found = [line for at in range(0, len(text), size) for line in lines.feed(text[at : at + size])]
    found += lines.close()
    assert [line for _, line in found] == text.splitlines()
    assert [number for number, _ in found] == list(range(1, len(found) + 1))


def test_one_odd_line_leaves_the_others_together():
    for odd in ("# a comment", "/relative", "", "https://u@a.example/", "\ufeffhttp://a.example/"):
        parser = PlainTextParser("https://a.example/sitemap.txt")
        text = "".join(f"https://a.example/{n}\n" if n % 10 else f"{odd}\n" for n in range(500))
        entries = [*parser.feed(text), *parser.close()]
        assert len(entries) == 1
        assert isinstance(entries[0], PageBatch)


def test_the_lines_of_urls_among_others_are_known():
    text = "https://a.example/0\n# one\n\nhttps://a.example/1\r\nhttps://a.example/2\n"
    parser = PlainTextParser("https://a.example/sitemap.txt")
    (batch,) = parser.feed(text)
    block = ExaminedBlock(batch, batch.as_written, batch.block, batch.lines)
    assert list(block.lines) == [1, 4, 5]
    assert [block.place(at).line for at in range(3)] == [1, 4, 5]
