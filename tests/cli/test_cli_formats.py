"""``usp ls`` in every format, to files and pipes, of the pages that are wanted."""

import csv
import gzip
import io
import json
import sys

import pyarrow.parquet as pq
import pytest

from usp.export import FORMATS
from usp.tree import sitemap_from_str
from website import Answer, dated, index, robots, urlset


@pytest.fixture
def blog(serve):
    """A website of two sitemaps with a page in common; every second page has a date."""
    paths = {n: f"/blog/{n}" for n in range(1, 10)}
    entries = [dated(at, f"2024-05-0{n}") if n % 2 else at for n, at in paths.items()]
    return serve(
        {
            "/robots.txt": robots("/a.xml", "/b.xml"),
            "/a.xml": urlset(*entries),
            "/b.xml": urlset("/blog/1", "http://other.example/", "/shop"),
        }
    )


def urls_of(out: str | bytes, form: str) -> list[str]:
    if form == "parquet":
        return pq.read_table(io.BytesIO(out))["url"].to_pylist()
    if form == "csv":
        return [row["url"] for row in csv.DictReader(io.StringIO(out, newline=""))]
    if form == "xml":
        return [page.url for page in sitemap_from_str(out).all_pages()]
    if form in ("txt", "pages"):
        return out.splitlines()
    rows = json.loads(out) if form == "json" else map(json.loads, out.splitlines())
    return [row["url"] for row in rows]


def test_every_format_has_the_pages_of_the_site_and_files_tell_theirs_by_their_suffix(
    run, blog, tmp_path
):
    pages = run("ls", blog, "-f", "pages").lines
    assert len(pages) == 12
    packed = (f"{form}.gz" for form in (*FORMATS, "txt") if form != "parquet")
    for suffix in [*FORMATS, "txt", *packed]:
        path = tmp_path / f"pages.{suffix}"
        run("ls", blog, "-o", str(path)).ends(0, out="")
        assert list(tmp_path.iterdir()) == [path]
        data = path.read_bytes()
        path.unlink()
        form, _, is_packed = suffix.partition(".")
        data = gzip.decompress(data) if is_packed else data
        if form != "parquet":
            data = data.decode()
            assert data == run("ls", blog, "-f", form.replace("txt", "pages")).out
        assert urls_of(data, form) == (pages if form != "xml" else list(dict.fromkeys(pages)))


def test_filters_are_for_every_format(run, blog):
    for options, expected in [
        (["--since", "2024-05-05", "--dated"], ["/blog/5", "/blog/7", "/blog/9"]),
        (["--until", "2024-05-03", "--dated"], ["/blog/1", "/blog/3"]),
        (["--include", "/shop*"], ["/shop"]),
        (["--include", "re:[13]$", "--unique"], ["/blog/1", "/blog/3"]),
        (["--exclude", "*blog*", "--same-host"], ["/shop"]),
        (["--include", "sitemap:*b.xml", "--exclude", "http://other*"], ["/blog/1", "/shop"]),
        (["--limit", "2"], ["/blog/1", "/blog/2"]),
        (["--limit", "2", "--exclude", "sitemap:*/a.xml"], ["/blog/1", "http://other.example/"]),
    ]:
        for form in ["pages", "tabtree", "jsonl", "csv"]:
            ended = run("ls", blog, "-f", form, *options).ends(0)
            if form == "tabtree":
                skipped = "sitemap:*/a.xml" in options  # the others are all there
                assert (f"\t\t{blog}/a.xml" in ended.lines) != skipped
                found = [line.strip() for line in ended.lines if line.startswith("\t\t\t")]
            else:
                found = urls_of(ended.out, form)
            assert found == [blog + path if path[0] == "/" else path for path in expected]


def test_columns_are_those_that_are_asked_for(run, blog):
    ended = run("ls", blog, "-f", "csv", "--columns", "lastmod, url", "--limit", "1")
    assert ended.out == f"lastmod,url\r\n2024-05-01T00:00:00Z,{blog}/blog/1\r\n"


def test_what_a_terminal_or_one_sitemap_cannot_hold_needs_a_file(run, blog, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    run("ls", blog, "-f", "parquet").ends(2, "-o pages.parquet")
    monkeypatch.setattr("usp.export.xml_file.PROTOCOL_URLS", 5)
    run("ls", blog, "-f", "xml").ends(1, "-o sitemap.xml", out="")


def test_without_pyarrow_the_command_says_what_brings_it(run, blog, monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    run("ls", blog, "-o", str(tmp_path / "a.parquet")).ends(1, "pip install 'usp[arrow]'")
    assert not list(tmp_path.iterdir())
    assert run("ls", blog, "-f", "jsonl").status == 0


def test_a_site_that_cannot_be_read_leaves_the_file_as_it_was(run, serve, tmp_path):
    for form in [*FORMATS, "pages"]:
        site = serve({"/robots.txt": "Sitemap: {site}/gone.xml"})
        path = tmp_path / "pages"
        path.write_bytes(b"before")
        for url in (site, f"{site}/gone.xml"):
            run("ls", url, "-f", form, "-o", str(path)).ends(1, "gone.xml")
        assert path.read_bytes() == b"before"
        assert run("ls", site, "-f", "pages", "--limit", "5").status == 1
        for url in (site, f"{site}/gone.xml") if form not in ("parquet", "xml") else ():
            run("ls", url, "-f", form).ends(1, "gone.xml", out="")


@pytest.mark.parametrize("form", ["pages", "jsonl", "csv", "json", "xml"])
def test_a_limit_stops_the_requests(run, serve, gate, monkeypatch, form):
    """Of forty sitemaps the first has enough; the others wait until the command has ended."""
    monkeypatch.setattr("usp._crawl.thread_driver.PATIENCE", 0.1)
    names = [f"/{number}.xml" for number in range(40)]
    files = dict.fromkeys(names, Answer(gate=gate))
    files["/0.xml"] = urlset(*(f"/p{number}" for number in range(50)))
    site = serve({"/robots.txt": robots("/i.xml"), "/i.xml": index(*names), **files})
    result = run("ls", site, "-k", "-f", form, "--limit", "10").ends(0)
    assert urls_of(result.out, form) == [f"{site}/p{number}" for number in range(10)]
    asked = sum(site.web.hits[name] for name in names[1:])
    assert asked < 16  # what was under way beside the first one


def test_a_limit_that_is_not_reached_tells_what_is_missing(run, site):
    ended = run("ls", site, "-f", "pages", "--limit", "100", "--strict").ends(3)
    assert len(ended.lines) == 6
    assert "missing.xml" in ended.err
    assert run("ls", site, "-f", "pages", "--limit", "6", "--strict").status == 0
    assert len(run("ls", f"{site}/a.xml", "-f", "pages", "--limit", "2").lines) == 2
