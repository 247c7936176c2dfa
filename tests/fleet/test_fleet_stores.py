"""A dataset in an object store is what it is in a folder, and what is wrong with a store is told."""

import itertools
import os
import re
import signal
import threading
from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pytest
from fleet_stores import BUCKET, Gate, free_port
from fleet_support import OPTIONS, check_truth, crawl, ended, outcomes_of, serving, start, wait_for
from test_fleet_sites import LISTS

from usp._base import files as store
from usp._base.files import FileStore, NotADatasetError, is_remote
from usp.fleet import ChangesFeed, DatasetError, FleetRun, crawl_fleet, dataset_stats, engines
from usp.fleet import open as open_dataset
from usp.fleet.dataset import Dataset
from usp.fleet.site_list import SiteListError, read_sites
from usp.fleet.tables import TABLES

RUN = FleetRun(workers=1, options=OPTIONS, commit_seconds=0.2)
NAMES = itertools.count()


@pytest.fixture(scope="module")
def websites():
    yield from serving(24)


@pytest.fixture(autouse=True)
def _workers_of_now(monkeypatch) -> None:
    """Start workers anew: those of a server of forks have the environment of the first test."""
    monkeypatch.setattr(engines, "START_METHOD", "spawn")


@pytest.fixture
def root(s3) -> str:
    return f"s3://{BUCKET}/run-{next(NAMES)}"


@pytest.mark.long
def test_a_dataset_in_a_bucket_is_what_the_websites_serve_and_nothing_else_is_there(
    s3, root, websites
):
    crawl_fleet(websites.urls, root, RUN)
    again = crawl_fleet(websites.urls, f"{root}/", RUN)
    assert (again["before"], again["sites"]) == (24, 0)
    check_truth(root, websites.sites)
    below = root.removeprefix(f"s3://{BUCKET}/")
    files = {
        f"{below}/{table}/{path}"
        for table in (*TABLES, "runs")
        for path in pa.table(Dataset(root).table(table).get_add_actions())
        .column("path")
        .to_pylist()
    }
    others = {name for name in s3.names(below) if "/_delta_log/" not in name}
    assert others == files | {f"{below}/_summary.json"}
    stats = dataset_stats(root)
    assert stats["totals"]["pages"] == sum(len(site.pages) for site in websites.sites)
    one = max(websites.sites, key=lambda site: len(site.pages))
    found = open_dataset(root).pages(one.url, ["url"]).read_all()
    assert found.num_rows == len(one.pages)
    assert ChangesFeed(root).read()[0].read_all().num_rows == 0


def test_the_list_of_sites_may_be_there_too_or_it_is_told_that_it_is_not(s3):
    for name, content in LISTS.items():
        s3.put(f"lists/{name}", content)
        assert list(read_sites(f"s3://{BUCKET}/lists/{name}")) == ["a.example", "b.example"]
    for place in [f"s3://{BUCKET}/none.txt", "s3://nowhere/none.csv"]:
        with pytest.raises(SiteListError, match="no such file or bucket; pass a file"):
            list(read_sites(place))


COMMANDS = {
    "crawl": lambda root, tmp: ["crawl", tmp, "-o", root],
    "stats": lambda root, tmp: ["stats", root],
    "list": lambda root, tmp: ["crawl", f"{root}.txt", "-o", root],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize(
    ("changes", "root", "told"),
    [
        ({}, "s3://nowhere/run", "there is no such (bucket; create it|file or bucket)"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:{free}"}, "s3://b/r", "store does not respond"),
        ({"AWS_ALLOW_HTTP": "false"}, "s3://b/r", "AWS_ALLOW_HTTP=true allows that"),
        (
            {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""},
            "s3://b/r",
            "no credentials; set them in the environment, such as AWS_ACCESS_KEY_ID and",
        ),
        ({"AZURE_STORAGE_ACCOUNT_NAME": ""}, "az://b/r", "no credentials.*AZURE_STORAGE_ACCOUNT"),
    ],
    ids=["bucket", "silent", "http", "credentials", "azure"],
)
def test_what_is_wrong_with_a_store_is_told_in_words(
    s3, monkeypatch, capsys, tmp_path, command, changes, root, told
):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(store, "_OPTIONS", store._OPTIONS | {"max_retries": "1"})
    for name, value in changes.items():
        if value:
            monkeypatch.setenv(name, value.format(free=free_port()))
        else:
            monkeypatch.delenv(name, raising=False)
    sites = tmp_path / "sites.txt"
    sites.write_text("a.example\n")
    status, message = ended(capsys, *command(root, sites))
    assert "\x1b" not in message
    assert "%1B" not in message
    assert status in {1, 2}
    assert re.search(told, message), message
    assert len(message) < 500


ERRORS = {
    "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>": (
        "access is denied; check the credentials in the environment, and their rights (Access Denied)"
    ),
    "non-2xx status code ↳ 403 Forbidden": "access is denied",
    "The AWS Access Key Id needs a ↳ <Code>InvalidAccessKeyId</Code>": "access is denied",
    "Received redirect without LOCATION, this normally indicates an incorrectly configured region": (
        "set AWS_REGION"
    ),
    "status code ↳ 503 Service Unavailable": "the store does not respond",
    "GET http://denied.example/region in 403.1ms ↳ something new": "ms: something new",
}


@pytest.mark.parametrize("error", ERRORS)
def test_errors_of_a_store_are_explained(error):
    with pytest.raises(DatasetError) as raised, FileStore("s3://bucket/run").words():
        raise OSError(f"Generic S3 error\n \x1b[31m↳\x1b[0m {error}")
    assert ERRORS[error] in str(raised.value)
    assert str(raised.value).startswith("cannot use s3://bucket/run: ")


def test_a_place_is_a_folder_or_in_a_store_that_is_known(tmp_path):
    for place in ("s3://b/x", "S3://b/x", "gs://b", "az://c/x", "abfss://c@a.dfs.core.windows.net"):
        assert is_remote(place)
        assert FileStore(place).root.startswith(place.partition("/")[0].lower())
    for place in (str(tmp_path), f"file://{tmp_path}", f"FILE://{tmp_path}"):
        assert FileStore(place).root == str(tmp_path)
    for place, told in (
        ("s3://", "names no bucket; write s3://BUCKET/NAME"),
        ("gs:///", "names no bucket"),
        ("ftp://x/y", "choose a folder, or one of s3://"),
        ("http://bucket/run", "choose a folder"),
    ):
        with pytest.raises(NotADatasetError, match=told):
            FileStore(place)


# A store that goes away ----------------------------------------------------------------------------


def crawl_with_a_break(root, websites, seconds: float, end: Callable, begin: Callable) -> None:
    """Crawl, and let the store go away for some seconds once a site is committed."""
    breaks: list[threading.Timer] = []

    def show(progress) -> None:
        if progress.safe and not breaks:
            end()
            breaks.append(threading.Timer(seconds, begin))
            breaks[0].start()

    summary = crawl_fleet(websites.urls, root, RUN, show)
    assert summary["sites"] == len(websites.urls)
    breaks[0].join()
    check_truth(root, websites.sites)


@pytest.fixture
def gate(s3, monkeypatch):
    made = Gate(s3.port)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{made.port}")
    yield made
    made.end()


BREAKS = [pytest.param(1.0, marks=pytest.mark.long), pytest.param(10.0, marks=pytest.mark.proof)]


@pytest.mark.parametrize("seconds", BREAKS)
def test_a_run_waits_for_a_store_that_cuts_off_and_refuses(gate, root, websites, seconds):
    crawl_with_a_break(root, websites, seconds, gate.close, gate.open)


@pytest.mark.long
def test_a_response_that_is_cut_off_is_asked_for_again(s3, root, websites, monkeypatch):
    gate = Gate(s3.port, "cut")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{gate.port}")
    try:
        assert crawl_fleet(websites.urls, root, RUN)["sites"] == len(websites.urls)
        assert len(gate.close()) == 4
    finally:
        gate.end()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{s3.port}")
    check_truth(root, websites.sites)


@pytest.mark.proof
@pytest.mark.parametrize("seconds", [10.0, 40.0])
def test_a_run_waits_for_a_store_that_is_silent(s3, root, websites, seconds):
    """Also for longer than one request waits."""
    stop = partial(os.kill, s3.process.pid, signal.SIGSTOP)
    crawl_with_a_break(
        root, websites, seconds, stop, partial(os.kill, s3.process.pid, signal.SIGCONT)
    )


@pytest.mark.proof
def test_a_store_that_does_not_come_back_ends_the_run_and_the_next_one_goes_on(
    gate, root, websites
):
    slowly = ("--in-flight", "1", "--commit-seconds", "0.1")
    with start(root, websites.urls, "local", *slowly) as driver:
        dataset = Dataset(root)
        wait_for(lambda: dataset.exists() and outcomes_of(root))
        gate.close()
        _, told = driver.communicate(timeout=300)
    assert driver.returncode == 1
    assert b"the store does not respond; run the same command again" in told, told.decode()
    assert b"Traceback" not in told
    gate.open()
    assert "were already there" in crawl(root, websites.urls, "local")
    check_truth(root, websites.sites)
