"""``usp tree`` and ``usp graph``: what they show of a site, a file, a folder."""

from __future__ import annotations

import gzip
import io
import shutil

import pytest
from cli_documents import index, urlset


def test_the_tree_has_a_line_for_each_sitemap_with_what_it_holds(run, site):
    ended = run("tree", site)
    assert ended.status == 3  # one of its sitemaps is missing
    text = ended.out
    assert text.startswith(f"{site}/  ")
    assert "robots.txt: " in text
    assert "failed: Unable to fetch sitemap from /missing.xml: 404 Not Found" in text
    assert "\x1b" not in text


@pytest.fixture
def many(tmp_path):
    """A folder with an index of thirty sitemaps, one of which breaks off."""
    names = [f"part-{n:02}.xml" for n in range(30)]
    locs = [f"http://h/{name}" for name in names]
    (tmp_path / "index.xml").write_text(index(*locs))
    for n, name in enumerate(names):
        (tmp_path / name).write_text(urlset(f"http://h/{n}"))
    (tmp_path / "notes.md").write_text("no sitemap")
    return tmp_path


def test_long_runs_of_sitemaps_are_cut_short_unless_all_are_wanted(run, many):
    short, everything = run("tree", str(many)), run("tree", str(many), "--all")
    assert (short.status, everything.status) == (0, 0)
    assert "… 23 more sitemaps with 23 pages" in short.out
    assert short.out.count("part-") == 7
    assert everything.out.count("part-") == 30
    assert "30 pages in 31 sitemaps; 0 sitemaps failed." in short.out


def test_the_depth_is_how_many_levels_are_shown(run, many):
    ended = run("tree", str(many), "--depth", "1")
    assert "index.xml" in ended.out
    assert "part-" not in ended.out
    assert "… 30 sitemaps" in ended.out


def test_problems_inside_of_documents_are_shown_when_asked_for(run, tmp_path):
    file = tmp_path / "a.xml"
    file.write_text(urlset("http://h/a?b&c"))
    assert "problem:" not in run("tree", str(file)).out
    assert "an ampersand is not escaped" in run("tree", str(file), "--problems").out


def test_without_counting_no_document_is_read(run, many):
    ended = run("tree", str(many), "--no-count")
    assert "page" not in ended.out.replace(str(many), "")


def test_a_document_from_the_standard_input_may_be_packed(run, monkeypatch):
    class Stdin:
        buffer = io.BytesIO(gzip.compress(urlset("http://h/1", "http://h/2").encode()))

    monkeypatch.setattr("sys.stdin", Stdin())
    ended = run("tree", "-")
    assert "XML: 2 pages" in ended.out
    assert ended.status == 0


def test_files_and_folders_can_be_listed_too(run, many):
    assert run("ls", str(many), "-f", "pages").lines == [f"http://h/{n}" for n in range(30)]
    assert run("ls", str(many / "part-07.xml"), "-f", "pages").lines == ["http://h/7"]


def test_an_index_whose_files_are_not_there_is_incomplete(run, tmp_path):
    (tmp_path / "index.xml").write_text(index("http://h/a.xml", "http://h/b.xml"))
    (tmp_path / "a.xml").write_text(urlset("http://h/1"))
    ended = run("tree", str(tmp_path))
    assert ended.status == 3
    assert "http://h/b.xml: Un-fetched child sitemap" in ended.err


def test_indexes_that_name_each_other_in_a_folder_end(run, tmp_path):
    (tmp_path / "a.xml").write_text(index("http://h/b.xml"))
    (tmp_path / "b.xml").write_text(index("http://h/a.xml"))
    assert run("tree", str(tmp_path)).status in (1, 3)


@pytest.mark.parametrize(("name", "begins"), [("a.dot", "digraph"), ("a.mmd", "flowchart LR")])
def test_a_graph_is_drawn_in_the_language_of_its_file(run, many, tmp_path, name, begins):
    target = tmp_path / name
    assert run("graph", str(many), "-o", str(target)).status == 0
    assert target.read_text().startswith(begins)


def test_a_graph_is_written_to_the_standard_output(run, many):
    assert run("graph", str(many), "--siblings", "2").out.count("part-") == 2
    assert run("graph", str(many), "-f", "mermaid").out.startswith("flowchart LR")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_a_graph_can_be_a_picture(run, many, tmp_path):
    target = tmp_path / "a.svg"
    assert run("graph", str(many), "-o", str(target)).status == 0
    assert "<svg" in target.read_text()


def test_without_graphviz_the_command_says_what_to_install(run, many, monkeypatch):
    monkeypatch.setattr("usp.graph.shutil.which", lambda _: None)
    ended = run("graph", str(many), "-f", "svg")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith("usp: Graphviz is not installed")
