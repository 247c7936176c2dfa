"""The files of a dataset lead nowhere else, and damage to them is told."""

from __future__ import annotations

import json

import pytest
from test_fleet_dataset import sites, write

from usp.cli import main
from usp.fleet import DatasetError, crawl_fleet, dataset_stats
from usp.fleet.dataset import Dataset


@pytest.fixture
def dataset(tmp_path):
    made = Dataset(tmp_path / "dataset")
    made.make()
    write(made, sites("a", "b"))
    return made


ELSEWHERE = [
    "pages/../../victim.txt",
    "pages/part-../../../victim.txt",
    "../victim.txt",
    "/etc/passwd",
    "pages/part-00001-w-00000.parquet/../../../victim.txt",
    "pages/",
    "other/part-00001-w-00000.parquet",
    "pages/part-00001-w-00000.parquet\n",
    7,
]


@pytest.mark.parametrize("name", ELSEWHERE, ids=str)
@pytest.mark.parametrize("key", ["files", "supersedes", "name"])
def test_a_commit_that_names_something_else_is_refused_and_nothing_is_touched(
    dataset, tmp_path, key, name
):
    victim = tmp_path / "victim.txt"
    victim.write_text("precious")
    (path,) = dataset.root.glob("_commits/*.json")
    commit = json.loads(path.read_text())
    commit[key] = name if key == "name" else [name]
    path.write_text(json.dumps(commit))
    for use in (dataset.commits, dataset.recover, lambda: crawl_fleet([], dataset.root)):
        with pytest.raises(DatasetError, match=r"is damaged .* delete it"):
            use()
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"PAR1" + bytes(100) + b"PAR1"])
def test_the_stats_of_a_damaged_file_are_an_error_that_says_what_to_do(dataset, capsys, damage):
    (path,) = dataset.root.glob("sites/*.parquet")
    path.write_bytes(damage)
    with pytest.raises(DatasetError, match="_commits"):
        dataset_stats(dataset.root)
    with pytest.raises(SystemExit) as ended:
        main(["stats", str(dataset.root)])
    told = capsys.readouterr().err
    assert ended.value.code == 1
    assert path.name in told
    assert "Traceback" not in told
