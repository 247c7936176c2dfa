"""Nothing is lost and nothing counts twice, wherever a run was cut off and whoever else writes."""

import contextlib
import itertools
import json
import shutil
from collections import Counter
from contextlib import nullcontext
from datetime import UTC, datetime

import deltalake
import polars as pl
import pyarrow as pa
import pytest
from deltalake.exceptions import CommitFailedError
from fleet_support import ended, outcomes_of, rows_of, stored

from usp.export.arrow import record_batches
from usp.fleet import DatasetError, FleetProgress, FleetRun, crawl_fleet, current_sql, dataset_stats
from usp.fleet.dataset import Dataset, first_number
from usp.fleet.joins import KnownSites
from usp.fleet.options import Shard, hash_of
from usp.fleet.tables import (
    BUCKETS,
    TABLES,
    Part,
    PartFile,
    PartWriter,
    bucket_of,
    domain_of,
    page_columns,
    pages_of,
)
from usp.tree import sitemap_from_str

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def row_of(site, outcome="complete", pages=3, **more):
    known = {"site": site, "domain": domain_of(site), "visit": f"{site}!", "started": NOW}
    return known | {"outcome": outcome, "pages": pages, "duration": 0.0} | more


def part_of(dataset, names, run=1, writer="0/1.0", columns=None, **more) -> Part:
    """Write sites as a worker would."""
    parts = PartWriter(dataset.store, writer, first_number(run), columns=columns)
    for site in names:
        row = row_of(site, visit=f"{run}.{writer}.{site}", **more)
        tree = sitemap_from_str("\n".join(f"{site}page-{number}" for number in range(3)))
        for batch in record_batches(tree, page_columns(columns)):
            (sitemap,) = set(batch.column("sitemap").to_pylist())
            parts.add("pages", pages_of(batch, row, {sitemap: "digest"}, columns))
        fetch = {"sitemap": sitemap, "pages_visit": row["visit"], "pages": 3, "good": True}
        parts.add("fetches", [row | fetch | {"type": "text", "fetched_at": row["started"]}])
        parts.add("visits", [row])
    (part,) = parts.finish()
    return part


def write(dataset, names, outcome="complete", **more) -> None:
    """Crawl sites in a run of their own."""
    dataset.commit([part_of(dataset, names, dataset.begin_run(), outcome=outcome, **more)])


def sites(*names: str) -> list[str]:
    return [f"http://{name}/" for name in names]


def check(dataset, names) -> None:
    """Every reader sees these sites, and each of them once."""
    root = dataset.store.root
    for view, count in (("sites", 1), ("pages", 3), ("sitemaps", 1)):
        expected = Counter(dict.fromkeys(names, count))
        assert Counter(row["site"] for row in rows_of(root, view)) == expected
        tables = {
            name: pl.scan_delta(dataset.store.path(name)) for name in ("visits", "fetches", "pages")
        }
        columns = ["site"] if view != "pages" else ["site", "url"]
        seen = pl.SQLContext(tables).execute(current_sql(view, columns), eager=True)
        assert Counter(seen.get_column("site").to_list()) == expected


class CutError(Exception):
    """The machine is gone."""


@pytest.mark.parametrize("step", range(4))
def test_a_commit_that_is_cut_off_at_any_step_counts_as_a_whole_or_not_at_all(
    dataset, monkeypatch, step, root
):
    write(dataset, sites("a"))
    done = itertools.count()
    real = Dataset._commit

    def commit(self, *arguments):
        if next(done) >= step:
            raise CutError
        real(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Dataset, "_commit", commit)
        with contextlib.suppress(CutError):
            write(dataset, sites("b", "c"))
    after = Dataset(root)
    expected = sites("a") if step < len(TABLES) else sites("a", "b", "c")
    check(after, expected)
    write(after, sites("d"))
    write(after, sites("b"))
    check(after, [*expected, *sites("b", "d")])


def test_a_site_that_is_visited_again_has_its_later_rows(dataset, root):
    write(dataset, sites("a", "b", "c"), "failed")
    write(dataset, sites("b", "d"), started=NOW.replace(year=2027))
    check(dataset, sites("a", "b", "c", "d"))
    failed, complete = sites("a", "c"), sites("b", "d")
    expected = dict.fromkeys(failed, "failed") | dict.fromkeys(complete, "complete")
    assert outcomes_of(root) == expected
    assert dataset.outcomes() == {"failed": 2, "complete": 2}


def test_columns_that_a_later_run_writes_are_added(root):
    for run, (site, columns) in enumerate((("a", ("url",)), ("b", ("url", "lastmod"))), 1):
        made = Dataset(root)
        made.make(columns)
        made.commit([part_of(made, sites(site), run, columns=columns)])
    read = rows_of(root, "pages")
    assert Counter(row["site"] for row in read) == {"http://a/": 3, "http://b/": 3}
    assert {row["lastmod"] for row in read} == {None}


DOMAINS = {
    "https://www.example.org/": "example.org",
    "https://a.b.example.co.uk/": "example.co.uk",
    "https://co.uk/": "co.uk",
    "http://127.0.0.1:80/": "127.0.0.1",
    "http://[::1]/": "::1",
    "two words": "two words",
}


def test_a_site_has_a_domain_and_a_bucket_and_belongs_to_one_shard():
    for site, domain in DOMAINS.items():
        assert domain_of(site) == domain
        assert bucket_of(domain) == hash_of(domain) % BUCKETS
        assert sum(domain in Shard(number, 3) for number in range(3)) == 1
    for text in ("4/4", "1", "-1/2", "a/b"):
        with pytest.raises(ValueError, match="write 0/4"):
            Shard.read(text)


def test_new_sites_of_a_list_are_found_and_known_ones_with_what_is_known(dataset):
    write(dataset, sites("a", "b"))
    found = []
    with KnownSites(dataset, Shard()) as known:
        found += known.new(iter(sites("b", "c", "c", "d")))
        assert found == list(zip(sites("b", "c", "d"), (True, False, False), strict=True))
        known.listed(sites("a", "z"))
        (one,) = known.known("true", checks=True)
        row, (sitemap,) = one.rows()
        assert (one.url, row["site"], one.sitemaps, sitemap["pages"]) == (*2 * sites("a"), 1, 3)
        assert list(known.unknown()) == sites("z")
    seen = []
    for number in range(3):
        with KnownSites(dataset, Shard(number, 3)) as known:
            seen += [one.url for one in known.known("true")]
    assert sorted(seen) == sites("a", "b")


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
    (path,) = root.glob("visits/*/*.parquet")
    path.write_bytes(damage)
    with pytest.raises(DatasetError, match="cannot be read"):
        dataset_stats(dataset.store.root)
    assert ended(capsys, "stats", dataset.store.root)[0] == 1


def test_progress_counts_a_site_once_and_knows_the_slowest():
    progress = FleetProgress()
    progress.total = 10
    for number in range(7):
        row = row_of(f"http://{number}/", "failed", pages=2, duration=float(number))
        progress.take(row)
        progress.take(Part((row,), (), "0/1.0", 1))
    assert (progress.done, progress.pages) == (7, 14)
    assert progress.slowest[0] == (6.0, "http://6/")
    assert "7 of 10 sites · 7 failed" in progress.line()
    assert progress.summary()["slowest"][0] == {"site": "http://6/", "seconds": 6.0}
    assert progress.summary()["guard"] is None
    for lost, is_told in ((2, False), (3, True)):  # of ten that were good: a fifth may fail
        progress.were_good, progress.lost = 10, lost
        assert (progress.summary()["guard"] is not None) == is_told


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
    "add": {"partitionValues": {"bucket": "1"}, "modificationTime": 0},
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
        lambda: Dataset(root).vacuum(),
        lambda: write(Dataset(root), sites("a")),
    )
    for path, action, table in itertools.product(ELSEWHERE, ACTIONS, ("pages", "visits")):
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
    part = part_of(dataset, sites("b"), dataset.begin_run())
    before = dataset.table("pages").version()
    failing(monkeypatch, [error], done=done)
    dataset.commit([part])
    check(dataset, sites("a", "b"))
    assert dataset.table("pages").version() == before + 1


def test_a_store_that_stays_away_ends_the_run_with_a_message(dataset, monkeypatch):
    monkeypatch.setattr("usp.fleet.dataset._PAUSE", 0.001)
    failing(monkeypatch, [OSError("error sending request")] * 99, done=False)
    with pytest.raises(DatasetError, match=r"cannot use .*: error sending request"):
        dataset.commit([part_of(dataset, sites("a"))])


def test_others_may_write_at_the_same_time_whoever_they_are(dataset, root):
    number = dataset.begin_run()
    part = part_of(dataset, sites("a"), number)
    other = deltalake.DeltaTable(dataset.store.path("visits"))
    other.alter.set_table_properties({"delta.appendOnly": "false"})
    second = Dataset(root)
    assert second.begin_run() == number + 1
    second.commit([part_of(second, sites("b"), number + 1, "1/2.0")])
    dataset.commit([part])
    check(dataset, sites("a", "b"))


def test_a_run_ends_when_another_one_writes_as_the_same_shard(dataset, root):
    older, newer = dataset.begin_run(), Dataset(root).begin_run()
    dataset.commit([part_of(dataset, sites("a"), older)])
    Dataset(root).commit([part_of(dataset, sites("b"), newer)])
    with pytest.raises(DatasetError, match="as the same shard; this one ends"):
        dataset.commit([part_of(dataset, sites("c"), older)])
    check(Dataset(root), sites("a", "b"))


@pytest.mark.parametrize(
    ("shard", "told"), [("1/2", "as the same shard"), ("0/3", "in 3 shards"), ("0/2", "")]
)
def test_a_run_that_visits_sites_again_ends_when_another_one_may_visit_the_same(
    dataset, root, shard, told
):
    """Also before the other one has committed anything: it knows the sites as they were."""
    older, newer, new = dataset.begin_run("1/2"), Dataset(root), Dataset(root)
    new.commit([part_of(new, sites("a"), new.begin_run(), "0/1.0")])  # which visits none again
    dataset.commit([part_of(dataset, sites("b"), older, "1/2.0")])
    last = newer.begin_run(shard)
    with pytest.raises(DatasetError, match=f"{told}; this one ends") if told else nullcontext():
        dataset.commit([part_of(dataset, sites("c"), older, "1/2.1")])
    newer.commit([part_of(newer, sites("d"), last, f"{shard}.2")])
    check(newer, sites("a", "b", *["c"] * (not told), "d"))


@pytest.mark.parametrize("there", [["pages"], ["pages", "pages/_delta_log"]])
def test_a_dataset_whose_creation_was_cut_short_is_completed(root, there):
    for name in there:
        (root / name).mkdir(parents=True)
    made = Dataset(root)
    made.make()
    write(made, sites("a"))
    check(made, sites("a"))


def test_there_is_a_checkpoint_every_twenty_commits(dataset, root):
    """A commit reads all others since the last one, in an object store by a request each."""
    for number in range(20):
        name = f"bucket=1/part-{number:016x}.parquet"
        files = (PartFile(table, name, 1, 1000, 10) for table in TABLES)
        dataset.commit([Part((), tuple(files), "0/1.0", number + 1)])
    for table in TABLES:
        log = root / table / "_delta_log"
        assert (log / "_last_checkpoint").exists(), table
        assert len(list(log.glob("*.checkpoint.parquet"))) == 1


def test_a_dataset_of_an_older_version_is_named(root):
    for table in ("pages", "sites"):
        schema = pa.schema([("site", pa.string())])
        deltalake.DeltaTable.create(str(root / table), deltalake.Schema.from_arrow(schema))
    files = sorted(root.rglob("*"))
    for use in (Dataset(root).make, Dataset(root).require):
        with pytest.raises(DatasetError, match=r"older version of usp crawl; 'usp convert .* -o"):
            use()
    assert sorted(root.rglob("*")) == files  # nothing is changed before


def test_rows_of_a_commit_that_did_not_reach_visits_are_stored_and_do_not_count(dataset, root):
    part = part_of(dataset, sites("a"), dataset.begin_run())
    dataset._commit("pages", [part])
    dataset._commit("fetches", [part])
    assert len(stored(root, "pages")) == 3
    check(dataset, [])
