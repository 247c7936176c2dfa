"""What commands read beside websites, and where their results go."""

import gzip
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import usp
from cases import cases
from quick_usp import usp_command
from website import index, robots, urlset

ROBOTS = "# words\nUser-agent: *\nDisallow: /x\nSitemap: https://h.example/a.xml\n"
COMMANDS = [["ls", "-f", "pages"], ["ls", "-f", "csv"], ["ls"], ["graph"], ["report"]]


@pytest.fixture
def folder(put, here):
    """The current folder, with a sitemap."""
    put({"a.xml": urlset("http://h/1")})
    return here


def test_a_dash_is_the_standard_output_and_a_device_is_written_as_it_is(run, folder):
    for name, *options in COMMANDS:
        ended = run(name, "a.xml", *options, "-o", "-").ends(0)
        assert [path.name for path in folder.iterdir()] == ["a.xml"]
        if name == "report":
            assert ended.out.lower().startswith("<!doctype html>")
            assert "http://h/1" in ended.out or "/1" in ended.out
        else:
            assert ended.out == run(name, "a.xml", *options).out
            assert ended.out
    for name, *options in (["ls", "-f", "csv"], ["graph", "-f", "dot"], ["report"]):
        assert run(name, "a.xml", *options, "-o", os.devnull).status == 0
    assert not os.path.isfile(os.devnull)  # noqa: PTH113


def test_what_cannot_be_written_is_told_before_anything_is_fetched(run, serve, folder):
    (folder / "folder").mkdir()
    (folder / "link.csv").symlink_to("gone/b.csv")
    site = serve({})
    in_proc = {"/proc/out.csv": "cannot write to '/proc/out.csv'"}
    wrong = {
        "no/where/out.svg": "there is no folder 'no/where'",
        "folder": "is a folder",
        "x" * 300 + ".csv": "cannot write to",
        "a.xml/out.csv": "there is no folder 'a.xml'",
        "link.csv": "there is no folder",
    } | (in_proc if Path("/proc").is_dir() else {})
    for name in ["ls", "graph", "report"]:
        for target, told in wrong.items():
            ended = run(name, site, "-o", target).ends(2, told, out="")
            assert "no folder '/proc" not in ended.err
            assert site.web.requests == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do anything")
def test_a_folder_that_may_not_be_written_is_told(run, here):
    here.chmod(0o500)
    run("ls", "example.org", "-o", "out.csv").ends(2, "Permission denied")
    here.chmod(0o700)


def test_the_suffix_of_a_file_beats_the_format_of_a_file_of_options(run, put, folder):
    forms = {"ls": "csv", "graph": "mermaid", "check": "junit"}
    put({"usp.toml": "".join(f'[{name}]\nformat = "{form}"\n' for name, form in forms.items())})
    assert run("ls", "a.xml").out.startswith("url,")
    for command, *options, name, begins in [
        ("ls", "out.jsonl", "{"),
        ("ls", "out.txt", "http://h/1\n"),
        ("ls", "-f", "pages", "out.jsonl", "http://h/1\n"),
        ("ls", "out.data", "url,"),
        ("graph", "out.dot", "digraph"),
        ("check", "out.sarif", '{"$schema"'),
        ("check", "out.data", "<?xml"),
    ]:
        assert run(command, "a.xml", "-o", name, *options).status in (0, 1)
        assert (folder / name).read_text().startswith(begins)


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


def test_the_suffix_of_a_file_sets_its_format_and_gz_compresses_it(run, put, here):
    put({"a.xml": urlset("<url><loc>/rel</loc></url>")})
    for spelled in [str.lower, str.upper]:
        for command, suffix in [(name, one) for name, many in _BEGINNINGS.items() for one in many]:
            plain, packed = (here / f"out{spelled(one)}" for one in (suffix, f"{suffix}.gz"))
            for path in (plain, packed):
                assert run(command, "a.xml", "-o", path.name).status in (0, 1)
            written = plain.read_bytes()
            assert written.lower().startswith(_BEGINNINGS[command][suffix].lower())
            unpacked = gzip.decompress(packed.read_bytes())
            assert len(unpacked) == pytest.approx(len(written), abs=20)
            if command == "check":  # unless the format was named
                run(command, "a.xml", "-f", "text", "-o", plain.name)
                assert plain.read_bytes().startswith(b"error SM401")


def test_a_file_has_no_host_of_its_own(run, folder, stdin):
    for start in ["a.xml", ".", "-"]:
        for options in [[], ["-f", "pages"], ["-o", "out.csv"]]:
            stdin(urlset("http://h/1"))
            run("ls", start, "--same-host", *options).ends(2, "--same-host needs a website", out="")
            assert not (folder / "out.csv").exists()


def test_a_snapshot_of_which_nothing_was_read_replaces_nothing(run, put, folder, serve):
    """An index whose sitemaps are all missing has no pages; of files, it would be all that there is."""
    site = serve({"/robots.txt": robots("/i.xml"), "/i.xml": index("/gone.xml")})
    usp.sitemap_tree_for_homepage(site, record=folder / "site.warc.gz")
    put({"keep.csv": "kept"})
    for argv, status in [
        (["ls", "site.warc.gz", "-o", "keep.csv"], 1),
        (["ls", "site.warc.gz", "-o", "keep.csv", "--sitemaps"], 1),
        (["diff", "site.warc.gz", "a.xml"], 2),
        (["diff", "a.xml", "site.warc.gz"], 2),
        (["report", "a.xml", "--compare", "site.warc.gz", "-o", "keep.csv"], 1),
        (["report", "site.warc.gz", "-o", "keep.csv"], 1),
        *((["tree", "site.warc.gz", "-f", form, "-o", "keep.csv"], 1) for form in ("text", "json")),
    ]:
        assert run(*argv).status == status
        assert (folder / "keep.csv").read_text() == "kept"


def test_a_broken_sitemap_in_a_folder_is_told_however_its_name_is_spelled(run, put, folder):
    put({"SITEMAP.XML": "<urlset", "NEWS.XML.GZ": gzip.compress(b"<urlset")})
    told = run("tree", ".").out
    assert "SITEMAP.XML" in told
    assert "NEWS.XML.GZ" in told


def test_a_robots_txt_is_told_by_what_it_says_also_from_the_standard_input(run, put, stdin):
    for pack in [bytes, gzip.compress]:
        for text in [ROBOTS, f"\ufeff{ROBOTS}", ROBOTS.replace("\n", "\r\n")]:
            stdin(pack(text.encode()))
            ended = run("tree", "-")
            assert ended.lines[0].startswith("-  robots.txt: 1 sitemap")
            assert "https://h.example/a.xml" in ended.out
            assert "local" not in ended.out + ended.err
    stdin("http://h/1\nhttp://h/2\n")
    assert run("ls", "-", "-f", "pages").lines == ["http://h/1", "http://h/2"]
    put({"example-robots.txt": ROBOTS})
    assert "robots.txt: 1 sitemap" in run("tree", "example-robots.txt").out


def test_no_command_shows_an_address_that_nobody_gave(run, stdin):
    for name, *options in (["tree"], ["ls"], ["graph"], ["report", "-o", "-"]):
        for text in (urlset("http://h/1"), index("http://h/a.xml"), ROBOTS, "not a sitemap"):
            stdin(text)
            ended = run(name, "-", *options)
            assert "usp-local" not in ended.out + ended.err


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs bash")
def test_pipes_are_as_good_as_files(folder):
    for source in cases(["<(cat a.xml)", "/dev/stdin < a.xml", "- < a.xml"]):
        command = [sys.executable, "-m", "usp.cli"] if source[0] == "<" else usp_command()
        line = f"{shlex.join(command)} ls -f pages {source}"
        done = subprocess.run(["/bin/bash", "-c", line], capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"http://h/1\n", b"")
