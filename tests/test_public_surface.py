"""The public names are those that the reference lists and that existing programs use."""

import ast
import dataclasses
import importlib
import inspect
import json
import re
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import usp
import usp.fetch_parse
import usp.tree
import usp.web_client.requests_client
from together import together
from usp._base.names import LAZY_NAMES
from usp.objects.sitemap import AbstractSitemap
from usp.options import CrawlOptions, SitemapKeywords
from usp.selection import Selection

ROOT = Path(usp.__file__).parent
DOCS = Path(__file__).parent.parent / "docs" / "reference"
OPTIONS = (DOCS / "options.md").read_text("utf-8")
API = (DOCS / "api" / "index.md").read_text("utf-8")

LISTED = {
    module: re.findall(r"`(\w+)`", names)
    for module, names in re.findall(r"^\| `(usp[\w.]*)` \| [^|]* \| (.*) \|$", API, re.MULTILINE)
}


@together("module, names", LISTED.items())
def test_a_module_has_the_names_that_the_reference_lists(module, names):
    loaded = importlib.import_module(module)
    assert sorted(loaded.__all__) == sorted(names)
    assert len(set(loaded.__all__)) == len(loaded.__all__)
    assert [name for name in loaded.__all__ if not hasattr(loaded, name)] == []


def test_every_module_is_listed_or_says_that_it_is_internal():
    found = {path.stem for path in ROOT.glob("[a-z]*.py")}
    found |= {path.parent.name for path in ROOT.glob("[a-z]*/__init__.py")}
    assert found == {module.split(".")[1] for module in LISTED if "." in module}


DOCUMENTED = {  # what completion offers
    usp.AbstractSitemap: """
        all_pages all_sitemaps exchange failure failures is_complete last_modified lists_pages
        page_blocks page_count pages problem_count problems save select sitemap_count size status sub_sitemaps
        to_arrow to_dict url""",
    usp.AbstractIndexSitemap: "skipped",
    usp.IndexWebsiteSitemap: "not_found skipped tried",
    usp.InvalidSitemap: "reason why",
    usp.PagesXMLSitemap: "",
    usp.PagesResourceSyncSitemap: "removed",
    usp.SitemapPage: """
        alternates change_frequency images last_modified mobile news_story page_map priority resource
        sitemap_url to_dict url videos""",
    usp.changes.Diff: "counts hosts select",
}


@together("kind, names", DOCUMENTED.items())
def test_completion_offers_what_programs_use(kind, names):
    """What the package itself asks of nodes are functions of their module, not methods."""
    is_node = issubclass(kind, usp.AbstractSitemap)
    expected = names.split() + (DOCUMENTED[usp.AbstractSitemap].split() if is_node else [])
    assert {name for name in dir(kind) if not name.startswith("_")} == set(expected)


def test_what_usp_offers_to_programs_type_checkers_and_readers_is_the_same():
    tree = ast.parse((ROOT / "__init__.py").read_text("utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    for_checkers = {
        alias.name: f"usp.{alias.name}" if node.module == "usp" else f"{node.module}:{alias.name}"
        for node in imports
        for alias in node.names
    }
    assert for_checkers | {"version": "importlib.metadata:version"} == LAZY_NAMES["usp"]
    assert set(usp.__all__) <= {*for_checkers, "__version__"}
    assert set(usp.__all__) <= set(dir(usp))
    assert {"AiohttpWebClient", "aio", "export", "tree", "web_client"} <= set(dir(usp))
    for name, place in for_checkers.items():
        module, _, attribute = place.partition(":")
        loaded = importlib.import_module(module)
        assert getattr(usp, name) is (getattr(loaded, attribute) if attribute else loaded)


def test_a_star_import_needs_no_extra():
    code = "import sys; sys.modules['aiohttp'] = sys.modules['pyarrow'] = None; from usp import *"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_reference_lists_the_options_of_a_crawl_with_their_defaults():
    listed = re.findall(r"^\| `(\w+)` \| `([\w.()]+)` \| .* \|$", OPTIONS, re.MULTILINE)
    fields = dataclasses.fields(CrawlOptions)
    assert listed == [(field.name, repr(field.default)) for field in fields]
    of_websites = [name for name, _ in listed if name not in SitemapKeywords.__annotations__]
    assert of_websites == [name for name, _ in listed[:6]]
    assert "all except the first six, which are about a website" in OPTIONS.replace("\n", " ")


def test_selecting_pages_of_a_tree_takes_what_a_selection_takes():
    def parameters(function) -> list[tuple[str, object, object]]:
        given = inspect.signature(function).parameters.values()
        return [(one.name, one.default, one.annotation) for one in given if one.name != "self"]

    assert parameters(AbstractSitemap.select) == parameters(Selection)


# The names that existing programs use, and how they are called ------------------------------------


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
