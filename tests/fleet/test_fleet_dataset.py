"""Nothing is lost and nothing stands twice, wherever a run was cut off."""

import contextlib
import gc
import itertools
import json
import shutil
import threading
from collections import Counter

import deltalake
import polars as pl
import pyarrow as pa
import pytest
from deltalake.exceptions import CommitFailedError
from fleet_support import OPTIONS, committed_files, counts_of, ended, files_of
from pyarrow import compute
from pyarrow import dataset as arrow_dataset

from usp._base.files import FileStore
from usp.export.arrow import record_batches
from usp.fleet import DatasetError, FleetProgress, FleetRun, crawl_fleet, crawler, dataset_stats
from usp.fleet.dataset import Committer, Dataset
from usp.fleet.site_list import Assignment
from usp.fleet.tables import (
    TABLES,
    Part,
    PartFile,
    PartWriter,
    page_columns,
    pages_of,
    rewritten,
    rows_of,
)
from usp.tree import sitemap_from_str


def row_of(site, outcome="complete", pages=3, **more):
    return {"site": site, "outcome": outcome, "pages": pages, "duration": 0.0} | more


def group_of(dataset, names, outcome="complete", pages=3, columns=None) -> Part:
    """Write sites as a worker would."""
    writer = PartWriter(dataset.store, 1, columns)
    for site in names:
        tree = sitemap_from_str("\n".join(f"{site}page-{number}" for number in range(pages)))
        for batch in record_batches(tree, page_columns(columns)):
            writer.add("pages", pages_of(site, batch, columns))
        writer.add("sitemaps", rows_of("sitemaps", [{"site": site, "url": f"{site}map.txt"}]))
        writer.add("sites", rows_of("sites", [row_of(site, outcome, pages)]))
    (group,) = writer.finish()
    return group


def write(dataset, names, outcome="complete") -> None:
    """Crawl sites in a run of their own."""
    number = dataset.begin_run()
    older = dataset.files_with(set(names), names)
    committer = Committer(dataset, number, older)
    committer.take(group_of(dataset, names, outcome))
    committer.close()


def in_folder(dataset, table) -> Counter[str]:
    """Read a table by its folder, as anybody can."""
    found = arrow_dataset.dataset(dataset.store.path(table), format="parquet")
    return Counter(found.to_table(columns=["site"]).column("site").to_pylist())


def sites(*names: str) -> list[str]:
    return [f"http://{name}/" for name in names]


def check(dataset, names) -> None:
    """Every reader sees these sites, and each of them once."""
    for table, count in (("sites", 1), ("pages", 3), ("sitemaps", 1)):
        expected = Counter(dict.fromkeys(names, count))
        assert counts_of(dataset.store.root, table) == expected
        seen = pl.read_delta(dataset.store.path(table)).get_column("site").to_list()
        assert Counter(seen) == expected


class CutError(Exception):
    """The machine is gone."""


def cut_at(monkeypatch, number: int) -> None:
    """Let every step that changes a table fail from the given one on."""
    done: Counter[str] = Counter()
    real = Dataset._write

    def step(self, *arguments, **options):
        if done["steps"] >= number:
            raise CutError
        done["steps"] += 1
        real(self, *arguments, **options)

    monkeypatch.setattr(Dataset, "_write", step)


@pytest.mark.parametrize("step", range(7))
def test_a_commit_that_is_cut_off_at_any_step_is_there_as_a_whole_or_not_at_all(
    dataset, monkeypatch, step, root
):
    write(dataset, sites("a"))
    with monkeypatch.context() as patch:
        cut_at(patch, step)
        try:
            write(dataset, sites("b", "c"))
        except CutError:
            assert step < 6
        else:
            assert step == 6
    after = Dataset(root)
    after.begin_run()
    expected = sites("a") if step < 6 else sites("a", "b", "c")
    check(after, expected)
    assert files_of(root) == committed_files(root)
    write(after, sites("d"))
    write(after, sites("e"))
    check(after, [*expected, *sites("d", "e")])


def test_taking_back_what_was_cut_off_can_be_cut_off_itself(dataset, monkeypatch, root):
    write(dataset, sites("a"))
    with monkeypatch.context() as patch:
        cut_at(patch, 5)  # pages and sitemaps have it, sites has not
        with pytest.raises(CutError):
            write(dataset, sites("b"))
    for step in (0, 3, 3):
        with monkeypatch.context() as patch:
            cut_at(patch, step)
            with pytest.raises(CutError):
                Dataset(root).begin_run()
    after = Dataset(root)
    write(after, sites("b", "c"))
    check(after, sites("a", "b", "c"))


def test_a_site_that_is_crawled_again_stands_once_with_its_later_rows(dataset):
    write(dataset, sites("a", "b", "c"), "failed")
    write(dataset, sites("d"))
    write(dataset, sites("b", "d", "e"))
    check(dataset, sites("a", "b", "c", "d", "e"))
    failed, complete = sites("a", "c"), sites("b", "d", "e")
    assert dataset.sites() == dict.fromkeys(failed, "failed") | dict.fromkeys(complete, "complete")
    dataset.vacuum()
    assert set(in_folder(dataset, "sites")) == set(sites("a", "b", "c", "d", "e"))
    assert max(in_folder(dataset, "sites").values()) == 1


def test_what_is_crawled_again_is_committed_as_it_comes(dataset, monkeypatch):
    monkeypatch.setattr("usp.fleet.dataset._SHARE", 0)
    write(dataset, sites("a", "b", "c", "d"), "failed")
    number = dataset.begin_run()
    older = dataset.files_with(set(sites("a", "b", "c")), dataset.sites())
    committer = Committer(dataset, number, older)
    for name in sites("a", "b", "c"):
        assert [row["site"] for row in committer.take(group_of(dataset, [name]))] == [name]
        check(dataset, sites("a", "b", "c", "d"))
        assert dataset.sites()[name] == "complete"
    assert committer.close() == []
    assert dataset.sites()["http://d/"] == "failed"


def test_columns_that_a_later_run_writes_are_added(root):
    for site, columns in (("a", ("url",)), ("b", ("url", "lastmod"))):
        made = Dataset(root)
        made.make(columns)
        made.begin_run()
        made.commit([group_of(made, sites(site), columns=columns)])
    read = made.table("pages").to_pyarrow_table()
    assert set(read.column_names) == {"site", "url", "lastmod"}
    assert Counter(read.column("site").to_pylist()) == {"http://a/": 3, "http://b/": 3}
    assert read.column("lastmod").null_count == 6


def test_a_filter_finds_what_is_there(dataset):
    """Limits of values that are wrong, or missing, would leave out rows."""
    write(dataset, sites("m", "a"))
    pages = dataset.table("pages").to_pyarrow_dataset()
    assert pages.count_rows(filter=compute.field("lastmod").is_valid()) == 0
    assert pages.count_rows(filter=compute.field("site") == "http://a/") == 3


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.doc").touch()
    with pytest.raises(DatasetError, match="not a dataset of usp crawl; choose another folder"):
        Dataset(tmp_path).make()
    with pytest.raises(DatasetError, match="is a file"):
        Dataset(tmp_path / "thesis.doc").make()
    with pytest.raises(DatasetError, match="'usp crawl SITES -o DATASET'"):
        dataset_stats(tmp_path)


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"PAR1" + bytes(100) + b"PAR1"])
def test_the_stats_of_a_damaged_file_are_an_error(dataset, capsys, damage, root):
    write(dataset, sites("a"))
    (path,) = root.glob("sites/*.parquet")
    path.write_bytes(damage)
    with pytest.raises(DatasetError, match="cannot be read"):
        dataset_stats(dataset.store.root)
    assert ended(capsys, "stats", dataset.store.root)[0] == 1


def test_progress_counts_a_site_once_and_knows_the_slowest():
    progress = FleetProgress(10)
    for number in range(7):
        row = row_of(f"http://{number}/", "failed", pages=2, duration=float(number))
        progress.take(row)
        progress.take(Part((row,), ()))
    assert (progress.done, progress.pages) == (7, 14)
    assert progress.slowest[0] == (6.0, "http://6/")
    assert "7 of 10 sites · 7 failed" in progress.line()
    assert progress.summary()["slowest"][0] == {"site": "http://6/", "seconds": 6.0}


def test_the_schema_of_a_table_has_no_dictionaries(dataset):
    for table in TABLES:
        schema = pa.schema(dataset.table(table).schema().to_arrow())
        assert not any(pa.types.is_dictionary(field.type) for field in schema)


# A log that somebody else has written ----------------------------------------------------------------

ELSEWHERE = [
    "../../victim.txt",
    "..%2F..%2Fvictim.txt",
    "a/../../../victim.txt",
    "{victim}",
    "file://{victim}",
]
ACTIONS = {
    "add": {"partitionValues": {}, "modificationTime": 0},
    "remove": {"deletionTimestamp": 0},
}


@pytest.mark.long
def test_a_log_that_names_something_else_harms_nothing(dataset, tmp_path):
    victim, root, good = (tmp_path / name for name in ("victim.txt", "copy", "dataset"))
    victim.write_text("precious")
    write(dataset, sites("a", "b"), "failed")
    uses = (
        lambda: dataset_stats(root),
        lambda: Dataset(root).begin_run(),
        lambda: crawl_fleet([], root, FleetRun(retry_failed=True)),
        lambda: write(Dataset(root), sites("a")),
    )
    for path, action, table in itertools.product(ELSEWHERE, ACTIONS, ("pages", "sites")):
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(good, root)
        log = root / table / "_delta_log"
        number = len(list(log.glob("*.json")))
        facts = {"path": path.format(victim=victim), "dataChange": True, "size": 8}
        line = json.dumps({action: facts | ACTIONS[action]})
        (log / f"{number:020}.json").write_text(f"{line}\n")
        for use in uses:
            with contextlib.suppress(DatasetError):
                use()
        assert victim.read_text() == "precious", (path, action, table)


# A commit happens exactly once, whoever else is there and whatever the store says about it --------


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
def test_a_dataset_whose_creation_was_cut_short_is_completed(root, there):
    for name in there:
        (root / name).mkdir(parents=True)
    made = Dataset(root)
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


def test_there_is_a_checkpoint_every_twenty_commits(dataset, root):
    """A commit reads all others since the last one, in an object store by a request each."""
    dataset.begin_run()
    for number in range(20):
        name = f"part-00001-{number:016x}.parquet"
        files = (PartFile(table, f"{table}/{name}", 1000, 10) for table in TABLES)
        dataset.commit([Part((), tuple(files))])
    for table in TABLES:
        log = root / table / "_delta_log"
        assert (log / "_last_checkpoint").exists(), table
        assert len(list(log.glob("*.checkpoint.parquet"))) == 1
