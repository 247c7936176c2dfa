"""A tree that was recorded and loaded is the one that was crawled, in everything that it says."""

from __future__ import annotations

import asyncio
import gc
import gzip
import pickle
import tracemalloc
import zlib
from itertools import combinations

import pytest
from snapshots import assert_same, mixed
from test_hostile_snapshots import DOCUMENTS, forged
from test_third_party_warcs import HOST, urls

import usp
from usp import aio
from usp.events import SitemapFailed, SitemapFinished
from website import Answer, index, robots, urlset


def ways(site, path):
    """Yield the ways to record a website: what each returns is the tree."""
    yield lambda: usp.sitemap_tree_for_homepage(site.base, record=path)
    yield lambda: asyncio.run(aio.sitemap_tree_for_homepage(site.base, record=path))
    yield lambda: saved(usp.sitemap_tree_for_homepage(site.base), path)
    yield lambda: usp.sitemap_tree_for_sitemap(site.url("/index.xml"), record=path)


def saved(tree, path):
    tree.save(path)
    return tree


@pytest.mark.parametrize("way", range(4))
def test_a_recorded_tree_is_the_crawled_one(serve, path, way):
    site = serve(mixed())
    tree = list(ways(site, path))[way]()
    asked = len(site.requests)
    loaded = usp.load(path)
    assert_same(tree, loaded)
    assert {failure.code for failure in loaded.failures()} >= {"server-error", "body-cut-off"}
    assert loaded.page_count() == tree.page_count() > 4
    assert len(site.requests) == asked
    assert_same(tree, asyncio.run(aio.load(path)))


def test_a_stream_is_recorded_as_well(serve, tmp_path):
    site = serve(mixed())
    pages = [page.url for page in usp.pages(site.base, record=tmp_path / "a.warc.gz")]
    assert [page.url for page in usp.load(tmp_path / "a.warc.gz").all_pages()] == pages

    async def listed():
        given = aio.pages(site.base, record=tmp_path / "b.warc.gz")
        return [page.url async for page in given]

    assert asyncio.run(listed()) == pages
    assert_same(usp.load(tmp_path / "b.warc.gz"), usp.load(tmp_path / "b.warc.gz"))


def test_a_stream_that_is_not_read_to_its_end_leaves_no_file(serve, tmp_path):
    site = serve(mixed())
    stream = usp.pages(site.base, record=tmp_path / "a.warc.gz")
    next(stream)
    stream.close()
    assert not list(tmp_path.iterdir())


def test_a_loaded_tree_can_be_saved_and_pickled(serve, tmp_path):
    site = serve(mixed())
    tree = usp.sitemap_tree_for_homepage(site.base, record=tmp_path / "a.warc.gz")
    loaded = usp.load(tmp_path / "a.warc.gz")
    loaded.save(tmp_path / "b.warc.gz")
    assert_same(tree, usp.load(tmp_path / "b.warc.gz"))
    copy = pickle.loads(pickle.dumps(loaded))
    (tmp_path / "a.warc.gz").unlink()
    assert copy == tree
    with pytest.raises(usp.SnapshotError, match="not at hand"):
        copy.save(tmp_path / "c.warc.gz")
    with pytest.raises(usp.SnapshotError, match="not at hand"):
        tree.sub_sitemaps[0].save(tmp_path / "c.warc.gz")


REPLAYED = [
    {"limits": usp.Limits(document_bytes=100)},
    {"limits": usp.Limits(sitemaps=3)},
    {"limits": usp.Limits(depth=1)},
    {"recurse_callback": lambda url, *_: "a.xml" not in url},
    {"sitemaps_since": "2024-06-01", "exclude_sitemaps": ["*/b.xml"]},
    {"use_known_paths": False, "extra_known_paths": ["extra/map.xml"], "use_html_links": True,
     "limits": usp.Limits(sitemaps=8, depth=2)},
]  # fmt: skip


@pytest.mark.parametrize("options", REPLAYED, ids=" ".join)
def test_a_loaded_tree_is_that_of_the_crawl_with_its_options_and_limits(serve, path, options):
    site = serve({**mixed(), "/extra/map.xml": urlset("/e/1")})
    tree = usp.sitemap_tree_for_homepage(site.base, record=path, **options)
    assert_same(tree, usp.load(path))
    assert_same(tree, usp.load(path, limits=usp.Limits(sitemaps=None, depth=None)))
    assert usp.load(path, limits=usp.Limits(pages=1)).page_count() <= 1
    usp.load(path).save(path)
    assert_same(tree, usp.load(path))


@pytest.mark.parametrize(
    ("limits", "absent"),
    [({"unpacked_bytes": 60}, "/index.xml"), ({"pages": 3}, None), ({"ratio": 0.5}, None)],
    ids=str,
)
def test_limits_of_a_crawl_do_not_hide_what_is_in_its_file(serve, path, limits, absent):
    site = serve(mixed())
    limits = usp.Limits(**limits)
    tree = usp.sitemap_tree_for_homepage(site.base, record=path, limits=limits)
    loaded = usp.load(path)
    assert {page.url for page in tree.all_pages()} <= {page.url for page in loaded.all_pages()}
    reasons = {failure.url: failure.code for failure in loaded.failures()}
    codes = {failure.code for failure in tree.failures()}
    assert "not-in-snapshot" not in reasons.values()
    assert set(reasons.values()) - {"body-cut-off"} <= codes
    if absent is not None:
        assert reasons[site.url(absent)].startswith("limit-")


def test_failed_hosts_and_documents_that_are_declared_twice_are_recorded_once(serve, path):
    tree = usp.sitemap_tree_for_homepage("http://127.0.0.1:9/", record=path)
    assert_same(tree, usp.load(path))
    assert tree.failures()[0].code == "connection-refused"
    twice = {"/robots.txt": robots("/one.xml", "/two.xml"), "/a.xml": urlset("/a/1")}
    site = serve(twice | dict.fromkeys(("/one.xml", "/two.xml"), index("/a.xml")))
    tree = usp.sitemap_tree_for_homepage(site.base, record=path)
    assert_same(tree, usp.load(path))
    assert tree.page_count() == 2


def test_what_was_not_fetched_for_lack_of_time_is_told_again(serve, path):
    late = {f"/{n}.xml": Answer(urlset(f"/{n}"), delay=0.1 * n) for n in range(4)}
    site = serve({"/robots.txt": robots("/i.xml"), "/i.xml": index(*late), **late})
    limits = usp.Limits(seconds=0.15)
    tree = usp.sitemap_tree_for_homepage(site.base, limits=limits, record=path)
    loaded = usp.load(path, limits=usp.Limits())
    assert "limit-seconds" in {failure.code for failure in loaded.failures()}
    assert [one.code for one in loaded.failures()] == [one.code for one in tree.failures()]


def test_a_large_page_that_is_no_sitemap_is_the_same_from_a_file(serve, path):
    page = f"<!DOCTYPE html><html><body>{'<p>down for maintenance</p>' * 50_000}</body></html>"
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": page})
    usp.sitemap_tree_for_homepage(site.base, record=path)
    usp.load(path).save(path)
    assert [failure.code for failure in usp.load(path).failures()] == ["html-page"]


def test_limits_apply_to_records_as_to_responses(serve, path):
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset(*(f"/{n}" for n in range(99)))})
    usp.sitemap_tree_for_homepage(site.base, record=path)
    loaded = usp.load(path, limits=usp.Limits(document_bytes=500))
    assert 0 < loaded.page_count() < 99
    assert [failure.code for failure in loaded.failures()] == ["limit-document-bytes"]


def test_a_snapshot_that_was_compressed_anew_is_the_same(serve, path):
    site = serve(mixed())
    tree = usp.sitemap_tree_for_homepage(site.base, record=path)
    data, members = path.read_bytes(), []
    while data:
        inflate = zlib.decompressobj(31)
        members.append(gzip.compress(inflate.decompress(data), 9))
        data = inflate.unused_data
    path.write_bytes(b"".join(members))
    assert_same(tree, usp.load(path))
    path.write_bytes(b"".join(map(gzip.decompress, members)))
    assert_same(tree, usp.load(path))


def test_two_snapshots_in_one_file_are_the_later_one(serve, tmp_path):
    site = serve(mixed())
    usp.sitemap_tree_for_homepage(site.base, record=tmp_path / "a.warc.gz")
    site.answers["/a.xml"] = urlset("/a/new")
    tree = usp.sitemap_tree_for_homepage(site.base, record=tmp_path / "b.warc.gz")
    both = tmp_path / "both.warc.gz"
    both.write_bytes(b"".join((tmp_path / f"{name}.warc.gz").read_bytes() for name in "ab"))
    assert_same(tree, usp.load(both))


def test_two_snapshots_in_one_file_are_the_later_one_also_if_their_indexes_are_at_one_place(path):
    made = {
        page: forged({**DOCUMENTS, "/0.xml": urlset(page)}) for page in map("/{}".format, range(20))
    }
    first, later = next(
        pair for pair in combinations(made, 2) if len({len(made[page]) for page in pair}) == 1
    )
    path.write_bytes(made[first] + made[later])
    assert f"{HOST}{later}" in urls(usp.load(path))


def test_events_are_told(serve, tmp_path):
    site = serve(mixed())
    usp.sitemap_tree_for_homepage(site.base, record=tmp_path / "a.warc.gz")
    told, failed = [], []
    usp.load(tmp_path / "a.warc.gz", on_event=told.append, on_failure=failed.append)
    assert {SitemapFinished, SitemapFailed} <= set(map(type, told))
    assert failed


def test_opening_reads_no_page_sitemap_and_iterating_holds_none(serve, path):
    urls = [f"/a/rather/long/address/of/a/page/with/a/number/{n:06}" for n in range(60_000)]
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset(*urls)})
    tree = usp.sitemap_tree_for_homepage(site.base, record=path)
    gc.collect()
    tracemalloc.start()
    try:
        loaded = usp.load(path)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
        peaks = []
        for one in (tree, loaded):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            assert sum(1 for _ in one.all_pages()) == len(urls)
            peaks.append(tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 1_000_000


def test_all_that_a_limit_lets_through_is_read_from_a_record_as_from_a_response(serve, path):
    names = [f"/{number:04}.xml" for number in range(6000)]
    site = serve({"/robots.txt": robots("/i.xml"), "/i.xml": index(*names)})
    limits = usp.Limits(document_bytes=250_000)
    one = {"recurse_list_callback": lambda urls, *_: urls[:1] + urls[-1:]}
    usp.sitemap_tree_for_homepage(site.base, record=path, use_known_paths=False, **one)
    live = usp.sitemap_tree_for_homepage(site.base, use_known_paths=False, limits=limits, **one)
    loaded = usp.load(path, limits=limits)
    skipped = [tree.sub_sitemaps[0].sub_sitemaps[0].skipped for tree in (live, loaded)]
    assert len(skipped[0]) > 4000
    assert len(skipped[1]) >= len(skipped[0])
