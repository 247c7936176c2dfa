"""Each format, read back by its real reader, is the tree."""

import csv
import gzip
import io
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from itertools import chain

import pyarrow.parquet as pq
import pytest
from export_trees import (
    PLAIN,
    RICH,
    documents,
    expected_rows,
    exported,
    few,
    lazy_sitemap,
    numbered_pages,
    tree_of,
    trees,
    without_precision,
)
from hypothesis import given

from usp._demo import demo_site
from usp.export import COLUMNS, FORMATS, TooLargeError, format_of, write, xml_file
from usp.export.arrow import ParquetFileWriter, to_arrow
from usp.export.schema import CSV_COLUMNS as IN_CSV
from usp.objects.page import SitemapNewsStory, SitemapPage
from usp.selection import Selection
from usp.stream import pages as stream_pages
from usp.tree import sitemap_from_bytes, sitemap_from_file, sitemap_tree_for_homepage

CSV_COLUMNS = set(IN_CSV)
NESTED = ("news", "images", "videos", "alternates")


def read_csv(data: bytes) -> list[dict]:
    rows = []
    for row in csv.DictReader(io.StringIO(data.decode(), newline="")):
        plain = {name: text or None for name, text in row.items()}
        for name in NESTED:
            plain[name] = json.loads(row[name]) if row[name] else None
        for name in CSV_COLUMNS - COLUMNS.keys():
            del plain[name]
        priority = float(row["priority"]) if row["priority"] else None
        rows.append(plain | {"priority": priority, "mobile": row["mobile"] == "true"})
    return rows


READERS = {
    "csv": read_csv,
    "json": json.loads,
    "jsonl": lambda data: [json.loads(line) for line in data.decode().split("\n") if line],
}


@pytest.fixture(scope="module")
def demo():
    with demo_site() as url:
        yield sitemap_tree_for_homepage(url)


@pytest.mark.parametrize("form", READERS)
def test_the_demo_site_and_rich_documents_are_read_back(form, demo):
    for tree in (demo, tree_of(RICH, PLAIN), tree_of()):
        rows = READERS[form](exported(tree, form))
        assert without_precision(rows) == expected_rows(tree)
        assert all(list(row) == list(COLUMNS) for row in rows)


@few
@given(trees, documents())
def test_any_tree_is_read_back_from_every_format(tree, document):
    """Whether it consists of pages, or of columns that were never pages."""
    for one in (tree, tree_of(document)):
        for form, read in READERS.items():
            rows = read(exported(one, form))
            if form == "csv":
                for row in rows:
                    row["url"] = row["url"].removeprefix("'")
            assert without_precision(rows) == expected_rows(one)
        assert pq.read_table(io.BytesIO(exported(one, "parquet"))).equals(to_arrow(one))
    seen = {}
    for page in tree.all_pages():
        story = page.news_story
        if story is not None:  # a sitemap has no authors
            object.__setattr__(story, "authors", [])
        seen.setdefault(page.url, page)  # one sitemap has each page once
    assert from_xml(exported(tree, "xml")) == list(seen.values())


def test_text_formats_and_the_table_say_the_same(demo):
    table = to_arrow(demo).to_pylist()
    rows = READERS["jsonl"](exported(demo, "jsonl"))
    for name in ("url", "lastmod_precision", "changefreq", "priority", "sitemap", "mobile"):
        assert [row[name] for row in rows] == [row[name] for row in table]
    assert {"year", "month", "day", "second"} >= {row["lastmod_precision"] for row in rows} - {None}


def test_others_read_the_files(tmp_path, demo):
    import duckdb  # noqa: PLC0415 - both take long to load, and only this test needs them
    import polars as pl  # noqa: PLC0415

    urls = [page.url for page in demo.all_pages()]
    for form in ("parquet", "csv", "json", "jsonl"):
        write(demo, tmp_path / f"pages.{form}")
    assert pq.read_table(tmp_path / "pages.parquet").equals(to_arrow(demo))
    assert pl.read_parquet(tmp_path / "pages.parquet")["url"].to_list() == urls
    assert pl.read_csv(tmp_path / "pages.csv")["url"].to_list() == urls
    assert pl.read_ndjson(tmp_path / "pages.jsonl")["url"].to_list() == urls
    for form in ("parquet", "csv", "json", "jsonl"):
        found = duckdb.sql(f"select url, priority from '{tmp_path}/pages.{form}'").fetchall()
        assert [url for url, _ in found] == urls
        assert {type(priority) for _, priority in found} == {float, type(None)}


def test_parquet_comes_in_row_groups(monkeypatch):
    monkeypatch.setattr("usp.export.arrow.GROUP_ROWS", 900)
    monkeypatch.setattr("usp.export.arrow._PARQUET_BATCH_ROWS", 1000)
    tree = tree_of(PLAIN, RICH, PLAIN)
    file = pq.ParquetFile(io.BytesIO(exported(tree, "parquet")))
    assert file.metadata.num_row_groups > 2
    assert file.read().to_pylist() == to_arrow(tree).to_pylist()


# XML ----------------------------------------------------------------------------------------------


def from_xml(data: bytes) -> list[SitemapPage]:
    tree = sitemap_from_bytes(data)
    assert not tree.problems
    return list(tree.all_pages())


def test_a_sitemap_is_read_back_as_the_same_pages():
    """Also text that is a reference once it is decoded."""
    pages = [*tree_of(RICH).all_pages(), SitemapPage("https://x.org/?a=&lt;&amp;b")]
    assert from_xml(exported(pages, "xml")) == pages


def test_a_story_without_a_date_is_none_in_a_sitemap():
    page = SitemapPage("https://x.org/", news_story=SitemapNewsStory("A title", None))
    (read,) = from_xml(exported([page], "xml"))
    assert read.news_story is None


@pytest.fixture
def small_sitemaps(monkeypatch):
    monkeypatch.setattr(xml_file, "PROTOCOL_URLS", 700)


@pytest.mark.parametrize("suffix", [".xml", ".xml.gz"])
def test_too_many_pages_are_split_and_an_index_names_the_parts(small_sitemaps, tmp_path, suffix):
    tree = tree_of(PLAIN)
    path = tmp_path / f"all{suffix}"
    write(tree, path)
    index = sitemap_from_file(path)
    assert [child.url for child in index.sub_sitemaps] == [
        f"https://x.org/all-{number}{suffix}" for number in (1, 2, 3)
    ]
    parts = [sitemap_from_file(tmp_path / f"all-{number}{suffix}") for number in (1, 2, 3)]
    assert [part.page_count() for part in parts] == [700, 700, 600]
    assert list(chain.from_iterable(part.all_pages() for part in parts)) == list(tree.all_pages())
    assert len(list(tmp_path.iterdir())) == 4


def test_a_sitemap_is_split_by_its_size_too(monkeypatch, tmp_path):
    monkeypatch.setattr(xml_file, "PROTOCOL_BYTES", 20_000)
    write(tree_of(PLAIN), tmp_path / "all.xml", location="https://cdn.example/maps/")
    files = sorted(tmp_path.glob("all-*.xml"))
    assert len(files) > 5
    assert all(file.stat().st_size <= 20_000 for file in files)
    index = sitemap_from_file(tmp_path / "all.xml")
    assert index.sub_sitemaps[0].url == "https://cdn.example/maps/all-1.xml"


def test_a_stream_takes_one_sitemap_or_nothing(small_sitemaps):
    stream = io.BytesIO()
    with pytest.raises(TooLargeError, match=r"-o sitemap\.xml"):
        write(tree_of(PLAIN), stream, "xml")
    assert stream.getvalue() == b""


# CSV ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_is_a_formula(sign):
    """A page that somebody made by hand; others begin with http."""
    pages = [SitemapPage(f'{sign}cmd|"a",1'), SitemapPage("https://x.org/=1")]
    rows = list(csv.reader(io.StringIO(exported(pages, "csv").decode(), newline="")))
    assert rows[1][0] == f'\'{sign}cmd|"a",1'
    assert rows[2][0] == "https://x.org/=1"
    assert not [cell for row in rows for cell in row if cell[:1] in tuple("=+-@\t\r")]


def test_lines_end_and_quotes_stand_as_rfc_4180_has_it():
    pages = [SitemapPage("https://x.org/plain"), SitemapPage('https://x.org/a,"b"')]
    assert exported(pages, "csv", columns=["url", "priority", "mobile"]) == (
        b'url,priority,mobile\r\nhttps://x.org/plain,,false\r\n"https://x.org/a,""b""",,false\r\n'
    )


# Where to -----------------------------------------------------------------------------------------


def test_the_suffix_tells_the_format():
    assert {format_of(f"a.{form}") for form in FORMATS} == set(FORMATS)
    assert format_of("A.JSONL.gz") == "jsonl"
    assert not any(map(format_of, ("a", "a.txt", "a.gz", "a.parquet.gz", ".csv")))
    for form, said in (
        (None, "no format given; choose from csv, json"),
        ("yaml", "unknown format 'yaml'; choose from csv, json"),
    ):
        with pytest.raises(ValueError, match=said):
            write([], io.BytesIO(), form)


def test_a_packed_file_is_the_same_file(tmp_path):
    tree = tree_of(RICH)
    write(tree, tmp_path / "a.jsonl.gz")
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()) == exported(tree, "jsonl")


def test_streams_of_text_take_text():
    tree = tree_of(RICH)
    for form in ("csv", "json", "jsonl", "xml"):
        text, below = io.StringIO(), io.BytesIO()
        write(tree, text, form)
        wrapped = io.TextIOWrapper(below, encoding="ascii")
        write(tree, wrapped, form)
        assert text.getvalue().encode() == below.getvalue() == exported(tree, form)
    with pytest.raises(ValueError, match="cannot be written to a text stream"):
        write(tree, io.StringIO(), "parquet")


def test_pages_of_a_stream_are_written_as_those_of_a_tree(tmp_path):
    with demo_site() as url:
        tree = sitemap_tree_for_homepage(url)
        assert exported(stream_pages(url), "xml") == exported(tree, "xml")
        for form, read in READERS.items():
            rows = read(exported(stream_pages(url), form))
            assert without_precision(rows) == expected_rows(tree)
        write(stream_pages(url), tmp_path / "a.parquet", columns=["url", "sitemap"])
    assert pq.read_table(tmp_path / "a.parquet").equals(to_arrow(tree, ["url", "sitemap"]))


def test_a_selection_and_columns_are_for_every_format():
    tree = tree_of(RICH, PLAIN)
    selection = Selection(include=["*/p/*"], limit=3)
    for form, read in READERS.items():
        rows = [row["url"] for row in read(exported(tree, form, selection=selection))]
        assert rows == [f"https://x.org/p/{n}" for n in range(3)]
    for form in ("json", "jsonl"):
        rows = READERS[form](exported(tree, form, columns=["sitemap"], selection=selection))
        assert rows == [{"sitemap": "https://x.org/1.xml"}] * 3
    (page, *_) = from_xml(exported(tree, "xml", columns=["url"]))
    assert page == SitemapPage("https://x.org/all")


# As a whole or not at all ---------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("error", [OSError("gone"), KeyboardInterrupt()])
def test_what_breaks_leaves_what_was_there(form, error, tmp_path):
    def pages():
        yield from numbered_pages(3000)
        raise error

    path = tmp_path / f"a.{form}"
    for before in (None, b"before"):
        if before:
            path.write_bytes(before)
        with pytest.raises(type(error)):
            write(lazy_sitemap(pages), path)
        assert [file.name for file in tmp_path.iterdir()] == ([path.name] if before else [])
    assert path.read_bytes() == b"before"
    assert not [t for t in threading.enumerate() if t.name == "usp-write"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has other modes, and no SIGKILL")
def test_a_killed_process_leaves_no_half_file(tmp_path):
    paths = [tmp_path / f"a.{form}" for form in FORMATS]
    for path in paths:
        path.write_bytes(b"before")
    code = (
        "import sys, threading, time\n"
        "from usp.export import write\n"
        "from usp.objects.page import SitemapPage\n"
        "in_the_middle = threading.Barrier(len(sys.argv))\n"
        "def pages():\n"
        "    for n in range(60_000):\n"  # more than one XML sitemap takes
        "        yield SitemapPage(f'https://x.org/{n}')\n"
        "    in_the_middle.wait()\n"
        "    time.sleep(60)\n"
        "for path in sys.argv[1:]:\n"
        "    threading.Thread(target=write, args=(pages(), path), daemon=True).start()\n"
        "in_the_middle.wait()\n"
        "print('now', flush=True)\n"
        "time.sleep(60)\n"
    )
    argv = [sys.executable, "-c", code, *map(str, paths)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"now\n"
        process.send_signal(signal.SIGKILL)
        process.wait(120)
    assert {path.read_bytes() for path in paths} == {b"before"}
    whole = [file for file in tmp_path.iterdir() if not file.name.endswith(".part")]
    assert sorted(whole) == sorted(paths)


@pytest.mark.skipif(os.name == "nt", reason="Windows has other modes")
def test_a_file_has_the_mode_of_any_new_file_and_a_link_stays_one(tmp_path):
    before = os.umask(0o027)
    try:
        write(tree_of(RICH), tmp_path / "a.csv")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == 0o640
    (tmp_path / "link.csv").symlink_to("a.csv")
    write(tree_of(), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "a.csv").read_text().count("\n") == 1


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(OSError, match="is a folder: name a file"):
        write(tree_of(), tmp_path, "csv")
    for form in FORMATS:
        with pytest.raises(FileNotFoundError, match="there is no folder"):
            write(tree_of(), tmp_path / "no" / f"where.{form}")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes with names")
@pytest.mark.parametrize("form", FORMATS)
def test_a_pipe_is_written_to_as_it_is(form, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write(tree_of(RICH), pipe, form)
    reader.join(60)
    assert got == [exported(tree_of(RICH), form)]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


class Full(io.RawIOBase):
    """A disk without room."""

    def writable(self):
        return True

    def write(self, data):
        raise OSError(28, "No space left on device")


@pytest.fixture
def small_groups(monkeypatch):
    monkeypatch.setattr("usp.export.arrow.GROUP_ROWS", 100)
    monkeypatch.setattr("usp.export.arrow._PARQUET_BATCH_ROWS", 100)


@pytest.mark.parametrize(
    ("form", "count"),
    [*((form, 2000) for form in FORMATS), *(("parquet", count) for count in (50, 100, 200, 4000))],
)
def test_a_full_disk_is_told_to_the_caller_and_ends_the_threads(form, count, small_groups):
    with pytest.raises(OSError, match="No space left"):
        write(numbered_pages(count), Full(), form)
    assert not [t for t in threading.enumerate() if t.name == "usp-write"]


def test_an_interrupt_does_not_close_a_parquet_file_that_is_being_exported(
    monkeypatch, small_groups
):
    """The thread that writes is waited for; what waits behind it is not written any more."""
    began, going_on, done = threading.Event(), threading.Event(), []
    write_group = ParquetFileWriter.write_group

    def slow(self, batches):
        began.set()
        assert going_on.wait(120)
        write_group(self, batches)
        done.append(len(batches))

    def pages():
        yield from numbered_pages(250)
        assert began.wait(120)
        threading.Timer(0.05, going_on.set).start()
        raise KeyboardInterrupt

    abandoned = []
    monkeypatch.setattr(ParquetFileWriter, "write_group", slow)
    monkeypatch.setattr(ParquetFileWriter, "abandon", lambda self: abandoned.append(list(done)))
    with pytest.raises(KeyboardInterrupt):
        write(pages(), io.BytesIO(), "parquet")
    assert abandoned == [[1]]
