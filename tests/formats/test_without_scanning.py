"""Well-formed entries are read without the scanner, however they are written, and problems too."""

from __future__ import annotations

import pytest
from formats_support import SITEMAP, read

from together import together
from usp._formats.values import absolute_url
from usp._formats.xml.scanner import Scanner

E = "https://www.example.org"
IMAGE = "http://www.google.com/schemas/sitemap-image/1.1"
COUNT = 400

WAYS = {
    "usual": f"<url><loc>{E}/%d</loc><lastmod>2024-05-01T10:00:00.123Z</lastmod></url>\r\n",
    "relative": "<url><loc>/%d</loc><lastmod>2024-05-01</lastmod></url>",
    "cdata": f"<url><loc><![CDATA[{E}/%d?a&b]]></loc><lastmod><![CDATA[2024]]></lastmod></url>",
    "line breaks": f"<url>\n<loc>\n {E}/%d\n</loc>\n<lastmod>2024-05-01T10:00-05:00</lastmod></url>",
    "image first": (
        f"<url><loc>{E}/%d</loc><image:image><image:loc>{E}/i</image:loc></image:image>"
        "<lastmod>2024-05-01</lastmod></url>"
    ),
    "comment, loc last": f"<!-- a --><url><lastmod>2024</lastmod><loc>{E}/%d</loc></url>",
    "attributes": f"<url ><loc xml:lang='en'>{E}/%d</loc ></url >",
    "prefix": f"<sm:url><sm:loc>{E}/%d</sm:loc><sm:priority>0.3</sm:priority></sm:url>",
    "declared inside": (
        f'<url><loc>{E}/%d</loc><image:image xmlns:image="{IMAGE}">'
        f"<image:loc>{E}/i</image:loc></image:image></url>"
    ),
    "never declared": f"<url><loc>{E}/%d</loc><video:video><video:title>T</video:title></video:video></url>",
    "some fields": f"<url><loc>{E}/%d</loc></url><url><loc>{E}/%d/</loc><priority>1</priority></url>",
}
RSS = f"<item><title>T</title><link>{E}/%d</link><pubDate>Mon, 06 May 2024 10:00:00 GMT</pubDate></item>"
ATOM = (
    f"<entry><title type='xhtml'><b>T</b></title><link href='{E}/%d'/>"
    "<updated>2024-05-06T10:00:00Z</updated></entry>"
)
CHILD = f"<sitemap><loc>{E}/%d.xml</loc><lastmod>2024-05-06</lastmod></sitemap>"


def many(entry: str) -> str:
    return "\n".join(entry.replace("%d", str(number)) for number in range(COUNT))


DOCUMENTS = {
    name: f'<urlset xmlns="{SITEMAP}" xmlns:sm="{SITEMAP}">{many(entry)}</urlset>'.replace(
        "xmlns:sm", "xmlns:image='" + IMAGE + "' xmlns:sm", int(name == "image first")
    )
    for name, entry in WAYS.items()
} | {
    "rss": f"<rss version='2.0'><channel><title>C</title>{many(RSS)}</channel></rss>",
    "atom": f"<feed xmlns='http://www.w3.org/2005/Atom'><title>F</title>{many(ATOM)}</feed>",
    "index": f'<sitemapindex xmlns="{SITEMAP}">{many(CHILD)}</sitemapindex>',
}


@pytest.fixture
def scanned(monkeypatch):
    """How many characters the scanner was given."""
    lengths = []
    feed = Scanner.feed

    def counted(self, text):
        lengths.append(len(text))
        feed(self, text)

    monkeypatch.setattr(Scanner, "feed", counted)
    return lengths


@together("lanes", [True, "fast"])
@together("name", DOCUMENTS)
def test_entries_are_not_scanned_however_they_are_written(name, lanes, scanned):
    text = DOCUMENTS[name]
    whole = read([text.encode()])
    assert len(whole.urls) + len(whole.children) >= COUNT
    assert not whole.problems
    scanned.clear()
    given = read([text.encode()], lanes=lanes)
    # The head of a document comes with the first text, in which its root is looked for.
    assert sum(scanned[1:]) < 200
    assert given.pages == whole.pages
    assert given.children == whole.children
    assert not given.problems


def test_one_odd_entry_does_not_cost_the_others(scanned):
    odd = f"<url><loc>{E}/?a&b</loc><lastmod>never</lastmod></url>"
    text = f"<urlset>{many(WAYS['cdata'])}{odd}{many(WAYS['image first'])}</urlset>".encode()
    whole = read([text])
    assert [problem.code for problem in whole.problems] == ["bare-ampersand", "bad-lastmod"]
    scanned.clear()
    given = read([text], lanes=True)
    assert sum(scanned[1:]) < 4096
    assert (given.pages, given.problems) == (whole.pages, whole.problems)


@together("lanes", [None, True, "fast"])
def test_elements_nested_very_deep_do_no_harm(lanes):
    deep = f"<url><loc>{E}/1</loc>{'<a>' * 20_000}{'</a>' * 20_000}</url>"
    text = f"<urlset>{deep}<url><loc>{E}/2</loc></url></urlset>"
    assert read([text.encode()], lanes=lanes).urls == [f"{E}/1", f"{E}/2"]


@together(
    "loc, expected",
    [
        ("/a/b.html", f"{E}/a/b.html"),
        ("/a?b=1&c=2", f"{E}/a?b=1&c=2"),
        ("b.html", f"{E}/dir/b.html"),
        ("c/ß-d", f"{E}/dir/c/ß-d"),
        ("../x", f"{E}/x"),
        ("/./x", f"{E}/x"),
        ("//other.example/x", "https://other.example/x"),
        ("www.example.org/x", f"{E}/x"),
        ("example.org/x", "https://example.org/x"),
        ("mailto:a@b.example", None),
    ],
)
def test_a_plain_path_is_resolved_as_any_other(loc, expected):
    assert absolute_url(loc, f"{E}/dir/sitemap.xml") == expected
