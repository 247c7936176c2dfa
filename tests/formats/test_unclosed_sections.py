"""A CDATA section that has lost its end ends where its element does, and the entries after it are read."""

from __future__ import annotations

from formats_support import brief_page, chunks, read, same

from together import together

E = "https://www.example.org"
ENDS = together("end", ["", "]]", "]>", "\n", "]] "])
CLOSED = f"<loc><![CDATA[{E}/1]]></loc><lastmod><![CDATA[2024-01-02]]></lastmod>"
LINKED = f"<title><![CDATA[A <b>]]></title><link><![CDATA[{E}/{{}}]]></link>"


def urlset(*entries):
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
    data = urlset(*others, lost, *others, lost, *others)
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
    reading = read_by_all_lanes(urlset(CLOSED, f"<loc><![CDATA[<![CDATA[{E}/0{after}</loc>", other))
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
