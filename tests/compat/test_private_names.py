"""Programs for 1.8.1 reach into clients and parsers by names that were never public: they are there."""

import copy
import pickle
from unittest import mock
from xml.parsers import expat

import pytest
import requests

import usp
from together import together
from usp.exceptions import SitemapXMLParsingException
from usp.fetch_parse import (
    IndexXMLSitemapParser,
    PagesAtomSitemapParser,
    PagesRSSSitemapParser,
    PagesXMLSitemapParser,
    XMLSitemapParser,
)
from usp.tree import sitemap_tree_for_homepage
from usp.web_client.abstract_client import LocalWebClient
from usp.web_client.requests_client import RequestsWebClient
from website import atom, index, paths, rss, urlset

H = "http://h"
AGENT = "_RequestsWebClient__USER_AGENT"


# Clients ---------------------------------------------------------------------------------------------


class Renamed(RequestsWebClient):
    _RequestsWebClient__USER_AGENT = "mine"


class _RequestsWebClient(RequestsWebClient):
    __USER_AGENT = "mine"  # Python leaves out the underscore of the class


class Property(RequestsWebClient):
    @property
    def _RequestsWebClient__USER_AGENT(self):
        return "mine"


class InInit(RequestsWebClient):
    def __init__(self):
        super().__init__()
        self._RequestsWebClient__USER_AGENT = "mine"


def set_later():
    client = RequestsWebClient()
    client._RequestsWebClient__USER_AGENT = "mine"
    return client


def with_session():
    session = requests.Session()
    session.headers["User-Agent"] = "of the session"
    client = RequestsWebClient(session=session)
    client._RequestsWebClient__USER_AGENT = "mine"
    return client


MADE = [
    *(Renamed, _RequestsWebClient, Property, InInit, set_later, with_session),
    *(lambda: copy.copy(set_later()), lambda: pickle.loads(pickle.dumps(set_later()))),
]


@pytest.fixture
def site(serve):
    return serve({"/robots.txt": "Sitemap: {base}/a.xml\n", "/a.xml": urlset("/p")})


def agents(site, client=None):
    """Return the user agents of a crawl, and of a single request if there is a client."""
    site.requests.clear()
    sitemap_tree_for_homepage(site.base + "/", client, use_known_paths=False)
    if client is not None:
        client.get(site.url("/a.xml"))
        client.close()
    return {request.headers["User-Agent"] for request in site.requests}


@together("make", MADE)
def test_the_user_agent_of_1_8_1_is_the_one_that_is_sent(site, make):
    assert agents(site, make()) == {"mine"}


def test_the_user_agent_can_be_set_for_all_clients(site):
    with mock.patch.object(RequestsWebClient, AGENT, "mine"):
        assert agents(site) == agents(site, RequestsWebClient()) == {"mine"}
        assert agents(site, RequestsWebClient(user_agent="given")) == {"given"}
    assert agents(site) == {f"ultimate_sitemap_parser/{usp.__version__}"}
    assert getattr(RequestsWebClient, AGENT) == f"ultimate_sitemap_parser/{usp.__version__}"


def test_a_name_that_python_makes_of_another_class_is_not_the_user_agent(site):
    class Other(RequestsWebClient):
        __USER_AGENT = "mine"

    assert "mine" not in agents(site, Other())


@together("session", [None, requests.Session()])
def test_the_session_can_be_reached_and_replaced(site, session):
    client = RequestsWebClient()
    if session is not None:
        client._RequestsWebClient__session = session
        assert client.max_concurrent_requests == 1
    client._RequestsWebClient__session.headers["X-Mine"] = "1"
    agents(site, client)
    assert {request.headers["X-Mine"] for request in site.requests} == {"1"}


def test_settings_can_be_read_and_set():
    session = mock.Mock(spec=["get"])
    session.get.return_value.status_code = 404
    client = RequestsWebClient(session=session)
    assert client._RequestsWebClient__timeout == (9.05, 60)
    client._RequestsWebClient__timeout = 3
    client._RequestsWebClient__verify = False
    client._RequestsWebClient__proxies = {"http": "http://p:1"}
    client.get(f"{H}/x")
    sent = session.get.call_args.kwargs
    assert (sent["timeout"], sent["verify"], sent["proxies"]) == (3, False, {"http": "http://p:1"})
    client.set_max_response_data_length(7)
    assert client._RequestsWebClient__max_response_data_length == 7
    assert client._RequestsWebClient__waiter.pause() == 0


def test_a_crawl_sets_the_limit_of_the_client_that_it_is_given(site):
    limits = []

    class Client(RequestsWebClient):
        def set_max_response_data_length(self, max_response_data_length):
            limits.append(max_response_data_length)
            super().set_max_response_data_length(max_response_data_length)

    agents(site, Client())
    assert set(limits) == {100 * 1024 * 1024 + 1}  # one more shows that there is more


def test_the_default_timeout_is_that_of_the_class():
    with mock.patch.object(RequestsWebClient, "_RequestsWebClient__HTTP_REQUEST_TIMEOUT", (1, 2)):
        assert RequestsWebClient()._RequestsWebClient__timeout == (1, 2)
        assert RequestsWebClient(timeout=3)._RequestsWebClient__timeout == 3


# Parsers ---------------------------------------------------------------------------------------------


def parser_of(content):
    options = {"recursion_level": 0, "web_client": LocalWebClient(), "parent_urls": set()}
    return XMLSitemapParser(f"{H}/s.xml", content.replace("{base}", H), **options)


def with_expat(parser):
    """Parse as 1.8.1 does, and as programs do that must not fetch children."""
    separator = parser._XMLSitemapParser__XML_NAMESPACE_SEPARATOR
    reader = expat.ParserCreate(namespace_separator=separator)
    reader.StartElementHandler = parser._xml_element_start
    reader.EndElementHandler = parser._xml_element_end
    reader.CharacterDataHandler = parser._xml_char_data
    reader.Parse(parser._content, True)


def as_a_whole(parser):
    parser.sitemap()


FOREIGN = '<q:loc xmlns:q="urn:q">http://h/no.xml</q:loc>'
INDEXES = {
    "plain": index("/a.xml", "/b.xml?c=1&amp;d=2", "/a.xml"),
    "blanks": index(
        "<sitemap><loc> {base}/a.xml\n</loc></sitemap>",
        f"<sitemap>{FOREIGN}<loc>{{base}}/b.xml?c=1&amp;d=2</loc></sitemap>",
    ),
    "no namespace": "<sitemapindex><sitemap><loc>{base}/a.xml</loc></sitemap>"
    "<sitemap><loc>{base}/b.xml?c=1&amp;d=2</loc></sitemap></sitemapindex>",
}


@together("parse", [as_a_whole, with_expat])
@together("content", INDEXES.values(), ids=INDEXES)
def test_the_children_of_an_index_can_be_read_from_its_parser(content, parse):
    parser = parser_of(content)
    assert parser._concrete_parser is None
    parse(parser)
    assert type(parser._concrete_parser) is IndexXMLSitemapParser
    assert parser._concrete_parser._sub_sitemap_urls == [f"{H}/a.xml", f"{H}/b.xml?c=1&d=2"]


@together("parse", [as_a_whole, with_expat])
@together(
    ("content", "kind"),
    [
        (urlset("/p"), PagesXMLSitemapParser),
        (rss("/p"), PagesRSSSitemapParser),
        (atom("/p"), PagesAtomSitemapParser),
    ],
)
def test_the_parser_of_a_kind_gives_its_pages(content, kind, parse):
    parser = parser_of(content)
    parse(parser)
    assert type(parser._concrete_parser) is kind
    assert paths(parser._concrete_parser.sitemap(), H) == ["/p"]


def test_what_is_no_sitemap_has_no_parser_of_its_kind():
    parser = parser_of("<html><body/></html>")
    parser.sitemap()
    assert parser._concrete_parser is None
    with pytest.raises(SitemapXMLParsingException, match="Unsupported root element 'html'"):
        with_expat(parser)
