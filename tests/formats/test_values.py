"""From the text of a field to its value; None where it cannot be read. Long texts do not stay in memory."""

import functools
from decimal import Decimal

from formats_support import read as read_document
from formats_support import urlset
from hypothesis import given
from hypothesis import strategies as st

from together import together
from usp._base import dates
from usp._formats import values
from usp.objects.page import SitemapPageChangeFrequency

LISTED = functools.partial(values.listed, separator=",")
WORDS = functools.partial(values.listed, separator=None)
READERS = [
    *(values.text, values.date, values.number, values.priority, values.whole_number, values.yes_no),
    *(values.change_frequency, LISTED, WORDS),
]


@together("read", READERS)
@together("raw", [None, "", "  \n"])
def test_nothing_reads_as_nothing(read, raw):
    assert not read(raw)


READ = {
    values.number: {
        **{raw: Decimal(raw) for raw in ("1", " 0.30\n", "-2.5", "1e3", "+.5")},
        **dict.fromkeys(["1,5", "NaN", "Infinity", "x", "1" * 101, "sNaN"]),
    },
    values.priority: {
        **{raw: Decimal(raw) for raw in ("0", "1", "0.5", "1.0000")},
        **dict.fromkeys(["1.01", "-0.1", "2", "1e400", "high"]),
    },
    values.whole_number: {
        "600": 600,
        "6e2": 600,
        "5.0": 5,
        "-3": -3,
        **dict.fromkeys(["5.5", "1e99", "x", "1e999999999"]),
    },
    values.yes_no: {
        **dict.fromkeys(["yes", "YES", "true", "1"], True),
        **dict.fromkeys(["no", " No ", "false", "0"], False),
        "perhaps": None,
    },
    values.change_frequency: {" Daily ": SitemapPageChangeFrequency.DAILY, "sometimes": None},
    LISTED: {" a, b,,c , ": ("a", "b", "c")},
    WORDS: {" IE  GB\nUS": ("IE", "GB", "US")},
}


@together("read", READ)
def test_a_text_is_read_as_its_value_or_none(read):
    for raw, value in READ[read].items():
        assert read(raw) == value, raw
        assert type(read(raw)) is type(value), raw


@together("blocks", [None, True, "fast"])
@together("text", ["", " ", "\n\t", "&#160;", "<![CDATA[ ]]>"])
def test_an_empty_or_blank_frequency_is_none_in_every_way_of_reading_it(text, blocks):
    entry = f"<url><loc>http://a/</loc><changefreq>{text}</changefreq></url>"
    image = entry.replace("</url>", "<image:image><image:loc>/i</image:loc></image:image></url>")
    for entries in ([entry], [image], [entry] * 30, [image] * 30):
        reading = read_document([urlset(*entries).encode()], blocks=blocks)
        assert [page.change_frequency for page in reading.pages] == [None] * len(entries)
        assert reading.problems == ()


TIMES = [
    *("2024-01-02T03:04:05Z", "2024-01-02 03:04:05Z", "2024-01-02X03:04:05Z"),
    *("20240102T030405+0000", "0001-01-01T00:00:00Z", "2024-13-02T03:04:05Z"),
    *("2024-W01-1T03:04:05Z", "2024-01-02\n03:04:05Z", " 2024-01-02T03:04:05"),
    *("2024-01-02T03:04:05 ", "2024-01-02T03:04:60Z", "1024-01-02T03:04:05Z", "2024-01-02"),
    *("2024-01-02T03:04:05.123Z", "", "2024", "Tue, 02 Jan 2024 03:04:05 GMT"),
]


@given(texts=st.lists(st.sampled_from(TIMES[:4]) | st.sampled_from(TIMES), max_size=4))
def test_a_column_of_dates_reads_as_each_of_them(texts):
    assert list(values.dates(texts)) == list(map(values.date, texts))


LONG = "2024-05-01" + "x" * 300


@together("extra", ["", "<image:image><image:loc>http://a/i</image:loc></image:image>"])
@together("field", ["lastmod", "changefreq", "priority"])
def test_a_long_text_of_a_field_is_not_remembered(field, extra):
    entry = f"<url><loc>http://a/%s</loc><{field}>{LONG}%s</{field}>{extra}</url>"
    before = sizes()
    pages = read_document(
        [urlset(*(entry % (n, n) for n in range(50))).encode()], blocks="fast"
    ).pages
    assert len(pages) == 50
    assert {page.last_modified for page in pages} == {None}
    assert all(now <= then + 1 for now, then in zip(sizes(), before, strict=True))


def sizes() -> list[int]:
    remembered = (dates.known_date, values.priority, values.change_frequency)
    return [known.cache_info().currsize for known in remembered]
