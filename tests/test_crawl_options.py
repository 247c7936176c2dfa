"""Every entry point takes the same options, with the same types and defaults."""

from __future__ import annotations

import dataclasses
import inspect
import pickle

import pytest

from together import together
from usp import aio, options, stream, tree
from usp.fetch_parse import SitemapFetcher
from usp.fleet import FLEET_LIMITS, FleetOptions
from usp.limits import DEFAULT, Limits
from usp.options import CommonKeywords, CrawlOptions, SitemapKeywords, WebsiteKeywords

WEBSITE = {"use_robots", "use_known_paths", "extra_known_paths", "normalize_homepage_url"}
WEBSITE |= {"use_html_links"}

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


def call(function, **given):
    """Call an entry point, as far as its arguments are looked at."""
    more = [0] if function is SitemapFetcher else []
    called = function("https://example.org/a.xml", *more, **given)
    if inspect.iscoroutine(called):
        called.send(None)


@together("function", [*OF_A_WEBSITE, *OF_A_SITEMAP])
def test_a_keyword_that_is_not_an_option_is_a_type_error(function):
    with pytest.raises(TypeError, match="unexpected keyword argument 'use_robot'"):
        call(function, use_robot=False)


def test_where_a_website_has_its_sitemaps_is_not_asked_about_one_sitemap():
    with pytest.raises(TypeError, match="unexpected keyword argument 'use_robots'"):
        stream.pages_of_sitemap("https://example.org/a.xml", use_robots=False)


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


@together("wait", [-1, float("nan"), float("inf"), True, "1", None])
def test_a_pause_is_a_number_of_seconds(wait):
    with pytest.raises(ValueError, match="wait must be a non-negative number of seconds"):
        CrawlOptions(wait=wait)


def test_limits_are_limits():
    with pytest.raises(TypeError, match=r"limits must be usp\.Limits or None, not \{'pages': 3\}"):
        CrawlOptions(limits={"pages": 3})
