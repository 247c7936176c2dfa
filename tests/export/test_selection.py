"""A selection gives the same pages of a tree, of a stream, and of columns."""

# ruff: noqa: DTZ001 - sitemaps have dates without an offset

import asyncio
import json
import pickle
from contextlib import aclosing
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from export_trees import (
    documents,
    exported,
    few,
    lazy_sitemap,
    plain_entry,
    tree_of,
    trees,
    urlset,
)
from hypothesis import given
from hypothesis import strategies as st

from usp.export.arrow import to_arrow
from usp.objects.page import SitemapPage
from usp.objects.sitemap import IndexWebsiteSitemap, PagesXMLSitemap
from usp.options import CrawlOptions
from usp.selection import Selection

DAYS = urlset(*(plain_entry(n, f"2024-05-{n:02}") for n in range(1, 31)), plain_entry(99))


def urls(tree, **options) -> list[str]:
    """Return what is selected; all ways of selecting agree."""
    selection = Selection(**options)
    one_by_one = [page.url for page in selection.of(with_sitemaps(tree), site=tree.url)]
    assert [page.url for page in tree.select(**options)] == one_by_one
    stream = Stream(with_sitemaps(tree))
    assert [page.url for page in selected(selection, stream, tree.url)] == one_by_one
    assert to_arrow(tree, ["url"], selection)["url"].to_pylist() == one_by_one
    rows = json.loads(exported(tree, "json", columns=["url"], selection=selection))
    assert [row["url"] for row in rows] == one_by_one
    return one_by_one


class Stream:
    """Pages as they come on asyncio: counts those that were asked for, and knows whether it is closed."""

    def __init__(self, pages):
        self._pages, self.asked, self.closed = pages, 0, False

    async def pages(self):
        try:
            for page in self._pages:
                self.asked += 1
                yield page
        finally:
            self.closed = True


def selected(selection, stream, site=None):
    async def collect():
        return [page async for page in selection.of_async(stream.pages(), site)]

    return asyncio.run(collect())


def with_sitemaps(tree):
    """Give pages as a stream does."""
    for sitemap in tree.sub_sitemaps:
        for page in sitemap.all_pages():
            page._sitemap_url = sitemap.url
            yield page


def days(tree, **options) -> list[int]:
    return [int(url.rpartition("/")[2]) for url in urls(tree, **options)]


def names(tree, **options) -> list[str]:
    return [url.rpartition("/")[2] for url in urls(tree, **options)]


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("2024-05-10", "2024-05-12", [10, 11, 12]),
        (date(2024, 5, 10), date(2024, 5, 12), [10, 11, 12]),
        (datetime(2024, 5, 10), datetime(2024, 5, 12), [10, 11, 12]),
        (datetime(2024, 5, 10, 1), datetime(2024, 5, 11, 23), [11]),
        ("2024-05-09T23:00:00-02:00", "2024-05-11T00:00:00Z", [11]),
        (datetime(2024, 5, 10, 2, tzinfo=timezone(timedelta(hours=2))), "2024-05-10", [10]),
        ("2024-05", "2024-05", [*range(1, 31)]),
        ("2024", "2024", [*range(1, 31)]),
        (None, None, [*range(1, 31)]),
        ("2024-06", None, []),
        (None, "2023", []),
        (None, "9999", [*range(1, 31)]),
        (None, "9999-12", [*range(1, 31)]),
        (None, "9999-12-31", [*range(1, 31)]),
        ("29 May 2024", None, [29, 30]),
    ],
)
def test_dates_are_periods_and_both_ends_are_in_them(since, until, expected):
    tree = tree_of(DAYS)
    assert days(tree, since=since, until=until, keep_undated=False) == expected
    assert days(tree, since=since, until=until) == [*expected, 99]
    assert urls(tree_of(urlset(plain_entry(1))), keep_undated=False) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"include": ["*/blog/*"]}, ["/blog/a", "/blog/b?x=1"]),
        ({"include": ["/blog/*"]}, ["/blog/a", "/blog/b?x=1"]),
        ({"include": "/shop/*"}, ["/shop/blog"]),
        ({"include": ["/blog/?"]}, ["/blog/a"]),
        ({"include": ["blog"]}, []),
        ({"include": ["re:blog"]}, ["/blog/a", "/blog/b?x=1", "/shop/blog"]),
        ({"include": [r"re:\?x=\d$", "/shop/*"]}, ["/blog/b?x=1", "/shop/blog"]),
        ({"exclude": ["*blog*"]}, ["/"]),
        ({"include": ["/blog/*"], "exclude": ["re:x="]}, ["/blog/a"]),
    ],
)
def test_patterns_are_for_the_address_of_the_page(options, expected):
    paths = ["/", "/blog/a", "/blog/b?x=1", "/shop/blog"]
    tree = tree_of(urlset(*(f"<loc>https://x.org{path}</loc>" for path in paths)))
    assert urls(tree, **options) == [f"https://x.org{path}" for path in expected]


def test_patterns_can_be_for_the_address_of_the_sitemap():
    tree = tree_of(urlset(plain_entry(0)), urlset(plain_entry(1)), urlset(plain_entry(2)))
    assert days(tree, include=["sitemap:*/1.xml"]) == [1]
    assert days(tree, exclude=["sitemap:re:[12]"]) == [0]
    assert days(tree, include=["sitemap:re:[12]", "*/2"]) == [2]
    with pytest.raises(ValueError, match="pass the tree"):
        list(Selection(include=["sitemap:*"]).of([SitemapPage("https://x.org/")]))


def test_a_sitemap_that_is_not_wanted_is_not_read():
    tree = IndexWebsiteSitemap("https://x.org/", [lazy_sitemap(pytest.fail)])
    assert list(Selection(exclude=["sitemap:*/s.xml"]).of(tree)) == []
    assert list(Selection(limit=0).of(tree)) == []


def test_each_address_comes_once_over_the_whole_tree():
    tree = tree_of(DAYS, DAYS, urlset(plain_entry(100), plain_entry(1)))
    assert days(tree, unique=True) == [*range(1, 31), 99, 100]
    assert days(tree, unique=True, exclude=["sitemap:*/0.xml"], limit=2) == [1, 2]


def test_only_the_host_of_the_website_with_or_without_www():
    locs = [
        "https://x.org/a", "http://www.x.org", "https://X.ORG:8443/b?c", "https://a@x.org/d",
        "https://shop.x.org/", "https://x.org.evil.example/", "https://evil.example/?https://x.org/",
        "https://xxorg/",
    ]  # fmt: skip
    tree = IndexWebsiteSitemap(
        "https://www.x.org/",
        [PagesXMLSitemap("https://x.org/s.xml", [SitemapPage(loc) for loc in locs])],
    )
    assert urls(tree, same_host=True) == locs[:4]
    with pytest.raises(ValueError, match="'site'"):
        Selection(same_host=True).of([SitemapPage("https://x.org/")])


@pytest.mark.parametrize("limit", [0, 1, 29, 31, 32, 1000])
def test_a_limit_ends_it(limit):
    tree = tree_of(DAYS, DAYS)
    assert len(urls(tree, limit=limit)) == min(limit, 62)


def test_no_page_is_asked_for_behind_the_last_one():
    def pages():
        yield SitemapPage("https://x.org/1")
        yield SitemapPage("https://x.org/2")
        raise AssertionError

    assert len(list(Selection(limit=2).of(pages()))) == 2
    stream = Stream(pages())
    assert len(selected(Selection(limit=2), stream)) == stream.asked == 2
    assert stream.closed


def test_closing_a_selection_closes_the_stream():
    stream = Stream([SitemapPage("https://x.org/1"), SitemapPage("https://x.org/2")])

    async def first():
        async with aclosing(Selection(exclude=["/nothing"]).of_async(stream.pages())) as pages:
            return await anext(pages)

    assert asyncio.run(first()).url == "https://x.org/1"
    assert (stream.asked, stream.closed) == (1, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"since": "soon"}, "since 'soon' is not a date; use 2025-01-31, 12h, 7d or 4w"),
        ({"until": ""}, "until '' is not a date"),
        ({"until": 2024}, "until must be a date, a timedelta, or a text such as 2025-01-31 or 7d"),
        ({"since": "999999w"}, "since '999999w' is before the year 1"),
        ({"include": ["re:("]}, "include 're:\\(' is not a valid regular expression"),
        ({"exclude": [""]}, "exclude has an empty pattern"),
        ({"exclude": ["sitemap:"]}, "exclude has an empty pattern"),
    ],
)
def test_what_cannot_be_meant_is_told_at_once(options, said):
    with pytest.raises(ValueError, match=said):
        Selection(**options)


@pytest.mark.parametrize(
    "week", ["7d", "1w", "168H", " 7 d ", timedelta(days=7), timedelta(hours=168)]
)
def test_a_date_may_be_counted_back_from_now(week):
    before = datetime.now(UTC)
    selection = Selection(since=week)
    after = datetime.now(UTC)
    assert before <= selection.since + timedelta(days=7) <= after
    old, new = selection.since - timedelta(minutes=1), selection.since + timedelta(minutes=1)
    pages = [SitemapPage("https://x.org/old", last_modified=old)]
    pages += [SitemapPage("https://x.org/new", last_modified=new)]
    assert [page.url for page in selection.of(pages)] == ["https://x.org/new"]
    assert selection.crawl_options().sitemaps_since == selection.since
    assert before <= CrawlOptions(sitemaps_since=week).sitemaps_since + timedelta(days=7)


def test_a_selection_is_a_value():
    selection = Selection(since="2024", include=["re:a", "sitemap:*b*"], limit=3)
    assert selection == Selection(since="2024", include=("re:a", "sitemap:*b*"), limit=3)
    assert pickle.loads(pickle.dumps(selection)) == selection
    assert hash(selection) == hash(pickle.loads(pickle.dumps(selection)))
    assert not selection.takes_all
    assert Selection().takes_all
    with pytest.raises(AttributeError):
        selection.limit = 4


selections = st.fixed_dictionaries(
    {
        "since": st.none() | st.sampled_from(["2000", "2024-05", datetime(2024, 1, 1, tzinfo=UTC)]),
        "until": st.none() | st.sampled_from(["2024", "2024-05-31", date(2050, 1, 1)]),
        "keep_undated": st.booleans(),
        "include": st.lists(
            st.sampled_from(["*a*", "/p/[0-3]", "re:[abc]$", "sitemap:*0*"]), max_size=2
        ),
        "exclude": st.lists(st.sampled_from(["*b*", "re:1", "sitemap:*1*"]), max_size=2),
        "unique": st.booleans(),
        "same_host": st.booleans(),
        "limit": st.none() | st.integers(0, 5),
    }
)


@few
@given(st.one_of(trees, documents().map(tree_of)), selections)
def test_all_ways_of_selecting_agree(tree, selection):
    urls(tree, **selection)


# The date of a page is that of its last change, or else that of its publication ------------------------


def story(name: str, published: str, lastmod: str = "") -> str:
    date = f"<news:publication_date>{published}</news:publication_date>"
    return f"{plain_entry(name, lastmod)}<news:news>{date}<news:title>t</news:title></news:news>"


NEWS_SITEMAP = urlset(
    story("old", published="2019-03-01"),
    story("new", published="2025-03-01T08:00:00+02:00"),
    story("changed", published="2019-03-01", lastmod="2025-04-01"),
    story("unchanged", published="2025-04-01", lastmod="2019-03-01"),
    story("unreadable", published="2025-05-01", lastmod="yesterday"),
    plain_entry("undated"),
)

RSS = """<rss version="2.0"><channel>
<item><title>a</title><link>https://x.org/old</link><pubDate>Fri, 01 Mar 2019 08:00:00 GMT</pubDate></item>
<item><title>b</title><link>https://x.org/new</link><pubDate>Sat, 01 Mar 2025 08:00:00 GMT</pubDate></item>
<item><title>c</title><link>https://x.org/undated</link></item>
</channel></rss>"""

ATOM = """<feed xmlns="http://www.w3.org/2005/Atom">
<entry><title>a</title><link href="https://x.org/old"/><published>2019-03-01T08:00:00Z</published></entry>
<entry><title>b</title><link href="https://x.org/new"/><updated>2025-03-01T08:00:00Z</updated></entry>
<entry><title>c</title><link href="https://x.org/undated"/></entry>
</feed>"""


@pytest.mark.parametrize("document", [RSS, ATOM])
def test_items_of_feeds_have_the_date_on_which_they_were_published(document):
    assert names(tree_of(document), since="2025") == ["new", "undated"]
    assert names(tree_of(document), until="2024") == ["old", "undated"]
    assert names(tree_of(document), since="2025", keep_undated=False) == ["new"]
    assert names(tree_of(document), keep_undated=False) == ["old", "new"]


def test_news_without_a_date_of_change_have_the_date_of_the_story():
    tree = tree_of(NEWS_SITEMAP)
    assert names(tree, since="2025", keep_undated=False) == ["new", "changed", "unreadable"]
    assert names(tree, until="2019", keep_undated=False) == ["old", "unchanged"]
    assert names(tree, keep_undated=False)[-1] == "unreadable"


@pytest.mark.parametrize("document", [RSS, ATOM, NEWS_SITEMAP])
@pytest.mark.parametrize("limit", [None, 1, 2, 3])
def test_it_is_told_how_many_pages_without_a_date_were_kept(document, limit):
    tree = tree_of(document)
    for pages in (tree, list(tree.all_pages())):
        told: list[int] = []
        chosen = Selection(since="2025", limit=limit, on_undated=told.append)
        found = [page.url for page in chosen.of(pages)]
        assert sum(told) == sum(url.endswith("/undated") for url in found)


def test_in_columns_too():
    told: list[int] = []
    chosen = Selection(since="2025-01-20", on_undated=told.append)
    plain = [plain_entry(day, f"2025-01-{day:02}") for day in range(1, 29)]
    tree = tree_of(urlset(*plain, *(plain_entry(f"u{n}") for n in range(5))))
    assert len(to_arrow(tree, ["url"], chosen)) == 9 + 5
    assert sum(told) == 5


@pytest.mark.parametrize(
    ("since", "until"),
    [
        ("2025-02", "2025-01"),
        ("2025", "2024-12-31"),
        (date(2025, 1, 2), date(2025, 1, 1)),
        (datetime(2025, 1, 1, 12, tzinfo=UTC), datetime(2025, 1, 1, 11, tzinfo=UTC)),
        ("9999-12-31", "2025"),
    ],
)
def test_a_period_that_ends_before_it_begins_is_a_mistake(since, until):
    with pytest.raises(ValueError, match="is after until"):
        Selection(since=since, until=until)


@pytest.mark.parametrize("day", ["2025", "2025-01", "2025-01-31", "9999-12-31"])
def test_a_period_may_be_one_day(day):
    Selection(since=day, until=day)
    Selection(since=f"{day[:4]}-12-31", until=day[:4])
