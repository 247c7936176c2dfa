"""How commands end: statuses, pipes, interrupts; and what they say of themselves."""

import io
import os
import runpy
import signal
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import usp
from usp._base.safe_text import printable
from usp.cli.output import write_lines
from website import urlset

USP = [sys.executable, "-m", "usp.cli"]


@pytest.fixture
def environment(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.delenv("COV_CORE_SOURCE", raising=False)


@pytest.fixture
def large(serve):
    """A website of so many pages that no pipe holds them."""
    pages = [f"{{site}}/page/{number}" for number in range(20_000)]
    return serve({"/robots.txt": "Sitemap: {site}/s.xml", "/s.xml": urlset(*pages)})


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


def test_a_log_file_that_cannot_be_written_is_a_wrong_call(run, tmp_path):
    for place in (tmp_path, tmp_path / "no" / "where"):
        ended = run("ls", "example.org", "-l", str(place))
        assert (ended.status, ended.out) == (2, "")
        assert "--log-file" in ended.err


def test_the_module_can_be_run(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["usp", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("usp.cli", run_name="__main__")
    assert ended.value.code == 0
    assert "usp v" in capsys.readouterr().out


def test_a_closed_pipe_in_this_process(large, run, monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        ended = run("ls", large)
    assert (ended.status, ended.err) == (0, "")


def test_an_interrupt_ends_with_130_and_one_line(run, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("usp._inputs.sources.crawl_with", interrupted)
    ended = run("ls", "example.org")
    assert (ended.status, ended.out, ended.err) == (130, "", "usp: interrupted\n")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send")
def test_ctrl_c_while_a_server_does_not_answer(serve, environment):
    asked, ended = threading.Event(), threading.Event()

    def slow():
        asked.set()
        ended.wait(120)

    site = serve({"/robots.txt": slow})
    with subprocess.Popen(
        [*USP, "ls", site], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert asked.wait(120)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    ended.set()
    assert (process.returncode, out, err) == (130, b"", b"usp: interrupted\n")


def test_what_the_terminal_cannot_show_is_percent_encoded(serve, monkeypatch, subtests):
    for encoding, shown in [("ascii", "caf%C3%A9"), ("latin-1", "café")]:
        with subtests.test(encoding=encoding, shown=shown):
            site = serve({"/sitemap.xml": urlset("/café", "/plain", "/茶")})
            monkeypatch.setenv("PYTHONIOENCODING", encoding)
            monkeypatch.setenv("NO_PROXY", "*")
            ended = subprocess.run(
                [*USP, "ls", site, "-f", "pages", "-u"], capture_output=True, check=True
            )
            assert ended.stdout.decode(encoding).split() == [f"/{shown}", "/plain", "/%E8%8C%B6"]


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


SITEMAP = b"<urlset><url><loc>https://example.org/1</loc></url></urlset>"


@pytest.fixture
def shell(tmp_path):
    """Run a line of the shell in which ``usp`` is the command, in a folder with a sitemap."""
    (tmp_path / "map.xml").write_bytes(SITEMAP)
    (tmp_path / "new.xml").write_bytes(SITEMAP.replace(b"/1", b"/2"))

    def _shell(line: str) -> subprocess.CompletedProcess:
        line = line.replace("usp", f"'{sys.executable}' -m usp.cli")
        return subprocess.run(
            ["/bin/sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    return _shell


pytestmark = pytest.mark.skipif(os.name == "nt", reason="a shell of Unix")


def test_a_closed_standard_output_is_reported(shell, subtests):
    for line, status in [
        ("ls map.xml -f pages", 1),
        ("tree map.xml", 1),
        ("diff map.xml new.xml", 2),
        ("--help", 1),
    ]:
        with subtests.test(line=line, status=status):
            ended = shell(f"usp {line} >&-")
            assert (ended.returncode, ended.stderr) == (status, "usp: Bad file descriptor\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_reported(shell, subtests):
    for line in ["--help", "--version", "ls --help", "ls map.xml"]:
        with subtests.test(line=line):
            ended = shell(f"usp {line} > /dev/full")
            assert (ended.returncode, ended.stderr) == (1, "usp: No space left on device\n")


def test_closed_messages_and_input_change_nothing(shell):
    ended = shell("usp ls map.xml -f pages <&- 2>&-")
    assert (ended.returncode, ended.stdout) == (0, "https://example.org/1\n")
