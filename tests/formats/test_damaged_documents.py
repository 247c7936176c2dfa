"""Damage costs no entry that can be read, and whatever a document loses, or is refused for, is told."""

from formats_oracle import PREFIXES, SPACES
from formats_support import E, XmlText, brief_page, chunks, read, same, urlset

from together import together
from usp._formats.xml.raw_entries import MAX_FIELD


@together(
    "document, refusal, problems",
    [
        (
            "<?xml version='1.0' ?\n<Error>no</Error>",
            "<Error>",
            ["a processing instruction is not closed"],
        ),
        ("<br>\n</p><a b='c><Error/>", "<a>", ["text before the document"]),
        ("<!-- c\n<?x ?\n<html></html>", "HTML", ["a comment is not closed"]),
        ("</x><!DOCTYPE a [<!ENTITY b 'c'>]><urlset/>", "DOCTYPE", ["text before"]),
    ],
)
@together("size", [1, 7, 1 << 20])
def test_a_refused_document_keeps_its_problems(document, refusal, problems, size):
    reading = read(chunks(document.encode(), size))
    assert refusal in reading.refusal
    for words, problem in zip(problems, reading.problems, strict=False):
        assert words in problem.message
    assert len(reading.problems) >= len(problems)


@together("size", [1, 3, 1 << 20])
@together(
    "entries, name, count",
    [
        ("<URL><LOC>{0}/1</LOC></URL>" * 3, "<URL>", 3),
        ("<entry><link>{0}/1</link></entry>", "<entry>", 1),
        ("<ns1:url><ns1:loc>{0}/1</ns1:loc></ns1:url>" * 2, "<ns1:url>", 2),
        ("<page>{0}/1</page>\n<page>{0}/2</page>", "<page>", 2),
    ],
)
@together("root", ["urlset", "sitemapindex"])
def test_a_document_of_unknown_elements_says_so(root, entries, name, count, size):
    reading = read(chunks(f"<{root}>\n{entries.format(E)}</{root}>".encode(), size))
    (problem,) = reading.problems
    assert problem.message == "the document has no entries, only unknown elements"
    assert (problem.line, problem.excerpt, problem.lost) == (2, name, count)


def test_unknown_elements_beside_entries_are_no_problem():
    text = f"<urlset><generator>x</generator><url><loc>{E}/1</loc></url></urlset>"
    assert read([text.encode()]).problems == ()


@together("size", [1, 3, 1 << 20])
@together(
    "entry",
    [
        *("<url>\0\0\0<loc>{0}/1</loc></url>", "<url><loc>{0}/1</loc>\0\0\0</url>"),
        "<url><loc>{0}/1</loc><lastmod>\0\0</lastmod></url>",
        "<url><loc>{0}/1</loc><b>\0\0</b></url>",
        "<url><loc>{0}/1</loc><la\0\0mod>2024</lastmod></url>",
        *("<url><loc>{0}/1</loc><!-- \0\0 --></url>", "<url><loc>{0}/1</loc>\0\0\0</url>\n\0\0"),
    ],
)
def test_a_hole_of_nul_bytes_is_told_once(entry, size):
    reading = read(chunks(f"<urlset>\n{entry.format(E)}</urlset>".encode(), size))
    holes = [problem.line for problem in reading.problems if "NUL bytes" in problem.message]
    assert holes == [2, 3][: 1 + entry.count("\n")]
    assert reading.urls == [f"{E}/1"]


CUT = {  # documents of three entries, and how the address of one ends
    "urlset": ("<urlset>", "<url><lastmod>2024</lastmod><loc>{}</loc><priority>1</priority></url>"),
    "sitemapindex": ("<sitemapindex>", "<sitemap><loc>{}</loc><lastmod>2024</lastmod></sitemap>"),
    "rss": ("<rss><channel>", "<item><title>T</title><link>{}</link><guid>9</guid></item>"),
    "feed": ("<feed>", '<entry><id>9</id><link href="{}"/><title>T</title></entry>'),
}


@together("lanes", [None, True, "fast"])
@together("root", CUT)
def test_an_entry_counts_whose_address_stands_before_the_break_and_the_break_is_told(root, lanes):
    begin, entry = CUT[root]
    end = '"/>' if root == "feed" else "</link>" if root == "rss" else "</loc>"
    urls = [f"{E}/{at}" for at in range(3)]
    text = begin + "".join(entry.format(url) for url in urls)
    for at in range(len(begin), len(text) + 1):
        reading = read([text[:at].encode()], lanes=lanes)
        found = reading.urls or [child.loc for child in reading.children]
        assert found == urls[: text[:at].count(end)], text[:at]
        assert [one.code for one in reading.problems][-1:] == ["truncated"], text[:at]


# What is too long or too deep, or says too little -------------------------------------------------


@together("size", [1 << 16, 1 << 30])
@together("before, after", [("", ""), ("<![CDATA[", "]]>")])
def test_a_field_that_is_far_too_long_is_cut_off_and_named_once(before, after, size):
    caption = f"<image:caption>{before}{'x' * (2 * MAX_FIELD)}{after}</image:caption>"
    image = f"<image:image><image:loc>{E}/i</image:loc>{caption}</image:image>"
    document = urlset(f"<url><loc>{E}/1</loc>{image}</url>", f"{E}/2", extra=PREFIXES).encode()
    reading = read(chunks(document, size))
    assert reading.urls == [f"{E}/1", f"{E}/2"]
    assert reading.pages[0].images[0].caption == "x" * MAX_FIELD
    assert reading.messages == ["2: a field is too long"]


@together("lanes", [None, True, "fast"])
def test_elements_that_are_nested_far_too_deep_and_closed_cost_nothing(lanes):
    deep = "<a>" * 20_000 + "</a>" * 20_000
    for inside in (f"{deep}<loc>{E}/1</loc>", f"<loc>{E}/1</loc>{deep}"):
        reading = read([urlset(f"<url>{inside}</url>", f"{E}/2").encode()], lanes=lanes)
        assert reading.urls == [f"{E}/1", f"{E}/2"]
        assert reading.problems == ()


@together(
    "attributes, namespace",
    [
        ("", ("urlset", "")),
        (" xmlns='urn:x'", ("urlset", "urn:x")),
        (f" xmlns='{SPACES['s']}'", None),
    ],
)
def test_a_urlset_in_another_namespace_than_that_of_sitemaps_is_read(attributes, namespace):
    parser = XmlText(E)
    (batch,) = parser.feed(f"<urlset{attributes}><url><loc>{E}/1</loc></url></urlset>")
    assert batch.urls == [f"{E}/1"]
    assert parser.namespace == namespace


def test_a_feed_that_says_so_little_is_still_a_feed():
    for root in (b"<rss/>", b"<feed/>", b"<rdf:RDF/>", b"<sitemapindex/>"):
        reading = read([root])
        assert reading.kind is not None
        assert reading.problems == ()


# A CDATA section that has lost its end ends where its element does --------------------------------

ENDS = together("end", ["", "]]", "]>", "\n", "]] ", "]] >", "]]\n>"])
CLOSED = f"<loc><![CDATA[{E}/1]]></loc><lastmod><![CDATA[2024-01-02]]></lastmod>"
LINKED = f"<title><![CDATA[A <b>]]></title><link><![CDATA[{E}/{{}}]]></link>"


def unclosed(*entries):
    return f"<urlset>{''.join(f'<url>{entry}</url>' for entry in entries)}</urlset>".encode()


def rss(*entries):
    items = "".join(f"<item>{entry}</item>\n" for entry in entries)
    return f"<rss><channel><title>T</title>\n{items}</channel></rss>".encode()


def read_by_all_lanes(data):
    """Read in several ways, which all give the same."""
    whole = read([data])
    for size in (1, 7, len(data)):
        assert read(chunks(data, size)) == whole
        same(whole, chunks(data, size))
    return whole


@ENDS
@together("others", [[CLOSED], ["<loc>https://e.org/2</loc>"], []])
def test_a_loc_ends_where_its_tag_ends(end, others):
    lost = f"<loc><![CDATA[{E}/0{end}</loc><lastmod>2024-05-06</lastmod>"
    data = unclosed(*others, lost, *others, lost, *others)
    reading = read_by_all_lanes(data)
    assert reading.pages == read([data.replace(f"/0{end}<".encode(), b"/0]]><")]).pages
    assert {problem.code for problem in reading.problems} == {"unclosed-cdata"}
    assert sum(problem.times for problem in reading.problems) == 2


@ENDS
@together("field", ["link", "title", "content:encoded", "pubDate"])
def test_a_field_of_a_feed_ends_where_its_tag_ends(field, end):
    value = {"link": f"{E}/9", "title": "T", "pubDate": "Mon, 10 Jun 2024 10:00:00 GMT"}
    lost = f"<{field}><![CDATA[{value.get(field, '<p>Text</p>')}{end}</{field}>"
    lost += "" if field == "link" else f"<link>{E}/9</link>"
    reading = read_by_all_lanes(rss(LINKED.format(1), lost, LINKED.format(2), LINKED.format(3)))
    assert reading.urls == [f"{E}/{at}" for at in (1, 9, 2, 3)]
    assert [problem.code for problem in reading.problems] == ["unclosed-cdata"]


@together("after", ["]]>]]>", "]]]]>", "]]> ]]>", "]]>"])
def test_a_section_in_a_section_is_one(after):
    other = CLOSED.replace("/1", "/2")
    reading = read_by_all_lanes(
        unclosed(CLOSED, f"<loc><![CDATA[<![CDATA[{E}/0{after}</loc>", other)
    )
    assert reading.urls == [f"{E}/1", f"{E}/0", f"{E}/2"]
    assert [problem.code for problem in reading.problems] == ["unclosed-cdata"]


MARKUP = "The <title> tag, </title> and ]] > in <![CDATA"
QUOTED = "<![CDATA[ & <script>]]&gt;"


@together("written, title", [(MARKUP, MARKUP), (QUOTED, QUOTED.replace("&gt;", ">"))])
def test_markup_or_a_section_in_a_section_that_ends_is_text(written, title):
    reading = read_by_all_lanes(rss(f"<title><![CDATA[{written}]]></title><link>{E}/1</link>"))
    (page,) = map(brief_page, reading.pages)
    assert page == {"url": f"{E}/1", "news_story": {"title": title}}
    assert not reading.problems
