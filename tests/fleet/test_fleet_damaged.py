"""What is missing or damaged in a dataset ends a run with one message, whatever else fails with it."""

from __future__ import annotations

import gc
import threading

import pytest
from fleet_support import OPTIONS

from usp._base.files import FileStore
from usp.fleet import DatasetError, crawler
from usp.fleet.messages import Assignment
from usp.fleet.tables import rewritten


def test_a_file_that_is_not_parquet_any_more_is_named(tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "part-1.parquet").write_bytes(b"xx")
    with pytest.raises(DatasetError, match=r"pages/part-1\.parquet"):
        rewritten(FileStore(tmp_path), 2, ["pages/part-1.parquet"], ["https://a/"], ("url",))


def test_sites_that_fail_together_with_their_store_end_in_one_error(tmp_path, monkeypatch, caplog):
    """Tracebacks of the others would be printed by asyncio."""
    together = threading.Barrier(4)

    def gone(*_: object) -> None:
        together.wait(20)
        raise DatasetError("the store is gone")

    monkeypatch.setattr(crawler, "finder", lambda *_, **__: gone)
    batch = [
        (f"https://{name}.invalid/", Assignment(name, ("sites/part-1.parquet",))) for name in "abcd"
    ]
    with pytest.raises(DatasetError, match="the store is gone"):
        list(crawler.crawl_tables(iter([batch]), OPTIONS, crawler.Job(str(tmp_path), 2, OPTIONS)))
    gc.collect()
    assert caplog.messages == []
