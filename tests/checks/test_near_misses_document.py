"""What is wrong in a document, wherever it is cut or damaged, and in which line."""

from xml.etree import ElementTree as ET

from check_examples import HOME, dated_index, found_at, found_in, linked, wrapped
from hypothesis import given
from hypothesis import strategies as st

from memory_web import Doc
from usp.checks.context import places_of_tags

XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
PAGE = "<url><loc>https://example.org/tea</loc></url>\n"
IMAGE = 'xmlns:{}="http://www.google.com/schemas/sitemap-image/1.1"'


def found(body: str):
    """Return code and line of what is found in a document alone."""
    return [(one.code, one.line) for one in found_at("sitemap.xml", Doc(body.encode()))]


JPG = f"{HOME}/tea.jpg"


def urlset(entries: str, attributes: str = XMLNS) -> str:
    return f"<urlset {attributes}>{entries}</urlset>"


def having(fields: str, attributes: str = XMLNS) -> str:
    """Return a document with fields in its entry."""
    return urlset(f"<url><loc>{HOME}/tea</loc>{fields}</url>", attributes)


def test_an_index_may_date_its_sitemaps_in_every_way_of_the_w3c():
    days = ["2024", "2024-05", "2024-05-06", " 2024-05-06 "]
    times = ["2024-05-06T07:08Z", "2024-05-06T07:08:09.123+02:00"]
    assert [one for one in (*days, *times) if found_in(dated_index(one, "2023"))] == []


def test_thousands_of_unknown_names_are_few_findings():
    odd = "".join(f"<x{n}/>" for n in range(5000))
    assert 0 < [code for code, _ in found(having(odd))].count("SM306") <= 20


def test_where_a_document_breaks_off_is_told():
    assert found(f"<urlset {XMLNS}>\n{PAGE}<url>\n<loc>{HOME}/cu")[0] == ("SM354", 3)


def test_the_place_of_a_tag_is_that_of_the_first_one_outside_of_comments():
    text = "<a>\r\n<!-- <b> -->\r\nx\n<!-- \n <b>\ny\n--><bb/>\n <b />\n<b>"
    assert places_of_tags(text, {"a", "b", "c"}) == {"a": (1, 1), "b": (8, 2)}


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


def test_what_follows_from_the_end_of_a_document_that_breaks_off_is_not_told():
    links = linked("/en", "en /en", "de /de", "x-default /en")
    links += linked("/de", "en /en", "de /de", "x-default /en")
    image = f"<image:image><image:loc>{JPG}</image:loc></image:image></url>"
    text = wrapped(PAGE + PAGE.replace("tea", "cup").replace("</url>", image) + links)
    for end in range(text.index(PAGE) + len(PAGE), len(text) - len("</urlset>")):
        assert {code for code, _ in found(text[:end])} <= {"SM354"}, text[end - 30 : end]
