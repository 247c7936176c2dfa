"""``--since``, ``--until`` and ``--dated`` mean the date of change, or else of publication."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from website import dated, index, robots, story, urlset

SKIPPED = "usp: 1 sitemap skipped by lastmod; --no-skip downloads all\n"


@pytest.fixture
def news(serve):
    yesterday = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    text = urlset(story("/2019", "2019-03-01"), story("/yesterday", yesterday), "/undated")
    return serve({"/robots.txt": robots("/news.xml"), "/news.xml": text})


def test_a_story_of_yesterday_is_of_the_last_week(run, news):
    for form in ["pages", "tabtree", "csv", "jsonl", "xml"]:
        for limit in [[], ["--limit", "10"]]:
            ended = run("ls", news, "-f", form, "--since", "7d", *limit).ends(0)
            assert "/yesterday" in ended.out
            assert "/2019" not in ended.out
            assert "/undated" in ended.out
            told = "usp: 1 page without a date kept; use --dated to leave them out\n"
            assert ended.err == told


def test_what_has_no_date_is_left_out_if_asked_and_told_only_if_it_was_kept(run, news):
    ended = run("ls", news, "-f", "pages", "-u", "--dated")
    assert (ended.lines, ended.err) == (["/2019", "/yesterday"], "")
    ended = run("ls", news, "-f", "pages", "-u", "--dated", "--since", "7d")
    assert (ended.lines, ended.err) == (["/yesterday"], "")
    for options in (["--since", "7d", "--exclude", "*/undated"], []):
        assert run("ls", news, "-f", "pages", *options).err == ""
    told = json.loads(run("ls", news, "-f", "pages", "--since", "7d", "--json").err)
    assert told["undated"] == 1


@pytest.fixture
def website(serve):
    children = {"/old.xml": "2020-01-01", "/new.xml": "2099-01-01"}
    documents = {
        "/index.xml": index(*(dated(path, date, "sitemap") for path, date in children.items())),
        "/old.xml": urlset(dated("/old", "2098-01-01")),  # its index knows nothing of that
        "/new.xml": urlset(dated("/new", "2098-01-01"), dated("/older", "2020-01-01")),
    }
    return serve(documents).web


def test_sitemaps_that_are_old_or_excluded_are_not_downloaded_and_the_summary_says_so(run, website):
    for how in [["-f", "pages"], ["-f", "pages", "--limit", "9"], ["-f", "csv"]]:
        ended = run("ls", website.url("/index.xml"), "--since", "7d", *how).ends(0)
        found = [line.partition(",")[0] for line in ended.lines if "http" in line]
        assert found == [website.url("/new")]
        assert ended.err == SKIPPED
        assert "/old.xml" not in website.hits
    ended = run(
        "ls", website.url("/index.xml"), "--include", "sitemap:*/new*", "-f", "pages", "--json"
    )
    assert ended.lines == [website.url("/new"), website.url("/older")]
    assert "/old.xml" not in website.hits
    told = json.loads(ended.err)
    assert (told["skipped"], told["skipped_by_url"]) == (1, 1)


def test_without_since_or_with_no_skip_all_are_downloaded(run, website):
    ended = run("ls", website.url("/index.xml"), "--since", "7d", "--no-skip", "-f", "pages")
    assert (ended.lines, ended.err) == ([website.url("/old"), website.url("/new")], "")
    ended = run("ls", website.url("/index.xml"), "--until", "2099-06", "-f", "pages")
    assert (len(ended.lines), ended.err) == (3, "")


def test_a_website_with_nothing_new_is_neither_empty_nor_a_failure(run, website):
    website.answers["/index.xml"] = index(dated("/old.xml", "2020", "sitemap"))
    argv = ["ls", website.url("/index.xml"), "--since", "30d", "--strict", "-f", "pages"]
    run(*argv).ends(0, out="", err=SKIPPED)
