"""The date of a page is that of its last change, or else that of its publication."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime

import pytest
from export_trees import tree_of

from usp.export import write
from usp.export.arrow import to_arrow
from usp.selection import Selection
from usp.tree import sitemap_from_str

NEWS = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:n="http://www.google.com/schemas/sitemap-news/0.9">{}</urlset>"""


def entry(name: str, published: str = "", lastmod: str = "") -> str:
    story = (
        f"<n:news><n:publication_date>{published}</n:publication_date><n:title>t</n:title></n:news>"
    )
    return (
        f"<url><loc>https://x.org/{name}</loc>"
        + (f"<lastmod>{lastmod}</lastmod>" if lastmod else "")
        + (story if published else "")
        + "</url>"
    )


NEWS_SITEMAP = NEWS.format(
    entry("old", published="2019-03-01")
    + entry("new", published="2025-03-01T08:00:00+02:00")
    + entry("changed", published="2019-03-01", lastmod="2025-04-01")
    + entry("unchanged", published="2025-04-01", lastmod="2019-03-01")
    + entry("unreadable", published="2025-05-01", lastmod="yesterday")
    + entry("undated")
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


def names(urls):
    return [url.rpartition("/")[2] for url in urls]


def every_way(document: str, **options) -> list[str]:
    """Give what is chosen of a document in each of the ways there are, which agree."""
    tree = sitemap_from_str(document)
    chosen = Selection(**options)
    found = names(page.url for page in tree.select(**options))
    assert names(page.url for page in chosen.of(list(tree.all_pages()))) == found
    assert names(to_arrow(tree, ["url"], chosen)["url"].to_pylist()) == found
    file = io.BytesIO()
    write(tree, file, "csv", ["url"], chosen)
    assert names(file.getvalue().decode().split()[1:]) == found
    return found


@pytest.mark.parametrize("document", [RSS, ATOM])
def test_items_of_feeds_have_the_date_on_which_they_were_published(document):
    assert every_way(document, since="2025") == ["new", "undated"]
    assert every_way(document, until="2024") == ["old", "undated"]
    assert every_way(document, since="2025", keep_undated=False) == ["new"]
    assert every_way(document, keep_undated=False) == ["old", "new"]


def test_news_without_a_date_of_change_have_the_date_of_the_story():
    assert every_way(NEWS_SITEMAP, since="2025", keep_undated=False) == [
        "new",
        "changed",
        "unreadable",
    ]
    assert every_way(NEWS_SITEMAP, until="2019", keep_undated=False) == ["old", "unchanged"]
    assert every_way(NEWS_SITEMAP, keep_undated=False)[-1] == "unreadable"


@pytest.mark.parametrize("document", [RSS, ATOM, NEWS_SITEMAP])
@pytest.mark.parametrize("limit", [None, 1, 2, 3])
def test_it_is_told_how_many_pages_without_a_date_were_kept(document, limit):
    tree = sitemap_from_str(document)
    for pages in (tree, list(tree.all_pages())):
        told: list[int] = []
        chosen = Selection(since="2025", limit=limit, on_undated=told.append)
        found = names(page.url for page in chosen.of(pages))
        assert sum(told) == found.count("undated")


def test_in_columns_too():
    plain = "".join(entry(str(day), lastmod=f"2025-01-{day:02}") for day in range(1, 29))
    told: list[int] = []
    chosen = Selection(since="2025-01-20", on_undated=told.append)
    tree = tree_of(NEWS.format(plain + "".join(entry(f"u{n}") for n in range(5))))
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
