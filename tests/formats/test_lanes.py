"""All lanes give what the scanner alone gives of every document, wherever it is cut."""

from __future__ import annotations

import pickle

import pytest
from formats_strategies import SOUPS, pieces
from formats_support import chunks, corpus, read, urlset
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_pages_equal_oracle import PREFIXES, SPACES, URL, document

from profiles import examples
from usp._formats.abstract_parser import PageBatch
from usp._formats.document import DocumentParser
from usp._formats.xml.lanes import MAX_ENTRY
from usp._formats.xml.nesting import MAX_DEPTH
from usp.objects.problem import MAX_PROBLEMS

LAW = settings(
    deadline=None, max_examples=examples(200), suppress_health_check=[HealthCheck.too_slow]
)
CASES = pytest.mark.parametrize("case", corpus(), ids=lambda case: case.name)


def same(whole, pieces, **options):
    """Read pieces by all lanes, and compare with what the scanner alone has read."""
    for lanes in (True, "fast"):
        given = read(pieces, lanes=lanes, **options)
        assert (given.kind, given.refusal) == (whole.kind, whole.refusal)
        assert given.children == whole.children
        assert given.urls == whole.urls
        assert given.pages == whole.pages
        assert [page.to_dict() for page in given.pages] == [page.to_dict() for page in whole.pages]
        if lanes is True and whole.refusal is None and len(whole.problems) < MAX_PROBLEMS:
            assert given.problems == whole.problems


@CASES
def test_all_lanes_give_the_same_pages_of_a_case(case):
    whole = case.read([case.data])
    for size in (1, 100, 1 << 20):
        same(whole, chunks(case.data, size), **case.options)


@pytest.mark.parametrize("format_", SOUPS)
@LAW
@given(data=st.data())
def test_all_lanes_give_the_same_pages_of_documents_full_of_damage(format_, data):
    soup = data.draw(SOUPS[format_]).encode()
    same(read([soup]), data.draw(pieces(soup)))


REGULAR = [
    *("<url><loc>https://e.org/1</loc></url>", "<url>\n<loc> https://e.org/2 </loc>\n</url>\n"),
    *("<url><loc>https://e.org/3</loc><lastmod>2024-01-02</lastmod></url>", "\n"),
    *("<url><loc>https://e.org/4</loc><priority>0.3</priority><priority>x</priority></url>",),
    *(
        "<url><loc>https://e.org/5</loc><lastmod>2024</lastmod><changefreq>Daily</changefreq></url>",
    ),
    *(
        "<url><loc>https://e.org/?a&amp;b</loc></url>",
        "<url><loc>https://e.org/é&#38;&eacute;</loc></url>",
    ),
    *("<url><loc><![CDATA[https://e.org/6?a&b]]></loc></url>", "<!-- <url><loc>no</loc></url> -->"),
    *("<url><lastmod>2024</lastmod><loc>https://e.org/7</loc></url>", "<url><loc>/8</loc></url>"),
    *("<url><loc>https://e.org/9</loc><loc>https://e.org/10</loc></url>", "<url/>", "<url></url>"),
    *(
        '<url><loc>https://e.org/11</loc><xhtml:link rel="alternate" hreflang="de" href="/de"/></url>',
    ),
    *(
        "<url><loc>https://e.org/12</loc><image:image><image:loc>/i</image:loc></image:image></url>",
    ),
    *("<url><loc>https://e.org/13</loc><b><lastmod>2024</lastmod></b></url>", "<url a='</url>'>"),
    *("<url><loc>https://e.org/14</loc><!-- </url> --><lastmod>2023</lastmod></url>", "words"),
    *("<url><loc>https://u:p@e.org/15</loc></url>", "<url><loc>HTTP://e.org/16</loc></url>"),
    *("<url><loc>https://e.org/a b</loc></url>", "<url><loc>https://[::1]/</loc></url>", "<loc>"),
    *("<url><loc>https://e.org/17</loc><news:news><news:title>T</news:title></news:news></url>",),
    *("<url><loc>https://e.org/18</loc><lastmod><![CDATA[2024]]></lastmod></url>", "</urlset>"),
    *(
        "<url><loc>https://e.org/19</loc><lastmod>2024",
        "<url><loc>https://e.org/20</loc>",
        "</url>",
    ),
    *(
        "<url><loc>https://\u043f.example/21</loc></url>",
        "<url><loc>https://e.org/22\x0b</loc></url>",
    ),
    *(
        "<sm:url><sm:loc>https://e.org/23</sm:loc></sm:url>",
        "<url><sm:loc>https://e.org/24</sm:loc></url>",
    ),
    *(
        "<url><loc>https://e.org/25</loc><priority>&#48;.2</priority><lastmod> \n</lastmod></url>",
        "<!--",
    ),
    *(
        "<url><loc><![CDATA[https://e.org/26\x08]]></loc></url>",
        "<url>/27</url>",
        "<url href='/28'/>",
        "<url><lastmod>2024</lastmod>/29</url>",
        "<url><loc>https://e.org/30</loc><loc#>https://e.org/31</loc></url>",
        "<url><loc>https://e.org/32</loc></url#><url,>/33</url>",
        "<url><loc>https://e.org/34</loc><loc:a/><loc-b/><!-- --><url.c/></url>",
    ),
]
ROOTS = [
    "<urlset>",
    f'<urlset xmlns="{SPACES["s"]}" {PREFIXES}>',
    f'<urlset xmlns="{SPACES["s"]}" xmlns:sm="{SPACES["s"]}">',
    '<urlset xml:base="https://base.example/x/">',
]


@settings(LAW, max_examples=examples(600))
@given(
    data=st.data(),
    root=st.sampled_from(ROOTS),
    entries=st.lists(st.sampled_from(REGULAR), max_size=12),
)
def test_all_lanes_give_the_same_pages_of_entries_of_many_shapes(data, root, entries):
    text = f"{root}{''.join(entries)}</urlset>".encode()
    same(read([text]), data.draw(pieces(text)))


@LAW
@given(text=document("urlset", URL, f'xmlns="{SPACES["s"]}" {PREFIXES}'), data=st.data())
def test_all_lanes_give_the_same_pages_of_well_formed_documents(text, data):
    same(read([text.encode()]), data.draw(pieces(text.encode())))


FIELD = st.sampled_from(
    [
        *("<lastmod>2024-01-02</lastmod>", "<lastmod> 2024\n</lastmod>", "<lastmod>x</lastmod>"),
        *("<lastmod></lastmod>", "<lastmod a='b'>2024</lastmod>", "<priority>0.3</priority>"),
        *(
            "<priority>2</priority>",
            "<priority>&#48;.2</priority>",
            "<changefreq>daily</changefreq>",
        ),
        *("<changefreq>Hourly</changefreq>", "<changefreq>never</changefreq >", "<other>1</other>"),
    ]
)


@settings(LAW, max_examples=examples(400))
@given(
    shapes=st.lists(
        st.tuples(
            st.lists(FIELD, max_size=4), st.sampled_from(["", "\n ", "w"]), st.integers(1, 9)
        ),
        max_size=4,
    ),
    data=st.data(),
)
def test_all_lanes_give_the_same_pages_of_runs_of_entries_of_one_shape(shapes, data):
    entries, at = "", 0
    for fields, gap, count in shapes:
        for _ in range(count):
            entries += f"<url><loc>https://e.org/{at}</loc>{gap}{gap.join(fields)}</url>{gap}"
            at += 1
    text = f"<urlset>{entries}</urlset>".encode()
    same(read([text]), data.draw(pieces(text)))


def batches(text, **options):
    parser = DocumentParser("https://www.example.org/", fast=True, **options)
    entries = [*parser.feed(text.encode()), *parser.close()]
    return [entry for entry in entries if isinstance(entry, PageBatch)]


def test_regular_documents_are_cut():
    urls = [f"https://www.example.org/{n}" for n in range(1000)]
    assert [url for batch in batches(urlset(*urls)) for url in batch.urls] == urls
    lines = "\n".join(urls) + "\n"
    assert [url for batch in batches(lines) for url in batch.urls] == urls


@pytest.mark.parametrize(
    "inside",
    ["<url>/2</url>", "<url href='/2'/></url>", "<url ><lastmod>2024</lastmod>/2</url>"],
)
def test_all_lanes_find_an_entry_without_a_loc_in_one_that_is_not_closed(inside):
    text = urlset("https://e.org/0", f"<url><loc>https://e.org/1</loc>{inside}", "https://e.org/3")
    slow = read([text.encode()])
    paths = [url.rpartition("/")[2] for url in slow.urls]
    assert paths == ["0", "1", "2", "3"]
    same(slow, [text.encode()])


@pytest.mark.parametrize("depth", range(MAX_DEPTH - 6, MAX_DEPTH + 2))
@pytest.mark.parametrize("nested", ["<o:o></o:other>", "<o:o>"])
def test_all_lanes_read_an_entry_to_the_same_depth(depth, nested):
    image = "<image:image><image:loc>https://e.org/i</image:loc></image:image>"
    ends = "</o:o>" * depth if nested == "<o:o>" else ""
    inside = f"<url><loc>https://e.org/1</loc>{nested * depth}{image}{ends}</url>"
    text = urlset(inside, extra=PREFIXES).encode()
    slow = read([text])
    assert bool(slow.pages[0].images) == (depth < MAX_DEPTH - 3)
    same(slow, [text])


def test_an_entry_too_large_for_a_block_does_not_end_the_quick_lanes():
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
