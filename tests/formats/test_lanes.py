"""All lanes give what the scanner alone gives of every document, wherever it is cut."""

from __future__ import annotations

import pickle

import pytest
from formats_strategies import SOUPS, pieces
from formats_support import chunks, read, same, urlset
from hypothesis import given, settings
from hypothesis import strategies as st
from test_pages_equal_oracle import PREFIXES, SPACES, URL, document

from profiles import examples
from together import together
from usp._formats.abstract_parser import PageBatch
from usp._formats.document import DocumentParser
from usp._formats.xml.blocks import MAX_ENTRY
from usp._formats.xml.xml_parser import MAX_DEPTH

LAW = settings(max_examples=examples(200))


@pytest.mark.parametrize("format_", SOUPS)
@LAW
@given(data=st.data())
def test_all_lanes_give_the_same_pages_of_documents_full_of_damage(format_, data):
    soup = data.draw(SOUPS[format_]).encode()
    same(read([soup]), data.draw(pieces(soup)))


REGULAR = [
    *("<url><loc>https://e.org/1</loc></url>", "<url>\n<loc> https://e.org/2 </loc>\n</url>\n"),
    *("<url><loc>https://e.org/3</loc><lastmod>2024-01-02</lastmod></url>", "\n"),
    "<url><loc>https://e.org/4</loc><priority>0.3</priority><priority>x</priority></url>",
    "<url><loc>https://e.org/5</loc><lastmod>2024</lastmod><changefreq>Daily</changefreq></url>",
    "<url><loc>https://e.org/?a&amp;b</loc></url>",
    "<url><loc>https://e.org/é&#38;&eacute;</loc></url>",
    *("<url><loc><![CDATA[https://e.org/6?a&b]]></loc></url>", "<!-- <url><loc>no</loc></url> -->"),
    *("<url><lastmod>2024</lastmod><loc>https://e.org/7</loc></url>", "<url><loc>/8</loc></url>"),
    *("<url><loc>https://e.org/9</loc><loc>https://e.org/10</loc></url>", "<url/>", "<url></url>"),
    '<url><loc>https://e.org/11</loc><xhtml:link rel="alternate" hreflang="de" href="/de"/></url>',
    "<url><loc>https://e.org/12</loc><image:image><image:loc>/i</image:loc></image:image></url>",
    *("<url><loc>https://e.org/13</loc><b><lastmod>2024</lastmod></b></url>", "<url a='</url>'>"),
    *("<url><loc>https://e.org/14</loc><!-- </url> --><lastmod>2023</lastmod></url>", "words"),
    *("<url><loc>https://u:p@e.org/15</loc></url>", "<url><loc>HTTP://e.org/16</loc></url>"),
    *("<url><loc>https://e.org/a b</loc></url>", "<url><loc>https://[::1]/</loc></url>", "<loc>"),
    "<url><loc>https://e.org/17</loc><news:news><news:title>T</news:title></news:news></url>",
    *("<url><loc>https://e.org/18</loc><lastmod><![CDATA[2024]]></lastmod></url>", "</urlset>"),
    *("<url><loc>https://e.org/19</loc><lastmod>2024", "<url><loc>https://e.org/20</loc>"),
    *("</url>", "<url><loc>https://\u043f.example/21</loc></url>"),
    "<url><loc>https://e.org/22\x0b</loc></url>",
    "<sm:url><sm:loc>https://e.org/23</sm:loc></sm:url>",
    "<url><sm:loc>https://e.org/24</sm:loc></url>",
    "<url><loc>https://e.org/25</loc><priority>&#48;.2</priority><lastmod> \n</lastmod></url>",
    *("<!--", "<url><loc><![CDATA[https://e.org/26\x08]]></loc></url>", "<url>/27</url>"),
    *("<url href='/28'/>", "<url><lastmod>2024</lastmod>/29</url>"),
    "<url><loc>https://e.org/30</loc><loc#>https://e.org/31</loc></url>",
    "<url><loc>https://e.org/32</loc></url#><url,>/33</url>",
    "<url><loc>https://e.org/34</loc><loc:a/><loc-b/><!-- --><url.c/></url>",
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
        *("<priority>2</priority>", "<priority>&#48;.2</priority>"),
        *("<changefreq>daily</changefreq>", "<changefreq>Hourly</changefreq>"),
        *("<changefreq>never</changefreq >", "<other>1</other>"),
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


GAP = st.sampled_from(
    [
        *("", "", "\n ", "&#160;", "&#32;", "&#x9;", "\n&#10; &#x000A0;", "&#8195;", "&#65279;"),
        *("&nbsp;", "&#0;", "\u00a0", "w", "&#160;w", "<![CDATA[ ]]>", "<!-- c -->", "&#1"),
    ]
)
CASES_OF = {
    "image": ("image", "IMAGE", "Image"),
    "i": ("i", "I"),
    "sm": ("sm", "SM", "Sm"),
    "news": ("news", "NEWS"),
    "xhtml": ("xhtml", "XHTML"),
    "o": ("o", "O"),
    "": ("",),
}
URIS = {
    "image": SPACES["image"],
    "i": SPACES["image"],
    "sm": SPACES["s"],
    "": SPACES["s"],
    "news": SPACES["news"],
    "xhtml": SPACES["xhtml"],
    "o": "urn:other",
}


@st.composite
def declarations(draw, *, most=2):
    """Declare prefixes, some in capitals, and some as what they usually are not."""
    written = ""
    for prefix in draw(st.lists(st.sampled_from(list(CASES_OF)), max_size=most, unique=True)):
        name = draw(st.sampled_from(CASES_OF[prefix]))
        uri = URIS[draw(st.sampled_from([prefix, prefix, prefix, *URIS]))]
        written += f' xmlns{":" if name else ""}{name}="{uri}"'
    return written


@st.composite
def named(draw, prefixes, local, inside, attributes=""):
    """Write an element; its tags may declare prefixes, and write their own in another case."""
    prefix = draw(st.sampled_from([name for one in prefixes for name in CASES_OF[one]]))
    name = f"{prefix}:{local}" if prefix else local
    declared = draw(declarations()) if draw(st.integers(0, 3)) == 0 else ""
    if inside is None:
        return f"<{name}{declared}{attributes}/>"
    return f"<{name}{declared}{attributes}>{inside}</{name}>"


@st.composite
def shape(draw, entry, fields):
    """Write an entry with some of these fields, in any order, and with any blanks between them."""
    count = draw(st.integers(0, 5))
    chosen = draw(st.permutations(fields))[:count]
    inside = [draw(one) for one in chosen]
    gap, other = draw(GAP), draw(st.just("") | GAP)
    at = draw(st.integers(0, len(inside)))
    inside[at:at] = [other] if other else []
    return draw(named(["", "", "sm"], entry, gap.join(["", *inside, ""]))), draw(GAP)


def runs(root, entry, fields):
    """Write documents with runs of entries, each of one shape: what is learned from one is tried."""
    run = st.tuples(shape(entry, fields), st.integers(1, 4))

    def write(declared, around, runs):
        texts, at = [], 0
        for (text, gap), count in runs:
            for _ in range(count):
                at += 1
                texts.append(text.replace("{n}", str(at)) + gap)
        begin, end = around
        return f"<{root}{declared}>{begin}{''.join(texts)}{end}</{root}>".encode()

    declared = st.sampled_from(["", f' xmlns="{SPACES["s"]}" {PREFIXES}']) | declarations(most=5)
    around = st.sampled_from([("", ""), ("", ""), ("\n", "\n"), ("<o xmlns:i='urn:o'>", "</o>")])
    return st.builds(write, declared, around, st.lists(run, min_size=1, max_size=4))


OWN = ["", "", "", "sm", "o"]
IMAGES = named(["image", "i"], "loc", "https://e.org/{n}.png").flatmap(
    lambda inside: named(["image", "i"], "image", inside)
)
LINKS = named(["xhtml"], "link", None, ' rel="alternate" hreflang="de" href="https://e.org/{n}"')
RUNS = {
    "urlset": runs(
        "urlset",
        "url",
        [
            *(
                named(OWN, "loc", text)
                for text in ("https://e.org/{n}", "https://e.org/a{n}", "/{n}")
            ),
            *(
                named(OWN, "lastmod", text)
                for text in ("2024-01-0{n}", "2999", "x", "", " &#32;2024")
            ),
            *(named(OWN, "priority", text) for text in ("0.3", "2")),
            *(named(OWN, "changefreq", text) for text in ("daily", "x")),
            *(IMAGES, IMAGES, LINKS, named(["o"], "b", "<lastmod>2024</lastmod>")),
        ],
    ),
    "index": runs(
        "sitemapindex",
        "sitemap",
        [
            *(named(OWN, "loc", text) for text in ("https://e.org/{n}.xml", "/{n}.xml")),
            *(named(OWN, "lastmod", text) for text in ("2024-01-0{n}", "x", "")),
            *(named(OWN, "changefreq", "daily"), IMAGES),
        ],
    ),
    "rss": runs(
        "rss",
        "item",
        [
            *(named(OWN, "link", text) for text in ("https://e.org/{n}", "https://e.org/a{n}")),
            *(named(OWN, "title", text) for text in ("T {n}", "&#160;", "<b>T</b>")),
            *(named(OWN, "pubDate", text) for text in ("Thu, 05 Jan 2017 12:34:51 GMT", "x")),
            *(named(OWN, "guid", "https://e.org/g{n}"), named(["o"], "date", "2024"), IMAGES),
        ],
    ),
    "atom": runs(
        "feed",
        "entry",
        [
            *(
                named(OWN, "link", None, f' href="https://e.org/{{n}}"{more}')
                for more in ("", " rel='x'")
            ),
            *(named(OWN, "title", text) for text in ("T {n}", "&#160;", "<b>T</b>")),
            *(named(OWN, "updated", text) for text in ("2024-01-02T03:04:05Z", "x")),
            *(named(OWN, "id", "https://e.org/g{n}"), named(["o"], "published", "2024"), IMAGES),
        ],
    ),
}


@pytest.mark.parametrize("format_", RUNS)
@settings(LAW, max_examples=examples(100))
@given(data=st.data())
def test_all_lanes_give_the_same_of_fields_in_any_order_and_prefixes_declared_anywhere(
    format_, data
):
    text = data.draw(RUNS[format_])
    same(read([text]), data.draw(pieces(text)))


PAGE = "<url{more}><loc>https://e.org/{{n}}</loc>{inside}</url>"
OWN_SPACE, IMAGE_SPACE = (f'="{SPACES[name]}"' for name in ("s", "image"))
PICTURE = "<{0}:image{1}><{0}:loc>/{0}</{0}:loc></{0}:image>"
WRITTEN = {
    "a loc with a prefix in capitals": ("", "<SM:loc>https://e.org/b{n}</SM:loc>"),
    "an entry with a prefix in capitals": ("", "<Sm:url><sm:loc>/b{n}</sm:loc></Sm:url>"),
    "a loc that declares its prefix": ("", f"<q:loc xmlns:q{OWN_SPACE}>/b{{n}}</q:loc>"),
    "an entry that declares a prefix": (
        f" xmlns:i{IMAGE_SPACE}",
        PICTURE.format("I", "") + PICTURE.format("i", ""),
    ),
    "an image that declares a prefix": (
        "",
        PICTURE.format("I", f" xmlns:i{IMAGE_SPACE}") + PICTURE.format("i", ""),
    ),
    "a prefix in capitals that is declared again": (
        ' xmlns:image="urn:other"',
        PICTURE.format("IMAGE", "") + PICTURE.format("image", ""),
    ),
    "fields before locs elsewhere": ("", PICTURE.format("image", "")),
    "blanks as references": ("", f"&#160;{PICTURE.format('image', '')}&#32;\n&#x9;"),
    "many blanks as references": ("", "&#160;" * 3000),
}


@together("size", [1 << 20, 7])
@together("written", WRITTEN)
def test_all_lanes_give_the_same_of_entries_among_usual_ones(written, size):
    more, inside = WRITTEN[written]
    odd = PAGE.format(more=more, inside=inside)
    other = PAGE.format(more="", inside=PICTURE.format("image", "")) * 3
    turned = "<url><lastmod>2999-01-01</lastmod><loc>https://e.org/{n}</loc></url>&#160;"
    for entries in (odd * 9, other + odd, other + odd + turned, turned + odd + other):
        first, *parts = entries.split("{n}")
        text = first + "".join(f"{at}{part}" for at, part in enumerate(parts))
        root = f'<urlset xmlns="{SPACES["s"]}" xmlns:sm="{SPACES["s"]}" {PREFIXES}>'
        data = f"{root}{text}</urlset>".encode()
        same(read([data]), chunks(data, size))


def batches(text, **options):
    parser = DocumentParser("https://www.example.org/", fast=True, **options)
    entries = [*parser.feed(text.encode()), *parser.close()]
    return [entry for entry in entries if isinstance(entry, PageBatch)]


def test_regular_documents_are_cut():
    urls = [f"https://www.example.org/{n}" for n in range(1000)]
    assert [url for batch in batches(urlset(*urls)) for url in batch.urls] == urls
    lines = "\n".join(urls) + "\n"
    assert [url for batch in batches(lines) for url in batch.urls] == urls


@together(
    "inside", ["<url>/2</url>", "<url href='/2'/></url>", "<url ><lastmod>2024</lastmod>/2</url>"]
)
def test_all_lanes_find_an_entry_without_a_loc_in_one_that_is_not_closed(inside):
    text = urlset("https://e.org/0", f"<url><loc>https://e.org/1</loc>{inside}", "https://e.org/3")
    slow = read([text.encode()])
    paths = [url.rpartition("/")[2] for url in slow.urls]
    assert paths == ["0", "1", "2", "3"]
    same(slow, [text.encode()])


@together("depth", range(MAX_DEPTH - 6, MAX_DEPTH + 2))
@together("nested", ["<o:o></o:other>", "<o:o>"])
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
