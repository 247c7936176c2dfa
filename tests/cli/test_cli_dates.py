"""``--since``, ``--until`` and ``--dated`` mean the date of change, or else of publication."""

import json
from datetime import UTC, datetime, timedelta

import pytest

NEWS = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    ' xmlns:n="http://www.google.com/schemas/sitemap-news/0.9">'
    "<url><loc>{site}/2019</loc>%s</url><url><loc>{site}/yesterday</loc>%s</url>"
    "<url><loc>{site}/undated</loc></url></urlset>"
)
STORY = (
    "<n:news><n:publication_date>{}</n:publication_date><n:title>A title</n:title>"
    "<n:publication><n:name>x</n:name><n:language>en</n:language></n:publication></n:news>"
)


@pytest.fixture
def news(serve):
    yesterday = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    text = NEWS % (STORY.format("2019-03-01"), STORY.format(yesterday))
    return serve({"/robots.txt": "Sitemap: {site}/news.xml", "/news.xml": text})


@pytest.mark.parametrize("form", ["pages", "tabtree", "csv", "jsonl", "xml"])
@pytest.mark.parametrize("limit", [[], ["--limit", "10"]])
def test_a_story_of_yesterday_is_of_the_last_week(run, news, form, limit):
    ended = run("ls", news, "-f", form, "--since", "7d", *limit)
    assert ended.status == 0
    assert "/yesterday" in ended.out
    assert "/2019" not in ended.out
    assert "/undated" in ended.out
    assert ended.err == "usp: 1 page without a date kept; use --dated to leave them out\n"


def test_dated_leaves_out_only_what_has_no_date(run, news):
    ended = run("ls", news, "-f", "pages", "-u", "--dated")
    assert (ended.lines, ended.err) == (["/2019", "/yesterday"], "")
    ended = run("ls", news, "-f", "pages", "-u", "--dated", "--since", "7d")
    assert (ended.lines, ended.err) == (["/yesterday"], "")


def test_nothing_is_said_if_nothing_without_a_date_was_kept(run, news):
    ended = run("ls", news, "-f", "pages", "--since", "7d", "--exclude", "*/undated")
    assert ended.err == ""
    assert run("ls", news, "-f", "pages").err == ""


def test_it_is_json_for_programs(run, news):
    told = json.loads(run("ls", news, "-f", "pages", "--since", "7d", "--json").err)
    assert told["undated"] == 1


@pytest.mark.parametrize(
    "period",
    [["--since", "7d", "--until", "8d"], ["--since", "2025-02", "--until", "2025-01-31"]],
)
def test_a_period_that_ends_before_it_begins_is_a_wrong_call(run, period):
    ended = run("ls", "example.invalid", *period)
    assert (ended.status, ended.out) == (2, "")
    assert f"--since {period[1]} is after --until {period[3]}" in ended.err


@pytest.mark.parametrize("text", ["30m", "", "soon", "999999w"])
@pytest.mark.parametrize("option", ["--since", "--until"])
def test_what_is_not_a_date_is_a_wrong_call(run, option, text):
    ended = run("ls", "example.invalid", option, text)
    assert ended.status == 2
    assert f"{option} {text!r} is not a date; use 2025-01-31, 12h, 7d or 4w" in ended.err
