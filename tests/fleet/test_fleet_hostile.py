"""The log of a dataset that somebody else has written leads nowhere else."""

from __future__ import annotations

import contextlib
import json

import pytest
from test_fleet_dataset import sites, write

from usp.fleet import DatasetError, FleetRun, crawl_fleet, dataset_stats
from usp.fleet.dataset import Dataset

ELSEWHERE = [
    "../../victim.txt",
    "..%2F..%2Fvictim.txt",
    "a/../../../victim.txt",
    "{victim}",
    "file://{victim}",
]


@pytest.mark.parametrize("path", ELSEWHERE)
@pytest.mark.parametrize("action", ["add", "remove"])
@pytest.mark.parametrize("table", ["pages", "sites"])
def test_a_log_that_names_something_else_harms_nothing(tmp_path, action, path, table):
    victim = tmp_path / "victim.txt"
    victim.write_text("precious")
    made = Dataset(tmp_path / "dataset")
    made.make()
    write(made, sites("a", "b"), "failed")
    log = tmp_path / "dataset" / table / "_delta_log"
    number = len(list(log.glob("*.json")))
    facts = {"path": path.format(victim=victim), "dataChange": True, "size": 8}
    facts |= (
        {"partitionValues": {}, "modificationTime": 0}
        if action == "add"
        else {"deletionTimestamp": 0}
    )
    (log / f"{number:020}.json").write_text(json.dumps({action: facts}) + "\n")
    for use in (
        lambda: dataset_stats(tmp_path / "dataset"),
        lambda: Dataset(tmp_path / "dataset").begin_run(),
        lambda: crawl_fleet([], tmp_path / "dataset", FleetRun(retry_failed=True)),
        lambda: write(Dataset(tmp_path / "dataset"), sites("a")),
    ):
        with contextlib.suppress(DatasetError):
            use()
    assert victim.read_text() == "precious"
