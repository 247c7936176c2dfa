"""The job for Spark in the documents does what it says, on Spark in local mode.

It needs pyspark and Java; the tests of the project do without them, so it is skipped there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from fleet_support import ZONES, on_loopback
from pyarrow import dataset

from usp._demo import demo_site
from usp.fleet import FleetOptions, crawl_sites, unwrap

pytestmark = pytest.mark.proof
FLEET = Path(__file__).parents[2] / "docs" / "guides" / "fleet.md"
CHANGING = {"started", "duration"}


def _rows(table):
    return sorted(
        repr({name: value for name, value in row.items() if name not in CHANGING})
        for row in table.to_pylist()
    )


def test_the_documented_job_writes_what_the_function_yields(tmp_path):
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java")
    (block,) = re.findall(
        r"^```python\n(# file: job\.py.*?)^```$", FLEET.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    with demo_site() as url:
        sites = [url, "http://127.0.0.1:9/"]
        (tmp_path / "sites.txt").write_text("\n".join(sites))
        job = on_loopback(block, url).replace("repartition(200)", "repartition(2)")
        (tmp_path / "job.py").write_text(job)
        environment = os.environ | {
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        subprocess.run([sys.executable, "job.py"], cwd=tmp_path, env=environment, check=True)
        wide = list(crawl_sites([pa.table({"site": sites})], FleetOptions(zones=ZONES)))
    for table in ("pages", "sitemaps", "sites"):
        truth = pa.Table.from_batches(unwrap(wide, table))
        found = dataset.dataset(tmp_path / "spark-dataset" / table, format="parquet").to_table()
        assert found.column_names == truth.column_names
        assert _rows(found) == _rows(truth)
        assert len(found)
