"""Pages and what a sitemap says about them are plain values."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from together import together
from usp.objects.child import ChildSitemap
from usp.objects.page import (
    SITEMAP_PAGE_DEFAULT_PRIORITY,
    SitemapImage,
    SitemapNewsStory,
    SitemapPage,
    SitemapPageChangeFrequency,
    SitemapPageMapObject,
    of_sitemap,
)
from usp.objects.video import SitemapVideo, SitemapVideoPrice, SitemapVideoTVShow

DATE = datetime(2024, 2, 3, tzinfo=UTC)
URL = "https://www.example.org/"
IMAGE = SitemapImage("https://www.example.org/i.jpg", "C", "Oslo", "T", "L")
STORY = SitemapNewsStory("T", DATE, "N", "en", "Subscription", ["Blog"], ["a", "b"], ["X:Y"])
VIDEO = SitemapVideo(
    title="V",
    duration=60,
    rating=Decimal("4.2"),
    tags=("a",),
    prices=(SitemapVideoPrice("1.99", "EUR"),),
    content_segments=(("u", 3),),
    tv_show=SitemapVideoTVShow(show_title="S", premier_date=DATE),
)
MAP = SitemapPageMapObject("document", "h", (("a", "b"),))
FIELDS = {
    "priority": Decimal("0.9"),
    "last_modified": DATE,
    "change_frequency": SitemapPageChangeFrequency.DAILY,
    "news_story": STORY,
    "images": [IMAGE],
    "alternates": [("de", "https://www.example.org/de")],
    "videos": [VIDEO],
    "mobile": True,
    "page_map": [MAP],
}
FULL = SitemapPage(URL, **FIELDS)
VALUES = [FULL, SitemapPage(URL), IMAGE, STORY, VIDEO, VIDEO.prices[0], VIDEO.tv_show, MAP]
EACH_VALUE = together("value", VALUES)
KEYS = ["url", "priority", "last_modified", "change_frequency", "news_story", "images"]


def test_a_page_has_defaults():
    page = SitemapPage(URL)
    assert page.priority == SITEMAP_PAGE_DEFAULT_PRIORITY == Decimal("0.5")
    unset = [
        page.last_modified,
        page.change_frequency,
        page.news_story,
        page.images,
        page.alternates,
    ]
    assert unset == [None] * 5
    assert (page.videos, page.mobile, page.page_map) == (None, False, None)


def test_a_page_takes_its_fields_by_place_in_the_order_that_programs_use():
    values = list(FIELDS.values())[:6]
    page = SitemapPage(URL, *values)
    for name, value in zip(FIELDS, values, strict=False):
        assert getattr(page, name) == value


@together("name", ["url", *FIELDS])
def test_a_page_is_read_only(name):
    with pytest.raises(AttributeError):
        setattr(FULL, name, None)


@together("name", FIELDS)
def test_two_pages_are_equal_if_all_their_fields_are(name):
    assert SitemapPage(URL, **FIELDS) == FULL
    other = SitemapPage(URL, **{key: value for key, value in FIELDS.items() if key != name})
    assert other != FULL
    assert hash(other) == hash(FULL), "the hash is over the URL"


@EACH_VALUE
def test_a_value_equals_no_stranger(value):
    assert (value == None) is False  # noqa: E711 - programs write it so
    assert value != URL
    assert value != 3


@EACH_VALUE
def test_a_value_can_be_hashed_and_pickled(value):
    copy = pickle.loads(pickle.dumps(value))
    assert copy == value
    assert hash(copy) == hash(value)
    assert {value, copy} == {value}
    assert repr(copy) == repr(value)


def test_a_page_as_a_dictionary_has_exactly_the_promised_keys():
    assert list(SitemapPage(URL).to_dict()) == KEYS
    assert SitemapPage(URL).to_dict() == {
        **dict.fromkeys(KEYS),
        "url": URL,
        "priority": Decimal("0.5"),
    }


def test_newer_fields_have_a_key_only_when_they_are_set():
    fields = FULL.to_dict()
    assert list(fields) == [*KEYS, "alternates", "videos", "mobile", "page_map"]
    assert fields["change_frequency"] == "daily"
    assert fields["news_story"] == STORY.to_dict()
    assert fields["images"] == [IMAGE.to_dict()]
    assert fields["alternates"] == [("de", "https://www.example.org/de")]
    assert fields["videos"][0]["prices"] == [VIDEO.prices[0].to_dict()]
    assert fields["videos"][0]["tv_show"]["show_title"] == "S"
    assert fields["page_map"] == [{"type": "document", "id": "h", "attributes": [["a", "b"]]}]


def test_an_image_as_a_dictionary():
    assert IMAGE.license == "L"
    assert IMAGE.to_dict() == {
        "loc": "https://www.example.org/i.jpg",
        "caption": "C",
        "geo_location": "Oslo",
        "title": "T",
        "license": "L",
    }
    assert SitemapImage("x", license_="y") == SitemapImage(loc="x", license_="y")


def test_a_news_story_has_lists_and_is_a_dictionary_of_them():
    story = SitemapNewsStory("T", None)
    assert (story.genres, story.keywords, story.stock_tickers) == ([], [], [])
    assert list(story.to_dict()) == [
        *("title", "publish_date", "publication_name", "publication_language", "access"),
        *("genres", "keywords", "stock_tickers"),
    ]
    assert STORY.to_dict()["keywords"] == ["a", "b"]
    assert SitemapNewsStory("T", DATE, "N", "en", "Subscription", ["Blog"], ["a"], ["X:Y"]) != STORY


@together("value", [IMAGE, STORY, VIDEO, MAP])
def test_extensions_are_read_only(value):
    for field in dataclasses.fields(value):
        with pytest.raises(AttributeError):
            setattr(value, field.name, "x")


def test_a_repr_of_a_page_shows_its_fields():
    for part in (URL, "0.9", "2024-02-03", "DAILY"):
        assert part in repr(FULL)


def test_change_frequencies_know_their_words():
    words = ["always", "hourly", "daily", "weekly", "monthly", "yearly", "never"]
    assert [frequency.value for frequency in SitemapPageChangeFrequency] == words
    assert [frequency.name for frequency in SitemapPageChangeFrequency] == [
        w.upper() for w in words
    ]
    assert all(SitemapPageChangeFrequency.has_value(word) for word in words)
    assert not SitemapPageChangeFrequency.has_value("Daily")
    assert not SitemapPageChangeFrequency.has_value("")


def test_a_child_is_a_value():
    child = ChildSitemap(URL, DATE, 1, frozenset({URL}))
    assert child == ChildSitemap(URL, DATE, 1, frozenset({URL}))
    assert pickle.loads(pickle.dumps(child)) == child


def test_a_page_of_a_stream_keeps_its_sitemap_when_it_is_pickled_or_copied():
    (page,) = of_sitemap("https://e.org/s.xml", [SitemapPage("https://e.org/")])
    for other in (pickle.loads(pickle.dumps(page)), copy.copy(page), copy.deepcopy(page)):
        assert other == page
        assert other.sitemap_url == "https://e.org/s.xml"
