"""Generated documents give the pages that an independent reader, on ElementTree, gives."""

from datetime import UTC, datetime, timedelta, timezone
from xml.sax.saxutils import escape, quoteattr

import pytest
from formats_oracle import PREFIXES, SPACES, atom_pages, index_children, rss_pages, urlset_pages
from formats_strategies import one_of, pieces
from formats_support import read
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles import examples

WORDS = st.text(alphabet="abc <>&'\"é日,", min_size=1, max_size=12).map(lambda t: f"x{t}x")
PATHS = st.text(alphabet="abcé/?=&%20+", max_size=15)
URLS = PATHS.map(lambda path: f"https://www.example.org/{path}")
ZONES = one_of(None, UTC, *(timezone(timedelta(hours=hours)) for hours in (5.5, -8)))
FIRST = datetime(2, 1, 1)  # noqa: DTZ001 - year 1 stands for no date
DATES = st.datetimes(FIRST, timezones=ZONES).map(lambda date: date.isoformat())
DAYS = st.dates(FIRST.date()).map(lambda date: date.isoformat())
PRIORITIES = st.integers(0, 100).map(lambda percent: f"{percent / 100}")
FREQUENCIES = one_of("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
BLANKS = one_of("", "", "\n  ", "\t", "\r\n")
LISTS = st.lists(WORDS.map(lambda w: w.replace(",", "")), max_size=3).map(", ".join)


@st.composite
def field(draw, name, values, *, optional=True):
    """Write an element: its text escaped or in CDATA, blanks around, perhaps a comment beside."""
    if optional and draw(st.booleans()):
        return draw(BLANKS)
    value = draw(values)
    references = "".join(f"&#{ord(c)};" if c in "&<é" else escape(c) for c in value)
    written = draw(one_of(escape(value), f"<![CDATA[{value}]]>", references))
    comment = draw(one_of("", "", "<!-- <loc>no</loc> -->", "<?no <loc>?>"))
    return f"{comment}<{name}>{draw(BLANKS)}{written}{draw(BLANKS)}</{name}>{draw(BLANKS)}"


def element(name, *fields):
    """Write an element with its fields in any order."""
    return (
        st.tuples(*fields)
        .flatmap(st.permutations)
        .map(lambda inner: f"<{name}>{''.join(inner)}</{name}>")
    )


def several(elements, most=3):
    return st.lists(elements, max_size=most).map("".join)


def need(name, values):
    return field(name, values, optional=False)


NEWS = element(
    "news:news",
    element("news:publication", field("news:name", WORDS), field("news:language", WORDS)),
    need("news:title", WORDS),
    need("news:publication_date", DATES | DAYS),
    field("news:access", WORDS),
    *(field(f"news:{name}", LISTS) for name in ("genres", "keywords", "stock_tickers")),
)
IMAGE = element(
    "image:image",
    need("image:loc", URLS),
    *(field(f"image:{name}", WORDS) for name in ("caption", "geo_location", "title", "license")),
)
VIDEO = element(
    "video:video",
    need("video:title", WORDS),
    field("video:description", WORDS),
    need("video:duration", st.integers(0, 28800).map(str)),
    need("video:family_friendly", one_of("yes", "no")),
    several(field("video:tag", WORDS)),
)
LINK = st.tuples(one_of("de", "x-default"), URLS).map(
    lambda link: f'<xhtml:link rel="alternate" hreflang="{link[0]}" href={quoteattr(link[1])} />'
)
URL = element(
    "url",
    need("loc", URLS),
    field("lastmod", DATES | DAYS),
    field("changefreq", FREQUENCIES),
    field("priority", PRIORITIES),
    several(NEWS, 1),
    several(IMAGE),
    several(VIDEO, 2),
    several(LINK),
    one_of("", "", "<mobile:mobile/>", '<x:loc xmlns:x="urn:x">no</x:loc>'),
)


def document(root, entries, attributes=""):
    return st.lists(entries, max_size=4).map(
        lambda written: f"<{root} {attributes}>\n" + "\n".join(written) + f"\n</{root}>"
    )


RSS_DATES = st.datetimes(FIRST, timezones=ZONES).map(
    lambda date: date.replace(microsecond=0).isoformat()
)
ITEM = element(
    "item",
    need("link", URLS),
    need("title", WORDS),
    field("description", WORDS),
    field("pubDate", RSS_DATES),
    one_of("", "<media:title xmlns:media='http://search.yahoo.com/mrss/'>no</media:title>"),
)


@st.composite
def atom_links(draw):
    """Write links of which one is the page's: that without ``rel``, the alternate, or the own."""
    rels = draw(one_of("alternate", "self", "self alternate", " edit", "edit self")).split(" ")
    given = [f'rel="{rel}"' if rel else "" for rel in rels]
    return "".join(f"<link {rel} href={quoteattr(draw(URLS))}/>" for rel in given)


ENTRY = element(
    "entry",
    atom_links(),
    need("summary", WORDS),
    field("title", WORDS),
    *(field(name, RSS_DATES) for name in ("published", "updated")),
    one_of("", '<source><title>no</title><link href="/no"/></source>'),
)


CHILD = element("sitemap", need("loc", URLS), field("lastmod", DATES | DAYS))
DOCUMENTS = {
    "urlset": (document("urlset", URL, f'xmlns="{SPACES["s"]}" {PREFIXES}'), urlset_pages),
    "index": (document("sitemapindex", CHILD, f'xmlns="{SPACES["s"]}"'), index_children),
    "rss": (document("channel", ITEM).map('<rss version="2.0">{}</rss>'.format), rss_pages),
    "atom": (document("feed", ENTRY, f'xmlns="{SPACES["atom"]}"'), atom_pages),
}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_document_gives_the_pages_or_children_that_are_in_it_and_no_problems(kind):
    texts, oracle = DOCUMENTS[kind]

    @settings(max_examples=examples(150))
    @given(text=texts, data=st.data())
    def law(text, data):
        reading = read(data.draw(pieces(text.encode())))
        assert reading == read([text.encode()])
        assert reading.problems == ()
        children = [(child.loc, child.lastmod) for child in reading.children]
        assert [*reading.pages, *children] == oracle(text)

    law()
