"""Tables of pages are inputs: our own exports give the same pages again, damaged rows cost themselves."""

import io
import pickle
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from export_trees import PLAIN, RICH, exported, plain_entry, tree_of, urlset

import usp
from usp._inputs import tree_of as read
from usp._inputs.table_input import tree_of_batches
from usp.export import write
from usp.limits import Limits
from usp.objects.sitemap import InvalidSitemap, PagesTextSitemap

DATES = (
    "2024",
    "2024-05",
    "2024-05-01",
    "2024-05-01T10:00Z",
    "2024-05-01T10:00:00.25Z",
    "never",
    "",
)
FORMATS = ("csv", "csv.gz", "json", "json.gz", "jsonl", "parquet")


def read_back(tree, path):
    write(tree, path)
    return read(path, None, None)


@pytest.mark.parametrize("form", FORMATS)
def test_what_was_written_is_read_as_the_same_pages(tmp_path, form):
    dated = urlset(
        *(plain_entry(n, date) for n, date in enumerate(DATES)), plain_entry("p", priority="0.5")
    )
    tree = tree_of(PLAIN, dated, RICH.replace("9999999999999999999", "99"))
    again = read_back(tree, tmp_path / f"pages.{form}")
    assert exported(again, "json") == exported(tree, "json")
    assert [node.url for node in again.sub_sitemaps] == [node.url for node in tree.sub_sitemaps]
    assert list(pickle.loads(pickle.dumps(again)).all_pages()) == list(again.all_pages())
    assert not again.problems
    assert again.is_complete
    assert not list(usp.diff(tree, again))
    assert list(usp.check(again, select=["SM506"]))  # all priorities are the same


OURS = "https://a.org/"
TABLES = {  # text: names of pages, and the lines of what is wrong
    f"Address;Status\n{OURS}1;200\n;404\nx;1\n{OURS}2;": ("12", [3, 4]),
    f"\ufeffloc\tx\r\n\r\n{OURS}1\t2\r\n": ("1", []),
    f'url,title\n{OURS}1,"not closed\n{OURS}2,b\n{OURS}3,c\n': ("23", [2]),
    f'url,title\n{OURS}1,"two\nlines"\n{OURS}2,b,c\n{OURS}3,c\n': ("13", [4]),
    f'url,lastmod,images,mobile\n{OURS}1,soon,{{,TRUE\n"\'={OURS}"\n': ("1", [2, 2, 3]),
    f'{{"url":"{OURS}1"}}\n{{"url":"{OURS}2",\n{{"url":"{OURS}3"}}\n[1]\n{{"url":"{OURS}4': (
        "13",
        [2, 4, 5],
    ),
    f'[\n {{\n  "loc": "{OURS}1"\n }},\n {{"loc": "{OURS}2", "x": "}}"}}\n]': ("12", []),
    f"\ufeffsep=;\r\nurl;title\r\n{OURS}1;a\r\nx;b\r\n": ("1", [4]),
    f"\turl\nsep=\t{OURS}1\n0\t{OURS}2\n": ("12", []),
    f"url,title\r{OURS}1,a\rx,b\r{OURS}2,c\r": ("12", [3]),
    f"Top pages,Clicks\n{OURS}1,3\n{OURS}2,1\n": ("12", []),
    f"Address,Status Code\n{OURS}1,200\n{OURS}2,301\n{OURS}3,0\n{OURS}4,\n": ("14", []),
    f"Address,Indexability\n{OURS}1,Indexable\n{OURS}2,Non-Indexable\n": ("1", []),
    f"Clicks;Landing page\n3;{OURS}1\n1;/2\n": ("1", [3]),
    f"Page,URL\nhome,{OURS}1\n": ("1", []),
    f"{OURS}1\n{OURS}2\n": ("12", []),  # no table: a list of URLs
}


@pytest.mark.parametrize(("text", "expected"), TABLES.items())
def test_damaged_rows_are_problems_with_their_line(tmp_path, text, expected):
    file = tmp_path / "pages.csv"
    file.write_text(text, newline="")
    tree = read(file, None, None)
    assert "".join(page.url.removeprefix(OURS) for page in tree.all_pages()) == expected[0]
    assert [problem.line for problem in tree.problems] == expected[1]


UNKNOWN = {
    "name;price\nfoo;3\n": "its columns are name, price; a table of pages needs a column named url, loc",
    '[{"name": 1}]': "its columns are name; ",
    "[1, 2": "none of its rows has named columns; ",
    "PAR1 damaged": "not a readable Parquet file: ",
    "url,parent,type,status\nhttps://a.org/s.xml,,urlset,200\n": "one of ours, but not of pages",
}


@pytest.mark.parametrize("text", ["a" * 200_000, "u\rl", f"url,{'x' * 200_000}\n{OURS}"])
def test_a_first_line_without_names_is_not_that_of_a_table(tmp_path, text):
    """It is read as a document, whose pages are none; csv raises for what it cannot take."""
    path = tmp_path / "long.txt"
    path.write_text(text)
    assert isinstance(read(path, None, None), InvalidSitemap | PagesTextSitemap)


@pytest.mark.parametrize(("text", "message"), UNKNOWN.items())
def test_other_tables_are_refused_with_their_columns(tmp_path, text, message):
    file = tmp_path / "x.csv"
    file.write_text(text)
    tree = read(file, None, None)
    assert isinstance(tree, InvalidSitemap)
    assert message in tree.reason
    (tmp_path / "s.xml").write_text(urlset("<loc>https://a.org/1</loc>"))
    (node,) = read(tmp_path, None, None).sub_sitemaps  # a folder of sitemaps leaves tables out
    assert node.url.endswith("s.xml")


def test_a_table_knows_its_columns_and_may_come_from_a_pipe(tmp_path, monkeypatch):
    tree = tree_of(PLAIN)
    write(tree, tmp_path / "few.parquet", columns=["url", "lastmod"])
    assert not list(usp.diff(tree, tmp_path / "few.parquet"))
    pages = urlset(plain_entry(1, "2024-05-02"), plain_entry(2000))
    kinds = [change.kind for change in usp.diff(tmp_path / "few.parquet", tree_of(pages))]
    assert kinds.count("changed") == 1
    assert kinds.count("added") == 1
    stdin = io.BytesIO((tmp_path / "few.parquet").read_bytes())
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": stdin}))
    from usp._inputs import read_input  # noqa: PLC0415 - after the pipe is there

    assert read(read_input("-"), None, None).page_count() == 2000
    (tmp_path / "cut.parquet").write_bytes(stdin.getvalue()[:-100])
    cut = read(tmp_path / "cut.parquet", None, None)
    assert "not a readable Parquet file" in str(cut.failures())
    assert pq.read_table(tmp_path / "few.parquet").num_rows == 2000


def test_a_dataset_is_the_same_in_whatever_order_its_sitemaps_come():
    rows = [{"url": f"http://h/{n % 2}", "sitemap": f"http://h/{n}.xml"} for n in range(4)]
    batches = pa.Table.from_pylist(rows).to_batches(max_chunksize=1)
    for given in (batches, batches[::-1]):
        reader = pa.RecordBatchReader.from_batches(given[0].schema, given)
        tree = tree_of_batches(reader, "http://h/", Limits())
        assert [node.url for node in tree.sub_sitemaps] == [row["sitemap"] for row in rows]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_columns_for_spreadsheets(tmp_path, form):
    names = ["path", "section", "news.title", "news.date", "image_count", "priority"]
    tree = read_back(
        tree_of(RICH, urlset("<loc>https://x.org/shop/tea?x=/1</loc>")), tmp_path / "x.json"
    )
    rows = pq.read_table(io.BytesIO(exported(tree, "parquet", columns=names))).to_pylist()
    title = '=1+1 & more, "quoted"'
    assert [rows[0][name] for name in names[:3]] == ["/all", "/", title]
    assert (rows[0]["image_count"], rows[0]["priority"], rows[1]["priority"]) == (2, 0.8, None)
    assert list(rows[-1].values()) == ["/shop/tea?x=/1", "/shop/", None, None, 0, None]
    if form != "parquet":
        text = exported(tree, form, columns=names).decode()
        assert "/shop/tea?x=/1" in text
        assert "2024-05-01T00:00:00Z" in text
