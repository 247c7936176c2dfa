"""Well-formed entries are read without the scanner, however they are written, and problems too."""

import gc
import gzip

import pytest
from formats_entries import ATOM, GOOD, RSS
from formats_oracle import SPACES
from formats_strategies import repeated
from formats_support import SITEMAP, E, read, same

from together import together
from usp._formats.abstract_parser import MAX_PIECE
from usp._formats.batches import LazyBatch
from usp._formats.document import DocumentParser
from usp._formats.xml import cut
from usp._formats.xml.scanner import Scanner
from usp._formats.xml.tree_reader import TreeReader

IMAGE = "http://www.google.com/schemas/sitemap-image/1.1"
COUNT = 400
SHORT = f'xmlns="{SITEMAP}" xmlns:xhtml="{SPACES["xhtml"]}" ' + " ".join(
    f'xmlns:{name[0]}="{uri}"' for name, uri in SPACES.items()
)

WAYS = {
    "usual": f"<url><loc>{E}/{{n}}</loc><lastmod>2024-05-01T10:00:00.123Z</lastmod></url>\r\n",
    "relative": "<url><loc>/{n}</loc><lastmod>2024-05-01</lastmod></url>",
    "cdata": f"<url><loc><![CDATA[{E}/{{n}}?a&b]]></loc><lastmod><![CDATA[2024]]></lastmod></url>",
    "line breaks": f"<url>\n<loc>\n {E}/{{n}}\n</loc>\n<lastmod>2024-05-01T10:00-05:00</lastmod></url>",
    "image first": (
        f"<url><loc>{E}/{{n}}</loc><image:image><image:loc>{E}/i</image:loc></image:image>"
        "<lastmod>2024-05-01</lastmod></url>"
    ),
    "comment, loc last": f"<!-- a --><url><lastmod>2024</lastmod><loc>{E}/{{n}}</loc></url>",
    "attributes": f"<url ><loc xml:lang='en'>{E}/{{n}}</loc ></url >",
    "prefix": f"<sm:url><sm:loc>{E}/{{n}}</sm:loc><sm:priority>0.3</sm:priority></sm:url>",
    "declared inside": (
        f'<url><loc>{E}/{{n}}</loc><image:image xmlns:image="{IMAGE}">'
        f"<image:loc>{E}/i</image:loc></image:image></url>"
    ),
    "never declared": f"<url><loc>{E}/{{n}}</loc><video:video><video:title>T</video:title></video:video></url>",
    "some fields": f"<url><loc>{E}/{{n}}</loc></url><url><loc>{E}/{{n}}/</loc><priority>1</priority></url>",
    "attributes, and a date": f"<url ><loc xml:lang='en'>\n{E}/{{n}}\n</loc ><lastmod>2024</lastmod></url >\n",
    "comment, priority, loc": (
        f"<!-- {{n}} --><url><lastmod>2024</lastmod><priority>0.1</priority><loc>{E}/{{n}}</loc></url>"
    ),
    "another order": f"<url><loc>{E}/{{n}}</loc><priority>0.1</priority><lastmod>2024</lastmod></url>",
    "CRLF": f"<url>\r\n\t<loc>{E}/{{n}}</loc>\r\n\t<lastmod>2024</lastmod>\r\n</url>\r\n",
}
CUT = ["cdata", "attributes, and a date", "comment, priority, loc", "another order", "CRLF"]


def urlset(way, count=COUNT):
    """Write a urlset of entries in one of the ways."""
    spaces = f'xmlns="{SITEMAP}" xmlns:sm="{SITEMAP}"'
    if "image" in way:
        spaces += f' xmlns:image="{IMAGE}"'
    return f"<urlset {spaces}>{repeated([(WAYS[way], count)])}</urlset>"


def feed(root, entry):
    return root % repeated([(entry, COUNT // 5)])


FEEDS = {
    "RSS 2.0": feed(
        RSS,
        "<item><title>T {n} &amp;amp; &#8217;</title><link>https://e.org/{n}?a=1&amp;b=2</link>"
        "<category>a</category><category>b</category><guid isPermaLink='false'>{n}</guid>"
        "<pubDate>Tue, 02 Jan 2024 03:04:05 GMT</pubDate><description>&lt;p&gt;x</description></item>\n",
    ),
    "CDATA, and a long body": feed(
        RSS,
        "<item>\n<title><![CDATA[T & {n} <b>]]></title>\n<link>\nhttps://e.org/{n}\n</link>\n"
        f"<content:encoded><![CDATA[<item><title>no</title>{'x' * 2000}]]></content:encoded>\n"
        "<dc:date>2024-01-02T03:04:05Z</dc:date>\n</item>\n",
    ),
    "Atom": feed(
        ATOM,
        '<entry><link rel="self" href="/no"/><link title="t" rel="enclosure" href="/no"></link>'
        '<title type="html" xml:lang="en">T{n}</title><link href="https://e.org/{n}?a&amp;b"/>'
        "<published>2024-01-02T03:04:05.678+01:00</published><updated>2025-01-01</updated>"
        '<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>a<br/>b</p></div></content>'
        "<source><title>no</title><link href='/no'/></source></entry>\n",
    ),
    "Atom, the link last, xml:base in the content": feed(
        ATOM,
        "<entry><id>{n}</id><updated>2024-01-02T03:04:05Z</updated><title>T{n}</title>"
        f"<content type='html' xml:base='/no/'>{'&lt;p&gt;text ' * 200}</content>"
        '<link rel="replies" type="x" href="/no"/><link rel="alternate" href="https://e.org/{n}"/>'
        "</entry>\n",
    ),
    "Atom in single quotes, with other links": feed(
        ATOM,
        "<entry>\n<id>{n}</id>\n<published>2024-01-02T03:04:05.678-07:00</published>"
        "<title type='xhtml'><b>T</b>{n}</title>\n<link rel='replies' href='/no' title='Comments'/>\n"
        "<link rel='self' href='/no'/>\n<link rel='alternate' href='https://e.org/{n}&amp;\"'/>\n"
        "</entry>\n",
    ),
}
DOCUMENTS = {way: urlset(way) for way in WAYS} | FEEDS
DOCUMENTS["index"] = feed(
    f'<sitemapindex xmlns="{SITEMAP}">%s</sitemapindex>',
    f"<sitemap><loc>{E}/{{n}}.xml</loc><lastmod>2024-05-06</lastmod></sitemap>",
)


@pytest.fixture
def scanned(monkeypatch):
    """How many characters the scanner was given."""
    lengths = []
    feed = Scanner.feed
    monkeypatch.setattr(
        Scanner, "feed", lambda self, text: lengths.append(len(text)) or feed(self, text)
    )
    return lengths


@together("name", DOCUMENTS)
def test_entries_are_not_scanned_however_they_are_written(name, scanned):
    text = DOCUMENTS[name].encode()
    whole = read([text])
    assert len(whole.urls) + len(whole.children) >= (COUNT if name in WAYS else COUNT // 5)
    assert not whole.problems
    for blocks in (True, "fast"):
        scanned.clear()
        given = read([text], blocks=blocks)
        # The head of a document comes with the first text, in which its root is looked for.
        assert sum(scanned[1:]) < 200 or "xml:base" in name
        assert (given.pages, given.children) == (whole.pages, whole.children)
        assert not given.problems
        if name in FEEDS:
            assert {page.news_story.title[:1] for page in given.pages} == {"T"}
    same(whole, [text])


def test_the_scanner_is_fed_a_bounded_piece_at_a_time(scanned):
    document = f"<urlset>{'<a>b</a>' * 70_000}</urlset>".encode()
    for data in (document, gzip.compress(document)):
        read([data])
    assert max(scanned) <= MAX_PIECE


def test_one_odd_entry_does_not_cost_the_others(scanned):
    odd = f"<url><loc>{E}/?a&b</loc><lastmod>never</lastmod></url>"
    text = urlset("cdata").replace("</urlset>", odd) + urlset("image first").partition(">")[2]
    whole = read([text.encode()])
    assert [problem.code for problem in whole.problems] == ["bare-ampersand", "bad-lastmod"]
    scanned.clear()
    given = read([text.encode()], blocks=True)
    assert sum(scanned[1:]) < 4096
    assert (given.pages, given.problems) == (whole.pages, whole.problems)


def test_damaged_entries_are_read_below_one_root(scanned):
    text = urlset("image first", 30).replace(
        "</image:loc>", "</image:loc><image:title>a < b</image:title>"
    )
    whole = read([text.encode()])
    given = read([text.encode()], blocks="fast")
    scanned.clear()
    assert given.pages == whole.pages
    assert {page.images[0].title for page in given.pages} == {"a < b"}
    assert sum(scanned) < len(text) + 30 * 20  # each is followed by some line ends


@together("way", [*CUT, "image first"])
def test_entries_written_alike_are_cut_in_large_blocks(way):
    parser = DocumentParser(f"{E}/sitemap.xml", fast=True)
    batches = [*parser.feed(urlset(way, 5000).encode()), *parser.close()]
    cut_batches = [batch for batch in batches if isinstance(batch, LazyBatch)]
    urls = [url for batch in batches for url in batch.urls]
    assert [url.removesuffix("?a&b") for url in urls] == [f"{E}/{n}" for n in range(5000)]
    pages = [page for batch in batches for page in batch.pages()]
    assert {page.last_modified.year for page in pages} == {2024}
    is_simple = way in CUT
    assert all(bool(batch.texts()) is is_simple for batch in batches)
    if is_simple:
        assert len(cut_batches) == len(batches) < 5
    else:  # the first ones are read with all of their fields
        assert sum(len(batch.urls) for batch in cut_batches) > 4000


def test_columns_give_the_garbage_collector_nothing_to_do():
    """A tuple for each entry would: it would run again and again."""
    block = repeated([(WAYS["another order"], 3000)])
    style = cut.shape_of(block, cut.CutNames("url", (), ()))
    assert style is not None
    cut.columns(block, style)  # the pattern is known from now on
    before = gc.get_threshold()
    gc.collect()
    runs = []
    gc.callbacks.append(lambda *run: runs.append(run))
    gc.set_threshold(1000, 10, 10)
    try:
        found = cut.columns(block, style)
    finally:
        gc.set_threshold(*before)
        gc.callbacks.pop()
    assert not runs
    assert found is not None
    assert list(map(len, found.values())) == [3000] * 3


def test_an_entry_with_very_many_elements_is_read_as_far_by_all_ways():
    many = "<o>" + "<id/>" * 10_100 + "</o>"
    entry = GOOD["entry"].replace("{n}", "1")
    text = (ATOM % f"<entry>{entry}</entry><entry>{many}{entry}</entry>").encode()
    same(read([text]), [text])


RICH = {
    "links": '<xhtml:link rel="alternate" hreflang="de" href="https://e.org/de/{n}"/>' * 2,
    "image": "<i:image><i:loc>/{n}.png?a&amp;b</i:loc><i:title>A &lt; B {n}</i:title></i:image>",
    "news": "<n:news><n:publication><n:name>N</n:name></n:publication><n:title>T {n}</n:title>"
    "<n:publication_date>2024-01-02</n:publication_date></n:news>",
    "video": "<v:video><v:title>T {n}</v:title><v:live>no</v:live></v:video>",
    "mobile": "<m:mobile/><lastmod>2024-01-02</lastmod>",
    "empty elements": "<i:image><i:title/><i:loc>/{n}</i:loc></i:image><lastmod/>",
}


@together("kind", RICH)
def test_rich_entries_without_problems_are_not_read_one_by_one(kind, monkeypatch):
    parsed, parse = [], TreeReader.parse
    monkeypatch.setattr(TreeReader, "parse", lambda *given: parsed.append(given) or parse(*given))
    parser = DocumentParser(f"{E}/sitemap.xml")
    entry = f"<url>\n <loc>{E}/{{n}}</loc>\n {RICH[kind]}\n</url>\n"
    text = f"<urlset {SHORT}>{repeated([(entry, COUNT)])}</urlset>"
    entries = [*parser.feed(text.encode()), *parser.close()]
    assert not parser.problems.listed()
    assert sum(len(entry.urls) for entry in entries) == COUNT
    assert len(parsed) <= 20  # blocks of entries, not entries
