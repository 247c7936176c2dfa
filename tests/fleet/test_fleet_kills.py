"""Whoever is killed at whatever moment, and whoever reads meanwhile: see kills.py."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from fleet_stores import BUCKET
from fleet_support import serving
from kills import Readers, kill_many_times

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"
)


@pytest.fixture(scope="module")
def websites():
    yield from serving(24, 0.1)


@pytest.mark.proof
@pytest.mark.parametrize("engine", ["local", "ray"])
@pytest.mark.parametrize("store", ["folder", "s3"])
def test_after_any_kills_the_tables_are_what_the_websites_serve(
    websites, s3, tmp_path, engine, store
):
    if engine == "ray":
        pytest.importorskip("ray")
    root = f"s3://{BUCKET}/kills-{engine}" if store == "s3" else str(tmp_path / "dataset")
    print(kill_many_times(websites, lambda: root, engine, 1, random.Random()))


def test_readers_see_what_is_doubled_missing_or_unknown(websites, tmp_path):
    readers = Readers(str(tmp_path), websites)
    site = next(site for site in websites.sites if site.kind == "indexed")
    right = {
        "sites": Counter({site.url: 1}),
        "pages": Counter({site.url: len(site.pages)}),
        "sitemaps": Counter({site.url: len(site.sitemaps)}),
    }
    assert not list(readers._mistakes(right))
    assert not list(readers._mistakes(right | {"sites": Counter()}))  # not all of it yet
    for table, change in [("sites", 1), ("pages", 1), ("pages", -1), ("sitemaps", -1)]:
        wrong = right | {table: right[table] + Counter({site.url: 1})}
        if change < 0:
            wrong = right | {table: right[table] - Counter({site.url: 1})}
        assert list(readers._mistakes(wrong)), (table, change)
    assert list(readers._mistakes(right | {"pages": right["pages"] + Counter({"?": 1})}))
