"""Limits on the command line, and what a command says of what is missing."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from usp.cli.option_values import read_limits
from usp.limits import DEFAULT, Limits
from website import index, urlset

USP = [sys.executable, "-m", "usp.cli"]
PAGES = [f"{{site}}/{number:02}" for number in range(10)]


@pytest.fixture(autouse=True)
def _quick():
    """Repeats do not take long here."""


def whole(serve):
    return serve({"/robots.txt": "Sitemap: {site}/s.xml", "/s.xml": urlset(*PAGES)})


# How it ends --------------------------------------------------------------------------------------


def test_a_complete_site_ends_with_0_and_says_nothing(serve, run):
    ended = run("ls", whole(serve), "-f", "pages")
    assert (ended.status, ended.err) == (0, "")
    assert len(ended.lines) == 10


def test_a_hole_is_named(serve, run):
    site = serve(
        {"/robots.txt": "Sitemap: {site}/i.xml", "/i.xml": index("/a.xml", "/b.xml")}
        | {"/a.xml": urlset("/a")}
    )
    ended = run("ls", site, "-f", "pages")
    assert ended.status == 0
    assert ended.lines == [f"{site}/a"]
    assert "incomplete" in ended.err
    assert f"{site}/b.xml: " in ended.err
    assert "404" in ended.err
    assert "more" not in ended.err


def test_a_site_without_sitemaps_is_complete(serve, run):
    assert run("ls", serve({}), "-f", "pages").status == 0


def test_one_sitemap_that_breaks_off_is_incomplete(serve, run):
    text = urlset("/a", "/b")
    site = serve({"/s.xml": text[: text.rindex("</url>") + 6]})
    ended = run("ls", site + "/s.xml", "-f", "pages")
    assert ended.lines == [f"{site}/a", f"{site}/b"]
    assert ended.status == 0
    assert "incomplete" in ended.err


def test_an_index_whose_children_are_all_gone_does_not_end_with_0(serve, run):
    site = serve({"/i.xml": index("/a.xml")})
    assert run("ls", site + "/i.xml").status == 1


def test_failures_for_one_reason_share_a_line_if_they_are_many(serve, run):
    for missing in (1, 3, 4, 40):
        names = [f"{{site}}/{number}.xml" for number in range(missing)]
        site = serve({"/s.xml": index("/ok.xml", *names), "/ok.xml": urlset("/p")})
        lines = run("ls", site + "/s.xml").err.splitlines()
        if missing == 1:
            assert lines == [f"usp: incomplete: {site}/0.xml: 404 Not Found"]
        elif missing == 3:
            assert lines == [
                "usp: incomplete: 3 sitemaps missing or incomplete",
                *(f"  {site}/{number}.xml: 404 Not Found" for number in range(3)),
            ]
        else:
            assert lines == [
                f"usp: incomplete: {missing} sitemaps: 404 Not Found, for example {site}/0.xml"
            ]


def test_at_most_five_lines_tell_of_failures(serve, run):
    names = [f"/{number}.xml" for number in range(8)]
    files = {name: f"<!DOCTYPE x [<!ENTITY a 'b'>]><r{name[1]}/>" for name in names[:2]}
    files |= {name: f"<root{number}/>" for number, name in enumerate(names[2:])}
    listed = [f"{{site}}{name}" for name in names]
    site = serve({"/s.xml": index("/ok.xml", *listed), "/ok.xml": urlset("/p"), **files})
    lines = run("ls", site + "/s.xml").err.splitlines()
    assert lines[0] == "usp: incomplete: 8 sitemaps missing or incomplete"
    assert lines[-1] == "  and 2 more; --json lists them all"  # the two alike share a line
    assert len(lines) == 1 + 5 + 1


def test_what_is_told_does_not_steer_the_terminal(serve, run):
    site = serve(
        {
            "/robots.txt": "Sitemap: {site}/ok.xml\nSitemap: {site}/\x1b[31mred\x07\u202e.xml\n",
            "/ok.xml": urlset("/p"),
        }
    )
    ended = run("ls", site, "-k")
    assert ended.status == 0
    assert "red" in ended.err
    for text in (ended.err, ended.out):
        assert all(char.isprintable() or char in "\n\t" for char in text)


# Setting limits -----------------------------------------------------------------------------------


def test_limits_are_read_with_units(subtests):
    for text, limits in [
        ("pages=1000", Limits(pages=1000)),
        ("pages=1k", Limits(pages=1000)),
        ("pages = 7", Limits(pages=7)),
        ("depth=none", Limits(depth=None)),
        ("depth=None", Limits(depth=None)),
        ("document_bytes=10MB", Limits(document_bytes=10_000_000)),
        ("document_bytes=10mb", Limits(document_bytes=10_000_000)),
        ("document_bytes=10 MiB", Limits(document_bytes=10 * 1024 * 1024)),
        ("document-bytes=1.5KiB", Limits(document_bytes=1536)),
        ("unpacked_bytes=2GiB", Limits(unpacked_bytes=2 << 30)),
        ("spool_bytes=3G", Limits(spool_bytes=3_000_000_000)),
        ("seconds=90", Limits(seconds=90)),
        ("seconds=1.5min", Limits(seconds=90)),
        ("seconds=2h", Limits(seconds=7200)),
        ("document_seconds=0.5s", Limits(document_seconds=0.5)),
        ("ratio=12.5", Limits(ratio=12.5)),
        ("lowest_rate=0", Limits(lowest_rate=0)),
        ("redirects=0", Limits(redirects=0)),
    ]:
        with subtests.test(text=text, limits=limits):
            assert read_limits((text,)) == limits


def test_several_limits_and_none():
    assert read_limits(()) == DEFAULT
    assert read_limits(("pages=5", "depth=2")) == Limits(pages=5, depth=2)
    assert read_limits(("pages=5", "pages=6")) == Limits(pages=6)


def test_whole_numbers_stay_whole():
    limits = read_limits(("pages=5k", "document_bytes=1.5kib", "sitemaps=1e0".replace("e0", "")))
    assert {type(value) for value in (limits.pages, limits.document_bytes)} == {int}


def test_a_limit_that_is_reached_says_how_to_raise_it(serve, run):
    site = whole(serve)
    ended = run("ls", site, "-f", "pages", "--max", "pages=3")
    assert ended.status == 0
    assert ended.lines == [f"{site}/{number:02}" for number in range(3)]
    assert "--max pages=" in ended.err
    for value in ("10", "none"):
        ended = run("ls", site, "-f", "pages", "--max", f"pages={value}")
        assert (ended.status, len(ended.lines)) == (0, 10)


def test_limits_reach_the_crawl(serve, run, subtests):
    for limit in ["document_bytes=300", "unpacked_bytes=300", "depth=0", "sitemaps=1", "seconds=0"]:
        with subtests.test(limit=limit):
            site = serve(
                {"/robots.txt": "Sitemap: {site}/i.xml", "/i.xml": index("/s.xml")}
                | {"/s.xml": urlset(*PAGES)}
            )
            assert run("ls", site, "-k", "-f", "pages", "--strict").status == 0
            ended = run("ls", site, "-k", "-f", "pages", "--strict", "--max", limit)
            assert ended.status in (1, 3)
            assert len(ended.lines) < 10
            assert f"--max {limit.partition('=')[0]}=" in ended.err


def test_the_limits_of_one_sitemap(serve, run):
    site = whole(serve)
    ended = run("ls", site + "/s.xml", "-f", "pages", "--max", "pages=3")
    assert len(ended.lines) == 3
    assert "--max pages=" in ended.err
    assert ended.status == 0


def test_the_pause_that_robots_txt_asks_for_is_kept(serve, run):
    site = serve(
        {"/robots.txt": "Sitemap: {site}/a.xml\nSitemap: {site}/b.xml\nCrawl-delay: 0.3\n"}
        | {"/a.xml": urlset("/a"), "/b.xml": urlset("/b")}
    )
    started = time.monotonic()
    assert run("ls", site, "-k", "-f", "pages", "--crawl-delay").lines == [f"{site}/a", f"{site}/b"]
    assert time.monotonic() - started > 0.3


# Ctrl-C -------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send")
@pytest.mark.parametrize("keep", [True, False])
def test_ctrl_c_with_and_without_keeping_what_was_found(serve, monkeypatch, keep, times):
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.delenv("COV_CORE_SOURCE", raising=False)
    asked, gate = threading.Event(), threading.Event()

    def slow():
        asked.set()
        gate.wait(120)

    site = serve(
        {"/robots.txt": "Sitemap: {site}/a.xml\nSitemap: {site}/b.xml"}
        | {"/a.xml": urlset("/a"), "/b.xml": slow}
    )
    options = ["--keep-partial"] if keep else []
    with subprocess.Popen(
        [*USP, "ls", site, "-f", "pages", "-k", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert asked.wait(120)
        time.sleep(0.2 * times)  # /a.xml, which was asked for together with it, comes
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    gate.set()
    assert "Traceback" not in err
    if keep:
        assert (process.returncode, out) == (0, f"{site}/a\n")
        assert f"{site}/b.xml: " in err
        assert "interrupted" in err
    else:
        assert (process.returncode, err) == (130, "usp: interrupted\n")
        assert out in ("", f"{site}/a\n")  # pages are written as they are found
