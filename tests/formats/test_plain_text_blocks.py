"""Lines of plain text are read many at a time."""

from __future__ import annotations

from formats_strategies import ENDS
from hypothesis import given
from hypothesis import strategies as st

from usp._crawl.stored_pages import ExaminedBlock
from usp._formats.abstract_parser import PageBatch
from usp._formats.plain_text import Lines, PlainTextParser
from usp.objects.problem import Problems


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
