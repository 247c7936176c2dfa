"""A website cannot lead a client into somebody's network: by address, by name, by redirect, by lie."""

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
SECRET = b"secret"


@pytest.fixture
def site(serve, monkeypatch):
    """A site on a public address, so to speak; its other host is on this machine."""
    fake_zones(monkeypatch, public="127.0.0.1")
    site = serve({"/": "home", "alt:/": SECRET, "alt:/x": SECRET})
    for status in (301, 302, 303, 307, 308):
        site.answers[f"/{status}"] = Answer(redirect="{alt}/x", status=status)
    return site


def at(host: str, url: str) -> str:
    """Return the address of another host, with the port of a URL."""
    return f"http://{host}:{url.rpartition(':')[2]}/"


def is_refused(result, text="refused to connect to") -> bool:
    """Tell whether a client has refused, and has sorted that as it should."""
    assert isinstance(result, WebClientErrorResponse), result
    facts = (result.status, result.retryable(), result.unreachable, result.silent, result.blocked)
    assert facts == (None, False, False, False, False)
    return text in result.message()


@together("kind", KINDS)
@together("start", [True, False])
def test_neither_a_child_nor_a_redirect_to_this_machine_is_asked_for(kind, start, site):
    """Outside a crawl, the first address is the start."""
    paths = ["/", "alt:/", "/301", "/302", "/303", "/307", "/308"]
    options = {"start": site.base} if start else {}
    home, child, *redirected = fetch(kind, *map(site.url, paths), **options)
    assert home == b"home"
    assert is_refused(child, "refused to connect to 127.0.0.2 (a loopback address)")
    assert all(map(is_refused, redirected))
    assert set(site.hits) == {*paths} - {"alt:/"}
    assert fetch(kind, site.url("alt:/")) == [SECRET]


NAMES = {
    f"evil{at}.example": [address]
    for at, address in enumerate(["127.0.0.2", "10.0.0.5", "::1", "169.254.169.254", "::ffff:127.0.0.2"])
}  # fmt: skip


@together("kind", KINDS)
@together(
    "host",
    ["10.0.0.5", "192.168.0.1", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "224.0.0.1", "0.0.0.0",
     "[fd00::1]", "[fe80::1]", "255.255.255.255", "198.18.0.1", "100.64.0.1", "[64:ff9b::7f00:1]", *NAMES],
)  # fmt: skip
def test_nothing_is_sent_to_an_address_that_is_not_public(kind, host, site, monkeypatch):
    """Nor to a name with such an address."""
    fake_names(monkeypatch, NAMES)
    connected = []
    for name in ("connect", "connect_ex"):
        real = getattr(socket.socket, name)

        def connect(sock, address, real=real):
            if not str(address[0]).startswith("127.0.0.1"):
                connected.append(address)
            return real(sock, address)

        monkeypatch.setattr(socket.socket, name, connect)
    site.answers["/r"] = Answer(redirect=f"http://{host}/")
    urls = site.url("/"), at(host, site.alt), site.url("/r")
    words = f"refused to connect to {host} at " if host in NAMES else "refused to connect to "
    assert all(is_refused(result, words) for result in fetch(kind, *urls, start=site.base)[1:])
    assert not connected
    assert not site.hits["alt:/"]


@together("kind", OURS)
def test_of_several_addresses_only_those_that_are_allowed_are_tried(kind, site, monkeypatch):
    fake_names(monkeypatch, {"both.example": ["127.0.0.2", "127.0.0.1"]})
    urls = site.url("/"), at("both.example", site.base)
    assert fetch(kind, *urls, start=site.base) == [b"home", b"home"]


@together("kind", KINDS)
def test_a_start_whose_name_moves_to_this_machine_is_refused(kind, site, monkeypatch):
    """The second answer of the name service leads elsewhere; connections are not kept."""
    site.answers["/"] = Answer("home", headers={"Connection": "close"})
    times = 2 if "own" in kind else 1  # a session of the user's looks the name up again
    fake_names(monkeypatch, {"start.example": [*[["127.0.0.1"]] * times, ["127.0.0.2"]]})
    urls = [at("start.example", base) for base in (site.base, site.alt)]
    first, second = fetch(kind, *urls, start=urls[0])
    assert first == b"home"
    assert is_refused(second, "start.example at 127.0.0.2")
    assert not site.hits["alt:/"]


@together("kind", ["requests, own session", "aiohttp, own session"])
def test_a_session_that_is_lied_to_between_two_lookups_gives_no_body(kind, site, monkeypatch):
    """What was looked up was public; where the answer came from is not."""
    fake_names(monkeypatch, {"evil.example": [["127.0.0.1"], ["127.0.0.2"]]})
    site.answers["alt:/"] = SECRET * 100_000  # more than comes with the head
    _, result = fetch(kind, site.url("/"), at("evil.example", site.alt), start=site.base)
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
    urls = map(site.url, ("/", "alt:/", "/302"))
    results = fetch(kind, *urls, start=site.base, zones=Zones(allow=(allow,)))
    assert results == [b"home", SECRET, SECRET]


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
    first, second = (client.for_crawl(start, Limits()) for start in (site.alt, site.base))
    assert b"".join(first.get(site.url("alt:/")).body()) == SECRET
    assert b"".join(second.get(site.url("/")).body()) == b"home"
    assert is_refused(second.get(site.url("alt:/")))
    for each in (first, second, client):
        each.close()


# Proxies ----------------------------------------------------------------------------------------------

FAR = "http://far.invalid/"


@together("kind", KINDS)
@together("host", ["127.0.0.2", "2130706434", "[::1]", "localhost", "metadata.google.internal"])
def test_a_proxy_is_used_wherever_it_is_but_not_asked_for_what_is_local(kind, host, serve):
    near, redirecting = f"http://{host}/", f"{FAR}r"
    site = serve({f"proxied:{FAR}": "far", f"proxied:{near}": "secret"})
    site.answers[f"proxied:{redirecting}"] = Answer(redirect=near)
    far, *others = fetch(kind, FAR, near, redirecting, start=FAR, proxy=site.base)
    assert far == b"far"
    assert all(map(is_refused, others))
    assert set(site.hits) == {f"proxied:{FAR}", f"proxied:{redirecting}"}


@together("kind", ["requests", "requests, own session"])
def test_a_proxy_of_the_environment_is_one_too(kind, serve, monkeypatch):
    site = serve({f"proxied:{FAR}": "far"})
    monkeypatch.setenv("http_proxy", site.base)
    far, near = fetch(kind, FAR, "http://localhost/", start=FAR)
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
    client._session.mount("http://", requests.adapters.HTTPAdapter())
    other = client.for_crawl(site.base, Limits())
    assert other._session is client._session
    other.close()
    assert b"".join(other.get(site.url("/")).body()) == b"home"
    crawl.close()
    client.close()


def test_a_crawl_has_a_client_of_its_own_and_the_same_pause_unless_its_class_is_somebody_elses():
    """Then it keeps its state, and gets new connections."""
    client = RequestsWebClient(wait=0.5)
    crawl = client.for_crawl("http://start.example/", Limits())
    assert crawl is not client
    assert crawl._waiter is client._waiter
    client = type("Mine", (RequestsWebClient,), {})()
    before = client._session
    assert client.for_crawl("http://start.example/", Limits()) is client
    assert client._session is not before
