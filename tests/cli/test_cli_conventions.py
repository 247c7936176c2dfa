"""What all commands share: options from files and the environment, errors as JSON, progress."""

from __future__ import annotations

import os

from usp import events
from usp.cli.progress_line import Progress


def test_options_come_from_a_file(run, site, here, put):
    for name, text in [
        ("usp.toml", 'user-agent = "from a file"\nmax = ["pages=2"]\n'),
        ("usp.toml", 'user_agent = "from a file"\n[ls]\nmax = ["pages=2"]\n'),
        ("pyproject.toml", '[tool.usp]\nuser-agent = "from a file"\nmax = ["pages=2"]\n'),
    ]:
        for old in here.glob("*.toml"):
            old.unlink()
        put({name: text, "below/it": ""})
        os.chdir(here / "below")
        ended = run("ls", site, "-f", "pages")
        assert len(ended.lines) == 2
        assert {one.headers["User-Agent"] for one in site.web.requests} == {"from a file"}


def test_the_environment_beats_the_file_and_the_command_line_beats_both(
    run, site, put, monkeypatch
):
    put({"usp.toml": 'user-agent = "file"\n'})
    monkeypatch.setenv("USP_USER_AGENT", "environment")
    run("ls", site)
    run("ls", site, "--user-agent", "command line")
    agents = [request.headers["User-Agent"] for request in site.web.requests]
    assert list(dict.fromkeys(agents)) == ["environment", "command line"]


def test_headers_are_sent_and_a_proxy_is_asked(run, site):
    run("ls", site, "-H", "Accept-Language: de", "-H", "X-One:1")
    sent = [request.headers for request in site.web.requests]
    assert {(one["Accept-Language"], one["X-One"]) for one in sent} == {("de", "1")}
    assert run("ls", site, "--proxy", "http://127.0.0.1:1").status == 1


def test_progress_counts_what_happens():
    progress = Progress()
    for event in (
        events.SitemapFound("http://h/a", None, 0),
        events.SitemapFound("http://h/b", None, 0),
        events.SitemapFound("http://i/c", None, 0),
        events.SitemapStarted("http://h/a", 1),
        events.SitemapStarted("http://i/c", 1),
        events.SitemapReceived("http://h/a", "http://h/a", 1_500_000, 0.1),
        events.SitemapFinished("http://h/a", "PagesXMLSitemap"),
        events.SitemapFailed("http://h/b", "gone", 0),
    ):
        progress(event)
    assert list(progress.counted(range(2500))) == list(range(2500))
    line = progress.line()
    assert line.startswith("2 of 3 addresses, 1 sitemap · 2,500 pages · 1.4 MiB, ")
    assert line.endswith(" · i")
