"""How commands end: statuses, pipes, interrupts; and what they say of themselves."""

import io
import os
import runpy
import signal
import subprocess
import sys
import threading
from urllib.parse import unquote

import pytest
from cli_documents import urlset
from hypothesis import given
from hypothesis import strategies as st

import usp
from quick_usp import usp_command
from usp._base.safe_text import printable
from usp.cli.output import write_lines

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


@pytest.mark.parametrize(
    "argv", [["ls"], ["nothing"], ["--nothing"], ["ls", "x.org", "-f", "no"], ["ls", "a.b", "c.d"]]
)
def test_a_wrong_call_is_told_in_two_lines(run, argv):
    ended = run(*argv)
    assert (ended.status, ended.out) == (2, "")
    lines = ended.err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("usp")
    assert "--help" in lines[1]


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


def test_a_reader_that_has_seen_enough_ends_it_quietly(large, environment):
    with subprocess.Popen(
        [*usp_command(), "ls", large, "-f", "pages"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == f"{large}/page/0\n".encode()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(120) == 0


def test_a_closed_pipe_in_this_process(large, run, monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        ended = run("ls", large)
    assert (ended.status, ended.err) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_a_full_disk_is_told_in_a_line(large, run, monkeypatch):
    with open("/dev/full", "w", encoding="utf-8") as stdout:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdout", stdout)
        ended = run("ls", large)
    assert ended.status == 1
    assert ended.err.startswith("usp: ")
    assert len(ended.err.splitlines()) == 1


def test_an_interrupt_ends_with_130_and_one_line(run, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("usp.cli.crawling.crawl_with", interrupted)
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


@pytest.mark.parametrize(("encoding", "shown"), [("ascii", "caf%C3%A9"), ("latin-1", "café")])
def test_what_the_terminal_cannot_show_is_percent_encoded(serve, monkeypatch, encoding, shown):
    site = serve({"/sitemap.xml": urlset("{site}/café", "{site}/plain", "{site}/茶")})
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    monkeypatch.setenv("NO_PROXY", "*")
    ended = subprocess.run([*USP, "ls", site, "-f", "pages", "-u"], capture_output=True, check=True)
    assert ended.stdout.decode(encoding).split() == [f"/{shown}", "/plain", "/%E8%8C%B6"]


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_any_line_can_be_written_in_any_encoding(encoding):
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
