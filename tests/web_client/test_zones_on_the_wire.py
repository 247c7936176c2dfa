"""A website cannot lead a client into somebody's network: by address, by name, by redirect, by lie."""

from __future__ import annotations

import socket

import pytest
import requests
from both import KINDS, OURS, fake_names, fake_zones, fetch

from together import together
from usp.limits import Limits
from usp.tree import sitemap_tree_for_homepage
from usp.web_client import zones
from usp.web_client.abstract_client import WebClientErrorResponse
from usp.web_client.requests_client import RequestsWebClient
from usp.web_client.zones import Zones
from website import Answer, index, robots, urlset

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def site(serve, monkeypatch):
    """A site on a public address, so to speak; its other host is on this machine."""
    fake_zones(monkeypatch, public="127.0.0.1")
    return serve({"/": "home", "alt:/": "secret", "alt:/x": "secret"})


def port(url: str) -> str:
    return url.rpartition(":")[2]


def is_refused(result, text="refused to connect to") -> bool:
    """Tell whether a client has refused, and has sorted that as it should."""
    assert isinstance(result, WebClientErrorResponse), result
    facts = (result.status, result.retryable(), result.unreachable, result.silent, result.blocked)
    assert facts == (None, False, False, False, False)
    return text in result.message()


@together("kind", KINDS)
def test_a_child_on_this_machine_is_not_asked_for(kind, site):
    home, secret = fetch(kind, site.url("/"), site.url("alt:/"), start=site.base)
    assert home == b"home"
    assert is_refused(secret, "refused to connect to 127.0.0.2 (a loopback address)")
    assert not site.hits["alt:/"]


@together("kind", KINDS)
@together("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_this_machine_is_not_followed(kind, status, site):
    site.answers["/r"] = Answer(redirect="{alt}/x", status=status)
    (result,) = fetch(kind, site.url("/r"), start=site.base)
    assert is_refused(result)
    assert set(site.hits) == {"/r"}


@together("kind", KINDS)
def test_outside_a_crawl_the_first_address_is_the_start(kind, site):
    home, secret = fetch(kind, site.url("/"), site.url("alt:/"))
    assert home == b"home"
    assert is_refused(secret)
    assert fetch(kind, site.url("alt:/")) == [b"secret"]


@together("kind", KINDS)
@together(
    "host",
    ["10.0.0.5", "192.168.0.1", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "224.0.0.1", "0.0.0.0",
     "[fd00::1]", "[fe80::1]", "255.255.255.255", "198.18.0.1", "100.64.0.1", "[64:ff9b::7f00:1]"],
)  # fmt: skip
def test_nothing_is_sent_to_an_address_that_is_not_public(kind, host, site, monkeypatch):
    connected = []
    for name in ("connect", "connect_ex"):
        real = getattr(socket.socket, name)

        def connect(sock, address, real=real):
            if not str(address[0]).startswith("127.0.0.1"):
                connected.append(address)
            return real(sock, address)

        monkeypatch.setattr(socket.socket, name, connect)
    site.answers["/r"] = Answer(redirect=f"http://{host}/")
    results = fetch(
        kind, site.url("/"), f"http://{host}:{port(site.alt)}/", site.url("/r"), start=site.base
    )
    assert is_refused(results[1])
    assert is_refused(results[2])
    assert not connected


@together("kind", OURS)
@together("host", ["2130706434", "0x7f000002", "127.2", "0177.0.0.2"])
def test_an_address_in_another_notation_is_an_address(kind, host, site):
    """Newer versions of aiohttp refuse such a URL by themselves."""
    url = f"http://{host}:{port(site.alt)}/"
    _, result = fetch(kind, site.url("/"), url, start=site.base)
    assert isinstance(result, WebClientErrorResponse)
    assert not result.retryable()
    assert not site.hits["alt:/"]
    (alone,) = fetch("requests", url, start=url)
    assert alone == b"secret"


@together("kind", KINDS)
@together("address", ["127.0.0.2", "10.0.0.5", "::1", "169.254.169.254", "::ffff:127.0.0.2"])
def test_a_name_with_such_an_address_is_refused(kind, address, site, monkeypatch):
    fake_names(monkeypatch, {"evil.example": [address]})
    url = f"http://evil.example:{port(site.alt)}/"
    _, result = fetch(kind, site.url("/"), url, start=site.base)
    assert is_refused(result, "evil.example at ")
    assert not site.hits["alt:/"]


@together("kind", OURS)
def test_of_several_addresses_only_those_that_are_allowed_are_tried(kind, site, monkeypatch):
    fake_names(monkeypatch, {"both.example": ["127.0.0.2", "127.0.0.1"]})
    url = f"http://both.example:{port(site.base)}/"
    assert fetch(kind, site.url("/"), url, start=site.base) == [b"home", b"home"]


@together("kind", KINDS)
def test_a_start_whose_name_moves_to_this_machine_is_refused(kind, site, monkeypatch):
    """The second answer of the name service leads elsewhere; connections are not kept."""
    site.answers["/"] = Answer("home", headers={"Connection": "close"})
    times = 2 if "own" in kind else 1  # a session of the user's looks the name up again
    fake_names(monkeypatch, {"start.example": [*[["127.0.0.1"]] * times, ["127.0.0.2"]]})
    url = f"http://start.example:{port(site.base)}/"
    first, second = fetch(kind, url, url.replace(port(site.base), port(site.alt)), start=url)
    assert first == b"home"
    assert is_refused(second, "start.example at 127.0.0.2")
    assert not site.hits["alt:/"]


@together("kind", ["requests, own session", "aiohttp, own session"])
def test_a_session_that_is_lied_to_between_two_lookups_gives_no_body(kind, site, monkeypatch):
    """What was looked up was public; where the answer came from is not."""
    fake_names(monkeypatch, {"evil.example": [["127.0.0.1"], ["127.0.0.2"]]})
    site.answers["alt:/"] = Answer(b"secret" * 100_000)  # more than comes with the head
    url = f"http://evil.example:{port(site.alt)}/"
    _, result = fetch(kind, site.url("/"), url, start=site.base)
    assert is_refused(result)


@together("kind", OURS)
def test_the_other_end_of_a_connection_is_looked_at_before_anything_is_sent(
    kind, site, monkeypatch
):
    """Whatever the lookup said: here it says 127.0.0.1, and the connection leads to 127.0.0.2."""
    real = zones.AddressGate.admit
    monkeypatch.setattr(
        zones.AddressGate, "admit", lambda gate, host, _: real(gate, host, "8.8.8.8")
    )
    _, result = fetch(kind, site.url("/"), site.url("alt:/"), start=site.base)
    assert is_refused(result)
    assert not site.requests[1:]


@together("kind", KINDS)
@together("allow", ["127.0.0.0/8", "127.0.0.2", "any"])
def test_what_is_allowed_is_reached(kind, allow, site):
    site.answers["/r"] = Answer(redirect="{alt}/x")
    results = fetch(
        kind,
        site.url("/"),
        site.url("alt:/"),
        site.url("/r"),
        start=site.base,
        zones=Zones(allow=(allow,)),
    )
    assert results == [b"home", b"secret", b"secret"]


@together("kind", KINDS)
def test_a_name_that_is_allowed_is_reached_wherever_it_is(kind, site, monkeypatch):
    fake_names(monkeypatch, {"wiki.example": ["127.0.0.2"], "evil.example": ["127.0.0.2"]})
    wiki, evil = (f"http://{name}.example:{port(site.alt)}/" for name in ("wiki", "evil"))
    results = fetch(
        kind, site.url("/"), wiki, evil, start=site.base, zones=Zones(allow=("wiki.example",))
    )
    assert results[:2] == [b"home", b"secret"]
    assert is_refused(results[2])


@together("kind", KINDS)
def test_a_private_start_reaches_its_network_and_not_this_machine(kind, serve, monkeypatch):
    fake_zones(monkeypatch, private="127.0.0.1 127.0.0.3")
    fake_names(monkeypatch, {"start.example": ["127.0.0.1"]})
    site = serve({"/": "home", "alt:/": "secret"})
    start = f"http://start.example:{port(site.base)}/"
    results = fetch(kind, start, site.url("/"), site.url("alt:/"), start=start)
    assert results[:2] == [b"home", b"home"]
    assert is_refused(results[2], "the crawl began at a private address")


@together("kind", KINDS)
def test_a_start_that_is_not_trusted_must_be_public_itself(kind, serve):
    site = serve({"/": "home"})
    (result,) = fetch(kind, site.url("/"), start=site.base, zones=Zones(trust_start=False))
    assert is_refused(result, "only public addresses are trusted")
    assert not site.requests


def test_a_whole_crawl_stays_outside(site):
    site.answers |= {
        "/robots.txt": robots("{alt}/a.xml", "/i.xml", "/r.xml"),
        "/i.xml": index("{alt}/b.xml", "/c.xml"),
        "/r.xml": Answer(redirect="{alt}/d.xml"),
        "/c.xml": urlset("/page"),
        **{f"alt:/{name}.xml": urlset("/secret") for name in "abd"},
    }
    tree = sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
    assert [page.url for page in tree.all_pages()] == [site.url("/page")]
    assert not [path for path in site.hits if path.startswith("alt:")]
    reasons = [node.reason for node in tree.all_sitemaps() if hasattr(node, "reason")]
    assert len(reasons) == 3
    assert all("refused to connect to 127.0.0.2" in reason for reason in reasons)


def test_a_connection_of_another_crawl_is_not_used(site):
    """One client, two crawls: what the first may reach, the second may not, although it is connected."""
    client = RequestsWebClient()
    first = client.for_crawl(site.alt, Limits())
    assert b"".join(first.get(site.url("alt:/")).body()) == b"secret"
    second = client.for_crawl(site.base, Limits())
    assert b"".join(second.get(site.url("/")).body()) == b"home"
    assert is_refused(second.get(site.url("alt:/")))
    for each in (first, second, client):
        each.close()


# Proxies ----------------------------------------------------------------------------------------------


@together("kind", KINDS)
@together("host", ["127.0.0.2", "2130706434", "[::1]", "localhost", "metadata.google.internal"])
def test_a_proxy_is_used_wherever_it_is_but_not_asked_for_what_is_local(kind, host, serve):
    site = serve({"proxied:http://far.invalid/": "far", f"proxied:http://{host}/": "secret"})
    site.answers["proxied:http://far.invalid/r"] = Answer(redirect=f"http://{host}/")
    results = fetch(
        kind,
        "http://far.invalid/",
        f"http://{host}/",
        "http://far.invalid/r",
        start="http://far.invalid/",
        proxy=site.base,
    )
    assert results[0] == b"far"
    assert is_refused(results[1])
    assert is_refused(results[2])
    assert set(site.hits) == {"proxied:http://far.invalid/", "proxied:http://far.invalid/r"}


@together("kind", ["requests", "requests, own session"])
def test_a_proxy_of_the_environment_is_one_too(kind, serve, monkeypatch):
    site = serve({"proxied:http://far.invalid/": "far"})
    monkeypatch.setenv("http_proxy", site.base)
    far, near = fetch(kind, "http://far.invalid/", "http://localhost/", start="http://far.invalid/")
    assert far == b"far"
    assert is_refused(near, "localhost (a loopback name)")


# Sessions and clients of users --------------------------------------------------------------------------


def test_a_session_of_ours_that_somebody_has_changed_is_kept(serve):
    site = serve({"/": "home"})
    client = RequestsWebClient()
    client._session.headers["X-Mine"] = "yes"
    crawl = client.for_crawl(site.base, Limits())
    assert crawl._session is not client._session
    crawl.get(site.url("/")).close()
    assert site.requests[-1].headers["X-Mine"] == "yes"
    adapter = requests.adapters.HTTPAdapter()
    client._session.mount("http://", adapter)
    other = client.for_crawl(site.base, Limits())
    assert other._session is client._session
    other.close()
    assert b"".join(other.get(site.url("/")).body()) == b"home"
    crawl.close()
    client.close()


def test_a_crawl_has_a_client_of_its_own_and_the_same_pause():
    client = RequestsWebClient(wait=0.5)
    crawl = client.for_crawl("http://start.example/", Limits())
    assert crawl is not client
    assert crawl._waiter is client._waiter
    crawl.close()
    client.close()


def test_a_client_of_somebody_elses_class_keeps_its_state_and_gets_new_connections():
    class Mine(RequestsWebClient):
        pass

    client = Mine()
    before = client._session
    assert client.for_crawl("http://start.example/", Limits()) is client
    assert client._session is not before
    client.close()
