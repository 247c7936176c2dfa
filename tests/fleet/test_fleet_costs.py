"""What a run costs does not grow with what it has committed, and workers load what they need."""

from __future__ import annotations

import subprocess
import sys

import pytest

from usp.fleet.dataset import Dataset
from usp.fleet.tables import TABLES, Part, PartFile


def _group(number):
    name = f"part-00001-{number:016x}.parquet"
    return Part((), tuple(PartFile(table, f"{table}/{name}", 1000, 10) for table in TABLES))


def test_there_is_a_checkpoint_every_twenty_commits(tmp_path):
    """A commit reads all others since the last one, in an object store by a request each."""
    dataset = Dataset(tmp_path / "dataset")
    dataset.make()
    dataset.begin_run()
    for number in range(20):
        dataset.commit([_group(number)])
    for table in TABLES:
        log = tmp_path / "dataset" / table / "_delta_log"
        assert (log / "_last_checkpoint").exists(), table
        assert len(list(log.glob("*.checkpoint.parquet"))) == 1


_WORKER = """
import sys
import usp.fleet.engines, usp.fleet.site
from usp.fleet.crawler import Job
from usp.fleet.options import FleetOptions
from usp.fleet.tables import rows_of
writer = Job(sys.argv[1], 1, FleetOptions()).writer()
writer.add("sites", rows_of("sites", [{"site": "https://example.org/", "outcome": "empty"}]))
(group,) = writer.finish()
assert len(group.files) == 1
print(*sorted(name for name in ("deltalake", "duckdb", "ray", "rich_click") if name in sys.modules))
"""


def test_a_worker_that_writes_to_a_folder_does_without_deltalake(tmp_path):
    command = [sys.executable, "-c", _WORKER, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
    assert list(tmp_path.glob("sites/*.parquet"))


_ARRAYS = """
import sys
from usp.export.schema import pyarrow, skip_pandas_import
skip_pandas_import()
assert pyarrow().array(["a", "b"]).to_pylist() == ["a", "b"]
assert "pandas" not in sys.modules
assert pyarrow().table({"n": [1, 2]}).to_pandas()["n"].sum() == 3
"""


def test_a_worker_does_without_pandas_and_its_callbacks_may_use_it():
    pytest.importorskip("pandas")
    subprocess.run([sys.executable, "-c", _ARRAYS], check=True)
