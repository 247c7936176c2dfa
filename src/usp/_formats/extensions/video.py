"""Videos: ``<video:video>``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from usp._formats import values
from usp._formats.parser import resolved
from usp._formats.xml.entries import Extension, Field
from usp.objects.video import SitemapVideo, SitemapVideoPrice, SitemapVideoTVShow

if TYPE_CHECKING:
    from usp._formats.parser import Note

_Read = Callable[[str | None], Any]

# element -> (field of the video, how its text is read)
_SINGLE: dict[str, tuple[str, _Read]] = {
    "thumbnail_loc": ("thumbnail_loc", values.text),
    "title": ("title", values.text),
    "description": ("description", values.text),
    "content_loc": ("content_loc", values.text),
    "player_loc": ("player_loc", values.text),
    "duration": ("duration", values.whole_number),
    "expiration_date": ("expiration_date", values.date),
    "rating": ("rating", values.number),
    "view_count": ("view_count", values.whole_number),
    "publication_date": ("publication_date", values.date),
    "family_friendly": ("family_friendly", values.yes_no),
    "restriction": ("restriction", values.blank_list),
    "platform": ("platform", values.blank_list),
    "requires_subscription": ("requires_subscription", values.yes_no),
    "uploader": ("uploader", values.text),
    "live": ("live", values.yes_no),
    "category": ("category", values.text),
    "gallery_loc": ("gallery_loc", values.text),
    "id": ("id", values.text),
}

_ADDRESSES = frozenset({"thumbnail_loc", "content_loc", "player_loc", "gallery_loc"})

# element -> {attribute: (field of the video, how it is read)}
_ATTRIBUTES: dict[str, dict[str, tuple[str, _Read]]] = {
    "player_loc": {
        "allow_embed": ("player_allow_embed", values.yes_no),
        "autoplay": ("player_autoplay", values.text),
    },
    "restriction": {"relationship": ("restriction_relationship", values.text)},
    "platform": {"relationship": ("platform_relationship", values.text)},
    "uploader": {"info": ("uploader_info", values.text)},
    "gallery_loc": {"title": ("gallery_title", values.text)},
    "id": {"type": ("id_type", values.text)},
}

_TV_SHOW: dict[str, _Read] = {
    "show_title": values.text,
    "video_type": values.text,
    "episode_title": values.text,
    "season_number": values.whole_number,
    "episode_number": values.whole_number,
    "premier_date": values.date,
}

EXTENSION = Extension(
    record="video",
    fields=frozenset({*_SINGLE, *_TV_SHOW, "content_segment_loc", "price", "tag"}),
)
PAGE_FIELD = "videos"


def read(
    records: list[list[Field]], note: Note, base: str | None = None
) -> list[SitemapVideo] | None:
    """Give the videos; a field that cannot be read stays unset."""
    return [_video(record, note, base) for record in records] or None


def _video(record: list[Field], note: Note, base: str | None) -> SitemapVideo:
    fields: dict[str, Any] = {}
    show: dict[str, Any] = {}
    tags: list[str] = []
    prices: list[SitemapVideoPrice] = []
    segments: list[tuple[str, int | None]] = []
    for field in record:
        name, raw = field.name, field.text
        attributes = field.attributes(note)
        text = values.text(raw)
        if name in _SINGLE:
            key, how = _SINGLE[name]
            value = how(raw)
            fields[key] = resolved(value, base) if value and name in _ADDRESSES else value
            if value is None and text:
                note(f"video:{name} cannot be read", text)
            for attribute, (other, how_read) in _ATTRIBUTES.get(name, {}).items():
                fields[other] = how_read(attributes.get(attribute))
        elif name in _TV_SHOW:
            show[name] = _TV_SHOW[name](raw)
        elif name == "tag" and text:
            tags.append(text)
        elif name == "price":
            prices.append(_price(text or "", attributes))
        elif name == "content_segment_loc" and text:
            segments.append((resolved(text, base), values.whole_number(attributes.get("duration"))))
    return SitemapVideo(
        **fields,
        tags=tuple(tags),
        prices=tuple(prices),
        content_segments=tuple(segments),
        tv_show=SitemapVideoTVShow(**show) if show else None,
    )


def _price(amount: str, attributes: dict[str, str]) -> SitemapVideoPrice:
    return SitemapVideoPrice(
        amount=amount,
        currency=values.text(attributes.get("currency")),
        type=values.text(attributes.get("type")),
        resolution=values.text(attributes.get("resolution")),
    )
