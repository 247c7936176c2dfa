"""Pages and what a sitemap says about them are plain values."""

import copy
import dataclasses
import pickle
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from together import together
from usp.objects.extension_values import PlainValue, SitemapResource
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
    live=True,
    restriction=("DE", "AT"),
    content_segments=(("u", 3), ("v", None)),
    tv_show=SitemapVideoTVShow(show_title="S", season_number=2, premier_date=DATE),
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
EXTENSIONS = together("value", VALUES[2:])
KEYS = ["url", "priority", "last_modified", "change_frequency", "news_story", "images"]


def test_a_page_has_defaults():
    page = SitemapPage(URL)
    assert page.priority == SITEMAP_PAGE_DEFAULT_PRIORITY == Decimal("0.5")
    assert page.mobile is False
    unset = set(FIELDS) - {"priority", "mobile"}
    assert {getattr(page, name) for name in unset} == {None}


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


@together("value", VALUES)
def test_a_value_can_be_hashed_and_pickled_and_equals_no_other_class(value):
    assert (value == None) is False  # noqa: E711 - programs write it so
    assert value != URL
    assert value != 3
    copy = pickle.loads(pickle.dumps(value))
    assert copy == value
    assert hash(copy) == hash(value)
    assert {value, copy} == {value}
    assert repr(copy) == repr(value)


def test_a_page_as_a_dictionary_has_exactly_the_promised_keys():
    fields = {**dict.fromkeys(KEYS), "url": URL, "priority": Decimal("0.5")}
    assert list(SitemapPage(URL).to_dict().items()) == list(fields.items())


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


def as_plain(value):
    """Return a value as dictionaries and lists, by the long way."""
    if dataclasses.is_dataclass(value):
        return {one.name: as_plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    return [as_plain(item) for item in value] if isinstance(value, list | tuple) else value


@EXTENSIONS
def test_a_dictionary_has_every_field_in_order_and_all_are_read_only(value):
    written = value.to_dict()
    fields = as_plain(value)
    if fields.get("authors") == []:  # of a story that is in no feed
        del fields["authors"]
    assert list(written.items()) == list(fields.items())
    for name in written:
        with pytest.raises(AttributeError):
            setattr(value, name, "x")


def test_images_and_stories_have_the_promised_keys():
    assert list(IMAGE.to_dict()) == ["loc", "caption", "geo_location", "title", "license"]
    assert IMAGE.license == IMAGE.to_dict()["license"] == "L"
    assert SitemapImage("x", license_="y") == SitemapImage(loc="x", license_="y")
    story = SitemapNewsStory("T", None)
    assert (story.genres, story.keywords, story.stock_tickers) == ([], [], [])
    assert list(story.to_dict()) == [
        *("title", "publish_date", "publication_name", "publication_language", "access"),
        *("genres", "keywords", "stock_tickers"),
    ]
    assert SitemapNewsStory("T", DATE, "N", "en", "Subscription", ["Blog"], ["a"], ["X:Y"]) != STORY
    STORY.to_dict()["genres"].append("Opinion")
    assert STORY.genres == ["Blog"], "lists in a dictionary are copies"


@pytest.mark.parametrize("kind", [SitemapVideo, SitemapResource])
def test_values_of_many_fields_are_made_by_keyword_only(kind):
    with pytest.raises(TypeError, match="positional"):
        kind("a")


def test_fields_that_a_subclass_adds_are_in_its_dictionary():
    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class Subtitled(SitemapVideo):
        subtitles: tuple[SitemapVideoPrice, ...] = ()

    video = Subtitled(title="V", subtitles=(SitemapVideoPrice("1"),))
    assert isinstance(video, PlainValue)
    assert video.to_dict()["subtitles"] == [SitemapVideoPrice("1").to_dict()]
    assert list(SitemapVideo(title="V").to_dict()) == [
        name for name in video.to_dict() if name != "subtitles"
    ]


def test_a_page_of_a_stream_keeps_its_sitemap_when_it_is_pickled_or_copied():
    (page,) = of_sitemap("https://e.org/s.xml", [SitemapPage("https://e.org/")])
    for other in (pickle.loads(pickle.dumps(page)), copy.copy(page), copy.deepcopy(page)):
        assert other == page
        assert other.sitemap_url == "https://e.org/s.xml"
