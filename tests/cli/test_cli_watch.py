"""``usp watch``: lines as pages appear, a command per batch, and a clean end."""

from __future__ import annotations

import json

import pytest

from website import Answer, index, urlset


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
    assert failed.status == 0
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
    website.answers["/map.xml"] = Answer(status=500)
    assert watch("--strict").status == 3
    website.answers["/map.xml"] = index("/a.xml", "/b.xml")
    website.answers["/b.xml"] = urlset("/3")
    assert watch("--strict").status == 0
    website.answers["/a.xml"] = Answer(status=404)
    assert watch("--strict", "--rounds", "2").status == 3
    assert watch("--rounds", "2").status == 0
    website.answers["/a.xml"] = urlset("/1", "/2")
    ended = watch("--strict")
    assert (ended.status, ended.lines) == (0, [f"+ {website.url('/2')}"])
