"""Rows are never added without removing the old ones, whatever went wrong or was done in between."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from fleet_support import ALLOWED, COMMAND, OPTIONS, counts_of, crawled

from usp._base.files import StoredFile
from usp.fleet import DatasetError, FleetRun, crawl_fleet
from website import Answer, Site, robots, urlset

TABLES = ("pages", "sitemaps", "sites")
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
    for table, count in (("pages", pages), ("sitemaps", 2), ("sites", 1)):
        assert counts_of(root, table) == dict.fromkeys(names, count), table


def compact(root: Path, web: list[Site]) -> None:
    for table in TABLES:
        opened(root, table).optimize.compact()


def order(root: Path, web: list[Site]) -> None:
    opened(root, "pages").optimize.z_order(["url"])
    opened(root, "pages").vacuum(0, dry_run=False, enforce_retention_duration=False)


def delete(table: str, column: str, path: str) -> Callable[..., None]:
    """Delete a row of the first website from a table."""
    return lambda root, web: opened(root, table).delete(f"{column} = '{web[0].base}{path}'")


delete_a_page = delete("pages", "url", "/a")
delete_a_site = delete("sites", "site", "/")


def update(root: Path, web: list[Site]) -> None:
    opened(root, "pages").update({"priority": "0.5"}, predicate=f"site = '{web[1].base}/'")


def double(root: Path, web: list[Site]) -> None:
    for table in TABLES:
        every = opened(root, table).to_pyarrow_table()
        deltalake.write_deltalake(root / table, every, mode="append")


CHANGES = {
    **{change.__name__: change for change in (compact, order, update, double)},
    "delete a page": delete_a_page,
    "delete a sitemap": delete("sitemaps", "url", "/m.xml"),
    "delete a site": delete_a_site,
}


@pytest.mark.long
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_other_programs_have_rewritten_is_replaced(web, tmp_path, change: Callable[..., None]):
    root = tmp_path / "twice"
    crawled(web[:-1], root)
    crawled(web[-1:], root)
    change(root, web)
    crawled(web[:4], root, again=True)  # some stay as they are
    crawled(web, root, again=True)
    check(root, web)
    change(root, web)
    for site in web:
        site.answers["/robots.txt"] = Answer(hang_up=True)
    if change is not double:
        crawled(web, root, again=True)
        assert set(counts_of(root, "sites").values()) == {1}
        assert counts_of(root, "pages").total() >= 3 * COUNT - 1
    for site in web:
        site.answers["/robots.txt"] = robots("/m.xml")
    crawled(web, root, again=True)
    check(root, web)


def test_a_site_that_was_deleted_from_one_table_is_not_there_twice_when_it_comes_back(web, root):
    delete_a_site(root, web)
    crawled(web, root)
    check(root, web)


def test_a_table_that_is_rewritten_during_a_run_ends_it_and_the_next_goes_on(web, root):
    done: list[None] = []

    def meanwhile(_: object) -> None:
        if not done:
            done.append(delete_a_page(root, web))

    with pytest.raises(DatasetError, match=r"another program has rewritten .*pages"):
        crawled(web, root, OPTIONS, meanwhile, again=True)
    crawled(web, root, again=True)
    check(root, web)


@pytest.mark.parametrize("wrong", ["features", "columns"])
def test_what_cannot_be_rewritten_is_refused(web, root, wrong):
    table = opened(root, "pages")
    if wrong == "features":
        feature = deltalake.TableFeatures.DeletionVectors
        table.alter.add_feature(feature, allow_protocol_versions_increase=True)
    else:
        table.alter.add_columns([deltalake.Field("mine", "string")])
    before = opened(root, "pages").get_add_actions(flatten=True).column("path").to_pylist()
    with pytest.raises(DatasetError, match="or crawl into another dataset"):
        crawled(web, root, again=True)
    after = opened(root, "pages").get_add_actions(flatten=True).column("path").to_pylist()
    assert before == after
    assert all((root / "pages" / name).exists() for name in after)


def test_a_full_disk_doubles_nothing_and_the_same_command_goes_on(web, root, monkeypatch):
    write, parent = StoredFile.write, os.getpid()
    for table in TABLES:

        def fail(self: StoredFile, data: Any, table: str = table) -> None:
            if os.getpid() == parent and self._name.startswith(table):
                raise OSError(errno.ENOSPC, "No space left on device")
            write(self, data)

        with monkeypatch.context() as patch:
            patch.setattr(StoredFile, "write", fail)
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
    argv = [str(listed), "-o", str(root), *ALLOWED, "--together", "9", *patient]
    argv += ["--again", "--commit-seconds", "0.1"]
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, *argv], start_new_session=True, stderr=subprocess.DEVNULL
    ) as process:
        try:
            runs = Counter[int]()
            while runs[2] < COUNT - 1:
                assert process.poll() is None
                time.sleep(0.1)
                read = opened(root, "sites").to_pyarrow_table(columns=["run"])
                runs = Counter(read.column("run").to_pylist())
                check(root, web)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    web[-1].answers["/robots.txt"] = robots("/m.xml")
    assert crawled(web, root, again=True)["sites"] == 1
    check(root, web)
    urls = opened(root, "pages").to_pyarrow_table(columns=["url"]).column("url").to_pylist()
    assert {f"{site.base}/new" for site in web} <= set(urls)


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
        read = opened(root, table).to_pyarrow_table()
        texts = [name for name in read.schema.names if read.schema.field(name).type == pa.string()]
        for row in read.select(texts).to_pylist():
            assert all(text is None or text.isprintable() for text in row.values()), row
    assert len(counts_of(root, "sites")) == 2
