"""What many websites serve is what stands in the three tables, whatever engine crawled them."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import runpy
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from fleet_support import (
    OF_A_VISIT,
    OPTIONS,
    ZONES,
    check_truth,
    crawl,
    on_loopback,
    rows_in,
    tables_of,
    wide_rows,
)
from pyarrow import dataset, parquet

import usp.fleet
from usp._base.names import LAZY_NAMES
from usp._demo import demo_site
from usp.cli.commands import cmd_crawl, cmd_stats
from usp.export.schema import COLUMNS
from usp.fleet import FleetRun, crawl_fleet, crawl_sites, schema_of, unwrap, wide_schema

RAY = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")


@pytest.fixture(scope="session")
def local_dataset(fleet, tmp_path_factory):
    root = tmp_path_factory.mktemp("local") / "dataset"
    crawl_fleet(fleet.urls, root, FleetRun(workers=2, options=OPTIONS))
    return root


def test_the_local_engine_finds_what_the_websites_serve(local_dataset, fleet):
    check_truth(local_dataset, fleet.sites)


CHANGES = {
    "outcome": lambda site: replace(site, outcome="empty"),
    "reason": lambda site: replace(site, reason="410 Gone"),
    "page": lambda site: replace(site, pages=[*site.pages[1:], ("", "")]),
    "sitemap": lambda site: replace(site, sitemaps=[*site.sitemaps[1:], ("", "", 0)]),
    "site": lambda site: replace(site, url="http://127.0.0.1/"),
}


def test_a_dataset_that_differs_in_anything_is_not_what_the_websites_serve(local_dataset, fleet):
    for change in CHANGES.values():
        changed = [change(site) if site.kind == "half" else site for site in fleet.sites]
        with pytest.raises(AssertionError):
            check_truth(local_dataset, changed)


@RAY
@pytest.mark.proof
def test_ray_gives_the_same_rows_as_the_local_engine(local_dataset, fleet, root):
    """Of a site of every kind: starting Ray takes longer than crawling them."""
    some = list({site.kind: site for site in fleet.sites}.values())
    told = crawl(root, [site.url for site in some], "ray")
    assert not re.search("INFO|WARNING", told)  # Ray's own log
    check_truth(root, some)
    found, expected = tables_of(root), tables_of(local_dataset)
    for table in expected:
        assert set(found[table]) <= set(expected[table])


def test_the_tables_have_the_schema_that_is_documented(local_dataset):
    for table in ("pages", "fetches", "visits"):
        paths = list((local_dataset / table).glob("bucket=*/*.parquet"))
        assert paths
        for path in paths:
            assert parquet.read_schema(path).names == schema_of(table).names[1:]


# The job by itself ----------------------------------------------------------------------------------


def test_the_job_takes_and_gives_arrow_and_the_rows_of_a_site_stand_together(fleet):
    some = fleet.sites[:40]
    given = [
        pa.table({"site": [site.url for site in some[:10]], "rank": range(10)}),
        pa.RecordBatch.from_pydict({"site": [site.url for site in some[10:]]}),
    ]
    batches = list(crawl_sites(given, OPTIONS))
    assert all(batch.schema.equals(wide_schema()) for batch in batches)
    assert {row["site"]: row["outcome"] for row in rows_in(batches, "visits")} == {
        site.url: site.outcome for site in some
    }
    assert sorted(row["url"] for row in rows_in(batches, "pages")) == sorted(
        url for site in some for _, url in site.pages
    )
    seen: list[str] = []
    last_table = "visits"  # the row of the site itself comes last
    for batch in batches:
        (site,) = set(batch.column("site").to_pylist())
        (table,) = set(batch.column("table").to_pylist())
        if last_table == "visits":
            assert site not in seen
            seen.append(site)
        assert seen[-1] == site
        last_table = table
    assert last_table == "visits"
    assert sorted(seen) == sorted(site.url for site in some)


def test_a_caller_who_has_seen_enough_may_leave(fleet):
    batches = crawl_sites([pa.table({"site": fleet.urls})], OPTIONS)
    next(batches)
    batches.close()
    assert not [t.name for t in threading.enumerate() if t.name.startswith("usp-fleet")]


def test_a_table_without_sites_is_the_callers_mistake():
    with pytest.raises(ValueError, match="a column named 'site'"):
        list(crawl_sites([pa.table({"url": ["x"]})], OPTIONS))


def test_by_default_a_list_of_sites_leads_nowhere_inside(fleet):
    (row,) = rows_in(wide_rows(fleet.urls[1:2], usp.fleet.FleetOptions()), "visits")
    assert row["outcome"] == "failed"
    assert "only public addresses are trusted" in row["reason"]


def test_pages_may_be_counted_only_and_columns_be_chosen(fleet, tmp_path):
    site = next(site for site in fleet.sites if site.kind == "indexed")
    counted = wide_rows([site.url], replace(OPTIONS, pages=False))
    assert rows_in(counted, "visits")[0]["pages"] == len(site.pages)
    assert not list(unwrap(counted, "pages"))
    chosen = replace(OPTIONS, columns=("url", "lastmod"))
    (first, *_) = rows_in(wide_rows([site.url], chosen), "pages")
    assert [name for name in first if name in COLUMNS] == ["sitemap", "url", "lastmod"]


# What the documents say is so, and names are offered without loading what they need ---------------


ROOT = Path(__file__).parents[2]
FLEET = (ROOT / "docs" / "guides" / "fleet.md").read_text(encoding="utf-8")
SCALE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")


def test_every_option_is_documented():
    options = [*cmd_crawl.command.params, *cmd_stats.command.params]
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


def _rows(table):
    same = [name for name in table.column_names if name not in OF_A_VISIT]
    return sorted(map(repr, table.select(same).to_pylist()))


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
        spark = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        argv = [sys.executable, "job.py"]
        subprocess.run(argv, cwd=tmp_path, env=os.environ | spark, check=True)
        wide = wide_rows(sites, usp.fleet.FleetOptions(zones=ZONES))
    for table in ("pages", "fetches", "visits"):
        truth = pa.Table.from_batches(unwrap(wide, table))
        found = dataset.dataset(tmp_path / "spark-dataset" / table, format="parquet").to_table()
        assert found.column_names == truth.column_names
        assert _rows(found) == _rows(truth)
        assert len(found)
