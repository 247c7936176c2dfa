"""A tree that was recorded and loaded is the one that was crawled, in everything that it says."""

import asyncio
import gc
import pickle
import tracemalloc
from itertools import combinations

import pytest
from snapshots import assert_same, codes, members_of, mixed, urls
from test_hostile_snapshots import DOCUMENTS, forged
from test_third_party_warcs import HOST, compressed

import usp
from fronts import rest
from usp import aio
from usp.events import SitemapFailed, SitemapFinished
from website import Answer, index, robots, urlset, with_index


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
    assert set(codes(loaded)) >= {"server-error", "body-cut-off"}
    assert loaded.page_count() == tree.page_count() > 4
    assert len(site.requests) == asked
    assert_same(tree, asyncio.run(aio.load(path)))


def test_a_stream_is_recorded_as_well_unless_it_is_not_read_to_its_end(serve, path):
    site = serve(mixed())
    stream = usp.pages(site.base, record=path)
    next(stream)
    stream.close()
    assert not list(path.parent.iterdir())
    pages = [page.url for page in usp.pages(site.base, record=path)]
    assert urls(loaded := usp.load(path)) == pages
    path.unlink()

    again = asyncio.run(rest(aio.pages(site.base, record=path)))
    assert [page.url for page in again] == pages
    assert usp.load(path) == loaded


def test_a_loaded_tree_can_be_saved_and_pickled(record, path, tmp_path):
    _, tree = record(mixed())
    loaded = usp.load(path)
    loaded.save(tmp_path / "b.warc.gz")
    assert_same(tree, usp.load(tmp_path / "b.warc.gz"))
    copy = pickle.loads(pickle.dumps(loaded))
    path.unlink()
    assert copy == tree
    for node in (copy, tree.sub_sitemaps[0]):
        with pytest.raises(usp.SnapshotError, match="not at hand"):
            node.save(tmp_path / "c.warc.gz")


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
def test_a_loaded_tree_is_that_of_the_crawl_with_its_options_and_limits(record, path, options):
    _, tree = record({**mixed(), "/extra/map.xml": urlset("/e/1")}, **options)
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
def test_limits_of_a_crawl_do_not_hide_what_is_in_its_file(record, path, limits, absent):
    site, tree = record(mixed(), limits=usp.Limits(**limits))
    loaded = usp.load(path)
    assert set(urls(tree)) <= set(urls(loaded))
    reasons = {failure.url: failure.code for failure in loaded.failures()}
    assert "not-in-snapshot" not in reasons.values()
    assert set(reasons.values()) - {"body-cut-off"} <= set(codes(tree))
    if absent is not None:
        assert reasons[site.url(absent)].startswith("limit-")


def test_failed_hosts_and_documents_that_are_declared_twice_are_recorded_once(record, path):
    tree = usp.sitemap_tree_for_homepage("http://127.0.0.1:9/", record=path)
    assert_same(tree, usp.load(path))
    assert tree.failures()[0].code == "connection-refused"
    twice = {"/robots.txt": robots("/one.xml", "/two.xml"), "/a.xml": urlset("/a/1")}
    _, tree = record(twice | dict.fromkeys(("/one.xml", "/two.xml"), index("/a.xml")))
    assert_same(tree, usp.load(path))
    assert tree.page_count() == 2


def test_what_was_not_fetched_for_lack_of_time_is_told_again(record, path):
    late = {f"/{n}.xml": Answer(urlset(f"/{n}"), delay=0.1 * n) for n in range(4)}
    _, tree = record(with_index(late), limits=usp.Limits(seconds=0.15))
    loaded = usp.load(path, limits=usp.Limits())
    assert "limit-seconds" in codes(loaded)
    assert codes(loaded) == codes(tree)


def test_a_large_page_that_is_no_sitemap_is_the_same_from_a_file(record, path):
    page = f"<!DOCTYPE html><html><body>{'<p>down for maintenance</p>' * 50_000}</body></html>"
    record({"/robots.txt": robots("/a.xml"), "/a.xml": page})
    usp.load(path).save(path)
    assert codes(usp.load(path)) == ["html-page"]


def test_limits_apply_to_records_as_to_responses(record, path):
    """To the last byte within the limit, however large the piece is that it comes in."""
    names = [f"/{number:04}.xml" for number in range(6000)]
    few = {"recurse_list_callback": lambda urls, level, _: urls[:1] if level else urls}
    declared = {"/robots.txt": robots("/i.xml", "/a.xml"), "/i.xml": index(*names)}
    site, _ = record(declared | {"/a.xml": urlset(*names)}, **few)
    limits = usp.Limits(document_bytes=250_000)
    live = usp.sitemap_tree_for_homepage(site.base, limits=limits, **few)
    for tree in (live, loaded := usp.load(path, limits=limits)):
        assert 0 < tree.page_count() < 6000
        assert codes(tree).count("limit-document-bytes") == 2
    declared = [tree.sub_sitemaps[0].sub_sitemaps[0].skipped for tree in (live, loaded)]
    assert 4000 < len(declared[0]) <= len(declared[1])


def test_a_snapshot_that_was_compressed_anew_is_the_same(record, path):
    _, tree = record(mixed())
    members = members_of(path)
    for form in (compressed, b"".join):
        path.write_bytes(form(members))
        assert_same(tree, usp.load(path))


def test_two_snapshots_in_one_file_are_the_later_one(record, path):
    """Also if their indexes are at one place."""
    site, _ = record(mixed())
    first = path.read_bytes()
    site.answers["/a.xml"] = urlset("/a/new")
    tree = usp.sitemap_tree_for_homepage(site.base, record=path)
    path.write_bytes(first + path.read_bytes())
    assert_same(tree, usp.load(path))
    made = {
        page: forged({**DOCUMENTS, "/0.xml": urlset(page)}) for page in map("/{}".format, range(20))
    }
    first, later = next(
        pair for pair in combinations(made, 2) if len({len(made[page]) for page in pair}) == 1
    )
    path.write_bytes(made[first] + made[later])
    assert f"{HOST}{later}" in urls(usp.load(path))


def test_events_are_told(record, path):
    record(mixed())
    told, failed = [], []
    usp.load(path, on_event=told.append, on_failure=failed.append)
    assert {SitemapFinished, SitemapFailed} <= set(map(type, told))
    assert failed


def test_opening_reads_no_page_sitemap_and_iterating_holds_none(record, path):
    urls = [f"/a/rather/long/address/of/a/page/with/a/number/{n:06}" for n in range(60_000)]
    _, tree = record({"/robots.txt": robots("/a.xml"), "/a.xml": urlset(*urls)})
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
