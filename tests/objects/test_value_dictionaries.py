"""Values of extensions as dictionaries: every field, whatever is nested in it."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from decimal import Decimal

from together import together
from usp.objects.extension_values import PlainValue
from usp.objects.page import SitemapImage, SitemapNewsStory, SitemapPage, SitemapPageMapObject
from usp.objects.video import SitemapVideo, SitemapVideoPrice, SitemapVideoTVShow

NOW = datetime(2024, 5, 31, tzinfo=UTC)
VALUES = [
    SitemapImage("https://x.org/1.jpg", "A caption", license_="https://x.org/terms"),
    SitemapNewsStory("News", NOW, "The Times", "en", genres=["Blog"], keywords=("a", "b")),
    SitemapPageMapObject("t", None, (("a", "1"), ("b", "2"))),
    SitemapVideoPrice("1.99", "EUR"),
    SitemapVideoTVShow("S", season_number=2, premier_date=NOW),
    SitemapVideo(
        title="V",
        rating=Decimal("4.5"),
        duration=7,
        live=True,
        restriction=("DE", "AT"),
        prices=(SitemapVideoPrice("1.99", "EUR"), SitemapVideoPrice("2")),
        content_segments=(("https://x.org/s", None),),
        tv_show=SitemapVideoTVShow("S"),
    ),
]


def as_plain(value):
    """Return a value as dictionaries and lists, by the long way."""
    if dataclasses.is_dataclass(value):
        return {one.name: as_plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    return [as_plain(item) for item in value] if isinstance(value, list | tuple) else value


@together("value", VALUES)
def test_a_dictionary_has_every_field_in_order(value):
    written = value.to_dict()
    assert written == as_plain(value)
    assert list(written) == [one.name for one in dataclasses.fields(value)]


def test_lists_in_a_dictionary_are_copies():
    story = SitemapNewsStory("News", NOW, genres=["Blog"])
    story.to_dict()["genres"].append("Opinion")
    assert story.genres == ["Blog"]


def test_the_fields_of_a_class_are_looked_up_once(monkeypatch):
    page = SitemapPage("https://x.org/", images=[VALUES[0]], videos=[VALUES[-1]])
    first = page.to_dict()
    monkeypatch.setattr(dataclasses, "fields", None)
    assert page.to_dict() == first


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
