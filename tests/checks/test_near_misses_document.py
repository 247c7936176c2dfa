"""Documents that look odd and are right, and what is wrong in them and where."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from check_examples import HOME, Client, Reply, found_in
from hypothesis import given
from hypothesis import strategies as st

import usp
from usp.checks.context import lines_of_tags

XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
PAGE = "<url><loc>https://example.org/tea</loc></url>\n"
XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
IMAGE = 'xmlns:{}="http://www.google.com/schemas/sitemap-image/1.1"'


def found(body: str, name: str = "sitemap.xml"):
    """Return code and line of what is found in a document alone."""
    url = f"{HOME}/{name}"
    tree = usp.sitemap_tree_for_sitemap(url, Client({url: Reply(body.encode())}))
    return [(one.code, one.line) for one in usp.check(tree)]


RIGHT = {
    "no XML declaration": f"<urlset {XMLNS}>{PAGE}</urlset>",
    "a declaration, a stylesheet and comments": (
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
        '<?xml-stylesheet type="text/xsl" href="/sitemap.xsl"?>\n<!-- tea -->\n'
        f"<urlset {XMLNS}><!-- more - tea -->{PAGE}</urlset>\n<!-- 5 queries -->\n"
    ),
    "a prefix everywhere": (
        '<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9">'
        f"<s:url><s:loc>{HOME}/tea</s:loc></s:url></s:urlset>"
    ),
    "a schema": (
        f'<urlset {XMLNS} {XSI} xsi:schemaLocation="http://www.sitemaps.org/schemas/sitemap/0.9 '
        f'http://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd">{PAGE}</urlset>'
    ),
    "a foreign element in an entry": (
        f'<urlset {XMLNS} xmlns:t="urn:tea"><url><loc>{HOME}/tea</loc><t:Loc>5</t:Loc></url></urlset>'
    ),
    "a foreign element between entries": (
        f'<urlset {XMLNS} xmlns:t="urn:tea"><t:shop><t:name>Tea</t:name></t:shop>{PAGE}</urlset>'
    ),
    "a foreign element with its own default namespace": (
        f'<urlset {XMLNS}><url><loc>{HOME}/tea</loc><x xmlns="urn:tea"><y/></x></url></urlset>'
    ),
    "another extension of a search engine": (
        f'<urlset {XMLNS} xmlns:geo="http://www.google.com/geo/schemas/sitemap/1.0">'
        f"<url><loc>{HOME}/tea</loc><geo:geo><geo:format>kml</geo:format></geo:geo></url></urlset>"
    ),
    "images under another prefix": (
        f"<urlset {XMLNS} {IMAGE.format('i')}><url><loc>{HOME}/tea</loc>"
        f"<i:image><i:loc>{HOME}/tea.jpg</i:loc></i:image></url></urlset>"
    ),
    "images whose prefix is declared at each of them": (
        f"<urlset {XMLNS}><url><loc>{HOME}/tea</loc><image:image {IMAGE.format('image')}>"
        f"<image:loc>{HOME}/tea.jpg</image:loc></image:image></url></urlset>"
    ),
    "a wrong namespace that nothing uses": (
        f'<urlset {XMLNS} xmlns:image="https://example.org/image">{PAGE}</urlset>'
    ),
    "a page map": (
        f"<urlset {XMLNS}><url><loc>{HOME}/tea</loc>"
        '<PageMap xmlns="http://www.google.com/schemas/sitemap-pagemap/1.0">'
        '<DataObject type="d" id="1"><Attribute name="a" value="b"/></DataObject></PageMap>'
        "</url></urlset>"
    ),
    "the language of an element": f'<urlset {XMLNS} xml:lang="en">{PAGE}</urlset>',
    "blanks after the root": f"<urlset {XMLNS}>{PAGE}</urlset>\n\n  \n",
    "CDATA": f"<urlset {XMLNS}><url><loc><![CDATA[{HOME}/?a=1&b=2]]></loc></url></urlset>",
    "blanks in tags": f"<urlset  {XMLNS} ><url ><loc >{HOME}/tea</loc ></url ></urlset >",
}


def test_a_document_is_right():
    assert {name: told for name, body in RIGHT.items() if (told := found(body))} == {}


WRONG = {
    "a line before the declaration": (
        f'\n<?xml version="1.0"?>\n<urlset {XMLNS}>{PAGE}</urlset>',
        [("SM307", 2)],
    ),
    "an attribute twice": (f"<urlset {XMLNS}\n {XMLNS}>{PAGE}</urlset>", [("SM307", 2)]),
    "two hyphens in a comment": (
        f"<urlset {XMLNS}>\n{PAGE}<!-- tea -- and cups -->\n{PAGE.replace('tea', 'cup')}</urlset>",
        [("SM307", 3)],
    ),
    "no namespace": (f'<?xml version="1.0"?>\n\n<urlset>{PAGE}</urlset>', [("SM301", 3)]),
    "no declaration of the schema's prefix": (
        f'<urlset {XMLNS} xsi:schemaLocation="a b">{PAGE}</urlset>',
        [("SM304", 1)],
    ),
    "a prefix in an entry": (
        f"<urlset {XMLNS}>\n{PAGE}<url>\n<loc>{HOME}/cup</loc><shop:x/></url></urlset>",
        [("SM304", 4)],
    ),
    "a prefix of the root": (
        f"<s:urlset><s:url><s:loc>{HOME}/</s:loc></s:url></s:urlset>",
        [("SM304", 1)],
    ),
    "a prefix of an attribute": (
        f"<urlset {XMLNS}>\n{PAGE}<url><loc>{HOME}/c</loc><!-- - -->\n<lastmod x:y='z'/></url></urlset>",
        [("SM307", 4)],
    ),
    "a misspelt extension": (
        (
            f'<urlset {XMLNS} xmlns:image="http://www.gogle.com/schemas/image">\n<url><loc>{HOME}/tea</loc>'
            f"\n<image:image><image:loc>{HOME}/tea.jpg</image:loc></image:image></url></urlset>"
        ),
        [("SM303", 3)],
    ),
    "languages in the wrong namespace": (
        (
            f'<urlset {XMLNS} xmlns:xhtml="https://www.w3.org/1999/xhtml"><url><loc>{HOME}/tea</loc>'
            f'<xhtml:link rel="alternate" hreflang="en" href="{HOME}/tea"/></url></urlset>'
        ),
        [("SM303", 1)],
    ),
    "an element without a prefix": (
        (
            f"<urlset {XMLNS} {IMAGE.format('image')}>\n<!-- <title> -->\n"
            f"<url><loc>{HOME}/tea</loc>\n<title>Tea</title></url></urlset>"
        ),
        [("SM306", 4)],
    ),
    "an element in capitals, far down": (
        f"<urlset {XMLNS}>\n"
        + "".join(f"<url><loc>{HOME}/{n}</loc></url>\n" for n in range(2000))
        + f"<url><loc>{HOME}/tea</loc><Priority>0.5</Priority></url></urlset>",
        [("SM305", 2002)],
    ),
    "an element that is not in its place": (
        f"<urlset {XMLNS}>\n<priority>0.5</priority>\n{PAGE}</urlset>",
        [("SM306", 2)],
    ),
    "an empty sitemap": (f"<urlset {XMLNS}/>", [("SM309", None)]),
    "a document type": (
        f'<!DOCTYPE urlset SYSTEM "sitemap.dtd">\n<urlset {XMLNS}>{PAGE}</urlset>',
        [("SM375", 1)],
    ),
}


def test_what_is_wrong_is_found_once_and_in_its_line():
    told = {name: found(body) for name, (body, _) in WRONG.items()}
    assert told == {name: expected for name, (_, expected) in WRONG.items()}


def test_a_feed_may_be_empty_and_have_elements_in_capitals():
    item = "<item><title>Tea</title><link>https://example.org/tea</link><Loc>x</Loc></item>"
    for items in (item, ""):
        rss = f'<rss version="2.0"><channel><title>Tea</title>{items}</channel></rss>'
        assert found(rss, "feed.rss") == []


def in_index(fields: str, page: str = ""):
    """Return what is found in an index with fields of its sitemap, and with a page of its own."""
    sitemap = f"<sitemap><loc>{HOME}/a.xml</loc>{fields}</sitemap>"
    robots = f"--- /robots.txt\nSitemap: {HOME}/index.xml\n"
    index = f"--- /index.xml\n<sitemapindex {XMLNS}>\n{page}{sitemap}</sitemapindex>\n"
    return found_in(f"{robots}{index}--- /a.xml\n{PAGE.replace('tea', 'cup')}")


def test_an_index_may_date_its_sitemaps_in_every_way_of_the_w3c():
    days = ["2024", "2024-05", "2024-05-06", " 2024-05-06 "]
    times = ["2024-05-06T07:08Z", "2024-05-06T07:08:09.123+02:00"]
    wrong = [one for one in (*days, *times) if in_index(f"<lastmod>{one}</lastmod>")]
    assert wrong == []


def test_fields_of_pages_are_unknown_in_an_index():
    (finding,) = in_index("\n<changefreq>daily</changefreq>")
    assert (finding.code, finding.line) == ("SM306", 3)
    assert finding.message == "<changefreq> is not allowed in <sitemap>"


def test_an_index_that_two_documents_list_is_inside_another_one_in_one_of_them():
    index = f"<sitemapindex {XMLNS}><sitemap><loc>{HOME}/{{}}.xml</loc></sitemap></sitemapindex>\n"
    example = (
        f"--- /robots.txt\nSitemap: {HOME}/b.xml\nSitemap: {HOME}/a.xml\n"
        f"--- /a.xml\n{index.format('b')}--- /b.xml\n{index.format('c')}--- /c.xml\n{PAGE}"
    )
    assert [one.sitemap for one in found_in(example, select=["SM308"])] == [f"{HOME}/b.xml"]


def test_pages_in_an_index_are_found_with_their_line():
    assert [(one.code, one.line) for one in in_index("", PAGE)] == [("SM379", 2)]


def test_thousands_of_unknown_names_are_few_findings():
    odd = "".join(f"<x{n}/>" for n in range(5000))
    codes = [
        code for code, _ in found(f"<urlset {XMLNS}><url><loc>{HOME}/</loc>{odd}</url></urlset>")
    ]
    assert 0 < codes.count("SM306") <= 20


def test_where_a_document_breaks_off_is_told():
    (code, line), *_ = found(f"<urlset {XMLNS}>\n{PAGE}<url>\n<loc>{HOME}/cu")
    assert code == "SM354"
    assert line == 3


def test_the_line_of_a_tag_is_found_however_the_text_is_cut():
    begin, end = "<a>\r\n<!-- <b> -->\r\n" + "x" * 700, "y" * 700 + "\n--><bb/>\n<b />\n<b>"
    text = f"{begin}\n<!-- \n <b>\n{end}"
    for size in (1, 2, 7, 300, 10_000):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert lines_of_tags(pieces, {"a", "b", "c"}) == {"a": 1, "b": 8}


DAMAGE = ["<", ">", "&", "</url>", "<url>", "-->", "<!--", '"', "]]>", "--", " x=1 ", "<x:y/>"]
DAMAGE += ["<a b='' b=''/>"]
LONG = f"""<?xml version="1.0" encoding="UTF-8"?>
<!-- tea -->
<urlset {XMLNS} {IMAGE.format("image")}>
<url><loc>{HOME}/tea</loc><lastmod>2024-05-06</lastmod></url>
<url><loc>{HOME}/cup?a=1&amp;b=2</loc>
  <image:image><image:loc>{HOME}/cup.jpg</image:loc></image:image></url>
</urlset>
"""


@given(st.integers(0, len(LONG)), st.sampled_from(DAMAGE), st.integers(0, 9))
def test_what_an_xml_parser_refuses_is_found(at, damage, gone):
    body = LONG[:at] + damage + LONG[at + gone :]
    try:
        ET.fromstring(body.encode())
    except ET.ParseError:
        assert found(body)
    else:
        assert "SM307" not in dict(found(body))
