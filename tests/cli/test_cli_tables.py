"""The sitemaps of a website as a table and as JSON, and what every command writes as JSON."""

import csv
import io
import json

import click
import pytest

from cases import cases
from usp.cli.commands import COMMANDS
from website import Answer, index, rss, urlset

NAMES = [
    *("url", "parent", "type", "status", "bytes", "pages"),
    *("problems", "problem_codes", "failure", "code"),
]


@pytest.fixture
def site(serve):
    return serve(
        {
            "/robots.txt": "Sitemap: {site}/i.xml\n",
            "/i.xml": index("/a.xml", "/gone.xml", "/feed.rss", "/l.txt"),
            "/a.xml": urlset("/1", "/2", "/1", "nowhere:"),
            "/feed.rss": rss("/3"),
            "/l.txt": "{site}/4\n{site}/5\n{site}/6\n",
        }
    )


def expected(site):
    top, gone = f"{site}/i.xml", "404 Not Found"
    return [
        [f"{site}/robots.txt", None, "robots", 200, None, 0, None, None, None],
        [top, f"{site}/robots.txt", "index", 200, None, 0, None, None, None],
        [f"{site}/a.xml", top, "urlset", 200, 2, 1, "bad-loc:1", None, None],
        [f"{site}/gone.xml", top, "invalid", 404, None, 0, None, gone, "not-found"],
        [f"{site}/feed.rss", top, "rss", 200, 1, 0, None, None, None],
        [f"{site}/l.txt", top, "text", 200, 3, 0, None, None, None],
    ]


def without_bytes(row):
    assert (row["bytes"] is None) == (row["status"] == 404)
    return [row[name] for name in NAMES if name != "bytes"]


def test_every_sitemap_is_a_row_in_every_format(run, process, site, tmp_path):
    for form in ["json", "jsonl", "csv", "parquet", "text"]:
        for to_file in [True, False]:
            suffix = {"text": "txt"}.get(form, form)
            path = tmp_path / f"out.{suffix}"
            if to_file:
                run("ls", site, "-f", "sitemaps", "-o", str(path)).ends(0, out="")
                data = path.read_bytes()
            elif form == "parquet":
                data = process("ls", site, "--sitemaps", "-f", "parquet").stdout
            else:
                options = ["-f", "sitemaps"] if form == "text" else ["--sitemaps", "-f", form]
                data = run("ls", site, *options).out.encode()
            rows = [without_bytes(row) for row in read(form, data)]
            assert rows == expected(site)


def read(form, data):
    if form == "json":
        return json.loads(data)
    if form == "jsonl":
        return [json.loads(line) for line in data.splitlines()]
    if form == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        return parquet.read_table(io.BytesIO(data)).to_pylist()
    delimiter = "\t" if form == "text" else ","
    table = csv.DictReader(io.StringIO(data.decode(), newline=""), delimiter=delimiter)
    rows = list(table)
    assert table.fieldnames == NAMES
    numbers = ("status", "bytes", "pages", "problems")
    return [
        {k: (int(v) if k in numbers else v) if v else None for k, v in row.items()} for row in rows
    ]


def test_columns_may_be_chosen_and_one_sitemap_or_a_file_is_a_table_too(run, site, tmp_path):
    out = run("ls", site, "-f", "sitemaps", "--columns", "pages,type").out
    assert out.splitlines()[:4] == ["pages\ttype", "\trobots", "\tindex", "2\turlset"]
    (row,) = json.loads(run("ls", f"{site}/a.xml", "--sitemaps", "-f", "json").out)
    assert [row[name] for name in NAMES[:4]] == [f"{site}/a.xml", None, "urlset", 200]
    assert row["pages"] == 2
    (tmp_path / "a.xml").write_text(urlset("http://h/1"))
    (row,) = json.loads(run("ls", str(tmp_path / "a.xml"), "--sitemaps", "-f", "json").out)
    assert (row["status"], row["pages"]) == (None, 1)


def test_what_was_looked_for_in_vain_is_a_row(run, serve):
    site = serve({"/robots.txt": Answer(hang_up=True), "/sitemap.xml": urlset("http://h/1")})
    rows = json.loads(run("ls", site, "--sitemaps", "-f", "json").out)
    assert [row["url"] for row in rows] == [f"{site}/robots.txt", f"{site}/sitemap.xml"]
    assert rows[0]["failure"]


def flat(node, parent=None):
    yield node, parent
    for child in node.get("sitemaps", ()):
        yield from flat(child, node["url"])


def test_the_tree_is_nested_json_with_what_was_asked_for(run, site):
    ended = run("tree", site, "-f", "json")
    tree = json.loads(ended.out)
    assert (ended.status, tree["type"], tree["url"]) == (0, "website", f"{site}/")
    rows = [node | {"parent": parent} for node, parent in flat(tree)][1:]
    rows[0]["parent"] = None
    told = [[row[name] for name in NAMES if name in row and name != "bytes"] for row in rows]
    assert told == [
        [*row[:5], *row[7:]] for row in expected(site)
    ]  # problems are told if asked for
    assert "problems" not in tree
    tree = json.loads(run("tree", site, "-f", "json", "-p").out)
    (damaged,) = [node for node, _ in flat(tree) if node["url"].endswith("/a.xml")]
    assert damaged["problems"][0]["times"] >= 1
    shallow = json.loads(run("tree", site, "-f", "json", "--depth", "1").out)
    assert shallow["sitemaps"][0]["sitemaps_below"] == 5
    uncounted = json.loads(run("tree", site, "-f", "json", "--no-count").out)
    assert {node["pages"] for node, _ in flat(uncounted)} == {None}


def test_every_command_has_json_for_the_standard_error_and_nothing_else(run, site):
    for name in COMMANDS:
        (option,) = [p for p in COMMANDS[name].params if "--log-format" in p.opts]
        assert "standard error" in option.help, name
    for argv in [["ls", "-f", "pages"], ["ls"], ["tree"], ["tree", "-f", "json"], ["graph"]]:
        name, *options = argv
        plain, told = run(name, site, *options), run(name, site, *options, "--log-format", "json")
        assert told.out == plain.out
        assert [json.loads(line) for line in told.err.splitlines()]


def test_a_table_of_pages_fits_the_terminal_and_is_whole_elsewhere(run, put, monkeypatch):
    put({"a.xml": urlset(*(f"https://www.example.org/tea/{'long-' * n}{n}" for n in range(9)))})
    whole = run("ls", "a.xml", "-f", "table").lines
    assert whole[0].split("\t")[:2] == ["url", "lastmod"]
    assert whole[9].startswith(f"https://www.example.org/tea/{'long-' * 8}8\t")
    monkeypatch.setenv("FORCE_COLOR", "1")
    for columns, last in [(80, "https://www.example.org/tea/"), (60, "…/tea/"), (30, "…/tea/")]:
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = [click.unstyle(line) for line in run("ls", "a.xml", "-f", "table").lines]
        assert lines[0] == "url"
        assert max(map(len, lines)) <= columns
        assert lines[9].startswith(last)
        assert lines[9].endswith("long-8")


def test_urls_that_are_longer_than_the_first_ones_get_what_the_terminal_has(run, put, monkeypatch):
    put({"a.xml": urlset("https://h.example/tea"), "b.xml": urlset("https://h.example/tea-2")})
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    for columns in cases(["url", "url,path", "url,lastmod,path"]):
        lines = run("ls", ".", "-f", "table", "--columns", columns).lines
        assert lines[2].startswith("https://h.example/tea-2")
        assert "path" not in columns or lines[2].endswith(" /tea-2")
