"""Documents that look odd and are right, and what is wrong in them and where."""

from xml.etree import ElementTree as ET

from check_examples import HOME, dated_index, found_at, found_in
from hypothesis import given
from hypothesis import strategies as st

from memory_web import Doc
from usp.checks.context import lines_of_tags
from website import rss

XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
PAGE = "<url><loc>https://example.org/tea</loc></url>\n"
XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
IMAGE = 'xmlns:{}="http://www.google.com/schemas/sitemap-image/1.1"'


def found(body: str):
    """Return code and line of what is found in a document alone."""
    return [(one.code, one.line) for one in found_at("sitemap.xml", Doc(body.encode()))]


STYLESHEET = '<?xml-stylesheet type="text/xsl" href="/sitemap.xsl"?>'
SCHEMA = "http://www.sitemaps.org/schemas/sitemap/0.9 http://www.sitemaps.org/schemas/sitemap.xsd"
JPG = f"{HOME}/tea.jpg"
UPDATED = "<updated>2024-05-06T07:08:09Z</updated>"
XHTML = 'xmlns:xhtml="http://www.w3.org/1999/xhtml"'
LINK = (
    f'<url><loc>{HOME}/{{0}}</loc><xhtml:link {{1}} rel="alternate" hreflang="en" '
    f'href="{HOME}/{{0}}"/></url>'
)


def urlset(entries: str, attributes: str = XMLNS) -> str:
    return f"<urlset {attributes}>{entries}</urlset>"


def having(fields: str, attributes: str = XMLNS) -> str:
    """Return a document with fields in its entry."""
    return urlset(f"<url><loc>{HOME}/tea</loc>{fields}</url>", attributes)


RIGHT = {
    "no XML declaration": urlset(PAGE),
    "a declaration, a stylesheet and comments": (
        f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n{STYLESHEET}\n<!-- tea -->\n'
        f"{urlset(f'<!-- more - tea -->{PAGE}')}\n<!-- 5 queries -->\n"
    ),
    "a prefix everywhere": (
        '<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9">'
        f"<s:url><s:loc>{HOME}/tea</s:loc></s:url></s:urlset>"
    ),
    "a schema": urlset(PAGE, f'{XMLNS} {XSI} xsi:schemaLocation="{SCHEMA}"'),
    "a foreign element in an entry": having("<t:Loc>5</t:Loc>", f'{XMLNS} xmlns:t="urn:tea"'),
    "a foreign element between entries": urlset(
        f"<t:shop><t:name>Tea</t:name></t:shop>{PAGE}", f'{XMLNS} xmlns:t="urn:tea"'
    ),
    "a foreign element with its own default namespace": having('<x xmlns="urn:tea"><y/></x>'),
    "another extension of a search engine": having(
        "<geo:geo><geo:format>kml</geo:format></geo:geo>",
        f'{XMLNS} xmlns:geo="http://www.google.com/geo/schemas/sitemap/1.0"',
    ),
    "images under another prefix": having(
        f"<i:image><i:loc>{JPG}</i:loc></i:image>", f"{XMLNS} {IMAGE.format('i')}"
    ),
    "images whose prefix is declared at each of them": having(
        f"<image:image {IMAGE.format('image')}><image:loc>{JPG}</image:loc></image:image>"
    ),
    "a wrong namespace that nothing uses": urlset(
        PAGE, f'{XMLNS} xmlns:image="https://example.org/image"'
    ),
    "a page map": having(
        '<PageMap xmlns="http://www.google.com/schemas/sitemap-pagemap/1.0"><DataObject type="d" '
        'id="1"><Attribute name="a" value="b"/></DataObject></PageMap>'
    ),
    "a prefix that an element of a feed declares": (
        f'<feed xmlns="http://www.w3.org/2005/Atom"><title>Tea</title><id>tag:a</id>{UPDATED}'
        f'<entry><title>Tea</title><id>tag:b</id>{UPDATED}<link href="{HOME}/tea"/>'
        '<m:group xmlns:m="urn:m"><m:title>x</m:title></m:group></entry></feed>'  # as of Blogger
    ),
    "links whose prefix is declared at each of 300 of them": urlset(
        "".join(LINK.format(n, XHTML) for n in range(300))
    ),
    "an empty feed": rss(),
    "a feed with elements in capitals": rss(f"{HOME}/tea").replace(
        "</item>", "<Loc>x</Loc></item>"
    ),
    "the language of an element": urlset(PAGE, f'{XMLNS} xml:lang="en"'),
    "blanks after the root": f"{urlset(PAGE)}\n\n  \n",
    "CDATA": urlset(f"<url><loc><![CDATA[{HOME}/?a=1&b=2]]></loc></url>"),
    "blanks in tags": f"<urlset  {XMLNS} ><url ><loc >{HOME}/tea</loc ></url ></urlset >",
}


def test_a_document_is_right():
    assert {name: told for name, body in RIGHT.items() if (told := found(body))} == {}


MANY = "".join(f"<url><loc>{HOME}/{n}</loc></url>\n" for n in range(2000))
WRONG = {
    ("a line before the declaration", "SM307 2"): f'\n<?xml version="1.0"?>\n{urlset(PAGE)}',
    ("an attribute twice", "SM307 2"): urlset(PAGE, f"{XMLNS}\n {XMLNS}"),
    ("two hyphens in a comment", "SM307 3"): urlset(
        f"\n{PAGE}<!-- tea -- and cups -->\n{PAGE.replace('tea', 'cup')}"
    ),
    ("no namespace", "SM301 3"): f'<?xml version="1.0"?>\n\n<urlset>{PAGE}</urlset>',
    ("no declaration of the schema's prefix", "SM304 1"): urlset(
        PAGE, f'{XMLNS} xsi:schemaLocation="a b"'
    ),
    ("a prefix in an entry", "SM304 4"): urlset(
        f"\n{PAGE}<url>\n<loc>{HOME}/cup</loc><shop:x/></url>"
    ),
    ("a prefix that another entry declares", "SM304 1"): urlset(
        LINK.format("tea", XHTML) + LINK.format("milk", "")
    ),
    ("a prefix in an entry of a feed", "SM304 1"): (
        f'<feed xmlns="http://www.w3.org/2005/Atom"><title>Tea</title>'
        f'<entry><title>Tea</title><link href="{HOME}/tea"/><m:group/></entry></feed>'
    ),
    ("a prefix of the root", "SM304 1"): (
        f"<s:urlset><s:url><s:loc>{HOME}/</s:loc></s:url></s:urlset>"
    ),
    ("a prefix of an attribute", "SM307 4"): urlset(
        f"\n{PAGE}<url><loc>{HOME}/c</loc><!-- - -->\n<lastmod x:y='z'>2024</lastmod></url>"
    ),
    ("a misspelt extension", "SM303 3"): having(
        f"\n<image:image><image:loc>{JPG}</image:loc></image:image>",
        f'{XMLNS}\nxmlns:image="http://www.gogle.com/schemas/image"',
    ),
    ("languages in the wrong namespace", "SM303 1"): having(
        f'<xhtml:link rel="alternate" hreflang="en" href="{HOME}/tea"/>',
        f'{XMLNS} xmlns:xhtml="https://www.w3.org/1999/xhtml"',
    ),
    ("an element without a prefix", "SM306 4"): urlset(
        f"\n<!-- <title> -->\n<url><loc>{HOME}/tea</loc>\n<title>Tea</title></url>"
    ),
    ("an element in capitals, far down", "SM305 2002"): urlset(
        f"\n{MANY}<url><loc>{HOME}/tea</loc><Priority>0.5</Priority></url>"
    ),
    ("an element that is not in its place", "SM306 2"): urlset(
        f"\n<priority>0.5</priority>\n{PAGE}"
    ),
    ("more after the end", "SM377 2"): f"{urlset(PAGE)}<script>x</script>",
    ("an entry as the root", "SM376 1"): f"<sitemap {XMLNS}>{PAGE}</sitemap>",
    ("an empty sitemap", "SM309 None"): f"<urlset {XMLNS}/>",
    ("a document type", "SM375 1"): f'<!DOCTYPE urlset SYSTEM "sitemap.dtd">\n{urlset(PAGE)}',
}


def test_what_is_wrong_is_found_once_and_in_its_line():
    for (name, expected), body in WRONG.items():
        assert [f"{code} {line}" for code, line in found(body)] == [expected], name


def test_an_index_may_date_its_sitemaps_in_every_way_of_the_w3c():
    days = ["2024", "2024-05", "2024-05-06", " 2024-05-06 "]
    times = ["2024-05-06T07:08Z", "2024-05-06T07:08:09.123+02:00"]
    assert [one for one in (*days, *times) if found_in(dated_index(one, "2023"))] == []


def test_thousands_of_unknown_names_are_few_findings():
    odd = "".join(f"<x{n}/>" for n in range(5000))
    assert 0 < [code for code, _ in found(having(odd))].count("SM306") <= 20


def test_where_a_document_breaks_off_is_told():
    assert found(f"<urlset {XMLNS}>\n{PAGE}<url>\n<loc>{HOME}/cu")[0] == ("SM354", 3)


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
    except (ET.ParseError, LookupError):  # the latter for an encoding that it does not know
        assert found(body)
    else:
        assert "SM307" not in dict(found(body))
