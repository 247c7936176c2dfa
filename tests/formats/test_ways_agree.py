"""All ways give what the scanner alone gives of every document, wherever it is cut."""

import pickle
from operator import attrgetter

import pytest
from formats_entries import ENTRIES
from formats_oracle import PREFIXES, SPACES
from formats_strategies import SOUPS, URL_LISTS, pieces
from formats_support import E, read, same, urlset
from hypothesis import given, settings
from hypothesis import strategies as st
from test_pages_equal_oracle import URL, document

from profiles import examples
from together import together
from usp._formats.abstract_parser import PageBatch
from usp._formats.document import DocumentParser
from usp._formats.xml.blocks import MAX_ENTRY
from usp._formats.xml.xml_parser import MAX_DEPTH

DOCUMENTS = {  # and how many are tried
    **{f"damage in {name}": (texts, 200) for name, texts in SOUPS.items()},
    **ENTRIES,
    "lists of URLs": (URL_LISTS, 1000),
    "well-formed": (document("urlset", URL, f'xmlns="{SPACES["s"]}" {PREFIXES}'), 200),
}
SELF = attrgetter("images", "last_modified", "priority", "change_frequency")


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_all_ways_give_the_same_of_a_document_wherever_it_is_cut(kind):
    texts, count = DOCUMENTS[kind]

    @settings(max_examples=examples(count))
    @given(text=texts, data=st.data())
    def law(text, data):
        whole, cut = read([text.encode()]), data.draw(pieces(text.encode()))
        assert read(cut) == whole
        same(whole, cut)
        assert list(map(SELF, read(cut, blocks="fast").pages)) == list(map(SELF, whole.pages))

    law()


def batches(text, **options):
    parser = DocumentParser("https://www.example.org/", fast=True, **options)
    entries = [*parser.feed(text.encode()), *parser.close()]
    return [entry for entry in entries if isinstance(entry, PageBatch)]


@together("depth", range(MAX_DEPTH - 6, MAX_DEPTH + 2))
@together("nested", ["<o:o></o:other>", "<o:o>"])
def test_all_ways_read_an_entry_to_the_same_depth(depth, nested):
    image = "<image:image><image:loc>https://e.org/i</image:loc></image:image>"
    ends = "</o:o>" * depth if nested == "<o:o>" else ""
    inside = f"<url><loc>https://e.org/1</loc>{nested * depth}{image}{ends}</url>"
    text = urlset(inside, extra=PREFIXES).encode()
    slow = read([text])
    assert bool(slow.pages[0].images) == (depth < MAX_DEPTH - 3)
    same(slow, [text])


@together("depth", [MAX_DEPTH - 4, MAX_DEPTH, 2000])
@together("field", ["lastmod", "image:title"])
def test_all_ways_read_a_field_with_elements_inside_it(depth, field):
    inside = f"<{field}>{'<b>' * depth}2020{'</b>' * depth}</{field}>"
    image = f"<image:image><image:loc>/i</image:loc>{inside}</image:image>"
    text = urlset(
        f"<url><loc>https://e.org/1</loc>{image if ':' in field else inside}</url>",
        extra=PREFIXES,
    ).encode()
    same(read([text]), [text])


@together("url", ["/?a&amp;b", "/?a&amp;amp;b", "/?a&b", "/?a&b;c", "/?a&eacute;b"])
def test_all_ways_read_references_in_cdata(url):
    text = urlset(f"<url><loc><![CDATA[{E}{url}]]></loc></url>").encode()
    same(read([text]), [text])


def test_all_ways_take_the_same_tags_for_declarations():
    image = '<image:image><image:loc a="xmlns" XMLNS:image="urn:y">/i</image:loc></image:image>'
    text = urlset(f"<url><loc>https://e.org/1</loc>{image}</url>", extra=PREFIXES).encode()
    same(read([text]), [text])


def test_an_entry_too_large_for_a_block_does_not_end_the_quick_ways():
    urls = [f"https://www.example.org/{n}" for n in range(100)]
    large = f"<url><loc>https://www.example.org/large</loc><o>{'x' * (MAX_ENTRY + 1)}</o></url>"
    text = urlset(large, *urls)
    end = text.index("</o>")
    parser = DocumentParser("https://www.example.org/", fast=True)
    parser.feed(text[:end].encode())
    (entry, batch) = parser.feed(text[end:].encode())
    assert entry.page().url == "https://www.example.org/large"
    assert batch.urls == urls


def test_pages_of_a_batch_are_values_like_all_others():
    entry = "<url><loc>https://www.example.org/1</loc><lastmod>2024-01-02</lastmod></url>"
    (batch,) = batches(urlset(entry, entry))
    first, second = batch.pages()
    (slow, _) = read([urlset(entry, entry).encode()]).pages
    assert first == second == slow
    assert hash(first) == hash(slow)
    assert repr(first) == repr(slow)
    assert pickle.loads(pickle.dumps(first)) == slow
    assert (first == None) is False  # noqa: E711 - programs write it so
    with pytest.raises(AttributeError):
        first.url = "x"
