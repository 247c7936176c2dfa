"""How commands end: statuses, pipes, full disks, closed streams; and what they say of themselves."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import usp
from cases import cases
from usp._base.display import printable
from usp.cli.commands.cmd_ls import LINES, TABLES
from website import urlset

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a shell of Unix")


def test_version_and_help(run):
    for option in ("-v", "--version"):
        assert run(option).out == f"usp v{usp.__version__}\n"
    alone = run().ends(0)
    assert "Examples" in alone.out
    assert run("--help").out == run("-h").out
    assert run("ls", "--help").out == run("ls", "-h").out


def test_a_reader_that_has_seen_enough_ends_any_output_quietly(process, put, here):
    put({"map.xml": urlset(*(f"http://h/page/{number}" for number in range(5000)))})
    put({f"maps/{number}.xml": urlset() for number in range(500)})
    for argv in cases(
        [
            *(["ls", "map.xml", "-f", form] for form in [*LINES, *TABLES]),
            *(["tree", "maps", "--all"], ["diff", "map.xml", "maps"]),
        ]
    ):
        reader, writer = os.pipe()
        os.close(reader)
        ended = process(*argv, stdout=writer, cwd=here)
        os.close(writer)
        assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.fixture
def shell(put, here):
    """Run a line of the shell in which ``usp`` is the command, in a folder with sitemaps."""
    words = ["café", "plain", "茶?a=b&amp;c=%20"]
    put({"map.xml": urlset("https://h.example/1"), "new.xml": urlset("https://h.example/2")})
    put({"words.xml": urlset(*(f"https://h.example/{word}" for word in words))})

    def _shell(line: str, **more: str) -> tuple[int, bytes, bytes]:
        line = line.replace("usp", f"'{sys.executable}' -m usp.cli")
        told = {"cwd": here, "env": {**os.environ, **more}, "capture_output": True}
        done = subprocess.run(["/bin/sh", "-c", line], check=False, **told)
        return done.returncode, done.stdout, done.stderr

    return _shell


def test_what_the_terminal_cannot_show_is_percent_encoded(shell):
    for encoding, word, tea in cases(
        [
            ("ascii", "caf%C3%A9", "%E8%8C%B6"),
            ("latin-1", "café", "%E8%8C%B6"),
            ("utf-8", "café", "茶"),
        ]
    ):
        status, out, _ = shell("usp ls words.xml -f pages", PYTHONIOENCODING=encoding)
        shown = [line.rpartition("/")[2] for line in out.decode(encoding).split()]
        assert (status, shown) == (0, [word, "plain", f"{tea}?a=b&c=%20"])


@given(st.text())
def test_printable_text_has_only_what_has_a_shape(text):
    shown = printable(text)
    assert shown.isprintable()
    assert shown == text or not text.isprintable()


def test_the_library_needs_neither_the_command_line_nor_scrapy():
    code = (
        "import sys, usp.tree, usp.fetch_parse, usp.web_client.requests_client, usp._demo\n"
        "import usp.aio, usp.contrib\n"
        "sys.exit(bool({'click', 'rich', 'rich_click', 'scrapy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_closed_streams_are_reported_if_they_matter(shell):
    for line, status in cases(
        [
            ("ls map.xml -f pages", 1),
            ("tree map.xml", 1),
            ("diff map.xml new.xml", 2),
            ("--help", 1),
        ]
    ):
        assert shell(f"usp {line} >&-") == (status, b"", b"usp: Bad file descriptor\n")
    ended = shell("usp ls map.xml -f pages <&- 2>&-")
    assert ended == (0, b"https://h.example/1\n", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_reported(process, shell, here):
    for line in cases(
        [
            *("--help", "--version", "ls --help", "ls map.xml"),
            *("ls map.xml -f csv", "ls map.xml -f parquet"),
        ]
    ):
        with open("/dev/full", "wb") as full:  # noqa: PTH123
            ended = process(*line.split(), stdout=full, cwd=here)
            assert ended.returncode == 1
            assert ended.stderr.endswith(b"No space left on device\n")
            assert len(ended.stderr.splitlines()) == 1
            if "parquet" not in line:
                assert ended.stderr == b"usp: No space left on device\n"
