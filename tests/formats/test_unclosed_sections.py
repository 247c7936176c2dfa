"""A CDATA section that has lost its end ends where its element does, and the entries after it are read."""

from __future__ import annotations

from formats_support import brief_page, chunks, read

from together import together

E = "https://www.example.org"
LANES = together("lanes", [None, True, "fast"])
ENDS = ["", "]]", "]>", "\n", "]] "]


def urlset(*entries: str) -> bytes:
    written = "\n".join(f"<url>{entry}</url>" for entry in entries)
    return f"<urlset>{written}</urlset>".encode()


def rss(*entries: str) -> bytes:
    items = "".join(f"<item>{entry}</item>\n" for entry in entries)
    return f"<rss><channel><title>T</title>\n{items}</channel></rss>".encode()


CLOSED = f"<loc><![CDATA[{E}/1]]></loc><lastmod><![CDATA[2024-01-02]]></lastmod>"
LINKED = f"<title><![CDATA[A <b>]]></title><link><![CDATA[{E}/1]]></link>"


@LANES
@together("end", ENDS)
@together("others", [[CLOSED], ["<loc>https://e.org/2</loc>"], []])
def test_a_loc_ends_where_its_tag_ends(end, others, lanes):
    lost = f"<loc><![CDATA[{E}/0{end}</loc><lastmod>2024-05-06</lastmod>"
    data = urlset(*others, lost, *others, lost, *others)
    good = read([data.replace(f"/0{end}<".encode(), b"/0]]><")], lanes=lanes)
    for size in (1, 7, len(data)):
        reading = read(chunks(data, size), lanes=lanes)
        assert reading.pages == good.pages
        assert {problem.code for problem in reading.problems} == {"unclosed-cdata"}
        assert sum(problem.times for problem in reading.problems) == 2


@LANES
@together("end", ENDS)
@together("field", ["link", "title", "content:encoded", "pubDate"])
def test_a_field_of_a_feed_ends_where_its_tag_ends(field, end, lanes):
    data = rss(LINKED, LINKED.replace("/1", "/2"), LINKED.replace("/1", "/3"))
    value = {"link": f"{E}/9", "title": "T", "pubDate": "Mon, 10 Jun 2024 10:00:00 GMT"}
    lost = f"<{field}><![CDATA[{value.get(field, '<p>Text</p>')}{end}</{field}>"
    lost += "" if field == "link" else f"<link>{E}/9</link>"
    data = data.replace(b"</item>\n<item>", f"</item>\n<item>{lost}</item>\n<item>".encode(), 1)
    reading = read([data], lanes=lanes)
    assert reading.urls == [f"{E}/{at}" for at in (1, 9, 2, 3)]
    assert [problem.code for problem in reading.problems] == ["unclosed-cdata"]


@LANES
@together("after", ["]]>]]>", "]]]]>", "]]> ]]>", "]]>"])
def test_a_section_in_a_section_is_one(after, lanes):
    data = urlset(CLOSED, f"<loc><![CDATA[<![CDATA[{E}/0{after}</loc>", CLOSED.replace("/1", "/2"))
    for size in (1, len(data)):
        reading = read(chunks(data, size), lanes=lanes)
        assert reading.urls == [f"{E}/1", f"{E}/0", f"{E}/2"]
        assert [problem.code for problem in reading.problems] == ["unclosed-cdata"]


@LANES
def test_markup_in_a_section_that_ends_is_text(lanes):
    title = "The <title> tag, </title> and ]] > in <![CDATA"
    data = rss(f"<title><![CDATA[{title}]]></title><link>{E}/1</link>")
    assert [brief_page(page) for page in read([data], lanes=lanes).pages] == [
        {"url": f"{E}/1", "news_story": {"title": title}}
    ]
    assert not read([data], lanes=lanes).problems


@LANES
def test_a_section_that_is_quoted_in_another_is_text(lanes):
    data = rss(f"<title><![CDATA[<![CDATA[ & <script>]]&gt;]]></title><link>{E}/1</link>")
    (page,) = read([data], lanes=lanes).pages
    assert page.news_story.title == "<![CDATA[ & <script>]]>"
    assert not read([data], lanes=lanes).problems
