"""The log of a dataset that somebody else has written leads nowhere else."""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil

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


ACTIONS = {
    "add": {"partitionValues": {}, "modificationTime": 0},
    "remove": {"deletionTimestamp": 0},
}


@pytest.mark.long
def test_a_log_that_names_something_else_harms_nothing(tmp_path):
    victim, root, good = (tmp_path / name for name in ("victim.txt", "dataset", "good"))
    victim.write_text("precious")
    made = Dataset(good)
    made.make()
    write(made, sites("a", "b"), "failed")
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
