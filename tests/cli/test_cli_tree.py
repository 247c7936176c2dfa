"""``usp tree`` and ``usp graph``: what they show of a site, a file, a folder."""

from __future__ import annotations

import gzip
import io
import shlex
import shutil
import subprocess

import pytest

from quick_usp import usp_command
from website import index, urlset


def test_the_tree_has_a_line_for_each_sitemap_with_what_it_holds(run, site):
    ended = run("tree", site)
    assert ended.status == 0
    text = ended.out
    assert text.startswith(f"{site}/  ")
    assert "robots.txt: " in text
    assert "failed: 404 Not Found" in text
    assert text.count("missing.xml") == 1
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
    assert "30 pages in 31 sitemaps; 0 failures." in short.out


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
    ended = run("tree", str(tmp_path), "--strict")
    assert ended.status == 3
    assert "http://h/b.xml" in ended.out
    assert "failed: not fetched: sitemaps in files are read without network access" in ended.out


def test_indexes_that_name_each_other_in_a_folder_end(run, tmp_path):
    (tmp_path / "a.xml").write_text(index("http://h/b.xml"))
    (tmp_path / "b.xml").write_text(index("http://h/a.xml"))
    assert run("tree", str(tmp_path), "--strict").status == 0


def test_a_graph_is_drawn_in_the_language_of_its_file(run, many, tmp_path, subtests):
    for name, begins in [("a.dot", "digraph"), ("a.mmd", "flowchart LR")]:
        with subtests.test(name=name, begins=begins):
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


def test_of_files_with_one_name_the_one_in_the_same_folder_is_meant(run, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sitemap.xml").write_text(urlset(f"http://h/{name}"))
    (tmp_path / "index.xml").write_text(index("http://h/b/sitemap.xml", "http://h/a/sitemap.xml"))
    ended = run("ls", str(tmp_path), "-f", "pages")
    assert (ended.status, ended.lines) == (0, ["http://h/b", "http://h/a"])


def test_what_is_damaged_or_refused_in_a_folder_is_not_complete(run, tmp_path):
    (tmp_path / "a.xml").write_text(urlset("http://h/1"))
    (tmp_path / "index.xml.gz").write_bytes(gzip.compress(index("http://h/a.xml").encode())[:-8])
    assert "the compressed data breaks off" in run("tree", str(tmp_path)).out
    (tmp_path / "index.xml.gz").unlink()
    (tmp_path / "b.xml").write_text("<!DOCTYPE x [<!ENTITY a 'b'>]><urlset></urlset>")
    ended = run("tree", str(tmp_path), "--strict")
    assert ended.status == 3
    assert "b.xml" in ended.out


def test_limits_hold_for_files_too(run, many):
    ended = run("ls", str(many / "part-01.xml"), "--max", "pages=0", "--strict")
    assert ended.status == 3
    assert "the limit pages=0" in ended.err


def test_a_pipe_that_is_closed_is_no_error(many):
    command = [*usp_command(), "tree", str(many), "--all"]
    shell = f"{shlex.join(command)} | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_graph_whose_file_says_nothing_is_a_wrong_call(run, many, tmp_path):
    assert run("graph", str(many), "-o", str(tmp_path / "a.png")).status == 2
    assert run("graph", str(many), "-o", str(tmp_path / "no" / "a.dot")).status == 2


def test_a_limited_list_that_comes_to_its_end_tells_what_is_missing(run, serve, subtests):
    for files, options, status in [
        ({"/robots.txt": "Sitemap: {site}/a.xml\n", "/a.xml": urlset("/1")}, [], 0),
        ({"/robots.txt": "Sitemap: {site}/a.xml\nSitemap: {site}/gone.xml\n"}, [], 1),
        (
            {"/robots.txt": "Sitemap: {site}/a.xml\n", "/a.xml": urlset("/1", "/2")},
            ["--max", "pages=1"],
            3,
        ),
        ({"/robots.txt": "Sitemap: {site}/a.xml\n", "/a.xml": urlset("/1")[:-9]}, [], 3),
    ]:
        with subtests.test(files=files, options=options, status=status):
            ended = run("ls", serve(files), "-f", "pages", "--limit", "100", "--strict", *options)
            assert ended.status == status
