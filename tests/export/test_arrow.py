"""The Arrow table is the tree, value by value, whoever reads it."""

# ruff: noqa: DTZ001 - sitemaps have dates without an offset

import sys
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from export_trees import (
    DATES,
    HEAD,
    PLAIN,
    RICH,
    documents,
    expected_rows,
    exported,
    few,
    lazy_sitemap,
    numbered_pages,
    pages,
    plain_entry,
    tree_of,
    trees,
    urlset,
    without_precision,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from usp._base.dates import known_utc_text, precision_of_text, utc_text
from usp._crawl.stored_pages import UniquePages
from usp._formats.document import DocumentParser
from usp.export import MissingExtraError, write
from usp.export.arrow import reader, record_batches, to_arrow
from usp.export.schema import COLUMNS, arrow_schema
from usp.helpers import parse_iso8601_date
from usp.objects.page import DeferredPage, PageList, PickedPages, SitemapPage, fields_of, page_of
from usp.objects.sitemap import PagesXMLSitemap
from usp.selection import Selection
from usp.tree import sitemap_from_bytes


def plain_rows(table: pa.Table) -> list[dict]:
    """Give a table as JSON has it."""

    def plain(value):
        if isinstance(value, datetime):
            return utc_text(value)
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [plain(item) for item in value] or None
        return value

    return without_precision([plain(row) for row in table.to_pylist()])


def test_a_rich_tree_is_in_the_table_as_it_is():
    tree = tree_of(RICH, PLAIN)
    table = to_arrow(tree)
    table.validate(full=True)
    expected = expected_rows(tree)
    expected[0]["videos"][0]["view_count"] = 2**63 - 1  # as much as a column of numbers holds
    assert plain_rows(table) == expected
    assert table.schema == arrow_schema()
    assert list(table.schema.names) == list(COLUMNS)


@few
@given(st.one_of(trees, documents().map(tree_of)))
def test_any_tree_is_in_the_table_as_it_is(tree):
    table = to_arrow(tree)
    table.validate(full=True)
    assert plain_rows(table) == expected_rows(tree)


@pytest.mark.parametrize("copies", [1, 300])
@pytest.mark.parametrize("odd", [DATES, ["2023-02-30"], []])
def test_many_dates_are_read_as_one_is(copies, odd):
    """Few distinct dates are read by our parser, many by Arrow, and if one is odd, by ours again."""
    usual = [f"2024-05-{1 + n % 28:02}T10:{n % 60:02}:{n // 60:02}Z" for n in range(copies)]
    usual += ["2024-05-31", "2024-05-31T10:20:30.5+02:00", "2024-02-29 10:20:30"]
    dates = usual + odd
    tree = tree_of(urlset(*(plain_entry(n, date) for n, date in enumerate(dates))))
    table = to_arrow(tree, ["lastmod", "lastmod_precision"])
    read = map(parse_iso8601_date, dates)
    assert table["lastmod"].to_pylist() == [
        None if date is None else datetime.fromisoformat(utc_text(date)) for date in read
    ]
    assert table["lastmod_precision"].to_pylist() == list(map(precision_of_text, dates))


def test_precision_is_that_of_the_text():
    found = {text: precision_of_text(text) for text in DATES}
    assert {text: word for text, word in found.items() if word} == {
        "2024": "year", "2024-05": "month", "2024-05-31": "day", "2024-05-31T10:20": "minute",
        "2024-05-31T10:20Z": "minute", "2024-05-31T10:20:30": "second",
        "2024-05-31T10:20:30Z": "second", "2024-05-31 10:20:30+02:00": "second",
        "2024-05-31T10:20:30.123456-05:00": "fraction", "2024-05-31T10:20:30.1234567Z": "fraction",
        "2024-05-31+02:00": "day", "9999-12-31T23:59:59-05:00": "second",
        "20240531T102030Z": "second", "20240531": "day",
        "Fri, 31 May 2024 10:20:30 GMT": "second", "31 May 2024": "day", "May 2024": "month",
        "2024-05-31T10:20:30+14:59": "second", "2024-W05": "day",
    }  # fmt: skip
    assert all(known_utc_text(text) for text, word in found.items() if word)


def test_naive_dates_are_taken_as_utc():
    pages = [
        SitemapPage("https://x.org/", last_modified=date)
        for date in (datetime(2024, 5, 1, 12), datetime(2024, 5, 1, 12, tzinfo=UTC))
    ]
    pages.append(SitemapPage("https://x.org/", last_modified=datetime(2024, 5, 1, 12, 0, 0, 5)))
    table = to_arrow(PagesXMLSitemap("https://x.org/s.xml", pages))
    assert table["lastmod"].to_pylist()[:2] == [datetime(2024, 5, 1, 12, tzinfo=UTC)] * 2
    assert table["lastmod_precision"].to_pylist() == ["second", "second", "fraction"]


# Batches --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 3, 700, 5000])
def test_batches_have_so_many_rows_or_fewer_and_nothing_is_lost(rows):
    tree = tree_of(PLAIN, RICH, PLAIN)
    batches = list(record_batches(tree, ["url", "sitemap", "news"], batch_rows=rows))
    assert all(0 < len(batch) <= rows for batch in batches)
    table = pa.Table.from_batches(batches)
    assert table.to_pylist() == to_arrow(tree, ["url", "sitemap", "news"]).to_pylist()
    assert len(table) == 4004


def test_a_reader_reads_no_more_than_it_is_asked_for():
    asked = []

    def pages():
        for page in numbered_pages(5000):
            asked.append(page)
            yield page

    batches = reader(lazy_sitemap(pages), batch_rows=1000)
    assert not asked
    batches.read_next_batch()
    assert len(asked) <= 2001


def test_columns_come_in_the_order_in_which_they_are_asked_for():
    table = to_arrow(tree_of(RICH), ["priority", "url"], Selection(include=["*plain*"]))
    assert table.to_pylist() == [{"priority": None, "url": "https://x.org/plain"}]
    with pytest.raises(ValueError, match="unknown column 'loc'; choose from url, lastmod"):
        to_arrow(tree_of(RICH), ["loc"])
    with pytest.raises(ValueError, match="no columns given"):
        to_arrow(tree_of(RICH), [])
    with pytest.raises(ValueError, match="batch_rows"):
        record_batches(tree_of(RICH), batch_rows=0)


def test_a_tree_without_pages_is_a_table_without_rows():
    assert to_arrow(tree_of()).num_rows == 0
    assert reader(tree_of()).read_all().schema == arrow_schema()


def test_half_a_character_does_not_end_it():
    table = to_arrow([SitemapPage("https://x.org/\ud800")])
    assert table["url"].to_pylist() == ["https://x.org/?"]


# The table of a document comes from its blocks, and is the one that its pages would give ---------------


DOCUMENTS = st.lists(pages, min_size=1, max_size=6, unique_by=lambda page: page.url)


def of_pages(table: pa.Table) -> pa.Table:
    """Leave out what the text of a date says and the date itself does not."""
    return table.drop_columns(["lastmod_precision", "sitemap"])


@settings(max_examples=10, deadline=None)
@given(DOCUMENTS)
def test_the_table_from_blocks_is_the_table_from_pages_and_their_rows_too(given_pages):
    tree = sitemap_from_bytes(exported(given_pages, "xml"))
    from_pages = to_arrow(page_of(page.url, fields_of(page)) for page in tree.all_pages())
    assert of_pages(to_arrow(tree)).equals(of_pages(from_pages))
    for _, block in tree.page_blocks():
        assert list(block.rows()) == [fields_of(page) for page in block.pages()]


def test_a_table_of_every_extension_needs_no_pages(monkeypatch):
    document = exported(tree_of(RICH), "xml")
    from_pages = to_arrow(list(sitemap_from_bytes(document).all_pages()))

    def refuse(*_):
        raise AssertionError("a page was made")

    monkeypatch.setattr(DeferredPage, "__init__", refuse)
    monkeypatch.setattr(SitemapPage, "__init__", refuse)
    for module in ("usp._formats.abstract_parser", "usp.objects.page"):
        monkeypatch.setattr(f"{module}.page_of", refuse)
    table = to_arrow(sitemap_from_bytes(document))
    assert of_pages(table).equals(of_pages(from_pages))


def test_blocks_with_pages_that_are_known_already_keep_their_columns():
    """A URL that comes twice costs its second page, and nothing else of the block."""
    entries = [plain_entry(n, lastmod="2024-05") for n in (1, 2, 1, 3)]
    table = tree_of(urlset(*entries)).to_arrow()
    assert table["url"].to_pylist() == [f"https://x.org/p/{n}" for n in (1, 2, 3)]
    assert table["lastmod_precision"].to_pylist() == ["month"] * 3


def batch_of(*entries: str):
    parser = DocumentParser("https://x.org/s.xml", fast=True)
    document = f"{HEAD}{''.join(f'<url>{entry}</url>' for entry in entries)}</urlset>"
    (batch,) = [*parser.feed(document.encode()), *parser.close()]
    return batch


def test_picked_pages_agree_in_every_form():
    known = batch_of(plain_entry(1))
    batch = batch_of(f"{plain_entry(1)}<mobile:mobile/>", plain_entry(2))
    unique = UniquePages()
    assert unique.block(known) is known
    block = unique.block(batch)
    assert isinstance(block, PickedPages)
    (page,) = block.pages()
    assert list(block.urls) == [page.url] == ["https://x.org/p/2"]
    assert block.rows() == [fields_of(page)]


def test_attributes_of_a_subclass_are_in_the_table():
    class Urgent(SitemapPage):
        priority = property(lambda _: 1)

    page = Urgent("https://x.org/")
    assert PageList([page]).rows()[0].priority == 1
    assert to_arrow([page])["priority"].to_pylist() == [1.0]


# Others read it -------------------------------------------------------------------------------------


def test_polars_pandas_duckdb_and_pyarrow_read_the_stream():
    import duckdb  # noqa: PLC0415 - all take long to load, and only this test needs them
    import pandas as pd  # noqa: PLC0415
    import polars as pl  # noqa: PLC0415

    tree = tree_of(PLAIN, RICH, PLAIN.replace("/p/", "/q/"))
    urls = [page.url for page in tree.all_pages()]
    assert pa.table(tree)["url"].to_pylist() == urls
    frame = pl.DataFrame(tree)
    assert frame["url"].to_list() == urls
    assert frame["sitemap"].unique().len() == 3
    assert frame.filter(pl.col("images").is_not_null())["images"].to_list()[0][0]["loc"]
    panda = to_arrow(tree).to_pandas()
    assert isinstance(panda, pd.DataFrame)
    assert list(panda["url"]) == urls
    batches = reader(tree, batch_rows=500)  # noqa: F841 - DuckDB finds it by its name
    found = duckdb.sql(
        "select sitemap, count(*), max(lastmod_precision) from batches group by 1 order by 1"
    ).fetchall()
    assert [(url, count) for url, count, _ in found] == [
        ("https://x.org/0.xml", 2000), ("https://x.org/1.xml", 4), ("https://x.org/2.xml", 2000),
    ]  # fmt: skip


def test_without_pyarrow_it_says_what_brings_it(monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    tree = tree_of(RICH)
    for call in (
        lambda: to_arrow(tree),
        lambda: reader(tree),
        lambda: write(tree, tmp_path / "x.parquet"),
    ):
        with pytest.raises(MissingExtraError, match=r"pip install 'usp\[arrow\]'"):
            call()
    assert not list(tmp_path.iterdir())
    for suffix in ("csv", "json", "jsonl", "xml"):
        write(tree, tmp_path / f"x.{suffix}")
