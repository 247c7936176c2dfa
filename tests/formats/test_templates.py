"""Entries with extensions are read in columns, whatever is left out, and in whatever order it is written."""

from __future__ import annotations

import re

import pytest
from formats_support import URL, read
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles import examples
from usp._formats.abstract_parser import PageBatch
from usp._formats.document import DocumentParser
from usp._formats.extensions import NAMES
from usp._formats.templates import Element, example
from usp._formats.xml.namespaces import Space
from usp._formats.xml.trees import Trees, Unvouched

ROOT = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    ' xmlns:xhtml="http://www.w3.org/1999/xhtml" xmlns:o="http://example.org/other"'
    ' xmlns:i="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:n="http://www.google.com/schemas/sitemap-news/0.9"'
    ' xmlns:v="http://www.google.com/schemas/sitemap-video/1.1">'
)
LOC = "<i:loc>https://e.org/{n}.png?a&amp;b</i:loc>"
TITLE, CAPTION = "<i:title>Straße &amp;amp; {n}</i:title>", "<i:caption>&#8211; c\n </i:caption>"
TAGS = "<v:tag>a &lt; {n}</v:tag>\n<v:tag> </v:tag><v:tag>b</v:tag>"
PLAYER = '<v:player_loc allow_embed="yes" autoplay="a=1">/p{n}</v:player_loc>'
LINK = '<xhtml:link rel="alternate" hreflang="de-{n}" href="https://e.org/{n}?a&amp;b"/>'
TURNED = "<xhtml:link href='/{n}' hreflang='x' rel='alternate' />"
NEWS = (
    "<n:news>\n <n:publication>\n  <n:name>N</n:name><n:language>en</n:language>\n </n:publication>"
    "<n:publication_date>2024-01-02T0{d}:00:00Z</n:publication_date><n:title>T {n}</n:title>%s</n:news>"
)
CDATA = "<i:title><![CDATA[<b>R&D</b> &amp; {n} ]]></i:title>"
PARTS = {
    "an image": f"<i:image>{LOC}</i:image>",
    "images": f"<i:image>{LOC}</i:image>\n<i:image>{LOC}{TITLE}{CAPTION}</i:image>",
    "a caption": f"<i:image>\n{LOC}\n{CAPTION}\n</i:image>",
    "another order": f"<i:image>{CAPTION}{TITLE}{LOC}</i:image>",
    "CDATA": f"<i:image>{LOC}{CDATA}</i:image>",
    "news": NEWS % "",
    "keywords": NEWS % "<n:keywords>a, b,, {d}</n:keywords>",
    "a video": "<v:video><v:title>T</v:title><v:duration>{d}</v:duration></v:video>",
    "tags": f"<v:video><v:title>T</v:title>{TAGS}</v:video>",
    "a tag": "<v:video><v:title>T</v:title><v:tag>{n} &amp;amp; </v:tag></v:video>",
    "a player": f"<v:video><v:title>T</v:title>{PLAYER}<v:live>no</v:live></v:video>",
    "links": f"{LINK}\n{LINK}\n",
    "other links": f"{LINK}{TURNED}{TURNED}",
    "fields": "<lastmod>2024-01-0{d}</lastmod><changefreq>daily</changefreq>",
    "the fields turned": "<changefreq>daily</changefreq><lastmod>2024-01-0{d}</lastmod>",
    "nothing": "",
    "something else": "<o:a>{n}</o:a><o:b><o:c>{d}</o:c></o:b>",
}


def document(kinds, count=120):
    """Return a document whose entries have such parts, in turn."""
    entries = []
    for n in range(count):
        inside = "".join(PARTS[part] for part in kinds[n % len(kinds)])
        inside = inside.replace("{n}", str(n)).replace("{d}", str(1 + n % 9))
        entries.append(f"<url>\n <loc>https://e.org/{n}?a&amp;b</loc>\n {inside}\n</url>\n")
    return f"{ROOT}{''.join(entries)}</urlset>".encode()


def looked_at(data):
    """Return all pages, as dictionaries, each as soon as it is there."""
    parser = DocumentParser(URL, fast=True)
    found = []
    for start in range(0, len(data), 3000):
        for entry in parser.feed(data[start : start + 3000]):
            pages = entry.pages() if isinstance(entry, PageBatch) else (entry.page(),)
            found += [page.to_dict() for page in pages]
    assert not list(parser.close())
    return found


ALL = [[part] for part in PARTS]
MANY = [
    ALL,
    [["images"], ["an image"], ["a caption", "fields"], ["nothing"]],
    [["links", "images"], ["links", "keywords"], ["fields", "news", "tags"], ["a player", "links"]],
    [["CDATA"], ["an image", "fields"], ["CDATA", "links", "news"]],
    [["tags"], ["a tag"], ["a video"], ["a player", "fields"]],
    [["links"], ["other links"], ["something else", "links"]],
]


@pytest.mark.parametrize("kinds", MANY)
def test_pages_are_those_that_the_scanner_gives_without_a_tree_of_each_block(kinds, monkeypatch):
    data = document(kinds)
    whole = read([data])
    assert read([data], lanes=True) == whole
    parsed = []
    parse = Trees.parse
    monkeypatch.setattr(Trees, "parse", lambda *given: parsed.append(given[1]) or parse(*given))
    assert looked_at(data) == [page.to_dict() for page in whole.pages]
    assert not [text for text in parsed if "e.org" in text]


@pytest.mark.parametrize(
    ("begin", "space"), [("i:image", Space.IMAGE), ("v:video", Space.VIDEO), ("n:news", Space.NEWS)]
)
def test_every_element_of_an_extension_is_read_as_the_scanner_reads_it(begin, space):
    prefix = begin[:2]
    required = f"<{prefix}loc>/i</{prefix}loc><{prefix}title>T</{prefix}title>"
    for field in sorted(NAMES[space].fields):
        more = f'<{prefix}{field} currency="EUR" title="a">1.5</{prefix}{field}>'
        entry = f"<url><loc>https://e.org/%s</loc><{begin}>{required}{more}</{begin}></url>"
        inside = "".join(entry % number for number in range(40))
        data = f"{ROOT}{inside}</urlset>".encode()
        whole = read([data])
        assert read([data], lanes=True) == whole, field
        assert looked_at(data) == [page.to_dict() for page in whole.pages], field


def test_a_show_stands_in_its_video():
    show = "<v:tvshow><v:show_title>T</v:show_title></v:tvshow>"
    entry = f"<url><loc>https://e.org/%s</loc><v:video><v:title>T</v:title>{show}</v:video></url>"
    data = f"{ROOT}{''.join(entry % number for number in range(100))}</urlset>".encode()
    (shown,) = {repr(page["videos"][0]["tv_show"]) for page in looked_at(data)}
    assert "'T'" in shown


@pytest.mark.parametrize("part", ["images", "CDATA", "news", "tags", "links"])
def test_entries_may_begin_with_an_extension(part, monkeypatch):
    loc = "<loc>https://e.org/{n}</loc><lastmod>2024-01-0{d}</lastmod>"
    monkeypatch.setitem(PARTS, "turned", PARTS[part] + loc)
    data = re.sub(rb"<url>\n <loc>.*</loc>\n ", b"<url>\n ", document([["turned"]]))
    whole = read([data])
    assert len(whole.pages) == 120
    parsed = []
    parse = Trees.parse
    monkeypatch.setattr(Trees, "parse", lambda *given: parsed.append(given[1]) or parse(*given))
    assert looked_at(data) == [page.to_dict() for page in whole.pages]
    assert not [text for text in parsed if "e.org" in text]


@settings(deadline=None, max_examples=examples(40))
@given(
    kinds=st.lists(
        st.lists(st.sampled_from(list(PARTS)), max_size=4, unique=True), min_size=1, max_size=6
    )
)
def test_so_are_those_of_any_mixture(kinds):
    data = document(kinds, 40)
    whole = read([data])
    assert read([data], lanes=True) == whole
    assert looked_at(data) == [page.to_dict() for page in whole.pages]


@pytest.mark.parametrize(
    "text",
    ["<a>", "<a></b>", "<a/><b/>", "<a><b/><c/><b/></a>", "<a><!-- --></a>", "<a xmlns='b'/>"],
)
def test_what_is_not_one_element_or_not_a_usual_one_is_not_an_example(text):
    with pytest.raises(Unvouched):
        example(text)


def test_a_template_has_what_any_of_its_examples_has_in_order():
    one, two = example("<a><b>1</b><d>2</d></a>"), example("<a><c>3</c><d>4</d><d>5</d></a>")
    both = one.merged(two)
    assert [element.start for element in both.all()] == ["<a>", "<c>", "<b>", "<d>"]
    assert both.inside[-1] == Element("<d>", "</d>", repeats=True)
    assert both.merged(example("<a><d>1</d><b>2</b></a>")) is None
