"""Options hold for every site of a fleet: checked at once, told to the sites, and shown to nobody."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
from fleet_support import ZONES

from usp.events import SitemapFailed
from usp.fleet import FleetOptions, FleetRun, crawl_sites, unwrap
from usp.limits import Limits
from usp.web_client.zones import Zones
from website import index, robots, urlset

COUNTS = ("in_flight", "per_host", "together")
REFUSED = [
    ({"timeout": 0}, "timeout must be a positive number"),
    ({"timeout": "5"}, "timeout must be a positive number"),
    ({"timeout": (1, 2, 3)}, "timeout must be a positive number"),
    ({"zones": "10.0.0.0/8"}, "zones must be usp.Zones"),
    ({"user_agent": 5}, "user_agent must be a string or None"),
    ({"proxy": 5}, "proxy must be a string or None"),
    ({"headers": {"X-Key": 5}}, "'X-Key' must be a string"),
    *(({name: 0}, f"{name} must be a positive integer") for name in COUNTS),
]
RUNS = [
    ({"again": True, "retry_failed": True}, "choose one of them"),
    ({"accept": True}, "add again or retry_failed"),
    ({"engine": "steam"}, "unknown engine 'steam'; choose from local, ray"),
    ({"address": "auto"}, "it needs engine='ray'"),
]


def test_an_option_that_cannot_be_meant_is_refused_before_anything_is_fetched():
    for kind, options, error in [
        *((FleetOptions, *case) for case in REFUSED),
        *((FleetRun, *case) for case in RUNS),
    ]:
        with pytest.raises((TypeError, ValueError), match=error):
            kind(**options)


def test_headers_are_sent_to_every_site(serve):
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/p")})
    options = FleetOptions(zones=ZONES, headers={"X-Key": "s3cret-key"}, use_known_paths=False)
    batches = list(crawl_sites([pa.table({"site": [site.url("/")]})], options))
    assert {request.headers.get("X-Key") for request in site.requests} == {"s3cret-key"}
    assert "s3cret-key" not in repr([batch.to_pylist() for batch in batches])


def test_all_requests_go_to_the_proxy(serve):
    proxy = serve({})
    options = FleetOptions(zones=Zones(allow=("any",)), proxy=proxy.base)
    list(crawl_sites([pa.table({"site": ["http://example.invalid/"]})], options))
    assert proxy.requests


def test_secrets_are_in_copies_and_not_in_what_is_shown():
    secret = FleetOptions(headers={"X-Key": "s3cret-key"}, proxy="http://me:pass@proxy:1")
    copy = pickle.loads(pickle.dumps(secret))
    assert (copy.headers, copy.proxy) == (secret.headers, secret.proxy)
    assert "s3cret-key" not in repr(secret)
    assert "pass" not in repr(secret)


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
