"""Feeds are read as the scanner alone reads them, however they are written."""

from __future__ import annotations

import pytest
from formats_strategies import pieces
from formats_support import read
from hypothesis import given, settings
from hypothesis import strategies as st
from test_lanes import same

from profiles import examples
from together import together

LAW = settings(max_examples=examples(120))
RSS = (
    '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    ' xmlns:media="http://search.yahoo.com/mrss/" xmlns:atom="http://www.w3.org/2005/Atom"'
    ' xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>C</title>%s'
    "</channel></rss>"
)
RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
    ' xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">%s</rdf:RDF>'
)
ATOM = '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/">%s</feed>'
ATOM_03 = '<feed version="0.3" xmlns="http://purl.org/atom/ns#">%s</feed>'
ATOM_PREFIX = '<a:feed xmlns:a="http://www.w3.org/2005/Atom">%s</a:feed>'


WAYS = {
    "RSS 2.0": (
        RSS,
        (
            "<item><title>T %d &amp;amp; &#8217;</title><link>https://e.org/%d?a=1&amp;b=2</link>"
            "<category>a</category><category>b</category><guid isPermaLink='false'>%d</guid>"
            "<pubDate>Tue, 02 Jan 2024 03:04:05 GMT</pubDate><description>&lt;p&gt;x</description></item>\n"
        ),
    ),
    "CDATA, and a long body": (
        RSS,
        (
            "<item>\n<title><![CDATA[T & %d <b>]]></title>\n<link>\nhttps://e.org/%d\n</link>\n"
            f"<content:encoded><![CDATA[<item><title>no</title>{'x' * 2000}]]></content:encoded>\n"
            "<dc:date>2024-01-02T03:04:05Z</dc:date>\n</item>\n"
        ),
    ),
    "media, and links of Atom": (
        RSS,
        (
            "<item><media:title>no</media:title><atom:link href='/no'/><title>T%d</title>"
            "<link>https://e.org/%d</link><media:group><media:content url='/x'><media:title>no</media:title>"
            "</media:content></media:group><pubDate>Tue, 2 Jan 2024 03:04 EST</pubDate></item>\n"
        ),
    ),
    "no dates, relative links": (RSS, "<item><title>T%d</title><link>/%d</link></item>\n"),
    "descriptions and no titles": (
        RSS,
        "<item><link>https://e.org/%d</link><description>T%d &lt;p&gt;</description></item>\n",
    ),
    "RSS 1.0": (
        RDF,
        (
            '<item rdf:about="https://e.org/%d"><title>T%d</title><link>https://e.org/%d</link>'
            "<dc:date>2024-01-02</dc:date></item>\n"
        ),
    ),
    "Atom": (
        ATOM,
        (
            '<entry><link rel="self" href="/no"/><link title="t" rel="enclosure" href="/no"></link>'
            '<title type="html" xml:lang="en">T%d</title><link href="https://e.org/%d?a&amp;b"/>'
            "<published>2024-01-02T03:04:05.678+01:00</published><updated>2025-01-01</updated>"
            '<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>a<br/>b</p></div></content>'
            "<source><title>no</title><link href='/no'/></source></entry>\n"
        ),
    ),
    "Atom, the link last, xml:base in the content": (
        ATOM,
        (
            "<entry><id>%d</id><updated>2024-01-02T03:04:05Z</updated><title>T%d</title>"
            f"<content type='html' xml:base='/no/'>{'&lt;p&gt;text ' * 200}</content>"
            '<link rel="replies" type="x" href="/no"/><link rel="alternate" href="https://e.org/%d"/>'
            "</entry>\n"
        ),
    ),
    "Atom in single quotes, with other links": (
        ATOM,
        (
            "<entry>\n<id>%d</id>\n<published>2024-01-02T03:04:05.678-07:00</published>"
            "<title type='text'>T%d</title>\n<link rel='replies' href='/no' title='Comments'/>\n"
            "<link rel='self' href='/no'/>\n<link rel='alternate' href='https://e.org/%d&amp;\"'/>\n"
            "</entry>\n"
        ),
    ),
    "Atom 0.3": (
        ATOM_03,
        (
            '<entry><title mode="escaped">T%d</title><link rel="alternate" href="https://e.org/%d"/>'
            "<issued>2004-01-02T03:04:05-05:00</issued><modified>2005-01-01</modified></entry>"
        ),
    ),
    "Atom with a prefix": (
        ATOM_PREFIX,
        (
            "<a:entry><a:title>T%d</a:title><a:link href='x' rel='self'/><a:link href=\"https://e.org/%d\"/>"
            "<a:updated>2004-01-02T03:04:05Z</a:updated></a:entry>\n"
        ),
    ),
}


def feed(root, entry, count=30):
    return (root % "".join(entry.replace("%d", str(n)) for n in range(count))).encode()


@together("way", WAYS)
def test_feeds_are_read_the_same_however_they_are_written(way):
    text = feed(*WAYS[way])
    same(read([text]), [text])
    pages = read([text], lanes="fast").pages
    assert [page.news_story.title[:1] for page in pages] == ["T"] * 30


CHILDREN = [
    *("<title>T</title>", "<title> U &amp; &amp;lt; &#8217;\n</title>", "<title/>"),
    *("<title></title>", "<title><![CDATA[V & <w>]]></title>", "<title>a&am<![CDATA[p;]]></title>"),
    *("<title>&nbsp;</title>", "<title>W\0X</title>", "<title xmlns='urn:x'>no</title>"),
    *("<title>a<b>c</b></title>", f"<title>{'long ' * 200}</title>"),
    *(f"<title>t <![CDATA[{'long ' * 200}]]></title>", "<link>https://e.org/1</link>"),
    *("<link> https://e.org/2 </link>", "<link>/3</link>", "<link/>", "<link>mailto:x</link>"),
    *("<link>https://e.org/4?a&amp;b&amp;amp;c</link>", "<link>"),
    *(f"<link>https://e.org/5 <![CDATA[{'x' * 600}]]></link>", '<link href="https://e.org/6"/>'),
    *('<link rel="self" href="https://e.org/7"/>', '<link rel="ALTERNATE" href="/8"/>'),
    "<link rel='alternate' href='/9'></link>",
    '<link rel="http://www.iana.org/assignments/relation/alternate" href="/10"/>',
    *('<link rel="self" rel="alternate" href="/11"/>', '<link href="/12" xml:base="/b/"/>'),
    *('<link title="rel=" hreflang="en" href="/13&#x26;a&lt;"/>', '<link rel="" href="/14"/>'),
    *('<atom:link href="/15"/>', "<guid>https://e.org/16</guid>", "<id>https://e.org/17</id>"),
    *("<guid isPermaLink='false'>https://e.org/18</guid>", "/19", "words"),
    *("<pubDate>Tue, 02 Jan 2024 03:04:05 GMT</pubDate>", "<pubDate>never</pubDate>", "<pubDate/>"),
    *("<dc:date>2024-01-03</dc:date>", "<o><dc:date>2024-01-04</dc:date></o>", "<date>2024</date>"),
    "<x:date xmlns:x='http://purl.org/dc/elements/1.1/'>2024-01-05</x:date>",
    *("<x:date>no</x:date>", "<published>2024-01-06T07:08:09Z</published>"),
    *("<updated>2024-01-07</updated>", "<updated> 2024-01-08&#32;</updated>"),
    *(f"<updated>2024{' ' * 200}</updated>", "<description>d</description>"),
    *("<description><p>a</p></description>", "<summary>s</summary>"),
    *("<description><guid>x</description>", "<description><title>no</title></description>"),
    *("<description><o></description>", "<content><title>no</title></content>", "<content>"),
    *("<content><![CDATA[<title>no</title></item></entry>]]></content>", "</content>"),
    *("<![CDATA[x]]>", "<o><item></o>", "<o></item></o>", "<o></channel></o>", "<o></feed></o>"),
    *("<o><entry></o>", "<o a='>'>x</o>", '<o a="</o>">x</o>', "<o><!-- </o> --></o>"),
    *("<!-- c -->", "<?p i?>", "<o", "<o></o x>", "<oo><o></oo>", "<o><oo></o></oo></o>"),
    *("<media:title>no</media:title>", "< >"),
    "<o xmlns:media='http://www.w3.org/2005/Atom'><media:updated>2020</media:updated></o>",
    *("</o>", "<source><title>no</title><link href='/no'/><updated>2020</updated></source>"),
    *("<o/><o />", "<o xml:base='/b/'>x</o>", f"<content xml:base='/{'x' * 9000}'>c</content>"),
    *("<title\u00d7>no</title\u00d7>", "<o\u00a0p:title>no</o\u00a0p:title>"),
]
GOOD = {
    "item": "<title>T%d</title><link>https://e.org/g%d</link><pubDate>2024-01-02</pubDate>",
    "entry": '<title>T%d</title><link href="https://e.org/g%d"/><updated>2024-01-02</updated>',
}
ENTRY = st.tuples(
    st.sampled_from(
        ["", "", "", " xml:base='/b/'", " xml:lang='en'", " rdf:about='/a'", " xmlns='urn:x'"]
    ),
    st.lists(st.sampled_from(CHILDREN), max_size=5),
    st.integers(1, 3),
    st.booleans(),
)


@pytest.mark.parametrize(
    ("root", "name"),
    [(RSS, "item"), (RDF, "item"), (ATOM, "entry"), (ATOM, "item"), (RSS, "entry")],
    ids=["RSS 2.0", "RSS 1.0", "Atom", "items in Atom", "entries in RSS"],
)
@LAW
@given(entries=st.lists(ENTRY, max_size=5), gap=st.sampled_from(["", "\n"]), data=st.data())
def test_all_lanes_give_the_same_pages_of_runs_of_entries(root, name, entries, gap, data):
    written, at = "", 0
    for attributes, children, count, is_good in entries:
        for _ in range(count):
            at += 1
            good = GOOD[name].replace("%d", str(at)) if is_good else ""
            where = data.draw(st.integers(0, len(children))) if good else 0
            inside = gap.join([*children[:where], good, *children[where:]])
            written += f"<{name}{attributes}>{inside}</{name}>{gap}"
    text = (root % written).encode()
    same(read([text]), data.draw(pieces(text)))


def test_an_entry_with_very_many_elements_is_read_as_far_by_all_lanes():
    many = "<o>" + "<id/>" * 10_100 + "</o>"
    entry = GOOD["entry"].replace("%d", "1")
    text = (ATOM % f"<entry>{entry}</entry><entry>{many}{entry}</entry>").encode()
    same(read([text]), [text])
