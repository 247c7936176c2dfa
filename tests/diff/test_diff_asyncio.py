"""A diff on asyncio is the same as the one in threads, whatever it is given."""

from __future__ import annotations

import asyncio

import usp
from usp import aio
from website import Site, index, robots, urlset


def site() -> dict[str, str]:
    return {
        "/robots.txt": robots("/index.xml"),
        "/index.xml": index("/a.xml"),
        "/a.xml": urlset("/1", "/2"),
    }


def test_trees_urls_snapshots_and_files_are_compared(tmp_path):
    snapshot, file = tmp_path / "site.warc.gz", tmp_path / "a.xml"
    with Site(site()) as web:
        tree = usp.sitemap_tree_for_homepage(web.base, record=snapshot)
        web.answers["/a.xml"] = urlset("/2", "/3")
        file.write_bytes(web.fill(web.answers["/a.xml"]))
        for before, after in (
            (tree, f"{web.base}/"),
            (snapshot, f"{web.base}/"),
            (str(snapshot), tree),
            (f"{web.base}/a.xml", file),
        ):
            changes = asyncio.run(aio.diff(before, after))
            assert list(changes) == list(usp.diff(before, after))
        assert asyncio.run(aio.diff(snapshot, f"{web.base}/")).counts().pages == {
            "added": 1,
            "removed": 1,
        }
