"""What commands read beside websites, and where their results go."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys

import pytest
from cli_documents import index, urlset

ROBOTS = "# words\nUser-agent: *\nDisallow: /x\nSitemap: https://h.example/a.xml\n"
COMMANDS = [["ls", "-f", "pages"], ["ls", "-f", "csv"], ["ls"], ["graph"], ["report"]]


@pytest.mark.parametrize("argv", COMMANDS, ids=" ".join)
def test_a_dash_is_the_standard_output(run, tmp_path, monkeypatch, argv):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.xml").write_text(urlset("http://h/1"))
    name, *options = argv
    ended = run(name, "a.xml", *options, "-o", "-")
    assert ended.status == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.xml"]
    if name == "report":
        assert ended.out.lower().startswith("<!doctype html>")
        assert "http://h/1" in ended.out or "/1" in ended.out
    else:
        assert ended.out == run(name, "a.xml", *options).out
        assert ended.out


@pytest.mark.parametrize("name", ["ls", "graph", "report"])
@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("no/where/out.svg", "there is no folder 'no/where'"),
        ("folder", "is a folder"),
        ("/proc/out.csv", "cannot write to '/proc/out.csv'"),
        ("x" * 300 + ".csv", "cannot write to"),
        ("a.xml/out.csv", "there is no folder 'a.xml'"),
    ],
)
def test_what_cannot_be_written_is_told_before_anything_is_fetched(
    run, serve, seen_headers, tmp_path, monkeypatch, name, target, told
):
    if target.startswith("/proc") and not os.path.isdir("/proc"):  # noqa: PTH112
        pytest.skip("needs /proc")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.xml").write_text("")
    (tmp_path / "folder").mkdir()
    ended = run(name, serve({}), "-o", target)
    assert (ended.status, ended.out) == (2, "")
    assert told in ended.err
    assert "no folder '/proc" not in ended.err
    assert list(seen_headers) == []


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
    (tmp_path / "usp.toml").write_text('[ls]\nformat = "csv"\n[graph]\nformat = "mermaid"\n')
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


class Stdin:
    def __init__(self, data: bytes):
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("text", [ROBOTS, f"\ufeff{ROBOTS}", ROBOTS.replace("\n", "\r\n")])
def test_a_robots_txt_is_read_from_the_standard_input(run, monkeypatch, text, pack):
    monkeypatch.setattr(sys, "stdin", Stdin(pack(text.encode())))
    ended = run("tree", "-")
    assert ended.lines[0].startswith("-  robots.txt: 1 sitemap")
    assert "https://h.example/a.xml" in ended.out
    assert "local" not in ended.out + ended.err


@pytest.mark.parametrize("command", ["tree", "ls", "graph", "report"])
def test_no_command_shows_an_address_that_nobody_gave(run, monkeypatch, tmp_path, command):
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


@pytest.mark.skipif(not os.path.exists("/bin/bash"), reason="needs bash")  # noqa: PTH110
@pytest.mark.parametrize("source", ["<(cat a.xml)", "/dev/stdin < a.xml", "- < a.xml"])
def test_pipes_are_as_good_as_files(tmp_path, source):
    (tmp_path / "a.xml").write_text(urlset("http://h/1", "http://h/2"))
    command = f"{sys.executable} -m usp.cli ls {source.split(' <')[0]} -f pages"
    if " <" in source:
        command += " <" + source.split(" <")[1]
    done = subprocess.run(
        ["/bin/bash", "-c", command], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.stdout == b"http://h/1\nhttp://h/2\n", done.stderr
    assert done.returncode == 0
