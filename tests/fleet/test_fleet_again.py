"""A crawl of all sites again: rows are replaced, and what has not changed is not downloaded."""

import asyncio
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from click.testing import CliRunner
from fleet_support import ALLOWED, OPTIONS, crawled, invoke, rows_of, tables_of

from usp.cli.commands import cmd_crawl as crawl
from usp.cli.commands import cmd_stats as stats
from usp.fleet import DatasetError
from usp.fleet.crawler import Job, killer_part
from usp.fleet.dataset import Dataset
from usp.fleet.site_list import Assignment
from usp.selection import Selection
from website import Answer, Site, TaggedSite, index, robots, urlset


@pytest.fixture
def web(served, root) -> list[TaggedSite]:
    """Three websites, in a dataset already: an index of three, one sitemap, and a text file."""
    indexed = {
        "/robots.txt": robots("/index.xml"),
        "/index.xml": index("/a.xml", "/b.xml", "/c.xml"),
        "/a.xml": urlset("/a", "/bb", "/ccc"),
        "/b.xml": urlset("/d"),
        "/c.xml": urlset("/e", "/ff"),
    }
    single = {"/robots.txt": robots("/m.xml"), "/m.xml": urlset("/m", "/nn")}
    text = {"/robots.txt": robots("/t.txt"), "/t.txt": "{base}/1\n{base}/2\n"}
    made = served(indexed, single, text, kind=TaggedSite)
    crawled(made, root)
    return made


def all_rows(root: Path) -> dict[str, list[str]]:
    """Read the tables without what differs from one crawl to the next."""
    return tables_of(root, {"sites": {"bytes"}, "sitemaps": {"bytes", "status"}})


def statuses(root: Path) -> dict[str, int]:
    return {row["url"].rpartition("/")[2]: row["status"] for row in rows_of(root, "sitemaps")}


def test_only_what_has_changed_is_downloaded_and_the_tables_are_as_after_a_new_crawl(
    web, root, tmp_path
):
    for site in web:
        site.forget()
    web[0].answers["/b.xml"] = urlset("/d", "/new")
    del web[0].answers["/c.xml"]
    web[0].answers["/index.xml"] = index("/a.xml", "/b.xml", "/z.xml")
    web[0].answers["/z.xml"] = urlset("/z")
    summary = crawled(web, root, again=True)
    assert summary["sites"] == 3
    assert sorted(web[0].bodies) == ["/b.xml", "/index.xml", "/robots.txt", "/z.xml"]
    assert [site.bodies for site in web[1:]] == [["/robots.txt"], ["/robots.txt"]]
    told = statuses(root)
    assert {name for name, status in told.items() if status == 304} == {"a.xml", "m.xml", "t.txt"}
    assert told["b.xml"] == told["z.xml"] == 200
    crawled(web, tmp_path / "new")
    assert all_rows(root) == all_rows(tmp_path / "new")
    web[0].forget()
    crawled(web, root, again=True)  # the validators are still there
    assert all_rows(root) == all_rows(tmp_path / "new")
    assert sorted(web[0].bodies) == ["/index.xml", "/robots.txt"]


def test_a_sitemap_that_is_declared_once_more_has_its_pages_once_more(web, root, tmp_path):
    web[0].answers["/robots.txt"] = robots("/a.xml", "/index.xml")
    crawled(web, root, again=True)
    assert statuses(root)["a.xml"] == 304
    crawled(web, tmp_path / "new")
    assert all_rows(root) == all_rows(tmp_path / "new")


CHOSEN = replace(OPTIONS, selection=Selection(include=["*/ff", "*/a", "*/nn"]))


def test_rows_that_other_options_have_chosen_are_not_kept(web, root, tmp_path):
    columns = replace(OPTIONS, columns=("url", "lastmod"))
    unique = replace(OPTIONS, selection=Selection(unique=True))
    for number, options in enumerate((columns, CHOSEN, unique)):
        crawled(web, root, options, again=True)
        assert set(statuses(root).values()) == {200}
        crawled(web, tmp_path / f"new-{number}", options)
        ours, new = all_rows(root), all_rows(tmp_path / f"new-{number}")
        assert len(ours["pages"]) == len(new["pages"])
        assert ours["sites"] == new["sites"]


@pytest.mark.parametrize(
    ("options", "pages"),
    [(CHOSEN, 3), (replace(OPTIONS, pages=False), 10)],
    ids=["filter", "counts"],
)
def test_options_that_are_the_same_keep_what_they_have_chosen(web, tmp_path, options, pages):
    root = tmp_path / "chosen"
    crawled(web, root, options)
    before = Dataset(root).sites("pages"), options.pages and all_rows(root)
    assert crawled(web, root, options, again=True)["pages"] == pages
    assert 304 in statuses(root).values()
    assert (Dataset(root).sites("pages"), options.pages and all_rows(root)) == before


def test_what_was_begun_is_continued_and_then_begun_anew(web, root, monkeypatch):
    lost = Mock(side_effect=DatasetError("the store does not respond"))
    for step, some in (("commit", web), ("end_again", web[:2])):  # none is done, then two are
        with monkeypatch.context() as patch:
            patch.setattr(Dataset, step, lost)
            with pytest.raises(DatasetError):
                crawled(some, root, again=True)
    assert crawled(web, root)["sites"] == 0  # nothing is missing meanwhile
    assert crawled(web, root, again=True)["sites"] == 1
    assert crawled(web, root, again=True)["sites"] == 3
    assert len(Dataset(root).sites()) == 3


def test_older_versions_can_be_read_if_they_are_kept(web, root):
    table = Dataset(root).table("pages")
    version, pages = table.version(), table.to_pyarrow_table().num_rows
    web[1].answers["/m.xml"] = urlset("/m")
    for _ in range(2):
        crawled(web, root, again=True, keep_versions=True)
    table = Dataset(root).table("pages")
    assert table.to_pyarrow_table().num_rows == pages - 1
    table.load_as_version(version)
    assert table.to_pyarrow_table().num_rows == pages
    before = tables_of(root)
    crawled(web, root)  # without them, plain globs are exact again
    assert len(tables_of(root)["pages"]) == pages - 1 < len(before["pages"])


# One bad round does not empty a dataset: what failed or collapsed keeps what it had ---------------


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
def pair(request, served, root) -> list[Site]:
    """Two websites, in a dataset already."""
    made = served(ANSWERS, ANSWERS, kind=request.param)
    crawled(made, root)
    return made


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

ROUNDS: dict[str, Answers] = {
    "robots.txt is gone": {"/robots.txt": DOWN},
    "robots.txt is empty": {"/robots.txt": ""},
    "robots.txt fails": {"/robots.txt": Answer("", 403)},
    "the index is empty": {"/index.xml": index()},
    "the index is gone": {"/index.xml": DOWN},
    "the index is a page": {"/index.xml": "<html>back soon</html>"},
    "the index is cut off": {"/index.xml": index("/b.xml")[:-20]},
    "a sitemap is gone": {"/a.xml": DOWN},
    "a sitemap is empty": {"/a.xml": urlset()},
    "a sitemap is cut off": {"/a.xml": Answer(urlset("/x", "/y"), cut=180)},
    "a small sitemap is gone": {"/b.xml": DOWN},
    "everything is gone": dict.fromkeys(ANSWERS, DOWN),
    "connections are dropped": dict.fromkeys(ANSWERS, Answer(hang_up=True)),
}


@pytest.mark.long
@pytest.mark.parametrize("bad", ROUNDS.values(), ids=ROUNDS)
def test_a_bad_round_takes_nothing_away_and_a_good_one_heals(pair, root, bad):
    pair[0].answers |= bad
    for _ in range(2):  # the second time, there is only what was kept
        summary = crawled(pair, root, again=True)
        assert summary["kept"] == summary["outcomes"]["kept"] == 1
        assert [paths(root, site) for site in pair] == [ALL, ALL]
        check_counts(root)
        (row,) = (row for row in rows_of(root, "sites") if row["outcome"] == "kept")
        assert row["site"] == f"{pair[0].base}/"
        assert "of an earlier crawl kept: " in row["reason"]
    pair[0].answers = dict(ANSWERS)
    assert crawled(pair, root, retry_failed=True)["outcomes"] == {"complete": 1}
    assert [paths(root, site) for site in pair] == [ALL, ALL]
    check_counts(root)


def test_a_host_that_refuses_connections_keeps_what_it_had(root):
    with Site(ANSWERS) as site:
        crawled([site], root)
    assert crawled([site], root, again=True)["kept"] == 1
    assert paths(root, site) == ALL
    assert crawled([site], root, again=True, accept=True)["outcomes"] == {"failed": 1}
    assert not paths(root, site)


def test_a_failure_keeps_only_what_has_failed(pair, root):
    pair[0].answers |= {"/b.xml": DOWN, "/a.xml": urlset("/a0", "/new", "/newer", "/last")}
    assert crawled(pair, root, again=True)["kept"] == 1
    assert set(paths(root, pair[0])) == {"/a0", "/new", "/newer", "/last", "/b0", "/b1"}
    (row,) = (row for row in rows_of(root, "sitemaps") if row["url"] == pair[0].url("/b.xml"))
    assert (row["pages"], row["status"], row["code"]) == (2, 404, "not-found")
    check_counts(root)


def test_up_to_half_of_the_pages_may_go_and_a_sitemap_that_is_not_declared_any_more(pair, root):
    pair[0].answers["/a.xml"] = urlset("/a0", "/a1")
    pair[1].answers["/index.xml"] = index("/a.xml")
    summary = crawled(pair, root, again=True)
    assert (summary["kept"], summary["outcomes"]) == (0, {"complete": 2})
    assert [len(paths(root, site)) for site in pair] == [4, 6]
    check_counts(root)


def test_the_new_state_is_taken_if_it_is_accepted(pair, root):
    pair[0].answers["/a.xml"] = urlset("/a0")
    pair[1].answers["/a.xml"] = DOWN
    assert crawled(pair, root, again=True)["kept"] == 2
    summary = crawled(pair, root, retry_failed=True, accept=True)
    assert (summary["kept"], summary["outcomes"]) == (0, {"complete": 1, "partial": 1})
    assert [set(paths(root, site)) for site in pair] == [{"/a0", "/b0", "/b1"}, {"/b0", "/b1"}]
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
def test_whatever_the_options_nothing_is_lost(pair, tmp_path, options):
    root = tmp_path / "chosen"
    crawled(pair, root, options)
    pair[0].answers = dict.fromkeys(ANSWERS, DOWN)
    pair[1].answers["/b.xml"] = DOWN
    assert crawled(pair, root, options, again=True)["kept"] == 2
    assert {row["pages"] for row in rows_of(root, "sites")} == {8}
    if options.pages:
        assert [paths(root, site) for site in pair] == [ALL, ALL]


def test_an_outage_keeps_rows_that_other_options_have_chosen(pair, root):
    pair[0].answers = dict.fromkeys(ANSWERS, DOWN)
    chosen = replace(OPTIONS, selection=Selection(include=["*/b0"]))
    assert crawled(pair, root, chosen, again=True)["kept"] == 1
    assert [paths(root, site) for site in pair] == [ALL, Counter(["/b0"])]


def test_the_command_says_it_and_ends_with_1_and_stats_show_it(pair, root):
    pair[0].answers = dict.fromkeys(ANSWERS, DOWN)

    def run(*more: str) -> Any:
        stdin = "\n".join(site.base for site in pair)
        return invoke(crawl.command, "-", "-o", root, *ALLOWED, *more, stdin=stdin)

    told = run("--again", "--quiet")
    assert told.exit_code == 1
    assert "1 site failed or lost more than half of the pages" in told.output
    assert "--retry-failed --accept" in told.output
    shown = CliRunner().invoke(stats.command, [str(root)], env={"COLUMNS": "200"})
    assert "Kept from an earlier crawl" in shown.output
    (row,) = json.loads(invoke(stats.command, root, "-f", "json").output)["kept"]
    assert (row["site"], row["pages"]) == (f"{pair[0].base}/", 8)
    assert run("--quiet").exit_code == 0  # every site is there
    assert run("--accept").exit_code == 2
    assert run("--retry-failed", "--accept", "--quiet").exit_code == 0
    assert not paths(root, pair[0])


def test_a_site_that_kills_its_workers_keeps_what_it_had(pair, root):
    site = f"{pair[0].base}/"
    older = Dataset(root).files_with({site}, [site])

    async def in_a_loop() -> Any:  # as in a notebook
        return killer_part(Job(str(root), 2, OPTIONS), site, Assignment("", older[site]))

    group = asyncio.run(in_a_loop())
    ((row,), rows) = group.sites, {part.table: part.rows for part in group.files}
    assert (row["outcome"], row["code"]) == ("kept", "internal-error")
    assert rows == {"pages": 8, "sitemaps": 4, "sites": 1}
