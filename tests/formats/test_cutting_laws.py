"""Cutting a document anywhere gives the same entries and the same problems, in every format.

Lines of plain text are read many at a time.
"""

import pytest
from formats_strategies import CONTENT_TYPES, ENDS, SOUPS, encoded, pieces
from formats_support import XmlText, chunks, decode, halves, read, read_text, same_line_ends, urlset
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles import examples
from together import together
from usp._crawl.stored_pages import ExaminedBlock
from usp._formats.abstract_parser import PageBatch
from usp._formats.document import Role
from usp._formats.html import HomepageLinksParser
from usp._formats.plain_text import MAX_LINE, LineParser, PlainTextParser
from usp._formats.robots import RobotsParser
from usp._formats.xml.raw_entries import MAX_TEXT
from usp.limits import Limits

LAW = settings(max_examples=examples(150))
HTML = [
    *('<link rel="sitemap" href="/s.xml">', "<LINK rel=sitemap href=/t.xml>", "<!--", "-->", "<p>"),
    *("a < b", "<script>if (a<b) {}</script>", '<a b="', "'>", "\n", "<link"),
]
LINES = SOUPS["lines"].map(same_line_ends)
TEXTS = {
    **{name: (XmlText, texts) for name, texts in SOUPS.items() if name != "lines"},
    "plain text": (PlainTextParser, LINES),
    "robots.txt": (RobotsParser, LINES),
    "homepage": (HomepageLinksParser, st.lists(st.sampled_from(HTML), max_size=15).map("".join)),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_cutting_a_text_anywhere_gives_the_same(kind):
    parser, texts = TEXTS[kind]
    urls = st.sampled_from(["https://www.example.org/robots.txt", None])

    @LAW
    @given(text=texts, url=urls if parser is XmlText else urls.filter(bool), data=st.data())
    def law(text, url, data):
        cut = data.draw(pieces(text))
        assert read_text(cut, parser(url)) == read_text([text], parser(url))

    law()


class NumberedLines(LineParser):
    """Reads the lines of a text, with their numbers."""

    def read(self, text):
        return [*self.lines(text)]


def lines(parts):
    """Return the lines of a text that comes in parts, with their numbers, and what is wrong with them."""
    reader = NumberedLines()
    found = [line for part in parts for line in reader.feed(part)]
    return [*found, *reader.close()], reader.problems.listed()


@together("beyond", [-1, 0, 1])
@together("end", ["\n", ""])
def test_cutting_near_the_end_of_a_line_of_the_greatest_length_gives_the_same(beyond, end):
    text = "x" * (MAX_LINE + beyond) + end + ("next" if end else "")
    for at in range(MAX_LINE - 2, len(text)):
        assert lines(halves(text, at)) == lines([text]), f"cut {len(text) - at} before the end"


@given(st.lists(st.sampled_from(["\n", *ENDS[5:], "a", "b"])).map("".join), st.integers(1, 5))
def test_lines_end_where_python_ends_them(text, size):
    text += "c"
    assert lines(chunks(text, size)) == (list(enumerate(text.splitlines(), 1)), [])


TEXT_URL = "https://a.example/sitemap.txt"


@together(
    "odd", ["# a comment", "/relative", "", "https://u@a.example/", "\ufeffhttp://a.example/"]
)
def test_one_odd_line_leaves_the_others_together(odd):
    parser = PlainTextParser(TEXT_URL)
    text = "".join(f"https://a.example/{n}\n" if n % 10 else f"{odd}\n" for n in range(500))
    (entry,) = [*parser.feed(text), *parser.close()]
    assert isinstance(entry, PageBatch)


def test_the_lines_of_urls_among_others_are_known():
    text = "https://a.example/0\n# one\n\nhttps://a.example/1\r\nhttps://a.example/2\n"
    (batch,) = PlainTextParser(TEXT_URL).feed(text)
    block = ExaminedBlock(batch, batch.as_written, batch.block, batch.lines)
    assert block.places == [(1, 1), (4, 1), (5, 1)]
    assert [block.place(at)[0] for at in range(3)] == [1, 4, 5]


@LAW
@given(data=st.data(), content_type=CONTENT_TYPES)
def test_cutting_bytes_anywhere_gives_the_same_text(data, content_type):
    document = data.draw(encoded(SOUPS["urlset"]) | st.binary(max_size=600))
    cut = decode(data.draw(pieces(document)), content_type=content_type)
    assert cut == decode([document], content_type=content_type)


@LAW
@given(data=st.data(), role=st.sampled_from(Role), limit=st.sampled_from([None, 50, 300]))
def test_cutting_any_document_anywhere_gives_the_same_entries(data, role, limit):
    document = data.draw(st.sampled_from(list(SOUPS)).flatmap(lambda name: encoded(SOUPS[name])))
    whole = read([document], role=role, limits=Limits(unpacked_bytes=limit))
    cut = read(data.draw(pieces(document)), role=role, limits=Limits(unpacked_bytes=limit))
    assert (cut.kind, cut.refusal, cut.encoding) == (whole.kind, whole.refusal, whole.encoding)
    assert (cut.pages, cut.children) == (whole.pages, whole.children)


LONG_BEGINNINGS = [
    *(b" " * (1024 * 1024 + more) + urlset("https://www.example.org/").encode() for more in (0, 1)),
    *(b"<br>" + b"x" * stray + b"<urlset></urlset>" for stray in (60_000, 70_000)),
]


@together("size", [5000, 1 << 16, (1 << 20) + 1])
def test_cutting_many_blanks_or_much_text_before_the_root_gives_the_same(size):
    for document in LONG_BEGINNINGS:
        assert read(chunks(document, size)) == read([document])


@together("blank", [" ", "\n", "\x1c", "\u00a0"])
@together("count", [1, MAX_TEXT - 1, MAX_TEXT, MAX_TEXT + 1])
def test_cutting_blanks_before_text_in_an_entry_gives_the_same(blank, count):
    before = "<rss><channel><item><link>https://www.example.org/</link>"
    text = f"{before}{blank * count}words</item></channel></rss>"
    whole = read_text([text], XmlText())
    assert [problem.excerpt for problem in whole.problems] == ["words"]
    for at in (1, count // 2, count, count + 2):
        cut = read_text(halves(text, len(before) + at), XmlText())
        assert cut == whole, f"cut {at} after the link"
