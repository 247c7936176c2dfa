"""``usp tree`` and ``usp graph``: what they show of a site, a file, a folder."""

import gzip
import json
import shutil

import pytest

from usp.checks import node_findings
from website import index, robots, urlset


@pytest.fixture
def many(put, here):
    """A folder with an index of thirty sitemaps."""
    parts = {f"part-{n:02}.xml": urlset(f"http://h/{n}") for n in range(30)}
    put({"index.xml": index(*(f"http://h/{name}" for name in parts)), "notes.md": "none", **parts})
    return here


def test_long_runs_and_deep_levels_are_cut_short_and_counting_can_be_left_out(run, many):
    short, everything = run("tree", "."), run("tree", ".", "--all")
    assert (short.status, everything.status) == (0, 0)
    assert "… 23 more sitemaps with 23 pages" in short.out
    assert short.out.count("part-") == 7
    assert everything.out.count("part-") == 30
    assert "30 pages in 31 sitemaps." in short.out
    ended = run("tree", ".", "--depth", "1")
    assert "index.xml" in ended.out
    assert "part-" not in ended.out
    assert "… 30 sitemaps" in ended.out
    ended = run("tree", ".", "--no-count")
    assert "page" not in ended.out.replace(str(many), "")


def test_problems_inside_of_documents_are_shown_if_these_are_small_or_when_asked_for(
    run, put, monkeypatch
):
    put({"a.xml": urlset("http://h/a?b&c")})
    for most, options, is_told in [(10**6, [], True), (10, [], False), (10, ["-p"], True)]:
        monkeypatch.setattr(node_findings, "MAX_READ", most)
        shown = run("tree", "a.xml", *options).out
        assert ("an ampersand is not escaped" in shown) == ("1 finding (" in shown) == is_told
        verdict = json.loads(run("tree", "a.xml", "-f", "json", *options).out)["verdict"]
        assert f"\n{verdict['color']}: {verdict['sentence']}\n" in shown
        assert (verdict["color"] == "green") == (not is_told)
    assert (
        json.loads(run("tree", "a.xml", "-f", "json", "--no-count").out)["verdict"]["first"] == []
    )


def test_urls_are_shown_as_browsers_show_them(run, put):
    put({"a.xml": index("https://example.org/caf%C3%A9%20%E2%80%AE.xml")})
    assert "/café%20%E2%80%AE.xml" in run("tree", "a.xml").out


def test_an_index_whose_files_are_not_there_is_incomplete(run, put):
    put({"index.xml": index("http://h/a.xml", "http://h/b.xml"), "a.xml": urlset("http://h/1")})
    ended = run("tree", ".", "--strict").ends(3)
    assert "http://h/b.xml" in ended.out
    assert "error SM114: line 1: there is no file for http://h/b.xml" in ended.out


def test_a_graph_is_drawn_in_the_language_of_its_file_or_says_what_to_install(
    run, many, monkeypatch
):
    languages = {"a.dot": "digraph", "a.mmd": "flowchart LR"}
    drawn = languages | ({"a.svg": "<svg"} if shutil.which("dot") else {})
    for name, begins in drawn.items():
        assert run("graph", ".", "-o", name).status == 0
        assert begins in (many / name).read_text()
    assert run("graph", ".", "--siblings", "2").out.count("part-") == 2
    assert run("graph", ".", "-f", "mermaid").out.startswith("flowchart LR")
    monkeypatch.setattr("usp.graph.shutil.which", lambda _: None)
    ended = run("graph", ".", "-f", "svg").ends(1, "apt-get install graphviz", out="")
    assert ended.err.startswith("usp: Graphviz is not installed")


def test_of_files_with_one_name_the_one_in_the_same_folder_is_meant(run, put):
    put({f"{name}/sitemap.xml": urlset(f"http://h/{name}") for name in ("a", "b")})
    put({"index.xml": index("http://h/b/sitemap.xml", "http://h/a/sitemap.xml")})
    ended = run("ls", ".", "-f", "pages")
    assert (ended.status, ended.lines) == (0, ["http://h/b", "http://h/a"])


def test_what_is_damaged_or_refused_in_a_folder_is_not_complete(run, put, here):
    packed = gzip.compress(index("http://h/a.xml").encode())
    put({"a.xml": urlset("http://h/1"), "index.xml.gz": packed[:-8]})
    assert "the compressed data breaks off" in run("tree", ".").out
    (here / "index.xml.gz").unlink()
    put({"b.xml": "<!DOCTYPE x [<!ENTITY a 'b'>]><urlset></urlset>"})
    ended = run("tree", ".", "--strict").ends(3)
    assert "b.xml" in ended.out


def test_limits_hold_for_files_too(run, many):
    run("ls", "part-01.xml", "--max", "pages=0", "--strict").ends(3, "the limit pages=0")


def test_a_limited_list_that_comes_to_its_end_tells_what_is_missing(run, serve):
    for declared, text, options, status in [
        (["/a.xml"], urlset("/1"), [], 0),
        (["/a.xml", "/gone.xml"], None, [], 1),
        (["/a.xml"], urlset("/1", "/2"), ["--max", "pages=1"], 3),
        (["/a.xml"], urlset("/1")[:-9], [], 3),
    ]:
        site = serve({"/robots.txt": robots(*declared), "/a.xml": text})
        run("ls", site, "-f", "pages", "--limit", "100", "--strict", *options).ends(status)
