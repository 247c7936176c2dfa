"""Stories of a feed are made when one is wanted, and are the same in whatever order that happens."""

from __future__ import annotations

import pickle

import pytest

from usp._formats import feed_stories
from usp.tree import sitemap_from_str

ITEM = "<item><title>T%d</title><link>https://e.org/%d</link><pubDate>2024-01-02</pubDate></item>\n"
ITEMS = "".join(ITEM.replace("%d", str(number)) for number in range(1500))
FEED = f'<rss version="2.0"><channel><title>C</title>{ITEMS}</channel></rss>'


@pytest.fixture
def made(monkeypatch):
    """The titles of the stories that were made."""
    titles = []
    make = feed_stories.story_fields

    def counted(title, date):
        titles.append(title)
        return make(title, date)

    monkeypatch.setattr(feed_stories, "story_fields", counted)
    return titles


def test_no_story_is_made_for_the_url_or_the_fields_of_the_protocol(made):
    pages = list(sitemap_from_str(FEED).all_pages())
    assert {(page.url[:14], page.last_modified, page.change_frequency) for page in pages} == {
        ("https://e.org/", None, None)
    }
    assert made == []


def test_each_story_is_made_once_and_belongs_to_its_page(made):
    pages = list(sitemap_from_str(FEED).all_pages())
    titles = [page.news_story.title for page in reversed(pages)]
    assert titles == [f"T{number}" for number in reversed(range(1500))]
    assert sorted(made) == sorted(titles)


def test_pages_are_equal_whether_stories_were_wanted_before_or_after():
    wanted = []
    for page in sitemap_from_str(FEED).all_pages():
        assert page.news_story is not None
        wanted.append(page)
    later = list(sitemap_from_str(FEED).all_pages())
    assert pickle.loads(pickle.dumps(later)) == wanted
    assert [page.to_dict() for page in later] == [page.to_dict() for page in wanted]
