"""Whatever others do to the tables, and whatever goes wrong: the rows that count stay right."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import deltalake
import fleet_support
import pytest
from fleet_support import ALLOWED, COMMAND, OPTIONS, crawled, rows_of, stored

from usp.fleet import DatasetError, FleetRun, crawl_fleet
from usp.fleet.tables import TABLES
from website import Answer, Site, robots, urlset

COUNT = 6


@pytest.fixture
def web(served, root) -> list[Site]:
    """Some websites, in a dataset already."""
    sitemaps = (urlset("/a", "/b", f"/{number}") for number in range(COUNT))
    made = served(*({"/robots.txt": robots("/m.xml"), "/m.xml": one} for one in sitemaps))
    crawled(made, root)
    return made


def opened(root: Path, table: str) -> deltalake.DeltaTable:
    return deltalake.DeltaTable(root / table)


def check(root: Path, web: list[Site], pages: int = 3) -> None:
    names = [f"{site.base}/" for site in web]
    for view, count in (("pages", pages), ("sitemaps", 2), ("sites", 1)):
        found = Counter(row["site"] for row in rows_of(root, view))
        assert found == dict.fromkeys(names, count), view


def compact(root: Path, web: list[Site]) -> None:
    for table in TABLES:
        opened(root, table).optimize.compact()


def order(root: Path, web: list[Site]) -> None:
    for table in TABLES:
        opened(root, table).optimize.z_order(["site"])
        opened(root, table).vacuum(0, dry_run=False, enforce_retention_duration=False)


def nothing(root: Path, web: list[Site]) -> None:
    """Leave the files of the tables as they are."""


def delete(root: Path, table: str, column: str, url: str) -> None:
    opened(root, table).delete(f"{column} = '{url}'")


def rewrite(root: Path, web: list[Site]) -> None:
    """Delete a page of a website, all pages of one, a sitemap of one, one; and write one anew."""
    delete(root, "pages", "url", web[0].url("/a"))
    delete(root, "pages", "site", web[1].url("/"))
    delete(root, "fetches", "sitemap", web[2].url("/m.xml"))
    delete(root, "visits", "site", web[3].url("/"))
    opened(root, "pages").update({"priority": "0.5"}, predicate=f"site = '{web[4].url('/')}'")


@pytest.mark.parametrize("then", [nothing, compact, order])
def test_what_other_programs_have_rewritten_is_right_after_the_next_crawl(
    web, root, then: Callable[..., None]
):
    for change in (rewrite, then):
        change(root, web)
    crawled(web, root, again=True)
    check(root, web)
    for site in web:
        site.answers["/m.xml"] = urlset("/a", "/c")
    crawled(web, root, again=True)
    check(root, web, 2)
    for change in (rewrite, then):
        change(root, web)
    for site in web:
        site.answers["/robots.txt"] = Answer(hang_up=True)
    crawled(web[4:], root, again=True)
    found = Counter(row["site"] for row in rows_of(root, "pages"))
    assert [found[web[at].url("/")] for at in (0, 1, 4, 5)] == [1, 0, 2, 2]


def test_a_site_that_was_deleted_from_one_table_is_not_there_twice_when_it_comes_back(web, root):
    delete(root, "visits", "site", web[0].url("/"))
    crawled(web, root)
    check(root, web)


def test_a_table_that_is_rewritten_during_a_run_is_no_matter(web, root):
    def meanwhile(_: object) -> None:
        if not done:
            done.append(compact(root, web))

    done: list[None] = []
    for site in web:
        site.answers["/m.xml"] = urlset("/a", "/c")
    crawled(web, root, OPTIONS, meanwhile, again=True)
    check(root, web, 2)


def test_what_is_unknown_of_a_table_is_refused_and_columns_of_others_stay(web, root):
    table = opened(root, "pages")
    table.alter.add_columns([deltalake.Field("mine", "string")])
    crawled(web, root, again=True)
    check(root, web)
    assert "mine" in stored(root, "pages")[0]
    feature = deltalake.TableFeatures.ColumnMapping
    opened(root, "pages").alter.add_feature(feature, allow_protocol_versions_increase=True)
    with pytest.raises(DatasetError, match="or crawl into another dataset"):
        crawled(web, root, again=True)


def test_a_full_disk_doubles_nothing_and_the_same_command_goes_on(web, root, monkeypatch):
    for number, table in enumerate(TABLES):
        for site in web:
            site.answers["/m.xml"] = urlset("/a", "/c", f"/new-{number}")
        with monkeypatch.context() as patch:
            patch.setattr("usp.fleet.engines.work", partial(fleet_support.on_a_full_disk, table))
            with pytest.raises(DatasetError, match="no space left on the disk"):
                crawled(web[:4], root, again=True)
        check(root, web)
        crawled(web, root, again=True)
    check(root, web)


@pytest.mark.long
def test_what_was_done_when_a_run_is_killed_stays_done(web, root, tmp_path):
    listed = tmp_path / "sites.txt"
    listed.write_text("\n".join(site.base for site in web))
    for site in web:
        site.answers["/m.xml"] = urlset("/new", "/a", "/b")
    web[-1].answers["/robots.txt"] = Answer(delay=600)
    patient = ["--timeout", "600", "--max", "document_seconds=3600"]  # nothing is given up
    argv = [str(listed), "-o", str(root), *ALLOWED, "--sites-per-host", "9", *patient]
    argv += ["--again", "--commit-seconds", "0.1"]
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, *argv], start_new_session=True, stderr=subprocess.DEVNULL
    ) as process:
        try:
            done = Counter[int]()
            while done[2] < COUNT - 1:
                assert process.poll() is None
                time.sleep(0.1)
                runs = Counter(row["run"] for row in rows_of(root, "sites"))
                if runs != done:
                    check(root, web)
                done = runs
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    web[-1].answers["/robots.txt"] = robots("/m.xml")
    assert crawled(web, root, again=True)["sites"] == 1
    check(root, web)
    urls = {row["url"] for row in rows_of(root, "pages")}
    assert {f"{site.base}/new" for site in web} <= urls


def test_a_text_from_outside_has_no_control_characters_in_a_table(root):
    bad = "exa\x1b[31mmple\x85.org\u202e/\x07"
    with Site({"/robots.txt": Answer("", 403, reason="No\x1b[2Jthing")}) as site:
        listed = [bad, site.base]
        options = replace(OPTIONS, use_known_paths=False)
        for _ in range(2):  # the second time, both are known
            summary = crawl_fleet(listed, root, FleetRun(workers=1, options=options))
            assert summary["missing"] == 0
    assert summary["sites"] == 0
    for table in TABLES:
        for row in stored(root, table):
            texts = [text for text in row.values() if isinstance(text, str)]
            assert all(text.isprintable() for text in texts), row
    assert len(rows_of(root, "sites")) == 2
