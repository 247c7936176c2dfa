"""What all commands share: options from files and the environment, errors as JSON, progress."""

from __future__ import annotations

import json
import os
import subprocess
import time
from datetime import UTC, datetime, timedelta

import pytest

from quick_usp import usp_command
from usp.cli.progress_line import Progress
from usp.events import (
    SitemapFailed,
    SitemapFinished,
    SitemapFound,
    SitemapReceived,
    SitemapStarted,
)
from website import urlset


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_options_come_from_a_file(run, site, here, subtests):
    for name, text in [
        ("usp.toml", 'user-agent = "from a file"\nmax = ["pages=2"]\n'),
        ("usp.toml", 'user_agent = "from a file"\n[ls]\nmax = ["pages=2"]\n'),
        ("pyproject.toml", '[tool.usp]\nuser-agent = "from a file"\nmax = ["pages=2"]\n'),
    ]:
        with subtests.test(name=name, text=text):
            os.chdir(here)
            for old in here.glob("*.toml"):
                old.unlink()
            (here / name).write_text(text)
            folder = here / "below"
            folder.mkdir(exist_ok=True)
            os.chdir(folder)
            ended = run("ls", site, "-f", "pages")
            assert len(ended.lines) == 2
            assert {request.headers["User-Agent"] for request in site.web.requests} == {
                "from a file"
            }


def test_the_environment_beats_the_file_and_the_command_line_beats_both(
    run, site, here, monkeypatch
):
    (here / "usp.toml").write_text('user-agent = "file"\n')
    monkeypatch.setenv("USP_USER_AGENT", "environment")
    run("ls", site)
    run("ls", site, "--user-agent", "command line")
    agents = [request.headers["User-Agent"] for request in site.web.requests]
    assert list(dict.fromkeys(agents)) == ["environment", "command line"]


def test_a_file_that_is_wrong_is_named(run, site, here, subtests):
    for text, word in [
        ("nonsense = 1\n", "no command has an option --nonsense"),
        ("[ls]\nsiblings = 1\n", "usp ls has no option --siblings"),
        ("a = ", "cannot read "),
    ]:
        with subtests.test(text=text, word=word):
            (here / "usp.toml").write_text(text)
            ended = run("ls", site)
            assert (ended.status, ended.out) == (2, "")
            assert word in ended.err
            assert "usp.toml" in ended.err


def test_a_pyproject_of_somebody_else_is_left_alone(run, site, here):
    (here / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert run("ls", site, "-f", "pages").lines
    (here / "pyproject.toml").write_text("broken = ")
    assert run("ls", site, "-f", "pages").lines


def test_errors_can_be_json(run, site):
    told = json.loads(run("ls", site, "--json", "--strict", "-f", "pages").err.splitlines()[-1])
    assert (told["error"], told["status"]) == ("incomplete", 3)
    assert [failure["status"] for failure in told["failures"]] == [404]
    told = json.loads(run("--json", "ls", "no website").err)
    assert told["status"] == 2
    assert told["hint"] == "Try 'usp ls --help'."
    told = json.loads(run("ls", "--json", "http://127.0.0.1:1/sitemap.xml").err.splitlines()[-1])
    assert told["status"] == 1


def test_headers_are_sent(run, site):
    run("ls", site, "-H", "Accept-Language: de", "-H", "X-One:1")
    sent = [request.headers for request in site.web.requests]
    assert {(one["Accept-Language"], one["X-One"]) for one in sent} == {("de", "1")}


def test_a_proxy_that_is_not_there_is_a_failure(run, site):
    assert run("ls", site, "--proxy", "http://127.0.0.1:1").status == 1


def test_progress_counts_what_happens():
    progress = Progress()
    for event in (
        SitemapFound("http://h/a", None, 0),
        SitemapFound("http://h/b", None, 0),
        SitemapFound("http://i/c", None, 0),
        SitemapStarted("http://h/a", 1),
        SitemapStarted("http://i/c", 1),
        SitemapReceived("http://h/a", "http://h/a", 1_500_000, 0.1),
        SitemapFinished("http://h/a", "PagesXMLSitemap"),
        SitemapFailed("http://h/b", "gone", 0),
    ):
        progress(event)
    assert list(progress.counted(range(2500))) == list(range(2500))
    line = progress.line()
    assert line.startswith("2 of 3 addresses, 1 sitemap · 2,500 pages · 1.4 MiB, ")
    assert line.endswith(" · i")


def test_progress_is_shown_on_a_terminal_and_nowhere_else(serve, tmp_path, times, subtests):
    for option, shown in [([], True), (["-q"], False)]:
        with subtests.test(option=option, shown=shown):

            def slowly():
                time.sleep(0.5 * times)
                return urlset("http://h/1")

            site = serve({"/sitemap.xml": slowly})
            command = [*usp_command(), "ls", site, "-f", "pages", *option]
            environment = {**os.environ, "NO_PROXY": "*", "TERM": "xterm", "COLUMNS": "100"}
            pty = pytest.importorskip("pty", reason="needs pseudo-terminals")
            ours, theirs = pty.openpty()
            with (tmp_path / "out").open("wb") as out:
                process = subprocess.Popen(command, stdout=out, stderr=theirs, env=environment)
                os.close(theirs)
                said = b""
                while chunk := _read(ours):
                    said += chunk
                process.wait()
            os.close(ours)
            assert (b"addresses" in said) == shown
            assert b"addresses" not in (tmp_path / "out").read_bytes()
            piped = subprocess.run(command, capture_output=True, env=environment, check=False)
            assert b"addresses" not in piped.stderr


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # the other end is closed
        return b""


def test_completion_knows_commands_and_options():
    environment = {**os.environ, "_USP_COMPLETE": "bash_complete", "COMP_WORDS": "usp tr"}
    environment["COMP_CWORD"] = "1"
    done = subprocess.run(usp_command(), capture_output=True, env=environment, check=False)
    assert b"plain,tree" in done.stdout


def test_dates_may_be_so_long_ago(run, here):
    now = datetime.now(UTC)
    entries = "".join(
        f"<url><loc>http://h/{hours}</loc><lastmod>{now - timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"
        "</lastmod></url>"
        for hours in (1, 20, 100, 400)
    )
    (here / "a.xml").write_text(f"<urlset>{entries}</urlset>")
    for ago, found in (("2h", 1), ("1d", 2), ("1w", 3), ("30D", 4), ("0h", 0)):
        assert len(run("ls", "a.xml", "-f", "pages", "--since", ago).lines) == found
    assert run("ls", "a.xml", "--since", "7y").status == 2


def test_help_is_enough_for_a_table_of_last_weeks_news(run, here):
    text = run("ls", "--help").out
    for word in ("--since", "csv", "--output", "Examples"):
        assert word in text
    (here / "a.xml").write_text(urlset("http://h/1"))
    assert run("ls", "a.xml", "-o", "out.csv").status == 0
    assert (here / "out.csv").read_text().splitlines()[1].startswith("http://h/1")
