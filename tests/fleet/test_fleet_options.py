"""The options of a crawl hold for every site of a fleet."""

from __future__ import annotations

import pyarrow as pa

from usp.events import SitemapFailed
from usp.fleet import FleetOptions, crawl_sites, unwrap
from usp.limits import Limits
from usp.web_client.zones import Zones
from website import index, robots, urlset

ZONES = Zones(allow=("127.0.0.0/8",), trust_start=False)


def test_sites_are_crawled_with_the_options_of_a_crawl(serve):
    site = serve(
        {
            "/robots.txt": robots("/i.xml"),
            "/i.xml": index("/a.xml", "/b.xml", "/gone.xml"),
            "/a.xml": urlset("/a"),
            "/b.xml": urlset("/b"),
            "/sitemap.xml": urlset("/known"),
            "/extra.xml": urlset("/extra"),
        }
    )
    events, failures = [], []
    options = FleetOptions(
        zones=ZONES,
        limits=Limits(seconds=60),
        use_known_paths=False,
        extra_known_paths=["extra.xml"],
        recurse_callback=lambda url, *_: "b.xml" not in url,
        on_event=events.append,
        on_failure=failures.append,
    )
    batches = list(crawl_sites([pa.table({"site": [site.url("/")]})], options))
    pages = pa.Table.from_batches(unwrap(batches, "pages"))["url"].to_pylist()
    assert pages == [site.url("/a"), site.url("/extra")]
    assert site.hits["/sitemap.xml"] == site.hits["/b.xml"] == 0
    (failed,) = [event for event in events if isinstance(event, SitemapFailed)]
    assert failed.url == site.url("/gone.xml")
    assert [failure.url for failure in failures] == [failed.url]
    (row,) = pa.Table.from_batches(unwrap(batches, "sites")).to_pylist()
    assert row["outcome"] == "partial"
    assert row["requests"] == sum(site.hits.values())
