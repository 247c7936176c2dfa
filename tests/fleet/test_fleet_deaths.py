"""A worker that dies takes nothing with it, and a site that kills workers is found out."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import threading

import fleet_poison
import pyarrow as pa
import pytest
from fleet_support import OPTIONS

from usp.fleet import FleetRun, crawl_fleet, local_engine, ray_engine
from usp.fleet.crawler import Job, crawl_into
from usp.fleet.dataset import Dataset, DatasetError
from usp.fleet.local_engine import work
from usp.fleet.ray_engine import RayEngine, _Task

RUN = FleetRun(workers=2, options=OPTIONS, commit_seconds=0.2)


def test_a_site_that_kills_workers_fails_and_the_others_do_not(fleet, tmp_path, monkeypatch):
    monkeypatch.setattr(local_engine, "work", fleet_poison.dies_of_poison)
    monkeypatch.setattr(local_engine, "_BATCH", 4)
    some = [site for site in fleet.sites if site.kind in {"small", "indexed"}][:12]
    urls = [site.url for site in some]
    urls.insert(5, "http://poison.invalid/")
    summary = crawl_fleet(urls, tmp_path / "dataset", RUN)
    assert summary["sites"] == 13
    assert summary["workers_lost"] >= 3
    assert summary["pages"] == sum(len(site.pages) for site in some)
    outcomes = Dataset(tmp_path / "dataset").sites()
    assert outcomes.pop("http://poison.invalid/") == "failed"
    assert outcomes == {site.url: "complete" for site in some}


def test_workers_that_never_begin_end_the_run(fleet, tmp_path, monkeypatch):
    monkeypatch.setattr(local_engine, "work", fleet_poison.never_begins)
    with pytest.raises(DatasetError, match="exit status: 7"):
        crawl_fleet(fleet.urls[:3], tmp_path / "dataset", RUN)


def test_a_full_disk_ends_the_run_with_its_reason(fleet, tmp_path, monkeypatch):
    monkeypatch.setattr(local_engine, "work", fleet_poison.has_no_room)
    with pytest.raises(DatasetError, match="No space left"):
        crawl_fleet(fleet.urls[:3], tmp_path / "dataset", RUN)


def batch_of(urls):
    return pa.table({"site": urls, "key": urls})


def test_a_batch_that_is_handed_out_again_goes_on_where_it_was(fleet, tmp_path):
    dataset = Dataset(tmp_path / "dataset")
    dataset.make()
    urls = [site.url for site in fleet.sites if site.kind == "small"][:4]
    task = _Task(Job(dataset.root, dataset.begin_run(), OPTIONS))
    rows = pa.concat_tables(task(batch_of(urls)))
    assert sorted(rows.column("site").to_pylist()) == sorted(urls)
    before = sorted((dataset.root / "sites").iterdir())
    again = pa.concat_tables(task(batch_of(urls)))
    assert again.sort_by("site").equals(rows.sort_by("site"))
    assert sorted((dataset.root / "sites").iterdir()) == before


def test_a_batch_whose_workers_die_is_crawled_site_by_site(fleet, tmp_path):
    """Two workers have died with it, and a third one while it had the second site alone."""
    dataset = Dataset(tmp_path / "dataset")
    dataset.make()
    urls = [site.url for site in fleet.sites if site.kind == "small"][:3]
    task = _Task(Job(dataset.root, dataset.begin_run(), OPTIONS))
    name = f"p{hashlib.sha256(chr(10).join(urls).encode()).hexdigest()[:12]}"
    for number in range(2):
        (dataset.root / "_staging" / f"{name}.try{number}").touch()
    (dataset.root / "_staging" / f"{name}.alone").write_text(urls[1])
    rows = pa.concat_tables(task(batch_of(urls))).to_pylist()
    assert {row["site"]: row["outcome"] for row in rows} == {
        urls[0]: "complete",
        urls[1]: "failed",
        urls[2]: "complete",
    }
    assert not list((dataset.root / "_staging").glob("*.alone"))


# The parts of both engines, in this process ---------------------------------------------------------


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_worker_asks_for_batches_tells_what_it_has_done_and_ends_with_its_driver(
    fleet, tmp_path, monkeypatch
):
    statuses: list[int] = []

    def end(status: int) -> None:
        statuses.append(status)
        raise SystemExit

    monkeypatch.setattr(os, "_exit", end)
    dataset = Dataset(tmp_path / "dataset")
    dataset.make()
    urls = [site.url for site in fleet.sites if site.kind == "small"][:3]
    answers = [[(url, url)] for url in urls] + [None]
    ours, theirs = multiprocessing.Pipe()
    told: list[tuple[str, object]] = []

    def drive() -> None:
        while not told or told[-1][0] != "over":
            told.append(ours.recv())
            if told[-1][0] == "want":
                ours.send(answers.pop(0))

    driver = threading.Thread(target=drive)
    driver.start()
    before = signal.getsignal(signal.SIGINT)
    try:
        work(theirs, Job(dataset.root, dataset.begin_run(), OPTIONS), "w")
    finally:
        signal.signal(signal.SIGINT, before)
    driver.join()
    assert sorted(row["site"] for what, row in told if what == "site") == sorted(urls)
    (done,) = [rows for what, rows in told if what == "committed"]
    assert {row["site"]: row["outcome"] for row in done} == dict.fromkeys(urls, "complete")
    assert not statuses
    ours.close()
    for thread in threading.enumerate():
        if thread.name == "usp-fleet-driver":
            thread.join()
    assert statuses == [1]


def test_a_worker_that_is_stopped_commits_what_it_has(fleet, tmp_path):
    dataset = Dataset(tmp_path / "dataset")
    dataset.make()
    urls = [site.url for site in fleet.sites if site.kind in {"small", "slow"}]
    stopped = threading.Event()
    job = Job(dataset.root, dataset.begin_run(), OPTIONS)
    groups = list(
        crawl_into(
            job,
            "w",
            iter([[(url, url) for url in urls]]),
            on_site=lambda _: stopped.set(),
            stopped=stopped.is_set,
        )
    )
    assert 0 < len(groups[0]) < len(urls)
    assert set(dataset.sites()) == {row["site"] for row in groups[0]}


class FakeRay:
    """Does in this process what Ray does in others."""

    class exceptions:  # noqa: N801 - as Ray has it
        RayError = RayTaskError = RuntimeError

    def __init__(self, error: Exception | None = None, deaths: int = 0) -> None:
        self.begun: dict[str, object] = {}
        self.error = error
        self.deaths = deaths
        self.DataContext = self
        self.ended = False

    def is_initialized(self):
        return False

    def init(self, **options):
        self.begun = options
        if self.error:
            raise self.error

    def shutdown(self):
        self.ended = True

    def cluster_resources(self):
        return {"CPU": 2.0}

    def get_current(self):
        return self

    def from_arrow(self, tables):
        self.tables = tables
        return self

    def map_batches(self, task, **_):
        self.task = task
        return self

    def iter_batches(self, **_):
        for number, table in enumerate(self.tables):
            if len(table) == 1:
                raise RuntimeError("a node\nis gone")
            if number < self.deaths:
                list(self.task(table))  # nobody hears of it: the worker dies at its end
            yield from self.task(table)


def engine_on(fake, monkeypatch, dataset, **options):
    monkeypatch.setattr(ray_engine, "ray_module", lambda part="": fake)
    return RayEngine(Job(dataset.root, dataset.begin_run(), OPTIONS), **options)


def test_ray_gets_batches_and_gives_rows_and_lost_workers_are_counted(fleet, tmp_path, monkeypatch):
    dataset = Dataset(tmp_path / "dataset")
    dataset.make()
    urls = [site.url for site in fleet.sites if site.kind in {"small", "text", "feed"}][:16]
    fake = FakeRay(deaths=3)
    engine = engine_on(fake, monkeypatch, dataset, workers=2)
    told = list(engine.run([(url, [url]) for url in urls]))
    committed = [rows for what, rows in told if what == "committed"]
    assert sorted(row["site"] for rows in committed for row in rows) == sorted(urls)
    assert [what for what, _ in told if what != "committed"] == ["lost"] * 3
    assert not list((dataset.root / "_staging").iterdir())
    assert len(fake.tables) == 8
    assert fake.begun["num_cpus"] == 2
    assert fake.ended


def test_what_ray_cannot_do_is_told(fleet, tmp_path, monkeypatch):
    dataset = Dataset(tmp_path / "dataset")
    dataset.make()
    engine = engine_on(FakeRay(), monkeypatch, dataset)
    with pytest.raises(DatasetError, match="Ray failed: is gone"):
        list(engine.run([("a", [fleet.urls[0]])]))
    engine = engine_on(FakeRay(ConnectionError()), monkeypatch, dataset, address="nowhere:1")
    with pytest.raises(DatasetError, match="cannot connect to Ray: ConnectionError"):
        list(engine.run([]))
