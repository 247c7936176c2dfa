"""Trees to export, and what the table of a tree should be, page by page."""

# ruff: noqa: DTZ001 - sitemaps have dates without an offset

import io
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from typing import Any
from unittest.mock import MagicMock

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from profiles import examples
from usp.export import COLUMNS, write
from usp.export.text_formats import plain
from usp.objects.extension_values import FieldSpec, Kind, Table
from usp.objects.extensions import EXTENSIONS, Extension
from usp.objects.page import SITEMAP_PAGE_DEFAULT_PRIORITY, SitemapPage, SitemapPageChangeFrequency
from usp.objects.sitemap import AbstractPagesSitemap, IndexWebsiteSitemap, PagesXMLSitemap
from usp.tree import sitemap_from_bytes

few = settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))

HEAD = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
    ' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
    ' xmlns:mobile="http://www.google.com/schemas/sitemap-mobile/1.0"'
    ' xmlns:xhtml="http://www.w3.org/1999/xhtml">'
)
RICH = f"""<?xml version="1.0"?>{HEAD}
<url><loc>https://x.org/all</loc><lastmod>2024-05-01T10:00:00.5+02:00</lastmod>
<changefreq>weekly</changefreq><priority>0.8</priority>
<news:news><news:publication><news:name>The “Times”, daily</news:name><news:language>en</news:language>
</news:publication><news:publication_date>2024-05-01</news:publication_date>
<news:title>=1+1 &amp; more, "quoted"</news:title><news:genres>Blog, PressRelease</news:genres>
<news:keywords>tea</news:keywords><news:stock_tickers>NASDAQ:A</news:stock_tickers></news:news>
<image:image><image:loc>https://x.org/1.jpg</image:loc><image:title>One
line</image:title></image:image><image:image><image:loc>https://x.org/2.jpg?a=1&amp;b=2</image:loc></image:image>
<video:video><video:thumbnail_loc>https://x.org/t.jpg</video:thumbnail_loc><video:title>V</video:title>
<video:player_loc allow_embed="no" autoplay="ap=1">https://x.org/p</video:player_loc>
<video:duration>95</video:duration><video:rating>4.5</video:rating>
<video:view_count>9999999999999999999</video:view_count>
<video:content_segment_loc duration="7">https://x.org/s</video:content_segment_loc>
<video:publication_date>2024-11-05T10:00:00Z</video:publication_date><video:tag>a</video:tag>
<video:tag>b</video:tag><video:family_friendly>yes</video:family_friendly>
<video:restriction relationship="allow">DE AT</video:restriction>
<video:price currency="EUR" type="own">1.99</video:price>
<video:uploader info="https://x.org/u">U</video:uploader>
<video:tvshow><video:show_title>S</video:show_title><video:season_number>2</video:season_number></video:tvshow>
<video:platform relationship="deny">web tv</video:platform><video:live>no</video:live>
<video:id type="tms:series">SH1</video:id></video:video>
<xhtml:link rel="alternate" hreflang="de" href="https://x.org/de?a=1&amp;b=2"/>
<xhtml:link rel="alternate" hreflang="x-default" href="https://x.org/"/><mobile:mobile/></url>
<url><loc>https://x.org/plain</loc></url>
<url><loc>https://x.org/caf\u00e9?q=a,b&amp;c="d"</loc><lastmod>2024-05</lastmod><priority>7</priority></url>
<url><loc>https://x.org/odd</loc><changefreq>sometimes</changefreq><lastmod>soon</lastmod></url>
</urlset>"""

DATES = [
    "2024", "2024-05", "2024-05-31", "2024-05-31T10:20", "2024-05-31T10:20Z", "2024-05-31T10:20:30",
    "2024-05-31T10:20:30Z", "2024-05-31 10:20:30+02:00", "2024-05-31T10:20:30.123456-05:00",
    "2024-05-31T10:20:30.1234567Z", "2024-05-31+02:00", "2023-02-29", "2024-13-01", "0000-01-01",
    "9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00", "20240531T102030Z", "20240531", "soon",
    "Fri, 31 May 2024 10:20:30 GMT", "31 May 2024", "May 2024", "2024-05-31T24:00:00",
    "2024-05-31T10:20:60Z", "2024-05-31T10:20:30+25:00", "2024-05-31T10:20:30+14:59", "2024-W05",
]  # fmt: skip


def value_of(page: SitemapPage, name: str) -> Any:
    """Give the value of a column, as the page has it."""
    value = getattr(page, COLUMNS[name].name)
    if value is SITEMAP_PAGE_DEFAULT_PRIORITY:
        return None
    return value.value if isinstance(value, SitemapPageChangeFrequency) else value


def tree_of(*documents: str) -> IndexWebsiteSitemap:
    """Give a website of sitemaps that are read from documents."""
    nodes = [
        sitemap_from_bytes(document.encode(), f"https://x.org/{number}.xml")
        for number, document in enumerate(documents)
    ]
    return IndexWebsiteSitemap("https://x.org/", nodes)


def urlset(*entries: str) -> str:
    return HEAD + "".join(f"<url>{entry}</url>\n" for entry in entries) + "</urlset>"


def exported(pages: Any, form: str, **options: Any) -> bytes:
    """Give what is written in a format."""
    stream = io.BytesIO()
    write(pages, stream, form, **options)
    return stream.getvalue()


def lazy_sitemap(pages: Callable[[], Iterator[SitemapPage]]) -> PagesXMLSitemap:
    """Give a sitemap whose pages a function yields when they are asked for."""
    source = MagicMock(**{"count.return_value": 0, "problems.return_value": []})
    source.__iter__.side_effect = pages
    return PagesXMLSitemap("https://x.org/s.xml", source)


def numbered_pages(count: int) -> Iterator[SitemapPage]:
    return (SitemapPage(f"https://x.org/{number}") for number in range(count))


def plain_entry(name: object, lastmod: str = "", changefreq: str = "", priority: str = "") -> str:
    fields = {"lastmod": lastmod, "changefreq": changefreq, "priority": priority}
    inside = "".join(f"<{name}>{text}</{name}>" for name, text in fields.items() if text)
    return f"<loc>https://x.org/p/{name}</loc>{inside}"


PLAIN = urlset(*(plain_entry(n, "2024-05-01", "daily", "0.3") for n in range(2000)))


def expected_rows(tree: Any) -> list[dict[str, Any]]:
    """Give the table of a tree as JSON has it, from the pages themselves."""
    names = COLUMNS.keys() - {"sitemap", "lastmod_precision"}
    rows = []
    for sitemap in [tree, *tree.all_sitemaps()]:
        for page in sitemap.all_pages() if isinstance(sitemap, AbstractPagesSitemap) else ():
            row = {name: plain(value_of(page, name), COLUMNS[name]) for name in names}
            rows.append({**row, "sitemap": sitemap.url})
    return without_precision(rows)


def without_precision(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out what pages do not know: how their date was written."""
    return [{k: row[k] for k in sorted(row) if k != "lastmod_precision"} for row in rows]


# Generated ----------------------------------------------------------------------------------------

texts = st.text(
    st.characters(
        codec="utf-8",
        exclude_categories=("Cc", "Cs", "Zl", "Zp", "Cn"),
        exclude_characters="\ufeff",
    ),
    min_size=1,
    max_size=12,
).map(lambda text: " ".join(text.split()) or "x")
words = st.text("abcXYZ09-_:", min_size=1, max_size=6)
urls = st.builds(
    "https://x.org/{}".format, st.text("abc/?=&;,\"'%é茶 +-<>", max_size=12).map(str.strip)
)
dates = st.one_of(  # a date of the year 1 is read as a missing one
    st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)),
    st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
    st.dates(date(2, 1, 1)).map(lambda day: datetime(day.year, day.month, day.day)),
)
SINGLE = {
    Kind.TEXT: texts,
    Kind.VERBATIM: words,
    Kind.ADDRESS: urls,
    Kind.ADDRESS_OR_NAME: urls,
    Kind.TIME: dates,
    Kind.NUMBER: st.decimals(0, 1, places=2),
    Kind.WHOLE: st.integers(0, 10**9),
    Kind.FLAG: st.booleans(),
}


def some(strategy):
    return st.none() | strategy


def values(table: Table):
    """Give values of an extension, with any of the fields that its table has."""
    fields = {spec.argument or spec.name: field_of(spec) for spec in table.specs}
    return st.builds(table.value or (lambda **given: tuple(given.values())), **fields)


def field_of(spec: FieldSpec):
    one = values(spec.kind) if isinstance(spec.kind, Table) else SINGLE[spec.kind]
    if spec.many is not None:
        return st.lists(words if spec.many else one, max_size=2).map(tuple)
    return one if spec.required or spec.default is not None else some(one)


def of_extension(extension: Extension):
    if not extension.table.specs:
        return st.booleans()
    one = values(extension.table)
    return some(st.lists(one, min_size=1, max_size=2) if extension.many else one)


pages = st.builds(
    SitemapPage,
    urls,
    SINGLE[Kind.NUMBER],
    some(dates),
    some(st.sampled_from(SitemapPageChangeFrequency)),
    **{extension.field: of_extension(extension) for extension in EXTENSIONS},
)
trees = st.lists(st.lists(pages, max_size=4, unique_by=lambda page: page.url), max_size=2).map(
    lambda lists: IndexWebsiteSitemap(
        "https://x.org/",
        [PagesXMLSitemap(f"https://x.org/{n}.xml", pages) for n, pages in enumerate(lists)],
    )
)


def documents():
    """Give documents whose entries have fields of the protocol only, well written or not."""
    entry = st.tuples(
        st.sampled_from(["", *DATES]),
        st.sampled_from(["", "daily", "DAILY", "sometimes"]),
        st.sampled_from(["", "0.1", "1.0", "2", "high", "1e-3"]),
    )
    return st.lists(entry, min_size=1, max_size=6).map(
        lambda entries: urlset(*(plain_entry(n, *fields) for n, fields in enumerate(entries)))
    )
