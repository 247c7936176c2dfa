"""Every entry point takes the same options, with the same types and defaults, and refuses others."""

import dataclasses
import inspect
import pickle
import re
from functools import partial

import pytest
import requests

import usp
from cases import cases
from fronts import ASYNCIO, THREADS
from together import together
from usp import aio, options, stream, tree
from usp.fetch_parse import SitemapFetcher
from usp.fleet import FLEET_LIMITS, FleetOptions
from usp.limits import DEFAULT, Limits
from usp.options import CommonKeywords, CrawlOptions, SitemapKeywords, WebsiteKeywords

WEBSITE = {"use_robots", "use_known_paths", "extra_known_paths", "normalize_homepage_url"}
WEBSITE |= {"use_html_links", "use_neighbours"}

OF_A_WEBSITE = [
    tree.sitemap_tree_for_homepage, aio.sitemap_tree_for_homepage, stream.pages, aio.pages,
]  # fmt: skip
OF_A_SITEMAP = [
    tree.sitemap_tree_for_sitemap, aio.sitemap_tree_for_sitemap, stream.pages_of_sitemap,
    aio.pages_of_sitemap, SitemapFetcher,
]  # fmt: skip
OTHERS = {"homepage_url", "url", "web_client", "options"}
OTHERS |= {"recursion_level", "parent_urls", "quiet_404"}  # of SitemapFetcher

FIELDS = {field.name: (field.type, field.default) for field in dataclasses.fields(CrawlOptions)}


def options_of(function) -> dict[str, tuple[object, object]]:
    return {
        name: (parameter.annotation, parameter.default)
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in OTHERS
    }


@together("function", [*OF_A_WEBSITE, *OF_A_SITEMAP])
def test_an_entry_point_takes_all_options_that_it_has_a_use_for(function):
    left = set() if function in OF_A_WEBSITE else WEBSITE
    assert options_of(function) == {name: FIELDS[name] for name in FIELDS if name not in left}
    parameter = inspect.signature(function).parameters["options"]
    assert (parameter.annotation, parameter.default) == ("CrawlOptions | None", None)


EVERY_DOOR = [
    *OF_A_WEBSITE, *OF_A_SITEMAP[:-1], usp.load, usp.update, usp.watch, aio.load, aio.update, aio.watch,
]  # fmt: skip


@together("function", [CrawlOptions, *EVERY_DOOR])
def test_help_describes_each_parameter_in_the_order_of_the_signature(function):
    described = re.findall(r"^ {4}(\w+): \S.*[\w`.]\.?$", inspect.getdoc(function), re.MULTILINE)
    assert described == list(inspect.signature(function).parameters)


def test_the_keywords_that_type_checkers_see_have_the_types_of_the_options():
    types = {name: kind for name, (kind, _) in FIELDS.items()}
    for keywords in (CommonKeywords, SitemapKeywords, WebsiteKeywords, tree._TreeKeywords):
        given = {name: kind.__forward_arg__ for name, kind in keywords.__annotations__.items()}
        assert given.items() <= types.items()
    assert set(WebsiteKeywords.__annotations__) == set(FIELDS)
    assert set(FIELDS) - set(SitemapKeywords.__annotations__) == WEBSITE


def test_the_options_of_a_fleet_are_those_of_a_crawl_and_more():
    of_fleet = {
        field.name: (field.type, field.default) for field in dataclasses.fields(FleetOptions)
    }
    assert FIELDS.items() <= of_fleet.items()
    given = FleetOptions(use_html_links=True, extra_known_paths=["/a"], wait=2)
    told = []
    for_site = given.for_site(told.append)
    assert (for_site.use_html_links, for_site.extra_known_paths) == (True, ("/a",))
    assert (FleetOptions().effective_limits, CrawlOptions().effective_limits) == (
        FLEET_LIMITS, DEFAULT,
    )  # fmt: skip
    for_site.on_event("event")
    assert told == ["event"]


def test_what_is_given_beside_options_replaces_theirs():
    given = CrawlOptions(crawl_delay=True, wait=1.5, use_robots=False)
    keywords = {"crawl_delay": False, "use_html_links": True}
    same = options.combined(given, keywords, WebsiteKeywords, use_robots=True)
    assert same == dataclasses.replace(given, crawl_delay=False, use_html_links=True)
    assert options.combined(None, {}, WebsiteKeywords, use_robots=False) == CrawlOptions(
        use_robots=False
    )


def test_options_are_a_frozen_value_that_can_be_compared_pickled_and_used_twice():
    paths = iter(["b.xml", "a.xml"])
    value = CrawlOptions(limits=Limits(pages=3), extra_known_paths=paths)
    assert value.extra_known_paths == ("b.xml", "a.xml")
    assert pickle.loads(pickle.dumps(value)) == value
    assert hash(value) == hash(dataclasses.replace(value))
    assert CrawlOptions(extra_known_paths={"b", "a"}).extra_known_paths == ("a", "b")
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.wait = 1
    with pytest.raises(TypeError):
        CrawlOptions(False)


# What cannot be meant is refused by a message that says what is expected ---------------------------

HOME, SITEMAP = "http://127.0.0.1:9/", "http://127.0.0.1:9/sitemap.xml"


def fetched(url, client=None, **options):
    return SitemapFetcher(url, 0, client, **options).sitemap()


RUNS_OF_A_WEBSITE = [THREADS.tree, THREADS.pages, ASYNCIO.tree, ASYNCIO.pages]
RUNS_OF_A_SITEMAP = [*(partial(entry, single=True) for entry in RUNS_OF_A_WEBSITE), fetched]
ENTRY_POINTS = [
    *((entry, HOME) for entry in RUNS_OF_A_WEBSITE),
    *((entry, SITEMAP) for entry in RUNS_OF_A_SITEMAP),
]


WRONG = {
    "use_robots must be True or False, not 'no'": {"use_robots": "no"},
    "crawl_delay must be True or False, not '0'": {"crawl_delay": "0"},
    "on_event must be a function or None, not 'print'": {"on_event": "print"},
    r"on_failure must be a function or None, not \[\]": {"on_failure": []},
    "recurse_list_callback must be a function or None, not 3": {"recurse_list_callback": 3},
    "must be a collection of strings, not 'a.xml'": {"extra_known_paths": "a.xml"},
    "extra_known_paths must be a collection of strings": {"extra_known_paths": [b"a.xml"]},
    r"limits must be usp\.Limits or None, not \{'pages': 3\}": {"limits": {"pages": 3}},
}


@together("options", [usp.CrawlOptions, FleetOptions])
def test_an_option_of_the_wrong_type(options):
    for message, wrong in cases(WRONG.items()):
        with pytest.raises(TypeError, match=message):
            options(**wrong)
    for wait in cases([-1, float("nan"), float("inf"), True, "1", None]):
        with pytest.raises(ValueError, match="wait must be a non-negative number of seconds"):
            options(wait=wait)


def test_flags_are_true_or_false_as_anything_is():
    assert not usp.CrawlOptions(use_robots=None, crawl_delay=0).use_robots  # type: ignore[arg-type]


def test_what_is_neither_an_option_nor_a_client_is_a_type_error():
    refused = {
        "unexpected keyword argument 'max'; the options are ": ([], {"max": 3}),
        "argument 'use_html_sitemap'; did you mean use_html_sitemaps": (
            [],
            {"use_html_sitemap": True},
        ),
        "options must be usp.CrawlOptions or None, not 5": ([], {"options": 5}),
        "pass a session as RequestsWebClient": ([requests.Session()], {}),
        r"not a class; pass RequestsWebClient\(\)": ([usp.RequestsWebClient], {}),
    }
    calls = [(*point, *call) for point in ENTRY_POINTS for call in refused.items()]
    of_a_website = ([], {"use_robots": False})  # where a website has its sitemaps
    message = "unexpected keyword argument 'use_robots'"
    calls += [(entry, SITEMAP, message, of_a_website) for entry in RUNS_OF_A_SITEMAP]
    for entry, url, message, (given, keywords) in cases(calls):
        with pytest.raises(TypeError, match=message):
            entry(url, *given, **keywords)


def test_an_asynchronous_client_without_asyncio_is_not_an_empty_website():
    for entry, url in cases([*ENTRY_POINTS[:2], *ENTRY_POINTS[4:6]]):
        with pytest.raises(TypeError, match=r"AiohttpWebClient is asynchronous; use .* usp.aio"):
            entry(url, usp.AiohttpWebClient())


def test_text_and_bytes_are_told_apart():
    with pytest.raises(TypeError, match="sitemap_from_bytes takes bytes"):
        usp.sitemap_from_str(b"<urlset/>")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sitemap_from_str takes text"):
        usp.sitemap_from_bytes("<urlset/>")  # type: ignore[arg-type]


def test_columns_of_a_fleet_and_the_limit_of_a_selection():
    with pytest.raises(ValueError, match="unknown column 'title'; choose from url, lastmod"):
        FleetOptions(columns=("title",))
    assert FleetOptions(columns=["url", "lastmod"]).columns == ("url", "lastmod")  # type: ignore[arg-type]
    for limit in cases(["3", 2.5, True, -1]):
        with pytest.raises(ValueError, match="limit must be a non-negative integer or None"):
            usp.Selection(limit=limit)
