"""``usp watch``: lines as pages appear, a command per batch, and a clean end."""

import json
import re
import time
from contextlib import closing

import pytest

import usp
from terminals import run_on_terminal, shown
from usp.cli.commands import cmd_watch
from website import Answer, Site, index, rss, urlset


@pytest.fixture
def website(serve):
    return serve({"/map.xml": index("/a.xml"), "/a.xml": urlset("/1")}).web


@pytest.fixture
def watch(run, website, tmp_path):
    path = tmp_path / "site.warc.gz"

    def _watch(*options: str):
        given = ["--snapshot", str(path), "--every", "0.01s", "--rounds", "1", *options]
        return run("watch", website.url("/map.xml"), *given)

    return _watch


def test_the_sign_of_life_has_its_times_before_a_long_url():
    watcher = cmd_watch._Watcher("https://example.org/" + "x" * 99, 9, *[None] * 7)
    watcher.ended = time.monotonic()
    assert "0 rounds · 0:00 since the last, every 9" in watcher.line()[:79]


def test_on_a_terminal_every_line_says_when(website):
    given = ["--every", "0.01s", "--rounds", "1", "--existing", "--allow-network", "any"]
    website.answers["/map.xml"] = index("/a.xml", "/gone.xml")
    ran = run_on_terminal("watch", website.url("/map.xml"), *given, stdout="terminal")
    lines = shown(ran.screen)
    assert [line[9:].partition(":")[0] for line in lines] == ["usp", "usp", "+ http", "usp"]
    assert all(re.match(r"\d\d:\d\d:\d\d ", line) for line in lines)


def test_new_pages_are_lines_or_json_lines(watch, website):
    first = watch()
    assert (first.status, first.out) == (0, "")
    assert "watching" in first.err
    website.answers["/a.xml"] = urlset("/1", "/2")
    ended = watch("--rounds", "2")
    assert ended.lines == [f"+ {website.url('/2')}"]
    assert ended.err == "usp: stopped: 1 change in 2 rounds\n"
    website.answers["/a.xml"] = urlset("/1", "/2", "/3")
    (line,) = watch("--jsonl").lines
    change = json.loads(line)
    assert (change["change"], change["url"]) == ("added", website.url("/3"))
    assert change["seen"].endswith("Z")


def test_a_command_gets_each_batch_and_again_if_it_fails(watch, website, tmp_path):
    watch()
    website.answers["/a.xml"] = urlset("/1", "/2", "/3")
    out = tmp_path / "got"
    failed = watch("--exec", "exit 7")
    assert "status 7" in failed.err
    assert "stopped: 0 changes in 1 round" in failed.err
    assert failed.status == 1
    watch("--exec", f"cat >> {out}", "--rounds", "3")
    got = [json.loads(line)["url"] for line in out.read_text().splitlines()]
    assert got == [website.url("/2"), website.url("/3")]


def test_failures_are_told_once(watch, website):
    watch()
    website.answers["/a.xml"] = Answer(status=404)
    ended = watch("--rounds", "3")
    assert ended.status == 1  # nothing else is left
    assert ended.err.count("/a.xml") == ended.err.count("1 of 1 page ") == 1
    assert ended.out == ""


def test_strict_ends_with_3_if_the_last_round_is_incomplete_or_nothing_could_be_read(
    watch, website
):
    website.answers["/map.xml"] = Answer(status=403)
    ended = watch("--strict")
    assert (ended.status, "robots (try --user-agent NAME, " in ended.err) == (3, True)
    website.answers["/map.xml"] = index("/a.xml", "/b.xml")
    website.answers["/b.xml"] = urlset("/3")
    assert watch("--strict").status == 0
    website.answers["/a.xml"] = Answer(status=404)
    assert watch("--strict", "--rounds", "2").status == 3
    assert watch("--rounds", "2").status == 0
    website.answers["/a.xml"] = urlset("/1", "/2")
    ended = watch("--strict")
    assert (ended.status, ended.lines) == (0, [f"+ {website.url('/2')}"])


def test_removed_pages_are_shown_if_asked_for_and_a_feed_has_the_latest(watch, website, tmp_path):
    feed = tmp_path / "new.xml"
    watch("--feed", str(feed))
    assert usp.sitemap_from_file(feed).page_count() == 0
    website.answers["/a.xml"] = urlset("/2?a&b")
    ended = watch("--removed", "--feed", str(feed))
    assert ended.lines == [f"+ {website.url('/2?a&b')}", f"- {website.url('/1')}"]
    website.answers["/a.xml"] = urlset("/2?a&b", *(f"/more/{n}" for n in range(99)))
    watch("--feed", str(feed))
    listed = [page.url for page in usp.sitemap_from_file(feed).all_pages()]
    assert listed == [website.url(f"/more/{n}") for n in reversed(range(99))] + [website.url("/1")]


@pytest.mark.parametrize(
    ("statuses", "sent"),
    [([503, 200], [2, 2]), ([400, 200], [2, 2]), ([302, 200], [2, 2]), ([200], [2])],
)
def test_an_address_gets_each_batch_again_until_it_takes_it(watch, website, statuses, sent):
    watch()
    website.answers["/a.xml"] = urlset("/1", "/2", "/3")
    with Site({"/hook?token=secret": [Answer(status=one) for one in statuses]}) as receiver:
        ended = watch("--post", receiver.url("/hook?token=secret"), "--rounds", "3")
        got = [json.loads(one.body)["changes"] for one in receiver.requests]
    assert (ended.status, ended.out, [len(one) for one in got]) == (0, "", sent)
    assert [one["url"] for one in got[-1]] == [website.url("/2"), website.url("/3")]
    assert ("batch will be retried" in ended.err) == (statuses[0] in (302, 400))
    assert "secret" not in ended.err
    assert "2 changes in 3 rounds" in ended.err
    assert receiver.requests[0].headers["User-Agent"].startswith("ultimate_sitemap_parser/")


def test_no_command_and_no_snapshot_of_ours_are_refused(watch, website, tmp_path):
    watch()
    website.answers["/a.xml"] = urlset("/1", "/2")
    assert [watch("--exec", command).status for command in ("", " ")] == [2, 2]
    assert watch().lines == [f"+ {website.url('/2')}"]
    (tmp_path / "site.warc.gz").write_text("hello")
    ended = watch()
    assert (ended.status, "site.warc.gz is not a snapshot that usp" in ended.err) == (1, True)


def test_one_way_for_changes_one_watch_for_a_snapshot_and_none_needed(
    watch, website, run, tmp_path
):
    assert watch("--exec", "true", "--post", website.url("/")).status == 2
    assert watch("--post", "file:///etc").status == 2
    (tmp_path / ".site.warc.gz.lock").touch()  # of a process that was killed
    with closing(usp.watch(website.url("/map.xml"), tmp_path / "site.warc.gz")) as other:
        next(other)
        ended = watch()
        assert (ended.status, "in use by another watch" in ended.err) == (1, True)
    assert watch().status == 0
    assert [one.name for one in tmp_path.iterdir()] == ["site.warc.gz"]
    ended = run("watch", website.url("/map.xml"), "--rounds", "2", "--every", "0.01s")
    assert ended.err.endswith("stopped: 0 changes in 2 rounds\n")


def test_the_feeds_of_an_opml_file_are_watched_one_after_another(run, serve, tmp_path):
    site = serve({"/a.xml": rss("/1"), "/b.xml": rss("/2"), "/c.xml": rss("/3")}).web
    feeds = tmp_path / "feeds.opml"

    def watch(*paths):
        outlines = "".join(f'<outline xmlUrl="{site.url(path)}"/>' for path in paths)
        feeds.write_text(f"<opml><body>{outlines}</body></opml>")
        options = ("--snapshot", str(tmp_path / "states"), "--rounds", "1", "--every", "0.01s")
        return run("watch", str(feeds), *options, "--allow-network", "127.0.0.0/8")

    first = watch("/a.xml", "/b.xml")
    assert (first.status, first.out) == (0, "")
    assert f"watching {site.url('/b.xml')}" in first.err
    site.answers |= {"/a.xml": None, "/b.xml": rss("/2", "/4")}
    later = watch("/a.xml", "/b.xml", "/c.xml")
    assert later.lines == [f"+ {site.url('/4')}  t"]
    assert site.url("/a.xml") in later.err
    assert "stopped: 1 change in 3 rounds" in later.err
    assert len(list((tmp_path / "states").glob("*.warc.gz"))) == 3
    feeds.write_text("<opml/>")
    assert run("watch", str(feeds)).status == 2
