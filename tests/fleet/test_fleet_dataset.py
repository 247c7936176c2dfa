"""Nothing is lost and nothing stands twice, wherever a writer was cut off."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import dataset as arrow_dataset
from pyarrow import parquet

from usp.export.arrow import record_batches
from usp.fleet import FleetOptions, FleetProgress
from usp.fleet.crawler import Job, failed_row
from usp.fleet.dataset import Commit, Dataset, DatasetError
from usp.fleet.ray_engine import _Task
from usp.fleet.tables import GroupWriter, page_columns, pages_of, remove_older_rows, rows_of
from usp.tree import sitemap_from_str


@pytest.fixture
def dataset(tmp_path):
    made = Dataset(tmp_path / "dataset")
    made.make()
    return made


def add(writer: GroupWriter, site: str, outcome: str = "complete", pages: int = 3) -> None:
    """Write a site as a crawl would."""
    tree = sitemap_from_str("\n".join(f"{site}page-{number}" for number in range(pages)))
    for batch in record_batches(tree, page_columns()):
        writer.add("pages", pages_of(site, batch, None))
    writer.add("sitemaps", rows_of("sitemaps", [{"site": site, "url": f"{site}map.txt"}]))
    row = failed_row(site, "") | {"outcome": outcome, "reason": None, "pages": pages}
    writer.add("sites", rows_of("sites", [row]))


def write(dataset: Dataset, sites: list[str], writer: str = "w", outcome: str = "complete") -> None:
    group = GroupWriter(dataset, dataset.last_run() or dataset.begin_run(), writer)
    for site in sites:
        add(group, site, outcome)
    group.commit()


def in_table(dataset: Dataset, table: str) -> Counter[str]:
    rows = arrow_dataset.dataset(dataset.root / table, format="parquet").to_table(columns=["site"])
    return Counter(rows.column("site").to_pylist())


def sites(*names: str) -> list[str]:
    return [f"http://{name}/" for name in names]


def test_what_is_committed_is_what_a_reader_of_the_folders_sees(dataset):
    write(dataset, sites("a", "b"))
    write(dataset, sites("c"))
    assert dict(in_table(dataset, "sites")) == dict.fromkeys(sites("a", "b", "c"), 1)
    assert dict(in_table(dataset, "pages")) == dict.fromkeys(sites("a", "b", "c"), 3)
    assert dataset.sites() == dict.fromkeys(sites("a", "b", "c"), "complete")


class CutError(Exception):
    """The machine is gone."""


def cut_at(monkeypatch: pytest.MonkeyPatch, number: int) -> Counter[str]:
    """Let every step that changes the disk fail from the given one on."""
    done: Counter[str] = Counter()

    def wrap(real):
        def step(*args, **options):
            if done["steps"] >= number:
                raise CutError
            done["steps"] += 1
            return real(*args, **options)

        return step

    for owner, name in ((os, "link"), (os, "fsync"), (Path, "replace"), (Path, "unlink")):
        monkeypatch.setattr(owner, name, wrap(getattr(owner, name)))
    return done


@pytest.mark.parametrize("step", range(14))
def test_a_commit_that_is_cut_off_at_any_step_is_there_as_a_whole_or_not_at_all(
    dataset, monkeypatch, step
):
    write(dataset, sites("a"))
    with monkeypatch.context() as patch:
        cut_at(patch, step)
        with contextlib.suppress(CutError):
            write(dataset, sites("b", "c"), "other")
    after = Dataset(dataset.root)
    after.recover()
    found = in_table(after, "sites")
    assert set(found) in ({*sites("a")}, {*sites("a", "b", "c")})
    assert set(found) == set(after.sites())
    for table in ("pages", "sitemaps"):
        assert set(in_table(after, table)) == set(found)
    assert not list((dataset.root / "_staging").iterdir())


def test_a_site_that_was_crawled_again_stands_once_with_its_later_rows(dataset):
    write(dataset, sites("a", "b", "c"), outcome="failed")
    write(dataset, sites("d"))
    dataset.begin_run()
    write(dataset, sites("b", "d"))
    assert remove_older_rows(dataset) == 2
    assert remove_older_rows(dataset) == 0
    assert dataset.sites() == {
        "http://a/": "failed",
        "http://b/": "complete",
        "http://c/": "failed",
        "http://d/": "complete",
    }
    for table, count in (("sites", 1), ("pages", 3), ("sitemaps", 1)):
        assert dict(in_table(dataset, table)) == dict.fromkeys(sites("a", "b", "c", "d"), count)


def test_rows_of_an_older_version_are_kept_although_they_lack_columns(dataset):
    write(dataset, sites("a", "b"), outcome="failed")
    (path,) = (dataset.root / "sites").iterdir()
    older = parquet.read_table(path).drop_columns(["requests", "started"])
    parquet.write_table(older, path)
    dataset.begin_run()
    write(dataset, sites("b"))
    assert remove_older_rows(dataset) == 1
    rows = arrow_dataset.dataset(dataset.root / "sites", format="parquet").to_table().to_pylist()
    assert {row["site"]: (row["outcome"], row["requests"]) for row in rows} == {
        "http://a/": ("failed", None),
        "http://b/": ("complete", 0),
    }


@pytest.mark.parametrize("step", range(16))
def test_tidying_that_is_cut_off_at_any_step_is_completed_later(dataset, monkeypatch, step):
    write(dataset, sites("a", "b", "c"), outcome="failed")
    dataset.begin_run()
    write(dataset, sites("b"))
    with monkeypatch.context() as patch:
        cut_at(patch, step)
        with contextlib.suppress(CutError):
            remove_older_rows(dataset)
    after = Dataset(dataset.root)
    after.recover()
    remove_older_rows(after)
    assert after.sites()["http://b/"] == "complete"
    for table, count in (("sites", 1), ("pages", 3)):
        assert dict(in_table(after, table)) == dict.fromkeys(sites("a", "b", "c"), count)


def test_two_writers_of_one_name_do_not_replace_each_other(dataset):
    run = dataset.begin_run()
    first, second = (GroupWriter(dataset, run, "same") for _ in range(2))
    add(first, "http://a/")
    first.commit()
    add(second, "http://a/")
    with pytest.raises(FileExistsError):
        second.commit()
    second.discard()
    assert dict(in_table(dataset, "sites")) == {"http://a/": 1}


def test_a_writer_of_an_older_run_commits_no_more(dataset):
    writer = GroupWriter(dataset, dataset.begin_run(), "old")
    add(writer, "http://a/")
    dataset.begin_run()
    with pytest.raises(DatasetError, match="a newer run"):
        writer.commit()
    assert not dataset.sites()


def test_a_part_that_somebody_took_away_is_named(dataset):
    write(dataset, sites("a"))
    for path in (dataset.root / "pages").iterdir():
        path.unlink()
    with pytest.raises(DatasetError, match="is missing; restore it, or delete"):
        dataset.recover()


def test_a_commit_that_cannot_be_read_is_named(dataset):
    (dataset.root / "_commits" / "00001-x-00000.json").write_text("{")
    with pytest.raises(DatasetError, match="delete it to crawl its sites again"):
        dataset.commits()


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.doc").touch()
    with pytest.raises(DatasetError, match="not a dataset of usp crawl; choose another folder"):
        Dataset(tmp_path).make()
    with pytest.raises(DatasetError, match="is a file"):
        Dataset(tmp_path / "thesis.doc").make()
    with pytest.raises(DatasetError, match="'usp crawl SITES -o FOLDER'"):
        Dataset(tmp_path).check()


def test_one_run_at_a_time_writes_to_a_dataset(dataset, monkeypatch):
    with (
        dataset.only_run(),
        pytest.raises(DatasetError, match="another run"),
        dataset.only_run(),
    ):
        pass
    monkeypatch.setattr("usp.fleet.dataset.LOCK_SECONDS", 0.0)
    run = dataset.begin_run()
    with (
        dataset.as_worker(run),
        dataset.as_worker(run),
        pytest.raises(DatasetError, match="workers of an older run"),
        dataset.without_workers(),
    ):
        pass
    with dataset.only_run(), dataset.without_workers():
        pass


def test_a_worker_that_its_driver_left_behind_writes_nothing_once_a_newer_run_has_begun(dataset):
    batch = pa.table({"site": ["http://127.0.0.1:1/"], "key": ["127.0.0.1"]})
    task = _Task(Job(dataset.root, dataset.begin_run(), FleetOptions()))
    dataset.begin_run()
    with pytest.raises(DatasetError, match="a newer run has taken over"):
        list(task(batch))
    assert not list((dataset.root / "_staging").iterdir())


def test_a_commit_is_what_it_was_after_it_was_written():
    commit = Commit(
        "00001-w-00001",
        ("pages/part-00001-w-00001.parquet",),
        {"http://a/": "empty"},
        ("00001-w-00000",),
    )
    assert Commit.from_json(commit.to_json()) == commit


def test_progress_counts_a_site_once_and_knows_the_slowest():
    progress = FleetProgress(10)
    for number in range(7):
        row = failed_row(f"http://{number}/", "x") | {"duration": float(number), "pages": 2}
        progress.take("site", row)
        progress.take("committed", [row])
    assert (progress.done, progress.pages) == (7, 14)
    assert progress.slowest()[0] == ("http://6/", 6.0)
    assert "7 of 10 sites · 7 failed" in progress.line()
    assert progress.summary()["slowest"][0] == {"site": "http://6/", "seconds": 6.0}
