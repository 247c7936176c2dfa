"""The options of the client on ``requests``: each reaches the server, or keeps something from it."""

from __future__ import annotations

import contextlib
import gc
import socket
import time
from urllib.parse import urlsplit

import pytest
import requests

import usp
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from usp.web_client.abstract_client import AbstractWebClient
from usp.web_client.requests_client import (
    DEFAULT_TIMEOUT,
    RequestsWebClient,
    RequestsWebClientErrorResponse,
    RequestsWebClientSuccessResponse,
)
from usp.web_client.zones import Zones
from website import Answer, index, robots, urlset


@pytest.fixture
def make():
    clients = []

    def new(*args, **options) -> RequestsWebClient:
        clients.append(RequestsWebClient(*args, **options))
        return clients[-1]

    yield new
    for client in clients:
        client.close()


@pytest.fixture
def site(serve):
    return serve(
        {
            "/": "home",
            "/r": Answer(redirect="/"),
            "/away": Answer(redirect="{alt}/there"),
            "alt:/there": "there",
        }
    )


def sent(site, path="/"):
    """Give the headers of the only request for a path."""
    (request,) = [request for request in site.requests if request.path == path]
    return request.headers


def test_the_defaults_are_those_that_programs_know(make):
    assert DEFAULT_TIMEOUT == (9.05, 60)
    client = make()
    assert isinstance(client, AbstractWebClient)
    assert client.max_concurrent_requests == 8


def test_the_user_agent_names_the_library(make, site):
    make().get(site.url("/"))
    assert sent(site)["User-Agent"] == f"ultimate_sitemap_parser/{usp.__version__}"


def test_the_user_agent_can_be_another(make, site):
    make(user_agent="mine/1.0").get(site.url("/"))
    assert sent(site)["User-Agent"] == "mine/1.0"


def test_headers_are_sent_and_may_replace_ours(make, site):
    make(headers={"X-Test": "1", "User-Agent": "other"}).get(site.url("/"))
    assert sent(site)["X-Test"] == "1"
    assert sent(site)["User-Agent"] == "other"


def test_headers_replace_ours_in_any_spelling(make, site):
    make(headers={"user-agent": "other", "accept-encoding": "identity"}).get(site.url("/"))
    assert sent(site).get("user-agent", sent(site).get("User-Agent")) == "other"
    names = [name.lower() for name in sent(site)]
    assert len(names) == len(set(names))


def test_only_encodings_that_are_unpacked_are_asked_for(make, site):
    make().get(site.url("/"))
    assert sent(site)["Accept-Encoding"] == "gzip, deflate"


def test_auth_is_sent_to_the_host_that_is_asked_first_and_to_no_other(make, serve):
    site = serve(
        {
            "/robots.txt": robots("/i.xml", "{alt}/b.xml"),
            "/i.xml": index("/a.xml", "{alt}/c.xml"),
            "/a.xml": Answer(redirect="{alt}/d.xml"),
            **{f"alt:/{name}.xml": urlset("/p") for name in "bcd"},
        }
    )
    secret = {"Authorization": "Bearer x", "Cookie": "session=1", "X-Open": "2"}
    for options in ({"auth": ("me", "word")}, {"headers": secret}):
        site.requests.clear()
        sitemap_tree_for_homepage(site.base + "/", make(**options), use_known_paths=False)
        assert len(site.requests) == 6
        for request in site.requests:
            home = not request.path.startswith("alt:")
            assert ("Authorization" in request.headers) == home, request
            if "headers" in options:
                assert ("Cookie" in request.headers) == home, request
                if home:
                    assert request.headers["X-Open"] == "2"


def test_auth_may_be_whatever_requests_takes(make, site):
    def sign(request):
        request.headers["X-Signed"] = "yes"
        return request

    make(auth=sign).get(site.url("/"))
    assert sent(site)["X-Signed"] == "yes"


def test_a_session_of_the_users_is_used_and_not_closed(site):
    closed = []

    class Session(requests.Session):
        def close(self):
            closed.append(self)
            super().close()

    session = Session()
    session.headers["X-Mine"] = "yes"
    session.headers["User-Agent"] = "session/1"
    client = RequestsWebClient(session=session)
    response = client.get(site.url("/"))
    assert response.raw_data() == b"home"
    client.close()
    assert not closed
    assert sent(site)["X-Mine"] == "yes"
    assert sent(site)["User-Agent"] == "session/1"
    session.close()


def test_a_session_that_does_not_name_itself_gets_our_name(site):
    with requests.Session() as session:
        RequestsWebClient(session=session).get(site.url("/")).raw_data()
    assert sent(site)["User-Agent"].startswith("ultimate_sitemap_parser/")


def test_a_session_of_the_users_is_used_for_one_request_at_a_time_unless_told_otherwise():
    with requests.Session() as session:
        assert RequestsWebClient(session=session).max_concurrent_requests == 1
        client = RequestsWebClient(session=session, max_concurrent_requests=4)
        assert client.max_concurrent_requests == 4


def test_a_pause_between_requests_is_kept_and_means_one_at_a_time(make, serve):
    site = serve(
        {"/i.xml": index("/a.xml", "/b.xml"), "/a.xml": urlset("/a"), "/b.xml": urlset("/b")}
    )
    client = make(wait=0.1)
    assert client.max_concurrent_requests == 1
    started = time.monotonic()
    tree = sitemap_tree_for_sitemap(site.url("/i.xml"), client)
    assert tree.page_count() == 2
    assert time.monotonic() - started >= 0.2
    assert site.most_at_once["base"] == 1


def test_a_read_timeout_ends_the_wait_and_may_pass(make, serve):
    site = serve({"/slow": Answer("late", delay=1.0)})
    client = make()
    client.set_timeout(0.1)
    response = client.get(site.url("/slow"))
    assert isinstance(response, RequestsWebClientErrorResponse)
    assert response.retryable()
    assert not response.unreachable
    client.set_timeout((1, None))
    assert isinstance(client.get(site.url("/slow")), RequestsWebClientSuccessResponse)


def test_requests_go_through_the_proxies_that_are_set(make, serve):
    site = serve({"proxied:http://nowhere.invalid/a.xml": "by proxy"})
    client = make()
    client.set_proxies({"http": site.base})
    response = client.get("http://nowhere.invalid/a.xml")
    assert response.raw_data() == b"by proxy"


def test_the_proxies_of_the_environment_are_used_except_for_hosts_that_want_none(
    make, serve, monkeypatch
):
    site = serve({"proxied:http://far.invalid/": "by proxy", "/": "at once"})
    monkeypatch.setenv("http_proxy", site.base)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    client = make(zones=Zones(allow=("127.0.0.1",)))  # it begins at a host that seems to be public
    for _ in range(2):
        assert client.get("http://far.invalid/").raw_data() == b"by proxy"
        assert client.get(site.url("/")).raw_data() == b"at once"


@pytest.mark.parametrize("verify", [True, False, "/path/to/bundle.pem"])
def test_verify_is_handed_on_to_requests(verify, site, monkeypatch):
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    seen = []

    class Session(requests.Session):
        def send(self, request, **options):
            seen.append(options["verify"])
            return super().send(request, **options)

    with Session() as session:
        RequestsWebClient(verify=verify, session=session).get(site.url("/")).close()
    assert seen == [verify]


def test_the_first_four_parameters_may_be_given_by_position(site):
    with requests.Session() as session:
        client = RequestsWebClient(True, 0.0, True, session)
        assert client.get(site.url("/")).raw_data() == b"home"


def open_connections(site):
    """Return the number of sockets of this process that are connected to the site."""
    port, count = urlsplit(site.url("/")).port, 0
    for one in gc.get_objects():
        if issubclass(type(one), socket.socket) and one.fileno() != -1:
            with contextlib.suppress(OSError):
                count += one.getpeername()[1] == port
    return count


def test_a_client_that_is_closed_leaves_no_open_sockets(site):
    client = RequestsWebClient()
    client.get(site.url("/")).raw_data()
    assert open_connections(site) == 1  # kept for the next request
    client.close()
    assert open_connections(site) == 0


def test_connections_to_many_hosts_are_not_all_kept(serve):
    sites = [serve({"/": "home"}) for _ in range(14)]
    client = RequestsWebClient()
    for site in sites:
        assert client.get(site.url("/")).raw_data() == b"home"
    kept = [open_connections(site) for site in sites]
    assert kept == [0] * 4 + [1] * 10  # as many hosts as urllib3 remembers
    client.close()
    assert not any(map(open_connections, sites))


def test_a_client_can_serve_several_crawls(make, serve):
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/p")})
    client = make()
    trees = [sitemap_tree_for_homepage(site.base + "/", client) for _ in range(3)]
    assert trees[0] == trees[1] == trees[2]
    assert trees[0].page_count() == 1


def test_redirects_are_followed_and_told(make, site):
    response = make().get(site.url("/r"))
    assert response.url() == site.url("/")
    assert response.redirects() == (site.url("/r"),)
    assert response.status_code() == 200
    assert response.status_message() == "OK"
    assert response.header("content-LENGTH") == "4"
    assert response.header("x-none") is None
    assert dict(response.headers())["Content-Length"] == "4"
