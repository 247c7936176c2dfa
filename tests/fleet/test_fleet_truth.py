"""What many websites serve is what stands in the three tables, whatever engine crawled them."""

from __future__ import annotations

import importlib.util
import re
import threading
from dataclasses import replace

import pyarrow as pa
import pytest
from fleet_support import OPTIONS, check_truth, crawl, rows_in, tables_of, wide_rows
from pyarrow import parquet

from usp.fleet import (
    FleetOptions,
    FleetRun,
    crawl_fleet,
    crawl_sites,
    schema_of,
    unwrap,
    wide_schema,
)

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
def test_ray_gives_the_same_rows_as_the_local_engine(local_dataset, fleet, tmp_path):
    """Of a site of every kind: starting Ray takes longer than crawling them."""
    some = list({site.kind: site for site in fleet.sites}.values())
    root = tmp_path / "dataset"
    told = crawl(root, [site.url for site in some], "ray")
    assert not re.search("INFO|WARNING", told)  # Ray's own log
    check_truth(root, some)
    found, expected = tables_of(root), tables_of(local_dataset)
    for table in expected:
        assert set(found[table]) <= set(expected[table])


def test_the_tables_have_the_schema_that_is_documented(local_dataset):
    for table in ("pages", "sitemaps", "sites"):
        paths = list((local_dataset / table).glob("*.parquet"))
        assert paths
        for path in paths:
            assert parquet.read_schema(path).equals(schema_of(table))


# The job by itself ----------------------------------------------------------------------------------


def test_the_job_takes_and_gives_arrow_and_the_rows_of_a_site_stand_together(fleet):
    some = fleet.sites[:40]
    given = [
        pa.table({"site": [site.url for site in some[:10]], "rank": range(10)}),
        pa.RecordBatch.from_pydict({"site": [site.url for site in some[10:]]}),
    ]
    batches = list(crawl_sites(given, OPTIONS))
    assert all(batch.schema.equals(wide_schema()) for batch in batches)
    assert {row["site"]: row["outcome"] for row in rows_in(batches, "sites")} == {
        site.url: site.outcome for site in some
    }
    assert sorted(row["url"] for row in rows_in(batches, "pages")) == sorted(
        url for site in some for _, url in site.pages
    )
    seen: list[str] = []
    last_table = "sites"  # the row of the site itself comes last
    for batch in batches:
        (site,) = set(batch.column("site").to_pylist())
        (table,) = set(batch.column("table").to_pylist())
        if last_table == "sites":
            assert site not in seen
            seen.append(site)
        assert seen[-1] == site
        last_table = table
    assert last_table == "sites"
    assert sorted(seen) == sorted(site.url for site in some)


def test_a_caller_who_has_seen_enough_may_leave(fleet):
    batches = crawl_sites([pa.table({"site": fleet.urls})], OPTIONS)
    next(batches)
    batches.close()
    assert not [t.name for t in threading.enumerate() if t.name.startswith("usp-fleet")]


def test_a_table_without_sites_is_the_callers_mistake():
    with pytest.raises(ValueError, match="a column named 'site'"):
        list(crawl_sites([pa.table({"url": ["x"]})], OPTIONS))


def test_by_default_sites_of_strangers_lead_nowhere_inside(fleet):
    (row,) = rows_in(wide_rows(fleet.urls[1:2], FleetOptions()), "sites")
    assert row["outcome"] == "failed"
    assert "only public addresses are trusted" in row["reason"]


def test_pages_may_be_counted_only_and_columns_be_chosen(fleet, tmp_path):
    site = next(site for site in fleet.sites if site.kind == "indexed")
    counted = wide_rows([site.url], replace(OPTIONS, pages=False))
    assert rows_in(counted, "sites")[0]["pages"] == len(site.pages)
    assert not list(unwrap(counted, "pages"))
    chosen = replace(OPTIONS, columns=("url", "lastmod"))
    (first, *_) = rows_in(wide_rows([site.url], chosen), "pages")
    assert list(first) == ["site", "url", "lastmod"]
