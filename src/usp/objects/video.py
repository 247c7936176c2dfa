"""A video of a page, from Google's video extension."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from usp.objects.extension_values import EACH, SELF, FieldSpec, Kind, PlainValue, Table, written

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

__all__ = ["SitemapVideo", "SitemapVideoPrice", "SitemapVideoTVShow"]


@dataclass(frozen=True, slots=True, repr=False)
class SitemapVideoPrice(PlainValue):
    """One price of a video: the amount as written, ISO 4217 currency, ``rent`` or ``own``."""

    amount: str = field(metadata={"element": SELF, "default": ""})
    currency: str | None = written(element=SELF, attribute="currency")
    type: str | None = written(element=SELF, attribute="type")
    resolution: str | None = written(element=SELF, attribute="resolution")


@dataclass(frozen=True, slots=True, repr=False)
class SitemapVideoTVShow(PlainValue):
    """The episode a video shows (``video:tvshow``)."""

    show_title: str | None = written(always=True)
    video_type: str | None = None
    episode_title: str | None = None
    season_number: int | None = None
    episode_number: int | None = None
    premier_date: datetime | None = None


_PRICE = Table.of("price", SitemapVideoPrice)
_TV_SHOW = Table.of("tvshow", SitemapVideoTVShow)
_LOC = FieldSpec("loc", Kind.ADDRESS, SELF, required=True)
_DURATION = FieldSpec("duration", Kind.WHOLE, SELF, "duration")
_CONTENT_SEGMENT = Table("content_segment_loc", None, (_LOC, _DURATION))


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class SitemapVideo(PlainValue):
    """A video, with every field that Google's documentation has or had.

    ``restriction`` lists countries and ``platform`` lists ``web``, ``mobile``, ``tv``; their
    ``…_relationship`` says whether these are allowed or denied. Yes-or-no fields are None where
    the sitemap does not say.
    """

    thumbnail_loc: str | None = written(kind=Kind.ADDRESS)
    title: str | None = None
    description: str | None = None
    content_loc: str | None = written(kind=Kind.ADDRESS)
    player_loc: str | None = written(kind=Kind.ADDRESS)
    player_allow_embed: bool | None = written(element="player_loc", attribute="allow_embed")
    player_autoplay: str | None = written(element="player_loc", attribute="autoplay")
    duration: int | None = None
    expiration_date: datetime | None = None
    rating: Decimal | None = None
    view_count: int | None = None
    publication_date: datetime | None = None
    family_friendly: bool | None = None
    restriction: tuple[str, ...] = written((), many=" ")
    restriction_relationship: str | None = written(element="restriction", attribute="relationship")
    platform: tuple[str, ...] = written((), many=" ")
    platform_relationship: str | None = written(element="platform", attribute="relationship")
    prices: tuple[SitemapVideoPrice, ...] = written((), kind=_PRICE, element="price", many=EACH)
    requires_subscription: bool | None = None
    uploader: str | None = None
    uploader_info: str | None = written(element="uploader", attribute="info")
    live: bool | None = None
    tags: tuple[str, ...] = written((), element="tag", many=EACH)
    category: str | None = None
    gallery_loc: str | None = written(kind=Kind.ADDRESS)
    gallery_title: str | None = written(element="gallery_loc", attribute="title")
    content_segments: tuple[tuple[str, int | None], ...] = written(
        (), kind=_CONTENT_SEGMENT, element="content_segment_loc", many=EACH
    )
    id: str | None = None
    id_type: str | None = written(element="id", attribute="type")
    tv_show: SitemapVideoTVShow | None = written(kind=_TV_SHOW, element="tvshow")
