"""One bad round does not empty a dataset: what failed or collapsed keeps what it had."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fleet_support import ALLOWED, OPTIONS, crawled, invoke, rows_of

from usp.cli.commands import cmd_crawl as crawl
from usp.cli.commands import cmd_stats as stats
from usp.fleet.crawler import Job, killer_part
from usp.fleet.dataset import Dataset
from usp.fleet.site_list import Assignment
from usp.selection import Selection
from website import Answer, Site, TaggedSite, index, robots, urlset

Answers = dict[str, Any]

ANSWERS: Answers = {
    "/robots.txt": robots("/index.xml"),
    "/index.xml": index("/a.xml", "/b.xml"),
    "/a.xml": urlset(*(f"/a{number}" for number in range(6))),
    "/b.xml": urlset("/b0", "/b1"),
}
# A request for 503 is repeated after pauses; 404 is as bad and takes no time.
DOWN = Answer("", 404)
KINDS = [
    pytest.param(Site, id="plain", marks=pytest.mark.long),
    pytest.param(TaggedSite, id="tagged"),
]


@pytest.fixture(params=KINDS)
def web(request, served) -> list[Site]:
    return served(ANSWERS, ANSWERS, kind=request.param)


def paths(root: Path, site: Site) -> Counter[str]:
    """Give the paths of the pages that a dataset has of a site."""
    found = (row["url"] for row in rows_of(root, "pages") if row["site"] == f"{site.base}/")
    return Counter(url.removeprefix(site.base) for url in found)


def check_counts(root: Path) -> None:
    """What the tables say about each other is true."""
    pages = Counter(row["site"] for row in rows_of(root, "pages"))
    sitemaps = Counter(row["site"] for row in rows_of(root, "sitemaps"))
    in_sitemaps = Counter[str]()
    for row in rows_of(root, "sitemaps"):
        in_sitemaps[row["site"]] += row["pages"] or 0
    for row in rows_of(root, "sites"):
        assert row["pages"] == pages[row["site"]] == in_sitemaps[row["site"]]
        assert row["sitemaps"] == sitemaps[row["site"]]


ALL = Counter({*(f"/a{number}" for number in range(6)), "/b0", "/b1"})

ROUNDS: dict[str, Callable[[Answers], Answers]] = {
    "robots.txt is gone": lambda answers: answers | {"/robots.txt": DOWN},
    "robots.txt is empty": lambda answers: answers | {"/robots.txt": ""},
    "robots.txt fails": lambda answers: answers | {"/robots.txt": Answer("", 403)},
    "the index is empty": lambda answers: answers | {"/index.xml": index()},
    "the index is gone": lambda answers: answers | {"/index.xml": DOWN},
    "the index is a page": lambda answers: answers | {"/index.xml": "<html>back soon</html>"},
    "the index is cut off": lambda answers: answers | {"/index.xml": index("/b.xml")[:-20]},
    "a sitemap is gone": lambda answers: answers | {"/a.xml": DOWN},
    "a sitemap is empty": lambda answers: answers | {"/a.xml": urlset()},
    "a sitemap is cut off": lambda answers: (
        answers | {"/a.xml": Answer(urlset("/x", "/y"), cut=180)}
    ),
    "a small sitemap is gone": lambda answers: answers | {"/b.xml": DOWN},
    "everything is gone": lambda answers: dict.fromkeys(answers, DOWN),
    "connections are dropped": lambda answers: dict.fromkeys(answers, Answer(hang_up=True)),
}


@pytest.mark.long
@pytest.mark.parametrize("bad", ROUNDS.values(), ids=ROUNDS)
def test_a_bad_round_takes_nothing_away_and_a_good_one_heals(web, tmp_path, bad):
    root = tmp_path / "dataset"
    crawled(web, root)
    web[0].answers = bad(ANSWERS)
    for _ in range(2):  # the second time, there is only what was kept
        summary = crawled(web, root, again=True)
        assert summary["kept"] == summary["outcomes"]["kept"] == 1
        assert [paths(root, site) for site in web] == [ALL, ALL]
        check_counts(root)
        (row,) = (row for row in rows_of(root, "sites") if row["outcome"] == "kept")
        assert row["site"] == f"{web[0].base}/"
        assert "of an earlier crawl kept: " in row["reason"]
    web[0].answers = dict(ANSWERS)
    assert crawled(web, root, retry_failed=True)["outcomes"] == {"complete": 1}
    assert [paths(root, site) for site in web] == [ALL, ALL]
    check_counts(root)


def test_a_host_that_refuses_connections_keeps_what_it_had(tmp_path):
    root = tmp_path / "dataset"
    with Site(ANSWERS) as site:
        crawled([site], root)
    assert crawled([site], root, again=True)["kept"] == 1
    assert paths(root, site) == ALL
    assert crawled([site], root, again=True, accept=True)["outcomes"] == {"failed": 1}
    assert not paths(root, site)


def test_a_failure_keeps_only_what_has_failed(web, tmp_path):
    root = tmp_path / "dataset"
    crawled(web, root)
    web[0].answers |= {"/b.xml": DOWN, "/a.xml": urlset("/a0", "/new", "/newer", "/last")}
    assert crawled(web, root, again=True)["kept"] == 1
    assert set(paths(root, web[0])) == {"/a0", "/new", "/newer", "/last", "/b0", "/b1"}
    (row,) = (row for row in rows_of(root, "sitemaps") if row["url"] == web[0].url("/b.xml"))
    assert (row["pages"], row["status"], row["code"]) == (2, 404, "not-found")
    check_counts(root)


def test_up_to_half_of_the_pages_may_go_and_a_sitemap_that_is_not_declared_any_more(web, tmp_path):
    root = tmp_path / "dataset"
    crawled(web, root)
    web[0].answers["/a.xml"] = urlset("/a0", "/a1")
    web[1].answers["/index.xml"] = index("/a.xml")
    summary = crawled(web, root, again=True)
    assert (summary["kept"], summary["outcomes"]) == (0, {"complete": 2})
    assert [len(paths(root, site)) for site in web] == [4, 6]
    check_counts(root)


def test_the_new_state_is_taken_if_it_is_accepted(web, tmp_path):
    root = tmp_path / "dataset"
    crawled(web, root)
    web[0].answers["/a.xml"] = urlset("/a0")
    web[1].answers["/a.xml"] = DOWN
    assert crawled(web, root, again=True)["kept"] == 2
    summary = crawled(web, root, retry_failed=True, accept=True)
    assert (summary["kept"], summary["outcomes"]) == (0, {"complete": 1, "partial": 1})
    assert [set(paths(root, site)) for site in web] == [{"/a0", "/b0", "/b1"}, {"/b0", "/b1"}]
    check_counts(root)


@pytest.mark.parametrize(
    "options",
    [
        replace(OPTIONS, columns=("url",)),
        replace(OPTIONS, selection=Selection(unique=True)),
        replace(OPTIONS, pages=False),
    ],
    ids=["columns", "unique", "counts"],
)
def test_whatever_the_options_nothing_is_lost(web, tmp_path, options):
    root = tmp_path / "dataset"
    crawled(web, root, options)
    web[0].answers = dict.fromkeys(ANSWERS, DOWN)
    web[1].answers["/b.xml"] = DOWN
    assert crawled(web, root, options, again=True)["kept"] == 2
    assert {row["pages"] for row in rows_of(root, "sites")} == {8}
    if options.pages:
        assert [paths(root, site) for site in web] == [ALL, ALL]


def test_an_outage_keeps_rows_that_other_options_have_chosen(web, tmp_path):
    root = tmp_path / "dataset"
    crawled(web, root)
    web[0].answers = dict.fromkeys(ANSWERS, DOWN)
    chosen = replace(OPTIONS, selection=Selection(include=["*/b0"]))
    assert crawled(web, root, chosen, again=True)["kept"] == 1
    assert [paths(root, site) for site in web] == [ALL, Counter(["/b0"])]


def test_the_command_says_it_and_ends_with_1_and_stats_show_it(web, tmp_path):
    root = tmp_path / "dataset"
    crawled(web, root)
    web[0].answers = dict.fromkeys(ANSWERS, DOWN)

    def run(*more: str) -> Any:
        stdin = "\n".join(site.base for site in web)
        return invoke(crawl.command, "-", "-o", root, *ALLOWED, *more, stdin=stdin)

    told = run("--again", "--quiet")
    assert told.exit_code == 1
    assert "1 site failed or lost more than half of the pages" in told.output
    assert "--retry-failed --accept" in told.output
    shown = CliRunner().invoke(stats.command, [str(root)], env={"COLUMNS": "200"})
    assert "Kept from an earlier crawl" in shown.output
    (row,) = json.loads(invoke(stats.command, root, "-f", "json").output)["kept"]
    assert (row["site"], row["pages"]) == (f"{web[0].base}/", 8)
    assert run("--quiet").exit_code == 0  # every site is there
    assert run("--accept").exit_code == 2
    assert run("--retry-failed", "--accept", "--quiet").exit_code == 0
    assert not paths(root, web[0])


def test_a_site_that_kills_its_workers_keeps_what_it_had(web, tmp_path):
    root, site = tmp_path / "dataset", f"{web[0].base}/"
    crawled(web, root)
    older = Dataset(root).files_with({site}, [site])

    async def in_a_loop() -> Any:  # as in a notebook
        return killer_part(Job(str(root), 2, OPTIONS), site, Assignment("", older[site]))

    group = asyncio.run(in_a_loop())
    ((row,), rows) = group.sites, {part.table: part.rows for part in group.files}
    assert (row["outcome"], row["code"]) == ("kept", "internal-error")
    assert rows == {"pages": 8, "sitemaps": 4, "sites": 1}
