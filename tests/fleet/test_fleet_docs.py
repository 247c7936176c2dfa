"""What the documents say about fleets is so, and names are offered without loading what they need."""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from fleet_support import ZONES, on_loopback, wide_rows
from pyarrow import dataset

import usp.fleet
from usp._base.names import LAZY_NAMES
from usp._demo import demo_site
from usp.cli.commands import cmd_crawl as crawl
from usp.cli.commands import cmd_stats as stats

ROOT = Path(__file__).parents[2]
FLEET = (ROOT / "docs" / "guides" / "fleet.md").read_text(encoding="utf-8")
SCALE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")


def test_every_option_is_documented():
    options = [*crawl.command.params, *stats.command.params]
    names = [
        [name for name in option.opts if name.startswith("-")]
        for option in options
        if not getattr(option, "hidden", False)
    ]
    told = [any(f"`{name}" in FLEET or f" {name}" in FLEET for name in some) for some in names]
    assert not [some for some, is_told in zip(names, told, strict=True) if some and not is_told]


@pytest.mark.proof
def test_the_figures_of_the_simulation_are_those_that_it_prints(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["simulate_fleet.py"])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(ROOT / "tools" / "simulate_fleet.py"), run_name="__main__")
    rows = [line for line in printed.getvalue().splitlines() if re.match(r"\| [\w,]", line)]
    assert len(rows) > 15
    for row in rows:
        if "one after another, 32 workers" not in row:
            assert row in SCALE


def test_the_names_that_are_offered_are_the_ones_that_are_found():
    offered = {name for name, place in LAZY_NAMES["usp.fleet"].items() if ":" in place}
    assert offered == set(usp.fleet.__all__) <= set(dir(usp.fleet))


def test_parts_are_loaded_when_they_are_named():
    names = "usp.fleet.FleetOptions, usp.fleet.options.FLEET_LIMITS, usp.fleet.run.crawl_fleet"
    code = f"import sys, usp.fleet; assert 'usp.fleet.options' not in sys.modules; {names}"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# The job for Spark; it needs pyspark and Java --------------------------------------------------------


CHANGING = {"started", "duration"}


def _rows(table):
    return sorted(
        repr({name: value for name, value in row.items() if name not in CHANGING})
        for row in table.to_pylist()
    )


@pytest.mark.proof
def test_the_documented_job_for_spark_writes_what_the_function_yields(tmp_path):
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java")
    (block,) = re.findall(r"^```python\n(# file: job\.py.*?)^```$", FLEET, re.DOTALL | re.MULTILINE)
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
        wide = wide_rows(sites, usp.fleet.FleetOptions(zones=ZONES))
    for table in ("pages", "sitemaps", "sites"):
        truth = pa.Table.from_batches(usp.fleet.unwrap(wide, table))
        found = dataset.dataset(tmp_path / "spark-dataset" / table, format="parquet").to_table()
        assert found.column_names == truth.column_names
        assert _rows(found) == _rows(truth)
        assert len(found)
