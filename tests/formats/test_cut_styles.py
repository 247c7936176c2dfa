"""Entries that are written alike are cut, however they are written, and mean what the scanner says."""

from __future__ import annotations

import gc
from operator import attrgetter

from formats_strategies import pieces
from formats_support import read
from hypothesis import given, settings
from hypothesis import strategies as st
from test_lanes import LAW, ROOTS, same

from profiles import examples
from together import together
from usp._formats.batches import LazyBatch
from usp._formats.document import DocumentParser
from usp._formats.xml import cut
from usp._formats.xml.cut import CutNames

ROOT = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
WAYS = {
    "attributes": "<url ><loc xml:lang='en'>\n{url}\n</loc ><lastmod>2024</lastmod></url >\n",
    "CDATA": "<url><loc><![CDATA[{url}]]></loc><lastmod><![CDATA[2024]]></lastmod></url>",
    "loc last": "<!-- {n} --><url><lastmod>2024</lastmod><priority>0.1</priority><loc>{url}</loc></url>",
    "another order": "<url><loc>{url}</loc><priority>0.1</priority><lastmod>2024</lastmod></url>",
    "image": "<url><loc>{url}</loc><image:image><image:loc>/{n}.jpg</image:loc></image:image>"
    "<lastmod>2024</lastmod></url>",
    "CRLF": "<url>\r\n\t<loc>{url}</loc>\r\n\t<lastmod>2024</lastmod>\r\n</url>\r\n",
}


def document_of(way: str, count: int = 5000) -> bytes:
    urls = (f"https://www.example.org/{n}" for n in range(count))
    entries = "".join(way.format(n=n, url=url) for n, url in enumerate(urls))
    return f"{ROOT}\n{entries}</urlset>".encode()


@together("way", WAYS.values())
def test_entries_written_alike_are_cut_in_large_blocks(way):
    parser = DocumentParser("https://www.example.org/sitemap.xml", fast=True)
    batches = [*parser.feed(document_of(way)), *parser.close()]
    cut_batches = [batch for batch in batches if isinstance(batch, LazyBatch)]
    urls = [url for batch in batches for url in batch.urls]
    assert urls == [f"https://www.example.org/{n}" for n in range(5000)]
    pages = [page for batch in batches for page in batch.pages()]
    assert {page.last_modified.year for page in pages} == {2024}
    is_simple = "image" not in way
    assert all(bool(batch.texts()) is is_simple for batch in batches)
    if is_simple:
        assert len(cut_batches) == len(batches) < 5
    else:  # the first ones are read with all of their fields
        assert sum(len(batch.urls) for batch in cut_batches) > 4000


TAGS = st.sampled_from(
    [
        *("", "", " ", "\n", " a='1'", ' xml:lang="en" ', " a='1' b='2'", " xml:base='/b/'"),
        *(" a=1", " a", " xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'", " a='&amp;'", "/"),
    ]
)
GAPS = st.sampled_from(
    ["", "", "\n", "\r\n  ", " \t", "\x0b", "\xa0", "word", "<!-- c -->", "<b/>"]
)
BETWEEN = st.sampled_from(
    [
        *(
            "",
            "",
            "\n",
            "<!-- c -->",
            "<!--c-d-->\n<!-- e -->",
            "<!-- a -- b -->",
            "<!--->",
            "<!-->",
        ),
        *("<!-- <url><loc>https://e.org/no</loc></url> -->", "<!-- \x01 -->", "<?p i?>", "word"),
    ]
)
ADDRESSES = st.sampled_from(
    [
        *("https://e.org/{}", "https://e.org/{}", "\n https://e.org/{}\n", "https://e.org/{} "),
        *(
            "<![CDATA[https://e.org/{}]]>",
            "<![CDATA[ https://e.org/{}?a&b&amp;c\n]]>",
            "/{}",
            "/a/{}/",
        ),
        *(
            "<![CDATA[/{}]]>",
            "<![CDATA[https://e.org/{}",
            "https://e.org/{}]]>",
            "//e.org/{}",
            "{}",
        ),
        *(
            "https://e.org/{}?a&amp;b",
            "https://e.org/\u00e4/{}",
            "/{}?a&amp;b",
            "/{}?a&#38;b",
            "/../{}",
        ),
        *(
            "https://e.org/<b>{}</b>",
            "<![CDATA[https://e.org/<{}>]]>",
            "https://e.org/{}<![CDATA[x]]>",
        ),
        *("https://e.org/{}&#47;", "https://e.org/{};&amp;amp;", "https:// e.org/{}", "/{} /"),
    ]
)
VALUES = st.sampled_from(
    ["2024", " 2024-01-02 ", "<![CDATA[2024]]>", "<![CDATA[0.3", "0.3]]>", "\n0.3\n", "", "x" * 101]
)
NAMES = ["lastmod", "changefreq", "priority", "other", "loc"]
FIELD = st.builds("<{0}>{1}</{0}>".format, st.sampled_from(NAMES), VALUES)
OTHERS = st.sampled_from(
    [
        "<image:image><image:loc>/{}.jpg</image:loc></image:image>",
        "<image:image><image:loc>/{}.jpg</image:loc>",
        "<image:image><image:loc>/{}.jpg</image:image>",
        "<image:image><image:image/></image:image>",
        "<image:image><lastmod>2023</lastmod></image:image>",
        "<image:image><sm:lastmod>2023</sm:lastmod></image:image>",
        "<sm:lastmod>2022</sm:lastmod>",
        "<lastmod.x>2022</lastmod.x>",
        "<lastmod type='x'>2022</lastmod>",
        "<mobile:mobile/>",
        '<xhtml:link rel="alternate" hreflang="de" href="/de/{}"/>',
        '<xhtml:link rel="alternate" hreflang="de" href="/de/{}">',
        '<xhtml:link rel="alternate" hreflang="de>" href="/de/{}/>"/>',
        "<news:news><news:title>A &amp; B</news:title></news:news >",
        "<news:news a='1' b=\"2\" />",
        "<other>word</other>word",
        "</other>",
        "</urlset>",
    ]
)
FIELDS = st.lists(FIELD | OTHERS, max_size=4)


@st.composite
def styles(draw: st.DrawFn) -> str:
    """Draw how an entry is written; the braces are for its number."""
    url, loc, gap = draw(TAGS), draw(TAGS), draw(GAPS)
    before, after = ("".join(f"{field}{gap}" for field in draw(FIELDS)) for _ in range(2))
    end = draw(st.sampled_from(["", "", " ", "\n", " a"]))
    return (
        f"{draw(BETWEEN)}<url{url}>{gap}{before}<loc{loc}>{draw(ADDRESSES)}</loc{end}>{gap}{after}"
        f"</url{draw(st.sampled_from(['', end]))}>"
    )


@settings(LAW, max_examples=examples(800))
@given(
    data=st.data(),
    root=st.sampled_from(ROOTS),
    runs=st.lists(st.tuples(styles(), st.integers(1, 8)), min_size=1, max_size=3),
)
def test_all_lanes_give_the_same_pages_of_runs_of_entries_of_one_style(data, root, runs):
    entries, at = "", 0
    for style, count in runs:
        for _ in range(count):
            entries += style.replace("{}", str(at))
            at += 1
    text = f"{root}{entries}</urlset>".encode()
    whole, cut = read([text]), data.draw(pieces(text))
    same(whole, cut)
    assert list(map(OWN, read(cut, lanes="fast").pages)) == list(map(OWN, whole.pages))


OWN = attrgetter("last_modified", "priority", "change_frequency")


def test_columns_give_the_garbage_collector_nothing_to_do():
    """A tuple for each entry would: it would run again and again."""
    entry = "<url><loc>https://x.org/{}</loc><lastmod>2024-05-01</lastmod><priority>0.1</priority></url>"
    block = "".join(map(entry.format, range(3000)))
    _, style = cut.shape_of(block, CutNames("url", (), ()))
    assert style is not None
    cut.columns(block, style)  # the pattern is known from now on
    before = gc.get_threshold()
    gc.collect()
    runs: list[object] = []
    gc.callbacks.append(lambda *run: runs.append(run))
    gc.set_threshold(1000, 10, 10)
    try:
        found = cut.columns(block, style)
    finally:
        gc.set_threshold(*before)
        gc.callbacks.pop()
    assert not runs
    assert found is not None
    assert list(map(len, found.values())) == [3000] * 3
