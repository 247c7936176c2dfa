"""A video of a page, from Google's video extension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from usp.objects.extension_values import PlainValue

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

__all__ = ["SitemapVideo", "SitemapVideoPrice", "SitemapVideoTVShow"]


@dataclass(frozen=True, slots=True, repr=False)
class SitemapVideoPrice(PlainValue):
    """One price of a video: the amount as written, ISO 4217 currency, ``rent`` or ``own``."""

    amount: str
    currency: str | None = None
    type: str | None = None
    resolution: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class SitemapVideoTVShow(PlainValue):
    """The episode a video shows (``video:tvshow``)."""

    show_title: str | None = None
    video_type: str | None = None
    episode_title: str | None = None
    season_number: int | None = None
    episode_number: int | None = None
    premier_date: datetime | None = None


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class SitemapVideo(PlainValue):
    """A video, with every field that Google's documentation has or had.

    ``restriction`` lists countries and ``platform`` lists ``web``, ``mobile``, ``tv``; their
    ``…_relationship`` says whether these are allowed or denied. Yes-or-no fields are None where
    the sitemap does not say.
    """

    thumbnail_loc: str | None = None
    title: str | None = None
    description: str | None = None
    content_loc: str | None = None
    player_loc: str | None = None
    player_allow_embed: bool | None = None
    player_autoplay: str | None = None
    duration: int | None = None
    expiration_date: datetime | None = None
    rating: Decimal | None = None
    view_count: int | None = None
    publication_date: datetime | None = None
    family_friendly: bool | None = None
    restriction: tuple[str, ...] = ()
    restriction_relationship: str | None = None
    platform: tuple[str, ...] = ()
    platform_relationship: str | None = None
    prices: tuple[SitemapVideoPrice, ...] = ()
    requires_subscription: bool | None = None
    uploader: str | None = None
    uploader_info: str | None = None
    live: bool | None = None
    tags: tuple[str, ...] = ()
    category: str | None = None
    gallery_loc: str | None = None
    gallery_title: str | None = None
    content_segments: tuple[tuple[str, int | None], ...] = ()
    id: str | None = None
    id_type: str | None = None
    tv_show: SitemapVideoTVShow | None = None
