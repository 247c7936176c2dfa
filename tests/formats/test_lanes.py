"""All lanes give what the scanner alone gives of every document, wherever it is cut."""

import pickle
from operator import attrgetter

import pytest
from formats_entries import ENTRIES, RDF
from formats_oracle import PREFIXES, SPACES
from formats_strategies import SOUPS, URL_LISTS, pieces
from formats_support import E, chunks, read, same, urlset
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
OWN = attrgetter("last_modified", "priority", "change_frequency")


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_all_lanes_give_the_same_of_a_document_wherever_it_is_cut(kind):
    texts, count = DOCUMENTS[kind]

    @settings(max_examples=examples(count))
    @given(text=texts, data=st.data())
    def law(text, data):
        whole, cut = read([text.encode()]), data.draw(pieces(text.encode()))
        assert read(cut) == whole
        same(whole, cut)
        assert list(map(OWN, read(cut, lanes="fast").pages)) == list(map(OWN, whole.pages))

    law()


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


@together("lanes", [None, True, "fast"])
def test_an_entry_of_a_feed_may_have_no_other_address_than_that_it_is_about(lanes):
    title, link = "<title>T</title>", "<link>https://e.org/linked</link>"
    for count in (1, 30):
        items = "".join(f"<item rdf:about='https://e.org/{n}'>{title}</item>" for n in range(count))
        linked = f"<item rdf:about='https://e.org/not'>{title}{link}</item>"
        reading = read([(RDF % (items + linked)).encode()], lanes=lanes)
        assert reading.urls == [*(f"https://e.org/{n}" for n in range(count)), link[6:-7]]
        assert reading.problems == ()


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


@together(
    "inside",
    [
        *("<loc><loc/>", "<loc><loc/></loc>", "<loc><lastmod/><loc/>", "<b><loc><loc/></b>"),
        *("<loc><loc xml:base='/q/'/>", "<url><image:loc><image:loc/>"),
        *("<url><loc><image:image/><loc/>", "<loc><url/>", "<loc><url><loc/>"),
    ],
)
@together("root", ["urlset", "sitemapindex"])
def test_an_empty_element_where_another_is_not_closed_costs_no_later_page(inside, root):
    document = f"<{root}>{inside}<url><loc>{E}/kept</loc></url></{root}>".encode()
    for lanes in (None, True, "fast"):
        assert read([document], lanes=lanes).urls[-1:] == [f"{E}/kept"]


@together("lanes", [None, True, "fast"])
def test_what_an_entry_declares_counts_though_the_one_before_it_is_not_closed(lanes):
    based = "<url xml:base='/q/'><loc>a</loc><url><loc>b</loc></url>"
    prefixed = f"<url xmlns:y='{SPACES['s']}'><y:loc>/c</y:loc><url xmlns:z='{SPACES['s']}'><z:loc>/d</z:loc></url>"
    reading = read([f"<urlset>{based}{prefixed}</urlset>".encode()], lanes=lanes)
    assert reading.urls == [f"{E}/q/a", f"{E}/b", f"{E}/c", f"{E}/d"]
