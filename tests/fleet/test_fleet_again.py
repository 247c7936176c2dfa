"""Sites are visited again: what has not changed is not downloaded, what failed keeps what it had."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from click.testing import CliRunner
from fleet_support import ALLOWED, OPTIONS, crawled, invoke, outcomes_of, rows_of, stored, tables_of

from usp.cli.commands import cmd_crawl as crawl
from usp.cli.commands import cmd_stats as stats
from usp.fleet import DatasetError, FleetRun, crawl_fleet
from usp.fleet.crawler import Job, crawl_parts
from usp.fleet.dataset import Dataset
from usp.fleet.joins import KnownSites
from usp.fleet.options import Shard
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
    """Read what there is, without what differs from one crawl to the next."""
    return tables_of(root, {"sites": {"bytes"}, "sitemaps": {"bytes", "status"}})


def statuses(root: Path) -> dict[str, int]:
    return {row["sitemap"].rpartition("/")[2]: row["status"] for row in rows_of(root, "sitemaps")}


def changes_of(root: Path) -> Counter[tuple[str, str]]:
    """Give the kinds and the paths of all changes."""
    found = stored(root, "changes")
    return Counter((row["kind"], "/" + row["url"].split("/", 3)[3]) for row in found)


def test_only_what_has_changed_is_downloaded_and_the_rest_is_as_after_a_new_crawl(
    web, root, tmp_path
):
    for site in web:
        site.forget()
    before, pages = rows_of(root, "pages"), len(stored(root, "pages"))
    web[0].answers["/b.xml"] = urlset("/d", "/new", "/e")
    del web[0].answers["/c.xml"]
    web[0].answers["/index.xml"] = index("/a.xml", "/b.xml", "/z.xml")
    web[0].answers["/z.xml"] = urlset("/z")
    summary = crawled(web, root, again=True)
    assert summary["sites"] == 3
    assert sorted(web[0].bodies) == ["/b.xml", "/index.xml", "/z.xml"]
    assert [site.bodies for site in web[1:]] == [[], []]
    assert [sum(site.hits.values()) for site in web[1:]] == [2, 2]  # requests that nothing answers
    told = statuses(root)
    assert {name for name, status in told.items() if status == 304} == {
        *("a.xml", "m.xml", "t.txt", "robots.txt")
    }
    assert told["b.xml"] == told["z.xml"] == 200
    crawled(web, tmp_path / "new")
    assert all_rows(root) == all_rows(tmp_path / "new")
    assert changes_of(root) == {
        ("added", "/new"): 1,
        ("added", "/z"): 1,
        ("moved", "/e"): 1,
        ("removed", "/ff"): 1,
    }
    assert len(stored(root, "pages")) == pages + 4  # of the two sitemaps that are new
    seen = {row["url"]: row["first_seen"] for row in before}
    now = {row["url"]: row["first_seen"] for row in rows_of(root, "pages")}
    assert {url for url, at in now.items() if at == seen.get(url)} == seen.keys() & now.keys() - {
        web[0].url("/e")
    }
    web[0].forget()
    crawled(web, root, again=True)  # the validators are still there
    assert all_rows(root) == all_rows(tmp_path / "new")
    assert web[0].bodies == []


def test_each_change_comes_once_whichever_sitemaps_have_changed_before(served, root, tmp_path):
    """Pages of a site may be of several visits, and a sitemap may list one twice."""
    answers = {"/robots.txt": robots("/i.xml"), "/i.xml": index("/a.xml", "/b.xml")}
    answers |= {"/a.xml": urlset("/1", "/1", "/old"), "/b.xml": urlset("/2", "/2")}
    (site,) = served(answers, kind=TaggedSite)
    crawled([site], root)
    told: Counter[tuple[str, str]] = Counter()
    for number, (a, b, new) in enumerate(
        (
            (("/1", "/1", "/3", "/3"), ("/2", "/2"), [("added", "/3"), ("removed", "/old")]),
            (("/1", "/1", "/3"), ("/2", "/2", "/4"), [("added", "/4")]),
            (("/1", "/1"), ("/2", "/4", "/3"), [("moved", "/3")]),
        )
    ):
        site.answers |= {"/a.xml": urlset(*a), "/b.xml": urlset(*b)}
        crawled([site], root, again=True)
        crawled([site], tmp_path / str(number))
        assert all_rows(root)["pages"] == all_rows(tmp_path / str(number))["pages"]
        told.update(new)
        assert changes_of(root) == told


def test_dates_of_an_index_are_trusted_if_that_is_wanted(served, root):
    entry = "<sitemap><loc>{base}/a.xml</loc><lastmod>2024-01-0%s</lastmod></sitemap>"

    def indexed(day: int) -> str:
        return index("/b.xml").replace("</sitemapindex>", entry % day + "</sitemapindex>")

    answers = {"/robots.txt": robots("/i.xml"), "/i.xml": indexed(1), "/a.xml": urlset("/a")}
    (site,) = served(answers | {"/b.xml": urlset("/b")}, kind=TaggedSite)
    trusting = replace(OPTIONS, trust_lastmod=True)
    crawled([site], root, trusting)
    for day, asked in ((1, 0), (2, 1)):
        site.answers["/i.xml"] = indexed(day)
        site.forget()
        crawled([site], root, trusting, again=True)
        assert (site.hits["/a.xml"], site.hits["/b.xml"]) == (asked, 1)


def make_due(root: Path, site: Site | None = None, path: str | None = None) -> None:
    """Let everything be due, or what is of one site, or one of its sitemaps."""
    past = f"timestamp '{datetime.now(UTC) - timedelta(days=1):%Y-%m-%d %H:%M:%S}'"
    where = None if site is None else f"site = '{site.base}/'"
    for table in ("visits", "fetches"):
        if site is not None and path is not None and table == "fetches":
            where = f"sitemap = '{site.url(path)}'"
        Dataset(root).table(table).update(
            {"due": f"arrow_cast({past}, 'Timestamp(Microsecond, Some(\"UTC\"))')"}, predicate=where
        )


def run_due(root: Path, **more: Any) -> Any:
    """Crawl what is due, or ``again`` all of it; give the summary."""
    options = replace(OPTIONS, use_known_paths=False)
    how = {"due": True} | more
    return crawl_fleet(None, root, FleetRun(workers=1, options=options, **how))


def test_a_page_that_moves_is_never_gone_whichever_sitemap_is_requested_first(web, root):
    web[0].answers |= {"/a.xml": urlset("/a", "/bb"), "/b.xml": urlset("/d", "/ccc")}
    for path in ("/b.xml", "/a.xml"):
        make_due(root, web[0], path)
        assert run_due(root)["sites"] == 1
        assert "/ccc" in paths(root, web[0])
    assert changes_of(root) == {("moved", "/ccc"): 1}


@pytest.mark.parametrize("mistakes", [1, 2])
def test_a_sitemap_at_a_known_path_that_comes_back_is_found(served, root, mistakes):
    """At a path at which there was something, it is looked for again, also if the site was emptied."""
    (site,) = served({"/known.xml": urlset("/1", "/2")}, kind=TaggedSite)
    options = replace(OPTIONS, extra_known_paths=("/known.xml",))
    crawled([site], root, options)
    good = site.answers.pop("/known.xml")
    for outcome in ("kept", "empty")[:mistakes]:
        crawled([site], root, options, again=True)
        assert outcomes_of(root) == {f"{site.base}/": outcome}
    site.answers["/known.xml"] = good
    crawled([site], root, options, again=True)
    assert paths(root, site) == {"/1": 1, "/2": 1}
    kinds = ("removed", "added") if mistakes > 1 else ()
    assert changes_of(root) == {(kind, path): 1 for kind in kinds for path in ("/1", "/2")}


def test_what_is_due_is_requested_and_nothing_else(web, root):
    """And what nobody needs is removed, once a day."""
    for site in web:
        site.forget()
    lost = root / "pages" / "bucket=0" / "part-lost.parquet"
    lost.parent.mkdir(exist_ok=True)
    Dataset(root)._mark("usp-vacuum", lambda _: 1)  # long ago
    for is_left in (False, True):
        lost.write_bytes(b"")
        os.utime(lost, (0, 0))
        assert run_due(root)["sites"] == 0
        assert lost.exists() == is_left
    make_due(root, web[1])
    assert run_due(root)["sites"] == 1
    assert [sum(site.hits.values()) for site in web] == [0, 2, 0]
    assert run_due(root)["sites"] == 0  # it has a new date
    make_due(root)
    web[0].answers["/a.xml"] = urlset("/a", "/new")
    assert run_due(root)["sites"] == 3
    assert web[0].bodies == ["/a.xml"]
    before = {row["sitemap"]: row for row in rows_of(root, "sitemaps")}
    changed, same = (before[web[0].url(path)] for path in ("/a.xml", "/b.xml"))
    assert changed["interval"] < same["interval"]
    assert changed["changed_at"] > same["changed_at"]


def test_no_more_requests_are_sent_to_a_host_in_an_hour_than_allowed(web, root):
    def asked(room: int) -> int:
        with KnownSites(Dataset(root), Shard()) as known:
            sent = known.requests_of_last_hour()["127.0.0.1"]
        for site in web:
            site.forget()
        run_due(root, per_hour=max(sent + room, 1))
        return sum(sum(site.hits.values()) for site in web)

    make_due(root)
    everything = all_rows(root)
    assert asked(0) == 0
    assert asked(2) == 2  # robots.txt and the only sitemap, or the index
    rounds = [asked(4) for _ in range(4)]
    assert max(rounds) <= 4
    assert sum(rounds) == 2 + 2 + 5 - 2  # nothing is requested twice
    assert asked(100) == 0
    assert all_rows(root) == everything


def test_sites_that_failed_are_tried_again_by_reason(served, root):
    good = {"/robots.txt": robots("/m.xml"), "/m.xml": urlset("/m")}
    broken = good | {"/robots.txt": robots("/m.xml", "/n.xml"), "/n.xml": Answer(status=503)}
    absent = good | {"/robots.txt": robots("/m.xml", "/n.xml")}
    sites = served(good, broken, absent, kind=TaggedSite)
    crawled(sites, root)
    for codes, tried in ((("no-such-host",), 0), (("server-error",), 1), ((), 0)):
        how = FleetRun(workers=1, options=OPTIONS, retry_failed=True, codes=codes)
        assert crawl_fleet(None, root, how)["sites"] == tried
    with pytest.raises(ValueError, match="unknown code 'none'"):
        FleetRun(retry_failed=True, codes=("none",))


def test_the_columns_of_a_dataset_stay_as_they_were_chosen(web, tmp_path):
    root = tmp_path / "chosen"
    crawled(web, root, replace(OPTIONS, columns=("url", "lastmod")))
    for site in web:
        site.forget()
    assert run_due(root, due=False, again=True)["outcomes"] == {"complete": 3}
    assert [site.bodies for site in web] == [[], [], []]
    assert "priority" not in Dataset(root).columns("pages")


def test_known_paths_at_which_nothing_is_are_asked_for_once(served, root):
    (site,) = served({"/robots.txt": robots("/m.xml"), "/m.xml": urlset("/m")}, kind=TaggedSite)
    for requests in (21, 2):
        site.forget()
        run = FleetRun(workers=1, options=OPTIONS, again=requests == 2)
        assert crawl_fleet([site.base], root, run)["requests"] == requests
        assert sum(site.hits.values()) == requests
    assert len(stored(root, "pages")) == 1  # an unchanged sitemap writes no pages


CHOSEN = replace(OPTIONS, selection=Selection(include=["*/ff", "*/a", "*/nn"]))


def test_rows_that_other_options_have_chosen_are_not_kept(web, root, tmp_path):
    unique = replace(OPTIONS, selection=Selection(unique=True))
    for number, options in enumerate((CHOSEN, unique)):
        crawled(web, root, options, again=True)
        assert set(statuses(root).values()) == {200}
        crawled(web, tmp_path / f"new-{number}", options)
        assert all_rows(root) == all_rows(tmp_path / f"new-{number}")


@pytest.mark.parametrize(
    ("options", "pages"),
    [(CHOSEN, 3), (replace(OPTIONS, pages=False), 10)],
    ids=["filter", "counts"],
)
def test_options_that_are_the_same_keep_what_they_have_chosen(web, tmp_path, options, pages):
    root = tmp_path / "chosen"
    crawled(web, root, options)
    before = all_rows(root)
    assert crawled(web, root, options, again=True)["pages"] == pages
    assert 304 in statuses(root).values()
    assert all_rows(root) == before


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
    assert len(outcomes_of(root)) == 3
    with monkeypatch.context() as patch:  # a shard that is done does not begin anew for the others
        patch.setattr(Dataset, "end_again", lost)
        with pytest.raises(DatasetError):
            crawled(web, root, again=True, shard="0/1")
    Dataset(root).end_again("1/2")
    assert crawled(web, root, again=True)["sites"] == 0


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


def paths_of(root: Path, sites: Sequence[Site]) -> list[Counter[str]]:
    """Give the paths of the pages that a dataset has of each of some sites."""
    found: dict[str, Counter[str]] = {f"{site.base}/": Counter() for site in sites}
    for row in rows_of(root, "pages"):
        found.get(row["site"], Counter())["/" + row["url"].split("/", 3)[3]] += 1
    return list(found.values())


def paths(root: Path, site: Site) -> Counter[str]:
    return paths_of(root, [site])[0]


def check_counts(root: Path) -> None:
    """What the tables say about each other is true."""
    pages = Counter(row["site"] for row in rows_of(root, "pages"))
    sitemaps, in_sitemaps = Counter[str](), Counter[str]()
    for row in rows_of(root, "sitemaps"):
        sitemaps[row["site"]] += 1
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_round_takes_nothing_away_and_a_good_one_heals(served, root, kind):
    """Each of them at a website of its own, beside one that is well."""
    web = served(*[ANSWERS] * (len(ROUNDS) + 1), kind=kind)
    crawled(web, root)
    well, *ill = web
    for site, bad in zip(ill, ROUNDS.values(), strict=True):
        site.answers |= bad
    summary = crawled(web, root, again=True)
    assert summary["kept"] == summary["outcomes"]["kept"] == len(ROUNDS)
    rows = {row["site"]: row for row in rows_of(root, "sites")}
    assert rows.pop(f"{well.base}/")["outcome"] == "complete"
    for site, name, found in zip(ill, ROUNDS, paths_of(root, ill), strict=True):
        row = rows[f"{site.base}/"]
        assert (found, row["outcome"]) == (ALL, "kept"), name
        assert "of an earlier visit kept: " in row["reason"], name
    check_counts(root)
    assert not stored(root, "changes")
    for site in ill:
        site.answers = dict(ANSWERS)
    assert crawled(web, root, retry_failed=True)["outcomes"] == {"complete": len(ROUNDS)}
    assert paths_of(root, web) == [ALL] * len(web)
    check_counts(root)


def test_a_host_that_refuses_connections_keeps_what_it_had(root):
    with Site(ANSWERS) as site:
        crawled([site], root)
    assert crawled([site], root, again=True)["kept"] == 1
    assert paths(root, site) == ALL
    assert crawled([site], root, again=True, accept=True)["outcomes"] == {"failed": 1}
    assert not paths(root, site)


NEW_STATES: list[tuple[Answers, str, str]] = [
    ({"/a.xml": urlset("/a0", "/a1")}, "complete", "/a0 /a1 /b0 /b1"),  # half of them may go
    ({"/index.xml": index("/a.xml")}, "complete", "/a0 /a1 /a2 /a3 /a4 /a5"),
    ({"/b.xml": DOWN, "/a.xml": urlset("/a0", "/x", "/y", "/z")}, "kept", "/a0 /x /y /z /b0 /b1"),
    *[({"/a.xml": urlset("/a0")}, "kept", " ".join(ALL))] * 2,
    ({"/a.xml": DOWN}, "kept", " ".join(ALL)),
]


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_has_failed_is_kept_and_the_new_state_is_taken_if_accepted(served, root, kind):
    """Each at a website of its own."""
    web = served(*[ANSWERS] * len(NEW_STATES), kind=kind)
    crawled(web, root)
    for site, (answers, *_) in zip(web, NEW_STATES, strict=True):
        site.answers |= answers
    assert crawled(web, root, again=True)["kept"] == 4
    outcomes = outcomes_of(root)
    for site, (_, outcome, there), found in zip(web, NEW_STATES, paths_of(root, web), strict=True):
        assert outcomes[f"{site.base}/"] == outcome
        assert set(found) == set(there.split())
    row = next(row for row in rows_of(root, "sitemaps") if row["sitemap"] == web[2].url("/b.xml"))
    assert (row["pages"], row["status"], row["code"]) == (2, 404, "not-found")
    check_counts(root)
    for outcome in ("kept", "complete"):  # once the next visit finds the same
        row = next(row for row in rows_of(root, "sites") if row["site"] == f"{web[3].base}/")
        is_later = row["due"] - row["started"] >= timedelta(days=1)  # an outage may last for hours
        assert (row["outcome"], is_later) == (outcome, outcome == "kept")
        crawled(web[3:4], root, again=True)
    summary = crawled(web[4:], root, retry_failed=True, accept=True)
    assert (summary["kept"], summary["outcomes"]) == (0, {"complete": 1, "partial": 1})
    few = {"/a0", "/b0", "/b1"}
    assert [*map(set, paths_of(root, web[3:]))] == [few, few, {"/b0", "/b1"}]
    check_counts(root)


@pytest.mark.parametrize(
    "chosen",
    [{"columns": ("url",)}, {"selection": Selection(unique=True)}, {"pages": False}],
    ids=["columns", "unique", "counts"],
)
def test_whatever_the_options_nothing_is_lost(pair, tmp_path, chosen):
    root, options = tmp_path / "chosen", replace(OPTIONS, **chosen)
    crawled(pair, root, options)
    pair[0].answers = dict.fromkeys(ANSWERS, DOWN)
    pair[1].answers["/b.xml"] = DOWN
    assert crawled(pair, root, options, again=True)["kept"] == 2
    assert {row["pages"] for row in rows_of(root, "sites")} == {8}
    if options.pages:
        assert paths_of(root, pair) == [ALL, ALL]


def test_the_command_says_it_and_ends_with_1_and_stats_show_it(pair, root):
    """Rows that other options have chosen are kept, too."""
    pair[0].answers = dict.fromkeys(ANSWERS, DOWN)
    chosen = replace(OPTIONS, selection=Selection(include=["*/b0"]))
    assert crawled(pair, root, chosen, again=True)["kept"] == 1
    assert paths_of(root, pair) == [ALL, Counter(["/b0"])]

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
    with KnownSites(Dataset(root), Shard()) as known:
        (found,) = (one for one in known.known("true") if one.url == site)

    async def in_a_loop() -> Any:  # as in a notebook
        job = Job(FleetRun(options=OPTIONS), str(root), 2)
        return list(crawl_parts(job, iter([[found._replace(deaths=3)]])))

    (part,) = asyncio.run(in_a_loop())
    ((row,), rows) = part.sites, {file.table: file.rows for file in part.files}
    assert (row["outcome"], row["code"], row["pages"]) == ("kept", "internal-error", 8)
    assert rows == {"visits": 1}
    Dataset(root).commit([part])
    assert paths(root, pair[0]) == ALL


def test_an_outage_is_said_loudly_and_loses_nothing(pair, root):
    for site in pair:
        site.answers = dict.fromkeys(ANSWERS, DOWN)
    make_due(root)
    told = invoke(crawl.command, root, "--due", *ALLOWED, "-q")
    assert told.exit_code == 1
    assert "2 of 2 sites that were good before failed, more than 20%" in told.output
    assert paths_of(root, pair) == [ALL, ALL]
    for row in rows_of(root, "sites"):
        assert row["failures"] == 1
        assert row["due"] > row["started"] + timedelta(minutes=5)
    make_due(root, pair[0])
    assert invoke(crawl.command, root, "--due", "--max-failed", "100%", *ALLOWED).exit_code == 0
