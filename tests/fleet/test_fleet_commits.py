"""A commit happens exactly once, whoever else is there and whatever the store says about it."""

from __future__ import annotations

import gc
import threading

import deltalake
import pytest
from deltalake.exceptions import CommitFailedError
from fleet_support import OPTIONS
from test_fleet_dataset import check, group_of, sites, write

from usp._base.files import FileStore
from usp.fleet import DatasetError, crawler
from usp.fleet.dataset import Dataset
from usp.fleet.site_list import Assignment
from usp.fleet.tables import rewritten


def failing(monkeypatch, errors, *, done: bool) -> None:
    """Let commits fail with these errors, after they were made or without making them."""
    real = deltalake.DeltaTable.create_write_transaction

    def attempt(self, *arguments, **options):
        if errors:
            if done:
                real(self, *arguments, **options)
            raise errors.pop()
        real(self, *arguments, **options)

    monkeypatch.setattr(deltalake.DeltaTable, "create_write_transaction", attempt)


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("error", [OSError("connection reset"), CommitFailedError("0")])
def test_a_commit_whose_response_is_lost_is_not_repeated(dataset, monkeypatch, error, done):
    write(dataset, sites("a"))
    dataset.begin_run()
    group = group_of(dataset, sites("b"))
    before = dataset.table("pages").version()
    failing(monkeypatch, [error], done=done)
    dataset.commit([group])
    check(dataset, sites("a", "b"))
    assert dataset.table("pages").version() == before + 1


def test_a_store_that_stays_away_ends_the_run_with_a_message(dataset, monkeypatch):
    dataset.begin_run()
    failing(monkeypatch, [OSError("error sending request")] * 9, done=False)
    with pytest.raises(DatasetError, match=r"cannot use .*: error sending request"):
        dataset.commit([group_of(dataset, sites("a"))])


def test_a_commit_of_somebody_else_does_not_end_a_run(dataset):
    dataset.begin_run()
    group = group_of(dataset, sites("a"))
    other = deltalake.DeltaTable(dataset.store.path("sites"))
    other.alter.set_table_properties({"delta.appendOnly": "false"})
    dataset.commit([group])
    check(dataset, sites("a"))


@pytest.mark.parametrize("table", ["pages", "sitemaps", "sites"])
def test_an_older_run_writes_to_no_table_once_a_newer_one_has_begun(dataset, table, monkeypatch):
    """Also if it has come half way when that happens."""
    dataset.begin_run()
    group = group_of(dataset, sites("a"))
    newer = Dataset(dataset.store.root)
    real = Dataset._write

    def write_after_that(self, name, *arguments, **options):
        if self is dataset and name == table:
            newer.begin_run()
        real(self, name, *arguments, **options)

    monkeypatch.setattr(Dataset, "_write", write_after_that)
    with pytest.raises(DatasetError, match="a newer run has taken over"):
        dataset.commit([group])
    check(newer, [])
    newer.commit([group_of(newer, sites("a", "b"))])
    check(newer, sites("a", "b"))
    with pytest.raises(DatasetError, match="a newer run has taken over"):
        dataset.vacuum()  # it would remove what the newer one has not committed yet


def test_of_two_runs_that_begin_together_one_goes_on(dataset, monkeypatch):
    other = Dataset(dataset.store.root)
    real = Dataset._write

    def write_second(self, *arguments, **options):
        monkeypatch.setattr(Dataset, "_write", real)
        other.begin_run()
        real(self, *arguments, **options)

    monkeypatch.setattr(Dataset, "_write", write_second)
    with pytest.raises(DatasetError, match="a newer run has taken over"):
        dataset.begin_run()
    other.commit([group_of(other, sites("a"))])
    check(other, sites("a"))


@pytest.mark.parametrize("there", [["pages"], ["pages", "pages/_delta_log"]])
def test_a_dataset_whose_creation_was_cut_short_is_completed(tmp_path, there):
    for name in there:
        (tmp_path / "dataset" / name).mkdir(parents=True)
    made = Dataset(tmp_path / "dataset")
    made.make()
    write(made, sites("a"))
    check(made, sites("a"))


# What is missing or damaged ends a run with one message, whatever else fails with it ------------------


def test_a_file_that_is_not_parquet_any_more_is_named(tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "part-1.parquet").write_bytes(b"xx")
    with pytest.raises(DatasetError, match=r"pages/part-1\.parquet"):
        rewritten(FileStore(tmp_path), 2, ["pages/part-1.parquet"], ["https://a/"], ("url",))


def test_sites_that_fail_together_with_their_store_end_in_one_error(tmp_path, monkeypatch, caplog):
    """Tracebacks of the others would be printed by asyncio."""
    together = threading.Barrier(4)

    def gone(*_: object) -> None:
        together.wait(20)
        raise DatasetError("the store is gone")

    monkeypatch.setattr(crawler, "finder", lambda *_, **__: gone)
    batch = [
        (f"https://{name}.invalid/", Assignment(name, ("sites/part-1.parquet",))) for name in "abcd"
    ]
    with pytest.raises(DatasetError, match="the store is gone"):
        list(crawler.crawl_tables(iter([batch]), OPTIONS, crawler.Job(str(tmp_path), 2, OPTIONS)))
    gc.collect()
    assert caplog.messages == []
