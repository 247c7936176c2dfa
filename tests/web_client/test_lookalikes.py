"""Clients, sessions and answers that only look like ours work, and what is wrong with them is told."""

import asyncio
import copy
import gzip
import logging
import pickle
from unittest import mock

import pytest
import requests
from both import OURS, fetch
from lookalikes import DOCS, KINDS, PAGES, Client, Duck, Response, Session, answer, body_of, respond

import memory_web
import usp.aio
from memory_web import Doc, H, Web
from together import together
from usp._http.identity import OUR_NAME
from usp.fetch_parse import SitemapFetcher
from usp.objects.sitemap import IndexRobotsTxtSitemap, InvalidSitemap, PagesXMLSitemap
from usp.stream import pages
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from usp.web_client.abstract_client import (
    AbstractWebClient,
    AbstractWebClientSuccessResponse,
    WebClientErrorResponse,
)
from usp.web_client.requests_client import (
    RequestsWebClient,
    RequestsWebClientErrorResponse,
    RequestsWebClientSuccessResponse,
)
from website import Answer, paths, robots, urlset


def tree_of(client, **options):
    return sitemap_tree_for_homepage(f"{H}/", web_client=client, **options)


def by_loop(client):
    return asyncio.run(usp.aio.sitemap_tree_for_homepage(f"{H}/", client))


# Clients -----------------------------------------------------------------------------------------


class DuckResponses(Client):
    def get(self, url):
        given = answer(url)
        if isinstance(given, Response):
            return Duck(url, given.raw_data())
        return mock.Mock(spec=["message", "retryable"], **{"message.return_value": "404 Duck"})


class Wrapper:
    """Hands everything on to a client inside."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)


class Unmade(RequestsWebClient):
    """Never calls the constructor of its base."""

    def __init__(self):
        self.asked = []

    def get(self, url):
        self.asked.append(url)
        return answer(url)


class Simplest(Client, AbstractWebClient):
    """The least that a client with our base can be."""


def mocked(make=mock.MagicMock, **options):
    client = make(**options)
    client.get.side_effect = answer
    return client


CLIENTS = {
    "get and a limit": Client,
    "the least with our base": Simplest,
    "responses without a base": DuckResponses,
    "a mock": mocked,
    "a mock of the interface": lambda: mocked(spec=AbstractWebClient),
    "a mock of our client": lambda: mocked(spec=RequestsWebClient),
    "an autospec": lambda: mocked(mock.create_autospec, spec=AbstractWebClient, instance=True),
    "an autospec of the class": lambda: mocked(spec_set=AbstractWebClient),
    "a wrapper": lambda: Wrapper(Client()),
    "a wrapper of a subclass": lambda: Wrapper(Unmade()),
    "a subclass that calls no constructor": Unmade,
}


@together("name", CLIENTS)
def test_a_client_needs_get_and_a_limit_at_every_front_door(name):
    client = CLIENTS[name]
    tree = tree_of(client())
    assert paths(tree, H) == PAGES
    assert isinstance(tree.sub_sitemaps[0], IndexRobotsTxtSitemap)
    (invalid,) = [node for node in tree.all_sitemaps() if isinstance(node, InvalidSitemap)]
    assert "404" in invalid.reason
    assert [page.url for page in pages(f"{H}/", client())] == [H + path for path in PAGES]
    assert paths(SitemapFetcher(f"{H}/i.xml", 0, client()).sitemap(), H) == PAGES
    assert paths(by_loop(client()), H) == PAGES


def test_an_asynchronous_client_needs_no_base_either():
    class Asynchronous(Client):
        async def get(self, url):
            given = answer(url)
            if not isinstance(given, Response):
                return given

            class Body(usp.web_client.abstract_client.AbstractAsyncWebClientSuccessResponse):
                status_code = given.status_code
                header = staticmethod(given.header)
                url = staticmethod(given.url)

                async def body(self):
                    yield given.raw_data()

            return Body()

    assert paths(by_loop(Asynchronous()), H) == PAGES


def test_a_mocked_response_has_the_values_it_was_given_and_no_others():
    def get(url):
        given = answer(url)
        if not isinstance(given, Response):
            error = mock.MagicMock(spec=WebClientErrorResponse)
            error.message.return_value = "404 Not Found"
            error.retryable.return_value = False
            return error
        response = mock.MagicMock(spec=AbstractWebClientSuccessResponse)
        response.raw_data.return_value = given.raw_data()
        return response  # header(), url() and status_code() are mocks

    client = mock.MagicMock(spec=AbstractWebClient)
    client.get.side_effect = get
    tree = tree_of(client)
    assert paths(tree, H) == PAGES
    assert tree.sub_sitemaps[0].url == f"{H}/robots.txt"


# Mistakes of a client ----------------------------------------------------------------------------


MISTAKES = {
    "a TypeError": (Doc(raises="get", error=TypeError), TypeError, "in the client"),
    "a ValueError": (Doc(raises="get"), ValueError, "in the client"),
    "an error of requests": (
        Doc(raises="get", error=requests.ConnectionError),
        requests.ConnectionError,
        "in the client",
    ),
    "nothing": (Doc(instead=(None,)), TypeError, "returned NoneType"),
    "a response of requests": (Doc(instead=(requests.Response(),)), TypeError, "returned Response"),
    "an unfinished body": (Doc(raises="body", error=RuntimeError), RuntimeError, "in the client"),
    "a body of text": (Doc(instead=(Duck(H, "text"),)), TypeError, "must be bytes, not str"),
}


def broken(path, doc):
    """Give a client that does something wrong when it is asked for one path."""
    return memory_web.Client(Web(DOCS | {path: doc}), 1)


FIRST = [  # what is asked for first, or is a known path that nobody declares; and who asks
    ("robots.txt", tree_of),
    ("a.xml", lambda client: sitemap_tree_for_sitemap(f"{H}/a.xml", client)),
    ("robots.txt", lambda client: list(pages(f"{H}/", client))),
    ("robots.txt", by_loop),
    ("sitemap.xml", tree_of),
]


@together("name", MISTAKES)
@together(("document", "front"), FIRST)
def test_a_mistake_about_the_first_document_comes_out_of_the_call(name, document, front):
    """As in 1.8.1: a client that cannot work must not look like a website without sitemaps."""
    doc, error, words = MISTAKES[name]
    with pytest.raises(error, match=words):
        front(broken(f"/{document}", doc))


@together("name", MISTAKES)
def test_below_that_it_is_the_reason_of_the_sitemap_and_stands_in_the_log(name, caplog):
    doc, error, words = MISTAKES[name]
    with caplog.at_level(logging.WARNING, "usp"):
        tree = tree_of(broken("/gone.xml", doc))
    assert paths(tree, H) == PAGES
    (invalid,) = [node for node in tree.all_sitemaps() if isinstance(node, InvalidSitemap)]
    assert invalid.reason.startswith(f"Unable to fetch sitemap from {H}/gone.xml: {error.__name__}")
    assert words in invalid.reason
    (record,) = [record for record in caplog.records if words in record.getMessage()]
    assert record.exc_info is not None


def test_a_client_that_is_none_is_told_at_once():
    for wrong in (Client, "http://h/", 3, object()):
        with pytest.raises((TypeError, AttributeError), match="set_max_response_data_length"):
            tree_of(wrong)


# Sessions ----------------------------------------------------------------------------------------


@together("kind", KINDS)
def test_a_session_needs_get_with_five_keywords(kind):
    session = Session(kind)
    client = RequestsWebClient(session=session, verify=False)
    client.set_proxies({"http": "http://proxy:1"})
    client.set_timeout(7)
    tree = tree_of(client)
    assert paths(tree, H) == PAGES
    url, timeout, stream, headers, proxies, verify = session.asked[0]
    assert (url, timeout, stream, verify) == (f"{H}/robots.txt", 7, True, False)
    assert proxies == {"http": "http://proxy:1"}
    assert headers["User-Agent"].startswith("ultimate_sitemap_parser/")


class Narrow(requests.Session):
    """Takes less than it did."""

    def get(self, url, timeout=None, stream=None, headers=None, proxies=None, verify=None):
        del timeout, stream, headers, proxies, verify
        return respond(url)


@together(
    "session",
    [mock.MagicMock(), mock.MagicMock(spec=requests.Session), mock.MagicMock(spec=Narrow()), Narrow()],
)  # fmt: skip
def test_a_mock_of_a_session_and_one_that_takes_less(session):
    """One that takes anything is told to leave redirects to us."""
    if isinstance(session, mock.MagicMock):
        session.get.side_effect = lambda url, **_: respond(url)
    assert paths(tree_of(RequestsWebClient(session=session)), H) == PAGES
    if isinstance(session, mock.MagicMock):
        assert session.get.call_args.kwargs["allow_redirects"] is False


@together(
    "get",
    [
        lambda url: respond(url, kind=KINDS[0]),
        lambda: None,
        lambda *_, **__: None,
        lambda *_, **__: object(),
        mock.Mock(side_effect=KeyError("in the session")),
    ],
)
def test_what_is_wrong_with_a_session_is_told(get):
    session = mock.Mock(spec=["get"], get=get)
    with pytest.raises((TypeError, AttributeError, KeyError)):
        tree_of(RequestsWebClient(session=session))


@together("kind", KINDS)
def test_a_success_response_can_be_made_of_any_answer(kind):
    response = RequestsWebClientSuccessResponse(respond(f"{H}/a.xml", kind), 10)
    assert response.raw_data() == DOCS["/a.xml"][:10].encode()
    assert response.status_code() == 200
    assert response.status_message() == "OK"
    assert response.header("Content-Type") == "text/xml"
    assert response.url() == f"{H}/a.xml"


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda client: pickle.loads(pickle.dumps(client)),
}


@together("name", COPIES)
@together(
    ("kind", "options"),
    [
        *((kind, {"wait": 0.001, "random_wait": True}) for kind in OURS),
        *((kind, {"user_agent": "me", "headers": {"X-Key": "k"}}) for kind in OURS),
        ("requests, own session", {"session": {"headers": {"User-Agent": "me", "X-Key": "k"}}}),
    ],
)
def test_a_client_can_be_copied_before_and_after_it_was_used(serve, kind, name, options):
    site = serve({"/a.xml": "pages"})
    urls = [site.url("/a.xml")] * 3
    for start in (None, site.base):
        assert fetch(kind, *urls, start=start, copied=COPIES[name], **options) == [b"pages"] * 3
    sent = site.requests[-1].headers
    expected = (None, OUR_NAME) if "wait" in options else ("k", "me")
    assert (sent.get("X-Key"), sent["User-Agent"]) == expected
    mine = Unmade()  # a subclass keeps what is its own
    mine.asked.append("before")
    assert COPIES[name](mine).asked == ["before"]


# Clients and responses that users wrote for ultimate-sitemap-parser --------------------------------


@together("encoding", [None, "gzip", "deflate"])
def test_a_client_that_serves_from_memory_unpacked_whatever_its_header_says(encoding):
    """As every client does that wraps ``response.content`` of an HTTP library."""
    headers = {"content-encoding": encoding, "content-type": "text/xml"} if encoding else None
    client = Client(headers=headers)
    tree = tree_of(client)
    assert paths(tree, H) == PAGES
    assert client.asked[0] == f"{H}/robots.txt"
    assert client.most == 100 * 1024 * 1024 + 1  # one more, and the limit is passed
    assert len(client.asked) == len(set(client.asked))
    assert not [problem for node in tree.all_sitemaps() for problem in node.problems]


def test_a_client_that_gives_packed_data():
    data = gzip.compress(body_of(f"{H}/a.xml"))
    client = Client(Response(f"{H}/a.xml.gz", data))
    assert paths(sitemap_tree_for_sitemap(f"{H}/a.xml.gz", client), H) == PAGES


class OwnError(WebClientErrorResponse):
    """Knows only the old interface."""

    def __init__(self, text):
        super().__init__(message=text, retryable=False)

    def message(self):
        return "own: " + super().message()


def test_errors_of_an_own_client_are_named_in_the_tree():
    ate = WebClientErrorResponse("the dog ate it", retryable=False)
    for error, said in ((ate, "the dog ate it"), (OwnError("x"), "own: x")):
        node = sitemap_tree_for_sitemap("http://h/a.xml", Client(error))
        expected = f"Unable to fetch sitemap from http://h/a.xml: {said}"
        assert node == InvalidSitemap("http://h/a.xml", expected)


def test_a_subclass_of_the_requests_client_that_overrides_get(serve):
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/p")})
    asked = []

    class Logging(RequestsWebClient):
        def get(self, url):
            asked.append(url)
            return super().get(url)

    client = Logging()
    tree = sitemap_tree_for_homepage(site.base + "/", web_client=client, use_known_paths=False)
    client.close()
    assert paths(tree, site.base) == ["/p"]
    assert asked == [site.url("/robots.txt"), site.url("/a.xml")]
    assert client.max_concurrent_requests == 1


class Lower(RequestsWebClientSuccessResponse):
    """Overrides the data."""

    def raw_data(self):
        return super().raw_data().replace(b"PAGE", b"page")


@together("response", [RequestsWebClientSuccessResponse, Lower])
@together("encoding", [None, "gzip"])
def test_a_response_that_was_read_with_requests(serve, response, encoding):
    """``requests.get`` without streaming: the content is plain, the header may say gzip."""
    site = serve({})
    body = site.fill(urlset("/PAGE"))
    site.answers["/a.xml"] = (
        Answer(gzip.compress(body), headers={"Content-Encoding": encoding}) if encoding else body
    )

    class ByRequests(RequestsWebClient):
        def get(self, url):
            received = requests.get(url, timeout=5)
            return response(requests_response=received, max_response_data_length=None)

    client = ByRequests()
    node = sitemap_tree_for_sitemap(site.url("/a.xml"), client)
    client.close()
    assert isinstance(node, PagesXMLSitemap)
    expected = "/page" if response is Lower else "/PAGE"
    assert paths(node, site.base) == [expected]
    assert [page.url for page in node.pages] == [site.url(expected)]
    assert node.problems == []
    limited = response(requests.get(site.url("/a.xml"), timeout=5), 4)
    assert limited.raw_data() == body[:4]
    assert next(limited.body()) == body[:4]


def test_a_response_can_be_made_with_the_old_arguments_if_it_is_complete():
    response = RequestsWebClientErrorResponse("gone", False)
    assert (response.message(), response.retryable()) == ("gone", False)
    response = RequestsWebClientErrorResponse(message="busy", retryable=True)
    assert (response.status, response.retry_after, response.unreachable) == (None, None, False)
    for base in (AbstractWebClient, AbstractWebClientSuccessResponse):
        with pytest.raises(TypeError):
            type("Half", (base,), {})()
