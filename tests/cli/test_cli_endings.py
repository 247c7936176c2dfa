"""How commands end: statuses, pipes, full disks, closed streams; and what they say of themselves."""

import io
import os
import runpy
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import usp
from usp._base.display import printable
from usp.cli.output import write_lines
from website import robots, urlset

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a shell of Unix")


def test_version_and_help(run):
    for option in ("-v", "--version"):
        assert run(option).out == f"usp v{usp.__version__}\n"
    alone = run()
    assert alone.status == 0
    assert "Examples" in alone.out
    assert run("--help").out == run("-h").out
    for command in ("ls", "demo"):
        assert command in alone.out
        ended = run(command, "--help")
        assert ended.status == 0
        assert f"usp {command}" in ended.out
    for option in ("--format", "--no-robots", "--no-known", "--strip-url", "--verbose"):
        assert option in run("ls", "-h").out


def test_the_module_can_be_run(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["usp", "--version"])
    for module in ("usp", "usp.cli"):
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(module, run_name="__main__")
        assert ended.value.code == 0
        assert "usp v" in capsys.readouterr().out


def test_a_closed_pipe_in_this_process(serve, run, monkeypatch):
    pages = [f"/page/{number}" for number in range(20_000)]  # more than a pipe holds
    large = serve({"/robots.txt": robots("/s.xml"), "/s.xml": urlset(*pages)})
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        ended = run("ls", large)
    assert (ended.status, ended.err) == (0, "")


def test_an_interrupt_ends_with_130_and_one_line(run, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("usp._inputs.crawl_with", interrupted)
    ended = run("ls", "example.org")
    assert (ended.status, ended.out, ended.err) == (130, "", "usp: interrupted\n")


@pytest.fixture
def shell(put, here):
    """Run a line of the shell in which ``usp`` is the command, in a folder with sitemaps."""
    put({"map.xml": urlset("https://h.example/1"), "new.xml": urlset("https://h.example/2")})
    put(
        {
            "words.xml": urlset(
                "https://h.example/café", "https://h.example/plain", "https://h.example/茶"
            )
        }
    )

    def _shell(line: str, **more: str) -> tuple[int, bytes, bytes]:
        line = line.replace("usp", f"'{sys.executable}' -m usp.cli")
        told = {"cwd": here, "env": {**os.environ, **more}, "capture_output": True}
        done = subprocess.run(["/bin/sh", "-c", line], check=False, **told)
        return done.returncode, done.stdout, done.stderr

    return _shell


def test_what_the_terminal_cannot_show_is_percent_encoded(shell, subtests):
    for encoding, word in [("ascii", "caf%C3%A9"), ("latin-1", "café")]:
        with subtests.test(encoding=encoding):
            status, out, _ = shell("usp ls words.xml -f pages", PYTHONIOENCODING=encoding)
            shown = [line.rpartition("/")[2] for line in out.decode(encoding).split()]
            assert (status, shown) == (0, [word, "plain", "%E8%8C%B6"])


def test_any_line_can_be_written_in_any_encoding(subtests):
    for encoding in ["ascii", "cp1252", "utf-8"]:
        with subtests.test(encoding=encoding):
            written = io.BytesIO()
            with io.TextIOWrapper(written, encoding=encoding, newline="\n") as stream:
                write_lines(["\thttp://x/plain", "\thttp://x/茶?a=b&c=%20"], stream)
                stream.flush()
                first, second, _ = written.getvalue().decode(encoding).split("\n")
            assert first == "\thttp://x/plain"
            assert unquote(second, errors="strict") == "\thttp://x/茶?a=b&c= "
            assert "&c=%20" in second


@given(st.text())
def test_printable_text_has_only_what_has_a_shape(text):
    shown = printable(text)
    assert shown.isprintable()
    assert shown == text or not text.isprintable()


def test_the_library_does_not_need_the_command_line():
    code = (
        "import sys, usp.tree, usp.fetch_parse, usp.web_client.requests_client, usp._demo\n"
        "sys.exit(bool({'click', 'rich', 'rich_click'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_closed_streams_are_reported_if_they_matter(shell, subtests):
    for line, status in [
        ("ls map.xml -f pages", 1),
        ("tree map.xml", 1),
        ("diff map.xml new.xml", 2),
        ("--help", 1),
    ]:
        with subtests.test(line=line, status=status):
            assert shell(f"usp {line} >&-") == (status, b"", b"usp: Bad file descriptor\n")
    ended = shell("usp ls map.xml -f pages <&- 2>&-")
    assert ended == (0, b"https://h.example/1\n", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_reported(process, shell, here, subtests):
    for line in [
        *("--help", "--version", "ls --help", "ls map.xml"),
        *("ls map.xml -f csv", "ls map.xml -f parquet"),
    ]:
        with subtests.test(line=line), open("/dev/full", "wb") as full:  # noqa: PTH123
            ended = process(*line.split(), stdout=full, cwd=here)
            assert ended.returncode == 1
            assert ended.stderr.endswith(b"No space left on device\n")
            assert len(ended.stderr.splitlines()) == 1
            if "parquet" not in line:
                assert ended.stderr == b"usp: No space left on device\n"
