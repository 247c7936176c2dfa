"""``usp diff``: what changed, for people and programs; the exit status tells whether anything did."""

import csv
import io
import json
import re
import sys

import pytest

from website import Answer, dated, index, urlset

if sys.platform != "win32":
    from terminals import run_on_terminal

H = "http://example.org"
BEFORE = urlset(f"{H}/1", dated(f"{H}/2", "2024-01-01"), f"{H}/3")
PRIOR = dated(f"{H}/2", "2024-02-01").replace(
    "</url>", "<changefreq>daily</changefreq><priority>0.9</priority></url>"
)
AFTER = urlset(f"{H}/4", PRIOR, f"{H}/3")


@pytest.fixture
def files(put):
    put({"before.xml": BEFORE, "after.xml": AFTER})
    return ["before.xml", "after.xml"]


def test_changes_are_lines_of_text_and_the_same_twice_is_status_0(run, files):
    ended = run("diff", *files).ends(1)
    assert ended.lines == [
        f"+ {H}/4",
        f"~ {H}/2  priority 0.5 -> 0.9; lastmod 2024-01-01 -> 2024-02-01; changefreq none -> daily",
        f"- {H}/1",
    ]
    assert ended.err == "usp: pages: 1 added, 1 removed, 1 changed\n"
    run("diff", files[0], files[0]).ends(0, out="", err="usp: nothing changed\n")


def test_a_file_is_named_as_it_was_given(run, files, put):
    put({"before.xml": BEFORE.removesuffix("</urlset>")})
    ended = run("diff", "before.xml", "after.xml")
    assert "usp: before.xml: 1 sitemap missing or incomplete\n" in ended.err


def test_programs_read_json_and_spreadsheets_csv(run, files, here):
    ended = run("diff", *files, "-f", "jsonl", "--quiet")
    added, changed, removed = map(json.loads, ended.lines)
    assert (added["what"], added["change"], added["url"]) == ("page", "added", f"{H}/4")
    assert changed["fields"]["lastmod"] == {
        "before": "2024-01-01T00:00:00Z", "after": "2024-02-01T00:00:00Z",
    }  # fmt: skip
    assert changed["fields"]["changefreq"] == {"before": None, "after": "daily"}
    assert changed["page"]["priority"] == 0.9
    assert removed["left"] == [(here / files[0]).as_uri()]
    assert ended.err == ""
    for given, count in ((files, 3), ([files[0]] * 2, 0)):
        found = json.loads(run("diff", *given, "-f", "json").out)
        assert len(found["changes"]) == count
    assert json.loads(run("diff", *files, "-f", "json").out)["counts"]["pages"]["added"] == 1
    rows = list(csv.DictReader(io.StringIO(run("diff", *files, "-f", "csv").out)))
    assert [(row["change"], row["field"], row["after"]) for row in rows] == [
        ("added", "", ""), ("changed", "priority", "0.9"),
        ("changed", "lastmod", "2024-02-01T00:00:00Z"), ("changed", "changefreq", "daily"),
        ("removed", "", ""),
    ]  # fmt: skip


def test_colors_are_for_terminals(run, files, monkeypatch):
    plain = run("diff", *files).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    colored = run("diff", *files).out
    assert "\x1b[32m+ " in colored
    assert "\x1b[31m- " in colored
    monkeypatch.setenv("NO_COLOR", "1")
    assert run("diff", *files).out == plain


def test_what_cannot_be_read_is_trouble(run, files, put):
    put({"page.html": "<html><body>hello</body></html>"})
    for given in ["nothing.xml", "http://127.0.0.1:1/", "page.html"]:
        for pair in ([files[0], given], [given, files[0]]):
            ended = run("diff", *pair).ends(2, out="")
            assert ended.err


def test_a_failed_sitemap_is_status_3_and_its_pages_are_counted(run, serve, put):
    children = {"/a.xml": urlset("/1"), "/b.xml": urlset("/2", "/3")}
    website = serve({"/index.xml": index(*children), **children}).web
    put({f"saved{path}": website.fill(text) for path, text in website.answers.items()})
    folder, start = "saved", website.url("/index.xml")
    assert run("diff", "saved/index.xml", start).status != 2
    website.answers["/b.xml"] = Answer(status=404)
    ended = run("diff", folder, start).ends(3)
    assert [line[0] for line in ended.lines if "/b.xml" in line] == ["!"]
    assert not [line for line in ended.lines if line[0] in "+-"]
    assert "2 unknown" in ended.err
    listed = run("diff", folder, start, "--unknown").lines
    assert {f"? {website.url('/2')}", f"? {website.url('/3')}"} <= set(listed)
    assert run("diff", start, start).status == 0  # what is missing on both sides is not compared
    assert run("diff", start, start, "--strict").status == 3
    website.answers["/a.xml"] = urlset("/1", "/9")
    assert run("diff", folder, start).status == 1
    assert run("diff", folder, start, "--strict").status == 3


def test_an_index_in_a_file_names_sitemaps_that_nobody_reads(run, put):
    put({"one.xml": index(f"{H}/a.xml"), "two.xml": index(f"{H}/a.xml", f"{H}/b.xml")})
    ended = run("diff", "one.xml", "two.xml")
    assert (ended.status, ended.lines) == (1, [f"+ sitemap {H}/b.xml"])
    assert run("diff", "one.xml", "one.xml").status == 0


NEWS = (
    '<url><loc>http://example.org/news/tea</loc><lastmod>2025-03-01</lastmod><n:news xmlns:n="'
    'http://www.google.com/schemas/sitemap-news/0.9"><n:publication_date>2025-02-28</n:publication_date>'
    "<n:title>Tea &amp; milk</n:title></n:news></url>"
)


def test_a_page_that_is_new_has_its_date_and_title(run, put):
    put(
        {"before.xml": urlset(), "after.xml": urlset(NEWS, dated(f"{H}/2", "2024-02-01"), f"{H}/3")}
    )
    assert run("diff", "before.xml", "after.xml").lines == [
        f"+ {H}/news/tea  2025-03-01: Tea & milk", f"+ {H}/2  2024-02-01", f"+ {H}/3",
    ]  # fmt: skip


def test_some_kinds_and_some_urls_only(run, files):
    ended = run("diff", *files, "--only", "added, removed", "--exclude", "*/4").ends(1)
    assert (ended.lines, ended.err) == ([f"- {H}/1"], "usp: pages: 1 removed\n")
    run("diff", *files, "--only", "moved").ends(0, out="")
    run("diff", *files, "--include", "/9*", "-f", "jsonl").ends(0, out="")
    assert "unknown kind 'gone'" in run("diff", *files, "--only", "gone").ends(2).err
    for given in (["--only", "added"], ["--include", "*"], ["-f", "summary"]):
        run("diff", *files, "--migration", *given).ends(2, out="")


def test_a_summary_counts_the_changes_of_each_section(run, put):
    put({"before.xml": urlset(f"{H}/a/1", f"{H}/a/2", f"{H}/b"), "after.xml": urlset(f"{H}/c/1")})
    assert run("diff", "before.xml", "after.xml", "-f", "summary").ends(1).lines == [
        "section  added  removed",
        "/a/          0        2",
        "/c/          1        0",
        "/            0        1",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are of Unix")
def test_a_terminal_shows_a_section_for_each_kind(files, here):
    ran = run_on_terminal("diff", *files, "--quiet", stdout="terminal", cwd=here, columns=200)
    shown_lines = re.sub(r"\x1b\[[0-9;]*m", "", ran.screen.decode()).splitlines()
    assert [line for line in shown_lines if line] == [
        "1 page added", f"+ {H}/4", "1 page removed", f"- {H}/1", "1 page changed",
        f"~ {H}/2  priority 0.5 -> 0.9; lastmod 2024-01-01 -> 2024-02-01; changefreq none -> daily",
    ]  # fmt: skip
