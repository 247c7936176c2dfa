"""What the clients of a fleet are given: checked at once, told to the sites, and shown to nobody."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from usp.fleet import FleetOptions, crawl_sites
from usp.web_client.zones import Zones
from website import robots, urlset

ZONES = Zones(allow=("127.0.0.0/8",), trust_start=False)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"timeout": 0}, "timeout must be a positive number"),
        ({"timeout": "5"}, "timeout must be a positive number"),
        ({"timeout": (1, 2, 3)}, "timeout must be a positive number"),
        ({"zones": "10.0.0.0/8"}, "zones must be usp.Zones"),
        ({"user_agent": 5}, "user_agent must be a string or None"),
        ({"proxy": 5}, "proxy must be a string or None"),
        ({"headers": {"X-Key": 5}}, "'X-Key' must be a string"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused_before_anything_is_fetched(options, error):
    with pytest.raises((TypeError, ValueError), match=error):
        FleetOptions(**options)


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
