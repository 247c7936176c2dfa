"""What commands read beside websites, and where their results go."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import usp
from website import index, urlset

ROBOTS = "# words\nUser-agent: *\nDisallow: /x\nSitemap: https://h.example/a.xml\n"
RELATIVE = urlset("<url><loc>/rel</loc></url>")
COMMANDS = [["ls", "-f", "pages"], ["ls", "-f", "csv"], ["ls"], ["graph"], ["report"]]


def test_a_dash_is_the_standard_output(run, tmp_path, monkeypatch, subtests):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.xml").write_text(urlset("http://h/1"))
    for name, *options in COMMANDS:
        with subtests.test(name=name, options=options):
            ended = run(name, "a.xml", *options, "-o", "-")
            assert ended.status == 0
            assert [path.name for path in tmp_path.iterdir()] == ["a.xml"]
            if name == "report":
                assert ended.out.lower().startswith("<!doctype html>")
                assert "http://h/1" in ended.out or "/1" in ended.out
            else:
                assert ended.out == run(name, "a.xml", *options).out
                assert ended.out


def test_what_cannot_be_written_is_told_before_anything_is_fetched(
    run, serve, tmp_path, monkeypatch, subtests
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.xml").write_text("")
    (tmp_path / "folder").mkdir()
    site = serve({})
    in_proc = [("/proc/out.csv", "cannot write to '/proc/out.csv'")]
    for name in ["ls", "graph", "report"]:
        for target, told in [
            ("no/where/out.svg", "there is no folder 'no/where'"),
            ("folder", "is a folder"),
            *(in_proc if Path("/proc").is_dir() else []),
            ("x" * 300 + ".csv", "cannot write to"),
            ("a.xml/out.csv", "there is no folder 'a.xml'"),
        ]:
            with subtests.test(name=name, target=target, told=told):
                ended = run(name, site, "-o", target)
                assert (ended.status, ended.out) == (2, "")
                assert told in ended.err
                assert "no folder '/proc" not in ended.err
                assert site.web.requests == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do anything")
def test_a_folder_that_may_not_be_written_is_told(run, tmp_path):
    tmp_path.chmod(0o500)
    ended = run("ls", "example.org", "-o", str(tmp_path / "out.csv"))
    assert ended.status == 2
    assert "Permission denied" in ended.err
    tmp_path.chmod(0o700)


def test_a_device_is_written_as_it_is(run, tmp_path):
    (tmp_path / "a.xml").write_text(urlset("http://h/1"))
    for name in ("ls", "graph", "report"):
        options = ["-f", "csv"] if name == "ls" else ["-f", "dot"] if name == "graph" else []
        assert run(name, str(tmp_path / "a.xml"), *options, "-o", os.devnull).status == 0
    assert not os.path.isfile(os.devnull)  # noqa: PTH113


def test_the_suffix_of_a_file_beats_the_format_of_a_file_of_options(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = '[ls]\nformat = "csv"\n[graph]\nformat = "mermaid"\n[check]\nformat = "junit"\n'
    (tmp_path / "usp.toml").write_text(text)
    (tmp_path / "a.xml").write_text(urlset("http://h/1"))
    assert run("ls", "a.xml").out.startswith("url,")
    assert run("ls", "a.xml", "-o", "out.jsonl").status == 0
    assert (tmp_path / "out.jsonl").read_text().startswith("{")
    assert run("ls", "a.xml", "-o", "out.txt").status == 0
    assert (tmp_path / "out.txt").read_text() == "http://h/1\n"
    assert run("ls", "a.xml", "-o", "out.jsonl", "-f", "pages").status == 0
    assert (tmp_path / "out.jsonl").read_text() == "http://h/1\n"
    assert run("ls", "a.xml", "-o", "out.data").status == 0
    assert (tmp_path / "out.data").read_text().startswith("url,")
    assert run("graph", "a.xml", "-o", "out.dot").status == 0
    assert (tmp_path / "out.dot").read_text().startswith("digraph")
    run("check", "a.xml", "-o", "out.sarif")
    assert "sarif" in (tmp_path / "out.sarif").read_text()
    run("check", "a.xml", "-o", "out.data")
    assert (tmp_path / "out.data").read_text().startswith("<?xml")


_BEGINNINGS = {
    "check": {
        ".json": b'{"findings"',
        ".jsonl": b'{"code"',
        ".sarif": b'{"$schema"',
        ".xml": b"<?xml",
    },
    "ls": {".csv": b"url", ".json": b"[", ".jsonl": b"{", ".xml": b"<?xml", ".txt": b"/rel"},
    "graph": {".dot": b"digraph", ".gv": b"digraph", ".mmd": b"flowchart"},
    "report": {".html": b"<!doctype"},
}


def test_the_suffix_of_a_file_sets_its_format_and_gz_compresses_it(
    run, tmp_path, monkeypatch, subtests
):
    for spelled in [str.lower, str.upper]:
        for command, suffix in [(name, one) for name, many in _BEGINNINGS.items() for one in many]:
            with subtests.test(spelled=spelled, command=command, suffix=suffix):
                monkeypatch.chdir(tmp_path)
                (tmp_path / "a.xml").write_text(RELATIVE)
                plain, packed = (
                    tmp_path / f"out{spelled(one)}" for one in (suffix, f"{suffix}.gz")
                )
                for path in (plain, packed):
                    assert run(command, "a.xml", "-o", path.name).status in (0, 1)
                written = plain.read_bytes()
                assert written.lower().startswith(_BEGINNINGS[command][suffix].lower())
                assert len(gzip.decompress(packed.read_bytes())) == pytest.approx(
                    len(written), abs=20
                )
                if command == "check":  # unless the format was named
                    run(command, "a.xml", "-f", "text", "-o", plain.name)
                    assert plain.read_bytes().startswith(b"a.xml")


def test_only_what_is_on_the_web_can_be_recorded(run, tmp_path, monkeypatch, subtests):
    for argv in [["-"], ["a.xml"], ["."]]:
        with subtests.test(argv=argv):
            monkeypatch.chdir(tmp_path)
            (tmp_path / "a.xml").write_text(urlset("http://h/1"))
            monkeypatch.setattr(sys, "stdin", Stdin(urlset("http://h/1").encode()))
            ended = run("snapshot", *argv, "-o", "a.warc.gz")
            assert ended.status == 2
            assert "not a file" in ended.err


def test_a_file_has_no_host_of_its_own(run, tmp_path, monkeypatch, subtests):
    for source in ["a.xml", ".", "-"]:
        for options in [[], ["-f", "pages"], ["-o", "out.csv"]]:
            with subtests.test(source=source, options=options):
                monkeypatch.chdir(tmp_path)
                (tmp_path / "a.xml").write_text(urlset("http://h/1"))
                monkeypatch.setattr(sys, "stdin", Stdin(urlset("http://h/1").encode()))
                ended = run("ls", source, "--same-host", *options)
                assert (ended.status, ended.out) == (2, "")
                assert "--same-host needs a website" in ended.err
                assert not (tmp_path / "out.csv").exists()


def test_a_snapshot_of_which_nothing_was_read_replaces_nothing(
    run, tmp_path, monkeypatch, serve, subtests
):
    """An index whose sitemaps are all missing has no pages; of files, it would be all that there is."""
    for argv, status in [
        (["ls", "site.warc.gz", "-o", "keep.csv"], 1),
        (["ls", "site.warc.gz", "-o", "keep.csv", "--sitemaps"], 1),
        (["diff", "site.warc.gz", "a.xml"], 2),
        (["diff", "a.xml", "site.warc.gz"], 2),
        (["report", "a.xml", "--compare", "site.warc.gz", "-o", "keep.csv"], 1),
    ]:
        with subtests.test(argv=argv, status=status):
            site = serve({"/robots.txt": "Sitemap: {site}/i.xml", "/i.xml": index("/gone.xml")})
            monkeypatch.chdir(tmp_path)
            usp.sitemap_tree_for_homepage(site, record=tmp_path / "site.warc.gz")
            (tmp_path / "a.xml").write_text(urlset("http://h/1"))
            (tmp_path / "keep.csv").write_text("kept")
            ended = run(*argv)
            assert ended.status == status
            assert (tmp_path / "keep.csv").read_text() == "kept"


def test_a_broken_sitemap_in_a_folder_is_told_however_its_name_is_spelled(run, tmp_path):
    (tmp_path / "SITEMAP.XML").write_text("<urlset")
    (tmp_path / "NEWS.XML.GZ").write_bytes(gzip.compress(b"<urlset"))
    (tmp_path / "a.xml").write_text(urlset("http://h/1"))
    told = run("tree", str(tmp_path)).out
    assert "SITEMAP.XML" in told
    assert "NEWS.XML.GZ" in told


class Stdin:
    def __init__(self, data: bytes):
        self.buffer = io.BytesIO(data)


def test_a_robots_txt_is_read_from_the_standard_input(run, monkeypatch, subtests):
    for pack in [bytes, gzip.compress]:
        for text in [ROBOTS, f"\ufeff{ROBOTS}", ROBOTS.replace("\n", "\r\n")]:
            with subtests.test(pack=pack, text=text):
                monkeypatch.setattr(sys, "stdin", Stdin(pack(text.encode())))
                ended = run("tree", "-")
                assert ended.lines[0].startswith("-  robots.txt: 1 sitemap")
                assert "https://h.example/a.xml" in ended.out
                assert "local" not in ended.out + ended.err


def test_no_command_shows_an_address_that_nobody_gave(run, monkeypatch, tmp_path, subtests):
    for command in ["tree", "ls", "graph", "report"]:
        with subtests.test(command=command):
            monkeypatch.chdir(tmp_path)
            for text in (urlset("http://h/1"), index("http://h/a.xml"), ROBOTS, "not a sitemap"):
                monkeypatch.setattr(sys, "stdin", Stdin(text.encode()))
                options = ["-o", "-"] if command == "report" else []
                ended = run(command, "-", *options)
                assert "usp-local" not in ended.out + ended.err


def test_a_list_of_addresses_is_not_a_robots_txt(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", Stdin(b"http://h/1\nhttp://h/2\n"))
    assert run("ls", "-", "-f", "pages").lines == ["http://h/1", "http://h/2"]


def test_a_robots_txt_of_another_name_is_read(run, tmp_path):
    (tmp_path / "example-robots.txt").write_text(ROBOTS)
    assert "robots.txt: 1 sitemap" in run("tree", str(tmp_path / "example-robots.txt")).out


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs bash")
def test_pipes_are_as_good_as_files(tmp_path, subtests):
    for source in ["<(cat a.xml)", "/dev/stdin < a.xml", "- < a.xml"]:
        with subtests.test(source=source):
            (tmp_path / "a.xml").write_text(urlset("http://h/1", "http://h/2"))
            command = f"{sys.executable} -m usp.cli ls {source.split(' <')[0]} -f pages"
            if " <" in source:
                command += " <" + source.split(" <")[1]
            done = subprocess.run(
                ["/bin/bash", "-c", command], cwd=tmp_path, capture_output=True, check=False
            )
            assert done.stdout == b"http://h/1\nhttp://h/2\n", done.stderr
            assert done.returncode == 0
