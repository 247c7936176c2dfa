"""What all commands share: options from files and the environment, errors as JSON, progress."""

from __future__ import annotations

import json
import os

import usp
from usp import events
from usp._base.progress_line import Progress
from website import Answer, urlset


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


def test_progress_says_what_it_waits_for(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("usp._base.progress_line.time.monotonic", lambda: now[0])
    progress = Progress("--timeout 5")
    progress(events.SitemapStarted("http://h/2024/05.xml", 1))
    progress(events.SitemapRetrying("http://h/2024/05.xml", 2, 5, 4.2, None))
    assert progress.line().startswith("retrying /2024/05.xml, attempt 2 of 5, in 4 s · 0 of 0")
    progress(events.SitemapRetrying("http://h/2024/05.xml", 3, 5, 9.0, 9.0))
    assert progress.line().startswith(
        "retrying /2024/05.xml, attempt 3 of 5, in 9 s (Retry-After) ·"
    )
    progress(events.SitemapStarted("http://h/2024/05.xml", 3))
    assert progress.line().startswith("0 of 0")
    now[0] += 12
    assert progress.line().startswith("waiting for h for 12 s (shorter: --timeout 5) · 0 of 0")
    read = progress.reading(20)
    for _ in range(12):
        read()
    assert progress.line() == "reading 12 of 20 sitemaps · 0:12"
    progress.checked(1000)
    assert progress.line() == "checking · 1,000 pages · 0:12"


def test_a_request_that_is_repeated_is_an_event(serve):
    busy = Answer(status=503, headers={"Retry-After": "1"})
    site = serve({"/a.xml": [busy, urlset("/1")]})
    seen = []
    usp.sitemap_tree_for_sitemap(f"{site}/a.xml", on_event=seen.append)
    (event,) = (one for one in seen if isinstance(one, events.SitemapRetrying))
    assert (event.attempt, event.attempts, event.retry_after) == (2, 5, 1.0)
    assert event.seconds >= 1.0


# One name for one thing ---------------------------------------------------------------------------


def test_a_website_or_a_file_alone_is_shown_as_a_tree(run, site, put, stdin):
    put({"a.xml": urlset("http://h/1"), "maps/b.xml": urlset("http://h/2")})
    for start in (site, f"{site}/main.xml", "a.xml", "maps"):
        assert run(start, "-k").out == run("tree", start, "-k").out != ""
    stdin(urlset("http://h/1"))
    assert "1 page in 1 sitemap" in run("-").out
    put({"ls": urlset("http://h/1")})
    assert "Missing argument 'URL'" in run("ls").err  # a command before a file of its name


def test_the_names_of_earlier_versions_go_on_working_and_no_help_lists_them(run, site, put, here):
    put({"sites.txt": f"{site}\n", "a.xml": urlset("http://h/1"), "b.xml": urlset("http://h/2")})
    fleet = ["crawl", "sites.txt", "--allow-network", "any", "--workers", "1", "-q"]
    for old, new in [
        (["tree", site, "--depth", "1"], ["tree", site, "--levels", "1"]),
        (["graph", site], ["tree", site, "-f", "dot"]),
        (["graph", site, "-f", "mermaid"], ["tree", site, "-f", "mermaid"]),
        (["ls", site, "-f", "sitemaps"], ["ls", site, "--sitemaps"]),
        (["rule", "--all"], ["rule"]),
        (["rule", "--all", "-f", "json"], ["rule", "--json"]),
        (["ls", site, "-f", "csv", "--json"], ["ls", site, "-f", "csv", "--log-format", "json"]),
        (["report", site, "-o-", "--all-problems"], ["report", site, "-o-", "--problems"]),
        ([*fleet, "-o", "d", "--per-host", "0"], [*fleet, "-o", "e", "--concurrency", "0"]),
        ([*fleet, "--in-flight", "0"], [*fleet, "--sites-per-worker", "0"]),
        ([*fleet, "--together", "0"], [*fleet, "--sites-per-host", "0"]),
    ]:
        was, now = run(*old), run(*new)
        assert (was.status, was.lines[:30], len(was.err)) == (
            now.status,
            now.lines[:30],
            len(now.err),
        )
        hidden = {word for word in old if word.startswith("--")} - {*new, "--json"}
        assert not any(f" {name} " in run(old[0], "--help-all").out for name in hidden)
    assert run(*fleet, "-o", "d", "--per-host", "2", "--site-seconds", "60").status == 0
    run("ls", site, "--depth", "1").ends(2, "No such option '--depth'")  # and not a new one
    put({"usp.toml": "[tree]\ndepth = 1\n[graph]\nsiblings = 1\n[watch]\njsonl = true\n"})
    assert run("tree", site).out == run("tree", site, "--levels", "1").out
    assert run("graph", site).out == run("tree", site, "-f", "dot", "--siblings", "1").out
    watched = ["watch", f"{site}/a.xml", "--snapshot", "s.warc.gz", "--rounds", "1", "--existing"]
    assert json.loads(run(*watched).lines[0])["change"] == "added"


def test_json_alone_is_the_format_of_results(run, site, put, here):
    put({"a.xml": urlset("http://h/1"), "b.xml": urlset("http://h/2")})
    for argv in [["ls", site], ["ls", site, "--sitemaps"], ["tree", site], ["rule", "SM4"]]:
        told = run(*argv, "--json")
        assert json.loads(told.out)
        assert not told.err.startswith("{")
        assert told.out == run(*argv, "-f", "json").out
    assert json.loads(run("diff", "a.xml", "b.xml", "--json").out)["counts"]
    assert "findings" in json.loads(run("check", "a.xml", "--json").out)
    assert json.loads(run("report", site, "-o", "r.html", "--json").err)["error"] == "incomplete"


def test_every_command_that_writes_results_says_what_it_wrote_to_which_file(run, site, put, here):
    put({"a.xml": urlset("http://h/1"), "b.xml": urlset("http://h/2", "http://h/3")})
    for argv, name, told in [
        (["ls", "b.xml"], "p.csv", "2 pages"),
        (["ls", "b.xml"], "p.txt.gz", "2 pages"),
        (["ls", site, "--limit", "1"], "p.jsonl", "1 page"),
        (["ls", "b.xml", "--sitemaps"], "s.json", "1 sitemap"),
        (["ls", "b.xml", "-f", "tabtree"], "t", "3 lines"),
        (["tree", "b.xml"], "t.txt", "1 sitemap"),
        (["tree", "b.xml"], "t.json", "1 sitemap"),
        (["tree", "b.xml"], "t.mmd", "1 sitemap"),
        (["diff", "a.xml", "b.xml"], "d.csv", "3 changes"),
        (["rule", "SM401"], "r.json", "1 rule"),
    ]:
        before = run(*argv, "-q", "-o", f"quiet-{name}")
        assert before.err in ("", "usp: 1 added\n") or "wrote" not in before.err
        told_now = run(*argv, "-o", name)
        assert f"usp: wrote {told} to {name}\n" in told_now.err
        assert (here / name).read_bytes()
        assert told_now.out == ""
    assert run("tree", "b.xml").out == (here / "t.txt").read_text()


def test_site_is_for_archives_only(run, site, put):
    put({"a.xml": urlset("http://h/1")})
    for argv in (["ls", site], ["tree", "a.xml"], ["diff", "a.xml", "-"], ["check", ".", site]):
        run(*argv, "--site", "http://h/").ends(2, "--site chooses a website in a WARC", out="")
