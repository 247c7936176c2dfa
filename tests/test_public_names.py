"""The names that existing programs use: where they are, and how they are called."""

from __future__ import annotations

import importlib
import inspect
import json
from operator import attrgetter
from pathlib import Path

import usp.fetch_parse
import usp.tree
import usp.web_client.requests_client
from together import together

OF_1_8_1 = json.loads(
    Path(__file__).with_name("compat").joinpath("names_of_1_8_1.json").read_text("utf-8")
)

POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
KEYWORD = inspect.Parameter.KEYWORD_ONLY

SIGNATURES = {
    "tree": {
        "sitemap_tree_for_homepage": (
            "homepage_url, web_client=None, use_robots=True, use_known_paths=True, "
            "extra_known_paths=None, recurse_callback=None, recurse_list_callback=None, "
            "normalize_homepage_url=True"
        ),
        "sitemap_from_str": "content",
        "sitemap_from_bytes": "data, url=None",
        "sitemap_from_file": "path",
        "sitemap_tree_for_sitemap": "url, web_client=None",
    },
    "fetch_parse": {
        "SitemapFetcher": (
            "url, recursion_level, web_client=None, parent_urls=None, quiet_404=False, "
            "recurse_callback=None, recurse_list_callback=None"
        ),
        "SitemapFetcher.sitemap": "self",
        "SitemapStrParser": "static_content",
        "SitemapStrParser.sitemap": "self",
    },
    "objects.sitemap": {
        "InvalidSitemap": "url, reason",
        **{f"Index{kind}Sitemap": "url, sub_sitemaps" for kind in ("Website", "XML", "RobotsTxt")},
        **{f"Pages{kind}Sitemap": "url, pages" for kind in ("XML", "Text", "RSS", "Atom")},
        "AbstractSitemap.to_dict": "self, with_pages=True",
        **dict.fromkeys(("AbstractSitemap.all_pages", "AbstractSitemap.all_sitemaps"), "self"),
    },
    "objects.page": {
        "SitemapNewsStory": (
            "title, publish_date, publication_name=None, publication_language=None, "
            "access=None, genres=None, keywords=None, stock_tickers=None"
        ),
        "SitemapImage": "loc, caption=None, geo_location=None, title=None, license_=None",
    },
    "helpers": {
        **dict.fromkeys(("is_http_url", "strip_url_to_homepage"), "url"),
        "html_unescape_strip": "string",
        **dict.fromkeys(("parse_iso8601_date", "parse_rfc2822_date"), "date_string"),
        "get_url_retry_on_client_errors": (
            "url, web_client, retry_count=5, sleep_between_retries=1, quiet_404=False"
        ),
        "gunzip": "data, max_output_bytes=None",
        "ungzipped_response_content": "url, response, max_uncompressed_bytes=None",
    },
    "web_client.abstract_client": {
        "AbstractWebClient.get": "self, url",
        "AbstractWebClient.set_max_response_data_length": "self, max_response_data_length",
        **{
            f"AbstractWebClientSuccessResponse.{name}": "self"
            for name in ("status_code", "status_message", "raw_data", "url")
        },
        "AbstractWebClientSuccessResponse.header": "self, case_insensitive_name",
        "WebClientErrorResponse": "message, retryable",
        **{f"WebClientErrorResponse.{name}": "self" for name in ("message", "retryable")},
        "LocalWebClient": "",
        "LocalWebClientSuccessResponse": "url, data",
        "RequestWaiter": "wait=None, random_wait=True",
        "RequestWaiter.wait": "self",
    },
    "web_client.requests_client": {
        "RequestsWebClient": "verify=True, wait=None, random_wait=False, session=None",
        "RequestsWebClient.set_timeout": "self, timeout",
        "RequestsWebClient.set_proxies": "self, proxies",
        "RequestsWebClientSuccessResponse": "requests_response, max_response_data_length=None",
        "RequestsWebClientErrorResponse": "message, retryable",
    },
}
NEW_KEYWORDS = {
    "sitemap_tree_for_homepage": {"use_html_links", "recurse_entry_callback"},
    "sitemap_tree_for_sitemap": {"recurse_callback", "recurse_entry_callback"},
    "RequestsWebClient": {"user_agent", "headers", "auth"},
}


def positional(signature: inspect.Signature) -> str:
    """Give the parameters that may be given by position, as they are written."""
    return ", ".join(
        parameter.name
        if parameter.default is parameter.empty
        else f"{parameter.name}={parameter.default!r}"
        for parameter in signature.parameters.values()
        if parameter.kind is POSITIONAL
    )


@together(
    "module, name, expected",
    [
        (module, name, given)
        for module, names in SIGNATURES.items()
        for name, given in names.items()
    ],
)
def test_what_programs_call_takes_what_they_give(module, name, expected):
    """New options follow by keyword only, and each has a default."""
    found = attrgetter(name)(importlib.import_module(f"usp.{module}"))
    signature = inspect.signature(found)
    assert positional(signature) == expected
    added = [p for p in signature.parameters.values() if p.kind is not POSITIONAL]
    assert all(p.kind is KEYWORD and p.default is not p.empty for p in added)
    assert NEW_KEYWORDS.get(name, set()) <= {parameter.name for parameter in added}


def test_the_public_names_of_the_front_doors_are_exactly_these():
    """A name that is added here is a promise: add it to the reference as well."""
    ours = ["sitemap_from_bytes", "sitemap_from_file", "sitemap_tree_for_sitemap"]
    assert sorted(set(usp.tree.__all__) - set(OF_1_8_1["usp.tree"])) == ours
    assert set(usp.fetch_parse.__all__) <= set(OF_1_8_1["usp.fetch_parse"])
    for module in (usp.tree, usp.fetch_parse):
        assert all(hasattr(module, name) for name in module.__all__)


PARENTS = {  # by module
    "objects.sitemap": {
        "AbstractSitemap": "InvalidSitemap AbstractIndexSitemap AbstractPagesSitemap",
        "AbstractIndexSitemap": "IndexWebsiteSitemap IndexXMLSitemap IndexRobotsTxtSitemap",
        "AbstractPagesSitemap": (
            "PagesXMLSitemap PagesTextSitemap PagesRSSSitemap PagesAtomSitemap"
        ),
    },
    "web_client.abstract_client": {
        "AbstractWebClient": "LocalWebClient RequestsWebClient",
        "AbstractWebClientSuccessResponse": "RequestsWebClientSuccessResponse",
        "WebClientErrorResponse": "RequestsWebClientErrorResponse",
        "AbstractWebClientResponse": "WebClientErrorResponse",
        "Exception": "NoWebClientException",
    },
    "exceptions": {
        "Exception": "SitemapException GunzipException StripURLToHomepageException",
        "SitemapException": "SitemapXMLParsingException",
    },
}


def test_classes_are_related_as_programs_expect():
    ours = vars(usp.web_client.requests_client)
    for module, families in PARENTS.items():
        known = ours | vars(importlib.import_module(f"usp.{module}")) | {"Exception": Exception}
        for parent, children in families.items():
            for child in children.split():
                assert issubclass(known[child], known[parent]), child
                assert module != "objects.sitemap" or known[child].__base__ is known[parent]


def test_names_that_are_not_public_are_there_all_the_same():
    assert hasattr(usp.fetch_parse.PagesXMLSitemapParser.Page, "page")
    assert usp.tree._UNPUBLISHED_SITEMAP_PATHS
