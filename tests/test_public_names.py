"""The names that existing programs use: where they are, and how they are called."""

from __future__ import annotations

import importlib
import inspect
import json
from decimal import Decimal
from enum import Enum
from pathlib import Path

import pytest

import usp.exceptions
import usp.fetch_parse
import usp.helpers
import usp.objects.page
import usp.objects.sitemap
import usp.tree
import usp.web_client.abstract_client
import usp.web_client.requests_client

OF_1_8_1 = json.loads(
    Path(__file__).with_name("compat").joinpath("names_of_1_8_1.json").read_text("utf-8")
)

POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
KEYWORD = inspect.Parameter.KEYWORD_ONLY

SIGNATURES = {
    # usp.tree
    "tree:sitemap_tree_for_homepage": (
        "homepage_url, web_client=None, use_robots=True, use_known_paths=True, "
        "extra_known_paths=None, recurse_callback=None, recurse_list_callback=None, "
        "normalize_homepage_url=True"
    ),
    "tree:sitemap_from_str": "content",
    "tree:sitemap_from_bytes": "data, url=None",
    "tree:sitemap_from_file": "path",
    "tree:sitemap_tree_for_sitemap": "url, web_client=None",
    # usp.fetch_parse
    "fetch_parse:SitemapFetcher": (
        "url, recursion_level, web_client=None, parent_urls=None, quiet_404=False, "
        "recurse_callback=None, recurse_list_callback=None"
    ),
    "fetch_parse:SitemapFetcher.sitemap": "self",
    "fetch_parse:SitemapStrParser": "static_content",
    "fetch_parse:SitemapStrParser.sitemap": "self",
    # usp.objects
    "objects.sitemap:InvalidSitemap": "url, reason",
    "objects.sitemap:IndexWebsiteSitemap": "url, sub_sitemaps",
    "objects.sitemap:IndexXMLSitemap": "url, sub_sitemaps",
    "objects.sitemap:IndexRobotsTxtSitemap": "url, sub_sitemaps",
    "objects.sitemap:PagesXMLSitemap": "url, pages",
    "objects.sitemap:PagesTextSitemap": "url, pages",
    "objects.sitemap:PagesRSSSitemap": "url, pages",
    "objects.sitemap:PagesAtomSitemap": "url, pages",
    "objects.sitemap:AbstractSitemap.to_dict": "self, with_pages=True",
    "objects.sitemap:AbstractSitemap.all_pages": "self",
    "objects.sitemap:AbstractSitemap.all_sitemaps": "self",
    "objects.page:SitemapNewsStory": (
        "title, publish_date, publication_name=None, publication_language=None, access=None, "
        "genres=None, keywords=None, stock_tickers=None"
    ),
    "objects.page:SitemapImage": "loc, caption=None, geo_location=None, title=None, license_=None",
    # usp.helpers
    "helpers:is_http_url": "url",
    "helpers:html_unescape_strip": "string",
    "helpers:parse_iso8601_date": "date_string",
    "helpers:parse_rfc2822_date": "date_string",
    "helpers:get_url_retry_on_client_errors": (
        "url, web_client, retry_count=5, sleep_between_retries=1, quiet_404=False"
    ),
    "helpers:gunzip": "data, max_output_bytes=None",
    "helpers:ungzipped_response_content": "url, response, max_uncompressed_bytes=None",
    "helpers:strip_url_to_homepage": "url",
    # usp.web_client
    "web_client.abstract_client:AbstractWebClient.get": "self, url",
    "web_client.abstract_client:AbstractWebClient.set_max_response_data_length": (
        "self, max_response_data_length"
    ),
    "web_client.abstract_client:AbstractWebClientSuccessResponse.status_code": "self",
    "web_client.abstract_client:AbstractWebClientSuccessResponse.status_message": "self",
    "web_client.abstract_client:AbstractWebClientSuccessResponse.header": (
        "self, case_insensitive_name"
    ),
    "web_client.abstract_client:AbstractWebClientSuccessResponse.raw_data": "self",
    "web_client.abstract_client:AbstractWebClientSuccessResponse.url": "self",
    "web_client.abstract_client:WebClientErrorResponse": "message, retryable",
    "web_client.abstract_client:WebClientErrorResponse.message": "self",
    "web_client.abstract_client:WebClientErrorResponse.retryable": "self",
    "web_client.abstract_client:LocalWebClient": "",
    "web_client.abstract_client:LocalWebClientSuccessResponse": "url, data",
    "web_client.abstract_client:RequestWaiter": "wait=None, random_wait=True",
    "web_client.abstract_client:RequestWaiter.wait": "self",
    "web_client.requests_client:RequestsWebClient": (
        "verify=True, wait=None, random_wait=False, session=None"
    ),
    "web_client.requests_client:RequestsWebClient.set_timeout": "self, timeout",
    "web_client.requests_client:RequestsWebClient.set_proxies": "self, proxies",
    "web_client.requests_client:RequestsWebClientSuccessResponse": (
        "requests_response, max_response_data_length=None"
    ),
    "web_client.requests_client:RequestsWebClientErrorResponse": "message, retryable",
}

NEW_KEYWORDS = {
    "tree:sitemap_tree_for_homepage": {"use_html_links", "recurse_entry_callback"},
    "tree:sitemap_tree_for_sitemap": {"recurse_callback", "recurse_entry_callback"},
    "web_client.requests_client:RequestsWebClient": {"user_agent", "headers", "auth"},
}

OTHER_NAMES = {
    "tree": ["_UNPUBLISHED_SITEMAP_PATHS"],
    "fetch_parse": [
        "AbstractSitemapParser", "AbstractXMLSitemapParser", "IndexRobotsTxtSitemapParser",
        "IndexXMLSitemapParser", "PagesAtomSitemapParser", "PagesRSSSitemapParser",
        "PagesXMLSitemapParser", "PlainTextSitemapParser", "XMLSitemapParser",
    ],
    "objects.sitemap": ["AbstractSitemap", "AbstractIndexSitemap", "AbstractPagesSitemap"],
    "objects.page": ["SITEMAP_PAGE_DEFAULT_PRIORITY", "SitemapPage", "SitemapPageChangeFrequency"],
    "helpers": ["RecurseCallbackType", "RecurseListCallbackType"],
    "exceptions": [
        "SitemapException", "SitemapXMLParsingException", "GunzipException",
        "StripURLToHomepageException",
    ],
    "web_client.abstract_client": [
        "AbstractWebClient", "AbstractWebClientResponse", "NoWebClientException",
        "RETRYABLE_HTTP_STATUS_CODES",
    ],
}  # fmt: skip


def resolve(name: str):
    module, _, path = name.partition(":")
    found = importlib.import_module(f"usp.{module}")
    for part in path.split("."):
        found = getattr(found, part)
    return found


def positional(signature: inspect.Signature) -> str:
    """Give the parameters that may be given by position, as they are written."""
    return ", ".join(
        parameter.name
        if parameter.default is parameter.empty
        else f"{parameter.name}={parameter.default!r}"
        for parameter in signature.parameters.values()
        if parameter.kind is POSITIONAL
    )


def test_what_programs_call_takes_what_they_give(subtests):
    """New options follow by keyword only, and each has a default."""
    for name, expected in SIGNATURES.items():
        with subtests.test(name=name):
            signature = inspect.signature(resolve(name))
            assert positional(signature) == expected
            added = [p for p in signature.parameters.values() if p.kind is not POSITIONAL]
            assert all(p.kind is KEYWORD and p.default is not p.empty for p in added)
            assert NEW_KEYWORDS.get(name, set()) <= {parameter.name for parameter in added}


def test_a_page_is_made_from_the_arguments_that_programs_give():
    names = [
        "url", "priority", "last_modified", "change_frequency", "news_story", "images", "alternates",
    ]  # fmt: skip
    parameters = inspect.signature(usp.objects.page.SitemapPage).parameters
    assert list(parameters)[: len(names)] == names
    assert all(parameters[name].kind is POSITIONAL for name in names)
    page = usp.objects.page.SitemapPage("http://h/")
    assert page.priority == usp.objects.page.SITEMAP_PAGE_DEFAULT_PRIORITY == Decimal("0.5")
    for name in names:
        with pytest.raises(AttributeError):
            setattr(page, name, None)


def test_names_that_programs_import_are_there(subtests):
    for module, name in [(module, name) for module, names in OTHER_NAMES.items() for name in names]:
        with subtests.test(module=module, name=name):
            assert hasattr(importlib.import_module(f"usp.{module}"), name)


def test_the_public_names_of_the_front_doors_are_exactly_these():
    """A name that is added here is a promise: add it to the reference as well."""
    ours = ["sitemap_from_bytes", "sitemap_from_file", "sitemap_tree_for_sitemap"]
    assert sorted(set(usp.tree.__all__) - set(OF_1_8_1["usp.tree"])) == ours
    assert set(usp.fetch_parse.__all__) <= set(OF_1_8_1["usp.fetch_parse"])
    for module in (usp.tree, usp.fetch_parse):
        assert all(hasattr(module, name) for name in module.__all__)


def test_the_classes_of_the_tree_are_related_as_programs_expect():
    module = usp.objects.sitemap
    parents = {
        "InvalidSitemap": "AbstractSitemap",
        "AbstractIndexSitemap": "AbstractSitemap",
        "AbstractPagesSitemap": "AbstractSitemap",
        "IndexWebsiteSitemap": "AbstractIndexSitemap",
        "IndexXMLSitemap": "AbstractIndexSitemap",
        "IndexRobotsTxtSitemap": "AbstractIndexSitemap",
        "PagesXMLSitemap": "AbstractPagesSitemap",
        "PagesTextSitemap": "AbstractPagesSitemap",
        "PagesRSSSitemap": "AbstractPagesSitemap",
        "PagesAtomSitemap": "AbstractPagesSitemap",
    }
    for child, parent in parents.items():
        assert getattr(module, child).__base__ is getattr(module, parent)


def test_the_classes_of_the_clients_are_related_as_programs_expect():
    abstract, ours = usp.web_client.abstract_client, usp.web_client.requests_client
    assert issubclass(ours.RequestsWebClient, abstract.AbstractWebClient)
    assert issubclass(
        ours.RequestsWebClientSuccessResponse, abstract.AbstractWebClientSuccessResponse
    )
    assert issubclass(ours.RequestsWebClientErrorResponse, abstract.WebClientErrorResponse)
    assert issubclass(abstract.WebClientErrorResponse, abstract.AbstractWebClientResponse)
    assert issubclass(abstract.LocalWebClient, abstract.AbstractWebClient)
    assert issubclass(abstract.NoWebClientException, Exception)


def test_change_frequencies_are_an_enum_that_knows_its_values():
    frequency = usp.objects.page.SitemapPageChangeFrequency
    assert issubclass(frequency, Enum)
    assert [(member.name, member.value) for member in frequency] == [
        (name.upper(), name)
        for name in ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
    ]
    assert frequency.has_value("daily")
    assert not frequency.has_value("sometimes")


def test_the_parser_of_pages_has_its_raw_page():
    assert hasattr(usp.fetch_parse.PagesXMLSitemapParser.Page, "page")


def test_exceptions_are_related_as_programs_expect():
    module = usp.exceptions
    assert issubclass(module.SitemapXMLParsingException, module.SitemapException)
    for name in OTHER_NAMES["exceptions"]:
        assert issubclass(getattr(module, name), Exception)
